//! A pattern, checked once and prepared for search.

use crate::ir::lint::lint_graph;
use crate::ir::{Error, ErrorKind, Graph, ModuleId, ModuleTree, NodeId, Op, Result};

/// A graph that is looked for in others.
#[derive(Debug)]
pub struct Pattern<'a> {
    pub(super) tree: &'a ModuleTree,
    pub(super) module: ModuleId,
    pub(super) graph: &'a Graph,
    nodes: Vec<NodeId>,
    index_of: Vec<usize>,
    placeholders: Vec<usize>,
    returning: Vec<usize>,
    is_returning: Vec<bool>,
    anchors: Vec<usize>,
    /// For each anchor but the first, how to get to it from what the anchors before it bind.
    routes: Vec<Option<Route>>,
}

/// From a pattern node that is bound down to an anchor, user by user.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) from: usize,
    pub(super) steps: Vec<usize>,
}

impl<'a> Pattern<'a> {
    /// Prepares the graph of a module. Refused with [`ErrorKind::InvalidArgument`], naming the
    /// node: a pattern without output, a node that nothing uses, a placeholder that is only
    /// returned (anything would meet it); and what lint refuses.
    pub fn new(tree: &'a ModuleTree, module: ModuleId) -> Result<Self> {
        let graph = tree.graph(module)?;
        lint_graph(graph).map_err(|mut error| {
            error.message = format!("in the pattern: {}", error.message);
            error
        })?;
        let refuse = |node: NodeId, what: &str| {
            let message = format!("pattern node {} ({}) {what}", graph.name(node), graph[node].op().name());
            Err(Error::new(ErrorKind::InvalidArgument, message).at_node(node))
        };
        let Some(output) = graph.output_node() else {
            return Err(Error::new(ErrorKind::InvalidArgument, "the pattern has no output"));
        };
        let nodes: Vec<NodeId> = graph.nodes().collect();
        let mut index_of = vec![usize::MAX; graph.slot_count()];
        for (index, &node) in nodes.iter().enumerate() {
            index_of[node.slot()] = index;
            if node != output && graph.user_count(node) == 0 {
                return refuse(node, "is used by nothing");
            }
            if graph[node].op() == Op::Placeholder && graph.users(node).all(|user| user == output) {
                return refuse(node, "is only returned");
            }
        }
        let index = |node: NodeId| index_of[node.slot()];
        let returning: Vec<usize> = graph.input_nodes(output).map(index).collect();
        let mut is_returning = vec![false; nodes.len()];
        returning.iter().for_each(|&index| is_returning[index] = true);
        let anchors: Vec<usize> =
            returning.iter().copied().filter(|&index| graph.user_count(nodes[index]) == 1).collect();
        let placeholders = graph.placeholders().map(index).collect();
        let routes = routes(graph, &nodes, &index_of, &anchors);
        Ok(Pattern { tree, module, graph, nodes, index_of, placeholders, returning, is_returning, anchors, routes })
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

    pub(super) fn op(&self, index: usize) -> Op {
        self.graph[self.nodes[index]].op()
    }

    pub(super) fn route(&self, anchor: usize) -> Option<&Route> {
        let position = self.anchors.iter().position(|&other| other == anchor)?;
        self.routes[position].as_ref()
    }
}

/// For each anchor: the shortest way down to it from a node, no placeholder, that lies above an
/// earlier anchor. Without one, the anchor's candidates are looked for in the whole graph.
fn routes(graph: &Graph, nodes: &[NodeId], index_of: &[usize], anchors: &[usize]) -> Vec<Option<Route>> {
    let mut bound = vec![false; nodes.len()];
    let mut routes = Vec::with_capacity(anchors.len());
    for &anchor in anchors {
        // Breadth first upwards; `below` is the step back down.
        let mut below = vec![usize::MAX; nodes.len()];
        let mut queue = std::collections::VecDeque::from([anchor]);
        let mut seen = vec![anchor];
        below[anchor] = anchor;
        let mut meeting = None;
        while let Some(at) = queue.pop_front() {
            if bound[at] && meeting.is_none() && graph[nodes[at]].op() != Op::Placeholder {
                meeting = Some(at);
            }
            for input in graph.input_nodes(nodes[at]) {
                let input = index_of[input.slot()];
                if below[input] == usize::MAX {
                    below[input] = at;
                    seen.push(input);
                    if !bound[input] || meeting.is_none() {
                        queue.push_back(input);
                    }
                }
            }
        }
        routes.push(meeting.map(|from| {
            let mut steps = Vec::new();
            let mut at = from;
            while at != anchor {
                at = below[at];
                steps.push(at);
            }
            Route { from, steps }
        }));
        seen.into_iter().for_each(|index| bound[index] = true);
    }
    routes
}
