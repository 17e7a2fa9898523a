//! FX code as torch 2.9 prints it: `code`, `print_readable`, and the listing that `str(graph)` gives.

mod clears;
mod code;
mod listing;
mod statement;

use crate::ir::{Graph, ModuleId, ModuleTree, NodeId, Result};
use code::{Class, Style};
use statement::Statement;

pub use listing::graph_text;

/// What `readable` tells of tensors besides dtype and sizes, where it is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadableOptions {
    /// Strides: `"f32[2, 3][3, 1]"`.
    pub include_stride: bool,
    /// Devices: `"f32[2, 3]cpu"`.
    pub include_device: bool,
}

/// The code of a graph module: torch's `GraphModule.code`.
pub fn code(tree: &ModuleTree, module: ModuleId) -> Result<String> {
    let mut out = String::new();
    Class { tree, style: Style::plain() }.function(&mut out, tree.graph(module)?, 0, true);
    Ok(out)
}

/// The code with what is known of each node and where it comes from, and that of the graph modules
/// below: torch's `print_readable`.
pub fn readable(tree: &ModuleTree, module: ModuleId, options: ReadableOptions) -> Result<String> {
    tree.graph(module)?;
    let mut out = String::new();
    let name = tree.symbols().text(tree.get(module)?.type_name());
    let name = name.rsplit('.').next().unwrap_or(name);
    Class { tree, style: Style::verbose(options) }.class(&mut out, module, name)?;
    Ok(out)
}

/// The code with what is known of each node, without class: torch's `python_code` when verbose.
pub fn verbose_code(tree: &ModuleTree, module: ModuleId, options: ReadableOptions) -> Result<String> {
    let mut out = String::new();
    Class { tree, style: Style::verbose(options) }.function(&mut out, tree.graph(module)?, 0, true);
    Ok(out)
}

/// The one line of a node, without what it clears; empty for a placeholder.
pub fn statement(graph: &Graph, node: NodeId) -> Result<String> {
    graph.get(node)?;
    let mut out = String::new();
    Statement::new(graph, Style::plain()).write(&mut out, node);
    Ok(out)
}
