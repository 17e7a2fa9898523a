//! Applies rules until none matches any more.

use super::apply::revive_placeholders;
use super::callbacks::RewriteCallbacks;
use super::rewrite::{Rewrite, Rule};
use super::{wide, Replaced};
use crate::ir::{Argument, Error, ErrorKind, Graph, ModuleId, ModuleTree, NodeId, Result};
use rustc_hash::FxHashMap;

/// Applies rules again and again until none matches any more; tells what each did in all rounds.
/// [`ErrorKind::Limit`] when something still matches after `limit` rounds. On failure nothing is
/// changed.
pub fn rewrite_to_fixpoint(
    tree: &mut ModuleTree,
    module: ModuleId,
    rules: &[Rule<'_>],
    limit: usize,
    callbacks: &mut dyn RewriteCallbacks,
) -> Result<Vec<Replaced>> {
    let mut rounds = Rounds::new(limit);
    let mut before = None;
    let mut round = |tree: &mut ModuleTree, before: &mut Option<ModuleTree>| {
        let rewrite = Rewrite::compute(tree, module, rules, callbacks)?;
        if rounds.is_settled(&rewrite)? {
            return Ok(true);
        }
        before.get_or_insert_with(|| tree.clone());
        rounds.apply(rewrite, tree)?;
        Ok(false)
    };
    loop {
        match round(tree, &mut before) {
            Ok(false) => {}
            Ok(true) => return Ok(rounds.finish(tree.graph(module)?)),
            Err(error) => {
                if let Some(before) = before {
                    *tree = before;
                }
                return Err(error);
            }
        }
    }
}

/// What the rounds of a rewrite did, together; for callers that hold the tree themselves.
#[derive(Debug, Default)]
pub struct Rounds {
    count: usize,
    limit: usize,
    replaced: Vec<Replaced>,
    /// For every node that was replaced what took its place; the node may be gone in turn.
    latest: FxHashMap<NodeId, Argument>,
}

impl Rounds {
    /// None yet, and no more than so many.
    pub fn new(limit: usize) -> Rounds {
        Rounds { limit, ..Rounds::default() }
    }

    /// Whether a rewrite finds nothing more to do; [`ErrorKind::Limit`] when it does, and must not.
    pub fn is_settled(&self, rewrite: &Rewrite) -> Result<bool> {
        if rewrite.is_empty() {
            return Ok(true);
        }
        if self.count < self.limit {
            return Ok(false);
        }
        let matching = rewrite.matches().iter().position(|matches| !matches.is_empty()).unwrap_or(0);
        let message = format!(
            "the rules do not settle: after {} rounds the pattern of rule {matching} still matches",
            self.limit
        );
        Err(Error::new(ErrorKind::Limit, message))
    }

    /// How many were applied.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Changes the tree that the rewrite was computed on.
    pub fn apply(&mut self, rewrite: Rewrite, tree: &mut ModuleTree) -> Result<()> {
        let (round, latest) = rewrite.apply_with(tree, wide::MANY)?;
        self.count += 1;
        self.latest.extend(latest);
        if self.replaced.is_empty() {
            self.replaced = round;
            return Ok(());
        }
        for (all, round) in self.replaced.iter_mut().zip(round) {
            let before = all.nodes.len();
            all.nodes.extend(round.nodes);
            all.starts.extend(round.starts.iter().skip(1).map(|start| start + before));
            all.matches.append(round.matches);
        }
        Ok(())
    }

    /// What each rule did, on the graph as the last round left it. Nodes that were replaced in turn
    /// are left out of the replacements, and what placeholders are bound to is what took their place:
    /// nothing, where nothing did.
    pub fn finish(mut self, graph: &Graph) -> Vec<Replaced> {
        for replaced in &mut self.replaced {
            replaced.keep_live(graph);
            revive_placeholders(graph, &mut replaced.matches, &replaced.placeholders, |node| {
                self.latest.get(&node).map(|it| {
                    let mut argument = it.clone();
                    while argument.replace_nodes(&mut |node| self.latest.get(&node).cloned()) {}
                    argument
                })
            });
        }
        self.replaced
    }
}
