//! Functions and classes: signature, statements, comments, nested classes.

use super::clears::Clears;
use super::statement::{write_annotation, write_function, Statement};
use super::ReadableOptions;
use crate::formats::python::pytree::Pytree;
use crate::formats::python::repr::write_repr;
use crate::formats::python::stack_trace;
use crate::ir::{Argument, Graph, ModuleId, ModuleTree, NodeId, Op, Result};
use rustc_hash::FxHashSet;

/// What is printed besides the operations.
#[derive(Clone, Copy)]
pub(super) struct Style {
    /// Annotations of values, and comments.
    pub(super) verbose: Option<ReadableOptions>,
}

impl Style {
    pub(super) fn plain() -> Self {
        Style { verbose: None }
    }

    pub(super) fn verbose(options: ReadableOptions) -> Self {
        Style { verbose: Some(options) }
    }
}

pub(super) struct Class<'t> {
    pub(super) tree: &'t ModuleTree,
    pub(super) style: Style,
}

impl Class<'_> {
    /// A class with one method, and below it the classes of its graph modules. They are printed in
    /// the order of a walk, each indented by its depth, so that depth takes no stack.
    pub(super) fn class(&self, out: &mut String, top: ModuleId, name: &str) -> Result<()> {
        let mut pending = vec![(top, name, 0)];
        while let Some((module, name, indent)) = pending.pop() {
            let found = self.tree.get(module)?;
            if let Some(graph) = found.graph() {
                if module != top {
                    out.push('\n');
                }
                push_spaces(out, indent);
                out.push_str("class ");
                out.push_str(name);
                out.push_str("(torch.nn.Module):\n");
                self.function(out, graph, indent + 4, false);
                let has_graph = |id| self.tree.get(id).is_ok_and(|child| child.graph().is_some());
                let children = found.submodules.iter().rev().filter(|&(_, &id)| has_graph(id));
                pending.extend(children.map(|(&name, &id)| (id, self.tree.symbols().text(name), indent + 4)));
            }
        }
        Ok(())
    }

    /// The method. Torch puts blank lines before it where it stands alone.
    pub(super) fn function(&self, out: &mut String, graph: &Graph, indent: usize, alone: bool) {
        let wrapped = wrapped(graph);
        if alone {
            out.push('\n');
        }
        for name in &wrapped {
            push_spaces(out, indent);
            out.push_str("torch.fx._symbolic_trace.wrap(\"");
            out.push_str(name);
            out.push_str("\")\n");
        }
        match (wrapped.is_empty(), alone) {
            (true, true) => out.push_str("\n\n"),
            (true, false) => {}
            (false, _) => {
                push_spaces(out, indent);
                out.push('\n');
            }
        }
        push_spaces(out, indent);
        let statement = Statement::new(graph, self.style);
        self.signature(out, graph, &statement, indent);
        self.body(out, graph, &statement, indent + 4);
    }

    fn signature(&self, out: &mut String, graph: &Graph, statement: &Statement<'_>, indent: usize) {
        let returns = |out: &mut String| {
            let output = graph.output_node().and_then(|output| graph[output].type_annotation());
            if let Some(annotation) =
                output.map(|symbol| graph.text(symbol)).or(graph.signature.return_annotation.as_deref())
            {
                out.push_str(" -> ");
                out.push_str(annotation);
            }
            out.push(':');
        };
        match graph.signature.pytree_header.as_deref().and_then(Pytree::of) {
            Some(pytree) => {
                out.push_str("def ");
                out.push_str(pytree.function);
                returns(out);
                let mut annotated = false;
                for node in graph.nodes_of(Op::Placeholder) {
                    let mut text = String::new();
                    self.parameter(&mut text, graph, statement, node);
                    if text.contains(':') {
                        if !annotated {
                            out.push('\n');
                            push_spaces(out, indent + 4);
                        }
                        annotated = true;
                        out.push_str(&text);
                        out.push_str("; ");
                    }
                }
                if annotated {
                    out.push('\n');
                    push_spaces(out, indent);
                }
                for line in pytree.bindings {
                    out.push('\n');
                    push_spaces(out, indent + 4);
                    out.push_str(line);
                }
            }
            None => {
                out.push_str("def forward(");
                let mut parameters = graph.nodes_of(Op::Placeholder).peekable();
                out.push_str(statement.receiver());
                out.push_str(if parameters.peek().is_some() { ", " } else { "" });
                for (at, node) in parameters.enumerate() {
                    out.push_str(if at == 0 { "" } else { ", " });
                    self.parameter(out, graph, statement, node);
                }
                out.push(')');
                returns(out);
            }
        }
        out.push('\n');
    }

    fn parameter(&self, out: &mut String, graph: &Graph, statement: &Statement<'_>, node: NodeId) {
        out.push_str(graph.target(node));
        write_annotation(out, graph, node, self.style);
        if let Some(default) = graph[node].args().first() {
            out.push_str(" = ");
            write_repr(out, default, graph.symbols(), statement);
        }
    }

    fn body(&self, out: &mut String, graph: &Graph, statement: &Statement<'_>, indent: usize) {
        let clears = Clears::new(graph);
        let mut trace = None;
        let mut is_first = true;
        for node in graph.nodes() {
            let found = &graph[node];
            if self.style.verbose.is_some() && !matches!(found.op(), Op::Placeholder | Op::Output) {
                let own = match found.meta().entries.get(&graph.symbols().intern("stack_trace")) {
                    Some(Argument::Str(text)) => graph.text(*text),
                    _ => "",
                };
                if trace != Some(own) {
                    trace = Some(own);
                    // The first line of a body is not left blank.
                    if !is_first {
                        push_spaces(out, indent);
                        out.push('\n');
                    }
                    is_first = false;
                    push_spaces(out, indent);
                    match own {
                        "" => out.push_str("# No stacktrace found for following nodes"),
                        _ => {
                            out.push_str(" # ");
                            stack_trace::write_summary(out, own);
                        }
                    }
                    out.push('\n');
                }
            }
            let start = out.len();
            push_spaces(out, indent);
            if statement.write(out, node) {
                clears.write(out, graph, node);
                out.push('\n');
                is_first = false;
            } else {
                out.truncate(start);
            }
        }
        if is_first {
            push_spaces(out, indent);
            out.push_str("pass\n");
        }
        push_spaces(out, indent);
    }
}

/// The declared names that nodes call, in order of their first call.
fn wrapped(graph: &Graph) -> Vec<&str> {
    let mut declared: FxHashSet<&str> = graph.signature.wrapped.iter().map(String::as_str).collect();
    if declared.is_empty() {
        return Vec::new();
    }
    let mut name = String::new();
    let mut called = Vec::with_capacity(declared.len());
    for node in graph.nodes_of(Op::CallFunction) {
        name.clear();
        write_function(&mut name, graph.target(node));
        called.extend(declared.take(name.as_str()));
    }
    called
}

fn push_spaces(out: &mut String, count: usize) {
    const SPACES: &str = "                                ";
    let mut left = count;
    while left > 0 {
        let now = left.min(SPACES.len());
        out.push_str(&SPACES[..now]);
        left -= now;
    }
}
