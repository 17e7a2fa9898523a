//! The value of a key that tells of a tensor, or of several.

use serde::de::{DeserializeSeed, Deserializer, Error as SerdeError, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::context::{Context, Text};
use crate::formats::json::encoding::{PyType, ARGS, PY};
use crate::ir::{Argument, Symbols};

/// What stood there.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Field<'a> {
    Null,
    Text(&'a str),
    Bool(bool),
    Int(i64),
    Float(f64),
    /// One for each tensor of several, or numbers per channel.
    List(Vec<Field<'a>>),
    /// What tells nothing of a tensor.
    Other,
}

impl<'a> Field<'a> {
    /// The same where it was read as an argument.
    pub(super) fn from_argument(argument: &Argument, symbols: &'a Symbols) -> Field<'a> {
        match argument {
            Argument::None => Field::Null,
            Argument::Str(text) | Argument::Qscheme(text) => Field::Text(symbols.text(*text)),
            Argument::Dtype(dtype) => Field::Text(dtype.name()),
            Argument::Bool(value) => Field::Bool(*value),
            Argument::Int(value) => Field::Int(*value),
            Argument::Float(value) => Field::Float(*value),
            Argument::List(items) => {
                let one = |item: &Argument| match item {
                    Argument::List(_) => Field::Other,
                    item => Field::from_argument(item, symbols),
                };
                Field::List(items.iter().map(one).collect())
            }
            _ => Field::Other,
        }
    }
}

/// Reads a field.
#[derive(Clone, Copy)]
pub(super) struct FieldSeed<'c, 'a> {
    context: &'c Context<'a>,
    /// How many more lists and objects may open: a list of objects that hold a list is the most that
    /// has a meaning.
    depth: usize,
}

impl<'c, 'a> FieldSeed<'c, 'a> {
    pub(super) fn new(context: &'c Context<'a>) -> Self {
        FieldSeed { context, depth: 3 }
    }
}

impl<'a> DeserializeSeed<'a> for FieldSeed<'_, 'a> {
    type Value = Field<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Field<'a>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for FieldSeed<'_, 'a> {
    type Value = Field<'a>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("what tells of a tensor")
    }

    fn visit_unit<E: SerdeError>(self) -> Result<Field<'a>, E> {
        Ok(Field::Null)
    }

    fn visit_bool<E: SerdeError>(self, value: bool) -> Result<Field<'a>, E> {
        Ok(Field::Bool(value))
    }

    fn visit_i64<E: SerdeError>(self, value: i64) -> Result<Field<'a>, E> {
        Ok(Field::Int(value))
    }

    fn visit_u64<E: SerdeError>(self, value: u64) -> Result<Field<'a>, E> {
        Ok(i64::try_from(value).map_or(Field::Float(value as f64), Field::Int))
    }

    fn visit_f64<E: SerdeError>(self, value: f64) -> Result<Field<'a>, E> {
        Ok(Field::Float(value))
    }

    fn visit_borrowed_str<E: SerdeError>(self, text: &'a str) -> Result<Field<'a>, E> {
        Ok(match self.context.bare(text) {
            Some(value) => Field::Float(value),
            None => Field::Text(text),
        })
    }

    fn visit_str<E: SerdeError>(self, text: &str) -> Result<Field<'a>, E> {
        let symbols = self.context.symbols();
        Ok(Field::Text(symbols.text(symbols.intern(text))))
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut seq: S) -> Result<Field<'a>, S::Error> {
        let Some(depth) = self.depth.checked_sub(1) else {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Field::Other);
        };
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(FieldSeed { depth, ..self })? {
            items.push(item);
        }
        Ok(Field::List(items))
    }

    /// Nothing but a float that is no number.
    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<Field<'a>, M::Error> {
        let (mut py_type, mut args) = (None, None);
        while let Some(key) = map.next_key_seed(Text(self.context))? {
            match (key, self.depth.checked_sub(1)) {
                (PY, Some(depth)) => py_type = Some(map.next_value_seed(FieldSeed { depth, ..self })?),
                (ARGS, Some(depth)) => args = Some(map.next_value_seed(FieldSeed { depth, ..self })?),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let is_float = py_type == Some(Field::Text(PyType::Float.name()));
        Ok(match args.as_ref() {
            Some(Field::List(items)) if is_float => match items.as_slice() {
                [Field::Text("inf")] => Field::Float(f64::INFINITY),
                [Field::Text("-inf")] => Field::Float(f64::NEG_INFINITY),
                [Field::Text("nan")] => Field::Float(f64::NAN),
                _ => Field::Other,
            },
            _ => Field::Other,
        })
    }
}
