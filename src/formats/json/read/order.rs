//! The order of `weights`: which tensors are parameters and which are buffers, and in which order
//! modules lie in each other, so that writing gives the same order again.
//!
//! Until torch 1.11 `weights` began with all parameters, then came all buffers, each a walk through
//! the modules in their order; what is left came as nodes needed it. Where one walk ends and the
//! next begins the file does not say: it ends where it would go back.

use rustc_hash::{FxHashMap, FxHashSet};

use super::fields::Channel;
use super::module::ModuleReader;
use crate::ir::tree::MAX_MODULE_DEPTH;
use crate::ir::{Attribute, Dtype, ModuleId, ModuleKind, ModuleTree, Result, TensorKind, TensorMeta};

/// What the order of one module's `weights` says.
#[derive(Default)]
pub(super) struct WeightOrder<'a> {
    /// What each weight is, by its name without the module's prefix; where nothing is known, whether
    /// gradients are recorded says it.
    kinds: FxHashMap<&'a str, TensorKind>,
    /// The modules in a module, in order, by its path.
    children: FxHashMap<&'a str, Vec<&'a str>>,
}

impl<'a> WeightOrder<'a> {
    /// Reads it off a module whose weights' names begin with `prefix`.
    pub(super) fn of(reader: &ModuleReader<'a>, prefix: &str) -> WeightOrder<'a> {
        let names = names(reader, prefix);
        let is_told = names.iter().all(|weight| weight.requires_grad.is_some());
        if is_told && is_in_order_of_nodes(reader, &names) {
            return WeightOrder::default();
        }
        let mut walk = Walk::default();
        let mut parameters =
            names.iter().take_while(|weight| !weight.cannot_be_parameter() && walk.step(weight)).count();
        if is_told {
            // What comes behind the last of which gradients are recorded is more likely a buffer.
            let rest = names[..parameters].iter().rev();
            parameters -= rest.take_while(|weight| weight.requires_grad == Some(false)).count();
        }
        let mut first = Walk::default();
        names[..parameters].iter().for_each(|weight| {
            first.step(weight);
        });
        let mut second = Walk { before: Some(&first), ..Walk::default() };
        let buffers = names[parameters..].iter().take_while(|weight| second.step(weight)).count();

        let kind = |(at, weight): (usize, &Name<'a>)| {
            let kind = match at {
                _ if at < parameters => TensorKind::Parameter,
                _ if at < parameters + buffers || weight.cannot_be_parameter() => TensorKind::Buffer,
                _ => TensorKind::Constant,
            };
            (weight.path, kind)
        };
        let kinds = names.iter().enumerate().map(kind).collect();
        let mut children = FxHashMap::default();
        for parent in first.order.keys().chain(second.order.keys()) {
            children.entry(*parent).or_insert_with(|| merged(&first, &second, parent));
        }
        WeightOrder { kinds, children }
    }

    /// What a weight is, if that is known.
    pub(super) fn kind(&self, path: &str) -> Option<TensorKind> {
        self.kinds.get(path).copied()
    }

    /// What lies in graph modules that are called is among these weights too, if it is a parameter
    /// or a buffer: what is not here is neither.
    pub(super) fn settle_below(&self, tree: &mut ModuleTree, top: ModuleId, targets: &[&str]) -> Result<()> {
        if self.kinds.is_empty() {
            return Ok(());
        }
        let symbols = tree.symbols().clone();
        let mut plain = Vec::new();
        for target in targets {
            let module = tree.submodule(top, target)?;
            for below in tree.modules_below(module) {
                let found = tree.get(below)?;
                let is_leaf = matches!(found.kind(), ModuleKind::Leaf);
                let path = tree.path(below, top)?;
                for (&name, attribute) in found.attributes() {
                    let Attribute::Tensor(TensorKind::Parameter | TensorKind::Buffer, tensor) = attribute else {
                        continue;
                    };
                    let name_text = symbols.text(name);
                    if self.kinds.contains_key(format!("{path}.{name_text}").as_str()) {
                        continue;
                    }
                    let kind = match is_leaf && is_known_buffer(name_text) {
                        true => TensorKind::Buffer,
                        false => TensorKind::Constant,
                    };
                    plain.push((below, name, Attribute::Tensor(kind, tensor.clone())));
                }
            }
        }
        for (module, name, attribute) in plain {
            tree.get_mut(module)?.attributes.insert(name, attribute);
        }
        Ok(())
    }

    /// Puts the modules below `top` into their order. Those without weights keep their places.
    pub(super) fn arrange(&self, tree: &mut ModuleTree, top: ModuleId) -> Result<()> {
        for (&path, children) in &self.children {
            let module = match path {
                "" => top,
                path => match tree.submodule(top, path) {
                    Ok(module) => module,
                    Err(_) => continue,
                },
            };
            let symbols = tree.symbols().clone();
            let submodules = &mut tree.get_mut(module)?.submodules;
            let known = children.iter().filter_map(|name| symbols.find(name));
            let mut wanted: Vec<_> = known.filter(|name| submodules.contains_key(name)).collect();
            if wanted.len() < 2 {
                continue;
            }
            let places: FxHashSet<_> = wanted.iter().copied().collect();
            wanted.reverse();
            let mut arranged = crate::ir::module::Members::default();
            for &name in submodules.keys() {
                let next = match places.contains(&name) {
                    true => wanted.pop().unwrap_or(name),
                    false => name,
                };
                if let Some(&id) = submodules.get(&next) {
                    arranged.insert(next, id);
                }
            }
            *submodules = arranged;
        }
        Ok(())
    }
}

/// One of `weights`.
struct Name<'a> {
    /// From the module whose `weights` they are.
    path: &'a str,
    dtype: Dtype,
    requires_grad: Option<bool>,
}

impl<'a> Name<'a> {
    /// The module that has it.
    fn owner(&self) -> &'a str {
        self.path.rsplit_once('.').map_or("", |(owner, _)| owner)
    }

    /// Whether torch would not let it be one, or its name is that of a known buffer.
    fn cannot_be_parameter(&self) -> bool {
        let is_known = || self.path.rsplit('.').next().is_some_and(is_known_buffer);
        match self.requires_grad {
            Some(true) => false,
            _ => !(self.dtype.is_floating_point() || self.dtype.is_complex()) || is_known(),
        }
    }
}

fn is_known_buffer(name: &str) -> bool {
    matches!(name, "running_mean" | "running_var" | "num_batches_tracked")
}

/// The weights that are members of the module or of those below it, in the file's order.
fn names<'a>(reader: &ModuleReader<'a>, prefix: &str) -> Vec<Name<'a>> {
    let mut hidden = FxHashSet::default();
    for weight in reader.weights.values() {
        if let Some((scales, zero_points)) = &weight.channels {
            hidden.extend([scales, zero_points].into_iter().filter_map(|channel| match channel {
                Channel::Weight(name) => Some(*name),
                _ => None,
            }));
        }
    }
    let weights = reader.weights.iter().filter(|(name, _)| !hidden.contains(*name));
    weights
        .filter_map(|(name, weight)| {
            let path = name.strip_prefix(prefix)?;
            // Deeper ones are refused when they are made members.
            let is_member = path.matches('.').count() <= MAX_MODULE_DEPTH;
            let TensorMeta { dtype, requires_grad, .. } = weight.meta;
            is_member.then_some(Name { path, dtype, requires_grad })
        })
        .collect()
}

/// Whether the weights come as nodes need them, and no other.
fn is_in_order_of_nodes(reader: &ModuleReader<'_>, names: &[Name<'_>]) -> bool {
    let gets: FxHashMap<&str, usize> =
        reader.gets.iter().rev().map(|&(node, index)| (reader.graph.target(node), index)).collect();
    let mut last = 0;
    names.iter().all(|name| {
        let above = name.path.match_indices('.').map(|(dot, _)| &name.path[..dot]);
        let called = above.filter_map(|module| reader.calls.get(module).filter(|call| call.parameters.is_some()));
        let needed = called.map(|call| call.index).chain(gets.get(name.path).copied()).min();
        match needed {
            Some(index) if index >= last => {
                last = index;
                true
            }
            _ => false,
        }
    })
}

/// A walk through modules: a module's own tensors, then those of the modules in it, each once.
#[derive(Default)]
struct Walk<'a, 'w> {
    at: &'a str,
    entered: FxHashSet<&'a str>,
    /// The modules in a module as the walk came to them, with their places.
    order: FxHashMap<&'a str, indexmap::IndexSet<&'a str>>,
    /// A walk through the same modules that this one must agree with.
    before: Option<&'w Walk<'a, 'w>>,
    /// The place that the last module had in that walk, by the path of the one it is in.
    reached: FxHashMap<&'a str, usize>,
}

impl<'a> Walk<'a, '_> {
    /// Goes on to a tensor; false, and nothing is done, if no walk comes to it now.
    fn step(&mut self, name: &Name<'a>) -> bool {
        let owner = name.owner();
        if owner == self.at {
            return true;
        }
        // The modules that it would enter: those on the way that it is not in already.
        let is_in =
            |path: &str| self.at == path || self.at.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
        let ends = owner.match_indices('.').map(|(dot, _)| dot).chain([owner.len()]);
        let enters: Vec<&'a str> =
            ends.map(|end| &owner[..end]).filter(|path| !path.is_empty() && !is_in(path)).collect();
        if enters.is_empty() {
            return false; // it is above: its own tensors came before
        }
        let parts = |path: &'a str| path.rsplit_once('.').unwrap_or(("", path));
        for path in &enters {
            let (parent, child) = parts(path);
            let place = self.before.and_then(|before| before.order.get(parent)?.get_index_of(child));
            let is_back = place.is_some_and(|place| self.reached.get(parent).is_some_and(|reached| place <= *reached));
            if self.entered.contains(path) || is_back {
                return false;
            }
        }
        for path in enters {
            let (parent, child) = parts(path);
            self.entered.insert(path);
            self.order.entry(parent).or_default().insert(child);
            if let Some(place) = self.before.and_then(|before| before.order.get(parent)?.get_index_of(child)) {
                self.reached.insert(parent, place);
            }
        }
        self.at = owner;
        true
    }
}

/// The order of the modules in one, with which both walks agree.
fn merged<'a>(first: &Walk<'a, '_>, second: &Walk<'a, '_>, parent: &str) -> Vec<&'a str> {
    let mut merged = Vec::new();
    let (one, two) = (first.order.get(parent), second.order.get(parent));
    let mut rest = one.into_iter().flatten().copied().peekable();
    for &child in two.into_iter().flatten() {
        if one.is_some_and(|one| one.contains(child)) {
            merged.extend(std::iter::from_fn(|| rest.next_if(|next| *next != child)));
            rest.next();
        }
        merged.push(child);
    }
    merged.extend(rest);
    merged
}
