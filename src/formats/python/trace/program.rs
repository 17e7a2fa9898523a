//! What stands at the top of a traced text: functions, classes, imports, constants.

use super::syntax_error;
use crate::formats::python::globals::add_imports;
use crate::formats::python::source::Source;
use crate::ir::Result;
use ruff_python_ast::{Expr, Stmt, StmtClassDef, StmtFunctionDef};
use ruff_text_size::Ranged;
use rustc_hash::{FxHashMap, FxHashSet};

/// A text as its parts, by their names.
#[derive(Default)]
pub(super) struct Program<'a> {
    functions: FxHashMap<&'a str, &'a StmtFunctionDef>,
    classes: FxHashMap<&'a str, &'a StmtClassDef>,
    constants: FxHashMap<&'a str, &'a Expr>,
    imports: FxHashMap<String, String>,
    /// Functions that `wrap` keeps as calls.
    wrapped: FxHashSet<&'a str>,
    /// Functions and classes in their order.
    order: Vec<Entry<'a>>,
}

/// What can be traced.
#[derive(Clone, Copy)]
pub(super) enum Entry<'a> {
    Function(&'a StmtFunctionDef),
    Class(&'a StmtClassDef),
}

impl<'a> Program<'a> {
    /// `base` is where the parsed text begins in the source, less where it begins in what was parsed.
    pub(super) fn new(body: &'a [Stmt], source: &Source<'_>, base: isize) -> Result<Self> {
        let mut program = Program::default();
        for statement in body {
            match statement {
                Stmt::FunctionDef(function) => {
                    if function.decorator_list.iter().any(|decorator| is_wrap(&decorator.expression)) {
                        program.wrapped.insert(function.name.as_str());
                    }
                    program.functions.insert(function.name.as_str(), function);
                    program.order.push(Entry::Function(function));
                }
                Stmt::ClassDef(class) => {
                    program.classes.insert(class.name.as_str(), class);
                    program.order.push(Entry::Class(class));
                }
                Stmt::Import(_) | Stmt::ImportFrom(_) => add_imports(statement, &mut program.imports),
                Stmt::Assign(assign) => {
                    for target in &assign.targets {
                        if let Expr::Name(name) = target {
                            program.constants.insert(name.id.as_str(), &assign.value);
                        }
                    }
                }
                Stmt::AnnAssign(assign) => {
                    if let (Expr::Name(name), Some(value)) = (&*assign.target, &assign.value) {
                        program.constants.insert(name.id.as_str(), value);
                    }
                }
                Stmt::Expr(expression) => {
                    if let Some(name) = wrapped_name(&expression.value) {
                        program.wrapped.insert(name);
                    }
                }
                Stmt::Pass(_) => {}
                // `if __name__ == "__main__":` and the like do not belong to what is traced.
                Stmt::If(_) => {}
                other => {
                    let at = usize::try_from(base + other.range().start().to_u32() as isize).unwrap_or(0);
                    return Err(source.error(at, "here stand functions, classes, imports and constants"));
                }
            }
        }
        Ok(program)
    }

    /// What is traced: what has the name, else the last class with a `forward`, else the last function.
    pub(super) fn entry(&self, name: Option<&str>) -> std::result::Result<Entry<'a>, String> {
        if let Some(name) = name {
            let function = self.functions.get(name).map(|&function| Entry::Function(function));
            let class = self.classes.get(name).map(|&class| Entry::Class(class));
            return function.or(class).ok_or_else(|| format!("the text has no function and no class `{name}`"));
        }
        let is_module =
            |entry: &&Entry| matches!(entry, Entry::Class(class) if self.method(class, "forward").is_some());
        let is_function = |entry: &&Entry| matches!(entry, Entry::Function(function) if !self.wrapped.contains(function.name.as_str()));
        let entries = || self.order.iter().rev();
        let found = entries().find(is_module).or_else(|| entries().find(is_function));
        found.copied().ok_or_else(|| "there is nothing to trace: no function, no class with a `forward`".to_owned())
    }

    pub(super) fn function(&self, name: &str) -> Option<&'a StmtFunctionDef> {
        self.functions.get(name).copied()
    }

    pub(super) fn class(&self, name: &str) -> Option<&'a StmtClassDef> {
        self.classes.get(name).copied()
    }

    pub(super) fn constant(&self, name: &str) -> Option<&'a Expr> {
        self.constants.get(name).copied()
    }

    pub(super) fn import(&self, name: &str) -> Option<&str> {
        self.imports.get(name).map(String::as_str)
    }

    pub(super) fn is_wrapped(&self, name: &str) -> bool {
        self.wrapped.contains(name)
    }

    /// The function of that name in a class, or in those of the text that it inherits from.
    pub(super) fn method(&self, class: &'a StmtClassDef, name: &str) -> Option<&'a StmtFunctionDef> {
        let mut class = class;
        // A class that inherits from itself goes round: no chain is longer than there are classes.
        for _ in 0..=self.classes.len() {
            if let Some(found) = method(class, name) {
                return Some(found);
            }
            class = self.base(class)?;
        }
        None
    }

    /// The constant of that name in the body of a class, or of those it inherits from.
    pub(super) fn class_constant(&self, class: &'a StmtClassDef, name: &str) -> Option<&'a Expr> {
        let mut class = class;
        for _ in 0..=self.classes.len() {
            let value = class.body.iter().find_map(|statement| match statement {
                Stmt::Assign(assign) => {
                    let names = |target: &Expr| matches!(target, Expr::Name(target) if target.id.as_str() == name);
                    assign.targets.iter().any(names).then_some(&*assign.value)
                }
                Stmt::AnnAssign(assign) => match &*assign.target {
                    Expr::Name(target) if target.id.as_str() == name => assign.value.as_deref(),
                    _ => None,
                },
                _ => None,
            });
            if value.is_some() {
                return value;
            }
            class = self.base(class)?;
        }
        None
    }

    fn base(&self, class: &StmtClassDef) -> Option<&'a StmtClassDef> {
        class.arguments.as_ref()?.args.iter().find_map(|base| match base {
            Expr::Name(base) => self.class(base.id.as_str()),
            _ => None,
        })
    }
}

fn method<'a>(class: &'a StmtClassDef, name: &str) -> Option<&'a StmtFunctionDef> {
    class.body.iter().rev().find_map(|statement| match statement {
        Stmt::FunctionDef(function) if function.name.as_str() == name => Some(function),
        _ => None,
    })
}

/// `wrap`, under whichever name it goes.
fn is_wrap(expression: &Expr) -> bool {
    match expression {
        Expr::Name(name) => name.id.as_str() == "wrap",
        Expr::Attribute(attribute) => attribute.attr.as_str() == "wrap",
        _ => false,
    }
}

fn wrapped_name(expression: &Expr) -> Option<&str> {
    let Expr::Call(call) = expression else { return None };
    match &*call.arguments.args {
        [Expr::StringLiteral(name)] if is_wrap(&call.func) => Some(name.value.to_str()),
        [Expr::Name(name)] if is_wrap(&call.func) => Some(name.id.as_str()),
        _ => None,
    }
}

/// Parses a whole text. Its statements, and where it begins in the source less where it begins in
/// what was parsed.
pub(super) fn parse(source: &Source<'_>, indent: usize) -> Result<(ruff_python_ast::ModModule, isize)> {
    // A text that is indented as a whole becomes a block.
    const HEAD: &str = "if 1:\n";
    let head = if indent > 0 { HEAD } else { "" };
    let base = -(head.len() as isize);
    let parsed = match head {
        "" => ruff_python_parser::parse_module(&source.text),
        head => ruff_python_parser::parse_module(&format!("{head}{}", source.text)),
    };
    let parsed = parsed.map_err(|error| syntax_error(source, &error, base))?;
    Ok((parsed.into_syntax(), base))
}
