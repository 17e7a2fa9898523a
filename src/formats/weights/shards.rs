//! Weights in several safetensors files, and the index that says which is where: as Hugging Face lays
//! them, `model.safetensors.index.json` beside `model-00001-of-00002.safetensors`.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use indexmap::IndexMap;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::write::{about, Plan, Stored};
use super::{open_file, Weights};
use crate::formats::replace_file::StagedFile;
use crate::ir::error::{Error, ErrorKind, Result};
use crate::ir::tensor::Tensor;

/// How an index ends, by which it is told from a safetensors file.
const INDEX_EXTENSION: &str = "json";

/// What stands before that in the name of an index.
const SUFFIX: &str = ".safetensors.index.json";

#[derive(Deserialize)]
struct Index {
    weight_map: WeightMap,
}

#[derive(Serialize)]
struct NewIndex<'a> {
    metadata: TotalSize,
    weight_map: IndexMap<&'a str, String>,
}

#[derive(Serialize)]
struct TotalSize {
    total_size: u64,
}

/// Whether a path names an index.
pub(super) fn is_index(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == INDEX_EXTENSION)
}

/// Maps all files that an index names, and takes from each the tensors that it is said to have, in the
/// order of the index.
pub(super) fn open_index(path: &Path) -> Result<Weights> {
    let wrong = |kind, what: String| Error::new(kind, format!("{}: {what}", path.display()));
    let text = fs::read(path).map_err(|error| wrong(ErrorKind::Io, error.to_string()))?;
    let index: Index = serde_json::from_slice(&text).map_err(|error| {
        wrong(ErrorKind::Parse, format!("not an index of weights: {error}")).at_place(error.line(), error.column())
    })?;
    let mut files: HashMap<&str, Weights> = HashMap::new();
    let mut tensors = Vec::with_capacity(index.weight_map.0.len());
    for (name, file) in &index.weight_map.0 {
        if !files.contains_key(file.as_str()) {
            let beside = beside(path, file).ok_or_else(|| {
                wrong(ErrorKind::Parse, format!("`{name}` is in {file:?}, which is no file beside the index"))
            })?;
            files.insert(file, open_file(&beside)?);
        }
        let found = files.get(file.as_str()).and_then(|weights| weights.get(name));
        let found = found
            .ok_or_else(|| wrong(ErrorKind::Parse, format!("`{name}` is said to be in {file:?}, which lacks it")))?;
        tensors.push((name.as_str().into(), found.clone()));
    }
    Ok(tensors.into_iter().collect())
}

/// Writes weights into files of at most `max_shard_size` bytes of tensors each, a tensor that is larger
/// into a file of its own, and the index at `path`, which ends in `.safetensors.index.json`. All are
/// written beside their targets first, and renamed when all are whole, the index last.
pub fn write_sharded<'a>(
    path: impl AsRef<Path>,
    tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
    max_shard_size: u64,
) -> Result<()> {
    let path = path.as_ref();
    let stem = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(SUFFIX));
    let stem = stem.ok_or_else(|| {
        Error::new(ErrorKind::InvalidArgument, format!("{}: the name does not end in {SUFFIX}", path.display()))
    })?;
    let mut shards: Vec<Vec<(&str, &Tensor)>> = vec![Vec::new()];
    let (mut size, mut total_size) = (0u64, 0u64);
    let (mut stored, mut shard_of) = (Stored::default(), HashMap::new());
    for (name, tensor) in tensors {
        let nbytes = tensor.nbytes().unwrap_or_default();
        let first = stored.first_name(name, tensor);
        let shard = match shard_of.get(first) {
            // It is the same tensor, and lies where that does.
            Some(&shard) => shard,
            None => {
                let is_full = nbytes > 0 && size.saturating_add(nbytes) > max_shard_size;
                if is_full && shards.last().is_some_and(|last| !last.is_empty()) {
                    shards.push(Vec::new());
                    size = 0;
                }
                size = size.saturating_add(nbytes);
                total_size = total_size.saturating_add(nbytes);
                shards.len() - 1
            }
        };
        if shard_of.insert(name, shard).is_some() {
            return Err(about(name, ErrorKind::InvalidArgument, "the name is given twice"));
        }
        shards[shard].push((name, tensor));
    }

    let count = shards.len();
    let file_name = |shard: usize| format!("{stem}-{:05}-of-{count:05}.safetensors", shard + 1);
    let mut weight_map = IndexMap::new();
    let mut staged = Vec::with_capacity(count + 1);
    for (shard, tensors) in shards.iter().enumerate() {
        weight_map.extend(tensors.iter().map(|(name, _)| (*name, file_name(shard))));
        let target = path.with_file_name(file_name(shard));
        let plan = Plan::new(None, tensors.iter().copied())?;
        let mut file = StagedFile::new(&target)?;
        plan.write_to(&mut file).map_err(|error| failed(&target, &error))?;
        staged.push(file);
    }
    let index = NewIndex { metadata: TotalSize { total_size }, weight_map };
    let mut file = StagedFile::new(path)?;
    serde_json::to_writer_pretty(&mut file, &index)
        .map_err(Into::into)
        .and_then(|()| file.write_all(b"\n"))
        .map_err(|error| failed(path, &error))?;
    staged.push(file);
    staged.into_iter().try_for_each(StagedFile::commit)
}

/// The path of a file that an index names; it may lie in a folder below, but nowhere else.
fn beside(index: &Path, file: &str) -> Option<PathBuf> {
    let file = Path::new(file);
    let is_below = file.components().all(|part| matches!(part, Component::Normal(_)));
    (is_below && file.file_name().is_some()).then(|| index.with_file_name(file))
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{}: {error}", path.display()))
}

/// Names and files, in order; a name that comes twice is refused.
struct WeightMap(IndexMap<String, String>);

impl<'de> Deserialize<'de> for WeightMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<WeightMap, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = WeightMap;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object from tensors to files")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<WeightMap, A::Error> {
                let mut files = IndexMap::new();
                while let Some((name, file)) = map.next_entry::<String, String>()? {
                    if files.insert(name.clone(), file).is_some() {
                        return Err(A::Error::custom(format!("tensor `{name}` occurs twice")));
                    }
                }
                Ok(WeightMap(files))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}
