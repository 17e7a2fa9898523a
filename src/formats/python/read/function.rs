//! One function on its way to becoming a graph: its parameters, its statements, the names it binds.

use super::bindings::Bindings;
use crate::formats::python::annotation::parse_annotation;
use crate::formats::python::globals::is_size_symbol;
use crate::formats::python::members::Mention;
use crate::formats::python::source::Source;
use crate::formats::python::stack_trace;
use crate::ir::{Args, Argument, At, Error, Graph, Kwargs, ModuleId, ModuleTree, Name, NodeId, Op};
use crate::ir::{RecentSymbols, Result, Symbol, Value};
use ruff_python_ast::{Expr, Parameter, Parameters};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::OnceCell;
use std::sync::Arc;

/// What a reader knows beside the text of the function.
#[derive(Default)]
pub(super) struct Imports {
    /// From a name in the text to what it is: `F` to `torch.nn.functional`.
    pub(super) names: FxHashMap<String, String>,
}

pub(super) struct Function<'f, 't> {
    pub(super) source: &'f Source<'t>,
    pub(super) imports: &'f Imports,
    pub(super) tree: &'f mut ModuleTree,
    pub(super) module: ModuleId,
    pub(super) mentions: Vec<Mention>,
    /// What variables stand for.
    pub(super) names: Bindings,
    recent: RecentSymbols,
    /// Nodes that were used before the statement that makes them, and where.
    awaited: FxHashMap<Name, (NodeId, usize)>,
    /// Parameters by the names that the text has for them, as long as no statement names their nodes.
    pub(super) parameters: FxHashMap<Name, NodeId>,
    trace: Option<Symbol>,
    trace_key: Symbol,
    values: FxHashMap<String, Option<Arc<Value>>>,
    pub(super) pytree: Option<(String, Vec<String>)>,
    /// What the module is called.
    pub(super) receiver: String,
    /// Where the function begins in the source.
    start: usize,
    /// All names that statements of the function bind, once somebody asks.
    assigned: OnceCell<FxHashSet<&'f str>>,
    /// Where the parsed text begins in the source, less where it begins in what was parsed.
    base: isize,
}

impl<'f, 't> Function<'f, 't> {
    pub(super) fn new(
        source: &'f Source<'t>,
        imports: &'f Imports,
        tree: &'f mut ModuleTree,
        module: ModuleId,
    ) -> Self {
        let trace_key = tree.symbols().intern("stack_trace");
        Function {
            source,
            imports,
            tree,
            module,
            mentions: Vec::new(),
            names: Bindings::default(),
            recent: RecentSymbols::default(),
            awaited: FxHashMap::default(),
            parameters: FxHashMap::default(),
            trace: None,
            trace_key,
            values: FxHashMap::default(),
            pytree: None,
            receiver: "self".to_owned(),
            start: 0,
            assigned: OnceCell::new(),
            base: 0,
        }
    }

    /// Continues a graph that is there: its nodes are known by their names.
    pub(super) fn resume(&mut self) -> Result<()> {
        let graph = self.tree.graph(self.module)?;
        for node in graph.nodes() {
            self.names.insert(graph[node].name(), Argument::Node(node));
        }
        Ok(())
    }

    /// Says where in the source its `def` stands.
    pub(super) fn begin(&mut self, start: usize) {
        self.start = start;
    }

    pub(super) fn set_base(&mut self, base: isize) {
        self.base = base;
    }

    pub(super) fn graph(&mut self) -> Result<&mut Graph> {
        self.tree.graph_mut(self.module)
    }

    /// Where a part of the syntax tree stands in the source.
    pub(super) fn at(&self, part: impl Ranged) -> usize {
        usize::try_from(self.base + part.range().start().to_u32() as isize).unwrap_or(0)
    }

    pub(super) fn slice(&self, range: TextRange) -> &str {
        let start = usize::try_from(self.base + range.start().to_u32() as isize).unwrap_or(0);
        let end = usize::try_from(self.base + range.end().to_u32() as isize).unwrap_or(0);
        self.source.text.get(start..end).unwrap_or_default()
    }

    pub(super) fn wrong(&self, part: impl Ranged, message: impl AsRef<str>) -> Error {
        self.source.error(self.at(part), message.as_ref())
    }

    /// A comment: the stack trace of what follows.
    pub(super) fn comment(&mut self, text: &str) {
        let text = text.trim_start_matches('#').trim();
        let symbols = self.tree.symbols();
        if let Some(mut trace) = stack_trace::from_summary(text) {
            // Told again, it is another trace with the same last frame.
            if self.trace.is_some_and(|before| symbols.text(before) == trace) {
                trace.push('\n');
            }
            self.trace = Some(symbols.intern(&trace));
        } else if text.is_empty() {
            self.trace = Some(symbols.intern(stack_trace::UNREADABLE));
        } else if text == "No stacktrace found for following nodes" {
            self.trace = None;
        }
    }

    /// `name(parameters) -> returns`; `is_method` when the first parameter is the module.
    pub(super) fn signature(
        &mut self,
        parameters: &Parameters,
        returns: Option<&Expr>,
        function: TextRange,
    ) -> Result<()> {
        if let Some(returns) = returns {
            let text = self.slice(returns.range()).to_owned();
            self.graph()?.signature.return_annotation = Some(text);
        }
        let plain = parameters.posonlyargs.iter().chain(&parameters.args);
        for (at, parameter) in plain.enumerate() {
            let name = parameter.parameter.name.as_str();
            if at == 0 && is_receiver(name, self.slice(function)) {
                self.receiver = name.to_owned();
                continue;
            }
            self.parameter("", &parameter.parameter, parameter.default.as_deref())?;
        }
        if let Some(rest) = &parameters.vararg {
            self.parameter("*", rest, None)?;
        }
        for parameter in &parameters.kwonlyargs {
            self.parameter("", &parameter.parameter, parameter.default.as_deref())?;
        }
        if let Some(rest) = &parameters.kwarg {
            self.parameter("**", rest, None)?;
        }
        let whole = TextRange::new(function.start(), parameters.range.end());
        self.pytree = Some((self.slice(whole).to_owned(), Vec::new()));
        Ok(())
    }

    fn parameter(&mut self, stars: &str, parameter: &Parameter, default: Option<&Expr>) -> Result<()> {
        let name = parameter.name.as_str();
        let args: Args = default.map(|default| self.argument(default)).transpose()?.into_iter().collect();
        let target = format!("{stars}{name}");
        let node = self.create(Op::Placeholder, &target, args, Kwargs::new(), Some(name), parameter.range)?;
        if let Some(annotation) = &parameter.annotation {
            self.annotate(node, annotation)?;
        }
        let key = self.key(name);
        self.names.insert(key, Argument::Node(node));
        self.parameters.insert(key, node);
        Ok(())
    }

    /// Makes a node where the text has got to. `name` is the variable that it is bound to.
    pub(super) fn create(
        &mut self,
        op: Op,
        target: &str,
        args: Args,
        kwargs: Kwargs,
        name: Option<&str>,
        range: TextRange,
    ) -> Result<NodeId> {
        let symbols = self.tree.symbols().clone();
        let awaited = match name {
            Some(name) if !self.awaited.is_empty() && op != Op::Output => {
                self.awaited.remove(&Name::new(&symbols, name))
            }
            _ => None,
        };
        let (trace, key) = (self.trace, self.trace_key);
        let graph = self.tree.graph_mut(self.module)?;
        let made = match awaited {
            Some((node, _)) => graph.fulfil(node, op, target, args, kwargs).map(|()| node),
            None => {
                // Placeholders stay where they stand, and statements may stand behind the output.
                let at = graph.last().map_or(At::Default, At::After);
                graph.create_node(at, op, target, args, kwargs, name)
            }
        };
        let node = made.map_err(|error| self.source.located(error, self.at(range)))?;
        if let (Some(trace), false) = (trace, matches!(op, Op::Placeholder | Op::Output)) {
            self.graph()?.set_entry(node, key, Argument::Str(trace))?;
        }
        Ok(node)
    }

    pub(super) fn annotate(&mut self, node: NodeId, annotation: &Expr) -> Result<()> {
        let text = match annotation {
            Expr::StringLiteral(literal) => literal.value.to_str(),
            other => self.slice(other.range()),
        };
        let value = match self.values.get(text) {
            Some(value) => value.clone(),
            None => {
                let (text, value) = (text.to_owned(), parse_annotation(text).map(Arc::new));
                self.values.insert(text, value.clone());
                value
            }
        };
        match value {
            Some(value) => self.graph()?.set_value(node, Some(value)),
            None => {
                let spelled = self.slice(annotation.range()).to_owned();
                self.graph()?.set_type_annotation(node, Some(&spelled))
            }
        }
    }

    pub(super) fn key(&mut self, name: &str) -> Name {
        Name::recent(&mut self.recent, self.tree.symbols(), name)
    }

    /// What a name stands for. One that is not bound yet is a node that comes later, if at all.
    pub(super) fn variable(&mut self, name: &str, range: TextRange) -> Result<Argument> {
        let key = self.key(name);
        if let Some(bound) = self.names.get(&key) {
            return Ok(bound.clone());
        }
        let graph = self.tree.graph_mut(self.module)?;
        let at = graph.last().map_or(At::Default, At::After);
        let node = graph
            .create_node(at, Op::CallFunction, "?", Args::new(), Kwargs::new(), Some(name))
            .map_err(|error| self.source.located(error, self.at(range)))?;
        self.awaited.insert(key, (node, self.at(range)));
        self.names.insert(key, Argument::Node(node));
        Ok(Argument::Node(node))
    }

    /// Whether a name is bound to a node, or a parameter.
    pub(super) fn is_bound(&self, name: &str) -> bool {
        Name::find(self.tree.symbols(), name).is_some_and(|key| self.names.contains_key(&key))
    }

    /// Whether a name is bound to a node, or will be: only then is `name.f(x)` a call of a method.
    pub(super) fn is_variable(&self, name: &str) -> bool {
        const GLOBALS: [&str; 3] = ["torch", "operator", "math"];
        !GLOBALS.contains(&name)
            && (self.is_bound(name)
                || self.assigned.get_or_init(|| assigned_names(&self.source.text, self.start)).contains(name))
    }

    pub(super) fn bind(&mut self, name: &str, value: Argument) {
        let key = self.key(name);
        self.names.insert(key, value);
    }

    /// The text is at its end: every name that was used must be bound by now.
    pub(super) fn bound(mut self) -> Result<Vec<Mention>> {
        self.size_symbols()?;
        let first = self.awaited.iter().min_by_key(|(_, (_, at))| *at);
        if let Some((name, (_, at))) = first {
            let message = format!("the name `{}` is not defined", name.text(self.tree.symbols()));
            return Err(self.source.error(*at, &message));
        }
        Ok(self.mentions)
    }

    /// Names that nothing binds and that are those of symbolic sizes are symbolic ints.
    fn size_symbols(&mut self) -> Result<()> {
        let symbols = self.tree.symbols().clone();
        let mut sizes = FxHashMap::default();
        self.awaited.retain(|name, (node, _)| {
            let text = name.text(&symbols);
            let is_size = is_size_symbol(text);
            if is_size {
                sizes.insert(*node, Argument::SymInt(symbols.intern(text)));
            }
            !is_size
        });
        for &node in sizes.keys() {
            let graph = self.graph()?;
            let users: Vec<NodeId> = graph.users(node).collect();
            for user in users {
                let mut args: Args = graph[user].args().iter().cloned().collect();
                let mut kwargs: Kwargs = graph[user].kwargs().iter().cloned().collect();
                let mut symint = |node| sizes.get(&node).cloned();
                let all = args.iter_mut().chain(kwargs.iter_mut().map(|(_, argument)| argument));
                for argument in all {
                    argument.replace_nodes(&mut symint);
                }
                graph.set_args(user, args)?;
                graph.set_kwargs(user, kwargs)?;
            }
            graph.erase_node(node)?;
        }
        Ok(())
    }

    /// The function is at its end; one that returns nothing returns None.
    pub(super) fn finish(mut self) -> Result<Vec<Mention>> {
        let graph = self.graph()?;
        if graph.output_node().is_none() {
            graph.output(Argument::None)?;
        }
        self.bound()
    }
}

/// Whether the first parameter of a function is the module: `self`, with underscores where torch's own
/// method needs that name for something else.
fn is_receiver(parameter: &str, function: &str) -> bool {
    let rest = parameter.strip_prefix("self");
    rest.is_some_and(|rest| rest.is_empty() || (function == "forward" && rest.bytes().all(|byte| byte == b'_')))
}

/// The names that stand before a `=` or a `:` at the beginning of a statement, from the line at `start`
/// to the next function or class.
fn assigned_names(text: &str, start: usize) -> FxHashSet<&str> {
    let mut lines = text.get(start..).unwrap_or_default().lines().map(str::trim_start);
    let header = lines.next();
    let body = lines.take_while(|line| !line.starts_with("def ") && !line.starts_with("class "));
    let name = |statement: &str| -> Option<usize> {
        let end = statement.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
        let rest = statement[end..].trim_start();
        let is_bound = rest.starts_with(':') || (rest.starts_with('=') && !rest.starts_with("=="));
        (end > 0 && is_bound).then_some(end)
    };
    let statements = header.into_iter().chain(body).flat_map(|line| line.split(';')).map(str::trim_start);
    statements.filter_map(|statement| name(statement).map(|end| &statement[..end])).collect()
}
