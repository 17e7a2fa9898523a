//! Random modules, as built and after passes and edits.

use super::loaded;
use super::random_graph::{modules, picked};
use fxir::formats::native;
use fxir::ir::{Argument, At, Kwargs, ModuleTree, NodeId, Op};
use fxir::passes::fuse::{fuse_as_graphmodule, FuseOptions};
use proptest::prelude::*;
use std::sync::Arc;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_modules_come_back(module in modules(20)) {
        loaded(&module.tree);
    }

    /// Nodes moved, erased, renamed, used otherwise, fused: users, names and slots in every state.
    #[test]
    fn edited_modules_come_back(
        module in modules(20),
        edits in prop::collection::vec((0u8..7, any::<u16>(), any::<u16>()), 1..24),
        fused in prop::collection::vec(any::<u16>(), 0..5),
    ) {
        let mut tree = module.tree;
        let root = tree.root();
        let nodes = picked(&tree, &fused);
        let _ = fuse_as_graphmodule(&mut tree, root, &nodes, "part", &FuseOptions::default());
        for edit in edits {
            apply(&mut tree, edit);
        }
        loaded(&tree);
    }

    /// A file with bytes changed, cut or doubled is refused or read, and what is read can be saved.
    #[test]
    fn damaged_files_do_no_harm(
        module in modules(8),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..6),
    ) {
        let mut bytes = native::to_bytes(&module.tree, module.tree.root()).unwrap();
        for (at, byte, what) in damage {
            let at = at.index(bytes.len());
            match what {
                0 => bytes[at] = byte,
                1 => bytes[at] = b"0123456789\"{}[],:-en"[usize::from(byte) % 20],
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, bytes[at]),
            }
            if bytes.is_empty() {
                break;
            }
        }
        if let Ok(tree) = native::from_bytes(Arc::new(bytes)) {
            loaded(&tree);
        }
    }
}

fn apply(tree: &mut ModuleTree, (what, one, two): (u8, u16, u16)) {
    let root = tree.root();
    let graph = tree.graph_mut(root).unwrap();
    let nodes: Vec<NodeId> = graph.nodes().collect();
    if nodes.is_empty() {
        return;
    }
    let [one, two] = [one, two].map(|pick| nodes[usize::from(pick) % nodes.len()]);
    let _ = match what {
        0 => graph.move_before(one, two),
        1 => graph.erase_node(one),
        2 => graph.rename(one, &format!("add_{}", nodes.len() % 7)).map(|_| ()),
        3 => graph.replace_all_uses_with(one, two, |_, _| true).map(|_| ()),
        4 => graph.set_kwarg(one, "more", Argument::List([Argument::Node(two)].into())),
        5 => graph.replace_input_with(one, two, nodes[0]),
        _ => {
            let target = graph.target(one).to_owned();
            graph
                .create_node(At::After(one), Op::CallFunction, &target, vec![two.into()].into(), Kwargs::new(), None)
                .map(|_| ())
        }
    };
}
