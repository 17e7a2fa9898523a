//! Sets of levels: which earlier choices a failure goes back to.

use smallvec::SmallVec;

/// A set of levels of one plan.
#[derive(Clone, Debug, Default)]
pub(super) struct LevelSet {
    words: SmallVec<[u64; 1]>,
}

impl LevelSet {
    /// An empty set for so many levels.
    pub(super) fn new(levels: usize) -> Self {
        LevelSet { words: SmallVec::from_elem(0, levels.div_ceil(64)) }
    }

    pub(super) fn clear(&mut self) {
        self.words.fill(0);
    }

    pub(super) fn insert(&mut self, level: usize) {
        if let Some(word) = self.words.get_mut(level / 64) {
            *word |= 1 << (level % 64);
        }
    }

    /// All levels before one.
    pub(super) fn insert_all_before(&mut self, level: usize) {
        (0..level).for_each(|level| self.insert(level));
    }

    pub(super) fn insert_all(&mut self, other: &LevelSet) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    /// The last level in the set that comes before `level`.
    pub(super) fn last_before(&self, level: usize) -> Option<usize> {
        let (at, bit) = (level / 64, level % 64);
        let first = self.words.get(at).map(|word| word & ((1 << bit) - 1));
        let words = first.into_iter().chain(self.words[..at.min(self.words.len())].iter().rev().copied());
        let offset = at + usize::from(at < self.words.len());
        words
            .enumerate()
            .find(|(_, word)| *word != 0)
            .map(|(back, word)| (offset - 1 - back) * 64 + 63 - word.leading_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_before_is_found_across_words() {
        let mut set = LevelSet::new(200);
        assert_eq!(set.last_before(199), None);
        [0, 63, 64, 130].into_iter().for_each(|level| set.insert(level));
        let found = [199, 130, 129, 64, 63, 1, 0].map(|level| set.last_before(level));
        assert_eq!(found, [Some(130), Some(64), Some(64), Some(63), Some(0), Some(0), None]);
        let mut all = LevelSet::new(65);
        all.insert_all_before(65);
        assert_eq!(all.last_before(64), Some(63));
        set.insert_all(&all);
        assert_eq!(set.last_before(63), Some(62));
    }
}
