//! Faults of `replace_pattern`.

use super::fx_line::{net, net_with, nodes, rewrite, rewrites, shown, yields, Is};
use fxir::ir::{ModuleTree, NodeId, Result, Value};
use fxir::passes::subgraph_matcher::{Binding, Filter, MatchCallbacks, MatchOptions};
use fxir::passes::subgraph_rewriter::{replace_pattern, Replaced, RewriteCallbacks};

/// The names that each match's replacement has in the graph.
fn replacements(tree: &ModuleTree, replaced: &Replaced) -> Vec<String> {
    let graph = tree.graph(tree.root()).unwrap();
    let names = |nodes: &[NodeId]| nodes.iter().map(|&node| graph.name(node)).collect::<Vec<_>>().join(" ");
    (0..replaced.matches.len()).map(|index| names(replaced.replacements(index).unwrap())).collect()
}

/// https://github.com/pytorch/pytorch/pull/66442
#[test]
fn fault_016_each_node_of_a_chain_is_replaced() {
    rewrites(&[
        [
            "x: return torch.sigmoid(torch.sigmoid(torch.sigmoid(x)))",
            "x: return torch.sigmoid(x)",
            "x: return torch.exp(x)",
            "x: exp = torch.exp(x); exp_1 = torch.exp(exp); exp_2 = torch.exp(exp_1); return exp_2",
        ],
        [
            "x: a = x.clamp(min=0); b = a.clamp(min=0); return b.clamp(min=0)",
            "x: return x.clamp(min=0)",
            "x: return torch.relu(x) * 1",
            "x: relu = torch.relu(x); mul = relu * 1; relu_1 = torch.relu(mul); mul_1 = relu_1 * 1; \
             relu_2 = torch.relu(mul_1); mul_2 = relu_2 * 1; return mul_2",
        ],
        [
            "x, y: a = x + y; b = a + y; c = y + b; return [c]",
            "x, y: return x + y",
            "x, y: return torch.add(y, x)",
            "x, y: add = torch.add(y, x); add_1 = torch.add(y, add); add_2 = torch.add(add_1, y); \
             return [add_2]",
        ],
    ]);
}

/// https://github.com/pytorch/pytorch/issues/97817
#[test]
fn fault_017_a_replacement_that_is_its_input_adds_no_nodes() {
    for (graph, pattern, replacement, expected) in [
        (
            "x: a = x.neg(); b = torch.dropout(a, 0.5, False); return b.abs()",
            "x: return torch.dropout(x, 0.5, False)",
            "x: return x",
            "x: a = x.neg(); abs_1 = a.abs(); return abs_1",
        ),
        (
            "x: a = x.neg(); b = a.t(); return b.t(), a",
            "x: return x.t().t()",
            "x: return x",
            "x: a = x.neg(); return (a, a)",
        ),
        (
            "x, y: a = torch.maximum(x, y); b = a + 0; return torch.cat([b, x], dim=a * 1)",
            "x: return x + 0, x * 1",
            "x: return x, x",
            "x, y: a = torch.maximum(x, y); cat = torch.cat([a, x], dim = a); return cat",
        ),
    ] {
        let mut tree = net(graph);
        let replaced = rewrite(&mut tree, &net(pattern), &net(replacement));
        assert_eq!((shown(&tree).as_str(), replacements(&tree, &replaced)), (expected, vec![String::new()]));
    }
    // Two ways through each of many steps: a walk over all paths would not end.
    let steps: Vec<String> = (0..2_000).map(|step| format!("x{} = x{step} + x{step}", step + 1)).collect();
    let text = format!("x0: {}; y = x2000 * 1; return y", steps.join("; "));
    let mut tree = net(&text);
    let replaced = rewrite(&mut tree, &net("x: return x * 1"), &net("x: return x"));
    assert_eq!(replacements(&tree, &replaced), [""]);
    assert_eq!(tree.graph(tree.root()).unwrap().len(), 2_002);
}

/// https://github.com/pytorch/pytorch/issues/98974
#[test]
fn fault_018_chains_of_what_does_nothing_go_and_matches_name_live_nodes() {
    for (graph, pattern, count, expected) in [
        (
            "x: a = x.contiguous(); b = a.contiguous(); c = b.contiguous(); return c.relu()",
            "x: return x.contiguous()",
            3,
            "x: relu = x.relu(); return relu",
        ),
        (
            "x: a = x.neg(); b = a + 0; c = b + 0; d = c + 0; return [d, c, b]",
            "x: return x + 0",
            3,
            "x: a = x.neg(); return [a, a, a]",
        ),
        (
            "x: a = torch.t(x); b = torch.t(a); c = torch.t(b); d = torch.t(c); return d",
            "x: return torch.t(torch.t(x))",
            2,
            "x: return x",
        ),
    ] {
        let mut tree = net(graph);
        let replaced = rewrite(&mut tree, &net(pattern), &net("x: return x"));
        assert_eq!((replaced.matches.len(), shown(&tree).as_str()), (count, expected), "{graph}");
        let live = tree.graph(tree.root()).unwrap();
        for bindings in replaced.matches.iter() {
            assert!(bindings[0].node().is_some_and(|node| live.contains(node)), "{graph}");
        }
    }
}

/// https://github.com/pytorch/pytorch/issues/68502
#[test]
fn fault_019_unused_placeholders_stay() {
    rewrites(&[
        [
            "x, z: return torch.neg(x)",
            "x: return torch.neg(x)",
            "x: return torch.abs(x)",
            "x, z: abs_1 = torch.abs(x); return abs_1",
        ],
        // Used before the rewrite, and not after.
        [
            "x, z, k = 2: return torch.add(x, z, alpha=k)",
            "x, z, k: return torch.add(x, z, alpha=k)",
            "x, z, k: return torch.relu(x)",
            "x, z, k = 2: relu = torch.relu(x); return relu",
        ],
        [
            "z, x, *rest, flag = None: return x.exp().log()",
            "x: return x.exp().log()",
            "x: return x",
            "z, x, *rest, flag = None: return x",
        ],
    ]);
}

/// https://github.com/pytorch/pytorch/issues/55863
#[test]
fn fault_020_what_nothing_uses_is_rewritten_too() {
    rewrites(&[
        [
            "x: a = x.dequantize(); b = a.sigmoid(); c = b.to(torch.float16); return None",
            "x, h: return x.dequantize().sigmoid().to(h)",
            "x, h: return x.sigmoid()",
            "x: sigmoid = x.sigmoid(); return None",
        ],
        [
            "x: a = torch.neg(torch.abs(x)); return ()",
            "x: return torch.neg(torch.abs(x))",
            "x: return torch.abs(x)",
            "x: abs_2 = torch.abs(x); return ()",
        ],
        [
            "x: a = x.split(2); b = a[0]; c = a[1]; return b",
            "x: s = x.split(2); return s[0], s[1]",
            "x: return x[:2], x[2:]",
            "x: getitem = x[slice(None, 2, None)]; getitem_1 = x[slice(2, None, None)]; return getitem",
        ],
    ]);
}

/// The nodes of a replacement are told what they yield: what the first input does.
struct Tell;

impl MatchCallbacks for Tell {}

impl RewriteCallbacks for Tell {
    fn has_meta_functions(&self, _: usize) -> bool {
        true
    }

    fn fill_in_meta(&mut self, _: usize, mut replacement: ModuleTree) -> Result<ModuleTree> {
        let root = replacement.root();
        let graph = replacement.graph_mut(root)?;
        for node in graph.nodes().collect::<Vec<_>>() {
            let first = graph.input_nodes(node).next();
            if let Some(value) = first.and_then(|first| graph[first].value().cloned()) {
                graph.set_value(node, Some(value))?;
            }
        }
        Ok(replacement)
    }
}

/// Replaces with the caller's word.
fn rewrite_with(
    tree: &mut ModuleTree,
    pattern: &str,
    replacement: &str,
    callbacks: &mut dyn RewriteCallbacks,
) -> usize {
    let (root, pattern, replacement) = (tree.root(), net(pattern), net(replacement));
    let [pattern, replacement] = [&pattern, &replacement].map(|tree| (tree, tree.root()));
    replace_pattern(tree, root, pattern, replacement, &MatchOptions::default(), callbacks).unwrap().matches.len()
}

/// https://github.com/pytorch/pytorch/issues/187945
#[test]
fn fault_022_new_nodes_know_what_they_yield() {
    // A filter that passes matches all of whose nodes yield a tensor.
    let knows = |tree: &ModuleTree, bindings: &[Binding]| {
        let graph = tree.graph(tree.root())?;
        let told = |node: NodeId| matches!(graph[node].value().map(|value| value.as_ref()), Some(Value::Tensor(_)));
        Ok(bindings.iter().filter_map(Binding::node).all(told))
    };
    for (graph, first, then, expected) in [
        (
            "x: add = x + 1; relu = torch.relu(add); return relu",
            ["x: return torch.relu(x)", "x: return torch.clamp(x, min=0)"],
            ["x: return torch.clamp(x, min=0)", "x: return torch.abs(x)"],
            "x: add = x + 1; abs_1 = torch.abs(add); return abs_1",
        ),
        (
            "x: a = torch.sin(x); b = torch.cos(x); return a * b",
            ["x: return torch.sin(x), torch.cos(x)", "x: return torch.cos(x), torch.sin(x)"],
            ["x: return torch.cos(x), torch.sin(x)", "x: return x + 1, x + 2"],
            "x: add = x + 1; add_1 = x + 2; mul = add * add_1; return mul",
        ),
        // Inner nodes too, where the caller tells what they yield.
        (
            "x: a = x.softmax(-1); return a.sum()",
            ["x: return x.softmax(-1)", "x: e = x.exp(); return e / e.sum(-1)"],
            ["x: e = x.exp(); return e / e.sum(-1)", "x: return x.softmax(dim=-1)"],
            "x: softmax = x.softmax(dim = -1); sum_1 = softmax.sum(); return sum_1",
        ),
    ] {
        let mut tree = net(graph);
        let root = tree.root();
        let all = tree.graph_mut(root).unwrap();
        for node in all.nodes().collect::<Vec<_>>() {
            all.set_value(node, yields([2, 3])).unwrap();
        }
        assert_eq!(rewrite_with(&mut tree, first[0], first[1], &mut Tell), 1, "{graph}");
        assert_eq!(rewrite_with(&mut tree, then[0], then[1], &mut Filter(knows)), 1, "{graph}");
        assert_eq!(shown(&tree), expected);
    }
}

/// https://github.com/pytorch/pytorch/issues/148751
#[test]
fn fault_023_replacements_stand_behind_all_that_they_need() {
    rewrites(&[
        // The first user of relu stands before what sigmoid is taken of.
        [
            "x, w: a = torch.relu(x); u = torch.neg(a); v = torch.exp(w); c = torch.sigmoid(v); return u, c",
            "x, y: return torch.relu(x), torch.sigmoid(y)",
            "x, y: m = x + y; return m, m * 2",
            "x, w: v = torch.exp(w); m = x + v; mul = m * 2; u = torch.neg(m); return (u, mul)",
        ],
        [
            "x: a = x.sin(); b = a.neg(); c = self.w; d = c.cos(); return b, d",
            "x, y: return x.sin(), y.cos()",
            "x, y: s = torch.stack([x, y]); return s[0], s[1]",
            "x: c = self.w; s = torch.stack([x, c]); getitem = s[0]; getitem_1 = s[1]; b = getitem.neg(); \
             return (b, getitem_1)",
        ],
        [
            "x: a = x.split(2, dim=0); b = a[0]; c = b.neg(); d = x.exp(); e = a[1]; f = torch.add(e, d); \
             return c, f",
            "x, y: s = x.split(2, dim=0); return s[0], torch.add(s[1], y)",
            "x, y: m = torch.mm(x, y); return m, torch.t(m)",
            "x: d = x.exp(); m = torch.mm(x, d); t = torch.t(m); c = m.neg(); return (c, t)",
        ],
    ]);
}

/// https://github.com/pytorch/pytorch/pull/103338
/// https://github.com/pytorch/pytorch/pull/83845
#[test]
fn fault_024_uses_are_replaced_however_they_are_nested() {
    rewrites(&[
        [
            "x: a = torch.relu(x); return {'out': [a, (a, 1)], 'x': x}",
            "x: return torch.relu(x)",
            "x: return torch.abs(x)",
            "x: abs_1 = torch.abs(x); return {'out': [abs_1, (abs_1, 1)], 'x': x}",
        ],
        [
            "x: a = x.neg(); b = torch.cat(tensors=[x, a], dim=0); return b[a:, (a, [None])]",
            "x: return x.neg()",
            "x: return x * -1",
            "x: mul = x * -1; b = torch.cat(tensors = [x, mul], dim = 0); \
             getitem = b[(slice(mul, None, None), (mul, [None]))]; return getitem",
        ],
        // Lists that are returned, by pattern, replacement and graph.
        [
            "x: a = torch.sin(x); b = torch.cos(x); return [b, [a]]",
            "x: return [torch.sin(x), torch.cos(x)]",
            "x: return [torch.cos(x), torch.sin(x)]",
            "x: cos = torch.cos(x); sin = torch.sin(x); return [sin, [cos]]",
        ],
        [
            "x: a = x.floor(); y = torch.where(condition={'k': (x, [a])}, input=a); return y",
            "x: return x.floor()",
            "x: return x",
            "x: y = torch.where(condition = {'k': (x, [x])}, input = x); return y",
        ],
    ]);
    // A replacement of two calls: the member comes along, and nested uses name the last.
    let mut tree = net("x: a = torch.gelu(x); return [(a, {'again': a})]");
    let act = || [("act", Is::Leaf("torch.nn.modules.activation.Tanh", &[]))];
    rewrite(&mut tree, &net("x: return torch.gelu(x)"), &net_with(&act(), "x: return self.act(x * 2)"));
    assert_eq!(shown(&tree), "x: mul = x * 2; act = self.act(mul); return [(act, {'again': act})]");
    assert!(tree.submodule(tree.root(), "act").is_ok());
    let [mul] = nodes(&tree, ["mul"]);
    assert_eq!(tree.graph(tree.root()).unwrap().user_count(mul), 1);
}
