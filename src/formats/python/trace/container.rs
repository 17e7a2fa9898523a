//! Methods of lists, tuples, dicts and strings.

use super::interpreter::Interpreter;
use super::value::Value;
use crate::ir::{Argument, Result};
use ruff_python_ast::Operator;
use ruff_text_size::TextRange;
use std::rc::Rc;

impl<'a> Interpreter<'a, '_> {
    /// Calls a method of a list, a dict or a string.
    pub(super) fn container_method(
        &mut self,
        of: &Value<'a>,
        name: &str,
        args: Vec<Value<'a>>,
        kwargs: &[(Rc<str>, Value<'a>)],
        range: TextRange,
    ) -> Result<Value<'a>> {
        let unknown = format!("the method `{name}` of {} cannot be traced", of.kind());
        if !kwargs.is_empty() {
            return Err(self.wrong(range, unknown));
        }
        match (of, name, args.as_slice()) {
            (Value::List(list), "append", [item]) => {
                self.heap.lists.get_mut(*list).into_iter().for_each(|items| items.push(item.clone()));
            }
            (Value::List(list), "extend", [more]) => {
                let more = self.iterate(more, range)?;
                self.heap.lists.get_mut(*list).into_iter().for_each(|items| items.extend(more.iter().cloned()));
            }
            (Value::List(list), "insert", [Value::Plain(Argument::Int(at)), item]) => {
                if let Some(items) = self.heap.lists.get_mut(*list) {
                    let length = items.len() as i64;
                    let at = if *at < 0 { at.saturating_add(length).max(0) } else { (*at).min(length) };
                    items.insert(usize::try_from(at).unwrap_or(0).min(items.len()), item.clone());
                }
            }
            (Value::List(list), "pop", [] | [_]) => {
                let length = self.heap.lists.get(*list).map_or(0, Vec::len);
                let last = Value::int(-1);
                let at = self.position(args.first().unwrap_or(&last), length);
                let popped = at.and_then(|at| Some(self.heap.lists.get_mut(*list)?.remove(at)));
                return popped.ok_or_else(|| self.wrong(range, "the list has no such item"));
            }
            (Value::List(list), "reverse", []) => {
                self.heap.lists.get_mut(*list).into_iter().for_each(|items| items.reverse());
            }
            (Value::List(list), "clear", []) => {
                self.heap.lists.get_mut(*list).into_iter().for_each(Vec::clear);
            }
            (Value::List(_), "copy", []) => {
                let items = self.heap.items(of).unwrap_or_default();
                return Ok(self.heap.list(items));
            }
            (Value::List(_) | Value::Tuple(_), "index", [item]) => {
                for (at, other) in self.iterate(of, range)?.iter().enumerate() {
                    if self.are_equal(other, item, range)? {
                        return Ok(Value::int(at as i64));
                    }
                }
                return Err(self.wrong(range, format!("{} has no such item", of.kind())));
            }
            (Value::List(_) | Value::Tuple(_), "count", [item]) => {
                let mut count = 0;
                for other in self.iterate(of, range)? {
                    count += i64::from(self.are_equal(&other, item, range)?);
                }
                return Ok(Value::int(count));
            }
            (Value::Tuple(_), "numel", []) => {
                let mut product = Value::int(1);
                for item in self.heap.items(of).unwrap_or_default() {
                    product = self.binary(Operator::Mult, product, item, range)?;
                }
                return Ok(product);
            }
            (Value::Dict(dict), "keys" | "values" | "items", []) => {
                let entries = self.heap.dicts.get(*dict).cloned().unwrap_or_default();
                self.steps_taken(entries.len(), range)?;
                let listed = entries.into_iter().map(|(key, value)| match name {
                    "keys" => key,
                    "values" => value,
                    _ => self.heap.tuple(vec![key, value]),
                });
                let listed = listed.collect();
                return Ok(self.heap.list(listed));
            }
            (Value::Dict(dict), "get" | "pop" | "setdefault", [key] | [key, _]) => {
                let entries = self.heap.dicts.get(*dict).cloned().unwrap_or_default();
                let found = self.find_entry(&entries, key, range)?;
                let default = args.get(1).cloned();
                return match (found, name) {
                    (Some(at), "pop") => {
                        self.heap.dicts.get_mut(*dict).into_iter().for_each(|entries| drop(entries.remove(at)));
                        Ok(entries[at].1.clone())
                    }
                    (Some(at), _) => Ok(entries[at].1.clone()),
                    (None, "pop") => default.ok_or_else(|| self.wrong(range, "the dict has no such key")),
                    (None, "setdefault") => {
                        let value = default.unwrap_or(Value::NONE);
                        self.set_item(of.clone(), key.clone(), value.clone(), range)?;
                        Ok(value)
                    }
                    (None, _) => Ok(default.unwrap_or(Value::NONE)),
                };
            }
            (Value::Dict(_), "update", [Value::Dict(other)]) => {
                for (key, value) in self.heap.dicts.get(*other).cloned().unwrap_or_default() {
                    self.set_item(of.clone(), key, value, range)?;
                }
            }
            (Value::Plain(Argument::Str(text)), _, _) => {
                let text = self.symbols.text(*text).to_owned();
                let parts: Option<Vec<String>> = args.iter().map(|value| self.text_of(value)).collect();
                let part = parts.as_ref().and_then(|parts| parts.first()).map_or("", String::as_str);
                let made = match (name, args.len()) {
                    ("lower", 0) => text.to_lowercase(),
                    ("upper", 0) => text.to_uppercase(),
                    ("strip", 0) => text.trim().to_owned(),
                    ("startswith", 1) => return Ok(Value::bool(text.starts_with(part))),
                    ("endswith", 1) => return Ok(Value::bool(text.ends_with(part))),
                    ("join", 1) => {
                        let items =
                            args.first().map(|items| self.iterate(items, range)).transpose()?.unwrap_or_default();
                        let items: Option<Vec<String>> = items.iter().map(|item| self.text_of(item)).collect();
                        items.ok_or_else(|| self.wrong(range, unknown))?.join(&text)
                    }
                    // What it says of values of the graph stays as it is spelled.
                    ("format", _) => self.slice(range).to_owned(),
                    ("split", 1) if !part.is_empty() => {
                        let words = text.split(part).map(|word| Value::Plain(Argument::Str(self.symbols.intern(word))));
                        let words = words.collect();
                        return Ok(self.heap.list(words));
                    }
                    _ => return Err(self.wrong(range, unknown)),
                };
                self.steps_taken(made.len() / 64, range)?;
                return Ok(Value::Plain(Argument::Str(self.symbols.intern(&made))));
            }
            _ => return Err(self.wrong(range, unknown)),
        }
        Ok(Value::NONE)
    }
}
