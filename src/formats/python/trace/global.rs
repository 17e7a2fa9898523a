//! What is global: functions that are called, and constants.

use super::call::Keywords;
use super::constant;
use super::functions::recorded;
use super::interpreter::Interpreter;
use super::value::Value;
use crate::formats::python::globals;
use crate::formats::python::operators::{comparison_of, operator_of};
use crate::ir::{Argument, Op, Result};
use ruff_python_ast::{Operator, UnaryOp};
use ruff_text_size::TextRange;

impl<'a> Interpreter<'a, '_> {
    pub(super) fn call_global(
        &mut self,
        name: &str,
        args: Vec<Value<'a>>,
        kwargs: Keywords<'a>,
        range: TextRange,
    ) -> Result<Value<'a>> {
        let target = globals::target(name.to_owned());
        if self.program.is_wrapped(name) || self.program.function(name).is_some() {
            self.wrap(name)?;
            return self.record(Op::CallFunction, &target, args, kwargs, range);
        }
        if !name.contains('.') {
            if let Some(made) = self.call_builtin(name, &args, &kwargs, range)? {
                return Ok(made);
            }
            if target.starts_with("builtins.") {
                let message = format!("`{name}` of these cannot be traced; `wrap(\"{name}\")` has the call recorded");
                return Err(self.wrong(range, message));
            }
        }
        if let Some(operator) = target.strip_prefix("_operator.").filter(|_| kwargs.is_empty()) {
            if let Some(made) = self.call_operator(operator, &args, range)? {
                return Ok(made);
            }
        }
        if let Some(function) = target.strip_prefix("math.") {
            if !args.iter().any(Value::is_traced) {
                return self.math(function, &args, range);
            }
            // torch's tracers wrap all of `math`.
            self.wrap(&format!("math_{function}"))?;
        }
        if let Some(made) = self.call_constant(&target, &args, &kwargs, range)? {
            return Ok(made);
        }
        let last = target.rsplit('.').next().unwrap_or_default();
        if target.starts_with("torch.nn.") && last.starts_with(|c: char| c.is_ascii_uppercase()) {
            let message = format!("`{target}` is made while the module runs: modules have to be members");
            return Err(self.wrong(range, message));
        }
        let Some(recorded) = recorded(&target) else {
            return self.record(Op::CallFunction, &target, args, kwargs, range);
        };
        let op = if recorded.is_method { Op::CallMethod } else { Op::CallFunction };
        match recorded.arguments(&args, &kwargs, &self.symbols, Value::Plain) {
            Some((args, named)) => {
                let named = named.into_iter().map(|(key, value)| (key.into(), value)).collect();
                self.record(op, recorded.target, args, named, range)
            }
            None => self.record(op, recorded.target, args, kwargs, range),
        }
    }

    /// The code of the graph declares the function with `wrap`.
    fn wrap(&mut self, name: &str) -> Result<()> {
        self.tracer.with_graph(|graph| {
            let wrapped = &mut graph.signature.wrapped;
            if !wrapped.iter().any(|other| other == name) {
                wrapped.push(name.to_owned());
            }
            Ok(())
        })
    }

    /// A function of Python's `operator`; None when it stays a call.
    pub(super) fn call_operator(
        &mut self,
        name: &str,
        args: &[Value<'a>],
        range: TextRange,
    ) -> Result<Option<Value<'a>>> {
        let unary = |name: &str| {
            Some(match name {
                "neg" => UnaryOp::USub,
                "pos" => UnaryOp::UAdd,
                "invert" | "inv" => UnaryOp::Invert,
                "not_" => UnaryOp::Not,
                _ => return None,
            })
        };
        match args {
            [x] => match unary(name) {
                Some(operator) => self.unary(operator, x.clone(), range).map(Some),
                None => Ok(None),
            },
            [x, y] => {
                // What works in place makes something new while torch traces: `iadd` is `add`.
                let operator = operator_of(name).or_else(|| name.strip_prefix('i').and_then(operator_of));
                match (operator, comparison_of(name), name) {
                    (Some(operator), _, _) => self.binary(operator, x.clone(), y.clone(), range).map(Some),
                    (None, Some(operator), _) => self.compare(operator, x.clone(), y.clone(), range).map(Some),
                    (None, None, "getitem") => self.item(x.clone(), y.clone(), range).map(Some),
                    (None, None, "contains") => self.contains(x, y, range).map(|is_in| Some(Value::bool(is_in))),
                    _ => Ok(None),
                }
            }
            [x, y, z] if name == "setitem" => {
                self.set_item(x.clone(), y.clone(), z.clone(), range)?;
                Ok(Some(Value::NONE))
            }
            _ => Ok(None),
        }
    }

    fn math(&mut self, function: &str, args: &[Value<'a>], range: TextRange) -> Result<Value<'a>> {
        let number = |value: &Value<'a>| match value {
            Value::Plain(argument) => constant::Number::of(argument).and_then(constant::Number::real),
            _ => None,
        };
        let product = function == "prod" && args.len() == 1;
        if let Some(items) = args.first().filter(|_| product) {
            let mut made = Value::int(1);
            for item in self.iterate(items, range)? {
                made = self.binary(Operator::Mult, made, item, range)?;
            }
            return Ok(made);
        }
        let numbers: Option<Vec<f64>> = args.iter().map(number).collect();
        match numbers.and_then(|numbers| constant::math(function, &numbers)) {
            Some(made) => {
                made.map(|number| Value::Plain(number.argument())).map_err(|message| self.wrong(range, message))
            }
            None => Err(self.wrong(range, format!("`math.{function}` of these constants is not known here"))),
        }
    }

    /// Functions whose result is a constant while torch traces.
    fn call_constant(
        &mut self,
        target: &str,
        args: &[Value<'a>],
        kwargs: &Keywords<'a>,
        range: TextRange,
    ) -> Result<Option<Value<'a>>> {
        Ok(Some(match (target, args) {
            ("torch.jit.is_scripting" | "torch.jit.is_tracing" | "torch.compiler.is_compiling", []) => {
                Value::bool(false)
            }
            ("torch.fx._symbolic_trace.is_fx_tracing", []) => Value::bool(true),
            ("torch.Size", [sizes]) => {
                let sizes = self.iterate(sizes, range)?;
                self.heap.tuple(sizes)
            }
            ("torch.device" | "device", _) if !args.iter().any(Value::is_traced) => {
                let keyword =
                    |names: &[&str]| kwargs.iter().find(|(key, _)| names.contains(&&**key)).map(|(_, value)| value);
                let name = args.first().or_else(|| keyword(&["type", "device"]));
                let index = args.get(1).or_else(|| keyword(&["index"]));
                let index = index.filter(|index| !matches!(index, Value::Plain(Argument::None)));
                let parts: Option<Vec<String>> =
                    name.into_iter().chain(index).map(|value| self.text_of(value)).collect();
                match (name, parts) {
                    (Some(_), Some(parts)) => Value::Plain(Argument::Device(self.symbols.intern(&parts.join(":")))),
                    _ => return Err(self.wrong(range, "a device is a name, and an index or none")),
                }
            }
            ("torch.SymInt", [Value::Plain(Argument::Str(spelled))]) => Value::Plain(Argument::SymInt(*spelled)),
            ("torch.finfo" | "torch.iinfo", [dtype]) => {
                let dtype =
                    self.text_of(dtype).ok_or_else(|| self.wrong(range, "a dtype has to be a constant here"))?;
                Value::Global(format!("{target}({dtype})").into())
            }
            ("torch.is_tensor", [x]) => Value::bool(matches!(x, Value::Buffer(_))),
            ("typing.cast" | "torch.jit.annotate", [_, x]) => x.clone(),
            ("torch._assert", [condition, ..]) if !condition.is_traced() => match self.truth(condition, range)? {
                true => Value::NONE,
                false => return Err(self.wrong(range, "the assertion does not hold")),
            },
            _ => return Ok(None),
        }))
    }

    pub(super) fn global_argument(&mut self, name: &str, range: TextRange) -> Result<Argument> {
        let message = || format!("`{name}` is no value that a graph can hold");
        globals::constant(name, &self.symbols).ok_or_else(|| self.wrong(range, message()))
    }
}

/// `torch.finfo(dtype).min` and the like.
pub(super) fn info(global: &str, name: &str) -> Option<Argument> {
    let dtype =
        global.strip_prefix("torch.finfo(").or_else(|| global.strip_prefix("torch.iinfo("))?.strip_suffix(')')?;
    let float = |max: f64, eps: f64, tiny: f64, bits: i64| {
        Some(match name {
            "max" => Argument::Float(max),
            "min" => Argument::Float(-max),
            "eps" => Argument::Float(eps),
            "tiny" | "smallest_normal" => Argument::Float(tiny),
            "bits" => Argument::Int(bits),
            _ => return None,
        })
    };
    let int = |min: i64, max: i64, bits: i64| {
        Some(Argument::Int(match name {
            "min" => min,
            "max" => max,
            "bits" => bits,
            _ => return None,
        }))
    };
    match dtype {
        "torch.float32" | "torch.float" => {
            float(f64::from(f32::MAX), f64::from(f32::EPSILON), f64::from(f32::MIN_POSITIVE), 32)
        }
        "torch.float64" | "torch.double" => float(f64::MAX, f64::EPSILON, f64::MIN_POSITIVE, 64),
        "torch.float16" | "torch.half" => float(65504.0, 2f64.powi(-10), 2f64.powi(-14), 16),
        "torch.bfloat16" => float(3.3895313892515355e38, 2f64.powi(-7), f64::from(f32::MIN_POSITIVE), 16),
        "torch.int64" | "torch.long" => int(i64::MIN, i64::MAX, 64),
        "torch.int32" | "torch.int" => int(i64::from(i32::MIN), i64::from(i32::MAX), 32),
        "torch.int16" | "torch.short" => int(i64::from(i16::MIN), i64::from(i16::MAX), 16),
        "torch.int8" => int(-128, 127, 8),
        "torch.uint8" => int(0, 255, 8),
        _ => None,
    }
}
