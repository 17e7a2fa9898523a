//! The torch.fx intermediate representation as a native library.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod formats;
pub mod ir;
pub mod passes;
pub mod trace;

pub mod capi;
