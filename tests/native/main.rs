//! The native form: what is saved is loaded to the bit, and what is no such file is refused.

mod broken;
mod kinds;
mod names;
mod random;
#[path = "../random_graph/mod.rs"]
mod random_graph;
mod speed;
mod tensors;
mod version_1;

use fxir::formats::native;
use fxir::formats::weights;
use fxir::ir::{Argument, At, Dtype, Error, Graph, Kwargs, ModuleTree, Op, Tensor, TensorMeta};
use std::sync::Arc;

/// Saves a module, loads it, and finds the two to be one: by comparison, by the bytes of saving it
/// again, and by the names that are given next.
fn loaded(tree: &ModuleTree) -> ModuleTree {
    let bytes = native::to_bytes(tree, tree.root()).expect("it can be saved");
    let again = native::from_bytes(Arc::new(bytes.clone()))
        .unwrap_or_else(|error| panic!("{error} at {:?}\n{}", error.place, text_of(&bytes)));
    assert!(again.is_same_as(again.root(), tree, tree.root()), "it is another:\n{}", text_of(&bytes));
    let rewritten = native::to_bytes(&again, again.root()).expect("it can be saved again");
    assert!(rewritten == bytes, "saved first:\n{}\nsaved again:\n{}", text_of(&bytes), text_of(&rewritten));
    assert_names_go_on(tree, &again);
    again
}

/// Whether all graphs of two trees name new nodes alike.
fn assert_names_go_on(tree: &ModuleTree, other: &ModuleTree) {
    let (mut left, mut right) = (tree.clone(), other.clone());
    let modules: Vec<_> = left.modules_below(left.root()).zip(right.modules_below(right.root())).collect();
    for (id, other) in modules {
        let (Ok(left), Ok(right)) = (left.graph_mut(id), right.graph_mut(other)) else { continue };
        let mut asked: Vec<String> = vec!["add".into(), "sum_7".into(), "never".into(), "9".into()];
        for node in left.nodes() {
            let name = left.name(node).to_owned();
            asked.push(name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_').into());
            asked.extend([left.target(node).to_owned(), name]);
        }
        for name in asked {
            for _ in 0..2 {
                assert_eq!(next_name(left, &name), next_name(right, &name), "{name} is asked for");
            }
        }
    }
}

fn next_name(graph: &mut Graph, name: &str) -> String {
    let node = graph.create_node(At::Default, Op::CallFunction, "f", Vec::new().into(), Kwargs::new(), Some(name));
    graph.name(node.unwrap()).to_owned()
}

/// The document of a saved module.
fn text_of(bytes: &[u8]) -> String {
    let file = weights::from_bytes(Arc::new(bytes.to_vec())).expect("it is a safetensors file");
    let text = file.get("__fxir__").and_then(|document| document.data()).expect("it has a document");
    String::from_utf8(text.to_vec()).expect("it is UTF-8")
}

fn document_of(tree: &ModuleTree) -> String {
    text_of(&native::to_bytes(tree, tree.root()).expect("it can be saved"))
}

/// A file with this document, and a tensor `w` of the bytes 0 to 15.
fn file_with(document: &str) -> Vec<u8> {
    let bytes = |bytes: Vec<u8>| Tensor::from_bytes(TensorMeta::new(Dtype::Uint8, [bytes.len() as i64]), bytes);
    let tensors = [("__fxir__", bytes(document.into()).unwrap()), ("w", bytes((0..16).collect()).unwrap())];
    let mut written = Vec::new();
    weights::write_to(&mut written, tensors.iter().map(|(name, tensor)| (*name, tensor))).unwrap();
    labelled(&written, r#"{"format":"fxir"}"#)
}

/// The same safetensors file with metadata in its header.
fn labelled(file: &[u8], metadata: &str) -> Vec<u8> {
    let length = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&file[8..8 + length]).unwrap();
    let header = header.replacen('{', &format!(r#"{{"__metadata__":{metadata},"#), 1);
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &file[8 + length..]].concat()
}

fn load_document(document: &str) -> Result<ModuleTree, Error> {
    native::from_bytes(Arc::new(file_with(document)))
}

fn call(tree: &mut ModuleTree, target: &str, args: impl IntoIterator<Item = Argument>) -> fxir::ir::NodeId {
    let root = tree.root();
    let args: Vec<Argument> = args.into_iter().collect();
    tree.graph_mut(root).unwrap().call_function(target, args, Kwargs::new()).unwrap()
}
