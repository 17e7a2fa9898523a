//! Members that are read twice or not at all, and what is known before the graph runs.

use super::boundary;
use super::error::fxir_error;
use super::input::Out;
use super::module::fxir_module;
use super::module_handle::write;
use super::node_map::{fxir_node_map, NodeMapRecord};
use super::status::*;
use crate::passes::deduplicate_get_attr::deduplicate_get_attr;
use crate::passes::lift_constants::{lift_constants, LiftOptions};
use crate::passes::unused_attributes::delete_unused_attributes;

/// Of the get_attr nodes that read one member the first stands for the others, which are erased.
/// `erased`, which may be NULL, gets how many nodes there were; `merged`, which may be NULL, gets which
/// node is gone and which stands for it. The caller frees it with `fxir_node_map_free`.
///
/// Statuses: FXIR_INVALID_ARGUMENT (the module has no graph). torch.fx has no such pass.
#[no_mangle]
pub unsafe extern "C" fn fxir_deduplicate_get_attr(
    module: *mut fxir_module,
    erased: *mut usize,
    merged: *mut *mut fxir_node_map,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let (erased, merged) = (Out::optional(erased), Out::optional(merged));
        let pairs = write(module, |tree, id| Ok(deduplicate_get_attr(tree, id)?))?;
        let count = pairs.len();
        merged.set_handle(NodeMapRecord::new(pairs))?;
        erased.set(count);
        Ok(())
    })
}

/// Removes the tensors of the module, and of graph modules and holders below it, that no get_attr node
/// of any graph of the tree reads. What a leaf owns stays, and all below a module that a node hands on
/// as it is, or that is called and has no graph; settings, which are no tensors, stay too. Graphs that
/// nothing calls count: run `fxir_module_delete_all_unused_submodules` first. `removed`, which may be
/// NULL, gets how many tensors there were.
///
/// Statuses: FXIR_INVALID_ARGUMENT (the module has no graph). torch.fx has no such pass.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_delete_unused_attributes(
    module: *mut fxir_module,
    removed: *mut usize,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let removed = Out::optional(removed);
        let paths = write(module, |tree, id| Ok(delete_unused_attributes(tree, id)?))?;
        removed.set(paths.len());
        Ok(())
    })
}

/// Makes each call that makes a tensor of literals alone (`torch.tensor`, `zeros`, `ones`, `full`,
/// `arange`, `eye`, `scalar_tensor`, and their operators of `torch.ops.aten`) a get_attr node of a new
/// constant of the module, `_tensor_constant0` or the next that is free. Name, users and metadata of
/// the node stay. Dtypes and sizes are as torch makes them, its default dtype being float32.
///
/// A call stays when its tensor, or what may share its memory, is written or returned: a call makes a
/// new one each time. It also stays when the tensor takes more than `max_bytes` bytes (0: 1 MiB); when
/// it asks for gradients, pinned memory, or a device other than the CPU; when its elements are not known
/// to the bit (complex, float16, `arange` of floats); when metadata of the node says something else;
/// and when the graph changes the state of the process. `lifted`, which may be NULL, gets how many
/// nodes there were.
///
/// Statuses: FXIR_INVALID_ARGUMENT (the module has no graph), FXIR_LIMIT (modules nest too deep).
/// torch.fx: what `Tracer.create_arg` does with a tensor, and `lift_constants_pass` of `torch.export`.
#[no_mangle]
pub unsafe extern "C" fn fxir_lift_constants(
    module: *mut fxir_module,
    max_bytes: u64,
    lifted: *mut usize,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let lifted = Out::optional(lifted);
        let options = match max_bytes {
            0 => LiftOptions::default(),
            max_bytes => LiftOptions { max_bytes },
        };
        let nodes = write(module, |tree, id| Ok(lift_constants(tree, id, options)?))?;
        lifted.set(nodes.len());
        Ok(())
    })
}
