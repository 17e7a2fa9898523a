//! A module with all its submodules: one tree, one table of strings.

use super::error::{Error, ErrorKind, Result};
pub use super::fragment::{Fragment, FragmentMember};
use super::graph::Graph;
use super::module::{Attribute, Member, Module, ModuleKind};
use super::node::{NodeId, Op};
use super::symbol::{Symbol, Symbols};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// How deep modules may nest; deeper is [`ErrorKind::Limit`].
pub const MAX_MODULE_DEPTH: usize = 64;

/// Names a module of one tree. Never reused: the id of a removed module stays dead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ModuleId(pub(super) u32);

/// A tree of modules. The root is always there.
#[derive(Debug, Clone)]
pub struct ModuleTree {
    pub(super) symbols: Arc<Symbols>,
    pub(super) modules: Vec<Option<Box<Module>>>,
}

impl ModuleTree {
    /// A tree whose root is a graph module with an empty graph.
    pub fn new(type_name: &str) -> Self {
        ModuleTree::with_symbols(Symbols::new(), type_name)
    }

    /// The same with strings in a table that is there already, so that it can become a part of the
    /// tree that owns the table: see [`ModuleTree::into_fragment`].
    pub fn with_symbols(symbols: Arc<Symbols>, type_name: &str) -> Self {
        let graph = ModuleKind::Graph(Box::new(Graph::new(symbols.clone())));
        let root = Module::new(symbols.intern(type_name), graph);
        ModuleTree { symbols, modules: vec![Some(Box::new(root))] }
    }

    /// The module that holds all others.
    pub fn root(&self) -> ModuleId {
        ModuleId(0)
    }

    /// The table of all strings of the tree.
    pub fn symbols(&self) -> &Arc<Symbols> {
        &self.symbols
    }

    /// A module that is still there.
    pub fn get(&self, module: ModuleId) -> Result<&Module> {
        self.modules.get(module.0 as usize).and_then(Option::as_deref).ok_or_else(removed)
    }

    /// The graph of a graph module.
    pub fn graph(&self, module: ModuleId) -> Result<&Graph> {
        let found = self.get(module)?;
        found.graph().ok_or_else(|| self.no_graph(found))
    }

    /// The graph of a graph module, to be edited.
    pub fn graph_mut(&mut self, module: ModuleId) -> Result<&mut Graph> {
        if self.get(module)?.graph().is_none() {
            return Err(self.no_graph(self.get(module)?));
        }
        match &mut self.get_mut(module)?.kind {
            ModuleKind::Graph(graph) => Ok(graph),
            _ => Err(removed()),
        }
    }

    /// Gives a module another graph, whose strings are in this tree's table. A holder becomes a graph
    /// module with its members; a leaf has no graph.
    pub fn set_graph(&mut self, module: ModuleId, graph: Graph) -> Result<()> {
        if !Arc::ptr_eq(graph.symbols(), &self.symbols) {
            return Err(Error::new(ErrorKind::InvalidArgument, "the graph's strings are in another tree's table"));
        }
        match &mut self.get_mut(module)?.kind {
            ModuleKind::Graph(old) => **old = graph,
            kind @ ModuleKind::Holder => *kind = ModuleKind::Graph(Box::new(graph)),
            ModuleKind::Leaf => return Err(self.no_graph(self.get(module)?)),
        }
        Ok(())
    }

    /// What a dotted path leads to from a module. At each step a submodule is looked for first,
    /// then an attribute, which ends the path.
    pub fn resolve(&self, from: ModuleId, path: &str) -> Option<Member<'_>> {
        let mut module = from;
        let mut parts = path.split('.');
        while let Some(part) = parts.next() {
            let found = self.get(module).ok()?;
            let name = self.symbols.find(part)?;
            match found.submodules.get(&name) {
                Some(&submodule) => module = submodule,
                None if parts.next().is_none() => return found.attributes.get(&name).map(Member::Attribute),
                None => return None,
            }
        }
        Some(Member::Module(module))
    }

    /// The module that a dotted path leads to.
    pub fn submodule(&self, from: ModuleId, path: &str) -> Result<ModuleId> {
        match self.resolve(from, path) {
            Some(Member::Module(module)) => Ok(module),
            Some(Member::Attribute(_)) => {
                Err(Error::new(ErrorKind::NotFound, format!("{path:?} is an attribute, not a module")))
            }
            None => Err(Error::new(ErrorKind::NotFound, format!("there is no module {path:?}"))),
        }
    }

    /// The attribute that a dotted path leads to.
    pub fn attribute(&self, from: ModuleId, path: &str) -> Result<&Attribute> {
        match self.resolve(from, path) {
            Some(Member::Attribute(attribute)) => Ok(attribute),
            Some(Member::Module(_)) => {
                Err(Error::new(ErrorKind::NotFound, format!("{path:?} is a module, not an attribute")))
            }
            None => Err(Error::new(ErrorKind::NotFound, format!("there is no attribute {path:?}"))),
        }
    }

    /// Whether a module is `top` or below it.
    pub fn is_within(&self, module: ModuleId, top: ModuleId) -> bool {
        std::iter::successors(Some(module), |&at| self.get(at).ok()?.parent).any(|at| at == top)
    }

    /// The dotted path from `top` to a module below it; empty for `top` itself.
    pub fn path(&self, module: ModuleId, top: ModuleId) -> Result<String> {
        let mut parts = Vec::new();
        let mut at = module;
        while at != top {
            let parent = self.get(at)?.parent.ok_or_else(removed)?;
            let members = &self.get(parent)?.submodules;
            let name = members.iter().find(|(_, &id)| id == at).map(|(&name, _)| name).ok_or_else(removed)?;
            parts.push(self.symbols.text(name));
            at = parent;
        }
        parts.reverse();
        Ok(parts.join("."))
    }

    /// All modules from `top` down, `top` first, each before what is below it, in order (torch's
    /// `modules`).
    pub fn modules_below(&self, top: ModuleId) -> impl Iterator<Item = ModuleId> + '_ {
        let mut stack = vec![top];
        std::iter::from_fn(move || {
            let at = stack.pop()?;
            if let Ok(module) = self.get(at) {
                stack.extend(module.submodules.values().rev());
            }
            Some(at)
        })
    }

    /// Makes a module under a dotted path, and holders on the way where there is nothing (torch's
    /// `add_submodule`). What bore the name before is removed.
    pub fn add_module(&mut self, parent: ModuleId, path: &str, type_name: &str, kind: NewModule) -> Result<ModuleId> {
        let kind = match kind {
            NewModule::Graph => ModuleKind::Graph(Box::new(Graph::new(self.symbols.clone()))),
            NewModule::Leaf => ModuleKind::Leaf,
            NewModule::Holder => ModuleKind::Holder,
        };
        let module = Module::new(self.symbols.intern(type_name), kind);
        self.attach(parent, path, Fragment { modules: vec![module], depth: 1 })
    }

    /// Puts a copy under a dotted path; what bore the name before is removed. The copy was made by
    /// [`ModuleTree::copy_out`] with this tree's symbols.
    pub fn attach(&mut self, parent: ModuleId, path: &str, fragment: Fragment) -> Result<ModuleId> {
        let (holder, name) = self.make_way(parent, path, fragment.depth)?;
        self.remove_member(holder, name);
        let base = self.modules.len() as u32;
        for mut module in fragment.modules {
            module.submodules.values_mut().for_each(|id| id.0 += base);
            module.parent = Some(module.parent.map_or(holder, |parent| ModuleId(parent.0 + base)));
            self.modules.push(Some(Box::new(module)));
        }
        self.get_mut(holder)?.submodules.insert(name, ModuleId(base));
        Ok(ModuleId(base))
    }

    /// Sets an attribute under a dotted path, with holders on the way where there is nothing. A
    /// module of that name is removed; an attribute keeps its place in the order.
    pub fn set_attribute(&mut self, module: ModuleId, path: &str, attribute: Attribute) -> Result<()> {
        if let Attribute::Value(value) = &attribute {
            value.check()?;
            if value.holds_node() {
                let message = format!("attribute {path:?} would hold a node");
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
        }
        let (holder, name) = self.make_way(module, path, 0)?;
        if self.get(holder)?.submodules.contains_key(&name) {
            self.remove_member(holder, name);
        }
        self.get_mut(holder)?.attributes.insert(name, attribute);
        Ok(())
    }

    /// Removes the submodule, else the attribute, under a dotted path (torch's `delete_submodule`,
    /// and `del`).
    pub fn delete(&mut self, module: ModuleId, path: &str) -> Result<()> {
        let missing = || Error::new(ErrorKind::NotFound, format!("there is no member {path:?}"));
        let (holder, last) = match path.rsplit_once('.') {
            Some((before, last)) => (self.submodule(module, before)?, last),
            None => (module, path),
        };
        let name = self.symbols.find(last).ok_or_else(missing)?;
        let found = self.get(holder)?;
        if !found.submodules.contains_key(&name) && !found.attributes.contains_key(&name) {
            return Err(missing());
        }
        self.remove_member(holder, name);
        Ok(())
    }

    /// Removes every submodule that no node of the module's graph calls or reads, however deep;
    /// what lies below a called module is used (torch's function of the same name). Returns how
    /// many were removed.
    pub fn delete_all_unused_submodules(&mut self, module: ModuleId) -> Result<usize> {
        let graph = self.graph(module)?;
        if self.get(module)?.submodules.is_empty() {
            return Ok(0);
        }
        let mut used = FxHashSet::default();
        let mut seen = FxHashSet::default();
        for node in graph.nodes() {
            let found = &graph[node];
            if matches!(found.op(), Op::CallModule | Op::GetAttr) && seen.insert(found.target()) {
                self.mark_path(module, graph.text(found.target()), &mut used);
            }
        }
        let below: Vec<ModuleId> = self.modules_below(module).skip(1).collect();
        let unused: Vec<ModuleId> = below.iter().copied().filter(|id| !used.contains(id)).collect();
        for id in std::iter::once(module).chain(below) {
            self.get_mut(id)?.submodules.retain(|_, submodule| used.contains(submodule));
        }
        unused.iter().for_each(|id| self.modules[id.0 as usize] = None);
        Ok(unused.len())
    }

    /// A copy of a module with all below it, with strings in `symbols`; tensors are shared, and
    /// copies remember their common origin.
    pub fn copy_out(&self, top: ModuleId, symbols: &Arc<Symbols>) -> Result<Fragment> {
        self.copy_out_with_map(top, symbols, |_, _| {})
    }

    /// The same, and tells each pair of a node of the top module's graph and its copy.
    pub fn copy_out_with_map(
        &self,
        top: ModuleId,
        symbols: &Arc<Symbols>,
        mut map: impl FnMut(NodeId, NodeId),
    ) -> Result<Fragment> {
        let mut modules: Vec<Module> = Vec::new();
        let mut depth = 1;
        let mut pending = vec![(top, None, self.symbols.intern(""), 1)];
        while let Some((source, parent, name, level)) = pending.pop() {
            let found = self.get(source)?;
            depth = depth.max(level);
            let kind = match &found.kind {
                ModuleKind::Graph(graph) => {
                    let (copy, nodes) = graph.copy_to(symbols.clone())?;
                    if source == top {
                        graph.nodes().filter_map(|old| Some((old, nodes[old.slot()]?))).for_each(|(a, b)| map(a, b));
                    }
                    ModuleKind::Graph(Box::new(copy))
                }
                ModuleKind::Leaf => ModuleKind::Leaf,
                ModuleKind::Holder => ModuleKind::Holder,
            };
            let carry = |symbol: Symbol| symbols.intern(self.symbols.text(symbol));
            let mut copy = Module::new(carry(found.type_name), kind);
            copy.origin = found.origin;
            copy.parent = parent;
            for (&name, attribute) in &found.attributes {
                copy.attributes.insert(carry(name), attribute.transfer(&self.symbols, symbols)?);
            }
            let id = ModuleId(modules.len() as u32);
            modules.push(copy);
            if let Some(parent) = parent {
                modules[parent.0 as usize].submodules.insert(carry(name), id);
            }
            pending.extend(found.submodules.iter().rev().map(|(&name, &below)| (below, Some(id), name, level + 1)));
        }
        Ok(Fragment { modules, depth })
    }

    /// A tree of its own with a copy of a module and all below it.
    pub fn clone_subtree(&self, top: ModuleId) -> Result<ModuleTree> {
        let symbols = Symbols::new();
        let fragment = self.copy_out(top, &symbols)?;
        Ok(ModuleTree::from_fragment(symbols, fragment))
    }

    /// Changes what kind of module this is told to be.
    pub fn set_type_name(&mut self, module: ModuleId, type_name: &str) -> Result<()> {
        let type_name = self.symbols.intern(type_name);
        self.get_mut(module)?.type_name = type_name;
        Ok(())
    }

    pub(crate) fn get_mut(&mut self, module: ModuleId) -> Result<&mut Module> {
        self.modules.get_mut(module.0 as usize).and_then(Option::as_deref_mut).ok_or_else(removed)
    }

    /// Whether `depth` levels of modules, or an attribute (0), can come under a dotted path.
    pub fn check_way(&self, module: ModuleId, path: &str, depth: usize) -> Result<()> {
        let parts = path.split('.').count();
        if path.split('.').any(|part| part.is_empty() || part.contains('\0')) {
            let message = format!("{path:?} is no path: names parted by dots, none of them empty");
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        self.get(module)?;
        let above = std::iter::successors(Some(module), |&at| self.get(at).ok()?.parent).count();
        if above + parts + depth > MAX_MODULE_DEPTH + 1 {
            let message = format!("{path:?} would nest modules deeper than {MAX_MODULE_DEPTH} levels");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        let mut at = module;
        for part in path.split('.').take(parts - 1) {
            let Some(name) = self.symbols.find(part) else { break };
            let found = self.get(at)?;
            match found.submodules.get(&name) {
                Some(&submodule) => at = submodule,
                None if found.attributes.contains_key(&name) => {
                    let message = format!("{part:?} on the way to {path:?} is an attribute, not a module");
                    return Err(Error::new(ErrorKind::AlreadyExists, message));
                }
                None => break,
            }
        }
        Ok(())
    }

    /// The module that will hold the last part of a path, made with those above it where missing.
    fn make_way(&mut self, module: ModuleId, path: &str, depth: usize) -> Result<(ModuleId, Symbol)> {
        self.check_way(module, path, depth)?;
        let (way, last) = path.rsplit_once('.').unwrap_or(("", path));
        let mut at = module;
        for part in way.split('.').filter(|part| !part.is_empty()) {
            let name = self.symbols.intern(part);
            at = match self.get(at)?.submodules.get(&name) {
                Some(&submodule) => submodule,
                None => {
                    let mut holder =
                        Module::new(self.symbols.intern("torch.nn.modules.module.Module"), ModuleKind::Holder);
                    holder.parent = Some(at);
                    let id = ModuleId(self.modules.len() as u32);
                    self.modules.push(Some(Box::new(holder)));
                    self.get_mut(at)?.submodules.insert(name, id);
                    id
                }
            };
        }
        Ok((at, self.symbols.intern(last)))
    }

    fn remove_member(&mut self, holder: ModuleId, name: Symbol) {
        let Ok(found) = self.get_mut(holder) else { return };
        found.attributes.shift_remove(&name);
        if let Some(top) = found.submodules.shift_remove(&name) {
            let gone: Vec<ModuleId> = self.modules_below(top).collect();
            gone.iter().for_each(|id| self.modules[id.0 as usize] = None);
        }
    }

    fn mark_path(&self, from: ModuleId, path: &str, used: &mut FxHashSet<ModuleId>) {
        let mut at = from;
        for part in path.split('.') {
            let next = self.symbols.find(part).and_then(|name| self.get(at).ok()?.submodules.get(&name).copied());
            let Some(next) = next else { return };
            used.insert(next);
            at = next;
        }
        if at != from {
            used.extend(self.modules_below(at));
        }
    }

    fn no_graph(&self, module: &Module) -> Error {
        let type_name = self.symbols.text(module.type_name);
        Error::new(ErrorKind::InvalidArgument, format!("the module ({type_name}) has no graph"))
    }
}

/// What kind of module to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewModule {
    /// With an empty graph.
    Graph,
    /// A leaf.
    Leaf,
    /// A holder.
    Holder,
}

fn removed() -> Error {
    Error::new(ErrorKind::NotFound, "the module was removed from its tree")
}
