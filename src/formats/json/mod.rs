//! The JSON of `serialize_module`, in the forms that torch 1.8 to 1.12 gave it: all are read, and
//! each can be written ([`Schema`]).
//!
//! One object a graph module: `modules` (the graph modules that it calls, by target), `weights`
//! (the metadata of each tensor that it needs, by name) and `nodes`. The weights' bytes lie beside
//! it, in a safetensors file.
//!
//! What torch could not put into JSON (a slice, a device, inf) has an encoding of its own, which
//! reads back exactly. What the format loses is lost here too: list and tuple are one (an output of
//! several elements, and the index of `getitem`, read as tuples), and so are a string and the dtype,
//! memory format, layout or qscheme that is spelled like it (they read as the latter, except in
//! `lowering_info`).

mod dims;
mod encoding;
mod read;
mod schema;
mod write;

pub use read::read;
pub use schema::{OutputInfo, Schema, Strings, WeightQuantization, WeightsFirst};
pub use write::{serialize, write, SerializeOptions, Serialized, WeightMap};

/// The type name that graph modules get: the format does not tell theirs.
const GRAPH_MODULE: &str = "torch.fx.graph_module.GraphModule";

/// Before the name of a constant that lives in the module above.
const PARENT: &str = "parent.";

/// The key that describes what a node yields that is no tensor.
const VALUE: &str = "value";

/// Keys of a node that lowering information must leave alone.
const NODE_KEYS: [&str; 16] = [
    "shape",
    "dtype",
    "requires_grad",
    "stride",
    "is_quantized",
    "qscheme",
    "q_scale",
    "q_zero_point",
    "parameters",
    "target",
    "ph_type",
    "op_code",
    "name",
    "args",
    "kwargs",
    "users",
];

/// Whether scales are per tensor (true) or per channel (false); None if it is no scheme of torch's.
fn is_per_tensor(qscheme: &str) -> Option<bool> {
    match qscheme {
        "torch.per_tensor_affine" | "torch.per_tensor_symmetric" => Some(true),
        "torch.per_channel_affine" | "torch.per_channel_symmetric" | "torch.per_channel_affine_float_qparams" => {
            Some(false)
        }
        _ => None,
    }
}
