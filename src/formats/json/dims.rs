//! Sizes and strides as text: `[1, 64, s0]`, what Python prints for a list of them.

use std::fmt;

use crate::ir::tensor_meta::{Dim, Dims};

/// The dims that a text spells; None if it spells none. A size that is no number is kept as it is
/// spelled, if it can be an expression of symbols.
pub(super) fn parse_dims(text: &str) -> Option<Dims> {
    let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    let mut dims = Dims::new();
    if inner.trim().is_empty() {
        return Some(dims);
    }
    // A symbolic size may have commas of its own, inside parentheses.
    let mut open = 0usize;
    let mut start = 0;
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            b'(' => open += 1,
            b')' => open = open.checked_sub(1)?,
            b',' if open == 0 => {
                dims.push(parse_dim(inner.get(start..at)?)?);
                start = at + 1;
            }
            _ => {}
        }
    }
    if open > 0 {
        return None;
    }
    dims.push(parse_dim(inner.get(start..)?)?);
    Some(dims)
}

fn parse_dim(text: &str) -> Option<Dim> {
    let text = text.trim();
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().map(Dim::Int);
    }
    is_expression(text).then(|| Dim::Sym(text.into()))
}

/// Whether it has a name in it, and nothing that no expression has.
fn is_expression(text: &str) -> bool {
    let mut names = 0;
    let mut previous = b' ';
    for byte in text.bytes() {
        let in_word = previous.is_ascii_alphanumeric() || matches!(previous, b'_' | b'.');
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' if !in_word => names += 1,
            // Letters right behind a number are a mistyped number.
            b'a'..=b'z' | b'A'..=b'Z' | b'_' if previous.is_ascii_digit() && names == 0 => return false,
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => {}
            b'_' | b'.' | b' ' | b'+' | b'-' | b'*' | b'/' | b'%' | b'(' | b')' | b',' | b'<' | b'>' | b'=' | b'!' => {}
            _ => return false,
        }
        previous = byte;
    }
    names > 0
}

/// Prints dims as Python prints the list.
pub(super) struct DimsText<'a>(pub(super) &'a [Dim]);

impl fmt::Display for DimsText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (at, dim) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            dim.fmt(f)?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_reads_back() {
        for text in ["[]", "[0]", "[1, 64, 8]", "[s0, 4]", "[2*s0 + 1, Mod(s0, 2), s7**2]", "[-1]", "[u0]"] {
            let dims = parse_dims(text).unwrap_or_else(|| panic!("{text} is not read"));
            assert_eq!(DimsText(&dims).to_string(), text);
        }
        assert_eq!(parse_dims("[1,2]"), parse_dims(" [1, 2] "));
    }

    #[test]
    fn what_is_no_list_of_sizes_is_refused() {
        for text in [
            "",
            "[",
            "]",
            "1",
            "[1",
            "[1,]",
            "[,]",
            "[1 2]",
            "[1.5]",
            "[9223372036854775808]",
            "[2x]",
            "[\"a\"]",
            "[(]",
            "[)(]",
        ] {
            assert_eq!(parse_dims(text), None, "{text}");
        }
    }
}
