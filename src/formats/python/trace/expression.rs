//! Expressions: constants are computed, operations on values are recorded.

use super::interpreter::Interpreter;
use super::value::{Body, Function, Value};
use crate::formats::python::globals;
use crate::formats::python::literal::parse_literal;
use crate::ir::{Argument, Result};
use ruff_python_ast::{
    BoolOp, Comprehension, Expr, ExprBoolOp, ExprDict, ExprFString, ExprNumberLiteral, ExprSlice, FStringPart,
    InterpolatedStringElement, Number,
};
use ruff_text_size::{Ranged, TextRange};
use std::rc::Rc;

impl<'a> Interpreter<'a, '_> {
    pub(super) fn expression(&mut self, scope: usize, expression: &'a Expr) -> Result<Value<'a>> {
        self.deeper(expression.range(), |this| this.evaluate(scope, expression))
    }

    fn evaluate(&mut self, scope: usize, expression: &'a Expr) -> Result<Value<'a>> {
        Ok(match expression {
            Expr::Name(name) => return self.name(scope, name.id.as_str(), name.range),
            Expr::Attribute(attribute) => {
                let of = self.expression(scope, &attribute.value)?;
                return self.attribute_of(&of, attribute.attr.as_str(), attribute.range);
            }
            Expr::Call(call) => return self.call_expression(scope, call),
            Expr::BinOp(operation) => {
                let left = self.expression(scope, &operation.left)?;
                let right = self.expression(scope, &operation.right)?;
                return self.binary(operation.op, left, right, operation.range);
            }
            Expr::UnaryOp(operation) => {
                let operand = self.expression(scope, &operation.operand)?;
                return self.unary(operation.op, operand, operation.range);
            }
            Expr::Compare(comparison) => return self.comparison(scope, comparison),
            Expr::BoolOp(operation) => return self.logical(scope, operation),
            Expr::If(choice) => {
                return match self.condition(scope, &choice.test)? {
                    true => self.expression(scope, &choice.body),
                    false => self.expression(scope, &choice.orelse),
                };
            }
            Expr::Subscript(subscript) => {
                let of = self.expression(scope, &subscript.value)?;
                let index = self.expression(scope, &subscript.slice)?;
                return self.item(of, index, subscript.range);
            }
            Expr::Tuple(tuple) => {
                let items = self.items(scope, &tuple.elts)?;
                self.heap.tuple(items)
            }
            Expr::List(list) => {
                let items = self.items(scope, &list.elts)?;
                self.heap.list(items)
            }
            Expr::Dict(dict) => return self.dict(scope, dict),
            Expr::Slice(slice) => return self.slice_value(scope, slice),
            Expr::NoneLiteral(_) => Value::NONE,
            Expr::BooleanLiteral(literal) => Value::bool(literal.value),
            Expr::EllipsisLiteral(_) => Value::Plain(Argument::Ellipsis),
            Expr::StringLiteral(literal) => Value::Plain(Argument::Str(self.symbols.intern(literal.value.to_str()))),
            Expr::BytesLiteral(literal) => Value::Plain(Argument::Bytes(
                literal.value.iter().flat_map(|part| part.as_slice().iter().copied()).collect(),
            )),
            Expr::NumberLiteral(literal) => return self.number(literal),
            Expr::FString(string) => return self.formatted(scope, string),
            Expr::Lambda(lambda) => {
                let parameters = lambda.parameters.as_deref();
                let defaults = self.defaults(scope, parameters)?;
                let (name, body, scope) = ("<lambda>", Body::Expression(&lambda.body), Some(scope));
                Value::Function(Rc::new(Function { name, parameters, body, defaults, scope, receiver: None }))
            }
            Expr::Named(named) => {
                let value = self.expression(scope, &named.value)?;
                self.assign(scope, &named.target, value.clone())?;
                value
            }
            Expr::ListComp(comprehension) => {
                let items = self.comprehension(scope, &comprehension.generators, &comprehension.elt)?;
                self.heap.list(items)
            }
            Expr::Generator(generator) => {
                let items = self.comprehension(scope, &generator.generators, &generator.elt)?;
                self.heap.list(items)
            }
            Expr::DictComp(comprehension) => {
                let inner = self.open_scope(Some(scope));
                let mut entries = Vec::new();
                self.generate(inner, &comprehension.generators, &mut |this, scope| {
                    let Some(key) = &comprehension.key else { return Ok(()) };
                    let key = this.expression(scope, key)?;
                    let value = this.expression(scope, &comprehension.value)?;
                    this.set_entry(&mut entries, key, value, comprehension.range)
                })?;
                self.close_scope(inner);
                self.heap.dict(entries)
            }
            Expr::Starred(starred) => return Err(self.wrong(starred, "a `*` has no place here")),
            other => return Err(self.wrong(other, "an expression that cannot be traced")),
        })
    }

    fn name(&mut self, scope: usize, name: &'a str, range: TextRange) -> Result<Value<'a>> {
        if let Some(value) = self.local(scope, name).or_else(|| self.constants.get(name).cloned()) {
            return Ok(value);
        }
        if let Some(definition) = self.program.function(name) {
            return Ok(match self.program.is_wrapped(name) || self.options.autowrap_functions.contains(name) {
                true => Value::Global(name.into()),
                false => Value::Function(Rc::new(self.function(definition, None)?)),
            });
        }
        if let Some(constant) = self.program.constant(name) {
            // Where it is used first; with names of its own.
            let outer = self.open_scope(None);
            let value = self.expression(outer, constant)?;
            self.close_scope(outer);
            self.constants.insert(name, value.clone());
            return Ok(value);
        }
        if let Some(import) = self.program.import(name) {
            return Ok(Value::Global(import.into()));
        }
        Ok(match name {
            "inf" => Value::Plain(Argument::Float(f64::INFINITY)),
            "nan" => Value::Plain(Argument::Float(f64::NAN)),
            "Ellipsis" => Value::Plain(Argument::Ellipsis),
            // What everybody has imported, and what torch prints without an import.
            "torch" | "operator" | "math" | "device" => Value::Global(name.into()),
            _ if globals::is_builtin(name) || self.program.is_wrapped(name) => Value::Global(name.into()),
            _ if ["str", "map", "zip", "filter", "iter", "type", "super", "set"].contains(&name) => {
                Value::Global(name.into())
            }
            _ if globals::target(name.to_owned()) != name => Value::Global(globals::target(name.to_owned()).into()),
            _ if self.options.more_functions => Value::Global(name.into()),
            _ => return Err(self.wrong(range, format!("the name `{name}` is not defined"))),
        })
    }

    pub(super) fn items(&mut self, scope: usize, items: &'a [Expr]) -> Result<Vec<Value<'a>>> {
        let mut made = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Expr::Starred(starred) => {
                    let rest = self.expression(scope, &starred.value)?;
                    made.extend(self.iterate(&rest, starred.range)?);
                }
                item => made.push(self.expression(scope, item)?),
            }
        }
        Ok(made)
    }

    fn dict(&mut self, scope: usize, dict: &'a ExprDict) -> Result<Value<'a>> {
        let mut entries = Vec::with_capacity(dict.items.len());
        for item in &dict.items {
            let value = self.expression(scope, &item.value)?;
            match &item.key {
                Some(key) => {
                    let key = self.expression(scope, key)?;
                    self.set_entry(&mut entries, key, value, dict.range)?;
                }
                None => {
                    let Value::Dict(other) = value else {
                        return Err(self.wrong(dict, "what follows `**` is no dict"));
                    };
                    for (key, value) in self.heap.dicts.get(other).cloned().unwrap_or_default() {
                        self.set_entry(&mut entries, key, value, dict.range)?;
                    }
                }
            }
        }
        Ok(self.heap.dict(entries))
    }

    fn slice_value(&mut self, scope: usize, slice: &'a ExprSlice) -> Result<Value<'a>> {
        let mut part = |part: &'a Option<Box<Expr>>| match part {
            Some(part) => self.expression(scope, part),
            None => Ok(Value::NONE),
        };
        let parts = [part(&slice.lower)?, part(&slice.upper)?, part(&slice.step)?];
        Ok(self.heap.slice(parts))
    }

    fn number(&mut self, literal: &ExprNumberLiteral) -> Result<Value<'a>> {
        Ok(Value::Plain(match &literal.value {
            Number::Int(value) => match value.as_i64() {
                Some(value) => Argument::Int(value),
                None => match parse_literal(self.slice(literal.range), &self.symbols) {
                    Some(argument) => argument,
                    None => return Err(self.wrong(literal, "an int of this size has to be in decimal digits")),
                },
            },
            Number::Float(value) => Argument::Float(*value),
            Number::Complex { real, imag } => Argument::Complex(Box::new([*real, *imag])),
        }))
    }

    /// `and`, `or`: the value that decides.
    fn logical(&mut self, scope: usize, operation: &'a ExprBoolOp) -> Result<Value<'a>> {
        let mut decided = Value::NONE;
        for (index, part) in operation.values.iter().enumerate() {
            decided = self.expression(scope, part)?;
            if index + 1 == operation.values.len() {
                break;
            }
            if self.truth(&decided, part.range())? == (operation.op == BoolOp::Or) {
                break;
            }
        }
        Ok(decided)
    }

    fn comprehension(
        &mut self,
        scope: usize,
        generators: &'a [Comprehension],
        element: &'a Expr,
    ) -> Result<Vec<Value<'a>>> {
        let inner = self.open_scope(Some(scope));
        let mut items = Vec::new();
        self.generate(inner, generators, &mut |this, scope| {
            items.push(this.expression(scope, element)?);
            Ok(())
        })?;
        self.close_scope(inner);
        Ok(items)
    }

    fn generate(
        &mut self,
        scope: usize,
        generators: &'a [Comprehension],
        each: &mut dyn FnMut(&mut Self, usize) -> Result<()>,
    ) -> Result<()> {
        let Some((first, rest)) = generators.split_first() else { return each(self, scope) };
        if first.is_async {
            return Err(self.wrong(first, "`async for` cannot be traced"));
        }
        let items = self.expression(scope, &first.iter)?;
        for item in self.iterate(&items, first.iter.range())? {
            self.step(first.range)?;
            self.assign(scope, &first.target, item)?;
            let mut is_in = true;
            for condition in &first.ifs {
                is_in = is_in && self.condition(scope, condition)?;
            }
            if is_in {
                self.deeper(first.range, |this| this.generate(scope, rest, each))?;
            }
        }
        Ok(())
    }

    /// An f-string. What only the running graph knows stays as it is spelled.
    fn formatted(&mut self, scope: usize, string: &'a ExprFString) -> Result<Value<'a>> {
        let mut text = String::new();
        for part in string.value.iter() {
            let part = match part {
                FStringPart::Literal(literal) => {
                    text.push_str(literal);
                    continue;
                }
                FStringPart::FString(part) => part,
            };
            for element in &part.elements {
                match element {
                    InterpolatedStringElement::Literal(literal) => text.push_str(&literal.value),
                    InterpolatedStringElement::Interpolation(inserted) => {
                        let value = self.expression(scope, &inserted.expression)?;
                        let is_plain = inserted.format_spec.is_none() && inserted.conversion.is_none();
                        match self.text_of(&value).filter(|_| is_plain) {
                            Some(shown) => text.push_str(&shown),
                            None => text.push_str(self.slice(inserted.range)),
                        }
                    }
                }
            }
        }
        self.steps_taken(text.len() / 64, string.range)?;
        Ok(Value::Plain(Argument::Str(self.symbols.intern(&text))))
    }
}
