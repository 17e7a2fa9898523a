//! `passes.jsonl` and `random.jsonl`: calls of torch.fx's passes, with what they gave.

use crate::text::same;
use crate::{native, Report};
use fxir::formats::python::print::{code, statement};
use fxir::formats::python::read::read_into;
use fxir::formats::python::repr::repr;
use fxir::ir::lint::lint;
use fxir::ir::{Attribute, Dtype, Graph, ModuleId, ModuleTree, NewModule, NodeId, Op, Tensor, TensorKind, TensorMeta};
use fxir::passes::dead_code::eliminate_dead_code;
use fxir::passes::fuse::{fuse_as_graphmodule, FuseOptions};
use fxir::passes::insert::{insert_subgm, TakenName};
use fxir::passes::legalize::legalize;
use fxir::passes::partition::validate_partition;
use fxir::passes::replace_target::replace_target_nodes_with;
use fxir::passes::subgraph_matcher::{match_pattern, Binding, MatchOptions, ModuleMatching, Pattern};
use fxir::passes::subgraph_rewriter::replace_pattern;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

type Outcome = Result<(), String>;

pub fn run(folder: &Path, report: &mut Report) {
    for file in ["passes", "random"] {
        let Ok(text) = std::fs::read_to_string(folder.join(format!("{file}.jsonl"))) else { continue };
        for (number, line) in text.lines().enumerate() {
            let case: Json = match serde_json::from_str(line) {
                Ok(case) => case,
                Err(error) => {
                    report.case(file, &format!("line {}", number + 1), Err(error.to_string()));
                    continue;
                }
            };
            let api = text_of(&case, "api");
            let name = format!("line {}, {}", number + 1, text_of(&case, "test"));
            let outcome = match api {
                "match" => matches(&case),
                "replace_pattern" => replace(&case),
                "legalize_graph" => legalized(&case),
                "eliminate_dead_code" => dead_code(&case),
                "replace_target_nodes_with" => targets(&case),
                "validate_partition" => validated(&case),
                "fuse_as_graphmodule" => fused(&case),
                "fuse_by_partitions" => fused_all(&case),
                "insert_subgm" => inserted(&case),
                _ => continue, // a pass that is not built yet
            };
            report.case(&format!("{file}/{api}"), &name, outcome);
            printed_again(&case, file, &name, report);
        }
    }
}

/// Every graph that a case holds is read and printed, the same to the byte; but those whose order was
/// broken on purpose.
fn printed_again(case: &Json, file: &str, name: &str, report: &mut Report) {
    for key in ["before", "after", "pattern", "replacement", "sub"] {
        let Some(text) = case[key].as_str().filter(|text| text.starts_with("def ") || text.contains("\ndef ")) else {
            continue;
        };
        let outcome = module(text, &case["modules"])
            .and_then(|tree| same(text, &code(&tree, tree.root()).map_err(|error| error.to_string())?));
        report.case(&format!("{file}/code"), &format!("{name}, {key}"), outcome);
    }
}

fn text_of<'a>(case: &'a Json, key: &str) -> &'a str {
    case[key].as_str().unwrap_or_default()
}

fn strings(list: &Json) -> Vec<&str> {
    list.as_array().map(|items| items.iter().filter_map(Json::as_str).collect()).unwrap_or_default()
}

/// A module of that code, with the members that the case tells of.
fn module(text: &str, members: &Json) -> Result<ModuleTree, String> {
    let mut tree = ModuleTree::new("GraphModule");
    let root = tree.root();
    for (path, told) in members.as_object().into_iter().flatten() {
        if let Some(type_name) = told["module"].as_str() {
            tree.add_module(root, path, type_name, NewModule::Leaf).map_err(|error| error.to_string())?;
        } else if let Some(dtype) = told["tensor"].as_str().and_then(Dtype::from_name) {
            let sizes = told["shape"].as_array().into_iter().flatten().filter_map(Json::as_i64);
            let tensor = Tensor::without_bytes(TensorMeta::new(dtype, sizes)).map_err(|error| error.to_string())?;
            let attribute = Attribute::Tensor(TensorKind::Parameter, Arc::new(tensor));
            tree.set_attribute(root, path, attribute).map_err(|error| error.to_string())?;
        }
    }
    read_into(&mut tree, root, text).map_err(|error| format!("{error}\n{text}"))?;
    native::round_trip(&tree)?;
    Ok(tree)
}

fn graph(tree: &ModuleTree) -> &Graph {
    tree.graph(tree.root()).expect("what was read is a graph module")
}

fn find(tree: &ModuleTree, name: &str) -> Result<NodeId, String> {
    graph(tree).find_node(name).ok_or_else(|| format!("there is no node {name}"))
}

fn find_all(tree: &ModuleTree, names: &Json) -> Result<Vec<NodeId>, String> {
    strings(names).into_iter().map(|name| find(tree, name)).collect()
}

/// The same nodes with the same names and arguments, ours in a legal order.
fn same_but_order(expected: &str, members: &Json, tree: &ModuleTree) -> Outcome {
    lint(tree, tree.root()).map_err(|error| error.to_string())?;
    let lines = |tree: &ModuleTree| -> Result<BTreeSet<String>, String> {
        let graph = graph(tree);
        let line = |node| match graph[node].op() {
            Op::Placeholder => Ok(format!("{} = placeholder", graph.target(node))),
            _ => statement(graph, node).map_err(|error| error.to_string()),
        };
        graph.nodes().map(line).collect()
    };
    let (expected, ours) = (lines(&module(expected, members)?)?, lines(tree)?);
    if expected == ours {
        return Ok(());
    }
    let missing: Vec<_> = expected.difference(&ours).collect();
    let added: Vec<_> = ours.difference(&expected).collect();
    Err(format!("missing {missing:#?}, instead {added:#?}"))
}

fn options(case: &Json) -> MatchOptions {
    let flag = |key: &str, default| case["options"][key].as_bool().unwrap_or(default);
    MatchOptions {
        match_output: flag("match_output", false),
        match_placeholder: flag("match_placeholder", false),
        remove_overlapping_matches: flag("remove_overlapping_matches", true),
        ignore_literals: flag("ignore_literals", false),
        modules: ModuleMatching::Target,
        ..MatchOptions::default()
    }
}

/// What a binding is, as the recordings spell it.
fn spelled(tree: &ModuleTree, binding: &Binding) -> Option<String> {
    match binding {
        Binding::None => None,
        Binding::Node { name, .. } => Some(name.text(tree.symbols()).to_owned()),
        Binding::Argument(argument) => Some(repr(argument, graph(tree))),
    }
}

/// Compares the maps of all matches with what was recorded.
fn same_maps(case: &Json, pattern: &Pattern<'_>, tree: &ModuleTree, found: &[Vec<Binding>]) -> Outcome {
    let recorded = case["matches"].as_array().cloned().unwrap_or_default();
    if recorded.len() != found.len() {
        return Err(format!("{} matches instead of {}", found.len(), recorded.len()));
    }
    let pattern_graph = pattern.graph();
    for (number, (recorded, bindings)) in recorded.iter().zip(found).enumerate() {
        let ours: BTreeMap<String, String> = pattern
            .nodes()
            .iter()
            .zip(bindings)
            .filter(|(&node, _)| pattern_graph[node].op() != Op::Output)
            .filter_map(|(&node, binding)| Some((pattern_graph.name(node).to_owned(), spelled(tree, binding)?)))
            .collect();
        let theirs: BTreeMap<String, String> = recorded["nodes_map"]
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, _)| name.as_str() != "output")
            .map(|(name, node)| (name.clone(), node.as_str().map_or_else(|| node.to_string(), str::to_owned)))
            .collect();
        // Where a later match replaced what a placeholder was bound to, torch's map names a node that
        // is gone, and ours the one that is there (tests/cases/deviations.md).
        let is_gone =
            |name: &String| name.starts_with(|c: char| c.is_alphabetic()) && graph(tree).find_node(name).is_none();
        let is_right = |(key, value): (&String, &String)| {
            ours.get(key).is_some_and(|own| own == value || (is_gone(value) && graph(tree).find_node(own).is_some()))
        };
        if ours.len() != theirs.len() || !theirs.iter().all(is_right) {
            return Err(format!("match {number} is {ours:?} instead of {theirs:?}"));
        }
    }
    Ok(())
}

fn matches(case: &Json) -> Outcome {
    let tree = module(text_of(case, "before"), &case["modules"])?;
    let pattern_tree = module(text_of(case, "pattern"), &case["pattern_modules"])?;
    let options = options(case);
    let pattern = Pattern::new(&pattern_tree, pattern_tree.root()).map_err(|error| error.to_string())?;
    let found = match_pattern(&tree, tree.root(), &pattern, &options, &mut ()).map_err(|error| error.to_string())?;
    let bindings: Vec<Vec<Binding>> = found.iter().map(<[Binding]>::to_vec).collect();
    same_maps(case, &pattern, &tree, &bindings)?;
    let name = |index: &usize| pattern.graph().name(pattern.nodes()[*index]).to_owned();
    let anchors: Vec<String> = pattern.anchors(options.match_output).iter().map(name).collect();
    for (recorded, bindings) in case["matches"].as_array().into_iter().flatten().zip(&bindings) {
        let at = |indexes: &[usize]| -> Vec<String> {
            indexes.iter().filter_map(|&index| spelled(&tree, &bindings[index])).collect()
        };
        for (key, ours) in [
            ("anchors", anchors.clone()),
            ("placeholders", at(pattern.placeholders())),
            ("returning", at(pattern.returning())),
        ] {
            let theirs = strings(&recorded[key]);
            if !recorded[key].is_null() && ours != theirs {
                return Err(format!("{key} are {ours:?} instead of {theirs:?}"));
            }
        }
    }
    Ok(())
}

fn replace(case: &Json) -> Outcome {
    let mut tree = module(text_of(case, "before"), &case["modules"])?;
    let root = tree.root();
    let pattern = module(text_of(case, "pattern"), &case["pattern_modules"])?;
    let replacement = module(text_of(case, "replacement"), &case["replacement_modules"])?;
    let options = options(case);
    let ours = replace_pattern(
        &mut tree,
        root,
        (&pattern, pattern.root()),
        (&replacement, replacement.root()),
        &options,
        &mut (),
    );
    let replaced = match ours {
        Err(_) if !case["error"].is_null() => return Ok(()),
        Err(error) => return Err(error.to_string()),
        Ok(_) if !case["error"].is_null() => return Err(format!("it is not refused: {}", case["error"])),
        Ok(replaced) => replaced,
    };
    let prepared = Pattern::new(&pattern, pattern.root()).map_err(|error| error.to_string())?;
    let bindings: Vec<Vec<Binding>> = replaced.matches.iter().map(<[Binding]>::to_vec).collect();
    same_maps(case, &prepared, &tree, &bindings)?;
    for (number, recorded) in case["matches"].as_array().into_iter().flatten().enumerate() {
        let names: Vec<&str> =
            replaced.replacements(number).unwrap_or_default().iter().map(|&node| graph(&tree).name(node)).collect();
        let theirs = strings(&recorded["replacements"]);
        if names != theirs {
            return Err(format!("the replacements of match {number} are {names:?} instead of {theirs:?}"));
        }
    }
    same(text_of(case, "after"), &code(&tree, root).map_err(|error| error.to_string())?)
}

fn legalized(case: &Json) -> Outcome {
    let mut tree = module(text_of(case, "before"), &case["modules"])?;
    let root = tree.root();
    let outcome = legalize(tree.graph_mut(root).map_err(|error| error.to_string())?);
    match (outcome, case["error"].is_null()) {
        (Ok(()), true) => same_but_order(text_of(case, "after"), &case["modules"], &tree),
        (Err(_), false) => Ok(()),
        (outcome, _) => Err(format!("{outcome:?}, torch: {}", case["error"])),
    }
}

fn dead_code(case: &Json) -> Outcome {
    let mut tree = module(text_of(case, "before"), &case["modules"])?;
    let root = tree.root();
    let impure = find_all(&tree, &case["impure"])?;
    let mut is_impure = |_: &ModuleTree, _: ModuleId, node: NodeId| Ok(impure.contains(&node));
    let erased = eliminate_dead_code(&mut tree, root, Some(&mut is_impure)).map_err(|error| error.to_string())?;
    if case["changed"].as_bool() != Some(erased > 0) {
        return Err(format!("{erased} nodes were erased, torch: {}", case["changed"]));
    }
    same(text_of(case, "after"), &code(&tree, root).map_err(|error| error.to_string())?)
}

fn targets(case: &Json) -> Outcome {
    let mut tree = module(text_of(case, "before"), &case["modules"])?;
    let root = tree.root();
    let pair = |key: &str| match strings(&case[key]).as_slice() {
        [op, target] => Op::from_name(op).map(|op| (op, target.to_string())),
        _ => None,
    };
    let (Some(old), Some(new)) = (pair("old"), pair("new")) else { return Err("no op and target".into()) };
    replace_target_nodes_with(&mut tree, root, old.0, &old.1, new.0, &new.1).map_err(|error| error.to_string())?;
    same_but_order(text_of(case, "after"), &case["modules"], &tree)
}

fn validated(case: &Json) -> Outcome {
    let tree = module(text_of(case, "before"), &case["modules"])?;
    let nodes = find_all(&tree, &case["partition"])?;
    let verdict = validate_partition(graph(&tree), &nodes).map_err(|error| error.to_string())?;
    match case["result"].as_bool() {
        Some(theirs) if theirs == verdict => Ok(()),
        theirs => Err(format!("{verdict} instead of {theirs:?}")),
    }
}

fn fused(case: &Json) -> Outcome {
    let mut tree = module(text_of(case, "before"), &case["modules"])?;
    let root = tree.root();
    let nodes = find_all(&tree, &case["nodes"])?;
    let ours = fuse_as_graphmodule(&mut tree, root, &nodes, text_of(case, "name"), &FuseOptions::default());
    let made = match ours {
        Err(_) if !case["error"].is_null() => return Ok(()),
        Err(error) => return Err(error.to_string()),
        Ok(_) if !case["error"].is_null() => return Err(format!("it is not refused: {}", case["error"])),
        Ok(made) => made,
    };
    let inputs: Vec<&str> = made.inputs.iter().map(|&node| graph(&tree).name(node)).collect();
    if inputs != strings(&case["result"]["inputs"]) {
        return Err(format!("the inputs are {inputs:?} instead of {}", case["result"]["inputs"]));
    }
    if made.outputs.len() != strings(&case["result"]["outputs"]).len() {
        return Err(format!("{} outputs instead of {}", made.outputs.len(), case["result"]["outputs"]));
    }
    let sub = tree.clone_subtree(made.module).map_err(|error| error.to_string())?;
    same_but_order(text_of(&case["result"], "code"), &case["modules"], &sub)
}

fn fused_all(case: &Json) -> Outcome {
    let mut tree = module(text_of(case, "before"), &case["modules"])?;
    let root = tree.root();
    for (number, partition) in case["partitions"].as_array().into_iter().flatten().enumerate() {
        let fused = find_all(&tree, partition).and_then(|nodes| {
            let name = format!("fused_{number}");
            fuse_as_graphmodule(&mut tree, root, &nodes, &name, &FuseOptions::default())
                .map_err(|error| error.to_string())
        });
        match fused {
            Err(_) if !case["error"].is_null() => return Ok(()),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
    if !case["error"].is_null() {
        return Err(format!("it is not refused: {}", case["error"]));
    }
    same_but_order(text_of(case, "after"), &case["modules"], &tree)
}

fn inserted(case: &Json) -> Outcome {
    let mut tree = module(text_of(case, "before"), &case["modules"])?;
    let root = tree.root();
    let sub = module(text_of(case, "sub"), &case["modules"])?;
    let fragment = sub.copy_out(sub.root(), tree.symbols()).map_err(|error| error.to_string())?;
    let (inputs, outputs) = (find_all(&tree, &case["inputs"])?, find_all(&tree, &case["outputs"])?);
    insert_subgm(&mut tree, root, fragment, text_of(case, "name"), &inputs, &outputs, TakenName::Number)
        .map_err(|error| error.to_string())?;
    same_but_order(text_of(case, "after"), &case["modules"], &tree)
}
