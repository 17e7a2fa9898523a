//! What the document numbers: modules, tensors and values, each once however often it is held.

use std::sync::Arc;

use indexmap::map::Entry;
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::formats::native::{MAX_DEPTH, MAX_QUANTIZATION_DEPTH};
use crate::ir::tensor::Quantization;
use crate::ir::{Attribute, Error, ErrorKind, ModuleId, ModuleTree, Result, Tensor, TensorMeta, Value};

/// Places in the document's lists.
pub(super) struct Tables<'a> {
    /// Each before what is below it, in the order of the members.
    pub(super) modules: IndexMap<ModuleId, String, FxBuildHasher>,
    /// The place of the first module of each origin.
    pub(super) origins: FxHashMap<u64, usize>,
    tensors: IndexMap<*const Tensor, Held<'a>, FxBuildHasher>,
    values: IndexMap<*const Value, &'a Value, FxBuildHasher>,
}

/// A tensor that is held.
pub(super) struct Held<'a> {
    pub(super) tensor: &'a Arc<Tensor>,
    /// The path of the first that holds it.
    pub(super) path: String,
    /// How deep the tensors of its quantization nest, this one included.
    depth: usize,
}

impl<'a> Tables<'a> {
    pub(super) fn new(tree: &'a ModuleTree, top: ModuleId) -> Result<Tables<'a>> {
        let mut tables = Tables {
            modules: IndexMap::default(),
            origins: FxHashMap::default(),
            tensors: IndexMap::default(),
            values: IndexMap::default(),
        };
        let symbols = tree.symbols();
        let under = |path: &str, name: &str| match path {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        let mut pending = vec![(top, String::new())];
        while let Some((id, path)) = pending.pop() {
            let module = tree.get(id)?;
            for (name, attribute) in module.attributes() {
                if let Attribute::Tensor(_, tensor) = attribute {
                    tables.add_tensor(tensor, &under(&path, symbols.text(*name)), MAX_QUANTIZATION_DEPTH)?;
                }
            }
            if let Some(graph) = module.graph() {
                for node in graph.nodes() {
                    if let Some(value) = graph[node].value() {
                        let path = || under(&path, graph.name(node));
                        tables.add_value(value, &path).map_err(|error| error.at_node(node))?;
                    }
                }
            }
            let below = module.submodules().iter().rev();
            pending.extend(below.map(|(name, &below)| (below, under(&path, symbols.text(*name)))));
            let (place, _) = tables.modules.insert_full(id, path);
            tables.origins.entry(module.origin()).or_insert(place);
        }
        Ok(tables)
    }

    /// The tensors, each after those that its quantization holds.
    pub(super) fn tensors(&self) -> impl ExactSizeIterator<Item = &Held<'a>> {
        self.tensors.values()
    }

    pub(super) fn values(&self) -> impl ExactSizeIterator<Item = &'a Value> + '_ {
        self.values.values().copied()
    }

    pub(super) fn place_of_module(&self, module: ModuleId) -> Option<usize> {
        self.modules.get_index_of(&module)
    }

    pub(super) fn place_of_tensor(&self, tensor: &Arc<Tensor>) -> Option<usize> {
        self.tensors.get_index_of(&Arc::as_ptr(tensor))
    }

    pub(super) fn place_of_value(&self, value: &Arc<Value>) -> Option<usize> {
        self.values.get_index_of(&Arc::as_ptr(value))
    }

    /// How deep tensors nest that a tensor brings, itself included.
    fn add_tensor(&mut self, tensor: &'a Arc<Tensor>, path: &str, left: usize) -> Result<usize> {
        if let Some(held) = self.tensors.get(&Arc::as_ptr(tensor)) {
            return Ok(held.depth);
        }
        let left = left.checked_sub(1).ok_or_else(|| too_deep("quantization of a tensor", MAX_QUANTIZATION_DEPTH))?;
        let depth = self.add_channels(tensor.meta(), path, left)? + 1;
        if depth > MAX_QUANTIZATION_DEPTH {
            return Err(too_deep("quantization of a tensor", MAX_QUANTIZATION_DEPTH));
        }
        self.tensors.insert(Arc::as_ptr(tensor), Held { tensor, path: path.to_owned(), depth });
        Ok(depth)
    }

    /// The tensors of a quantization by channel.
    fn add_channels(&mut self, meta: &'a TensorMeta, path: &str, left: usize) -> Result<usize> {
        let Some(Quantization::PerChannel { scales, zero_points, .. }) = &meta.quantization else { return Ok(0) };
        let mut depth = 0;
        for (tensor, name) in [(scales, "q_per_channel_scales"), (zero_points, "q_per_channel_zero_points")] {
            if let Some(tensor) = tensor {
                depth = depth.max(self.add_tensor(tensor, &format!("{path}.{name}"), left)?);
            }
        }
        Ok(depth)
    }

    fn add_value(&mut self, value: &'a Arc<Value>, path: &impl Fn() -> String) -> Result<()> {
        let Entry::Vacant(entry) = self.values.entry(Arc::as_ptr(value)) else { return Ok(()) };
        entry.insert(value);
        self.check_value(value, path, MAX_DEPTH)
    }

    fn check_value(&mut self, value: &'a Value, path: &impl Fn() -> String, left: usize) -> Result<()> {
        let inside = || left.checked_sub(1).ok_or_else(|| too_deep("value of a node", MAX_DEPTH));
        match value {
            Value::Tensor(meta) if meta.quantization.is_some() => {
                self.add_channels(meta, &path(), MAX_QUANTIZATION_DEPTH).map(|_| ())
            }
            Value::List(items) | Value::Tuple(items) => {
                let left = inside()?;
                items.iter().try_for_each(|item| self.check_value(item, path, left))
            }
            Value::Dict(entries) => {
                let left = inside()?;
                entries.iter().try_for_each(|(_, item)| self.check_value(item, path, left))
            }
            _ => Ok(()),
        }
    }
}

fn too_deep(what: &str, most: usize) -> Error {
    Error::new(ErrorKind::Limit, format!("the {what} nests deeper than {most} levels"))
}
