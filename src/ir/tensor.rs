//! A tensor that is a member of a module: its metadata, and where its bytes lie.

use std::fmt;
use std::sync::Arc;

use super::dtype::Dtype;
use super::error::{counted, Error, ErrorKind, Result};
use super::tensor_meta::{contiguous_strides, nbytes, numel};

pub use super::tensor_meta::{Dim, Dims, Quantization, Scalar, Sizes, TensorMeta, Value};

/// Where bytes live: owned, mapped from a file, or borrowed from C.
///
/// `bytes` must give the same bytes each time; they stay alive as long as the storage. Dropping
/// the storage gives them back, on whatever thread drops the last tensor that uses it.
pub trait StorageBytes: Send + Sync {
    /// All the bytes.
    fn bytes(&self) -> &[u8];
}

/// Bytes that tensors share by `Arc<Storage>`; the last tensor to go frees them.
pub type Storage = dyn StorageBytes;

impl StorageBytes for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl StorageBytes for Box<[u8]> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// A tensor: metadata as torch recorded it, and bytes that it shares and never copies.
///
/// The strides in the metadata may differ from how the bytes lie: torch's serializer records the
/// strides of a live tensor, and safetensors stores it row-major. A tensor without bytes is one of
/// torch's "meta" device.
#[derive(Clone)]
pub struct Tensor {
    meta: TensorMeta,
    sizes: Option<Sizes>,
    bytes: Option<Placed>,
}

#[derive(Clone)]
struct Placed {
    storage: Arc<Storage>,
    offset: usize,
    length: usize,
    strides: Sizes,
    contiguous: bool,
}

/// By what tensors under several names are known to be one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ViewKey<'a> {
    place: usize,
    offset: usize,
    view: Option<(Dtype, &'a [i64], &'a [i64])>,
}

impl Tensor {
    /// A tensor whose bytes lie row-major in `storage`, from byte `offset` on.
    pub fn new(meta: TensorMeta, storage: Arc<Storage>, offset: usize) -> Result<Tensor> {
        let sizes = known_sizes(&meta)?;
        let strides = contiguous_strides(&sizes)?;
        Tensor::place(meta, sizes, strides, storage, offset)
    }

    /// A tensor whose bytes lie in `storage` by `strides`, counted in elements, as in torch.
    pub fn strided(meta: TensorMeta, storage: Arc<Storage>, offset: usize, strides: &[i64]) -> Result<Tensor> {
        let sizes = known_sizes(&meta)?;
        if strides.len() != sizes.len() {
            return Err(invalid(format!(
                "{} for {}",
                counted(strides.len(), "stride"),
                counted(sizes.len(), "dimension")
            )));
        }
        if let Some(negative) = strides.iter().find(|&&stride| stride < 0) {
            return Err(invalid(format!("a stride is negative: {negative}")));
        }
        Tensor::place(meta, sizes, Sizes::from_slice(strides), storage, offset)
    }

    /// A tensor that owns its bytes, row-major; `bytes` must have exactly the tensor's length.
    pub fn from_bytes(meta: TensorMeta, bytes: Vec<u8>) -> Result<Tensor> {
        let given = bytes.len();
        let tensor = Tensor::new(meta, Arc::new(bytes), 0)?;
        match tensor.data() {
            Some(data) if data.len() == given => Ok(tensor),
            data => Err(invalid(format!(
                "the bytes given are {given}, those of the tensor {}",
                data.map_or(0, <[u8]>::len)
            ))),
        }
    }

    /// A tensor without bytes; its sizes may be symbolic.
    pub fn without_bytes(meta: TensorMeta) -> Result<Tensor> {
        meta.check()?;
        let sizes = meta.sizes();
        Ok(Tensor { meta, sizes, bytes: None })
    }

    /// The same bytes, shared, under other metadata: same sizes, and a dtype of the same width
    /// (what safetensors calls I8 may be a qint8).
    pub fn with_meta(&self, meta: TensorMeta) -> Result<Tensor> {
        meta.check()?;
        if meta.dtype.bits() != self.dtype().bits() {
            return Err(invalid(format!("elements of {} and of {} differ in width", self.dtype(), meta.dtype)));
        }
        if meta.shape != self.meta.shape {
            return Err(invalid(format!(
                "shape {} is not the tensor's, {}",
                shape_text(&meta),
                shape_text(&self.meta)
            )));
        }
        Ok(Tensor { meta, sizes: self.sizes.clone(), bytes: self.bytes.clone() })
    }

    /// The metadata.
    pub fn meta(&self) -> &TensorMeta {
        &self.meta
    }

    /// The element type.
    pub fn dtype(&self) -> Dtype {
        self.meta.dtype
    }

    /// The sizes as numbers; None only for a tensor without bytes that has a symbolic size.
    pub fn sizes(&self) -> Option<&[i64]> {
        self.sizes.as_deref()
    }

    /// The strides, in elements, by which the bytes lie; None without bytes.
    pub fn strides(&self) -> Option<&[i64]> {
        self.bytes.as_ref().map(|placed| placed.strides.as_slice())
    }

    /// The bytes from the tensor's first element to its last. They have no gaps if
    /// `is_contiguous`; they may be aligned for no type.
    pub fn data(&self) -> Option<&[u8]> {
        let placed = self.bytes.as_ref()?;
        // In range since `place`; a storage that shrank gives nothing rather than a panic.
        placed.storage.bytes().get(placed.offset..placed.offset.checked_add(placed.length)?)
    }

    /// Whether the bytes lie row-major without gaps; false without bytes.
    pub fn is_contiguous(&self) -> bool {
        self.bytes.as_ref().is_some_and(|placed| placed.contiguous)
    }

    /// How many elements; None if a size is symbolic.
    pub fn numel(&self) -> Option<u64> {
        // Checked when the tensor was made.
        self.sizes().and_then(|sizes| numel(sizes).ok())
    }

    /// How many bytes the elements take row-major; None if a size is symbolic.
    pub fn nbytes(&self) -> Option<u64> {
        self.sizes().and_then(|sizes| nbytes(self.dtype(), sizes).ok())
    }

    /// What the bytes live in.
    pub fn storage(&self) -> Option<&Arc<Storage>> {
        self.bytes.as_ref().map(|placed| &placed.storage)
    }

    /// Where in the storage the first element begins, in bytes.
    pub fn offset(&self) -> Option<usize> {
        self.bytes.as_ref().map(|placed| placed.offset)
    }

    /// Whether the two use memory in common: tied weights, or views that overlap. Two tensors of
    /// one mapped file that lie apart in it do not.
    pub fn shares_storage_with(&self, other: &Tensor) -> bool {
        match (self.data(), other.data()) {
            (Some(one), Some(two)) if !one.is_empty() && !two.is_empty() => {
                let (one, two) = (one.as_ptr_range(), two.as_ptr_range());
                one.start < two.end && two.start < one.end
            }
            _ => false,
        }
    }

    /// The bytes in row-major order, in pieces that lie together; None without bytes. A contiguous
    /// tensor is one piece, an empty one none.
    pub fn runs(&self) -> Option<Runs<'_>> {
        let (data, placed, sizes) = (self.data()?, self.bytes.as_ref()?, self.sizes()?);
        let mut outer = sizes.len();
        let mut run = data.len();
        if placed.contiguous || data.is_empty() {
            outer = 0;
        } else {
            // Not contiguous means a dtype of whole bytes. Trailing dimensions without gaps join.
            run = self.dtype().element_size();
            let mut step = 1;
            while let Some(at) = outer.checked_sub(1) {
                if sizes[at] != 1 && placed.strides[at] != step {
                    break;
                }
                step *= sizes[at];
                run *= sizes[at] as usize;
                outer = at;
            }
        }
        Some(Runs {
            data,
            run,
            sizes: &sizes[..outer],
            strides: &placed.strides[..outer],
            element: self.dtype().element_size(),
            index: Sizes::from_elem(0, outer),
            next: (!data.is_empty()).then_some(0),
        })
    }

    /// Whether dtype, shape and elements are the same, bit by bit, whatever else is known of the two
    /// and however they lie. Reads the bytes unless they are shared.
    pub fn has_equal_elements(&self, other: &Tensor) -> bool {
        self.dtype() == other.dtype() && self.meta.shape == other.meta.shape && self.has_equal_bytes(other)
    }

    /// Whether the two are one view of one storage.
    pub fn is_same_view(&self, other: &Tensor) -> bool {
        self.dtype() == other.dtype() && self.meta.shape == other.meta.shape && self.lies_where(other)
    }

    /// What two tensors have in common that are one under two names: one object, or one view of one
    /// storage.
    pub fn view_key(self: &Arc<Self>) -> ViewKey<'_> {
        match &self.bytes {
            Some(bytes) if self.numel() != Some(0) => ViewKey {
                place: Arc::as_ptr(&bytes.storage).cast::<u8>() as usize,
                offset: bytes.offset,
                view: Some((self.dtype(), self.sizes().unwrap_or_default(), &bytes.strides)),
            },
            _ => ViewKey { place: Arc::as_ptr(self) as usize, offset: 0, view: None },
        }
    }

    fn lies_where(&self, other: &Tensor) -> bool {
        match (&self.bytes, &other.bytes) {
            (Some(one), Some(two)) => {
                Arc::ptr_eq(&one.storage, &two.storage) && one.offset == two.offset && one.strides == two.strides
            }
            _ => false,
        }
    }

    fn has_equal_bytes(&self, other: &Tensor) -> bool {
        match (&self.bytes, &other.bytes) {
            (None, None) => true,
            (Some(_), Some(_)) => {
                self.lies_where(other)
                    || self.runs().into_iter().flatten().flatten().eq(other.runs().into_iter().flatten().flatten())
            }
            _ => false,
        }
    }

    fn place(meta: TensorMeta, sizes: Sizes, strides: Sizes, storage: Arc<Storage>, offset: usize) -> Result<Tensor> {
        meta.check()?;
        let packed = nbytes(meta.dtype, &sizes)?;
        let contiguous = lies_row_major(&sizes, &strides);
        let length = if packed == 0 || contiguous {
            Some(packed)
        } else if meta.dtype.bits() < 8 {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("elements of {} can lie row-major only", meta.dtype),
            ));
        } else {
            let reach = sizes.iter().zip(&strides).try_fold(0u64, |reach, (&size, &stride)| {
                let steps = (size - 1).unsigned_abs().checked_mul(stride.unsigned_abs())?;
                reach.checked_add(steps)
            });
            let element = meta.dtype.element_size() as u64;
            reach.and_then(|reach| reach.checked_add(1)?.checked_mul(element))
        };
        let available = storage.bytes().len();
        let end = length
            .and_then(|length| usize::try_from(length).ok())
            .and_then(|length| Some((length, offset.checked_add(length)?)));
        match end {
            Some((length, end)) if end <= available => {
                let bytes = Some(Placed { storage, offset, length, strides, contiguous });
                Ok(Tensor { meta, sizes: Some(sizes), bytes })
            }
            _ => Err(Error::new(
                ErrorKind::OutOfRange,
                format!("a tensor of shape {} at byte {offset} does not fit into {available} bytes", shape_text(&meta)),
            )),
        }
    }
}

/// The metadata and the bytes; not where they live.
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor")
            .field("meta", &self.meta)
            .field("strides", &self.strides())
            .field("bytes", &self.data().map(<[u8]>::len))
            .finish()
    }
}

/// Same metadata and same element bytes, however they lie. Reads the bytes unless they are shared.
impl PartialEq for Tensor {
    fn eq(&self, other: &Tensor) -> bool {
        self.meta == other.meta && self.has_equal_bytes(other)
    }
}

/// The pieces of a tensor's bytes in row-major order: see [`Tensor::runs`].
pub struct Runs<'a> {
    data: &'a [u8],
    run: usize,
    sizes: &'a [i64],
    strides: &'a [i64],
    element: usize,
    index: Sizes,
    next: Option<usize>,
}

impl<'a> Iterator for Runs<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let at = self.next.take()?;
        let piece = self.data.get(at..at.checked_add(self.run)?)?;
        // `place` saw to it that a dimension's last step stays within `data`.
        let mut at = at;
        for dim in (0..self.sizes.len()).rev() {
            if self.sizes[dim] == 1 {
                continue; // its stride means nothing and may be anything
            }
            let step = self.strides[dim] as usize * self.element;
            if self.index[dim] + 1 < self.sizes[dim] {
                self.index[dim] += 1;
                self.next = Some(at + step);
                break;
            }
            at -= self.index[dim] as usize * step;
            self.index[dim] = 0;
        }
        Some(piece)
    }
}

/// The sizes of a tensor that is to have bytes.
fn known_sizes(meta: &TensorMeta) -> Result<Sizes> {
    meta.sizes()
        .ok_or_else(|| invalid(format!("a tensor of shape {} cannot have bytes: a size is symbolic", shape_text(meta))))
}

/// Whether these are the row-major strides; those of dimensions of size 1 do not matter.
fn lies_row_major(sizes: &[i64], strides: &[i64]) -> bool {
    let mut step = Some(1i64);
    sizes.iter().zip(strides).rev().all(|(&size, &stride)| {
        let fits = size <= 1 || step == Some(stride);
        step = step.and_then(|step| step.checked_mul(size.max(1)));
        fits
    })
}

fn shape_text(meta: &TensorMeta) -> String {
    let shown: Vec<String> = meta.shape.iter().take(8).map(ToString::to_string).collect();
    let more = if shown.len() < meta.shape.len() { ", ..." } else { "" };
    format!("[{}{more}]", shown.join(", "))
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}
