//! Fusing and inserting, case by case.

use super::*;
use crate::ir::lint::lint_all;
use crate::ir::{Args, Attribute, Dtype, Kwargs, NewModule, Op, Tensor, TensorKind, TensorMeta, Value};
use crate::passes::insert::insert_subgm;
use std::sync::Arc;

fn told(size: i64) -> Option<Arc<Value>> {
    Some(Arc::new(Value::Tensor(TensorMeta::new(Dtype::Float32, [size]))))
}

/// `linear = self.fc.linear(x); w = self.w; add = linear + w; neg = -add; cat = cat([add, y, neg])`
/// and `cat`, `neg` are returned. Each knows its shape.
fn net() -> ModuleTree {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    tree.add_module(root, "fc.linear", "torch.nn.modules.linear.Linear", NewModule::Leaf).unwrap();
    let weight = Tensor::from_bytes(TensorMeta::new(Dtype::Int8, [2i64]), vec![1, 2]).unwrap();
    tree.set_attribute(root, "w", Attribute::Tensor(TensorKind::Parameter, Arc::new(weight))).unwrap();
    let graph = tree.graph_mut(root).unwrap();
    let x = graph.placeholder("x").unwrap();
    let y = graph.placeholder("y").unwrap();
    let args = |nodes: &[NodeId]| nodes.iter().map(|&node| Argument::Node(node)).collect::<Args>();
    let linear =
        graph.create_node(At::Default, Op::CallModule, "fc.linear", args(&[x]), Kwargs::new(), Some("linear")).unwrap();
    let w = graph.get_attr("w").unwrap();
    let add = graph.call_function("_operator.add", args(&[linear, w]), Kwargs::new()).unwrap();
    let neg = graph.call_function("_operator.neg", args(&[add]), Kwargs::new()).unwrap();
    let list = Argument::List(args(&[add, y, neg]).into_vec().into());
    let cat = graph.call_function("torch.cat", [list].as_slice(), Kwargs::new()).unwrap();
    graph.output(Argument::Tuple(args(&[cat, neg]).into_vec().into())).unwrap();
    for (size, node) in [x, y, linear, w, add, neg, cat].into_iter().enumerate() {
        graph.set_value(node, told(size as i64)).unwrap();
        graph.set_meta(node, "mine", Argument::Int(size as i64)).unwrap();
    }
    graph.set_type_annotation(linear, Some("torch.Tensor")).unwrap();
    tree
}

fn find(tree: &ModuleTree, names: &[&str]) -> Vec<NodeId> {
    let graph = tree.graph(tree.root()).unwrap();
    names.iter().map(|name| graph.find_node(name).unwrap()).collect()
}

fn names(graph: &Graph, nodes: impl IntoIterator<Item = NodeId>) -> Vec<String> {
    nodes.into_iter().map(|node| graph.name(node).to_string()).collect()
}

fn fuse_named(tree: &mut ModuleTree, nodes: &[&str], options: &FuseOptions) -> Result<Fused> {
    let (root, nodes) = (tree.root(), find(tree, nodes));
    fuse_as_graphmodule(tree, root, &nodes, "fused", options)
}

#[test]
fn several_outputs_are_taken_from_a_tuple() {
    let mut tree = net();
    let root = tree.root();
    let fused = fuse_named(&mut tree, &["neg", "add", "w", "linear"], &FuseOptions::default()).unwrap();
    lint_all(&tree, root).unwrap();
    let graph = tree.graph(root).unwrap();
    assert_eq!(names(graph, graph.nodes()), ["x", "y", "fused", "getitem", "getitem_1", "cat", "output"]);
    assert_eq!(names(graph, fused.inputs.iter().copied()), ["x"]);
    assert_eq!(names(graph, fused.outputs.iter().copied()), ["getitem", "getitem_1"]);
    assert_eq!(graph.target(fused.outputs[1]), "_operator.getitem");
    // What stood for the outputs is known of what stands for them now.
    assert_eq!(fused.outputs.iter().map(|&node| graph[node].value().cloned()).collect::<Vec<_>>(), [told(4), told(5)]);
    let tuple = Value::Tuple([told(4), told(5)].map(|value| value.unwrap().as_ref().clone()).into());
    assert_eq!(graph[fused.call].value().map(|value| value.as_ref()), Some(&tuple));

    let inner = tree.graph(fused.module).unwrap();
    assert_eq!(names(inner, inner.nodes()), ["x", "linear", "w", "add", "neg", "output"]);
    let mine = tree.symbols().find("mine").unwrap();
    for (size, node) in inner.nodes().take(5).enumerate() {
        let size = [0, 2, 3, 4, 5][size];
        assert_eq!(inner[node].value().cloned(), told(size));
        assert!(matches!(inner[node].meta().entries.get(&mine), Some(Argument::Int(n)) if *n == size));
    }
    let linear = inner.find_node("linear").unwrap();
    assert_eq!(inner[linear].type_annotation().map(|text| inner.text(text)), Some("torch.Tensor"));
    // The weight is shared, and the module outside still has it.
    let weight = |from, path: &str| match tree.attribute(from, path).unwrap() {
        Attribute::Tensor(_, tensor) => Arc::as_ptr(tensor),
        Attribute::Value(_) => panic!("no tensor"),
    };
    assert_eq!(weight(fused.module, "w"), weight(root, "w"));
    assert_eq!(tree.symbols().text(tree.get(fused.module).unwrap().type_name()), "fused");
}

#[test]
fn a_single_output_is_the_call_or_a_tuple_of_one() {
    let mut tree = net();
    let root = tree.root();
    let fused = fuse_named(&mut tree, &["linear"], &FuseOptions::default()).unwrap();
    let graph = tree.graph(root).unwrap();
    assert_eq!(fused.outputs, [fused.call]);
    assert_eq!((graph.name(fused.call), graph[fused.call].value().cloned()), ("fused", told(2)));

    let options = FuseOptions { always_return_tuple: true, class_name: Some("Part".into()), ..FuseOptions::default() };
    let fused = fuse_named(&mut tree, &["cat"], &options).unwrap();
    lint_all(&tree, root).unwrap();
    assert_eq!((fused.name.as_str(), fused.outputs.len()), ("fused_1", 1));
    assert_ne!(fused.outputs, [fused.call]);
    assert_eq!(tree.symbols().text(tree.get(fused.module).unwrap().type_name()), "Part");
    let inner = tree.graph(fused.module).unwrap();
    assert!(matches!(inner[inner.output_node().unwrap()].args(), [Argument::Tuple(items)] if items.len() == 1));
}

#[test]
fn inputs_by_first_use_or_by_graph() {
    for (inputs, expected) in [(InputOrder::FirstUse, ["add", "y", "neg"]), (InputOrder::Graph, ["y", "add", "neg"])] {
        let mut tree = net();
        let fused = fuse_named(&mut tree, &["cat"], &FuseOptions { inputs, ..FuseOptions::default() }).unwrap();
        let inner = tree.graph(fused.module).unwrap();
        assert_eq!(names(inner, inner.nodes_of(Op::Placeholder)), expected);
        let graph = tree.graph(tree.root()).unwrap();
        assert_eq!(names(graph, graph.input_nodes(fused.call)), expected);
    }
}

/// Fault 36: what does not need the region keeps its place; what stands too early moves.
#[test]
fn order_is_stable() {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    let graph = tree.graph_mut(root).unwrap();
    let x = graph.placeholder("x").unwrap();
    let mut call = |name: &str, inputs: &[NodeId]| {
        let args: Args = inputs.iter().map(|&node| Argument::Node(node)).collect();
        graph.create_node(At::Default, Op::CallFunction, "mine.f", args, Kwargs::new(), Some(name)).unwrap()
    };
    let a = call("a", &[x]);
    let early = call("early", &[a]);
    let other = call("other", &[x]);
    let b = call("b", &[a]);
    let late = call("late", &[x]);
    graph.output(Argument::List([early, other, b, late].map(Argument::Node).into())).unwrap();
    fuse_named(&mut tree, &["a", "b"], &FuseOptions::default()).unwrap();
    lint_all(&tree, root).unwrap();
    let graph = tree.graph(root).unwrap();
    let expected = ["x", "other", "fused", "getitem", "early", "getitem_1", "late", "output"];
    assert_eq!(names(graph, graph.nodes()), expected);
}

#[test]
fn what_is_refused_changes_nothing() {
    let numbered = FuseOptions::default();
    let refusing = FuseOptions { taken: TakenName::Refuse, ..FuseOptions::default() };
    for (nodes, name, options, kind, at) in [
        (&["add", "cat"][..], "fused", &numbered, ErrorKind::InvalidArgument, Some("neg")),
        (&["add", "x"], "fused", &numbered, ErrorKind::InvalidArgument, Some("x")),
        (&["output"], "fused", &numbered, ErrorKind::InvalidArgument, Some("output")),
        (&[], "fused", &numbered, ErrorKind::InvalidArgument, None),
        (&["add"], "w", &refusing, ErrorKind::AlreadyExists, None),
        (&["add"], "fc", &refusing, ErrorKind::AlreadyExists, None),
        (&["add"], "w.inner", &numbered, ErrorKind::AlreadyExists, None),
        (&["add"], "a..b", &numbered, ErrorKind::InvalidArgument, None),
    ] {
        let mut tree = net();
        let (root, ids) = (tree.root(), find(&tree, nodes));
        let error = fuse_as_graphmodule(&mut tree, root, &ids, name, options).unwrap_err();
        assert_eq!((error.kind, error.node), (kind, at.map(|name| find(&tree, &[name])[0])), "{nodes:?} {name}");
        let graph = tree.graph(root).unwrap();
        assert_eq!((graph.len(), tree.modules_below(root).count()), (8, 3));
    }
    // A member that is nowhere, and a set that nothing uses.
    let mut tree = net();
    let root = tree.root();
    tree.delete(root, "fc.linear").unwrap();
    let linear = find(&tree, &["linear"]);
    let error = fuse_named(&mut tree, &["linear", "add"], &numbered).unwrap_err();
    assert_eq!((error.kind, error.node), (ErrorKind::NotFound, Some(linear[0])));
    let graph = tree.graph_mut(root).unwrap();
    let dead = graph.call_function("torch.rand", Args::new(), Kwargs::new()).unwrap();
    let error = fuse_as_graphmodule(&mut tree, root, &[dead], "fused", &numbered).unwrap_err();
    assert_eq!((error.kind, error.node), (ErrorKind::InvalidArgument, Some(dead)));
}

/// A graph that was out of order is put in order, and is as it was when the pass fails.
#[test]
fn a_graph_out_of_order_comes_back_when_the_pass_fails() {
    let mut tree = net();
    let root = tree.root();
    let [cat, x] = find(&tree, &["cat", "x"])[..] else { panic!() };
    tree.graph_mut(root).unwrap().move_before(cat, x).unwrap();
    let nodes = find(&tree, &["add"]);
    assert!(fuse_as_graphmodule(&mut tree, root, &nodes, "w.inner", &FuseOptions::default()).is_err());
    assert_eq!(tree.graph(root).unwrap().first(), Some(cat));
    fuse_named(&mut tree, &["add"], &FuseOptions::default()).unwrap();
    lint_all(&tree, root).unwrap();
    // A cycle elsewhere is found before anything changes.
    let mut tree = net();
    let [linear, neg] = find(&tree, &["linear", "neg"])[..] else { panic!() };
    tree.graph_mut(root).unwrap().set_arg(linear, 0, Argument::Node(neg)).unwrap();
    let error = fuse_named(&mut tree, &["cat"], &FuseOptions::default()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Lint);
    assert_eq!(tree.graph(root).unwrap().len(), 8);
}

#[test]
fn names_count_on_from_what_is_taken() {
    let mut tree = net();
    let root = tree.root();
    let path = |tree: &ModuleTree, path| free_path(tree, root, path, TakenName::Number).unwrap();
    assert_eq!(path(&tree, "fused"), "fused");
    tree.add_module(root, "fused", "Leaf", NewModule::Leaf).unwrap();
    for number in 1..40 {
        assert_eq!(path(&tree, "fused"), format!("fused_{number}"));
        tree.add_module(root, &format!("fused_{number}"), "Leaf", NewModule::Leaf).unwrap();
    }
    assert_eq!(path(&tree, "fc.linear"), "fc.linear_1");
}

#[test]
fn a_submodule_that_does_not_fit_is_refused() {
    let mut tree = net();
    let root = tree.root();
    let nodes = find(&tree, &["x", "y", "linear", "add", "neg", "cat", "output"]);
    let [x, y, linear, add, neg, cat, output] = nodes[..] else { panic!() };
    // It takes one input and perhaps another, and returns two values.
    let mut sub = ModuleTree::with_symbols(tree.symbols().clone(), "Sub");
    let top = sub.root();
    let graph = sub.graph_mut(top).unwrap();
    let a = graph.placeholder("a").unwrap();
    let args = Args::from_iter([Argument::Int(1)]);
    let b = graph.create_node(At::Default, Op::Placeholder, "b", args, Kwargs::new(), None).unwrap();
    graph.output(Argument::Tuple([a, b].map(Argument::Node).into())).unwrap();
    for (inputs, outputs, at) in [
        (&[][..], &[add][..], None),
        (&[x, y, x], &[add], None),
        (&[x], &[add, neg, cat], None),
        (&[output], &[add], Some(output)),
        (&[x], &[output], Some(output)),
        (&[cat], &[linear], Some(cat)),
    ] {
        let part = sub.copy_out(top, tree.symbols()).unwrap();
        let error = insert_subgm(&mut tree, root, part, "sub", inputs, outputs, TakenName::Number).unwrap_err();
        assert_eq!((error.kind, error.node), (ErrorKind::InvalidArgument, at));
        assert_eq!(tree.modules_below(root).count(), 3);
    }
    let part = sub.copy_out(top, tree.symbols()).unwrap();
    let inserted = insert_subgm(&mut tree, root, part, "sub", &[x, add], &[add], TakenName::Refuse).unwrap();
    lint_all(&tree, root).unwrap();
    let graph = tree.graph(root).unwrap();
    // An output that is an input too: the call itself keeps using it.
    assert_eq!(graph.users(add).collect::<Vec<_>>(), [inserted.call]);
    assert_eq!(graph[inserted.outputs[0]].value().cloned(), told(4));
    // It returns two values, and one is known.
    assert_eq!(graph[inserted.call].value(), None);
}
