//! Expressions: literals become arguments, operations become nodes.

use super::function::Function;
use crate::formats::python::globals;
use crate::formats::python::literal::parse_literal;
use crate::formats::python::members::Mention;
use crate::formats::python::operators::{comparison_name, operator_name};
use crate::ir::{Args, Argument, Kwargs, Op, Result};
use ruff_python_ast::{CmpOp, Expr, Number, Operator, UnaryOp};
use ruff_text_size::{Ranged, TextRange};

/// Whether an expression is one constant.
pub(super) fn flat(expression: &Expr) -> bool {
    matches!(
        expression,
        Expr::StringLiteral(_)
            | Expr::BytesLiteral(_)
            | Expr::NumberLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::EllipsisLiteral(_)
    )
}

impl Function<'_, '_> {
    /// What a statement's right side yields; its operation is a node that would like that name.
    pub(super) fn value(&mut self, expression: &Expr, name: Option<&str>) -> Result<Argument> {
        match expression {
            Expr::Call(call) => {
                let range = call.range();
                if let Some(path) = self.path_of(expression) {
                    return self.member(path, name, range);
                }
                let mut args = Args::new();
                let mut kwargs = Kwargs::new();
                let (op, target) = self.callee(&call.func, &mut args)?;
                for argument in &call.arguments.args {
                    if argument.is_starred_expr() {
                        return Err(self.wrong(argument, "a graph has no `*` in a call"));
                    }
                    let argument = self.argument(argument)?;
                    args.push(argument);
                }
                for keyword in &call.arguments.keywords {
                    match &keyword.arg {
                        Some(key) => {
                            let value = self.argument(&keyword.value)?;
                            kwargs.push((self.tree.symbols().intern(key.as_str()), value));
                        }
                        None => match self.argument(&keyword.value)? {
                            Argument::Dict(entries) => {
                                for (key, value) in entries {
                                    let Argument::Str(key) = key else {
                                        return Err(self.wrong(keyword, "a keyword is no string"));
                                    };
                                    kwargs.push((key, value));
                                }
                            }
                            _ => return Err(self.wrong(keyword, "a graph has no `**` of a value in a call")),
                        },
                    }
                }
                let node = self.create(op, &target, args, kwargs, name, range)?;
                if op == Op::CallModule {
                    self.mentions.push(Mention { path: target, is_called: true, node, at: self.at(range) });
                }
                Ok(Argument::Node(node))
            }
            Expr::BinOp(operation) => {
                let args = Args::from_iter([self.argument(&operation.left)?, self.argument(&operation.right)?]);
                self.operator(operator_name(operation.op), args, name, operation.range)
            }
            Expr::UnaryOp(operation) => {
                let args = Args::from_iter([self.argument(&operation.operand)?]);
                let operator = match operation.op {
                    UnaryOp::Invert => "invert",
                    UnaryOp::Not => "not_",
                    UnaryOp::UAdd => "pos",
                    UnaryOp::USub => "neg",
                };
                self.operator(operator, args, name, operation.range)
            }
            Expr::Compare(comparison) => {
                let ([operator], [right]) = (&*comparison.ops, &*comparison.comparators) else {
                    return Err(self.wrong(comparison, "a graph compares two values at a time"));
                };
                let (left, right) = (self.argument(&comparison.left)?, self.argument(right)?);
                match comparison_name(*operator) {
                    Some(operator) => self.operator(operator, Args::from_iter([left, right]), name, comparison.range),
                    None if *operator == CmpOp::In => {
                        self.operator("contains", Args::from_iter([right, left]), name, comparison.range)
                    }
                    None => Err(self.wrong(comparison, "a graph has no `not in`")),
                }
            }
            Expr::Subscript(subscript) => {
                let args = Args::from_iter([self.argument(&subscript.value)?, self.argument(&subscript.slice)?]);
                self.operator("getitem", args, name, subscript.range)
            }
            Expr::Attribute(attribute) => {
                if let Some(path) = self.path_of(expression) {
                    return self.member(path, name, attribute.range);
                }
                if let Some(global) = self.global(expression) {
                    return self.constant(&global, expression);
                }
                let x = self.argument(&attribute.value)?;
                let key = Argument::Str(self.tree.symbols().intern(attribute.attr.as_str()));
                let args = Args::from_iter([x, key]);
                let node =
                    self.create(Op::CallFunction, "builtins.getattr", args, Kwargs::new(), name, attribute.range)?;
                Ok(Argument::Node(node))
            }
            _ => self.argument(expression),
        }
    }

    fn operator(&mut self, operator: &str, args: Args, name: Option<&str>, range: TextRange) -> Result<Argument> {
        let target = format!("_operator.{operator}");
        let node = self.create(Op::CallFunction, &target, args, Kwargs::new(), name, range)?;
        Ok(Argument::Node(node))
    }

    /// Reads a member of the module.
    fn member(&mut self, path: String, name: Option<&str>, range: TextRange) -> Result<Argument> {
        let node = self.create(Op::GetAttr, &path, Args::new(), Kwargs::new(), name, range)?;
        self.mentions.push(Mention { path, is_called: false, node, at: self.at(range) });
        Ok(Argument::Node(node))
    }

    /// A global where a value has to stand.
    fn constant(&mut self, global: &str, part: &Expr) -> Result<Argument> {
        let message = || format!("`{global}` is no value that a graph can hold");
        globals::constant(global, self.tree.symbols()).ok_or_else(|| self.wrong(part, message()))
    }

    /// An argument: a literal, a variable, or an operation that gets a node of its own.
    pub(super) fn argument(&mut self, expression: &Expr) -> Result<Argument> {
        Ok(match expression {
            Expr::Name(name) => {
                let text = name.id.as_str();
                match text {
                    "inf" if !self.is_bound(text) => Argument::Float(f64::INFINITY),
                    "nan" if !self.is_bound(text) => Argument::Float(f64::NAN),
                    "Ellipsis" if !self.is_bound(text) => Argument::Ellipsis,
                    _ => match self.imports.names.get(text).cloned() {
                        Some(imported) if !self.is_bound(text) => self.constant(&imported, expression)?,
                        _ => self.variable(text, name.range)?,
                    },
                }
            }
            Expr::NoneLiteral(_) => Argument::None,
            Expr::BooleanLiteral(literal) => Argument::Bool(literal.value),
            Expr::EllipsisLiteral(_) => Argument::Ellipsis,
            Expr::StringLiteral(literal) => Argument::Str(self.tree.symbols().intern(literal.value.to_str())),
            Expr::BytesLiteral(literal) => {
                Argument::Bytes(literal.value.iter().flat_map(|part| part.as_slice().iter().copied()).collect())
            }
            Expr::NumberLiteral(literal) => match &literal.value {
                Number::Int(value) => match value.as_i64() {
                    Some(value) => Argument::Int(value),
                    None => match self.decimal(literal.range) {
                        Some(text) => Argument::BigInt(self.tree.symbols().intern(&text)),
                        None => return Err(self.wrong(literal, "an int of this size has to be in decimal digits")),
                    },
                },
                Number::Float(value) => Argument::Float(*value),
                Number::Complex { real, imag } => Argument::Complex(Box::new([*real, *imag])),
            },
            Expr::UnaryOp(operation) if operation.op == UnaryOp::USub => match self.negated(&operation.operand)? {
                Some(literal) => literal,
                None => self.value(expression, None)?,
            },
            Expr::BinOp(operation) => match self.complex(operation) {
                Some(literal) => literal,
                None => self.value(expression, None)?,
            },
            Expr::Tuple(tuple) => Argument::Tuple(self.items(&tuple.elts)?),
            Expr::List(list) => Argument::List(self.items(&list.elts)?),
            Expr::Dict(dict) => {
                let mut entries = thin_vec::ThinVec::with_capacity(dict.items.len());
                for item in &dict.items {
                    let Some(key) = &item.key else { return Err(self.wrong(dict, "a graph has no `**` in a dict")) };
                    entries.push((self.argument(key)?, self.argument(&item.value)?));
                }
                Argument::Dict(entries)
            }
            Expr::Slice(slice) => {
                let mut part = |part: &Option<Box<Expr>>| match part {
                    Some(part) => self.argument(part),
                    None => Ok(Argument::None),
                };
                Argument::Slice(Box::new([part(&slice.lower)?, part(&slice.upper)?, part(&slice.step)?]))
            }
            Expr::Call(call) => match self.global(&call.func).as_deref() {
                Some("builtins.slice") if call.arguments.keywords.is_empty() => {
                    let mut parts = self.items(&call.arguments.args)?.into_iter();
                    let parts = match (parts.next(), parts.next(), parts.next(), parts.next()) {
                        (Some(stop), None, None, None) => [Argument::None, stop, Argument::None],
                        (Some(start), Some(stop), step, None) => [start, stop, step.unwrap_or(Argument::None)],
                        _ => return Err(self.wrong(call, "a slice takes one to three arguments")),
                    };
                    Argument::Slice(Box::new(parts))
                }
                Some("torch.SymInt") => match &*call.arguments.args {
                    [Expr::StringLiteral(spelled)] => {
                        Argument::SymInt(self.tree.symbols().intern(spelled.value.to_str()))
                    }
                    _ => return Err(self.wrong(call, "a symbolic int is `torch.SymInt(\"s0\")`")),
                },
                Some("device" | "torch.device" | "builtins.range" | "builtins.complex") => {
                    match parse_literal(self.slice(call.range()), self.tree.symbols()) {
                        Some(literal) => literal,
                        None => self.value(expression, None)?,
                    }
                }
                _ => self.value(expression, None)?,
            },
            Expr::Attribute(_) | Expr::Subscript(_) | Expr::Compare(_) | Expr::UnaryOp(_) => {
                self.value(expression, None)?
            }
            _ => return Err(self.wrong(expression, "an expression that a graph cannot hold")),
        })
    }

    fn items(&mut self, items: &[Expr]) -> Result<thin_vec::ThinVec<Argument>> {
        items.iter().map(|item| self.argument(item)).collect()
    }

    fn decimal(&self, range: TextRange) -> Option<String> {
        let digits: String = self.slice(range).chars().filter(|&c| c != '_').collect();
        digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(digits)
    }

    /// A negative literal.
    fn negated(&mut self, operand: &Expr) -> Result<Option<Argument>> {
        Ok(match operand {
            Expr::NumberLiteral(literal) => match &literal.value {
                Number::Int(value) => match value.as_i64() {
                    Some(value) => Some(Argument::Int(-value)),
                    None => {
                        let Some(digits) = self.decimal(literal.range) else { return Ok(None) };
                        let text = format!("-{digits}");
                        Some(match text.parse() {
                            Ok(value) => Argument::Int(value),
                            Err(_) => Argument::BigInt(self.tree.symbols().intern(&text)),
                        })
                    }
                },
                Number::Float(value) => Some(Argument::Float(-value)),
                // What Python prints as `-5j` has 0.0 for its real part, not -0.0.
                Number::Complex { real, imag } => Some(Argument::Complex(Box::new([*real, -imag]))),
            },
            Expr::Name(name) if name.id == "inf" && !self.is_bound("inf") => Some(Argument::Float(f64::NEG_INFINITY)),
            Expr::Name(name) if name.id == "nan" && !self.is_bound("nan") => Some(Argument::Float(-f64::NAN)),
            _ => None,
        })
    }

    /// `1+2j`, as a literal.
    fn complex(&self, operation: &ruff_python_ast::ExprBinOp) -> Option<Argument> {
        let real = match &*operation.left {
            Expr::UnaryOp(negative) if negative.op == UnaryOp::USub => -real(&negative.operand)?,
            positive => real(positive)?,
        };
        let Expr::NumberLiteral(right) = &*operation.right else { return None };
        let Number::Complex { imag, .. } = right.value else { return None };
        match operation.op {
            Operator::Add => Some(Argument::Complex(Box::new([real, imag]))),
            Operator::Sub => Some(Argument::Complex(Box::new([real, -imag]))),
            _ => None,
        }
    }
}

fn real(expression: &Expr) -> Option<f64> {
    match expression {
        Expr::NumberLiteral(literal) => match &literal.value {
            Number::Int(value) => value.as_i64().map(|value| value as f64),
            Number::Float(value) => Some(*value),
            Number::Complex { .. } => None,
        },
        _ => None,
    }
}
