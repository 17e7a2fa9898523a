//! Graphs and their nodes.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, MapAccess};

use super::argument::{place_of, Read, ReadArgs, ReadKwargs};
use super::context::{once, shown, Context, List, Named, Part, PartSeed, Plain, Record, RecordSeed, Text};
use crate::formats::native::record::GivenRecord;
use crate::ir::error::counted;
use crate::ir::{Args, Argument, Error, ErrorKind, GivenNames, Graph, Kwargs, NodeId, Op, Result, Symbol, Value};

/// A graph as the document tells it.
#[derive(Default)]
pub(super) struct GraphRecord<'de> {
    pub(super) module: Option<usize>,
    return_annotation: Option<String>,
    pytree_header: Option<String>,
    wrapped: Option<Vec<String>>,
    names: Option<Named<'de, Plain<GivenRecord>>>,
    nodes: Option<List<NodeRecord<'de>>>,
}

/// A node as the document tells it.
#[derive(Default)]
struct NodeRecord<'de> {
    op: Option<Op>,
    name: Option<Cow<'de, str>>,
    target: Option<Symbol>,
    args: Option<ReadArgs>,
    kwargs: Option<ReadKwargs>,
    value: Option<usize>,
    rest: Option<Box<NodeRest<'de>>>,
}

/// What few nodes have.
#[derive(Default)]
struct NodeRest<'de> {
    type_annotation: Option<Cow<'de, str>>,
    comment: Option<Cow<'de, str>>,
    meta: Option<Named<'de, Read>>,
    users: Option<Vec<usize>>,
}

impl<'de> Record<'de> for GraphRecord<'de> {
    const WHAT: &'static str = "a graph";

    fn take<M: MapAccess<'de>>(
        &mut self,
        context: &Context<'_>,
        key: &str,
        map: &mut M,
    ) -> std::result::Result<bool, M::Error> {
        match key {
            "module" => once(&mut self.module, "module", map.next_value()?)?,
            "return_annotation" => once(&mut self.return_annotation, "return_annotation", map.next_value()?)?,
            "pytree_header" => once(&mut self.pytree_header, "pytree_header", map.next_value()?)?,
            "wrapped" => once(&mut self.wrapped, "wrapped", map.next_value()?)?,
            "names" => once(&mut self.names, "names", map.next_value_seed(PartSeed::new(context))?)?,
            "nodes" => once(&mut self.nodes, "nodes", map.next_value_seed(PartSeed::new(context))?)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl<'de> Record<'de> for NodeRecord<'de> {
    const WHAT: &'static str = "a node";

    fn take<M: MapAccess<'de>>(
        &mut self,
        context: &Context<'_>,
        key: &str,
        map: &mut M,
    ) -> std::result::Result<bool, M::Error> {
        let rest = &mut self.rest;
        match key {
            "op" => {
                let name = map.next_value_seed(Text)?;
                let unknown = || context.fail(ErrorKind::Unsupported, format!("there is no op {:?}", shown(&name)));
                once(&mut self.op, "op", Op::from_name(&name).ok_or_else(unknown)?)?
            }
            "name" => once(&mut self.name, "name", map.next_value_seed(Text)?)?,
            "target" => once(&mut self.target, "target", context.intern(&map.next_value_seed(Text)?))?,
            "args" => once(&mut self.args, "args", map.next_value_seed(PartSeed::new(context))?)?,
            "kwargs" => once(&mut self.kwargs, "kwargs", map.next_value_seed(PartSeed::new(context))?)?,
            "value" => once(&mut self.value, "value", map.next_value()?)?,
            "type" => once(&mut rest.get_or_insert_default().type_annotation, "type", map.next_value_seed(Text)?)?,
            "comment" => once(&mut rest.get_or_insert_default().comment, "comment", map.next_value_seed(Text)?)?,
            "meta" => {
                once(&mut rest.get_or_insert_default().meta, "meta", map.next_value_seed(PartSeed::new(context))?)?
            }
            "users" => once(&mut rest.get_or_insert_default().users, "users", map.next_value()?)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn missing(&self) -> Option<&'static str> {
        let keys = [("op", self.op.is_none()), ("name", self.name.is_none()), ("target", self.target.is_none())];
        keys.into_iter().find(|(_, is_missing)| *is_missing).map(|(key, _)| key)
    }
}

impl<'de> Part<'de> for GraphRecord<'de> {
    fn read<D: Deserializer<'de>>(context: &Context<'_>, deserializer: D) -> std::result::Result<Self, D::Error> {
        RecordSeed::new(context).deserialize(deserializer)
    }
}

impl<'de> Part<'de> for NodeRecord<'de> {
    fn read<D: Deserializer<'de>>(context: &Context<'_>, deserializer: D) -> std::result::Result<Self, D::Error> {
        RecordSeed::new(context).deserialize(deserializer)
    }
}

impl GraphRecord<'_> {
    /// Fills an empty graph.
    pub(super) fn fill(self, graph: &mut Graph, values: &[Arc<Value>]) -> Result<()> {
        graph.signature.return_annotation = self.return_annotation;
        graph.signature.pytree_header = self.pytree_header;
        graph.signature.wrapped = self.wrapped.unwrap_or_default();

        // All nodes first: one may be named before it comes.
        let records = self.nodes.unwrap_or_default().0;
        let mut nodes = Vec::with_capacity(records.len());
        for (place, record) in records.iter().enumerate() {
            let name = record.name.as_deref().unwrap_or_default();
            nodes.push(record.create(graph).map_err(|error| about(place, name, error))?);
        }
        let mut users = Vec::new();
        for (place, mut record) in records.into_iter().enumerate() {
            let told = record.rest.as_mut().and_then(|rest| rest.users.take());
            users.extend(told.map(|told| (nodes[place], told)));
            let name = record.name.take().unwrap_or_default();
            record.fill(graph, place, &nodes, values).map_err(|error| about(place, &name, error))?;
        }
        for (node, users) in users {
            let ids: Result<Vec<NodeId>> = users.iter().map(|&user| find(&nodes, user)).collect();
            if !graph.set_user_order(node, &ids?)? {
                let message = format!("the users that are told of node `{}` are not its users", graph.name(node));
                return Err(Error::new(ErrorKind::Parse, message));
            }
        }
        for (base, Plain(given)) in self.names.unwrap_or_default().0 {
            let given = GivenNames { plain: given.plain, numbers: given.numbers, count: given.count };
            graph.restore_given(&base, &given).map_err(as_parse)?;
        }
        Ok(())
    }
}

impl NodeRecord<'_> {
    fn create(&self, graph: &mut Graph) -> Result<NodeId> {
        match (self.op, self.target, self.name.as_deref()) {
            (Some(op), Some(target), Some(name)) => graph.restore_node(op, target, name),
            _ => Err(Error::new(ErrorKind::Parse, "a key is missing")), // not after `missing`
        }
    }

    fn fill(self, graph: &mut Graph, place: usize, nodes: &[NodeId], values: &[Arc<Value>]) -> Result<()> {
        let node = find(nodes, place)?;
        let mut args = self.args.map_or_else(Args::new, |ReadArgs(args)| args);
        let mut kwargs = self.kwargs.map_or_else(Kwargs::new, |ReadKwargs(kwargs)| kwargs);
        let mut beyond = None;
        let mut stand_for = |id| {
            let found = find(nodes, place_of(id));
            found.map(Argument::Node).map_err(|error| beyond = Some(error)).ok()
        };
        for argument in args.iter_mut().chain(kwargs.iter_mut().map(|(_, argument)| argument)) {
            argument.replace_nodes(&mut stand_for);
        }
        if let Some(error) = beyond {
            return Err(error);
        }
        graph.restore_arguments(node, args, kwargs)?;

        if let Some(place) = self.value {
            let value = values.get(place).ok_or_else(|| {
                Error::new(ErrorKind::Parse, format!("it names value {place} of {}", counted(values.len(), "value")))
            })?;
            graph.set_value(node, Some(value.clone()))?;
        }
        let Some(rest) = self.rest else { return Ok(()) };
        if let Some(text) = &rest.type_annotation {
            graph.set_type_annotation(node, Some(text))?;
        }
        if let Some(text) = &rest.comment {
            graph.set_comment(node, Some(text))?;
        }
        for (key, Read(entry)) in rest.meta.unwrap_or_default().0 {
            graph.set_meta(node, &key, entry)?;
        }
        Ok(())
    }
}

fn find(nodes: &[NodeId], place: usize) -> Result<NodeId> {
    nodes.get(place).copied().ok_or_else(|| {
        Error::new(ErrorKind::Parse, format!("node {place} is named, but there are {}", counted(nodes.len(), "node")))
    })
}

fn about(place: usize, name: &str, mut error: Error) -> Error {
    error.message = format!("node {place} `{}`: {}", shown(name), error.message);
    as_parse(error)
}

/// What no graph holds is an error of the file. The ids in it are those of a graph that nobody gets.
pub(super) fn as_parse(error: Error) -> Error {
    let kind = match error.kind {
        ErrorKind::Unsupported | ErrorKind::Limit => error.kind,
        _ => ErrorKind::Parse,
    };
    Error::new(kind, error.message)
}
