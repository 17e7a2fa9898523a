//! What an annotation tells of a value: `f32[1, 3][3, 1]cpu`, `Sym(s17)`.

use crate::ir::tensor_meta::{Dims, Scalar};
use crate::ir::{Dim, Dtype, TensorMeta, Value};
use std::sync::Arc;

/// The value that an annotation in quotes tells of; None when it is a type.
pub(super) fn parse_annotation(text: &str) -> Option<Value> {
    if let Some(symbol) = text.strip_prefix("Sym(").and_then(|rest| rest.strip_suffix(')')) {
        return Some(Value::Scalar(Scalar::Sym(Arc::from(symbol))));
    }
    let (dtype, rest) = text.split_at(text.find('[')?);
    let dtype = Dtype::from_abbreviation(dtype).or_else(|| Dtype::from_name(dtype))?;
    let (shape, rest) = dims(rest)?;
    let (stride, device) = match rest.starts_with('[') {
        true => dims(rest).map(|(stride, rest)| (Some(stride), rest))?,
        false => (None, rest),
    };
    if stride.as_ref().is_some_and(|stride| stride.len() != shape.len())
        && stride.as_ref().is_some_and(|s| !s.is_empty())
    {
        return None;
    }
    let is_device = device.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b':' || byte == b'_');
    let device = match device {
        "" => None,
        _ if is_device => Some(Arc::from(device)),
        _ => return None,
    };
    Some(Value::Tensor(TensorMeta { stride, device, ..TensorMeta::new::<Dim>(dtype, shape) }))
}

/// A list of sizes in brackets, and what follows. A comma in parentheses is of a symbolic size.
fn dims(text: &str) -> Option<(Dims, &str)> {
    let rest = text.strip_prefix('[')?;
    let (mut depth, mut start) = (0usize, 0);
    let mut found = Dims::new();
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b']' if depth == 0 => {
                let last = rest[start..at].trim();
                if !last.is_empty() || !found.is_empty() {
                    found.push(dim(last)?);
                }
                return Some((found, &rest[at + 1..]));
            }
            b')' | b']' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => {
                found.push(dim(rest[start..at].trim())?);
                start = at + 1;
            }
            _ => {}
        }
    }
    None
}

fn dim(text: &str) -> Option<Dim> {
    match text {
        "" => None,
        _ => Some(text.parse().map_or_else(|_| Dim::Sym(Arc::from(text)), Dim::Int)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_and_symbols_are_told_from_types() {
        let tensor = |text: &str| match parse_annotation(text) {
            Some(Value::Tensor(meta)) => meta,
            other => panic!("{text}: {other:?}"),
        };
        let meta = tensor("f32[s75, 4, Max(1, s7)][4*s7**2, s7, 1]cuda:0");
        assert_eq!(meta.shape.iter().map(Dim::to_string).collect::<Vec<_>>(), ["s75", "4", "Max(1, s7)"]);
        assert_eq!(meta.stride.unwrap().len(), 3);
        assert_eq!(meta.device.as_deref(), Some("cuda:0"));
        assert_eq!(tensor("b8[]").shape.len(), 0);
        assert_eq!(tensor("f32[][]cpu").stride.unwrap().len(), 0);
        assert!(matches!(parse_annotation("Sym(s17)"), Some(Value::Scalar(Scalar::Sym(_)))));
        for text in ["torch.Tensor", "f32", "f32[1", "f32[1,]x y", "List[int]", "f99[1]"] {
            assert!(parse_annotation(text).is_none(), "{text}");
        }
    }
}
