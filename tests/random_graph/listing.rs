//! A tree as text with all that a pass could change, to see that it changed nothing.

use fxir::ir::{Argument, Graph, ModuleTree};
use std::fmt::Write;

/// Every module with its members, and every node with its id, arguments, users and metadata.
pub fn listing(tree: &ModuleTree) -> String {
    let mut text = String::new();
    let symbols = tree.symbols();
    for module in tree.modules_below(tree.root()) {
        let found = tree.get(module).unwrap();
        let path = tree.path(module, tree.root()).unwrap();
        let kind = symbols.text(found.type_name());
        let members: Vec<&str> =
            found.submodules().keys().chain(found.attributes().keys()).map(|&name| symbols.text(name)).collect();
        writeln!(text, "[{path}] {kind} {members:?}").unwrap();
        found.graph().into_iter().for_each(|graph| list_graph(graph, &mut text));
    }
    text
}

fn list_graph(graph: &Graph, text: &mut String) {
    for node in graph.nodes() {
        let found = &graph[node];
        let mut arguments: Vec<String> = found.args().iter().map(|argument| show(graph, argument)).collect();
        let kwargs = found.kwargs().iter();
        arguments.extend(kwargs.map(|(key, argument)| format!("{}={}", graph.text(*key), show(graph, argument))));
        let users: Vec<&str> = graph.users(node).map(|user| graph.name(user)).collect();
        writeln!(
            text,
            "  {} #{:x} = {} {}({}) users {users:?} meta {:?}",
            graph.name(node),
            node.to_bits(),
            found.op().name(),
            graph.target(node),
            arguments.join(", "),
            found.meta(),
        )
        .unwrap();
    }
}

/// An argument with nodes by name.
pub fn show(graph: &Graph, argument: &Argument) -> String {
    let all = |items: &[Argument]| items.iter().map(|item| show(graph, item)).collect::<Vec<_>>().join(", ");
    match argument {
        Argument::Node(node) => graph.name(*node).to_string(),
        Argument::List(items) => format!("[{}]", all(items)),
        Argument::Tuple(items) => format!("({})", all(items)),
        Argument::Slice(parts) => format!("slice({})", all(parts.as_ref())),
        Argument::Dict(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{}: {}", show(graph, key), show(graph, value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        Argument::Str(text) => format!("{:?}", graph.text(*text)),
        Argument::Device(text) => format!("device({})", graph.text(*text)),
        other => format!("{other:?}"),
    }
}
