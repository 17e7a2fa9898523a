//! Which pass has to come before which.

use super::invalid;
use crate::ir::Result;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Pairs of names: every pass of the first comes before every pass of the second.
#[derive(Clone, Debug, Default)]
pub(super) struct Constraints(Vec<(String, String)>);

impl Constraints {
    pub(super) fn add(&mut self, before: &str, after: &str) -> Result<()> {
        if before == after {
            return Err(invalid(format!("pass {before:?} can't come before itself")));
        }
        self.0.push((before.to_owned(), after.to_owned()));
        Ok(())
    }

    pub(super) fn validate(&self, names: &[String]) -> Result<()> {
        let places = places(names);
        for (before, after) in &self.0 {
            let (Some(earlier), Some(later)) = (places.get(&**before), places.get(&**after)) else { continue };
            let (Some(last), Some(first)) = (earlier.last(), later.first()) else { continue };
            if last > first {
                let message = format!("pass {last}, {before:?}, has to come before pass {first}, {after:?}");
                return Err(invalid(message));
            }
        }
        Ok(())
    }

    /// Of the passes that could come next, it is always the one that came first before.
    pub(super) fn solve(&self, names: &[String]) -> Result<Vec<usize>> {
        let places = places(names);
        let none = Vec::new();
        let of = |name: &String| places.get(&**name).unwrap_or(&none);
        // For each constraint the passes that it still waits for, for each pass its constraints.
        let mut missing: Vec<usize> = self.0.iter().map(|(before, _)| of(before).len()).collect();
        let mut waits_for = vec![0; names.len()];
        let mut begun_by: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        for (number, (before, after)) in self.0.iter().enumerate().filter(|(number, _)| missing[*number] > 0) {
            begun_by.entry(before).or_default().push(number);
            of(after).iter().for_each(|&index| waits_for[index] += 1);
        }
        let mut ready: BinaryHeap<_> = (0..names.len()).filter(|&index| waits_for[index] == 0).map(Reverse).collect();
        let mut order = Vec::with_capacity(names.len());
        while let Some(Reverse(index)) = ready.pop() {
            order.push(index);
            for &number in begun_by.get(&*names[index]).into_iter().flatten() {
                missing[number] -= 1;
                if missing[number] > 0 {
                    continue;
                }
                for &later in of(&self.0[number].1) {
                    waits_for[later] -= 1;
                    if waits_for[later] == 0 {
                        ready.push(Reverse(later));
                    }
                }
            }
        }
        match waits_for.iter().position(|&missing| missing > 0) {
            None => Ok(order),
            Some(stuck) => Err(self.circle(&names[stuck], &missing)),
        }
    }

    /// Walks back from a pass that waits for ever along what is never done, until a name comes again.
    fn circle<'a>(&'a self, stuck: &'a str, missing: &[usize]) -> crate::ir::Error {
        let mut because: FxHashMap<&str, &str> = FxHashMap::default();
        for (number, (before, after)) in self.0.iter().enumerate() {
            if missing[number] > 0 {
                because.entry(after).or_insert(before);
            }
        }
        let mut walk = vec![stuck];
        let mut step_of = FxHashMap::from_iter([(stuck, 0)]);
        let mut at = stuck;
        while let Some(&before) = because.get(at) {
            if let Some(&first) = step_of.get(before) {
                walk.drain(..first);
                walk.push(before);
                break;
            }
            step_of.insert(before, walk.len());
            walk.push(before);
            at = before;
        }
        walk.reverse();
        const SHOWN: usize = 16;
        let more = if walk.len() > SHOWN { " -> ..." } else { "" };
        walk.truncate(SHOWN);
        invalid(format!("each of these passes has to come before the next: {}{more}", walk.join(" -> ")))
    }
}

/// Where passes of each name stand.
fn places(names: &[String]) -> FxHashMap<&str, Vec<usize>> {
    let mut places: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    for (index, name) in names.iter().enumerate() {
        places.entry(name).or_default().push(index);
    }
    places
}
