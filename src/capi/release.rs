//! What must run with no lock held waits here until the thread is out of the library.
//!
//! Giving borrowed memory back calls the user. The last use of it may end anywhere: in the middle
//! of an edit, or inside a callback of a pass. On a thread that is inside the library the call is
//! put off until its outermost call has let go of everything.

use super::boundary;
use std::cell::RefCell;

type Job = Box<dyn FnOnce()>;

thread_local! {
    static WAITING: RefCell<Vec<Job>> = const { RefCell::new(Vec::new()) };
}

/// Runs `job` as soon as this thread holds no lock of the library: now, if it is outside.
pub(super) fn run_unlocked(job: impl FnOnce() + 'static) {
    if !boundary::is_inside() {
        return job();
    }
    let mut job: Option<Job> = Some(Box::new(job));
    let kept = WAITING.try_with(|waiting| {
        if let Ok(mut waiting) = waiting.try_borrow_mut() {
            waiting.extend(job.take());
        }
    });
    match (kept, job) {
        (Ok(()), None) => boundary::note_waiting(),
        // The thread is ending, and its list is gone: late is worse than early.
        (_, Some(job)) => job(),
        (Err(_), None) => {}
    }
}

/// Runs what waits, and what comes to wait meanwhile.
pub(super) fn run_waiting() {
    loop {
        let jobs = WAITING.try_with(|waiting| std::mem::take(&mut *waiting.borrow_mut())).unwrap_or_default();
        if jobs.is_empty() {
            return;
        }
        jobs.into_iter().for_each(|job| job());
    }
}
