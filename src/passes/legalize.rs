//! Puts a graph in order: torch's `legalize_graph`, but stable.

use crate::ir::error::counted;
use crate::ir::{Error, ErrorKind, Graph, NodeId, Result};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Reorders the nodes so that every use comes after its definition, placeholders come first and
/// the output last. Of the nodes that could come next, it is always the one that came first
/// before: a graph in order does not change, and independent nodes keep their order.
///
/// But for placeholders and the output that is the order of torch.fx's `stable_topological_sort`; that
/// of Inductor's is [`super::stable_topological_sort()`]'s. What is in its place costs linear time, and
/// what had to wait a place in a heap.
///
/// A cycle is [`ErrorKind::Lint`] and leaves the graph as it was; the error's `nodes` are those on it,
/// each before the one that uses it, and the message shows the first of them.
pub fn legalize(graph: &mut Graph) -> Result<()> {
    let mut sort = Sort {
        graph,
        state: vec![0; graph.slot_count()],
        new: Vec::with_capacity(graph.len()),
        released: BinaryHeap::new(),
    };
    for node in graph.placeholders() {
        sort.emit(node.slot() as u32);
    }
    let output = graph.output_node().map(|output| output.slot() as u32);
    for slot in graph.slots_in_order() {
        if !sort.is_done(slot) && Some(slot) != output {
            sort.visit(slot);
        }
    }
    if let Some(output) = output {
        sort.visit(output);
    }
    if sort.new.len() < graph.len() {
        return Err(cycle(graph, |slot| sort.is_done(slot)));
    }
    let new = sort.new;
    if !graph.slots_in_order().eq(new.iter().copied()) {
        graph.set_slot_order(&new);
    }
    Ok(())
}

struct Sort<'a> {
    graph: &'a Graph,
    /// For each slot `DONE`, or how many inputs its turn found missing that still are, and `AWAITED`
    /// if a node whose turn has come waits for it.
    state: Vec<u32>,
    new: Vec<u32>,
    /// Nodes whose turn came before their inputs were there, and now they are; by place in the order.
    released: BinaryHeap<Reverse<(u64, u32)>>,
}

/// In the new order.
const DONE: u32 = u32::MAX;
const AWAITED: u32 = 1 << 31;

impl Sort<'_> {
    fn is_done(&self, slot: u32) -> bool {
        self.state[slot as usize] == DONE
    }

    /// The turn of a node: it is next, with all that waited for it, or counts what it waits for.
    fn visit(&mut self, slot: u32) {
        let mut missing = 0;
        for input in self.graph.input_slots(slot) {
            let state = &mut self.state[input as usize];
            if *state != DONE {
                *state |= AWAITED;
                missing += 1;
            }
        }
        self.state[slot as usize] |= missing;
        if missing == 0 {
            self.emit(slot);
            while let Some(Reverse((_, slot))) = self.released.pop() {
                self.emit(slot);
            }
        }
    }

    fn emit(&mut self, slot: u32) {
        self.new.push(slot);
        if std::mem::replace(&mut self.state[slot as usize], DONE) & AWAITED == 0 {
            return;
        }
        for user in self.graph.user_slots(slot) {
            let state = &mut self.state[user as usize];
            if *state != DONE && *state & !AWAITED > 0 {
                *state -= 1;
                if *state & !AWAITED == 0 {
                    self.released.push(Reverse((self.graph.order_label(user), user)));
                }
            }
        }
    }
}

/// What is wrong with a graph of which a sort could not place the nodes that are not done: the error
/// names the nodes of one cycle, each before the one that uses it.
pub(super) fn cycle(graph: &Graph, is_done: impl Fn(u32) -> bool) -> Error {
    // Walks from a node that is not done to an input that is not done until one comes again.
    let not_done = |node: &NodeId| !is_done(node.slot() as u32);
    let mut walk: Vec<NodeId> = Vec::new();
    let mut step_of = vec![usize::MAX; graph.slot_count()];
    let mut at = graph.nodes().find(not_done);
    while let Some(node) = at {
        let first = step_of[node.slot()];
        if first != usize::MAX {
            walk.drain(..first);
            break;
        }
        step_of[node.slot()] = walk.len();
        walk.push(node);
        at = graph.input_nodes(node).find(not_done);
    }
    walk.reverse();
    const SHOWN: usize = 16;
    let mut names: Vec<&str> = walk.iter().take(SHOWN).map(|&node| graph.name(node)).collect();
    if walk.len() > SHOWN {
        names.push("...");
    }
    Error::new(
        ErrorKind::Lint,
        format!("the graph has a cycle of {}: {}", counted(walk.len(), "node"), names.join(" -> ")),
    )
    .at_nodes(walk)
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
        assert_eq!(error.nodes.len(), 2);
        assert_eq!(error.node, Some(error.nodes[0]));
    }

    #[test]
    fn every_node_of_a_long_cycle_can_be_read_in_its_order() {
        // x, then a cycle of 100,000, and a chain behind it that is on no cycle.
        let (mut graph, nodes) = chain(100_010);
        graph.set_args(nodes[1], [Argument::Node(nodes[100_000])].into_iter().collect()).unwrap();
        let error = legalize(&mut graph).unwrap_err();
        assert!(error.message.ends_with("..."), "{error}");
        assert_eq!(error.nodes.len(), 100_000);
        let mut on_it = error.nodes.to_vec();
        on_it.sort_unstable();
        let mut expected = nodes[1..=100_000].to_vec();
        expected.sort_unstable();
        assert_eq!(on_it, expected);
        for (&used, &user) in error.nodes.iter().zip(error.nodes.iter().cycle().skip(1)) {
            assert!(graph.input_nodes(user).any(|input| input == used));
        }
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
