//! What the file tells of a tensor: the same keys for a node, a returned node and a weight.

use std::sync::Arc;

use serde::de::MapAccess;

use super::context::{shown, Context, Text};
use crate::formats::json::dims::parse_dims;
use crate::formats::json::is_per_tensor;
use crate::ir::tensor::Quantization;
use crate::ir::{Argument, Dim, Dtype, Symbols, TensorMeta, Value};

/// Entries of lowering information, by key.
pub(super) type Lowering<'a> = Vec<(&'a str, Argument)>;

/// The keys as they came; strings as spelled.
#[derive(Default)]
pub(super) struct Fields<'a> {
    pub(super) shape: Option<&'a str>,
    pub(super) dtype: Option<&'a str>,
    pub(super) requires_grad: Option<&'a str>,
    pub(super) stride: Option<&'a str>,
    pub(super) is_quantized: Option<bool>,
    pub(super) qscheme: Option<&'a str>,
    pub(super) scale: Option<f64>,
    pub(super) zero_point: Option<i64>,
    /// Only weights have these.
    pub(super) channels: Channels<'a>,
}

/// Where a weight's scales and zero points are: names of other weights.
#[derive(Default)]
pub(super) struct Channels<'a> {
    pub(super) scales: Option<&'a str>,
    pub(super) zero_points: Option<&'a str>,
    pub(super) axis: Option<i64>,
}

impl<'a> Fields<'a> {
    /// Takes the value of a key that is one of these; false for another, whose value is left.
    pub(super) fn read<M: MapAccess<'a>>(
        &mut self,
        key: &str,
        context: &Context<'a>,
        map: &mut M,
    ) -> Result<bool, M::Error> {
        let text = match key {
            "shape" => &mut self.shape,
            "dtype" => &mut self.dtype,
            "requires_grad" => &mut self.requires_grad,
            "stride" => &mut self.stride,
            "qscheme" => &mut self.qscheme,
            "is_quantized" => {
                context.once(&mut self.is_quantized, map.next_value()?)?;
                return Ok(true);
            }
            "q_scale" => {
                context.once(&mut self.scale, map.next_value()?)?;
                return Ok(true);
            }
            "q_zero_point" => {
                context.once(&mut self.zero_point, map.next_value()?)?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        context.once(text, map.next_value_seed(Text(context))?)?;
        Ok(true)
    }

    /// Takes the value of a key that only weights have.
    pub(super) fn read_channels<M: MapAccess<'a>>(
        &mut self,
        key: &str,
        context: &Context<'a>,
        map: &mut M,
    ) -> Result<bool, M::Error> {
        let channels = &mut self.channels;
        match key {
            "q_per_channel_scales" => context.once(&mut channels.scales, map.next_value_seed(Text(context))?)?,
            "q_per_channel_zero_points" => {
                context.once(&mut channels.zero_points, map.next_value_seed(Text(context))?)?;
            }
            "q_per_channel_axis" => context.once(&mut channels.axis, map.next_value()?)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The same keys where they were read as arguments; the entries that are others come back.
    pub(super) fn from_entries(
        entries: Vec<(&'a str, Argument)>,
        symbols: &'a Symbols,
    ) -> Result<(Fields<'a>, Lowering<'a>), String> {
        let mut fields = Fields::default();
        let mut others = Vec::new();
        for (key, value) in entries {
            let wrong = || format!("`{}` has a value of the wrong type", shown(key));
            let slot = match key {
                "shape" => &mut fields.shape,
                "dtype" => &mut fields.dtype,
                "requires_grad" => &mut fields.requires_grad,
                "stride" => &mut fields.stride,
                "qscheme" => &mut fields.qscheme,
                "is_quantized" => match value {
                    Argument::Bool(value) => {
                        fields.is_quantized = Some(value);
                        continue;
                    }
                    _ => return Err(wrong()),
                },
                "q_scale" => {
                    fields.scale = Some(match value {
                        Argument::Float(value) => value,
                        Argument::Int(value) => value as f64,
                        _ => return Err(wrong()),
                    });
                    continue;
                }
                "q_zero_point" => match value {
                    Argument::Int(value) => {
                        fields.zero_point = Some(value);
                        continue;
                    }
                    _ => return Err(wrong()),
                },
                _ => {
                    others.push((key, value));
                    continue;
                }
            };
            *slot = Some(match value {
                Argument::Str(text) | Argument::Qscheme(text) => symbols.text(text),
                Argument::Dtype(dtype) => dtype.name(),
                _ => return Err(wrong()),
            });
        }
        Ok((fields, others))
    }

    /// Whether none of the keys came.
    pub(super) fn is_empty(&self) -> bool {
        let Fields { shape, dtype, requires_grad, stride, is_quantized, qscheme, scale, zero_point, channels: _ } =
            self;
        let texts = [shape, dtype, requires_grad, stride, qscheme];
        texts.into_iter().all(Option::is_none) && is_quantized.is_none() && scale.is_none() && zero_point.is_none()
    }

    /// The metadata that they spell. Of a scheme per channel only the scheme and the axis.
    pub(super) fn meta(&self) -> Result<TensorMeta, String> {
        let need = |key: &str| format!("the key `{key}` is missing");
        let shape = self.shape.ok_or_else(|| need("shape"))?;
        let dtype = self.dtype.ok_or_else(|| need("dtype"))?;
        let requires_grad = self.requires_grad.ok_or_else(|| need("requires_grad"))?;
        let stride = self.stride.ok_or_else(|| need("stride"))?;
        let is_quantized = self.is_quantized.ok_or_else(|| need("is_quantized"))?;

        let dims = |key: &str, text: &str| {
            parse_dims(text).ok_or_else(|| format!("`{key}` is no list of sizes: {:?}", shown(text)))
        };
        let mut meta = TensorMeta {
            dtype: Dtype::from_name(dtype)
                .filter(|found| found.name() == dtype)
                .ok_or_else(|| format!("`dtype` is none that torch has: {:?}", shown(dtype)))?,
            shape: dims("shape", shape)?,
            stride: Some(dims("stride", stride)?),
            requires_grad: Some(match requires_grad {
                "True" => true,
                "False" => false,
                other => return Err(format!("`requires_grad` is neither \"True\" nor \"False\": {:?}", shown(other))),
            }),
            memory_format: None,
            device: None,
            quantization: None,
        };
        if let Some(negative) = meta.stride.iter().flatten().find(|dim| matches!(dim, Dim::Int(i64::MIN..=-1))) {
            return Err(format!("a stride is negative: {negative}"));
        }
        meta.check().map_err(|error| error.message)?;
        if is_quantized != meta.dtype.is_quantized() {
            return Err(format!("`is_quantized` is {is_quantized} for a tensor of {dtype}"));
        }
        meta.quantization = self.quantization(is_quantized)?;
        Ok(meta)
    }

    fn quantization(&self, is_quantized: bool) -> Result<Option<Quantization>, String> {
        let Channels { scales, zero_points, axis } = self.channels;
        let per_channel = scales.is_some() || zero_points.is_some() || axis.is_some();
        let per_tensor = self.scale.is_some() || self.zero_point.is_some();
        let Some(qscheme) = self.qscheme else {
            return match is_quantized {
                true => Err("it is quantized, but the key `qscheme` is missing".into()),
                false if per_channel || per_tensor => Err("it has scales, but is not quantized".into()),
                false => Ok(None),
            };
        };
        if !is_quantized {
            return Err("it has a `qscheme`, but is not quantized".into());
        }
        match is_per_tensor(qscheme) {
            None => Err(format!("`qscheme` is none that torch has: {:?}", shown(qscheme))),
            Some(true) if per_channel => Err(format!("it has scales per channel, but is quantized by {qscheme}")),
            Some(false) if per_tensor => Err(format!("it has one scale, but is quantized by {qscheme}")),
            Some(true) => match (self.scale, self.zero_point) {
                (Some(scale), Some(zero_point)) => {
                    Ok(Some(Quantization::PerTensor { qscheme: qscheme.into(), scale, zero_point }))
                }
                (None, _) => Err("the key `q_scale` is missing".into()),
                (_, None) => Err("the key `q_zero_point` is missing".into()),
            },
            Some(false) => {
                Ok(Some(Quantization::PerChannel { qscheme: qscheme.into(), axis, scales: None, zero_points: None }))
            }
        }
    }

    /// The metadata as what a node yields, shared with the nodes before it of which the same is told.
    pub(super) fn value(&self, context: &Context<'a>) -> Result<Arc<Value>, String> {
        let key = match (self.shape, self.dtype, self.stride, self.requires_grad, self.is_quantized) {
            (Some(shape), Some(dtype), Some(stride), Some(grad @ ("True" | "False")), Some(false))
                if self.qscheme.is_none() && self.scale.is_none() && self.zero_point.is_none() =>
            {
                (shape, dtype, stride, grad == "True")
            }
            _ => return Ok(Arc::new(Value::Tensor(self.meta()?))),
        };
        if let Some(value) = context.values.borrow().get(&key) {
            return Ok(value.clone());
        }
        let value = Arc::new(Value::Tensor(self.meta()?));
        context.values.borrow_mut().insert(key, value.clone());
        Ok(value)
    }
}
