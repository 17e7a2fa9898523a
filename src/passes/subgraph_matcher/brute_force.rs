//! Matches found are those that trying everything finds.

use super::{match_pattern, Binding, MatchOptions, Pattern};
use crate::ir::{Args, Argument, Graph, Kwargs, ModuleTree, NodeId, Op};
use proptest::prelude::*;
use std::collections::BTreeSet;

type Step = (u8, u16, u16, u8);

/// A graph of small steps; it returns what `returned` has a bit for, and all that nothing uses.
fn build(inputs: usize, steps: &[Step], returned: u16) -> ModuleTree {
    let mut tree = ModuleTree::new("GraphModule");
    let graph = tree.graph_mut(tree.root()).unwrap();
    let mut nodes: Vec<NodeId> = (0..inputs).map(|_| graph.placeholder("x").unwrap()).collect();
    for &(kind, a, b, literal) in steps {
        let (a, b): (Argument, Argument) =
            (nodes[a as usize % nodes.len()].into(), nodes[b as usize % nodes.len()].into());
        let literal = Argument::Int(i64::from(literal % 2));
        let (target, args) = match kind % 6 {
            0 | 1 => ("neg", vec![a]),
            2 => ("add", vec![a, b.clone()]),
            3 => ("add", vec![a, literal]),
            4 => ("cat", vec![Argument::List(vec![a, b.clone()].into())]),
            _ => ("sum", vec![a]),
        };
        let kwargs: Kwargs = match target {
            "sum" => vec![(graph.symbols().intern("dim"), b)].into(),
            _ => Kwargs::new(),
        };
        nodes.push(graph.call_function(target, Args::from_iter(args), kwargs).unwrap());
    }
    let is_returned = |(index, node): (usize, &NodeId)| {
        index >= inputs && (graph.user_count(*node) == 0 || returned >> (index % 16) & 1 == 1)
    };
    let items: Vec<Argument> =
        nodes.iter().enumerate().filter(|&it| is_returned(it)).map(|(_, &node)| node.into()).collect();
    graph.output(Argument::Tuple(items.into())).unwrap();
    tree
}

/// What stands for each node of the pattern, by its place.
type Laid = Vec<Option<Argument>>;

struct Brute<'a> {
    pattern: &'a Pattern<'a>,
    graph: &'a Graph,
    found: BTreeSet<Vec<String>>,
}

impl Brute<'_> {
    fn run(&mut self, index: usize, laid: &Laid) {
        let Some(&wanted) = self.pattern.nodes().get(index) else { return };
        match self.pattern.graph()[wanted].op() {
            Op::Placeholder => return self.run(index + 1, laid),
            Op::Output => return self.keep(laid),
            _ => {}
        }
        for node in self.graph.nodes() {
            let mut laid = laid.clone();
            if self.fits(index, node, &mut laid) {
                self.run(index + 1, &laid);
            }
        }
    }

    fn fits(&self, index: usize, node: NodeId, laid: &mut Laid) -> bool {
        let (a, b) = (&self.pattern.graph()[self.pattern.nodes()[index]], &self.graph[node]);
        let target = |graph: &Graph, node| graph.target(node).to_owned();
        if b.op() != Op::CallFunction
            || target(self.pattern.graph(), self.pattern.nodes()[index]) != target(self.graph, node)
            || a.args().len() != b.args().len()
            || !self.lay(index, Argument::Node(node), laid)
        {
            return false;
        }
        let args = a.args().iter().zip(b.args());
        let kwargs = a.kwargs().iter().zip(b.kwargs()).map(|((_, a), (_, b))| (a, b));
        args.chain(kwargs).all(|(a, b)| self.same(a, b, laid))
    }

    /// Nothing stands for two things, and no node for two nodes.
    fn lay(&self, index: usize, argument: Argument, laid: &mut Laid) -> bool {
        if let Some(before) = &laid[index] {
            return is_same(before, &argument);
        }
        if matches!(argument, Argument::Node(_)) && laid.iter().flatten().any(|other| is_same(other, &argument)) {
            return false;
        }
        laid[index] = Some(argument);
        true
    }

    fn same(&self, wanted: &Argument, found: &Argument, laid: &mut Laid) -> bool {
        match (wanted, found) {
            (Argument::Node(wanted), found) => {
                let index = self.pattern.index(*wanted);
                let is_placeholder = self.pattern.placeholders().contains(&index);
                (is_placeholder || matches!(found, Argument::Node(_))) && self.lay(index, found.clone(), laid)
            }
            (Argument::List(a), Argument::List(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| self.same(a, b, laid))
            }
            (a, b) => !matches!(b, Argument::Node(_)) && is_same(a, b),
        }
    }

    fn keep(&mut self, laid: &Laid) {
        let inside: Vec<NodeId> = self
            .pattern
            .compute_nodes()
            .map(|index| match laid[index] {
                Some(Argument::Node(node)) => node,
                _ => unreachable!("every node was laid"),
            })
            .collect();
        let is_contained = self.pattern.compute_nodes().zip(&inside).all(|(index, &node)| {
            self.pattern.returning().contains(&index) || self.graph.users(node).all(|user| inside.contains(&user))
        });
        let mut outside: Vec<NodeId> = Vec::new();
        for node in self.graph.nodes().filter(|node| !inside.contains(node)) {
            if self.graph.input_nodes(node).any(|input| inside.contains(&input) || outside.contains(&input)) {
                outside.push(node);
            }
        }
        let comes_back = |&node: &NodeId| self.graph.input_nodes(node).any(|input| outside.contains(&input));
        if is_contained && !inside.iter().any(comes_back) {
            self.found.insert(laid.iter().map(|it| format!("{it:?}")).collect());
        }
    }
}

/// All literals here are integers, written one way each.
fn is_same(a: &Argument, b: &Argument) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

/// A match as [`Brute`] has it.
fn spelled(pattern: &Pattern<'_>, bindings: &[Binding]) -> Vec<String> {
    let laid = |(index, binding): (usize, &Binding)| match binding {
        Binding::None => None,
        _ if index + 1 == pattern.nodes().len() => None,
        other => Some(other.to_argument()),
    };
    bindings.iter().enumerate().map(|it| format!("{:?}", laid(it))).collect()
}

fn taken(pattern: &Pattern<'_>, spelled: &[String]) -> BTreeSet<String> {
    pattern.compute_nodes().map(|index| spelled[index].clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn what_is_found_is_what_trying_everything_finds(
        steps in prop::collection::vec(any::<Step>(), 1..9),
        returned in any::<u16>(),
        inputs in 1usize..3,
        wanted in prop::collection::vec(any::<Step>(), 1..4),
        wanted_returned in any::<u16>(),
        wanted_inputs in 1usize..3,
    ) {
        let (net, pattern) = (build(inputs, &steps, returned), build(wanted_inputs, &wanted, wanted_returned));
        // Placeholders that nothing uses are refused.
        let Ok(pattern) = Pattern::new(&pattern, pattern.root()) else { return Ok(()) };
        let graph = net.graph(net.root()).unwrap();
        let mut brute = Brute { pattern: &pattern, graph, found: BTreeSet::new() };
        brute.run(0, &vec![None; pattern.nodes().len()]);

        let all = MatchOptions { remove_overlapping_matches: false, ..MatchOptions::default() };
        let found = match_pattern(&net, net.root(), &pattern, &all, &mut ()).unwrap();
        let all: Vec<_> = found.iter().map(|bindings| spelled(&pattern, bindings)).collect();
        prop_assert_eq!(all.len(), brute.found.len(), "{:?} instead of {:?}", all, brute.found);
        prop_assert_eq!(&all.into_iter().collect::<BTreeSet<_>>(), &brute.found);

        // Without overlaps: some of these, apart from each other, and no other fits beside them.
        let found = match_pattern(&net, net.root(), &pattern, &MatchOptions::default(), &mut ()).unwrap();
        let mut claimed = BTreeSet::new();
        for bindings in found.iter() {
            let bindings = spelled(&pattern, bindings);
            prop_assert!(brute.found.contains(&bindings));
            for node in taken(&pattern, &bindings) {
                prop_assert!(claimed.insert(node));
            }
        }
        for other in &brute.found {
            prop_assert!(!taken(&pattern, other).is_disjoint(&claimed), "{:?} was missed", other);
        }
    }
}
