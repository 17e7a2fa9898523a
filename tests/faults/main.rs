//! What users of torch.fx ran into, each a test: the graph of the report, and others of its kind.
//!
//! The numbers are those of our list of reports; it has no 2, 3, 10, 15, 21, 39, 42, 43 and 46.
//! Matching 1 to 14, rewriting 15 to 33, ordering 34 to 40, naming 41 to 49, code 50 to 53.

mod codegen;
mod editing;
#[path = "../fx_line/mod.rs"]
mod fx_line;
mod matching;
mod naming;
mod ordering;
mod purity;
mod rewriting;
mod rules;
