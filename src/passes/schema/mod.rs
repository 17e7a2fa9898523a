//! What operators, functions, methods and modules may be called with: their names, defaults and
//! types as torch 2.9.1 has them (`torch.fx.operator_schemas`).
//!
//! [`of_function`], [`of_method`] and [`of_module`] find the signatures that a target has,
//! [`Overloads::choose`] the one that a call fits, and [`Schema::bind`] says what each parameter
//! gets. Nothing is read before it is asked for, and then just the lines that are needed.

mod bind;
mod choose;
mod compare;
mod default_value;
mod parse;
mod table;
mod types;

pub use bind::{BindError, Bound, BoundValue, Call};
pub use choose::{known_in, Choice, Known};
pub use compare::{have_one_form, same_arguments, Pair};
pub use default_value::DefaultValue;
pub use table::{of_function, of_method, of_module, of_operator, of_target, Overloads};

use crate::ir::{Argument, Symbols};
use rustc_hash::FxHashMap;
use types::Type;

/// How a parameter is given; Python's words (`inspect.Parameter.kind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// By position alone.
    PositionalOnly,
    /// Either way.
    PositionalOrKeyword,
    /// `*args`: what positions are left over.
    VarPositional,
    /// By name alone.
    KeywordOnly,
    /// `**kwargs`: what names are left over.
    VarKeyword,
}

/// One parameter of a [`Schema`].
#[derive(Clone, Debug)]
pub struct Parameter<'a> {
    /// Its name in a call.
    pub name: &'a str,
    /// How it is given.
    pub kind: Kind,
    /// What it gets when a call does not name it; none: every call must.
    pub default: Option<DefaultValue<'a>>,
    /// Its type as torch spells it, where it has one: `Tensor`, `SymInt[2]?`.
    pub type_text: Option<&'a str>,
    /// What it shares with what is returned, as torch spells it: `a`, `a!`, `a -> *`.
    pub alias: Option<&'a str>,
    type_: Type,
}

impl Parameter<'_> {
    /// Whether a call changes what it is given here.
    pub fn is_written(&self) -> bool {
        self.alias.is_some_and(|alias| alias.contains('!'))
    }

    /// Whether an argument is what the parameter gets anyhow: one int for a list of it, and an int
    /// where a float is meant, among them.
    pub fn is_default(&self, argument: &Argument, symbols: &Symbols) -> bool {
        self.default.as_ref().is_some_and(|default| default.is_meant_by(argument, symbols, self.type_))
    }

    fn is_variadic(&self) -> bool {
        matches!(self.kind, Kind::VarPositional | Kind::VarKeyword)
    }

    fn is_positional(&self) -> bool {
        matches!(self.kind, Kind::PositionalOnly | Kind::PositionalOrKeyword)
    }
}

/// What one callee may be called with.
#[derive(Clone, Debug)]
pub struct Schema<'a> {
    /// Its name: `aten::add.Tensor`, `torch.nn.functional.relu`.
    pub name: &'a str,
    /// In the order of positions, those without a position last.
    pub parameters: Box<[Parameter<'a>]>,
    /// What it returns as torch spells it; empty where that is not told.
    pub returns: &'a str,
    /// Whether it draws random numbers.
    pub is_random: bool,
    /// Whether tensors have a method of its name.
    pub is_method: bool,
    style: Style,
    /// Whether it takes or returns tensors.
    has_tensors: bool,
    /// Whether it writes into an argument that has only a name, as `out`.
    writes_out: bool,
    /// The one parameter that also takes its list as one int after the other: `x.view(2, 3)`.
    ints: Option<usize>,
    /// Where each name is, when there are more than one looks through.
    places: FxHashMap<&'a str, usize>,
}

/// More parameters than this are looked up.
const FEW: usize = 32;

impl<'a> Schema<'a> {
    /// The signature of something that is not torch's, say of a graph that is called.
    pub fn new(name: &'a str, parameters: impl IntoIterator<Item = (&'a str, Kind, Option<DefaultValue<'a>>)>) -> Self {
        let parameter = |(name, kind, default)| Parameter {
            name,
            kind,
            default,
            type_text: None,
            alias: None,
            type_: Type::of(None),
        };
        let parameters: Box<[Parameter<'a>]> = parameters.into_iter().map(parameter).collect();
        let mut places = FxHashMap::default();
        if parameters.len() > FEW {
            for (index, parameter) in parameters.iter().enumerate() {
                places.entry(parameter.name).or_insert(index);
            }
        }
        Schema {
            name,
            parameters,
            returns: "",
            is_random: false,
            is_method: false,
            style: Style::Python,
            has_tensors: false,
            writes_out: false,
            ints: None,
            places,
        }
    }

    /// Whether a call changes one of its arguments.
    pub fn is_mutable(&self) -> bool {
        self.parameters.iter().any(Parameter::is_written)
    }

    /// Whether it writes what it yields into an argument that has only a name, as `out`.
    pub fn writes_out(&self) -> bool {
        self.writes_out
    }

    /// The overload's name; empty for the default one.
    pub fn overload(&self) -> &'a str {
        let operator = self.name.split_once("::").map_or("", |(_, operator)| operator);
        operator.split_once('.').map_or("", |(_, overload)| overload)
    }

    /// Whether a call may name the parameter `self` `input`, as torch.fx does.
    pub fn reads_input_as_self(&self) -> bool {
        self.style == Style::Operator && !self.parameters.iter().any(|parameter| parameter.name == "input")
    }

    /// Where the parameter of a name is, torch's second names (`axis`, `keepdims`, ...) among them.
    pub fn position(&self, name: &str) -> Option<usize> {
        let find = |name: &str| match self.places.is_empty() {
            true => self.parameters.iter().position(|parameter| parameter.name == name),
            false => self.places.get(name).copied(),
        };
        find(name).or_else(|| find(second_name(self.style, name)?))
    }
}

/// Who calls: the same schema has other names in Python's functions than in `torch.ops`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// `torch.ops`: as the schema says.
    Operator,
    /// A function of torch over an operator: `self` is called `input`.
    Function,
    /// A method of tensors: `self` stands first.
    Method,
    /// Written in Python.
    Python,
}

/// What torch's functions and methods also take, as numpy spells it. Of operators `input` is read
/// as torch.fx writes it where the schema says `self`.
fn second_name(style: Style, name: &str) -> Option<&'static str> {
    match (style, name) {
        (Style::Function | Style::Method, "axis") => Some("dim"),
        (Style::Function | Style::Method, "keepdims") => Some("keepdim"),
        (Style::Function | Style::Method, "x2") => Some("other"),
        (Style::Function, "x" | "a" | "x1") => Some("input"),
        (Style::Operator, "input") => Some("self"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
