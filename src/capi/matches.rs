//! What a pattern matched: `fxir_matches`.

use super::args::ArgsRecord;
use super::argument::fxir_arg;
use super::boundary;
use super::error::Outcome;
use super::graph::op_number;
use super::handle::{self, Handle};
use super::input;
use super::node::fxir_node;
use crate::ir::{Argument, Name, NodeId, Symbols};
use crate::passes::subgraph_matcher::{Binding, Matches, Pattern};
use crate::passes::subgraph_rewriter::Replaced;
use std::collections::HashMap;
use std::ffi::c_char;
use std::ptr::null;
use std::sync::{Arc, OnceLock};

/// The matches of one pattern in one graph, as they were when they were found: for each node of the
/// pattern the node of the graph that it met, with its name and op, or the argument that a
/// placeholder took. Once a match was replaced, the nodes that it met are gone, and their numbers
/// stale; what placeholders met is live. Freed with `fxir_matches_free`; everything that is read out
/// of it lives until then.
pub struct fxir_matches;

pub(super) struct MatchesRecord {
    pattern: Arc<PatternNodes>,
    symbols: Arc<Symbols>,
    found: Found,
    /// Made when somebody asks: all bindings of all matches, as arguments.
    arguments: OnceLock<ArgsRecord>,
}

/// The nodes of a pattern, and where each stands.
pub(super) struct PatternNodes {
    nodes: Vec<NodeId>,
    names: Vec<Name>,
    /// What a name-node map calls nodes.
    mapped: HashMap<String, usize>,
    /// Of the pattern's tree.
    symbols: Arc<Symbols>,
    places: HashMap<NodeId, usize>,
    anchors: Vec<usize>,
}

enum Found {
    /// One match that a filter is asked about.
    One(Vec<Binding>),
    All(Matches),
    Replaced(Replaced),
}

impl Handle for MatchesRecord {
    type C = fxir_matches;
    const WHAT: &'static str = "list of matches";
}

impl PatternNodes {
    pub(super) fn new(pattern: &Pattern<'_>, match_output: bool) -> Arc<PatternNodes> {
        let nodes = pattern.nodes().to_vec();
        let places = nodes.iter().enumerate().map(|(place, &node)| (node, place)).collect();
        let graph = pattern.graph();
        let names = nodes.iter().map(|&node| graph[node].name()).collect();
        let symbols = graph.symbols().clone();
        let mapped = pattern.names().iter().map(|&(name, place)| (name.to_owned(), place)).collect();
        Arc::new(PatternNodes { nodes, names, mapped, symbols, places, anchors: pattern.anchors(match_output) })
    }

    fn find(&self, name: &str) -> Option<NodeId> {
        let place = match self.mapped.get(name) {
            Some(&place) => place,
            None => {
                let name = Name::find(&self.symbols, name)?;
                self.names.iter().position(|&other| other == name)?
            }
        };
        self.nodes.get(place).copied()
    }

    pub(super) fn symbols(&self) -> &Arc<Symbols> {
        &self.symbols
    }
}

impl MatchesRecord {
    fn new(pattern: &Arc<PatternNodes>, symbols: &Arc<Symbols>, found: Found) -> MatchesRecord {
        MatchesRecord { pattern: pattern.clone(), symbols: symbols.clone(), found, arguments: OnceLock::new() }
    }

    pub(super) fn one(pattern: &Arc<PatternNodes>, symbols: &Arc<Symbols>, found: &[Binding]) -> MatchesRecord {
        MatchesRecord::new(pattern, symbols, Found::One(found.to_vec()))
    }

    pub(super) fn all(pattern: &Arc<PatternNodes>, symbols: &Arc<Symbols>, found: Matches) -> MatchesRecord {
        MatchesRecord::new(pattern, symbols, Found::All(found))
    }

    pub(super) fn replaced(pattern: &Arc<PatternNodes>, symbols: &Arc<Symbols>, found: Replaced) -> MatchesRecord {
        MatchesRecord::new(pattern, symbols, Found::Replaced(found))
    }

    fn len(&self) -> usize {
        match &self.found {
            Found::One(_) => 1,
            Found::All(found) => found.len(),
            Found::Replaced(found) => found.matches.len(),
        }
    }

    fn get(&self, index: usize) -> Option<&[Binding]> {
        match &self.found {
            Found::One(found) => (index == 0).then_some(found),
            Found::All(found) => found.get(index),
            Found::Replaced(found) => found.matches.get(index),
        }
    }

    fn place(&self, pattern_node: fxir_node) -> Option<usize> {
        self.pattern.places.get(&NodeId::from_bits(pattern_node)?).copied()
    }

    fn binding(&self, index: usize, pattern_node: fxir_node) -> Option<&Binding> {
        self.get(index)?.get(self.place(pattern_node)?)
    }

    fn argument(&self, index: usize, pattern_node: fxir_node) -> Option<&fxir_arg> {
        let binding = self.binding(index, pattern_node)?;
        if matches!(binding, Binding::None) {
            return None;
        }
        let arguments = self.arguments.get_or_init(|| {
            let all = (0..self.len()).filter_map(|index| self.get(index)).flatten();
            let all: Vec<Argument> = all.map(Binding::to_argument).collect();
            ArgsRecord::new(&self.symbols, &all, &[])
        });
        let place = self.pattern.nodes.len().checked_mul(index)?.checked_add(self.place(pattern_node)?)?;
        arguments.items().get(place)
    }
}

fn read<T>(matches: *const fxir_matches, none: T, get: impl FnOnce(&MatchesRecord) -> Option<T>) -> T
where
    T: Copy,
{
    boundary::value(none, || -> Outcome<T> { Ok(get(&*handle::get::<MatchesRecord>(matches)?).unwrap_or(none)) })
}

/// How many matches; 0 when `matches` is none.
#[no_mangle]
pub extern "C" fn fxir_matches_count(matches: *const fxir_matches) -> usize {
    read(matches, 0, |record| Some(record.len()))
}

/// The nodes of the pattern, in its order: fills `nodes` with as many as `capacity` allows and
/// returns how many there are. `nodes` may be NULL when `capacity` is 0.
#[no_mangle]
pub unsafe extern "C" fn fxir_matches_pattern_nodes(
    matches: *const fxir_matches,
    nodes: *mut fxir_node,
    capacity: usize,
) -> usize {
    read(matches, 0, |record| {
        Some(input::fill(nodes, capacity, record.pattern.nodes.iter().map(|node| node.to_bits())))
    })
}

/// The node of the pattern that has this name, to be asked for below: so nobody needs to keep the
/// numbers of a pattern's nodes. What a name-node map calls a node comes before nodes' own names. 0 when there is none. Looks at every node of the pattern.
#[no_mangle]
pub unsafe extern "C" fn fxir_matches_pattern_node(matches: *const fxir_matches, name: *const c_char) -> fxir_node {
    boundary::value(0, || {
        let name = input::text(name, "name")?;
        Ok(handle::get::<MatchesRecord>(matches)?.pattern.find(name).map_or(0, NodeId::to_bits))
    })
}

/// The nodes of the graph from which a match was found upwards: those that the pattern returns and
/// uses no further, in the pattern's order. Fills `nodes` with as many as `capacity` allows and
/// returns how many there are. After a rewrite they are gone, and their numbers stale. torch.fx:
/// `InternalMatch.anchors`.
#[no_mangle]
pub unsafe extern "C" fn fxir_matches_anchors(
    matches: *const fxir_matches,
    index: usize,
    nodes: *mut fxir_node,
    capacity: usize,
) -> usize {
    read(matches, 0, |record| {
        let found = record.get(index)?;
        let anchors = record.pattern.anchors.iter().filter_map(|&place| match found.get(place)? {
            Binding::Node { node, .. } => Some(node.to_bits()),
            _ => None,
        });
        Some(input::fill(nodes, capacity, anchors))
    })
}

/// The node of the graph that a node of the pattern met in the match at `index`; 0 when a placeholder
/// took something else (`fxir_matches_argument`), or there is no such match or pattern node.
#[no_mangle]
pub extern "C" fn fxir_matches_node(matches: *const fxir_matches, index: usize, pattern_node: fxir_node) -> fxir_node {
    read(matches, 0, |record| match record.binding(index, pattern_node)? {
        Binding::Node { node, .. } => Some(node.to_bits()),
        _ => None,
    })
}

/// The name that this node had when the match was found; NULL when it met none.
#[no_mangle]
pub extern "C" fn fxir_matches_node_name(
    matches: *const fxir_matches,
    index: usize,
    pattern_node: fxir_node,
) -> *const c_char {
    read(matches, null(), |record| match record.binding(index, pattern_node)? {
        Binding::Node { name, .. } => Some(record.symbols.text_with_nul(name.symbol(&record.symbols)).as_ptr().cast()),
        _ => None,
    })
}

/// The op (FXIR_OP_*) that this node had when the match was found; 0 when it met none.
#[no_mangle]
pub extern "C" fn fxir_matches_node_op(matches: *const fxir_matches, index: usize, pattern_node: fxir_node) -> i32 {
    read(matches, 0, |record| match record.binding(index, pattern_node)? {
        Binding::Node { op, .. } => Some(op_number(*op)),
        _ => None,
    })
}

/// What a node of the pattern met, as an argument: a node, or the literal, list or the like that a
/// placeholder took. NULL when there is nothing.
#[no_mangle]
pub extern "C" fn fxir_matches_argument(
    matches: *const fxir_matches,
    index: usize,
    pattern_node: fxir_node,
) -> *const fxir_arg {
    read(matches, null(), |record| record.argument(index, pattern_node).map(std::ptr::from_ref))
}

/// The nodes that took the place of the match at `index`, in the order of the replacement: fills
/// `nodes` with as many as `capacity` allows and returns how many there are. 0 for matches that were
/// only looked for. torch.fx: `ReplacedPatterns.replacements`.
#[no_mangle]
pub unsafe extern "C" fn fxir_matches_replacements(
    matches: *const fxir_matches,
    index: usize,
    nodes: *mut fxir_node,
    capacity: usize,
) -> usize {
    read(matches, 0, |record| match &record.found {
        Found::Replaced(found) => {
            Some(input::fill(nodes, capacity, found.replacements(index)?.iter().map(|node| node.to_bits())))
        }
        _ => None,
    })
}

/// Frees a list of matches. NULL and a dead handle do nothing.
#[no_mangle]
pub extern "C" fn fxir_matches_free(matches: *mut fxir_matches) {
    boundary::value((), || handle::free::<MatchesRecord>(matches));
}
