//! Python literals: what is read is printed, and read again alike.
#![no_main]

use fxir::formats::python::literal::{parse_literal, parse_str_text};
use fxir::formats::python::repr::{repr, str_text};
use fxir::ir::{Graph, Symbols};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let graph = Graph::new(Symbols::new());
    let symbols = graph.symbols().clone();
    if let Some(argument) = parse_literal(text, &symbols) {
        let printed = repr(&argument, &graph);
        let again = parse_literal(&printed, &symbols).expect("what is printed can be read");
        assert_eq!(repr(&again, &graph), printed);
    }
    let setting = parse_str_text(text, &symbols);
    assert_eq!(str_text(&setting, &symbols).as_deref(), Some(text));
});
