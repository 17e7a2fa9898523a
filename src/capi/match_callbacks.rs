//! What the caller says in a search or a rewrite, as the passes ask it.

use super::args::ArgsRecord;
use super::argument::fxir_arg;
use super::error::{Failure, Outcome};
use super::handle;
use super::input;
use super::matches::{fxir_matches, MatchesRecord, PatternNodes};
use super::module::fxir_module;
use super::module_handle::{self, ModuleHandle};
use super::node::fxir_node;
use super::tree_cell::Planning;
use crate::ir::{Argument, Error, ErrorKind, ModuleId, ModuleTree, NodeId, Result, Symbols};
use crate::passes::subgraph_matcher::{Binding, MatchCallbacks};
use crate::passes::subgraph_rewriter::RewriteCallbacks;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

/// Decides on a match: stores 1 into `*verdict` to keep it, 0 to reject it; it is 1 before the call.
/// A match that is rejected claims no nodes, so that others may overlap it. Returns 0, or a code of
/// its own that stops the whole call with `FXIR_CALLBACK`.
///
/// `matches` holds the one match, at index 0, and is dead once the callback returns. `module` is a
/// view for reading only, and dead then too; any other use of that module on this thread is
/// `FXIR_BUSY` meanwhile. Must not throw or longjmp.
pub type fxir_match_filter = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        module: *const fxir_module,
        matches: *const fxir_matches,
        verdict: *mut i32,
    ) -> i32,
>;

/// Decides whether `node` of the module does what `pattern_node` of the pattern does, arguments left
/// aside: stores 1 or 0 into `*verdict`, which holds the library's own verdict before the call. Asked
/// of all nodes that the search comes to, but placeholders that anything meets, and outputs; perhaps
/// more than once of the same two. Returns 0, or a code of its own that stops the whole call with
/// `FXIR_CALLBACK`.
///
/// `module` is a view as filters get it. Must not throw or longjmp. torch.fx:
/// `SubgraphMatcher._nodes_are_equal`.
pub type fxir_match_nodes = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        module: *const fxir_module,
        node: fxir_node,
        pattern_node: fxir_node,
        verdict: *mut i32,
    ) -> i32,
>;

/// Decides whether an argument without nodes meets one of the pattern: stores 1 or 0 into `*verdict`,
/// which holds the library's own verdict before the call. Returns 0, or a code of its own that stops
/// the whole call with `FXIR_CALLBACK`. Both literals are dead once it returns. Must not throw or
/// longjmp. torch.fx: `SubgraphMatcher._match_literals`.
pub type fxir_match_literals = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        literal: *const fxir_arg,
        pattern_literal: *const fxir_arg,
        verdict: *mut i32,
    ) -> i32,
>;

/// Gives what is to take the place of a match: stores a module into `*replacement`, which is NULL
/// before the call. NULL leaves the match as it is. The library takes the handle over and frees it;
/// `fxir_module_retain` makes one of a module that the caller keeps. Returns 0, or a code of its own
/// that stops the whole call with `FXIR_CALLBACK`; then `*replacement` is not looked at.
///
/// Asked about each match, in order, once all are found; `module` and `matches` are as filters get
/// them. Must not throw or longjmp. torch.fx: `replacement_callback`.
pub type fxir_build_replacement = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        module: *const fxir_module,
        matches: *const fxir_matches,
        replacement: *mut *mut fxir_module,
    ) -> i32,
>;

/// Tells what is known of a node of a replacement, by `fxir_node_set_...` on `replacement`: a copy of
/// the replacement for one match, whose placeholders know what the nodes know that they stand for.
/// Nodes are asked about in order, so that what a node uses was told before. Returns 0, or a code of
/// its own that stops the whole call with `FXIR_CALLBACK`. `replacement` is the library's, and dead
/// once the call that rewrites has returned. Must not throw or longjmp.
pub type fxir_fill_in_meta =
    Option<unsafe extern "C" fn(user_data: *mut c_void, replacement: *mut fxir_module, node: fxir_node) -> i32>;

type Filter = unsafe extern "C" fn(*mut c_void, *const fxir_module, *const fxir_matches, *mut i32) -> i32;
type Nodes = unsafe extern "C" fn(*mut c_void, *const fxir_module, fxir_node, fxir_node, *mut i32) -> i32;
type Literals = unsafe extern "C" fn(*mut c_void, *const fxir_arg, *const fxir_arg, *mut i32) -> i32;
type Build = unsafe extern "C" fn(*mut c_void, *const fxir_module, *const fxir_matches, *mut *mut fxir_module) -> i32;
type FillIn = unsafe extern "C" fn(*mut c_void, *mut fxir_module, fxir_node) -> i32;

/// Functions of the caller's, each with what it is passed; none where the library decides.
#[derive(Clone, Copy, Default)]
pub(super) struct RuleCallbacks {
    pub(super) filter: Option<(Filter, *mut c_void)>,
    pub(super) nodes: Option<(Nodes, *mut c_void)>,
    pub(super) literals: Option<(Literals, *mut c_void)>,
    pub(super) build: Option<(Build, *mut c_void)>,
}

/// A function that tells what nodes of a target yield.
#[derive(Clone)]
pub(super) struct MetaFunction {
    pub(super) target: String,
    pub(super) function: FillIn,
    pub(super) data: *mut c_void,
}

/// Whom to ask about one rule.
pub(super) struct Asked<'a> {
    pub(super) nodes: Arc<PatternNodes>,
    pub(super) callbacks: RuleCallbacks,
    pub(super) meta: &'a [MetaFunction],
}

/// The caller's functions, as the passes ask them; a failure is kept as it was.
pub(super) struct Asking<'a> {
    module: &'a ModuleHandle,
    plan: &'a Planning<'a>,
    /// The plan of the module that a copy stands for, which is closed to callbacks too.
    outer: Option<&'a Planning<'a>>,
    rules: &'a [Asked<'a>],
    failure: Option<Box<Failure>>,
}

/// Runs a search or a rewrite that asks the caller; its failure comes out as it was.
pub(super) fn asking<T>(
    module: &ModuleHandle,
    plan: &Planning<'_>,
    outer: Option<&Planning<'_>>,
    rules: &[Asked<'_>],
    run: impl FnOnce(&mut Asking<'_>) -> Result<T>,
) -> Outcome<T> {
    let mut asking = Asking { module, plan, outer, rules, failure: None };
    let result = run(&mut asking);
    match asking.failure {
        Some(failure) => Err(failure),
        None => Ok(result?),
    }
}

impl Asking<'_> {
    /// Keeps a failure for later, and stops the pass.
    fn keep<T>(&mut self, outcome: Outcome<T>) -> Result<T> {
        outcome.map_err(|found| {
            self.failure = Some(found);
            Error::new(ErrorKind::Callback(0), "a callback stopped the call")
        })
    }

    fn rule(&self, rule: usize) -> Option<&Asked<'_>> {
        self.rules.get(rule)
    }

    fn callbacks(&self, rule: usize) -> RuleCallbacks {
        self.rule(rule).map(|asked| asked.callbacks).unwrap_or_default()
    }

    fn call_out<T>(&self, callback: impl FnOnce() -> T) -> T {
        match self.outer {
            Some(outer) => outer.call_out(|| self.plan.call_out(callback)),
            None => self.plan.call_out(callback),
        }
    }

    fn with_view(&self, callback: impl FnOnce(*const fxir_module) -> i32) -> Outcome<()> {
        let run = || self.module.call_with_view(self.plan, callback);
        let code = match self.outer {
            Some(outer) => outer.call_out(run),
            None => run(),
        };
        succeeded(code?)
    }

    /// Calls with a view of the module, and with one match.
    fn with_match(
        &self,
        rule: usize,
        bindings: &[Binding],
        callback: impl FnOnce(*const fxir_module, *const fxir_matches) -> i32,
    ) -> Outcome<()> {
        let Some(asked) = self.rule(rule) else { return Ok(()) };
        let matches = handle::create(MatchesRecord::one(&asked.nodes, self.module.symbols(), bindings))?;
        let outcome = self.with_view(|view| callback(view, matches));
        handle::free::<MatchesRecord>(matches)?;
        outcome
    }

    fn ask_filter(&self, rule: usize, bindings: &[Binding]) -> Outcome<bool> {
        let Some((filter, data)) = self.callbacks(rule).filter else { return Ok(true) };
        let mut verdict = 1;
        self.with_match(rule, bindings, |view, matches| {
            // SAFETY: the caller's function, called as its type says.
            unsafe { filter(data, view, matches, &raw mut verdict) }
        })?;
        input::flag(verdict, "verdict")
    }

    fn ask_nodes(&self, rule: usize, pattern: NodeId, node: NodeId, equal: bool) -> Outcome<bool> {
        let Some((nodes, data)) = self.callbacks(rule).nodes else { return Ok(equal) };
        let mut verdict = i32::from(equal);
        self.with_view(|view| {
            // SAFETY: the caller's function, called as its type says.
            unsafe { nodes(data, view, node.to_bits(), pattern.to_bits(), &raw mut verdict) }
        })?;
        input::flag(verdict, "verdict")
    }

    fn ask_literals(&self, rule: usize, pattern: &Argument, literal: &Argument, equal: bool) -> Outcome<bool> {
        let (Some(asked), Some((literals, data))) = (self.rule(rule), self.callbacks(rule).literals) else {
            return Ok(equal);
        };
        let record = |symbols: &Arc<Symbols>, argument| ArgsRecord::new(symbols, std::slice::from_ref(argument), &[]);
        let (literal, pattern) = (record(self.module.symbols(), literal), record(asked.nodes.symbols(), pattern));
        let mut verdict = i32::from(equal);
        // SAFETY: the caller's function, called as its type says.
        let call = || unsafe { literals(data, literal.items().as_ptr(), pattern.items().as_ptr(), &raw mut verdict) };
        succeeded(self.call_out(call))?;
        input::flag(verdict, "verdict")
    }

    fn ask_replacement(&self, rule: usize, bindings: &[Binding]) -> Outcome<Option<(Arc<ModuleTree>, ModuleId)>> {
        let Some((build, data)) = self.callbacks(rule).build else { return Ok(None) };
        let mut replacement: *mut fxir_module = null_mut();
        self.with_match(rule, bindings, |view, matches| {
            // SAFETY: the caller's function, called as its type says.
            unsafe { build(data, view, matches, &raw mut replacement) }
        })?;
        if replacement.is_null() {
            return Ok(None);
        }
        let found = module_handle::module(replacement)?;
        let tree = found.snapshot()?;
        handle::free::<ModuleHandle>(replacement)?;
        Ok(Some((tree, found.id())))
    }

    fn ask_meta(&self, rule: usize, replacement: ModuleTree) -> Outcome<ModuleTree> {
        let Some(asked) = self.rule(rule) else { return Ok(replacement) };
        let root = replacement.root();
        let nodes: Vec<NodeId> = replacement.graph(root)?.nodes().collect();
        let module = ModuleHandle::root_of(replacement);
        let handle = handle::create(module.clone())?;
        let run = || -> Outcome<()> {
            for node in nodes {
                let tree = module.snapshot()?;
                let graph = tree.graph(root)?;
                let functions: Vec<&MetaFunction> = match graph.contains(node) {
                    true => asked.meta.iter().filter(|meta| meta.target == graph.target(node)).collect(),
                    false => Vec::new(),
                };
                // Else the first change would copy the tree.
                drop(tree);
                for meta in functions {
                    // SAFETY: the caller's function, called as its type says.
                    let call = || unsafe { (meta.function)(meta.data, handle, node.to_bits()) };
                    succeeded(self.call_out(call))?;
                }
            }
            Ok(())
        };
        let outcome = run();
        handle::free::<ModuleHandle>(handle)?;
        outcome?;
        let tree = module.snapshot()?;
        drop(module);
        Ok(Arc::unwrap_or_clone(tree))
    }
}

fn succeeded(code: i32) -> Outcome<()> {
    match code {
        0 => Ok(()),
        code => Err(Failure::callback(code)),
    }
}

impl MatchCallbacks for Asking<'_> {
    fn filter(&mut self, rule: usize, _: &ModuleTree, bindings: &[Binding]) -> Result<bool> {
        let verdict = self.ask_filter(rule, bindings);
        self.keep(verdict)
    }

    fn has_filter(&self, rule: usize) -> bool {
        self.callbacks(rule).filter.is_some()
    }

    fn nodes_are_equal(&mut self, rule: usize, pattern: NodeId, node: NodeId, equal: bool) -> Result<bool> {
        let verdict = self.ask_nodes(rule, pattern, node, equal);
        self.keep(verdict)
    }

    fn compares_nodes(&self, rule: usize) -> bool {
        self.callbacks(rule).nodes.is_some()
    }

    fn literals_are_equal(&mut self, rule: usize, pattern: &Argument, literal: &Argument, equal: bool) -> Result<bool> {
        let verdict = self.ask_literals(rule, pattern, literal, equal);
        self.keep(verdict)
    }

    fn compares_literals(&self, rule: usize) -> bool {
        self.callbacks(rule).literals.is_some()
    }
}

impl RewriteCallbacks for Asking<'_> {
    fn replacement(
        &mut self,
        rule: usize,
        _: &ModuleTree,
        bindings: &[Binding],
    ) -> Result<Option<(Arc<ModuleTree>, ModuleId)>> {
        let replacement = self.ask_replacement(rule, bindings);
        self.keep(replacement)
    }

    fn has_meta_functions(&self, rule: usize) -> bool {
        self.rule(rule).is_some_and(|asked| !asked.meta.is_empty())
    }

    fn fill_in_meta(&mut self, rule: usize, replacement: ModuleTree) -> Result<ModuleTree> {
        let filled = self.ask_meta(rule, replacement);
        self.keep(filled)
    }
}
