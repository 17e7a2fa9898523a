//! DLPack: tensors handed to other libraries, and taken from them, without a copy.
//!
//! The structs are those of DLPack 1.1. Their names are its own, so that a program may include
//! dlpack.h beside fxir.h.

use super::boundary;
use super::dtype;
use super::error::{fxir_error, Failure, Outcome};
use super::handle;
use super::input::{self, Out};
use super::release;
use super::status::*;
use super::tensor::{fxir_tensor, plain_meta, TensorRecord};
use crate::ir::tensor::{Storage, StorageBytes};
use crate::ir::tensor_meta::{contiguous_strides, nbytes};
use crate::ir::{Dim, Dtype, Tensor};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// DLPack's, without a version: what `torch.utils.dlpack` has long taken.
#[repr(C)]
pub struct DLManagedTensor {
    dl_tensor: DLTensor,
    manager_ctx: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// DLPack's since version 1.0.
#[repr(C)]
pub struct DLManagedTensorVersioned {
    version: DLPackVersion,
    manager_ctx: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    flags: u64,
    dl_tensor: DLTensor,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct DLPackVersion {
    major: u32,
    minor: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct DLTensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// What this library writes; it reads whatever has the same major number.
const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 1 };

const CPU: i32 = 1;
/// Memory of the host that a GPU can read too: CUDA's, ROCm's.
const HOST: [i32; 3] = [CPU, 3, 11];

const READ_ONLY: u64 = 1;

/// DLPack's code, bits and lanes of an element.
const TYPES: [(Dtype, u8, u8, u16); 22] = [
    (Dtype::Int8, 0, 8, 1),
    (Dtype::Int16, 0, 16, 1),
    (Dtype::Int32, 0, 32, 1),
    (Dtype::Int64, 0, 64, 1),
    (Dtype::Uint8, 1, 8, 1),
    (Dtype::Uint16, 1, 16, 1),
    (Dtype::Uint32, 1, 32, 1),
    (Dtype::Uint64, 1, 64, 1),
    (Dtype::Float16, 2, 16, 1),
    (Dtype::Float32, 2, 32, 1),
    (Dtype::Float64, 2, 64, 1),
    (Dtype::Bfloat16, 4, 16, 1),
    (Dtype::Complex32, 5, 32, 1),
    (Dtype::Complex64, 5, 64, 1),
    (Dtype::Complex128, 5, 128, 1),
    (Dtype::Bool, 6, 8, 1),
    (Dtype::Float8E4m3fn, 10, 8, 1),
    (Dtype::Float8E4m3fnuz, 11, 8, 1),
    (Dtype::Float8E5m2, 12, 8, 1),
    (Dtype::Float8E5m2fnuz, 13, 8, 1),
    (Dtype::Float8E8m0fnu, 14, 8, 1),
    (Dtype::Float4E2m1fnX2, 17, 4, 2),
];

/// What keeps a tensor alive that was handed out, and the arrays that it points to.
struct Lent<T> {
    managed: T,
    shape: Vec<i64>,
    strides: Vec<i64>,
    _tensor: Arc<Tensor>,
}

/// The `DLTensor` of a tensor; the arrays are set once they have their place.
fn lend(tensor: &Tensor) -> Outcome<(DLTensor, Vec<i64>, Vec<i64>)> {
    let (Some(data), Some(sizes), Some(strides)) = (tensor.data(), tensor.sizes(), tensor.strides()) else {
        return Err(Failure::new(FXIR_INVALID_ARGUMENT, "a tensor without bytes cannot be handed out"));
    };
    let dtype = tensor.dtype();
    let found = TYPES.iter().find(|(known, ..)| *known == dtype);
    let &(_, code, bits, lanes) = found.ok_or_else(|| {
        let message = format!("DLPack has no element type for {dtype}: see fxir_tensor_with_meta for its integers");
        Failure::new(FXIR_UNSUPPORTED, message)
    })?;
    let dl_tensor = DLTensor {
        data: data.as_ptr().cast_mut().cast(),
        device_type: CPU,
        device_id: 0,
        ndim: sizes.len() as i32,
        code,
        bits,
        lanes,
        shape: std::ptr::null_mut(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    };
    Ok((dl_tensor, sizes.to_vec(), strides.to_vec()))
}

impl<T> Lent<T> {
    /// Lets go of itself until a deleter takes it back; `place` finds the parts to fill in.
    fn hand_out(self, place: impl FnOnce(&mut T) -> (&mut DLTensor, &mut *mut c_void)) -> *mut T {
        let lent = Box::leak(Box::new(self));
        let this: *mut c_void = std::ptr::from_mut(lent).cast();
        let (dl_tensor, context) = place(&mut lent.managed);
        dl_tensor.shape = lent.shape.as_mut_ptr();
        dl_tensor.strides = lent.strides.as_mut_ptr();
        *context = this;
        &raw mut lent.managed
    }
}

unsafe extern "C" fn delete(managed: *mut DLManagedTensor) {
    boundary::value((), || {
        // SAFETY: by DLPack's contract what was handed out, once. It was leaked there.
        drop(unsafe { Box::from_raw((*managed).manager_ctx.cast::<Lent<DLManagedTensor>>()) });
        Ok(())
    });
}

unsafe extern "C" fn delete_versioned(managed: *mut DLManagedTensorVersioned) {
    boundary::value((), || {
        // SAFETY: as above.
        drop(unsafe { Box::from_raw((*managed).manager_ctx.cast::<Lent<DLManagedTensorVersioned>>()) });
        Ok(())
    });
}

/// Hands a tensor out as DLPack has it, flagged as read only: its bytes are shared, and live until the
/// receiver calls `deleter` on `*managed`, on whatever thread. The tensor may be freed before.
///
/// Statuses: FXIR_INVALID_ARGUMENT (a tensor without bytes), FXIR_UNSUPPORTED (DLPack has no such
/// element type, quantized ones for instance). torch: `Tensor.__dlpack__(max_version=(1, 1))`.
#[no_mangle]
pub unsafe extern "C" fn fxir_tensor_to_dlpack(
    tensor: *const fxir_tensor,
    managed: *mut *mut DLManagedTensorVersioned,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let out = Out::required(managed, "managed")?;
        let tensor = handle::get::<TensorRecord>(tensor)?.tensor().clone();
        let (dl_tensor, shape, strides) = lend(&tensor)?;
        let managed = DLManagedTensorVersioned {
            version: VERSION,
            manager_ctx: std::ptr::null_mut(),
            deleter: Some(delete_versioned),
            flags: READ_ONLY,
            dl_tensor,
        };
        let lent = Lent { managed, shape, strides, _tensor: tensor };
        out.set(lent.hand_out(|managed| (&mut managed.dl_tensor, &mut managed.manager_ctx)));
        Ok(())
    })
}

/// The same in DLPack's form without a version, which cannot say that the bytes are read only: whoever
/// receives it must not write.
///
/// Statuses: those of `fxir_tensor_to_dlpack`. torch: `torch.utils.dlpack.to_dlpack`.
#[no_mangle]
pub unsafe extern "C" fn fxir_tensor_to_dlpack_unversioned(
    tensor: *const fxir_tensor,
    managed: *mut *mut DLManagedTensor,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let out = Out::required(managed, "managed")?;
        let tensor = handle::get::<TensorRecord>(tensor)?.tensor().clone();
        let (dl_tensor, shape, strides) = lend(&tensor)?;
        let managed = DLManagedTensor { dl_tensor, manager_ctx: std::ptr::null_mut(), deleter: Some(delete) };
        let lent = Lent { managed, shape, strides, _tensor: tensor };
        out.set(lent.hand_out(|managed| (&mut managed.dl_tensor, &mut managed.manager_ctx)));
        Ok(())
    })
}

/// Memory that came by DLPack, given back by its deleter.
struct Received<T: 'static> {
    data: *const u8,
    length: usize,
    managed: *mut T,
    deleter: Option<unsafe extern "C" fn(*mut T)>,
    /// The call that takes it has succeeded: from here on it is ours to give back.
    is_ours: AtomicBool,
}

// SAFETY: by DLPack's contract the memory may be read, and given back, on any thread.
unsafe impl<T: 'static> Send for Received<T> {}
// SAFETY: as above.
unsafe impl<T: 'static> Sync for Received<T> {}

impl<T: 'static> StorageBytes for Received<T> {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the producer's promise; checked for NULL and size when it was taken.
        unsafe { input::slice(self.data, self.length, "data") }.unwrap_or(&[])
    }
}

impl<T: 'static> Drop for Received<T> {
    fn drop(&mut self) {
        if let (Some(deleter), true) = (self.deleter, *self.is_ours.get_mut()) {
            let managed = self.managed;
            // SAFETY: the producer's promise.
            release::run_unlocked(move || unsafe { deleter(managed) });
        }
    }
}

/// Makes a tensor of what came by DLPack.
unsafe fn receive<T: 'static>(
    managed: *mut T,
    deleter: Option<unsafe extern "C" fn(*mut T)>,
    given: &DLTensor,
    out: Out<*mut fxir_tensor>,
) -> Outcome<()> {
    let invalid = |message: String| Failure::new(FXIR_INVALID_ARGUMENT, message);
    if !HOST.contains(&given.device_type) {
        let message =
            format!("the tensor is on a device of type {}: only memory of the host can be read", given.device_type);
        return Err(Failure::new(FXIR_UNSUPPORTED, message));
    }
    let found =
        TYPES.iter().find(|(_, code, bits, lanes)| (*code, *bits, *lanes) == (given.code, given.bits, given.lanes));
    let &(dtype, ..) = found.ok_or_else(|| {
        let message =
            format!("torch has no element of DLPack's code {}, {} bits, {} lanes", given.code, given.bits, given.lanes);
        Failure::new(FXIR_UNSUPPORTED, message)
    })?;
    let rank = usize::try_from(given.ndim).map_err(|_| invalid(format!("{} dimensions", given.ndim)))?;
    // SAFETY: the producer's promise.
    let mut meta = unsafe { plain_meta(dtype::number(dtype), given.shape, rank) }?;
    // SAFETY: as above.
    let sizes = unsafe { input::slice(given.shape, rank, "dl_tensor.shape") }?;
    let strides = match given.strides.is_null() {
        true => contiguous_strides(sizes)?.to_vec(),
        // SAFETY: the producer's promise.
        false => unsafe { input::slice(given.strides, rank, "dl_tensor.strides") }?.to_vec(),
    };
    let length = reach(dtype, sizes, &strides).ok_or_else(|| invalid("a stride is negative, or too large".into()))?;
    let offset = usize::try_from(given.byte_offset).map_err(|_| invalid("the offset is too large".into()))?;
    let data = given.data.cast::<u8>().cast_const();
    if data.is_null() && length > 0 {
        return Err(invalid("the data are NULL".into()));
    }
    let length = match length {
        0 => 0,
        length => offset.checked_add(length).ok_or_else(|| invalid("the offset is too large".into()))?,
    };
    let offset = offset.min(length);
    meta.stride = Some(strides.iter().map(|&stride| Dim::Int(stride)).collect());
    let storage = Arc::new(Received { data, length, managed, deleter, is_ours: AtomicBool::new(false) });
    let shared: Arc<Storage> = storage.clone();
    let tensor = Tensor::strided(meta, shared, offset, &strides)?;
    out.set_handle(TensorRecord::new(Arc::new(tensor)))?;
    storage.is_ours.store(true, Ordering::Relaxed);
    Ok(())
}

/// How many bytes there are from the first element to the end of the last.
fn reach(dtype: Dtype, sizes: &[i64], strides: &[i64]) -> Option<usize> {
    if nbytes(dtype, sizes).ok()? == 0 {
        return Some(0);
    }
    let last = sizes.iter().zip(strides).try_fold(0i64, |last, (size, stride)| {
        let steps = (size - 1).checked_mul(*stride).filter(|_| *stride >= 0)?;
        last.checked_add(steps)
    })?;
    usize::try_from(last).ok()?.checked_add(1)?.checked_mul(dtype.element_size())
}

/// Takes a tensor that another library hands out: no byte is copied, and they must not change any more.
/// `deleter` is called on `managed` once, after the last tensor that uses the bytes is gone, with no lock
/// held, on whatever thread that is. A call that fails leaves `managed` to the caller. The caller frees
/// `*tensor`.
///
/// Statuses: FXIR_INVALID_ARGUMENT (sizes, strides or data that cannot be), FXIR_UNSUPPORTED (memory of
/// a device, an element type that torch does not have, another major version), FXIR_LIMIT (more than 64
/// dimensions). torch: `torch.from_dlpack`.
#[no_mangle]
pub unsafe extern "C" fn fxir_tensor_from_dlpack(
    managed: *mut DLManagedTensorVersioned,
    tensor: *mut *mut fxir_tensor,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let out = Out::required(tensor, "tensor")?;
        // Of another version nothing but the version may be read.
        let version = *input::required(managed.cast::<DLPackVersion>().cast_const(), "managed")?;
        if version.major != VERSION.major {
            let message = format!("DLPack {}.{} is not read, but {}.x", version.major, version.minor, VERSION.major);
            return Err(Failure::new(FXIR_UNSUPPORTED, message));
        }
        let given = input::required(managed.cast_const(), "managed")?;
        receive(managed, given.deleter, &given.dl_tensor, out)
    })
}

/// The same from DLPack's form without a version.
///
/// Statuses: those of `fxir_tensor_from_dlpack`. torch: `torch.utils.dlpack.from_dlpack`.
#[no_mangle]
pub unsafe extern "C" fn fxir_tensor_from_dlpack_unversioned(
    managed: *mut DLManagedTensor,
    tensor: *mut *mut fxir_tensor,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let out = Out::required(tensor, "tensor")?;
        let given = input::required(managed.cast_const(), "managed")?;
        receive(managed, given.deleter, &given.dl_tensor, out)
    })
}
