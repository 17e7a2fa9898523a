//! Faults of dead code, of members, and of edits of a graph.

use super::fx_line::{alive, literal, names, net, net_with, nodes, shown, users, Is};
use fxir::ir::lint::lint_all;
use fxir::ir::{Args, Argument, ErrorKind, Kwargs, ModuleTree, Op};
use fxir::passes::dead_code::eliminate_dead_code;
use fxir::passes::deduplicate_get_attr::deduplicate_get_attr;
use fxir::passes::purity::{Purity, PurityOptions};
use fxir::passes::unused_attributes::delete_unused_attributes;

/// https://github.com/pytorch/pytorch/issues/68301
#[test]
fn fault_025_what_works_in_place_stays() {
    let unchanged = [
        "x, a: mul_ = x.mul_(a); return x",
        "x, y: iadd = _operator.iadd(x, y); return x",
        "x: relu = torch.nn.functional.relu(x, inplace = True); return x",
        "x, i: setitem = _operator.setitem(x, i, 0); relu_ = torch.relu_(x); return x",
        "x, y: copy_ = torch.ops.aten.copy_.default(x, y); return x",
    ];
    for text in unchanged {
        assert_eq!(alive(net(text)), shown(&net(text)));
    }
    // By a module, if it says so.
    let act = |settings| {
        net_with(&[("act", Is::Leaf("torch.nn.modules.activation.ReLU", settings))], "x: act = self.act(x); return x")
    };
    assert_eq!(alive(act(&["inplace"])), "x: act = self.act(x); return x");
    assert_eq!(alive(act(&[])), "x: return x");
    // What only looks like it goes.
    assert_eq!(
        alive(net("x, y: a = _operator.and_(x, y); b = x.mul(y); c = _operator.invert(x); return x")),
        "x, y: return x"
    );
}

/// https://github.com/pytorch/pytorch/pull/190716
#[test]
fn fault_026_what_writes_to_out_stays_and_callers_may_decide() {
    for text in [
        "x: b = torch.empty(2); mul = torch.mul(x, x, out = b); return b",
        "x, y: b = torch.zeros([2, 3]); add = torch.add(x, y, out = b); return b",
        "x: b = torch.empty(2); c = torch.empty(2); \
             topk = torch.ops.aten.topk.values(x, 3, values = b, indices = c); return (b, c)",
        "x, b: mine = torch.ops.mine.scale.out(x, out = b); return b",
    ] {
        assert_eq!(alive(net(text)), text);
    }
    // The caller knows functions that nobody else knows, and what does no harm.
    for (text, keep, expected) in [
        (
            "x: a = torch.ops.mine.log.default(x); b = torch.neg(x); return x",
            "torch.ops.mine.log.default",
            "x: a = torch.ops.mine.log.default(x); return x",
        ),
        ("x: a = x.mul_(2); b = x.register(); return x", "register", "x: b = x.register(); return x"),
        (
            "x: a = torch.rand(2); b = torch._assert(x, 'x'); c = self.hook(a); return x",
            "hook",
            "x: a = torch.rand(2); c = self.hook(a); return x",
        ),
    ] {
        let mut tree = net(text);
        let root = tree.root();
        let mut judge = |tree: &ModuleTree, module, node| Ok(tree.graph(module)?.target(node) == keep);
        eliminate_dead_code(&mut tree, root, Some(&mut judge)).unwrap();
        assert_eq!(shown(&tree), expected);
    }
    // Random numbers alone.
    for text in [
        "x: a = torch.rand(2); return x",
        "x: a = torch.nn.functional.dropout(x); return x",
        "x: a = torch.ops.aten.bernoulli.default(x); return x",
    ] {
        assert_eq!(alive(net(text)), shown(&net(text)));
        let mut tree = net(text);
        let root = tree.root();
        let options = PurityOptions { random_is_impure: false };
        let mut judge = |tree: &ModuleTree, module, node| Purity::new(tree, options).is_impure(module, node);
        eliminate_dead_code(&mut tree, root, Some(&mut judge)).unwrap();
        assert_eq!(shown(&tree), "x: return x", "{text}");
    }
}

/// https://github.com/pytorch/pytorch/pull/167443
#[test]
fn fault_027_a_graph_module_is_as_impure_as_what_it_holds() {
    let text = "x: inner = self.inner(x); return x";
    for (inside, stays) in [
        ("y: a = y.add_(1); return y", true),
        ("y: _assert = torch._assert(y, 'message'); return y", true),
        ("y: b = torch.sigmoid(y, out=y); return b", true),
        ("y: return torch.rand_like(y)", true),
        ("y: a = self.deep(y); return y", false),
        ("y: return y.add(1)", false),
    ] {
        // `deep` is a leaf of which nothing is known.
        let tree = net_with(&[("inner", Is::Graph(inside))], text);
        assert_eq!(alive(tree), if stays { text } else { "x: return x" }, "{inside}");
    }
    for (deepest, stays) in [("y: a = y.zero_(); return y", true), ("y: return y.neg()", false)] {
        let members = [("inner", Is::Graph("z: return self.deep(z)")), ("inner.deep", Is::Graph(deepest))];
        assert_eq!(alive(net_with(&members, text)), if stays { text } else { "x: return x" }, "{deepest}");
    }
}

/// https://github.com/pytorch/pytorch/issues/67662
#[test]
fn fault_028_a_call_of_a_module_that_is_not_there_stays() {
    for (text, gone, expected) in [
        ("x: act = self.act(x); neg = x.neg(); return x", "act", "x: act = self.act(x); return x"),
        (
            "x: deep_layer_0 = self.deep.layer.conv(x); return x",
            "deep",
            "x: deep_layer_0 = self.deep.layer.conv(x); return x",
        ),
        // Reading one has no effect.
        (
            "x: w = self.w; b = torch.mm(x, w); act = self.act(b); return x",
            "act",
            "x: w = self.w; b = torch.mm(x, w); act = self.act(b); return x",
        ),
        ("x: w = self.w; b = torch.mm(x, w); return x", "w", "x: return x"),
    ] {
        let mut tree = net(text);
        let root = tree.root();
        tree.delete(root, gone).unwrap();
        eliminate_dead_code(&mut tree, root, None).unwrap();
        assert_eq!(shown(&tree), expected);
    }
}

/// https://github.com/pytorch/pytorch/pull/66430
#[test]
fn fault_029_what_lies_below_a_called_module_is_used() {
    let leaf = || Is::Leaf("torch.nn.Module", &[]);
    for (members, text, stay) in [
        (
            ["block", "block.conv", "block.conv.norm", "other"],
            "x: return self.block(x)",
            "block block.conv block.conv.norm",
        ),
        (["a.b", "a.b.c", "a.d", "e"], "x: return self.a.b(x)", "a a.b a.b.c"),
        (
            ["experts", "experts.0", "experts.1", "gate"],
            "x: g = self.gate(x); return self.experts(g, {'k': [x]})",
            "experts experts.0 experts.1 gate",
        ),
    ] {
        let members: Vec<_> = members.into_iter().map(|path| (path, leaf())).collect();
        let mut tree = net_with(&members, text);
        let root = tree.root();
        tree.delete_all_unused_submodules(root).unwrap();
        let mut left: Vec<String> = tree.modules_below(root).skip(1).map(|it| tree.path(it, root).unwrap()).collect();
        left.sort();
        assert_eq!(left.join(" "), stay);
        assert_eq!(lint_all(&tree, root), Ok(()));
    }
}

/// https://github.com/pytorch/ao/issues/4420
#[test]
fn fault_030_a_member_goes_with_the_last_live_node_that_names_it() {
    let members = || {
        [
            ("w", Is::Tensor(1)),
            ("block", Is::Graph("y: return y.add(self.scale)")),
            ("block.scale", Is::Tensor(2)),
            ("act", Is::Leaf("torch.nn.modules.activation.GELU", &[])),
            ("act.bias", Is::Tensor(3)),
        ]
    };
    let is_there = |tree: &ModuleTree, path: &str| tree.resolve(tree.root(), path).is_some();
    // Graph, the member, and whether it stays: two nodes name it, of which none, one or both are dead.
    for (text, member, alive_text, stays) in [
        (
            "x: w = self.w; w_1 = self.w; return torch.add(x, w)",
            "w",
            "x: w = self.w; add = torch.add(x, w); return add",
            true,
        ),
        (
            "x: w = self.w; w_1 = self.w; return torch.add(x, w_1)",
            "w",
            "x: w_1 = self.w; add = torch.add(x, w_1); return add",
            true,
        ),
        ("x: w = self.w; w_1 = self.w; return torch.neg(x)", "w", "x: neg = torch.neg(x); return neg", false),
        // Dead with all that uses it.
        (
            "x: w = self.w; d = torch.mm(x, w); w_1 = self.w; e = [w_1].f(d); return {'k': (x, [w])}",
            "w",
            "x: w = self.w; return {'k': (x, [w])}",
            true,
        ),
        (
            "x: w = self.w; d = torch.mm(x, w); w_1 = self.w; e = torch.cat([w_1, d]); return x",
            "w",
            "x: return x",
            false,
        ),
        // What a write needs stays.
        ("x: w = self.w; z = w.zero_(); w_1 = self.w; return x", "w", "x: w = self.w; z = w.zero_(); return x", true),
        // Below a submodule: read from there, from here, and by nobody.
        ("x: a = self.block(x); s = self.block.scale; return a", "block.scale", "x: a = self.block(x); return a", true),
        (
            "x: a = self.block(x); s = self.block.scale; return x * s",
            "block.scale",
            "x: s = self.block.scale; mul = x * s; return mul",
            true,
        ),
        ("x: a = self.block(x); s = self.block.scale; return x", "block.scale", "x: return x", false),
        // Submodules: called twice.
        ("x: a = self.act(x); b = self.act(x); return a", "act", "x: a = self.act(x); return a", true),
        ("x: a = self.act(x); b = self.act(a); return x", "act", "x: return x", false),
        (
            "x: a = self.act(x); b = self.act.bias; return x + b",
            "act.bias",
            "x: b = self.act.bias; add = x + b; return add",
            true,
        ),
    ] {
        let mut tree = net_with(&members(), text);
        let root = tree.root();
        // Nothing is dead yet: what nodes name stays, whether anybody uses them or not.
        tree.delete_all_unused_submodules(root).unwrap();
        delete_unused_attributes(&mut tree, root).unwrap();
        assert_eq!(lint_all(&tree, root), Ok(()));
        assert!(is_there(&tree, member), "{text}");
        eliminate_dead_code(&mut tree, root, None).unwrap();
        assert_eq!(shown(&tree), alive_text);
        tree.delete_all_unused_submodules(root).unwrap();
        delete_unused_attributes(&mut tree, root).unwrap();
        assert_eq!(lint_all(&tree, root), Ok(()));
        assert_eq!(is_there(&tree, member), stays, "{text}");
    }
    // Made one first, the nodes are live or dead together.
    for (text, expected) in [
        ("x: w = self.w; w_1 = self.w; return torch.add(x, w_1)", "x: w = self.w; add = torch.add(x, w); return add"),
        ("x: w = self.w; w_1 = self.w; return [w_1, w]", "x: w = self.w; return [w, w]"),
        (
            "x: w = self.w; a = x.t(); w_1 = self.w; return a.f(w_1, k=w)",
            "x: w = self.w; a = x.t(); f = a.f(w, k = w); return f",
        ),
    ] {
        let mut tree = net_with(&members(), text);
        let root = tree.root();
        assert_eq!(deduplicate_get_attr(&mut tree, root).unwrap().len(), 1);
        delete_unused_attributes(&mut tree, root).unwrap();
        assert_eq!((shown(&tree).as_str(), is_there(&tree, "w")), (expected, true));
        assert_eq!(lint_all(&tree, root), Ok(()));
    }
}

/// https://github.com/pytorch/pytorch/issues/60934
#[test]
fn fault_031_edits_of_a_copy_leave_the_original() {
    for text in [
        "x: a = torch.relu(x); return a",
        "x: a = torch.cat([x, {'k': x}], dim=1); b = self.act(a); return (b, [a])",
        "x, y: a = x[y:, None]; w = self.w; return a.add(w, alpha=2)",
    ] {
        let tree = net_with(&[("act", Is::Leaf("Act", &["inplace"])), ("w", Is::Tensor(1))], text);
        let before = (shown(&tree), users(&tree, "x"));
        for mut copy in [tree.clone(), tree.clone_subtree(tree.root()).unwrap()] {
            let root = copy.root();
            assert_eq!((shown(&copy), users(&copy, "x")), before);
            let [x, a] = nodes(&copy, ["x", "a"]);
            let graph = copy.graph_mut(root).unwrap();
            let new = graph.call_function("torch.neg", Args::from_iter([x.into()]), Kwargs::new()).unwrap();
            graph.replace_all_uses_with(a, new, |_, _| true).unwrap();
            graph.set_target(a, "torch.exp").unwrap();
            graph.erase_node(a).unwrap();
            graph.rename(x, "renamed").unwrap();
            copy.delete(root, "act").unwrap();
            assert_ne!(shown(&copy), before.0);
            assert_eq!((shown(&tree), users(&tree, "x")), before);
            assert_eq!(lint_all(&tree, tree.root()), Ok(()));
        }
    }
}

/// https://github.com/pytorch/pytorch/pull/47720
#[test]
fn fault_032_an_erased_node_uses_nothing() {
    for text in [
        "x, y: a = torch.add(x, y); b = torch.neg(x); return b",
        "x, y: a = torch.cat([x, [x, (y,)]], dim={'k': x}); b = torch.neg(x); return b",
        "x, y: a = torch.sum(input=x, dim=x[y:x]); b = torch.neg(x); return b",
    ] {
        let mut tree = net(text);
        let root = tree.root();
        let [a, b] = nodes(&tree, ["a", "b"]);
        let graph = tree.graph_mut(root).unwrap();
        graph.erase_node(a).unwrap();
        // What stands between goes too, if there is anything.
        for node in graph.nodes().rev().collect::<Vec<_>>() {
            if graph[node].op() == Op::CallFunction && node != b {
                graph.erase_node(node).unwrap();
            }
        }
        assert_eq!([users(&tree, "x"), users(&tree, "y")], ["b", ""], "{text}");
        assert_eq!(names(&tree), "x y b output");
        // What is used stays.
        assert_eq!(tree.graph_mut(root).unwrap().erase_node(b).unwrap_err().kind, ErrorKind::InUse);
    }
}

/// https://github.com/pytorch/pytorch/pull/46325
#[test]
fn fault_033_users_follow_every_change_of_arguments() {
    let mut tree = net("x, y: a = torch.cat([x, x], dim=0); b = torch.add(a, y, alpha=x); c = a[x:]; return (b, c)");
    let root = tree.root();
    let [x, y, a, b, c] = nodes(&tree, ["x", "y", "a", "b", "c"]);
    let symbols = tree.symbols().clone();
    let graph = tree.graph_mut(root).unwrap();
    // An item of a list.
    graph.set_arg(a, 0, Argument::List([Argument::Node(y), Argument::Tuple([].into())].into())).unwrap();
    assert_eq!((users(&tree, "x"), users(&tree, "y")), ("b c".into(), "b a".into()));
    // A keyword, and one more argument.
    let graph = tree.graph_mut(root).unwrap();
    graph.set_kwarg(b, "alpha", Argument::Int(2)).unwrap();
    graph.insert_arg(b, 0, Argument::Node(x)).unwrap();
    assert_eq!(users(&tree, "x"), "c b");
    // All that a slice held.
    let graph = tree.graph_mut(root).unwrap();
    graph.set_args(c, Args::from_iter([literal("slice(None, 2, None)", &symbols), Argument::Node(b)])).unwrap();
    assert_eq!((users(&tree, "x"), users(&tree, "a"), users(&tree, "b")), ("b".into(), "b".into(), "output c".into()));
    // What is handed out is a copy: only an edit changes the node.
    let graph = tree.graph_mut(root).unwrap();
    let mut args = Args::from(graph[b].args());
    args.clear();
    graph.set_kwargs(b, Kwargs::new()).unwrap();
    assert_eq!(
        shown(&tree),
        "x, y: a = torch.cat([y, ()], dim = 0); b = torch.add(x, a, y); c = slice(None, 2, None)[b]; \
             return (b, c)"
    );
    assert_eq!(lint_all(&tree, root), Ok(()));
    // Replacing one node by another wherever it stands, in every kind of argument.
    for (text, expected) in [
        ("x, y: a = torch.cat([x, (x, {'k': x})]); return a", "x, y: a = torch.cat([y, (y, {'k': y})]); return a"),
        (
            "x, y: a = y.f(x, k=x[x:, x]); return [a, x]",
            "x, y: getitem = y[(slice(y, None, None), y)]; a = y.f(y, k = getitem); return [a, y]",
        ),
        (
            "x, y: a = torch.where(x > 0, x, other={'x': [x]}); return x",
            "x, y: gt = y > 0; a = torch.where(gt, y, other = {'x': [y]}); return y",
        ),
    ] {
        let mut tree = net(text);
        let root = tree.root();
        let [x, y] = nodes(&tree, ["x", "y"]);
        let count = tree.graph(root).unwrap().user_count(x);
        let graph = tree.graph_mut(root).unwrap();
        assert_eq!(graph.replace_all_uses_with(x, y, |_, _| true).unwrap().len(), count);
        assert_eq!((shown(&tree).as_str(), users(&tree, "x").as_str()), (expected, ""));
        assert_eq!(lint_all(&tree, root), Ok(()));
    }
}
