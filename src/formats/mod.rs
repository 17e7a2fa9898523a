//! Files and texts: reading them into the IR, and writing them. Knows `ir`, and nothing of passes or C.

pub mod json;
pub mod native;
pub mod python;
pub mod replace_file;
pub mod tabular;
pub mod weights;
