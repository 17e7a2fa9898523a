//! What variables stand for.

use crate::ir::{Argument, Name, Symbol};
use rustc_hash::FxHashMap;

/// From names to what they are bound to. Names of one base lie side by side, in the order of their
/// numbers: a function of very many lines uses what it bound just before.
#[derive(Default)]
pub(super) struct Bindings {
    bases: FxHashMap<Symbol, Base>,
    /// Names whose numbers are far above those that their bases have.
    far: FxHashMap<Name, Argument>,
}

#[derive(Default)]
struct Base {
    plain: Option<Argument>,
    numbered: Vec<Option<Argument>>,
}

impl Bindings {
    pub(super) fn get(&self, name: &Name) -> Option<&Argument> {
        let base = self.bases.get(&name.base())?;
        match place(*name) {
            None => base.plain.as_ref(),
            Some(at) => match base.numbered.get(at) {
                Some(Some(bound)) => Some(bound),
                _ => self.far.get(name),
            },
        }
    }

    pub(super) fn insert(&mut self, name: Name, value: Argument) {
        let base = self.bases.entry(name.base()).or_default();
        match place(name) {
            None => base.plain = Some(value),
            Some(at) => {
                let length = base.numbered.len();
                if at >= length && at <= length.saturating_mul(2).saturating_add(8) {
                    base.numbered.resize(at + 1, None);
                }
                match base.numbered.get_mut(at) {
                    Some(bound) => {
                        *bound = Some(value);
                        if !self.far.is_empty() {
                            self.far.remove(&name);
                        }
                    }
                    None => drop(self.far.insert(name, value)),
                }
            }
        }
    }

    pub(super) fn remove(&mut self, name: &Name) {
        if let Some(base) = self.bases.get_mut(&name.base()) {
            match place(*name) {
                None => base.plain = None,
                Some(at) => {
                    if let Some(bound) = base.numbered.get_mut(at) {
                        *bound = None;
                    }
                }
            }
        }
        self.far.remove(name);
    }

    pub(super) fn contains_key(&self, name: &Name) -> bool {
        self.get(name).is_some()
    }
}

fn place(name: Name) -> Option<usize> {
    name.number().map(|number| number as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Symbols;

    #[test]
    fn names_far_and_near_are_bound_and_freed() {
        let symbols = Symbols::new();
        let name = |text: &str| Name::new(&symbols, text);
        let mut bindings = Bindings::default();
        let texts = ["x", "x_0", "x_1", "x_9", "x_1000", "x_30", "y_4000000000", "x_29"];
        for (at, text) in texts.iter().enumerate() {
            bindings.insert(name(text), Argument::Int(at as i64));
        }
        let bound = |bindings: &Bindings, text: &str| match bindings.get(&name(text)) {
            Some(Argument::Int(value)) => Some(*value),
            _ => None,
        };
        for (at, text) in texts.iter().enumerate() {
            assert_eq!(bound(&bindings, text), Some(at as i64), "{text}");
        }
        assert!(!bindings.contains_key(&name("x_2")) && !bindings.contains_key(&name("z")));
        // Near now, and far before: the last one counts.
        for number in 0..2_000 {
            bindings.insert(name(&format!("x_{number}")), Argument::Int(-number));
        }
        assert_eq!(bound(&bindings, "x_1000"), Some(-1000));
        bindings.remove(&name("x_1000"));
        bindings.remove(&name("y_4000000000"));
        bindings.remove(&name("x"));
        assert!(["x_1000", "y_4000000000", "x"].iter().all(|text| bound(&bindings, text).is_none()));
    }
}
