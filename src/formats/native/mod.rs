//! The native form: one file with a module and all that it holds, to the bit.
//!
//! The file is a safetensors file. One of its tensors, of bytes, is the document, in JSON: modules,
//! graphs, and the metadata of tensors and of what nodes yield. The others are the bytes of the
//! module's tensors, under the path of the member where they are one whole tensor, so that whatever
//! reads safetensors reads the weights. The schema is told in docs/native-format.md.

mod read;
mod record;
mod write;

pub use read::{from_bytes, open};
pub use write::{save, to_bytes, write_to};

/// The version that is written, and the newest that is read. It goes up when what was there comes to
/// mean something else; what is added otherwise is left unread by older readers, or named in
/// `requires`.
pub const VERSION: u64 = 1;

/// What a document may require of its reader, by name: nothing yet.
const FEATURES: [&str; 0] = [];

/// The tensor that is the document.
const DOCUMENT: &str = "__fxir__";

/// The entry of the header's metadata that tells such a file from a plain one.
const LABEL: (&str, &str) = ("format", "fxir");

/// How deep what a node yields may nest.
const MAX_DEPTH: usize = crate::ir::MAX_ARGUMENT_DEPTH;

/// How deep tensors may nest by being the scales of others. torch's are not quantized themselves; and
/// since one tensor can be both scales and zero points, comparing takes twice as long with each level.
const MAX_QUANTIZATION_DEPTH: usize = 4;
