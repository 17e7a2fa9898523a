//! Rewriting a pattern by itself, and there and back.

use crate::drawing::drawing;
use crate::fx_line::{net, net_with, rewrite, Is};
use crate::random_graph::meaning::meaning;
use crate::random_graph::{modules, RandomModule};
use fxir::ir::{Attribute, ModuleTree};
use proptest::prelude::*;

/// Patterns that stand in random modules, members and all.
const PATTERNS: [&str; 12] = [
    "x: return torch.relu(x)",
    "x, y: return torch.add(x, y)",
    "x, y, z: return torch.cat([x, y, z], dim=1)",
    "x, low, high: return x.clamp(low, max=high)",
    "x, at: return x[at]",
    "x: return self.act(x)",
    "x: return torch.add(x, self.scale)",
    "x, y: return torch.relu(torch.add(x, y))",
    "x: r = torch.relu(x); return torch.chunk(r, 2), r.mul_(x)",
    "x, y, z, l: return mine.function(x, {'k': [y, l]}, other=z)",
    "x, y: return torch.relu(x), torch.chunk(y, 2)",
    "x: a = self.act(x); return torch.relu(a)",
];

fn members(text: &str) -> ModuleTree {
    let mut tree =
        net_with(&[("act", Is::Leaf("torch.nn.modules.activation.ReLU", &[])), ("scale", Is::Tensor(9))], text);
    let root = tree.root();
    tree.set_attribute(root, "act.inplace", Attribute::Value(fxir::ir::Argument::Bool(false))).unwrap();
    tree
}

/// A pattern of the random modules, and what stands there instead and nowhere else.
const THERE_AND_BACK: [[&str; 2]; 10] = [
    ["x: return torch.relu(x)", "x: return mine.inner(mine.outer(x), 2)"],
    ["x, y: return torch.add(x, y)", "x, y: return mine.sum(second=y, all=[x])"],
    ["x, y, z: return torch.cat([x, y, z], dim=1)", "x, y, z: return mine.pair((mine.pair((x, y), -0.0), z), -0.0)"],
    ["x, low, high: return x.clamp(low, max=high)", "x, low, high: return mine.low(mine.high({'k': x}, high), low)"],
    ["x, at: return x[at]", "x, at: return x.at({'index': [at]}, deep=nan)"],
    ["x: return self.act(x)", "x: return mine.act(x, kind='ReLU')"],
    ["x, y: return torch.relu(torch.add(x, y))", "x, y: return mine.both(mine.left(x), mine.right(x), y)"],
    ["x: r = torch.relu(x); return r, torch.chunk(r, 2)", "x: s = mine.start(x); return mine.one(s), mine.two(s)"],
    ["x, y, z, l: return mine.function(x, {'k': [y, l]}, other=z)", "x, y, z, l: return mine.other(z, x[y:l])"],
    ["x, y: return x.mul_(y)", "x, y: t = mine.tell(y); return mine.take(x, [t, (t,)])"],
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn a_pattern_in_its_own_place_changes_nothing_but_names(
        RandomModule { mut tree } in modules(30),
        which in 0..PATTERNS.len(),
    ) {
        let before = (drawing(&tree), meaning(&tree));
        let placeholders = |tree: &ModuleTree| tree.graph(tree.root()).unwrap().placeholders().collect::<Vec<_>>();
        let inputs = placeholders(&tree);
        let pattern = members(PATTERNS[which]);
        let replaced = rewrite(&mut tree, &pattern, &pattern);
        prop_assert_eq!(drawing(&tree), before.0);
        prop_assert_eq!(meaning(&tree), before.1);
        prop_assert_eq!(placeholders(&tree), inputs);
        // Each match has its nodes, live, as many as the pattern has.
        let graph = tree.graph(tree.root()).unwrap();
        let compute = pattern.graph(pattern.root()).unwrap().nodes().count() - pattern.graph(pattern.root()).unwrap().placeholders().count() - 1;
        for index in 0..replaced.matches.len() {
            let made = replaced.replacements(index).unwrap();
            prop_assert_eq!(made.len(), compute);
            prop_assert!(made.iter().all(|&node| graph.contains(node)));
        }
        // And again.
        let count = replaced.matches.len();
        prop_assert_eq!(rewrite(&mut tree, &pattern, &pattern).matches.len(), count);
    }

    #[test]
    fn there_and_back_gives_the_graph_again(
        RandomModule { mut tree } in modules(30),
        which in 0..THERE_AND_BACK.len(),
    ) {
        let [there, back] = THERE_AND_BACK[which].map(|text| if text.contains("self.") { members(text) } else { net(text) });
        let before = drawing(&tree);
        let count = rewrite(&mut tree, &there, &back).matches.len();
        prop_assert_eq!(drawing(&tree) == before, count == 0);
        prop_assert_eq!(rewrite(&mut tree, &back, &there).matches.len(), count);
        prop_assert_eq!(drawing(&tree), before);
    }
}
