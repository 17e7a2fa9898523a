//! Lists, tuples, dicts and strings as Python keeps them while it traces.

use super::constant;
use super::interpreter::Interpreter;
use super::operator::range_length;
use super::value::Value;
use crate::formats::python::globals;
use crate::formats::python::repr::str_text;
use crate::ir::{Argument, Op, Result};
use ruff_python_ast::{CmpOp, Operator};
use ruff_text_size::TextRange;

impl<'a> Interpreter<'a, '_> {
    /// What a loop goes over.
    pub(super) fn iterate(&mut self, value: &Value<'a>, range: TextRange) -> Result<Vec<Value<'a>>> {
        let items = match value {
            Value::Tuple(_) | Value::List(_) => self.heap.items(value).unwrap_or_default(),
            Value::Dict(dict) => {
                let entries = self.heap.dicts.get(*dict);
                entries.map(|entries| entries.iter().map(|(key, _)| key.clone()).collect()).unwrap_or_default()
            }
            Value::Plain(Argument::Range(parts)) => {
                let length = range_length(parts);
                self.steps_taken(usize::try_from(length).unwrap_or(usize::MAX), range)?;
                let [start, _, step] = **parts;
                (0..length).map(|index| Value::int(start.wrapping_add(step.wrapping_mul(index as i64)))).collect()
            }
            Value::Plain(Argument::Str(text)) => {
                let text = self.symbols.text(*text).to_owned();
                self.steps_taken(text.len(), range)?;
                let mut buffer = [0; 4];
                let letter = |letter: char| self.symbols.intern(letter.encode_utf8(&mut buffer));
                text.chars().map(letter).map(|symbol| Value::Plain(Argument::Str(symbol))).collect()
            }
            Value::Member(member) => return self.children(member, range),
            value if value.is_traced() => {
                let what = self.slice(range);
                let message =
                    format!("how much `{what}` holds is known only when the graph runs: it cannot be gone over");
                return Err(self.wrong(range, message));
            }
            value => return Err(self.wrong(range, format!("{} cannot be gone over", value.kind()))),
        };
        self.steps_taken(items.len(), range)?;
        Ok(items)
    }

    /// `+` and `*` of lists and tuples.
    pub(super) fn sequences(
        &mut self,
        operator: Operator,
        left: &Value<'a>,
        right: &Value<'a>,
        range: TextRange,
    ) -> Result<Option<Value<'a>>> {
        let (items, is_list) = match (operator, left, right) {
            (Operator::Add, Value::List(_), Value::List(_)) | (Operator::Add, Value::Tuple(_), Value::Tuple(_)) => {
                let mut items = self.heap.items(left).unwrap_or_default();
                items.extend(self.heap.items(right).unwrap_or_default());
                (items, matches!(left, Value::List(_)))
            }
            (Operator::Mult, sequence @ (Value::List(_) | Value::Tuple(_)), Value::Plain(Argument::Int(times)))
            | (Operator::Mult, Value::Plain(Argument::Int(times)), sequence @ (Value::List(_) | Value::Tuple(_))) => {
                let once = self.heap.items(sequence).unwrap_or_default();
                let times = usize::try_from(*times).unwrap_or(0);
                self.steps_taken(times.saturating_mul(once.len().max(1)), range)?;
                let repeated = std::iter::repeat_n(once, times).flatten().collect();
                (repeated, matches!(sequence, Value::List(_)))
            }
            _ => return Ok(None),
        };
        self.steps_taken(items.len(), range)?;
        Ok(Some(match is_list {
            true => self.heap.list(items),
            false => self.heap.tuple(items),
        }))
    }

    pub(super) fn length(&mut self, value: &Value<'a>, range: TextRange) -> Result<i64> {
        Ok(match value {
            Value::Tuple(_) | Value::List(_) => self.heap.items(value).map_or(0, |items| items.len()) as i64,
            Value::Dict(dict) => self.heap.dicts.get(*dict).map_or(0, Vec::len) as i64,
            Value::Plain(Argument::Str(text)) => self.symbols.text(*text).chars().count() as i64,
            Value::Plain(Argument::Range(parts)) => i64::try_from(range_length(parts)).unwrap_or(i64::MAX),
            Value::Member(member) => self.children(member, range)?.len() as i64,
            value if value.is_traced() => {
                let message = "the length of a traced value is known only when the graph runs; \
                               `wrap(\"len\")` has the call recorded";
                return Err(self.wrong(range, message));
            }
            value => return Err(self.wrong(range, format!("{} has no length", value.kind()))),
        })
    }

    /// `of[index]`
    pub(super) fn item(&mut self, of: Value<'a>, index: Value<'a>, range: TextRange) -> Result<Value<'a>> {
        if let Value::Buffer(_) = of {
            return self.record(Op::CallMethod, "__getitem__", vec![of, index], Vec::new(), range);
        }
        if of.is_traced() || self.is_tensor_member(&of) {
            return self.record(Op::CallFunction, "_operator.getitem", vec![of, index], Vec::new(), range);
        }
        if index.is_traced() {
            return Err(self.wrong(range, format!("{} has no item at a traced value", of.kind())));
        }
        match (&of, &index) {
            (Value::Dict(dict), key) => {
                let entries = self.heap.dicts.get(*dict).cloned().unwrap_or_default();
                match self.find_entry(&entries, key, range)? {
                    Some(at) => Ok(entries[at].1.clone()),
                    None => Err(self.wrong(range, "the dict has no such key")),
                }
            }
            (Value::Member(member), _) => self.child_at(member, &index, range),
            (Value::Global(name), _) if name.starts_with("typing.") || is_generic(name) => Ok(of.clone()),
            (_, Value::Slice(_)) => {
                let items = self.sequence_of(&of, range)?;
                let taken = self.slice_positions(&self.heap.slice_parts(&index), items.len(), range)?;
                let taken: Vec<Value<'a>> = taken.into_iter().filter_map(|at| items.get(at).cloned()).collect();
                Ok(match of {
                    Value::List(_) => self.heap.list(taken),
                    Value::Plain(Argument::Str(_)) => {
                        let text: String = taken.iter().filter_map(|item| self.text_of(item)).collect();
                        Value::Plain(Argument::Str(self.symbols.intern(&text)))
                    }
                    _ => self.heap.tuple(taken),
                })
            }
            (_, Value::Plain(Argument::Int(_) | Argument::Bool(_))) => {
                let items = self.sequence_of(&of, range)?;
                let at = self.position(&index, items.len());
                at.and_then(|at| items.get(at).cloned()).ok_or_else(|| {
                    self.wrong(range, format!("{} with {} items has no such item", of.kind(), items.len()))
                })
            }
            _ => Err(self.wrong(range, format!("{} has no item at {}", of.kind(), index.kind()))),
        }
    }

    /// `of[index] = value`
    pub(super) fn set_item(
        &mut self,
        of: Value<'a>,
        index: Value<'a>,
        value: Value<'a>,
        range: TextRange,
    ) -> Result<()> {
        if of.is_traced() || self.is_tensor_member(&of) {
            self.record(Op::CallFunction, "_operator.setitem", vec![of, index, value], Vec::new(), range)?;
            return Ok(());
        }
        match &of {
            Value::List(list) => {
                let length = self.heap.lists.get(*list).map_or(0, Vec::len);
                let at = self.position(&index, length);
                match at.and_then(|at| self.heap.lists.get_mut(*list)?.get_mut(at)) {
                    Some(item) => *item = value,
                    None => return Err(self.wrong(range, format!("a list with {length} items has no such item"))),
                }
            }
            Value::Dict(dict) => {
                let mut entries = self.heap.dicts.get_mut(*dict).map(std::mem::take).unwrap_or_default();
                let set = self.set_entry(&mut entries, index, value, range);
                if let Some(dict) = self.heap.dicts.get_mut(*dict) {
                    *dict = entries;
                }
                set?;
            }
            other => return Err(self.wrong(range, format!("no item of {} can be set", other.kind()))),
        }
        Ok(())
    }

    fn sequence_of(&mut self, value: &Value<'a>, range: TextRange) -> Result<Vec<Value<'a>>> {
        match value {
            Value::Tuple(_) | Value::List(_) | Value::Plain(Argument::Range(_) | Argument::Str(_)) => {
                self.iterate(value, range)
            }
            value => Err(self.wrong(range, format!("{} has no items", value.kind()))),
        }
    }

    /// Where an index points to; negative ones count from the end.
    pub(super) fn position(&self, index: &Value<'a>, length: usize) -> Option<usize> {
        let index = match index {
            Value::Plain(Argument::Int(index)) => *index,
            Value::Plain(Argument::Bool(index)) => i64::from(*index),
            _ => return None,
        };
        let at = if index < 0 { i64::try_from(length).ok()?.checked_add(index)? } else { index };
        usize::try_from(at).ok().filter(|&at| at < length)
    }

    pub(super) fn slice_positions(
        &self,
        parts: &[Value<'a>; 3],
        length: usize,
        range: TextRange,
    ) -> Result<Vec<usize>> {
        let mut numbers = [None; 3];
        for (number, part) in numbers.iter_mut().zip(parts) {
            *number = match part {
                Value::Plain(Argument::None) => None,
                Value::Plain(Argument::Int(value)) => Some(*value),
                other => return Err(self.wrong(range, format!("{} in a slice of constants", other.kind()))),
            };
        }
        let step = numbers[2].unwrap_or(1);
        if step == 0 {
            return Err(self.wrong(range, "a slice with step 0"));
        }
        let length = length as i64;
        let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
        let bound = |given: Option<i64>, default: i64| match given {
            Some(value) if value < 0 => value.saturating_add(length).clamp(low, high),
            Some(value) => value.clamp(low, high),
            None => default,
        };
        let (first, last) = if step > 0 { (low, high) } else { (high, low) };
        let (mut at, stop) = (bound(numbers[0], first), bound(numbers[1], last));
        let mut positions = Vec::new();
        while (step > 0 && at < stop) || (step < 0 && at > stop) {
            positions.extend(usize::try_from(at));
            at = at.saturating_add(step);
        }
        Ok(positions)
    }

    /// Whether Python says that two constants are equal; what holds values of the graph is not.
    pub(super) fn are_equal(&mut self, left: &Value<'a>, right: &Value<'a>, range: TextRange) -> Result<bool> {
        self.deeper(range, |this| {
            Ok(match (left, right) {
                (Value::Plain(a), Value::Plain(b)) if !left.is_traced() && !right.is_traced() => {
                    constant::equal(a, b, &this.symbols)
                }
                (Value::Tuple(_), Value::Tuple(_)) | (Value::List(_), Value::List(_)) => {
                    let (a, b) =
                        (this.heap.items(left).unwrap_or_default(), this.heap.items(right).unwrap_or_default());
                    if a.len() != b.len() {
                        return Ok(false);
                    }
                    for (a, b) in a.iter().zip(&b) {
                        if !this.are_equal(a, b, range)? {
                            return Ok(false);
                        }
                    }
                    true
                }
                (Value::Global(a), Value::Global(b)) => {
                    let constants = (globals::constant(a, &this.symbols), globals::constant(b, &this.symbols));
                    match constants {
                        (Some(a), Some(b)) => constant::equal(&a, &b, &this.symbols),
                        _ => a == b,
                    }
                }
                (Value::Global(name), Value::Plain(other)) | (Value::Plain(other), Value::Global(name)) => {
                    globals::constant(name, &this.symbols)
                        .is_some_and(|constant| constant::equal(&constant, other, &this.symbols))
                }
                _ => this.is_one(left, right, range)?,
            })
        })
    }

    fn is_one(&mut self, left: &Value<'a>, right: &Value<'a>, range: TextRange) -> Result<bool> {
        let same = self.compare(CmpOp::Is, left.clone(), right.clone(), range)?;
        if (left.is_traced() || right.is_traced()) && !matches!(same, Value::Plain(Argument::Bool(true))) {
            return self.truth(if left.is_traced() { left } else { right }, range);
        }
        self.truth(&same, range)
    }

    pub(super) fn order_of_sequences(
        &mut self,
        operator: CmpOp,
        left: &Value<'a>,
        right: &Value<'a>,
        range: TextRange,
    ) -> Result<Value<'a>> {
        let message = format!("`{}` of {} and {}", operator.as_str(), left.kind(), right.kind());
        let (Some(a), Some(b)) = (self.heap.items(left), self.heap.items(right)) else {
            return Err(self.wrong(range, message));
        };
        for (a, b) in a.iter().zip(&b) {
            if !self.are_equal(a, b, range)? {
                return self.deeper(range, |this| this.compare(operator, a.clone(), b.clone(), range));
            }
        }
        let (a, b) = (Argument::Int(a.len() as i64), Argument::Int(b.len() as i64));
        Ok(Value::bool(constant::compare(operator, &a, &b, &self.symbols).unwrap_or(false)))
    }

    /// `item in of`
    pub(super) fn contains(&mut self, of: &Value<'a>, item: &Value<'a>, range: TextRange) -> Result<bool> {
        if let (Value::Plain(Argument::Str(text)), Value::Plain(Argument::Str(part))) = (of, item) {
            return Ok(self.symbols.text(*text).contains(self.symbols.text(*part)));
        }
        for other in self.iterate(of, range)? {
            if self.are_equal(item, &other, range)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn find_entry(
        &mut self,
        entries: &[(Value<'a>, Value<'a>)],
        key: &Value<'a>,
        range: TextRange,
    ) -> Result<Option<usize>> {
        self.steps_taken(entries.len(), range)?;
        for (at, (other, _)) in entries.iter().enumerate() {
            if self.are_equal(other, key, range)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    pub(super) fn set_entry(
        &mut self,
        entries: &mut Vec<(Value<'a>, Value<'a>)>,
        key: Value<'a>,
        value: Value<'a>,
        range: TextRange,
    ) -> Result<()> {
        if key.is_traced() || matches!(key, Value::List(_) | Value::Dict(_)) {
            return Err(self.wrong(range, format!("{} is no key of a dict", key.kind())));
        }
        match self.find_entry(entries, &key, range)? {
            Some(at) => entries[at].1 = value,
            None => entries.push((key, value)),
        }
        Ok(())
    }

    /// What `str` makes of a constant.
    pub(super) fn text_of(&mut self, value: &Value<'a>) -> Option<String> {
        match value {
            value if value.is_traced() => None,
            Value::Plain(Argument::Str(text)) => Some(self.symbols.text(*text).to_owned()),
            Value::Plain(argument) => str_text(argument, &self.symbols),
            Value::Global(name) => Some(name.to_string()),
            Value::Tuple(_) | Value::List(_) | Value::Dict(_) => {
                let argument = self.argument(value, TextRange::default()).ok()?;
                (!argument.holds_node()).then(|| str_text(&argument, &self.symbols))?
            }
            _ => None,
        }
    }
}

/// Types that annotations subscript.
fn is_generic(name: &str) -> bool {
    matches!(name, "list" | "tuple" | "dict" | "type" | "set")
}
