//! What is known of a tensor without its bytes, and of what a node yields.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use super::dtype::Dtype;
use super::error::{counted, Error, ErrorKind, Result};
use super::tensor::Tensor;

/// One size or stride: a number, or a symbolic expression as it was spelled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// A known number.
    Int(i64),
    /// A symbolic one: `s0`, `4*s7**2`.
    Sym(Arc<str>),
}

/// Sizes or strides, symbolic ones among them.
pub type Dims = SmallVec<[Dim; 4]>;

/// Sizes or strides that are all known numbers.
pub type Sizes = SmallVec<[i64; 4]>;

/// A tensor's metadata, torch's `TensorMetadata`. Fields that nobody told are None.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorMeta {
    /// The element type.
    pub dtype: Dtype,
    /// The sizes.
    pub shape: Dims,
    /// The strides in elements, as torch recorded them.
    pub stride: Option<Dims>,
    /// Whether torch would record gradients for it.
    pub requires_grad: Option<bool>,
    /// `torch.contiguous_format` and the like.
    pub memory_format: Option<Arc<str>>,
    /// `cpu`, `cuda:0`.
    pub device: Option<Arc<str>>,
    /// How its integers stand for real numbers, if they do.
    pub quantization: Option<Quantization>,
}

/// How the elements of a quantized tensor stand for real numbers.
#[derive(Clone, Debug)]
pub enum Quantization {
    /// One scale and zero point for the whole tensor.
    PerTensor {
        /// `torch.per_tensor_affine` and the like.
        qscheme: Arc<str>,
        /// Real step between two neighbouring integers.
        scale: f64,
        /// The integer that stands for 0.
        zero_point: i64,
    },
    /// One scale and zero point for each index along an axis. Metadata of a node in the JSON of
    /// torch 1.12 tells the scheme only.
    PerChannel {
        /// `torch.per_channel_affine` and the like.
        qscheme: Arc<str>,
        /// The dimension whose indexes are the channels.
        axis: Option<i64>,
        /// One scale a channel.
        scales: Option<Arc<Tensor>>,
        /// One zero point a channel.
        zero_points: Option<Arc<Tensor>>,
    },
}

/// What a node yields, as far as it is known.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // nearly every value is one tensor
pub enum Value {
    /// One tensor.
    Tensor(TensorMeta),
    /// A list of values.
    List(Vec<Value>),
    /// A tuple of values.
    Tuple(Vec<Value>),
    /// A dict of values, in its order.
    Dict(Vec<(Arc<str>, Value)>),
    /// Python's None.
    None,
    /// A number that is no tensor.
    Scalar(Scalar),
}

/// A number that a node yields.
#[derive(Clone, Debug)]
pub enum Scalar {
    /// True or False.
    Bool(bool),
    /// A known integer.
    Int(i64),
    /// A known float.
    Float(f64),
    /// A symbolic number as it was spelled.
    Sym(Arc<str>),
}

impl Dim {
    /// The number, unless it is symbolic.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Dim::Int(value) => Some(*value),
            Dim::Sym(_) => None,
        }
    }
}

impl From<i64> for Dim {
    fn from(value: i64) -> Dim {
        Dim::Int(value)
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Int(value) => write!(f, "{value}"),
            Dim::Sym(text) => f.write_str(text),
        }
    }
}

impl TensorMeta {
    /// Metadata of which only dtype and sizes are known.
    pub fn new<D: Into<Dim>>(dtype: Dtype, shape: impl IntoIterator<Item = D>) -> TensorMeta {
        TensorMeta {
            dtype,
            shape: shape.into_iter().map(Into::into).collect(),
            stride: None,
            requires_grad: None,
            memory_format: None,
            device: None,
            quantization: None,
        }
    }

    /// The sizes as numbers; None if one is symbolic.
    pub fn sizes(&self) -> Option<Sizes> {
        self.shape.iter().map(Dim::as_int).collect()
    }

    /// The recorded strides as numbers; None if there are none or one is symbolic.
    pub fn strides(&self) -> Option<Sizes> {
        self.stride.as_ref()?.iter().map(Dim::as_int).collect()
    }

    /// How many elements; None if a size is symbolic. A negative size or a count beyond 64 bits is
    /// an error.
    pub fn numel(&self) -> Result<Option<u64>> {
        self.sizes().map(|sizes| numel(&sizes)).transpose()
    }

    /// How many bytes the elements take when nothing lies between them; None if a size is
    /// symbolic. Kinds below a byte fill up each row of the last dimension to a whole byte, as
    /// torch does.
    pub fn nbytes(&self) -> Result<Option<u64>> {
        self.sizes().map(|sizes| nbytes(self.dtype, &sizes)).transpose()
    }

    /// The strides of the same sizes in row-major order; None if a size is symbolic.
    pub fn contiguous_strides(&self) -> Result<Option<Sizes>> {
        self.sizes().map(|sizes| contiguous_strides(&sizes)).transpose()
    }

    /// Checks what can be checked: no negative size, no overflow, as many strides as sizes.
    pub fn check(&self) -> Result<()> {
        if let Some(negative) = self.shape.iter().find(|dim| matches!(dim, Dim::Int(i64::MIN..=-1))) {
            return Err(invalid(format!("a size is negative: {negative}")));
        }
        if let Some(stride) = &self.stride {
            if stride.len() != self.shape.len() {
                return Err(invalid(format!(
                    "{} for {}",
                    counted(stride.len(), "stride"),
                    counted(self.shape.len(), "dimension")
                )));
            }
        }
        self.nbytes()?;
        Ok(())
    }
}

/// How many elements a tensor of these sizes has.
pub fn numel(sizes: &[i64]) -> Result<u64> {
    if let Some(negative) = sizes.iter().find(|&&size| size < 0) {
        return Err(invalid(format!("a size is negative: {negative}")));
    }
    if sizes.contains(&0) {
        return Ok(0);
    }
    let count = sizes.iter().try_fold(1u64, |count, &size| count.checked_mul(size.unsigned_abs()));
    count.ok_or_else(|| overflow(sizes))
}

/// How many bytes a row-major tensor of these sizes takes.
pub fn nbytes(dtype: Dtype, sizes: &[i64]) -> Result<u64> {
    let (rows, row) = match sizes {
        // Only kinds below a byte care where a row ends.
        [rows @ .., row] if dtype.bits() < 8 => (numel(rows)?, numel(&[*row])?),
        _ => (1, numel(sizes)?),
    };
    row.checked_mul(u64::from(dtype.bits()))
        .map(|bits| bits.div_ceil(8))
        .and_then(|bytes| bytes.checked_mul(rows))
        .ok_or_else(|| overflow(sizes))
}

/// Row-major strides, in elements; a size of 0 counts as 1, as in torch.
pub fn contiguous_strides(sizes: &[i64]) -> Result<Sizes> {
    let mut strides = Sizes::from_elem(1, sizes.len());
    let mut step = 1i64;
    for (stride, &size) in strides.iter_mut().zip(sizes).rev() {
        *stride = step;
        step = step.checked_mul(size.max(1)).ok_or_else(|| overflow(sizes))?;
    }
    Ok(strides)
}

impl Quantization {
    /// The scheme, as torch spells it.
    pub fn qscheme(&self) -> &Arc<str> {
        match self {
            Quantization::PerTensor { qscheme, .. } | Quantization::PerChannel { qscheme, .. } => qscheme,
        }
    }
}

/// Scales compare bit by bit, so that NaN equals itself.
impl PartialEq for Quantization {
    fn eq(&self, other: &Quantization) -> bool {
        use Quantization::{PerChannel, PerTensor};
        match (self, other) {
            (
                PerTensor { qscheme, scale, zero_point },
                PerTensor { qscheme: qscheme2, scale: scale2, zero_point: zero_point2 },
            ) => qscheme == qscheme2 && scale.to_bits() == scale2.to_bits() && zero_point == zero_point2,
            (
                PerChannel { qscheme, axis, scales, zero_points },
                PerChannel { qscheme: qscheme2, axis: axis2, scales: scales2, zero_points: zero_points2 },
            ) => qscheme == qscheme2 && axis == axis2 && scales == scales2 && zero_points == zero_points2,
            _ => false,
        }
    }
}

/// Floats compare bit by bit, so that NaN equals itself.
impl PartialEq for Scalar {
    fn eq(&self, other: &Scalar) -> bool {
        match (self, other) {
            (Scalar::Bool(a), Scalar::Bool(b)) => a == b,
            (Scalar::Int(a), Scalar::Int(b)) => a == b,
            (Scalar::Float(a), Scalar::Float(b)) => a.to_bits() == b.to_bits(),
            (Scalar::Sym(a), Scalar::Sym(b)) => a == b,
            _ => false,
        }
    }
}

impl Value {
    /// The metadata, if this is one tensor.
    pub fn as_tensor(&self) -> Option<&TensorMeta> {
        match self {
            Value::Tensor(meta) => Some(meta),
            _ => None,
        }
    }

    /// Every tensor in it, depth first, in order.
    pub fn tensors(&self) -> impl Iterator<Item = &TensorMeta> {
        let mut waiting = vec![self];
        std::iter::from_fn(move || loop {
            match waiting.pop()? {
                Value::Tensor(meta) => return Some(meta),
                Value::List(items) | Value::Tuple(items) => waiting.extend(items.iter().rev()),
                Value::Dict(items) => waiting.extend(items.iter().rev().map(|(_, item)| item)),
                Value::None | Value::Scalar(_) => {}
            }
        })
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

fn overflow(sizes: &[i64]) -> Error {
    // A hostile shape may have a great many dimensions: the message shows the first few.
    let shown = &sizes[..sizes.len().min(8)];
    let more = if shown.len() < sizes.len() { ", ..." } else { "" };
    let shown = shown.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    invalid(format!("a tensor of shape [{shown}{more}] is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        let meta = TensorMeta::new(Dtype::Float32, [2i64, 3, 4]);
        assert_eq!(meta.numel(), Ok(Some(24)));
        assert_eq!(meta.nbytes(), Ok(Some(96)));
        assert_eq!(meta.contiguous_strides().unwrap().unwrap().as_slice(), [12, 4, 1]);
        let scalar = TensorMeta::new(Dtype::Int64, [0i64; 0]);
        assert_eq!((scalar.numel(), scalar.nbytes()), (Ok(Some(1)), Ok(Some(8))));
        assert_eq!(contiguous_strides(&[2, 0, 3]).unwrap().as_slice(), [3, 3, 1]);
    }

    #[test]
    fn rows_of_small_kinds_end_on_a_byte() {
        assert_eq!(nbytes(Dtype::Quint4x2, &[3, 5]), Ok(9));
        assert_eq!(nbytes(Dtype::Quint2x4, &[3, 5]), Ok(6));
        assert_eq!(nbytes(Dtype::Quint4x2, &[]), Ok(1));
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        assert!(numel(&[i64::MAX, 3]).is_err());
        assert_eq!(numel(&[i64::MAX, 3, 0]), Ok(0));
        assert!(numel(&[-1]).is_err());
        assert!(numel(&[0, -1]).is_err());
        assert!(nbytes(Dtype::Complex128, &[i64::MAX]).is_err());
        assert!(contiguous_strides(&[2, i64::MAX, 2]).is_err());
        assert!(TensorMeta::new(Dtype::Bool, [-1i64]).check().is_err());
        let mut meta = TensorMeta::new(Dtype::Bool, [2i64]);
        meta.stride = Some(Dims::new());
        assert!(meta.check().is_err());
    }

    #[test]
    fn symbolic_sizes_are_no_error() {
        let mut meta = TensorMeta::new(Dtype::Float32, [Dim::Sym("s0".into()), Dim::Int(3)]);
        assert_eq!(meta.numel(), Ok(None));
        assert_eq!(meta.nbytes(), Ok(None));
        assert!(meta.check().is_ok());
        meta.shape[1] = Dim::Int(-3);
        assert!(meta.check().is_err());
    }

    #[test]
    fn tensors_of_a_value_come_in_order() {
        let tensor = |n: i64| Value::Tensor(TensorMeta::new(Dtype::Bool, [n]));
        let value = Value::Tuple(vec![
            tensor(1),
            Value::List(vec![tensor(2), Value::None, tensor(3)]),
            Value::Dict(vec![("k".into(), tensor(4))]),
            tensor(5),
        ]);
        let sizes: Vec<i64> = value.tensors().filter_map(|meta| meta.shape[0].as_int()).collect();
        assert_eq!(sizes, [1, 2, 3, 4, 5]);
    }
}
