//! Passes one after the other: what they leave is in order, and means what it has to.

use crate::fx_line::{net, rewrite};
use crate::random_graph::listing::listing;
use crate::random_graph::meaning::meaning;
use crate::random_graph::{modules, picked, RandomModule};
use fxir::ir::lint::lint_all;
use fxir::ir::lowering::LoweringAttrs;
use fxir::ir::{ErrorKind, ModuleTree, NewModule, NodeId, Op};
use fxir::passes::cse::{eliminate_common_subexpressions, CseOptions};
use fxir::passes::dead_code::eliminate_dead_code;
use fxir::passes::deduplicate_get_attr::deduplicate_get_attr;
use fxir::passes::fuse::{fuse_as_graphmodule, FuseOptions};
use fxir::passes::insert::{insert_subgm, TakenName};
use fxir::passes::legalize::legalize;
use fxir::passes::lift::lift_subgraph_as_module;
use fxir::passes::lift_constants::{lift_constants, LiftOptions};
use fxir::passes::lowering_attrs::lift_lowering_attrs_to_nodes;
use fxir::passes::normalize_args::{normalize_args, NormalizeOptions};
use fxir::passes::replace_target::replace_target_nodes_with;
use fxir::passes::subgraph_matcher::Pattern;
use fxir::passes::subgraph_rewriter::{rewrite_to_fixpoint, Rule};
use fxir::passes::unused_attributes::delete_unused_attributes;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// What a pass leaves as it was.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Keeps {
    /// What is computed, and what is returned.
    Meaning,
    /// What is computed, though perhaps less often, and what is returned.
    Once,
    /// What is returned.
    Returned,
    Nothing,
}

#[derive(Debug, Clone)]
enum Step {
    Replace(usize),
    Settle,
    DeadCode,
    Legalize(Vec<(u16, u16)>),
    Fuse(Vec<u16>, bool),
    Insert(Vec<u16>, Vec<u16>),
    Target(bool),
    Normalize,
    Lift,
    LoweringAttrs,
    Unused,
    Twice,
    TwiceRead,
    UnusedAttributes,
    Constants,
    Copy,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let picks = |most| prop::collection::vec(any::<u16>(), 0..most);
    let step = prop_oneof![
        3 => (0..RULES.len()).prop_map(Step::Replace),
        1 => Just(Step::Settle),
        2 => Just(Step::DeadCode),
        1 => prop::collection::vec((any::<u16>(), any::<u16>()), 0..4).prop_map(Step::Legalize),
        4 => (picks(5), any::<bool>()).prop_map(|(picks, always)| Step::Fuse(picks, always)),
        1 => (picks(3), picks(3)).prop_map(|(inputs, outputs)| Step::Insert(inputs, outputs)),
        1 => any::<bool>().prop_map(Step::Target),
        1 => Just(Step::Normalize),
        1 => Just(Step::Lift),
        1 => Just(Step::LoweringAttrs),
        1 => Just(Step::Unused),
        2 => Just(Step::Twice),
        1 => Just(Step::TwiceRead),
        1 => Just(Step::UnusedAttributes),
        1 => Just(Step::Constants),
        1 => Just(Step::Copy),
    ];
    prop::collection::vec(step, 1..9)
}

/// The first five compute what they replace.
const RULES: [[&str; 2]; 10] = [
    ["x, y: return torch.add(x, y)", "x, y: return torch.add(x, y)"],
    ["x: r = torch.relu(x); return torch.chunk(r, 2), r", "x: r = torch.relu(x); return torch.chunk(r, 2), r"],
    ["x, at: return x[at]", "x, at: return x[at]"],
    ["x, low, high: return x.clamp(low, max=high)", "x, low, high: return x.clamp(low, max=high)"],
    ["x, y, z: return torch.cat([x, y, z], dim=1)", "x, y, z: return torch.cat([x, y, z], dim=1)"],
    ["x, y: return torch.add(x, y)", "x, y: return torch.sub(x, {'k': y}, alpha=self.new.w)"],
    ["x: return torch.relu(x)", "x: return x"],
    ["x, y: return torch.relu(x), torch.chunk(y, 2)", "x, y: m = self.mix(x, y); return m[0], m[1]"],
    ["x: return torch.relu(x)", "x: return torch.add(torch.ones(2, 2), torch.tensor([1, 2])) * torch.relu(x)"],
    ["x, y, z, l: return mine.function(x, {'k': [y, l]}, other=z)", "x, y, z, l: return torch.relu(torch.relu(y))"],
];

/// Takes one step; what is refused changes nothing.
fn take(tree: &mut ModuleTree, step: &Step) -> Result<Keeps, TestCaseError> {
    let root = tree.root();
    let before = listing(tree);
    Ok(match step {
        Step::Replace(which) => {
            let [pattern, replacement] = RULES[*which].map(net);
            let count = rewrite(tree, &pattern, &replacement).matches.len();
            if *which < 5 || count == 0 {
                Keeps::Meaning
            } else {
                Keeps::Nothing
            }
        }
        Step::Settle => {
            let [relu, plain] = ["x: return torch.relu(torch.relu(x))", "x: return torch.relu(x)"].map(net);
            let pattern = Pattern::new(&relu, relu.root()).unwrap();
            let rule = Rule { replacement: Some((&plain, plain.root())), ..Rule::new(&pattern) };
            rewrite_to_fixpoint(tree, root, &[rule], 100, &mut ()).unwrap();
            Keeps::Nothing
        }
        Step::DeadCode => {
            eliminate_dead_code(tree, root, None).unwrap();
            Keeps::Returned
        }
        Step::Legalize(moves) => {
            let graph = tree.graph_mut(root).unwrap();
            let nodes: Vec<NodeId> = graph.nodes().filter(|&node| graph[node].op() != Op::Placeholder).collect();
            for (node, anchor) in moves {
                let [node, anchor] = [node, anchor].map(|&pick| nodes[pick as usize % nodes.len()]);
                graph.move_after(node, anchor).unwrap();
            }
            legalize(graph).unwrap();
            Keeps::Meaning
        }
        Step::Fuse(picks, always_return_tuple) => {
            let options = FuseOptions { always_return_tuple: *always_return_tuple, ..FuseOptions::default() };
            let nodes = picked(tree, picks);
            if let Err(error) = fuse_as_graphmodule(tree, root, &nodes, "part", &options) {
                prop_assert_eq!((error.kind, listing(tree)), (ErrorKind::InvalidArgument, before));
            }
            Keeps::Meaning
        }
        Step::Insert(inputs, outputs) => {
            let [inputs, outputs] = [inputs, outputs].map(|picks| picked(tree, picks));
            let mut sub = ModuleTree::with_symbols(tree.symbols().clone(), "Sub");
            let top = sub.root();
            sub.add_module(top, "leaf", "Leaf", NewModule::Leaf).unwrap();
            let leaf = sub.copy_out(sub.submodule(top, "leaf").unwrap(), tree.symbols()).unwrap();
            match insert_subgm(tree, root, leaf, "leaf", &inputs, &outputs, TakenName::Number) {
                Ok(_) => Keeps::Nothing,
                Err(error) => {
                    prop_assert_eq!((error.kind, listing(tree)), (ErrorKind::InvalidArgument, before));
                    Keeps::Meaning
                }
            }
        }
        Step::Target(forth) => {
            let [old, new] = if *forth { ["torch.relu", "torch.relu6"] } else { ["torch.relu6", "torch.relu"] };
            replace_target_nodes_with(tree, root, Op::CallFunction, old, Op::CallFunction, new).unwrap();
            Keeps::Nothing
        }
        Step::Normalize => {
            normalize_args(tree, root, NormalizeOptions::default()).unwrap();
            Keeps::Nothing
        }
        Step::Lift => {
            *tree = lift_subgraph_as_module(tree, root, tree.graph(root).unwrap(), "Lifted").unwrap();
            Keeps::Meaning
        }
        Step::LoweringAttrs => {
            lift_lowering_attrs_to_nodes(tree, root, &LoweringAttrs::default(), false).unwrap();
            Keeps::Meaning
        }
        Step::Unused => {
            tree.delete_all_unused_submodules(root).unwrap();
            Keeps::Meaning
        }
        Step::Twice => {
            let gone = eliminate_common_subexpressions(tree, root, CseOptions::default()).unwrap();
            let (graph, after) = (tree.graph(root).unwrap(), listing(tree));
            prop_assert!(gone.iter().all(|&(node, kept)| !graph.contains(node) && graph.contains(kept)));
            prop_assert_eq!(eliminate_common_subexpressions(tree, root, CseOptions::default()).unwrap(), vec![]);
            prop_assert_eq!(listing(tree), after);
            Keeps::Once
        }
        Step::TwiceRead => {
            deduplicate_get_attr(tree, root).unwrap();
            let graph = tree.graph(root).unwrap();
            let mut read: Vec<&str> = graph.nodes_of(Op::GetAttr).map(|node| graph.target(node)).collect();
            let count = read.len();
            read.sort_unstable();
            read.dedup();
            prop_assert_eq!(read.len(), count);
            Keeps::Meaning
        }
        Step::UnusedAttributes => {
            delete_unused_attributes(tree, root).unwrap();
            prop_assert_eq!(delete_unused_attributes(tree, root).unwrap(), Vec::<String>::new());
            Keeps::Meaning
        }
        Step::Constants => {
            let lifted = lift_constants(tree, root, LiftOptions::default()).unwrap();
            let graph = tree.graph(root).unwrap();
            prop_assert!(lifted.iter().all(|&node| graph[node].op() == Op::GetAttr));
            if lifted.is_empty() {
                Keeps::Meaning
            } else {
                Keeps::Nothing
            }
        }
        Step::Copy => {
            *tree = tree.clone_subtree(root).unwrap();
            Keeps::Meaning
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn after_any_passes_lint_holds_and_the_meaning_is_kept(
        RandomModule { mut tree } in modules(30),
        steps in steps(),
    ) {
        for step in &steps {
            let before = meaning(&tree);
            let keeps = take(&mut tree, step)?;
            prop_assert_eq!(lint_all(&tree, tree.root()), Ok(()), "{:?}", step);
            let after = meaning(&tree);
            if keeps == Keeps::Once {
                let set = |all: &[u64]| all.iter().copied().collect::<BTreeSet<u64>>();
                prop_assert_eq!(set(&after.1), set(&before.1), "{:?}", step);
                prop_assert!(after.1.len() <= before.1.len());
            }
            if keeps != Keeps::Nothing {
                prop_assert_eq!(&after.0, &before.0, "{:?}", step);
            }
            if keeps == Keeps::Meaning {
                prop_assert_eq!(&after.1, &before.1, "{:?}", step);
            }
        }
    }
}
