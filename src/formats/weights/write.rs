//! Writing safetensors.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use rustc_hash::FxHashMap;
use safetensors::tensor::{Metadata, TensorInfo};

use super::notes::Notes;
use super::{stored_dtype, BUFFER, LENGTH_FIELD, MAX_HEADER, METADATA_KEY};
use crate::formats::replace_file::replace_file;
use crate::ir::dtype::Dtype;
use crate::ir::error::{Error, ErrorKind, Result};
use crate::ir::tensor::Tensor;
use crate::ir::tensor_meta::nbytes;

/// Writes a safetensors file at `path`, tensor by tensor: beside its target first and then renamed
/// over it, so that a failure leaves what was there, and weights mapped from that very file may be
/// written back to it.
///
/// Quantized tensors are written as their integers, tensors that lie in any other order row-major,
/// dtypes that the format lacks as bytes with a note. A tensor that goes by several names is written
/// once, under the first, with a note of the others. Names must be unique; a tensor without bytes is
/// InvalidArgument.
pub fn write<'a>(path: impl AsRef<Path>, tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>) -> Result<()> {
    let plan = Plan::new(None, tensors)?;
    replace_file(path.as_ref(), |file| plan.write_to(file))
}

/// Writes the same bytes to `out`. What was written when it fails is `out`'s to forget.
pub fn write_to<'a>(out: &mut dyn Write, tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>) -> Result<()> {
    let plan = Plan::new(None, tensors)?;
    plan.write_to(out).map_err(|error| Error::new(ErrorKind::Io, format!("writing weights: {error}")))
}

/// Everything checked and laid out; only the output can fail now.
pub(in crate::formats) struct Plan<'a> {
    /// With its length before it.
    header: Vec<u8>,
    tensors: Vec<&'a Tensor>,
}

impl<'a> Plan<'a> {
    /// `metadata` are the free text entries of the header.
    pub(in crate::formats) fn new(
        metadata: Option<HashMap<String, String>>,
        tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
    ) -> Result<Plan<'a>> {
        let mut entries: Vec<(&str, &Tensor, TensorInfo)> = Vec::new();
        let mut notes = Notes::default();
        let mut names = HashSet::new();
        let mut stored = Stored::default();
        for (name, tensor) in tensors {
            check_name(name, &mut names)?;
            let (Some(_), Some(sizes)) = (tensor.data(), tensor.sizes()) else {
                return Err(about(name, ErrorKind::InvalidArgument, "it has no bytes, only metadata"));
            };
            match stored.first_name(name, tensor) {
                first if first == name => entries.push((name, tensor, info(name, tensor.dtype(), sizes, &mut notes)?)),
                first => {
                    notes.same.insert(name.to_owned(), first.to_owned());
                }
            }
        }
        // As other writers order them: the widest dtypes first, so that all are aligned.
        entries.sort_by(|(name, _, info), (name2, _, info2)| info2.dtype.cmp(&info.dtype).then(name.cmp(name2)));
        let tensors = entries.iter().map(|(_, tensor, _)| *tensor).collect();
        let infos = entries.into_iter().map(|(name, _, info)| (name.to_owned(), info));
        Ok(Plan { header: header(metadata.unwrap_or_default(), &notes, infos)?, tensors })
    }

    pub(in crate::formats) fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(BUFFER, out);
        out.write_all(&self.header)?;
        for tensor in &self.tensors {
            for run in tensor.runs().into_iter().flatten() {
                out.write_all(run)?;
            }
        }
        out.flush()
    }
}

/// Tensors by where they lie, to find those that are one.
#[derive(Default)]
pub(super) struct Stored<'a>(FxHashMap<usize, Vec<(&'a str, &'a Tensor)>>);

impl<'a> Stored<'a> {
    /// The name under which this very tensor was given first.
    pub(super) fn first_name(&mut self, name: &'a str, tensor: &'a Tensor) -> &'a str {
        let Some(data) = tensor.data().filter(|data| !data.is_empty()) else { return name };
        let here = self.0.entry(data.as_ptr() as usize).or_default();
        match here.iter().find(|(_, other)| other.is_same_view(tensor)) {
            Some((first, _)) => first,
            None => {
                here.push((name, tensor));
                name
            }
        }
    }
}

/// Refuses a name that no tensor may have, or that one has already.
pub(super) fn check_name<'a>(name: &'a str, names: &mut HashSet<&'a str>) -> Result<()> {
    match name {
        METADATA_KEY => Err(about(name, ErrorKind::InvalidArgument, "the name is reserved by the format")),
        _ if names.insert(name) => Ok(()),
        _ => Err(about(name, ErrorKind::InvalidArgument, "the name is given twice")),
    }
}

/// The header's entry of a tensor, as if it were the first in the file.
pub(super) fn info(name: &str, dtype: Dtype, sizes: &[i64], notes: &mut Notes) -> Result<TensorInfo> {
    let too_large = || about(name, ErrorKind::Limit, "it is too large");
    let length = usize::try_from(nbytes(dtype, sizes)?).map_err(|_| too_large())?;
    let noted = |notes: &mut Notes| {
        notes.set_meta(name, dtype, sizes);
        Ok(TensorInfo { dtype: safetensors::Dtype::U8, shape: vec![length], data_offsets: (0, length) })
    };
    let Some(stored) = stored_dtype(dtype) else { return noted(notes) };
    let mut shape = Vec::with_capacity(sizes.len());
    for &size in sizes {
        shape.push(usize::try_from(size).map_err(|_| too_large())?);
    }
    if dtype == Dtype::Float4E2m1fnX2 {
        let Some(last) = shape.last_mut() else { return noted(notes) };
        *last = last.checked_mul(2).ok_or_else(too_large)?;
    }
    Ok(TensorInfo { dtype: stored, shape, data_offsets: (0, length) })
}

/// The header of a file whose tensors follow each other so; with the length before it.
pub(super) fn header(
    mut metadata: HashMap<String, String>,
    notes: &Notes,
    entries: impl Iterator<Item = (String, TensorInfo)>,
) -> Result<Vec<u8>> {
    let mut offset = 0usize;
    let mut infos = Vec::new();
    for (name, mut info) in entries {
        let end = info.data_offsets.1.checked_add(offset);
        let end = end.ok_or_else(|| about(&name, ErrorKind::Limit, "the file would be too large"))?;
        info.data_offsets = (offset, end);
        offset = end;
        infos.push((name, info));
    }
    metadata.extend(notes.write());
    let metadata = (!metadata.is_empty()).then(|| metadata.into_iter().collect());
    let text = Metadata::new(metadata, infos)
        .map_err(|error| error.to_string())
        .and_then(|metadata| serde_json::to_vec(&metadata).map_err(|error| error.to_string()))
        .map_err(|error| Error::new(ErrorKind::InvalidArgument, format!("weights cannot be written: {error}")))?;
    let padded = text.len().next_multiple_of(LENGTH_FIELD);
    if padded > MAX_HEADER {
        return Err(Error::new(
            ErrorKind::Limit,
            format!("the header would take {padded} bytes, more than {MAX_HEADER}"),
        ));
    }
    let mut header = (padded as u64).to_le_bytes().to_vec();
    header.extend(text);
    header.resize(LENGTH_FIELD + padded, b' ');
    Ok(header)
}

pub(super) fn about(name: &str, kind: ErrorKind, what: &str) -> Error {
    Error::new(kind, format!("tensor `{name}` cannot be written: {what}"))
}
