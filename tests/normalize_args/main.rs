//! Calls in one form: what they become, and what holds for every call.

mod properties;
#[path = "../random_graph/mod.rs"]
mod random_graph;

use fxir::formats::python::print::code;
use fxir::formats::python::read::read_code;
use fxir::ir::lint::lint_all;
use fxir::ir::{Args, Argument, Attribute, ErrorKind, Graph, Kwargs, ModuleTree, NewModule, NodeId, Op};
use fxir::passes::normalize_args::{
    normalize_args, normalized_arguments, Defaults, Form, NormalizeOptions, Normalized,
};

fn options(form: Form, defaults: Defaults) -> NormalizeOptions {
    NormalizeOptions { form, defaults, ..NormalizeOptions::default() }
}

fn module_of(line: &str) -> ModuleTree {
    let body = format!("def forward(self, x, y, z):\n    out = {line}\n    return out\n");
    read_code(&body).unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// The line that assigns `out`, as code prints it.
fn line_of(tree: &ModuleTree) -> String {
    let text = code(tree, tree.root()).unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix("out = ")).unwrap_or_else(|| panic!("{text}"));
    line.split(';').next().unwrap().trim().to_owned()
}

fn at_root(tree: &mut ModuleTree, options: NormalizeOptions) -> fxir::ir::Result<Normalized> {
    let root = tree.root();
    normalize_args(tree, root, options)
}

fn normalized(line: &str, options: NormalizeOptions) -> (String, Normalized) {
    let mut tree = module_of(line);
    let counts = at_root(&mut tree, options).unwrap();
    lint_all(&tree, tree.root()).unwrap();
    (line_of(&tree), counts)
}

/// By keyword, defaults as they are.
fn keywords(line: &str) -> String {
    normalized(line, options(Form::Keyword, Defaults::Keep)).0
}

fn positions(line: &str) -> String {
    normalized(line, options(Form::Positional, Defaults::Keep)).0
}

fn filled(line: &str) -> String {
    normalized(line, NormalizeOptions::default()).0
}

fn left_out(line: &str) -> String {
    normalized(line, options(Form::Keyword, Defaults::LeaveOut)).0
}

#[test]
fn functions_of_torch_are_called_by_keyword() {
    assert_eq!(keywords("torch.add(x, y)"), "torch.add(input = x, other = y)");
    assert_eq!(keywords("torch.add(x, 2, alpha = 3)"), "torch.add(input = x, other = 2, alpha = 3)");
    assert_eq!(keywords("torch.add(alpha = 3, other = y, input = x)"), "torch.add(input = x, other = y, alpha = 3)");
    assert_eq!(keywords("torch.sum(x, 1)"), "torch.sum(input = x, dim = 1)");
    assert_eq!(keywords("torch.sum(x, axis = 1, keepdims = True)"), "torch.sum(input = x, dim = 1, keepdim = True)");
    assert_eq!(keywords("torch.where(x, y, z)"), "torch.where(condition = x, input = y, other = z)");
    assert_eq!(keywords("torch.pow(2, x)"), "torch.pow(self = 2, exponent = x)");
    assert_eq!(keywords("torch.cat([x, y], 1)"), "torch.cat(tensors = [x, y], dim = 1)");
    assert_eq!(keywords("torch.zeros(2, 3)"), "torch.zeros(size = [2, 3])");
    assert_eq!(keywords("torch.zeros((2, 3))"), "torch.zeros(size = (2, 3))");
    assert_eq!(keywords("torch.ones(2, requires_grad = True)"), "torch.ones(size = [2], requires_grad = True)");
    assert_eq!(
        positions("torch.functional.unique_consecutive(x, return_counts = True)"),
        "torch.functional.unique_consecutive(x, return_counts = True)"
    );
    assert_eq!(keywords("torch.nn.functional.relu(x)"), "torch.nn.functional.relu(input = x)");
    assert_eq!(
        keywords("torch.nn.functional.max_pool2d(x, 2, return_indices = True)"),
        "torch.nn.functional.max_pool2d(input = x, kernel_size = 2, return_indices = True)"
    );
    assert_eq!(keywords("torch._C._nn.linear(x, y, z)"), "torch._C._nn.linear(input = x, weight = y, bias = z)");
    assert_eq!(keywords("torch.functional.einsum('ij,jk', x, y)"), "torch.functional.einsum('ij,jk', x, y)");
    assert_eq!(
        keywords("torch.functional.meshgrid(x, y, indexing = 'ij')"),
        "torch.functional.meshgrid(x, y, indexing = 'ij')"
    );
}

/// Calls that torch ran in every one of these forms with the same result.
#[test]
fn calls_that_torch_ran() {
    let rows = include_str!("../cases/normalize.jsonl");
    let mut checked = 0;
    for row in rows.lines() {
        let row: serde_json::Map<String, serde_json::Value> = serde_json::from_str(row).unwrap();
        let call = row["call"].as_str().unwrap();
        let inputs: String = (0..row["inputs"].as_u64().unwrap()).map(|input| format!(", t{input}")).collect();
        let text = format!("def forward(self{inputs}):\n    out = {call}\n    return out\n");
        for (name, form) in [("keyword", Form::Keyword), ("positional", Form::Positional)] {
            for (how, defaults) in
                [("filled", Defaults::FillIn), ("kept", Defaults::Keep), ("left_out", Defaults::LeaveOut)]
            {
                let mut tree = read_code(&text).unwrap();
                let counts = at_root(&mut tree, options(form, defaults)).unwrap();
                assert_eq!(counts.unknown + counts.misfits, 0, "{call}");
                let wanted = row[&format!("{name} {how}")].as_str().unwrap();
                assert_eq!(line_of(&tree), wanted, "{call}");
                checked += 1;
            }
        }
    }
    assert!(checked > 1000, "{checked}");
}

#[test]
fn operators_keep_the_names_of_their_schema() {
    assert_eq!(keywords("torch.ops.aten.add.Tensor(x, y)"), "torch.ops.aten.add.Tensor(self = x, other = y)");
    assert_eq!(keywords("torch.ops.aten.add(x, y)"), "torch.ops.aten.add(self = x, other = y)");
    let as_torch = NormalizeOptions { input_for_self: true, ..NormalizeOptions::default() };
    let torch = normalized("torch.ops.aten.add.Tensor(x, y)", as_torch).0;
    assert_eq!(torch, "torch.ops.aten.add.Tensor(input = x, other = y, alpha = 1)");
    // Read again, and written as torch runs it.
    assert_eq!(keywords(&torch), "torch.ops.aten.add.Tensor(self = x, other = y, alpha = 1)");
    // No Python can say `from = 0`.
    assert_eq!(
        keywords("torch.ops.aten.uniform.default(x, 0.5, 2.5, generator = None)"),
        "torch.ops.aten.uniform.default(x, 0.5, to = 2.5, generator = None)"
    );
    assert_eq!(keywords("x + y"), "x + y");
    assert_eq!(keywords("x[0]"), "x[0]");
}

#[test]
fn methods_keep_what_they_are_called_on() {
    assert_eq!(keywords("x.view(2, -1)"), "x.view(size = [2, -1])");
    assert_eq!(keywords("x.view(y)"), "x.view(size = y)");
    assert_eq!(keywords("x.view(6)"), "x.view(size = [6])");
    assert_eq!(keywords("x.permute(0, 2, 1)"), "x.permute(dims = [0, 2, 1])");
    assert_eq!(keywords("x.transpose(0, 1)"), "x.transpose(dim0 = 0, dim1 = 1)");
    assert_eq!(keywords("x.mean(1, True)"), "x.mean(dim = 1, keepdim = True)");
    assert_eq!(keywords("x.where(y, z)"), "x.where(condition = y, other = z)");
    assert_eq!(keywords("x.split(2)"), "x.split(split_size = 2)");
    assert_eq!(keywords("x.to(torch.float16)"), "x.to(dtype = torch.float16)");
    let line = "x.to('cpu', torch.float64, memory_format = torch.preserve_format)";
    assert_eq!(positions(line), line);
    assert_eq!(keywords("x.float()"), "x.float()");
    assert_eq!(positions("x.view(size = [2, 3])"), "x.view([2, 3])");
    assert_eq!(positions("x.mean(keepdim = True, dim = 1)"), "x.mean(1, True)");
}

#[test]
fn defaults_are_filled_in_left_out_or_kept() {
    assert_eq!(filled("torch.add(x, y)"), "torch.add(input = x, other = y, alpha = 1)");
    assert_eq!(left_out("torch.add(x, y, alpha = 1)"), "torch.add(input = x, other = y)");
    // Another type may give another result.
    assert_eq!(left_out("torch.add(x, y, alpha = 1.0)"), "torch.add(input = x, other = y, alpha = 1.0)");
    assert_eq!(filled("torch.sum(x, 1)"), "torch.sum(input = x, dim = 1, keepdim = False, dtype = None)");
    assert_eq!(left_out("torch.sum(x, 1, False)"), "torch.sum(input = x, dim = 1)");
    assert_eq!(
        filled("torch.conv2d(x, y, z)"),
        "torch.conv2d(input = x, weight = y, bias = z, stride = [1, 1], padding = [0, 0], dilation = [1, 1], groups = 1)"
    );
    assert_eq!(
        left_out("torch.conv2d(x, y, None, (1, 1), 0, 2, 1)"),
        "torch.conv2d(input = x, weight = y, dilation = 2)"
    );
    assert_eq!(filled("torch.nn.functional.gelu(x)"), "torch.nn.functional.gelu(input = x, approximate = 'none')");
    assert_eq!(filled("x.contiguous()"), "x.contiguous(memory_format = torch.contiguous_format)");
    assert_eq!(
        filled("torch.nn.functional.softmax(x, 1)"),
        "torch.nn.functional.softmax(input = x, dim = 1, _stacklevel = 3, dtype = None)"
    );
    // Left out before one that stays: the rest needs its keyword.
    let positional = options(Form::Positional, Defaults::LeaveOut);
    assert_eq!(
        normalized("torch.nn.functional.dropout(x, 0.5, False)", positional).0,
        "torch.nn.functional.dropout(x, training = False)"
    );
    assert_eq!(
        positions("torch.nn.functional.dropout(x, training = False)"),
        "torch.nn.functional.dropout(x, training = False)"
    );
    assert_eq!(
        normalized("torch.nn.functional.dropout(x, training = False)", options(Form::Positional, Defaults::FillIn)).0,
        "torch.nn.functional.dropout(x, 0.5, False, False)"
    );
    // Without its keyword it would be another overload.
    assert_eq!(left_out("torch.std(x, dim = None)"), "torch.std(input = x, dim = None)");
}

#[test]
fn what_is_not_known_stays() {
    for line in ["mine.function(x, 2)", "x.shape", "x.mine(2)", "torch.sum(x, mine = 1)", "torch.relu(x, y, z)"] {
        let (after, counts) = normalized(line, NormalizeOptions::default());
        assert_eq!(after, line);
        assert_eq!((counts.changed, counts.unknown + counts.misfits), (0, 1), "{line}");
    }
    let strict = NormalizeOptions { strict: true, ..NormalizeOptions::default() };
    let refused = |line: &str, kind: ErrorKind, words: &str| {
        let mut tree = module_of(line);
        let error = at_root(&mut tree, strict).unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(words) && error.message.contains("node out"), "{error}");
        assert!(error.node.is_some());
        assert_eq!(line_of(&tree), line);
    };
    refused("mine.function(x, 2)", ErrorKind::NotFound, "mine.function");
    refused("torch.nn.functional.relu(x, mine = 1)", ErrorKind::InvalidArgument, "\"mine\"");
    refused("torch.ops.aten.add.Tensor(x)", ErrorKind::InvalidArgument, "\"other\"");
    refused("torch.sum(x, mine = 1)", ErrorKind::InvalidArgument, "none of its overloads");
}

#[test]
fn a_strict_failure_changes_no_node() {
    let text = "def forward(self, x):\n    a = torch.relu(x)\n    b = mine.f(a)\n    return b\n";
    let mut tree = read_code(text).unwrap();
    let before = code(&tree, tree.root()).unwrap();
    let strict = NormalizeOptions { strict: true, ..NormalizeOptions::default() };
    at_root(&mut tree, strict).unwrap_err();
    assert_eq!(code(&tree, tree.root()).unwrap(), before);
    let counts = at_root(&mut tree, NormalizeOptions::default()).unwrap();
    assert_eq!(counts, Normalized { changed: 1, kept: 0, unknown: 1, misfits: 0 });
}

#[test]
fn modules_are_known_by_their_type_and_graphs_by_their_inputs() {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    tree.add_module(root, "conv", "torch.nn.modules.conv.Conv2d", NewModule::Leaf).unwrap();
    tree.add_module(root, "own", "mine.Conv2d", NewModule::Leaf).unwrap();
    let block = tree.add_module(root, "block", "Block", NewModule::Graph).unwrap();
    let graph = tree.graph_mut(block).unwrap();
    let a = graph.placeholder("a").unwrap();
    let b = graph.placeholder("b").unwrap();
    graph.set_args(b, Args::from_iter([Argument::Int(5)])).unwrap();
    graph.output(Argument::Tuple([a, b].map(Argument::Node).into())).unwrap();
    let graph = tree.graph_mut(root).unwrap();
    let x = graph.placeholder("x").unwrap();
    let call = |graph: &mut Graph, op: Op, target: &str| {
        graph
            .create_node(fxir::ir::At::Default, op, target, Args::from_iter([Argument::Node(x)]), Kwargs::new(), None)
            .unwrap()
    };
    let nodes = ["conv", "own", "block", "missing"].map(|path| call(graph, Op::CallModule, path));
    graph.output(Argument::None).unwrap();
    let counts = normalize_args(&mut tree, root, NormalizeOptions::default()).unwrap();
    assert_eq!(counts, Normalized { changed: 2, kept: 0, unknown: 2, misfits: 0 });
    let graph = tree.graph(root).unwrap();
    let names =
        |node: NodeId| -> Vec<&str> { graph[node].kwargs().iter().map(|(name, _)| graph.text(*name)).collect() };
    assert_eq!(names(nodes[0]), ["input"]);
    assert_eq!(names(nodes[2]), ["a", "b"]);
    assert!(matches!(graph[nodes[2]].kwargs()[1].1, Argument::Int(5)));
    assert_eq!(graph[nodes[1]].args().len(), 1);
    // The attribute of a leaf is no module.
    tree.set_attribute(root, "missing", Attribute::Value(Argument::Int(1))).unwrap();
    assert_eq!(normalize_args(&mut tree, root, NormalizeOptions::default()).unwrap().unknown, 2);
}

/// Names are looked up, so this ends.
#[test]
fn a_graph_of_many_inputs_is_called_by_name() {
    const MANY: usize = 100_000;
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    let block = tree.add_module(root, "block", "Block", NewModule::Graph).unwrap();
    let graph = tree.graph_mut(block).unwrap();
    for input in 0..MANY {
        graph.placeholder(&format!("i{input}")).unwrap();
    }
    graph.placeholder("**rest").unwrap();
    graph.output(Argument::None).unwrap();
    let graph = tree.graph_mut(root).unwrap();
    let symbols = graph.symbols().clone();
    let named = |name: String| (symbols.intern(&name), Argument::Int(1));
    let kwargs =
        (0..MANY).rev().map(|input| named(format!("i{input}"))).chain((0..MANY).map(|more| named(format!("m{more}"))));
    let call = graph.call_module("block", Args::new(), kwargs.collect()).unwrap();
    graph.output(Argument::Node(call)).unwrap();
    let counts = normalize_args(&mut tree, root, options(Form::Positional, Defaults::Keep)).unwrap();
    assert_eq!(counts.changed, 1);
    let graph = tree.graph(root).unwrap();
    assert_eq!((graph[call].args().len(), graph[call].kwargs().len()), (MANY, MANY));
    assert_eq!(graph.text(graph[call].kwargs()[0].0), "m0");
}

#[test]
fn one_node_is_asked_and_left_as_it_is() {
    let tree = module_of("torch.add(x, y)");
    let root = tree.root();
    let graph = tree.graph(root).unwrap();
    let out = graph.find_node("out").unwrap();
    let (args, kwargs) = normalized_arguments(&tree, root, out, NormalizeOptions::default()).unwrap().unwrap();
    assert!(args.is_empty());
    let names: Vec<&str> = kwargs.iter().map(|(name, _)| graph.text(*name)).collect();
    assert_eq!(names, ["input", "other", "alpha"]);
    assert_eq!(line_of(&tree), "torch.add(x, y)");
    let x = graph.find_node("x").unwrap();
    assert!(normalized_arguments(&tree, root, x, NormalizeOptions::default()).unwrap().is_none());
    let strict = NormalizeOptions { strict: true, ..NormalizeOptions::default() };
    assert_eq!(normalized_arguments(&tree, root, x, strict).unwrap_err().kind, ErrorKind::InvalidArgument);
}

#[test]
fn users_keep_their_order_and_inputs_follow_the_arguments() {
    let text =
        "def forward(self, x, y):\n    a = torch.sub(other = y, input = x)\n    b = torch.relu(y)\n    return (a, b)\n";
    let mut tree = read_code(text).unwrap();
    at_root(&mut tree, options(Form::Positional, Defaults::Keep)).unwrap();
    let graph = tree.graph(tree.root()).unwrap();
    let find = |name: &str| graph.find_node(name).unwrap();
    assert_eq!(graph.users(find("y")).collect::<Vec<_>>(), [find("a"), find("b")]);
    assert_eq!(graph.input_nodes(find("a")).collect::<Vec<_>>(), [find("x"), find("y")]);
    lint_all(&tree, tree.root()).unwrap();
}
