//! safetensors: every tensor that is read has its bytes, and all are written and read again alike.
#![no_main]

use fxir::formats::weights::{from_bytes, write_to};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|bytes: &[u8]| {
    let Ok(weights) = from_bytes(Arc::new(bytes.to_vec())) else { return };
    for (_, tensor) in weights.iter() {
        let data = tensor.data().expect("a tensor of a file has bytes");
        assert_eq!(Some(data.len() as u64), tensor.nbytes());
    }
    let mut written = Vec::new();
    write_to(&mut written, weights.iter().map(|(name, tensor)| (&**name, &**tensor))).expect("it can be written");
    let again = from_bytes(Arc::new(written)).expect("what is written can be read");
    assert_eq!(again.len(), weights.len());
    for (name, tensor) in weights.iter() {
        let same = again.get(name).expect("every name is there");
        assert_eq!((same.dtype(), same.sizes(), same.data()), (tensor.dtype(), tensor.sizes(), tensor.data()));
    }
});
