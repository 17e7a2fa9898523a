//! Cases that PyTorch recorded: those in `tests/cases`, and those in every folder that
//! `FXIR_CASES` names (`:` between them; `FXIR_CASES_ONLY=1` leaves the project's own out).
//!
//! Prints `SUITE: PASSED of TOTAL` for each suite, then the cases that fail, and fails if any did.

mod json;
mod names;
mod native;
mod recorded;
mod serialize;
mod text;
mod trace;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What came of the cases of each suite.
#[derive(Default)]
pub struct Report {
    suites: BTreeMap<String, Suite>,
}

#[derive(Default)]
struct Suite {
    total: usize,
    failures: Vec<String>,
}

impl Report {
    /// Counts one case; the error says how it fails.
    pub fn case(&mut self, suite: &str, name: &str, outcome: Result<(), String>) {
        let suite = self.suites.entry(suite.to_string()).or_default();
        suite.total += 1;
        if let Err(why) = outcome {
            suite.failures.push(format!("{name}: {why}"));
        }
    }
}

fn folders() -> Vec<PathBuf> {
    let named = std::env::var_os("FXIR_CASES").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&named).filter(|path| !path.as_os_str().is_empty()).collect();
    if std::env::var("FXIR_CASES_ONLY").as_deref() != Ok("1") {
        folders.insert(0, Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases"));
    }
    folders
}

#[test]
fn conformance() {
    let mut report = Report::default();
    for folder in folders() {
        assert!(folder.is_dir(), "there is no folder {}", folder.display());
        names::run(&folder, &mut report);
        serialize::run(&folder, &mut report);
        text::run(&folder, &mut report);
        trace::run(&folder, &mut report);
        recorded::run(&folder, &mut report);
    }
    for (name, suite) in &report.suites {
        println!("{name}: {} of {}", suite.total - suite.failures.len(), suite.total);
    }
    let failures: Vec<String> = report
        .suites
        .iter()
        .flat_map(|(name, suite)| suite.failures.iter().map(move |f| format!("{name}: {f}")))
        .collect();
    for failure in &failures {
        println!("FAILED {failure}");
    }
    assert!(failures.is_empty(), "{} cases fail", failures.len());
    assert!(!report.suites.is_empty(), "no case was found");
}
