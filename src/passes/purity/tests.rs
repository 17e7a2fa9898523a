//! What is impure, kind by kind.

use super::*;
use crate::ir::{Args, At, Attribute, Dtype, Kwargs, NewModule, Tensor, TensorKind, TensorMeta, Value};
use std::sync::Arc;

fn options(random_is_impure: bool) -> PurityOptions {
    PurityOptions { random_is_impure }
}

/// Whether one node, in a module with `act` (GELU), is impure.
fn judge(op: Op, target: &str, args: &[Argument], kwargs: &[(&str, Argument)], random: bool) -> bool {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    tree.add_module(root, "act", "torch.nn.modules.activation.GELU", NewModule::Leaf).unwrap();
    let graph = tree.graph_mut(root).unwrap();
    let kwargs: Kwargs = kwargs.iter().map(|(key, value)| (graph.symbols().intern(key), value.clone())).collect();
    let node = graph.create_node(At::Default, op, target, Args::from(args), kwargs, None).unwrap();
    Purity::new(&tree, options(random)).is_impure(root, node).unwrap()
}

fn function_is_impure(target: &str) -> bool {
    judge(Op::CallFunction, target, &[], &[], true)
}

#[test]
fn functions_by_name() {
    for impure in [
        "_operator.iadd",
        "_operator.imatmul",
        "_operator.setitem",
        "operator.ior",
        "torch.relu_",
        "torch.ops.aten.add_.Tensor",
        "torch.ops.aten.resize_.default",
        "torch.ops.aten.__ior__.Scalar",
        "torch.ops.aten.add.out",
        "torch.ops.aten.sum.IntList_out",
        "torch.ops.aten.topk.values",
        "torch.ops.aten.sort.int",
        "torch.ops.aten._native_batch_norm_legit.default",
        "torch.ops.aten._assert_async.msg",
        "torch.ops.aten.sym_constrain_range_for_size.default",
        "torch.ops.aten._no_grad_embedding_renorm_.default",
        "torch.ops.aten.manual_seed",
        "torch.ops.aten.append",
        "torch.ops.aten._foreach_add_.List",
        "torch.ops.aten._fused_adam_.default",
        "torch.ops.aten.special_xlog1py.self_scalar_out",
        "torch.ops.prims.copy_to.default",
        "torch.ops.mine.add_.default",
        "torch.ops.mine.add.out",
        "torch._assert",
        "torch.ops.profiler._record_function_enter_new.default",
        "torch.ops._c10d_functional.wait_tensor.default",
        "torch.manual_seed",
        "torch.ops.aten.rand_like.default",
        "torch.ops.higher_order.run_with_rng_state",
        "torch.nn.functional.dropout",
        "torch.rand",
        "builtins.print",
    ] {
        assert!(function_is_impure(impure), "{impure}");
    }
    for pure in [
        "_operator.add",
        "_operator.and_",
        "_operator.is_",
        "_operator.invert",
        "_operator.index",
        "torch.ops.aten.add.Tensor",
        "torch.ops.aten.sort.default",
        "torch.ops.aten._native_batch_norm_legit.no_stats",
        "torch.ops.aten.max.dim",
        "torch.ops.aten.xlogy",
        "torch.ops.aten.sort",
        "torch.ops.aten.__and__.Tensor",
        "torch.ops.aten.__iterate.default",
        "torch.ops.mine.add.default",
        "torch.ops.aten.relu",
        "torch.nn.functional.relu",
        "torch._C._nn.gelu",
        "builtins.getattr",
        "mine.rand",
    ] {
        assert!(!function_is_impure(pure), "{pure}");
    }
}

/// Every overload whose schema writes into an argument, by what torch prints.
#[test]
fn operators_by_their_schemas() {
    let text = include_str!("../schema/signatures.txt");
    let mut counts = [0; 3];
    for line in text.lines().filter(|line| line.contains("::")) {
        let name = line.split('(').next().unwrap();
        let (space, operator) = name.split_once("::").unwrap();
        let overload = if operator.contains('.') { "" } else { ".default" };
        let target = format!("torch.ops.{space}.{operator}{overload}");
        let parameters = line.rsplit_once(" -> ").map_or(line, |(parameters, _)| parameters);
        // Called as it stands here, with nothing, it draws unless it drops nothing by default.
        let is_told_not_to = ["dropout_p=0.", "training=False"].iter().any(|told| line.contains(told));
        let (mutates, is_random) = (parameters.contains('!'), line.contains(" !random") && !is_told_not_to);
        let is_impure = |random| judge(Op::CallFunction, &target, &[], &[], random);
        assert!(!(mutates || is_random) || is_impure(true), "{target}");
        assert!(!mutates || is_impure(false), "{target}");
        let is_quiet = !mutates && !line.contains(" -> ()") && !operator.contains('_');
        assert!(!is_quiet || !is_impure(false), "{target}");
        counts[0] += usize::from(mutates);
        counts[1] += usize::from(is_random);
        counts[2] += usize::from(is_quiet);
    }
    assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
}

#[test]
fn methods_by_name() {
    let is_impure = |target| judge(Op::CallMethod, target, &[], &[], true);
    for impure in [
        "mul_",
        "requires_grad_",
        "__setitem__",
        "__iadd__",
        "__next__",
        "append",
        "reverse",
        "discard",
        "difference_update",
        "appendleft",
        "register_hook",
        "set_data",
        "bernoulli",
        // Of a list, for all that is known.
        "sort",
    ] {
        assert!(is_impure(impure), "{impure}");
    }
    for pure in ["mul", "add", "argsort", "copy", "get", "items", "__getitem__", "__invert__", "__add__", "_"] {
        assert!(!is_impure(pure), "{pure}");
    }
    // As functions.
    for impure in ["torch.Tensor.add_", "torch.Tensor.backward", "torch.Tensor.bernoulli", "builtins.list.sort"] {
        assert!(function_is_impure(impure), "{impure}");
    }
    for pure in ["torch.Tensor.add", "torch.Tensor.sort", "builtins.dict.get", "builtins.sorted"] {
        assert!(!function_is_impure(pure), "{pure}");
    }
    // What a tensor and a container are called with in their ways.
    let sort = |args: &[Argument], kwargs: &[(&str, Argument)]| judge(Op::CallMethod, "sort", args, kwargs, true);
    assert!(!sort(&[], &[("dim", Argument::Int(0))]));
    assert!(sort(&[], &[("reverse", Argument::Bool(true))]));
}

/// Each method with what it is called on.
#[test]
fn methods_by_what_they_are_called_on() {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    let leaf = tree.add_module(root, "act", "torch.nn.modules.activation.GELU", NewModule::Leaf).unwrap();
    tree.set_attribute(leaf, "names", Attribute::Value(Argument::List([].into()))).unwrap();
    let weight = Tensor::without_bytes(TensorMeta::new(Dtype::Float32, [2i64])).unwrap();
    tree.set_attribute(leaf, "weight", Attribute::Tensor(TensorKind::Parameter, Arc::new(weight))).unwrap();
    let graph = tree.graph_mut(root).unwrap();
    let placeholder = |graph: &mut Graph, name: &str, annotation: &str| {
        let node = graph.placeholder(name).unwrap();
        graph.set_type_annotation(node, Some(annotation)).unwrap();
        node
    };
    let x = graph.placeholder("x").unwrap();
    let list = placeholder(graph, "l", "List[int]");
    let set = placeholder(graph, "s", "typing.Set[str]");
    let tensor = placeholder(graph, "t", "torch.Tensor");
    let told = graph.placeholder("told").unwrap();
    graph.set_value(told, Some(Arc::new(Value::Tensor(TensorMeta::new(Dtype::Float32, [2i64]))))).unwrap();
    let pair = graph.placeholder("pair").unwrap();
    graph.set_value(pair, Some(Arc::new(Value::List(Vec::new())))).unwrap();
    let mut call = |op, target: &str| {
        let args = Args::from_iter([Argument::Node(x)]);
        graph.create_node(At::Default, op, target, args, Kwargs::new(), None).unwrap()
    };
    let [relu, functional, method, made, sorted] = [
        (Op::CallFunction, "torch.relu"),
        (Op::CallFunction, "torch.nn.functional.gelu"),
        (Op::CallMethod, "abs"),
        (Op::CallFunction, "builtins.set"),
        (Op::CallFunction, "builtins.sorted"),
    ]
    .map(|(op, target)| call(op, target));
    let [act, names, weight] = ["act", "act.names", "act.weight"].map(|path| graph.get_attr(path).unwrap());
    let cases = [
        ("sort", true, vec![x, list, pair, sorted, names]),
        ("sort", false, vec![tensor, told, relu, functional, method, weight]),
        ("add", true, vec![set, list, made]),
        ("add", false, vec![x, tensor, told, relu, method, weight]),
        ("subtract", true, vec![made]),
        ("subtract", false, vec![x, weight]),
        ("update", true, vec![x, names]),
        ("train", true, vec![act]),
        ("half", true, vec![act]),
        ("half", false, vec![x, weight]),
        ("forward", false, vec![act]),
        ("__call__", false, vec![act]),
    ];
    let mut nodes = Vec::new();
    for (name, impure, receivers) in cases {
        for receiver in receivers {
            let args = Args::from_iter([Argument::Node(receiver)]);
            let node = graph.create_node(At::Default, Op::CallMethod, name, args, Kwargs::new(), None).unwrap();
            nodes.push((name, graph.name(receiver).to_owned(), node, impure));
        }
    }
    let mut purity = Purity::new(&tree, options(true));
    for (name, receiver, node, impure) in nodes {
        assert_eq!(purity.is_impure(root, node), Ok(impure), "{receiver}.{name}()");
    }
}

#[test]
fn random_operators_when_the_caller_says_so() {
    for target in ["torch.ops.aten.rand_like.default", "torch.dropout", "torch.nn.functional.gumbel_softmax"] {
        assert!(judge(Op::CallFunction, target, &[], &[], true), "{target}");
        assert!(!judge(Op::CallFunction, target, &[], &[], false), "{target}");
    }
    assert!(!judge(Op::CallMethod, "multinomial", &[], &[], false));
    assert!(judge(Op::CallMethod, "random_", &[], &[], false));
}

/// Faults 25 and 26.
#[test]
fn arguments_that_are_written_to() {
    let yes = Argument::Bool(true);
    let no = Argument::Bool(false);
    let relu = "torch.nn.functional.relu";
    let with =
        |target, args: &[Argument], kwargs: &[(&str, Argument)]| judge(Op::CallFunction, target, args, kwargs, true);
    assert!(with(relu, &[], &[("inplace", yes.clone())]));
    assert!(!with(relu, &[], &[("inplace", no.clone())]));
    assert!(with(relu, &[Argument::None, yes.clone()], &[]));
    assert!(!with(relu, &[Argument::None, no], &[]));
    assert!(!with("mine.relu", &[Argument::None, yes], &[]));
    assert!(with("torch.add", &[], &[("out", Argument::List([].into()))]));
    assert!(!with("torch.add", &[], &[("out", Argument::None)]));
}

/// Faults 27 and 28.
#[test]
fn modules_by_what_they_are() {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    let no = || Argument::Bool(false);
    let yes = || Argument::Bool(true);
    for (path, type_name, settings) in [
        ("marked", "my.Module", vec![("_is_impure", yes())]),
        ("relu", "torch.nn.modules.activation.ReLU", vec![("inplace", yes())]),
        ("relu_out", "torch.nn.modules.activation.ReLU", vec![("inplace", no())]),
        ("drop", "torch.nn.modules.dropout.Dropout", vec![]),
        ("drop_eval", "torch.nn.modules.dropout.Dropout", vec![("training", no())]),
        ("drop_none", "torch.nn.modules.dropout.Dropout", vec![("p", Argument::Float(0.0))]),
        ("norm", "torch.nn.modules.batchnorm.BatchNorm2d", vec![]),
        ("norm_training", "torch.nn.modules.batchnorm.BatchNorm2d", vec![("training", yes())]),
        ("norm_eval", "torch.nn.modules.batchnorm.BatchNorm2d", vec![("training", no())]),
        ("norm_plain", "torch.nn.modules.batchnorm.BatchNorm1d", vec![("track_running_stats", no())]),
        ("instance", "torch.nn.modules.instancenorm.InstanceNorm2d", vec![("training", yes())]),
        ("instance_plain", "torch.nn.modules.instancenorm.InstanceNorm2d", vec![("track_running_stats", no())]),
        ("layer_norm", "torch.nn.modules.normalization.LayerNorm", vec![("training", yes())]),
        ("table", "torch.nn.modules.sparse.Embedding", vec![("training", yes()), ("max_norm", Argument::None)]),
        (
            "table_norm",
            "torch.nn.modules.sparse.Embedding",
            vec![("training", no()), ("max_norm", Argument::Float(1.0))],
        ),
        ("bag_norm", "torch.nn.modules.sparse.EmbeddingBag", vec![("max_norm", Argument::Int(2))]),
        ("lstm", "torch.nn.modules.rnn.LSTM", vec![("training", yes())]),
        ("lstm_plain", "torch.nn.modules.rnn.LSTM", vec![("dropout", Argument::Float(0.0))]),
        ("cell", "torch.nn.modules.rnn.LSTMCell", vec![("training", yes())]),
        ("pool", "torch.nn.modules.pooling.FractionalMaxPool2d", vec![("training", no())]),
        ("fake", "torch.ao.quantization.fake_quantize.FakeQuantize", vec![("training", no())]),
        ("qat", "torch.ao.nn.qat.modules.linear.Linear", vec![]),
        ("lazy", "torch.nn.modules.linear.LazyLinear", vec![]),
        ("theirs", "my.Dropout", vec![]),
        ("block", "my.Block", vec![]),
        ("block.relu", "torch.nn.modules.activation.ReLU", vec![("inplace", yes())]),
        ("layers", "my.Layers", vec![]),
        ("layers.drop", "torch.nn.modules.dropout.Dropout", vec![("training", no())]),
    ] {
        let leaf = tree.add_module(root, path, type_name, NewModule::Leaf).unwrap();
        for (name, value) in settings {
            tree.set_attribute(leaf, name, Attribute::Value(value)).unwrap();
        }
    }
    // A graph module is as pure as what it holds, however deep.
    for (path, method) in [("pure", "abs"), ("impure", "abs_")] {
        let outer = tree.add_module(root, path, "Outer", NewModule::Graph).unwrap();
        let inner = tree.add_module(outer, "inner", "Inner", NewModule::Graph).unwrap();
        for (module, op, target) in [(inner, Op::CallMethod, method), (outer, Op::CallModule, "inner")] {
            let graph = tree.graph_mut(module).unwrap();
            let x = graph.placeholder("x").unwrap();
            let args = Args::from_iter([Argument::Node(x)]);
            let y = graph.create_node(At::Default, op, target, args, Kwargs::new(), None).unwrap();
            graph.output(Argument::Node(y)).unwrap();
        }
    }
    tree.add_module(root, "holder", "Holder", NewModule::Holder).unwrap();
    let expected = [
        ("marked", true),
        ("relu", true),
        ("relu_out", false),
        ("drop", true),
        ("drop_eval", false),
        ("drop_none", false),
        ("norm", true),
        ("norm_training", true),
        ("norm_eval", false),
        ("norm_plain", false),
        ("instance", true),
        ("instance_plain", false),
        ("layer_norm", false),
        ("table", false),
        ("table_norm", true),
        ("bag_norm", true),
        ("lstm", true),
        ("lstm_plain", false),
        ("cell", false),
        ("pool", true),
        ("fake", true),
        ("qat", true),
        ("lazy", true),
        ("theirs", true),
        // A leaf may call what is below it.
        ("block", true),
        ("layers", false),
        ("pure", false),
        ("impure", true),
        ("impure.inner", true),
        ("holder", true),
        ("missing", true),
    ];
    let graph = tree.graph_mut(root).unwrap();
    let nodes = expected.map(|(path, _)| graph.call_module(path, Args::new(), Kwargs::new()).unwrap());
    // Handed to a function that may call it.
    let read = ["pure", "impure"].map(|path| graph.get_attr(path).unwrap());
    let cond = read.map(|branch| {
        let args = Args::from_iter([Argument::List([Argument::Node(branch)].into())]);
        graph.call_function("torch.ops.higher_order.cond", args, Kwargs::new()).unwrap()
    });
    let mut purity = Purity::new(&tree, options(true));
    for (node, (path, impure)) in nodes.into_iter().zip(expected) {
        assert_eq!(purity.is_impure(root, node), Ok(impure), "{path}");
    }
    assert_eq!(cond.map(|node| purity.is_impure(root, node).unwrap()), [false, true]);
    assert_eq!(read.map(|node| purity.is_impure(root, node).unwrap()), [false, false]);
    let drop = nodes[3];
    assert_eq!(Purity::new(&tree, options(false)).is_impure(root, drop), Ok(false));
}
