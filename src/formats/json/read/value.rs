//! What a node yields that is no tensor, from its description.

use std::sync::Arc;

use super::fields::Fields;
use crate::formats::json::encoding::{ARGS, PY, TENSOR, TUPLE};
use crate::ir::tensor::Scalar;
use crate::ir::{Argument, Symbols, Value};

/// The value that is described; None if that is no description of one.
pub(super) fn described(argument: &Argument, symbols: &Symbols) -> Option<Value> {
    let all = |items: &[Argument]| items.iter().map(|item| described(item, symbols)).collect::<Option<Vec<_>>>();
    Some(match argument {
        Argument::None => Value::None,
        Argument::Bool(value) => Value::Scalar(Scalar::Bool(*value)),
        Argument::Int(value) => Value::Scalar(Scalar::Int(*value)),
        Argument::Float(value) => Value::Scalar(Scalar::Float(*value)),
        Argument::SymInt(text) => Value::Scalar(Scalar::Sym(symbols.text(*text).into())),
        Argument::List(items) => Value::List(all(items)?),
        Argument::Dict(entries) => {
            let entries: Vec<(&str, &Argument)> = entries
                .iter()
                .map(|(key, value)| match key {
                    Argument::Str(key) => Some((symbols.text(*key), value)),
                    _ => None,
                })
                .collect::<Option<_>>()?;
            let get = |wanted: &str| entries.iter().find(|(key, _)| *key == wanted).map(|(_, value)| *value);
            match (get(PY), get(ARGS)) {
                (Some(Argument::Str(name)), Some(Argument::List(items))) if symbols.text(*name) == TUPLE => {
                    Value::Tuple(all(items)?)
                }
                (Some(Argument::Str(name)), _) if symbols.text(*name) == TENSOR => {
                    let told = entries.iter().filter(|(key, _)| *key != PY);
                    let told = told.map(|(key, value)| (*key, (*value).clone())).collect();
                    let (fields, others) = Fields::from_entries(told, symbols).ok()?;
                    Value::Tensor(fields.meta().ok().filter(|_| others.is_empty())?)
                }
                _ => {
                    let entry = |(key, value): (&str, &Argument)| Some((Arc::from(key), described(value, symbols)?));
                    Value::Dict(entries.into_iter().map(entry).collect::<Option<_>>()?)
                }
            }
        }
        _ => return None,
    })
}
