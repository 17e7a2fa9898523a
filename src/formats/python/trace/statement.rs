//! Statements, run one after the other. Control flow goes where constants lead it.

use super::interpreter::Interpreter;
use super::value::Value;
use crate::formats::python::operators::operator_name;
use crate::ir::{Argument, Op, Result};
use ruff_python_ast::{Expr, Stmt, StmtAssert, StmtAugAssign, StmtFor, StmtIf, StmtWhile, StmtWith};
use ruff_text_size::{Ranged, TextRange};
use std::collections::VecDeque;
use std::rc::Rc;

/// How a block was left.
pub(super) enum Flow<'a> {
    Next,
    Break,
    Continue,
    Return(Value<'a>),
}

impl<'a> Interpreter<'a, '_> {
    pub(super) fn block(&mut self, scope: usize, statements: &'a [Stmt]) -> Result<Flow<'a>> {
        for statement in statements {
            let flow = self.deeper(statement.range(), |this| this.statement(scope, statement))?;
            if !matches!(flow, Flow::Next) {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, scope: usize, statement: &'a Stmt) -> Result<Flow<'a>> {
        match statement {
            Stmt::Expr(expression) => {
                self.expression(scope, &expression.value)?;
            }
            Stmt::Assign(assign) => {
                let value = self.expression(scope, &assign.value)?;
                for target in &assign.targets {
                    self.assign(scope, target, value.clone())?;
                }
            }
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    let value = self.expression(scope, value)?;
                    self.assign(scope, &assign.target, value)?;
                }
            }
            Stmt::AugAssign(assign) => self.augmented(scope, assign)?,
            Stmt::Return(returned) => {
                return Ok(Flow::Return(match &returned.value {
                    Some(value) => self.expression(scope, value)?,
                    None => Value::NONE,
                }));
            }
            Stmt::If(branch) => return self.branch(scope, branch),
            Stmt::For(looped) => return self.looped(scope, looped),
            Stmt::While(looped) => return self.while_loop(scope, looped),
            Stmt::Break(_) => return Ok(Flow::Break),
            Stmt::Continue(_) => return Ok(Flow::Continue),
            Stmt::Assert(assertion) => self.assertion(scope, assertion)?,
            Stmt::With(with) => return self.with(scope, with),
            Stmt::FunctionDef(definition) => {
                let function = self.function(definition, Some(scope))?;
                self.set(scope, definition.name.as_str(), Value::Function(Rc::new(function)));
            }
            Stmt::Delete(delete) => {
                for target in &delete.targets {
                    let Expr::Name(name) = target else {
                        return Err(self.wrong(target, "only names can be deleted here"));
                    };
                    if !self.unset(scope, name.id.as_str()) {
                        return Err(self.wrong(target, format!("the name `{}` is not defined", name.id)));
                    }
                }
            }
            Stmt::Import(_) | Stmt::ImportFrom(_) => self.import(scope, statement),
            Stmt::Pass(_) => {}
            Stmt::Raise(raise) => {
                let what = raise.exc.as_ref().map_or("", |what| self.slice(what.range()));
                return Err(self.wrong(raise, format!("the traced text raises {what}").trim_end()));
            }
            Stmt::Try(attempt) => return Err(self.wrong(attempt, "`try` cannot be traced: a graph raises nothing")),
            other => return Err(self.wrong(other, "a statement that cannot be traced")),
        }
        Ok(Flow::Next)
    }

    fn branch(&mut self, scope: usize, branch: &'a StmtIf) -> Result<Flow<'a>> {
        if self.condition(scope, &branch.test)? {
            return self.block(scope, &branch.body);
        }
        for clause in &branch.elif_else_clauses {
            let is_taken = match &clause.test {
                Some(test) => self.condition(scope, test)?,
                None => true,
            };
            if is_taken {
                return self.block(scope, &clause.body);
            }
        }
        Ok(Flow::Next)
    }

    fn looped(&mut self, scope: usize, looped: &'a StmtFor) -> Result<Flow<'a>> {
        if looped.is_async {
            return Err(self.wrong(looped, "`async for` cannot be traced"));
        }
        let items = self.expression(scope, &looped.iter)?;
        let items = self.iterate(&items, looped.iter.range())?;
        for item in items {
            self.step(looped.range)?;
            self.assign(scope, &looped.target, item)?;
            match self.block(scope, &looped.body)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Ok(Flow::Next),
                Flow::Return(value) => return Ok(Flow::Return(value)),
            }
        }
        self.block(scope, &looped.orelse)
    }

    fn while_loop(&mut self, scope: usize, looped: &'a StmtWhile) -> Result<Flow<'a>> {
        while self.condition(scope, &looped.test)? {
            self.step(looped.range)?;
            match self.block(scope, &looped.body)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Ok(Flow::Next),
                Flow::Return(value) => return Ok(Flow::Return(value)),
            }
        }
        self.block(scope, &looped.orelse)
    }

    /// Contexts that change how torch computes, and nothing that a graph records.
    fn with(&mut self, scope: usize, with: &'a StmtWith) -> Result<Flow<'a>> {
        const PLAIN: [&str; 6] = [
            "torch.no_grad",
            "torch.enable_grad",
            "torch.inference_mode",
            "torch.set_grad_enabled",
            "torch.profiler.record_function",
            "torch.autograd.profiler.record_function",
        ];
        for item in &with.items {
            let name = match &item.context_expr {
                Expr::Call(call) => self.expression(scope, &call.func)?,
                other => self.expression(scope, other)?,
            };
            let is_plain = matches!(&name, Value::Global(name) if PLAIN.contains(&&**name));
            if !is_plain || item.optional_vars.is_some() {
                return Err(self.wrong(item, "a `with` that cannot be traced: a graph has no contexts"));
            }
        }
        self.block(scope, &with.body)
    }

    /// An assertion on a value becomes `torch._assert`; one on a constant is settled here.
    fn assertion(&mut self, scope: usize, assertion: &'a StmtAssert) -> Result<()> {
        let condition = self.expression(scope, &assertion.test)?;
        if condition.is_traced() {
            let message = match &assertion.msg {
                Some(message) => self.expression(scope, message)?,
                None => Value::Plain(Argument::Str(self.symbols.intern(""))),
            };
            let args = vec![condition, message];
            self.record(Op::CallFunction, "torch._assert", args, Vec::new(), assertion.range)?;
            return Ok(());
        }
        match self.truth(&condition, assertion.test.range())? {
            true => Ok(()),
            false => {
                let message = assertion.msg.as_ref().map_or("", |message| self.slice(message.range()));
                let message = format!("the assertion does not hold {message}");
                Err(self.wrong(assertion, message.trim_end()))
            }
        }
    }

    pub(super) fn assign(&mut self, scope: usize, target: &'a Expr, value: Value<'a>) -> Result<()> {
        match target {
            Expr::Name(name) => self.set(scope, name.id.as_str(), value),
            Expr::Tuple(targets) => self.unpack(scope, &targets.elts, &value, targets.range)?,
            Expr::List(targets) => self.unpack(scope, &targets.elts, &value, targets.range)?,
            Expr::Subscript(subscript) => {
                let x = self.expression(scope, &subscript.value)?;
                let index = self.expression(scope, &subscript.slice)?;
                self.set_item(x, index, value, subscript.range)?;
            }
            Expr::Attribute(attribute) => {
                let of = self.expression(scope, &attribute.value)?;
                self.set_attribute(&of, attribute.attr.as_str(), value, attribute.range)?;
            }
            other => return Err(self.wrong(other, "nothing can be assigned to this")),
        }
        Ok(())
    }

    /// `a, b = value`. What a node yields is taken apart by its indices.
    fn unpack(&mut self, scope: usize, targets: &'a [Expr], value: &Value<'a>, range: TextRange) -> Result<()> {
        let starred = targets.iter().position(Expr::is_starred_expr);
        if value.is_proxy() {
            if starred.is_some() {
                return Err(self.wrong(range, "how much a traced value holds is not known: no `*` can take the rest"));
            }
            let mut items = Vec::with_capacity(targets.len());
            for index in 0..targets.len() {
                let args = vec![value.clone(), Value::int(index as i64)];
                items.push(self.record(Op::CallFunction, "_operator.getitem", args, Vec::new(), range)?);
            }
            return targets.iter().zip(items).try_for_each(|(target, item)| self.assign(scope, target, item));
        }
        let mut items = VecDeque::from(self.iterate(value, range)?);
        let is_right = match starred {
            Some(_) => items.len() + 1 >= targets.len(),
            None => items.len() == targets.len(),
        };
        if !is_right {
            let message = format!("{} values for {} names", items.len(), targets.len());
            return Err(self.wrong(range, message));
        }
        for (index, target) in targets.iter().enumerate() {
            let rest = targets.len() - index - 1;
            match target {
                Expr::Starred(starred) => {
                    let taken = items.drain(..items.len() - rest).collect();
                    let taken = self.heap.list(taken);
                    self.assign(scope, &starred.value, taken)?;
                }
                target => {
                    let Some(item) = items.pop_front() else { break };
                    self.assign(scope, target, item)?;
                }
            }
        }
        Ok(())
    }

    /// `x += y`: lists grow in place, all else is bound anew, as torch traces it.
    fn augmented(&mut self, scope: usize, assign: &'a StmtAugAssign) -> Result<()> {
        match &*assign.target {
            Expr::Name(_) => {
                let before = self.expression(scope, &assign.target)?;
                let value = self.expression(scope, &assign.value)?;
                if let (Value::List(list), "add") = (&before, operator_name(assign.op)) {
                    let more = self.iterate(&value, assign.value.range())?;
                    if let Some(items) = self.heap.lists.get_mut(*list) {
                        items.extend(more);
                    }
                    return Ok(());
                }
                let made = self.binary(assign.op, before, value, assign.range)?;
                self.assign(scope, &assign.target, made)
            }
            Expr::Subscript(subscript) => {
                let x = self.expression(scope, &subscript.value)?;
                let index = self.expression(scope, &subscript.slice)?;
                let before = self.item(x.clone(), index.clone(), subscript.range)?;
                let value = self.expression(scope, &assign.value)?;
                let made = self.binary(assign.op, before, value, assign.range)?;
                self.set_item(x, index, made, subscript.range)
            }
            Expr::Attribute(attribute) => {
                let of = self.expression(scope, &attribute.value)?;
                let before = self.attribute_of(&of, attribute.attr.as_str(), attribute.range)?;
                let value = self.expression(scope, &assign.value)?;
                let made = self.binary(assign.op, before, value, assign.range)?;
                self.set_attribute(&of, attribute.attr.as_str(), made, attribute.range)
            }
            other => Err(self.wrong(other, "nothing can be assigned to this")),
        }
    }

    /// Whether the branch is taken.
    pub(super) fn condition(&mut self, scope: usize, test: &'a Expr) -> Result<bool> {
        let value = self.expression(scope, test)?;
        self.truth(&value, test.range())
    }
}
