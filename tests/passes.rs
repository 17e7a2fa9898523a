//! Passes on random modules: what they make is in order and means the same, and what they refuse
//! stays as it was.

mod random_graph;

use fxir::ir::lint::lint_all;
use fxir::ir::lowering::LoweringAttrs;
use fxir::ir::{Argument, ErrorKind, Kwargs, ModuleTree, NewModule, NodeId, Op};
use fxir::passes::dead_code::eliminate_dead_code;
use fxir::passes::fuse::{fuse_as_graphmodule, FuseOptions, InputOrder};
use fxir::passes::insert::{insert_subgm, TakenName};
use fxir::passes::lift::lift_subgraph_as_module;
use fxir::passes::lowering_attrs::lift_lowering_attrs_to_nodes;
use fxir::passes::node_size::{get_size_of_all_nodes, get_size_of_node, ElementSize};
use fxir::passes::partition::validate_partition;
use fxir::passes::purity::Purity;
use fxir::passes::replace_target::replace_target_nodes_with;
use proptest::prelude::*;
use random_graph::listing::listing;
use random_graph::meaning::meaning;
use random_graph::{modules, picked, RandomModule};

/// Which nodes need a node of the set and are not in it, and which the set needs: by definition.
fn comes_back(tree: &ModuleTree, nodes: &[NodeId]) -> bool {
    let graph = tree.graph(tree.root()).unwrap();
    let mut after = vec![false; graph.slot_count()];
    let mut back = false;
    for node in graph.nodes() {
        let inside = nodes.contains(&node);
        let outside_after = graph.input_nodes(node).any(|input| after[input.slot()] && !nodes.contains(&input));
        back |= inside && outside_after;
        after[node.slot()] = outside_after || graph.input_nodes(node).any(|input| nodes.contains(&input));
    }
    back
}

fn fuse_options() -> impl Strategy<Value = FuseOptions> {
    (any::<bool>(), any::<bool>()).prop_map(|(by_graph, always_return_tuple)| FuseOptions {
        inputs: if by_graph { InputOrder::Graph } else { InputOrder::FirstUse },
        always_return_tuple,
        ..FuseOptions::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn random_modules_are_in_order(RandomModule { tree } in modules(40)) {
        prop_assert_eq!(lint_all(&tree, tree.root()), Ok(()));
    }

    #[test]
    fn fused_modules_mean_the_same(
        RandomModule { mut tree } in modules(40),
        picks in prop::collection::vec(any::<u16>(), 1..8),
        options in fuse_options(),
        fill in any::<bool>(),
    ) {
        let root = tree.root();
        let mut nodes = picked(&tree, &picks);
        if fill {
            // All that lies between the first and the last that were picked is always convex.
            let graph = tree.graph(root).unwrap();
            let all: Vec<NodeId> = graph.nodes().filter(|&n| !matches!(graph[n].op(), Op::Placeholder | Op::Output)).collect();
            let places: Vec<usize> = all.iter().enumerate().filter(|(_, n)| nodes.contains(n)).map(|(at, _)| at).collect();
            nodes = match (places.first(), places.last()) {
                (Some(&first), Some(&last)) => all[first..=last].iter().rev().copied().collect(),
                _ => nodes,
            };
        }
        let before = (listing(&tree), meaning(&tree));
        let graph = tree.graph(root).unwrap();
        let is_used = nodes.iter().any(|&node| graph.users(node).any(|user| !nodes.contains(&user)));
        let back = comes_back(&tree, &nodes);
        prop_assert_eq!(validate_partition(graph, &nodes), Ok(!back));
        match fuse_as_graphmodule(&mut tree, root, &nodes, "block", &options) {
            Ok(fused) => {
                prop_assert!(is_used && !back);
                prop_assert_eq!(lint_all(&tree, root), Ok(()));
                prop_assert_eq!(meaning(&tree), before.1);
                let graph = tree.graph(root).unwrap();
                prop_assert_eq!(fused.name.as_str(), "block_1");
                prop_assert_eq!(graph.input_nodes(fused.call).collect::<Vec<_>>(), fused.inputs.clone());
                prop_assert!(nodes.iter().all(|&node| !graph.contains(node)));
                if options.inputs == InputOrder::Graph {
                    prop_assert!(fused.inputs.windows(2).all(|pair| graph.is_before(pair[0], pair[1])));
                }
                let as_tuple = fused.outputs.len() > 1 || options.always_return_tuple;
                prop_assert_eq!(fused.outputs.contains(&fused.call), !as_tuple);
            }
            Err(error) => {
                prop_assert!(!is_used || back, "{error}");
                prop_assert_eq!(error.kind, ErrorKind::InvalidArgument);
                prop_assert_eq!(error.node.is_some(), !nodes.is_empty());
                prop_assert_eq!(listing(&tree), before.0);
            }
        }
    }

    #[test]
    fn a_submodule_is_inserted_or_refused(
        RandomModule { mut tree } in modules(30),
        inputs in prop::collection::vec(any::<u16>(), 0..4),
        outputs in prop::collection::vec(any::<u16>(), 0..4),
    ) {
        let root = tree.root();
        let (inputs, outputs) = (picked(&tree, &inputs), picked(&tree, &outputs));
        let mut sub = ModuleTree::with_symbols(tree.symbols().clone(), "Sub");
        sub.add_module(sub.root(), "leaf", "Leaf", NewModule::Leaf).unwrap();
        let leaf = sub.copy_out(sub.submodule(sub.root(), "leaf").unwrap(), tree.symbols()).unwrap();
        let before = listing(&tree);
        match insert_subgm(&mut tree, root, leaf, "block", &inputs, &outputs, TakenName::Number) {
            Ok(inserted) => {
                prop_assert_eq!(lint_all(&tree, root), Ok(()));
                let graph = tree.graph(root).unwrap();
                prop_assert_eq!(inserted.outputs.len(), outputs.len());
                for (&old, &new) in outputs.iter().zip(&inserted.outputs) {
                    prop_assert!(graph.users(old).all(|user| user == inserted.call));
                    prop_assert_eq!(graph[old].meta().value.clone(), graph[new].meta().value.clone());
                }
            }
            Err(error) => {
                prop_assert_eq!(error.kind, ErrorKind::InvalidArgument);
                prop_assert!(inputs.contains(&error.node.unwrap()));
                prop_assert_eq!(listing(&tree), before);
            }
        }
    }

    #[test]
    fn dead_code_goes_and_nothing_else(RandomModule { mut tree } in modules(40)) {
        let root = tree.root();
        let (returned, _) = meaning(&tree);
        let before = tree.graph(root).unwrap().len();
        let gone = eliminate_dead_code(&mut tree, root, None).unwrap();
        prop_assert_eq!(lint_all(&tree, root), Ok(()));
        prop_assert_eq!(meaning(&tree).0, returned);
        let graph = tree.graph(root).unwrap();
        prop_assert_eq!(graph.len() + gone, before);
        let mut purity = Purity::new(&tree, Default::default());
        for node in graph.nodes() {
            prop_assert!(graph.user_count(node) > 0 || purity.is_impure(root, node).unwrap());
        }
    }

    #[test]
    fn a_lifted_graph_means_the_same(RandomModule { tree } in modules(40)) {
        let lifted = lift_subgraph_as_module(&tree, tree.root(), tree.graph(tree.root()).unwrap(), "Lifted").unwrap();
        prop_assert_eq!(lint_all(&lifted, lifted.root()), Ok(()));
        prop_assert_eq!(meaning(&lifted), meaning(&tree));
    }

    #[test]
    fn targets_are_replaced_where_they_fit(RandomModule { mut tree } in modules(40), to_module in any::<bool>()) {
        let root = tree.root();
        let (op, target) = if to_module { (Op::CallModule, "act") } else { (Op::CallMethod, "relu") };
        let count = replace_target_nodes_with(&mut tree, root, Op::CallFunction, "torch.relu", op, target).unwrap();
        prop_assert_eq!(lint_all(&tree, root), Ok(()));
        let graph = tree.graph(root).unwrap();
        prop_assert!(graph.nodes().all(|node| graph.target(node) != "torch.relu"));
        prop_assert!(graph.nodes().filter(|&node| graph.target(node) == target).count() >= count);
    }

    #[test]
    fn leaves_and_sizes_are_told(RandomModule { mut tree } in modules(40)) {
        let root = tree.root();
        let graph = tree.graph(root).unwrap();
        let called = graph.nodes().filter(|&n| matches!(graph.target(n), "act" | "layer.0.conv")).count();
        for node in graph.nodes() {
            let is_told = graph[node].value().is_some() || graph[node].op() == Op::GetAttr;
            prop_assert_eq!(get_size_of_node(&tree, root, node, ElementSize::Own).is_ok(), is_told);
        }
        let first_untold = graph.nodes().find(|&node| graph[node].value().is_none() && graph[node].op() != Op::GetAttr);
        prop_assert_eq!(get_size_of_all_nodes(&tree, root, ElementSize::OfOutput).unwrap_err().node, first_untold);
        prop_assert_eq!(lift_lowering_attrs_to_nodes(&mut tree, root, &LoweringAttrs::default(), false), Ok(called));
        prop_assert_eq!(lint_all(&tree, root), Ok(()));
    }
}

/// A region with many outputs that all go into one list, fused in one sweep.
#[test]
fn many_outputs_with_one_user_take_linear_time() {
    const COUNT: usize = 50_000;
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    let graph = tree.graph_mut(root).unwrap();
    let x = graph.placeholder("x").unwrap();
    let mut call =
        |input| graph.call_function("torch.relu", [Argument::Node(input)].as_slice(), Kwargs::new()).unwrap();
    let nodes: Vec<NodeId> = (0..COUNT).map(|_| call(x)).collect();
    graph.output(Argument::List(nodes.iter().map(|&node| Argument::Node(node)).collect())).unwrap();
    let fused = fuse_as_graphmodule(&mut tree, root, &nodes, "fused", &FuseOptions::default()).unwrap();
    assert_eq!((fused.inputs.len(), fused.outputs.len()), (1, COUNT));
    assert_eq!(lint_all(&tree, root), Ok(()));
}
