//! What the format has no words for, kept as text beside its entries: dtypes that it lacks, and second
//! names of one tensor.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::ir::error::{Error, ErrorKind, Result};
use crate::ir::{Dtype, TensorMeta};

/// The entry of `__metadata__` that is ours.
const KEY: &str = "fxir";

/// Entries of `__metadata__` that others write and that name no tensor.
const NO_NAMES: [&str; 2] = ["format", KEY];

/// Ours is JSON; what it does not know it leaves alone.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct Notes {
    /// Tensors whose bytes are stored as a row of U8.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    dtypes: BTreeMap<String, Element>,
    /// From a name to that under which the same tensor is stored.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) same: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Element {
    dtype: String,
    shape: Vec<i64>,
}

impl Notes {
    /// Those of a file with this metadata. The second names that the `safetensors` package's
    /// `save_model` notes are among them: an entry whose text is the name of a tensor.
    pub(super) fn read(metadata: &HashMap<String, String>, is_tensor: impl Fn(&str) -> bool) -> Result<Notes> {
        let mut notes = match metadata.get(KEY) {
            // Nobody else's business, so it may be anything.
            Some(text) if text.starts_with('{') => serde_json::from_str(text).map_err(|error| {
                Error::new(ErrorKind::Parse, format!("the header's metadata `{KEY}` is wrong: {error}"))
            })?,
            _ => Notes::default(),
        };
        for (name, stored) in metadata {
            if !NO_NAMES.contains(&name.as_str()) && is_tensor(stored) && !is_tensor(name) {
                notes.same.entry(name.clone()).or_insert_with(|| stored.clone());
            }
        }
        Ok(notes)
    }

    /// The entry for a header; none when there is nothing to say.
    pub(super) fn write(&self) -> Option<(String, String)> {
        if self.dtypes.is_empty() && self.same.is_empty() {
            return None;
        }
        serde_json::to_string(self).ok().map(|text| (KEY.to_owned(), text))
    }

    /// A tensor is stored as a row of bytes.
    pub(super) fn set_meta(&mut self, name: &str, dtype: Dtype, shape: &[i64]) {
        self.dtypes.insert(name.to_owned(), Element { dtype: dtype.name().to_owned(), shape: shape.to_vec() });
    }

    /// What a tensor is that is stored as a row of bytes.
    pub(super) fn meta(&self, name: &str) -> Result<Option<TensorMeta>> {
        let Some(Element { dtype, shape }) = self.dtypes.get(name) else { return Ok(None) };
        let dtype = Dtype::from_name(dtype)
            .ok_or_else(|| Error::new(ErrorKind::Unsupported, format!("dtype {dtype:?} is not known")))?;
        Ok(Some(TensorMeta::new(dtype, shape.iter().copied())))
    }
}
