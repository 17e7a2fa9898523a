//! A file's bytes by memory map.
#![allow(unsafe_code)]

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

use crate::ir::tensor::{Storage, StorageBytes};

/// A whole file, mapped for reading. The map outlives the file's name: it may be renamed, replaced
/// by a rename, or unlinked while tensors use it.
///
/// **While tensors use it, nobody may shorten the file or write into it**: bytes cut off raise
/// SIGBUS when they are next read, which no library can turn into an error, and bytes written over
/// change under the reader. Writers that write beside the file and rename, as this library does,
/// are safe. Whoever cannot rule the others out reads the file into memory and uses
/// [`from_bytes`](super::from_bytes).
struct MappedFile(Mmap);

impl StorageBytes for MappedFile {
    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Maps the regular file at `path`.
pub(super) fn map(path: &Path) -> io::Result<Arc<Storage>> {
    // Asked before opening: to open a pipe would wait for its other end.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let file = File::open(path)?;
    // SAFETY: the map is private to this value, read-only and never remapped. What remains is that
    // another process, or another part of this one, changes the file meanwhile; no interface of the
    // system excludes that, and the contract above forbids it to whoever calls `open`.
    let map = unsafe { Mmap::map(&file)? };
    Ok(Arc::new(MappedFile(map)))
}
