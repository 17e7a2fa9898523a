//! Editing a node: what it does, what it takes, where it stands.

use super::argument::{fxir_arg, fxir_kwarg, Reader};
use super::boundary;
use super::error::{fxir_error, Failure, Outcome};
use super::graph::op;
use super::input::{self, Out};
use super::module::fxir_module;
use super::module_handle::{self, write_graph};
use super::node::fxir_node;
use super::status::*;
use crate::ir::{Graph, NodeId};
use std::collections::HashSet;
use std::ffi::{c_char, c_void};

/// Every edit checks first, and changes nothing when it fails.
fn edit(
    module: *mut fxir_module,
    node: fxir_node,
    change: impl FnOnce(&mut Graph, NodeId) -> Outcome<()>,
) -> Outcome<()> {
    let id = input::node(node)?;
    write_graph(module, |graph| change(graph, id))
}

/// Makes the node one of another op (FXIR_OP_*), in place. Placeholders and the output have places
/// of their own: no node becomes or ceases to be one.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_ARGUMENT. torch.fx: assigning `Node.op`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_set_op(
    module: *mut fxir_module,
    node: fxir_node,
    op: i32,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let op = self::op(op)?;
        edit(module, node, |graph, id| Ok(graph.set_op(id, op)?))
    })
}

/// Sets what the node calls, gets or takes. Its name stays.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_ARGUMENT (the target is empty), FXIR_INVALID_UTF8.
/// torch.fx: assigning `Node.target`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_set_target(
    module: *mut fxir_module,
    node: fxir_node,
    target: *const c_char,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let target = input::text(target, "target")?;
        edit(module, node, |graph, id| Ok(graph.set_target(id, target)?))
    })
}

/// Gives the node another name, made legal and unique; `fxir_node_name` tells what it became.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_UTF8. torch.fx: assigning `Node.name`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_set_name(
    module: *mut fxir_module,
    node: fxir_node,
    name: *const c_char,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let name = input::text(name, "name")?;
        edit(module, node, |graph, id| Ok(graph.rename(id, name).map(drop)?))
    })
}

/// Sets the annotation of the node's type; NULL takes it away.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_UTF8. torch.fx: assigning `Node.type`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_set_type(
    module: *mut fxir_module,
    node: fxir_node,
    annotation: *const c_char,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let annotation = input::optional_text(annotation, "annotation")?;
        edit(module, node, |graph, id| Ok(graph.set_type_annotation(id, annotation)?))
    })
}

/// Sets the node's comment; NULL takes it away.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_UTF8.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_set_comment(
    module: *mut fxir_module,
    node: fxir_node,
    comment: *const c_char,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let comment = input::optional_text(comment, "comment")?;
        edit(module, node, |graph, id| Ok(graph.set_comment(id, comment)?))
    })
}

/// Sets all positional arguments. They are copied; `args` may be NULL when there are none. The
/// users of all nodes concerned follow.
///
/// Statuses: FXIR_STALE_NODE (the node or an argument is no live node of this graph),
/// FXIR_INVALID_ARGUMENT, FXIR_INVALID_UTF8, FXIR_LIMIT. torch.fx: assigning `Node.args`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_set_args(
    module: *mut fxir_module,
    node: fxir_node,
    args: *const fxir_arg,
    args_count: usize,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        edit(module, node, |graph, id| {
            let args = Reader::new(graph.symbols()).args(args, args_count)?;
            Ok(graph.set_args(id, args)?)
        })
    })
}

/// Sets all keyword arguments; else as `fxir_node_set_args`. torch.fx: assigning `Node.kwargs`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_set_kwargs(
    module: *mut fxir_module,
    node: fxir_node,
    kwargs: *const fxir_kwarg,
    kwargs_count: usize,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        edit(module, node, |graph, id| {
            let kwargs = Reader::new(graph.symbols()).kwargs(kwargs, kwargs_count)?;
            Ok(graph.set_kwargs(id, kwargs)?)
        })
    })
}

/// Sets the positional argument at `index`, which must be there.
///
/// Statuses: FXIR_OUT_OF_RANGE, and those of `fxir_node_set_args`. torch.fx: `Node.update_arg`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_set_arg(
    module: *mut fxir_module,
    node: fxir_node,
    index: usize,
    arg: *const fxir_arg,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        edit(module, node, |graph, id| {
            let arg = Reader::new(graph.symbols()).one(arg, "arg")?;
            Ok(graph.set_arg(id, index, arg)?)
        })
    })
}

/// Puts a positional argument before the one at `index`, or last when `index` is their number.
///
/// Statuses: FXIR_OUT_OF_RANGE, and those of `fxir_node_set_args`. torch.fx: `Node.insert_arg`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_insert_arg(
    module: *mut fxir_module,
    node: fxir_node,
    index: usize,
    arg: *const fxir_arg,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        edit(module, node, |graph, id| {
            let arg = Reader::new(graph.symbols()).one(arg, "arg")?;
            Ok(graph.insert_arg(id, index, arg)?)
        })
    })
}

/// Sets one keyword argument, whether it is there or not.
///
/// Statuses: those of `fxir_node_set_args`. torch.fx: `Node.update_kwarg`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_set_kwarg(
    module: *mut fxir_module,
    node: fxir_node,
    name: *const c_char,
    arg: *const fxir_arg,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let name = input::text(name, "name")?;
        edit(module, node, |graph, id| {
            let arg = Reader::new(graph.symbols()).one(arg, "arg")?;
            Ok(graph.set_kwarg(id, name, arg)?)
        })
    })
}

/// Moves the node right before `anchor`. The order may break by it: `fxir_legalize_graph` mends it.
///
/// Statuses: FXIR_STALE_NODE. torch.fx: `anchor.prepend(node)`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_move_before(
    module: *mut fxir_module,
    node: fxir_node,
    anchor: fxir_node,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let anchor = input::node(anchor)?;
        edit(module, node, |graph, id| Ok(graph.move_before(id, anchor)?))
    })
}

/// Moves the node right after `anchor`. The order may break by it: `fxir_legalize_graph` mends it.
///
/// Statuses: FXIR_STALE_NODE. torch.fx: `anchor.append(node)`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_move_after(
    module: *mut fxir_module,
    node: fxir_node,
    anchor: fxir_node,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let anchor = input::node(anchor)?;
        edit(module, node, |graph, id| Ok(graph.move_after(id, anchor)?))
    })
}

/// Erases a node that has no users. Its number is dead from here on.
///
/// Statuses: FXIR_STALE_NODE, FXIR_IN_USE (it has users; the message names one). torch.fx:
/// `Graph.erase_node`.
#[no_mangle]
pub unsafe extern "C" fn fxir_graph_erase_node(
    module: *mut fxir_module,
    node: fxir_node,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || edit(module, node, |graph, id| Ok(graph.erase_node(id)?)))
}

/// Decides on a node: stores 1 into `*verdict` to say yes, 0 to say no; it is 1 before the call.
/// Returns 0, or a code of its own that stops the whole call with `FXIR_CALLBACK`.
///
/// `module` is a view for reading only, and dead once the callback returns; any other use of that
/// module on this thread is `FXIR_BUSY` meanwhile. Must not throw or longjmp.
pub type fxir_node_filter = Option<
    unsafe extern "C" fn(user_data: *mut c_void, module: *const fxir_module, node: fxir_node, verdict: *mut i32) -> i32,
>;

/// Puts `replacement` in the place of `node` in the arguments of all users of `node`. A user that is
/// `replacement` itself keeps what it has, so that a node can be wrapped. With a `filter`, only in
/// the users for which it says yes; it is asked about all of them before anything changes. `filter`
/// may be NULL. `changed`, which may be NULL, gets the number of users that were changed.
///
/// Statuses: FXIR_STALE_NODE, FXIR_CALLBACK, FXIR_INVALID_ARGUMENT (a verdict that is neither 0 nor
/// 1). torch.fx: `Node.replace_all_uses_with`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_replace_all_uses_with(
    module: *mut fxir_module,
    node: fxir_node,
    replacement: fxir_node,
    filter: fxir_node_filter,
    user_data: *mut c_void,
    changed: *mut usize,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let (old, new) = (input::node(node)?, input::node(replacement)?);
        let changed = Out::optional(changed);
        let Some(filter) = filter else {
            let users = write_graph(module, |graph| Ok(graph.replace_all_uses_with(old, new, |_, _| true)?))?;
            changed.set(users.len());
            return Ok(());
        };
        let module = module_handle::module(module)?;
        let plan = module.lock_plan()?;
        let graph = plan.graph(module.id())?;
        graph.get(old)?;
        graph.get(new)?;
        let mut wanted = HashSet::new();
        for user in graph.users(old).filter(|&user| user != new) {
            let mut verdict = 1;
            let code =
                module.call_with_view(&plan, |view| filter(user_data, view, user.to_bits(), &raw mut verdict))?;
            if code != 0 {
                return Err(Failure::callback(code));
            }
            if input::flag(verdict, "verdict")? {
                wanted.insert(user);
            }
        }
        let mut tree = plan.write()?;
        let graph = tree.graph_mut(module.id())?;
        let users = graph.replace_all_uses_with(old, new, |_, user| wanted.contains(&user))?;
        changed.set(users.len());
        Ok(())
    })
}

/// Puts `replacement` in the place of `input` in the arguments of one node.
///
/// Statuses: FXIR_STALE_NODE. torch.fx: `Node.replace_input_with`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_replace_input_with(
    module: *mut fxir_module,
    node: fxir_node,
    input: fxir_node,
    replacement: fxir_node,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let (old, new) = (input::node(input)?, input::node(replacement)?);
        edit(module, node, |graph, id| Ok(graph.replace_input_with(id, old, new)?))
    })
}
