//! What a caller may say in a search.

use super::Binding;
use crate::ir::{Argument, Error, ModuleTree, NodeId, Result};

/// The caller's word in a search. Every method has a default, which is the library's own; `()` says
/// nothing at all. An error ends the search, and is what the search returns.
///
/// `rule` is the place of the pattern in its set, 0 for one alone.
pub trait MatchCallbacks {
    /// Whether a match counts. Asked before overlaps are removed, so that a match which is rejected
    /// claims no nodes.
    fn filter(&mut self, _rule: usize, _tree: &ModuleTree, _bindings: &[Binding]) -> Result<bool> {
        Ok(true)
    }

    /// Whether [`MatchCallbacks::filter`] has anything to say.
    fn has_filter(&self, _rule: usize) -> bool {
        false
    }

    /// Whether a node does what a pattern node does, arguments left aside; `equal` is what the
    /// library thinks. Not asked about placeholders that anything meets, nor about outputs.
    fn nodes_are_equal(&mut self, _rule: usize, _pattern: NodeId, _node: NodeId, equal: bool) -> Result<bool> {
        Ok(equal)
    }

    /// Whether [`MatchCallbacks::nodes_are_equal`] has anything to say.
    fn compares_nodes(&self, _rule: usize) -> bool {
        false
    }

    /// Whether a literal of the graph meets one of the pattern; `equal` is what the library thinks.
    /// No node is in either of them, the strings of each are its own tree's.
    fn literals_are_equal(
        &mut self,
        _rule: usize,
        _pattern: &Argument,
        _literal: &Argument,
        equal: bool,
    ) -> Result<bool> {
        Ok(equal)
    }

    /// Whether [`MatchCallbacks::literals_are_equal`] has anything to say.
    fn compares_literals(&self, _rule: usize) -> bool {
        false
    }
}

impl MatchCallbacks for () {}

/// A filter alone.
pub struct Filter<F>(
    /// Says whether a match counts.
    pub F,
);

impl<F: FnMut(&ModuleTree, &[Binding]) -> Result<bool>> MatchCallbacks for Filter<F> {
    fn filter(&mut self, _: usize, tree: &ModuleTree, bindings: &[Binding]) -> Result<bool> {
        (self.0)(tree, bindings)
    }

    fn has_filter(&self, _: usize) -> bool {
        true
    }
}

/// The callbacks as one pattern sees them. What fails in the middle of a comparison is kept, and
/// taken by [`Ask::check`].
pub(super) struct Ask<'c> {
    callbacks: &'c mut dyn MatchCallbacks,
    rule: usize,
    failed: Option<Error>,
}

impl<'c> Ask<'c> {
    pub(super) fn new(callbacks: &'c mut dyn MatchCallbacks, rule: usize) -> Self {
        Ask { callbacks, rule, failed: None }
    }

    pub(super) fn has_filter(&self) -> bool {
        self.callbacks.has_filter(self.rule)
    }

    /// Whether twins may be told apart by the caller.
    pub(super) fn compares(&self) -> bool {
        self.callbacks.compares_nodes(self.rule) || self.callbacks.compares_literals(self.rule)
    }

    pub(super) fn filter(&mut self, tree: &ModuleTree, bindings: &[Binding]) -> Result<bool> {
        self.callbacks.filter(self.rule, tree, bindings)
    }

    pub(super) fn nodes(&mut self, pattern: NodeId, node: NodeId, equal: bool) -> bool {
        if !self.callbacks.compares_nodes(self.rule) {
            return equal;
        }
        let verdict = self.callbacks.nodes_are_equal(self.rule, pattern, node, equal);
        self.keep(verdict)
    }

    pub(super) fn literals(&mut self, pattern: &Argument, literal: &Argument, equal: bool) -> bool {
        if !self.callbacks.compares_literals(self.rule) {
            return equal;
        }
        let verdict = self.callbacks.literals_are_equal(self.rule, pattern, literal, equal);
        self.keep(verdict)
    }

    /// The first error of a callback.
    pub(super) fn check(&mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }

    fn keep(&mut self, verdict: Result<bool>) -> bool {
        verdict.unwrap_or_else(|error| {
            self.failed.get_or_insert(error);
            false
        })
    }
}
