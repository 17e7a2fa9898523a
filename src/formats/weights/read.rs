//! Reading safetensors.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use safetensors::tensor::TensorInfo;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};

use super::notes::Notes;
use super::{loaded_dtype, map, shards, LENGTH_FIELD, MAX_DIMENSIONS, MAX_HEADER, METADATA_KEY};
use crate::ir::dtype::Dtype;
use crate::ir::error::{counted, Error, ErrorKind, Result};
use crate::ir::tensor::{Storage, Tensor};
use crate::ir::tensor_meta::TensorMeta;

/// Tensors by name, in the order in which the file's header names them.
#[derive(Debug, Default)]
pub struct Weights {
    tensors: IndexMap<Arc<str>, Arc<Tensor>>,
    metadata: HashMap<String, String>,
}

/// Maps the safetensors file at `path`, or all those that an index there names (`*.index.json`); the
/// tensors use the maps, no byte of theirs is copied or read. The files must not be shortened or written
/// into while they live: replace them by a rename.
pub fn open(path: impl AsRef<Path>) -> Result<Weights> {
    let path = path.as_ref();
    if shards::is_index(path) {
        return shards::open_index(path);
    }
    open_file(path)
}

/// Maps one safetensors file.
pub(super) fn open_file(path: &Path) -> Result<Weights> {
    let bytes = map::map(path).map_err(|error| Error::new(ErrorKind::Io, format!("{}: {error}", path.display())))?;
    from_bytes(bytes).map_err(|mut error| {
        error.message = format!("{}: {}", path.display(), error.message);
        error
    })
}

/// Reads a safetensors file that is in memory; the tensors share `bytes`.
pub fn from_bytes(bytes: Arc<Storage>) -> Result<Weights> {
    let file = bytes.bytes();
    let (header, data_start) = split_header(file)?;
    let Header { entries, metadata } = parse_header(header)?;
    let data_length = file.len() - data_start;
    check_offsets(&entries, data_length)?;

    let mut tensors: IndexMap<Arc<str>, Arc<Tensor>> = IndexMap::with_capacity(entries.len());
    let notes = {
        let names: HashSet<&str> = entries.iter().map(|(name, _)| &**name).collect();
        Notes::read(&metadata, |name| names.contains(name))?
    };
    for (name, info) in entries {
        let tensor = load(&name, &info, &notes, &bytes, data_start).map_err(|error| Error {
            message: format!("tensor `{}`: {}", shown(&name), error.message),
            kind: if error.kind == ErrorKind::Unsupported { error.kind } else { ErrorKind::Parse },
            ..error
        })?;
        tensors.insert(name, Arc::new(tensor));
    }
    for (name, stored) in &notes.same {
        // A name that is stored itself is no second one.
        if let (Some(tensor), None) = (tensors.get(stored.as_str()), tensors.get(name.as_str())) {
            let tensor = tensor.clone();
            tensors.insert(name.as_str().into(), tensor);
        }
    }
    Ok(Weights { tensors, metadata })
}

impl Weights {
    /// The tensor of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<Tensor>> {
        self.tensors.get(name)
    }

    /// Every name and tensor, in the header's order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &Arc<Tensor>)> {
        self.tensors.iter()
    }

    /// How many tensors.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// The free text entries of the header (`__metadata__`).
    pub fn metadata(&self) -> &HashMap<String, String> {
        &self.metadata
    }
}

/// Of two tensors with one name, the later stays.
impl FromIterator<(Arc<str>, Arc<Tensor>)> for Weights {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Arc<Tensor>)>>(tensors: I) -> Self {
        Weights { tensors: tensors.into_iter().collect(), metadata: HashMap::new() }
    }
}

impl IntoIterator for Weights {
    type Item = (Arc<str>, Arc<Tensor>);
    type IntoIter = indexmap::map::IntoIter<Arc<str>, Arc<Tensor>>;

    fn into_iter(self) -> Self::IntoIter {
        self.tensors.into_iter()
    }
}

/// The header's bytes, and where the data begins.
fn split_header(file: &[u8]) -> Result<(&[u8], usize)> {
    let Some((length, rest)) = file.split_first_chunk::<LENGTH_FIELD>() else {
        return Err(parse(format!("not a safetensors file: {} cannot hold a header", counted(file.len(), "byte"))));
    };
    let length = u64::from_le_bytes(*length);
    let header = usize::try_from(length)
        .ok()
        .filter(|&length| length <= MAX_HEADER)
        .ok_or_else(|| parse(format!("not a safetensors file: a header of {length} bytes is too long")))?;
    match rest.get(..header) {
        Some(bytes) if bytes.first() == Some(&b'{') => Ok((bytes, LENGTH_FIELD + header)),
        Some(_) => Err(parse("not a safetensors file: the header does not begin with `{`".into())),
        None => Err(parse(format!(
            "the file is cut off: of its header, {}, it has {}",
            counted(header, "byte"),
            rest.len()
        ))),
    }
}

struct Header {
    entries: Vec<(Arc<str>, TensorInfo)>,
    metadata: HashMap<String, String>,
}

fn parse_header(bytes: &[u8]) -> Result<Header> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| parse(format!("the header is not UTF-8 at byte {}", LENGTH_FIELD + error.valid_up_to())))?;
    let mut json = serde_json::Deserializer::from_str(text);
    let header = json.deserialize_map(HeaderVisitor).and_then(|header| json.end().map(|()| header));
    header.map_err(|error| parse(format!("the header is wrong: {error}")).at_place(error.line(), error.column()))
}

/// Takes the entries as they come, where a derived reader would let a later one of the same name
/// win in silence.
struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Header, A::Error> {
        let mut entries = Vec::new();
        let mut seen: HashSet<Arc<str>> = HashSet::new();
        let mut metadata = None;
        while let Some(name) = map.next_key::<String>()? {
            if name == METADATA_KEY {
                let texts = map.next_value::<HashMap<String, String>>();
                let texts = texts.map_err(|error| A::Error::custom(format!("`{METADATA_KEY}`: {error}")))?;
                if metadata.replace(texts).is_some() {
                    return Err(A::Error::custom(format!("`{METADATA_KEY}` occurs twice")));
                }
                continue;
            }
            let name: Arc<str> = name.into();
            if !seen.insert(name.clone()) {
                return Err(A::Error::custom(format!("tensor `{}` occurs twice", shown(&name))));
            }
            let info = map
                .next_value::<TensorInfo>()
                .map_err(|error| A::Error::custom(format!("tensor `{}`: {error}", shown(&name))))?;
            entries.push((name, info));
        }
        Ok(Header { entries, metadata: metadata.unwrap_or_default() })
    }
}

/// The tensors must cover the data one after another, with no hole, no overlap and no rest.
fn check_offsets(entries: &[(Arc<str>, TensorInfo)], data_length: usize) -> Result<()> {
    let mut order: Vec<&(Arc<str>, TensorInfo)> = entries.iter().collect();
    order.sort_by_key(|(_, info)| info.data_offsets);
    let mut covered = 0;
    for (name, info) in order {
        let (start, end) = info.data_offsets;
        let wrong = if start > end {
            "ends before it begins"
        } else if end > data_length {
            "reaches beyond the end of the file"
        } else if start < covered {
            "overlaps the one before it"
        } else if start > covered {
            "leaves a hole before it"
        } else {
            covered = end;
            continue;
        };
        return Err(parse(format!("tensor `{}` at bytes {start} to {end} of {data_length} {wrong}", shown(name))));
    }
    if covered != data_length {
        return Err(parse(format!("no tensor has the last {} of the file", counted(data_length - covered, "byte"))));
    }
    Ok(())
}

/// The tensor of one entry whose offsets were checked.
fn load(name: &str, info: &TensorInfo, notes: &Notes, bytes: &Arc<Storage>, data_start: usize) -> Result<Tensor> {
    let dtype = loaded_dtype(info.dtype)
        .ok_or_else(|| Error::new(ErrorKind::Unsupported, format!("torch has no dtype for {:?}", info.dtype)))?;
    if info.shape.len() > MAX_DIMENSIONS {
        return Err(parse(format!("{} dimensions are more than {MAX_DIMENSIONS}", info.shape.len())));
    }
    let mut shape = Vec::with_capacity(info.shape.len());
    for &size in &info.shape {
        shape.push(i64::try_from(size).map_err(|_| parse(format!("size {size} is too large")))?);
    }
    if dtype == Dtype::Float4E2m1fnX2 {
        // The file counts single values, torch the bytes that hold two.
        match shape.last_mut() {
            Some(last) if *last % 2 == 0 => *last /= 2,
            _ => return Err(parse("the last size of an F4 tensor must be even".into())),
        }
    }
    let meta = match notes.meta(name)? {
        Some(noted) if noted.shape.len() > MAX_DIMENSIONS => {
            return Err(parse(format!("{} dimensions are more than {MAX_DIMENSIONS}", noted.shape.len())));
        }
        Some(noted) if info.dtype == safetensors::Dtype::U8 => noted,
        _ => TensorMeta::new(dtype, shape),
    };
    let (start, end) = info.data_offsets;
    let needed = meta.nbytes()?.unwrap_or_default();
    if needed != (end - start) as u64 {
        return Err(parse(format!(
            "{} of shape {} takes {needed} bytes, the file gives it {}",
            meta.dtype,
            shown(&format!("{:?}", info.shape)),
            end - start
        )));
    }
    Tensor::new(meta, bytes.clone(), data_start + start)
}

/// A name from the file, cut to what a message can show.
fn shown(name: &str) -> &str {
    match name.char_indices().nth(80) {
        Some((end, _)) => &name[..end],
        None => name,
    }
}

fn parse(message: String) -> Error {
    Error::new(ErrorKind::Parse, message)
}
