//! Which nodes of the graph an anchor may be bound to.

use super::attempt::Attempt;
use super::callbacks::Ask;
use crate::ir::NodeId;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cmp::Ordering;

/// The candidates of a level, in the graph's order.
pub(super) enum Candidates {
    Own(SmallVec<[NodeId; 8]>),
    /// A list in [`KnownCandidates`].
    Known(usize),
}

/// Lists that are asked for many times: users of a node that very many use, and whole graphs.
#[derive(Default)]
pub(super) struct KnownCandidates {
    at: FxHashMap<(u32, Option<NodeId>), usize>,
    lists: Vec<List>,
}

struct List {
    nodes: Vec<NodeId>,
    /// Before this all are claimed; no claim is given up.
    first_free: usize,
}

/// A node with more users has its lists kept.
const MANY: usize = 32;

impl KnownCandidates {
    /// The candidates of a level and where to begin.
    pub(super) fn of_level(&mut self, attempt: &mut Attempt<'_>, level: usize, ask: &mut Ask<'_>) -> Candidates {
        let start = attempt.plan.levels[level].route.as_ref().and_then(|route| attempt.node(route.from));
        if start.is_some_and(|start| attempt.place.graph.user_count(start) <= MANY) {
            return Candidates::Own(search(attempt, level, start, ask));
        }
        let class = attempt.plan.levels[level].class;
        // What the caller compares may differ from anchor to anchor.
        let class = if ask.compares() { level as u32 } else { class };
        if let Some(&list) = self.at.get(&(class, start)) {
            return Candidates::Known(list);
        }
        let nodes = search(attempt, level, start, ask).into_vec();
        self.at.insert((class, start), self.lists.len());
        self.lists.push(List { nodes, first_free: 0 });
        Candidates::Known(self.lists.len() - 1)
    }

    /// The place of the first candidate that is not claimed.
    pub(super) fn first_free(&mut self, candidates: &Candidates, attempt: &Attempt<'_>) -> usize {
        let Candidates::Known(list) = candidates else { return 0 };
        let Some(list) = self.lists.get_mut(*list) else { return 0 };
        while list.nodes.get(list.first_free).is_some_and(|&node| attempt.is_claimed(node)) {
            list.first_free += 1;
        }
        list.first_free
    }

    pub(super) fn count(&self, candidates: &Candidates) -> usize {
        match candidates {
            Candidates::Own(nodes) => nodes.len(),
            Candidates::Known(list) => self.lists.get(*list).map_or(0, |list| list.nodes.len()),
        }
    }

    pub(super) fn get(&self, candidates: &Candidates, index: usize) -> Option<NodeId> {
        match candidates {
            Candidates::Own(nodes) => nodes.get(index).copied(),
            Candidates::Known(list) => self.lists.get(*list)?.nodes.get(index).copied(),
        }
    }
}

fn search(attempt: &mut Attempt<'_>, level: usize, start: Option<NodeId>, ask: &mut Ask<'_>) -> SmallVec<[NodeId; 8]> {
    let graph = attempt.place.graph;
    let Some(start) = start else {
        let anchor = attempt.plan.levels[level].anchor;
        return graph.nodes().filter(|&node| attempt.nodes_are_equal(anchor, node, ask)).collect();
    };
    let steps = attempt.plan.levels[level].route.as_ref().map_or(0, |route| route.steps.len());
    let mut at = SmallVec::<[NodeId; 8]>::from_elem(start, 1);
    for step in 0..steps {
        let Some(route) = &attempt.plan.levels[level].route else { break };
        let index = route.steps[step];
        let users = at.iter().flat_map(|&node| graph.users(node));
        at = users.filter(|&user| attempt.nodes_are_equal(index, user, ask)).collect();
        if at.len() > 1 {
            at.sort_unstable_by(|&a, &b| match a == b {
                true => Ordering::Equal,
                false if graph.is_before(a, b) => Ordering::Less,
                false => Ordering::Greater,
            });
            at.dedup();
        }
    }
    at
}
