//! Whether a node may go when nothing uses it: torch's `is_impure`.
//!
//! Impure, and so kept, are
//! - placeholders and the output;
//! - what changes its arguments: an overload, function or method whose name ends in one
//!   underscore, `operator.i*`, `setitem` and its like, `inplace=True`, methods of lists, dicts, sets
//!   and modules that change them;
//! - any call with `out=`, and overloads that write into such an argument;
//! - functions that write if an argument says so, unless it surely does not: batch norms that train,
//!   lookups with a `max_norm`;
//! - asserts, printing, and what changes the state of the process;
//! - random operators, unless [`PurityOptions`] says otherwise: without them the others draw
//!   other numbers. Those that draw if an argument says so are not when it says no;
//! - a call of a graph module that holds an impure node, of a leaf that is marked `_is_impure` or
//!   `inplace` or is of a type that draws or counts while it is trained, unless its `training` is
//!   False, of a leaf above such a one, and of a module that is not there or has nothing to call.
//!
//! All else is pure. Operators are judged by their schemas; those of which none is known, by names.

mod callee;
mod leaf;
mod receiver;

use crate::ir::{Argument, Graph, Member, ModuleId, ModuleKind, ModuleTree, Node, NodeId, Op, Result, Symbol};
use callee::Callee;
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

/// What a node does besides yielding a value, the lesser first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Impurity {
    /// Nothing.
    None,
    /// It draws random numbers.
    Draws,
    /// The module that it calls counts what it has seen.
    Counts,
    /// It changes what others can see.
    Acts,
}

/// Judges the nodes of one tree, and remembers its judgement of modules and targets.
pub struct Purity<'t> {
    tree: &'t ModuleTree,
    options: PurityOptions,
    modules: FxHashMap<ModuleId, Impurity>,
    targets: FxHashMap<(Op, Symbol), Callee>,
}

impl<'t> Purity<'t> {
    /// A judge of a tree that does not change meanwhile.
    pub fn new(tree: &'t ModuleTree, options: PurityOptions) -> Self {
        Purity { tree, options, modules: FxHashMap::default(), targets: FxHashMap::default() }
    }

    /// Whether a node has to stay even when nothing uses it.
    pub fn is_impure(&mut self, module: ModuleId, node: NodeId) -> Result<bool> {
        Ok(match self.impurity(module, node)? {
            Impurity::None => false,
            Impurity::Draws => self.options.random_is_impure,
            Impurity::Counts | Impurity::Acts => true,
        })
    }

    /// What a node does, whatever the options say.
    pub(super) fn impurity(&mut self, module: ModuleId, node: NodeId) -> Result<Impurity> {
        let graph = self.tree.graph(module)?;
        graph.get(node)?;
        Ok(self.judge(module, graph, node))
    }

    fn judge(&mut self, module: ModuleId, graph: &Graph, node: NodeId) -> Impurity {
        let found = &graph[node];
        match found.op() {
            Op::Placeholder | Op::Output => Impurity::Acts,
            Op::GetAttr => Impurity::None,
            Op::CallModule => self.judge_call(module, graph.text(found.target())),
            Op::CallFunction => {
                let own = self.callee(graph, found).judge(graph, found, None);
                own.max(self.judge_passed(module, graph, node))
            }
            Op::CallMethod => {
                let receiver = receiver::of(self.tree, module, graph, found);
                if receiver == Some(receiver::Receiver::Module) && !matches!(graph.target(node), "__call__" | "forward")
                {
                    return Impurity::Acts; // `train`, `to`, `half`, ... change it
                }
                let own = self.callee(graph, found).judge(graph, found, receiver);
                own.max(self.judge_passed(module, graph, node))
            }
        }
    }

    fn callee(&mut self, graph: &Graph, node: &Node) -> Callee {
        let name = graph.text(node.target());
        let make = || match node.op() {
            Op::CallMethod => Callee::of_method(name),
            _ => Callee::of_function(name),
        };
        *self.targets.entry((node.op(), node.target())).or_insert_with(make)
    }

    /// A submodule is judged once. Modules nest no deeper than [`crate::ir::tree::MAX_MODULE_DEPTH`],
    /// and so does this.
    fn judge_call(&mut self, module: ModuleId, path: &str) -> Impurity {
        let Some(Member::Module(called)) = self.tree.resolve(module, path) else { return Impurity::Acts };
        if let Some(&known) = self.modules.get(&called) {
            return known;
        }
        let impurity = match self.tree.get(called).map(|found| found.kind()) {
            Ok(ModuleKind::Graph(_)) if leaf::is_marked(self.tree, called) => Impurity::Acts,
            Ok(ModuleKind::Graph(graph)) => {
                // Its placeholders and output are not what makes it impure.
                let inner = graph.nodes().filter(|&node| !matches!(graph[node].op(), Op::Placeholder | Op::Output));
                inner.fold(Impurity::None, |most, node| most.max(self.judge(called, graph, node)))
            }
            Ok(ModuleKind::Leaf) => leaf::judge(self.tree, called),
            Ok(ModuleKind::Holder) | Err(_) => Impurity::Acts,
        };
        self.modules.insert(called, impurity);
        impurity
    }

    /// A module that is handed to a function may be called by it (`cond`, `while_loop`).
    fn judge_passed(&mut self, module: ModuleId, graph: &Graph, node: NodeId) -> Impurity {
        let tree = self.tree;
        let read = graph.input_nodes(node).filter(|&input| graph[input].op() == Op::GetAttr);
        read.fold(Impurity::None, |most, input| {
            let target = graph.target(input);
            match tree.resolve(module, target) {
                Some(Member::Module(_)) => most.max(self.judge_call(module, target)),
                _ => most,
            }
        })
    }
}

/// Anything but what is surely false: it may be a node.
fn may_be_true(argument: &Argument) -> bool {
    match argument {
        Argument::Bool(false) | Argument::None | Argument::Int(0) => false,
        Argument::Float(value) => *value != 0.0,
        _ => true,
    }
}

#[cfg(test)]
mod tests;
