//! Putting a tree together as it once was: names as they were given, and what was given besides.

use super::argument::{Args, Kwargs};
use super::error::{Error, ErrorKind, Result};
use super::graph::{check_target, Graph, NameFor};
use super::module::ModuleKind;
use super::name::{Name, MAX_COUNT};
use super::name_set::NameSet;
use super::node::{NodeId, Op};
use super::order::NONE;
use super::symbol::{Symbol, Symbols};
use super::tree::{ModuleId, ModuleTree, NewModule};
use std::sync::Arc;

/// What a graph has given of one base, besides what its nodes are named.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct GivenNames {
    /// Whether the base itself was given.
    pub(crate) plain: bool,
    /// The numbers that were given behind it, rising.
    pub(crate) numbers: Vec<u32>,
    /// The number that was given last.
    pub(crate) count: u64,
}

impl GivenNames {
    fn is_empty(&self) -> bool {
        *self == GivenNames::default()
    }
}

impl Graph {
    /// Makes a node without arguments, last in the order, with this very name, be it legal or not.
    pub(crate) fn restore_node(&mut self, op: Op, target: Symbol, name: &str) -> Result<NodeId> {
        check_target(self.text(target))?;
        self.check_new(op, &[], &[])?;
        let name = self.take_given(name)?;
        self.insert(NONE, op, target, Args::new(), Kwargs::new(), NameFor::Taken(name))
    }

    /// Gives a node its arguments, which has none yet.
    pub(crate) fn restore_arguments(&mut self, node: NodeId, args: Args, kwargs: Kwargs) -> Result<()> {
        self.check_arguments(&args, &kwargs)?;
        let found = self.node_mut(node)?;
        (found.args, found.kwargs) = (args, kwargs);
        self.record_inputs(node.slot() as u32);
        Ok(())
    }

    /// What was given besides the names of the nodes, by base, in the order of the texts.
    pub(crate) fn names_given_besides(&self) -> Vec<(Symbol, GivenNames)> {
        let mut live = NameSet::default();
        self.nodes().for_each(|node| {
            live.insert(self[node].name);
        });
        let besides = self.names.given().map(|(base, given, count)| {
            let is_gone = |number: Option<u32>| !live.contains(base, number);
            let numbers = given.numbers().into_iter().filter(|&number| is_gone(Some(number))).collect();
            (base, GivenNames { plain: given.contains(None) && is_gone(None), numbers, count })
        });
        let mut besides: Vec<_> = besides.filter(|(_, given)| !given.is_empty()).collect();
        besides.sort_unstable_by_key(|(base, _)| self.text(*base));
        besides
    }

    /// Gives names that no node of the graph has, and counts on from where it was.
    pub(crate) fn restore_given(&mut self, base: &str, given: &GivenNames) -> Result<()> {
        let names = given.numbers.iter().map(|number| format!("{base}_{number}"));
        for name in given.plain.then(|| base.to_owned()).into_iter().chain(names) {
            self.take_given(&name)?;
        }
        if given.count >= MAX_COUNT {
            return Err(Error::new(ErrorKind::Limit, format!("{base} was counted to {}, too far", given.count)));
        }
        self.names.set_count(self.symbols.intern(base), given.count);
        Ok(())
    }

    fn take_given(&mut self, text: &str) -> Result<Name> {
        let name = Name::recent(&mut self.recent, &self.symbols, text);
        match self.names.take(name, text) {
            true => Ok(name),
            false => Err(Error::new(ErrorKind::AlreadyExists, format!("the name {text:?} was given before"))),
        }
    }
}

impl ModuleTree {
    /// A tree of one module of any kind.
    pub(crate) fn with_root(symbols: Arc<Symbols>, type_name: &str, kind: NewModule) -> ModuleTree {
        let mut tree = ModuleTree::with_symbols(symbols, type_name);
        if let Ok(root) = tree.get_mut(ModuleId(0)) {
            match kind {
                NewModule::Graph => {}
                NewModule::Leaf => root.kind = ModuleKind::Leaf,
                NewModule::Holder => root.kind = ModuleKind::Holder,
            }
        }
        tree
    }

    /// Makes a module a copy of what another of the tree is a copy of: see [`Module::origin`].
    ///
    /// [`Module::origin`]: super::Module::origin
    pub(crate) fn set_same_origin(&mut self, module: ModuleId, other: ModuleId) -> Result<()> {
        let origin = self.get(other)?.origin;
        self.get_mut(module)?.origin = origin;
        Ok(())
    }
}
