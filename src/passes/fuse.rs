//! A set of nodes becomes a submodule in one call: torch's `fuse_as_graphmodule`, `insert_subgm`
//! and `erase_nodes`, as `fuse_by_partitions` calls them.

use super::in_order::in_order;
use super::insert::{free_path, insert_call, TakenName};
use super::legalize::legalize;
use super::lift::lift_members;
use super::partition::Partition;
use crate::ir::{Argument, At, CopyNames, Error, ErrorKind, Graph, ModuleId, ModuleTree, NodeId, Result};
use rustc_hash::FxHashSet;

/// The order of the inputs of a fused region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InputOrder {
    /// In which the region's nodes first use them, as torch.fx does it.
    #[default]
    FirstUse,
    /// In which they stand in the graph.
    Graph,
}

/// How nodes are fused.
#[derive(Debug, Clone, Default)]
pub struct FuseOptions {
    /// The order of the inputs.
    pub inputs: InputOrder,
    /// A single output is returned in a tuple too, and taken out of it by a getitem.
    pub always_return_tuple: bool,
    /// What happens when the name is taken.
    pub taken: TakenName,
    /// The type name of the new module; its own name when there is none, as in torch.
    pub class_name: Option<String>,
}

/// What became of the nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fused {
    /// The new submodule. Its nodes have the names of those they were copied from.
    pub module: ModuleId,
    /// Its path, which is the call's target.
    pub name: String,
    /// The node that calls it.
    pub call: NodeId,
    /// What the call is given.
    pub inputs: Vec<NodeId>,
    /// What stands for the nodes that others use, in their order: the call itself, or the nodes
    /// that take its items.
    pub outputs: Vec<NodeId>,
}

/// Moves nodes into a graph module of their own, called `name`, and puts one call of it in their
/// place. Inputs are the nodes outside that are used inside; outputs are the nodes inside that are
/// used outside, in graph order. The members that the nodes name are copied along, tensors shared.
///
/// Refused are sets that hold a placeholder or the output, that nothing outside uses, and those
/// which a path leaves and enters again: as one node they would be on a cycle.
pub fn fuse_as_graphmodule(
    tree: &mut ModuleTree,
    module: ModuleId,
    nodes: &[NodeId],
    name: &str,
    options: &FuseOptions,
) -> Result<Fused> {
    let graph = tree.graph(module)?;
    if nodes.is_empty() {
        return Err(Error::new(ErrorKind::InvalidArgument, "there are no nodes to fuse"));
    }
    let partition = Partition::new(graph, nodes)?;
    partition.check_movable(graph)?;
    if let Some(between) = partition.node_between(graph) {
        let between_name = graph.name(between);
        let message = format!("the nodes cannot become one: a path leaves them and comes back through {between_name}");
        return Err(Error::new(ErrorKind::InvalidArgument, message).at_node(between));
    }
    in_order(tree, module, |tree| fuse(tree, module, partition, name, options))
}

fn fuse(
    tree: &mut ModuleTree,
    module: ModuleId,
    partition: Partition,
    name: &str,
    options: &FuseOptions,
) -> Result<Fused> {
    let graph = tree.graph(module)?;
    let region = Region::new(graph, &partition, options.inputs)?;
    let path = free_path(tree, module, name, options.taken)?;
    let own_name = path.rsplit_once('.').map_or(path.as_str(), |(_, last)| last);
    let class_name = options.class_name.as_deref().unwrap_or(own_name);
    let as_tuple = region.outputs.len() > 1 || options.always_return_tuple;

    let mut lifted = ModuleTree::with_symbols(tree.symbols().clone(), class_name);
    lift_members(tree, module, graph, region.nodes.iter().copied(), &mut lifted)?;
    lifted.set_graph(lifted.root(), region.copy(graph, as_tuple)?)?;

    let outside = |user| !partition.holds(user);
    let Region { nodes, inputs, outputs } = region;
    let inserted = insert_call(tree, module, lifted.into_fragment(), path, &inputs, &outputs, as_tuple, outside)?;
    let graph = tree.graph_mut(module)?;
    graph.erase_unused(nodes.iter().copied())?;
    legalize(graph)?;
    Ok(Fused { module: inserted.module, name: inserted.name, call: inserted.call, inputs, outputs: inserted.outputs })
}

/// A set of nodes of a graph in order, with what goes in and what comes out.
struct Region {
    nodes: Vec<NodeId>,
    inputs: Vec<NodeId>,
    outputs: Vec<NodeId>,
}

impl Region {
    fn new(graph: &Graph, partition: &Partition, order: InputOrder) -> Result<Self> {
        let by_order = |a: &NodeId, b: &NodeId| graph.is_before(*b, *a).cmp(&graph.is_before(*a, *b));
        let mut nodes = partition.nodes.clone();
        nodes.sort_unstable_by(by_order);
        let mut seen = vec![false; graph.slot_count()];
        let used = nodes.iter().flat_map(|&node| graph.input_nodes(node));
        let mut inputs: Vec<NodeId> = used
            .filter(|&input| !partition.holds(input) && !std::mem::replace(&mut seen[input.slot()], true))
            .collect();
        if order == InputOrder::Graph {
            inputs.sort_unstable_by(by_order);
        }
        let used_outside = |&node: &NodeId| graph.users(node).any(|user| !partition.holds(user));
        let outputs: Vec<NodeId> = nodes.iter().copied().filter(used_outside).collect();
        match nodes.first() {
            Some(&node) if outputs.is_empty() => {
                let message =
                    format!("nothing outside uses the nodes that are to be fused, {} among them", graph.name(node));
                Err(Error::new(ErrorKind::InvalidArgument, message).at_node(node))
            }
            _ => Ok(Region { nodes, inputs, outputs }),
        }
    }

    /// The region as a graph of its own.
    fn copy(&self, graph: &Graph, as_tuple: bool) -> Result<Graph> {
        let mut copy = Graph::new(graph.symbols().clone());
        copy.signature.wrap_also(&graph.signature);
        let mut stands_for: Vec<Option<NodeId>> = vec![None; graph.slot_count()];
        for &input in &self.inputs {
            let found = &graph[input];
            let placeholder = copy.placeholder(found.name().text(graph.symbols()))?;
            copy.set_all_meta(placeholder, found.meta().clone())?;
            if let Some(annotation) = found.type_annotation() {
                copy.set_annotation_symbol(placeholder, annotation)?;
            }
            stands_for[input.slot()] = Some(placeholder);
        }
        let find = |stands_for: &[Option<NodeId>], node: NodeId| match stands_for.get(node.slot()).copied().flatten() {
            Some(copy) => Ok(Argument::Node(copy)),
            None => Err(Error::new(ErrorKind::Lint, "a node is used before its definition").at_node(node)),
        };
        for &node in &self.nodes {
            let new =
                copy.node_copy(At::Default, graph, node, CopyNames::Unique, &mut |input| find(&stands_for, input))?;
            stands_for[node.slot()] = Some(new);
        }
        let mut returned = self.outputs.iter().map(|&node| find(&stands_for, node)).collect::<Result<Vec<_>>>()?;
        match returned.pop() {
            Some(only) if !as_tuple => copy.output(only)?,
            last => {
                returned.extend(last);
                copy.output(Argument::Tuple(returned.into()))?
            }
        };
        if !graph.signature.wrapped.is_empty() {
            let called: FxHashSet<&str> = self.nodes.iter().map(|&node| graph.target(node)).collect();
            let wrapped = graph.signature.wrapped.iter().filter(|name| called.contains(name.as_str()));
            copy.signature.wrapped = wrapped.cloned().collect();
        }
        Ok(copy)
    }
}

#[cfg(test)]
#[path = "fuse_tests.rs"]
mod tests;
