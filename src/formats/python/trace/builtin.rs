//! Python's builtins on constants, and what becomes of them on values of the graph.

use super::call::Keywords;
use super::constant::{self, Number};
use super::interpreter::Interpreter;
use super::value::Value;
use crate::formats::python::literal::parse_literal;
use crate::ir::{Argument, Op, Result};
use ruff_python_ast::{CmpOp, Operator};
use ruff_text_size::TextRange;

impl<'a> Interpreter<'a, '_> {
    /// Calls a builtin; None when there is none of that name here.
    pub(super) fn call_builtin(
        &mut self,
        name: &str,
        args: &[Value<'a>],
        kwargs: &Keywords<'a>,
        range: TextRange,
    ) -> Result<Option<Value<'a>>> {
        let keyword = |key: &str| kwargs.iter().find(|(name, _)| &**name == key).map(|(_, value)| value.clone());
        Ok(Some(match (name, args) {
            ("len", [x]) => Value::int(self.length(x, range)?),
            ("range", _) => self.range(args, range)?,
            ("enumerate", [items, ..]) => {
                let start = args.get(1).cloned().or_else(|| keyword("start"));
                let Value::Plain(Argument::Int(start)) = start.unwrap_or(Value::int(0)) else {
                    return Err(self.wrong(range, "`enumerate` starts at an int"));
                };
                let items = self.iterate(items, range)?.into_iter().enumerate();
                let pairs: Vec<Value<'a>> = items
                    .map(|(at, item)| self.heap.tuple(vec![Value::int(start.wrapping_add(at as i64)), item]))
                    .collect();
                self.heap.list(pairs)
            }
            ("zip", _) => {
                let columns: Vec<Vec<Value<'a>>> =
                    args.iter().map(|items| self.iterate(items, range)).collect::<Result<_>>()?;
                let rows = columns.iter().map(Vec::len).min().unwrap_or(0);
                let rows: Vec<Value<'a>> = (0..rows)
                    .map(|row| self.heap.tuple(columns.iter().map(|column| column[row].clone()).collect()))
                    .collect();
                self.heap.list(rows)
            }
            ("map", [function, items]) => {
                let mut made = Vec::new();
                for item in self.iterate(items, range)? {
                    made.push(
                        self.deeper(range, |this| this.call(function.clone(), vec![item], Vec::new(), range, range))?,
                    );
                }
                self.heap.list(made)
            }
            ("list" | "iter", [items]) => {
                let items = self.iterate(items, range)?;
                self.heap.list(items)
            }
            ("list", []) => self.heap.list(Vec::new()),
            ("tuple", [items]) => {
                let items = self.iterate(items, range)?;
                self.heap.tuple(items)
            }
            ("tuple", []) => self.heap.tuple(Vec::new()),
            ("dict", [] | [_]) => {
                let mut entries = Vec::new();
                match args.first() {
                    Some(Value::Dict(other)) => entries = self.heap.dicts.get(*other).cloned().unwrap_or_default(),
                    Some(pairs) => {
                        for pair in self.iterate(pairs, range)? {
                            let [key, value] = <[Value<'a>; 2]>::try_from(self.iterate(&pair, range)?)
                                .map_err(|_| self.wrong(range, "a dict is made of pairs"))?;
                            self.set_entry(&mut entries, key, value, range)?;
                        }
                    }
                    None => {}
                }
                for (key, value) in kwargs {
                    let key = Value::Plain(Argument::Str(self.symbols.intern(key)));
                    self.set_entry(&mut entries, key, value.clone(), range)?;
                }
                self.heap.dict(entries)
            }
            ("reversed", [items]) => {
                let mut items = self.iterate(items, range)?;
                items.reverse();
                self.heap.list(items)
            }
            ("sorted", [items]) if kwargs.is_empty() => self.sorted(items, range)?,
            ("slice", [_] | [_, _] | [_, _, _]) => {
                let mut parts = args.iter().cloned();
                let parts = match args.len() {
                    1 => [Value::NONE, parts.next().unwrap_or(Value::NONE), Value::NONE],
                    _ => std::array::from_fn(|_| parts.next().unwrap_or(Value::NONE)),
                };
                self.heap.slice(parts)
            }
            ("abs", [x]) if x.is_traced() => {
                self.record(Op::CallFunction, "_operator.abs", args.to_vec(), Vec::new(), range)?
            }
            ("pow", [x, y]) => self.binary(Operator::Pow, x.clone(), y.clone(), range)?,
            ("divmod", [x, y]) if !x.is_traced() && !y.is_traced() => {
                let quotient = self.binary(Operator::FloorDiv, x.clone(), y.clone(), range)?;
                let rest = self.binary(Operator::Mod, x.clone(), y.clone(), range)?;
                self.heap.tuple(vec![quotient, rest])
            }
            ("sum", [items, ..]) => {
                let mut total = args.get(1).cloned().or_else(|| keyword("start")).unwrap_or(Value::int(0));
                for item in self.iterate(items, range)? {
                    total = self.binary(Operator::Add, total, item, range)?;
                }
                total
            }
            ("min" | "max", [_, ..]) if kwargs.is_empty() => self.extreme(name, args, range)?,
            ("any" | "all", [items]) => {
                let mut is_true = name == "all";
                for item in self.iterate(items, range)? {
                    if self.truth(&item, range)? != (name == "all") {
                        is_true = name == "any";
                        break;
                    }
                }
                Value::bool(is_true)
            }
            ("bool", [x]) => Value::bool(self.truth(x, range)?),
            ("int" | "float" | "abs" | "round" | "complex", _) if kwargs.is_empty() => {
                self.convert(name, args, range)?
            }
            ("str" | "repr", [x]) => {
                let text = self.text_of(x);
                let text =
                    text.ok_or_else(|| self.wrong(range, format!("{} has no text that is known here", x.kind())))?;
                Value::Plain(Argument::Str(self.symbols.intern(&text)))
            }
            ("isinstance", [x, types]) => Value::bool(self.is_instance(x, types, range)?),
            ("getattr", [x, Value::Plain(Argument::Str(name))] | [x, Value::Plain(Argument::Str(name)), _]) => {
                let name = self.symbols.text(*name).to_owned();
                match (self.attribute_of(x, &name, range), args.get(2)) {
                    (Err(_), Some(default)) => default.clone(),
                    (found, _) => found?,
                }
            }
            ("hasattr", [x, Value::Plain(Argument::Str(name))]) => {
                let name = self.symbols.text(*name).to_owned();
                Value::bool(self.attribute_of(x, &name, range).is_ok())
            }
            ("print", _) => Value::NONE, // prints while torch traces, and is not in the graph
            ("next" | "type" | "super" | "hash" | "callable" | "setattr" | "filter" | "set", _) => {
                return Err(self.wrong(range, format!("`{name}` cannot be traced")));
            }
            _ => return Ok(None),
        }))
    }

    fn range(&mut self, args: &[Value<'a>], range: TextRange) -> Result<Value<'a>> {
        let mut parts = Vec::with_capacity(3);
        for value in args {
            match value {
                Value::Plain(Argument::Int(part)) => parts.push(*part),
                Value::Plain(Argument::Bool(part)) => parts.push(i64::from(*part)),
                value if value.is_traced() => {
                    let message = "how far a range goes is known only when the graph runs: the loop cannot be unrolled";
                    return Err(self.wrong(range, message));
                }
                value => return Err(self.wrong(range, format!("a range of {}", value.kind()))),
            }
        }
        let parts = match parts[..] {
            [stop] => [0, stop, 1],
            [start, stop] => [start, stop, 1],
            [_, _, 0] => return Err(self.wrong(range, "a range with step 0")),
            [start, stop, step] => [start, stop, step],
            _ => return Err(self.wrong(range, "a range takes one to three ints")),
        };
        Ok(Value::Plain(Argument::Range(Box::new(parts))))
    }

    fn sorted(&mut self, items: &Value<'a>, range: TextRange) -> Result<Value<'a>> {
        let items = self.iterate(items, range)?;
        let mut constants = Vec::with_capacity(items.len());
        for item in &items {
            match item {
                Value::Plain(argument) if !item.is_traced() => constants.push(argument.clone()),
                item => return Err(self.wrong(range, format!("{} cannot be sorted", item.kind()))),
            }
        }
        let symbols = self.symbols.clone();
        let is_ordered = constants.windows(2).all(|pair| constant::order(&pair[0], &pair[1], &symbols).is_some());
        if !is_ordered {
            return Err(self.wrong(range, "these constants have no order"));
        }
        constants.sort_by(|a, b| constant::order(a, b, &symbols).unwrap_or(std::cmp::Ordering::Equal));
        let sorted = constants.into_iter().map(Value::Plain).collect();
        Ok(self.heap.list(sorted))
    }

    fn extreme(&mut self, name: &str, args: &[Value<'a>], range: TextRange) -> Result<Value<'a>> {
        let items = match args {
            [items] => self.iterate(items, range)?,
            items => items.to_vec(),
        };
        let operator = if name == "min" { CmpOp::Lt } else { CmpOp::Gt };
        let mut items = items.into_iter();
        let Some(mut best) = items.next() else { return Err(self.wrong(range, format!("`{name}` of nothing"))) };
        for item in items {
            let is_better = self.compare(operator, item.clone(), best.clone(), range)?;
            if self.truth(&is_better, range)? {
                best = item;
            }
        }
        Ok(best)
    }

    fn convert(&mut self, name: &str, args: &[Value<'a>], range: TextRange) -> Result<Value<'a>> {
        if args.iter().any(Value::is_traced) {
            let message = format!("`{name}` needs a number, and the value is known only when the graph runs");
            return Err(self.wrong(range, message));
        }
        let number = |value: &Value<'a>| match value {
            Value::Plain(argument) => Number::of(argument),
            _ => None,
        };
        let numbers: Option<Vec<Number>> = args.iter().map(number).collect();
        let whole = |value: f64| (value.is_finite() && value.abs() < 9.0e18).then_some(Argument::Int(value as i64));
        let made = match (name, numbers.as_deref()) {
            ("int", Some([Number::Int(value)])) => Some(Argument::Int(*value)),
            ("int", Some([Number::Float(value)])) => whole(value.trunc()),
            ("int", Some([])) => Some(Argument::Int(0)),
            ("float", Some([number])) => number.real().map(Argument::Float),
            ("float", Some([])) => Some(Argument::Float(0.0)),
            ("abs", Some([Number::Int(value)])) => value.checked_abs().map(Argument::Int),
            ("abs", Some([Number::Float(value)])) => Some(Argument::Float(value.abs())),
            ("round", Some([Number::Int(value)])) => Some(Argument::Int(*value)),
            ("round", Some([Number::Float(value)])) => whole(value.round_ties_even()),
            ("complex", Some([re])) => re.real().map(|re| Argument::Complex(Box::new([re, 0.0]))),
            ("complex", Some([re, im])) => match (re.real(), im.real()) {
                (Some(re), Some(im)) => Some(Argument::Complex(Box::new([re, im]))),
                _ => None,
            },
            ("int" | "float", None) => self.number_in_text(name, args),
            _ => None,
        };
        made.map(Value::Plain)
            .ok_or_else(|| self.wrong(range, format!("`{name}` of these constants is not known here")))
    }

    /// `float("inf")`, `int("3")`
    fn number_in_text(&self, name: &str, args: &[Value<'a>]) -> Option<Argument> {
        let [Value::Plain(Argument::Str(text))] = args else { return None };
        let text = self.symbols.text(*text).trim().to_ascii_lowercase();
        match name {
            "int" => text.parse().ok().map(Argument::Int),
            _ => match text.trim_start_matches(['+', '-']) {
                "inf" | "infinity" => {
                    Some(Argument::Float(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY }))
                }
                "nan" => Some(Argument::Float(f64::NAN)),
                _ => match parse_literal(&text, &self.symbols)? {
                    Argument::Int(value) => Some(Argument::Float(value as f64)),
                    float @ Argument::Float(_) => Some(float),
                    _ => None,
                },
            },
        }
    }

    /// `isinstance`, as it is while torch traces: a value of the graph is no tensor yet.
    fn is_instance(&mut self, x: &Value<'a>, types: &Value<'a>, range: TextRange) -> Result<bool> {
        if let Some(types) = self.heap.items(types) {
            for one in &types {
                if self.deeper(range, |this| this.is_instance(x, one, range))? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        let Value::Global(name) = types else {
            return Err(self.wrong(range, "a type that is not known here"));
        };
        if self.is_tensor_member(x) {
            let message = "what this member is is not known: give the module";
            return Err(self.wrong(range, message));
        }
        Ok(match (&**name, x) {
            ("int", Value::Plain(Argument::Int(_) | Argument::BigInt(_) | Argument::Bool(_))) => true,
            ("float", Value::Plain(Argument::Float(_))) => true,
            ("bool", Value::Plain(Argument::Bool(_))) => true,
            ("str", Value::Plain(Argument::Str(_))) => true,
            ("complex", Value::Plain(Argument::Complex(_))) => true,
            ("list", Value::List(_)) => true,
            ("tuple", Value::Tuple(_)) => true,
            ("dict", Value::Dict(_)) => true,
            ("numbers.Number" | "numbers.Real", Value::Plain(argument)) => Number::of(argument).is_some(),
            ("torch.Tensor", Value::Buffer(_)) => true,
            ("torch.fx.Proxy" | "torch.fx.proxy.Proxy", x) => x.is_proxy(),
            (_, Value::Member(member)) => match member.module {
                Some(module) => {
                    let of = self.type_name(module);
                    &**name == "torch.nn.Module" || of.rsplit('.').next() == name.rsplit('.').next()
                }
                None => false,
            },
            _ => false,
        })
    }
}
