//! A set of names, as bits: a graph has few bases, and nearly every number of each.

use super::name::Name;
use super::symbol::Symbol;
use rustc_hash::{FxHashMap, FxHashSet};

/// A set of names of one table.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameSet(FxHashMap<Symbol, OneBase>);

/// Those names of a set that have one base.
#[derive(Clone, Debug, Default)]
pub(crate) struct OneBase {
    is_plain_in: bool,
    numbers: NumberSet,
}

impl NameSet {
    /// False when it was in it before.
    pub(crate) fn insert(&mut self, name: Name) -> bool {
        self.0.entry(name.base()).or_default().insert(name.number())
    }

    /// Whether a base with a number, or alone, is in it.
    pub(crate) fn contains(&self, base: Symbol, number: Option<u32>) -> bool {
        self.0.get(&base).is_some_and(|one| one.contains(number))
    }
}

impl OneBase {
    /// Whether the base with a number, or alone, is in it.
    pub(crate) fn contains(&self, number: Option<u32>) -> bool {
        number.map_or(self.is_plain_in, |number| self.numbers.contains(number))
    }

    /// The numbers that are in it, rising.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        let NumberSet { dense, sparse } = &self.numbers;
        let bits = dense.iter().enumerate().filter(|(_, &word)| word != 0);
        let mut numbers: Vec<u32> = bits
            .flat_map(|(at, &word)| {
                (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| (at * 64) as u32 + bit)
            })
            .chain(sparse.iter().copied())
            .collect();
        numbers.sort_unstable();
        numbers
    }

    /// Puts in the base with a number, or alone. False when it was in it before.
    pub(crate) fn insert(&mut self, number: Option<u32>) -> bool {
        match number {
            Some(number) => self.numbers.insert(number),
            None => !std::mem::replace(&mut self.is_plain_in, true),
        }
    }
}

/// A set of numbers, most of which follow each other: a bit each, and apart those far beyond.
#[derive(Clone, Debug, Default)]
struct NumberSet {
    dense: Vec<u64>,
    sparse: FxHashSet<u32>,
}

impl NumberSet {
    fn contains(&self, number: u32) -> bool {
        let word = self.dense.get(number as usize / 64).copied().unwrap_or_default();
        word >> (number % 64) & 1 == 1 || self.sparse.contains(&number)
    }

    /// False when it was in it before.
    fn insert(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, 1u64 << (number % 64));
        if word >= self.dense.len() {
            if word > self.dense.len() + 16 {
                return self.sparse.insert(number);
            }
            self.dense.resize(word + 1, 0);
        }
        if self.dense[word] & bit != 0 || (!self.sparse.is_empty() && self.sparse.contains(&number)) {
            return false;
        }
        self.dense[word] |= bit;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_far_apart_are_kept_apart() {
        let mut numbers = NumberSet::default();
        for number in [5, 1 << 30, 6, u32::MAX, 70_000, 0] {
            assert!(!numbers.contains(number) && numbers.insert(number));
            assert!(numbers.contains(number) && !numbers.insert(number));
        }
        assert!((1..5).chain(7..70_000).all(|number| numbers.insert(number)));
        assert!(!numbers.insert(70_000) && numbers.dense.len() < 1100);
    }

    #[test]
    fn numbers_come_out_rising() {
        let mut one = OneBase::default();
        for number in [70_000, 3, u32::MAX, 64, 0, 63] {
            one.insert(Some(number));
        }
        assert_eq!(one.numbers(), [0, 3, 63, 64, 70_000, u32::MAX]);
    }
}
