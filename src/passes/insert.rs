//! A call of a new submodule takes the place of nodes: torch's `insert_subgm`.

use super::in_order::in_order;
use super::legalize::legalize;
use crate::ir::error::counted;
use crate::ir::tree::Fragment;
use crate::ir::{Args, Argument, At, Error, ErrorKind, Graph, Kwargs, ModuleId, ModuleTree, NodeId, Op, Result, Value};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What happens when a new submodule asks for a name that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TakenName {
    /// The new submodule gets a number: `fused_1`.
    #[default]
    Number,
    /// [`ErrorKind::AlreadyExists`].
    Refuse,
}

/// What came into the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inserted {
    /// The new submodule.
    pub module: ModuleId,
    /// Its path, which is the call's target.
    pub name: String,
    /// The node that calls it.
    pub call: NodeId,
    /// What stands for each output: the call itself, or the nodes that take its items.
    pub outputs: Vec<NodeId>,
}

/// Makes `sub` a submodule and calls it with `inputs`; whatever used one of `outputs` then uses
/// what the call returns. One output is the call itself, unless `sub` returns a tuple; several are
/// `_operator.getitem` nodes. They take over the metadata of what they stand for.
///
/// `sub` was copied with the symbols of `tree`. The nodes that `outputs` names stay, for the caller
/// to erase. The graph is in order afterwards. An input that needs one of the outputs would close a
/// cycle and is refused, as is a number of inputs or outputs that `sub` does not have.
pub fn insert_subgm(
    tree: &mut ModuleTree,
    module: ModuleId,
    sub: Fragment,
    name: &str,
    inputs: &[NodeId],
    outputs: &[NodeId],
    taken: TakenName,
) -> Result<Inserted> {
    let graph = tree.graph(module)?;
    for &node in inputs.iter().chain(outputs) {
        if graph.get(node)?.op() == Op::Output {
            let message = format!("node {} is the output of the graph and yields nothing", graph.name(node));
            return Err(Error::new(ErrorKind::InvalidArgument, message).at_node(node));
        }
    }
    let items = check_signature(&sub, inputs.len(), outputs.len())?;
    in_order(tree, module, |tree| {
        refuse_cycle(tree.graph(module)?, inputs, outputs)?;
        let path = free_path(tree, module, name, taken)?;
        let as_tuple = outputs.len() > 1 || items.is_some();
        let inserted = insert_call(tree, module, sub, path, inputs, outputs, as_tuple, |_| true)?;
        let graph = tree.graph_mut(module)?;
        if items.is_some_and(|items| items != outputs.len()) {
            graph.set_value(inserted.call, None)?;
        }
        legalize(graph)?;
        Ok(inserted)
    })
}

/// The path for a new submodule.
pub(super) fn free_path(tree: &ModuleTree, module: ModuleId, path: &str, taken: TakenName) -> Result<String> {
    if tree.resolve(module, path).is_none() {
        return Ok(path.to_string());
    }
    if taken == TakenName::Refuse {
        return Err(Error::new(ErrorKind::AlreadyExists, format!("the module has a member {path:?} already")));
    }
    let with_number = |number: u64| format!("{path}_{number}");
    let is_free = |number: u64| tree.resolve(module, &with_number(number)).is_none();
    // Numbers are mostly given one after the other: the end of the run is found in few steps.
    let (mut last_taken, mut free) = (0, 1);
    while !is_free(free) {
        (last_taken, free) = (free, free.saturating_mul(2));
    }
    while free - last_taken > 1 {
        let middle = last_taken + (free - last_taken) / 2;
        if is_free(middle) {
            free = middle;
        } else {
            last_taken = middle;
        }
    }
    Ok(with_number(free))
}

/// Attaches `sub` at a free path, calls it, and puts what it returns in the place of `outputs` in
/// those users that `replaces` lets pass. The nodes are live and the graph in order; afterwards
/// the graph may need to be legalized. Nothing happened when it fails.
#[allow(clippy::too_many_arguments)]
pub(super) fn insert_call(
    tree: &mut ModuleTree,
    module: ModuleId,
    sub: Fragment,
    path: String,
    inputs: &[NodeId],
    outputs: &[NodeId],
    as_tuple: bool,
    replaces: impl Fn(NodeId) -> bool,
) -> Result<Inserted> {
    tree.graph(module)?.check_room(1 + outputs.len())?;
    let sub = tree.attach(module, &path, sub)?;
    // Nothing below fails: the nodes are live, and there is room for more.
    let graph = tree.graph_mut(module)?;
    let args: Args = inputs.iter().map(|&node| Argument::Node(node)).collect();
    let call =
        graph.create_node(place_of_call(graph, inputs, outputs), Op::CallModule, &path, args, Kwargs::new(), None)?;
    let mut stands_for: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    let mut last = call;
    for (index, &output) in outputs.iter().enumerate() {
        if stands_for.contains_key(&output) {
            continue;
        }
        let new = if as_tuple {
            let args = Args::from_iter([Argument::Node(call), Argument::Int(index as i64)]);
            graph.create_node(At::After(last), Op::CallFunction, "_operator.getitem", args, Kwargs::new(), None)?
        } else {
            call
        };
        last = new;
        let meta = graph[output].meta().clone();
        graph.set_all_meta(new, meta)?;
        stands_for.insert(output, new);
    }
    if as_tuple {
        let values: Option<Vec<Value>> =
            outputs.iter().map(|&node| graph[node].value().map(|v| v.as_ref().clone())).collect();
        graph.set_value(call, values.map(|values| Arc::new(Value::Tuple(values))))?;
    }
    for user in users_of(graph, outputs) {
        if user != call && replaces(user) {
            graph.map_inputs(user, |input| stands_for.get(&input).map(|&new| Argument::Node(new)))?;
        }
    }
    let outputs = outputs.iter().filter_map(|output| stands_for.get(output).copied()).collect();
    Ok(Inserted { module: sub, name: path, call, outputs })
}

/// The users of all of `nodes`, each once.
fn users_of(graph: &Graph, nodes: &[NodeId]) -> Vec<NodeId> {
    let mut seen = vec![false; graph.slot_count()];
    let users = nodes.iter().flat_map(|&node| graph.users(node));
    users.filter(|user| !std::mem::replace(&mut seen[user.slot()], true)).collect()
}

/// Behind all that the call needs and all that it stands for, and never among the placeholders.
fn place_of_call(graph: &Graph, inputs: &[NodeId], outputs: &[NodeId]) -> At {
    let later = |a: NodeId, b: NodeId| if graph.is_before(a, b) { b } else { a };
    match inputs.iter().chain(outputs).copied().reduce(later) {
        Some(last) if !outputs.is_empty() => {
            let mut at = last;
            while graph[at].op() == Op::Placeholder {
                match graph.next(at) {
                    Some(next) if graph[next].op() == Op::Placeholder => at = next,
                    _ => break,
                }
            }
            At::After(at)
        }
        _ => At::Default,
    }
}

/// How many items the module returns, if it returns a tuple; an error when it does not take so many
/// inputs or does not return so many outputs. Of a leaf nothing is known.
fn check_signature(sub: &Fragment, inputs: usize, outputs: usize) -> Result<Option<usize>> {
    let Some(graph) = sub.top().and_then(|top| top.graph()) else { return Ok(None) };
    let is_rest = |node: NodeId| graph.target(node).starts_with('*');
    let placeholders = || graph.placeholders();
    let needed = placeholders().filter(|&node| !is_rest(node) && graph[node].args().is_empty()).count();
    let taken = placeholders().filter(|&node| !is_rest(node)).count();
    if inputs < needed || (inputs > taken && !placeholders().any(is_rest)) {
        let message = format!("the submodule takes {}, not {inputs}", counted(taken, "input"));
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    match graph.output_node().and_then(|output| graph[output].args().first()) {
        Some(Argument::Tuple(items) | Argument::List(items)) if items.len() < outputs => {
            let message = format!("the submodule returns {}, not {outputs}", counted(items.len(), "value"));
            Err(Error::new(ErrorKind::InvalidArgument, message))
        }
        Some(Argument::Tuple(items) | Argument::List(items)) => Ok(Some(items.len())),
        _ => Ok(None),
    }
}

/// Refuses an input that needs one of the outputs, which the call would make wait for itself.
fn refuse_cycle(graph: &Graph, inputs: &[NodeId], outputs: &[NodeId]) -> Result<()> {
    let mut is_input = vec![false; graph.slot_count()];
    inputs.iter().for_each(|node| is_input[node.slot()] = true);
    let mut seen = vec![false; graph.slot_count()];
    let mut waiting = outputs.to_vec();
    while let Some(node) = waiting.pop() {
        for user in graph.users(node) {
            if is_input[user.slot()] {
                let message = format!("input {} needs an output of the submodule that takes it", graph.name(user));
                return Err(Error::new(ErrorKind::InvalidArgument, message).at_node(user));
            }
            if !std::mem::replace(&mut seen[user.slot()], true) {
                waiting.push(user);
            }
        }
    }
    Ok(())
}
