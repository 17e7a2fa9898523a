//! The graph and the modules that own graphs. Knows nothing of passes, formats or C.

pub mod argument;
mod copy;
pub mod dtype;
mod edit;
pub mod error;
mod fragment;
pub mod graph;
pub mod lint;
pub mod lowering;
mod merge;
pub mod module;
pub mod name;
mod name_set;
mod namespace;
pub mod node;
mod order;
mod restore;
mod same;
mod signature;
mod stamps;
pub mod symbol;
pub mod tensor;
pub mod tensor_meta;
pub mod tree;
mod uses;
mod walk;

pub(crate) use copy::transfer_meta;
pub(crate) use restore::GivenNames;
pub(crate) use same::{are_one, is_one};
pub(crate) use symbol::RecentSymbols;

pub use argument::{Args, Argument, Kwargs, MAX_ARGUMENT_DEPTH};
pub use copy::CopyNames;
pub use dtype::Dtype;
pub use error::{Error, ErrorKind, Place, Result};
pub use graph::{At, Graph};
pub use module::{Attribute, Member, Module, ModuleKind, TensorKind};
pub use name::Name;
pub use node::{Meta, Node, NodeId, Op};
pub use signature::Signature;
pub use symbol::{Symbol, Symbols};
pub use tensor::{Dim, Tensor, TensorMeta, Value};
pub use tree::{ModuleId, ModuleTree, NewModule};
