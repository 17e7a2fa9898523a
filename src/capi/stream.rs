//! Output to a callback of the caller's.

use super::boundary;
use super::error::{Failure, Outcome};
use super::input::null;
use std::ffi::c_void;
use std::io;

/// Takes the next `length` bytes of an output; they live until it returns. Returns 0, or a code of
/// its own that stops the whole call with `FXIR_CALLBACK`. What it was given before stays given. It
/// may use the library freely. Must not throw or longjmp.
pub type fxir_write = Option<unsafe extern "C" fn(user_data: *mut c_void, data: *const c_void, length: usize) -> i32>;

type Function = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> i32;

/// A callback as a sink. It is called with no lock held, and never again once it has stopped.
pub(super) struct CallbackWriter {
    write: Function,
    user_data: *mut c_void,
    stopped: Option<i32>,
}

impl CallbackWriter {
    pub(super) fn new(write: fxir_write, user_data: *mut c_void) -> Outcome<CallbackWriter> {
        Ok(CallbackWriter { write: write.ok_or_else(|| null("write"))?, user_data, stopped: None })
    }

    /// What the call comes to: the callback's own code goes before what was made of it.
    pub(super) fn finish<T>(&self, result: Outcome<T>) -> Outcome<T> {
        match self.stopped {
            Some(code) => Err(Failure::callback(code)),
            None => result,
        }
    }
}

impl io::Write for CallbackWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.stopped.is_none() && !bytes.is_empty() {
            let (write, user_data) = (self.write, self.user_data);
            // SAFETY: the caller's function, called as its type says.
            let code = boundary::call_out(|| unsafe { write(user_data, bytes.as_ptr().cast(), bytes.len()) });
            if code != 0 {
                self.stopped = Some(code);
            }
        }
        match self.stopped {
            Some(_) => Err(io::Error::other("the callback stopped")),
            None => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
