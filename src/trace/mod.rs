//! Recording operations as nodes: what torch.fx's `Tracer` does while a function runs. Whoever runs
//! the function, a C caller or the interpreter of FX text, records through one [`Tracer`].

pub mod tracer;

pub use tracer::{Operation, Rewrite, Tracer};
