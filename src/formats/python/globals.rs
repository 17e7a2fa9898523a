//! What is global in Python text: builtins, what imports bind, and the targets that functions have.

use super::literal::parse_literal;
use crate::ir::{Argument, Symbols};
use ruff_python_ast::Stmt;
use rustc_hash::FxHashMap;

/// Functions that code calls by bare names.
const BUILTINS: [&str; 34] = [
    "abs",
    "all",
    "any",
    "bin",
    "bool",
    "bytes",
    "callable",
    "chr",
    "complex",
    "dict",
    "divmod",
    "enumerate",
    "float",
    "getattr",
    "hasattr",
    "hash",
    "hex",
    "int",
    "isinstance",
    "len",
    "list",
    "max",
    "min",
    "next",
    "pow",
    "print",
    "range",
    "reversed",
    "round",
    "setattr",
    "slice",
    "sorted",
    "sum",
    "tuple",
];

/// The target of the function that code calls by this name: `len` is `builtins.len`.
pub(super) fn target(name: String) -> String {
    if let Some(rest) = name.strip_prefix("operator.") {
        return format!("_operator.{rest}");
    }
    if is_builtin(&name) {
        return format!("builtins.{name}");
    }
    // As torch spells them where it wraps them.
    for (spelled, module) in [("_operator_", "_operator."), ("operator_", "_operator."), ("math_", "math.")] {
        if let Some(rest) = name.strip_prefix(spelled).filter(|rest| !rest.contains('.')) {
            return format!("{module}{rest}");
        }
    }
    name
}

/// The value of a global that has one: `torch.float32`, `math.pi`.
pub(super) fn constant(name: &str, symbols: &Symbols) -> Option<Argument> {
    Some(match name {
        "torch.inf" | "math.inf" => Argument::Float(f64::INFINITY),
        "torch.nan" | "math.nan" => Argument::Float(f64::NAN),
        "torch.pi" | "math.pi" => Argument::Float(std::f64::consts::PI),
        "torch.e" | "math.e" => Argument::Float(std::f64::consts::E),
        _ => parse_literal(name, symbols)?,
    })
}

/// Whether a name is that of a function in Python's `builtins`.
pub(super) fn is_builtin(name: &str) -> bool {
    BUILTINS.binary_search(&name).is_ok()
}

/// Whether a name is one that torch gives to symbolic sizes: `s17`, `u0`, `zuf3`.
pub(super) fn is_size_symbol(name: &str) -> bool {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    letters.len() < name.len() && matches!(letters, "s" | "u" | "zf" | "zuf")
}

/// Adds what an import binds to `names`: from a name in the text to what it is. What is no import
/// adds nothing.
pub(super) fn add_imports(statement: &Stmt, names: &mut FxHashMap<String, String>) {
    match statement {
        Stmt::Import(import) => {
            for name in &import.names {
                match &name.asname {
                    Some(alias) => names.insert(alias.to_string(), name.name.to_string()),
                    // `import a.b` binds `a`.
                    None => {
                        let top = name.name.split('.').next().unwrap_or_default();
                        names.insert(top.to_owned(), top.to_owned())
                    }
                };
            }
        }
        Stmt::ImportFrom(import) => {
            for name in &import.names {
                let whole = match &import.module {
                    Some(module) => format!("{module}.{}", name.name),
                    None => name.name.to_string(),
                };
                names.insert(name.asname.as_ref().unwrap_or(&name.name).to_string(), whole);
            }
        }
        _ => {}
    }
}
