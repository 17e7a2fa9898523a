//! What is told of a module that is one operation.

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use crate::ir::lowering::{LeafMember, LeafMembers, LoweringAttrs};
use crate::ir::{Attribute, ModuleId, ModuleTree, Result};

/// A leaf module.
pub(super) struct Leaf<'t, 'c> {
    pub(super) tree: &'t ModuleTree,
    pub(super) module: ModuleId,
    /// What lies in a leaf and is called itself is no part of the leaf.
    pub(super) called: &'c FxHashSet<ModuleId>,
}

impl<'t> Leaf<'t, '_> {
    /// Its type's list, if it has one, in the order of that; else all that lies in it.
    pub(super) fn members(&self, lowering: &LoweringAttrs) -> Result<LeafMembers<'t>> {
        match lowering.members(self.tree, self.module)? {
            Some(members) => Ok(members),
            None => self.all(),
        }
    }

    fn all(&self) -> Result<LeafMembers<'t>> {
        let symbols = self.tree.symbols();
        let mut members = Vec::new();
        let mut waiting = vec![(self.module, String::new())];
        while let Some((module, path)) = waiting.pop() {
            let found = self.tree.get(module)?;
            members.extend(found.attributes().iter().map(|(&name, attribute)| {
                let name = match path.is_empty() {
                    true => Cow::Borrowed(symbols.text(name)),
                    false => Cow::Owned(format!("{path}{}", symbols.text(name))),
                };
                match attribute {
                    Attribute::Tensor(kind, tensor) => (name, LeafMember::Tensor(*kind, tensor)),
                    Attribute::Value(value) => (name, LeafMember::Value(value)),
                }
            }));
            let below = found.submodules().iter().rev().filter(|(_, id)| !self.called.contains(id));
            waiting.extend(below.map(|(&name, &id)| (id, format!("{path}{}.", symbols.text(name)))));
        }
        Ok(members)
    }
}
