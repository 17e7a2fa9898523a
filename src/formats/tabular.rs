//! The table that torch's `graph.print_tabular()` prints.

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
    // All cells one after another, and where each ends.
    let mut cells = String::new();
    let mut ends: Vec<[usize; 5]> = Vec::with_capacity(graph.len());
    let mut widths = HEADERS.map(|header| header.len() + HEADER_PADDING);
    for node in graph.nodes() {
        let mut start = cells.len();
        let row = write_row(&mut cells, graph, node);
        for (width, end) in widths.iter_mut().zip(row) {
            *width = (*width).max(columns(&cells[start..end]));
            start = end;
        }
        ends.push(row);
    }
    let line_length = widths.iter().sum::<usize>() + 2 * widths.len();
    let mut out = String::with_capacity((ends.len() + 2) * line_length);
    write_line(&mut out, HEADERS, &widths);
    let rules = widths.map(|width| "-".repeat(width));
    write_line(&mut out, [0, 1, 2, 3, 4].map(|column: usize| rules[column].as_str()), &widths);
    let mut start = 0;
    for row in ends {
        let line = row.map(|end| &cells[std::mem::replace(&mut start, end)..end]);
        write_line(&mut out, line, &widths);
    }
    out.pop(); // the last newline
    out
}

/// How many columns a cell takes: one a character.
fn columns(cell: &str) -> usize {
    if cell.is_ascii() {
        cell.len()
    } else {
        cell.chars().count()
    }
}

/// Cells, padded but for the end of the line, and a newline.
fn write_line(out: &mut String, cells: [&str; 5], widths: &[usize; 5]) {
    let start = out.len();
    for (column, (cell, &width)) in cells.into_iter().zip(widths).enumerate() {
        out.push_str(if column == 0 { "" } else { "  " });
        out.push_str(cell);
        out.extend(std::iter::repeat_n(' ', width.saturating_sub(columns(cell))));
    }
    out.truncate(start + out[start..].trim_end().len());
    out.push('\n');
}

/// Appends the cells of a row, and tells where each ends.
fn write_row(out: &mut String, graph: &Graph, node: NodeId) -> [usize; 5] {
    let found = &graph[node];
    let name = |out: &mut String, node| graph.write_name(out, node);
    out.push_str(found.op().name());
    let op = out.len();
    graph.write_name(out, node);
    let own = out.len();
    write_target(out, found.op(), graph.target(node));
    let target = out.len();
    out.push('(');
    for (at, argument) in found.args().iter().enumerate() {
        out.push_str(if at == 0 { "" } else { ", " });
        write_repr(out, argument, graph.symbols(), &name);
    }
    out.push_str(if found.args().len() == 1 { ",)" } else { ")" });
    let args = out.len();
    out.push('{');
    for (at, (key, argument)) in found.kwargs().iter().enumerate() {
        out.push_str(if at == 0 { "" } else { ", " });
        out.push_str(&str_repr(graph.text(*key)));
        out.push_str(": ");
        write_repr(out, argument, graph.symbols(), &name);
    }
    out.push('}');
    [op, own, target, args, out.len()]
}

/// What Python's `str` gives for a target.
fn write_target(out: &mut String, op: Op, target: &str) {
    if op != Op::CallFunction {
        return out.push_str(target);
    }
    if let Some(overload) = target.strip_prefix("torch.ops.") {
        return out.push_str(overload);
    }
    match target.rsplit_once('.') {
        Some(("_operator" | "operator" | "builtins" | "math", name)) => {
            out.push_str("<built-in function ");
            out.push_str(name);
            out.push('>');
        }
        _ => out.push_str(target),
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
