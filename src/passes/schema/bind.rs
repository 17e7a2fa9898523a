//! Which argument of a call goes to which parameter, as Python binds them.

use super::{Kind, Schema};
use crate::ir::error::counted;
use crate::ir::{Argument, Error, ErrorKind, Symbol, Symbols};
use smallvec::SmallVec;
use std::fmt;

/// The arguments of a call and the table that their names are in.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The table of strings.
    pub symbols: &'a Symbols,
    /// By position.
    pub args: &'a [Argument],
    /// By name.
    pub kwargs: &'a [(Symbol, Argument)],
}

/// What one parameter gets.
#[derive(Clone, Copy, Debug)]
pub enum BoundValue<'a> {
    /// Nothing: its default holds.
    Absent,
    /// An argument.
    Given(&'a Argument),
    /// Several positional arguments: of `*args`, or ints that stand for a list.
    Items(&'a [Argument]),
}

/// What each parameter of a schema gets.
#[derive(Clone, Debug)]
pub struct Bound<'a> {
    /// In the order of the schema's parameters.
    pub values: SmallVec<[BoundValue<'a>; 8]>,
    /// What goes to `**kwargs`, in its order.
    pub extra: SmallVec<[&'a (Symbol, Argument); 1]>,
}

/// Why a call does not fit a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindError<'a> {
    /// No parameter has this name.
    Unexpected(&'a str),
    /// By position and by name, or by two names.
    Repeated(&'a str),
    /// Nothing is given, and there is no default.
    Missing(&'a str),
    /// More positional arguments than there are places.
    TooMany {
        /// Places.
        places: usize,
        /// Arguments.
        given: usize,
    },
}

impl fmt::Display for BindError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindError::Unexpected(name) => write!(f, "it has no parameter {name:?}"),
            BindError::Repeated(name) => write!(f, "the parameter {name:?} is given twice"),
            BindError::Missing(name) => write!(f, "the parameter {name:?} is missing"),
            BindError::TooMany { places, given } => {
                write!(f, "it takes {}, and {given} are given", counted(*places, "positional argument"))
            }
        }
    }
}

impl BindError<'_> {
    /// The same as an error of the library, said of a callee.
    pub fn of(self, callee: &str) -> Error {
        Error::new(ErrorKind::InvalidArgument, format!("the call does not fit {callee}: {self}"))
    }
}

impl<'s> Schema<'s> {
    /// What each parameter gets. Types are not looked at.
    pub fn bind<'a>(&'a self, call: Call<'a>) -> Result<Bound<'a>, BindError<'a>>
    where
        's: 'a,
    {
        let mut values = SmallVec::from_elem(BoundValue::Absent, self.parameters.len());
        let mut extra = SmallVec::new();
        self.bind_args(call.args, &mut values)?;
        let takes_any_name = self.parameters.last().is_some_and(|last| last.kind == Kind::VarKeyword);
        for entry in call.kwargs {
            let name = call.symbols.text(entry.0);
            let found = self
                .position(name)
                .filter(|&index| matches!(self.parameters[index].kind, Kind::PositionalOrKeyword | Kind::KeywordOnly));
            match found {
                Some(index) if matches!(values[index], BoundValue::Absent) => {
                    values[index] = BoundValue::Given(&entry.1);
                }
                Some(index) => return Err(BindError::Repeated(self.parameters[index].name)),
                None if takes_any_name => extra.push(entry),
                None => return Err(BindError::Unexpected(name)),
            }
        }
        for (parameter, value) in self.parameters.iter().zip(&values) {
            if matches!(value, BoundValue::Absent) && parameter.default.is_none() && !parameter.is_variadic() {
                return Err(BindError::Missing(parameter.name));
            }
        }
        Ok(Bound { values, extra })
    }

    fn bind_args<'a>(&'a self, args: &'a [Argument], values: &mut [BoundValue<'a>]) -> Result<(), BindError<'a>> {
        let mut places = 0;
        for (index, parameter) in self.parameters.iter().enumerate() {
            match parameter.kind {
                Kind::PositionalOnly | Kind::PositionalOrKeyword => {
                    let rest = args.get(places..).unwrap_or(&[]);
                    if self.ints == Some(index) && are_ints(rest) {
                        values[index] = BoundValue::Items(rest);
                        return Ok(());
                    }
                    if let Some(argument) = rest.first() {
                        values[index] = BoundValue::Given(argument);
                    }
                    places += 1;
                }
                Kind::VarPositional => {
                    if let Some(rest @ [_, ..]) = args.get(places..) {
                        values[index] = BoundValue::Items(rest);
                    }
                    return Ok(());
                }
                Kind::KeywordOnly | Kind::VarKeyword => {}
            }
        }
        match args.len() > places {
            true => Err(BindError::TooMany { places, given: args.len() }),
            false => Ok(()),
        }
    }
}

/// Ints one by one. A single node may be the list itself.
fn are_ints(args: &[Argument]) -> bool {
    match args {
        [] => false,
        [only] => matches!(only, Argument::Int(_) | Argument::BigInt(_) | Argument::SymInt(_)),
        more => more.iter().all(|argument| {
            matches!(argument, Argument::Int(_) | Argument::BigInt(_) | Argument::SymInt(_) | Argument::Node(_))
        }),
    }
}
