//! What makes calls of modules, and reads of attributes, alike.

use super::attempt::Place;
use super::pattern::Pattern;
use super::{AttributeMatching, MatchOptions, ModuleMatching};
use crate::ir::{Argument, Attribute, Member, ModuleId, Symbol};
use rustc_hash::FxHashMap;

/// Whether the modules or attributes under two targets are alike, worked out once a pair.
#[derive(Default)]
pub(super) struct AlikeMembers {
    known: FxHashMap<(usize, Symbol), bool>,
}

impl AlikeMembers {
    pub(super) fn ask(
        &mut self,
        (pattern, index): (&Pattern<'_>, usize),
        (place, target): (&Place<'_>, Symbol),
        same_target: bool,
        options: &MatchOptions,
    ) -> bool {
        let alike = || members_are_alike((pattern, index), (place, target), same_target, options);
        *self.known.entry((index, target)).or_insert_with(alike)
    }
}

/// Whether what a call_module calls, or a get_attr reads, is of the same kind in both. A target that
/// leads nowhere is only like the same target.
fn members_are_alike(
    (pattern, index): (&Pattern<'_>, usize),
    (place, target): (&Place<'_>, Symbol),
    same_target: bool,
    options: &MatchOptions,
) -> bool {
    let node = pattern.nodes()[index];
    let wanted = pattern.tree.resolve(pattern.module, pattern.graph().target(node));
    let found = place.tree.resolve(place.module, place.graph.text(target));
    match (wanted, found) {
        (Some(Member::Module(wanted)), Some(Member::Module(found))) => match options.modules {
            ModuleMatching::Target => same_target,
            ModuleMatching::Type => modules_are_alike((pattern, wanted), (place, found), same_target, false),
            ModuleMatching::TypeAndSettings => modules_are_alike((pattern, wanted), (place, found), same_target, true),
        },
        (Some(Member::Attribute(wanted)), Some(Member::Attribute(found))) => match (wanted, found) {
            (Attribute::Tensor(_, wanted), Attribute::Tensor(_, found)) => match options.attributes {
                AttributeMatching::Kind => true,
                AttributeMatching::EqualTensors => wanted.has_equal_elements(found),
            },
            (Attribute::Value(wanted), Attribute::Value(found)) => same_literal(pattern, wanted, place, found),
            _ => false,
        },
        _ => same_target,
    }
}

fn modules_are_alike(
    (pattern, wanted): (&Pattern<'_>, ModuleId),
    (place, found): (&Place<'_>, ModuleId),
    same_target: bool,
    settings: bool,
) -> bool {
    let (Ok(wanted), Ok(found)) = (pattern.tree.get(wanted), place.tree.get(found)) else { return false };
    let (from, to) = (pattern.tree.symbols(), place.tree.symbols());
    if from.text(wanted.type_name()) != to.text(found.type_name()) {
        return false;
    }
    // All graph modules have one type; they are alike when one is a copy of the other.
    if wanted.graph().is_some() || found.graph().is_some() {
        return wanted.origin() == found.origin() || same_target;
    }
    if !settings {
        return true;
    }
    let mut values = wanted.attributes().iter().filter_map(|(name, it)| Some((*name, it.value()?)));
    let count = |attributes: &crate::ir::module::Members<Attribute>| {
        attributes.values().filter(|attribute| attribute.value().is_some()).count()
    };
    count(wanted.attributes()) == count(found.attributes())
        && values.all(|(name, value)| {
            let other = to.find(from.text(name)).and_then(|name| found.attributes().get(&name));
            other.and_then(Attribute::value).is_some_and(|other| same_literal(pattern, value, place, other))
        })
}

fn same_literal(pattern: &Pattern<'_>, wanted: &Argument, place: &Place<'_>, found: &Argument) -> bool {
    wanted.same_literal(pattern.tree.symbols(), found, place.tree.symbols(), &mut |_, _| false)
}
