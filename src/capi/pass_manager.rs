//! Passes run one after the other: `fxir_pass_manager`.

use super::boundary;
use super::error::{fxir_error, Failure, Outcome};
use super::handle::{self, Handle};
use super::input::{self, Out};
use super::module::fxir_module;
use super::module_handle::{self, ModuleHandle};
use super::pass_report::{fxir_pass_report, fxir_pass_run, ReportRecord, RunTexts};
use super::pattern_set::{fxir_destroy, fxir_pattern_set, Rules};
use super::release;
use super::status::*;
use super::tree_cell::Planning;
use crate::ir::{Error, ErrorKind, ModuleId, ModuleTree, Result};
use crate::passes::pass_manager::{
    built_in_pass, BuiltInPass, Moment, Pass, PassManager, PassOptions, PassRun, BUILT_IN_PASSES,
};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::ffi::{c_char, c_void, CString};
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// A dump before a pass.
pub const FXIR_PASS_BEFORE: i32 = 0;
/// A dump after a pass.
pub const FXIR_PASS_AFTER: i32 = 1;

/// Passes that are run one after the other. Freed with `fxir_pass_manager_free`. Several threads may
/// run one manager at once, also while passes are added; its functions are called on the threads that
/// run it.
pub struct fxir_pass_manager;

/// A pass of the caller's: changes `module` as it likes, and returns 0, or a code of its own that
/// stops the run with `FXIR_CALLBACK`. It need not say whether it changed anything: that is seen.
///
/// `module` stands for the one that the passes are run on, but is the copy that they work on: all
/// calls may be made on it, and nodes have the ids that they have in the module. It is the library's
/// and dead once the function returns; handles that were made of it keep what was then, and what is
/// changed through them is lost. Any use of the module that the passes are run on is FXIR_BUSY on this
/// thread meanwhile. Must not throw or longjmp. torch.fx: what is given to `PassManager.add_pass`.
pub type fxir_pass_function = Option<unsafe extern "C" fn(user_data: *mut c_void, module: *mut fxir_module) -> i32>;

/// Sees the module before and after each pass. `when` is FXIR_PASS_BEFORE or FXIR_PASS_AFTER; `run`
/// tells which pass it is and, after it, what it did; what lint says comes later. Returns 0, or a code of
/// its own that stops the run with `FXIR_CALLBACK`.
///
/// `module` is a view for reading only; it and `run` are dead once the callback returns. Must not throw
/// or longjmp.
pub type fxir_dump_pass = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        when: i32,
        module: *const fxir_module,
        run: *const fxir_pass_run,
    ) -> i32,
>;

type Function = unsafe extern "C" fn(*mut c_void, *mut fxir_module) -> i32;

/// How passes are run. Make one with `fxir_pass_options_init`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_pass_options {
    /// `sizeof(fxir_pass_options)`, set by `fxir_pass_options_init`.
    pub struct_size: usize,
    /// How often all passes are run at most: the run ends when none of them changes anything.
    /// Default: 1.
    pub steps: usize,
    /// 1: after each pass the module and all below it are checked, as `fxir_module_lint` does. Default: 0.
    pub run_checks_after_each_pass: i32,
    /// 1: what such a check finds does not stop the run; it stands in the report. Default: 0.
    pub suppress_check_failures: i32,
    /// Called before and after each pass; NULL for no dumps.
    pub dump: fxir_dump_pass,
    /// Passed to `dump`.
    pub dump_data: *mut c_void,
}

/// Makes `*options` the defaults: once, without checks. Does nothing when it is NULL.
#[no_mangle]
pub unsafe extern "C" fn fxir_pass_options_init(options: *mut fxir_pass_options) {
    if !options.is_null() {
        options.write(defaults());
    }
}

fn defaults() -> fxir_pass_options {
    let PassOptions { steps, run_checks_after_each_pass, suppress_check_failures } = PassOptions::default();
    fxir_pass_options {
        struct_size: size_of::<fxir_pass_options>(),
        steps,
        run_checks_after_each_pass: run_checks_after_each_pass.into(),
        suppress_check_failures: suppress_check_failures.into(),
        dump: None,
        dump_data: null_mut(),
    }
}

#[derive(Default)]
struct Passes(Mutex<List>);

#[derive(Clone, Default)]
struct List {
    entries: Vec<Arc<Entry>>,
    constraints: Vec<(String, String)>,
}

struct Entry {
    name: CString,
    does: Does,
}

enum Does {
    BuiltIn(BuiltInPass),
    PatternSet(Rules, usize),
    Function { function: Function, data: *mut c_void, destroy: fxir_destroy },
}

// SAFETY: the pointers are the caller's; by the contract of `fxir_pass_manager` its functions may be
// called on any thread.
unsafe impl Send for Entry {}
// SAFETY: as above; nothing in it changes.
unsafe impl Sync for Entry {}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Does::Function { destroy: Some(destroy), data, .. } = self.does {
            // SAFETY: the caller's function, called once, as its type says.
            release::run_unlocked(move || unsafe { destroy(data) });
        }
    }
}

impl Handle for Passes {
    type C = fxir_pass_manager;
    const WHAT: &'static str = "pass manager";
}

impl Entry {
    fn name(&self) -> &str {
        self.name.to_str().unwrap_or_default()
    }
}

impl List {
    /// Of the core's kind; the passes do nothing by themselves unless they are run with calls.
    fn manager<'a>(&'a self, calls: Option<&'a Calls<'a>>) -> Outcome<PassManager<'a>> {
        let mut manager = PassManager::new();
        for entry in &self.entries {
            manager.add_pass(entry.name(), entry.pass(calls));
        }
        for (before, after) in &self.constraints {
            manager.add_constraint(before, after)?;
        }
        Ok(manager)
    }
}

/// Makes a manager without passes, which the caller frees. torch.fx: `PassManager`.
#[no_mangle]
pub unsafe extern "C" fn fxir_pass_manager_new(
    passes: *mut *mut fxir_pass_manager,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || Out::required(passes, "passes")?.set_handle(Passes::default()))
}

/// How many passes the library has by name: see `fxir_pass_manager_add`.
#[no_mangle]
pub extern "C" fn fxir_built_in_pass_count() -> usize {
    BUILT_IN_PASSES.len()
}

/// The name of one of them, counted from 0; NULL when there is none. The text lives for ever.
#[no_mangle]
pub extern "C" fn fxir_built_in_pass_name(index: usize) -> *const c_char {
    boundary::value(null(), || Ok(BUILT_IN_PASSES.get(index).map_or(null(), |(name, _)| name.as_ptr())))
}

/// Adds a pass of the library's, with its defaults: "deduplicate_get_attr",
/// "delete_all_unused_submodules", "delete_unused_attributes", "eliminate_common_subexpressions",
/// "eliminate_dead_code", "legalize_graph" (also "legalize"), "lift_constants",
/// "lift_lowering_attrs_to_nodes", "lint" or "normalize_args". Passes are counted from 0 in the order in which they are added; one may be added
/// several times.
///
/// Statuses: FXIR_NOT_FOUND (no pass has that name; the message lists those that there are),
/// FXIR_INVALID_UTF8. torch.fx: `PassManager.add_pass`.
#[no_mangle]
pub unsafe extern "C" fn fxir_pass_manager_add(
    passes: *mut fxir_pass_manager,
    name: *const c_char,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let name = input::text(name, "name")?;
        let pass = built_in_pass(name).ok_or_else(|| {
            let known: Vec<&str> = BUILT_IN_PASSES.iter().filter_map(|(name, _)| name.to_str().ok()).collect();
            Failure::new(FXIR_NOT_FOUND, format!("no pass is called {name:?}; there are {}", known.join(", ")))
        })?;
        add(passes, name, || Does::BuiltIn(pass))
    })
}

/// Adds a pass that applies a set of patterns: once, as `fxir_pattern_set_apply` does, when `limit` is
/// 0, else to a fixpoint with at most so many rounds, as `fxir_pattern_set_apply_to_fixpoint` does. The
/// rules are those that the set has now; it may be changed and freed after. `name` is the caller's to
/// choose.
///
/// Statuses: FXIR_INVALID_UTF8.
#[no_mangle]
pub unsafe extern "C" fn fxir_pass_manager_add_pattern_set(
    passes: *mut fxir_pass_manager,
    name: *const c_char,
    set: *const fxir_pattern_set,
    limit: usize,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let name = input::text(name, "name")?;
        let rules = Rules::of(set)?;
        add(passes, name, || Does::PatternSet(rules, limit))
    })
}

/// Adds a pass of the caller's. `destroy`, which may be NULL, is called with `user_data` once the pass
/// is used no more; never when this call fails. `name` is the caller's to choose.
///
/// Statuses: FXIR_INVALID_UTF8. torch.fx: `PassManager.add_pass`.
#[no_mangle]
pub unsafe extern "C" fn fxir_pass_manager_add_function(
    passes: *mut fxir_pass_manager,
    name: *const c_char,
    function: fxir_pass_function,
    user_data: *mut c_void,
    destroy: fxir_destroy,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let name = input::text(name, "name")?;
        let function = function.ok_or_else(|| input::null("function"))?;
        add(passes, name, || Does::Function { function, data: user_data, destroy })
    })
}

/// `does` is not made when anything fails: nothing is taken over then.
fn add(passes: *mut fxir_pass_manager, name: &str, does: impl FnOnce() -> Does) -> Outcome<()> {
    let name = CString::new(name).unwrap_or_default();
    let passes = handle::get::<Passes>(passes)?;
    passes.0.lock().entries.push(Arc::new(Entry { name, does: does() }));
    Ok(())
}

/// How many passes were added; 0 when `passes` is none.
#[no_mangle]
pub extern "C" fn fxir_pass_manager_count(passes: *const fxir_pass_manager) -> usize {
    boundary::value(0, || Ok(handle::get::<Passes>(passes)?.0.lock().entries.len()))
}

/// The name of a pass, counted from 0; NULL when there is none. It lives until the manager is freed.
#[no_mangle]
pub extern "C" fn fxir_pass_manager_name(passes: *const fxir_pass_manager, index: usize) -> *const c_char {
    boundary::value(null(), || {
        let passes = handle::get::<Passes>(passes)?;
        let list = passes.0.lock();
        Ok(list.entries.get(index).map_or(null(), |entry| entry.name.as_ptr()))
    })
}

/// Says that every pass called `before` has to come before every pass called `after`, whether they
/// were added or will be. Runs keep to it: see `fxir_pass_manager_run`.
///
/// Statuses: FXIR_INVALID_ARGUMENT (one name for both), FXIR_INVALID_UTF8. torch.fx:
/// `PassManager.add_constraint` with `this_before_that_pass_constraint`.
#[no_mangle]
pub unsafe extern "C" fn fxir_pass_manager_add_constraint(
    passes: *mut fxir_pass_manager,
    before: *const c_char,
    after: *const c_char,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let (before, after) = (input::text(before, "before")?, input::text(after, "after")?);
        PassManager::new().add_constraint(before, after)?;
        let passes = handle::get::<Passes>(passes)?;
        passes.0.lock().constraints.push((before.to_owned(), after.to_owned()));
        Ok(())
    })
}

/// Checks whether the passes, in the order in which they were added, meet all constraints.
///
/// Statuses: FXIR_INVALID_ARGUMENT (they do not; the message names two passes). torch.fx:
/// `PassManager.validate_constraints`.
#[no_mangle]
pub unsafe extern "C" fn fxir_pass_manager_validate_constraints(
    passes: *const fxir_pass_manager,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let list = handle::get::<Passes>(passes)?.0.lock().clone();
        let manager = list.manager(None)?;
        Ok(manager.validate_constraints()?)
    })
}

/// Runs all passes on a module that has a graph, in the order in which they were added, or, where
/// constraints ask for another, in the one that is nearest to it. The passes work on a copy: when one of
/// them fails, or a check, or a dump stops the run, nothing is changed, and the message names the pass.
/// Ids of nodes that were there before stay what they are; `fxir_error_node` may be a node that only the
/// copy had.
///
/// `options` may be NULL for the defaults. `report`, which may be NULL, gets what each pass did; the
/// caller frees it.
///
/// Statuses: those of the passes; FXIR_CALLBACK (a function or a dump returned a code); FXIR_LINT (a
/// check found something); FXIR_INVALID_ARGUMENT (the module has no graph; constraints that no order
/// meets), FXIR_UNSUPPORTED (newer options). torch.fx: `PassManager.__call__`.
#[no_mangle]
pub unsafe extern "C" fn fxir_pass_manager_run(
    passes: *const fxir_pass_manager,
    module: *mut fxir_module,
    options: *const fxir_pass_options,
    report: *mut *mut fxir_pass_report,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let out = Out::optional(report);
        let given = match options.is_null() {
            true => defaults(),
            false => input::options(options, "options")?,
        };
        let options = PassOptions {
            steps: given.steps,
            run_checks_after_each_pass: input::flag(
                given.run_checks_after_each_pass,
                "options.run_checks_after_each_pass",
            )?,
            suppress_check_failures: input::flag(given.suppress_check_failures, "options.suppress_check_failures")?,
        };
        let list = handle::get::<Passes>(passes)?.0.lock().clone();
        let module = module_handle::module(module)?;
        let plan = module.lock_plan()?;
        let calls = Calls { outer: &plan, failure: RefCell::new(None) };
        let mut tree = plan.snapshot();
        let mut dump = |moment: Moment, run: &PassRun, tree: &Arc<ModuleTree>| {
            calls.keep(calls.dump(given.dump, given.dump_data, moment, run, tree, module.id()))
        };
        let ran = list.manager(Some(&calls))?.run(&mut tree, module.id(), options, Some(&mut dump));
        let ran = calls.outcome(ran)?;
        let changed = ran.modified();
        let mut now = plan.write()?;
        out.set_handle(ReportRecord::new(ran))?;
        if changed {
            now.replace(tree);
        }
        Ok(())
    })
}

/// Frees a manager. NULL and a dead handle do nothing.
#[no_mangle]
pub extern "C" fn fxir_pass_manager_free(passes: *mut fxir_pass_manager) {
    boundary::value((), || handle::free::<Passes>(passes));
}

/// The caller's functions, as passes and dumps call them; a failure is kept as it was.
struct Calls<'a> {
    /// Of the module that the passes are run on, which is closed to them.
    outer: &'a Planning<'a>,
    failure: RefCell<Option<Box<Failure>>>,
}

impl Entry {
    fn pass<'a>(&'a self, calls: Option<&'a Calls<'a>>) -> Pass<'a> {
        match (&self.does, calls) {
            (Does::BuiltIn(pass), _) => Box::new(pass),
            (Does::PatternSet(rules, limit), Some(calls)) => Box::new(|tree, module| {
                calls.with_handle(tree, module, |copy| rules.run_on_copy(copy, calls.outer, *limit))
            }),
            (Does::Function { function, data, .. }, Some(calls)) => Box::new(|tree, module| {
                calls.with_handle(tree, module, |copy| {
                    let handle = handle::create(copy.clone())?;
                    // SAFETY: the caller's function, called as its type says.
                    let code = calls.outer.call_out(|| unsafe { function(*data, handle) });
                    handle::free::<ModuleHandle>(handle)?;
                    succeeded(code)
                })
            }),
            (_, None) => Box::new(|_, _| Ok(())),
        }
    }
}

impl Calls<'_> {
    /// Runs a pass that needs a handle of the tree.
    fn with_handle(
        &self,
        tree: &mut ModuleTree,
        module: ModuleId,
        run: impl FnOnce(&ModuleHandle) -> Outcome<()>,
    ) -> Result<()> {
        let empty = ModuleTree::with_symbols(tree.symbols().clone(), "");
        let copy = ModuleHandle::root_of(std::mem::replace(tree, empty)).sibling(module);
        let outcome = run(&copy).and_then(|()| copy.snapshot());
        drop(copy);
        *tree = Arc::unwrap_or_clone(self.keep(outcome)?);
        Ok(())
    }

    fn dump(
        &self,
        dump: fxir_dump_pass,
        data: *mut c_void,
        moment: Moment,
        run: &PassRun,
        tree: &Arc<ModuleTree>,
        module: ModuleId,
    ) -> Outcome<()> {
        let Some(dump) = dump else { return Ok(()) };
        let when = match moment {
            Moment::Before => FXIR_PASS_BEFORE,
            Moment::After => FXIR_PASS_AFTER,
        };
        let texts = RunTexts::of(run);
        let run = texts.run(run);
        let copy = ModuleHandle::root_of(Arc::clone(tree)).sibling(module);
        let plan = copy.lock_plan()?;
        // SAFETY: the caller's function, called as its type says.
        let call = |view| unsafe { dump(data, when, view, &raw const run) };
        succeeded(self.outer.call_out(|| copy.call_with_view(&plan, call))?)
    }

    /// Keeps a failure for later, and stops the run.
    fn keep<T>(&self, outcome: Outcome<T>) -> Result<T> {
        outcome.map_err(|found| {
            let stop = Error::new(ErrorKind::Callback(0), found.message());
            *self.failure.borrow_mut() = Some(found);
            stop
        })
    }

    /// A failure that was kept comes out as it was, with what the run says of it.
    fn outcome<T>(self, result: Result<T>) -> Outcome<T> {
        match (result, self.failure.into_inner()) {
            (Err(error), Some(failure)) => Err(failure.told(error.message)),
            (result, _) => Ok(result?),
        }
    }
}

fn succeeded(code: i32) -> Outcome<()> {
    match code {
        0 => Ok(()),
        code => Err(Failure::callback(code)),
    }
}
