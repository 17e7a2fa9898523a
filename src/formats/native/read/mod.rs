//! Reading: the document becomes records, which are as large as their text, and these a tree.
//!
//! No number of the file is trusted: nothing is allocated by a count, places are looked up, and what
//! nests is counted where it opens.

mod argument;
mod assemble;
mod context;
mod graph;
mod meta;
mod module;
mod tensors;
mod value;

use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeSeed;
use serde::Deserialize;

use super::{DOCUMENT, FEATURES, LABEL, VERSION};
use crate::formats::weights::{self, Weights};
use crate::ir::tensor::Storage;
use crate::ir::{Dtype, Error, ErrorKind, ModuleTree, Result, Symbols};
use assemble::{assemble, Document};
use context::{Context, RecordSeed};

/// Loads the module of a file that [`save`](super::save) wrote. The file is mapped: no byte of a tensor
/// is read or copied, and it must not be shortened or written into while they live; replacing it by a
/// rename is fine.
///
/// A file that is not what it should be is [`ErrorKind::Parse`], with the place in the document where
/// there is one; a newer version and features that are not known are [`ErrorKind::Unsupported`].
pub fn open(path: impl AsRef<Path>) -> Result<ModuleTree> {
    let path = path.as_ref();
    read(&weights::open(path)?).map_err(|mut error| {
        error.message = format!("{}: {}", path.display(), error.message);
        error
    })
}

/// Loads such a module from memory; its tensors share `bytes`.
pub fn from_bytes(bytes: Arc<Storage>) -> Result<ModuleTree> {
    read(&weights::from_bytes(bytes)?)
}

fn read(file: &Weights) -> Result<ModuleTree> {
    let parse = |message: String| Error::new(ErrorKind::Parse, message);
    if file.metadata().get(LABEL.0).is_none_or(|label| label != LABEL.1) {
        let message = format!("not a saved module: the metadata does not say {} {}", LABEL.0, LABEL.1);
        return Err(parse(message));
    }
    let document = file.get(DOCUMENT).filter(|document| document.dtype() == Dtype::Uint8);
    let bytes = document.and_then(|document| document.data());
    let bytes = bytes.ok_or_else(|| parse(format!("not a saved module: there is no document `{DOCUMENT}`")))?;
    let text = std::str::from_utf8(bytes)
        .map_err(|error| parse(format!("the document is not UTF-8 at byte {}", error.valid_up_to())))?;

    let symbols = Symbols::new();
    let context = Context::new(&symbols);
    let mut deserializer = json(text);
    let document = RecordSeed::<Document<'_>>::new(&context)
        .deserialize(&mut deserializer)
        .and_then(|document| deserializer.end().map(|()| document));
    match document {
        Ok(document) => {
            check_head(&document.head()?)?;
            assemble(document, &symbols, file)
        }
        Err(error) => {
            // What a newer library wrote is refused for that, whatever else is not understood.
            if let Ok(head) = Head::deserialize(&mut json(text)) {
                check_head(&head)?;
            }
            Err(context.explain(&error))
        }
    }
}

/// What decides whether the rest can be understood, wherever it stands.
#[derive(Deserialize)]
struct Head {
    version: u64,
    #[serde(default)]
    requires: Vec<String>,
}

fn check_head(head: &Head) -> Result<()> {
    let unsupported = |message: String| Err(Error::new(ErrorKind::Unsupported, message));
    match head.version {
        0 => return Err(Error::new(ErrorKind::Parse, "the document has version 0, which there never was")),
        1..=VERSION => {}
        newer => {
            return unsupported(format!("the document has version {newer}; this library reads up to version {VERSION}"))
        }
    }
    match head.requires.iter().find(|feature| !FEATURES.contains(&feature.as_str())) {
        Some(feature) => {
            let shown = context::shown(feature);
            unsupported(format!("the document requires {shown:?}, which this library does not know"))
        }
        None => Ok(()),
    }
}

/// What nests is counted where it opens, and what is skipped is skipped without recursion.
fn json(text: &str) -> serde_json::Deserializer<serde_json::de::StrRead<'_>> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    deserializer
}
