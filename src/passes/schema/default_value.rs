//! What a parameter gets when a call does not name it.

use super::types::{Base, Type};
use crate::ir::{Argument, Dtype, Symbols};
use std::borrow::Cow;

/// A default. It is in no table of strings: [`DefaultValue::to_argument`] makes it an argument.
#[derive(Clone, Debug)]
pub enum DefaultValue<'a> {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An int.
    Int(i64),
    /// A float.
    Float(f64),
    /// A string.
    Str(Cow<'a, str>),
    /// A dtype.
    Dtype(Dtype),
    /// A memory format, spelled `torch.contiguous_format`.
    MemoryFormat(&'static str),
    /// A list.
    List(Box<[DefaultValue<'a>]>),
    /// An argument that stands somewhere else, say at a placeholder.
    Argument(&'a Argument),
    /// There is one, and no argument spells it.
    Unspelled,
}

impl DefaultValue<'_> {
    /// The same as an argument; none where no argument spells it. One that stands somewhere else
    /// must be of the table `symbols`.
    pub fn to_argument(&self, symbols: &Symbols) -> Option<Argument> {
        Some(match self {
            DefaultValue::None => Argument::None,
            DefaultValue::Bool(value) => Argument::Bool(*value),
            DefaultValue::Int(value) => Argument::Int(*value),
            DefaultValue::Float(value) => Argument::Float(*value),
            DefaultValue::Str(text) => Argument::Str(symbols.intern(text)),
            DefaultValue::Dtype(dtype) => Argument::Dtype(*dtype),
            DefaultValue::MemoryFormat(name) => Argument::MemoryFormat(symbols.intern(name)),
            DefaultValue::List(items) => {
                Argument::List(items.iter().map(|item| item.to_argument(symbols)).collect::<Option<_>>()?)
            }
            DefaultValue::Argument(argument) => (*argument).clone(),
            DefaultValue::Unspelled => return None,
        })
    }

    /// Whether an argument is this very value, by type and value as literals are compared.
    pub fn is(&self, argument: &Argument, symbols: &Symbols) -> bool {
        match (self, argument) {
            (DefaultValue::None, Argument::None) => true,
            (DefaultValue::Bool(a), Argument::Bool(b)) => a == b,
            (DefaultValue::Int(a), Argument::Int(b)) => a == b,
            (DefaultValue::Float(a), Argument::Float(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
            (DefaultValue::Str(a), Argument::Str(b)) => a == symbols.text(*b),
            (DefaultValue::Dtype(a), Argument::Dtype(b)) => a == b,
            (DefaultValue::MemoryFormat(a), Argument::MemoryFormat(b)) => *a == symbols.text(*b),
            (DefaultValue::List(a), Argument::List(b) | Argument::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.is(b, symbols))
            }
            (DefaultValue::Argument(a), b) => a.same_literal(symbols, b, symbols, &mut |a, b| a == b),
            _ => false,
        }
    }

    /// The same for a parameter of a type: an int where a float is meant, one int for a list of it.
    pub(super) fn is_meant_by(&self, argument: &Argument, symbols: &Symbols, type_: Type) -> bool {
        match (self, argument) {
            (DefaultValue::Float(a), Argument::Int(b)) => type_.base == Base::Float && *a == *b as f64,
            (DefaultValue::List(items), Argument::Int(_)) => {
                type_.length.is_some() && !items.is_empty() && items.iter().all(|item| item.is(argument, symbols))
            }
            _ => self.is(argument, symbols),
        }
    }

    /// Whether two defaults are the same.
    pub(super) fn same(&self, other: &DefaultValue<'_>) -> bool {
        match (self, other) {
            (DefaultValue::None, DefaultValue::None) => true,
            (DefaultValue::Bool(a), DefaultValue::Bool(b)) => a == b,
            (DefaultValue::Int(a), DefaultValue::Int(b)) => a == b,
            (DefaultValue::Float(a), DefaultValue::Float(b)) => a.to_bits() == b.to_bits(),
            (DefaultValue::Str(a), DefaultValue::Str(b)) => a == b,
            (DefaultValue::Dtype(a), DefaultValue::Dtype(b)) => a == b,
            (DefaultValue::MemoryFormat(a), DefaultValue::MemoryFormat(b)) => a == b,
            (DefaultValue::List(a), DefaultValue::List(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.same(b))
            }
            _ => false,
        }
    }
}
