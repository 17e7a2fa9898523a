//! Many nodes that others stand for from now on.

use super::argument::Argument;
use super::error::Result;
use super::graph::Graph;
use super::node::NodeId;

impl Graph {
    /// Puts the second of each pair in the place of the first, and erases the first. A first is the
    /// first of one pair, and a second that of none. Each user is wired anew once.
    pub(crate) fn merge(&mut self, pairs: &[(NodeId, NodeId)]) -> Result<()> {
        let mut stands_for = vec![None; self.slot_count()];
        for &(gone, kept) in pairs {
            self.get(gone)?;
            self.get(kept)?;
            stands_for[gone.slot()] = Some(kept);
        }
        let mut seen = vec![false; self.slot_count()];
        let users: Vec<NodeId> = pairs
            .iter()
            .flat_map(|&(gone, _)| self.users(gone))
            .filter(|user| stands_for[user.slot()].is_none() && !std::mem::replace(&mut seen[user.slot()], true))
            .collect();
        for user in users {
            self.replace_in(user, |node| stands_for[node.slot()].map(Argument::Node))?;
        }
        self.erase_unused(pairs.iter().map(|&(gone, _)| gone))
    }
}
