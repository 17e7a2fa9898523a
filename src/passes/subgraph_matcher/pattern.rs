//! A pattern, checked once and prepared for search.

use crate::ir::lint::lint_graph;
use crate::ir::{Argument, Error, ErrorKind, Graph, ModuleId, ModuleTree, NodeId, Op, Result};

/// A graph that is looked for in others.
#[derive(Debug)]
pub struct Pattern<'a> {
    pub(super) tree: &'a ModuleTree,
    pub(super) module: ModuleId,
    pub(super) graph: &'a Graph,
    nodes: Vec<NodeId>,
    ops: Vec<Op>,
    index_of: Vec<usize>,
    placeholders: Vec<usize>,
    returning: Vec<usize>,
    is_returning: Vec<bool>,
    anchors: Vec<usize>,
    names: Vec<(&'a str, usize)>,
    /// How many nodes of the pattern use each, the output left aside.
    uses: Vec<usize>,
}

impl<'a> Pattern<'a> {
    /// Prepares the graph of a module. Refused with [`ErrorKind::InvalidArgument`], naming the
    /// node: a pattern without output, a node that nothing uses, a placeholder that is only
    /// returned (anything would meet it); and what lint refuses.
    pub fn new(tree: &'a ModuleTree, module: ModuleId) -> Result<Self> {
        Pattern::prepare(tree, module, false)
    }

    /// The same for a pattern whose output ends in a dict from names to nodes: the dict is no
    /// output, but says what nodes are called. Also refused: an output without such a dict. torch:
    /// `SubgraphMatcherWithNameNodeMap`.
    pub fn with_name_node_map(tree: &'a ModuleTree, module: ModuleId) -> Result<Self> {
        Pattern::prepare(tree, module, true)
    }

    fn prepare(tree: &'a ModuleTree, module: ModuleId, has_map: bool) -> Result<Self> {
        let graph = tree.graph(module)?;
        lint_graph(graph).map_err(|mut error| {
            error.message = format!("in the pattern: {}", error.message);
            error
        })?;
        let Some(output) = graph.output_node() else {
            return Err(Error::new(ErrorKind::InvalidArgument, "the pattern has no output"));
        };
        let nodes: Vec<NodeId> = graph.nodes().collect();
        let mut index_of = vec![usize::MAX; graph.slot_count()];
        nodes.iter().enumerate().for_each(|(index, node)| index_of[node.slot()] = index);
        let index = |node: NodeId| index_of[node.slot()];
        let (returning, names) = match has_map {
            false => (graph.input_nodes(output).map(index).collect(), Vec::new()),
            true => split_name_node_map(graph, output, index)?,
        };
        let mut is_returning = vec![false; nodes.len()];
        returning.iter().for_each(|&index: &usize| is_returning[index] = true);
        let uses: Vec<usize> =
            nodes.iter().map(|&node| graph.users(node).filter(|&user| user != output).count()).collect();
        let pattern = Pattern {
            tree,
            module,
            graph,
            ops: nodes.iter().map(|&node| graph[node].op()).collect(),
            index_of,
            placeholders: (0..nodes.len()).filter(|&index| graph[nodes[index]].op() == Op::Placeholder).collect(),
            anchors: returning.iter().copied().filter(|&index| uses[index] == 0).collect(),
            nodes,
            returning,
            is_returning,
            names,
            uses,
        };
        pattern.check_uses()?;
        Ok(pattern)
    }

    fn check_uses(&self) -> Result<()> {
        for index in (0..self.nodes.len()).filter(|&index| self.uses[index] == 0 && self.op(index) != Op::Output) {
            let what = match (self.is_returning[index], self.op(index)) {
                (false, _) => "is used by nothing",
                (true, Op::Placeholder) => "is only returned",
                (true, _) => continue,
            };
            let node = self.nodes[index];
            let message = format!("pattern node {} ({}) {what}", self.graph.name(node), self.op(index).name());
            return Err(Error::new(ErrorKind::InvalidArgument, message).at_node(node));
        }
        Ok(())
    }

    /// The pattern's graph.
    pub fn graph(&self) -> &'a Graph {
        self.graph
    }

    /// The pattern's nodes, in order; a match has a binding for each.
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// The place of a node of the pattern in [`Pattern::nodes`].
    pub fn index(&self, node: NodeId) -> usize {
        self.index_of[node.slot()]
    }

    /// Where its placeholders stand.
    pub fn placeholders(&self) -> &[usize] {
        &self.placeholders
    }

    /// Where the nodes stand that a match takes: all but placeholders and the output.
    pub fn compute_nodes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.nodes.len()).filter(|&index| !matches!(self.op(index), Op::Placeholder | Op::Output))
    }

    /// Where the nodes stand that it returns.
    pub fn returning(&self) -> &[usize] {
        &self.returning
    }

    /// What its output calls nodes, and where they stand; empty without a name-node map.
    pub fn names(&self) -> &[(&'a str, usize)] {
        &self.names
    }

    /// Where the nodes stand at which a search begins: those that only the output uses, or the
    /// output itself.
    pub fn anchors(&self, match_output: bool) -> Vec<usize> {
        if match_output {
            vec![self.nodes.len() - 1]
        } else {
            self.anchors.clone()
        }
    }

    pub(super) fn is_returning(&self, index: usize) -> bool {
        self.is_returning[index]
    }

    /// How many nodes of the pattern use one, the output left aside.
    pub(super) fn uses(&self, index: usize) -> usize {
        self.uses[index]
    }

    /// Whether whatever uses a node's counterpart must belong to the match too.
    pub(super) fn is_interior(&self, index: usize) -> bool {
        !self.is_returning[index] && !matches!(self.op(index), Op::Placeholder | Op::Output)
    }

    pub(super) fn op(&self, index: usize) -> Op {
        self.ops[index]
    }

    /// Where what a node uses stands; of a name-node map nothing.
    pub(super) fn inputs(&self, index: usize) -> Box<dyn Iterator<Item = usize> + '_> {
        match self.op(index) {
            Op::Output => Box::new(self.returning.iter().copied()),
            _ => Box::new(self.graph.input_nodes(self.nodes[index]).map(|input| self.index(input))),
        }
    }
}

type Split<'a> = (Vec<usize>, Vec<(&'a str, usize)>);

/// What an output returns beside its name-node map, and the map.
fn split_name_node_map(graph: &Graph, output: NodeId, index: impl Fn(NodeId) -> usize) -> Result<Split<'_>> {
    let refuse = |what: &str| Err(Error::new(ErrorKind::InvalidArgument, what).at_node(output));
    let Some(Argument::List(items) | Argument::Tuple(items)) = graph[output].args().first() else {
        return refuse("the pattern's output does not end in a dict from names to nodes");
    };
    let Some((Argument::Dict(entries), returned)) = items.split_last() else {
        return refuse("the pattern's output does not end in a dict from names to nodes");
    };
    let mut names: Vec<(&str, usize)> = Vec::new();
    for entry in entries {
        match entry {
            (Argument::Str(name), Argument::Node(node)) => names.push((graph.text(*name), index(*node))),
            _ => return refuse("the dict at the end of the pattern's output is not one from names to nodes"),
        }
    }
    let mut returning: Vec<usize> = Vec::new();
    let mut seen = rustc_hash::FxHashSet::default();
    returned.iter().for_each(|argument| {
        argument.for_each_node(&mut |node| {
            if seen.insert(node) {
                returning.push(index(node));
            }
        });
    });
    Ok((returning, names))
}
