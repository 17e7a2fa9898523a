//! The forms that the releases of torch had.

use super::{read, SCHEMAS};
use fxir::formats::json::{self, OutputInfo, Schema, SerializeOptions, WeightsFirst};
use fxir::ir::lowering::LoweringAttrs;
use fxir::ir::tensor::Quantization;
use fxir::ir::{
    Argument, Attribute, Dtype, ErrorKind, Kwargs, Member, ModuleId, ModuleTree, NewModule, NodeId, Tensor,
};
use fxir::ir::{TensorKind, TensorMeta, Value};
use std::sync::Arc;

fn version(name: &str) -> String {
    std::fs::read_to_string(super::case(&format!("serialize_versions/{name}.json"))).expect("a recorded case")
}

fn written(tree: &ModuleTree, schema: Schema) -> json::Serialized {
    json::serialize(tree, tree.root(), &SerializeOptions { schema, ..Default::default() }).unwrap()
}

fn value(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

fn meta() -> TensorMeta {
    TensorMeta { stride: Some([1.into()].into_iter().collect()), ..TensorMeta::new(Dtype::Float32, [2i64]) }
}

fn tensor(first: u8) -> Arc<Tensor> {
    Arc::new(Tensor::from_bytes(meta(), vec![first; 8]).unwrap())
}

fn know(tree: &mut ModuleTree, module: ModuleId) {
    let graph = tree.graph_mut(module).unwrap();
    for node in graph.nodes().collect::<Vec<NodeId>>() {
        graph.set_value(node, Some(Arc::new(Value::Tensor(meta())))).unwrap();
    }
}

fn names(weights: &serde_json::Value) -> Vec<&str> {
    weights.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The names of `weights` in the file's order.
fn order(text: &str) -> Vec<String> {
    let start = text.find(r#""weights":{"#).unwrap() + r#""weights":{"#.len();
    let mut depth = 0;
    let mut found = Vec::new();
    let mut rest = &text[start..];
    while depth >= 0 {
        match rest.chars().next().unwrap() {
            '"' => {
                let end = rest[1..].find('"').unwrap() + 1;
                if depth == 0 {
                    found.push(rest[1..end].to_owned());
                }
                rest = &rest[end..];
            }
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        rest = &rest[1..];
    }
    found
}

#[test]
fn a_recording_of_one_release_becomes_that_of_another() {
    let same = |text: &str, schema: Schema, other: &str| {
        let made = written(&read(text), schema).json;
        assert_eq!(value(&made), value(other));
    };
    for name in ["leafs", "quant", "quant_node", "single_out"] {
        same(&version(&format!("{name}.1.11.0")), Schema::torch_1_12(), &version(&format!("{name}.1.12.1")));
    }
    // Nothing that 1.11 has is missing in 1.12 here.
    for name in ["quant", "quant_node", "single_out"] {
        same(&version(&format!("{name}.1.12.1")), Schema::torch_1_10(), &version(&format!("{name}.1.11.0")));
        same(&version(&format!("{name}.1.12.1")), Schema::torch_1_9(), &version(&format!("{name}.1.9.1")));
    }
    same(&version("single_out.1.12.1"), Schema::torch_1_8(), &version("single_out.1.8.1").replace('\n', " "));
}

#[test]
fn the_forms_between_releases() {
    // Parameters first, shape and dtype at what is returned.
    let text = written(&read(&version("leafs.1.9.1")), Schema::output_args()).json;
    let json = value(&text);
    assert_eq!(
        order(&text),
        [
            "w",
            "conv.weight",
            "bn.weight",
            "bn.bias",
            "fc.weight",
            "fc.bias",
            "bn.running_mean",
            "bn.running_var",
            "buf"
        ]
    );
    assert_eq!(names(&json["weights"]["w"]), ["dtype", "is_quantized", "shape"]);
    let nodes = json["nodes"].as_array().unwrap();
    let keys = |node: &serde_json::Value| names(node).join(" ");
    assert_eq!(keys(&nodes[0]), "args dtype kwargs name op_code shape target");
    let output = nodes.last().unwrap();
    assert_eq!(keys(output), "args kwargs name op_code target");
    assert_eq!(keys(&output["args"][0]), "dtype is_node name shape");
    assert_eq!(output["args"][1]["shape"], "[1, 4]");

    // Parameters and buffers first, quantization told, no strides.
    let text = written(&read(&version("leafs.1.9.1")), Schema::is_quantized()).json;
    let json = value(&text);
    assert_eq!(order(&text), order(&version("leafs.1.9.1").replace(": {", ":{")));
    assert_eq!(names(&json["weights"]["w"]), ["dtype", "is_quantized", "shape"]);
    assert!(text.contains(r#""w":{"dtype":"torch.float32","shape":"[2]","is_quantized":false}"#), "{text}");
    assert_eq!(names(&json["nodes"][0]).join(" "), "args dtype is_quantized kwargs name op_code shape target");
    let quantized = written(&read(&version("quant.1.9.1")), Schema::is_quantized()).json;
    assert!(quantized.contains(r#""q_per_channel_scales":"qc_per_channel_scales""#));
    assert!(!quantized.contains("stride"));
}

#[test]
fn every_field_of_the_form_is_one_difference() {
    let tree = read(&version("leafs.1.12.1"));
    let base = Schema::torch_1_12();
    let with = |change: fn(&mut Schema)| {
        let mut schema = base;
        change(&mut schema);
        written(&tree, schema).json
    };
    assert!(with(|_| {}).contains("requires_grad"));
    assert!(!with(|schema| schema.requires_grad = false).contains("requires_grad"));
    assert!(!with(|schema| schema.stride = false).contains(r#""stride":"[27"#));
    assert!(!with(|schema| schema.users = false).contains("users"));
    let quiet = with(|schema| schema.is_quantized = false);
    assert!(!value(&quiet)["nodes"].to_string().contains("is_quantized"));
    assert!(value(&quiet)["weights"].to_string().contains("is_quantized"));
    let told = value(&with(|schema| schema.output_info = OutputInfo::Node));
    let output = told["nodes"].as_array().unwrap().last().unwrap();
    assert_eq!(output["shape"], serde_json::json!(["[1, 2]", "[1, 4]"]));
    assert_eq!(output["args"][0], serde_json::json!({"is_node": true, "name": "add"}));
    let packed = value(&with(|schema| schema.unpack_output = false));
    let output = packed["nodes"].as_array().unwrap().last().unwrap();
    assert_eq!(output["args"].as_array().unwrap().len(), 1);
    let first = with(|schema| schema.weights_first = WeightsFirst::BuffersAndParameters);
    assert_eq!(&order(&first)[..4], ["buf", "bn.running_mean", "bn.running_var", "w"]);
}

#[test]
fn scales_per_channel_stand_in_the_file_in_1_8() {
    let tree = read(&version("quant.1.8.1"));
    let Ok(Attribute::Tensor(_, qf)) = tree.attribute(tree.root(), "qf") else { panic!("no tensor") };
    let Some(Quantization::PerChannel { axis: Some(0), scales: Some(scales), zero_points: Some(points), .. }) =
        &qf.meta().quantization
    else {
        panic!("{:?}", qf.meta())
    };
    assert_eq!((scales.dtype(), points.dtype()), (Dtype::Float64, Dtype::Float64));
    // In the forms after it they are weights, of float32 and int32.
    let later = read(&version("quant.1.8.1"));
    let options = SerializeOptions { allow_missing_meta: true, schema: Schema::torch_1_9(), ..Default::default() };
    let made = json::serialize(&later, later.root(), &options).unwrap();
    assert_eq!(value(&made.json)["weights"], value(&version("quant.1.9.1"))["weights"]);
    let floats: Vec<u8> = [0.1f32, 0.2, 0.3, 0.4].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(made.weights["qf_per_channel_scales"].data(), Some(floats.as_slice()));
    let ints: Vec<u8> = [0i32, 0, 1, 1].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(made.weights["qf_per_channel_zero_points"].data(), Some(ints.as_slice()));
    // And of what 1.8 tells of nodes not even the scheme is known.
    let error = json::serialize(&later, later.root(), &SerializeOptions::default()).unwrap_err();
    assert!(error.message.contains("node `qt` (get_attr qt): it is torch.quint8, but its qscheme is not known"));
    // Back again they have to be here.
    let bare = read(&version("quant.1.9.1"));
    let schema = Schema::torch_1_8();
    let error = json::serialize(&bare, bare.root(), &SerializeOptions { schema, ..Default::default() }).unwrap_err();
    assert_eq!(error.message, "weight `qc`: its scales, zero points or axis are not known");
    let text = version("quant.1.8.1");
    for (part, replacement, message) in [
        ("\"q_per_channel_axis\": 0", "\"q_per_channel_axis\": 1", "4 scales or zero points are told, and it has 3"),
        ("0.10000000149011612", "null", "neither the name of a weight nor a list of numbers"),
        ("q_zero_pont", "q_zero_points", "nothing is known of such a key"),
    ] {
        let broken = text.replacen(part, replacement, 1);
        assert_ne!(broken, text);
        let error = json::read(broken.as_bytes(), None).unwrap_err();
        assert!(error.message.contains(message), "{error}");
        assert!(error.place.is_some());
    }
}

/// A root with parameters and buffers here and there, some needed by no node, modules called in
/// another order than they lie in, and one tensor under two names.
fn crowded() -> ModuleTree {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    let linear = "torch.nn.modules.linear.Linear";
    for path in ["unused", "second", "first", "block.inner", "tied"] {
        tree.add_module(root, path, linear, NewModule::Leaf).unwrap();
    }
    let shared = tensor(9);
    let mut set = |path: &str, kind, tensor| tree.set_attribute(root, path, Attribute::Tensor(kind, tensor)).unwrap();
    set("scale", TensorKind::Parameter, tensor(1));
    set("mean", TensorKind::Buffer, tensor(2));
    set("unused.weight", TensorKind::Parameter, tensor(3));
    set("second.steps", TensorKind::Buffer, tensor(4));
    set("second.weight", TensorKind::Parameter, shared.clone());
    set("first.weight", TensorKind::Parameter, tensor(5));
    set("block.inner.weight", TensorKind::Parameter, tensor(6));
    set("block.mean", TensorKind::Buffer, tensor(7));
    set("tied.weight", TensorKind::Parameter, shared);
    set("plain", TensorKind::Constant, tensor(8));
    let graph = tree.graph_mut(root).unwrap();
    let mut x = graph.placeholder("x").unwrap();
    for target in ["first", "block.inner", "second", "tied"] {
        x = graph.call_module(target, [x.into()].as_slice(), Kwargs::new()).unwrap();
    }
    let plain = graph.get_attr("plain").unwrap();
    let scale = graph.get_attr("scale").unwrap();
    let arguments = [x.into(), plain.into(), scale.into()];
    let f = graph.call_function("torch.f", arguments.as_slice(), Kwargs::new()).unwrap();
    graph.output(f.into()).unwrap();
    know(&mut tree, root);
    tree
}

#[test]
fn weights_come_as_torch_walks_and_the_order_is_kept() {
    let parameters = ["scale", "unused.weight", "second.weight", "first.weight", "block.inner.weight"];
    let buffers = ["mean", "second.steps", "block.mean"];
    for (schema, expected) in [
        (Schema::torch_1_8(), [&parameters[..], &["tied.weight", "plain"]].concat()),
        (Schema::torch_1_9(), [&parameters[..], &buffers, &["tied.weight", "plain"]].concat()),
        (Schema::torch_1_10(), [&parameters[..], &buffers, &["tied.weight", "plain"]].concat()),
        (
            Schema::torch_1_12(),
            ["first.weight", "block.inner.weight", "second.weight", "tied.weight", "plain", "scale"].to_vec(),
        ),
    ] {
        let tree = crowded();
        let serialized = written(&tree, schema);
        assert_eq!(order(&serialized.json), expected);
        assert_eq!(serialized.weights.keys().collect::<Vec<_>>(), expected);
        let again = read(&serialized.json);
        let rewritten = written(&again, schema);
        assert_eq!(rewritten.json, serialized.json);
        assert_eq!(rewritten.weights.keys().collect::<Vec<_>>(), expected);
        if schema.weights_first == WeightsFirst::ParametersAndBuffers {
            let kind = |path: &str| match again.attribute(again.root(), path).unwrap() {
                Attribute::Tensor(kind, _) => *kind,
                Attribute::Value(value) => panic!("{value:?}"),
            };
            assert!(parameters.iter().all(|path| kind(path) == TensorKind::Parameter));
            assert!(buffers.iter().all(|path| kind(path) == TensorKind::Buffer));
        }
    }
}

#[test]
fn a_constant_of_the_module_above_is_among_the_weights_until_1_11() {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    tree.set_attribute(root, "shared", Attribute::Tensor(TensorKind::Buffer, tensor(1))).unwrap();
    let sub = tree.add_module(root, "sub", "Sub", NewModule::Graph).unwrap();
    tree.set_attribute(sub, "parent.shared", Attribute::Tensor(TensorKind::Constant, tensor(1))).unwrap();
    tree.set_attribute(sub, "own", Attribute::Tensor(TensorKind::Parameter, tensor(2))).unwrap();
    let graph = tree.graph_mut(sub).unwrap();
    let shared = graph.get_attr("parent.shared").unwrap();
    let own = graph.get_attr("own").unwrap();
    let f = graph.call_function("torch.f", [shared.into(), own.into()].as_slice(), Kwargs::new()).unwrap();
    graph.output(f.into()).unwrap();
    let graph = tree.graph_mut(root).unwrap();
    let shared = graph.get_attr("shared").unwrap();
    let call = graph.call_module("sub", [shared.into()].as_slice(), Kwargs::new()).unwrap();
    graph.output(call.into()).unwrap();
    know(&mut tree, root);
    know(&mut tree, sub);
    for schema in SCHEMAS {
        let schema = schema();
        let serialized = written(&tree, schema);
        let json = value(&serialized.json);
        let inner = &json["modules"]["sub"];
        let told = names(&inner["weights"]);
        match schema.parent_weights {
            true => assert_eq!(told, ["shared", "sub.own"]),
            false => assert_eq!(told, ["sub.own"]),
        }
        assert_eq!((&inner["nodes"][0]["target"], &inner["nodes"][0]["name"]), (&"shared".into(), &"shared".into()));
        assert!(serialized.weights.contains_key("shared"));
        let again = read(&serialized.json);
        let sub = again.submodule(again.root(), "sub").unwrap();
        assert!(matches!(
            again.resolve(sub, "parent.shared"),
            Some(Member::Attribute(Attribute::Tensor(TensorKind::Constant, _)))
        ));
        assert!(matches!(again.attribute(sub, "own"), Ok(Attribute::Tensor(..))));
        assert!(again.resolve(sub, "shared").is_none());
        assert_eq!(written(&again, schema).json, serialized.json);
    }
}

#[test]
fn a_table_of_fused_embeddings_is_told_of_in_every_form() {
    for (op, dtype) in [("byte", "acc.uint8fused"), ("4bit", "acc.uint4fused")] {
        for parent in [false, true] {
            let mut tree = ModuleTree::new("Net");
            let root = tree.root();
            let table = if parent { "parent.table" } else { "table" };
            let bytes = Arc::new(Tensor::from_bytes(TensorMeta::new(Dtype::Uint8, [2i64, 12]), vec![0; 24]).unwrap());
            tree.set_attribute(root, table, Attribute::Tensor(TensorKind::Buffer, bytes)).unwrap();
            let weight = tree.symbols().intern("weight");
            let graph = tree.graph_mut(root).unwrap();
            let read = graph.get_attr(table).unwrap();
            let target = format!("torch.fx.experimental.fx_acc.acc_ops.embedding_bag_{op}_rowwise_offsets");
            let out = graph.call_function(&target, [].as_slice(), [(weight, read.into())].into()).unwrap();
            graph.output(out.into()).unwrap();
            know(&mut tree, root);
            for schema in SCHEMAS {
                let schema = schema();
                let serialized = written(&tree, schema);
                if parent && !schema.parent_weights {
                    continue;
                }
                assert_eq!(value(&serialized.json)["weights"]["table"]["dtype"], dtype);
                assert_eq!(serialized.weights["table"].dtype().name(), dtype);
            }
        }
    }
}

#[test]
fn lowering_information_and_placeholder_types_are_in_every_form() {
    let mut tree = crowded();
    let root = tree.root();
    let symbols = tree.symbols().clone();
    let symbol = |text: &str| Argument::Str(symbols.intern(text));
    let graph = tree.graph_mut(root).unwrap();
    let (x, f) = (graph.find_node("x").unwrap(), graph.find_node("f").unwrap());
    graph.set_meta(x, "ph_type", symbol("input_ph")).unwrap();
    graph.set_meta(f, "lowering_info", Argument::Dict([(symbol("acc_out"), Argument::Ellipsis)].into())).unwrap();
    for schema in SCHEMAS {
        let schema = schema();
        let text = written(&tree, schema).json;
        assert!(text.contains(r#""target":"x","ph_type":"input_ph","op_code":"placeholder""#), "{text}");
        let told = text.matches(r#""acc_out":{"__py__":"ellipsis","args":[]}"#).count();
        assert_eq!(told, if schema.output_info == OutputInfo::Args { 2 } else { 1 });
        assert_eq!(written(&read(&text), schema).json, text);
    }
}

#[test]
fn of_a_leaf_is_told_what_its_type_s_list_names() {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    let leaf = |tree: &mut ModuleTree, path: &str, type_name: &str| {
        let leaf = tree.add_module(root, path, type_name, NewModule::Leaf).unwrap();
        for (name, value) in [("extra", 1), ("stride", 2), ("kernel_size", 3)] {
            tree.set_attribute(leaf, name, Attribute::Value(Argument::Int(value))).unwrap();
        }
        tree.set_attribute(leaf, "steps", Attribute::Tensor(TensorKind::Buffer, tensor(1))).unwrap();
        tree.set_attribute(leaf, "weight", Attribute::Tensor(TensorKind::Parameter, tensor(2))).unwrap();
    };
    leaf(&mut tree, "conv", "torch.nn.modules.conv.Conv2d");
    leaf(&mut tree, "own", "my.Own");
    let graph = tree.graph_mut(root).unwrap();
    let x = graph.placeholder("x").unwrap();
    let conv = graph.call_module("conv", [x.into()].as_slice(), Kwargs::new()).unwrap();
    let own = graph.call_module("own", [conv.into()].as_slice(), Kwargs::new()).unwrap();
    graph.output(own.into()).unwrap();
    know(&mut tree, root);

    let serialize = |lowering: &LoweringAttrs, strict: bool| {
        let options = SerializeOptions { lowering: lowering.clone(), strict_lowering: strict, ..Default::default() };
        json::serialize(&tree, root, &options)
    };
    let told = |lowering: &LoweringAttrs| {
        let text = serialize(lowering, false).unwrap().json;
        let part = |name: &str| {
            let start = text.find(&format!(r#""parameters":{{"name":"{name}""#)).unwrap();
            text[start..start + text[start..].find('}').unwrap()].to_owned()
        };
        (order(&text), part("torch.nn.modules.conv.Conv2d"), part("my.Own"))
    };
    let mut lists = LoweringAttrs::torch_1_12();
    let (weights, conv, own) = told(&lists);
    assert_eq!(weights, ["conv.weight", "own.steps", "own.weight"]);
    assert!(conv.ends_with(r#","bias":"None","kernel_size":"3","stride":"2""#), "{conv}");
    assert!(own.ends_with(r#","extra":"1","stride":"2","kernel_size":"3""#), "{own}");
    let error = serialize(&lists, true).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unsupported);
    assert!(error.message.contains("node `own` (call_module own): its module is a my.Own, of which it is not known"));

    lists.register("my.Own", &["kernel_size", "weight"]).unwrap();
    let (weights, _, own) = told(&lists);
    assert_eq!(weights, ["conv.weight", "own.weight"]);
    assert!(own.ends_with(r#"Own","kernel_size":"3""#), "{own}");
    serialize(&lists, true).unwrap();

    let (weights, conv, _) = told(&LoweringAttrs::nothing());
    assert_eq!(weights, ["conv.steps", "conv.weight", "own.steps", "own.weight"]);
    assert!(conv.ends_with(r#","extra":"1","stride":"2","kernel_size":"3""#), "{conv}");
}
