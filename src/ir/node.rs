//! A node and its id.

use super::argument::{Args, Argument, Kwargs};
use super::name::Name;
use super::symbol::Symbol;
use super::tensor::Value;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use std::num::NonZeroU64;
use std::sync::Arc;

/// Names one node of one graph, for as long as that node lives.
///
/// 24 bits of slot and 40 bits of stamp. Stamps come from one counter for the whole process, so
/// one comparison tells that an id is stale or belongs to another graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(NonZeroU64);

const SLOT_BITS: u32 = 24;

/// How many nodes a graph can hold at one time.
pub(crate) const MAX_SLOTS: usize = 1 << SLOT_BITS;

/// Stamps are from 1 to this.
pub(crate) const MAX_STAMP: u64 = (1 << (64 - SLOT_BITS)) - 1;

impl NodeId {
    pub(crate) fn new(slot: u32, stamp: NonZeroU64) -> Self {
        NodeId(NonZeroU64::new((stamp.get() << SLOT_BITS) | u64::from(slot)).unwrap_or(stamp))
    }

    /// Where the node is stored: below [`Graph::slot_count`](super::Graph::slot_count), for side
    /// tables that live no longer than one pass.
    pub fn slot(self) -> usize {
        (self.0.get() & ((1 << SLOT_BITS) - 1)) as usize
    }

    pub(crate) fn stamp(self) -> u64 {
        self.0.get() >> SLOT_BITS
    }

    /// The id as a number that is never 0.
    pub fn to_bits(self) -> u64 {
        self.0.get()
    }

    /// The id that a number stands for, if it can be one at all.
    pub fn from_bits(bits: u64) -> Option<Self> {
        NonZeroU64::new(bits).map(NodeId)
    }
}

impl std::fmt::Debug for NodeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "node{}#{}", self.slot(), self.stamp())
    }
}

/// What a node does: the six kinds of FX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// An input of the graph; the target is its name, `args[0]` its default value.
    Placeholder,
    /// A member of the module, by dotted path.
    GetAttr,
    /// A function, by qualified name.
    CallFunction,
    /// A method of the first argument, by name.
    CallMethod,
    /// A submodule, by dotted path.
    CallModule,
    /// What the graph returns: `args[0]`.
    Output,
}

impl Op {
    /// All six, in the order of their numbers in the C ABI.
    pub const ALL: [Op; 6] =
        [Op::Placeholder, Op::GetAttr, Op::CallFunction, Op::CallMethod, Op::CallModule, Op::Output];

    /// As torch.fx spells it.
    pub fn name(self) -> &'static str {
        match self {
            Op::Placeholder => "placeholder",
            Op::GetAttr => "get_attr",
            Op::CallFunction => "call_function",
            Op::CallMethod => "call_method",
            Op::CallModule => "call_module",
            Op::Output => "output",
        }
    }

    /// The op that torch.fx spells so.
    pub fn from_name(name: &str) -> Option<Op> {
        Op::ALL.into_iter().find(|op| op.name() == name)
    }
}

/// What is known of a node besides what it does. Copies of a node share nothing that can change.
#[derive(Clone, Debug, Default)]
pub struct Meta {
    /// What the node yields (torch's `tensor_meta`); nothing when it is not known.
    pub value: Option<Arc<Value>>,
    /// Everything else by its key: `stack_trace`, `ph_type`, `lowering_info`, keys of the
    /// user's own. No node stands in it.
    pub entries: IndexMap<Symbol, Argument, FxBuildHasher>,
}

impl Meta {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.value.is_none() && self.entries.is_empty()
    }
}

/// What few nodes have, kept out of the way of what all have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extra {
    pub(crate) meta: Meta,
    pub(crate) type_annotation: Option<Symbol>,
    pub(crate) comment: Option<Symbol>,
}

/// One node. Read through these getters; edited through its graph, which keeps users exact.
#[derive(Clone, Debug)]
pub struct Node {
    pub(crate) op: Op,
    pub(crate) name: Name,
    pub(crate) target: Symbol,
    pub(crate) args: Args,
    pub(crate) kwargs: Kwargs,
    pub(crate) extra: Option<Box<Extra>>,
}

static NO_META: Meta = Meta { value: None, entries: IndexMap::with_hasher(FxBuildHasher) };

impl Node {
    /// What it does.
    pub fn op(&self) -> Op {
        self.op
    }

    /// Its name, unique in the graph.
    pub fn name(&self) -> Name {
        self.name
    }

    /// What it calls, gets or takes: a qualified name, a method, a path, an input's name.
    pub fn target(&self) -> Symbol {
        self.target
    }

    /// Positional arguments.
    pub fn args(&self) -> &[Argument] {
        &self.args
    }

    /// Keyword arguments, in order.
    pub fn kwargs(&self) -> &[(Symbol, Argument)] {
        &self.kwargs
    }

    /// One keyword argument.
    pub fn kwarg(&self, key: Symbol) -> Option<&Argument> {
        self.kwargs.iter().find(|(k, _)| *k == key).map(|(_, value)| value)
    }

    /// What is known of it besides.
    pub fn meta(&self) -> &Meta {
        self.extra.as_ref().map_or(&NO_META, |extra| &extra.meta)
    }

    /// What it yields, where that is known.
    pub fn value(&self) -> Option<&Arc<Value>> {
        self.meta().value.as_ref()
    }

    /// The annotation of its type, as spelled.
    pub fn type_annotation(&self) -> Option<Symbol> {
        self.extra.as_ref().and_then(|extra| extra.type_annotation)
    }

    /// The comment that stands with it.
    pub fn comment(&self) -> Option<Symbol> {
        self.extra.as_ref().and_then(|extra| extra.comment)
    }

    pub(crate) fn extra_mut(&mut self) -> &mut Extra {
        self.extra.get_or_insert_default()
    }
}
