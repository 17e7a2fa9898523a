//! Common subexpressions, with the caller's word on what has to stay.

use super::boundary;
use super::error::{fxir_error, Outcome};
use super::input::{self, Out};
use super::module::fxir_module;
use super::module_handle;
use super::node_edit::fxir_node_filter;
use super::node_filter::with_filter;
use super::node_map::{fxir_node_map, NodeMapRecord};
use super::status::*;
use crate::passes::cse::{erase_common_subexpressions, find_common_subexpressions, CseOptions};
use crate::passes::dead_code::IsImpure;
use std::ffi::{c_char, c_void};

/// What has to stay though it is there twice. Make one with `fxir_cse_options_init`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_cse_options {
    /// `sizeof(fxir_cse_options)`, set by `fxir_cse_options_init`.
    pub struct_size: usize,
    /// Targets whose nodes all stay, `banned_count` strings, none of them NULL; a name that begins with
    /// `torch.ops.` stands for all below it, so that an operator stands for its overloads. NULL when
    /// there are none. torch.fx: what `get_CSE_banned_ops` gives.
    pub banned: *const *const c_char,
    /// How many.
    pub banned_count: usize,
    /// Decides alone which nodes do anything besides yielding a value, and so stay: its verdict is 1 for
    /// an impure node. What such a node does is what the library knows of it; where the library knows
    /// nothing, it may write into its arguments. Asked about all nodes but placeholders and the output,
    /// in their order, each once. NULL: the library decides, as `fxir_node_is_impure` does.
    pub is_impure: fxir_node_filter,
    /// Passed to `is_impure`.
    pub is_impure_data: *mut c_void,
}

/// Makes `*options` the defaults. Does nothing when it is NULL.
#[no_mangle]
pub unsafe extern "C" fn fxir_cse_options_init(options: *mut fxir_cse_options) {
    if !options.is_null() {
        options.write(defaults());
    }
}

fn defaults() -> fxir_cse_options {
    fxir_cse_options {
        struct_size: size_of::<fxir_cse_options>(),
        banned: std::ptr::null(),
        banned_count: 0,
        is_impure: None,
        is_impure_data: std::ptr::null_mut(),
    }
}

/// Erases each node that computes what a node before it has computed, which then stands for it in all
/// its users. Two nodes compute the same when op, target, arguments and keywords, in their order, are
/// the same: of literals the type counts and each bit (1, 1.0 and True are three), a list is no tuple.
/// What the first is called and its metadata stay; two equal values that are returned become one
/// that is returned twice.
///
/// Impure nodes stay (see `fxir_node_is_impure`), random ones among them. So do nodes that read what may
/// be written between them, and whatever may be written later, with what may share its memory: inputs
/// and members may all share memory with each other.
///
/// `options` may be NULL for the defaults. `erased`, which may be NULL, gets how many nodes there were;
/// `merged`, which may be NULL, gets which node is gone and which stands for it. The caller frees it with
/// `fxir_node_map_free`.
///
/// Statuses: FXIR_INVALID_ARGUMENT (the module has no graph, or a verdict that is neither 0 nor 1),
/// FXIR_CALLBACK, FXIR_UNSUPPORTED (newer options). torch.fx: `CSEPass` of
/// `torch.fx.passes.dialect.common.cse_pass`; `fx_graph_cse` of `torch._functorch`.
#[no_mangle]
pub unsafe extern "C" fn fxir_eliminate_common_subexpressions(
    module: *mut fxir_module,
    options: *const fxir_cse_options,
    erased: *mut usize,
    merged: *mut *mut fxir_node_map,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let (erased, merged) = (Out::optional(erased), Out::optional(merged));
        let options = match options.is_null() {
            true => defaults(),
            false => input::options(options, "options")?,
        };
        let banned = input::slice(options.banned, options.banned_count, "options.banned")?;
        let banned = banned.iter().map(|name| input::text(*name, "options.banned")).collect::<Outcome<Vec<_>>>()?;
        let module = module_handle::module(module)?;
        let plan = module.lock_plan()?;
        let find = |is_impure: Option<IsImpure<'_>>| {
            find_common_subexpressions(&plan, module.id(), CseOptions { banned: &banned, is_impure })
        };
        let pairs = with_filter(&module, &plan, options.is_impure, options.is_impure_data, find)?;
        let count = pairs.len();
        erase_common_subexpressions(&mut *plan.write()?, module.id(), &pairs)?;
        merged.set_handle(NodeMapRecord::new(pairs))?;
        erased.set(count);
        Ok(())
    })
}
