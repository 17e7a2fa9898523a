//! Metadata of tensors, and what nodes yield.

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeSeq, Serializer};

use super::argument::tagged;
use super::tables::Tables;
use crate::formats::native::record::{DimRecord, FloatRecord, MetaRecord, QuantizationRecord};
use crate::ir::tensor::{Quantization, Scalar};
use crate::ir::{Dim, TensorMeta, Value};

/// A tensor's metadata as it is written.
pub(super) fn meta_record<'a>(meta: &'a TensorMeta, tables: &Tables<'_>) -> MetaRecord<'a> {
    let dims = |dims: &[Dim]| dims.iter().cloned().map(DimRecord).collect();
    MetaRecord {
        dtype: Cow::Borrowed(meta.dtype.name()),
        shape: dims(&meta.shape),
        stride: meta.stride.as_deref().map(dims),
        requires_grad: meta.requires_grad,
        memory_format: meta.memory_format.as_deref().map(str::to_owned),
        device: meta.device.as_deref().map(str::to_owned),
        quantization: meta.quantization.as_ref().map(|quantization| match quantization {
            Quantization::PerTensor { qscheme, scale, zero_point } => QuantizationRecord::PerTensor {
                qscheme: qscheme.to_string(),
                scale: FloatRecord(*scale),
                zero_point: *zero_point,
            },
            Quantization::PerChannel { qscheme, axis, scales, zero_points } => QuantizationRecord::PerChannel {
                qscheme: qscheme.to_string(),
                axis: *axis,
                scales: scales.as_ref().and_then(|tensor| tables.place_of_tensor(tensor)),
                zero_points: zero_points.as_ref().and_then(|tensor| tables.place_of_tensor(tensor)),
            },
        }),
    }
}

/// What a node yields, to be written.
pub(super) struct Written<'a>(pub(super) &'a Value, pub(super) &'a Tables<'a>);

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Written(value, tables) = self;
        match value {
            Value::None => serializer.serialize_unit(),
            Value::Tensor(meta) => tagged(serializer, "tensor", &meta_record(meta, tables)),
            Value::List(items) => tagged(serializer, "list", &List(items, tables)),
            Value::Tuple(items) => tagged(serializer, "tuple", &List(items, tables)),
            Value::Dict(entries) => tagged(serializer, "dict", &Pairs(entries, tables)),
            Value::Scalar(Scalar::Bool(value)) => tagged(serializer, "bool", value),
            Value::Scalar(Scalar::Int(value)) => tagged(serializer, "int", value),
            Value::Scalar(Scalar::Float(value)) => tagged(serializer, "float", &FloatRecord(*value)),
            Value::Scalar(Scalar::Sym(text)) => tagged(serializer, "sym", &**text),
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
            pairs.serialize_element(&(&**key, Written(value, self.1)))?;
        }
        pairs.end()
    }
}
