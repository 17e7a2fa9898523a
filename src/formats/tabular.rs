//! The table that torch's `graph.print_tabular()` prints.

use std::fmt::Write;

use crate::formats::python::repr::{str_repr, write_repr};
use crate::ir::{Graph, NodeId, Op};

const HEADERS: [&str; 5] = ["opcode", "name", "target", "args", "kwargs"];

/// Columns are at least this much wider than their headers, as in the package that torch uses.
const HEADER_PADDING: usize = 2;

/// One row a node: op, name, target, args, kwargs; no newline at the end.
///
/// Targets of functions are qualified names where torch prints objects with their addresses;
/// operators and builtins, which have none, are printed as torch prints them.
pub fn print_tabular(graph: &Graph) -> String {
    let mut rows: Vec<[String; 5]> = vec![HEADERS.map(str::to_owned)];
    rows.extend(graph.nodes().map(|node| row(graph, node)));

    let mut widths = HEADERS.map(|header| header.len() + HEADER_PADDING);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut lines = Vec::with_capacity(rows.len() + 1);
    for row in &rows {
        lines.push(line(row, &widths));
    }
    lines.insert(1, line(&widths.map(|width| "-".repeat(width)), &widths));
    lines.join("\n")
}

fn line(cells: &[String; 5], widths: &[usize; 5]) -> String {
    let mut text = String::new();
    for (cell, &width) in cells.iter().zip(widths) {
        let separator = if text.is_empty() { "" } else { "  " };
        // Writing to a String cannot fail.
        let _ = write!(text, "{separator}{cell:<width$}");
    }
    text.truncate(text.trim_end().len());
    text
}

fn row(graph: &Graph, node: NodeId) -> [String; 5] {
    let found = &graph[node];
    let name = |out: &mut String, node| graph.write_name(out, node);
    let mut args = String::from("(");
    for (at, argument) in found.args().iter().enumerate() {
        args.push_str(if at == 0 { "" } else { ", " });
        write_repr(&mut args, argument, graph.symbols(), &name);
    }
    args.push_str(if found.args().len() == 1 { ",)" } else { ")" });

    let mut kwargs = String::from("{");
    for (at, (key, argument)) in found.kwargs().iter().enumerate() {
        kwargs.push_str(if at == 0 { "" } else { ", " });
        kwargs.push_str(&str_repr(graph.text(*key)));
        kwargs.push_str(": ");
        write_repr(&mut kwargs, argument, graph.symbols(), &name);
    }
    kwargs.push('}');

    let target = target_text(found.op(), graph.target(node));
    let mut own = String::new();
    graph.write_name(&mut own, node);
    [found.op().name().to_owned(), own, target, args, kwargs]
}

/// What Python's `str` gives for a target.
fn target_text(op: Op, target: &str) -> String {
    if op != Op::CallFunction {
        return target.to_owned();
    }
    if let Some(overload) = target.strip_prefix("torch.ops.") {
        return overload.to_owned();
    }
    match target.rsplit_once('.') {
        Some(("_operator" | "operator" | "builtins" | "math", name)) => format!("<built-in function {name}>"),
        _ => target.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Argument, Kwargs, Symbols};
    use expect_test::expect;

    fn add_graph() -> Graph {
        let mut graph = Graph::new(Symbols::new());
        let x = graph.placeholder("x").unwrap();
        let conv = graph.call_module("layer1.0.conv1", [x.into()].as_slice(), Kwargs::new()).unwrap();
        let args: [Argument; 2] = [conv.into(), 1.into()];
        let add = graph.call_function("_operator.add", args, Kwargs::new()).unwrap();
        let dim = graph.symbols().intern("dim");
        let items = Argument::List([add.into(), x.into()].into());
        let cat = graph.call_function("torch.cat", [items].as_slice(), [(dim, (-1).into())].into()).unwrap();
        graph.output(cat.into()).unwrap();
        graph
    }

    #[test]
    fn a_table_as_torch_prints_it() {
        expect![[r#"
            opcode         name            target                   args                 kwargs
            -------------  --------------  -----------------------  -------------------  -----------
            placeholder    x               x                        ()                   {}
            call_module    layer1_0_conv1  layer1.0.conv1           (x,)                 {}
            call_function  add             <built-in function add>  (layer1_0_conv1, 1)  {}
            call_function  cat             torch.cat                ([add, x],)          {'dim': -1}
            output         output          output                   (cat,)               {}"#]]
        .assert_eq(&print_tabular(&add_graph()));
    }

    #[test]
    fn a_graph_without_nodes_has_headers() {
        let text = print_tabular(&Graph::new(Symbols::new()));
        assert_eq!(text, "opcode    name    target    args    kwargs\n--------  ------  --------  ------  --------");
    }
}
