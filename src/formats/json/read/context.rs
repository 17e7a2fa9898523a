//! What all parts of reading share: the text, the strings, where in the file we are, how to fail.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::de::{DeserializeSeed, Deserializer, Error as SerdeError, Visitor};

use super::bare::Bare;
use crate::ir::tensor::Value;
use crate::ir::{Error, ErrorKind, Symbols};

/// Lives as long as one reading.
pub(super) struct Context<'a> {
    text: &'a str,
    symbols: &'a Arc<Symbols>,
    bare: &'a Bare,
    trail: RefCell<Trail<'a>>,
    failure: RefCell<Option<Error>>,
    numbers: Numbers,
    /// Values that nodes share because the file says the same of them.
    pub(super) values: RefCell<FxHashMap<ValueKey<'a>, Arc<Value>>>,
}

/// Shape, dtype, stride and requires_grad as spelled.
pub(super) type ValueKey<'a> = (&'a str, &'a str, Option<&'a str>, Option<&'a str>);

/// What is being read, so that a message can say it.
#[derive(Default)]
struct Trail<'a> {
    modules: Vec<&'a str>,
    item: Item<'a>,
    key: Option<&'a str>,
}

#[derive(Default, Clone, Copy)]
enum Item<'a> {
    #[default]
    None,
    Weight(&'a str),
    Node(usize, Option<&'a str>),
}

/// Finds the text of a number that serde_json has turned into a float already.
#[derive(Default)]
struct Numbers {
    /// How many numbers came since the value began.
    count: Cell<usize>,
    /// A place in the text, and how many numbers of the value are before it.
    scanned: Cell<Option<(usize, usize)>>,
}

impl<'a> Context<'a> {
    pub(super) fn new(text: &'a str, symbols: &'a Arc<Symbols>, bare: &'a Bare) -> Self {
        Context {
            text,
            symbols,
            bare,
            trail: RefCell::default(),
            failure: RefCell::default(),
            numbers: Numbers::default(),
            values: RefCell::default(),
        }
    }

    pub(super) fn symbols(&self) -> &'a Arc<Symbols> {
        self.symbols
    }

    /// The number for which a string stands that was borrowed from the file: NaN, inf or -inf.
    pub(super) fn bare(&self, part: &str) -> Option<f64> {
        if self.bare.is_empty() {
            return None;
        }
        self.bare.get(&self.offset(part)?).copied()
    }

    /// Where in the file a string stands that was borrowed from it.
    pub(super) fn offset(&self, part: &str) -> Option<usize> {
        let start = (part.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        (start.checked_add(part.len())? <= self.text.len()).then_some(start)
    }

    pub(super) fn enter_module(&self, name: &'a str) {
        let mut trail = self.trail.borrow_mut();
        trail.modules.push(name);
        (trail.item, trail.key) = (Item::None, None);
    }

    /// In how many modules below the first we are.
    pub(super) fn depth(&self) -> usize {
        self.trail.borrow().modules.len()
    }

    pub(super) fn leave_module(&self) {
        let mut trail = self.trail.borrow_mut();
        trail.modules.pop();
        (trail.item, trail.key) = (Item::None, None);
    }

    pub(super) fn at_node(&self, index: usize) {
        self.trail.borrow_mut().item = Item::Node(index, None);
    }

    pub(super) fn at_named_node(&self, index: usize, name: &'a str) {
        self.trail.borrow_mut().item = Item::Node(index, Some(name));
    }

    pub(super) fn node_is_named(&self, name: &'a str) {
        if let Item::Node(_, known) = &mut self.trail.borrow_mut().item {
            *known = Some(name);
        }
    }

    pub(super) fn at_weight(&self, name: &'a str) {
        self.trail.borrow_mut().item = Item::Weight(name);
    }

    pub(super) fn at_no_item(&self) {
        let mut trail = self.trail.borrow_mut();
        (trail.item, trail.key) = (Item::None, None);
    }

    pub(super) fn at_key(&self, key: Option<&'a str>) {
        self.trail.borrow_mut().key = key;
    }

    /// Stops the deserializer with an error of the file; the place is where it stands now.
    pub(super) fn fail<E: SerdeError>(&self, message: impl Into<String>) -> E {
        self.stop(Error::new(ErrorKind::Parse, message))
    }

    /// The same with an error that has a kind, and perhaps a place, of its own.
    pub(super) fn stop<E: SerdeError>(&self, error: Error) -> E {
        let stopped = E::custom(&error.message);
        self.failure.replace(Some(error));
        stopped
    }

    /// Fills a slot that a key may fill once.
    pub(super) fn once<T, E: SerdeError>(&self, slot: &mut Option<T>, value: T) -> Result<(), E> {
        match slot.replace(value) {
            None => Ok(()),
            Some(_) => Err(self.fail("the key is given twice")),
        }
    }

    /// An error of the file, said of what is being read, at a place in the text if one is known.
    pub(super) fn error_at(&self, offset: Option<usize>, message: impl Into<String>) -> Error {
        self.located(Error::new(ErrorKind::Parse, message), offset)
    }

    /// Makes an error from elsewhere one of the file: said of what is being read, at `offset`.
    pub(super) fn located(&self, mut error: Error, offset: Option<usize>) -> Error {
        error.message = format!("{}{}", self.describe(), error.message);
        // Depth stays a limit; whatever else the graph refuses is wrong in the file.
        if error.kind != ErrorKind::Limit {
            error.kind = ErrorKind::Parse;
        }
        error.node = None;
        match offset {
            Some(offset) => {
                let before = self.text.as_bytes().get(..offset).unwrap_or_default();
                let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
                let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
                error.at_place(line, column)
            }
            None => error,
        }
    }

    /// What stopped the deserializer, as the core's error.
    pub(super) fn explain(&self, error: &serde_json::Error) -> Error {
        let (line, column) = (error.line().max(1), error.column().max(1));
        if let Some(failure) = self.failure.take() {
            let place = failure.place;
            let located = match place {
                Some(_) => failure, // it was made with its place and its trail
                None => self.located(failure, None),
            };
            return if place.is_some() { located } else { located.at_place(line, column) };
        }
        let text = error.to_string();
        let message =
            text.strip_suffix(&format!(" at line {} column {}", error.line(), error.column())).unwrap_or(&text);
        self.located(Error::new(ErrorKind::Parse, message), None).at_place(line, column)
    }

    fn describe(&self) -> String {
        let trail = self.trail.borrow();
        let mut text = String::new();
        if !trail.modules.is_empty() {
            text.push_str(&format!("module `{}`: ", shown(&trail.modules.join("`, in it `"))));
        }
        match trail.item {
            Item::None => {}
            Item::Weight(name) => text.push_str(&format!("weight `{}`: ", shown(name))),
            Item::Node(index, None) => text.push_str(&format!("nodes[{index}]: ")),
            Item::Node(index, Some(name)) => text.push_str(&format!("nodes[{index}] `{}`: ", shown(name))),
        }
        if let Some(key) = trail.key {
            text.push_str(&format!("`{}`: ", shown(key)));
        }
        text
    }

    /// The value that follows is one whose numbers are counted.
    pub(super) fn begin_value(&self, key: &str) {
        self.numbers.count.set(0);
        // Behind the key's closing quote; a key with escapes is not in the text as it is.
        self.numbers.scanned.set(self.offset(key).map(|start| (start + key.len() + 1, 0)));
    }

    /// Every number of such a value is announced, in order.
    pub(super) fn count_number(&self) {
        self.numbers.count.set(self.numbers.count.get() + 1);
    }

    /// How the number that was announced last is spelled. A value is scanned once at most.
    pub(super) fn number_text(&self) -> Option<&'a str> {
        let (mut at, mut passed) = self.numbers.scanned.get()?;
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(at)? {
                b'"' => at = string_end(bytes, at)?,
                b'-' | b'0'..=b'9' => {
                    let rest = bytes.get(at..)?;
                    let part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                    let end = at + rest.iter().take_while(part).count();
                    passed += 1;
                    if passed == self.numbers.count.get() {
                        self.numbers.scanned.set(Some((end, passed)));
                        return self.text.get(at..end);
                    }
                    at = end;
                }
                _ => at += 1,
            }
        }
    }
}

/// Behind the closing quote of the string that begins at `start`.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// A name from the file, cut to what a message can show.
pub(super) fn shown(text: &str) -> &str {
    match text.char_indices().nth(100) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Reads a string, borrowed from the file where it has no escapes.
#[derive(Clone, Copy)]
pub(super) struct Text<'c, 'a>(pub(super) &'c Context<'a>);

impl<'a> DeserializeSeed<'a> for Text<'_, 'a> {
    type Value = &'a str;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<&'a str, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'a> for Text<'_, 'a> {
    type Value = &'a str;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: SerdeError>(self, text: &'a str) -> Result<&'a str, E> {
        match self.0.bare(text) {
            None => Ok(text),
            Some(value) => Err(self.0.fail(format!("{value} stands where a string should"))),
        }
    }

    fn visit_str<E: SerdeError>(self, text: &str) -> Result<&'a str, E> {
        let symbols = self.0.symbols;
        Ok(symbols.text(symbols.intern(text)))
    }
}
