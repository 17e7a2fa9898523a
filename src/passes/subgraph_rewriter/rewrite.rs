//! A rewrite that is computed and not applied yet.

use super::acyclic;
use super::apply::{self, Applied, Planned};
use super::callbacks::RewriteCallbacks;
use super::replacement::Replacement;
use super::{wide, Replaced};
use crate::ir::error::counted;
use crate::ir::tensor::Scalar;
use crate::ir::{lint, Argument, Error, ErrorKind, Meta, ModuleId, ModuleTree, Result, Value};
use crate::passes::new_members::{MemberConflict, NewMembers};
use crate::passes::subgraph_matcher::{match_patterns, Binding, FoundByRules, MatchOptions, Matches, Pattern};
use std::sync::Arc;

/// A pattern, and what takes its place.
#[derive(Clone, Copy, Debug)]
pub struct Rule<'a> {
    /// What is looked for.
    pub pattern: &'a Pattern<'a>,
    /// How it is compared; `match_output` and `remove_overlapping_matches` mean nothing here.
    pub options: MatchOptions,
    /// What takes its place; none: [`RewriteCallbacks::replacement`] is asked for each match.
    pub replacement: Option<(&'a ModuleTree, ModuleId)>,
    /// What becomes of a member of the replacement when the module has another of its name.
    pub members: MemberConflict,
}

impl<'a> Rule<'a> {
    /// With no replacement, and the defaults.
    pub fn new(pattern: &'a Pattern<'a>) -> Rule<'a> {
        let (options, members) = Default::default();
        Rule { pattern, options, replacement: None, members }
    }
}

/// What is computed. It holds for the module it was computed on, as long as that does not change.
#[derive(Debug)]
pub struct Rewrite {
    module: ModuleId,
    shapes: Vec<PatternShape>,
    matches: Vec<Matches>,
    /// All matches in the order in which they are replaced.
    planned: Vec<Planned>,
    replacements: Vec<Replacement>,
    members: NewMembers,
}

/// What is needed of a pattern once it was matched.
#[derive(Debug)]
pub(super) struct PatternShape {
    pub(super) placeholders: Vec<usize>,
    /// Where the returned nodes stand that are replaced: all but placeholders.
    pub(super) returning: Vec<usize>,
    pub(super) anchors: Vec<usize>,
    /// Where the nodes stand that go: all but placeholders and the output.
    pub(super) compute: Vec<usize>,
    pub(super) has_several_outputs: bool,
}

impl Rewrite {
    /// Finds the matches and prepares everything; changes nothing. At each node the rules are tried in
    /// their order, and no two matches share a node.
    pub fn compute(
        tree: &ModuleTree,
        module: ModuleId,
        rules: &[Rule<'_>],
        callbacks: &mut dyn RewriteCallbacks,
    ) -> Result<Rewrite> {
        lint::lint_edits(tree, module)?;
        let graph = tree.graph(module)?;
        let mut plan = Plan::new(tree, module, rules);
        for rule in 0..rules.len() {
            plan.check_own_replacement(rule)?;
        }
        let options: Vec<MatchOptions> = rules
            .iter()
            .map(|rule| MatchOptions { match_output: false, remove_overlapping_matches: true, ..rule.options })
            .collect();
        let patterns: Vec<_> = rules.iter().map(|rule| rule.pattern).zip(&options).collect();
        let mut found = match_patterns(tree, module, &patterns, callbacks)?;
        acyclic::drop_matches_that_close_a_cycle(graph, &plan.shapes, &mut found);
        plan.choose_replacements(&mut found, callbacks)?;
        let made = |planned: &Planned| plan.replacements[planned.replacement as usize].nodes.len();
        graph.check_room(plan.planned.iter().map(made).fold(0, usize::saturating_add))?;
        let Plan { shapes, planned, replacements, members, .. } = plan;
        Ok(Rewrite { module, shapes, matches: found.matches, planned, replacements, members })
    }

    /// The matches of each rule that will be replaced.
    pub fn matches(&self) -> &[Matches] {
        &self.matches
    }

    /// Whether there is nothing to replace.
    pub fn is_empty(&self) -> bool {
        self.planned.is_empty()
    }

    /// Changes the module it was computed on. Tells what each rule did.
    pub fn apply(self, tree: &mut ModuleTree) -> Result<Vec<Replaced>> {
        self.apply_with(tree, wide::MANY).map(|(replaced, _)| replaced)
    }

    pub(super) fn apply_with(self, tree: &mut ModuleTree, many: usize) -> Result<Applied> {
        let Rewrite { module, shapes, matches, planned, replacements, members } = self;
        if planned.is_empty() {
            let nothing = |(shape, matches): (PatternShape, Matches)| Replaced {
                matches,
                starts: vec![0],
                nodes: Vec::new(),
                anchors: shape.anchors,
                placeholders: shape.placeholders,
            };
            return Ok((shapes.into_iter().zip(matches).map(nothing).collect(), Vec::new()));
        }
        members.add(tree, module)?;
        let replaced = apply::apply(tree.graph_mut(module)?, matches, shapes, &planned, &replacements, many)?;
        tree.delete_all_unused_submodules(module)?;
        debug_assert_eq!(lint::lint(tree, module), Ok(()));
        Ok(replaced)
    }
}

/// What is planned so far.
struct Plan<'a> {
    tree: &'a ModuleTree,
    module: ModuleId,
    rules: &'a [Rule<'a>],
    shapes: Vec<PatternShape>,
    planned: Vec<Planned>,
    replacements: Vec<Replacement>,
    /// Where each rule's own replacement is, once a match needs it.
    own: Vec<Option<u32>>,
    /// The last replacement that a callback gave: many give the same again and again.
    last: Option<(usize, Arc<ModuleTree>, ModuleId, u32)>,
    members: NewMembers,
}

impl<'a> Plan<'a> {
    fn new(tree: &'a ModuleTree, module: ModuleId, rules: &'a [Rule<'a>]) -> Self {
        let shape = |rule: &Rule<'_>| PatternShape {
            placeholders: rule.pattern.placeholders().to_vec(),
            returning: rule
                .pattern
                .returning()
                .iter()
                .copied()
                .filter(|it| !is_placeholder(rule.pattern, *it))
                .collect(),
            anchors: rule.pattern.anchors(false),
            compute: rule.pattern.compute_nodes().collect(),
            has_several_outputs: rule.pattern.returning().len() > 1,
        };
        Plan {
            tree,
            module,
            rules,
            shapes: rules.iter().map(shape).collect(),
            planned: Vec::new(),
            replacements: Vec::new(),
            own: vec![None; rules.len()],
            last: None,
            members: NewMembers::default(),
        }
    }

    /// A replacement that does not fit is refused though nothing matches.
    fn check_own_replacement(&mut self, rule: usize) -> Result<()> {
        let Some(replacement) = self.rules[rule].replacement else { return Ok(()) };
        self.prepare(rule, replacement)?;
        NewMembers::check(self.tree, self.module, replacement, self.rules[rule].members)
    }

    /// A replacement for matches of a rule, its members left aside.
    fn prepare(&self, rule: usize, replacement: (&ModuleTree, ModuleId)) -> Result<Replacement> {
        let pattern = self.rules[rule].pattern;
        let mut prepared = Replacement::new(replacement.0.graph(replacement.1)?, self.tree.symbols())?;
        let counts = |pattern: usize, replacement: usize, what: &str| {
            let message = format!("the pattern has {} and the replacement {replacement}", counted(pattern, what));
            if pattern == replacement {
                Ok(())
            } else {
                Err(Error::new(ErrorKind::InvalidArgument, message))
            }
        };
        counts(pattern.placeholders().len(), prepared.placeholders.len(), "placeholder")?;
        counts(pattern.returning().len(), prepared.returned.len(), "returned node")?;
        drop_returned_placeholders(pattern, &mut prepared)?;
        Ok(prepared)
    }

    /// The same, with its members planned: its place among the replacements.
    fn add(&mut self, rule: usize, replacement: (&ModuleTree, ModuleId)) -> Result<u32> {
        let mut prepared = self.prepare(rule, replacement)?;
        let renamed = self.members.plan(self.tree, self.module, replacement, self.rules[rule].members)?;
        if !renamed.is_empty() {
            prepared.rename_members(&renamed);
        }
        self.replacements.push(prepared);
        Ok(self.replacements.len() as u32 - 1)
    }

    /// What takes the place of each match; matches without go.
    fn choose_replacements(&mut self, found: &mut FoundByRules, callbacks: &mut dyn RewriteCallbacks) -> Result<()> {
        let mut next = vec![0; self.rules.len()];
        let mut kept = vec![0; self.rules.len()];
        let mut keep = Vec::with_capacity(found.order.len());
        for &rule in &found.order {
            let at = rule as usize;
            let Some(bindings) = found.matches[at].get(next[at]) else { continue };
            next[at] += 1;
            let replacement = self.replacement(at, bindings, callbacks)?;
            keep.push(replacement.is_some());
            if let Some(replacement) = replacement {
                self.planned.push(Planned { rule, index: kept[at], replacement });
                kept[at] += 1;
            }
        }
        if self.planned.len() < found.order.len() {
            found.retain(&keep);
        }
        Ok(())
    }

    fn replacement(
        &mut self,
        rule: usize,
        bindings: &[Binding],
        callbacks: &mut dyn RewriteCallbacks,
    ) -> Result<Option<u32>> {
        let has_meta = callbacks.has_meta_functions(rule);
        if let Some(own) = self.rules[rule].replacement {
            if has_meta {
                return self.with_meta(rule, own, bindings, callbacks).map(Some);
            }
            if self.own[rule].is_none() {
                self.own[rule] = Some(self.add(rule, own)?);
            }
            return Ok(self.own[rule]);
        }
        let Some((tree, module)) = callbacks.replacement(rule, self.tree, bindings)? else { return Ok(None) };
        if has_meta {
            return self.with_meta(rule, (&tree, module), bindings, callbacks).map(Some);
        }
        match &self.last {
            Some((of, last, id, at)) if *of == rule && Arc::ptr_eq(last, &tree) && *id == module => Ok(Some(*at)),
            _ => {
                let at = self.add(rule, (&tree, module))?;
                self.last = Some((rule, tree, module, at));
                Ok(Some(at))
            }
        }
    }

    /// A replacement for one match alone, whose nodes are told what they yield.
    fn with_meta(
        &mut self,
        rule: usize,
        replacement: (&ModuleTree, ModuleId),
        bindings: &[Binding],
        callbacks: &mut dyn RewriteCallbacks,
    ) -> Result<u32> {
        // Refused before the caller's functions see it.
        self.prepare(rule, replacement)?;
        let mut copy = replacement.0.clone_subtree(replacement.1)?;
        let root = copy.root();
        let graph = self.tree.graph(self.module)?;
        let placeholders: Vec<_> = copy.graph(root)?.placeholders().collect();
        for (placeholder, &index) in placeholders.into_iter().zip(&self.shapes[rule].placeholders) {
            let meta = match &bindings[index] {
                Binding::Node { node, .. } => {
                    crate::ir::transfer_meta(graph[*node].meta(), graph.symbols(), copy.symbols())?
                }
                Binding::Argument(argument) => Meta { value: value_of(argument), ..Meta::default() },
                Binding::None => Meta::default(),
            };
            copy.graph_mut(root)?.set_all_meta(placeholder, meta)?;
        }
        let copy = callbacks.fill_in_meta(rule, copy)?;
        self.add(rule, (&copy, copy.root()))
    }
}

/// What a placeholder yields that stands for a literal.
fn value_of(argument: &Argument) -> Option<Arc<Value>> {
    let value = match argument {
        Argument::None => Value::None,
        Argument::Bool(value) => Value::Scalar(Scalar::Bool(*value)),
        Argument::Int(value) => Value::Scalar(Scalar::Int(*value)),
        Argument::Float(value) => Value::Scalar(Scalar::Float(*value)),
        _ => return None,
    };
    Some(Arc::new(value))
}

fn is_placeholder(pattern: &Pattern<'_>, index: usize) -> bool {
    pattern.placeholders().binary_search(&index).is_ok()
}

/// A placeholder that the pattern returns stays what it is, so the replacement has to return the same
/// one: anything else would take the place of what it is itself made from, and use itself.
fn drop_returned_placeholders(pattern: &Pattern<'_>, replacement: &mut Replacement) -> Result<()> {
    let mut returned = Vec::new();
    for (index, value) in pattern.returning().iter().zip(std::mem::take(&mut replacement.returned)) {
        let Ok(position) = pattern.placeholders().binary_search(index) else {
            returned.push(value);
            continue;
        };
        let same = replacement.placeholders.get(position);
        if !matches!((same, &value), (Some(&slot), Argument::Node(node)) if node.slot() == slot) {
            let message = "the pattern returns one of its placeholders, and the replacement does not return the same";
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
    }
    replacement.returned = returned;
    Ok(())
}
