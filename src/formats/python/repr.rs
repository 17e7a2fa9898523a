//! Printing arguments as Python's `repr` and `str` do inside FX code.

use std::fmt::Write;

use crate::ir::argument::{Argument, MAX_ARGUMENT_DEPTH};
use crate::ir::graph::Graph;
use crate::ir::node::NodeId;
use crate::ir::symbol::Symbols;

/// `argument`, an argument of a node of `graph`, as FX code spells it; nodes by their bare names.
pub fn repr(argument: &Argument, graph: &Graph) -> String {
    let mut out = String::new();
    write_repr(&mut out, argument, graph.symbols(), &|out: &mut String, node| graph.write_name(out, node));
    out
}

/// What Python's `str` gives for an argument without nodes: as its repr, but a string is itself
/// and a device is `cuda:0`. This is how `serialize_module` writes the settings of leaf modules.
/// None if there is a node in it.
pub fn str_text(argument: &Argument, symbols: &Symbols) -> Option<String> {
    if argument.holds_node() {
        return None;
    }
    Some(match argument {
        Argument::Str(text) | Argument::Device(text) => symbols.text(*text).to_owned(),
        _ => {
            let mut out = String::new();
            write_repr(&mut out, argument, symbols, &|_: &mut String, _| {});
            out
        }
    })
}

/// How a repr spells what Python has no literal for.
pub trait Names {
    /// Appends a node.
    fn node(&self, out: &mut String, node: NodeId);

    /// Appends a symbolic int.
    fn symint(&self, out: &mut String, spelled: &str) {
        out.push_str(spelled);
    }
}

impl<F: Fn(&mut String, NodeId)> Names for F {
    fn node(&self, out: &mut String, node: NodeId) {
        self(out, node);
    }
}

/// Appends an argument's repr to `out`.
pub fn write_repr(out: &mut String, argument: &Argument, symbols: &Symbols, names: &dyn Names) {
    Printer { symbols, names }.argument(out, argument, MAX_ARGUMENT_DEPTH);
}

/// A float as Python prints it: the shortest text that reads back as the same number.
pub fn float_repr(value: f64) -> String {
    let mut text = short_float(value);
    if value.is_finite() && !text.contains(['.', 'e']) {
        text.push_str(".0");
    }
    text
}

/// A string with Python's quotes and escapes.
pub fn str_repr(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_str(&mut out, text);
    out
}

struct Printer<'s> {
    symbols: &'s Symbols,
    names: &'s dyn Names,
}

impl Printer<'_> {
    fn argument(&self, out: &mut String, argument: &Argument, depth: usize) {
        let text = |symbol| self.symbols.text(symbol);
        let Some(depth) = depth.checked_sub(usize::from(argument.is_nested())) else {
            // No argument in a graph nests this deep. Python marks what it cannot print like this.
            out.push_str("...");
            return;
        };
        match argument {
            Argument::None => out.push_str("None"),
            Argument::Bool(true) => out.push_str("True"),
            Argument::Bool(false) => out.push_str("False"),
            Argument::Int(value) => out.push_str(itoa::Buffer::new().format(*value)),
            Argument::Float(value) => out.push_str(&float_repr(*value)),
            Argument::Complex(parts) => write_complex(out, parts[0], parts[1]),
            Argument::Str(symbol) => write_str(out, text(*symbol)),
            Argument::Bytes(bytes) => write_bytes(out, bytes),
            Argument::Dtype(dtype) => out.push_str(dtype.name()),
            Argument::Device(symbol) => write_device(out, text(*symbol)),
            Argument::BigInt(symbol)
            | Argument::Layout(symbol)
            | Argument::MemoryFormat(symbol)
            | Argument::Qscheme(symbol) => out.push_str(text(*symbol)),
            Argument::SymInt(symbol) => self.names.symint(out, text(*symbol)),
            Argument::Ellipsis => out.push_str("Ellipsis"),
            Argument::List(items) => {
                out.push('[');
                self.items(out, items, depth);
                out.push(']');
            }
            Argument::Tuple(items) => {
                out.push('(');
                self.items(out, items, depth);
                out.push_str(if items.len() == 1 { ",)" } else { ")" });
            }
            Argument::Dict(entries) => {
                out.push('{');
                for (at, (key, value)) in entries.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { ", " });
                    self.argument(out, key, depth);
                    out.push_str(": ");
                    self.argument(out, value, depth);
                }
                out.push('}');
            }
            Argument::Slice(parts) => {
                out.push_str("slice(");
                self.items(out, parts.as_slice(), depth);
                out.push(')');
            }
            Argument::Range(range) => {
                let [start, stop, step] = **range;
                match step {
                    1 => push(out, format_args!("range({start}, {stop})")),
                    _ => push(out, format_args!("range({start}, {stop}, {step})")),
                }
            }
            Argument::Node(node) => self.names.node(out, *node),
        }
    }

    fn items(&self, out: &mut String, items: &[Argument], depth: usize) {
        for (at, item) in items.iter().enumerate() {
            out.push_str(if at == 0 { "" } else { ", " });
            self.argument(out, item, depth);
        }
    }
}

/// A float without the `.0` that tells it from an int, as inside a complex number.
fn short_float(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf".into() } else { "-inf".into() };
    }
    // Both languages print the shortest digits that read back. Where two of that length are
    // equally near, Python takes the even one, as rounding to a given number of digits does.
    let shortest = format!("{value:e}");
    let count = shortest.bytes().take_while(|&byte| byte != b'e').filter(u8::is_ascii_digit).count();
    let rounded = format!("{value:.*e}", count.saturating_sub(1));
    let scientific = if rounded.parse() == Ok(value) { rounded } else { shortest };
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>().unwrap_or(0) {
        exponent @ -4..=15 => {
            let decimals = count as i32 - 1 - exponent;
            format!("{value:.*}", usize::try_from(decimals).unwrap_or(0))
        }
        exponent => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
    }
}

fn write_complex(out: &mut String, real: f64, imaginary: f64) {
    if !real.is_finite() || !imaginary.is_finite() {
        // Python prints `(1+nanj)`, which it cannot read.
        push(out, format_args!("complex({}, {})", float_repr(real), float_repr(imaginary)));
    } else if real == 0.0 && real.is_sign_positive() {
        push(out, format_args!("{}j", short_float(imaginary)));
    } else {
        let plus = if imaginary.is_sign_positive() { "+" } else { "" };
        push(out, format_args!("({}{plus}{}j)", short_float(real), short_float(imaginary)));
    }
}

fn write_device(out: &mut String, device: &str) {
    out.push_str("device(type=");
    let is_index = |index: &str| !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    match device.split_once(':').filter(|(_, index)| is_index(index)) {
        Some((kind, index)) => {
            write_str(out, kind);
            push(out, format_args!(", index={index})"));
        }
        None => {
            write_str(out, device);
            out.push(')');
        }
    }
}

fn write_str(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if c == quote => push(out, format_args!("\\{c}")),
            ' '..='~' => out.push(c),
            _ if is_printable(c) => out.push(c),
            _ => match u32::from(c) {
                code @ 0..=0xff => push(out, format_args!("\\x{code:02x}")),
                code @ 0x100..=0xffff => push(out, format_args!("\\u{code:04x}")),
                code => push(out, format_args!("\\U{code:08x}")),
            },
        }
    }
    out.push(quote);
}

/// Whether a character beyond ASCII stands for itself in a repr.
fn is_printable(c: char) -> bool {
    // Rust escapes the same Unicode categories as Python, and marks that combine with the
    // character before them only where there is none.
    let mut buffer = [b'a'; 5];
    let length = 1 + c.encode_utf8(&mut buffer[1..]).len();
    std::str::from_utf8(&buffer[..length]).is_ok_and(|pair| pair.escape_debug().nth(1) == Some(c))
}

fn write_bytes(out: &mut String, bytes: &[u8]) {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { b'"' } else { b'\'' };
    out.push('b');
    out.push(char::from(quote));
    for &byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ if byte == quote => push(out, format_args!("\\{}", char::from(byte))),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => push(out, format_args!("\\x{byte:02x}")),
        }
    }
    out.push(char::from(quote));
}

fn push(out: &mut String, value: impl std::fmt::Display) {
    // Writing to a String cannot fail.
    let _ = write!(out, "{value}");
}
