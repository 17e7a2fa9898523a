//! The graph: nodes in an arena and in an order, with exact users and unique names.

use super::argument::{Args, Argument, Kwargs};
use super::error::{Error, ErrorKind, Result};
use super::name::Name;
use super::namespace::Namespace;
use super::node::{Extra, Node, NodeId, Op, MAX_SLOTS};
use super::order::{Order, NONE};
use super::signature::Signature;
use super::stamps::Stamps;
use super::symbol::{RecentSymbols, Symbol, Symbols};
use super::uses::Uses;
use smallvec::SmallVec;
use std::num::NonZeroU64;
use std::sync::Arc;

/// A sequence of nodes and who uses whom.
///
/// Every edit keeps users exact and names unique. What an edit may break for a while is the order
/// (a use before its definition); [`lint`](super::lint()) finds that and `legalize` mends it.
#[derive(Debug, Clone)]
pub struct Graph {
    pub(super) symbols: Arc<Symbols>,
    pub(super) recent: RecentSymbols,
    pub(super) slots: Vec<Slot>,
    pub(super) free: Vec<u32>,
    pub(super) order: Order,
    pub(super) uses: Uses,
    pub(super) names: Namespace,
    stamps: Stamps,
    /// Where the next placeholder goes, as long as nothing moved: the last of those in front.
    pub(super) last_placeholder: u32,
    pub(super) placeholder_count: usize,
    pub(super) output: u32,
    /// How its code is spelled beyond its nodes.
    pub signature: Signature,
}

/// Where a new node goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// Where an order stays legal: a placeholder after the placeholders in front, the output
    /// last, everything else before the output.
    Default,
    /// Right before a node.
    Before(NodeId),
    /// Right after a node.
    After(NodeId),
}

#[derive(Debug, Clone)]
pub(super) struct Slot {
    /// 0 while the slot is free.
    stamp: u64,
    node: Option<Node>,
}

impl Graph {
    /// An empty graph whose strings are in `symbols`.
    pub fn new(symbols: Arc<Symbols>) -> Self {
        Graph {
            symbols,
            recent: RecentSymbols::default(),
            slots: Vec::new(),
            free: Vec::new(),
            order: Order::new(),
            uses: Uses::default(),
            names: Namespace::default(),
            stamps: Stamps::default(),
            last_placeholder: NONE,
            placeholder_count: 0,
            output: NONE,
            signature: Signature::default(),
        }
    }

    /// The table of this graph's strings.
    pub fn symbols(&self) -> &Arc<Symbols> {
        &self.symbols
    }

    /// The text of one of its symbols.
    pub fn text(&self, symbol: Symbol) -> &str {
        self.symbols.text(symbol)
    }

    /// How many nodes it has.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether it has no node.
    pub fn is_empty(&self) -> bool {
        self.order.len() == 0
    }

    /// Above every slot of its nodes: the size of a side table.
    pub fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// Whether an id names a node of this graph.
    pub fn contains(&self, node: NodeId) -> bool {
        self.slots.get(node.slot()).is_some_and(|slot| slot.stamp == node.stamp())
    }

    /// A node; [`ErrorKind::StaleNode`] when the id is stale or foreign.
    pub fn get(&self, node: NodeId) -> Result<&Node> {
        self.find(node).ok_or_else(|| stale(node))
    }

    #[inline]
    fn find(&self, node: NodeId) -> Option<&Node> {
        self.slots.get(node.slot()).filter(|slot| slot.stamp == node.stamp())?.node.as_ref()
    }

    /// The name of a live node.
    pub fn name(&self, node: NodeId) -> &str {
        self[node].name.text(&self.symbols)
    }

    /// Appends the name of a live node.
    pub fn write_name(&self, out: &mut String, node: NodeId) {
        self[node].name.write(&self.symbols, out);
    }

    /// The target of a live node.
    pub fn target(&self, node: NodeId) -> &str {
        self.text(self[node].target)
    }

    /// The output node.
    pub fn output_node(&self) -> Option<NodeId> {
        self.id_of(self.output)
    }

    /// The node of that name; looks at every node.
    pub fn find_node(&self, name: &str) -> Option<NodeId> {
        let name = Name::find(&self.symbols, name)?;
        self.nodes().find(|&node| self[node].name == name)
    }

    /// Makes a node. Without a name it gets the one that torch derives from the target; a name
    /// that is asked for is made legal and unique.
    pub fn create_node(
        &mut self,
        at: At,
        op: Op,
        target: &str,
        args: Args,
        kwargs: Kwargs,
        name: Option<&str>,
    ) -> Result<NodeId> {
        let next = self.place(at, op)?;
        check_target(target)?;
        self.check_new(op, &args, &kwargs)?;
        let target = self.recent.intern(&self.symbols, target);
        self.insert(next, op, target, args, kwargs, NameFor::Asked(name))
    }

    /// An input, after the placeholders in front.
    pub fn placeholder(&mut self, target: &str) -> Result<NodeId> {
        self.create_node(At::Default, Op::Placeholder, target, Args::new(), Kwargs::new(), None)
    }

    /// A member of the module.
    pub fn get_attr(&mut self, target: &str) -> Result<NodeId> {
        self.create_node(At::Default, Op::GetAttr, target, Args::new(), Kwargs::new(), None)
    }

    /// A call of a function.
    pub fn call_function(&mut self, target: &str, args: impl Into<Args>, kwargs: Kwargs) -> Result<NodeId> {
        self.create_node(At::Default, Op::CallFunction, target, args.into(), kwargs, None)
    }

    /// A call of a method of the first argument.
    pub fn call_method(&mut self, target: &str, args: impl Into<Args>, kwargs: Kwargs) -> Result<NodeId> {
        self.create_node(At::Default, Op::CallMethod, target, args.into(), kwargs, None)
    }

    /// A call of a submodule.
    pub fn call_module(&mut self, target: &str, args: impl Into<Args>, kwargs: Kwargs) -> Result<NodeId> {
        self.create_node(At::Default, Op::CallModule, target, args.into(), kwargs, None)
    }

    /// What the graph returns; there is one.
    pub fn output(&mut self, value: Argument) -> Result<NodeId> {
        self.create_node(At::Default, Op::Output, "output", SmallVec::from_iter([value]), Kwargs::new(), None)
    }

    pub(super) fn has_illegal_name(&self, node: NodeId) -> bool {
        self.names.is_illegal(self[node].name)
    }

    pub(super) fn id_of(&self, slot: u32) -> Option<NodeId> {
        let stamp = NonZeroU64::new(self.slots.get(slot as usize)?.stamp)?;
        Some(NodeId::new(slot, stamp))
    }

    pub(super) fn extra(&self, node: NodeId) -> Option<&Extra> {
        self[node].extra.as_deref()
    }

    pub(super) fn node_mut(&mut self, node: NodeId) -> Result<&mut Node> {
        let slot = self.slots.get_mut(node.slot()).filter(|slot| slot.stamp == node.stamp());
        slot.and_then(|slot| slot.node.as_mut()).ok_or_else(|| stale(node))
    }

    /// What can be refused before anything changes. Args that hold a stale node are refused here.
    pub(super) fn check_new(&self, op: Op, args: &[Argument], kwargs: &[(Symbol, Argument)]) -> Result<()> {
        if op == Op::Output && self.output != NONE {
            return Err(Error::new(ErrorKind::AlreadyExists, "the graph has an output already"));
        }
        self.check_room(1)?;
        self.check_arguments(args, kwargs)
    }

    /// Whether so many more nodes fit; then making them does not fail for want of room.
    pub(crate) fn check_room(&self, count: usize) -> Result<()> {
        if self.len().saturating_add(count) > MAX_SLOTS {
            let message = format!("a graph holds {MAX_SLOTS} nodes at most; this one would have more");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        Stamps::check_room(count)
    }

    /// Whether arguments may stand in this graph.
    pub(super) fn check_arguments(&self, args: &[Argument], kwargs: &[(Symbol, Argument)]) -> Result<()> {
        for argument in args.iter().chain(kwargs.iter().map(|(_, value)| value)) {
            match argument {
                Argument::Node(node) => self.check_live(*node)?,
                nested if nested.is_nested() => {
                    nested.check()?;
                    let mut stale = None;
                    nested.for_each_node(&mut |node| {
                        if !self.contains(node) {
                            stale = Some(node);
                        }
                    });
                    stale.map_or(Ok(()), |node| self.check_live(node))?;
                }
                _ => {}
            }
        }
        if kwargs.len() > 1 {
            let mut keys: SmallVec<[Symbol; 8]> = kwargs.iter().map(|(key, _)| *key).collect();
            keys.sort_unstable();
            if let Some(pair) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
                let key = self.text(pair[0]);
                return Err(Error::new(ErrorKind::InvalidArgument, format!("keyword argument {key:?} is given twice")));
            }
        }
        Ok(())
    }

    fn check_live(&self, node: NodeId) -> Result<()> {
        self.get(node).map(|_| ()).map_err(|mut error| {
            error.message = "an argument is a node that was erased, or of another graph".into();
            error
        })
    }

    /// The slot before which a new node goes.
    pub(super) fn place(&mut self, at: At, op: Op) -> Result<u32> {
        match at {
            At::Before(node) => self.get(node).map(|_| node.slot() as u32),
            At::After(node) => self.get(node).map(|_| self.order.next(node.slot() as u32)),
            At::Default => Ok(match op {
                Op::Placeholder => self.end_of_placeholders(),
                Op::Output => NONE,
                _ => self.output,
            }),
        }
    }

    fn end_of_placeholders(&mut self) -> u32 {
        if self.last_placeholder == NONE {
            let mut at = self.order.first();
            while self.is_placeholder(at) {
                self.last_placeholder = at;
                at = self.order.next(at);
            }
        }
        match self.last_placeholder {
            NONE => self.order.first(),
            last => self.order.next(last),
        }
    }

    fn is_placeholder(&self, slot: u32) -> bool {
        let slot = self.slots.get(slot as usize);
        slot.and_then(|slot| slot.node.as_ref()).is_some_and(|node| node.op == Op::Placeholder)
    }

    /// Keeps `last_placeholder` right, or forgets it, after `slot` came into the order.
    pub(super) fn note_inserted(&mut self, slot: u32) {
        let (prev, next) = (self.order.prev(slot), self.order.next(slot));
        if self.is_placeholder(next) {
            self.last_placeholder = NONE;
        } else if self.is_placeholder(slot) && prev == self.last_placeholder {
            self.last_placeholder = slot;
        }
    }

    /// Makes a node of checked parts before the slot `next`.
    pub(super) fn insert(
        &mut self,
        next: u32,
        op: Op,
        target: Symbol,
        args: Args,
        kwargs: Kwargs,
        name: NameFor<'_>,
    ) -> Result<NodeId> {
        let stamp = self.stamps.take()?;
        let name = match name {
            NameFor::Asked(Some(asked)) => self.names.create_name(&self.symbols, asked),
            NameFor::Asked(None) => {
                let is_path = !matches!(op, Op::CallFunction);
                self.names.create_name_for_target(&self.symbols, target, is_path)
            }
            NameFor::Legal(name) => self.names.create_legal_name(&self.symbols, name),
            NameFor::Taken(name) => name,
        };
        let node = Node { op, name, target, args, kwargs, extra: None };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Slot { stamp: stamp.get(), node: Some(node) };
                slot
            }
            None => {
                self.slots.push(Slot { stamp: stamp.get(), node: Some(node) });
                (self.slots.len() - 1) as u32
            }
        };
        self.uses.add_slot(slot);
        self.order.insert_before(slot, next);
        self.record_inputs(slot);
        self.note_inserted(slot);
        match op {
            Op::Output => self.output = slot,
            Op::Placeholder => self.placeholder_count += 1,
            _ => {}
        }
        Ok(NodeId::new(slot, stamp))
    }

    /// Makes the edges of a node that has none yet, as its arguments say.
    pub(super) fn record_inputs(&mut self, slot: u32) {
        let Some(node) = self.slots.get(slot as usize).and_then(|slot| slot.node.as_ref()) else { return };
        let uses = &mut self.uses;
        uses.begin_inputs();
        let mut add = |input: NodeId| uses.add_input(slot, input.slot() as u32);
        node.args.iter().for_each(|argument| argument.for_each_node(&mut add));
        node.kwargs.iter().for_each(|(_, argument)| argument.for_each_node(&mut add));
    }

    /// Takes a slot out of arena and order; it has no edges any more.
    pub(super) fn release(&mut self, slot: u32) {
        if self.output == slot {
            self.output = NONE;
        }
        if self.last_placeholder == slot {
            self.last_placeholder = NONE;
        }
        if self.is_placeholder(slot) {
            self.placeholder_count -= 1;
        }
        self.order.remove(slot);
        self.slots[slot as usize] = Slot { stamp: 0, node: None };
        self.free.push(slot);
    }
}

#[cold]
fn stale(node: NodeId) -> Error {
    Error::new(ErrorKind::StaleNode, "the node was erased, or belongs to another graph").at_node(node)
}

/// Every node calls, gets or takes something.
pub(crate) fn check_target(target: &str) -> Result<()> {
    match target {
        "" => Err(Error::new(ErrorKind::InvalidArgument, "the target is empty")),
        _ => Ok(()),
    }
}

/// Where the name of a new node comes from.
pub(super) enum NameFor<'a> {
    /// Asked for, or derived from the target.
    Asked(Option<&'a str>),
    /// Legal already, and made unique.
    Legal(Symbol),
    /// Taken in the namespace already.
    Taken(Name),
}

impl std::ops::Index<NodeId> for Graph {
    type Output = Node;

    /// A node known to be live.
    ///
    /// # Panics
    /// When it is not; use [`Graph::get`] for ids from outside.
    #[inline]
    fn index(&self, node: NodeId) -> &Node {
        match self.find(node) {
            Some(found) => found,
            None => panic!("{}: {node:?}", stale(node)),
        }
    }
}
