//! Long output that C owns: `fxir_buffer`.

use super::boundary;
use super::error::Outcome;
use super::handle::{self, Handle};
use std::ffi::c_char;

/// Bytes that a call made for the caller: JSON, a table, code. Freed with `fxir_buffer_free`.
pub struct fxir_buffer;

/// The bytes, and a NUL after them.
pub(super) struct Buffer(Box<[u8]>);

impl Handle for Buffer {
    type C = fxir_buffer;
    const WHAT: &'static str = "buffer";
}

impl Buffer {
    pub(super) fn new(bytes: impl Into<Vec<u8>>) -> Buffer {
        let mut bytes = bytes.into();
        bytes.push(0);
        Buffer(bytes.into_boxed_slice())
    }
}

fn read<T>(buffer: *const fxir_buffer, none: T, get: impl FnOnce(&Buffer) -> T) -> T {
    boundary::value(none, || -> Outcome<T> { Ok(get(&*handle::get::<Buffer>(buffer)?)) })
}

/// The bytes. One NUL follows them, so that text can be used as a C string. Lives until the buffer
/// is freed; NULL when `buffer` is none.
#[no_mangle]
pub extern "C" fn fxir_buffer_data(buffer: *const fxir_buffer) -> *const c_char {
    read(buffer, std::ptr::null(), |buffer| buffer.0.as_ptr().cast())
}

/// How many bytes, without the NUL; 0 when `buffer` is none.
#[no_mangle]
pub extern "C" fn fxir_buffer_size(buffer: *const fxir_buffer) -> usize {
    read(buffer, 0, |buffer| buffer.0.len().saturating_sub(1))
}

/// Frees a buffer. NULL and a dead handle do nothing.
#[no_mangle]
pub extern "C" fn fxir_buffer_free(buffer: *mut fxir_buffer) {
    boundary::value((), || handle::free::<Buffer>(buffer));
}
