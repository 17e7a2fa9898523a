//! The element types of torch tensors.

use std::fmt;

/// A torch dtype, or one of the two spellings that only `serialize_module` knows.
///
/// The discriminants are part of the C ABI and are **never renumbered**: torch's dtypes have
/// c10's `ScalarType` number plus one, and 0 is no dtype, so that C can use it for "none".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)] // each is named as torch names it
pub enum Dtype {
    Uint8 = 1,
    Int8 = 2,
    Int16 = 3,
    Int32 = 4,
    Int64 = 5,
    Float16 = 6,
    Float32 = 7,
    Float64 = 8,
    Complex32 = 9,
    Complex64 = 10,
    Complex128 = 11,
    Bool = 12,
    Qint8 = 13,
    Quint8 = 14,
    Qint32 = 15,
    Bfloat16 = 16,
    Quint4x2 = 17,
    Quint2x4 = 18,
    Bits1x8 = 19,
    Bits2x4 = 20,
    Bits4x2 = 21,
    Bits8 = 22,
    Bits16 = 23,
    Float8E5m2 = 24,
    Float8E4m3fn = 25,
    Float8E5m2fnuz = 26,
    Float8E4m3fnuz = 27,
    Uint16 = 28,
    Uint32 = 29,
    Uint64 = 30,
    Uint1 = 31,
    Uint2 = 32,
    Uint3 = 33,
    Uint4 = 34,
    Uint5 = 35,
    Uint6 = 36,
    Uint7 = 37,
    Int1 = 38,
    Int2 = 39,
    Int3 = 40,
    Int4 = 41,
    Int5 = 42,
    Int6 = 43,
    Int7 = 44,
    Float8E8m0fnu = 45,
    Float4E2m1fnX2 = 46,
    /// The weight of a byte-rowwise quantized embedding: 8-bit values with scale and bias fused
    /// into each row. The bytes are those of a uint8 tensor.
    AccUint8Fused = 128,
    /// The same with 4-bit values; the bytes are those of a uint8 tensor.
    AccUint4Fused = 129,
}

/// Dtype, name with its prefix, bits of one element, abbreviation in printed annotations.
type Row = (Dtype, &'static str, u8, Option<&'static str>);

/// Ordered by discriminant: the two `acc.` rows follow torch's.
const TABLE: [Row; 48] = {
    use Dtype::*;
    [
        (Uint8, "torch.uint8", 8, Some("u8")),
        (Int8, "torch.int8", 8, Some("i8")),
        (Int16, "torch.int16", 16, Some("i16")),
        (Int32, "torch.int32", 32, Some("i32")),
        (Int64, "torch.int64", 64, Some("i64")),
        (Float16, "torch.float16", 16, Some("f16")),
        (Float32, "torch.float32", 32, Some("f32")),
        (Float64, "torch.float64", 64, Some("f64")),
        (Complex32, "torch.complex32", 32, Some("c32")),
        (Complex64, "torch.complex64", 64, Some("c64")),
        (Complex128, "torch.complex128", 128, Some("c128")),
        (Bool, "torch.bool", 8, Some("b8")),
        (Qint8, "torch.qint8", 8, None),
        (Quint8, "torch.quint8", 8, None),
        (Qint32, "torch.qint32", 32, None),
        (Bfloat16, "torch.bfloat16", 16, Some("bf16")),
        (Quint4x2, "torch.quint4x2", 4, None),
        (Quint2x4, "torch.quint2x4", 2, None),
        (Bits1x8, "torch.bits1x8", 8, Some("b1x8")),
        (Bits2x4, "torch.bits2x4", 8, None),
        (Bits4x2, "torch.bits4x2", 8, None),
        (Bits8, "torch.bits8", 8, None),
        (Bits16, "torch.bits16", 16, Some("b16")),
        (Float8E5m2, "torch.float8_e5m2", 8, Some("f8e5m2")),
        (Float8E4m3fn, "torch.float8_e4m3fn", 8, Some("f8e4m3fn")),
        (Float8E5m2fnuz, "torch.float8_e5m2fnuz", 8, Some("f8e5m2fnuz")),
        (Float8E4m3fnuz, "torch.float8_e4m3fnuz", 8, Some("f8e4m3fnuz")),
        (Uint16, "torch.uint16", 16, Some("u16")),
        (Uint32, "torch.uint32", 32, Some("u32")),
        (Uint64, "torch.uint64", 64, Some("u64")),
        (Uint1, "torch.uint1", 8, None),
        (Uint2, "torch.uint2", 8, None),
        (Uint3, "torch.uint3", 8, None),
        (Uint4, "torch.uint4", 8, None),
        (Uint5, "torch.uint5", 8, None),
        (Uint6, "torch.uint6", 8, None),
        (Uint7, "torch.uint7", 8, None),
        (Int1, "torch.int1", 8, None),
        (Int2, "torch.int2", 8, None),
        (Int3, "torch.int3", 8, None),
        (Int4, "torch.int4", 8, None),
        (Int5, "torch.int5", 8, None),
        (Int6, "torch.int6", 8, None),
        (Int7, "torch.int7", 8, None),
        (Float8E8m0fnu, "torch.float8_e8m0fnu", 8, Some("f8e8m0fnu")),
        (Float4E2m1fnX2, "torch.float4_e2m1fn_x2", 8, Some("f4e2m1fnx2")),
        (AccUint8Fused, "acc.uint8fused", 8, None),
        (AccUint4Fused, "acc.uint4fused", 8, None),
    ]
};

/// How many of the rows are torch's own.
const TORCH_ROWS: u8 = 46;

/// torch's second names for some dtypes.
const ALIASES: [(&str, Dtype); 9] = [
    ("float", Dtype::Float32),
    ("double", Dtype::Float64),
    ("half", Dtype::Float16),
    ("long", Dtype::Int64),
    ("int", Dtype::Int32),
    ("short", Dtype::Int16),
    ("chalf", Dtype::Complex32),
    ("cfloat", Dtype::Complex64),
    ("cdouble", Dtype::Complex128),
];

impl Dtype {
    /// Every dtype, in the order of the numbers.
    pub fn all() -> impl ExactSizeIterator<Item = Dtype> {
        TABLE.iter().map(|row| row.0)
    }

    /// The name as Python prints it: `torch.float32`, `acc.uint8fused`.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The dtype of that name, `torch.` before it or not; torch's second names (`float`, `long`,
    /// ...) are known too.
    pub fn from_name(name: &str) -> Option<Dtype> {
        let short = name.strip_prefix("torch.").unwrap_or(name);
        let row = TABLE.iter().find(|(_, full, ..)| match full.strip_prefix("torch.") {
            Some(full) => full == short,
            None => *full == name,
        });
        row.map(|row| row.0).or_else(|| ALIASES.iter().find(|(alias, _)| *alias == short).map(|(_, dtype)| *dtype))
    }

    /// How many bits one element takes. Less than eight only for `quint4x2` and `quint2x4`, whose
    /// elements torch counts one by one; an element of `float4_e2m1fn_x2` or `bits1x8` is, as
    /// torch counts, the whole byte.
    pub fn bits(self) -> u32 {
        u32::from(self.row().2)
    }

    /// What `Tensor.element_size()` answers: whole bytes, 1 for the kinds below a byte.
    pub fn element_size(self) -> usize {
        (self.bits() as usize).div_ceil(8)
    }

    /// torch's short name in printed annotations (`f32`, `b8`), where torch has one.
    pub fn abbreviation(self) -> Option<&'static str> {
        self.row().3
    }

    /// The dtype of a short name.
    pub fn from_abbreviation(text: &str) -> Option<Dtype> {
        TABLE.iter().find(|row| row.3 == Some(text)).map(|row| row.0)
    }

    /// The number of this dtype in the C ABI; never 0.
    pub fn to_u8(self) -> u8 {
        self as u8
    }

    /// The dtype of a number, if it is one.
    pub fn from_u8(number: u8) -> Option<Dtype> {
        let index = match number {
            1..=TORCH_ROWS => number - 1,
            128 | 129 => TORCH_ROWS + (number - 128),
            _ => return None,
        };
        TABLE.get(usize::from(index)).map(|row| row.0)
    }

    /// Whether elements are floating-point numbers (complex is not), as `dtype.is_floating_point`.
    pub fn is_floating_point(self) -> bool {
        use Dtype::*;
        matches!(
            self,
            Float16
                | Float32
                | Float64
                | Bfloat16
                | Float8E5m2
                | Float8E4m3fn
                | Float8E5m2fnuz
                | Float8E4m3fnuz
                | Float8E8m0fnu
                | Float4E2m1fnX2
        )
    }

    /// Whether elements are complex numbers.
    pub fn is_complex(self) -> bool {
        matches!(self, Dtype::Complex32 | Dtype::Complex64 | Dtype::Complex128)
    }

    /// Whether torch calls tensors of this dtype quantized.
    pub fn is_quantized(self) -> bool {
        use Dtype::*;
        matches!(self, Qint8 | Quint8 | Qint32 | Quint4x2 | Quint2x4)
    }

    fn row(self) -> &'static Row {
        let number = self as u8;
        let index = if number <= TORCH_ROWS { number - 1 } else { TORCH_ROWS + (number - 128) };
        &TABLE[usize::from(index)]
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_stands_where_its_number_says() {
        for (at, dtype) in Dtype::all().enumerate() {
            assert_eq!(dtype.row().0, dtype);
            assert_eq!(Dtype::from_u8(dtype.to_u8()), Some(dtype));
            assert_eq!(Dtype::from_name(dtype.name()), Some(dtype));
            if let Some(short) = dtype.abbreviation() {
                assert_eq!(Dtype::from_abbreviation(short), Some(dtype));
            }
            if at < 46 {
                assert_eq!(usize::from(dtype.to_u8()), at + 1);
            }
        }
        let known: usize = (0..=255).filter(|&n| Dtype::from_u8(n).is_some()).count();
        assert_eq!(known, Dtype::all().len());
        assert_eq!(Dtype::from_u8(0), None);
    }

    #[test]
    fn names() {
        assert_eq!(Dtype::from_name("float32"), Some(Dtype::Float32));
        assert_eq!(Dtype::from_name("torch.long"), Some(Dtype::Int64));
        assert_eq!(Dtype::from_name("acc.uint8fused"), Some(Dtype::AccUint8Fused));
        assert_eq!(Dtype::from_name("torch.acc.uint8fused"), None);
        assert_eq!(Dtype::from_name("uint8fused"), None);
        assert_eq!(Dtype::from_name("torch.torch.int8"), None);
        assert_eq!(Dtype::from_name(""), None);
        assert_eq!(Dtype::Bool.to_string(), "torch.bool");
    }

    #[test]
    fn sizes() {
        assert_eq!(Dtype::Quint4x2.bits(), 4);
        assert_eq!(Dtype::Quint4x2.element_size(), 1);
        assert_eq!(Dtype::Complex128.element_size(), 16);
        assert_eq!(Dtype::Float4E2m1fnX2.element_size(), 1);
    }
}
