//! Puts a graph in order: torch's `legalize_graph`, but stable.

use crate::ir::{Error, ErrorKind, Graph, NodeId, Op, Result};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Reorders the nodes so that every use comes after its definition, placeholders come first and
/// the output last. Of the nodes that could come next, it is always the one that came first
/// before: a graph in order does not change, and independent nodes keep their order.
///
/// A cycle is [`ErrorKind::Lint`], names the nodes on it, and leaves the graph as it was.
pub fn legalize(graph: &mut Graph) -> Result<()> {
    let old: Vec<NodeId> = graph.nodes().collect();
    let mut sort = Sort {
        graph,
        position: vec![0; graph.slot_count()],
        missing: vec![0; graph.slot_count()],
        state: vec![State::Waiting; graph.slot_count()],
        new: Vec::with_capacity(old.len()),
        released: BinaryHeap::new(),
    };
    for (position, node) in old.iter().enumerate() {
        sort.position[node.slot()] = position as u32;
    }
    for &node in &old {
        if graph[node].op() == Op::Placeholder {
            sort.emit(node);
        }
    }
    let output = graph.output_node();
    for &node in &old {
        if graph[node].op() != Op::Placeholder && Some(node) != output {
            sort.visit(node);
            sort.drain(&old);
        }
    }
    if let Some(output) = output {
        sort.visit(output);
        sort.drain(&old);
    }
    if sort.new.len() < old.len() {
        return Err(sort.cycle(&old));
    }
    let new = sort.new;
    if new.iter().zip(&old).any(|(&slot, node)| slot as usize != node.slot()) {
        graph.set_slot_order(&new);
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its turn has not come, or inputs are missing.
    Waiting,
    /// The same, and a node whose turn has come waits for it.
    Awaited,
    /// In the new order.
    Done,
}

struct Sort<'a> {
    graph: &'a Graph,
    position: Vec<u32>,
    /// Inputs that a node whose turn has come still waits for; 0 for the others.
    missing: Vec<u32>,
    state: Vec<State>,
    new: Vec<u32>,
    /// Nodes whose turn came before their inputs were there, and now they are.
    released: BinaryHeap<Reverse<u32>>,
}

impl Sort<'_> {
    /// The turn of `node`: it is released, or counts what it waits for.
    fn visit(&mut self, node: NodeId) {
        let mut missing = 0;
        for input in self.graph.input_nodes(node) {
            let state = &mut self.state[input.slot()];
            if *state != State::Done {
                *state = State::Awaited;
                missing += 1;
            }
        }
        self.missing[node.slot()] = missing;
        if missing == 0 {
            self.released.push(Reverse(self.position[node.slot()]));
        }
    }

    fn drain(&mut self, old: &[NodeId]) {
        while let Some(Reverse(position)) = self.released.pop() {
            self.emit(old[position as usize]);
        }
    }

    fn emit(&mut self, node: NodeId) {
        self.new.push(node.slot() as u32);
        if std::mem::replace(&mut self.state[node.slot()], State::Done) != State::Awaited {
            return;
        }
        for user in self.graph.users(node) {
            let missing = &mut self.missing[user.slot()];
            if *missing > 0 {
                *missing -= 1;
                if *missing == 0 {
                    self.released.push(Reverse(self.position[user.slot()]));
                }
            }
        }
    }

    /// Walks from a node that is not done to an input that is not done until one comes again.
    fn cycle(&self, old: &[NodeId]) -> Error {
        let not_done = |node: &NodeId| self.state[node.slot()] != State::Done;
        let mut walk: Vec<NodeId> = Vec::new();
        let mut step_of = vec![usize::MAX; self.state.len()];
        let mut at = old.iter().copied().find(not_done);
        while let Some(node) = at {
            let first = step_of[node.slot()];
            if first != usize::MAX {
                walk.drain(..first);
                break;
            }
            step_of[node.slot()] = walk.len();
            walk.push(node);
            at = self.graph.input_nodes(node).find(not_done);
        }
        walk.reverse();
        const SHOWN: usize = 16;
        let mut names: Vec<&str> = walk.iter().take(SHOWN).map(|&node| self.graph.name(node)).collect();
        if walk.len() > SHOWN {
            names.push("...");
        }
        let error = Error::new(
            ErrorKind::Lint,
            format!("the graph has a cycle of {} nodes: {}", walk.len(), names.join(" -> ")),
        );
        walk.first().map_or(error.clone(), |&node| error.at_node(node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::lint::lint_graph;
    use crate::ir::{Argument, Kwargs, Symbols};
    use proptest::prelude::*;

    fn chain(len: usize) -> (Graph, Vec<NodeId>) {
        let mut graph = Graph::new(Symbols::new());
        let mut nodes = vec![graph.placeholder("x").unwrap()];
        for i in 0..len {
            nodes.push(graph.call_function("torch.relu", [Argument::Node(nodes[i])].to_vec(), Kwargs::new()).unwrap());
        }
        nodes.push(graph.output(Argument::Node(nodes[len])).unwrap());
        (graph, nodes)
    }

    #[test]
    fn a_cycle_is_named_and_nothing_changes() {
        let (mut graph, nodes) = chain(3);
        graph.set_args(nodes[1], [Argument::Node(nodes[2])].into_iter().collect()).unwrap();
        let before: Vec<_> = graph.nodes().collect();
        let error = legalize(&mut graph).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Lint);
        assert!(
            error.message.contains("2 nodes: relu_1 -> relu") || error.message.contains("2 nodes: relu -> relu_1"),
            "{error}"
        );
        assert_eq!(graph.nodes().collect::<Vec<_>>(), before);
    }

    #[test]
    fn a_reversed_chain_comes_back() {
        let (mut graph, nodes) = chain(200_000);
        let mut reversed = nodes.clone();
        reversed.reverse();
        graph.set_order(&reversed).unwrap();
        legalize(&mut graph).unwrap();
        assert_eq!(graph.nodes().collect::<Vec<_>>(), nodes);
    }

    proptest! {
        #[test]
        fn always_the_earliest_that_can_come(edges in prop::collection::vec((0usize..20, 0usize..20), 0..40), shuffle in Just((0..20usize).collect::<Vec<_>>()).prop_shuffle()) {
            let mut graph = Graph::new(Symbols::new());
            let x = graph.placeholder("x").unwrap();
            let nodes: Vec<_> = (0..20).map(|_| graph.call_function("f", [Argument::Node(x)].to_vec(), Kwargs::new()).unwrap()).collect();
            let mut inputs = vec![vec![x]; 20];
            for (a, b) in edges {
                if a < b {
                    inputs[b].push(nodes[a]);
                    let args = inputs[b].iter().map(|&n| Argument::Node(n)).collect();
                    graph.set_args(nodes[b], args).unwrap();
                }
            }
            let output = graph.output(Argument::Node(nodes[19])).unwrap();
            let order: Vec<_> = shuffle.iter().map(|&i| nodes[i]).chain([output, x]).collect();
            graph.set_order(&order).unwrap();
            legalize(&mut graph).unwrap();
            prop_assert!(lint_graph(&graph).is_ok());
            // The definition, naively.
            let mut left: Vec<usize> = shuffle;
            let mut expected = vec![x];
            while !left.is_empty() {
                let next = left.iter().position(|&i| inputs[i].iter().all(|n| expected.contains(n))).unwrap();
                expected.push(nodes[left.remove(next)]);
            }
            expected.push(output);
            prop_assert_eq!(graph.nodes().collect::<Vec<_>>(), expected);
        }
    }
}
