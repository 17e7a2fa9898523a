//! Edits of a graph. Each checks first and then changes, and leaves users exact.

use super::argument::{Args, Argument, Kwargs};
use super::error::{counted, Error, ErrorKind, Result};
use super::graph::{check_target, Graph, NameFor};
use super::name::Name;
use super::namespace::Namespace;
use super::node::{Meta, NodeId, Op};
use super::order::NONE;
use super::symbol::Symbol;
use super::tensor::Value;
use smallvec::SmallVec;
use std::sync::Arc;

impl Graph {
    /// Sets all positional arguments. As in torch, the node becomes the newest user of all its inputs.
    pub fn set_args(&mut self, node: NodeId, args: Args) -> Result<()> {
        self.get(node)?;
        self.check_arguments(&args, &[])?;
        self.node_mut(node)?.args = args;
        self.rewire(node);
        Ok(())
    }

    /// Sets all keyword arguments.
    pub fn set_kwargs(&mut self, node: NodeId, kwargs: Kwargs) -> Result<()> {
        self.get(node)?;
        self.check_arguments(&[], &kwargs)?;
        self.node_mut(node)?.kwargs = kwargs;
        self.rewire(node);
        Ok(())
    }

    /// Sets what the node is called with to the same in another form: its inputs are the same nodes,
    /// so their users stay in order.
    pub(crate) fn rearrange(&mut self, node: NodeId, args: Args, kwargs: Kwargs) -> Result<()> {
        self.get(node)?;
        self.check_arguments(&args, &kwargs)?;
        let found = self.node_mut(node)?;
        (found.args, found.kwargs) = (args, kwargs);
        let mut mentioned: SmallVec<[u32; 8]> = SmallVec::new();
        let mut note = |input: NodeId| mentioned.push(input.slot() as u32);
        found.args.iter().for_each(|argument| argument.for_each_node(&mut note));
        found.kwargs.iter().for_each(|(_, argument)| argument.for_each_node(&mut note));
        if !self.uses.reorder_inputs(node.slot() as u32, &mentioned) {
            self.rewire(node);
        }
        Ok(())
    }

    /// Sets one positional argument that is there (torch's `update_arg`).
    pub fn set_arg(&mut self, node: NodeId, index: usize, argument: Argument) -> Result<()> {
        let count = self.get(node)?.args.len();
        self.check_arguments(std::slice::from_ref(&argument), &[])?;
        match self.node_mut(node)?.args.get_mut(index) {
            Some(place) => *place = argument,
            None => {
                let message =
                    format!("node {} has {}, none at {index}", self.name(node), counted(count, "positional argument"));
                return Err(Error::new(ErrorKind::OutOfRange, message).at_node(node));
            }
        }
        self.rewire(node);
        Ok(())
    }

    /// Puts an argument before the one at `index`, or last (torch's `insert_arg`).
    pub fn insert_arg(&mut self, node: NodeId, index: usize, argument: Argument) -> Result<()> {
        let count = self.get(node)?.args.len();
        self.check_arguments(std::slice::from_ref(&argument), &[])?;
        if index > count {
            let message =
                format!("node {} has {}, no place at {index}", self.name(node), counted(count, "positional argument"));
            return Err(Error::new(ErrorKind::OutOfRange, message).at_node(node));
        }
        self.node_mut(node)?.args.insert(index, argument);
        self.rewire(node);
        Ok(())
    }

    /// Sets one keyword argument, there or not (torch's `update_kwarg`).
    pub fn set_kwarg(&mut self, node: NodeId, key: &str, argument: Argument) -> Result<()> {
        self.get(node)?;
        self.check_arguments(std::slice::from_ref(&argument), &[])?;
        let key = self.symbols.intern(key);
        let kwargs = &mut self.node_mut(node)?.kwargs;
        match kwargs.iter_mut().find(|(k, _)| *k == key) {
            Some((_, place)) => *place = argument,
            None => kwargs.push((key, argument)),
        }
        self.rewire(node);
        Ok(())
    }

    /// Sets what the node calls, gets or takes; the name stays.
    pub fn set_target(&mut self, node: NodeId, target: &str) -> Result<()> {
        self.get(node)?;
        check_target(target)?;
        let target = self.symbols.intern(target);
        self.node_mut(node)?.target = target;
        Ok(())
    }

    /// Makes the node one of another op, in place. An output stays one and nothing becomes one; a
    /// placeholder likewise, since both have places of their own.
    pub fn set_op(&mut self, node: NodeId, op: Op) -> Result<()> {
        let old = self.get(node)?.op;
        let fixed = |op| matches!(op, Op::Output | Op::Placeholder);
        if old != op && (fixed(old) || fixed(op)) {
            let message = format!("node {} cannot turn from {} into {}", self.name(node), old.name(), op.name());
            return Err(Error::new(ErrorKind::InvalidArgument, message).at_node(node));
        }
        self.node_mut(node)?.op = op;
        Ok(())
    }

    /// Gives the node another name, made legal and unique; returns what it became.
    pub fn rename(&mut self, node: NodeId, name: &str) -> Result<Name> {
        if self.get(node)?.name.text(&self.symbols) == name {
            return Ok(self[node].name);
        }
        let name = self.names.create_name(&self.symbols, name);
        self.node_mut(node)?.name = name;
        Ok(name)
    }

    /// Sets or takes away the annotation of the node's type.
    pub fn set_type_annotation(&mut self, node: NodeId, annotation: Option<&str>) -> Result<()> {
        self.get(node)?;
        let annotation = annotation.map(|text| self.symbols.intern(text));
        self.node_mut(node)?.extra_mut().type_annotation = annotation;
        Ok(())
    }

    /// Sets or takes away the node's comment.
    pub fn set_comment(&mut self, node: NodeId, comment: Option<&str>) -> Result<()> {
        self.get(node)?;
        let comment = comment.map(|text| self.symbols.intern(text));
        self.node_mut(node)?.extra_mut().comment = comment;
        Ok(())
    }

    /// Says what the node yields, or that it is not known.
    pub fn set_value(&mut self, node: NodeId, value: Option<Arc<Value>>) -> Result<()> {
        self.node_mut(node)?.extra_mut().meta.value = value;
        Ok(())
    }

    /// Sets an entry of the node's meta; an argument that holds a node is refused.
    pub fn set_meta(&mut self, node: NodeId, key: &str, entry: Argument) -> Result<()> {
        self.get(node)?;
        entry.check()?;
        if entry.holds_node() {
            let message = format!("meta {key:?} of node {} would hold a node", self.name(node));
            return Err(Error::new(ErrorKind::InvalidArgument, message).at_node(node));
        }
        self.set_meta_symbol(node, self.symbols.intern(key), entry)
    }

    /// Sets an entry that is checked and in this graph's table.
    pub(crate) fn set_meta_symbol(&mut self, node: NodeId, key: Symbol, entry: Argument) -> Result<()> {
        self.node_mut(node)?.extra_mut().meta.entries.insert(key, entry);
        Ok(())
    }

    /// Takes an entry out of the node's meta; says whether it was there.
    pub fn remove_meta(&mut self, node: NodeId, key: &str) -> Result<bool> {
        self.get(node)?;
        let Some(key) = self.symbols.find(key) else { return Ok(false) };
        let entries = &mut self.node_mut(node)?.extra_mut().meta.entries;
        Ok(entries.shift_remove(&key).is_some())
    }

    /// Everything known of a node at once.
    pub fn set_all_meta(&mut self, node: NodeId, meta: Meta) -> Result<()> {
        let node = self.node_mut(node)?;
        if !meta.is_empty() || node.extra.is_some() {
            node.extra_mut().meta = meta;
        }
        Ok(())
    }

    /// Moves a node right before another (torch's `prepend`). Before itself: nothing happens.
    pub fn move_before(&mut self, node: NodeId, anchor: NodeId) -> Result<()> {
        self.get(node)?;
        self.get(anchor)?;
        self.move_to(node, anchor.slot() as u32);
        Ok(())
    }

    /// Moves a node right after another (torch's `append`). After itself: nothing happens.
    pub fn move_after(&mut self, node: NodeId, anchor: NodeId) -> Result<()> {
        self.get(node)?;
        self.get(anchor)?;
        if node != anchor {
            self.move_to(node, self.order.next(anchor.slot() as u32));
        }
        Ok(())
    }

    /// Erases a node that has no users.
    pub fn erase_node(&mut self, node: NodeId) -> Result<()> {
        self.get(node)?;
        if let Some(user) = self.users(node).next() {
            let others = match self.user_count(node) {
                1 => String::new(),
                count => format!(" and {} more", count - 1),
            };
            let message =
                format!("node {} is used by {}{others}: it cannot be erased", self.name(node), self.name(user));
            return Err(Error::new(ErrorKind::InUse, message).at_node(node));
        }
        let slot = node.slot() as u32;
        self.uses.clear_inputs(slot);
        self.release(slot);
        Ok(())
    }

    /// Puts `new` in the place of `old` in every user that `filter` lets pass, `new` itself left
    /// out; returns the users that were changed, in the order of their uses.
    pub fn replace_all_uses_with(
        &mut self,
        old: NodeId,
        new: NodeId,
        mut filter: impl FnMut(&Graph, NodeId) -> bool,
    ) -> Result<Vec<NodeId>> {
        self.get(old)?;
        self.get(new)?;
        if old == new {
            return Ok(Vec::new());
        }
        let users: Vec<NodeId> = self.users(old).filter(|&user| user != new && filter(self, user)).collect();
        for &user in &users {
            self.replace_in(user, |node| (node == old).then_some(Argument::Node(new)))?;
        }
        Ok(users)
    }

    /// Puts `new` in the place of `old` in the arguments of one node.
    pub fn replace_input_with(&mut self, node: NodeId, old: NodeId, new: NodeId) -> Result<()> {
        self.get(node)?;
        self.get(old)?;
        self.get(new)?;
        self.replace_in(node, |node| (node == old).then_some(Argument::Node(new)))
    }

    /// Puts what `replace` gives in the place of each node in the arguments of one node.
    pub fn map_inputs(&mut self, node: NodeId, mut replace: impl FnMut(NodeId) -> Option<Argument>) -> Result<bool> {
        let found = self.get(node)?;
        let (mut args, mut kwargs) = (found.args.clone(), found.kwargs.clone());
        let mut changed = false;
        for argument in args.iter_mut().chain(kwargs.iter_mut().map(|(_, value)| value)) {
            changed |= argument.replace_nodes(&mut replace);
        }
        if changed {
            self.check_arguments(&args, &kwargs)?;
            let found = self.node_mut(node)?;
            (found.args, found.kwargs) = (args, kwargs);
            self.rewire(node);
        }
        Ok(changed)
    }

    /// The whole order at once; `sequence` names every node once.
    pub fn set_order(&mut self, sequence: &[NodeId]) -> Result<()> {
        let mut seen = vec![false; self.slots.len()];
        for &node in sequence {
            self.get(node)?;
            if std::mem::replace(&mut seen[node.slot()], true) {
                let message = format!("node {} stands in the order twice", self.name(node));
                return Err(Error::new(ErrorKind::InvalidArgument, message).at_node(node));
            }
        }
        if sequence.len() != self.len() {
            let message = format!("the order names {} of {}", sequence.len(), counted(self.len(), "node"));
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let slots: Vec<u32> = sequence.iter().map(|node| node.slot() as u32).collect();
        self.set_slot_order(&slots);
        Ok(())
    }

    /// The order of a node's users, where a file says it; false when these are not its users.
    pub fn set_user_order(&mut self, node: NodeId, users: &[NodeId]) -> Result<bool> {
        self.get(node)?;
        let slots: SmallVec<[u32; 8]> = users.iter().map(|user| user.slot() as u32).collect();
        Ok(users.iter().all(|&user| self.contains(user)) && self.uses.set_user_order(node.slot() as u32, &slots))
    }

    /// Makes a call that stood for something to come what it is, last in the order; its name stays. It
    /// is no output.
    pub(crate) fn fulfil(&mut self, node: NodeId, op: Op, target: &str, args: Args, kwargs: Kwargs) -> Result<()> {
        check_target(target)?;
        self.check_arguments(&args, &kwargs)?;
        let target = self.symbols.intern(target);
        let found = self.node_mut(node)?;
        (found.op, found.target, found.args, found.kwargs) = (op, target, args, kwargs);
        self.placeholder_count += usize::from(op == Op::Placeholder);
        self.rewire(node);
        self.move_to_end(node)
    }

    /// Moves a node behind all others.
    pub(crate) fn move_to_end(&mut self, node: NodeId) -> Result<()> {
        self.get(node)?;
        self.move_to(node, NONE);
        Ok(())
    }

    /// Sets an entry of meta by a key of this graph's table.
    pub(crate) fn set_entry(&mut self, node: NodeId, key: Symbol, entry: Argument) -> Result<()> {
        self.node_mut(node)?.extra_mut().meta.entries.insert(key, entry);
        Ok(())
    }

    /// Makes a copy of checked parts before `place`, or last; the name is legal, and made unique.
    pub(crate) fn insert_copy(
        &mut self,
        place: Option<NodeId>,
        op: Op,
        target: Symbol,
        name: Symbol,
        args: Args,
        kwargs: Kwargs,
    ) -> Result<NodeId> {
        let next = place.map_or(NONE, |node| node.slot() as u32);
        self.insert(next, op, target, args, kwargs, NameFor::Legal(name))
    }

    /// Sets an annotation that is in this graph's table.
    pub(crate) fn set_annotation_symbol(&mut self, node: NodeId, annotation: Symbol) -> Result<()> {
        self.node_mut(node)?.extra_mut().type_annotation = Some(annotation);
        Ok(())
    }

    /// Puts what `replace` gives, arguments of this graph, in the place of nodes that a live node names.
    pub(crate) fn replace_in(
        &mut self,
        node: NodeId,
        mut replace: impl FnMut(NodeId) -> Option<Argument>,
    ) -> Result<()> {
        let found = self.node_mut(node)?;
        for argument in found.args.iter_mut().chain(found.kwargs.iter_mut().map(|(_, value)| value)) {
            argument.replace_nodes(&mut replace);
        }
        self.rewire(node);
        Ok(())
    }

    /// `new` is known by what was known of `old`; what only it had stays.
    pub(crate) fn take_over_meta(&mut self, old: NodeId, new: NodeId) -> Result<()> {
        let Some(extra) = self.node_mut(old)?.extra.take() else { return Ok(()) };
        let node = self.node_mut(new)?;
        match &mut node.extra {
            None => node.extra = Some(extra),
            Some(own) => {
                own.meta.value = extra.meta.value.or(own.meta.value.take());
                own.meta.entries.extend(extra.meta.entries);
                own.type_annotation = own.type_annotation.or(extra.type_annotation);
                own.comment = own.comment.or(extra.comment);
            }
        }
        Ok(())
    }

    /// Erases nodes that only each other use.
    pub(crate) fn erase_unused(&mut self, nodes: impl Iterator<Item = NodeId> + Clone) -> Result<()> {
        nodes.clone().for_each(|node| self.uses.clear_inputs(node.slot() as u32));
        for node in nodes {
            self.erase_node(node)?;
        }
        Ok(())
    }

    /// Which names are taken; for [`Graph::restore_names`], once the nodes that took more are erased.
    pub(crate) fn taken_names(&self) -> Namespace {
        self.names.clone()
    }

    /// Frees the names that were taken since.
    pub(crate) fn restore_names(&mut self, names: Namespace) {
        self.names = names;
    }

    /// A sequence that is known to hold every slot once.
    pub(crate) fn set_slot_order(&mut self, slots: &[u32]) {
        self.order.set(slots);
        self.last_placeholder = NONE;
    }

    fn rewire(&mut self, node: NodeId) {
        let slot = node.slot() as u32;
        self.uses.clear_inputs(slot);
        self.record_inputs(slot);
    }

    fn move_to(&mut self, node: NodeId, next: u32) {
        let slot = node.slot() as u32;
        if slot == next || self.order.next(slot) == next {
            return;
        }
        self.order.remove(slot);
        self.order.insert_before(slot, next);
        self.last_placeholder = NONE;
    }
}
