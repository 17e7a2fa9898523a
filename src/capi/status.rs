//! The numbers that C sees: statuses and versions.

use super::boundary;
use std::ffi::{c_char, CStr};

/// How a call ended. `FXIR_OK` is 0; every other value is a failure. Numbers are never renumbered,
/// and later versions may add some: treat one you do not know as a failure.
pub type fxir_status = i32;

/// The call did what it says.
pub const FXIR_OK: fxir_status = 0;
/// A pointer that may not be NULL was NULL.
pub const FXIR_NULL_ARGUMENT: fxir_status = 1;
/// An argument makes no sense, alone or together with the others.
pub const FXIR_INVALID_ARGUMENT: fxir_status = 2;
/// A handle was freed, is of another type, or was never one.
pub const FXIR_INVALID_HANDLE: fxir_status = 3;
/// A string is not UTF-8.
pub const FXIR_INVALID_UTF8: fxir_status = 4;
/// An index is beyond the end.
pub const FXIR_OUT_OF_RANGE: fxir_status = 5;
/// A name, path or key leads nowhere.
pub const FXIR_NOT_FOUND: fxir_status = 6;
/// A name is taken.
pub const FXIR_ALREADY_EXISTS: fxir_status = 7;
/// A node was erased, or belongs to another graph.
pub const FXIR_STALE_NODE: fxir_status = 8;
/// A node still has users.
pub const FXIR_IN_USE: fxir_status = 9;
/// The module is in use by a call of this thread that has not returned, or has other handles.
pub const FXIR_BUSY: fxir_status = 10;
/// A file or text is not what it should be; the error says at which line and column.
pub const FXIR_PARSE: fxir_status = 11;
/// The operating system refused.
pub const FXIR_IO: fxir_status = 12;
/// The graph breaks a rule of the IR; the error says which node breaks which.
pub const FXIR_LINT: fxir_status = 13;
/// A valid request that the library cannot meet.
pub const FXIR_UNSUPPORTED: fxir_status = 14;
/// A callback stopped the call; its code is in `fxir_error_callback_code`.
pub const FXIR_CALLBACK: fxir_status = 15;
/// A size, depth or count is beyond what the library takes.
pub const FXIR_LIMIT: fxir_status = 16;
/// A defect of the library. A module that was being changed refuses further use.
pub const FXIR_PANIC: fxir_status = 17;

/// Major version of this header. Another major version may change anything.
pub const FXIR_VERSION_MAJOR: i32 = 0;
/// Minor version of this header.
pub const FXIR_VERSION_MINOR: i32 = 1;
/// Patch version of this header.
pub const FXIR_VERSION_PATCH: i32 = 0;
/// The version of the binary interface, which is also that of the SONAME (`libfxir.so.1`).
pub const FXIR_ABI_VERSION: i32 = 1;

/// The binary interface of the library that is loaded; compare with `FXIR_ABI_VERSION` after
/// `dlopen`.
#[no_mangle]
pub extern "C" fn fxir_abi_version() -> i32 {
    FXIR_ABI_VERSION
}

/// The version of the library that is loaded, such as "0.1.0". The text lives for ever.
#[no_mangle]
pub extern "C" fn fxir_version_string() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// The name of a status as this header spells it, such as "FXIR_OK"; "FXIR_UNKNOWN" for a number
/// that is none. The text lives for ever.
#[no_mangle]
pub extern "C" fn fxir_status_name(status: fxir_status) -> *const c_char {
    boundary::value(c"FXIR_UNKNOWN".as_ptr(), || Ok(name(status).as_ptr()))
}

pub(super) fn name(status: fxir_status) -> &'static CStr {
    match status {
        FXIR_OK => c"FXIR_OK",
        FXIR_NULL_ARGUMENT => c"FXIR_NULL_ARGUMENT",
        FXIR_INVALID_ARGUMENT => c"FXIR_INVALID_ARGUMENT",
        FXIR_INVALID_HANDLE => c"FXIR_INVALID_HANDLE",
        FXIR_INVALID_UTF8 => c"FXIR_INVALID_UTF8",
        FXIR_OUT_OF_RANGE => c"FXIR_OUT_OF_RANGE",
        FXIR_NOT_FOUND => c"FXIR_NOT_FOUND",
        FXIR_ALREADY_EXISTS => c"FXIR_ALREADY_EXISTS",
        FXIR_STALE_NODE => c"FXIR_STALE_NODE",
        FXIR_IN_USE => c"FXIR_IN_USE",
        FXIR_BUSY => c"FXIR_BUSY",
        FXIR_PARSE => c"FXIR_PARSE",
        FXIR_IO => c"FXIR_IO",
        FXIR_LINT => c"FXIR_LINT",
        FXIR_UNSUPPORTED => c"FXIR_UNSUPPORTED",
        FXIR_CALLBACK => c"FXIR_CALLBACK",
        FXIR_LIMIT => c"FXIR_LIMIT",
        FXIR_PANIC => c"FXIR_PANIC",
        _ => c"FXIR_UNKNOWN",
    }
}
