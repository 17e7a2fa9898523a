//! Weights in safetensors files, one or several with an index: read by memory map without a copy,
//! written as a stream.
//!
//! The `safetensors` crate says what a header's entry is and which dtypes there are; the checks are
//! made here because each must name the tensor, and a name that occurs twice must be refused.

mod map;
mod notes;
mod read;
mod shards;
mod stream;
mod write;

use read::open_file;
pub use read::{from_bytes, open, Weights};
pub use shards::write_sharded;
pub use stream::Writer;
pub(super) use write::Plan;
pub use write::{write, write_to};

use crate::ir::dtype::Dtype;
use safetensors::Dtype as Stored;

/// The longest header that the format allows, in bytes.
const MAX_HEADER: usize = 100_000_000;

/// So much is written to a file at a time.
const BUFFER: usize = 1 << 18;

/// Bytes before the header: its length.
const LENGTH_FIELD: usize = 8;

/// The header's key that is no tensor.
pub(super) const METADATA_KEY: &str = "__metadata__";

/// torch itself takes no more.
pub(super) const MAX_DIMENSIONS: usize = 64;

/// The dtype of a stored one, if torch has it.
fn loaded_dtype(stored: Stored) -> Option<Dtype> {
    Some(match stored {
        Stored::BOOL => Dtype::Bool,
        Stored::F4 => Dtype::Float4E2m1fnX2,
        Stored::U8 => Dtype::Uint8,
        Stored::I8 => Dtype::Int8,
        Stored::F8_E5M2 => Dtype::Float8E5m2,
        Stored::F8_E4M3 => Dtype::Float8E4m3fn,
        Stored::F8_E8M0 => Dtype::Float8E8m0fnu,
        Stored::F8_E4M3FNUZ => Dtype::Float8E4m3fnuz,
        Stored::F8_E5M2FNUZ => Dtype::Float8E5m2fnuz,
        Stored::I16 => Dtype::Int16,
        Stored::U16 => Dtype::Uint16,
        Stored::F16 => Dtype::Float16,
        Stored::BF16 => Dtype::Bfloat16,
        Stored::I32 => Dtype::Int32,
        Stored::U32 => Dtype::Uint32,
        Stored::F32 => Dtype::Float32,
        Stored::C64 => Dtype::Complex64,
        Stored::F64 => Dtype::Float64,
        Stored::I64 => Dtype::Int64,
        Stored::U64 => Dtype::Uint64,
        _ => return None,
    })
}

/// Whether tensors of a dtype can be stored by its own name and their own shape.
pub(super) fn is_storable(dtype: Dtype) -> bool {
    stored_dtype(dtype).is_some()
}

/// How a dtype is stored, if it can be: quantized kinds as their integers.
fn stored_dtype(dtype: Dtype) -> Option<Stored> {
    Some(match dtype {
        Dtype::Bool => Stored::BOOL,
        Dtype::Float4E2m1fnX2 => Stored::F4,
        Dtype::Uint8 | Dtype::Quint8 | Dtype::AccUint8Fused | Dtype::AccUint4Fused => Stored::U8,
        Dtype::Int8 | Dtype::Qint8 => Stored::I8,
        Dtype::Float8E5m2 => Stored::F8_E5M2,
        Dtype::Float8E4m3fn => Stored::F8_E4M3,
        Dtype::Float8E8m0fnu => Stored::F8_E8M0,
        Dtype::Float8E4m3fnuz => Stored::F8_E4M3FNUZ,
        Dtype::Float8E5m2fnuz => Stored::F8_E5M2FNUZ,
        Dtype::Int16 => Stored::I16,
        Dtype::Uint16 => Stored::U16,
        Dtype::Float16 => Stored::F16,
        Dtype::Bfloat16 => Stored::BF16,
        Dtype::Int32 | Dtype::Qint32 => Stored::I32,
        Dtype::Uint32 => Stored::U32,
        Dtype::Float32 => Stored::F32,
        Dtype::Complex64 => Stored::C64,
        Dtype::Float64 => Stored::F64,
        Dtype::Int64 => Stored::I64,
        Dtype::Uint64 => Stored::U64,
        _ => return None,
    })
}
