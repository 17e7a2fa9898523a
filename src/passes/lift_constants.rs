//! Tensors that a graph makes of literals become members of its module.

use super::constant_value::constant_value;
use super::memory::{Effect, Memory};
use crate::ir::{
    Args, Attribute, Dim, Error, ErrorKind, Graph, Kwargs, ModuleId, ModuleTree, NodeId, Op, Result, Tensor,
    TensorKind, Value,
};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// What [`lift_constants`] lifts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiftOptions {
    /// Tensors that take more bytes stay calls.
    pub max_bytes: u64,
}

impl Default for LiftOptions {
    fn default() -> Self {
        LiftOptions { max_bytes: 1 << 20 }
    }
}

/// Makes each call that makes a tensor of literals alone (`torch.tensor`, `zeros`, `ones`, `full`,
/// `arange`, `eye`, `scalar_tensor`, and their operators) a get_attr node of a new constant of the
/// module, `_tensor_constant0` or the next that is free, as torch calls what it makes of tensors that it
/// meets while tracing. Name, users and metadata of the node stay. Returns the nodes.
///
/// A call makes a new tensor each time, a member is one for all: so a call stays when its tensor may be
/// written, or leaves the graph, itself or with what may share its memory. It also stays when it asks
/// for gradients, pinned memory, or a device other than the CPU; when its elements are not known to the
/// bit (complex, float16, `arange` of floats); when metadata of the node says something else; and
/// when the graph changes the state of the process, torch's default dtype perhaps. Where nothing says
/// otherwise, that is float32.
pub fn lift_constants(tree: &mut ModuleTree, module: ModuleId, options: LiftOptions) -> Result<Vec<NodeId>> {
    let lifted = find_constants(tree, module, options)?;
    let mut number = 0;
    let mut nodes = Vec::with_capacity(lifted.len());
    for (node, tensor) in lifted {
        let path = free_name(tree, module, &mut number)?;
        tree.set_attribute(module, &path, Attribute::Tensor(TensorKind::Constant, Arc::new(tensor)))?;
        let graph = tree.graph_mut(module)?;
        graph.set_args(node, Args::new())?;
        graph.set_kwargs(node, Kwargs::new())?;
        graph.set_op(node, Op::GetAttr)?;
        graph.set_target(node, &path)?;
        nodes.push(node);
    }
    Ok(nodes)
}

fn find_constants(tree: &ModuleTree, module: ModuleId, options: LiftOptions) -> Result<Vec<(NodeId, Tensor)>> {
    let graph = tree.graph(module)?;
    let found: Vec<(NodeId, Tensor)> = graph
        .nodes_of(Op::CallFunction)
        .filter(|&node| graph.input_count(node) == 0)
        .filter_map(|node| Some((node, constant_value(graph, &graph[node], options.max_bytes)?)))
        .filter(|(node, tensor)| agrees(graph, *node, tensor))
        .collect();
    if found.is_empty() {
        return Ok(found);
    }
    let memory = Memory::of(tree, module, None)?;
    if graph.nodes().any(|node| memory.effect(node) == Effect::World) {
        return Ok(Vec::new());
    }
    let returned = graph.output_node().into_iter().flat_map(|output| graph.input_nodes(output));
    let returned: FxHashSet<u32> = returned.map(|node| memory.group(node)).collect();
    let stays_as_it_is = |node: NodeId| {
        let group = memory.group(node);
        memory.last_write(group) == 0 && !returned.contains(&group)
    };
    Ok(found.into_iter().filter(|(node, _)| stays_as_it_is(*node)).collect())
}

/// Whether what is known of a node may be the tensor.
fn agrees(graph: &Graph, node: NodeId, tensor: &Tensor) -> bool {
    match graph[node].value().map(|value| &**value) {
        None => true,
        Some(Value::Tensor(known)) => {
            let sizes = known.shape.iter().map(Dim::as_int);
            known.dtype == tensor.dtype()
                && sizes.eq(tensor.sizes().unwrap_or_default().iter().map(|&size| Some(size)))
                && known.device.as_deref().is_none_or(|device| device == "cpu")
                && known.requires_grad != Some(true)
                && known.quantization.is_none()
        }
        Some(_) => false,
    }
}

fn free_name(tree: &ModuleTree, module: ModuleId, number: &mut u64) -> Result<String> {
    loop {
        let name = format!("_tensor_constant{number}");
        *number = number.checked_add(1).ok_or_else(|| Error::new(ErrorKind::Limit, "no name is free"))?;
        if tree.resolve(module, &name).is_none() {
            return Ok(name);
        }
    }
}
