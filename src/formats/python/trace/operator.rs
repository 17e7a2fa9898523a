//! Operators: on constants they compute, on values they are recorded.

use super::constant::{self, Number};
use super::interpreter::Interpreter;
use super::value::Value;
use crate::formats::python::operators::{comparison_name, operator_name};
use crate::ir::{Argument, Op, Result};
use ruff_python_ast::{CmpOp, ExprCompare, Operator, UnaryOp};
use ruff_text_size::{Ranged, TextRange};

impl<'a> Interpreter<'a, '_> {
    pub(super) fn binary(
        &mut self,
        operator: Operator,
        left: Value<'a>,
        right: Value<'a>,
        range: TextRange,
    ) -> Result<Value<'a>> {
        let is_operand = |value: &Value<'a>| value.is_traced() || self.is_tensor_member(value);
        if is_operand(&left) || is_operand(&right) {
            // A tensor's own operator sees a value of the graph as a method's argument.
            if matches!(left, Value::Buffer(_)) {
                let method = tensor_method(operator);
                return self.record(Op::CallMethod, method, vec![left, right], Vec::new(), range);
            }
            let target = format!("_operator.{}", operator_name(operator));
            return self.record(Op::CallFunction, &target, vec![left, right], Vec::new(), range);
        }
        if let (Value::Plain(a), Value::Plain(b)) = (&left, &right) {
            if let (Argument::Str(text), Argument::Int(times)) | (Argument::Int(times), Argument::Str(text)) = (a, b) {
                if operator == Operator::Mult {
                    let (times, text) = (usize::try_from(*times).unwrap_or(0), self.symbols.text(*text).to_owned());
                    self.steps_taken(times.saturating_mul(text.len()), range)?;
                    return Ok(Value::Plain(Argument::Str(self.symbols.intern(&text.repeat(times)))));
                }
            }
            if let (Argument::Str(a), Argument::Str(b)) = (a, b) {
                self.steps_taken((self.symbols.text(*a).len() + self.symbols.text(*b).len()) / 64, range)?;
            }
            if let Some(made) = constant::binary(operator, a, b, &self.symbols) {
                return made.map(Value::Plain).map_err(|message| self.wrong(range, message));
            }
        }
        if let Some(made) = self.sequences(operator, &left, &right, range)? {
            return Ok(made);
        }
        let message = format!("`{}` of {} and {}", operator.as_str(), left.kind(), right.kind());
        Err(self.wrong(range, message))
    }

    pub(super) fn unary(&mut self, operator: UnaryOp, operand: Value<'a>, range: TextRange) -> Result<Value<'a>> {
        let name = match operator {
            UnaryOp::Not => return Ok(Value::bool(!self.truth(&operand, range)?)),
            UnaryOp::Invert => "invert",
            UnaryOp::UAdd => "pos",
            UnaryOp::USub => "neg",
        };
        if operand.is_traced() || self.is_tensor_member(&operand) {
            return self.record(Op::CallFunction, &format!("_operator.{name}"), vec![operand], Vec::new(), range);
        }
        let made = match &operand {
            Value::Plain(Argument::BigInt(digits)) if operator == UnaryOp::USub => {
                let digits = self.symbols.text(*digits);
                let negated = digits.strip_prefix('-').map_or_else(|| format!("-{digits}"), str::to_owned);
                match negated.parse() {
                    Ok(value) => Some(Argument::Int(value)),
                    Err(_) => Some(Argument::BigInt(self.symbols.intern(&negated))),
                }
            }
            Value::Plain(argument) => match (operator, Number::of(argument)) {
                (UnaryOp::USub, Some(Number::Int(value))) => value.checked_neg().map(Argument::Int),
                (UnaryOp::USub, Some(Number::Float(value))) => Some(Argument::Float(-value)),
                // What Python prints as `-5j` has 0.0 for its real part, not -0.0.
                (UnaryOp::USub, Some(Number::Complex([0.0, imag]))) => Some(Argument::Complex(Box::new([0.0, -imag]))),
                (UnaryOp::USub, Some(Number::Complex([real, imag]))) => {
                    Some(Argument::Complex(Box::new([-real, -imag])))
                }
                (UnaryOp::UAdd, Some(number)) => Some(number.argument()),
                (UnaryOp::Invert, Some(Number::Int(value))) => Some(Argument::Int(!value)),
                _ => None,
            },
            _ => None,
        };
        let message = || format!("`{}` of {}", operator.as_str(), operand.kind());
        made.map(Value::Plain).ok_or_else(|| self.wrong(range, message()))
    }

    pub(super) fn comparison(&mut self, scope: usize, comparison: &'a ExprCompare) -> Result<Value<'a>> {
        let mut left = self.expression(scope, &comparison.left)?;
        let mut made = Value::bool(true);
        for (index, (operator, right)) in comparison.ops.iter().zip(&comparison.comparators).enumerate() {
            // `a < b < c` is `a < b and b < c`.
            if index > 0 && !self.truth(&made, comparison.range)? {
                break;
            }
            let range = TextRange::new(left_start(comparison, index), right.end());
            let right = self.expression(scope, right)?;
            made = self.compare(*operator, left, right.clone(), range)?;
            left = right;
        }
        Ok(made)
    }

    pub(super) fn compare(
        &mut self,
        operator: CmpOp,
        left: Value<'a>,
        right: Value<'a>,
        range: TextRange,
    ) -> Result<Value<'a>> {
        match operator {
            CmpOp::Is | CmpOp::IsNot => {
                let same = self.is_same(&left, &right, range)?;
                return Ok(Value::bool(same == (operator == CmpOp::Is)));
            }
            CmpOp::In | CmpOp::NotIn => {
                let is_in = self.contains(&right, &left, range)?;
                return Ok(Value::bool(is_in == (operator == CmpOp::In)));
            }
            _ => {}
        }
        let is_operand = |value: &Value<'a>| value.is_traced() || self.is_tensor_member(value);
        if is_operand(&left) || is_operand(&right) {
            if matches!(left, Value::Buffer(_)) {
                let method = comparison_name(operator).unwrap_or("eq");
                return self.record(Op::CallMethod, method, vec![left, right], Vec::new(), range);
            }
            // Python turns `3 < x` around when only `x` knows how to compare.
            let (operator, args) = match is_operand(&left) {
                true => (operator, vec![left, right]),
                false => (turned(operator), vec![right, left]),
            };
            let target = format!("_operator.{}", comparison_name(operator).unwrap_or("eq"));
            return self.record(Op::CallFunction, &target, args, Vec::new(), range);
        }
        match operator {
            CmpOp::Eq | CmpOp::NotEq => {
                let equal = self.are_equal(&left, &right, range)?;
                Ok(Value::bool(equal == (operator == CmpOp::Eq)))
            }
            _ => match (&left, &right) {
                (Value::Plain(a), Value::Plain(b)) => {
                    let made = constant::compare(operator, a, b, &self.symbols).map(Value::bool);
                    let message = format!("`{}` of {} and {}", operator.as_str(), left.kind(), right.kind());
                    made.ok_or_else(|| self.wrong(range, message))
                }
                _ => self.order_of_sequences(operator, &left, &right, range),
            },
        }
    }

    /// `is`: it never looks at what a value is, so a value of the graph is no constant.
    fn is_same(&mut self, left: &Value<'a>, right: &Value<'a>, range: TextRange) -> Result<bool> {
        for value in [left, right] {
            if let Value::Member(member) = value {
                if member.module.is_none() {
                    let message = format!("whether `self.{}` is there is not known: give the module", member.path);
                    return Err(self.wrong(range, message));
                }
            }
        }
        Ok(match (left, right) {
            (Value::Plain(Argument::Node(a)), Value::Plain(Argument::Node(b))) => a == b,
            (Value::Plain(Argument::Node(_)), _) | (_, Value::Plain(Argument::Node(_))) => false,
            (Value::Plain(a), Value::Plain(b)) => a.same_literal(&self.symbols, b, &self.symbols, &mut |_, _| false),
            (Value::List(a), Value::List(b)) | (Value::Dict(a), Value::Dict(b)) => a == b,
            (Value::Attribute(a), Value::Attribute(b)) => a == b,
            (Value::Buffer(a), Value::Buffer(b)) => a == b,
            (Value::Member(a), Value::Member(b)) => a.path == b.path,
            (Value::Global(a), Value::Global(b)) => a == b,
            _ => false,
        })
    }

    /// Whether a value decides a branch this way; one of the graph cannot.
    pub(super) fn truth(&mut self, value: &Value<'a>, range: TextRange) -> Result<bool> {
        Ok(match value {
            Value::Plain(argument) => match argument {
                Argument::Node(_) | Argument::SymInt(_) => return Err(self.depends_on_value(range)),
                Argument::None => false,
                Argument::Str(text) => !self.symbols.text(*text).is_empty(),
                Argument::Bytes(bytes) => !bytes.is_empty(),
                Argument::Range(range) => range_length(range) > 0,
                other => match Number::of(other) {
                    Some(Number::Complex(parts)) => parts != [0.0, 0.0],
                    Some(number) => number.real() != Some(0.0),
                    None => true,
                },
            },
            Value::Attribute(_) | Value::Buffer(_) => return Err(self.depends_on_value(range)),
            Value::Tuple(_) | Value::List(_) => self.heap.items(value).is_some_and(|items| !items.is_empty()),
            Value::Dict(dict) => self.heap.dicts.get(*dict).is_some_and(|entries| !entries.is_empty()),
            Value::Member(member) if member.module.is_none() => {
                let message = format!("whether `self.{}` is there is not known: give the module", member.path);
                return Err(self.wrong(range, message));
            }
            Value::Member(_) | Value::Global(_) | Value::Function(_) | Value::Method(_) | Value::Slice(_) => true,
        })
    }

    /// The error of control flow that depends on a value.
    fn depends_on_value(&self, range: TextRange) -> crate::ir::Error {
        let what = self.slice(range);
        let what = what.lines().next().unwrap_or_default();
        let message = format!(
            "control flow depends on `{what}`, a value that is known only when the graph runs; \
             torch.where chooses by a value, and a wrapped function is not looked into"
        );
        self.wrong(range, message)
    }
}

/// The method of a tensor that an operator calls when the other side is a value of the graph.
fn tensor_method(operator: Operator) -> &'static str {
    match operator {
        Operator::Div => "div",
        Operator::Mod => "remainder",
        Operator::FloorDiv => "__floordiv__",
        Operator::LShift => "__lshift__",
        Operator::RShift => "__rshift__",
        Operator::BitAnd => "__and__",
        Operator::BitOr => "__or__",
        Operator::BitXor => "__xor__",
        Operator::Add | Operator::Sub | Operator::Mult | Operator::MatMult | Operator::Pow => operator_name(operator),
    }
}

fn turned(operator: CmpOp) -> CmpOp {
    match operator {
        CmpOp::Lt => CmpOp::Gt,
        CmpOp::LtE => CmpOp::GtE,
        CmpOp::Gt => CmpOp::Lt,
        CmpOp::GtE => CmpOp::LtE,
        other => other,
    }
}

fn left_start(comparison: &ExprCompare, index: usize) -> ruff_text_size::TextSize {
    match index.checked_sub(1).and_then(|before| comparison.comparators.get(before)) {
        Some(left) => left.start(),
        None => comparison.left.start(),
    }
}

/// How many ints a range has.
pub(super) fn range_length(range: &[i64; 3]) -> u64 {
    let [start, stop, step] = range.map(i128::from);
    let span = match step.signum() {
        1 => stop - start,
        -1 => start - stop,
        _ => 0,
    };
    match span > 0 {
        true => u64::try_from((span + step.abs() - 1) / step.abs()).unwrap_or(u64::MAX),
        false => 0,
    }
}
