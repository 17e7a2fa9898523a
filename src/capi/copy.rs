//! Copying nodes and graphs, and inlining submodules.

use super::args::{fxir_args, ArgsRecord};
use super::boundary;
use super::error::{fxir_error, Failure, Outcome};
use super::graph::at;
use super::input::{self, Out};
use super::module::fxir_module;
use super::module_handle::{self, ModuleHandle};
use super::node::fxir_node;
use super::node_map::{fxir_node_map, fxir_node_pair, NodeMapRecord};
use super::status::*;
use crate::ir::{Argument, CopyNames, Error, ErrorKind, NodeId};
use crate::passes::inline::inline_submodule;
use std::collections::HashMap;
use std::ffi::c_char;

/// As what they are copies of, made unique: as torch.fx does it.
pub const FXIR_COPY_NAMES_UNIQUE: i32 = 0;
/// Just as what they are copies of. A name that was given before, if only to a node that is gone now, is
/// refused with `FXIR_ALREADY_EXISTS`.
pub const FXIR_COPY_NAMES_KEEP: i32 = 1;
/// The same after a prefix and "_", made unique.
pub const FXIR_COPY_NAMES_PREFIXED: i32 = 2;
/// After their targets, as new nodes are.
pub const FXIR_COPY_NAMES_BY_TARGET: i32 = 3;

/// How copies are made. Make one with `fxir_copy_options_init`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_copy_options {
    /// `sizeof(fxir_copy_options)`, set by `fxir_copy_options_init`.
    pub struct_size: usize,
    /// How copies are called: one of FXIR_COPY_NAMES_*.
    pub names: i32,
    /// Must be 0.
    pub reserved: i32,
    /// For FXIR_COPY_NAMES_PREFIXED, and else NULL.
    pub prefix: *const c_char,
}

/// Makes `*options` the defaults: FXIR_COPY_NAMES_UNIQUE. Does nothing when it is NULL.
#[no_mangle]
pub unsafe extern "C" fn fxir_copy_options_init(options: *mut fxir_copy_options) {
    if !options.is_null() {
        options.write(fxir_copy_options {
            struct_size: size_of::<fxir_copy_options>(),
            names: FXIR_COPY_NAMES_UNIQUE,
            reserved: 0,
            prefix: std::ptr::null(),
        });
    }
}

unsafe fn names<'a>(options: *const fxir_copy_options) -> Outcome<CopyNames<'a>> {
    if options.is_null() {
        return Ok(CopyNames::Unique);
    }
    let refuse = |message: String| Err(Failure::new(FXIR_INVALID_ARGUMENT, message));
    // SAFETY: passed on.
    let given = unsafe { input::options(options, "options") }?;
    if given.reserved != 0 {
        return refuse("`options.reserved` is not 0".into());
    }
    if given.prefix.is_null() != (given.names != FXIR_COPY_NAMES_PREFIXED) {
        return refuse("a `prefix` goes with FXIR_COPY_NAMES_PREFIXED and with no other".into());
    }
    match given.names {
        FXIR_COPY_NAMES_UNIQUE => Ok(CopyNames::Unique),
        FXIR_COPY_NAMES_KEEP => Ok(CopyNames::Keep),
        // SAFETY: passed on; the caller's text outlives the call.
        FXIR_COPY_NAMES_PREFIXED => Ok(CopyNames::Prefixed(unsafe { input::text(given.prefix, "options.prefix") }?)),
        FXIR_COPY_NAMES_BY_TARGET => Ok(CopyNames::ByTarget),
        other => refuse(format!("`options.names` is {other}, none of FXIR_COPY_NAMES_*")),
    }
}

/// Copies the nodes of the graph of `source`, all but its output, into the graph of `module`, in
/// order: to `position` (FXIR_AT_*) about `anchor`, placeholders to the placeholders. `given`, which
/// may be NULL, says which nodes of `source` are not copied because another node of `module` stands
/// for them. `options` may be NULL for the defaults. The two modules may be of one tree, or one and the
/// same.
///
/// `returned`, which may be NULL, gets what the output of `source` returned, as a snapshot with one
/// item whose nodes are those of `module` (with none when there is no output); `map`, which may be
/// NULL, gets which node became which. The caller frees both. When the call fails, the graph is as it
/// was.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_ARGUMENT, FXIR_LINT (`source` uses a node before its
/// definition), FXIR_ALREADY_EXISTS (FXIR_COPY_NAMES_KEEP and a name that was given), FXIR_LIMIT. torch.fx: `Graph.graph_copy`.
#[no_mangle]
pub unsafe extern "C" fn fxir_graph_copy(
    module: *mut fxir_module,
    source: *const fxir_module,
    given: *const fxir_node_pair,
    given_count: usize,
    position: i32,
    anchor: fxir_node,
    options: *const fxir_copy_options,
    returned: *mut *mut fxir_args,
    map: *mut *mut fxir_node_map,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let (returned, map) = (Out::optional(returned), Out::optional(map));
        let (at, names) = (at(position, anchor)?, names(options)?);
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
        let result = graph.graph_copy(at, from, names, &mut places)?;
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
/// node in its arguments; within one graph a node that is not named there stands for itself. `options` may
/// be NULL for the defaults, and `copy` too.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_ARGUMENT (nothing stands for an input), FXIR_ALREADY_EXISTS
/// (a second output; FXIR_COPY_NAMES_KEEP and a name that was given), FXIR_LIMIT. torch.fx: `Graph.node_copy`.
#[no_mangle]
pub unsafe extern "C" fn fxir_graph_node_copy(
    module: *mut fxir_module,
    source: *const fxir_module,
    node: fxir_node,
    inputs: *const fxir_node_pair,
    inputs_count: usize,
    position: i32,
    anchor: fxir_node,
    options: *const fxir_copy_options,
    copy: *mut fxir_node,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let copy = Out::optional(copy);
        let (at, names) = (at(position, anchor)?, names(options)?);
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
            graph.node_copy_within(at, node, names, &mut |input| inputs.get(&input).map(|&new| Argument::Node(new)))?
        } else {
            let source_tree = source.snapshot()?;
            let from = source_tree.graph(source.id())?;
            let mut tree = module.lock_write()?;
            let graph = tree.graph_mut(module.id())?;
            for (&old, &new) in &inputs {
                from.get(old)?;
                graph.get(new)?;
            }
            graph.node_copy(at, from, node, names, &mut |input| match inputs.get(&input) {
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

/// Puts the nodes of a graph module in the place of the node that calls it.
///
/// Arguments are bound to placeholders as Python binds them: by position, then by keyword, then by the
/// placeholder's default; `*args` and `**kwargs` take the rest. What the submodule returns stands for
/// `call`; where that is a tuple, list or dict, `_operator.getitem` nodes that take one item of it go as
/// well. Members that the nodes name come to `module` under their own names, and get a number where it
/// has another of that name: "act_1". The submodule is deleted when no graph that holds it names it any
/// more. The graph is in order afterwards.
///
/// `options`, which say how copies are called, may be NULL for the defaults. `map`, which may be NULL
/// and which the caller frees, gets which node of the submodule, but its placeholders, became which; the
/// former are stale when the submodule is gone. When the call fails, nothing changes.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_ARGUMENT (`call` calls no graph module, or with arguments that
/// do not fit its placeholders), FXIR_NOT_FOUND (it calls what is not there), FXIR_LINT (a graph has a
/// cycle, or the submodule's is not in order), FXIR_ALREADY_EXISTS (FXIR_COPY_NAMES_KEEP and a name that
/// was given), FXIR_LIMIT, FXIR_UNSUPPORTED (newer options). torch.fx: none; `node_inline_` of
/// torch.export.
#[no_mangle]
pub unsafe extern "C" fn fxir_inline_submodule(
    module: *mut fxir_module,
    call: fxir_node,
    options: *const fxir_copy_options,
    map: *mut *mut fxir_node_map,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let map = Out::optional(map);
        let (call, names) = (input::node(call)?, names(options)?);
        let pairs = module_handle::write(module, |tree, id| Ok(inline_submodule(tree, id, call, names)?))?;
        map.set_handle(NodeMapRecord::new(pairs))
    })
}

fn is_one(a: &ModuleHandle, b: &ModuleHandle) -> bool {
    a.is_of_one_tree_with(b) && a.id() == b.id()
}

unsafe fn pairs(pairs: *const fxir_node_pair, count: usize) -> Outcome<Vec<(NodeId, NodeId)>> {
    // SAFETY: passed on.
    let pairs = unsafe { input::slice(pairs, count, "pairs of nodes") }?;
    pairs.iter().map(|pair| Ok((input::node(pair.from)?, input::node(pair.to)?))).collect()
}
