//! What passes did.

use std::fmt;
use std::time::Duration;

/// One run of one pass.
#[derive(Clone, Debug)]
pub struct PassRun {
    /// The name of the pass.
    pub name: String,
    /// Its place among those that were added.
    pub index: usize,
    /// Which round over all passes it was, from 0.
    pub step: usize,
    /// How many nodes the module's own graph had before.
    pub nodes_before: usize,
    /// And after.
    pub nodes_after: usize,
    /// What the pass itself took.
    pub time: Duration,
    /// Whether anything in the tree is not as it was (torch's `PassResult.modified`).
    pub modified: bool,
    /// What lint found, where it was to go on all the same.
    pub check_failure: Option<String>,
}

/// All runs, in order. Displays as a table.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In the order in which they were.
    pub runs: Vec<PassRun>,
}

impl PassRun {
    pub(super) fn new(name: &str, index: usize, step: usize, nodes: usize) -> PassRun {
        PassRun {
            name: name.to_owned(),
            index,
            step,
            nodes_before: nodes,
            nodes_after: nodes,
            time: Duration::ZERO,
            modified: false,
            check_failure: None,
        }
    }
}

impl Report {
    /// Whether any pass changed anything.
    pub fn modified(&self) -> bool {
        self.runs.iter().any(|run| run.modified)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.runs.iter().map(|run| run.name.chars().count()).fold(4, usize::max);
        writeln!(f, "step  {:width$}  {:>20}  {:>12}", "pass", "nodes", "milliseconds")?;
        for run in &self.runs {
            let nodes = format!("{} -> {}", run.nodes_before, run.nodes_after);
            let time = run.time.as_secs_f64() * 1e3;
            let modified = if run.modified { "  modified" } else { "" };
            let check = if run.check_failure.is_some() { "  lint failed" } else { "" };
            writeln!(f, "{:>4}  {:width$}  {nodes:>20}  {time:>12.3}{modified}{check}", run.step, run.name)?;
        }
        Ok(())
    }
}
