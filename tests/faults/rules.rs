//! What is known of nodes that a rewrite puts in, filters of single rules, and what is told of matches
//! once rules have settled.

use super::fx_line::{net, nodes, rewrite, shown, yields};
use fxir::ir::lint::lint_all;
use fxir::ir::{Argument, ModuleTree, Result, Value};
use fxir::passes::subgraph_matcher::{Binding, MatchCallbacks, Pattern};
use fxir::passes::subgraph_rewriter::{rewrite_to_fixpoint, Replaced, Rewrite, RewriteCallbacks, Rule};

/// Each node of the root but placeholders and the output with its stack trace, or `-`.
fn traces(tree: &ModuleTree) -> String {
    let graph = tree.graph(tree.root()).unwrap();
    let key = graph.symbols().find("stack_trace");
    let trace = |node| match key.and_then(|key| graph[node].meta().entries.get(&key)) {
        Some(Argument::Str(text)) => graph.text(*text),
        _ => "-",
    };
    let inner = graph.nodes().filter(|&node| graph.user_count(node) > 0 && !graph.placeholders().any(|it| it == node));
    inner.map(|node| format!("{}:{}", graph.name(node), trace(node))).collect::<Vec<_>>().join(" ")
}

/// Gives each node named its own name in capitals as a stack trace.
fn trace(tree: &mut ModuleTree, names: &[&str]) {
    let root = tree.root();
    let graph = tree.graph_mut(root).unwrap();
    for name in names {
        let (node, text) = (graph.find_node(name).unwrap(), graph.symbols().intern(&name.to_uppercase()));
        graph.set_meta(node, "stack_trace", Argument::Str(text)).unwrap();
    }
}

#[test]
fn new_nodes_say_where_in_the_users_code_they_come_from() {
    for (graph, traced, pattern, replacement, expected) in [
        // Nodes inside of the replacement, too.
        (
            "x: a = x.softmax(-1); b = a.sum(); return b",
            &["a", "b"][..],
            "x: return x.softmax(-1)",
            "x: e = x.exp(); s = e.sum(-1); return e / s",
            "e:A s:A truediv:A b:B",
        ),
        // A node that is returned says where what it replaces came from; others where the last did.
        (
            "x: a = torch.sin(x); b = torch.cos(x); c = a + b; return c",
            &["a", "b", "c"],
            "x: return torch.sin(x), torch.cos(x)",
            "x: z = torch.polar(x, x); i = z.imag(); r = z.real(); return i, r",
            "z:B i:A r:B c:C",
        ),
        // Of a chain that is replaced the end counts; nodes that know no better say nothing.
        (
            "x: a = x.t(); b = torch.relu(a); c = torch.neg(b); d = torch.abs(c); return d",
            &["b", "c"],
            "x: return torch.neg(torch.relu(x))",
            "x: m = torch.mul(x, -1); return torch.clamp(m, max=0)",
            "a:- m:C clamp:C d:-",
        ),
        // Each match by itself, and what a second match puts upon what the first did.
        (
            "x: a = x.sigmoid(); b = a.sigmoid(); return b",
            &["a", "b"],
            "x: return x.sigmoid()",
            "x: h = x * 0.5; return h.tanh()",
            "h:A tanh:A h_1:B tanh_1:B",
        ),
    ] {
        let mut tree = net(graph);
        trace(&mut tree, traced);
        rewrite(&mut tree, &net(pattern), &net(replacement));
        assert_eq!(traces(&tree), expected, "{graph}");
    }
    // What a replacement says of its own nodes stays; what it returns is known as what it replaces.
    let mut replacement = net("x: h = x * 0.5; return h.tanh()");
    trace(&mut replacement, &["h", "tanh"]);
    let mut tree = net("x: a = x.sigmoid(); b = a.neg(); return b");
    trace(&mut tree, &["a"]);
    rewrite(&mut tree, &net("x: return x.sigmoid()"), &replacement);
    assert_eq!(traces(&tree), "h:H tanh:A b:-");
}

#[test]
fn what_is_known_of_a_returned_node_is_known_of_what_replaces_it() {
    for (graph, old, pattern, replacement, new, bare) in [
        (
            "x: a = x.sigmoid(); return a.neg()",
            "a",
            "x: return x.sigmoid()",
            "x: h = x * 2; return h.tanh()",
            "tanh",
            "h",
        ),
        (
            "x: a = torch.relu(x); b = torch.add(a, 1); return [b]",
            "b",
            "x: return torch.add(torch.relu(x), 1)",
            "x: m = torch.clamp(x, min=0); return m.add(1)",
            "add",
            "m",
        ),
        (
            "x: s = x.split(2); a = s[0]; b = s[1]; return torch.cat([b, a])",
            "b",
            "x: s = x.split(2); return s[0], s[1]",
            "x: c = torch.chunk(x, 2); p = c[0]; q = c[1]; return p, q",
            "q",
            "c",
        ),
    ] {
        let mut tree = net(graph);
        let root = tree.root();
        let [node] = nodes(&tree, [old]);
        let graph = tree.graph_mut(root).unwrap();
        graph.set_value(node, yields([3, 5])).unwrap();
        graph.set_meta(node, "mine", Argument::Int(7)).unwrap();
        graph.set_type_annotation(node, Some("torch.Tensor")).unwrap();
        rewrite(&mut tree, &net(pattern), &net(replacement));
        let found = tree.graph(root).unwrap();
        let [new, bare] = nodes(&tree, [new, bare]);
        let Some(Value::Tensor(told)) = found[new].value().map(|value| &**value) else { panic!("{}", shown(&tree)) };
        assert_eq!(
            told.sizes(),
            yields([3, 5]).as_deref().and_then(|it| match it {
                Value::Tensor(meta) => meta.sizes(),
                _ => None,
            })
        );
        let key = found.symbols().find("mine").unwrap();
        assert!(matches!(found[new].meta().entries[&key], Argument::Int(7)));
        assert_eq!(found[new].type_annotation().map(|text| found.text(text)), Some("torch.Tensor"));
        // Nodes inside compute something else: nothing is known of them.
        assert!(found[bare].value().is_none() && found[bare].meta().entries.get(&key).is_none());
    }
}

/// Says of each rule which nodes its placeholder `x` may be bound to, and counts how often it is asked.
struct Only<'a> {
    allowed: &'a [Option<&'a [&'a str]>],
    asked: Vec<usize>,
}

impl MatchCallbacks for Only<'_> {
    fn filter(&mut self, rule: usize, tree: &ModuleTree, bindings: &[Binding]) -> Result<bool> {
        self.asked[rule] += 1;
        let graph = tree.graph(tree.root())?;
        let name = bindings[0].node().map(|node| graph.name(node)).unwrap_or("");
        Ok(self.allowed[rule].unwrap().contains(&name))
    }

    fn has_filter(&self, rule: usize) -> bool {
        self.allowed[rule].is_some()
    }
}

impl RewriteCallbacks for Only<'_> {}

/// Applies rules once, or until they settle.
fn apply(
    tree: &mut ModuleTree,
    rules: &[[&str; 2]],
    settle: bool,
    callbacks: &mut dyn RewriteCallbacks,
) -> Vec<Replaced> {
    let root = tree.root();
    let trees: Vec<[ModuleTree; 2]> = rules.iter().map(|rule| rule.map(net)).collect();
    let patterns: Vec<Pattern<'_>> = trees.iter().map(|[it, _]| Pattern::new(it, it.root()).unwrap()).collect();
    let rules: Vec<Rule<'_>> = patterns
        .iter()
        .zip(&trees)
        .map(|(pattern, [_, to])| Rule { replacement: Some((to, to.root())), ..Rule::new(pattern) })
        .collect();
    let replaced = match settle {
        true => rewrite_to_fixpoint(tree, root, &rules, 20, callbacks).unwrap(),
        false => Rewrite::compute(tree, root, &rules, callbacks).unwrap().apply(tree).unwrap(),
    };
    assert_eq!(lint_all(tree, root), Ok(()));
    replaced
}

#[test]
fn each_rule_has_a_filter_of_its_own() {
    let rules = [
        ["x: return torch.relu(x)", "x: return torch.exp(x)"],
        ["x: return torch.neg(x)", "x: return torch.abs(x)"],
        ["x: return torch.neg(x)", "x: return torch.sin(x)"],
    ];
    let text = "x, y: a = torch.relu(x); b = torch.relu(y); c = torch.neg(a); d = torch.neg(b); e = torch.neg(x); \
                return c, d, e";
    for (allowed, expected, counts) in [
        // No filter: the first rule that fits.
        (
            [None, None, None],
            "x, y: exp = torch.exp(x); exp_1 = torch.exp(y); abs_1 = torch.abs(exp); abs_2 = torch.abs(exp_1); \
             abs_3 = torch.abs(x); return (abs_1, abs_2, abs_3)",
            [2, 3, 0],
        ),
        // What the filter of one rule rejects another may take.
        (
            [Some(&["x"][..]), Some(&["b"][..]), None],
            "x, y: b = torch.relu(y); exp = torch.exp(x); sin = torch.sin(exp); abs_1 = torch.abs(b); \
             sin_1 = torch.sin(x); return (sin, abs_1, sin_1)",
            [1, 1, 2],
        ),
        (
            [Some(&[][..]), Some(&[][..]), Some(&["a", "x"][..])],
            "x, y: a = torch.relu(x); b = torch.relu(y); d = torch.neg(b); sin = torch.sin(a); sin_1 = torch.sin(x); \
             return (sin, d, sin_1)",
            [0, 0, 2],
        ),
    ] {
        let mut tree = net(text);
        let mut only = Only { allowed: &allowed, asked: vec![0; 3] };
        let replaced = apply(&mut tree, &rules, false, &mut only);
        assert_eq!(shown(&tree), expected);
        assert_eq!(replaced.iter().map(|it| it.matches.len()).collect::<Vec<_>>(), counts);
        let asked: Vec<bool> = only.asked.iter().map(|&count| count > 0).collect();
        assert_eq!(asked, allowed.map(|it| it.is_some()));
    }
    // Until they settle, the filter is asked in every round.
    let rules = [["x: return torch.neg(torch.neg(x))", "x: return torch.neg(x)"], rules[0]];
    let text = "x, y: a = torch.neg(x); b = torch.neg(a); c = torch.neg(b); d = torch.neg(y); e = torch.neg(d); \
                f = torch.relu(c); return f, e";
    for (allowed, expected) in [
        (
            [Some(&["x"][..]), None],
            "x, y: d = torch.neg(y); e = torch.neg(d); neg_1 = torch.neg(x); exp = torch.exp(neg_1); return (exp, e)",
        ),
        (
            [Some(&["y"][..]), Some(&[][..])],
            "x, y: a = torch.neg(x); b = torch.neg(a); c = torch.neg(b); f = torch.relu(c); neg = torch.neg(y); \
             return (f, neg)",
        ),
        (
            [None, Some(&["c"][..])],
            "x, y: neg_1 = torch.neg(y); neg_2 = torch.neg(x); exp = torch.exp(neg_2); return (exp, neg_1)",
        ),
    ] {
        let mut tree = net(text);
        apply(&mut tree, &rules, true, &mut Only { allowed: &allowed, asked: vec![0; 2] });
        assert_eq!(shown(&tree), expected, "{allowed:?}");
    }
}

/// What the first placeholder of each match is bound to at the end.
fn bound(tree: &ModuleTree, replaced: &Replaced) -> Vec<String> {
    let graph = tree.graph(tree.root()).unwrap();
    let told = |bindings: &[Binding]| match &bindings[0] {
        Binding::None => "nothing".to_owned(),
        Binding::Argument(argument) => format!("{argument:?}"),
        Binding::Node { node, .. } => {
            assert!(graph.contains(*node));
            graph.name(*node).to_owned()
        }
    };
    replaced.matches.iter().map(told).collect()
}

#[test]
fn when_rules_have_settled_placeholders_are_bound_to_what_is_there_or_to_nothing() {
    for (text, rules, expected, first, second) in [
        // `a` is inside of what the second rule replaces: nothing took its place.
        (
            "x: a = torch.neg(x); b = torch.abs(a); c = torch.relu(b); return c",
            [
                ["x: return torch.abs(x)", "x: return torch.exp(x)"],
                ["x: return torch.relu(torch.exp(torch.neg(x)))", "x: return torch.sin(x)"],
            ],
            "x: sin = torch.sin(x); return sin",
            &["nothing"][..],
            &["x"][..],
        ),
        // It was returned by what replaced it, and so has a successor.
        (
            "x: a = torch.neg(x); b = torch.abs(a); return b, a",
            [
                ["x: return torch.abs(x)", "x: return torch.exp(x)"],
                ["x: a = torch.neg(x); return torch.exp(a), a", "x: return torch.sin(x), torch.cos(x)"],
            ],
            "x: sin = torch.sin(x); cos = torch.cos(x); return (sin, cos)",
            &["cos"],
            &["x"],
        ),
        // Its successor is an input, by a rule that takes away.
        (
            "x: a = torch.neg(x); b = torch.neg(a); c = torch.abs(b); return c",
            [
                ["x: return torch.neg(torch.neg(x))", "x: return x"],
                ["x: return torch.abs(x)", "x: return torch.relu(x)"],
            ],
            "x: relu = torch.relu(x); return relu",
            &["x"],
            &["x"],
        ),
        // Two matches were bound to one node that is gone, and one was bound to what is still there.
        (
            "x: a = torch.neg(x); b = torch.abs(a); c = torch.abs(a); d = b + c; e = torch.abs(d); return e",
            [
                ["x: return torch.abs(x)", "x: return torch.exp(x)"],
                ["x: n = torch.neg(x); return torch.exp(n) + torch.exp(n)", "x: return torch.cosh(x)"],
            ],
            "x: cosh = torch.cosh(x); exp_2 = torch.exp(cosh); return exp_2",
            &["nothing", "nothing", "cosh"],
            &["x"],
        ),
    ] {
        let mut tree = net(text);
        let replaced = apply(&mut tree, &rules, true, &mut ());
        assert_eq!(shown(&tree), expected);
        assert_eq!(bound(&tree, &replaced[0]), first, "{text}");
        assert_eq!(bound(&tree, &replaced[1]), second, "{text}");
    }
}
