//! Random modules, built with the IR: written, read, written again, they are the same.

use fxir::formats::json::{self, Schema, SerializeOptions, WeightMap};
use fxir::formats::weights;
use fxir::ir::tree::NewModule;
use fxir::ir::{
    tensor::Scalar, Argument, Attribute, Dtype, Kwargs, ModuleId, ModuleTree, NodeId, Tensor, TensorKind, TensorMeta,
    Value,
};
use proptest::prelude::*;
use std::sync::Arc;

/// One argument, before it is known which nodes there are.
#[derive(Debug, Clone)]
enum Shape {
    Literal(u8, i64, f64, String),
    Node(usize),
    List(Vec<Shape>),
    Tuple(Vec<Shape>),
    Dict(Vec<(String, Shape)>),
    Slice(Vec<Shape>),
}

/// One node.
#[derive(Debug, Clone)]
struct Step {
    kind: u8,
    path: u8,
    args: Vec<Shape>,
    kwargs: Vec<(String, Shape)>,
    size: u8,
    lowering: Option<Shape>,
}

fn shapes() -> impl Strategy<Value = Shape> {
    // Every NaN is written as the one.
    let float = prop_oneof![
        any::<f64>().prop_filter("a NaN with bits of its own", |value| !value.is_nan()),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
    ];
    let leaf = prop_oneof![
        (0u8..17, any::<i64>(), float, ".{0,6}")
            .prop_map(|(kind, int, float, text)| Shape::Literal(kind, int, float, text)),
        any::<usize>().prop_map(Shape::Node),
    ];
    leaf.prop_recursive(4, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Shape::List),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Shape::Tuple),
            prop::collection::vec((keys(), inner.clone()), 0..3).prop_map(Shape::Dict),
            prop::collection::vec(inner, 3).prop_map(Shape::Slice),
        ]
    })
}

/// Keys of dicts, those that mean something to the format among them; one in four is an int.
fn keys() -> impl Strategy<Value = String> {
    prop_oneof![".{0,4}", Just("is_node".to_owned()), Just("__py__".to_owned()), Just("7".to_owned())]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (
        0u8..6,
        any::<u8>(),
        prop::collection::vec(shapes(), 0..4),
        prop::collection::vec(("[a-z]{1,4}", shapes()), 0..3),
        0u8..8,
        prop::option::weighted(0.2, shapes()),
    );
    let step =
        step.prop_map(|(kind, path, args, kwargs, size, lowering)| Step { kind, path, args, kwargs, size, lowering });
    prop::collection::vec(step, 0..12)
}

/// The argument, with nodes from `nodes` if there are any.
fn argument(tree: &ModuleTree, shape: &Shape, nodes: &[NodeId]) -> Argument {
    let symbol = |text: &str| tree.symbols().intern(text);
    let items = |shapes: &[Shape]| shapes.iter().map(|shape| argument(tree, shape, nodes)).collect();
    match shape {
        Shape::Node(at) if !nodes.is_empty() => Argument::Node(nodes[at % nodes.len()]),
        Shape::Node(_) => Argument::None,
        Shape::List(shapes) => Argument::List(items(shapes)),
        Shape::Tuple(shapes) => Argument::Tuple(items(shapes)),
        Shape::Dict(entries) => {
            let entries = entries.iter().map(|(key, shape)| {
                let key = match key.as_str() {
                    "7" => Argument::Int(7),
                    key => Argument::Str(symbol(key)),
                };
                (key, argument(tree, shape, nodes))
            });
            Argument::Dict(entries.collect())
        }
        Shape::Slice(parts) => {
            let parts: Vec<Argument> = parts.iter().map(|part| argument(tree, part, nodes)).collect();
            Argument::Slice(Box::new(parts.try_into().unwrap()))
        }
        Shape::Literal(kind, int, float, text) => match kind {
            0 => Argument::None,
            1 => Argument::Bool(*int > 0),
            2 => Argument::Int(*int),
            3 => Argument::BigInt(symbol(&format!("{}{}", int | 1, int.unsigned_abs() | 1 << 62))),
            4 => Argument::Float(*float),
            5 => Argument::Dtype(Dtype::all().nth(int.unsigned_abs() as usize % 46).unwrap()),
            6 => Argument::MemoryFormat(symbol("torch.channels_last")),
            7 => Argument::Qscheme(symbol("torch.per_tensor_affine")),
            8 => Argument::Layout(symbol("torch.strided")),
            9 => Argument::Complex(Box::new([*float, *int as f64])),
            10 => Argument::Bytes(text.bytes().collect()),
            11 => Argument::Device(symbol(&format!("cuda:{}", int.unsigned_abs()))),
            12 => Argument::Ellipsis,
            13 => Argument::SymInt(symbol("s0 + 1")),
            14 => Argument::Range(Box::new([*int, 7, int | 1])),
            15 => Argument::Str(symbol("float")),
            _ => Argument::Str(symbol(text)),
        },
    }
}

/// Fills a graph module; below `depth` it has graph modules of its own.
/// `other` is the kind of the tensors that are neither parameters nor buffers.
fn fill(tree: &mut ModuleTree, module: ModuleId, steps: &[Step], depth: usize, other: TensorKind) {
    let x = tree.graph_mut(module).unwrap().placeholder("x").unwrap();
    let mut nodes = vec![x];
    know(tree, module, x, 3);
    // Members that no node needs, in an order of their own.
    for step in steps.iter().filter(|step| step.size == 5) {
        let path = format!("part{depth}.u{}.w{}", step.path % 3, step.kind);
        let kind = if step.kind % 2 == 0 { TensorKind::Parameter } else { TensorKind::Buffer };
        tree.set_attribute(module, &path, Attribute::Tensor(kind, tensor(step.path))).unwrap();
    }
    for step in steps {
        let args: Vec<Argument> = step.args.iter().map(|shape| argument(tree, shape, &nodes)).collect();
        let mut kwargs = Kwargs::new();
        for (key, shape) in &step.kwargs {
            let key = tree.symbols().intern(key);
            if kwargs.iter().all(|(other, _)| *other != key) {
                kwargs.push((key, argument(tree, shape, &nodes)));
            }
        }
        let path = format!("part{depth}.m{}", step.path);
        let taken = tree.resolve(module, &path).is_some();
        let node = match step.kind {
            0 if !taken => {
                let leaf = tree.add_module(module, &path, "torch.nn.modules.linear.Linear", NewModule::Leaf).unwrap();
                tree.set_attribute(leaf, "weight", Attribute::Tensor(TensorKind::Parameter, tensor(step.path)))
                    .unwrap();
                tree.set_attribute(leaf, "bias", Attribute::Value(Argument::None)).unwrap();
                tree.graph_mut(module).unwrap().call_module(&path, args, kwargs).unwrap()
            }
            1 if !taken => {
                let kind = match step.size {
                    0 | 1 => TensorKind::Parameter,
                    2 | 3 => TensorKind::Buffer,
                    _ => other,
                };
                tree.set_attribute(module, &path, Attribute::Tensor(kind, tensor(step.path))).unwrap();
                tree.graph_mut(module).unwrap().get_attr(&path).unwrap()
            }
            2 if depth > 0 && !taken => {
                let sub =
                    tree.add_module(module, &path, "torch.fx.graph_module.GraphModule", NewModule::Graph).unwrap();
                fill(tree, sub, &steps[..steps.len() / 2], depth - 1, other);
                tree.graph_mut(module).unwrap().call_module(&path, args, kwargs).unwrap()
            }
            3 => tree.graph_mut(module).unwrap().call_method("view", args, kwargs).unwrap(),
            _ => tree.graph_mut(module).unwrap().call_function("_operator.getitem", args, kwargs).unwrap(),
        };
        know(tree, module, node, step.size.into());
        if let Some(shape) = &step.lowering {
            let key = Argument::Str(tree.symbols().intern("acc_out_ty"));
            let info = Argument::Dict([(key, argument(tree, shape, &[]))].into());
            tree.graph_mut(module).unwrap().set_meta(node, "lowering_info", info).unwrap();
        }
        nodes.push(node);
    }
    let returned = match nodes.len() % 3 {
        0 => nodes[nodes.len() - 1].into(),
        1 => Argument::Tuple(nodes.iter().rev().take(3).map(|&node| node.into()).collect()),
        _ => Argument::List([Argument::List([x.into()].into())].into()),
    };
    tree.graph_mut(module).unwrap().output(returned).unwrap();
}

fn know(tree: &mut ModuleTree, module: ModuleId, node: NodeId, size: i64) {
    let stride = Some([size.max(1).into(), 1.into()].into_iter().collect());
    let meta = TensorMeta { stride, ..TensorMeta::new(Dtype::Float16, [2, size]) };
    let tensor = Value::Tensor(meta);
    let value = match size {
        4 => Value::Tuple(vec![tensor.clone(), tensor]),
        6 => Value::Tuple(vec![tensor, Value::None, Value::Scalar(Scalar::Int(3))]),
        7 => Value::Dict(vec![
            ("__py__".into(), Value::List(vec![])),
            ("a".into(), Value::List(vec![tensor, Value::Scalar(Scalar::Float(f64::NEG_INFINITY))])),
            ("b".into(), Value::Scalar(Scalar::Sym("2*s0".into()))),
        ]),
        _ => tensor,
    };
    tree.graph_mut(module).unwrap().set_value(node, Some(Arc::new(value))).unwrap();
}

fn tensor(first: u8) -> Arc<Tensor> {
    Arc::new(Tensor::from_bytes(TensorMeta::new(Dtype::Float8E5m2, [3i64]), vec![first; 3]).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn written_read_and_written_again_is_the_same(steps in steps()) {
        for schema in super::SCHEMAS {
            // A file of 1.10 does not tell constants from the buffers of 1.12.
            let other = if schema().requires_grad { TensorKind::Buffer } else { TensorKind::Constant };
            let mut tree = ModuleTree::new("Net");
            let root = tree.root();
            fill(&mut tree, root, &steps, 2, other);
            through(&tree, schema())?;
        }
    }
}

/// Writes it in that form, with its weights and without, and reads and writes that.
fn through(tree: &ModuleTree, schema: Schema) -> Result<(), TestCaseError> {
    let options = SerializeOptions { schema, ..Default::default() };
    let written = json::serialize(tree, tree.root(), &options).unwrap();
    let mut bytes = Vec::new();
    weights::write_to(&mut bytes, written.weights.iter().map(|(name, tensor)| (name.as_str(), &**tensor))).unwrap();
    let weights = weights::from_bytes(Arc::new(bytes)).unwrap();
    for weights in [None, Some(&weights)] {
        let again = json::read(written.json.as_bytes(), weights)
            .map_err(|error| TestCaseError::fail(format!("{error} at {:?}\n{}", error.place, written.json)))?;
        fxir::ir::lint::lint_all(&again, again.root()).unwrap();
        let rewritten = json::serialize(&again, again.root(), &options).unwrap();
        prop_assert_eq!(&rewritten.json, &written.json);
        // Without `requires_grad` constants that come as if they were parameters are such: they come
        // before those of modules that are called.
        let names = |weights: &WeightMap| {
            let mut names: Vec<String> = weights.keys().cloned().collect();
            if !schema.requires_grad {
                names.sort();
            }
            names
        };
        prop_assert_eq!(names(&rewritten.weights), names(&written.weights));
        if weights.is_some() {
            for (name, tensor) in &written.weights {
                prop_assert_eq!(tensor.data(), rewritten.weights[name].data());
            }
        }
    }
    Ok(())
}
