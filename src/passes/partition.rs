//! Whether a set of nodes can become one node: torch's `validate_partition`.

use crate::ir::{Error, ErrorKind, Graph, NodeId, Op, Result};

/// Whether these nodes can become one without a cycle: no path leaves the set and comes back.
pub fn validate_partition(graph: &Graph, nodes: &[NodeId]) -> Result<bool> {
    let partition = Partition::new(graph, nodes)?;
    Ok(partition.node_between(graph).is_none())
}

/// A set of nodes of one graph, each once.
pub(super) struct Partition {
    pub(super) nodes: Vec<NodeId>,
    inside: Vec<bool>,
}

impl Partition {
    /// Nodes that are named twice count once.
    pub(super) fn new(graph: &Graph, nodes: &[NodeId]) -> Result<Self> {
        let mut inside = vec![false; graph.slot_count()];
        let mut each_once = Vec::with_capacity(nodes.len());
        for &node in nodes {
            graph.get(node)?;
            if !std::mem::replace(&mut inside[node.slot()], true) {
                each_once.push(node);
            }
        }
        Ok(Partition { nodes: each_once, inside })
    }

    /// Refuses what cannot go into another graph: placeholders and the output.
    pub(super) fn check_movable(&self, graph: &Graph) -> Result<()> {
        for &node in &self.nodes {
            let what = match graph[node].op() {
                Op::Placeholder => "a placeholder",
                Op::Output => "the output",
                _ => continue,
            };
            let message = format!("node {} is {what} and has to stay in its graph", graph.name(node));
            return Err(Error::new(ErrorKind::InvalidArgument, message).at_node(node));
        }
        Ok(())
    }

    pub(super) fn holds(&self, node: NodeId) -> bool {
        self.inside.get(node.slot()).is_some_and(|&inside| inside)
    }

    /// A node outside that lies on a path from the set back to it.
    pub(super) fn node_between(&self, graph: &Graph) -> Option<NodeId> {
        let mut seen = vec![false; graph.slot_count()];
        let mut waiting: Vec<NodeId> = Vec::new();
        let mut wait = |waiting: &mut Vec<NodeId>, node: NodeId| {
            if !std::mem::replace(&mut seen[node.slot()], true) {
                waiting.push(node);
            }
        };
        for &node in &self.nodes {
            graph.users(node).filter(|&user| !self.holds(user)).for_each(|user| wait(&mut waiting, user));
        }
        while let Some(node) = waiting.pop() {
            for user in graph.users(node) {
                if self.holds(user) {
                    return Some(node);
                }
                wait(&mut waiting, user);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Argument, Kwargs, Symbols};

    /// A chain of calls, each of the one before; `x` first.
    fn chain(length: usize) -> (Graph, Vec<NodeId>) {
        let mut graph = Graph::new(Symbols::new());
        let mut nodes = vec![graph.placeholder("x").unwrap()];
        for position in 0..length {
            let before = Argument::Node(nodes[position]);
            nodes.push(graph.call_function("torch.relu", [before].as_slice(), Kwargs::new()).unwrap());
        }
        nodes.push(graph.output(Argument::Node(nodes[length])).unwrap());
        (graph, nodes)
    }

    #[test]
    fn a_path_that_leaves_and_comes_back_is_found() {
        let (graph, nodes) = chain(6);
        assert_eq!(validate_partition(&graph, &[nodes[2], nodes[3], nodes[2]]), Ok(true));
        assert_eq!(validate_partition(&graph, &[nodes[1], nodes[3]]), Ok(false));
        assert_eq!(validate_partition(&graph, &[nodes[6], nodes[1]]), Ok(false));
        assert_eq!(validate_partition(&graph, &[]), Ok(true));
        let partition = Partition::new(&graph, &[nodes[3], nodes[1]]).unwrap();
        assert_eq!(partition.node_between(&graph), Some(nodes[2]));
    }

    #[test]
    fn what_has_to_stay_is_refused() {
        let (mut graph, nodes) = chain(2);
        for node in [nodes[0], nodes[3]] {
            assert_eq!(validate_partition(&graph, &[node]), Ok(true));
            let error = Partition::new(&graph, &[nodes[1], node]).unwrap().check_movable(&graph).unwrap_err();
            assert_eq!((error.kind, error.node), (ErrorKind::InvalidArgument, Some(node)));
        }
        graph.erase_node(nodes[3]).unwrap();
        assert_eq!(validate_partition(&graph, &[nodes[3]]).unwrap_err().kind, ErrorKind::StaleNode);
    }

    /// Fault 82: in densely connected layers there are exponentially many paths.
    #[test]
    fn dense_layers_take_linear_time() {
        let mut graph = Graph::new(Symbols::new());
        let x = graph.placeholder("x").unwrap();
        let mut layer = vec![x];
        let mut first = None;
        for _ in 0..200 {
            let inputs = Argument::List(layer.iter().map(|&node| Argument::Node(node)).collect());
            let make = |_| graph.call_function("torch.cat", [inputs.clone()].as_slice(), Kwargs::new()).unwrap();
            layer = (0..8).map(make).collect();
            first = first.or(layer.first().copied());
        }
        graph.output(Argument::Node(layer[0])).unwrap();
        assert_eq!(validate_partition(&graph, &[first.unwrap(), layer[0]]), Ok(false));
        assert_eq!(validate_partition(&graph, &layer), Ok(true));
    }
}
