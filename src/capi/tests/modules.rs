use super::*;
use crate::capi::copy::*;
use crate::capi::lint::*;
use crate::capi::member::*;
use crate::capi::node_edit::*;
use crate::capi::node_map::*;
use crate::capi::walk::*;

fn submodule(module: *mut fxir_module, path: &CStr) -> *mut fxir_module {
    let mut found = null_mut();
    // SAFETY: a call as C makes it.
    ok(|error| unsafe { fxir_module_get_submodule(module, path.as_ptr(), &raw mut found, error) });
    found
}

/// `relu(x)` returned.
fn net() -> (*mut fxir_module, fxir_node, fxir_node) {
    let module = new_module();
    let x = placeholder(module, c"x");
    let relu = call(module, c"torch.relu", &[arg_node(x)]);
    // SAFETY: a call as C makes it.
    ok(|error| unsafe { fxir_graph_output(module, &arg_node(relu), null_mut(), error) });
    (module, x, relu)
}

#[test]
fn a_handle_of_a_removed_module_says_so() {
    let module = new_module();
    // SAFETY: calls as C makes them.
    unsafe {
        let add = |path: &CStr, kind, error| {
            fxir_module_add_submodule(module, path.as_ptr(), kind, c"T".as_ptr(), null_mut(), error)
        };
        ok(|error| add(c"a.b", FXIR_MODULE_GRAPH, error));
        assert_eq!(fails(|error| add(c"c", 9, error)).0, FXIR_INVALID_ARGUMENT);
        assert_eq!(fails(|error| add(c"a..b", FXIR_MODULE_LEAF, error)).0, FXIR_INVALID_ARGUMENT);
        let inner = submodule(module, c"a.b");
        assert_eq!(text(fxir_module_path(inner)), "a.b");
        assert_eq!(fxir_module_kind(inner), FXIR_MODULE_GRAPH);
        placeholder(inner, c"x");
        ok(|error| fxir_module_delete_member(module, c"a".as_ptr(), error));
        assert_eq!(fxir_module_kind(inner), FXIR_MODULE_NONE);
        assert_eq!(fxir_graph_node_count(inner), 0);
        assert_eq!(fails(|error| fxir_graph_lint(inner, error)).0, FXIR_NOT_FOUND);
        fxir_module_free(inner);
    }
    fxir_module_free(module);
}

#[test]
fn texts_live_as_long_as_any_handle_of_the_tree() {
    let (module, x, relu) = net();
    let name = fxir_node_name(module, relu);
    // SAFETY: calls as C makes them.
    unsafe {
        ok(|error| fxir_node_set_name(module, relu, c"other".as_ptr(), error));
        let mut kept = null_mut();
        ok(|error| fxir_module_retain(module, &raw mut kept, error));
        fxir_module_free(module);
        assert_eq!(text(name), "relu");
        assert_eq!(text(fxir_node_name(kept, relu)), "other");
        assert_eq!(text(fxir_node_name(kept, x)), "x");
        fxir_module_free(kept);
    }
}

#[test]
fn a_clone_has_nodes_of_its_own() {
    let (module, x, _) = net();
    let (mut clone, mut map) = (null_mut(), null_mut());
    // SAFETY: calls as C makes them.
    unsafe {
        ok(|error| fxir_module_clone(module, &raw mut clone, &raw mut map, error));
        assert_eq!(fxir_node_map_count(map), 3);
        let new = fxir_node_map_get(map, x);
        assert_eq!(text(fxir_node_name(clone, new)), "x");
        assert!(fxir_node_name(clone, x).is_null() && fxir_node_name(module, new).is_null());
        assert_eq!((*fxir_node_map_pairs(map)).to, new);
        assert_eq!(fxir_node_map_get(map, new), 0);
        fxir_node_map_free(map);
        ok(|error| fxir_graph_lint(clone, error));
    }
    assert_eq!(fxir_module_origin(module), fxir_module_origin(clone));
    fxir_module_free(module);
    fxir_module_free(clone);
}

#[test]
fn graphs_and_nodes_are_copied_into_others_and_into_themselves() {
    let (module, x, relu) = net();
    let (target, y, _) = net();
    // SAFETY: calls as C makes them.
    unsafe {
        let given = [fxir_node_pair { from: x, to: y }];
        let (mut returned, mut map) = (null_mut(), null_mut());
        let copy = |into, given: &[fxir_node_pair], returned, map, error| {
            fxir_graph_copy(into, module, given.as_ptr(), given.len(), FXIR_AT_DEFAULT, 0, null(), returned, map, error)
        };
        ok(|error| copy(target, &given, &raw mut returned, &raw mut map, error));
        let made = fxir_node_map_get(map, relu);
        assert_eq!(text(fxir_node_name(target, made)), "relu_1");
        assert_eq!(fxir_node_arg_node(target, made, 0), y);
        let result = crate::capi::args::fxir_args_items(returned);
        assert_eq!((*result).value.node, made);
        crate::capi::args::fxir_args_free(returned);
        fxir_node_map_free(map);
        assert_eq!(fxir_graph_node_count(target), 4);

        // Into itself: x and relu once more.
        ok(|error| copy(module, &[], null_mut(), null_mut(), error));
        assert_eq!(fxir_graph_node_count(module), 5);
        ok(|error| fxir_graph_lint(module, error));

        let stale = [fxir_node_pair { from: y, to: y }];
        assert_eq!(fails(|error| copy(target, &stale, null_mut(), null_mut(), error)).0, FXIR_STALE_NODE);
        assert_eq!(fxir_graph_node_count(target), 4);

        let node_copy = |from, node, inputs: &[fxir_node_pair], copy, error| {
            let (inputs, count) = (inputs.as_ptr(), inputs.len());
            fxir_graph_node_copy(target, from, node, inputs, count, FXIR_AT_AFTER, y, null(), copy, error)
        };
        let mut made = 0;
        assert_eq!(fails(|error| node_copy(module, relu, &[], &raw mut made, error)).0, FXIR_INVALID_ARGUMENT);
        ok(|error| node_copy(module, relu, &given, &raw mut made, error));
        assert_eq!(fxir_graph_next(target, y), made);
        ok(|error| node_copy(target, made, &[], &raw mut made, error));
        assert_eq!(fxir_node_arg_node(target, made, 0), y);
        assert_eq!(text(fxir_node_name(target, made)), "relu_3");
    }
    fxir_module_free(module);
    fxir_module_free(target);
}

#[test]
fn a_module_is_moved_only_when_nobody_else_has_it() {
    let (module, ..) = net();
    let (part, ..) = net();
    // SAFETY: calls as C makes them.
    unsafe {
        let take = |part, error| fxir_module_set_submodule_take(module, c"part".as_ptr(), part, error);
        let mut other = null_mut();
        ok(|error| fxir_module_retain(part, &raw mut other, error));
        assert_eq!(fails(|error| take(part, error)).0, FXIR_BUSY);
        fxir_module_free(other);
        assert_eq!(fails(|error| take(module, error)).0, FXIR_INVALID_ARGUMENT);
        ok(|error| take(part, error));
        assert_eq!(fxir_graph_node_count(part), 0);
        let inner = submodule(module, c"part");
        assert_eq!(fxir_graph_node_count(inner), 3);
        // A tree can hold a copy of itself.
        ok(|error| fxir_module_set_submodule(inner, c"again".as_ptr(), module, error));
        assert_eq!(fxir_module_member_kind(module, c"part.again.part".as_ptr()), FXIR_MEMBER_SUBMODULE);
        ok(|error| fxir_module_lint(module, error));
        fxir_module_free(inner);
    }
    fxir_module_free(module);
}

#[test]
fn foreign_and_stale_nodes_are_refused_by_every_edit() {
    let (module, x, relu) = net();
    let (other, foreign, _) = net();
    let arg = arg_int(1);
    // SAFETY: calls as C makes them.
    unsafe {
        let output = fxir_graph_output_node(module);
        ok(|error| fxir_node_set_args(module, output, &arg, 1, error));
        ok(|error| fxir_graph_erase_node(module, relu, error));
        for node in [foreign, relu, u64::MAX, 0] {
            let null = null_mut::<*mut fxir_error>();
            let text = c"t".as_ptr();
            for status in [
                fxir_node_set_op(module, node, FXIR_OP_CALL_METHOD, null),
                fxir_node_set_target(module, node, text, null),
                fxir_node_set_name(module, node, text, null),
                fxir_node_set_type(module, node, text, null),
                fxir_node_set_comment(module, node, text, null),
                fxir_node_set_args(module, node, &arg, 1, null),
                fxir_node_set_kwargs(module, node, std::ptr::null(), 0, null),
                fxir_node_set_arg(module, node, 0, &arg, null),
                fxir_node_insert_arg(module, node, 0, &arg, null),
                fxir_node_set_kwarg(module, node, text, &arg, null),
                fxir_node_move_before(module, node, x, null),
                fxir_node_move_after(module, x, node, null),
                fxir_graph_erase_node(module, node, null),
                fxir_node_replace_all_uses_with(module, node, x, None, null_mut(), null_mut(), null),
                fxir_node_replace_all_uses_with(module, x, node, None, null_mut(), null_mut(), null),
                fxir_node_replace_input_with(module, x, node, x, null),
                crate::capi::meta::fxir_node_set_meta(module, node, text, &arg, null),
                crate::capi::value::fxir_node_set_value(module, node, std::ptr::null(), null),
            ] {
                assert_eq!(status, FXIR_STALE_NODE);
            }
            assert_eq!((fxir_node_op(module, node), fxir_graph_next(module, node)), (0, 0));
            assert_eq!((fxir_node_user_count(module, node), fxir_node_is_before(module, node, x)), (0, 0));
        }
        assert_eq!(fails(|error| fxir_graph_erase_node(module, 0, error)).0, FXIR_STALE_NODE);
        ok(|error| fxir_graph_lint(module, error));
    }
    assert_eq!(fxir_graph_node_count(module), 2);
    fxir_module_free(module);
    fxir_module_free(other);
}
