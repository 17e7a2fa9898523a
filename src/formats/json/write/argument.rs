//! Arguments, and what JSON does not have among them.

use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::info::serialize_info;
use super::plan::ModulePlan;
use crate::formats::json::encoding::{PyType, ARGS, KEYS, PY, VALUES};
use crate::formats::json::Schema;
use crate::ir::{Argument, NodeId, Symbols};

/// One argument of a graph.
#[derive(Clone, Copy)]
pub(super) struct Arg<'p, 't> {
    pub(super) plan: &'p ModulePlan<'t>,
    pub(super) schema: &'p Schema,
    pub(super) argument: &'p Argument,
    /// Whether it is told of nodes what they yield.
    pub(super) tells: bool,
}

impl Serialize for Arg<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Arg { plan, schema, .. } = *self;
        let inner = |argument| Arg { argument, ..*self };
        let graph = plan.graph;
        let strings = &schema.strings;
        let named = |serializer: S, is_string: bool, py_type, text: &str| match is_string {
            true => serializer.serialize_str(text),
            false => serialize_py(serializer, py_type, &[text]),
        };
        match self.argument {
            Argument::None => serializer.serialize_unit(),
            Argument::Bool(value) => serializer.serialize_bool(*value),
            Argument::Int(value) => serializer.serialize_i64(*value),
            Argument::BigInt(text) => {
                RawValue::from_string(graph.text(*text).to_owned()).map_err(S::Error::custom)?.serialize(serializer)
            }
            Argument::Float(value) => Number(*value).serialize(serializer),
            Argument::Str(text) => serializer.serialize_str(graph.text(*text)),
            Argument::Dtype(dtype) => named(serializer, strings.dtype, PyType::Dtype, dtype.name()),
            Argument::Layout(text) => named(serializer, strings.layout, PyType::Layout, graph.text(*text)),
            Argument::MemoryFormat(text) => {
                named(serializer, strings.memory_format, PyType::MemoryFormat, graph.text(*text))
            }
            Argument::Qscheme(text) => named(serializer, strings.qscheme, PyType::Qscheme, graph.text(*text)),
            Argument::Node(node) => Reference { plan, schema, node: *node, tells: self.tells }.serialize(serializer),
            Argument::List(items) | Argument::Tuple(items) => serializer.collect_seq(items.iter().map(inner)),
            Argument::Dict(entries) if is_plain_dict(entries, graph.symbols()) => {
                let text = |key: &Argument| match key {
                    Argument::Str(key) => graph.text(*key),
                    _ => "",
                };
                serializer.collect_map(entries.iter().map(|(key, value)| (text(key), inner(value))))
            }
            Argument::Dict(entries) => {
                let mut map = serializer.serialize_map(Some(3))?;
                map.serialize_entry(PY, PyType::Dict.name())?;
                map.serialize_entry(KEYS, &Sequence(|| entries.iter().map(|(key, _)| inner(key))))?;
                map.serialize_entry(VALUES, &Sequence(|| entries.iter().map(|(_, value)| inner(value))))?;
                map.end()
            }
            Argument::Slice(parts) => serialize_py(serializer, PyType::Slice, &Sequence(|| parts.iter().map(inner))),
            Argument::Range(parts) => serialize_py(serializer, PyType::Range, &**parts),
            Argument::Complex(parts) => serialize_py(serializer, PyType::Complex, &parts.map(Number)),
            Argument::Bytes(bytes) => serialize_py(serializer, PyType::Bytes, bytes.as_slice()),
            Argument::Device(text) => serialize_py(serializer, PyType::Device, &[graph.text(*text)]),
            Argument::SymInt(text) => serialize_py(serializer, PyType::SymInt, &[graph.text(*text)]),
            Argument::Ellipsis => serialize_py(serializer, PyType::Ellipsis, &[(); 0]),
        }
    }
}

/// A reference to a node.
pub(super) struct Reference<'p, 't> {
    pub(super) plan: &'p ModulePlan<'t>,
    pub(super) schema: &'p Schema,
    pub(super) node: NodeId,
    pub(super) tells: bool,
}

impl Serialize for Reference<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("is_node", &true)?;
        map.serialize_entry("name", self.plan.name(self.node))?;
        if self.tells {
            serialize_info(&mut map, self.plan, self.schema, self.node)?;
        }
        map.end()
    }
}

/// A float, a number or not.
pub(super) struct Number(pub(super) f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = match self.0 {
            value if value.is_finite() => return serializer.serialize_f64(value),
            value if value.is_nan() => "nan",
            value if value < 0.0 => "-inf",
            _ => "inf",
        };
        serialize_py(serializer, PyType::Float, &[text])
    }
}

pub(super) fn serialize_py<S: Serializer>(
    serializer: S,
    py_type: PyType,
    args: &(impl Serialize + ?Sized),
) -> Result<S::Ok, S::Error> {
    serialize_py_named(serializer, py_type.name(), args)
}

pub(super) fn serialize_py_named<S: Serializer>(
    serializer: S,
    py_type: &str,
    args: &(impl Serialize + ?Sized),
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry(PY, py_type)?;
    map.serialize_entry(ARGS, args)?;
    map.end()
}

/// What a function gives, as a list.
pub(super) struct Sequence<F>(pub(super) F);

impl<F: Fn() -> I, I: IntoIterator<Item: Serialize>> Serialize for Sequence<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// Whether an object with the same keys stands for a dict, and for nothing else.
fn is_plain_dict(entries: &[(Argument, Argument)], symbols: &Symbols) -> bool {
    let mut seen = rustc_hash::FxHashSet::default();
    entries.iter().all(|(key, value)| {
        let Argument::Str(key) = key else { return false };
        let is_marked = match (symbols.text(*key), value) {
            ("is_node", Argument::Bool(true)) => true,
            (PY, Argument::Str(name)) => PyType::from_name(symbols.text(*name)).is_some(),
            _ => false,
        };
        !is_marked && seen.insert(*key)
    })
}
