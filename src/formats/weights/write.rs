//! Writing safetensors.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use safetensors::tensor::{Metadata, TensorInfo};

use super::{stored_dtype, LENGTH_FIELD, MAX_HEADER, METADATA_KEY};
use crate::formats::replace_file::replace_file;
use crate::ir::dtype::Dtype;
use crate::ir::error::{Error, ErrorKind, Result};
use crate::ir::tensor::Tensor;

const BUFFER: usize = 1 << 18;

/// Writes a safetensors file at `path`, tensor by tensor: beside its target first and then renamed
/// over it, so that a failure leaves what was there, and weights mapped from that very file may be
/// written back to it.
///
/// Quantized tensors are written as their integers, tensors that lie in any other order row-major.
/// Names must be unique; a tensor without bytes is InvalidArgument, one whose dtype the format
/// cannot name Unsupported.
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
    header: Vec<u8>,
    tensors: Vec<&'a Tensor>,
}

impl<'a> Plan<'a> {
    /// `metadata` are the free text entries of the header.
    pub(in crate::formats) fn new(
        metadata: Option<HashMap<String, String>>,
        tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
    ) -> Result<Plan<'a>> {
        let mut entries = Vec::new();
        for (name, tensor) in tensors {
            if name == METADATA_KEY {
                return Err(about(name, ErrorKind::InvalidArgument, "the name is reserved by the format"));
            }
            entries.push((name, tensor, info(name, tensor)?));
        }
        // As other writers order them: the widest dtypes first, so that all are aligned.
        entries.sort_by(|(name, _, info), (name2, _, info2)| info2.dtype.cmp(&info.dtype).then(name.cmp(name2)));

        let mut names: Vec<&str> = entries.iter().map(|(name, ..)| *name).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(about(twice[0], ErrorKind::InvalidArgument, "the name is given twice"));
        }

        let mut offset = 0usize;
        let mut infos = Vec::with_capacity(entries.len());
        let mut tensors = Vec::with_capacity(entries.len());
        for (name, tensor, mut info) in entries {
            let end = info.data_offsets.1.checked_add(offset);
            let end = end.ok_or_else(|| about(name, ErrorKind::Limit, "the file would be too large"))?;
            info.data_offsets = (offset, end);
            offset = end;
            infos.push((name.to_owned(), info));
            tensors.push(tensor);
        }
        let header = Metadata::new(metadata.map(|texts| texts.into_iter().collect()), infos)
            .map_err(|error| error.to_string())
            .and_then(|metadata| serde_json::to_vec(&metadata).map_err(|error| error.to_string()))
            .map_err(|error| Error::new(ErrorKind::InvalidArgument, format!("weights cannot be written: {error}")))?;
        let padded = header.len().next_multiple_of(LENGTH_FIELD);
        if padded > MAX_HEADER {
            return Err(Error::new(
                ErrorKind::Limit,
                format!("the header would take {padded} bytes, more than {MAX_HEADER}"),
            ));
        }
        let mut header = header;
        header.resize(padded, b' ');
        Ok(Plan { header, tensors })
    }

    pub(in crate::formats) fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(BUFFER, out);
        out.write_all(&(self.header.len() as u64).to_le_bytes())?;
        out.write_all(&self.header)?;
        for tensor in &self.tensors {
            for run in tensor.runs().into_iter().flatten() {
                out.write_all(run)?;
            }
        }
        out.flush()
    }
}

/// The header's entry of a tensor, as if it were the first in the file.
fn info(name: &str, tensor: &Tensor) -> Result<TensorInfo> {
    let (Some(_), Some(sizes), Some(length)) = (tensor.data(), tensor.sizes(), tensor.nbytes()) else {
        return Err(about(name, ErrorKind::InvalidArgument, "it has no bytes, only metadata"));
    };
    let dtype = stored_dtype(tensor.dtype()).ok_or_else(|| {
        about(name, ErrorKind::Unsupported, &format!("safetensors has no dtype for {}", tensor.dtype()))
    })?;
    let too_large = || about(name, ErrorKind::Limit, "it is too large");
    let mut shape = Vec::with_capacity(sizes.len());
    for &size in sizes {
        shape.push(usize::try_from(size).map_err(|_| too_large())?);
    }
    if tensor.dtype() == Dtype::Float4E2m1fnX2 {
        let Some(last) = shape.last_mut() else {
            return Err(about(name, ErrorKind::Unsupported, "an F4 tensor needs a dimension"));
        };
        *last = last.checked_mul(2).ok_or_else(too_large)?;
    }
    let length = usize::try_from(length).map_err(|_| too_large())?;
    Ok(TensorInfo { dtype, shape, data_offsets: (0, length) })
}

fn about(name: &str, kind: ErrorKind, what: &str) -> Error {
    Error::new(kind, format!("tensor `{name}` cannot be written: {what}"))
}
