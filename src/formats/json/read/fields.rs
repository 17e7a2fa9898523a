//! What the file tells of a tensor: the same keys for a node, a returned node and a weight.

use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};

use super::context::{shown, Context, Text};
use super::field::{Field, FieldSeed};
use crate::formats::json::dims::parse_dims;
use crate::formats::json::is_per_tensor;
use crate::ir::tensor::Quantization;
use crate::ir::{Argument, Dim, Dtype, Symbols, TensorMeta, Value};

/// Entries of lowering information, by key.
pub(super) type Lowering<'a> = Vec<(&'a str, Argument)>;

/// Those of a tensor that a node yields.
const KEYS: [&str; 8] =
    ["shape", "dtype", "requires_grad", "stride", "is_quantized", "qscheme", "q_scale", "q_zero_point"];

/// The most tensors that are told of one node: what tells of each takes a hundred times its text.
const MAX_TENSORS: usize = 1 << 16;

/// The keys as they came; strings as spelled.
#[derive(Default)]
pub(super) struct Fields<'a> {
    shape: Option<&'a str>,
    dtype: Option<&'a str>,
    requires_grad: Option<&'a str>,
    stride: Option<&'a str>,
    is_quantized: Option<bool>,
    qscheme: Option<&'a str>,
    scale: Option<f64>,
    zero_point: Option<i64>,
    /// Only weights have these.
    channels: Channels<'a>,
    /// Where the keys have lists: what they tell of each of several tensors.
    each: Vec<Fields<'a>>,
}

/// Where a weight's scales and zero points are.
#[derive(Default)]
struct Channels<'a> {
    scales: Option<Channel<'a>>,
    zero_points: Option<Channel<'a>>,
    axis: Option<i64>,
}

/// Scales or zero points of a weight.
#[derive(Clone)]
pub(super) enum Channel<'a> {
    /// Another weight.
    Weight(&'a str),
    /// Numbers.
    Ints(Arc<[i64]>),
    /// Numbers of which one at least is no int.
    Floats(Arc<[f64]>),
}

/// What a key is to tell.
enum Told {
    /// It is none of these keys.
    Nothing,
    /// It is taken.
    Taken,
    Twice,
    /// Its value is none that it can have; what it should be.
    Wrong(&'static str),
}

impl<'a> Fields<'a> {
    /// Takes the value of a key that is one of these; false for another, whose value is left.
    pub(super) fn read<M: MapAccess<'a>>(
        &mut self,
        key: &str,
        context: &Context<'a>,
        map: &mut M,
    ) -> Result<bool, M::Error> {
        if !KEYS.contains(&key) {
            return Ok(false);
        }
        let field = map.next_value_seed(FieldSeed::new(context))?;
        match self.set(key, field) {
            Told::Nothing => Ok(false),
            Told::Taken => Ok(true),
            Told::Twice => Err(context.fail("the key is given twice")),
            Told::Wrong(wanted) => Err(context.fail(format!("it is not {wanted}"))),
        }
    }

    /// Takes the value of a key that only weights have.
    pub(super) fn read_weight<M: MapAccess<'a>>(
        &mut self,
        key: &str,
        context: &Context<'a>,
        map: &mut M,
    ) -> Result<bool, M::Error> {
        if key == "quantized_type" {
            map.next_value_seed(QuantizedTypeSeed { context, fields: self })?;
            return Ok(true);
        }
        let is_one = matches!(key, "q_per_channel_scales" | "q_per_channel_zero_points" | "q_per_channel_axis");
        if is_one {
            let field = map.next_value_seed(FieldSeed::new(context))?;
            self.set_channel(key, field, context)?;
        }
        Ok(is_one)
    }

    fn set_channel<E: serde::de::Error>(
        &mut self,
        key: &str,
        field: Field<'a>,
        context: &Context<'a>,
    ) -> Result<(), E> {
        let channels = &mut self.channels;
        let slot = match (key, &field) {
            ("q_per_channel_axis", Field::Int(axis)) => return context.once(&mut channels.axis, *axis),
            ("q_per_channel_axis", _) => return Err(context.fail("it is not an int")),
            ("q_per_channel_scales", _) => &mut channels.scales,
            _ => &mut channels.zero_points,
        };
        let channel = Channel::from_field(field)
            .ok_or_else(|| context.fail("it is neither the name of a weight nor a list of numbers"))?;
        context.once(slot, channel)
    }

    /// The same keys where they were read as arguments; the entries that are others come back.
    pub(super) fn from_entries(
        entries: Vec<(&'a str, Argument)>,
        symbols: &'a Symbols,
    ) -> Result<(Fields<'a>, Lowering<'a>), String> {
        let mut fields = Fields::default();
        let mut others = Vec::new();
        for (key, value) in entries {
            match fields.set(key, Field::from_argument(&value, symbols)) {
                Told::Nothing => others.push((key, value)),
                Told::Taken => {}
                Told::Twice => return Err(format!("`{}` is given twice", shown(key))),
                Told::Wrong(wanted) => return Err(format!("`{}` is not {wanted}", shown(key))),
            }
        }
        Ok((fields, others))
    }

    fn set(&mut self, key: &str, field: Field<'a>) -> Told {
        if !KEYS.contains(&key) {
            return Told::Nothing;
        }
        if let Field::List(items) = field {
            if items.len() > MAX_TENSORS {
                return Told::Wrong("a list of at most 65536 tensors");
            }
            if self.each.len() < items.len() {
                self.each.resize_with(items.len(), Fields::default);
            }
            for (fields, item) in self.each.iter_mut().zip(items) {
                let told = match item {
                    Field::Null => continue,
                    Field::List(_) => Told::Wrong("a list of strings, or what else the key tells"),
                    item => fields.set(key, item),
                };
                if !matches!(told, Told::Taken) {
                    return told;
                }
            }
            return Told::Taken;
        }
        fn fill<T>(slot: &mut Option<T>, value: Option<T>, wanted: &'static str) -> Told {
            match value.map(|value| slot.replace(value)) {
                None => Told::Wrong(wanted),
                Some(None) => Told::Taken,
                Some(Some(_)) => Told::Twice,
            }
        }
        let text = match field {
            Field::Text(text) => Some(text),
            _ => None,
        };
        match key {
            "shape" => fill(&mut self.shape, text, "a string"),
            "dtype" => fill(&mut self.dtype, text, "a string"),
            "requires_grad" => fill(&mut self.requires_grad, text, "a string"),
            "stride" => fill(&mut self.stride, text, "a string"),
            "qscheme" => fill(&mut self.qscheme, text, "a string"),
            "is_quantized" => {
                let value = match field {
                    Field::Bool(value) => Some(value),
                    _ => None,
                };
                fill(&mut self.is_quantized, value, "a boolean")
            }
            "q_scale" => {
                let value = match field {
                    Field::Float(value) => Some(value),
                    Field::Int(value) => Some(value as f64),
                    _ => None,
                };
                fill(&mut self.scale, value, "a number")
            }
            "q_zero_point" => {
                let value = match field {
                    Field::Int(value) => Some(value),
                    _ => None,
                };
                fill(&mut self.zero_point, value, "an int")
            }
            _ => Told::Nothing,
        }
    }

    /// Whether none of the keys came.
    pub(super) fn is_empty(&self) -> bool {
        self.is_empty_but_for_lists() && self.each.is_empty()
    }

    fn is_empty_but_for_lists(&self) -> bool {
        let Fields { shape, dtype, requires_grad, stride, is_quantized, qscheme, scale, zero_point, .. } = self;
        let texts = [shape, dtype, requires_grad, stride, qscheme];
        texts.into_iter().all(Option::is_none) && is_quantized.is_none() && scale.is_none() && zero_point.is_none()
    }

    /// The scales and zero points of a weight that has them per channel.
    pub(super) fn channels(&self) -> Result<Option<(Channel<'a>, Channel<'a>)>, String> {
        if self.qscheme.is_none() || self.scale.is_some() {
            return Ok(None);
        }
        match (&self.channels.scales, &self.channels.zero_points, self.channels.axis) {
            (Some(scales), Some(zero_points), Some(_)) => Ok(Some((scales.clone(), zero_points.clone()))),
            _ => Err("scales, zero points and axis per channel are not all there".into()),
        }
    }

    /// What they tell: a tensor, or a tuple of tensors.
    pub(super) fn told(&self) -> Result<Value, String> {
        if self.each.is_empty() {
            return self.meta().map(Value::Tensor);
        }
        if !self.is_empty_but_for_lists() {
            return Err("some keys have lists, and others have none".into());
        }
        let tensor = |(at, fields): (usize, &Fields<'a>)| {
            fields.meta().map(Value::Tensor).map_err(|what| format!("tensor {at}: {what}"))
        };
        self.each.iter().enumerate().map(tensor).collect::<Result<_, _>>().map(Value::Tuple)
    }

    /// The metadata that they spell. Of a scheme per channel only the scheme and the axis.
    pub(super) fn meta(&self) -> Result<TensorMeta, String> {
        if !self.each.is_empty() {
            return Err("it is one tensor, and a key has a list".into());
        }
        let need = |key: &str| format!("the key `{key}` is missing");
        let shape = self.shape.ok_or_else(|| need("shape"))?;
        let dtype = self.dtype.ok_or_else(|| need("dtype"))?;

        let dims = |key: &str, text: &str| {
            parse_dims(text).ok_or_else(|| format!("`{key}` is no list of sizes: {:?}", shown(text)))
        };
        let mut meta = TensorMeta {
            dtype: Dtype::from_name(dtype)
                .filter(|found| found.name() == dtype)
                .ok_or_else(|| format!("`dtype` is none that torch has: {:?}", shown(dtype)))?,
            shape: dims("shape", shape)?,
            stride: self.stride.map(|stride| dims("stride", stride)).transpose()?,
            requires_grad: match self.requires_grad {
                None => None,
                Some("True") => Some(true),
                Some("False") => Some(false),
                Some(other) => {
                    return Err(format!("`requires_grad` is neither \"True\" nor \"False\": {:?}", shown(other)))
                }
            },
            memory_format: None,
            device: None,
            quantization: None,
        };
        if let Some(negative) = meta.stride.iter().flatten().find(|dim| matches!(dim, Dim::Int(i64::MIN..=-1))) {
            return Err(format!("a stride is negative: {negative}"));
        }
        meta.check().map_err(|error| error.message)?;
        if let Some(told) = self.is_quantized.filter(|told| *told != meta.dtype.is_quantized()) {
            return Err(format!("`is_quantized` is {told} for a tensor of {dtype}"));
        }
        meta.quantization = self.quantization(meta.dtype.is_quantized())?;
        Ok(meta)
    }

    fn quantization(&self, is_quantized: bool) -> Result<Option<Quantization>, String> {
        let Channels { scales, zero_points, axis } = &self.channels;
        let per_channel = scales.is_some() || zero_points.is_some() || axis.is_some();
        let per_tensor = self.scale.is_some() || self.zero_point.is_some();
        let Some(qscheme) = self.qscheme else {
            return match is_quantized {
                // torch 1.8 told no more of a node than its dtype.
                true if self.is_quantized.is_none() && !per_channel && !per_tensor => Ok(None),
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
            Some(false) => Ok(Some(Quantization::PerChannel {
                qscheme: qscheme.into(),
                axis: *axis,
                scales: None,
                zero_points: None,
            })),
        }
    }

    /// What they tell as what a node yields, shared with the nodes before it of which the same is told.
    pub(super) fn value(&self, context: &Context<'a>) -> Result<Arc<Value>, String> {
        let key = match (self.shape, self.dtype) {
            (Some(shape), Some(dtype))
                if self.is_quantized != Some(true)
                    && self.qscheme.is_none()
                    && self.scale.is_none()
                    && self.zero_point.is_none()
                    && self.each.is_empty() =>
            {
                (shape, dtype, self.stride, self.requires_grad)
            }
            _ => return Ok(Arc::new(self.told()?)),
        };
        if let Some(value) = context.values.borrow().get(&key) {
            // Whether it is quantized its dtype says; that it must not say otherwise was not asked.
            let is_wrong =
                value.as_tensor().is_some_and(|meta| meta.dtype.is_quantized()) && self.is_quantized.is_some();
            if !is_wrong {
                return Ok(value.clone());
            }
        }
        let value = Arc::new(Value::Tensor(self.meta()?));
        context.values.borrow_mut().insert(key, value.clone());
        Ok(value)
    }
}

impl<'a> Channel<'a> {
    fn from_field(field: Field<'a>) -> Option<Channel<'a>> {
        let items = match field {
            Field::Text(name) => return Some(Channel::Weight(name)),
            Field::List(items) => items,
            _ => return None,
        };
        let int = |item: &Field<'a>| match item {
            Field::Int(value) => Some(*value),
            _ => None,
        };
        if let Some(ints) = items.iter().map(int).collect::<Option<Arc<[i64]>>>() {
            return Some(Channel::Ints(ints));
        }
        let float = |item: &Field<'a>| match item {
            Field::Float(value) => Some(*value),
            Field::Int(value) => Some(*value as f64),
            _ => None,
        };
        items.iter().map(float).collect::<Option<_>>().map(Channel::Floats)
    }
}

/// Reads `quantized_type`, in which torch 1.8 told how a weight is quantized.
struct QuantizedTypeSeed<'c, 'a> {
    context: &'c Context<'a>,
    fields: &'c mut Fields<'a>,
}

impl<'a> DeserializeSeed<'a> for QuantizedTypeSeed<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for QuantizedTypeSeed<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("how a tensor is quantized")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
        let QuantizedTypeSeed { context, fields } = self;
        while let Some(key) = map.next_key_seed(Text(context))? {
            context.at_key(Some(key));
            let known = match key {
                "q_scheme" => "qscheme",
                "q_zero_pont" => "q_zero_point",
                "quantized_type" => "",
                key => key,
            };
            let taken = match known {
                "qscheme" | "q_scale" | "q_zero_point" => fields.read(known, context, &mut map)?,
                "" => false,
                known => fields.read_weight(known, context, &mut map)?,
            };
            if !taken {
                return Err(context.fail("nothing is known of such a key"));
            }
        }
        Ok(())
    }
}
