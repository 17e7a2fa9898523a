//! Dead code elimination, with the caller's word on what is impure.

use super::boundary;
use super::error::{fxir_error, Failure};
use super::input::{self, Out};
use super::module::fxir_module;
use super::module_handle;
use super::node::fxir_node;
use super::node_edit::fxir_node_filter;
use super::node_filter::with_filter;
use super::status::*;
use crate::ir::{ModuleId, ModuleTree, NodeId};
use crate::passes::dead_code::{erase_dead_code, find_dead_code, IsImpure};
use crate::passes::purity::{Purity, PurityOptions};
use std::ffi::c_void;

/// What counts as dead. Make one with `fxir_dead_code_options_init`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_dead_code_options {
    /// `sizeof(fxir_dead_code_options)`, set by `fxir_dead_code_options_init`.
    pub struct_size: usize,
    /// 1: random operators may go; by default they stay, as without them the others would draw other
    /// numbers. Means nothing beside an `is_impure`.
    pub random_is_pure: i32,
    /// Must be 0.
    pub reserved: i32,
    /// Decides alone which nodes are impure, and so stay though nothing uses them: its verdict is 1
    /// for an impure node. Asked about unused nodes only, each once; placeholders and the output stay
    /// without a question. NULL: the library decides, as `fxir_node_is_impure` does.
    pub is_impure: fxir_node_filter,
    /// Passed to `is_impure`.
    pub is_impure_data: *mut c_void,
}

/// Makes `*options` the defaults. Does nothing when it is NULL.
#[no_mangle]
pub unsafe extern "C" fn fxir_dead_code_options_init(options: *mut fxir_dead_code_options) {
    if !options.is_null() {
        options.write(defaults());
    }
}

fn defaults() -> fxir_dead_code_options {
    fxir_dead_code_options {
        struct_size: size_of::<fxir_dead_code_options>(),
        random_is_pure: 0,
        reserved: 0,
        is_impure: None,
        is_impure_data: std::ptr::null_mut(),
    }
}

/// Whether a node has to stay even when nothing uses it: 1 or 0; 0 too when it is no live node. For
/// callbacks that add to what the library knows.
///
/// Impure are placeholders and the output; in-place operators and calls with `out=`, by keyword or by
/// position; asserts, prints and what changes the state of the process; what draws random numbers,
/// unless its `train`, `training` or share of what it drops says that it does not; batch norms and
/// instance norms that may write into the statistics that they get, and lookups with a `max_norm`;
/// methods that change a list, a dict, a set, or a module that a node reads.
/// `sort` may be a list's unless the graph tells that it is called on a tensor, by what is known of the
/// receiver, what makes it, or the arguments; `add` is a tensor's unless it tells that it is a set's.
///
/// Calls of modules are impure when it is a graph module that holds an impure node; a leaf with a
/// setting `_is_impure` or `inplace` that is True; one of a type that draws random numbers or counts what
/// it sees while it is trained (dropouts, batch norms that track statistics, ...) unless its `training`
/// is False; an embedding with a `max_norm`, an observer, a lazy module; a leaf above any of these; and
/// what is no such module. Operators are judged by their schemas: one that writes into an argument or
/// returns nothing is impure; those of which none is known, by their names.
/// torch.fx: `Node.is_impure`.
#[no_mangle]
pub extern "C" fn fxir_node_is_impure(module: *const fxir_module, node: fxir_node) -> i32 {
    boundary::value(0, || {
        let node = input::node(node)?;
        let judge = |tree: &ModuleTree, id| Ok(Purity::new(tree, PurityOptions::default()).is_impure(id, node)?);
        Ok(i32::from(module_handle::read(module, judge)?))
    })
}

/// Erases every node that nothing uses, and then what only those used, unless it is impure, as
/// `fxir_node_is_impure` says. The graph need not be in order. Members that are no longer used stay:
/// see `fxir_module_delete_all_unused_submodules`. `options` may be NULL for the defaults; `erased`,
/// which may be NULL, gets how many nodes there were.
///
/// Statuses: FXIR_CALLBACK, FXIR_INVALID_ARGUMENT (a verdict that is neither 0 nor 1),
/// FXIR_UNSUPPORTED (newer options). torch.fx: `Graph.eliminate_dead_code`.
#[no_mangle]
pub unsafe extern "C" fn fxir_eliminate_dead_code(
    module: *mut fxir_module,
    options: *const fxir_dead_code_options,
    erased: *mut usize,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let erased = Out::optional(erased);
        let options = match options.is_null() {
            true => defaults(),
            false => input::options(options, "options")?,
        };
        if options.reserved != 0 {
            return Err(Failure::new(FXIR_INVALID_ARGUMENT, "`options.reserved` is not 0"));
        }
        let random_is_impure = !input::flag(options.random_is_pure, "options.random_is_pure")?;
        let module = module_handle::module(module)?;
        let plan = module.lock_plan()?;
        let find = |asked: Option<IsImpure<'_>>| match asked {
            Some(is_impure) => find_dead_code(&plan, module.id(), Some(is_impure)),
            None => {
                let mut purity = Purity::new(&plan, PurityOptions { random_is_impure });
                let mut is_impure = |_: &ModuleTree, module: ModuleId, node: NodeId| purity.is_impure(module, node);
                find_dead_code(&plan, module.id(), Some(&mut is_impure))
            }
        };
        let dead = with_filter(&module, &plan, options.is_impure, options.is_impure_data, find)?;
        erase_dead_code(&mut *plan.write()?, module.id(), &dead)?;
        erased.set(dead.len());
        Ok(())
    })
}
