//! Walking through a graph: its order, users and inputs.

use super::graph::Graph;
use super::node::{NodeId, Op};

impl Graph {
    /// The first node.
    pub fn first(&self) -> Option<NodeId> {
        self.id_of(self.order.first())
    }

    /// The last node.
    pub fn last(&self) -> Option<NodeId> {
        self.id_of(self.order.last())
    }

    /// The node after a live one.
    pub fn next(&self, node: NodeId) -> Option<NodeId> {
        self.id_of(self.order.next(node.slot() as u32))
    }

    /// The node before a live one.
    pub fn prev(&self, node: NodeId) -> Option<NodeId> {
        self.id_of(self.order.prev(node.slot() as u32))
    }

    /// All nodes in order.
    pub fn nodes(&self) -> Nodes<'_> {
        Nodes { graph: self, front: self.order.first(), back: self.order.last(), left: self.order.len() }
    }

    /// The nodes of one op, in order.
    pub fn nodes_of(&self, op: Op) -> impl DoubleEndedIterator<Item = NodeId> + '_ {
        self.nodes().filter(move |&node| self[node].op == op)
    }

    /// The placeholders, in order; looks no further than the last of them.
    pub fn placeholders(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.nodes_of(Op::Placeholder).take(self.placeholder_count)
    }

    /// The nodes that use a live node, in the order in which the uses were made.
    pub fn users(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.uses.users(node.slot() as u32).filter_map(|slot| self.id_of(slot))
    }

    /// How many nodes use a live node.
    pub fn user_count(&self, node: NodeId) -> usize {
        self.uses.user_count(node.slot() as u32)
    }

    /// The nodes that a live node uses, each once, in order of first mention (torch's
    /// `all_input_nodes`).
    pub fn input_nodes(&self, node: NodeId) -> impl DoubleEndedIterator<Item = NodeId> + '_ {
        self.uses.inputs(node.slot() as u32).filter_map(|slot| self.id_of(slot))
    }

    /// Whether live node `a` stands before live node `b`.
    pub fn is_before(&self, a: NodeId, b: NodeId) -> bool {
        self.order.is_before(a.slot() as u32, b.slot() as u32)
    }

    /// How many nodes a live node uses.
    pub fn input_count(&self, node: NodeId) -> usize {
        self.uses.inputs(node.slot() as u32).len()
    }

    /// The slots that [`Graph::nodes`] are in, for passes that keep all they need by slot.
    pub(crate) fn slots_in_order(&self) -> impl Iterator<Item = u32> + '_ {
        let first = Some(self.order.first()).filter(|_| self.order.len() > 0);
        std::iter::successors(first, |&slot| Some(self.order.next(slot))).take(self.order.len())
    }

    /// The node in a slot.
    pub(crate) fn node_at(&self, slot: u32) -> Option<NodeId> {
        self.id_of(slot)
    }

    /// Rises along the order; means nothing else, and changes when nodes are inserted.
    pub(crate) fn order_label(&self, slot: u32) -> u64 {
        self.order.label(slot)
    }

    /// The slots of [`Graph::input_nodes`].
    pub(crate) fn input_slots(&self, slot: u32) -> impl Iterator<Item = u32> + '_ {
        self.uses.inputs(slot)
    }

    /// The slots of [`Graph::users`].
    pub(crate) fn user_slots(&self, slot: u32) -> impl Iterator<Item = u32> + '_ {
        self.uses.users(slot)
    }
}

/// Iterates over the nodes of a graph, both ways.
#[derive(Clone)]
pub struct Nodes<'a> {
    graph: &'a Graph,
    front: u32,
    back: u32,
    left: usize,
}

impl Iterator for Nodes<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        self.left = self.left.checked_sub(1)?;
        let slot = self.front;
        self.front = self.graph.order.next(slot);
        self.graph.id_of(slot)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl DoubleEndedIterator for Nodes<'_> {
    fn next_back(&mut self) -> Option<NodeId> {
        self.left = self.left.checked_sub(1)?;
        let slot = self.back;
        self.back = self.graph.order.prev(slot);
        self.graph.id_of(slot)
    }
}

impl ExactSizeIterator for Nodes<'_> {}
