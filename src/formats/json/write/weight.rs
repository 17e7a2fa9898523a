//! What `weights` tell of one tensor.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::argument::{Number, Sequence};
use super::info::{requires_grad, Sizes, Stride};
use super::quantized::Numbers;
use crate::formats::json::{Schema, WeightQuantization};
use crate::ir::tensor::Quantization;
use crate::ir::TensorMeta;

/// The metadata that stands under a weight's name.
pub(super) struct Entry {
    pub(super) meta: TensorMeta,
    /// Its scales and zero points per channel, where they stand here as numbers.
    pub(super) channels: Option<(Numbers, Numbers)>,
}

/// One of `weights`.
pub(super) struct Weight<'p> {
    pub(super) name: &'p str,
    pub(super) entry: &'p Entry,
    pub(super) schema: &'p Schema,
}

impl Serialize for Weight<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Weight { name, entry, schema } = self;
        let meta = &entry.meta;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("dtype", meta.dtype.name())?;
        let shape_is_last = schema.weight_quantization == WeightQuantization::QuantizedType;
        if !shape_is_last {
            map.serialize_entry("shape", &Sizes(&meta.shape))?;
        }
        if schema.requires_grad {
            map.serialize_entry("requires_grad", requires_grad(meta))?;
        }
        map.serialize_entry("is_quantized", &meta.quantization.is_some())?;
        if shape_is_last {
            if let Some(quantization) = &meta.quantization {
                let channels = entry.channels.as_ref();
                map.serialize_entry("quantized_type", &QuantizedType { quantization, channels })?;
            }
            map.serialize_entry("shape", &Sizes(&meta.shape))?;
        }
        if schema.stride {
            map.serialize_entry("stride", &Stride(meta))?;
        }
        match meta.quantization.as_ref().filter(|_| !shape_is_last) {
            None => {}
            Some(Quantization::PerTensor { qscheme, scale, zero_point }) => {
                map.serialize_entry("qscheme", &**qscheme)?;
                map.serialize_entry("q_scale", &Number(*scale))?;
                map.serialize_entry("q_zero_point", zero_point)?;
            }
            Some(Quantization::PerChannel { qscheme, axis, .. }) => {
                let (scales, zero_points) = channel_names(name);
                map.serialize_entry("qscheme", &**qscheme)?;
                map.serialize_entry("q_per_channel_scales", &scales)?;
                map.serialize_entry("q_per_channel_zero_points", &zero_points)?;
                map.serialize_entry("q_per_channel_axis", axis)?;
            }
        }
        map.end()
    }
}

/// The names under which the scales and zero points of a weight stand.
pub(super) fn channel_names(key: &str) -> (String, String) {
    (format!("{key}_per_channel_scales"), format!("{key}_per_channel_zero_points"))
}

/// How torch 1.8 told of quantization. `q_zero_pont` is its spelling.
struct QuantizedType<'p> {
    quantization: &'p Quantization,
    channels: Option<&'p (Numbers, Numbers)>,
}

impl Serialize for QuantizedType<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("q_scheme", &**self.quantization.qscheme())?;
        match self.quantization {
            Quantization::PerTensor { scale, zero_point, .. } => {
                map.serialize_entry("q_scale", &Number(*scale))?;
                map.serialize_entry("q_zero_pont", zero_point)?;
            }
            Quantization::PerChannel { axis, .. } => {
                if let Some((scales, zero_points)) = self.channels {
                    map.serialize_entry("q_per_channel_scales", scales)?;
                    map.serialize_entry("q_per_channel_zero_points", zero_points)?;
                }
                map.serialize_entry("q_per_channel_axis", axis)?;
            }
        }
        map.end()
    }
}

impl Serialize for Numbers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Numbers::Ints(values) => serializer.collect_seq(values),
            Numbers::Floats(values) => Sequence(|| values.iter().copied().map(Number)).serialize(serializer),
        }
    }
}
