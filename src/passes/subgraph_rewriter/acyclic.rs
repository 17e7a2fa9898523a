//! Two matches with several outputs can each be replaced, and both together close a cycle: each
//! feeds the other. Then the later one stays as it is.

use super::rewrite::PatternShape;
use crate::ir::{Graph, NodeId};
use crate::passes::subgraph_matcher::FoundByRules;

/// Keeps the first matches that fit together.
pub(super) fn drop_matches_that_close_a_cycle(graph: &Graph, shapes: &[PatternShape], found: &mut FoundByRules) {
    let has_several_outputs = |rule: &u32| shapes[*rule as usize].has_several_outputs;
    if !found.order.iter().any(has_several_outputs) {
        return;
    }
    let mut next = vec![0; shapes.len()];
    let nodes_of: Vec<Vec<NodeId>> = found
        .order
        .iter()
        .map(|&rule| {
            let rule = rule as usize;
            let bindings = found.matches[rule].get(next[rule]).unwrap_or_default();
            next[rule] += 1;
            shapes[rule].compute.iter().filter_map(|&index| bindings.get(index)?.node()).collect()
        })
        .collect();
    let mut keep = vec![true; nodes_of.len()];
    let mut settled = 0;
    // The longest run that fits is found by halving; the match behind it goes.
    while !fits_together(graph, &nodes_of, &keep, nodes_of.len()) {
        let (mut fits, mut fails) = (settled, nodes_of.len());
        while fails - fits > 1 {
            let middle = fits + (fails - fits) / 2;
            if fits_together(graph, &nodes_of, &keep, middle) {
                fits = middle;
            } else {
                fails = middle;
            }
        }
        keep[fails - 1] = false;
        settled = fails;
    }
    if settled > 0 {
        found.retain(&keep);
    }
}

/// Whether the graph is free of cycles when each of the first `count` matches is one node.
fn fits_together(graph: &Graph, nodes_of: &[Vec<NodeId>], keep: &[bool], count: usize) -> bool {
    let mut group = vec![usize::MAX; graph.slot_count()];
    let mut groups = 0;
    for (nodes, _) in nodes_of.iter().zip(keep).take(count).filter(|(_, &keep)| keep) {
        nodes.iter().for_each(|node| group[node.slot()] = groups);
        groups += 1;
    }
    let mut members: Vec<Vec<NodeId>> = vec![Vec::new(); groups];
    for node in graph.nodes() {
        if group[node.slot()] == usize::MAX {
            group[node.slot()] = members.len();
            members.push(Vec::new());
        }
        members[group[node.slot()]].push(node);
    }
    let inputs = |own: usize, node: NodeId| {
        let group = &group;
        graph.input_nodes(node).map(move |input| group[input.slot()]).filter(move |&other| other != own)
    };
    let mut missing: Vec<usize> = members
        .iter()
        .enumerate()
        .map(|(own, nodes)| nodes.iter().map(|&node| inputs(own, node).count()).sum())
        .collect();
    let mut ready: Vec<usize> = (0..members.len()).filter(|&own| missing[own] == 0).collect();
    let mut done = 0;
    while let Some(own) = ready.pop() {
        done += 1;
        for user in members[own].iter().flat_map(|&node| graph.users(node)) {
            let other = group[user.slot()];
            if other != own {
                missing[other] -= 1;
                if missing[other] == 0 {
                    ready.push(other);
                }
            }
        }
    }
    done == members.len()
}
