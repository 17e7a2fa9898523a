//! What a method is called on, as far as the graph tells.

use crate::ir::{Argument, Attribute, Graph, Member, ModuleId, ModuleTree, Node, NodeId, Op, Value};
use crate::passes::schema;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Receiver {
    Tensor,
    /// A module that a node reads.
    Module,
    /// No tensor: a number, a list, a dict, a set.
    Other,
}

/// What the first argument is; none when it may be anything. Told by what is known to be yielded, by
/// the annotation, or else by what makes it: a member, a function or method that yields one tensor.
pub(super) fn of(tree: &ModuleTree, module: ModuleId, graph: &Graph, node: &Node) -> Option<Receiver> {
    match node.args().first()? {
        Argument::Node(receiver) => of_node(tree, module, graph, *receiver),
        _ => Some(Receiver::Other),
    }
}

fn of_node(tree: &ModuleTree, module: ModuleId, graph: &Graph, node: NodeId) -> Option<Receiver> {
    let found = &graph[node];
    if let Some(value) = found.value() {
        return Some(match **value {
            Value::Tensor(_) => Receiver::Tensor,
            _ => Receiver::Other,
        });
    }
    let target = graph.target(node);
    if found.op() == Op::GetAttr {
        return Some(match tree.resolve(module, target)? {
            Member::Module(_) => Receiver::Module,
            Member::Attribute(Attribute::Tensor(..)) => Receiver::Tensor,
            Member::Attribute(Attribute::Value(_)) => Receiver::Other,
        });
    }
    if let Some(known) = found.type_annotation().and_then(|text| of_annotation(graph.text(text))) {
        return Some(known);
    }
    let overloads = match found.op() {
        Op::CallMethod => schema::of_method(target),
        Op::CallFunction if is_container(target) => return Some(Receiver::Other),
        Op::CallFunction => match target.strip_prefix("torch.nn.functional.") {
            Some(name) => schema::of_operator(name).or_else(|| schema::of_function(target)),
            None => schema::of_function(target),
        },
        _ => None,
    };
    let yields_a_tensor = overloads?.iter().all(|schema| {
        let returns = schema.returns;
        returns == "Tensor" || (returns.starts_with("Tensor(") && returns.ends_with(')'))
    });
    yields_a_tensor.then_some(Receiver::Tensor)
}

fn of_annotation(text: &str) -> Option<Receiver> {
    let text = text.strip_prefix("typing.").unwrap_or(text);
    let end = text.find('[').unwrap_or(text.len());
    match text.get(..end)? {
        "torch.Tensor" | "Tensor" | "torch.nn.Parameter" | "torch.nn.parameter.Parameter" => Some(Receiver::Tensor),
        "List"
        | "list"
        | "Dict"
        | "dict"
        | "Set"
        | "set"
        | "Deque"
        | "Counter"
        | "bytearray"
        | "str"
        | "int"
        | "float"
        | "bool"
        | "collections.deque"
        | "collections.Counter"
        | "collections.OrderedDict" => Some(Receiver::Other),
        _ => None,
    }
}

fn is_container(function: &str) -> bool {
    matches!(function, "builtins.list" | "builtins.sorted" | "builtins.dict" | "builtins.set" | "builtins.bytearray")
        || function.starts_with("collections.")
}
