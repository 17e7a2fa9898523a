//! The tracer: a module in the making, and the rewrites that each operation passes through.

use crate::ir::lint::lint;
use crate::ir::{
    Args, Argument, At, Error, ErrorKind, Graph, Kwargs, ModuleId, ModuleTree, NodeId, Op, Result, Symbols,
};
use parking_lot::Mutex;
use std::sync::Arc;

/// One operation on its way to becoming a node. Its strings are in the tracer's table.
#[derive(Debug, Clone)]
pub struct Operation {
    /// What it does; a function has no second output and no inputs of its own making.
    pub op: Op,
    /// What it calls or gets.
    pub target: String,
    /// Positional arguments.
    pub args: Args,
    /// Keyword arguments.
    pub kwargs: Kwargs,
    /// What the node would like to be called.
    pub name: Option<String>,
}

/// Sees an operation before it becomes a node, and says what stands for it; None leaves it to the
/// rewrites that follow, and in the end to a node. What it records itself through the tracer that it
/// is given passes through the rewrites that follow it.
pub type Rewrite = dyn Fn(&Tracer, &Operation) -> Result<Option<Argument>> + Send + Sync;

/// Records operations as nodes of a module in the making. Its clones record into the same module.
#[derive(Clone)]
pub struct Tracer {
    shared: Arc<Shared>,
    /// How many rewrites an operation has behind it that is recorded here.
    level: usize,
}

struct Shared {
    symbols: Arc<Symbols>,
    rewrites: Vec<Box<Rewrite>>,
    /// Nothing once the trace is over. Never locked while a rewrite runs.
    module: Mutex<Option<(ModuleTree, ModuleId)>>,
}

impl Tracer {
    /// A tracer that gives `module` of `tree` a new graph; its members are what the operations may name.
    pub fn new(mut tree: ModuleTree, module: ModuleId, rewrites: Vec<Box<Rewrite>>) -> Result<Tracer> {
        let symbols = tree.symbols().clone();
        tree.set_graph(module, Graph::new(symbols.clone()))?;
        Ok(Tracer {
            shared: Arc::new(Shared { symbols, rewrites, module: Mutex::new(Some((tree, module))) }),
            level: 0,
        })
    }

    /// The table of its strings.
    pub fn symbols(&self) -> &Arc<Symbols> {
        &self.shared.symbols
    }

    /// An input, which no rewrite sees.
    pub fn placeholder(&self, target: &str, default: Option<Argument>) -> Result<NodeId> {
        let args = default.into_iter().collect();
        self.with_graph(|graph| graph.create_node(At::Default, Op::Placeholder, target, args, Kwargs::new(), None))
    }

    /// Records an operation, and gives what stands for it.
    pub fn record(&self, operation: Operation) -> Result<Argument> {
        for (index, rewrite) in self.shared.rewrites.iter().enumerate().skip(self.level) {
            let following = Tracer { shared: self.shared.clone(), level: index + 1 };
            if let Some(value) = rewrite(&following, &operation)? {
                self.check(&value)?;
                return Ok(value);
            }
        }
        let Operation { op, target, args, kwargs, name } = operation;
        let name = name.as_deref();
        self.with_graph(|graph| graph.create_node(At::Default, op, &target, args, kwargs, name)).map(Argument::Node)
    }

    /// What the function returns; no rewrite sees it.
    pub fn output(&self, value: Argument) -> Result<NodeId> {
        self.with_graph(|graph| graph.output(value))
    }

    /// Looks at the module in the making.
    pub fn read<T>(&self, look: impl FnOnce(&ModuleTree, ModuleId) -> T) -> Result<T> {
        let module = self.shared.module.lock();
        let (tree, id) = module.as_ref().ok_or_else(over)?;
        Ok(look(tree, *id))
    }

    /// Changes the graph in the making: what an operation cannot say, an annotation for one.
    pub fn with_graph<T>(&self, change: impl FnOnce(&mut Graph) -> Result<T>) -> Result<T> {
        self.with_module(|tree, id| change(tree.graph_mut(id)?))
    }

    /// Changes the module in the making: members that the operations name, for one.
    pub fn with_module<T>(&self, change: impl FnOnce(&mut ModuleTree, ModuleId) -> Result<T>) -> Result<T> {
        let mut module = self.shared.module.lock();
        let (tree, id) = module.as_mut().ok_or_else(over)?;
        change(tree, *id)
    }

    /// Ends the trace: a function that returned nothing returned None. The module passes lint, and
    /// no clone of the tracer records any more.
    pub fn finish(self) -> Result<ModuleTree> {
        if self.read(|tree, id| tree.graph(id).map(|graph| graph.output_node().is_none()))?? {
            self.output(Argument::None)?;
        }
        self.read(lint)??;
        let (tree, _) = self.shared.module.lock().take().ok_or_else(over)?;
        Ok(tree)
    }

    fn check(&self, value: &Argument) -> Result<()> {
        self.read(|tree, id| {
            let graph = tree.graph(id)?;
            let mut stale = None;
            value.for_each_node(&mut |node| stale = stale.or(Some(node).filter(|&node| !graph.contains(node))));
            stale.map_or(Ok(()), |node| graph.get(node).map(|_| ()))
        })?
    }
}

fn over() -> Error {
    Error::new(ErrorKind::InvalidArgument, "the trace is over")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(target: &str, args: &[Argument]) -> Operation {
        let (target, args) = (target.to_string(), args.iter().cloned().collect());
        Operation { op: Op::CallFunction, target, args, kwargs: Kwargs::new(), name: None }
    }

    fn targets(tree: &ModuleTree) -> Vec<String> {
        let graph = tree.graph(tree.root()).unwrap();
        graph.nodes().map(|node| graph.target(node).to_string()).collect()
    }

    fn tracer(rewrites: Vec<Box<Rewrite>>) -> (Tracer, Argument) {
        let tree = ModuleTree::new("GraphModule");
        let root = tree.root();
        let tracer = Tracer::new(tree, root, rewrites).unwrap();
        let x = Argument::Node(tracer.placeholder("x", None).unwrap());
        (tracer, x)
    }

    #[test]
    fn operations_become_nodes_and_nothing_returned_is_none() {
        let (tracer, x) = tracer(Vec::new());
        let y = tracer.record(call("torch.relu", std::slice::from_ref(&x))).unwrap();
        tracer.record(call("torch.add", &[x, y])).unwrap();
        let other = tracer.clone();
        let tree = tracer.finish().unwrap();
        assert_eq!(targets(&tree), ["x", "torch.relu", "torch.add", "output"]);
        assert_eq!(other.placeholder("y", None).unwrap_err().kind, ErrorKind::InvalidArgument);
    }

    #[test]
    fn what_a_rewrite_records_passes_through_those_after_it() {
        let silu: Box<Rewrite> = Box::new(|tracer, operation| {
            if operation.target != "torch.silu" {
                return Ok(None);
            }
            let sigmoid = tracer.record(call("torch.sigmoid", &operation.args))?;
            tracer.record(call("torch.mul", &[operation.args[0].clone(), sigmoid])).map(Some)
        });
        let dropout: Box<Rewrite> =
            Box::new(|_, operation| Ok((operation.target == "torch.dropout").then(|| operation.args[0].clone())));
        let sigmoid: Box<Rewrite> = Box::new(|tracer, operation| match operation.target.as_str() {
            // Its own operations do not come back to it.
            "torch.sigmoid" => tracer.record(call("torch.sigmoid", &operation.args)).map(Some),
            "torch.silu" => Err(Error::new(ErrorKind::Unsupported, "silu came through")),
            _ => Ok(None),
        });
        let (tracer, x) = tracer(vec![silu, dropout, sigmoid]);
        let y = tracer.record(call("torch.silu", &[x])).unwrap();
        let z = tracer.record(call("torch.dropout", &[y])).unwrap();
        tracer.output(z).unwrap();
        assert_eq!(targets(&tracer.finish().unwrap()), ["x", "torch.sigmoid", "torch.mul", "output"]);
    }

    #[test]
    fn a_rewrite_that_fails_or_gives_a_foreign_node_is_an_error() {
        let (other, x) = tracer(Vec::new());
        let foreign: Box<Rewrite> = Box::new(move |_, operation| match operation.target.as_str() {
            "torch.foreign" => Ok(Some(x.clone())),
            _ => Err(Error::new(ErrorKind::Unsupported, "no")),
        });
        let (tracer, y) = tracer(vec![foreign]);
        assert_eq!(
            tracer.record(call("torch.foreign", std::slice::from_ref(&y))).unwrap_err().kind,
            ErrorKind::StaleNode
        );
        assert_eq!(tracer.record(call("torch.relu", &[y])).unwrap_err().kind, ErrorKind::Unsupported);
        assert_eq!(targets(&tracer.finish().unwrap()), ["x", "output"]);
        drop(other);
    }
}
