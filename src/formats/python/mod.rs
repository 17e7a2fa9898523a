//! Python text: literals as FX code spells them.

pub mod literal;
pub mod repr;
