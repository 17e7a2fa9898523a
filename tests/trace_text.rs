//! Tracing text beyond what torch records: rewrites, what stays a call, errors in the user's words, limits.

use fxir::formats::python::print::code;
use fxir::formats::python::trace::{trace_code, Autowrap, TraceOptions};
use fxir::ir::{Argument, Attribute, Error, ErrorKind, Kwargs, ModuleTree, NewModule, Op};
use fxir::trace::{Operation, Rewrite};
use proptest::prelude::*;

fn trace(text: &str) -> Result<String, Error> {
    traced(text, &TraceOptions::default(), Vec::new())
}

fn traced(text: &str, options: &TraceOptions<'_>, rewrites: Vec<Box<Rewrite>>) -> Result<String, Error> {
    let tree = trace_code(text, options, rewrites)?;
    let printed = code(&tree, tree.root())?;
    Ok(printed.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n"))
}

/// The error, and the place that it names.
fn refused(text: &str) -> (Error, usize, usize) {
    let error = trace(text).unwrap_err();
    let place = error.place.unwrap_or_else(|| panic!("{error} has no place"));
    (error, place.line, place.column)
}

#[test]
fn control_flow_on_a_value_is_told_in_the_users_words() {
    let cases = [
        ("def f(x):\n    if x.sum() > 0:\n        return x\n    return -x\n", "`x.sum() > 0`", 2, 8),
        ("def f(x):\n    return x if x.any() else -x\n", "`x.any()`", 2, 17),
        ("def f(x, y):\n    return x and y\n", "`x`", 2, 12),
        ("def f(x):\n    while x.max() < 3:\n        x = x + 1\n    return x\n", "`x.max() < 3`", 2, 11),
        ("def f(x):\n    for row in x:\n        pass\n", "how much `x` holds", 2, 16),
        ("def f(x):\n    for i in range(x.shape[0]):\n        pass\n", "how far a range goes", 2, 14),
        ("def g(t):\n    return not t\ndef f(x):\n    return g(x + 1)\n", "`not t`", 2, 12),
        ("def f(x):\n    return x.view(*x.shape)\n", "`*x.shape` holds", 2, 19),
        ("def f(x):\n    return int(x)\n", "`int` needs a number", 2, 12),
        ("def f(x):\n    try:\n        return x\n    finally:\n        pass\n", "`try`", 2, 5),
        ("def f(x):\n    with open('a') as b:\n        return x\n", "the name `open` is not defined", 2, 10),
        ("def f(x):\n    return y\n", "the name `y` is not defined", 2, 12),
        ("def f(x):\n    return torch.nn.Linear(2, 2)(x)\n", "modules have to be members", 2, 12),
        ("def f(x:\n    return x\n", "", 2, 5),
        ("x = 3\n", "nothing to trace", 0, 0),
    ];
    for (text, message, line, column) in cases {
        if line == 0 {
            assert!(trace(text).unwrap_err().message.contains(message), "{text}");
            continue;
        }
        let (error, at, col) = refused(text);
        assert!(error.message.contains(message), "{text}{error}");
        assert_eq!((error.kind, at, col), (ErrorKind::Parse, line, column), "{text}{error}");
        assert!(error.message.lines().last().is_some_and(|caret| caret.trim() == "^"), "{error}");
    }
}

#[test]
fn every_operation_passes_through_the_rewrites() {
    let text =
        "def h(x):\n    return torch.selu(x) + 1\ndef f(x):\n    return h(x).relu() * torch.dropout(x, 0.5, True)\n";
    let rewrites: Vec<Box<Rewrite>> = vec![
        Box::new(|tracer, operation| match operation.target.as_str() {
            "torch.selu" => {
                let target = "torch.elu".to_owned();
                let kwargs = Kwargs::new();
                tracer
                    .record(Operation {
                        op: Op::CallFunction,
                        target,
                        args: operation.args.clone(),
                        kwargs,
                        name: None,
                    })
                    .map(Some)
            }
            "torch.dropout" => Ok(operation.args.first().cloned()),
            // A constant stands for the operation, and counts on.
            "_operator.add" => Ok(Some(Argument::Int(5))),
            _ => Ok(None),
        }),
        Box::new(|_, operation| match operation.target.as_str() {
            "torch.selu" => Err(Error::new(ErrorKind::Unsupported, "the first rewrite has to see it")),
            _ => Ok(None),
        }),
    ];
    let text_of_constant = text.replace("h(x).relu()", "(h(x) + 2)");
    let printed = traced(&text_of_constant, &TraceOptions::default(), rewrites).unwrap();
    assert_eq!(printed, "def forward(self, x):\nelu = torch.elu(x);  elu = None\nmul = 7 * x;  x = None\nreturn mul");
}

#[test]
fn a_rewrite_that_fails_stops_the_trace_where_it_is() {
    let refuse: Box<Rewrite> = Box::new(|_, operation| match operation.target.as_str() {
        "torch.relu" => Err(Error::new(ErrorKind::Unsupported, "relu has no kernel")),
        _ => Ok(None),
    });
    let error = traced("def f(x):\n    y = x + 1\n    return torch.relu(y)\n", &TraceOptions::default(), vec![refuse])
        .unwrap_err();
    assert!(error.message.starts_with("relu has no kernel"), "{error}");
    assert_eq!(error.place.map(|place| (place.line, place.column)), Some((3, 12)));
    let stop: Box<Rewrite> = Box::new(|_, _| Err(Error::new(ErrorKind::Callback(7), "stopped")));
    let error = traced("def f(x):\n    return x + 1\n", &TraceOptions::default(), vec![stop]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Callback(7));
}

#[test]
fn functions_are_inlined_or_stay_calls_as_asked() {
    let text = "def h(x):\n    return x * 2\ndef g(x):\n    return h(x) + 1\ndef f(x):\n    return g(h(x))\n";
    let inlined = "def forward(self, x):\nmul = x * 2;  x = None\nmul_1 = mul * 2;  mul = None\nadd = mul_1 + 1;  mul_1 = None\nreturn add";
    assert_eq!(trace(text).unwrap(), inlined);
    let named = |names| TraceOptions { autowrap_functions: names, ..TraceOptions::default() };
    let leaf = "torch.fx._symbolic_trace.wrap(\"h\")\ndef forward(self, x):\nh = globals()[\"h\"](x);  x = None\nh_1 = globals()[\"h\"](h);  h = None\nadd = h_1 + 1;  h_1 = None\nreturn add";
    assert_eq!(traced(text, &named(Autowrap::Named(&["h"])), Vec::new()).unwrap(), leaf);
    assert_eq!(trace(&format!("wrap('h')\n{text}")).unwrap(), leaf);
    assert_eq!(trace(&text.replacen("def h", "@torch.fx.wrap\ndef h", 1)).unwrap(), leaf);
    let all = traced(text, &named(Autowrap::All), Vec::new()).unwrap();
    assert!(all.contains("g(h)") || all.contains("globals()[\"g\"](h)"), "{all}");
    let net = "class Block(torch.nn.Module):\n    def forward(self, x):\n        return x * 2\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return self.block(x)\n";
    let mut members = ModuleTree::new("Net");
    let root = members.root();
    members.add_module(root, "block", "mine.Block", NewModule::Leaf).unwrap();
    for (names, expected) in
        [(Autowrap::Declared, "mul = x * 2"), (Autowrap::Named(&["Block"]), "block = self.block(x)")]
    {
        let options = TraceOptions { members: Some((&members, root)), ..named(names) };
        let printed = traced(net, &options, Vec::new()).unwrap();
        assert!(printed.contains(expected), "{printed}");
    }
    let entry = TraceOptions { entry: Some("g"), ..TraceOptions::default() };
    assert_eq!(traced(text, &entry, Vec::new()).unwrap().lines().count(), 4);
    let missing = TraceOptions { entry: Some("k"), ..TraceOptions::default() };
    assert_eq!(traced(text, &missing, Vec::new()).unwrap_err().kind, ErrorKind::Parse);
    let len = trace("wrap('len')\ndef f(x):\n    return len(x)\n").unwrap();
    assert_eq!(
        len,
        "torch.fx._symbolic_trace.wrap(\"len\")\ndef forward(self, x):\nlen_1 = len(x);  x = None\nreturn len_1"
    );
}

#[test]
fn without_a_module_the_text_tells_what_members_are() {
    let text = "class Net(torch.nn.Module):\n    def forward(self, x):\n        x = self.layers[1](self.norm.inner(x)) + self.w + self.w\n        return x.view(self.bias.shape) * self.bias[0]\n";
    let tree = trace_code(text, &TraceOptions::default(), Vec::new()).unwrap();
    let graph = tree.graph(tree.root()).unwrap();
    let nodes: Vec<String> =
        graph.nodes().map(|node| format!("{} {}", graph[node].op().name(), graph.target(node))).collect();
    let expected = [
        "placeholder x",
        "call_module norm.inner",
        "call_module layers.1",
        "get_attr w",
        "call_function _operator.add",
        "call_function _operator.add",
        "get_attr bias",
        "call_function builtins.getattr",
        "call_method view",
        "call_function _operator.getitem",
        "call_function _operator.mul",
        "output output",
    ];
    assert_eq!(nodes, expected);
    let unknown = "class Net(torch.nn.Module):\n    def forward(self, x):\n        if self.skip is None:\n            return x\n        return self.skip(x)\n";
    let (error, line, _) = refused(unknown);
    assert!(error.message.contains("`self.skip` is there is not known: give the module") && line == 3, "{error}");
}

#[test]
fn devices_and_keywords_are_not_mixed_up() {
    for (spelled, expected) in [
        ("torch.device(index=1, type='cuda')", "device(type='cuda', index=1)"),
        ("torch.device('cuda', 1)", "device(type='cuda', index=1)"),
        ("torch.device('cpu', None)", "device(type='cpu')"),
    ] {
        let printed = trace(&format!("def f(x):\n    return x.to({spelled})\n")).unwrap();
        assert!(printed.contains(&format!("x.to({expected})")), "{printed}");
    }
    // What would be another result is refused.
    assert!(trace("def f(x):\n    return x * max([1, -3], key=abs)\n").is_err());
    assert!(trace("def f(x):\n    return x.to(torch.device(index=1))\n").is_err());
}

#[test]
fn constants_of_a_module_decide_branches() {
    let text = "class Net(torch.nn.Module):\n    def forward(self, x):\n        for i in range(self.depth):\n            x = self.block(x) if self.use_block else x + i\n        return x\n";
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    tree.add_module(root, "block", "torch.nn.modules.activation.ReLU", NewModule::Leaf).unwrap();
    tree.add_module(root, "unused", "torch.nn.modules.activation.ReLU", NewModule::Leaf).unwrap();
    for (use_block, expected) in [(true, ["block", "block"]), (false, ["_operator.add", "_operator.add"])] {
        tree.set_attribute(root, "depth", Attribute::Value(Argument::Int(2))).unwrap();
        tree.set_attribute(root, "use_block", Attribute::Value(Argument::Bool(use_block))).unwrap();
        let options = TraceOptions { members: Some((&tree, root)), ..TraceOptions::default() };
        let made = trace_code(text, &options, Vec::new()).unwrap();
        let graph = made.graph(made.root()).unwrap();
        let targets: Vec<&str> = graph.nodes().map(|node| graph.target(node)).collect();
        assert_eq!(targets[1..3], expected);
        assert_eq!(made.resolve(made.root(), "block").is_some(), use_block);
        assert!(made.resolve(made.root(), "unused").is_none());
    }
    let error = trace_code(
        "class Net:\n    def forward(self, x):\n        return self.gone(x)\n",
        &TraceOptions { members: Some((&tree, root)), ..TraceOptions::default() },
        Vec::new(),
    );
    assert!(error.unwrap_err().message.starts_with("the module has no member `gone`"));
    let more = TraceOptions { members: Some((&tree, root)), more_members: true, ..TraceOptions::default() };
    assert!(
        trace_code("class Net:\n    def forward(self, x):\n        return self.gone(x)\n", &more, Vec::new()).is_ok()
    );
}

/// What would run for ever, or as deep as the stack is, on a stack of 1 MB (4 MB in a debug build,
/// whose frames are larger).
#[test]
fn what_runs_too_long_or_too_deep_is_refused_on_a_small_stack() {
    let deep = |open: &str, close: &str, depth: usize| {
        format!("def f(x):\n    return {}x{}\n", open.repeat(depth), close.repeat(depth))
    };
    let blocks = |depth: usize| {
        let mut text = "def f(x):\n".to_owned();
        for level in 1..=depth {
            text.push_str(&" ".repeat(level));
            text.push_str("if True:\n");
        }
        text + &" ".repeat(depth + 1) + "return x\n"
    };
    let hostile = [
        "def f(x):\n    while True:\n        pass\n".to_owned(),
        "def f(x):\n    for i in range(10 ** 18):\n        pass\n".to_owned(),
        "def f(x):\n    return f(x)\n".to_owned(),
        "def g(x):\n    return h(x)\ndef h(x):\n    return g(x)\ndef f(x):\n    return g(x)\n".to_owned(),
        "def f(x):\n    return [0] * 10 ** 15\n".to_owned(),
        "def f(x):\n    return 'ab' * 10 ** 15\n".to_owned(),
        "def f(x):\n    s = 'abcdefgh' * 1000\n    for i in range(60):\n        s = s + s\n    return x\n".to_owned(),
        "def f(x):\n    l = []\n    l.append(l)\n    return l\n".to_owned(),
        "def f(x):\n    t = ()\n    for i in range(500000):\n        t = (t,)\n    return x, t\n".to_owned(),
        "def f(x):\n    l = [x]\n    for i in range(60):\n        l = [l, l]\n    return l\n".to_owned(),
        "N = N + 1\ndef f(x):\n    return N\n".to_owned(),
        deep("(", ")", 100_000),
        deep("-", "", 100_000),
        deep("torch.relu(", ")", 100_000),
        deep("lambda a, b: ", "", 100_000),
        deep("x if x else ", "", 100_000),
        format!("def f(x):\n    return f\"{}\"\n", "{[".repeat(20_000)),
        format!("def f(x):\n    return x{}\n", "()".repeat(100_000)),
        format!("def f(x):\n    return x{}\n", ".a".repeat(100_000)),
        blocks(1_000),
    ];
    let stack = if cfg!(debug_assertions) { 4 << 20 } else { 1 << 20 };
    let run = move || {
        for text in &hostile {
            let error = trace(text).expect_err(&text[..text.len().min(80)]);
            let shown = &text[..text.len().min(80)];
            assert!(matches!(error.kind, ErrorKind::Limit | ErrorKind::Parse), "{shown}: {error}");
        }
        // As deep as the limits let it.
        for text in [deep("(", ",)", 60), deep("torch.relu(", ")", 90), deep("- ", "", 200), blocks(90)] {
            trace(&text).unwrap_or_else(|error| panic!("{}: {error}", &text[..80]));
        }
        let chain = format!("def f(x):\n    return x{}\n", " + 1".repeat(200));
        assert!(trace(&chain).is_ok());
    };
    std::thread::Builder::new().stack_size(stack).spawn(run).unwrap().join().unwrap();
}

#[test]
fn indented_text_and_logs_are_read() {
    let expected = "def forward(self, x):\nadd = x + 1;  x = None\nreturn add";
    assert_eq!(trace("    def f(x):\n        return x + 1\n").unwrap(), expected);
    assert_eq!(trace("\n\n# a comment\nimport torch\n\ndef f(x):\n\n    return x + 1").unwrap(), expected);
    let (error, line, column) = refused("    def f(x):\n        return x if x else 1\n");
    assert_eq!((line, column), (2, 21), "{error}");
}

const WORDS: [&str; 58] = [
    "x",
    "y",
    "f",
    "g",
    "self",
    "self.a",
    "torch.relu",
    "F.relu",
    "torch",
    "1",
    "-2",
    "0",
    "1.5",
    "'s'",
    "None",
    "True",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ",",
    ":",
    "=",
    "+",
    "-",
    "*",
    "**",
    "/",
    "//",
    "%",
    "@",
    "<",
    "==",
    " is ",
    " in ",
    " not ",
    " and ",
    " or ",
    " if ",
    " else ",
    "for i in range(3):",
    "while x:",
    "if 1:",
    "return ",
    "lambda a: ",
    "len",
    "sum",
    "list",
    "append",
    ".",
    "\n    ",
    "\n        ",
    "\n",
    "def g(a, b=1, *c, **d):",
    "class C:",
    "f'{x}'",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_text_is_traced_or_refused(words in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..40)) {
        let text = format!("def f(x, y):\n    {}\n    return x\n", words.concat());
        if let Err(error) = trace(&text) {
            prop_assert!(matches!(error.kind, ErrorKind::Parse | ErrorKind::Limit), "{text}\n{error}");
        }
    }

    /// Straight code over random operators: the graph computes in order what Python would.
    #[test]
    fn constants_fold_and_values_are_recorded(a in -20i64..20, b in 1i64..20, c in -5i64..5) {
        let text = format!("def f(x):\n    a = {a}\n    b = {b}\n    n = (a // b, a % b, a * b - {c}, -a)\n    return x * n[0] + n[1] - n[2] * x + n[-1]\n");
        let (quotient, rest) = (a.div_euclid(b), a.rem_euclid(b));
        let expected = format!(
            "def forward(self, x):\nmul = x * {quotient}\nadd = mul + {rest};  mul = None\nmul_1 = {} * x;  x = None\nsub = add - mul_1;  add = mul_1 = None\nadd_1 = sub + {};  sub = None\nreturn add_1",
            a * b - c, -a
        );
        prop_assert_eq!(trace(&text).unwrap(), expected);
    }
}
