//! The name of a node, and what makes a text a legal one.

use super::symbol::{RecentSymbols, Symbol, Symbols};
use rustc_hash::FxHashSet;
use std::num::NonZeroU32;
use std::sync::LazyLock;

/// A node's name. Most names are a text and a number (`add_17`); these are kept as such, and
/// written out when somebody asks for the text.
///
/// A text has one form only, so that two names of one table are equal when their texts are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Name {
    base: Symbol,
    /// One more than the number.
    number: Option<NonZeroU32>,
}

/// Python's keywords and builtins and a few names that generated code binds: a node that asks for
/// one of them gets a number. `None` is not among them: torch gives it away (tests/cases/names.jsonl).
const RESERVED: &str = include_str!("reserved_names.txt");

static RESERVED_NAMES: LazyLock<FxHashSet<&'static str>> = LazyLock::new(|| RESERVED.lines().collect());

impl Name {
    /// The name with this text.
    pub fn new(symbols: &Symbols, text: &str) -> Name {
        let (base, number) = split(text);
        Name { base: symbols.intern(base), number }
    }

    /// The same, for a graph that asks for few bases over and over.
    pub(crate) fn recent(recent: &mut RecentSymbols, symbols: &Symbols, text: &str) -> Name {
        let (base, number) = split(text);
        Name { base: recent.intern(symbols, base), number }
    }

    /// The name with this text, if a node can have it as far as the table tells.
    pub fn find(symbols: &Symbols, text: &str) -> Option<Name> {
        let (base, number) = split(text);
        Some(Name { base: symbols.find(base)?, number })
    }

    /// `base_number`, if names keep so large a number apart.
    pub(crate) fn numbered(base: Symbol, number: u64) -> Option<Name> {
        let number = u32::try_from(number).ok()?.checked_add(1)?;
        Some(Name { base, number: NonZeroU32::new(number) })
    }

    /// The text as it stands in the table that the name is of.
    pub fn text(self, symbols: &Symbols) -> &str {
        match self.number {
            None => symbols.text(self.base),
            Some(_) => symbols.text(self.symbol(symbols)),
        }
    }

    /// Appends the text, which comes into no table.
    pub fn write(self, symbols: &Symbols, out: &mut String) {
        out.push_str(symbols.text(self.base));
        if let Some(number) = self.number {
            out.push('_');
            out.push_str(itoa::Buffer::new().format(number.get() - 1));
        }
    }

    /// The text as a symbol.
    pub fn symbol(self, symbols: &Symbols) -> Symbol {
        let Some(number) = self.number else { return self.base };
        let mut text = smallvec::SmallVec::<[u8; 64]>::from_slice(symbols.text(self.base).as_bytes());
        text.push(b'_');
        text.extend_from_slice(itoa::Buffer::new().format(number.get() - 1).as_bytes());
        match std::str::from_utf8(&text) {
            Ok(text) => symbols.intern(text),
            Err(_) => self.base, // a text, a `_` and digits are UTF-8
        }
    }

    /// The text before the number, or all of it.
    pub(crate) fn base(self) -> Symbol {
        self.base
    }

    /// The number.
    pub(crate) fn number(self) -> Option<u32> {
        self.number.map(|number| number.get() - 1)
    }
}

/// The one form of a text: a number is apart if it is written as numbers are, and fits.
fn split(text: &str) -> (&str, Option<NonZeroU32>) {
    let whole = (text, None);
    let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (before, number) = text.split_at(text.len() - digits);
    let Some(base) = before.strip_suffix('_').filter(|base| !base.is_empty()) else { return whole };
    if digits == 0 || (digits > 1 && number.starts_with('0')) {
        return whole;
    }
    match number.parse::<u32>().ok().and_then(|number| number.checked_add(1)) {
        Some(number) => (base, NonZeroU32::new(number)),
        None => whole,
    }
}

/// Whether `name` is one of the names that no node may have.
pub fn is_reserved_name(name: &str) -> bool {
    RESERVED_NAMES.contains(name)
}

/// Whether `name` is an identifier as nodes have them: ASCII letters, digits and `_`, no digit first.
pub fn is_legal_name(name: &str) -> bool {
    split_number(name).is_some()
}

/// Base and number of an identifier (`add_1` is `add` and 1); nothing for what is no identifier.
/// A number too large to count with is part of the base.
pub(super) fn split_number(name: &str) -> Option<(&str, Option<u64>)> {
    let bytes = name.as_bytes();
    let legal = bytes.iter().all(|&byte| LEGAL[usize::from(byte)]);
    if !legal || bytes.first().is_none_or(u8::is_ascii_digit) {
        return None;
    }
    let digits = bytes.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let base = name.len() - digits;
    if digits == 0 || base < 2 || bytes[base - 1] != b'_' {
        return Some((name, None));
    }
    match name[base..].parse::<u64>() {
        Ok(number) if number < MAX_COUNT => Some((&name[..base - 1], Some(number))),
        _ => Some((name, None)),
    }
}

/// Numbers of names are below this, so that counting on from one never ends.
pub(crate) const MAX_COUNT: u64 = 1 << 63;

/// Bytes that a name may have.
static LEGAL: [bool; 256] = {
    let mut legal = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        legal[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    legal
};

/// Each run of illegal characters becomes `_`, a leading digit gets `_` before it, nothing
/// becomes `_unnamed`.
pub(super) fn legalize_name(candidate: &str) -> String {
    let mut name = String::with_capacity(candidate.len() + 1);
    let mut in_run = false;
    for c in candidate.chars() {
        let legal = c.is_ascii_alphanumeric() || c == '_';
        if legal {
            name.push(c);
        } else if !in_run {
            name.push('_');
        }
        in_run = !legal;
    }
    if name.is_empty() {
        name.push_str("_unnamed");
    }
    if name.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        name.insert(0, '_');
    }
    name
}

/// What torch derives a name from: the path of a module, attribute or placeholder as it stands,
/// else the last part of a function's name or a method's name; dunders lose their underscores, and
/// CamelCase becomes snake_case.
pub(super) fn name_of_target(target: &str, is_path: bool) -> String {
    let mut text = if is_path { target } else { function_name(target) };
    if text.len() > 4 && text.starts_with("__") && text.ends_with("__") {
        text = &text[2..text.len() - 2];
    }
    let mut name = String::with_capacity(text.len() + 4);
    let mut after_lower = false;
    for c in text.chars() {
        if c.is_ascii_uppercase() && after_lower {
            name.push('_');
        }
        after_lower = c.is_ascii_lowercase();
        name.extend(c.to_lowercase());
    }
    name
}

/// The `__name__` of a function: an operator overload's has its overload in it (`add.Tensor`).
fn function_name(target: &str) -> &str {
    let start = match target.strip_prefix("torch.ops.") {
        Some(rest) if rest.split('.').count() == 3 => {
            let namespace = rest.find('.').map_or(0, |dot| dot + 1);
            target.len() - rest.len() + namespace
        }
        _ => target.rfind('.').map_or(0, |dot| dot + 1),
    };
    &target[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_form_and_comes_back() {
        let symbols = Symbols::new();
        for text in [
            "add",
            "add_1",
            "add_0",
            "add_01",
            "_1",
            "__1",
            "add_",
            "add_4294967294",
            "add_4294967295",
            "add_99999999999",
            "",
            "_",
            "é_7",
        ] {
            let name = Name::new(&symbols, text);
            assert_eq!(name.text(&symbols), text);
            assert_eq!(Name::find(&symbols, text), Some(name));
        }
        let add = symbols.intern("add");
        assert_eq!(Name::numbered(add, 1), Some(Name::new(&symbols, "add_1")));
        assert_eq!(Name::numbered(add, u64::from(u32::MAX)), None);
    }

    #[test]
    fn names_of_targets() {
        for (target, is_path, expected) in [
            ("torch.nn.functional.relu", false, "relu"),
            ("_operator.add", false, "add"),
            ("torch.ops.aten.add.Tensor", false, "add.tensor"),
            ("torch.ops.aten.relu", false, "relu"),
            ("__getitem__", false, "getitem"),
            ("layer1.0.conv1", true, "layer1.0.conv1"),
            ("fooBar", false, "foo_bar"),
            ("ABc", false, "abc"),
        ] {
            assert_eq!(name_of_target(target, is_path), expected, "{target}");
        }
    }
}
