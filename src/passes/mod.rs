//! Transforms of a module, one a file, named as torch.fx names them. Knows `ir` and nothing else.

pub mod legalize;
pub mod subgraph_matcher;
pub mod subgraph_rewriter;
