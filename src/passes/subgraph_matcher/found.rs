//! What a search gives: for each match what each node of the pattern met.

use crate::ir::{Argument, Graph, Name, NodeId, Op};

/// What stands for a node of the pattern, as it was when the match was found.
#[derive(Debug, Clone)]
pub enum Binding {
    /// Nothing: the output of a pattern that was matched without it; of what placeholders were bound
    /// to once rules have settled, a node that is gone and in whose place nothing came.
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
    /// A live node of `graph`.
    pub fn of_node(graph: &Graph, node: NodeId) -> Binding {
        let found = &graph[node];
        Binding::Node { node, name: found.name(), op: found.op() }
    }

    /// The node, if it is one.
    pub fn node(&self) -> Option<NodeId> {
        match self {
            Binding::Node { node, .. } => Some(*node),
            _ => None,
        }
    }

    /// The same as an argument; None for nothing.
    pub fn to_argument(&self) -> Argument {
        match self {
            Binding::None => Argument::None,
            Binding::Node { node, .. } => Argument::Node(*node),
            Binding::Argument(argument) => argument.clone(),
        }
    }
}

/// The matches of one pattern, in the order in which torch finds them.
#[derive(Debug, Clone, Default)]
pub struct Matches {
    /// For each match one binding a pattern node, in the order of [`super::Pattern::nodes`].
    pub(super) bindings: Vec<Binding>,
    pub(super) width: usize,
}

impl Matches {
    /// None yet, of a pattern of so many nodes.
    pub(crate) fn new(width: usize) -> Matches {
        Matches { bindings: Vec::new(), width }
    }

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
        let start = index.checked_mul(self.width)?;
        self.bindings.get(start..start.checked_add(self.width)?).filter(|it| !it.is_empty())
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[Binding]> {
        self.bindings.chunks_exact(self.width.max(1))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut [Binding]> {
        self.bindings.chunks_exact_mut(self.width.max(1))
    }

    /// Puts the matches of a later search behind these.
    pub(crate) fn append(&mut self, later: Matches) {
        self.bindings.extend(later.bindings);
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
