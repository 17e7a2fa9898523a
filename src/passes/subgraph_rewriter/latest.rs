//! What stands for a node once others took the place of it.

use crate::ir::{Argument, NodeId};

/// From each returned node that is gone to what took its place. By slot: a slot holds one node that
/// is replaced at most, as what is new is replaced no more.
pub(super) struct Latest {
    at: Vec<u32>,
    replaced: Vec<(NodeId, Argument)>,
}

const NONE: u32 = u32::MAX;

impl Latest {
    /// For the nodes of a graph with so many slots.
    pub(super) fn new(slot_count: usize) -> Self {
        Latest { at: vec![NONE; slot_count], replaced: Vec::new() }
    }

    pub(super) fn insert(&mut self, old: NodeId, new: Argument) {
        if let Some(at) = self.at.get_mut(old.slot()) {
            *at = self.replaced.len() as u32;
            self.replaced.push((old, new));
        }
    }

    /// What stands for `node` now, if another took its place, and perhaps another the place of that.
    pub(super) fn get(&self, node: NodeId) -> Option<Argument> {
        let mut argument = self.step(node)?;
        while let Argument::Node(node) = argument {
            match self.step(*node) {
                Some(next) => argument = next,
                None => break,
            }
        }
        Some(argument.clone())
    }

    /// Each node that is gone, and what took its place, perhaps gone in turn.
    pub(super) fn into_pairs(self) -> Vec<(NodeId, Argument)> {
        self.replaced
    }

    pub(super) fn contains(&self, node: NodeId) -> bool {
        self.step(node).is_some()
    }

    fn step(&self, node: NodeId) -> Option<&Argument> {
        let (old, new) = self.replaced.get(*self.at.get(node.slot())? as usize)?;
        (*old == node).then_some(new)
    }
}
