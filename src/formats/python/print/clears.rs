//! Which names a statement clears: those that nothing uses after it.

use crate::ir::{Graph, NodeId, Op};

/// For each slot the last node that uses it.
pub(super) struct Clears(Vec<Option<NodeId>>);

impl Clears {
    pub(super) fn new(graph: &Graph) -> Self {
        let mut last = vec![None; graph.slot_count()];
        for node in graph.nodes() {
            for input in graph.input_nodes(node) {
                last[input.slot()] = Some(node);
            }
        }
        Clears(last)
    }

    /// Appends `;  x = y = None` if there is something to clear.
    pub(super) fn write(&self, out: &mut String, graph: &Graph, node: NodeId) {
        if matches!(graph[node].op(), Op::Placeholder | Op::Output) {
            return;
        }
        let mut separator = ";  ";
        let mut clear = |out: &mut String, cleared: NodeId| {
            out.push_str(separator);
            graph.write_name(out, cleared);
            separator = " = ";
        };
        for input in graph.input_nodes(node) {
            if self.0[input.slot()] == Some(node) {
                clear(out, input);
            }
        }
        if graph.user_count(node) == 0 {
            clear(out, node);
        }
        if separator == " = " {
            out.push_str(" = None");
        }
    }
}
