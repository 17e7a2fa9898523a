//! Safetensors: what is written is read again without a copy, and what is wrong is said.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fxir::formats::weights::{self, Weights};
use fxir::ir::dtype::Dtype;
use fxir::ir::error::{Error, ErrorKind};
use fxir::ir::tensor::{Tensor, TensorMeta};
use proptest::prelude::*;

fn mix() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/mix.safetensors")
}

fn tensor(dtype: Dtype, sizes: &[i64], bytes: Vec<u8>) -> Tensor {
    Tensor::from_bytes(TensorMeta::new(dtype, sizes.iter().copied()), bytes).unwrap()
}

fn file(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

fn read(bytes: Vec<u8>) -> Result<Weights, Error> {
    weights::from_bytes(Arc::new(bytes))
}

fn refused(header: &str, data: &[u8]) -> Error {
    read(file(header, data)).expect_err(header)
}

fn written(tensors: &[(&str, &Tensor)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    weights::write_to(&mut bytes, tensors.iter().copied()).unwrap();
    bytes
}

#[test]
fn a_file_of_torch_is_read_as_it_is() {
    let weights = weights::open(mix()).unwrap();
    let names: Vec<&str> = weights.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["s", "c", "a.weight", "e", "b", "f8", "bo"]);
    let told: Vec<(Dtype, &[i64], usize)> = weights
        .iter()
        .map(|(_, tensor)| (tensor.dtype(), tensor.sizes().unwrap(), tensor.data().unwrap().len()))
        .collect();
    assert_eq!(
        told,
        [
            (Dtype::Int64, &[][..], 8),
            (Dtype::Complex64, &[2], 16),
            (Dtype::Float32, &[2, 3], 24),
            (Dtype::Float32, &[0, 4], 0),
            (Dtype::Bfloat16, &[3], 6),
            (Dtype::Float8E4m3fn, &[4], 4),
            (Dtype::Bool, &[2], 2),
        ]
    );
    assert_eq!(weights.metadata().get("format").map(String::as_str), Some("pt"));
    assert!(weights.get("a").is_none());
}

#[test]
fn every_tensor_lies_in_the_map() {
    let weights = weights::open(mix()).unwrap();
    let contents = fs::read(mix()).unwrap();
    for (name, tensor) in weights.iter() {
        let map = tensor.storage().unwrap().bytes();
        assert_eq!(map, contents);
        let (data, map) = (tensor.data().unwrap().as_ptr_range(), map.as_ptr_range());
        assert!(map.start <= data.start && data.end <= map.end, "{name} was copied");
    }
}

#[test]
fn tensors_outlive_the_weights_and_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    fs::copy(mix(), &path).unwrap();
    let kept = weights::open(&path).unwrap().get("a.weight").cloned().unwrap();
    fs::remove_file(&path).unwrap();
    let original = weights::open(mix()).unwrap();
    assert_eq!(kept, *original.get("a.weight").unwrap());
}

#[test]
fn a_file_may_be_written_over_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    fs::copy(mix(), &path).unwrap();
    let weights = weights::open(&path).unwrap();
    weights::write(&path, weights.iter().map(|(name, tensor)| (&**name, &**tensor))).unwrap();
    let again = weights::open(&path).unwrap();
    assert_eq!(again.len(), weights.len());
    for (name, tensor) in weights.iter() {
        assert_eq!(again.get(name), Some(tensor), "{name}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "something was left beside it");
}

#[test]
fn the_order_and_header_are_those_of_other_writers() {
    let byte = tensor(Dtype::Uint8, &[1], vec![7]);
    let (float, int) = (tensor(Dtype::Float32, &[1], vec![1; 4]), tensor(Dtype::Int64, &[1], vec![2; 8]));
    let other = tensor(Dtype::Float32, &[1], vec![1; 4]);
    let bytes = written(&[("a", &byte), ("z", &float), ("b", &other), ("q\"", &int)]);
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    assert_eq!(length % 8, 0);
    let header = concat!(
        r#"{"q\"":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},"#,
        r#""b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},"#,
        r#""z":{"dtype":"F32","shape":[1],"data_offsets":[12,16]},"#,
        r#""a":{"dtype":"U8","shape":[1],"data_offsets":[16,17]}}"#
    );
    assert_eq!(std::str::from_utf8(&bytes[8..8 + length]).unwrap().trim_end_matches(' '), header);
    assert_eq!(bytes[8 + length..], [2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 7]);
    // The crate that defines the format agrees.
    assert_eq!(safetensors::SafeTensors::deserialize(&bytes).unwrap().len(), 4);
}

#[test]
fn one_buffer_under_two_names_is_written_once_and_shared_again() {
    let tied = tensor(Dtype::Int16, &[2], vec![1, 2, 3, 4]);
    let equal = tensor(Dtype::Int16, &[2], vec![1, 2, 3, 4]);
    let bytes = written(&[("one", &tied), ("two", &tied), ("apart", &equal)]);
    assert_eq!(safetensors::SafeTensors::deserialize(&bytes).unwrap().names().len(), 2);
    let weights = read(bytes).unwrap();
    assert_eq!(weights.get("one"), weights.get("two"));
    assert!(weights.get("one").unwrap().shares_storage_with(weights.get("two").unwrap()));
    assert!(!weights.get("one").unwrap().shares_storage_with(weights.get("apart").unwrap()));
    // Another view of the same bytes is another tensor.
    let storage = tied.storage().unwrap();
    let first = Tensor::new(TensorMeta::new(Dtype::Int16, [1i64]), storage.clone(), 0).unwrap();
    let weights = read(written(&[("one", &tied), ("first", &first)])).unwrap();
    assert_eq!(weights.get("first").unwrap().data(), Some(&[1, 2][..]));
}

#[test]
fn second_names_that_other_writers_note_are_read() {
    // As `safetensors.torch.save_model` of Hugging Face notes them.
    let header = r#"{"__metadata__":{"head":"embed","format":"embed","note":"none","embed":"embed"},
        "embed":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}"#;
    let weights = read(file(header, &[1, 2])).unwrap();
    assert_eq!(weights.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["embed", "head"]);
    assert!(weights.get("head").unwrap().shares_storage_with(weights.get("embed").unwrap()));
}

#[test]
fn dtypes_that_the_format_lacks_are_kept() {
    for (dtype, sizes, bytes) in [
        (Dtype::Complex128, vec![2], 32),
        (Dtype::Complex32, vec![3, 1], 12),
        (Dtype::Uint4, vec![3], 3),
        (Dtype::Bits16, vec![], 2),
        (Dtype::Quint4x2, vec![3, 5], 9),
        (Dtype::Float4E2m1fnX2, vec![], 1),
    ] {
        let kept = tensor(dtype, &sizes, (1..=bytes).collect());
        let bytes = written(&[("t", &kept), ("plain", &tensor(Dtype::Uint8, &[1], vec![7]))]);
        assert_eq!(safetensors::SafeTensors::deserialize(&bytes).unwrap().len(), 2);
        assert_eq!(**read(bytes).unwrap().get("t").unwrap(), kept, "{dtype}");
    }
    let noted = |note: &str, length: usize| {
        let header = format!(
            r#"{{"__metadata__":{{"fxir":{}}},"t":{{"dtype":"U8","shape":[{length}],"data_offsets":[0,{length}]}}}}"#,
            serde_json::Value::from(note)
        );
        read(file(&header, &vec![0; length]))
    };
    let dtypes = |dtype: &str, shape: &str| format!(r#"{{"dtypes":{{"t":{{"dtype":"{dtype}","shape":{shape}}}}}}}"#);
    assert!(noted(&dtypes("torch.complex128", "[1]"), 16).is_ok());
    assert!(noted(&dtypes("torch.complex128", "[2]"), 16).unwrap_err().message.contains("takes 32 bytes"));
    assert!(noted(&dtypes("torch.complex128", "[-1]"), 16).is_err());
    assert!(noted(&dtypes("torch.complex128", "[9223372036854775807,9223372036854775807]"), 16).is_err());
    assert!(noted(&dtypes("torch.complex128", &format!("{:?}", [1; 65])), 16).is_err());
    assert_eq!(noted(&dtypes("torch.complex256", "[1]"), 16).unwrap_err().kind, ErrorKind::Unsupported);
    assert_eq!(noted("{\"dtypes\":[]}", 16).unwrap_err().kind, ErrorKind::Parse);
    assert!(noted("anybody's", 16).is_ok());
    assert!(noted(r#"{"same":{"u":"gone","t":"t","v":"t"},"newer":1}"#, 16).unwrap().get("v").is_some());
}

#[test]
fn other_orders_are_gathered() {
    let meta = TensorMeta::new(Dtype::Int16, [2i64, 2]);
    let bytes = Arc::new((0..8).collect::<Vec<u8>>());
    let turned = Tensor::strided(meta, bytes, 0, &[1, 2]).unwrap();
    let weights = read(written(&[("t", &turned)])).unwrap();
    assert_eq!(weights.get("t").unwrap().data(), Some(&[0, 1, 4, 5, 2, 3, 6, 7][..]));
}

#[test]
fn quantized_tensors_are_written_as_their_integers() {
    for (dtype, stored, width) in [
        (Dtype::Qint8, Dtype::Int8, 1),
        (Dtype::Quint8, Dtype::Uint8, 1),
        (Dtype::Qint32, Dtype::Int32, 4),
        (Dtype::AccUint8Fused, Dtype::Uint8, 1),
        (Dtype::AccUint4Fused, Dtype::Uint8, 1),
    ] {
        let weights = read(written(&[("q", &tensor(dtype, &[3], vec![9; 3 * width]))])).unwrap();
        assert_eq!(weights.get("q").unwrap().dtype(), stored);
    }
}

#[test]
fn two_values_in_a_byte_count_twice_in_the_file() {
    let bytes = written(&[("f4", &tensor(Dtype::Float4E2m1fnX2, &[2, 3], vec![5; 6]))]);
    assert!(String::from_utf8_lossy(&bytes).contains(r#""dtype":"F4","shape":[2,6]"#));
    assert_eq!(read(bytes).unwrap().get("f4").unwrap().sizes(), Some(&[2, 3][..]));
    assert_eq!(refused(r#"{"f4":{"dtype":"F4","shape":[2,3],"data_offsets":[0,3]}}"#, &[0; 3]).kind, ErrorKind::Parse);
}

#[test]
fn what_cannot_be_written_is_named_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    fs::write(&path, "before").unwrap();
    let good = tensor(Dtype::Bool, &[1], vec![1]);
    let meta_only = Tensor::without_bytes(TensorMeta::new(Dtype::Bool, [1i64])).unwrap();
    for (name, bad, kind) in [
        ("only_metadata", &meta_only, ErrorKind::InvalidArgument),
        ("good", &good, ErrorKind::InvalidArgument),
        ("__metadata__", &good, ErrorKind::InvalidArgument),
    ] {
        let error = weights::write(&path, [("good", &good), (name, bad)]).unwrap_err();
        assert_eq!(error.kind, kind);
        assert!(error.message.contains(name), "{}", error.message);
    }
    assert_eq!(fs::read(&path).unwrap(), b"before");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let nowhere = folder.path().join("no/such/w.safetensors");
    let error = weights::write(&nowhere, [("good", &good)]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Io);
    assert!(error.message.contains("no/such"), "{}", error.message);
    assert_eq!(weights::write(folder.path(), [("good", &good)]).unwrap_err().kind, ErrorKind::Io);
}

#[test]
fn a_failing_output_is_an_io_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("disk full"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let error = weights::write_to(&mut Full, [("a", &tensor(Dtype::Bool, &[1], vec![1]))]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Io);
    assert!(error.message.contains("disk full"));
}

#[test]
fn a_file_that_is_not_there_is_an_io_error() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.safetensors");
    for path in [missing.as_path(), folder.path()] {
        let error = weights::open(path).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Io);
        assert!(error.message.contains(path.to_str().unwrap()), "{}", error.message);
    }
    fs::write(&missing, "").unwrap();
    assert_eq!(weights::open(&missing).unwrap_err().kind, ErrorKind::Parse);
}

#[test]
fn a_file_cut_off_anywhere_is_refused() {
    let whole = fs::read(mix()).unwrap();
    for length in 0..whole.len() {
        let error = read(whole[..length].to_vec()).expect_err("cut off");
        assert_eq!(error.kind, ErrorKind::Parse, "at {length}");
    }
    assert!(read([whole.clone(), vec![0]].concat()).is_err());
    assert!(read(whole).is_ok());
}

#[test]
fn a_changed_byte_never_panics() {
    let whole = fs::read(mix()).unwrap();
    for at in 0..whole.len() {
        for flip in [1, 0x20, 0x80, 0xff] {
            let mut changed = whole.clone();
            changed[at] ^= flip;
            if let Err(error) = read(changed) {
                assert!(matches!(error.kind, ErrorKind::Parse | ErrorKind::Unsupported), "{error:?}");
            }
        }
    }
}

#[test]
fn hostile_headers_are_refused() {
    let entry = |name: &str, dtype: &str, shape: &str, from: u64, to: u64| {
        format!(r#""{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{from},{to}]}}"#)
    };
    let one = |dtype: &str, shape: &str, from, to| format!("{{{}}}", entry("w", dtype, shape, from, to));
    let two = |a: String, b: String| format!("{{{a},{b}}}");
    let cases = [
        ("", 0, "does not begin"),
        (" {}", 0, "does not begin"),
        ("[]", 0, "does not begin"),
        ("{", 0, "EOF"),
        ("{} x", 0, "trailing"),
        ("{}", 1, "no tensor has the last 1 byte of the file"),
        (r#"{"w":3}"#, 0, "`w`"),
        (r#"{"w":{"dtype":"F32","shape":[1]}}"#, 4, "`w`"),
        (r#"{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4,5]}}"#, 4, "`w`"),
        (r#"{"__metadata__":{"a":1}}"#, 0, "`__metadata__`"),
        (r#"{"__metadata__":{},"__metadata__":{}}"#, 0, "twice"),
        (&one("F7", "[1]", 0, 4), 4, "`w`"),
        (&one("F32", "[-1]", 0, 4), 4, "`w`"),
        (&one("F32", "[1.5]", 0, 4), 4, "`w`"),
        (&one("F32", "[2]", 0, 4), 4, "takes 8 bytes, the file gives it 4"),
        (&one("F32", "[18446744073709551615]", 0, 4), 4, "`w`"),
        (&one("F32", "[9223372036854775807,9223372036854775807]", 0, 4), 4, "`w`"),
        (&one("F32", "[4611686018427387905]", 0, 4), 4, "`w`"),
        (&one("F32", "[1]", 4, 0), 4, "ends before it begins"),
        (&one("F32", "[1]", 0, 4), 3, "beyond the end"),
        (&one("F32", "[1]", 1, 5), 5, "hole"),
        (&one("U8", "[1]", 0, u64::MAX), 1, "beyond the end"),
        (&one("U8", "[1]", u64::MAX, u64::MAX), 1, "beyond the end"),
        (&two(entry("v", "U8", "[2]", 0, 2), entry("w", "U8", "[2]", 1, 3)), 3, "`w`"),
        (&two(entry("v", "U8", "[2]", 0, 2), entry("w", "U8", "[2]", 0, 2)), 2, "overlaps"),
        (&two(entry("v", "U8", "[2]", 0, 2), entry("w", "U8", "[2]", 3, 5)), 5, "hole"),
        (&two(entry("w", "U8", "[2]", 0, 2), entry("w", "U8", "[2]", 0, 2)), 2, "`w` occurs twice"),
    ];
    for (header, data, told) in cases {
        let error = refused(header, &vec![0; data]);
        assert_eq!(error.kind, ErrorKind::Parse, "{header}");
        assert!(error.message.contains(told), "{header}: {}", error.message);
    }
    let deep = format!(r#"{{"w":{}"#, "[".repeat(100_000));
    assert_eq!(refused(&deep, &[]).kind, ErrorKind::Parse);
    let ones = vec!["1"; 100_000].join(",");
    assert!(refused(&one("U8", &format!("[{ones}]"), 0, 1), &[0]).message.contains("dimensions"));
    assert_eq!(refused(&one("F6_E2M3", "[4]", 0, 3), &[0; 3]).kind, ErrorKind::Unsupported);
    let mut not_utf8 = file("{ }", &[]);
    not_utf8[9] = 0xff;
    assert!(read(not_utf8).unwrap_err().message.contains("byte 9"));
}

#[test]
fn a_lying_header_length_costs_nothing() {
    for length in [9, 100_000_000, 100_000_001, u64::from(u32::MAX), u64::MAX - 7, u64::MAX] {
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend(b"{}");
        assert_eq!(read(bytes).unwrap_err().kind, ErrorKind::Parse, "{length}");
    }
}

/// Any dtype that comes back as itself, any small shape, any order of dimensions.
fn any_tensor() -> impl Strategy<Value = Tensor> {
    let dtypes = [
        Dtype::Bool,
        Dtype::Uint8,
        Dtype::Float8E5m2,
        Dtype::Bfloat16,
        Dtype::Uint16,
        Dtype::Int32,
        Dtype::Float32,
        Dtype::Complex64,
        Dtype::Complex128,
        Dtype::Int5,
        Dtype::Float64,
        Dtype::Uint64,
    ];
    (prop::sample::select(dtypes.to_vec()), prop::collection::vec(0i64..4, 0..4))
        .prop_flat_map(|(dtype, sizes)| {
            let count = sizes.iter().product::<i64>() as usize * dtype.element_size();
            let order = Just((0..sizes.len()).collect::<Vec<_>>()).prop_shuffle();
            (Just((dtype, sizes)), order, prop::collection::vec(any::<u8>(), count))
        })
        .prop_map(|((dtype, sizes), order, bytes)| {
            let mut strides = vec![0; sizes.len()];
            let mut step = 1;
            for dim in order {
                strides[dim] = step;
                step *= sizes[dim].max(1);
            }
            Tensor::strided(TensorMeta::new(dtype, sizes), Arc::new(bytes), 0, &strides).unwrap()
        })
}

proptest! {
    #[test]
    fn what_is_written_is_read(tensors in prop::collection::btree_map(".{0,6}", any_tensor(), 0..6)) {
        let bytes = written(&tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect::<Vec<_>>());
        prop_assert_eq!(safetensors::SafeTensors::deserialize(&bytes).unwrap().len(), tensors.len());
        let weights = read(bytes).unwrap();
        prop_assert_eq!(weights.len(), tensors.len());
        for (name, tensor) in &tensors {
            prop_assert_eq!(&**weights.get(name).unwrap(), tensor);
        }
    }
}
