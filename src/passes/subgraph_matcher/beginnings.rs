//! Where in the graph each of many patterns can begin.

use super::callbacks::MatchCallbacks;
use super::{MatchOptions, Pattern};
use crate::ir::{Graph, NodeId, Op, Symbol};
use rustc_hash::FxHashMap;

/// Which patterns can begin at a node, by what it is and what it uses.
#[derive(Default)]
pub(super) struct Beginnings {
    by_target: FxHashMap<(Op, Symbol), Patterns>,
    by_op: FxHashMap<Op, Patterns>,
    /// The caller compares nodes.
    anywhere: Vec<u32>,
}

/// Patterns whose first anchors look alike. Those that ask for a call among what the anchor uses are
/// kept by that call: of a hundred patterns that end in an addition most ask for different ones.
#[derive(Default)]
struct Patterns {
    wherever: Vec<u32>,
    by_input: FxHashMap<(Op, Symbol), Vec<u32>>,
}

impl Beginnings {
    pub(super) fn new(
        graph: &Graph,
        rules: &[(&Pattern<'_>, &MatchOptions)],
        callbacks: &dyn MatchCallbacks,
    ) -> Beginnings {
        let mut beginnings = Beginnings::default();
        for (rule, (pattern, options)) in rules.iter().enumerate() {
            let Some(&anchor) = pattern.anchors(options.match_output).first() else { continue };
            let compares = callbacks.compares_nodes(rule);
            let op = pattern.op(anchor);
            if compares && op != Op::Output {
                beginnings.anywhere.push(rule as u32);
                continue;
            }
            // A text that the graph's table does not have is nobody's target.
            let called = |index: usize| graph.symbols().find(pattern.graph().target(pattern.nodes()[index]));
            let alike = match op {
                Op::CallFunction | Op::CallMethod => match called(anchor) {
                    Some(target) => beginnings.by_target.entry((op, target)).or_default(),
                    None => continue,
                },
                _ => beginnings.by_op.entry(op).or_default(),
            };
            let is_call = |&index: &usize| matches!(pattern.op(index), Op::CallFunction | Op::CallMethod);
            // One pattern alone is as soon tried as looked for.
            let input = if rules.len() == 1 || compares { None } else { pattern.inputs(anchor).find(is_call) };
            match input.map(|input| (pattern.op(input), called(input))) {
                Some((op, Some(target))) => alike.by_input.entry((op, target)).or_default().push(rule as u32),
                Some((_, None)) => {}
                None => alike.wherever.push(rule as u32),
            }
        }
        beginnings
    }

    /// Fills `rules` with the patterns that can begin at `node`, in their order.
    pub(super) fn at(&self, graph: &Graph, node: NodeId, rules: &mut Vec<u32>) {
        rules.clear();
        rules.extend_from_slice(&self.anywhere);
        let found = &graph[node];
        if !self.by_target.is_empty() {
            if let Some(alike) = self.by_target.get(&(found.op(), found.target())) {
                alike.at(graph, node, rules);
            }
        }
        if !self.by_op.is_empty() {
            if let Some(alike) = self.by_op.get(&found.op()) {
                alike.at(graph, node, rules);
            }
        }
        if rules.len() > 1 {
            rules.sort_unstable();
            rules.dedup();
        }
    }
}

impl Patterns {
    fn at(&self, graph: &Graph, node: NodeId, rules: &mut Vec<u32>) {
        rules.extend_from_slice(&self.wherever);
        if self.by_input.is_empty() {
            return;
        }
        for input in graph.input_nodes(node) {
            let input = &graph[input];
            if let Some(more) = self.by_input.get(&(input.op(), input.target())) {
                rules.extend_from_slice(more);
            }
        }
    }
}
