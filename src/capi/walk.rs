//! Walking a graph: nodes in order, forwards and backwards, one by one or all at once.

use super::boundary;
use super::input;
use super::module::fxir_module;
use super::module_handle::read_graph;
use super::node::{bits, fxir_node};
use std::ffi::c_char;

/// The first node in the order; 0 when there is none or `module` is no graph module.
#[no_mangle]
pub extern "C" fn fxir_graph_first(module: *const fxir_module) -> fxir_node {
    boundary::value(0, || read_graph(module, |graph| Ok(bits(graph.first()))))
}

/// The last node in the order; 0 when there is none or `module` is no graph module.
#[no_mangle]
pub extern "C" fn fxir_graph_last(module: *const fxir_module) -> fxir_node {
    boundary::value(0, || read_graph(module, |graph| Ok(bits(graph.last()))))
}

/// The node after this one; 0 after the last, and when `node` is no live node of the graph. To erase
/// nodes on the way, ask for the next one before erasing.
#[no_mangle]
pub extern "C" fn fxir_graph_next(module: *const fxir_module, node: fxir_node) -> fxir_node {
    boundary::value(0, || {
        let node = input::node(node)?;
        read_graph(module, |graph| graph.get(node).map(|_| bits(graph.next(node))).map_err(Into::into))
    })
}

/// The node before this one; 0 before the first, and when `node` is no live node of the graph.
#[no_mangle]
pub extern "C" fn fxir_graph_prev(module: *const fxir_module, node: fxir_node) -> fxir_node {
    boundary::value(0, || {
        let node = input::node(node)?;
        read_graph(module, |graph| graph.get(node).map(|_| bits(graph.prev(node))).map_err(Into::into))
    })
}

/// How many nodes the graph has; 0 when `module` is no graph module.
#[no_mangle]
pub extern "C" fn fxir_graph_node_count(module: *const fxir_module) -> usize {
    boundary::value(0, || read_graph(module, |graph| Ok(graph.len())))
}

/// All nodes in order: fills `nodes` with as many as `capacity` allows and returns how many there
/// are. `nodes` may be NULL when `capacity` is 0. torch.fx: `Graph.nodes`.
#[no_mangle]
pub unsafe extern "C" fn fxir_graph_nodes(module: *const fxir_module, nodes: *mut fxir_node, capacity: usize) -> usize {
    boundary::value(0, || {
        read_graph(module, |graph| {
            input::fill(nodes, capacity, graph.nodes().take(capacity).map(|node| node.to_bits()));
            Ok(graph.len())
        })
    })
}

/// The node of that name; 0 when there is none. Looks at every node: keep ids, not names.
#[no_mangle]
pub unsafe extern "C" fn fxir_graph_find_node(module: *const fxir_module, name: *const c_char) -> fxir_node {
    boundary::value(0, || {
        let name = input::text(name, "name")?;
        read_graph(module, |graph| Ok(bits(graph.find_node(name))))
    })
}

/// The output node; 0 when there is none yet.
#[no_mangle]
pub extern "C" fn fxir_graph_output_node(module: *const fxir_module) -> fxir_node {
    boundary::value(0, || read_graph(module, |graph| Ok(bits(graph.output_node()))))
}
