//! What a pass manager's passes did: `fxir_pass_report`.

use super::boundary;
use super::buffer::{fxir_buffer, Buffer};
use super::error::{fxir_error, Outcome};
use super::handle::{self, Handle};
use super::input::Out;
use super::status::*;
use crate::passes::pass_manager::{PassRun, Report};
use std::ffi::{c_char, CString};
use std::ptr::null;

/// One run of one pass.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_pass_run {
    /// The name of the pass.
    pub name: *const c_char,
    /// Its place among the manager's passes, from 0.
    pub index: usize,
    /// Which round over all passes it was, from 0.
    pub step: usize,
    /// How many nodes the module's own graph had before.
    pub nodes_before: usize,
    /// And after.
    pub nodes_after: usize,
    /// What the pass itself took, without lint, dumps and comparing.
    pub nanoseconds: u64,
    /// 1: something is not as it was before, be it an id; 0: nothing changed. torch.fx:
    /// `PassResult.modified`.
    pub modified: i32,
    /// Always 0.
    pub reserved: i32,
    /// What lint found after the pass, when `suppress_check_failures` let it go on; else NULL.
    pub check_failure: *const c_char,
}

/// All runs of passes, in the order in which they were. Freed with `fxir_pass_report_free`;
/// everything that is read out of it lives until then.
pub struct fxir_pass_report;

pub(super) struct ReportRecord {
    report: Report,
    runs: Box<[fxir_pass_run]>,
    _texts: Box<[RunTexts]>,
}

/// What a run points into.
pub(super) struct RunTexts {
    name: CString,
    check_failure: Option<CString>,
}

// SAFETY: the pointers lead into the record's own texts; nothing in it changes any more.
unsafe impl Send for ReportRecord {}
// SAFETY: as above.
unsafe impl Sync for ReportRecord {}

impl Handle for ReportRecord {
    type C = fxir_pass_report;
    const WHAT: &'static str = "report of passes";
}

impl RunTexts {
    pub(super) fn of(run: &PassRun) -> RunTexts {
        let text = |text: &str| CString::new(text.replace('\0', " ")).unwrap_or_default();
        RunTexts { name: text(&run.name), check_failure: run.check_failure.as_deref().map(text) }
    }

    /// The run for C; it points into these texts.
    pub(super) fn run(&self, run: &PassRun) -> fxir_pass_run {
        fxir_pass_run {
            name: self.name.as_ptr(),
            index: run.index,
            step: run.step,
            nodes_before: run.nodes_before,
            nodes_after: run.nodes_after,
            nanoseconds: run.time.as_nanos().try_into().unwrap_or(u64::MAX),
            modified: run.modified.into(),
            reserved: 0,
            check_failure: self.check_failure.as_ref().map_or(null(), |text| text.as_ptr()),
        }
    }
}

impl ReportRecord {
    pub(super) fn new(report: Report) -> ReportRecord {
        let texts: Box<[RunTexts]> = report.runs.iter().map(RunTexts::of).collect();
        let runs = report.runs.iter().zip(&texts).map(|(run, texts)| texts.run(run)).collect();
        ReportRecord { report, runs, _texts: texts }
    }
}

fn read<T>(report: *const fxir_pass_report, none: T, get: impl FnOnce(&ReportRecord) -> T) -> T {
    boundary::value(none, || -> Outcome<T> { Ok(get(&*handle::get::<ReportRecord>(report)?)) })
}

/// How many runs of passes there were; 0 when `report` is none.
#[no_mangle]
pub extern "C" fn fxir_pass_report_count(report: *const fxir_pass_report) -> usize {
    read(report, 0, |report| report.runs.len())
}

/// One run, counted from 0; NULL when there is none. It lives until the report is freed.
#[no_mangle]
pub extern "C" fn fxir_pass_report_run(report: *const fxir_pass_report, index: usize) -> *const fxir_pass_run {
    read(report, null(), |report| report.runs.get(index).map_or(null(), std::ptr::from_ref))
}

/// Whether any pass changed anything: 1 or 0; 0 when `report` is none. torch.fx:
/// `PassResult.modified`.
#[no_mangle]
pub extern "C" fn fxir_pass_report_modified(report: *const fxir_pass_report) -> i32 {
    read(report, 0, |report| report.report.modified().into())
}

/// A table for a person, one line a run. The caller frees `*table`.
#[no_mangle]
pub unsafe extern "C" fn fxir_pass_report_print(
    report: *const fxir_pass_report,
    table: *mut *mut fxir_buffer,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let table = Out::required(table, "table")?;
        let text = handle::get::<ReportRecord>(report)?.report.to_string();
        table.set_handle(Buffer::new(text))
    })
}

/// Frees a report. NULL and a dead handle do nothing.
#[no_mangle]
pub extern "C" fn fxir_pass_report_free(report: *mut fxir_pass_report) {
    boundary::value((), || handle::free::<ReportRecord>(report));
}
