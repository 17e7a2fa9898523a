//! What is told of a node: its tensor, its tensors, or a description of what it yields instead.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::argument::{serialize_py, serialize_py_named, Arg, Number, Sequence};
use super::check::{meta_entry, node_info, Info};
use super::plan::ModulePlan;
use crate::formats::json::dims::DimsText;
use crate::formats::json::encoding::{PyType, KEYS, PY, TENSOR, TUPLE, VALUES};
use crate::formats::json::{Schema, VALUE};
use crate::ir::tensor::{Dims, Quantization, Scalar};
use crate::ir::{Argument, NodeId, TensorMeta, Value};

/// What is told of a node, and its lowering information.
pub(super) fn serialize_info<M: SerializeMap>(
    map: &mut M,
    plan: &ModulePlan<'_>,
    schema: &Schema,
    node: NodeId,
) -> Result<(), M::Error> {
    let graph = plan.graph;
    if let Ok(info) = node_info(graph, node, schema) {
        serialize_value_info(map, info, schema)?;
    }
    if let Some(Argument::Dict(entries)) = meta_entry(graph, node, "lowering_info") {
        for (key, argument) in entries {
            if let Argument::Str(key) = key {
                map.serialize_entry(graph.text(*key), &Arg { plan, schema, argument, tells: false })?;
            }
        }
    }
    Ok(())
}

/// The keys that tell of a value.
pub(super) fn serialize_value_info<M: SerializeMap>(
    map: &mut M,
    info: Info<'_>,
    schema: &Schema,
) -> Result<(), M::Error> {
    match info {
        Info::Tensor(meta) => serialize_tensor(map, meta, schema),
        Info::Tensors(values) => serialize_tensors(map, values, schema),
        Info::Value(value) => map.serialize_entry(VALUE, &Description { value, schema }),
    }
}

fn serialize_tensor<M: SerializeMap>(map: &mut M, meta: &TensorMeta, schema: &Schema) -> Result<(), M::Error> {
    map.serialize_entry("shape", &Sizes(&meta.shape))?;
    map.serialize_entry("dtype", meta.dtype.name())?;
    if schema.requires_grad {
        map.serialize_entry("requires_grad", requires_grad(meta))?;
    }
    if schema.stride {
        map.serialize_entry("stride", &Stride(meta))?;
    }
    if schema.is_quantized {
        map.serialize_entry("is_quantized", &meta.quantization.is_some())?;
        if let Some(quantization) = &meta.quantization {
            map.serialize_entry("qscheme", &**quantization.qscheme())?;
            if let Quantization::PerTensor { scale, zero_point, .. } = quantization {
                map.serialize_entry("q_scale", &Number(*scale))?;
                map.serialize_entry("q_zero_point", zero_point)?;
            }
        }
    }
    Ok(())
}

/// The same keys, each with a list.
fn serialize_tensors<M: SerializeMap>(map: &mut M, values: &[Value], schema: &Schema) -> Result<(), M::Error> {
    let metas = || values.iter().filter_map(Value::as_tensor);
    map.serialize_entry("shape", &Sequence(|| metas().map(|meta| Sizes(&meta.shape))))?;
    map.serialize_entry("dtype", &Sequence(|| metas().map(|meta| meta.dtype.name())))?;
    if schema.requires_grad {
        map.serialize_entry("requires_grad", &Sequence(|| metas().map(requires_grad)))?;
    }
    if schema.stride {
        map.serialize_entry("stride", &Sequence(|| metas().map(Stride)))?;
    }
    if schema.is_quantized {
        let quantization = || metas().map(|meta| meta.quantization.as_ref());
        map.serialize_entry("is_quantized", &Sequence(|| quantization().map(|found| found.is_some())))?;
        if quantization().flatten().next().is_some() {
            let per_tensor = |found: Option<&Quantization>| match found {
                Some(Quantization::PerTensor { scale, zero_point, .. }) => Some((*scale, *zero_point)),
                _ => None,
            };
            let qscheme = |found: Option<&Quantization>| found.map(|found| found.qscheme().to_string());
            map.serialize_entry("qscheme", &Sequence(|| quantization().map(qscheme)))?;
            let parts = || quantization().map(per_tensor);
            map.serialize_entry("q_scale", &Sequence(|| parts().map(|part| part.map(|(scale, _)| Number(scale)))))?;
            map.serialize_entry("q_zero_point", &Sequence(|| parts().map(|part| part.map(|(_, point)| point))))?;
        }
    }
    Ok(())
}

/// What a node yields that is no tensor.
struct Description<'v> {
    value: &'v Value,
    schema: &'v Schema,
}

impl Serialize for Description<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let schema = self.schema;
        let inner = |value| Description { value, schema };
        match self.value {
            Value::None => serializer.serialize_unit(),
            Value::Scalar(Scalar::Bool(value)) => serializer.serialize_bool(*value),
            Value::Scalar(Scalar::Int(value)) => serializer.serialize_i64(*value),
            Value::Scalar(Scalar::Float(value)) => Number(*value).serialize(serializer),
            Value::Scalar(Scalar::Sym(text)) => serialize_py(serializer, PyType::SymInt, &[&**text]),
            Value::List(items) => serializer.collect_seq(items.iter().map(inner)),
            Value::Tuple(items) => serialize_py_named(serializer, TUPLE, &Sequence(|| items.iter().map(inner))),
            Value::Dict(entries) => {
                let mut map = serializer.serialize_map(Some(3))?;
                map.serialize_entry(PY, PyType::Dict.name())?;
                map.serialize_entry(KEYS, &Sequence(|| entries.iter().map(|(key, _)| &**key)))?;
                map.serialize_entry(VALUES, &Sequence(|| entries.iter().map(|(_, value)| inner(value))))?;
                map.end()
            }
            Value::Tensor(meta) => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry(PY, TENSOR)?;
                serialize_tensor(&mut map, meta, schema)?;
                map.end()
            }
        }
    }
}

pub(super) fn requires_grad(meta: &TensorMeta) -> &'static str {
    match meta.requires_grad {
        Some(true) => "True",
        _ => "False",
    }
}

/// The recorded strides, or those of a tensor that lies row-major.
pub(super) struct Stride<'p>(pub(super) &'p TensorMeta);

impl Serialize for Stride<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0.stride {
            Some(stride) => Sizes(stride).serialize(serializer),
            None => {
                let strides = self.0.contiguous_strides().ok().flatten().unwrap_or_default();
                let strides: Dims = strides.iter().map(|&stride| stride.into()).collect();
                Sizes(&strides).serialize(serializer)
            }
        }
    }
}

pub(super) struct Sizes<'p>(pub(super) &'p Dims);

impl Serialize for Sizes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&DimsText(self.0))
    }
}
