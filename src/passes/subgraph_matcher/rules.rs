//! Looks for many patterns in one walk.

use super::attempt::{Place, Slots};
use super::beginnings::Beginnings;
use super::callbacks::Ask;
use super::search::Search;
use super::{MatchCallbacks, MatchOptions, Matches, Pattern};
use crate::ir::{ModuleId, ModuleTree, Result};

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
    let mut tried = Vec::new();
    for node in place.graph.nodes() {
        beginnings.at(place.graph, node, &mut tried);
        for &rule in &tried {
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
