//! Files that are not what they should be: each is refused, with the place, and nothing panics.

use super::{call, net, net_with, read, read_error, recorded, write, INFO};
use fxir::formats::json;
use fxir::ir::{Argument, Dtype, ErrorKind, Kwargs, ModuleTree, NewModule, TensorMeta, Value};

const X: &str = r#"[{"is_node":true,"name":"x"}]"#;

/// A net of one call, a part of whose text is replaced.
fn broken(part: &str, replacement: &str) -> String {
    let text = net(&call("f", X), "f");
    read(&text);
    assert!(text.contains(part), "{part} is not in {text}");
    text.replacen(part, replacement, 1)
}

#[test]
fn every_key_is_checked() {
    for (part, replacement, message) in [
        // The module.
        (r#""modules":{},"#, "", "`modules` is missing"),
        (r#""weights":{},"#, "", "`weights` is missing"),
        (r#""modules":{}"#, r#""modules":[]"#, "`modules`: invalid type: sequence, expected graph modules by target"),
        (r#""weights":{}"#, r#""weights":{},"weights":{}"#, "given twice"),
        (r#""weights":{}"#, r#""weights":{},"more":1"#, "`more`: a serialized graph module has no such key"),
        // A node's tensor.
        (r#""shape":"[4]","#, "", "nodes[0] `x`: the key `shape` is missing"),
        (r#""shape":"[4]""#, r#""shape":[4]"#, "nodes[0]: `shape`: it is not a string"),
        (r#""shape":"[4]""#, r#""shape":[["[4]"]]"#, "nodes[0]: `shape`: it is not a list of strings"),
        (r#""shape":"[4]""#, r#""shape":["[4]"]"#, "some keys have lists, and others have none"),
        (r#""shape":"[4]""#, r#""shape":{"a":1}"#, "nodes[0]: `shape`: it is not a string"),
        (r#""shape":"[4]""#, r#""shape":"[4""#, "`shape` is no list of sizes"),
        (r#""shape":"[4]""#, r#""shape":"[-4]""#, "a size is negative: -4"),
        (r#""shape":"[4]""#, r#""shape":"[9223372036854775807]""#, "is too large"),
        (r#""shape":"[4]""#, r#""shape":"[9223372036854775808]""#, "`shape` is no list of sizes"),
        (r#""shape":"[4]""#, r#""shape":"[4, 4]""#, "1 stride for 2 dimensions"),
        (r#""stride":"[1]""#, r#""stride":"[-1]""#, "a stride is negative"),
        (r#""dtype":"torch.float32""#, r#""dtype":"float32""#, "`dtype` is none that torch has"),
        (
            r#""dtype":"torch.float32""#,
            r#""dtype":"torch.qint8""#,
            "`is_quantized` is false for a tensor of torch.qint8",
        ),
        (r#""requires_grad":"False""#, r#""requires_grad":false"#, "`requires_grad`: it is not a string"),
        (r#""requires_grad":"False""#, r#""requires_grad":"false""#, "neither \"True\" nor \"False\""),
        (r#""is_quantized":false"#, r#""is_quantized":"False""#, "`is_quantized`: it is not a boolean"),
        (r#""is_quantized":false"#, r#""is_quantized":true"#, "`is_quantized` is true for a tensor of torch.float32"),
        (r#""is_quantized":false"#, r#""is_quantized":false,"q_scale":0.5"#, "it has scales, but is not quantized"),
        (
            r#""is_quantized":false"#,
            r#""is_quantized":false,"qscheme":"torch.x""#,
            "it has a `qscheme`, but is not quantized",
        ),
        // The node.
        (r#""op_code":"placeholder","#, "", "nodes[0] `x`: the key `op_code` is missing"),
        (r#""op_code":"placeholder""#, r#""op_code":"Placeholder""#, "`op_code` is none of FX: \"Placeholder\""),
        (r#""op_code":"placeholder""#, r#""op_code":null"#, "`op_code`: invalid type: null"),
        (r#""target":"x","#, "", "the key `target` is missing"),
        (r#""target":"x""#, r#""target":"x\u0000""#, "has a NUL in it"),
        (r#""name":"x","#, "", "nodes[0]: the key `name` is missing"),
        (r#""name":"x","args""#, r#""name":"1x","args""#, "nodes[0] `1x`: its name is no identifier"),
        (r#""name":"x","args""#, r#""name":"if","args""#, "its name is no identifier, or one that Python"),
        (r#""name":"f","args""#, r#""name":"x","args""#, "nodes[1] `x`: another node has the same name"),
        (r#""args":[],"#, "", "the key `args` is missing"),
        (r#""args":[]"#, r#""args":{}"#, "`args`: invalid type: map, expected a list of arguments"),
        (r#""kwargs":{},"#, "", "the key `kwargs` is missing"),
        (r#""kwargs":{}"#, r#""kwargs":[]"#, "`kwargs`: invalid type: sequence"),
        (r#""args":[],"kwargs":{}"#, r#""args":[],"kwargs":{"a":1}"#, "nothing but a default value"),
        (
            r#""kwargs":{},"users":[{"is_node":true,"name":"output"}]"#,
            r#""kwargs":{"a":1,"a":2},"users":[]"#,
            "is given twice",
        ),
        (r#""kwargs":{}"#, r#""kwargs":{"\u0000":1}"#, "has a NUL in it"),
        (r#""args":[]"#, r#""args":[],"args":[]"#, "nodes[0] `x`: `args`: the key is given twice"),
        (r#""target":"x""#, r#""info":1,"info":2,"target":"x""#, "nodes[0]: `info`: the key is given twice"),
        (
            r#""target":"torch.f""#,
            r#""parameters":{"name":"A"},"target":"torch.f""#,
            "a call_function has no `parameters`",
        ),
        (r#""target":"torch.f""#, r#""ph_type":"a","target":"torch.f""#, "a call_function has no `ph_type`"),
        // References.
        (
            X,
            r#"[{"is_node":true,"name":"y"}]"#,
            "nodes[1] `f`: `args`: it uses `y`, and no node before it has that name",
        ),
        (X, r#"[{"is_node":true,"name":"f"}]"#, "it uses `f`, and no node before it"),
        (X, r#"[{"is_node":true,"name":"output"}]"#, "it uses `output`, and no node before it"),
        (X, r#"[{"is_node":true}]"#, "a reference to a node has no `name`"),
        (X, r#"[{"is_node":true,"name":3}]"#, "invalid type: integer `3`, expected a string"),
        (X, r#"[{"name":3,"is_node":true}]"#, "the name of a node is not a string"),
        (X, r#"[{"is_node":true,"name":"x","name":"x"}]"#, "given twice"),
        (X, r#"[{"is_node":true,"is_node":true,"name":"x"}]"#, "cannot be that"),
        (X, r#"[{"is_node":true,"name":"x","shape":"[4]"}]"#, "only references in an output have"),
        (X, r#"[{"is_node":true,"name":"x"},{"a":1,"a":2}]"#, "a dict has a key twice"),
        // Users.
        (
            r#""users":[{"is_node":true,"name":"f"}]"#,
            r#""users":[]"#,
            "nodes[0] `x`: `users` are not the nodes that use it: 0 told, 1",
        ),
        (r#""users":[{"is_node":true,"name":"f"}]"#, r#""users":[{"is_node":true,"name":"g"}]"#, "`users` are not"),
        (
            r#""users":[{"is_node":true,"name":"f"}]"#,
            r#""users":[{"is_node":true,"name":"output"}]"#,
            "`users` are not",
        ),
        (
            r#""users":[{"is_node":true,"name":"f"}]"#,
            r#""users":[{"is_node":true,"name":"f"},{"is_node":true,"name":"f"}]"#,
            "`users` are not",
        ),
        (
            r#""users":[{"is_node":true,"name":"f"}]"#,
            r#""users":["f"]"#,
            "`users`: invalid type: string \"f\", expected a reference",
        ),
        (
            r#""users":[{"is_node":true,"name":"f"}]"#,
            r#""users":[{"is_node":false,"name":"f"}]"#,
            "is not a reference to a node",
        ),
        (
            r#""users":[{"is_node":true,"name":"f"}]"#,
            r#""users":[{"is_node":true,"name":"f","a":1}]"#,
            "has no key `a`",
        ),
        // The output.
        (
            r#"{"is_node":true,"name":"f"}],"kwargs""#,
            r#"{"is_node":true,"name":"f","shape":"[4]"}],"kwargs""#,
            "what it tells of `f`: the key `dtype` is missing",
        ),
        // The text.
        (r#""modules""#, "modules", "key must be a string"),
        ("[4]", "[4]\\ud800", "unexpected end of hex escape"),
        ("[4]", "[4]\u{1}", "control character"),
    ] {
        let text = broken(part, replacement);
        let error = json::read(text.as_bytes(), None).expect_err(replacement);
        assert_eq!(error.kind, ErrorKind::Parse, "{text}");
        assert!(
            error.message.contains(message),
            "{message:?} is not in {:?} ({part} became {replacement})",
            error.message
        );
        let place = error.place.expect("a place");
        assert_eq!(place.line, 1);
        assert!(place.column > 1 && place.column <= text.len() + 1, "{place:?}");
    }
}

#[test]
fn what_an_output_tells_must_be_what_the_node_tells() {
    let f = r#"{"is_node":true,"name":"f"}],"kwargs""#;
    let told = |shape: &str| {
        format!(
            r#"{{"is_node":true,"name":"f","shape":"{shape}","dtype":"torch.float32","requires_grad":"False","stride":"[1]","is_quantized":false}}],"kwargs""#
        )
    };
    read(&broken(f, &told("[4]")));
    let (_, message) = read_error(&broken(f, &told("[5]")));
    assert!(message.contains("`output`: what it tells of `f`: the node itself tells otherwise"), "{message}");
}

#[test]
fn the_order_of_nodes_is_checked() {
    let text = net("", "x");
    let placeholder =
        format!(r#"{{{INFO}"target":"y","op_code":"placeholder","name":"y","args":[],"kwargs":{{}},"users":[]}}"#);
    let late = net(&format!("{},{placeholder}", call("f", X)), "f");
    let (_, message) = read_error(&late);
    assert!(message.contains("node y (placeholder y): it is a placeholder behind a node that is none"), "{message}");

    let end = r#"],"kwargs":{},"users":[]}]}"#;
    assert!(text.ends_with(end));
    let output = r#"{"target":"output","op_code":"output","name":"output_1","args":[1],"kwargs":{},"users":[]}"#;
    let two = format!("{},{output}]}}", text.strip_suffix("]}").unwrap());
    let (_, message) = read_error(&two);
    assert!(message.contains("nodes[2] `output_1`: the graph has an output already"), "{message}");
    let after = format!("{},{}]}}", text.strip_suffix("]}").unwrap(), call("g", "[]"));
    let (_, message) = read_error(&after);
    assert!(message.contains("it is an output and not the last node"), "{message}");
}

#[test]
fn calls_of_modules_are_checked() {
    let leaf = |parameters: &str| {
        format!(
            r#"{{{INFO}{parameters}"target":"act","op_code":"call_module","name":"act","args":{X},"kwargs":{{}},"users":[]}}"#
        )
    };
    let relu = r#""parameters":{"name":"ReLU","inplace":"False"},"#;
    read(&net(&leaf(relu), "act"));
    let weight =
        r#"{"dtype":"torch.float32","shape":"[4]","requires_grad":"True","is_quantized":false,"stride":"[1]"}"#;
    let inner = net("", "x");
    for (modules, weights, between, message) in [
        ("{}", "{}", leaf(""), "nodes[1] `act`: module `act` is not in `modules`, and the node has no `parameters`"),
        ("{}", "{}", leaf(r#""parameters":{},"#), "module `act` has no `name`"),
        ("{}", "{}", leaf(r#""parameters":{"name":1},"#), "`parameters`: invalid type: integer `1`, expected a string"),
        ("{}", "{}", leaf(r#""parameters":{"name":"A","name":"A"},"#), "`name` is given twice"),
        ("{}", "{}", leaf(r#""parameters":{"name":"A","":"1"},"#), "is no path"),
        (
            &format!(r#"{{"act":{inner}}}"#),
            "{}",
            leaf(relu),
            "module `act` is in `modules`, and the node has `parameters`",
        ),
        ("{}", &format!(r#"{{"act":{weight}}}"#), leaf(relu), "weight `act`: `act` is a module and not a tensor"),
        ("{}", &format!(r#"{{"act.inplace":{weight}}}"#), leaf(relu), "`inplace` of `act` is told of in two ways"),
        ("{}", &format!(r#"{{"a":{weight},"a.b":{weight}}}"#), leaf(relu), "weight `a.b`"),
        ("{}", &format!(r#"{{"a..b":{weight}}}"#), leaf(relu), "is no path"),
        ("{}", &format!(r#"{{"a":{weight},"a":{weight}}}"#), leaf(relu), "weight `a`: the weight is given twice"),
        ("{}", r#"{"a":{"shape":"[4]"}}"#, leaf(relu), "weight `a`: the key `dtype` is missing"),
        ("{}", r#"{"a":{"shape":"[4]","more":1}}"#, leaf(relu), "weight `a`: `more`: a weight has no such key"),
        (&format!(r#"{{"m":{inner},"m":{inner}}}"#), "{}", leaf(relu), "module `m` is given twice"),
        (&format!(r#"{{"m":{}}}"#, inner.replacen("{}", r#"{"v":{}}"#, 1)), "{}", leaf(relu), "module `m`, in it `v`"),
        (
            &format!(r#"{{"m":{}}}"#, net_with("{}", &format!(r#"{{"w":{weight}}}"#), "", "x")),
            "{}",
            leaf(relu),
            "module `m`: weight `w`: its name does not begin with `m.`",
        ),
    ] {
        let text = net_with(modules, weights, &between, "act");
        let error = json::read(text.as_bytes(), None).expect_err(message);
        assert_eq!(error.kind, ErrorKind::Parse, "{message}");
        assert!(error.message.contains(message), "{message:?} is not in {:?}", error.message);
    }
    let twice = format!(
        "{},{}",
        leaf(relu),
        leaf(&relu.replace("False", "True")).replace(r#""name":"act","args""#, r#""name":"act_1","args""#)
    );
    let (_, message) = read_error(&net(&twice, "act_1"));
    assert!(message.contains("`parameters` differ from those of the call of `act` before"), "{message}");
}

#[test]
fn a_place_is_a_line_and_a_column() {
    let text = recorded("linear_attr_multi_output");
    let at = text.find("\"_operator.add\"").unwrap();
    let broken = format!("{}7{}", &text[..at], &text[at + "\"_operator.add\"".len()..]);
    let error = json::read(broken.as_bytes(), None).unwrap_err();
    let place = error.place.unwrap();
    let line = broken.lines().nth(place.line - 1).unwrap();
    assert_eq!(&line[..place.column], "   \"target\": 7");
    assert!(
        error.message.contains("nodes[2]: `target`: invalid type: integer `7`, expected a string"),
        "{}",
        error.message
    );

    // What is known only at the end is said of where its node stands.
    let wrong = text.replacen("\"name\": \"cat\"\n    }\n   ]\n  },", "\"name\": \"add\"\n    }\n   ]\n  },", 1);
    assert_ne!(wrong, text);
    let error = json::read(wrong.as_bytes(), None).unwrap_err();
    let line = wrong.lines().nth(error.place.unwrap().line - 1).unwrap();
    assert_eq!(line, "   \"name\": \"b\",", "{}", error.message);
}

#[test]
fn a_file_that_is_cut_off_is_refused() {
    for name in ["linear_attr_multi_output", "quantized_tensors"] {
        let text = recorded(name);
        for end in 0..text.len() {
            let error = json::read(&text.as_bytes()[..end], None).expect_err("cut off");
            assert_eq!(error.kind, ErrorKind::Parse, "{end}: {error}");
            assert!(error.place.is_some());
        }
    }
}

#[test]
fn a_file_with_more_behind_it_is_refused() {
    let text = net("", "x");
    read(&format!("{text}\n "));
    assert!(read_error(&format!("{text}{text}")).1.contains("trailing characters"));
    for text in ["", " ", "null", "[]", "1", "\u{feff}{}", "{}", "\0"] {
        assert_eq!(read_error(text).0, ErrorKind::Parse, "{text:?}");
    }
    let error = json::read(b"{\n\"\xff\"", None).unwrap_err();
    assert_eq!((error.kind, error.place.map(|place| (place.line, place.column))), (ErrorKind::Parse, Some((2, 2))));
}

#[test]
fn flipped_bytes_are_refused_or_read() {
    let text = recorded("linear_attr_multi_output") + &recorded("quantized_tensors");
    let text = &text[..text.find("}{").unwrap() + 1];
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut readable = 0;
    for _ in 0..5_000 {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=next() % 3 {
            let at = next() as usize % bytes.len();
            bytes[at] =
                if next() % 2 == 0 { bytes[at] ^ (1 << (next() % 8)) } else { b"{}[]\",:0-e. "[next() as usize % 12] };
        }
        match json::read(&bytes, None) {
            Ok(tree) => {
                readable += 1;
                fxir::ir::lint::lint_all(&tree, tree.root()).expect("what was read is legal");
                let again = write(&tree);
                assert_eq!(write(&read(&again)), again);
            }
            Err(error) => assert_eq!(error.kind, ErrorKind::Parse, "{error}"),
        }
    }
    assert!(readable > 0);
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    let deep = |open: &str, close: &str, count: usize| open.repeat(count) + &close.repeat(count);
    for count in [65, 100, 1_000, 100_000] {
        for text in [
            net(&call("f", &format!("[{}]", deep("[", "]", count))), "f"),
            net(&call("f", &format!("[{}1{}]", r#"{"a":"#.repeat(count), "}".repeat(count))), "f"),
            net(&call("f", "[]").replace(r#""target""#, &format!(r#""info":{},"target""#, deep("[", "]", count))), "f"),
            r#"{"modules":{"m":"#.repeat(count),
        ] {
            let error = json::read(text.as_bytes(), None).unwrap_err();
            assert!(matches!(error.kind, ErrorKind::Limit | ErrorKind::Parse), "{error}");
        }
        assert_eq!(read_error(&deep("[", "]", count)).0, ErrorKind::Parse);
        let path = vec!["m"; count].join(".");
        let leaf = format!(
            r#"{{{INFO}"parameters":{{"name":"A"}},"target":"{path}","op_code":"call_module","name":"m","args":{X},"kwargs":{{}},"users":[]}}"#
        );
        assert_eq!(read_error(&net(&leaf, "m")).0, ErrorKind::Limit);
    }
    read(&net(&call("f", &format!("[{}]", deep("[", "]", 64))), "f"));
    let error = json::read(net(&call("f", &format!("[{}]", deep("[", "]", 65))), "f").as_bytes(), None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit);
    assert!(error.message.contains("nodes[1] `f`: an argument nests deeper than 64 levels"), "{error}");
}

/// Modules in modules, each calling the next; the innermost holds an argument that nests as deep as
/// arguments go.
fn nested_modules(depth: usize) -> ModuleTree {
    let mut tree = ModuleTree::new("GraphModule");
    let mut module = tree.root();
    for level in 0..=depth {
        let below = (level < depth).then(|| tree.add_module(module, "m", "GraphModule", NewModule::Graph).unwrap());
        let graph = tree.graph_mut(module).unwrap();
        let x = graph.placeholder("x").unwrap();
        let made = match below {
            Some(_) => graph.call_module("m", [Argument::Node(x)].as_slice(), Kwargs::new()).unwrap(),
            None => {
                // What takes the most levels of JSON, and of the stack, for one of an argument.
                let nested = (0..64).fold(Argument::Node(x), |inner, _| {
                    Argument::Slice(Box::new([inner, Argument::None, Argument::None]))
                });
                graph.call_function("f", [nested].as_slice(), Kwargs::new()).unwrap()
            }
        };
        for node in [x, made] {
            let value = Value::Tensor(TensorMeta {
                stride: Some([1.into()].into_iter().collect()),
                requires_grad: Some(false),
                ..TensorMeta::new(Dtype::Float32, [4])
            });
            graph.set_value(node, Some(std::sync::Arc::new(value))).unwrap();
        }
        graph.output(made.into()).unwrap();
        module = below.unwrap_or(module);
    }
    tree
}

#[test]
fn what_nests_as_deep_as_it_may_is_written_and_read_on_a_small_stack() {
    let run = || {
        for depth in [1, 40, 63] {
            let text = super::write(&nested_modules(depth));
            assert_eq!(super::write(&read(&text)), text);
        }
    };
    // Frames of a debug build are twice as large.
    let stack = if cfg!(debug_assertions) { 768 } else { 256 };
    std::thread::Builder::new().stack_size(stack * 1024).spawn(run).unwrap().join().unwrap();
    let outer = net_with(&format!(r#"{{"m":{}}}"#, super::write(&nested_modules(63))), "{}", "", "x");
    let (kind, message) = read_error(&outer);
    assert_eq!(kind, ErrorKind::Limit);
    assert!(message.ends_with("modules nest deeper than 64 levels"), "{message}");
}
