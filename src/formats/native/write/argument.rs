//! Arguments, as JSON of one shape each.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::formats::native::record::{FloatRecord, Word};
use crate::ir::{Argument, Symbol, Symbols};

/// Where symbols and nodes of an argument are told.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) symbols: &'a Symbols,
    /// Of each slot the node's place in the order of its graph.
    pub(super) places: &'a [u32],
}

/// An argument to be written.
pub(super) struct Written<'a>(pub(super) &'a Argument, pub(super) Scope<'a>);

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Written(argument, scope) = *self;
        let word = |symbol: &Symbol| Word::from(scope.symbols.text(*symbol));
        let all = |items| List(items, scope);
        match argument {
            Argument::None => serializer.serialize_unit(),
            Argument::Bool(value) => serializer.serialize_bool(*value),
            Argument::Int(value) => serializer.serialize_i64(*value),
            Argument::Str(symbol) => serializer.serialize_str(scope.symbols.text(*symbol)),
            Argument::List(items) => all(items).serialize(serializer),
            Argument::BigInt(symbol) => tagged(serializer, "int", &word(symbol)),
            Argument::Float(value) => tagged(serializer, "float", &FloatRecord(*value)),
            Argument::Complex(parts) => tagged(serializer, "complex", &parts.map(FloatRecord)),
            Argument::Bytes(bytes) => tagged(serializer, "bytes", &hexadecimal(bytes)),
            Argument::Dtype(dtype) => tagged(serializer, "dtype", dtype.name()),
            Argument::Device(symbol) => tagged(serializer, "device", &word(symbol)),
            Argument::Layout(symbol) => tagged(serializer, "layout", &word(symbol)),
            Argument::MemoryFormat(symbol) => tagged(serializer, "memory_format", &word(symbol)),
            Argument::Qscheme(symbol) => tagged(serializer, "qscheme", &word(symbol)),
            Argument::Ellipsis => tagged(serializer, "ellipsis", &()),
            Argument::SymInt(symbol) => tagged(serializer, "symint", &word(symbol)),
            Argument::Tuple(items) => tagged(serializer, "tuple", &all(items)),
            Argument::Dict(entries) => tagged(serializer, "dict", &Pairs(entries, scope)),
            Argument::Slice(parts) => tagged(serializer, "slice", &all(parts.as_ref())),
            Argument::Range(parts) => tagged(serializer, "range", parts.as_ref()),
            Argument::Node(node) => match scope.places.get(node.slot()) {
                Some(place) => tagged(serializer, "node", place),
                None => Err(serde::ser::Error::custom("a node stands where only literals may")),
            },
        }
    }
}

/// Arguments in a row.
pub(super) struct List<'a>(pub(super) &'a [Argument], pub(super) Scope<'a>);

impl Serialize for List<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|item| Written(item, self.1)))
    }
}

/// Keys and values, in their order.
struct Pairs<'a>(&'a [(Argument, Argument)], Scope<'a>);

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut pairs = serializer.serialize_seq(Some(self.0.len()))?;
        for (key, value) in self.0 {
            pairs.serialize_element(&[Written(key, self.1), Written(value, self.1)])?;
        }
        pairs.end()
    }
}

/// An object of one key, which tells the kind.
pub(super) fn tagged<S: Serializer, T: Serialize + ?Sized>(
    serializer: S,
    kind: &str,
    content: &T,
) -> Result<S::Ok, S::Error> {
    let mut object = serializer.serialize_map(Some(1))?;
    object.serialize_entry(kind, content)?;
    object.end()
}

fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| DIGITS[usize::from(digit)] as char).collect()
}
