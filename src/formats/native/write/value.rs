//! Metadata of tensors, and what nodes yield.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::argument::tagged;
use super::tables::Tables;
use crate::formats::native::record::{FloatRecord, QuantizationRecord, Word};
use crate::ir::tensor::{Quantization, Scalar};
use crate::ir::{Dim, TensorMeta, Value};

/// A tensor's metadata, to be written. What nobody told is not there.
pub(super) struct WrittenMeta<'a>(pub(super) &'a TensorMeta, pub(super) &'a Tables<'a>);

impl Serialize for WrittenMeta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let WrittenMeta(meta, tables) = self;
        let mut record = serializer.serialize_map(None)?;
        record.serialize_entry("dtype", meta.dtype.name())?;
        record.serialize_entry("shape", &WrittenDims(&meta.shape))?;
        if let Some(stride) = &meta.stride {
            record.serialize_entry("stride", &WrittenDims(stride))?;
        }
        if let Some(requires_grad) = meta.requires_grad {
            record.serialize_entry("requires_grad", &requires_grad)?;
        }
        if let Some(text) = &meta.memory_format {
            record.serialize_entry("memory_format", &Word::from(&**text))?;
        }
        if let Some(text) = &meta.device {
            record.serialize_entry("device", &Word::from(&**text))?;
        }
        if let Some(quantization) = &meta.quantization {
            record.serialize_entry("quantization", &quantization_record(quantization, tables))?;
        }
        record.end()
    }
}

struct WrittenDims<'a>(&'a [Dim]);

impl Serialize for WrittenDims<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(WrittenDim))
    }
}

/// A number, or the text of a symbolic one.
struct WrittenDim<'a>(&'a Dim);

impl Serialize for WrittenDim<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Dim::Int(value) => serializer.serialize_i64(*value),
            Dim::Sym(text) => Word::from(&**text).serialize(serializer),
        }
    }
}

fn quantization_record<'a>(quantization: &'a Quantization, tables: &Tables<'_>) -> QuantizationRecord<'a> {
    match quantization {
        Quantization::PerTensor { qscheme, scale, zero_point } => QuantizationRecord::PerTensor {
            qscheme: Word::from(&**qscheme),
            scale: FloatRecord(*scale),
            zero_point: *zero_point,
        },
        Quantization::PerChannel { qscheme, axis, scales, zero_points } => QuantizationRecord::PerChannel {
            qscheme: Word::from(&**qscheme),
            axis: *axis,
            scales: scales.as_ref().and_then(|tensor| tables.place_of_tensor(tensor)),
            zero_points: zero_points.as_ref().and_then(|tensor| tables.place_of_tensor(tensor)),
        },
    }
}

/// What a node yields, to be written.
pub(super) struct Written<'a>(pub(super) &'a Value, pub(super) &'a Tables<'a>);

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Written(value, tables) = self;
        match value {
            Value::None => serializer.serialize_unit(),
            Value::Tensor(meta) => tagged(serializer, "tensor", &WrittenMeta(meta, tables)),
            Value::List(items) => tagged(serializer, "list", &List(items, tables)),
            Value::Tuple(items) => tagged(serializer, "tuple", &List(items, tables)),
            Value::Dict(entries) => tagged(serializer, "dict", &Pairs(entries, tables)),
            Value::Scalar(Scalar::Bool(value)) => tagged(serializer, "bool", value),
            Value::Scalar(Scalar::Int(value)) => tagged(serializer, "int", value),
            Value::Scalar(Scalar::Float(value)) => tagged(serializer, "float", &FloatRecord(*value)),
            Value::Scalar(Scalar::Sym(text)) => tagged(serializer, "sym", &Word::from(&**text)),
        }
    }
}

struct List<'a>(&'a [Value], &'a Tables<'a>);

impl Serialize for List<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|item| Written(item, self.1)))
    }
}

struct Pairs<'a>(&'a [(std::sync::Arc<str>, Value)], &'a Tables<'a>);

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut pairs = serializer.serialize_seq(Some(self.0.len()))?;
        for (key, value) in self.0 {
            pairs.serialize_element(&(Word::from(&**key), Written(value, self.1)))?;
        }
        pairs.end()
    }
}
