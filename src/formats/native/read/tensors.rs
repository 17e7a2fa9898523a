//! The tables of tensors and of values.

use std::sync::Arc;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess};

use super::context::{once, shown, Context, Part, PartSeed, Record, RecordSeed};
use super::meta::{Channels, ReadMeta};
use super::value::Read;
use crate::formats::native::record::PlaceRecord;
use crate::formats::native::MAX_QUANTIZATION_DEPTH;
use crate::formats::weights::Weights;
use crate::ir::error::counted;
use crate::ir::tensor::{Quantization, Storage};
use crate::ir::{Error, ErrorKind, Result, Tensor, TensorMeta, Value};

/// One tensor of the table; without a place it has metadata only.
pub(super) struct TensorRecord<'de> {
    meta: ReadMeta,
    place: Option<PlaceRecord<'de>>,
}

/// What is told of it so far.
#[derive(Default)]
struct Told<'de> {
    meta: Option<ReadMeta>,
    place: Option<PlaceRecord<'de>>,
}

impl<'de> Record<'de> for Told<'de> {
    const WHAT: &'static str = "a tensor";

    fn take<M: MapAccess<'de>>(
        &mut self,
        context: &Context<'_>,
        key: &str,
        map: &mut M,
    ) -> std::result::Result<bool, M::Error> {
        match key {
            "meta" => once(&mut self.meta, "meta", map.next_value_seed(PartSeed::new(context))?)?,
            "place" => once(&mut self.place, "place", map.next_value()?)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl<'de> Part<'de> for TensorRecord<'de> {
    fn read<D: Deserializer<'de>>(context: &Context<'_>, deserializer: D) -> std::result::Result<Self, D::Error> {
        let Told { meta, place } = RecordSeed::new(context).deserialize(deserializer)?;
        Ok(TensorRecord { meta: meta.ok_or_else(|| de::Error::missing_field("meta"))?, place })
    }
}

/// The tensors that are made, each with how deep those of its quantization nest.
#[derive(Default)]
pub(super) struct Tensors(Vec<(Arc<Tensor>, usize)>);

impl Tensors {
    /// A tensor names only those before it.
    pub(super) fn new(records: Vec<TensorRecord<'_>>, file: &Weights) -> Result<Tensors> {
        let mut tensors = Tensors::default();
        // Of all tensors without elements.
        let nothing: Arc<Storage> = Arc::new(Vec::new());
        for (place, record) in records.into_iter().enumerate() {
            let about = |error: Error| Error {
                message: format!("tensor {place}: {}", error.message),
                kind: match error.kind {
                    ErrorKind::Unsupported | ErrorKind::Limit => error.kind,
                    _ => ErrorKind::Parse,
                },
                ..error
            };
            let (meta, depth) = tensors.meta(record.meta).map_err(about)?;
            if depth >= MAX_QUANTIZATION_DEPTH {
                let message = format!("its quantization nests deeper than {MAX_QUANTIZATION_DEPTH} levels");
                return Err(about(Error::new(ErrorKind::Limit, message)));
            }
            let tensor = match record.place {
                None => Tensor::without_bytes(meta),
                Some(at) => placed(meta, at, file, &nothing),
            };
            tensors.0.push((Arc::new(tensor.map_err(about)?), depth + 1));
        }
        Ok(tensors)
    }

    pub(super) fn get(&self, place: usize) -> Result<&Arc<Tensor>> {
        self.find(place).map(|(tensor, _)| tensor)
    }

    /// The metadata with its scales, and how deep the tensors of these nest.
    fn meta(&self, ReadMeta { mut meta, channels }: ReadMeta) -> Result<(TensorMeta, usize)> {
        let depth = channels.map_or(Ok(0), |channels| self.fill(&mut meta, channels))?;
        Ok((meta, depth))
    }

    fn fill(&self, meta: &mut TensorMeta, channels: Channels) -> Result<usize> {
        let Some(Quantization::PerChannel { scales, zero_points, .. }) = &mut meta.quantization else { return Ok(0) };
        let mut depth = 0;
        for (tensor, place) in [(scales, channels.scales), (zero_points, channels.zero_points)] {
            if let Some(place) = place {
                let (found, below) = self.find(place)?;
                *tensor = Some(found.clone());
                depth = depth.max(*below);
            }
        }
        Ok(depth)
    }

    /// What nodes yield, as their table tells it.
    pub(super) fn values(&self, records: Vec<Read>) -> Result<Vec<Arc<Value>>> {
        let whole = |Read { mut value, channels }: Read| {
            if let (false, Some(value)) = (channels.is_empty(), Arc::get_mut(&mut value)) {
                self.fill_value(value, &mut channels.into_iter())?;
            }
            Ok(value)
        };
        records.into_iter().map(whole).collect()
    }

    /// Nests no deeper than was read.
    fn fill_value(&self, value: &mut Value, channels: &mut impl Iterator<Item = Channels>) -> Result<()> {
        match value {
            Value::Tensor(meta) if matches!(meta.quantization, Some(Quantization::PerChannel { .. })) => {
                channels.next().map_or(Ok(()), |channels| self.fill(meta, channels).map(|_| ()))
            }
            Value::List(items) | Value::Tuple(items) => {
                items.iter_mut().try_for_each(|item| self.fill_value(item, channels))
            }
            Value::Dict(entries) => entries.iter_mut().try_for_each(|(_, item)| self.fill_value(item, channels)),
            _ => Ok(()),
        }
    }

    fn find(&self, place: usize) -> Result<&(Arc<Tensor>, usize)> {
        let count = self.0.len();
        self.0.get(place).ok_or_else(|| {
            Error::new(ErrorKind::Parse, format!("it names tensor {place} of {}", counted(count, "tensor")))
        })
    }
}

/// A tensor in an entry of the file; it stays within.
fn placed(meta: TensorMeta, at: PlaceRecord<'_>, file: &Weights, nothing: &Arc<Storage>) -> Result<Tensor> {
    let parse = |message: String| Error::new(ErrorKind::Parse, message);
    let strided = |meta, storage, offset| match &at.strides {
        Some(strides) => Tensor::strided(meta, storage, offset, strides),
        None => Tensor::new(meta, storage, offset),
    };
    let Some(name) = &at.buffer else {
        return match meta.nbytes()? {
            Some(0) => strided(meta, nothing.clone(), 0),
            _ => Err(parse("it has elements, but no buffer".into())),
        };
    };
    let missing = || parse(format!("there is no buffer {:?}", shown(name)));
    let buffer = file.get(name).ok_or_else(missing)?;
    let (storage, start, data) = match (buffer.storage(), buffer.offset(), buffer.data()) {
        (Some(storage), Some(start), Some(data)) => (storage, start, data),
        _ => return Err(missing()),
    };
    let leaves = || parse(format!("it leaves its buffer {:?}, which has {}", shown(name), counted(data.len(), "byte")));
    let offset = usize::try_from(at.offset).ok().filter(|&offset| offset <= data.len()).ok_or_else(leaves)?;
    let tensor = strided(meta, storage.clone(), start + offset)?;
    match tensor.data() {
        Some(bytes) if bytes.len() <= data.len() - offset => Ok(tensor),
        _ => Err(leaves()),
    }
}
