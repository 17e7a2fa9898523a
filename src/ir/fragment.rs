//! A module with all below it that belongs to no tree yet.

use super::module::{Attribute, Module};
use super::symbol::Symbols;
use super::tree::{ModuleId, ModuleTree};
use std::sync::Arc;

/// A copy of a module with all below it that is not part of a tree yet.
#[derive(Debug)]
pub struct Fragment {
    /// The first is the top; ids of submodules are places in here.
    pub(super) modules: Vec<Module>,
    pub(super) depth: usize,
}

impl Fragment {
    /// How many levels of modules it has.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The module that holds the others.
    pub fn top(&self) -> Option<&Module> {
        self.modules.first()
    }

    /// What a dotted path leads to from the top, as [`ModuleTree::resolve`] says it of a tree;
    /// `symbols` is the table that the copy was made for.
    pub fn resolve(&self, symbols: &Symbols, path: &str) -> Option<FragmentMember<'_>> {
        let mut module = self.top()?;
        let mut parts = path.split('.');
        while let Some(part) = parts.next() {
            let name = symbols.find(part)?;
            match module.submodules.get(&name) {
                Some(submodule) => module = self.modules.get(submodule.0 as usize)?,
                None if parts.next().is_none() => return module.attributes.get(&name).map(FragmentMember::Attribute),
                None => return None,
            }
        }
        Some(FragmentMember::Module(module))
    }
}

/// What a dotted path leads to in a [`Fragment`].
#[derive(Clone, Copy, Debug)]
pub enum FragmentMember<'a> {
    /// A module.
    Module(&'a Module),
    /// An attribute.
    Attribute(&'a Attribute),
}

impl ModuleTree {
    /// A tree of its own out of a copy made by [`ModuleTree::copy_out`] with these symbols.
    pub fn from_fragment(symbols: Arc<Symbols>, fragment: Fragment) -> Self {
        ModuleTree { symbols, modules: fragment.modules.into_iter().map(|module| Some(Box::new(module))).collect() }
    }

    /// The whole tree as a part for another one that has the same table of strings, without a copy.
    pub fn into_fragment(self) -> Fragment {
        let mut place = Vec::with_capacity(self.modules.len());
        let mut level: Vec<usize> = Vec::with_capacity(self.modules.len());
        let mut modules = Vec::with_capacity(self.modules.len());
        for module in self.modules {
            // A parent is older than what it holds, so its level is known.
            let above = module.as_ref().and_then(|module| module.parent).map_or(0, |parent| level[parent.0 as usize]);
            place.push(ModuleId(modules.len() as u32));
            level.push(if module.is_some() { above + 1 } else { 0 });
            modules.extend(module.map(|module| *module));
        }
        for module in &mut modules {
            module.submodules.values_mut().for_each(|id| *id = place[id.0 as usize]);
            module.parent = module.parent.map(|parent| place[parent.0 as usize]);
        }
        Fragment { modules, depth: level.into_iter().max().unwrap_or(1) }
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::module::{Attribute, Member};
    use crate::ir::{Argument, ModuleTree, NewModule};

    #[test]
    fn a_tree_becomes_a_part_of_another() {
        let mut tree = ModuleTree::new("Net");
        let mut part = ModuleTree::with_symbols(tree.symbols().clone(), "Part");
        let root = part.root();
        part.add_module(root, "gone.inner", "Leaf", NewModule::Leaf).unwrap();
        part.add_module(root, "a.b.c", "Leaf", NewModule::Leaf).unwrap();
        part.set_attribute(root, "a.b.c.size", Attribute::Value(Argument::Int(3))).unwrap();
        part.delete(root, "gone").unwrap();
        let fragment = part.into_fragment();
        assert_eq!(fragment.depth(), 4);
        assert_eq!(fragment.top().map(|top| tree.symbols().text(top.type_name())), Some("Part"));
        let root = tree.root();
        let id = tree.attach(root, "x.part", fragment).unwrap();
        assert_eq!(tree.path(id, root).unwrap(), "x.part");
        assert!(matches!(tree.resolve(root, "x.part.a.b.c.size"), Some(Member::Attribute(_))));
        assert!(tree.resolve(root, "x.part.gone").is_none());
        let c = tree.submodule(root, "x.part.a.b.c").unwrap();
        assert_eq!(tree.path(c, root).unwrap(), "x.part.a.b.c");
    }
}
