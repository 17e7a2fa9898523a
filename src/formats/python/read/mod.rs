//! Reading FX code: a function or a module class as torch prints it, into a graph module.

mod bindings;
mod block;
mod callee;
mod expression;
mod function;
mod statement;

use super::globals::add_imports;
use super::lines::{Line, Lines};
use super::members::{self, Members, Mention};
use super::source::Source;
use crate::ir::{Error, Graph, ModuleId, ModuleTree, NewModule, NodeId, Result};
use block::{syntax, Block};
use function::{Function, Imports};
use ruff_python_ast::Stmt;
use ruff_text_size::Ranged;

/// Reads a function or a module class with those nested in it. Of text with several, a log for one,
/// it is the first.
///
/// Annotations and comments become metadata and stack traces. What the text calls and is no nested
/// class becomes a leaf module of the type `torch.nn.Module`; what it reads is a tensor without
/// bytes where an annotation tells its metadata, else the value None: text tells no more of it.
///
/// A text that is not such code is [`ErrorKind::Parse`](crate::ir::ErrorKind::Parse) with line, column
/// and the line itself; one that nests too deep is [`ErrorKind::Limit`](crate::ir::ErrorKind::Limit).
pub fn read_code(text: &str) -> Result<ModuleTree> {
    let mut tree = ModuleTree::new("GraphModule");
    let root = tree.root();
    let source = Source::new(text);
    Reader { source: &source, imports: Imports::default() }.run(&mut tree, root)?;
    Ok(tree)
}

/// The same into a graph module that is there: its graph is replaced, and its members decide what
/// the text cannot tell. When it fails the module may have changed: give it a copy.
pub fn read_into(tree: &mut ModuleTree, module: ModuleId, text: &str) -> Result<()> {
    let source = Source::new(text);
    Reader { source: &source, imports: Imports::default() }.run(tree, module)
}

/// Appends one statement to a graph, before its output; names are those of its nodes. Returns the
/// node that it made last. When it fails, the module is as it was.
pub fn append_statement(tree: &mut ModuleTree, module: ModuleId, text: &str) -> Result<NodeId> {
    let graph = tree.graph_mut(module)?;
    let (before, output) = (graph.last(), graph.output_node());
    let names = graph.taken_names();
    let appended = append(tree, module, text);
    let graph = tree.graph_mut(module)?;
    let first = match before {
        Some(before) => graph.next(before),
        None => graph.first(),
    };
    let made: Vec<NodeId> = std::iter::successors(first, |&node| graph.next(node)).collect();
    let error = match (appended, made.last()) {
        (Ok(()), Some(&last)) => {
            if let Some(output) = output {
                graph.move_to_end(output)?;
            }
            return Ok(last);
        }
        (Ok(()), None) => Source::new(text).error(0, "the statement makes no node"),
        (Err(error), _) => error,
    };
    graph.erase_unused(made.into_iter())?;
    graph.restore_names(names);
    Err(error)
}

fn append(tree: &mut ModuleTree, module: ModuleId, text: &str) -> Result<()> {
    let source = Source::new(text);
    let imports = Imports::default();
    let mut function = Function::new(&source, &imports, tree, module);
    function.resume()?;
    let mut block = Block::default();
    let mut lines = Lines::new(&source);
    while let Some(line) = lines.next()? {
        block.line(&mut function, line)?;
    }
    block.flush(&mut function)?;
    let mentions = function.bound()?;
    Members { source: &source, like: None }.add(tree, module, mentions)
}

struct Reader<'s, 't> {
    source: &'s Source<'t>,
    imports: Imports,
}

/// A class that is open: what its lines are indented by, and what is known of it so far.
struct OpenClass {
    indent: usize,
    module: ModuleId,
    mentions: Vec<Mention>,
    /// The graph modules in it, by the names that their classes have.
    nested: Vec<(String, ModuleId)>,
    has_function: bool,
}

impl<'t> Reader<'_, 't> {
    fn run(mut self, tree: &mut ModuleTree, root: ModuleId) -> Result<()> {
        let mut open: Vec<OpenClass> = Vec::new();
        let mut wrapped: Vec<String> = Vec::new();
        let mut lines = Lines::new(self.source);
        let mut is_done = false;
        while let Some((start, indent)) = lines.peek() {
            let text = &self.source.text[start..];
            let first = text.lines().next().unwrap_or_default();
            // Logs put a path before a class.
            let class = match first.starts_with("class ") {
                true => Some(first),
                false => first.find(".py class ").filter(|_| open.is_empty()).map(|at| &first[at + 4..]),
            };
            if let Some(name) = class.and_then(class_name) {
                if is_done && indent == 0 {
                    break; // the next graph of the text
                }
                self.close(tree, &mut open, indent)?;
                let module = self.open(tree, root, &mut open, name, start)?;
                open.push(OpenClass { indent, module, mentions: Vec::new(), nested: Vec::new(), has_function: false });
                is_done = true;
                lines.skip_line();
            } else if first.starts_with("def ") || first.starts_with("async def ") {
                if is_done && open.is_empty() {
                    break;
                }
                self.close(tree, &mut open, indent)?;
                let module = open.last().map_or(root, |class| class.module);
                if let Some(class) = open.last_mut() {
                    if std::mem::replace(&mut class.has_function, true) {
                        return Err(self.source.error(start, "a module class has one method, `forward`"));
                    }
                }
                let header = lines.next()?;
                let mentions = self.function(tree, module, header, indent, &mut lines, std::mem::take(&mut wrapped))?;
                match open.last_mut() {
                    Some(class) => class.mentions = mentions,
                    None => self.members().add(tree, module, mentions)?,
                }
                is_done = true;
            } else if first.starts_with('#') {
                lines.skip_line();
            } else if let Some(name) = wrapped_name(first) {
                wrapped.push(name.to_owned());
                lines.skip_line();
            } else if first.starts_with("import ") || first.starts_with("from ") {
                let line = lines.next()?;
                self.import(line)?;
            } else if is_done && open.last().is_none_or(|class| indent <= class.indent) {
                break; // what stands behind the code
            } else if open.is_empty() && (self.source.is_log || is_heading(first)) {
                lines.skip_line();
            } else {
                return Err(self
                    .source
                    .error(start, "this is no FX code: a class, a function or a `wrap(...)` is expected"));
            }
        }
        if !is_done {
            return Err(self.source.error(0, "there is no FX code: no class and no function"));
        }
        self.close(tree, &mut open, 0)
    }

    /// Finishes the classes that a line of this indentation is not in.
    fn close(&self, tree: &mut ModuleTree, open: &mut Vec<OpenClass>, indent: usize) -> Result<()> {
        while let Some(class) = open.pop_if(|class| class.indent >= indent) {
            self.members().add(tree, class.module, class.mentions)?;
        }
        Ok(())
    }

    fn members(&self) -> Members<'_, 't> {
        Members { source: self.source, like: None }
    }

    /// The module of a class that begins.
    fn open(
        &self,
        tree: &mut ModuleTree,
        root: ModuleId,
        open: &mut [OpenClass],
        name: &str,
        at: usize,
    ) -> Result<ModuleId> {
        let Some(parent) = open.last_mut() else {
            tree.set_type_name(root, name)?;
            return Ok(root);
        };
        let taken: Vec<&str> = parent.nested.iter().map(|(path, _)| path.as_str()).collect();
        let path = members::path_of_class(tree, parent.module, &parent.mentions, &taken, name);
        let module = tree
            .add_module(parent.module, &path, name, NewModule::Graph)
            .map_err(|error| self.source.located(error, at))?;
        parent.nested.push((path, module));
        Ok(module)
    }

    fn function(
        &self,
        tree: &mut ModuleTree,
        module: ModuleId,
        header: Option<Line>,
        indent: usize,
        lines: &mut Lines<'_, '_>,
        wrapped: Vec<String>,
    ) -> Result<Vec<Mention>> {
        let mut graph = Graph::new(tree.symbols().clone());
        graph.signature.wrapped = wrapped;
        tree.set_graph(module, graph)?;
        let mut function = Function::new(self.source, &self.imports, tree, module);
        if let Some(line) = header {
            let text = self.source.text.get(line.start..line.end).unwrap_or_default();
            // The body may stand on the same line: `def forward(self, x): return x`.
            let whole = format!("{text}\n    pass");
            let on_line = !text.trim_end().ends_with(':');
            let code = if on_line { text } else { &whole };
            let parsed =
                ruff_python_parser::parse_module(code).map_err(|error| self.syntax(&error, line.start as isize))?;
            function.begin(line.start);
            function.set_base(line.start as isize);
            if let [Stmt::FunctionDef(definition)] = parsed.into_syntax().body.as_slice() {
                function.signature(&definition.parameters, definition.returns.as_deref(), definition.name.range())?;
                let mut index = 0;
                while on_line && index < definition.body.len() {
                    index = function.statement(&definition.body, index)?;
                }
            } else {
                return Err(self.source.error(line.start, "this is no function"));
            }
        }
        let mut block = Block::default();
        let mut body = None;
        while let Some((start, now)) = lines.peek() {
            let rest = &self.source.text[start..];
            let is_comment = rest.starts_with('#');
            if now <= indent || (!is_comment && body.is_some_and(|body| now < body)) {
                break;
            }
            if rest.starts_with("class ") && class_name(rest.lines().next().unwrap_or_default()).is_some() {
                break;
            }
            let Some(line) = lines.next()? else { break };
            if !is_comment {
                body = body.or(Some(now));
                if Some(now) != body {
                    return Err(self
                        .source
                        .error(start, "a graph has no blocks: the line is indented deeper than those before"));
                }
            }
            block.line(&mut function, line)?;
        }
        block.flush(&mut function)?;
        function.finish()
    }

    fn import(&mut self, line: Option<Line>) -> Result<()> {
        let Some(line) = line else { return Ok(()) };
        let text = self.source.text.get(line.start..line.end).unwrap_or_default();
        let parsed =
            ruff_python_parser::parse_module(text).map_err(|error| self.syntax(&error, line.start as isize))?;
        for statement in &parsed.into_syntax().body {
            add_imports(statement, &mut self.imports.names);
        }
        Ok(())
    }

    fn syntax(&self, error: &ruff_python_parser::ParseError, base: isize) -> Error {
        syntax(self.source, error, base)
    }
}

/// `class NAME(torch.nn.Module):`, whatever the name is.
fn class_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("class ")?;
    let end = rest.find(['(', ':'])?;
    (line.trim_end().ends_with(':') && end > 0).then(|| rest[..end].trim())
}

/// `wrap("name")`, under whichever name `wrap` goes.
fn wrapped_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("torch.fx.").unwrap_or(line);
    let rest = rest.strip_prefix("_symbolic_trace.").unwrap_or(rest);
    let name = rest.strip_prefix("wrap(")?.trim_end().strip_suffix(')')?;
    let quoted = |quote| name.strip_prefix(quote)?.strip_suffix(quote);
    quoted('"').or_else(|| quoted('\''))
}

/// What logs and other printers put above code.
fn is_heading(line: &str) -> bool {
    line.starts_with("=====")
        || line.starts_with("TRACED GRAPH")
        || line.starts_with("ExportedProgram:")
        || line.trim_end().ends_with(':')
        || line.trim_end().ends_with("=====")
}
