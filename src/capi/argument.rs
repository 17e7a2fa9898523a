//! Arguments as C writes them: `fxir_arg`, and how it becomes an argument of a graph.

use super::error::{Failure, Outcome};
use super::input::{self, not_utf8, null};
use super::node::fxir_node;
use super::status::*;
use crate::ir::error::counted;
use crate::ir::{Args, Argument, Dtype, Kwargs, NodeId, Symbol, Symbols, MAX_ARGUMENT_DEPTH};
use std::ffi::c_char;

/// `None`. An `fxir_arg` whose bytes are all zero is one.
pub const FXIR_ARG_NONE: u32 = 0;
/// `True` or `False`: `integer` is 1 or 0.
pub const FXIR_ARG_BOOL: u32 = 1;
/// An int: `integer`.
pub const FXIR_ARG_INT: u32 = 2;
/// An int beyond 64 bits: `text`, in decimal digits.
pub const FXIR_ARG_BIG_INT: u32 = 3;
/// A float: `real`.
pub const FXIR_ARG_FLOAT: u32 = 4;
/// A complex number: `parts`, real and imaginary.
pub const FXIR_ARG_COMPLEX: u32 = 5;
/// A string: `text`, of `count` bytes of UTF-8; NULs may be among them.
pub const FXIR_ARG_STR: u32 = 6;
/// A byte string: `bytes`, of `count` bytes.
pub const FXIR_ARG_BYTES: u32 = 7;
/// A dtype: `integer` is one of `FXIR_DTYPE_*`.
pub const FXIR_ARG_DTYPE: u32 = 8;
/// A device: `text`, spelled "cpu" or "cuda:0".
pub const FXIR_ARG_DEVICE: u32 = 9;
/// A layout: `text`, spelled "torch.strided".
pub const FXIR_ARG_LAYOUT: u32 = 10;
/// A memory format: `text`, spelled "torch.contiguous_format".
pub const FXIR_ARG_MEMORY_FORMAT: u32 = 11;
/// A quantization scheme: `text`, spelled "torch.per_tensor_affine".
pub const FXIR_ARG_QSCHEME: u32 = 12;
/// `...`.
pub const FXIR_ARG_ELLIPSIS: u32 = 13;
/// A symbolic int: `text`, as it was spelled.
pub const FXIR_ARG_SYMINT: u32 = 14;
/// A list: `items`, `count` of them.
pub const FXIR_ARG_LIST: u32 = 15;
/// A tuple: `items`, `count` of them.
pub const FXIR_ARG_TUPLE: u32 = 16;
/// A dict of `count` entries: `items` holds twice as many, key and value in turn. No node may stand
/// in a key.
pub const FXIR_ARG_DICT: u32 = 17;
/// A slice: `items` holds start, stop and step; `count` is 3.
pub const FXIR_ARG_SLICE: u32 = 18;
/// A range: `integers` holds start, stop and step; `count` is 3.
pub const FXIR_ARG_RANGE: u32 = 19;
/// What another node of the same graph yields: `node`.
pub const FXIR_ARG_NODE: u32 = 20;

/// How deep lists, tuples, dicts and slices may nest; deeper is `FXIR_LIMIT`.
pub const FXIR_MAX_ARGUMENT_DEPTH: usize = 64;
const _: () = assert!(FXIR_MAX_ARGUMENT_DEPTH == MAX_ARGUMENT_DEPTH);

/// How many items all lists, tuples, dicts and slices of one call may hold together; more is
/// `FXIR_LIMIT`.
pub const FXIR_MAX_ARGUMENT_ITEMS: usize = 4_194_304;

/// One argument: whatever torch.fx allows in `args` and `kwargs`. The functions `fxir_arg_int`,
/// `fxir_arg_list`, ... below make them. Calls copy what they are given, so arguments may live on
/// the stack.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_arg {
    /// One of `FXIR_ARG_*`.
    pub kind: u32,
    /// Must be 0.
    pub flags: u32,
    /// The length of a text in bytes, the number of items; 0 for the other kinds.
    pub count: usize,
    /// What `kind` says.
    pub value: fxir_arg_value,
}

/// The value of an argument; `kind` of the argument says which member holds it.
#[repr(C)]
#[derive(Clone, Copy)]
pub union fxir_arg_value {
    /// Of a bool, int or dtype.
    pub integer: i64,
    /// Of a float.
    pub real: f64,
    /// Of a complex number: real and imaginary part.
    pub parts: [f64; 2],
    /// Of a node.
    pub node: fxir_node,
    /// Of what is spelled. Need not be NUL-terminated when given; is when read.
    pub text: *const c_char,
    /// Of a byte string.
    pub bytes: *const u8,
    /// Of a list, tuple, dict or slice.
    pub items: *const fxir_arg,
    /// Of a range.
    pub integers: *const i64,
}

/// One keyword argument.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_kwarg {
    /// Its name, NUL-terminated.
    pub name: *const c_char,
    /// What is passed under that name.
    pub value: fxir_arg,
}

/// Reads the arguments of one call, which share a budget.
pub(super) struct Reader<'a> {
    symbols: &'a Symbols,
    items_left: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(symbols: &'a Symbols) -> Self {
        Reader { symbols, items_left: FXIR_MAX_ARGUMENT_ITEMS }
    }

    #[inline(always)]
    pub(super) unsafe fn args(&mut self, args: *const fxir_arg, count: usize) -> Outcome<Args> {
        self.spend(count)?;
        // SAFETY: passed on.
        let args = unsafe { input::slice(args, count, "args") }?;
        let mut read = Args::with_capacity(count);
        // Nearly all of them are nodes, which need no result that would be moved in pieces.
        let node = |arg: &fxir_arg| match (arg.kind, arg.flags) {
            // SAFETY: the kind says which member of the union was written.
            (FXIR_ARG_NODE, 0) => NodeId::from_bits(unsafe { arg.value.node }).map(Argument::Node),
            _ => None,
        };
        read.extend(args.iter().map_while(node));
        for arg in args.iter().skip(read.len()) {
            // SAFETY: passed on.
            read.push(unsafe { self.arg(arg, MAX_ARGUMENT_DEPTH) }?);
        }
        Ok(read)
    }

    pub(super) unsafe fn kwargs(&mut self, kwargs: *const fxir_kwarg, count: usize) -> Outcome<Kwargs> {
        self.spend(count)?;
        // SAFETY: passed on.
        let kwargs = unsafe { input::slice(kwargs, count, "kwargs") }?;
        let mut read = Kwargs::with_capacity(count);
        for kwarg in kwargs {
            // SAFETY: passed on.
            let name = unsafe { input::text(kwarg.name, "kwargs[].name") }?;
            // SAFETY: passed on.
            let value = unsafe { self.arg(&kwarg.value, MAX_ARGUMENT_DEPTH) }?;
            read.push((self.symbols.intern(name), value));
        }
        Ok(read)
    }

    pub(super) unsafe fn one(&mut self, arg: *const fxir_arg, what: &str) -> Outcome<Argument> {
        // SAFETY: passed on.
        unsafe { self.arg(input::required(arg, what)?, MAX_ARGUMENT_DEPTH) }
    }

    /// Recursion is bounded by `depth_left`, and time by the budget: an array that holds itself
    /// ends at one or the other.
    unsafe fn arg(&mut self, arg: &fxir_arg, depth_left: usize) -> Outcome<Argument> {
        if arg.flags != 0 {
            return Err(invalid(format!("an argument has flags {:#x}, which mean nothing", arg.flags)));
        }
        // SAFETY: the kind says which member of the union was written, and where that is a pointer,
        // `count` says to how much.
        unsafe {
            let value = &arg.value;
            Ok(match arg.kind {
                FXIR_ARG_NONE => Argument::None,
                FXIR_ARG_BOOL => Argument::Bool(match value.integer {
                    0 => false,
                    1 => true,
                    other => return Err(invalid(format!("a bool is {other}, neither 0 nor 1"))),
                }),
                FXIR_ARG_INT => Argument::Int(value.integer),
                FXIR_ARG_FLOAT => Argument::Float(value.real),
                FXIR_ARG_NODE => Argument::Node(input::node(value.node)?),
                FXIR_ARG_STR => Argument::Str(self.symbols.intern(text(value.text, arg.count)?)),
                FXIR_ARG_COMPLEX => Argument::Complex(Box::new(value.parts)),
                FXIR_ARG_BYTES => Argument::Bytes(input::bytes(value.bytes, arg.count, "bytes")?.into()),
                FXIR_ARG_DTYPE => Argument::Dtype(dtype(value.integer)?),
                FXIR_ARG_BIG_INT => self.big_int(text(value.text, arg.count)?)?,
                FXIR_ARG_DEVICE => Argument::Device(self.spelled(arg)?),
                FXIR_ARG_LAYOUT => Argument::Layout(self.spelled(arg)?),
                FXIR_ARG_MEMORY_FORMAT => Argument::MemoryFormat(self.spelled(arg)?),
                FXIR_ARG_QSCHEME => Argument::Qscheme(self.spelled(arg)?),
                FXIR_ARG_SYMINT => Argument::SymInt(self.spelled(arg)?),
                FXIR_ARG_ELLIPSIS => Argument::Ellipsis,
                FXIR_ARG_LIST => Argument::List(self.items(arg, arg.count, depth_left)?.into()),
                FXIR_ARG_TUPLE => Argument::Tuple(self.items(arg, arg.count, depth_left)?.into()),
                FXIR_ARG_DICT => {
                    let items = self.items(arg, arg.count.saturating_mul(2), depth_left)?;
                    let mut items = items.into_iter();
                    let mut entries = Vec::with_capacity(arg.count);
                    while let (Some(key), Some(value)) = (items.next(), items.next()) {
                        entries.push((key, value));
                    }
                    Argument::Dict(entries.into())
                }
                FXIR_ARG_SLICE => {
                    let items = self.items(arg, arg.count, depth_left)?;
                    let parts = <[Argument; 3]>::try_from(items)
                        .map_err(|items| invalid(format!("a slice has {}, not 3", counted(items.len(), "item"))))?;
                    Argument::Slice(Box::new(parts))
                }
                FXIR_ARG_RANGE => match *input::slice(value.integers, arg.count, "integers")? {
                    [start, stop, step] if step != 0 => Argument::Range(Box::new([start, stop, step])),
                    [_, _, _] => return Err(invalid("a range has a step of 0")),
                    _ => return Err(invalid(format!("a range has {}, not 3", counted(arg.count, "integer")))),
                },
                kind => return Err(invalid(format!("{kind} is no kind of argument"))),
            })
        }
    }

    unsafe fn items(&mut self, arg: &fxir_arg, count: usize, depth_left: usize) -> Outcome<Vec<Argument>> {
        let Some(depth_left) = depth_left.checked_sub(1) else {
            let message = format!("an argument nests deeper than {MAX_ARGUMENT_DEPTH} levels");
            return Err(Failure::new(FXIR_LIMIT, message));
        };
        self.spend(count)?;
        // SAFETY: the kind says that `items` was written, `count` how many there are.
        let items = unsafe { input::slice(arg.value.items, count, "items") }?;
        let mut read = Vec::with_capacity(count);
        for item in items {
            // SAFETY: passed on.
            read.push(unsafe { self.arg(item, depth_left) }?);
        }
        Ok(read)
    }

    fn spend(&mut self, items: usize) -> Outcome<()> {
        self.items_left = self.items_left.checked_sub(items).ok_or_else(|| {
            Failure::new(FXIR_LIMIT, format!("arguments hold more than {FXIR_MAX_ARGUMENT_ITEMS} items"))
        })?;
        Ok(())
    }

    fn big_int(&self, text: &str) -> Outcome<Argument> {
        if let Ok(small) = text.parse() {
            return Ok(Argument::Int(small));
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(invalid("a big int is not spelled in decimal digits"));
        }
        Ok(Argument::BigInt(self.symbols.intern(text)))
    }

    unsafe fn spelled(&self, arg: &fxir_arg) -> Outcome<Symbol> {
        // SAFETY: of every kind that is spelled, `text` was written.
        let text = unsafe { text(arg.value.text, arg.count) }?;
        if text.is_empty() || text.contains('\0') {
            return Err(invalid("a device, layout, memory format, qscheme or symbolic int is empty or holds a NUL"));
        }
        Ok(self.symbols.intern(text))
    }
}

pub(super) fn dtype(number: i64) -> Outcome<Dtype> {
    let dtype = u8::try_from(number).ok().and_then(Dtype::from_u8);
    dtype.ok_or_else(|| invalid(format!("{number} is no dtype")))
}

#[inline]
unsafe fn text<'a>(text: *const c_char, length: usize) -> Outcome<&'a str> {
    if text.is_null() && length > 0 {
        return Err(null("text"));
    }
    // SAFETY: passed on.
    let bytes = unsafe { input::bytes(text.cast(), length, "text") }?;
    std::str::from_utf8(bytes).map_err(|_| not_utf8("text"))
}

#[cold]
fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Box<Failure> {
    Failure::new(FXIR_INVALID_ARGUMENT, message)
}

impl fxir_arg {
    /// An argument that needs no storage of its own.
    pub(super) fn plain(kind: u32, value: fxir_arg_value) -> fxir_arg {
        fxir_arg { kind, flags: 0, count: 0, value }
    }

    pub(super) fn node(node: NodeId) -> fxir_arg {
        fxir_arg::plain(FXIR_ARG_NODE, fxir_arg_value { node: node.to_bits() })
    }
}
