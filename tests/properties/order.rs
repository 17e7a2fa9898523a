//! What need not move keeps its place.

use crate::drawing::order;
use crate::fx_line::{net, rewrite};
use crate::random_graph::{modules, picked, RandomModule};
use fxir::ir::{Graph, ModuleTree, NodeId, Op};
use fxir::passes::fuse::{fuse_as_graphmodule, FuseOptions};
use fxir::passes::legalize::legalize;
use proptest::prelude::*;
use std::collections::HashMap;

/// For each node which of the others it needs, by their places in `nodes`, which is a legal order.
fn needs(graph: &Graph, nodes: &[NodeId]) -> Vec<Vec<bool>> {
    let place: HashMap<NodeId, usize> = nodes.iter().enumerate().map(|(place, &node)| (node, place)).collect();
    let mut all: Vec<Vec<bool>> = Vec::new();
    for &node in nodes {
        let mut own = vec![false; nodes.len()];
        for input in graph.input_nodes(node) {
            let input = place[&input];
            own[input] = true;
            all[input].iter().enumerate().for_each(|(place, &needed)| own[place] |= needed);
        }
        all.push(own);
    }
    all
}

/// Nodes that were there before and need nothing new stand as they stood. Those that need something
/// new may come later than they did, and never earlier.
fn check_untouched(before: &[NodeId], tree: &ModuleTree) -> Result<(), TestCaseError> {
    let after = order(tree);
    let graph = tree.graph(tree.root()).unwrap();
    let needed = needs(graph, &after);
    let old: HashMap<NodeId, usize> = before.iter().enumerate().map(|(place, &node)| (node, place)).collect();
    let is_new: Vec<bool> = after.iter().map(|node| !old.contains_key(node)).collect();
    let needs_new = |place: usize| needed[place].iter().zip(&is_new).any(|(&needed, &new)| needed && new);
    let stayed: Vec<usize> = (0..after.len()).filter(|&place| !is_new[place]).collect();
    for (index, &first) in stayed.iter().enumerate() {
        for &second in &stayed[index + 1..] {
            if old[&after[first]] > old[&after[second]] {
                let names = [first, second].map(|place| graph.name(after[place]));
                prop_assert!(needs_new(second), "{names:?} changed places");
            }
        }
    }
    Ok(())
}

const RULES: [[&str; 2]; 6] = [
    ["x: return torch.relu(x)", "x: return torch.neg(torch.exp(x))"],
    ["x, y: return torch.add(x, y)", "x, y: return torch.sub(x, torch.neg(y))"],
    ["x, y, z: return torch.cat([x, y, z], dim=1)", "x, y, z: return x"],
    ["x, y: return torch.relu(torch.add(x, y))", "x, y: return torch.relu(x)"],
    ["x, y: return torch.relu(x), torch.chunk(y, 2)", "x, y: m = x @ y; return m + 1, m + 2"],
    ["x: r = torch.relu(x); return r, torch.chunk(r, 2)", "x: return torch.sin(x), torch.cos(x)"],
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn a_rewrite_moves_only_what_needs_something_new(RandomModule { mut tree } in modules(30), which in 0..RULES.len()) {
        let before = order(&tree);
        let [pattern, replacement] = RULES[which].map(net);
        rewrite(&mut tree, &pattern, &replacement);
        check_untouched(&before, &tree)?;
        if which < 4 {
            // With one output nothing has to move at all.
            let after: Vec<NodeId> = order(&tree).into_iter().filter(|node| before.contains(node)).collect();
            let stayed: Vec<NodeId> = before.into_iter().filter(|node| after.contains(node)).collect();
            prop_assert_eq!(after, stayed);
        }
    }

    #[test]
    fn fusing_moves_only_what_needs_the_region(RandomModule { mut tree } in modules(30), picks in prop::collection::vec(any::<u16>(), 1..5)) {
        let (root, before, nodes) = (tree.root(), order(&tree), picked(&tree, &picks));
        if fuse_as_graphmodule(&mut tree, root, &nodes, "fused", &FuseOptions::default()).is_ok() {
            check_untouched(&before, &tree)?;
        }
        prop_assert!(tree.graph(root).is_ok());
    }

    #[test]
    fn legalizing_moves_a_node_only_behind_what_it_needs(
        RandomModule { mut tree } in modules(30),
        moves in prop::collection::vec((any::<u16>(), any::<u16>()), 0..6),
    ) {
        let root = tree.root();
        let legal = order(&tree);
        let graph = tree.graph_mut(root).unwrap();
        // In order: nothing changes.
        legalize(graph).unwrap();
        prop_assert_eq!(graph.nodes().collect::<Vec<_>>(), legal.clone());
        let needed = needs(graph, &legal);
        for (node, anchor) in moves {
            let [node, anchor] = [node, anchor].map(|pick| legal[pick as usize % legal.len()]);
            graph.move_before(node, anchor).unwrap();
        }
        let shuffled: HashMap<NodeId, usize> = graph.nodes().enumerate().map(|(place, node)| (node, place)).collect();
        legalize(graph).unwrap();
        let is_inner = |node: &NodeId| !matches!(graph[*node].op(), Op::Placeholder | Op::Output);
        let after: Vec<NodeId> = graph.nodes().filter(is_inner).collect();
        let place: HashMap<NodeId, usize> = legal.iter().enumerate().map(|(place, &node)| (node, place)).collect();
        for (index, first) in after.iter().enumerate() {
            for second in after[index + 1..].iter().filter(|second| shuffled[second] < shuffled[first]) {
                // The second stood before the first: it had to wait for something that stood no earlier.
                let waited = legal.iter().filter(|node| needed[place[second]][place[node]] && is_inner(node));
                prop_assert!(waited.clone().any(|node| shuffled[node] >= shuffled[first]));
            }
        }
    }
}
