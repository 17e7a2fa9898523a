//! A graph becomes a module of its own: torch's `lift_subgraph_as_module`.

use crate::ir::{Error, ErrorKind, Graph, Member, ModuleId, ModuleTree, NodeId, Op, Result};
use rustc_hash::FxHashSet;

/// A module of its own with a copy of `subgraph`, and with those members of `module` that its
/// call_module and get_attr nodes name, under the same paths. Tensors are shared, submodules are
/// copied whole and remember their origin, and holders stand in for what lies on the way.
///
/// `subgraph` was taken from the module, or made for it; it may belong to another tree. A target
/// that is no member of the module is an error that names the node.
pub fn lift_subgraph_as_module(
    tree: &ModuleTree,
    module: ModuleId,
    subgraph: &Graph,
    class_name: &str,
) -> Result<ModuleTree> {
    let mut lifted = ModuleTree::new(class_name);
    lift_members(tree, module, subgraph, subgraph.nodes(), &mut lifted)?;
    let (graph, _) = subgraph.copy_to(lifted.symbols().clone())?;
    lifted.set_graph(lifted.root(), graph)?;
    Ok(lifted)
}

/// Gives `lifted` the members of `module` that `nodes` of `graph` name.
pub(super) fn lift_members(
    tree: &ModuleTree,
    module: ModuleId,
    graph: &Graph,
    nodes: impl Iterator<Item = NodeId>,
    lifted: &mut ModuleTree,
) -> Result<()> {
    tree.get(module)?;
    let mut seen = FxHashSet::default();
    for node in nodes {
        let found = graph.get(node)?;
        if matches!(found.op(), Op::CallModule | Op::GetAttr) && seen.insert((found.op(), found.target())) {
            let target = graph.text(found.target());
            let member = member_of(tree, module, graph, node)?;
            lift_member(tree, target, member, lifted).map_err(|error| error.at_node(node))?;
        }
    }
    Ok(())
}

/// The member that a call_module or get_attr node names.
pub(super) fn member_of<'t>(tree: &'t ModuleTree, module: ModuleId, graph: &Graph, node: NodeId) -> Result<Member<'t>> {
    let (op, name, target) = (graph[node].op(), graph.name(node), graph.target(node));
    let refuse = |what: &str| {
        let message = format!("node {name} ({} {target}): {what}", op.name());
        Err(Error::new(ErrorKind::NotFound, message).at_node(node))
    };
    match tree.resolve(module, target) {
        None => refuse("the module has no such member"),
        Some(Member::Attribute(_)) if op == Op::CallModule => refuse("it is an attribute, not a module"),
        Some(member) => Ok(member),
    }
}

fn lift_member(tree: &ModuleTree, path: &str, member: Member<'_>, lifted: &mut ModuleTree) -> Result<()> {
    let root = lifted.root();
    let there = lifted.resolve(root, path);
    match (member, there) {
        // It came along with a module that was called and holds it.
        (Member::Attribute(_), Some(Member::Attribute(_))) => Ok(()),
        (Member::Attribute(attribute), _) => {
            let copy = attribute.transfer(tree.symbols(), lifted.symbols())?;
            lifted.set_attribute(root, path, copy)
        }
        (Member::Module(source), Some(Member::Module(copy)))
            if lifted.get(copy)?.origin() == tree.get(source)?.origin() =>
        {
            Ok(())
        }
        // A holder that was made on the way to one of its members gives way to the whole module.
        (Member::Module(source), _) => {
            let copy = tree.copy_out(source, lifted.symbols())?;
            lifted.attach(root, path, copy).map(|_| ())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::lint::lint_all;
    use crate::ir::{Argument, Attribute, Dtype, Kwargs, NewModule, Symbols, Tensor, TensorKind, TensorMeta};
    use std::sync::Arc;

    fn weight() -> Attribute {
        let tensor = Tensor::from_bytes(TensorMeta::new(Dtype::Int8, [4i64]), vec![1, 2, 3, 4]).unwrap();
        Attribute::Tensor(TensorKind::Parameter, Arc::new(tensor))
    }

    fn net() -> ModuleTree {
        let mut tree = ModuleTree::new("Net");
        let root = tree.root();
        for name in ["block.conv", "block.other", "unused"] {
            let leaf = tree.add_module(root, name, "torch.nn.modules.conv.Conv2d", NewModule::Leaf).unwrap();
            tree.set_attribute(leaf, "weight", weight()).unwrap();
            tree.set_attribute(leaf, "stride", Attribute::Value(Argument::Int(2))).unwrap();
        }
        tree.set_attribute(root, "scale", weight()).unwrap();
        tree
    }

    fn data(tree: &ModuleTree, path: &str) -> *const u8 {
        match tree.attribute(tree.root(), path).unwrap() {
            Attribute::Tensor(_, tensor) => tensor.data().unwrap().as_ptr(),
            Attribute::Value(_) => panic!("{path} is no tensor"),
        }
    }

    #[test]
    fn just_the_named_members_come_along() {
        let tree = net();
        // Fault 78: siblings that nothing names stay behind.
        let mut graph = Graph::new(Symbols::new());
        let x = graph.placeholder("x").unwrap();
        let weight = graph.get_attr("block.conv.weight").unwrap();
        let conv = graph.call_module("block.conv", [Argument::Node(x)].as_slice(), Kwargs::new()).unwrap();
        let scale = graph.get_attr("scale").unwrap();
        graph.output(Argument::Tuple([conv, weight, scale].map(Argument::Node).into())).unwrap();

        let lifted = lift_subgraph_as_module(&tree, tree.root(), &graph, "Lifted").unwrap();
        let root = lifted.root();
        lint_all(&lifted, root).unwrap();
        assert_eq!(lifted.symbols().text(lifted.get(root).unwrap().type_name()), "Lifted");
        assert!(lifted.resolve(root, "block.other").is_none());
        assert!(lifted.resolve(root, "unused").is_none());
        for path in ["block.conv.weight", "scale"] {
            assert_eq!(data(&lifted, path), data(&tree, path), "{path} is shared");
        }
        let stride = lifted.attribute(root, "block.conv.stride").unwrap().value();
        assert!(matches!(stride, Some(Argument::Int(2))));
        let [old, new] = [(&tree, "block.conv"), (&lifted, "block.conv")]
            .map(|(tree, path)| tree.get(tree.submodule(tree.root(), path).unwrap()).unwrap().origin());
        assert_eq!(old, new);
        assert_eq!(lifted.graph(root).unwrap().len(), 5);
    }

    #[test]
    fn a_module_within_a_called_module_is_not_copied_again() {
        let tree = net();
        let mut graph = Graph::new(Symbols::new());
        graph.get_attr("block").unwrap();
        graph.call_module("block.conv", [].as_slice(), Kwargs::new()).unwrap();
        graph.get_attr("block.other.weight").unwrap();
        graph.output(Argument::None).unwrap();
        let lifted = lift_subgraph_as_module(&tree, tree.root(), &graph, "Lifted").unwrap();
        assert_eq!(lifted.modules_below(lifted.root()).count(), 4);
    }

    #[test]
    fn a_target_that_is_nowhere_names_its_node() {
        let tree = net();
        for (op, target) in [(Op::CallModule, "block.missing"), (Op::CallModule, "scale"), (Op::GetAttr, "scale.inner")]
        {
            let mut graph = Graph::new(Symbols::new());
            graph.placeholder("x").unwrap();
            let node =
                graph.create_node(crate::ir::At::Default, op, target, Default::default(), Kwargs::new(), None).unwrap();
            graph.output(Argument::None).unwrap();
            let error = lift_subgraph_as_module(&tree, tree.root(), &graph, "Lifted").unwrap_err();
            assert_eq!((error.kind, error.node), (ErrorKind::NotFound, Some(node)), "{target}");
            assert!(error.message.contains(graph.name(node)), "{error}");
        }
    }
}
