//! What expressions of traced text yield: what torch.fx would hold in Python while it traces.

use crate::ir::{Argument, ModuleId, NodeId};
use ruff_python_ast::{Expr, Parameters, Stmt, StmtClassDef};
use std::rc::Rc;

/// A value of the traced function. What holds others is in the [`Heap`], so that dropping a value
/// never recurses.
#[derive(Clone)]
pub(super) enum Value<'a> {
    /// A node, or a literal that has no items.
    Plain(Argument),
    Tuple(usize),
    List(usize),
    Dict(usize),
    Slice(usize),
    /// Something global by its qualified name: `torch.nn.functional.relu`.
    Global(Rc<str>),
    /// The module, or what it holds.
    Member(Rc<MemberValue<'a>>),
    /// A buffer or a constant tensor, by its path: each use of it reads it anew.
    Buffer(Rc<str>),
    /// An attribute of a node: a method if it is called, else a node that is made when it is needed.
    Attribute(usize),
    /// A method of a list, a dict, a string, or of a buffer.
    Method(Rc<(Value<'a>, Rc<str>)>),
    Function(Rc<Function<'a>>),
}

/// A module that the text names.
pub(super) struct MemberValue<'a> {
    /// From the module that is traced; empty for that itself.
    pub(super) path: String,
    /// What it is; None when only the text tells that there is something.
    pub(super) module: Option<ModuleId>,
    /// Its class, if that is in the text.
    pub(super) class: Option<&'a StmtClassDef>,
}

/// A function of the text.
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    pub(super) parameters: Option<&'a Parameters>,
    pub(super) body: Body<'a>,
    /// Defaults, of a function in another: they are what they were when it was defined.
    pub(super) defaults: Vec<(&'a str, Value<'a>)>,
    /// The scope that it was defined in.
    pub(super) scope: Option<usize>,
    /// The first argument of a method.
    pub(super) receiver: Option<Value<'a>>,
}

#[derive(Clone, Copy)]
pub(super) enum Body<'a> {
    Statements(&'a [Stmt]),
    Expression(&'a Expr),
}

/// An attribute of a node, as a node once it is needed.
pub(super) struct Attribute {
    pub(super) of: NodeId,
    pub(super) name: Rc<str>,
    pub(super) node: Option<Argument>,
}

/// Tuples, lists, dicts and attributes, which live as long as the trace: they may hold themselves.
#[derive(Default)]
pub(super) struct Heap<'a> {
    tuples: Vec<Rc<[Value<'a>]>>,
    slices: Vec<[Value<'a>; 3]>,
    pub(super) lists: Vec<Vec<Value<'a>>>,
    pub(super) dicts: Vec<Vec<(Value<'a>, Value<'a>)>>,
    pub(super) attributes: Vec<Attribute>,
}

impl<'a> Heap<'a> {
    pub(super) fn list(&mut self, items: Vec<Value<'a>>) -> Value<'a> {
        self.lists.push(items);
        Value::List(self.lists.len() - 1)
    }

    pub(super) fn tuple(&mut self, items: Vec<Value<'a>>) -> Value<'a> {
        self.tuples.push(items.into());
        Value::Tuple(self.tuples.len() - 1)
    }

    pub(super) fn slice(&mut self, parts: [Value<'a>; 3]) -> Value<'a> {
        self.slices.push(parts);
        Value::Slice(self.slices.len() - 1)
    }

    /// Start, stop and step; None for what is no slice.
    pub(super) fn slice_parts(&self, value: &Value<'a>) -> [Value<'a>; 3] {
        match value {
            Value::Slice(slice) => self.slices.get(*slice).cloned().unwrap_or([Value::NONE; 3]),
            _ => [Value::NONE; 3],
        }
    }

    pub(super) fn dict(&mut self, entries: Vec<(Value<'a>, Value<'a>)>) -> Value<'a> {
        self.dicts.push(entries);
        Value::Dict(self.dicts.len() - 1)
    }

    pub(super) fn attribute(&mut self, of: NodeId, name: Rc<str>) -> Value<'a> {
        self.attributes.push(Attribute { of, name, node: None });
        Value::Attribute(self.attributes.len() - 1)
    }

    /// The value that an argument stands for.
    pub(super) fn value(&mut self, argument: &Argument) -> Value<'a> {
        match argument {
            Argument::Tuple(items) => {
                let items = items.iter().map(|item| self.value(item)).collect();
                self.tuple(items)
            }
            Argument::List(items) => {
                let items = items.iter().map(|item| self.value(item)).collect();
                self.list(items)
            }
            Argument::Dict(entries) => {
                let entries = entries.iter().map(|(key, value)| (self.value(key), self.value(value))).collect();
                self.dict(entries)
            }
            Argument::Slice(parts) => {
                let [start, stop, step] = &**parts;
                let parts = [self.value(start), self.value(stop), self.value(step)];
                self.slice(parts)
            }
            plain => Value::Plain(plain.clone()),
        }
    }

    /// The items of a tuple or a list.
    pub(super) fn items(&self, value: &Value<'a>) -> Option<Vec<Value<'a>>> {
        match value {
            Value::Tuple(tuple) => self.tuples.get(*tuple).map(|items| items.to_vec()),
            Value::List(list) => self.lists.get(*list).cloned(),
            _ => None,
        }
    }
}

impl<'a> Value<'a> {
    pub(super) const NONE: Value<'static> = Value::Plain(Argument::None);

    pub(super) fn bool(value: bool) -> Value<'a> {
        Value::Plain(Argument::Bool(value))
    }

    pub(super) fn int(value: i64) -> Value<'a> {
        Value::Plain(Argument::Int(value))
    }

    /// Whether the graph has to run before it is known.
    pub(super) fn is_traced(&self) -> bool {
        matches!(self, Value::Plain(Argument::Node(_) | Argument::SymInt(_)) | Value::Attribute(_) | Value::Buffer(_))
    }

    /// Whether Python would hold a Proxy: a buffer is a tensor of its own.
    pub(super) fn is_proxy(&self) -> bool {
        matches!(self, Value::Plain(Argument::Node(_)) | Value::Attribute(_))
    }

    /// What a user would call it.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::Plain(Argument::None) => "None",
            Value::Plain(Argument::Bool(_)) => "a bool",
            Value::Plain(Argument::Int(_) | Argument::BigInt(_)) => "an int",
            Value::Plain(Argument::Float(_)) => "a float",
            Value::Plain(Argument::Str(_)) => "a str",
            Value::Plain(Argument::Range(_)) => "a range",
            Value::Plain(Argument::Node(_)) | Value::Attribute(_) => "a traced value",
            Value::Plain(_) => "a constant",
            Value::Tuple(_) => "a tuple",
            Value::List(_) => "a list",
            Value::Dict(_) => "a dict",
            Value::Slice(_) => "a slice",
            Value::Global(_) | Value::Function(_) | Value::Method(_) => "a function",
            Value::Member(_) => "a module",
            Value::Buffer(_) => "a tensor",
        }
    }
}
