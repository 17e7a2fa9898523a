//! `tests/cases/native/version_1.fxir`: a file as version 1 is written, and stays readable for good.

use super::{document_of, loaded};
use fxir::formats::native;
use fxir::ir::tensor::{Dim, Quantization, Scalar};
use fxir::ir::{
    Argument, At, Attribute, Dtype, Kwargs, ModuleTree, NewModule, Op, Tensor, TensorKind, TensorMeta, Value,
};
use std::path::Path;
use std::sync::Arc;

/// `FXIR_WRITE_NATIVE=1` writes the file anew: only before a version is released.
#[test]
fn what_version_1_wrote_is_read() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/native/version_1.fxir"));
    let tree = everything();
    loaded(&tree);
    if std::env::var_os("FXIR_WRITE_NATIVE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        native::save(path, &tree, tree.root()).unwrap();
    }
    let kept = native::open(path).unwrap();
    assert!(kept.is_same_as(kept.root(), &tree, tree.root()));
    // As long as version 1 is what is written.
    assert_eq!(native::VERSION, 1);
    assert_eq!(document_of(&kept), document_of(&tree));
    assert_eq!(std::fs::read(path).unwrap(), native::to_bytes(&tree, tree.root()).unwrap());
}

/// Every key and every kind of the schema.
fn everything() -> ModuleTree {
    let mut tree = ModuleTree::new("my.Net");
    let root = tree.root();
    add_members(&mut tree);

    let symbols = tree.symbols().clone();
    let text = |text: &str| symbols.intern(text);
    let literals = [
        Argument::None,
        Argument::Bool(true),
        Argument::Int(-7),
        Argument::BigInt(text("-9223372036854775809")),
        Argument::Float(0.1),
        Argument::Float(-0.0),
        Argument::Float(f64::NEG_INFINITY),
        Argument::Float(f64::NAN),
        Argument::Float(f64::from_bits(0xfff8_0000_0000_0000)),
        Argument::Complex(Box::new([1.5, f64::INFINITY])),
        Argument::Str(text("a \"text\"\n\0é")),
        Argument::Bytes([0, 10, 255].into()),
        Argument::Dtype(Dtype::Bfloat16),
        Argument::Device(text("cuda:0")),
        Argument::Layout(text("torch.strided")),
        Argument::MemoryFormat(text("torch.channels_last")),
        Argument::Qscheme(text("torch.per_tensor_affine")),
        Argument::Ellipsis,
        Argument::SymInt(text("s0")),
        Argument::Range(Box::new([0, 10, 3])),
    ];
    let graph = tree.graph_mut(root).unwrap();
    let x = graph.placeholder("x").unwrap();
    let default = [Argument::Float(0.5)].into_iter().collect();
    let y = graph.create_node(At::Default, Op::Placeholder, "y", default, Kwargs::new(), None).unwrap();
    let w = graph.get_attr("block.w").unwrap();
    let f = graph.call_function("my.f", literals.to_vec(), Kwargs::new()).unwrap();
    let nested = [
        Argument::List([Argument::Node(x), Argument::Tuple([Argument::Node(y), Argument::Node(x)].into())].into()),
        Argument::Dict([(Argument::Int(1), Argument::Node(f)), (Argument::Str(text("k")), Argument::None)].into()),
        Argument::Slice(Box::new([Argument::None, Argument::Node(w), Argument::Int(2)])),
    ];
    let kwargs = [(text("self"), Argument::Node(x)), (text("b"), Argument::Node(y))].into();
    let add = graph.call_method("add", nested.to_vec(), kwargs).unwrap();
    let gone = graph.call_method("add", vec![Argument::Node(add)], Kwargs::new()).unwrap();
    graph.erase_node(gone).unwrap();
    let block = graph.call_module("block", vec![Argument::Node(x)], Kwargs::new()).unwrap();
    let relu = graph.call_module("act", vec![Argument::Node(add)], Kwargs::new()).unwrap();
    graph.output(Argument::Tuple([relu, block, add].map(Argument::Node).into())).unwrap();
    assert!(graph.set_user_order(x, &[block, add]).unwrap());
    graph.set_type_annotation(x, Some("torch.Tensor")).unwrap();
    graph.set_comment(f, Some("# File: net.py:3")).unwrap();
    for (number, literal) in literals.into_iter().enumerate() {
        graph.set_meta(f, &format!("key {number}"), literal).unwrap();
    }
    graph.signature.return_annotation = Some("int".into());
    graph.signature.pytree_header = Some("    x, y = pytree(x)\n".into());
    graph.signature.wrapped = vec!["wrapped".into()];

    let known = Arc::new(Value::Tuple(vec![
        Value::Tensor(TensorMeta {
            stride: Some([Dim::Int(3), Dim::Sym("s0".into())].into_iter().collect()),
            requires_grad: Some(false),
            memory_format: Some("torch.contiguous_format".into()),
            device: Some("cpu".into()),
            quantization: Some(Quantization::PerTensor { qscheme: "q".into(), scale: 0.25, zero_point: -1 }),
            ..TensorMeta::new(Dtype::Qint8, [Dim::Int(2), Dim::Sym("s0".into())])
        }),
        Value::None,
        Value::List(vec![
            Value::Scalar(Scalar::Bool(false)),
            Value::Scalar(Scalar::Int(3)),
            Value::Scalar(Scalar::Float(1e300)),
            Value::Scalar(Scalar::Sym("u0".into())),
        ]),
        Value::Dict(vec![("k".into(), Value::Tensor(channels(&tree)))]),
    ]));
    let graph = tree.graph_mut(root).unwrap();
    graph.set_value(x, Some(known.clone())).unwrap();
    graph.set_value(relu, Some(known)).unwrap();
    tree
}

fn channels(tree: &ModuleTree) -> TensorMeta {
    match tree.attribute(tree.root(), "quantized") {
        Ok(Attribute::Tensor(_, tensor)) => tensor.meta().clone(),
        other => panic!("{other:?}"),
    }
}

fn add_members(tree: &mut ModuleTree) {
    let root = tree.root();
    let bytes = Arc::new((0..48).collect::<Vec<u8>>());
    let float = |sizes: &[i64]| TensorMeta::new(Dtype::Float32, sizes.iter().copied());
    let whole = Arc::new(Tensor::new(float(&[3, 4]), bytes.clone(), 0).unwrap());
    let column = Arc::new(Tensor::strided(float(&[3]), bytes, 4, &[4]).unwrap());
    let scales = Tensor::from_bytes(TensorMeta::new(Dtype::Float64, [2i64]), vec![7; 16]).unwrap();
    let zero_points = Tensor::from_bytes(TensorMeta::new(Dtype::Int64, [2i64]), vec![0; 16]).unwrap();
    let quantization = Quantization::PerChannel {
        qscheme: "torch.per_channel_affine".into(),
        axis: Some(0),
        scales: Some(Arc::new(scales)),
        zero_points: Some(Arc::new(zero_points)),
    };
    let quantized = TensorMeta { quantization: Some(quantization), ..TensorMeta::new(Dtype::Qint8, [2i64, 2]) };
    let quantized = Arc::new(Tensor::from_bytes(quantized, vec![1, 2, 3, 4]).unwrap());
    let nothing = Arc::new(Tensor::from_bytes(float(&[0, 2]), Vec::new()).unwrap());
    let symbolic = TensorMeta::new(Dtype::Float32, [Dim::Sym("s1".into())]);
    let symbolic = Arc::new(Tensor::without_bytes(symbolic).unwrap());
    let block = tree.add_module(root, "block", "Block", NewModule::Graph).unwrap();
    for (path, kind, tensor) in [
        ("block.w", TensorKind::Parameter, whole.clone()),
        ("tied", TensorKind::Parameter, whole),
        ("column", TensorKind::Buffer, column),
        ("quantized", TensorKind::Constant, quantized),
        ("nothing", TensorKind::Buffer, nothing),
        ("symbolic", TensorKind::Buffer, symbolic),
    ] {
        tree.set_attribute(root, path, Attribute::Tensor(kind, tensor)).unwrap();
    }
    tree.add_module(root, "act", "torch.nn.modules.activation.ReLU", NewModule::Leaf).unwrap();
    tree.set_attribute(root, "act.inplace", Attribute::Value(Argument::Bool(false))).unwrap();
    let graph = tree.graph_mut(block).unwrap();
    let x = graph.placeholder("x").unwrap();
    graph.output(Argument::Node(x)).unwrap();
    let copy = tree.copy_out(block, tree.symbols()).unwrap();
    tree.attach(root, "holder.copy", copy).unwrap();
}
