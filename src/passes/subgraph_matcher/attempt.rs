//! One attempt to lay a pattern over a graph, with a trail to take it back.

use super::callbacks::Ask;
use super::levels::LevelSet;
use super::members::AlikeMembers;
use super::pattern::Pattern;
use super::plan::Plan;
use super::MatchOptions;
use crate::ir::{Argument, Graph, ModuleId, ModuleTree, NodeId, Op, Symbol};
use crate::passes::schema::Overloads;

/// What a pattern node is bound to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound<'a> {
    Node(NodeId),
    Argument(&'a Argument),
    /// A default that the call left out: its place in [`Attempt::defaults`].
    Default(u32),
}

/// What is known of the graph's nodes, by slot. All patterns of a search share it.
#[derive(Default)]
pub(super) struct Slots {
    /// The pattern node bound to each, counted from 1.
    pub(super) bound_by: Vec<u32>,
    /// Which belong to a match that was taken; empty when matches may overlap.
    pub(super) claimed: Vec<bool>,
}

/// The graph that is searched.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) tree: &'a ModuleTree,
    pub(super) module: ModuleId,
    pub(super) graph: &'a Graph,
}

pub(super) struct Attempt<'a> {
    pub(super) place: Place<'a>,
    pub(super) pattern: &'a Pattern<'a>,
    pub(super) options: &'a MatchOptions,
    pub(super) plan: Plan,
    /// The targets of the pattern's nodes in the graph's table; none for texts that are not in it.
    targets: Vec<Option<Symbol>>,
    pub(super) slots: Slots,
    pub(super) bound: Vec<Option<Bound<'a>>>,
    pub(super) defaults: Vec<Argument>,
    trail: Vec<u32>,
    /// Pairs of nodes that are still to be compared: a work list, since patterns may be deep.
    pub(super) pairs: Vec<(usize, NodeId)>,
    /// The levels but for which the last comparison might have gone well.
    pub(super) blamed: LevelSet,
    /// Whether something uses an interior node from within a list, so that it may come to belong to
    /// the match by a placeholder that takes the list.
    in_doubt: bool,
    /// The signatures that pattern nodes are compared by, once somebody asked.
    pub(super) overloads: Vec<Option<Option<Overloads>>>,
    alike: AlikeMembers,
}

impl<'a> Attempt<'a> {
    pub(super) fn new(place: Place<'a>, pattern: &'a Pattern<'a>, options: &'a MatchOptions) -> Self {
        let target = |&node: &NodeId| place.graph.symbols().find(pattern.graph().target(node));
        let plan = Plan::new(pattern, options.match_output);
        Attempt {
            place,
            pattern,
            options,
            targets: pattern.nodes().iter().map(target).collect(),
            slots: Slots::default(),
            bound: vec![None; pattern.nodes().len()],
            defaults: Vec::new(),
            trail: Vec::new(),
            pairs: Vec::new(),
            blamed: LevelSet::new(plan.levels.len()),
            in_doubt: false,
            overloads: vec![None; pattern.nodes().len()],
            alike: AlikeMembers::default(),
            plan,
        }
    }

    /// Nothing is bound any more.
    pub(super) fn clear(&mut self) {
        self.undo(0);
        self.defaults.clear();
        self.in_doubt = false;
    }

    /// How much is bound, for [`Attempt::undo`].
    pub(super) fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Takes back what was bound since `mark`.
    pub(super) fn undo(&mut self, mark: usize) {
        for index in self.trail.drain(mark.min(self.trail.len())..) {
            if let Some(Bound::Node(node)) = self.bound[index as usize].take() {
                self.slots.bound_by[node.slot()] = 0;
            }
        }
    }

    /// The argument that a placeholder is bound to, if it is no node.
    pub(super) fn argument(&self, bound: Bound<'a>) -> Option<&Argument> {
        match bound {
            Bound::Node(_) => None,
            Bound::Argument(argument) => Some(argument),
            Bound::Default(at) => self.defaults.get(at as usize),
        }
    }

    /// The graph's nodes that would go: all that are bound to neither a placeholder nor the output.
    pub(super) fn compute_nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.bound.iter().enumerate().filter_map(|(index, bound)| match bound {
            Some(Bound::Node(node)) if !matches!(self.pattern.op(index), Op::Placeholder | Op::Output) => Some(*node),
            _ => None,
        })
    }

    /// The node bound to a pattern node.
    pub(super) fn node(&self, index: usize) -> Option<NodeId> {
        match self.bound[index] {
            Some(Bound::Node(node)) => Some(node),
            _ => None,
        }
    }

    pub(super) fn bind(&mut self, index: usize, bound: Bound<'a>) {
        self.bound[index] = Some(bound);
        if let Bound::Node(node) = bound {
            self.slots.bound_by[node.slot()] = index as u32 + 1;
        }
        self.trail.push(index as u32);
    }

    /// Whether a node is bound to a pattern node that is no placeholder.
    pub(super) fn is_inside(&self, node: NodeId) -> bool {
        match self.slots.bound_by[node.slot()] {
            0 => false,
            index => self.pattern.op(index as usize - 1) != Op::Placeholder,
        }
    }

    pub(super) fn is_claimed(&self, node: NodeId) -> bool {
        self.slots.claimed.get(node.slot()).is_some_and(|&claimed| claimed)
    }

    /// Whether only nodes that the pattern returns are used outside. What is certain was seen when
    /// the levels were bound.
    pub(super) fn is_contained(&self) -> bool {
        !self.in_doubt
            || (0..self.bound.len()).filter(|&index| self.pattern.is_interior(index)).all(|index| {
                self.node(index).is_none_or(|node| self.place.graph.users(node).all(|user| self.is_inside(user)))
            })
    }

    /// Whether a node does what a pattern node does, arguments left aside.
    pub(super) fn nodes_are_equal(&mut self, index: usize, node: NodeId, ask: &mut Ask<'_>) -> bool {
        let wanted = self.pattern.op(index);
        if wanted == Op::Placeholder && !self.options.match_placeholder {
            return true;
        }
        let found = &self.place.graph[node];
        let equal = wanted == found.op()
            && match wanted {
                Op::Placeholder | Op::Output => true,
                Op::CallFunction | Op::CallMethod => self.targets[index] == Some(found.target()),
                Op::CallModule | Op::GetAttr => {
                    let same_target = self.targets[index] == Some(found.target());
                    self.alike.ask((self.pattern, index), (&self.place, found.target()), same_target, self.options)
                }
            };
        match wanted {
            Op::Output => equal,
            _ if found.op() == Op::Output => false,
            _ => ask.nodes(self.pattern.nodes()[index], node, equal),
        }
    }

    /// Binds the anchor of a level to `node` and all above to what is above, or changes nothing and
    /// says in `blamed` which levels before this one were in the way.
    pub(super) fn match_level(&mut self, level: usize, node: NodeId, ask: &mut Ask<'_>) -> bool {
        let mark = self.mark();
        self.blamed.clear();
        self.pairs.clear();
        self.pairs.push((self.plan.levels[level].anchor, node));
        while let Some((index, node)) = self.pairs.pop() {
            if !self.match_pair(index, node, ask) {
                self.undo(mark);
                return false;
            }
        }
        for at in 0..self.plan.levels[level].completes.len() {
            if !self.is_complete(self.plan.levels[level].completes[at]) {
                self.undo(mark);
                return false;
            }
        }
        true
    }

    pub(super) fn blame(&mut self, index: usize) {
        self.blamed.insert(self.plan.level_of(index));
    }

    fn match_pair(&mut self, index: usize, node: NodeId, ask: &mut Ask<'_>) -> bool {
        if let Some(bound) = self.bound[index] {
            self.blame(index);
            return matches!(bound, Bound::Node(other) if other == node);
        }
        if self.slots.bound_by[node.slot()] != 0 {
            self.blame(self.slots.bound_by[node.slot()] as usize - 1);
            return false;
        }
        // Different nodes of the pattern are different nodes here.
        if self.place.graph.user_count(node) < self.pattern.uses(index) || !self.nodes_are_equal(index, node, ask) {
            return false;
        }
        let wanted = self.pattern.op(index);
        if !matches!(wanted, Op::Placeholder | Op::Output) && self.is_claimed(node) {
            return false;
        }
        if self.pattern.is_interior(index) && self.is_used_too_much(index, node) {
            return false;
        }
        self.bind(index, Bound::Node(node));
        wanted == Op::Placeholder || self.match_arguments(index, node, ask)
    }

    /// Whether something that can never belong to the match uses an interior node. Whatever takes it
    /// as it is, not in a list, is bound to something that takes the pattern's node so.
    fn is_used_too_much(&self, index: usize, node: NodeId) -> bool {
        /// Users behind these are looked at when the match is complete.
        const LOOKED_AT: usize = 16;
        let (graph, most) = (self.place.graph, self.pattern.uses(index));
        graph.user_count(node) > most
            && graph.users(node).take(most + LOOKED_AT).filter(|&user| takes_as_it_is(graph, user, node)).count() > most
    }

    /// Everything that uses an interior node of the pattern is bound: so must be all that uses the
    /// node which it is bound to, but what may still come by way of a list.
    fn is_complete(&mut self, index: usize) -> bool {
        let Some(node) = self.node(index) else { return true };
        let graph = self.place.graph;
        if graph.user_count(node) == self.pattern.uses(index) {
            return true;
        }
        for user in graph.users(node) {
            if self.is_inside(user) {
                continue;
            }
            if takes_as_it_is(graph, user, node) {
                let pattern = self.pattern;
                self.blame(index);
                pattern.graph().users(pattern.nodes()[index]).for_each(|user| self.blame(pattern.index(user)));
                return false;
            }
            self.in_doubt = true;
        }
        true
    }
}

fn takes_as_it_is(graph: &Graph, user: NodeId, node: NodeId) -> bool {
    let is_it = |argument: &Argument| matches!(argument, Argument::Node(other) if *other == node);
    let user = &graph[user];
    user.args().iter().any(is_it) || user.kwargs().iter().any(|(_, argument)| is_it(argument))
}
