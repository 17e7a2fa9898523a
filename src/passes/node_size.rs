//! How many bytes a node takes: torch's `get_size_of_node` and `get_size_of_all_nodes`.

use crate::ir::tensor::ViewKey;
use crate::ir::tensor_meta::{self, nbytes, numel};
use crate::ir::{
    Attribute, Dim, Error, ErrorKind, Graph, Member, ModuleId, ModuleTree, NodeId, Op, Result, Tensor, TensorKind,
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

/// What is counted, and how.
#[derive(Clone, Copy, Default)]
pub struct SizeOptions<'a> {
    /// In which dtype elements are counted.
    pub element_size: ElementSize,
    /// Whether a parameter that several of the nodes asked about have counts at the first of them only;
    /// otherwise at each, as in torch.
    pub shared_once: bool,
    /// What a symbolic size is, by its spelling. What it does not know, and all when there is none, is an
    /// error.
    pub symbol: Option<SymbolSizes<'a>>,
}

/// Says what a symbolic size is, if it knows.
pub type SymbolSizes<'a> = &'a dyn Fn(&str) -> Option<i64>;

impl From<ElementSize> for SizeOptions<'_> {
    fn from(element_size: ElementSize) -> Self {
        SizeOptions { element_size, ..Default::default() }
    }
}

/// The bytes of one node. A node of which it is not known what it yields is
/// [`ErrorKind::NotFound`]; one with symbolic sizes of which nothing is known is
/// [`ErrorKind::Unsupported`].
pub fn get_size_of_node<'a>(
    tree: &ModuleTree,
    module: ModuleId,
    node: NodeId,
    options: impl Into<SizeOptions<'a>>,
) -> Result<NodeSize> {
    tree.graph(module)?.get(node)?;
    Sizes::new(tree, module, options.into())?.size_of(node)
}

/// The bytes of every node but the output, in graph order.
pub fn get_size_of_all_nodes<'a>(
    tree: &ModuleTree,
    module: ModuleId,
    options: impl Into<SizeOptions<'a>>,
) -> Result<Vec<(NodeId, NodeSize)>> {
    let mut sizes = Sizes::new(tree, module, options.into())?;
    let nodes = sizes.graph.nodes().filter(|&node| sizes.graph[node].op() != Op::Output);
    nodes.collect::<Vec<_>>().into_iter().map(|node| Ok((node, sizes.size_of(node)?))).collect()
}

struct Sizes<'t, 'a> {
    tree: &'t ModuleTree,
    module: ModuleId,
    graph: &'t Graph,
    options: SizeOptions<'a>,
    parameters: FxHashMap<ModuleId, Arc<[&'t Arc<Tensor>]>>,
    /// The parameters that nodes before had, where each counts once.
    counted: FxHashSet<ViewKey<'t>>,
}

impl<'t, 'a> Sizes<'t, 'a> {
    fn new(tree: &'t ModuleTree, module: ModuleId, options: SizeOptions<'a>) -> Result<Self> {
        let graph = tree.graph(module)?;
        Ok(Sizes { tree, module, graph, options, parameters: FxHashMap::default(), counted: FxHashSet::default() })
    }

    fn size_of(&mut self, node: NodeId) -> Result<NodeSize> {
        let outputs = self.outputs(node)?;
        let of_output = match self.options.element_size {
            ElementSize::Own => None,
            ElementSize::OfOutput => outputs.first().map(|meta| meta.dtype.element_size() as u64),
        };
        let output_bytes = self.sum(node, outputs.iter().copied(), false, None)?;
        let parameters = self.parameters(node)?;
        let new: Vec<&TensorMeta> = match self.options.shared_once {
            true => {
                let counted = &mut self.counted;
                let new = parameters.iter().filter(|tensor| counted.insert(tensor.view_key()));
                new.map(|tensor| tensor.meta()).collect()
            }
            false => parameters.iter().map(|tensor| tensor.meta()).collect(),
        };
        let parameter_bytes = self.sum(node, new.into_iter(), true, of_output)?;
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
    fn parameters(&mut self, node: NodeId) -> Result<Arc<[&'t Arc<Tensor>]>> {
        if self.graph[node].op() != Op::CallModule {
            return Ok(Arc::default());
        }
        let Some(Member::Module(called)) = self.tree.resolve(self.module, self.graph.target(node)) else {
            return Err(self.refuse(ErrorKind::NotFound, node, "it calls what is no module"));
        };
        if let Some(known) = self.parameters.get(&called) {
            return Ok(known.clone());
        }
        let mut seen = FxHashSet::default();
        let mut parameters = Vec::new();
        for below in self.tree.modules_below(called) {
            for attribute in self.tree.get(below)?.attributes().values() {
                if let Attribute::Tensor(TensorKind::Parameter, tensor) = attribute {
                    if seen.insert(tensor.view_key()) {
                        parameters.push(tensor);
                    }
                }
            }
        }
        let parameters: Arc<[&Arc<Tensor>]> = parameters.into();
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
            let element = match (self.options.element_size, element) {
                (ElementSize::Own, _) => None,
                (ElementSize::OfOutput, Some(element)) => Some(element),
                (ElementSize::OfOutput, None) => Some(meta.dtype.element_size() as u64),
            };
            let sizes = self.sizes(meta).map_err(|symbol| {
                let what = if are_parameters { "a parameter has symbolic sizes" } else { "its sizes are symbolic" };
                self.refuse(ErrorKind::Unsupported, node, &format!("{what}: {symbol}"))
            })?;
            let more = match element {
                None => nbytes(meta.dtype, &sizes),
                Some(element) => numel(&sizes).map(|count| count.saturating_mul(element)),
            };
            let more = more.map_err(|error| self.refuse(error.kind, node, &error.message))?;
            bytes = bytes.checked_add(more).filter(|&sum| sum < u64::MAX).ok_or_else(|| self.too_large(node))?;
        }
        Ok(bytes)
    }

    /// The sizes as numbers; the error is the symbol that is not known.
    fn sizes<'m>(&self, meta: &'m TensorMeta) -> std::result::Result<tensor_meta::Sizes, &'m str> {
        let size = |dim: &'m Dim| match dim {
            Dim::Int(size) => Ok(*size),
            Dim::Sym(symbol) => self.options.symbol.and_then(|known| known(symbol)).ok_or(&**symbol),
        };
        meta.shape.iter().map(size).collect()
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
    use crate::ir::{Argument, Dtype, Kwargs, NewModule, Value};

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
    fn a_shared_parameter_counts_once_when_asked() {
        let (mut tree, [x, call, table]) = net(Value::Tensor(meta(Dtype::Float32, &[2, 4])));
        let root = tree.root();
        // Another module with the same weight, as an object and as a view of the same bytes, and one of its own.
        let storage = Arc::new(vec![0u8; 8]);
        let view = || Arc::new(Tensor::new(meta(Dtype::Int8, &[8]), storage.clone(), 0).unwrap());
        let Ok(Attribute::Tensor(_, weight)) = tree.attribute(root, "fc.weight").cloned() else { panic!() };
        tree.set_attribute(root, "fc.view", Attribute::Tensor(TensorKind::Parameter, view())).unwrap();
        tree.add_module(root, "two", "torch.nn.modules.linear.Linear", NewModule::Leaf).unwrap();
        for (name, tensor) in [("weight", weight), ("view", view()), ("own", tensor(Dtype::Int8, &[3]))] {
            tree.set_attribute(root, &format!("two.{name}"), Attribute::Tensor(TensorKind::Parameter, tensor)).unwrap();
        }
        let graph = tree.graph_mut(root).unwrap();
        let two = graph.call_module("two", [Argument::Node(call)].as_slice(), Kwargs::new()).unwrap();
        let value = graph[call].value().cloned();
        graph.set_value(two, value.clone()).unwrap();
        graph.set_value(x, value).unwrap();
        let all = |shared_once| {
            let options = SizeOptions { shared_once, ..Default::default() };
            let all = get_size_of_all_nodes(&tree, root, options).unwrap();
            let mut sizes: Vec<_> = all.into_iter().map(|(node, size)| (node, size.total_bytes)).collect();
            sizes.sort_by_key(|(node, _)| [x, call, table, two].iter().position(|known| known == node));
            sizes.into_iter().map(|(_, size)| size).collect::<Vec<_>>()
        };
        assert_eq!(all(false), [32, 32 + 24 + 32 + 8, 25, 32 + 24 + 8 + 3]);
        assert_eq!(all(true), [32, 32 + 24 + 32 + 8, 25, 32 + 3]);
    }

    #[test]
    fn symbolic_sizes_are_what_the_caller_says() {
        let symbolic = TensorMeta::new(Dtype::Float32, [Dim::Sym("s0".into()), Dim::Int(2), Dim::Sym("2*s0".into())]);
        let (tree, [_, call, _]) =
            net(Value::Tuple(vec![Value::Tensor(symbolic), Value::Tensor(meta(Dtype::Quint8, &[5]))]));
        let known = |symbol: &str| match symbol {
            "s0" => Some(3),
            "2*s0" => Some(6),
            _ => None,
        };
        let options = |symbol| SizeOptions { symbol: Some(symbol), ..Default::default() };
        let size = get_size_of_node(&tree, tree.root(), call, options(&known)).unwrap();
        assert_eq!(size.output_bytes, 3 * 2 * 6 * 4 + 5);
        let unknown = |symbol: &str| (symbol == "s0").then_some(3);
        let error = get_size_of_node(&tree, tree.root(), call, options(&unknown)).unwrap_err();
        assert_eq!((error.kind, error.node), (ErrorKind::Unsupported, Some(call)));
        assert!(error.message.ends_with("its sizes are symbolic: 2*s0"), "{error}");
        let negative = |_: &str| Some(-1);
        assert_eq!(
            get_size_of_node(&tree, tree.root(), call, options(&negative)).unwrap_err().kind,
            ErrorKind::InvalidArgument
        );
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
