//! The one table of handles: what C holds is a slot and a generation, never an address.
//!
//! A handle that was freed, has another type, or was made up is found out by looking it up, in
//! every build and on any thread. A lookup takes the lock of its own slot alone. That lock is never
//! held while anything waits: not for the lock of a tree, and not for a callback. So freeing,
//! which needs the slot to itself, waits for nothing but calls that are busy computing.

use super::error::{Failure, Outcome};
use super::module_handle::ModuleHandle;
use super::status::*;
use parking_lot::{MappedRwLockReadGuard, Mutex, RwLock, RwLockReadGuard};
use std::any::Any;
use std::ptr::without_provenance_mut;

#[cfg(not(target_pointer_width = "64"))]
compile_error!("a handle takes 64 bits");

/// What a type of handle stands for.
pub(super) trait Handle: Any + Send + Sync + Sized {
    /// The opaque type that C sees.
    type C;
    /// What it is, for messages.
    const WHAT: &'static str;

    /// How it is kept in the table.
    fn into_object(self) -> Object {
        Object::Boxed(Box::new(self))
    }

    /// It, if the object is one.
    fn of(object: &Object) -> Option<&Self> {
        match object {
            Object::Boxed(object) => object.downcast_ref(),
            Object::Module(_) => None,
        }
    }
}

/// What a slot holds. Modules lie in the slot itself, as nearly every call looks one up.
pub(super) enum Object {
    Module(ModuleHandle),
    Boxed(Box<dyn Any + Send + Sync>),
}

/// What a handle stands for, for as long as this guard lives.
pub(super) type Ref<T> = MappedRwLockReadGuard<'static, T>;

struct Entry {
    /// Counts up whenever the slot's object is freed.
    generation: u32,
    object: Option<Object>,
}

struct Table {
    slots: boxcar::Vec<RwLock<Entry>>,
    free: Mutex<Vec<u32>>,
}

static TABLE: Table = Table { slots: boxcar::Vec::new(), free: Mutex::new(Vec::new()) };

/// Generations start here, so that small made-up numbers are no handles.
const FIRST_GENERATION: u32 = 1;
/// A slot that comes to this generation is never used again.
const LAST_GENERATION: u32 = u32::MAX;
const MAX_SLOTS: usize = 1 << 31;

/// 32 bits of generation, 31 of slot, and a 1: real addresses of objects are even.
fn encode(slot: u32, generation: u32) -> usize {
    ((generation as usize) << 32) | ((slot as usize) << 1) | 1
}

fn decode(handle: usize) -> Option<(usize, u32)> {
    (handle & 1 == 1).then_some(((handle & 0xffff_ffff) >> 1, (handle >> 32) as u32))
}

/// A new handle for an object.
pub(super) fn create<T: Handle>(object: T) -> Outcome<*mut T::C> {
    TABLE.create(object.into_object()).map(without_provenance_mut)
}

/// Looks a handle up.
pub(super) fn get<T: Handle>(handle: *const T::C) -> Outcome<Ref<T>> {
    if handle.is_null() {
        return Err(Failure::new(FXIR_NULL_ARGUMENT, format!("a handle of a {} is NULL", T::WHAT)));
    }
    TABLE.get(handle.addr()).ok_or_else(|| {
        let message = format!("this is no handle of a {}: it was freed, is of another type, or never was one", T::WHAT);
        Failure::new(FXIR_INVALID_HANDLE, message)
    })
}

/// Frees a handle of this type; whatever else it is, nothing happens.
pub(super) fn free<T: Handle>(handle: *const T::C) -> Outcome<()> {
    let object = TABLE.take(handle.addr(), |object| T::of(object).is_some());
    drop(object);
    Ok(())
}

impl Table {
    fn create(&self, object: Object) -> Outcome<usize> {
        let recycled = self.free.lock().pop();
        let slot = match recycled {
            Some(slot) => slot as usize,
            None if self.slots.count() >= MAX_SLOTS => {
                return Err(Failure::new(FXIR_LIMIT, "there are 2^31 handles, as many as there can be"))
            }
            None => self.slots.push(RwLock::new(Entry { generation: FIRST_GENERATION, object: None })),
        };
        // The slot belongs to this call alone: it is new, or came off the list.
        match self.slots.get(slot) {
            Some(entry) => {
                let mut entry = entry.write();
                entry.object = Some(object);
                Ok(encode(slot as u32, entry.generation))
            }
            None => Err(Failure::new(FXIR_PANIC, "a slot of the table of handles is missing")),
        }
    }

    fn get<T: Handle>(&self, handle: usize) -> Option<MappedRwLockReadGuard<'_, T>> {
        let (slot, generation) = decode(handle)?;
        // Recursive, as one call may hold the same handle twice.
        let entry = self.slots.get(slot)?.read_recursive();
        RwLockReadGuard::try_map(entry, |entry| match &entry.object {
            Some(object) if entry.generation == generation => T::of(object),
            _ => None,
        })
        .ok()
    }

    /// Takes the object out if the handle is live and the object is wanted. It is the caller's to
    /// drop, after all locks.
    fn take(&self, handle: usize, wanted: impl FnOnce(&Object) -> bool) -> Option<Object> {
        let (slot, generation) = decode(handle)?;
        let mut entry = self.slots.get(slot)?.write();
        if entry.generation != generation || !entry.object.as_ref().is_some_and(wanted) {
            return None;
        }
        let object = entry.object.take();
        entry.generation += 1;
        let retired = entry.generation == LAST_GENERATION;
        drop(entry);
        if !retired {
            self.free.lock().push(slot as u32);
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    struct Number(usize);
    struct Other;
    impl Handle for Number {
        type C = u8;
        const WHAT: &'static str = "number";
    }
    impl Handle for Other {
        type C = u16;
        const WHAT: &'static str = "other";
    }

    fn status<T: Handle>(handle: *const T::C) -> fxir_status {
        get::<T>(handle).map_or_else(|failure| failure.status, |_| FXIR_OK)
    }

    #[test]
    fn dead_foreign_and_made_up_handles_are_refused() {
        let handle = create(Number(7)).unwrap();
        assert_eq!(get::<Number>(handle).unwrap().0, 7);
        assert_eq!(status::<Other>(handle.cast()), FXIR_INVALID_HANDLE);
        free::<Other>(handle.cast()).unwrap();
        assert_eq!(status::<Number>(handle), FXIR_OK);
        free::<Number>(handle).unwrap();
        assert_eq!(status::<Number>(handle), FXIR_INVALID_HANDLE);
        free::<Number>(handle).unwrap();
        let next = create(Number(8)).unwrap();
        assert_ne!(next, handle);
        free::<Number>(handle).unwrap();
        assert_eq!(get::<Number>(next).unwrap().0, 8);
        free::<Number>(next).unwrap();

        assert_eq!(status::<Number>(std::ptr::null()), FXIR_NULL_ARGUMENT);
        let local = 5u8;
        for made_up in [1, 2, 3, usize::MAX, usize::MAX - 1, 1 << 32 | 0xffff_ffff, (&raw const local).addr() | 1] {
            assert_eq!(status::<Number>(std::ptr::without_provenance(made_up)), FXIR_INVALID_HANDLE);
            free::<Number>(std::ptr::without_provenance(made_up)).unwrap();
        }
    }

    #[test]
    fn a_slot_retires_before_its_generation_wraps() {
        let table = Table { slots: boxcar::Vec::new(), free: Mutex::new(Vec::new()) };
        let first = table.create(Number(1).into_object()).unwrap();
        table.slots[0].write().generation = LAST_GENERATION - 1;
        let last = encode(0, LAST_GENERATION - 1);
        assert!(table.get::<Number>(first).is_none());
        assert!(table.take(last, |_| true).is_some());
        assert!(table.free.lock().is_empty());
        assert_eq!(decode(table.create(Number(2).into_object()).unwrap()).unwrap().0, 1);
    }

    #[test]
    fn freeing_and_using_one_handle_from_many_threads() {
        static DROPPED: AtomicUsize = AtomicUsize::new(0);
        struct Counted(usize, usize);
        impl Drop for Counted {
            fn drop(&mut self) {
                DROPPED.fetch_add(1, Ordering::Relaxed);
            }
        }
        impl Handle for Counted {
            type C = u8;
            const WHAT: &'static str = "counted";
        }
        const ROUNDS: usize = 2_000;
        for round in 0..ROUNDS {
            let handle = create(Counted(round, !round)).unwrap().addr();
            let go = AtomicBool::new(false);
            std::thread::scope(|scope| {
                for thread in 0..3 {
                    let go = &go;
                    scope.spawn(move || {
                        while !go.load(Ordering::Acquire) {
                            std::hint::spin_loop();
                        }
                        for _ in 0..20 {
                            if let Ok(found) = get::<Counted>(std::ptr::without_provenance(handle)) {
                                assert_eq!((found.0, found.1), (round, !round));
                            }
                        }
                        if thread < 2 {
                            free::<Counted>(std::ptr::without_provenance(handle)).unwrap();
                        }
                    });
                }
                go.store(true, Ordering::Release);
            });
            assert_eq!(status::<Counted>(std::ptr::without_provenance(handle)), FXIR_INVALID_HANDLE);
        }
        assert_eq!(DROPPED.load(Ordering::Relaxed), ROUNDS);
    }
}
