//! Tracing text: a plain Python function, or a module class, becomes a graph as
//! `torch.fx.symbolic_trace` makes it. The function is run: what depends on constants alone happens
//! while it runs (loops, branches, arithmetic), everything else is recorded through a
//! [`Tracer`](crate::trace::Tracer).

mod builtin;
mod call;
mod constant;
mod container;
mod expression;
mod functions;
mod global;
mod interpreter;
mod member;
mod operator;
mod program;
mod sequence;
mod statement;
mod value;

use crate::formats::python::lines::Lines;
use crate::formats::python::source::Source;
use crate::ir::{Error, ErrorKind, ModuleId, ModuleTree, Result};
use crate::trace::{Rewrite, Tracer};
use interpreter::Interpreter;
use program::{parse, Entry, Program};
use ruff_python_ast::Stmt;

/// What is traced, and how far down.
#[derive(Clone, Copy, Default)]
pub struct TraceOptions<'o> {
    /// The function or class to trace. Without a name: the last class that has a `forward`, else the
    /// last function.
    pub entry: Option<&'o str>,
    /// The module whose members `self` has. Those that the graph names are copied, with their tensors
    /// shared.
    pub members: Option<(&'o ModuleTree, ModuleId)>,
    /// What `members` does not hold is taken for a leaf module of the type `torch.nn.Module` where it is
    /// called, and for the value None where it is read, as it is without `members`. Else it is an error.
    pub more_members: bool,
    /// A name that nothing defines is a function, a backend's own for one, whose calls are recorded. Else
    /// it is an error.
    pub more_functions: bool,
    /// Functions and classes of the text whose calls stay calls.
    pub autowrap_functions: Autowrap<'o>,
}

/// Functions and classes of the text that are not looked into.
#[derive(Debug, Clone, Copy, Default)]
pub enum Autowrap<'o> {
    /// None but those that the text itself wraps.
    #[default]
    Declared,
    /// These too.
    Named(&'o [&'o str]),
    /// All.
    All,
}

impl Autowrap<'_> {
    fn contains(&self, name: &str) -> bool {
        match self {
            Autowrap::Declared => false,
            Autowrap::Named(names) => names.contains(&name),
            Autowrap::All => true,
        }
    }
}

/// How deep blocks may stand in each other, as in Python.
const MAX_BLOCKS: usize = 100;

/// Traces the text. Each operation passes through the rewrites before it becomes a node.
///
/// What cannot be traced is [`ErrorKind::Parse`](crate::ir::ErrorKind::Parse) with line, column and the
/// line itself: text that is no Python, and control flow that depends on a value that only the running
/// graph knows. [`ErrorKind::Limit`](crate::ir::ErrorKind::Limit) stops what nests too deep or runs too
/// long.
pub fn trace_code(text: &str, options: &TraceOptions<'_>, rewrites: Vec<Box<Rewrite>>) -> Result<ModuleTree> {
    let source = Source::new(text);
    let indent = check_depth(&source)?;
    let (module, base) = parse(&source, indent)?;
    let body = match module.body.as_slice() {
        [Stmt::If(block)] if base < 0 => &block.body[..],
        body => body,
    };
    let program = Program::new(body, &source, base)?;
    let entry = program.entry(options.entry).map_err(|message| Error::new(ErrorKind::Parse, message))?;
    let tree = ModuleTree::new(match entry {
        Entry::Function(function) => function.name.as_str(),
        Entry::Class(class) => class.name.as_str(),
    });
    let root = tree.root();
    let tracer = Tracer::new(tree, root, rewrites)?;
    let mut interpreter = Interpreter::new(&source, base, &program, options, &tracer);
    interpreter.run(entry)?;
    interpreter.add_members()?;
    tracer.finish()
}

/// Bounds how deep brackets and blocks nest before anything is parsed. Gives the indentation of the
/// first line.
fn check_depth(source: &Source<'_>) -> Result<usize> {
    let mut lines = Lines::new(source);
    let mut first = None;
    let mut blocks: Vec<usize> = Vec::new();
    while let Some(line) = lines.next()? {
        if source.text.as_bytes().get(line.start) == Some(&b'#') {
            continue;
        }
        first.get_or_insert(line.indent);
        while blocks.last().is_some_and(|&indent| indent >= line.indent) {
            blocks.pop();
        }
        blocks.push(line.indent);
        if blocks.len() > MAX_BLOCKS {
            let message = format!("blocks nest deeper than {MAX_BLOCKS} levels");
            return Err(source.located(Error::new(ErrorKind::Limit, message), line.start));
        }
    }
    Ok(first.unwrap_or(0))
}

/// What the parser says, at its place in the source.
fn syntax_error(source: &Source<'_>, error: &ruff_python_parser::ParseError, base: isize) -> Error {
    let at = usize::try_from(base + error.location.start().to_u32() as isize).unwrap_or(0);
    source.error(at, &error.error.to_string())
}
