//! `trace.jsonl`: Python text, and the code of the graph that `torch.fx.symbolic_trace` makes of it, or
//! the error that it gives (`tools/record_traces.py` records them).

use super::{native, Report};
use fxir::formats::python::literal::parse_literal;
use fxir::formats::python::print::code;
use fxir::formats::python::trace::{trace_code, TraceOptions};
use fxir::ir::{Attribute, Dtype, ErrorKind, ModuleTree, NewModule, Tensor, TensorKind, TensorMeta};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

#[derive(serde::Deserialize)]
struct Case {
    name: String,
    text: String,
    members: Option<Vec<Member>>,
    code: Option<String>,
    error: Option<String>,
}

#[derive(serde::Deserialize)]
struct Member {
    path: String,
    r#type: Option<String>,
    parameter: Option<Vec<i64>>,
    buffer: Option<Vec<i64>>,
    dtype: Option<String>,
    same: Option<String>,
    value: Option<String>,
}

/// What torch refuses, or records otherwise, and why fxir does not follow: `tests/cases/deviations.md`.
const DEVIATIONS: [(&str, &str); 0] = [];

pub fn run(folder: &Path, report: &mut Report) {
    let Ok(text) = std::fs::read_to_string(folder.join("trace.jsonl")) else { return };
    let deviations: BTreeMap<&str, &str> = DEVIATIONS.into_iter().collect();
    for line in text.lines() {
        let outcome = serde_json::from_str::<Case>(line).map_err(|error| error.to_string());
        let name = outcome.as_ref().map_or_else(|_| line.to_owned(), |case| case.name.clone());
        let expected = deviations.get(name.as_str()).copied();
        report.case("trace", &name, outcome.and_then(|case| check(&case, expected)));
    }
}

fn check(case: &Case, deviation: Option<&str>) -> Result<(), String> {
    let members = case.members.as_ref().map(|members| module(members)).transpose()?;
    let members = members.as_ref().map(|tree| (tree, tree.root()));
    let traced = trace_code(&case.text, &TraceOptions { members, ..TraceOptions::default() }, Vec::new());
    match (traced, deviation.or(case.code.as_deref())) {
        (Ok(tree), Some(expected)) => {
            native::round_trip(&tree)?;
            let printed = code(&tree, tree.root()).map_err(|error| error.to_string())?;
            match body(&printed) == body(expected) {
                true => Ok(()),
                false => Err(format!("recorded:\n{}\nfound:\n{}", body(expected), body(&printed))),
            }
        }
        (Ok(tree), None) => {
            let printed = code(&tree, tree.root()).map_err(|error| error.to_string())?;
            Err(format!("torch: {}, found:\n{printed}", case.error.as_deref().unwrap_or_default()))
        }
        (Err(error), Some(_)) => Err(error.to_string()),
        (Err(error), None) if error.kind == ErrorKind::Parse && error.place.is_some() => Ok(()),
        (Err(error), None) => Err(format!("an error without a place: {error}")),
    }
}

/// The code without blank lines at its ends.
fn body(code: &str) -> &str {
    code.trim_matches('\n')
}

fn module(members: &[Member]) -> Result<ModuleTree, String> {
    let mut tree = ModuleTree::new("torch.nn.Module");
    let root = tree.root();
    let mut tensors: BTreeMap<&str, Arc<Tensor>> = BTreeMap::new();
    for member in members {
        let path = member.path.as_str();
        if let Some(type_name) = &member.r#type {
            tree.add_module(root, path, type_name, NewModule::Leaf).map_err(|error| error.to_string())?;
            continue;
        }
        let attribute = match (&member.value, member.parameter.as_ref(), member.buffer.as_ref()) {
            (Some(value), _, _) => {
                Attribute::Value(parse_literal(value, tree.symbols()).ok_or_else(|| format!("{path}: {value}"))?)
            }
            (None, parameter, buffer) => {
                let shape = parameter.or(buffer).cloned().unwrap_or_default();
                let dtype = member.dtype.as_deref().and_then(Dtype::from_name).ok_or("no dtype")?;
                let kind = if parameter.is_some() { TensorKind::Parameter } else { TensorKind::Buffer };
                let tensor = match member.same.as_deref().and_then(|same| tensors.get(same)) {
                    Some(tensor) => tensor.clone(),
                    None => Arc::new(
                        Tensor::without_bytes(TensorMeta::new(dtype, shape)).map_err(|error| error.to_string())?,
                    ),
                };
                tensors.insert(path, tensor.clone());
                Attribute::Tensor(kind, tensor)
            }
        };
        tree.set_attribute(root, path, attribute).map_err(|error| error.to_string())?;
    }
    Ok(tree)
}
