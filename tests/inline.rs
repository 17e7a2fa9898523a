//! Submodules inlined at their calls: graphs are text, so is what they become.

mod random_graph;

use fxir::formats::python::print::code;
use fxir::formats::python::read::read_into;
use fxir::ir::lint::lint_all;
use fxir::ir::{
    Argument, Attribute, CopyNames, Dtype, ErrorKind, Member, ModuleTree, NewModule, NodeId, Op, Result, Tensor,
    TensorKind, TensorMeta, Value, MAX_ARGUMENT_DEPTH,
};
use fxir::passes::inline::inline_submodule;
use proptest::prelude::*;
use random_graph::meaning::meaning;
use random_graph::{modules, RandomModule};
use std::sync::Arc;

/// A module with graph modules `(path, code)` and leaves `(path, type)`.
fn net(text: &str, graphs: &[(&str, &str)], leaves: &[(&str, &str)]) -> ModuleTree {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    for (path, _) in graphs {
        tree.add_module(root, path, "GraphModule", NewModule::Graph).unwrap();
    }
    for (path, kind) in leaves {
        tree.add_module(root, path, kind, NewModule::Leaf).unwrap();
    }
    for (path, text) in graphs {
        let module = tree.submodule(root, path).unwrap();
        read_into(&mut tree, module, text).unwrap();
    }
    read_into(&mut tree, root, text).unwrap();
    lint_all(&tree, root).unwrap();
    tree
}

fn find(tree: &ModuleTree, name: &str) -> NodeId {
    tree.graph(tree.root()).unwrap().find_node(name).unwrap()
}

fn inline(tree: &mut ModuleTree, call: &str) -> Result<Vec<(NodeId, NodeId)>> {
    let (root, call) = (tree.root(), find(tree, call));
    inline_submodule(tree, root, call, CopyNames::Unique)
}

/// The statements of a graph, without the `;  x = None`.
fn body(tree: &ModuleTree) -> String {
    lint_all(tree, tree.root()).unwrap();
    let text = code(tree, tree.root()).unwrap();
    let lines = text.lines().filter(|line| line.starts_with("    "));
    lines.map(|line| line.trim().split(";  ").next().unwrap()).collect::<Vec<_>>().join("\n").trim_end().to_string()
}

fn becomes(text: &str, sub: &str, expected: &str) {
    let mut tree = net(text, &[("sub", sub)], &[]);
    let root = tree.root();
    inline(&mut tree, "sub").unwrap();
    assert_eq!(body(&tree), expected);
    assert!(tree.resolve(root, "sub").is_none());
}

#[test]
fn arguments_are_bound_as_python_binds_them() {
    let sub = "def forward(a, b, c = 3): return torch.f(a, b, c)";
    becomes("def f(x): return self.sub(x, 2)", sub, "f = torch.f(x, 2, 3)\nreturn f");
    becomes("def f(x): return self.sub(x, c = x, b = [x, 1])", sub, "f = torch.f(x, [x, 1], x)\nreturn f");
    becomes(
        "def f(x): return self.sub(x, 1, x, k = x)",
        "def forward(a, *args, **kwargs): return torch.f(a, args, kwargs)",
        "f = torch.f(x, (1, x), {'k': x})\nreturn f",
    );
    for (text, why) in [
        ("def f(x): return self.sub(x)", "b is not given"),
        ("def f(x): return self.sub(x, 1, a = x)", "a is given twice"),
        ("def f(x): return self.sub(x, 1, 2, 3, 4)", "2 arguments more than the module takes"),
        ("def f(x): return self.sub(x, 1, d = 4)", "the module takes no d"),
    ] {
        let mut tree = net(text, &[("sub", sub)], &[]);
        let before = body(&tree);
        let error = inline(&mut tree, "sub").unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidArgument);
        assert!(error.message.contains(why) && error.message.contains("sub"), "{error}");
        assert_eq!((error.node, body(&tree)), (Some(find(&tree, "sub")), before));
    }
}

#[test]
fn what_is_returned_stands_for_the_call() {
    // Itself, an input, a literal, nothing.
    becomes(
        "def f(x): return torch.g(self.sub(x), [x])",
        "def forward(a): return torch.f(a)",
        "f = torch.f(x)\ng = torch.g(f, [x])\nreturn g",
    );
    becomes("def f(x): return torch.g(self.sub(x))", "def forward(a): return a", "g = torch.g(x)\nreturn g");
    becomes("def f(x): return torch.g(self.sub(x))", "def forward(a): return 1.5", "g = torch.g(1.5)\nreturn g");
    // Items of a tuple, nested, from the end, and of a dict; others take the whole.
    becomes(
        "def f(x):\n sub = self.sub(x)\n a = sub[0]\n b = sub[-1]\n c = b['k']\n return torch.g(a, c)",
        "def forward(a):\n y = torch.f(a)\n return y, {'k': a, 'l': y}",
        "y = torch.f(x)\ng = torch.g(y, x)\nreturn g",
    );
    becomes(
        "def f(x):\n sub = self.sub(x)\n a = sub[1]\n b = sub[2]\n return torch.cat(sub), a, b",
        "def forward(a):\n y = torch.f(a)\n return [y, a]",
        "y = torch.f(x)\nb = [y, x][2]\ncat = torch.cat([y, x])\nreturn (cat, x, b)",
    );
}

#[test]
fn copies_know_what_they_knew_or_what_the_call_knew() {
    let mut tree =
        net("def f(x): return torch.g(self.sub(x)[0])", &[("sub", "def forward(a): return torch.f(a),")], &[]);
    let root = tree.root();
    let told = Arc::new(Value::Tensor(TensorMeta::new(Dtype::Float32, [7i64])));
    let getitem = find(&tree, "getitem");
    tree.graph_mut(root).unwrap().set_value(getitem, Some(told.clone())).unwrap();
    let pairs = inline(&mut tree, "sub").unwrap();
    let graph = tree.graph(root).unwrap();
    assert_eq!(pairs.len(), 1);
    assert_eq!(graph[pairs[0].1].value(), Some(&told));
}

#[test]
fn names_are_as_asked() {
    for (names, expected) in [
        (CopyNames::Unique, "relu_1 = torch.relu(x)\ny = torch.f(relu_1)\nreturn y"),
        (CopyNames::Prefixed("sub"), "sub_relu = torch.relu(x)\nsub_y = torch.f(sub_relu)\nreturn sub_y"),
        (CopyNames::ByTarget, "relu_1 = torch.relu(x)\nf = torch.f(relu_1)\nreturn f"),
    ] {
        let text = "def f(x):\n relu = torch.relu(x)\n sub = self.sub(relu)\n return sub";
        let mut tree =
            net(text, &[("sub", "def forward(a):\n relu = torch.relu(a)\n y = torch.f(relu)\n return y")], &[]);
        let (root, call) = (tree.root(), find(&tree, "sub"));
        let error = inline_submodule(&mut tree, root, call, CopyNames::Keep).unwrap_err();
        assert_eq!((error.kind, &*error.message), (ErrorKind::AlreadyExists, "the name relu was given before"));
        inline_submodule(&mut tree, root, call, names).unwrap();
        assert_eq!(body(&tree), expected.replacen("(x)", "(relu)", 1).replacen("", "relu = torch.relu(x)\n", 1));
    }
}

/// Fault 47, and two more of its kind: a member of what is inlined never takes the place of another.
#[test]
fn members_come_along_under_a_name_that_is_free() {
    // A submodule of the submodule has the name of another of the parent's.
    let graphs = [
        ("submod_0", "def forward(a): return self.submod_1(a)"),
        ("submod_0.submod_1", "def forward(a): return torch.inner(a)"),
        ("submod_1", "def forward(a): return torch.outer(a)"),
    ];
    let mut tree = net("def f(x):\n a = self.submod_0(x)\n b = self.submod_1(a)\n return b", &graphs, &[]);
    let root = tree.root();
    inline(&mut tree, "a").unwrap();
    assert_eq!(body(&tree), "submod_1 = self.submod_1_1(x)\nb = self.submod_1(submod_1)\nreturn b");
    inline(&mut tree, "submod_1").unwrap();
    inline(&mut tree, "b").unwrap();
    assert_eq!(body(&tree), "inner = torch.inner(x)\nouter = torch.outer(inner)\nreturn outer");
    assert_eq!(tree.get(root).unwrap().submodules().len(), 0);

    // A leaf of the same name as one of the parent's, and as the submodule itself.
    let leaves = [("act", "Tanh"), ("block.act", "ReLU"), ("block.block", "GELU")];
    let block = "def forward(a): return self.block(self.act(a))";
    let mut tree = net("def f(x): return self.block(self.act(x))", &[("block", block)], &leaves);
    let root = tree.root();
    inline(&mut tree, "block").unwrap();
    assert_eq!(
        body(&tree),
        "act = self.act(x)\nact_1 = self.act_1(act)\nblock_1 = self.block_1(act_1)\nreturn block_1"
    );
    let kind = |path: &str| match tree.resolve(root, path) {
        Some(Member::Module(module)) => tree.symbols().text(tree.get(module).unwrap().type_name()).to_string(),
        _ => String::new(),
    };
    assert_eq!(["act", "act_1", "block_1", "block"].map(kind), ["Tanh", "ReLU", "GELU", ""]);

    // A tensor of the same name as another; and one that both share, which comes once.
    let weight = |bytes: Vec<u8>| {
        let tensor = Tensor::from_bytes(TensorMeta::new(Dtype::Int8, [bytes.len() as i64]), bytes).unwrap();
        Attribute::Tensor(TensorKind::Parameter, Arc::new(tensor))
    };
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    let sub = tree.add_module(root, "sub", "GraphModule", NewModule::Graph).unwrap();
    let shared = weight(vec![9]);
    for (module, path, tensor) in
        [(root, "w", weight(vec![1])), (sub, "w", weight(vec![1, 2])), (root, "s", shared.clone()), (sub, "s", shared)]
    {
        tree.set_attribute(module, path, tensor).unwrap();
    }
    read_into(&mut tree, sub, "def forward(a): return a * self.w + self.s").unwrap();
    read_into(&mut tree, root, "def forward(x): return self.sub(x) - self.w - self.s").unwrap();
    inline(&mut tree, "sub").unwrap();
    let names: Vec<_> = tree.get(root).unwrap().attributes().iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(names.iter().map(|name| tree.symbols().text(*name)).collect::<Vec<_>>(), ["w", "s", "w_1"]);
    assert!(body(&tree).contains("self.w_1"), "{}", body(&tree));
}

#[test]
fn a_module_that_is_called_again_stays_and_shares_its_members() {
    let sub = ("block.sub", "def forward(a): return self.act(a)");
    let text = "def f(x):\n a = self.block.sub(x)\n b = self.block.sub(a)\n return b";
    let mut tree = net(text, &[sub], &[("block.sub.act", "ReLU")]);
    let root = tree.root();
    inline(&mut tree, "a").unwrap();
    assert!(tree.submodule(root, "block.sub").is_ok());
    inline(&mut tree, "b").unwrap();
    assert_eq!(body(&tree), "act = self.act(x)\nact_1 = self.act(act)\nreturn act_1");
    assert!(tree.submodule(root, "block.sub").is_err());
}

#[test]
fn what_cannot_be_inlined_is_refused_with_its_name() {
    let mut tree = net("def f(x): return torch.f(self.act(x))", &[], &[("act", "ReLU")]);
    let root = tree.root();
    for (name, kind, why) in [
        ("f", ErrorKind::InvalidArgument, "node f (call_function torch.f): it calls no module"),
        ("act", ErrorKind::InvalidArgument, "node act (call_module act): the module has no graph"),
        ("x", ErrorKind::InvalidArgument, "node x (placeholder x): it calls no module"),
    ] {
        let call = find(&tree, name);
        let error = inline_submodule(&mut tree, root, call, CopyNames::Unique).unwrap_err();
        assert_eq!((error.kind, &*error.message), (kind, why));
    }
    // What would nest too deep once it is in place.
    let deep = |node| (1..MAX_ARGUMENT_DEPTH).fold(Argument::Node(node), |inner, _| Argument::List([inner].into()));
    let mut tree = net("def f(x):\n s = self.sub(x)\n return s", &[("sub", "def forward(x): return torch.f(x)")], &[]);
    let (root, sub) = (tree.root(), tree.submodule(tree.root(), "sub").unwrap());
    for (module, name) in [(root, "s"), (sub, "f")] {
        let graph = tree.graph_mut(module).unwrap();
        let (node, output) = (graph.find_node(name).unwrap(), graph.output_node().unwrap());
        graph.set_args(output, [deep(node)].into_iter().collect()).unwrap();
    }
    let before = body(&tree);
    assert_eq!(inline(&mut tree, "s").unwrap_err().kind, ErrorKind::Limit);
    assert_eq!(body(&tree), before);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// Fused and inlined again, a module means what it meant.
    #[test]
    fn inlined_modules_mean_the_same(
        RandomModule { mut tree } in modules(40),
        picks in prop::collection::vec(any::<u16>(), 1..8),
    ) {
        let root = tree.root();
        let before = meaning(&tree);
        let nodes = random_graph::picked(&tree, &picks);
        if fxir::passes::fuse::fuse_as_graphmodule(&mut tree, root, &nodes, "fused", &Default::default()).is_err() {
            return Ok(());
        }
        let graph = tree.graph(root).unwrap();
        let calls_graph = |node: &NodeId| graph[*node].op() == Op::CallModule && graph.target(*node).starts_with("fused");
        let call = graph.nodes().find(calls_graph).unwrap();
        inline_submodule(&mut tree, root, call, CopyNames::Unique).unwrap();
        prop_assert_eq!(lint_all(&tree, root), Ok(()));
        prop_assert_eq!(meaning(&tree), before);
    }
}
