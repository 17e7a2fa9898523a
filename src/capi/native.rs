//! The native form: a module and all that it holds in one file.

use super::boundary;
use super::buffer::{fxir_buffer, Buffer};
use super::error::fxir_error;
use super::input::{self, Out};
use super::module::fxir_module;
use super::module_handle::{self, ModuleHandle};
use super::status::*;
use super::stream::{fxir_write, CallbackWriter};
use super::tensor::{fxir_release, Borrowed};
use crate::formats::native;
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// Saves a module with all below it into one file, from which `fxir_module_load` makes the same again:
/// nodes with their names, arguments, metadata and the order of their users, members with their
/// tensors and what these share, and which names are given next. The file is a safetensors file; the
/// format is docs/native-format.md. It is written beside its target and then renamed over it, so that a
/// call that fails leaves what was there, and a module can be saved to the file that it was loaded
/// from.
///
/// Tensors are written as they lie, without a copy. What was not known stays so: a graph that lint
/// would refuse is saved as it is.
///
/// Statuses: FXIR_IO, FXIR_INVALID_UTF8, FXIR_LIMIT (what a node yields nests deeper than 64 levels, a
/// quantization deeper than 4), FXIR_INVALID_ARGUMENT (borrowed memory has shrunk). torch.fx: none;
/// torch pickles a `GraphModule`.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_save(
    module: *const fxir_module,
    path: *const c_char,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let path = input::text(path, "path")?;
        let module = module_handle::module(module)?;
        Ok(native::save(path, &*module.snapshot()?, module.id())?)
    })
}

/// `fxir_module_save` to memory. The caller frees `*bytes`, which `fxir_buffer_size` tells the length
/// of: they are no text.
///
/// Statuses: as `fxir_module_save`, but for those of files.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_save_to_buffer(
    module: *const fxir_module,
    bytes: *mut *mut fxir_buffer,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let bytes = Out::required(bytes, "bytes")?;
        let module = module_handle::module(module)?;
        let written = native::to_bytes(&*module.snapshot()?, module.id())?;
        bytes.set_handle(Buffer::new(written))
    })
}

/// `fxir_module_save` to a callback, piece by piece, with no lock held. Everything is checked before
/// the first piece.
///
/// Statuses: FXIR_CALLBACK, and as `fxir_module_save`, but for those of files.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_save_to(
    module: *const fxir_module,
    write: fxir_write,
    user_data: *mut c_void,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let mut writer = CallbackWriter::new(write, user_data)?;
        let module = module_handle::module(module)?;
        let tree = module.snapshot()?;
        let written = native::write_to(&mut writer, &tree, module.id()).map_err(Into::into);
        writer.finish(written)
    })
}

/// Loads a module that `fxir_module_save` wrote. The file is mapped: no byte of a tensor is read or
/// copied. It must not be shortened or written into while its tensors live; replacing it by a rename is
/// fine. The caller frees `*module`.
///
/// Every file that a version of this library wrote is read by it and by newer ones; by older ones as
/// long as it holds nothing that they don't know.
///
/// Statuses: FXIR_IO, FXIR_PARSE (not such a file, or a broken one; with the line and column in its
/// document where there is a place), FXIR_UNSUPPORTED (a newer version wrote it; the message says what
/// is not known), FXIR_LIMIT (nested too deep), FXIR_INVALID_UTF8. torch.fx: none.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_load(
    path: *const c_char,
    module: *mut *mut fxir_module,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let out = Out::required(module, "module")?;
        out.set_handle(ModuleHandle::root_of(native::open(input::text(path, "path")?)?))
    })
}

/// `fxir_module_load` from `length` bytes at `data`, which stay the caller's: the tensors share them,
/// and `release`, which may be NULL, is called with `user_data` and `data` after the last of them is
/// gone, on whatever thread that is. A call that fails calls it not. The caller frees `*module`.
///
/// Statuses: as `fxir_module_load`, but for those of files.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_load_borrowed(
    data: *const c_void,
    length: usize,
    release: fxir_release,
    user_data: *mut c_void,
    module: *mut *mut fxir_module,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let out = Out::required(module, "module")?;
        input::bytes(data.cast(), length, "data")?;
        let storage = Arc::new(Borrowed::new(data, length, release, user_data));
        let tree = native::from_bytes(storage.clone())?;
        // Given back only once this call has succeeded, even if the module has no tensor.
        out.set_handle(ModuleHandle::root_of(tree))?;
        storage.now_ours();
        Ok(())
    })
}
