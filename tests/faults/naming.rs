//! Faults of names.

use super::fx_line::{first_byte, names, net, net_with, nodes, shown, Is};
use fxir::formats::python::print::code;
use fxir::formats::python::read::read_code;
use fxir::ir::lint::lint_all;
use fxir::ir::{Argument, At, CopyNames, Graph, ModuleTree, Symbols};
use fxir::passes::fuse::{fuse_as_graphmodule, FuseOptions};
use fxir::passes::inline::inline_submodule;
use fxir::passes::lift::lift_subgraph_as_module;
use fxir::passes::subgraph_matcher::Pattern;
use fxir::passes::subgraph_rewriter::{MemberConflict, Rewrite, Rule};

/// https://github.com/pytorch/pytorch/issues/188538
#[test]
fn fault_041_members_of_any_name_are_called_by_it() {
    let leaf = || Is::Leaf("torch.nn.Module", &[]);
    for (path, called) in [
        ("class", "getattr(self, \"class\")"),
        ("q\"k", "getattr(self, 'q\"k')"),
        ("block.0.lambda", "getattr(getattr(self.block, \"0\"), \"lambda\")"),
        ("a b", "getattr(self, \"a b\")"),
    ] {
        let mut tree = net_with(&[(path, leaf()), ("w", Is::Tensor(1))], "x: y = self.w; return (x, y)");
        let root = tree.root();
        let [x, y] = nodes(&tree, ["x", "y"]);
        let graph = tree.graph_mut(root).unwrap();
        let called_node = graph.call_module(path, [Argument::Node(x)].as_slice(), Default::default()).unwrap();
        graph.rename(called_node, "called").unwrap();
        let output = graph.output_node().unwrap();
        graph
            .set_args(output, [Argument::Tuple([called_node, y].map(Argument::Node).into())].into_iter().collect())
            .unwrap();
        assert_eq!(shown(&tree), format!("x: y = self.w; called = {called}(x); return (called, y)"));
        let again = read_code(&code(&tree, root).unwrap()).unwrap();
        assert_eq!(shown(&again), shown(&tree));
        assert_eq!(again.graph(again.root()).unwrap().target(nodes(&again, ["called"])[0]), path);
    }
}

/// https://github.com/pytorch/pytorch/pull/45311
#[test]
fn fault_044_copies_get_names_that_are_free() {
    for (text, copied, expected) in [
        ("x, y: add = x + y; add_1 = add + y; return add_1", "add_1", "x y add add_1 add_2 output"),
        ("x: relu_7 = x.relu(); relu = relu_7.relu(); return relu", "relu_7", "x relu_7 relu relu_1 output"),
        (
            "x: conv2d = self.a(x); conv2d_1 = self.a(conv2d); conv2d_2 = self.a(conv2d_1); return conv2d_2",
            "conv2d",
            "x conv2d conv2d_1 conv2d_2 conv2d_3 output",
        ),
    ] {
        let mut tree = net(text);
        let root = tree.root();
        let from = tree.graph(root).unwrap().copy_to(tree.symbols().clone()).unwrap().0;
        let source = from.find_node(copied).unwrap();
        let x = nodes(&tree, ["x"])[0];
        let graph = tree.graph_mut(root).unwrap();
        graph.node_copy(At::Default, &from, source, CopyNames::Unique, &mut |_| Ok(Argument::Node(x))).unwrap();
        assert_eq!(names(&tree), expected);
        assert_eq!(lint_all(&tree, root), Ok(()));
        // A whole graph into itself, twice.
        let graph = tree.graph_mut(root).unwrap();
        for _ in 0..2 {
            let mut map: Vec<Option<Argument>> = vec![None; from.slot_count()];
            graph.graph_copy(At::Default, &from, CopyNames::Unique, &mut map).unwrap();
        }
        assert_eq!(lint_all(&tree, root), Ok(()));
    }
}

/// https://github.com/pytorch/pytorch/pull/133269
#[test]
fn fault_045_copies_of_graphs_keep_their_names() {
    for (text, expected) in [
        ("input, x: add = torch.add(input, x); return add", "input_1 x add output"),
        ("x: relu_3 = x.relu(); relu = relu_3.relu(); b = relu.max(); return b", "x relu_3 relu b output"),
        ("id, type, *args: sum_5 = torch.sum(id, type); return (sum_5, args)", "id_1 type_1 args sum_5 output"),
    ] {
        let tree = net(text);
        let before = (names(&tree), shown(&tree));
        assert_eq!(before.0, expected);
        let (copy, _) = tree.graph(tree.root()).unwrap().copy_to(Symbols::new()).unwrap();
        let mut copies = vec![tree.clone(), tree.clone_subtree(tree.root()).unwrap()];
        copies.push(copies[1].clone_subtree(copies[1].root()).unwrap());
        copies.push(lift_subgraph_as_module(&tree, tree.root(), &copy, "Lifted").unwrap());
        let (again, _) = copy.copy_to(tree.symbols().clone()).unwrap();
        let mut set = ModuleTree::with_symbols(tree.symbols().clone(), "Net");
        let root = set.root();
        set.set_graph(root, again).unwrap();
        copies.push(set);
        for copy in &copies {
            assert_eq!((names(copy), shown(copy)), before);
        }
    }
}

/// https://github.com/pytorch/pytorch/pull/141169
#[test]
fn fault_047_what_is_inlined_brings_its_members_under_free_names() {
    let leaf = |name: &'static str| Is::Leaf(name, &[]);
    type Members<'a> = Vec<(&'a str, Is<'a>)>;
    /// Members, graph, the calls to inline, what it is then, the members that it has.
    type Case<'a> = (Members<'a>, &'a str, &'a [&'a str], &'a str, &'a [(&'a str, &'a str)]);
    let cases: [Case<'_>; 4] = [
        // The submodule of the submodule has the name of another of the parent's.
        (
            vec![
                ("submod_0", Is::Graph("a: return self.submod_1(a)")),
                ("submod_0.submod_1", leaf("Inner")),
                ("submod_1", leaf("Outer")),
            ],
            "x: s = self.submod_0(x); t = self.submod_1(s); return t",
            &["s"],
            "x: submod_1 = self.submod_1_1(x); t = self.submod_1(submod_1); return t",
            &[("submod_1", "Outer"), ("submod_1_1", "Inner")],
        ),
        // Its own name, and one that is numbered already.
        (
            vec![
                ("block", Is::Graph("a: b = self.block(a); return self.act(b)")),
                ("block.block", leaf("Inner")),
                ("block.act", leaf("InnerAct")),
                ("act", leaf("Act")),
                ("act_1", leaf("ActOne")),
            ],
            "x: s = self.block(x); t = self.act(s); return self.act_1(t)",
            &["s"],
            "x: b = self.block_1(x); act = self.act_2(b); t = self.act(act); act_1 = self.act_1(t); return act_1",
            &[("block_1", "Inner"), ("act", "Act"), ("act_1", "ActOne"), ("act_2", "InnerAct")],
        ),
        // Two submodules with members of one name, inlined one after the other.
        (
            vec![
                ("p", Is::Graph("a: return self.fc(a)")),
                ("p.fc", leaf("OfP")),
                ("q", Is::Graph("a: return self.fc(a)")),
                ("q.fc", leaf("OfQ")),
            ],
            "x: s = self.p(x); t = self.q(s); return t",
            &["s", "t"],
            "x: fc = self.fc(x); fc_1 = self.fc_1(fc); return fc_1",
            &[("fc", "OfP"), ("fc_1", "OfQ")],
        ),
        // Graph modules within, which come along whole, and then are inlined in turn.
        (
            vec![
                ("s", Is::Graph("a: return self.s(a)")),
                ("s.s", Is::Graph("a: return self.s(a)")),
                ("s.s.s", leaf("Deepest")),
            ],
            "x: s = self.s(x); return s",
            &["s", "s_1"],
            "x: s_2 = self.s(x); return s_2",
            &[("s", "Deepest")],
        ),
    ];
    for (members, text, calls, expected, kinds) in cases {
        let mut tree = net_with(&members, text);
        let root = tree.root();
        for call in calls {
            let graph = tree.graph(root).unwrap();
            let call = graph.find_node(call).unwrap_or_else(|| panic!("no {call} in {}", shown(&tree)));
            inline_submodule(&mut tree, root, call, CopyNames::Unique).unwrap();
            assert_eq!(lint_all(&tree, root), Ok(()));
        }
        assert_eq!(shown(&tree), expected);
        let found: Vec<String> = kinds
            .iter()
            .map(|(path, _)| tree.submodule(root, path).unwrap())
            .map(|id| tree.symbols().text(tree.get(id).unwrap().type_name()).to_owned())
            .collect();
        assert_eq!(found, kinds.iter().map(|(_, kind)| *kind).collect::<Vec<_>>());
        assert_eq!(tree.modules_below(root).count(), kinds.len() + 1);
    }
    // Tensors too.
    for (inner, expected, bytes) in [
        ("a: return a * self.w", "x: w = self.w; w_1 = self.w_1; mul = x * w_1; add = mul + w; return add", [1, 2]),
        (
            "a: w = self.w; return torch.mm(w, a)",
            "x: w = self.w; w_1 = self.w_1; mm = torch.mm(w_1, x); add = mm + w; return add",
            [1, 2],
        ),
        (
            "a: return [self.w, a][0]",
            "x: w = self.w; w_1 = self.w_1; getitem = [w_1, x][0]; add = getitem + w; return add",
            [1, 2],
        ),
    ] {
        let members = [("w", Is::Tensor(1)), ("sub", Is::Graph(inner)), ("sub.w", Is::Tensor(2))];
        let mut tree = net_with(&members, "x: w = self.w; s = self.sub(x); return s + w");
        let (root, [call]) = (tree.root(), nodes(&tree, ["s"]));
        inline_submodule(&mut tree, root, call, CopyNames::Unique).unwrap();
        assert_eq!(shown(&tree), expected);
        assert_eq!([first_byte(&tree, "w"), first_byte(&tree, "w_1")], bytes);
    }
}

/// https://github.com/pytorch/pytorch/pull/151123
#[test]
fn fault_048_two_members_of_one_name_are_both_kept() {
    // The replacement brings another tensor of the name.
    for (text, replacement, expected) in [
        (
            "x: c = self._tensor_constant0; a = x + c; return torch.neg(a)",
            "x: return x * self._tensor_constant0",
            "x: c = self._tensor_constant0; a = x + c; _tensor_constant0 = self._tensor_constant0_1; \
             mul = a * _tensor_constant0; return mul",
        ),
        (
            "x: c = self._tensor_constant0; return [torch.neg(x), c]",
            "x: return torch.cat([x, self._tensor_constant0])",
            "x: c = self._tensor_constant0; _tensor_constant0 = self._tensor_constant0_1; \
             cat = torch.cat([x, _tensor_constant0]); return [cat, c]",
        ),
        (
            "x: c = torch.neg(x); d = torch.neg(c); return d @ self._tensor_constant0",
            "x: return x - self._tensor_constant0",
            "x: _tensor_constant0_1 = self._tensor_constant0_1; sub = x - _tensor_constant0_1; \
             _tensor_constant0 = self._tensor_constant0; _tensor_constant0_2 = self._tensor_constant0_1; \
             sub_1 = sub - _tensor_constant0_2; matmul = sub_1 @ _tensor_constant0; return matmul",
        ),
    ] {
        let mut tree = net_with(&[("_tensor_constant0", Is::Tensor(1))], text);
        let (root, pattern) = (tree.root(), net("x: return torch.neg(x)"));
        let replacement = net_with(&[("_tensor_constant0", Is::Tensor(2))], replacement);
        let pattern = Pattern::new(&pattern, pattern.root()).unwrap();
        let rule = Rule {
            replacement: Some((&replacement, replacement.root())),
            members: MemberConflict::Rename,
            ..Rule::new(&pattern)
        };
        Rewrite::compute(&tree, root, &[rule], &mut ()).unwrap().apply(&mut tree).unwrap();
        assert_eq!(shown(&tree), expected);
        assert_eq!([first_byte(&tree, "_tensor_constant0"), first_byte(&tree, "_tensor_constant0_1")], [1, 2]);
    }
    // Members of one name in different modules, taken into one.
    for text in [
        "x: c = self.a.c; d = self.b.c; e = torch.add(c, d); return e + x",
        "x: d = self.b.c; c = self.a.c; e = torch.cat([c, d, x]); return (e,)",
        "x: c = self.a.c; d = self.b.c; e = x.addmm(c, d, beta=d); return [e, x]",
    ] {
        let mut tree = net_with(&[("a.c", Is::Tensor(1)), ("b.c", Is::Tensor(2))], text);
        let (root, region) = (tree.root(), nodes(&tree, ["c", "d", "e"]));
        let fused = fuse_as_graphmodule(&mut tree, root, &region, "fused", &FuseOptions::default()).unwrap();
        let inner = tree.clone_subtree(fused.module).unwrap();
        assert_eq!([first_byte(&inner, "a.c"), first_byte(&inner, "b.c")], [1, 2]);
        assert_eq!(lint_all(&inner, inner.root()), Ok(()));
    }
}

/// https://github.com/pytorch/pytorch/pull/74736 and https://github.com/pytorch/pytorch/pull/71016 are
/// of `split_module`; the same of what else copies placeholders or takes nodes from between them.
#[test]
fn fault_049_inputs_keep_their_stars_and_defaults() {
    for text in [
        "x, k = 2.5, **kwargs: a = torch.neg(x); b = self.act(a); mul = b * k; return (mul, kwargs)",
        "x, *args, flag = None, name = 'n': a = torch.exp(x); b = a.sum(0); \
             return {'k': [b, args, flag, name]}",
        "x, size = (2, [3]), *rest, **more: a = x.view(size); b = torch.cat([a, x]); \
             return b.f(rest, more)",
    ] {
        let mut tree = net(text);
        let root = tree.root();
        let before = shown(&tree);
        assert!(before.starts_with(text.split(": ").next().unwrap()), "{before}");
        let lifted = lift_subgraph_as_module(&tree, root, tree.graph(root).unwrap(), "Lifted").unwrap();
        assert_eq!(shown(&lifted), before);
        assert_eq!(shown(&tree.clone_subtree(root).unwrap()), before);
        // A copy node by node, into a graph that has none.
        let mut copy = tree.clone();
        let graph = tree.graph(root).unwrap();
        copy.set_graph(root, Graph::new(copy.symbols().clone())).unwrap();
        let mut map = vec![None; graph.slot_count()];
        let into = copy.graph_mut(root).unwrap();
        let returned = into.graph_copy(At::Default, graph, CopyNames::Unique, &mut map).unwrap().unwrap();
        into.output(returned).unwrap();
        assert_eq!(shown(&copy), before);
        // What is taken out of the middle leaves the inputs as they are, and gets values as its own.
        let region = nodes(&tree, ["a", "b"]);
        let fused = fuse_as_graphmodule(&mut tree, root, &region, "fused", &FuseOptions::default()).unwrap();
        assert_eq!(shown(&tree).split(": ").next(), text.split(": ").next());
        let inner = tree.graph(fused.module).unwrap();
        for (outside, inside) in fused.inputs.iter().zip(inner.placeholders()) {
            assert_eq!(tree.graph(root).unwrap().name(*outside), inner.name(inside));
        }
        assert_eq!(lint_all(&tree, root), Ok(()));
    }
}
