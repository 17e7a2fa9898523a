//! The suites `models/text`, `export/text`, `text` and `pt2_versions`: text that torch printed is read
//! and printed again, the same to the byte.

use crate::{native, Report};
use fxir::formats::python::print::{code, graph_text, readable, verbose_code, ReadableOptions};
use fxir::formats::python::read::read_code;
use fxir::ir::{Error, ModuleTree};
use std::fs;
use std::path::{Path, PathBuf};

pub fn run(folder: &Path, report: &mut Report) {
    for group in ["models", "export"] {
        for net in entries(&folder.join(group)) {
            for file in ["code.py", "readable.py", "core_aten_readable.py"] {
                let path = net.join(file);
                if path.is_file() {
                    check(report, &format!("{group}/text"), &path, true);
                }
            }
        }
    }
    for path in entries(&folder.join("text")) {
        let name = file_name(&path);
        match name.rsplit_once('.') {
            Some((_, "py")) => check(report, "text", &path, true),
            Some((stem, "txt")) if stem.ends_with("_graph") && !stem.starts_with("torch_logs") => {
                report.case("text", &name, listing(&path))
            }
            Some((stem, "txt")) if !stem.ends_with("_str") => report.case("text", &name, read(&path).map(|_| ())),
            Some((_, "ansi")) => report.case("text", &name, read(&path).map(|_| ())),
            _ => {}
        }
    }
    for path in entries(&folder.join("pt2_versions")) {
        let name = file_name(&path);
        if name.ends_with(".py") {
            // Of the printers only torch 2.9's is offered.
            check(report, "pt2_versions", &path, name.contains(".2.9."));
        }
    }
}

fn check(report: &mut Report, suite: &str, path: &Path, to_the_byte: bool) {
    let name = path.components().rev().take(2).map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>();
    let outcome = read(path).and_then(|tree| {
        let printed = print(path, &tree).map_err(|error| error.to_string())?;
        if to_the_byte {
            same(&fs::read_to_string(path).unwrap_or_default(), &printed)
        } else {
            let again = read_code(&printed).map_err(|error| error.to_string())?;
            same(&printed, &print(path, &again).map_err(|error| error.to_string())?)?;
            same(&graph_text_of(&tree), &graph_text_of(&again))
        }
    });
    report.case(suite, &name.into_iter().rev().collect::<Vec<_>>().join("/"), outcome);
}

fn print(path: &Path, tree: &ModuleTree) -> Result<String, Error> {
    let name = file_name(path);
    let stem = name.trim_end_matches(".py");
    let recorded = path.parent().and_then(Path::file_name).is_some_and(|folder| folder == "text");
    let both = !recorded
        || stem.ends_with("_both")
        || stem == "symbolic_shapeprop_readable"
        || stem.starts_with("makefx_symbolic");
    let options = ReadableOptions {
        include_stride: both || stem.ends_with("_stride"),
        include_device: both || stem.ends_with("_device"),
    };
    if stem == "makefx_verbose_python_code" {
        verbose_code(tree, tree.root(), ReadableOptions { include_stride: true, include_device: true })
    } else if stem.contains("readable") || stem.ends_with("_module") {
        readable(tree, tree.root(), options)
    } else {
        code(tree, tree.root())
    }
}

/// A listing is printed from the code beside it.
fn listing(path: &Path) -> Result<(), String> {
    let stem = file_name(path).trim_end_matches("_graph.txt").to_owned();
    let beside = |name: String| path.with_file_name(name);
    let code = [format!("{stem}_code.py"), format!("{stem}_graph_module_code.py")].map(beside);
    let code = code.iter().rev().find(|path| path.is_file()).ok_or("there is no code beside it")?;
    same(&fs::read_to_string(path).map_err(|error| error.to_string())?, &graph_text_of(&read(code)?))
}

fn graph_text_of(tree: &ModuleTree) -> String {
    tree.graph(tree.root()).map(graph_text).unwrap_or_default()
}

fn read(path: &Path) -> Result<ModuleTree, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let tree = read_code(&text).map_err(|error| format!("{error} at {:?}", error.place))?;
    native::round_trip(&tree)?;
    Ok(tree)
}

/// Whether two texts are the same but for blank lines around them.
pub fn same(expected: &str, printed: &str) -> Result<(), String> {
    let (expected, printed) = (stripped(expected), stripped(printed));
    if expected == printed {
        return Ok(());
    }
    let (mut left, mut right) = (expected.lines(), printed.lines());
    for number in 1.. {
        match (left.next(), right.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => return Err(format!("line {number} is\n  {b:?} instead of\n  {a:?}")),
        }
    }
    Err("the lines end in other ways".into())
}

fn stripped(text: &str) -> &str {
    let mut text = text.trim_end();
    while let Some((first, rest)) = text.split_once('\n') {
        if !first.trim().is_empty() {
            break;
        }
        text = rest;
    }
    text
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.sort();
    found
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
