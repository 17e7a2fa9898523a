//! How many bytes a node takes: torch's `get_size_of_node` and `get_size_of_all_nodes`.

use crate::ir::{
    Attribute, Error, ErrorKind, Graph, Member, ModuleId, ModuleTree, NodeId, Op, Result, Tensor, TensorKind,
    TensorMeta,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// In which dtype elements are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ElementSize {
    /// Each tensor in its own, kinds below a byte packed.
    #[default]
    Own,
    /// As torch.fx does it: parameters as if they had the dtype of the node's output, and every
    /// element whole bytes.
    OfOutput,
}

/// What a node takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeSize {
    /// The bytes of what it yields, all tensors of a tuple or list together.
    pub output_bytes: u64,
    /// The same and the parameters of the module that it calls.
    pub total_bytes: u64,
}

/// The bytes of one node. A node of which it is not known what it yields is
/// [`ErrorKind::NotFound`]; one with symbolic sizes is [`ErrorKind::Unsupported`].
pub fn get_size_of_node(tree: &ModuleTree, module: ModuleId, node: NodeId, by: ElementSize) -> Result<NodeSize> {
    tree.graph(module)?.get(node)?;
    Sizes::new(tree, module, by)?.size_of(node)
}

/// The bytes of every node but the output, in graph order.
pub fn get_size_of_all_nodes(tree: &ModuleTree, module: ModuleId, by: ElementSize) -> Result<Vec<(NodeId, NodeSize)>> {
    let mut sizes = Sizes::new(tree, module, by)?;
    let nodes = sizes.graph.nodes().filter(|&node| sizes.graph[node].op() != Op::Output);
    nodes.collect::<Vec<_>>().into_iter().map(|node| Ok((node, sizes.size_of(node)?))).collect()
}

struct Sizes<'t> {
    tree: &'t ModuleTree,
    module: ModuleId,
    graph: &'t Graph,
    by: ElementSize,
    parameters: FxHashMap<ModuleId, Vec<&'t TensorMeta>>,
}

impl<'t> Sizes<'t> {
    fn new(tree: &'t ModuleTree, module: ModuleId, by: ElementSize) -> Result<Self> {
        Ok(Sizes { tree, module, graph: tree.graph(module)?, by, parameters: FxHashMap::default() })
    }

    fn size_of(&mut self, node: NodeId) -> Result<NodeSize> {
        let outputs = self.outputs(node)?;
        let of_output = match self.by {
            ElementSize::Own => None,
            ElementSize::OfOutput => outputs.first().map(|meta| meta.dtype.element_size() as u64),
        };
        let output_bytes = self.sum(node, outputs.iter().copied(), false, None)?;
        let parameters = self.parameters(node)?;
        let parameter_bytes = self.sum(node, parameters.into_iter(), true, of_output)?;
        let total_bytes = output_bytes.checked_add(parameter_bytes).ok_or_else(|| self.too_large(node))?;
        Ok(NodeSize { output_bytes, total_bytes })
    }

    /// The tensors that a node yields. A get_attr yields what it names, told or not.
    fn outputs(&self, node: NodeId) -> Result<Vec<&'t TensorMeta>> {
        let found = &self.graph[node];
        if let Some(value) = found.value() {
            return Ok(value.tensors().collect());
        }
        if found.op() == Op::GetAttr {
            if let Some(Member::Attribute(Attribute::Tensor(_, tensor))) =
                self.tree.resolve(self.module, self.graph.target(node))
            {
                return Ok(vec![tensor.meta()]);
            }
        }
        let what = "it is not known what it yields: its metadata has no shapes";
        Err(self.refuse(ErrorKind::NotFound, node, what))
    }

    /// The parameters of the module that a node calls, each once however many names it has.
    fn parameters(&mut self, node: NodeId) -> Result<Vec<&'t TensorMeta>> {
        if self.graph[node].op() != Op::CallModule {
            return Ok(Vec::new());
        }
        let Some(Member::Module(called)) = self.tree.resolve(self.module, self.graph.target(node)) else {
            return Err(self.refuse(ErrorKind::NotFound, node, "it calls what is no module"));
        };
        if let Some(known) = self.parameters.get(&called) {
            return Ok(known.clone());
        }
        let mut seen: FxHashSet<*const Tensor> = FxHashSet::default();
        let mut parameters = Vec::new();
        for below in self.tree.modules_below(called) {
            for attribute in self.tree.get(below)?.attributes().values() {
                if let Attribute::Tensor(TensorKind::Parameter, tensor) = attribute {
                    if seen.insert(Arc::as_ptr(tensor)) {
                        parameters.push(tensor.meta());
                    }
                }
            }
        }
        self.parameters.insert(called, parameters.clone());
        Ok(parameters)
    }

    /// The bytes of tensors; `element` is what to take for the bytes of an element.
    fn sum<'m>(
        &self,
        node: NodeId,
        tensors: impl Iterator<Item = &'m TensorMeta>,
        are_parameters: bool,
        element: Option<u64>,
    ) -> Result<u64> {
        let mut bytes: u64 = 0;
        for meta in tensors {
            let element = match (self.by, element) {
                (ElementSize::Own, _) => None,
                (ElementSize::OfOutput, Some(element)) => Some(element),
                (ElementSize::OfOutput, None) => Some(meta.dtype.element_size() as u64),
            };
            let known = match element {
                None => meta.nbytes(),
                Some(element) => meta.numel().map(|count| count.map(|count| u64::saturating_mul(count, element))),
            };
            let more = known.map_err(|error| self.refuse(error.kind, node, &error.message))?.ok_or_else(|| {
                let what = if are_parameters { "a parameter has symbolic sizes" } else { "its sizes are symbolic" };
                self.refuse(ErrorKind::Unsupported, node, what)
            })?;
            bytes = bytes.checked_add(more).filter(|&sum| sum < u64::MAX).ok_or_else(|| self.too_large(node))?;
        }
        Ok(bytes)
    }

    fn too_large(&self, node: NodeId) -> Error {
        self.refuse(ErrorKind::InvalidArgument, node, "its bytes are more than 64 bits count")
    }

    fn refuse(&self, kind: ErrorKind, node: NodeId, what: &str) -> Error {
        let (name, op, target) = (self.graph.name(node), self.graph[node].op().name(), self.graph.target(node));
        Error::new(kind, format!("node {name} ({op} {target}): {what}")).at_node(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Argument, Dim, Dtype, Kwargs, NewModule, Value};

    fn meta(dtype: Dtype, shape: &[i64]) -> TensorMeta {
        TensorMeta::new(dtype, shape.iter().copied())
    }

    fn tensor(dtype: Dtype, shape: &[i64]) -> Arc<Tensor> {
        Arc::new(Tensor::without_bytes(meta(dtype, shape)).unwrap())
    }

    /// `x`, a call of `fc` on it, and a get_attr of `table`; only `fc` is told.
    fn net(output: Value) -> (ModuleTree, [NodeId; 3]) {
        let mut tree = ModuleTree::new("Net");
        let root = tree.root();
        let fc = tree.add_module(root, "fc", "torch.nn.modules.linear.Linear", NewModule::Leaf).unwrap();
        let weight = tensor(Dtype::Float16, &[4, 3]);
        for (name, kind, tensor) in [
            ("weight", TensorKind::Parameter, weight.clone()),
            ("tied", TensorKind::Parameter, weight),
            ("bias", TensorKind::Parameter, tensor(Dtype::Float64, &[4])),
            ("steps", TensorKind::Buffer, tensor(Dtype::Int64, &[100])),
        ] {
            tree.set_attribute(fc, name, Attribute::Tensor(kind, tensor)).unwrap();
        }
        let table = Attribute::Tensor(TensorKind::Buffer, tensor(Dtype::Int8, &[5, 5]));
        tree.set_attribute(root, "table", table).unwrap();
        let graph = tree.graph_mut(root).unwrap();
        let x = graph.placeholder("x").unwrap();
        let call = graph.call_module("fc", [Argument::Node(x)].as_slice(), Kwargs::new()).unwrap();
        let table = graph.get_attr("table").unwrap();
        graph.output(Argument::Node(call)).unwrap();
        graph.set_value(call, Some(Arc::new(output))).unwrap();
        (tree, [x, call, table])
    }

    fn size(tree: &ModuleTree, node: NodeId, by: ElementSize) -> Result<(u64, u64)> {
        get_size_of_node(tree, tree.root(), node, by).map(|size| (size.output_bytes, size.total_bytes))
    }

    #[test]
    fn output_and_parameters_each_in_its_own_dtype_or_in_the_output_s() {
        let (tree, [_, call, table]) = net(Value::Tensor(meta(Dtype::Float32, &[2, 4])));
        // Twelve halves and four doubles; the tied name and the buffer do not count.
        assert_eq!(size(&tree, call, ElementSize::Own), Ok((32, 32 + 24 + 32)));
        assert_eq!(size(&tree, call, ElementSize::OfOutput), Ok((32, 32 + (12 + 4) * 4)));
        assert_eq!(size(&tree, table, ElementSize::Own), Ok((25, 25)));
    }

    #[test]
    fn tuples_sum_up_and_small_kinds_are_packed() {
        let parts = vec![
            Value::Tensor(meta(Dtype::Quint4x2, &[3, 5])),
            Value::List(vec![Value::Tensor(meta(Dtype::Bool, &[7])), Value::None]),
        ];
        let (tree, [_, call, _]) = net(Value::Tuple(parts));
        assert_eq!(size(&tree, call, ElementSize::Own), Ok((9 + 7, 9 + 7 + 24 + 32)));
        assert_eq!(size(&tree, call, ElementSize::OfOutput), Ok((15 + 7, 15 + 7 + 16)));
    }

    #[test]
    fn what_cannot_be_told_is_an_error_at_its_node() {
        let symbolic = TensorMeta::new(Dtype::Float32, [Dim::Sym("s0".into()), Dim::Int(2)]);
        let huge = Value::Tensor(meta(Dtype::Int8, &[i64::MAX]));
        for (value, kind) in [
            (Value::Tensor(symbolic), ErrorKind::Unsupported),
            (Value::Tensor(meta(Dtype::Float32, &[i64::MAX])), ErrorKind::InvalidArgument),
            (Value::Tuple(vec![huge.clone(), huge.clone(), huge]), ErrorKind::InvalidArgument),
        ] {
            let (tree, [_, call, _]) = net(value);
            for by in [ElementSize::Own, ElementSize::OfOutput] {
                let error = size(&tree, call, by).unwrap_err();
                assert_eq!((error.kind, error.node), (kind, Some(call)));
                assert!(error.message.contains("fc"), "{error}");
            }
        }
        let (mut tree, [x, call, table]) = net(Value::Tensor(meta(Dtype::Float32, &[2, 4])));
        let root = tree.root();
        let error = get_size_of_all_nodes(&tree, root, ElementSize::Own).unwrap_err();
        assert_eq!((error.kind, error.node), (ErrorKind::NotFound, Some(x)));
        let told = Some(Arc::new(Value::Tensor(meta(Dtype::Float32, &[2, 3]))));
        tree.graph_mut(root).unwrap().set_value(x, told).unwrap();
        let all = get_size_of_all_nodes(&tree, root, ElementSize::Own).unwrap();
        assert_eq!(
            all.iter().map(|(node, size)| (*node, size.output_bytes)).collect::<Vec<_>>(),
            [(x, 24), (call, 32), (table, 25)]
        );
    }
}
