//! A graph without its names and without the order of its nodes.

use crate::random_graph::listing::show;
use fxir::ir::{Argument, Graph, ModuleTree, NodeId, Op};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Each node by what it computes of what, how many nodes use it, and whether it is one of the inputs;
/// sorted. Two graphs with one drawing are the same up to names and the order of independent nodes.
pub fn drawing(tree: &ModuleTree) -> Vec<String> {
    let graph = tree.graph(tree.root()).unwrap();
    let mut known: Vec<u64> = vec![0; graph.slot_count()];
    let mut lines = Vec::new();
    for (place, node) in graph.nodes().enumerate() {
        let found = &graph[node];
        let mut arguments: Vec<String> = found.args().iter().map(|it| spelled(graph, it, &known)).collect();
        let mut kwargs: Vec<String> = found
            .kwargs()
            .iter()
            .map(|(key, it)| format!("{}={}", graph.text(*key), spelled(graph, it, &known)))
            .collect();
        kwargs.sort();
        arguments.append(&mut kwargs);
        // Inputs are told apart by their places; they come first.
        let place = if found.op() == Op::Placeholder { place } else { 0 };
        let line = format!("{} {} {place} ({})", found.op().name(), graph.target(node), arguments.join(", "));
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        known[node.slot()] = hasher.finish();
        lines.push(format!("{line} for {}", graph.user_count(node)));
    }
    lines.sort();
    lines
}

fn spelled(graph: &Graph, argument: &Argument, known: &[u64]) -> String {
    let all = |items: &[Argument]| items.iter().map(|item| spelled(graph, item, known)).collect::<Vec<_>>().join(", ");
    match argument {
        Argument::Node(node) => format!("#{:x}", known[node.slot()]),
        Argument::List(items) => format!("[{}]", all(items)),
        Argument::Tuple(items) => format!("({})", all(items)),
        Argument::Slice(parts) => format!("slice({})", all(parts.as_ref())),
        Argument::Dict(entries) => {
            let entry =
                |(key, value): &(Argument, Argument)| format!("{}: {}", show(graph, key), spelled(graph, value, known));
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        literal => show(graph, literal),
    }
}

/// The nodes of the root in their order.
pub fn order(tree: &ModuleTree) -> Vec<NodeId> {
    tree.graph(tree.root()).unwrap().nodes().collect()
}
