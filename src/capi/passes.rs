//! Passes that take a module and little else.

use super::boundary;
use super::error::fxir_error;
use super::module::fxir_module;
use super::module_handle::write_graph;
use super::status::*;
use crate::passes::legalize::legalize;

/// Puts the graph in order: every node after what it uses, placeholders first, the output last.
/// Stable: a graph that is in order does not change, and independent nodes keep their order.
///
/// Statuses: FXIR_LINT (nodes use each other in a circle; the message names them). torch.fx:
/// `legalize_graph`.
#[no_mangle]
pub unsafe extern "C" fn fxir_legalize_graph(module: *mut fxir_module, error: *mut *mut fxir_error) -> fxir_status {
    boundary::status(error, || write_graph(module, |graph| Ok(legalize(graph)?)))
}
