//! FX code: whatever a graph holds is printed and read back equal; whatever a text holds is read or
//! refused.

use fxir::formats::python::print::{code, readable, ReadableOptions};
use fxir::formats::python::read::{append_statement, read_code};
use fxir::formats::python::repr::repr;
use fxir::ir::lint::lint_all;
use fxir::ir::{Args, Argument, At, Dtype, ErrorKind, Graph, Kwargs, ModuleTree, NodeId, Op, Symbols};
use proptest::prelude::*;

/// Everything that code tells of a graph.
fn picture(graph: &Graph) -> Vec<String> {
    let line = |node: NodeId| {
        let found = &graph[node];
        let args: Vec<String> = found.args().iter().map(|argument| repr(argument, graph)).collect();
        let kwargs: Vec<String> = found
            .kwargs()
            .iter()
            .map(|(key, value)| format!("{:?}={}", graph.text(*key), repr(value, graph)))
            .collect();
        format!("{} {} {:?} {args:?} {kwargs:?}", graph.name(node), found.op().name(), graph.target(node))
    };
    graph.nodes().map(line).collect()
}

/// A literal of any kind that a graph can hold, as a recipe: symbols need a table.
#[derive(Debug, Clone)]
enum Recipe {
    None,
    Bool(bool),
    Int(i64),
    BigInt(bool, u64),
    Float(f64),
    Complex(f64, f64),
    Str(String),
    Bytes(Vec<u8>),
    Dtype(u8),
    Device(u8),
    Spelled(u8),
    Ellipsis,
    SymInt(u8),
    Range(i64, i64, i64),
    Node(u16),
    List(Vec<Recipe>),
    Tuple(Vec<Recipe>),
    Slice(Vec<Recipe>),
    Dict(Vec<(String, Recipe)>),
}

fn recipes() -> impl Strategy<Value = Recipe> {
    let leaf = prop_oneof![
        Just(Recipe::None),
        any::<bool>().prop_map(Recipe::Bool),
        any::<i64>().prop_map(Recipe::Int),
        (any::<bool>(), any::<u64>()).prop_map(|(negative, more)| Recipe::BigInt(negative, more)),
        any::<f64>().prop_map(Recipe::Float),
        prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(-0.0)].prop_map(Recipe::Float),
        (any::<f64>(), any::<f64>()).prop_map(|(real, imaginary)| Recipe::Complex(real, imaginary)),
        any::<String>().prop_map(Recipe::Str),
        prop::collection::vec(any::<u8>(), 0..6).prop_map(Recipe::Bytes),
        any::<u8>().prop_map(Recipe::Dtype),
        any::<u8>().prop_map(Recipe::Device),
        any::<u8>().prop_map(Recipe::Spelled),
        Just(Recipe::Ellipsis),
        any::<u8>().prop_map(Recipe::SymInt),
        (any::<i64>(), any::<i64>(), 1..5i64).prop_map(|(start, stop, step)| Recipe::Range(start, stop, step)),
        any::<u16>().prop_map(Recipe::Node),
        any::<u16>().prop_map(Recipe::Node),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Recipe::List),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Recipe::Tuple),
            prop::collection::vec(inner.clone(), 3).prop_map(Recipe::Slice),
            prop::collection::vec((any::<String>(), inner), 0..3).prop_map(Recipe::Dict),
        ]
    })
}

impl Recipe {
    fn make(&self, symbols: &Symbols, nodes: &[NodeId]) -> Argument {
        let all = |items: &[Recipe]| items.iter().map(|item| item.make(symbols, nodes)).collect::<Vec<_>>();
        match self {
            Recipe::None => Argument::None,
            Recipe::Bool(value) => Argument::Bool(*value),
            Recipe::Int(value) => Argument::Int(*value),
            Recipe::BigInt(negative, more) => {
                let sign = if *negative { "-" } else { "" };
                Argument::BigInt(symbols.intern(&format!("{sign}99999999999999999999{more}")))
            }
            Recipe::Float(value) => Argument::Float(*value),
            Recipe::Complex(real, imaginary) => Argument::Complex(Box::new([*real, *imaginary])),
            Recipe::Str(text) => Argument::Str(symbols.intern(text)),
            Recipe::Bytes(bytes) => Argument::Bytes(bytes.as_slice().into()),
            Recipe::Dtype(number) => Argument::Dtype(Dtype::from_u8(number % 20 + 1).unwrap_or(Dtype::Float32)),
            Recipe::Device(number) => {
                let device = ["cpu", "cuda:0", "meta", "cuda:15"][usize::from(number % 4)];
                Argument::Device(symbols.intern(device))
            }
            Recipe::Spelled(number) => match number % 3 {
                0 => Argument::Layout(symbols.intern("torch.strided")),
                1 => Argument::MemoryFormat(symbols.intern("torch.channels_last")),
                _ => Argument::Qscheme(symbols.intern("torch.per_tensor_affine")),
            },
            Recipe::Ellipsis => Argument::Ellipsis,
            Recipe::SymInt(number) => {
                let spelled = ["s17", "s0", "u3", "s0 + 1", "x", "Max(1, s2)", "q\"'"][usize::from(number % 7)];
                Argument::SymInt(symbols.intern(spelled))
            }
            Recipe::Range(start, stop, step) => Argument::Range(Box::new([*start, *stop, *step])),
            Recipe::Node(pick) => Argument::Node(nodes[usize::from(*pick) % nodes.len()]),
            Recipe::List(items) => Argument::List(all(items).into()),
            Recipe::Tuple(items) => Argument::Tuple(all(items).into()),
            Recipe::Slice(items) => match <[Argument; 3]>::try_from(all(items)) {
                Ok(parts) => Argument::Slice(Box::new(parts)),
                Err(_) => Argument::None,
            },
            Recipe::Dict(entries) => {
                let mut seen = std::collections::BTreeSet::new();
                let entries = entries.iter().filter(|(key, _)| seen.insert(key.clone()));
                let entry =
                    |(key, value): &(String, Recipe)| (Argument::Str(symbols.intern(key)), value.make(symbols, nodes));
                Argument::Dict(entries.map(entry).collect())
            }
        }
    }
}

const FUNCTIONS: [&str; 24] = [
    "torch.add",
    "torch.nn.functional.relu",
    "torch.ops.aten.add.Tensor",
    "_operator.add",
    "_operator.sub",
    "_operator.pow",
    "_operator.neg",
    "_operator.invert",
    "_operator.eq",
    "_operator.getitem",
    "_operator.setitem",
    "_operator.iadd",
    "_operator.imatmul",
    "_operator.not_",
    "_operator.matmul",
    "builtins.getattr",
    "builtins.print",
    "builtins.slice",
    "math.floor",
    "mine.function",
    "bare_function",
    "torch._C._nn.gelu",
    "not a name.at all",
    "mine.class",
];
const METHODS: [&str; 5] = ["view", "size", "class", "a b", "__add__"];
const PATHS: [&str; 8] = ["conv", "layer.0.conv", "class", "q\"k", "a b.1", "ünder", "x\\y", "self.self"];
const KEYS: [&str; 5] = ["dim", "alpha", "class", "a b", "out"];

#[derive(Debug, Clone)]
struct Step {
    kind: u8,
    pick: u8,
    args: Vec<Recipe>,
    kwargs: Vec<(u8, Recipe)>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kwargs = prop::collection::vec((any::<u8>(), recipes()), 0..3);
    let step = (any::<u8>(), any::<u8>(), prop::collection::vec(recipes(), 0..4), kwargs)
        .prop_map(|(kind, pick, args, kwargs)| Step { kind, pick, args, kwargs });
    prop::collection::vec(step, 0..20)
}

fn net(steps: &[Step], returned: &Recipe) -> ModuleTree {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    let graph = tree.graph_mut(root).unwrap();
    let symbols = graph.symbols().clone();
    let mut nodes = vec![graph.placeholder("x").unwrap(), graph.placeholder("*args").unwrap()];
    if steps.len() % 5 == 4 {
        nodes.push(graph.placeholder("self").unwrap());
    }
    for step in steps {
        let mut args: Args = step.args.iter().map(|recipe| recipe.make(&symbols, &nodes)).collect();
        let mut kwargs = Kwargs::new();
        for (key, recipe) in &step.kwargs {
            let key = symbols.intern(KEYS[usize::from(*key) % KEYS.len()]);
            if kwargs.iter().all(|(other, _)| *other != key) {
                kwargs.push((key, recipe.make(&symbols, &nodes)));
            }
        }
        let pick = usize::from(step.pick);
        let (op, target) = match step.kind % 6 {
            0 => (Op::CallMethod, METHODS[pick % METHODS.len()]),
            1 => (Op::CallModule, PATHS[pick % PATHS.len()]),
            2 => (Op::GetAttr, PATHS[pick % PATHS.len()]),
            _ => (Op::CallFunction, FUNCTIONS[pick % FUNCTIONS.len()]),
        };
        if op == Op::CallMethod && args.is_empty() {
            args.push(Argument::Node(nodes[pick % nodes.len()]));
        }
        if op == Op::GetAttr {
            (args, kwargs) = (Args::new(), Kwargs::new());
        }
        // Names that mean something else in code.
        let name = match pick % 16 {
            0 => Some(
                ["self", "self_", "s17", "torch", "inf", "nan", "len", "_operator_not_"][usize::from(step.kind) % 8],
            ),
            _ => None,
        };
        nodes.push(graph.create_node(At::Default, op, target, args, kwargs, name).unwrap());
    }
    graph.output(returned.make(&symbols, &nodes)).unwrap();
    tree
}

const BOTH: ReadableOptions = ReadableOptions { include_stride: true, include_device: true };

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn what_is_printed_reads_back_equal(steps in steps(), returned in recipes()) {
        let tree = net(&steps, &returned);
        let text = code(&tree, tree.root()).unwrap();
        let again = read_code(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        prop_assert_eq!(picture(again.graph(again.root()).unwrap()), picture(tree.graph(tree.root()).unwrap()), "{}", text);
        prop_assert_eq!(code(&again, again.root()).unwrap(), text);
    }

    #[test]
    fn random_text_is_read_or_refused(text in "(def f\\(x\\):\n)?[ -~\n]{0,200}") {
        if let Ok(tree) = read_code(&text) {
            let printed = code(&tree, tree.root()).unwrap();
            prop_assert!(read_code(&printed).is_ok(), "{}\n---\n{}", text, printed);
        }
    }

    #[test]
    fn mutated_code_is_read_or_refused(cuts in prop::collection::vec((any::<u16>(), any::<u8>(), 0u8..4), 1..6), which in 0usize..3) {
        let recorded = [
            include_str!("cases/text/args_code.py"),
            include_str!("cases/text/export_cond_module.py"),
            include_str!("cases/text/symbolic_code.py"),
        ];
        let mut bytes = recorded[which].as_bytes().to_vec();
        for (at, byte, how) in cuts {
            let at = usize::from(at) % bytes.len().max(1);
            if bytes.is_empty() {
                break;
            }
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => {
                    bytes.remove(at);
                }
                _ => bytes.truncate(at.max(1)),
            }
        }
        if let Ok(text) = std::str::from_utf8(&bytes) {
            if let Ok(tree) = read_code(text) {
                code(&tree, tree.root()).unwrap();
                readable(&tree, tree.root(), BOTH).unwrap();
            }
        }
    }
}

#[test]
fn what_nests_too_deep_is_refused_on_a_small_stack() {
    let run = || {
        for (open, close) in [
            ("[", "]"),
            ("(", ")"),
            ("f(", ")"),
            ("-", ""),
            ("not ", ""),
            ("x+", "x"),
            ("x.y", ""),
            ("x**", "x"),
            ("lambda: ", "x"),
            ("x[", "]"),
            ("{1: ", "}"),
            ("f\"{", "}\""),
            ("x if x else ", "x"),
            ("lambda a, b: ", "x"),
            ("f(f\"{[", "]}\")"),
            ("x()", ""),
            ("x[0]", ""),
            ("x; if x: ", ""),
            ("x if x == ", " else x"),
        ] {
            for count in [90, 250, 1_000, 100_000] {
                let text = format!("def f(x):\n    return {}x{}\n", open.repeat(count), close.repeat(count));
                match read_code(&text) {
                    Ok(_) => {}
                    Err(error) => assert!(matches!(error.kind, ErrorKind::Limit | ErrorKind::Parse), "{error}"),
                }
            }
        }
    };
    // Frames of a debug build are several times as large.
    let stack = if cfg!(debug_assertions) { 8 } else { 1 };
    std::thread::Builder::new().stack_size(stack << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn plain_python_becomes_a_graph() {
    let text = "
import torch.nn.functional as F
from torch import sigmoid

def f(x, w, *, scale=2.0):
    \"\"\"A gated layer.\"\"\"
    y = F.linear(x, w) * scale
    a, b = torch.chunk(y, 2, dim=1)
    y = a * sigmoid(b)
    y += x[:, 1:]
    assert y.dim() == 2, 'two dimensions'
    return y, -a.shape[0]
";
    let tree = read_code(text).unwrap();
    let printed = code(&tree, tree.root()).unwrap();
    let expected = "def forward(self, x, w, scale = 2.0):
    linear = torch.nn.functional.linear(x, w);  w = None
    y = linear * scale;  linear = scale = None
    chunk = torch.chunk(y, 2, dim = 1);  y = None
    a = chunk[0]
    b = chunk[1];  chunk = None
    sigmoid = torch.sigmoid(b);  b = None
    y_1 = a * sigmoid;  sigmoid = None
    getitem = x[(slice(None, None, None), slice(1, None, None))];  x = None
    add = y_1 + getitem;  y_1 = getitem = None
    dim = add.dim()
    eq = dim == 2;  dim = None
    _assert = torch._assert(eq, 'two dimensions');  eq = _assert = None
    getattr_1 = a.shape;  a = None
    getitem_1 = getattr_1[0];  getattr_1 = None
    neg = -getitem_1;  getitem_1 = None
    return (add, neg)";
    assert_eq!(printed.trim(), expected);
    lint_all(&tree, tree.root()).unwrap();
}

#[test]
fn a_statement_is_appended_or_nothing_changes() {
    let mut tree = read_code("def f(x):\n    return torch.relu(x)\n").unwrap();
    let root = tree.root();
    let node = append_statement(&mut tree, root, "z = torch.add(relu, x)").unwrap();
    assert_eq!(tree.graph(root).unwrap().name(node), "z");
    let before = picture(tree.graph(root).unwrap());
    let wrongs = [
        "q = torch.add(z, gone)",
        "q = (",
        "return z",
        "",
        "# nothing",
        "if z: pass",
        "q = self.deep.act(self.w + self.w.b)",
    ];
    for wrong in wrongs {
        let error = append_statement(&mut tree, root, wrong).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Parse, "{wrong}: {error}");
        assert_eq!(picture(tree.graph(root).unwrap()), before, "{wrong}");
        let module = tree.get(root).unwrap();
        assert!(module.submodules().is_empty() && module.attributes().is_empty(), "{wrong}");
    }
    // A name that a statement asked for in vain is free.
    let node = append_statement(&mut tree, root, "q = torch.add(z, 1)").unwrap();
    assert_eq!(tree.graph(root).unwrap().name(node), "q");
}
