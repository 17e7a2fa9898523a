//! What the name of a function or method tells, and the arguments of a call.

use super::super::schema::{self, DefaultValue, Kind, Overloads, Schema};
use super::super::side_effects::{
    acts_on_the_world, Test, IMPURE_METHODS, METHODS_OF_LISTS, METHODS_OF_SETS, RANDOM_FUNCTIONS, WRITES_IF,
};
use super::receiver::Receiver;
use super::{may_be_true, Impurity};
use crate::ir::{Argument, Graph, Node, Symbols};

/// What is known of a target before its arguments are looked at.
#[derive(Clone, Copy)]
pub(super) struct Callee {
    always: Impurity,
    /// What its arguments are called.
    overloads: Option<Overloads>,
    /// It writes if all these hold.
    writes_if: Option<&'static [Test]>,
    /// It draws unless its arguments say that it does not.
    draws: bool,
    /// It is Python's, and takes `inplace` or `out` by position.
    by_position: bool,
    /// Whose method it is besides tensors'.
    also_of: Option<Container>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Container {
    /// `sort`: of what is not known it may well be one.
    List,
    /// `add`: of what is not known it is none.
    Set,
}

const ACTS: Callee = Callee {
    always: Impurity::Acts,
    overloads: None,
    writes_if: None,
    draws: false,
    by_position: false,
    also_of: None,
};
const PURE: Callee = Callee { always: Impurity::None, ..ACTS };

impl Callee {
    pub(super) fn of_method(name: &str) -> Callee {
        let in_place_dunder =
            name.starts_with("__i") && !matches!(name, "__invert__" | "__index__" | "__int__" | "__iter__");
        let overloads = schema::of_method(name);
        if ends_in_one_underscore(name)
            || in_place_dunder
            || name.starts_with("register_")
            || IMPURE_METHODS.binary_search(&name).is_ok()
            || overloads.is_some_and(acts)
        {
            return ACTS;
        }
        let also_of = match name {
            _ if METHODS_OF_LISTS.contains(&name) => Some(Container::List),
            _ if METHODS_OF_SETS.contains(&name) => Some(Container::Set),
            _ => None,
        };
        Callee { overloads, draws: overloads.is_some_and(is_random), also_of, ..PURE }
    }

    pub(super) fn of_function(name: &str) -> Callee {
        if let Some(operator) = name.strip_prefix("_operator.").or_else(|| name.strip_prefix("operator.")) {
            return if is_in_place_operator(operator) { ACTS } else { PURE };
        }
        if acts_on_the_world(name) {
            return ACTS;
        }
        if let Some(path) = name.strip_prefix("torch.ops.") {
            return Callee::of_operator(name, path);
        }
        if let Some((space, method)) = name.rsplit_once('.') {
            match space {
                "torch.Tensor" | "torch._tensor.Tensor" | "torch._C.TensorBase" | "torch._C._TensorBase" => {
                    return Callee { also_of: None, ..Callee::of_method(method) };
                }
                "builtins.list" | "builtins.dict" | "builtins.set" | "builtins.bytearray" => {
                    let callee = Callee::of_method(method);
                    return if callee.also_of.is_some() { ACTS } else { Callee { draws: false, ..callee } };
                }
                _ => {}
            }
        }
        let last = name.rsplit('.').next().unwrap_or(name);
        if ends_in_one_underscore(last) {
            return ACTS;
        }
        if !name.starts_with("torch.") {
            return PURE;
        }
        let overloads = schema::of_function(name).or_else(|| of_quantized(name, last));
        if overloads.is_some_and(acts) {
            return ACTS;
        }
        // torch's functions draw random numbers where operators of their names do.
        let operator = schema::of_operator(last);
        let draws = RANDOM_FUNCTIONS.contains(&last) || operator.is_some_and(is_random);
        let is_python_s = |schema: &Schema<'_>| !schema.name.contains("::");
        let takes = |schema: &Schema<'_>| ["inplace", "out"].iter().any(|name| schema.position(name).is_some());
        let by_position = overloads.is_some_and(|all| all.iter().any(|schema| is_python_s(schema) && takes(schema)));
        let overloads = overloads.or(operator.filter(|_| draws));
        Callee { overloads, writes_if: writes_if(last), draws, by_position, ..PURE }
    }

    fn of_operator(name: &str, path: &str) -> Callee {
        let mut parts = path.splitn(3, '.');
        let (space, operator, overload) = (parts.next(), parts.next().unwrap_or(""), parts.next().unwrap_or("default"));
        let overloads = schema::of_function(name);
        let writes = match overloads {
            Some(overloads) => acts(overloads),
            None => overload == "out" || overload.starts_with("out_") || overload.ends_with("_out"),
        };
        if writes || ends_in_one_underscore(operator) {
            return ACTS;
        }
        let draws = overloads.map_or_else(|| RANDOM_FUNCTIONS.contains(&operator), is_random);
        let writes_if = (space == Some("aten")).then(|| writes_if(operator)).flatten();
        Callee { overloads, writes_if, draws, ..PURE }
    }

    /// What a call does; of a method, on what it is called, where that is known.
    pub(super) fn judge(&self, graph: &Graph, node: &Node, receiver: Option<Receiver>) -> Impurity {
        let symbols = graph.symbols();
        if self.always == Impurity::Acts || writes_by_keyword(symbols, node) || self.changes(symbols, node, receiver) {
            return Impurity::Acts;
        }
        // Of which the arguments are not known, it may.
        let may = |does: &dyn Fn(Call<'_>) -> bool| match self.overloads {
            Some(overloads) => overloads.iter().any(|schema| does(Call { symbols, node, schema })),
            None => true,
        };
        let writes = (self.by_position && may(&|call| call.writes_by_position()))
            || self.writes_if.is_some_and(|tests| may(&|call| tests.iter().all(|test| call.holds(test))));
        match writes {
            true => Impurity::Acts,
            false if self.draws && may(&|call| call.may_draw()) => Impurity::Draws,
            false => self.always,
        }
    }

    /// Whether a method that tensors have too changes what else it may be called on.
    fn changes(&self, symbols: &Symbols, node: &Node, receiver: Option<Receiver>) -> bool {
        match (self.also_of, receiver) {
            (None, _) | (_, Some(Receiver::Tensor)) => false,
            (_, Some(Receiver::Other | Receiver::Module)) => true,
            (Some(Container::Set), None) => false,
            (Some(Container::List), None) => {
                // A list takes `key` and `reverse`, a tensor anything else.
                let is_tensors = |key: &str| !matches!(key, "key" | "reverse");
                node.args().len() < 2 && !node.kwargs().iter().any(|(key, _)| is_tensors(symbols.text(*key)))
            }
        }
    }
}

/// A call and one signature that it may have.
#[derive(Clone, Copy)]
struct Call<'a> {
    symbols: &'a Symbols,
    node: &'a Node,
    schema: &'a Schema<'static>,
}

/// What a parameter gets.
enum Given<'a> {
    Argument(&'a Argument),
    Default(&'a DefaultValue<'static>),
    /// It has to be given, and is not.
    Missing,
    /// There is no such parameter.
    Nowhere,
}

impl<'a> Call<'a> {
    fn given(&self, name: &str) -> Given<'a> {
        let by_name = self.node.kwargs().iter().find(|(key, _)| self.symbols.text(*key) == name);
        if let Some((_, value)) = by_name {
            return Given::Argument(value);
        }
        let Some(position) = self.schema.position(name) else { return Given::Nowhere };
        let Some(parameter) = self.schema.parameters.get(position) else { return Given::Nowhere };
        let is_positional = matches!(parameter.kind, Kind::PositionalOnly | Kind::PositionalOrKeyword);
        match self.node.args().get(position).filter(|_| is_positional) {
            Some(value) => Given::Argument(value),
            None => parameter.default.as_ref().map_or(Given::Missing, Given::Default),
        }
    }

    /// Functions of Python's that take `inplace` and `out` by position.
    fn writes_by_position(&self) -> bool {
        let may_write = |name: &str| match self.given(name) {
            Given::Argument(value) => may_be_true(value),
            _ => false,
        };
        may_write("inplace") || may_write("out")
    }

    fn holds(&self, test: &Test) -> bool {
        match *test {
            Test::NotFalse(name) => !self.is_off(name),
            Test::AnyGiven(names) => names.iter().any(|name| match self.given(name) {
                Given::Argument(value) => !matches!(value, Argument::None),
                Given::Default(value) => !matches!(value, DefaultValue::None),
                Given::Missing => true,
                Given::Nowhere => false,
            }),
        }
    }

    /// Whether an argument is surely False or zero. None need not be: `native_dropout` takes it as True.
    fn is_off(&self, name: &str) -> bool {
        match self.given(name) {
            Given::Argument(value) => !may_be_true(value) && !matches!(value, Argument::None),
            Given::Default(DefaultValue::Bool(false) | DefaultValue::Int(0)) => true,
            Given::Default(DefaultValue::Float(value)) => *value == 0.0,
            _ => false,
        }
    }

    fn may_draw(&self) -> bool {
        let trains = self.schema.position("train").is_some() || self.schema.position("training").is_some();
        let is_native = self.schema.name.contains("native_dropout"); // draws even when it drops nothing
        let mut deciding = ["train", "training", "dropout", "dropout_p"].into_iter();
        let drops_nothing = trains && !is_native && self.is_off("p");
        !(drops_nothing || deciding.any(|name| self.is_off(name)))
    }
}

fn writes_by_keyword(symbols: &Symbols, node: &Node) -> bool {
    node.kwargs().iter().any(|(key, value)| match symbols.text(*key) {
        "out" => !matches!(value, Argument::None),
        "inplace" => may_be_true(value),
        _ => false,
    })
}

fn writes_if(name: &str) -> Option<&'static [Test]> {
    WRITES_IF.iter().find(|(names, _)| names.contains(&name)).map(|(_, tests)| *tests)
}

/// Of quantized functions those that take `inplace` where their namesakes do.
fn of_quantized(name: &str, last: &str) -> Option<Overloads> {
    let is_one = name.ends_with(".quantized.functional.leaky_relu") || name.ends_with(".quantized.functional.hardtanh");
    is_one.then(|| schema::of_function(&format!("torch.nn.functional.{last}"))).flatten()
}

/// Whether an operator changes an argument, or returns nothing, so that it is called for something
/// else. Of an operator without its overload: whether it does when nothing is passed as `out`.
fn acts(overloads: Overloads) -> bool {
    let plain = overloads.iter().find(|schema| !schema.writes_out()).or_else(|| overloads.iter().next());
    plain.is_some_and(|schema| schema.is_mutable() || schema.returns == "()")
}

fn is_random(overloads: Overloads) -> bool {
    overloads.iter().any(|schema| schema.is_random)
}

fn ends_in_one_underscore(name: &str) -> bool {
    name.len() > 1 && name.ends_with('_') && !name.ends_with("__")
}

/// `and_`, `or_`, `not_` and `is_` end in an underscore because the bare words are Python's.
fn is_in_place_operator(name: &str) -> bool {
    match name.trim_matches('_') {
        "setitem" | "delitem" => true,
        "index" | "indexOf" | "inv" | "invert" | "is" | "is_not" | "is_none" | "is_not_none" | "itemgetter" => false,
        other => other.starts_with('i'),
    }
}
