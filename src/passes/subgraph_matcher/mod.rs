//! Finds where a pattern stands in a graph: torch's `SubgraphMatcher`.

mod attempt;
mod convex;
mod pattern;

pub use pattern::Pattern;

use crate::ir::{Argument, Graph, ModuleId, ModuleTree, Name, NodeId, Op, Result};
use attempt::{Attempt, Bound};

/// How a pattern is compared with a graph. The fields are torch's options of these names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchOptions {
    /// The pattern's output must be the graph's.
    pub match_output: bool,
    /// A placeholder of the pattern is met by a placeholder only, not by anything.
    pub match_placeholder: bool,
    /// Of matches that share a node, only the first is kept.
    pub remove_overlapping_matches: bool,
    /// A literal is met by any literal.
    pub ignore_literals: bool,
    /// What makes two calls of modules alike.
    pub modules: ModuleMatching,
}

/// What makes two calls of modules alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModuleMatching {
    /// The types of the modules are the same.
    Type,
    /// The paths are the same, as in torch 2.
    Target,
    /// Types and all settings that are no tensors are the same.
    TypeAndSettings,
}

impl Default for MatchOptions {
    fn default() -> Self {
        MatchOptions {
            match_output: false,
            match_placeholder: false,
            remove_overlapping_matches: true,
            ignore_literals: false,
            modules: ModuleMatching::Type,
        }
    }
}

/// What stands for a node of the pattern, as it was when the match was found.
#[derive(Debug, Clone)]
pub enum Binding {
    /// Nothing: the output of a pattern that was matched without it.
    None,
    /// A node of the graph.
    Node {
        /// Its id, stale once the node is replaced.
        node: NodeId,
        /// Its name.
        name: Name,
        /// Its op.
        op: Op,
    },
    /// An argument that a placeholder of the pattern took: a literal, or a list or the like.
    Argument(Argument),
}

impl Binding {
    /// The node, if it is one.
    pub fn node(&self) -> Option<NodeId> {
        match self {
            Binding::Node { node, .. } => Some(*node),
            _ => None,
        }
    }
}

/// The matches of one pattern, in the order in which torch finds them.
#[derive(Debug, Clone)]
pub struct Matches {
    /// For each match one binding a pattern node, in the order of [`Pattern::nodes`].
    bindings: Vec<Binding>,
    width: usize,
}

impl Matches {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.bindings.len().checked_div(self.width).unwrap_or(0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.bindings.is_empty()
    }

    /// One match: a binding for each node of the pattern.
    pub fn get(&self, index: usize) -> Option<&[Binding]> {
        self.bindings.chunks_exact(self.width.max(1)).nth(index)
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[Binding]> {
        self.bindings.chunks_exact(self.width.max(1))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut [Binding]> {
        self.bindings.chunks_exact_mut(self.width.max(1))
    }

    pub(crate) fn retain(&mut self, keep: &[bool]) {
        let mut index = 0;
        let width = self.width.max(1);
        self.bindings.retain(|_| {
            index += 1;
            keep.get((index - 1) / width).copied().unwrap_or(true)
        });
    }
}

/// Says of a match that is not taken yet whether it counts; an error ends the search.
pub type MatchFilter<'a> = dyn FnMut(&ModuleTree, &[Binding]) -> Result<bool> + 'a;

/// Finds the pattern in the graph of a module.
///
/// A match maps every node of the pattern: placeholders to whatever stands there, no two to one
/// node; other nodes to nodes that do the same with the same arguments. Only nodes that the
/// pattern returns may be used outside, and no path may leave a match and come back. `filter` is
/// asked before overlaps are removed, so that a match it rejects claims no nodes.
///
/// The graph must be in order.
pub fn match_pattern(
    tree: &ModuleTree,
    module: ModuleId,
    pattern: &Pattern<'_>,
    options: &MatchOptions,
    filter: Option<&mut MatchFilter<'_>>,
) -> Result<Matches> {
    let graph = tree.graph(module)?;
    let mut search = Search {
        attempt: Attempt::new(tree, module, graph, pattern, options),
        tree,
        graph,
        pattern,
        claimed: vec![false; if options.remove_overlapping_matches { graph.slot_count() } else { 0 }],
        matches: Matches { bindings: Vec::new(), width: pattern.nodes().len() },
        filter,
    };
    search.run()?;
    Ok(search.matches)
}

struct Search<'a, 'f> {
    attempt: Attempt<'a>,
    tree: &'a ModuleTree,
    graph: &'a Graph,
    pattern: &'a Pattern<'a>,
    /// Which slots belong to a match that was taken, when overlaps are removed.
    claimed: Vec<bool>,
    matches: Matches,
    filter: Option<&'a mut MatchFilter<'f>>,
}

/// Where the search stands with one anchor of the pattern.
struct Level {
    candidates: Vec<NodeId>,
    next: usize,
    /// What was bound before this anchor.
    mark: usize,
}

impl Search<'_, '_> {
    /// Tries every candidate of every anchor, the first anchor outermost.
    fn run(&mut self) -> Result<()> {
        let anchors = self.pattern.anchors(self.attempt.options().match_output);
        let Some(&first) = anchors.first() else { return Ok(()) };
        let mut candidate = self.graph.first();
        while let Some(node) = candidate {
            candidate = self.graph.next(node);
            if !self.attempt.nodes_are_equal(first, node) || !self.attempt.match_nodes(first, node) {
                continue;
            }
            if anchors.len() == 1 {
                self.take()?;
            } else {
                self.run_rest(&anchors)?;
            }
            self.attempt.undo(0);
        }
        Ok(())
    }

    /// The anchors behind the first, which is bound.
    fn run_rest(&mut self, anchors: &[usize]) -> Result<()> {
        let mut levels = vec![self.level(anchors[1])];
        while let Some(level) = levels.last_mut() {
            self.attempt.undo(level.mark);
            let Some(&node) = level.candidates.get(level.next) else {
                levels.pop();
                continue;
            };
            level.next += 1;
            let anchor = anchors[levels.len()];
            if !self.attempt.match_nodes(anchor, node) {
                continue;
            }
            match anchors.get(levels.len() + 1) {
                Some(&next) => levels.push(self.level(next)),
                None => self.take()?,
            }
        }
        Ok(())
    }

    fn level(&self, anchor: usize) -> Level {
        Level { candidates: self.attempt.candidates(anchor), next: 0, mark: self.attempt.mark() }
    }

    /// Everything is bound: takes the match if it is one.
    fn take(&mut self) -> Result<()> {
        if !self.attempt.is_contained() || self.overlaps() || !convex::is_convex(&self.attempt) {
            return Ok(());
        }
        let start = self.matches.bindings.len();
        for bound in self.attempt.bound_nodes() {
            let binding = match bound {
                Some(Bound::Node(node)) => {
                    let found = &self.graph[node];
                    Binding::Node { node, name: found.name(), op: found.op() }
                }
                Some(Bound::Argument(argument)) => Binding::Argument(argument.clone()),
                None => Binding::None,
            };
            self.matches.bindings.push(binding);
        }
        if let Some(filter) = &mut self.filter {
            if !filter(self.tree, &self.matches.bindings[start..])? {
                self.matches.bindings.truncate(start);
                return Ok(());
            }
        }
        if !self.claimed.is_empty() {
            for node in self.attempt.compute_nodes() {
                self.claimed[node.slot()] = true;
            }
        }
        Ok(())
    }

    fn overlaps(&self) -> bool {
        !self.claimed.is_empty() && self.attempt.compute_nodes().any(|node| self.claimed[node.slot()])
    }
}
