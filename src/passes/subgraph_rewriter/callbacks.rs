//! What a caller may say in a rewrite.

use crate::ir::{ModuleId, ModuleTree, Result};
use crate::passes::subgraph_matcher::{Binding, Filter, MatchCallbacks};
use std::sync::Arc;

/// The caller's word in a rewrite; `rule` is the place of the rule among those that are applied.
pub trait RewriteCallbacks: MatchCallbacks {
    /// What is to take the place of a match, for a rule that has no replacement of its own; none
    /// leaves the match as it is. Asked about each match once all are found, on the module as it was.
    fn replacement(
        &mut self,
        _rule: usize,
        _tree: &ModuleTree,
        _bindings: &[Binding],
    ) -> Result<Option<(Arc<ModuleTree>, ModuleId)>> {
        Ok(None)
    }

    /// Whether [`RewriteCallbacks::fill_in_meta`] has anything to say.
    fn has_meta_functions(&self, _rule: usize) -> bool {
        false
    }

    /// Tells what is known of the nodes of a replacement. It is given for each match a copy, the root
    /// of a tree, whose placeholders know what the nodes know that they stand for.
    fn fill_in_meta(&mut self, _rule: usize, replacement: ModuleTree) -> Result<ModuleTree> {
        Ok(replacement)
    }
}

impl RewriteCallbacks for () {}

impl<F: FnMut(&ModuleTree, &[Binding]) -> Result<bool>> RewriteCallbacks for Filter<F> {}
