//! Anchors of a pattern that could change places: `neg(r)` and `neg(r)` of one `r`.
//!
//! Whatever set of nodes a match with twins takes, it takes in every arrangement of them. The first
//! that a search meets is the one in the graph's order; when that one is none, no other is.

use super::pattern::Pattern;
use crate::ir::{Argument, NodeId};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// An anchor that another could change places with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Twin {
    /// The last level before with such an anchor.
    pub(super) level: usize,
    /// Nothing but the anchor belongs to it alone: whether a node can stand for it does not depend
    /// on which nodes stand for its twins.
    pub(super) is_simple: bool,
}

/// For each anchor the last one before it that it could change places with.
pub(super) fn twins(pattern: &Pattern<'_>, anchors: &[usize]) -> Vec<Option<Twin>> {
    let sole = sole_anchors(pattern, anchors);
    let mut last: FxHashMap<String, usize> = FxHashMap::default();
    let mut numbers = vec![usize::MAX; pattern.nodes().len()];
    anchors
        .iter()
        .enumerate()
        .map(|(level, &anchor)| {
            let (text, size) = spell(pattern, anchor, level, &sole, &mut numbers);
            last.insert(text, level).map(|level| Twin { level, is_simple: size == 1 })
        })
        .collect()
}

/// For each node the one anchor that lies below it; none where there are several.
fn sole_anchors(pattern: &Pattern<'_>, anchors: &[usize]) -> Vec<Option<usize>> {
    const UNSEEN: usize = usize::MAX;
    const SHARED: usize = usize::MAX - 1;
    let mut below = vec![UNSEEN; pattern.nodes().len()];
    anchors.iter().enumerate().for_each(|(level, &anchor)| below[anchor] = level);
    for index in (0..below.len()).rev().filter(|&index| pattern.op(index) != crate::ir::Op::Output) {
        for input in pattern.inputs(index) {
            below[input] = match (below[input], below[index]) {
                (UNSEEN, level) => level,
                (one, other) if one == other => one,
                _ => SHARED,
            };
        }
    }
    below.into_iter().map(|level| (level < SHARED).then_some(level)).collect()
}

/// What an anchor and all that belongs to it alone comes to, nodes by their order in it, others by
/// their place in the pattern; and how many nodes that are.
fn spell(
    pattern: &Pattern<'_>,
    anchor: usize,
    level: usize,
    sole: &[Option<usize>],
    numbers: &mut [usize],
) -> (String, usize) {
    let mut text = String::new();
    let mut own = vec![anchor];
    numbers[anchor] = 0;
    let mut next = 0;
    while let Some(&index) = own.get(next) {
        next += 1;
        let node = &pattern.graph()[pattern.nodes()[index]];
        // Writing into a string does not fail.
        let returning = pattern.is_returning(index);
        let _ = match node.op() {
            crate::ir::Op::Placeholder => write!(text, "\n{:?}", node.op()),
            op => write!(text, "\n{op:?} {:?} {returning}", node.target()),
        };
        let mut spell_node = |node: NodeId, text: &mut String| {
            let input = pattern.index(node);
            let _ = if sole[input] == Some(level) {
                if numbers[input] == usize::MAX {
                    numbers[input] = own.len();
                    own.push(input);
                }
                write!(text, "own {}", numbers[input])
            } else {
                write!(text, "node {input}")
            };
        };
        node.args().iter().for_each(|argument| spell_argument(argument, &mut text, &mut spell_node));
        for (name, argument) in node.kwargs() {
            let _ = write!(text, "{name:?}=");
            spell_argument(argument, &mut text, &mut spell_node);
        }
    }
    own.iter().for_each(|&index| numbers[index] = usize::MAX);
    (text, own.len())
}

/// Recursion is as deep as an argument.
fn spell_argument(argument: &Argument, text: &mut String, node: &mut impl FnMut(NodeId, &mut String)) {
    match argument {
        Argument::Node(id) => node(*id, text),
        Argument::List(items) | Argument::Tuple(items) => {
            text.push('[');
            items.iter().for_each(|item| spell_argument(item, text, node));
            text.push(']');
        }
        Argument::Dict(entries) => {
            text.push('{');
            for (key, value) in entries {
                let _ = write!(text, "{key:?}:");
                spell_argument(value, text, node);
            }
            text.push('}');
        }
        Argument::Slice(parts) => {
            text.push('(');
            parts.iter().for_each(|part| spell_argument(part, text, node));
            text.push(')');
        }
        // Symbols are written as their numbers, and are equal when their texts are.
        literal => {
            let _ = write!(text, "{literal:?}");
        }
    }
    text.push(',');
}
