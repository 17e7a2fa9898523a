//! Puts a graph in order in linear time, and keeps together what waited together: the
//! `stable_topological_sort` of torch's Inductor.

use super::legalize::cycle;
use crate::ir::{Graph, NodeId, Result};

/// Reorders the nodes so that every use comes after its definition, placeholders come first and the
/// output last. Nodes come in their order; one that stands before something it uses comes right behind
/// the last of its inputs to come, with everything that waited for it right behind it in turn. So a
/// chain of nodes that was put in too early stays together, where [`super::legalize::legalize`] lets
/// what stood between pass first. A graph in order does not change. Returns how many nodes had to
/// wait: 0 when all of them stood behind what they use.
///
/// Costs time linear in nodes and edges. A cycle is [`ErrorKind::Lint`](crate::ir::ErrorKind::Lint),
/// as it is in `legalize`, and leaves the graph as it was.
pub fn stable_topological_sort(graph: &mut Graph) -> Result<usize> {
    let slots = graph.slot_count();
    let mut sort = Sort {
        graph,
        done: vec![false; slots],
        new: Vec::with_capacity(graph.len()),
        waits: Vec::new(),
        released: Vec::new(),
        late: 0,
    };
    for node in graph.placeholders() {
        sort.visit(node.slot() as u32);
    }
    let output = graph.output_node().map(|output| output.slot() as u32);
    for slot in graph.slots_in_order() {
        if !sort.done[slot as usize] && Some(slot) != output {
            sort.visit(slot);
        }
    }
    if let Some(output) = output {
        sort.visit(output);
    }
    let Sort { done, new, late, .. } = sort;
    if new.len() < graph.len() {
        return Err(cycle(graph, |slot| done[slot as usize]));
    }
    if !graph.slots_in_order().eq(new.iter().copied()) {
        graph.set_slot_order(&new);
    }
    Ok(late)
}

struct Sort<'a> {
    graph: &'a Graph,
    done: Vec<bool>,
    new: Vec<u32>,
    /// What waits for each slot, in the order in which it came to wait; empty until something does.
    waits: Vec<Vec<Waiting>>,
    /// What waited for a node that has come, and may wait for another; the next one last.
    released: Vec<Waiting>,
    late: usize,
}

/// A node that waits, and what it mentions up to what it waits for. It waits for the last mention that
/// is missing; all behind that are there, so each mention is looked at once.
struct Waiting {
    slot: u32,
    mentions: Vec<u32>,
}

impl Sort<'_> {
    /// The turn of a node: it comes, and so does all that waited for it, or it waits.
    fn visit(&mut self, slot: u32) {
        if self.graph.input_slots(slot).any(|input| !self.done[input as usize]) {
            self.late += 1;
            let mentions = mentions(self.graph, slot);
            self.wait(Waiting { slot, mentions });
            return;
        }
        self.come(slot);
        while let Some(waiting) = self.released.pop() {
            if let Some(waiting) = self.wait(waiting) {
                self.come(waiting.slot);
            }
        }
    }

    fn come(&mut self, slot: u32) {
        self.done[slot as usize] = true;
        self.new.push(slot);
        if let Some(waited) = self.waits.get_mut(slot as usize) {
            self.released.extend(std::mem::take(waited).into_iter().rev());
        }
    }

    /// Puts a node where it waits, or gives it back when nothing is missing.
    fn wait(&mut self, mut waiting: Waiting) -> Option<Waiting> {
        while let Some(&mention) = waiting.mentions.last() {
            if !self.done[mention as usize] {
                if self.waits.is_empty() {
                    self.waits.resize_with(self.done.len(), Vec::new);
                }
                self.waits[mention as usize].push(waiting);
                return None;
            }
            waiting.mentions.pop();
        }
        Some(waiting)
    }
}

/// Every node that the arguments of a node mention, as often as they do.
fn mentions(graph: &Graph, slot: u32) -> Vec<u32> {
    let mut mentions = Vec::new();
    let Some(node) = graph.node_at(slot) else { return mentions };
    let mut mention = |input: NodeId| mentions.push(input.slot() as u32);
    let node = &graph[node];
    node.args().iter().for_each(|argument| argument.for_each_node(&mut mention));
    node.kwargs().iter().for_each(|(_, argument)| argument.for_each_node(&mut mention));
    mentions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::lint::{lint_graph, out_of_order};
    use crate::ir::{Argument, ErrorKind, Kwargs, Symbols};
    use proptest::prelude::*;

    fn call(graph: &mut Graph, inputs: &[NodeId]) -> NodeId {
        let args: Vec<Argument> = inputs.iter().map(|&input| Argument::Node(input)).collect();
        graph.call_function("f", args, Kwargs::new()).unwrap()
    }

    fn names(graph: &Graph) -> String {
        graph.nodes().map(|node| graph.name(node)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_chain_put_in_too_early_stays_together() {
        let mut graph = Graph::new(Symbols::new());
        let x = graph.placeholder("x").unwrap();
        let b = call(&mut graph, &[x]);
        let c = call(&mut graph, &[b]);
        let e = call(&mut graph, &[b]);
        let p = call(&mut graph, &[c]);
        graph.output(Argument::List([p.into(), e.into()].into())).unwrap();
        for (node, name) in [(b, "b"), (c, "c"), (e, "e"), (p, "p")] {
            graph.rename(node, name).unwrap();
        }
        assert_eq!(stable_topological_sort(&mut graph), Ok(0));
        graph.move_after(b, p).unwrap();
        let mut legalized = graph.clone();
        assert_eq!(names(&graph), "x c e p b output");
        assert_eq!(stable_topological_sort(&mut graph), Ok(3));
        assert_eq!(names(&graph), "x b c p e output");
        super::super::legalize::legalize(&mut legalized).unwrap();
        assert_eq!(names(&legalized), "x b c e p output");
    }

    #[test]
    fn a_cycle_is_an_error_and_nothing_changes() {
        let mut graph = Graph::new(Symbols::new());
        let x = graph.placeholder("x").unwrap();
        let a = call(&mut graph, &[x]);
        let b = call(&mut graph, &[a]);
        let c = call(&mut graph, &[b]);
        graph.set_args(a, [Argument::Node(x), Argument::Node(b)].into_iter().collect()).unwrap();
        graph.move_before(c, x).unwrap();
        let before: Vec<_> = graph.nodes().collect();
        let error = stable_topological_sort(&mut graph).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Lint);
        assert!(error.nodes.len() == 2 && error.nodes.contains(&a) && error.nodes.contains(&b));
        assert_eq!(graph.nodes().collect::<Vec<_>>(), before);
        graph.set_args(a, [Argument::Node(a)].into_iter().collect()).unwrap();
        assert_eq!(*stable_topological_sort(&mut graph).unwrap_err().nodes, [a]);
    }

    #[test]
    fn a_node_that_waits_for_very_many_costs_linear_time() {
        let mut graph = Graph::new(Symbols::new());
        let x = graph.placeholder("x").unwrap();
        let many: Vec<NodeId> = (0..300_000).map(|_| call(&mut graph, &[x])).collect();
        let all = call(&mut graph, &many);
        graph.output(Argument::Node(all)).unwrap();
        let mut order: Vec<NodeId> = graph.nodes().collect();
        graph.move_before(all, x).unwrap();
        assert_eq!(stable_topological_sort(&mut graph), Ok(1));
        assert_eq!(graph.nodes().collect::<Vec<_>>(), order);
        order.reverse();
        graph.set_order(&order).unwrap();
        stable_topological_sort(&mut graph).unwrap();
        assert_eq!(out_of_order(&graph), None);
    }

    /// The definition, naively: a stack of what is to come; one that misses something waits for the
    /// last thing it misses, and comes onto the stack again with what else waited for that.
    fn naively(order: &[usize], inputs: &[Vec<usize>]) -> Vec<usize> {
        let mut stack: Vec<usize> = order.iter().rev().copied().collect();
        let mut come: Vec<usize> = Vec::new();
        let mut waiting: Vec<(usize, usize)> = Vec::new();
        while let Some(node) = stack.pop() {
            match inputs[node].iter().rev().find(|input| !come.contains(input)) {
                Some(&missing) => waiting.push((missing, node)),
                None => {
                    come.push(node);
                    let (released, left) = waiting.into_iter().partition(|&(missing, _)| missing == node);
                    let released: Vec<(usize, usize)> = released;
                    stack.extend(released.iter().rev().map(|&(_, node)| node));
                    waiting = left;
                }
            }
        }
        come
    }

    proptest! {
        #[test]
        fn as_the_definition_has_it(edges in prop::collection::vec((0usize..20, 0usize..20), 0..60), shuffle in Just((0..20usize).collect::<Vec<_>>()).prop_shuffle(), x_at in 0usize..21) {
            let mut graph = Graph::new(Symbols::new());
            let nodes: Vec<_> = (0..20).map(|_| call(&mut graph, &[])).collect();
            let mut inputs = vec![Vec::new(); 20];
            for (a, b) in edges {
                if a < b {
                    inputs[b].push(a); // twice the same too: the last mention counts
                }
            }
            for (node, inputs) in nodes.iter().zip(&inputs) {
                graph.set_args(*node, inputs.iter().map(|&input| Argument::Node(nodes[input])).collect()).unwrap();
            }
            let x = graph.placeholder("x").unwrap();
            let output = graph.output(Argument::Node(nodes[19])).unwrap();
            let mut order: Vec<_> = shuffle.iter().map(|&i| nodes[i]).collect();
            order.insert(x_at, x);
            order.insert(x_at / 2, output);
            graph.set_order(&order).unwrap();
            stable_topological_sort(&mut graph).unwrap();
            prop_assert!(lint_graph(&graph).is_ok());
            let expected: Vec<NodeId> =
                [x].into_iter().chain(naively(&shuffle, &inputs).into_iter().map(|i| nodes[i])).chain([output]).collect();
            prop_assert_eq!(graph.nodes().collect::<Vec<_>>(), expected);
            prop_assert_eq!(stable_topological_sort(&mut graph), Ok(0));
        }
    }
}
