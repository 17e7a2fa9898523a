//! The native form: whatever is loaded is saved and loaded again the same. The input is a file, or only
//! its document; then the file is made around it, with some bytes for tensors.
#![no_main]

use fxir::formats::{native, weights};
use fxir::ir::{Dtype, Tensor, TensorMeta};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|bytes: &[u8]| {
    let file = if bytes.first() == Some(&b'{') { file_with(bytes) } else { bytes.to_vec() };
    let Ok(tree) = native::from_bytes(Arc::new(file)) else { return };
    let saved = native::to_bytes(&tree, tree.root()).expect("what is loaded can be saved");
    let again = native::from_bytes(Arc::new(saved.clone())).expect("what is saved can be loaded");
    assert!(again.is_same_as(again.root(), &tree, tree.root()));
    assert!(native::to_bytes(&again, again.root()).expect("it can be saved again") == saved);
});

/// A file of this document, and a buffer `w` of 64 bytes.
fn file_with(document: &[u8]) -> Vec<u8> {
    let tensor = |bytes: Vec<u8>| Tensor::from_bytes(TensorMeta::new(Dtype::Uint8, [bytes.len() as i64]), bytes);
    let tensors = [("__fxir__", tensor(document.to_vec())), ("w", tensor((0..64).collect()))]
        .map(|(name, tensor)| (name, tensor.expect("a vector")));
    let mut file = Vec::new();
    weights::write_to(&mut file, tensors.iter().map(|(name, tensor)| (*name, tensor))).expect("it can be written");
    let length = u64::from_le_bytes(file[..8].try_into().expect("eight bytes")) as usize;
    let label = br#"{"__metadata__":{"format":"fxir"},"#;
    let header = [label, &file[9..8 + length]].concat();
    [&(header.len() as u64).to_le_bytes(), &header[..], &file[8 + length..]].concat()
}
