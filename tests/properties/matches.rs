//! Every match that is reported is one, by a check that knows nothing of the search; and a part of a
//! graph is found where it was taken from.

use crate::parts::part;
use crate::random_graph::listing::show;
use crate::random_graph::{modules, RandomModule};
use fxir::ir::{Argument, Graph, Member, ModuleTree, NodeId, Op};
use fxir::passes::subgraph_matcher::{match_pattern, Binding, MatchOptions, Pattern};
use proptest::prelude::*;
use std::collections::HashSet;

/// A pattern beside a graph in which it is looked for.
struct Check<'a> {
    tree: &'a ModuleTree,
    graph: &'a Graph,
    of: &'a ModuleTree,
    pattern: &'a Pattern<'a>,
    bindings: &'a [Binding],
}

impl Check<'_> {
    /// What is wrong with the match.
    fn run(&self) -> Result<(), String> {
        let mut taken = HashSet::new();
        for (index, binding) in self.bindings.iter().enumerate().filter(|it| it.1.node().is_some()) {
            // Of several placeholders too, no two stand for one node.
            if !taken.insert(binding.node()) {
                return Err(format!("{} is bound to a node that another is bound to", self.name(index)));
            }
        }
        let inside: Vec<NodeId> =
            self.pattern.compute_nodes().filter_map(|index| self.bindings[index].node()).collect();
        if inside.len() < self.pattern.compute_nodes().count() {
            return Err("a node is bound to nothing".into());
        }
        for index in self.pattern.compute_nodes() {
            let node = self.bindings[index].node().ok_or("no node")?;
            self.compare(index, node)
                .map_err(|what| format!("{} and {}: {what}", self.name(index), self.graph.name(node)))?;
            let is_returned = self.pattern.returning().contains(&index);
            if !is_returned && self.graph.users(node).any(|user| !inside.contains(&user)) {
                return Err(format!("{} is used outside", self.graph.name(node)));
            }
        }
        // What needs a node of the match, and which the match needs.
        let mut after: HashSet<NodeId> = HashSet::new();
        for node in self.graph.nodes() {
            let comes_after = self.graph.input_nodes(node).any(|input| after.contains(&input));
            if inside.contains(&node) && comes_after {
                return Err(format!("a path leaves the match and comes back to {}", self.graph.name(node)));
            }
            if comes_after
                || (!inside.contains(&node) && self.graph.input_nodes(node).any(|input| inside.contains(&input)))
            {
                after.insert(node);
            }
        }
        Ok(())
    }

    fn name(&self, index: usize) -> &str {
        self.pattern.graph().name(self.pattern.nodes()[index])
    }

    fn compare(&self, index: usize, node: NodeId) -> Result<(), String> {
        let (graph, wanted) = (self.pattern.graph(), self.pattern.nodes()[index]);
        let (a, b) = (&graph[wanted], &self.graph[node]);
        if a.op() != b.op() {
            return Err("two ops".into());
        }
        let [target, found] = [graph.target(wanted), self.graph.target(node)];
        let member = |tree: &ModuleTree, target: &str| match tree.resolve(tree.root(), target) {
            Some(Member::Module(module)) => tree.symbols().text(tree.get(module).unwrap().type_name()).to_owned(),
            Some(Member::Attribute(_)) => "a tensor".to_owned(),
            None => "nothing".to_owned(),
        };
        let same_target = match a.op() {
            Op::CallModule | Op::GetAttr => member(self.of, target) == member(self.tree, found),
            _ => target == found,
        };
        if !same_target || a.args().len() != b.args().len() || a.kwargs().len() != b.kwargs().len() {
            return Err("two targets, or two forms".into());
        }
        a.args().iter().zip(b.args()).try_for_each(|(a, b)| self.same(a, b))?;
        a.kwargs().iter().try_for_each(|(key, a)| {
            let key = graph.text(*key);
            let other = b.kwargs().iter().find(|(other, _)| self.graph.text(*other) == key);
            self.same(a, &other.ok_or("no such keyword")?.1)
        })
    }

    fn same(&self, a: &Argument, b: &Argument) -> Result<(), String> {
        use Argument::{Dict, List, Node, Slice, Tuple};
        let each = |a: &[Argument], b: &[Argument]| match a.len() == b.len() {
            true => a.iter().zip(b).try_for_each(|(a, b)| self.same(a, b)),
            false => Err("two lengths".into()),
        };
        match (a, b) {
            (Node(wanted), b) => {
                let bound = self.bindings[self.pattern.index(*wanted)].to_argument();
                let [bound, found] = [&bound, b].map(|it| show(self.graph, it));
                if bound == found {
                    Ok(())
                } else {
                    Err(format!("{found} where {bound} is bound"))
                }
            }
            (List(a) | Tuple(a), List(b) | Tuple(b)) => each(a, b),
            (Slice(a), Slice(b)) => each(a.as_ref(), b.as_ref()),
            (Dict(a), Dict(b)) if a.len() == b.len() => {
                a.iter().zip(b.iter()).try_for_each(|((key, a), (other, b))| {
                    match show(self.pattern.graph(), key) == show(self.graph, other) {
                        true => self.same(a, b),
                        false => Err("two keys".into()),
                    }
                })
            }
            (a, b) => match show(self.pattern.graph(), a) == show(self.graph, b) {
                true => Ok(()),
                false => Err(format!("{} and {}", show(self.pattern.graph(), a), show(self.graph, b))),
            },
        }
    }
}

fn found(tree: &ModuleTree, of: &ModuleTree, overlapping: bool) -> Result<Option<Vec<HashSet<NodeId>>>, TestCaseError> {
    let Ok(pattern) = Pattern::new(of, of.root()) else { return Ok(None) };
    let options = MatchOptions { remove_overlapping_matches: !overlapping, ..MatchOptions::default() };
    let matches = match_pattern(tree, tree.root(), &pattern, &options, &mut ()).unwrap();
    let graph = tree.graph(tree.root()).unwrap();
    let mut all: Vec<HashSet<NodeId>> = Vec::new();
    for bindings in matches.iter() {
        let check = Check { tree, graph, of, pattern: &pattern, bindings };
        prop_assert_eq!(check.run(), Ok(()));
        let nodes: HashSet<NodeId> = pattern.compute_nodes().filter_map(|index| bindings[index].node()).collect();
        prop_assert!(overlapping || all.iter().all(|other| other.is_disjoint(&nodes)));
        all.push(nodes);
    }
    Ok(Some(all))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn a_part_is_found_where_it_was_taken_from(
        RandomModule { tree } in modules(25),
        picks in prop::collection::vec(any::<u16>(), 1..5),
    ) {
        let Some((part, nodes)) = part(&tree, &picks) else { return Ok(()) };
        let nodes: HashSet<NodeId> = nodes.into_iter().collect();
        if let Some(all) = found(&tree, &part, true)? {
            prop_assert!(all.contains(&nodes), "not among {}", all.len());
            let apart = found(&tree, &part, false)?.unwrap();
            prop_assert!(apart.iter().all(|one| all.contains(one)));
            prop_assert!(apart.iter().any(|one| !one.is_disjoint(&nodes)));
        }
    }

    #[test]
    fn a_part_of_another_graph_is_found_where_it_is(
        RandomModule { tree } in modules(25),
        RandomModule { tree: other } in modules(8),
        picks in prop::collection::vec(any::<u16>(), 1..4),
    ) {
        if let Some((part, _)) = part(&other, &picks) {
            found(&tree, &part, true)?;
            found(&tree, &part, false)?;
        }
    }
}
