//! How many bytes nodes take.

use super::boundary;
use super::error::{fxir_error, Failure, Outcome};
use super::input::{self, Out};
use super::module::fxir_module;
use super::module_handle::read;
use super::node::fxir_node;
use super::status::*;
use crate::ir::NodeId;
use crate::passes::node_size::{get_size_of_all_nodes, get_size_of_node, ElementSize, NodeSize};

/// Each tensor counts in its own dtype.
pub const FXIR_SIZE_IN_OWN_DTYPE: i32 = 0;
/// As torch.fx counts: parameters as if they had the dtype of the node's output, and every element
/// whole bytes.
pub const FXIR_SIZE_IN_DTYPE_OF_OUTPUT: i32 = 1;

/// How many bytes a node takes. torch.fx: `size_bytes`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_node_size {
    /// The node.
    pub node: fxir_node,
    /// What it yields, all tensors of a tuple or list together.
    pub output_bytes: u64,
    /// The same and the parameters of the module that it calls.
    pub total_bytes: u64,
}

fn by(number: i32) -> Outcome<ElementSize> {
    match number {
        FXIR_SIZE_IN_OWN_DTYPE => Ok(ElementSize::Own),
        FXIR_SIZE_IN_DTYPE_OF_OUTPUT => Ok(ElementSize::OfOutput),
        other => {
            let message = format!("{other} says not how elements are counted (FXIR_SIZE_IN_*)");
            Err(Failure::new(FXIR_INVALID_ARGUMENT, message))
        }
    }
}

fn shown((node, size): (NodeId, NodeSize)) -> fxir_node_size {
    fxir_node_size { node: node.to_bits(), output_bytes: size.output_bytes, total_bytes: size.total_bytes }
}

/// How many bytes one node takes; `counting` is one of FXIR_SIZE_IN_*.
///
/// Statuses: FXIR_STALE_NODE, FXIR_NOT_FOUND (it is not known what the node yields),
/// FXIR_UNSUPPORTED (a size is symbolic), FXIR_INVALID_ARGUMENT. torch.fx: `get_size_of_node`.
#[no_mangle]
pub unsafe extern "C" fn fxir_get_size_of_node(
    module: *const fxir_module,
    node: fxir_node,
    counting: i32,
    size: *mut fxir_node_size,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let size = Out::required(size, "size")?;
        let by = by(counting)?;
        let node = input::node(node)?;
        let found = read(module, |tree, id| Ok(get_size_of_node(tree, id, node, by)?))?;
        size.set(shown((node, found)));
        Ok(())
    })
}

/// How many bytes each node but the output takes, in graph order; `counting` is one of
/// FXIR_SIZE_IN_*. Fills `sizes` with as many as `capacity` allows; `count`, which may be NULL, gets
/// how many there are. `sizes` may be NULL when `capacity` is 0.
///
/// Statuses: FXIR_NOT_FOUND (it is not known what a node yields; `fxir_error_node` says which),
/// FXIR_UNSUPPORTED (a size is symbolic), FXIR_INVALID_ARGUMENT. torch.fx: `get_size_of_all_nodes`.
#[no_mangle]
pub unsafe extern "C" fn fxir_get_size_of_all_nodes(
    module: *const fxir_module,
    counting: i32,
    sizes: *mut fxir_node_size,
    capacity: usize,
    count: *mut usize,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let count = Out::optional(count);
        if capacity > 0 {
            input::required(sizes, "sizes")?;
        }
        let by = by(counting)?;
        let found = read(module, |tree, id| Ok(get_size_of_all_nodes(tree, id, by)?))?;
        count.set(input::fill(sizes, capacity, found.into_iter().map(shown)));
        Ok(())
    })
}
