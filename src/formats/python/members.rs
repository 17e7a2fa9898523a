//! The members that a text names and does not tell of.

use super::source::Source;
use crate::ir::{
    Argument, Attribute, Member, ModuleId, ModuleTree, NewModule, NodeId, Result, Tensor, TensorKind, Value,
};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// The type of a module of which only calls are known.
const UNKNOWN_TYPE: &str = "torch.nn.Module";

/// A member that a node names, as far as the text tells.
pub(super) struct Mention {
    pub(super) path: String,
    pub(super) is_called: bool,
    pub(super) node: NodeId,
    pub(super) at: usize,
}

pub(super) struct Members<'s, 't> {
    pub(super) source: &'s Source<'t>,
    /// A module whose members those of the text are, if it has them.
    pub(super) like: Option<(&'s ModuleTree, ModuleId)>,
}

impl Members<'_, '_> {
    /// Adds what a graph names and its module does not have: what is called as leaf modules, what is
    /// read as tensors without bytes. When it fails, the module has the members that it had.
    pub(super) fn add(&self, tree: &mut ModuleTree, module: ModuleId, mentions: Vec<Mention>) -> Result<()> {
        let mut added = Vec::new();
        self.add_each(tree, module, mentions, &mut added).inspect_err(|_| {
            for path in added.iter().rev() {
                let _ = tree.delete(module, path); // the last one may not be there
            }
        })
    }

    fn add_each(
        &self,
        tree: &mut ModuleTree,
        module: ModuleId,
        mut mentions: Vec<Mention>,
        added: &mut Vec<String>,
    ) -> Result<()> {
        // Modules first, as a tensor may lie in one that is called too; and outer ones before those in them.
        mentions.sort_by_cached_key(|mention| match mention.is_called {
            true => mention.path.matches('.').count(),
            false => usize::MAX,
        });
        let mut seen = FxHashSet::default();
        for mention in &mentions {
            if seen.insert(mention.path.as_str()) && tree.resolve(module, &mention.path).is_none() {
                added.extend(missing(tree, module, &mention.path));
                self.add_one(tree, module, mention).map_err(|error| self.source.located(error, mention.at))?;
            }
        }
        Ok(())
    }

    fn add_one(&self, tree: &mut ModuleTree, module: ModuleId, mention: &Mention) -> Result<()> {
        let path = &mention.path;
        match self.known(path) {
            Some((from, Member::Module(known))) => {
                let fragment = from.copy_out(known, tree.symbols())?;
                tree.attach(module, path, fragment)?;
            }
            Some((from, Member::Attribute(known))) if !mention.is_called => {
                tree.set_attribute(module, path, known.transfer(from.symbols(), tree.symbols())?)?;
            }
            _ if mention.is_called => {
                tree.add_module(module, path, UNKNOWN_TYPE, NewModule::Leaf)?;
            }
            _ => {
                let value = tree.graph(module)?[mention.node].value().cloned();
                let tensor = match value.as_deref() {
                    Some(Value::Tensor(meta)) => Tensor::without_bytes(meta.clone()).ok(),
                    _ => None,
                };
                let attribute = match tensor {
                    Some(tensor) => Attribute::Tensor(TensorKind::Constant, Arc::new(tensor)),
                    None => Attribute::Value(Argument::None),
                };
                tree.set_attribute(module, path, attribute)?;
            }
        }
        Ok(())
    }

    fn known(&self, path: &str) -> Option<(&ModuleTree, Member<'_>)> {
        let (tree, module) = self.like?;
        Some((tree, tree.resolve(module, path)?))
    }
}

/// The first part of a path that leads to nothing.
fn missing(tree: &ModuleTree, module: ModuleId, path: &str) -> Option<String> {
    let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
    ends.map(|end| &path[..end]).find(|part| tree.resolve(module, part).is_none()).map(str::to_owned)
}

/// Under which path of its parent a nested class stands: its name where the parent names a member
/// so; else the first member that is read, of which nothing is known, and which no class has yet.
pub(super) fn path_of_class(
    tree: &ModuleTree,
    parent: ModuleId,
    mentions: &[Mention],
    taken: &[&str],
    name: &str,
) -> String {
    let is_free = |path: &str| !taken.contains(&path);
    if mentions.iter().any(|mention| mention.path == name) && is_free(name) {
        return name.to_owned();
    }
    let is_unknown = |mention: &&Mention| {
        let told = tree.graph(parent).is_ok_and(|graph| graph[mention.node].value().is_some());
        !told && is_free(&mention.path) && tree.resolve(parent, &mention.path).is_none()
    };
    if let Some(mention) = mentions.iter().filter(|mention| !mention.is_called).find(is_unknown) {
        return mention.path.clone();
    }
    if is_free(name) && !name.contains('.') {
        return name.to_owned();
    }
    (1..).map(|number| format!("{name}_{number}").replace('.', "_")).find(|path| is_free(path)).unwrap_or_default()
}
