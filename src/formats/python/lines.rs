//! Logical lines: what stands between newlines that no bracket, string or backslash spans. They are
//! found before anything is parsed, which also bounds how deep the parser can be sent.

use super::source::Source;
use crate::ir::{Error, ErrorKind, Result};
use memchr::{memchr, memchr3};

/// How deep brackets may nest.
const MAX_BRACKETS: usize = 100;
/// How many operators, dots, words and calls may follow each other without a comma.
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
    /// Where the code ends that does something: `;  x = y = None` behind it only clears names.
    pub(super) cleared: usize,
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
        self.at += memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
    }

    /// The next logical line.
    pub(super) fn next(&mut self) -> Result<Option<Line>> {
        let Some((start, indent)) = self.peek() else { return Ok(None) };
        let (end, semicolon) = self.end_of(start)?;
        self.at = end + 1;
        let bytes = self.source.text.as_bytes();
        let cleared = semicolon.filter(|&at| only_clears(bytes.get(at + 1..end).unwrap_or_default())).unwrap_or(end);
        Ok(Some(Line { start, end, indent, cleared }))
    }

    /// Where the line ends, and where its last semicolon stands.
    fn end_of(&self, start: usize) -> Result<(usize, Option<usize>)> {
        let bytes = self.source.text.as_bytes();
        let mut at = start;
        let (mut open, mut hidden) = (0usize, 0usize);
        // What follows each other without a comma, in each bracket that is open and in all; spaces stand
        // for words here.
        let (mut chains, mut chain, mut is_dense) = ([0usize; MAX_BRACKETS + 1], 0usize, false);
        let mut semicolon = None;
        while let Some(&byte) = bytes.get(at) {
            match CLASSES[usize::from(byte)] {
                PLAIN => {
                    let rest = bytes.get(at + 1..).unwrap_or_default();
                    let plain = rest.iter().position(|&byte| CLASSES[usize::from(byte)] != PLAIN);
                    at += plain.unwrap_or(rest.len());
                }
                LINK => {
                    (chains[open], chain) = (chains[open] + 1, chain + 1);
                    is_dense |= chain > MAX_CHAIN;
                }
                NEWLINE if open == 0 => break,
                NEWLINE => {}
                OPEN => {
                    open += 1;
                    if open > MAX_BRACKETS {
                        return Err(self.limit(at, &format!("brackets nest deeper than {MAX_BRACKETS} levels")));
                    }
                    (chains[open], chain) = (1, chain + 1);
                }
                CLOSE => {
                    chain -= chains[open].min(chain);
                    open = open.saturating_sub(1);
                    (chains[open], chain) = (chains[open] + 1, chain + 1);
                    is_dense |= chain > MAX_CHAIN;
                }
                COMMA => {
                    chain -= chains[open].min(chain);
                    chains[open] = 0;
                    if byte == b';' && open == 0 {
                        semicolon = Some(at);
                    }
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
                    at += memchr(b'\n', rest).unwrap_or(rest.len());
                    continue;
                }
                BACKSLASH => at += 1,
                // A letter that `lambda` begins with.
                _ => {
                    if self.is_lambda(at) {
                        hidden += 1;
                        self.check_hidden(at, hidden)?;
                    }
                }
            }
            at += 1;
        }
        if is_dense {
            self.check_chains(start, at)?;
        }
        Ok((at.min(bytes.len()), semicolon))
    }

    /// Bounds how many operators, dots, words and calls follow each other without a comma, those around
    /// an expression included.
    fn check_chains(&self, start: usize, end: usize) -> Result<()> {
        let bytes = self.source.text.as_bytes();
        let (mut at, mut open, mut chain) = (start, 0usize, 0usize);
        let mut chains = [0usize; MAX_BRACKETS + 1];
        while let Some(&byte) = bytes.get(at).filter(|_| at < end) {
            match CLASSES[usize::from(byte)] {
                OPEN => {
                    open = (open + 1).min(MAX_BRACKETS);
                    (chains[open], chain) = (1, chain + 1);
                }
                CLOSE => {
                    chain -= chains[open].min(chain);
                    chains[open] = 0;
                    open = open.saturating_sub(1);
                    // What follows a bracket goes on with what was before it: `f(x)(y)`.
                    (chains[open], chain) = (chains[open] + 1, chain + 1);
                    self.check_chain(at, chain)?;
                }
                COMMA => {
                    chain -= chains[open].min(chain);
                    chains[open] = 0;
                }
                LINK if matches!(byte, b' ' | b'\t') => {}
                LINK => {
                    (chains[open], chain) = (chains[open] + 1, chain + 1);
                    self.check_chain(at, chain)?;
                }
                PLAIN | LETTER if self.is_keyword(at) => {
                    (chains[open], chain) = (chains[open] + 1, chain + 1);
                    self.check_chain(at, chain)?;
                }
                QUOTE => at = self.end_of_string(at)?,
                COMMENT => {
                    let rest = &bytes[at..];
                    at += memchr(b'\n', rest).unwrap_or(rest.len());
                    continue;
                }
                BACKSLASH => at += 1,
                _ => {}
            }
            at += 1;
        }
        Ok(())
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

    fn is_lambda(&self, at: usize) -> bool {
        self.is_word(at, b"lambda")
    }

    fn is_keyword(&self, at: usize) -> bool {
        // Most letters stand within a word.
        let bytes = self.source.text.as_bytes();
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        if before.is_some_and(u8::is_ascii_alphanumeric)
            || !matches!(bytes[at], b'a' | b'e' | b'f' | b'i' | b'l' | b'n' | b'o')
        {
            return false;
        }
        const WORDS: [&[u8]; 10] = [b"not", b"lambda", b"if", b"else", b"await", b"for", b"in", b"is", b"and", b"or"];
        WORDS.iter().any(|word| self.is_word(at, word))
    }

    fn is_word(&self, at: usize, word: &[u8]) -> bool {
        let bytes = self.source.text.as_bytes();
        let goes_on = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        bytes[at..].starts_with(word)
            && !goes_on(bytes.get(at + word.len()))
            && !goes_on(at.checked_sub(1).and_then(|before| bytes.get(before)))
    }

    /// The last character of the string that begins at `at`.
    fn end_of_string(&self, at: usize) -> Result<usize> {
        let bytes = self.source.text.as_bytes();
        let quote = bytes[at];
        let is_triple = bytes.get(at..at + 3).is_some_and(|three| three.iter().all(|&byte| byte == quote));
        let mut now = if is_triple { at + 3 } else { at + 1 };
        loop {
            let rest = bytes.get(now..).unwrap_or_default();
            match memchr3(quote, b'\\', b'\n', rest).map(|found| now + found) {
                Some(found) if bytes[found] == b'\\' => now = found + 2,
                Some(found) if bytes[found] == quote => {
                    if !is_triple {
                        return Ok(found);
                    }
                    if bytes.get(found..found + 3).is_some_and(|three| three.iter().all(|&byte| byte == quote)) {
                        return Ok(found + 2);
                    }
                    now = found + 1;
                }
                Some(found) if is_triple => now = found + 1,
                Some(_) => return Err(self.source.error(at, "the string does not end on its line")),
                None => return Err(self.source.error(at, "the string does not end")),
            }
        }
    }

    fn limit(&self, at: usize, message: &str) -> Error {
        self.source.located(Error::new(ErrorKind::Limit, message), at)
    }
}

/// Whether a part of a line is `x = y = None`.
fn only_clears(part: &[u8]) -> bool {
    let mut names = part.split(|&byte| byte == b'=').map(<[u8]>::trim_ascii);
    let is_name = |name: &[u8]| {
        name.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
            && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    names.next_back() == Some(b"None") && names.next().is_some_and(is_name) && names.all(is_name)
}

const PLAIN: u8 = 0;
const NEWLINE: u8 = 1;
const OPEN: u8 = 2;
const CLOSE: u8 = 3;
const COMMA: u8 = 4;
const QUOTE: u8 = 5;
const COMMENT: u8 = 6;
const BACKSLASH: u8 = 7;
const LINK: u8 = 8;
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
        (b".+-*/%@&|^~<>!: \t", LINK),
        (b"l", LETTER),
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
