//! Writing: everything is checked and every weight found first, so that what fails writes nothing.

mod argument;
mod check;
mod emit;
mod first;
mod formatter;
mod info;
mod leaf;
mod plan;
mod quantized;
mod weight;

use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

use crate::formats::json::Schema;
use crate::ir::lowering::LoweringAttrs;
use crate::ir::{Error, ErrorKind, ModuleId, ModuleTree, Result, Tensor};
use emit::Emit;
use formatter::PythonNumbers;
use plan::Plan;

const BUFFER: usize = 1 << 16;

/// How to write.
#[derive(Debug, Clone)]
pub struct SerializeOptions {
    /// The form: that of torch 1.12, or an older one.
    pub schema: Schema,
    /// Spaces a level, one line an entry, as Python's `json.dumps(indent=...)`. None: one line, no
    /// spaces.
    pub indent: Option<usize>,
    /// Nodes of which it is not known what they yield are written without metadata. Otherwise such a
    /// node is an error, as in torch.
    pub allow_missing_meta: bool,
    /// Which attributes of a leaf module are written, by its type: those that torch 1.12 takes of
    /// the six types that it knows. Of a type without a list all are.
    pub lowering: LoweringAttrs,
    /// Whether a leaf module of a type without a list is an error, as in torch.
    pub strict_lowering: bool,
}

impl Default for SerializeOptions {
    fn default() -> Self {
        SerializeOptions {
            schema: Schema::default(),
            indent: None,
            allow_missing_meta: false,
            lowering: LoweringAttrs::torch_1_12(),
            strict_lowering: false,
        }
    }
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
/// [`ErrorKind::InvalidArgument`] when metadata is missing or two tensors get one name,
/// [`ErrorKind::Unsupported`] when a get_attr reads what is no tensor or a leaf is of a type without a
/// list and that is an error; nothing was written then.
pub fn write(
    tree: &ModuleTree,
    module: ModuleId,
    options: &SerializeOptions,
    out: &mut dyn Write,
) -> Result<WeightMap> {
    let plan = Plan::new(tree, module, options)?;
    let mut out = BufWriter::with_capacity(BUFFER, out);
    match options.indent {
        None => emit(&plan, options, &mut out, CompactFormatter)?,
        Some(spaces) => {
            let spaces = " ".repeat(spaces.min(64));
            emit(&plan, options, &mut out, PrettyFormatter::with_indent(spaces.as_bytes()))?;
        }
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

fn emit(plan: &Plan<'_>, options: &SerializeOptions, out: &mut impl Write, formatter: impl Formatter) -> Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(out, PythonNumbers(formatter));
    Emit::new(plan, options).serialize(&mut serializer).map_err(|error| match error.is_io() {
        true => failed(error.into()),
        false => Error::new(ErrorKind::Unsupported, error.to_string()),
    })
}

fn failed(error: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("writing JSON: {error}"))
}
