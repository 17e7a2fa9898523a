//! How fast it is, and that it stays linear. `cargo test --release --test native speed -- --ignored --nocapture`

use fxir::formats::native;
use fxir::ir::{Argument, Dtype, Kwargs, ModuleTree, TensorMeta, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A network of `count` calls like those of ResNet-20: each uses the one before and one further up.
fn long_net(count: usize) -> ModuleTree {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    let graph = tree.graph_mut(root).unwrap();
    let mut nodes = vec![graph.placeholder("x").unwrap()];
    for at in 1..count {
        let args = [at - 1, at.saturating_sub(3)].map(|at| Argument::Node(nodes[at]));
        nodes.push(graph.call_function("_operator.add", args.to_vec(), Kwargs::new()).unwrap());
    }
    for &node in &nodes {
        let meta = TensorMeta {
            stride: Some([4096i64, 64, 8, 1].map(Into::into).into_iter().collect()),
            requires_grad: Some(false),
            memory_format: Some("torch.contiguous_format".into()),
            ..TensorMeta::new(Dtype::Float32, [1i64, 64, 8, 8])
        };
        graph.set_value(node, Some(Arc::new(Value::Tensor(meta)))).unwrap();
    }
    graph.output(Argument::Node(*nodes.last().unwrap())).unwrap();
    tree
}

/// As many placeholders, all used by two nodes, whose users are in the order in which they do not stand.
fn wide_net(count: usize) -> ModuleTree {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    let graph = tree.graph_mut(root).unwrap();
    let inputs: Vec<Argument> = (0..count).map(|_| graph.placeholder("x").unwrap().into()).collect();
    let a = graph.call_function("torch.cat", vec![Argument::List(inputs.iter().cloned().collect())], Kwargs::new());
    let b = graph.call_function("torch.cat", inputs, Kwargs::new()).unwrap();
    graph.move_before(b, a.unwrap()).unwrap();
    tree
}

/// Names that nobody has any more.
fn erased_net(count: usize) -> ModuleTree {
    let mut tree = wide_net(count);
    let root = tree.root();
    let graph = tree.graph_mut(root).unwrap();
    let nodes: Vec<_> = graph.nodes().collect();
    nodes.into_iter().rev().for_each(|node| graph.erase_node(node).unwrap());
    tree
}

fn time<T>(run: impl Fn() -> T) -> (T, Duration) {
    let mut best: Option<(T, Duration)> = None;
    for _ in 0..3 {
        let start = Instant::now();
        let result = run();
        let taken = start.elapsed();
        if best.as_ref().is_none_or(|(_, known)| taken < *known) {
            best = Some((result, taken));
        }
    }
    best.expect("it ran")
}

fn measured(name: &str, tree: &ModuleTree) -> Duration {
    let (bytes, writing) = time(|| native::to_bytes(tree, tree.root()).unwrap());
    let shared = Arc::new(bytes);
    let (again, reading) = time(|| native::from_bytes(shared.clone()).unwrap());
    assert!(again.is_same_as(again.root(), tree, tree.root()));
    let rate = |taken: Duration| shared.len() as f64 / 1e6 / taken.as_secs_f64();
    println!("{name}: {} bytes, written at {:.0} MB/s, read at {:.0} MB/s", shared.len(), rate(writing), rate(reading));
    writing + reading
}

#[test]
#[ignore = "measures"]
fn speed() {
    for count in [30_000, 300_000] {
        measured(&format!("{count} nodes"), &long_net(count));
    }
}

/// Sixteen times as much must not take much more than sixteen times as long, whatever the shape.
#[test]
fn every_shape_takes_linear_time() {
    type Shape = fn(usize) -> ModuleTree;
    let shapes: [(&str, Shape); 3] = [("long", long_net), ("wide", wide_net), ("erased", erased_net)];
    for (name, shape) in shapes {
        let (one, two) = (measured(name, &shape(2_000)), measured(name, &shape(32_000)));
        assert!(two < one * 16 * 6 + Duration::from_millis(500), "{name}: {one:?}, then {two:?}");
    }
}
