use super::*;
use crate::ir::tensor::{Dim, TensorMeta};
use crate::ir::{
    Args, Argument, Attribute, Dtype, Error, ErrorKind, Graph, Kwargs, ModuleTree, NodeId, Tensor, TensorKind,
};
use std::sync::Arc;

fn tree(fill: impl FnOnce(&mut Graph)) -> ModuleTree {
    let mut tree = ModuleTree::new("GraphModule");
    let root = tree.root();
    fill(tree.graph_mut(root).unwrap());
    tree
}

fn one_call(target: &str, args: &[Argument], kwargs: &[(&str, Argument)]) -> ModuleTree {
    tree(|graph| {
        let x = graph.placeholder("x").unwrap();
        let args: Args = std::iter::once(x.into()).chain(args.iter().cloned()).collect();
        let kwargs: Vec<_> = kwargs.iter().map(|(name, value)| (graph.symbols().intern(name), value.clone())).collect();
        let node = graph.call_function(target, args, Kwargs::from(kwargs)).unwrap();
        graph.output(node.into()).unwrap();
    })
}

fn count(net: &ModuleTree, pattern: &ModuleTree, options: &MatchOptions, callbacks: &mut dyn MatchCallbacks) -> usize {
    let pattern = Pattern::new(pattern, pattern.root()).unwrap();
    match_pattern(net, net.root(), &pattern, options, callbacks).unwrap().len()
}

#[test]
fn operators_are_compared_by_their_schemas_and_others_when_asked() {
    let dims = Argument::List(vec![Argument::Int(1)].into());
    let by_default = MatchOptions::default();
    let by_signature = MatchOptions { normalize_args: true, ..by_default };
    let same = |target: &str, options: &MatchOptions| {
        let (net, pattern) = (
            one_call(target, &[], &[("dim", dims.clone())]),
            one_call(target, &[dims.clone(), Argument::Bool(false)], &[]),
        );
        (count(&net, &pattern, options, &mut ()), count(&pattern, &net, options, &mut ()))
    };
    assert_eq!(same("torch.ops.aten.sum.dim_IntList", &by_default), (1, 1));
    assert_eq!(same("torch.ops.aten.amax.default", &by_default), (1, 1));
    assert_eq!(same("torch.sum", &by_default), (0, 0));
    assert_eq!(same("torch.sum", &by_signature), (1, 1));
    assert_eq!(same("torch.nobody_knows", &by_signature), (0, 0));
}

#[test]
fn the_caller_compares_nodes_and_literals() {
    struct Loose;
    impl MatchCallbacks for Loose {
        fn nodes_are_equal(&mut self, _: usize, _: NodeId, _: NodeId, _: bool) -> Result<bool> {
            Ok(true)
        }
        fn compares_nodes(&self, _: usize) -> bool {
            true
        }
        fn literals_are_equal(&mut self, _: usize, a: &Argument, b: &Argument, equal: bool) -> Result<bool> {
            let is_near = |a: i64, b: i64| (a - b).abs() < 2;
            Ok(equal || matches!((a, b), (Argument::Int(a), Argument::Int(b)) if is_near(*a, *b)))
        }
        fn compares_literals(&self, _: usize) -> bool {
            true
        }
    }
    struct Failing;
    impl MatchCallbacks for Failing {
        fn nodes_are_equal(&mut self, _: usize, _: NodeId, _: NodeId, _: bool) -> Result<bool> {
            Err(Error::new(ErrorKind::Callback(7), "stop"))
        }
        fn compares_nodes(&self, _: usize) -> bool {
            true
        }
    }
    let pattern = one_call("mul", &[Argument::Int(3)], &[]);
    let options = MatchOptions::default();
    for (target, literal, expected) in [("mul", 3, 1), ("div", 4, 1), ("mul", 5, 0)] {
        let net = one_call(target, &[Argument::Int(literal)], &[]);
        assert_eq!(count(&net, &pattern, &options, &mut Loose), expected, "{target} {literal}");
    }
    let prepared = Pattern::new(&pattern, pattern.root()).unwrap();
    let error = match_pattern(&pattern, pattern.root(), &prepared, &options, &mut Failing).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Callback(7));
}

fn reading(values: [u8; 2]) -> ModuleTree {
    let meta = TensorMeta::new(Dtype::Uint8, vec![Dim::Int(2)]);
    let mut tree = tree(|graph| {
        let w = graph.get_attr("w").unwrap();
        let node = graph.call_function("neg", Args::from_iter([w.into()]), Kwargs::new()).unwrap();
        graph.output(node.into()).unwrap();
    });
    let root = tree.root();
    let tensor = Tensor::from_bytes(meta, values.to_vec()).unwrap();
    tree.set_attribute(root, "w", Attribute::Tensor(TensorKind::Buffer, Arc::new(tensor))).unwrap();
    tree
}

#[test]
fn attributes_are_alike_by_kind_or_as_equal_tensors() {
    let by_kind = MatchOptions::default();
    let by_value = MatchOptions { attributes: AttributeMatching::EqualTensors, ..by_kind };
    assert_eq!(count(&reading([1, 2]), &reading([1, 3]), &by_kind, &mut ()), 1);
    assert_eq!(count(&reading([1, 2]), &reading([1, 3]), &by_value, &mut ()), 0);
    assert_eq!(count(&reading([1, 2]), &reading([1, 2]), &by_value, &mut ()), 1);
}

#[test]
fn nodes_are_found_by_the_names_of_a_map() {
    let chain = |with_map: bool| {
        tree(|graph| {
            let x = graph.placeholder("x").unwrap();
            let neg = graph.call_function("neg", Args::from_iter([x.into()]), Kwargs::new()).unwrap();
            let relu = graph.call_function("relu", Args::from_iter([neg.into()]), Kwargs::new()).unwrap();
            let names = [("inner", neg), ("input", x)]
                .map(|(name, node)| (Argument::Str(graph.symbols().intern(name)), Argument::Node(node)));
            let returned = match with_map {
                true => Argument::Tuple(vec![relu.into(), Argument::Dict(names.to_vec().into())].into()),
                false => relu.into(),
            };
            graph.output(returned).unwrap();
        })
    };
    let (net, pattern) = (chain(false), chain(true));
    let pattern = Pattern::with_name_node_map(&pattern, pattern.root()).unwrap();
    let found = match_pattern(&net, net.root(), &pattern, &MatchOptions::default(), &mut ()).unwrap();
    let graph = net.graph(net.root()).unwrap();
    let named: Vec<(&str, &str)> = pattern
        .names()
        .iter()
        .map(|&(name, index)| (name, graph.name(found.get(0).unwrap()[index].node().unwrap())))
        .collect();
    assert_eq!(named, [("inner", "neg"), ("input", "x")]);
    let without = chain(false);
    let error = Pattern::with_name_node_map(&without, without.root()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidArgument);
}

/// `count` negs of one node, some of them returned.
fn star(count: usize, last: &str) -> ModuleTree {
    tree(|graph| {
        let x = graph.placeholder("x").unwrap();
        let hub = graph.call_function("hub", Args::from_iter([x.into()]), Kwargs::new()).unwrap();
        let mut call =
            |target: &str| graph.call_function(target, Args::from_iter([hub.into()]), Kwargs::new()).unwrap();
        let mut rays: Vec<Argument> = (1..count).map(|_| call("neg").into()).collect();
        rays.push(call(last).into());
        graph.output(Argument::Tuple(rays.into())).unwrap();
    })
}

#[test]
fn stars_that_match_and_stars_that_do_not() {
    let options = MatchOptions::default();
    let count = |net: &ModuleTree, pattern: &ModuleTree| count(net, pattern, &options, &mut ());
    assert_eq!(count(&star(2_000, "neg"), &star(2_000, "neg")), 1);
    assert_eq!(count(&star(2_000, "exp"), &star(2_000, "exp")), 1);
    // One ray too many in the pattern, one that nothing meets, one of another kind.
    assert_eq!(count(&star(2_000, "neg"), &star(2_001, "neg")), 0);
    assert_eq!(count(&star(2_000, "neg"), &star(1_000, "exp")), 0);
    assert_eq!(count(&star(2_000, "exp"), &star(2_000, "neg")), 0);
}
