//! Lint: the invariants of a graph, each checked, each failure naming the node that breaks it.
//!
//! Checked here:
//! - placeholders come first; there is at most one output and it comes last;
//! - a placeholder has no more than a default value, a get_attr no arguments, an output just one;
//! - every node in args or kwargs is alive and stands before its user ([`lint_order`] checks the order
//!   alone);
//! - users are exactly those that hold a node in args or kwargs;
//! - names are unique, legal, and none that Python or generated code needs;
//! - what call_module calls is a module, what get_attr reads is a member.

use super::error::{Error, ErrorKind, Result};
use super::graph::Graph;
use super::module::Member;
use super::name_set::NameSet;
use super::node::{NodeId, Op};
use super::tree::{ModuleId, ModuleTree};
use rustc_hash::FxHashSet;

/// Checks the graph of one module (torch's `graph.lint()`).
pub fn lint(tree: &ModuleTree, module: ModuleId) -> Result<()> {
    lint_bookkeeping(tree.graph(module)?)?;
    lint_edits(tree, module)
}

/// Checks what an edit can break, and trusts what every edit keeps: users, and names that are unique.
pub(crate) fn lint_edits(tree: &ModuleTree, module: ModuleId) -> Result<()> {
    let graph = tree.graph(module)?;
    lint_nodes(graph)?;
    let mut checked = FxHashSet::default();
    for node in graph.nodes() {
        let found = &graph[node];
        if !matches!(found.op(), Op::CallModule | Op::GetAttr) || !checked.insert((found.op(), found.target())) {
            continue;
        }
        let target = graph.text(found.target());
        match (found.op(), tree.resolve(module, target)) {
            (_, None) => return Err(broken(graph, node, &format!("its target {target:?} is no member of the module"))),
            (Op::CallModule, Some(Member::Attribute(_))) => {
                return Err(broken(graph, node, &format!("its target {target:?} is an attribute, not a module")))
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks a module and every graph module below it.
pub fn lint_all(tree: &ModuleTree, top: ModuleId) -> Result<()> {
    for module in tree.modules_below(top) {
        if tree.get(module)?.graph().is_some() {
            lint(tree, module).map_err(|mut error| {
                if let Ok(path) = tree.path(module, top) {
                    if !path.is_empty() {
                        error.message = format!("in {path}: {}", error.message);
                    }
                }
                error
            })?;
        }
    }
    Ok(())
}

/// What makes an order no topological one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutOfOrder {
    /// A placeholder stands behind a node that is none.
    Placeholder(NodeId),
    /// A node does not stand before its user.
    Use {
        /// The user.
        user: NodeId,
        /// What it uses too early.
        used: NodeId,
    },
    /// The output is not last.
    Output(NodeId),
}

/// The first fault of the order: placeholders come first, the output last, and every node stands
/// before its users.
pub fn out_of_order(graph: &Graph) -> Option<OutOfOrder> {
    let mut placeholders_are_over = false;
    graph.nodes().find_map(|node| misplaced(graph, node, &mut placeholders_are_over))
}

/// Checks the order and nothing else. An error's `nodes` are the node that is out of order, and what
/// it uses too early.
pub fn lint_order(graph: &Graph) -> Result<()> {
    out_of_order(graph).map_or(Ok(()), |found| Err(found.error(graph)))
}

fn misplaced(graph: &Graph, node: NodeId, placeholders_are_over: &mut bool) -> Option<OutOfOrder> {
    match graph[node].op() {
        Op::Placeholder if *placeholders_are_over => return Some(OutOfOrder::Placeholder(node)),
        Op::Placeholder => {}
        _ => *placeholders_are_over = true,
    }
    if let Some(used) = graph.input_nodes(node).find(|&input| !graph.is_before(input, node)) {
        return Some(OutOfOrder::Use { user: node, used });
    }
    (graph.output_node() == Some(node) && graph.last() != Some(node)).then_some(OutOfOrder::Output(node))
}

impl OutOfOrder {
    fn error(self, graph: &Graph) -> Error {
        match self {
            OutOfOrder::Placeholder(node) => broken(graph, node, "it is a placeholder behind a node that is none"),
            OutOfOrder::Output(node) => broken(graph, node, "it is an output and not the last node"),
            OutOfOrder::Use { user, used } => {
                broken(graph, user, &format!("it uses {} before its definition", graph.name(used)))
                    .at_nodes([user, used])
            }
        }
    }
}

/// Checks what can be checked of a graph without its module.
pub fn lint_graph(graph: &Graph) -> Result<()> {
    lint_bookkeeping(graph)?;
    lint_nodes(graph)
}

/// What the caller's edits decide: what nodes are like, and their order.
fn lint_nodes(graph: &Graph) -> Result<()> {
    let mut placeholders_are_over = false;
    for node in graph.nodes() {
        check_shape(graph, node)?;
        if let Some(fault) = misplaced(graph, node, &mut placeholders_are_over) {
            return Err(fault.error(graph));
        }
        if graph.has_illegal_name(node) {
            return Err(broken(graph, node, "its name is no identifier, or one that Python or generated code needs"));
        }
    }
    Ok(())
}

/// What the graph keeps right by itself.
fn lint_bookkeeping(graph: &Graph) -> Result<()> {
    let mut names = NameSet::default();
    let mut named_by = vec![0; graph.slot_count()];
    let mut uses = 0;
    let mut known = 0;
    for (position, node) in graph.nodes().enumerate() {
        uses += check_inputs(graph, node, position as u32 + 1, &mut named_by)?;
        known += graph.user_count(node);
        if !names.insert(graph[node].name()) {
            return Err(broken(graph, node, "another node has the same name"));
        }
    }
    if known != uses {
        return Err(Error::new(ErrorKind::Lint, format!("{known} uses are recorded, but arguments make {uses}")));
    }
    Ok(())
}

fn check_shape(graph: &Graph, node: NodeId) -> Result<()> {
    let found = &graph[node];
    let (args, kwargs) = (found.args().len(), found.kwargs().len());
    match found.op() {
        Op::Placeholder if args > 1 || kwargs > 0 => {
            Err(broken(graph, node, "a placeholder has nothing but a default value"))
        }
        Op::GetAttr if args + kwargs > 0 => Err(broken(graph, node, "a get_attr takes no arguments")),
        Op::Output if args != 1 || kwargs > 0 => Err(broken(graph, node, "an output takes one argument")),
        Op::Output if graph.output_node() != Some(node) => Err(broken(graph, node, "it is a second output")),
        _ => Ok(()),
    }
}

/// Checks the users of what a node holds; returns how many nodes it uses. `named_by` has
/// for each slot the last user, counted by `user`, that named it.
fn check_inputs(graph: &Graph, node: NodeId, user: u32, named_by: &mut [u32]) -> Result<usize> {
    let found = &graph[node];
    let mut recorded = graph.input_nodes(node);
    let mut uses = 0;
    let mut failure = None;
    let mut check = |input: NodeId| {
        if failure.is_some() || named_by.get(input.slot()) == Some(&user) {
            return;
        }
        if !graph.contains(input) {
            failure = Some("it uses a node that is not in the graph".to_string());
            return;
        }
        named_by[input.slot()] = user;
        uses += 1;
        if recorded.next() != Some(input) {
            failure = Some(format!("it uses {}, which does not know", graph.name(input)));
        } else if graph.output_node() == Some(input) {
            failure = Some("it uses the output".to_string());
        }
    };
    let arguments = found.args().iter().chain(found.kwargs().iter().map(|(_, value)| value));
    arguments.for_each(|argument| argument.for_each_node(&mut check));
    match failure {
        Some(what) => Err(broken(graph, node, &what)),
        None if recorded.next().is_some() => Err(broken(graph, node, "it is a user of a node that it does not use")),
        None => Ok(uses),
    }
}

fn broken(graph: &Graph, node: NodeId, what: &str) -> Error {
    let found = &graph[node];
    let (name, op, target) = (graph.name(node), found.op().name(), graph.target(node));
    Error::new(ErrorKind::Lint, format!("node {name} ({op} {target}): {what}")).at_node(node)
}
