//! The state of a trace: scopes, what lives on the heap, and how far the run has got.

use super::program::{Entry, Program};
use super::statement::Flow;
use super::value::{Body, Function, Heap, MemberValue, Value};
use super::TraceOptions;
use crate::formats::python::annotation::parse_annotation;
use crate::formats::python::members::{Members, Mention};
use crate::formats::python::source::Source;
use crate::ir::{Argument, Error, ErrorKind, Kwargs, NodeId, Op, Result, Symbols};
use crate::trace::{Operation, Tracer};
use ruff_python_ast::{AnyParameterRef, Expr, Parameter, Parameters, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;

/// How many steps a trace may take: loops over constants are unrolled.
const MAX_STEPS: usize = 10_000_000;
/// How deep expressions, blocks and calls may stand in each other while the text runs.
const MAX_DEPTH: usize = 400;

pub(super) struct Interpreter<'a, 's> {
    pub(super) source: &'s Source<'s>,
    base: isize,
    pub(super) program: &'s Program<'a>,
    pub(super) options: &'s TraceOptions<'s>,
    pub(super) tracer: &'s Tracer,
    pub(super) symbols: Arc<Symbols>,
    pub(super) heap: Heap<'a>,
    scopes: Vec<Scope<'a>>,
    /// What constants at the top of the text are, once they were asked for.
    pub(super) constants: FxHashMap<&'a str, Value<'a>>,
    /// Members that the text has assigned, by their paths.
    pub(super) assigned: FxHashMap<String, Value<'a>>,
    /// Nodes that read parameters, by paths: there is one for each parameter.
    pub(super) parameters: FxHashMap<String, Argument>,
    mentions: Vec<Mention>,
    steps: usize,
    depth: usize,
}

#[derive(Default)]
struct Scope<'a> {
    names: FxHashMap<&'a str, Value<'a>>,
    parent: Option<usize>,
    /// Whether a function was defined in it, which may outlive it.
    is_captured: bool,
}

impl<'a, 's> Interpreter<'a, 's> {
    pub(super) fn new(
        source: &'s Source<'s>,
        base: isize,
        program: &'s Program<'a>,
        options: &'s TraceOptions<'s>,
        tracer: &'s Tracer,
    ) -> Self {
        Interpreter {
            source,
            base,
            program,
            options,
            tracer,
            symbols: tracer.symbols().clone(),
            heap: Heap::default(),
            scopes: Vec::new(),
            constants: FxHashMap::default(),
            assigned: FxHashMap::default(),
            parameters: FxHashMap::default(),
            mentions: Vec::new(),
            steps: 0,
            depth: 0,
        }
    }

    /// Traces the function, or the `forward` of the class.
    pub(super) fn run(&mut self, entry: Entry<'a>) -> Result<()> {
        let (function, class) = match entry {
            Entry::Function(function) => (function, None),
            Entry::Class(class) => match self.program.method(class, "forward") {
                Some(function) => (function, Some(class)),
                None => return Err(self.wrong(&class.name, "the class has no `forward`")),
            },
        };
        let scope = self.open_scope(None);
        self.inputs(function, class, scope)?;
        if let Some(returns) = &function.returns {
            let text = self.slice(returns.range()).to_owned();
            self.tracer.with_graph(|graph| {
                graph.signature.return_annotation = Some(text);
                Ok(())
            })?;
        }
        let result = match self.block(scope, &function.body)? {
            Flow::Return(value) => value,
            _ => Value::NONE,
        };
        let result = self.argument(&result, function.name.range())?;
        self.tracer.output(result).map_err(|error| self.located(error, function.name.range()))?;
        Ok(())
    }

    /// The parameters become placeholders; `self` is the module.
    fn inputs(
        &mut self,
        function: &'a StmtFunctionDef,
        class: Option<&'a ruff_python_ast::StmtClassDef>,
        scope: usize,
    ) -> Result<()> {
        for (index, parameter) in function.parameters.iter().enumerate() {
            let name = parameter.name().as_str();
            if index == 0 && (class.is_some() || name == "self") {
                let module = self.options.members.map(|(_, root)| root);
                let module = MemberValue { path: String::new(), module, class };
                self.set(scope, name, Value::Member(Rc::new(module)));
                continue;
            }
            let default = match parameter.default() {
                Some(default) => {
                    let value = self.expression(scope, default)?;
                    let value = self.argument(&value, default.range())?;
                    if value.holds_node() {
                        return Err(self.wrong(default, "the default of an input has to be a constant"));
                    }
                    Some(value)
                }
                None => None,
            };
            let stars = match &parameter {
                AnyParameterRef::NonVariadic(_) => "",
                AnyParameterRef::Variadic(_)
                    if function.parameters.kwarg.as_ref().is_some_and(|kwarg| kwarg.name.as_str() == name) =>
                {
                    "**"
                }
                AnyParameterRef::Variadic(_) => "*",
            };
            let made = self.tracer.placeholder(&format!("{stars}{name}"), default);
            let node = made.map_err(|error| self.located(error, parameter.range()))?;
            self.annotate(node, parameter.as_parameter())?;
            self.set(scope, name, Value::Plain(Argument::Node(node)));
        }
        Ok(())
    }

    fn annotate(&mut self, node: NodeId, parameter: &Parameter) -> Result<()> {
        let Some(annotation) = &parameter.annotation else { return Ok(()) };
        let text = match &**annotation {
            Expr::StringLiteral(literal) => literal.value.to_str(),
            other => self.slice(other.range()),
        };
        self.tracer.with_graph(|graph| match parse_annotation(text) {
            Some(value) => graph.set_value(node, Some(Arc::new(value))),
            None => graph.set_type_annotation(node, Some(text)),
        })
    }

    /// Gives the module the members that its graph names.
    pub(super) fn add_members(&mut self) -> Result<()> {
        let mut mentions = std::mem::take(&mut self.mentions);
        let (source, like) = (self.source, self.options.members);
        self.tracer.with_module(|tree, module| {
            if let Some((known, root)) = like {
                // Rewrites name members too.
                let graph = tree.graph(module)?;
                let named = graph.nodes().filter(|&node| matches!(graph[node].op(), Op::CallModule | Op::GetAttr));
                let known = named.filter(|&node| known.resolve(root, graph.target(node)).is_some());
                mentions.extend(known.map(|node| Mention {
                    path: graph.target(node).to_owned(),
                    is_called: graph[node].op() == Op::CallModule,
                    node,
                    at: 0,
                }));
            }
            Members { source, like }.add(tree, module, mentions)
        })
    }

    /// Records an operation.
    pub(super) fn record(
        &mut self,
        op: Op,
        target: &str,
        args: Vec<Value<'a>>,
        kwargs: Vec<(Rc<str>, Value<'a>)>,
        range: TextRange,
    ) -> Result<Value<'a>> {
        let args = args.iter().map(|value| self.argument(value, range)).collect::<Result<_>>()?;
        let mut named = Kwargs::new();
        for (key, value) in &kwargs {
            named.push((self.symbols.intern(key), self.argument(value, range)?));
        }
        let operation = Operation { op, target: target.to_owned(), args, kwargs: named, name: None };
        let made = self.tracer.record(operation).map_err(|error| self.located(error, range))?;
        if let (Argument::Node(node), Op::CallModule | Op::GetAttr) = (&made, op) {
            let is_called = op == Op::CallModule;
            self.mentions.push(Mention { path: target.to_owned(), is_called, node: *node, at: self.at(range) });
        }
        Ok(self.heap.value(&made))
    }

    /// The argument that a value is where an operation takes it.
    pub(super) fn argument(&mut self, value: &Value<'a>, range: TextRange) -> Result<Argument> {
        self.step(range)?;
        self.depth += 1;
        let made = match self.depth > MAX_DEPTH {
            true => Err(self.limit(range, "an argument holds itself, or nests too deep")),
            false => self.make_argument(value, range),
        };
        self.depth -= 1;
        made
    }

    fn make_argument(&mut self, value: &Value<'a>, range: TextRange) -> Result<Argument> {
        Ok(match value {
            Value::Plain(argument) => argument.clone(),
            Value::Tuple(_) => {
                let items = self.heap.items(value).unwrap_or_default();
                Argument::Tuple(items.iter().map(|item| self.argument(item, range)).collect::<Result<_>>()?)
            }
            Value::List(_) => {
                let items = self.heap.items(value).unwrap_or_default();
                Argument::List(items.iter().map(|item| self.argument(item, range)).collect::<Result<_>>()?)
            }
            Value::Dict(dict) => {
                let entries = self.heap.dicts.get(*dict).cloned().unwrap_or_default();
                let entry = |(key, value): &(Value<'a>, Value<'a>)| {
                    Ok((self.argument(key, range)?, self.argument(value, range)?))
                };
                Argument::Dict(entries.iter().map(entry).collect::<Result<_>>()?)
            }
            Value::Slice(_) => {
                let [start, stop, step] = &self.heap.slice_parts(value);
                let parts = [self.argument(start, range)?, self.argument(stop, range)?, self.argument(step, range)?];
                Argument::Slice(Box::new(parts))
            }
            Value::Buffer(path) => self.get_attr(path, range)?,
            Value::Attribute(index) => self.attribute_node(*index, range)?,
            Value::Member(member) => self.member_argument(member, range)?,
            Value::Global(name) => self.global_argument(name, range)?,
            Value::Function(function) => {
                let message = format!("the function `{}` is no value that a graph can hold", function.name);
                return Err(self.wrong(range, message));
            }
            Value::Method(method) => {
                return Err(self.wrong(range, format!("the method `{}` is not called", method.1)));
            }
        })
    }

    /// The node that reads an attribute of another, made the first time that it is needed.
    fn attribute_node(&mut self, index: usize, range: TextRange) -> Result<Argument> {
        let Some(attribute) = self.heap.attributes.get(index) else { return Ok(Argument::None) };
        if let Some(made) = &attribute.node {
            return Ok(made.clone());
        }
        let (of, name) = (Argument::Node(attribute.of), Argument::Str(self.symbols.intern(&attribute.name)));
        let args = vec![Value::Plain(of), Value::Plain(name)];
        let made = self.record(Op::CallFunction, "builtins.getattr", args, Vec::new(), range)?;
        let made = self.argument(&made, range)?;
        if let Some(attribute) = self.heap.attributes.get_mut(index) {
            attribute.node = Some(made.clone());
        }
        Ok(made)
    }

    /// Runs one level deeper.
    pub(super) fn deeper<T>(&mut self, range: TextRange, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.step(range)?;
        self.depth += 1;
        let result = match self.depth > MAX_DEPTH {
            true => Err(self.limit(range, "the text runs too deep: calls in calls, or a function that calls itself")),
            false => run(self),
        };
        self.depth -= 1;
        result
    }

    /// Counts what is done.
    pub(super) fn step(&mut self, range: TextRange) -> Result<()> {
        self.steps_taken(1, range)
    }

    pub(super) fn steps_taken(&mut self, steps: usize, range: TextRange) -> Result<()> {
        self.steps = self.steps.saturating_add(steps);
        match self.steps > MAX_STEPS {
            true => Err(self.limit(range, "the text runs too long: a loop goes on and on")),
            false => Ok(()),
        }
    }

    pub(super) fn open_scope(&mut self, parent: Option<usize>) -> usize {
        self.scopes.push(Scope { parent, ..Scope::default() });
        self.scopes.len() - 1
    }

    /// Frees a scope that is over, unless a function may still look into it.
    pub(super) fn close_scope(&mut self, scope: usize) {
        if scope + 1 == self.scopes.len() && !self.scopes[scope].is_captured {
            self.scopes.pop();
        }
    }

    /// A function of the text as a value. `scope` is where it is defined, if that is in another.
    pub(super) fn function(&mut self, definition: &'a StmtFunctionDef, scope: Option<usize>) -> Result<Function<'a>> {
        let parameters = Some(&*definition.parameters);
        let (name, body) = (definition.name.as_str(), Body::Statements(&definition.body));
        let defaults = scope.map_or(Ok(Vec::new()), |scope| self.defaults(scope, parameters))?;
        Ok(Function { name, parameters, body, defaults, scope, receiver: None })
    }

    /// What the defaults of a function are that is defined in a scope, which it looks into from now on.
    pub(super) fn defaults(
        &mut self,
        scope: usize,
        parameters: Option<&'a Parameters>,
    ) -> Result<Vec<(&'a str, Value<'a>)>> {
        self.capture(scope);
        let mut defaults = Vec::new();
        for parameter in parameters.into_iter().flat_map(Parameters::iter) {
            if let Some(default) = parameter.default() {
                defaults.push((parameter.name().as_str(), self.expression(scope, default)?));
            }
        }
        Ok(defaults)
    }

    fn capture(&mut self, scope: usize) {
        let mut at = Some(scope);
        while let Some(scope) = at.and_then(|at| self.scopes.get_mut(at)).filter(|scope| !scope.is_captured) {
            scope.is_captured = true;
            at = scope.parent;
        }
    }

    pub(super) fn set(&mut self, scope: usize, name: &'a str, value: Value<'a>) {
        if let Some(scope) = self.scopes.get_mut(scope) {
            scope.names.insert(name, value);
        }
    }

    /// Whether a name is bound in this very scope.
    pub(super) fn is_set(&self, scope: usize, name: &str) -> bool {
        self.scopes.get(scope).is_some_and(|scope| scope.names.contains_key(name))
    }

    pub(super) fn unset(&mut self, scope: usize, name: &str) -> bool {
        self.scopes.get_mut(scope).is_some_and(|scope| scope.names.remove(name).is_some())
    }

    /// What a name is bound to in a scope or those around it.
    pub(super) fn local(&self, scope: usize, name: &str) -> Option<Value<'a>> {
        let mut at = Some(scope);
        while let Some(scope) = at.and_then(|at| self.scopes.get(at)) {
            if let Some(value) = scope.names.get(name) {
                return Some(value.clone());
            }
            at = scope.parent;
        }
        None
    }

    /// Where a part of the syntax tree stands in the source.
    pub(super) fn at(&self, range: TextRange) -> usize {
        usize::try_from(self.base + range.start().to_u32() as isize).unwrap_or(0)
    }

    pub(super) fn slice(&self, range: TextRange) -> &'s str {
        let end = usize::try_from(self.base + range.end().to_u32() as isize).unwrap_or(0);
        self.source.text.get(self.at(range)..end).unwrap_or_default()
    }

    pub(super) fn wrong(&self, part: impl Ranged, message: impl AsRef<str>) -> Error {
        self.source.error(self.at(part.range()), message.as_ref())
    }

    pub(super) fn located(&self, error: Error, range: TextRange) -> Error {
        match error.kind {
            // What a rewrite says is the caller's own.
            ErrorKind::Callback(_) => error,
            _ => self.source.located(error, self.at(range)),
        }
    }

    fn limit(&self, range: TextRange, message: &str) -> Error {
        self.source.located(Error::new(ErrorKind::Limit, message), self.at(range))
    }
}
