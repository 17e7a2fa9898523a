//! One node of `nodes`, made in the graph as soon as it is read.

use std::borrow::Cow;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::de::{DeserializeSeed, Deserializer, Error as SerdeError, MapAccess, SeqAccess, Visitor};

use super::argument::{ArgsSeed, ArgumentSeed, KwargsSeed};
use super::context::{shown, Context, Text};
use super::fields::Fields;
use super::module::{Call, ModuleReader, NodeRecord};
use super::value::described;
use crate::formats::json::VALUE;
use crate::ir::name::{is_legal_name, is_reserved_name};
use crate::ir::{Args, Argument, At, Kwargs, Meta, NodeId, Op};

/// Reads the node at `index` into its module.
pub(super) struct NodeSeed<'c, 'a> {
    pub(super) context: &'c Context<'a>,
    pub(super) module: &'c mut ModuleReader<'a>,
    pub(super) index: usize,
}

/// Settings of a leaf module: texts by name.
pub(super) type Parameters<'a> = IndexMap<&'a str, &'a str>;

/// What the keys of a node gave.
#[derive(Default)]
struct Parts<'a> {
    fields: Fields<'a>,
    op_code: Option<&'a str>,
    target: Option<&'a str>,
    name: Option<&'a str>,
    args: Option<Args>,
    kwargs: Option<Kwargs>,
    users: Option<()>,
    parameters: Option<Parameters<'a>>,
    ph_type: Option<&'a str>,
    lowering: IndexMap<&'a str, Argument>,
}

impl<'a> DeserializeSeed<'a> for NodeSeed<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for NodeSeed<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a node")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
        let NodeSeed { context, module, index } = self;
        context.at_node(index);
        let mut parts = Parts::default();
        let mut at = None;
        while let Some(key) = map.next_key_seed(Text(context))? {
            context.at_key(Some(key));
            at = at.or(context.offset(key));
            let text = Text(context);
            let argument = ArgumentSeed::new(context, Some(&module.scope));
            match key {
                "op_code" => context.once(&mut parts.op_code, map.next_value_seed(text)?)?,
                "target" => context.once(&mut parts.target, map.next_value_seed(text)?)?,
                "ph_type" => context.once(&mut parts.ph_type, map.next_value_seed(text)?)?,
                "name" => {
                    let name = map.next_value_seed(text)?;
                    context.node_is_named(name);
                    at = context.offset(name).or(at);
                    context.once(&mut parts.name, name)?;
                }
                "args" => {
                    context.begin_value(key);
                    context.once(&mut parts.args, map.next_value_seed(ArgsSeed(argument))?)?;
                }
                "kwargs" => {
                    context.begin_value(key);
                    context.once(&mut parts.kwargs, map.next_value_seed(KwargsSeed(argument))?)?;
                }
                "users" => {
                    context.once(&mut parts.users, ())?;
                    map.next_value_seed(UsersSeed(context, &mut module.users))?;
                }
                "parameters" => context.once(&mut parts.parameters, map.next_value_seed(ParametersSeed(context))?)?,
                _ if parts.fields.read(key, context, &mut map)? => {}
                _ => {
                    context.begin_value(key);
                    let value = map.next_value_seed(ArgumentSeed::new(context, None))?;
                    if parts.lowering.insert(key, value).is_some() {
                        return Err(context.fail("the key is given twice"));
                    }
                }
            }
        }
        context.at_key(None);
        let parts_name = parts.name;
        let users_end = parts.users.map(|()| module.users.len());
        let node = module.add_node(context, index, at, parts)?;
        let name = parts_name.unwrap_or_default();
        module.nodes.push(NodeRecord { node, name, at, users_end });
        Ok(())
    }
}

/// Before the number of a node whose name is not settled yet.
const UNSETTLED: &str = "_fxir_get_attr_";

const ILLEGAL_NAME: &str = "its name is no identifier, or one that Python or generated code needs";

impl<'a> ModuleReader<'a> {
    fn add_node<E: SerdeError>(
        &mut self,
        context: &Context<'a>,
        index: usize,
        at: Option<usize>,
        mut parts: Parts<'a>,
    ) -> Result<NodeId, E> {
        let missing = |key: &str| context.fail::<E>(format!("the key `{key}` is missing"));
        let name = parts.name.ok_or_else(|| missing("name"))?;
        let op_code = parts.op_code.ok_or_else(|| missing("op_code"))?;
        let target = parts.target.ok_or_else(|| missing("target"))?;
        let mut args = parts.args.ok_or_else(|| missing("args"))?;
        let kwargs = parts.kwargs.ok_or_else(|| missing("kwargs"))?;
        let op = Op::from_name(op_code)
            .ok_or_else(|| context.fail(format!("`op_code` is none of FX: {:?}", shown(op_code))))?;
        if target.contains('\0') {
            return Err(context.fail("the target has a NUL in it"));
        }
        if parts.ph_type.is_some() && op != Op::Placeholder {
            return Err(context.fail(format!("a {op_code} has no `ph_type`")));
        }
        let infos = self.scope.infos.take();
        match op {
            // Until 1.8 a tuple was not unpacked, and the output told of itself what it is.
            Op::Output if parts.users.is_none() && infos.is_empty() => args = old_output_args(args),
            Op::Output => args = output_args(args),
            _ if !infos.is_empty() => {
                return Err(context.fail("a reference to a node has keys that only references in an output have"));
            }
            Op::CallFunction if matches!(target, "_operator.getitem" | "operator.getitem") => {
                if let Some(index @ Argument::List(_)) = args.get_mut(1) {
                    make_tuple(index);
                }
            }
            _ => {}
        }

        // What reads a constant of the module above may be named as no node is otherwise: which
        // reads one is known when all of the file is. Until then it has a name that nobody wants.
        let is_settled = is_legal_name(name) && !is_reserved_name(name);
        let wanted = match is_settled {
            true => Cow::Borrowed(name),
            false if op == Op::GetAttr && name == target => Cow::Owned(format!("{UNSETTLED}{index}")),
            false => return Err(context.fail(ILLEGAL_NAME)),
        };
        let graph = &mut self.graph;
        let place = graph.last().map_or(At::Default, At::After);
        let node = graph
            .create_node(place, op, target, args, kwargs, Some(&wanted))
            .map_err(|error| context.stop(context.located(error, at)))?;
        // A legal name that no node has yet is given as it is; only one of those might be taken.
        if is_settled && name.starts_with(UNSETTLED) && graph.name(node) != name {
            return Err(context.fail(ILLEGAL_NAME));
        }
        if self.scope.names.insert(name, node).is_some() {
            return Err(context.fail("another node has the same name"));
        }

        let mut meta = Meta::default();
        if !parts.fields.is_empty() {
            meta.value = Some(parts.fields.value(context).map_err(|what| context.fail(what))?);
        }
        let symbols = context.symbols();
        if meta.value.is_none() {
            meta.value = parts.lowering.get(VALUE).and_then(|argument| described(argument, symbols)).map(Arc::new);
            if meta.value.is_some() {
                parts.lowering.shift_remove(VALUE);
            }
        }
        if let Some(ph_type) = parts.ph_type {
            meta.entries.insert(symbols.intern("ph_type"), Argument::Str(symbols.intern(ph_type)));
        }
        if !parts.lowering.is_empty() {
            let info = dict(context, parts.lowering);
            info.check().map_err(|error| context.stop(context.located(error, at)))?;
            meta.entries.insert(symbols.intern("lowering_info"), info);
        }
        self.graph.set_all_meta(node, meta).map_err(|error| context.stop(error))?;

        match (op, parts.parameters) {
            (Op::CallModule, parameters) => {
                let call = Call { index, at, parameters };
                match self.calls.get(target) {
                    None => {
                        self.calls.insert(target, call);
                    }
                    Some(known) if known.parameters == call.parameters => {}
                    Some(_) => {
                        let target = shown(target);
                        return Err(
                            context.fail(format!("`parameters` differ from those of the call of `{target}` before"))
                        );
                    }
                }
            }
            (Op::GetAttr, None) => self.gets.push((node, index)),
            (_, Some(_)) => return Err(context.fail(format!("a {op_code} has no `parameters`"))),
            (_, None) => {}
        }
        for (returned, entries) in infos {
            self.take_info(context, returned, entries).map_err(|what| {
                let name = self.graph.name(returned);
                context.fail(format!("what it tells of `{name}`: {what}"))
            })?;
        }
        Ok(node)
    }

    /// What an output tells of a node: the same as the node told of itself, or all that is known.
    fn take_info(
        &mut self,
        context: &Context<'a>,
        node: NodeId,
        entries: Vec<(&'a str, Argument)>,
    ) -> Result<(), String> {
        let symbols = context.symbols();
        let (fields, mut lowering) = Fields::from_entries(entries, symbols)?;
        let description = lowering.iter().position(|(key, _)| *key == VALUE).filter(|_| fields.is_empty());
        let told = match description.map(|at| (at, described(&lowering[at].1, symbols))) {
            Some((at, Some(told))) => {
                lowering.remove(at);
                told
            }
            _ => fields.told()?,
        };
        match self.graph[node].value() {
            Some(known) if **known == told => Ok(()),
            Some(_) => Err("the node itself tells otherwise".into()),
            None => {
                let failed = |error: crate::ir::Error| error.message;
                self.graph.set_value(node, Some(Arc::new(told))).map_err(failed)?;
                if !lowering.is_empty() {
                    self.graph.set_meta(node, "lowering_info", dict(context, lowering)).map_err(failed)?;
                }
                Ok(())
            }
        }
    }
}

fn dict<'s>(context: &Context<'_>, entries: impl IntoIterator<Item = (&'s str, Argument)>) -> Argument {
    let text = |key| Argument::Str(context.symbols().intern(key));
    Argument::Dict(entries.into_iter().map(|(key, value)| (text(key), value)).collect())
}

/// What the graph returns: a tuple of several elements stands unpacked in the file.
fn output_args(mut args: Args) -> Args {
    match args.len() {
        1 => args,
        _ => Args::from_iter([Argument::Tuple(args.drain(..).collect())]),
    }
}

/// What the graph returns where nothing is unpacked.
fn old_output_args(mut args: Args) -> Args {
    match args.as_mut_slice() {
        [single] => {
            make_tuple(single);
            args
        }
        _ => output_args(args),
    }
}

fn make_tuple(argument: &mut Argument) {
    if let Argument::List(items) = argument {
        *argument = Argument::Tuple(std::mem::take(items));
    }
}

/// Reads `users`, behind those of the nodes before.
struct UsersSeed<'c, 'a>(&'c Context<'a>, &'c mut Vec<&'a str>);

impl<'a> DeserializeSeed<'a> for UsersSeed<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'a> Visitor<'a> for UsersSeed<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of nodes")
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut seq: S) -> Result<(), S::Error> {
        while let Some(user) = seq.next_element_seed(UserSeed(self.0))? {
            self.1.push(user);
        }
        Ok(())
    }
}

/// Reads a reference to a node that comes later; its name.
struct UserSeed<'c, 'a>(&'c Context<'a>);

impl<'a> DeserializeSeed<'a> for UserSeed<'_, 'a> {
    type Value = &'a str;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<&'a str, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for UserSeed<'_, 'a> {
    type Value = &'a str;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a reference to a node")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<&'a str, M::Error> {
        let context = self.0;
        let (mut is_node, mut name) = (None, None);
        while let Some(key) = map.next_key_seed(Text(context))? {
            match key {
                "is_node" => context.once(&mut is_node, map.next_value()?)?,
                "name" => context.once(&mut name, map.next_value_seed(Text(context))?)?,
                _ => return Err(context.fail(format!("a reference to a node has no key `{}`", shown(key)))),
            }
        }
        match (is_node, name) {
            (Some(true), Some(name)) => Ok(name),
            _ => Err(context.fail("what stands here is not a reference to a node")),
        }
    }
}

/// Reads `parameters`.
struct ParametersSeed<'c, 'a>(&'c Context<'a>);

impl<'a> DeserializeSeed<'a> for ParametersSeed<'_, 'a> {
    type Value = Parameters<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Parameters<'a>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for ParametersSeed<'_, 'a> {
    type Value = Parameters<'a>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("settings by name")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<Parameters<'a>, M::Error> {
        let context = self.0;
        let mut parameters = Parameters::new();
        while let Some(key) = map.next_key_seed(Text(context))? {
            let value = map.next_value_seed(Text(context))?;
            if parameters.insert(key, value).is_some() {
                return Err(context.fail(format!("`{}` is given twice", shown(key))));
            }
        }
        Ok(parameters)
    }
}
