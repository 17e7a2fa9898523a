//! Statements: what they bind, and what they make.

use super::expression::flat;
use super::function::Function;
use crate::formats::python::operators::operator_name;
use crate::formats::python::pytree::Pytree;
use crate::ir::{Args, Argument, Kwargs, NodeId, Op, Result};
use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

impl Function<'_, '_> {
    /// Runs through the statement at `index`; returns the index of the next one, as some take two.
    pub(super) fn statement(&mut self, statements: &[Stmt], index: usize) -> Result<usize> {
        let Some(statement) = statements.get(index) else { return Ok(index + 1) };
        match statement {
            Stmt::Assign(assign) => {
                let value = &*assign.value;
                if value.is_none_literal_expr() && assign.targets.iter().all(Expr::is_name_expr) {
                    return Ok(index + 1); // names are cleared
                }
                match assign.targets.as_slice() {
                    [Expr::Name(target)] => self.assign(target.id.as_str(), value, None)?,
                    [Expr::Subscript(target)] => {
                        let x = self.argument(&target.value)?;
                        let position = self.argument(&target.slice)?;
                        let args = Args::from_iter([x, position, self.argument(value)?]);
                        return self.in_place(statements, index, "_operator.setitem", args, &target.value);
                    }
                    [Expr::Tuple(targets)] => self.unpack(&targets.elts, value, assign.range)?,
                    [Expr::List(targets)] => self.unpack(&targets.elts, value, assign.range)?,
                    targets => {
                        let made = self.value(value, None)?;
                        for target in targets {
                            let Expr::Name(target) = target else {
                                return Err(self.wrong(target, "only names can be assigned to here"));
                            };
                            self.bind(target.id.as_str(), made.clone());
                        }
                    }
                }
            }
            Stmt::AnnAssign(assign) => {
                let Expr::Name(target) = &*assign.target else {
                    return Err(self.wrong(&*assign.target, "only names can be annotated"));
                };
                let name = target.id.as_str();
                match &assign.value {
                    Some(value) => self.assign(name, value, Some(&assign.annotation))?,
                    None => match self.variable(name, target.range)? {
                        Argument::Node(node) => self.annotate(node, &assign.annotation)?,
                        _ => return Err(self.wrong(target, "only nodes can be annotated")),
                    },
                }
            }
            Stmt::AugAssign(assign) => {
                let operator = operator_name(assign.op);
                // In place only as torch prints it, `x += y;  iadd = x`. Traced Python adds, and binds anew.
                let target = match naming(statements, index, &assign.target) {
                    Some(_) => format!("_operator.i{}", operator.trim_end_matches('_')),
                    None => format!("_operator.{operator}"),
                };
                let args = Args::from_iter([self.argument(&assign.target)?, self.argument(&assign.value)?]);
                return self.in_place(statements, index, &target, args, &assign.target);
            }
            Stmt::Return(returned) => self.output(returned.value.as_deref(), returned.range)?,
            Stmt::Expr(expression) if flat(&expression.value) => {} // a docstring, an ellipsis
            Stmt::Expr(expression) => {
                self.value(&expression.value, None)?;
            }
            Stmt::Assert(assertion) => {
                let message = match &assertion.msg {
                    Some(message) => self.argument(message)?,
                    None => Argument::Str(self.tree.symbols().intern("")),
                };
                let args = Args::from_iter([self.argument(&assertion.test)?, message]);
                self.create(Op::CallFunction, "torch._assert", args, Kwargs::new(), None, assertion.range)?;
            }
            Stmt::Pass(_) => {}
            other => {
                let message =
                    "a statement that a graph cannot hold: it has assignments, calls and a return, no control flow";
                return Err(self.wrong(other, message));
            }
        }
        Ok(index + 1)
    }

    fn assign(&mut self, name: &str, value: &Expr, annotation: Option<&Expr>) -> Result<()> {
        if let Expr::Name(source) = value {
            let key = self.key(source.id.as_str());
            if let Some(node) = self.parameters.remove(&key) {
                // The parameter's node has a name of its own.
                self.graph()?.rename(node, name)?;
                self.bind(name, Argument::Node(node));
                return Ok(());
            }
        }
        let made = self.value(value, Some(name))?;
        if let (Some(annotation), Argument::Node(node)) = (annotation, &made) {
            self.annotate(*node, annotation)?;
        }
        self.bind(name, made);
        Ok(())
    }

    /// `x += y;  iadd = x`: the node is named by the statement that follows. Alone, it is bound to `x`.
    fn in_place(
        &mut self,
        statements: &[Stmt],
        index: usize,
        target: &str,
        args: Args,
        changed: &Expr,
    ) -> Result<usize> {
        let named = naming(statements, index, changed);
        let name = named.map(|(name, _)| name);
        let node = self.create(Op::CallFunction, target, args, Kwargs::new(), name, changed.range())?;
        if let Some((_, Some(annotation))) = named {
            self.annotate(node, annotation)?;
        }
        match (name, changed) {
            (Some(name), _) => self.bind(name, Argument::Node(node)),
            (None, Expr::Name(x)) => self.bind(x.id.as_str(), Argument::Node(node)),
            _ => {}
        }
        Ok(index + 1 + usize::from(name.is_some()))
    }

    fn unpack(&mut self, targets: &[Expr], value: &Expr, range: TextRange) -> Result<()> {
        if self.slice(value.range()).starts_with("fx_pytree.") {
            let line = self.slice(range).to_owned();
            if let Some((_, bindings)) = &mut self.pytree {
                bindings.push(line);
            }
            return self.flatten(targets);
        }
        let whole = self.value(value, None)?;
        for (position, target) in targets.iter().enumerate() {
            let Expr::Name(target) = target else {
                return Err(self.wrong(target, "only names can be assigned to here"));
            };
            let name = target.id.as_str();
            let made = match &whole {
                Argument::Tuple(items) | Argument::List(items) if items.len() == targets.len() => {
                    items[position].clone()
                }
                _ => {
                    let args = Args::from_iter([whole.clone(), Argument::Int(position as i64)]);
                    let kwargs = Kwargs::new();
                    let range = target.range;
                    Argument::Node(self.create(
                        Op::CallFunction,
                        "_operator.getitem",
                        args,
                        kwargs,
                        Some(name),
                        range,
                    )?)
                }
            };
            self.bind(name, made);
        }
        Ok(())
    }

    /// The inputs are what a pytree is flattened to, and no longer the parameters.
    fn flatten(&mut self, targets: &[Expr]) -> Result<()> {
        let mut replaced: Vec<NodeId> = self.graph()?.placeholders().collect();
        for target in targets {
            let Expr::Name(target) = target else {
                return Err(self.wrong(target, "only names can be assigned to here"));
            };
            let name = target.id.as_str();
            let key = self.key(name);
            match self.parameters.get(&key) {
                Some(&node) => {
                    replaced.retain(|&other| other != node);
                    self.graph()?.move_to_end(node)?;
                }
                None => {
                    let (args, kwargs) = (Args::new(), Kwargs::new());
                    let node = self.create(Op::Placeholder, name, args, kwargs, Some(name), target.range)?;
                    self.names.insert(key, Argument::Node(node));
                    self.parameters.insert(key, node);
                }
            }
        }
        for node in replaced {
            let name = self.graph()?[node].name();
            self.parameters.remove(&name);
            self.names.remove(&name);
            self.graph()?.erase_node(node)?;
        }
        Ok(())
    }

    fn output(&mut self, value: Option<&Expr>, range: TextRange) -> Result<()> {
        let mut value = value;
        if let Some(Expr::Call(call)) = value {
            if self.slice(call.func.range()) == "pytree.tree_unflatten" {
                if let (Some(outputs), Some((function, bindings))) = (call.arguments.args.first(), self.pytree.take()) {
                    let text = self.slice(TextRange::new(call.range_start, range.end())).to_owned();
                    let inner = self.slice(outputs.range()).to_owned();
                    if let Some(returned) = text.split_once(&inner) {
                        let bindings = bindings.iter().map(String::as_str).collect();
                        let header = Pytree { function: &function, bindings, returned }.header();
                        self.graph()?.signature.pytree_header = Some(header);
                    }
                    value = Some(outputs);
                }
            }
        }
        let value = value.map_or(Ok(Argument::None), |value| self.argument(value))?;
        let args = Args::from_iter([value]);
        self.create(Op::Output, "output", args, Kwargs::new(), Some("output"), range)?;
        Ok(())
    }
}

/// The name that the statement behind one that changes `x` gives to what was done: `iadd = x`.
fn naming<'s>(statements: &'s [Stmt], index: usize, changed: &Expr) -> Option<(&'s str, Option<&'s Expr>)> {
    let Expr::Name(x) = changed else { return None };
    match statements.get(index + 1)? {
        Stmt::Assign(next) => match (next.targets.as_slice(), &*next.value) {
            ([Expr::Name(name)], Expr::Name(same)) if same.id == x.id => Some((name.id.as_str(), None)),
            _ => None,
        },
        Stmt::AnnAssign(next) => match (&*next.target, next.value.as_deref()) {
            (Expr::Name(name), Some(Expr::Name(same))) if same.id == x.id => {
                Some((name.id.as_str(), Some(&*next.annotation)))
            }
            _ => None,
        },
        _ => None,
    }
}
