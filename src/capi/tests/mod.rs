//! The functions of the C ABI called as C calls them. tests/c does the same from C; here is what C
//! cannot see: panics, threads, and what pointers lead to.

mod arguments;
mod boundary;
mod callbacks;
mod formats;
mod modules;
mod rewrites;
mod tensors;

use super::argument::*;
use super::error::*;
use super::graph::*;
use super::module::*;
use super::node::*;
use super::status::*;
use std::ffi::{c_char, CStr};
use std::ptr::{null, null_mut};

/// Runs a call that must succeed.
fn ok(call: impl FnOnce(*mut *mut fxir_error) -> fxir_status) {
    let mut error = std::ptr::dangling_mut();
    let status = call(&raw mut error);
    assert_eq!(status, FXIR_OK, "{}", if status == FXIR_OK { "" } else { text(fxir_error_message(error)) });
    assert!(error.is_null(), "success sets the error to NULL");
}

/// Runs a call that must fail; gives the status and the message.
fn fails(call: impl FnOnce(*mut *mut fxir_error) -> fxir_status) -> (fxir_status, String) {
    let mut error = std::ptr::dangling_mut();
    let status = call(&raw mut error);
    assert_ne!(status, FXIR_OK);
    assert_eq!(fxir_error_code(error), status);
    let message = text(fxir_error_message(error)).to_owned();
    assert!(!message.is_empty());
    fxir_error_free(error);
    assert_eq!(fxir_error_code(error), FXIR_INVALID_HANDLE);
    (status, message)
}

fn text<'a>(text: *const c_char) -> &'a str {
    assert!(!text.is_null());
    // SAFETY: what the library hands out is a text.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap()
}

fn new_module() -> *mut fxir_module {
    let mut module = null_mut();
    // SAFETY: a call as C makes it.
    ok(|error| unsafe { fxir_module_new(null(), &raw mut module, error) });
    module
}

fn placeholder(module: *mut fxir_module, name: &CStr) -> fxir_node {
    let mut node = 0;
    // SAFETY: a call as C makes it.
    ok(|error| unsafe { fxir_graph_placeholder(module, name.as_ptr(), &raw mut node, error) });
    node
}

fn call(module: *mut fxir_module, target: &CStr, args: &[fxir_arg]) -> fxir_node {
    let mut node = 0;
    // SAFETY: a call as C makes it.
    ok(|error| unsafe {
        fxir_graph_call_function(module, target.as_ptr(), args.as_ptr(), args.len(), null(), 0, &raw mut node, error)
    });
    node
}

fn arg_node(node: fxir_node) -> fxir_arg {
    fxir_arg::plain(FXIR_ARG_NODE, fxir_arg_value { node })
}

fn arg_int(integer: i64) -> fxir_arg {
    fxir_arg::plain(FXIR_ARG_INT, fxir_arg_value { integer })
}

fn arg_text(kind: u32, text: &[u8]) -> fxir_arg {
    fxir_arg { kind, flags: 0, count: text.len(), value: fxir_arg_value { text: text.as_ptr().cast() } }
}

fn arg_items(kind: u32, count: usize, items: &[fxir_arg]) -> fxir_arg {
    fxir_arg { kind, flags: 0, count, value: fxir_arg_value { items: items.as_ptr() } }
}
