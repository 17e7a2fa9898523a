//! The one place where calls from C come in and go out.
//!
//! Every exported function is one [`status`] or one [`value`] around its body. They catch panics,
//! turn failures into statuses and error handles, and run what waited for the locks to be gone.
//!
//! A panic inside the library prints nothing. The hook that prints is the process's own, so the
//! library puts one before it, once, that is silent while the panicking thread is inside a call of
//! the library (not in a callback of the user's) and passes everything else on.

use super::error::{fxir_error, into_handle, Failure, Outcome};
use super::release;
use super::status::*;
use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static THREAD: Thread = const { Thread { calls: Cell::new(0), callbacks: Cell::new(0), holding: Cell::new(0), waiting: Cell::new(false) } };
}

/// Where this thread is. Has no destructor, so that it costs nothing to get at.
struct Thread {
    /// Calls of the library that have not returned, one inside the other's callback.
    calls: Cell<u32>,
    /// Callbacks of the user's that have not returned.
    callbacks: Cell<u32>,
    /// Callbacks that were called while this thread holds the lock of a tree.
    holding: Cell<u32>,
    /// Whether [`release`] has something to run.
    waiting: Cell<bool>,
}

/// The body of a function that returns a status and takes an `fxir_error **`.
///
/// # Safety
/// `error` is NULL or may be written.
#[inline]
pub(super) unsafe fn status(error: *mut *mut fxir_error, body: impl FnOnce() -> Outcome<()>) -> fxir_status {
    let outcome = inside(body);
    match outcome {
        Ok(()) => {
            if !error.is_null() {
                // SAFETY: the caller's promise.
                unsafe { error.write(std::ptr::null_mut()) };
            }
            FXIR_OK
        }
        Err(failure) => {
            let status = failure.status;
            if !error.is_null() {
                let handle = inside(|| Ok(into_handle(*failure))).unwrap_or(std::ptr::null_mut());
                // SAFETY: the caller's promise.
                unsafe { error.write(handle) };
            }
            status
        }
    }
}

/// The body of a function that returns what it is asked for, or `none` when it fails.
#[inline]
pub(super) fn value<T>(none: T, body: impl FnOnce() -> Outcome<T>) -> T {
    inside(body).unwrap_or(none)
}

/// Runs a callback of the user's from inside a call.
pub(super) fn call_out<T>(callback: impl FnOnce() -> T) -> T {
    struct Back;
    impl Drop for Back {
        fn drop(&mut self) {
            THREAD.with(|thread| thread.callbacks.set(thread.callbacks.get().saturating_sub(1)));
        }
    }
    THREAD.with(|thread| thread.callbacks.set(thread.callbacks.get() + 1));
    let _back = Back;
    callback()
}

/// Whether this thread is inside a call of the library.
pub(super) fn is_inside() -> bool {
    THREAD.with(|thread| thread.calls.get() > 0)
}

/// Whether this thread holds the lock of a tree while a callback of the user's runs: then it must
/// not wait for another.
#[inline]
pub(super) fn is_holding() -> bool {
    THREAD.with(|thread| thread.holding.get() > 0)
}

/// Says that a callback begins (+1) or ends (-1) while this thread holds a tree.
pub(super) fn change_holding(by: i32) {
    THREAD.with(|thread| thread.holding.set(thread.holding.get().saturating_add_signed(by)));
}

/// Something waits for this thread to leave the library.
pub(super) fn note_waiting() {
    THREAD.with(|thread| thread.waiting.set(true));
}

#[inline]
fn inside<T>(body: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    THREAD.with(|thread| {
        if !HOOKED.load(Ordering::Relaxed) {
            hook();
        }
        thread.calls.set(thread.calls.get() + 1);
        let outcome = catch_unwind(AssertUnwindSafe(body));
        thread.calls.set(thread.calls.get() - 1);
        if thread.waiting.get() && thread.calls.get() == 0 {
            leave(thread);
        }
        outcome.unwrap_or_else(|panic| Err(panicked(panic)))
    })
}

/// Runs what waited. Counts as a callback, so that a call inside does not run the rest of it.
#[cold]
fn leave(thread: &Thread) {
    while thread.waiting.replace(false) {
        thread.calls.set(1);
        call_out(release::run_waiting);
        thread.calls.set(0);
    }
}

#[cold]
fn panicked(panic: Box<dyn std::any::Any + Send>) -> Box<Failure> {
    let message = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => format!("the library has a defect: {text}"),
        (_, Some(text)) => format!("the library has a defect: {text}"),
        _ => "the library has a defect".to_owned(),
    };
    // What was thrown may panic when dropped; nothing else of it is of use.
    std::mem::forget(panic);
    Failure::new(FXIR_PANIC, message)
}

static HOOKED: AtomicBool = AtomicBool::new(false);

#[cold]
fn hook() {
    if std::thread::panicking() || HOOKED.swap(true, Ordering::Relaxed) {
        return;
    }
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let is_ours = THREAD.try_with(|thread| thread.calls.get() > thread.callbacks.get()).unwrap_or(false);
        if !is_ours {
            previous(panic);
        }
    }));
}
