//! The scales and zero points of a weight that is quantized per channel, as weights of their own.

use std::sync::Arc;

use crate::ir::{Dtype, Error, ErrorKind, Result, Tensor, TensorMeta};

/// Scales as float32, as torch writes them.
pub(super) fn scales_as_stored(scales: &Arc<Tensor>) -> Result<Arc<Tensor>> {
    convert(scales, Dtype::Float32)
}

/// Zero points as int32, as torch writes them; fractions are cut off.
pub(super) fn zero_points_as_stored(zero_points: &Arc<Tensor>) -> Result<Arc<Tensor>> {
    convert(zero_points, Dtype::Int32)
}

/// Scales or zero points as numbers.
#[derive(Debug, PartialEq)]
pub(super) enum Numbers {
    Floats(Vec<f64>),
    Ints(Vec<i64>),
}

/// The elements of scales or zero points; None if the bytes are not here.
pub(super) fn numbers(tensor: &Tensor) -> Result<Option<Numbers>> {
    let decode = decoder(tensor.dtype())?;
    let Some(runs) = tensor.runs() else { return Ok(None) };
    let elements = runs.flat_map(|run| run.chunks_exact(tensor.dtype().element_size()));
    Ok(Some(match decode {
        Decoder::Float(decode) => Numbers::Floats(elements.map(decode).collect()),
        Decoder::Int(decode) => Numbers::Ints(elements.map(decode).collect()),
    }))
}

fn convert(tensor: &Arc<Tensor>, dtype: Dtype) -> Result<Arc<Tensor>> {
    if tensor.dtype() == dtype {
        return Ok(tensor.clone());
    }
    let shape = tensor.meta().shape.iter().cloned();
    let meta = TensorMeta { requires_grad: Some(false), ..TensorMeta::new(dtype, shape) };
    let to_bytes = |value: f64| match dtype {
        Dtype::Float32 => (value as f32).to_le_bytes(),
        _ => (value as i32).to_le_bytes(),
    };
    match numbers(tensor)? {
        None => Tensor::without_bytes(meta).map(Arc::new),
        Some(Numbers::Floats(values)) => {
            Tensor::from_bytes(meta, values.into_iter().flat_map(to_bytes).collect()).map(Arc::new)
        }
        Some(Numbers::Ints(values)) => {
            Tensor::from_bytes(meta, values.into_iter().flat_map(|value| to_bytes(value as f64)).collect())
                .map(Arc::new)
        }
    }
}

enum Decoder {
    Float(fn(&[u8]) -> f64),
    Int(fn(&[u8]) -> i64),
}

/// How an element of that dtype is read, if it is one that scales or zero points have.
fn decoder(dtype: Dtype) -> Result<Decoder> {
    fn of<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.try_into().unwrap_or([0; N])
    }
    Ok(match dtype {
        Dtype::Float32 => Decoder::Float(|bytes| f64::from(f32::from_le_bytes(of(bytes)))),
        Dtype::Float64 => Decoder::Float(|bytes| f64::from_le_bytes(of(bytes))),
        Dtype::Int32 => Decoder::Int(|bytes| i64::from(i32::from_le_bytes(of(bytes)))),
        Dtype::Int64 => Decoder::Int(|bytes| i64::from_le_bytes(of(bytes))),
        _ => {
            let message = format!("scales or zero points cannot be read from {dtype}");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(dtype: Dtype, bytes: Vec<u8>) -> Arc<Tensor> {
        let count = (bytes.len() / dtype.element_size()) as i64;
        Arc::new(Tensor::from_bytes(TensorMeta::new(dtype, [count]), bytes).unwrap())
    }

    #[test]
    fn doubles_become_floats_and_longs_become_ints() {
        let doubles = [0.1f64, 2.5].iter().flat_map(|value| value.to_le_bytes()).collect();
        let scales = scales_as_stored(&tensor(Dtype::Float64, doubles)).unwrap();
        assert_eq!(scales.dtype(), Dtype::Float32);
        let floats: Vec<u8> = [0.1f32, 2.5].iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(scales.data(), Some(floats.as_slice()));

        let longs = [3i64, -4].iter().flat_map(|value| value.to_le_bytes()).collect();
        let zero_points = zero_points_as_stored(&tensor(Dtype::Int64, longs)).unwrap();
        let ints: Vec<u8> = [3i32, -4].iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!((zero_points.dtype(), zero_points.data()), (Dtype::Int32, Some(ints.as_slice())));
    }

    #[test]
    fn float_zero_points_lose_their_fractions() {
        let floats = [0.5f32, -1.5].iter().flat_map(|value| value.to_le_bytes()).collect();
        let zero_points = zero_points_as_stored(&tensor(Dtype::Float32, floats)).unwrap();
        let ints: Vec<u8> = [0i32, -1].iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(zero_points.data(), Some(ints.as_slice()));
    }

    #[test]
    fn what_is_right_already_is_shared() {
        let scales = tensor(Dtype::Float32, vec![0; 8]);
        assert!(Arc::ptr_eq(&scales, &scales_as_stored(&scales).unwrap()));
        let bools = tensor(Dtype::Bool, vec![0; 8]);
        assert_eq!(scales_as_stored(&bools).unwrap_err().kind, ErrorKind::Unsupported);
    }
}
