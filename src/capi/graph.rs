//! Building a graph: one call a node.

use super::argument::{fxir_arg, fxir_kwarg, Reader};
use super::boundary;
use super::error::{fxir_error, Failure, Outcome};
use super::input::{self, Out};
use super::module::fxir_module;
use super::module_handle::write_graph;
use super::node::fxir_node;
use super::status::*;
use crate::ir::{At, Op};
use std::ffi::c_char;

/// An input of the graph.
pub const FXIR_OP_PLACEHOLDER: i32 = 1;
/// A member of the module, by dotted path.
pub const FXIR_OP_GET_ATTR: i32 = 2;
/// A function, by qualified name.
pub const FXIR_OP_CALL_FUNCTION: i32 = 3;
/// A method of the first argument, by name.
pub const FXIR_OP_CALL_METHOD: i32 = 4;
/// A submodule, by dotted path.
pub const FXIR_OP_CALL_MODULE: i32 = 5;
/// What the graph returns.
pub const FXIR_OP_OUTPUT: i32 = 6;

/// Where an order stays legal: a placeholder after the placeholders in front, the output last,
/// everything else before the output.
pub const FXIR_AT_DEFAULT: i32 = 0;
/// Right before the anchor.
pub const FXIR_AT_BEFORE: i32 = 1;
/// Right after the anchor.
pub const FXIR_AT_AFTER: i32 = 2;

/// The number of an op in this header.
pub(super) fn op_number(op: Op) -> i32 {
    match op {
        Op::Placeholder => FXIR_OP_PLACEHOLDER,
        Op::GetAttr => FXIR_OP_GET_ATTR,
        Op::CallFunction => FXIR_OP_CALL_FUNCTION,
        Op::CallMethod => FXIR_OP_CALL_METHOD,
        Op::CallModule => FXIR_OP_CALL_MODULE,
        Op::Output => FXIR_OP_OUTPUT,
    }
}

pub(super) fn op(number: i32) -> Outcome<Op> {
    Op::ALL
        .into_iter()
        .find(|&op| op_number(op) == number)
        .ok_or_else(|| Failure::new(FXIR_INVALID_ARGUMENT, format!("{number} is no op")))
}

pub(super) fn at(position: i32, anchor: fxir_node) -> Outcome<At> {
    match position {
        FXIR_AT_DEFAULT => Ok(At::Default),
        FXIR_AT_BEFORE => Ok(At::Before(input::node(anchor)?)),
        FXIR_AT_AFTER => Ok(At::After(input::node(anchor)?)),
        _ => Err(Failure::new(FXIR_INVALID_ARGUMENT, format!("{position} is no position (FXIR_AT_*)"))),
    }
}

/// What every function of this file comes to.
struct NewNode {
    at: At,
    op: Op,
    target: *const c_char,
    name: *const c_char,
    args: (*const fxir_arg, usize),
    kwargs: (*const fxir_kwarg, usize),
}

impl NewNode {
    fn of(op: Op, target: *const c_char) -> NewNode {
        let nothing = std::ptr::null();
        NewNode { at: At::Default, op, target, name: nothing, args: (nothing.cast(), 0), kwargs: (nothing.cast(), 0) }
    }

    #[inline]
    unsafe fn create(self, module: *mut fxir_module, node: *mut fxir_node) -> Outcome<()> {
        // SAFETY: the promise of the functions below.
        unsafe {
            let target = input::text(self.target, "target")?;
            let name = input::optional_text(self.name, "name")?;
            let node = Out::optional(node);
            let made = write_graph(module, |graph| {
                let mut reader = Reader::new(graph.symbols());
                let args = reader.args(self.args.0, self.args.1)?;
                let kwargs = reader.kwargs(self.kwargs.0, self.kwargs.1)?;
                Ok(graph.create_node(self.at, self.op, target, args, kwargs, name)?)
            })?;
            node.set(made.to_bits());
        }
        Ok(())
    }
}

/// Adds an input of the graph, after the placeholders in front. Its name is made from `name` as
/// torch.fx makes names: legal, and unique in the graph. `node` may be NULL.
///
/// For a default value use `fxir_graph_create_node` with the value as the one argument.
///
/// Statuses: FXIR_INVALID_ARGUMENT (the name is empty), FXIR_INVALID_UTF8, FXIR_LIMIT. torch.fx:
/// `Graph.placeholder`.
#[no_mangle]
pub unsafe extern "C" fn fxir_graph_placeholder(
    module: *mut fxir_module,
    name: *const c_char,
    node: *mut fxir_node,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || NewNode::of(Op::Placeholder, name).create(module, node))
}

/// Adds a node that reads a member of the module, by dotted path. Whether there is such a member is
/// for `fxir_graph_lint` to say. `node` may be NULL.
///
/// Statuses: FXIR_INVALID_ARGUMENT (the target is empty), FXIR_INVALID_UTF8, FXIR_LIMIT. torch.fx:
/// `Graph.get_attr`.
#[no_mangle]
pub unsafe extern "C" fn fxir_graph_get_attr(
    module: *mut fxir_module,
    target: *const c_char,
    node: *mut fxir_node,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || NewNode::of(Op::GetAttr, target).create(module, node))
}

/// Adds a call of a function, by its qualified name ("torch.add", "_operator.getitem"). The
/// arguments are copied; `args` and `kwargs` may be NULL when there are none, `node` may be NULL.
/// The node goes before the output, and its name is made from the target as torch.fx makes it.
///
/// Statuses: FXIR_INVALID_UTF8, FXIR_INVALID_ARGUMENT (an empty target, an unknown kind of argument,
/// a keyword given twice), FXIR_STALE_NODE (an argument is no live node of this graph), FXIR_LIMIT
/// (nested deeper than 64, too many items or nodes). torch.fx: `Graph.call_function`.
#[no_mangle]
pub unsafe extern "C" fn fxir_graph_call_function(
    module: *mut fxir_module,
    target: *const c_char,
    args: *const fxir_arg,
    args_count: usize,
    kwargs: *const fxir_kwarg,
    kwargs_count: usize,
    node: *mut fxir_node,
    error: *mut *mut fxir_error,
) -> fxir_status {
    let (args, kwargs) = ((args, args_count), (kwargs, kwargs_count));
    let new = NewNode { args, kwargs, ..NewNode::of(Op::CallFunction, target) };
    boundary::status(error, || new.create(module, node))
}

/// Adds a call of a method, by name, of the first argument ("view"). Else as
/// `fxir_graph_call_function`. torch.fx: `Graph.call_method`.
#[no_mangle]
pub unsafe extern "C" fn fxir_graph_call_method(
    module: *mut fxir_module,
    target: *const c_char,
    args: *const fxir_arg,
    args_count: usize,
    kwargs: *const fxir_kwarg,
    kwargs_count: usize,
    node: *mut fxir_node,
    error: *mut *mut fxir_error,
) -> fxir_status {
    let (args, kwargs) = ((args, args_count), (kwargs, kwargs_count));
    let new = NewNode { args, kwargs, ..NewNode::of(Op::CallMethod, target) };
    boundary::status(error, || new.create(module, node))
}

/// Adds a call of a submodule, by dotted path ("layer1.0.conv1"). Whether there is such a submodule
/// is for `fxir_graph_lint` to say. Else as `fxir_graph_call_function`. torch.fx:
/// `Graph.call_module`.
#[no_mangle]
pub unsafe extern "C" fn fxir_graph_call_module(
    module: *mut fxir_module,
    target: *const c_char,
    args: *const fxir_arg,
    args_count: usize,
    kwargs: *const fxir_kwarg,
    kwargs_count: usize,
    node: *mut fxir_node,
    error: *mut *mut fxir_error,
) -> fxir_status {
    let (args, kwargs) = ((args, args_count), (kwargs, kwargs_count));
    let new = NewNode { args, kwargs, ..NewNode::of(Op::CallModule, target) };
    boundary::status(error, || new.create(module, node))
}

/// Says what the graph returns: a node, or a tuple, list or dict of nodes. A graph has one output,
/// and it stands last. `node` may be NULL.
///
/// Statuses: FXIR_ALREADY_EXISTS (there is an output: change it with `fxir_node_set_args`), and
/// those of `fxir_graph_call_function`. torch.fx: `Graph.output`.
#[no_mangle]
pub unsafe extern "C" fn fxir_graph_output(
    module: *mut fxir_module,
    result: *const fxir_arg,
    node: *mut fxir_node,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        input::required(result, "result")?;
        let new = NewNode { args: (result, 1), ..NewNode::of(Op::Output, c"output".as_ptr()) };
        new.create(module, node)
    })
}

/// Adds a node of any op (FXIR_OP_*) at any place: `position` is one of FXIR_AT_*, `anchor` the node
/// that it is about (not looked at with FXIR_AT_DEFAULT). `name` is what the node would like to be
/// called; it is made legal and unique, and when it is NULL a name is made from the target. `node`
/// may be NULL.
///
/// Statuses: FXIR_INVALID_ARGUMENT (an unknown op, position or kind of argument), FXIR_STALE_NODE
/// (the anchor or an argument is no live node of this graph), and those of
/// `fxir_graph_call_function`. torch.fx: `Graph.create_node`, `Graph.inserting_before`,
/// `Graph.inserting_after`.
#[no_mangle]
pub unsafe extern "C" fn fxir_graph_create_node(
    module: *mut fxir_module,
    op: i32,
    target: *const c_char,
    args: *const fxir_arg,
    args_count: usize,
    kwargs: *const fxir_kwarg,
    kwargs_count: usize,
    name: *const c_char,
    position: i32,
    anchor: fxir_node,
    node: *mut fxir_node,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let (op, at) = (self::op(op)?, self::at(position, anchor)?);
        let (args, kwargs) = ((args, args_count), (kwargs, kwargs_count));
        NewNode { at, name, args, kwargs, ..NewNode::of(op, target) }.create(module, node)
    })
}
