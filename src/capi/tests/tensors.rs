use super::*;
use crate::capi::member::*;
use crate::capi::tensor::*;
use crate::capi::walk::*;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

static VALUES: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

unsafe extern "C" fn count(counter: *mut c_void, data: *const c_void) {
    assert_eq!(data, VALUES.as_ptr().cast());
    // SAFETY: what the test passed.
    unsafe { &*counter.cast::<AtomicUsize>() }.fetch_add(1, Ordering::Relaxed);
    // No lock is held: the library can be used.
    let module = new_module();
    placeholder(module, c"x");
    fxir_module_free(module);
}

fn borrow(counter: &AtomicUsize, length: usize) -> Result<*mut fxir_tensor, fxir_status> {
    let mut tensor = null_mut();
    let counter = std::ptr::from_ref(counter).cast_mut().cast();
    // SAFETY: a call as C makes it.
    let status = unsafe {
        let data = VALUES.as_ptr().cast();
        fxir_tensor_borrow(
            7,
            [2i64, 3].as_ptr(),
            2,
            null(),
            data,
            length,
            Some(count),
            counter,
            &raw mut tensor,
            null_mut(),
        )
    };
    if status == FXIR_OK {
        Ok(tensor)
    } else {
        Err(status)
    }
}

#[test]
fn borrowed_memory_is_given_back_once_after_the_last_use() {
    let counter = AtomicUsize::new(0);
    let times = || counter.load(Ordering::Relaxed);
    assert_eq!(borrow(&counter, 23), Err(FXIR_OUT_OF_RANGE));
    assert_eq!(times(), 0);

    let tensor = borrow(&counter, 24).unwrap();
    assert_eq!(fxir_tensor_data(tensor), VALUES.as_ptr().cast());
    assert_eq!((fxir_tensor_size(tensor), fxir_tensor_rank(tensor), fxir_tensor_dtype(tensor)), (24, 2, 7));
    let module = new_module();
    // SAFETY: calls as C makes them.
    unsafe {
        let set =
            |path: &CStr, error| fxir_module_set_tensor(module, path.as_ptr(), FXIR_MEMBER_PARAMETER, tensor, error);
        ok(|error| set(c"a.weight", error));
        ok(|error| set(c"b.weight", error));
        fxir_tensor_free(tensor);
        fxir_tensor_free(tensor);
        assert_eq!(times(), 0);
        let mut clone = null_mut();
        ok(|error| fxir_module_clone(module, &raw mut clone, null_mut(), error));
        ok(|error| fxir_module_delete_member(module, c"a".as_ptr(), error));
        fxir_module_free(module);
        assert_eq!(times(), 0);
        let mut other = null_mut();
        ok(|error| fxir_module_get_tensor(clone, c"b.weight".as_ptr(), &raw mut other, error));
        // Dropped by an edit, with the tree's lock held.
        ok(|error| fxir_module_delete_member(clone, c"b".as_ptr(), error));
        ok(|error| fxir_module_delete_member(clone, c"a.weight".as_ptr(), error));
        assert_eq!(times(), 0);
        fxir_tensor_free(other);
        assert_eq!(times(), 1);
        fxir_module_free(clone);
    }
    assert_eq!(times(), 1);
}

#[test]
fn an_edit_that_ends_the_last_use_gives_back_after_its_lock() {
    let counter = AtomicUsize::new(0);
    let tensor = borrow(&counter, 24).unwrap();
    let module = new_module();
    // SAFETY: calls as C makes them.
    unsafe {
        ok(|error| fxir_module_set_tensor(module, c"w".as_ptr(), FXIR_MEMBER_BUFFER, tensor, error));
        fxir_tensor_free(tensor);
        ok(|error| fxir_module_set_attribute(module, c"w".as_ptr(), &arg_int(3), error));
    }
    assert_eq!(counter.load(Ordering::Relaxed), 1);
    assert_eq!(fxir_graph_node_count(module), 0);
    fxir_module_free(module);
}

#[test]
fn the_tensors_of_a_node_by_name() {
    let counter = AtomicUsize::new(0);
    let tensor = borrow(&counter, 24).unwrap();
    let module = new_module();
    let x = placeholder(module, c"x");
    let (mut fc, mut read, mut found) = (0, 0, null_mut());
    // SAFETY: calls as C makes them.
    unsafe {
        let kind = FXIR_MODULE_LEAF;
        ok(|error| fxir_module_add_submodule(module, c"fc".as_ptr(), kind, c"T".as_ptr(), null_mut(), error));
        let path = c"fc.weight".as_ptr();
        ok(|error| fxir_module_set_tensor(module, path, FXIR_MEMBER_PARAMETER, tensor, error));
        ok(|error| fxir_module_set_attribute(module, c"fc.size".as_ptr(), &arg_int(3), error));
        let args = [arg_node(x)];
        ok(|error| fxir_graph_call_module(module, c"fc".as_ptr(), args.as_ptr(), 1, null(), 0, &raw mut fc, error));
        ok(|error| fxir_graph_get_attr(module, path, &raw mut read, error));
        let mut get =
            |node, name: *const c_char, error| fxir_node_get_tensor(module, node, name, &raw mut found, error);
        for (node, name) in [(fc, c"weight".as_ptr()), (read, null())] {
            ok(|error| get(node, name, error));
        }
        assert_eq!(fails(|error| get(fc, c"bias".as_ptr(), error)).0, FXIR_NOT_FOUND);
        assert_eq!(fails(|error| get(fc, c"size".as_ptr(), error)).0, FXIR_NOT_FOUND);
        assert_eq!(fails(|error| get(fc, null(), error)).0, FXIR_NULL_ARGUMENT);
        assert_eq!(fails(|error| get(x, null(), error)).0, FXIR_INVALID_ARGUMENT);
        assert_eq!(fails(|error| get(0, null(), error)).0, FXIR_STALE_NODE);
    }
    assert_eq!(fxir_tensor_data(found), fxir_tensor_data(tensor));
    fxir_tensor_free(tensor);
    fxir_tensor_free(found);
    fxir_module_free(module);
}

#[test]
fn a_handle_of_another_type_is_refused() {
    let counter = AtomicUsize::new(0);
    let tensor = borrow(&counter, 24).unwrap();
    let module = new_module();
    assert_eq!(fxir_graph_node_count(tensor.cast()), 0);
    assert_eq!(fxir_tensor_rank(module.cast()), 0);
    // SAFETY: calls as C makes them, wrong ones.
    unsafe {
        let wrong = fails(|error| fxir_graph_placeholder(tensor.cast(), c"x".as_ptr(), null_mut(), error));
        assert_eq!(wrong.0, FXIR_INVALID_HANDLE);
    }
    fxir_module_free(tensor.cast());
    fxir_error_free(tensor.cast());
    assert_eq!(fxir_tensor_rank(tensor), 2);
    fxir_tensor_free(tensor);
    fxir_module_free(module);
    assert_eq!(counter.load(Ordering::Relaxed), 1);
}
