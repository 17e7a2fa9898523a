//! How a module is serialized: `fxir_serialize_options`.

use super::error::{Failure, Outcome};
use super::input;
use super::lowering::{self, fxir_lowering_attrs};
use super::status::*;
use crate::formats::json::{OutputInfo, Schema, SerializeOptions, WeightQuantization, WeightsFirst};
use std::ptr::null;

/// The form that torch 1.12 gave.
pub const FXIR_SCHEMA_TORCH_1_12: i32 = 0;
/// That of torch 1.10 and 1.11: all parameters and buffers are among the weights, and come first.
pub const FXIR_SCHEMA_TORCH_1_10: i32 = 1;
/// That of torch 1.9: no requires_grad and no users, and of torch's values only dtypes are strings.
pub const FXIR_SCHEMA_TORCH_1_9: i32 = 2;
/// A form before 1.9: as 1.9, but without strides.
pub const FXIR_SCHEMA_IS_QUANTIZED: i32 = 3;
/// A form behind 1.8: as 1.8, but what is returned is told in the arguments of the output.
pub const FXIR_SCHEMA_OUTPUT_ARGS: i32 = 4;
/// That of torch 1.8: parameters come first, nodes tell shape and dtype alone, the output node too,
/// several outputs are one argument, and scales stand in the file as numbers.
pub const FXIR_SCHEMA_TORCH_1_8: i32 = 5;

/// Whether something is told or done is the schema's to say.
pub const FXIR_AS_SCHEMA: i32 = 0;
/// It is, whatever the schema says.
pub const FXIR_YES: i32 = 1;
/// It is not, whatever the schema says.
pub const FXIR_NO: i32 = 2;

/// `weights` begin with nothing: they come as nodes need them.
pub const FXIR_WEIGHTS_FIRST_NOTHING: i32 = 1;
/// `weights` begin with all parameters.
pub const FXIR_WEIGHTS_FIRST_PARAMETERS: i32 = 2;
/// `weights` begin with all parameters, then all buffers.
pub const FXIR_WEIGHTS_FIRST_PARAMETERS_AND_BUFFERS: i32 = 3;
/// `weights` begin with all buffers, then all parameters.
pub const FXIR_WEIGHTS_FIRST_BUFFERS_AND_PARAMETERS: i32 = 4;

/// The output node tells what the graph returns.
pub const FXIR_OUTPUT_INFO_NODE: i32 = 1;
/// The nodes in the arguments of the output tell it.
pub const FXIR_OUTPUT_INFO_ARGS: i32 = 2;

/// Weights have an object `quantized_type`, with scales per channel as numbers.
pub const FXIR_WEIGHT_QUANTIZATION_TYPE: i32 = 1;
/// Weights tell it among their keys; scales per channel are weights themselves.
pub const FXIR_WEIGHT_QUANTIZATION_WEIGHTS: i32 = 2;

/// How a module is serialized. Make one with `fxir_serialize_options_init`. A field of which it is
/// said that it overrides the schema has FXIR_AS_SCHEMA to leave it as it is; without a word on
/// values, it has FXIR_YES or FXIR_NO.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fxir_serialize_options {
    /// `sizeof(fxir_serialize_options)`, set by `fxir_serialize_options_init`.
    pub struct_size: usize,
    /// Spaces a level, one line an entry, as Python's `json.dumps(indent=...)`; 0: one line, no
    /// spaces. At most 64.
    pub indent: i32,
    /// 1: nodes of which it is not known what they yield are written without metadata; 0: such a node
    /// is an error, as in torch.
    pub allow_missing_meta: i32,
    /// The form that is written: one of FXIR_SCHEMA_*.
    pub schema: i32,
    /// Overrides the schema: one of FXIR_WEIGHTS_FIRST_*.
    pub weights_first: i32,
    /// Overrides the schema: one of FXIR_WEIGHT_QUANTIZATION_*.
    pub weight_quantization: i32,
    /// Overrides the schema: whether a constant of the module above is among the weights of the module
    /// that reads it.
    pub parent_weights: i32,
    /// Overrides the schema: whether `requires_grad` is told.
    pub requires_grad: i32,
    /// Overrides the schema: whether `stride` is told.
    pub stride: i32,
    /// Overrides the schema: whether nodes tell `is_quantized` and how.
    pub is_quantized: i32,
    /// Overrides the schema: whether nodes tell their `users`.
    pub users: i32,
    /// Overrides the schema: one of FXIR_OUTPUT_INFO_*.
    pub output_info: i32,
    /// Overrides the schema: whether several outputs are the arguments of the output, not one list in
    /// them.
    pub unpack_output: i32,
    /// Overrides the schema: whether dtypes are strings.
    pub dtype_strings: i32,
    /// Overrides the schema: whether memory formats are strings.
    pub memory_format_strings: i32,
    /// Overrides the schema: whether quantization schemes are strings.
    pub qscheme_strings: i32,
    /// Overrides the schema: whether layouts are strings.
    pub layout_strings: i32,
    /// 1: a leaf module of a type without a list is an error, as in torch; 0: everything in it is told.
    pub strict_lowering: i32,
    /// What is told of leaf modules; NULL: as FXIR_LOWERING_TORCH_1_12. Read during the call only.
    pub lowering: *const fxir_lowering_attrs,
}

/// Makes `*options` the defaults. Does nothing when it is NULL.
#[no_mangle]
pub unsafe extern "C" fn fxir_serialize_options_init(options: *mut fxir_serialize_options) {
    if !options.is_null() {
        options.write(defaults());
    }
}

fn defaults() -> fxir_serialize_options {
    fxir_serialize_options {
        struct_size: size_of::<fxir_serialize_options>(),
        indent: 0,
        allow_missing_meta: 0,
        schema: FXIR_SCHEMA_TORCH_1_12,
        weights_first: FXIR_AS_SCHEMA,
        weight_quantization: FXIR_AS_SCHEMA,
        parent_weights: FXIR_AS_SCHEMA,
        requires_grad: FXIR_AS_SCHEMA,
        stride: FXIR_AS_SCHEMA,
        is_quantized: FXIR_AS_SCHEMA,
        users: FXIR_AS_SCHEMA,
        output_info: FXIR_AS_SCHEMA,
        unpack_output: FXIR_AS_SCHEMA,
        dtype_strings: FXIR_AS_SCHEMA,
        memory_format_strings: FXIR_AS_SCHEMA,
        qscheme_strings: FXIR_AS_SCHEMA,
        layout_strings: FXIR_AS_SCHEMA,
        strict_lowering: 0,
        lowering: null(),
    }
}

pub(super) unsafe fn read_options(options: *const fxir_serialize_options) -> Outcome<SerializeOptions> {
    let given = match options.is_null() {
        true => defaults(),
        // SAFETY: passed on.
        false => unsafe { input::options(options, "options") }?,
    };
    let mut read = SerializeOptions {
        schema: schema(&given)?,
        indent: match given.indent {
            0 => None,
            spaces @ 1..=64 => Some(spaces.unsigned_abs() as usize),
            other => {
                let message = format!("`options.indent` is {other}, not from 0 to 64");
                return Err(Failure::new(FXIR_INVALID_ARGUMENT, message));
            }
        },
        allow_missing_meta: input::flag(given.allow_missing_meta, "options.allow_missing_meta")?,
        strict_lowering: input::flag(given.strict_lowering, "options.strict_lowering")?,
        ..Default::default()
    };
    if !given.lowering.is_null() {
        read.lowering = lowering::lists(given.lowering)?;
    }
    Ok(read)
}

fn schema(given: &fxir_serialize_options) -> Outcome<Schema> {
    let mut schema = match given.schema {
        FXIR_SCHEMA_TORCH_1_12 => Schema::torch_1_12(),
        FXIR_SCHEMA_TORCH_1_10 => Schema::torch_1_10(),
        FXIR_SCHEMA_TORCH_1_9 => Schema::torch_1_9(),
        FXIR_SCHEMA_IS_QUANTIZED => Schema::is_quantized(),
        FXIR_SCHEMA_OUTPUT_ARGS => Schema::output_args(),
        FXIR_SCHEMA_TORCH_1_8 => Schema::torch_1_8(),
        other => return none_of("schema", other, "FXIR_SCHEMA_*"),
    };
    match given.weights_first {
        FXIR_AS_SCHEMA => {}
        FXIR_WEIGHTS_FIRST_NOTHING => schema.weights_first = WeightsFirst::Nothing,
        FXIR_WEIGHTS_FIRST_PARAMETERS => schema.weights_first = WeightsFirst::Parameters,
        FXIR_WEIGHTS_FIRST_PARAMETERS_AND_BUFFERS => schema.weights_first = WeightsFirst::ParametersAndBuffers,
        FXIR_WEIGHTS_FIRST_BUFFERS_AND_PARAMETERS => schema.weights_first = WeightsFirst::BuffersAndParameters,
        other => return none_of("weights_first", other, "FXIR_WEIGHTS_FIRST_*"),
    }
    match given.weight_quantization {
        FXIR_AS_SCHEMA => {}
        FXIR_WEIGHT_QUANTIZATION_TYPE => schema.weight_quantization = WeightQuantization::QuantizedType,
        FXIR_WEIGHT_QUANTIZATION_WEIGHTS => schema.weight_quantization = WeightQuantization::Weights,
        other => return none_of("weight_quantization", other, "FXIR_WEIGHT_QUANTIZATION_*"),
    }
    match given.output_info {
        FXIR_AS_SCHEMA => {}
        FXIR_OUTPUT_INFO_NODE => schema.output_info = OutputInfo::Node,
        FXIR_OUTPUT_INFO_ARGS => schema.output_info = OutputInfo::Args,
        other => return none_of("output_info", other, "FXIR_OUTPUT_INFO_*"),
    }
    for (given, field, what) in [
        (given.parent_weights, &mut schema.parent_weights, "parent_weights"),
        (given.requires_grad, &mut schema.requires_grad, "requires_grad"),
        (given.stride, &mut schema.stride, "stride"),
        (given.is_quantized, &mut schema.is_quantized, "is_quantized"),
        (given.users, &mut schema.users, "users"),
        (given.unpack_output, &mut schema.unpack_output, "unpack_output"),
        (given.dtype_strings, &mut schema.strings.dtype, "dtype_strings"),
        (given.memory_format_strings, &mut schema.strings.memory_format, "memory_format_strings"),
        (given.qscheme_strings, &mut schema.strings.qscheme, "qscheme_strings"),
        (given.layout_strings, &mut schema.strings.layout, "layout_strings"),
    ] {
        match given {
            FXIR_AS_SCHEMA => {}
            FXIR_YES => *field = true,
            FXIR_NO => *field = false,
            other => return none_of(what, other, "FXIR_AS_SCHEMA, FXIR_YES, FXIR_NO"),
        }
    }
    Ok(schema)
}

fn none_of<T>(field: &str, number: i32, names: &str) -> Outcome<T> {
    let message = format!("`options.{field}` is {number}, none of {names}");
    Err(Failure::new(FXIR_INVALID_ARGUMENT, message))
}
