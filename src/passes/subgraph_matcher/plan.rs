//! In what order a pattern is laid over a graph: one level for each of its anchors.
//!
//! Binding an anchor binds all that lies above it, so that of every node of the pattern it is known
//! beforehand at which level it is bound, and at which level all that uses it is.

use super::pattern::Pattern;
use super::twins::{self, Twin};
use crate::ir::{Op, Symbol};
use rustc_hash::FxHashMap;

pub(super) struct Plan {
    pub(super) levels: Vec<Level>,
    /// For each node of the pattern the level that binds it.
    level_of: Vec<u32>,
}

pub(super) struct Level {
    pub(super) anchor: usize,
    /// How to get to the anchor from what is bound before; without it, it is looked for in the whole
    /// graph.
    pub(super) route: Option<Route>,
    /// Levels of one class have the same candidates when they start at the same node.
    pub(super) class: u32,
    /// The last level before that could change places with this one.
    pub(super) twin: Option<Twin>,
    /// How many levels behind this one could change places with it.
    pub(super) later_twins: usize,
    /// Interior nodes of which the last user is bound here.
    pub(super) completes: Vec<usize>,
}

/// From a node that is bound down to an anchor, user by user.
pub(super) struct Route {
    pub(super) from: usize,
    pub(super) steps: Vec<usize>,
}

impl Plan {
    pub(super) fn new(pattern: &Pattern<'_>, match_output: bool) -> Plan {
        let anchors = pattern.anchors(match_output);
        let count = pattern.nodes().len();
        let mut level_of = vec![u32::MAX; count];
        let mut ways = Ways { pattern, below: vec![usize::MAX; count], seen: Vec::new() };
        let routes: Vec<Option<Route>> = anchors
            .iter()
            .enumerate()
            .map(|(level, &anchor)| {
                let route = ways.route(anchor, &level_of);
                for index in ways.seen.drain(..) {
                    ways.below[index] = usize::MAX;
                    if level_of[index] == u32::MAX {
                        level_of[index] = level as u32;
                    }
                }
                route
            })
            .collect();
        let twins = if anchors.len() > 1 { twins::twins(pattern, &anchors) } else { vec![None; anchors.len()] };
        let mut classes = Classes::default();
        let levels = anchors.iter().zip(routes).zip(twins);
        let levels = levels.map(|((&anchor, route), twin)| {
            let class = classes.class(pattern, anchor, route.as_ref());
            Level { anchor, route, class, twin, later_twins: 0, completes: Vec::new() }
        });
        let mut plan = Plan { levels: levels.collect(), level_of };
        for level in (0..plan.levels.len()).rev() {
            if let Some(twin) = plan.levels[level].twin {
                plan.levels[twin.level].later_twins = plan.levels[level].later_twins + 1;
            }
        }
        let mut last_use: Vec<u32> = plan.level_of.clone();
        for index in 0..count {
            if pattern.op(index) == Op::Output {
                continue;
            }
            for input in pattern.inputs(index) {
                last_use[input] = last_use[input].max(plan.level_of[index]);
            }
        }
        for index in (0..count).filter(|&index| pattern.is_interior(index)) {
            if let Some(level) = plan.levels.get_mut(last_use[index] as usize) {
                level.completes.push(index);
            }
        }
        plan
    }

    /// The level that binds a node of the pattern.
    pub(super) fn level_of(&self, index: usize) -> usize {
        self.level_of[index] as usize
    }
}

struct Ways<'p, 'a> {
    pattern: &'p Pattern<'a>,
    /// The step back down from each node that was seen.
    below: Vec<usize>,
    seen: Vec<usize>,
}

impl Ways<'_, '_> {
    /// The shortest way down to an anchor from what an earlier level binds, a placeholder only where
    /// there is nothing else. Sees all that only this anchor lies below.
    fn route(&mut self, anchor: usize, level_of: &[u32]) -> Option<Route> {
        self.below[anchor] = anchor;
        self.seen.push(anchor);
        let (mut node, mut placeholder) = (None, None);
        let mut next = 0;
        while let Some(&at) = self.seen.get(next) {
            next += 1;
            if level_of[at] != u32::MAX {
                let meeting = if self.pattern.op(at) == Op::Placeholder { &mut placeholder } else { &mut node };
                meeting.get_or_insert(at);
                continue;
            }
            for input in self.pattern.inputs(at) {
                if self.below[input] == usize::MAX {
                    self.below[input] = at;
                    self.seen.push(input);
                }
            }
        }
        let from = node.or(placeholder)?;
        let mut steps = Vec::new();
        let mut at = from;
        while at != anchor {
            at = self.below[at];
            steps.push(at);
        }
        Some(Route { from, steps })
    }
}

/// Numbers for ways of the same kind: same ops and targets all the way down.
#[derive(Default)]
struct Classes {
    numbers: FxHashMap<Vec<(Op, Symbol)>, u32>,
}

impl Classes {
    fn class(&mut self, pattern: &Pattern<'_>, anchor: usize, route: Option<&Route>) -> u32 {
        let kind = |&index: &usize| {
            let node = &pattern.graph()[pattern.nodes()[index]];
            (node.op(), node.target())
        };
        let key = route.map_or_else(|| vec![kind(&anchor)], |route| route.steps.iter().map(kind).collect());
        let next = self.numbers.len() as u32;
        *self.numbers.entry(key).or_insert(next)
    }
}
