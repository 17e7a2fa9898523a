//! What nodes yield.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::context::{shown, Context, Part, PartSeed, Text};
use super::meta::{Channels, ReadMeta};
use crate::formats::native::record::FloatRecord;
use crate::formats::native::MAX_DEPTH;
use crate::ir::tensor::Scalar;
use crate::ir::{ErrorKind, Value};

/// A value, but the scales of channels: their places, in the order in which the tensors come.
pub(super) struct Read {
    pub(super) value: Arc<Value>,
    pub(super) channels: Vec<Channels>,
}

impl<'de> Part<'de> for Read {
    fn read<D: Deserializer<'de>>(context: &Context<'_>, deserializer: D) -> Result<Self, D::Error> {
        let channels = RefCell::default();
        let value = Seed { context, channels: &channels, left: MAX_DEPTH }.deserialize(deserializer)?;
        Ok(Read { value: Arc::new(value), channels: channels.into_inner() })
    }
}

/// Reads what may nest so many levels.
#[derive(Clone, Copy)]
struct Seed<'c, 's> {
    context: &'c Context<'s>,
    channels: &'c RefCell<Vec<Channels>>,
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
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value: null, or an object of one key")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::None)
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Value, M::Error> {
        let Some(kind) = map.next_key_seed(Text)? else {
            return Err(de::Error::custom("an object without a key is no value"));
        };
        let value = match &*kind {
            "tensor" => {
                let ReadMeta { meta, channels } = map.next_value_seed(PartSeed::new(self.context))?;
                self.channels.borrow_mut().extend(channels);
                Value::Tensor(meta)
            }
            "list" => Value::List(map.next_value_seed(Items(self.inside()?))?),
            "tuple" => Value::Tuple(map.next_value_seed(Items(self.inside()?))?),
            "dict" => Value::Dict(map.next_value_seed(Pairs(self.inside()?))?),
            "bool" => Value::Scalar(Scalar::Bool(map.next_value()?)),
            "int" => Value::Scalar(Scalar::Int(map.next_value()?)),
            "float" => Value::Scalar(Scalar::Float(map.next_value::<FloatRecord>()?.0)),
            "sym" => Value::Scalar(Scalar::Sym((&*map.next_value_seed(Text)?).into())),
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
    type Value = Vec<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_> {
    type Value = Vec<Value>;

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
    type Value = Vec<(Arc<str>, Value)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Pairs<'_, '_> {
    type Value = Vec<(Arc<str>, Value)>;

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
    type Value = (Arc<str>, Value);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Pair<'_, '_> {
    type Value = (Arc<str>, Value);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a pair of a text and a value")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Self::Value, S::Error> {
        let key = seq.next_element_seed(Text)?.ok_or_else(|| de::Error::invalid_length(0, &self))?;
        let value = seq.next_element_seed(self.0)?.ok_or_else(|| de::Error::invalid_length(1, &self))?;
        Ok(((&*key).into(), value))
    }
}
