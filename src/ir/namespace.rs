//! The names given in one graph, made unique and legal as torch.fx makes them.

use super::name::{is_legal_name, is_reserved_name, legalize_name, name_of_target, split_number, Name};
use super::name_set::OneBase;
use super::symbol::{RecentSymbols, Symbol, Symbols};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// What was given. Names are never given back: erasing a node frees none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Namespace {
    /// Of texts that were asked for, or count as a base.
    states: FxHashMap<Symbol, State>,
    recent: RecentSymbols,
    /// From a taken `base_N` to a number above N below which every number is taken; walked and
    /// shortened as in union-find, so that asking for one name over and over stays cheap.
    skips: FxHashMap<(Symbol, u64), u64>,
    /// What a target asks for, so that it is worked out once.
    candidates: FxHashMap<Symbol, Symbol>,
    /// Names that were taken and are not legal; nearly always none.
    illegal: FxHashSet<Name>,
}

#[derive(Clone, Debug, Default)]
struct State {
    form: Form,
    /// What is given with the text as its base.
    given: OneBase,
    /// The number given last.
    count: u64,
}

/// How a name is made, worked out when it is first asked for.
#[derive(Clone, Copy, Debug, Default)]
enum Form {
    #[default]
    Unknown,
    /// Without a number, and free for nodes.
    Plain,
    /// One of the reserved names.
    Reserved,
    /// A base and a number.
    Numbered(Symbol, u64),
}

impl Namespace {
    /// The name that `candidate` gets: legal, and new in this graph.
    pub(crate) fn create_name(&mut self, symbols: &Symbols, candidate: &str) -> Name {
        match split_number(candidate) {
            // A base with a number, free: what code is full of.
            Some((base, Some(number))) => {
                let own = Name::recent(&mut self.recent, symbols, candidate);
                if own.number().is_some_and(|own| u64::from(own) == number) && symbols.text(own.base()) == base {
                    let state = self.states.entry(own.base()).or_default();
                    if state.given.insert(own.number()) {
                        state.count = number;
                        return own;
                    }
                }
                self.create_legal_name(symbols, symbols.intern(candidate))
            }
            Some(_) => self.create_legal_name(symbols, symbols.intern(candidate)),
            None => self.create_legal_name(symbols, symbols.intern(&legalize_name(candidate))),
        }
    }

    /// The name that a node with this target gets when none was asked for.
    pub(crate) fn create_name_for_target(&mut self, symbols: &Symbols, target: Symbol, is_path: bool) -> Name {
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

    /// The same for a candidate that is legal already.
    pub(crate) fn create_legal_name(&mut self, symbols: &Symbols, candidate: Symbol) -> Name {
        let state = self.states.entry(candidate).or_default();
        if let Form::Unknown = state.form {
            state.form = form_of(symbols, candidate);
        }
        // Like torch, count on from what was last given for the whole candidate, number and all;
        // numbers are put behind its base.
        let last = state.count;
        match state.form {
            Form::Numbered(base, number) => {
                let own = Name::new(symbols, symbols.text(candidate));
                if self.insert(own) {
                    self.states.entry(base).or_default().count = number;
                    own
                } else {
                    self.take_next_free(symbols, base, last)
                }
            }
            Form::Plain | Form::Unknown if state.given.insert(None) => Name::new(symbols, symbols.text(candidate)),
            _ => match Name::numbered(candidate, last + 1) {
                // Nearly every name of a large graph comes this way.
                Some(name) if state.given.insert(name.number()) => {
                    state.count += 1;
                    name
                }
                _ => self.take_next_free(symbols, candidate, last),
            },
        }
    }

    /// Takes a name and its text as they are, legal or not; false when it was taken before.
    pub(crate) fn take(&mut self, name: Name, text: &str) -> bool {
        if !is_legal_name(text) || is_reserved_name(text) {
            self.illegal.insert(name);
        }
        self.insert(name)
    }

    /// Whether a name was given or taken, if only by a node that is gone.
    pub(crate) fn is_taken(&self, name: Name) -> bool {
        self.states.get(&name.base()).is_some_and(|state| state.given.contains(name.number()))
    }

    /// What was given of each base, and the number that was given of it last, in no order.
    pub(crate) fn given(&self) -> impl Iterator<Item = (Symbol, &OneBase, u64)> {
        self.states.iter().map(|(&base, state)| (base, &state.given, state.count))
    }

    /// Counts on from a number.
    pub(crate) fn set_count(&mut self, base: Symbol, count: u64) {
        self.states.entry(base).or_default().count = count;
    }

    /// Whether a name that was taken is not one that would have been given.
    pub(crate) fn is_illegal(&self, name: Name) -> bool {
        !self.illegal.is_empty() && self.illegal.contains(&name)
    }

    /// False when the name was given before.
    fn insert(&mut self, name: Name) -> bool {
        self.states.entry(name.base()).or_default().given.insert(name.number())
    }

    /// The first free `base_N` with N above `number`; N is then the last number given.
    fn take_next_free(&mut self, symbols: &Symbols, base: Symbol, number: u64) -> Name {
        let mut walked = SmallVec::<[u64; 8]>::new();
        let mut next = number.saturating_add(1);
        loop {
            if let Some(&further) = self.skips.get(&(base, next)) {
                walked.push(next);
                next = further;
                continue;
            }
            let name = Name::numbered(base, next)
                .unwrap_or_else(|| Name::new(symbols, &format!("{}_{next}", symbols.text(base))));
            if self.insert(name) {
                for passed in walked {
                    self.skips.insert((base, passed), next);
                }
                self.states.entry(base).or_default().count = next;
                return name;
            }
            walked.push(next);
            next = next.saturating_add(1);
        }
    }
}

fn form_of(symbols: &Symbols, name: Symbol) -> Form {
    let text = symbols.text(name);
    match split_number(text) {
        Some((base, Some(number))) => Form::Numbered(symbols.intern(base), number),
        _ if is_reserved_name(text) => Form::Reserved,
        _ => Form::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_too_large_to_count_on_from_are_a_part_of_the_name() {
        let symbols = Symbols::new();
        let mut names = Namespace::default();
        for number in [u64::MAX, (1 << 63) - 1, 1 << 63] {
            let large = format!("add_{number}");
            assert_eq!(names.create_name(&symbols, &large).text(&symbols), large);
            let other = names.create_name(&symbols, &large);
            assert_ne!(other.text(&symbols), large);
            for _ in 0..3 {
                names.create_name(&symbols, "add");
            }
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
            assert_eq!(given.text(&symbols), format!("add_{expected}"));
        }
    }
}
