//! Whether two calls of one callee pass the same, in whatever form.

use super::bind::{Bound, BoundValue, Call};
use super::choose::{Choice, Known};
use super::table::Overloads;
use super::{Parameter, Schema};
use crate::ir::Argument;

/// What two calls pass to one parameter.
#[derive(Clone, Copy, Debug)]
pub enum Pair<'a, 'b> {
    /// Both name it.
    Both(&'a Argument, &'b Argument),
    /// The first names it, for the second the default holds.
    First(&'a Argument, &'static Parameter<'static>),
    /// For the first the default holds, the second names it.
    Second(&'static Parameter<'static>, &'b Argument),
}

/// Walks through two calls of one callee, parameter by parameter, until `visit` says no. Calls of one
/// form are walked as they stand: nothing is allocated, and no signature is looked at. Without
/// `overloads`, and where the calls fit none or two of them, calls of different forms are different.
/// Nothing is said of parameters that both calls leave to their defaults. What a node of the first
/// and of the second call yields is told by `known`.
pub fn same_arguments<'a, 'b>(
    overloads: Option<Overloads>,
    first: Call<'a>,
    second: Call<'b>,
    known: (impl Fn(&Argument) -> Known, impl Fn(&Argument) -> Known),
    mut visit: impl FnMut(Pair<'a, 'b>) -> bool,
) -> bool {
    if have_one_form(first, second) {
        let mut both = |(a, b): (&'a Argument, &'b Argument)| visit(Pair::Both(a, b));
        return first.args.iter().zip(second.args).all(&mut both)
            && first.kwargs.iter().zip(second.kwargs).all(|((_, a), (_, b))| both((a, b)));
    }
    let Some(overloads) = overloads else { return false };
    let first_choice = overloads.choose(first, known.0);
    let second_choice = overloads.choose(second, known.1);
    let (Choice::One(schema, a) | Choice::Alike(schema, a)) = &first_choice else { return false };
    let (Choice::One(other, b) | Choice::Alike(other, b)) = &second_choice else { return false };
    std::ptr::eq(*schema, *other) && same_bound(schema, first, a, second, b, &mut visit)
}

/// Whether two calls pass as many arguments, and the same names.
pub fn have_one_form(first: Call<'_>, second: Call<'_>) -> bool {
    let is_one_table = std::ptr::eq(first.symbols, second.symbols);
    first.args.len() == second.args.len()
        && first.kwargs.len() == second.kwargs.len()
        && first.kwargs.iter().zip(second.kwargs).all(|((a, _), (b, _))| match is_one_table {
            true => a == b,
            false => first.symbols.text(*a) == second.symbols.text(*b),
        })
}

fn same_bound<'a, 'b>(
    schema: &'static Schema<'static>,
    first: Call<'a>,
    a: &Bound<'a>,
    second: Call<'b>,
    b: &Bound<'b>,
    visit: &mut impl FnMut(Pair<'a, 'b>) -> bool,
) -> bool {
    let parameters = schema.parameters.iter().zip(a.values.iter().zip(&b.values));
    let mut same = |(parameter, values): (&'static Parameter<'static>, (&BoundValue<'a>, &BoundValue<'b>))| match (
        *values.0, *values.1,
    ) {
        (BoundValue::Absent, BoundValue::Absent) => true,
        (BoundValue::Given(a), BoundValue::Given(b)) => visit(Pair::Both(a, b)),
        (BoundValue::Given(a), BoundValue::Absent) => parameter.default.is_some() && visit(Pair::First(a, parameter)),
        (BoundValue::Absent, BoundValue::Given(b)) => parameter.default.is_some() && visit(Pair::Second(parameter, b)),
        (BoundValue::Items(a), BoundValue::Items(b)) => same_items(a, b, visit),
        (BoundValue::Items(a), BoundValue::Given(Argument::List(b) | Argument::Tuple(b))) => same_items(a, b, visit),
        (BoundValue::Given(Argument::List(a) | Argument::Tuple(a)), BoundValue::Items(b)) => same_items(a, b, visit),
        _ => false,
    };
    let is_same = parameters.into_iter().all(&mut same);
    is_same
        && a.extra.len() == b.extra.len()
        && a.extra.iter().all(|(name, value)| {
            let name = first.symbols.text(*name);
            let other = b.extra.iter().find(|(other, _)| second.symbols.text(*other) == name);
            other.is_some_and(|(_, other)| visit(Pair::Both(value, other)))
        })
}

fn same_items<'a, 'b>(a: &'a [Argument], b: &'b [Argument], visit: &mut impl FnMut(Pair<'a, 'b>) -> bool) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| visit(Pair::Both(a, b)))
}
