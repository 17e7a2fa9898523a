//! FX code: Python text as torch prints it, and literals as it spells them.

mod annotation;
mod globals;
mod keywords;
mod lines;
pub mod literal;
mod members;
mod operators;
pub mod print;
mod pytree;
pub mod read;
pub mod repr;
mod source;
mod stack_trace;
pub mod trace;
