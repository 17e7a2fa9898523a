//! The JSON of torch's `serialize_module`, with its weights: read and written.

use super::boundary;
use super::buffer::{fxir_buffer, Buffer};
use super::error::{fxir_error, Failure, Outcome};
use super::handle;
use super::input::{self, Out};
use super::module::fxir_module;
use super::module_handle::{self, ModuleHandle};
use super::serialize_options::{fxir_serialize_options, read_options};
use super::status::*;
use super::stream::{fxir_write, CallbackWriter};
use super::weights::{fxir_weights, WeightsRecord};
use crate::formats::json::{self, WeightMap};
use crate::formats::replace_file::replace_file;
use crate::formats::weights::{self, Weights};
use crate::ir::{Error, ErrorKind};
use std::ffi::{c_char, c_void};
use std::io;
use std::path::Path;

/// Loads a network that torch's `serialize_module` (torch 1.8 to 1.12) or `fxir_module_save_json` wrote:
/// the JSON file, and the safetensors file with its weights, which is mapped, so that no weight is
/// read or copied. The weights file must not be shortened or written into while its tensors live;
/// replacing it by a rename is fine. `weights_path` may be NULL: then the tensors have metadata only.
/// The caller frees `*module`.
///
/// Statuses: FXIR_IO, FXIR_PARSE (with the line and column, or the name of the tensor that the weights
/// don't have), FXIR_LIMIT (nested too deep), FXIR_INVALID_UTF8, FXIR_UNSUPPORTED.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_load_json(
    json_path: *const c_char,
    weights_path: *const c_char,
    module: *mut *mut fxir_module,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let module = Out::required(module, "module")?;
        let path = input::text(json_path, "json_path")?;
        let weights = input::optional_text(weights_path, "weights_path")?.map(weights::open).transpose()?;
        let text = std::fs::read(path).map_err(|error| Failure::new(FXIR_IO, format!("{path}: {error}")))?;
        let tree = json::read(&text, weights.as_ref()).map_err(|mut error| {
            error.message = format!("{path}: {}", error.message);
            error
        })?;
        module.set_handle(ModuleHandle::root_of(tree))
    })
}

/// Reads such a JSON that is in memory, `length` bytes at `json`. `weights`, which may be NULL, holds
/// its tensors, whose bytes are shared. The caller frees `*module`.
///
/// Statuses: FXIR_PARSE (with the line and column, or the name of the tensor that the weights don't
/// have), FXIR_LIMIT (nested too deep), FXIR_UNSUPPORTED.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_read_json(
    json: *const c_char,
    length: usize,
    weights: *const fxir_weights,
    module: *mut *mut fxir_module,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let module = Out::required(module, "module")?;
        let text = input::bytes(json.cast(), length, "json")?;
        let weights: Option<Weights> = match weights.is_null() {
            true => None,
            false => {
                let tensors = handle::get::<WeightsRecord>(weights)?.tensors();
                Some(tensors.into_iter().map(|(name, tensor)| (name.into(), tensor)).collect())
            }
        };
        module.set_handle(ModuleHandle::root_of(json::read(text, weights.as_ref())?))
    })
}

/// Serializes a module as torch's `serialize_module` does, in the form of torch 1.12 or of a release
/// before it (`options.schema`): the JSON, and the tensors that it names, in the order in which torch's
/// serializer finds them. `weights` may be NULL. The caller frees both; the tensors share their bytes
/// with the module. Scales and zero points of a tensor that is quantized by channel become tensors of
/// their own, of float32 and int32, as torch makes them. What JSON cannot hold (a slice, a device, inf)
/// becomes an object with a key `__py__`, which reads back as it was.
///
/// Statuses: FXIR_INVALID_ARGUMENT (metadata of a node is missing, and `fxir_error_node` says of which;
/// two tensors get one name; a number in the options is none that it can be), FXIR_UNSUPPORTED (a
/// get_attr reads what is no tensor; a leaf of a type without a list, with `strict_lowering`; newer
/// options), FXIR_NOT_FOUND (a node names what is no member). torch.fx: `serialize_module`.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_serialize(
    module: *const fxir_module,
    options: *const fxir_serialize_options,
    json: *mut *mut fxir_buffer,
    weights: *mut *mut fxir_weights,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let (json, weights) = (Out::required(json, "json")?, Out::optional(weights));
        let options = read_options(options)?;
        let module = module_handle::module(module)?;
        let made = json::serialize(&*module.snapshot()?, module.id(), &options)?;
        let record = record(&made.weights)?;
        let buffer = handle::create(Buffer::new(made.json))?;
        if let Err(failure) = weights.set_handle(record) {
            handle::free::<Buffer>(buffer)?;
            return Err(failure);
        }
        json.set(buffer);
        Ok(())
    })
}

/// Serializes a module to a callback, piece by piece; else as `fxir_module_serialize`. Everything is
/// checked before the first piece.
///
/// Statuses: FXIR_CALLBACK, and those of `fxir_module_serialize`.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_serialize_to(
    module: *const fxir_module,
    options: *const fxir_serialize_options,
    write: fxir_write,
    user_data: *mut c_void,
    weights: *mut *mut fxir_weights,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let weights = Out::optional(weights);
        let mut writer = CallbackWriter::new(write, user_data)?;
        let options = read_options(options)?;
        let module = module_handle::module(module)?;
        let made = json::write(&*module.snapshot()?, module.id(), &options, &mut writer).map_err(Into::into);
        let made = writer.finish(made)?;
        weights.set_handle(record(&made)?)
    })
}

/// Serializes a module into two files: the JSON, and a safetensors file with its weights
/// (`weights_path` may be NULL to write none). Each is written beside its target and then renamed
/// over it, the JSON last, so that a call that fails leaves no half of a file; a module that was
/// loaded from these very files can be written back to them.
///
/// Statuses: FXIR_IO, FXIR_INVALID_UTF8, and those of `fxir_module_serialize` and
/// `fxir_weights_write`.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_save_json(
    module: *const fxir_module,
    json_path: *const c_char,
    weights_path: *const c_char,
    options: *const fxir_serialize_options,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let json_path = input::text(json_path, "json_path")?;
        let weights_path = input::optional_text(weights_path, "weights_path")?;
        let options = read_options(options)?;
        let module = module_handle::module(module)?;
        let tree = module.snapshot()?;
        // The first failure as it was: `replace_file` knows those of files only.
        let mut failure = None;
        let result = replace_file(Path::new(json_path), |file| {
            let both = json::write(&tree, module.id(), &options, file).and_then(|tensors| match weights_path {
                Some(path) => weights::write(path, tensors.iter().map(|(name, tensor)| (name.as_str(), &**tensor))),
                None => Ok(()),
            });
            both.map_err(|error| {
                let stopped = io::Error::other(error.message.clone());
                failure = Some(error);
                stopped
            })
        });
        match failure {
            Some(error) => Err(named(error, json_path).into()),
            None => Ok(result?),
        }
    })
}

/// A failure to write says where to.
fn named(mut error: Error, path: &str) -> Error {
    if error.kind == ErrorKind::Io {
        error.message = format!("{path}: {}", error.message);
    }
    error
}

fn record(weights: &WeightMap) -> Outcome<WeightsRecord> {
    WeightsRecord::new(weights.iter().map(|(name, tensor)| (name.as_str(), tensor.clone())))
}
