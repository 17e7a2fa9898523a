//! Modules: making them, copying them, and which module of a tree a handle stands for.

use super::boundary;
use super::error::{fxir_error, Failure, Outcome};
use super::handle;
use super::input::{self, Out};
use super::module_handle::{self, read, write, ModuleHandle};
use super::node_map::{fxir_node_map, NodeMapRecord};
use super::status::*;
use crate::ir::{ModuleKind, ModuleTree, Symbols};
use std::ffi::c_char;
use std::ptr::null;

/// A module: a graph with its submodules, parameters and buffers, or a leaf that only its backend
/// knows. A module with everything below it is one tree, and a handle may stand for any module of
/// it; every handle keeps the whole tree alive and is freed with `fxir_module_free`.
///
/// Any thread may use any handle. Calls that only read a tree run side by side, a call that changes
/// it waits until it is alone.
pub struct fxir_module;

/// No module.
pub const FXIR_MODULE_NONE: i32 = 0;
/// It has a graph (torch's `GraphModule`).
pub const FXIR_MODULE_GRAPH: i32 = 1;
/// A call of it is one operation, told by its type and attributes ("torch.nn.modules.conv.Conv2d").
pub const FXIR_MODULE_LEAF: i32 = 2;
/// It only holds members.
pub const FXIR_MODULE_HOLDER: i32 = 3;

/// A new module with an empty graph. `class_name` may be NULL for "GraphModule". The caller frees
/// `*module` with `fxir_module_free`.
///
/// Statuses: FXIR_INVALID_UTF8. torch.fx: `GraphModule(torch.nn.Module(), Graph())`.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_new(
    class_name: *const c_char,
    module: *mut *mut fxir_module,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let module = Out::required(module, "module")?;
        let class_name = input::optional_text(class_name, "class_name")?.unwrap_or("GraphModule");
        module.set_handle(ModuleHandle::root_of(ModuleTree::new(class_name)))
    })
}

/// A copy of a module with all below it, as a tree of its own: structure copied, tensors shared.
/// Its nodes have the same names and other ids; `map`, which may be NULL, gets which node of the
/// module's graph became which (free it with `fxir_node_map_free`; empty for a module that has no
/// graph). The caller frees `*clone`.
///
/// Statuses: FXIR_LIMIT. torch: `copy.deepcopy`, but for the tensors.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_clone(
    module: *const fxir_module,
    clone: *mut *mut fxir_module,
    map: *mut *mut fxir_node_map,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let (clone, map) = (Out::required(clone, "clone")?, Out::optional(map));
        let module = module_handle::module(module)?;
        let symbols = Symbols::new();
        let mut pairs = Vec::new();
        let fragment =
            module.snapshot()?.copy_out_with_map(module.id(), &symbols, |old, new| pairs.push((old, new)))?;
        let copy = ModuleHandle::root_of(ModuleTree::from_fragment(symbols, fragment));
        let made = handle::create(copy)?;
        if let Err(failure) = map.set_handle(NodeMapRecord::new(pairs)) {
            handle::free::<ModuleHandle>(made)?;
            return Err(failure);
        }
        clone.set(made);
        Ok(())
    })
}

/// Another handle of the same module, for another owner; it is freed on its own.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_retain(
    module: *const fxir_module,
    retained: *mut *mut fxir_module,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let retained = Out::required(retained, "retained")?;
        let same = module_handle::module(module)?.retained();
        retained.set_handle(same)
    })
}

/// Frees a handle of a module. With the last handle into a tree the tree goes, and with it every
/// text that was read from it. NULL and a dead handle do nothing.
#[no_mangle]
pub extern "C" fn fxir_module_free(module: *mut fxir_module) {
    boundary::value((), || handle::free::<ModuleHandle>(module));
}

/// What the module is: one of FXIR_MODULE_*; 0 when the handle is dead or the module was removed.
#[no_mangle]
pub extern "C" fn fxir_module_kind(module: *const fxir_module) -> i32 {
    boundary::value(FXIR_MODULE_NONE, || {
        read(module, |tree, id| {
            Ok(match tree.get(id)?.kind() {
                ModuleKind::Graph(_) => FXIR_MODULE_GRAPH,
                ModuleKind::Leaf => FXIR_MODULE_LEAF,
                ModuleKind::Holder => FXIR_MODULE_HOLDER,
            })
        })
    })
}

/// The qualified name of the module's type ("torch.nn.modules.conv.Conv2d"). The text lives until
/// the last handle into the tree is freed; NULL when the handle is dead. torch: `torch.typename`.
#[no_mangle]
pub extern "C" fn fxir_module_type_name(module: *const fxir_module) -> *const c_char {
    boundary::value(null(), || {
        read(module, |tree, id| Ok(tree.symbols().text_with_nul(tree.get(id)?.type_name()).as_ptr().cast()))
    })
}

/// Changes the name of the module's type.
///
/// Statuses: FXIR_INVALID_UTF8.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_set_type_name(
    module: *mut fxir_module,
    type_name: *const c_char,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let type_name = input::text(type_name, "type_name")?;
        write(module, |tree, id| Ok(tree.set_type_name(id, type_name)?))
    })
}

/// The dotted path of a module in its tree; "" for the root. The text lives until the last handle
/// into the tree is freed; NULL when the handle is dead or the module was removed.
#[no_mangle]
pub extern "C" fn fxir_module_path(module: *const fxir_module) -> *const c_char {
    boundary::value(null(), || {
        read(module, |tree, id| {
            let symbols = tree.symbols();
            let path = symbols.intern(&tree.path(id, tree.root())?);
            Ok(symbols.text_with_nul(path).as_ptr().cast())
        })
    })
}

/// A number that a module shares with all its copies, and with nothing else: tells that two members
/// were one module. 0 when the handle is dead.
#[no_mangle]
pub extern "C" fn fxir_module_origin(module: *const fxir_module) -> u64 {
    boundary::value(0, || read(module, |tree, id| Ok(tree.get(id)?.origin())))
}

/// A handle of the submodule under a dotted path ("layer1.0.conv1"), of the same tree; "" leads to
/// the module itself. The caller frees it. Out of a view it gives a view that dies with the first.
///
/// Statuses: FXIR_NOT_FOUND, FXIR_INVALID_UTF8. torch: `Module.get_submodule`.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_get_submodule(
    module: *const fxir_module,
    path: *const c_char,
    submodule: *mut *mut fxir_module,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let submodule = Out::required(submodule, "submodule")?;
        let path = input::text(path, "path")?;
        let module = module_handle::module(module)?;
        let id = match path {
            "" => module.lock_read()?.get(module.id()).map(|_| module.id())?,
            path => module.lock_read()?.submodule(module.id(), path)?,
        };
        submodule.set_handle(module.sibling(id))
    })
}

/// Makes a submodule under a dotted path: a graph module with an empty graph, a leaf or a holder
/// (`kind`, FXIR_MODULE_*), of the type `type_name`. Holders are made on the way where there is
/// nothing. What bore the name before is removed. `submodule` may be NULL; else the caller frees
/// it.
///
/// Statuses: FXIR_INVALID_ARGUMENT (an unknown kind, a path that is none), FXIR_ALREADY_EXISTS (an
/// attribute stands on the way), FXIR_INVALID_UTF8, FXIR_LIMIT (nested deeper than 64). torch:
/// `GraphModule.add_submodule`.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_add_submodule(
    module: *mut fxir_module,
    path: *const c_char,
    kind: i32,
    type_name: *const c_char,
    submodule: *mut *mut fxir_module,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        use crate::ir::NewModule;
        let submodule = Out::optional(submodule);
        let (path, type_name) = (input::text(path, "path")?, input::text(type_name, "type_name")?);
        let kind = match kind {
            FXIR_MODULE_GRAPH => NewModule::Graph,
            FXIR_MODULE_LEAF => NewModule::Leaf,
            FXIR_MODULE_HOLDER => NewModule::Holder,
            _ => {
                let message = format!("{kind} is no kind of module (FXIR_MODULE_*)");
                return Err(Failure::new(FXIR_INVALID_ARGUMENT, message));
            }
        };
        let module = module_handle::module(module)?;
        let id = module.lock_write()?.add_module(module.id(), path, type_name, kind)?;
        submodule.set_handle(module.sibling(id))
    })
}

/// Puts a copy of `submodule`, with all below it, under a dotted path: structure copied, tensors
/// shared. The two may be of one tree. What bore the name before is removed, and holders are made on
/// the way where there is nothing.
///
/// Statuses: FXIR_INVALID_ARGUMENT, FXIR_ALREADY_EXISTS (an attribute stands on the way),
/// FXIR_INVALID_UTF8, FXIR_LIMIT. torch: `GraphModule.add_submodule`.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_set_submodule(
    module: *mut fxir_module,
    path: *const c_char,
    submodule: *const fxir_module,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let path = input::text(path, "path")?;
        let module = module_handle::module(module)?;
        let submodule = module_handle::module(submodule)?;
        put(&module, path, &submodule)
    })
}

/// Moves `submodule`, the root of a tree of its own, under a dotted path, and frees its handle. On
/// failure the handle lives on. Ids of its nodes are dead afterwards; names are the same.
///
/// Statuses: FXIR_BUSY (its tree has other handles), FXIR_INVALID_ARGUMENT (it is no root, or of the
/// same tree), and those of `fxir_module_set_submodule`.
#[no_mangle]
pub unsafe extern "C" fn fxir_module_set_submodule_take(
    module: *mut fxir_module,
    path: *const c_char,
    submodule: *mut fxir_module,
    error: *mut *mut fxir_error,
) -> fxir_status {
    boundary::status(error, || {
        let path = input::text(path, "path")?;
        let owner = module_handle::module(module)?;
        let taken = module_handle::module(submodule)?;
        if taken.is_of_one_tree_with(&owner) {
            return Err(Failure::new(FXIR_INVALID_ARGUMENT, "a module cannot be moved into its own tree"));
        }
        if !taken.is_root()? {
            return Err(Failure::new(FXIR_INVALID_ARGUMENT, "only the root of a tree can be moved"));
        }
        // One owner is the handle, the other this call.
        if !taken.is_sole_owner(2) {
            return Err(Failure::new(FXIR_BUSY, "the module's tree has other handles"));
        }
        put(&owner, path, &taken)?;
        handle::free::<ModuleHandle>(submodule)
    })
}

fn put(module: &ModuleHandle, path: &str, submodule: &ModuleHandle) -> Outcome<()> {
    // Copied with the table of the tree that it goes into, before that tree is locked.
    let fragment = submodule.snapshot()?.copy_out(submodule.id(), module.symbols())?;
    module.lock_write()?.attach(module.id(), path, fragment)?;
    Ok(())
}
