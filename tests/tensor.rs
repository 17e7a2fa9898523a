//! Tensors: what constructors refuse, and how bytes are read however they lie.

use std::sync::Arc;

use fxir::ir::dtype::Dtype;
use fxir::ir::error::ErrorKind;
use fxir::ir::tensor::{Dim, Storage, Tensor, TensorMeta};

fn meta(dtype: Dtype, sizes: &[i64]) -> TensorMeta {
    TensorMeta::new(dtype, sizes.iter().copied())
}

fn storage(length: usize) -> Arc<Storage> {
    Arc::new((0..length).map(|n| n as u8).collect::<Vec<u8>>())
}

fn gathered(tensor: &Tensor) -> Vec<u8> {
    tensor.runs().expect("it has bytes").flatten().copied().collect()
}

#[test]
fn row_major_bytes_are_one_run() {
    let tensor = Tensor::new(meta(Dtype::Int16, &[2, 3]), storage(20), 4).unwrap();
    assert!(tensor.is_contiguous());
    assert_eq!(tensor.strides(), Some(&[3, 1][..]));
    assert_eq!((tensor.numel(), tensor.nbytes(), tensor.offset()), (Some(6), Some(12), Some(4)));
    assert_eq!(tensor.data().unwrap(), (4..16).collect::<Vec<u8>>());
    assert_eq!(tensor.runs().unwrap().count(), 1);
}

#[test]
fn a_transposed_tensor_is_gathered() {
    let tensor = Tensor::strided(meta(Dtype::Uint8, &[3, 2]), storage(6), 0, &[1, 3]).unwrap();
    assert!(!tensor.is_contiguous());
    assert_eq!(gathered(&tensor), [0, 3, 1, 4, 2, 5]);
}

#[test]
fn rows_with_gaps_are_runs_of_rows() {
    let tensor = Tensor::strided(meta(Dtype::Uint8, &[2, 2, 3]), storage(30), 1, &[12, 4, 1]).unwrap();
    let runs: Vec<&[u8]> = tensor.runs().unwrap().collect();
    assert_eq!(runs, [[1, 2, 3], [5, 6, 7], [13, 14, 15], [17, 18, 19]]);
    assert_eq!(tensor.data().unwrap().len(), 19);
}

#[test]
fn an_expanded_tensor_repeats_its_bytes() {
    let tensor = Tensor::strided(meta(Dtype::Int16, &[3, 2]), storage(4), 0, &[0, 1]).unwrap();
    assert_eq!(gathered(&tensor), [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
    assert_eq!((tensor.nbytes(), tensor.data().unwrap().len()), (Some(12), 4));
}

#[test]
fn strides_of_size_one_mean_nothing() {
    let strides = [i64::MAX, 1];
    let tensor = Tensor::strided(meta(Dtype::Int64, &[1, 2]), storage(16), 0, &strides).unwrap();
    assert!(tensor.is_contiguous());
    let tensor = Tensor::strided(meta(Dtype::Uint8, &[2, 1, 2]), storage(9), 0, &[5, i64::MAX, 2]).unwrap();
    assert_eq!(gathered(&tensor), [0, 2, 5, 7]);
}

#[test]
fn empty_tensors() {
    for (sizes, strides) in [([0, 4], [4, 1]), ([4, 0], [0, 0]), ([0, i64::MAX], [9, i64::MAX])] {
        let tensor = Tensor::strided(meta(Dtype::Float32, &sizes), storage(0), 0, &strides).unwrap();
        assert_eq!((tensor.numel(), tensor.nbytes(), tensor.data()), (Some(0), Some(0), Some(&[][..])));
        assert_eq!(tensor.runs().unwrap().count(), 0);
    }
    assert!(Tensor::new(meta(Dtype::Bool, &[0]), storage(2), 3).is_err());
}

#[test]
fn what_does_not_fit_is_refused() {
    let kind = |result: fxir::ir::error::Result<Tensor>| result.unwrap_err().kind;
    let float = |sizes: &[i64]| meta(Dtype::Float32, sizes);
    use ErrorKind::{InvalidArgument, OutOfRange, Unsupported};
    assert_eq!(kind(Tensor::new(float(&[2]), storage(7), 0)), OutOfRange);
    assert_eq!(kind(Tensor::new(float(&[2]), storage(8), 1)), OutOfRange);
    assert_eq!(kind(Tensor::new(float(&[2]), storage(8), usize::MAX)), OutOfRange);
    assert_eq!(kind(Tensor::new(float(&[-2]), storage(8), 0)), InvalidArgument);
    assert_eq!(kind(Tensor::new(float(&[i64::MAX, i64::MAX]), storage(8), 0)), InvalidArgument);
    assert_eq!(kind(Tensor::new(float(&[i64::MAX]), storage(8), 0)), InvalidArgument);
    assert_eq!(kind(Tensor::strided(float(&[2]), storage(8), 0, &[-1])), InvalidArgument);
    assert_eq!(kind(Tensor::strided(float(&[2]), storage(8), 0, &[])), InvalidArgument);
    assert_eq!(kind(Tensor::strided(float(&[2]), storage(8), 0, &[2])), OutOfRange);
    assert_eq!(kind(Tensor::strided(float(&[3]), storage(8), 0, &[i64::MAX])), OutOfRange);
    assert_eq!(kind(Tensor::strided(meta(Dtype::Quint4x2, &[2, 2]), storage(8), 0, &[1, 2])), Unsupported);
    assert_eq!(kind(Tensor::from_bytes(float(&[1]), vec![0; 5])), InvalidArgument);
    assert_eq!(kind(Tensor::from_bytes(float(&[1]), vec![0; 3])), OutOfRange);
    let symbolic = TensorMeta::new(Dtype::Bool, [Dim::Sym("s0".into())]);
    assert_eq!(kind(Tensor::new(symbolic, storage(8), 0)), InvalidArgument);
}

#[test]
fn a_tensor_without_bytes_gives_none() {
    let tensor = Tensor::without_bytes(TensorMeta::new(Dtype::Bool, [Dim::Sym("s0".into())])).unwrap();
    assert!(tensor.data().is_none() && tensor.runs().is_none() && tensor.sizes().is_none());
    assert_eq!((tensor.numel(), tensor.strides(), tensor.offset()), (None, None, None));
    assert!(!tensor.is_contiguous());
    let known = Tensor::without_bytes(meta(Dtype::Float32, &[2, 3])).unwrap();
    assert_eq!((known.nbytes(), known.data()), (Some(24), None));
    assert!(Tensor::without_bytes(meta(Dtype::Float32, &[-1])).is_err());
}

#[test]
fn other_metadata_shares_the_bytes() {
    let tensor = Tensor::new(meta(Dtype::Int8, &[2, 2]), storage(4), 0).unwrap();
    let quantized = tensor.with_meta(meta(Dtype::Qint8, &[2, 2])).unwrap();
    assert_eq!(quantized.data().unwrap().as_ptr(), tensor.data().unwrap().as_ptr());
    assert_eq!(quantized.dtype(), Dtype::Qint8);
    assert!(tensor.with_meta(meta(Dtype::Int16, &[2, 2])).is_err());
    assert!(tensor.with_meta(meta(Dtype::Int8, &[4])).is_err());
}

#[test]
fn sharing_is_having_bytes_in_common() {
    let bytes = storage(8);
    let at = |offset, length| Tensor::new(meta(Dtype::Uint8, &[length]), bytes.clone(), offset).unwrap();
    assert!(at(0, 4).shares_storage_with(&at(3, 2)));
    assert!(!at(0, 4).shares_storage_with(&at(4, 4)));
    assert!(!at(0, 4).shares_storage_with(&at(0, 0)));
    let other = Tensor::new(meta(Dtype::Uint8, &[8]), storage(8), 0).unwrap();
    assert!(!at(0, 8).shares_storage_with(&other));
    assert_eq!(at(0, 8), other);
    assert_ne!(at(0, 4), at(1, 4));
}
