//! What writing makes of a tree, and what it refuses.

use fxir::formats::json::{self, SerializeOptions};
use fxir::ir::tensor::Quantization;
use fxir::ir::tree::NewModule;
use fxir::ir::{Argument, Attribute, Dtype, Error, ErrorKind, ModuleId, ModuleTree, NodeId, Tensor, TensorKind};
use fxir::ir::{Kwargs, TensorMeta, Value};
use std::sync::Arc;

fn meta() -> TensorMeta {
    TensorMeta {
        stride: Some([3.into(), 1.into()].into_iter().collect()),
        ..TensorMeta::new(Dtype::Float32, [2i64, 3])
    }
}

fn tensor(first: u8) -> Arc<Tensor> {
    Arc::new(Tensor::from_bytes(meta(), vec![first; 24]).unwrap())
}

/// A tree whose root takes `x`; what is made of it is returned, and has metadata.
fn tree_of(build: impl FnOnce(&mut ModuleTree, ModuleId, NodeId) -> NodeId) -> ModuleTree {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    let x = tree.graph_mut(root).unwrap().placeholder("x").unwrap();
    let out = build(&mut tree, root, x);
    tree.graph_mut(root).unwrap().output(out.into()).unwrap();
    know_everything(&mut tree, root);
    tree
}

fn know_everything(tree: &mut ModuleTree, module: ModuleId) {
    let graph = tree.graph_mut(module).unwrap();
    let nodes: Vec<NodeId> = graph.nodes().collect();
    for node in nodes {
        graph.set_value(node, Some(Arc::new(Value::Tensor(meta())))).unwrap();
    }
}

fn written(tree: &ModuleTree) -> String {
    json::serialize(tree, tree.root(), &SerializeOptions::default()).unwrap().json
}

fn refused(tree: &ModuleTree) -> Error {
    let mut out = Vec::new();
    let error = json::write(tree, tree.root(), &SerializeOptions::default(), &mut out).expect_err("it must be refused");
    assert!(out.is_empty(), "something was written before it failed");
    error
}

fn call(tree: &mut ModuleTree, arguments: &[Argument]) -> NodeId {
    let root = tree.root();
    tree.graph_mut(root).unwrap().call_function("torch.f", arguments, Kwargs::new()).unwrap()
}

#[test]
fn an_int_that_json_cannot_hold_is_refused_by_node_and_argument() {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    let argument = Argument::BigInt(tree.symbols().intern("x"));
    let f = call(&mut tree, &[Argument::None, Argument::List([argument.clone()].into())]);
    let error = refused(&tree);
    assert_eq!((error.kind, error.node), (ErrorKind::Unsupported, Some(f)));
    let what = "an int that is not spelled in decimal digits, which JSON cannot hold";
    assert_eq!(error.message, format!("node `f` (call_function torch.f): argument 1 is or holds {what}"));

    let graph = tree.graph_mut(root).unwrap();
    graph.set_args(f, Default::default()).unwrap();
    graph.set_kwarg(f, "dim", argument).unwrap();
    assert!(refused(&tree).message.contains("keyword argument `dim` is or holds"));
}

#[test]
fn a_node_of_which_nothing_is_known_is_an_error_or_left_out() {
    let mut tree = tree_of(|tree, _, x| call(tree, &[x.into()]));
    let root = tree.root();
    let f = tree.graph(root).unwrap().find_node("f").unwrap();
    let full = written(&tree);
    tree.graph_mut(root).unwrap().set_value(f, None).unwrap();
    let error = refused(&tree);
    assert_eq!((error.kind, error.node), (ErrorKind::InvalidArgument, Some(f)));
    assert!(error.message.contains("node `f` (call_function torch.f): nothing is known of what it yields"), "{error}");

    let options = SerializeOptions { allow_missing_meta: true, ..Default::default() };
    let text = json::serialize(&tree, root, &options).unwrap().json;
    assert!(text.contains(r#"{"target":"torch.f","op_code":"call_function","name":"f""#), "{text}");
    assert!(text.contains(r#""args":[{"is_node":true,"name":"f"}],"kwargs":{},"users":[]}]"#), "{text}");
    let again = json::read(text.as_bytes(), None).unwrap();
    assert_eq!(json::serialize(&again, again.root(), &options).unwrap().json, text);

    // Strides that nobody told are those of a tensor that lies row-major.
    let known = TensorMeta { stride: None, ..meta() };
    tree.graph_mut(root).unwrap().set_value(f, Some(Arc::new(Value::Tensor(known)))).unwrap();
    assert_eq!(written(&tree), full);
}

#[test]
fn a_leaf_module_is_written_once_with_all_that_lies_in_it() {
    let mut tree = tree_of(|tree, root, x| {
        tree.add_module(root, "attention", "torch.nn.modules.activation.MultiheadAttention", NewModule::Leaf).unwrap();
        tree.set_attribute(root, "attention.heads", Attribute::Value(Argument::Int(8))).unwrap();
        tree.set_attribute(root, "attention.w", Attribute::Tensor(TensorKind::Parameter, tensor(1))).unwrap();
        tree.set_attribute(root, "attention.out.b", Attribute::Tensor(TensorKind::Buffer, tensor(2))).unwrap();
        tree.set_attribute(root, "attention.out.p", Attribute::Value(Argument::None)).unwrap();
        let graph = tree.graph_mut(root).unwrap();
        let one = graph.call_module("attention", [x.into()].as_slice(), Kwargs::new()).unwrap();
        graph.call_module("attention", [one.into()].as_slice(), Kwargs::new()).unwrap()
    });
    let serialized = json::serialize(&tree, tree.root(), &Default::default()).unwrap();
    assert_eq!(serialized.weights.keys().collect::<Vec<_>>(), ["attention.w", "attention.out.b"]);
    assert!(serialized
        .json
        .contains(r#""attention.w":{"dtype":"torch.float32","shape":"[2, 3]","requires_grad":"True""#));
    let parameters =
        r#""parameters":{"name":"torch.nn.modules.activation.MultiheadAttention","heads":"8","out.p":"None"}"#;
    assert_eq!(serialized.json.matches(parameters).count(), 2, "{}", serialized.json);
    let again = json::read(serialized.json.as_bytes(), None).unwrap();
    assert!(matches!(again.attribute(again.root(), "attention.out.b"), Ok(Attribute::Tensor(TensorKind::Buffer, _))));
    assert_eq!(written(&again), serialized.json);

    tree.set_attribute(tree.root(), "attention.name", Attribute::Value(Argument::None)).unwrap();
    assert!(refused(&tree).message.contains("has a setting `name`"));
}

#[test]
fn modules_that_torch_would_confuse_are_refused() {
    let nested = |second: u8| {
        let mut tree = tree_of(|tree, root, mut x| {
            for (path, first) in [("one", 1), ("two", second)] {
                let sub = tree.add_module(root, path, "Sub", NewModule::Graph).unwrap();
                let inner = tree.add_module(sub, "inner", "Inner", NewModule::Graph).unwrap();
                tree.set_attribute(inner, "w", Attribute::Tensor(TensorKind::Buffer, tensor(first))).unwrap();
                let graph = tree.graph_mut(inner).unwrap();
                let w = graph.get_attr("w").unwrap();
                graph.output(w.into()).unwrap();
                let graph = tree.graph_mut(sub).unwrap();
                let call = graph.call_module("inner", [].as_slice(), Kwargs::new()).unwrap();
                graph.output(call.into()).unwrap();
                x = tree.graph_mut(root).unwrap().call_module(path, [x.into()].as_slice(), Kwargs::new()).unwrap();
            }
            x
        });
        for path in ["one", "two", "one.inner", "two.inner"] {
            let module = tree.submodule(tree.root(), path).unwrap();
            know_everything(&mut tree, module);
        }
        tree
    };
    // torch names a weight by the last module's target alone: equal tensors do no harm.
    let text = written(&nested(1));
    assert_eq!(text.matches(r#""inner.w":{"#).count(), 1);
    assert_eq!(written(&json::read(text.as_bytes(), None).unwrap()), text);
    let error = refused(&nested(2));
    assert_eq!(error.kind, ErrorKind::InvalidArgument);
    let expected = "two tensors would both be the weight `inner.w`: one needed by node `w` of module `one.inner`, one by node `w` of module `two.inner`";
    assert_eq!(error.message, expected);
}

#[test]
fn a_constant_of_the_module_above_gives_its_name() {
    let tree = |target: &str| {
        tree_of(|tree, root, x| {
            tree.set_attribute(root, target, Attribute::Tensor(TensorKind::Constant, tensor(1))).unwrap();
            let constant = tree.graph_mut(root).unwrap().get_attr(target).unwrap();
            call(tree, &[x.into(), constant.into()])
        })
    };
    let serialized = json::serialize(&tree("parent.y"), tree("parent.y").root(), &Default::default()).unwrap();
    assert!(serialized.json.contains(r#""target":"y","op_code":"get_attr","name":"y""#), "{}", serialized.json);
    assert!(serialized.json.contains(r#""args":[{"is_node":true,"name":"x"},{"is_node":true,"name":"y"}]"#));
    assert!(serialized.json.contains(r#""weights":{}"#));
    assert_eq!(serialized.weights.keys().collect::<Vec<_>>(), ["y"]);
    let error = refused(&tree("parent.x"));
    assert_eq!(error.message, "nodes `x` and `parent_x` would both be written as `x`");
}

#[test]
fn a_table_of_fused_embeddings_gets_its_dtype_from_its_user() {
    let tree = tree_of(|tree, root, x| {
        let meta = TensorMeta::new(Dtype::Uint8, [2i64, 12]);
        let table = Arc::new(Tensor::from_bytes(meta, vec![0; 24]).unwrap());
        tree.set_attribute(root, "table", Attribute::Tensor(TensorKind::Buffer, table)).unwrap();
        let weight = tree.symbols().intern("weight");
        let graph = tree.graph_mut(root).unwrap();
        let table = graph.get_attr("table").unwrap();
        let target = "glow.fb.fx.acc_ops.embedding_bag_4bit_rowwise_offsets";
        graph.call_function(target, [x.into()].as_slice(), [(weight, table.into())].into()).unwrap()
    });
    let serialized = json::serialize(&tree, tree.root(), &Default::default()).unwrap();
    assert!(serialized.json.contains(r#""table":{"dtype":"acc.uint4fused","shape":"[2, 12]","requires_grad":"False","is_quantized":false,"stride":"[12, 1]"}"#));
    assert_eq!(serialized.weights["table"].dtype(), Dtype::AccUint4Fused);
}

#[test]
fn members_that_cannot_be_written() {
    let tree = |quantization: Option<Quantization>, dtype| {
        tree_of(|tree, root, _| {
            let meta = TensorMeta { quantization, ..TensorMeta::new(dtype, [4i64]) };
            let w = Arc::new(Tensor::without_bytes(meta).unwrap());
            tree.set_attribute(root, "w", Attribute::Tensor(TensorKind::Buffer, w)).unwrap();
            tree.graph_mut(root).unwrap().get_attr("w").unwrap()
        })
    };
    let per_channel = |qscheme: &str| {
        Some(Quantization::PerChannel { qscheme: qscheme.into(), axis: Some(0), scales: None, zero_points: None })
    };
    for (quantization, dtype, message) in [
        (None, Dtype::Qint8, "weight `w`: it is torch.qint8, but its qscheme is not known"),
        (
            per_channel("torch.per_channel_affine"),
            Dtype::Qint8,
            "weight `w`: its scales, zero points or axis are not known",
        ),
        (
            per_channel("torch.per_tensor_affine"),
            Dtype::Qint8,
            "weight `w`: its qscheme cannot be torch.per_tensor_affine",
        ),
        (per_channel("torch.per_channel_affine"), Dtype::Int8, "it has a qscheme, but torch.int8 is not quantized"),
    ] {
        let error = refused(&tree(quantization, dtype));
        assert_eq!(error.kind, ErrorKind::InvalidArgument);
        assert!(error.message.contains(message), "{error}");
    }

    let mut tree = tree(None, Dtype::Int8);
    let root = tree.root();
    tree.set_attribute(root, "w", Attribute::Value(Argument::Int(1))).unwrap();
    assert_eq!(refused(&tree).kind, ErrorKind::Unsupported);
    tree.delete(root, "w").unwrap();
    assert_eq!(refused(&tree).kind, ErrorKind::NotFound);
    let leaf = tree.add_module(root, "leaf", "A", NewModule::Leaf).unwrap();
    assert!(json::serialize(&tree, leaf, &Default::default()).is_err());
}

#[test]
fn lowering_information_may_not_take_the_format_s_keys() {
    for (key, is_legal) in [("acc_out_ty", true), ("name", false), ("shape", false), ("is_node", false)] {
        let mut tree = tree_of(|tree, _, x| call(tree, &[x.into()]));
        let root = tree.root();
        let key = Argument::Str(tree.symbols().intern(key));
        let graph = tree.graph_mut(root).unwrap();
        let f = graph.find_node("f").unwrap();
        graph.set_meta(f, "lowering_info", Argument::Dict([(key, Argument::Int(1))].into())).unwrap();
        match is_legal {
            true => assert_eq!(written(&tree).matches(r#","acc_out_ty":1"#).count(), 2), // and where it is returned
            false => assert!(refused(&tree).message.contains("which the format needs")),
        }
    }
}

#[test]
fn a_writer_that_fails_is_an_io_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("full"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let tree = tree_of(|_, _, x| x);
    let error = json::write(&tree, tree.root(), &SerializeOptions::default(), &mut Full).unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Io, "writing JSON: full"));
}
