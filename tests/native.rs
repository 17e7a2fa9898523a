//! The native form: what is saved is loaded to the bit, and what is no such file is refused.

#[path = "random_graph/mod.rs"]
mod random_graph;
