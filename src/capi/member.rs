//! Members of a module: submodules, tensors and settings, by dotted path.

use super::args::{fxir_args, ArgsRecord};
use super::argument::{fxir_arg, Reader};
use super::boundary;
use super::error::{fxir_error, Failure, Outcome};
use super::handle;
use super::input::{self, Out};
use super::module::fxir_module;
use super::module_handle::{read, write};
use super::node::fxir_node;
use super::status::*;
use super::tensor::{fxir_tensor, TensorRecord};
use crate::ir::{Attribute, Member, Module, ModuleId, ModuleTree, Op, Symbol, Tensor, TensorKind};
use std::ffi::c_char;
use std::ptr::null;
use std::sync::Arc;

/// There is no such member.
pub const FXIR_MEMBER_NONE: i32 = 0;
/// A submodule.
pub const FXIR_MEMBER_SUBMODULE: i32 = 1;
/// A tensor that is trained.
pub const FXIR_MEMBER_PARAMETER: i32 = 2;
/// A tensor of state that is not trained.
pub const FXIR_MEMBER_BUFFER: i32 = 3;
/// A tensor that is a plain attribute.
pub const FXIR_MEMBER_CONSTANT: i32 = 4;
/// A setting, such as "kernel_size".
pub const FXIR_MEMBER_VALUE: i32 = 5;

/// What a dotted path leads to: one of FXIR_MEMBER_*. At each step a submodule is looked for first,
/// then an attribute. FXIR_MEMBER_NONE when it leads nowhere.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_member_kind(module: *const fxir_module, path: *const c_char) -> i32 {
    boundary::value(FXIR_MEMBER_NONE, || {
        let path = input::text(path, "path")?;
        read(module, |tree, id| {
            Ok(match tree.resolve(id, path) {
                None => FXIR_MEMBER_NONE,
                Some(Member::Module(_)) => FXIR_MEMBER_SUBMODULE,
                Some(Member::Attribute(attribute)) => kind(attribute),
            })
        })
    })
}

fn kind(attribute: &Attribute) -> i32 {
    match attribute {
        Attribute::Tensor(TensorKind::Parameter, _) => FXIR_MEMBER_PARAMETER,
        Attribute::Tensor(TensorKind::Buffer, _) => FXIR_MEMBER_BUFFER,
        Attribute::Tensor(TensorKind::Constant, _) => FXIR_MEMBER_CONSTANT,
        Attribute::Value(_) => FXIR_MEMBER_VALUE,
    }
}

/// How many submodules the module itself has; 0 when the handle is dead. torch:
/// `Module.named_children`.
#[no_mangle]
pub extern "C" fn fxir_module_submodule_count(module: *const fxir_module) -> usize {
    boundary::value(0, || read(module, |tree, id| Ok(tree.get(id)?.submodules().len())))
}

/// The name of the submodule at `index`, in the order in which they came. The text lives until the
/// last handle into the tree is freed; NULL when there is none.
#[no_mangle]
pub extern "C" fn fxir_module_submodule_name(module: *const fxir_module, index: usize) -> *const c_char {
    name(module, |found| found.submodules().get_index(index).map(|(&name, _)| name))
}

/// How many attributes the module itself has, tensors and settings; 0 when the handle is dead.
#[no_mangle]
pub extern "C" fn fxir_module_attribute_count(module: *const fxir_module) -> usize {
    boundary::value(0, || read(module, |tree, id| Ok(tree.get(id)?.attributes().len())))
}

/// The name of the attribute at `index`, in the order in which they came. The text lives until the
/// last handle into the tree is freed; NULL when there is none.
#[no_mangle]
pub extern "C" fn fxir_module_attribute_name(module: *const fxir_module, index: usize) -> *const c_char {
    name(module, |found| found.attributes().get_index(index).map(|(&name, _)| name))
}

fn name(module: *const fxir_module, get: impl FnOnce(&Module) -> Option<Symbol>) -> *const c_char {
    boundary::value(null(), || {
        read(module, |tree, id| {
            let name = get(tree.get(id)?);
            Ok(name.map_or(null(), |name| tree.symbols().text_with_nul(name).as_ptr().cast()))
        })
    })
}

/// The tensor under a dotted path. The caller frees it with `fxir_tensor_free`; it shares its bytes
/// with the module.
///
/// Statuses: FXIR_NOT_FOUND (there is nothing, a submodule or a setting), FXIR_INVALID_UTF8. torch:
/// `Module.get_parameter`, `Module.get_buffer`.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_get_tensor(
    module: *const fxir_module,
    path: *const c_char,
    tensor: *mut *mut fxir_tensor,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let tensor = Out::required(tensor, "tensor")?;
        let path = input::text(path, "path")?;
        let found = read(module, |tree, id| tensor_at(tree, id, path))?;
        tensor.set_handle(TensorRecord::new(found))
    })
}

/// A tensor of what a node names: of the module that a call_module calls, the one under the dotted
/// path `attribute` ("weight", "bias"); of a get_attr, the one that it reads, `attribute` being NULL.
/// The caller frees it with `fxir_tensor_free`; it shares its bytes with the module.
///
/// Statuses: FXIR_STALE_NODE, FXIR_NOT_FOUND (there is nothing, a submodule or a setting),
/// FXIR_INVALID_ARGUMENT (the node is of another op), FXIR_INVALID_UTF8. torch.fx:
/// `getattr(gm.get_submodule(node.target), attribute)`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_get_tensor(
    module: *const fxir_module,
    node: fxir_node,
    attribute: *const c_char,
    tensor: *mut *mut fxir_tensor,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let tensor = Out::required(tensor, "tensor")?;
        let attribute = input::optional_text(attribute, "attribute")?;
        let node = input::node(node)?;
        let found = read(module, |tree, id| {
            let graph = tree.graph(id)?;
            let (op, target) = (graph.get(node)?.op(), graph.target(node));
            match (op, attribute) {
                (Op::GetAttr, None) => tensor_at(tree, id, target),
                (Op::CallModule, Some(attribute)) => tensor_at(tree, id, &format!("{target}.{attribute}")),
                (Op::CallModule, None) => Err(input::null("attribute")),
                _ => {
                    let message = format!("node {} ({}) has no such tensor", graph.name(node), op.name());
                    Err(Failure::new(FXIR_INVALID_ARGUMENT, message))
                }
            }
        })?;
        tensor.set_handle(TensorRecord::new(found))
    })
}

fn tensor_at(tree: &ModuleTree, module: ModuleId, path: &str) -> Outcome<Arc<Tensor>> {
    match tree.attribute(module, path)? {
        Attribute::Tensor(_, found) => Ok(found.clone()),
        Attribute::Value(_) => Err(Failure::new(FXIR_NOT_FOUND, format!("{path:?} is a setting, not a tensor"))),
    }
}

/// Sets a tensor under a dotted path: `kind` is FXIR_MEMBER_PARAMETER, FXIR_MEMBER_BUFFER or
/// FXIR_MEMBER_CONSTANT. The bytes are shared, not copied; the caller keeps its handle and may free
/// it at once. Holders are made on the way where there is nothing; what bore the name before is
/// removed.
///
/// Statuses: FXIR_INVALID_ARGUMENT (another kind, a path that is none), FXIR_ALREADY_EXISTS (an
/// attribute stands on the way), FXIR_INVALID_UTF8, FXIR_LIMIT. torch: `Module.register_parameter`,
/// `Module.register_buffer`, `setattr`.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_set_tensor(
    module: *mut fxir_module,
    path: *const c_char,
    kind: i32,
    tensor: *const fxir_tensor,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let path = input::text(path, "path")?;
        let kind = match kind {
            FXIR_MEMBER_PARAMETER => TensorKind::Parameter,
            FXIR_MEMBER_BUFFER => TensorKind::Buffer,
            FXIR_MEMBER_CONSTANT => TensorKind::Constant,
            _ => {
                let message = format!("{kind} is no kind of tensor (FXIR_MEMBER_PARAMETER, _BUFFER or _CONSTANT)");
                return Err(Failure::new(FXIR_INVALID_ARGUMENT, message));
            }
        };
        let tensor = handle::get::<TensorRecord>(tensor)?.tensor().clone();
        write(module, |tree, id| Ok(tree.set_attribute(id, path, Attribute::Tensor(kind, tensor))?))
    })
}

/// A snapshot of the setting under a dotted path, as its one item. Free it with `fxir_args_free`.
///
/// Statuses: FXIR_NOT_FOUND (there is nothing, a submodule or a tensor), FXIR_INVALID_UTF8. torch:
/// `getattr`.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_get_attribute(
    module: *const fxir_module,
    path: *const c_char,
    value: *mut *mut fxir_args,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let value = Out::required(value, "value")?;
        let path = input::text(path, "path")?;
        let record = read(module, |tree, id| match tree.attribute(id, path)? {
            Attribute::Value(found) => Ok(ArgsRecord::new(tree.symbols(), std::slice::from_ref(found), &[])),
            Attribute::Tensor(..) => Err(Failure::new(FXIR_NOT_FOUND, format!("{path:?} is a tensor, not a setting"))),
        })?;
        value.set_handle(record)
    })
}

/// Sets a setting under a dotted path, such as "kernel_size" of a leaf: anything but a node. Holders
/// are made on the way where there is nothing; what bore the name before is removed.
///
/// Statuses: FXIR_INVALID_ARGUMENT (a node in it, a path that is none), FXIR_ALREADY_EXISTS (an
/// attribute stands on the way), FXIR_INVALID_UTF8, FXIR_LIMIT. torch: `setattr`.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_set_attribute(
    module: *mut fxir_module,
    path: *const c_char,
    value: *const fxir_arg,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let path = input::text(path, "path")?;
        write(module, |tree, id| {
            let value = Reader::new(tree.symbols()).one(value, "value")?;
            Ok(tree.set_attribute(id, path, Attribute::Value(value))?)
        })
    })
}

/// Removes the submodule under a dotted path, else the attribute. Handles into a removed module give
/// FXIR_NOT_FOUND from here on.
///
/// Statuses: FXIR_NOT_FOUND, FXIR_INVALID_UTF8. torch: `GraphModule.delete_submodule`, `delattr`.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_delete_member(
    module: *mut fxir_module,
    path: *const c_char,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let path = input::text(path, "path")?;
        write(module, |tree, id| Ok(tree.delete(id, path)?))
    })
}

/// Removes every submodule, however deep, that no node of the module's graph calls or reads; what
/// lies below a called submodule is used. `removed`, which may be NULL, gets how many there were.
///
/// Statuses: FXIR_INVALID_ARGUMENT (the module has no graph). torch.fx:
/// `GraphModule.delete_all_unused_submodules`.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_delete_all_unused_submodules(
    module: *mut fxir_module,
    removed: *mut usize,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let removed = Out::optional(removed);
        let count = write(module, |tree: &mut ModuleTree, id| -> Outcome<usize> {
            Ok(tree.delete_all_unused_submodules(id)?)
        })?;
        removed.set(count);
        Ok(())
    })
}
