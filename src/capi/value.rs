//! What a node yields: one tensor's metadata, or lists, tuples and dicts of such.

use super::boundary;
use super::error::{fxir_error, Failure, Outcome};
use super::handle::{self, Handle};
use super::input::{self, Out};
use super::module::fxir_module;
use super::module_handle::{read_graph, write_graph};
use super::node::fxir_node;
use super::status::*;
use super::tensor_meta::{self, fxir_tensor_meta, MetaRecord};
use crate::ir::tensor_meta::Scalar;
use crate::ir::Value;
use std::ffi::{c_char, CString};
use std::ptr::null;
use std::sync::Arc;

/// `None`.
pub const FXIR_VALUE_NONE: u32 = 0;
/// One tensor: `tensor`.
pub const FXIR_VALUE_TENSOR: u32 = 1;
/// A list: `items`, `count` of them.
pub const FXIR_VALUE_LIST: u32 = 2;
/// A tuple: `items`, `count` of them.
pub const FXIR_VALUE_TUPLE: u32 = 3;
/// A dict: `items`, `count` of them, each with its `key`.
pub const FXIR_VALUE_DICT: u32 = 4;
/// True or False: `integer` is 1 or 0.
pub const FXIR_VALUE_BOOL: u32 = 5;
/// An int: `integer`.
pub const FXIR_VALUE_INT: u32 = 6;
/// A float: `real`.
pub const FXIR_VALUE_FLOAT: u32 = 7;
/// A symbolic number: `text`.
pub const FXIR_VALUE_SYMBOLIC: u32 = 8;

/// What a node yields, as far as it is known.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_value {
    /// One of FXIR_VALUE_*.
    pub kind: u32,
    /// Must be 0.
    pub flags: u32,
    /// The number of items; 0 for the other kinds.
    pub count: usize,
    /// Its key, when it is an entry of a dict; else NULL.
    pub key: *const c_char,
    /// What `kind` says.
    pub content: fxir_value_content,
}

/// The content of a value; `kind` of the value says which member holds it.
#[repr(C)]
#[derive(Clone, Copy)]
pub union fxir_value_content {
    /// Of a tensor.
    pub tensor: *const fxir_tensor_meta,
    /// Of a list, tuple or dict.
    pub items: *const fxir_value,
    /// Of a bool or int.
    pub integer: i64,
    /// Of a float.
    pub real: f64,
    /// Of a symbolic number.
    pub text: *const c_char,
}

/// What a node yielded when it was asked. Nothing that is edited later changes it. Freed with
/// `fxir_values_free`; everything that is read out of it lives until then.
pub struct fxir_values;

struct ValuesRecord {
    root: Box<fxir_value>,
    tensors: Vec<*const fxir_tensor_meta>,
    _items: Vec<Box<[fxir_value]>>,
    #[expect(clippy::vec_box, reason = "what is pointed to must stay where it is when the vector grows")]
    _metas: Vec<Box<MetaRecord>>,
    _texts: Vec<CString>,
}

// SAFETY: the pointers lead into the record's own storage, which does not change any more.
unsafe impl Send for ValuesRecord {}
// SAFETY: as above.
unsafe impl Sync for ValuesRecord {}

impl Handle for ValuesRecord {
    type C = fxir_values;
    const WHAT: &'static str = "snapshot of values";
}

/// How deep values may nest.
const MAX_DEPTH: usize = 64;

#[derive(Default)]
struct Writer {
    items: Vec<Box<[fxir_value]>>,
    #[expect(clippy::vec_box, reason = "what is pointed to must stay where it is when the vector grows")]
    metas: Vec<Box<MetaRecord>>,
    texts: Vec<CString>,
    tensors: Vec<*const fxir_tensor_meta>,
}

impl Writer {
    fn text(&mut self, text: &str) -> *const c_char {
        let text = CString::new(text).unwrap_or_default();
        let place = text.as_ptr();
        self.texts.push(text);
        place
    }

    fn value(&mut self, key: Option<&str>, value: &Value, depth_left: usize) -> Outcome<fxir_value> {
        let Some(depth_left) = depth_left.checked_sub(1) else { return Err(too_deep()) };
        let key = key.map_or(null(), |key| self.text(key));
        let plain = |kind, content| fxir_value { kind, flags: 0, count: 0, key, content };
        Ok(match value {
            Value::None => plain(FXIR_VALUE_NONE, fxir_value_content { integer: 0 }),
            Value::Scalar(Scalar::Bool(value)) => {
                plain(FXIR_VALUE_BOOL, fxir_value_content { integer: i64::from(*value) })
            }
            Value::Scalar(Scalar::Int(value)) => plain(FXIR_VALUE_INT, fxir_value_content { integer: *value }),
            Value::Scalar(Scalar::Float(value)) => plain(FXIR_VALUE_FLOAT, fxir_value_content { real: *value }),
            Value::Scalar(Scalar::Sym(symbol)) => {
                let text = self.text(symbol);
                plain(FXIR_VALUE_SYMBOLIC, fxir_value_content { text })
            }
            Value::Tensor(meta) => {
                let record = Box::new(MetaRecord::new(meta)?);
                let tensor: *const fxir_tensor_meta = record.meta();
                self.metas.push(record);
                self.tensors.push(tensor);
                plain(FXIR_VALUE_TENSOR, fxir_value_content { tensor })
            }
            Value::List(items) => self.list(FXIR_VALUE_LIST, key, items.iter().map(|i| (None, i)), depth_left)?,
            Value::Tuple(items) => self.list(FXIR_VALUE_TUPLE, key, items.iter().map(|i| (None, i)), depth_left)?,
            Value::Dict(entries) => {
                self.list(FXIR_VALUE_DICT, key, entries.iter().map(|(k, v)| (Some(&**k), v)), depth_left)?
            }
        })
    }

    fn list<'a>(
        &mut self,
        kind: u32,
        key: *const c_char,
        items: impl Iterator<Item = (Option<&'a str>, &'a Value)>,
        depth_left: usize,
    ) -> Outcome<fxir_value> {
        let items = items.map(|(key, item)| self.value(key, item, depth_left)).collect::<Outcome<Box<[_]>>>()?;
        let content = fxir_value_content { items: if items.is_empty() { null() } else { items.as_ptr() } };
        let value = fxir_value { kind, flags: 0, count: items.len(), key, content };
        self.items.push(items);
        Ok(value)
    }
}

/// Reads what C gives; `items_left` bounds the time that a value which holds itself can take.
unsafe fn read(value: &fxir_value, depth_left: usize, items_left: &mut usize) -> Outcome<Value> {
    let Some(depth_left) = depth_left.checked_sub(1) else { return Err(too_deep()) };
    if value.flags != 0 {
        return Err(Failure::new(FXIR_INVALID_ARGUMENT, "a value has flags, which mean nothing"));
    }
    // SAFETY: the kind says which member of the union was written, and where that is a pointer,
    // `count` says to how much.
    unsafe {
        let mut items = || -> Outcome<Vec<(*const c_char, Value)>> {
            *items_left = items_left
                .checked_sub(value.count)
                .ok_or_else(|| Failure::new(FXIR_LIMIT, "a value holds more items than the library takes"))?;
            let items = input::slice(value.content.items, value.count, "items")?;
            items.iter().map(|item| Ok((item.key, read(item, depth_left, items_left)?))).collect()
        };
        Ok(match value.kind {
            FXIR_VALUE_NONE => Value::None,
            FXIR_VALUE_TENSOR => Value::Tensor(tensor_meta::read(value.content.tensor)?),
            FXIR_VALUE_LIST => Value::List(items()?.into_iter().map(|(_, item)| item).collect()),
            FXIR_VALUE_TUPLE => Value::Tuple(items()?.into_iter().map(|(_, item)| item).collect()),
            FXIR_VALUE_DICT => {
                let entries = items()?.into_iter().map(|(key, item)| Ok((input::text(key, "key")?.into(), item)));
                Value::Dict(entries.collect::<Outcome<_>>()?)
            }
            FXIR_VALUE_BOOL => {
                let number = i32::try_from(value.content.integer).unwrap_or(-1);
                Value::Scalar(Scalar::Bool(input::flag(number, "a bool")?))
            }
            FXIR_VALUE_INT => Value::Scalar(Scalar::Int(value.content.integer)),
            FXIR_VALUE_FLOAT => Value::Scalar(Scalar::Float(value.content.real)),
            FXIR_VALUE_SYMBOLIC => Value::Scalar(Scalar::Sym(input::text(value.content.text, "text")?.into())),
            kind => return Err(Failure::new(FXIR_INVALID_ARGUMENT, format!("{kind} is no kind of value"))),
        })
    }
}

#[cold]
fn too_deep() -> Box<Failure> {
    Failure::new(FXIR_LIMIT, format!("a value nests deeper than {MAX_DEPTH} levels"))
}

/// A snapshot of what the node yields. Free it with `fxir_values_free`.
///
/// Statuses: FXIR_STALE_NODE, FXIR_NOT_FOUND (nothing is known). torch.fx: `Node.meta["tensor_meta"]`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_value(
    module: *const fxir_module,
    node: fxir_node,
    values: *mut *mut fxir_values,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let values = Out::required(values, "values")?;
        let id = input::node(node)?;
        let value = read_graph(module, |graph| Ok(graph.get(id)?.value().cloned()))?;
        let value = value.ok_or_else(|| Failure::new(FXIR_NOT_FOUND, "it is not known what the node yields"))?;
        let mut writer = Writer::default();
        let root = Box::new(writer.value(None, &value, MAX_DEPTH)?);
        values.set_handle(ValuesRecord {
            root,
            tensors: writer.tensors,
            _items: writer.items,
            _metas: writer.metas,
            _texts: writer.texts,
        })
    })
}

/// Says what the node yields; NULL says that it is not known. The value is copied.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_ARGUMENT, FXIR_INVALID_UTF8, FXIR_LIMIT.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_set_value(
    module: *mut fxir_module,
    node: fxir_node,
    value: *const fxir_value,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let id = input::node(node)?;
        let mut items_left = super::argument::FXIR_MAX_ARGUMENT_ITEMS;
        let value = value.as_ref().map(|value| read(value, MAX_DEPTH, &mut items_left)).transpose()?;
        write_graph(module, |graph| Ok(graph.set_value(id, value.map(Arc::new))?))
    })
}

/// Says that the node yields one tensor of this metadata.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_ARGUMENT, FXIR_INVALID_UTF8, FXIR_LIMIT.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_set_tensor_meta(
    module: *mut fxir_module,
    node: fxir_node,
    meta: *const fxir_tensor_meta,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let id = input::node(node)?;
        let value = Arc::new(Value::Tensor(tensor_meta::read(meta)?));
        write_graph(module, |graph| Ok(graph.set_value(id, Some(value))?))
    })
}

/// The element type of the one tensor that the node yields; FXIR_DTYPE_NONE when that is not known
/// or it yields something else.
#[no_mangle]
pub extern "C" fn fxir_node_dtype(module: *const fxir_module, node: fxir_node) -> i32 {
    boundary::value(0, || {
        let id = input::node(node)?;
        read_graph(module, |graph| {
            let meta = graph.get(id)?.value().and_then(|value| value.as_tensor());
            Ok(meta.map_or(0, |meta| super::dtype::number(meta.dtype)))
        })
    })
}

/// The sizes of the one tensor that the node yields: fills `shape` with as many as `capacity` allows
/// and returns how many there are; -1 stands for one that is symbolic. 0 for a scalar too:
/// `fxir_node_dtype` tells whether anything is known.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_shape(
    module: *const fxir_module,
    node: fxir_node,
    shape: *mut i64,
    capacity: usize,
) -> usize {
    boundary::value(0, || {
        let id = input::node(node)?;
        read_graph(module, |graph| {
            let meta = graph.get(id)?.value().and_then(|value| value.as_tensor());
            let sizes = meta.iter().flat_map(|meta| &meta.shape).map(|dim| dim.as_int().unwrap_or(-1));
            Ok(input::fill(shape, capacity, sizes))
        })
    })
}

fn read_record<T>(values: *const fxir_values, none: T, get: impl FnOnce(&ValuesRecord) -> T) -> T {
    boundary::value(none, || Ok(get(&*handle::get::<ValuesRecord>(values)?)))
}

/// What was yielded. Lives until the snapshot is freed; NULL when `values` is none.
#[no_mangle]
pub extern "C" fn fxir_values_root(values: *const fxir_values) -> *const fxir_value {
    read_record(values, null(), |record| &raw const *record.root)
}

/// How many tensors are in it, however nested.
#[no_mangle]
pub extern "C" fn fxir_values_tensor_count(values: *const fxir_values) -> usize {
    read_record(values, 0, |record| record.tensors.len())
}

/// The metadata of the tensor at `index`, in order, depth first. Lives until the snapshot is freed;
/// NULL when there is none.
#[no_mangle]
pub extern "C" fn fxir_values_tensor(values: *const fxir_values, index: usize) -> *const fxir_tensor_meta {
    read_record(values, null(), |record| record.tensors.get(index).copied().unwrap_or(null()))
}

/// Frees a snapshot. NULL and a dead handle do nothing.
#[no_mangle]
pub extern "C" fn fxir_values_free(values: *mut fxir_values) {
    boundary::value((), || handle::free::<ValuesRecord>(values));
}
