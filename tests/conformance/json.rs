//! JSON whose keys keep their order, to compare what was written with what was recorded.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// One JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number without a fraction that fits 64 bits.
    Int(i128),
    /// Another number.
    Float(f64),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object, its keys in their order.
    Object(Vec<(String, Json)>),
}

/// Says where the two differ, if they do. Numbers are equal when their values are.
pub fn assert_same(expected: &Json, found: &Json, path: &str) -> Result<(), String> {
    match (expected, found) {
        (Json::List(one), Json::List(two)) if one.len() == two.len() => one
            .iter()
            .zip(two)
            .enumerate()
            .try_for_each(|(at, (one, two))| assert_same(one, two, &format!("{path}[{at}]"))),
        (Json::Object(one), Json::Object(two)) => {
            let keys = |entries: &[(String, Json)]| entries.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
            if keys(one) != keys(two) {
                return Err(format!("{path}: the keys are {:?}, recorded are {:?}", keys(two), keys(one)));
            }
            one.iter().zip(two).try_for_each(|((key, one), (_, two))| assert_same(one, two, &format!("{path}.{key}")))
        }
        (Json::Int(one), Json::Float(two)) | (Json::Float(two), Json::Int(one)) if *one as f64 == *two => Ok(()),
        _ if expected == found => Ok(()),
        _ => Err(format!("{path}: it is {found:?}, recorded is {expected:?}")),
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Int(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Int(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.into()))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Json, S::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Json, M::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Json::Object(entries))
    }
}
