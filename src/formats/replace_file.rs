//! Writing a file so that a failure leaves what was there.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ir::error::{Error, ErrorKind, Result};

/// Lets `write` fill a new file beside `path`, then renames it over `path`. Whatever fails, a panic
/// in `write` included, the new file is removed and `path` is what it was. A symbolic link stays
/// one: what it points to is replaced.
pub fn replace_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut staged = StagedFile::new(path)?;
    write(&mut staged).map_err(|error| failed(path, &error))?;
    staged.commit()
}

/// A new file that takes the place of `path` once it is whole; until then, or for ever when it is
/// dropped, what was there stays.
#[derive(Debug)]
pub struct StagedFile {
    file: File,
    beside: Temporary,
    path: PathBuf,
    target: PathBuf,
    old: Option<Metadata>,
}

impl StagedFile {
    /// An empty file beside `path`.
    pub fn new(path: &Path) -> Result<StagedFile> {
        StagedFile::create(path).map_err(|error| failed(path, &error))
    }

    fn create(path: &Path) -> io::Result<StagedFile> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let old = fs::metadata(&target).ok();
        if old.as_ref().is_some_and(|old| !old.is_file()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let (file, beside) = create_beside(&target)?;
        Ok(StagedFile { file, beside, path: path.to_path_buf(), target, old })
    }

    /// Renames it over `path`.
    pub fn commit(self) -> Result<()> {
        let StagedFile { file, beside, path, target, old } = self;
        let rename = || {
            if let Some(old) = old {
                file.set_permissions(old.permissions())?;
            }
            drop(file);
            fs::rename(&beside.path, &target)
        };
        rename().map_err(|error| failed(&path, &error))?;
        beside.keep();
        Ok(())
    }
}

impl Write for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{}: {error}", path.display()))
}

/// A file that goes when this does, unless kept.
#[derive(Debug)]
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    fn keep(mut self) {
        self.path = PathBuf::new();
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            // There is nobody left to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A new file in the same folder, so that the rename cannot cross file systems.
fn create_beside(target: &Path) -> io::Result<(File, Temporary)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    if target.file_name().is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"));
    }
    loop {
        // Not made from the target's name, which may be as long as names can be.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = target.with_file_name(format!(".fxir.{}.{number}.tmp", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, Temporary { path })),
            // Left by a process that had this number and was killed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        }
    }
}
