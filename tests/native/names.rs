//! Names that were given, and those that come next.

use super::{document_of, loaded, next_name};
use fxir::ir::{Kwargs, ModuleTree};

fn tree_with(names: &[&str]) -> ModuleTree {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    let graph = tree.graph_mut(root).unwrap();
    names.iter().for_each(|name| drop(next_name(graph, name)));
    tree
}

#[test]
fn names_that_only_erased_nodes_had_stay_given() {
    let mut tree = tree_with(&["add"; 6]);
    let root = tree.root();
    let graph = tree.graph_mut(root).unwrap();
    for name in ["add", "add_2", "add_5"] {
        let node = graph.find_node(name).unwrap();
        graph.erase_node(node).unwrap();
    }
    let mut again = loaded(&tree);
    assert!(document_of(&tree).contains(r#""names":{"add":{"plain":true,"numbers":[2,5],"count":5}}"#));
    let root = again.root();
    assert_eq!(next_name(again.graph_mut(root).unwrap(), "add"), "add_6");
}

#[test]
fn a_count_is_that_of_the_number_given_last() {
    // torch counts on from what was given last, not from the largest.
    let mut tree =
        tree_with(&["mul_7", "mul_3", "x_99999999999", "x_99999999998", "max", "max_1", "a_01", "b_2", "b_2"]);
    let root = tree.root();
    let again = loaded(&tree);
    assert!(document_of(&tree).contains(r#""mul":{"count":3}"#));
    for tree in [tree.clone(), again].iter_mut() {
        let graph = tree.graph_mut(root).unwrap();
        let names = ["mul", "mul", "mul", "mul", "mul"].map(|name| next_name(graph, name));
        assert_eq!(names, ["mul", "mul_4", "mul_5", "mul_6", "mul_8"]);
    }
    let graph = tree.graph_mut(root).unwrap();
    let nodes: Vec<_> = graph.nodes().collect();
    for node in nodes {
        graph.rename(node, "again").unwrap();
    }
    loaded(&tree);
}

#[test]
fn names_that_are_none_of_pythons() {
    // A splice that keeps names, or a file, may give names that would not have been given.
    let document = r#"{"version":1,"modules":[{"type":"Net","kind":"graph"}],"graphs":[{"module":0,"nodes":[
        {"op":"placeholder","name":"","target":"a"},{"op":"placeholder","name":"é 7","target":"a"},
        {"op":"placeholder","name":"self","target":"a"},{"op":"placeholder","name":"for_1","target":"a"},
        {"op":"placeholder","name":"\"_3","target":"a"},{"op":"placeholder","name":"_1","target":"a"}]}]}"#;
    let tree = super::load_document(document).unwrap();
    let graph = tree.graph(tree.root()).unwrap();
    let names: Vec<&str> = graph.nodes().map(|node| graph.name(node)).collect();
    assert_eq!(names, ["", "é 7", "self", "for_1", "\"_3", "_1"]);
    loaded(&tree);
    let error = fxir::ir::lint::lint(&tree, tree.root()).unwrap_err();
    assert!(error.message.contains("name"), "{error}");
}

#[test]
fn a_graph_whose_names_were_just_given_tells_only_its_counts() {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    let graph = tree.graph_mut(root).unwrap();
    let x = graph.placeholder("x").unwrap();
    for _ in 0..3 {
        graph.call_function("torch.add", vec![x.into()], Kwargs::new()).unwrap();
    }
    graph.output(x.into()).unwrap();
    assert!(document_of(&tree).contains(r#""names":{"add":{"count":2}}"#));
    loaded(&tree);
}
