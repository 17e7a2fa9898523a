//! Random modules for property tests: every op, every way to hold a node, members at several
//! depths, graph modules inside. Shared by the tests that declare `mod random_graph;`.
#![allow(dead_code)] // each test uses its own part

use fxir::ir::{
    Args, Argument, At, Attribute, Dtype, Kwargs, ModuleId, ModuleTree, NewModule, NodeId, Op, Tensor, TensorKind,
    TensorMeta, Value,
};
use proptest::prelude::*;
use std::fmt;
use std::sync::Arc;

pub mod listing;
pub mod meaning;

/// A module made of the steps; it shrinks by its steps.
pub struct RandomModule {
    pub tree: ModuleTree,
}

impl fmt::Debug for RandomModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&listing::listing(&self.tree))
    }
}

/// One node: what it does, and which nodes it takes.
#[derive(Debug, Clone)]
pub struct Step {
    kind: u8,
    picks: [u16; 3],
    literal: u8,
    told: bool,
}

/// Modules of up to `most` nodes besides inputs and output.
pub fn modules(most: usize) -> impl Strategy<Value = RandomModule> {
    let step = (any::<u8>(), any::<[u16; 3]>(), any::<u8>(), any::<bool>())
        .prop_map(|(kind, picks, literal, told)| Step { kind, picks, literal, told });
    (1usize..4, prop::collection::vec(step, 0..most), any::<u8>(), prop::collection::vec(any::<u16>(), 0..6))
        .prop_map(|(inputs, steps, form, returned)| RandomModule { tree: module(inputs, &steps, form, &returned) })
}

/// Those nodes of the root that can be moved and whose place in the order is picked.
pub fn picked(tree: &ModuleTree, picks: &[u16]) -> Vec<NodeId> {
    let graph = tree.graph(tree.root()).unwrap();
    let movable: Vec<NodeId> =
        graph.nodes().filter(|&node| !matches!(graph[node].op(), Op::Placeholder | Op::Output)).collect();
    if movable.is_empty() {
        return Vec::new();
    }
    picks.iter().map(|&pick| movable[pick as usize % movable.len()]).collect()
}

fn module(inputs: usize, steps: &[Step], form: u8, returned: &[u16]) -> ModuleTree {
    let mut tree = ModuleTree::new("Random");
    let root = tree.root();
    add_members(&mut tree, root);
    let graph = tree.graph_mut(root).unwrap();
    let mut nodes: Vec<NodeId> =
        (0..inputs).map(|position| graph.placeholder(["x", "y", "inputZ"][position % 3]).unwrap()).collect();
    for step in steps {
        let node = add_node(&mut tree, root, &nodes, step);
        nodes.push(node);
    }
    let graph = tree.graph_mut(root).unwrap();
    let mut items: Vec<Argument> =
        returned.iter().map(|&pick| Argument::Node(nodes[pick as usize % nodes.len()])).collect();
    let last = Argument::Node(*nodes.last().unwrap());
    let value = match form % 5 {
        0 => last,
        1 => Argument::List(items.into()),
        2 => Argument::Dict([(Argument::Str(graph.symbols().intern("out")), Argument::Tuple(items.into()))].into()),
        3 => Argument::None,
        _ => {
            items.push(Argument::List([last, Argument::None].into()));
            Argument::Tuple(items.into())
        }
    };
    graph.output(value).unwrap();
    tree
}

fn add_members(tree: &mut ModuleTree, root: ModuleId) {
    let tensor = |seed: u8| {
        let tensor = Tensor::from_bytes(TensorMeta::new(Dtype::Uint8, [4i64]), vec![seed; 4]).unwrap();
        Attribute::Tensor(TensorKind::Parameter, Arc::new(tensor))
    };
    tree.add_module(root, "act", "torch.nn.modules.activation.ReLU", NewModule::Leaf).unwrap();
    tree.set_attribute(root, "act.inplace", Attribute::Value(Argument::Bool(false))).unwrap();
    tree.add_module(root, "layer.0.conv", "torch.nn.modules.conv.Conv2d", NewModule::Leaf).unwrap();
    tree.set_attribute(root, "layer.0.conv.weight", tensor(1)).unwrap();
    tree.set_attribute(root, "layer.0.conv.kernel_size", Attribute::Value(Argument::Int(3))).unwrap();
    tree.set_attribute(root, "scale", tensor(2)).unwrap();
    tree.set_attribute(root, "layer.bias", tensor(3)).unwrap();
    let block = tree.add_module(root, "block", "Block", NewModule::Graph).unwrap();
    tree.set_attribute(block, "w", tensor(4)).unwrap();
    let graph = tree.graph_mut(block).unwrap();
    let x = graph.placeholder("x").unwrap();
    let w = graph.get_attr("w").unwrap();
    let sum = graph.call_function("torch.add", args([x, w].map(Argument::Node)), Kwargs::new()).unwrap();
    let pair = Argument::Tuple([sum, x].map(Argument::Node).into());
    graph.output(pair).unwrap();
}

fn args<const N: usize>(arguments: [Argument; N]) -> Args {
    arguments.into_iter().collect()
}

fn add_node(tree: &mut ModuleTree, root: ModuleId, nodes: &[NodeId], step: &Step) -> NodeId {
    let graph = tree.graph_mut(root).unwrap();
    let [a, b, c] = step.picks.map(|pick| Argument::Node(nodes[pick as usize % nodes.len()]));
    let symbols = graph.symbols().clone();
    let literal = match step.literal % 10 {
        0 => Argument::None,
        1 => Argument::Bool(true),
        2 => Argument::Int(step.literal.into()),
        3 => Argument::Float(-0.0),
        4 => Argument::Float(f64::NAN),
        5 => Argument::Str(symbols.intern("floor")),
        6 => Argument::Dtype(Dtype::Float16),
        7 => Argument::Ellipsis,
        8 => Argument::Complex(Box::new([1.0, f64::INFINITY])),
        _ => Argument::Device(symbols.intern("cuda:0")),
    };
    let key = |name: &str| symbols.intern(name);
    let none = Kwargs::new();
    let (op, target, args, kwargs) = match step.kind % 12 {
        0 => (Op::CallFunction, "torch.add", args([a, b]), none),
        1 => (Op::CallFunction, "torch.relu", args([a]), none),
        2 => {
            let list = Argument::List([a, b, c].into());
            (Op::CallFunction, "torch.cat", args([list]), [(key("dim"), Argument::Int(1))].into())
        }
        3 => (Op::CallMethod, "clamp", args([a, literal]), [(key("max"), b)].into()),
        4 => {
            let slice = Argument::Slice(Box::new([Argument::None, b, Argument::Int(2)]));
            (Op::CallFunction, "_operator.getitem", args([a, Argument::Tuple([slice, literal].into())]), none)
        }
        5 => (Op::GetAttr, ["scale", "layer.bias", "layer.0.conv.weight"][step.literal as usize % 3], args([]), none),
        6 => (Op::CallModule, "layer.0.conv", args([a]), none),
        7 => (Op::CallModule, "act", args([a]), none),
        8 => (Op::CallModule, "block", args([a]), none),
        9 => {
            let dict = Argument::Dict([(Argument::Str(key("k")), Argument::List([b, literal].into()))].into());
            (Op::CallFunction, "mine.function", args([a, dict]), [(key("other"), c)].into())
        }
        10 => (Op::CallMethod, "mul_", args([a, b]), none),
        _ => (Op::CallFunction, "torch.chunk", args([a, Argument::Int(2)]), none),
    };
    let node = graph.create_node(At::Default, op, target, args, kwargs, None).unwrap();
    if step.told {
        let value = Value::Tensor(TensorMeta::new(Dtype::Float32, [i64::from(step.literal), 2]));
        graph.set_value(node, Some(Arc::new(value))).unwrap();
        graph.set_meta(node, "stack_trace", Argument::Str(symbols.intern("somewhere"))).unwrap();
    }
    node
}
