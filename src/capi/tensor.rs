//! Tensors: metadata and bytes that are shared, never copied unless asked.

use super::boundary;
use super::error::{fxir_error, Failure, Outcome};
use super::handle::{self, Handle};
use super::input::{self, Out};
use super::release;
use super::status::*;
use super::tensor_meta::{self, fxir_tensor_meta, MetaRecord};
use crate::ir::tensor::{Storage, StorageBytes};
use crate::ir::{Dim, Tensor, TensorMeta};
use std::ffi::c_void;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// A tensor: metadata, and bytes that it shares with whoever else uses them. It does not change, and
/// any thread may read it. Freed with `fxir_tensor_free`.
pub struct fxir_tensor;

/// Takes borrowed memory back. Called exactly once, after the last tensor that uses the memory is
/// gone, with no lock held, on whatever thread that happens; it may call the library. Never called
/// when the call that was to borrow failed. Must not throw or longjmp.
pub type fxir_release = Option<unsafe extern "C" fn(user_data: *mut c_void, data: *const c_void)>;

pub(super) struct TensorRecord {
    tensor: Arc<Tensor>,
    meta: OnceLock<MetaRecord>,
}

impl Handle for TensorRecord {
    type C = fxir_tensor;
    const WHAT: &'static str = "tensor";
}

impl TensorRecord {
    pub(super) fn new(tensor: Arc<Tensor>) -> TensorRecord {
        TensorRecord { tensor, meta: OnceLock::new() }
    }

    pub(super) fn tensor(&self) -> &Arc<Tensor> {
        &self.tensor
    }
}

/// Memory of the caller's.
pub(super) struct Borrowed {
    data: *const u8,
    length: usize,
    release: fxir_release,
    user_data: *mut c_void,
    /// The call that borrows has succeeded: from here on the memory is ours to give back.
    is_ours: AtomicBool,
}

// SAFETY: the caller's promise: the memory does not change while it is lent, and it may be read and
// given back on any thread.
unsafe impl Send for Borrowed {}
// SAFETY: as above.
unsafe impl Sync for Borrowed {}

impl Borrowed {
    /// Not ours to give back yet, lest a call that fails does it.
    pub(super) fn new(data: *const c_void, length: usize, release: fxir_release, user_data: *mut c_void) -> Borrowed {
        Borrowed { data: data.cast(), length, release, user_data, is_ours: AtomicBool::new(false) }
    }

    pub(super) fn now_ours(&self) {
        self.is_ours.store(true, Ordering::Relaxed);
    }
}

impl StorageBytes for Borrowed {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the caller's promise; checked for NULL and size when it was lent.
        unsafe { input::slice(self.data, self.length, "data") }.unwrap_or(&[])
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if let (Some(release), true) = (self.release, *self.is_ours.get_mut()) {
            let (user_data, data) = (self.user_data, self.data);
            // SAFETY: the caller's promise.
            release::run_unlocked(move || unsafe { release(user_data, data.cast()) });
        }
    }
}

/// The metadata of `rank` sizes, checked.
pub(super) unsafe fn plain_meta(dtype: i32, shape: *const i64, rank: usize) -> Outcome<TensorMeta> {
    // SAFETY: passed on.
    unsafe {
        let mut meta = std::mem::MaybeUninit::uninit();
        tensor_meta::fxir_tensor_meta_init(meta.as_mut_ptr());
        let meta = fxir_tensor_meta { dtype, shape, rank, ..meta.assume_init() };
        tensor_meta::read(&meta)
    }
}

/// A tensor whose bytes stay the caller's: `length` bytes at `data`, which hold elements of `dtype`
/// (FXIR_DTYPE_*) with `rank` sizes at `shape` by the `strides`, counted in elements; NULL means
/// row-major. The bytes must neither change nor go before `release` is called with `user_data`;
/// `release` may be NULL for memory that lives for ever. The caller frees `*tensor`.
///
/// Statuses: FXIR_INVALID_ARGUMENT (no dtype, a negative size or stride, a size that overflows),
/// FXIR_OUT_OF_RANGE (the elements reach beyond `length`), FXIR_LIMIT (more than 64 dimensions).
/// torch: `torch.from_blob` of its C++ API.
#[no_mangle]
pub unsafe extern "C" fn fxir_tensor_borrow(
    dtype: i32,
    shape: *const i64,
    rank: usize,
    strides: *const i64,
    data: *const c_void,
    length: usize,
    release: fxir_release,
    user_data: *mut c_void,
    tensor: *mut *mut fxir_tensor,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let tensor = Out::required(tensor, "tensor")?;
        input::bytes(data.cast(), length, "data")?;
        let mut meta = plain_meta(dtype, shape, rank)?;
        let storage = Arc::new(Borrowed::new(data, length, release, user_data));
        let shared: Arc<Storage> = storage.clone();
        let made = if strides.is_null() {
            Tensor::new(meta, shared, 0)?
        } else {
            let strides = input::slice(strides, rank, "strides")?;
            meta.stride = Some(strides.iter().map(|&stride| Dim::Int(stride)).collect());
            Tensor::strided(meta, shared, 0, strides)?
        };
        tensor.set_handle(TensorRecord::new(Arc::new(made)))?;
        storage.now_ours();
        Ok(())
    })
}

/// A tensor that owns a copy of `length` bytes at `data`: elements of `dtype` (FXIR_DTYPE_*), with
/// `rank` sizes at `shape`, row-major, exactly as many bytes as they take. The caller frees
/// `*tensor`.
///
/// Statuses: FXIR_INVALID_ARGUMENT (no dtype, a negative size, another number of bytes), FXIR_LIMIT
/// (more than 64 dimensions).
#[no_mangle]
pub unsafe extern "C" fn fxir_tensor_copy(
    dtype: i32,
    shape: *const i64,
    rank: usize,
    data: *const c_void,
    length: usize,
    tensor: *mut *mut fxir_tensor,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let tensor = Out::required(tensor, "tensor")?;
        let bytes = input::bytes(data.cast(), length, "data")?;
        let meta = plain_meta(dtype, shape, rank)?;
        // Before the copy, so that a wrong length costs nothing.
        if meta.nbytes()? != Some(length as u64) {
            let message = format!("the bytes given are {length}, those of the tensor {}", meta.nbytes()?.unwrap_or(0));
            return Err(Failure::new(FXIR_INVALID_ARGUMENT, message));
        }
        tensor.set_handle(TensorRecord::new(Arc::new(Tensor::from_bytes(meta, bytes.to_vec())?)))
    })
}

/// A tensor that has metadata but no bytes, as torch's "meta" device has; its sizes may be symbolic.
/// The caller frees `*tensor`.
///
/// Statuses: FXIR_INVALID_ARGUMENT, FXIR_INVALID_UTF8, FXIR_LIMIT, FXIR_INVALID_HANDLE (in
/// `quantization`).
#[no_mangle]
pub unsafe extern "C" fn fxir_tensor_without_data(
    meta: *const fxir_tensor_meta,
    tensor: *mut *mut fxir_tensor,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let tensor = Out::required(tensor, "tensor")?;
        let made = Tensor::without_bytes(tensor_meta::read(meta)?)?;
        tensor.set_handle(TensorRecord::new(Arc::new(made)))
    })
}

/// The same bytes, shared, under other metadata: the same sizes, and a dtype whose elements have the
/// same width (what a file calls int8 may be a qint8). The caller frees `*tensor`.
///
/// Statuses: FXIR_INVALID_ARGUMENT, FXIR_INVALID_UTF8, FXIR_LIMIT.
#[no_mangle]
pub unsafe extern "C" fn fxir_tensor_with_meta(
    source: *const fxir_tensor,
    meta: *const fxir_tensor_meta,
    tensor: *mut *mut fxir_tensor,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let tensor = Out::required(tensor, "tensor")?;
        let meta = tensor_meta::read(meta)?;
        let source = handle::get::<TensorRecord>(source)?.tensor.clone();
        tensor.set_handle(TensorRecord::new(Arc::new(source.with_meta(meta)?)))
    })
}

fn read<T>(tensor: *const fxir_tensor, none: T, get: impl FnOnce(&TensorRecord) -> Outcome<T>) -> T {
    boundary::value(none, || get(&*handle::get::<TensorRecord>(tensor)?))
}

/// The element type, one of FXIR_DTYPE_*; FXIR_DTYPE_NONE when `tensor` is none.
#[no_mangle]
pub extern "C" fn fxir_tensor_dtype(tensor: *const fxir_tensor) -> i32 {
    read(tensor, 0, |record| Ok(super::dtype::number(record.tensor.dtype())))
}

/// How many dimensions; 0 when `tensor` is none.
#[no_mangle]
pub extern "C" fn fxir_tensor_rank(tensor: *const fxir_tensor) -> usize {
    read(tensor, 0, |record| Ok(record.tensor.meta().shape.len()))
}

/// The sizes, `fxir_tensor_rank` of them; -1 stands for one that is symbolic. They live until the
/// tensor is freed; NULL when there are none.
#[no_mangle]
pub extern "C" fn fxir_tensor_shape(tensor: *const fxir_tensor) -> *const i64 {
    read(tensor, null(), |record| Ok(meta(record)?.shape))
}

/// The strides by which the bytes lie, in elements, `fxir_tensor_rank` of them. They live until the
/// tensor is freed; NULL for a tensor without bytes. What torch recorded may differ: that is
/// `fxir_tensor_meta_of(tensor)->stride`.
#[no_mangle]
pub extern "C" fn fxir_tensor_strides(tensor: *const fxir_tensor) -> *const i64 {
    read(tensor, null(), |record| Ok(record.tensor.strides().map_or(null(), <[i64]>::as_ptr)))
}

/// The first byte. The bytes live until the tensor is freed, or longer; they may be aligned for no
/// type. NULL for a tensor without bytes.
#[no_mangle]
pub extern "C" fn fxir_tensor_data(tensor: *const fxir_tensor) -> *const c_void {
    read(tensor, null(), |record| Ok(record.tensor.data().map_or(null(), |data| data.as_ptr().cast())))
}

/// How many bytes from the first element's to the last one's; 0 for a tensor without bytes.
#[no_mangle]
pub extern "C" fn fxir_tensor_size(tensor: *const fxir_tensor) -> usize {
    read(tensor, 0, |record| Ok(record.tensor.data().map_or(0, <[u8]>::len)))
}

/// 1 when the bytes lie row-major without gaps, else 0.
#[no_mangle]
pub extern "C" fn fxir_tensor_is_contiguous(tensor: *const fxir_tensor) -> i32 {
    read(tensor, 0, |record| Ok(i32::from(record.tensor.is_contiguous())))
}

/// All metadata. Lives until the tensor is freed; NULL when `tensor` is none.
#[no_mangle]
pub extern "C" fn fxir_tensor_meta_of(tensor: *const fxir_tensor) -> *const fxir_tensor_meta {
    read(tensor, null(), |record| meta(record).map(|meta| &raw const *meta))
}

fn meta(record: &TensorRecord) -> Outcome<&fxir_tensor_meta> {
    if let Some(meta) = record.meta.get() {
        return Ok(meta.meta());
    }
    let made = MetaRecord::new(record.tensor.meta())?;
    Ok(record.meta.get_or_init(|| made).meta())
}

/// 1 when the two tensors use memory in common (tied weights, overlapping views), else 0.
#[no_mangle]
pub extern "C" fn fxir_tensor_shares_storage(a: *const fxir_tensor, b: *const fxir_tensor) -> i32 {
    read(a, 0, |a| Ok(i32::from(a.tensor.shares_storage_with(&handle::get::<TensorRecord>(b)?.tensor))))
}

/// Frees a handle of a tensor. The bytes go with their last user. NULL and a dead handle do nothing.
#[no_mangle]
pub extern "C" fn fxir_tensor_free(tensor: *mut fxir_tensor) {
    boundary::value((), || handle::free::<TensorRecord>(tensor));
}
