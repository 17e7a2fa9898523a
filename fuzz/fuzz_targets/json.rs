//! The JSON of serialize_module: whatever is read passes lint, and in each form it is written and read
//! again alike.
#![no_main]

use fxir::formats::json::{read, serialize, Schema, SerializeOptions};
use fxir::ir::lint::lint_all;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let Ok(tree) = read(text, None) else { return };
    lint_all(&tree, tree.root()).expect("what is read passes lint");
    for schema in [
        Schema::torch_1_8(),
        Schema::output_args(),
        Schema::is_quantized(),
        Schema::torch_1_9(),
        Schema::torch_1_10(),
        Schema::torch_1_12(),
    ] {
        let options = SerializeOptions { schema, allow_missing_meta: true, ..Default::default() };
        // Some of what can be read has no place in what torch writes.
        let Ok(written) = serialize(&tree, tree.root(), &options) else { continue };
        serde_json::from_str::<serde::de::IgnoredAny>(&written.json).expect("strict JSON");
        let again = read(written.json.as_bytes(), None).expect("what is written can be read");
        lint_all(&again, again.root()).expect("what is read again passes lint");
        let rewritten = serialize(&again, again.root(), &options).expect("what was written can be written again");
        // A file of 1.10 does not tell its constants from the buffers of 1.12, which come elsewhere.
        if schema != Schema::torch_1_10() {
            assert_eq!(rewritten.json, written.json);
        }
    }
});
