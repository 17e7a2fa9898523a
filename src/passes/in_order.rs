//! Passes that compute on a graph in order, and must leave one that was not as they found it when
//! they fail.

use super::legalize::legalize;
use crate::ir::{Graph, ModuleId, ModuleTree, NodeId, Op, Result};

/// Runs `pass` on a module whose graph was put in order first. `pass` changes nothing when it
/// fails; then the old order comes back too.
pub(super) fn in_order<T>(
    tree: &mut ModuleTree,
    module: ModuleId,
    pass: impl FnOnce(&mut ModuleTree) -> Result<T>,
) -> Result<T> {
    if is_in_order(tree.graph(module)?) {
        return pass(tree);
    }
    let before: Vec<NodeId> = tree.graph(module)?.nodes().collect();
    legalize(tree.graph_mut(module)?)?;
    let result = pass(tree);
    if result.is_err() {
        tree.graph_mut(module)?.set_order(&before)?;
    }
    result
}

/// Whether placeholders come first, the output last, and every node before its users.
fn is_in_order(graph: &Graph) -> bool {
    let mut placeholders_are_over = false;
    let output = graph.output_node();
    graph.nodes().all(|node| {
        let is_placeholder = graph[node].op() == Op::Placeholder;
        placeholders_are_over |= !is_placeholder;
        !(is_placeholder && placeholders_are_over) && graph.input_nodes(node).all(|input| graph.is_before(input, node))
    }) && (output.is_none() || output == graph.last())
}
