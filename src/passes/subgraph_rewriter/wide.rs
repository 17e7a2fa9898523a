//! Users of very many nodes, a `torch.cat` of everything for one: putting a new node into their
//! arguments costs as much as they hold, so that it waits until all that they hold is replaced.

use super::apply::Matched;
use super::latest::Latest;
use crate::ir::{Graph, NodeId, Result};
use rustc_hash::{FxHashMap, FxHashSet};

/// A user with more inputs than this waits.
pub(super) const MANY: usize = 32;

pub(super) struct WideUsers {
    many: usize,
    /// How many inputs of a user are to be replaced yet; users that wait for none are not in it.
    waiting: FxHashMap<NodeId, usize>,
    /// All nodes that matches return; made when the first user waits.
    returned: Option<FxHashSet<NodeId>>,
    /// When a node would have come last among the users of what it names. Kept once somebody waits:
    /// users are served in the order that they would have if nobody did.
    touched: FxHashMap<NodeId, usize>,
    touches: usize,
    /// Nodes that are replaced, while a user that waits still names them.
    gone: Vec<NodeId>,
    is_gone: FxHashSet<NodeId>,
}

impl WideUsers {
    /// Users with more inputs than `many` wait.
    pub(super) fn new(many: usize) -> Self {
        let (waiting, touched, is_gone) = Default::default();
        WideUsers { many, waiting, returned: None, touched, touches: 0, gone: Vec::new(), is_gone }
    }

    /// `old` was replaced, as `latest` knows: its users get what stands for it now, or wait. Says
    /// whether `old` has no user any more.
    pub(super) fn replace_uses(
        &mut self,
        graph: &mut Graph,
        old: NodeId,
        latest: &Latest,
        matched: &Matched<'_>,
    ) -> Result<bool> {
        let Some(new) = latest.get(old) else { return Ok(false) };
        let mut users: smallvec::SmallVec<[NodeId; 8]> = graph.users(old).collect();
        if !self.touched.is_empty() {
            users.sort_by_key(|user| self.touched.get(user));
        }
        let mut is_free = true;
        for user in users {
            if self.is_gone(user) {
                is_free = false;
            } else if graph.input_count(user) <= self.many {
                graph.replace_in(user, |node| (node == old).then(|| new.clone()))?;
                self.touch(user);
            } else {
                let returned = self.returned.get_or_insert_with(|| matched.returned().collect());
                // `old` is among them, and known to `latest` already.
                let to_come = |node: &NodeId| *node == old || (returned.contains(node) && !latest.contains(*node));
                let left = self.waiting.entry(user).or_insert_with(|| graph.input_nodes(user).filter(to_come).count());
                *left = left.saturating_sub(1);
                if *left == 0 {
                    self.waiting.remove(&user);
                    graph.replace_in(user, |node| latest.get(node))?;
                } else {
                    is_free = false;
                }
                self.touch(user);
            }
        }
        Ok(is_free)
    }

    /// A node was made, or uses something new.
    pub(super) fn touch(&mut self, node: NodeId) {
        if self.returned.is_some() {
            self.touches += 1;
            self.touched.insert(node, self.touches);
        }
    }

    /// Whether a node was replaced, and only waits to be erased.
    pub(super) fn is_gone(&self, node: NodeId) -> bool {
        !self.is_gone.is_empty() && self.is_gone.contains(&node)
    }

    /// Erases nodes that were replaced once no user names them.
    pub(super) fn erase_later(&mut self, nodes: impl Iterator<Item = NodeId>) {
        let before = self.gone.len();
        self.gone.extend(nodes);
        self.is_gone.extend(self.gone[before..].iter().copied());
    }

    /// Nothing is replaced any more.
    pub(super) fn finish(self, graph: &mut Graph, latest: &Latest) -> Result<()> {
        // Users that were replaced themselves; nobody else waits when every match is.
        let mut left: Vec<NodeId> = self.waiting.keys().copied().filter(|&user| graph.contains(user)).collect();
        left.sort_unstable();
        for user in left {
            graph.replace_in(user, |node| latest.get(node))?;
        }
        graph.erase_unused(self.gone.iter().copied())
    }
}
