//! Many rules in one walk: `fxir_pattern_set`.

use super::boundary;
use super::error::{fxir_error, Outcome};
use super::handle::{self, Handle};
use super::input::{self, Out};
use super::match_callbacks::{asking, Asked};
use super::matches::{fxir_matches, MatchesRecord};
use super::module::fxir_module;
use super::module_handle::{self, ModuleHandle};
use super::release;
use super::rewrite::{fxir_rewrite_options, side, OwnedRule};
use super::status::*;
use super::tree_cell::Planning;
use crate::passes::subgraph_matcher::Pattern;
use crate::passes::subgraph_rewriter::{Replaced, Rewrite, Rounds, Rule};
use parking_lot::Mutex;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

/// Patterns, each with what takes its place: rules that are applied together. It holds copies of
/// patterns and replacements as they were when they were added. Freed with `fxir_pattern_set_free`.
/// Several threads may apply one set at once, also while rules are added; its callbacks are called
/// on the threads that apply it.
pub struct fxir_pattern_set;

/// Gives back what a rule's callbacks are passed: called exactly once, with no lock held, on any
/// thread, when the set was freed and no call uses the rule any more.
pub type fxir_destroy = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

struct PatternSet {
    rules: Mutex<Vec<Arc<SetRule>>>,
}

struct SetRule {
    rule: OwnedRule,
    destroy: Option<unsafe extern "C" fn(user_data: *mut c_void)>,
    destroy_data: *mut c_void,
}

// SAFETY: the pointers are the caller's; by the contract of `fxir_pattern_set` its callbacks may be
// called on any thread.
unsafe impl Send for SetRule {}
// SAFETY: as above; nothing in it changes.
unsafe impl Sync for SetRule {}

impl Drop for SetRule {
    fn drop(&mut self) {
        if let Some(destroy) = self.destroy {
            let data = self.destroy_data;
            // SAFETY: the caller's function, called once, as its type says.
            release::run_unlocked(move || unsafe { destroy(data) });
        }
    }
}

impl Handle for PatternSet {
    type C = fxir_pattern_set;
    const WHAT: &'static str = "pattern set";
}

/// Makes an empty set, which the caller frees.
#[no_mangle]
pub unsafe extern "C" fn fxir_pattern_set_new(
    set: *mut *mut fxir_pattern_set,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || Out::required(set, "set")?.set_handle(PatternSet { rules: Mutex::new(Vec::new()) }))
}

/// Adds a rule: a pattern and what takes its place. Rules are counted from 0 in the order in which
/// they are added; `rule`, which may be NULL, gets the number. Both sides may be changed and freed
/// after. `destroy`, which may be NULL, is called with `destroy_data` once the rule is used no more;
/// never when this call fails.
///
/// Statuses: FXIR_INVALID_ARGUMENT and FXIR_LINT (a pattern that `fxir_match_pattern` refuses, options
/// that `fxir_replace_pattern_with` refuses; whether pattern and replacement fit is seen when the set
/// is applied), FXIR_UNSUPPORTED (newer options), FXIR_INVALID_UTF8.
#[no_mangle]
pub unsafe extern "C" fn fxir_pattern_set_add(
    set: *mut fxir_pattern_set,
    pattern: *const fxir_module,
    options: *const fxir_rewrite_options,
    destroy: fxir_destroy,
    destroy_data: *mut c_void,
    rule: *mut usize,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let number = Out::optional(rule);
        let rule = OwnedRule::read(side(pattern)?, options)?;
        let set = handle::get::<PatternSet>(set)?;
        let mut rules = set.rules.lock();
        rules.push(Arc::new(SetRule { rule, destroy, destroy_data }));
        number.set(rules.len() - 1);
        Ok(())
    })
}

/// How many rules there are; 0 when `set` is none.
#[no_mangle]
pub extern "C" fn fxir_pattern_set_count(set: *const fxir_pattern_set) -> usize {
    boundary::value(0, || Ok(handle::get::<PatternSet>(set)?.rules.lock().len()))
}

/// Applies all rules in one walk over the graph of `module`. At each node the rules are tried in their
/// order, those that cannot match there left aside; no two matches share a node, and what one rule
/// puts in, another does not see. `matches` has room for `matches_count` handles, which the caller
/// frees: what each of the first rules replaced, NULL beyond the last one. It may be NULL when there is
/// room for none. When nothing matches, or the call fails, nothing changes.
///
/// Statuses: those of `fxir_replace_pattern_with`.
#[no_mangle]
pub unsafe extern "C" fn fxir_pattern_set_apply(
    set: *const fxir_pattern_set,
    module: *mut fxir_module,
    matches: *mut *mut fxir_matches,
    matches_count: usize,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let handing_out = HandingOut::new(matches, matches_count)?;
        let module = module_handle::module(module)?;
        let rules = Rules::of(set)?;
        let patterns = rules.patterns()?;
        let asked = rules.asked(&patterns);
        let plan = module.lock_plan()?;
        let rewrite = asking(&module, &plan, None, &asked, |asking| {
            Rewrite::compute(&plan, module.id(), &rules.rules(&patterns), asking)
        })?;
        let replaced = rewrite.apply(&mut *plan.write()?)?;
        handing_out.set(&module, &asked, replaced)
    })
}

/// Applies all rules again and again until none matches any more. `matches` are as in
/// `fxir_pattern_set_apply`, over all rounds: nodes of replacements that were replaced in turn are not
/// among them, and what placeholders met is what took its place. `rounds`, which may be NULL, gets how
/// often something was replaced. When the call fails, nothing changes.
///
/// Statuses: those of `fxir_replace_pattern_with`; FXIR_LIMIT (a rule, which the message names, still
/// matches after `limit` rounds).
#[no_mangle]
pub unsafe extern "C" fn fxir_pattern_set_apply_to_fixpoint(
    set: *const fxir_pattern_set,
    module: *mut fxir_module,
    limit: usize,
    matches: *mut *mut fxir_matches,
    matches_count: usize,
    rounds: *mut usize,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let handing_out = HandingOut::new(matches, matches_count)?;
        let count = Out::optional(rounds);
        let module = module_handle::module(module)?;
        let rules = Rules::of(set)?;
        let patterns = rules.patterns()?;
        let asked = rules.asked(&patterns);
        let plan = module.lock_plan()?;
        // Callbacks see each round on a copy; the module itself changes once, at the end.
        let copy = ModuleHandle::root_of((*plan).clone()).sibling(module.id());
        let rounds = rules.settle(&patterns, &asked, &copy, &plan, limit)?;
        let applied = rounds.count();
        let tree = copy.snapshot()?;
        drop(copy);
        let replaced = rounds.finish(tree.graph(module.id())?);
        let mut changed = plan.write()?;
        if applied > 0 {
            changed.replace(tree);
        }
        drop(changed);
        handing_out.set(&module, &asked, replaced)?;
        count.set(applied);
        Ok(())
    })
}

/// Frees a set. NULL and a dead handle do nothing.
#[no_mangle]
pub extern "C" fn fxir_pattern_set_free(set: *mut fxir_pattern_set) {
    boundary::value((), || handle::free::<PatternSet>(set));
}

/// The rules of a set as they were at one time.
pub(super) struct Rules(Vec<Arc<SetRule>>);

impl Rules {
    pub(super) fn of(set: *const fxir_pattern_set) -> Outcome<Rules> {
        Ok(Rules(handle::get::<PatternSet>(set)?.rules.lock().clone()))
    }

    fn patterns(&self) -> Outcome<Vec<Pattern<'_>>> {
        self.0.iter().map(|it| it.rule.prepare()).collect()
    }

    fn rules<'a>(&'a self, patterns: &'a [Pattern<'a>]) -> Vec<Rule<'a>> {
        self.0.iter().zip(patterns).map(|(it, pattern)| it.rule.rule(pattern)).collect()
    }

    fn asked(&self, patterns: &[Pattern<'_>]) -> Vec<Asked<'_>> {
        self.0.iter().zip(patterns).map(|(it, pattern)| it.rule.asked(pattern)).collect()
    }

    /// Applies all rules to the copy of a module that `outer` holds: once when `limit` is 0, else until
    /// none matches any more.
    pub(super) fn run_on_copy(&self, copy: &ModuleHandle, outer: &Planning<'_>, limit: usize) -> Outcome<()> {
        let patterns = self.patterns()?;
        let asked = self.asked(&patterns);
        if limit > 0 {
            return self.settle(&patterns, &asked, copy, outer, limit).map(drop);
        }
        let round = copy.lock_plan()?;
        self.round(&patterns, &asked, copy, &round, outer)?.apply(&mut *round.write()?)?;
        Ok(())
    }

    fn settle(
        &self,
        patterns: &[Pattern<'_>],
        asked: &[Asked<'_>],
        copy: &ModuleHandle,
        outer: &Planning<'_>,
        limit: usize,
    ) -> Outcome<Rounds> {
        let mut rounds = Rounds::new(limit);
        loop {
            let round = copy.lock_plan()?;
            let rewrite = self.round(patterns, asked, copy, &round, outer)?;
            if rounds.is_settled(&rewrite)? {
                return Ok(rounds);
            }
            rounds.apply(rewrite, &mut *round.write()?)?;
        }
    }

    fn round(
        &self,
        patterns: &[Pattern<'_>],
        asked: &[Asked<'_>],
        copy: &ModuleHandle,
        round: &Planning<'_>,
        outer: &Planning<'_>,
    ) -> Outcome<Rewrite> {
        asking(copy, round, Some(outer), asked, |asking| {
            Rewrite::compute(round, copy.id(), &self.rules(patterns), asking)
        })
    }
}

/// Where the caller wants what each rule did.
struct HandingOut {
    place: *mut *mut fxir_matches,
    room: usize,
}

impl HandingOut {
    unsafe fn new(place: *mut *mut fxir_matches, room: usize) -> Outcome<HandingOut> {
        match place.is_null() && room > 0 {
            true => Err(input::null("matches")),
            false => Ok(HandingOut { place, room }),
        }
    }

    unsafe fn set(self, module: &ModuleHandle, asked: &[Asked<'_>], replaced: Vec<Replaced>) -> Outcome<()> {
        let mut made = Vec::new();
        for (asked, replaced) in asked.iter().zip(replaced).take(self.room) {
            match handle::create(MatchesRecord::replaced(&asked.nodes, module.symbols(), replaced)) {
                Ok(matches) => made.push(matches),
                Err(full) => {
                    made.into_iter().try_for_each(|matches| handle::free::<MatchesRecord>(matches))?;
                    return Err(full);
                }
            }
        }
        made.extend(std::iter::repeat_n(null_mut(), self.room - made.len()));
        // SAFETY: by contract there is room for as many.
        unsafe { input::fill(self.place, self.room, made) };
        Ok(())
    }
}
