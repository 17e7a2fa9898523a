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
//! All else is pure. Operators are judged by their names: what an overload's schema would tell is
//! asked in one place, `mutates_by_name`.

use super::side_effects::{
    IMPURE_FUNCTIONS, IMPURE_METHODS, IMPURE_NAMESPACES, INPLACE_POSITIONS, MUTATING_OPERATORS, OUT_OVERLOADS,
    RANDOM_FUNCTIONS, RANDOM_LEAVES, RANDOM_METHODS, RANDOM_OPERATORS,
};
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
            || (options.random_is_impure && RANDOM_METHODS.contains(&name)),
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
    if let Some(operator) = name.strip_prefix("torch.ops.") {
        let mut parts = operator.splitn(3, '.');
        let (_, operator, overload) = (parts.next(), parts.next().unwrap_or(""), parts.next().unwrap_or("default"));
        return target(
            mutates_by_name(operator, overload)
                || operator.starts_with("_assert")
                || (options.random_is_impure && RANDOM_OPERATORS.contains(&operator)),
        );
    }
    let last = name.rsplit('.').next().unwrap_or(name);
    let is_torch = name.starts_with("torch.");
    let is_random = is_torch && (RANDOM_OPERATORS.contains(&last) || RANDOM_FUNCTIONS.contains(&last));
    if ends_in_one_underscore(last) || (is_random && options.random_is_impure) {
        return Target::Impure;
    }
    match INPLACE_POSITIONS.iter().find(|(function, _)| *function == last) {
        Some(&(_, position)) if name.starts_with("torch.nn.functional.") => Target::InplaceAt(position),
        _ => Target::Pure,
    }
}

/// Whether an overload changes an argument, as far as its name tells; its schema would know.
fn mutates_by_name(operator: &str, overload: &str) -> bool {
    let writes_out = overload == "out" || overload.starts_with("out_") || overload.ends_with("_out");
    let in_place_dunder = matches!(operator, "__iand__" | "__ior__" | "__ixor__" | "__ilshift__" | "__irshift__");
    // Overloads whose names mean something else elsewhere.
    let by_overload = match operator {
        "sort" => matches!(overload, "Tensor" | "any" | "bool" | "float" | "int" | "str"),
        "_native_batch_norm_legit" => overload == "default",
        "geqrf" => overload == "a",
        _ => false,
    };
    ends_in_one_underscore(operator)
        || in_place_dunder
        || by_overload
        || writes_out
        || OUT_OVERLOADS.contains(&overload)
        || MUTATING_OPERATORS.contains(&operator)
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
