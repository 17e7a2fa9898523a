//! The tensors that `weights` begin with in older forms: torch's `named_parameters` and
//! `named_buffers`.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::formats::json::{WeightsFirst, PARENT};
use crate::ir::{Attribute, ModuleId, ModuleTree, Result, Tensor, TensorKind};

/// The kinds that come first, in order.
pub(super) fn kinds(first: WeightsFirst) -> &'static [TensorKind] {
    match first {
        WeightsFirst::Nothing => &[],
        WeightsFirst::Parameters => &[TensorKind::Parameter],
        WeightsFirst::ParametersAndBuffers => &[TensorKind::Parameter, TensorKind::Buffer],
        WeightsFirst::BuffersAndParameters => &[TensorKind::Buffer, TensorKind::Parameter],
    }
}

/// The tensors of a kind in a module and all below it, by path: a module's own before those of the
/// modules in it, one that has several names under the first. Constants of the module above are none.
pub(super) fn named(tree: &ModuleTree, module: ModuleId, kind: TensorKind) -> Result<Vec<(String, &Arc<Tensor>)>> {
    let symbols = tree.symbols();
    let mut found = Vec::new();
    let mut seen = FxHashSet::default();
    let mut waiting = vec![(module, String::new())];
    while let Some((module, path)) = waiting.pop() {
        let module = tree.get(module)?;
        for (&name, attribute) in module.attributes() {
            match attribute {
                Attribute::Tensor(found_kind, tensor) if *found_kind == kind && seen.insert(tensor.view_key()) => {
                    found.push((format!("{path}{}", symbols.text(name)), tensor));
                }
                _ => {}
            }
        }
        let below = module.submodules().iter().rev().map(|(&name, &id)| (id, format!("{path}{}.", symbols.text(name))));
        waiting.extend(below.filter(|(_, path)| path != PARENT));
    }
    Ok(found)
}
