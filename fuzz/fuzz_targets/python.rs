//! FX code: what is read is printed, and read again alike; and the text is traced.
#![no_main]

use fxir::formats::python::print::{code, graph_text};
use fxir::formats::python::read::read_code;
use fxir::formats::python::trace::{trace_code, TraceOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = trace_code(text, &TraceOptions::default(), Vec::new());
    let Ok(tree) = read_code(text) else { return };
    let printed = code(&tree, tree.root()).expect("what is read is a graph module");
    // Some of what can be read, a variable called `self` for one, cannot be printed so that it reads.
    let Ok(again) = read_code(&printed) else { return };
    let _ = code(&again, again.root()).map(|_| again.graph(again.root()).map(graph_text));
});
