//! Which node became which: `fxir_node_map`.

use super::boundary;
use super::error::Outcome;
use super::handle::{self, Handle};
use super::input;
use super::node::fxir_node;
use crate::ir::NodeId;
use std::collections::HashMap;

/// Which nodes became which nodes of another graph, or of their own, as a call that copied or merged
/// them left it. Freed with `fxir_node_map_free`.
pub struct fxir_node_map;

/// A node and what stands for it elsewhere.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_node_pair {
    /// The node that was copied, or that is gone.
    pub from: fxir_node,
    /// What stands for it.
    pub to: fxir_node,
}

pub(super) struct NodeMapRecord {
    pairs: Box<[fxir_node_pair]>,
    places: HashMap<NodeId, usize>,
}

impl Handle for NodeMapRecord {
    type C = fxir_node_map;
    const WHAT: &'static str = "map of nodes";
}

impl NodeMapRecord {
    pub(super) fn new(pairs: impl IntoIterator<Item = (NodeId, NodeId)>) -> NodeMapRecord {
        let pairs: Vec<(NodeId, NodeId)> = pairs.into_iter().collect();
        NodeMapRecord {
            places: pairs.iter().enumerate().map(|(place, (from, _))| (*from, place)).collect(),
            pairs: pairs
                .into_iter()
                .map(|(from, to)| fxir_node_pair { from: from.to_bits(), to: to.to_bits() })
                .collect(),
        }
    }
}

fn read<T>(map: *const fxir_node_map, none: T, get: impl FnOnce(&NodeMapRecord) -> Outcome<T>) -> T {
    boundary::value(none, || get(&*handle::get::<NodeMapRecord>(map)?))
}

/// How many pairs; 0 when `map` is none.
#[no_mangle]
pub extern "C" fn fxir_node_map_count(map: *const fxir_node_map) -> usize {
    read(map, 0, |map| Ok(map.pairs.len()))
}

/// All pairs, `fxir_node_map_count` of them, in the order of the copied graph. They live until the
/// map is freed; NULL when there are none.
#[no_mangle]
pub extern "C" fn fxir_node_map_pairs(map: *const fxir_node_map) -> *const fxir_node_pair {
    read(map, std::ptr::null(), |map| Ok(if map.pairs.is_empty() { std::ptr::null() } else { map.pairs.as_ptr() }))
}

/// What stands for a node; 0 when nothing does.
#[no_mangle]
pub extern "C" fn fxir_node_map_get(map: *const fxir_node_map, from: fxir_node) -> fxir_node {
    read(map, 0, |map| {
        let from = input::node(from)?;
        Ok(map.places.get(&from).and_then(|&place| map.pairs.get(place)).map_or(0, |pair| pair.to))
    })
}

/// Frees a map. NULL and a dead handle do nothing.
#[no_mangle]
pub extern "C" fn fxir_node_map_free(map: *mut fxir_node_map) {
    boundary::value((), || handle::free::<NodeMapRecord>(map));
}
