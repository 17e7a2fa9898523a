//! Faults of the matcher.

use super::fx_line::first_byte;
use super::fx_line::{count, counts, net, net_with, rewrite, rewrites, shown, Is};
use fxir::ir::ErrorKind;
use fxir::passes::subgraph_matcher::{MatchOptions, Pattern};

fn by_default() -> MatchOptions {
    MatchOptions::default()
}

/// https://github.com/pytorch/pytorch/issues/104775
#[test]
fn fault_001_a_literal_never_satisfies_a_node() {
    let options = MatchOptions { ignore_literals: true, ..by_default() };
    counts(
        options,
        &[
            ("x: return torch.mul(x, 0.5)", "x: return torch.mul(x, torch.neg(x))", 0),
            ("x: return torch.cat([x, 2], dim=1)", "x: return torch.cat([x, torch.relu(x)], dim=0)", 0),
            ("x: return torch.clamp(x, min=0)", "x: return torch.clamp(x, min=self.floor)", 0),
            ("x: return x.add(None)", "x: return x.add(x.abs())", 0),
            // Another literal does, and a node satisfies no literal.
            ("x: return torch.mul(x, 0.5)", "x: return torch.mul(x, 2)", 1),
            ("x: return torch.mul(x, torch.neg(x))", "x: return torch.mul(x, 2)", 0),
        ],
    );
}

/// https://github.com/pytorch/pytorch/issues/68393
#[test]
fn fault_004_a_placeholder_binds_a_literal() {
    rewrites(&[
        ["x: return x + 3", "x, n: return x + n", "x, n: return x - n", "x: sub = x - 3; return sub"],
        [
            "x: return torch.reshape(x, [2, (3, -1)])",
            "x, size: return torch.reshape(x, size)",
            "x, size: return x.view(size)",
            "x: view = x.view([2, (3, -1)]); return view",
        ],
        [
            "x: return torch.clamp(x, min=-inf, max=2.5)",
            "x, low, high: return torch.clamp(x, min=low, max=high)",
            "x, low, high: return torch.minimum(torch.maximum(x, low), high)",
            "x: maximum = torch.maximum(x, -inf); minimum = torch.minimum(maximum, 2.5); return minimum",
        ],
    ]);
}

/// https://github.com/pytorch/pytorch/pull/85456
/// https://github.com/pytorch/pytorch/pull/85617
#[test]
fn fault_005_literals_and_lists_and_kwargs_must_agree() {
    counts(
        by_default(),
        &[
            ("x: return torch.div(x, 4)", "x: return torch.div(x, 3)", 0),
            ("x: return torch.div(x, 3)", "x: return torch.div(x, 3)", 1),
            ("x: return torch.permute(x, [0, 2, 1])", "x: return torch.permute(x, [0, 1, 2])", 0),
            ("x: return torch.permute(x, [0, 1])", "x: return torch.permute(x, [0, 1, 2])", 0),
            ("x: return torch.sum(x, dim=1)", "x: return torch.sum(x, dim=2)", 0),
            ("x: return torch.sum(x, dim=1)", "x: return torch.sum(x, axis=1)", 0),
            ("x: return torch.sum(x, dim=1)", "x: return torch.sum(x)", 0),
            ("x: return x[0:2, {'a': (1, [None])}]", "x: return x[0:2, {'a': (1, [0])}]", 0),
            ("x: return x[0:2, {'a': (1, [None])}]", "x: return x[0:2, {'a': (1, [None])}]", 1),
            // By type and value; floats bitwise, but nan is nan.
            ("x: return torch.mul(x, 1)", "x: return torch.mul(x, 1.0)", 0),
            ("x: return torch.mul(x, 1)", "x: return torch.mul(x, True)", 0),
            ("x: return torch.mul(x, -0.0)", "x: return torch.mul(x, 0.0)", 0),
            ("x: return torch.mul(x, nan)", "x: return torch.mul(x, nan)", 1),
            ("x: return x.to(torch.float16)", "x: return x.to('torch.float16')", 0),
        ],
    );
}

/// https://github.com/pytorch/pytorch/pull/99431
#[test]
fn fault_006_operators_match_through_defaults_and_keywords() {
    for [one, other] in [
        ["x: return torch.ops.aten.sum.dim_IntList(x, [1], False)", "x: return torch.ops.aten.sum.dim_IntList(x, [1])"],
        ["x, y: return torch.ops.aten.add.Tensor(x, y, alpha=1)", "x, y: return torch.ops.aten.add.Tensor(x, other=y)"],
        [
            "x: return torch.ops.aten.max_pool2d.default(x, kernel_size=[2, 2], ceil_mode=False)",
            "x: return torch.ops.aten.max_pool2d.default(x, [2, 2], [], [0, 0])",
        ],
        [
            "x: return torch.ops.aten._softmax.default(x, 1, False)",
            "x: return torch.ops.aten._softmax.default(half_to_float=False, dim=1, self=x)",
        ],
    ] {
        counts(by_default(), &[(one, other, 1), (other, one, 1)]);
    }
    counts(
        by_default(),
        &[
            (
                "x: return torch.ops.aten.sum.dim_IntList(x, [1])",
                "x: return torch.ops.aten.sum.dim_IntList(x, [1], True)",
                0,
            ),
            (
                "x, y: return torch.ops.aten.add.Tensor(x, y)",
                "x, y: return torch.ops.aten.add.Tensor(x, y, alpha=2)",
                0,
            ),
        ],
    );
}

/// https://github.com/pytorch/pytorch/pull/107832
#[test]
fn fault_007_other_targets_match_form_by_form_or_by_signature_when_asked() {
    let by_signature = MatchOptions { normalize_args: true, ..by_default() };
    for (one, other) in [
        ("x: return torch.sum(x, dim=1)", "x: return torch.sum(x, 1)"),
        ("x: return x.transpose(dim0=0, dim1=1)", "x: return x.transpose(0, 1)"),
        ("x: return torch.nn.functional.relu(input=x)", "x: return torch.nn.functional.relu(x, False)"),
    ] {
        counts(by_default(), &[(one, other, 0), (other, one, 0), (one, one, 1)]);
        counts(by_signature, &[(one, other, 1), (other, one, 1)]);
    }
    let members = || [("fc", Is::Leaf("torch.nn.modules.linear.Linear", &[]))];
    let [one, other] = ["x: return self.fc(input=x)", "x: return self.fc(x)"].map(|text| net_with(&members(), text));
    assert_eq!([by_default(), by_signature].map(|options| count(&one, &other, &options)), [0, 1]);
}

/// https://github.com/pytorch/pytorch/issues/68534
#[test]
fn fault_008_a_tensor_of_the_pattern_matches_any_and_the_graphs_wins() {
    for (graph, pattern, replacement, expected) in [
        (
            "x: w = self.w; return torch.add(x, w)",
            "x: return torch.add(x, self.w)",
            "x: return torch.sub(x, self.w)",
            "x: w_1 = self.w; sub = torch.sub(x, w_1); return sub",
        ),
        (
            "x: relu = torch.relu(self.w); return torch.mm(x, relu)",
            "x: return torch.mm(x, torch.relu(self.w))",
            "x: return torch.nn.functional.linear(x, self.w)",
            "x: w_1 = self.w; linear = torch.nn.functional.linear(x, w_1); return linear",
        ),
        (
            "x: return torch.cat(tensors=[self.w, x], dim=0)",
            "x: return torch.cat(tensors=[self.w, x], dim=0)",
            "x: return torch.stack([x, self.w])",
            "x: w_1 = self.w; stack = torch.stack([x, w_1]); return stack",
        ),
    ] {
        let mut tree = net_with(&[("w", Is::Tensor(1))], graph);
        let [pattern, replacement] = [pattern, replacement].map(|text| net_with(&[("w", Is::Tensor(2))], text));
        let replaced = rewrite(&mut tree, &pattern, &replacement);
        assert_eq!((replaced.matches.len(), shown(&tree).as_str()), (1, expected), "{graph}");
        assert_eq!(first_byte(&tree, "w"), 1, "{graph}");
    }
    // Under another name it is matched too.
    let tree = net_with(&[("layer.bias", Is::Tensor(1))], "x: return torch.add(x, self.layer.bias)");
    let pattern = net_with(&[("w", Is::Tensor(2))], "x: return torch.add(x, self.w)");
    assert_eq!(count(&tree, &pattern, &by_default()), 1);
}

/// https://github.com/pytorch/pytorch/pull/51412
#[test]
fn fault_009_only_returned_nodes_may_be_used_outside() {
    counts(
        by_default(),
        &[
            ("x: n = torch.neg(x); return torch.abs(n) + n", "x: return torch.abs(torch.neg(x))", 0),
            ("x: n = torch.neg(x); return torch.abs(n), n", "x: return torch.abs(torch.neg(x))", 0),
            ("x, y: m = x * y; return (m + 1) @ [[m]]", "x, y: return x * y + 1", 0),
            ("x: e = x.exp(); return e.sum(dim=0), x[e:]", "x: return x.exp().sum(dim=0)", 0),
            // Where the pattern returns it, it may.
            ("x: n = torch.neg(x); return torch.abs(n), n", "x: n = torch.neg(x); return torch.abs(n), n", 1),
            ("x: n = torch.neg(x); return torch.abs(n)", "x: return torch.abs(torch.neg(x))", 1),
        ],
    );
}

/// https://github.com/pytorch/pytorch/pull/82090
#[test]
fn fault_011_several_outputs_give_matches_apart_from_each_other() {
    rewrites(&[
        // Two outputs of one node, twice, beside one that lacks an output.
        [
            "x: a = x.relu(); b = a.neg(); c = a.exp(); d = b + c; e = d.relu(); f = e.neg(); g = e.exp(); \
             h = g.relu(); return f, h.neg()",
            "x: r = x.relu(); return r.neg(), r.exp()",
            "x: s = x.split(2); return s[0], s[1]",
            "x: s = x.split(2); getitem = s[0]; getitem_1 = s[1]; d = getitem + getitem_1; \
             s_1 = d.split(2); getitem_2 = s_1[0]; getitem_3 = s_1[1]; h = getitem_3.relu(); neg = h.neg(); \
             return (getitem_2, neg)",
        ],
        // Identical anchors, not connected: pairwise.
        [
            "x, y: a = torch.neg(x); b = torch.neg(y); return a * b",
            "x, y: return torch.neg(x), torch.neg(y)",
            "x, y: return torch.abs(y), torch.abs(x)",
            "x, y: abs_1 = torch.abs(y); abs_2 = torch.abs(x); mul = abs_1 * abs_2; return mul",
        ],
        // Overlaps: the first is kept.
        [
            "x: a = torch.sin(x); b = torch.sin(a); c = torch.sin(b); return c",
            "x: return torch.sin(torch.sin(x))",
            "x: return torch.cos(x)",
            "x: cos = torch.cos(x); c = torch.sin(cos); return c",
        ],
        // A node of the one would be an inner node of the other.
        [
            "x: a = x.tanh(); b = a.floor(); c = a.ceil(); d = b.tanh(); e = d.floor(); return c, e",
            "x: t = x.tanh(); return t.floor(), t.ceil()",
            "x: return x.round(), x.trunc()",
            "x: round_1 = x.round(); trunc = x.trunc(); d = round_1.tanh(); e = d.floor(); \
             return (trunc, e)",
        ],
    ]);
}

/// https://github.com/pytorch/pytorch/pull/69238
#[test]
fn fault_012_no_node_stands_for_two_of_the_pattern() {
    counts(
        by_default(),
        &[
            ("x, y: n = torch.neg(x); return n + n", "x, y: return torch.neg(x) + torch.neg(y)", 0),
            ("x: r = x.relu(); return torch.cat([r, r], dim=1)", "x: return torch.cat([x.relu(), x.relu()], dim=1)", 0),
            (
                "x: s = torch.sigmoid(x); return torch.addcmul(x, s, value=s)",
                "x: return torch.addcmul(x, torch.sigmoid(x), value=torch.sigmoid(x))",
                0,
            ),
            ("x: return torch.neg(x), torch.exp(x)", "x: return torch.neg(x), torch.neg(x)", 0),
            ("x, y: return torch.neg(x) + torch.neg(y)", "x, y: return torch.neg(x) + torch.neg(y)", 1),
            ("x: return torch.cat([x.relu(), x.relu()], dim=1)", "x: return torch.cat([x.relu(), x.relu()], dim=1)", 1),
        ],
    );
}

/// https://github.com/pytorch/pytorch/issues/108163
#[test]
fn fault_013_an_unused_placeholder_of_a_pattern_is_named() {
    for (text, name) in [
        ("x, unused: return torch.add(x, x)", "unused"),
        ("x, flag, y: return x.relu() * torch.neg(y)", "flag"),
        ("x, *rest: return torch.sum(x, dim=1)", "rest"),
    ] {
        let pattern = net(text);
        let error = Pattern::new(&pattern, pattern.root()).unwrap_err();
        let graph = pattern.graph(pattern.root()).unwrap();
        assert_eq!((error.kind, error.node), (ErrorKind::InvalidArgument, graph.find_node(name)), "{text}");
        assert!(error.message.contains(name) && error.message.contains("used by nothing"), "{error}");
    }
}

/// https://github.com/microsoft/onnxscript/pull/1731
#[test]
fn fault_014_inputs_of_a_match_may_be_used_outside() {
    counts(
        by_default(),
        &[
            ("x: a = x.relu(); return a.neg(), a.exp(), a + 1", "x: return x.neg(), x.exp()", 1),
            (
                "x: a = x.relu(); b = torch.sin(a); c = torch.cos(a); return a, b, c",
                "x: return torch.sin(x), torch.cos(x)",
                1,
            ),
            (
                "x, w: y = x @ w; m = y.mean(dim=-1); v = y.var(dim=-1); return torch.cat([y, m, v, w])",
                "y: return y.mean(dim=-1), y.var(dim=-1)",
                1,
            ),
            ("x: a = x.relu(); return a.neg() * a", "x: return x.neg()", 1),
        ],
    );
}
