//! Which of several overloads a call means.

use super::bind::{BindError, Bound, BoundValue, Call};
use super::table::Overloads;
use super::{Parameter, Schema};
use crate::ir::{Argument, Graph};

pub use super::types::Known;

/// What a call means.
#[derive(Debug)]
pub enum Choice<'a> {
    /// This overload, so bound.
    One(&'static Schema<'static>, Bound<'a>),
    /// This one and others, which call the arguments the same and differ in the defaults of others.
    Alike(&'static Schema<'static>, Bound<'a>),
    /// None: it fits no overload; where there is just one, why.
    Misfit(Option<BindError<'a>>),
    /// Several, which differ in what they call the arguments.
    Ambiguous,
}

impl Overloads {
    /// The overload that a call fits best. Where there is only one, types are not looked at.
    /// `known` tells what a node yields, as far as it is known; a node of which nothing is known is
    /// taken for a tensor where there is a choice.
    pub fn choose<'a>(self, call: Call<'a>, known: impl Fn(&Argument) -> Known) -> Choice<'a> {
        let mut candidates = self.iter();
        let (Some(first), second) = (candidates.next(), candidates.next()) else { return Choice::Misfit(None) };
        if second.is_none() {
            return match first.bind(call) {
                Ok(bound) => Choice::One(first, bound),
                Err(error) => Choice::Misfit(Some(error)),
            };
        }
        let mut best: Option<(&'static Schema<'static>, Bound<'a>, (u32, usize))> = None;
        let mut likeness = Likeness::Same;
        for schema in self.iter() {
            let Ok(bound) = schema.bind(call) else { continue };
            let Some(cost) = cost(schema, &bound, &known) else { continue };
            let absent = bound.values.iter().filter(|value| matches!(value, BoundValue::Absent)).count();
            let rank = (cost, absent);
            match &best {
                Some((_, _, least)) if *least < rank => {}
                // The default overload comes first, and wins.
                Some((before, other, least)) if *least == rank => {
                    if !before.overload().is_empty() {
                        likeness = likeness.max(likeness_of(before, other, schema, &bound));
                    }
                }
                _ => {
                    likeness = Likeness::Same;
                    best = Some((schema, bound, rank));
                }
            }
        }
        match (best, likeness) {
            (None, _) => Choice::Misfit(None),
            (Some((schema, bound, _)), Likeness::Same) => Choice::One(schema, bound),
            (Some((schema, bound, _)), Likeness::OtherDefaults) => Choice::Alike(schema, bound),
            (Some(_), Likeness::OtherNames) => Choice::Ambiguous,
        }
    }
}

/// What a graph knows of what an argument yields.
pub fn known_in(graph: &Graph) -> impl Fn(&Argument) -> Known + '_ {
    |argument| match argument {
        Argument::Node(node) => Known::of(graph.get(*node).ok().and_then(|node| node.value()).map(|value| &**value)),
        _ => Known::Other,
    }
}

fn cost(schema: &Schema<'_>, bound: &Bound<'_>, known: &impl Fn(&Argument) -> Known) -> Option<u32> {
    schema.parameters.iter().zip(&bound.values).try_fold(0, |sum, (parameter, value)| {
        Some(
            sum + match value {
                BoundValue::Absent => 0,
                BoundValue::Given(argument) => parameter.type_.cost(argument, known)?,
                BoundValue::Items(_) if parameter.is_variadic() => 3,
                // One int is rather meant where an int is wanted.
                BoundValue::Items(items) => parameter.type_.cost_of_items(items, known)? + u32::from(items.len() == 1),
            },
        )
    })
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    Same,
    OtherDefaults,
    OtherNames,
}

/// How two overloads differ that one call fits.
fn likeness_of(a: &Schema<'_>, bound_a: &Bound<'_>, b: &Schema<'_>, bound_b: &Bound<'_>) -> Likeness {
    fn parts<'s>(
        schema: &'s Schema<'_>,
        bound: &'s Bound<'_>,
        is_given: bool,
    ) -> impl Iterator<Item = &'s Parameter<'s>> {
        let both = schema.parameters.iter().zip(&bound.values);
        both.filter(move |(_, value)| matches!(value, BoundValue::Absent) != is_given).map(|(parameter, _)| parameter)
    }
    if !parts(a, bound_a, true).map(|p| p.name).eq(parts(b, bound_b, true).map(|p| p.name)) {
        return Likeness::OtherNames;
    }
    let same_default = |(a, b): (&Parameter<'_>, &Parameter<'_>)| {
        a.name == b.name && matches!((&a.default, &b.default), (Some(a), Some(b)) if a.same(b))
    };
    // As many are absent: the calls rank the same.
    match parts(a, bound_a, false).zip(parts(b, bound_b, false)).all(same_default) {
        true => Likeness::Same,
        false => Likeness::OtherDefaults,
    }
}
