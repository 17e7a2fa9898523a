//! Copying nodes and graphs.

use super::args::{fxir_args, ArgsRecord};
use super::boundary;
use super::error::{fxir_error, Outcome};
use super::graph::at;
use super::input::{self, Out};
use super::module::fxir_module;
use super::module_handle::{self, ModuleHandle};
use super::node::fxir_node;
use super::node_map::{fxir_node_map, fxir_node_pair, NodeMapRecord};
use super::status::*;
use crate::ir::{Args, Argument, At, Error, ErrorKind, Graph, Kwargs, NodeId, Result};
use std::collections::HashMap;

/// Copies the nodes of the graph of `source`, all but its output, into the graph of `module`, in
/// order: to `position` (FXIR_AT_*) about `anchor`, placeholders to the placeholders. `given`, which
/// may be NULL, says which nodes of `source` are not copied because another node of `module` stands
/// for them. Names are made unique. The two modules may be of one tree, or one and the same.
///
/// `returned`, which may be NULL, gets what the output of `source` returned, as a snapshot with one
/// item whose nodes are those of `module` (with none when there is no output); `map`, which may be
/// NULL, gets which node became which. The caller frees both. When the call fails, the graph is as it
/// was.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_ARGUMENT, FXIR_LINT (`source` uses a node before its
/// definition), FXIR_LIMIT. torch.fx: `Graph.graph_copy`.
#[no_mangle]
pub unsafe extern "C" fn fxir_graph_copy(
    module: *mut fxir_module,
    source: *const fxir_module,
    given: *const fxir_node_pair,
    given_count: usize,
    position: i32,
    anchor: fxir_node,
    returned: *mut *mut fxir_args,
    map: *mut *mut fxir_node_map,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let (returned, map) = (Out::optional(returned), Out::optional(map));
        let at = at(position, anchor)?;
        let given = pairs(given, given_count)?;
        let module = module_handle::module(module)?;
        let source = module_handle::module(source)?;
        let source_tree = source.snapshot()?;
        let from = source_tree.graph(source.id())?;

        let mut tree = module.lock_write()?;
        let graph = tree.graph_mut(module.id())?;
        let mut places: Vec<Option<Argument>> = vec![None; from.slot_count()];
        for &(old, new) in &given {
            from.get(old)?;
            graph.get(new)?;
            if let Some(place) = places.get_mut(old.slot()) {
                *place = Some(Argument::Node(new));
            }
        }
        let result = graph.graph_copy(at, from, &mut places)?;
        let became = from.nodes().filter_map(|old| match places.get(old.slot()) {
            Some(Some(Argument::Node(new))) => Some((old, *new)),
            _ => None,
        });
        let record = NodeMapRecord::new(became);
        let result = ArgsRecord::new(graph.symbols(), result.as_slice(), &[]);
        drop(tree);
        // Only a full table of handles can stop these.
        map.set_handle(record)?;
        returned.set_handle(result)
    })
}

/// Copies one node of the graph of `source` into the graph of `module`, to `position` (FXIR_AT_*)
/// about `anchor`, with all that is known of it. `inputs` says which node of `module` stands for each
/// node in its arguments; within one graph a node that is not named there stands for itself. The name
/// is made unique. `copy` may be NULL.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_ARGUMENT (nothing stands for an input), FXIR_ALREADY_EXISTS
/// (a second output), FXIR_LIMIT. torch.fx: `Graph.node_copy`.
#[no_mangle]
pub unsafe extern "C" fn fxir_graph_node_copy(
    module: *mut fxir_module,
    source: *const fxir_module,
    node: fxir_node,
    inputs: *const fxir_node_pair,
    inputs_count: usize,
    position: i32,
    anchor: fxir_node,
    copy: *mut fxir_node,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let copy = Out::optional(copy);
        let at = at(position, anchor)?;
        let node = input::node(node)?;
        let inputs: HashMap<NodeId, NodeId> = pairs(inputs, inputs_count)?.into_iter().collect();
        let module = module_handle::module(module)?;
        let source = module_handle::module(source)?;
        let made = if is_one(&module, &source) {
            let mut tree = module.lock_write()?;
            let graph = tree.graph_mut(module.id())?;
            for (&old, &new) in &inputs {
                graph.get(old)?;
                graph.get(new)?;
            }
            copy_within(graph, at, node, &inputs)?
        } else {
            let source_tree = source.snapshot()?;
            let from = source_tree.graph(source.id())?;
            let mut tree = module.lock_write()?;
            let graph = tree.graph_mut(module.id())?;
            for (&old, &new) in &inputs {
                from.get(old)?;
                graph.get(new)?;
            }
            graph.node_copy(at, from, node, &mut |input| match inputs.get(&input) {
                Some(&new) => Ok(Argument::Node(new)),
                None => {
                    let message = format!("nothing stands for {}, an input of the node", from.name(input));
                    Err(Error::new(ErrorKind::InvalidArgument, message).at_node(input))
                }
            })?
        };
        copy.set(made.to_bits());
        Ok(())
    })
}

fn is_one(a: &ModuleHandle, b: &ModuleHandle) -> bool {
    a.is_of_one_tree_with(b) && a.id() == b.id()
}

/// A copy beside the original, for which the graph need not be copied.
fn copy_within(graph: &mut Graph, at: At, node: NodeId, inputs: &HashMap<NodeId, NodeId>) -> Result<NodeId> {
    let source = graph.get(node)?.clone();
    let symbols = graph.symbols().clone();
    let (mut args, mut kwargs) = (Args::from(source.args()), Kwargs::from(source.kwargs()));
    for argument in args.iter_mut().chain(kwargs.iter_mut().map(|(_, value)| value)) {
        argument.replace_nodes(&mut |input| inputs.get(&input).map(|&new| Argument::Node(new)));
    }
    let (target, name) = (symbols.text(source.target()), source.name().text(&symbols));
    let made = graph.create_node(at, source.op(), target, args, kwargs, Some(name))?;
    if !source.meta().is_empty() {
        graph.set_all_meta(made, source.meta().clone())?;
    }
    if let Some(annotation) = source.type_annotation() {
        graph.set_type_annotation(made, Some(symbols.text(annotation)))?;
    }
    if let Some(comment) = source.comment() {
        graph.set_comment(made, Some(symbols.text(comment)))?;
    }
    Ok(made)
}

unsafe fn pairs(pairs: *const fxir_node_pair, count: usize) -> Outcome<Vec<(NodeId, NodeId)>> {
    // SAFETY: passed on.
    let pairs = unsafe { input::slice(pairs, count, "pairs of nodes") }?;
    pairs.iter().map(|pair| Ok((input::node(pair.from)?, input::node(pair.to)?))).collect()
}
