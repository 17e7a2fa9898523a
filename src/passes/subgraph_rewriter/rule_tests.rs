use super::*;
use crate::ir::{Args, Argument, Attribute, ErrorKind, Kwargs, NewModule, NodeId};
use std::sync::Arc;

/// `targets[n](... targets[0](x))`.
fn chain(targets: &[&str]) -> ModuleTree {
    let mut tree = ModuleTree::new("GraphModule");
    let graph = tree.graph_mut(tree.root()).unwrap();
    let mut value = graph.placeholder("x").unwrap();
    for target in targets {
        value = graph.call_function(target, Args::from_iter([value.into()]), Kwargs::new()).unwrap();
    }
    graph.output(value.into()).unwrap();
    tree
}

fn targets(tree: &ModuleTree) -> Vec<String> {
    let graph = tree.graph(tree.root()).unwrap();
    let calls = graph.nodes().filter(|&node| graph[node].op() == crate::ir::Op::CallFunction);
    calls.map(|node| graph.target(node).to_owned()).collect()
}

fn rule<'a>(pattern: &'a Pattern<'a>, replacement: &'a ModuleTree) -> Rule<'a> {
    Rule { replacement: Some((replacement, replacement.root())), ..Rule::new(pattern) }
}

#[test]
fn rules_in_one_walk_share_no_node() {
    let (neg, neg_neg, abs, exp) = (chain(&["neg"]), chain(&["neg", "neg"]), chain(&["abs"]), chain(&["exp"]));
    let (one, two) = (Pattern::new(&neg, neg.root()).unwrap(), Pattern::new(&neg_neg, neg_neg.root()).unwrap());
    let mut net = chain(&["neg", "relu", "neg", "neg"]);
    let root = net.root();
    // At the first of two negs only the rule for one begins, and takes it.
    let found = Rewrite::compute(&net, root, &[rule(&two, &abs), rule(&one, &exp)], &mut ()).unwrap();
    let replaced = found.apply(&mut net).unwrap();
    assert_eq!(targets(&net), ["exp", "relu", "exp", "exp"]);
    assert_eq!(replaced.iter().map(|it| it.matches.len()).collect::<Vec<_>>(), [0, 3]);
    assert_eq!(replaced[1].replacements(2).map(<[NodeId]>::len), Some(1));
}

#[test]
fn rules_settle_or_leave_the_graph_as_it_was() {
    let (neg_neg, neg) = (chain(&["neg", "neg"]), chain(&["neg"]));
    let pattern = Pattern::new(&neg_neg, neg_neg.root()).unwrap();
    let mut net = chain(&["neg"; 9]);
    let root = net.root();
    let error = rewrite_to_fixpoint(&mut net, root, &[rule(&pattern, &neg)], 2, &mut ()).unwrap_err();
    assert_eq!((error.kind, targets(&net).len()), (ErrorKind::Limit, 9));
    let replaced = rewrite_to_fixpoint(&mut net, root, &[rule(&pattern, &neg)], 9, &mut ()).unwrap();
    assert_eq!(targets(&net), ["neg"]);
    assert_eq!(replaced[0].matches.len(), 8);
    let graph = net.graph(root).unwrap();
    let live: Vec<NodeId> = (0..8).flat_map(|index| replaced[0].replacements(index).unwrap().to_vec()).collect();
    assert_eq!(live.len(), 1, "replacements that were replaced in turn are left out");
    assert!(live.iter().all(|&node| graph.contains(node)));
}

fn calling_act(setting: i64) -> ModuleTree {
    let mut tree = ModuleTree::new("GraphModule");
    let root = tree.root();
    let act = tree.add_module(root, "act", "Act", NewModule::Leaf).unwrap();
    tree.set_attribute(act, "setting", Attribute::Value(Argument::Int(setting))).unwrap();
    let graph = tree.graph_mut(root).unwrap();
    let x = graph.placeholder("x").unwrap();
    let y = graph.call_module("act", Args::from_iter([x.into()]), Kwargs::new()).unwrap();
    graph.output(y.into()).unwrap();
    tree
}

#[test]
fn a_member_of_a_taken_name_is_kept_renamed_or_refused() {
    let (neg, replacement) = (chain(&["neg"]), calling_act(2));
    let pattern = Pattern::new(&neg, neg.root()).unwrap();
    let net = || {
        let mut net = calling_act(1);
        let root = net.root();
        let graph = net.graph_mut(root).unwrap();
        let act = graph.prev(graph.output_node().unwrap()).unwrap();
        let neg = graph.call_function("neg", Args::from_iter([act.into()]), Kwargs::new()).unwrap();
        let output = graph.output_node().unwrap();
        graph.move_before(neg, output).unwrap();
        graph.set_args(output, Args::from_iter([neg.into()])).unwrap();
        net
    };
    for (members, path, setting) in [(MemberConflict::Keep, "act", 1), (MemberConflict::Rename, "act_1", 2)] {
        let mut net = net();
        let root = net.root();
        let rule = Rule { members, ..rule(&pattern, &replacement) };
        Rewrite::compute(&net, root, &[rule], &mut ()).unwrap().apply(&mut net).unwrap();
        let graph = net.graph(root).unwrap();
        let last = graph.prev(graph.output_node().unwrap()).unwrap();
        assert_eq!(graph.target(last), path);
        let found = net.attribute(root, &format!("{path}.setting")).unwrap().value().cloned();
        assert!(matches!(found, Some(Argument::Int(it)) if it == setting));
    }
    let net = net();
    let rule = Rule { members: MemberConflict::Refuse, ..rule(&pattern, &replacement) };
    let error = Rewrite::compute(&net, net.root(), &[rule], &mut ()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::AlreadyExists);
}

#[test]
fn a_replacement_is_built_for_each_match() {
    struct Build(usize);
    impl crate::passes::subgraph_matcher::MatchCallbacks for Build {}
    impl RewriteCallbacks for Build {
        fn replacement(
            &mut self,
            _: usize,
            _: &ModuleTree,
            _: &[crate::passes::subgraph_matcher::Binding],
        ) -> Result<Option<(Arc<ModuleTree>, ModuleId)>> {
            self.0 += 1;
            let tree = Arc::new(chain(&vec!["abs"; self.0]));
            Ok((self.0 != 2).then(|| (tree.clone(), tree.root())))
        }
    }
    let neg = chain(&["neg"]);
    let pattern = Pattern::new(&neg, neg.root()).unwrap();
    let mut net = chain(&["neg", "neg", "neg"]);
    let root = net.root();
    let replaced =
        Rewrite::compute(&net, root, &[Rule::new(&pattern)], &mut Build(0)).unwrap().apply(&mut net).unwrap();
    assert_eq!(targets(&net), ["abs", "neg", "abs", "abs", "abs"]);
    assert_eq!(replaced[0].matches.len(), 2);
}

#[test]
fn a_chain_of_a_million_and_a_pattern_of_ten_thousand() {
    let mut targets_of_one = vec!["neg"; 9_999];
    targets_of_one.push("relu");
    let pattern = chain(&targets_of_one);
    let prepared = Pattern::new(&pattern, pattern.root()).unwrap();
    let abs = chain(&["abs"]);
    let mut net = chain(&targets_of_one.repeat(100));
    let root = net.root();
    let found = Rewrite::compute(&net, root, &[rule(&prepared, &abs)], &mut ()).unwrap();
    found.apply(&mut net).unwrap();
    assert_eq!(targets(&net), vec!["abs"; 100]);
}

/// Reads `act.weight` and then calls `act`; both are there.
fn reading_and_calling() -> ModuleTree {
    let mut tree = calling_act(3);
    let root = tree.root();
    tree.set_attribute(root, "act.scale", Attribute::Value(Argument::Int(5))).unwrap();
    let graph = tree.graph_mut(root).unwrap();
    let (x, output) = (graph.placeholders().next().unwrap(), graph.output_node().unwrap());
    let act = graph.prev(output).unwrap();
    let scale = graph.get_attr("act.scale").unwrap();
    graph.move_after(scale, x).unwrap();
    let both = graph.call_function("mul", Args::from_iter([act.into(), scale.into()]), Kwargs::new()).unwrap();
    graph.move_before(both, output).unwrap();
    graph.set_args(output, Args::from_iter([both.into()])).unwrap();
    tree
}

#[test]
fn a_module_brings_along_what_lies_below_it() {
    let (neg, replacement) = (chain(&["neg"]), reading_and_calling());
    let pattern = Pattern::new(&neg, neg.root()).unwrap();
    for (mut net, path) in [(chain(&["neg"]), "act"), (chain(&["neg"]), "act_1")] {
        let root = net.root();
        if path == "act_1" {
            net.add_module(root, "act", "Other", NewModule::Leaf).unwrap();
            let graph = net.graph_mut(root).unwrap();
            let x = graph.placeholders().next().unwrap();
            graph.call_module("act", Args::from_iter([x.into()]), Kwargs::new()).unwrap();
            let output = graph.output_node().unwrap();
            let act = graph.last().unwrap();
            if act != output {
                graph.move_before(act, output).unwrap();
            }
        }
        let rule = Rule { members: MemberConflict::Rename, ..rule(&pattern, &replacement) };
        Rewrite::compute(&net, root, &[rule], &mut ()).unwrap().apply(&mut net).unwrap();
        let module = net.submodule(root, path).unwrap();
        assert_eq!(net.symbols().text(net.get(module).unwrap().type_name()), "Act");
        let graph = net.graph(root).unwrap();
        let read = graph.nodes().find(|&node| graph[node].op() == crate::ir::Op::GetAttr).unwrap();
        assert_eq!(graph.target(read), format!("{path}.scale"));
        assert!(net.attribute(root, graph.target(read)).is_ok());
    }
}
