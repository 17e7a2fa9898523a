//! Sets of named tensors, and safetensors files: `fxir_weights`.

use super::boundary;
use super::error::{fxir_error, Failure, Outcome};
use super::handle::{self, Handle};
use super::input::{self, Out};
use super::status::*;
use super::stream::{fxir_write, CallbackWriter};
use super::tensor::{fxir_release, fxir_tensor, Borrowed, TensorRecord};
use crate::formats::weights;
use crate::ir::error::counted;
use crate::ir::Tensor;
use indexmap::IndexMap;
use parking_lot::RwLock;
use std::ffi::{c_char, c_void, CString};
use std::ptr::null;
use std::sync::Arc;

/// Tensors by name, in an order: what a safetensors file holds, or what a call gives out. Any thread
/// may use it. Freed with `fxir_weights_free`; the tensors share their bytes and outlive it.
pub struct fxir_weights;

/// Names only ever come to it, so that their texts stay where they are.
pub(super) struct WeightsRecord(RwLock<IndexMap<CString, Arc<Tensor>>>);

impl Handle for WeightsRecord {
    type C = fxir_weights;
    const WHAT: &'static str = "set of weights";
}

impl WeightsRecord {
    pub(super) fn new<'a>(tensors: impl IntoIterator<Item = (&'a str, Arc<Tensor>)>) -> Outcome<WeightsRecord> {
        let named = |(name, tensor): (&str, _)| Ok((self::name(name)?, tensor));
        Ok(WeightsRecord(RwLock::new(tensors.into_iter().map(named).collect::<Outcome<_>>()?)))
    }

    /// The tensors by name, as they are now.
    pub(super) fn tensors(&self) -> Vec<(String, Arc<Tensor>)> {
        let tensors = self.0.read();
        tensors.iter().map(|(name, tensor)| (name.to_string_lossy().into_owned(), tensor.clone())).collect()
    }
}

fn name(name: &str) -> Outcome<CString> {
    CString::new(name).map_err(|_| Failure::new(FXIR_PARSE, format!("the name of a tensor holds a NUL: {name:?}")))
}

fn of_file(read: weights::Weights) -> Outcome<WeightsRecord> {
    WeightsRecord::new(read.iter().map(|(name, tensor)| (&**name, tensor.clone())))
}

/// An empty set. The caller frees `*weights`.
#[no_mangle]
pub unsafe extern "C" fn fxir_weights_new(weights: *mut *mut fxir_weights, error: *mut *mut fxir_error) -> fxir_status {
    boundary::status(error, || Out::required(weights, "weights")?.set_handle(WeightsRecord::new([])?))
}

/// Opens a safetensors file by a memory map, or, where the path ends in `.json`, an index
/// (`model.safetensors.index.json`) and all the files that it names: no byte of a tensor is read or
/// copied. The files must not be shortened or written into while their tensors live; replacing them by
/// a rename is fine. Tensors that the file says are one share their bytes. The caller frees `*weights`.
///
/// Statuses: FXIR_IO, FXIR_PARSE (not a safetensors file, a tensor that leaves the file, a hole, a
/// name twice; an index that names a file elsewhere, or a tensor that its file lacks), FXIR_UNSUPPORTED
/// (a dtype that torch does not have), FXIR_INVALID_UTF8.
#[no_mangle]
pub unsafe extern "C" fn fxir_weights_open(
    path: *const c_char,
    weights: *mut *mut fxir_weights,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let out = Out::required(weights, "weights")?;
        out.set_handle(of_file(weights::open(input::text(path, "path")?)?)?)
    })
}

/// Reads a safetensors file that is in memory and stays the caller's: the tensors share it, and
/// `release`, which may be NULL, is called with `user_data` after the last of them is gone. The
/// caller frees `*weights`.
///
/// Statuses: FXIR_PARSE, FXIR_UNSUPPORTED.
#[no_mangle]
pub unsafe extern "C" fn fxir_weights_borrow(
    data: *const c_void,
    length: usize,
    release: fxir_release,
    user_data: *mut c_void,
    weights: *mut *mut fxir_weights,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let out = Out::required(weights, "weights")?;
        input::bytes(data.cast(), length, "data")?;
        let storage = Arc::new(Borrowed::new(data, length, release, user_data));
        let record = of_file(weights::from_bytes(storage.clone())?)?;
        out.set_handle(record)?;
        storage.now_ours();
        Ok(())
    })
}

/// Adds a tensor under a name, or puts it in the place of the one that has it. The bytes are shared,
/// the caller keeps its handle.
///
/// Statuses: FXIR_INVALID_UTF8.
#[no_mangle]
pub unsafe extern "C" fn fxir_weights_set(
    weights: *mut fxir_weights,
    name: *const c_char,
    tensor: *const fxir_tensor,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let name = self::name(input::text(name, "name")?)?;
        let tensor = handle::get::<TensorRecord>(tensor)?.tensor().clone();
        let record = handle::get::<WeightsRecord>(weights)?;
        let mut tensors = record.0.write();
        match tensors.get_mut(&name) {
            Some(place) => *place = tensor,
            None => {
                tensors.insert(name, tensor);
            }
        }
        Ok(())
    })
}

fn read<T>(weights: *const fxir_weights, none: T, get: impl FnOnce(&IndexMap<CString, Arc<Tensor>>) -> T) -> T {
    boundary::value(none, || Ok(get(&handle::get::<WeightsRecord>(weights)?.0.read())))
}

/// How many tensors; 0 when `weights` is none.
#[no_mangle]
pub extern "C" fn fxir_weights_count(weights: *const fxir_weights) -> usize {
    read(weights, 0, IndexMap::len)
}

/// The name of the tensor at `index`. The text lives until the set is freed; NULL when there is none.
#[no_mangle]
pub extern "C" fn fxir_weights_name(weights: *const fxir_weights, index: usize) -> *const c_char {
    read(weights, null(), |tensors| tensors.get_index(index).map_or(null(), |(name, _)| name.as_ptr()))
}

/// The tensor at `index`. The caller frees it with `fxir_tensor_free`.
///
/// Statuses: FXIR_OUT_OF_RANGE.
#[no_mangle]
pub unsafe extern "C" fn fxir_weights_tensor(
    weights: *const fxir_weights,
    index: usize,
    tensor: *mut *mut fxir_tensor,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let out = Out::required(tensor, "tensor")?;
        let record = handle::get::<WeightsRecord>(weights)?;
        let (count, found) = {
            let tensors = record.0.read();
            (tensors.len(), tensors.get_index(index).map(|(_, tensor)| tensor.clone()))
        };
        let found = found.ok_or_else(|| {
            Failure::new(FXIR_OUT_OF_RANGE, format!("of {} none is at {index}", counted(count, "tensor")))
        })?;
        out.set_handle(TensorRecord::new(found))
    })
}

/// The tensor of that name. The caller frees it with `fxir_tensor_free`.
///
/// Statuses: FXIR_NOT_FOUND, FXIR_INVALID_UTF8.
#[no_mangle]
pub unsafe extern "C" fn fxir_weights_get(
    weights: *const fxir_weights,
    name: *const c_char,
    tensor: *mut *mut fxir_tensor,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let out = Out::required(tensor, "tensor")?;
        let name = self::name(input::text(name, "name")?)?;
        let found = handle::get::<WeightsRecord>(weights)?.0.read().get(&name).cloned();
        let found = found.ok_or_else(|| Failure::new(FXIR_NOT_FOUND, format!("there is no tensor {name:?}")))?;
        out.set_handle(TensorRecord::new(found))
    })
}

/// Writes a safetensors file: beside its target and then renamed over it, so that a failure leaves
/// what was there. Quantized tensors are written as their integers, tensors that lie otherwise
/// row-major. One tensor under several names is written once, and the header's metadata notes the other
/// names; a dtype that the format lacks (complex128, the sub-byte quantized ones) is noted there too, and
/// its bytes are stored as uint8. `fxir_weights_open` gives all of them back.
///
/// Statuses: FXIR_IO, FXIR_INVALID_ARGUMENT (a tensor without bytes), FXIR_LIMIT, FXIR_INVALID_UTF8.
#[no_mangle]
pub unsafe extern "C" fn fxir_weights_write(
    weights: *const fxir_weights,
    path: *const c_char,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let path = input::text(path, "path")?;
        let tensors = handle::get::<WeightsRecord>(weights)?.tensors();
        Ok(weights::write(path, tensors.iter().map(|(name, tensor)| (name.as_str(), &**tensor)))?)
    })
}

/// Writes several safetensors files of at most `max_shard_size` bytes of tensors each, a larger tensor
/// into one of its own, and the index that says which tensor is where, as Hugging Face lays them. `path`
/// is the index and ends in `.safetensors.index.json`; the files stand beside it:
/// `model.safetensors.index.json` has `model-00001-of-00002.safetensors` and so on. All are written
/// beside their targets first and renamed when every one is whole, the index last.
///
/// Statuses: those of `fxir_weights_write`; FXIR_INVALID_ARGUMENT (another kind of path) too.
#[no_mangle]
pub unsafe extern "C" fn fxir_weights_write_sharded(
    weights: *const fxir_weights,
    path: *const c_char,
    max_shard_size: u64,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let path = input::text(path, "path")?;
        let tensors = handle::get::<WeightsRecord>(weights)?.tensors();
        let tensors = tensors.iter().map(|(name, tensor)| (name.as_str(), &**tensor));
        Ok(weights::write_sharded(path, tensors, max_shard_size)?)
    })
}

/// Writes the same bytes as `fxir_weights_write` to a callback, piece by piece.
///
/// Statuses: FXIR_CALLBACK, and those of `fxir_weights_write` but FXIR_IO.
#[no_mangle]
pub unsafe extern "C" fn fxir_weights_write_to(
    weights: *const fxir_weights,
    write: fxir_write,
    user_data: *mut c_void,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let mut writer = CallbackWriter::new(write, user_data)?;
        let tensors = handle::get::<WeightsRecord>(weights)?.tensors();
        let tensors = tensors.iter().map(|(name, tensor)| (name.as_str(), &**tensor));
        let result = weights::write_to(&mut writer, tensors).map_err(Into::into);
        writer.finish(result)
    })
}

/// Frees a set. The bytes of its tensors go with their last user. NULL and a dead handle do nothing.
#[no_mangle]
pub extern "C" fn fxir_weights_free(weights: *mut fxir_weights) {
    boundary::value((), || handle::free::<WeightsRecord>(weights));
}
