//! What a module computes, as a term: two modules that mean the same compute the same, however
//! their operations are spread over submodules.

use fxir::ir::{Argument, Attribute, Graph, Member, ModuleId, ModuleTree, NodeId, Op};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A tuple whose items are known, or a value that is known by how it was computed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Term {
    Value(u64),
    Tuple(Vec<Term>),
}

/// What the root returns for inputs that are told apart by their position; and the operations
/// that were done for it or beside it, sorted.
pub fn meaning(tree: &ModuleTree) -> (Term, Vec<u64>) {
    let mut done = Vec::new();
    let inputs: Vec<Term> = (0..16).map(|position| Term::Value(hash(&("input", position)))).collect();
    let returned = call(tree, tree.root(), &inputs, &mut done);
    done.sort_unstable();
    (returned, done)
}

fn call(tree: &ModuleTree, module: ModuleId, inputs: &[Term], done: &mut Vec<u64>) -> Term {
    let graph = tree.graph(module).unwrap();
    let mut terms: Vec<Option<Term>> = vec![None; graph.slot_count()];
    let mut inputs = inputs.iter();
    for node in graph.nodes() {
        let found = &graph[node];
        let mut arguments: Vec<Term> = found.args().iter().map(|argument| of(graph, argument, &terms)).collect();
        for (key, argument) in found.kwargs() {
            arguments.push(Term::Value(hash(&graph.text(*key))));
            arguments.push(of(graph, argument, &terms));
        }
        let term = match found.op() {
            Op::Output => return arguments.remove(0),
            Op::Placeholder => inputs.next().unwrap().clone(),
            Op::GetAttr => Term::Value(member(tree, module, graph.target(node))),
            Op::CallModule => {
                let called = tree.submodule(module, graph.target(node)).unwrap();
                match tree.get(called).unwrap().graph() {
                    Some(_) => call(tree, called, &arguments, done),
                    None => operation(&("module", tree.get(called).unwrap().origin(), arguments), done),
                }
            }
            Op::CallFunction | Op::CallMethod => {
                match (graph.target(node), arguments.as_slice(), found.args().get(1)) {
                    ("_operator.getitem", [Term::Tuple(items), _], Some(Argument::Int(index))) => {
                        items[*index as usize].clone()
                    }
                    (target, arguments, _) => operation(&(found.op().name(), target, arguments), done),
                }
            }
        };
        terms[node.slot()] = Some(term);
    }
    panic!("the graph has no output")
}

fn operation(what: &impl Hash, done: &mut Vec<u64>) -> Term {
    let value = hash(what);
    done.push(value);
    Term::Value(value)
}

fn member(tree: &ModuleTree, module: ModuleId, path: &str) -> u64 {
    match tree.resolve(module, path).unwrap() {
        Member::Module(module) => hash(&("module", tree.get(module).unwrap().origin())),
        Member::Attribute(Attribute::Tensor(_, tensor)) => hash(&("tensor", Arc::as_ptr(tensor) as usize)),
        Member::Attribute(Attribute::Value(value)) => hash(&("value", format!("{value:?}"))),
    }
}

fn of(graph: &Graph, argument: &Argument, terms: &[Option<Term>]) -> Term {
    let all = |items: &[Argument]| items.iter().map(|item| of(graph, item, terms)).collect::<Vec<_>>();
    let node = |node: NodeId| terms[node.slot()].clone().expect("a definition before its use");
    match argument {
        Argument::Node(id) => node(*id),
        Argument::Tuple(items) => Term::Tuple(all(items)),
        Argument::List(items) => Term::Value(hash(&("list", all(items)))),
        Argument::Slice(parts) => Term::Value(hash(&("slice", all(parts.as_ref())))),
        Argument::Dict(entries) => {
            let entries: Vec<(Term, Term)> =
                entries.iter().map(|(key, value)| (of(graph, key, terms), of(graph, value, terms))).collect();
            Term::Value(hash(&("dict", entries)))
        }
        literal => Term::Value(hash(&super::listing::show(graph, literal))),
    }
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}
