//! Graphs as text for people.

use super::boundary;
use super::buffer::{fxir_buffer, Buffer};
use super::error::fxir_error;
use super::input::Out;
use super::module::fxir_module;
use super::module_handle::read_graph;
use super::status::*;
use crate::formats::tabular::print_tabular;

/// The graph as a table, one line a node: opcode, name, target, args, kwargs. Functions that Python
/// would print with an address are told by their qualified names. Each line ends with a newline. The
/// caller frees `*table`.
///
/// torch.fx: `Graph.print_tabular`.
#[no_mangle]
pub unsafe extern "C" fn fxir_graph_print_tabular(
    module: *const fxir_module,
    table: *mut *mut fxir_buffer,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let table = Out::required(table, "table")?;
        let text = read_graph(module, |graph| Ok(print_tabular(graph) + "\n"))?;
        table.set_handle(Buffer::new(text))
    })
}
