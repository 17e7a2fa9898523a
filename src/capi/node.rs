//! Reading a node.

use super::args::{fxir_args, ArgsRecord};
use super::boundary;
use super::error::{fxir_error, Outcome};
use super::graph::op_number;
use super::input::{self, Out};
use super::module::fxir_module;
use super::module_handle::read_graph;
use super::status::*;
use crate::ir::{Argument, Graph, Node, NodeId, Op, Symbol};
use std::ffi::{c_char, CStr};
use std::ptr::null;

/// A node of a graph; 0 is none. A number, not a pointer: copy it, compare it, keep it. Once the
/// node is erased, and in any other graph, the number is refused with `FXIR_STALE_NODE`. It means
/// nothing in another process: in files use names.
pub type fxir_node = u64;

pub(super) fn bits(node: Option<NodeId>) -> fxir_node {
    node.map_or(0, NodeId::to_bits)
}

#[inline]
fn read<T>(module: *const fxir_module, node: fxir_node, none: T, get: impl FnOnce(&Graph, &Node, NodeId) -> T) -> T {
    boundary::value(none, || {
        let id = input::node(node)?;
        read_graph(module, |graph| Ok(get(graph, graph.get(id)?, id)))
    })
}

#[inline]
fn text(graph: &Graph, symbol: Symbol) -> *const c_char {
    graph.symbols().text_with_nul(symbol).as_ptr().cast()
}

/// What the node does: one of FXIR_OP_*; 0 when it is no live node.
#[no_mangle]
pub extern "C" fn fxir_node_op(module: *const fxir_module, node: fxir_node) -> i32 {
    read(module, node, 0, |_, node, _| op_number(node.op()))
}

/// What the node does, as torch.fx spells it ("call_function"). The text lives for ever; NULL when
/// it is no live node. torch.fx: `Node.op`.
#[no_mangle]
pub extern "C" fn fxir_node_op_name(module: *const fxir_module, node: fxir_node) -> *const c_char {
    read(module, node, null(), |_, node, _| op_name(node.op()).as_ptr())
}

pub(super) fn op_name(op: Op) -> &'static CStr {
    match op {
        Op::Placeholder => c"placeholder",
        Op::GetAttr => c"get_attr",
        Op::CallFunction => c"call_function",
        Op::CallMethod => c"call_method",
        Op::CallModule => c"call_module",
        Op::Output => c"output",
    }
}

/// The node's name, unique in its graph. The text lives until the last handle into the module's
/// tree is freed, whatever is edited; NULL when it is no live node. torch.fx: `Node.name`.
#[no_mangle]
pub extern "C" fn fxir_node_name(module: *const fxir_module, node: fxir_node) -> *const c_char {
    read(module, node, null(), |graph, node, _| text(graph, node.name().symbol(graph.symbols())))
}

/// What the node calls, gets or takes: a qualified name, a method, a dotted path, an input's name.
/// The text lives as that of `fxir_node_name`; NULL when it is no live node. torch.fx:
/// `Node.target`.
#[no_mangle]
pub extern "C" fn fxir_node_target(module: *const fxir_module, node: fxir_node) -> *const c_char {
    read(module, node, null(), |graph, node, _| text(graph, node.target()))
}

/// The annotation of the node's type, as it was spelled; NULL when there is none. The text lives as
/// that of `fxir_node_name`. torch.fx: `Node.type`.
#[no_mangle]
pub extern "C" fn fxir_node_type(module: *const fxir_module, node: fxir_node) -> *const c_char {
    read(module, node, null(), |graph, node, _| node.type_annotation().map_or(null(), |symbol| text(graph, symbol)))
}

/// The comment that stands with the node; NULL when there is none. The text lives as that of
/// `fxir_node_name`.
#[no_mangle]
pub extern "C" fn fxir_node_comment(module: *const fxir_module, node: fxir_node) -> *const c_char {
    read(module, node, null(), |graph, node, _| node.comment().map_or(null(), |symbol| text(graph, symbol)))
}

/// A snapshot of the node's arguments, positional and keyword. Free it with `fxir_args_free`.
///
/// Statuses: FXIR_STALE_NODE. torch.fx: `Node.args`, `Node.kwargs`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_args(
    module: *const fxir_module,
    node: fxir_node,
    args: *mut *mut fxir_args,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let args = Out::required(args, "args")?;
        let id = input::node(node)?;
        let record = read_graph(module, |graph| {
            let node = graph.get(id)?;
            Ok(ArgsRecord::new(graph.symbols(), node.args(), node.kwargs()))
        })?;
        args.set_handle(record)
    })
}

/// How many positional arguments the node has; 0 when it is no live node.
#[no_mangle]
pub extern "C" fn fxir_node_arg_count(module: *const fxir_module, node: fxir_node) -> usize {
    read(module, node, 0, |_, node, _| node.args().len())
}

/// The node that stands as positional argument `index`; 0 when there is none there, or something
/// else. For all kinds of arguments use `fxir_node_args`.
#[no_mangle]
pub extern "C" fn fxir_node_arg_node(module: *const fxir_module, node: fxir_node, index: usize) -> fxir_node {
    read(module, node, 0, |_, node, _| match node.args().get(index) {
        Some(Argument::Node(input)) => input.to_bits(),
        _ => 0,
    })
}

/// How many nodes use this one; 0 when it is no live node. torch.fx: `len(Node.users)`.
#[no_mangle]
pub extern "C" fn fxir_node_user_count(module: *const fxir_module, node: fxir_node) -> usize {
    read(module, node, 0, |graph, _, id| graph.user_count(id))
}

/// The nodes that hold this one anywhere in their arguments, each once, in the order in which the
/// uses were made: fills `users` with as many as `capacity` allows and returns how many there are.
/// `users` may be NULL when `capacity` is 0. torch.fx: `Node.users`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_users(
    module: *const fxir_module,
    node: fxir_node,
    users: *mut fxir_node,
    capacity: usize,
) -> usize {
    read(module, node, 0, |graph, _, id| {
        input::fill(users, capacity, graph.users(id).take(capacity).map(NodeId::to_bits));
        graph.user_count(id)
    })
}

/// The nodes that this one holds anywhere in its arguments, each once, in the order of their first
/// mention: fills `inputs` with as many as `capacity` allows and returns how many there are.
/// `inputs` may be NULL when `capacity` is 0. torch.fx: `Node.all_input_nodes`.
#[no_mangle]
pub unsafe extern "C" fn fxir_node_input_nodes(
    module: *const fxir_module,
    node: fxir_node,
    inputs: *mut fxir_node,
    capacity: usize,
) -> usize {
    read(module, node, 0, |graph, _, id| input::fill(inputs, capacity, graph.input_nodes(id).map(NodeId::to_bits)))
}

/// 1 when node `a` stands before node `b` in the order, else 0; 0 too when one is no live node.
#[no_mangle]
pub extern "C" fn fxir_node_is_before(module: *const fxir_module, a: fxir_node, b: fxir_node) -> i32 {
    boundary::value(0, || -> Outcome<i32> {
        let (a, b) = (input::node(a)?, input::node(b)?);
        read_graph(module, |graph| {
            graph.get(a)?;
            graph.get(b)?;
            Ok(i32::from(graph.is_before(a, b)))
        })
    })
}
