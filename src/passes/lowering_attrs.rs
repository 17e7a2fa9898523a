//! What a backend needs to know of a leaf module, told at the nodes that call it: torch's
//! `lift_lowering_attrs_to_nodes` and `extract_attrs_for_lowering`.

use crate::ir::lowering::{LeafMember, LoweringAttrs};
use crate::ir::{
    Argument, Attribute, Error, ErrorKind, Graph, Member, ModuleId, ModuleTree, NodeId, Op, Result, Symbols,
};
use rustc_hash::FxHashSet;

/// The key under which a node's meta holds what was lifted.
pub const ATTRS_FOR_LOWERING: &str = "attrs_for_lowering";

/// Tells each node that calls a leaf, here and in the graph modules that are called, what the leaf
/// is: its meta gets a dict `attrs_for_lowering` of the leaf's type (`name`), its settings as they
/// are, and its tensors by their path from the module whose node it is. Returns how many nodes.
///
/// Of the types that have a list in `known`, just the attributes in it are told. Of others all are,
/// unless `strict`: then, as in torch, an unknown type is an error, and so is a known one that lacks
/// one of its settings.
pub fn lift_lowering_attrs_to_nodes(
    tree: &mut ModuleTree,
    module: ModuleId,
    known: &LoweringAttrs,
    strict: bool,
) -> Result<usize> {
    let mut found = Vec::new();
    let mut seen = FxHashSet::from_iter([module]);
    let mut waiting = vec![module];
    while let Some(at) = waiting.pop() {
        let graph = tree.graph(at)?;
        for node in graph.nodes_of(Op::CallModule) {
            let target = graph.text(graph[node].target());
            let Some(Member::Module(called)) = tree.resolve(at, target) else {
                let message = format!("node {} calls {target:?}, which is no module", graph.name(node));
                return Err(Error::new(ErrorKind::NotFound, message).at_node(node));
            };
            if tree.get(called)?.graph().is_none() {
                found.push((at, node, attrs_for_lowering(tree, graph, node, called, known, strict)?));
            } else if seen.insert(called) {
                waiting.push(called);
            }
        }
    }
    let count = found.len();
    for (at, node, attrs) in found {
        tree.graph_mut(at)?.set_meta(node, ATTRS_FOR_LOWERING, attrs)?;
    }
    Ok(count)
}

/// The dict for one node.
fn attrs_for_lowering(
    tree: &ModuleTree,
    graph: &Graph,
    node: NodeId,
    called: ModuleId,
    known: &LoweringAttrs,
    strict: bool,
) -> Result<Argument> {
    let symbols = tree.symbols();
    let leaf = tree.get(called)?;
    let type_name = symbols.text(leaf.type_name());
    let mut dict = Dict { symbols, path: graph.target(node), entries: Vec::new() };
    dict.push("name", Argument::Str(leaf.type_name()));
    let Some(members) = known.members(tree, called)? else {
        if strict {
            let message =
                format!("node {} calls a {type_name}, of which it is not known what to lift", graph.name(node));
            return Err(Error::new(ErrorKind::Unsupported, message).at_node(node));
        }
        for (&name, attribute) in leaf.attributes() {
            let name = symbols.text(name);
            match attribute {
                Attribute::Tensor(..) => dict.push_tensor(name),
                Attribute::Value(value) => dict.push(name, value.clone()),
            }
        }
        return Ok(dict.finish());
    };
    for (name, member) in members {
        match member {
            LeafMember::Tensor(..) => dict.push_tensor(&name),
            LeafMember::Value(value) => dict.push(&name, value.clone()),
            LeafMember::NoTensor => dict.push(&name, Argument::None),
            LeafMember::Missing if strict => {
                let message = format!("node {} calls a {type_name} without {name}", graph.name(node));
                return Err(Error::new(ErrorKind::NotFound, message).at_node(node));
            }
            LeafMember::Missing => {}
        }
    }
    Ok(dict.finish())
}

struct Dict<'a> {
    symbols: &'a Symbols,
    path: &'a str,
    entries: Vec<(Argument, Argument)>,
}

impl Dict<'_> {
    fn push(&mut self, name: &str, value: Argument) {
        self.entries.push((Argument::Str(self.symbols.intern(name)), value));
    }

    /// A tensor is told by its path.
    fn push_tensor(&mut self, name: &str) {
        self.push(name, Argument::Str(self.symbols.intern(&format!("{}.{name}", self.path))));
    }

    fn finish(self) -> Argument {
        Argument::Dict(self.entries.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::lint::lint_all;
    use crate::ir::{Dtype, Kwargs, NewModule, Tensor, TensorKind, TensorMeta};
    use std::sync::Arc;

    fn net() -> ModuleTree {
        let mut tree = ModuleTree::new("Net");
        let root = tree.root();
        let conv = tree.add_module(root, "block.conv", "torch.nn.modules.conv.Conv2d", NewModule::Leaf).unwrap();
        let weight = Tensor::from_bytes(TensorMeta::new(Dtype::Int8, [2i64]), vec![1, 2]).unwrap();
        tree.set_attribute(conv, "weight", Attribute::Tensor(TensorKind::Parameter, Arc::new(weight))).unwrap();
        for name in ["extra", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode"] {
            tree.set_attribute(conv, name, Attribute::Value(Argument::Int(3))).unwrap();
        }
        let relu = tree.add_module(root, "inner.relu", "torch.nn.ReLU", NewModule::Leaf).unwrap();
        tree.set_attribute(relu, "inplace", Attribute::Value(Argument::Bool(true))).unwrap();
        tree.add_module(root, "sub", "Sub", NewModule::Graph).unwrap();
        let sub = tree.submodule(root, "sub").unwrap();
        tree.add_module(sub, "custom", "my.Custom", NewModule::Leaf).unwrap();
        tree.set_attribute(sub, "custom.size", Attribute::Value(Argument::Float(0.5))).unwrap();
        for (at, targets) in [(root, vec!["block.conv", "inner.relu", "sub", "sub"]), (sub, vec!["custom"])] {
            let graph = tree.graph_mut(at).unwrap();
            let mut last = graph.placeholder("x").unwrap();
            for target in targets {
                last = graph.call_module(target, [Argument::Node(last)].as_slice(), Kwargs::new()).unwrap();
            }
            graph.output(Argument::Node(last)).unwrap();
        }
        tree
    }

    fn lifted(tree: &ModuleTree, module: ModuleId, name: &str) -> Vec<String> {
        let graph = tree.graph(module).unwrap();
        let key = tree.symbols().find(ATTRS_FOR_LOWERING).unwrap();
        let meta = graph[graph.find_node(name).unwrap()].meta();
        let Some(Argument::Dict(entries)) = meta.entries.get(&key) else { panic!("{name} has none") };
        let show = |argument: &Argument| match argument {
            Argument::Str(text) => tree.symbols().text(*text).to_string(),
            other => format!("{other:?}"),
        };
        entries.iter().map(|(key, value)| format!("{}={}", show(key), show(value))).collect()
    }

    #[test]
    fn leaves_are_told_at_their_calls_however_deep() {
        let mut tree = net();
        let root = tree.root();
        assert_eq!(lift_lowering_attrs_to_nodes(&mut tree, root, &LoweringAttrs::torch_nn(), false), Ok(3));
        lint_all(&tree, root).unwrap();
        let conv = lifted(&tree, root, "block_conv");
        let settings = ["kernel_size", "stride", "padding", "dilation", "groups", "padding_mode"];
        let expected = ["name=torch.nn.modules.conv.Conv2d", "weight=block.conv.weight", "bias=None"];
        assert_eq!(conv[..3], expected);
        assert_eq!(conv[3..], settings.map(|name| format!("{name}=Int(3)")));
        assert_eq!(lifted(&tree, root, "inner_relu"), ["name=torch.nn.ReLU", "inplace=Bool(true)"]);
        let sub = tree.submodule(root, "sub").unwrap();
        assert_eq!(lifted(&tree, sub, "custom"), ["name=my.Custom", "size=Float(0.5)"]);
    }

    #[test]
    fn strict_refuses_unknown_types_and_changes_nothing() {
        let mut tree = net();
        let root = tree.root();
        let error = lift_lowering_attrs_to_nodes(&mut tree, root, &LoweringAttrs::torch_nn(), true).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unsupported);
        assert!(error.message.contains("custom") && error.message.contains("my.Custom"), "{error}");
        let graph = tree.graph(root).unwrap();
        assert!(graph.nodes().all(|node| graph[node].meta().is_empty()));

        tree.delete(root, "sub.custom").unwrap();
        let error = lift_lowering_attrs_to_nodes(&mut tree, root, &LoweringAttrs::torch_nn(), false).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotFound);

        let mut tree = net();
        tree.delete(root, "inner.relu.inplace").unwrap();
        let error = lift_lowering_attrs_to_nodes(&mut tree, root, &LoweringAttrs::torch_nn(), true).unwrap_err();
        assert!(error.message.contains("inner_relu") && error.message.contains("inplace"), "{error}");
    }
}
