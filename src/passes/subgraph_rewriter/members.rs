//! The members that a replacement's nodes name and the module does not have.

use crate::ir::tree::Fragment;
use crate::ir::{Attribute, Error, ErrorKind, Member, ModuleId, ModuleTree, Op, Result};
use rustc_hash::FxHashSet;

/// A copy of a member of the replacement, to be added.
#[derive(Debug)]
pub(super) struct NewMember {
    path: String,
    what: What,
}

#[derive(Debug)]
enum What {
    Module(Fragment),
    Attribute(Attribute),
}

/// A member that exists wins; one that only the replacement has is copied; one that exists
/// nowhere is [`ErrorKind::NotFound`], and names the node.
pub(super) fn missing_members(
    tree: &ModuleTree,
    module: ModuleId,
    replacement: (&ModuleTree, ModuleId),
) -> Result<Vec<NewMember>> {
    let graph = replacement.0.graph(replacement.1)?;
    let mut missing = Vec::new();
    let mut seen = FxHashSet::default();
    for node in graph.nodes() {
        let found = &graph[node];
        if !matches!(found.op(), Op::CallModule | Op::GetAttr) || !seen.insert((found.op(), found.target())) {
            continue;
        }
        let (op, path) = (found.op(), graph.text(found.target()));
        let refuse = |kind, what: &str| {
            let message = format!("replacement node {} ({} {path}): {what}", graph.name(node), op.name());
            Err(Error::new(kind, message).at_node(node))
        };
        match tree.resolve(module, path) {
            Some(Member::Attribute(_)) if op == Op::CallModule => {
                return refuse(ErrorKind::AlreadyExists, "the module has an attribute of that name");
            }
            Some(_) => continue,
            None => {}
        }
        let (what, depth) = match replacement.0.resolve(replacement.1, path) {
            Some(Member::Module(source)) => {
                let fragment = replacement.0.copy_out(source, tree.symbols())?;
                let depth = fragment.depth();
                (What::Module(fragment), depth)
            }
            Some(Member::Attribute(_)) if op == Op::CallModule => {
                return refuse(ErrorKind::InvalidArgument, "its target is an attribute, not a module");
            }
            Some(Member::Attribute(attribute)) => {
                (What::Attribute(attribute.transfer(replacement.0.symbols(), tree.symbols())?), 0)
            }
            None => return refuse(ErrorKind::NotFound, "its target is in neither the module nor the replacement"),
        };
        tree.check_way(module, path, depth)?;
        missing.push(NewMember { path: path.to_string(), what });
    }
    Ok(missing)
}

impl NewMember {
    pub(super) fn add(self, tree: &mut ModuleTree, module: ModuleId) -> Result<()> {
        // Another member of the replacement may have brought this one along.
        if tree.resolve(module, &self.path).is_some() {
            return Ok(());
        }
        match self.what {
            What::Module(fragment) => tree.attach(module, &self.path, fragment).map(|_| ()),
            What::Attribute(attribute) => tree.set_attribute(module, &self.path, attribute),
        }
    }
}
