//! Runs named passes one after the other: torch's `PassManager`.
//!
//! Passes run on a copy, which takes the place of the tree when all went well: a run that fails
//! leaves everything as it was, whatever its passes did.

mod built_in;
mod constraints;
mod report;
#[cfg(test)]
mod tests;

pub use built_in::{built_in_pass, BuiltInPass, BUILT_IN_PASSES};
pub use report::{PassRun, Report};

use crate::ir::{lint, Error, ErrorKind, ModuleId, ModuleTree, Result};
use constraints::Constraints;
use std::sync::Arc;
use std::time::Instant;

/// A pass. It need not say whether it changed anything: that is seen.
pub type Pass<'a> = Box<dyn FnMut(&mut ModuleTree, ModuleId) -> Result<()> + 'a>;

/// Passes in their order, and what that order has to meet.
#[derive(Default)]
pub struct PassManager<'a> {
    names: Vec<String>,
    passes: Vec<Pass<'a>>,
    constraints: Constraints,
}

/// How passes are run.
#[derive(Clone, Copy, Debug)]
pub struct PassOptions {
    /// How often all of them are run at most; they end when none changes anything.
    pub steps: usize,
    /// Lint the module, and all below it, after each pass.
    pub run_checks_after_each_pass: bool,
    /// What lint finds stands in the report and stops nothing.
    pub suppress_check_failures: bool,
}

impl Default for PassOptions {
    fn default() -> Self {
        PassOptions { steps: 1, run_checks_after_each_pass: false, suppress_check_failures: false }
    }
}

/// When a dump is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The pass is about to run; of the run is known what was before.
    Before,
    /// It has run, and was not checked yet.
    After,
}

/// Sees the tree before and after each pass. An error stops the run.
pub type Dump<'a> = dyn FnMut(Moment, &PassRun, &Arc<ModuleTree>) -> Result<()> + 'a;

impl<'a> PassManager<'a> {
    /// Without a pass.
    pub fn new() -> Self {
        PassManager::default()
    }

    /// Adds a pass behind the others (torch's `add_pass`). Several may have one name.
    pub fn add_pass(&mut self, name: &str, pass: Pass<'a>) {
        self.names.push(name.to_owned());
        self.passes.push(pass);
    }

    /// Every pass called `before` has to come before every pass called `after` (torch's
    /// `add_constraint`, with `this_before_that_pass_constraint`). Names that no pass has mean nothing.
    pub fn add_constraint(&mut self, before: &str, after: &str) -> Result<()> {
        self.constraints.add(before, after)
    }

    /// The names of the passes, in their order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether the order meets all constraints; the error names two passes that do not (torch's
    /// `validate_constraints`).
    pub fn validate_constraints(&self) -> Result<()> {
        self.constraints.validate(&self.names)
    }

    /// Where each pass stands once the order meets all constraints: that of its passes that come
    /// first, whose turn may have come (torch's `solve_constraints`). An order that meets them stays
    /// as it is; an error names constraints that no order meets.
    pub fn solve_constraints(&self) -> Result<Vec<usize>> {
        self.constraints.solve(&self.names)
    }

    /// Runs all passes, in an order that meets the constraints, on a module that has a graph. When one
    /// fails the tree stays as it was, and the error says which.
    pub fn run(
        &mut self,
        tree: &mut Arc<ModuleTree>,
        module: ModuleId,
        options: PassOptions,
        dump: Option<&mut Dump<'_>>,
    ) -> Result<Report> {
        let order = self.solve_constraints()?;
        tree.graph(module)?;
        let mut nothing = |_: Moment, _: &PassRun, _: &Arc<ModuleTree>| Ok(());
        let dump: &mut Dump<'_> = dump.unwrap_or(&mut nothing);
        let mut now = Arc::clone(tree);
        let mut report = Report::default();
        for step in 0..options.steps {
            let first = report.runs.len();
            for &index in &order {
                let run = self.run_pass(index, step, &mut now, module, options, dump);
                report.runs.push(run.map_err(|error| self.at_pass(index, error))?);
            }
            if !report.runs[first..].iter().any(|run| run.modified) {
                break;
            }
        }
        *tree = now;
        Ok(report)
    }

    fn run_pass(
        &mut self,
        index: usize,
        step: usize,
        now: &mut Arc<ModuleTree>,
        module: ModuleId,
        options: PassOptions,
        dump: &mut Dump<'_>,
    ) -> Result<PassRun> {
        let mut run = PassRun::new(&self.names[index], index, step, now.graph(module)?.len());
        dump(Moment::Before, &run, now)?;
        let before = Arc::clone(now);
        let changed = Arc::make_mut(now);
        let start = Instant::now();
        (self.passes[index])(changed, module)?;
        run.time = start.elapsed();
        run.modified = !now.is_unchanged_since(&before);
        if !run.modified {
            *now = before;
        }
        run.nodes_after = now.graph(module)?.len();
        dump(Moment::After, &run, now)?;
        if options.run_checks_after_each_pass {
            match lint::lint_all(now, module) {
                Err(error) if options.suppress_check_failures => run.check_failure = Some(error.message),
                checked => checked.map_err(|error| Error {
                    message: format!("what it left does not hold: {}", error.message),
                    ..error
                })?,
            }
        }
        Ok(run)
    }

    fn at_pass(&self, index: usize, error: Error) -> Error {
        Error { message: format!("pass {index}, {:?}: {}", self.names[index], error.message), ..error }
    }
}

/// An error of a manager's.
fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}
