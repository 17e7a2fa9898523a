//! The C ABI: one file a C noun. Holds no logic of its own.
//!
//! The functions here are what `include/fxir.h` declares, and their comments are its documentation.
//! Each is one [`boundary::status`] or [`boundary::value`] around its body. They are unsafe for one
//! reason, which the header states first: a pointer is NULL or leads to what the documentation says.
//! That is the whole of their safety contract.
#![allow(unsafe_code, non_camel_case_types)]
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]

// The order of these is the order of the header; the blank lines keep rustfmt from changing it.

pub mod status;

pub mod error;

pub mod module;

pub mod member;

pub mod graph;

pub mod walk;

pub mod node;

pub mod argument;

pub mod args;

pub mod node_edit;

pub mod copy;

pub mod node_map;

pub mod value;

pub mod tensor_meta;

pub mod meta;

pub mod dtype;

pub mod lint;

pub mod trace;
pub mod trace_code;

pub mod match_callbacks;
pub mod match_options;

pub mod rewrite;

pub mod pattern_set;

pub mod matches;

pub mod fuse;

pub mod dead_code;

pub mod cse;

pub mod cleaning;

pub mod node_size;

pub mod passes;

pub mod lowering;

pub mod pass_report;

pub mod pass_manager;

pub mod normalize;

pub mod serialize_options;

pub mod json;

pub mod native;

pub mod weights;

pub mod weights_writer;

pub mod tensor;

pub mod dlpack;

pub mod print;

pub mod text;

pub mod buffer;

pub mod stream;

// What the others are made of.

mod boundary;
mod handle;
mod input;
mod module_handle;
mod node_filter;
mod release;
mod tree_cell;

#[cfg(test)]
mod tests;
