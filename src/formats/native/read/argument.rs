//! Arguments.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use thin_vec::ThinVec;

use super::context::{shown, Context, Part, PartSeed, Text};
use crate::formats::native::record::FloatRecord;
use crate::ir::{Args, Argument, ErrorKind, Kwargs, NodeId, MAX_ARGUMENT_DEPTH};

/// An argument whose nodes are places in the order of their graph: see [`place_of`].
pub(super) struct Read(pub(super) Argument);

impl<'de> Part<'de> for Read {
    fn read<D: Deserializer<'de>>(context: &Context<'_>, deserializer: D) -> Result<Self, D::Error> {
        Seed { context, left: MAX_ARGUMENT_DEPTH }.deserialize(deserializer).map(Read)
    }
}

/// Arguments in a row, as nodes have them.
pub(super) struct ReadArgs(pub(super) Args);

impl<'de> Part<'de> for ReadArgs {
    fn read<D: Deserializer<'de>>(context: &Context<'_>, deserializer: D) -> Result<Self, D::Error> {
        struct Each<'c, 's>(&'c Context<'s>);
        impl<'de> Visitor<'de> for Each<'_, '_> {
            type Value = ReadArgs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of arguments")
            }

            fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<ReadArgs, S::Error> {
                let mut args = Args::new();
                while let Some(Read(argument)) = seq.next_element_seed(PartSeed::new(self.0))? {
                    args.push(argument);
                }
                Ok(ReadArgs(args))
            }
        }
        deserializer.deserialize_seq(Each(context))
    }
}

/// Arguments by name, as nodes have them; whether a name comes twice is not looked at.
pub(super) struct ReadKwargs(pub(super) Kwargs);

impl<'de> Part<'de> for ReadKwargs {
    fn read<D: Deserializer<'de>>(context: &Context<'_>, deserializer: D) -> Result<Self, D::Error> {
        struct Each<'c, 's>(&'c Context<'s>);
        impl<'de> Visitor<'de> for Each<'_, '_> {
            type Value = ReadKwargs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of arguments")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<ReadKwargs, M::Error> {
                let mut kwargs = Kwargs::new();
                while let Some(name) = map.next_key_seed(Text)? {
                    let Read(argument) = map.next_value_seed(PartSeed::new(self.0))?;
                    kwargs.push((self.0.intern(&name), argument));
                }
                Ok(ReadKwargs(kwargs))
            }
        }
        deserializer.deserialize_map(Each(context))
    }
}

/// The place that an id stands for until the nodes are made.
pub(super) fn place_of(id: NodeId) -> usize {
    id.to_bits() as usize - 1
}

/// More nodes than any graph has.
const MAX_PLACE: u64 = 1 << 32;

fn standing_for(place: u64) -> Option<NodeId> {
    (place < MAX_PLACE).then(|| NodeId::from_bits(place + 1)).flatten()
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
                let message = format!("an argument nests deeper than {MAX_ARGUMENT_DEPTH} levels");
                Err(self.context.fail(ErrorKind::Limit, message))
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_, '_> {
    type Value = Argument;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Argument, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_, '_> {
    type Value = Argument;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an argument")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Argument, E> {
        Ok(Argument::None)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Argument, E> {
        Ok(Argument::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Argument, E> {
        Ok(Argument::Int(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Argument, E> {
        let beyond = || E::custom("an int beyond 64 bits is written {\"int\": \"...\"}");
        i64::try_from(value).map(Argument::Int).map_err(|_| beyond())
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Argument, E> {
        Err(E::custom("a float is written {\"float\": ...}, an int beyond 64 bits {\"int\": \"...\"}"))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Argument, E> {
        Ok(Argument::Str(self.context.intern(text)))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, seq: S) -> Result<Argument, S::Error> {
        Ok(Argument::List(Items(self.inside()?).visit_seq(seq)?))
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Argument, M::Error> {
        let Some(kind) = map.next_key_seed(Text)? else {
            return Err(de::Error::custom("an object without a key is no argument"));
        };
        let context = self.context;
        let symbol = |map: &mut M| map.next_value_seed(Text).map(|text| context.intern(&text));
        let argument = match &*kind {
            "int" => {
                let text = map.next_value_seed(Text)?;
                let digits = text.strip_prefix('-').unwrap_or(&text);
                if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(de::Error::custom("an int is not spelled in decimal digits"));
                }
                Argument::BigInt(context.intern(&text))
            }
            "float" => Argument::Float(map.next_value::<FloatRecord>()?.0),
            "complex" => {
                let [real, imaginary] = map.next_value::<[FloatRecord; 2]>()?;
                Argument::Complex(Box::new([real.0, imaginary.0]))
            }
            "bytes" => {
                let text = map.next_value_seed(Text)?;
                let bytes = bytes(&text);
                Argument::Bytes(bytes.ok_or_else(|| de::Error::custom("bytes are not spelled in hexadecimal digits"))?)
            }
            "dtype" => Argument::Dtype(context.dtype(&mut map)?),
            "device" => Argument::Device(symbol(&mut map)?),
            "layout" => Argument::Layout(symbol(&mut map)?),
            "memory_format" => Argument::MemoryFormat(symbol(&mut map)?),
            "qscheme" => Argument::Qscheme(symbol(&mut map)?),
            "symint" => Argument::SymInt(symbol(&mut map)?),
            "ellipsis" => {
                map.next_value::<()>()?;
                Argument::Ellipsis
            }
            "tuple" => Argument::Tuple(map.next_value_seed(Items(self.inside()?))?),
            "dict" => Argument::Dict(map.next_value_seed(Pairs(self.inside()?))?),
            "slice" => {
                let parts = map.next_value_seed(Items(self.inside()?))?;
                let parts: Result<[Argument; 3], _> = Vec::from_iter(parts).try_into();
                Argument::Slice(Box::new(parts.map_err(|_| de::Error::custom("a slice has not three parts"))?))
            }
            "range" => Argument::Range(Box::new(map.next_value()?)),
            "node" => {
                let node = standing_for(map.next_value()?);
                Argument::Node(node.ok_or_else(|| de::Error::custom("a node stands beyond any graph"))?)
            }
            other => {
                let message = format!("this library knows no argument of the kind {:?}", shown(other));
                return Err(context.fail(ErrorKind::Unsupported, message));
            }
        };
        match map.next_key_seed(Text)? {
            None => Ok(argument),
            Some(_) => Err(de::Error::custom("an argument is an object of one key")),
        }
    }
}

/// Arguments in a row, each of which may nest so many levels.
struct Items<'c, 's>(Seed<'c, 's>);

impl<'de> DeserializeSeed<'de> for Items<'_, '_> {
    type Value = ThinVec<Argument>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_> {
    type Value = ThinVec<Argument>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of arguments")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Self::Value, S::Error> {
        let mut items = ThinVec::new();
        while let Some(item) = seq.next_element_seed(self.0)? {
            items.push(item);
        }
        Ok(items)
    }
}

/// Keys and values of a dict.
struct Pairs<'c, 's>(Seed<'c, 's>);

impl<'de> DeserializeSeed<'de> for Pairs<'_, '_> {
    type Value = ThinVec<(Argument, Argument)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Pairs<'_, '_> {
    type Value = ThinVec<(Argument, Argument)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of pairs")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Self::Value, S::Error> {
        let mut pairs = ThinVec::new();
        while let Some(pair) = seq.next_element_seed(Items(self.0))? {
            let pair: Result<[Argument; 2], _> = Vec::from_iter(pair).try_into();
            let [key, value] = pair.map_err(|_| de::Error::custom("a dict's entry is no pair"))?;
            pairs.push((key, value));
        }
        Ok(pairs)
    }
}

fn bytes(text: &str) -> Option<ThinVec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}
