//! Writing weights whose bytes come piece by piece: `fxir_weights_writer`.

use super::argument;
use super::boundary;
use super::error::{fxir_error, Failure, Outcome};
use super::handle::{self, Handle};
use super::input::{self, Out};
use super::status::*;
use super::stream::{fxir_write, CallbackWriter};
use crate::formats::replace_file::StagedFile;
use crate::formats::weights::Writer;
use crate::ir::tensor_meta::nbytes;
use crate::ir::{Dtype, ErrorKind};
use indexmap::IndexMap;
use parking_lot::Mutex;
use std::ffi::{c_char, c_void};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// Writes a safetensors file of which the bytes are never in memory together: all tensors are
/// announced, then their bytes come, in pieces of any size. One thread at a time may use it. Freed with
/// `fxir_weights_writer_free`.
pub struct fxir_weights_writer;

/// None while a call is at work, and once the file is finished.
struct WriterRecord(Arc<Mutex<Option<State>>>);

enum State {
    Announcing(Sink, IndexMap<String, (Dtype, Vec<i64>)>),
    Writing(Writer<Sink>),
}

enum Sink {
    File(Box<StagedFile>),
    Callback(CallbackWriter),
}

// SAFETY: the `user_data` of a callback is passed back where the caller calls, one call at a time, as
// the callback's documentation says.
unsafe impl Send for Sink {}

impl Handle for WriterRecord {
    type C = fxir_weights_writer;
    const WHAT: &'static str = "writer of weights";
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::File(file) => file.write(bytes),
            Sink::Callback(callback) => callback.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::File(file) => file.flush(),
            Sink::Callback(callback) => callback.flush(),
        }
    }
}

impl Sink {
    /// A callback's own code goes before what was made of it.
    fn told<T>(&self, result: Outcome<T>) -> Outcome<T> {
        match self {
            Sink::File(_) => result,
            Sink::Callback(callback) => callback.finish(result),
        }
    }
}

/// What becomes of the state, and of the call.
type Done = (Option<State>, Outcome<()>);

/// Lets a call work on the state with no lock held: callbacks may come back to the library.
fn with_state(writer: *const fxir_weights_writer, work: impl FnOnce(State) -> Done) -> Outcome<()> {
    let shared = handle::get::<WriterRecord>(writer)?.0.clone();
    let state = shared.lock().take();
    let state = state.ok_or_else(|| Failure::new(FXIR_BUSY, "the writer has finished, has failed, or is in use"))?;
    let (state, result) = work(state);
    *shared.lock() = state;
    result
}

/// The same once the header is written.
fn with_writer(
    writer: *const fxir_weights_writer,
    work: impl FnOnce(&mut Writer<Sink>) -> crate::ir::Result<()>,
) -> Outcome<()> {
    with_state(writer, |state| {
        let begun = match state {
            State::Writing(writer) => Ok(writer),
            State::Announcing(sink, tensors) => {
                let announced = tensors.iter().map(|(name, (dtype, sizes))| (name.as_str(), *dtype, sizes.as_slice()));
                Writer::new(sink, announced)
            }
        };
        let mut writer = match begun {
            Ok(writer) => writer,
            Err(error) => return (None, Err(error.into())),
        };
        match work(&mut writer) {
            Ok(()) => (Some(State::Writing(writer)), Ok(())),
            // Nothing was written.
            Err(error) if error.kind == ErrorKind::InvalidArgument => (Some(State::Writing(writer)), Err(error.into())),
            Err(error) => (None, writer.into_inner().told(Err(error.into()))),
        }
    })
}

fn start(sink: Sink) -> WriterRecord {
    WriterRecord(Arc::new(Mutex::new(Some(State::Announcing(sink, IndexMap::new())))))
}

/// Begins a file at `path`: it is written beside it, and takes its place when it is finished. The
/// caller frees `*writer`.
///
/// Statuses: FXIR_IO, FXIR_INVALID_UTF8.
#[no_mangle]
pub unsafe extern "C" fn fxir_weights_writer_new(
    path: *const c_char,
    writer: *mut *mut fxir_weights_writer,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let out = Out::required(writer, "writer")?;
        let file = StagedFile::new(Path::new(input::text(path, "path")?))?;
        out.set_handle(start(Sink::File(Box::new(file))))
    })
}

/// The same into a callback, which is called while `fxir_weights_writer_write` and
/// `fxir_weights_writer_finish` are, on their threads, with pieces of 256 KiB or more but for the last.
/// The caller frees `*writer`.
#[no_mangle]
pub unsafe extern "C" fn fxir_weights_writer_new_to(
    write: fxir_write,
    user_data: *mut c_void,
    writer: *mut *mut fxir_weights_writer,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let out = Out::required(writer, "writer")?;
        out.set_handle(start(Sink::Callback(CallbackWriter::new(write, user_data)?)))
    })
}

/// Announces the next tensor: its name, element type (FXIR_DTYPE_*) and `rank` sizes at `shape`. All
/// are announced before the first bytes come; their bytes lie in the order in which they are announced.
/// Where element types are mixed, the widest first keeps all aligned.
///
/// Statuses: FXIR_INVALID_ARGUMENT (no dtype, a negative size, a name twice, the bytes have begun),
/// FXIR_INVALID_UTF8, FXIR_BUSY (another call uses the writer, or it has finished or failed).
#[no_mangle]
pub unsafe extern "C" fn fxir_weights_writer_announce(
    writer: *mut fxir_weights_writer,
    name: *const c_char,
    dtype: i32,
    shape: *const i64,
    rank: usize,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let name = input::text(name, "name")?.to_owned();
        let dtype = argument::dtype(i64::from(dtype))?;
        let shape = input::slice(shape, rank, "shape")?.to_vec();
        nbytes(dtype, &shape)?;
        let invalid = |message: String| Err(Failure::new(FXIR_INVALID_ARGUMENT, message));
        with_state(writer, |state| match state {
            State::Announcing(sink, tensors) if tensors.contains_key(&name) => {
                (Some(State::Announcing(sink, tensors)), invalid(format!("tensor {name:?} is announced already")))
            }
            State::Announcing(sink, mut tensors) => {
                tensors.insert(name, (dtype, shape));
                (Some(State::Announcing(sink, tensors)), Ok(()))
            }
            writing => (Some(writing), invalid("the bytes have begun: tensors are announced before".into())),
        })
    })
}

/// Writes the next `length` bytes, row-major; where one tensor ends the next begins, so that pieces
/// need not end with tensors.
///
/// Statuses: FXIR_INVALID_ARGUMENT (more bytes than were announced: none of these is written), FXIR_BUSY
/// (as for `fxir_weights_writer_announce`); FXIR_IO, FXIR_CALLBACK and FXIR_LIMIT (too long a header),
/// after which the writer can only be freed.
#[no_mangle]
pub unsafe extern "C" fn fxir_weights_writer_write(
    writer: *mut fxir_weights_writer,
    data: *const c_void,
    length: usize,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let bytes = input::bytes(data.cast(), length, "data")?;
        with_writer(writer, |writer| writer.write(bytes))
    })
}

/// The end: the file takes its place. Once it has, the writer can only be freed.
///
/// Statuses: FXIR_INVALID_ARGUMENT (bytes are missing; the message names the tensor, and they may still
/// come), and those of `fxir_weights_writer_write`.
#[no_mangle]
pub unsafe extern "C" fn fxir_weights_writer_finish(
    writer: *mut fxir_weights_writer,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        with_writer(writer, Writer::finish)?;
        with_state(writer, |state| match state {
            State::Writing(writer) => match writer.into_inner() {
                Sink::File(file) => (None, file.commit().map_err(Into::into)),
                Sink::Callback(_) => (None, Ok(())),
            },
            announcing => (Some(announcing), Ok(())),
        })
    })
}

/// Frees a writer. A file that was not finished is removed, and what was at its path stays. NULL and a
/// dead handle do nothing.
#[no_mangle]
pub extern "C" fn fxir_weights_writer_free(writer: *mut fxir_weights_writer) {
    boundary::value((), || handle::free::<WriterRecord>(writer));
}
