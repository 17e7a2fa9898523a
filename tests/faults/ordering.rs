//! Faults of order.

use super::fx_line::{names, net, net_with, nodes, rewrite, shown, Is};
use fxir::ir::lint::lint_all;
use fxir::ir::{Argument, At, ErrorKind, Kwargs, ModuleTree, NodeId, Op};
use fxir::passes::fuse::{fuse_as_graphmodule, FuseOptions, InputOrder};
use fxir::passes::insert::{insert_subgm, TakenName};
use fxir::passes::legalize::legalize;
use fxir::passes::lift::lift_subgraph_as_module;

/// Puts nodes into a submodule `fused`.
fn fuse(tree: &mut ModuleTree, nodes: &[NodeId], options: &FuseOptions) {
    let root = tree.root();
    fuse_as_graphmodule(tree, root, nodes, "fused", options).unwrap();
    assert_eq!(lint_all(tree, root), Ok(()));
}

/// The submodule `fused` as a tree of its own.
fn fused(tree: &ModuleTree) -> ModuleTree {
    tree.clone_subtree(tree.submodule(tree.root(), "fused").unwrap()).unwrap()
}

/// https://github.com/pytorch/pytorch/pull/67068
#[test]
fn fault_034_moving_a_node_to_where_it_is_does_nothing() {
    for text in [
        "x: a = x.relu(); b = a.neg(); return b",
        "x, y: a = torch.add(x, y); b = torch.mul(a, a); c = b.sum(); return (a, c)",
        "a, b: return a @ b",
    ] {
        let mut tree = net(text);
        let root = tree.root();
        let [a, b] = nodes(&tree, ["a", "b"]);
        let before = names(&tree);
        let graph = tree.graph_mut(root).unwrap();
        graph.move_after(b, a).unwrap();
        graph.move_before(a, b).unwrap();
        graph.move_after(a, a).unwrap();
        graph.move_before(b, b).unwrap();
        assert_eq!((graph.next(a), graph.prev(b)), (Some(b), Some(a)));
        assert_eq!(names(&tree), before);
        // And backwards and forwards.
        let graph = tree.graph_mut(root).unwrap();
        graph.move_before(b, a).unwrap();
        graph.move_after(b, a).unwrap();
        assert_eq!((names(&tree), graph_len(&tree)), (before.clone(), before.split(' ').count()));
    }
}

fn graph_len(tree: &ModuleTree) -> usize {
    tree.graph(tree.root()).unwrap().len()
}

/// https://github.com/pytorch/pytorch/pull/82874
#[test]
fn fault_035_a_cycle_is_an_error_that_names_its_nodes() {
    for (text, from, to, on_it, behind) in [
        ("x: a = x.relu(); b = a.neg(); c = b.exp(); return c", "a", "b", &["a", "b"][..], &["c", "output"][..]),
        (
            "x, y: a = torch.cat([x, y]); b = a + 1; c = torch.sum(b, dim=a); d = c.abs(); return [d]",
            "a",
            "c",
            &["a", "c"],
            &["d", "output"],
        ),
        ("x: a = x.sin(); b = x.cos(); return a, b", "a", "a", &["a"], &["b"]),
    ] {
        let mut tree = net(text);
        let root = tree.root();
        let [from, to] = nodes(&tree, [from, to]);
        let before = names(&tree);
        let graph = tree.graph_mut(root).unwrap();
        graph.set_kwarg(from, "more", Argument::List([Argument::Node(to)].into())).unwrap();
        let error = legalize(graph).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Lint);
        let cycle = error.message.rsplit(": ").next().unwrap();
        let named: Vec<&str> = cycle.split(" -> ").collect();
        assert!(on_it.iter().all(|name| named.contains(name)), "{error}");
        assert!(behind.iter().all(|name| !named.contains(name)), "{error}");
        assert_eq!(names(&tree), before);
    }
    // In time that grows with nodes and edges: a long chain that is closed at its ends.
    let mut tree = net(&format!(
        "x: {}; return x100000",
        (0..100_000).map(|i| format!("x{} = torch.neg(x)", i + 1)).collect::<Vec<_>>().join("; ")
    ));
    let root = tree.root();
    let graph = tree.graph_mut(root).unwrap();
    let chain: Vec<NodeId> = graph.nodes_of(Op::CallFunction).collect();
    for pair in chain.windows(2) {
        graph.set_arg(pair[1], 0, Argument::Node(pair[0])).unwrap();
    }
    graph.set_arg(chain[0], 0, Argument::Node(chain[chain.len() - 1])).unwrap();
    assert!(legalize(graph).unwrap_err().message.contains("a cycle of 100000 nodes"));
}

/// https://github.com/pytorch/pytorch/pull/167397
#[test]
fn fault_036_what_a_pass_need_not_move_keeps_its_place() {
    let options = FuseOptions::default();
    for (text, [first, last], expected) in [
        (
            "x: a = x.sin(); b = a.cos(); c = x.tan(); return b, c",
            ["a", "a"],
            "x: fused = self.fused(x); b = fused.cos(); c = x.tan(); return (b, c)",
        ),
        (
            "x, y: p = torch.neg(y); a = torch.mul(x, y); q = torch.exp(p); b = torch.add(a, 1); \
             r = torch.abs(q); return [b, r]",
            ["a", "b"],
            "x, y: p = torch.neg(y); q = torch.exp(p); fused = self.fused(x, y); r = torch.abs(q); \
             return [fused, r]",
        ),
        (
            "x: w = self.w; c = x.ceil(); a = x @ w; d = c.floor(); b = a + c; e = d.round(); \
             return {'b': (b, e)}",
            ["a", "b"],
            "x: w = self.w; c = x.ceil(); d = c.floor(); fused = self.fused(x, w, c); e = d.round(); \
             return {'b': (fused, e)}",
        ),
    ] {
        let mut tree = net(text);
        let region = nodes(&tree, [first, last]);
        fuse(&mut tree, &region, &options);
        assert_eq!(shown(&tree), expected);
        // In order, nothing moves.
        let root = tree.root();
        legalize(tree.graph_mut(root).unwrap()).unwrap();
        assert_eq!(shown(&tree), expected);
    }
}

/// https://github.com/pytorch/executorch/pull/20656
#[test]
fn fault_037_late_placeholders_come_to_the_front_in_their_order() {
    for (text, expected) in [
        ("x: a = x.relu(); b = a.neg(); return b", "x late later a b output"),
        ("x, y: a = torch.add(x, y); b = a @ y; c = b.t(); return [c, a]", "x y late later a b c output"),
        (": a = torch.ones(2); b = torch.zeros([2, 2]); return (a, b)", "late later a b output"),
    ] {
        let late = |how: At| {
            let mut tree = net(text);
            let root = tree.root();
            let [a] = nodes(&tree, ["a"]);
            let graph = tree.graph_mut(root).unwrap();
            let mut make =
                |at, name| graph.create_node(at, Op::Placeholder, name, Default::default(), Kwargs::new(), None);
            match how {
                At::Default => {
                    make(how, "late").unwrap();
                    make(how, "later").unwrap();
                }
                _ => {
                    let first = make(At::After(a), "late").unwrap();
                    make(At::After(first), "later").unwrap();
                }
            }
            tree
        };
        let [mut hoisted, mut fusing] = [(); 2].map(|()| late(At::After(nodes(&net(text), ["a"])[0])));
        let root = hoisted.root();
        // Where none is asked for a place, it is in front at once.
        assert_eq!(names(&late(At::Default)), expected);
        legalize(hoisted.graph_mut(root).unwrap()).unwrap();
        assert_eq!(names(&hoisted), expected);
        assert_eq!(lint_all(&hoisted, root), Ok(()));
        // And passes that need order see to it.
        let [a] = nodes(&fusing, ["a"]);
        fuse(&mut fusing, &[a], &FuseOptions::default());
        assert_eq!(names(&fusing), expected.replace(" a ", " fused "));
    }
}

/// https://github.com/pytorch/pytorch/pull/179519 is of `split_module`; the same of what else takes
/// nodes into another graph.
#[test]
fn fault_038_placeholders_stay_before_what_is_read() {
    for (text, region, inner, outer) in [
        (
            "x, y: w = self.w; a = torch.add(x, w); b = self.v; c = torch.mul(a, y) - b; return c",
            &["w", "a", "b", "mul", "c"][..],
            "x, y: w = self.w; a = torch.add(x, w); b = self.v; mul = torch.mul(a, y); c = mul - b; \
             return c",
            "x, y: fused = self.fused(x, y); return fused",
        ),
        (
            "x: a = x.relu(); w = self.w; b = torch.mm(a, w); v = self.v; c = torch.cat([b, v, x]); \
             return (c, a)",
            &["w", "b", "v", "c"],
            "a, x: w = self.w; b = torch.mm(a, w); v = self.v; c = torch.cat([b, v, x]); return c",
            "x: a = x.relu(); fused = self.fused(a, x); return (fused, a)",
        ),
        (
            "x: w = self.w; v = self.v; a = torch.outer(w, v); return a + x",
            &["w", "v", "a"],
            ": w = self.w; v = self.v; a = torch.outer(w, v); return a",
            "x: fused = self.fused(); add = fused + x; return add",
        ),
    ] {
        let mut tree = net_with(&[("w", Is::Tensor(1)), ("v", Is::Tensor(2))], text);
        let graph = tree.graph(tree.root()).unwrap();
        let region: Vec<NodeId> = region.iter().map(|name| graph.find_node(name).unwrap()).collect();
        fuse(&mut tree, &region, &FuseOptions::default());
        assert_eq!((shown(&fused(&tree)).as_str(), shown(&tree).as_str()), (inner, outer));
    }
    // A replacement that begins with a read, and a submodule without inputs in the place of one.
    let mut tree = net("x, y: return torch.neg(x) + y");
    rewrite(&mut tree, &net("x: return torch.neg(x)"), &net("x: w = self.w; return w - x"));
    assert_eq!(shown(&tree), "x, y: w = self.w; sub = w - x; add = sub + y; return add");
    let root = tree.root();
    let [x] = nodes(&tree, ["x"]);
    let mut sub = ModuleTree::with_symbols(tree.symbols().clone(), "Sub");
    let top = sub.root();
    fxir::formats::python::read::read_into(&mut sub, top, "def forward(self): return torch.ones(2)\n").unwrap();
    insert_subgm(&mut tree, root, sub.into_fragment(), "sub", &[], &[x], TakenName::Number).unwrap();
    assert_eq!(shown(&tree), "x, y: sub_1 = self.sub(); w = self.w; sub = w - sub_1; add = sub + y; return add");
    assert_eq!(lint_all(&tree, root), Ok(()));
    let lifted = lift_subgraph_as_module(&tree, root, tree.graph(root).unwrap(), "Lifted").unwrap();
    assert_eq!(shown(&lifted), shown(&tree));
}

/// https://github.com/pytorch/pytorch/pull/157892
/// https://github.com/pytorch/pytorch/pull/115621
#[test]
fn fault_040_nodes_of_a_region_are_in_the_graphs_order_however_they_are_named() {
    for (text, region) in [
        ("x, y: a = x.sin(); b = y.cos(); c = a + b; d = c.neg(); return d, b", ["a", "b", "c", "d"]),
        (
            "x: a = x.relu(); s = torch.split(a, 2); b = s[0]; c = s[1]; d = torch.cat([c, b]); return d, s",
            ["s", "b", "c", "d"],
        ),
        (
            "x, y, z: a = z * y; b = a.t(); c = b @ x; d = torch.stack([c, a], dim=y); return [d, c]",
            ["a", "b", "c", "d"],
        ),
    ] {
        let mut seen = Vec::new();
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]] {
            for inputs in [InputOrder::FirstUse, InputOrder::Graph] {
                let mut tree = net(text);
                let named = nodes(&tree, region);
                fuse(&mut tree, &order.map(|index| named[index]), &FuseOptions { inputs, ..FuseOptions::default() });
                let inner = names(&fused(&tree));
                let body: Vec<&str> = inner.split(' ').filter(|name| region.contains(name)).collect();
                assert_eq!(body, region, "{text}");
                seen.push((inputs == InputOrder::Graph, shown(&tree), inner));
            }
        }
        seen.sort();
        seen.dedup();
        assert!(seen.len() == 2, "{seen:?}");
    }
}
