//! Faults of dead code (25 to 28), by the arguments of calls: what writes or draws stays, and nothing else.

use super::fx_line::{alive, net_with, nodes, Is};
use fxir::formats::python::read::read_code;
use fxir::passes::cse::{eliminate_common_subexpressions, CseOptions};
use fxir::passes::purity::{Purity, PurityOptions};

/// A call as text: `f(x, 0.5, train=False)`. Positional arguments that are names are inputs.
fn call_is_impure(call: &str) -> bool {
    let text = format!("def f(x, y, m, v):\n    called = {call}\n    return x\n");
    let tree = read_code(&text).unwrap();
    let [node] = nodes(&tree, ["called"]);
    Purity::new(&tree, PurityOptions::default()).is_impure(tree.root(), node).unwrap()
}

#[test]
fn functions_that_draw_unless_they_are_told_not_to() {
    let functional = "torch.nn.functional";
    for (impure, pure) in [
        (format!("{functional}.dropout(x)"), format!("{functional}.dropout(x, training=False)")),
        (format!("{functional}.dropout(x, 0.1, True)"), format!("{functional}.dropout(x, 0.1, False)")),
        (format!("{functional}.dropout(x, 0.1, y)"), format!("{functional}.dropout(x, 0.0)")),
        (format!("{functional}.dropout2d(x)"), format!("{functional}.dropout2d(x, 0.1, False)")),
        (format!("{functional}.alpha_dropout(x, training=True)"), format!("{functional}.alpha_dropout(x)")),
        (format!("{functional}.rrelu(x, training=y)"), format!("{functional}.rrelu(x)")),
        ("torch.dropout(x, 0.5, True)".into(), "torch.dropout(x, 0.5, False)".into()),
        ("torch.dropout(x, 0.5, train=True)".into(), "torch.dropout(x, 0.5, train=False)".into()),
        ("torch.ops.aten.dropout.default(x, 0.5, True)".into(), "torch.ops.aten.dropout.default(x, 0.5, False)".into()),
        (
            "torch.ops.aten.native_dropout.default(x, 0.0, True)".into(),
            "torch.ops.aten.native_dropout.default(x, 0.5, False)".into(),
        ),
        (
            "torch.ops.aten.native_dropout.default(x, 0.5, None)".into(),
            "torch.ops.aten.native_dropout(x, 0.5, False)".into(),
        ),
        (
            format!("{functional}.scaled_dot_product_attention(x, y, m, None, 0.1)"),
            format!("{functional}.scaled_dot_product_attention(x, y, m)"),
        ),
        (
            "torch.ops.aten.scaled_dot_product_attention.default(x, y, m, dropout_p=v)".into(),
            "torch.ops.aten.scaled_dot_product_attention.default(x, y, m, dropout_p=0.0)".into(),
        ),
        (
            "torch.gru(x, y, [m], True, 2, 0.1, True, False, False)".into(),
            "torch.gru(x, y, [m], True, 2, 0.1, False, False, False)".into(),
        ),
        (
            "torch.lstm(x, [y], [m], True, 2, 0.1, True, False, False)".into(),
            "torch.lstm(x, [y], [m], True, 2, 0.0, True, False, False)".into(),
        ),
        // A list's method, for all that is known, and a tensor's.
        ("x.sort()".into(), "x.sort(0)".into()),
        ("x.sort(reverse=True)".into(), "x.sort(descending=True)".into()),
        // No argument decides.
        ("torch.bernoulli(x, 0.0)".into(), "torch.square(x)".into()),
        (format!("{functional}.gumbel_softmax(x)"), format!("{functional}.softmax(x)")),
        (format!("{functional}.fractional_max_pool2d(x, 2, 3)"), format!("{functional}.max_pool2d(x, 2)")),
    ] {
        assert!(call_is_impure(&impure), "{impure}");
        assert!(!call_is_impure(&pure), "{pure}");
    }
}

#[test]
fn functions_that_write_if_an_argument_says_so() {
    for (impure, pure) in [
        ("functional.batch_norm(x, m, v, training=True)", "functional.batch_norm(x, m, v, training=False)"),
        ("functional.batch_norm(x, m, v, None, None, True)", "functional.batch_norm(x, m, v)"),
        ("functional.batch_norm(x, m, v, training=y)", "functional.batch_norm(x, None, None, training=y)"),
        (
            "functional.batch_norm(x, None, v, None, None, True)",
            "functional.batch_norm(x, None, running_var=None, training=True)",
        ),
        ("functional.instance_norm(x, m, v)", "functional.instance_norm(x)"),
        ("functional.instance_norm(x, running_var=v)", "functional.instance_norm(x, m, v, use_input_stats=False)"),
        ("functional.embedding(x, y, max_norm=1.0)", "functional.embedding(x, y)"),
        ("functional.embedding(x, y, None, 0.0)", "functional.embedding(x, y, 3, None)"),
        ("functional.embedding(x, y, max_norm=m)", "functional.embedding(x, y, padding_idx=1)"),
        ("functional.embedding_bag(x, y, None, 2.0)", "functional.embedding_bag(x, y)"),
        ("functional.normalize(x, 2.0, 1, 1e-12, y)", "functional.normalize(x, 2.0, 1, 1e-12)"),
        ("functional.threshold(x, 0, 0, True)", "functional.threshold(x, 0, 0)"),
        ("quantized.functional.hardtanh(x, 0, 6, True)", "quantized.functional.hardtanh(x, 0, 6)"),
    ] {
        for (call, expected) in [(impure, true), (pure, false)] {
            let space = if call.starts_with("quantized") { "torch.ao.nn" } else { "torch.nn" };
            assert_eq!(call_is_impure(&format!("{space}.{call}")), expected, "{call}");
        }
    }
    for (impure, pure) in [
        (
            "torch.batch_norm(x, None, None, m, v, True, 0.1, 1e-5, False)",
            "torch.batch_norm(x, None, None, m, v, False, 0.1, 1e-5, False)",
        ),
        (
            "torch.ops.aten.native_batch_norm.default(x, None, None, m, v, True, 0.1, 1e-5)",
            "torch.ops.aten.native_batch_norm.default(x, None, None, None, None, True, 0.1, 1e-5)",
        ),
        (
            "torch.ops.aten.batch_norm(x, None, None, m, v, training=True, momentum=0.1, eps=0.0, cudnn_enabled=False)",
            "torch.ops.aten.batch_norm(x, None, None, m, v, training=False, momentum=0.1, eps=0.0, cudnn_enabled=False)",
        ),
        (
            "torch.instance_norm(x, None, None, m, v, True, 0.1, 1e-5, False)",
            "torch.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, False)",
        ),
        (
            "torch.ops.aten.batch_norm_gather_stats.default(x, m, v, m, v, 0.1, 1e-5, 2)",
            "torch.ops.aten.batch_norm_gather_stats.default(x, m, v, None, None, 0.1, 1e-5, 2)",
        ),
        ("torch.batch_norm_update_stats(x, m, v, 0.1)", "torch.batch_norm_stats(x, 0.1)"),
        ("torch.norm(x, 2, None, False, y)", "torch.norm(x, 2, None, False)"),
        ("torch.tensordot(x, y, 2, m)", "torch.tensordot(x, y, 2)"),
        ("torch._fused_moving_avg_obs_fq_helper(x, y)", "torch.fake_quantize_per_tensor_affine(x, y)"),
        ("torch._C._nn.rrelu_with_noise(x, y)", "torch.embedding(x, y)"),
    ] {
        assert!(call_is_impure(impure), "{impure}");
        assert!(!call_is_impure(pure), "{pure}");
    }
}

/// Both passes that ask: dead code stays, and two calls stay two.
#[test]
fn what_writes_or_draws_is_neither_dead_nor_there_twice() {
    let functional = "torch.nn.functional";
    for (call, stays) in [
        (format!("{functional}.batch_norm(x, m, v, training = True)"), true),
        (format!("{functional}.batch_norm(x, m, v, training = False)"), false),
        (format!("{functional}.instance_norm(x, m, v)"), true),
        (format!("{functional}.instance_norm(x)"), false),
        (format!("{functional}.embedding(x, m, max_norm = 1.0)"), true),
        (format!("{functional}.embedding(x, m)"), false),
        (format!("{functional}.dropout(x, 0.5, True)"), true),
        (format!("{functional}.dropout(x, 0.5, False)"), false),
        ("x.append(m)".into(), true),
        ("x.argsort(0)".into(), false),
        ("x.reverse()".into(), true),
        ("x.flip(0)".into(), false),
        ("self.norm(x)".into(), true),
        ("self.table(x)".into(), true),
        ("self.act(x)".into(), false),
    ] {
        let members = || {
            [
                ("norm", Is::Leaf("torch.nn.modules.batchnorm.BatchNorm2d", &["training"])),
                ("table", Is::Leaf("torch.nn.modules.sparse.Embedding", &["max_norm"])),
                ("act", Is::Leaf("torch.nn.modules.activation.GELU", &["training"])),
            ]
        };
        let text = format!("x, m, v: a = {call}; return v");
        let expected = if stays { text.as_str() } else { "x, m, v: return v" };
        assert_eq!(alive(net_with(&members(), &text)), expected);
        let mut tree = net_with(&members(), &format!("x, m, v: a = {call}; b = {call}; return torch.add(a, b)"));
        let root = tree.root();
        let merged = eliminate_common_subexpressions(&mut tree, root, CseOptions::default()).unwrap();
        assert_eq!(merged.len(), usize::from(!stays), "{call}");
    }
}
