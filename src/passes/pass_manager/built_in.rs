//! Passes that need nothing but a module, by name.

use crate::ir::lowering::LoweringAttrs;
use crate::ir::{lint, ModuleId, ModuleTree, Result};
use crate::passes::cse::{eliminate_common_subexpressions, CseOptions};
use crate::passes::dead_code::eliminate_dead_code;
use crate::passes::deduplicate_get_attr::deduplicate_get_attr;
use crate::passes::legalize::legalize;
use crate::passes::lift_constants::{lift_constants, LiftOptions};
use crate::passes::lowering_attrs::lift_lowering_attrs_to_nodes;
use crate::passes::normalize_args::{normalize_args, NormalizeOptions};
use crate::passes::unused_attributes::delete_unused_attributes;
use std::ffi::CStr;

/// What a pass of the library does with a module.
pub type BuiltInPass = fn(&mut ModuleTree, ModuleId) -> Result<()>;

/// The passes that have a name, torch's where torch has them, each with its defaults.
/// Names are as C reads them.
pub const BUILT_IN_PASSES: &[(&CStr, BuiltInPass)] = &[
    (c"deduplicate_get_attr", |tree, module| deduplicate_get_attr(tree, module).map(drop)),
    (c"delete_all_unused_submodules", |tree, module| tree.delete_all_unused_submodules(module).map(drop)),
    (c"delete_unused_attributes", |tree, module| delete_unused_attributes(tree, module).map(drop)),
    (c"eliminate_common_subexpressions", |tree, module| {
        eliminate_common_subexpressions(tree, module, CseOptions::default()).map(drop)
    }),
    (c"eliminate_dead_code", |tree, module| eliminate_dead_code(tree, module, None).map(drop)),
    (c"legalize_graph", |tree, module| legalize(tree.graph_mut(module)?)),
    (c"lift_constants", |tree, module| lift_constants(tree, module, LiftOptions::default()).map(drop)),
    (c"lift_lowering_attrs_to_nodes", |tree, module| {
        lift_lowering_attrs_to_nodes(tree, module, &LoweringAttrs::default(), false).map(drop)
    }),
    (c"lint", |tree, module| lint::lint_all(tree, module)),
    (c"normalize_args", |tree, module| normalize_args(tree, module, NormalizeOptions::default()).map(drop)),
];

/// The pass of that name; `legalize` is `legalize_graph` too.
pub fn built_in_pass(name: &str) -> Option<BuiltInPass> {
    let name = if name == "legalize" { "legalize_graph" } else { name };
    BUILT_IN_PASSES.iter().find(|(known, _)| known.to_bytes() == name.as_bytes()).map(|(_, pass)| *pass)
}
