use super::*;
use crate::capi::args::*;
use crate::capi::walk::*;

/// The arguments of a node, as they are read back.
struct Snapshot(*mut fxir_args);

impl Snapshot {
    fn of(module: *const fxir_module, node: fxir_node) -> Snapshot {
        let mut args = null_mut();
        // SAFETY: a call as C makes it.
        ok(|error| unsafe { fxir_node_args(module, node, &raw mut args, error) });
        Snapshot(args)
    }

    fn items(&self) -> &[fxir_arg] {
        // SAFETY: that many are there, says the header.
        unsafe { std::slice::from_raw_parts(fxir_args_items(self.0), fxir_args_count(self.0)) }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        fxir_args_free(self.0);
    }
}

/// Spells an argument out, following every pointer.
fn spell(arg: &fxir_arg) -> String {
    // SAFETY: the kind says which member is set, as the header promises.
    unsafe {
        let value = &arg.value;
        let list = |count: usize| -> String {
            let items = if count == 0 { &[] } else { std::slice::from_raw_parts(value.items, count) };
            items.iter().map(spell).collect::<Vec<_>>().join(",")
        };
        match arg.kind {
            FXIR_ARG_NONE => "None".into(),
            FXIR_ARG_BOOL => format!("bool {}", value.integer),
            FXIR_ARG_INT => format!("int {}", value.integer),
            FXIR_ARG_FLOAT => format!("float {:x}", value.real.to_bits()),
            FXIR_ARG_COMPLEX => format!("complex {:?}", value.parts),
            FXIR_ARG_DTYPE => format!("dtype {}", value.integer),
            FXIR_ARG_ELLIPSIS => "...".into(),
            FXIR_ARG_NODE => "node".into(),
            FXIR_ARG_BYTES => format!("bytes {:?}", std::slice::from_raw_parts(value.bytes, arg.count)),
            FXIR_ARG_RANGE => format!("range {:?}", std::slice::from_raw_parts(value.integers, arg.count)),
            FXIR_ARG_LIST => format!("[{}]", list(arg.count)),
            FXIR_ARG_TUPLE => format!("({})", list(arg.count)),
            FXIR_ARG_DICT => format!("{{{}}}", list(arg.count * 2)),
            FXIR_ARG_SLICE => format!("slice {}", list(arg.count)),
            kind => {
                let bytes = std::slice::from_raw_parts(value.text.cast::<u8>(), arg.count + 1);
                assert_eq!(bytes[arg.count], 0, "texts end with a NUL");
                format!("{kind} {:?}", std::str::from_utf8(&bytes[..arg.count]).unwrap())
            }
        }
    }
}

#[test]
fn every_kind_comes_back_as_it_was_given() {
    let module = new_module();
    let x = placeholder(module, c"x");
    let plain = fxir_arg::plain;
    let integers = [1i64, 10, 2];
    let none = plain(FXIR_ARG_NONE, fxir_arg_value { integer: 0 });
    let slice = [none, arg_node(x), arg_int(2)];
    let dict = [arg_text(FXIR_ARG_STR, &b"k\0"[..1]), arg_node(x), arg_text(FXIR_ARG_STR, &b"l\0"[..1]), none];
    let nested = [arg_items(FXIR_ARG_SLICE, 3, &slice), arg_items(FXIR_ARG_TUPLE, 0, &[])];
    let args = [
        none,
        plain(FXIR_ARG_BOOL, fxir_arg_value { integer: 1 }),
        arg_int(i64::MIN),
        arg_text(FXIR_ARG_BIG_INT, b"-123456789012345678901"),
        plain(FXIR_ARG_FLOAT, fxir_arg_value { real: -0.0 }),
        plain(FXIR_ARG_FLOAT, fxir_arg_value { real: f64::NAN }),
        plain(FXIR_ARG_COMPLEX, fxir_arg_value { parts: [1.5, -2.5] }),
        arg_text(FXIR_ARG_STR, b"a\0b"),
        arg_text(FXIR_ARG_STR, b""),
        fxir_arg { kind: FXIR_ARG_BYTES, flags: 0, count: 2, value: fxir_arg_value { bytes: [7u8, 0].as_ptr() } },
        plain(FXIR_ARG_DTYPE, fxir_arg_value { integer: 7 }),
        arg_text(FXIR_ARG_DEVICE, b"cuda:0"),
        arg_text(FXIR_ARG_LAYOUT, b"torch.strided"),
        arg_text(FXIR_ARG_MEMORY_FORMAT, b"torch.contiguous_format"),
        arg_text(FXIR_ARG_QSCHEME, b"torch.per_tensor_affine"),
        plain(FXIR_ARG_ELLIPSIS, fxir_arg_value { integer: 0 }),
        arg_text(FXIR_ARG_SYMINT, b"s0"),
        fxir_arg { kind: FXIR_ARG_RANGE, flags: 0, count: 3, value: fxir_arg_value { integers: integers.as_ptr() } },
        arg_items(FXIR_ARG_LIST, 2, &nested),
        arg_items(FXIR_ARG_DICT, 2, &dict),
        arg_node(x),
    ];
    let node = call(module, c"f", &args);
    let snapshot = Snapshot::of(module, node);
    assert_eq!(snapshot.items().len(), args.len());
    for (read, given) in snapshot.items().iter().zip(&args) {
        assert_eq!(read.kind, given.kind);
        if !matches!(given.kind, FXIR_ARG_BIG_INT..=FXIR_ARG_SYMINT) {
            assert_eq!(spell(read), spell(given));
        }
    }
    let spelled: Vec<String> = snapshot.items().iter().map(spell).collect();
    assert_eq!(spelled[3], format!("{FXIR_ARG_BIG_INT} \"-123456789012345678901\""));
    assert_eq!(spelled[7], format!("{FXIR_ARG_STR} \"a\\0b\""));
    assert_eq!(spelled[8], format!("{FXIR_ARG_STR} \"\""));
    assert_eq!(spelled[9], "bytes [7, 0]");
    assert_eq!(fxir_node_user_count(module, x), 1);

    // What is read can be given again, and lives on after the node and the module.
    let copy = call(module, c"f", snapshot.items());
    let copied = Snapshot::of(module, copy);
    // SAFETY: a call as C makes it.
    ok(|error| unsafe { crate::capi::node_edit::fxir_graph_erase_node(module, copy, error) });
    fxir_module_free(module);
    assert_eq!(copied.items().iter().map(spell).collect::<Vec<_>>(), spelled);
}

#[test]
fn a_big_int_that_fits_is_an_int() {
    let module = new_module();
    let node = call(module, c"f", &[arg_text(FXIR_ARG_BIG_INT, b"-5")]);
    assert_eq!(spell(&Snapshot::of(module, node).items()[0]), "int -5");
    fxir_module_free(module);
}

fn refused(args: &[fxir_arg]) -> (fxir_status, String) {
    let module = new_module();
    // SAFETY: a call as C makes it.
    let result = fails(|error| unsafe {
        fxir_graph_call_function(module, c"f".as_ptr(), args.as_ptr(), args.len(), null(), 0, null_mut(), error)
    });
    assert_eq!(fxir_graph_node_count(module), 0);
    fxir_module_free(module);
    result
}

#[test]
fn nonsense_is_refused() {
    let plain = fxir_arg::plain;
    let integer = |kind, integer| plain(kind, fxir_arg_value { integer });
    assert_eq!(refused(&[integer(21, 0)]).0, FXIR_INVALID_ARGUMENT);
    assert_eq!(refused(&[integer(u32::MAX, 0)]).0, FXIR_INVALID_ARGUMENT);
    assert_eq!(refused(&[fxir_arg { flags: 1, ..integer(FXIR_ARG_INT, 0) }]).0, FXIR_INVALID_ARGUMENT);
    assert_eq!(refused(&[integer(FXIR_ARG_BOOL, 2)]).0, FXIR_INVALID_ARGUMENT);
    assert_eq!(refused(&[integer(FXIR_ARG_DTYPE, 1000)]).0, FXIR_INVALID_ARGUMENT);
    assert_eq!(refused(&[arg_text(FXIR_ARG_BIG_INT, b"12x")]).0, FXIR_INVALID_ARGUMENT);
    assert_eq!(refused(&[arg_text(FXIR_ARG_DEVICE, b"cpu\0")]).0, FXIR_INVALID_ARGUMENT);
    assert_eq!(refused(&[arg_items(FXIR_ARG_SLICE, 2, &[arg_int(0), arg_int(1)])]).0, FXIR_INVALID_ARGUMENT);
    let no_items = fxir_arg { kind: FXIR_ARG_LIST, flags: 0, count: 1, value: fxir_arg_value { items: null() } };
    assert_eq!(refused(&[no_items]).0, FXIR_NULL_ARGUMENT);
    assert_eq!(refused(&[fxir_arg { count: usize::MAX, ..no_items }]).0, FXIR_LIMIT);
    assert_eq!(refused(&[arg_node(0)]).0, FXIR_STALE_NODE);
    assert_eq!(refused(&[arg_node(u64::MAX)]).0, FXIR_STALE_NODE);
    let module = new_module();
    let foreign = placeholder(module, c"x");
    assert_eq!(refused(&[arg_items(FXIR_ARG_LIST, 1, &[arg_node(foreign)])]).0, FXIR_STALE_NODE);
    fxir_module_free(module);
}

#[test]
fn depth_is_bounded_however_deep_or_circular() {
    // 100,000 levels, each a list of one.
    let mut levels = vec![arg_int(0); 100_000];
    for at in 1..levels.len() {
        levels[at] = arg_items(FXIR_ARG_LIST, 1, &levels[at - 1..at]);
    }
    assert_eq!(refused(&levels[levels.len() - 1..]).0, FXIR_LIMIT);
    assert_eq!(refused(&levels[65..66]).0, FXIR_LIMIT);
    let module = new_module();
    call(module, c"f", &levels[64..65]);
    fxir_module_free(module);

    // A list that holds itself.
    let mut circle = [arg_int(0); 3];
    let itself = arg_items(FXIR_ARG_TUPLE, 3, &circle);
    circle[2] = itself;
    assert_eq!(refused(&circle[2..]).0, FXIR_LIMIT);

    // Not deep, not circular, and 2^60 items.
    let mut doubling = vec![[arg_int(0); 2]; 60];
    for at in 1..doubling.len() {
        doubling[at] = [arg_items(FXIR_ARG_LIST, 2, &doubling[at - 1]); 2];
    }
    assert_eq!(refused(&doubling[59]).0, FXIR_LIMIT);
}
