//! What holds of passes on whatever graph: random modules with nested arguments, keywords, literals,
//! several outputs, members at several depths.

mod cleaning;
mod drawing;
#[path = "../fx_line/mod.rs"]
mod fx_line;
mod matches;
mod order;
mod parts;
#[path = "../random_graph/mod.rs"]
mod random_graph;
mod rewrites;
mod sequences;
