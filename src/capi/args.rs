//! Arguments as C reads them: `fxir_args`, a snapshot.

use super::argument::*;
use super::boundary;
use super::error::Outcome;
use super::handle::{self, Handle};
use super::input;
use crate::ir::{Argument, Symbol, Symbols};
use std::ffi::{c_char, CStr};
use std::sync::Arc;

/// Arguments as they were when they were asked for: positional ones, keyword ones, or the one value
/// of an attribute or an entry of meta. Nothing that is edited later changes it. Freed with
/// `fxir_args_free`; everything that is read out of it lives until then.
pub struct fxir_args;

/// A snapshot with all storage that its arguments point into.
pub(super) struct ArgsRecord {
    items: Box<[fxir_arg]>,
    kwargs: Box<[fxir_kwarg]>,
    _storage: Storage,
}

/// What arguments point into. Boxes stay where they are when this is moved.
struct Storage {
    symbols: Arc<Symbols>,
    items: Vec<Box<[fxir_arg]>>,
    bytes: Vec<Box<[u8]>>,
    #[expect(clippy::vec_box, reason = "what is pointed to must stay where it is when the vector grows")]
    integers: Vec<Box<[i64; 3]>>,
}

// SAFETY: the pointers lead into the record's own storage and into the table of symbols that it
// shares; neither changes any more.
unsafe impl Send for ArgsRecord {}
// SAFETY: as above.
unsafe impl Sync for ArgsRecord {}

impl Handle for ArgsRecord {
    type C = fxir_args;
    const WHAT: &'static str = "snapshot of arguments";
}

impl ArgsRecord {
    pub(super) fn new(symbols: &Arc<Symbols>, args: &[Argument], kwargs: &[(Symbol, Argument)]) -> ArgsRecord {
        let mut storage =
            Storage { symbols: symbols.clone(), items: Vec::new(), bytes: Vec::new(), integers: Vec::new() };
        let items = args.iter().map(|arg| storage.arg(arg)).collect();
        let kwargs = kwargs
            .iter()
            .map(|(name, value)| fxir_kwarg { name: storage.text(*name).0, value: storage.arg(value) })
            .collect();
        ArgsRecord { items, kwargs, _storage: storage }
    }

    pub(super) fn items(&self) -> &[fxir_arg] {
        &self.items
    }

    pub(super) fn kwargs(&self) -> &[fxir_kwarg] {
        &self.kwargs
    }
}

impl Storage {
    fn text(&self, symbol: Symbol) -> (*const c_char, usize) {
        let text = self.symbols.text_with_nul(symbol);
        (text.as_ptr().cast(), text.len() - 1)
    }

    fn spelled(&self, kind: u32, symbol: Symbol) -> fxir_arg {
        let (text, count) = self.text(symbol);
        fxir_arg { kind, flags: 0, count, value: fxir_arg_value { text } }
    }

    fn list<'a>(&mut self, kind: u32, count: usize, items: impl Iterator<Item = &'a Argument>) -> fxir_arg {
        let items: Box<[fxir_arg]> = items.map(|item| self.arg(item)).collect();
        let value = fxir_arg_value { items: if items.is_empty() { std::ptr::null() } else { items.as_ptr() } };
        self.items.push(items);
        fxir_arg { kind, flags: 0, count, value }
    }

    /// Recurses no deeper than an argument of a graph can nest.
    fn arg(&mut self, argument: &Argument) -> fxir_arg {
        match argument {
            Argument::None => fxir_arg::plain(FXIR_ARG_NONE, fxir_arg_value { integer: 0 }),
            Argument::Bool(value) => fxir_arg::plain(FXIR_ARG_BOOL, fxir_arg_value { integer: i64::from(*value) }),
            Argument::Int(value) => fxir_arg::plain(FXIR_ARG_INT, fxir_arg_value { integer: *value }),
            Argument::Float(value) => fxir_arg::plain(FXIR_ARG_FLOAT, fxir_arg_value { real: *value }),
            Argument::Complex(parts) => fxir_arg::plain(FXIR_ARG_COMPLEX, fxir_arg_value { parts: **parts }),
            Argument::Ellipsis => fxir_arg::plain(FXIR_ARG_ELLIPSIS, fxir_arg_value { integer: 0 }),
            Argument::Node(node) => fxir_arg::node(*node),
            Argument::Dtype(dtype) => {
                fxir_arg::plain(FXIR_ARG_DTYPE, fxir_arg_value { integer: i64::from(dtype.to_u8()) })
            }
            Argument::BigInt(text) => self.spelled(FXIR_ARG_BIG_INT, *text),
            Argument::Str(text) => self.spelled(FXIR_ARG_STR, *text),
            Argument::Device(text) => self.spelled(FXIR_ARG_DEVICE, *text),
            Argument::Layout(text) => self.spelled(FXIR_ARG_LAYOUT, *text),
            Argument::MemoryFormat(text) => self.spelled(FXIR_ARG_MEMORY_FORMAT, *text),
            Argument::Qscheme(text) => self.spelled(FXIR_ARG_QSCHEME, *text),
            Argument::SymInt(text) => self.spelled(FXIR_ARG_SYMINT, *text),
            Argument::Bytes(bytes) => {
                let bytes: Box<[u8]> = bytes.as_slice().into();
                let arg = fxir_arg {
                    kind: FXIR_ARG_BYTES,
                    flags: 0,
                    count: bytes.len(),
                    value: fxir_arg_value { bytes: bytes.as_ptr() },
                };
                self.bytes.push(bytes);
                arg
            }
            Argument::Range(parts) => {
                let parts = parts.clone();
                let value = fxir_arg_value { integers: parts.as_ptr() };
                self.integers.push(parts);
                fxir_arg { kind: FXIR_ARG_RANGE, flags: 0, count: 3, value }
            }
            Argument::List(items) => self.list(FXIR_ARG_LIST, items.len(), items.iter()),
            Argument::Tuple(items) => self.list(FXIR_ARG_TUPLE, items.len(), items.iter()),
            Argument::Slice(parts) => self.list(FXIR_ARG_SLICE, 3, parts.iter()),
            Argument::Dict(entries) => {
                self.list(FXIR_ARG_DICT, entries.len(), entries.iter().flat_map(|(key, value)| [key, value]))
            }
        }
    }
}

fn read<T>(args: *const fxir_args, none: T, get: impl FnOnce(&ArgsRecord) -> T) -> T {
    boundary::value(none, || -> Outcome<T> { Ok(get(&*handle::get::<ArgsRecord>(args)?)) })
}

/// How many positional arguments; 0 when `args` is no snapshot.
#[no_mangle]
pub extern "C" fn fxir_args_count(args: *const fxir_args) -> usize {
    read(args, 0, |record| record.items.len())
}

/// The positional arguments, `fxir_args_count` of them, in the form in which calls take them. NULL
/// when there are none.
#[no_mangle]
pub extern "C" fn fxir_args_items(args: *const fxir_args) -> *const fxir_arg {
    read(args, std::ptr::null(), |record| match &*record.items {
        [] => std::ptr::null(),
        items => items.as_ptr(),
    })
}

/// How many keyword arguments; 0 when `args` is no snapshot.
#[no_mangle]
pub extern "C" fn fxir_args_kwarg_count(args: *const fxir_args) -> usize {
    read(args, 0, |record| record.kwargs.len())
}

/// The keyword arguments, `fxir_args_kwarg_count` of them, in their order, in the form in which
/// calls take them. NULL when there are none.
#[no_mangle]
pub extern "C" fn fxir_args_kwargs(args: *const fxir_args) -> *const fxir_kwarg {
    read(args, std::ptr::null(), |record| match &*record.kwargs {
        [] => std::ptr::null(),
        kwargs => kwargs.as_ptr(),
    })
}

/// The keyword argument of that name; NULL when there is none.
#[no_mangle]
pub unsafe extern "C" fn fxir_args_kwarg(args: *const fxir_args, name: *const c_char) -> *const fxir_arg {
    boundary::value(std::ptr::null(), || {
        let name = input::text(name, "name")?;
        let record = handle::get::<ArgsRecord>(args)?;
        // SAFETY: names of a snapshot are NUL-terminated texts of its table of symbols.
        let found = record.kwargs.iter().find(|kwarg| CStr::from_ptr(kwarg.name).to_bytes() == name.as_bytes());
        Ok(found.map_or(std::ptr::null(), |kwarg| &raw const kwarg.value))
    })
}

/// Frees a snapshot. NULL and a dead handle do nothing.
#[no_mangle]
pub extern "C" fn fxir_args_free(args: *mut fxir_args) {
    boundary::value((), || handle::free::<ArgsRecord>(args));
}
