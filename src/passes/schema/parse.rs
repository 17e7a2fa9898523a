//! Reads one line of signatures.txt.

use super::default_value::DefaultValue;
use super::types::{Base, Type};
use super::{Kind, Parameter, Schema, Style};
use crate::ir::Dtype;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// The schema of a line; none when it is no line of that file.
pub(super) fn parse(line: &'static str, style: Style) -> Option<Schema<'static>> {
    let (name, rest) = line.split_once('(')?;
    let end = end_of(rest, ')')?;
    let (parameters, mut rest) = (rest.get(..end)?, rest.get(end + 1..)?);
    let mut tag = |tag: &str| match rest.strip_suffix(tag) {
        Some(before) => {
            rest = before;
            true
        }
        None => false,
    };
    let is_method = tag(" !method");
    let is_random = tag(" !random");
    let returns = rest.strip_prefix(" -> ").unwrap_or("");
    let mut parameters = parse_parameters(parameters)?;
    if style == Style::Method {
        let own = parameters.iter().position(|parameter| parameter.name == "self")?;
        let mut own = parameters.remove(own);
        own.kind = Kind::PositionalOnly;
        parameters.insert(0, own);
    }
    if matches!(style, Style::Function | Style::Method) {
        adapt(&mut parameters, style);
    }
    if let Some(last) = parameters.iter().rposition(|parameter| is_python_keyword(parameter.name)) {
        parameters.iter_mut().take(last + 1).for_each(|parameter| parameter.kind = Kind::PositionalOnly);
    }
    let ints = takes_ints(&parameters, style);
    let is_tensor = |parameter: &Parameter<'_>| parameter.type_text.is_some_and(|text| text.contains("Tensor"));
    let has_tensors = returns.contains("Tensor") || parameters.iter().any(is_tensor);
    let writes_out = parameters.iter().any(|p| p.kind == Kind::KeywordOnly && p.is_written());
    Some(Schema {
        name,
        parameters: parameters.into(),
        returns,
        is_random,
        is_method,
        style,
        has_tensors,
        writes_out,
        ints,
        places: FxHashMap::default(),
    })
}

/// Where torch's Python differs from the schema of the operator below it.
fn adapt(parameters: &mut Vec<Parameter<'static>>, style: Style) {
    if style == Style::Method {
        let formats = parameters.iter_mut().filter(|parameter| parameter.type_.base == Base::MemoryFormat);
        formats.for_each(|parameter| parameter.kind = Kind::KeywordOnly);
    }
    if style == Style::Function && !parameters.iter().any(|parameter| parameter.name == "input") {
        let is_tensor =
            |parameter: &&mut Parameter<'_>| parameter.type_.base == Base::Tensor && !parameter.type_.is_list;
        let own = parameters.iter_mut().find(|parameter| parameter.name == "self");
        own.into_iter().filter(is_tensor).for_each(|own| own.name = "input");
    }
    let has = |name: &str| parameters.iter().any(|p| p.name == name && p.kind == Kind::KeywordOnly);
    if has("layout") && has("pin_memory") && !has("requires_grad") {
        parameters.push(Parameter {
            name: "requires_grad",
            kind: Kind::KeywordOnly,
            // False; not filled in, since operators know nothing of it.
            default: Some(DefaultValue::Unspelled),
            type_text: Some("bool"),
            alias: None,
            type_: Type::of(Some("bool")),
        });
    }
}

fn parse_parameters(text: &'static str) -> Option<Vec<Parameter<'static>>> {
    let mut parameters: Vec<Parameter<'static>> = Vec::new();
    let mut kind = Kind::PositionalOrKeyword;
    let mut rest = text;
    while !rest.is_empty() {
        let end = end_of(rest, ',').unwrap_or(rest.len());
        let part = rest.get(..end)?.trim();
        rest = rest.get(end + 1..).unwrap_or("");
        match part {
            "*" => kind = Kind::KeywordOnly,
            "/" => parameters.iter_mut().for_each(|parameter| parameter.kind = Kind::PositionalOnly),
            "..." => parameters.push(variadic("args", Kind::VarPositional)),
            _ => {
                if let Some(name) = part.strip_prefix("**") {
                    parameters.push(variadic(name, Kind::VarKeyword));
                } else if let Some(name) = part.strip_prefix('*') {
                    parameters.push(variadic(name, Kind::VarPositional));
                    kind = Kind::KeywordOnly;
                } else {
                    parameters.push(parse_parameter(part, kind)?);
                }
            }
        }
    }
    Some(parameters)
}

fn variadic(name: &'static str, kind: Kind) -> Parameter<'static> {
    Parameter { name, kind, default: None, type_text: None, alias: None, type_: Type::of(None) }
}

fn parse_parameter(text: &'static str, kind: Kind) -> Option<Parameter<'static>> {
    let (before, default) = match end_of(text, '=') {
        Some(end) => (text.get(..end)?, text.get(end + 1..)),
        None => (text, None),
    };
    let (type_text, name) = match before.rsplit_once(' ') {
        Some((type_text, name)) => (Some(type_text), name),
        None => (None, before),
    };
    let alias = type_text.and_then(alias_of);
    let type_ = match (type_text, alias) {
        (Some(text), Some(alias)) => Type::of(Some(&text.replace(&format!("({alias})"), ""))),
        (text, _) => Type::of(text),
    };
    let default = match default {
        Some(text) => Some(parse_default(text, type_)?),
        None => None,
    };
    Some(Parameter { name, kind, default, type_text, alias, type_ })
}

/// `Tensor(a!)`, `Tensor(a -> *)[]`, `Dict(str, t)(a!)`; not `RRef(t)`.
fn alias_of(text: &'static str) -> Option<&'static str> {
    let (before, rest) = text.rsplit_once('(')?;
    let (alias, _) = rest.split_once(')')?;
    let is_plain = matches!(before, "" | "RRef" | "Future" | "Dict" | "Await");
    (!is_plain).then_some(alias)
}

fn parse_default(text: &'static str, type_: Type) -> Option<DefaultValue<'static>> {
    if let Some(items) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        let items = items.split(',').map(str::trim).filter(|item| !item.is_empty());
        let item_type = type_.of_items();
        return Some(DefaultValue::List(items.map(|item| parse_default(item, item_type)).collect::<Option<_>>()?));
    }
    if let Some(text) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        return Some(DefaultValue::Str(unescape(text)));
    }
    if let (Some(length), Ok(item)) = (type_.length, text.parse()) {
        let items = (0..length).map(|_| DefaultValue::Int(item)).collect();
        return Some(DefaultValue::List(items));
    }
    Some(match text {
        "None" => DefaultValue::None,
        "True" => DefaultValue::Bool(true),
        "False" => DefaultValue::Bool(false),
        "?" => DefaultValue::Unspelled,
        _ => match (text.parse::<i64>(), type_.base) {
            // Numbers of enumerations, as c10 counts them.
            (Ok(number), Base::Dtype) => {
                DefaultValue::Dtype(Dtype::from_u8(u8::try_from(number).ok()?.checked_add(1)?)?)
            }
            (Ok(0), Base::MemoryFormat) => DefaultValue::MemoryFormat("torch.contiguous_format"),
            (Ok(_), Base::MemoryFormat | Base::Layout) => return None,
            (Ok(number), _) => DefaultValue::Int(number),
            (Err(_), _) => DefaultValue::Float(text.parse().ok()?),
        },
    })
}

fn unescape(text: &'static str) -> Cow<'static, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => plain.push('\n'),
                Some('t') => plain.push('\t'),
                Some('f') => plain.push('\x0c'),
                Some('v') => plain.push('\x0b'),
                Some(other) => plain.push(other),
                None => {}
            },
            other => plain.push(other),
        }
    }
    Cow::Owned(plain)
}

/// Where a character stands first outside brackets and strings.
fn end_of(text: &str, wanted: char) -> Option<usize> {
    let (mut depth, mut is_text, mut is_escaped) = (0usize, false, false);
    for (at, letter) in text.char_indices() {
        if is_text {
            is_text = is_escaped || letter != '"';
            is_escaped = !is_escaped && letter == '\\';
            continue;
        }
        if depth == 0 && letter == wanted {
            return Some(at);
        }
        match letter {
            '"' => is_text = true,
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// torch's argument parser takes ints one by one where a list of ints is all that has a position.
fn takes_ints(parameters: &[Parameter<'_>], style: Style) -> Option<usize> {
    let first = match style {
        Style::Function => 0,
        Style::Method => 1,
        _ => return None,
    };
    let mut positional = parameters.iter().enumerate().skip(first).filter(|(_, parameter)| parameter.is_positional());
    let (index, only) = positional.next()?;
    (positional.next().is_none() && only.type_.is_list && only.type_.base == Base::Int).then_some(index)
}

/// No call can name such a parameter. The only one that occurs is `from`.
fn is_python_keyword(name: &str) -> bool {
    matches!(name, "from" | "in" | "is" | "lambda" | "as" | "def" | "for" | "if" | "not" | "or" | "and")
}
