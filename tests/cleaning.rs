//! What cleaning passes take away, and what they must not.

mod random_graph;

use fxir::formats::python::print::code;
use fxir::formats::python::read::read_into;
use fxir::ir::lint::lint_all;
use fxir::ir::{
    Argument, Attribute, Dtype, Error, ErrorKind, Kwargs, ModuleId, ModuleTree, NewModule, NodeId, Op, Result, Tensor,
    TensorKind, TensorMeta,
};
use fxir::passes::cse::{eliminate_common_subexpressions, find_common_subexpressions, CseOptions};
use fxir::passes::deduplicate_get_attr::deduplicate_get_attr;
use fxir::passes::lift_constants::{lift_constants, LiftOptions};
use fxir::passes::unused_attributes::delete_unused_attributes;
use proptest::prelude::*;
use random_graph::meaning::meaning;
use random_graph::modules;
use std::collections::BTreeSet;
use std::sync::Arc;

fn net(text: &str) -> ModuleTree {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    for (path, kind) in [
        ("relu", "torch.nn.modules.activation.ReLU"),
        ("drop", "torch.nn.modules.dropout.Dropout"),
        ("drop_eval", "torch.nn.modules.dropout.Dropout"),
        ("bn", "torch.nn.modules.batchnorm.BatchNorm2d"),
        ("bn_eval", "torch.nn.modules.batchnorm.BatchNorm2d"),
    ] {
        tree.add_module(root, path, kind, NewModule::Leaf).unwrap();
    }
    for path in ["drop_eval.training", "bn_eval.training"] {
        tree.set_attribute(root, path, Attribute::Value(Argument::Bool(false))).unwrap();
    }
    let tensor = Tensor::from_bytes(TensorMeta::new(Dtype::Uint8, [4i64]), vec![7; 4]).unwrap();
    for path in ["w", "v"] {
        tree.set_attribute(root, path, Attribute::Tensor(TensorKind::Parameter, Arc::new(tensor.clone()))).unwrap();
    }
    read_into(&mut tree, root, text).unwrap();
    lint_all(&tree, root).unwrap();
    tree
}

/// The statements of a graph, without the `;  x = None`.
fn body(tree: &ModuleTree) -> String {
    lint_all(tree, tree.root()).unwrap();
    let text = code(tree, tree.root()).unwrap();
    let lines = text.lines().filter(|line| line.starts_with("    "));
    lines.map(|line| line.trim().split(";  ").next().unwrap()).collect::<Vec<_>>().join("\n").trim_end().to_string()
}

/// `(gone, kept)` for all that goes, by name.
fn merged(text: &str) -> Vec<(String, String)> {
    let mut tree = net(text);
    let root = tree.root();
    let graph = tree.graph(root).unwrap();
    let pairs = find_common_subexpressions(&tree, root, CseOptions::default()).unwrap();
    let names: Vec<_> = pairs.iter().map(|&(a, b)| (graph.name(a).to_owned(), graph.name(b).to_owned())).collect();
    assert_eq!(eliminate_common_subexpressions(&mut tree, root, CseOptions::default()).unwrap(), pairs);
    lint_all(&tree, root).unwrap();
    assert!(eliminate_common_subexpressions(&mut tree, root, CseOptions::default()).unwrap().is_empty());
    names
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect()
}

/// How many go when two statements `a` and `b` follow each other.
fn two(a: &str, b: &str) -> usize {
    merged(&format!("def f(x, y):\n a = {a}\n b = {b}\n return torch.cat([a, b])")).len()
}

#[test]
fn equal_expressions_become_one_and_what_follows_from_them_too() {
    let mut tree =
        net("def f(x, y):\n a = torch.add(x, y)\n b = torch.add(x, y)\n c = torch.relu(a)\n d = torch.relu(b)\n \
         e = torch.mul(c, d)\n return e");
    let root = tree.root();
    assert_eq!(eliminate_common_subexpressions(&mut tree, root, CseOptions::default()).unwrap().len(), 2);
    assert_eq!(body(&tree), "a = torch.add(x, y)\nc = torch.relu(a)\ne = torch.mul(c, c)\nreturn e");
    // One that is returned twice is one object, as in torch.
    let mut tree = net("def f(x):\n a = x.sin()\n b = x.sin()\n return [a, b]");
    let root = tree.root();
    assert_eq!(eliminate_common_subexpressions(&mut tree, root, CseOptions::default()).unwrap().len(), 1);
    assert_eq!(body(&tree), "a = x.sin()\nreturn [a, a]");
}

#[test]
fn what_the_first_knows_stays() {
    let mut tree = net("def f(x):\n a = x.sin()\n b = x.sin()\n return [a, b]");
    let root = tree.root();
    let graph = tree.graph_mut(root).unwrap();
    for name in ["a", "b"] {
        let node = graph.find_node(name).unwrap();
        let text = graph.symbols().intern(name);
        graph.set_meta(node, "who", Argument::Str(text)).unwrap();
    }
    eliminate_common_subexpressions(&mut tree, root, CseOptions::default()).unwrap();
    let graph = tree.graph(root).unwrap();
    let a = graph.find_node("a").unwrap();
    let who = graph.symbols().find("who").unwrap();
    assert!(matches!(graph[a].meta().entries[&who], Argument::Str(text) if graph.text(text) == "a"));
    assert!(graph.find_node("b").is_none());
}

#[test]
fn literals_are_told_apart_by_type_and_value() {
    let literals =
        ["1", "1.0", "True", "0.0", "-0.0", "None", "'1'", "[1]", "(1,)", "[1.0]", "{'a': 1}", "{'a': True}", "..."];
    for a in literals {
        for b in literals {
            let gone = two(&format!("torch.mine(x, {a})"), &format!("torch.mine(x, {b})"));
            assert_eq!(gone, usize::from(a == b), "{a} and {b}");
            let gone = two(&format!("torch.mine(x, k={a})"), &format!("torch.mine(x, k={b})"));
            assert_eq!(gone, usize::from(a == b), "k={a} and k={b}");
        }
    }
    assert_eq!(two("torch.mine(x, nan)", "torch.mine(x, nan)"), 1);
    assert_eq!(two("torch.mine(x, nan)", "torch.mine(x, inf)"), 0);
    assert_eq!(two("torch.mine(x, k=1)", "torch.mine(x, l=1)"), 0);
    assert_eq!(two("torch.mine(x, 1)", "torch.mine(x, k=1)"), 0);
    assert_eq!(two("x[1:2]", "x[1:2]"), 1);
    assert_eq!(two("x[1:2]", "x[1:3]"), 0);
    assert_eq!(two("torch.sub(x, y)", "torch.sub(y, x)"), 0);
    assert_eq!(two("x.relu()", "torch.relu(x)"), 0);
}

#[test]
fn what_is_random_or_counts_stays() {
    for (kept, gone) in [
        ("torch.rand(2)", "torch.ones(2)"),
        ("torch.rand_like(x)", "torch.ones_like(x)"),
        ("torch.nn.functional.dropout(x)", "torch.nn.functional.relu(x)"),
        ("x.bernoulli()", "x.abs()"),
        ("self.drop(x)", "self.drop_eval(x)"),
        ("self.bn(x)", "self.bn_eval(x)"),
        ("self.nowhere(x)", "self.relu(x)"),
        (
            "torch.nn.functional.batch_norm(x, y, y, training=True)",
            "torch.nn.functional.batch_norm(x, y, y, training=False)",
        ),
        ("torch.nn.functional.batch_norm(x, y, y, None, None, True)", "torch.nn.functional.batch_norm(x, y, y)"),
        ("torch._assert(x, 'm')", "torch.square(x)"),
    ] {
        if !kept.contains("nowhere") {
            assert_eq!(two(kept, kept), 0, "{kept}");
        }
        assert_eq!(two(gone, gone), 1, "{gone}");
    }
}

/// What stays, by name, when the caller says so.
fn merged_with(text: &str, banned: &[&str], impure: Option<&[&str]>) -> String {
    let mut tree = net(text);
    let root = tree.root();
    let mut asked = Vec::new();
    let mut is_impure = |tree: &ModuleTree, module: ModuleId, node: NodeId| {
        let graph = tree.graph(module)?;
        asked.push(graph.name(node).to_owned());
        Ok(impure.unwrap().contains(&graph.name(node)))
    };
    let options = match impure {
        Some(_) => CseOptions { banned, is_impure: Some(&mut is_impure) },
        None => CseOptions { banned, is_impure: None },
    };
    let gone = eliminate_common_subexpressions(&mut tree, root, options).unwrap();
    lint_all(&tree, root).unwrap();
    let graph = tree.graph(root).unwrap();
    if impure.is_some() {
        let is_asked = |name: &&str| !matches!(*name, "x" | "y" | "output");
        let all = net(text);
        let all = all.graph(all.root()).unwrap();
        assert_eq!(asked, all.nodes().map(|node| all.name(node)).filter(is_asked).collect::<Vec<_>>());
    }
    let left = graph.nodes().map(|node| graph.name(node)).filter(|name| !matches!(*name, "x" | "y" | "output"));
    format!("{} -{}", left.collect::<Vec<_>>().join(" "), gone.len())
}

#[test]
fn what_the_caller_bans_stays() {
    let text = "def f(x, y):\n a = torch.relu(x)\n b = torch.relu(x)\n c = torch.ops.aten.add.Tensor(a, b)\n \
                d = torch.ops.aten.add.Tensor(a, b)\n e = y.abs()\n f = y.abs()\n return [a, b, c, d, e, f]";
    for (banned, left) in [
        (&[][..], "a c e -3"),
        (&["torch.relu"], "a b c e -2"),
        (&["torch.ops.aten.add"], "a c d e -2"),
        (&["torch.ops.aten.add.Tensor", "abs"], "a c d e f -1"),
        // Names, not their beginnings.
        (&["torch.rel", "torch.ops.aten.ad", "torch", "torch.ops.aten.add.Tensor.x"], "a c e -3"),
        (&["torch.ops.aten", "torch.relu"], "a b c d e -1"),
    ] {
        assert_eq!(merged_with(text, banned, None), left, "{banned:?}");
    }
    // What is banned writes nothing.
    let text = "def f(x):\n a = x.sin()\n b = x.cos()\n c = x.sin()\n return [a, b, c]";
    assert_eq!(merged_with(text, &["cos"], None), "a b -1");
}

#[test]
fn what_the_caller_says_is_impure_stays_and_may_write() {
    let text = "def f(x):\n a = x.sin()\n b = x.register()\n c = x.sin()\n d = x.register()\n return [a, b, c, d]";
    assert_eq!(merged_with(text, &[], None), "a b -2");
    assert_eq!(merged_with(text, &[], Some(&[])), "a b -2");
    // `b` may write into `x`, so that `c` is another.
    assert_eq!(merged_with(text, &[], Some(&["b", "d"])), "a b c d -0");
    assert_eq!(merged_with(text, &[], Some(&["a"])), "a b c -1");
    // Alone: random numbers and writes are the caller's to know of.
    let text = "def f(x):\n a = torch.rand(2)\n b = torch.rand(2)\n c = x.add_(1)\n d = x.add_(1)\n \
                return [a, b, c, d]";
    assert_eq!(merged_with(text, &[], None), "a b c d -0");
    assert_eq!(merged_with(text, &[], Some(&["c", "d"])), "a c d -1");
    assert_eq!(merged_with(text, &[], Some(&[])), "a c -2");
    // Members are read twice if the caller says that reading is more.
    let text = "def f(x):\n a = self.w\n b = self.w\n return torch.add(a, b, alpha=x)";
    assert_eq!(merged_with(text, &[], Some(&["a"])), "a b add -0");
    assert_eq!(merged_with(text, &["w"], None), "a b add -0");
}

#[test]
fn an_error_of_the_caller_s_changes_nothing() {
    let mut tree = net("def f(x):\n a = x.sin()\n b = x.sin()\n return [a, b]");
    let (root, before) = (tree.root(), body(&tree));
    let mut stop = |_: &ModuleTree, _: ModuleId, _: NodeId| Err(Error::new(ErrorKind::Callback(3), "stop"));
    let options = CseOptions { is_impure: Some(&mut stop), ..CseOptions::default() };
    assert_eq!(eliminate_common_subexpressions(&mut tree, root, options).unwrap_err().kind, ErrorKind::Callback(3));
    assert_eq!(body(&tree), before);
}

#[test]
fn a_write_between_parts_what_reads_it() {
    let between = |write: &str, read: &str| {
        merged(&format!("def f(x, y):\n v = x.view(-1)\n a = {read}\n w = {write}\n b = {read}\n return a, b, w, v"))
            .iter()
            .filter(|(gone, _)| gone == "b")
            .count()
    };
    for write in [
        "x.add_(1)",
        "operator.iadd(x, 1)",
        "operator.setitem(x, 0, y)",
        "torch.add(y, 1, out=x)",
        "torch.nn.functional.relu(x, inplace=True)",
        "torch.nn.functional.relu(x, True)",
        "torch.ops.aten.add_.Tensor(x, y)",
        "torch.relu_(x)",
        "v.add_(1)",
        "x.view(2, -1).t().zero_()",
        "x[0].add_(1)",
        // Whether two inputs share memory, nobody knows.
        "y.add_(1)",
    ] {
        for read in ["torch.add(x, y)", "x.sum()", "torch.sin(v)", "self.relu(x)"] {
            assert_eq!(between(write, read), 0, "{write} between two {read}");
        }
    }
    for harmless in ["torch.add(x, 1)", "torch._assert(x, 'm')", "torch.rand_like(x)", "torch.ones(2).add_(1)"] {
        assert_eq!(between(harmless, "torch.add(x, y)"), 1, "{harmless}");
    }
    assert_eq!(between("torch._C._set_grad_enabled(False)", "torch.add(x, y)"), 0);
    assert_eq!(between("torch.add(x, 1).add_(1)", "torch.add(x, y)"), 1);
    // On one side of a write there is nothing to part.
    assert_eq!(
        merged(
            "def f(x, y):\n a = x.sum()\n b = x.sum()\n w = x.add_(1)\n c = x.sum()\n d = x.sum()\n return a, b, c, d"
        ),
        pairs(&[("b", "a"), ("d", "c")])
    );
}

#[test]
fn nothing_that_is_written_is_merged() {
    for text in [
        "def f(x):\n a = torch.add(x, 1)\n b = torch.add(x, 1)\n c = a.add_(1)\n return c, b",
        "def f(x):\n a = torch.add(x, 1)\n b = torch.add(x, 1)\n c = b.add_(1)\n return a, c",
        "def f(x):\n a = torch.add(x, 1)\n b = torch.add(x, 1)\n v = b.view(-1)\n c = v.t().zero_()\n return a, c",
        "def f(x):\n a = torch.zeros(2)\n b = torch.zeros(2)\n c = operator.setitem(a, 0, x)\n return a, b",
        "def f(x):\n a = torch.empty(2)\n b = torch.empty(2)\n c = torch.sin(x, out=b)\n return a, c",
        // `contiguous` may copy, or not.
        "def f(x):\n a = x.contiguous()\n b = x.contiguous()\n c = a.add_(1)\n return c, b",
        // What a list holds is written too.
        "def f(x):\n a = torch.sin(x)\n b = torch.sin(x)\n l = mine.pair(a, x)\n c = l[0].zero_()\n return b, c",
    ] {
        assert_eq!(merged(text), [], "{text}");
    }
    // It was written before.
    assert_eq!(
        merged("def f(x):\n w = x.add_(1)\n a = torch.add(x, 1)\n b = torch.add(x, 1)\n return a, b"),
        pairs(&[("b", "a")])
    );
}

#[test]
fn members_that_are_read_twice_are_read_once() {
    let mut tree = net(
        "def f(x):\n w = self.w\n a = torch.add(x, w)\n w_1 = self.w\n z = w_1.zero_()\n w_2 = self.w\n v = self.v\n \
         b = torch.add(x, w_2)\n return a, b, v",
    );
    let root = tree.root();
    assert_eq!(deduplicate_get_attr(&mut tree, root).unwrap().len(), 2);
    let expected = "w = self.w\na = torch.add(x, w)\nz = w.zero_()\nv = self.v\nb = torch.add(x, w)\nreturn (a, b, v)";
    assert_eq!(body(&tree), expected);
    assert_eq!(deduplicate_get_attr(&mut tree, root).unwrap(), []);
    assert_eq!(
        eliminate_common_subexpressions(&mut tree, root, CseOptions::default()).unwrap(),
        [],
        "the weight is written between them"
    );
}

fn tensor(value: u8) -> Attribute {
    let tensor = Tensor::from_bytes(TensorMeta::new(Dtype::Uint8, [1i64]), vec![value]).unwrap();
    Attribute::Tensor(TensorKind::Buffer, Arc::new(tensor))
}

#[test]
fn tensors_that_nothing_reads_go() {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    tree.add_module(root, "leaf", "torch.nn.modules.linear.Linear", NewModule::Leaf).unwrap();
    tree.add_module(root, "leaf.inner", "Holder", NewModule::Holder).unwrap();
    tree.add_module(root, "block", "Block", NewModule::Graph).unwrap();
    tree.add_module(root, "handed", "Handed", NewModule::Graph).unwrap();
    tree.add_module(root, "called", "Unknown", NewModule::Holder).unwrap();
    for path in [
        "used",
        "unused",
        "leaf.weight",
        "leaf.inner.weight",
        "block.used",
        "block.unused",
        "block.from_above",
        "handed.weight",
        "called.weight",
        "called.deep.weight",
        "holder.used",
        "holder.unused",
    ] {
        tree.set_attribute(root, path, tensor(1)).unwrap();
    }
    tree.set_attribute(root, "training", Attribute::Value(Argument::Bool(true))).unwrap();
    let [block, handed] = ["block", "handed"].map(|path| tree.submodule(root, path).unwrap());
    read_into(&mut tree, block, "def f(x):\n used = self.used\n return torch.add(x, used)").unwrap();
    read_into(&mut tree, handed, "def f(x):\n return x").unwrap();
    let text = "def f(x):\n used = self.used\n a = self.block(x)\n b = self.called(a)\n c = self.holder.used\n \
                d = self.block.from_above\n h = self.handed\n return [used, b, c, d, torch.ops.higher_order.cond(x, h)]";
    read_into(&mut tree, root, text).unwrap();
    lint_all(&tree, root).unwrap();
    let removed = delete_unused_attributes(&mut tree, root).unwrap();
    assert_eq!(removed, ["unused", "block.unused", "holder.unused"]);
    lint_all(&tree, root).unwrap();
    for kept in ["used", "leaf.weight", "leaf.inner.weight", "block.used", "block.from_above", "handed.weight"] {
        assert!(tree.resolve(root, kept).is_some(), "{kept}");
    }
    for kept in ["called.weight", "called.deep.weight", "holder.used", "training"] {
        assert!(tree.resolve(root, kept).is_some(), "{kept}");
    }
    assert!(removed.iter().all(|path| tree.resolve(root, path).is_none()));
    assert!(delete_unused_attributes(&mut tree, root).unwrap().is_empty());
    // What the graph above reads is used, from wherever one looks.
    assert!(delete_unused_attributes(&mut tree, block).unwrap().is_empty());
}

/// Fault 30: of two nodes that read one attribute one goes, and the other still reads it.
#[test]
fn an_attribute_goes_with_its_last_reader() {
    let mut tree = net("def f(x):\n w = self.w\n w_1 = self.w\n return torch.add(x, w)");
    let root = tree.root();
    tree.delete(root, "v").unwrap();
    let graph = tree.graph_mut(root).unwrap();
    let unread = graph.find_node("w_1").unwrap();
    graph.erase_node(unread).unwrap();
    assert!(delete_unused_attributes(&mut tree, root).unwrap().is_empty());
    read_into(&mut tree, root, "def f(x):\n return x").unwrap();
    assert_eq!(delete_unused_attributes(&mut tree, root).unwrap(), ["w"]);
}

/// Dtype, sizes and bytes of what a call becomes; None when it stays.
fn lifted(call: &str) -> Option<(Dtype, Vec<i64>, Vec<u8>)> {
    let mut tree = net(&format!("def f(x):\n c = {call}\n return torch.mul(x, c)"));
    let root = tree.root();
    let before = body(&tree);
    let nodes = lift_constants(&mut tree, root, LiftOptions { max_bytes: 1024 }).unwrap();
    let Some(&node) = nodes.first() else {
        assert_eq!(body(&tree), before);
        return None;
    };
    assert_eq!(body(&tree), "c = self._tensor_constant0\nmul = torch.mul(x, c)\nreturn mul");
    assert_eq!(tree.graph(root).unwrap().name(node), "c");
    match tree.attribute(root, "_tensor_constant0").unwrap() {
        Attribute::Tensor(TensorKind::Constant, tensor) => {
            Some((tensor.dtype(), tensor.sizes().unwrap().to_vec(), tensor.data().unwrap().to_vec()))
        }
        other => panic!("{other:?}"),
    }
}

fn bytes<const N: usize, const M: usize>(elements: [[u8; N]; M]) -> Vec<u8> {
    elements.concat()
}

#[test]
fn constants_are_as_torch_makes_them() {
    let singles = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let longs = |values: &[i64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    use Dtype::*;
    for (call, dtype, sizes, elements) in [
        ("torch.tensor(3)", Int64, &[][..], longs(&[3])),
        ("torch.tensor(True)", Bool, &[], vec![1]),
        ("torch.tensor(0.1)", Float32, &[], singles(&[0.1])),
        ("torch.tensor(-0.0)", Float32, &[], singles(&[-0.0])),
        ("torch.tensor([1, 2])", Int64, &[2], longs(&[1, 2])),
        ("torch.tensor([[1, 2.5], (True, 0)])", Float32, &[2, 2], singles(&[1.0, 2.5, 1.0, 0.0])),
        ("torch.tensor([True, 2])", Int64, &[2], longs(&[1, 2])),
        ("torch.tensor([])", Float32, &[0], vec![]),
        ("torch.tensor([[], []])", Float32, &[2, 0], vec![]),
        ("torch.tensor(data=[1], dtype=torch.int32)", Int32, &[1], bytes([1i32.to_le_bytes()])),
        ("torch.tensor([-1, 127], dtype=torch.int8)", Int8, &[2], vec![255, 127]),
        ("torch.tensor([0.1], dtype=torch.float64)", Float64, &[1], bytes([0.1f64.to_le_bytes()])),
        // Halfway: to the even one. 1 + 2^-8 and 1 + 3 * 2^-8.
        ("torch.tensor([1.00390625, 1.01171875], dtype=torch.bfloat16)", Bfloat16, &[2], vec![0x80, 0x3f, 0x82, 0x3f]),
        ("torch.tensor(1, device='cpu', requires_grad=False, pin_memory=False)", Int64, &[], longs(&[1])),
        ("torch.scalar_tensor(2)", Float32, &[], singles(&[2.0])),
        ("torch.zeros(2, 1)", Float32, &[2, 1], singles(&[0.0, 0.0])),
        ("torch.zeros((2,), dtype=torch.int64)", Int64, &[2], longs(&[0, 0])),
        ("torch.ones(size=[2])", Float32, &[2], singles(&[1.0, 1.0])),
        ("torch.ops.aten.ones.default([1], dtype=torch.bool)", Bool, &[1], vec![1]),
        ("torch.full((2,), 7)", Int64, &[2], longs(&[7, 7])),
        ("torch.full((), 1.5)", Float32, &[], singles(&[1.5])),
        ("torch.full([1], fill_value=True)", Bool, &[1], vec![1]),
        ("torch.ops.aten.full.default([1], 2, dtype=torch.float32)", Float32, &[1], singles(&[2.0])),
        ("torch.arange(3)", Int64, &[3], longs(&[0, 1, 2])),
        ("torch.arange(0)", Int64, &[0], vec![]),
        ("torch.arange(5, 0, -2)", Int64, &[3], longs(&[5, 3, 1])),
        ("torch.arange(1, 6, 2)", Int64, &[3], longs(&[1, 3, 5])),
        ("torch.arange(start=1, end=6, step=3)", Int64, &[2], longs(&[1, 4])),
        ("torch.ops.aten.arange.start(1, 3)", Int64, &[2], longs(&[1, 2])),
        ("torch.eye(2, 3)", Float32, &[2, 3], singles(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0])),
    ] {
        assert_eq!(lifted(call), Some((dtype, sizes.to_vec(), elements)), "{call}");
    }
}

#[test]
fn what_is_not_known_to_the_bit_stays_a_call() {
    for call in [
        "torch.tensor([1, [2]])",
        "torch.tensor([[1], [2, 3]])",
        "torch.tensor([[], [1]])",
        "torch.tensor('a')",
        "torch.tensor(None)",
        "torch.tensor(1j)",
        "torch.tensor(1.5, dtype=torch.int64)",
        "torch.tensor(1.0, dtype=torch.float16)",
        "torch.tensor(300, dtype=torch.uint8)",
        "torch.tensor(1e39)",
        "torch.tensor(1e300, dtype=torch.bfloat16)",
        "torch.tensor(1, device='cuda:0')",
        "torch.tensor(1.0, requires_grad=True)",
        "torch.tensor(1, pin_memory=True)",
        "torch.tensor(1, 2)",
        "torch.tensor()",
        "torch.tensor(data=1, other=2)",
        "torch.zeros(2, out=x)",
        "torch.zeros(-1)",
        "torch.zeros()",
        "torch.zeros(257)",
        "torch.zeros(9223372036854775807, 9223372036854775807)",
        "torch.arange(0, 3, 0)",
        "torch.arange(0, 3, -1)",
        "torch.arange(3.0)",
        "torch.arange(3, dtype=torch.float32)",
        "torch.empty(2)",
        "torch.rand(2)",
        "torch.mine(2)",
        "mine.tensor(2)",
    ] {
        assert_eq!(lifted(call), None, "{call}");
    }
    assert!(lifted("torch.zeros(256)").is_some());
}

#[test]
fn what_may_change_or_leaves_the_graph_stays_a_call() {
    for (rest, stays) in [
        ("b = c.add_(1)\n return torch.add(x, b)", true),
        ("v = c.view(-1)\n b = v.add_(1)\n return torch.add(x, b)", true),
        ("b = operator.setitem(c, 0, x)\n return torch.add(x, c)", true),
        ("return c", true),
        ("return [c.view(-1)]", true),
        ("return [self.relu(c)]", true),
        ("s = torch.set_default_dtype(torch.float64)\n return torch.add(x, c)", true),
        ("b = x.add_(c)\n return torch.add(x, 1)", true),
        ("b = torch.add(x, c)\n d = b.add_(1)\n return d", false),
        ("b = torch.add(x, c)\n return b", false),
    ] {
        let mut tree = net(&format!("def f(x):\n c = torch.tensor(2.0)\n {rest}"));
        let root = tree.root();
        let count = lift_constants(&mut tree, root, LiftOptions::default()).unwrap().len();
        assert_eq!(count == 0, stays, "{rest}");
        lint_all(&tree, root).unwrap();
    }
}

#[test]
fn constants_get_the_next_free_names_and_keep_their_meta() {
    let mut tree = net("def f(x):\n a = torch.tensor(1)\n b = torch.tensor(2)\n return torch.where(x, a, b)");
    let root = tree.root();
    tree.set_attribute(root, "_tensor_constant1", tensor(9)).unwrap();
    let graph = tree.graph_mut(root).unwrap();
    let [a, b] = ["a", "b"].map(|name| graph.find_node(name).unwrap());
    graph.set_meta(b, "k", Argument::Int(5)).unwrap();
    // Somebody knows better: the default dtype was another.
    let told = fxir::ir::Value::Tensor(TensorMeta::new(Dtype::Int32, [0i64; 0]));
    graph.set_value(a, Some(Arc::new(told))).unwrap();
    assert_eq!(lift_constants(&mut tree, root, LiftOptions::default()).unwrap(), [b]);
    let graph = tree.graph_mut(root).unwrap();
    graph.set_value(a, None).unwrap();
    assert_eq!(lift_constants(&mut tree, root, LiftOptions::default()).unwrap(), [a]);
    let expected = "a = self._tensor_constant2\nb = self._tensor_constant0\nwhere = torch.where(x, a, b)\nreturn where";
    assert_eq!(body(&tree), expected);
    let graph = tree.graph(root).unwrap();
    let key = graph.symbols().find("k").unwrap();
    assert!(matches!(graph[b].meta().entries[&key], Argument::Int(5)));
}

/// Order and ids of what is left are as they were.
fn is_in_order(before: &[NodeId], tree: &ModuleTree, gone: &BTreeSet<NodeId>) -> bool {
    let left = before.iter().copied().filter(|node| !gone.contains(node));
    tree.graph(tree.root()).unwrap().nodes().eq(left)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_modules_return_the_same(random in modules(40)) {
        let mut tree = random.tree;
        let root = tree.root();
        let before: Vec<NodeId> = tree.graph(root).unwrap().nodes().collect();
        let (returned, done) = meaning(&tree);
        let mut gone = BTreeSet::new();
        type Pass = fn(&mut ModuleTree, ModuleId) -> Result<Vec<(NodeId, NodeId)>>;
        let cse: Pass = |tree, module| eliminate_common_subexpressions(tree, module, CseOptions::default());
        for pass in [deduplicate_get_attr, cse] {
            let pairs = pass(&mut tree, root).unwrap();
            lint_all(&tree, root).unwrap();
            let graph = tree.graph(root).unwrap();
            for (node, kept) in &pairs {
                prop_assert!(gone.insert(*node) && graph.contains(*kept) && !graph.contains(*node));
            }
            prop_assert!(is_in_order(&before, &tree, &gone));
            prop_assert_eq!(pass(&mut tree, root).unwrap(), []);
            let (again, left) = meaning(&tree);
            prop_assert_eq!(&again, &returned);
            // What is done is done once at least, and nothing new.
            let set = |all: &[u64]| all.iter().copied().collect::<BTreeSet<u64>>();
            prop_assert_eq!(set(&left), set(&done));
        }
        // A naive look: nothing that may write was taken away, and no twin is left where nothing writes.
        let graph = tree.graph(root).unwrap();
        let writes = |node: &NodeId| graph[*node].op() == Op::CallMethod && graph.target(*node) == "mul_";
        if !graph.nodes().any(|node| writes(&node)) {
            let all: Vec<NodeId> = graph.nodes().collect();
            for (at, &a) in all.iter().enumerate() {
                for &b in &all[at + 1..] {
                    let same = graph[a].op() == graph[b].op()
                        && graph[a].op() != Op::Placeholder
                        && graph.target(a) == graph.target(b)
                        && format!("{:?}{:?}", graph[a].args(), graph[a].kwargs())
                            == format!("{:?}{:?}", graph[b].args(), graph[b].kwargs());
                    prop_assert!(!same, "{} and {}", graph.name(a), graph.name(b));
                }
            }
        }
    }
}

#[test]
fn a_long_chain_takes_no_time() {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    let graph = tree.graph_mut(root).unwrap();
    let x = graph.placeholder("x").unwrap();
    let mut all = vec![Argument::Node(x)];
    let (mut a, mut b) = (x, x);
    for _ in 0..50_000 {
        a = graph.call_function("torch.sin", [Argument::Node(a)].as_slice(), Kwargs::new()).unwrap();
        b = graph.call_function("torch.sin", [Argument::Node(b)].as_slice(), Kwargs::new()).unwrap();
        all.push(Argument::Node(b));
    }
    graph.output(Argument::List(all.into_iter().collect())).unwrap();
    let start = std::time::Instant::now();
    assert_eq!(eliminate_common_subexpressions(&mut tree, root, CseOptions::default()).unwrap().len(), 50_000);
    assert!(start.elapsed().as_secs() < 5);
    lint_all(&tree, root).unwrap();
}
