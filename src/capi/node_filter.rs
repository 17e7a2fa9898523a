//! Passes that ask the caller about nodes.

use super::error::{Failure, Outcome};
use super::input;
use super::module_handle::ModuleHandle;
use super::node_edit::fxir_node_filter;
use super::tree_cell::Planning;
use crate::ir::{Error, ErrorKind, ModuleId, ModuleTree, NodeId, Result};
use crate::passes::dead_code::IsImpure;
use std::ffi::c_void;

/// Runs the planning half of a pass, with the caller's filter if there is one. What the caller's
/// failure was is told as it was.
pub(super) fn with_filter<T>(
    module: &ModuleHandle,
    plan: &Planning<'_>,
    filter: fxir_node_filter,
    data: *mut c_void,
    pass: impl FnOnce(Option<IsImpure<'_>>) -> Result<T>,
) -> Outcome<T> {
    let Some(filter) = filter else { return Ok(pass(None)?) };
    let mut failure = None;
    let ask = |node: NodeId| -> Outcome<bool> {
        let mut verdict = 1;
        // SAFETY: the caller's function, called as it is documented.
        let code =
            module.call_with_view(plan, |view| unsafe { filter(data, view, node.to_bits(), &raw mut verdict) })?;
        match code {
            0 => input::flag(verdict, "verdict"),
            code => Err(Failure::callback(code)),
        }
    };
    let mut is_impure = |_: &ModuleTree, _: ModuleId, node: NodeId| {
        ask(node).map_err(|found| {
            failure = Some(found);
            Error::new(ErrorKind::Callback(0), "the callback stopped the pass")
        })
    };
    let found = pass(Some(&mut is_impure));
    match failure {
        Some(failure) => Err(failure),
        None => Ok(found?),
    }
}
