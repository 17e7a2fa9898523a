//! The JSON of a plan, key by key in torch's order.

use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::argument::{Arg, Reference};
use super::check::{meta_entry, output_value, value_info};
use super::info::{serialize_info, serialize_value_info};
use super::leaf::Leaf;
use super::plan::{ModulePlan, Plan};
use super::weight::Weight;
use super::SerializeOptions;
use crate::formats::json::{OutputInfo, Schema};
use crate::formats::python::repr::str_text;
use crate::ir::lowering::LeafMember;
use crate::ir::{Argument, ModuleId, ModuleTree, NodeId, Op};

/// Everything.
pub(super) struct Emit<'p, 't> {
    plan: &'p Plan<'t>,
    options: &'p SerializeOptions,
}

impl<'p, 't> Emit<'p, 't> {
    pub(super) fn new(plan: &'p Plan<'t>, options: &'p SerializeOptions) -> Self {
        Emit { plan, options }
    }

    pub(super) fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Module { tree: self.plan.tree, options: self.options, plan: &self.plan.root }.serialize(serializer)
    }
}

#[derive(Clone, Copy)]
struct Module<'p, 't> {
    tree: &'t ModuleTree,
    options: &'p SerializeOptions,
    plan: &'p ModulePlan<'t>,
}

impl Serialize for Module<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("modules", &Modules(*self))?;
        map.serialize_entry("weights", &Weights { plan: self.plan, schema: &self.options.schema })?;
        map.serialize_entry("nodes", &Nodes(*self))?;
        map.end()
    }
}

struct Modules<'p, 't>(Module<'p, 't>);

impl Serialize for Modules<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let module = self.0;
        serializer.collect_map(module.plan.submodules.iter().map(|(name, plan)| (name, Module { plan, ..module })))
    }
}

struct Weights<'p, 't> {
    plan: &'p ModulePlan<'t>,
    schema: &'p Schema,
}

impl Serialize for Weights<'_, '_> {
    // Not a part of the frame that recurs for every module in a module.
    #[inline(never)]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let schema = self.schema;
        serializer.collect_map(self.plan.entries.iter().map(|(name, entry)| (name, Weight { name, entry, schema })))
    }
}

struct Nodes<'p, 't>(Module<'p, 't>);

impl Serialize for Nodes<'_, '_> {
    // Not a part of the frame that recurs for every module in a module.
    #[inline(never)]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let module = self.0;
        serializer.collect_seq(module.plan.graph.nodes().map(|node| Node { module, node }))
    }
}

struct Node<'p, 't> {
    module: Module<'p, 't>,
    node: NodeId,
}

impl Serialize for Node<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Module { tree, options, plan } = self.module;
        let (node, graph, schema) = (self.node, plan.graph, &options.schema);
        let found = &graph[node];
        let mut map = serializer.serialize_map(None)?;
        let is_output = found.op() == Op::Output;
        if is_output && schema.output_info == OutputInfo::Node {
            if let Ok(value) = output_value(graph, node) {
                if let Ok(info) = value_info(&value, schema) {
                    serialize_value_info(&mut map, info, schema)?;
                }
            }
        }
        if !is_output && !plan.is_graph_call(node) {
            serialize_info(&mut map, plan, schema, node)?;
        }
        if let Some(&leaf) = plan.called.get(&found.target()) {
            if found.op() == Op::CallModule && !plan.is_graph_call(node) {
                map.serialize_entry("parameters", &Parameters { tree, options, plan, leaf })?;
            }
        }
        map.serialize_entry("target", plan.target(node))?;
        if found.op() == Op::Placeholder {
            if let Some(Argument::Str(ph_type)) = meta_entry(graph, node, "ph_type") {
                if !graph.text(*ph_type).is_empty() {
                    map.serialize_entry("ph_type", graph.text(*ph_type))?;
                }
            }
        }
        map.serialize_entry("op_code", found.op().name())?;
        map.serialize_entry("name", plan.name(node))?;
        let args = match found.args() {
            [Argument::Tuple(items)] if is_output && schema.unpack_output => items,
            args => args,
        };
        let tells = is_output && schema.output_info == OutputInfo::Args;
        let cell = Cell { plan, schema, tells };
        map.serialize_entry("args", &Arguments { cell, arguments: args })?;
        map.serialize_entry("kwargs", &Kwargs { cell, kwargs: found.kwargs() })?;
        if schema.users {
            map.serialize_entry("users", &Users { cell, node })?;
        }
        map.end()
    }
}

/// The type and settings of a leaf module; those of modules inside it under dotted names.
struct Parameters<'p, 't> {
    tree: &'t ModuleTree,
    options: &'p SerializeOptions,
    plan: &'p ModulePlan<'t>,
    leaf: ModuleId,
}

impl Serialize for Parameters<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let symbols = self.tree.symbols();
        let mut map = serializer.serialize_map(None)?;
        let leaf = self.tree.get(self.leaf).map_err(S::Error::custom)?;
        map.serialize_entry("name", symbols.text(leaf.type_name()))?;
        let found = Leaf { tree: self.tree, module: self.leaf, called: &self.plan.called_modules };
        let members = found.members(&self.options.lowering).map_err(S::Error::custom)?;
        for (path, member) in members {
            let text = match member {
                LeafMember::Value(value) => str_text(value, symbols),
                LeafMember::NoTensor => Some("None".to_owned()),
                LeafMember::Tensor(..) | LeafMember::Missing => None,
            };
            if let Some(text) = text {
                map.serialize_entry(&*path, &text)?;
            }
        }
        map.end()
    }
}

/// What everything in one node's arguments needs.
#[derive(Clone, Copy)]
struct Cell<'p, 't> {
    plan: &'p ModulePlan<'t>,
    schema: &'p Schema,
    tells: bool,
}

impl<'p, 't> Cell<'p, 't> {
    fn arg(self, argument: &'p Argument) -> Arg<'p, 't> {
        Arg { plan: self.plan, schema: self.schema, argument, tells: self.tells }
    }
}

struct Arguments<'p, 't> {
    cell: Cell<'p, 't>,
    arguments: &'p [Argument],
}

impl Serialize for Arguments<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.arguments.iter().map(|argument| self.cell.arg(argument)))
    }
}

struct Kwargs<'p, 't> {
    cell: Cell<'p, 't>,
    kwargs: &'p [(crate::ir::Symbol, Argument)],
}

impl Serialize for Kwargs<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let graph = self.cell.plan.graph;
        serializer.collect_map(self.kwargs.iter().map(|(key, argument)| (graph.text(*key), self.cell.arg(argument))))
    }
}

struct Users<'p, 't> {
    cell: Cell<'p, 't>,
    node: NodeId,
}

impl Serialize for Users<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Cell { plan, schema, .. } = self.cell;
        let mut seq = serializer.serialize_seq(Some(plan.graph.user_count(self.node)))?;
        for node in plan.graph.users(self.node) {
            seq.serialize_element(&Reference { plan, schema, node, tells: false })?;
        }
        seq.end()
    }
}
