//! The JSON of serialize_module: whatever is read passes lint, and is written and read again alike.
#![no_main]

use fxir::formats::json::{read, serialize, SerializeOptions};
use fxir::ir::lint::lint_all;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let Ok(tree) = read(text, None) else { return };
    lint_all(&tree, tree.root()).expect("what is read passes lint");
    let options = SerializeOptions { allow_missing_meta: true, ..Default::default() };
    // Some of what can be read has no place in what torch writes.
    let Ok(written) = serialize(&tree, tree.root(), &options) else { return };
    let again = read(written.json.as_bytes(), None).expect("what is written can be read");
    let rewritten = serialize(&again, again.root(), &options).expect("what was written can be written again");
    assert_eq!(rewritten.json, written.json);
});
