use super::*;
use crate::capi::node_edit::*;
use crate::capi::walk::*;
use std::ffi::c_void;

/// What a callback sees and does.
struct Visit {
    module: *mut fxir_module,
    other: *mut fxir_module,
    view: *const fxir_module,
    seen: Vec<String>,
    returns: i32,
    verdict: i32,
}

unsafe extern "C" fn visit(data: *mut c_void, view: *const fxir_module, node: fxir_node, verdict: *mut i32) -> i32 {
    // SAFETY: what the test passed.
    let visit = unsafe { &mut *data.cast::<Visit>() };
    visit.view = view;
    visit.seen.push(text(fxir_node_name(view, node)).to_owned());

    // The module itself is busy, read or written; the view is for reading.
    assert_eq!(fxir_graph_node_count(visit.module), 0);
    assert_eq!(fxir_graph_node_count(view), 5);
    // SAFETY: calls as C makes them.
    unsafe {
        let write = |module| fxir_graph_placeholder(module, c"late".as_ptr(), null_mut(), null_mut());
        assert_eq!(write(visit.module), FXIR_BUSY);
        assert_eq!(write(view.cast_mut()), FXIR_BUSY);
        // Other modules are free.
        assert_eq!(write(visit.other), FXIR_OK);
        let mut changed = 9;
        let nested = fxir_node_replace_all_uses_with(
            visit.module,
            node,
            node,
            Some(visit_none),
            null_mut(),
            &raw mut changed,
            null_mut(),
        );
        assert_eq!((nested, changed), (FXIR_BUSY, 9));
        // SAFETY: as the header says.
        *verdict = visit.verdict;
    }
    // Another thread may read the module at the same time.
    let address = visit.module.addr();
    std::thread::spawn(move || {
        assert_eq!(fxir_graph_node_count(std::ptr::with_exposed_provenance(address)), 5);
    })
    .join()
    .unwrap();
    visit.returns
}

unsafe extern "C" fn visit_none(_: *mut c_void, _: *const fxir_module, _: fxir_node, _: *mut i32) -> i32 {
    unreachable!("nothing asks")
}

fn graph() -> (*mut fxir_module, fxir_node, fxir_node) {
    let module = new_module();
    let (x, y) = (placeholder(module, c"x"), placeholder(module, c"y"));
    call(module, c"torch.relu", &[arg_node(x)]);
    call(module, c"torch.neg", &[arg_node(x)]);
    call(module, c"torch.abs", &[arg_node(y)]);
    (module, x, y)
}

fn replace(visit_with: &mut Visit, x: fxir_node, y: fxir_node, changed: &mut usize) -> fxir_status {
    let module = visit_with.module;
    let data = (&raw mut *visit_with).cast();
    // SAFETY: a call as C makes it.
    unsafe { fxir_node_replace_all_uses_with(module, x, y, Some(visit), data, changed, null_mut()) }
}

#[test]
fn a_filter_reads_through_its_view_and_nothing_else() {
    let (module, x, y) = graph();
    let other = new_module();
    let mut with = Visit { module, other, view: null(), seen: Vec::new(), returns: 0, verdict: 1 };
    let mut changed = 0;
    assert_eq!(replace(&mut with, x, y, &mut changed), FXIR_OK);
    assert_eq!(with.seen, ["relu", "neg"]);
    assert_eq!(changed, 2);
    assert_eq!(fxir_node_user_count(module, x), 0);
    assert_eq!(fxir_node_user_count(module, y), 3);
    assert_eq!(fxir_graph_node_count(other), 2);
    // The view is dead.
    assert_eq!(fxir_graph_node_count(with.view), 0);
    fxir_module_free(with.view.cast_mut());
    fxir_module_free(module);
    fxir_module_free(other);
}

#[test]
fn a_filter_that_fails_stops_everything() {
    let (module, x, y) = graph();
    let other = new_module();
    let mut with = Visit { module, other, view: null(), seen: Vec::new(), returns: -42, verdict: 1 };
    let mut changed = 77;
    let mut error = null_mut();
    let data = (&raw mut with).cast();
    // SAFETY: a call as C makes it.
    let status =
        unsafe { fxir_node_replace_all_uses_with(module, x, y, Some(visit), data, &raw mut changed, &raw mut error) };
    assert_eq!((status, fxir_error_callback_code(error)), (FXIR_CALLBACK, -42));
    fxir_error_free(error);
    assert_eq!((changed, fxir_node_user_count(module, x)), (77, 2));

    with.returns = 0;
    with.verdict = 2;
    assert_eq!(replace(&mut with, x, y, &mut changed), FXIR_INVALID_ARGUMENT);
    assert_eq!((changed, fxir_node_user_count(module, x)), (77, 2));
    fxir_module_free(module);
    fxir_module_free(other);
}

#[test]
fn a_filter_may_free_the_module_it_is_called_for() {
    unsafe extern "C" fn free(data: *mut c_void, view: *const fxir_module, _: fxir_node, _: *mut i32) -> i32 {
        fxir_module_free(data.cast());
        assert_eq!(fxir_graph_node_count(view), 5);
        0
    }
    let (module, x, y) = graph();
    let mut changed = 0;
    // SAFETY: a call as C makes it.
    let status = unsafe {
        fxir_node_replace_all_uses_with(module, x, y, Some(free), module.cast(), &raw mut changed, null_mut())
    };
    assert_eq!((status, changed), (FXIR_OK, 2));
    assert_eq!(fxir_graph_node_count(module), 0);
}
