//! Strings interned once per module tree: names, targets, strings in arguments.
//!
//! A table only grows while its tree lives, so a text stays where it is until the last owner of
//! the table lets go: the C ABI hands out pointers on that promise. Reading takes no lock.

use hashbrown::HashTable;
use parking_lot::Mutex;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::sync::Arc;

/// An interned string. Two symbols of one table are equal when their texts are.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Symbol(u32);

/// The table that owns the texts. Shared by all graphs of a tree.
pub struct Symbols {
    /// Each text with one NUL after it, so that C reads it as it stands.
    texts: boxcar::Vec<Box<str>>,
    index: Mutex<HashTable<Entry>>,
}

#[derive(Clone, Copy)]
struct Entry {
    hash: u64,
    symbol: Symbol,
}

impl Symbols {
    /// An empty table.
    pub fn new() -> Arc<Self> {
        Arc::new(Symbols { texts: boxcar::Vec::new(), index: Mutex::new(HashTable::new()) })
    }

    /// The symbol for `text`, made when there is none yet.
    ///
    /// # Panics
    /// After 4,294,967,295 different texts, which no machine's memory holds as nodes.
    pub fn intern(&self, text: &str) -> Symbol {
        let hash = hash(text);
        let mut index = self.index.lock();
        if let Some(entry) = index.find(hash, |entry| entry.hash == hash && self.text(entry.symbol) == text) {
            return entry.symbol;
        }
        let mut owned = String::with_capacity(text.len() + 1);
        owned.push_str(text);
        owned.push('\0');
        let position = self.texts.push(owned.into_boxed_str());
        let symbol = Symbol(u32::try_from(position).expect("fewer than 2^32 different strings"));
        index.insert_unique(hash, Entry { hash, symbol }, |entry| entry.hash);
        symbol
    }

    /// The symbol for `text` if it was interned before.
    pub fn find(&self, text: &str) -> Option<Symbol> {
        let hash = hash(text);
        let index = self.index.lock();
        index.find(hash, |entry| entry.hash == hash && self.text(entry.symbol) == text).map(|entry| entry.symbol)
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
