//! From what was read to a tree: modules under their paths, members, targets.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::bind::Binder;
use super::context::{shown, Context};
use super::fields::Channel;
use super::module::{Call, ModuleReader};
use super::order::WeightOrder;
use crate::formats::json::{GRAPH_MODULE, PARENT};
use crate::formats::python::literal::parse_str_text;
use crate::formats::python::repr::str_text;
use crate::formats::weights::Weights;
use crate::ir::tree::{NewModule, MAX_MODULE_DEPTH};
use crate::ir::{lint, Attribute, Error, ErrorKind, Member, ModuleId, ModuleKind, ModuleTree, NodeId, Result};
use crate::ir::{Tensor, TensorKind};

/// Builds the tree.
pub(super) struct Assembly<'r, 'a> {
    context: &'r Context<'a>,
    binder: Binder<'r, 'a>,
    tree: &'r mut ModuleTree,
}

/// One graph module on its way into the tree.
struct Place<'a> {
    module: ModuleId,
    /// Before the names of its weights: its target and a dot, nothing for the root.
    prefix: String,
    reader: Box<ModuleReader<'a>>,
}

impl<'r, 'a> Assembly<'r, 'a> {
    pub(super) fn new(context: &'r Context<'a>, weights: Option<&'r Weights>, tree: &'r mut ModuleTree) -> Self {
        Assembly { context, binder: Binder::new(context, weights), tree }
    }

    /// Puts what was read into the tree's root.
    pub(super) fn run(mut self, mut reader: Box<ModuleReader<'a>>) -> Result<()> {
        self.binder.bind_all(&mut reader)?;
        let module = self.tree.root();
        self.assemble(Place { module, prefix: String::new(), reader })?;
        self.binder.finish()
    }

    fn assemble(&mut self, mut place: Place<'a>) -> Result<()> {
        let order = WeightOrder::of(&place.reader, &place.prefix);
        self.add_modules(&mut place)?;
        self.context.at_no_item();
        self.add_weights(&place, &order)?;
        self.add_settings(&place)?;
        self.settle_gets(&mut place)?;
        self.context.at_no_item();
        let calls = place.reader.calls.iter().filter(|(_, call)| call.parameters.is_none());
        let called: Vec<&str> = calls.map(|(target, _)| *target).collect();
        order.settle_below(self.tree, place.module, &called)?;
        order.arrange(self.tree, place.module)?;
        self.give_graph(place)
    }

    /// Apart, as what calls itself for modules in modules has to be small.
    #[inline(never)]
    fn give_graph(&mut self, place: Place<'a>) -> Result<()> {
        let Place { module, reader, .. } = place;
        let ModuleReader { graph, nodes, .. } = *reader;
        self.tree.set_graph(module, graph)?;
        lint::lint(self.tree, module).map_err(|error| {
            let at = nodes.iter().find(|record| Some(record.node) == error.node).and_then(|record| record.at);
            self.context.located(error, at)
        })
    }

    /// Makes the modules that nodes call, in order of their calls, then those that none calls; a
    /// module always before those that lie in it.
    fn add_modules(&mut self, place: &mut Place<'a>) -> Result<()> {
        let reader = &place.reader;
        let uncalled = reader.modules.keys().filter(|name| !reader.calls.contains_key(*name));
        let order: Vec<&'a str> = reader.calls.keys().chain(uncalled).copied().collect();
        let known: FxHashSet<&'a str> = order.iter().copied().collect();
        let mut done = FxHashSet::default();
        for &target in &order {
            let at = reader_place(&place.reader, target);
            if target.matches('.').count() >= MAX_MODULE_DEPTH {
                let message = format!("module `{}` nests deeper than {MAX_MODULE_DEPTH} levels", shown(target));
                return Err(self.context.located(Error::new(ErrorKind::Limit, message), at));
            }
            for (dot, _) in target.match_indices('.') {
                let above = &target[..dot];
                if known.contains(above) && done.insert(above) {
                    self.add_module(place, above)?;
                }
            }
            if done.insert(target) {
                self.add_module(place, target)?;
            }
        }
        Ok(())
    }

    fn add_module(&mut self, place: &mut Place<'a>, target: &'a str) -> Result<()> {
        let context = self.context;
        let at = reader_place(&place.reader, target);
        let wrong = |message: &str| context.error_at(at, format!("module `{}` {message}", shown(target)));
        if let Some(Call { index, .. }) = place.reader.calls.get(target) {
            self.name_node(place, *index);
        }
        let submodule = place.reader.modules.swap_remove(target);
        let parameters = place.reader.calls.get(target).and_then(|call| call.parameters.as_ref());
        let (kind, type_name) = match (&submodule, parameters) {
            (Some(_), None) => (NewModule::Graph, GRAPH_MODULE),
            (None, Some(parameters)) => match parameters.get("name") {
                Some(type_name) if !type_name.contains('\0') => (NewModule::Leaf, *type_name),
                _ => return Err(wrong("has no `name`, which tells its type, in `parameters`")),
            },
            (Some(_), Some(_)) => return Err(wrong("is in `modules`, and the node has `parameters`")),
            (None, None) => return Err(wrong("is not in `modules`, and the node has no `parameters`")),
        };
        match self.tree.resolve(place.module, target) {
            None => {}
            // A module in a graph module may be called from outside too.
            Some(Member::Module(known)) if kind == NewModule::Leaf => {
                let known = self.tree.get(known)?;
                let same_type = self.tree.symbols().text(known.type_name()) == type_name;
                return match known.kind() {
                    ModuleKind::Leaf if same_type => Ok(()),
                    _ => Err(wrong("is told of in two ways")),
                };
            }
            Some(_) => return Err(wrong("is told of in two ways")),
        }
        let module =
            self.tree.add_module(place.module, target, type_name, kind).map_err(|error| context.located(error, at))?;
        if let Some(reader) = submodule {
            context.enter_module(target);
            self.assemble(Place { module, prefix: format!("{target}."), reader })?;
            context.leave_module();
        }
        Ok(())
    }

    /// Makes every weight a member, needed by a node or not; but scales and zero points belong to
    /// the tensors that they are of.
    fn add_weights(&mut self, place: &Place<'a>, order: &WeightOrder<'a>) -> Result<()> {
        let reader = &place.reader;
        let channels = reader.weights.values().filter_map(|weight| weight.channels.as_ref());
        let named = |channel: &Channel<'a>| match channel {
            Channel::Weight(name) => Some(*name),
            _ => None,
        };
        let mut hidden: FxHashSet<&str> =
            channels.flat_map(|(scales, zero_points)| [scales, zero_points]).filter_map(named).collect();
        if !hidden.is_empty() {
            for (node, _) in &reader.gets {
                hidden.remove(format!("{}{}", place.prefix, reader.graph.target(*node)).as_str());
            }
        }
        // What nodes named after it read, and has no prefix, is a constant of the module above.
        let gets = reader.gets.iter().map(|(node, _)| (*node, reader.graph.target(*node)));
        let above: FxHashSet<&str> = gets
            .filter(|(node, target)| !place.prefix.is_empty() && reader.scope.names.get(target) == Some(node))
            .map(|(_, target)| target)
            .collect();
        for (&name, weight) in &reader.weights {
            let Some(tensor) = weight.tensor.as_ref().filter(|_| !hidden.contains(name)) else { continue };
            self.context.at_weight(name);
            let Some(path) = name.strip_prefix(place.prefix.as_str()) else {
                if above.contains(name) {
                    continue;
                }
                let message = format!("its name does not begin with `{}`", place.prefix);
                return Err(self.context.error_at(weight.at, message));
            };
            let kind = order.kind(path).unwrap_or_else(|| kind_of(tensor));
            self.set_tensor(place.module, path, kind, tensor.clone(), weight.at)?;
        }
        self.context.at_no_item();
        Ok(())
    }

    fn set_tensor(
        &mut self,
        module: ModuleId,
        path: &str,
        kind: TensorKind,
        tensor: Arc<Tensor>,
        at: Option<usize>,
    ) -> Result<()> {
        if let Some(Member::Module(_)) = self.tree.resolve(module, path) {
            let message = format!("`{}` is a module and not a tensor", shown(path));
            return Err(self.context.error_at(at, message));
        }
        let set = self.tree.set_attribute(module, path, Attribute::Tensor(kind, tensor));
        set.map_err(|error| self.context.located(error, at))
    }

    /// Gives leaf modules their settings.
    fn add_settings(&mut self, place: &Place<'a>) -> Result<()> {
        let symbols = self.context.symbols();
        for (&target, call) in &place.reader.calls {
            let Some(parameters) = &call.parameters else { continue };
            self.name_node(place, call.index);
            let leaf = self.tree.submodule(place.module, target)?;
            for (&name, &text) in parameters.iter().filter(|(name, _)| **name != "name") {
                match self.tree.resolve(leaf, name) {
                    None => {
                        let setting = Attribute::Value(parse_str_text(text, symbols));
                        let set = self.tree.set_attribute(leaf, name, setting);
                        set.map_err(|error| self.context.located(error, call.at))?;
                    }
                    Some(Member::Attribute(Attribute::Value(value)))
                        if str_text(value, symbols).as_deref() == Some(text) => {}
                    Some(_) => {
                        let message = format!("`{}` of `{}` is told of in two ways", shown(name), shown(target));
                        return Err(self.context.error_at(call.at, message));
                    }
                }
            }
        }
        Ok(())
    }

    /// Finds what each get_attr reads. What is in no `weights` was a constant of the module above,
    /// if the node is named after it, as torch does then.
    fn settle_gets(&mut self, place: &mut Place<'a>) -> Result<()> {
        for at in 0..place.reader.gets.len() {
            let (node, index) = place.reader.gets[at];
            let record = place.reader.nodes.get(index);
            let at = record.and_then(|record| record.at);
            let target = place.reader.graph.target(node).to_owned();
            self.name_node(place, index);
            let name = format!("{}{target}", place.prefix);
            let is_named_so = place.reader.scope.names.get(target.as_str()) == Some(&node);

            let is_above = !place.prefix.is_empty() && is_named_so && !target.starts_with(&place.prefix);
            let told_above = place.reader.weights.get(target.as_str()).filter(|_| is_above);
            let tensor_above = told_above.and_then(|weight| weight.tensor.clone());
            if let Some(tensor) = self.binder.find(&name).filter(|_| tensor_above.is_none()).cloned() {
                if !matches!(self.tree.resolve(place.module, &target), Some(Member::Attribute(_))) {
                    self.set_tensor(place.module, &target, kind_of(&tensor), tensor, at)?;
                }
                self.keep_name(place, node, at)?;
                continue;
            }
            let meta = place.reader.graph[node].value().and_then(|value| value.as_tensor()).cloned();
            if is_named_so {
                let tensor = match tensor_above {
                    Some(tensor) => tensor,
                    None => self.binder.bind_untold([&target, &name], meta, at)?,
                };
                let path = format!("{PARENT}{target}");
                self.set_tensor(place.module, &path, TensorKind::Constant, tensor, at)?;
                let graph = &mut place.reader.graph;
                graph.set_target(node, &path)?;
                if graph.name(node) != target {
                    graph.rename(node, &target)?;
                }
            } else {
                let tensor = self.binder.bind_untold([&name, &target], meta, at)?;
                self.set_tensor(place.module, &target, kind_of(&tensor), tensor, at)?;
            }
        }
        Ok(())
    }

    /// Messages from here on are about the node at `index`.
    fn name_node(&self, place: &Place<'a>, index: usize) {
        match place.reader.nodes.get(index) {
            Some(record) => self.context.at_named_node(index, record.name),
            None => self.context.at_node(index),
        }
    }

    /// A node that reads a member of its own module must have the name that the file gives it.
    fn keep_name(&self, place: &Place<'a>, node: NodeId, at: Option<usize>) -> Result<()> {
        let graph = &place.reader.graph;
        if place.reader.scope.names.get(graph.name(node)) == Some(&node) {
            return Ok(());
        }
        let target = shown(graph.target(node));
        let message = format!("its name `{target}` is no identifier, or one that Python or generated code needs");
        Err(self.context.error_at(at, message))
    }
}

/// Where the module's first call, or else the module itself, stands in the text.
fn reader_place(reader: &ModuleReader<'_>, target: &str) -> Option<usize> {
    reader.calls.get(target).and_then(|call| call.at)
}

fn kind_of(tensor: &Tensor) -> TensorKind {
    match tensor.meta().requires_grad {
        Some(true) => TensorKind::Parameter,
        _ => TensorKind::Buffer,
    }
}
