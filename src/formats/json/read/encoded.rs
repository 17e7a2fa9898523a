//! Objects that stand for what JSON does not have.

use super::argument::Scope;
use super::context::{shown, Context};
use crate::formats::json::encoding::{PyType, ARGS, KEYS, PY, STR, VALUES};
use crate::formats::python::literal::parse_literal;
use crate::ir::{Argument, Symbols};

/// What the entries of an object stand for, which are used up then; None if they are a dict like any
/// other.
pub(super) fn decode(
    context: &Context<'_>,
    scope: Option<&Scope<'_>>,
    entries: &mut [(&str, Argument)],
) -> Result<Option<Argument>, String> {
    let symbols = context.symbols();
    let Some((_, Argument::Str(name))) = entries.iter().find(|(key, _)| *key == PY) else { return Ok(None) };
    let name = symbols.text(*name);
    let Some(py_type) = PyType::from_name(name) else { return Ok(None) };
    let count = entries.len();
    let mut take = |wanted: &str| {
        let found = entries.iter_mut().find(|(key, _)| *key == wanted);
        found.map(|(_, value)| std::mem::replace(value, Argument::None))
    };
    let found = match (count, take(ARGS), take(STR), take(KEYS), take(VALUES)) {
        (2, Some(Argument::List(args)), ..) => from_args(py_type, args.into_iter().collect(), symbols),
        (2, None, Some(argument), ..) if is_of_type(&argument, py_type) => Some(argument),
        (2, None, Some(Argument::Str(text)), ..) => {
            from_text(py_type, symbols.text(text), symbols).and_then(|argument| with_nodes(argument, scope, symbols))
        }
        (3, None, None, Some(Argument::List(keys)), Some(Argument::List(values)))
            if py_type == PyType::Dict && keys.len() == values.len() =>
        {
            Some(Argument::Dict(keys.into_iter().zip(values).collect()))
        }
        _ => None,
    };
    match found {
        Some(argument) => Ok(Some(argument)),
        None => Err(format!("an object that stands for a Python `{}` does not say which", shown(name))),
    }
}

fn from_args(py_type: PyType, args: Vec<Argument>, symbols: &Symbols) -> Option<Argument> {
    let number = |argument: &Argument| match argument {
        Argument::Float(value) => Some(*value),
        Argument::Int(value) => Some(*value as f64),
        _ => None,
    };
    let text = |argument: &Argument| match argument {
        Argument::Str(text) => Some(symbols.text(*text)),
        _ => None,
    };
    if py_type == PyType::Slice {
        return Some(Argument::Slice(Box::new(args.try_into().ok()?)));
    }
    match (py_type, args.as_slice()) {
        (PyType::Float, [one]) => match text(one)? {
            "inf" => Some(Argument::Float(f64::INFINITY)),
            "-inf" => Some(Argument::Float(f64::NEG_INFINITY)),
            "nan" => Some(Argument::Float(f64::NAN)),
            _ => None,
        },
        (PyType::Complex, [real, imaginary]) => Some(Argument::Complex(Box::new([number(real)?, number(imaginary)?]))),
        (PyType::Range, [Argument::Int(start), Argument::Int(stop), Argument::Int(step)]) if *step != 0 => {
            Some(Argument::Range(Box::new([*start, *stop, *step])))
        }
        (PyType::Ellipsis, []) => Some(Argument::Ellipsis),
        (PyType::Bytes, bytes) => {
            let byte = |argument: &Argument| match argument {
                Argument::Int(value) => u8::try_from(*value).ok(),
                _ => None,
            };
            bytes.iter().map(byte).collect::<Option<_>>().map(Argument::Bytes)
        }
        (PyType::SymInt, [one]) => {
            let text = text(one).filter(|text| !text.is_empty() && !text.contains('\0'))?;
            Some(Argument::SymInt(symbols.intern(text)))
        }
        // Those whose strings are values may have become them already.
        (PyType::Dtype | PyType::Layout | PyType::MemoryFormat | PyType::Qscheme, [one]) => match one {
            Argument::Str(text) => from_text(py_type, symbols.text(*text), symbols),
            other => is_of_type(other, py_type).then(|| other.clone()),
        },
        (PyType::Device, [one]) => from_text(py_type, text(one)?, symbols),
        _ => None,
    }
}

/// The value for which Python's `str` gives the text.
fn from_text(py_type: PyType, text: &str, symbols: &Symbols) -> Option<Argument> {
    if py_type == PyType::Device {
        let (kind, index) = text.split_once(':').unwrap_or((text, "0"));
        let is_device = kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
            && !kind.is_empty()
            && !index.is_empty()
            && index.bytes().all(|byte| byte.is_ascii_digit());
        return is_device.then(|| Argument::Device(symbols.intern(text)));
    }
    parse_literal(text, symbols).filter(|argument| is_of_type(argument, py_type))
}

fn is_of_type(argument: &Argument, py_type: PyType) -> bool {
    matches!(
        (argument, py_type),
        (Argument::Float(_), PyType::Float)
            | (Argument::Complex(_), PyType::Complex)
            | (Argument::Slice(_), PyType::Slice)
            | (Argument::Range(_), PyType::Range)
            | (Argument::Ellipsis, PyType::Ellipsis)
            | (Argument::Dtype(_), PyType::Dtype)
            | (Argument::Layout(_), PyType::Layout)
            | (Argument::MemoryFormat(_), PyType::MemoryFormat)
            | (Argument::Qscheme(_), PyType::Qscheme)
            | (Argument::Bytes(_), PyType::Bytes)
            | (Argument::Dict(_), PyType::Dict)
    )
}

/// The same with nodes where the text has the dicts that refer to them. It nests no deeper than
/// arguments may.
fn with_nodes(argument: Argument, scope: Option<&Scope<'_>>, symbols: &Symbols) -> Option<Argument> {
    let Some(of) = scope else { return Some(argument) };
    let inner = |argument: Argument| with_nodes(argument, scope, symbols);
    Some(match argument {
        Argument::List(items) => Argument::List(items.into_iter().map(inner).collect::<Option<_>>()?),
        Argument::Tuple(items) => Argument::Tuple(items.into_iter().map(inner).collect::<Option<_>>()?),
        Argument::Slice(parts) => {
            let [start, stop, step] = *parts;
            Argument::Slice(Box::new([inner(start)?, inner(stop)?, inner(step)?]))
        }
        Argument::Dict(entries) => {
            let get = |wanted: &str| {
                let is_it = |key: &Argument| matches!(key, Argument::Str(key) if symbols.text(*key) == wanted);
                entries.iter().find(|(key, _)| is_it(key)).map(|(_, value)| value)
            };
            match (get("is_node"), get("name")) {
                (Some(Argument::Bool(true)), Some(Argument::Str(name))) => {
                    Argument::Node(*of.names.get(symbols.text(*name))?)
                }
                _ => {
                    let entry = |(key, value)| Some((key, inner(value)?));
                    Argument::Dict(entries.into_iter().map(entry).collect::<Option<_>>()?)
                }
            }
        }
        other => other,
    })
}
