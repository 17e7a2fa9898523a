//! Common subexpressions are gone after one walk, and what is left stands as it stood.

use crate::drawing::order;
use crate::random_graph::listing::listing;
use crate::random_graph::meaning::meaning;
use crate::random_graph::{modules, RandomModule};
use fxir::formats::python::print::code;
use fxir::ir::lint::lint_all;
use fxir::ir::{Argument, At, Attribute, CopyNames, ModuleTree, NodeId, Op};
use fxir::passes::cse::{eliminate_common_subexpressions, find_common_subexpressions, CseOptions};
use fxir::passes::deduplicate_get_attr::deduplicate_get_attr;
use proptest::prelude::*;

/// Copies the nodes picked behind themselves, with the arguments that they have, and hands each copy to
/// some of the users of what it is a copy of.
fn repeat(tree: &mut ModuleTree, picks: &[(u16, bool)]) {
    let root = tree.root();
    let from = tree.graph(root).unwrap().clone();
    let graph = tree.graph_mut(root).unwrap();
    let inner = |node: &NodeId| !matches!(from[*node].op(), Op::Placeholder | Op::Output);
    let nodes: Vec<NodeId> = from.nodes().filter(inner).collect();
    for &(pick, all) in picks.iter().filter(|_| !nodes.is_empty()) {
        let node = nodes[pick as usize % nodes.len()];
        let mut same = |node: NodeId| Ok(Argument::Node(node));
        let twin = graph.node_copy(At::After(node), &from, node, CopyNames::Unique, &mut same).unwrap();
        let mut take = false;
        graph
            .replace_all_uses_with(node, twin, |_, user| {
                take = !take;
                (take || all) && user != twin
            })
            .unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn once_is_enough_and_nothing_else_moves(
        RandomModule { mut tree } in modules(25),
        picks in prop::collection::vec((any::<u16>(), any::<bool>()), 0..12),
    ) {
        repeat(&mut tree, &picks);
        let root = tree.root();
        prop_assert_eq!(lint_all(&tree, root), Ok(()));
        let (before, returned, mut again) = (order(&tree), meaning(&tree).0, tree.clone());
        let found = find_common_subexpressions(&tree, root, CseOptions::default()).unwrap();
        let pairs = eliminate_common_subexpressions(&mut tree, root, CseOptions::default()).unwrap();
        prop_assert_eq!(&pairs, &found);
        prop_assert_eq!(lint_all(&tree, root), Ok(()));
        prop_assert_eq!(meaning(&tree).0, returned);
        // Each pair in the order of the graph, the one that stays first.
        let place = |node: NodeId| before.iter().position(|&it| it == node);
        prop_assert!(pairs.iter().all(|&(gone, kept)| place(kept) < place(gone)));
        prop_assert!(pairs.windows(2).all(|two| place(two[0].0) < place(two[1].0)));
        // What is left stands as it stood.
        let left: Vec<NodeId> = before.iter().copied().filter(|node| pairs.iter().all(|(gone, _)| gone != node)).collect();
        prop_assert_eq!(order(&tree), left);
        // Twice is once, and what is done first to what is read twice makes no difference.
        let once = listing(&tree);
        prop_assert_eq!(eliminate_common_subexpressions(&mut tree, root, CseOptions::default()).unwrap(), vec![]);
        prop_assert_eq!(deduplicate_get_attr(&mut tree, root).unwrap(), vec![]);
        prop_assert_eq!(listing(&tree), once);
        let copy = again.clone();
        deduplicate_get_attr(&mut again, root).unwrap();
        eliminate_common_subexpressions(&mut again, root, CseOptions::default()).unwrap();
        prop_assert_eq!(order(&again), order(&tree));
        prop_assert_eq!(code(&again, root).unwrap(), code(&tree, root).unwrap());
        // A copy of the module gives the same, whatever its nodes are numbered.
        let mut copy = copy.clone_subtree(root).unwrap();
        let other = copy.root();
        eliminate_common_subexpressions(&mut copy, other, CseOptions::default()).unwrap();
        prop_assert_eq!(code(&copy, other).unwrap(), code(&tree, root).unwrap());
    }

    #[test]
    fn twins_that_nothing_parts_are_gone(
        RandomModule { mut tree } in modules(25),
        picks in prop::collection::vec((any::<u16>(), any::<bool>()), 1..12),
    ) {
        let root = tree.root();
        // Where nothing writes, every copy goes again.
        let graph = tree.graph_mut(root).unwrap();
        for node in graph.nodes_of(Op::CallMethod).collect::<Vec<_>>() {
            if graph.target(node) == "mul_" {
                graph.set_target(node, "mul").unwrap();
            }
        }
        tree.set_attribute(root, "act.inplace", Attribute::Value(Argument::Bool(false))).unwrap();
        let all = |tree: &mut ModuleTree| {
            eliminate_common_subexpressions(tree, root, CseOptions::default()).unwrap();
            tree.graph(root).unwrap().len()
        };
        let mut repeated = tree.clone();
        repeat(&mut repeated, &picks);
        prop_assert_eq!(all(&mut repeated), all(&mut tree));
        prop_assert_eq!(meaning(&repeated), meaning(&tree));
    }
}
