//! What holds for every call, in every form.

use crate::random_graph::{modules, RandomModule};
use fxir::formats::python::print::code;
use fxir::formats::python::read::read_code;
use fxir::ir::lint::lint_all;
use fxir::ir::{Argument, ModuleTree, NodeId, Op};
use fxir::passes::normalize_args::{normalize_args, Defaults, Form, NormalizeOptions};
use fxir::passes::schema::{known_in, of_function, of_method, Call, Choice};
use proptest::prelude::*;

/// Calls that are known, in some form, with one of the picked literals in each place.
fn known_calls() -> impl Strategy<Value = Vec<String>> {
    let value = prop::sample::select(vec!["x", "y", "1", "0", "2.5", "True", "None", "'mean'", "[1, 2]", "torch.int8"]);
    let callee = prop::sample::select(vec![
        "torch.add(A, B)",
        "torch.add(A, B, alpha = C)",
        "torch.sum(A, B, C)",
        "torch.sum(A, keepdim = B, dim = C)",
        "torch.max(A, B)",
        "torch.std(A, B)",
        "torch.conv2d(A, B, C)",
        "torch.conv2d(A, B, padding = C)",
        "torch.nn.functional.dropout(A, training = B)",
        "torch.nn.functional.cross_entropy(A, B, reduction = C)",
        "torch.ops.aten.sum.dim_IntList(A, B, C)",
        "torch.ops.aten.sum(A, B, C)",
        "torch.ops.aten.add(A, B)",
        "torch.ops.aten.uniform.default(A, B, to = C)",
        "torch.functional.meshgrid(A, B, indexing = C)",
        "torch.div(A, B, rounding_mode = C)",
        "x.view(A, B)",
        "x.mean(A, keepdim = B)",
        "x.to(A)",
        "x.transpose(A, dim1 = B)",
        "torch.clamp(A, B, C)",
        "torch.clamp(A, max = B)",
        "mine.function(A, key = B)",
    ]);
    let call = (callee, value.clone(), value.clone(), value)
        .prop_map(|(callee, a, b, c)| callee.replace('A', a).replace('B', b).replace('C', c));
    prop::collection::vec(call, 1..12)
}

fn tree_of(calls: &[String]) -> ModuleTree {
    let mut text = String::from("def forward(self, x, y):\n");
    for (at, call) in calls.iter().enumerate() {
        text += &format!("    v{at} = {call}\n");
    }
    text += "    return x\n";
    read_code(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn all_options() -> impl Strategy<Value = NormalizeOptions> {
    let defaults = prop::sample::select(vec![Defaults::Keep, Defaults::LeaveOut, Defaults::FillIn]);
    (any::<bool>(), defaults, any::<bool>()).prop_map(|(keyword, defaults, input_for_self)| NormalizeOptions {
        form: if keyword { Form::Keyword } else { Form::Positional },
        defaults,
        input_for_self,
        strict: false,
    })
}

/// What each parameter of each call gets, defaults told: by definition the same in every form.
fn meaning(tree: &ModuleTree) -> Vec<String> {
    let graph = tree.graph(tree.root()).unwrap();
    let mut lines = Vec::new();
    for node in graph.nodes() {
        let found = &graph[node];
        let overloads = match found.op() {
            Op::CallFunction => of_function(graph.target(node)),
            Op::CallMethod => of_method(graph.target(node)),
            _ => None,
        };
        let call = Call { symbols: graph.symbols(), args: found.args(), kwargs: found.kwargs() };
        let Some(Choice::One(schema, bound) | Choice::Alike(schema, bound)) =
            overloads.map(|overloads| overloads.choose(call, known_in(graph)))
        else {
            let plain = |argument: &Argument| format!("{argument:?}");
            lines.push(format!("{} {:?}", graph.target(node), found.args().iter().map(plain).collect::<Vec<_>>()));
            continue;
        };
        let mut line = schema.name.to_owned();
        for (parameter, value) in schema.parameters.iter().zip(&bound.values) {
            use fxir::passes::schema::BoundValue::{Absent, Given, Items};
            let value = match value {
                Given(argument) if parameter.is_default(argument, graph.symbols()) => "default".to_owned(),
                Given(Argument::List(items) | Argument::Tuple(items)) => format!("{items:?}"),
                Given(argument) => format!("{argument:?}"),
                Items(items) => format!("{items:?}"),
                Absent => "default".to_owned(),
            };
            line += &format!(" {}={value}", parameter.name);
        }
        lines.push(line);
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    #[test]
    fn every_form_is_the_same_call(calls in known_calls(), first in all_options(), second in all_options()) {
        let mut tree = tree_of(&calls);
        let root = tree.root();
        let before = meaning(&tree);
        let users = |tree: &ModuleTree| -> Vec<Vec<NodeId>> {
            let graph = tree.graph(root).unwrap();
            graph.nodes().map(|node| graph.users(node).collect()).collect()
        };
        let order = users(&tree);
        normalize_args(&mut tree, root, first).unwrap();
        prop_assert_eq!(lint_all(&tree, root), Ok(()));
        prop_assert_eq!(meaning(&tree), before.clone());
        prop_assert_eq!(users(&tree), order.clone());
        // Twice is once.
        let once = code(&tree, root).unwrap();
        let again = normalize_args(&mut tree, root, first).unwrap();
        prop_assert_eq!(again.changed, 0);
        prop_assert_eq!(code(&tree, root).unwrap(), once);
        // From one form into another.
        normalize_args(&mut tree, root, second).unwrap();
        prop_assert_eq!(meaning(&tree), before);
        prop_assert_eq!(users(&tree), order);
        prop_assert_eq!(lint_all(&tree, root), Ok(()));
    }

    #[test]
    fn random_modules_stay_in_order(RandomModule { mut tree } in modules(40), options in all_options()) {
        let root = tree.root();
        let names = |tree: &ModuleTree| -> Vec<String> {
            let graph = tree.graph(root).unwrap();
            graph.nodes().map(|node| graph.name(node).to_owned()).collect()
        };
        let before = names(&tree);
        let counts = normalize_args(&mut tree, root, options).unwrap();
        prop_assert_eq!(lint_all(&tree, root), Ok(()));
        prop_assert_eq!(names(&tree), before);
        let graph = tree.graph(root).unwrap();
        let is_call = |op| matches!(op, Op::CallFunction | Op::CallMethod | Op::CallModule);
        let calls = graph.nodes().filter(|&node| is_call(graph[node].op())).count();
        prop_assert_eq!(counts.changed + counts.kept + counts.unknown + counts.misfits, calls);
        prop_assert_eq!(normalize_args(&mut tree, root, options).unwrap().changed, 0);
    }
}
