//! The listing that `str(graph)` gives: one line a node, with users counted.

use crate::formats::python::repr::write_repr;
use crate::ir::{Argument, Graph, NodeId, Op};

/// `graph():`, and below it each node: `%add : [num_users=1] = call_function[...](args = ...)`.
pub fn graph_text(graph: &Graph) -> String {
    let mut out = String::from("graph()");
    if let Some(annotation) = graph.signature.return_annotation.as_deref() {
        out.push_str(" -> ");
        out.push_str(annotation);
    }
    out.push(':');
    for node in graph.nodes() {
        out.push_str("\n    ");
        line(&mut out, graph, node);
    }
    out
}

fn line(out: &mut String, graph: &Graph, node: NodeId) {
    let found = &graph[node];
    if found.op() == Op::Output {
        out.push_str("return ");
        found.args().iter().for_each(|value| plain(out, graph, value));
        return;
    }
    out.push('%');
    graph.write_name(out, node);
    out.push_str(" : ");
    if let Some(annotation) = found.type_annotation() {
        out.push_str(graph.text(annotation));
        out.push(' ');
    }
    out.push_str("[num_users=");
    out.push_str(itoa::Buffer::new().format(graph.user_count(node)));
    out.push_str("] = ");
    out.push_str(found.op().name());
    out.push_str("[target=");
    let target = graph.target(node);
    match target.strip_prefix("_operator.").filter(|_| found.op() == Op::CallFunction) {
        Some(name) => {
            out.push_str("operator.");
            out.push_str(name);
        }
        None => out.push_str(target),
    }
    out.push(']');
    match found.op() {
        Op::Placeholder => {
            if let Some(default) = found.args().first() {
                out.push_str("(default=");
                plain(out, graph, default);
                out.push(')');
            }
        }
        Op::GetAttr => {}
        _ => {
            out.push_str("(args = (");
            items(out, graph, found.args());
            out.push_str(if found.args().len() == 1 { ",)" } else { ")" });
            out.push_str(", kwargs = {");
            for (at, (key, value)) in found.kwargs().iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                out.push_str(graph.text(*key));
                out.push_str(": ");
                argument(out, graph, value);
            }
            out.push_str("})");
        }
    }
}

/// Nodes with a `%`, strings without quotes.
fn argument(out: &mut String, graph: &Graph, value: &Argument) {
    match value {
        Argument::Node(node) => {
            out.push('%');
            graph.write_name(out, *node);
        }
        Argument::Str(text) | Argument::Device(text) => out.push_str(graph.text(*text)),
        Argument::List(values) => {
            out.push('[');
            items(out, graph, values);
            out.push(']');
        }
        Argument::Tuple(values) => {
            out.push('(');
            items(out, graph, values);
            out.push_str(if values.len() == 1 { ",)" } else { ")" });
        }
        Argument::Dict(entries) => {
            out.push('{');
            for (at, (key, value)) in entries.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                argument(out, graph, key);
                out.push_str(": ");
                argument(out, graph, value);
            }
            out.push('}');
        }
        _ => write_repr(out, value, graph.symbols(), &|out: &mut String, node| graph.write_name(out, node)),
    }
}

fn items(out: &mut String, graph: &Graph, values: &[Argument]) {
    for (at, value) in values.iter().enumerate() {
        out.push_str(if at == 0 { "" } else { ", " });
        argument(out, graph, value);
    }
}

/// What Python's `str` gives: the whole is told, nodes by their names.
fn plain(out: &mut String, graph: &Graph, value: &Argument) {
    match value {
        Argument::Str(text) | Argument::Device(text) => out.push_str(graph.text(*text)),
        _ => write_repr(out, value, graph.symbols(), &|out: &mut String, node| graph.write_name(out, node)),
    }
}
