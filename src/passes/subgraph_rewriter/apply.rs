//! Puts replacements in the place of matches. Everything that can fail was checked before.

use super::latest::Latest;
use super::replacement::{Replacement, Template};
use super::rewrite::PatternShape;
use super::wide::WideUsers;
use super::Replaced;
use crate::ir::{Argument, Graph, NodeId, Result, Symbol};
use crate::passes::legalize::legalize;
use crate::passes::subgraph_matcher::{Binding, Matches};

/// One match to be replaced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub(super) rule: u32,
    /// Which of the rule's matches it is.
    pub(super) index: u32,
    pub(super) replacement: u32,
}

/// All that is to be replaced.
pub(super) struct Matched<'a> {
    pub(super) shapes: &'a [PatternShape],
    pub(super) matches: &'a [Matches],
    pub(super) planned: &'a [Planned],
}

impl<'a> Matched<'a> {
    /// A match, and the shape of its pattern.
    fn get(&self, planned: &Planned) -> Option<(&'a [Binding], &'a PatternShape)> {
        let rule = planned.rule as usize;
        Some((self.matches.get(rule)?.get(planned.index as usize)?, self.shapes.get(rule)?))
    }

    /// All nodes that matches return.
    pub(super) fn returned(&self) -> impl Iterator<Item = NodeId> + '_ {
        let matches = self.planned.iter().filter_map(|planned| self.get(planned));
        matches.flat_map(|(bindings, shape)| shape.returning.iter().filter_map(|&index| bindings[index].node()))
    }
}

/// What each rule did, and for each returned node that is gone what took its place.
pub(super) type Applied = (Vec<Replaced>, Vec<(NodeId, Argument)>);

pub(super) fn apply(
    graph: &mut Graph,
    mut matches: Vec<Matches>,
    shapes: Vec<PatternShape>,
    planned: &[Planned],
    replacements: &[Replacement],
    many: usize,
) -> Result<Applied> {
    let slot_count = graph.slot_count();
    let origin_keys = ["stack_trace", "nn_module_stack", "source_fn_stack"].map(|key| graph.symbols().find(key));
    let mut rewriter = Rewriter {
        graph,
        matched: Matched { shapes: &shapes, matches: &matches, planned },
        values: Vec::new(),
        latest: Latest::new(slot_count),
        wide: WideUsers::new(many),
        nodes: Vec::new(),
        origin_keys,
        out_of_order: false,
    };
    // Of each rule where the nodes of its matches begin, and these nodes.
    let mut made: Vec<(Vec<usize>, Vec<NodeId>)> = vec![(vec![0], Vec::new()); shapes.len()];
    for planned in planned {
        let Some((bindings, shape)) = rewriter.matched.get(planned) else { continue };
        rewriter.replace(bindings, shape, &replacements[planned.replacement as usize])?;
        let (starts, nodes) = &mut made[planned.rule as usize];
        nodes.append(&mut rewriter.nodes);
        starts.push(nodes.len());
    }
    let Rewriter { latest, wide, out_of_order, .. } = rewriter;
    wide.finish(graph, &latest)?;
    replacements.iter().for_each(|replacement| graph.signature.wrap_also(&replacement.signature));
    for (matches, shape) in matches.iter_mut().zip(&shapes) {
        revive_placeholders(graph, matches, &shape.placeholders, |node| latest.get(node));
    }
    if out_of_order {
        legalize(graph)?;
    }
    let replaced = matches.into_iter().zip(shapes).zip(made).map(|((matches, shape), (starts, nodes))| Replaced {
        matches,
        starts,
        nodes,
        anchors: shape.anchors,
        placeholders: shape.placeholders,
    });
    Ok((replaced.collect(), latest.into_pairs()))
}

struct Rewriter<'a> {
    graph: &'a mut Graph,
    matched: Matched<'a>,
    /// For each slot of the replacement what stands for it in the match at hand.
    values: Vec<Option<Argument>>,
    latest: Latest,
    wide: WideUsers,
    /// What took the place of the match at hand.
    nodes: Vec<NodeId>,
    /// Keys of what tells where in the user's code a node comes from; none for those that nobody uses.
    origin_keys: [Option<Symbol>; 3],
    out_of_order: bool,
}

impl Rewriter<'_> {
    fn replace(&mut self, bindings: &[Binding], pattern: &PatternShape, replacement: &Replacement) -> Result<()> {
        self.nodes.clear();
        self.values.clear();
        self.values.resize(replacement.slot_count, None);
        for (&index, &slot) in pattern.placeholders.iter().zip(&replacement.placeholders) {
            let mut value = bindings[index].to_argument();
            let latest = &self.latest;
            value.replace_nodes(&mut |node| latest.get(node));
            self.values[slot] = Some(value);
        }
        let place = self.place(bindings, pattern);
        self.check_order(place, pattern, replacement);
        for template in &replacement.nodes {
            let node = self.copy(place, template)?;
            self.values[template.slot] = Some(Argument::Node(node));
            self.nodes.push(node);
            self.wide.touch(node);
        }
        self.tell_origin(bindings, pattern)?;
        let mut are_free = true;
        for (returned, &index) in replacement.returned.iter().zip(&pattern.returning) {
            let Binding::Node { node: old, .. } = bindings[index] else { continue };
            let mut new = returned.clone();
            let values = &self.values;
            new.replace_nodes(&mut |node| values[node.slot()].clone());
            if let Argument::Node(new) = new {
                if self.nodes.contains(&new) {
                    self.graph.take_over_meta(old, new)?;
                }
            }
            self.latest.insert(old, new);
            are_free &= self.wide.replace_uses(self.graph, old, &self.latest, &self.matched)?;
        }
        let gone = pattern.compute.iter().filter_map(|&index| bindings[index].node());
        if are_free {
            self.graph.erase_unused(gone)?;
        } else {
            self.wide.erase_later(gone);
        }
        Ok(())
    }

    fn copy(&mut self, place: Option<NodeId>, template: &Template) -> Result<NodeId> {
        let values = &self.values;
        let (args, kwargs) = template.arguments(|node| values[node.slot()].clone());
        let node = self.graph.insert_copy(place, template.op, template.target, template.name, args, kwargs)?;
        if !template.meta.is_empty() {
            self.graph.set_all_meta(node, template.meta.clone())?;
        }
        if let Some(annotation) = template.type_annotation {
            self.graph.set_annotation_symbol(node, annotation)?;
        }
        Ok(node)
    }

    /// New nodes that do not say where they come from come from where the last returned node came.
    fn tell_origin(&mut self, bindings: &[Binding], pattern: &PatternShape) -> Result<()> {
        let Some(old) = pattern.returning.iter().rev().find_map(|&index| bindings[index].node()) else { return Ok(()) };
        for key in self.origin_keys.into_iter().flatten() {
            let Some(entry) = self.graph[old].meta().entries.get(&key) else { continue };
            let entry = entry.clone();
            for &node in &self.nodes {
                if !self.graph[node].meta().entries.contains_key(&key) {
                    self.graph.set_meta_symbol(node, key, entry.clone())?;
                }
            }
        }
        Ok(())
    }

    /// Where the replacement goes: before the first user of what the match returns; what nothing
    /// uses is replaced where it stands.
    fn place(&self, bindings: &[Binding], pattern: &PatternShape) -> Option<NodeId> {
        let returned = || pattern.returning.iter().filter_map(|&index| bindings[index].node());
        let earlier = |a: NodeId, b: NodeId| if self.graph.is_before(b, a) { b } else { a };
        let later = |a: NodeId, b: NodeId| if self.graph.is_before(a, b) { b } else { a };
        let users = returned().flat_map(|node| self.graph.users(node));
        let first_user = users.filter(|&user| !self.wide.is_gone(user)).reduce(earlier);
        first_user.or_else(|| self.graph.next(returned().reduce(later)?))
    }

    /// With several outputs, the first user of one may stand before an input of the whole.
    fn check_order(&mut self, place: Option<NodeId>, pattern: &PatternShape, replacement: &Replacement) {
        let Some(place) = place else { return };
        if self.out_of_order || pattern.returning.len() < 2 {
            return;
        }
        let graph = &*self.graph;
        let mut late = false;
        for &slot in &replacement.placeholders {
            if let Some(value) = &self.values[slot] {
                value.for_each_node(&mut |node| late |= !graph.is_before(node, place));
            }
        }
        self.out_of_order = late;
    }
}

/// Placeholders that were bound to a node which another match replaced are bound to what is there
/// now, so that every node they name is live.
pub(super) fn revive_placeholders(
    graph: &Graph,
    matches: &mut Matches,
    placeholders: &[usize],
    latest: impl Fn(NodeId) -> Option<Argument>,
) {
    for bindings in matches.iter_mut() {
        for &index in placeholders {
            match &mut bindings[index] {
                Binding::Argument(argument) => {
                    argument.replace_nodes(&mut |node| latest(node));
                }
                binding @ Binding::Node { .. } => {
                    let Some(node) = binding.node() else { continue };
                    match latest(node).unwrap_or(Argument::Node(node)) {
                        Argument::Node(node) if !graph.contains(node) => *binding = Binding::None,
                        Argument::Node(node) => *binding = Binding::of_node(graph, node),
                        argument => *binding = Binding::Argument(argument),
                    }
                }
                Binding::None => {}
            }
        }
    }
}
