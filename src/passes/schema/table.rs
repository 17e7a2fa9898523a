//! Finds the signatures of a target.

use super::parse::parse;
use super::{Schema, Style};
use std::sync::OnceLock;

/// One signature a line, sorted by name; tools/signatures.py writes it.
static TEXT: &str = include_str!("signatures.txt");

/// The signatures of one target. Few bytes: to be kept and copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overloads {
    first: u32,
    end: u32,
    style: Style,
    /// Of operators that are also taken apart from tensors, just those with tensors.
    with_tensors: bool,
}

/// What `call_function` may call with a target: an overload of `torch.ops`, all overloads of one
/// operator, a function of torch or `operator`. None when nothing is known of it.
pub fn of_function(target: &str) -> Option<Overloads> {
    if let Some(path) = target.strip_prefix("torch.ops.") {
        let (namespace, operator) = path.split_once('.')?;
        let name = [namespace, "::", operator];
        return if operator.contains('.') { one(&name, Style::Operator) } else { all(&name, Style::Operator) };
    }
    if let Some(name) = target.strip_prefix("operator.") {
        return one(&["_operator.", name], Style::Python);
    }
    if target.contains("::") {
        return None;
    }
    if let Some(method) = target.strip_prefix("torch.Tensor.") {
        return of_method(method);
    }
    if let Some(found) = one(&[target], Style::Python) {
        return Some(found);
    }
    let (space, name) = target.rsplit_once('.')?;
    let prefix = match space {
        "torch" => match one(&["torch.functional.", name], Style::Python) {
            Some(found) => return Some(found),
            None => "",
        },
        "torch._C._nn"
        | "torch._C._linalg"
        | "torch._C._fft"
        | "torch._C._special"
        | "torch._C._VariableFunctions"
        | "torch.nn.functional" => "",
        "torch.linalg" => "linalg_",
        "torch.fft" => "fft_",
        "torch.special" => "special_",
        _ => return None,
    };
    all(&["aten::", prefix, name], Style::Function)
}

/// All overloads of an operator of `torch.ops.aten`, by its bare name.
pub fn of_operator(name: &str) -> Option<Overloads> {
    all(&["aten::", name], Style::Operator)
}

/// What a method of tensors may be called with, the tensor first.
pub fn of_method(name: &str) -> Option<Overloads> {
    let found = one(&["torch.Tensor.", name], Style::Method).or_else(|| all(&["aten::", name], Style::Method))?;
    found.iter().next().is_some().then_some(found)
}

/// What a module of `torch.nn` may be called with, by the name of its type.
pub fn of_module(type_name: &str) -> Option<Overloads> {
    let path = type_name.strip_prefix("torch.nn.")?;
    let class = path.rsplit('.').next()?;
    one(&["torch.nn.", class, ".forward"], Style::Python)
}

/// The one signature that a function's target has; none when it has several overloads, or none.
pub fn of_target(target: &str) -> Option<&'static Schema<'static>> {
    let mut found = of_function(target)?.iter();
    match (found.next(), found.next()) {
        (only, None) => only,
        _ => None,
    }
}

impl Overloads {
    /// One by one, the default overload first.
    pub fn iter(self) -> impl Iterator<Item = &'static Schema<'static>> {
        let table = table();
        (self.first..self.end)
            .filter_map(move |line| table.schema(line, self.style))
            .filter(move |schema| self.has(schema))
    }

    /// Whether there may be a choice.
    pub fn is_plural(self) -> bool {
        self.end - self.first > 1
    }

    fn has(self, schema: &Schema<'_>) -> bool {
        match self.style {
            Style::Operator | Style::Python => true,
            // What such an overload writes, a method returns.
            Style::Method => schema.is_method && !schema.writes_out,
            Style::Function => !self.with_tensors || schema.has_tensors,
        }
    }
}

fn one(name: &[&str], style: Style) -> Option<Overloads> {
    let name = Name::of(name)?;
    let name = name.text();
    // The default overload has no name of its own.
    let name = if style == Style::Operator { name.strip_suffix(".default").unwrap_or(name) } else { name };
    let line = table().find(name)?;
    Some(Overloads { first: line, end: line + 1, style, with_tensors: false })
}

fn all(name: &[&str], style: Style) -> Option<Overloads> {
    let name = Name::of(name)?;
    let (first, end) = table().range(name.text());
    let mut found = Overloads { first, end, style, with_tensors: false };
    if style == Style::Function {
        found.with_tensors = found.iter().any(|schema| schema.has_tensors);
    }
    (first < end).then_some(found)
}

/// A name put together without an allocation. No name of the table is longer.
struct Name {
    bytes: [u8; 128],
    length: usize,
}

impl Name {
    fn of(parts: &[&str]) -> Option<Name> {
        let mut name = Name { bytes: [0; 128], length: 0 };
        for part in parts {
            let end = name.length.checked_add(part.len())?;
            name.bytes.get_mut(name.length..end)?.copy_from_slice(part.as_bytes());
            name.length = end;
        }
        Some(name)
    }

    fn text(&self) -> &str {
        self.bytes.get(..self.length).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or("")
    }
}

type Parsed = OnceLock<Option<Box<Schema<'static>>>>;

struct Table {
    /// Where each line begins.
    starts: Box<[u32]>,
    /// As each style reads them, once one was asked for.
    parsed: [OnceLock<Box<[Parsed]>>; 4],
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let ends = TEXT.match_indices('\n').map(|(at, _)| at as u32 + 1);
        let starts: Box<[u32]> =
            std::iter::once(0).chain(ends).filter(|&start| (start as usize) < TEXT.len()).collect();
        Table { starts, parsed: [const { OnceLock::new() }; 4] }
    })
}

impl Table {
    fn line(&self, line: u32) -> &'static str {
        let start = self.starts.get(line as usize).map_or(TEXT.len(), |&start| start as usize);
        let end = self.starts.get(line as usize + 1).map_or(TEXT.len(), |&start| start as usize);
        TEXT.get(start..end).unwrap_or("").trim_end()
    }

    fn name(&self, line: u32) -> &'static str {
        let text = self.line(line);
        text.split_once('(').map_or(text, |(name, _)| name)
    }

    fn schema(&self, line: u32, style: Style) -> Option<&Schema<'static>> {
        let places = self.parsed.get(style as usize)?;
        let places = places.get_or_init(|| self.starts.iter().map(|_| OnceLock::new()).collect());
        let place = places.get(line as usize)?;
        place.get_or_init(|| parse(self.line(line), style).map(Box::new)).as_deref()
    }

    /// How many lines have names below `name`.
    fn below(&self, is_below: impl Fn(&str) -> bool) -> u32 {
        let (mut low, mut high) = (0, self.starts.len() as u32);
        while low < high {
            let middle = low + (high - low) / 2;
            if is_below(self.name(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn find(&self, name: &str) -> Option<u32> {
        let line = self.below(|other| other < name);
        (!name.is_empty() && self.name(line) == name).then_some(line)
    }

    /// The lines of one operator: its name, and its name with a dot and more behind. Only digits,
    /// letters and underscores occur besides, and all of them are sorted behind the dot.
    fn range(&self, name: &str) -> (u32, u32) {
        let first = self.below(|other| other < name);
        let is_own = |other: &str| match other.strip_prefix(name) {
            Some(rest) => rest.is_empty() || rest.starts_with('.'),
            None => false,
        };
        (first, self.below(|other| other < name || is_own(other)))
    }
}

#[cfg(test)]
pub(super) mod lines {
    use super::{table, Style, TEXT};
    use crate::passes::schema::Schema;

    /// Every line with what it says.
    pub(in crate::passes::schema) fn all() -> impl Iterator<Item = (&'static str, Option<&'static Schema<'static>>)> {
        let styles = |line: &str| if line.contains("::") { Style::Operator } else { Style::Python };
        TEXT.lines().enumerate().map(move |(at, line)| (line, table().schema(at as u32, styles(line))))
    }
}
