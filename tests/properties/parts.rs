//! Parts of random modules, as patterns that stand in them for sure.

use crate::random_graph::picked;
use fxir::ir::{Args, Argument, Graph, Kwargs, ModuleTree, NodeId, Op};
use fxir::passes::fuse::{fuse_as_graphmodule, FuseOptions};

/// A part of a module as a module of its own, and its nodes: the first pick, nodes that it uses or that
/// use it, and all that lies between; none where nothing can be picked or nothing uses the part.
pub fn part(tree: &ModuleTree, picks: &[u16]) -> Option<(ModuleTree, Vec<NodeId>)> {
    let graph = tree.graph(tree.root()).unwrap();
    let mut nodes = picked(tree, &picks[..1]);
    for &pick in &picks[1..] {
        let is_inner = |node: &NodeId| !matches!(graph[*node].op(), Op::Placeholder | Op::Output);
        let near = nodes.iter().flat_map(|&node| graph.input_nodes(node).chain(graph.users(node)));
        let near: Vec<NodeId> = near.filter(|node| is_inner(node) && !nodes.contains(node)).collect();
        nodes.extend(near.get(pick as usize % near.len().max(1)));
    }
    let nodes = with_all_between(graph, &nodes);
    let mut copy = tree.clone();
    let root = copy.root();
    let fused = fuse_as_graphmodule(&mut copy, root, &nodes, "part", &FuseOptions::default()).ok()?;
    Some((copy.clone_subtree(fused.module).unwrap(), nodes))
}

/// The nodes, and those that need one of them and are needed by one.
fn with_all_between(graph: &Graph, nodes: &[NodeId]) -> Vec<NodeId> {
    let order: Vec<NodeId> = graph.nodes().collect();
    let (mut after, mut before) = (nodes.to_vec(), nodes.to_vec());
    for &node in &order {
        if graph.input_nodes(node).any(|input| after.contains(&input)) {
            after.push(node);
        }
    }
    for &node in order.iter().rev() {
        if graph.users(node).any(|user| before.contains(&user)) {
            before.push(node);
        }
    }
    order.into_iter().filter(|node| after.contains(node) && before.contains(node)).collect()
}

/// What takes the inputs of a part and returns as much, by operations that stand nowhere else.
pub fn stand_in(part: &ModuleTree, in_steps: bool) -> ModuleTree {
    let graph = part.graph(part.root()).unwrap();
    let mut tree = ModuleTree::new("StandIn");
    let root = tree.root();
    let new = tree.graph_mut(root).unwrap();
    let call = |new: &mut Graph, target: &str, argument: Argument, number: usize| {
        let args = Args::from_iter([argument, Argument::Int(number as i64)]);
        Argument::Node(new.call_function(target, args, Kwargs::new()).unwrap())
    };
    let mut inputs: Vec<Argument> =
        graph.placeholders().map(|input| Argument::Node(new.placeholder(graph.name(input)).unwrap())).collect();
    if in_steps {
        inputs = inputs.into_iter().enumerate().map(|(index, input)| call(new, "mine.take", input, index)).collect();
    }
    let core = call(new, "mine.core", Argument::List(inputs.into()), 0);
    let count = graph.input_nodes(graph.output_node().unwrap()).count();
    let returned: Vec<Argument> = match count {
        1 => vec![core],
        _ => (0..count).map(|index| call(new, "mine.give", core.clone(), index)).collect(),
    };
    new.output(Argument::Tuple(returned.into())).unwrap();
    tree
}
