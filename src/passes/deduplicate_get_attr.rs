//! A member that is read several times is read once.

use crate::ir::{ModuleId, ModuleTree, NodeId, Op, Result, Symbol};
use rustc_hash::FxHashMap;

/// Of the get_attr nodes that read one member the first takes the place of the others, which are
/// erased: each yields the same object, whatever is written into it. Returns the pairs: the node
/// that is gone, the one that stands for it, in the order of the graph.
pub fn deduplicate_get_attr(tree: &mut ModuleTree, module: ModuleId) -> Result<Vec<(NodeId, NodeId)>> {
    let graph = tree.graph_mut(module)?;
    let mut first: FxHashMap<Symbol, NodeId> = FxHashMap::default();
    let mut pairs = Vec::new();
    for node in graph.nodes_of(Op::GetAttr) {
        match first.get(&graph[node].target()) {
            Some(&kept) => pairs.push((node, kept)),
            None => {
                first.insert(graph[node].target(), node);
            }
        }
    }
    graph.merge(&pairs)?;
    Ok(pairs)
}
