//! Modules and their members.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, Visitor};

use super::argument::Read;
use super::context::{once, shown, Context, Named, Part, PartSeed, Plain, Record, RecordSeed, Text};
use crate::ir::{Argument, ErrorKind, NewModule, TensorKind};

/// A module as the document tells it.
#[derive(Default)]
pub(super) struct ModuleRecord<'de> {
    pub(super) type_name: Option<Cow<'de, str>>,
    pub(super) kind: Option<NewModule>,
    pub(super) copy_of: Option<usize>,
    pub(super) submodules: Option<Named<'de, Plain<usize>>>,
    pub(super) attributes: Option<Named<'de, AttributeRecord>>,
}

/// A member that is no module; a tensor by its place.
pub(super) enum AttributeRecord {
    Tensor(TensorKind, usize),
    Value(Argument),
}

impl<'de> Record<'de> for ModuleRecord<'de> {
    const WHAT: &'static str = "a module";

    fn take<M: MapAccess<'de>>(&mut self, context: &Context<'_>, key: &str, map: &mut M) -> Result<bool, M::Error> {
        match key {
            "type" => once(&mut self.type_name, "type", map.next_value_seed(Text)?)?,
            "kind" => once(&mut self.kind, "kind", kind(context, map)?)?,
            "copy_of" => once(&mut self.copy_of, "copy_of", map.next_value()?)?,
            "submodules" => once(&mut self.submodules, "submodules", map.next_value_seed(PartSeed::new(context))?)?,
            "attributes" => once(&mut self.attributes, "attributes", map.next_value_seed(PartSeed::new(context))?)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn missing(&self) -> Option<&'static str> {
        match (&self.type_name, self.kind) {
            (None, _) => Some("type"),
            (_, None) => Some("kind"),
            _ => None,
        }
    }
}

fn kind<'de, M: MapAccess<'de>>(context: &Context<'_>, map: &mut M) -> Result<NewModule, M::Error> {
    match &*map.next_value_seed(Text)? {
        "graph" => Ok(NewModule::Graph),
        "leaf" => Ok(NewModule::Leaf),
        "holder" => Ok(NewModule::Holder),
        other => {
            let message = format!("this library knows no module of the kind {:?}", shown(other));
            Err(context.fail(ErrorKind::Unsupported, message))
        }
    }
}

impl<'de> Part<'de> for ModuleRecord<'de> {
    fn read<D: Deserializer<'de>>(context: &Context<'_>, deserializer: D) -> Result<Self, D::Error> {
        RecordSeed::new(context).deserialize(deserializer)
    }
}

impl<'de> Part<'de> for AttributeRecord {
    fn read<D: Deserializer<'de>>(context: &Context<'_>, deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AttributeVisitor(context))
    }
}

struct AttributeVisitor<'c, 's>(&'c Context<'s>);

impl<'de> Visitor<'de> for AttributeVisitor<'_, '_> {
    type Value = AttributeRecord;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an attribute: an object of one key")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<AttributeRecord, M::Error> {
        let kind = map.next_key_seed(Text)?.ok_or_else(|| de::Error::invalid_length(0, &self))?;
        let attribute = match &*kind {
            "parameter" => AttributeRecord::Tensor(TensorKind::Parameter, map.next_value()?),
            "buffer" => AttributeRecord::Tensor(TensorKind::Buffer, map.next_value()?),
            "constant" => AttributeRecord::Tensor(TensorKind::Constant, map.next_value()?),
            "value" => AttributeRecord::Value(map.next_value_seed(PartSeed::<Read>::new(self.0))?.0),
            other => {
                let message = format!("this library knows no attribute of the kind {:?}", shown(other));
                return Err(self.0.fail(ErrorKind::Unsupported, message));
            }
        };
        match map.next_key_seed(Text)? {
            None => Ok(attribute),
            Some(_) => Err(de::Error::custom("an attribute is an object of one key")),
        }
    }
}
