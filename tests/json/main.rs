//! The JSON of `serialize_module`: reading, writing, and what is refused.

mod broken;
mod encoding;
mod forms;
mod numbers;
mod random;
mod read;
mod speed;
mod weights_file;
mod write;

use fxir::formats::json::{self, Schema, SerializeOptions};
use fxir::ir::{ErrorKind, ModuleTree};
use std::path::PathBuf;

/// Every form.
const SCHEMAS: [fn() -> Schema; 6] = [
    Schema::torch_1_8,
    Schema::output_args,
    Schema::is_quantized,
    Schema::torch_1_9,
    Schema::torch_1_10,
    Schema::torch_1_12,
];

/// The path of a file among the recorded cases.
fn case(path: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases")).join(path)
}

/// A recording of torch's serializer.
fn recorded(name: &str) -> String {
    std::fs::read_to_string(case(&format!("serialize/{name}/serialized.json"))).expect("a recorded case")
}

/// Reads what must be readable.
fn read(text: &str) -> ModuleTree {
    json::read(text.as_bytes(), None).unwrap_or_else(|error| panic!("{error} at {:?}\n{text}", error.place))
}

/// Writes what must be writable, indented as torch's recordings are.
fn write(tree: &ModuleTree) -> String {
    let options = SerializeOptions { indent: Some(1), ..Default::default() };
    json::serialize(tree, tree.root(), &options).expect("it can be written").json
}

/// The kind and the words of what is wrong with a text that cannot be read.
fn read_error(text: &str) -> (ErrorKind, String) {
    match json::read(text.as_bytes(), None) {
        Ok(_) => panic!("it was read: {text}"),
        Err(error) => (error.kind, error.message),
    }
}

/// A placeholder `x`, what is put in between, and an output of the node `out`.
fn net(between: &str, out: &str) -> String {
    net_with("{}", "{}", between, out)
}

/// The same with `modules` and `weights`. Users are put right.
fn net_with(modules: &str, weights: &str, between: &str, out: &str) -> String {
    let between = if between.is_empty() { String::new() } else { format!("{between},") };
    let x = format!(r#"{{{INFO}"target":"x","op_code":"placeholder","name":"x","args":[],"kwargs":{{}},"users":[]}}"#);
    let output = format!(
        r#"{{"target":"output","op_code":"output","name":"output","args":[{{"is_node":true,"name":"{out}"}}],"kwargs":{{}},"users":[]}}"#
    );
    with_users(&format!(r#"{{"modules":{modules},"weights":{weights},"nodes":[{x},{between}{output}]}}"#))
}

/// What is told of a float tensor of four elements.
const INFO: &str =
    r#""shape":"[4]","dtype":"torch.float32","requires_grad":"False","stride":"[1]","is_quantized":false,"#;

/// One call of `torch.f`, named `name`, with these args.
fn call(name: &str, args: &str) -> String {
    format!(
        r#"{{{INFO}"target":"torch.f","op_code":"call_function","name":"{name}","args":{args},"kwargs":{{}},"users":[]}}"#
    )
}

/// Fills in the empty `users` of every node from what `args` say: each name that occurs as
/// `"name":"N"}` behind an `is_node` after its definition.
fn with_users(text: &str) -> String {
    let mut done = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(r#""users":[]"#) {
        let (before, after) = rest.split_at(at);
        let own = before.rfind(r#""op_code""#).and_then(|at| {
            let part = &before[at..];
            let start = part.find(r#""name":""#)? + 8;
            part.get(start..start + part[start..].find('"')?)
        });
        done.push_str(before);
        rest = &after[r#""users":[]"#.len()..];
        let mut users = Vec::new();
        for node in rest.split(r#""op_code""#).skip(1) {
            let arguments = node.split(r#""users""#).next().unwrap_or_default();
            let uses = own.is_some_and(|own| arguments.contains(&format!(r#"{{"is_node":true,"name":"{own}""#)));
            let name = node.find(r#""name":""#).and_then(|at| node[at + 8..].split('"').next());
            users.extend(name.filter(|_| uses).map(|name| format!(r#"{{"is_node":true,"name":"{name}"}}"#)));
        }
        done.push_str(&format!(r#""users":[{}]"#, users.join(",")));
    }
    done + rest
}
