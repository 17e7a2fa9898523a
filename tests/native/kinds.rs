//! Everything that a module can hold, each in a module of its own or all in one.

use super::{call, document_of, loaded};
use fxir::formats::native;
use fxir::ir::tensor::{Dim, Scalar};
use fxir::ir::{
    Argument, At, Attribute, Dtype, ErrorKind, Kwargs, ModuleKind, ModuleTree, NewModule, NodeId, Op, TensorMeta,
    Value, MAX_ARGUMENT_DEPTH,
};
use std::sync::Arc;

/// One of each kind that holds no node.
fn literals(tree: &ModuleTree) -> Vec<Argument> {
    let text = |text: &str| tree.symbols().intern(text);
    let floats = [
        0.0,
        -0.0,
        0.1,
        f64::MIN_POSITIVE,
        5e-324,
        f64::MAX,
        1e22,
        123456789012345680.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        -f64::NAN,
        f64::from_bits(0x7ff8_0000_0000_0001),
        f64::from_bits(0xfff0_0000_0000_0001),
    ];
    let strange = ["", "a\"b\\c\n\t\u{1}\u{7f}é\u{2028}𝕏", "node", "{\"node\":0}"];
    let mut all = vec![
        Argument::None,
        Argument::Bool(true),
        Argument::Bool(false),
        Argument::Int(0),
        Argument::Int(i64::MIN),
        Argument::Int(i64::MAX),
        Argument::BigInt(text("9223372036854775808")),
        Argument::BigInt(text("-123456789012345678901234567890")),
        Argument::Bytes([].into()),
        Argument::Bytes([0, 127, 128, 255, b'"'].into()),
        Argument::Device(text("cuda:0")),
        Argument::Layout(text("torch.strided")),
        Argument::MemoryFormat(text("torch.channels_last")),
        Argument::Qscheme(text("torch.per_channel_affine")),
        Argument::Ellipsis,
        Argument::SymInt(text("s0 + 2*u7")),
        Argument::Range(Box::new([i64::MIN, i64::MAX, -1])),
        Argument::List([].into()),
        Argument::Tuple([].into()),
        Argument::Dict([].into()),
        Argument::Slice(Box::new([Argument::None, Argument::Int(-1), Argument::Str(text("x"))])),
    ];
    all.extend(floats.map(Argument::Float));
    all.push(Argument::Complex(Box::new([-0.0, f64::NAN])));
    all.push(Argument::Complex(Box::new([f64::NEG_INFINITY, 1e-310])));
    all.extend(strange.map(|strange| Argument::Str(text(strange))));
    all.extend(Dtype::all().map(Argument::Dtype));
    let nested = Argument::Dict(all.iter().cloned().zip(all.iter().rev().cloned()).collect());
    all.push(Argument::Tuple([Argument::List([nested.clone()].into()), nested].into()));
    all
}

fn with_input() -> (ModuleTree, NodeId) {
    let mut tree = ModuleTree::new("my.Net");
    let root = tree.root();
    let x = tree.graph_mut(root).unwrap().placeholder("x").unwrap();
    (tree, x)
}

#[test]
fn every_kind_of_argument_everywhere() {
    let (mut tree, x) = with_input();
    let root = tree.root();
    let all = literals(&tree);
    let node = call(&mut tree, "f", all.clone());
    let nodes = [
        Argument::Node(x),
        Argument::List([Argument::Node(node), Argument::Node(x)].into()),
        Argument::Tuple([Argument::Tuple([Argument::Node(node)].into())].into()),
        Argument::Dict([(Argument::Int(1), Argument::Node(x)), (Argument::Int(1), Argument::Node(node))].into()),
        Argument::Slice(Box::new([Argument::Node(x), Argument::None, Argument::Node(x)])),
    ];
    let user = call(&mut tree, "g", nodes.clone());
    let texts = ["", "self", "op", "node", "é", "a b"].map(|text| tree.symbols().intern(text));
    let graph = tree.graph_mut(root).unwrap();
    graph.set_kwargs(user, texts.into_iter().zip(nodes).collect()).unwrap();
    for (number, argument) in all.iter().enumerate() {
        graph.set_kwarg(node, &format!("k{number}"), argument.clone()).unwrap();
        graph.set_meta(node, &format!("unknown key {number}"), argument.clone()).unwrap();
    }
    graph.output(Argument::Node(user)).unwrap();
    for (number, argument) in all.into_iter().enumerate() {
        tree.set_attribute(root, &format!("setting{number}"), Attribute::Value(argument)).unwrap();
    }
    loaded(&tree);
}

#[test]
fn what_is_nested_as_deep_as_can_be() {
    let (mut tree, x) = with_input();
    let root = tree.root();
    let nest = |inner: Argument| {
        (0..MAX_ARGUMENT_DEPTH).fold(inner, |inner, level| match level % 4 {
            0 => Argument::List([inner].into()),
            1 => Argument::Tuple([inner].into()),
            2 => Argument::Dict([(Argument::None, inner)].into()),
            _ => Argument::Slice(Box::new([Argument::None, inner, Argument::None])),
        })
    };
    let f = call(&mut tree, "f", [nest(Argument::Node(x))]);
    let value = (0..MAX_ARGUMENT_DEPTH).fold(Value::None, |inner, level| match level % 3 {
        0 => Value::List(vec![inner]),
        1 => Value::Tuple(vec![inner]),
        _ => Value::Dict(vec![("k".into(), inner)]),
    });
    let graph = tree.graph_mut(root).unwrap();
    graph.set_meta(f, "deep", nest(Argument::None)).unwrap();
    graph.set_value(f, Some(Arc::new(value.clone()))).unwrap();
    loaded(&tree);

    let deeper = Value::List(vec![value]);
    tree.graph_mut(root).unwrap().set_value(f, Some(Arc::new(deeper))).unwrap();
    let error = native::to_bytes(&tree, root).unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Limit, "the value of a node nests deeper than 64 levels")
    );
    assert_eq!(error.node, Some(f));
}

#[test]
fn everything_that_is_known_of_a_node() {
    let (mut tree, x) = with_input();
    let root = tree.root();
    let sym = |text: &str| Dim::Sym(text.into());
    let known = TensorMeta {
        stride: Some([Dim::Int(-3), sym("s0*4"), Dim::Int(0)].into_iter().collect()),
        requires_grad: Some(false),
        memory_format: Some("torch.contiguous_format".into()),
        device: Some("cuda:1".into()),
        ..TensorMeta::new(Dtype::Float8E4m3fn, [sym("s0"), Dim::Int(0), Dim::Int(i64::MAX)])
    };
    let scalars = [
        Scalar::Bool(true),
        Scalar::Int(i64::MIN),
        Scalar::Float(-0.0),
        Scalar::Float(f64::from_bits(0x7ff0_0000_0000_0007)),
        Scalar::Float(f64::NAN),
        Scalar::Sym("u0".into()),
    ];
    let value = Value::Tuple(vec![
        Value::Tensor(known.clone()),
        Value::None,
        Value::List(scalars.map(Value::Scalar).into()),
        Value::Dict(vec![("".into(), Value::Tensor(known)), ("".into(), Value::List(Vec::new()))]),
    ]);
    let scalar_tensor =
        Value::Tensor(TensorMeta { requires_grad: Some(true), ..TensorMeta::new(Dtype::Bool, [0i64; 0]) });
    let (shared, f) = (Arc::new(value), call(&mut tree, "f", [Argument::Node(x)]));
    let g = call(&mut tree, "g", [Argument::Node(f)]);
    let graph = tree.graph_mut(root).unwrap();
    graph.set_value(x, Some(shared.clone())).unwrap();
    graph.set_value(g, Some(shared)).unwrap();
    graph.set_value(f, Some(Arc::new(scalar_tensor))).unwrap();
    graph.set_type_annotation(x, Some("List[\"Tensor\"]")).unwrap();
    graph.set_comment(f, Some("# File: a.py\nline two")).unwrap();
    graph.set_type_annotation(g, Some("")).unwrap();
    graph.set_comment(g, Some("")).unwrap();
    let again = loaded(&tree);
    let graph = again.graph(again.root()).unwrap();
    let values: Vec<_> = graph.nodes().map(|node| graph[node].value().unwrap()).collect();
    assert!(Arc::ptr_eq(values[0], values[2]) && !Arc::ptr_eq(values[0], values[1]));
}

#[test]
fn all_six_ops_in_any_order_with_defaults_and_users_as_they_came() {
    let (mut tree, x) = with_input();
    let root = tree.root();
    tree.add_module(root, "layer.0.act", "torch.nn.ReLU", NewModule::Leaf).unwrap();
    tree.set_attribute(root, "w", Attribute::Value(Argument::Int(1))).unwrap();
    let graph = tree.graph_mut(root).unwrap();
    let default = graph
        .create_node(
            At::Default,
            Op::Placeholder,
            "*args",
            [Argument::Float(0.5)].into_iter().collect(),
            Kwargs::new(),
            None,
        )
        .unwrap();
    let w = graph.get_attr("w").unwrap();
    let act = graph.call_module("layer.0.act", vec![Argument::Node(x)], Kwargs::new()).unwrap();
    let method = graph.call_method("add", vec![Argument::Node(x), Argument::Node(w)], Kwargs::new()).unwrap();
    let sum = graph.call_function("torch.add", vec![Argument::Node(x), Argument::Node(x)], Kwargs::new()).unwrap();
    graph.output(Argument::Tuple([method, act, sum, default].map(Argument::Node).into())).unwrap();
    loaded(&tree);
    // Users in another order than that in which they stand.
    let graph = tree.graph_mut(root).unwrap();
    assert!(graph.set_user_order(x, &[sum, act, method]).unwrap());
    let again = loaded(&tree);
    let graph = again.graph(again.root()).unwrap();
    let users: Vec<&str> = graph.users(graph.find_node("x").unwrap()).map(|user| graph.name(user)).collect();
    assert_eq!(users, ["add_1", "layer_0_act", "add"]);
    // An order that lint refuses: a use before its definition, the output first, a placeholder last.
    let graph = tree.graph_mut(root).unwrap();
    let output = graph.output_node().unwrap();
    graph.move_before(output, x).unwrap();
    graph.move_after(x, sum).unwrap();
    loaded(&tree);
    // A cycle.
    tree.graph_mut(root)
        .unwrap()
        .set_args(w, [Argument::Node(method), Argument::Node(w)].into_iter().collect())
        .unwrap();
    let again = loaded(&tree);
    assert!(fxir::ir::lint::lint(&again, again.root()).is_err());
    // Nothing.
    loaded(&ModuleTree::new(""));
}

#[test]
fn how_code_is_spelled() {
    let (mut tree, x) = with_input();
    let root = tree.root();
    let graph = tree.graph_mut(root).unwrap();
    graph.output(Argument::Node(x)).unwrap();
    graph.signature.return_annotation = Some("Tuple[int, \"Net\"]".into());
    graph.signature.pytree_header = Some("    x, = fx_pytree.tree_flatten_spec(([x], {}), self._in_spec)\n".into());
    graph.signature.wrapped = vec!["my.wrapped".into(), "len".into(), "my.wrapped".into()];
    loaded(&tree);
    tree.graph_mut(root).unwrap().signature.pytree_header = Some(String::new());
    loaded(&tree);
}

#[test]
fn modules_of_every_kind_at_every_depth() {
    let (mut tree, x) = with_input();
    let root = tree.root();
    // Members in an order that is not that of their names, or of their kinds.
    tree.set_attribute(root, "z", Attribute::Value(Argument::None)).unwrap();
    let shared = tree.add_module(root, "sub", "Block", NewModule::Graph).unwrap();
    tree.add_module(root, "b.leaf", "torch.nn.Linear", NewModule::Leaf).unwrap();
    tree.set_attribute(root, "b.leaf.in_features", Attribute::Value(Argument::Int(3))).unwrap();
    tree.add_module(root, "b.leaf.inner", "Inner", NewModule::Leaf).unwrap();
    tree.add_module(root, "a", "Holder", NewModule::Holder).unwrap();
    tree.set_attribute(root, "a.é \"", Attribute::Value(Argument::Bool(true))).unwrap();
    let deep = vec!["m"; 63].join(".");
    let bottom = tree.add_module(root, &deep, "Bottom", NewModule::Graph).unwrap();
    for module in [shared, bottom] {
        let graph = tree.graph_mut(module).unwrap();
        let y = graph.placeholder("y").unwrap();
        graph.output(Argument::Node(y)).unwrap();
    }
    // The two call one submodule, twice.
    for module in [root, bottom] {
        let graph = tree.graph_mut(module).unwrap();
        let input = graph.nodes().next().unwrap();
        let one = graph.call_module("sub", vec![Argument::Node(input)], Kwargs::new()).unwrap();
        graph.call_module("sub", vec![Argument::Node(one)], Kwargs::new()).unwrap();
    }
    let again = loaded(&tree);
    let _ = x;
    let kinds: Vec<_> = again.modules_below(again.root()).map(|id| again.get(id).unwrap().kind().clone()).collect();
    assert_eq!(kinds.iter().filter(|kind| matches!(kind, ModuleKind::Graph(_))).count(), 3);
    assert_eq!(kinds.len(), tree.modules_below(root).count());
    // A part of a tree is saved as a whole of its own; what is no graph module too.
    for path in ["sub", "b.leaf", "a", "m"] {
        let top = tree.submodule(root, path).unwrap();
        let bytes = native::to_bytes(&tree, top).unwrap();
        let again = native::from_bytes(Arc::new(bytes)).unwrap();
        assert!(again.is_same_as(again.root(), &tree, top), "{path}");
        loaded(&again);
    }
}

#[test]
fn copies_of_a_module_stay_copies_of_one() {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    let one = tree.add_module(root, "one", "Block", NewModule::Graph).unwrap();
    tree.add_module(root, "other", "Block", NewModule::Graph).unwrap();
    for path in ["two", "three"] {
        let copy = tree.copy_out(one, tree.symbols()).unwrap();
        tree.attach(root, path, copy).unwrap();
    }
    let again = loaded(&tree);
    let origin = |path: &str| again.get(again.submodule(again.root(), path).unwrap()).unwrap().origin();
    assert_eq!((origin("one"), origin("one")), (origin("two"), origin("three")));
    assert_ne!(origin("one"), origin("other"));
    assert_ne!(origin("one"), tree.get(one).unwrap().origin());
    assert!(document_of(&tree).contains("\"copy_of\":1"));
}
