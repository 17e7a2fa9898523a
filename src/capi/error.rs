//! What went wrong, as C reads it: `fxir_error`.

use super::boundary;
use super::handle::{self, Handle};
use super::input;
use super::node::fxir_node;
use super::status::*;
use crate::ir::{Error, ErrorKind};
use std::borrow::Cow;
use std::ffi::{c_char, CString};

/// Why a call failed. A call that fails stores one into `*error` when `error` is not NULL; whoever
/// gets it frees it with `fxir_error_free`. It does not change, and any thread may read it.
pub struct fxir_error;

/// A failure on its way to the boundary. Boxed, so that results stay small.
pub(super) type Outcome<T> = Result<T, Box<Failure>>;

/// Everything `fxir_error` can tell.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) status: fxir_status,
    message: Cow<'static, str>,
    node: fxir_node,
    /// All of them, when there are several.
    nodes: Box<[fxir_node]>,
    line: usize,
    column: usize,
    callback_code: i32,
}

/// A failure whose message C can read as it stands.
pub(super) struct ErrorRecord {
    failure: Failure,
    message: CString,
}

impl Failure {
    #[cold]
    pub(super) fn new(status: fxir_status, message: impl Into<Cow<'static, str>>) -> Box<Failure> {
        Box::new(Failure {
            status,
            message: message.into(),
            node: 0,
            nodes: Box::default(),
            line: 0,
            column: 0,
            callback_code: 0,
        })
    }

    #[cold]
    pub(super) fn callback(code: i32) -> Box<Failure> {
        let mut failure = Failure::new(FXIR_CALLBACK, format!("a callback stopped the call with code {code}"));
        failure.callback_code = code;
        failure
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// The same failure in other words.
    pub(super) fn told(mut self: Box<Failure>, message: String) -> Box<Failure> {
        self.message = message.into();
        self
    }
}

impl From<Error> for Box<Failure> {
    #[cold]
    fn from(error: Error) -> Self {
        let (status, callback_code) = match error.kind {
            ErrorKind::InvalidArgument => (FXIR_INVALID_ARGUMENT, 0),
            ErrorKind::OutOfRange => (FXIR_OUT_OF_RANGE, 0),
            ErrorKind::NotFound => (FXIR_NOT_FOUND, 0),
            ErrorKind::AlreadyExists => (FXIR_ALREADY_EXISTS, 0),
            ErrorKind::StaleNode => (FXIR_STALE_NODE, 0),
            ErrorKind::InUse => (FXIR_IN_USE, 0),
            ErrorKind::Parse => (FXIR_PARSE, 0),
            ErrorKind::Io => (FXIR_IO, 0),
            ErrorKind::Lint => (FXIR_LINT, 0),
            ErrorKind::Unsupported => (FXIR_UNSUPPORTED, 0),
            ErrorKind::Callback(code) => (FXIR_CALLBACK, code),
            ErrorKind::Limit => (FXIR_LIMIT, 0),
            ErrorKind::Busy => (FXIR_BUSY, 0),
        };
        Box::new(Failure {
            status,
            message: error.message.into(),
            node: error.node.map_or(0, |node| node.to_bits()),
            nodes: error.nodes.iter().map(|node| node.to_bits()).collect(),
            line: error.place.map_or(0, |place| place.line),
            column: error.place.map_or(0, |place| place.column),
            callback_code,
        })
    }
}

/// A handle for a failure; NULL when there is no room for one more handle.
pub(super) fn into_handle(failure: Failure) -> *mut fxir_error {
    let text: Vec<u8> = failure.message.bytes().map(|byte| if byte == 0 { b' ' } else { byte }).collect();
    let message = CString::new(text).unwrap_or_default();
    handle::create(ErrorRecord { failure, message }).unwrap_or(std::ptr::null_mut())
}

fn read<T>(error: *const fxir_error, none: T, get: impl FnOnce(&ErrorRecord) -> T) -> T {
    boundary::value(none, || Ok(get(&*handle::get::<ErrorRecord>(error)?)))
}

/// What kind of failure it is; `FXIR_INVALID_HANDLE` when `error` is no error.
#[no_mangle]
pub extern "C" fn fxir_error_code(error: *const fxir_error) -> fxir_status {
    read(error, FXIR_INVALID_HANDLE, |record| record.failure.status)
}

/// A sentence for a person, in English, that names the node and operator where there is one. The
/// text lives until the error is freed; "" when `error` is no error.
#[no_mangle]
pub extern "C" fn fxir_error_message(error: *const fxir_error) -> *const c_char {
    read(error, c"".as_ptr(), |record| record.message.as_ptr())
}

/// The node that the failure is about; 0 when it is about none.
#[no_mangle]
pub extern "C" fn fxir_error_node(error: *const fxir_error) -> fxir_node {
    read(error, 0, |record| record.failure.node)
}

/// All nodes that the failure is about: fills `nodes` with as many as `capacity` allows and returns how
/// many there are. Of a cycle these are all nodes on it, each before the one that uses it, and the
/// last before the first again; of a node that is used before it is defined, its user and then the
/// node; else the one that `fxir_error_node` gives, if it does. The first is always that one. `nodes`
/// may be NULL when `capacity` is 0.
#[no_mangle]
pub unsafe extern "C" fn fxir_error_nodes(error: *const fxir_error, nodes: *mut fxir_node, capacity: usize) -> usize {
    read(error, 0, |record| {
        let failure = &record.failure;
        let one = (failure.node != 0).then_some(failure.node);
        let all = if failure.nodes.is_empty() { one.as_slice() } else { &failure.nodes };
        // SAFETY: the caller's promise: NULL, or room for `capacity` nodes.
        unsafe { input::fill(nodes, capacity, all.iter().copied()) }
    })
}

/// The line, counted from 1, at which a text could not be read; 0 when there is none.
#[no_mangle]
pub extern "C" fn fxir_error_line(error: *const fxir_error) -> usize {
    read(error, 0, |record| record.failure.line)
}

/// The column, counted in bytes from 1, at which a text could not be read; 0 when there is none.
#[no_mangle]
pub extern "C" fn fxir_error_column(error: *const fxir_error) -> usize {
    read(error, 0, |record| record.failure.column)
}

/// What the callback returned that stopped a call with `FXIR_CALLBACK`; else 0.
#[no_mangle]
pub extern "C" fn fxir_error_callback_code(error: *const fxir_error) -> i32 {
    read(error, 0, |record| record.failure.callback_code)
}

/// Frees an error. NULL and a dead handle do nothing.
#[no_mangle]
pub extern "C" fn fxir_error_free(error: *mut fxir_error) {
    boundary::value((), || handle::free::<ErrorRecord>(error));
}

impl Handle for ErrorRecord {
    type C = fxir_error;
    const WHAT: &'static str = "error";
}
