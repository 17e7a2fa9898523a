//! Looking for patterns and replacing them.

use super::boundary;
use super::error::{fxir_error, Failure, Outcome};
use super::handle;
use super::input::{self, Out};
use super::matches::{fxir_matches, MatchesRecord, PatternNodes};
use super::module::fxir_module;
use super::module_handle::{self, ModuleHandle};
use super::status::*;
use super::tree_cell::Planning;
use crate::ir::{Error, ErrorKind, ModuleId, ModuleTree, Result};
use crate::passes::subgraph_matcher::{match_pattern, Binding, MatchCallbacks, MatchOptions, ModuleMatching, Pattern};
use crate::passes::subgraph_rewriter::{Rewrite, RewriteCallbacks, Rule};
use std::ffi::c_void;
use std::sync::Arc;

/// Two calls of modules are alike when the types of the modules are the same.
pub const FXIR_MATCH_MODULES_BY_TYPE: i32 = 0;
/// Two calls of modules are alike when their paths are the same, as in torch 2.
pub const FXIR_MATCH_MODULES_BY_TARGET: i32 = 1;
/// Two calls of modules are alike when types and all settings that are no tensors are the same.
pub const FXIR_MATCH_MODULES_BY_TYPE_AND_SETTINGS: i32 = 2;

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

/// How a pattern is compared with a graph. Make one with `fxir_match_options_init`; torch's options
/// of these names.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_match_options {
    /// `sizeof(fxir_match_options)`, set by `fxir_match_options_init`.
    pub struct_size: usize,
    /// 1: the pattern's output must be the graph's. `fxir_replace_pattern` takes 0 only.
    pub match_output: i32,
    /// 1: a placeholder of the pattern is met by a placeholder only, not by anything.
    pub match_placeholder: i32,
    /// 1: keep matches that share a node; by default only the first is kept. `fxir_replace_pattern`
    /// takes 0 only.
    pub keep_overlapping_matches: i32,
    /// 1: a literal is met by any literal, though never by a node.
    pub ignore_literals: i32,
    /// What makes two calls of modules alike: one of FXIR_MATCH_MODULES_*.
    pub modules: i32,
    /// Must be 0.
    pub reserved: i32,
    /// Decides on each match; NULL keeps all.
    pub filter: fxir_match_filter,
    /// Passed to `filter`.
    pub filter_data: *mut c_void,
}

/// Makes `*options` the defaults. Does nothing when it is NULL.
#[no_mangle]
pub unsafe extern "C" fn fxir_match_options_init(options: *mut fxir_match_options) {
    if !options.is_null() {
        options.write(defaults());
    }
}

fn defaults() -> fxir_match_options {
    fxir_match_options {
        struct_size: size_of::<fxir_match_options>(),
        match_output: 0,
        match_placeholder: 0,
        keep_overlapping_matches: 0,
        ignore_literals: 0,
        modules: FXIR_MATCH_MODULES_BY_TYPE,
        reserved: 0,
        filter: None,
        filter_data: std::ptr::null_mut(),
    }
}

/// The options as the pass takes them.
unsafe fn read(options: *const fxir_match_options) -> Outcome<(MatchOptions, Filter)> {
    let given = match options.is_null() {
        true => defaults(),
        // SAFETY: passed on.
        false => unsafe { input::options(options, "options") }?,
    };
    if given.reserved != 0 {
        return Err(Failure::new(FXIR_INVALID_ARGUMENT, "`options.reserved` is not 0"));
    }
    let modules = match given.modules {
        FXIR_MATCH_MODULES_BY_TYPE => ModuleMatching::Type,
        FXIR_MATCH_MODULES_BY_TARGET => ModuleMatching::Target,
        FXIR_MATCH_MODULES_BY_TYPE_AND_SETTINGS => ModuleMatching::TypeAndSettings,
        other => {
            let message = format!("`options.modules` is {other}, none of FXIR_MATCH_MODULES_*");
            return Err(Failure::new(FXIR_INVALID_ARGUMENT, message));
        }
    };
    let options = MatchOptions {
        match_output: input::flag(given.match_output, "options.match_output")?,
        match_placeholder: input::flag(given.match_placeholder, "options.match_placeholder")?,
        remove_overlapping_matches: !input::flag(given.keep_overlapping_matches, "options.keep_overlapping_matches")?,
        ignore_literals: input::flag(given.ignore_literals, "options.ignore_literals")?,
        modules,
        ..MatchOptions::default()
    };
    Ok((options, Filter { filter: given.filter, data: given.filter_data }))
}

#[derive(Clone, Copy)]
struct Filter {
    filter: fxir_match_filter,
    data: *mut c_void,
}

impl Filter {
    /// Asks the caller about one match.
    fn ask(
        &self,
        module: &ModuleHandle,
        plan: &Planning<'_>,
        pattern: &Arc<PatternNodes>,
        bindings: &[Binding],
    ) -> Outcome<bool> {
        let Some(filter) = self.filter else { return Ok(true) };
        let matches = handle::create(MatchesRecord::one(pattern, module.symbols(), bindings))?;
        let mut verdict = 1;
        let code = module.call_with_view(plan, |view| {
            // SAFETY: the caller's function, called as its type says.
            unsafe { filter(self.data, view, matches, &raw mut verdict) }
        });
        handle::free::<MatchesRecord>(matches)?;
        match code? {
            0 => input::flag(verdict, "verdict"),
            code => Err(Failure::callback(code)),
        }
    }
}

/// The caller's filter, as the passes ask it; its failure is kept as it was.
struct Asking<'a> {
    module: &'a ModuleHandle,
    plan: &'a Planning<'a>,
    nodes: &'a Arc<PatternNodes>,
    filter: Filter,
    failure: Option<Box<Failure>>,
}

impl MatchCallbacks for Asking<'_> {
    fn filter(&mut self, _: usize, _: &ModuleTree, bindings: &[Binding]) -> Result<bool> {
        self.filter.ask(self.module, self.plan, self.nodes, bindings).map_err(|found| {
            self.failure = Some(found);
            Error::new(ErrorKind::Callback(0), "a filter stopped the search")
        })
    }

    fn has_filter(&self, _: usize) -> bool {
        self.filter.filter.is_some()
    }
}

impl RewriteCallbacks for Asking<'_> {}

/// Runs a search whose filter is the caller's; its failure comes out as it was.
fn search<T>(
    module: &ModuleHandle,
    plan: &Planning<'_>,
    nodes: &Arc<PatternNodes>,
    filter: Filter,
    run: impl FnOnce(&mut Asking<'_>) -> Result<T>,
) -> Outcome<T> {
    let mut asking = Asking { module, plan, nodes, filter, failure: None };
    let result = run(&mut asking);
    match asking.failure {
        Some(failure) => Err(failure),
        None => Ok(result?),
    }
}

/// Finds every match of the graph of `pattern` in the graph of `module`, and changes nothing.
///
/// Placeholders of the pattern are met by anything, other nodes by nodes that do the same with the
/// same arguments; only what the pattern returns may be used outside a match. `options` may be NULL
/// for the defaults. The caller frees `*matches`.
///
/// Statuses: FXIR_INVALID_ARGUMENT (the pattern has no output, a node that nothing uses, or a
/// placeholder that it only returns; unknown options; a verdict that is neither 0 nor 1), FXIR_LINT
/// (a graph is not in order), FXIR_UNSUPPORTED (newer options), FXIR_CALLBACK. torch.fx:
/// `SubgraphMatcher.match`.
#[no_mangle]
pub unsafe extern "C" fn fxir_match_pattern(
    module: *const fxir_module,
    pattern: *const fxir_module,
    options: *const fxir_match_options,
    matches: *mut *mut fxir_matches,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let matches = Out::required(matches, "matches")?;
        let (options, filter) = read(options)?;
        let module = module_handle::module(module)?;
        let pattern = module_handle::module(pattern)?;
        let pattern_tree = pattern.snapshot()?;
        let prepared = Pattern::new(&pattern_tree, pattern.id())?;
        let nodes = PatternNodes::new(&prepared, options.match_output);
        let find = |tree: &ModuleTree, callbacks: &mut dyn MatchCallbacks| {
            crate::ir::lint::lint(tree, module.id())?;
            match_pattern(tree, module.id(), &prepared, &options, callbacks)
        };
        let found = if filter.filter.is_some() {
            let plan = module.lock_plan()?;
            search(&module, &plan, &nodes, filter, |asking| find(&plan, asking))?
        } else {
            find(&*module.snapshot()?, &mut ())?
        };
        matches.set_handle(MatchesRecord::all(&nodes, module.symbols(), found))
    })
}

/// Replaces every match of the graph of `pattern` in the graph of `module` by the graph of
/// `replacement`.
///
/// Placeholders of the two correspond by position, and so do the nodes they return. New nodes stand
/// right before the first user of what they replace, and one that takes the place of a returned node
/// takes over what was known of it. A placeholder that the pattern returns stays what it is, and the
/// replacement has to return the same one. Members that the replacement's nodes name are copied over
/// unless the module has one of that name; then every submodule that no node uses is
/// deleted. When nothing matches, or the call fails, nothing changes.
///
/// The three modules may be of one tree. `options` and `matches` may be NULL; the caller frees
/// `*matches`.
///
/// Statuses: FXIR_INVALID_ARGUMENT (what `fxir_match_pattern` refuses; pattern and replacement differ
/// in the numbers of placeholders or returned nodes, or in a placeholder that is returned; options
/// that only a search takes; the replacement calls what is an attribute of its own), FXIR_LINT (a
/// graph is not in order), FXIR_NOT_FOUND (the replacement names a member that neither module has),
/// FXIR_ALREADY_EXISTS (a member of the replacement would stand where, or below where, the module has
/// an attribute), FXIR_UNSUPPORTED (newer options), FXIR_CALLBACK, FXIR_LIMIT. torch.fx:
/// `replace_pattern_with_filters`.
#[no_mangle]
pub unsafe extern "C" fn fxir_replace_pattern(
    module: *mut fxir_module,
    pattern: *const fxir_module,
    replacement: *const fxir_module,
    options: *const fxir_match_options,
    matches: *mut *mut fxir_matches,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let module = module_handle::module(module)?;
        let pattern = module_handle::module(pattern)?;
        let replacement = module_handle::module(replacement)?;
        let pattern = (pattern.snapshot()?, pattern.id());
        let replacement = (replacement.snapshot()?, replacement.id());
        replace(module, pattern, replacement, options, matches)
    })
}

/// What replacing comes to, wherever the two sides are from.
pub(super) unsafe fn replace(
    module: ModuleHandle,
    pattern: (Arc<ModuleTree>, ModuleId),
    replacement: (Arc<ModuleTree>, ModuleId),
    options: *const fxir_match_options,
    matches: *mut *mut fxir_matches,
) -> Outcome<()> {
    let matches = Out::optional(matches);
    let (options, filter) = read(options)?;
    if options.match_output || !options.remove_overlapping_matches {
        let message = "a rewrite takes neither `match_output` nor `keep_overlapping_matches`";
        return Err(Failure::new(FXIR_INVALID_ARGUMENT, message));
    }
    let prepared = Pattern::new(&pattern.0, pattern.1)?;
    let nodes = PatternNodes::new(&prepared, false);
    let plan = module.lock_plan()?;
    let rule = Rule { options, replacement: Some((&*replacement.0, replacement.1)), ..Rule::new(&prepared) };
    let rewrite =
        search(&module, &plan, &nodes, filter, |asking| Rewrite::compute(&plan, module.id(), &[rule], asking))?;
    // Else a tree that holds both sides would be copied for the change.
    drop(prepared);
    drop((pattern, replacement));
    let replaced = rewrite.apply(&mut *plan.write()?)?.pop().unwrap_or_default();
    matches.set_handle(MatchesRecord::replaced(&nodes, module.symbols(), replaced))
}
