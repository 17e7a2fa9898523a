//! Puts replacements in the place of matches. Everything that can fail was checked before.

use super::latest::Latest;
use super::replacement::Replacement;
use super::wide::WideUsers;
use super::{PatternShape, Replaced};
use crate::ir::{Argument, Graph, NodeId, Result};
use crate::passes::legalize::legalize;
use crate::passes::subgraph_matcher::{Binding, Matches};

pub(super) fn apply(
    graph: &mut Graph,
    matches: Matches,
    pattern: PatternShape,
    replacement: &Replacement,
    many: usize,
) -> Result<Replaced> {
    let slot_count = graph.slot_count();
    let mut rewriter = Rewriter {
        graph,
        pattern: &pattern,
        replacement,
        values: vec![None; replacement.slot_count],
        latest: Latest::new(slot_count),
        wide: WideUsers::new(many),
        matches: &matches,
        nodes: Vec::with_capacity(matches.len() * replacement.nodes.len()),
        out_of_order: false,
    };
    let mut starts = Vec::with_capacity(matches.len() + 1);
    for bindings in matches.iter() {
        starts.push(rewriter.nodes.len());
        rewriter.replace(bindings)?;
    }
    starts.push(rewriter.nodes.len());
    let Rewriter { latest, wide, nodes, out_of_order, .. } = rewriter;
    wide.finish(graph, &latest)?;
    graph.signature.wrap_also(&replacement.signature);
    let mut matches = matches;
    revive_placeholders(graph, &mut matches, &pattern, &latest);
    if out_of_order {
        legalize(graph)?;
    }
    Ok(Replaced { matches, starts, nodes, anchors: pattern.anchors, submodules_deleted: 0 })
}

struct Rewriter<'a> {
    graph: &'a mut Graph,
    pattern: &'a PatternShape,
    replacement: &'a Replacement,
    /// For each slot of the replacement what stands for it in the match at hand.
    values: Vec<Option<Argument>>,
    latest: Latest,
    wide: WideUsers,
    matches: &'a Matches,
    nodes: Vec<NodeId>,
    out_of_order: bool,
}

impl Rewriter<'_> {
    fn replace(&mut self, bindings: &[Binding]) -> Result<()> {
        for (&index, &slot) in self.pattern.placeholders.iter().zip(&self.replacement.placeholders) {
            let mut value = match &bindings[index] {
                Binding::Node { node, .. } => Argument::Node(*node),
                Binding::Argument(argument) => argument.clone(),
                Binding::None => Argument::None,
            };
            let latest = &self.latest;
            value.replace_nodes(&mut |node| latest.get(node));
            self.values[slot] = Some(value);
        }
        let place = self.place(bindings);
        self.check_order(place);
        let first_new = self.nodes.len();
        for template in &self.replacement.nodes {
            let values = &self.values;
            let (args, kwargs) = template.arguments(|node| values[node.slot()].clone());
            let node = self.graph.insert_copy(place, template.op, template.target, template.name, args, kwargs)?;
            if !template.meta.is_empty() {
                self.graph.set_all_meta(node, template.meta.clone())?;
            }
            if let Some(annotation) = template.type_annotation {
                self.graph.set_annotation_symbol(node, annotation)?;
            }
            self.values[template.slot] = Some(Argument::Node(node));
            self.nodes.push(node);
            self.wide.touch(node);
        }
        let mut are_free = true;
        for (returned, &index) in self.replacement.returned.iter().zip(&self.pattern.returning) {
            let Binding::Node { node: old, .. } = bindings[index] else { continue };
            let mut new = returned.clone();
            let values = &self.values;
            new.replace_nodes(&mut |node| values[node.slot()].clone());
            if let Argument::Node(new) = new {
                if self.nodes[first_new..].contains(&new) {
                    self.graph.take_over_meta(old, new)?;
                }
            }
            self.latest.insert(old, new);
            are_free &= self.wide.replace_uses(self.graph, old, &self.latest, self.matches, self.pattern)?;
        }
        let gone = self.pattern.compute.iter().filter_map(|&index| bindings[index].node());
        if are_free {
            self.graph.erase_unused(gone)?;
        } else {
            self.wide.erase_later(gone);
        }
        Ok(())
    }

    /// Where the replacement goes: before the first user of what the match returns; what nothing
    /// uses is replaced where it stands.
    fn place(&self, bindings: &[Binding]) -> Option<NodeId> {
        let returned = || self.pattern.returning.iter().filter_map(|&index| bindings[index].node());
        let earlier = |a: NodeId, b: NodeId| if self.graph.is_before(b, a) { b } else { a };
        let later = |a: NodeId, b: NodeId| if self.graph.is_before(a, b) { b } else { a };
        let users = returned().flat_map(|node| self.graph.users(node));
        let first_user = users.filter(|&user| !self.wide.is_gone(user)).reduce(earlier);
        first_user.or_else(|| self.graph.next(returned().reduce(later)?))
    }

    /// With several outputs, the first user of one may stand before an input of the whole.
    fn check_order(&mut self, place: Option<NodeId>) {
        let Some(place) = place else { return };
        if self.out_of_order || self.pattern.returning.len() < 2 {
            return;
        }
        let graph = &*self.graph;
        let mut late = false;
        for &slot in &self.replacement.placeholders {
            if let Some(value) = &self.values[slot] {
                value.for_each_node(&mut |node| late |= !graph.is_before(node, place));
            }
        }
        self.out_of_order = late;
    }
}

/// Placeholders that were bound to a node which another match replaced are bound to what is there
/// now, so that every node they name is live.
fn revive_placeholders(graph: &Graph, matches: &mut Matches, pattern: &PatternShape, latest: &Latest) {
    for bindings in matches.iter_mut() {
        for &index in &pattern.placeholders {
            match &mut bindings[index] {
                Binding::Argument(argument) => {
                    argument.replace_nodes(&mut |node| latest.get(node));
                }
                binding @ Binding::Node { .. } => {
                    let Binding::Node { node, .. } = *binding else { continue };
                    match latest.get(node) {
                        Some(Argument::Node(node)) => {
                            let found = &graph[node];
                            *binding = Binding::Node { node, name: found.name(), op: found.op() };
                        }
                        Some(argument) => *binding = Binding::Argument(argument),
                        None => {}
                    }
                }
                Binding::None => {}
            }
        }
    }
}
