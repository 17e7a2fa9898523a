//! What JSON, or this form of it, cannot hold.

use rustc_hash::FxHashSet;

use crate::formats::json::{is_per_tensor, NODE_KEYS};
use crate::ir::tensor::Quantization;
use crate::ir::{Argument, Graph, NodeId, Op, Symbols, TensorMeta, Value};

/// Why an argument cannot be written, if it cannot.
pub(super) fn argument_fault(argument: &Argument, symbols: &Symbols) -> Option<String> {
    let fault = |what: &str| Some(format!("{what}, which JSON cannot hold"));
    match argument {
        Argument::None
        | Argument::Bool(_)
        | Argument::Int(_)
        | Argument::Str(_)
        | Argument::Dtype(_)
        | Argument::Layout(_)
        | Argument::MemoryFormat(_)
        | Argument::Qscheme(_)
        | Argument::Node(_) => None,
        Argument::Float(value) if value.is_finite() => None,
        Argument::Float(value) => fault(&format!("a float that is {value}")),
        Argument::BigInt(text) if is_json_int(symbols.text(*text)) => None,
        Argument::BigInt(_) => fault("an int that is not spelled in decimal digits"),
        Argument::Complex(_) => fault("a complex number"),
        Argument::Bytes(_) => fault("a byte string"),
        Argument::Device(_) => fault("a device"),
        Argument::Ellipsis => fault("an Ellipsis"),
        Argument::SymInt(_) => fault("a symbolic int"),
        Argument::Slice(_) => fault("a slice"),
        Argument::Range(_) => fault("a range"),
        Argument::List(items) | Argument::Tuple(items) => items.iter().find_map(|item| argument_fault(item, symbols)),
        Argument::Dict(entries) => {
            let mut keys = FxHashSet::default();
            entries.iter().find_map(|(key, value)| match key {
                Argument::Str(key) if !keys.insert(*key) => fault("a dict that has a key twice"),
                Argument::Str(key) if symbols.text(*key) == "is_node" && matches!(value, Argument::Bool(true)) => {
                    fault("a dict that looks like a reference to a node")
                }
                Argument::Str(_) => argument_fault(value, symbols),
                _ => fault("a dict with a key that is no string"),
            })
        }
    }
}

/// The metadata of the one tensor that a node yields; the error says why there is none.
pub(super) fn node_tensor(graph: &Graph, node: NodeId) -> Result<&TensorMeta, String> {
    match graph[node].value().map(|value| &**value) {
        Some(Value::Tensor(meta)) => tensor_fault(meta).map_or(Ok(meta), Err),
        Some(_) => Err("it yields something other than one tensor".into()),
        None => Err("nothing is known of what it yields (no tensor_meta)".into()),
    }
}

/// Why the metadata of a tensor cannot be written, if it cannot.
pub(super) fn tensor_fault(meta: &TensorMeta) -> Option<String> {
    if meta.stride.is_none() && !matches!(meta.contiguous_strides(), Ok(Some(_))) {
        return Some("neither its strides nor all its sizes are known".into());
    }
    match &meta.quantization {
        None if meta.dtype.is_quantized() => Some(format!("it is {}, but its qscheme is not known", meta.dtype)),
        None => None,
        Some(_) if !meta.dtype.is_quantized() => Some(format!("it has a qscheme, but {} is not quantized", meta.dtype)),
        Some(Quantization::PerTensor { scale, .. }) if !scale.is_finite() => {
            Some(format!("its scale is {scale}, which JSON cannot hold"))
        }
        Some(quantization) => {
            let is_right = match is_per_tensor(quantization.qscheme()) {
                Some(per_tensor) => per_tensor == matches!(quantization, Quantization::PerTensor { .. }),
                None => false,
            };
            (!is_right).then(|| format!("its qscheme cannot be {}", quantization.qscheme()))
        }
    }
}

/// Why the entries of a node's meta that are written cannot be, if they cannot.
pub(super) fn meta_fault(graph: &Graph, node: NodeId) -> Option<String> {
    let symbols = graph.symbols();
    if graph[node].op() == Op::Placeholder {
        if let Some(ph_type) = meta_entry(graph, node, "ph_type") {
            if !matches!(ph_type, Argument::Str(_) | Argument::None) {
                return Some("its meta `ph_type` is no string".into());
            }
        }
    }
    match meta_entry(graph, node, "lowering_info") {
        None | Some(Argument::None) => None,
        Some(info @ Argument::Dict(entries)) => {
            if let Some(fault) = argument_fault(info, symbols) {
                return Some(format!("its meta `lowering_info` is or holds {fault}"));
            }
            entries.iter().find_map(|(key, _)| match key {
                Argument::Str(key)
                    if NODE_KEYS.contains(&symbols.text(*key)) || is_reference_key(symbols.text(*key)) =>
                {
                    Some(format!(
                        "its meta `lowering_info` has the key `{}`, which the format needs",
                        symbols.text(*key)
                    ))
                }
                _ => None,
            })
        }
        Some(_) => Some("its meta `lowering_info` is no dict".into()),
    }
}

/// An entry of a node's meta.
pub(super) fn meta_entry<'g>(graph: &'g Graph, node: NodeId, key: &str) -> Option<&'g Argument> {
    let entries = &graph[node].meta().entries;
    if entries.is_empty() {
        return None;
    }
    entries.get(&graph.symbols().find(key)?)
}

/// Where an output tells of a node, this stands among what it tells.
fn is_reference_key(key: &str) -> bool {
    key == "is_node"
}

fn is_json_int(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_padded = digits.len() > 1 && digits.starts_with('0');
    !digits.is_empty() && !is_padded && digits.bytes().all(|byte| byte.is_ascii_digit())
}
