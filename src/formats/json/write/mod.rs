//! Writing: everything is checked and every weight found first, so that what fails writes nothing.

mod check;
mod emit;
mod formatter;
mod plan;
mod quantized;

use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

use crate::ir::{Error, ErrorKind, ModuleId, ModuleTree, Result, Tensor};
use emit::Emit;
use formatter::PythonNumbers;
use plan::Plan;

const BUFFER: usize = 1 << 16;

/// How to write.
#[derive(Debug, Clone, Default)]
pub struct SerializeOptions {
    /// Spaces a level, one line an entry, as Python's `json.dumps(indent=...)`. None: one line, no
    /// spaces.
    pub indent: Option<usize>,
    /// Nodes of which it is not known that they yield one tensor are written without metadata.
    /// Otherwise such a node is an error, as in torch.
    pub allow_missing_meta: bool,
}

/// The tensors that a module needs, by the names that the JSON gives them, in the order in which
/// torch's serializer finds them.
pub type WeightMap = IndexMap<String, Arc<Tensor>>;

/// A module as JSON, and its weights.
#[derive(Debug)]
pub struct Serialized {
    /// What `serialize_module` gives.
    pub json: String,
    /// The tensors it names.
    pub weights: WeightMap,
}

/// Writes the JSON of a graph module to `out`; returns the weights, to be stored beside it.
///
/// [`ErrorKind::Unsupported`] when an argument is what JSON cannot hold (a slice, a device, inf),
/// [`ErrorKind::InvalidArgument`] when metadata is missing or two tensors get one name; nothing was
/// written then.
pub fn write(
    tree: &ModuleTree,
    module: ModuleId,
    options: &SerializeOptions,
    out: &mut dyn Write,
) -> Result<WeightMap> {
    let plan = Plan::new(tree, module, options)?;
    let mut out = BufWriter::with_capacity(BUFFER, out);
    match options.indent {
        None => emit(&plan, &mut out, CompactFormatter)?,
        Some(spaces) => emit(&plan, &mut out, PrettyFormatter::with_indent(" ".repeat(spaces.min(64)).as_bytes()))?,
    }
    out.flush().map_err(failed)?;
    Ok(plan.into_weights())
}

/// The same in memory.
pub fn serialize(tree: &ModuleTree, module: ModuleId, options: &SerializeOptions) -> Result<Serialized> {
    let mut json = Vec::new();
    let weights = write(tree, module, options, &mut json)?;
    let json = String::from_utf8(json).map_err(|error| Error::new(ErrorKind::Unsupported, error.to_string()))?;
    Ok(Serialized { json, weights })
}

fn emit(plan: &Plan<'_>, out: &mut impl Write, formatter: impl Formatter) -> Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(out, PythonNumbers(formatter));
    Emit::new(plan).serialize(&mut serializer).map_err(|error| match error.is_io() {
        true => failed(error.into()),
        false => Error::new(ErrorKind::Unsupported, error.to_string()),
    })
}

fn failed(error: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("writing JSON: {error}"))
}
