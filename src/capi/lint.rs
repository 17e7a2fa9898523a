//! Checking the invariants of graphs.

use super::boundary;
use super::error::fxir_error;
use super::module::fxir_module;
use super::module_handle::{read, read_graph};
use super::status::*;
use crate::ir::lint;

/// Checks the graph of one module: placeholders come first, one output comes last, each node is
/// defined before it is used, users are exact, names are legal and unique, and what call_module and
/// get_attr name are members.
///
/// Statuses: FXIR_LINT; `fxir_error_node` and the message say which node breaks which rule;
/// FXIR_INVALID_ARGUMENT (the module has no graph). torch.fx: `Graph.lint`.
#[no_mangle]
pub unsafe extern "C" fn fxir_graph_lint(module: *const fxir_module, error: *mut *mut fxir_error) -> fxir_status {
    boundary::status(error, || read(module, |tree, id| Ok(lint::lint(tree, id)?)))
}

/// Checks as `fxir_graph_lint` does the module's own graph, if it has one, and that of every graph
/// module below it, down to any depth; the first fault ends it. Of a fault below, the message begins
/// with the path of the module, and `fxir_error_node` is a node of that module.
///
/// Statuses: FXIR_LINT. torch.fx: `GraphModule.graph.lint`, for every graph module at once.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_lint(module: *const fxir_module, error: *mut *mut fxir_error) -> fxir_status {
    boundary::status(error, || read(module, |tree, id| Ok(lint::lint_all(tree, id)?)))
}

/// Whether the order of the graph is a topological one: placeholders come first, the output last, and
/// every node stands before its users. 1 or 0; 0 too when `module` is no graph module.
/// `fxir_graph_lint_order` says what is wrong. Linear in nodes and edges.
#[no_mangle]
pub extern "C" fn fxir_graph_is_topologically_sorted(module: *const fxir_module) -> i32 {
    boundary::value(0, || read_graph(module, |graph| Ok(i32::from(lint::out_of_order(graph).is_none()))))
}

/// Checks the order and nothing else, for graphs that are edited by hand. Of a node that is used
/// before it is defined, `fxir_error_node` is the first user that stands too early, and
/// `fxir_error_nodes` gives that and the node which it uses.
///
/// Statuses: FXIR_LINT. torch.fx: a part of `Graph.lint`.
#[no_mangle]
pub unsafe extern "C" fn fxir_graph_lint_order(module: *const fxir_module, error: *mut *mut fxir_error) -> fxir_status {
    boundary::status(error, || read_graph(module, |graph| Ok(lint::lint_order(graph)?)))
}
