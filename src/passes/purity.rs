//! Whether a node may go when nothing uses it: torch's `is_impure`.
//!
//! Impure, and so kept, are
//! - placeholders and the output;
//! - what changes its arguments: an overload, function or method whose name ends in one
//!   underscore, `operator.i*`, `setitem` and its like, `inplace=True`;
//! - any call with `out=`, and overloads that write into such an argument;
//! - asserts, printing, and what changes the state of the process;
//! - random operators, unless [`PurityOptions`] says otherwise: without them the others draw
//!   other numbers;
//! - a call of a graph module that holds an impure node, of a leaf marked `_is_impure` or
//!   `inplace`, and of a module that is not there or has nothing to call.
//!
//! All else is pure. Operators are judged by their schemas; those of which none is known, by names.

use super::schema::{self, Overloads};
use super::side_effects::{IMPURE_FUNCTIONS, IMPURE_METHODS, IMPURE_NAMESPACES, RANDOM_FUNCTIONS, RANDOM_LEAVES};
use crate::ir::{Argument, Graph, Member, ModuleId, ModuleKind, ModuleTree, Node, NodeId, Op, Result, Symbol, Symbols};
use rustc_hash::FxHashMap;

/// What the caller decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PurityOptions {
    /// Random operators are impure.
    pub random_is_impure: bool,
}

impl Default for PurityOptions {
    fn default() -> Self {
        PurityOptions { random_is_impure: true }
    }
}

/// Judges the nodes of one tree, and remembers its judgement of modules and targets.
pub struct Purity<'t> {
    tree: &'t ModuleTree,
    options: PurityOptions,
    modules: FxHashMap<ModuleId, bool>,
    targets: FxHashMap<(Op, Symbol), Target>,
}

/// What the name of a function or method tells.
#[derive(Clone, Copy)]
enum Target {
    Impure,
    /// Impure if the argument in this place is True.
    InplaceAt(usize),
    Pure,
}

impl<'t> Purity<'t> {
    /// A judge of a tree that does not change meanwhile.
    pub fn new(tree: &'t ModuleTree, options: PurityOptions) -> Self {
        Purity { tree, options, modules: FxHashMap::default(), targets: FxHashMap::default() }
    }

    /// Whether a node has to stay even when nothing uses it.
    pub fn is_impure(&mut self, module: ModuleId, node: NodeId) -> Result<bool> {
        let graph = self.tree.graph(module)?;
        graph.get(node)?;
        Ok(self.judge(module, graph, node))
    }

    fn judge(&mut self, module: ModuleId, graph: &Graph, node: NodeId) -> bool {
        let found = &graph[node];
        match found.op() {
            Op::Placeholder | Op::Output => true,
            Op::GetAttr => false,
            Op::CallModule => self.calls_impure(module, graph.text(found.target())),
            Op::CallFunction | Op::CallMethod => {
                let target = self.judge_target(graph, found);
                match target {
                    Target::Impure => return true,
                    Target::InplaceAt(index) if found.args().get(index).is_some_and(may_be_true) => return true,
                    _ => {}
                }
                writes_by_keyword(graph.symbols(), found) || self.passes_impure_graph(module, graph, node)
            }
        }
    }

    fn judge_target(&mut self, graph: &Graph, node: &Node) -> Target {
        let key = (node.op(), node.target());
        if let Some(&known) = self.targets.get(&key) {
            return known;
        }
        let name = graph.text(node.target());
        let target = match node.op() {
            Op::CallMethod => method(name, self.options),
            _ => function(name, self.options),
        };
        self.targets.insert(key, target);
        target
    }

    /// A submodule is judged once. Modules nest no deeper than [`crate::ir::tree::MAX_MODULE_DEPTH`],
    /// and so does this.
    fn calls_impure(&mut self, module: ModuleId, path: &str) -> bool {
        let Some(Member::Module(called)) = self.tree.resolve(module, path) else { return true };
        if let Some(&known) = self.modules.get(&called) {
            return known;
        }
        let impure = match self.tree.get(called).map(|found| found.kind()) {
            Ok(ModuleKind::Graph(graph)) => {
                // Its placeholders and output are not what makes it impure.
                let mut inner = graph.nodes().filter(|&node| !matches!(graph[node].op(), Op::Placeholder | Op::Output));
                self.marked(called) || inner.any(|node| self.judge(called, graph, node))
            }
            Ok(ModuleKind::Leaf) => self.marked(called) || self.leaf_is_random(called),
            Ok(ModuleKind::Holder) | Err(_) => true,
        };
        self.modules.insert(called, impure);
        impure
    }

    fn marked(&self, module: ModuleId) -> bool {
        self.is_true(module, "_is_impure") || self.is_true(module, "inplace")
    }

    fn leaf_is_random(&self, leaf: ModuleId) -> bool {
        let Ok(found) = self.tree.get(leaf) else { return true };
        let type_name = self.tree.symbols().text(found.type_name());
        let Some(name) = type_name.strip_prefix("torch.nn.").and_then(|path| path.rsplit('.').next()) else {
            return false;
        };
        // Batch norm counts what it has seen while it is trained.
        if name.contains("BatchNorm") {
            return self.is_true(leaf, "training");
        }
        self.options.random_is_impure && RANDOM_LEAVES.contains(&name) && !self.is_false(leaf, "training")
    }

    fn setting(&self, module: ModuleId, name: &str) -> Option<&Argument> {
        let name = self.tree.symbols().find(name)?;
        self.tree.get(module).ok()?.attributes().get(&name)?.value()
    }

    fn is_true(&self, module: ModuleId, name: &str) -> bool {
        self.setting(module, name).is_some_and(may_be_true)
    }

    fn is_false(&self, module: ModuleId, name: &str) -> bool {
        matches!(self.setting(module, name), Some(Argument::Bool(false)))
    }

    /// A graph module that is handed to a function may be called by it (`cond`, `while_loop`).
    fn passes_impure_graph(&mut self, module: ModuleId, graph: &Graph, node: NodeId) -> bool {
        let tree = self.tree;
        let mut read = graph.input_nodes(node).filter(|&input| graph[input].op() == Op::GetAttr);
        read.any(|input| {
            let target = graph.target(input);
            matches!(tree.resolve(module, target), Some(Member::Module(_))) && self.calls_impure(module, target)
        })
    }
}

/// Anything but what is surely false: it may be a node.
fn may_be_true(argument: &Argument) -> bool {
    !matches!(argument, Argument::Bool(false) | Argument::None | Argument::Int(0))
}

fn writes_by_keyword(symbols: &Symbols, node: &Node) -> bool {
    node.kwargs().iter().any(|(key, value)| match symbols.text(*key) {
        "out" => !matches!(value, Argument::None),
        "inplace" => may_be_true(value),
        _ => false,
    })
}

fn target(impure: bool) -> Target {
    if impure {
        Target::Impure
    } else {
        Target::Pure
    }
}

fn method(name: &str, options: PurityOptions) -> Target {
    let in_place_dunder =
        name.starts_with("__i") && !matches!(name, "__invert__" | "__index__" | "__int__" | "__iter__");
    target(
        ends_in_one_underscore(name)
            || in_place_dunder
            || IMPURE_METHODS.contains(&name)
            || (options.random_is_impure && schema::of_method(name).is_some_and(is_random)),
    )
}

fn function(name: &str, options: PurityOptions) -> Target {
    if let Some(operator) = name.strip_prefix("_operator.").or_else(|| name.strip_prefix("operator.")) {
        return target(is_in_place_operator(operator));
    }
    let is_below = |space: &&str| name.strip_prefix(*space).is_some_and(|rest| rest.starts_with('.'));
    if IMPURE_FUNCTIONS.contains(&name) || IMPURE_NAMESPACES.iter().any(is_below) {
        return Target::Impure;
    }
    if let Some(path) = name.strip_prefix("torch.ops.") {
        let mut parts = path.splitn(3, '.');
        let (_, operator, overload) = (parts.next(), parts.next().unwrap_or(""), parts.next().unwrap_or("default"));
        let acts = match schema::of_function(name) {
            Some(overloads) => acts(overloads) || (options.random_is_impure && is_random(overloads)),
            None => {
                let writes_out = overload == "out" || overload.starts_with("out_") || overload.ends_with("_out");
                writes_out || (options.random_is_impure && RANDOM_FUNCTIONS.contains(&operator))
            }
        };
        return target(acts || ends_in_one_underscore(operator));
    }
    let last = name.rsplit('.').next().unwrap_or(name);
    if ends_in_one_underscore(last) || (options.random_is_impure && function_is_random(name, last)) {
        return Target::Impure;
    }
    let inplace = name.starts_with("torch.nn.functional.").then(|| schema::of_target(name)).flatten();
    match inplace.and_then(|schema| schema.position("inplace")) {
        Some(position) => Target::InplaceAt(position),
        None => Target::Pure,
    }
}

/// Whether an operator changes an argument, or returns nothing, so that it is called for something
/// else. Of an operator without its overload: whether it does when nothing is passed as `out`.
fn acts(overloads: Overloads) -> bool {
    let plain = overloads.iter().find(|schema| !schema.writes_out()).or_else(|| overloads.iter().next());
    plain.is_some_and(|schema| schema.is_mutable() || schema.returns == "()")
}

fn is_random(overloads: Overloads) -> bool {
    overloads.iter().any(|schema| schema.is_random)
}

/// torch's functions draw random numbers where operators of their names do.
fn function_is_random(name: &str, last: &str) -> bool {
    name.starts_with("torch.") && (RANDOM_FUNCTIONS.contains(&last) || schema::of_operator(last).is_some_and(is_random))
}

fn ends_in_one_underscore(name: &str) -> bool {
    name.len() > 1 && name.ends_with('_') && !name.ends_with("__")
}

/// `and_`, `or_`, `not_` and `is_` end in an underscore because the bare words are Python's.
fn is_in_place_operator(name: &str) -> bool {
    match name.trim_matches('_') {
        "setitem" | "delitem" => true,
        "index" | "indexOf" | "inv" | "invert" | "is" | "is_not" | "is_none" | "is_not_none" | "itemgetter" => false,
        other => other.starts_with('i'),
    }
}

#[cfg(test)]
#[path = "purity_tests.rs"]
mod tests;
