//! What nodes yield.

use std::fmt;
use std::sync::Arc;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::context::{shown, Context, Part, Text};
use crate::formats::native::record::{FloatRecord, MetaRecord};
use crate::formats::native::MAX_DEPTH;
use crate::ir::ErrorKind;

/// A value whose tensors' scales are places yet.
pub(super) enum Read<'de> {
    None,
    Tensor(Box<MetaRecord<'de>>),
    List(Vec<Read<'de>>),
    Tuple(Vec<Read<'de>>),
    Dict(Vec<(Arc<str>, Read<'de>)>),
    Bool(bool),
    Int(i64),
    Float(f64),
    Sym(Arc<str>),
}

impl<'de> Part<'de> for Read<'de> {
    fn read<D: Deserializer<'de>>(context: &Context<'_>, deserializer: D) -> Result<Self, D::Error> {
        Seed { context, left: MAX_DEPTH }.deserialize(deserializer)
    }
}

/// Reads what may nest so many levels.
#[derive(Clone, Copy)]
struct Seed<'c, 's> {
    context: &'c Context<'s>,
    left: usize,
}

impl Seed<'_, '_> {
    fn inside<E: de::Error>(self) -> Result<Self, E> {
        match self.left.checked_sub(1) {
            Some(left) => Ok(Seed { left, ..self }),
            None => {
                let message = format!("the value of a node nests deeper than {MAX_DEPTH} levels");
                Err(self.context.fail(ErrorKind::Limit, message))
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_, '_> {
    type Value = Read<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Read<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_, '_> {
    type Value = Read<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value: null, or an object of one key")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Read<'de>, E> {
        Ok(Read::None)
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Read<'de>, M::Error> {
        let Some(kind) = map.next_key_seed(Text)? else {
            return Err(de::Error::custom("an object without a key is no value"));
        };
        let value = match &*kind {
            "tensor" => Read::Tensor(Box::new(map.next_value()?)),
            "list" => Read::List(map.next_value_seed(Items(self.inside()?))?),
            "tuple" => Read::Tuple(map.next_value_seed(Items(self.inside()?))?),
            "dict" => Read::Dict(map.next_value_seed(Pairs(self.inside()?))?),
            "bool" => Read::Bool(map.next_value()?),
            "int" => Read::Int(map.next_value()?),
            "float" => Read::Float(map.next_value::<FloatRecord>()?.0),
            "sym" => Read::Sym((&*map.next_value_seed(Text)?).into()),
            other => {
                let message = format!("this library knows no value of the kind {:?}", shown(other));
                return Err(self.context.fail(ErrorKind::Unsupported, message));
            }
        };
        match map.next_key_seed(Text)? {
            None => Ok(value),
            Some(_) => Err(de::Error::custom("a value is an object of one key")),
        }
    }
}

/// Values in a row, each of which may nest so many levels.
struct Items<'c, 's>(Seed<'c, 's>);

impl<'de> DeserializeSeed<'de> for Items<'_, '_> {
    type Value = Vec<Read<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_> {
    type Value = Vec<Read<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of values")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Self::Value, S::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self.0)? {
            items.push(item);
        }
        Ok(items)
    }
}

/// Keys and values of a dict.
struct Pairs<'c, 's>(Seed<'c, 's>);

impl<'de> DeserializeSeed<'de> for Pairs<'_, '_> {
    type Value = Vec<(Arc<str>, Read<'de>)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Pairs<'_, '_> {
    type Value = Vec<(Arc<str>, Read<'de>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of pairs")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Self::Value, S::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = seq.next_element_seed(Pair(self.0))? {
            pairs.push(pair);
        }
        Ok(pairs)
    }
}

struct Pair<'c, 's>(Seed<'c, 's>);

impl<'de> DeserializeSeed<'de> for Pair<'_, '_> {
    type Value = (Arc<str>, Read<'de>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Pair<'_, '_> {
    type Value = (Arc<str>, Read<'de>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a pair of a text and a value")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Self::Value, S::Error> {
        let key = seq.next_element_seed(Text)?.ok_or_else(|| de::Error::invalid_length(0, &self))?;
        let value = seq.next_element_seed(self.0)?.ok_or_else(|| de::Error::invalid_length(1, &self))?;
        Ok(((&*key).into(), value))
    }
}
