//! Parts of the document that hold neither arguments nor values, as they are written and read.
//!
//! No enum in here is untagged, and nothing is flattened: serde would buffer those, however deep they
//! nest.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};
use serde::{Deserialize as De, Serialize as Se};

/// How integers stand for real numbers; tensors by their place in the table.
#[derive(Se, De)]
#[serde(rename_all = "snake_case")]
pub(super) enum QuantizationRecord<'a> {
    PerTensor {
        qscheme: Word<'a>,
        scale: FloatRecord,
        zero_point: i64,
    },
    PerChannel {
        qscheme: Word<'a>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        axis: Option<i64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scales: Option<usize>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zero_points: Option<usize>,
    },
}

/// Where the bytes of a tensor lie.
#[derive(Se, De)]
pub(super) struct PlaceRecord<'a> {
    /// The safetensors entry; none for a tensor of no elements.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(super) buffer: Option<Cow<'a, str>>,
    /// The first element's place in it, in bytes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) offset: u64,
    /// In elements; row-major when they are not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) strides: Option<Vec<i64>>,
}

/// What a graph gave of one base besides the names of its nodes.
#[derive(Se, De)]
pub(super) struct GivenRecord {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) plain: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) numbers: Vec<u32>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) count: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A text that C reads up to a NUL, and that has none therefore: of all but strings among arguments.
pub(super) struct Word<'a>(pub(super) Cow<'a, str>);

impl<'a> From<&'a str> for Word<'a> {
    fn from(text: &'a str) -> Word<'a> {
        Word(Cow::Borrowed(text))
    }
}

impl Serialize for Word<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.contains('\0') {
            true => Err(serde::ser::Error::custom("a text other than a string among arguments holds a NUL")),
            false => serializer.serialize_str(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Word<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        check_word(&text)?;
        Ok(Word(Cow::Owned(text)))
    }
}

/// Refuses a text that no word can be.
pub(super) fn check_word<E: de::Error>(text: &str) -> Result<(), E> {
    match text.contains('\0') {
        true => Err(E::custom("a text holds a NUL")),
        false => Ok(()),
    }
}

/// A float to the bit: a number, or the text `inf`, `-inf`, `nan`, or `0x` and the bits of another nan.
pub(super) struct FloatRecord(pub(super) f64);

impl Serialize for FloatRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.0;
        if value.is_finite() {
            serializer.serialize_f64(value)
        } else if value.is_infinite() {
            serializer.serialize_str(if value > 0.0 { "inf" } else { "-inf" })
        } else if value.to_bits() == NAN {
            serializer.serialize_str("nan")
        } else {
            serializer.collect_str(&format_args!("{:#018x}", value.to_bits()))
        }
    }
}

/// The nan that Python makes.
const NAN: u64 = 0x7ff8_0000_0000_0000;

impl<'de> Deserialize<'de> for FloatRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = FloatRecord;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, \"inf\", \"-inf\", \"nan\", or \"0x\" and 16 hexadecimal digits of a nan")
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<FloatRecord, E> {
                Ok(FloatRecord(value))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<FloatRecord, E> {
                Ok(FloatRecord(value as f64))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<FloatRecord, E> {
                Ok(FloatRecord(value as f64))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<FloatRecord, E> {
                let bits = || {
                    let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 16)?;
                    let bits = digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u64::from_str_radix(digits, 16));
                    bits?.ok().map(f64::from_bits).filter(|value| value.is_nan())
                };
                let value = match text {
                    "inf" => Some(f64::INFINITY),
                    "-inf" => Some(f64::NEG_INFINITY),
                    "nan" => Some(f64::from_bits(NAN)),
                    _ => bits(),
                };
                value.map(FloatRecord).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Read)
    }
}
