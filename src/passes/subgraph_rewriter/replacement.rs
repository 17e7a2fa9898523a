//! A replacement, checked once and written in the strings of the graph that it goes into.

use crate::ir::lint::lint_graph;
use crate::ir::{
    Args, Argument, Error, ErrorKind, Graph, Kwargs, Meta, NodeId, Op, Result, Signature, Symbol, Symbols,
};
use rustc_hash::FxHashMap;

/// What is copied in the place of each match.
#[derive(Debug)]
pub(super) struct Replacement {
    /// The slots of its placeholders, in order.
    pub(super) placeholders: Vec<usize>,
    /// All other nodes but the output, in order.
    pub(super) nodes: Vec<Template>,
    /// What it returns: the output's argument, or the items of the list or tuple that it is.
    pub(super) returned: Vec<Argument>,
    pub(super) slot_count: usize,
    /// What its code calls by bare names.
    pub(super) signature: Signature,
}

/// A node to be copied. Nodes in its arguments are those of the replacement.
#[derive(Debug)]
pub(super) struct Template {
    pub(super) slot: usize,
    pub(super) op: Op,
    pub(super) name: Symbol,
    pub(super) target: Symbol,
    pub(super) args: Args,
    pub(super) kwargs: Kwargs,
    pub(super) meta: Meta,
    pub(super) type_annotation: Option<Symbol>,
}

impl Replacement {
    /// Refused with [`ErrorKind::InvalidArgument`]: a replacement without output, or one that
    /// returns anything but nodes, literals, or one list or tuple of these; and what lint refuses.
    pub(super) fn new(graph: &Graph, symbols: &Symbols) -> Result<Self> {
        lint_graph(graph).map_err(|mut error| {
            error.message = format!("in the replacement: {}", error.message);
            error
        })?;
        let from = graph.symbols();
        let carry = |symbol: Symbol| symbols.intern(from.text(symbol));
        let carry_argument = |argument: &Argument| argument.transfer(from, symbols, &mut |node| Ok(node.into()));
        let mut replacement = Replacement {
            placeholders: Vec::new(),
            nodes: Vec::new(),
            returned: Vec::new(),
            slot_count: graph.slot_count(),
            signature: graph.signature.clone(),
        };
        for node in graph.nodes() {
            let found = &graph[node];
            match found.op() {
                Op::Placeholder => replacement.placeholders.push(node.slot()),
                Op::Output => {}
                op => replacement.nodes.push(Template {
                    slot: node.slot(),
                    op,
                    name: symbols.intern(graph.name(node)),
                    target: carry(found.target()),
                    args: found.args().iter().map(carry_argument).collect::<Result<_>>()?,
                    kwargs: found
                        .kwargs()
                        .iter()
                        .map(|(key, value)| Ok((carry(*key), carry_argument(value)?)))
                        .collect::<Result<_>>()?,
                    meta: crate::ir::transfer_meta(found.meta(), from, symbols)?,
                    type_annotation: found.type_annotation().map(carry),
                }),
            }
        }
        let returned = graph.output_node().and_then(|output| graph[output].args().first());
        let returned =
            returned.ok_or_else(|| Error::new(ErrorKind::InvalidArgument, "the replacement has no output"))?;
        replacement.returned = match returned {
            Argument::List(items) | Argument::Tuple(items) => {
                items.iter().map(carry_argument).collect::<Result<_>>()?
            }
            one => vec![carry_argument(one)?],
        };
        Ok(replacement)
    }

    /// Members that the nodes name go by other names.
    pub(super) fn rename_members(&mut self, renamed: &FxHashMap<Symbol, Symbol>) {
        for template in self.nodes.iter_mut().filter(|it| matches!(it.op, Op::CallModule | Op::GetAttr)) {
            if let Some(&target) = renamed.get(&template.target) {
                template.target = target;
            }
        }
    }
}

impl Template {
    /// The arguments of a copy, with `node` for each node of the replacement.
    pub(super) fn arguments(&self, mut node: impl FnMut(NodeId) -> Option<Argument>) -> (Args, Kwargs) {
        let mut args = self.args.clone();
        args.iter_mut().for_each(|argument| {
            argument.replace_nodes(&mut node);
        });
        let mut kwargs = self.kwargs.clone();
        kwargs.iter_mut().for_each(|(_, argument)| {
            argument.replace_nodes(&mut node);
        });
        (args, kwargs)
    }
}
