//! What is computed twice is computed once: torch's `CSEPass` and `fx_graph_cse`.

use super::dead_code::IsImpure;
use super::memory::{Effect, Memory};
use crate::ir::{are_one, is_one, Argument, Graph, ModuleId, ModuleTree, Node, NodeId, Op, Result, Symbol};
use hashbrown::hash_table::{Entry, HashTable};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// What the caller decides.
#[derive(Default)]
pub struct CseOptions<'n, 'a> {
    /// Targets whose nodes all stay, though they write nothing (torch's `banned_ops`). What begins with
    /// `torch.ops` stands for all below it: an operator for its overloads.
    pub banned: &'n [&'n str],
    /// Decides alone which nodes do anything besides yielding a value. Such a node stays; where
    /// [`super::purity`] finds that it does nothing, it may write into all that shares memory with its
    /// arguments. Without one it is [`super::purity`]. It is asked about all nodes but placeholders
    /// and the output, in their order, each once.
    pub is_impure: Option<IsImpure<'a>>,
}

/// Erases each node that computes what a node before it has computed, which takes its place in all
/// its users, and returns the pairs: the node that is gone, the one that stands for it, in the order
/// of the graph.
///
/// Two nodes compute the same when op, target, arguments and keywords, in their order, are the same:
/// of literals the type counts and each bit, and a list is no tuple. What the first is called and
/// what is known of it stays. As in torch, a graph that returned two equal values then returns one
/// twice.
///
/// Nodes that [`super::purity`] finds impure stay, and modules that change while they are trained
/// unless their `training` is False. So does whatever a write could tell apart: nodes that read what
/// may be written between them, and results that may be written into later, one of which would change
/// with the other. A node that may write does it to all that may share memory with its arguments.
pub fn eliminate_common_subexpressions(
    tree: &mut ModuleTree,
    module: ModuleId,
    options: CseOptions<'_, '_>,
) -> Result<Vec<(NodeId, NodeId)>> {
    let pairs = find_common_subexpressions(tree, module, options)?;
    erase_common_subexpressions(tree, module, &pairs)?;
    Ok(pairs)
}

/// The first half of [`eliminate_common_subexpressions`]: its pairs. Changes nothing.
pub fn find_common_subexpressions(
    tree: &ModuleTree,
    module: ModuleId,
    options: CseOptions<'_, '_>,
) -> Result<Vec<(NodeId, NodeId)>> {
    let memory = Memory::of(tree, module, options.is_impure)?;
    let graph = tree.graph(module)?;
    let mut walk = Walk {
        graph,
        written: vec![0; memory.group_count()],
        memory,
        stands_for: graph.nodes().fold(vec![None; graph.slot_count()], |mut all, node| {
            all[node.slot()] = Some(node);
            all
        }),
        world: 0,
    };
    let mut banned = Banned { targets: options.banned, known: FxHashMap::default() };
    let mut table: HashTable<Seen> = HashTable::new();
    let mut pairs = Vec::new();
    for (place, node) in graph.nodes().enumerate() {
        let place = place as u32 + 1;
        match walk.memory.effect(node) {
            Effect::Own => continue,
            Effect::Writes => {
                walk.written[walk.memory.group(node) as usize] = place;
                continue;
            }
            Effect::World => {
                walk.world = place;
                walk.written[walk.memory.group(node) as usize] = place;
                continue;
            }
            Effect::None if banned.has(graph, graph[node].target()) => continue,
            Effect::None => {}
        }
        let hash = walk.hash(&graph[node]);
        let new = Seen { hash, node, place };
        match table.entry(hash, |seen| seen.hash == hash && walk.is_same(seen.node, node), |seen| seen.hash) {
            Entry::Vacant(free) => {
                free.insert(new);
            }
            Entry::Occupied(mut found) => match walk.may_stand_for(found.get(), node) {
                true => {
                    walk.stands_for[node.slot()] = Some(found.get().node);
                    pairs.push((node, found.get().node));
                }
                // What parted these two parts the first from all that follow too.
                false => *found.get_mut() = new,
            },
        }
    }
    Ok(pairs)
}

/// The second half: puts the second of each pair in the place of the first, as
/// [`find_common_subexpressions`] found them, while the graph has not changed.
pub fn erase_common_subexpressions(tree: &mut ModuleTree, module: ModuleId, pairs: &[(NodeId, NodeId)]) -> Result<()> {
    tree.graph_mut(module)?.merge(pairs)
}

struct Banned<'a> {
    targets: &'a [&'a str],
    known: FxHashMap<Symbol, bool>,
}

impl Banned<'_> {
    fn has(&mut self, graph: &Graph, target: Symbol) -> bool {
        if self.targets.is_empty() {
            return false;
        }
        *self.known.entry(target).or_insert_with(|| {
            let text = graph.text(target);
            self.targets.iter().any(|banned| match text.strip_prefix(banned) {
                Some(rest) => rest.is_empty() || (rest.starts_with('.') && banned.starts_with("torch.ops.")),
                None => false,
            })
        })
    }
}

#[derive(Clone, Copy)]
struct Seen {
    hash: u64,
    node: NodeId,
    /// Counted from 1.
    place: u32,
}

struct Walk<'g> {
    graph: &'g Graph,
    memory: Memory,
    /// By slot: the node that takes a node's place, itself most often.
    stands_for: Vec<Option<NodeId>>,
    /// By group: where it was written last, of the nodes passed.
    written: Vec<u32>,
    /// Where the process changed last.
    world: u32,
}

impl Walk<'_> {
    fn resolve(&self, node: NodeId) -> NodeId {
        self.stands_for[node.slot()].unwrap_or(node)
    }

    fn may_stand_for(&self, first: &Seen, node: NodeId) -> bool {
        if self.graph[node].op() == Op::GetAttr {
            return true; // it is one and the same object, whatever is written into it
        }
        let memory = &self.memory;
        let (own, other) = (memory.group(node), memory.group(first.node));
        self.world < first.place
            && [own, other].iter().all(|&group| memory.last_write(group) < first.place)
            && self.graph.input_nodes(node).all(|input| {
                [input, self.resolve(input)].iter().all(|&at| self.written[memory.group(at) as usize] < first.place)
            })
    }

    fn is_same(&self, first: NodeId, node: NodeId) -> bool {
        let (a, b) = (&self.graph[first], &self.graph[node]);
        let symbols = self.graph.symbols();
        let same = |a: NodeId, b: NodeId| self.resolve(a) == self.resolve(b);
        a.op() == b.op()
            && a.target() == b.target()
            && are_one(a.args(), symbols, b.args(), symbols, &same)
            && a.kwargs().len() == b.kwargs().len()
            && a.kwargs()
                .iter()
                .zip(b.kwargs())
                .all(|((key, a), (other, b))| key == other && is_one(a, symbols, b, symbols, &same))
    }

    fn hash(&self, node: &Node) -> u64 {
        let mut state = FxHasher::default();
        (node.op() as u8, node.target(), node.args().len()).hash(&mut state);
        node.args().iter().for_each(|argument| self.hash_argument(argument, &mut state));
        for (key, argument) in node.kwargs() {
            key.hash(&mut state);
            self.hash_argument(argument, &mut state);
        }
        state.finish()
    }

    fn hash_argument(&self, argument: &Argument, state: &mut FxHasher) {
        std::mem::discriminant(argument).hash(state);
        let mut all = |items: &[Argument]| {
            items.len().hash(state);
            items.iter().for_each(|item| self.hash_argument(item, state));
        };
        match argument {
            Argument::List(items) | Argument::Tuple(items) => all(items),
            Argument::Slice(parts) => all(parts.as_ref()),
            Argument::Dict(entries) => {
                entries.len().hash(state);
                for (key, value) in entries {
                    self.hash_argument(key, state);
                    self.hash_argument(value, state);
                }
            }
            Argument::Node(node) => self.resolve(*node).hash(state),
            Argument::Bool(value) => value.hash(state),
            Argument::Int(value) => value.hash(state),
            Argument::Float(value) => value.to_bits().hash(state),
            Argument::Complex(parts) => parts.map(f64::to_bits).hash(state),
            Argument::Bytes(bytes) => bytes.hash(state),
            Argument::Dtype(dtype) => dtype.hash(state),
            Argument::Range(parts) => parts.hash(state),
            Argument::BigInt(text)
            | Argument::Str(text)
            | Argument::Device(text)
            | Argument::Layout(text)
            | Argument::MemoryFormat(text)
            | Argument::Qscheme(text)
            | Argument::SymInt(text) => text.hash(state),
            Argument::None | Argument::Ellipsis => {}
        }
    }
}
