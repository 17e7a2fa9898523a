//! What an expression names: a member of the module, a global, a method.

use super::function::Function;
use crate::formats::python::globals;
use crate::formats::python::literal::parse_literal;
use crate::ir::{Args, Op, Result};
use ruff_python_ast::Expr;
use smallvec::SmallVec;

impl Function<'_, '_> {
    /// What a call calls. The receiver of a method is its first argument.
    pub(super) fn callee(&mut self, function: &Expr, args: &mut Args) -> Result<(Op, String)> {
        if let Some(path) = self.path_of(function) {
            return Ok((Op::CallModule, path));
        }
        if let Some(global) = self.global(function) {
            return Ok((Op::CallFunction, global));
        }
        match function {
            Expr::Attribute(attribute) => {
                let receiver = self.argument(&attribute.value)?;
                args.push(receiver);
                Ok((Op::CallMethod, attribute.attr.as_str().to_owned()))
            }
            Expr::Call(call) => match &*call.arguments.args {
                // What has no name in Python: see how functions are printed.
                [Expr::Name(torch), Expr::StringLiteral(target)] if torch.id == "torch" && is_getattr(&call.func) => {
                    Ok((Op::CallFunction, target.value.to_str().to_owned()))
                }
                [receiver, Expr::StringLiteral(method)] if is_getattr(&call.func) => {
                    let receiver = self.argument(receiver)?;
                    args.push(receiver);
                    Ok((Op::CallMethod, method.value.to_str().to_owned()))
                }
                _ => Err(self.wrong(function, "this cannot be called in a graph")),
            },
            _ => Err(self.wrong(function, "this cannot be called in a graph")),
        }
    }

    /// The path from the module, if the expression is one: `self.a.b`, `getattr(self.a, "0").b`.
    pub(super) fn path_of(&self, expression: &Expr) -> Option<String> {
        if !leads_to(expression, &self.receiver) {
            return None;
        }
        let mut parts: Vec<&str> = Vec::new();
        let mut at = expression;
        loop {
            match at {
                Expr::Attribute(attribute) => {
                    parts.push(attribute.attr.as_str());
                    at = &attribute.value;
                }
                Expr::Call(call) if is_getattr(&call.func) && call.arguments.keywords.is_empty() => {
                    let [base, Expr::StringLiteral(part)] = &*call.arguments.args else { return None };
                    parts.push(part.value.to_str());
                    at = base;
                }
                Expr::Name(name) if name.id == self.receiver && !parts.is_empty() => {
                    parts.reverse();
                    return Some(parts.join("."));
                }
                _ => return None,
            }
        }
    }

    /// The qualified name, if the expression names something that is no variable: `torch.nn.relu`, `len`.
    pub(super) fn global(&self, expression: &Expr) -> Option<String> {
        let mut parts: SmallVec<[&str; 8]> = SmallVec::new();
        let mut at = expression;
        let mut is_hidden = false;
        let root = loop {
            match at {
                Expr::Attribute(attribute) => {
                    parts.push(attribute.attr.as_str());
                    at = &attribute.value;
                }
                Expr::Name(name) => break name.id.as_str(),
                // A global whose name a variable has: `globals()["name"]`.
                Expr::Subscript(subscript) => match (&*subscript.value, &*subscript.slice) {
                    (Expr::Call(call), Expr::StringLiteral(root)) if is_name(&call.func, "globals") => {
                        is_hidden = true;
                        break root.value.to_str();
                    }
                    _ => return None,
                },
                _ => return None,
            }
        };
        if !is_hidden && (matches!(root, "inf" | "nan" | "Ellipsis") || root == self.receiver || self.is_variable(root))
        {
            return None;
        }
        // `torch.float32.name` is of a literal.
        const NAMESPACES: [&str; 7] = ["ops", "nn", "_C", "fft", "linalg", "special", "sparse"];
        if let [.., second] = parts[1.min(parts.len())..] {
            if root == "torch" && !NAMESPACES.contains(&second) {
                let literal = parse_literal(&format!("torch.{second}"), self.tree.symbols());
                if literal.is_some() {
                    return None;
                }
            }
        }
        let mut whole = match self.imports.names.get(root) {
            Some(imported) => imported.clone(),
            None => root.to_owned(),
        };
        for part in parts.iter().rev() {
            whole.push('.');
            whole.push_str(part);
        }
        Some(globals::target(whole))
    }
}

/// Whether attributes and calls of `getattr` lead to the module.
fn leads_to(expression: &Expr, receiver: &str) -> bool {
    let mut at = expression;
    loop {
        at = match at {
            Expr::Attribute(attribute) => &attribute.value,
            Expr::Call(call) if is_getattr(&call.func) => match &*call.arguments.args {
                [base, ..] => base,
                [] => return false,
            },
            _ => return is_name(at, receiver),
        };
    }
}

fn is_getattr(function: &Expr) -> bool {
    is_name(function, "getattr")
}

fn is_name(expression: &Expr, text: &str) -> bool {
    matches!(expression, Expr::Name(name) if name.id == text)
}
