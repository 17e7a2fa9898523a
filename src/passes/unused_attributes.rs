//! Tensors that nothing reads go.

use crate::ir::{Attribute, ModuleId, ModuleKind, ModuleTree, Op, Result, Symbol};
use rustc_hash::FxHashSet;

/// Removes the tensors of a module, and of graph modules and holders below it, that no get_attr
/// node reads, and returns their paths. Every graph of the tree counts, those above the module and
/// those that nothing calls among them: run [`ModuleTree::delete_all_unused_submodules`] first.
///
/// What a leaf owns stays, and so does all below a module that a node hands on as it is or that is
/// called and has no graph: only its own code knows what it reads. Settings, which are no tensors,
/// stay.
pub fn delete_unused_attributes(tree: &mut ModuleTree, module: ModuleId) -> Result<Vec<String>> {
    tree.graph(module)?;
    let used = Used::of(tree);
    let mut removed = Vec::new();
    let below: Vec<ModuleId> = tree.modules_below(module).filter(|id| !used.whole.contains(id)).collect();
    for id in below {
        let unused = |name: &Symbol, attribute: &Attribute| {
            matches!(attribute, Attribute::Tensor(..)) && !used.attributes.contains(&(id, *name))
        };
        let gone = tree.get(id)?.attributes().iter().filter(|(name, attribute)| unused(name, attribute));
        let gone: Vec<Symbol> = gone.map(|(name, _)| *name).collect();
        if gone.is_empty() {
            continue;
        }
        let path = tree.path(id, module)?;
        let dot = if path.is_empty() { "" } else { "." };
        removed.extend(gone.iter().map(|&name| format!("{path}{dot}{}", tree.symbols().text(name))));
        tree.get_mut(id)?.attributes.retain(|name, attribute| !unused(name, attribute));
    }
    Ok(removed)
}

/// What the graphs of a tree name.
#[derive(Default)]
struct Used {
    attributes: FxHashSet<(ModuleId, Symbol)>,
    /// Modules all of whose members count as used.
    whole: FxHashSet<ModuleId>,
}

impl Used {
    fn of(tree: &ModuleTree) -> Used {
        let mut used = Used::default();
        for id in tree.modules_below(tree.root()) {
            match tree.get(id).map(|found| found.kind()) {
                Ok(ModuleKind::Leaf) => used.keep_all(tree, id),
                Ok(ModuleKind::Graph(graph)) => {
                    let mut seen = FxHashSet::default();
                    for node in graph.nodes() {
                        let found = &graph[node];
                        if matches!(found.op(), Op::GetAttr | Op::CallModule)
                            && seen.insert((found.op(), found.target()))
                        {
                            used.mark(tree, id, found.op(), graph.text(found.target()));
                        }
                    }
                }
                _ => {}
            }
        }
        used
    }

    fn mark(&mut self, tree: &ModuleTree, from: ModuleId, op: Op, path: &str) {
        let mut at = from;
        for part in path.split('.') {
            let (Ok(found), Some(name)) = (tree.get(at), tree.symbols().find(part)) else { return };
            match found.submodules().get(&name) {
                Some(&submodule) => at = submodule,
                None => {
                    self.attributes.insert((at, name));
                    return;
                }
            }
        }
        let has_graph = tree.get(at).is_ok_and(|found| found.graph().is_some());
        if op == Op::GetAttr || !has_graph {
            self.keep_all(tree, at);
        }
    }

    /// Those that are kept are kept with all below them, so none is walked twice.
    fn keep_all(&mut self, tree: &ModuleTree, top: ModuleId) {
        let mut pending = vec![top];
        while let Some(at) = pending.pop() {
            if let (true, Ok(found)) = (self.whole.insert(at), tree.get(at)) {
                pending.extend(found.submodules().values());
            }
        }
    }
}
