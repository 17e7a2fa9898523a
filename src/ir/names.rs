//! Names of nodes, made unique and legal as torch.fx makes them.

use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::LazyLock;

use super::symbol::{Symbol, Symbols};

/// Python's keywords and builtins and a few names that generated code binds: a node that asks for
/// one of them gets a number. `None` is not among them: torch gives it away (tests/cases/names.jsonl).
const RESERVED: &str = include_str!("reserved_names.txt");

static RESERVED_NAMES: LazyLock<FxHashSet<&'static str>> = LazyLock::new(|| RESERVED.lines().collect());

/// The names given in one graph. Names are never given back: erasing a node frees none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Namespace {
    names: FxHashMap<Symbol, State>,
    /// From a taken `base_N` to a number above N below which every number is taken; walked and
    /// shortened as in union-find, so that asking for one name over and over stays cheap.
    skips: FxHashMap<(Symbol, u64), u64>,
    /// What a target asks for, so that it is worked out once.
    candidates: FxHashMap<Symbol, Symbol>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    used: bool,
    /// The last number given with this text as its base.
    count: u64,
}

impl Namespace {
    /// The name that `candidate` gets: legal, and new in this graph.
    pub(crate) fn create_name(&mut self, symbols: &Symbols, candidate: &str) -> Symbol {
        match split_number(candidate) {
            Some(_) => self.create_legal_name(symbols, symbols.intern(candidate)),
            None => self.create_legal_name(symbols, symbols.intern(&legalize_name(candidate))),
        }
    }

    /// The name that a node with this target gets when none was asked for.
    pub(crate) fn create_name_for_target(&mut self, symbols: &Symbols, target: Symbol, is_path: bool) -> Symbol {
        let candidate = match self.candidates.get(&target) {
            Some(&candidate) => candidate,
            None => {
                let text = name_of_target(symbols.text(target), is_path);
                let text = if split_number(&text).is_some() { text } else { legalize_name(&text) };
                let candidate = symbols.intern(&text);
                self.candidates.insert(target, candidate);
                candidate
            }
        };
        self.create_legal_name(symbols, candidate)
    }

    /// Takes `name` as it is, legal or not; false when it was taken before.
    pub(crate) fn take(&mut self, name: Symbol) -> bool {
        let state = self.names.entry(name).or_default();
        !std::mem::replace(&mut state.used, true)
    }

    /// Whether a name was given or taken.
    pub(crate) fn is_used(&self, name: Symbol) -> bool {
        self.names.get(&name).is_some_and(|state| state.used)
    }

    /// The same for a candidate that is legal already.
    pub(crate) fn create_legal_name(&mut self, symbols: &Symbols, candidate: Symbol) -> Symbol {
        let text = symbols.text(candidate);
        let (base, number) = split_number(text).unwrap_or((text, None));
        let state = self.names.get(&candidate).copied().unwrap_or_default();
        let base = if number.is_some() { symbols.intern(base) } else { candidate };
        if !state.used {
            if let Some(number) = number {
                return self.record(candidate, base, number);
            }
            if !RESERVED_NAMES.contains(text) {
                self.names.entry(candidate).or_default().used = true;
                return candidate;
            }
        }
        // Like torch, count on from what was last given for the whole candidate, number and all;
        // numbers are put behind its base.
        let (name, number) = self.next_free(symbols, base, state.count);
        self.record(name, base, number)
    }

    fn record(&mut self, name: Symbol, base: Symbol, number: u64) -> Symbol {
        self.names.entry(name).or_default().used = true;
        self.names.entry(base).or_default().count = number;
        name
    }

    /// The first free `base_N` with N above `number`.
    fn next_free(&mut self, symbols: &Symbols, base: Symbol, number: u64) -> (Symbol, u64) {
        let mut walked = smallvec::SmallVec::<[u64; 8]>::new();
        let mut next = number.saturating_add(1);
        let mut text = String::with_capacity(symbols.text(base).len() + 8);
        loop {
            if !self.skips.is_empty() {
                if let Some(&further) = self.skips.get(&(base, next)) {
                    walked.push(next);
                    next = further;
                    continue;
                }
            }
            text.clear();
            text.push_str(symbols.text(base));
            text.push('_');
            push_number(&mut text, next);
            let name = symbols.intern(&text);
            if !self.is_used(name) {
                for passed in walked {
                    self.skips.insert((base, passed), next);
                }
                return (name, next);
            }
            walked.push(next);
            next = next.saturating_add(1);
        }
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

fn push_number(text: &mut String, number: u64) {
    use std::fmt::Write;
    let _ = write!(text, "{number}"); // writing to a String does not fail
}

/// Base and number of an identifier (`add_1` is `add` and 1); nothing for what is no identifier.
/// A number too large to count with is part of the base.
fn split_number(name: &str) -> Option<(&str, Option<u64>)> {
    let bytes = name.as_bytes();
    let legal = bytes.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_');
    if !legal || bytes.first().is_none_or(u8::is_ascii_digit) {
        return None;
    }
    let digits = bytes.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let base = name.len() - digits;
    if digits == 0 || base < 2 || bytes[base - 1] != b'_' {
        return Some((name, None));
    }
    match name[base..].parse::<u64>() {
        Ok(number) => Some((&name[..base - 1], Some(number))),
        Err(_) => Some((name, None)),
    }
}

/// Each run of illegal characters becomes `_`, a leading digit gets `_` before it, nothing
/// becomes `_unnamed`.
fn legalize_name(candidate: &str) -> String {
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
fn name_of_target(target: &str, is_path: bool) -> String {
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

    #[test]
    fn one_name_asked_for_over_and_over_is_not_quadratic() {
        let symbols = Symbols::new();
        let mut names = Namespace::default();
        for i in 0..100_000u64 {
            let given = names.create_name(&symbols, "add_5");
            let expected = match i {
                0 => 5,
                1..=4 => i,
                _ => i + 1,
            };
            assert_eq!(symbols.text(given), format!("add_{expected}"));
        }
    }
}
