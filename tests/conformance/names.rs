//! `names.jsonl`: names asked for, in order, in one graph, and the names that torch gave.

use super::Report;
use fxir::ir::{At, Graph, Kwargs, Op, Symbols};
use std::path::Path;

#[derive(serde::Deserialize)]
struct Case {
    asked: Vec<String>,
    given: Vec<String>,
}

pub fn run(folder: &Path, report: &mut Report) {
    let Ok(text) = std::fs::read_to_string(folder.join("names.jsonl")) else { return };
    for (number, line) in text.lines().enumerate() {
        let outcome = serde_json::from_str::<Case>(line).map_err(|e| e.to_string()).and_then(|case| check(&case));
        report.case("names", &format!("line {}", number + 1), outcome);
    }
}

fn check(case: &Case) -> Result<(), String> {
    let mut graph = Graph::new(Symbols::new());
    for (asked, given) in case.asked.iter().zip(&case.given) {
        let node = graph
            .create_node(At::Default, Op::CallFunction, "torch.relu", Default::default(), Kwargs::new(), Some(asked))
            .map_err(|error| error.to_string())?;
        if graph.name(node) != given {
            return Err(format!("{asked:?} gave {:?}, torch gives {given:?}", graph.name(node)));
        }
    }
    Ok(())
}
