//! Which attributes of leaf modules are told: `fxir_lowering_attrs`.

use super::boundary;
use super::error::{fxir_error, Failure, Outcome};
use super::handle::{self, Handle};
use super::input::{self, Out};
use super::module::fxir_module;
use super::module_handle::write;
use super::status::*;
use crate::ir::lowering::LoweringAttrs;
use crate::passes::lowering_attrs::lift_lowering_attrs_to_nodes;
use parking_lot::Mutex;
use std::ffi::c_char;

/// The six types of torch.nn that torch 1.12 knows, each with what that takes of it.
pub const FXIR_LOWERING_TORCH_1_12: i32 = 0;
/// The leaf modules of torch.nn and its quantized ones, tensors and settings.
pub const FXIR_LOWERING_TORCH_NN: i32 = 1;
/// No type: of every module everything is told.
pub const FXIR_LOWERING_NOTHING: i32 = 2;

/// Lists of attributes by type of leaf module. Freed with `fxir_lowering_attrs_free`. Any thread may
/// use one while another adds to it.
pub struct fxir_lowering_attrs;

struct Lists(Mutex<LoweringAttrs>);

impl Handle for Lists {
    type C = fxir_lowering_attrs;
    const WHAT: &'static str = "set of lowering attributes";
}

/// The lists of a handle as they are now.
pub(super) fn lists(attrs: *const fxir_lowering_attrs) -> Outcome<LoweringAttrs> {
    Ok(handle::get::<Lists>(attrs)?.0.lock().clone())
}

/// Makes a set of lists: `known` is one of FXIR_LOWERING_*. The caller frees `*attrs`.
///
/// Statuses: FXIR_INVALID_ARGUMENT. torch.fx: `extract_attrs_for_lowering`, whose table it is.
#[no_mangle]
pub unsafe extern "C" fn fxir_lowering_attrs_new(
    known: i32,
    attrs: *mut *mut fxir_lowering_attrs,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let attrs = Out::required(attrs, "attrs")?;
        let lists = match known {
            FXIR_LOWERING_TORCH_1_12 => LoweringAttrs::torch_1_12(),
            FXIR_LOWERING_TORCH_NN => LoweringAttrs::torch_nn(),
            FXIR_LOWERING_NOTHING => LoweringAttrs::nothing(),
            other => {
                let message = format!("{other} says not which types are known (FXIR_LOWERING_*)");
                return Err(Failure::new(FXIR_INVALID_ARGUMENT, message));
            }
        };
        attrs.set_handle(Lists(Mutex::new(lists)))
    })
}

/// Gives a type of leaf module, `torch.nn.modules.linear.Linear`, its list: `count` names at `names`,
/// which may be NULL when `count` is 0. It takes the place of the one that the type had. A name may be
/// a dotted path to what lies in a module inside the leaf; `*` stands for all its own tensors that are
/// not named. Everything is copied.
///
/// Statuses: FXIR_INVALID_ARGUMENT (a name that is empty, or comes twice), FXIR_INVALID_UTF8.
#[no_mangle]
pub unsafe extern "C" fn fxir_lowering_attrs_register(
    attrs: *mut fxir_lowering_attrs,
    type_name: *const c_char,
    names: *const *const c_char,
    count: usize,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let lists = handle::get::<Lists>(attrs)?;
        let type_name = input::text(type_name, "type_name")?;
        let names = input::slice(names, count, "names")?;
        let names = names.iter().map(|&name| input::text(name, "names[]")).collect::<Outcome<Vec<_>>>()?;
        lists.0.lock().register(type_name, &names)?;
        Ok(())
    })
}

/// Frees a set. NULL and a dead handle do nothing.
#[no_mangle]
pub extern "C" fn fxir_lowering_attrs_free(attrs: *mut fxir_lowering_attrs) {
    boundary::value((), || handle::free::<Lists>(attrs));
}

/// Tells each node that calls a leaf, here and in the graph modules that are called, what the leaf
/// is: its meta gets a dict `attrs_for_lowering` of the leaf's type (`name`), its settings as they
/// are, and its tensors by their path from the module whose node it is. Of the types that torch.nn
/// has, quantized ones too (FXIR_LOWERING_TORCH_NN), just what their lists name is told. With `strict`
/// 1 a type without a list is refused, as torch does, and so is one that lacks a setting of its list;
/// with 0 all attributes are told. `nodes`, which may be NULL, gets how many nodes there were.
///
/// Statuses: FXIR_INVALID_ARGUMENT, FXIR_UNSUPPORTED (a type without a list), FXIR_NOT_FOUND (a node
/// calls what is no module, a setting is missing). torch.fx: `lift_lowering_attrs_to_nodes`.
#[no_mangle]
pub unsafe extern "C" fn fxir_lift_lowering_attrs_to_nodes(
    module: *mut fxir_module,
    strict: i32,
    nodes: *mut usize,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let nodes = Out::optional(nodes);
        let strict = input::flag(strict, "strict")?;
        let known = LoweringAttrs::default();
        let count = write(module, |tree, id| Ok(lift_lowering_attrs_to_nodes(tree, id, &known, strict)?))?;
        nodes.set(count);
        Ok(())
    })
}

/// The same with lists of the caller's.
///
/// Statuses: those of `fxir_lift_lowering_attrs_to_nodes`. torch.fx: `lift_lowering_attrs_to_nodes`.
#[no_mangle]
pub unsafe extern "C" fn fxir_lift_lowering_attrs_to_nodes_with(
    module: *mut fxir_module,
    attrs: *const fxir_lowering_attrs,
    strict: i32,
    nodes: *mut usize,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let nodes = Out::optional(nodes);
        let known = lists(attrs)?;
        let strict = input::flag(strict, "strict")?;
        let count = write(module, |tree, id| Ok(lift_lowering_attrs_to_nodes(tree, id, &known, strict)?))?;
        nodes.set(count);
        Ok(())
    })
}
