//! One node as a statement.

use super::code::Style;
use super::ReadableOptions;
use crate::formats::python::globals::is_size_symbol;
use crate::formats::python::keywords::is_identifier;
use crate::formats::python::operators::{spelling, Spelling};
use crate::formats::python::pytree::Pytree;
use crate::formats::python::repr::{str_repr, write_repr, Names};
use crate::ir::tensor_meta::Scalar;
use crate::ir::{Argument, Graph, Name, NodeId, Op, Symbol, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::{OnceCell, RefCell};
use std::fmt::Write;

pub(super) struct Statement<'g> {
    graph: &'g Graph,
    style: Style,
    /// The names of all nodes, once a function that is not torch's is called.
    names: OnceCell<FxHashSet<Name>>,
    receiver: OnceCell<String>,
    callees: RefCell<FxHashMap<Symbol, Box<str>>>,
}

impl<'g> Statement<'g> {
    pub(super) fn new(graph: &'g Graph, style: Style) -> Self {
        Statement { graph, style, names: OnceCell::new(), receiver: OnceCell::new(), callees: RefCell::default() }
    }

    /// Appends the statement; a placeholder whose name is that of the parameter has none.
    pub(super) fn write(&self, out: &mut String, node: NodeId) -> bool {
        let graph = self.graph;
        let found = &graph[node];
        let target = graph.target(node);
        let (args, kwargs) = (found.args(), found.kwargs());
        match found.op() {
            Op::Placeholder => {
                let parameter = target.replace('*', "");
                if parameter == graph.name(node) {
                    return false;
                }
                self.name(out, node);
                out.push_str(" = ");
                out.push_str(&parameter);
            }
            Op::Output => {
                let (before, after) = match graph.signature.pytree_header.as_deref().and_then(Pytree::of) {
                    Some(pytree) => pytree.returned,
                    None => ("", ""),
                };
                out.push_str("return ");
                out.push_str(before);
                args.iter().for_each(|value| self.argument(out, value));
                out.push_str(after);
            }
            Op::GetAttr => {
                self.left(out, node);
                write_path(out, self.receiver(), target);
            }
            Op::CallModule => {
                self.left(out, node);
                write_path(out, self.receiver(), target);
                self.call(out, args, kwargs);
            }
            Op::CallMethod => match args {
                [receiver, rest @ ..] => {
                    self.left(out, node);
                    self.member(out, receiver, target);
                    self.call(out, rest, kwargs);
                }
                [] => {
                    // A method of nothing: no Python says that, but it reads back.
                    self.left(out, node);
                    write_path(out, "()", target);
                    self.call(out, args, kwargs);
                }
            },
            Op::CallFunction => self.function(out, node, target, args, kwargs),
        }
        true
    }

    fn function(&self, out: &mut String, node: NodeId, target: &str, args: &[Argument], kwargs: &[(Symbol, Argument)]) {
        let operator = target.strip_prefix("_operator.").filter(|_| kwargs.is_empty());
        match (operator.and_then(spelling), args) {
            (Some(Spelling::Prefix(sign)), [x]) => {
                self.left(out, node);
                out.push_str(sign);
                self.operand(out, x, false);
            }
            (Some(Spelling::Infix(sign)), [x, y]) => {
                self.left(out, node);
                self.operand(out, x, sign == "**");
                for part in [" ", sign, " "] {
                    out.push_str(part);
                }
                self.operand(out, y, false);
            }
            (Some(Spelling::GetItem), [x, index]) => {
                self.left(out, node);
                self.operand(out, x, true);
                self.index(out, index);
            }
            (Some(Spelling::InPlace(sign)), [x @ Argument::Node(_), y]) => {
                self.argument(out, x);
                for part in [" ", sign, " "] {
                    out.push_str(part);
                }
                self.argument(out, y);
                self.then(out, node, x);
            }
            (Some(Spelling::SetItem), [x @ Argument::Node(_), index, y]) => {
                self.argument(out, x);
                self.index(out, index);
                out.push_str(" = ");
                self.argument(out, y);
                self.then(out, node, x);
            }
            _ => {
                self.left(out, node);
                match (target, args) {
                    ("builtins.getattr", [x, Argument::Str(name)])
                        if kwargs.is_empty() && is_identifier(self.graph.text(*name)) =>
                    {
                        self.member(out, x, self.graph.text(*name));
                    }
                    _ => {
                        self.callee(out, self.graph[node].target(), target);
                        self.call(out, args, kwargs);
                    }
                }
            }
        }
    }

    /// A function by the name under which code has it. Where a node has the name that it begins with, the
    /// function is looked up beside it.
    fn callee(&self, out: &mut String, symbol: Symbol, target: &str) {
        // A graph calls few functions, each often.
        if let Some(known) = self.callees.borrow().get(&symbol) {
            return out.push_str(known);
        }
        let start = out.len();
        self.write_callee(out, target);
        self.callees.borrow_mut().insert(symbol, out[start..].into());
    }

    fn write_callee(&self, out: &mut String, target: &str) {
        let start = out.len();
        write_function(out, target);
        let root = out[start..].split('.').next().unwrap_or_default();
        if root == "torch" || root.contains('(') {
            return;
        }
        if self.is_taken(root) {
            let end = start + root.len();
            out.insert_str(end, "\"]");
            out.insert_str(start, "globals()[\"");
        }
    }

    /// Whether a node has this name.
    fn is_taken(&self, name: &str) -> bool {
        let names = || self.graph.nodes().map(|node| self.graph[node].name()).collect();
        Name::find(self.graph.symbols(), name).is_some_and(|name| self.names.get_or_init(names).contains(&name))
    }

    /// What the module is called: `self`, with underscores where a node has that name.
    pub(super) fn receiver(&self) -> &str {
        self.receiver.get_or_init(|| {
            let mut receiver = "self".to_owned();
            let is_input = |name: &str| self.graph.placeholders().any(|input| self.graph.target(input) == name);
            while self.is_taken(&receiver) || is_input(&receiver) {
                receiver.push('_');
            }
            receiver
        })
    }

    /// `;  name = x`, after a statement that changes `x`.
    fn then(&self, out: &mut String, node: NodeId, x: &Argument) {
        out.push_str(";  ");
        self.left(out, node);
        self.argument(out, x);
    }

    fn name(&self, out: &mut String, node: NodeId) {
        self.graph.write_name(out, node);
    }

    /// `name = `, with an annotation if there is one.
    fn left(&self, out: &mut String, node: NodeId) {
        self.name(out, node);
        write_annotation(out, self.graph, node, self.style);
        out.push_str(" = ");
    }

    fn argument(&self, out: &mut String, argument: &Argument) {
        match argument {
            Argument::Node(node) => self.name(out, *node),
            _ => write_repr(out, argument, self.graph.symbols(), self),
        }
    }

    /// What an operator is applied to. A negative number comes in parentheses before what binds closer
    /// than its sign: `-1 ** x` is another thing.
    fn operand(&self, out: &mut String, argument: &Argument, binds_closer: bool) {
        let start = out.len();
        self.argument(out, argument);
        if binds_closer && out[start..].starts_with('-') {
            out.insert(start, '(');
            out.push(')');
        }
    }

    /// `x.name`, which a number has only in parentheses.
    fn member(&self, out: &mut String, x: &Argument, name: &str) {
        let start = out.len();
        match x {
            // A bare name before a dot is a module of Python.
            Argument::SymInt(spelled) => write_symint(out, self.graph.text(*spelled)),
            x => self.argument(out, x),
        }
        if matches!(x, Argument::Int(_) | Argument::BigInt(_) | Argument::Float(_) | Argument::Complex(_)) {
            out.insert(start, '(');
            out.push(')');
        }
        if is_identifier(name) {
            out.push('.');
            out.push_str(name);
        } else {
            let base = out.split_off(start);
            write_path(out, &base, name);
        }
    }

    fn index(&self, out: &mut String, index: &Argument) {
        out.push('[');
        self.argument(out, index);
        out.push(']');
    }

    fn call(&self, out: &mut String, args: &[Argument], kwargs: &[(Symbol, Argument)]) {
        out.push('(');
        let mut separator = "";
        for argument in args {
            out.push_str(std::mem::replace(&mut separator, ", "));
            self.argument(out, argument);
        }
        let all_fit = kwargs.iter().all(|(key, _)| is_identifier(self.graph.text(*key)));
        if all_fit {
            for (key, argument) in kwargs {
                out.push_str(std::mem::replace(&mut separator, ", "));
                out.push_str(self.graph.text(*key));
                out.push_str(" = ");
                self.argument(out, argument);
            }
        } else {
            out.push_str(separator);
            out.push_str("**{");
            for (at, (key, argument)) in kwargs.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                out.push_str(&str_repr(self.graph.text(*key)));
                out.push_str(": ");
                self.argument(out, argument);
            }
            out.push('}');
        }
        out.push(')');
    }
}

impl Names for Statement<'_> {
    fn node(&self, out: &mut String, node: NodeId) {
        self.name(out, node);
    }

    /// By its name, as torch prints it, where that reads back.
    fn symint(&self, out: &mut String, spelled: &str) {
        if is_size_symbol(spelled) && !self.is_taken(spelled) {
            return out.push_str(spelled);
        }
        write_symint(out, spelled);
    }
}

fn write_symint(out: &mut String, spelled: &str) {
    out.push_str("torch.SymInt(");
    out.push_str(&str_repr(spelled));
    out.push(')');
}

/// Appends what stands between a name and its `=`: what is known of the value, or the type.
pub(super) fn write_annotation(out: &mut String, graph: &Graph, node: NodeId, style: Style) {
    let found = &graph[node];
    if let Some(options) = style.verbose {
        if found.value().is_some_and(|value| write_value(out, value, options)) {
            return;
        }
    }
    if let Some(annotation) = found.type_annotation() {
        out.push_str(" : ");
        out.push_str(graph.text(annotation));
    }
}

fn write_value(out: &mut String, value: &Value, options: ReadableOptions) -> bool {
    match value {
        Value::Tensor(meta) => {
            out.push_str(": \"");
            // A dtype that torch has no short name for is told in full.
            out.push_str(meta.dtype.abbreviation().unwrap_or(meta.dtype.name()));
            let list = |out: &mut String, dims: &[crate::ir::Dim]| {
                out.push('[');
                for (at, dim) in dims.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { ", " });
                    // Writing to a String cannot fail.
                    let _ = write!(out, "{dim}");
                }
                out.push(']');
            };
            list(out, &meta.shape);
            if let Some(stride) = meta.stride.as_ref().filter(|_| options.include_stride) {
                list(out, stride);
            }
            if let Some(device) = meta.device.as_ref().filter(|_| options.include_device) {
                out.push_str(device);
            }
            out.push('"');
            true
        }
        Value::Scalar(Scalar::Sym(text)) => {
            for part in [": \"Sym(", text, ")\""] {
                out.push_str(part);
            }
            true
        }
        _ => false,
    }
}

/// `base.a.b`; a part that is no identifier, or that Python reserves, by `getattr`.
fn write_path(out: &mut String, base: &str, path: &str) {
    let start = out.len();
    out.push_str(base);
    for part in path.split('.') {
        if is_identifier(part) {
            out.push('.');
            out.push_str(part);
        } else {
            out.insert_str(start, "getattr(");
            out.push_str(", ");
            let plain = !part.contains(['"', '\\']) && part.chars().all(|c| !c.is_control());
            if plain {
                out.push('"');
                out.push_str(part);
                out.push('"');
            } else {
                out.push_str(&str_repr(part));
            }
            out.push(')');
        }
    }
}

/// A function by the name under which code has it: builtins bare, those of `operator` and `math`
/// with an underscore, as torch names what is not its own.
pub(super) fn write_function(out: &mut String, target: &str) {
    match target.split_once('.') {
        Some(("builtins", name)) if is_identifier(name) => out.push_str(name),
        Some(("_operator", name)) if is_identifier(name) => {
            out.push_str("_operator_");
            out.push_str(name);
        }
        Some(("math", name)) if is_identifier(name) => {
            out.push_str("math_");
            out.push_str(name);
        }
        _ if target.split('.').all(is_identifier) => out.push_str(target),
        // No Python name: the reader knows this form.
        _ => {
            out.push_str("getattr(torch, ");
            out.push_str(&str_repr(target));
            out.push(')');
        }
    }
}
