//! Copies of nodes and graphs.

use super::argument::{Args, Argument, Kwargs};
use super::error::{Error, ErrorKind, Result};
use super::graph::{At, Graph, NameFor};
use super::name::Name;
use super::node::{Extra, Meta, NodeId, Op};
use super::order::NONE;
use super::symbol::Symbols;
use std::sync::Arc;

/// How copies of nodes are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CopyNames<'a> {
    /// As what they are copies of, made unique: torch's `node_copy`.
    #[default]
    Unique,
    /// Just as what they are copies of; a name that was given before, if only to a node that is gone
    /// now, is [`ErrorKind::AlreadyExists`].
    Keep,
    /// The same after this prefix and `_`, made unique.
    Prefixed(&'a str),
    /// After their targets, as new nodes are.
    ByTarget,
}

impl Graph {
    /// A copy of the whole graph with the same names, whose strings are in `symbols`; and for each
    /// slot of this graph the node that stands for it there.
    pub fn copy_to(&self, symbols: Arc<Symbols>) -> Result<(Graph, Vec<Option<NodeId>>)> {
        let mut copy = Graph::new(symbols);
        copy.signature = self.signature.clone();
        let mut map = vec![None; self.slot_count()];
        // Uses may come before definitions here, so first the nodes and then their arguments.
        for node in self.nodes() {
            let found = &self[node];
            let name = Name::new(&copy.symbols, self.name(node));
            let target = copy.symbols.intern(self.text(found.target));
            copy.names.take(name, self.name(node));
            let new = copy.insert(NONE, found.op, target, Args::new(), Kwargs::new(), NameFor::Taken(name))?;
            map[node.slot()] = Some(new);
            if let Some(extra) = self.extra(node) {
                let extra = transfer_extra(extra, &self.symbols, &copy.symbols)?;
                *copy.node_mut(new)?.extra_mut() = extra;
            }
        }
        for node in self.nodes() {
            let Some(new) = map[node.slot()] else { continue };
            let (args, kwargs) = transfer_arguments(self, node, &copy, &mut |id| match map[id.slot()] {
                Some(new) => Ok(Argument::Node(new)),
                None => Err(Error::new(ErrorKind::StaleNode, "an argument is no node of the graph").at_node(id)),
            })?;
            let found = copy.node_mut(new)?;
            (found.args, found.kwargs) = (args, kwargs);
            copy.record_inputs(new.slot() as u32);
        }
        if Arc::ptr_eq(&self.symbols, &copy.symbols) {
            copy.names = self.names.clone();
        }
        for node in self.nodes() {
            let users: Vec<NodeId> = self.users(node).filter_map(|user| map[user.slot()]).collect();
            if let Some(new) = map[node.slot()] {
                copy.set_user_order(new, &users)?;
            }
        }
        Ok((copy, map))
    }

    /// Copies one node of `from` to `at`; `node` says what stands for each of its inputs (torch's
    /// `node_copy`).
    pub fn node_copy(
        &mut self,
        at: At,
        from: &Graph,
        source: NodeId,
        names: CopyNames<'_>,
        node: &mut impl FnMut(NodeId) -> Result<Argument>,
    ) -> Result<NodeId> {
        let found = from.get(source)?;
        let (args, kwargs) = transfer_arguments(from, source, self, node)?;
        let extra = match from.extra(source) {
            Some(extra) => Some(transfer_extra(extra, &from.symbols, &self.symbols)?),
            None => None,
        };
        let (target, name) = (from.text(found.target), from.name(source));
        let new = self.create_copy(at, (found.op, target, name), args, kwargs, names)?;
        if let Some(extra) = extra {
            *self.node_mut(new)?.extra_mut() = extra;
        }
        Ok(new)
    }

    /// The same for a node of this very graph, beside the original; inputs for which `node` says nothing
    /// stay.
    pub fn node_copy_within(
        &mut self,
        at: At,
        source: NodeId,
        names: CopyNames<'_>,
        node: &mut impl FnMut(NodeId) -> Option<Argument>,
    ) -> Result<NodeId> {
        let found = self.get(source)?;
        let (mut args, mut kwargs, extra) = (found.args.clone(), found.kwargs.clone(), found.extra.clone());
        for argument in args.iter_mut().chain(kwargs.iter_mut().map(|(_, value)| value)) {
            argument.replace_nodes(node);
        }
        let symbols = self.symbols.clone();
        let what = (found.op, symbols.text(found.target), &*found.name.text(&symbols).to_owned());
        let new = self.create_copy(at, what, args, kwargs, names)?;
        self.node_mut(new)?.extra = extra;
        Ok(new)
    }

    fn create_copy(
        &mut self,
        at: At,
        (op, target, name): (Op, &str, &str),
        args: Args,
        kwargs: Kwargs,
        names: CopyNames<'_>,
    ) -> Result<NodeId> {
        let prefixed;
        let asked = match names {
            CopyNames::Unique => Some(name),
            CopyNames::ByTarget => None,
            CopyNames::Prefixed(prefix) => {
                prefixed = format!("{prefix}_{name}");
                Some(&*prefixed)
            }
            CopyNames::Keep => {
                let next = self.place(at, op)?;
                self.check_new(op, &args, &kwargs)?;
                let free = self.free_name(name)?;
                let target = self.symbols.intern(target);
                self.names.take(free, name);
                return self.insert(next, op, target, args, kwargs, NameFor::Taken(free));
            }
        };
        self.create_node(at, op, target, args, kwargs, asked)
    }

    pub(super) fn free_name(&self, name: &str) -> Result<Name> {
        let free = Name::new(&self.symbols, name);
        match self.names.is_taken(free) {
            true => Err(Error::new(ErrorKind::AlreadyExists, format!("the name {name} was given before"))),
            false => Ok(free),
        }
    }

    /// Copies the nodes of `from` but its output to `at`, in order, and returns what the output
    /// returned (torch's `graph_copy`). `map` has a place for each slot of `from`: nodes that have
    /// an argument there already are not copied, that argument stands for them; the others' copies
    /// are put there.
    ///
    /// On failure the nodes copied so far are erased again; `map` may keep their ids.
    pub fn graph_copy(
        &mut self,
        at: At,
        from: &Graph,
        names: CopyNames<'_>,
        map: &mut [Option<Argument>],
    ) -> Result<Option<Argument>> {
        if map.len() < from.slot_count() {
            return Err(Error::new(ErrorKind::InvalidArgument, "the map of nodes is shorter than the graph's slots"));
        }
        check_definitions(from, map)?;
        if names == CopyNames::Keep {
            let copied = from.nodes().filter(|source| map[source.slot()].is_none() && from[*source].op != Op::Output);
            for source in copied {
                self.free_name(from.name(source)).map_err(|error| error.at_node(source))?;
            }
        }
        let next = self.place(at, Op::CallFunction)?;
        let at = self.id_of(next).map_or(At::Default, At::Before);
        let mut copied = Vec::new();
        let result = self.copy_nodes(at, from, names, map, &mut copied);
        if result.is_ok() {
            self.signature.wrap_also(&from.signature);
        } else {
            for &node in copied.iter().rev() {
                self.uses.clear_inputs(node.slot() as u32);
            }
            for &node in copied.iter().rev() {
                self.release(node.slot() as u32);
            }
        }
        result
    }

    fn copy_nodes(
        &mut self,
        at: At,
        from: &Graph,
        names: CopyNames<'_>,
        map: &mut [Option<Argument>],
        copied: &mut Vec<NodeId>,
    ) -> Result<Option<Argument>> {
        for source in from.nodes() {
            if map[source.slot()].is_some() {
                continue;
            }
            let mapped = |map: &[Option<Argument>], id: NodeId| match map.get(id.slot()).cloned().flatten() {
                Some(argument) => Ok(argument),
                None => Err(Error::new(
                    ErrorKind::Lint,
                    format!("node {} uses {} before its definition", from.name(source), from.name(id)),
                )
                .at_node(source)),
            };
            if from[source].op == Op::Output {
                let Some(returned) = from[source].args.first() else { return Ok(None) };
                return returned.transfer(&from.symbols, &self.symbols, &mut |id| mapped(map, id)).map(Some);
            }
            // Placeholders go to the placeholders, whatever the place of the rest.
            let at = if from[source].op == Op::Placeholder { At::Default } else { at };
            let new = self.node_copy(at, from, source, names, &mut |id| mapped(map, id))?;
            copied.push(new);
            map[source.slot()] = Some(Argument::Node(new));
        }
        Ok(None)
    }
}

/// Whether each node that is to be copied comes after all that it uses. Asked before the first copy,
/// as a name once given stays taken.
fn check_definitions(from: &Graph, map: &[Option<Argument>]) -> Result<()> {
    let mut stands: Vec<bool> = map.iter().map(Option::is_some).collect();
    for source in from.nodes().filter(|source| map[source.slot()].is_none()) {
        if let Some(input) = from.input_nodes(source).find(|input| !stands[input.slot()]) {
            let message = format!("node {} uses {} before its definition", from.name(source), from.name(input));
            return Err(Error::new(ErrorKind::Lint, message).at_node(source));
        }
        if from[source].op == Op::Output {
            break;
        }
        stands[source.slot()] = true;
    }
    Ok(())
}

/// The arguments of a node of `from` for the graph `to`.
pub(crate) fn transfer_arguments(
    from: &Graph,
    source: NodeId,
    to: &Graph,
    node: &mut impl FnMut(NodeId) -> Result<Argument>,
) -> Result<(Args, Kwargs)> {
    let found = from.get(source)?;
    let args = found.args.iter().map(|a| a.transfer(&from.symbols, &to.symbols, node)).collect::<Result<Args>>()?;
    let kwargs = found
        .kwargs
        .iter()
        .map(|(key, a)| Ok((to.symbols.intern(from.text(*key)), a.transfer(&from.symbols, &to.symbols, node)?)))
        .collect::<Result<Kwargs>>()?;
    Ok((args, kwargs))
}

/// Meta for a node of another tree.
pub(crate) fn transfer_meta(meta: &Meta, from: &Symbols, to: &Symbols) -> Result<Meta> {
    let mut copy = Meta { value: meta.value.clone(), ..Meta::default() };
    for (key, entry) in &meta.entries {
        copy.entries.insert(to.intern(from.text(*key)), entry.transfer_literal(from, to)?);
    }
    Ok(copy)
}

fn transfer_extra(extra: &Extra, from: &Symbols, to: &Symbols) -> Result<Extra> {
    let carry = |symbol: Option<_>| symbol.map(|symbol| to.intern(from.text(symbol)));
    Ok(Extra {
        meta: transfer_meta(&extra.meta, from, to)?,
        type_annotation: carry(extra.type_annotation),
        comment: carry(extra.comment),
    })
}
