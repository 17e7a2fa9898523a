//! Which of several overloads a call means.

use super::bind::{BindError, Bound, BoundValue, Call};
use super::table::Overloads;
use super::Schema;
use crate::ir::{Argument, Graph};

pub use super::types::Known;

/// What a call means.
#[derive(Debug)]
pub enum Choice<'a> {
    /// This overload, so bound.
    One(&'static Schema<'static>, Bound<'a>),
    /// None: it fits no overload; where there is just one, why.
    Misfit(Option<BindError<'a>>),
    /// Several, which differ in what they call the arguments or in their defaults.
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
        let mut is_ambiguous = false;
        for schema in self.iter() {
            let Ok(bound) = schema.bind(call) else { continue };
            let Some(cost) = cost(schema, &bound, &known) else { continue };
            let absent = bound.values.iter().filter(|value| matches!(value, BoundValue::Absent)).count();
            let rank = (cost, absent);
            match &best {
                Some((_, _, least)) if *least < rank => {}
                // The default overload comes first, and wins.
                Some((before, other, least)) if *least == rank => {
                    is_ambiguous |= !before.overload().is_empty() && !mean_the_same(before, other, schema, &bound);
                }
                _ => {
                    is_ambiguous = false;
                    best = Some((schema, bound, rank));
                }
            }
        }
        match best {
            None => Choice::Misfit(None),
            Some(_) if is_ambiguous => Choice::Ambiguous,
            Some((schema, bound, _)) => Choice::One(schema, bound),
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
                BoundValue::Items(items) => parameter.type_.cost_of_items(items, known)?,
            },
        )
    })
}

/// Whether the same arguments have the same names, and the same defaults are left.
fn mean_the_same(a: &Schema<'_>, bound_a: &Bound<'_>, b: &Schema<'_>, bound_b: &Bound<'_>) -> bool {
    a.parameters.len() == b.parameters.len()
        && a.parameters.iter().zip(&*b.parameters).zip(bound_a.values.iter().zip(&bound_b.values)).all(
            |((a, b), values)| {
                let same_default = || match (&a.default, &b.default) {
                    (Some(a), Some(b)) => a.same(b),
                    (a, b) => a.is_none() && b.is_none(),
                };
                a.name == b.name
                    && match values {
                        (BoundValue::Absent, BoundValue::Absent) => same_default(),
                        (BoundValue::Absent, _) | (_, BoundValue::Absent) => false,
                        _ => true,
                    }
            },
        )
}
