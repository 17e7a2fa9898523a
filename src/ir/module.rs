//! One module of a tree: a graph module, a leaf that only its backend knows, or a plain holder.

use super::argument::Argument;
use super::error::Result;
use super::graph::Graph;
use super::symbol::{Symbol, Symbols};
use super::tensor::Tensor;
use super::tree::ModuleId;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Members by name, in the order in which they came.
pub type Members<T> = IndexMap<Symbol, T, FxBuildHasher>;

/// A module: what it is, and its members by name. A name is a submodule or an attribute, never
/// both.
#[derive(Debug, Clone)]
pub struct Module {
    pub(crate) type_name: Symbol,
    pub(crate) kind: ModuleKind,
    pub(crate) submodules: Members<ModuleId>,
    pub(crate) attributes: Members<Attribute>,
    pub(crate) parent: Option<ModuleId>,
    pub(crate) origin: u64,
}

/// What a module is.
#[derive(Debug, Clone)]
pub enum ModuleKind {
    /// It has a graph: torch's `GraphModule`.
    Graph(Box<Graph>),
    /// A call of it is one operation, told by its type and attributes: `torch.nn.Conv2d`.
    Leaf,
    /// It only holds members.
    Holder,
}

/// A member that is no module.
#[derive(Debug, Clone)]
pub enum Attribute {
    /// A tensor.
    Tensor(TensorKind, Arc<Tensor>),
    /// A setting such as `kernel_size`; no node stands in it.
    Value(Argument),
}

/// What a tensor is to its module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TensorKind {
    /// Trained.
    Parameter,
    /// State that is not trained.
    Buffer,
    /// A plain attribute.
    Constant,
}

/// What a dotted path leads to.
#[derive(Debug, Clone, Copy)]
pub enum Member<'a> {
    /// A module.
    Module(ModuleId),
    /// An attribute.
    Attribute(&'a Attribute),
}

impl Module {
    pub(crate) fn new(type_name: Symbol, kind: ModuleKind) -> Self {
        static NEXT_ORIGIN: AtomicU64 = AtomicU64::new(1);
        Module {
            type_name,
            kind,
            submodules: Members::default(),
            attributes: Members::default(),
            parent: None,
            origin: NEXT_ORIGIN.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// The qualified name of its type: `torch.nn.modules.conv.Conv2d`.
    pub fn type_name(&self) -> Symbol {
        self.type_name
    }

    /// What it is.
    pub fn kind(&self) -> &ModuleKind {
        &self.kind
    }

    /// Its graph, if it is a graph module.
    pub fn graph(&self) -> Option<&Graph> {
        match &self.kind {
            ModuleKind::Graph(graph) => Some(graph),
            _ => None,
        }
    }

    /// Its modules, in order.
    pub fn submodules(&self) -> &Members<ModuleId> {
        &self.submodules
    }

    /// Its tensors and settings, in order.
    pub fn attributes(&self) -> &Members<Attribute> {
        &self.attributes
    }

    /// The module it is a member of; none for the root.
    pub fn parent(&self) -> Option<ModuleId> {
        self.parent
    }

    /// A number that it shares with all its copies and nothing else.
    pub fn origin(&self) -> u64 {
        self.origin
    }
}

impl Attribute {
    /// The same attribute with strings in another table.
    pub fn transfer(&self, from: &Symbols, to: &Symbols) -> Result<Attribute> {
        Ok(match self {
            Attribute::Tensor(kind, tensor) => Attribute::Tensor(*kind, tensor.clone()),
            Attribute::Value(value) => Attribute::Value(value.transfer_literal(from, to)?),
        })
    }

    /// The value, when it is no tensor.
    pub fn value(&self) -> Option<&Argument> {
        match self {
            Attribute::Value(value) => Some(value),
            Attribute::Tensor(..) => None,
        }
    }
}
