//! Passes that compute on a graph in order, and must leave one that was not as they found it when
//! they fail.

use super::legalize::legalize;
use crate::ir::lint::out_of_order;
use crate::ir::{ModuleId, ModuleTree, NodeId, Result};

/// Runs `pass` on a module whose graph was put in order first. `pass` changes nothing when it
/// fails; then the old order comes back too.
pub(super) fn in_order<T>(
    tree: &mut ModuleTree,
    module: ModuleId,
    pass: impl FnOnce(&mut ModuleTree) -> Result<T>,
) -> Result<T> {
    if out_of_order(tree.graph(module)?).is_none() {
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
