//! One attempt to lay a pattern over a graph, with a trail to take it back.

use super::pattern::Pattern;
use super::{MatchOptions, ModuleMatching};
use crate::ir::{Argument, Attribute, Graph, Member, ModuleId, ModuleTree, NodeId, Op, Symbol};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// What a pattern node is bound to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound<'a> {
    Node(NodeId),
    Argument(&'a Argument),
}

pub(super) struct Attempt<'a> {
    tree: &'a ModuleTree,
    module: ModuleId,
    graph: &'a Graph,
    pattern: &'a Pattern<'a>,
    options: &'a MatchOptions,
    /// The targets of the pattern's nodes in the graph's table; none for texts that are not in it.
    targets: Vec<Option<Symbol>>,
    bound: Vec<Option<Bound<'a>>>,
    /// For each slot of the graph the pattern node bound to it, counted from 1.
    bound_by: Vec<u32>,
    trail: Vec<u32>,
    /// Pairs of nodes that are still to be compared: a work list, since patterns may be deep.
    pairs: Vec<(usize, NodeId)>,
    /// Whether the modules or attributes under two targets are alike, worked out once a pair.
    alike: RefCell<FxHashMap<(usize, Symbol), bool>>,
}

impl<'a> Attempt<'a> {
    pub(super) fn new(
        tree: &'a ModuleTree,
        module: ModuleId,
        graph: &'a Graph,
        pattern: &'a Pattern<'a>,
        options: &'a MatchOptions,
    ) -> Self {
        let target = |&node: &NodeId| graph.symbols().find(pattern.graph().target(node));
        Attempt {
            tree,
            module,
            graph,
            pattern,
            options,
            targets: pattern.nodes().iter().map(target).collect(),
            bound: vec![None; pattern.nodes().len()],
            bound_by: vec![0; graph.slot_count()],
            trail: Vec::new(),
            pairs: Vec::new(),
            alike: RefCell::default(),
        }
    }

    pub(super) fn options(&self) -> &'a MatchOptions {
        self.options
    }

    pub(super) fn graph(&self) -> &'a Graph {
        self.graph
    }

    pub(super) fn pattern(&self) -> &'a Pattern<'a> {
        self.pattern
    }

    /// How much is bound, for [`Attempt::undo`].
    pub(super) fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Takes back what was bound since `mark`.
    pub(super) fn undo(&mut self, mark: usize) {
        for index in self.trail.drain(mark.min(self.trail.len())..) {
            if let Some(Bound::Node(node)) = self.bound[index as usize].take() {
                self.bound_by[node.slot()] = 0;
            }
        }
    }

    /// What each pattern node is bound to.
    pub(super) fn bound_nodes(&self) -> impl Iterator<Item = Option<Bound<'a>>> + '_ {
        self.bound.iter().copied()
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

    /// Whether a node is bound to a pattern node that is no placeholder.
    pub(super) fn is_inside(&self, node: NodeId) -> bool {
        match self.bound_by[node.slot()] {
            0 => false,
            index => self.pattern.op(index as usize - 1) != Op::Placeholder,
        }
    }

    /// Whether only nodes that the pattern returns are used outside.
    pub(super) fn is_contained(&self) -> bool {
        self.bound.iter().enumerate().all(|(index, bound)| match bound {
            Some(Bound::Node(node)) if self.pattern.op(index) != Op::Placeholder => {
                self.pattern.is_returning(index) || self.graph.users(*node).all(|user| self.is_inside(user))
            }
            _ => true,
        })
    }

    /// The graph's nodes that may be an anchor behind the first, in order.
    pub(super) fn candidates(&self, anchor: usize) -> Vec<NodeId> {
        let Some((route, start)) = self.pattern.route(anchor).and_then(|route| Some((route, self.node(route.from)?)))
        else {
            return self.graph.nodes().filter(|&node| self.nodes_are_equal(anchor, node)).collect();
        };
        let mut at = vec![start];
        for &step in &route.steps {
            let users = at.iter().flat_map(|&node| self.graph.users(node));
            at = users.filter(|&user| self.nodes_are_equal(step, user)).collect();
            at.sort_unstable();
            at.dedup();
        }
        at.sort_unstable_by(
            |&a, &b| {
                if self.graph.is_before(a, b) {
                    std::cmp::Ordering::Less
                } else {
                    (a != b).cmp(&false)
                }
            },
        );
        at
    }

    /// Whether a node does what a pattern node does, arguments left aside.
    pub(super) fn nodes_are_equal(&self, index: usize, node: NodeId) -> bool {
        let wanted = self.pattern.op(index);
        if wanted == Op::Placeholder && !self.options.match_placeholder {
            return true;
        }
        let found = &self.graph[node];
        if wanted != found.op() {
            return false;
        }
        match wanted {
            Op::Placeholder | Op::Output => true,
            Op::CallFunction | Op::CallMethod => self.targets[index] == Some(found.target()),
            Op::CallModule | Op::GetAttr => {
                let key = (index, found.target());
                if let Some(&alike) = self.alike.borrow().get(&key) {
                    return alike;
                }
                let alike = self.members_are_alike(index, found.target());
                self.alike.borrow_mut().insert(key, alike);
                alike
            }
        }
    }

    /// Binds `index` to `node` and all above to what is above, or changes nothing.
    pub(super) fn match_nodes(&mut self, index: usize, node: NodeId) -> bool {
        let mark = self.mark();
        self.pairs.clear();
        self.pairs.push((index, node));
        while let Some((index, node)) = self.pairs.pop() {
            if !self.match_pair(index, node) {
                self.undo(mark);
                return false;
            }
        }
        true
    }

    fn match_pair(&mut self, index: usize, node: NodeId) -> bool {
        if let Some(bound) = self.bound[index] {
            return matches!(bound, Bound::Node(other) if other == node);
        }
        if self.bound_by[node.slot()] != 0 || !self.nodes_are_equal(index, node) {
            return false;
        }
        self.bound[index] = Some(Bound::Node(node));
        self.bound_by[node.slot()] = index as u32 + 1;
        self.trail.push(index as u32);
        let (pattern, graph) = (self.pattern.graph(), self.graph);
        let (wanted, found) = (&pattern[self.pattern.nodes()[index]], &graph[node]);
        if wanted.op() == Op::Placeholder {
            return true;
        }
        let same_form = wanted.args().len() == found.args().len()
            && wanted.kwargs().len() == found.kwargs().len()
            && wanted.kwargs().iter().zip(found.kwargs()).all(|((a, _), (b, _))| pattern.text(*a) == graph.text(*b));
        same_form
            && wanted.args().iter().zip(found.args()).all(|(a, b)| self.match_argument(a, b))
            && wanted.kwargs().iter().zip(found.kwargs()).all(|((_, a), (_, b))| self.match_argument(a, b))
    }

    /// Compares two arguments; pairs of nodes are put aside. Recursion is as deep as an argument.
    fn match_argument(&mut self, wanted: &'a Argument, found: &'a Argument) -> bool {
        match (wanted, found) {
            (Argument::Node(wanted), Argument::Node(found)) => {
                self.pairs.push((self.pattern.index(*wanted), *found));
                true
            }
            (Argument::Node(wanted), found) => self.bind_argument(self.pattern.index(*wanted), found),
            (_, Argument::Node(_)) => false,
            (Argument::List(a) | Argument::Tuple(a), Argument::List(b) | Argument::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| self.match_argument(a, b))
            }
            (Argument::Dict(a), Argument::Dict(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .zip(b.iter())
                        .all(|((key, a), (other, b))| self.same_literal(key, other) && self.match_argument(a, b))
            }
            (Argument::Slice(a), Argument::Slice(b)) => a.iter().zip(b.iter()).all(|(a, b)| self.match_argument(a, b)),
            (wanted, found) => {
                self.same_literal(wanted, found)
                    || (self.options.ignore_literals && !wanted.holds_node() && !found.holds_node())
            }
        }
    }

    /// A placeholder may stand for anything, the same wherever it stands.
    fn bind_argument(&mut self, index: usize, found: &'a Argument) -> bool {
        if self.pattern.op(index) != Op::Placeholder || self.options.match_placeholder {
            return false;
        }
        match self.bound[index] {
            Some(Bound::Node(_)) => false,
            Some(Bound::Argument(before)) => {
                let symbols = self.graph.symbols();
                before.same_literal(symbols, found, symbols, &mut |a, b| a == b)
            }
            None => {
                self.bound[index] = Some(Bound::Argument(found));
                self.trail.push(index as u32);
                true
            }
        }
    }

    fn same_literal(&self, wanted: &Argument, found: &Argument) -> bool {
        wanted.same_literal(self.pattern.graph().symbols(), found, self.graph.symbols(), &mut |_, _| false)
    }

    /// Whether what a call_module calls, or a get_attr reads, is of the same kind in both. A
    /// target that leads nowhere is only like the same target.
    fn members_are_alike(&self, index: usize, target: Symbol) -> bool {
        let node = self.pattern.nodes()[index];
        let same_target = self.targets[index] == Some(target);
        let wanted = self.pattern.tree.resolve(self.pattern.module, self.pattern.graph().target(node));
        let found = self.tree.resolve(self.module, self.graph.text(target));
        match (wanted, found) {
            (Some(Member::Module(wanted)), Some(Member::Module(found))) => match self.options.modules {
                ModuleMatching::Target => same_target,
                ModuleMatching::Type => self.modules_are_alike(wanted, found, same_target, false),
                ModuleMatching::TypeAndSettings => self.modules_are_alike(wanted, found, same_target, true),
            },
            (Some(Member::Attribute(wanted)), Some(Member::Attribute(found))) => match (wanted, found) {
                (Attribute::Tensor(..), Attribute::Tensor(..)) => true,
                (Attribute::Value(wanted), Attribute::Value(found)) => self.same_literal(wanted, found),
                _ => false,
            },
            _ => same_target,
        }
    }

    fn modules_are_alike(&self, wanted: ModuleId, found: ModuleId, same_target: bool, settings: bool) -> bool {
        let (Ok(wanted), Ok(found)) = (self.pattern.tree.get(wanted), self.tree.get(found)) else { return false };
        let (from, to) = (self.pattern.tree.symbols(), self.tree.symbols());
        if from.text(wanted.type_name()) != to.text(found.type_name()) {
            return false;
        }
        // All graph modules have one type; they are alike when one is a copy of the other.
        if wanted.graph().is_some() || found.graph().is_some() {
            return wanted.origin() == found.origin() || same_target;
        }
        let values = |attributes: &'a crate::ir::module::Members<Attribute>| {
            attributes.iter().filter_map(|(name, attribute)| Some((*name, attribute.value()?)))
        };
        !settings
            || (values(wanted.attributes()).count() == values(found.attributes()).count()
                && values(wanted.attributes()).all(|(name, value)| {
                    let other = to.find(from.text(name)).and_then(|name| found.attributes().get(&name));
                    other.and_then(Attribute::value).is_some_and(|other| self.same_literal(value, other))
                }))
    }
}
