//! Graphs as lines of FX code: `x, y: add = x + y; return add` is what `forward(self, x, y)` does.
//! Shared by the tests that declare `mod fx_line;`.
#![allow(dead_code)] // each test uses its own part

use fxir::formats::python::print::code;
use fxir::formats::python::read::{read_code, read_into};
use fxir::ir::lint::lint_all;
use fxir::ir::{
    Argument, Attribute, Dtype, ModuleTree, NewModule, NodeId, Symbols, Tensor, TensorKind, TensorMeta, Value,
};
use fxir::passes::dead_code::eliminate_dead_code;
use fxir::passes::subgraph_matcher::{match_pattern, MatchOptions, Pattern};
use fxir::passes::subgraph_rewriter::{replace_pattern, Replaced};
use std::sync::Arc;

/// A member of a module, by what it is.
pub enum Is<'a> {
    /// A leaf of a type, with those of its settings that are True.
    Leaf(&'a str, &'a [&'a str]),
    /// A graph module, as text.
    Graph(&'a str),
    /// A tensor of two bytes, by the first.
    Tensor(u8),
}

fn function(text: &str) -> String {
    let (inputs, body) = text.split_once(": ").expect("inputs, a colon, statements");
    format!("def forward(self, {inputs}): {body}\n")
}

/// The module that does what the text says.
pub fn net(text: &str) -> ModuleTree {
    read_code(&function(text)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The same with members.
pub fn net_with(members: &[(&str, Is<'_>)], text: &str) -> ModuleTree {
    let mut tree = ModuleTree::new("GraphModule");
    let root = tree.root();
    for (path, member) in members {
        match member {
            Is::Leaf(type_name, settings) => {
                let leaf = tree.add_module(root, path, type_name, NewModule::Leaf).unwrap();
                for setting in *settings {
                    tree.set_attribute(leaf, setting, Attribute::Value(Argument::Bool(true))).unwrap();
                }
            }
            Is::Graph(text) => {
                let module = tree.add_module(root, path, "Inner", NewModule::Graph).unwrap();
                read_into(&mut tree, module, &function(text)).unwrap();
            }
            Is::Tensor(first) => tree.set_attribute(root, path, tensor(*first)).unwrap(),
        }
    }
    read_into(&mut tree, root, &function(text)).unwrap_or_else(|error| panic!("{text}: {error}"));
    tree
}

fn tensor(first: u8) -> Attribute {
    let tensor = Tensor::from_bytes(TensorMeta::new(Dtype::Uint8, [2i64]), vec![first, 0]).unwrap();
    Attribute::Tensor(TensorKind::Parameter, Arc::new(tensor))
}

/// The first byte of a tensor that is a member.
pub fn first_byte(tree: &ModuleTree, path: &str) -> u8 {
    match tree.attribute(tree.root(), path).unwrap() {
        Attribute::Tensor(_, tensor) => tensor.data().unwrap()[0],
        Attribute::Value(_) => panic!("{path} is no tensor"),
    }
}

/// The root as such a line, without what it clears.
pub fn shown(tree: &ModuleTree) -> String {
    let printed = code(tree, tree.root()).unwrap();
    let mut lines = printed.lines().map(str::trim).skip_while(|line| !line.starts_with("def forward(self"));
    let header = lines.next().unwrap().trim_start_matches("def forward(self").trim_start_matches(", ");
    let inputs = &header[..header.rfind(')').unwrap()];
    let statements: Vec<&str> =
        lines.filter(|line| !line.is_empty()).map(|line| line.split(";  ").next().unwrap()).collect();
    format!("{inputs}: {}", statements.join("; "))
}

/// The nodes of the root by their names.
pub fn nodes<const N: usize>(tree: &ModuleTree, names: [&str; N]) -> [NodeId; N] {
    let graph = tree.graph(tree.root()).unwrap();
    names.map(|name| graph.find_node(name).unwrap_or_else(|| panic!("no {name} in {}", shown(tree))))
}

/// All names of the root in order.
pub fn names(tree: &ModuleTree) -> String {
    let graph = tree.graph(tree.root()).unwrap();
    graph.nodes().map(|node| graph.name(node)).collect::<Vec<_>>().join(" ")
}

/// The users of a node of the root, by name.
pub fn users(tree: &ModuleTree, name: &str) -> String {
    let graph = tree.graph(tree.root()).unwrap();
    let [node] = nodes(tree, [name]);
    graph.users(node).map(|user| graph.name(user)).collect::<Vec<_>>().join(" ")
}

/// Replaces all matches, and lints.
pub fn rewrite(tree: &mut ModuleTree, pattern: &ModuleTree, replacement: &ModuleTree) -> Replaced {
    let root = tree.root();
    let (pattern, replacement) = ((pattern, pattern.root()), (replacement, replacement.root()));
    let replaced = replace_pattern(tree, root, pattern, replacement, &MatchOptions::default(), &mut ()).unwrap();
    assert_eq!(lint_all(tree, root), Ok(()), "{}", shown(tree));
    replaced
}

/// Graph, pattern, replacement, and what the graph is afterwards.
pub fn rewrites(cases: &[[&str; 4]]) {
    for [graph, pattern, replacement, expected] in cases {
        let mut tree = net(graph);
        rewrite(&mut tree, &net(pattern), &net(replacement));
        assert_eq!(shown(&tree), *expected, "{graph}");
    }
}

/// How often a pattern stands in a graph.
pub fn count(tree: &ModuleTree, pattern: &ModuleTree, options: &MatchOptions) -> usize {
    let pattern = Pattern::new(pattern, pattern.root()).unwrap();
    match_pattern(tree, tree.root(), &pattern, options, &mut ()).unwrap().len()
}

/// Graph, pattern, and how often it stands there.
pub fn counts(options: MatchOptions, cases: &[(&str, &str, usize)]) {
    for (graph, pattern, expected) in cases {
        assert_eq!(count(&net(graph), &net(pattern), &options), *expected, "{pattern} in {graph}");
    }
}

/// The graph without its dead code.
pub fn alive(mut tree: ModuleTree) -> String {
    let root = tree.root();
    eliminate_dead_code(&mut tree, root, None).unwrap();
    assert_eq!(lint_all(&tree, root), Ok(()));
    shown(&tree)
}

/// A float32 tensor of these sizes, as what a node yields.
pub fn yields<const N: usize>(sizes: [i64; N]) -> Option<Arc<Value>> {
    Some(Arc::new(Value::Tensor(TensorMeta::new(Dtype::Float32, sizes))))
}

/// An argument as in FX code.
pub fn literal(text: &str, symbols: &Symbols) -> Argument {
    fxir::formats::python::literal::parse_literal(text, symbols).unwrap_or_else(|| panic!("{text}"))
}
