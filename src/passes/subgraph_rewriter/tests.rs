use super::*;
use crate::ir::{lint, Args, Argument, Graph, Kwargs};
use proptest::prelude::*;

fn tree(fill: impl FnOnce(&mut Graph)) -> ModuleTree {
    let mut tree = ModuleTree::new("GraphModule");
    let root = tree.root();
    fill(tree.graph_mut(root).unwrap());
    tree
}

fn call(graph: &mut Graph, target: &str, inputs: &[NodeId]) -> NodeId {
    let args: Args = inputs.iter().copied().map(Argument::Node).collect();
    graph.call_function(target, args, Kwargs::new()).unwrap()
}

fn cat(graph: &mut Graph, inputs: &[NodeId]) -> NodeId {
    let list = Argument::List(inputs.iter().copied().map(Argument::Node).collect());
    graph.call_function("cat", Args::from_iter([list]), Kwargs::new()).unwrap()
}

/// What `outer` gives for what `inner` gives.
fn nested(inner: &str, outer: &str) -> ModuleTree {
    tree(|graph| {
        let x = graph.placeholder("x").unwrap();
        let inner = call(graph, inner, &[x]);
        let outer = call(graph, outer, &[inner]);
        graph.output(outer.into()).unwrap();
    })
}

/// Names, targets, inputs and users in order: all that a rewrite decides.
fn picture(tree: &ModuleTree) -> Vec<String> {
    let graph = tree.graph(tree.root()).unwrap();
    let names = |nodes: Vec<NodeId>| nodes.into_iter().map(|node| graph.name(node)).collect::<Vec<_>>().join(" ");
    let line = |node| {
        let (inputs, users) = (names(graph.input_nodes(node).collect()), names(graph.users(node).collect()));
        format!("{} {} of {inputs} for {users}", graph.name(node), graph.target(node))
    };
    graph.nodes().map(line).collect()
}

fn rewrite(tree: &mut ModuleTree, pattern: &ModuleTree, replacement: &ModuleTree, many: usize) -> Replaced {
    let prepared = Pattern::new(pattern, pattern.root()).unwrap();
    let rule = Rule { replacement: Some((replacement, replacement.root())), ..Rule::new(&prepared) };
    let root = tree.root();
    let found = Rewrite::compute(tree, root, &[rule], &mut ()).unwrap();
    found.apply_with(tree, many).unwrap().0.remove(0)
}

#[test]
fn one_user_of_very_many_replaced_nodes() {
    const COUNT: usize = 200_000;
    let mut net = tree(|graph| {
        let x = graph.placeholder("x").unwrap();
        let negs: Vec<NodeId> = (0..COUNT).map(|_| call(graph, "neg", &[x])).collect();
        let relus: Vec<NodeId> = negs.into_iter().map(|neg| call(graph, "relu", &[neg])).collect();
        let all = cat(graph, &relus);
        graph.output(all.into()).unwrap();
    });
    let replaced = rewrite(&mut net, &nested("neg", "relu"), &nested("exp", "abs"), wide::MANY);
    assert_eq!(replaced.matches.len(), COUNT);
    let graph = net.graph(net.root()).unwrap();
    let cat = graph.prev(graph.output_node().unwrap()).unwrap();
    assert_eq!(graph.target(cat), "cat");
    let inputs: Vec<NodeId> = graph.input_nodes(cat).collect();
    let made: Vec<NodeId> = (0..COUNT).map(|index| replaced.replacements(index).unwrap()[1]).collect();
    assert_eq!(inputs, made);
    assert_eq!(graph.len(), 2 * COUNT + 3);
    assert_eq!(lint::lint(&net, net.root()), Ok(()));
}

proptest! {
    /// Whether users wait or not, the outcome is one.
    #[test]
    fn wide_users_get_what_narrow_ones_get(
        steps in prop::collection::vec((0u8..6, any::<u16>(), any::<u16>()), 1..60),
        rule in 0usize..4,
    ) {
        let net = tree(|graph| {
            let mut nodes = vec![graph.placeholder("x").unwrap(), graph.placeholder("y").unwrap()];
            for &(kind, a, b) in &steps {
                let (a, b) = (a as usize % nodes.len(), b as usize % nodes.len());
                let made = match kind {
                    0 | 1 => call(graph, "neg", &[nodes[a]]),
                    2 | 3 => call(graph, "relu", &[nodes[nodes.len() - 1]]),
                    4 => call(graph, "add", &[nodes[a], nodes[b]]),
                    _ => cat(graph, &nodes[a.min(b)..=a.max(b)]),
                };
                nodes.push(made);
            }
            let all = cat(graph, &nodes[1..]);
            graph.output(all.into()).unwrap();
        });
        let identity = tree(|graph| {
            let x = graph.placeholder("x").unwrap();
            graph.output(x.into()).unwrap();
        });
        let one = |target: &str| tree(|graph| {
            let x = graph.placeholder("x").unwrap();
            let made = call(graph, target, &[x]);
            graph.output(made.into()).unwrap();
        });
        let (pattern, replacement) = match rule {
            0 => (one("relu"), one("abs")),
            1 => (one("relu"), identity),
            2 => (one("cat"), nested("cat", "stack")),
            _ => (nested("neg", "relu"), nested("exp", "neg")),
        };
        let outcomes = [0, 2, usize::MAX].map(|many| {
            let mut net = net.clone_subtree(net.root()).unwrap();
            let replaced = rewrite(&mut net, &pattern, &replacement, many);
            (replaced.matches.len(), picture(&net))
        });
        prop_assert_eq!(&outcomes[0], &outcomes[2]);
        prop_assert_eq!(&outcomes[1], &outcomes[2]);
    }
}
