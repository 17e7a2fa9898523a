//! The nodes of a submodule take the place of its call.

use super::in_order::in_order;
use super::new_members::{MemberConflict, NewMembers};
use crate::ir::error::counted;
use crate::ir::{
    Args, Argument, At, CopyNames, Error, ErrorKind, Graph, Kwargs, Member, ModuleId, ModuleTree, NodeId, Op, Result,
    Symbol,
};
use rustc_hash::FxHashMap;

/// Puts copies of the nodes of the graph module that `call` calls in its place, and tells which became
/// which (torch's `node_inline_`).
///
/// Arguments are bound to placeholders as Python binds them: by position, then by keyword, then by the
/// placeholder's default; `*args` and `**kwargs` take the rest. What the submodule returns stands for the
/// call; where that is a tuple, list or dict, `_operator.getitem` nodes that take one item of it go as
/// well. A node that stands for what was called takes over what was known of that, if nothing is known of
/// itself.
///
/// Members that the nodes name come to the module under their own names, and get a number where the module
/// has another of that name. The submodule goes when no graph that holds it names it any more. The graph is
/// in order afterwards; nothing happened when it fails.
pub fn inline_submodule(
    tree: &mut ModuleTree,
    module: ModuleId,
    call: NodeId,
    names: CopyNames<'_>,
) -> Result<Vec<(NodeId, NodeId)>> {
    let called = called(tree, module, call)?;
    in_order(tree, module, |tree| {
        let (graph, body) = (tree.graph(module)?, tree.graph(called)?);
        if let Some(input) = graph.input_nodes(call).find(|&input| !graph.is_before(input, call)) {
            let message = format!("node {} uses {} before its definition", graph.name(call), graph.name(input));
            return Err(Error::new(ErrorKind::Lint, message).at_node(call));
        }
        let mut stands_for = bind(graph, call, body)?;
        let mut members = NewMembers::default();
        let renamed = members.plan(tree, module, (tree, called), MemberConflict::Rename)?;

        // Of one tree, so that its strings need not be carried over.
        let body = body.clone();
        let graph = tree.graph_mut(module)?;
        let result = graph.graph_copy(At::Before(call), &body, names, &mut stands_for)?.unwrap_or(Argument::None);
        let pairs: Vec<(NodeId, NodeId)> = body
            .nodes()
            .filter(|&node| body[node].op() != Op::Placeholder)
            .filter_map(|node| match stands_for[node.slot()] {
                Some(Argument::Node(copy)) => Some((node, copy)),
                _ => None,
            })
            .collect();
        if let Err(error) = replace_call(graph, call, result, &pairs) {
            for &(_, copy) in pairs.iter().rev() {
                graph.erase_node(copy)?;
            }
            return Err(error);
        }
        name_members(graph, &pairs, &renamed)?;
        members.add(tree, module)?;
        delete_unnamed(tree, module, called)?;
        Ok(pairs)
    })
}

/// The graph module that a node calls.
fn called(tree: &ModuleTree, module: ModuleId, call: NodeId) -> Result<ModuleId> {
    let graph = tree.graph(module)?;
    let (op, target) = (graph.get(call)?.op(), graph.target(call));
    let refuse = |kind, what: &str| {
        let message = format!("node {} ({} {target}): {what}", graph.name(call), op.name());
        Err(Error::new(kind, message).at_node(call))
    };
    if op != Op::CallModule {
        return refuse(ErrorKind::InvalidArgument, "it calls no module");
    }
    match tree.resolve(module, target) {
        Some(Member::Module(called)) if tree.get(called)?.graph().is_some() => Ok(called),
        Some(Member::Module(_)) => refuse(ErrorKind::InvalidArgument, "the module has no graph"),
        Some(Member::Attribute(_)) => refuse(ErrorKind::NotFound, "it is an attribute, not a module"),
        None => refuse(ErrorKind::NotFound, "the module has no such member"),
    }
}

/// What stands for each placeholder of `body`, by its slot.
fn bind(graph: &Graph, call: NodeId, body: &Graph) -> Result<Vec<Option<Argument>>> {
    let refuse = |what: String| {
        let message = format!("node {} ({} {}): {what}", graph.name(call), graph[call].op().name(), graph.target(call));
        Err(Error::new(ErrorKind::InvalidArgument, message).at_node(call))
    };
    let mut stands_for = vec![None; body.slot_count()];
    let mut by_position = graph[call].args().iter().cloned();
    let mut by_keyword: Kwargs = graph[call].kwargs().into();
    for input in body.placeholders() {
        let name = body.target(input);
        let bound = if name.starts_with("**") {
            let entries = by_keyword.drain(..).map(|(key, value)| (Argument::Str(key), value));
            Argument::Dict(entries.collect::<Vec<_>>().into())
        } else if name.starts_with('*') {
            Argument::Tuple(by_position.by_ref().collect::<Vec<_>>().into())
        } else {
            let given = by_keyword.iter().position(|(key, _)| graph.text(*key) == name);
            match (by_position.next(), given, body[input].args().first()) {
                (Some(_), Some(_), _) => return refuse(format!("{name} is given twice")),
                (Some(argument), None, _) => argument,
                (None, Some(at), _) => by_keyword.remove(at).1,
                (None, None, Some(default)) => default.clone(),
                (None, None, None) => return refuse(format!("{name} is not given")),
            }
        };
        stands_for[input.slot()] = Some(bound);
    }
    match (by_position.count(), by_keyword.first()) {
        (0, None) => Ok(stands_for),
        (0, Some((key, _))) => refuse(format!("the module takes no {}", graph.text(*key))),
        (more, _) => refuse(format!("{} more than the module takes", counted(more, "argument"))),
    }
}

/// Puts what was returned in the place of a call, and erases that. Changes nothing when it fails.
fn replace_call(graph: &mut Graph, call: NodeId, result: Argument, copies: &[(NodeId, NodeId)]) -> Result<()> {
    // The call, and those that take an item of it, each after what it takes from.
    let mut gone = vec![call];
    let mut stands_for = FxHashMap::from_iter([(call, result)]);
    let mut users: Vec<NodeId> = Vec::new();
    let mut at = 0;
    while let Some(&node) = gone.get(at) {
        at += 1;
        for user in graph.users(node) {
            match item_taken(graph, user, node).and_then(|key| item(&stands_for[&node], key)).cloned() {
                Some(item) => {
                    stands_for.insert(user, item);
                    gone.push(user);
                }
                None => users.push(user),
            }
        }
    }
    let changed = users.into_iter().map(|user| {
        let (mut args, mut kwargs) = (Args::from(graph[user].args()), Kwargs::from(graph[user].kwargs()));
        for argument in args.iter_mut().chain(kwargs.iter_mut().map(|(_, value)| value)) {
            argument.replace_nodes(&mut |node| stands_for.get(&node).cloned());
            argument.check().map_err(|error| error.at_node(user))?;
        }
        Ok((user, args, kwargs))
    });
    let changed = changed.collect::<Result<Vec<_>>>()?;
    for (user, args, kwargs) in changed {
        graph.set_args(user, args)?;
        graph.set_kwargs(user, kwargs)?;
    }
    let is_copy = rustc_hash::FxHashSet::from_iter(copies.iter().map(|&(_, copy)| copy));
    for &node in gone.iter().rev() {
        if let Argument::Node(new) = stands_for[&node] {
            if is_copy.contains(&new) && graph[new].value().is_none() {
                let known = graph[node].value().cloned();
                graph.set_value(new, known)?;
            }
        }
        graph.erase_node(node)?;
    }
    Ok(())
}

/// The literal key, when a node takes one item of another and does nothing else.
fn item_taken(graph: &Graph, node: NodeId, of: NodeId) -> Option<&Argument> {
    let found = &graph[node];
    let takes_item = found.op() == Op::CallFunction && graph.target(node) == "_operator.getitem";
    match found.args() {
        [Argument::Node(from), key @ (Argument::Int(_) | Argument::Str(_))]
            if takes_item && found.kwargs().is_empty() && *from == of =>
        {
            Some(key)
        }
        _ => None,
    }
}

fn item<'a>(container: &'a Argument, key: &Argument) -> Option<&'a Argument> {
    match (container, key) {
        (Argument::List(items) | Argument::Tuple(items), Argument::Int(index)) => {
            let index = if *index < 0 { index.checked_add(i64::try_from(items.len()).ok()?)? } else { *index };
            items.get(usize::try_from(index).ok()?)
        }
        (Argument::Dict(entries), key) => {
            let is_key = |other: &Argument| match (other, key) {
                (Argument::Int(a), Argument::Int(b)) => a == b,
                (Argument::Str(a), Argument::Str(b)) => a == b,
                _ => false,
            };
            entries.iter().rev().find(|(other, _)| is_key(other)).map(|(_, value)| value)
        }
        _ => None,
    }
}

/// Copies name members as they are called here.
fn name_members(graph: &mut Graph, copies: &[(NodeId, NodeId)], renamed: &FxHashMap<Symbol, Symbol>) -> Result<()> {
    let symbols = graph.symbols().clone();
    for &(_, copy) in copies {
        if matches!(graph[copy].op(), Op::CallModule | Op::GetAttr) {
            if let Some(&target) = renamed.get(&graph[copy].target()) {
                graph.set_target(copy, symbols.text(target))?;
            }
        }
    }
    Ok(())
}

/// Deletes a module below another unless a graph that holds it names it, or something in it.
fn delete_unnamed(tree: &mut ModuleTree, module: ModuleId, called: ModuleId) -> Result<()> {
    let mut above = Some(module);
    while let Some(holder) = above {
        if let Some(graph) = tree.get(holder)?.graph() {
            let path = tree.path(called, holder)?;
            let names_it = |node: NodeId| {
                matches!(graph[node].op(), Op::CallModule | Op::GetAttr)
                    && graph
                        .target(node)
                        .strip_prefix(&*path)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            if graph.nodes().any(names_it) {
                return Ok(());
            }
        }
        above = tree.get(holder)?.parent();
    }
    let path = tree.path(called, module)?;
    tree.delete(module, &path)
}
