//! The document: a line for each module, tensor, value and node.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::argument::{tagged, List, Scope, Written};
use super::buffers::Buffers;
use super::tables::Tables;
use super::value::{self, WrittenMeta};
use crate::formats::native::record::{GivenRecord, PlaceRecord, Word};
use crate::formats::native::{FEATURES, VERSION};
use crate::ir::{
    Argument, Attribute, Error, ErrorKind, Graph, Module, ModuleKind, ModuleTree, NodeId, Result, Symbol, Symbols,
    TensorKind, TensorMeta,
};

/// The text of the document.
pub(super) fn write(tree: &ModuleTree, tables: &Tables<'_>, buffers: &Buffers<'_>) -> Result<Vec<u8>> {
    let mut out = format!("{{\"version\":{VERSION},\"requires\":").into_bytes();
    append(&mut out, &FEATURES)?;
    let modules: Vec<&Module> = tables.modules.keys().map(|&id| tree.get(id)).collect::<Result<_>>()?;
    let symbols = tree.symbols();

    list(&mut out, "modules", modules.iter().enumerate(), |out, (place, module)| {
        append(out, &WrittenModule { module, place, symbols, tables })
    })?;
    let tensors = tables.tensors().enumerate();
    list(&mut out, "tensors", tensors, |out, (place, held)| {
        append(out, &WrittenTensor { meta: held.tensor.meta(), place: buffers.place(place, held.tensor), tables })
    })?;
    list(&mut out, "values", tables.values(), |out, value| append(out, &value::Written(value, tables)))?;
    let graphs = modules.iter().enumerate().filter_map(|(place, module)| Some((place, module.graph()?)));
    list(&mut out, "graphs", graphs, |out, (place, graph)| write_graph(out, place, graph, tables))?;
    out.extend_from_slice(b"}\n");
    Ok(out)
}

/// A key with a list as its value, an item a line.
fn list<T>(
    out: &mut Vec<u8>,
    key: &str,
    items: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T) -> Result<()>,
) -> Result<()> {
    out.extend_from_slice(format!(",\n\"{key}\":[").as_bytes());
    for (position, item) in items.enumerate() {
        out.extend_from_slice(if position > 0 { b",\n" } else { b"\n" });
        write(out, item)?;
    }
    out.push(b']');
    Ok(())
}

fn append(out: &mut Vec<u8>, item: &(impl Serialize + ?Sized)) -> Result<()> {
    serde_json::to_writer(out, item).map_err(|error| Error::new(ErrorKind::InvalidArgument, error.to_string()))
}

fn write_graph(out: &mut Vec<u8>, module: usize, graph: &Graph, tables: &Tables<'_>) -> Result<()> {
    out.extend_from_slice(format!("{{\"module\":{module}").as_bytes());
    let signature = &graph.signature;
    let mut entry = |key: &str, item: &dyn Fn(&mut Vec<u8>) -> Result<()>| {
        out.extend_from_slice(format!(",\"{key}\":").as_bytes());
        item(out)
    };
    if let Some(text) = &signature.return_annotation {
        entry("return_annotation", &|out| append(out, text))?;
    }
    if let Some(text) = &signature.pytree_header {
        entry("pytree_header", &|out| append(out, text))?;
    }
    if !signature.wrapped.is_empty() {
        entry("wrapped", &|out| append(out, &signature.wrapped))?;
    }
    let names = graph.names_given_besides();
    if !names.is_empty() {
        let names: Vec<(&str, GivenRecord)> = names
            .into_iter()
            .map(|(base, given)| {
                (graph.text(base), GivenRecord { plain: given.plain, numbers: given.numbers, count: given.count })
            })
            .collect();
        entry("names", &|out| append(out, &Object(&names)))?;
    }

    let mut places = vec![u32::MAX; graph.slot_count()];
    graph.nodes().zip(0..).for_each(|(node, place)| places[node.slot()] = place);
    let scope = Scope { symbols: graph.symbols(), places: &places };
    let told = users_in_another_order(graph);
    list(out, "nodes", graph.nodes(), |out, node| {
        append(out, &WrittenNode { graph, node, scope, tables, tells_users: told[node.slot()] })
    })?;
    out.push(b'}');
    Ok(())
}

/// By slot, whether a node's users are in another order than that in which they stand in the graph.
fn users_in_another_order(graph: &Graph) -> Vec<bool> {
    let is_other = |node: NodeId| !graph.users(node).is_sorted_by(|&a, &b| graph.is_before(a, b));
    let mut other = vec![false; graph.slot_count()];
    graph.nodes().for_each(|node| other[node.slot()] = is_other(node));
    other
}

/// One tensor of the table; without a place it has metadata only.
struct WrittenTensor<'a> {
    meta: &'a TensorMeta,
    place: Option<PlaceRecord<'a>>,
    tables: &'a Tables<'a>,
}

impl Serialize for WrittenTensor<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut record = serializer.serialize_map(None)?;
        record.serialize_entry("meta", &WrittenMeta(self.meta, self.tables))?;
        if let Some(place) = &self.place {
            record.serialize_entry("place", place)?;
        }
        record.end()
    }
}

struct WrittenNode<'a> {
    graph: &'a Graph,
    node: NodeId,
    scope: Scope<'a>,
    tables: &'a Tables<'a>,
    tells_users: bool,
}

impl Serialize for WrittenNode<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let WrittenNode { graph, node, scope, tables, tells_users } = self;
        let found = &graph[*node];
        let mut name = String::new();
        graph.write_name(&mut name, *node);
        let mut record = serializer.serialize_map(None)?;
        record.serialize_entry("op", found.op().name())?;
        record.serialize_entry("name", &Word::from(&*name))?;
        record.serialize_entry("target", &Word::from(graph.target(*node)))?;
        if !found.args().is_empty() {
            record.serialize_entry("args", &List(found.args(), *scope))?;
        }
        if !found.kwargs().is_empty() {
            record.serialize_entry(
                "kwargs",
                &Arguments(found.kwargs().iter().map(|(key, value)| (key, value)), *scope),
            )?;
        }
        if let Some(text) = found.type_annotation() {
            record.serialize_entry("type", &Word::from(graph.text(text)))?;
        }
        if let Some(text) = found.comment() {
            record.serialize_entry("comment", &Word::from(graph.text(text)))?;
        }
        if let Some(place) = found.value().and_then(|value| tables.place_of_value(value)) {
            record.serialize_entry("value", &place)?;
        }
        if !found.meta().entries.is_empty() {
            let literals = Scope { symbols: scope.symbols, places: &[] };
            record.serialize_entry("meta", &Arguments(found.meta().entries.iter(), literals))?;
        }
        if *tells_users {
            let users: Vec<u32> = graph.users(*node).map(|user| scope.places[user.slot()]).collect();
            record.serialize_entry("users", &users)?;
        }
        record.end()
    }
}

/// Arguments by name.
struct Arguments<'a, I>(I, Scope<'a>);

impl<'a, I: Iterator<Item = (&'a Symbol, &'a Argument)> + Clone> Serialize for Arguments<'a, I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let scope = self.1;
        serializer.collect_map(
            self.0.clone().map(|(key, value)| (Word::from(scope.symbols.text(*key)), Written(value, scope))),
        )
    }
}

/// An object of entries in their order.
struct Object<'a, T>(&'a [(&'a str, T)]);

impl<T: Serialize> Serialize for Object<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (Word::from(*key), value)))
    }
}

struct WrittenModule<'a> {
    module: &'a Module,
    place: usize,
    symbols: &'a Symbols,
    tables: &'a Tables<'a>,
}

impl Serialize for WrittenModule<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let WrittenModule { module, place, symbols, tables } = self;
        let mut record = serializer.serialize_map(None)?;
        record.serialize_entry("type", &Word::from(symbols.text(module.type_name())))?;
        let kind = match module.kind() {
            ModuleKind::Graph(_) => "graph",
            ModuleKind::Leaf => "leaf",
            ModuleKind::Holder => "holder",
        };
        record.serialize_entry("kind", kind)?;
        if let Some(first) = tables.origins.get(&module.origin()).filter(|first| *first != place) {
            record.serialize_entry("copy_of", first)?;
        }
        if !module.submodules().is_empty() {
            let below = module
                .submodules()
                .iter()
                .filter_map(|(name, &id)| Some((symbols.text(*name), tables.place_of_module(id)?)));
            record.serialize_entry("submodules", &Object(&below.collect::<Vec<_>>()))?;
        }
        if !module.attributes().is_empty() {
            let attributes = module.attributes().iter();
            let written = |attribute| WrittenAttribute { attribute, symbols, tables };
            let attributes: Vec<_> =
                attributes.map(|(name, attribute)| (symbols.text(*name), written(attribute))).collect();
            record.serialize_entry("attributes", &Object(&attributes))?;
        }
        record.end()
    }
}

struct WrittenAttribute<'a> {
    attribute: &'a Attribute,
    symbols: &'a Symbols,
    tables: &'a Tables<'a>,
}

impl Serialize for WrittenAttribute<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self.attribute {
            Attribute::Tensor(kind, tensor) => {
                let kind = match kind {
                    TensorKind::Parameter => "parameter",
                    TensorKind::Buffer => "buffer",
                    TensorKind::Constant => "constant",
                };
                tagged(serializer, kind, &self.tables.place_of_tensor(tensor))
            }
            Attribute::Value(value) => {
                tagged(serializer, "value", &Written(value, Scope { symbols: self.symbols, places: &[] }))
            }
        }
    }
}
