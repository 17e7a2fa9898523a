//! Rewrites a graph: torch's `replace_pattern`.
//!
//! A rewrite is computed on the unchanged module and applied after: whatever can be refused is
//! refused before anything changes.

mod acyclic;
mod apply;
mod latest;
mod members;
mod replacement;
mod wide;

use super::subgraph_matcher::{match_pattern, MatchFilter, MatchOptions, Matches, Pattern};
use crate::ir::error::counted;
use crate::ir::{lint, Argument, Error, ErrorKind, ModuleId, ModuleTree, NodeId, Result};
use members::NewMember;
use replacement::Replacement;

/// What a rewrite did.
#[derive(Debug)]
pub struct Replaced {
    /// The matches. Nodes that placeholders of the pattern are bound to are live; the others were
    /// replaced, so their ids are stale.
    pub matches: Matches,
    /// For each match, where its nodes begin in `nodes`; one more entry at the end.
    starts: Vec<usize>,
    nodes: Vec<NodeId>,
    /// Where the pattern's nodes stand that were the matches' anchors.
    pub anchors: Vec<usize>,
    /// How many unused submodules were deleted.
    pub submodules_deleted: usize,
}

impl Replaced {
    /// The nodes that took the place of a match, in the order of the replacement.
    pub fn replacements(&self, index: usize) -> Option<&[NodeId]> {
        self.nodes.get(*self.starts.get(index)?..*self.starts.get(index + 1)?)
    }
}

/// A rewrite that is computed and not applied yet. It holds for the module it was computed on, as
/// long as that does not change.
#[derive(Debug)]
pub struct Rewrite {
    module: ModuleId,
    matches: Matches,
    pattern: PatternShape,
    replacement: Replacement,
    members: Vec<NewMember>,
}

/// What is needed of the pattern once it was matched.
#[derive(Debug)]
struct PatternShape {
    placeholders: Vec<usize>,
    returning: Vec<usize>,
    anchors: Vec<usize>,
    /// Where the nodes stand that go: all but placeholders and the output.
    compute: Vec<usize>,
}

/// Replaces every match of `pattern` in the graph of `module` by `replacement`, and returns the
/// matches.
///
/// Placeholders of the two correspond by position, and so do returned nodes. The nodes of a
/// replacement come right before the first user of what they replace; a node that takes the place
/// of a returned node takes over its metadata. Then submodules that nothing uses any more are
/// deleted; members that the replacement's nodes name were added before, unless the module had
/// one of that name.
pub fn replace_pattern(
    tree: &mut ModuleTree,
    module: ModuleId,
    pattern: (&ModuleTree, ModuleId),
    replacement: (&ModuleTree, ModuleId),
    options: &MatchOptions,
    filter: Option<&mut MatchFilter<'_>>,
) -> Result<Replaced> {
    let pattern = Pattern::new(pattern.0, pattern.1)?;
    Rewrite::compute(tree, module, &pattern, replacement, options, filter)?.apply(tree)
}

impl Rewrite {
    /// Finds the matches and prepares everything; changes nothing.
    pub fn compute(
        tree: &ModuleTree,
        module: ModuleId,
        pattern: &Pattern<'_>,
        replacement: (&ModuleTree, ModuleId),
        options: &MatchOptions,
        filter: Option<&mut MatchFilter<'_>>,
    ) -> Result<Rewrite> {
        lint::lint(tree, module)?;
        let graph = tree.graph(module)?;
        let members = members::missing_members(tree, module, replacement)?;
        let mut replacement = Replacement::new(replacement.0.graph(replacement.1)?, graph.symbols())?;
        let counts = |pattern: usize, replacement: usize, what: &str| {
            let message = format!("the pattern has {} and the replacement {replacement}", counted(pattern, what));
            if pattern == replacement {
                Ok(())
            } else {
                Err(Error::new(ErrorKind::InvalidArgument, message))
            }
        };
        counts(pattern.placeholders().len(), replacement.placeholders.len(), "placeholder")?;
        counts(pattern.returning().len(), replacement.returned.len(), "returned node")?;
        let returning = drop_returned_placeholders(pattern, &mut replacement)?;
        let options = MatchOptions { match_output: false, remove_overlapping_matches: true, ..*options };
        let mut matches = match_pattern(tree, module, pattern, &options, filter)?;
        if pattern.returning().len() > 1 {
            acyclic::drop_matches_that_close_a_cycle(graph, pattern, &mut matches);
        }
        graph.check_room(matches.len().saturating_mul(replacement.nodes.len()))?;
        let compute = pattern.compute_nodes().collect();
        let pattern = PatternShape {
            placeholders: pattern.placeholders().to_vec(),
            returning,
            anchors: pattern.anchors(false),
            compute,
        };
        Ok(Rewrite { module, matches, pattern, replacement, members })
    }

    /// The matches that will be replaced.
    pub fn matches(&self) -> &Matches {
        &self.matches
    }

    /// Changes the module it was computed on.
    pub fn apply(self, tree: &mut ModuleTree) -> Result<Replaced> {
        self.apply_with(tree, wide::MANY)
    }

    fn apply_with(self, tree: &mut ModuleTree, many: usize) -> Result<Replaced> {
        let module = self.module;
        if self.matches.is_empty() {
            let anchors = self.pattern.anchors;
            return Ok(Replaced {
                matches: self.matches,
                starts: vec![0],
                nodes: Vec::new(),
                anchors,
                submodules_deleted: 0,
            });
        }
        for member in self.members {
            member.add(tree, module)?;
        }
        let mut replaced = apply::apply(tree.graph_mut(module)?, self.matches, self.pattern, &self.replacement, many)?;
        replaced.submodules_deleted = tree.delete_all_unused_submodules(module)?;
        debug_assert_eq!(lint::lint(tree, module), Ok(()));
        Ok(replaced)
    }
}

/// Where the returned nodes stand that are replaced. A placeholder among them stays what it is, so
/// the replacement has to return the same one: anything else would take the place of what it is
/// itself made from, and use itself.
fn drop_returned_placeholders(pattern: &Pattern<'_>, replacement: &mut Replacement) -> Result<Vec<usize>> {
    let mut returning = Vec::new();
    let mut returned = Vec::new();
    for (&index, value) in pattern.returning().iter().zip(std::mem::take(&mut replacement.returned)) {
        let position = pattern.placeholders().iter().position(|&placeholder| placeholder == index);
        let same = position.and_then(|position| replacement.placeholders.get(position));
        match (same, &value) {
            (None, _) => {
                returning.push(index);
                returned.push(value);
            }
            (Some(&slot), Argument::Node(node)) if node.slot() == slot => {}
            _ => {
                let message =
                    "the pattern returns one of its placeholders, and the replacement does not return the same";
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
        }
    }
    replacement.returned = returned;
    Ok(returning)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
