//! Weights in several files with an index, and weights that are written piece by piece.

use std::fs;
use std::path::Path;

use fxir::formats::replace_file::StagedFile;
use fxir::formats::weights::{self, Writer};
use fxir::ir::dtype::Dtype;
use fxir::ir::error::ErrorKind;
use fxir::ir::tensor::{Tensor, TensorMeta};

fn tensor(dtype: Dtype, sizes: &[i64], bytes: Vec<u8>) -> Tensor {
    Tensor::from_bytes(TensorMeta::new(dtype, sizes.iter().copied()), bytes).unwrap()
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn shards_are_filled_in_order_and_tied_tensors_stay_together() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("model.safetensors.index.json");
    let (a, b) = (tensor(Dtype::Uint8, &[6], vec![1; 6]), tensor(Dtype::Uint8, &[5], vec![2; 5]));
    let (large, empty) = (tensor(Dtype::Int64, &[4], vec![3; 32]), tensor(Dtype::Float32, &[0], vec![]));
    let given = [("a", &a), ("b", &b), ("large", &large), ("tied", &a), ("empty", &empty)];
    weights::write_sharded(&index, given, 10).unwrap();
    assert_eq!(
        files(folder.path()),
        [
            "model-00001-of-00003.safetensors",
            "model-00002-of-00003.safetensors",
            "model-00003-of-00003.safetensors",
            "model.safetensors.index.json"
        ]
    );
    let text: serde_json::Value = serde_json::from_slice(&fs::read(&index).unwrap()).unwrap();
    let shard = |number: u32| format!("model-0000{number}-of-00003.safetensors");
    assert_eq!(text["metadata"]["total_size"], 43);
    assert_eq!(
        text["weight_map"],
        serde_json::json!({"a": shard(1), "tied": shard(1), "b": shard(2), "large": shard(3), "empty": shard(3)})
    );
    let read = weights::open(&index).unwrap();
    assert_eq!(read.len(), 5);
    for (name, tensor) in given {
        assert_eq!(read.get(name).map(|it| &**it), Some(tensor), "{name}");
    }
    assert!(read.get("a").unwrap().shares_storage_with(read.get("tied").unwrap()));
    // Over themselves, into other sizes.
    weights::write_sharded(&index, read.iter().map(|(name, tensor)| (&**name, &**tensor)), 1000).unwrap();
    assert_eq!(weights::open(&index).unwrap().get("b").map(|it| &**it), Some(&b));
}

#[test]
fn sharded_weights_that_cannot_be_written_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("m.safetensors.index.json");
    let good = tensor(Dtype::Uint8, &[6], vec![1; 6]);
    let bad = Tensor::without_bytes(TensorMeta::new(Dtype::Bool, [1i64])).unwrap();
    for (name, tensor) in [("bad", &bad), ("good", &good), ("__metadata__", &good)] {
        let other = tensor_of_its_own();
        let given = [("good", &good), ("other", &other), (name, tensor)];
        assert_eq!(weights::write_sharded(&index, given, 6).unwrap_err().kind, ErrorKind::InvalidArgument, "{name}");
    }
    let error = weights::write_sharded(folder.path().join("m.json"), [("good", &good)], 6).unwrap_err();
    assert!(error.message.contains(".safetensors.index.json"), "{}", error.message);
    assert!(files(folder.path()).is_empty());
}

fn tensor_of_its_own() -> Tensor {
    tensor(Dtype::Uint8, &[6], vec![1; 6])
}

#[test]
fn wrong_indexes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let good = tensor(Dtype::Uint8, &[1], vec![1]);
    weights::write(folder.path().join("w.safetensors"), [("a", &good)]).unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    weights::write(folder.path().join("sub/w.safetensors"), [("b", &good)]).unwrap();
    let index = folder.path().join("w.safetensors.index.json");
    let read = |map: &str| {
        fs::write(&index, format!(r#"{{"metadata": {{"total_size": 1}}, "weight_map": {map}}}"#)).unwrap();
        weights::open(&index)
    };
    assert_eq!(read(r#"{"a": "w.safetensors", "b": "sub/w.safetensors"}"#).unwrap().len(), 2);
    assert_eq!(read("{}").unwrap().len(), 0);
    for (map, kind, told) in [
        (r#"{"x": "w.safetensors"}"#, ErrorKind::Parse, "`x` is said to be in"),
        (r#"{"a": "gone.safetensors"}"#, ErrorKind::Io, "gone.safetensors"),
        (r#"{"a": "../w.safetensors"}"#, ErrorKind::Parse, "no file beside"),
        (r#"{"a": "/w.safetensors"}"#, ErrorKind::Parse, "no file beside"),
        (r#"{"a": ""}"#, ErrorKind::Parse, "no file beside"),
        (r#"{"a": "w.safetensors", "a": "w.safetensors"}"#, ErrorKind::Parse, "`a` occurs twice"),
        (r#"{"a": 3}"#, ErrorKind::Parse, "not an index"),
        (r#"["a"]"#, ErrorKind::Parse, "not an index"),
        (r#"{"a": "w.safetensors""#, ErrorKind::Parse, "not an index"),
    ] {
        let error = read(map).expect_err(map);
        assert_eq!(error.kind, kind, "{map}");
        assert!(error.message.contains(told), "{map}: {}", error.message);
    }
    fs::write(&index, format!(r#"{{"weight_map": {}"#, "[".repeat(100_000))).unwrap();
    assert_eq!(weights::open(&index).unwrap_err().kind, ErrorKind::Parse);
}

#[test]
fn bytes_that_come_in_pieces_make_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let (a, b) = (tensor(Dtype::Int64, &[2], (0..16).collect()), tensor(Dtype::Complex128, &[1], (16..32).collect()));
    let empty = tensor(Dtype::Bool, &[0, 3], vec![]);
    let announced: [(&str, Dtype, &[i64]); 3] =
        [("a", Dtype::Int64, &[2]), ("empty", Dtype::Bool, &[0, 3]), ("b", Dtype::Complex128, &[1])];
    for piece in [1, 3, 16, 32] {
        let mut writer = Writer::new(StagedFile::new(&path).unwrap(), announced).unwrap();
        for bytes in (0..32).collect::<Vec<u8>>().chunks(piece) {
            writer.write(bytes).unwrap();
        }
        writer.finish().unwrap();
        writer.into_inner().commit().unwrap();
        let read = weights::open(&path).unwrap();
        for (name, tensor) in [("a", &a), ("b", &b), ("empty", &empty)] {
            assert_eq!(read.get(name).map(|it| &**it), Some(tensor), "{name}");
        }
    }
}

#[test]
fn too_few_or_too_many_bytes_are_refused() {
    let sizes: &[i64] = &[2];
    let announced = [("a", Dtype::Int16, sizes), ("b", Dtype::Int16, sizes)];
    let mut writer = Writer::new(Vec::new(), announced).unwrap();
    writer.write(&[1; 5]).unwrap();
    let error = writer.write(&[1; 4]).unwrap_err();
    assert!(error.message.contains("1 byte more"), "{}", error.message);
    let error = writer.finish().unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidArgument);
    assert!(error.message.contains("from `b` on: 3 of 8"), "{}", error.message);
    writer.write(&[1; 3]).unwrap();
    writer.finish().unwrap();
    assert_eq!(writer.into_inner().len() % 8, 0);
    for (name, dtype, sizes) in
        [("a", Dtype::Bool, &[1i64][..]), ("__metadata__", Dtype::Bool, &[1]), ("b", Dtype::Bool, &[-1])]
    {
        let given = [("a", Dtype::Int16, &[2i64][..]), (name, dtype, sizes)];
        assert_eq!(Writer::new(Vec::new(), given).unwrap_err().kind, ErrorKind::InvalidArgument, "{name}");
    }
    let huge = [("a", Dtype::Int64, &[i64::MAX][..])];
    assert!(Writer::new(Vec::new(), huge).is_err());
}
