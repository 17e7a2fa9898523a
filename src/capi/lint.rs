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
/// Statuses: FXIR_LINT; `fxir_error_node` and the message say which node breaks which rule. torch.fx:
/// `Graph.lint`.
#[no_mangle]
pub unsafe extern "C" fn fxir_graph_lint(module: *const fxir_module, error: *mut *mut fxir_error) -> fxir_status {
    boundary::status(error, || read(module, |tree, id| Ok(lint::lint(tree, id)?)))
}

/// Checks the module's graph and that of every graph module below it; the message begins with the
/// path of the module that it is about.
///
/// Statuses: FXIR_LINT.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_lint(module: *const fxir_module, error: *mut *mut fxir_error) -> fxir_status {
    boundary::status(error, || read(module, |tree, id| Ok(lint::lint_all(tree, id)?)))
}
