//! Reading: nodes are made as they come, and when all of the file is known, modules and tensors.

mod argument;
mod assemble;
mod bare;
mod bind;
mod context;
mod encoded;
mod field;
mod fields;
mod module;
mod node;
mod order;
mod value;

use serde::de::DeserializeSeed;

use super::GRAPH_MODULE;
use crate::formats::weights::Weights;
use crate::ir::{Error, ErrorKind, ModuleTree, Result};
use assemble::Assembly;
use bare::Bare;
use context::Context;
use module::ModuleSeed;

/// Reads the JSON that `serialize_module` of torch 1.8 to 1.12 gives, or [`write`](super::write).
///
/// What a release did not tell yet need not be there: users, `requires_grad`, strides, how a node is
/// quantized. `NaN` and `Infinity`, which Python's `json` writes, are numbers.
///
/// With `weights` every entry of the file is bound to its tensor there, whose bytes are shared;
/// dtypes and shapes must agree, and no tensor may be missing or left over. Without, the tensors
/// have metadata only.
///
/// Modules that nodes call become graph modules (those in `modules`) and leaf modules with their
/// type, settings and tensors. What a get_attr node reads and `weights` does not have was a
/// constant of the module above: it is the member `parent.NAME`. Members have such an order, and
/// tensors are such parameters and buffers, that writing gives the order of `weights` again.
///
/// A file that is not what it should be is [`ErrorKind::Parse`] with the place; one that nests
/// deeper than the library goes is [`ErrorKind::Limit`].
pub fn read(text: &[u8], weights: Option<&Weights>) -> Result<ModuleTree> {
    let text = std::str::from_utf8(text).map_err(|error| not_utf8(text, error.valid_up_to()))?;
    read_text(text, &Bare::default(), weights).or_else(|error| match bare::replace(text) {
        Some((text, bare)) if error.kind == ErrorKind::Parse => read_text(&text, &bare, weights),
        _ => Err(error),
    })
}

fn read_text(text: &str, bare: &Bare, weights: Option<&Weights>) -> Result<ModuleTree> {
    let mut tree = ModuleTree::new(GRAPH_MODULE);
    let symbols = tree.symbols().clone();
    let context = Context::new(text, &symbols, bare);

    let mut deserializer = serde_json::Deserializer::from_str(text);
    // What may nest is counted: modules where they are entered, arguments where they open.
    deserializer.disable_recursion_limit();
    let module = ModuleSeed(&context)
        .deserialize(&mut deserializer)
        .and_then(|module| deserializer.end().map(|()| module))
        .map_err(|error| context.explain(&error))?;
    Assembly::new(&context, weights, &mut tree).run(module)?;
    Ok(tree)
}

fn not_utf8(text: &[u8], valid: usize) -> Error {
    let before = text.get(..valid).unwrap_or_default();
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
    Error::new(ErrorKind::Parse, "the text is not UTF-8").at_place(line, column)
}
