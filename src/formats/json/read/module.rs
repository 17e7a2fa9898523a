//! One graph module: `modules`, `weights`, `nodes`.

use std::sync::Arc;

use indexmap::IndexMap;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::argument::Scope;
use super::context::{shown, Context, Text};
use super::fields::{Channel, Fields};
use super::node::{NodeSeed, Parameters};
use crate::ir::tree::MAX_MODULE_DEPTH;
use crate::ir::{Error, ErrorKind, Graph, NodeId, Tensor, TensorMeta};

/// A graph module as the file has it, not in a tree yet.
pub(super) struct ModuleReader<'a> {
    pub(super) graph: Graph,
    pub(super) scope: Scope<'a>,
    pub(super) nodes: Vec<NodeRecord<'a>>,
    /// The users of all nodes, one node after another.
    pub(super) users: Vec<&'a str>,
    /// The modules that nodes call, by target, in order of their first call.
    pub(super) calls: IndexMap<&'a str, Call<'a>>,
    /// The get_attr nodes and their places in `nodes`.
    pub(super) gets: Vec<(NodeId, usize)>,
    pub(super) weights: IndexMap<&'a str, Weight<'a>>,
    pub(super) modules: IndexMap<&'a str, Box<ModuleReader<'a>>>,
}

/// One node, in the file's order.
pub(super) struct NodeRecord<'a> {
    pub(super) node: NodeId,
    /// As the file has it.
    pub(super) name: &'a str,
    /// Where it stands in the text.
    pub(super) at: Option<usize>,
    /// Where its users end; None if it tells none.
    pub(super) users_end: Option<usize>,
}

/// The first call of a module.
pub(super) struct Call<'a> {
    pub(super) index: usize,
    pub(super) at: Option<usize>,
    pub(super) parameters: Option<Parameters<'a>>,
}

/// What `weights` tells of one tensor.
pub(super) struct Weight<'a> {
    pub(super) meta: TensorMeta,
    /// Its scales and zero points, if it has them per channel.
    pub(super) channels: Option<(Channel<'a>, Channel<'a>)>,
    pub(super) at: Option<usize>,
    /// The tensor itself, once it is made.
    pub(super) tensor: Option<Arc<Tensor>>,
}

/// Reads a graph module. Boxed, so that modules in modules take little of the stack.
pub(super) struct ModuleSeed<'c, 'a>(pub(super) &'c Context<'a>);

impl<'a> DeserializeSeed<'a> for ModuleSeed<'_, 'a> {
    type Value = Box<ModuleReader<'a>>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Box<ModuleReader<'a>>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for ModuleSeed<'_, 'a> {
    type Value = Box<ModuleReader<'a>>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a serialized graph module")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<Box<ModuleReader<'a>>, M::Error> {
        let context = self.0;
        let mut module = Box::new(ModuleReader {
            graph: Graph::new(context.symbols().clone()),
            scope: Scope::default(),
            nodes: Vec::new(),
            users: Vec::new(),
            calls: IndexMap::new(),
            gets: Vec::new(),
            weights: IndexMap::new(),
            modules: IndexMap::new(),
        });
        let (mut modules, mut weights, mut nodes) = (None, None, None);
        while let Some(key) = map.next_key_seed(Text(context))? {
            context.at_key(Some(key));
            match key {
                "modules" => {
                    context.once(&mut modules, ())?;
                    map.next_value_seed(Modules(context, &mut module))?;
                }
                "weights" => {
                    context.once(&mut weights, ())?;
                    map.next_value_seed(Weights(context, &mut module))?;
                }
                "nodes" => {
                    context.once(&mut nodes, ())?;
                    map.next_value_seed(Nodes(context, &mut module))?;
                }
                _ => return Err(context.fail("a serialized graph module has no such key")),
            }
            context.at_no_item();
        }
        for (key, seen) in [("modules", modules), ("weights", weights), ("nodes", nodes)] {
            if seen.is_none() {
                return Err(context.fail(format!("the key `{key}` is missing")));
            }
        }
        Ok(module)
    }
}

impl<'a> ModuleReader<'a> {
    /// The name that the file gives a node. Nothing was erased yet: slots are places in `nodes`.
    fn file_name(&self, node: NodeId) -> Option<&'a str> {
        self.nodes.get(node.slot()).filter(|record| record.node == node).map(|record| record.name)
    }

    /// Holds what the file says of users against what arguments say, and takes over their order.
    fn settle_users(&mut self, context: &Context<'a>) -> Result<(), Error> {
        let mut rest = self.users.as_slice();
        let mut taken = 0;
        let mut users = Vec::new();
        for (index, record) in self.nodes.iter().enumerate() {
            let Some(users_end) = record.users_end else { continue };
            let names;
            (names, rest) = rest.split_at_checked(users_end.saturating_sub(taken)).unwrap_or((rest, &[]));
            taken = users_end;
            // Mostly they are told in the order in which they come: the names need no looking up.
            let told = names.iter().copied().map(Some);
            if self.graph.users(record.node).map(|user| self.file_name(user)).eq(told) {
                continue;
            }
            users.clear();
            users.extend(names.iter().filter_map(|name| self.scope.names.get(name)));
            let known = users.len() == names.len();
            if known && self.graph.set_user_order(record.node, &users).unwrap_or(false) {
                continue;
            }
            let name = record.name;
            context.at_named_node(index, name);
            let has = self.graph.user_count(record.node);
            let message = format!("`users` are not the nodes that use it: {} told, {has} in arguments", names.len());
            return Err(context.error_at(record.at, message));
        }
        Ok(())
    }
}

/// Reads `modules`.
struct Modules<'c, 'a>(&'c Context<'a>, &'c mut ModuleReader<'a>);

impl<'a> DeserializeSeed<'a> for Modules<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for Modules<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("graph modules by target")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
        let Modules(context, module) = self;
        while let Some(name) = map.next_key_seed(Text(context))? {
            if module.modules.contains_key(name) {
                return Err(context.fail(format!("module `{}` is given twice", shown(name))));
            }
            if context.depth() + 1 >= MAX_MODULE_DEPTH {
                let message = format!("modules nest deeper than {MAX_MODULE_DEPTH} levels");
                return Err(context.stop(Error::new(ErrorKind::Limit, message)));
            }
            context.enter_module(name);
            let submodule = map.next_value_seed(ModuleSeed(context))?;
            context.leave_module();
            module.modules.insert(name, submodule);
        }
        Ok(())
    }
}

/// Reads `nodes`.
struct Nodes<'c, 'a>(&'c Context<'a>, &'c mut ModuleReader<'a>);

impl<'a> DeserializeSeed<'a> for Nodes<'_, 'a> {
    type Value = ();

    // Not a part of the frame that recurs for every module in a module.
    #[inline(never)]
    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'a> Visitor<'a> for Nodes<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of nodes")
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut seq: S) -> Result<(), S::Error> {
        let Nodes(context, module) = self;
        context.at_key(None);
        loop {
            let index = module.nodes.len();
            let seed = NodeSeed { context, module, index };
            if seq.next_element_seed(seed)?.is_none() {
                break;
            }
            context.at_no_item();
        }
        module.settle_users(context).map_err(|error| context.stop(error))
    }
}

/// Reads `weights`.
struct Weights<'c, 'a>(&'c Context<'a>, &'c mut ModuleReader<'a>);

impl<'a> DeserializeSeed<'a> for Weights<'_, 'a> {
    type Value = ();

    // Not a part of the frame that recurs for every module in a module.
    #[inline(never)]
    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for Weights<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("tensors by name")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
        let Weights(context, module) = self;
        while let Some(name) = map.next_key_seed(Text(context))? {
            context.at_weight(name);
            context.at_key(None);
            let weight = map.next_value_seed(WeightSeed(context, name))?;
            if module.weights.insert(name, weight).is_some() {
                return Err(context.fail("the weight is given twice"));
            }
        }
        Ok(())
    }
}

/// Reads what is told of the weight of that name.
struct WeightSeed<'c, 'a>(&'c Context<'a>, &'a str);

impl<'a> DeserializeSeed<'a> for WeightSeed<'_, 'a> {
    type Value = Weight<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Weight<'a>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for WeightSeed<'_, 'a> {
    type Value = Weight<'a>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the metadata of a tensor")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<Weight<'a>, M::Error> {
        let WeightSeed(context, name) = self;
        let mut fields = Fields::default();
        while let Some(key) = map.next_key_seed(Text(context))? {
            context.at_key(Some(key));
            let known = fields.read(key, context, &mut map)? || fields.read_weight(key, context, &mut map)?;
            if !known {
                return Err(context.fail("a weight has no such key"));
            }
        }
        context.at_key(None);
        let meta = fields.meta().map_err(|what| context.fail(what))?;
        let channels = fields.channels().map_err(|what| context.fail(what))?;
        if meta.dtype.is_quantized() && meta.quantization.is_none() {
            return Err(context.fail("it is quantized, but it is not told how"));
        }
        Ok(Weight { meta, channels, at: context.offset(name), tensor: None })
    }
}
