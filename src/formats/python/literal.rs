//! Reading Python literals: the texts that `repr` and `str` make of settings and arguments.

use crate::formats::python::repr::str_text;
use crate::ir::argument::{Argument, MAX_ARGUMENT_DEPTH};
use crate::ir::dtype::Dtype;
use crate::ir::symbol::Symbols;

/// The argument that `text` spells: numbers, strings, bytes, None, True, False, Ellipsis, lists,
/// tuples, dicts, `slice(...)`, `range(...)`, `device(...)`, `complex(...)`, and torch's dtypes,
/// layouts, memory formats and qschemes. None for everything else, nesting beyond
/// [`MAX_ARGUMENT_DEPTH`] included.
pub fn parse_literal(text: &str, symbols: &Symbols) -> Option<Argument> {
    let mut scanner = Scanner { text, at: 0, symbols };
    let argument = scanner.argument(MAX_ARGUMENT_DEPTH)?;
    scanner.skip_spaces();
    (scanner.at == text.len()).then_some(argument)
}

/// The argument whose Python `str` is `text`; where none is, or none gives this very text, the
/// text itself is the argument, a string. This reads the settings of leaf modules.
pub fn parse_str_text(text: &str, symbols: &Symbols) -> Argument {
    parse_literal(text, symbols)
        .filter(|argument| str_text(argument, symbols).as_deref() == Some(text))
        .unwrap_or_else(|| Argument::Str(symbols.intern(text)))
}

const LAYOUTS: [&str; 8] =
    ["strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "_mkldnn", "jagged"];
const MEMORY_FORMATS: [&str; 4] = ["contiguous_format", "preserve_format", "channels_last", "channels_last_3d"];
const QSCHEMES: [&str; 5] = [
    "per_tensor_affine",
    "per_tensor_symmetric",
    "per_channel_affine",
    "per_channel_symmetric",
    "per_channel_affine_float_qparams",
];

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    symbols: &'a Symbols,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Whether `token` comes next, spaces before it or not; it is then behind.
    fn take(&mut self, token: &str) -> bool {
        self.skip_spaces();
        let comes = self.rest().starts_with(token);
        self.at += if comes { token.len() } else { 0 };
        comes
    }

    fn argument(&mut self, depth: usize) -> Option<Argument> {
        self.skip_spaces();
        match self.peek()? {
            b'[' => {
                self.at += 1;
                let (items, _) = self.items("]", depth.checked_sub(1)?)?;
                Some(Argument::List(items.into()))
            }
            b'(' => self.parenthesized(depth),
            b'{' => self.dict(depth.checked_sub(1)?),
            b'\'' | b'"' => {
                let text = self.quoted(false)?;
                Some(Argument::Str(self.symbols.intern(std::str::from_utf8(&text).ok()?)))
            }
            b'b' if matches!(self.rest().as_bytes().get(1), Some(b'\'' | b'"')) => {
                self.at += 1;
                Some(Argument::Bytes(self.quoted(true)?.into()))
            }
            b'.' if self.take("...") => Some(Argument::Ellipsis),
            b'0'..=b'9' | b'.' | b'-' => self.number(),
            _ => self.word(depth),
        }
    }

    /// A tuple, or one argument in parentheses: `(1+2j)`.
    fn parenthesized(&mut self, depth: usize) -> Option<Argument> {
        self.at += 1;
        let (mut items, comma) = self.items(")", depth.checked_sub(1)?)?;
        if items.len() == 1 && !comma {
            return items.pop();
        }
        Some(Argument::Tuple(items.into()))
    }

    /// Arguments up to `end`, and whether a comma was the last before it.
    fn items(&mut self, end: &str, depth: usize) -> Option<(Vec<Argument>, bool)> {
        let mut items = Vec::new();
        loop {
            if self.take(end) {
                let comma = !items.is_empty();
                return Some((items, comma));
            }
            items.push(self.argument(depth)?);
            if !self.take(",") {
                return self.take(end).then_some((items, false));
            }
        }
    }

    fn dict(&mut self, depth: usize) -> Option<Argument> {
        self.at += 1;
        let mut entries = Vec::new();
        loop {
            if self.take("}") {
                return Some(Argument::Dict(entries.into()));
            }
            let key = self.argument(depth)?;
            if !self.take(":") {
                return None;
            }
            entries.push((key, self.argument(depth)?));
            if !self.take(",") {
                return self.take("}").then(|| Argument::Dict(entries.into()));
            }
        }
    }

    /// A number, and a second one if the two make a complex.
    fn number(&mut self) -> Option<Argument> {
        let real = self.number_text()?;
        if self.take_imaginary_unit() {
            return Some(Argument::Complex(Box::new([0.0, real.parse().ok()?])));
        }
        if !matches!(self.peek(), Some(b'+' | b'-')) {
            return self.real(real);
        }
        self.at += usize::from(self.peek() == Some(b'+'));
        let imaginary = self.number_text()?;
        let parts = [real.parse().ok()?, imaginary.parse().ok()?];
        self.take_imaginary_unit().then(|| Argument::Complex(Box::new(parts)))
    }

    fn take_imaginary_unit(&mut self) -> bool {
        let comes = self.peek() == Some(b'j');
        self.at += usize::from(comes);
        comes
    }

    /// The text of a number with its sign, `inf` and `nan` among them.
    fn number_text(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let sign = usize::from(rest.starts_with('-'));
        let unsigned = &rest[sign..];
        if let Some(word) = ["inf", "nan"].into_iter().find(|word| unsigned.starts_with(word)) {
            self.at += sign + word.len();
            return rest.get(..sign + word.len());
        }
        let bytes = unsigned.as_bytes();
        let digits = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
        let whole = digits(0);
        let mut length = whole;
        if bytes.get(length) == Some(&b'.') {
            let fraction = digits(length + 1);
            if whole + fraction == 0 {
                return None;
            }
            length += 1 + fraction;
        }
        if length == 0 {
            return None;
        }
        if matches!(bytes.get(length), Some(b'e' | b'E')) {
            let signed = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
            let exponent = digits(length + 1 + signed);
            if exponent == 0 {
                return None;
            }
            length += 1 + signed + exponent;
        }
        self.at += sign + length;
        rest.get(..sign + length)
    }

    fn real(&self, text: &str) -> Option<Argument> {
        if text.bytes().any(|byte| !matches!(byte, b'0'..=b'9' | b'-')) {
            return text.parse().ok().map(Argument::Float);
        }
        let digits = text.trim_start_matches('-');
        if digits.len() > 1 && digits.starts_with('0') {
            return None; // Python refuses it too
        }
        Some(match text.parse() {
            Ok(value) => Argument::Int(value),
            Err(_) => Argument::BigInt(self.symbols.intern(text)),
        })
    }

    /// The contents of a quoted text: UTF-8, or bytes.
    fn quoted(&mut self, bytes: bool) -> Option<Vec<u8>> {
        let quote = self.peek()?;
        self.at += 1;
        let mut out = Vec::new();
        loop {
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b'\n' => return None,
                b'\\' => self.escape(bytes, &mut out)?,
                _ if byte == quote => return Some(out),
                0x80.. if bytes => return None,
                _ => out.push(byte),
            }
        }
    }

    fn escape(&mut self, bytes: bool, out: &mut Vec<u8>) -> Option<()> {
        let kind = self.peek()?;
        self.at += 1;
        let plain = match kind {
            b'\\' | b'\'' | b'"' => Some(kind),
            b'n' => Some(b'\n'),
            b'r' => Some(b'\r'),
            b't' => Some(b'\t'),
            _ => None,
        };
        if let Some(plain) = plain {
            out.push(plain);
            return Some(());
        }
        let digits = match kind {
            b'x' => 2,
            b'u' if !bytes => 4,
            b'U' if !bytes => 8,
            _ => return None,
        };
        let hex = self.rest().get(..digits).filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        self.at += digits;
        let code = u32::from_str_radix(hex, 16).ok()?;
        match bytes {
            true => out.push(u8::try_from(code).ok()?),
            false => out.extend(char::from_u32(code)?.encode_utf8(&mut [0; 4]).bytes()),
        }
        Some(())
    }

    /// A name, alone or called.
    fn word(&mut self, depth: usize) -> Option<Argument> {
        let rest = self.rest();
        let letters = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
        let word = rest.get(..rest.bytes().take_while(|byte| letters(byte)).count())?;
        self.at += word.len();
        Some(match word {
            "None" => Argument::None,
            "True" => Argument::Bool(true),
            "False" => Argument::Bool(false),
            "Ellipsis" => Argument::Ellipsis,
            "inf" => Argument::Float(f64::INFINITY),
            "nan" => Argument::Float(f64::NAN),
            "device" | "torch.device" => return self.device(),
            "slice" | "range" | "complex" => {
                let items = match self.take("(") {
                    true => self.items(")", depth.checked_sub(1)?)?.0,
                    false => return None,
                };
                return call(word, items);
            }
            _ => {
                let short = word.strip_prefix("torch.")?;
                let known = |names: &[&str]| names.contains(&short);
                if known(&LAYOUTS) {
                    Argument::Layout(self.symbols.intern(word))
                } else if known(&MEMORY_FORMATS) {
                    Argument::MemoryFormat(self.symbols.intern(word))
                } else if known(&QSCHEMES) {
                    Argument::Qscheme(self.symbols.intern(word))
                } else {
                    Argument::Dtype(Dtype::from_name(word)?)
                }
            }
        })
    }

    /// What follows `device`: `(type='cuda', index=0)`.
    fn device(&mut self) -> Option<Argument> {
        if !(self.take("(") && self.take("type") && self.take("=")) {
            return None;
        }
        self.skip_spaces();
        let kind = match self.argument(0)? {
            Argument::Str(kind) => self.symbols.text(kind),
            _ => return None,
        };
        let device = match self.take(",") {
            true if self.take("index") && self.take("=") => match self.argument(0)? {
                Argument::Int(index @ 0..) if !kind.contains(':') => self.symbols.intern(&format!("{kind}:{index}")),
                _ => return None,
            },
            true => return None,
            false => self.symbols.intern(kind),
        };
        self.take(")").then_some(Argument::Device(device))
    }
}

/// `slice`, `range` or `complex` called with these.
fn call(name: &str, mut items: Vec<Argument>) -> Option<Argument> {
    if name == "slice" {
        if items.len() == 1 {
            items.insert(0, Argument::None);
        }
        if items.len() == 2 {
            items.push(Argument::None);
        }
        return Some(Argument::Slice(Box::new(items.try_into().ok()?)));
    }
    match (name, items.as_slice()) {
        ("range", [Argument::Int(stop)]) => Some(Argument::Range(Box::new([0, *stop, 1]))),
        ("range", [Argument::Int(start), Argument::Int(stop)]) => Some(Argument::Range(Box::new([*start, *stop, 1]))),
        ("range", [Argument::Int(start), Argument::Int(stop), Argument::Int(step)]) if *step != 0 => {
            Some(Argument::Range(Box::new([*start, *stop, *step])))
        }
        ("complex", [Argument::Float(real), Argument::Float(imaginary)]) => {
            Some(Argument::Complex(Box::new([*real, *imaginary])))
        }
        _ => None,
    }
}
