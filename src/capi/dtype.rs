//! Dtypes as numbers and as names.

use super::boundary;
use super::input;
use crate::ir::Dtype;
use std::ffi::{c_char, CString};
use std::sync::OnceLock;

/// No dtype.
pub const FXIR_DTYPE_NONE: i32 = 0;
/// `torch.uint8`.
pub const FXIR_DTYPE_UINT8: i32 = 1;
/// `torch.int8`.
pub const FXIR_DTYPE_INT8: i32 = 2;
/// `torch.int16`.
pub const FXIR_DTYPE_INT16: i32 = 3;
/// `torch.int32`.
pub const FXIR_DTYPE_INT32: i32 = 4;
/// `torch.int64`.
pub const FXIR_DTYPE_INT64: i32 = 5;
/// `torch.float16`.
pub const FXIR_DTYPE_FLOAT16: i32 = 6;
/// `torch.float32`.
pub const FXIR_DTYPE_FLOAT32: i32 = 7;
/// `torch.float64`.
pub const FXIR_DTYPE_FLOAT64: i32 = 8;
/// `torch.complex32`.
pub const FXIR_DTYPE_COMPLEX32: i32 = 9;
/// `torch.complex64`.
pub const FXIR_DTYPE_COMPLEX64: i32 = 10;
/// `torch.complex128`.
pub const FXIR_DTYPE_COMPLEX128: i32 = 11;
/// `torch.bool`.
pub const FXIR_DTYPE_BOOL: i32 = 12;
/// `torch.qint8`.
pub const FXIR_DTYPE_QINT8: i32 = 13;
/// `torch.quint8`.
pub const FXIR_DTYPE_QUINT8: i32 = 14;
/// `torch.qint32`.
pub const FXIR_DTYPE_QINT32: i32 = 15;
/// `torch.bfloat16`.
pub const FXIR_DTYPE_BFLOAT16: i32 = 16;
/// `torch.quint4x2`.
pub const FXIR_DTYPE_QUINT4X2: i32 = 17;
/// `torch.quint2x4`.
pub const FXIR_DTYPE_QUINT2X4: i32 = 18;
/// `torch.bits1x8`.
pub const FXIR_DTYPE_BITS1X8: i32 = 19;
/// `torch.bits2x4`.
pub const FXIR_DTYPE_BITS2X4: i32 = 20;
/// `torch.bits4x2`.
pub const FXIR_DTYPE_BITS4X2: i32 = 21;
/// `torch.bits8`.
pub const FXIR_DTYPE_BITS8: i32 = 22;
/// `torch.bits16`.
pub const FXIR_DTYPE_BITS16: i32 = 23;
/// `torch.float8_e5m2`.
pub const FXIR_DTYPE_FLOAT8_E5M2: i32 = 24;
/// `torch.float8_e4m3fn`.
pub const FXIR_DTYPE_FLOAT8_E4M3FN: i32 = 25;
/// `torch.float8_e5m2fnuz`.
pub const FXIR_DTYPE_FLOAT8_E5M2FNUZ: i32 = 26;
/// `torch.float8_e4m3fnuz`.
pub const FXIR_DTYPE_FLOAT8_E4M3FNUZ: i32 = 27;
/// `torch.uint16`.
pub const FXIR_DTYPE_UINT16: i32 = 28;
/// `torch.uint32`.
pub const FXIR_DTYPE_UINT32: i32 = 29;
/// `torch.uint64`.
pub const FXIR_DTYPE_UINT64: i32 = 30;
/// `torch.uint1`.
pub const FXIR_DTYPE_UINT1: i32 = 31;
/// `torch.uint2`.
pub const FXIR_DTYPE_UINT2: i32 = 32;
/// `torch.uint3`.
pub const FXIR_DTYPE_UINT3: i32 = 33;
/// `torch.uint4`.
pub const FXIR_DTYPE_UINT4: i32 = 34;
/// `torch.uint5`.
pub const FXIR_DTYPE_UINT5: i32 = 35;
/// `torch.uint6`.
pub const FXIR_DTYPE_UINT6: i32 = 36;
/// `torch.uint7`.
pub const FXIR_DTYPE_UINT7: i32 = 37;
/// `torch.int1`.
pub const FXIR_DTYPE_INT1: i32 = 38;
/// `torch.int2`.
pub const FXIR_DTYPE_INT2: i32 = 39;
/// `torch.int3`.
pub const FXIR_DTYPE_INT3: i32 = 40;
/// `torch.int4`.
pub const FXIR_DTYPE_INT4: i32 = 41;
/// `torch.int5`.
pub const FXIR_DTYPE_INT5: i32 = 42;
/// `torch.int6`.
pub const FXIR_DTYPE_INT6: i32 = 43;
/// `torch.int7`.
pub const FXIR_DTYPE_INT7: i32 = 44;
/// `torch.float8_e8m0fnu`.
pub const FXIR_DTYPE_FLOAT8_E8M0FNU: i32 = 45;
/// `torch.float4_e2m1fn_x2`.
pub const FXIR_DTYPE_FLOAT4_E2M1FN_X2: i32 = 46;
/// `acc.uint8fused`.
pub const FXIR_DTYPE_ACC_UINT8FUSED: i32 = 128;
/// `acc.uint4fused`.
pub const FXIR_DTYPE_ACC_UINT4FUSED: i32 = 129;

fn dtype(number: i32) -> Option<Dtype> {
    u8::try_from(number).ok().and_then(Dtype::from_u8)
}

/// The number of a dtype in this header.
pub(super) fn number(dtype: Dtype) -> i32 {
    i32::from(dtype.to_u8())
}

/// The name of a dtype (FXIR_DTYPE_*) as torch spells it ("torch.float32"). The text lives for ever;
/// NULL when the number is no dtype.
#[no_mangle]
pub extern "C" fn fxir_dtype_name(dtype: i32) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    boundary::value(std::ptr::null(), || {
        let names =
            NAMES.get_or_init(|| Dtype::all().map(|dtype| CString::new(dtype.name()).unwrap_or_default()).collect());
        let position = Dtype::all().position(|known| number(known) == dtype);
        Ok(position.and_then(|position| names.get(position)).map_or(std::ptr::null(), |name| name.as_ptr()))
    })
}

/// The dtype of that name, with "torch." before it or not; `FXIR_DTYPE_NONE` when there is none.
#[no_mangle]
pub unsafe extern "C" fn fxir_dtype_from_name(name: *const c_char) -> i32 {
    boundary::value(FXIR_DTYPE_NONE, || {
        let name = input::text(name, "name")?;
        Ok(Dtype::from_name(name).map_or(FXIR_DTYPE_NONE, number))
    })
}

/// How many bits one element takes; 0 when the number is no dtype.
#[no_mangle]
pub extern "C" fn fxir_dtype_bits(dtype: i32) -> u32 {
    boundary::value(0, || Ok(self::dtype(dtype).map_or(0, Dtype::bits)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn every_number_of_the_header_is_the_dtype_of_that_name() {
        let header = include_str!("dtype.rs");
        let mut seen = 0;
        for line in header.lines() {
            let Some((name, value)) = line.strip_prefix("pub const FXIR_DTYPE_").and_then(|l| l.split_once(": i32 = "))
            else {
                continue;
            };
            let value: i32 = value.trim_end_matches(';').parse().unwrap();
            if name == "NONE" {
                continue;
            }
            let known = dtype(value).unwrap();
            let spelled = known.name().trim_start_matches("torch.").replace("acc.", "acc_").to_uppercase();
            assert_eq!(spelled, name);
            // SAFETY: a text that lives for ever.
            assert_eq!(unsafe { CStr::from_ptr(fxir_dtype_name(value)) }.to_str(), Ok(known.name()));
            seen += 1;
        }
        assert_eq!(seen, Dtype::all().len());
        assert!(fxir_dtype_name(0).is_null() && fxir_dtype_name(-1).is_null() && fxir_dtype_name(300).is_null());
    }
}
