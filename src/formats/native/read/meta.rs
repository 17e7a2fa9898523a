//! Metadata of tensors.

use std::fmt;
use std::sync::Arc;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::context::{once, Context, Part, Record, RecordSeed};
use crate::formats::native::record::{check_word, QuantizationRecord};
use crate::ir::tensor::{Dims, Quantization};
use crate::ir::{Dim, Dtype, TensorMeta};

/// A tensor's metadata, but the scales of its channels: their places.
pub(super) struct ReadMeta {
    pub(super) meta: TensorMeta,
    pub(super) channels: Option<Channels>,
}

/// Places in the table of tensors.
pub(super) struct Channels {
    pub(super) scales: Option<usize>,
    pub(super) zero_points: Option<usize>,
}

/// What is told of it so far.
#[derive(Default)]
struct MetaRecord {
    dtype: Option<Dtype>,
    shape: Option<Dims>,
    stride: Option<Dims>,
    requires_grad: Option<bool>,
    memory_format: Option<Arc<str>>,
    device: Option<Arc<str>>,
    quantization: Option<QuantizationRecord<'static>>,
}

impl<'de> Record<'de> for MetaRecord {
    const WHAT: &'static str = "the metadata of a tensor";

    fn take<M: MapAccess<'de>>(&mut self, context: &Context<'_>, key: &str, map: &mut M) -> Result<bool, M::Error> {
        let dims = |map: &mut M| map.next_value::<ReadDims>().map(|ReadDims(dims)| dims);
        match key {
            "dtype" => once(&mut self.dtype, "dtype", context.dtype(map)?)?,
            "shape" => once(&mut self.shape, "shape", dims(map)?)?,
            "stride" => once(&mut self.stride, "stride", dims(map)?)?,
            "requires_grad" => once(&mut self.requires_grad, "requires_grad", map.next_value()?)?,
            "memory_format" => once(&mut self.memory_format, "memory_format", context.shared_text(map)?)?,
            "device" => once(&mut self.device, "device", context.shared_text(map)?)?,
            "quantization" => once(&mut self.quantization, "quantization", map.next_value()?)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl<'de> Part<'de> for ReadMeta {
    fn read<D: Deserializer<'de>>(context: &Context<'_>, deserializer: D) -> Result<Self, D::Error> {
        let record: MetaRecord = RecordSeed::new(context).deserialize(deserializer)?;
        let (quantization, channels) = match record.quantization {
            None => (None, None),
            Some(QuantizationRecord::PerTensor { qscheme, scale, zero_point }) => {
                (Some(Quantization::PerTensor { qscheme: (&*qscheme.0).into(), scale: scale.0, zero_point }), None)
            }
            Some(QuantizationRecord::PerChannel { qscheme, axis, scales, zero_points }) => {
                let qscheme = (&*qscheme.0).into();
                let quantization = Quantization::PerChannel { qscheme, axis, scales: None, zero_points: None };
                (Some(quantization), Some(Channels { scales, zero_points }))
            }
        };
        let meta = TensorMeta {
            dtype: record.dtype.ok_or_else(|| de::Error::missing_field("dtype"))?,
            shape: record.shape.ok_or_else(|| de::Error::missing_field("shape"))?,
            stride: record.stride,
            requires_grad: record.requires_grad,
            memory_format: record.memory_format,
            device: record.device,
            quantization,
        };
        Ok(ReadMeta { meta, channels })
    }
}

struct ReadDims(Dims);

impl<'de> Deserialize<'de> for ReadDims {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = ReadDims;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of sizes")
            }

            fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<ReadDims, S::Error> {
                let mut dims = Dims::new();
                while let Some(ReadDim(dim)) = seq.next_element()? {
                    dims.push(dim);
                }
                Ok(ReadDims(dims))
            }
        }
        deserializer.deserialize_seq(Read)
    }
}

/// A number, or the text of a symbolic one.
struct ReadDim(Dim);

impl<'de> Deserialize<'de> for ReadDim {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = ReadDim;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an int of 64 bits, or a text")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<ReadDim, E> {
                Ok(ReadDim(Dim::Int(value)))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<ReadDim, E> {
                i64::try_from(value)
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(value), &self))
                    .map(|value| ReadDim(Dim::Int(value)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ReadDim, E> {
                check_word(text)?;
                Ok(ReadDim(Dim::Sym(text.into())))
            }
        }
        deserializer.deserialize_any(Read)
    }
}
