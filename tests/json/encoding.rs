//! What JSON does not have, and values that are no tensors: written as objects, read as they were.

use super::{call, net, read, read_error, SCHEMAS};
use fxir::formats::json::{self, Schema, SerializeOptions, Strings};
use fxir::formats::python::repr::write_repr;
use fxir::ir::tensor::Scalar;
use fxir::ir::{Argument, Dtype, Kwargs, ModuleTree, TensorMeta, Value};
use std::sync::Arc;

const X: &str = r#"{"is_node":true,"name":"x"}"#;

/// A net with one call of `torch.f` with that argument.
fn net_of(build: impl Fn(&ModuleTree, Argument) -> Argument) -> ModuleTree {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    let x = tree.graph_mut(root).unwrap().placeholder("x").unwrap();
    let argument = build(&tree, x.into());
    let graph = tree.graph_mut(root).unwrap();
    let f = graph.call_function("torch.f", [argument].as_slice(), Kwargs::new()).unwrap();
    graph.output(f.into()).unwrap();
    for node in [x, f] {
        graph.set_value(node, Some(Arc::new(Value::Tensor(TensorMeta::new(Dtype::Float32, [4i64]))))).unwrap();
    }
    tree
}

/// The argument of `f`, as Python prints it.
fn shown(tree: &ModuleTree) -> String {
    let graph = tree.graph(tree.root()).unwrap();
    let mut text = String::new();
    let argument = &graph[graph.find_node("f").unwrap()].args()[0];
    write_repr(&mut text, argument, graph.symbols(), &|out: &mut String, node| out.push_str(graph.name(node)));
    text
}

fn written(tree: &ModuleTree, schema: Schema) -> String {
    let options = SerializeOptions { schema, ..Default::default() };
    json::serialize(tree, tree.root(), &options).unwrap().json
}

/// The argument of `f` in the file.
fn argument_text(text: &str) -> &str {
    let start = text.find(r#""name":"f","args":["#).unwrap() + r#""name":"f","args":["#.len();
    let end = text[start..].find(r#"],"kwargs""#).unwrap();
    &text[start..start + end]
}

#[test]
fn every_kind_is_an_object_that_reads_back_exactly() {
    type Build = fn(&ModuleTree, Argument) -> Argument;
    let cases: [(Build, &str, &str); 16] = [
        (|_, _| Argument::Float(f64::NAN), r#"{"__py__":"float","args":["nan"]}"#, "nan"),
        (|_, _| Argument::Float(f64::NEG_INFINITY), r#"{"__py__":"float","args":["-inf"]}"#, "-inf"),
        (
            |_, _| Argument::Complex(Box::new([-0.0, f64::INFINITY])),
            r#"{"__py__":"complex","args":[-0.0,{"__py__":"float","args":["inf"]}]}"#,
            "complex(-0.0, inf)",
        ),
        (|_, _| Argument::Complex(Box::new([1.0, 2.5])), r#"{"__py__":"complex","args":[1.0,2.5]}"#, "(1+2.5j)"),
        (
            |_, _| Argument::Slice(Box::new([Argument::None, Argument::Int(3), Argument::None])),
            r#"{"__py__":"slice","args":[null,3,null]}"#,
            "slice(None, 3, None)",
        ),
        (
            |_, x| Argument::Slice(Box::new([x.clone(), x, Argument::Int(-1)])),
            r#"{"__py__":"slice","args":[{"is_node":true,"name":"x"},{"is_node":true,"name":"x"},-1]}"#,
            "slice(x, x, -1)",
        ),
        (|_, _| Argument::Range(Box::new([0, 9, -2])), r#"{"__py__":"range","args":[0,9,-2]}"#, "range(0, 9, -2)"),
        (|_, _| Argument::Ellipsis, r#"{"__py__":"ellipsis","args":[]}"#, "Ellipsis"),
        (
            |tree, _| Argument::Device(tree.symbols().intern("cuda:1")),
            r#"{"__py__":"device","args":["cuda:1"]}"#,
            "device(type='cuda', index=1)",
        ),
        (|_, _| Argument::Bytes([0, 255].into()), r#"{"__py__":"bytes","args":[0,255]}"#, r"b'\x00\xff'"),
        (|tree, _| Argument::SymInt(tree.symbols().intern("2*s0")), r#"{"__py__":"SymInt","args":["2*s0"]}"#, "2*s0"),
        (
            |tree, _| Argument::Layout(tree.symbols().intern("torch.strided")),
            r#"{"__py__":"layout","args":["torch.strided"]}"#,
            "torch.strided",
        ),
        (
            |_, x| Argument::Dict([(Argument::Int(1), x), (Argument::None, Argument::Bool(true))].into()),
            r#"{"__py__":"dict","keys":[1,null],"values":[{"is_node":true,"name":"x"},true]}"#,
            "{1: x, None: True}",
        ),
        (
            |tree, _| Argument::Dict([(Argument::Str(tree.symbols().intern("is_node")), Argument::Bool(true))].into()),
            r#"{"__py__":"dict","keys":["is_node"],"values":[true]}"#,
            "{'is_node': True}",
        ),
        (
            |tree, _| {
                let symbol = |text: &str| Argument::Str(tree.symbols().intern(text));
                Argument::Dict([(symbol("__py__"), symbol("slice"))].into())
            },
            r#"{"__py__":"dict","keys":["__py__"],"values":["slice"]}"#,
            "{'__py__': 'slice'}",
        ),
        (
            |tree, _| {
                let symbol = |text: &str| Argument::Str(tree.symbols().intern(text));
                Argument::Dict([(symbol("__py__"), symbol("mine"))].into())
            },
            r#"{"__py__":"mine"}"#,
            "{'__py__': 'mine'}",
        ),
    ];
    for (build, text, repr) in cases {
        for nested in [false, true] {
            let tree = net_of(|tree, x| match nested {
                false => build(tree, x),
                true => Argument::List([build(tree, x)].into()),
            });
            let (text, repr) =
                if nested { (format!("[{text}]"), format!("[{repr}]")) } else { (text.into(), repr.into()) };
            assert_eq!(shown(&tree), repr);
            for schema in SCHEMAS {
                let json = written(&tree, schema());
                assert_eq!(argument_text(&json), text);
                serde_json::from_str::<serde_json::Value>(&json).expect("strict JSON");
                let again = read(&json);
                assert_eq!(shown(&again), repr, "{text}");
                assert_eq!(written(&again, schema()), json);
            }
        }
    }
}

#[test]
fn what_becomes_a_string_is_the_form_s() {
    let tree = net_of(|tree, _| {
        let symbol = |text: &str| tree.symbols().intern(text);
        let items = [
            Argument::Dtype(Dtype::Float16),
            Argument::MemoryFormat(symbol("torch.channels_last")),
            Argument::Qscheme(symbol("torch.per_tensor_affine")),
            Argument::Layout(symbol("torch.strided")),
        ];
        Argument::List(items.into())
    });
    let texts = ["float16", "channels_last", "per_tensor_affine", "strided"].map(|name| format!("torch.{name}"));
    let types = ["dtype", "memory_format", "qscheme", "layout"];
    for (schema, strings) in [
        (Schema::torch_1_8(), [false; 4]),
        (Schema::torch_1_9(), [true, false, false, false]),
        (Schema::torch_1_10(), [true, true, true, false]),
        (Schema::torch_1_12(), [true, true, true, false]),
        (
            Schema {
                strings: Strings { dtype: false, memory_format: false, qscheme: false, layout: true },
                ..Schema::torch_1_12()
            },
            [false, false, false, true],
        ),
    ] {
        let items = (0..4).map(|at| match strings[at] {
            true => format!("\"{}\"", texts[at]),
            false => format!(r#"{{"__py__":"{}","args":["{}"]}}"#, types[at], texts[at]),
        });
        let json = written(&tree, schema);
        assert_eq!(argument_text(&json), format!("[{}]", items.collect::<Vec<_>>().join(",")));
        assert_eq!(shown(&read(&json)), format!("[{}]", texts.join(", ")));
    }
}

#[test]
fn the_text_that_python_gives_is_read_too() {
    for (text, repr) in [
        (r#"{"__py__":"slice","str":"slice(None, -1, 2)"}"#, "slice(None, -1, 2)"),
        (r#"{"str":"slice({'is_node': True, 'name': 'x'}, None, None)","__py__":"slice"}"#, "slice(x, None, None)"),
        (r#"{"__py__":"device","str":"cuda:0"}"#, "device(type='cuda', index=0)"),
        (r#"{"__py__":"device","str":"cpu"}"#, "device(type='cpu')"),
        (r#"{"__py__":"ellipsis","str":"Ellipsis"}"#, "Ellipsis"),
        (r#"{"__py__":"complex","str":"(1+2j)"}"#, "(1+2j)"),
        (r#"{"__py__":"dtype","str":"torch.float16"}"#, "torch.float16"),
        (r#"{"__py__":"memory_format","str":"torch.channels_last"}"#, "torch.channels_last"),
        (r#"{"__py__":"float","str":"inf"}"#, "inf"),
        (r#"{"__py__":"range","str":"range(0, 3)"}"#, "range(0, 3)"),
        (r#"{"__py__":"Mine","str":"?"}"#, "{'__py__': 'Mine', 'str': '?'}"),
    ] {
        let tree = read(&net(&call("f", &format!("[{text}]")), "f").replace(r#","users":[]"#, ""));
        assert_eq!(shown(&tree), repr, "{text}");
    }
}

#[test]
fn an_object_that_stands_for_nothing_is_refused() {
    for (py_type, rest) in [
        ("float", r#""args":["1.5"]"#),
        ("float", r#""args":[]"#),
        ("float", ""),
        ("complex", r#""args":[1]"#),
        ("complex", r#""args":["1",2]"#),
        ("slice", r#""args":[1,2]"#),
        ("slice", r#""args":[1,2,3],"more":1"#),
        ("slice", r#""args":[1,2,3],"str":"slice(1, 2, 3)""#),
        ("slice", r#""str":"range(0, 3)""#),
        ("slice", r#""str":"slice({'is_node': True, 'name': 'y'}, None, None)""#),
        ("slice", r#""str":7"#),
        ("range", r#""args":[1,2,0]"#),
        ("range", r#""args":[1,2,3.0]"#),
        ("ellipsis", r#""args":[1]"#),
        ("device", r#""args":[""]"#),
        ("device", r#""args":["cuda:x"]"#),
        ("device", r#""args":["a'b"]"#),
        ("dtype", r#""args":["torch.strided"]"#),
        ("dtype", r#""args":["torch.none"]"#),
        ("bytes", r#""args":[256]"#),
        ("bytes", r#""args":[-1]"#),
        ("SymInt", r#""args":[""]"#),
        ("dict", r#""keys":[1],"values":[]"#),
        ("dict", r#""keys":[1]"#),
        ("dict", r#""keys":{},"values":{}"#),
    ] {
        let comma = if rest.is_empty() { "" } else { "," };
        let text = net(&call("f", &format!(r#"[{{"__py__":"{py_type}"{comma}{rest}}}]"#)), "f");
        let (_, message) = read_error(&text);
        let expected =
            format!("nodes[1] `f`: `args`: an object that stands for a Python `{py_type}` does not say which");
        assert!(message.contains(&expected), "{rest}: {message}");
    }
    let (_, message) =
        read_error(&net(&call("f", &format!(r#"[{{"__py__":"dict","keys":[{X}],"values":[1]}}]"#)), "f"));
    assert!(message.contains("a node stands in the key of a dict"), "{message}");
}

#[test]
fn what_a_node_yields_that_is_no_tensor_is_described() {
    let tensor = |size: i64| Value::Tensor(TensorMeta::new(Dtype::Float32, [size]));
    let told = |schema: &Schema, sizes: &[i64]| {
        let each = |part: &dyn Fn(i64) -> String| sizes.iter().map(|&size| part(size)).collect::<Vec<_>>().join(",");
        let mut text = format!(
            r#""shape":[{}],"dtype":[{}]"#,
            each(&|size| format!("\"[{size}]\"")),
            each(&|_| "\"torch.float32\"".into())
        );
        if schema.requires_grad {
            text += &format!(r#","requires_grad":[{}]"#, each(&|_| "\"False\"".into()));
        }
        if schema.stride {
            text += &format!(r#","stride":[{}]"#, each(&|_| "\"[1]\"".into()));
        }
        if schema.is_quantized {
            text += &format!(r#","is_quantized":[{}]"#, each(&|_| "false".into()));
        }
        text + ","
    };
    let scalar = |scalar| Value::Scalar(scalar);
    let fixed = |text: &'static str| move |_: &Schema| text.to_owned();
    type Expected = Box<dyn Fn(&Schema) -> String>;
    let cases: Vec<(Value, Expected)> = vec![
        (Value::Tuple(vec![tensor(2), tensor(3)]), Box::new(move |schema| told(schema, &[2, 3]))),
        (Value::Tuple(vec![tensor(2)]), Box::new(move |schema| told(schema, &[2]))),
        (Value::None, Box::new(fixed(r#""value":null,"#))),
        (scalar(Scalar::Int(-7)), Box::new(fixed(r#""value":-7,"#))),
        (scalar(Scalar::Bool(true)), Box::new(fixed(r#""value":true,"#))),
        (scalar(Scalar::Float(0.5)), Box::new(fixed(r#""value":0.5,"#))),
        (scalar(Scalar::Float(f64::INFINITY)), Box::new(fixed(r#""value":{"__py__":"float","args":["inf"]},"#))),
        (scalar(Scalar::Sym("s0".into())), Box::new(fixed(r#""value":{"__py__":"SymInt","args":["s0"]},"#))),
        (
            Value::Tuple(vec![scalar(Scalar::Int(2)), scalar(Scalar::Sym("s0".into()))]),
            Box::new(fixed(r#""value":{"__py__":"tuple","args":[2,{"__py__":"SymInt","args":["s0"]}]},"#)),
        ),
        (Value::Tuple(vec![]), Box::new(fixed(r#""value":{"__py__":"tuple","args":[]},"#))),
        (Value::List(vec![Value::None]), Box::new(fixed(r#""value":[null],"#))),
        (
            Value::Dict(vec![("a".into(), Value::None), ("shape".into(), scalar(Scalar::Int(1)))]),
            Box::new(fixed(r#""value":{"__py__":"dict","keys":["a","shape"],"values":[null,1]},"#)),
        ),
        (
            Value::Tuple(vec![tensor(2), Value::None]),
            Box::new(|schema| {
                let mut inner = r#"{"__py__":"tensor","shape":"[2]","dtype":"torch.float32""#.to_owned();
                inner += if schema.requires_grad { r#","requires_grad":"False""# } else { "" };
                inner += if schema.stride { r#","stride":"[1]""# } else { "" };
                inner += if schema.is_quantized { r#","is_quantized":false"# } else { "" };
                format!(r#""value":{{"__py__":"tuple","args":[{inner}}},null]}},"#)
            }),
        ),
    ];
    for (value, expected) in cases {
        for schema in SCHEMAS {
            let schema = schema();
            let mut tree = net_of(|_, x| x);
            let root = tree.root();
            let graph = tree.graph_mut(root).unwrap();
            let f = graph.find_node("f").unwrap();
            graph.set_value(f, Some(Arc::new(value.clone()))).unwrap();
            let json = written(&tree, schema);
            let expected = expected(&schema);
            assert!(json.contains(&format!(r#"{{{expected}"target":"torch.f""#)), "{expected}\n{json}");
            let again = read(&json);
            let graph = again.graph(again.root()).unwrap();
            let found = graph[graph.find_node("f").unwrap()].value().unwrap();
            // What the form does not tell is not known.
            assert_eq!(bare(found), bare(&value), "{json}");
            assert_eq!(written(&again, schema), json);
        }
    }
}

/// The value with shapes and dtypes alone.
fn bare(value: &Value) -> Value {
    let all = |items: &[Value]| items.iter().map(bare).collect();
    match value {
        Value::Tensor(meta) => Value::Tensor(TensorMeta::new(meta.dtype, meta.shape.iter().cloned())),
        Value::List(items) => Value::List(all(items)),
        Value::Tuple(items) => Value::Tuple(all(items)),
        Value::Dict(entries) => Value::Dict(entries.iter().map(|(key, item)| (key.clone(), bare(item))).collect()),
        other => other.clone(),
    }
}

#[test]
fn a_value_that_nests_too_deep_is_refused() {
    let mut tree = net_of(|_, x| x);
    let root = tree.root();
    let value = (0..70).fold(Value::None, |inner, _| Value::List(vec![inner]));
    let graph = tree.graph_mut(root).unwrap();
    let f = graph.find_node("f").unwrap();
    graph.set_value(f, Some(Arc::new(value))).unwrap();
    let error = json::serialize(&tree, root, &SerializeOptions::default()).unwrap_err();
    assert!(error.message.contains("node `f` (call_function torch.f): what it yields nests deeper than 64"), "{error}");
    assert_eq!(error.node, Some(f));
}

#[test]
fn more_tensors_than_a_node_can_yield_are_refused() {
    let text = net(&call("f", "[]"), "f").replacen(
        super::INFO,
        &format!(r#""shape":[{}],"#, vec!["\"[1]\""; 70_000].join(",")),
        1,
    );
    assert!(read_error(&text).1.contains("it is not a list of at most 65536 tensors"));
}

#[test]
fn several_quantized_tensors_are_lists_with_gaps() {
    let text = r#""shape":["[2]","[3]"],"dtype":["torch.quint8","torch.float32"],"requires_grad":["False","False"],"stride":["[1]","[1]"],"is_quantized":[true,false],"qscheme":["torch.per_tensor_affine",null],"q_scale":[0.5,null],"q_zero_point":[3,null],"#;
    let f = call("f", &format!("[{X}]")).replace(super::INFO, text);
    assert!(f.contains(text));
    let tree = read(&net(&f, "f"));
    let json = written(&tree, Schema::torch_1_12());
    assert!(json.contains(&format!(r#"{{{text}"target":"torch.f""#)), "{json}");
    assert!(json.contains(&format!(r#"{{"is_node":true,"name":"f",{}}}"#, text.trim_end_matches(','))), "{json}");
    assert_eq!(written(&read(&json), Schema::torch_1_12()), json);
    for (part, replacement, message) in [
        (
            r#""dtype":["torch.quint8","torch.float32"]"#,
            r#""dtype":["torch.quint8"]"#,
            "tensor 1: the key `dtype` is missing",
        ),
        (r#""q_scale":[0.5,null],"#, "", "tensor 0: the key `q_scale` is missing"),
        (r#""stride":["[1]","[1]"]"#, r#""stride":"[1]""#, "some keys have lists, and others have none"),
        (r#""shape":["[2]","[3]"]"#, r#""shape":[["[2]"],"[3]"]"#, "`shape`: it is not a list"),
    ] {
        let (_, message_found) = read_error(&net(&f.replace(part, replacement), "f"));
        assert!(message_found.contains(message), "{message_found}");
    }
}
