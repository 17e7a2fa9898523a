//! The bytes of the tensors, as entries of the safetensors file: memory that tensors share is one entry.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::tables::{Held, Tables};
use crate::formats::native::{record::PlaceRecord, DOCUMENT};
use crate::formats::weights::{is_storable, MAX_DIMENSIONS, METADATA_KEY};
use crate::ir::tensor_meta::contiguous_strides;
use crate::ir::{Dtype, Error, ErrorKind, Result, Tensor, TensorMeta};

/// The entries, and where in them each tensor of the tables lies.
pub(super) struct Buffers<'a> {
    entries: Vec<(String, Cow<'a, Tensor>)>,
    /// Entry and offset in it; none for a tensor of no bytes.
    places: Vec<Option<(usize, usize)>>,
}

/// Where in memory a tensor's bytes are, and its place in the tables.
type Span = (Range<usize>, usize);

impl<'a> Buffers<'a> {
    pub(super) fn new(tables: &'a Tables<'a>) -> Result<Buffers<'a>> {
        let held: Vec<&Held<'a>> = tables.tensors().collect();
        let mut ranges: Vec<Span> = Vec::with_capacity(held.len());
        for (place, Held { tensor, path, .. }) in held.iter().enumerate() {
            match (tensor.data(), tensor.strides()) {
                (Some(data), _) if !data.is_empty() => {
                    let start = data.as_ptr() as usize;
                    ranges.push((start..start + data.len(), place));
                }
                (None, Some(_)) => {
                    let message = format!("tensor `{path}` cannot be written: its storage has shrunk");
                    return Err(Error::new(ErrorKind::InvalidArgument, message));
                }
                _ => {}
            }
        }
        ranges.sort_unstable_by_key(|(range, place)| (range.start, range.end, *place));

        // Named in the order of the tensors, so that the file does not tell where in memory they were.
        let mut groups: Vec<(usize, &[Span])> = overlapping(&ranges)
            .map(|shared| (shared.iter().fold(usize::MAX, |least, at| least.min(at.1)), shared))
            .collect();
        groups.sort_unstable_by_key(|(least, _)| *least);
        let mut buffers = Buffers { entries: Vec::with_capacity(groups.len()), places: vec![None; held.len()] };
        let mut names: HashSet<String> = HashSet::from([DOCUMENT, METADATA_KEY].map(str::to_owned));
        for (least, shared) in groups {
            let start = shared[0].0.start;
            for (range, place) in shared {
                buffers.places[*place] = Some((buffers.entries.len(), range.start - start));
            }
            let mut name = held[least].path.clone();
            while !names.insert(name.clone()) {
                name = format!("{name}#{least}");
            }
            buffers.entries.push((name, joined(shared, &held)?));
        }
        Ok(buffers)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.entries.iter().map(|(name, tensor)| (name.as_str(), &**tensor))
    }

    /// Where a tensor of the tables lies; none when it has metadata only.
    pub(super) fn place(&self, place: usize, tensor: &Tensor) -> Option<PlaceRecord<'_>> {
        let (strides, sizes) = (tensor.strides()?, tensor.sizes()?);
        let is_row_major = contiguous_strides(sizes).is_ok_and(|own| own.as_slice() == strides);
        let strides = (!is_row_major).then(|| strides.to_vec());
        Some(match self.places.get(place).copied().flatten() {
            Some((entry, offset)) => {
                PlaceRecord { buffer: Some(Cow::Borrowed(&self.entries[entry].0)), offset: offset as u64, strides }
            }
            None => PlaceRecord { buffer: None, offset: 0, strides },
        })
    }
}

/// Ranges by where they begin, parted where none reaches across.
fn overlapping(ranges: &[Span]) -> impl Iterator<Item = &[Span]> {
    let mut end = 0;
    ranges.chunk_by(move |(before, _), (range, _)| {
        end = before.end.max(end);
        range.start < end
    })
}

/// The entry of tensors whose bytes overlap, sorted by where they are: one of them where it is all of
/// it, else a vector.
fn joined<'a>(shared: &[Span], held: &[&'a Held<'a>]) -> Result<Cow<'a, Tensor>> {
    let tensor = |place: usize| held[place].tensor;
    let (first, place) = &shared[0];
    let one = tensor(*place);
    let end = shared.iter().map(|(range, _)| range.end).max().unwrap_or(first.end);
    let length = end - first.start;
    if let Some((_, whole)) = shared.iter().find(|(range, place)| {
        let tensor = tensor(*place);
        range.len() == length && tensor.is_contiguous() && has_own_shape(tensor)
    }) {
        return Ok(Cow::Borrowed(tensor(*whole)));
    }

    let dtype = one.dtype();
    let is_vector = is_storable(dtype) && dtype != Dtype::Float4E2m1fnX2 && dtype.bits() % 8 == 0;
    let (dtype, size) = match is_vector && length % dtype.element_size() == 0 {
        true => (dtype, dtype.element_size()),
        false => (Dtype::Uint8, 1),
    };
    let meta = TensorMeta::new(dtype, [(length / size) as i64]);
    let is_of_one = |(_, place): &Span| match (tensor(*place).storage(), one.storage()) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        _ => false,
    };
    if let (true, Some(storage), Some(offset)) = (shared.iter().all(is_of_one), one.storage(), one.offset()) {
        return Tensor::new(meta, storage.clone(), offset).map(Cow::Owned);
    }
    // Storages that overlap in memory: no one of them has all the bytes for sure.
    let mut bytes = Vec::with_capacity(length);
    for (range, place) in shared {
        let known = (first.start + bytes.len()).saturating_sub(range.start);
        bytes.extend_from_slice(tensor(*place).data().and_then(|data| data.get(known..)).unwrap_or_default());
    }
    Tensor::from_bytes(meta, bytes).map(Cow::Owned)
}

/// Whether safetensors can hold it as what it is.
fn has_own_shape(tensor: &Tensor) -> bool {
    let rank = tensor.meta().shape.len();
    is_storable(tensor.dtype()) && rank <= MAX_DIMENSIONS && (tensor.dtype() != Dtype::Float4E2m1fnX2 || rank > 0)
}
