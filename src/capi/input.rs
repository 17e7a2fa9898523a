//! What comes in and goes out through pointers: checked for NULL and UTF-8 in one place.
//!
//! Everything here is unsafe for one and the same reason, the first sentence of the header: a
//! pointer is NULL or points to what the documentation of the function says.

use super::error::{Failure, Outcome};
use super::handle::{self, Handle};
use super::node::fxir_node;
use super::status::*;
use crate::ir::NodeId;
use std::ffi::{c_char, CStr};

/// A NUL-terminated string that must be there.
#[inline]
pub(super) unsafe fn text<'a>(text: *const c_char, what: &str) -> Outcome<&'a str> {
    if text.is_null() {
        return Err(null(what));
    }
    // SAFETY: not NULL, so by contract a NUL-terminated string.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| not_utf8(what))
}

/// A NUL-terminated string; NULL is none.
pub(super) unsafe fn optional_text<'a>(text: *const c_char, what: &str) -> Outcome<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: passed on.
    unsafe { self::text(text, what) }.map(Some)
}

/// Bytes of a given length; NULL is allowed for none.
pub(super) unsafe fn bytes<'a>(data: *const u8, length: usize, what: &str) -> Outcome<&'a [u8]> {
    // SAFETY: passed on.
    unsafe { slice(data, length, what) }
}

/// An array; NULL is allowed when it is empty.
#[inline]
pub(super) unsafe fn slice<'a, T>(items: *const T, count: usize, what: &str) -> Outcome<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if items.is_null() {
        return Err(null(what));
    }
    if !fits::<T>(count) {
        return Err(Failure::new(FXIR_LIMIT, format!("`{what}` has {count} items, more than memory holds")));
    }
    // SAFETY: not NULL and not beyond what memory holds, so by contract that many items.
    Ok(unsafe { std::slice::from_raw_parts(items, count) })
}

fn fits<T>(count: usize) -> bool {
    count.checked_mul(size_of::<T>()).is_some_and(|size| isize::try_from(size).is_ok())
}

/// A struct that must be there.
pub(super) unsafe fn required<'a, T>(item: *const T, what: &str) -> Outcome<&'a T> {
    // SAFETY: NULL, or by contract an item.
    unsafe { item.as_ref() }.ok_or_else(|| null(what))
}

/// Where an output goes. Nothing is written before everything else has succeeded.
pub(super) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// An output that the caller wants by all means.
    #[inline]
    pub(super) unsafe fn required(place: *mut T, what: &str) -> Outcome<Out<T>> {
        if place.is_null() {
            return Err(null(what));
        }
        Ok(Out(place))
    }

    /// An output that the caller may not care for.
    #[inline]
    pub(super) unsafe fn optional(place: *mut T) -> Out<T> {
        Out(place)
    }

    #[inline]
    pub(super) fn set(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not NULL, so by contract it may be written.
            unsafe { self.0.write(value) };
        }
    }
}

impl<C> Out<*mut C> {
    /// A new handle for `object`, if the caller cares for it.
    pub(super) fn set_handle<T: Handle<C = C>>(self, object: T) -> Outcome<()> {
        if !self.0.is_null() {
            let handle = handle::create(object)?;
            self.set(handle);
        }
        Ok(())
    }
}

/// Fills a caller's array with as many items as fit, and counts them all.
pub(super) unsafe fn fill<T>(place: *mut T, capacity: usize, items: impl IntoIterator<Item = T>) -> usize {
    let mut count = 0;
    for item in items {
        if count < capacity && !place.is_null() {
            // SAFETY: below the capacity that the caller states.
            unsafe { place.add(count).write(item) };
        }
        count += 1;
    }
    count
}

/// A node that must be one.
#[inline]
pub(super) fn node(node: fxir_node) -> Outcome<NodeId> {
    NodeId::from_bits(node).ok_or_else(|| Failure::new(FXIR_STALE_NODE, "0 is no node"))
}

/// A number that stands for yes or no.
pub(super) fn flag(flag: i32, what: &str) -> Outcome<bool> {
    match flag {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Failure::new(FXIR_INVALID_ARGUMENT, format!("`{what}` is {flag}, neither 0 nor 1"))),
    }
}

#[cold]
pub(super) fn null(what: &str) -> Box<Failure> {
    Failure::new(FXIR_NULL_ARGUMENT, format!("`{what}` is NULL"))
}

/// A text of `length` bytes.
pub(super) unsafe fn utf8<'a>(data: *const c_char, length: usize, what: &str) -> Outcome<&'a str> {
    // SAFETY: passed on.
    let bytes = unsafe { bytes(data.cast(), length, what) }?;
    std::str::from_utf8(bytes).map_err(|_| not_utf8(what))
}

#[cold]
pub(super) fn not_utf8(what: &str) -> Box<Failure> {
    Failure::new(FXIR_INVALID_UTF8, format!("`{what}` is not UTF-8"))
}

/// No struct of options will ever be larger; what claims to be was not initialized.
const MAX_OPTIONS_SIZE: usize = 4096;

/// A struct that begins with its own size: what a caller of another version left out is zero, and
/// what it added must be zero.
pub(super) unsafe fn options<T: Copy>(options: *const T, what: &str) -> Outcome<T> {
    if options.is_null() {
        return Err(null(what));
    }
    // SAFETY: not NULL, so by contract a struct of the size that it begins with; all our structs of
    // this kind begin with a `usize` and may be all zero.
    unsafe {
        let given = options.cast::<usize>().read();
        if !(size_of::<usize>()..=MAX_OPTIONS_SIZE).contains(&given) {
            let message = format!("`{what}` has the struct_size {given}: use its _init function");
            return Err(Failure::new(FXIR_INVALID_ARGUMENT, message));
        }
        let known = size_of::<T>();
        if given > known {
            let beyond = std::slice::from_raw_parts(options.cast::<u8>().add(known), given - known);
            if beyond.iter().any(|&byte| byte != 0) {
                let message = format!("`{what}` asks for something that this version does not know");
                return Err(Failure::new(FXIR_UNSUPPORTED, message));
            }
        }
        let mut read = std::mem::MaybeUninit::<T>::zeroed();
        std::ptr::copy_nonoverlapping(options.cast::<u8>(), read.as_mut_ptr().cast(), given.min(known));
        Ok(read.assume_init())
    }
}
