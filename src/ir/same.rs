//! Whether two trees are the same, to the bit.

use super::argument::Argument;
use super::graph::Graph;
use super::module::{Attribute, Module, ModuleKind};
use super::node::{Node, NodeId};
use super::symbol::{Symbol, Symbols};
use super::tensor::Tensor;
use super::tree::{ModuleId, ModuleTree};
use std::sync::Arc;

impl ModuleTree {
    /// Whether nothing that can be seen of this tree differs from an older clone of it: not even an
    /// id, the order of users, or where a tensor lies.
    pub fn is_unchanged_since(&self, before: &ModuleTree) -> bool {
        let are = Compared { left: self, right: before, as_one: true };
        Arc::ptr_eq(self.symbols(), before.symbols())
            && self.modules.len() == before.modules.len()
            && self.modules.iter().zip(&before.modules).all(|(left, right)| match (left, right) {
                (Some(left), Some(right)) => {
                    left.parent == right.parent
                        && left.submodules.iter().eq(right.submodules.iter())
                        && are.same_module(left, right)
                }
                (None, None) => true,
                _ => false,
            })
    }

    /// Whether a module, with all that is below it, is the same as one of another tree: members and
    /// nodes in the same order, with equal contents. Ids, origins and memory may differ.
    pub fn is_same_as(&self, top: ModuleId, other: &ModuleTree, other_top: ModuleId) -> bool {
        let are = Compared { left: self, right: other, as_one: false };
        let mut pending = vec![(top, other_top)];
        while let Some((left, right)) = pending.pop() {
            let (Ok(left), Ok(right)) = (self.get(left), other.get(right)) else { return false };
            let same = left.submodules.len() == right.submodules.len()
                && left
                    .submodules
                    .keys()
                    .zip(right.submodules.keys())
                    .all(|(left, right)| are.same_text(*left, *right))
                && are.same_module(left, right);
            if !same {
                return false;
            }
            pending.extend(left.submodules.values().copied().zip(right.submodules.values().copied()));
        }
        true
    }
}

struct Compared<'a> {
    left: &'a ModuleTree,
    right: &'a ModuleTree,
    /// One tree at two times: strings are in one table, and ids have to be the same.
    as_one: bool,
}

impl Compared<'_> {
    fn same_text(&self, left: Symbol, right: Symbol) -> bool {
        match self.as_one {
            true => left == right,
            false => self.left.symbols().text(left) == self.right.symbols().text(right),
        }
    }

    fn same_optional_text(&self, left: Option<Symbol>, right: Option<Symbol>) -> bool {
        match (left, right) {
            (Some(left), Some(right)) => self.same_text(left, right),
            (None, None) => true,
            _ => false,
        }
    }

    /// All of a module but its submodules.
    fn same_module(&self, left: &Module, right: &Module) -> bool {
        (!self.as_one || left.origin == right.origin)
            && self.same_text(left.type_name, right.type_name)
            && left.attributes.len() == right.attributes.len()
            && left
                .attributes
                .iter()
                .zip(&right.attributes)
                .all(|((name, left), (other, right))| self.same_text(*name, *other) && self.same_attribute(left, right))
            && match (&left.kind, &right.kind) {
                (ModuleKind::Graph(left), ModuleKind::Graph(right)) => self.same_graph(left, right),
                (ModuleKind::Leaf, ModuleKind::Leaf) | (ModuleKind::Holder, ModuleKind::Holder) => true,
                _ => false,
            }
    }

    fn same_attribute(&self, left: &Attribute, right: &Attribute) -> bool {
        match (left, right) {
            (Attribute::Tensor(kind, left), Attribute::Tensor(other, right)) => {
                kind == other && (Arc::ptr_eq(left, right) || self.same_tensor(left, right))
            }
            (Attribute::Value(left), Attribute::Value(right)) => self.same_argument(left, right, &|_, _| false),
            _ => false,
        }
    }

    fn same_tensor(&self, left: &Tensor, right: &Tensor) -> bool {
        let is_one = left.data().is_none() || left.is_same_view(right);
        left == right && left.strides() == right.strides() && (is_one || !self.as_one)
    }

    fn same_graph(&self, left: &Graph, right: &Graph) -> bool {
        if left.len() != right.len() || left.signature != right.signature {
            return false;
        }
        if self.as_one {
            return left.nodes().eq(right.nodes())
                && left.nodes().all(|node| {
                    left.users(node).eq(right.users(node)) && self.same_node(&left[node], &right[node], &|a, b| a == b)
                });
        }
        let mut twin = vec![None; left.slot_count()];
        left.nodes().zip(right.nodes()).for_each(|(left, right)| twin[left.slot()] = Some(right));
        let are_twins = |left: NodeId, right: NodeId| twin.get(left.slot()) == Some(&Some(right));
        left.nodes().zip(right.nodes()).all(|(node, other)| {
            left.name(node) == right.name(other)
                && left.user_count(node) == right.user_count(other)
                && left.users(node).zip(right.users(other)).all(|(left, right)| are_twins(left, right))
                && self.same_node(&left[node], &right[other], &are_twins)
        })
    }

    /// All that a node holds; its name only where ids are the same.
    fn same_node(&self, left: &Node, right: &Node, same: &impl Fn(NodeId, NodeId) -> bool) -> bool {
        let (meta, other_meta) = (left.meta(), right.meta());
        left.op() == right.op()
            && (!self.as_one || left.name() == right.name())
            && self.same_text(left.target(), right.target())
            && self.same_arguments(left.args(), right.args(), same)
            && left.kwargs().len() == right.kwargs().len()
            && left
                .kwargs()
                .iter()
                .zip(right.kwargs())
                .all(|((key, a), (other, b))| self.same_text(*key, *other) && self.same_argument(a, b, same))
            && self.same_optional_text(left.type_annotation(), right.type_annotation())
            && self.same_optional_text(left.comment(), right.comment())
            && meta.value == other_meta.value
            && meta.entries.len() == other_meta.entries.len()
            && meta
                .entries
                .iter()
                .zip(&other_meta.entries)
                .all(|((key, a), (other, b))| self.same_text(*key, *other) && self.same_argument(a, b, same))
    }

    fn same_arguments(&self, left: &[Argument], right: &[Argument], same: &impl Fn(NodeId, NodeId) -> bool) -> bool {
        are_one(left, self.left.symbols(), right, self.right.symbols(), same)
    }

    fn same_argument(&self, left: &Argument, right: &Argument, same: &impl Fn(NodeId, NodeId) -> bool) -> bool {
        is_one(left, self.left.symbols(), right, self.right.symbols(), same)
    }
}

/// Whether arguments are of one kind and one content, to the bit; of nodes `same` decides.
pub(crate) fn are_one(
    left: &[Argument],
    symbols: &Symbols,
    right: &[Argument],
    other: &Symbols,
    same: &impl Fn(NodeId, NodeId) -> bool,
) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| is_one(left, symbols, right, other, same))
}

/// The same of one argument; arguments do not nest deeper than a walk may recurse.
pub(crate) fn is_one(
    left: &Argument,
    symbols: &Symbols,
    right: &Argument,
    other: &Symbols,
    same: &impl Fn(NodeId, NodeId) -> bool,
) -> bool {
    match (left, right) {
        (Argument::Float(a), Argument::Float(b)) => a.to_bits() == b.to_bits(),
        (Argument::Complex(a), Argument::Complex(b)) => a.map(f64::to_bits) == b.map(f64::to_bits),
        (Argument::Node(a), Argument::Node(b)) => same(*a, *b),
        (Argument::List(a), Argument::List(b)) | (Argument::Tuple(a), Argument::Tuple(b)) => {
            are_one(a, symbols, b, other, same)
        }
        (Argument::Slice(a), Argument::Slice(b)) => are_one(a.as_ref(), symbols, b.as_ref(), other, same),
        (Argument::Dict(a), Argument::Dict(b)) => {
            a.len() == b.len()
                && a.iter().zip(b).all(|((key, a), (other_key, b))| {
                    is_one(key, symbols, other_key, other, same) && is_one(a, symbols, b, other, same)
                })
        }
        (left, right) if left.is_nested() || right.is_nested() => false,
        (left, right) => left.same_literal(symbols, right, other, &mut |_, _| false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Kwargs, NewModule, Op};

    fn net() -> (ModuleTree, NodeId, NodeId) {
        let mut tree = ModuleTree::new("Net");
        let root = tree.root();
        tree.add_module(root, "act", "torch.nn.ReLU", NewModule::Leaf).unwrap();
        tree.set_attribute(root, "p", Attribute::Value(Argument::Float(f64::NAN))).unwrap();
        let graph = tree.graph_mut(root).unwrap();
        let x = graph.placeholder("x").unwrap();
        let list = Argument::List([Argument::Node(x), Argument::Float(f64::NAN)].into_iter().collect());
        let a = graph.call_function("f", vec![list], Kwargs::new()).unwrap();
        let b = graph.call_function("g", vec![Argument::Node(x), Argument::Node(a)], Kwargs::new()).unwrap();
        graph.output(Argument::Node(b)).unwrap();
        (tree, x, a)
    }

    #[test]
    fn a_copy_is_the_same_and_a_clone_is_unchanged() {
        let (tree, _, _) = net();
        let (again, _, _) = net();
        let clone = tree.clone();
        assert!(clone.is_unchanged_since(&tree));
        assert!(!again.is_unchanged_since(&tree));
        assert!(again.is_same_as(again.root(), &tree, tree.root()));
        let copy = tree.clone_subtree(tree.root()).unwrap();
        assert!(copy.is_same_as(copy.root(), &tree, tree.root()));
    }

    #[test]
    fn every_change_shows() {
        type Change = fn(&mut ModuleTree, NodeId, NodeId);
        let changes: [(&str, Change); 14] = [
            ("type", |tree, _, _| tree.set_type_name(tree.root(), "Other").unwrap()),
            ("member", |tree, _, _| tree.delete(tree.root(), "act").unwrap()),
            ("setting", |tree, _, _| tree.set_attribute(tree.root(), "p", Attribute::Value(Argument::Int(1))).unwrap()),
            ("order", |tree, _, a| {
                let root = tree.root();
                let graph = tree.graph_mut(root).unwrap();
                let output = graph.output_node().unwrap();
                graph.move_before(a, output).unwrap()
            }),
            ("list for tuple", |tree, x, a| {
                let items = [Argument::Node(x), Argument::Float(f64::NAN)].into_iter().collect();
                let root = tree.root();
                tree.graph_mut(root).unwrap().set_args(a, [Argument::Tuple(items)].into_iter().collect()).unwrap()
            }),
            ("minus", |tree, x, a| {
                let items = [Argument::Node(x), Argument::Float(-f64::NAN)].into_iter().collect();
                let root = tree.root();
                tree.graph_mut(root).unwrap().set_args(a, [Argument::List(items)].into_iter().collect()).unwrap()
            }),
            ("users", |tree, x, a| {
                let root = tree.root();
                let graph = tree.graph_mut(root).unwrap();
                let args = graph[a].args().iter().cloned().collect();
                graph.set_args(a, [Argument::None].into_iter().collect()).unwrap();
                graph.set_args(a, args).unwrap();
                assert_eq!(graph.users(x).last(), Some(a));
            }),
            ("name", |tree, _, a| {
                let root = tree.root();
                tree.graph_mut(root).unwrap().rename(a, "other").unwrap();
            }),
            ("target", |tree, _, a| {
                let root = tree.root();
                tree.graph_mut(root).unwrap().set_target(a, "other").unwrap()
            }),
            ("comment", |tree, _, a| {
                let root = tree.root();
                tree.graph_mut(root).unwrap().set_comment(a, Some("words")).unwrap()
            }),
            ("annotation", |tree, _, a| {
                let root = tree.root();
                tree.graph_mut(root).unwrap().set_type_annotation(a, Some("Tensor")).unwrap()
            }),
            ("meta", |tree, _, a| {
                let root = tree.root();
                tree.graph_mut(root).unwrap().set_meta(a, "k", Argument::Int(1)).unwrap();
            }),
            ("node", |tree, _, _| {
                let root = tree.root();
                tree.graph_mut(root).unwrap().get_attr("p").unwrap();
            }),
            ("signature", |tree, _, _| {
                let root = tree.root();
                tree.graph_mut(root).unwrap().signature.return_annotation = Some("int".into())
            }),
        ];
        for (what, change) in changes {
            let (tree, x, a) = net();
            let mut changed = tree.clone();
            change(&mut changed, x, a);
            assert!(!changed.is_unchanged_since(&tree), "{what}");
            assert!(!changed.is_same_as(changed.root(), &tree, tree.root()), "{what}");
        }
    }

    #[test]
    fn an_id_is_a_difference_of_one_tree_only() {
        let (tree, x, _) = net();
        let mut changed = tree.clone();
        let root = changed.root();
        let graph = changed.graph_mut(root).unwrap();
        let output = graph.output_node().unwrap();
        let result = graph[output].args()[0].clone();
        graph.erase_node(output).unwrap();
        graph.output(result).unwrap();
        assert!(graph.contains(x) && graph[graph.output_node().unwrap()].op() == Op::Output);
        assert!(!changed.is_unchanged_since(&tree));
    }
}
