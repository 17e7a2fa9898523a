//! What this format cannot hold, and what it needs to be told.

use std::borrow::Cow;

use crate::formats::json::{is_per_tensor, Schema, NODE_KEYS, VALUE};
use crate::ir::tensor::{Quantization, Scalar};
use crate::ir::{Argument, Graph, NodeId, Op, Symbols, TensorMeta, Value, MAX_ARGUMENT_DEPTH};

/// Why an argument cannot be written, if it cannot.
pub(super) fn argument_fault(argument: &Argument, symbols: &Symbols) -> Option<String> {
    match argument {
        Argument::BigInt(text) if !is_json_int(symbols.text(*text)) => {
            Some("an int that is not spelled in decimal digits, which JSON cannot hold".into())
        }
        Argument::List(items) | Argument::Tuple(items) => items.iter().find_map(|item| argument_fault(item, symbols)),
        Argument::Slice(parts) => parts.iter().find_map(|part| argument_fault(part, symbols)),
        Argument::Dict(entries) => {
            entries.iter().find_map(|(key, value)| argument_fault(key, symbols).or(argument_fault(value, symbols)))
        }
        _ => None,
    }
}

/// What is told of a node.
#[derive(Clone, Copy)]
pub(super) enum Info<'a> {
    /// It yields one tensor.
    Tensor(&'a TensorMeta),
    /// It yields a tuple of tensors.
    Tensors(&'a [Value]),
    /// It yields something else.
    Value(&'a Value),
}

/// What is told of a node; the error says why nothing can be.
pub(super) fn node_info<'g>(graph: &'g Graph, node: NodeId, schema: &Schema) -> Result<Info<'g>, String> {
    match graph[node].value() {
        Some(value) => value_info(value, schema),
        None => Err("nothing is known of what it yields (no tensor_meta)".into()),
    }
}

/// What is told of a node that yields that value.
pub(super) fn value_info<'v>(value: &'v Value, schema: &Schema) -> Result<Info<'v>, String> {
    if let Some(fault) = value_fault(value, schema, MAX_ARGUMENT_DEPTH) {
        return Err(fault);
    }
    Ok(match value {
        Value::Tensor(meta) => Info::Tensor(meta),
        Value::Tuple(items) if !items.is_empty() && items.iter().all(|item| item.as_tensor().is_some()) => {
            Info::Tensors(items)
        }
        value => Info::Value(value),
    })
}

/// What a graph returns, if the output node does not know it itself: what the nodes in its argument
/// yield.
pub(super) fn output_value(graph: &Graph, output: NodeId) -> Result<Cow<'_, Value>, String> {
    if let Some(value) = graph[output].value() {
        return Ok(Cow::Borrowed(&**value));
    }
    match graph[output].args() {
        [single] => returned(graph, single).map(Cow::Owned),
        _ => Err("it is not known what it returns".into()),
    }
}

fn returned(graph: &Graph, argument: &Argument) -> Result<Value, String> {
    let all = |items: &[Argument]| items.iter().map(|item| returned(graph, item)).collect::<Result<Vec<_>, _>>();
    Ok(match argument {
        Argument::Node(node) => match graph[*node].value() {
            Some(value) => (**value).clone(),
            None => return Err(format!("it is not known what `{}`, which it returns, yields", graph.name(*node))),
        },
        Argument::List(items) => Value::List(all(items)?),
        Argument::Tuple(items) => Value::Tuple(all(items)?),
        Argument::Dict(entries) => {
            let entry = |(key, value): &(Argument, Argument)| match key {
                Argument::Str(key) => Ok((graph.text(*key).into(), returned(graph, value)?)),
                _ => Err("it returns a dict with a key that is no string".to_owned()),
            };
            Value::Dict(entries.iter().map(entry).collect::<Result<_, _>>()?)
        }
        Argument::None => Value::None,
        Argument::Bool(value) => Value::Scalar(Scalar::Bool(*value)),
        Argument::Int(value) => Value::Scalar(Scalar::Int(*value)),
        Argument::Float(value) => Value::Scalar(Scalar::Float(*value)),
        Argument::SymInt(text) => Value::Scalar(Scalar::Sym(graph.text(*text).into())),
        _ => return Err("it returns a literal that no node yields".into()),
    })
}

fn value_fault(value: &Value, schema: &Schema, depth: usize) -> Option<String> {
    let deeper = |item: &Value| match depth.checked_sub(1) {
        Some(depth) => value_fault(item, schema, depth),
        None => Some(format!("what it yields nests deeper than {MAX_ARGUMENT_DEPTH} levels")),
    };
    match value {
        Value::Tensor(meta) => tensor_fault(meta, schema),
        Value::List(items) | Value::Tuple(items) => items.iter().find_map(deeper),
        Value::Dict(entries) => entries.iter().find_map(|(_, item)| deeper(item)),
        Value::None | Value::Scalar(_) => None,
    }
}

/// Why the metadata of a tensor that a node yields cannot be written, if it cannot.
pub(super) fn tensor_fault(meta: &TensorMeta, schema: &Schema) -> Option<String> {
    if schema.stride && meta.stride.is_none() && !matches!(meta.contiguous_strides(), Ok(Some(_))) {
        return Some("neither its strides nor all its sizes are known".into());
    }
    if schema.is_quantized {
        return quantization_fault(meta);
    }
    None
}

/// Why it cannot be told how a tensor is quantized, if it cannot.
pub(super) fn quantization_fault(meta: &TensorMeta) -> Option<String> {
    match &meta.quantization {
        None if meta.dtype.is_quantized() => Some(format!("it is {}, but its qscheme is not known", meta.dtype)),
        None => None,
        Some(_) if !meta.dtype.is_quantized() => Some(format!("it has a qscheme, but {} is not quantized", meta.dtype)),
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
pub(super) fn meta_fault(graph: &Graph, node: NodeId, schema: &Schema) -> Option<String> {
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
            if info.holds_node() {
                return Some("its meta `lowering_info` holds a node".into());
            }
            // Where no tensor is told of, the key says what the node yields.
            let is_told_of = matches!(node_info(graph, node, schema), Ok(Info::Tensor(_) | Info::Tensors(_)));
            let is_taken =
                |key: &str| NODE_KEYS.contains(&key) || is_reference_key(key) || (key == VALUE && !is_told_of);
            let mut seen = rustc_hash::FxHashSet::default();
            entries.iter().find_map(|(key, _)| match key {
                Argument::Str(key) if is_taken(symbols.text(*key)) => Some(format!(
                    "its meta `lowering_info` has the key `{}`, which the format needs",
                    symbols.text(*key)
                )),
                Argument::Str(key) if !seen.insert(*key) => {
                    Some(format!("its meta `lowering_info` has the key `{}` twice", symbols.text(*key)))
                }
                Argument::Str(_) => None,
                _ => Some("its meta `lowering_info` has a key that is no string".into()),
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

/// Where an output tells of a node, this stands among what it tells; and what Python has and JSON
/// has not is marked by the other.
fn is_reference_key(key: &str) -> bool {
    key == "is_node" || key == crate::formats::json::encoding::PY
}

fn is_json_int(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_padded = digits.len() > 1 && digits.starts_with('0');
    !digits.is_empty() && !is_padded && digits.bytes().all(|byte| byte.is_ascii_digit())
}
