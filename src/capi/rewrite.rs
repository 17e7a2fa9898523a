//! Looking for patterns and replacing them.

use super::boundary;
use super::error::{fxir_error, Failure, Outcome};
use super::input::{self, Out};
use super::match_callbacks::{asking, fxir_build_replacement, fxir_fill_in_meta, Asked, MetaFunction, RuleCallbacks};
use super::match_options::{fxir_match_options, Matching};
use super::matches::{fxir_matches, MatchesRecord, PatternNodes};
use super::module::fxir_module;
use super::module_handle::{self, ModuleHandle};
use super::status::*;
use crate::ir::{ModuleId, ModuleTree};
use crate::passes::subgraph_matcher::{match_pattern, MatchCallbacks, MatchOptions, Pattern};
use crate::passes::subgraph_rewriter::{MemberConflict, Rewrite, Rule};
use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// The module's own member is used, as in torch.fx.
pub const FXIR_MEMBERS_KEEP: i32 = 0;
/// The replacement's member gets a name that is free: "act_1".
pub const FXIR_MEMBERS_RENAME: i32 = 1;
/// The rewrite is refused with `FXIR_ALREADY_EXISTS`.
pub const FXIR_MEMBERS_REFUSE: i32 = 2;

/// A function that tells what the nodes of one target yield, in replacements.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_meta_function {
    /// What the nodes call: "torch.add". Read during the call that it is given to.
    pub target: *const c_char,
    /// Called for each such node.
    pub function: fxir_fill_in_meta,
    /// Passed to `function`.
    pub user_data: *mut c_void,
}

/// What takes the place of a pattern, and how. Make one with `fxir_rewrite_options_init`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_rewrite_options {
    /// `sizeof(fxir_rewrite_options)`, set by `fxir_rewrite_options_init`.
    pub struct_size: usize,
    /// How the pattern is compared; NULL for the defaults.
    pub match_options: *const fxir_match_options,
    /// What takes the place of every match; NULL: `build` is asked. Just one of the two is given.
    pub replacement: *const fxir_module,
    /// Gives what takes the place of each match.
    pub build: fxir_build_replacement,
    /// Passed to `build`.
    pub build_data: *mut c_void,
    /// What becomes of a member that a replacement brings when the module has another of its name:
    /// one of FXIR_MEMBERS_*. A member that is the same, a copy of one module or a tensor in the same
    /// place, is no other.
    pub members: i32,
    /// Must be 0.
    pub reserved: i32,
    /// Tell what nodes of the replacement yield; NULL when there are none. Several of one target are
    /// called one after the other.
    pub meta_functions: *const fxir_meta_function,
    /// How many there are.
    pub meta_function_count: usize,
}

/// Makes `*options` the defaults: nothing takes a pattern's place yet. Does nothing when it is NULL.
#[no_mangle]
pub unsafe extern "C" fn fxir_rewrite_options_init(options: *mut fxir_rewrite_options) {
    if !options.is_null() {
        options.write(fxir_rewrite_options {
            struct_size: size_of::<fxir_rewrite_options>(),
            match_options: null(),
            replacement: null(),
            build: None,
            build_data: null_mut(),
            members: FXIR_MEMBERS_KEEP,
            reserved: 0,
            meta_functions: null(),
            meta_function_count: 0,
        });
    }
}

/// A graph that is only read, as it was when the call began.
pub(super) type Side = (Arc<ModuleTree>, ModuleId);

pub(super) unsafe fn side(module: *const fxir_module) -> Outcome<Side> {
    let module = module_handle::module(module)?;
    Ok((module.snapshot()?, module.id()))
}

/// A pattern and what takes its place, taken over from the caller.
pub(super) struct OwnedRule {
    pattern: Side,
    matching: Matching,
    replacement: Option<Side>,
    members: MemberConflict,
    meta: Vec<MetaFunction>,
}

impl OwnedRule {
    pub(super) unsafe fn read(pattern: Side, options: *const fxir_rewrite_options) -> Outcome<OwnedRule> {
        // SAFETY: passed on.
        unsafe {
            let given = input::options(options, "options")?;
            if given.reserved != 0 {
                return Err(Failure::new(FXIR_INVALID_ARGUMENT, "`options.reserved` is not 0"));
            }
            if given.replacement.is_null() == given.build.is_none() {
                let message = "`options` need either a `replacement` or a function `build`";
                return Err(Failure::new(FXIR_INVALID_ARGUMENT, message));
            }
            let mut matching = Matching::for_rewrite(given.match_options)?;
            matching.callbacks.build = given.build.map(|build| (build, given.build_data));
            let replacement = match given.replacement.is_null() {
                true => None,
                false => Some(side(given.replacement)?),
            };
            let members = match given.members {
                FXIR_MEMBERS_KEEP => MemberConflict::Keep,
                FXIR_MEMBERS_RENAME => MemberConflict::Rename,
                FXIR_MEMBERS_REFUSE => MemberConflict::Refuse,
                other => {
                    let message = format!("`options.members` is {other}, none of FXIR_MEMBERS_*");
                    return Err(Failure::new(FXIR_INVALID_ARGUMENT, message));
                }
            };
            let meta = input::slice(given.meta_functions, given.meta_function_count, "options.meta_functions")?;
            let meta: Outcome<Vec<MetaFunction>> = meta.iter().map(|meta| meta_function(meta)).collect();
            let rule = OwnedRule { pattern, matching, replacement, members, meta: meta? };
            // What no search would take is refused now.
            rule.prepare()?;
            Ok(rule)
        }
    }

    pub(super) fn prepare(&self) -> Outcome<Pattern<'_>> {
        self.matching.pattern(&self.pattern.0, self.pattern.1)
    }

    pub(super) fn rule<'a>(&'a self, pattern: &'a Pattern<'a>) -> Rule<'a> {
        let replacement = self.replacement.as_ref().map(|(tree, module)| (&**tree, *module));
        Rule { pattern, options: self.matching.options, replacement, members: self.members }
    }

    pub(super) fn asked(&self, pattern: &Pattern<'_>) -> Asked<'_> {
        let nodes = PatternNodes::new(pattern, false);
        Asked { nodes, callbacks: self.matching.callbacks, meta: &self.meta }
    }
}

unsafe fn meta_function(given: &fxir_meta_function) -> Outcome<MetaFunction> {
    // SAFETY: passed on.
    let target = unsafe { input::text(given.target, "options.meta_functions.target") }?.to_owned();
    let function = given.function.ok_or_else(|| input::null("options.meta_functions.function"))?;
    Ok(MetaFunction { target, function, data: given.user_data })
}

/// Finds every match of the graph of `pattern` in the graph of `module`, and changes nothing.
///
/// Placeholders of the pattern are met by anything, other nodes by nodes that do the same with the
/// same arguments; only what the pattern returns may be used outside a match. `options` may be NULL
/// for the defaults. The caller frees `*matches`.
///
/// Statuses: FXIR_INVALID_ARGUMENT (the pattern has no output, a node that nothing uses, or a
/// placeholder that it only returns; with `name_node_map` an output that does not end in such a dict;
/// unknown options; a verdict that is neither 0 nor 1), FXIR_LINT
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
        let matching = Matching::read(options)?;
        let module = module_handle::module(module)?;
        let pattern = side(pattern)?;
        let prepared = matching.pattern(&pattern.0, pattern.1)?;
        let nodes = PatternNodes::new(&prepared, matching.options.match_output);
        let options: MatchOptions = matching.options;
        let find = |tree: &ModuleTree, callbacks: &mut dyn MatchCallbacks| {
            crate::ir::lint::lint_edits(tree, module.id())?;
            match_pattern(tree, module.id(), &prepared, &options, callbacks)
        };
        let RuleCallbacks { filter, nodes: equal, literals, .. } = matching.callbacks;
        let found = if filter.is_some() || equal.is_some() || literals.is_some() {
            let plan = module.lock_plan()?;
            let asked = Asked { nodes: nodes.clone(), callbacks: matching.callbacks, meta: &[] };
            asking(&module, &plan, None, &[asked], |asking| find(&plan, asking))?
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
        replace(module, side(pattern)?, side(replacement)?, options, matches)
    })
}

/// Replaces every match of the graph of `pattern` in the graph of `module`, as `fxir_replace_pattern`
/// does, by what `options` say: one replacement for all, or one that a callback builds for each match.
/// `options` is required; `matches` may be NULL, and holds only those that were replaced.
///
/// The callbacks are done with before anything changes. When nothing matches, or the call fails,
/// nothing changes.
///
/// Statuses: those of `fxir_replace_pattern`; FXIR_INVALID_ARGUMENT too when `options` give neither or
/// both of `replacement` and `build`; FXIR_ALREADY_EXISTS (FXIR_MEMBERS_REFUSE and a member of that
/// name); FXIR_INVALID_HANDLE (`build` gave what is no module). torch.fx: `replace_pattern_with_filters`
/// with its `replacement_callback`.
#[no_mangle]
pub unsafe extern "C" fn fxir_replace_pattern_with(
    module: *mut fxir_module,
    pattern: *const fxir_module,
    options: *const fxir_rewrite_options,
    matches: *mut *mut fxir_matches,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let module = module_handle::module(module)?;
        let rule = OwnedRule::read(side(pattern)?, options)?;
        replace_by(&module, rule, matches)
    })
}

/// What replacing comes to, wherever the two sides are from.
pub(super) unsafe fn replace(
    module: ModuleHandle,
    pattern: Side,
    replacement: Side,
    options: *const fxir_match_options,
    matches: *mut *mut fxir_matches,
) -> Outcome<()> {
    // SAFETY: passed on.
    unsafe {
        let matching = Matching::for_rewrite(options)?;
        let (members, meta) = (MemberConflict::Keep, Vec::new());
        replace_by(&module, OwnedRule { pattern, matching, replacement: Some(replacement), members, meta }, matches)
    }
}

unsafe fn replace_by(module: &ModuleHandle, rule: OwnedRule, matches: *mut *mut fxir_matches) -> Outcome<()> {
    let matches = Out::optional(matches);
    let prepared = rule.prepare()?;
    let asked = [rule.asked(&prepared)];
    let plan = module.lock_plan()?;
    let rewrite = asking(module, &plan, None, &asked, |asking| {
        Rewrite::compute(&plan, module.id(), &[rule.rule(&prepared)], asking)
    })?;
    let nodes = asked[0].nodes.clone();
    // Else a tree that holds both sides would be copied for the change.
    drop((asked, prepared));
    drop(rule);
    let replaced = rewrite.apply(&mut *plan.write()?)?.pop().unwrap_or_default();
    matches.set_handle(MatchesRecord::replaced(&nodes, module.symbols(), replaced))
}
