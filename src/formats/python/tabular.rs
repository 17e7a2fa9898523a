//! A graph as a table, one line a node: torch's `Graph.print_tabular`.

use super::repr::write_repr;
use crate::ir::{Argument, Graph};

const HEADERS: [&str; 5] = ["opcode", "name", "target", "args", "kwargs"];

/// A column is at least this much wider than its header.
const ROOM: usize = 2;

/// What lies between two columns.
const GAP: &str = "  ";

/// The graph as torch's `print_tabular` prints it, each line with a newline behind it. Functions are
/// told by their qualified names, where torch prints Python objects and their addresses.
pub fn tabular(graph: &Graph) -> String {
    let rows: Vec<[String; 5]> = graph
        .nodes()
        .map(|id| {
            let node = &graph[id];
            let args = Argument::Tuple(node.args().into());
            let kwargs = node.kwargs().iter().map(|(key, value)| (Argument::Str(*key), value.clone())).collect();
            [
                node.op().name().to_owned(),
                graph.name(id).to_owned(),
                graph.target(id).to_owned(),
                spelled(graph, &args),
                spelled(graph, &Argument::Dict(kwargs)),
            ]
        })
        .collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.fold(HEADERS[column].len() + ROOM, usize::max)
    };
    let widths: [usize; 5] = std::array::from_fn(width);

    let mut out = String::new();
    line(&mut out, &widths, HEADERS);
    let rules = widths.map(|width| "-".repeat(width));
    line(&mut out, &widths, rules.each_ref().map(String::as_str));
    for row in &rows {
        line(&mut out, &widths, row.each_ref().map(String::as_str));
    }
    out
}

fn spelled(graph: &Graph, argument: &Argument) -> String {
    let mut out = String::new();
    write_repr(&mut out, argument, graph.symbols(), &|node| graph.name(node));
    out
}

fn line(out: &mut String, widths: &[usize; 5], cells: [&str; 5]) {
    let start = out.len();
    for (column, (cell, width)) in cells.into_iter().zip(widths).enumerate() {
        if column > 0 {
            out.push_str(GAP);
        }
        out.push_str(cell);
        out.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count())));
    }
    let end = start + out[start..].trim_end().len();
    out.truncate(end);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::ModuleTree;

    #[test]
    fn a_table_as_torch_prints_it() {
        let mut tree = ModuleTree::new("Net");
        let root = tree.root();
        let graph = tree.graph_mut(root).unwrap();
        let dim = graph.symbols().intern("dim");
        let x = graph.placeholder("x").unwrap();
        let args = [Argument::Node(x), Argument::Int(3)];
        let add = graph.call_function("_operator.add", args.as_slice(), vec![]).unwrap();
        let list = [Argument::List([Argument::Node(add), Argument::Node(x)].into())];
        let cat = graph.call_function("torch.cat", list.as_slice(), vec![(dim, Argument::Int(1))]).unwrap();
        graph.output(Argument::Node(cat)).unwrap();
        let expected = "\
opcode         name    target         args         kwargs
-------------  ------  -------------  -----------  ----------
placeholder    x       x              ()           {}
call_function  add     _operator.add  (x, 3)       {}
call_function  cat     torch.cat      ([add, x],)  {'dim': 1}
output         output  output         (cat,)       {}
";
        assert_eq!(tabular(graph), expected);
    }
}
