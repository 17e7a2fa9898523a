//! Nodes that call one thing come to call another: torch's `replace_target_nodes_with`.

use crate::ir::graph::check_target;
use crate::ir::{Error, ErrorKind, Graph, Member, ModuleId, ModuleTree, NodeId, Op, Result};

/// Makes every node of `old_op` that has `old_target` a node of `new_op` with `new_target`. Names,
/// arguments, users and metadata stay as they are. Returns how many nodes there were.
///
/// Placeholders and outputs have places of their own and are refused. So are nodes that the new op
/// does not fit: a get_attr with arguments, a method without the argument it is a method of, a
/// module or attribute that the module does not have, an empty target.
pub fn replace_target_nodes_with(
    tree: &mut ModuleTree,
    module: ModuleId,
    old_op: Op,
    old_target: &str,
    new_op: Op,
    new_target: &str,
) -> Result<usize> {
    if let Some(op) = [old_op, new_op].into_iter().find(|op| matches!(op, Op::Placeholder | Op::Output)) {
        let message = format!("nodes can neither stop nor begin to be {}", op.name());
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    check_target(new_target)?;
    let graph = tree.graph(module)?;
    let Some(target) = graph.symbols().find(old_target) else { return Ok(0) };
    let nodes: Vec<NodeId> = graph.nodes_of(old_op).filter(|&node| graph[node].target() == target).collect();
    for &node in &nodes {
        check_fits(graph, node, new_op)?;
    }
    if let Some(&first) = nodes.first() {
        check_member(tree, module, new_op, new_target).map_err(|error| error.at_node(first))?;
    }
    let graph = tree.graph_mut(module)?;
    for &node in &nodes {
        graph.set_op(node, new_op)?;
        graph.set_target(node, new_target)?;
    }
    Ok(nodes.len())
}

fn check_fits(graph: &Graph, node: NodeId, new_op: Op) -> Result<()> {
    let found = &graph[node];
    let what = match new_op {
        Op::GetAttr if found.args().len() + found.kwargs().len() > 0 => "has arguments, which a get_attr does not take",
        Op::CallMethod if found.args().is_empty() => "has no argument to call a method of",
        _ => return Ok(()),
    };
    Err(Error::new(ErrorKind::InvalidArgument, format!("node {} {what}", graph.name(node))).at_node(node))
}

fn check_member(tree: &ModuleTree, module: ModuleId, op: Op, target: &str) -> Result<()> {
    let what = match (op, tree.resolve(module, target)) {
        (Op::CallModule, Some(Member::Module(_))) | (Op::GetAttr, Some(_)) => return Ok(()),
        (Op::CallModule, _) => "module",
        (Op::GetAttr, None) => "member",
        _ => return Ok(()),
    };
    Err(Error::new(ErrorKind::NotFound, format!("there is no {what} {target:?}, the new target")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::lint::lint;
    use crate::ir::{Argument, Kwargs, NewModule};

    /// `relu(x)`, `relu(relu)`, and a get_attr of `weight`.
    fn net() -> (ModuleTree, [NodeId; 3]) {
        let mut tree = ModuleTree::new("Net");
        let root = tree.root();
        tree.add_module(root, "act", "torch.nn.modules.activation.GELU", NewModule::Leaf).unwrap();
        tree.set_attribute(root, "weight", crate::ir::Attribute::Value(Argument::Int(1))).unwrap();
        let graph = tree.graph_mut(root).unwrap();
        let x = graph.placeholder("x").unwrap();
        let a = graph.call_function("torch.relu", [Argument::Node(x)].as_slice(), Kwargs::new()).unwrap();
        let b = graph.call_function("torch.relu", [Argument::Node(a)].as_slice(), Kwargs::new()).unwrap();
        let w = graph.get_attr("weight").unwrap();
        graph.output(Argument::Tuple([b, w].map(Argument::Node).into())).unwrap();
        graph.set_meta(b, "stack_trace", Argument::Bool(true)).unwrap();
        (tree, [a, b, w])
    }

    #[test]
    fn names_arguments_and_meta_stay() {
        let (mut tree, [a, b, _]) = net();
        let root = tree.root();
        let count = replace_target_nodes_with(&mut tree, root, Op::CallFunction, "torch.relu", Op::CallModule, "act");
        assert_eq!(count, Ok(2));
        lint(&tree, root).unwrap();
        let graph = tree.graph(root).unwrap();
        for (node, name) in [(a, "relu"), (b, "relu_1")] {
            assert_eq!((graph[node].op(), graph.target(node), graph.name(node)), (Op::CallModule, "act", name));
        }
        assert_eq!(graph[b].meta().entries.len(), 1);
        assert_eq!(graph.users(a).collect::<Vec<_>>(), [b]);
    }

    #[test]
    fn nothing_changes_where_the_new_op_does_not_fit() {
        let (mut tree, [a, _, w]) = net();
        let root = tree.root();
        let relu = (Op::CallFunction, "torch.relu");
        for (old, new, kind, node) in [
            (relu, (Op::CallModule, "missing"), ErrorKind::NotFound, Some(a)),
            (relu, (Op::CallModule, "weight"), ErrorKind::NotFound, Some(a)),
            (relu, (Op::GetAttr, "weight"), ErrorKind::InvalidArgument, Some(a)),
            (relu, (Op::Output, "output"), ErrorKind::InvalidArgument, None),
            ((Op::Placeholder, "x"), relu, ErrorKind::InvalidArgument, None),
            ((Op::GetAttr, "weight"), (Op::CallMethod, "relu"), ErrorKind::InvalidArgument, Some(w)),
            ((Op::GetAttr, "weight"), (Op::GetAttr, "bias"), ErrorKind::NotFound, Some(w)),
        ] {
            let error = replace_target_nodes_with(&mut tree, root, old.0, old.1, new.0, new.1).unwrap_err();
            assert_eq!((error.kind, error.node), (kind, node), "{old:?} to {new:?}");
            let graph = tree.graph(root).unwrap();
            assert_eq!((graph.target(a), graph.target(w)), ("torch.relu", "weight"));
        }
        let none = replace_target_nodes_with(&mut tree, root, Op::CallFunction, "torch.cos", Op::CallModule, "missing");
        assert_eq!(none, Ok(0));
    }
}
