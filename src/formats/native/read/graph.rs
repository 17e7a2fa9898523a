//! Graphs and their nodes.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, MapAccess};

use super::argument::{place_of, Read};
use super::context::{once, shown, Context, List, Named, Part, PartSeed, Plain, Record, RecordSeed, Text};
use crate::formats::native::record::GivenRecord;
use crate::ir::error::counted;
use crate::ir::{Argument, Error, ErrorKind, GivenNames, Graph, NodeId, Op, Result, Value};

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
    op: Option<Cow<'de, str>>,
    name: Option<Cow<'de, str>>,
    target: Option<Cow<'de, str>>,
    args: Option<List<Read>>,
    kwargs: Option<Named<'de, Read>>,
    type_annotation: Option<Cow<'de, str>>,
    comment: Option<Cow<'de, str>>,
    value: Option<usize>,
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
        match key {
            "op" => once(&mut self.op, "op", map.next_value_seed(Text)?)?,
            "name" => once(&mut self.name, "name", map.next_value_seed(Text)?)?,
            "target" => once(&mut self.target, "target", map.next_value_seed(Text)?)?,
            "args" => once(&mut self.args, "args", map.next_value_seed(PartSeed::new(context))?)?,
            "kwargs" => once(&mut self.kwargs, "kwargs", map.next_value_seed(PartSeed::new(context))?)?,
            "type" => once(&mut self.type_annotation, "type", map.next_value_seed(Text)?)?,
            "comment" => once(&mut self.comment, "comment", map.next_value_seed(Text)?)?,
            "value" => once(&mut self.value, "value", map.next_value()?)?,
            "meta" => once(&mut self.meta, "meta", map.next_value_seed(PartSeed::new(context))?)?,
            "users" => once(&mut self.users, "users", map.next_value()?)?,
            _ => return Ok(false),
        }
        Ok(true)
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
            users.push(record.users.take());
            let name = record.name.take().unwrap_or_default();
            record.fill(graph, place, &nodes, values).map_err(|error| about(place, &name, error))?;
        }
        for (&node, users) in nodes.iter().zip(&users) {
            if let Some(users) = users {
                let ids: Result<Vec<NodeId>> = users.iter().map(|&user| find(&nodes, user)).collect();
                if !graph.set_user_order(node, &ids?)? {
                    let message = format!("the users that are told of node `{}` are not its users", graph.name(node));
                    return Err(Error::new(ErrorKind::Parse, message));
                }
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
        let op = needed(&self.op, "op")?;
        let op = Op::from_name(op)
            .ok_or_else(|| Error::new(ErrorKind::Unsupported, format!("there is no op {:?}", shown(op))))?;
        graph.restore_node(op, needed(&self.target, "target")?, needed(&self.name, "name")?)
    }

    fn fill(self, graph: &mut Graph, place: usize, nodes: &[NodeId], values: &[Arc<Value>]) -> Result<()> {
        let node = find(nodes, place)?;
        let symbols = graph.symbols().clone();
        let real = |Read(mut argument): Read| {
            let mut beyond = None;
            argument.replace_nodes(&mut |id| {
                let found = find(nodes, place_of(id));
                found.map(Argument::Node).map_err(|error| beyond = Some(error)).ok()
            });
            match beyond {
                Some(error) => Err(error),
                None => Ok(argument),
            }
        };
        let args = self.args.unwrap_or_default().0.into_iter().map(real).collect::<Result<_>>()?;
        let kwargs = self.kwargs.unwrap_or_default().0.into_iter();
        let kwargs = kwargs.map(|(key, value)| Ok((symbols.intern(&key), real(value)?))).collect::<Result<_>>()?;
        graph.rearrange(node, args, kwargs)?;

        if let Some(text) = &self.type_annotation {
            graph.set_type_annotation(node, Some(text))?;
        }
        if let Some(text) = &self.comment {
            graph.set_comment(node, Some(text))?;
        }
        if let Some(place) = self.value {
            let value = values.get(place).ok_or_else(|| {
                Error::new(ErrorKind::Parse, format!("it names value {place} of {}", counted(values.len(), "value")))
            })?;
            graph.set_value(node, Some(value.clone()))?;
        }
        for (key, Read(entry)) in self.meta.unwrap_or_default().0 {
            graph.set_meta(node, &key, entry)?;
        }
        Ok(())
    }
}

fn needed<'r>(text: &'r Option<Cow<'_, str>>, key: &str) -> Result<&'r str> {
    text.as_deref().ok_or_else(|| Error::new(ErrorKind::Parse, format!("the key `{key}` is missing")))
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
