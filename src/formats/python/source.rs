//! The text that is read, as lines: what logs put before them and colours are taken away.

use crate::ir::{Error, ErrorKind};
use std::borrow::Cow;

/// A text, and where its lines begin.
pub(super) struct Source<'t> {
    pub(super) text: Cow<'t, str>,
    /// Whether it is a log, which has other lines around code.
    pub(super) is_log: bool,
}

impl<'t> Source<'t> {
    /// Takes colours and the prefixes of log lines away; lines stay what they are.
    pub(super) fn new(text: &'t str) -> Self {
        let mut text = Cow::Borrowed(text);
        if text.contains('\x1b') {
            text = Cow::Owned(without_colours(&text));
        }
        let is_log = text.lines().take(200).any(|line| log_prefix(line) > 0);
        if is_log {
            let lines = text.lines().map(|line| &line[log_prefix(line)..]);
            text = Cow::Owned(lines.collect::<Vec<_>>().join("\n"));
        }
        Source { text, is_log }
    }

    /// An error at a place in the text: line, column, and the line with a caret below.
    pub(super) fn error(&self, at: usize, message: &str) -> Error {
        self.located(Error::new(ErrorKind::Parse, message), at)
    }

    /// An error from elsewhere, made one of this text.
    pub(super) fn located(&self, mut error: Error, at: usize) -> Error {
        if error.place.is_some() {
            return error;
        }
        let at = at.min(self.text.len());
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let column = at - start + 1;
        let shown = self.text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        // A long line is cut to what is around the place.
        let from = floor(shown, (column - 1).saturating_sub(60));
        let to = floor(shown, (column + 60).min(shown.len()));
        let shown = shown.get(from..to).unwrap_or_default();
        let caret = " ".repeat(column - 1 - from.min(column - 1));
        error.message = format!("{}\n    {shown}\n    {caret}^", error.message);
        if error.kind != ErrorKind::Limit {
            error.kind = ErrorKind::Parse;
        }
        error.node = None;
        error.at_place(line, column)
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// How long the prefix of a line of torch's logs is: `V1201 02:49:14.5 16004 file.py:1983] [0/0] [__graph_code] `.
fn log_prefix(line: &str) -> usize {
    let bytes = line.as_bytes();
    let is_log = bytes.len() > 6
        && matches!(bytes[0], b'V' | b'I' | b'W' | b'D' | b'E' | b'C')
        && bytes[1..5].iter().all(u8::is_ascii_digit)
        && bytes[5] == b' ';
    if !is_log {
        return 0;
    }
    let Some(mut at) = line.find("] ").map(|at| at + 2) else { return 0 };
    // Brackets with what the line belongs to, each behind a space.
    while line[at..].starts_with('[') {
        match line[at..].find(']') {
            Some(end) => at += end + 1,
            None => break,
        }
        if line[at..].starts_with(' ') {
            at += 1;
        }
    }
    at
}

/// Without what sets the colours of a terminal: `ESC [ ... m`.
fn without_colours(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(codes) = rest.strip_prefix('[') {
            let end = codes.find(|c: char| c.is_ascii_alphabetic()).map_or(codes.len(), |end| end + 1);
            rest = &codes[end..];
        }
    }
    out.push_str(rest);
    out
}
