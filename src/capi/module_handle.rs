//! What a handle of a module stands for: a module in a tree, or a view of one for a callback.

use super::error::{Failure, Outcome};
use super::handle::{self, Handle, Object};
use super::module::fxir_module;
use super::status::*;
use super::tree_cell::{Planning, Reading, TreeCell, Writing};
use crate::ir::{Graph, ModuleId, ModuleTree, Symbols};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// A module in a tree, which it keeps alive.
#[derive(Clone)]
pub(super) struct ModuleHandle {
    cell: Arc<TreeCell>,
    id: ModuleId,
    /// For a view: the callback it was made for.
    view_of: Option<Arc<Scope>>,
}

/// One callback; views of it are dead once it has returned.
pub(super) struct Scope {
    is_open: AtomicBool,
}

impl Handle for ModuleHandle {
    type C = fxir_module;
    const WHAT: &'static str = "module";

    fn into_object(self) -> Object {
        Object::Module(self)
    }

    #[inline]
    fn of(object: &Object) -> Option<&Self> {
        match object {
            Object::Module(module) => Some(module),
            Object::Boxed(_) => None,
        }
    }
}

/// Reads the tree of a module. This is the way of every getter: when the lock is free, it costs
/// the slot's lock and the tree's.
#[inline]
pub(super) fn read<T>(module: *const fxir_module, get: impl FnOnce(&ModuleTree, ModuleId) -> Outcome<T>) -> Outcome<T> {
    let slot = handle::get::<ModuleHandle>(module)?;
    if slot.view_of.is_none() {
        if let Some(tree) = slot.cell.try_read()? {
            return get(&tree, slot.id);
        }
    }
    // The lock of the slot is not held while waiting for the tree's.
    let found = slot.clone();
    drop(slot);
    let tree = found.lock_read()?;
    get(&tree, found.id)
}

/// Reads the graph of a module.
#[inline]
pub(super) fn read_graph<T>(module: *const fxir_module, get: impl FnOnce(&Graph) -> Outcome<T>) -> Outcome<T> {
    read(module, |tree, id| get(tree.graph(id)?))
}

/// Changes the tree of a module.
#[inline]
pub(super) fn write<T>(
    module: *const fxir_module,
    change: impl FnOnce(&mut ModuleTree, ModuleId) -> Outcome<T>,
) -> Outcome<T> {
    let slot = handle::get::<ModuleHandle>(module)?;
    if slot.view_of.is_none() {
        if let Some(mut tree) = slot.cell.try_write()? {
            return change(&mut tree, slot.id);
        }
    }
    let found = slot.clone();
    drop(slot);
    let mut tree = found.lock_write()?;
    change(&mut tree, found.id)
}

/// Changes the graph of a module.
#[inline]
pub(super) fn write_graph<T>(module: *const fxir_module, change: impl FnOnce(&mut Graph) -> Outcome<T>) -> Outcome<T> {
    write(module, |tree, id| change(tree.graph_mut(id)?))
}

/// The module itself, apart from its handle; for calls that call back or look at other modules.
pub(super) fn module(module: *const fxir_module) -> Outcome<ModuleHandle> {
    let found = handle::get::<ModuleHandle>(module)?.clone();
    Ok(found)
}

impl ModuleHandle {
    pub(super) fn root_of(tree: impl Into<Arc<ModuleTree>>) -> ModuleHandle {
        let tree = tree.into();
        let id = tree.root();
        ModuleHandle { cell: TreeCell::new(tree), id, view_of: None }
    }

    /// A handle of another module of the same tree: a view if this is one.
    pub(super) fn sibling(&self, id: ModuleId) -> ModuleHandle {
        ModuleHandle { id, ..self.clone() }
    }

    /// The same module, whatever becomes of the callback whose view this is.
    pub(super) fn retained(&self) -> ModuleHandle {
        ModuleHandle { view_of: None, ..self.clone() }
    }

    pub(super) fn id(&self) -> ModuleId {
        self.id
    }

    pub(super) fn symbols(&self) -> &Arc<Symbols> {
        self.cell.symbols()
    }

    /// Whether no other handle keeps the tree alive.
    pub(super) fn is_sole_owner(&self, clones: usize) -> bool {
        Arc::strong_count(&self.cell) <= clones
    }

    pub(super) fn is_of_one_tree_with(&self, other: &ModuleHandle) -> bool {
        Arc::ptr_eq(&self.cell, &other.cell)
    }

    pub(super) fn is_root(&self) -> Outcome<bool> {
        Ok(self.lock_read()?.root() == self.id)
    }

    pub(super) fn lock_read(&self) -> Outcome<Reading<'_>> {
        match &self.view_of {
            None => self.cell.read(),
            Some(scope) if scope.is_open.load(Ordering::Acquire) => self.cell.read_view(),
            Some(_) => Err(over()),
        }
    }

    pub(super) fn lock_write(&self) -> Outcome<Writing<'_>> {
        self.refuse_view()?;
        self.cell.write()
    }

    /// For passes that call back before they change the module.
    pub(super) fn lock_plan(&self) -> Outcome<Planning<'_>> {
        self.refuse_view()?;
        self.cell.plan()
    }

    /// The tree as it is now, to be read while another is changed.
    pub(super) fn snapshot(&self) -> Outcome<Arc<ModuleTree>> {
        match &self.view_of {
            None => self.cell.snapshot(),
            Some(_) => self.lock_read().map(|tree| Arc::clone(&tree)),
        }
    }

    /// Runs a callback with a view of this module, which dies when the callback returns.
    pub(super) fn call_with_view<T>(
        &self,
        plan: &Planning<'_>,
        callback: impl FnOnce(*const fxir_module) -> T,
    ) -> Outcome<T> {
        let scope = Arc::new(Scope { is_open: AtomicBool::new(true) });
        let view = handle::create(ModuleHandle { view_of: Some(scope.clone()), ..self.clone() })?;
        struct Close(Arc<Scope>, *mut fxir_module);
        impl Drop for Close {
            fn drop(&mut self) {
                self.0.is_open.store(false, Ordering::Release);
                let _ = handle::free::<ModuleHandle>(self.1);
            }
        }
        let _close = Close(scope, view);
        Ok(plan.call_out(|| callback(view)))
    }

    fn refuse_view(&self) -> Outcome<()> {
        match &self.view_of {
            None => Ok(()),
            Some(scope) if scope.is_open.load(Ordering::Acquire) => {
                Err(Failure::new(FXIR_BUSY, "a callback may only read the module that it is given"))
            }
            Some(_) => Err(over()),
        }
    }
}

#[cold]
fn over() -> Box<Failure> {
    Failure::new(FXIR_INVALID_HANDLE, "the callback that this view of a module was made for has returned")
}
