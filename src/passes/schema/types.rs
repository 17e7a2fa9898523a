//! Types of parameters, as far as they tell overloads apart.

use crate::ir::{Argument, Value};
use std::cmp::max;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Tensor,
    Int,
    Float,
    Bool,
    Scalar,
    Str,
    Dtype,
    Layout,
    Device,
    MemoryFormat,
    /// Generators, streams, type variables.
    Other,
    /// No type is told.
    Any,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Type {
    pub(super) base: Base,
    pub(super) is_list: bool,
    /// Of a list of a told length; one item may stand for it.
    pub(super) length: Option<u8>,
    is_optional: bool,
    has_optional_items: bool,
}

/// What is known of what a node yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Nothing: most nodes yield tensors.
    Nothing,
    /// A tensor.
    Tensor,
    /// A list or tuple.
    Sequence,
    /// A number.
    Number,
    /// Something else.
    Other,
}

impl Known {
    /// By what the node's meta tells.
    pub fn of(value: Option<&Value>) -> Known {
        match value {
            None => Known::Nothing,
            Some(Value::Tensor(_)) => Known::Tensor,
            Some(Value::List(_) | Value::Tuple(_)) => Known::Sequence,
            Some(Value::Scalar(_)) => Known::Number,
            Some(_) => Known::Other,
        }
    }
}

impl Type {
    /// By its text, aliases left out.
    pub(super) fn of(text: Option<&str>) -> Type {
        let Some(text) = text else {
            return Type {
                base: Base::Any,
                is_list: false,
                length: None,
                is_optional: true,
                has_optional_items: false,
            };
        };
        let (text, is_optional) = without_mark(text);
        let (item, is_list, length) = match text.strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
            Some((item, length)) => (item, true, length.parse().ok()),
            None => (text, false, None),
        };
        let (item, has_optional_items) = if is_list { without_mark(item) } else { (item, false) };
        let base = match item {
            "Tensor" => Base::Tensor,
            "int" | "SymInt" => Base::Int,
            "float" => Base::Float,
            "bool" => Base::Bool,
            "Scalar" | "complex" => Base::Scalar,
            "str" => Base::Str,
            "ScalarType" => Base::Dtype,
            "Layout" => Base::Layout,
            "Device" => Base::Device,
            "MemoryFormat" => Base::MemoryFormat,
            _ => Base::Other,
        };
        Type { base, is_list, length, is_optional, has_optional_items }
    }

    /// The type of what stands in a list of this type.
    pub(super) fn of_items(self) -> Type {
        Type { is_list: false, length: None, is_optional: self.has_optional_items, ..self }
    }

    /// Whether an argument may stand here, and how far off it is: 0 is what is meant. Node by node
    /// `known` tells what there is.
    pub(super) fn cost(&self, argument: &Argument, known: &impl Fn(&Argument) -> Known) -> Option<u32> {
        match argument {
            Argument::None => (self.is_optional || self.base == Base::Any).then_some(0),
            _ if self.base == Base::Any => Some(3),
            Argument::Node(_) => self.cost_of_node(known(argument)),
            Argument::List(items) | Argument::Tuple(items) if self.is_list => self.cost_of_items(items, known),
            Argument::Range(_) if self.is_list && self.base == Base::Int => Some(1),
            _ if self.is_list && self.length.is_none() => None,
            _ => self.cost_of_item(argument).map(|cost| cost + u32::from(self.is_list)),
        }
    }

    /// The same for a list whose items stand apart.
    pub(super) fn cost_of_items(&self, items: &[Argument], known: &impl Fn(&Argument) -> Known) -> Option<u32> {
        let item_type = self.of_items();
        items.iter().try_fold(0, |most, item| Some(max(most, item_type.cost(item, known)?)))
    }

    fn cost_of_item(&self, argument: &Argument) -> Option<u32> {
        use Argument::{BigInt, Bool, Complex, Device, Dtype, Float, Int, Layout, MemoryFormat, Str, SymInt};
        match (self.base, argument) {
            (Base::Int, Int(_) | BigInt(_) | SymInt(_))
            | (Base::Float, Float(_))
            | (Base::Bool, Bool(_))
            | (Base::Str, Str(_))
            | (Base::Dtype, Dtype(_))
            | (Base::Layout, Layout(_))
            | (Base::Device, Device(_))
            | (Base::MemoryFormat, MemoryFormat(_)) => Some(0),
            (Base::Float, Int(_) | BigInt(_) | SymInt(_))
            | (Base::Scalar, Int(_) | BigInt(_) | SymInt(_) | Float(_) | Complex(_) | Bool(_))
            | (Base::Device, Str(_)) => Some(1),
            // A number is taken for a tensor of it.
            (Base::Tensor, Int(_) | BigInt(_) | SymInt(_) | Float(_) | Complex(_) | Bool(_)) => Some(3),
            (Base::Int, Bool(_)) => Some(4),
            (Base::Dtype, Int(_)) | (Base::Other, _) => Some(5),
            _ => None,
        }
    }

    fn cost_of_node(&self, known: Known) -> Option<u32> {
        use Base::*;
        match (known, self.is_list, self.base) {
            (Known::Nothing | Known::Tensor, false, Tensor) | (Known::Sequence, true, _) => Some(0),
            (Known::Number, _, Int | Float | Bool | Scalar) if !self.is_list || self.length.is_some() => Some(1),
            (Known::Nothing, true, Tensor | Int) => Some(2),
            (Known::Nothing, _, Int | Float | Bool | Scalar | Other) => Some(3),
            (Known::Tensor, false, Scalar) | (Known::Number, false, Tensor) => Some(4),
            (Known::Tensor, _, Int | Float | Bool) if !self.is_list || self.length.is_some() => Some(5),
            (Known::Nothing, ..) | (Known::Other, _, Other) => Some(6),
            _ => None,
        }
    }
}

fn without_mark(text: &str) -> (&str, bool) {
    match text.strip_suffix('?') {
        Some(text) => (text, true),
        None => (text, false),
    }
}
