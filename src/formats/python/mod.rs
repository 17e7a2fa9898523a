//! FX code: Python text as torch prints it, and literals as it spells them.

mod keywords;
pub mod literal;
mod operators;
pub mod print;
mod pytree;
pub mod read;
pub mod repr;
mod stack_trace;
