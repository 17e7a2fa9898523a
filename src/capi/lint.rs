//! Checking the invariants of graphs.

use super::boundary;
use super::error::fxir_error;
use super::module::fxir_module;
use super::module_handle::read;
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
