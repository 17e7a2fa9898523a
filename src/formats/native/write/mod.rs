//! Writing: the document is made in memory, and what can be refused is refused before the first byte.

mod argument;
mod buffers;
mod document;
mod tables;
mod value;

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use super::{DOCUMENT, LABEL};
use crate::formats::replace_file::replace_file;
use crate::formats::weights::Plan;
use crate::ir::{Dtype, Error, ErrorKind, ModuleId, ModuleTree, Result, Tensor, TensorMeta};
use buffers::Buffers;
use tables::Tables;

/// Writes a module with all below it into one file: beside its target first and then renamed over it,
/// so that a failure leaves what was there, and a module whose weights are mapped from that very file
/// may be written back to it.
///
/// [`ErrorKind::Limit`] when what a node yields nests too deep.
pub fn save(path: impl AsRef<Path>, tree: &ModuleTree, top: ModuleId) -> Result<()> {
    with_plan(tree, top, |plan| replace_file(path.as_ref(), |file| plan.write_to(file)))
}

/// Writes the same bytes to `out`. What was written when it fails is `out`'s to forget.
pub fn write_to(out: &mut dyn Write, tree: &ModuleTree, top: ModuleId) -> Result<()> {
    with_plan(tree, top, |plan| {
        plan.write_to(out).map_err(|error| Error::new(ErrorKind::Io, format!("writing a module: {error}")))
    })
}

/// The same bytes in memory.
pub fn to_bytes(tree: &ModuleTree, top: ModuleId) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    write_to(&mut bytes, tree, top)?;
    Ok(bytes)
}

fn with_plan(tree: &ModuleTree, top: ModuleId, write: impl FnOnce(&Plan<'_>) -> Result<()>) -> Result<()> {
    let tables = Tables::new(tree, top)?;
    let buffers = Buffers::new(&tables)?;
    let text = document::write(tree, &tables, &buffers)?;
    let document = Tensor::from_bytes(TensorMeta::new(Dtype::Uint8, [text.len() as i64]), text)?;
    let entries = buffers.iter().chain([(DOCUMENT, &document)]);
    let label = HashMap::from([(LABEL.0.to_owned(), LABEL.1.to_owned())]);
    write(&Plan::new(Some(label), entries)?)
}
