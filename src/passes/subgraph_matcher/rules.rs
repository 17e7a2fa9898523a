//! Looks for many patterns in one walk.

use super::attempt::{Place, Slots};
use super::callbacks::Ask;
use super::search::Search;
use super::{MatchCallbacks, MatchOptions, Matches, Pattern};
use crate::ir::{Graph, ModuleId, ModuleTree, NodeId, Op, Result, Symbol};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// What several patterns matched.
#[derive(Debug, Default)]
pub struct FoundByRules {
    /// The matches of each.
    pub matches: Vec<Matches>,
    /// Whose each match was, in the order in which they were found.
    pub order: Vec<u32>,
}

impl FoundByRules {
    /// Drops matches; `keep` is in the order in which they were found.
    pub(crate) fn retain(&mut self, keep: &[bool]) {
        let mut by_rule: Vec<Vec<bool>> = vec![Vec::new(); self.matches.len()];
        self.order.iter().zip(keep).for_each(|(&rule, &keep)| by_rule[rule as usize].push(keep));
        self.matches.iter_mut().zip(&by_rule).for_each(|(matches, keep)| matches.retain(keep));
        let mut keep = keep.iter();
        self.order.retain(|_| keep.next().copied().unwrap_or(true));
    }
}

/// Finds several patterns in the graph of a module in one walk. At each node those patterns are tried
/// that can begin there, in the order in which they are given. If they all ask for matches without
/// overlaps, no two matches share a node, whatever their patterns.
///
/// The graph must be in order.
pub fn match_patterns(
    tree: &ModuleTree,
    module: ModuleId,
    rules: &[(&Pattern<'_>, &MatchOptions)],
    callbacks: &mut dyn MatchCallbacks,
) -> Result<FoundByRules> {
    let place = Place { tree, module, graph: tree.graph(module)? };
    let beginnings = Beginnings::new(place.graph, rules, callbacks);
    let mut searches: Vec<Option<Search<'_>>> = rules.iter().map(|_| None).collect();
    let remove_overlaps = rules.iter().all(|(_, options)| options.remove_overlapping_matches);
    let slot_count = place.graph.slot_count();
    let mut slots = Slots {
        bound_by: vec![0; slot_count],
        claimed: if remove_overlaps { vec![false; slot_count] } else { Vec::new() },
    };
    let matches = rules.iter().map(|(pattern, _)| Matches::new(pattern.nodes().len())).collect();
    let mut found = FoundByRules { matches, order: Vec::new() };
    for node in place.graph.nodes() {
        for rule in beginnings.at(place.graph, node) {
            let (pattern, options) = rules[rule as usize];
            // Most of many patterns begin nowhere.
            let search = searches[rule as usize].get_or_insert_with(|| Search::new(place, pattern, options));
            let matches = &mut found.matches[rule as usize];
            let before = matches.len();
            let mut ask = Ask::new(callbacks, rule as usize);
            search.run(node, &mut slots, &mut matches.bindings, &mut ask)?;
            found.order.extend(std::iter::repeat_n(rule, matches.len() - before));
        }
    }
    Ok(found)
}

/// Which patterns can begin at a node, by what it is.
#[derive(Default)]
struct Beginnings {
    by_target: FxHashMap<(Op, Symbol), Vec<u32>>,
    by_op: FxHashMap<Op, Vec<u32>>,
    /// The caller compares nodes.
    anywhere: Vec<u32>,
}

impl Beginnings {
    fn new(graph: &Graph, rules: &[(&Pattern<'_>, &MatchOptions)], callbacks: &dyn MatchCallbacks) -> Beginnings {
        let mut beginnings = Beginnings::default();
        for (rule, (pattern, options)) in rules.iter().enumerate() {
            let Some(&anchor) = pattern.anchors(options.match_output).first() else { continue };
            let list = match pattern.op(anchor) {
                Op::Output => beginnings.by_op.entry(Op::Output).or_default(),
                _ if callbacks.compares_nodes(rule) => &mut beginnings.anywhere,
                op @ (Op::CallFunction | Op::CallMethod) => {
                    let target = pattern.graph().target(pattern.nodes()[anchor]);
                    // A text that the graph's table does not have is nobody's target.
                    let Some(target) = graph.symbols().find(target) else { continue };
                    beginnings.by_target.entry((op, target)).or_default()
                }
                op => beginnings.by_op.entry(op).or_default(),
            };
            list.push(rule as u32);
        }
        beginnings
    }

    /// In the order of the rules.
    fn at(&self, graph: &Graph, node: NodeId) -> SmallVec<[u32; 8]> {
        let found = &graph[node];
        let by_target = match self.by_target.is_empty() {
            true => None,
            false => self.by_target.get(&(found.op(), found.target())),
        };
        let by_op = match self.by_op.is_empty() {
            true => None,
            false => self.by_op.get(&found.op()),
        };
        let lists = [by_target, by_op, Some(&self.anywhere)];
        let mut rules: SmallVec<[u32; 8]> = lists.into_iter().flatten().flatten().copied().collect();
        rules.sort_unstable();
        rules
    }
}
