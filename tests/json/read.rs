//! What reading makes of a file.

use super::{call, case, net, net_with, read, recorded, write, INFO};
use fxir::formats::json;
use fxir::ir::{Argument, Attribute, Dim, Dtype, Member, ModuleKind, NodeId, Op, TensorKind, Value};

#[test]
fn recordings_are_written_back_byte_by_byte() {
    let cases = [
        "embedding_bag_byte_rowwise_offsets",
        "linear_attr_multi_output",
        "parent_constant",
        "quantized_tensors",
        "resnet20_cifar",
    ];
    for name in cases {
        let text = recorded(name);
        assert_eq!(write(&read(&text)), text, "{name}");
    }
}

#[test]
fn a_network_becomes_leaf_modules_with_settings_and_tensors() {
    let tree = read(&recorded("resnet20_cifar"));
    let root = tree.root();
    assert_eq!(tree.graph(root).unwrap().len(), 75);
    fxir::ir::lint::lint(&tree, root).unwrap();

    let conv = tree.get(tree.submodule(root, "layer1.0.conv1").unwrap()).unwrap();
    assert!(matches!(conv.kind(), ModuleKind::Leaf));
    assert_eq!(tree.symbols().text(conv.type_name()), "torch.nn.modules.conv.Conv2d");
    let names: Vec<&str> = conv.attributes().keys().map(|&name| tree.symbols().text(name)).collect();
    assert_eq!(names, ["weight", "bias", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode"]);

    let attribute = |path: &str| tree.attribute(root, path).unwrap();
    let kind = |path: &str| match attribute(path) {
        Attribute::Tensor(kind, _) => *kind,
        Attribute::Value(value) => panic!("{path} is {value:?}"),
    };
    assert_eq!(kind("layer1.0.conv1.weight"), TensorKind::Parameter);
    assert_eq!(kind("bn1.running_mean"), TensorKind::Buffer);
    let value = |path: &str| attribute(path).value().cloned();
    assert!(matches!(value("layer1.0.conv1.bias"), Some(Argument::None)));
    assert!(matches!(value("bn1.eps"), Some(Argument::Float(eps)) if eps == 1e-5));
    assert!(matches!(value("relu.inplace"), Some(Argument::Bool(_))));
    let Some(Argument::Tuple(sizes)) = value("conv1.kernel_size") else { panic!("no tuple") };
    assert!(matches!(*sizes, [Argument::Int(3), Argument::Int(3)]));
    let Some(Argument::Str(mode)) = value("conv1.padding_mode") else { panic!("no string") };
    assert_eq!(tree.symbols().text(mode), "zeros");
}

#[test]
fn what_a_node_yields_is_its_metadata() {
    let tree = read(&recorded("quantized_tensors"));
    let graph = tree.graph(tree.root()).unwrap();
    let meta = |name: &str| {
        let node = graph.find_node(name).unwrap();
        graph[node].value().and_then(|value| value.as_tensor()).cloned().unwrap()
    };
    let quantized = meta("quantize_per_tensor");
    assert_eq!(quantized.dtype, Dtype::Quint8);
    assert_eq!(quantized.shape.as_slice(), [Dim::Int(4), Dim::Int(4)]);
    assert_eq!(quantized.strides().unwrap().as_slice(), [4, 1]);
    assert_eq!(quantized.requires_grad, Some(false));
    assert_eq!(quantized.quantization.unwrap().qscheme().as_ref(), "torch.per_tensor_affine");
    // What is told the same of two nodes is kept once.
    let value = |name: &str| graph[graph.find_node(name).unwrap()].value().unwrap();
    assert!(std::sync::Arc::ptr_eq(value("add"), value("add_1")));
}

#[test]
fn keys_may_come_in_any_order() {
    for name in ["linear_attr_multi_output", "quantized_tensors", "parent_constant"] {
        let text = recorded(name);
        let sorted: serde_json::Value = serde_json::from_str(&text).unwrap();
        // serde_json's own maps are sorted: `args` comes first, `target` last.
        let sorted = serde_json::to_string(&sorted).unwrap();
        assert!(sorted.starts_with(r#"{"modules""#) && sorted.contains(r#"{"args":["#), "{sorted}");
        let (one, two) = (write(&read(&sorted)), write(&read(&text)));
        // The order of weights is that of the file, which was sorted too; nodes are the same.
        let nodes = |text: &str| text[text.find(r#""nodes""#).unwrap()..].to_owned();
        assert_eq!(nodes(&one), nodes(&two), "{name}");
    }
}

#[test]
fn the_order_of_users_is_kept() {
    let text = net(
        &format!("{},{}", call("a", r#"[{"is_node":true,"name":"x"}]"#), call("b", r#"[{"is_node":true,"name":"x"}]"#)),
        "a",
    );
    let swapped = text.replace(
        r#"[{"is_node":true,"name":"a"},{"is_node":true,"name":"b"}]"#,
        r#"[{"is_node":true,"name":"b"},{"is_node":true,"name":"a"}]"#,
    );
    assert_ne!(text, swapped);
    let tree = read(&swapped);
    let graph = tree.graph(tree.root()).unwrap();
    let users: Vec<&str> = graph.users(graph.find_node("x").unwrap()).map(|user| graph.name(user)).collect();
    assert_eq!(users, ["b", "a"]);
    assert!(write(&read(&write(&tree)))
        .contains("\"name\": \"b\"\n    },\n    {\n     \"is_node\": true,\n     \"name\": \"a\""));
}

#[test]
fn strings_that_spell_torch_values_are_values() {
    let text = net(
        &call(
            "f",
            r#"[{"is_node":true,"name":"x"},"torch.float16","torch.channels_last","torch.per_channel_affine","torch.strided","torch.float","cpu"]"#,
        ),
        "f",
    );
    let tree = read(&text);
    let graph = tree.graph(tree.root()).unwrap();
    let args = graph[graph.find_node("f").unwrap()].args();
    assert!(matches!(
        args,
        [
            Argument::Node(_),
            Argument::Dtype(Dtype::Float16),
            Argument::MemoryFormat(_),
            Argument::Qscheme(_),
            Argument::Layout(_),
            Argument::Str(_), // no dtype is printed so
            Argument::Str(_),
        ]
    ));
    assert!(write(&tree).contains(r#""torch.float""#));
}

#[test]
fn lists_are_tuples_where_torch_has_tuples() {
    let getitem = format!(
        r#"{{{INFO}"op_code":"call_function","name":"getitem","args":[{{"is_node":true,"name":"x"}},[null,[1,2]]],"target":"_operator.getitem","kwargs":{{}},"users":[]}}"#
    );
    let tree = read(&net(&getitem, "getitem"));
    let graph = tree.graph(tree.root()).unwrap();
    let Argument::Tuple(index) = &graph[graph.find_node("getitem").unwrap()].args()[1] else { panic!("no tuple") };
    assert!(matches!(&**index, [Argument::None, Argument::List(_)]));

    let x = r#"{"is_node":true,"name":"x"}"#;
    let returned = |args: &str| {
        let text = net("", "x").replace(&format!(r#""args":[{x}]"#), &format!(r#""args":{args}"#));
        let tree = json::read(text.as_bytes(), None).unwrap();
        let again = json::serialize(&tree, tree.root(), &Default::default()).unwrap().json;
        let graph = tree.graph(tree.root()).unwrap();
        let output = graph.output_node().unwrap();
        let node = |id: NodeId| graph.name(id).to_owned();
        let mut shown = String::new();
        fxir::formats::python::repr::write_repr(
            &mut shown,
            &graph[output].args()[0],
            graph.symbols(),
            &|out: &mut String, id| {
                out.push_str(if node(id) == "x" { "x" } else { "?" });
            },
        );
        (shown, again)
    };
    let info = r#","shape":"[4]","dtype":"torch.float32","requires_grad":"False","stride":"[1]","is_quantized":false"#;
    let full = format!(r#"{{"is_node":true,"name":"x"{info}}}"#);
    for (args, shown) in [
        (format!("[{full}]"), "x"),
        (format!("[{full},{full}]"), "(x, x)"),
        (format!("[[{full}]]"), "[x]"),
        (format!("[[{full},{full}]]"), "[x, x]"),
        (format!("[[{full},1],null]"), "([x, 1], None)"),
        (format!(r#"[{{"a":{full}}}]"#), "{'a': x}"),
    ] {
        let (found, again) = returned(&args);
        assert_eq!(found, shown, "{args}");
        assert!(again.contains(&format!(r#""args":{args}"#)), "{args}\n{again}");
    }
    let nothing = net("", "x")
        .replace(r#""users":[{"is_node":true,"name":"output"}]"#, r#""users":[]"#)
        .replace(&format!(r#""args":[{x}]"#), r#""args":[]"#);
    let tree = read(&nothing);
    let graph = tree.graph(tree.root()).unwrap();
    assert!(matches!(graph[graph.output_node().unwrap()].args(), [Argument::Tuple(items)] if items.is_empty()));
}

#[test]
fn lowering_information_is_kept_in_order() {
    let extra = r#""acc_out_ty":{"shape":[1,2],"dtype":"torch.float16"},"b":null,"a":[1.5,"x"],"#;
    let f = call("f", r#"[{"is_node":true,"name":"x"}]"#)
        .replace(r#""is_quantized":false,"#, &format!(r#""is_quantized":false,{extra}"#));
    let text = net(&f, "x").replace(r#""op_code":"placeholder""#, r#""ph_type":"input_ph","op_code":"placeholder""#);
    let tree = read(&text);
    let written = json::serialize(&tree, tree.root(), &Default::default()).unwrap().json;
    assert!(written.contains(&format!(r#""is_quantized":false,{extra}"target":"torch.f""#)), "{written}");
    assert!(written.contains(r#""target":"x","ph_type":"input_ph","op_code":"placeholder""#), "{written}");
    let graph = tree.graph(tree.root()).unwrap();
    let info = graph.symbols().find("lowering_info").unwrap();
    let node = graph.find_node("f").unwrap();
    assert!(matches!(graph[node].meta().entries.get(&info), Some(Argument::Dict(entries)) if entries.len() == 3));
}

#[test]
fn constants_of_the_module_above() {
    let get = |name: &str, target: &str| {
        format!(
            r#"{{{INFO}"target":"{target}","op_code":"get_attr","name":"{name}","args":[],"kwargs":{{}},"users":[]}}"#
        )
    };
    let uses = r#"[{"is_node":true,"name":"a.b"},{"is_node":true,"name":"max"},{"is_node":true,"name":"a_b"}]"#;
    let between =
        [get("a.b", "a.b"), get("max", "max"), call("a_b", "[]"), get("own", "w.own"), call("f", uses)].join(",");
    let text = net(&between, "f");
    let tree = read(&text);
    let graph = tree.graph(tree.root()).unwrap();
    let targets: Vec<(&str, &str)> =
        graph.nodes_of(Op::GetAttr).map(|node| (graph.name(node), graph.target(node))).collect();
    // Names that no node may have are made legal; those of other nodes stay.
    assert_eq!(targets, [("a_b_1", "parent.a.b"), ("max_1", "parent.max"), ("own", "w.own")]);
    assert!(matches!(
        tree.resolve(tree.root(), "parent.a.b"),
        Some(Member::Attribute(Attribute::Tensor(TensorKind::Constant, _)))
    ));
    let again = json::serialize(&tree, tree.root(), &Default::default()).unwrap().json;
    assert!(again.contains(r#""target":"a.b","op_code":"get_attr","name":"a.b""#), "{again}");
    assert!(again.contains(
        r#""args":[{"is_node":true,"name":"a.b"},{"is_node":true,"name":"max"},{"is_node":true,"name":"a_b"}]"#
    ));
    // One that is named otherwise cannot have been one: it is a member of its own, told of again.
    assert!(again.contains(r#""weights":{"w.own":{"#), "{again}");
}

#[test]
fn graph_modules_lie_under_their_paths() {
    let info = &INFO[..INFO.len() - 1];
    let weight =
        r#"{"dtype":"torch.float32","shape":"[4]","requires_grad":"True","is_quantized":false,"stride":"[1]"}"#;
    let relu = format!(
        r#"{{{INFO}"parameters":{{"name":"torch.nn.modules.activation.ReLU","inplace":"True"}},"target":"act","op_code":"call_module","name":"act","args":[{{"is_node":true,"name":"x"}}],"kwargs":{{}},"users":[]}}"#
    );
    let get = format!(r#"{{{INFO}"target":"w","op_code":"get_attr","name":"w","args":[],"kwargs":{{}},"users":[]}}"#);
    let add = call("add", r#"[{"is_node":true,"name":"act"},{"is_node":true,"name":"w"}]"#);
    let told = format!(r#""args":[{{"is_node":true,"name":"add",{info}}}]"#);
    let inner = net_with("{}", &format!(r#"{{"blocks.0.w":{weight}}}"#), &[relu, get, add].join(","), "add").replace(
        r#""op_code":"output","name":"output","args":[{"is_node":true,"name":"add"}]"#,
        &format!(r#""op_code":"output","name":"output",{told}"#),
    );
    let sub = r#"{"target":"blocks.0","op_code":"call_module","name":"blocks_0","args":[{"is_node":true,"name":"x"}],"kwargs":{},"users":[]}"#;
    let text = net_with(&format!(r#"{{"blocks.0":{inner}}}"#), "{}", sub, "blocks_0").replace(
        r#""args":[{"is_node":true,"name":"blocks_0"}]"#,
        &format!(r#""args":[{{"is_node":true,"name":"blocks_0",{info},"lowered":1}}]"#),
    );
    let tree = read(&text);
    let block = tree.submodule(tree.root(), "blocks.0").unwrap();
    assert_eq!(tree.graph(block).unwrap().len(), 5);
    assert!(matches!(tree.attribute(block, "w"), Ok(Attribute::Tensor(TensorKind::Parameter, _))));
    assert!(matches!(tree.attribute(block, "act.inplace"), Ok(Attribute::Value(Argument::Bool(true)))));
    // What a call of a graph module yields is told where it is returned.
    let graph = tree.graph(tree.root()).unwrap();
    let node = graph.find_node("blocks_0").unwrap();
    assert!(matches!(graph[node].value().map(|value| &**value), Some(Value::Tensor(_))));
    let again = json::serialize(&tree, tree.root(), &Default::default()).unwrap().json;
    assert_eq!(again, text);
}

#[test]
fn resnet18_is_read_from_its_recording() {
    let text = std::fs::read_to_string(case("models/resnet18/serialized.json")).unwrap();
    let tree = read(&text);
    assert_eq!(tree.graph(tree.root()).unwrap().len(), 71);
}
