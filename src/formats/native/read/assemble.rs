//! The tree out of the document.

use std::sync::Arc;

use serde::de::MapAccess;

use super::context::{once, shown, Context, List, PartSeed, Plain, Record};
use super::graph::{as_parse, GraphRecord};
use super::module::{AttributeRecord, ModuleRecord};
use super::tensors::{TensorRecord, Tensors};
use super::value::Read;
use super::Head;
use crate::formats::weights::Weights;
use crate::ir::{Attribute, Error, ErrorKind, ModuleId, ModuleTree, NewModule, Result, Symbols};

/// All that the document tells.
#[derive(Default)]
pub(super) struct Document<'de> {
    version: Option<u64>,
    requires: Option<Vec<String>>,
    modules: Option<List<ModuleRecord<'de>>>,
    tensors: Option<List<TensorRecord<'de>>>,
    values: Option<List<Read>>,
    graphs: Option<List<GraphRecord<'de>>>,
}

impl<'de> Record<'de> for Document<'de> {
    const WHAT: &'static str = "a document";

    fn take<M: MapAccess<'de>>(
        &mut self,
        context: &Context<'_>,
        key: &str,
        map: &mut M,
    ) -> std::result::Result<bool, M::Error> {
        match key {
            "version" => once(&mut self.version, "version", map.next_value()?)?,
            "requires" => once(&mut self.requires, "requires", map.next_value()?)?,
            "modules" => once(&mut self.modules, "modules", map.next_value_seed(PartSeed::new(context))?)?,
            "tensors" => once(&mut self.tensors, "tensors", map.next_value_seed(PartSeed::new(context))?)?,
            "values" => once(&mut self.values, "values", map.next_value_seed(PartSeed::new(context))?)?,
            "graphs" => once(&mut self.graphs, "graphs", map.next_value_seed(PartSeed::new(context))?)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Document<'_> {
    pub(super) fn head(&self) -> Result<Head> {
        let version = self.version.ok_or_else(|| parse("the key `version` is missing".into()))?;
        Ok(Head { version, requires: self.requires.clone().unwrap_or_default() })
    }
}

/// Makes the tree, whose strings are in `symbols`, with tensors in the entries of `file`.
pub(super) fn assemble(document: Document<'_>, symbols: &Arc<Symbols>, file: &Weights) -> Result<ModuleTree> {
    let tensors = Tensors::new(document.tensors.unwrap_or_default().0, file)?;
    let values = tensors.values(document.values.unwrap_or_default().0).map_err(as_parse)?;
    let mut records = document.modules.unwrap_or_default().0;
    let (mut tree, ids) = modules(&records, symbols)?;

    for (place, record) in records.iter_mut().enumerate() {
        let about = |error: Error| about_module(place, as_parse(error));
        if let Some(first) = record.copy_of {
            let first = ids.get(first).copied().ok_or_else(|| about(parse("it is a copy of no module".into())))?;
            tree.set_same_origin(ids[place], first)?;
        }
        for (name, attribute) in record.attributes.take().unwrap_or_default().0 {
            check_name(&name).map_err(about)?;
            let symbol = symbols.intern(&name);
            if tree.get(ids[place])?.submodules().contains_key(&symbol) {
                return Err(about(parse(format!("{:?} is a submodule and an attribute", shown(&name)))));
            }
            let attribute = match attribute {
                AttributeRecord::Tensor(kind, place) => {
                    Attribute::Tensor(kind, tensors.get(place).map_err(about)?.clone())
                }
                AttributeRecord::Value(value) => Attribute::Value(value),
            };
            tree.set_attribute(ids[place], &name, attribute).map_err(about)?;
        }
    }

    let mut is_filled = vec![false; ids.len()];
    for graph in document.graphs.unwrap_or_default().0 {
        let place = graph.module.ok_or_else(|| parse("a graph does not tell its `module`".into()))?;
        let &id = ids.get(place).ok_or_else(|| parse(format!("a graph is that of module {place}, which is none")))?;
        let about = |error: Error| about_module(place, as_parse(error));
        if std::mem::replace(&mut is_filled[place], true) {
            return Err(about(parse("it has two graphs".into())));
        }
        graph.fill(tree.graph_mut(id).map_err(about)?, &values).map_err(about)?;
    }
    match ids.iter().zip(&is_filled).position(|(&id, filled)| !filled && tree.graph(id).is_ok()) {
        Some(place) => Err(about_module(place, parse("its graph is missing".into()))),
        None => Ok(tree),
    }
}

/// The modules without what they hold. The first holds the others, each of which comes after the one
/// that holds it.
fn modules(records: &[ModuleRecord<'_>], symbols: &Arc<Symbols>) -> Result<(ModuleTree, Vec<ModuleId>)> {
    // Each has both, or it would not have been read.
    let told: Vec<(&str, NewModule)> =
        records.iter().filter_map(|record| Some((record.type_name.as_deref()?, record.kind?))).collect();
    let &(type_name, kind) = told.first().ok_or_else(|| parse("the document has no module".into()))?;
    let mut tree = ModuleTree::with_root(symbols.clone(), type_name, kind);
    let mut ids = vec![None; records.len()];
    ids[0] = Some(tree.root());
    for (place, record) in records.iter().enumerate() {
        let about = |error: Error| about_module(place, as_parse(error));
        let parent = ids[place].ok_or_else(|| about(parse("no module before it holds it".into())))?;
        for (name, Plain(below)) in record.submodules.iter().flat_map(|below| &below.0) {
            check_name(name).map_err(about)?;
            let Some(&(type_name, kind)) = told.get(*below) else {
                return Err(about(parse(format!("it holds module {below}, which is none"))));
            };
            if *below <= place || ids[*below].is_some() {
                return Err(about(parse(format!("it holds module {below}, which has a place already"))));
            }
            ids[*below] = Some(tree.add_module(parent, name, type_name, kind).map_err(about)?);
        }
    }
    let ids: Option<Vec<ModuleId>> = ids.into_iter().collect();
    Ok((tree, ids.unwrap_or_default()))
}

/// A path of one part; what else no name may be, the tree refuses.
fn check_name(name: &str) -> Result<()> {
    match name.contains('.') {
        true => Err(parse(format!("the name of a member holds a dot: {:?}", shown(name)))),
        false => Ok(()),
    }
}

fn about_module(place: usize, mut error: Error) -> Error {
    error.message = format!("module {place}: {}", error.message);
    error
}

fn parse(message: String) -> Error {
    Error::new(ErrorKind::Parse, message)
}
