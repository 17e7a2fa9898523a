//! A tree of modules with its lock, and what may be done to it from inside a callback.
//!
//! Readers run side by side, a writer is alone. A pass that calls the user back computes under a
//! lock that lets readers in but no writer, and changes the tree after the last callback. While a
//! callback runs, its thread reads that tree through the view it was given and no other way, and
//! waits for no lock at all: what is not free at once is BUSY.
//!
//! Nothing ever locks two trees. What a call only reads beside the tree that it changes (a
//! pattern, a graph to copy) it takes as a [snapshot](TreeCell::snapshot) first, which costs
//! nothing until somebody changes that tree while the snapshot is in use.

use super::boundary;
use super::error::{Failure, Outcome};
use super::status::*;
use crate::ir::{ModuleTree, Symbols};
use parking_lot::{RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard};
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// One tree of modules. Every handle into the tree keeps it alive.
pub(super) struct TreeCell {
    lock: RwLock<Arc<ModuleTree>>,
    symbols: Arc<Symbols>,
    /// A panic went through a call that was changing the tree.
    is_broken: AtomicBool,
}

thread_local! {
    /// The trees whose passes are calling back on this thread, by address.
    static IN_CALLBACK: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// The tree, for reading.
pub(super) type Reading<'a> = RwLockReadGuard<'a, Arc<ModuleTree>>;

/// The tree, for a pass that first computes, with callbacks, and then changes it.
pub(super) struct Planning<'a> {
    guard: RwLockUpgradableReadGuard<'a, Arc<ModuleTree>>,
    cell: &'a TreeCell,
}

/// The tree, for changing. A panic while this lives breaks the tree.
pub(super) struct Writing<'a> {
    guard: RwLockWriteGuard<'a, Arc<ModuleTree>>,
    cell: &'a TreeCell,
    /// A word, as moving a bool moves the padding after it in pieces, for which the next move waits.
    was_panicking: usize,
}

impl TreeCell {
    pub(super) fn new(tree: Arc<ModuleTree>) -> Arc<TreeCell> {
        let symbols = tree.symbols().clone();
        Arc::new(TreeCell { lock: RwLock::new(tree), symbols, is_broken: AtomicBool::new(false) })
    }

    /// The strings of the tree; they outlive every change to it.
    pub(super) fn symbols(&self) -> &Arc<Symbols> {
        &self.symbols
    }

    /// The lock for reading if it is free, for callers that hold something else meanwhile.
    #[inline]
    pub(super) fn try_read(&self) -> Outcome<Option<Reading<'_>>> {
        if boundary::is_holding() && self.is_in_callback() {
            return Err(busy());
        }
        self.lock.try_read_recursive().map(|guard| self.check(guard)).transpose()
    }

    /// Waits for the lock for reading.
    pub(super) fn read(&self) -> Outcome<Reading<'_>> {
        match self.try_read()? {
            Some(guard) => Ok(guard),
            None if boundary::is_holding() => Err(busy()),
            None => self.check(self.lock.read()),
        }
    }

    /// Reads through a view, from inside a callback or from another thread while it runs.
    pub(super) fn read_view(&self) -> Outcome<Reading<'_>> {
        self.check(self.lock.read_recursive())
    }

    /// The lock for changing if it is free.
    #[inline]
    pub(super) fn try_write(&self) -> Outcome<Option<Writing<'_>>> {
        // A tree in a callback of this thread is locked, so that this is None then.
        self.lock.try_write().map(|guard| self.writing(guard)).transpose()
    }

    /// Waits for the lock for changing.
    pub(super) fn write(&self) -> Outcome<Writing<'_>> {
        match self.try_write()? {
            Some(guard) => Ok(guard),
            None if boundary::is_holding() => Err(busy()),
            None => self.writing(self.lock.write()),
        }
    }

    /// Waits for the lock of a pass that calls back before it changes the tree.
    pub(super) fn plan(&self) -> Outcome<Planning<'_>> {
        let guard = if boundary::is_holding() {
            self.lock.try_upgradable_read().ok_or_else(busy)?
        } else {
            self.lock.upgradable_read()
        };
        self.check(())?;
        Ok(Planning { guard, cell: self })
    }

    /// The tree as it is now, whatever happens to it. The next change copies the tree if the
    /// snapshot is in use then.
    pub(super) fn snapshot(&self) -> Outcome<Arc<ModuleTree>> {
        self.read().map(|guard| Arc::clone(&guard))
    }

    #[inline]
    fn writing<'a>(&'a self, guard: RwLockWriteGuard<'a, Arc<ModuleTree>>) -> Outcome<Writing<'a>> {
        self.check(Writing { guard, cell: self, was_panicking: std::thread::panicking().into() })
    }

    #[inline]
    fn check<T>(&self, guard: T) -> Outcome<T> {
        if self.is_broken.load(Ordering::Relaxed) {
            return Err(Failure::new(FXIR_PANIC, "a defect of the library struck while this module was changed"));
        }
        Ok(guard)
    }

    fn is_in_callback(&self) -> bool {
        IN_CALLBACK.with_borrow(|cells| cells.contains(&std::ptr::from_ref(self).addr()))
    }
}

impl<'a> Planning<'a> {
    /// Runs a callback of the user's.
    pub(super) fn call_out<T>(&self, callback: impl FnOnce() -> T) -> T {
        struct Back;
        impl Drop for Back {
            fn drop(&mut self) {
                IN_CALLBACK.with_borrow_mut(|cells| cells.pop());
                boundary::change_holding(-1);
            }
        }
        IN_CALLBACK.with_borrow_mut(|cells| cells.push(std::ptr::from_ref(self.cell).addr()));
        boundary::change_holding(1);
        let _back = Back;
        boundary::call_out(callback)
    }

    /// The tree as it is, to be changed beside it.
    pub(super) fn snapshot(&self) -> Arc<ModuleTree> {
        Arc::clone(&self.guard)
    }

    /// Waits for the readers to be gone; from here on no callback.
    pub(super) fn write(self) -> Outcome<Writing<'a>> {
        let Planning { guard, cell } = self;
        let guard = if boundary::is_holding() {
            RwLockUpgradableReadGuard::try_upgrade(guard).map_err(|_| busy())?
        } else {
            RwLockUpgradableReadGuard::upgrade(guard)
        };
        cell.writing(guard)
    }
}

impl Writing<'_> {
    /// Puts another tree in the place of this one: a changed copy of it, with the same strings.
    pub(super) fn replace(&mut self, tree: Arc<ModuleTree>) {
        debug_assert!(Arc::ptr_eq(tree.symbols(), &self.cell.symbols));
        *self.guard = tree;
    }
}

impl Deref for Planning<'_> {
    type Target = ModuleTree;

    fn deref(&self) -> &ModuleTree {
        &self.guard
    }
}

impl Deref for Writing<'_> {
    type Target = ModuleTree;

    fn deref(&self) -> &ModuleTree {
        &self.guard
    }
}

impl DerefMut for Writing<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut ModuleTree {
        Arc::make_mut(&mut self.guard)
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && self.was_panicking == 0 {
            self.cell.is_broken.store(true, Ordering::Relaxed);
        }
    }
}

#[cold]
fn busy() -> Box<Failure> {
    Failure::new(FXIR_BUSY, "the module is in use by a call of this thread that has not returned")
}
