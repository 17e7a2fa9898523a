//! Logical lines: what stands between newlines that no bracket, string or backslash spans. They are
//! found before anything is parsed, which also bounds how deep the parser can be sent.

use super::source::Source;
use crate::ir::{Error, ErrorKind, Result};

/// How deep brackets may nest.
const MAX_BRACKETS: usize = 100;
/// How many operators, dots and calls may follow each other without a comma.
const MAX_CHAIN: usize = 256;
/// How many lambdas a line may have, and how many brackets its interpolated strings: both nest unseen
/// by the other limits.
const MAX_HIDDEN: usize = 100;

/// One logical line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// Where its first character that is no space stands.
    pub(super) start: usize,
    /// Where it ends, without the newline.
    pub(super) end: usize,
    /// How many spaces are before it.
    pub(super) indent: usize,
}

/// Walks over the logical lines of a text that are not blank.
pub(super) struct Lines<'s, 't> {
    source: &'s Source<'t>,
    at: usize,
}

impl<'s, 't> Lines<'s, 't> {
    pub(super) fn new(source: &'s Source<'t>) -> Self {
        Lines { source, at: 0 }
    }

    /// The next line, but stays before it.
    pub(super) fn peek(&mut self) -> Option<(usize, usize)> {
        let bytes = self.source.text.as_bytes();
        loop {
            let start = self.at;
            let indent = bytes.get(start..)?.iter().take_while(|&&byte| byte == b' ' || byte == b'\t').count();
            match bytes.get(start + indent) {
                None => return None,
                Some(b'\n' | b'\r') => self.at = start + indent + 1,
                Some(_) => return Some((start + indent, indent)),
            }
        }
    }

    /// Skips to the end of the physical line.
    pub(super) fn skip_line(&mut self) {
        let bytes = self.source.text.as_bytes();
        let rest = bytes.get(self.at..).unwrap_or_default();
        self.at += memchr(rest).map_or(rest.len(), |end| end + 1);
    }

    /// The next logical line.
    pub(super) fn next(&mut self) -> Result<Option<Line>> {
        let Some((start, indent)) = self.peek() else { return Ok(None) };
        let end = self.end_of(start)?;
        self.at = end + 1;
        Ok(Some(Line { start, end, indent }))
    }

    fn end_of(&self, start: usize) -> Result<usize> {
        let bytes = self.source.text.as_bytes();
        let mut at = start;
        let mut open = 0usize;
        let mut chains = [0usize; MAX_BRACKETS + 1];
        let mut chain = 0usize;
        let mut hidden = 0usize;
        while let Some(&byte) = bytes.get(at) {
            match CLASSES[usize::from(byte)] {
                PLAIN => {}
                NEWLINE if open == 0 => return Ok(at),
                NEWLINE => {}
                OPEN => {
                    open += 1;
                    if open > MAX_BRACKETS {
                        return Err(self.limit(at, &format!("brackets nest deeper than {MAX_BRACKETS} levels")));
                    }
                    chain += 1;
                    chains[open] = 1;
                }
                CLOSE => {
                    chain -= chains[open.min(MAX_BRACKETS)].min(chain);
                    chains[open] = 0;
                    open = open.saturating_sub(1);
                    // What follows a bracket goes on with what was before it: `f(x)(y)`.
                    chains[open] += 1;
                    chain += 1;
                    self.check_chain(at, chain)?;
                }
                COMMA => {
                    chain -= chains[open].min(chain);
                    chains[open] = 0;
                }
                QUOTE => {
                    let end = self.end_of_string(at)?;
                    if self.is_interpolated(at) {
                        hidden += bytes[at..end].iter().filter(|&&byte| CLASSES[usize::from(byte)] == OPEN).count();
                        self.check_hidden(at, hidden)?;
                    }
                    at = end;
                }
                COMMENT => {
                    let rest = &bytes[at..];
                    at += memchr(rest).unwrap_or(rest.len());
                    continue;
                }
                BACKSLASH => at += 1,
                // An operator, or a letter that a keyword begins with.
                _ => {
                    let counts = CLASSES[usize::from(byte)] == OPERATOR || self.is_keyword(at);
                    if byte == b'l' && counts {
                        hidden += 1;
                        self.check_hidden(at, hidden)?;
                    }
                    if counts {
                        chains[open] += 1;
                        chain += 1;
                        self.check_chain(at, chain)?;
                    }
                }
            }
            at += 1;
        }
        Ok(bytes.len())
    }

    fn check_chain(&self, at: usize, chain: usize) -> Result<()> {
        match chain > MAX_CHAIN {
            true => Err(self.limit(at, &format!("an expression goes deeper than {MAX_CHAIN} levels"))),
            false => Ok(()),
        }
    }

    fn check_hidden(&self, at: usize, hidden: usize) -> Result<()> {
        match hidden > MAX_HIDDEN {
            true => Err(self.limit(at, &format!("a line has more than {MAX_HIDDEN} lambdas or interpolations"))),
            false => Ok(()),
        }
    }

    /// Whether the string that begins at `at` has a prefix that makes it an f-string or a t-string.
    fn is_interpolated(&self, at: usize) -> bool {
        let bytes = self.source.text.as_bytes();
        let prefix = bytes.get(at.saturating_sub(2)..at).unwrap_or_default();
        prefix.iter().any(|byte| matches!(byte, b'f' | b'F' | b't' | b'T'))
    }

    fn is_keyword(&self, at: usize) -> bool {
        let bytes = self.source.text.as_bytes();
        let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        if is_word(at.checked_sub(1).and_then(|before| bytes.get(before))) {
            return false;
        }
        const WORDS: [&[u8]; 10] = [b"not", b"lambda", b"if", b"else", b"await", b"for", b"in", b"is", b"and", b"or"];
        WORDS.iter().any(|word| bytes[at..].starts_with(word) && !is_word(bytes.get(at + word.len())))
    }

    /// The last character of the string that begins at `at`.
    fn end_of_string(&self, at: usize) -> Result<usize> {
        let bytes = self.source.text.as_bytes();
        let quote = bytes[at];
        let is_triple = bytes.get(at..at + 3).is_some_and(|three| three.iter().all(|&byte| byte == quote));
        let mut now = if is_triple { at + 3 } else { at + 1 };
        loop {
            match bytes.get(now) {
                Some(b'\\') => now += 2,
                Some(&byte) if byte == quote => {
                    if !is_triple {
                        return Ok(now);
                    }
                    if bytes.get(now..now + 3).is_some_and(|three| three.iter().all(|&byte| byte == quote)) {
                        return Ok(now + 2);
                    }
                    now += 1;
                }
                Some(b'\n') if !is_triple => return Err(self.source.error(at, "the string does not end on its line")),
                Some(_) => now += 1,
                None => return Err(self.source.error(at, "the string does not end")),
            }
        }
    }

    fn limit(&self, at: usize, message: &str) -> Error {
        self.source.located(Error::new(ErrorKind::Limit, message), at)
    }
}

fn memchr(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&byte| byte == b'\n')
}

const PLAIN: u8 = 0;
const NEWLINE: u8 = 1;
const OPEN: u8 = 2;
const CLOSE: u8 = 3;
const COMMA: u8 = 4;
const QUOTE: u8 = 5;
const COMMENT: u8 = 6;
const BACKSLASH: u8 = 7;
const OPERATOR: u8 = 8;
const LETTER: u8 = 9;

static CLASSES: [u8; 256] = {
    let mut classes = [PLAIN; 256];
    let groups: [(&[u8], u8); 9] = [
        (b"\n", NEWLINE),
        (b"([{", OPEN),
        (b")]}", CLOSE),
        (b",;", COMMA),
        (b"'\"", QUOTE),
        (b"#", COMMENT),
        (b"\\", BACKSLASH),
        (b".+-*/%@&|^~<>!:", OPERATOR),
        (b"nliaefo", LETTER),
    ];
    let mut group = 0;
    while group < groups.len() {
        let (bytes, class) = groups[group];
        let mut at = 0;
        while at < bytes.len() {
            classes[bytes[at] as usize] = class;
            at += 1;
        }
        group += 1;
    }
    classes
};
