//! The tables of tensors and of values.

use std::sync::Arc;

use super::context::shown;
use super::value::Read;
use crate::formats::native::record::{DimRecord, MetaRecord, PlaceRecord, QuantizationRecord, TensorRecord};
use crate::formats::native::MAX_QUANTIZATION_DEPTH;
use crate::formats::weights::Weights;
use crate::ir::error::counted;
use crate::ir::tensor::{Dims, Quantization, Scalar, Storage};
use crate::ir::{Dtype, Error, ErrorKind, Result, Tensor, TensorMeta, Value};

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

    /// The metadata that a record tells, and how deep the tensors of its quantization nest.
    fn meta(&self, record: MetaRecord<'_>) -> Result<(TensorMeta, usize)> {
        let dims = |dims: Vec<DimRecord>| dims.into_iter().map(|DimRecord(dim)| dim).collect::<Dims>();
        let text = |text: Option<String>| text.map(Arc::from);
        let dtype = Dtype::from_name(&record.dtype).filter(|dtype| dtype.name() == record.dtype).ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, format!("there is no dtype {:?}", shown(&record.dtype)))
        })?;
        let (quantization, depth) = match record.quantization {
            None => (None, 0),
            Some(QuantizationRecord::PerTensor { qscheme, scale, zero_point }) => {
                (Some(Quantization::PerTensor { qscheme: qscheme.into(), scale: scale.0, zero_point }), 0)
            }
            Some(QuantizationRecord::PerChannel { qscheme, axis, scales, zero_points }) => {
                let scales = scales.map(|place| self.find(place)).transpose()?;
                let zero_points = zero_points.map(|place| self.find(place)).transpose()?;
                let depth = scales.iter().chain(&zero_points).map(|(_, depth)| *depth).max().unwrap_or_default();
                let quantization = Quantization::PerChannel {
                    qscheme: qscheme.into(),
                    axis,
                    scales: scales.map(|(tensor, _)| tensor.clone()),
                    zero_points: zero_points.map(|(tensor, _)| tensor.clone()),
                };
                (Some(quantization), depth)
            }
        };
        let meta = TensorMeta {
            dtype,
            shape: dims(record.shape),
            stride: record.stride.map(dims),
            requires_grad: record.requires_grad,
            memory_format: text(record.memory_format),
            device: text(record.device),
            quantization,
        };
        Ok((meta, depth))
    }

    /// What nodes yield, as their table tells it.
    pub(super) fn values(&self, records: Vec<Read<'_>>) -> Result<Vec<Arc<Value>>> {
        records.into_iter().map(|record| self.value(record).map(Arc::new)).collect()
    }

    /// Nests no deeper than was read.
    fn value(&self, record: Read<'_>) -> Result<Value> {
        let all = |items: Vec<Read<'_>>| items.into_iter().map(|item| self.value(item)).collect::<Result<Vec<_>>>();
        Ok(match record {
            Read::None => Value::None,
            Read::Tensor(meta) => Value::Tensor(self.meta(*meta)?.0),
            Read::List(items) => Value::List(all(items)?),
            Read::Tuple(items) => Value::Tuple(all(items)?),
            Read::Dict(entries) => {
                let entries = entries.into_iter().map(|(key, item)| Ok((key, self.value(item)?)));
                Value::Dict(entries.collect::<Result<_>>()?)
            }
            Read::Bool(value) => Value::Scalar(Scalar::Bool(value)),
            Read::Int(value) => Value::Scalar(Scalar::Int(value)),
            Read::Float(value) => Value::Scalar(Scalar::Float(value)),
            Read::Sym(text) => Value::Scalar(Scalar::Sym(text)),
        })
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
