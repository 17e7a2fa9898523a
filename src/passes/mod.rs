//! Transforms of a module, one a file, named as torch.fx names them. Knows `ir` and nothing else.

mod constant_value;
pub mod cse;
pub mod dead_code;
pub mod deduplicate_get_attr;
pub mod fuse;
mod in_order;
pub mod inline;
pub mod insert;
pub mod legalize;
pub mod lift;
pub mod lift_constants;
pub mod lowering_attrs;
mod memory;
mod new_members;
pub mod node_size;
pub mod normalize_args;
pub mod partition;
pub mod pass_manager;
pub mod purity;
pub mod replace_target;
pub mod schema;
mod side_effects;
pub mod stable_topological_sort;
pub mod subgraph_matcher;
pub mod subgraph_rewriter;
pub mod unused_attributes;
