//! Files that are not what they should be: each is refused for a reason, and nothing panics.

use super::{file_with, load_document, loaded};
use fxir::formats::{native, weights};
use fxir::ir::{Argument, Error, ErrorKind, Kwargs, ModuleTree};
use std::sync::Arc;
use ErrorKind::{Limit, Parse, Unsupported};

/// What a document is refused for.
fn refused(document: &str) -> Error {
    match load_document(document) {
        Ok(_) => panic!("it was read: {document}"),
        Err(error) => error,
    }
}

fn assert_refused(document: &str, kind: ErrorKind, message: &str) {
    let error = refused(document);
    let shown: String = document.chars().take(300).collect();
    assert!(error.kind == kind && error.message.contains(message), "{:?}: {error}\n{shown}", error.kind);
    assert_eq!(error.node, None, "ids of a graph that nobody gets");
}

/// A document of one graph module, with more keys.
fn net(nodes: &str, more: &str) -> String {
    format!(
        r#"{{"version":1,"modules":[{{"type":"N","kind":"graph"}}],"graphs":[{{"module":0,"nodes":[{nodes}]}}]{more}}}"#
    )
}

fn placeholder(more: &str) -> String {
    net(&format!(r#"{{"op":"placeholder","name":"x","target":"x"{more}}}"#), "")
}

fn argument(text: &str) -> String {
    placeholder(&format!(r#","args":[{text}]"#))
}

fn members(text: &str, more: &str) -> String {
    format!(r#"{{"version":1,"modules":[{text}]{more}}}"#)
}

fn tensors(text: &str) -> String {
    members(r#"{"type":"N","kind":"leaf"}"#, &format!(r#","tensors":[{text}]"#))
}

#[test]
fn the_least_there_can_be_is_read() {
    let tree = load_document(&members(r#"{"type":"","kind":"holder"}"#, "")).unwrap();
    assert_eq!(tree.get(tree.root()).unwrap().attributes().len(), 0);
    load_document(&placeholder("")).unwrap();
    // Keys in any order, and what an older reader does not know.
    let document = r#"{"more":[[{}],{"a":[1e400,-0]}],"graphs":[{"nodes":[{"target":"x","later":null,"name":"x","op":"output"}],
        "x":1,"module":0}],"modules":[{"kind":"graph","type":"N","y":{}}],"requires":[],"version":1}"#;
    loaded(&load_document(document).unwrap());
}

#[test]
fn newer_files_are_refused_for_that() {
    assert_refused(r#"{"version":2}"#, Unsupported, "the document has version 2; this library reads up to version 1");
    assert_refused(
        r#"{"modules":[{"kind":"quantum","more":{"node":-1}}],"version":18446744073709551615}"#,
        Unsupported,
        "version 18446744073709551615; this library reads up to version 1",
    );
    assert_refused(
        r#"{"version":1,"requires":["time travel"]}"#,
        Unsupported,
        r#"the document requires "time travel", which this library does not know"#,
    );
    assert_refused(r#"{"version":0}"#, Parse, "version 0");
    for version in ["-1", "1.0", "\"1\"", "null", "18446744073709551616", "[1]"] {
        assert_refused(&format!(r#"{{"version":{version}}}"#), Parse, "");
    }
    assert_refused(r#"{"modules":[]}"#, Parse, "the key `version` is missing");
    assert_refused(r#"{"version":1,"requires":[1]}"#, Parse, "invalid type: integer `1`");
    // Kinds of things that come to exist later.
    for (document, message) in [
        (argument(r#"{"quaternion":[1,2]}"#), r#"no argument of the kind "quaternion""#),
        (placeholder("").replace("placeholder", "call_method_later"), r#"there is no op "call_method_later""#),
        (members(r#"{"type":"N","kind":"later"}"#, ""), r#"no module of the kind "later""#),
        (
            members(r#"{"type":"N","kind":"leaf","attributes":{"a":{"later":0}}}"#, ""),
            r#"no attribute of the kind "later""#,
        ),
        (members(r#"{"type":"N","kind":"leaf"}"#, r#","values":[{"later":0}]"#), r#"no value of the kind "later""#),
        (argument(r#"{"dtype":"torch.float7"}"#), r#"there is no dtype "torch.float7""#),
        (argument(r#"{"dtype":"float"}"#), "there is no dtype"),
        (tensors(r#"{"meta":{"dtype":"torch.int128","shape":[]}}"#), "there is no dtype"),
    ] {
        assert_refused(&document, Unsupported, message);
    }
}

#[test]
fn files_that_are_none() {
    let refused = |bytes: &[u8]| match native::from_bytes(Arc::new(bytes.to_vec())) {
        Ok(_) => panic!("it was read"),
        Err(error) => (error.kind, error.message),
    };
    let good = file_with(&placeholder(""));
    assert!(native::from_bytes(Arc::new(good.clone())).is_ok());
    for length in 0..good.len() {
        assert_eq!(refused(&good[..length]).0, Parse, "the first {length} bytes");
    }
    assert_eq!(refused(&[&good[..], b"x"].concat()).0, Parse);

    let mut plain = Vec::new();
    weights::write_to(&mut plain, []).unwrap();
    assert!(refused(&plain).1.contains("not a saved module: the metadata does not say format fxir"));
    let header = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let other = header(r#"{"__metadata__":{"format":"pt"}}"#);
    assert!(refused(&other).1.contains("not a saved module"));
    let label = r#""__metadata__":{"format":"fxir"}"#;
    assert!(refused(&header(&format!("{{{label}}}"))).1.contains("there is no document `__fxir__`"));
    let entries = |entries: &str| header(&format!("{{{label},{entries}}}"));
    let float = entries(r#""__fxir__":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}"#);
    assert!(refused(&[&float[..], b"{} \n"].concat()).1.contains("there is no document `__fxir__`"));
    let text = entries(r#""__fxir__":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}"#);
    assert!(refused(&[&text[..], b"{\"\xff\""].concat()).1.contains("not UTF-8 at byte 2"));
    assert!(refused(&[&text[..], b"[1] "].concat()).1.contains("invalid type: sequence, expected a document"));
    assert!(refused(&[&text[..], b"{}{}"].concat()).1.contains("trailing characters"));

    // Offsets that overlap, leave holes, leave the file, or lie; counts that nothing could hold.
    for (one, two) in [([0, 4], [2, 6]), ([0, 4], [5, 9]), ([0, 4], [4, u64::MAX]), ([4, 0], [4, 8]), ([0, 4], [0, 4])]
    {
        let document = format!(r#""__fxir__":{{"dtype":"U8","shape":[4],"data_offsets":{one:?}}}"#);
        let other = format!(r#""w":{{"dtype":"U8","shape":[4],"data_offsets":{two:?}}}"#);
        assert_eq!(refused(&[&entries(&format!("{document},{other}"))[..], b"{}  1234"].concat()).0, Parse);
    }
    let huge =
        entries(r#""__fxir__":{"dtype":"U8","shape":[9223372036854775807],"data_offsets":[0,9223372036854775807]}"#);
    assert_eq!(refused(&huge).0, Parse);
    assert_eq!(refused(&[&u64::MAX.to_le_bytes()[..], b"{}"].concat()).0, Parse);
}

#[test]
fn modules_that_are_none() {
    let leaf = r#"{"type":"L","kind":"leaf"}"#;
    let over = |submodules: &str| format!(r#"{{"type":"N","kind":"holder","submodules":{{{submodules}}}}}"#);
    for (text, message) in [
        ("".into(), "the document has no module"),
        (r#"{"kind":"leaf"}"#.into(), "missing field `type`"),
        (r#"{"type":"N"}"#.into(), "missing field `kind`"),
        (r#"{"type":"N\u0000","kind":"leaf"}"#.into(), "a text holds a NUL"),
        (r#"{"type":"N","kind":"graph"}"#.into(), "module 0: its graph is missing"),
        (r#"{"type":"N","type":"N","kind":"leaf"}"#.into(), "duplicate field `type`"),
        (over(r#""a":1"#), "module 0: it holds module 1, which is none"),
        (over(r#""a":0"#), "it holds module 0, which has a place already"),
        (format!("{},{leaf}", over(r#""a":1,"b":1"#)), "module 0: it holds module 1, which has a place already"),
        (format!("{},{leaf}", over("")), "module 1: no module before it holds it"),
        (
            format!("{},{}", over(r#""a":1"#), over(r#""b":0"#)),
            "module 1: it holds module 0, which has a place already",
        ),
        (format!("{},{},{}", over(""), over(r#""a":2"#), over(r#""b":1"#)), "module 1: no module before it holds it"),
        (format!("{},{leaf},{leaf}", over(r#""a":1,"a":2"#)), r#"the name "a" comes twice"#),
        (format!("{},{leaf}", over(r#""a.b":1"#)), "the name of a member holds a dot"),
        (format!("{},{leaf}", over(r#""":1"#)), "is no path"),
        (format!("{},{leaf}", over(r#""a\u0000":1"#)), "a text holds a NUL"),
        (r#"{"type":"N","kind":"leaf","copy_of":1}"#.into(), "module 0: it is a copy of no module"),
        (r#"{"type":"N","kind":"leaf","attributes":{"a":{"buffer":0}}}"#.into(), "it names tensor 0 of 0 tensors"),
        (r#"{"type":"N","kind":"leaf","attributes":{"a.b":{"value":0}}}"#.into(), "the name of a member holds a dot"),
        (r#"{"type":"N","kind":"leaf","attributes":{"":{"value":0}}}"#.into(), "is no path"),
        (r#"{"type":"N","kind":"leaf","attributes":{"a":{}}}"#.into(), "expected an attribute: an object of one key"),
        (r#"{"type":"N","kind":"leaf","attributes":{"a":{"value":0,"value":1}}}"#.into(), "an object of one key"),
        (r#"{"type":"N","kind":"leaf","attributes":{"a":{"value":{"node":0}}}}"#.into(), "would hold a node"),
        (
            r#"{"type":"N","kind":"leaf","attributes":{"a":{"value":{"dict":[[{"node":0},1]]}}}}"#.into(),
            "a node stands in the key of a dict",
        ),
        (
            format!(
                r#"{{"type":"N","kind":"holder","submodules":{{"a":1}},"attributes":{{"a":{{"value":0}}}}}},{leaf}"#
            ),
            r#"module 0: "a" is a submodule and an attribute"#,
        ),
    ] {
        assert_refused(&members(&text, ""), Parse, message);
    }
    let chain: Vec<String> = (1..100).map(|below| over(&format!(r#""m":{below}"#))).collect();
    assert_refused(&members(&format!("{},{leaf}", chain.join(",")), ""), Limit, "nest modules deeper than 64");
    for (graphs, message) in [
        (r#"[{"nodes":[]}]"#, "a graph does not tell its `module`"),
        (r#"[{"module":7}]"#, "a graph is that of module 7, which is none"),
        (r#"[{"module":0}]"#, "module 0: the module (L) has no graph"),
        (r#"{}"#, "expected a list"),
    ] {
        assert_refused(&members(leaf, &format!(r#","graphs":{graphs}"#)), Parse, message);
    }
    let twice = net("", "").replace(r#""graphs":[{"module":0,"nodes":[]}]"#, r#""graphs":[{"module":0},{"module":0}]"#);
    assert_refused(&twice, Parse, "module 0: it has two graphs");
}

#[test]
fn nodes_that_are_none() {
    let node = |name: &str, more: &str| format!(r#"{{"op":"call_function","name":"{name}","target":"f"{more}}}"#);
    let two = |more: &str| format!("{},{}", node("a", ""), node("b", more));
    let output = r#"{"op":"output","name":"o","target":"output"}"#;
    for (nodes, message) in [
        (r#"{"name":"a","target":"f"}"#.into(), "missing field `op`"),
        (r#"{"op":"output","target":"f"}"#.into(), "missing field `name`"),
        (r#"{"op":"output","name":"a"}"#.into(), "missing field `target`"),
        (r#"{"op":"output","name":"a","target":""}"#.into(), "the target is empty"),
        (node("a", r#","name":"b""#), "duplicate field `name`"),
        (format!("{},{}", node("a", ""), node("a", "")), r#"node 1 `a`: the name "a" was given before"#),
        (format!("{output},{}", output.replace("\"o\"", "\"p\"")), "node 1 `p`: the graph has an output already"),
        (two(r#","args":[{"node":2}]"#), "node 1 `b`: node 2 is named, but there are 2 nodes"),
        (two(r#","args":[{"node":-1}]"#), "invalid value: integer `-1`"),
        (two(r#","args":[{"node":1.5}]"#), "invalid type: floating point"),
        (two(r#","args":[{"node":4294967296}]"#), "a node stands beyond any graph"),
        (two(r#","args":[{"node":18446744073709551615}]"#), "a node stands beyond any graph"),
        (two(r#","kwargs":{"k":[{"tuple":[{"node":7}]}]}"#), "node 7 is named, but there are 2 nodes"),
        (two(r#","args":[{"dict":[[{"node":0},1]]}]"#), "node 1 `b`: a node stands in the key of a dict"),
        (two(r#","kwargs":{"k":1,"k":1}"#), r#"node 1 `b`: keyword argument "k" is given twice"#),
        (two(r#","meta":{"k":{"node":0}}"#), r#"meta "k" of node b would hold a node"#),
        (two(r#","meta":{"k":1,"k":2}"#), r#"the name "k" comes twice"#),
        (two(r#","value":0"#), "node 1 `b`: it names value 0 of 0 values"),
        (two(r#","users":[0]"#), "the users that are told of node `b` are not its users"),
        (format!("{},{}", node("a", r#","users":[]"#), node("b", r#","args":[{"node":0}]"#)), "are not its users"),
        (format!("{},{}", node("a", r#","users":[1,1]"#), node("b", r#","args":[{"node":0}]"#)), "are not its users"),
        (format!("{},{}", node("a", r#","users":[9]"#), node("b", r#","args":[{"node":0}]"#)), "node 9 is named"),
        (node("a", r#","target":"\u0000""#), "a text holds a NUL"),
    ] {
        assert_refused(&net(&nodes, ""), Parse, message);
    }
    for (names, message) in [
        (r#"{"x":{"plain":true}}"#, r#"the name "x" was given before"#),
        (r#"{"y":{"numbers":[3,3]}}"#, r#"the name "y_3" was given before"#),
        (r#"{"y":{"count":9223372036854775808}}"#, "too far"),
        (r#"{"y":{"numbers":[4294967296]}}"#, "invalid value"),
        (r#"{"y":{},"y":{}}"#, r#"the name "y" comes twice"#),
    ] {
        let document = placeholder("").replace(r#""nodes""#, &format!(r#""names":{names},"nodes""#));
        let kind = if message == "too far" { Limit } else { Parse };
        assert_refused(&document, kind, message);
    }
}

#[test]
fn arguments_that_are_none() {
    for (text, message) in [
        ("1.5", "a float is written"),
        ("1e400", "number out of range"),
        ("9223372036854775808", "an int beyond 64 bits is written"),
        ("123456789012345678901234567890", "a float is written"),
        ("{}", "an object without a key is no argument"),
        (r#"{"int":"1","float":2}"#, "an argument is an object of one key"),
        (r#"{"int":"1x"}"#, "not spelled in decimal digits"),
        (r#"{"int":"-"}"#, "not spelled in decimal digits"),
        (r#"{"int":1}"#, "invalid type: integer"),
        (r#"{"float":"NaN"}"#, "invalid value"),
        (r#"{"float":"0x0000000000000000"}"#, "invalid value"),
        (r#"{"float":"0x7ff8"}"#, "invalid value"),
        (r#"{"float":"0x+ff8000000000000"}"#, "invalid value"),
        (r#"{"float":[[1]]}"#, "invalid type: sequence"),
        (r#"{"complex":[1]}"#, "invalid length 1"),
        (r#"{"complex":[1,2,3]}"#, "trailing characters"),
        (r#"{"bytes":"0"}"#, "hexadecimal"),
        (r#"{"bytes":"é"}"#, "hexadecimal"),
        (r#"{"slice":[1,2]}"#, "a slice has not three parts"),
        (r#"{"slice":[1,2,3,4]}"#, "a slice has not three parts"),
        (r#"{"range":[1,2]}"#, "invalid length 2"),
        (r#"{"range":[1,2,9223372036854775808]}"#, "invalid value"),
        (r#"{"dict":[[1]]}"#, "a dict's entry is no pair"),
        (r#"{"dict":{}}"#, "invalid type: map"),
        (r#"{"ellipsis":1}"#, "invalid type: integer"),
        (r#"{"device":"a\u0000"}"#, "a text holds a NUL"),
        (r#""\ud800""#, "unexpected end of hex escape"),
    ] {
        let error = refused(&argument(text));
        assert!(error.kind == Parse && error.message.contains(message), "{text}: {error}");
        assert!(error.place.is_some(), "{text}: {error}");
    }
    // A string may hold what no word can.
    loaded(&load_document(&argument(r#""a\u0000b""#)).unwrap());
}

#[test]
fn values_and_tensors_that_are_none() {
    let value = |text: &str| members(r#"{"type":"N","kind":"leaf"}"#, &format!(r#","values":[{text}]"#));
    for (text, message) in [
        ("1", "expected a value"),
        ("{}", "an object without a key is no value"),
        (r#"{"int":1,"int":1}"#, "a value is an object of one key"),
        (r#"{"dict":[["a"]]}"#, "invalid length 1"),
        (r#"{"dict":[["a",null,null]]}"#, "trailing characters"),
        (r#"{"tensor":{"shape":[]}}"#, "missing field `dtype`"),
        (r#"{"tensor":{"dtype":"torch.bool"}}"#, "missing field `shape`"),
        (r#"{"tensor":{"dtype":"torch.bool","shape":[[1]]}}"#, "invalid type: sequence"),
        (r#"{"tensor":{"dtype":"torch.bool","shape":[1.5]}}"#, "invalid type: floating point"),
        (r#"{"tensor":{"dtype":"torch.bool","shape":[],"shape":[]}}"#, "duplicate field `shape`"),
        (r#"{"tensor":{"dtype":"torch.bool","shape":["s\u0000"]}}"#, "a text holds a NUL"),
        (r#"{"tensor":{"dtype":"torch.bool","shape":[],"quantization":{"more":1}}}"#, "unknown variant `more`"),
        (
            r#"{"tensor":{"dtype":"torch.bool","shape":[],"quantization":{"per_channel":{"qscheme":"q","scales":0}}}}"#,
            "it names tensor 0 of 0 tensors",
        ),
    ] {
        assert_refused(&value(text), Parse, message);
    }
    let tensor =
        |meta: &str, place: &str| format!(r#"{{"meta":{{"dtype":"torch.uint8",{meta}}},"place":{{{place}}}}}"#);
    for (text, message) in [
        ("{}".into(), "missing field `meta`"),
        (tensor(r#""shape":[4]"#, ""), "tensor 0: it has elements, but no buffer"),
        (tensor(r#""shape":[4]"#, r#""buffer":"v""#), r#"tensor 0: there is no buffer "v""#),
        (tensor(r#""shape":[17]"#, r#""buffer":"w""#), "tensor 0: "),
        (tensor(r#""shape":[16]"#, r#""buffer":"w","offset":1"#), "tensor 0: "),
        (tensor(r#""shape":[0]"#, r#""buffer":"w","offset":17"#), "it leaves its buffer"),
        (tensor(r#""shape":[1]"#, r#""buffer":"w","offset":18446744073709551615"#), "it leaves its buffer"),
        (tensor(r#""shape":[2,2]"#, r#""buffer":"w","strides":[15,1]"#), "tensor 0: "),
        (tensor(r#""shape":[2]"#, r#""buffer":"w","strides":[9223372036854775807]"#), "tensor 0: "),
        (tensor(r#""shape":[2]"#, r#""buffer":"w","strides":[-1]"#), "a stride is negative"),
        (tensor(r#""shape":[2]"#, r#""buffer":"w","strides":[1,1]"#), "2 strides for 1 dimension"),
        (tensor(r#""shape":[-1]"#, r#""buffer":"w""#), "a size is negative"),
        (tensor(r#""shape":["s"]"#, r#""buffer":"w""#), "a size is symbolic"),
        (tensor(r#""shape":[9223372036854775807,9]"#, ""), "too large"),
        (tensor(r#""shape":[1],"stride":[]"#, r#""buffer":"w""#), "0 strides for 1 dimension"),
        (
            tensor(r#""shape":[1],"quantization":{"per_channel":{"qscheme":"q","scales":0}}"#, r#""buffer":"w""#),
            "it names tensor 0 of 0 tensors",
        ),
    ] {
        assert_refused(&tensors(&text), Parse, message);
    }
    // Scales of scales of scales: comparing the two of each would take twice as long a level.
    let nested = |at: usize| match at {
        0 => tensor(r#""shape":[1]"#, r#""buffer":"w""#),
        _ => {
            let below = at - 1;
            let scales = format!(r#"{{"per_channel":{{"qscheme":"q","scales":{below},"zero_points":{below}}}}}"#);
            tensor(&format!(r#""shape":[1],"quantization":{scales}"#), r#""buffer":"w""#)
        }
    };
    let chain = |count: usize| tensors(&(0..count).map(nested).collect::<Vec<_>>().join(","));
    load_document(&chain(4)).unwrap();
    assert_refused(&chain(60), Limit, "tensor 4: its quantization nests deeper than 4 levels");
}

#[test]
fn what_nests_without_end_is_refused_or_skipped() {
    const MANY: usize = 1_000_000;
    let nest = |open: &str, close: &str| open.repeat(MANY) + &close.repeat(MANY);
    for (open, close) in [("[", "]"), (r#"{"tuple":["#, "]}"), (r#"{"dict":[[0,"#, "]]}"), (r#"{"slice":[0,0,"#, "]}")]
    {
        assert_refused(&argument(&nest(open, close)), Limit, "an argument nests deeper than 64 levels");
    }
    let values = format!(r#","values":[{}]"#, nest(r#"{"list":["#, "]}"));
    assert_refused(&net("", &values), Limit, "the value of a node nests deeper than 64 levels");
    // What nobody reads may nest as it likes.
    let skipped = format!(r#","later":{}"#, nest("[", "]"));
    loaded(&load_document(&net("", &skipped)).unwrap());
    for unfinished in ["[".repeat(MANY), r#"{"a":"#.repeat(MANY)] {
        assert_eq!(refused(&net("", &format!(r#","later":{unfinished}"#))).kind, Parse);
        assert!(load_document(&unfinished).is_err());
        assert!(load_document(&argument(&unfinished)).is_err());
    }
}

#[test]
fn what_cannot_be_read_is_not_written() {
    let refused = |change: &dyn Fn(&mut ModuleTree)| {
        let mut tree = ModuleTree::new("N");
        let root = tree.root();
        let graph = tree.graph_mut(root).unwrap();
        graph.call_function("f", Vec::new(), Kwargs::new()).unwrap();
        change(&mut tree);
        let error = native::to_bytes(&tree, root).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidArgument);
        assert!(error.message.contains("holds a NUL"), "{error}");
    };
    refused(&|tree| {
        let root = tree.root();
        let graph = tree.graph_mut(root).unwrap();
        graph.call_function("f\0", Vec::new(), Kwargs::new()).unwrap();
    });
    refused(&|tree| {
        let root = tree.root();
        tree.set_type_name(root, "\0").unwrap();
    });
    refused(&|tree| {
        let root = tree.root();
        let node = tree.graph(root).unwrap().nodes().next().unwrap();
        tree.graph_mut(root).unwrap().set_meta(node, "a\0", Argument::None).unwrap();
    });
}

#[test]
fn an_error_tells_its_place() {
    let error = refused("{\"version\":1,\n\"modules\":[\n{\"type\":7}]}");
    assert_eq!(error.place.map(|place| (place.line, place.column)), Some((3, 9)));
    assert!(error.message.starts_with("the document is wrong: invalid type: integer `7`"), "{error}");
}
