//! Calls: functions of the text are inlined, those of torch recorded, modules called or looked into.

use super::interpreter::Interpreter;
use super::statement::Flow;
use super::value::{Body, Function, MemberValue, Value};
use crate::formats::python::globals;
use crate::ir::{Argument, Op, Result};
use ruff_python_ast::{Expr, ExprCall, Parameters};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Keyword arguments in their order.
pub(super) type Keywords<'a> = Vec<(Rc<str>, Value<'a>)>;

impl<'a> Interpreter<'a, '_> {
    pub(super) fn call_expression(&mut self, scope: usize, call: &'a ExprCall) -> Result<Value<'a>> {
        let callee = match &*call.func {
            // An item of a member of which nothing is known is a module where it is called.
            Expr::Subscript(subscript) => {
                let of = self.expression(scope, &subscript.value)?;
                let index = self.expression(scope, &subscript.slice)?;
                match (&of, &index) {
                    (Value::Member(member), Value::Plain(Argument::Int(at))) if member.module.is_none() && *at >= 0 => {
                        let path = format!("{}.{at}", member.path);
                        Value::Member(Rc::new(MemberValue { path, module: None, class: None }))
                    }
                    _ => self.item(of, index, subscript.range)?,
                }
            }
            func => self.expression(scope, func)?,
        };
        let args = self.items(scope, &call.arguments.args)?;
        let mut kwargs = Keywords::with_capacity(call.arguments.keywords.len());
        for keyword in &call.arguments.keywords {
            let value = self.expression(scope, &keyword.value)?;
            match &keyword.arg {
                Some(key) => self.keyword(&mut kwargs, key.as_str().into(), value, keyword.range)?,
                None => {
                    let Value::Dict(dict) = value else {
                        return Err(self.wrong(keyword, "what follows `**` is no dict that is known here"));
                    };
                    for (key, value) in self.heap.dicts.get(dict).cloned().unwrap_or_default() {
                        let Value::Plain(Argument::Str(key)) = key else {
                            return Err(self.wrong(keyword, "a keyword is no string"));
                        };
                        let key = self.symbols.text(key).into();
                        self.keyword(&mut kwargs, key, value, keyword.range)?;
                    }
                }
            }
        }
        self.call(callee, args, kwargs, call.range(), call.func.range())
    }

    fn keyword(&self, kwargs: &mut Keywords<'a>, key: Rc<str>, value: Value<'a>, range: TextRange) -> Result<()> {
        if kwargs.iter().any(|(other, _)| *other == key) {
            return Err(self.wrong(range, format!("the keyword `{key}` is given twice")));
        }
        kwargs.push((key, value));
        Ok(())
    }

    pub(super) fn call(
        &mut self,
        callee: Value<'a>,
        mut args: Vec<Value<'a>>,
        kwargs: Keywords<'a>,
        range: TextRange,
        name: TextRange,
    ) -> Result<Value<'a>> {
        match &callee {
            Value::Function(function) => self.inline(function, args, kwargs, range),
            Value::Global(global) => self.call_global(global, args, kwargs, range),
            Value::Attribute(index) => {
                let Some(attribute) = self.heap.attributes.get(*index) else { return Ok(Value::NONE) };
                let (of, method) = (Value::Plain(Argument::Node(attribute.of)), attribute.name.clone());
                args.insert(0, of);
                self.call_value_method(&method, args, kwargs, range)
            }
            Value::Plain(Argument::Node(_)) => {
                args.insert(0, callee);
                self.record(Op::CallMethod, "__call__", args, kwargs, range)
            }
            Value::Method(method) => match &method.0 {
                Value::Buffer(path) => match self.buffer_method(path, &method.1, &args) {
                    Some(constant) => Ok(constant),
                    None => {
                        args.insert(0, method.0.clone());
                        self.record(Op::CallMethod, &method.1, args, kwargs, range)
                    }
                },
                container => self.container_method(container, &method.1, args, &kwargs, range),
            },
            Value::Member(member) => self.call_member(member, args, kwargs, range),
            _ => {
                let what = self.slice(name);
                Err(self.wrong(name, format!("`{what}` is {} and cannot be called", callee.kind())))
            }
        }
    }

    /// A method of a value of the graph; those behind operators are operators.
    fn call_value_method(
        &mut self,
        method: &str,
        args: Vec<Value<'a>>,
        kwargs: Keywords<'a>,
        range: TextRange,
    ) -> Result<Value<'a>> {
        let operator = method.strip_prefix("__").and_then(|name| name.strip_suffix("__"));
        if let Some(operator) = operator.filter(|_| kwargs.is_empty()) {
            if let Some(made) = self.call_operator(operator, &args, range)? {
                return Ok(made);
            }
        }
        self.record(Op::CallMethod, method, args, kwargs, range)
    }

    fn call_member(
        &mut self,
        member: &MemberValue<'a>,
        args: Vec<Value<'a>>,
        kwargs: Keywords<'a>,
        range: TextRange,
    ) -> Result<Value<'a>> {
        if let Some(class) = member.class.filter(|class| !self.options.autowrap_functions.contains(class.name.as_str()))
        {
            if let Some(definition) = self.program.method(class, "forward") {
                let mut function = self.function(definition, None)?;
                let MemberValue { path, module, class } = member;
                let receiver = MemberValue { path: path.clone(), module: *module, class: *class };
                function.receiver = Some(Value::Member(Rc::new(receiver)));
                return self.inline(&function, args, kwargs, range);
            }
        }
        if member.path.is_empty() {
            return Err(self.wrong(range, "the module calls itself"));
        }
        if let Some(module) = member.module {
            let type_name = self.type_name(module).rsplit('.').next().unwrap_or_default();
            let is_sequential = type_name == "Sequential" && !self.child_names(module).is_empty();
            if matches!(type_name, "ModuleList" | "ModuleDict") {
                return Err(self.wrong(range, format!("`self.{}` holds modules and is none to call", member.path)));
            }
            if is_sequential && kwargs.is_empty() {
                let mut args = args;
                for child in self.children(member, range)? {
                    args = vec![self.deeper(range, |this| this.call(child, args, Vec::new(), range, range))?];
                }
                return Ok(args.pop().unwrap_or(Value::NONE));
            }
        }
        self.record(Op::CallModule, &member.path, args, kwargs, range)
    }

    /// Runs a function of the text where it is called.
    pub(super) fn inline(
        &mut self,
        function: &Function<'a>,
        mut args: Vec<Value<'a>>,
        kwargs: Keywords<'a>,
        range: TextRange,
    ) -> Result<Value<'a>> {
        args.splice(0..0, function.receiver.clone());
        self.deeper(range, |this| {
            let scope = this.open_scope(function.scope);
            for (name, value) in &function.defaults {
                this.set(scope, name, value.clone());
            }
            if let Some(parameters) = function.parameters {
                this.bind_parameters(function.name, parameters, scope, args, kwargs, range)?;
            } else if !args.is_empty() || !kwargs.is_empty() {
                return Err(this.wrong(range, format!("`{}` takes no arguments", function.name)));
            }
            let result = match function.body {
                Body::Expression(body) => this.expression(scope, body)?,
                Body::Statements(body) => match this.block(scope, body)? {
                    Flow::Return(value) => value,
                    _ => Value::NONE,
                },
            };
            this.close_scope(scope);
            Ok(result)
        })
    }

    fn bind_parameters(
        &mut self,
        function: &str,
        parameters: &'a Parameters,
        scope: usize,
        args: Vec<Value<'a>>,
        kwargs: Keywords<'a>,
        range: TextRange,
    ) -> Result<()> {
        let mut args = args.into_iter();
        let mut kwargs: indexmap::IndexMap<Rc<str>, Value<'a>> = kwargs.into_iter().collect();
        let positional = parameters.posonlyargs.iter().map(|parameter| (parameter, true, false));
        let either = parameters.args.iter().map(|parameter| (parameter, true, true));
        let named = parameters.kwonlyargs.iter().map(|parameter| (parameter, false, true));
        for (parameter, by_position, by_name) in positional.chain(either) {
            self.bind_parameter(function, parameter, scope, &mut args, &mut kwargs, by_position, by_name, range)?;
        }
        let rest: Vec<Value<'a>> = args.by_ref().collect();
        match &parameters.vararg {
            Some(vararg) => {
                let rest = self.heap.tuple(rest);
                self.set(scope, vararg.name.as_str(), rest);
            }
            None if rest.is_empty() => {}
            None => return Err(self.wrong(range, format!("`{function}` is given {} arguments too many", rest.len()))),
        }
        for (parameter, by_position, by_name) in named {
            self.bind_parameter(function, parameter, scope, &mut args, &mut kwargs, by_position, by_name, range)?;
        }
        match &parameters.kwarg {
            Some(kwarg) => {
                let named = kwargs.into_iter();
                let named = named.map(|(key, value)| (Value::Plain(Argument::Str(self.symbols.intern(&key))), value));
                let named = named.collect();
                let named = self.heap.dict(named);
                self.set(scope, kwarg.name.as_str(), named);
            }
            None => {
                if let Some((key, _)) = kwargs.first() {
                    return Err(self.wrong(range, format!("`{function}` has no parameter `{key}`")));
                }
            }
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn bind_parameter(
        &mut self,
        function: &str,
        parameter: &'a ruff_python_ast::ParameterWithDefault,
        scope: usize,
        args: &mut impl Iterator<Item = Value<'a>>,
        kwargs: &mut indexmap::IndexMap<Rc<str>, Value<'a>>,
        by_position: bool,
        by_name: bool,
        range: TextRange,
    ) -> Result<()> {
        let name = parameter.parameter.name.as_str();
        let given = if by_position { args.next() } else { None };
        let named = if by_name { kwargs.shift_remove(name) } else { None };
        let value = match (given, named, &parameter.default) {
            (Some(_), Some(_), _) => {
                return Err(self.wrong(range, format!("`{function}` is given `{name}` twice")));
            }
            (Some(value), None, _) | (None, Some(value), _) => value,
            (None, None, Some(_)) if self.is_set(scope, name) => return Ok(()),
            (None, None, Some(default)) => {
                let outer = self.open_scope(None);
                let value = self.expression(outer, default)?;
                self.close_scope(outer);
                value
            }
            (None, None, None) => return Err(self.wrong(range, format!("`{function}` is not given `{name}`"))),
        };
        self.set(scope, name, value);
        Ok(())
    }

    fn buffer_method(&mut self, path: &str, method: &str, args: &[Value<'a>]) -> Option<Value<'a>> {
        let shape = self.buffer_constant(path, "shape")?;
        match (method, args) {
            ("size", []) => Some(shape),
            ("size", [index]) => {
                let sizes = self.heap.items(&shape)?;
                let at = self.position(index, sizes.len())?;
                sizes.get(at).cloned()
            }
            ("dim" | "ndimension", []) => self.buffer_constant(path, "ndim"),
            _ => None,
        }
    }

    pub(super) fn import(&mut self, scope: usize, statement: &'a ruff_python_ast::Stmt) {
        let mut names = FxHashMap::default();
        globals::add_imports(statement, &mut names);
        let aliases = match statement {
            ruff_python_ast::Stmt::Import(import) => &import.names,
            ruff_python_ast::Stmt::ImportFrom(import) => &import.names,
            _ => return,
        };
        for alias in aliases {
            let bound = match &alias.asname {
                Some(name) => name.as_str(),
                None => alias.name.as_str().split('.').next().unwrap_or_default(),
            };
            if let Some(whole) = names.get(bound) {
                self.set(scope, bound, Value::Global(whole.as_str().into()));
            }
        }
    }
}
