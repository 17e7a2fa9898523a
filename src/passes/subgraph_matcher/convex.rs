//! Whether a match could be made one node: no path leaves it and comes back.

use super::attempt::Attempt;
use crate::ir::NodeId;
use rustc_hash::FxHashSet;

/// Walks from the users outside towards the end of the match. The graph is in order, so nothing
/// behind the last node of the match can lead back into it.
pub(super) fn is_convex(attempt: &Attempt<'_>) -> bool {
    // All nodes of a match lie above its anchors: with one way out there is no way back.
    if attempt.pattern.returning().len() < 2 {
        return true;
    }
    let graph = attempt.place.graph;
    let later = |a: NodeId, b: NodeId| if graph.is_before(a, b) { b } else { a };
    let Some(last) = attempt.compute_nodes().reduce(later) else { return true };
    let mut seen = FxHashSet::default();
    let mut pending: Vec<NodeId> = attempt
        .compute_nodes()
        .flat_map(|node| graph.users(node))
        .filter(|&user| !attempt.is_inside(user) && graph.is_before(user, last))
        .collect();
    while let Some(node) = pending.pop() {
        if !seen.insert(node) {
            continue;
        }
        for user in graph.users(node) {
            if attempt.is_inside(user) {
                return false;
            }
            if graph.is_before(user, last) {
                pending.push(user);
            }
        }
    }
    true
}
