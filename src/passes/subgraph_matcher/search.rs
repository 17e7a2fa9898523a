//! Lays one pattern over a graph, anchor by anchor.
//!
//! Binding an anchor settles all that lies above it, so that only the anchors are choices. When none
//! of an anchor's candidates fits, the search goes back to the last of the choices that were in the
//! way, not to the last choice: what fails for one reason does not fail again for every choice that
//! has nothing to do with it.

use super::attempt::{Attempt, Bound, Place, Slots};
use super::callbacks::Ask;
use super::candidates::{Candidates, KnownCandidates};
use super::levels::LevelSet;
use super::twins::Twin;
use super::{convex, Binding, MatchOptions, Pattern};
use crate::ir::{NodeId, Result};

pub(super) struct Search<'a> {
    attempt: Attempt<'a>,
    known: KnownCandidates,
    levels: Vec<Choice>,
    /// No candidate of the first anchor can do any more.
    is_over: bool,
}

/// Where the search stands with one anchor behind the first.
struct Choice {
    candidates: Candidates,
    next: usize,
    /// The simple twin that its node comes after.
    follows: Option<usize>,
    /// What was bound before this anchor.
    mark: usize,
    /// Which levels were in the way of candidates, or of what came after them.
    blamed: LevelSet,
}

impl<'a> Search<'a> {
    pub(super) fn new(place: Place<'a>, pattern: &'a Pattern<'a>, options: &'a MatchOptions) -> Self {
        Search {
            attempt: Attempt::new(place, pattern, options),
            known: KnownCandidates::default(),
            levels: Vec::new(),
            is_over: false,
        }
    }

    /// Takes the matches whose first anchor is `node`: appends their bindings to `taken`. When
    /// matches may not overlap, that is one at most, and claims its nodes.
    pub(super) fn run(
        &mut self,
        node: NodeId,
        slots: &mut Slots,
        taken: &mut Vec<Binding>,
        ask: &mut Ask<'_>,
    ) -> Result<()> {
        let Some(first) = self.attempt.plan.levels.first() else { return Ok(()) };
        let first = first.anchor;
        if self.is_over || !self.attempt.nodes_are_equal(first, node, ask) {
            return ask.check();
        }
        std::mem::swap(slots, &mut self.attempt.slots);
        let result = self.run_levels(node, taken, ask);
        self.levels.clear();
        self.attempt.clear();
        std::mem::swap(slots, &mut self.attempt.slots);
        result.and_then(|()| ask.check())
    }

    fn run_levels(&mut self, node: NodeId, taken: &mut Vec<Binding>, ask: &mut Ask<'_>) -> Result<()> {
        let count = self.attempt.plan.levels.len();
        if !self.attempt.match_level(0, node, ask) {
            return Ok(());
        }
        if count == 1 {
            self.take(taken, ask)?;
            return Ok(());
        }
        self.begin_level(1, ask);
        while !self.levels.is_empty() {
            ask.check()?;
            let level = self.levels.len();
            let choice = &mut self.levels[level - 1];
            self.attempt.undo(choice.mark);
            let Some(node) = self.known.get(&choice.candidates, choice.next) else {
                self.go_back();
                continue;
            };
            choice.next += 1;
            if !self.attempt.match_level(level, node, ask) {
                choice.blamed.insert_all(&self.attempt.blamed);
            } else if level + 1 < count {
                self.begin_level(level + 1, ask);
            } else {
                if self.take(taken, ask)? && !self.attempt.slots.claimed.is_empty() {
                    return Ok(());
                }
                // Any other choice may make another match, or a whole that holds.
                self.levels[level - 1].blamed.insert_all_before(level);
            }
        }
        Ok(())
    }

    /// The candidates of a level, all levels before it bound.
    fn begin_level(&mut self, level: usize, ask: &mut Ask<'_>) {
        let candidates = self.known.of_level(&mut self.attempt, level, ask);
        let mut next = self.known.first_free(&candidates, &self.attempt);
        let mut blamed = LevelSet::new(self.attempt.plan.levels.len());
        if let Some(route) = &self.attempt.plan.levels[level].route {
            blamed.insert(self.attempt.plan.level_of(route.from));
        }
        let twin = self.twin(level, ask);
        if let Some(twin) = twin {
            // Only the arrangement in the graph's order is tried: the first one to be met.
            if !twin.is_simple {
                blamed.insert(twin.level);
            }
            next = next.max(self.after_twin(twin.level, &candidates));
        }
        let follows = twin.filter(|twin| twin.is_simple).map(|twin| twin.level);
        if follows.is_some() && self.known.count(&candidates) < next + 1 + self.attempt.plan.levels[level].later_twins {
            next = usize::MAX; // too few are left for all that could change places
        }
        self.levels.push(Choice { candidates, next, follows, mark: self.attempt.mark(), blamed });
    }

    /// The twin to come after, where it does not matter which of the two is which.
    fn twin(&self, level: usize, ask: &Ask<'_>) -> Option<Twin> {
        let is_one_set = !self.attempt.slots.claimed.is_empty() && !ask.has_filter() && !ask.compares();
        self.attempt.plan.levels[level].twin.filter(|_| is_one_set)
    }

    /// Where the candidates begin that come after a twin's.
    fn after_twin(&self, twin: usize, candidates: &Candidates) -> usize {
        let Some(before) = self.attempt.node(self.attempt.plan.levels[twin].anchor) else { return 0 };
        if let (Candidates::Known(list), Some(choice)) = (candidates, twin.checked_sub(1).map(|at| &self.levels[at])) {
            if matches!(choice.candidates, Candidates::Known(other) if other == *list) {
                return choice.next;
            }
        }
        let graph = self.attempt.place.graph;
        let nodes = (0..).map_while(|at| self.known.get(candidates, at));
        nodes.take_while(|&node| node == before || graph.is_before(node, before)).count()
    }

    /// No candidate of the last level is left: back to the last level that was in the way.
    fn go_back(&mut self) {
        let level = self.levels.len();
        let Some(Choice { mut blamed, mut follows, .. }) = self.levels.pop() else { return };
        // Twins took all that fits: others among the same do not help, only what was in their way.
        while let Some(twin) = follows {
            match twin.checked_sub(1).and_then(|at| self.levels.get(at)) {
                Some(choice) => {
                    blamed.insert_all(&choice.blamed);
                    follows = choice.follows;
                }
                None => {
                    blamed.insert(0);
                    follows = None;
                }
            }
        }
        match blamed.last_before(level) {
            Some(0) => self.levels.clear(),
            Some(back) => {
                self.levels.truncate(back);
                if let Some(choice) = self.levels.last_mut() {
                    choice.blamed.insert_all(&blamed);
                }
            }
            None => {
                self.levels.clear();
                self.is_over = true;
            }
        }
    }

    /// Everything is bound: takes the match if it is one, and says whether it is.
    fn take(&mut self, taken: &mut Vec<Binding>, ask: &mut Ask<'_>) -> Result<bool> {
        if !self.attempt.is_contained() || !convex::is_convex(&self.attempt) {
            return Ok(false);
        }
        let attempt = &mut self.attempt;
        let start = taken.len();
        for bound in &attempt.bound {
            let binding = match *bound {
                Some(Bound::Node(node)) => Binding::of_node(attempt.place.graph, node),
                Some(other) => attempt.argument(other).map_or(Binding::None, |it| Binding::Argument(it.clone())),
                None => Binding::None,
            };
            taken.push(binding);
        }
        if ask.has_filter() && !ask.filter(attempt.place.tree, &taken[start..])? {
            taken.truncate(start);
            return Ok(false);
        }
        if !attempt.slots.claimed.is_empty() {
            for index in attempt.pattern.compute_nodes() {
                if let Some(node) = attempt.node(index) {
                    attempt.slots.claimed[node.slot()] = true;
                }
            }
        }
        Ok(true)
    }
}
