//! Nodes that nothing uses go: torch's `eliminate_dead_code`.

use super::purity::{Purity, PurityOptions};
use crate::ir::{Graph, ModuleId, ModuleTree, NodeId, Op, Result};

/// Says whether a node has to stay even when nothing uses it. An error stops the pass.
pub type IsImpure<'a> = &'a mut dyn FnMut(&ModuleTree, ModuleId, NodeId) -> Result<bool>;

/// Erases every node that nothing uses, and then what only those used, unless it is impure.
/// Returns how many are gone. Placeholders and the output always stay.
///
/// `is_impure` decides alone; without one it is [`Purity`]. It is asked about unused nodes only,
/// from the last to the first, each once. Members that are no longer used stay in the module: see
/// [`ModuleTree::delete_all_unused_submodules`].
pub fn eliminate_dead_code(tree: &mut ModuleTree, module: ModuleId, is_impure: Option<IsImpure<'_>>) -> Result<usize> {
    let dead = find_dead_code(tree, module, is_impure)?;
    erase_dead_code(tree, module, &dead)?;
    Ok(dead.len())
}

/// The first half of [`eliminate_dead_code`]: the nodes that would go. Changes nothing.
pub fn find_dead_code(tree: &ModuleTree, module: ModuleId, is_impure: Option<IsImpure<'_>>) -> Result<Vec<NodeId>> {
    match is_impure {
        Some(is_impure) => dead_nodes(tree.graph(module)?, |node| is_impure(tree, module, node)),
        None => {
            let mut purity = Purity::new(tree, PurityOptions::default());
            dead_nodes(tree.graph(module)?, |node| purity.is_impure(module, node))
        }
    }
}

/// The second half: erases what [`find_dead_code`] found, while the graph has not changed.
pub fn erase_dead_code(tree: &mut ModuleTree, module: ModuleId, dead: &[NodeId]) -> Result<()> {
    tree.graph_mut(module)?.erase_unused(dead.iter().copied())
}

/// The nodes that go, each before what it uses. The graph need not be in order.
fn dead_nodes(graph: &Graph, mut is_impure: impl FnMut(NodeId) -> Result<bool>) -> Result<Vec<NodeId>> {
    let mut uses = vec![0; graph.slot_count()];
    for node in graph.nodes() {
        uses[node.slot()] = graph.user_count(node);
    }
    let mut passed = vec![false; graph.slot_count()];
    let mut dead = Vec::new();
    let mut waiting = Vec::new();
    for node in graph.nodes().rev() {
        passed[node.slot()] = true;
        if uses[node.slot()] == 0 {
            waiting.push(node);
        }
        while let Some(unused) = waiting.pop() {
            if matches!(graph[unused].op(), Op::Placeholder | Op::Output) || is_impure(unused)? {
                continue;
            }
            dead.push(unused);
            for input in graph.input_nodes(unused) {
                uses[input.slot()] -= 1;
                // An input that stands behind its user was passed while it was still used.
                if uses[input.slot()] == 0 && passed[input.slot()] {
                    waiting.push(input);
                }
            }
        }
    }
    Ok(dead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::lint::lint;
    use crate::ir::{Argument, Error, ErrorKind, Kwargs};

    /// `a = relu(x)`, `b = relu(a)`, `c = relu(b)`; `a` is returned.
    fn net() -> (ModuleTree, [NodeId; 4]) {
        let mut tree = ModuleTree::new("Net");
        let root = tree.root();
        let graph = tree.graph_mut(root).unwrap();
        let x = graph.placeholder("x").unwrap();
        let mut relu =
            |input| graph.call_function("torch.relu", [Argument::Node(input)].as_slice(), Kwargs::new()).unwrap();
        let a = relu(x);
        let b = relu(a);
        let c = relu(b);
        graph.output(Argument::List([Argument::Node(a)].into())).unwrap();
        (tree, [x, a, b, c])
    }

    #[test]
    fn chains_go_and_what_is_impure_stays_with_all_it_needs() {
        let (mut tree, [_, a, _, _]) = net();
        let root = tree.root();
        assert_eq!(eliminate_dead_code(&mut tree, root, None), Ok(2));
        assert_eq!(eliminate_dead_code(&mut tree, root, None), Ok(0));
        lint(&tree, root).unwrap();
        assert_eq!(tree.graph(root).unwrap().user_count(a), 1);

        let (mut tree, [_, _, b, c]) = net();
        let root = tree.root();
        let mut asked = Vec::new();
        let mut keep_b = |_: &ModuleTree, _, node| {
            asked.push(node);
            Ok(node == b)
        };
        assert_eq!(eliminate_dead_code(&mut tree, root, Some(&mut keep_b)), Ok(1));
        assert_eq!(asked, [c, b]);
        assert!(tree.graph(root).unwrap().contains(b));
    }

    #[test]
    fn a_graph_out_of_order_is_cleaned_as_well() {
        let (mut tree, [x, a, b, c]) = net();
        let root = tree.root();
        tree.graph_mut(root).unwrap().move_before(c, x).unwrap();
        tree.graph_mut(root).unwrap().move_after(b, a).unwrap();
        assert_eq!(eliminate_dead_code(&mut tree, root, None), Ok(2));
        lint(&tree, root).unwrap();
    }

    #[test]
    fn an_error_of_the_caller_s_changes_nothing() {
        let (mut tree, [_, _, b, _]) = net();
        let root = tree.root();
        let mut stop_at_b = |_: &ModuleTree, _, node| match node == b {
            true => Err(Error::new(ErrorKind::Callback(7), "stop")),
            false => Ok(false),
        };
        let error = eliminate_dead_code(&mut tree, root, Some(&mut stop_at_b)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Callback(7));
        assert_eq!(tree.graph(root).unwrap().len(), 5);
    }
}
