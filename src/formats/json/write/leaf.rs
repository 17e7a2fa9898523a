//! What is told of a module that is one operation.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::ir::lowering::{is_optional_tensor, LoweringAttrs, ALL_TENSORS};
use crate::ir::{Argument, Attribute, ModuleId, ModuleTree, Result, Symbol, Tensor, TensorKind};

/// A leaf module.
pub(super) struct Leaf<'t, 'c> {
    pub(super) tree: &'t ModuleTree,
    pub(super) module: ModuleId,
    /// What lies in a leaf and is called itself is no part of the leaf.
    pub(super) called: &'c FxHashSet<ModuleId>,
}

/// What lies in a leaf module under a name.
pub(super) enum Member<'t> {
    Tensor(TensorKind, &'t Arc<Tensor>),
    Value(&'t Argument),
    /// A tensor that it was made without.
    Missing,
}

impl<'t> Leaf<'t, '_> {
    /// Its type's list, if it has one, in the order of that; else all that lies in it.
    pub(super) fn members(&self, lowering: &LoweringAttrs) -> Result<Vec<(Cow<'t, str>, Member<'t>)>> {
        let symbols = self.tree.symbols();
        let leaf = self.tree.get(self.module)?;
        let Some(names) = lowering.of_type(symbols.text(leaf.type_name())) else { return self.all() };
        let mut members = Vec::new();
        for name in names.iter() {
            if name == ALL_TENSORS {
                let is_named = |found: &Symbol| names.iter().any(|name| name == symbols.text(*found));
                let own = leaf.attributes().iter().filter(|(found, _)| !is_named(found));
                members.extend(own.filter_map(|(&found, attribute)| match attribute {
                    Attribute::Tensor(kind, tensor) => {
                        Some((symbols.text(found).into(), Member::Tensor(*kind, tensor)))
                    }
                    Attribute::Value(_) => None,
                }));
                continue;
            }
            let member = match self.tree.attribute(self.module, name) {
                Ok(Attribute::Tensor(kind, tensor)) => Member::Tensor(*kind, tensor),
                Ok(Attribute::Value(value)) => Member::Value(value),
                Err(_) if is_optional_tensor(name) => Member::Missing,
                Err(_) => continue,
            };
            members.push((name.to_owned().into(), member));
        }
        Ok(members)
    }

    fn all(&self) -> Result<Vec<(Cow<'t, str>, Member<'t>)>> {
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
                    Attribute::Tensor(kind, tensor) => (name, Member::Tensor(*kind, tensor)),
                    Attribute::Value(value) => (name, Member::Value(value)),
                }
            }));
            let below = found.submodules().iter().rev().filter(|(_, id)| !self.called.contains(id));
            waiting.extend(below.map(|(&name, &id)| (id, format!("{path}{}.", symbols.text(name)))));
        }
        Ok(members)
    }
}
