//! What will be written: each graph module with its weights, everything checked.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::check::{argument_fault, meta_fault, node_info, output_value, quantization_fault, tensor_fault, value_info};
use super::leaf::Leaf;
use super::quantized::{numbers, scales_as_stored, zero_points_as_stored};
use super::weight::{channel_names, Entry};
use super::{first, SerializeOptions, WeightMap};
use crate::formats::json::{OutputInfo, WeightQuantization, PARENT};
use crate::ir::lowering::LeafMember;
use crate::ir::tensor::Quantization;
use crate::ir::{Argument, Attribute, Dtype, Error, ErrorKind, Graph, Member, ModuleId, ModuleKind, ModuleTree};
use crate::ir::{NodeId, Op, Result, Symbol, Tensor, TensorKind};

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
    pub(super) entries: IndexMap<String, Entry>,
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
    owner: Owner,
}

/// Who needs a weight: a node of a module, or the module alone.
type Owner = (ModuleId, Option<NodeId>);

impl<'t> Plan<'t> {
    pub(super) fn new(tree: &'t ModuleTree, module: ModuleId, options: &SerializeOptions) -> Result<Plan<'t>> {
        let fused = fused_tables(tree, module)?;
        let mut planner = Planner { tree, options, weights: IndexMap::new(), fused };
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
    /// The tables of quantized embeddings, and the dtype that is told of them.
    fused: FxHashMap<*const Tensor, Dtype>,
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
        for &kind in first::kinds(self.options.schema.weights_first) {
            for (path, tensor) in first::named(self.tree, module, kind)? {
                self.add_weight(&mut plan, format!("{prefix}{path}"), kind, tensor, (module, None))?;
            }
        }
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
                                self.leaf(&mut plan, callee, &format!("{prefix}{target}"), (module, node))?;
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
        let options = self.options;
        let type_name = self.tree.symbols().text(self.tree.get(leaf)?.type_name());
        if options.strict_lowering && options.lowering.of_type(type_name).is_none() {
            let what = format!("its module is a {type_name}, of which it is not known what to tell");
            return Err(fault(ErrorKind::Unsupported, plan.graph, owner.1, &what));
        }
        let members =
            Leaf { tree: self.tree, module: leaf, called: &plan.called_modules }.members(&options.lowering)?;
        for (name, member) in members {
            if let LeafMember::Tensor(kind, tensor) = member {
                self.add_weight(plan, format!("{path}.{name}"), kind, tensor, (owner.0, Some(owner.1)))?;
            }
        }
        Ok(())
    }

    fn get_attr(&mut self, plan: &mut ModulePlan<'t>, module: ModuleId, node: NodeId, prefix: &str) -> Result<()> {
        let graph = plan.graph;
        let target = graph.text(graph[node].target());
        let owner = (module, Some(node));
        let member = self.tree.resolve(module, target);
        if let Some(name) = target.strip_prefix(PARENT) {
            if let Some(Member::Attribute(Attribute::Tensor(kind, tensor))) = member {
                if self.options.schema.parent_weights {
                    self.add_weight(plan, name.to_owned(), *kind, tensor, owner)?;
                } else if tensor.data().is_some() {
                    // Its metadata stands in the module above. Its bytes, where they are here, go along.
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
                self.add_weight(plan, key, *kind, tensor, owner)
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
        owner: Owner,
    ) -> Result<()> {
        let about = |mut error: Error| {
            error.message = format!("weight `{key}`: {}", error.message);
            at_owner(error, owner)
        };
        let wrong = |what: String| about(Error::new(ErrorKind::InvalidArgument, what));
        let schema = &self.options.schema;
        let fused = self.fused.get(&Arc::as_ptr(tensor)).copied();
        let mut meta = tensor.meta().clone();
        meta.dtype = fused.unwrap_or(meta.dtype);
        meta.requires_grad.get_or_insert(kind == TensorKind::Parameter);
        if meta.stride.is_none() {
            meta.stride = tensor.strides().map(|strides| strides.iter().map(|&stride| stride.into()).collect());
        }
        if let Some(what) = quantization_fault(&meta) {
            return Err(wrong(what));
        }
        if let Some(what) = tensor_fault(&meta, schema) {
            return Err(wrong(what));
        }
        let written = match fused {
            Some(_) => Arc::new(tensor.with_meta(meta.clone()).map_err(about)?),
            None => tensor.clone(),
        };
        let mut stored = Vec::new();
        let mut told = None;
        if let Some(Quantization::PerChannel { axis, scales, zero_points, .. }) = &meta.quantization {
            let unknown = || wrong("its scales, zero points or axis are not known".into());
            let (Some(_), Some(scales), Some(zero_points)) = (axis, scales, zero_points) else {
                return Err(unknown());
            };
            match schema.weight_quantization {
                WeightQuantization::Weights => {
                    let (scale_name, zero_point_name) = channel_names(&key);
                    stored.push((scale_name, scales_as_stored(scales).map_err(about)?));
                    stored.push((zero_point_name, zero_points_as_stored(zero_points).map_err(about)?));
                }
                WeightQuantization::QuantizedType => {
                    let numbers = |tensor| numbers(tensor).map_err(about)?.ok_or_else(unknown);
                    told = Some((numbers(scales)?, numbers(zero_points)?));
                }
            }
        }
        // torch's dictionary of weights gets them before the tensor that they belong to.
        for (name, tensor) in &stored {
            self.place(name, tensor.clone(), tensor, owner)?;
        }
        self.place(&key, written, tensor, owner)?;
        plan.entries.insert(key, Entry { meta, channels: told });
        for (name, tensor) in stored {
            let mut meta = tensor.meta().clone();
            meta.requires_grad.get_or_insert(false);
            plan.entries.insert(name, Entry { meta, channels: None });
        }
        Ok(())
    }

    fn place(&mut self, name: &str, tensor: Arc<Tensor>, member: &Arc<Tensor>, owner: Owner) -> Result<()> {
        let Some(known) = self.weights.get_mut(name) else {
            self.weights.insert(name.to_owned(), Placed { tensor, member: member.clone(), owner });
            return Ok(());
        };
        if Arc::ptr_eq(&known.member, member) || known.member == *member {
            return Ok(());
        }
        let known = known.owner;
        let (one, two) = (self.owner_text(known), self.owner_text(owner));
        let message = format!("two tensors would both be the weight `{name}`: one needed by {one}, one by {two}");
        Err(at_owner(Error::new(ErrorKind::InvalidArgument, message), owner))
    }

    fn owner_text(&self, (module, node): Owner) -> String {
        let path = self.tree.path(module, self.tree.root()).unwrap_or_default();
        let name = node.and_then(|node| Some(self.tree.graph(module).ok()?.name(node)));
        match (name, path.as_str()) {
            (Some(name), "") => format!("node `{name}`"),
            (Some(name), _) => format!("node `{name}` of module `{path}`"),
            (None, _) => format!("module `{path}`"),
        }
    }

    fn check_node(&self, plan: &ModulePlan<'t>, node: NodeId) -> Result<()> {
        let graph = plan.graph;
        let found = &graph[node];
        let symbols = graph.symbols();
        let schema = &self.options.schema;
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
        if let Some(what) = meta_fault(graph, node, schema) {
            return Err(fault(ErrorKind::InvalidArgument, graph, node, &what));
        }
        let needs = |known: std::result::Result<(), String>, node: NodeId| match known {
            Err(what) if !self.options.allow_missing_meta => Err(fault(ErrorKind::InvalidArgument, graph, node, &what)),
            _ => Ok(()),
        };
        let needs_info = |node: NodeId| needs(node_info(graph, node, schema).map(drop), node);
        match found.op() {
            Op::Output if schema.output_info == OutputInfo::Node => {
                let known = output_value(graph, node).and_then(|value| value_info(&value, schema).map(drop));
                needs(known, node)
            }
            Op::Output => {
                let mut returned = Vec::new();
                found.args().iter().for_each(|argument| argument.for_each_node(&mut |node| returned.push(node)));
                returned.into_iter().try_for_each(needs_info)
            }
            _ if plan.is_graph_call(node) => Ok(()),
            Op::CallModule => {
                needs_info(node)?;
                let Some(&module) = plan.called.get(&found.target()) else { return Ok(()) };
                let leaf = Leaf { tree: self.tree, module, called: &plan.called_modules };
                let members = leaf.members(&self.options.lowering)?;
                let has_name =
                    members.iter().any(|(name, member)| name == "name" && !matches!(member, LeafMember::Tensor(..)));
                match has_name {
                    true => Err(unsupported(
                        "its module has a setting `name`, where the format has the module's type".into(),
                    )),
                    false => Ok(()),
                }
            }
            _ => needs_info(node),
        }
    }
}

/// The tensors that graphs read as tables of quantized embeddings.
fn fused_tables(tree: &ModuleTree, top: ModuleId) -> Result<FxHashMap<*const Tensor, Dtype>> {
    let mut tables = FxHashMap::default();
    if tree.symbols().find("weight").is_none() {
        return Ok(tables);
    }
    for module in tree.modules_below(top) {
        let Some(graph) = tree.get(module)?.graph() else { continue };
        for node in graph.nodes_of(Op::GetAttr) {
            let Some(dtype) = fused_dtype(graph, node) else { continue };
            if let Some(Member::Attribute(Attribute::Tensor(_, tensor))) = tree.resolve(module, graph.target(node)) {
                if tensor.dtype() == Dtype::Uint8 {
                    tables.insert(Arc::as_ptr(tensor), dtype);
                }
            }
        }
    }
    Ok(tables)
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

fn at_owner(error: Error, owner: Owner) -> Error {
    match owner.1 {
        Some(node) => error.at_node(node),
        None => error,
    }
}

fn fault(kind: ErrorKind, graph: &Graph, node: NodeId, what: &str) -> Error {
    let (name, op, target) = (graph.name(node), graph[node].op().name(), graph.target(node));
    Error::new(kind, format!("node `{name}` ({op} {target}): {what}")).at_node(node)
}
