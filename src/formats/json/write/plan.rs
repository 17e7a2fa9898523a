//! What will be written: each graph module with its weights, everything checked.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::check::{argument_fault, meta_fault, node_tensor, tensor_fault};
use super::quantized::{scales_as_stored, zero_points_as_stored};
use super::{SerializeOptions, WeightMap};
use crate::formats::json::PARENT;
use crate::ir::tensor::Quantization;
use crate::ir::{Argument, Attribute, Dtype, Error, ErrorKind, Graph, Member, ModuleId, ModuleKind, ModuleTree};
use crate::ir::{NodeId, Op, Result, Symbol, Tensor, TensorKind, TensorMeta};

/// Everything that is written.
pub(super) struct Plan<'t> {
    pub(super) tree: &'t ModuleTree,
    pub(super) root: ModulePlan<'t>,
    weights: IndexMap<String, Placed>,
}

/// One graph module.
pub(super) struct ModulePlan<'t> {
    pub(super) graph: &'t Graph,
    /// The metadata that stands under `weights`.
    pub(super) entries: IndexMap<String, TensorMeta>,
    /// The graph modules that it calls, by target.
    pub(super) submodules: IndexMap<&'t str, ModulePlan<'t>>,
    /// The modules that nodes call, by target.
    pub(super) called: FxHashMap<Symbol, ModuleId>,
    /// The same modules: what lies in a leaf and is called itself is no part of the leaf.
    pub(super) called_modules: FxHashSet<ModuleId>,
    /// The names that nodes have in the file, by slot. Those of nodes that read constants of the
    /// module above differ from those in the graph.
    names: Vec<&'t str>,
}

/// A weight, and which node made it one.
struct Placed {
    /// As it is written.
    tensor: Arc<Tensor>,
    /// As the module has it.
    member: Arc<Tensor>,
    /// For the message when another tensor wants the same name.
    owner: (ModuleId, NodeId),
}

impl<'t> Plan<'t> {
    pub(super) fn new(tree: &'t ModuleTree, module: ModuleId, options: &SerializeOptions) -> Result<Plan<'t>> {
        let mut planner = Planner { tree, options, weights: IndexMap::new() };
        let root = planner.module(module, "")?;
        Ok(Plan { tree, root, weights: planner.weights })
    }

    pub(super) fn into_weights(self) -> WeightMap {
        self.weights.into_iter().map(|(name, placed)| (name, placed.tensor)).collect()
    }
}

impl<'t> ModulePlan<'t> {
    /// The name that a node has in the file.
    pub(super) fn name(&self, node: NodeId) -> &'t str {
        self.names.get(node.slot()).copied().unwrap_or_default()
    }

    /// The target that a node has in the file.
    pub(super) fn target(&self, node: NodeId) -> &'t str {
        let found = &self.graph[node];
        let target = self.graph.text(found.target());
        match found.op() {
            Op::GetAttr => target.strip_prefix(PARENT).unwrap_or(target),
            _ => target,
        }
    }

    /// The module that a call_module node calls, if it is a graph module.
    pub(super) fn is_graph_call(&self, node: NodeId) -> bool {
        let found = &self.graph[node];
        found.op() == Op::CallModule && self.submodules.contains_key(self.graph.text(found.target()))
    }
}

struct Planner<'t, 'o> {
    tree: &'t ModuleTree,
    options: &'o SerializeOptions,
    weights: IndexMap<String, Placed>,
}

impl<'t> Planner<'t, '_> {
    /// Modules nest no deeper than a tree allows, and each call leads further down.
    fn module(&mut self, module: ModuleId, prefix: &str) -> Result<ModulePlan<'t>> {
        let graph = self.tree.graph(module)?;
        let called = self.called_modules(module, graph)?;
        let mut plan = ModulePlan {
            graph,
            entries: IndexMap::new(),
            submodules: IndexMap::new(),
            called_modules: called.values().copied().collect(),
            called,
            names: vec![""; graph.slot_count()],
        };
        let mut has_constants = false;
        let mut leafs_done = FxHashSet::default();
        for node in graph.nodes() {
            let found = &graph[node];
            let target = graph.text(found.target());
            let constant = target.strip_prefix(PARENT).filter(|_| found.op() == Op::GetAttr);
            has_constants |= constant.is_some();
            if let Some(name) = plan.names.get_mut(node.slot()) {
                *name = constant.unwrap_or_else(|| graph.name(node));
            }
            match found.op() {
                Op::CallModule => {
                    let Some(&callee) = plan.called.get(&found.target()) else { continue };
                    match self.tree.get(callee)?.kind() {
                        ModuleKind::Graph(_) => {
                            if !plan.submodules.contains_key(target) {
                                let submodule = self.module(callee, &format!("{target}."))?;
                                plan.submodules.insert(target, submodule);
                            }
                        }
                        ModuleKind::Leaf | ModuleKind::Holder => {
                            if leafs_done.insert(callee) {
                                let owner = (module, node);
                                self.leaf(&mut plan, callee, &format!("{prefix}{target}"), owner)?;
                            }
                        }
                    }
                }
                Op::GetAttr => self.get_attr(&mut plan, module, node, prefix)?,
                _ => {}
            }
            self.check_node(&plan, node)?;
        }
        if has_constants {
            check_names(&plan)?;
        }
        Ok(plan)
    }

    fn called_modules(&self, module: ModuleId, graph: &Graph) -> Result<FxHashMap<Symbol, ModuleId>> {
        let mut called = FxHashMap::default();
        for node in graph.nodes_of(Op::CallModule) {
            let target = graph[node].target();
            if called.contains_key(&target) {
                continue;
            }
            match self.tree.resolve(module, graph.text(target)) {
                Some(Member::Module(callee)) if callee != module => called.insert(target, callee),
                _ => return Err(fault(ErrorKind::NotFound, graph, node, "there is no such module")),
            };
        }
        Ok(called)
    }

    /// The tensors of a module that is one operation. Modules inside it belong to it, unless they
    /// are called themselves.
    fn leaf(&mut self, plan: &mut ModulePlan<'t>, leaf: ModuleId, path: &str, owner: (ModuleId, NodeId)) -> Result<()> {
        let mut waiting = vec![(leaf, path.to_owned())];
        while let Some((module, path)) = waiting.pop() {
            let found = self.tree.get(module)?;
            for (&name, attribute) in found.attributes() {
                if let Attribute::Tensor(kind, tensor) = attribute {
                    let key = format!("{path}.{}", self.tree.symbols().text(name));
                    self.add_weight(plan, key, *kind, tensor, None, owner)?;
                }
            }
            let below = found.submodules().iter().rev().filter(|(_, id)| !plan.called_modules.contains(id));
            waiting.extend(below.map(|(&name, &id)| (id, format!("{path}.{}", self.tree.symbols().text(name)))));
        }
        Ok(())
    }

    fn get_attr(&mut self, plan: &mut ModulePlan<'t>, module: ModuleId, node: NodeId, prefix: &str) -> Result<()> {
        let graph = plan.graph;
        let target = graph.text(graph[node].target());
        let owner = (module, node);
        let member = self.tree.resolve(module, target);
        if let Some(name) = target.strip_prefix(PARENT) {
            // Its metadata stands in the module above. Its bytes, where they are here, go along.
            if let Some(Member::Attribute(Attribute::Tensor(_, tensor))) = member {
                if tensor.data().is_some() {
                    self.place(name, tensor.clone(), tensor, owner)?;
                }
            }
            return Ok(());
        }
        match member {
            Some(Member::Attribute(Attribute::Tensor(kind, tensor))) => {
                let key = format!("{prefix}{target}");
                if self.weights.contains_key(&key) {
                    // Told of already, by a leaf module or a node before this one.
                    return self.place(&key, tensor.clone(), tensor, owner);
                }
                let fused = fused_dtype(graph, node).filter(|_| tensor.dtype() == Dtype::Uint8);
                self.add_weight(plan, key, *kind, tensor, fused, owner)
            }
            Some(_) => Err(fault(
                ErrorKind::Unsupported,
                graph,
                node,
                "what it reads is no tensor, which the format cannot hold",
            )),
            None => Err(fault(ErrorKind::NotFound, graph, node, "there is no such member")),
        }
    }

    fn add_weight(
        &mut self,
        plan: &mut ModulePlan<'t>,
        key: String,
        kind: TensorKind,
        tensor: &Arc<Tensor>,
        fused: Option<Dtype>,
        owner: (ModuleId, NodeId),
    ) -> Result<()> {
        let about = |mut error: Error| {
            error.message = format!("weight `{key}`: {}", error.message);
            error.at_node(owner.1)
        };
        let mut meta = tensor.meta().clone();
        meta.dtype = fused.unwrap_or(meta.dtype);
        meta.requires_grad.get_or_insert(kind == TensorKind::Parameter);
        if meta.stride.is_none() {
            meta.stride = tensor.strides().map(|strides| strides.iter().map(|&stride| stride.into()).collect());
        }
        if let Some(what) = tensor_fault(&meta) {
            return Err(about(Error::new(ErrorKind::InvalidArgument, what)));
        }
        let written = match fused {
            Some(_) => Arc::new(tensor.with_meta(meta.clone()).map_err(about)?),
            None => tensor.clone(),
        };
        let mut channels = Vec::new();
        if let Some(Quantization::PerChannel { axis, scales, zero_points, .. }) = &meta.quantization {
            let (Some(_), Some(scales), Some(zero_points)) = (axis, scales, zero_points) else {
                let message = "its scales, zero points or axis are not known";
                return Err(about(Error::new(ErrorKind::InvalidArgument, message)));
            };
            channels.push((format!("{key}{SCALES}"), scales_as_stored(scales).map_err(about)?));
            channels.push((format!("{key}{ZERO_POINTS}"), zero_points_as_stored(zero_points).map_err(about)?));
        }
        // torch's dictionary of weights gets them before the tensor that they belong to.
        for (name, tensor) in &channels {
            self.place(name, tensor.clone(), tensor, owner)?;
        }
        self.place(&key, written, tensor, owner)?;
        plan.entries.insert(key, meta);
        for (name, tensor) in channels {
            let mut meta = tensor.meta().clone();
            meta.requires_grad.get_or_insert(false);
            plan.entries.insert(name, meta);
        }
        Ok(())
    }

    fn place(
        &mut self,
        name: &str,
        tensor: Arc<Tensor>,
        member: &Arc<Tensor>,
        owner: (ModuleId, NodeId),
    ) -> Result<()> {
        let Some(known) = self.weights.get(name) else {
            self.weights.insert(name.to_owned(), Placed { tensor, member: member.clone(), owner });
            return Ok(());
        };
        if Arc::ptr_eq(&known.member, member) || known.member == *member {
            return Ok(());
        }
        let (one, two) = (self.owner_text(known.owner), self.owner_text(owner));
        let message = format!("two tensors would both be the weight `{name}`: one needed by {one}, one by {two}");
        Err(Error::new(ErrorKind::InvalidArgument, message).at_node(owner.1))
    }

    fn owner_text(&self, (module, node): (ModuleId, NodeId)) -> String {
        let path = self.tree.path(module, self.tree.root()).unwrap_or_default();
        let name = self.tree.graph(module).map(|graph| graph.name(node)).unwrap_or_default();
        match path.as_str() {
            "" => format!("node `{name}`"),
            _ => format!("node `{name}` of module `{path}`"),
        }
    }

    fn check_node(&self, plan: &ModulePlan<'t>, node: NodeId) -> Result<()> {
        let graph = plan.graph;
        let found = &graph[node];
        let symbols = graph.symbols();
        let unsupported = |what: String| fault(ErrorKind::Unsupported, graph, node, &what);
        for (at, argument) in found.args().iter().enumerate() {
            if let Some(what) = argument_fault(argument, symbols) {
                return Err(unsupported(format!("argument {at} is or holds {what}")));
            }
        }
        for (key, argument) in found.kwargs() {
            if let Some(what) = argument_fault(argument, symbols) {
                let key = graph.text(*key);
                return Err(unsupported(format!("keyword argument `{key}` is or holds {what}")));
            }
        }
        if let Some(what) = meta_fault(graph, node) {
            return Err(fault(ErrorKind::InvalidArgument, graph, node, &what));
        }
        let needs_tensor = |node: NodeId| match node_tensor(graph, node) {
            Err(what) if !self.options.allow_missing_meta => Err(fault(ErrorKind::InvalidArgument, graph, node, &what)),
            _ => Ok(()),
        };
        match found.op() {
            Op::Output => {
                let mut returned = Vec::new();
                found.args().iter().for_each(|argument| argument.for_each_node(&mut |node| returned.push(node)));
                returned.into_iter().try_for_each(needs_tensor)
            }
            _ if plan.is_graph_call(node) => Ok(()),
            Op::CallModule => {
                needs_tensor(node)?;
                let leaf = plan.called.get(&found.target()).and_then(|leaf| self.tree.get(*leaf).ok());
                let has_name = symbols
                    .find("name")
                    .zip(leaf)
                    .is_some_and(|(name, leaf)| matches!(leaf.attributes().get(&name), Some(Attribute::Value(_))));
                match has_name {
                    true => Err(unsupported(
                        "its module has a setting `name`, where the format has the module's type".into(),
                    )),
                    false => Ok(()),
                }
            }
            _ => needs_tensor(node),
        }
    }
}

const SCALES: &str = "_per_channel_scales";
const ZERO_POINTS: &str = "_per_channel_zero_points";

/// The names under which the scales and zero points of a weight stand.
pub(super) fn channel_names(key: &str) -> (String, String) {
    (format!("{key}{SCALES}"), format!("{key}{ZERO_POINTS}"))
}

/// The dtype that a table of quantized embeddings is told to have, if the node reads one.
fn fused_dtype(graph: &Graph, node: NodeId) -> Option<Dtype> {
    let weight = graph.symbols().find("weight")?;
    graph.users(node).find_map(|user| {
        let found = &graph[user];
        if found.op() != Op::CallFunction || !matches!(found.kwarg(weight), Some(Argument::Node(used)) if *used == node)
        {
            return None;
        }
        let target = graph.text(found.target());
        let target = target.strip_prefix("torch.fx.experimental.fx_acc.").unwrap_or(target);
        match target.strip_prefix("glow.fb.fx.").unwrap_or(target) {
            "acc_ops.embedding_bag_byte_rowwise_offsets" => Some(Dtype::AccUint8Fused),
            "acc_ops.embedding_bag_4bit_rowwise_offsets" => Some(Dtype::AccUint4Fused),
            _ => None,
        }
    })
}

/// A constant of the module above gives its name to the node: no other may have it.
fn check_names(plan: &ModulePlan<'_>) -> Result<()> {
    let mut names = FxHashMap::default();
    for node in plan.graph.nodes() {
        if let Some(other) = names.insert(plan.name(node), node) {
            let (one, two) = (plan.graph.name(other), plan.graph.name(node));
            let message = format!("nodes `{one}` and `{two}` would both be written as `{}`", plan.name(node));
            return Err(Error::new(ErrorKind::InvalidArgument, message).at_node(node));
        }
    }
    Ok(())
}

fn fault(kind: ErrorKind, graph: &Graph, node: NodeId, what: &str) -> Error {
    let (name, op, target) = (graph.name(node), graph[node].op().name(), graph.target(node));
    Error::new(kind, format!("node `{name}` ({op} {target}): {what}")).at_node(node)
}
