//! Rewrites a graph: torch's `replace_pattern`, for one rule or many.
//!
//! A rewrite is computed on the unchanged module and applied after: whatever can be refused is
//! refused before anything changes.

mod acyclic;
mod apply;
mod callbacks;
mod fixpoint;
mod latest;
mod replacement;
mod rewrite;
mod wide;

pub use crate::passes::new_members::MemberConflict;
pub use callbacks::RewriteCallbacks;
pub use fixpoint::{rewrite_to_fixpoint, Rounds};
pub use rewrite::{Rewrite, Rule};

use super::subgraph_matcher::{MatchOptions, Matches, Pattern};
use crate::ir::{Graph, ModuleId, ModuleTree, NodeId, Result};

/// What a rewrite did by one rule.
#[derive(Debug, Default)]
pub struct Replaced {
    /// The matches. Nodes that placeholders of the pattern are bound to are live; the others were
    /// replaced, so their ids are stale.
    pub matches: Matches,
    /// For each match, where its nodes begin in `nodes`; one more entry at the end.
    starts: Vec<usize>,
    nodes: Vec<NodeId>,
    /// Where the pattern's nodes stand that were the matches' anchors.
    pub anchors: Vec<usize>,
    placeholders: Vec<usize>,
}

impl Replaced {
    /// The nodes that took the place of a match, in the order of the replacement.
    pub fn replacements(&self, index: usize) -> Option<&[NodeId]> {
        self.nodes.get(*self.starts.get(index)?..*self.starts.get(index + 1)?)
    }

    /// Drops replacements that are gone.
    fn keep_live(&mut self, graph: &Graph) {
        let (mut live, mut starts) = (Vec::with_capacity(self.nodes.len()), vec![0]);
        for index in 0..self.starts.len().saturating_sub(1) {
            live.extend(self.replacements(index).unwrap_or_default().iter().filter(|&&node| graph.contains(node)));
            starts.push(live.len());
        }
        (self.nodes, self.starts) = (live, starts);
    }
}

/// Replaces every match of `pattern` in the graph of `module` by `replacement`, and returns the
/// matches.
///
/// Placeholders of the two correspond by position, and so do returned nodes. The nodes of a
/// replacement come right before the first user of what they replace; a node that takes the place
/// of a returned node takes over its metadata, the others the place in the user's code that it came
/// from. Then submodules that nothing uses any more are deleted; members that the replacement's nodes
/// name were added before, unless the module had one of that name.
pub fn replace_pattern(
    tree: &mut ModuleTree,
    module: ModuleId,
    pattern: (&ModuleTree, ModuleId),
    replacement: (&ModuleTree, ModuleId),
    options: &MatchOptions,
    callbacks: &mut dyn RewriteCallbacks,
) -> Result<Replaced> {
    let pattern = Pattern::new(pattern.0, pattern.1)?;
    let rule = Rule { options: *options, replacement: Some(replacement), ..Rule::new(&pattern) };
    let mut replaced = Rewrite::compute(tree, module, &[rule], callbacks)?.apply(tree)?;
    Ok(replaced.pop().unwrap_or_default())
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

#[cfg(test)]
mod rule_tests;
