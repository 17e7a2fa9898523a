//! The JSON of a plan, key by key in torch's order.

use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::check::{meta_entry, node_tensor};
use super::plan::{channel_names, ModulePlan, Plan};
use crate::formats::json::dims::DimsText;
use crate::formats::python::repr::str_text;
use crate::ir::tensor::{Dims, Quantization};
use crate::ir::{Argument, Graph, ModuleId, ModuleTree, NodeId, Op, TensorMeta};

/// Everything.
pub(super) struct Emit<'p, 't>(&'p Plan<'t>);

impl<'p, 't> Emit<'p, 't> {
    pub(super) fn new(plan: &'p Plan<'t>) -> Self {
        Emit(plan)
    }

    pub(super) fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Module { tree: self.0.tree, plan: &self.0.root }.serialize(serializer)
    }
}

#[derive(Clone, Copy)]
struct Module<'p, 't> {
    tree: &'t ModuleTree,
    plan: &'p ModulePlan<'t>,
}

impl Serialize for Module<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("modules", &Modules(*self))?;
        map.serialize_entry("weights", &Weights(self.plan))?;
        map.serialize_entry("nodes", &Nodes(*self))?;
        map.end()
    }
}

struct Modules<'p, 't>(Module<'p, 't>);

impl Serialize for Modules<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let submodules = &self.0.plan.submodules;
        serializer.collect_map(submodules.iter().map(|(name, plan)| (name, Module { tree: self.0.tree, plan })))
    }
}

struct Weights<'p, 't>(&'p ModulePlan<'t>);

impl Serialize for Weights<'_, '_> {
    // Not a part of the frame that recurs for every module in a module.
    #[inline(never)]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.entries.iter().map(|(name, meta)| (name, Weight(name, meta))))
    }
}

struct Weight<'p>(&'p str, &'p TensorMeta);

impl Serialize for Weight<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Weight(name, meta) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("dtype", meta.dtype.name())?;
        map.serialize_entry("shape", &Sizes(&meta.shape))?;
        map.serialize_entry("requires_grad", requires_grad(meta))?;
        map.serialize_entry("is_quantized", &meta.quantization.is_some())?;
        serialize_stride(&mut map, meta)?;
        match &meta.quantization {
            None => {}
            Some(Quantization::PerTensor { qscheme, scale, zero_point }) => {
                map.serialize_entry("qscheme", &**qscheme)?;
                map.serialize_entry("q_scale", scale)?;
                map.serialize_entry("q_zero_point", zero_point)?;
            }
            Some(Quantization::PerChannel { qscheme, axis, .. }) => {
                let (scales, zero_points) = channel_names(name);
                map.serialize_entry("qscheme", &**qscheme)?;
                map.serialize_entry("q_per_channel_scales", &scales)?;
                map.serialize_entry("q_per_channel_zero_points", &zero_points)?;
                map.serialize_entry("q_per_channel_axis", axis)?;
            }
        }
        map.end()
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
        let Module { tree, plan } = self.module;
        let (node, graph) = (self.node, plan.graph);
        let found = &graph[node];
        let mut map = serializer.serialize_map(None)?;
        if found.op() != Op::Output && !plan.is_graph_call(node) {
            serialize_info(&mut map, graph, node)?;
        }
        if let Some(&leaf) = plan.called.get(&found.target()) {
            if found.op() == Op::CallModule && !plan.is_graph_call(node) {
                map.serialize_entry("parameters", &Parameters { tree, plan, leaf })?;
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
        let is_output = found.op() == Op::Output;
        let args = match found.args() {
            [Argument::Tuple(items) | Argument::List(items)] if is_output => items,
            args => args,
        };
        map.serialize_entry("args", &Arguments { plan, arguments: args, is_output })?;
        map.serialize_entry("kwargs", &Kwargs { plan, kwargs: found.kwargs(), is_output })?;
        map.serialize_entry("users", &Users { plan, node })?;
        map.end()
    }
}

/// What is told of a node's tensor, and its lowering information.
fn serialize_info<M: SerializeMap>(map: &mut M, graph: &Graph, node: NodeId) -> Result<(), M::Error> {
    if let Ok(meta) = node_tensor(graph, node) {
        map.serialize_entry("shape", &Sizes(&meta.shape))?;
        map.serialize_entry("dtype", meta.dtype.name())?;
        map.serialize_entry("requires_grad", requires_grad(meta))?;
        serialize_stride(map, meta)?;
        map.serialize_entry("is_quantized", &meta.quantization.is_some())?;
        if let Some(quantization) = &meta.quantization {
            map.serialize_entry("qscheme", &**quantization.qscheme())?;
            if let Quantization::PerTensor { scale, zero_point, .. } = quantization {
                map.serialize_entry("q_scale", scale)?;
                map.serialize_entry("q_zero_point", zero_point)?;
            }
        }
    }
    if let Some(Argument::Dict(entries)) = meta_entry(graph, node, "lowering_info") {
        for (key, value) in entries {
            if let Argument::Str(key) = key {
                map.serialize_entry(graph.text(*key), &Literal(graph, value))?;
            }
        }
    }
    Ok(())
}

fn requires_grad(meta: &TensorMeta) -> &'static str {
    match meta.requires_grad {
        Some(true) => "True",
        _ => "False",
    }
}

/// The recorded strides, or those of a tensor that lies row-major.
fn serialize_stride<M: SerializeMap>(map: &mut M, meta: &TensorMeta) -> Result<(), M::Error> {
    match &meta.stride {
        Some(stride) => map.serialize_entry("stride", &Sizes(stride)),
        None => {
            let strides = meta.contiguous_strides().ok().flatten().unwrap_or_default();
            let strides: Dims = strides.iter().map(|&stride| stride.into()).collect();
            map.serialize_entry("stride", &Sizes(&strides))
        }
    }
}

struct Sizes<'p>(&'p Dims);

impl Serialize for Sizes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&DimsText(self.0))
    }
}

/// The type and settings of a leaf module; those of modules inside it under dotted names.
struct Parameters<'p, 't> {
    tree: &'t ModuleTree,
    plan: &'p ModulePlan<'t>,
    leaf: ModuleId,
}

impl Serialize for Parameters<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let symbols = self.tree.symbols();
        let mut map = serializer.serialize_map(None)?;
        let leaf = self.tree.get(self.leaf).map_err(S::Error::custom)?;
        map.serialize_entry("name", symbols.text(leaf.type_name()))?;
        let mut waiting = vec![(self.leaf, String::new())];
        while let Some((module, path)) = waiting.pop() {
            let found = self.tree.get(module).map_err(S::Error::custom)?;
            for (&name, attribute) in found.attributes() {
                if let Some(text) = attribute.value().and_then(|value| str_text(value, symbols)) {
                    map.serialize_entry(&format!("{path}{}", symbols.text(name)), &text)?;
                }
            }
            let below = found.submodules().iter().rev().filter(|(_, id)| !self.plan.called_modules.contains(id));
            waiting.extend(below.map(|(&name, &id)| (id, format!("{path}{}.", symbols.text(name)))));
        }
        map.end()
    }
}

struct Arguments<'p, 't> {
    plan: &'p ModulePlan<'t>,
    arguments: &'p [Argument],
    is_output: bool,
}

impl Serialize for Arguments<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Arguments { plan, arguments, is_output } = *self;
        serializer.collect_seq(arguments.iter().map(|argument| Arg { plan, argument, is_output }))
    }
}

struct Kwargs<'p, 't> {
    plan: &'p ModulePlan<'t>,
    kwargs: &'p [(crate::ir::Symbol, Argument)],
    is_output: bool,
}

impl Serialize for Kwargs<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Kwargs { plan, kwargs, is_output } = *self;
        let entries = kwargs.iter();
        serializer
            .collect_map(entries.map(|(key, argument)| (plan.graph.text(*key), Arg { plan, argument, is_output })))
    }
}

struct Users<'p, 't> {
    plan: &'p ModulePlan<'t>,
    node: NodeId,
}

impl Serialize for Users<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let plan = self.plan;
        let mut seq = serializer.serialize_seq(Some(plan.graph.user_count(self.node)))?;
        for user in plan.graph.users(self.node) {
            seq.serialize_element(&Reference { plan, node: user, is_output: false })?;
        }
        seq.end()
    }
}

struct Reference<'p, 't> {
    plan: &'p ModulePlan<'t>,
    node: NodeId,
    is_output: bool,
}

impl Serialize for Reference<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("is_node", &true)?;
        map.serialize_entry("name", self.plan.name(self.node))?;
        if self.is_output {
            serialize_info(&mut map, self.plan.graph, self.node)?;
        }
        map.end()
    }
}

struct Arg<'p, 't> {
    plan: &'p ModulePlan<'t>,
    argument: &'p Argument,
    is_output: bool,
}

impl Serialize for Arg<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Arg { plan, argument, is_output } = *self;
        let inner = |argument| Arg { plan, argument, is_output };
        match argument {
            Argument::Node(node) => Reference { plan, node: *node, is_output }.serialize(serializer),
            Argument::List(items) | Argument::Tuple(items) => serializer.collect_seq(items.iter().map(inner)),
            Argument::Dict(entries) => {
                serializer.collect_map(entries.iter().map(|(key, value)| (Literal(plan.graph, key), inner(value))))
            }
            literal => Literal(plan.graph, literal).serialize(serializer),
        }
    }
}

/// An argument without nodes.
struct Literal<'p>(&'p Graph, &'p Argument);

impl Serialize for Literal<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Literal(graph, argument) = *self;
        match argument {
            Argument::None => serializer.serialize_unit(),
            Argument::Bool(value) => serializer.serialize_bool(*value),
            Argument::Int(value) => serializer.serialize_i64(*value),
            Argument::BigInt(text) => {
                RawValue::from_string(graph.text(*text).to_owned()).map_err(S::Error::custom)?.serialize(serializer)
            }
            Argument::Float(value) if value.is_finite() => serializer.serialize_f64(*value),
            Argument::Dtype(dtype) => serializer.serialize_str(dtype.name()),
            Argument::Str(text) | Argument::Layout(text) | Argument::MemoryFormat(text) | Argument::Qscheme(text) => {
                serializer.serialize_str(graph.text(*text))
            }
            Argument::List(items) | Argument::Tuple(items) => {
                serializer.collect_seq(items.iter().map(|item| Literal(graph, item)))
            }
            Argument::Dict(entries) => {
                serializer.collect_map(entries.iter().map(|(key, value)| (Literal(graph, key), Literal(graph, value))))
            }
            // Refused when the plan was made.
            _ => Err(S::Error::custom("an argument that JSON cannot hold")),
        }
    }
}
