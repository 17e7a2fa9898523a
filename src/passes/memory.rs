//! Which nodes may share memory, and which of them write into it: what has to be known before one
//! value stands for another.
//!
//! Values are put in groups. Two of one group may share memory, directly or through what holds
//! them; two of different groups never do. When in doubt, they are in one group: the inputs of the
//! graph, the members of the module, and what a call of unknown code returns are in the group of
//! all that lies outside, and what an operator yields is in the group of its arguments, unless the
//! operator is known to make a new tensor.

use super::dead_code::IsImpure;
use super::purity::{Impurity, Purity, PurityOptions};
use super::side_effects::{acts_on_the_world, only_checks, MAKES_NEW};
use crate::ir::{Argument, Graph, ModuleId, ModuleTree, Node, NodeId, Op, Result, Value};

/// What a node does besides yielding a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    None,
    /// Something that no other value shows, such as drawing a random number, or taking an input.
    Own,
    /// It may write into all that shares memory with its arguments.
    Writes,
    /// It may change how everything after it is computed.
    World,
}

/// Of the nodes of one graph.
pub(super) struct Memory {
    effects: Vec<Effect>,
    groups: Vec<u32>,
    /// By group: the place in the order of the last node that may write into it, counted from 1.
    last_write: Vec<u32>,
    outside: u32,
}

impl Memory {
    /// `is_impure`, if there is one, decides alone which nodes do anything besides. It is asked about
    /// all but placeholders and the output, in their order.
    pub(super) fn of(tree: &ModuleTree, module: ModuleId, is_impure: Option<IsImpure<'_>>) -> Result<Memory> {
        let graph = tree.graph(module)?;
        let mut judge = Judge {
            tree,
            is_impure,
            module,
            graph,
            purity: Purity::new(tree, PurityOptions::default()),
            reads_members: graph.nodes().any(|node| graph[node].op() == Op::GetAttr),
        };
        let count = graph.slot_count();
        let mut effects = vec![Effect::None; count];
        let mut sets = Sets::new(count + 1);
        let outside = count;
        for node in graph.nodes() {
            let effect = judge.effect(node)?;
            effects[node.slot()] = effect;
            let writes = matches!(effect, Effect::Writes | Effect::World);
            let ends = graph[node].op() == Op::Output; // what is returned together need not share memory
            if ends || (!writes && makes_new(graph, node)) {
                continue;
            }
            for input in graph.input_nodes(node) {
                sets.join(node.slot(), input.slot());
            }
            if comes_from_outside(graph, node) {
                sets.join(node.slot(), outside);
            }
        }
        let groups: Vec<u32> = (0..=count).map(|at| sets.find(at) as u32).collect();
        let mut last_write = vec![0; count + 1];
        for (place, node) in graph.nodes().enumerate() {
            if matches!(effects[node.slot()], Effect::Writes | Effect::World) {
                last_write[groups[node.slot()] as usize] = place as u32 + 1;
            }
        }
        Ok(Memory { effects, outside: groups[count], groups, last_write })
    }

    pub(super) fn effect(&self, node: NodeId) -> Effect {
        self.effects.get(node.slot()).copied().unwrap_or(Effect::World)
    }

    pub(super) fn group(&self, node: NodeId) -> u32 {
        self.groups.get(node.slot()).copied().unwrap_or(self.outside)
    }

    /// The place, counted from 1, of the last node that may write into a group; 0: nothing does.
    pub(super) fn last_write(&self, group: u32) -> u32 {
        self.last_write.get(group as usize).copied().unwrap_or(u32::MAX)
    }

    /// One more than the greatest number of a group.
    pub(super) fn group_count(&self) -> usize {
        self.last_write.len()
    }
}

struct Judge<'t, 'c> {
    tree: &'t ModuleTree,
    is_impure: Option<IsImpure<'c>>,
    module: ModuleId,
    graph: &'t Graph,
    purity: Purity<'t>,
    reads_members: bool,
}

impl Judge<'_, '_> {
    fn effect(&mut self, node: NodeId) -> Result<Effect> {
        let op = self.graph[node].op();
        if matches!(op, Op::Placeholder | Op::Output) {
            return Ok(Effect::Own);
        }
        let Some(is_impure) = &mut self.is_impure else { return self.known_effect(node) };
        if !is_impure(self.tree, self.module, node)? {
            return Ok(Effect::None);
        }
        Ok(match self.known_effect(node)? {
            Effect::None if op == Op::GetAttr => Effect::Own,
            // The caller knows better, and does not tell what it is.
            Effect::None => Effect::Writes,
            known => known,
        })
    }

    fn known_effect(&mut self, node: NodeId) -> Result<Effect> {
        let (graph, found) = (self.graph, &self.graph[node]);
        match self.purity.impurity(self.module, node)? {
            Impurity::None => return Ok(Effect::None),
            Impurity::Draws => return Ok(Effect::Own),
            // What a module counts is seen by none but itself, unless somebody reads its members.
            Impurity::Counts => return Ok(if self.reads_members { Effect::Writes } else { Effect::Own }),
            Impurity::Acts => {}
        }
        if found.op() == Op::CallFunction {
            let target = graph.target(node);
            if only_checks(target) {
                return Ok(Effect::Own);
            }
            if acts_on_the_world(target) {
                return Ok(Effect::World);
            }
        }
        let has_inputs = found.op() == Op::CallModule || graph.input_count(node) > 0;
        Ok(if has_inputs { Effect::Writes } else { Effect::World })
    }
}

/// Whether a node yields a tensor, or a number, that shares memory with no other value.
fn makes_new(graph: &Graph, node: NodeId) -> bool {
    let found = &graph[node];
    let target = graph.target(node);
    let name = match found.op() {
        Op::CallMethod => target,
        Op::CallFunction => {
            if let Some(operator) = target.strip_prefix("_operator.").or_else(|| target.strip_prefix("operator.")) {
                return operator_makes_new(found, operator);
            }
            if let Some(path) = target.strip_prefix("torch.ops.aten.") {
                path.split('.').next().unwrap_or(path)
            } else {
                let spaces = ["torch.nn.functional.", "torch._C._nn.", "torch.Tensor.", "torch.special.", "torch."];
                match spaces.iter().find_map(|space| target.strip_prefix(space)) {
                    Some(name) => name,
                    None => return false,
                }
            }
        }
        _ => return false,
    };
    MAKES_NEW.binary_search(&name).is_ok()
}

/// `+` and `*` of lists yield what holds the same items.
fn operator_makes_new(node: &Node, operator: &str) -> bool {
    match operator {
        "add" | "mul" => {
            matches!(node.value().map(|value| &**value), Some(Value::Tensor(_) | Value::Scalar(_)))
                || node.args().iter().any(|argument| matches!(argument, Argument::Float(_)))
                || (operator == "add" && node.args().iter().any(|argument| matches!(argument, Argument::Int(_))))
        }
        _ => matches!(
            operator,
            "sub" | "truediv" | "floordiv" | "neg" | "pow" | "matmul" | "eq" | "ne" | "lt" | "le" | "gt" | "ge"
        ),
    }
}

/// Whether a node may yield something that is not among its arguments and not new.
fn comes_from_outside(graph: &Graph, node: NodeId) -> bool {
    let target = graph.target(node);
    match graph[node].op() {
        Op::Placeholder | Op::GetAttr | Op::CallModule => true,
        Op::CallFunction => {
            !["torch.", "_operator.", "operator.", "math."].iter().any(|space| target.starts_with(space))
        }
        Op::CallMethod | Op::Output => false,
    }
}

/// Disjoint sets, flattened as they are walked.
struct Sets(Vec<u32>);

impl Sets {
    fn new(count: usize) -> Self {
        Sets((0..count as u32).collect())
    }

    fn find(&mut self, mut at: usize) -> usize {
        while self.0[at] as usize != at {
            let above = self.0[self.0[at] as usize];
            self.0[at] = above;
            at = above as usize;
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b)] = a.min(b) as u32;
    }
}
