//! Attributes: what `self` leads to, and what values of the graph have.

use super::global::info;
use super::interpreter::Interpreter;
use super::value::{MemberValue, Value};
use crate::ir::{Argument, Attribute, Dim, Member, ModuleId, ModuleTree, Op, Result, Tensor, TensorKind, TensorMeta};
use ruff_text_size::TextRange;
use std::rc::Rc;
use std::sync::Arc;

/// What a tensor has that is called or read, and a module has not: it tells a member of which nothing
/// is known to be a tensor. Sorted.
const TENSOR_ATTRIBUTES: [&str; 44] = [
    "T",
    "bool",
    "chunk",
    "clone",
    "contiguous",
    "cpu",
    "data",
    "detach",
    "device",
    "dim",
    "double",
    "dtype",
    "exp",
    "expand",
    "expand_as",
    "float",
    "half",
    "int",
    "item",
    "long",
    "mT",
    "masked_fill",
    "matmul",
    "mean",
    "ndim",
    "numel",
    "permute",
    "repeat",
    "requires_grad",
    "reshape",
    "select",
    "shape",
    "size",
    "split",
    "sqrt",
    "squeeze",
    "sum",
    "t",
    "to",
    "transpose",
    "type_as",
    "unbind",
    "unsqueeze",
    "view",
];

/// What lies at a path of the module.
enum Found {
    Module(ModuleId),
    Parameter(String),
    Buffer,
    Value(Argument),
}

impl<'a, 's> Interpreter<'a, 's> {
    /// `of.name`
    pub(super) fn attribute_of(&mut self, of: &Value<'a>, name: &str, range: TextRange) -> Result<Value<'a>> {
        match of {
            Value::Plain(Argument::Node(node)) => Ok(self.heap.attribute(*node, name.into())),
            Value::Attribute(_) => {
                let made = self.argument(of, range)?;
                match made {
                    Argument::Node(node) => Ok(self.heap.attribute(node, name.into())),
                    constant => {
                        let constant = self.heap.value(&constant);
                        self.deeper(range, |this| this.attribute_of(&constant, name, range))
                    }
                }
            }
            Value::Member(member) => self.member(&member.clone(), name, range),
            Value::Global(global) => match info(global, name) {
                Some(value) => Ok(Value::Plain(value)),
                None => Ok(Value::Global(format!("{global}.{name}").into())),
            },
            Value::Buffer(path) => match self.buffer_constant(path, name) {
                Some(constant) => Ok(constant),
                None if matches!(name, "T" | "mT" | "H" | "mH" | "data" | "grad" | "real" | "imag") => {
                    let name = Value::Plain(Argument::Str(self.symbols.intern(name)));
                    self.record(Op::CallFunction, "builtins.getattr", vec![of.clone(), name], Vec::new(), range)
                }
                None => Ok(Value::Method(Rc::new((of.clone(), name.into())))),
            },
            Value::Slice(_) if matches!(name, "start" | "stop" | "step") => {
                let parts = self.heap.slice_parts(of);
                let [start, stop, step] = parts;
                Ok(match name {
                    "start" => start,
                    "stop" => stop,
                    _ => step,
                })
            }
            Value::Plain(Argument::Device(device)) if name == "type" => {
                let device = self.symbols.text(*device).split(':').next().unwrap_or_default().to_owned();
                Ok(Value::Plain(Argument::Str(self.symbols.intern(&device))))
            }
            Value::Plain(Argument::Str(_)) | Value::Tuple(_) | Value::List(_) | Value::Dict(_) => {
                Ok(Value::Method(Rc::new((of.clone(), name.into()))))
            }
            other => Err(self.wrong(range, format!("{} has no `{name}` that can be traced", other.kind()))),
        }
    }

    /// `self.name`, and further down.
    fn member(&mut self, member: &MemberValue<'a>, name: &str, range: TextRange) -> Result<Value<'a>> {
        let path = match member.path.as_str() {
            "" => name.to_owned(),
            above => format!("{above}.{name}"),
        };
        if let Some(value) = self.assigned.get(&path) {
            return Ok(value.clone());
        }
        if let Some(class) = member.class {
            if let Some(definition) = self.program.method(class, name) {
                return self.method(member, definition, range);
            }
        }
        if let Some(module) = member.module {
            if let Some(found) = self.find(module, name, &path)? {
                return self.found(found, path, range);
            }
        }
        if let Some(constant) = member.class.and_then(|class| self.program.class_constant(class, name)) {
            let outer = self.open_scope(None);
            let value = self.expression(outer, constant)?;
            self.close_scope(outer);
            return Ok(value);
        }
        if name == "training" {
            return Ok(Value::bool(true)); // as a module is before somebody calls `eval`
        }
        if member.module.is_some() && !self.options.more_members {
            return Err(self.wrong(range, format!("the module has no member `{path}`")));
        }
        if !member.path.is_empty() && TENSOR_ATTRIBUTES.binary_search(&name).is_ok() {
            let tensor = self.member_argument(member, range)?;
            let tensor = self.heap.value(&tensor);
            return self.attribute_of(&tensor, name, range);
        }
        Ok(Value::Member(Rc::new(MemberValue { path, module: None, class: None })))
    }

    /// A method of a class in the text, bound to the module; a property is called.
    fn method(
        &mut self,
        member: &MemberValue<'a>,
        definition: &'a ruff_python_ast::StmtFunctionDef,
        range: TextRange,
    ) -> Result<Value<'a>> {
        let decorated = |name: &str| {
            let mut decorators = definition.decorator_list.iter();
            decorators.any(
                |decorator| matches!(&decorator.expression, ruff_python_ast::Expr::Name(found) if found.id == name),
            )
        };
        let mut function = self.function(definition, None)?;
        if !decorated("staticmethod") {
            let MemberValue { path, module, class } = member;
            let receiver = MemberValue { path: path.clone(), module: *module, class: *class };
            function.receiver = Some(Value::Member(Rc::new(receiver)));
        }
        if decorated("property") {
            return self.inline(&function, Vec::new(), Vec::new(), range);
        }
        Ok(Value::Function(Rc::new(function)))
    }

    fn find(&self, module: ModuleId, name: &str, path: &str) -> Result<Option<Found>> {
        let Some((tree, root)) = self.options.members else { return Ok(None) };
        Ok(match tree.resolve(module, name) {
            None => None,
            Some(Member::Module(id)) => Some(Found::Module(id)),
            Some(Member::Attribute(Attribute::Tensor(TensorKind::Parameter, tensor))) => {
                // Parameters that are one tensor are read under the first of their names.
                let first = first_parameter(tree, root, tensor);
                Some(Found::Parameter(first.unwrap_or_else(|| path.to_owned())))
            }
            Some(Member::Attribute(Attribute::Tensor(..))) => Some(Found::Buffer),
            Some(Member::Attribute(Attribute::Value(value))) => {
                Some(Found::Value(value.transfer_literal(tree.symbols(), &self.symbols)?))
            }
        })
    }

    /// The type of a module that was given.
    pub(super) fn type_name(&self, module: ModuleId) -> &'s str {
        let Some((tree, _)) = self.options.members else { return "" };
        tree.get(module).map(|module| tree.symbols().text(module.type_name())).unwrap_or_default()
    }

    /// The names of the modules in one that was given, in order.
    pub(super) fn child_names(&self, module: ModuleId) -> Vec<&'s str> {
        let Some((tree, _)) = self.options.members else { return Vec::new() };
        let Ok(module) = tree.get(module) else { return Vec::new() };
        module.submodules().keys().map(|name| tree.symbols().text(*name)).collect()
    }

    fn found(&mut self, found: Found, path: String, range: TextRange) -> Result<Value<'a>> {
        Ok(match found {
            Found::Module(id) => {
                let class = self.program.class(self.type_name(id).rsplit('.').next().unwrap_or_default());
                Value::Member(Rc::new(MemberValue { path, module: Some(id), class }))
            }
            Found::Parameter(path) => {
                let argument = self.parameter(&path, range)?;
                self.heap.value(&argument)
            }
            Found::Buffer => Value::Buffer(path.into()),
            Found::Value(value) => self.heap.value(&value),
        })
    }

    /// The one node that reads a parameter.
    fn parameter(&mut self, path: &str, range: TextRange) -> Result<Argument> {
        if let Some(made) = self.parameters.get(path) {
            return Ok(made.clone());
        }
        let made = self.get_attr(path, range)?;
        self.parameters.insert(path.to_owned(), made.clone());
        Ok(made)
    }

    pub(super) fn get_attr(&mut self, path: &str, range: TextRange) -> Result<Argument> {
        let made = self.record(Op::GetAttr, path, Vec::new(), Vec::new(), range)?;
        self.argument(&made, range)
    }

    /// A member that is passed to an operation: a module that is known, else a tensor.
    pub(super) fn member_argument(&mut self, member: &MemberValue<'a>, range: TextRange) -> Result<Argument> {
        match member.module {
            None => self.parameter(&member.path.clone(), range),
            Some(_) if member.path.is_empty() => Err(self.wrong(range, "`self` is no value that a graph can hold")),
            Some(_) => self.get_attr(&member.path, range),
        }
    }

    /// Whether a value is a member of which only its use tells that it is a tensor.
    pub(super) fn is_tensor_member(&self, value: &Value<'a>) -> bool {
        matches!(value, Value::Member(member) if member.module.is_none())
    }

    /// The modules in a module, in order.
    pub(super) fn children(&mut self, member: &MemberValue<'a>, range: TextRange) -> Result<Vec<Value<'a>>> {
        let Some(module) = member.module else {
            let message = format!("what `self.{}` holds is not known: give the module", member.path);
            return Err(self.wrong(range, message));
        };
        let names = self.child_names(module);
        self.steps_taken(names.len(), range)?;
        names.iter().map(|name| self.member(member, name, range)).collect()
    }

    /// `self.layers[index]`
    pub(super) fn child_at(
        &mut self,
        member: &MemberValue<'a>,
        index: &Value<'a>,
        range: TextRange,
    ) -> Result<Value<'a>> {
        match index {
            Value::Plain(Argument::Str(name)) => {
                let name = self.symbols.text(*name).to_owned();
                self.member(member, &name, range)
            }
            Value::Slice(_) => {
                let children = self.children(member, range)?;
                let positions = self.slice_positions(&self.heap.slice_parts(index), children.len(), range)?;
                let taken = positions.into_iter().filter_map(|at| children.get(at).cloned()).collect();
                Ok(self.heap.list(taken))
            }
            index => {
                let children = self.children(member, range)?;
                let at = self.position(index, children.len());
                let message = format!("`self.{}` holds {} modules, and none there", member.path, children.len());
                at.and_then(|at| children.get(at).cloned()).ok_or_else(|| self.wrong(range, message))
            }
        }
    }

    /// `of.name = value`: a module remembers it while the text runs.
    pub(super) fn set_attribute(
        &mut self,
        of: &Value<'a>,
        name: &str,
        value: Value<'a>,
        range: TextRange,
    ) -> Result<()> {
        match of {
            Value::Member(member) => {
                let path = if member.path.is_empty() { name.to_owned() } else { format!("{}.{name}", member.path) };
                self.assigned.insert(path, value);
                Ok(())
            }
            other => Err(self.wrong(range, format!("an attribute of {} cannot be set in a graph", other.kind()))),
        }
    }

    /// What is known of a tensor that the module holds.
    pub(super) fn buffer_constant(&mut self, path: &str, name: &str) -> Option<Value<'a>> {
        let (tree, root) = self.options.members?;
        let Ok(Attribute::Tensor(_, tensor)) = tree.attribute(root, path) else { return None };
        let meta: &TensorMeta = tensor.meta();
        let sizes = || {
            let size = |dim: &Dim| match dim {
                Dim::Int(size) => Some(Value::int(*size)),
                Dim::Sym(_) => None,
            };
            meta.shape.iter().map(size).collect::<Option<Vec<_>>>()
        };
        Some(match name {
            "shape" => {
                let sizes = sizes()?;
                self.heap.tuple(sizes)
            }
            "ndim" => Value::int(meta.shape.len() as i64),
            "dtype" => Value::Plain(Argument::Dtype(meta.dtype)),
            "device" => Value::Plain(Argument::Device(self.symbols.intern(meta.device.as_deref()?))),
            _ => return None,
        })
    }
}

/// The path of the first parameter that is this tensor, in the order of torch's `named_parameters`.
fn first_parameter(tree: &ModuleTree, root: ModuleId, tensor: &Arc<Tensor>) -> Option<String> {
    tree.modules_below(root).find_map(|id| {
        let module = tree.get(id).ok()?;
        let (name, _) = module.attributes().iter().find(|(_, attribute)| {
            matches!(attribute, Attribute::Tensor(TensorKind::Parameter, other) if Arc::ptr_eq(other, tensor))
        })?;
        let name = tree.symbols().text(*name);
        let above = tree.path(id, root).ok()?;
        Some(if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") })
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn tensor_attributes_are_sorted() {
        assert!(super::TENSOR_ATTRIBUTES.is_sorted());
    }
}
