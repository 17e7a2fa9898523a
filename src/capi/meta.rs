//! What is known of a node under keys: `stack_trace`, `lowering_info`, keys of the user's own.

use super::args::{fxir_args, ArgsRecord};
use super::argument::{fxir_arg, Reader};
use super::boundary;
use super::error::{fxir_error, Failure};
use super::input::{self, Out};
use super::module::fxir_module;
use super::module_handle::{read_graph, write_graph};
use super::node::fxir_node;
use super::status::*;
use std::ffi::c_char;
use std::ptr::null;

/// How many entries the node's meta has; what the node yields is not one of them. 0 when it is no
/// live node. torch.fx: `len(Node.meta)`.
#[no_mangle]
pub extern "C" fn fxir_node_meta_count(module: *const fxir_module, node: fxir_node) -> usize {
    boundary::value(0, || {
        let id = input::node(node)?;
        read_graph(module, |graph| Ok(graph.get(id)?.meta().entries.len()))
    })
}

/// The key of the entry at `index`, in the order in which they came. The text lives until the last
/// handle into the tree is freed; NULL when there is none.
#[no_mangle]
pub extern "C" fn fxir_node_meta_key(module: *const fxir_module, node: fxir_node, index: usize) -> *const c_char {
    boundary::value(null(), || {
        let id = input::node(node)?;
        read_graph(module, |graph| {
            let key = graph.get(id)?.meta().entries.get_index(index).map(|(&key, _)| key);
            Ok(key.map_or(null(), |key| graph.symbols().text_with_nul(key).as_ptr().cast()))
        })
    })
}

/// A snapshot of an entry, as its one item. Free it with `fxir_args_free`.
///
/// Statuses: FXIR_STALE_NODE, FXIR_NOT_FOUND, FXIR_INVALID_UTF8. torch.fx: `Node.meta[key]`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_get_meta(
    module: *const fxir_module,
    node: fxir_node,
    key: *const c_char,
    value: *mut *mut fxir_args,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let value = Out::required(value, "value")?;
        let key = input::text(key, "key")?;
        let id = input::node(node)?;
        let record = read_graph(module, |graph| {
            let meta = graph.get(id)?.meta();
            let entry = graph.symbols().find(key).and_then(|key| meta.entries.get(&key));
            let entry = entry.ok_or_else(|| Failure::new(FXIR_NOT_FOUND, format!("the node has no meta {key:?}")))?;
            Ok(ArgsRecord::new(graph.symbols(), std::slice::from_ref(entry), &[]))
        })?;
        value.set_handle(record)
    })
}

/// Sets an entry of the node's meta: anything but a node, under any key. Copies of the node carry it
/// along. What the node yields is set with `fxir_node_set_value`.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_ARGUMENT (a node in it), FXIR_INVALID_UTF8, FXIR_LIMIT.
/// torch.fx: `Node.meta[key] = value`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_set_meta(
    module: *mut fxir_module,
    node: fxir_node,
    key: *const c_char,
    value: *const fxir_arg,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let key = input::text(key, "key")?;
        let id = input::node(node)?;
        write_graph(module, |graph| {
            let value = Reader::new(graph.symbols()).one(value, "value")?;
            Ok(graph.set_meta(id, key, value)?)
        })
    })
}

/// Takes an entry out of the node's meta.
///
/// Statuses: FXIR_STALE_NODE, FXIR_NOT_FOUND, FXIR_INVALID_UTF8. torch.fx: `del Node.meta[key]`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_delete_meta(
    module: *mut fxir_module,
    node: fxir_node,
    key: *const c_char,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let key = input::text(key, "key")?;
        let id = input::node(node)?;
        write_graph(module, |graph| match graph.remove_meta(id, key)? {
            true => Ok(()),
            false => Err(Failure::new(FXIR_NOT_FOUND, format!("the node has no meta {key:?}"))),
        })
    })
}
