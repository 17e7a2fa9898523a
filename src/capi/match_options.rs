//! How a pattern is compared with a graph: `fxir_match_options`.

use super::error::{Failure, Outcome};
use super::input;
use super::match_callbacks::{fxir_match_filter, fxir_match_literals, fxir_match_nodes, RuleCallbacks};
use super::status::*;
use crate::ir::{ModuleId, ModuleTree};
use crate::passes::subgraph_matcher::{AttributeMatching, MatchOptions, ModuleMatching, Pattern};
use std::ffi::c_void;
use std::ptr::null_mut;

/// Two calls of modules are alike when the types of the modules are the same.
pub const FXIR_MATCH_MODULES_BY_TYPE: i32 = 0;
/// Two calls of modules are alike when their paths are the same, as in torch 2.
pub const FXIR_MATCH_MODULES_BY_TARGET: i32 = 1;
/// Two calls of modules are alike when types and all settings that are no tensors are the same.
pub const FXIR_MATCH_MODULES_BY_TYPE_AND_SETTINGS: i32 = 2;

/// Two reads of tensors are alike whatever the tensors are; the graph's is the one that stays.
pub const FXIR_MATCH_ATTRIBUTES_BY_KIND: i32 = 0;
/// Two reads of tensors are alike when the tensors have the same dtype, shape and elements.
pub const FXIR_MATCH_ATTRIBUTES_BY_VALUE: i32 = 1;

/// How a pattern is compared with a graph. Make one with `fxir_match_options_init`; torch's options
/// of these names.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_match_options {
    /// `sizeof(fxir_match_options)`, set by `fxir_match_options_init`.
    pub struct_size: usize,
    /// 1: the pattern's output must be the graph's. A rewrite takes 0 only.
    pub match_output: i32,
    /// 1: a placeholder of the pattern is met by a placeholder only, not by anything.
    pub match_placeholder: i32,
    /// 1: keep matches that share a node; by default only the first is kept. A rewrite takes 0 only.
    pub keep_overlapping_matches: i32,
    /// 1: a literal is met by any literal, though never by a node.
    pub ignore_literals: i32,
    /// What makes two calls of modules alike: one of FXIR_MATCH_MODULES_*.
    pub modules: i32,
    /// What makes two reads of attributes alike: one of FXIR_MATCH_ATTRIBUTES_*.
    pub attributes: i32,
    /// Decides on each match; NULL keeps all.
    pub filter: fxir_match_filter,
    /// Passed to `filter`.
    pub filter_data: *mut c_void,
    /// 1: calls of different forms, `sum(x, 1)` and `sum(x, dim=1)`, are compared by the signatures of
    /// functions, methods and modules; those of `torch.ops` always are, by their schemas.
    pub normalize_args: i32,
    /// 1: the pattern's output ends in a dict from names to nodes, which is no output: it says what
    /// `fxir_matches_pattern_node` is to call nodes. torch.fx: `SubgraphMatcherWithNameNodeMap`.
    pub name_node_map: i32,
    /// Decides whether a node does what a node of the pattern does; NULL: the library does.
    pub nodes_are_equal: fxir_match_nodes,
    /// Passed to `nodes_are_equal`.
    pub nodes_data: *mut c_void,
    /// Decides whether a literal meets one of the pattern; NULL: the library does.
    pub literals_are_equal: fxir_match_literals,
    /// Passed to `literals_are_equal`.
    pub literals_data: *mut c_void,
}

/// Makes `*options` the defaults. Does nothing when it is NULL.
#[no_mangle]
pub unsafe extern "C" fn fxir_match_options_init(options: *mut fxir_match_options) {
    if !options.is_null() {
        options.write(defaults());
    }
}

fn defaults() -> fxir_match_options {
    fxir_match_options {
        struct_size: size_of::<fxir_match_options>(),
        match_output: 0,
        match_placeholder: 0,
        keep_overlapping_matches: 0,
        ignore_literals: 0,
        modules: FXIR_MATCH_MODULES_BY_TYPE,
        attributes: FXIR_MATCH_ATTRIBUTES_BY_KIND,
        filter: None,
        filter_data: null_mut(),
        normalize_args: 0,
        name_node_map: 0,
        nodes_are_equal: None,
        nodes_data: null_mut(),
        literals_are_equal: None,
        literals_data: null_mut(),
    }
}

/// The options as the passes take them, and whom to ask.
#[derive(Clone, Copy)]
pub(super) struct Matching {
    pub(super) options: MatchOptions,
    pub(super) callbacks: RuleCallbacks,
    has_name_node_map: bool,
}

impl Matching {
    pub(super) unsafe fn read(options: *const fxir_match_options) -> Outcome<Matching> {
        let given = match options.is_null() {
            true => defaults(),
            // SAFETY: passed on.
            false => unsafe { input::options(options, "options") }?,
        };
        let modules = match given.modules {
            FXIR_MATCH_MODULES_BY_TYPE => ModuleMatching::Type,
            FXIR_MATCH_MODULES_BY_TARGET => ModuleMatching::Target,
            FXIR_MATCH_MODULES_BY_TYPE_AND_SETTINGS => ModuleMatching::TypeAndSettings,
            other => return none_of("modules", other, "FXIR_MATCH_MODULES_*"),
        };
        let attributes = match given.attributes {
            FXIR_MATCH_ATTRIBUTES_BY_KIND => AttributeMatching::Kind,
            FXIR_MATCH_ATTRIBUTES_BY_VALUE => AttributeMatching::EqualTensors,
            other => return none_of("attributes", other, "FXIR_MATCH_ATTRIBUTES_*"),
        };
        let options = MatchOptions {
            match_output: input::flag(given.match_output, "options.match_output")?,
            match_placeholder: input::flag(given.match_placeholder, "options.match_placeholder")?,
            remove_overlapping_matches: !input::flag(
                given.keep_overlapping_matches,
                "options.keep_overlapping_matches",
            )?,
            ignore_literals: input::flag(given.ignore_literals, "options.ignore_literals")?,
            modules,
            attributes,
            normalize_args: input::flag(given.normalize_args, "options.normalize_args")?,
        };
        let callbacks = RuleCallbacks {
            filter: given.filter.map(|filter| (filter, given.filter_data)),
            nodes: given.nodes_are_equal.map(|equal| (equal, given.nodes_data)),
            literals: given.literals_are_equal.map(|equal| (equal, given.literals_data)),
            build: None,
        };
        let has_name_node_map = input::flag(given.name_node_map, "options.name_node_map")?;
        Ok(Matching { options, callbacks, has_name_node_map })
    }

    /// The same for a rewrite, which does not take all of them.
    pub(super) unsafe fn for_rewrite(options: *const fxir_match_options) -> Outcome<Matching> {
        // SAFETY: passed on.
        let matching = unsafe { Matching::read(options) }?;
        if matching.options.match_output || !matching.options.remove_overlapping_matches {
            let message = "a rewrite takes neither `match_output` nor `keep_overlapping_matches`";
            return Err(Failure::new(FXIR_INVALID_ARGUMENT, message));
        }
        Ok(matching)
    }

    pub(super) fn pattern<'a>(&self, tree: &'a ModuleTree, module: ModuleId) -> Outcome<Pattern<'a>> {
        match self.has_name_node_map {
            true => Ok(Pattern::with_name_node_map(tree, module)?),
            false => Ok(Pattern::new(tree, module)?),
        }
    }
}

fn none_of<T>(option: &str, number: i32, constants: &str) -> Outcome<T> {
    let message = format!("`options.{option}` is {number}, none of {constants}");
    Err(Failure::new(FXIR_INVALID_ARGUMENT, message))
}
