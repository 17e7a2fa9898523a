//! Arguments: what stands in `args`, `kwargs` and lowering information.

use std::cell::RefCell;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::de::{DeserializeSeed, Deserializer, Error as SerdeError, MapAccess, SeqAccess, Visitor};
use smallvec::SmallVec;

use super::context::{shown, Context, Text};
use super::encoded::decode;
use crate::formats::python::literal::parse_literal;
use crate::ir::{Args, Argument, Error, ErrorKind, Kwargs, NodeId, MAX_ARGUMENT_DEPTH};

/// What the arguments of one graph can refer to.
#[derive(Default)]
pub(super) struct Scope<'a> {
    /// The nodes so far, by the names that the file gives them.
    pub(super) names: FxHashMap<&'a str, NodeId>,
    /// What stood beside references to nodes: only an output's may have that.
    pub(super) infos: RefCell<Vec<Info<'a>>>,
}

/// What an output tells of a node that it returns.
pub(super) type Info<'a> = (NodeId, Vec<(&'a str, Argument)>);

/// Reads one argument; without a scope a plain literal, whose strings stay strings.
#[derive(Clone, Copy)]
pub(super) struct ArgumentSeed<'c, 'a> {
    pub(super) context: &'c Context<'a>,
    pub(super) scope: Option<&'c Scope<'a>>,
    /// How many more levels may open.
    depth: usize,
}

/// The object and the list that stand for a slice are one level of an argument; and a reference to a
/// node is none. What nests deeper than an argument may is refused where the argument is used.
const MAX_DEPTH: usize = 2 * MAX_ARGUMENT_DEPTH + 2;

impl<'c, 'a> ArgumentSeed<'c, 'a> {
    pub(super) fn new(context: &'c Context<'a>, scope: Option<&'c Scope<'a>>) -> Self {
        ArgumentSeed { context, scope, depth: MAX_DEPTH }
    }

    fn inner(self) -> Self {
        ArgumentSeed { depth: self.depth.saturating_sub(1), ..self }
    }

    fn too_deep<E: SerdeError>(self) -> E {
        let message = format!("an argument nests deeper than {MAX_ARGUMENT_DEPTH} levels");
        self.context.stop(Error::new(ErrorKind::Limit, message))
    }

    fn string(self, text: &str) -> Argument {
        let symbols = self.context.symbols();
        if self.scope.is_some() && text.starts_with("torch.") {
            let same = |spelled: &str| spelled == text;
            match parse_literal(text, symbols) {
                Some(Argument::Dtype(dtype)) if same(dtype.name()) => return Argument::Dtype(dtype),
                Some(Argument::Layout(s)) if same(symbols.text(s)) => return Argument::Layout(s),
                Some(Argument::MemoryFormat(s)) if same(symbols.text(s)) => return Argument::MemoryFormat(s),
                Some(Argument::Qscheme(s)) if same(symbols.text(s)) => return Argument::Qscheme(s),
                _ => {}
            }
        }
        Argument::Str(symbols.intern(text))
    }
}

impl<'a> DeserializeSeed<'a> for ArgumentSeed<'_, 'a> {
    type Value = Argument;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Argument, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for ArgumentSeed<'_, 'a> {
    type Value = Argument;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an argument")
    }

    fn visit_unit<E: SerdeError>(self) -> Result<Argument, E> {
        Ok(Argument::None)
    }

    fn visit_bool<E: SerdeError>(self, value: bool) -> Result<Argument, E> {
        Ok(Argument::Bool(value))
    }

    fn visit_i64<E: SerdeError>(self, value: i64) -> Result<Argument, E> {
        self.context.count_number();
        Ok(Argument::Int(value))
    }

    fn visit_u64<E: SerdeError>(self, value: u64) -> Result<Argument, E> {
        self.context.count_number();
        Ok(match i64::try_from(value) {
            Ok(value) => Argument::Int(value),
            Err(_) => Argument::BigInt(self.context.symbols().intern(&value.to_string())),
        })
    }

    /// serde_json gives every int that is beyond 64 bits as a float, and `-0` too.
    fn visit_f64<E: SerdeError>(self, value: f64) -> Result<Argument, E> {
        self.context.count_number();
        if value.abs() >= 9.2e18 || (value == 0.0 && value.is_sign_negative()) {
            let text = self.context.number_text().unwrap_or_default();
            let digits = text.strip_prefix('-').unwrap_or(text);
            if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return Ok(match text.parse() {
                    Ok(value) => Argument::Int(value),
                    Err(_) => Argument::BigInt(self.context.symbols().intern(text)),
                });
            }
        }
        Ok(Argument::Float(value))
    }

    fn visit_str<E: SerdeError>(self, text: &str) -> Result<Argument, E> {
        Ok(self.string(text))
    }

    fn visit_borrowed_str<E: SerdeError>(self, text: &'a str) -> Result<Argument, E> {
        match self.context.bare(text) {
            Some(value) => Ok(Argument::Float(value)),
            None => Ok(self.string(text)),
        }
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut seq: S) -> Result<Argument, S::Error> {
        if self.depth == 0 {
            return Err(self.too_deep());
        }
        let mut items = SmallVec::<[Argument; 4]>::new();
        while let Some(item) = seq.next_element_seed(self.inner())? {
            items.push(item);
        }
        // One that grew would have room for four, and giving it back leaves the memory in bits.
        Ok(Argument::List(items.into_iter().collect()))
    }

    /// A dict, a reference to a node (a dict that says so of itself), or what JSON does not have.
    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<Argument, M::Error> {
        if self.depth == 0 {
            return Err(self.too_deep());
        }
        let context = self.context;
        let mut entries: Vec<(&'a str, Argument)> = Vec::new();
        let mut is_node = false;
        let mut name: Option<&'a str> = None;
        while let Some(key) = map.next_key_seed(Text(context))? {
            if is_node && key == "name" {
                context.once(&mut name, map.next_value_seed(Text(context))?)?;
                continue;
            }
            let seed = if is_node { ArgumentSeed { scope: None, ..self.inner() } } else { self.inner() };
            let value = map.next_value_seed(seed)?;
            match value {
                Argument::Bool(true) if self.scope.is_some() && key == "is_node" && !is_node => is_node = true,
                value => entries.push((key, value)),
            }
        }
        if has_duplicate(&entries) {
            return Err(context.fail("a dict has a key twice"));
        }
        match self.scope {
            Some(scope) if is_node => self.node(scope, name, entries),
            _ => {
                if let Some(found) = decode(context, self.scope, &mut entries).map_err(|what| context.fail(what))? {
                    return Ok(found);
                }
                let symbols = context.symbols();
                let text = |key| Argument::Str(symbols.intern(key));
                Ok(Argument::Dict(entries.into_iter().map(|(key, value)| (text(key), value)).collect()))
            }
        }
    }
}

impl<'a> ArgumentSeed<'_, 'a> {
    fn node<E: SerdeError>(
        self,
        scope: &Scope<'a>,
        name: Option<&'a str>,
        mut entries: Vec<(&'a str, Argument)>,
    ) -> Result<Argument, E> {
        let context = self.context;
        let mut name = name;
        if let Some(at) = entries.iter().position(|(key, _)| *key == "name") {
            match entries.remove(at).1 {
                Argument::Str(text) => context.once(&mut name, context.symbols().text(text))?,
                _ => return Err(context.fail("the name of a node is not a string")),
            }
        }
        let name = name.ok_or_else(|| context.fail("a reference to a node has no `name`"))?;
        let node =
            scope.names.get(name).copied().ok_or_else(|| {
                context.fail(format!("it uses `{}`, and no node before it has that name", shown(name)))
            })?;
        if !entries.is_empty() {
            if entries.iter().any(|(key, value)| *key == "is_node" || value.holds_node()) {
                return Err(context.fail(format!("what is told of `{}` cannot be that", shown(name))));
            }
            scope.infos.borrow_mut().push((node, entries));
        }
        Ok(Argument::Node(node))
    }
}

fn has_duplicate(entries: &[(&str, Argument)]) -> bool {
    if entries.len() <= 8 {
        return entries.iter().enumerate().any(|(at, (key, _))| entries[..at].iter().any(|(other, _)| other == key));
    }
    let mut seen = FxHashSet::with_capacity_and_hasher(entries.len(), Default::default());
    !entries.iter().all(|(key, _)| seen.insert(*key))
}

/// Reads `args`.
pub(super) struct ArgsSeed<'c, 'a>(pub(super) ArgumentSeed<'c, 'a>);

impl<'a> DeserializeSeed<'a> for ArgsSeed<'_, 'a> {
    type Value = Args;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Args, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'a> Visitor<'a> for ArgsSeed<'_, 'a> {
    type Value = Args;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of arguments")
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut seq: S) -> Result<Args, S::Error> {
        let mut args = Args::new();
        while let Some(argument) = seq.next_element_seed(self.0)? {
            args.push(argument);
        }
        Ok(args)
    }
}

/// Reads `kwargs`. A key that comes twice is found when the node is made.
pub(super) struct KwargsSeed<'c, 'a>(pub(super) ArgumentSeed<'c, 'a>);

impl<'a> DeserializeSeed<'a> for KwargsSeed<'_, 'a> {
    type Value = Kwargs;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Kwargs, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for KwargsSeed<'_, 'a> {
    type Value = Kwargs;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("keyword arguments by name")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<Kwargs, M::Error> {
        let context = self.0.context;
        let mut kwargs = Kwargs::new();
        while let Some(key) = map.next_key_seed(Text(context))? {
            if key.contains('\0') {
                return Err(context.fail("the name of a keyword argument has a NUL in it"));
            }
            kwargs.push((context.symbols().intern(key), map.next_value_seed(self.0)?));
        }
        Ok(kwargs)
    }
}
