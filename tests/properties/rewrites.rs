//! Rewriting a pattern by itself, and there and back.

use crate::drawing::drawing;
use crate::fx_line::{net, net_with, rewrite, Is};
use crate::parts::{part, stand_in};
use crate::random_graph::meaning::meaning;
use crate::random_graph::{modules, RandomModule};
use fxir::ir::lint::lint_all;
use fxir::ir::{Attribute, ModuleTree};
use fxir::passes::subgraph_matcher::{AttributeMatching, MatchOptions, Pattern};
use fxir::passes::subgraph_rewriter::replace_pattern;
use proptest::prelude::*;

/// Patterns that stand in random modules. None reads a tensor: it would meet any, and put its own there.
const PATTERNS: [&str; 9] = [
    "x: return torch.relu(x)",
    "x, y: return torch.add(x, y)",
    "x, y, z: return torch.cat([x, y, z], dim=1)",
    "x, low, high: return x.clamp(low, max=high)",
    "x, at: return x[at]",
    "x: return self.act(x)",
    "x: r = torch.relu(x); return torch.chunk(r, 2), r",
    "x, y, z, l: return mine.function(x, {'k': [y, l]}, other=z)",
    "x, y: return torch.relu(x), torch.chunk(y, 2)",
];

/// What nodes yield, as far as is known, whichever they are.
fn told(tree: &ModuleTree) -> Vec<String> {
    let graph = tree.graph(tree.root()).unwrap();
    let mut all: Vec<String> = graph.nodes().map(|node| format!("{:?}", graph[node].value())).collect();
    all.sort();
    all
}

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
        let before = (drawing(&tree), meaning(&tree), told(&tree));
        let placeholders = |tree: &ModuleTree| tree.graph(tree.root()).unwrap().placeholders().collect::<Vec<_>>();
        let inputs = placeholders(&tree);
        let pattern = members(PATTERNS[which]);
        let replaced = rewrite(&mut tree, &pattern, &pattern);
        prop_assert_eq!(drawing(&tree), before.0);
        prop_assert_eq!(meaning(&tree), before.1);
        // All that these patterns compute they return: what the new nodes yield is as known as before.
        prop_assert_eq!(told(&tree), before.2);
        prop_assert_eq!(placeholders(&tree), inputs);
        // Each match has its nodes, live, as many as the pattern has.
        let graph = tree.graph(tree.root()).unwrap();
        let of = pattern.graph(pattern.root()).unwrap();
        let compute = of.len() - of.placeholders().count() - 1;
        for index in 0..replaced.matches.len() {
            let made = replaced.replacements(index).unwrap();
            prop_assert_eq!(made.len(), compute);
            prop_assert!(made.iter().all(|&node| graph.contains(node)));
        }
        // And again; parts that are not connected are paired as they stand, which is another way now.
        let count = replaced.matches.len();
        let is_connected = which < PATTERNS.len() - 1;
        prop_assert!(rewrite(&mut tree, &pattern, &pattern).matches.len() == count || !is_connected);
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

    #[test]
    fn a_part_is_replaced_and_comes_back(
        RandomModule { mut tree } in modules(25),
        picks in prop::collection::vec(any::<u16>(), 1..6),
        in_steps in any::<bool>(),
    ) {
        let Some((part, _)) = part(&tree, &picks) else { return Ok(()) };
        if Pattern::new(&part, part.root()).is_err() {
            return Ok(()); // it holds what nothing uses
        }
        let root = tree.root();
        let stand_in = stand_in(&part, in_steps);
        let before = (drawing(&tree), meaning(&tree));
        // By itself, first.
        let options = MatchOptions { attributes: AttributeMatching::EqualTensors, ..MatchOptions::default() };
        let mut replace = |of: &ModuleTree, by: &ModuleTree| {
            let replaced = replace_pattern(&mut tree, root, (of, of.root()), (by, by.root()), &options, &mut ()).unwrap();
            (replaced.matches.len(), lint_all(&tree, root), drawing(&tree), meaning(&tree))
        };
        let (count, lint, after, means) = replace(&part, &part);
        prop_assert!(count > 0);
        prop_assert_eq!((lint, after, means), (Ok(()), before.0.clone(), before.1.clone()));
        let (count, lint, after, _) = replace(&part, &stand_in);
        prop_assert!(count > 0 && after != before.0);
        prop_assert_eq!(lint, Ok(()));
        prop_assert_eq!(replace(&stand_in, &part), (count, Ok(()), before.0, before.1));
    }
}
