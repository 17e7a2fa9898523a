//! Passes that take a module and little else.

use super::boundary;
use super::error::fxir_error;
use super::graph::op;
use super::input::{self, Out};
use super::module::fxir_module;
use super::module_handle::{write, write_graph};
use super::status::*;
use crate::passes::legalize::legalize;
use crate::passes::replace_target::replace_target_nodes_with;
use crate::passes::stable_topological_sort::stable_topological_sort;
use std::ffi::c_char;

/// Puts the graph in order: every node after what it uses, placeholders first, the output last.
/// Stable: of the nodes that could come next it is always the one that came first before, so a graph
/// that is in order does not change, and independent nodes keep their order.
///
/// Statuses: FXIR_LINT (nodes use each other in a circle; `fxir_error_nodes` gives all that are on it).
/// torch.fx: `legalize_graph`; `torch.fx.passes.tools_common.stable_topological_sort` too, which leaves
/// placeholders and the output among the others.
#[no_mangle]
pub unsafe extern "C" fn fxir_legalize_graph(module: *mut fxir_module, error: *mut *mut fxir_error) -> fxir_status {
    boundary::status(error, || write_graph(module, |graph| Ok(legalize(graph)?)))
}

/// Puts a graph that was edited by hand in order, in time linear in nodes and edges: every node after
/// what it uses, placeholders first, the output last. A node that stands before something it uses
/// comes right behind the last of its inputs to come, and what waited for it right behind it: a chain
/// of nodes that was put in too early stays together, where `fxir_legalize_graph` lets what stood
/// between pass first. A graph that is in order does not change. `late`, which may be NULL, gets how
/// many nodes had to wait.
///
/// Statuses: FXIR_LINT (nodes use each other in a circle; `fxir_error_nodes` gives all that are on it).
/// torch: `stable_topological_sort` of `torch._inductor.pattern_matcher`; that of torch.fx is
/// `fxir_legalize_graph`.
#[no_mangle]
pub unsafe extern "C" fn fxir_stable_topological_sort(
    module: *mut fxir_module,
    late: *mut usize,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let late = Out::optional(late);
        let count = write_graph(module, |graph| Ok(stable_topological_sort(graph)?))?;
        late.set(count);
        Ok(())
    })
}

/// Makes every node of `old_op` (FXIR_OP_*) that has `old_target` a node of `new_op` with
/// `new_target`. Names, arguments, users and metadata stay. `replaced`, which may be NULL, gets how
/// many nodes there were.
///
/// Statuses: FXIR_INVALID_ARGUMENT (no op; placeholders and outputs have places of their own; an empty
/// target; a node that the new op does not fit: a get_attr takes no arguments, a method is called on
/// one), FXIR_NOT_FOUND (the module has no such member), FXIR_INVALID_UTF8. torch.fx:
/// `replace_target_nodes_with`.
#[no_mangle]
pub unsafe extern "C" fn fxir_replace_target_nodes_with(
    module: *mut fxir_module,
    old_op: i32,
    old_target: *const c_char,
    new_op: i32,
    new_target: *const c_char,
    replaced: *mut usize,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let replaced = Out::optional(replaced);
        let (old_op, new_op) = (op(old_op)?, op(new_op)?);
        let old_target = input::text(old_target, "old_target")?;
        let new_target = input::text(new_target, "new_target")?;
        let count =
            write(module, |tree, id| Ok(replace_target_nodes_with(tree, id, old_op, old_target, new_op, new_target)?))?;
        replaced.set(count);
        Ok(())
    })
}
