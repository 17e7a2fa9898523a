//! Strings interned once per module tree: names, targets, strings in arguments.
//!
//! A table only grows while its tree lives, so a text stays where it is until the last owner of
//! the table lets go: the C ABI hands out pointers on that promise. Reading takes no lock.

use hashbrown::hash_table::{self, HashTable};
use parking_lot::Mutex;
use rustc_hash::FxHasher;
use smol_str::SmolStr;
use std::hash::Hasher;
use std::sync::Arc;

/// An interned string. Two symbols of one table are equal when their texts are.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Symbol(u32);

/// The table that owns the texts. Shared by all graphs of a tree.
pub struct Symbols {
    /// Each text with one NUL after it, so that C reads it as it stands. Short texts are stored in
    /// place, and no text ever moves.
    texts: boxcar::Vec<SmolStr>,
    index: Mutex<Index>,
}

/// The symbols that one graph asked for last: asking again takes no lock.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentSymbols([Option<Symbol>; 32]);

#[derive(Default)]
struct Index {
    table: HashTable<Entry>,
    /// Where a text gets its NUL.
    scratch: String,
}

#[derive(Clone, Copy)]
struct Entry {
    hash: u64,
    symbol: Symbol,
}

impl Symbols {
    /// An empty table.
    pub fn new() -> Arc<Self> {
        Arc::new(Symbols { texts: boxcar::Vec::new(), index: Mutex::default() })
    }

    /// The symbol for `text`, made when there is none yet.
    ///
    /// # Panics
    /// After 4,294,967,295 different texts, which no machine's memory holds as nodes.
    pub fn intern(&self, text: &str) -> Symbol {
        let hash = hash(text);
        let same = |entry: &Entry| entry.hash == hash && self.text(entry.symbol) == text;
        let mut index = self.index.lock();
        let Index { table, scratch } = &mut *index;
        match table.entry(hash, same, |entry| entry.hash) {
            hash_table::Entry::Occupied(entry) => entry.get().symbol,
            hash_table::Entry::Vacant(place) => {
                scratch.clear();
                scratch.push_str(text);
                scratch.push('\0');
                let position = self.texts.push(SmolStr::new(&*scratch));
                let symbol = Symbol(u32::try_from(position).expect("fewer than 2^32 different strings"));
                place.insert(Entry { hash, symbol });
                symbol
            }
        }
    }

    /// The symbol for `text` if it was interned before.
    pub fn find(&self, text: &str) -> Option<Symbol> {
        let hash = hash(text);
        let index = self.index.lock();
        index.table.find(hash, |entry| entry.hash == hash && self.text(entry.symbol) == text).map(|entry| entry.symbol)
    }

    /// The text of a symbol of this table.
    pub fn text(&self, symbol: Symbol) -> &str {
        let text = self.text_with_nul(symbol);
        &text[..text.len() - 1]
    }

    /// The text with the NUL that follows it.
    pub fn text_with_nul(&self, symbol: Symbol) -> &str {
        &self.texts[symbol.0 as usize]
    }
}

impl std::fmt::Debug for Symbols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Symbols({})", self.texts.count())
    }
}

/// rustc-hash 2 finishes with a rotation, so both ends of the value are mixed as hashbrown wants.
fn hash(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}

impl RecentSymbols {
    /// As [`Symbols::intern`], always with the same table.
    pub(crate) fn intern(&mut self, symbols: &Symbols, text: &str) -> Symbol {
        let RecentSymbols(recent) = self;
        let place = &mut recent[hash(text) as usize % recent.len()];
        match *place {
            Some(symbol) if symbols.text(symbol) == text => symbol,
            _ => *place.insert(symbols.intern(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_keeps_its_symbol_and_its_place() {
        let symbols = Symbols::new();
        let relu = symbols.intern("relu");
        let place = symbols.text(relu).as_ptr();
        for i in 0..10_000 {
            symbols.intern(&format!("relu_{i}"));
        }
        assert_eq!(symbols.intern("relu"), relu);
        assert_eq!(symbols.find("relu_77").map(|s| symbols.text(s)), Some("relu_77"));
        assert_eq!(symbols.text(relu).as_ptr(), place);
        assert_eq!(symbols.text_with_nul(relu), "relu\0");
        assert_eq!(symbols.find("gelu"), None);
    }
}
