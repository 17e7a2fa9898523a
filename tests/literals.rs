//! Python literals: printed as Python prints them, read back as the same argument.

use std::sync::Arc;

use fxir::formats::python::literal::{parse_literal, parse_str_text};
use fxir::formats::python::repr::{float_repr, repr, str_repr, str_text, write_repr};
use fxir::ir::argument::{Argument, MAX_ARGUMENT_DEPTH};
use fxir::ir::dtype::Dtype;
use fxir::ir::graph::Graph;
use fxir::ir::symbol::Symbols;
use proptest::prelude::*;

fn printed(argument: &Argument, symbols: &Symbols) -> String {
    let mut out = String::new();
    write_repr(&mut out, argument, symbols, &|out: &mut String, _| out.push_str("node"));
    out
}

/// That `text` is read, and printed as `text` again.
fn same(text: &str) -> Argument {
    let symbols = Symbols::new();
    let argument = parse_literal(text, &symbols).unwrap_or_else(|| panic!("{text} was not read"));
    assert_eq!(printed(&argument, &symbols), text);
    argument
}

#[test]
fn what_python_prints_is_read_and_printed_again() {
    for text in [
        "None",
        "True",
        "False",
        "Ellipsis",
        "0",
        "-1",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "-123456789012345678901234567890",
        "0.0",
        "-0.0",
        "0.1",
        "1.0",
        "1e-05",
        "0.0001",
        "1e+16",
        "1000000000000000.0",
        "1.2345678901234568e+17",
        "5e-324",
        "1.7976931348623157e+308",
        "inf",
        "-inf",
        "nan",
        "1j",
        "-2j",
        "-0j",
        "0j",
        "2.5j",
        "(1+2j)",
        "(1.5-0j)",
        "(-0+1j)",
        "1e+16j",
        "(1e-05+1e+16j)",
        "complex(1.0, nan)",
        "complex(-inf, 0.0)",
        "''",
        "'zeros'",
        "\"it's\"",
        r#"'it\'s "so"'"#,
        r"'a\\b\n\r\t'",
        r"'\x00\x7f\x80\u200b\ue000\U000e0001'",
        "'naïve 漢字 🙂'",
        "b''",
        r"b'a\x00\xff\n'",
        "b\"'\"",
        "torch.float32",
        "torch.bool",
        "torch.strided",
        "torch.channels_last_3d",
        "torch.per_channel_affine_float_qparams",
        "device(type='cpu')",
        "device(type='cuda', index=0)",
        "[]",
        "[1]",
        "[1, 2]",
        "()",
        "(1,)",
        "(3, 3)",
        "((1,), [(), 2.0], {})",
        "{'a': 1, 2: [None]}",
        "slice(1, None, None)",
        "slice((1,), -1, 2)",
        "range(0, 3)",
        "range(5, 0, -1)",
    ] {
        same(text);
    }
    assert!(matches!(same("1.0"), Argument::Float(_)));
    assert!(matches!(same("1"), Argument::Int(1)));
    assert!(matches!(same("9223372036854775808"), Argument::BigInt(_)));
    assert!(matches!(same("torch.int8"), Argument::Dtype(Dtype::Int8)));
    assert!(matches!(same("(1,)"), Argument::Tuple(items) if items.len() == 1));
}

#[test]
fn other_spellings_are_read_too() {
    for (text, printed_as) in [
        (" [1 ,2,] ", "[1, 2]"),
        ("(1)", "1"),
        ("...", "Ellipsis"),
        ("1.", "1.0"),
        (".5", "0.5"),
        ("1E5", "100000.0"),
        ("\"a\"", "'a'"),
        ("slice(3)", "slice(None, 3, None)"),
        ("range(3)", "range(0, 3)"),
        ("torch.long", "torch.int64"),
        ("torch.device(type='cpu')", "device(type='cpu')"),
    ] {
        let symbols = Symbols::new();
        let argument = parse_literal(text, &symbols).expect(text);
        assert_eq!(printed(&argument, &symbols), printed_as);
    }
}

#[test]
fn what_is_no_literal_is_none() {
    let symbols = Symbols::new();
    for text in [
        "",
        " ",
        "zeros",
        "x",
        "1 2",
        "1-2",
        "--1",
        "+1",
        "007",
        "1_0",
        "1.0.0",
        "0x10",
        "1e",
        "e5",
        ".",
        "-",
        "[",
        "[1",
        "[1 2]",
        "(,)",
        "(1",
        "[,]",
        "{1}",
        "{1:}",
        "{1: 2",
        "'",
        "'a",
        "'a\nb'",
        r"'\q'",
        r"'\xg0'",
        r"'\x+1'",
        r"'\ud800'",
        "b'é'",
        r"b'\u0041'",
        "torch",
        "torch.",
        "torch.relu",
        "slice()",
        "slice(1, 2, 3, 4)",
        "slice",
        "range(1.0)",
        "range(1, 2, 0)",
        "complex(1, 2)",
        "device('cpu')",
        "device(type=1)",
        "device(type='cpu', index=)",
        "infinity",
        "-infinity",
        "None.x",
        "é",
        "'a' 'b'",
        "lambda: 0",
        "torch.Size([1])",
        "1 if 2 else 3",
    ] {
        assert!(parse_literal(text, &symbols).is_none(), "{text:?} was read");
    }
}

#[test]
fn nesting_is_bounded() {
    let symbols = Symbols::new();
    for (open, close) in [("[", "]"), ("(", ",)"), ("{0:", "}"), ("slice(", ")")] {
        let inner = |depth| open.repeat(depth) + "0" + &close.repeat(depth);
        assert!(parse_literal(&inner(MAX_ARGUMENT_DEPTH), &symbols).is_some(), "{open}");
        assert!(parse_literal(&inner(MAX_ARGUMENT_DEPTH + 1), &symbols).is_none(), "{open}");
        assert!(parse_literal(&inner(100_000), &symbols).is_none());
        let deepest = parse_literal(&inner(MAX_ARGUMENT_DEPTH), &symbols).unwrap();
        assert!(deepest.check().is_ok());
        assert!(!printed(&deepest, &symbols).contains("..."));
    }
}

#[test]
fn settings_of_leaf_modules() {
    let symbols = Symbols::new();
    let read = |text: &str| parse_str_text(text, &symbols);
    assert!(matches!(read("(3, 3)"), Argument::Tuple(_)));
    assert!(matches!(read("1e-05"), Argument::Float(value) if value == 1e-5));
    assert!(matches!(read("True"), Argument::Bool(true)));
    assert!(matches!(read("None"), Argument::None));
    assert!(matches!(read("2"), Argument::Int(2)));
    assert!(matches!(read("zeros"), Argument::Str(_)));
    // Each would be printed otherwise, so each is the string that was there.
    for text in ["'zeros'", "1.00", "(3,3)", "+1", "[1,]", " 1", "...", "", "1E5", "device(type='cpu')", "nan "] {
        assert!(matches!(read(text), Argument::Str(_)), "{text}");
        assert_eq!(str_text(&read(text), &symbols).as_deref(), Some(text));
    }
    assert!(matches!(read("['zeros']"), Argument::List(_)));
    assert_eq!(str_text(&Argument::Device(symbols.intern("cuda:1")), &symbols).as_deref(), Some("cuda:1"));
}

#[test]
fn nodes_are_printed_by_name() {
    let symbols = Symbols::new();
    let mut graph = Graph::new(symbols.clone());
    let x = graph.placeholder("x").unwrap();
    let list = Argument::List([Argument::Node(x), Argument::Str(symbols.intern("x"))].into());
    assert_eq!(repr(&list, &graph), "[x, 'x']");
    assert_eq!(str_text(&list, &symbols), None);
}

#[test]
#[allow(clippy::excessive_precision)] // the digits are what is tested
fn floats_and_strings_alone() {
    assert_eq!(float_repr(100.0), "100.0");
    assert_eq!(float_repr(-1.5e-7), "-1.5e-07");
    assert_eq!(float_repr(f64::NEG_INFINITY), "-inf");
    // Exactly between two texts of the shortest length: Python takes the even one.
    assert_eq!(float_repr(2041967882554357.25), "2041967882554357.2");
    assert_eq!(float_repr(168386664070397.125), "168386664070397.12");
    assert_eq!(float_repr(9007199254740993.0), "9007199254740992.0");
    assert_eq!(float_repr(2.0f64.powi(-1074)), "5e-324");
    assert_eq!(float_repr(9.5367431640625e-07), "9.5367431640625e-07");
    assert_eq!(str_repr("a'b"), "\"a'b\"");
    // A mark that combines with the character before it stands for itself.
    assert_eq!(str_repr("\u{301}e\u{301}"), "'\u{301}e\u{301}'");
}

/// Any argument without nodes.
fn any_argument(symbols: Arc<Symbols>) -> impl Strategy<Value = Argument> {
    let leaf = prop_oneof![
        Just(Argument::None),
        Just(Argument::Ellipsis),
        any::<bool>().prop_map(Argument::Bool),
        any::<i64>().prop_map(Argument::Int),
        any::<f64>().prop_map(Argument::Float),
        any::<u64>().prop_map(|bits| Argument::Float(f64::from_bits(bits))),
        any::<[f64; 2]>().prop_map(|parts| Argument::Complex(Box::new(parts))),
        any::<String>().prop_map(move |text| Argument::Str(symbols.intern(&text))),
        any::<Vec<u8>>().prop_map(|bytes| Argument::Bytes(bytes.into())),
        prop::sample::select(vec![Dtype::Float16, Dtype::Uint64]).prop_map(Argument::Dtype),
        any::<(i64, i64)>().prop_map(|(start, stop)| Argument::Range(Box::new([start, stop, 2]))),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| Argument::List(items.into())),
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| Argument::Tuple(items.into())),
            prop::collection::vec((inner.clone(), inner.clone()), 0..3)
                .prop_map(|entries| Argument::Dict(entries.into())),
            [inner.clone(), inner.clone(), inner].prop_map(|parts| Argument::Slice(Box::new(parts))),
        ]
    })
}

#[test]
fn what_is_printed_is_read() {
    let symbols = Symbols::new();
    proptest!(|(argument in any_argument(symbols.clone()))| {
        let text = printed(&argument, &symbols);
        let again = parse_literal(&text, &symbols);
        prop_assert!(again.is_some(), "{}", text);
        let again = again.unwrap();
        prop_assert!(argument.same_literal(&symbols, &again, &symbols, &mut |_, _| false), "{}", text);
        prop_assert_eq!(printed(&again, &symbols), text);
    });
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>(), python in "[\\[\\](){},:'\"b\\\\x0-9.eEjn+ \\-]{0,40}") {
        let symbols = Symbols::new();
        parse_str_text(&text, &symbols);
        let argument = parse_str_text(&python, &symbols);
        prop_assert_eq!(str_text(&argument, &symbols), Some(python));
    }
}
