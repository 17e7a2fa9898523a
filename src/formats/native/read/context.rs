//! What all parts of reading share: strings, how to fail, and records of which unknown keys are skipped.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::formats::native::record::check_word;
use crate::ir::{Dtype, Error, ErrorKind, RecentSymbols, Symbol, Symbols};

/// Lives as long as one reading.
pub(super) struct Context<'c> {
    symbols: &'c Arc<Symbols>,
    recent: RefCell<RecentSymbols>,
    dtype: Cell<Option<Dtype>>,
    texts: RefCell<FxHashSet<Arc<str>>>,
    failure: RefCell<Option<Error>>,
}

impl<'c> Context<'c> {
    pub(super) fn new(symbols: &'c Arc<Symbols>) -> Self {
        Context {
            symbols,
            recent: RefCell::default(),
            dtype: Cell::default(),
            texts: RefCell::default(),
            failure: RefCell::default(),
        }
    }

    pub(super) fn intern(&self, text: &str) -> Symbol {
        self.recent.borrow_mut().intern(self.symbols, text)
    }

    /// The dtype of the name that comes next in a map. Mostly it is the one before.
    pub(super) fn dtype<'de, M: MapAccess<'de>>(&self, map: &mut M) -> Result<Dtype, M::Error> {
        let name = map.next_value_seed(Text)?;
        if let Some(last) = self.dtype.get().filter(|last| last.name() == name) {
            return Ok(last);
        }
        let found = Dtype::from_name(&name).filter(|dtype| dtype.name() == name);
        self.dtype.set(found);
        found.ok_or_else(|| self.fail(ErrorKind::Unsupported, format!("there is no dtype {:?}", shown(&name))))
    }

    /// The text that comes next in a map, one for all that are equal.
    pub(super) fn shared_text<'de, M: MapAccess<'de>>(&self, map: &mut M) -> Result<Arc<str>, M::Error> {
        let text = map.next_value_seed(Text)?;
        let mut texts = self.texts.borrow_mut();
        Ok(match texts.get(&*text) {
            Some(known) => known.clone(),
            None => {
                let new: Arc<str> = (&*text).into();
                texts.insert(new.clone());
                new
            }
        })
    }

    /// Stops the deserializer with an error of this kind.
    pub(super) fn fail<E: de::Error>(&self, kind: ErrorKind, message: String) -> E {
        let error = E::custom(&message);
        self.failure.borrow_mut().get_or_insert(Error::new(kind, message));
        error
    }

    /// The error that stopped the deserializer, with its place.
    pub(super) fn explain(&self, error: &serde_json::Error) -> Error {
        match self.failure.borrow_mut().take() {
            Some(failure) => failure.at_place(error.line(), error.column()),
            None => at(error),
        }
    }
}

/// An error of the document's text.
pub(super) fn at(error: &serde_json::Error) -> Error {
    Error::new(ErrorKind::Parse, format!("the document is wrong: {error}")).at_place(error.line(), error.column())
}

/// A text of the file, cut to what a message can show.
pub(super) fn shown(text: &str) -> &str {
    match text.char_indices().nth(80) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// A part of the document that is read with the context.
pub(super) trait Part<'de>: Sized {
    fn read<D: Deserializer<'de>>(context: &Context<'_>, deserializer: D) -> Result<Self, D::Error>;
}

/// An object with keys of its own.
pub(super) trait Record<'de>: Default {
    const WHAT: &'static str;

    /// Takes the value of a key that is known; false for another, whose value is left.
    fn take<M: MapAccess<'de>>(&mut self, context: &Context<'_>, key: &str, map: &mut M) -> Result<bool, M::Error>;

    /// A key without which it is none. Asked at once, so that a file full of nothing is not kept.
    fn missing(&self) -> Option<&'static str> {
        None
    }
}

/// Reads a [`Part`].
pub(super) struct PartSeed<'c, 's, T>(&'c Context<'s>, PhantomData<T>);

impl<'c, 's, T> PartSeed<'c, 's, T> {
    pub(super) fn new(context: &'c Context<'s>) -> Self {
        PartSeed(context, PhantomData)
    }
}

impl<'de, T: Part<'de>> DeserializeSeed<'de> for PartSeed<'_, '_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::read(self.0, deserializer)
    }
}

/// Reads a [`Record`].
pub(super) struct RecordSeed<'c, 's, T>(&'c Context<'s>, PhantomData<T>);

impl<'c, 's, T> RecordSeed<'c, 's, T> {
    pub(super) fn new(context: &'c Context<'s>) -> Self {
        RecordSeed(context, PhantomData)
    }
}

impl<'de, T: Record<'de>> DeserializeSeed<'de> for RecordSeed<'_, '_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Record<'de>> Visitor<'de> for RecordSeed<'_, '_, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::WHAT)
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<T, M::Error> {
        let mut record = T::default();
        while let Some(key) = map.next_key_seed(Text)? {
            if !record.take(self.0, &key, &mut map)? {
                map.next_value::<IgnoredAny>()?;
            }
        }
        match record.missing() {
            Some(key) => Err(de::Error::missing_field(key)),
            None => Ok(record),
        }
    }
}

/// Sets what must come once.
pub(super) fn once<T, E: de::Error>(place: &mut Option<T>, key: &'static str, value: T) -> Result<(), E> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::duplicate_field(key)),
    }
}

/// A text without a NUL, borrowed where it has no escapes.
pub(super) struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Cow<'de, str>, E> {
        check_word(text)?;
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Cow<'de, str>, E> {
        check_word(text)?;
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// Parts in a row.
pub(super) struct List<T>(pub(super) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        List(Vec::new())
    }
}

impl<'de, T: Part<'de>> Part<'de> for List<T> {
    fn read<D: Deserializer<'de>>(context: &Context<'_>, deserializer: D) -> Result<Self, D::Error> {
        struct Items<'c, 's, T>(&'c Context<'s>, PhantomData<T>);
        impl<'de, T: Part<'de>> Visitor<'de> for Items<'_, '_, T> {
            type Value = List<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<List<T>, S::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element_seed(PartSeed::new(self.0))? {
                    items.push(item);
                }
                Ok(List(items))
            }
        }
        deserializer.deserialize_seq(Items(context, PhantomData))
    }
}

/// Parts by name, in their order; no name comes twice.
pub(super) struct Named<'de, T>(pub(super) Vec<(Cow<'de, str>, T)>);

impl<T> Default for Named<'_, T> {
    fn default() -> Self {
        Named(Vec::new())
    }
}

impl<'de, T: Part<'de>> Part<'de> for Named<'de, T> {
    fn read<D: Deserializer<'de>>(context: &Context<'_>, deserializer: D) -> Result<Self, D::Error> {
        struct Entries<'c, 's, T>(&'c Context<'s>, PhantomData<T>);
        impl<'de, T: Part<'de>> Visitor<'de> for Entries<'_, '_, T> {
            type Value = Named<'de, T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Named<'de, T>, M::Error> {
                let mut entries = Vec::new();
                while let Some(name) = map.next_key_seed(Text)? {
                    entries.push((name, map.next_value_seed(PartSeed::new(self.0))?));
                }
                let mut names: Vec<&str> = entries.iter().map(|(name, _)| &**name).collect();
                names.sort_unstable();
                match names.windows(2).find(|pair| pair[0] == pair[1]) {
                    Some(pair) => {
                        let message = format!("the name {:?} comes twice", shown(pair[0]));
                        Err(self.0.fail(ErrorKind::Parse, message))
                    }
                    None => Ok(Named(entries)),
                }
            }
        }
        deserializer.deserialize_map(Entries(context, PhantomData))
    }
}

/// What serde reads by itself.
pub(super) struct Plain<T>(pub(super) T);

impl<'de, T: de::Deserialize<'de>> Part<'de> for Plain<T> {
    fn read<D: Deserializer<'de>>(_: &Context<'_>, deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Plain)
    }
}
