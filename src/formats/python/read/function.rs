//! One function on its way to becoming a graph: its parameters, its statements, the names it binds.

use super::annotation::parse_annotation;
use super::expression::{flat, operator_name};
use super::source::Source;
use crate::formats::python::pytree::Pytree;
use crate::formats::python::stack_trace;
use crate::ir::{Args, Argument, At, Error, Graph, Kwargs, ModuleId, ModuleTree, Name, NodeId, Op};
use crate::ir::{RecentSymbols, Result, Symbol, Value};
use ruff_python_ast::{Expr, Parameter, Parameters, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::OnceCell;
use std::sync::Arc;

/// A member that a node names, as far as the text tells.
pub(super) struct Mention {
    pub(super) path: String,
    pub(super) is_called: bool,
    pub(super) node: NodeId,
    pub(super) at: usize,
}

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
    names: FxHashMap<Name, Argument>,
    recent: RecentSymbols,
    /// Nodes that were used before the statement that makes them, and where.
    awaited: FxHashMap<Name, (NodeId, usize)>,
    /// Parameters by the names that the text has for them, as long as no statement names their nodes.
    parameters: FxHashMap<Name, NodeId>,
    trace: Option<Symbol>,
    trace_key: Symbol,
    values: FxHashMap<String, Option<Arc<Value>>>,
    pytree: Option<(String, Vec<String>)>,
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
            names: FxHashMap::default(),
            recent: RecentSymbols::default(),
            awaited: FxHashMap::default(),
            parameters: FxHashMap::default(),
            trace: None,
            trace_key,
            values: FxHashMap::default(),
            pytree: None,
            start: 0,
            assigned: OnceCell::new(),
            base: 0,
        }
    }

    /// Continues a graph that is there: its nodes are known by their names.
    pub(super) fn resume(&mut self) -> Result<()> {
        let graph = self.tree.graph(self.module)?;
        self.names = graph.nodes().map(|node| (graph[node].name(), Argument::Node(node))).collect();
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
    pub(super) fn signature(&mut self, parameters: &Parameters, returns: Option<&Expr>, name: TextRange) -> Result<()> {
        if let Some(returns) = returns {
            let text = self.slice(returns.range()).to_owned();
            self.graph()?.signature.return_annotation = Some(text);
        }
        let plain = parameters.posonlyargs.iter().chain(&parameters.args);
        for (at, parameter) in plain.enumerate() {
            if at == 0 && parameter.parameter.name.as_str() == "self" {
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
        let whole = TextRange::new(name.start(), parameters.range.end());
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

    fn annotate(&mut self, node: NodeId, annotation: &Expr) -> Result<()> {
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

    fn key(&mut self, name: &str) -> Name {
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

    fn bind(&mut self, name: &str, value: Argument) {
        let key = self.key(name);
        self.names.insert(key, value);
    }

    /// Statements of one block, in order. Returns the node that the last one made.
    pub(super) fn statement(&mut self, statements: &[Stmt], index: usize) -> Result<usize> {
        let Some(statement) = statements.get(index) else { return Ok(index + 1) };
        match statement {
            Stmt::Assign(assign) => {
                let value = &*assign.value;
                if value.is_none_literal_expr() && assign.targets.iter().all(Expr::is_name_expr) {
                    return Ok(index + 1); // names are cleared
                }
                match assign.targets.as_slice() {
                    [Expr::Name(target)] => self.assign(target.id.as_str(), value, None)?,
                    [Expr::Subscript(target)] => {
                        let x = self.argument(&target.value)?;
                        let position = self.argument(&target.slice)?;
                        let args = Args::from_iter([x, position, self.argument(value)?]);
                        return self.in_place(statements, index, "_operator.setitem", args, &target.value);
                    }
                    [Expr::Tuple(targets)] => self.unpack(&targets.elts, value, assign.range)?,
                    [Expr::List(targets)] => self.unpack(&targets.elts, value, assign.range)?,
                    targets => {
                        let made = self.value(value, None)?;
                        for target in targets {
                            let Expr::Name(target) = target else {
                                return Err(self.wrong(target, "only names can be assigned to here"));
                            };
                            self.bind(target.id.as_str(), made.clone());
                        }
                    }
                }
            }
            Stmt::AnnAssign(assign) => {
                let Expr::Name(target) = &*assign.target else {
                    return Err(self.wrong(&*assign.target, "only names can be annotated"));
                };
                let name = target.id.as_str();
                match &assign.value {
                    Some(value) => self.assign(name, value, Some(&assign.annotation))?,
                    None => match self.variable(name, target.range)? {
                        Argument::Node(node) => self.annotate(node, &assign.annotation)?,
                        _ => return Err(self.wrong(target, "only nodes can be annotated")),
                    },
                }
            }
            Stmt::AugAssign(assign) => {
                let name = operator_name(assign.op).trim_end_matches('_');
                let target = format!("_operator.i{name}");
                let args = Args::from_iter([self.argument(&assign.target)?, self.argument(&assign.value)?]);
                return self.in_place(statements, index, &target, args, &assign.target);
            }
            Stmt::Return(returned) => self.output(returned.value.as_deref(), returned.range)?,
            Stmt::Expr(expression) if flat(&expression.value) => {} // a docstring, an ellipsis
            Stmt::Expr(expression) => {
                self.value(&expression.value, None)?;
            }
            Stmt::Pass(_) => {}
            other => {
                let message =
                    "a statement that a graph cannot hold: it has assignments, calls and a return, no control flow";
                return Err(self.wrong(other, message));
            }
        }
        Ok(index + 1)
    }

    fn assign(&mut self, name: &str, value: &Expr, annotation: Option<&Expr>) -> Result<()> {
        if let Expr::Name(source) = value {
            let key = self.key(source.id.as_str());
            if let Some(node) = self.parameters.remove(&key) {
                // The parameter's node has a name of its own.
                self.graph()?.rename(node, name)?;
                self.bind(name, Argument::Node(node));
                return Ok(());
            }
        }
        let made = self.value(value, Some(name))?;
        if let (Some(annotation), Argument::Node(node)) = (annotation, &made) {
            self.annotate(*node, annotation)?;
        }
        self.bind(name, made);
        Ok(())
    }

    /// `x += y;  iadd = x`: the node is named by the statement that follows. Alone, it is bound to `x`.
    fn in_place(
        &mut self,
        statements: &[Stmt],
        index: usize,
        target: &str,
        args: Args,
        changed: &Expr,
    ) -> Result<usize> {
        let named = match (statements.get(index + 1), changed) {
            (Some(Stmt::Assign(next)), Expr::Name(x)) => match (next.targets.as_slice(), &*next.value) {
                ([Expr::Name(name)], Expr::Name(same)) if same.id == x.id => Some((name.id.as_str(), None)),
                _ => None,
            },
            (Some(Stmt::AnnAssign(next)), Expr::Name(x)) => match (&*next.target, next.value.as_deref()) {
                (Expr::Name(name), Some(Expr::Name(same))) if same.id == x.id => {
                    Some((name.id.as_str(), Some(&*next.annotation)))
                }
                _ => None,
            },
            _ => None,
        };
        let name = named.map(|(name, _)| name);
        let node = self.create(Op::CallFunction, target, args, Kwargs::new(), name, changed.range())?;
        if let Some((_, Some(annotation))) = named {
            self.annotate(node, annotation)?;
        }
        match (name, changed) {
            (Some(name), _) => self.bind(name, Argument::Node(node)),
            (None, Expr::Name(x)) => self.bind(x.id.as_str(), Argument::Node(node)),
            _ => {}
        }
        Ok(index + 1 + usize::from(name.is_some()))
    }

    fn unpack(&mut self, targets: &[Expr], value: &Expr, range: TextRange) -> Result<()> {
        if self.slice(value.range()).starts_with("fx_pytree.") {
            let line = self.slice(range).to_owned();
            if let Some((_, bindings)) = &mut self.pytree {
                bindings.push(line);
            }
            return self.flatten(targets);
        }
        let whole = self.value(value, None)?;
        for (position, target) in targets.iter().enumerate() {
            let Expr::Name(target) = target else {
                return Err(self.wrong(target, "only names can be assigned to here"));
            };
            let name = target.id.as_str();
            let made = match &whole {
                Argument::Tuple(items) | Argument::List(items) if items.len() == targets.len() => {
                    items[position].clone()
                }
                _ => {
                    let args = Args::from_iter([whole.clone(), Argument::Int(position as i64)]);
                    let kwargs = Kwargs::new();
                    let range = target.range;
                    Argument::Node(self.create(
                        Op::CallFunction,
                        "_operator.getitem",
                        args,
                        kwargs,
                        Some(name),
                        range,
                    )?)
                }
            };
            self.bind(name, made);
        }
        Ok(())
    }

    /// The inputs are what a pytree is flattened to, and no longer the parameters.
    fn flatten(&mut self, targets: &[Expr]) -> Result<()> {
        let mut replaced: Vec<NodeId> = self.graph()?.placeholders().collect();
        for target in targets {
            let Expr::Name(target) = target else {
                return Err(self.wrong(target, "only names can be assigned to here"));
            };
            let name = target.id.as_str();
            let key = self.key(name);
            match self.parameters.get(&key) {
                Some(&node) => {
                    replaced.retain(|&other| other != node);
                    self.graph()?.move_to_end(node)?;
                }
                None => {
                    let (args, kwargs) = (Args::new(), Kwargs::new());
                    let node = self.create(Op::Placeholder, name, args, kwargs, Some(name), target.range)?;
                    self.names.insert(key, Argument::Node(node));
                    self.parameters.insert(key, node);
                }
            }
        }
        for node in replaced {
            let name = self.graph()?[node].name();
            self.parameters.remove(&name);
            self.names.remove(&name);
            self.graph()?.erase_node(node)?;
        }
        Ok(())
    }

    fn output(&mut self, value: Option<&Expr>, range: TextRange) -> Result<()> {
        let mut value = value;
        if let Some(Expr::Call(call)) = value {
            if self.slice(call.func.range()) == "pytree.tree_unflatten" {
                if let (Some(outputs), Some((function, bindings))) = (call.arguments.args.first(), self.pytree.take()) {
                    let text = self.slice(TextRange::new(call.range_start, range.end())).to_owned();
                    let inner = self.slice(outputs.range()).to_owned();
                    if let Some(returned) = text.split_once(&inner) {
                        let bindings = bindings.iter().map(String::as_str).collect();
                        let header = Pytree { function: &function, bindings, returned }.header();
                        self.graph()?.signature.pytree_header = Some(header);
                    }
                    value = Some(outputs);
                }
            }
        }
        let value = value.map_or(Ok(Argument::None), |value| self.argument(value))?;
        let args = Args::from_iter([value]);
        self.create(Op::Output, "output", args, Kwargs::new(), Some("output"), range)?;
        Ok(())
    }

    /// The text is at its end: every name that was used must be bound by now.
    pub(super) fn bound(self) -> Result<Vec<Mention>> {
        let first = self.awaited.iter().min_by_key(|(_, (_, at))| *at);
        if let Some((name, (_, at))) = first {
            let message = format!("the name `{}` is not defined", name.text(self.tree.symbols()));
            return Err(self.source.error(*at, &message));
        }
        Ok(self.mentions)
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
