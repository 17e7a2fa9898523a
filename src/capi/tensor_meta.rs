//! Metadata of a tensor: `fxir_tensor_meta`, read and given in the same form.

use super::argument::dtype;
use super::dtype::number;
use super::error::{Failure, Outcome};
use super::handle::{self, Handle};
use super::input;
use super::status::*;
use super::tensor::{fxir_tensor, TensorRecord};
use crate::ir::tensor_meta::{Dims, Quantization};
use crate::ir::{Dim, TensorMeta};
use std::ffi::{c_char, CString};
use std::ptr::null;
use std::sync::Arc;

/// What is known of a tensor without its bytes. `fxir_tensor_meta_init` makes one in which nothing
/// is known; torch's `TensorMetadata`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_tensor_meta {
    /// `sizeof(fxir_tensor_meta)`, set by `fxir_tensor_meta_init`.
    pub struct_size: usize,
    /// The element type, one of FXIR_DTYPE_*.
    pub dtype: i32,
    /// 1 or 0; -1 when it is not known.
    pub requires_grad: i32,
    /// How many dimensions.
    pub rank: usize,
    /// `rank` sizes; -1 stands for one that is symbolic. NULL when `rank` is 0.
    pub shape: *const i64,
    /// `rank` strides, in elements; -1 stands for one that is symbolic. NULL when they are not known.
    pub stride: *const i64,
    /// `rank` texts: how a symbolic size is spelled, NULL for one that is a number. NULL when no size
    /// is symbolic.
    pub symbolic_shape: *const *const c_char,
    /// The same for strides.
    pub symbolic_stride: *const *const c_char,
    /// "torch.contiguous_format" and the like; NULL when it is not known.
    pub memory_format: *const c_char,
    /// "cpu", "cuda:0"; NULL when it is not known.
    pub device: *const c_char,
    /// How integers stand for real numbers; NULL when they do not.
    pub quantization: *const fxir_quantization,
}

/// How the elements of a quantized tensor stand for real numbers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_quantization {
    /// "torch.per_tensor_affine", "torch.per_channel_affine" and the like.
    pub qscheme: *const c_char,
    /// 1 when each index along `axis` has a scale and zero point of its own, else 0.
    pub is_per_channel: i32,
    /// Whether `axis` is known: 1 or 0.
    pub has_axis: i32,
    /// For the whole tensor: the real step between two neighbouring integers.
    pub scale: f64,
    /// For the whole tensor: the integer that stands for 0.
    pub zero_point: i64,
    /// By channel: the dimension whose indexes are the channels.
    pub axis: i64,
    /// By channel: one scale a channel; NULL when they are not known.
    pub scales: *const fxir_tensor,
    /// By channel: one zero point a channel; NULL when they are not known.
    pub zero_points: *const fxir_tensor,
}

/// Makes `*meta` one in which nothing is known. Does nothing when it is NULL.
#[no_mangle]
pub unsafe extern "C" fn fxir_tensor_meta_init(meta: *mut fxir_tensor_meta) {
    if !meta.is_null() {
        meta.write(nothing_known());
    }
}

fn nothing_known() -> fxir_tensor_meta {
    fxir_tensor_meta {
        struct_size: size_of::<fxir_tensor_meta>(),
        dtype: 0,
        requires_grad: -1,
        rank: 0,
        shape: null(),
        stride: null(),
        symbolic_shape: null(),
        symbolic_stride: null(),
        memory_format: null(),
        device: null(),
        quantization: null(),
    }
}

/// torch itself takes no more.
const MAX_RANK: usize = 64;

/// Reads what C gives.
pub(super) unsafe fn read(meta: *const fxir_tensor_meta) -> Outcome<TensorMeta> {
    // SAFETY: the promise of the function that C called: pointers are NULL or lead to what the
    // struct says.
    unsafe {
        let meta = input::options(meta, "meta")?;
        let dtype = dtype(i64::from(meta.dtype))?;
        let shape = dims(meta.shape, meta.symbolic_shape, meta.rank, "shape")?;
        let is_stride_known = !meta.stride.is_null() || !meta.symbolic_stride.is_null();
        let stride = match is_stride_known {
            true => Some(dims(meta.stride, meta.symbolic_stride, meta.rank, "stride")?),
            false => None,
        };
        let requires_grad = match meta.requires_grad {
            -1 => None,
            known => Some(input::flag(known, "requires_grad")?),
        };
        let meta = TensorMeta {
            dtype,
            shape,
            stride,
            requires_grad,
            memory_format: input::optional_text(meta.memory_format, "memory_format")?.map(Into::into),
            device: input::optional_text(meta.device, "device")?.map(Into::into),
            quantization: meta.quantization.as_ref().map(|given| quantization(given)).transpose()?,
        };
        meta.check()?;
        Ok(meta)
    }
}

unsafe fn dims(numbers: *const i64, symbols: *const *const c_char, rank: usize, what: &str) -> Outcome<Dims> {
    if rank > MAX_RANK {
        return Err(Failure::new(FXIR_LIMIT, format!("{rank} dimensions are more than {MAX_RANK}")));
    }
    // SAFETY: `rank` of them, says the struct.
    let numbers = unsafe { input::slice(numbers, rank, what) }?;
    let symbols = match symbols.is_null() {
        true => &[][..],
        // SAFETY: as above.
        false => unsafe { input::slice(symbols, rank, what) }?,
    };
    let mut read = Dims::new();
    for (place, &number) in numbers.iter().enumerate() {
        // SAFETY: a text or NULL, says the struct.
        let symbol = unsafe { input::optional_text(symbols.get(place).copied().unwrap_or(null()), what) }?;
        read.push(symbol.map_or(Dim::Int(number), |symbol| Dim::Sym(symbol.into())));
    }
    Ok(read)
}

unsafe fn quantization(given: &fxir_quantization) -> Outcome<Quantization> {
    // SAFETY: a text, says the struct.
    let qscheme: Arc<str> = unsafe { input::text(given.qscheme, "qscheme") }?.into();
    let tensor = |tensor: *const fxir_tensor| match tensor.is_null() {
        true => Ok(None),
        false => handle::get::<TensorRecord>(tensor).map(|found| Some(found.tensor().clone())),
    };
    Ok(match input::flag(given.is_per_channel, "is_per_channel")? {
        false => Quantization::PerTensor { qscheme, scale: given.scale, zero_point: given.zero_point },
        true => Quantization::PerChannel {
            qscheme,
            axis: input::flag(given.has_axis, "has_axis")?.then_some(given.axis),
            scales: tensor(given.scales)?,
            zero_points: tensor(given.zero_points)?,
        },
    })
}

/// Metadata in the form in which C reads it, with all storage that it points into.
pub(super) struct MetaRecord {
    meta: fxir_tensor_meta,
    _quantization: Option<Box<fxir_quantization>>,
    _numbers: [Box<[i64]>; 2],
    _symbols: [Option<Box<[*const c_char]>>; 2],
    _texts: Vec<CString>,
    _tensors: Vec<OwnedTensor>,
}

// SAFETY: the pointers lead into the record's own storage, which does not change any more.
unsafe impl Send for MetaRecord {}
// SAFETY: as above.
unsafe impl Sync for MetaRecord {}

/// A handle that goes with the record that shows it.
struct OwnedTensor(*mut fxir_tensor);

impl Drop for OwnedTensor {
    fn drop(&mut self) {
        let _ = handle::free::<TensorRecord>(self.0);
    }
}

impl MetaRecord {
    pub(super) fn new(meta: &TensorMeta) -> Outcome<MetaRecord> {
        let mut texts = Vec::new();
        let mut text = |text: &str| {
            let text = CString::new(text).unwrap_or_default();
            let place = text.as_ptr();
            texts.push(text);
            place
        };
        let numbers = |dims: &Dims| dims.iter().map(|dim| dim.as_int().unwrap_or(-1)).collect::<Box<[i64]>>();
        let mut symbols = |dims: &Dims| -> Option<Box<[*const c_char]>> {
            let is_symbolic = dims.iter().any(|dim| dim.as_int().is_none());
            is_symbolic.then(|| {
                let spell = |dim: &Dim| match dim {
                    Dim::Sym(symbol) => text(symbol),
                    Dim::Int(_) => null(),
                };
                dims.iter().map(spell).collect()
            })
        };
        let no_stride = Dims::new();
        let stride = meta.stride.as_ref().unwrap_or(&no_stride);
        let all_numbers = [numbers(&meta.shape), numbers(stride)];
        let all_symbols = [symbols(&meta.shape), symbols(stride)];
        let mut tensors = Vec::new();
        let quantization = match &meta.quantization {
            None => None,
            Some(known) => Some(Box::new(shown(known, &mut text, &mut tensors)?)),
        };
        let pointer = |symbols: &Option<Box<[*const c_char]>>| symbols.as_ref().map_or(null(), |all| all.as_ptr());
        let meta = fxir_tensor_meta {
            dtype: number(meta.dtype),
            requires_grad: meta.requires_grad.map_or(-1, i32::from),
            rank: meta.shape.len(),
            shape: if meta.shape.is_empty() { null() } else { all_numbers[0].as_ptr() },
            // Known strides of a scalar are no numbers, but not NULL either.
            stride: if meta.stride.is_some() { all_numbers[1].as_ptr() } else { null() },
            symbolic_shape: pointer(&all_symbols[0]),
            symbolic_stride: pointer(&all_symbols[1]),
            memory_format: meta.memory_format.as_deref().map_or(null(), &mut text),
            device: meta.device.as_deref().map_or(null(), &mut text),
            quantization: quantization.as_deref().map_or(null(), |shown| &raw const *shown),
            ..nothing_known()
        };
        Ok(MetaRecord {
            meta,
            _quantization: quantization,
            _numbers: all_numbers,
            _symbols: all_symbols,
            _texts: texts,
            _tensors: tensors,
        })
    }

    pub(super) fn meta(&self) -> &fxir_tensor_meta {
        &self.meta
    }
}

fn shown(
    known: &Quantization,
    text: &mut impl FnMut(&str) -> *const c_char,
    tensors: &mut Vec<OwnedTensor>,
) -> Outcome<fxir_quantization> {
    let mut shown = fxir_quantization {
        qscheme: text(known.qscheme()),
        is_per_channel: 0,
        has_axis: 0,
        scale: 0.0,
        zero_point: 0,
        axis: 0,
        scales: null(),
        zero_points: null(),
    };
    let mut handle = |tensor: &Option<Arc<crate::ir::Tensor>>| -> Outcome<*const fxir_tensor> {
        let Some(tensor) = tensor else { return Ok(null()) };
        let handle = handle::create(TensorRecord::new(tensor.clone()))?;
        tensors.push(OwnedTensor(handle));
        Ok(handle)
    };
    match known {
        Quantization::PerTensor { scale, zero_point, .. } => (shown.scale, shown.zero_point) = (*scale, *zero_point),
        Quantization::PerChannel { axis, scales, zero_points, .. } => {
            shown.is_per_channel = 1;
            shown.has_axis = i32::from(axis.is_some());
            shown.axis = axis.unwrap_or(0);
            shown.scales = handle(scales)?;
            shown.zero_points = handle(zero_points)?;
        }
    }
    Ok(shown)
}

const _: () = assert!(size_of::<<TensorRecord as Handle>::C>() == 0);
