//! Cutting parts out of a graph and putting parts in.

use super::boundary;
use super::error::{fxir_error, Failure, Outcome};
use super::handle;
use super::input::{self, Out};
use super::module::fxir_module;
use super::module_handle::{self, read_graph, ModuleHandle};
use super::node::fxir_node;
use super::status::*;
use crate::ir::NodeId;
use crate::passes::fuse::{fuse_as_graphmodule, FuseOptions, InputOrder};
use crate::passes::insert::{insert_subgm, TakenName};
use crate::passes::lift::lift_subgraph_as_module;
use crate::passes::partition::validate_partition;
use std::ffi::c_char;
use std::ptr::null;

/// A name that is taken gets a number: "fused_1".
pub const FXIR_TAKEN_NAME_NUMBERED: i32 = 0;
/// A name that is taken is `FXIR_ALREADY_EXISTS`.
pub const FXIR_TAKEN_NAME_REFUSED: i32 = 1;

/// Inputs stand in the order in which the region first uses them, as torch.fx has it.
pub const FXIR_INPUTS_BY_FIRST_USE: i32 = 0;
/// Inputs stand in the order of the graph.
pub const FXIR_INPUTS_BY_GRAPH: i32 = 1;

/// How nodes are fused. Make one with `fxir_fuse_options_init`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_fuse_options {
    /// `sizeof(fxir_fuse_options)`, set by `fxir_fuse_options_init`.
    pub struct_size: usize,
    /// The order of the inputs: one of FXIR_INPUTS_*.
    pub inputs: i32,
    /// 1: a single output is returned in a tuple too, and taken out of it by a getitem.
    pub always_return_tuple: i32,
    /// What happens when the name is taken: one of FXIR_TAKEN_NAME_*.
    pub taken_name: i32,
    /// Must be 0.
    pub reserved: i32,
    /// The type name of the new module; NULL for its own name, as in torch.
    pub class_name: *const c_char,
}

/// Makes `*options` the defaults. Does nothing when it is NULL.
#[no_mangle]
pub unsafe extern "C" fn fxir_fuse_options_init(options: *mut fxir_fuse_options) {
    if !options.is_null() {
        options.write(defaults());
    }
}

fn defaults() -> fxir_fuse_options {
    fxir_fuse_options {
        struct_size: size_of::<fxir_fuse_options>(),
        inputs: FXIR_INPUTS_BY_FIRST_USE,
        always_return_tuple: 0,
        taken_name: FXIR_TAKEN_NAME_NUMBERED,
        reserved: 0,
        class_name: null(),
    }
}

unsafe fn read(options: *const fxir_fuse_options) -> Outcome<FuseOptions> {
    // SAFETY: passed on.
    unsafe {
        let given = match options.is_null() {
            true => defaults(),
            false => input::options(options, "options")?,
        };
        if given.reserved != 0 {
            return Err(Failure::new(FXIR_INVALID_ARGUMENT, "`options.reserved` is not 0"));
        }
        Ok(FuseOptions {
            inputs: match given.inputs {
                FXIR_INPUTS_BY_FIRST_USE => InputOrder::FirstUse,
                FXIR_INPUTS_BY_GRAPH => InputOrder::Graph,
                other => {
                    let message = format!("`options.inputs` is {other}, none of FXIR_INPUTS_*");
                    return Err(Failure::new(FXIR_INVALID_ARGUMENT, message));
                }
            },
            always_return_tuple: input::flag(given.always_return_tuple, "options.always_return_tuple")?,
            taken: taken_name(given.taken_name)?,
            class_name: input::optional_text(given.class_name, "options.class_name")?.map(str::to_owned),
        })
    }
}

fn taken_name(number: i32) -> Outcome<TakenName> {
    match number {
        FXIR_TAKEN_NAME_NUMBERED => Ok(TakenName::Number),
        FXIR_TAKEN_NAME_REFUSED => Ok(TakenName::Refuse),
        other => {
            let message = format!("{other} says not what to do with a name that is taken (FXIR_TAKEN_NAME_*)");
            Err(Failure::new(FXIR_INVALID_ARGUMENT, message))
        }
    }
}

unsafe fn nodes(nodes: *const fxir_node, count: usize, what: &str) -> Outcome<Vec<NodeId>> {
    // SAFETY: passed on.
    unsafe { input::slice(nodes, count, what) }?.iter().map(|&node| input::node(node)).collect()
}

/// Moves a set of nodes into a graph module of their own, called `name`, and puts one call of it in
/// their place. Its inputs are the nodes outside that are used inside; its outputs the nodes inside
/// that are used outside, in graph order: one is the call itself, several are taken out of it by
/// `_operator.getitem`. The members that the nodes name are copied along, tensors shared. The nodes
/// in the new module have the names of those they were copied from.
///
/// `options` may be NULL for the defaults. `call`, which may be NULL, gets the node that calls the
/// new module; its target is the module's path. `fused`, which may be NULL, gets a handle of the new
/// module, which the caller frees.
///
/// Statuses: FXIR_INVALID_ARGUMENT (no node; a placeholder or the output among them; nothing outside
/// uses them; a path leaves them and comes back, so that the call would be on a cycle; a name that
/// is no path; unknown options), FXIR_STALE_NODE, FXIR_NOT_FOUND (a node names what is no member),
/// FXIR_ALREADY_EXISTS (the name is taken, and options say FXIR_TAKEN_NAME_REFUSED; an attribute
/// stands on the way), FXIR_LINT (the graph has a cycle), FXIR_UNSUPPORTED (newer options),
/// FXIR_INVALID_UTF8, FXIR_LIMIT. torch.fx: `fuse_as_graphmodule`, `insert_subgm` and `erase_nodes`.
#[no_mangle]
pub unsafe extern "C" fn fxir_fuse_as_graphmodule(
    module: *mut fxir_module,
    nodes: *const fxir_node,
    nodes_count: usize,
    name: *const c_char,
    options: *const fxir_fuse_options,
    call: *mut fxir_node,
    fused: *mut *mut fxir_module,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let (call, fused) = (Out::optional(call), Out::optional(fused));
        let nodes = self::nodes(nodes, nodes_count, "nodes")?;
        let name = input::text(name, "name")?;
        let options = read(options)?;
        let module = module_handle::module(module)?;
        let made = fuse_as_graphmodule(&mut *module.lock_write()?, module.id(), &nodes, name, &options)?;
        call.set(made.call.to_bits());
        fused.set_handle(module.sibling(made.module))
    })
}

/// Makes a copy of `submodule`, tensors shared, a member called `name`, calls it with `inputs`, and
/// lets whatever used one of `outputs` use what the call returns: the call itself for one output,
/// unless the submodule returns a tuple; `_operator.getitem` nodes for several. They take over what
/// was known of the nodes that they stand for, which stay for the caller to erase.
///
/// `name` is a dotted path; holders are made on the way where there is nothing. `taken_name` is one
/// of FXIR_TAKEN_NAME_*: a name that is a member already gets the first number that is free
/// ("fused_1"), or is refused. `call`, which may be NULL, gets the new call; its target is the path
/// under which the submodule stands. The graph need not be in order before, and is afterwards.
///
/// Of a submodule with a graph it is checked how many inputs it takes and, when it returns a tuple or
/// a list, how many items that has: inputs with a default value may be left out, and so may the last
/// items. Of a leaf nothing is known and nothing is checked.
///
/// Statuses: FXIR_INVALID_ARGUMENT (other numbers of inputs or outputs than the submodule has, an
/// input that needs one of the outputs, the output of the graph among either, a name that is no
/// path), FXIR_STALE_NODE, FXIR_ALREADY_EXISTS (the name is taken, and FXIR_TAKEN_NAME_REFUSED was
/// given; an attribute stands on the way), FXIR_LINT (the graph has a cycle), FXIR_INVALID_UTF8,
/// FXIR_LIMIT. torch.fx: `insert_subgm`.
#[no_mangle]
pub unsafe extern "C" fn fxir_insert_subgm(
    module: *mut fxir_module,
    submodule: *const fxir_module,
    name: *const c_char,
    inputs: *const fxir_node,
    inputs_count: usize,
    outputs: *const fxir_node,
    outputs_count: usize,
    taken_name: i32,
    call: *mut fxir_node,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let call = Out::optional(call);
        let name = input::text(name, "name")?;
        let (inputs, outputs) = (nodes(inputs, inputs_count, "inputs")?, nodes(outputs, outputs_count, "outputs")?);
        let taken_name = self::taken_name(taken_name)?;
        let module = module_handle::module(module)?;
        let submodule = module_handle::module(submodule)?;
        let fragment = submodule.snapshot()?.copy_out(submodule.id(), module.symbols())?;
        let mut tree = module.lock_write()?;
        let made = insert_subgm(&mut tree, module.id(), fragment, name, &inputs, &outputs, taken_name)?;
        call.set(made.call.to_bits());
        Ok(())
    })
}

/// Makes a module of its own out of the graph of `subgraph`, with those members of `module` that its
/// call_module and get_attr nodes name, under the same paths; tensors are shared. `class_name` may be
/// NULL for "GraphModule". The caller frees `*lifted`.
///
/// Statuses: FXIR_NOT_FOUND (a node names a member that `module` does not have; `fxir_error_node`
/// says which), FXIR_INVALID_UTF8, FXIR_LIMIT. torch.fx: `lift_subgraph_as_module`.
#[no_mangle]
pub unsafe extern "C" fn fxir_lift_subgraph_as_module(
    module: *const fxir_module,
    subgraph: *const fxir_module,
    class_name: *const c_char,
    lifted: *mut *mut fxir_module,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let lifted = Out::required(lifted, "lifted")?;
        let class_name = input::optional_text(class_name, "class_name")?.unwrap_or("GraphModule");
        let module = module_handle::module(module)?;
        let subgraph = module_handle::module(subgraph)?;
        let (tree, subgraph_tree) = (module.snapshot()?, subgraph.snapshot()?);
        let graph = subgraph_tree.graph(subgraph.id())?;
        let made = lift_subgraph_as_module(&tree, module.id(), graph, class_name)?;
        lifted.set(handle::create(ModuleHandle::root_of(made))?);
        Ok(())
    })
}

/// Whether a set of nodes can become one without a cycle, that is, whether no path leaves it and
/// comes back: stores 1 or 0 into `*valid`.
///
/// Statuses: FXIR_STALE_NODE. torch.fx: `validate_partition`.
#[no_mangle]
pub unsafe extern "C" fn fxir_validate_partition(
    module: *const fxir_module,
    nodes: *const fxir_node,
    nodes_count: usize,
    valid: *mut i32,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let valid = Out::required(valid, "valid")?;
        let nodes = self::nodes(nodes, nodes_count, "nodes")?;
        let is_valid = read_graph(module, |graph| Ok(validate_partition(graph, &nodes)?))?;
        valid.set(i32::from(is_valid));
        Ok(())
    })
}
