//! What a leaf module does besides yielding a value, by its type and its settings.

use super::super::side_effects::{Setting, LEAVES};
use super::{may_be_true, Impurity};
use crate::ir::{Argument, Attribute, ModuleId, ModuleKind, ModuleTree};

/// Of a leaf that is called: what it does, or any below it that it may call.
pub(super) fn judge(tree: &ModuleTree, leaf: ModuleId) -> Impurity {
    tree.modules_below(leaf).fold(Impurity::None, |most, id| most.max(judge_one(tree, id)))
}

/// Whether a setting says that calls are impure or work in place.
pub(super) fn is_marked(tree: &ModuleTree, module: ModuleId) -> bool {
    ["_is_impure", "inplace"].iter().any(|name| setting(tree, module, name).is_some_and(may_be_true))
}

fn judge_one(tree: &ModuleTree, module: ModuleId) -> Impurity {
    if is_marked(tree, module) {
        return Impurity::Acts;
    }
    let Ok(found) = tree.get(module) else { return Impurity::Acts };
    if !matches!(found.kind(), ModuleKind::Leaf) {
        return Impurity::None;
    }
    let type_name = tree.symbols().text(found.type_name());
    let class = type_name.rsplit('.').next().unwrap_or(type_name);
    let is_of = |part: &str| match part.starts_with('.') {
        true => type_name.contains(part),
        // `LSTMCell` has no layers between which it could draw.
        false => class.contains(part) && !class.ends_with("Cell"),
    };
    let holds = |needed: &Setting| match *needed {
        Setting::NotFalse(name) => !matches!(setting(tree, module, name), Some(Argument::Bool(false))),
        Setting::NotZero(name) => setting(tree, module, name).is_none_or(may_be_true),
        Setting::Given(name) => !matches!(setting(tree, module, name), None | Some(Argument::None)),
    };
    let rules = LEAVES.iter().filter(|rule| is_of(rule.part) && rule.if_all.iter().all(holds));
    rules.fold(Impurity::None, |most, rule| most.max(rule.does))
}

fn setting<'t>(tree: &'t ModuleTree, module: ModuleId, name: &str) -> Option<&'t Argument> {
    let name = tree.symbols().find(name)?;
    match tree.get(module).ok()?.attributes().get(&name)? {
        Attribute::Value(value) => Some(value),
        Attribute::Tensor(..) => None,
    }
}
