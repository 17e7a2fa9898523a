use super::*;
use crate::capi::dead_code::*;
use crate::capi::match_options::*;
use crate::capi::matches::*;
use crate::capi::node_edit::*;
use crate::capi::rewrite::*;
use crate::capi::walk::*;
use std::ffi::c_void;

fn returning(module: *mut fxir_module, node: fxir_node) -> *mut fxir_module {
    // SAFETY: a call as C makes it.
    ok(|error| unsafe { fxir_graph_output(module, &arg_node(node), null_mut(), error) });
    module
}

/// `target(a, b)`; the module and its two placeholders.
fn binary(target: &CStr) -> (*mut fxir_module, [fxir_node; 2]) {
    let module = new_module();
    let inputs = [placeholder(module, c"a"), placeholder(module, c"b")];
    let node = call(module, target, &inputs.map(arg_node));
    (returning(module, node), inputs)
}

/// `add(add(x, 1), [x, 2])`.
fn net() -> *mut fxir_module {
    let module = new_module();
    let x = placeholder(module, c"x");
    let first = call(module, c"torch.add", &[arg_node(x), arg_int(1)]);
    let items = [arg_node(x), arg_int(2)];
    let second = call(module, c"torch.add", &[arg_node(first), arg_items(FXIR_ARG_LIST, 2, &items)]);
    returning(module, second)
}

#[test]
fn matches_tell_what_was_there_and_what_is_there_now() {
    let (net, (pattern, [a, b]), (replacement, _)) = (net(), binary(c"torch.add"), binary(c"torch.sub"));
    let mut matches = null_mut();
    // SAFETY: calls as C makes them.
    unsafe {
        ok(|error| fxir_match_pattern(net, pattern, null(), &raw mut matches, error));
        assert_eq!(fxir_matches_count(matches), 2);
        let mut anchor = 0;
        assert_eq!(fxir_matches_anchors(matches, 0, &raw mut anchor, 1), 1);
        assert_eq!(text(fxir_node_name(net, anchor)), "add");
        assert_eq!(fxir_matches_replacements(matches, 0, null_mut(), 0), 0);
        fxir_matches_free(matches);

        ok(|error| fxir_replace_pattern(net, pattern, replacement, null(), &raw mut matches, error));
        assert_eq!(fxir_matches_count(matches), 2);
        let mut nodes = [0; 8];
        assert_eq!(fxir_matches_pattern_nodes(matches, nodes.as_mut_ptr(), 8), 4);
        assert_eq!(nodes[..2], [a, b]);
        let add = nodes[2];
        assert_eq!(text(fxir_matches_node_name(matches, 1, add)), "add_1");
        assert_eq!(fxir_matches_node_op(matches, 1, add), FXIR_OP_CALL_FUNCTION);
        assert!(fxir_node_name(net, fxir_matches_node(matches, 1, add)).is_null(), "it was replaced");
        assert_eq!(text(fxir_node_name(net, fxir_matches_node(matches, 1, a))), "sub");

        assert_eq!(fxir_matches_node(matches, 0, b), 0);
        let literal = &*fxir_matches_argument(matches, 0, b);
        assert_eq!((literal.kind, literal.value.integer), (FXIR_ARG_INT, 1));
        let list = &*fxir_matches_argument(matches, 1, b);
        assert_eq!((list.kind, list.count), (FXIR_ARG_LIST, 2));
        assert_eq!((*fxir_matches_argument(matches, 0, a)).kind, FXIR_ARG_NODE);
        assert!(fxir_matches_argument(matches, 2, a).is_null() && fxir_matches_argument(matches, 0, 5).is_null());

        let mut new = 0;
        assert_eq!(fxir_matches_replacements(matches, 1, &raw mut new, 1), 1);
        assert_eq!((text(fxir_node_target(net, new)), text(fxir_node_name(net, new))), ("torch.sub", "sub_1"));
        fxir_module_free(net);
        assert_eq!(text(fxir_matches_node_name(matches, 0, add)), "add", "matches outlive the module");
        fxir_matches_free(matches);
        fxir_matches_free(matches);
        assert_eq!(fxir_matches_count(matches), 0);
    }
    fxir_module_free(pattern);
    fxir_module_free(replacement);
}

#[test]
fn pattern_and_replacement_may_be_the_module_itself() {
    let (net, _) = binary(c"torch.add");
    let mut matches = null_mut();
    // SAFETY: calls as C makes them.
    unsafe {
        ok(|error| fxir_replace_pattern(net, net, net, null(), &raw mut matches, error));
        assert_eq!(fxir_matches_count(matches), 1);
        fxir_matches_free(matches);
        ok(|error| crate::capi::lint::fxir_graph_lint(net, error));
    }
    assert_eq!(fxir_graph_node_count(net), 4);
    fxir_module_free(net);
}

struct Asked {
    matches: *const fxir_matches,
    names: Vec<String>,
    keep: &'static str,
    returns: i32,
    pattern_node: fxir_node,
}

unsafe extern "C" fn keep_one(
    data: *mut c_void,
    module: *const fxir_module,
    matches: *const fxir_matches,
    verdict: *mut i32,
) -> i32 {
    // SAFETY: what the test passed.
    let asked = unsafe { &mut *data.cast::<Asked>() };
    let node = fxir_matches_node(matches, 0, asked.pattern_node);
    let name = text(fxir_node_name(module, node)).to_owned();
    assert_eq!(fxir_matches_count(matches), 1);
    // SAFETY: as the header says.
    unsafe { *verdict = i32::from(name == asked.keep) };
    asked.names.push(name);
    asked.matches = matches;
    asked.returns
}

#[test]
fn a_filter_decides_match_by_match() {
    let (net, (pattern, [a, _]), (replacement, _)) = (net(), binary(c"torch.add"), binary(c"torch.sub"));
    let mut asked = Asked {
        matches: null(),
        names: Vec::new(),
        keep: "add_1",
        returns: 0,
        pattern_node: fxir_graph_next(pattern, fxir_graph_next(pattern, a)),
    };
    // SAFETY: calls as C makes them.
    unsafe {
        let mut options = std::mem::zeroed::<fxir_match_options>();
        fxir_match_options_init(&raw mut options);
        options.filter = Some(keep_one);
        options.filter_data = (&raw mut asked).cast();
        asked.returns = 3;
        let stopped = fails(|error| fxir_replace_pattern(net, pattern, replacement, &options, null_mut(), error));
        assert_eq!((stopped.0, asked.names.len()), (FXIR_CALLBACK, 1));
        asked.names.clear();
        asked.returns = 0;
        ok(|error| fxir_replace_pattern(net, pattern, replacement, &options, null_mut(), error));
        assert_eq!(asked.names, ["add", "add_1"]);
        assert_eq!(fxir_matches_count(asked.matches), 0, "dead once the callback returned");
        let last = fxir_graph_prev(net, fxir_graph_output_node(net));
        assert_eq!(text(fxir_node_target(net, last)), "torch.sub");
        assert_eq!(text(fxir_node_target(net, fxir_graph_prev(net, last))), "torch.add");
    }
    [net, pattern, replacement].into_iter().for_each(|module| fxir_module_free(module));
}

#[test]
fn options_of_other_versions() {
    let (net, (pattern, _), (replacement, _)) = (net(), binary(c"torch.add"), binary(c"torch.sub"));
    #[repr(C)]
    struct Longer {
        known: fxir_match_options,
        more: u64,
    }
    // SAFETY: calls as C makes them.
    unsafe {
        let run = |options: *const fxir_match_options| {
            fxir_replace_pattern(net, pattern, replacement, options, null_mut(), null_mut())
        };
        let mut options = Longer { known: std::mem::zeroed(), more: 1 };
        assert_eq!(run(&options.known), FXIR_INVALID_ARGUMENT, "not initialized");
        fxir_match_options_init(&raw mut options.known);
        options.known.struct_size = size_of::<Longer>();
        assert_eq!(run(&raw const options.known), FXIR_UNSUPPORTED);
        options.known.modules = 7;
        options.more = 0;
        assert_eq!(run(&raw const options.known), FXIR_INVALID_ARGUMENT);
        options.known.modules = 0;
        options.known.ignore_literals = 2;
        assert_eq!(run(&raw const options.known), FXIR_INVALID_ARGUMENT);
        options.known.ignore_literals = 0;
        assert_eq!(fxir_graph_node_count(net), 4);
        // What an older caller does not know is zero.
        options.known.struct_size = size_of::<usize>();
        options.known.ignore_literals = 5;
        assert_eq!(run(&raw const options.known), FXIR_OK);
    }
    [net, pattern, replacement].into_iter().for_each(|module| fxir_module_free(module));
}

unsafe extern "C" fn neg_stays(_: *mut c_void, module: *const fxir_module, node: fxir_node, verdict: *mut i32) -> i32 {
    // SAFETY: as the header says.
    unsafe { *verdict = i32::from(text(fxir_node_target(module, node)) == "torch.neg") };
    0
}

#[test]
fn dead_code_goes_and_what_the_caller_calls_impure_stays() {
    let (net, [a, _]) = binary(c"torch.add");
    let neg = call(net, c"torch.neg", &[arg_node(a)]);
    call(net, c"torch.abs", &[arg_node(neg)]);
    let mut erased = 0;
    // SAFETY: calls as C makes them.
    unsafe {
        let mut options = std::mem::zeroed::<fxir_dead_code_options>();
        fxir_dead_code_options_init(&raw mut options);
        options.is_impure = Some(neg_stays);
        ok(|error| fxir_eliminate_dead_code(net, &options, &raw mut erased, error));
        assert_eq!((erased, fxir_node_user_count(net, neg)), (1, 0));
        ok(|error| fxir_eliminate_dead_code(net, null(), &raw mut erased, error));
        assert_eq!((erased, fxir_graph_node_count(net)), (1, 4));
        assert_eq!(fails(|error| fxir_graph_erase_node(net, neg, error)).0, FXIR_STALE_NODE);
    }
    fxir_module_free(net);
}
