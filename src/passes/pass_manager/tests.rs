use super::*;
use crate::ir::{Argument, At, Graph, Kwargs, NodeId};
use std::cell::RefCell;

/// `y = relu(x)`, then `dead` unused calls; `y` is returned.
fn net(dead: usize) -> (Arc<ModuleTree>, ModuleId) {
    let mut tree = ModuleTree::new("Net");
    let root = tree.root();
    let graph = tree.graph_mut(root).unwrap();
    let x = graph.placeholder("x").unwrap();
    let y = relu(graph, x);
    for _ in 0..dead {
        relu(graph, y);
    }
    graph.output(Argument::Node(y)).unwrap();
    (Arc::new(tree), root)
}

fn relu(graph: &mut Graph, input: NodeId) -> NodeId {
    graph.call_function("torch.relu", vec![Argument::Node(input)], Kwargs::new()).unwrap()
}

fn with_built_in(names: &[&str]) -> PassManager<'static> {
    let mut manager = PassManager::new();
    for name in names {
        manager.add_pass(name, Box::new(built_in_pass(name).unwrap()));
    }
    manager
}

fn modified(report: &Report) -> Vec<(&str, usize, bool)> {
    report.runs.iter().map(|run| (&*run.name, run.step, run.modified)).collect()
}

#[test]
fn every_built_in_pass_runs_and_says_whether_it_did_anything() {
    let names: Vec<&str> = BUILT_IN_PASSES.iter().map(|(name, _)| name.to_str().unwrap()).collect();
    assert!(names.is_sorted());
    let (mut tree, root) = net(2);
    let options = PassOptions { steps: 3, run_checks_after_each_pass: true, ..PassOptions::default() };
    let report = with_built_in(&names).run(&mut tree, root, options, None).unwrap();
    let first: Vec<&str> = report.runs.iter().filter(|run| run.modified).map(|run| &*run.name).collect();
    assert_eq!(first, ["eliminate_common_subexpressions", "eliminate_dead_code", "normalize_args"]);
    assert_eq!(report.runs.len(), 2 * names.len(), "the second round changes nothing, so there is no third");
    let counts = |name: &str| {
        let run = report.runs.iter().find(|run| *run.name == *name).unwrap();
        (run.nodes_before, run.nodes_after)
    };
    assert_eq!(counts("eliminate_common_subexpressions"), (5, 4));
    assert_eq!(counts("eliminate_dead_code"), (4, 3));
    assert!(report.modified());
    assert!(report.to_string().contains("4 -> 3"), "{report}");
}

#[test]
fn a_pass_without_work_leaves_the_very_tree() {
    let (mut tree, root) = net(0);
    let before = Arc::clone(&tree);
    let report = with_built_in(&["legalize_graph", "eliminate_dead_code"])
        .run(&mut tree, root, PassOptions::default(), None)
        .unwrap();
    assert_eq!(modified(&report), [("legalize_graph", 0, false), ("eliminate_dead_code", 0, false)]);
    assert!(!report.modified());
    assert!(Arc::ptr_eq(&before, &tree));
}

#[test]
fn a_change_that_is_taken_back_is_none() {
    let (mut tree, root) = net(0);
    let mut manager = PassManager::new();
    manager.add_pass(
        "to and fro",
        Box::new(|tree, module| {
            let graph = tree.graph_mut(module)?;
            let node = graph.get_attr("nothing")?;
            graph.erase_node(node)
        }),
    );
    assert!(!manager.run(&mut tree, root, PassOptions::default(), None).unwrap().modified());
}

#[test]
fn a_failure_names_the_pass_and_changes_nothing() {
    let (mut tree, root) = net(2);
    let before = Arc::clone(&tree);
    let mut manager = with_built_in(&["eliminate_dead_code"]);
    manager.add_pass("mine", Box::new(|_, _| Err(Error::new(ErrorKind::Callback(7), "no"))));
    let error = manager.run(&mut tree, root, PassOptions::default(), None).unwrap_err();
    assert_eq!((error.kind, &*error.message), (ErrorKind::Callback(7), "pass 1, \"mine\": no"));
    assert!(Arc::ptr_eq(&before, &tree));
}

#[test]
fn lint_stops_or_is_told() {
    let out_of_order: fn(&mut ModuleTree, ModuleId) -> Result<()> = |tree, module| {
        let graph = tree.graph_mut(module)?;
        let x = graph.first().unwrap();
        let y = graph.next(x).unwrap();
        graph.move_before(y, x)
    };
    let manager = || {
        let mut manager = PassManager::new();
        manager.add_pass("twist", Box::new(out_of_order));
        manager.add_pass("legalize", Box::new(built_in_pass("legalize").unwrap()));
        manager
    };
    let (mut tree, root) = net(0);
    assert!(manager().run(&mut tree, root, PassOptions::default(), None).unwrap().modified());
    let mut options = PassOptions { run_checks_after_each_pass: true, ..PassOptions::default() };
    let error = manager().run(&mut tree, root, options, None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Lint);
    assert!(error.message.starts_with("pass 0, \"twist\": what it left does not hold: node "), "{error}");
    assert!(error.node.is_some());
    options.suppress_check_failures = true;
    let report = manager().run(&mut tree, root, options, None).unwrap();
    assert!(report.runs[0].check_failure.as_ref().unwrap().contains("node"));
    assert!(report.runs[1].check_failure.is_none());
    lint::lint(&tree, root).unwrap();
}

#[test]
fn dumps_see_before_and_after_and_may_stop() {
    let (mut tree, root) = net(2);
    let before = Arc::clone(&tree);
    let seen = RefCell::new(Vec::new());
    let mut dump = |moment: Moment, run: &PassRun, tree: &Arc<ModuleTree>| {
        seen.borrow_mut().push((moment, run.index, run.modified, tree.graph(root)?.len()));
        match seen.borrow().len() {
            4 => Err(Error::new(ErrorKind::Callback(1), "enough")),
            _ => Ok(()),
        }
    };
    let mut manager = with_built_in(&["eliminate_dead_code", "legalize"]);
    let error = manager.run(&mut tree, root, PassOptions::default(), Some(&mut dump)).unwrap_err();
    assert_eq!(error.message, "pass 1, \"legalize\": enough");
    assert_eq!(
        *seen.borrow(),
        [
            (Moment::Before, 0, false, 5),
            (Moment::After, 0, true, 3),
            (Moment::Before, 1, false, 3),
            (Moment::After, 1, false, 3)
        ]
    );
    assert!(Arc::ptr_eq(&before, &tree));
}

#[test]
fn steps_end_when_nothing_changes() {
    let (mut tree, root) = net(0);
    let mut manager = PassManager::new();
    manager.add_pass(
        "grow to six",
        Box::new(|tree, module| {
            let graph = tree.graph_mut(module)?;
            if graph.len() < 6 {
                let x = graph.first().unwrap();
                graph.create_node(
                    At::After(x),
                    crate::ir::Op::GetAttr,
                    "p",
                    Default::default(),
                    Kwargs::new(),
                    None,
                )?;
            }
            Ok(())
        }),
    );
    let run = |manager: &mut PassManager<'_>, tree: &mut Arc<ModuleTree>, steps| {
        manager.run(tree, root, PassOptions { steps, ..PassOptions::default() }, None).unwrap().runs.len()
    };
    assert_eq!(run(&mut manager, &mut tree, 0), 0);
    assert_eq!(run(&mut manager, &mut tree, 2), 2);
    assert_eq!(run(&mut manager, &mut tree, 100), 2);
    assert_eq!(tree.graph(root).unwrap().len(), 6);
}

#[test]
fn a_module_without_a_graph_is_refused() {
    let (tree, _) = net(0);
    let mut tree = (*tree).clone();
    let leaf = tree.add_module(tree.root(), "leaf", "Leaf", crate::ir::NewModule::Leaf).unwrap();
    let error = PassManager::new().run(&mut Arc::new(tree), leaf, PassOptions::default(), None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidArgument);
}

fn ordered(names: &[&str], constraints: &[(&str, &str)]) -> (Result<()>, Result<Vec<usize>>) {
    let mut manager = PassManager::new();
    names.iter().for_each(|name| manager.add_pass(name, Box::new(|_, _| Ok(()))));
    constraints.iter().for_each(|(before, after)| manager.add_constraint(before, after).unwrap());
    (manager.validate_constraints(), manager.solve_constraints())
}

#[test]
fn constraints_order_passes_and_no_more_than_needed() {
    assert_eq!(
        ordered(&["a", "b", "c"], &[("a", "c"), ("nothing", "a"), ("c", "nothing")]),
        (Ok(()), Ok(vec![0, 1, 2]))
    );
    let (valid, order) = ordered(&["a", "b", "c", "b"], &[("c", "b")]);
    assert_eq!(valid.unwrap_err().message, "pass 2, \"c\", has to come before pass 1, \"b\"");
    assert_eq!(order, Ok(vec![0, 2, 1, 3]));
    let (_, order) = ordered(&["a", "b", "a", "c"], &[("c", "b"), ("b", "a")]);
    assert_eq!(order, Ok(vec![3, 1, 0, 2]));
    let (valid, order) = ordered(&["x", "a", "b", "c", "d"], &[("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]);
    assert!(valid.is_err());
    assert_eq!(order.unwrap_err().message, "each of these passes has to come before the next: a -> b -> c -> a");
    assert!(PassManager::new().add_constraint("a", "a").is_err());
}
