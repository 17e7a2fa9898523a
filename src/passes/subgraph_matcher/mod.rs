//! Finds where patterns stand in a graph: torch's `SubgraphMatcher`.

mod arguments;
mod attempt;
mod beginnings;
mod callbacks;
mod candidates;
mod convex;
mod found;
mod levels;
mod members;
mod pattern;
mod plan;
mod rules;
mod search;
mod twins;

pub use callbacks::{Filter, MatchCallbacks};
pub use found::{Binding, Matches};
pub use pattern::Pattern;
pub use rules::{match_patterns, FoundByRules};

use crate::ir::{ModuleId, ModuleTree, Result};

/// How a pattern is compared with a graph. The first fields are torch's options of these names.
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
    /// What makes two reads of attributes alike.
    pub attributes: AttributeMatching,
    /// Calls of different forms are compared by the signatures of functions, methods and modules
    /// too; those of operators always are, by their schemas.
    pub normalize_args: bool,
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

/// What makes two reads of tensors alike. Attributes that are no tensors must be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeMatching {
    /// Both read a tensor.
    Kind,
    /// The tensors have the same dtype, shape and elements.
    EqualTensors,
}

impl Default for MatchOptions {
    fn default() -> Self {
        MatchOptions {
            match_output: false,
            match_placeholder: false,
            remove_overlapping_matches: true,
            ignore_literals: false,
            modules: ModuleMatching::Type,
            attributes: AttributeMatching::Kind,
            normalize_args: false,
        }
    }
}

/// Finds the pattern in the graph of a module.
///
/// A match maps every node of the pattern: placeholders to whatever stands there, no two to one
/// node; other nodes to nodes that do the same with the same arguments. Only nodes that the
/// pattern returns may be used outside, and no path may leave a match and come back.
///
/// The graph must be in order.
pub fn match_pattern(
    tree: &ModuleTree,
    module: ModuleId,
    pattern: &Pattern<'_>,
    options: &MatchOptions,
    callbacks: &mut dyn MatchCallbacks,
) -> Result<Matches> {
    let mut found = match_patterns(tree, module, &[(pattern, options)], callbacks)?;
    Ok(found.matches.pop().unwrap_or_default())
}

#[cfg(test)]
mod brute_force;
#[cfg(test)]
mod tests;
