//! How many bytes nodes take.

use super::boundary;
use super::error::{fxir_error, Failure, Outcome};
use super::input::{self, Out};
use super::module::fxir_module;
use super::module_handle::read;
use super::node::fxir_node;
use super::status::*;
use crate::ir::NodeId;
use crate::passes::node_size::{get_size_of_all_nodes, get_size_of_node, ElementSize, NodeSize, SizeOptions};
use rustc_hash::FxHashMap;
use std::ffi::c_char;
use std::ptr::null;

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

/// What is counted, and how. Make one with `fxir_size_options_init`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_size_options {
    /// `sizeof(fxir_size_options)`, set by `fxir_size_options_init`.
    pub struct_size: usize,
    /// One of FXIR_SIZE_IN_*.
    pub counting: i32,
    /// 1: a parameter that several nodes have counts at the first of them only; 0: at each, as in
    /// torch.
    pub shared_once: i32,
    /// Symbolic sizes as they are spelled, `s0` and `2*s0` each for itself; may be NULL when there are
    /// none.
    pub symbols: *const *const c_char,
    /// What they are, in the same order.
    pub symbol_sizes: *const i64,
    /// How many.
    pub symbol_count: usize,
}

/// Makes `*options` the defaults. Does nothing when it is NULL.
#[no_mangle]
pub unsafe extern "C" fn fxir_size_options_init(options: *mut fxir_size_options) {
    if !options.is_null() {
        options.write(defaults());
    }
}

fn defaults() -> fxir_size_options {
    fxir_size_options {
        struct_size: size_of::<fxir_size_options>(),
        counting: FXIR_SIZE_IN_OWN_DTYPE,
        shared_once: 0,
        symbols: null(),
        symbol_sizes: null(),
        symbol_count: 0,
    }
}

/// The options as the pass takes them but for symbols.
struct Counting {
    element_size: ElementSize,
    shared_once: bool,
    symbols: FxHashMap<String, i64>,
}

impl Counting {
    unsafe fn read(options: *const fxir_size_options) -> Outcome<Counting> {
        let given = match options.is_null() {
            true => defaults(),
            // SAFETY: passed on.
            false => unsafe { input::options(options, "options") }?,
        };
        // SAFETY: arrays of that many elements, by the contract of the options.
        let (names, sizes) = unsafe {
            (
                input::slice(given.symbols, given.symbol_count, "options.symbols")?,
                input::slice(given.symbol_sizes, given.symbol_count, "options.symbol_sizes")?,
            )
        };
        let mut symbols = FxHashMap::default();
        for (&name, &size) in names.iter().zip(sizes) {
            // SAFETY: as above.
            let name = unsafe { input::text(name, "options.symbols[]") }?;
            if size < 0 {
                let message = format!("the size of {name:?} is negative: {size}");
                return Err(Failure::new(FXIR_INVALID_ARGUMENT, message));
            }
            symbols.insert(name.to_owned(), size);
        }
        Ok(Counting {
            element_size: by(given.counting)?,
            shared_once: input::flag(given.shared_once, "options.shared_once")?,
            symbols,
        })
    }

    fn with<T>(&self, run: impl FnOnce(SizeOptions<'_>) -> T) -> T {
        let symbol = |symbol: &str| self.symbols.get(symbol).copied();
        run(SizeOptions { element_size: self.element_size, shared_once: self.shared_once, symbol: Some(&symbol) })
    }
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

/// How many bytes one node takes; `options` may be NULL for the defaults.
///
/// Statuses: FXIR_STALE_NODE, FXIR_NOT_FOUND (it is not known what the node yields),
/// FXIR_UNSUPPORTED (a size is symbolic, and not in the options; newer options),
/// FXIR_INVALID_ARGUMENT. torch.fx: `get_size_of_node`.
#[no_mangle]
pub unsafe extern "C" fn fxir_get_size_of_node_with(
    module: *const fxir_module,
    node: fxir_node,
    options: *const fxir_size_options,
    size: *mut fxir_node_size,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let size = Out::required(size, "size")?;
        let counting = Counting::read(options)?;
        let node = input::node(node)?;
        let found = read(module, |tree, id| Ok(counting.with(|options| get_size_of_node(tree, id, node, options))?))?;
        size.set(shown((node, found)));
        Ok(())
    })
}

/// How many bytes each node but the output takes, in graph order, else as
/// `fxir_get_size_of_all_nodes`; `options` may be NULL for the defaults.
///
/// Statuses: FXIR_NOT_FOUND (it is not known what a node yields; `fxir_error_node` says which),
/// FXIR_UNSUPPORTED (a size is symbolic, and not in the options; newer options),
/// FXIR_INVALID_ARGUMENT. torch.fx: `get_size_of_all_nodes`.
#[no_mangle]
pub unsafe extern "C" fn fxir_get_size_of_all_nodes_with(
    module: *const fxir_module,
    options: *const fxir_size_options,
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
        let counting = Counting::read(options)?;
        let found = read(module, |tree, id| Ok(counting.with(|options| get_size_of_all_nodes(tree, id, options))?))?;
        count.set(input::fill(sizes, capacity, found.into_iter().map(shown)));
        Ok(())
    })
}
