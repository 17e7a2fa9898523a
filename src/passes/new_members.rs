//! The members that nodes from elsewhere name and the module they come to does not have.

use crate::ir::tree::{Fragment, FragmentMember};
use crate::ir::{
    Attribute, Error, ErrorKind, Member, ModuleId, ModuleTree, NodeId, Op, Result, Symbol, Symbols, Tensor,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// What becomes of a member that comes with new nodes when the module has another of its name. A member
/// that is the same is never added twice: a copy of one module, or a tensor in the same place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemberConflict {
    /// The module's own is used, as in torch.fx.
    #[default]
    Keep,
    /// The new one gets a name that is free.
    Rename,
    /// [`ErrorKind::AlreadyExists`].
    Refuse,
}

/// Copies of members that come with nodes, to be added. What brings nodes is called a source: a
/// replacement, or a module that is inlined.
#[derive(Debug, Default)]
pub(super) struct NewMembers {
    members: Vec<NewMember>,
    at: FxHashMap<String, usize>,
    /// All that lies on the way to one of them.
    ways: FxHashSet<String>,
}

#[derive(Debug)]
struct NewMember {
    path: String,
    what: What,
    identity: Identity,
}

#[derive(Debug)]
enum What {
    Module(Fragment),
    Attribute(Attribute),
}

/// What tells a member from another of its name.
#[derive(Clone, Debug)]
enum Identity {
    /// A module, by its origin.
    Module(u64),
    Tensor(Arc<Tensor>),
    Setting,
}

impl Identity {
    fn of(tree: &ModuleTree, member: Member<'_>) -> Identity {
        match member {
            Member::Module(module) => tree.get(module).map_or(Identity::Setting, |it| Identity::Module(it.origin())),
            Member::Attribute(attribute) => Identity::of_attribute(attribute),
        }
    }

    fn of_attribute(attribute: &Attribute) -> Identity {
        match attribute {
            Attribute::Tensor(_, tensor) => Identity::Tensor(tensor.clone()),
            Attribute::Value(_) => Identity::Setting,
        }
    }

    fn is(&self, other: &Identity) -> bool {
        match (self, other) {
            (Identity::Module(a), Identity::Module(b)) => a == b,
            (Identity::Tensor(a), Identity::Tensor(b)) => Arc::ptr_eq(a, b) || a.is_same_view(b),
            _ => false,
        }
    }
}

/// What a node of a source names.
struct Named<'a> {
    op: Op,
    path: &'a str,
    node: NodeId,
    name: &'a str,
}

impl NewMembers {
    /// Refuses what [`NewMembers::plan`] would for the module as it is.
    pub(super) fn check(
        tree: &ModuleTree,
        module: ModuleId,
        source: (&ModuleTree, ModuleId),
        conflict: MemberConflict,
    ) -> Result<()> {
        for named in all_named(source)? {
            let brought = named_member(&named, source)?;
            match tree.resolve(module, named.path) {
                Some(there) => {
                    decide(&named, is_module(there), Identity::of(tree, there), source, brought, conflict)?;
                }
                None if brought.is_none() => return Err(missing(&named)),
                None => {}
            }
        }
        Ok(())
    }

    /// Plans to add what the module does not have; tells the targets that are called otherwise then.
    pub(super) fn plan(
        &mut self,
        tree: &ModuleTree,
        module: ModuleId,
        source: (&ModuleTree, ModuleId),
        conflict: MemberConflict,
    ) -> Result<FxHashMap<Symbol, Symbol>> {
        let mut renamed: FxHashMap<String, String> = FxHashMap::default();
        let first_own = self.members.len();
        let mut all = all_named(source)?;
        // A module brings along what lies below it.
        all.sort_by_key(|named| named.path.matches('.').count());
        for named in all {
            let brought = named_member(&named, source)?;
            if let Some((above, rest)) = ways(named.path).find_map(|(way, rest)| Some((renamed.get(way)?, rest))) {
                renamed.insert(named.path.to_owned(), format!("{above}.{rest}"));
                continue;
            }
            let there = match tree.resolve(module, named.path) {
                Some(there) => Some((is_module(there), Identity::of(tree, there))),
                None => self.find(&named, tree.symbols(), first_own)?,
            };
            let Some((is_module, identity)) = there else {
                let Some(member) = brought else { return Err(missing(&named)) };
                self.add_planned(tree, module, &named, named.path.to_owned(), (source.0, member))?;
                continue;
            };
            if self.is_own(named.path, first_own) || !decide(&named, is_module, identity, source, brought, conflict)? {
                continue;
            }
            let Some(member) = brought else { continue };
            let path = match self.find_renamed(named.path, &Identity::of(source.0, member)) {
                Some(path) => path,
                None => {
                    let path = self.free_path(tree, module, named.path);
                    self.add_planned(tree, module, &named, path.clone(), (source.0, member))?;
                    path
                }
            };
            renamed.insert(named.path.to_owned(), path);
        }
        let symbols = tree.symbols();
        Ok(renamed.iter().map(|(old, new)| (symbols.intern(old), symbols.intern(new))).collect())
    }

    fn add_planned(
        &mut self,
        tree: &ModuleTree,
        module: ModuleId,
        named: &Named<'_>,
        path: String,
        (from, member): (&ModuleTree, Member<'_>),
    ) -> Result<()> {
        if self.ways.contains(&path) {
            return Err(refuse(named, ErrorKind::AlreadyExists, "something else brings what would lie below it"));
        }
        let (what, depth) = match member {
            Member::Module(source) => {
                let fragment = from.copy_out(source, tree.symbols())?;
                let depth = fragment.depth();
                (What::Module(fragment), depth)
            }
            Member::Attribute(attribute) => (What::Attribute(attribute.transfer(from.symbols(), tree.symbols())?), 0),
        };
        tree.check_way(module, &path, depth)?;
        self.ways.extend(ways(&path).map(|(way, _)| way.to_owned()));
        self.at.insert(path.clone(), self.members.len());
        self.members.push(NewMember { path, what, identity: Identity::of(from, member) });
        Ok(())
    }

    /// What is planned under a path, or comes along with a module above it.
    fn find(&self, named: &Named<'_>, symbols: &Symbols, first_own: usize) -> Result<Option<(bool, Identity)>> {
        if let Some(&at) = self.at.get(named.path) {
            let planned = &self.members[at];
            return Ok(Some((matches!(planned.what, What::Module(_)), planned.identity.clone())));
        }
        let Some((at, rest)) = ways(named.path).find_map(|(way, rest)| Some((*self.at.get(way)?, rest))) else {
            return Ok(None);
        };
        let below = match &self.members[at].what {
            What::Module(fragment) => fragment.resolve(symbols, rest),
            What::Attribute(_) => None,
        };
        match below {
            Some(FragmentMember::Module(module)) => Ok(Some((true, Identity::Module(module.origin())))),
            Some(FragmentMember::Attribute(attribute)) => Ok(Some((false, Identity::of_attribute(attribute)))),
            None if at >= first_own => Err(missing(named)),
            None => {
                let what = format!("something else brings {}, without this", self.members[at].path);
                Err(refuse(named, ErrorKind::AlreadyExists, &what))
            }
        }
    }

    /// Whether this very source brings what a path leads to.
    fn is_own(&self, path: &str, first_own: usize) -> bool {
        let above = std::iter::once(path).chain(ways(path).map(|(way, _)| way));
        above.filter_map(|way| self.at.get(way)).any(|&at| at >= first_own)
    }

    /// Where this very member was planned under another name.
    fn find_renamed(&self, path: &str, identity: &Identity) -> Option<String> {
        let of_this_name = |other: &str| {
            let rest = other.strip_prefix(path).and_then(|rest| rest.strip_prefix('_'));
            rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let found = self.members.iter().find(|member| member.identity.is(identity) && of_this_name(&member.path));
        found.map(|member| member.path.clone())
    }

    fn free_path(&self, tree: &ModuleTree, module: ModuleId, path: &str) -> String {
        let free = |path: &String| tree.resolve(module, path).is_none() && !self.at.contains_key(path);
        // There are fewer members than numbers.
        (1u64..).map(|number| format!("{path}_{number}")).find(free).unwrap_or_default()
    }

    /// Adds what was planned. No path leads through another.
    pub(super) fn add(self, tree: &mut ModuleTree, module: ModuleId) -> Result<()> {
        for member in self.members {
            match member.what {
                What::Module(fragment) => {
                    tree.attach(module, &member.path, fragment)?;
                }
                What::Attribute(attribute) => tree.set_attribute(module, &member.path, attribute)?,
            }
        }
        Ok(())
    }
}

/// The modules on the way to a path, and what is left of it from there.
fn ways(path: &str) -> impl Iterator<Item = (&str, &str)> {
    path.match_indices('.').map(move |(dot, _)| (&path[..dot], &path[dot + 1..]))
}

/// What a source's nodes name, each once.
fn all_named((tree, module): (&ModuleTree, ModuleId)) -> Result<Vec<Named<'_>>> {
    let graph = tree.graph(module)?;
    let mut seen = FxHashSet::default();
    let named = graph.nodes().filter(|&node| matches!(graph[node].op(), Op::CallModule | Op::GetAttr));
    let named = named.filter(|&node| seen.insert((graph[node].op(), graph[node].target())));
    let make = |node| Named { op: graph[node].op(), path: graph.target(node), node, name: graph.name(node) };
    Ok(named.map(make).collect())
}

/// What a node names in the source itself.
fn named_member<'a>(named: &Named<'_>, (tree, module): (&'a ModuleTree, ModuleId)) -> Result<Option<Member<'a>>> {
    match tree.resolve(module, named.path) {
        Some(Member::Attribute(_)) if named.op == Op::CallModule => {
            Err(refuse(named, ErrorKind::InvalidArgument, "its target is an attribute, not a module"))
        }
        found => Ok(found),
    }
}

/// Whether a member of the source is to be added beside one of its name.
fn decide(
    named: &Named<'_>,
    there_is_module: bool,
    there: Identity,
    (tree, _): (&ModuleTree, ModuleId),
    brought: Option<Member<'_>>,
    conflict: MemberConflict,
) -> Result<bool> {
    let is_another = brought.is_some_and(|member| !Identity::of(tree, member).is(&there));
    match conflict {
        MemberConflict::Rename if is_another => Ok(true),
        MemberConflict::Refuse if is_another => {
            Err(refuse(named, ErrorKind::AlreadyExists, "the module has another member of that name"))
        }
        _ if named.op == Op::CallModule && !there_is_module => {
            Err(refuse(named, ErrorKind::AlreadyExists, "the module has an attribute of that name"))
        }
        _ => Ok(false),
    }
}

fn is_module(member: Member<'_>) -> bool {
    matches!(member, Member::Module(_))
}

fn missing(named: &Named<'_>) -> Error {
    refuse(named, ErrorKind::NotFound, "its target is in neither the module nor that which the node comes from")
}

fn refuse(named: &Named<'_>, kind: ErrorKind, what: &str) -> Error {
    let message = format!("new node {} ({} {}): {what}", named.name, named.op.name(), named.path);
    Error::new(kind, message).at_node(named.node)
}
