/* fxir: the torch.fx intermediate representation as a native library.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Made by cbindgen from src/capi: don't edit, run `make header`. */
#ifndef FXIR_H
#define FXIR_H


#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* How to read this header
 *
 * Pointers. A pointer is NULL or leads to what the function says; NULL where that is not allowed
 * gives FXIR_NULL_ARGUMENT. Texts are NUL-terminated UTF-8, also where a length comes with them.
 *
 * Statuses. Calls return FXIR_OK (0) or what went wrong. Each function lists the statuses of its
 * own; besides those, any call may give FXIR_NULL_ARGUMENT, FXIR_INVALID_HANDLE,
 * FXIR_NOT_FOUND (the module was removed from its tree), FXIR_INVALID_ARGUMENT (it has no graph),
 * FXIR_BUSY (only from inside a callback) and FXIR_PANIC (a defect of the library).
 *
 * Errors. The last parameter, `fxir_error **error`, may be NULL. A call that fails stores an error
 * there, which the caller frees; one that succeeds stores NULL. What was there before is never
 * looked at: free it first. A call that fails writes no other output, takes ownership of nothing,
 * and changes nothing.
 *
 * Getters. Functions that cannot fail but for a bad handle or node return the value itself, and
 * then 0 or NULL as documented.
 *
 * Handles. What is freed by `..._free` is a handle: never look inside. Freed, doubled, made-up
 * handles and those of another type are found out and give FXIR_INVALID_HANDLE. `..._free` takes
 * NULL. What a function hands out through a `**` is the caller's to free.
 *
 * Threads. Any thread may use any handle. Calls that only read a module run side by side.
 *
 * Callbacks. They return 0, or a code of their own that stops the call with FXIR_CALLBACK, and must
 * not throw or longjmp. The module that they are given is for reading, and dead when they return;
 * any other use of that module on that thread is FXIR_BUSY meanwhile, never a wait.
 */

/* DLPack's, as dlpack.h has them. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;


/// Major version of this header. Another major version may change anything.
#define FXIR_VERSION_MAJOR 0

/// Minor version of this header.
#define FXIR_VERSION_MINOR 1

/// Patch version of this header.
#define FXIR_VERSION_PATCH 0

/// The version of the binary interface, which is also that of the SONAME (`libfxir.so.1`).
#define FXIR_ABI_VERSION 1

/// No module.
#define FXIR_MODULE_NONE 0

/// It has a graph (torch's `GraphModule`).
#define FXIR_MODULE_GRAPH 1

/// A call of it is one operation, told by its type and attributes ("torch.nn.modules.conv.Conv2d").
#define FXIR_MODULE_LEAF 2

/// It only holds members.
#define FXIR_MODULE_HOLDER 3

/// There is no such member.
#define FXIR_MEMBER_NONE 0

/// A submodule.
#define FXIR_MEMBER_SUBMODULE 1

/// A tensor that is trained.
#define FXIR_MEMBER_PARAMETER 2

/// A tensor of state that is not trained.
#define FXIR_MEMBER_BUFFER 3

/// A tensor that is a plain attribute.
#define FXIR_MEMBER_CONSTANT 4

/// A setting, such as "kernel_size".
#define FXIR_MEMBER_VALUE 5

/// An input of the graph.
#define FXIR_OP_PLACEHOLDER 1

/// A member of the module, by dotted path.
#define FXIR_OP_GET_ATTR 2

/// A function, by qualified name.
#define FXIR_OP_CALL_FUNCTION 3

/// A method of the first argument, by name.
#define FXIR_OP_CALL_METHOD 4

/// A submodule, by dotted path.
#define FXIR_OP_CALL_MODULE 5

/// What the graph returns.
#define FXIR_OP_OUTPUT 6

/// Where an order stays legal: a placeholder after the placeholders in front, the output last,
/// everything else before the output.
#define FXIR_AT_DEFAULT 0

/// Right before the anchor.
#define FXIR_AT_BEFORE 1

/// Right after the anchor.
#define FXIR_AT_AFTER 2

/// `None`. An `fxir_arg` whose bytes are all zero is one.
#define FXIR_ARG_NONE 0

/// `True` or `False`: `integer` is 1 or 0.
#define FXIR_ARG_BOOL 1

/// An int: `integer`.
#define FXIR_ARG_INT 2

/// An int beyond 64 bits: `text`, in decimal digits.
#define FXIR_ARG_BIG_INT 3

/// A float: `real`.
#define FXIR_ARG_FLOAT 4

/// A complex number: `parts`, real and imaginary.
#define FXIR_ARG_COMPLEX 5

/// A string: `text`, of `count` bytes of UTF-8; NULs may be among them.
#define FXIR_ARG_STR 6

/// A byte string: `bytes`, of `count` bytes.
#define FXIR_ARG_BYTES 7

/// A dtype: `integer` is one of `FXIR_DTYPE_*`.
#define FXIR_ARG_DTYPE 8

/// A device: `text`, spelled "cpu" or "cuda:0".
#define FXIR_ARG_DEVICE 9

/// A layout: `text`, spelled "torch.strided".
#define FXIR_ARG_LAYOUT 10

/// A memory format: `text`, spelled "torch.contiguous_format".
#define FXIR_ARG_MEMORY_FORMAT 11

/// A quantization scheme: `text`, spelled "torch.per_tensor_affine".
#define FXIR_ARG_QSCHEME 12

/// `...`.
#define FXIR_ARG_ELLIPSIS 13

/// A symbolic int: `text`, as it was spelled.
#define FXIR_ARG_SYMINT 14

/// A list: `items`, `count` of them.
#define FXIR_ARG_LIST 15

/// A tuple: `items`, `count` of them.
#define FXIR_ARG_TUPLE 16

/// A dict of `count` entries: `items` holds twice as many, key and value in turn. No node may stand
/// in a key.
#define FXIR_ARG_DICT 17

/// A slice: `items` holds start, stop and step; `count` is 3.
#define FXIR_ARG_SLICE 18

/// A range: `integers` holds start, stop and step; `count` is 3.
#define FXIR_ARG_RANGE 19

/// What another node of the same graph yields: `node`.
#define FXIR_ARG_NODE 20

/// How deep lists, tuples, dicts and slices may nest; deeper is `FXIR_LIMIT`.
#define FXIR_MAX_ARGUMENT_DEPTH 64

/// How many items all lists, tuples, dicts and slices of one call may hold together; more is
/// `FXIR_LIMIT`.
#define FXIR_MAX_ARGUMENT_ITEMS 4194304

/// As what they are copies of, made unique: as torch.fx does it.
#define FXIR_COPY_NAMES_UNIQUE 0

/// Just as what they are copies of. A name that was given before, if only to a node that is gone now, is
/// refused with `FXIR_ALREADY_EXISTS`.
#define FXIR_COPY_NAMES_KEEP 1

/// The same after a prefix and "_", made unique.
#define FXIR_COPY_NAMES_PREFIXED 2

/// After their targets, as new nodes are.
#define FXIR_COPY_NAMES_BY_TARGET 3

/// `None`.
#define FXIR_VALUE_NONE 0

/// One tensor: `tensor`.
#define FXIR_VALUE_TENSOR 1

/// A list: `items`, `count` of them.
#define FXIR_VALUE_LIST 2

/// A tuple: `items`, `count` of them.
#define FXIR_VALUE_TUPLE 3

/// A dict: `items`, `count` of them, each with its `key`.
#define FXIR_VALUE_DICT 4

/// True or False: `integer` is 1 or 0.
#define FXIR_VALUE_BOOL 5

/// An int: `integer`.
#define FXIR_VALUE_INT 6

/// A float: `real`.
#define FXIR_VALUE_FLOAT 7

/// A symbolic number: `text`.
#define FXIR_VALUE_SYMBOLIC 8

/// No dtype.
#define FXIR_DTYPE_NONE 0

/// `torch.uint8`.
#define FXIR_DTYPE_UINT8 1

/// `torch.int8`.
#define FXIR_DTYPE_INT8 2

/// `torch.int16`.
#define FXIR_DTYPE_INT16 3

/// `torch.int32`.
#define FXIR_DTYPE_INT32 4

/// `torch.int64`.
#define FXIR_DTYPE_INT64 5

/// `torch.float16`.
#define FXIR_DTYPE_FLOAT16 6

/// `torch.float32`.
#define FXIR_DTYPE_FLOAT32 7

/// `torch.float64`.
#define FXIR_DTYPE_FLOAT64 8

/// `torch.complex32`.
#define FXIR_DTYPE_COMPLEX32 9

/// `torch.complex64`.
#define FXIR_DTYPE_COMPLEX64 10

/// `torch.complex128`.
#define FXIR_DTYPE_COMPLEX128 11

/// `torch.bool`.
#define FXIR_DTYPE_BOOL 12

/// `torch.qint8`.
#define FXIR_DTYPE_QINT8 13

/// `torch.quint8`.
#define FXIR_DTYPE_QUINT8 14

/// `torch.qint32`.
#define FXIR_DTYPE_QINT32 15

/// `torch.bfloat16`.
#define FXIR_DTYPE_BFLOAT16 16

/// `torch.quint4x2`.
#define FXIR_DTYPE_QUINT4X2 17

/// `torch.quint2x4`.
#define FXIR_DTYPE_QUINT2X4 18

/// `torch.bits1x8`.
#define FXIR_DTYPE_BITS1X8 19

/// `torch.bits2x4`.
#define FXIR_DTYPE_BITS2X4 20

/// `torch.bits4x2`.
#define FXIR_DTYPE_BITS4X2 21

/// `torch.bits8`.
#define FXIR_DTYPE_BITS8 22

/// `torch.bits16`.
#define FXIR_DTYPE_BITS16 23

/// `torch.float8_e5m2`.
#define FXIR_DTYPE_FLOAT8_E5M2 24

/// `torch.float8_e4m3fn`.
#define FXIR_DTYPE_FLOAT8_E4M3FN 25

/// `torch.float8_e5m2fnuz`.
#define FXIR_DTYPE_FLOAT8_E5M2FNUZ 26

/// `torch.float8_e4m3fnuz`.
#define FXIR_DTYPE_FLOAT8_E4M3FNUZ 27

/// `torch.uint16`.
#define FXIR_DTYPE_UINT16 28

/// `torch.uint32`.
#define FXIR_DTYPE_UINT32 29

/// `torch.uint64`.
#define FXIR_DTYPE_UINT64 30

/// `torch.uint1`.
#define FXIR_DTYPE_UINT1 31

/// `torch.uint2`.
#define FXIR_DTYPE_UINT2 32

/// `torch.uint3`.
#define FXIR_DTYPE_UINT3 33

/// `torch.uint4`.
#define FXIR_DTYPE_UINT4 34

/// `torch.uint5`.
#define FXIR_DTYPE_UINT5 35

/// `torch.uint6`.
#define FXIR_DTYPE_UINT6 36

/// `torch.uint7`.
#define FXIR_DTYPE_UINT7 37

/// `torch.int1`.
#define FXIR_DTYPE_INT1 38

/// `torch.int2`.
#define FXIR_DTYPE_INT2 39

/// `torch.int3`.
#define FXIR_DTYPE_INT3 40

/// `torch.int4`.
#define FXIR_DTYPE_INT4 41

/// `torch.int5`.
#define FXIR_DTYPE_INT5 42

/// `torch.int6`.
#define FXIR_DTYPE_INT6 43

/// `torch.int7`.
#define FXIR_DTYPE_INT7 44

/// `torch.float8_e8m0fnu`.
#define FXIR_DTYPE_FLOAT8_E8M0FNU 45

/// `torch.float4_e2m1fn_x2`.
#define FXIR_DTYPE_FLOAT4_E2M1FN_X2 46

/// `acc.uint8fused`.
#define FXIR_DTYPE_ACC_UINT8FUSED 128

/// `acc.uint4fused`.
#define FXIR_DTYPE_ACC_UINT4FUSED 129

/// Two calls of modules are alike when the types of the modules are the same.
#define FXIR_MATCH_MODULES_BY_TYPE 0

/// Two calls of modules are alike when their paths are the same, as in torch 2.
#define FXIR_MATCH_MODULES_BY_TARGET 1

/// Two calls of modules are alike when types and all settings that are no tensors are the same.
#define FXIR_MATCH_MODULES_BY_TYPE_AND_SETTINGS 2

/// Two reads of tensors are alike whatever the tensors are; the graph's is the one that stays.
#define FXIR_MATCH_ATTRIBUTES_BY_KIND 0

/// Two reads of tensors are alike when the tensors have the same dtype, shape and elements.
#define FXIR_MATCH_ATTRIBUTES_BY_VALUE 1

/// The module's own member is used, as in torch.fx.
#define FXIR_MEMBERS_KEEP 0

/// The replacement's member gets a name that is free: "act_1".
#define FXIR_MEMBERS_RENAME 1

/// The rewrite is refused with `FXIR_ALREADY_EXISTS`.
#define FXIR_MEMBERS_REFUSE 2

/// A name that is taken gets a number: "fused_1".
#define FXIR_TAKEN_NAME_NUMBERED 0

/// A name that is taken is `FXIR_ALREADY_EXISTS`.
#define FXIR_TAKEN_NAME_REFUSED 1

/// Inputs stand in the order in which the region first uses them, as torch.fx has it.
#define FXIR_INPUTS_BY_FIRST_USE 0

/// Inputs stand in the order of the graph.
#define FXIR_INPUTS_BY_GRAPH 1

/// Each tensor counts in its own dtype.
#define FXIR_SIZE_IN_OWN_DTYPE 0

/// As torch.fx counts: parameters as if they had the dtype of the node's output, and every element
/// whole bytes.
#define FXIR_SIZE_IN_DTYPE_OF_OUTPUT 1

/// The six types of torch.nn that torch 1.12 knows, each with what that takes of it.
#define FXIR_LOWERING_TORCH_1_12 0

/// The leaf modules of torch.nn and its quantized ones, tensors and settings.
#define FXIR_LOWERING_TORCH_NN 1

/// No type: of every module everything is told.
#define FXIR_LOWERING_NOTHING 2

/// A dump before a pass.
#define FXIR_PASS_BEFORE 0

/// A dump after a pass.
#define FXIR_PASS_AFTER 1

/// Arguments are passed by keyword. By position stays what has no keyword: what a method is called
/// on, `*args` and what comes before, a parameter called `from`.
#define FXIR_FORM_KEYWORD 0

/// Arguments are passed by position, up to the first parameter that gets nothing; what comes behind it
/// by keyword.
#define FXIR_FORM_POSITIONAL 1

/// Arguments that the parameter does not get by itself are added: all stand.
#define FXIR_DEFAULTS_FILL_IN 0

/// Arguments that are what the parameter gets anyhow stay where they are.
#define FXIR_DEFAULTS_KEEP 1

/// Arguments that are what the parameter gets anyhow are left out.
#define FXIR_DEFAULTS_LEAVE_OUT 2

/// The form that torch 1.12 gave.
#define FXIR_SCHEMA_TORCH_1_12 0

/// That of torch 1.10 and 1.11: all parameters and buffers are among the weights, and come first.
#define FXIR_SCHEMA_TORCH_1_10 1

/// That of torch 1.9: no requires_grad and no users, and of torch's values only dtypes are strings.
#define FXIR_SCHEMA_TORCH_1_9 2

/// A form before 1.9: as 1.9, but without strides.
#define FXIR_SCHEMA_IS_QUANTIZED 3

/// A form behind 1.8: as 1.8, but what is returned is told in the arguments of the output.
#define FXIR_SCHEMA_OUTPUT_ARGS 4

/// That of torch 1.8: parameters come first, nodes tell shape and dtype alone, the output node too,
/// several outputs are one argument, and scales stand in the file as numbers.
#define FXIR_SCHEMA_TORCH_1_8 5

/// Whether something is told or done is the schema's to say.
#define FXIR_AS_SCHEMA 0

/// It is, whatever the schema says.
#define FXIR_YES 1

/// It is not, whatever the schema says.
#define FXIR_NO 2

/// `weights` begin with nothing: they come as nodes need them.
#define FXIR_WEIGHTS_FIRST_NOTHING 1

/// `weights` begin with all parameters.
#define FXIR_WEIGHTS_FIRST_PARAMETERS 2

/// `weights` begin with all parameters, then all buffers.
#define FXIR_WEIGHTS_FIRST_PARAMETERS_AND_BUFFERS 3

/// `weights` begin with all buffers, then all parameters.
#define FXIR_WEIGHTS_FIRST_BUFFERS_AND_PARAMETERS 4

/// The output node tells what the graph returns.
#define FXIR_OUTPUT_INFO_NODE 1

/// The nodes in the arguments of the output tell it.
#define FXIR_OUTPUT_INFO_ARGS 2

/// Weights have an object `quantized_type`, with scales per channel as numbers.
#define FXIR_WEIGHT_QUANTIZATION_TYPE 1

/// Weights tell it among their keys; scales per channel are weights themselves.
#define FXIR_WEIGHT_QUANTIZATION_WEIGHTS 2

/// The code: torch.fx's `GraphModule.code`. Reads back.
#define FXIR_TEXT_CODE 0

/// Classes with what is known of each node and where it comes from: `GraphModule.print_readable`.
/// Reads back.
#define FXIR_TEXT_READABLE 1

/// As FXIR_TEXT_READABLE, the one function without classes: `Graph.python_code` when verbose. Reads
/// back.
#define FXIR_TEXT_VERBOSE_CODE 2

/// One line a node, with users counted: `str(Graph)`.
#define FXIR_TEXT_GRAPH 3

/// A table: `Graph.print_tabular`.
#define FXIR_TEXT_TABULAR 4

/// Arguments as they were when they were asked for: positional ones, keyword ones, or the one value
/// of an attribute or an entry of meta. Nothing that is edited later changes it. Freed with
/// `fxir_args_free`; everything that is read out of it lives until then.
typedef struct fxir_args fxir_args;

/// Bytes that a call made for the caller: JSON, a table, code. Freed with `fxir_buffer_free`.
typedef struct fxir_buffer fxir_buffer;

/// Why a call failed. A call that fails stores one into `*error` when `error` is not NULL; whoever
/// gets it frees it with `fxir_error_free`. It does not change, and any thread may read it.
typedef struct fxir_error fxir_error;

/// Lists of attributes by type of leaf module. Freed with `fxir_lowering_attrs_free`. Any thread may
/// use one while another adds to it.
typedef struct fxir_lowering_attrs fxir_lowering_attrs;

/// The matches of one pattern in one graph, as they were when they were found: for each node of the
/// pattern the node of the graph that it met, with its name and op, or the argument that a
/// placeholder took. Once a match was replaced, the nodes that it met are gone, and their numbers
/// stale; what placeholders met is live. Freed with `fxir_matches_free`; everything that is read out
/// of it lives until then.
typedef struct fxir_matches fxir_matches;

/// A module: a graph with its submodules, parameters and buffers, or a leaf that only its backend
/// knows. A module with everything below it is one tree, and a handle may stand for any module of
/// it; every handle keeps the whole tree alive and is freed with `fxir_module_free`.
///
/// Any thread may use any handle. Calls that only read a tree run side by side, a call that changes
/// it waits until it is alone.
typedef struct fxir_module fxir_module;

/// Which nodes became which nodes of another graph, or of their own, as a call that copied or merged
/// them left it. Freed with `fxir_node_map_free`.
typedef struct fxir_node_map fxir_node_map;

/// Passes that are run one after the other. Freed with `fxir_pass_manager_free`. Several threads may
/// run one manager at once, also while passes are added; its functions are called on the threads that
/// run it.
typedef struct fxir_pass_manager fxir_pass_manager;

/// All runs of passes, in the order in which they were. Freed with `fxir_pass_report_free`;
/// everything that is read out of it lives until then.
typedef struct fxir_pass_report fxir_pass_report;

/// Patterns, each with what takes its place: rules that are applied together. It holds copies of
/// patterns and replacements as they were when they were added. Freed with `fxir_pattern_set_free`.
/// Several threads may apply one set at once, also while rules are added; its callbacks are called
/// on the threads that apply it.
typedef struct fxir_pattern_set fxir_pattern_set;

/// A tensor: metadata, and bytes that it shares with whoever else uses them. It does not change, and
/// any thread may read it. Freed with `fxir_tensor_free`.
typedef struct fxir_tensor fxir_tensor;

/// Records operations as nodes of a module in the making. Made by `fxir_trace` for a function and
/// for each rewrite, and dead when that returns: it is never freed.
typedef struct fxir_tracer fxir_tracer;

/// What a node yielded when it was asked. Nothing that is edited later changes it. Freed with
/// `fxir_values_free`; everything that is read out of it lives until then.
typedef struct fxir_values fxir_values;

/// Tensors by name, in an order: what a safetensors file holds, or what a call gives out. Any thread
/// may use it. Freed with `fxir_weights_free`; the tensors share their bytes and outlive it.
typedef struct fxir_weights fxir_weights;

/// Writes a safetensors file of which the bytes are never in memory together: all tensors are
/// announced, then their bytes come, in pieces of any size. One thread at a time may use it. Freed with
/// `fxir_weights_writer_free`.
typedef struct fxir_weights_writer fxir_weights_writer;

/// How a call ended. `FXIR_OK` is 0; every other value is a failure. Numbers are never renumbered,
/// and later versions may add some: treat one you do not know as a failure.
typedef int32_t fxir_status;

/// A node of a graph; 0 is none. A number, not a pointer: copy it, compare it, keep it. Once the
/// node is erased, and in any other graph, the number is refused with `FXIR_STALE_NODE`. It means
/// nothing in another process: in files use names.
typedef uint64_t fxir_node;

/// The value of an argument; `kind` of the argument says which member holds it.
typedef union fxir_arg_value {
    /// Of a bool, int or dtype.
    int64_t integer;
    /// Of a float.
    double real;
    /// Of a complex number: real and imaginary part.
    double parts[2];
    /// Of a node.
    fxir_node node;
    /// Of what is spelled. Need not be NUL-terminated when given; is when read.
    const char *text;
    /// Of a byte string.
    const uint8_t *bytes;
    /// Of a list, tuple, dict or slice.
    const struct fxir_arg *items;
    /// Of a range.
    const int64_t *integers;
} fxir_arg_value;

/// One argument: whatever torch.fx allows in `args` and `kwargs`. The functions `fxir_arg_int`,
/// `fxir_arg_list`, ... below make them. Calls copy what they are given, so arguments may live on
/// the stack.
typedef struct fxir_arg {
    /// One of `FXIR_ARG_*`.
    uint32_t kind;
    /// Must be 0.
    uint32_t flags;
    /// The length of a text in bytes, the number of items; 0 for the other kinds.
    size_t count;
    /// What `kind` says.
    union fxir_arg_value value;
} fxir_arg;

/// One keyword argument.
typedef struct fxir_kwarg {
    /// Its name, NUL-terminated.
    const char *name;
    /// What is passed under that name.
    struct fxir_arg value;
} fxir_kwarg;

/// Decides on a node: stores 1 into `*verdict` to say yes, 0 to say no; it is 1 before the call.
/// Returns 0, or a code of its own that stops the whole call with `FXIR_CALLBACK`.
///
/// `module` is a view for reading only, and dead once the callback returns; any other use of that
/// module on this thread is `FXIR_BUSY` meanwhile. Must not throw or longjmp.
typedef int32_t (*fxir_node_filter)(void *user_data,
                                    const struct fxir_module *module,
                                    fxir_node node,
                                    int32_t *verdict);

/// How copies are made. Make one with `fxir_copy_options_init`.
typedef struct fxir_copy_options {
    /// `sizeof(fxir_copy_options)`, set by `fxir_copy_options_init`.
    size_t struct_size;
    /// How copies are called: one of FXIR_COPY_NAMES_*.
    int32_t names;
    /// Must be 0.
    int32_t reserved;
    /// For FXIR_COPY_NAMES_PREFIXED, and else NULL.
    const char *prefix;
} fxir_copy_options;

/// A node and what stands for it elsewhere.
typedef struct fxir_node_pair {
    /// The node that was copied, or that is gone.
    fxir_node from;
    /// What stands for it.
    fxir_node to;
} fxir_node_pair;

/// How the elements of a quantized tensor stand for real numbers.
typedef struct fxir_quantization {
    /// "torch.per_tensor_affine", "torch.per_channel_affine" and the like.
    const char *qscheme;
    /// 1 when each index along `axis` has a scale and zero point of its own, else 0.
    int32_t is_per_channel;
    /// Whether `axis` is known: 1 or 0.
    int32_t has_axis;
    /// For the whole tensor: the real step between two neighbouring integers.
    double scale;
    /// For the whole tensor: the integer that stands for 0.
    int64_t zero_point;
    /// By channel: the dimension whose indexes are the channels.
    int64_t axis;
    /// By channel: one scale a channel; NULL when they are not known.
    const struct fxir_tensor *scales;
    /// By channel: one zero point a channel; NULL when they are not known.
    const struct fxir_tensor *zero_points;
} fxir_quantization;

/// What is known of a tensor without its bytes. `fxir_tensor_meta_init` makes one in which nothing
/// is known; torch's `TensorMetadata`.
typedef struct fxir_tensor_meta {
    /// `sizeof(fxir_tensor_meta)`, set by `fxir_tensor_meta_init`.
    size_t struct_size;
    /// The element type, one of FXIR_DTYPE_*.
    int32_t dtype;
    /// 1 or 0; -1 when it is not known.
    int32_t requires_grad;
    /// How many dimensions.
    size_t rank;
    /// `rank` sizes; -1 stands for one that is symbolic. NULL when `rank` is 0.
    const int64_t *shape;
    /// `rank` strides, in elements; -1 stands for one that is symbolic. NULL when they are not known.
    const int64_t *stride;
    /// `rank` texts: how a symbolic size is spelled, NULL for one that is a number. NULL when no size
    /// is symbolic.
    const char *const *symbolic_shape;
    /// The same for strides.
    const char *const *symbolic_stride;
    /// "torch.contiguous_format" and the like; NULL when it is not known.
    const char *memory_format;
    /// "cpu", "cuda:0"; NULL when it is not known.
    const char *device;
    /// How integers stand for real numbers; NULL when they do not.
    const struct fxir_quantization *quantization;
} fxir_tensor_meta;

/// The content of a value; `kind` of the value says which member holds it.
typedef union fxir_value_content {
    /// Of a tensor.
    const struct fxir_tensor_meta *tensor;
    /// Of a list, tuple or dict.
    const struct fxir_value *items;
    /// Of a bool or int.
    int64_t integer;
    /// Of a float.
    double real;
    /// Of a symbolic number.
    const char *text;
} fxir_value_content;

/// What a node yields, as far as it is known.
typedef struct fxir_value {
    /// One of FXIR_VALUE_*.
    uint32_t kind;
    /// Must be 0.
    uint32_t flags;
    /// The number of items; 0 for the other kinds.
    size_t count;
    /// Its key, when it is an entry of a dict; else NULL.
    const char *key;
    /// What `kind` says.
    union fxir_value_content content;
} fxir_value;

/// The function that is traced. It gets one node an input, records what it computes through the
/// tracer, and says what it returns with `fxir_tracer_output`; without that it returns None. Returns
/// 0, or a code of its own that stops the call with `FXIR_CALLBACK`. Must not throw or longjmp.
typedef int32_t (*fxir_trace_function)(void *user_data,
                                       struct fxir_tracer *tracer,
                                       const fxir_node *inputs,
                                       size_t inputs_count);

/// One operation on its way to becoming a node. All of it lives until the rewrite that sees it
/// returns.
typedef struct fxir_operation {
    /// What it does: one of FXIR_OP_*.
    int32_t op;
    /// 0.
    uint32_t reserved;
    /// What it calls or gets.
    const char *target;
    /// Positional arguments, `args_count` of them.
    const struct fxir_arg *args;
    /// How many positional arguments.
    size_t args_count;
    /// Keyword arguments, `kwargs_count` of them.
    const struct fxir_kwarg *kwargs;
    /// How many keyword arguments.
    size_t kwargs_count;
} fxir_operation;

/// Sees an operation before it becomes a node. Stores into `*node` the node that stands for it: one
/// that was there before, or one that it records through `tracer`, whose operations pass through the
/// rewrites that follow this one. `*node` is 0 before the call, and left so the operation goes on to
/// the next rewrite, and in the end becomes a node. Returns 0, or a code of its own that stops the
/// call with `FXIR_CALLBACK`. Must not throw or longjmp.
typedef int32_t (*fxir_trace_rewrite_function)(void *user_data,
                                               struct fxir_tracer *tracer,
                                               const struct fxir_operation *operation,
                                               fxir_node *node);

/// A rewrite and what is passed to it.
typedef struct fxir_trace_rewrite {
    /// Sees each operation.
    fxir_trace_rewrite_function function;
    /// Passed to `function`.
    void *user_data;
} fxir_trace_rewrite;

/// What of a text is traced, and how far down. Make one with `fxir_trace_options_init`.
typedef struct fxir_trace_options {
    /// `sizeof(fxir_trace_options)`, set by `fxir_trace_options_init`.
    size_t struct_size;
    /// The function or class to trace; NULL for the last class that has a `forward`, else the last
    /// function.
    const char *entry;
    /// Functions and classes of the text whose calls stay calls, by their names: they need not be
    /// `wrap`ped in the text. Their code is not looked into.
    const char *const *autowrap_functions;
    /// How many they are.
    size_t autowrap_functions_count;
    /// 1: all functions and classes of the text but the one that is traced.
    int32_t autowrap_all;
    /// 1: what `members` does not hold is taken for a leaf module of the type "torch.nn.Module" where it
    /// is called, and for the value None where it is read, as it is without `members`. 0: it is an error.
    int32_t more_members;
    /// 1: a name that nothing in the text defines is a function, one of the backend's own for instance
    /// (`accel.fused(x)`), whose calls are recorded. 0: it is an error.
    int32_t more_functions;
    /// Must be 0.
    int32_t reserved;
} fxir_trace_options;

/// Decides on a match: stores 1 into `*verdict` to keep it, 0 to reject it; it is 1 before the call.
/// A match that is rejected claims no nodes, so that others may overlap it. Returns 0, or a code of
/// its own that stops the whole call with `FXIR_CALLBACK`.
///
/// `matches` holds the one match, at index 0, and is dead once the callback returns. `module` is a
/// view for reading only, and dead then too; any other use of that module on this thread is
/// `FXIR_BUSY` meanwhile. Must not throw or longjmp.
typedef int32_t (*fxir_match_filter)(void *user_data,
                                     const struct fxir_module *module,
                                     const struct fxir_matches *matches,
                                     int32_t *verdict);

/// Decides whether `node` of the module does what `pattern_node` of the pattern does, arguments left
/// aside: stores 1 or 0 into `*verdict`, which holds the library's own verdict before the call. Asked
/// of all nodes that the search comes to, but placeholders that anything meets, and outputs; perhaps
/// more than once of the same two. Returns 0, or a code of its own that stops the whole call with
/// `FXIR_CALLBACK`.
///
/// `module` is a view as filters get it. Must not throw or longjmp. torch.fx:
/// `SubgraphMatcher._nodes_are_equal`.
typedef int32_t (*fxir_match_nodes)(void *user_data,
                                    const struct fxir_module *module,
                                    fxir_node node,
                                    fxir_node pattern_node,
                                    int32_t *verdict);

/// Decides whether an argument without nodes meets one of the pattern: stores 1 or 0 into `*verdict`,
/// which holds the library's own verdict before the call. Returns 0, or a code of its own that stops
/// the whole call with `FXIR_CALLBACK`. Both literals are dead once it returns. Must not throw or
/// longjmp. torch.fx: `SubgraphMatcher._match_literals`.
typedef int32_t (*fxir_match_literals)(void *user_data,
                                       const struct fxir_arg *literal,
                                       const struct fxir_arg *pattern_literal,
                                       int32_t *verdict);

/// How a pattern is compared with a graph. Make one with `fxir_match_options_init`; torch's options
/// of these names.
typedef struct fxir_match_options {
    /// `sizeof(fxir_match_options)`, set by `fxir_match_options_init`.
    size_t struct_size;
    /// 1: the pattern's output must be the graph's. A rewrite takes 0 only.
    int32_t match_output;
    /// 1: a placeholder of the pattern is met by a placeholder only, not by anything.
    int32_t match_placeholder;
    /// 1: keep matches that share a node; by default only the first is kept. A rewrite takes 0 only.
    int32_t keep_overlapping_matches;
    /// 1: a literal is met by any literal, though never by a node.
    int32_t ignore_literals;
    /// What makes two calls of modules alike: one of FXIR_MATCH_MODULES_*.
    int32_t modules;
    /// What makes two reads of attributes alike: one of FXIR_MATCH_ATTRIBUTES_*.
    int32_t attributes;
    /// Decides on each match; NULL keeps all.
    fxir_match_filter filter;
    /// Passed to `filter`.
    void *filter_data;
    /// 1: calls of different forms, `sum(x, 1)` and `sum(x, dim=1)`, are compared by the signatures of
    /// functions, methods and modules; those of `torch.ops` always are, by their schemas.
    int32_t normalize_args;
    /// 1: the pattern's output ends in a dict from names to nodes, which is no output: it says what
    /// `fxir_matches_pattern_node` is to call nodes. torch.fx: `SubgraphMatcherWithNameNodeMap`.
    int32_t name_node_map;
    /// Decides whether a node does what a node of the pattern does; NULL: the library does.
    fxir_match_nodes nodes_are_equal;
    /// Passed to `nodes_are_equal`.
    void *nodes_data;
    /// Decides whether a literal meets one of the pattern; NULL: the library does.
    fxir_match_literals literals_are_equal;
    /// Passed to `literals_are_equal`.
    void *literals_data;
} fxir_match_options;

/// Gives what is to take the place of a match: stores a module into `*replacement`, which is NULL
/// before the call. NULL leaves the match as it is. The library takes the handle over and frees it;
/// `fxir_module_retain` makes one of a module that the caller keeps. Returns 0, or a code of its own
/// that stops the whole call with `FXIR_CALLBACK`; then `*replacement` is not looked at.
///
/// Asked about each match, in order, once all are found; `module` and `matches` are as filters get
/// them. Must not throw or longjmp. torch.fx: `replacement_callback`.
typedef int32_t (*fxir_build_replacement)(void *user_data,
                                          const struct fxir_module *module,
                                          const struct fxir_matches *matches,
                                          struct fxir_module **replacement);

/// Tells what is known of a node of a replacement, by `fxir_node_set_...` on `replacement`: a copy of
/// the replacement for one match, whose placeholders know what the nodes know that they stand for.
/// Nodes are asked about in order, so that what a node uses was told before. Returns 0, or a code of
/// its own that stops the whole call with `FXIR_CALLBACK`. `replacement` is the library's, and dead
/// once the call that rewrites has returned. Must not throw or longjmp.
typedef int32_t (*fxir_fill_in_meta)(void *user_data,
                                     struct fxir_module *replacement,
                                     fxir_node node);

/// A function that tells what the nodes of one target yield, in replacements.
typedef struct fxir_meta_function {
    /// What the nodes call: "torch.add". Read during the call that it is given to.
    const char *target;
    /// Called for each such node.
    fxir_fill_in_meta function;
    /// Passed to `function`.
    void *user_data;
} fxir_meta_function;

/// What takes the place of a pattern, and how. Make one with `fxir_rewrite_options_init`.
typedef struct fxir_rewrite_options {
    /// `sizeof(fxir_rewrite_options)`, set by `fxir_rewrite_options_init`.
    size_t struct_size;
    /// How the pattern is compared; NULL for the defaults.
    const struct fxir_match_options *match_options;
    /// What takes the place of every match; NULL: `build` is asked. Just one of the two is given.
    const struct fxir_module *replacement;
    /// Gives what takes the place of each match.
    fxir_build_replacement build;
    /// Passed to `build`.
    void *build_data;
    /// What becomes of a member that a replacement brings when the module has another of its name:
    /// one of FXIR_MEMBERS_*. A member that is the same, a copy of one module or a tensor in the same
    /// place, is no other.
    int32_t members;
    /// Must be 0.
    int32_t reserved;
    /// Tell what nodes of the replacement yield; NULL when there are none. Several of one target are
    /// called one after the other.
    const struct fxir_meta_function *meta_functions;
    /// How many there are.
    size_t meta_function_count;
} fxir_rewrite_options;

/// Gives back what a rule's callbacks are passed: called exactly once, with no lock held, on any
/// thread, when the set was freed and no call uses the rule any more.
typedef void (*fxir_destroy)(void *user_data);

/// How nodes are fused. Make one with `fxir_fuse_options_init`.
typedef struct fxir_fuse_options {
    /// `sizeof(fxir_fuse_options)`, set by `fxir_fuse_options_init`.
    size_t struct_size;
    /// The order of the inputs: one of FXIR_INPUTS_*.
    int32_t inputs;
    /// 1: a single output is returned in a tuple too, and taken out of it by a getitem.
    int32_t always_return_tuple;
    /// What happens when the name is taken: one of FXIR_TAKEN_NAME_*.
    int32_t taken_name;
    /// Must be 0.
    int32_t reserved;
    /// The type name of the new module; NULL for its own name, as in torch.
    const char *class_name;
} fxir_fuse_options;

/// What counts as dead. Make one with `fxir_dead_code_options_init`.
typedef struct fxir_dead_code_options {
    /// `sizeof(fxir_dead_code_options)`, set by `fxir_dead_code_options_init`.
    size_t struct_size;
    /// 1: random operators may go; by default they stay, as without them the others would draw other
    /// numbers. Means nothing beside an `is_impure`.
    int32_t random_is_pure;
    /// Must be 0.
    int32_t reserved;
    /// Decides alone which nodes are impure, and so stay though nothing uses them: its verdict is 1
    /// for an impure node. Asked about unused nodes only, each once; placeholders and the output stay
    /// without a question. NULL: the library decides, as `fxir_node_is_impure` does.
    fxir_node_filter is_impure;
    /// Passed to `is_impure`.
    void *is_impure_data;
} fxir_dead_code_options;

/// What has to stay though it is there twice. Make one with `fxir_cse_options_init`.
typedef struct fxir_cse_options {
    /// `sizeof(fxir_cse_options)`, set by `fxir_cse_options_init`.
    size_t struct_size;
    /// Targets whose nodes all stay, `banned_count` strings, none of them NULL; a name that begins with
    /// `torch.ops.` stands for all below it, so that an operator stands for its overloads. NULL when
    /// there are none. torch.fx: what `get_CSE_banned_ops` gives.
    const char *const *banned;
    /// How many.
    size_t banned_count;
    /// Decides alone which nodes do anything besides yielding a value, and so stay: its verdict is 1 for
    /// an impure node. What such a node does is what the library knows of it; where the library knows
    /// nothing, it may write into its arguments. Asked about all nodes but placeholders and the output,
    /// in their order, each once. NULL: the library decides, as `fxir_node_is_impure` does.
    fxir_node_filter is_impure;
    /// Passed to `is_impure`.
    void *is_impure_data;
} fxir_cse_options;

/// What is counted, and how. Make one with `fxir_size_options_init`.
typedef struct fxir_size_options {
    /// `sizeof(fxir_size_options)`, set by `fxir_size_options_init`.
    size_t struct_size;
    /// One of FXIR_SIZE_IN_*.
    int32_t counting;
    /// 1: a parameter that several nodes have counts at the first of them only; 0: at each, as in
    /// torch.
    int32_t shared_once;
    /// Symbolic sizes as they are spelled, `s0` and `2*s0` each for itself; may be NULL when there are
    /// none.
    const char *const *symbols;
    /// What they are, in the same order.
    const int64_t *symbol_sizes;
    /// How many.
    size_t symbol_count;
} fxir_size_options;

/// How many bytes a node takes. torch.fx: `size_bytes`.
typedef struct fxir_node_size {
    /// The node.
    fxir_node node;
    /// What it yields, all tensors of a tuple or list together.
    uint64_t output_bytes;
    /// The same and the parameters of the module that it calls.
    uint64_t total_bytes;
} fxir_node_size;

/// One run of one pass.
typedef struct fxir_pass_run {
    /// The name of the pass.
    const char *name;
    /// Its place among the manager's passes, from 0.
    size_t index;
    /// Which round over all passes it was, from 0.
    size_t step;
    /// How many nodes the module's own graph had before.
    size_t nodes_before;
    /// And after.
    size_t nodes_after;
    /// What the pass itself took, without lint, dumps and comparing.
    uint64_t nanoseconds;
    /// 1: something is not as it was before, be it an id; 0: nothing changed. torch.fx:
    /// `PassResult.modified`.
    int32_t modified;
    /// Always 0.
    int32_t reserved;
    /// What lint found after the pass, when `suppress_check_failures` let it go on; else NULL.
    const char *check_failure;
} fxir_pass_run;

/// Sees the module before and after each pass. `when` is FXIR_PASS_BEFORE or FXIR_PASS_AFTER; `run`
/// tells which pass it is and, after it, what it did; what lint says comes later. Returns 0, or a code of
/// its own that stops the run with `FXIR_CALLBACK`.
///
/// `module` is a view for reading only; it and `run` are dead once the callback returns. Must not throw
/// or longjmp.
typedef int32_t (*fxir_dump_pass)(void *user_data,
                                  int32_t when,
                                  const struct fxir_module *module,
                                  const struct fxir_pass_run *run);

/// How passes are run. Make one with `fxir_pass_options_init`.
typedef struct fxir_pass_options {
    /// `sizeof(fxir_pass_options)`, set by `fxir_pass_options_init`.
    size_t struct_size;
    /// How often all passes are run at most: the run ends when none of them changes anything.
    /// Default: 1.
    size_t steps;
    /// 1: after each pass the module and all below it are checked, as `fxir_module_lint` does. Default: 0.
    int32_t run_checks_after_each_pass;
    /// 1: what such a check finds does not stop the run; it stands in the report. Default: 0.
    int32_t suppress_check_failures;
    /// Called before and after each pass; NULL for no dumps.
    fxir_dump_pass dump;
    /// Passed to `dump`.
    void *dump_data;
} fxir_pass_options;

/// A pass of the caller's: changes `module` as it likes, and returns 0, or a code of its own that
/// stops the run with `FXIR_CALLBACK`. It need not say whether it changed anything: that is seen.
///
/// `module` stands for the one that the passes are run on, but is the copy that they work on: all
/// calls may be made on it, and nodes have the ids that they have in the module. It is the library's
/// and dead once the function returns; handles that were made of it keep what was then, and what is
/// changed through them is lost. Any use of the module that the passes are run on is FXIR_BUSY on this
/// thread meanwhile. Must not throw or longjmp. torch.fx: what is given to `PassManager.add_pass`.
typedef int32_t (*fxir_pass_function)(void *user_data, struct fxir_module *module);

/// What calls become. Initialize it with `fxir_normalize_options_init`.
typedef struct fxir_normalize_options {
    /// The size of this struct.
    size_t struct_size;
    /// How arguments are passed: FXIR_FORM_*. Default: by keyword.
    int32_t form;
    /// What becomes of defaults: FXIR_DEFAULTS_*. Default: filled in.
    int32_t defaults;
    /// 1: the keyword for the parameter `self` of a `torch.ops` operator is `input`, as torch.fx
    /// has it. Such calls can be read and normalized again; torch would not run them. Default: 0.
    int32_t input_for_self;
    /// 1: a call of something that is not known, or that does not fit, is an error. Default: 0, it
    /// stays as it is.
    int32_t strict;
} fxir_normalize_options;

/// How many calls of a graph there were.
typedef struct fxir_normalized {
    /// Brought into another form.
    size_t changed;
    /// Of that form before.
    size_t kept;
    /// Left alone: nothing is known of what they call.
    size_t unknown;
    /// Left alone: they do not fit what they call, or fit several overloads.
    size_t misfits;
} fxir_normalized;

/// How a module is serialized. Make one with `fxir_serialize_options_init`. A field of which it is
/// said that it overrides the schema has FXIR_AS_SCHEMA to leave it as it is; without a word on
/// values, it has FXIR_YES or FXIR_NO.
typedef struct fxir_serialize_options {
    /// `sizeof(fxir_serialize_options)`, set by `fxir_serialize_options_init`.
    size_t struct_size;
    /// Spaces a level, one line an entry, as Python's `json.dumps(indent=...)`; 0: one line, no
    /// spaces. At most 64.
    int32_t indent;
    /// 1: nodes of which it is not known what they yield are written without metadata; 0: such a node
    /// is an error, as in torch.
    int32_t allow_missing_meta;
    /// The form that is written: one of FXIR_SCHEMA_*.
    int32_t schema;
    /// Overrides the schema: one of FXIR_WEIGHTS_FIRST_*.
    int32_t weights_first;
    /// Overrides the schema: one of FXIR_WEIGHT_QUANTIZATION_*.
    int32_t weight_quantization;
    /// Overrides the schema: whether a constant of the module above is among the weights of the module
    /// that reads it.
    int32_t parent_weights;
    /// Overrides the schema: whether `requires_grad` is told.
    int32_t requires_grad;
    /// Overrides the schema: whether `stride` is told.
    int32_t stride;
    /// Overrides the schema: whether nodes tell `is_quantized` and how.
    int32_t is_quantized;
    /// Overrides the schema: whether nodes tell their `users`.
    int32_t users;
    /// Overrides the schema: one of FXIR_OUTPUT_INFO_*.
    int32_t output_info;
    /// Overrides the schema: whether several outputs are the arguments of the output, not one list in
    /// them.
    int32_t unpack_output;
    /// Overrides the schema: whether dtypes are strings.
    int32_t dtype_strings;
    /// Overrides the schema: whether memory formats are strings.
    int32_t memory_format_strings;
    /// Overrides the schema: whether quantization schemes are strings.
    int32_t qscheme_strings;
    /// Overrides the schema: whether layouts are strings.
    int32_t layout_strings;
    /// 1: a leaf module of a type without a list is an error, as in torch; 0: everything in it is told.
    int32_t strict_lowering;
    /// What is told of leaf modules; NULL: as FXIR_LOWERING_TORCH_1_12. Read during the call only.
    const struct fxir_lowering_attrs *lowering;
} fxir_serialize_options;

/// Takes the next `length` bytes of an output; they live until it returns. Returns 0, or a code of
/// its own that stops the whole call with `FXIR_CALLBACK`. What it was given before stays given. It
/// may use the library freely. Must not throw or longjmp.
typedef int32_t (*fxir_write)(void *user_data, const void *data, size_t length);

/// Takes borrowed memory back. Called exactly once, after the last tensor that uses the memory is
/// gone, with no lock held, on whatever thread that happens; it may call the library. Never called
/// when the call that was to borrow failed. Must not throw or longjmp.
typedef void (*fxir_release)(void *user_data, const void *data);

/// What readable text tells besides dtype and sizes, where it is known.
typedef struct fxir_text_options {
    /// `sizeof(fxir_text_options)`, set by `fxir_text_options_init`.
    size_t struct_size;
    /// 1: strides, `"f32[2, 3][3, 1]"`.
    int32_t include_stride;
    /// 1: devices, `"f32[2, 3]cpu"`.
    int32_t include_device;
} fxir_text_options;

/// The call did what it says.
#define FXIR_OK 0

/// A pointer that may not be NULL was NULL.
#define FXIR_NULL_ARGUMENT 1

/// An argument makes no sense, alone or together with the others.
#define FXIR_INVALID_ARGUMENT 2

/// A handle was freed, is of another type, or was never one.
#define FXIR_INVALID_HANDLE 3

/// A string is not UTF-8.
#define FXIR_INVALID_UTF8 4

/// An index is beyond the end.
#define FXIR_OUT_OF_RANGE 5

/// A name, path or key leads nowhere.
#define FXIR_NOT_FOUND 6

/// A name is taken.
#define FXIR_ALREADY_EXISTS 7

/// A node was erased, or belongs to another graph.
#define FXIR_STALE_NODE 8

/// A node still has users.
#define FXIR_IN_USE 9

/// The module is in use by a call of this thread that has not returned, or has other handles.
#define FXIR_BUSY 10

/// A file or text is not what it should be; the error says at which line and column.
#define FXIR_PARSE 11

/// The operating system refused.
#define FXIR_IO 12

/// The graph breaks a rule of the IR; the error says which node breaks which.
#define FXIR_LINT 13

/// A valid request that the library cannot meet.
#define FXIR_UNSUPPORTED 14

/// A callback stopped the call; its code is in `fxir_error_callback_code`.
#define FXIR_CALLBACK 15

/// A size, depth or count is beyond what the library takes.
#define FXIR_LIMIT 16

/// A defect of the library. A module that was being changed refuses further use.
#define FXIR_PANIC 17

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/// The binary interface of the library that is loaded; compare with `FXIR_ABI_VERSION` after
/// `dlopen`.
int32_t fxir_abi_version(void);

/// The version of the library that is loaded, such as "0.1.0". The text lives for ever.
const char *fxir_version_string(void);

/// The name of a status as this header spells it, such as "FXIR_OK"; "FXIR_UNKNOWN" for a number
/// that is none. The text lives for ever.
const char *fxir_status_name(fxir_status status);

/// What kind of failure it is; `FXIR_INVALID_HANDLE` when `error` is no error.
fxir_status fxir_error_code(const struct fxir_error *error);

/// A sentence for a person, in English, that names the node and operator where there is one. The
/// text lives until the error is freed; "" when `error` is no error.
const char *fxir_error_message(const struct fxir_error *error);

/// The node that the failure is about; 0 when it is about none.
fxir_node fxir_error_node(const struct fxir_error *error);

/// All nodes that the failure is about: fills `nodes` with as many as `capacity` allows and returns how
/// many there are. Of a cycle these are all nodes on it, each before the one that uses it, and the
/// last before the first again; of a node that is used before it is defined, its user and then the
/// node; else the one that `fxir_error_node` gives, if it does. The first is always that one. `nodes`
/// may be NULL when `capacity` is 0.
size_t fxir_error_nodes(const struct fxir_error *error,
                        fxir_node *nodes,
                        size_t capacity);

/// The line, counted from 1, at which a text could not be read; 0 when there is none.
size_t fxir_error_line(const struct fxir_error *error);

/// The column, counted in bytes from 1, at which a text could not be read; 0 when there is none.
size_t fxir_error_column(const struct fxir_error *error);

/// What the callback returned that stopped a call with `FXIR_CALLBACK`; else 0.
int32_t fxir_error_callback_code(const struct fxir_error *error);

/// Frees an error. NULL and a dead handle do nothing.
void fxir_error_free(struct fxir_error *error);

/// A new module with an empty graph. `class_name` may be NULL for "GraphModule". The caller frees
/// `*module` with `fxir_module_free`.
///
/// Statuses: FXIR_INVALID_UTF8. torch.fx: `GraphModule(torch.nn.Module(), Graph())`.
fxir_status fxir_module_new(const char *class_name,
                            struct fxir_module **module,
                            struct fxir_error **error);

/// A copy of a module with all below it, as a tree of its own: structure copied, tensors shared.
/// Its nodes have the same names and other ids; `map`, which may be NULL, gets which node of the
/// module's graph became which (free it with `fxir_node_map_free`; empty for a module that has no
/// graph). The caller frees `*clone`.
///
/// Statuses: FXIR_LIMIT. torch: `copy.deepcopy`, but for the tensors.
fxir_status fxir_module_clone(const struct fxir_module *module,
                              struct fxir_module **clone,
                              struct fxir_node_map **map,
                              struct fxir_error **error);

/// Another handle of the same module, for another owner; it is freed on its own.
fxir_status fxir_module_retain(const struct fxir_module *module,
                               struct fxir_module **retained,
                               struct fxir_error **error);

/// Frees a handle of a module. With the last handle into a tree the tree goes, and with it every
/// text that was read from it. NULL and a dead handle do nothing.
void fxir_module_free(struct fxir_module *module);

/// What the module is: one of FXIR_MODULE_*; 0 when the handle is dead or the module was removed.
int32_t fxir_module_kind(const struct fxir_module *module);

/// The qualified name of the module's type ("torch.nn.modules.conv.Conv2d"). The text lives until
/// the last handle into the tree is freed; NULL when the handle is dead. torch: `torch.typename`.
const char *fxir_module_type_name(const struct fxir_module *module);

/// Changes the name of the module's type.
///
/// Statuses: FXIR_INVALID_UTF8.
fxir_status fxir_module_set_type_name(struct fxir_module *module,
                                      const char *type_name,
                                      struct fxir_error **error);

/// The dotted path of a module in its tree; "" for the root. The text lives until the last handle
/// into the tree is freed; NULL when the handle is dead or the module was removed.
const char *fxir_module_path(const struct fxir_module *module);

/// A number that a module shares with all its copies, and with nothing else: tells that two members
/// were one module. 0 when the handle is dead.
uint64_t fxir_module_origin(const struct fxir_module *module);

/// A handle of the submodule under a dotted path ("layer1.0.conv1"), of the same tree; "" leads to
/// the module itself. The caller frees it. Out of a view it gives a view that dies with the first.
///
/// Statuses: FXIR_NOT_FOUND, FXIR_INVALID_UTF8. torch: `Module.get_submodule`.
fxir_status fxir_module_get_submodule(const struct fxir_module *module,
                                      const char *path,
                                      struct fxir_module **submodule,
                                      struct fxir_error **error);

/// Makes a submodule under a dotted path: a graph module with an empty graph, a leaf or a holder
/// (`kind`, FXIR_MODULE_*), of the type `type_name`. Holders are made on the way where there is
/// nothing. What bore the name before is removed. `submodule` may be NULL; else the caller frees
/// it.
///
/// Statuses: FXIR_INVALID_ARGUMENT (an unknown kind, a path that is none), FXIR_ALREADY_EXISTS (an
/// attribute stands on the way), FXIR_INVALID_UTF8, FXIR_LIMIT (nested deeper than 64). torch:
/// `GraphModule.add_submodule`.
fxir_status fxir_module_add_submodule(struct fxir_module *module,
                                      const char *path,
                                      int32_t kind,
                                      const char *type_name,
                                      struct fxir_module **submodule,
                                      struct fxir_error **error);

/// Puts a copy of `submodule`, with all below it, under a dotted path: structure copied, tensors
/// shared. The two may be of one tree. What bore the name before is removed, and holders are made on
/// the way where there is nothing.
///
/// Statuses: FXIR_INVALID_ARGUMENT, FXIR_ALREADY_EXISTS (an attribute stands on the way),
/// FXIR_INVALID_UTF8, FXIR_LIMIT. torch: `GraphModule.add_submodule`.
fxir_status fxir_module_set_submodule(struct fxir_module *module,
                                      const char *path,
                                      const struct fxir_module *submodule,
                                      struct fxir_error **error);

/// Moves `submodule`, the root of a tree of its own, under a dotted path, and frees its handle. On
/// failure the handle lives on. Ids of its nodes are dead afterwards; names are the same.
///
/// Statuses: FXIR_BUSY (its tree has other handles), FXIR_INVALID_ARGUMENT (it is no root, or of the
/// same tree), and those of `fxir_module_set_submodule`.
fxir_status fxir_module_set_submodule_take(struct fxir_module *module,
                                           const char *path,
                                           struct fxir_module *submodule,
                                           struct fxir_error **error);

/// What a dotted path leads to: one of FXIR_MEMBER_*. At each step a submodule is looked for first,
/// then an attribute. FXIR_MEMBER_NONE when it leads nowhere.
int32_t fxir_module_member_kind(const struct fxir_module *module, const char *path);

/// How many submodules the module itself has; 0 when the handle is dead. torch:
/// `Module.named_children`.
size_t fxir_module_submodule_count(const struct fxir_module *module);

/// The name of the submodule at `index`, in the order in which they came. The text lives until the
/// last handle into the tree is freed; NULL when there is none.
const char *fxir_module_submodule_name(const struct fxir_module *module, size_t index);

/// How many attributes the module itself has, tensors and settings; 0 when the handle is dead.
size_t fxir_module_attribute_count(const struct fxir_module *module);

/// The name of the attribute at `index`, in the order in which they came. The text lives until the
/// last handle into the tree is freed; NULL when there is none.
const char *fxir_module_attribute_name(const struct fxir_module *module, size_t index);

/// The tensor under a dotted path. The caller frees it with `fxir_tensor_free`; it shares its bytes
/// with the module.
///
/// Statuses: FXIR_NOT_FOUND (there is nothing, a submodule or a setting), FXIR_INVALID_UTF8. torch:
/// `Module.get_parameter`, `Module.get_buffer`.
fxir_status fxir_module_get_tensor(const struct fxir_module *module,
                                   const char *path,
                                   struct fxir_tensor **tensor,
                                   struct fxir_error **error);

/// A tensor of what a node names: of the module that a call_module calls, the one under the dotted
/// path `attribute` ("weight", "bias"); of a get_attr, the one that it reads, `attribute` being NULL.
/// The caller frees it with `fxir_tensor_free`; it shares its bytes with the module.
///
/// Statuses: FXIR_STALE_NODE, FXIR_NOT_FOUND (there is nothing, a submodule or a setting),
/// FXIR_INVALID_ARGUMENT (the node is of another op), FXIR_INVALID_UTF8. torch.fx:
/// `getattr(gm.get_submodule(node.target), attribute)`.
fxir_status fxir_node_get_tensor(const struct fxir_module *module,
                                 fxir_node node,
                                 const char *attribute,
                                 struct fxir_tensor **tensor,
                                 struct fxir_error **error);

/// Sets a tensor under a dotted path: `kind` is FXIR_MEMBER_PARAMETER, FXIR_MEMBER_BUFFER or
/// FXIR_MEMBER_CONSTANT. The bytes are shared, not copied; the caller keeps its handle and may free
/// it at once. Holders are made on the way where there is nothing; what bore the name before is
/// removed.
///
/// Statuses: FXIR_INVALID_ARGUMENT (another kind, a path that is none), FXIR_ALREADY_EXISTS (an
/// attribute stands on the way), FXIR_INVALID_UTF8, FXIR_LIMIT. torch: `Module.register_parameter`,
/// `Module.register_buffer`, `setattr`.
fxir_status fxir_module_set_tensor(struct fxir_module *module,
                                   const char *path,
                                   int32_t kind,
                                   const struct fxir_tensor *tensor,
                                   struct fxir_error **error);

/// A snapshot of the setting under a dotted path, as its one item. Free it with `fxir_args_free`.
///
/// Statuses: FXIR_NOT_FOUND (there is nothing, a submodule or a tensor), FXIR_INVALID_UTF8. torch:
/// `getattr`.
fxir_status fxir_module_get_attribute(const struct fxir_module *module,
                                      const char *path,
                                      struct fxir_args **value,
                                      struct fxir_error **error);

/// Sets a setting under a dotted path, such as "kernel_size" of a leaf: anything but a node. Holders
/// are made on the way where there is nothing; what bore the name before is removed.
///
/// Statuses: FXIR_INVALID_ARGUMENT (a node in it, a path that is none), FXIR_ALREADY_EXISTS (an
/// attribute stands on the way), FXIR_INVALID_UTF8, FXIR_LIMIT. torch: `setattr`.
fxir_status fxir_module_set_attribute(struct fxir_module *module,
                                      const char *path,
                                      const struct fxir_arg *value,
                                      struct fxir_error **error);

/// Removes the submodule under a dotted path, else the attribute. Handles into a removed module give
/// FXIR_NOT_FOUND from here on.
///
/// Statuses: FXIR_NOT_FOUND, FXIR_INVALID_UTF8. torch: `GraphModule.delete_submodule`, `delattr`.
fxir_status fxir_module_delete_member(struct fxir_module *module,
                                      const char *path,
                                      struct fxir_error **error);

/// Removes every submodule, however deep, that no node of the module's graph calls or reads; what
/// lies below a called submodule is used. `removed`, which may be NULL, gets how many there were.
///
/// Statuses: FXIR_INVALID_ARGUMENT (the module has no graph). torch.fx:
/// `GraphModule.delete_all_unused_submodules`.
fxir_status fxir_module_delete_all_unused_submodules(struct fxir_module *module,
                                                     size_t *removed,
                                                     struct fxir_error **error);

/// Adds an input of the graph, after the placeholders in front. Its name is made from `name` as
/// torch.fx makes names: legal, and unique in the graph. `node` may be NULL.
///
/// For a default value use `fxir_graph_create_node` with the value as the one argument.
///
/// Statuses: FXIR_INVALID_ARGUMENT (the name is empty), FXIR_INVALID_UTF8, FXIR_LIMIT. torch.fx:
/// `Graph.placeholder`.
fxir_status fxir_graph_placeholder(struct fxir_module *module,
                                   const char *name,
                                   fxir_node *node,
                                   struct fxir_error **error);

/// Adds a node that reads a member of the module, by dotted path. Whether there is such a member is
/// for `fxir_graph_lint` to say. `node` may be NULL.
///
/// Statuses: FXIR_INVALID_ARGUMENT (the target is empty), FXIR_INVALID_UTF8, FXIR_LIMIT. torch.fx:
/// `Graph.get_attr`.
fxir_status fxir_graph_get_attr(struct fxir_module *module,
                                const char *target,
                                fxir_node *node,
                                struct fxir_error **error);

/// Adds a call of a function, by its qualified name ("torch.add", "_operator.getitem"). The
/// arguments are copied; `args` and `kwargs` may be NULL when there are none, `node` may be NULL.
/// The node goes before the output, and its name is made from the target as torch.fx makes it.
///
/// Statuses: FXIR_INVALID_UTF8, FXIR_INVALID_ARGUMENT (an empty target, an unknown kind of argument,
/// a keyword given twice), FXIR_STALE_NODE (an argument is no live node of this graph), FXIR_LIMIT
/// (nested deeper than 64, too many items or nodes). torch.fx: `Graph.call_function`.
fxir_status fxir_graph_call_function(struct fxir_module *module,
                                     const char *target,
                                     const struct fxir_arg *args,
                                     size_t args_count,
                                     const struct fxir_kwarg *kwargs,
                                     size_t kwargs_count,
                                     fxir_node *node,
                                     struct fxir_error **error);

/// Adds a call of a method, by name, of the first argument ("view"). Else as
/// `fxir_graph_call_function`. torch.fx: `Graph.call_method`.
fxir_status fxir_graph_call_method(struct fxir_module *module,
                                   const char *target,
                                   const struct fxir_arg *args,
                                   size_t args_count,
                                   const struct fxir_kwarg *kwargs,
                                   size_t kwargs_count,
                                   fxir_node *node,
                                   struct fxir_error **error);

/// Adds a call of a submodule, by dotted path ("layer1.0.conv1"). Whether there is such a submodule
/// is for `fxir_graph_lint` to say. Else as `fxir_graph_call_function`. torch.fx:
/// `Graph.call_module`.
fxir_status fxir_graph_call_module(struct fxir_module *module,
                                   const char *target,
                                   const struct fxir_arg *args,
                                   size_t args_count,
                                   const struct fxir_kwarg *kwargs,
                                   size_t kwargs_count,
                                   fxir_node *node,
                                   struct fxir_error **error);

/// Says what the graph returns: a node, or a tuple, list or dict of nodes. A graph has one output,
/// and it stands last. `node` may be NULL.
///
/// Statuses: FXIR_ALREADY_EXISTS (there is an output: change it with `fxir_node_set_args`), and
/// those of `fxir_graph_call_function`. torch.fx: `Graph.output`.
fxir_status fxir_graph_output(struct fxir_module *module,
                              const struct fxir_arg *result,
                              fxir_node *node,
                              struct fxir_error **error);

/// Adds a node of any op (FXIR_OP_*) at any place: `position` is one of FXIR_AT_*, `anchor` the node
/// that it is about (not looked at with FXIR_AT_DEFAULT). `name` is what the node would like to be
/// called; it is made legal and unique, and when it is NULL a name is made from the target. `node`
/// may be NULL.
///
/// Statuses: FXIR_INVALID_ARGUMENT (an unknown op, position or kind of argument), FXIR_STALE_NODE
/// (the anchor or an argument is no live node of this graph), and those of
/// `fxir_graph_call_function`. torch.fx: `Graph.create_node`, `Graph.inserting_before`,
/// `Graph.inserting_after`.
fxir_status fxir_graph_create_node(struct fxir_module *module,
                                   int32_t op,
                                   const char *target,
                                   const struct fxir_arg *args,
                                   size_t args_count,
                                   const struct fxir_kwarg *kwargs,
                                   size_t kwargs_count,
                                   const char *name,
                                   int32_t position,
                                   fxir_node anchor,
                                   fxir_node *node,
                                   struct fxir_error **error);

/// The first node in the order; 0 when there is none or `module` is no graph module.
fxir_node fxir_graph_first(const struct fxir_module *module);

/// The last node in the order; 0 when there is none or `module` is no graph module.
fxir_node fxir_graph_last(const struct fxir_module *module);

/// The node after this one; 0 after the last, and when `node` is no live node of the graph. To erase
/// nodes on the way, ask for the next one before erasing.
fxir_node fxir_graph_next(const struct fxir_module *module,
                          fxir_node node);

/// The node before this one; 0 before the first, and when `node` is no live node of the graph.
fxir_node fxir_graph_prev(const struct fxir_module *module, fxir_node node);

/// How many nodes the graph has; 0 when `module` is no graph module.
size_t fxir_graph_node_count(const struct fxir_module *module);

/// All nodes in order: fills `nodes` with as many as `capacity` allows and returns how many there
/// are. `nodes` may be NULL when `capacity` is 0. torch.fx: `Graph.nodes`.
size_t fxir_graph_nodes(const struct fxir_module *module, fxir_node *nodes, size_t capacity);

/// The node of that name; 0 when there is none. Looks at every node: keep ids, not names.
fxir_node fxir_graph_find_node(const struct fxir_module *module, const char *name);

/// The output node; 0 when there is none yet.
fxir_node fxir_graph_output_node(const struct fxir_module *module);

/// What the node does: one of FXIR_OP_*; 0 when it is no live node.
int32_t fxir_node_op(const struct fxir_module *module, fxir_node node);

/// What the node does, as torch.fx spells it ("call_function"). The text lives for ever; NULL when
/// it is no live node. torch.fx: `Node.op`.
const char *fxir_node_op_name(const struct fxir_module *module, fxir_node node);

/// The node's name, unique in its graph. The text lives until the last handle into the module's
/// tree is freed, whatever is edited; NULL when it is no live node. torch.fx: `Node.name`.
const char *fxir_node_name(const struct fxir_module *module, fxir_node node);

/// What the node calls, gets or takes: a qualified name, a method, a dotted path, an input's name.
/// The text lives as that of `fxir_node_name`; NULL when it is no live node. torch.fx:
/// `Node.target`.
const char *fxir_node_target(const struct fxir_module *module, fxir_node node);

/// The annotation of the node's type, as it was spelled; NULL when there is none. The text lives as
/// that of `fxir_node_name`. torch.fx: `Node.type`.
const char *fxir_node_type(const struct fxir_module *module, fxir_node node);

/// The comment that stands with the node; NULL when there is none. The text lives as that of
/// `fxir_node_name`.
const char *fxir_node_comment(const struct fxir_module *module, fxir_node node);

/// A snapshot of the node's arguments, positional and keyword. Free it with `fxir_args_free`.
///
/// Statuses: FXIR_STALE_NODE. torch.fx: `Node.args`, `Node.kwargs`.
fxir_status fxir_node_args(const struct fxir_module *module,
                           fxir_node node,
                           struct fxir_args **args,
                           struct fxir_error **error);

/// How many positional arguments the node has; 0 when it is no live node.
size_t fxir_node_arg_count(const struct fxir_module *module, fxir_node node);

/// The node that stands as positional argument `index`; 0 when there is none there, or something
/// else. For all kinds of arguments use `fxir_node_args`.
fxir_node fxir_node_arg_node(const struct fxir_module *module, fxir_node node, size_t index);

/// How many nodes use this one; 0 when it is no live node. torch.fx: `len(Node.users)`.
size_t fxir_node_user_count(const struct fxir_module *module, fxir_node node);

/// The nodes that hold this one anywhere in their arguments, each once, in the order in which the
/// uses were made: fills `users` with as many as `capacity` allows and returns how many there are.
/// `users` may be NULL when `capacity` is 0. torch.fx: `Node.users`.
size_t fxir_node_users(const struct fxir_module *module,
                       fxir_node node,
                       fxir_node *users,
                       size_t capacity);

/// The nodes that this one holds anywhere in its arguments, each once, in the order of their first
/// mention: fills `inputs` with as many as `capacity` allows and returns how many there are.
/// `inputs` may be NULL when `capacity` is 0. torch.fx: `Node.all_input_nodes`.
size_t fxir_node_input_nodes(const struct fxir_module *module,
                             fxir_node node,
                             fxir_node *inputs,
                             size_t capacity);

/// 1 when node `a` stands before node `b` in the order, else 0; 0 too when one is no live node.
int32_t fxir_node_is_before(const struct fxir_module *module, fxir_node a, fxir_node b);

/// How many positional arguments; 0 when `args` is no snapshot.
size_t fxir_args_count(const struct fxir_args *args);

/// The positional arguments, `fxir_args_count` of them, in the form in which calls take them. NULL
/// when there are none.
const struct fxir_arg *fxir_args_items(const struct fxir_args *args);

/// How many keyword arguments; 0 when `args` is no snapshot.
size_t fxir_args_kwarg_count(const struct fxir_args *args);

/// The keyword arguments, `fxir_args_kwarg_count` of them, in their order, in the form in which
/// calls take them. NULL when there are none.
const struct fxir_kwarg *fxir_args_kwargs(const struct fxir_args *args);

/// The keyword argument of that name; NULL when there is none.
const struct fxir_arg *fxir_args_kwarg(const struct fxir_args *args, const char *name);

/// Frees a snapshot. NULL and a dead handle do nothing.
void fxir_args_free(struct fxir_args *args);

/// Makes the node one of another op (FXIR_OP_*), in place. Placeholders and the output have places
/// of their own: no node becomes or ceases to be one.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_ARGUMENT. torch.fx: assigning `Node.op`.
fxir_status fxir_node_set_op(struct fxir_module *module,
                             fxir_node node,
                             int32_t op,
                             struct fxir_error **error);

/// Sets what the node calls, gets or takes. Its name stays.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_ARGUMENT (the target is empty), FXIR_INVALID_UTF8.
/// torch.fx: assigning `Node.target`.
fxir_status fxir_node_set_target(struct fxir_module *module,
                                 fxir_node node,
                                 const char *target,
                                 struct fxir_error **error);

/// Gives the node another name, made legal and unique; `fxir_node_name` tells what it became.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_UTF8. torch.fx: assigning `Node.name`.
fxir_status fxir_node_set_name(struct fxir_module *module,
                               fxir_node node,
                               const char *name,
                               struct fxir_error **error);

/// Sets the annotation of the node's type; NULL takes it away.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_UTF8. torch.fx: assigning `Node.type`.
fxir_status fxir_node_set_type(struct fxir_module *module,
                               fxir_node node,
                               const char *annotation,
                               struct fxir_error **error);

/// Sets the node's comment; NULL takes it away.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_UTF8.
fxir_status fxir_node_set_comment(struct fxir_module *module,
                                  fxir_node node,
                                  const char *comment,
                                  struct fxir_error **error);

/// Sets all positional arguments. They are copied; `args` may be NULL when there are none. The
/// users of all nodes concerned follow.
///
/// Statuses: FXIR_STALE_NODE (the node or an argument is no live node of this graph),
/// FXIR_INVALID_ARGUMENT, FXIR_INVALID_UTF8, FXIR_LIMIT. torch.fx: assigning `Node.args`.
fxir_status fxir_node_set_args(struct fxir_module *module,
                               fxir_node node,
                               const struct fxir_arg *args,
                               size_t args_count,
                               struct fxir_error **error);

/// Sets all keyword arguments; else as `fxir_node_set_args`. torch.fx: assigning `Node.kwargs`.
fxir_status fxir_node_set_kwargs(struct fxir_module *module,
                                 fxir_node node,
                                 const struct fxir_kwarg *kwargs,
                                 size_t kwargs_count,
                                 struct fxir_error **error);

/// Sets the positional argument at `index`, which must be there.
///
/// Statuses: FXIR_OUT_OF_RANGE, and those of `fxir_node_set_args`. torch.fx: `Node.update_arg`.
fxir_status fxir_node_set_arg(struct fxir_module *module,
                              fxir_node node,
                              size_t index,
                              const struct fxir_arg *arg,
                              struct fxir_error **error);

/// Puts a positional argument before the one at `index`, or last when `index` is their number.
///
/// Statuses: FXIR_OUT_OF_RANGE, and those of `fxir_node_set_args`. torch.fx: `Node.insert_arg`.
fxir_status fxir_node_insert_arg(struct fxir_module *module,
                                 fxir_node node,
                                 size_t index,
                                 const struct fxir_arg *arg,
                                 struct fxir_error **error);

/// Sets one keyword argument, whether it is there or not.
///
/// Statuses: those of `fxir_node_set_args`. torch.fx: `Node.update_kwarg`.
fxir_status fxir_node_set_kwarg(struct fxir_module *module,
                                fxir_node node,
                                const char *name,
                                const struct fxir_arg *arg,
                                struct fxir_error **error);

/// Moves the node right before `anchor`. The order may break by it: `fxir_legalize_graph` mends it.
///
/// Statuses: FXIR_STALE_NODE. torch.fx: `anchor.prepend(node)`.
fxir_status fxir_node_move_before(struct fxir_module *module,
                                  fxir_node node,
                                  fxir_node anchor,
                                  struct fxir_error **error);

/// Moves the node right after `anchor`. The order may break by it: `fxir_legalize_graph` mends it.
///
/// Statuses: FXIR_STALE_NODE. torch.fx: `anchor.append(node)`.
fxir_status fxir_node_move_after(struct fxir_module *module,
                                 fxir_node node,
                                 fxir_node anchor,
                                 struct fxir_error **error);

/// Erases a node that has no users. Its number is dead from here on.
///
/// Statuses: FXIR_STALE_NODE, FXIR_IN_USE (it has users; the message names one). torch.fx:
/// `Graph.erase_node`.
fxir_status fxir_graph_erase_node(struct fxir_module *module,
                                  fxir_node node,
                                  struct fxir_error **error);

/// Puts `replacement` in the place of `node` in the arguments of all users of `node`. A user that is
/// `replacement` itself keeps what it has, so that a node can be wrapped. With a `filter`, only in
/// the users for which it says yes; it is asked about all of them before anything changes. `filter`
/// may be NULL. `changed`, which may be NULL, gets the number of users that were changed.
///
/// Statuses: FXIR_STALE_NODE, FXIR_CALLBACK, FXIR_INVALID_ARGUMENT (a verdict that is neither 0 nor
/// 1). torch.fx: `Node.replace_all_uses_with`.
fxir_status fxir_node_replace_all_uses_with(struct fxir_module *module,
                                            fxir_node node,
                                            fxir_node replacement,
                                            fxir_node_filter filter,
                                            void *user_data,
                                            size_t *changed,
                                            struct fxir_error **error);

/// Puts `replacement` in the place of `input` in the arguments of one node.
///
/// Statuses: FXIR_STALE_NODE. torch.fx: `Node.replace_input_with`.
fxir_status fxir_node_replace_input_with(struct fxir_module *module,
                                         fxir_node node,
                                         fxir_node input,
                                         fxir_node replacement,
                                         struct fxir_error **error);

/// Makes `*options` the defaults: FXIR_COPY_NAMES_UNIQUE. Does nothing when it is NULL.
void fxir_copy_options_init(struct fxir_copy_options *options);

/// Copies the nodes of the graph of `source`, all but its output, into the graph of `module`, in
/// order: to `position` (FXIR_AT_*) about `anchor`, placeholders to the placeholders. `given`, which
/// may be NULL, says which nodes of `source` are not copied because another node of `module` stands
/// for them. `options` may be NULL for the defaults. The two modules may be of one tree, or one and the
/// same.
///
/// `returned`, which may be NULL, gets what the output of `source` returned, as a snapshot with one
/// item whose nodes are those of `module` (with none when there is no output); `map`, which may be
/// NULL, gets which node became which. The caller frees both. When the call fails, the graph is as it
/// was.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_ARGUMENT, FXIR_LINT (`source` uses a node before its
/// definition), FXIR_ALREADY_EXISTS (FXIR_COPY_NAMES_KEEP and a name that was given), FXIR_LIMIT. torch.fx: `Graph.graph_copy`.
fxir_status fxir_graph_copy(struct fxir_module *module,
                            const struct fxir_module *source,
                            const struct fxir_node_pair *given,
                            size_t given_count,
                            int32_t position,
                            fxir_node anchor,
                            const struct fxir_copy_options *options,
                            struct fxir_args **returned,
                            struct fxir_node_map **map,
                            struct fxir_error **error);

/// Copies one node of the graph of `source` into the graph of `module`, to `position` (FXIR_AT_*)
/// about `anchor`, with all that is known of it. `inputs` says which node of `module` stands for each
/// node in its arguments; within one graph a node that is not named there stands for itself. `options` may
/// be NULL for the defaults, and `copy` too.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_ARGUMENT (nothing stands for an input), FXIR_ALREADY_EXISTS
/// (a second output; FXIR_COPY_NAMES_KEEP and a name that was given), FXIR_LIMIT. torch.fx: `Graph.node_copy`.
fxir_status fxir_graph_node_copy(struct fxir_module *module,
                                 const struct fxir_module *source,
                                 fxir_node node,
                                 const struct fxir_node_pair *inputs,
                                 size_t inputs_count,
                                 int32_t position,
                                 fxir_node anchor,
                                 const struct fxir_copy_options *options,
                                 fxir_node *copy,
                                 struct fxir_error **error);

/// Puts the nodes of a graph module in the place of the node that calls it.
///
/// Arguments are bound to placeholders as Python binds them: by position, then by keyword, then by the
/// placeholder's default; `*args` and `**kwargs` take the rest. What the submodule returns stands for
/// `call`; where that is a tuple, list or dict, `_operator.getitem` nodes that take one item of it go as
/// well. Members that the nodes name come to `module` under their own names, and get a number where it
/// has another of that name: "act_1". The submodule is deleted when no graph that holds it names it any
/// more. The graph is in order afterwards.
///
/// `options`, which say how copies are called, may be NULL for the defaults. `map`, which may be NULL
/// and which the caller frees, gets which node of the submodule, but its placeholders, became which; the
/// former are stale when the submodule is gone. When the call fails, nothing changes.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_ARGUMENT (`call` calls no graph module, or with arguments that
/// do not fit its placeholders), FXIR_NOT_FOUND (it calls what is not there), FXIR_LINT (a graph has a
/// cycle, or the submodule's is not in order), FXIR_ALREADY_EXISTS (FXIR_COPY_NAMES_KEEP and a name that
/// was given), FXIR_LIMIT, FXIR_UNSUPPORTED (newer options). torch.fx: none; `node_inline_` of
/// torch.export.
fxir_status fxir_inline_submodule(struct fxir_module *module,
                                  fxir_node call,
                                  const struct fxir_copy_options *options,
                                  struct fxir_node_map **map,
                                  struct fxir_error **error);

/// How many pairs; 0 when `map` is none.
size_t fxir_node_map_count(const struct fxir_node_map *map);

/// All pairs, `fxir_node_map_count` of them, in the order of the copied graph. They live until the
/// map is freed; NULL when there are none.
const struct fxir_node_pair *fxir_node_map_pairs(const struct fxir_node_map *map);

/// What stands for a node; 0 when nothing does.
fxir_node fxir_node_map_get(const struct fxir_node_map *map, fxir_node from);

/// Frees a map. NULL and a dead handle do nothing.
void fxir_node_map_free(struct fxir_node_map *map);

/// A snapshot of what the node yields. Free it with `fxir_values_free`.
///
/// Statuses: FXIR_STALE_NODE, FXIR_NOT_FOUND (nothing is known). torch.fx: `Node.meta["tensor_meta"]`.
fxir_status fxir_node_value(const struct fxir_module *module,
                            fxir_node node,
                            struct fxir_values **values,
                            struct fxir_error **error);

/// Says what the node yields; NULL says that it is not known. The value is copied.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_ARGUMENT, FXIR_INVALID_UTF8, FXIR_LIMIT.
fxir_status fxir_node_set_value(struct fxir_module *module,
                                fxir_node node,
                                const struct fxir_value *value,
                                struct fxir_error **error);

/// Says that the node yields one tensor of this metadata.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_ARGUMENT, FXIR_INVALID_UTF8, FXIR_LIMIT.
fxir_status fxir_node_set_tensor_meta(struct fxir_module *module,
                                      fxir_node node,
                                      const struct fxir_tensor_meta *meta,
                                      struct fxir_error **error);

/// The element type of the one tensor that the node yields; FXIR_DTYPE_NONE when that is not known
/// or it yields something else.
int32_t fxir_node_dtype(const struct fxir_module *module, fxir_node node);

/// The sizes of the one tensor that the node yields: fills `shape` with as many as `capacity` allows
/// and returns how many there are; -1 stands for one that is symbolic. 0 for a scalar too:
/// `fxir_node_dtype` tells whether anything is known.
size_t fxir_node_shape(const struct fxir_module *module,
                       fxir_node node,
                       int64_t *shape,
                       size_t capacity);

/// What was yielded. Lives until the snapshot is freed; NULL when `values` is none.
const struct fxir_value *fxir_values_root(const struct fxir_values *values);

/// How many tensors are in it, however nested.
size_t fxir_values_tensor_count(const struct fxir_values *values);

/// The metadata of the tensor at `index`, in order, depth first. Lives until the snapshot is freed;
/// NULL when there is none.
const struct fxir_tensor_meta *fxir_values_tensor(const struct fxir_values *values, size_t index);

/// Frees a snapshot. NULL and a dead handle do nothing.
void fxir_values_free(struct fxir_values *values);

/// Makes `*meta` one in which nothing is known. Does nothing when it is NULL.
void fxir_tensor_meta_init(struct fxir_tensor_meta *meta);

/// How many entries the node's meta has; what the node yields is not one of them. 0 when it is no
/// live node. torch.fx: `len(Node.meta)`.
size_t fxir_node_meta_count(const struct fxir_module *module, fxir_node node);

/// The key of the entry at `index`, in the order in which they came. The text lives until the last
/// handle into the tree is freed; NULL when there is none.
const char *fxir_node_meta_key(const struct fxir_module *module, fxir_node node, size_t index);

/// A snapshot of an entry, as its one item. Free it with `fxir_args_free`.
///
/// Statuses: FXIR_STALE_NODE, FXIR_NOT_FOUND, FXIR_INVALID_UTF8. torch.fx: `Node.meta[key]`.
fxir_status fxir_node_get_meta(const struct fxir_module *module,
                               fxir_node node,
                               const char *key,
                               struct fxir_args **value,
                               struct fxir_error **error);

/// Sets an entry of the node's meta: anything but a node, under any key. Copies of the node carry it
/// along. What the node yields is set with `fxir_node_set_value`.
///
/// Statuses: FXIR_STALE_NODE, FXIR_INVALID_ARGUMENT (a node in it), FXIR_INVALID_UTF8, FXIR_LIMIT.
/// torch.fx: `Node.meta[key] = value`.
fxir_status fxir_node_set_meta(struct fxir_module *module,
                               fxir_node node,
                               const char *key,
                               const struct fxir_arg *value,
                               struct fxir_error **error);

/// Takes an entry out of the node's meta.
///
/// Statuses: FXIR_STALE_NODE, FXIR_NOT_FOUND, FXIR_INVALID_UTF8. torch.fx: `del Node.meta[key]`.
fxir_status fxir_node_delete_meta(struct fxir_module *module,
                                  fxir_node node,
                                  const char *key,
                                  struct fxir_error **error);

/// The name of a dtype (FXIR_DTYPE_*) as torch spells it ("torch.float32"). The text lives for ever;
/// NULL when the number is no dtype.
const char *fxir_dtype_name(int32_t dtype);

/// The dtype of that name, with "torch." before it or not; `FXIR_DTYPE_NONE` when there is none.
int32_t fxir_dtype_from_name(const char *name);

/// How many bits one element takes; 0 when the number is no dtype.
uint32_t fxir_dtype_bits(int32_t dtype);

/// Checks the graph of one module: placeholders come first, one output comes last, each node is
/// defined before it is used, users are exact, names are legal and unique, and what call_module and
/// get_attr name are members.
///
/// Statuses: FXIR_LINT; `fxir_error_node` and the message say which node breaks which rule;
/// FXIR_INVALID_ARGUMENT (the module has no graph). torch.fx: `Graph.lint`.
fxir_status fxir_graph_lint(const struct fxir_module *module, struct fxir_error **error);

/// Checks as `fxir_graph_lint` does the module's own graph, if it has one, and that of every graph
/// module below it, down to any depth; the first fault ends it. Of a fault below, the message begins
/// with the path of the module, and `fxir_error_node` is a node of that module.
///
/// Statuses: FXIR_LINT. torch.fx: `GraphModule.graph.lint`, for every graph module at once.
fxir_status fxir_module_lint(const struct fxir_module *module,
                             struct fxir_error **error);

/// Whether the order of the graph is a topological one: placeholders come first, the output last, and
/// every node stands before its users. 1 or 0; 0 too when `module` is no graph module.
/// `fxir_graph_lint_order` says what is wrong. Linear in nodes and edges.
int32_t fxir_graph_is_topologically_sorted(const struct fxir_module *module);

/// Checks the order and nothing else, for graphs that are edited by hand. Of a node that is used
/// before it is defined, `fxir_error_node` is the first user that stands too early, and
/// `fxir_error_nodes` gives that and the node which it uses.
///
/// Statuses: FXIR_LINT. torch.fx: a part of `Graph.lint`.
fxir_status fxir_graph_lint_order(const struct fxir_module *module, struct fxir_error **error);

/// Runs `function`, which records operations as nodes of a new module: `*module`, freed by the
/// caller.
///
/// `inputs` are the names of the function's inputs, `inputs_count` of them. `root` gives the module
/// its members, copied with their tensors shared, so that the function may get and call them; NULL
/// for none. Each operation passes through the `rewrites` in their order before it becomes a node;
/// NULL and 0 for none. The module passes lint.
///
/// Statuses: FXIR_CALLBACK (the function or a rewrite stopped), FXIR_LINT (an operation names a member
/// that is not there), FXIR_INVALID_ARGUMENT (`root` is a leaf module), FXIR_INVALID_UTF8, FXIR_LIMIT.
/// torch.fx: `Tracer.trace`, and `symbolic_trace_with_rewrite` of those who trace for a backend.
fxir_status fxir_trace(const struct fxir_module *root,
                       const char *const *inputs,
                       size_t inputs_count,
                       fxir_trace_function function,
                       void *user_data,
                       const struct fxir_trace_rewrite *rewrites,
                       size_t rewrites_count,
                       struct fxir_module **module,
                       struct fxir_error **error);

/// Records an operation of any op but placeholder and output. `*node` is what stands for it: a new
/// node, or what a rewrite made of it. `name` is what the node would like to be called; NULL makes a
/// name from the target. `node` may be NULL.
///
/// Statuses: FXIR_INVALID_ARGUMENT (an unknown op or kind of argument, a keyword given twice),
/// FXIR_INVALID_UTF8, FXIR_STALE_NODE (an argument, or what a rewrite gave, is no node of this
/// trace), FXIR_INVALID_HANDLE (the trace is over), FXIR_CALLBACK, FXIR_LIMIT. torch.fx:
/// `Tracer.create_proxy`.
fxir_status fxir_tracer_record(struct fxir_tracer *tracer,
                               int32_t op,
                               const char *target,
                               const struct fxir_arg *args,
                               size_t args_count,
                               const struct fxir_kwarg *kwargs,
                               size_t kwargs_count,
                               const char *name,
                               fxir_node *node,
                               struct fxir_error **error);

/// Records a call of a function, by its qualified name: `fxir_tracer_record` with
/// FXIR_OP_CALL_FUNCTION and no name.
fxir_status fxir_tracer_call_function(struct fxir_tracer *tracer,
                                      const char *target,
                                      const struct fxir_arg *args,
                                      size_t args_count,
                                      const struct fxir_kwarg *kwargs,
                                      size_t kwargs_count,
                                      fxir_node *node,
                                      struct fxir_error **error);

/// Records a call of a method of the first argument: `fxir_tracer_record` with FXIR_OP_CALL_METHOD
/// and no name.
fxir_status fxir_tracer_call_method(struct fxir_tracer *tracer,
                                    const char *target,
                                    const struct fxir_arg *args,
                                    size_t args_count,
                                    const struct fxir_kwarg *kwargs,
                                    size_t kwargs_count,
                                    fxir_node *node,
                                    struct fxir_error **error);

/// Records a call of a submodule of `root`: `fxir_tracer_record` with FXIR_OP_CALL_MODULE and no
/// name.
fxir_status fxir_tracer_call_module(struct fxir_tracer *tracer,
                                    const char *target,
                                    const struct fxir_arg *args,
                                    size_t args_count,
                                    const struct fxir_kwarg *kwargs,
                                    size_t kwargs_count,
                                    fxir_node *node,
                                    struct fxir_error **error);

/// Records the reading of a member of `root`: `fxir_tracer_record` with FXIR_OP_GET_ATTR and no
/// name.
fxir_status fxir_tracer_get_attr(struct fxir_tracer *tracer,
                                 const char *target,
                                 fxir_node *node,
                                 struct fxir_error **error);

/// Says what the traced function returns: a node, a literal, or a tuple, list or dict of them.
///
/// Statuses: FXIR_ALREADY_EXISTS (it was said before), and those of `fxir_tracer_record`.
fxir_status fxir_tracer_output(struct fxir_tracer *tracer,
                               const struct fxir_arg *result,
                               struct fxir_error **error);

/// Makes `*options` the defaults. Does nothing when it is NULL.
void fxir_trace_options_init(struct fxir_trace_options *options);

/// Traces the text of a plain Python function, or of a module class, into a new module: `*module`,
/// freed by the caller. `text` is UTF-8 and has `length` bytes.
///
/// The function is run as `torch.fx.symbolic_trace` runs it. Functions, methods and module classes of
/// the text are inlined where they are called; loops and branches over constants happen while it runs;
/// each operation on a value becomes a node, named and with the arguments that torch.fx gives it
/// (`F.relu(x)` is `torch.nn.functional.relu(x, inplace = False)`). `assert c, "m"` becomes
/// `torch._assert(c, "m")`. Imports and aliases resolve. What would depend on a value, a branch for
/// one, is an error that names the expression.
///
/// `members`, which may be NULL, is the module that `self` is: constants of it decide branches, tensors
/// are read, modules are called, or looked into where their class is in the text; the new module gets
/// those that its graph names, with their tensors shared. `__init__` is not run. Without `members` the
/// text decides as for `fxir_module_read_code`. `options` may be NULL for the defaults. Each operation
/// passes through the `rewrites` in their order before it becomes a node; NULL and 0 for none.
///
/// Statuses: FXIR_PARSE (the text is no Python, or cannot be traced; `fxir_error_line` and `_column` say
/// where; the message shows the line with a caret), FXIR_LIMIT (it nests too deep or runs too long),
/// FXIR_CALLBACK (a rewrite stopped), FXIR_LINT, FXIR_INVALID_ARGUMENT, FXIR_INVALID_UTF8,
/// FXIR_UNSUPPORTED (newer options). torch.fx: `symbolic_trace`, `Tracer.trace`, and `RewritingTracer`.
fxir_status fxir_trace_code(const char *text,
                            size_t length,
                            const struct fxir_module *members,
                            const struct fxir_trace_options *options,
                            const struct fxir_trace_rewrite *rewrites,
                            size_t rewrites_count,
                            struct fxir_module **module,
                            struct fxir_error **error);

/// Makes `*options` the defaults. Does nothing when it is NULL.
void fxir_match_options_init(struct fxir_match_options *options);

/// Makes `*options` the defaults: nothing takes a pattern's place yet. Does nothing when it is NULL.
void fxir_rewrite_options_init(struct fxir_rewrite_options *options);

/// Finds every match of the graph of `pattern` in the graph of `module`, and changes nothing.
///
/// Placeholders of the pattern are met by anything, other nodes by nodes that do the same with the
/// same arguments; only what the pattern returns may be used outside a match. `options` may be NULL
/// for the defaults. The caller frees `*matches`.
///
/// Statuses: FXIR_INVALID_ARGUMENT (the pattern has no output, a node that nothing uses, or a
/// placeholder that it only returns; with `name_node_map` an output that does not end in such a dict;
/// unknown options; a verdict that is neither 0 nor 1), FXIR_LINT
/// (a graph is not in order), FXIR_UNSUPPORTED (newer options), FXIR_CALLBACK. torch.fx:
/// `SubgraphMatcher.match`.
fxir_status fxir_match_pattern(const struct fxir_module *module,
                               const struct fxir_module *pattern,
                               const struct fxir_match_options *options,
                               struct fxir_matches **matches,
                               struct fxir_error **error);

/// Replaces every match of the graph of `pattern` in the graph of `module` by the graph of
/// `replacement`.
///
/// Placeholders of the two correspond by position, and so do the nodes they return. New nodes stand
/// right before the first user of what they replace, and one that takes the place of a returned node
/// takes over what was known of it. A placeholder that the pattern returns stays what it is, and the
/// replacement has to return the same one. Members that the replacement's nodes name are copied over
/// unless the module has one of that name; then every submodule that no node uses is
/// deleted. When nothing matches, or the call fails, nothing changes.
///
/// The three modules may be of one tree. `options` and `matches` may be NULL; the caller frees
/// `*matches`.
///
/// Statuses: FXIR_INVALID_ARGUMENT (what `fxir_match_pattern` refuses; pattern and replacement differ
/// in the numbers of placeholders or returned nodes, or in a placeholder that is returned; options
/// that only a search takes; the replacement calls what is an attribute of its own), FXIR_LINT (a
/// graph is not in order), FXIR_NOT_FOUND (the replacement names a member that neither module has),
/// FXIR_ALREADY_EXISTS (a member of the replacement would stand where, or below where, the module has
/// an attribute), FXIR_UNSUPPORTED (newer options), FXIR_CALLBACK, FXIR_LIMIT. torch.fx:
/// `replace_pattern_with_filters`.
fxir_status fxir_replace_pattern(struct fxir_module *module,
                                 const struct fxir_module *pattern,
                                 const struct fxir_module *replacement,
                                 const struct fxir_match_options *options,
                                 struct fxir_matches **matches,
                                 struct fxir_error **error);

/// Replaces every match of the graph of `pattern` in the graph of `module`, as `fxir_replace_pattern`
/// does, by what `options` say: one replacement for all, or one that a callback builds for each match.
/// `options` is required; `matches` may be NULL, and holds only those that were replaced.
///
/// The callbacks are done with before anything changes. When nothing matches, or the call fails,
/// nothing changes.
///
/// Statuses: those of `fxir_replace_pattern`; FXIR_INVALID_ARGUMENT too when `options` give neither or
/// both of `replacement` and `build`; FXIR_ALREADY_EXISTS (FXIR_MEMBERS_REFUSE and a member of that
/// name); FXIR_INVALID_HANDLE (`build` gave what is no module). torch.fx: `replace_pattern_with_filters`
/// with its `replacement_callback`.
fxir_status fxir_replace_pattern_with(struct fxir_module *module,
                                      const struct fxir_module *pattern,
                                      const struct fxir_rewrite_options *options,
                                      struct fxir_matches **matches,
                                      struct fxir_error **error);

/// Makes an empty set, which the caller frees.
fxir_status fxir_pattern_set_new(struct fxir_pattern_set **set, struct fxir_error **error);

/// Adds a rule: a pattern and what takes its place. Rules are counted from 0 in the order in which
/// they are added; `rule`, which may be NULL, gets the number. Both sides may be changed and freed
/// after. `destroy`, which may be NULL, is called with `destroy_data` once the rule is used no more;
/// never when this call fails.
///
/// Statuses: FXIR_INVALID_ARGUMENT and FXIR_LINT (a pattern that `fxir_match_pattern` refuses, options
/// that `fxir_replace_pattern_with` refuses; whether pattern and replacement fit is seen when the set
/// is applied), FXIR_UNSUPPORTED (newer options), FXIR_INVALID_UTF8.
fxir_status fxir_pattern_set_add(struct fxir_pattern_set *set,
                                 const struct fxir_module *pattern,
                                 const struct fxir_rewrite_options *options,
                                 fxir_destroy destroy,
                                 void *destroy_data,
                                 size_t *rule,
                                 struct fxir_error **error);

/// How many rules there are; 0 when `set` is none.
size_t fxir_pattern_set_count(const struct fxir_pattern_set *set);

/// Applies all rules in one walk over the graph of `module`. At each node the rules are tried in their
/// order, those that cannot match there left aside; no two matches share a node, and what one rule
/// puts in, another does not see. `matches` has room for `matches_count` handles, which the caller
/// frees: what each of the first rules replaced, NULL beyond the last one. It may be NULL when there is
/// room for none. When nothing matches, or the call fails, nothing changes.
///
/// Statuses: those of `fxir_replace_pattern_with`.
fxir_status fxir_pattern_set_apply(const struct fxir_pattern_set *set,
                                   struct fxir_module *module,
                                   struct fxir_matches **matches,
                                   size_t matches_count,
                                   struct fxir_error **error);

/// Applies all rules again and again until none matches any more. `matches` are as in
/// `fxir_pattern_set_apply`, over all rounds: nodes of replacements that were replaced in turn are not
/// among them, and what placeholders met is what took its place. `rounds`, which may be NULL, gets how
/// often something was replaced. When the call fails, nothing changes.
///
/// Statuses: those of `fxir_replace_pattern_with`; FXIR_LIMIT (a rule, which the message names, still
/// matches after `limit` rounds).
fxir_status fxir_pattern_set_apply_to_fixpoint(const struct fxir_pattern_set *set,
                                               struct fxir_module *module,
                                               size_t limit,
                                               struct fxir_matches **matches,
                                               size_t matches_count,
                                               size_t *rounds,
                                               struct fxir_error **error);

/// Frees a set. NULL and a dead handle do nothing.
void fxir_pattern_set_free(struct fxir_pattern_set *set);

/// How many matches; 0 when `matches` is none.
size_t fxir_matches_count(const struct fxir_matches *matches);

/// The nodes of the pattern, in its order: fills `nodes` with as many as `capacity` allows and
/// returns how many there are. `nodes` may be NULL when `capacity` is 0.
size_t fxir_matches_pattern_nodes(const struct fxir_matches *matches,
                                  fxir_node *nodes,
                                  size_t capacity);

/// The node of the pattern that has this name, to be asked for below: so nobody needs to keep the
/// numbers of a pattern's nodes. What a name-node map calls a node comes before nodes' own names. 0 when there is none. Looks at every node of the pattern.
fxir_node fxir_matches_pattern_node(const struct fxir_matches *matches,
                                    const char *name);

/// The nodes of the graph from which a match was found upwards: those that the pattern returns and
/// uses no further, in the pattern's order. Fills `nodes` with as many as `capacity` allows and
/// returns how many there are. After a rewrite they are gone, and their numbers stale. torch.fx:
/// `InternalMatch.anchors`.
size_t fxir_matches_anchors(const struct fxir_matches *matches,
                            size_t index,
                            fxir_node *nodes,
                            size_t capacity);

/// The node of the graph that a node of the pattern met in the match at `index`; 0 when a placeholder
/// took something else (`fxir_matches_argument`), or there is no such match or pattern node.
fxir_node fxir_matches_node(const struct fxir_matches *matches,
                            size_t index,
                            fxir_node pattern_node);

/// The name that this node had when the match was found; NULL when it met none.
const char *fxir_matches_node_name(const struct fxir_matches *matches,
                                   size_t index,
                                   fxir_node pattern_node);

/// The op (FXIR_OP_*) that this node had when the match was found; 0 when it met none.
int32_t fxir_matches_node_op(const struct fxir_matches *matches,
                             size_t index,
                             fxir_node pattern_node);

/// What a node of the pattern met, as an argument: a node, or the literal, list or the like that a
/// placeholder took. NULL when there is nothing.
const struct fxir_arg *fxir_matches_argument(const struct fxir_matches *matches,
                                             size_t index,
                                             fxir_node pattern_node);

/// The nodes that took the place of the match at `index`, in the order of the replacement: fills
/// `nodes` with as many as `capacity` allows and returns how many there are. 0 for matches that were
/// only looked for. torch.fx: `ReplacedPatterns.replacements`.
size_t fxir_matches_replacements(const struct fxir_matches *matches,
                                 size_t index,
                                 fxir_node *nodes,
                                 size_t capacity);

/// Frees a list of matches. NULL and a dead handle do nothing.
void fxir_matches_free(struct fxir_matches *matches);

/// Makes `*options` the defaults. Does nothing when it is NULL.
void fxir_fuse_options_init(struct fxir_fuse_options *options);

/// Moves a set of nodes into a graph module of their own, called `name`, and puts one call of it in
/// their place. Its inputs are the nodes outside that are used inside; its outputs the nodes inside
/// that are used outside, in graph order: one is the call itself, several are taken out of it by
/// `_operator.getitem`. The members that the nodes name are copied along, tensors shared. The nodes
/// in the new module have the names of those they were copied from.
///
/// `options` may be NULL for the defaults. `call`, which may be NULL, gets the node that calls the
/// new module; its target is the module's path. `fused`, which may be NULL, gets a handle of the new
/// module, which the caller frees.
///
/// Statuses: FXIR_INVALID_ARGUMENT (no node; a placeholder or the output among them; nothing outside
/// uses them; a path leaves them and comes back, so that the call would be on a cycle; a name that
/// is no path; unknown options), FXIR_STALE_NODE, FXIR_NOT_FOUND (a node names what is no member),
/// FXIR_ALREADY_EXISTS (the name is taken, and options say FXIR_TAKEN_NAME_REFUSED; an attribute
/// stands on the way), FXIR_LINT (the graph has a cycle), FXIR_UNSUPPORTED (newer options),
/// FXIR_INVALID_UTF8, FXIR_LIMIT. torch.fx: `fuse_as_graphmodule`, `insert_subgm` and `erase_nodes`.
fxir_status fxir_fuse_as_graphmodule(struct fxir_module *module,
                                     const fxir_node *nodes,
                                     size_t nodes_count,
                                     const char *name,
                                     const struct fxir_fuse_options *options,
                                     fxir_node *call,
                                     struct fxir_module **fused,
                                     struct fxir_error **error);

/// Makes a copy of `submodule`, tensors shared, a member called `name`, calls it with `inputs`, and
/// lets whatever used one of `outputs` use what the call returns: the call itself for one output,
/// unless the submodule returns a tuple; `_operator.getitem` nodes for several. They take over what
/// was known of the nodes that they stand for, which stay for the caller to erase.
///
/// `name` is a dotted path; holders are made on the way where there is nothing. `taken_name` is one
/// of FXIR_TAKEN_NAME_*: a name that is a member already gets the first number that is free
/// ("fused_1"), or is refused. `call`, which may be NULL, gets the new call; its target is the path
/// under which the submodule stands. The graph need not be in order before, and is afterwards.
///
/// Of a submodule with a graph it is checked how many inputs it takes and, when it returns a tuple or
/// a list, how many items that has: inputs with a default value may be left out, and so may the last
/// items. Of a leaf nothing is known and nothing is checked.
///
/// Statuses: FXIR_INVALID_ARGUMENT (other numbers of inputs or outputs than the submodule has, an
/// input that needs one of the outputs, the output of the graph among either, a name that is no
/// path), FXIR_STALE_NODE, FXIR_ALREADY_EXISTS (the name is taken, and FXIR_TAKEN_NAME_REFUSED was
/// given; an attribute stands on the way), FXIR_LINT (the graph has a cycle), FXIR_INVALID_UTF8,
/// FXIR_LIMIT. torch.fx: `insert_subgm`.
fxir_status fxir_insert_subgm(struct fxir_module *module,
                              const struct fxir_module *submodule,
                              const char *name,
                              const fxir_node *inputs,
                              size_t inputs_count,
                              const fxir_node *outputs,
                              size_t outputs_count,
                              int32_t taken_name,
                              fxir_node *call,
                              struct fxir_error **error);

/// Makes a module of its own out of the graph of `subgraph`, with those members of `module` that its
/// call_module and get_attr nodes name, under the same paths; tensors are shared. `class_name` may be
/// NULL for "GraphModule". The caller frees `*lifted`.
///
/// Statuses: FXIR_NOT_FOUND (a node names a member that `module` does not have; `fxir_error_node`
/// says which), FXIR_INVALID_UTF8, FXIR_LIMIT. torch.fx: `lift_subgraph_as_module`.
fxir_status fxir_lift_subgraph_as_module(const struct fxir_module *module,
                                         const struct fxir_module *subgraph,
                                         const char *class_name,
                                         struct fxir_module **lifted,
                                         struct fxir_error **error);

/// Whether a set of nodes can become one without a cycle, that is, whether no path leaves it and
/// comes back: stores 1 or 0 into `*valid`.
///
/// Statuses: FXIR_STALE_NODE. torch.fx: `validate_partition`.
fxir_status fxir_validate_partition(const struct fxir_module *module,
                                    const fxir_node *nodes,
                                    size_t nodes_count,
                                    int32_t *valid,
                                    struct fxir_error **error);

/// Makes `*options` the defaults. Does nothing when it is NULL.
void fxir_dead_code_options_init(struct fxir_dead_code_options *options);

/// Whether a node has to stay even when nothing uses it: 1 or 0; 0 too when it is no live node. For
/// callbacks that add to what the library knows.
///
/// Impure are placeholders and the output; in-place operators and calls with `out=`, by keyword or by
/// position; asserts, prints and what changes the state of the process; what draws random numbers,
/// unless its `train`, `training` or share of what it drops says that it does not; batch norms and
/// instance norms that may write into the statistics that they get, and lookups with a `max_norm`;
/// methods that change a list, a dict, a set, or a module that a node reads.
/// `sort` may be a list's unless the graph tells that it is called on a tensor, by what is known of the
/// receiver, what makes it, or the arguments; `add` is a tensor's unless it tells that it is a set's.
///
/// Calls of modules are impure when it is a graph module that holds an impure node; a leaf with a
/// setting `_is_impure` or `inplace` that is True; one of a type that draws random numbers or counts what
/// it sees while it is trained (dropouts, batch norms that track statistics, ...) unless its `training`
/// is False; an embedding with a `max_norm`, an observer, a lazy module; a leaf above any of these; and
/// what is no such module. Operators are judged by their schemas: one that writes into an argument or
/// returns nothing is impure; those of which none is known, by their names.
/// torch.fx: `Node.is_impure`.
int32_t fxir_node_is_impure(const struct fxir_module *module,
                            fxir_node node);

/// Erases every node that nothing uses, and then what only those used, unless it is impure, as
/// `fxir_node_is_impure` says. The graph need not be in order. Members that are no longer used stay:
/// see `fxir_module_delete_all_unused_submodules`. `options` may be NULL for the defaults; `erased`,
/// which may be NULL, gets how many nodes there were.
///
/// Statuses: FXIR_CALLBACK, FXIR_INVALID_ARGUMENT (a verdict that is neither 0 nor 1),
/// FXIR_UNSUPPORTED (newer options). torch.fx: `Graph.eliminate_dead_code`.
fxir_status fxir_eliminate_dead_code(struct fxir_module *module,
                                     const struct fxir_dead_code_options *options,
                                     size_t *erased,
                                     struct fxir_error **error);

/// Makes `*options` the defaults. Does nothing when it is NULL.
void fxir_cse_options_init(struct fxir_cse_options *options);

/// Erases each node that computes what a node before it has computed, which then stands for it in all
/// its users. Two nodes compute the same when op, target, arguments and keywords, in their order, are
/// the same: of literals the type counts and each bit (1, 1.0 and True are three), a list is no tuple.
/// What the first is called and its metadata stay; two equal values that are returned become one
/// that is returned twice.
///
/// Impure nodes stay (see `fxir_node_is_impure`), random ones among them. So do nodes that read what may
/// be written between them, and whatever may be written later, with what may share its memory: inputs
/// and members may all share memory with each other.
///
/// `options` may be NULL for the defaults. `erased`, which may be NULL, gets how many nodes there were;
/// `merged`, which may be NULL, gets which node is gone and which stands for it. The caller frees it with
/// `fxir_node_map_free`.
///
/// Statuses: FXIR_INVALID_ARGUMENT (the module has no graph, or a verdict that is neither 0 nor 1),
/// FXIR_CALLBACK, FXIR_UNSUPPORTED (newer options). torch.fx: `CSEPass` of
/// `torch.fx.passes.dialect.common.cse_pass`; `fx_graph_cse` of `torch._functorch`.
fxir_status fxir_eliminate_common_subexpressions(struct fxir_module *module,
                                                 const struct fxir_cse_options *options,
                                                 size_t *erased,
                                                 struct fxir_node_map **merged,
                                                 struct fxir_error **error);

/// Of the get_attr nodes that read one member the first stands for the others, which are erased.
/// `erased`, which may be NULL, gets how many nodes there were; `merged`, which may be NULL, gets which
/// node is gone and which stands for it. The caller frees it with `fxir_node_map_free`.
///
/// Statuses: FXIR_INVALID_ARGUMENT (the module has no graph). torch.fx has no such pass.
fxir_status fxir_deduplicate_get_attr(struct fxir_module *module,
                                      size_t *erased,
                                      struct fxir_node_map **merged,
                                      struct fxir_error **error);

/// Removes the tensors of the module, and of graph modules and holders below it, that no get_attr node
/// of any graph of the tree reads. What a leaf owns stays, and all below a module that a node hands on
/// as it is, or that is called and has no graph; settings, which are no tensors, stay too. Graphs that
/// nothing calls count: run `fxir_module_delete_all_unused_submodules` first. `removed`, which may be
/// NULL, gets how many tensors there were.
///
/// Statuses: FXIR_INVALID_ARGUMENT (the module has no graph). torch.fx has no such pass.
fxir_status fxir_module_delete_unused_attributes(struct fxir_module *module,
                                                 size_t *removed,
                                                 struct fxir_error **error);

/// Makes each call that makes a tensor of literals alone (`torch.tensor`, `zeros`, `ones`, `full`,
/// `arange`, `eye`, `scalar_tensor`, and their operators of `torch.ops.aten`) a get_attr node of a new
/// constant of the module, `_tensor_constant0` or the next that is free. Name, users and metadata of
/// the node stay. Dtypes and sizes are as torch makes them, its default dtype being float32.
///
/// A call stays when its tensor, or what may share its memory, is written or returned: a call makes a
/// new one each time. It also stays when the tensor takes more than `max_bytes` bytes (0: 1 MiB); when
/// it asks for gradients, pinned memory, or a device other than the CPU; when its elements are not known
/// to the bit (complex, float16, `arange` of floats); when metadata of the node says something else;
/// and when the graph changes the state of the process. `lifted`, which may be NULL, gets how many
/// nodes there were.
///
/// Statuses: FXIR_INVALID_ARGUMENT (the module has no graph), FXIR_LIMIT (modules nest too deep).
/// torch.fx: what `Tracer.create_arg` does with a tensor, and `lift_constants_pass` of `torch.export`.
fxir_status fxir_lift_constants(struct fxir_module *module,
                                uint64_t max_bytes,
                                size_t *lifted,
                                struct fxir_error **error);

/// Makes `*options` the defaults. Does nothing when it is NULL.
void fxir_size_options_init(struct fxir_size_options *options);

/// How many bytes one node takes; `counting` is one of FXIR_SIZE_IN_*.
///
/// Statuses: FXIR_STALE_NODE, FXIR_NOT_FOUND (it is not known what the node yields),
/// FXIR_UNSUPPORTED (a size is symbolic), FXIR_INVALID_ARGUMENT. torch.fx: `get_size_of_node`.
fxir_status fxir_get_size_of_node(const struct fxir_module *module,
                                  fxir_node node,
                                  int32_t counting,
                                  struct fxir_node_size *size,
                                  struct fxir_error **error);

/// How many bytes each node but the output takes, in graph order; `counting` is one of
/// FXIR_SIZE_IN_*. Fills `sizes` with as many as `capacity` allows; `count`, which may be NULL, gets
/// how many there are. `sizes` may be NULL when `capacity` is 0.
///
/// Statuses: FXIR_NOT_FOUND (it is not known what a node yields; `fxir_error_node` says which),
/// FXIR_UNSUPPORTED (a size is symbolic), FXIR_INVALID_ARGUMENT. torch.fx: `get_size_of_all_nodes`.
fxir_status fxir_get_size_of_all_nodes(const struct fxir_module *module,
                                       int32_t counting,
                                       struct fxir_node_size *sizes,
                                       size_t capacity,
                                       size_t *count,
                                       struct fxir_error **error);

/// How many bytes one node takes; `options` may be NULL for the defaults.
///
/// Statuses: FXIR_STALE_NODE, FXIR_NOT_FOUND (it is not known what the node yields),
/// FXIR_UNSUPPORTED (a size is symbolic, and not in the options; newer options),
/// FXIR_INVALID_ARGUMENT. torch.fx: `get_size_of_node`.
fxir_status fxir_get_size_of_node_with(const struct fxir_module *module,
                                       fxir_node node,
                                       const struct fxir_size_options *options,
                                       struct fxir_node_size *size,
                                       struct fxir_error **error);

/// How many bytes each node but the output takes, in graph order, else as
/// `fxir_get_size_of_all_nodes`; `options` may be NULL for the defaults.
///
/// Statuses: FXIR_NOT_FOUND (it is not known what a node yields; `fxir_error_node` says which),
/// FXIR_UNSUPPORTED (a size is symbolic, and not in the options; newer options),
/// FXIR_INVALID_ARGUMENT. torch.fx: `get_size_of_all_nodes`.
fxir_status fxir_get_size_of_all_nodes_with(const struct fxir_module *module,
                                            const struct fxir_size_options *options,
                                            struct fxir_node_size *sizes,
                                            size_t capacity,
                                            size_t *count,
                                            struct fxir_error **error);

/// Puts the graph in order: every node after what it uses, placeholders first, the output last.
/// Stable: of the nodes that could come next it is always the one that came first before, so a graph
/// that is in order does not change, and independent nodes keep their order.
///
/// Statuses: FXIR_LINT (nodes use each other in a circle; `fxir_error_nodes` gives all that are on it).
/// torch.fx: `legalize_graph`; `torch.fx.passes.tools_common.stable_topological_sort` too, which leaves
/// placeholders and the output among the others.
fxir_status fxir_legalize_graph(struct fxir_module *module,
                                struct fxir_error **error);

/// Puts a graph that was edited by hand in order, in time linear in nodes and edges: every node after
/// what it uses, placeholders first, the output last. A node that stands before something it uses
/// comes right behind the last of its inputs to come, and what waited for it right behind it: a chain
/// of nodes that was put in too early stays together, where `fxir_legalize_graph` lets what stood
/// between pass first. A graph that is in order does not change. `late`, which may be NULL, gets how
/// many nodes had to wait.
///
/// Statuses: FXIR_LINT (nodes use each other in a circle; `fxir_error_nodes` gives all that are on it).
/// torch: `stable_topological_sort` of `torch._inductor.pattern_matcher`; that of torch.fx is
/// `fxir_legalize_graph`.
fxir_status fxir_stable_topological_sort(struct fxir_module *module,
                                         size_t *late,
                                         struct fxir_error **error);

/// Makes every node of `old_op` (FXIR_OP_*) that has `old_target` a node of `new_op` with
/// `new_target`. Names, arguments, users and metadata stay. `replaced`, which may be NULL, gets how
/// many nodes there were.
///
/// Statuses: FXIR_INVALID_ARGUMENT (no op; placeholders and outputs have places of their own; an empty
/// target; a node that the new op does not fit: a get_attr takes no arguments, a method is called on
/// one), FXIR_NOT_FOUND (the module has no such member), FXIR_INVALID_UTF8. torch.fx:
/// `replace_target_nodes_with`.
fxir_status fxir_replace_target_nodes_with(struct fxir_module *module,
                                           int32_t old_op,
                                           const char *old_target,
                                           int32_t new_op,
                                           const char *new_target,
                                           size_t *replaced,
                                           struct fxir_error **error);

/// Makes a set of lists: `known` is one of FXIR_LOWERING_*. The caller frees `*attrs`.
///
/// Statuses: FXIR_INVALID_ARGUMENT. torch.fx: `extract_attrs_for_lowering`, whose table it is.
fxir_status fxir_lowering_attrs_new(int32_t known,
                                    struct fxir_lowering_attrs **attrs,
                                    struct fxir_error **error);

/// Gives a type of leaf module, `torch.nn.modules.linear.Linear`, its list: `count` names at `names`,
/// which may be NULL when `count` is 0. It takes the place of the one that the type had. A name may be
/// a dotted path to what lies in a module inside the leaf; `*` stands for all its own tensors that are
/// not named. Everything is copied.
///
/// Statuses: FXIR_INVALID_ARGUMENT (a name that is empty, or comes twice), FXIR_INVALID_UTF8.
fxir_status fxir_lowering_attrs_register(struct fxir_lowering_attrs *attrs,
                                         const char *type_name,
                                         const char *const *names,
                                         size_t count,
                                         struct fxir_error **error);

/// Frees a set. NULL and a dead handle do nothing.
void fxir_lowering_attrs_free(struct fxir_lowering_attrs *attrs);

/// Tells each node that calls a leaf, here and in the graph modules that are called, what the leaf
/// is: its meta gets a dict `attrs_for_lowering` of the leaf's type (`name`), its settings as they
/// are, and its tensors by their path from the module whose node it is. Of the types that torch.nn
/// has, quantized ones too (FXIR_LOWERING_TORCH_NN), just what their lists name is told. With `strict`
/// 1 a type without a list is refused, as torch does, and so is one that lacks a setting of its list;
/// with 0 all attributes are told. `nodes`, which may be NULL, gets how many nodes there were.
///
/// Statuses: FXIR_INVALID_ARGUMENT, FXIR_UNSUPPORTED (a type without a list), FXIR_NOT_FOUND (a node
/// calls what is no module, a setting is missing). torch.fx: `lift_lowering_attrs_to_nodes`.
fxir_status fxir_lift_lowering_attrs_to_nodes(struct fxir_module *module,
                                              int32_t strict,
                                              size_t *nodes,
                                              struct fxir_error **error);

/// The same with lists of the caller's.
///
/// Statuses: those of `fxir_lift_lowering_attrs_to_nodes`. torch.fx: `lift_lowering_attrs_to_nodes`.
fxir_status fxir_lift_lowering_attrs_to_nodes_with(struct fxir_module *module,
                                                   const struct fxir_lowering_attrs *attrs,
                                                   int32_t strict,
                                                   size_t *nodes,
                                                   struct fxir_error **error);

/// How many runs of passes there were; 0 when `report` is none.
size_t fxir_pass_report_count(const struct fxir_pass_report *report);

/// One run, counted from 0; NULL when there is none. It lives until the report is freed.
const struct fxir_pass_run *fxir_pass_report_run(const struct fxir_pass_report *report,
                                                 size_t index);

/// Whether any pass changed anything: 1 or 0; 0 when `report` is none. torch.fx:
/// `PassResult.modified`.
int32_t fxir_pass_report_modified(const struct fxir_pass_report *report);

/// A table for a person, one line a run. The caller frees `*table`.
fxir_status fxir_pass_report_print(const struct fxir_pass_report *report,
                                   struct fxir_buffer **table,
                                   struct fxir_error **error);

/// Frees a report. NULL and a dead handle do nothing.
void fxir_pass_report_free(struct fxir_pass_report *report);

/// Makes `*options` the defaults: once, without checks. Does nothing when it is NULL.
void fxir_pass_options_init(struct fxir_pass_options *options);

/// Makes a manager without passes, which the caller frees. torch.fx: `PassManager`.
fxir_status fxir_pass_manager_new(struct fxir_pass_manager **passes, struct fxir_error **error);

/// How many passes the library has by name: see `fxir_pass_manager_add`.
size_t fxir_built_in_pass_count(void);

/// The name of one of them, counted from 0; NULL when there is none. The text lives for ever.
const char *fxir_built_in_pass_name(size_t index);

/// Adds a pass of the library's, with its defaults: "deduplicate_get_attr",
/// "delete_all_unused_submodules", "delete_unused_attributes", "eliminate_common_subexpressions",
/// "eliminate_dead_code", "legalize_graph" (also "legalize"), "lift_constants",
/// "lift_lowering_attrs_to_nodes", "lint" or "normalize_args". Passes are counted from 0 in the order in which they are added; one may be added
/// several times.
///
/// Statuses: FXIR_NOT_FOUND (no pass has that name; the message lists those that there are),
/// FXIR_INVALID_UTF8. torch.fx: `PassManager.add_pass`.
fxir_status fxir_pass_manager_add(struct fxir_pass_manager *passes,
                                  const char *name,
                                  struct fxir_error **error);

/// Adds a pass that applies a set of patterns: once, as `fxir_pattern_set_apply` does, when `limit` is
/// 0, else to a fixpoint with at most so many rounds, as `fxir_pattern_set_apply_to_fixpoint` does. The
/// rules are those that the set has now; it may be changed and freed after. `name` is the caller's to
/// choose.
///
/// Statuses: FXIR_INVALID_UTF8.
fxir_status fxir_pass_manager_add_pattern_set(struct fxir_pass_manager *passes,
                                              const char *name,
                                              const struct fxir_pattern_set *set,
                                              size_t limit,
                                              struct fxir_error **error);

/// Adds a pass of the caller's. `destroy`, which may be NULL, is called with `user_data` once the pass
/// is used no more; never when this call fails. `name` is the caller's to choose.
///
/// Statuses: FXIR_INVALID_UTF8. torch.fx: `PassManager.add_pass`.
fxir_status fxir_pass_manager_add_function(struct fxir_pass_manager *passes,
                                           const char *name,
                                           fxir_pass_function function,
                                           void *user_data,
                                           fxir_destroy destroy,
                                           struct fxir_error **error);

/// How many passes were added; 0 when `passes` is none.
size_t fxir_pass_manager_count(const struct fxir_pass_manager *passes);

/// The name of a pass, counted from 0; NULL when there is none. It lives until the manager is freed.
const char *fxir_pass_manager_name(const struct fxir_pass_manager *passes,
                                   size_t index);

/// Says that every pass called `before` has to come before every pass called `after`, whether they
/// were added or will be. Runs keep to it: see `fxir_pass_manager_run`.
///
/// Statuses: FXIR_INVALID_ARGUMENT (one name for both), FXIR_INVALID_UTF8. torch.fx:
/// `PassManager.add_constraint` with `this_before_that_pass_constraint`.
fxir_status fxir_pass_manager_add_constraint(struct fxir_pass_manager *passes,
                                             const char *before,
                                             const char *after,
                                             struct fxir_error **error);

/// Checks whether the passes, in the order in which they were added, meet all constraints.
///
/// Statuses: FXIR_INVALID_ARGUMENT (they do not; the message names two passes). torch.fx:
/// `PassManager.validate_constraints`.
fxir_status fxir_pass_manager_validate_constraints(const struct fxir_pass_manager *passes,
                                                   struct fxir_error **error);

/// Runs all passes on a module that has a graph, in the order in which they were added, or, where
/// constraints ask for another, in the one that is nearest to it. The passes work on a copy: when one of
/// them fails, or a check, or a dump stops the run, nothing is changed, and the message names the pass.
/// Ids of nodes that were there before stay what they are; `fxir_error_node` may be a node that only the
/// copy had.
///
/// `options` may be NULL for the defaults. `report`, which may be NULL, gets what each pass did; the
/// caller frees it.
///
/// Statuses: those of the passes; FXIR_CALLBACK (a function or a dump returned a code); FXIR_LINT (a
/// check found something); FXIR_INVALID_ARGUMENT (the module has no graph; constraints that no order
/// meets), FXIR_UNSUPPORTED (newer options). torch.fx: `PassManager.__call__`.
fxir_status fxir_pass_manager_run(const struct fxir_pass_manager *passes,
                                  struct fxir_module *module,
                                  const struct fxir_pass_options *options,
                                  struct fxir_pass_report **report,
                                  struct fxir_error **error);

/// Frees a manager. NULL and a dead handle do nothing.
void fxir_pass_manager_free(struct fxir_pass_manager *passes);

/// Makes `*options` the defaults, which are those of torch.fx's `NormalizeArgs`. Does nothing when it
/// is NULL.
void fxir_normalize_options_init(struct fxir_normalize_options *options);

/// Brings every call of the module's graph into one form, by the signature of what is called:
/// overloads and operators of `torch.ops`, functions of torch and `operator`, methods of tensors,
/// modules of `torch.nn` by their type, and graph modules by their placeholders. Of several overloads
/// it is the one that the arguments fit. Nodes, their order, their users and what is known of them
/// stay; so do calls that are not known or do not fit. `options` may be NULL for the defaults;
/// `counts`, which may be NULL, gets how many calls there were.
///
/// Where torch.fx calls the parameter `self` of an operator `input`, this keeps `self` for
/// `torch.ops`, which takes no other name.
///
/// Statuses: FXIR_INVALID_ARGUMENT (an option that is none; when strict, a call that does not fit:
/// the message names the parameter), FXIR_NOT_FOUND (when strict, a call of something that is not
/// known; `fxir_error_node` says which), FXIR_UNSUPPORTED (newer options). torch.fx: `NormalizeArgs`.
fxir_status fxir_normalize_args(struct fxir_module *module,
                                const struct fxir_normalize_options *options,
                                struct fxir_normalized *counts,
                                struct fxir_error **error);

/// A snapshot of a node's arguments in the form that `fxir_normalize_args` would give them; the node
/// stays as it is. `*args` is NULL when nothing is known of what the node calls, its call does not fit,
/// or it is no call; when strict, that is an error. Free the snapshot with `fxir_args_free`.
///
/// Statuses: FXIR_STALE_NODE, and those of `fxir_normalize_args`. torch.fx:
/// `Node.normalized_arguments`.
fxir_status fxir_node_normalized_arguments(const struct fxir_module *module,
                                           fxir_node node,
                                           const struct fxir_normalize_options *options,
                                           struct fxir_args **args,
                                           struct fxir_error **error);

/// Makes `*options` the defaults. Does nothing when it is NULL.
void fxir_serialize_options_init(struct fxir_serialize_options *options);

/// Loads a network that torch's `serialize_module` (torch 1.8 to 1.12) or `fxir_module_save_json` wrote:
/// the JSON file, and the safetensors file with its weights, which is mapped, so that no weight is
/// read or copied. The weights file must not be shortened or written into while its tensors live;
/// replacing it by a rename is fine. `weights_path` may be NULL: then the tensors have metadata only.
/// The caller frees `*module`.
///
/// Statuses: FXIR_IO, FXIR_PARSE (with the line and column, or the name of the tensor that the weights
/// don't have), FXIR_LIMIT (nested too deep), FXIR_INVALID_UTF8, FXIR_UNSUPPORTED.
fxir_status fxir_module_load_json(const char *json_path,
                                  const char *weights_path,
                                  struct fxir_module **module,
                                  struct fxir_error **error);

/// Reads such a JSON that is in memory, `length` bytes at `json`. `weights`, which may be NULL, holds
/// its tensors, whose bytes are shared. The caller frees `*module`.
///
/// Statuses: FXIR_PARSE (with the line and column, or the name of the tensor that the weights don't
/// have), FXIR_LIMIT (nested too deep), FXIR_UNSUPPORTED.
fxir_status fxir_module_read_json(const char *json,
                                  size_t length,
                                  const struct fxir_weights *weights,
                                  struct fxir_module **module,
                                  struct fxir_error **error);

/// Serializes a module as torch's `serialize_module` does, in the form of torch 1.12 or of a release
/// before it (`options.schema`): the JSON, and the tensors that it names, in the order in which torch's
/// serializer finds them. `weights` may be NULL. The caller frees both; the tensors share their bytes
/// with the module. Scales and zero points of a tensor that is quantized by channel become tensors of
/// their own, of float32 and int32, as torch makes them. What JSON cannot hold (a slice, a device, inf)
/// becomes an object with a key `__py__`, which reads back as it was.
///
/// Statuses: FXIR_INVALID_ARGUMENT (metadata of a node is missing, and `fxir_error_node` says of which;
/// two tensors get one name; a number in the options is none that it can be), FXIR_UNSUPPORTED (a
/// get_attr reads what is no tensor; a leaf of a type without a list, with `strict_lowering`; newer
/// options), FXIR_NOT_FOUND (a node names what is no member). torch.fx: `serialize_module`.
fxir_status fxir_module_serialize(const struct fxir_module *module,
                                  const struct fxir_serialize_options *options,
                                  struct fxir_buffer **json,
                                  struct fxir_weights **weights,
                                  struct fxir_error **error);

/// Serializes a module to a callback, piece by piece; else as `fxir_module_serialize`. Everything is
/// checked before the first piece.
///
/// Statuses: FXIR_CALLBACK, and those of `fxir_module_serialize`.
fxir_status fxir_module_serialize_to(const struct fxir_module *module,
                                     const struct fxir_serialize_options *options,
                                     fxir_write write,
                                     void *user_data,
                                     struct fxir_weights **weights,
                                     struct fxir_error **error);

/// Serializes a module into two files: the JSON, and a safetensors file with its weights
/// (`weights_path` may be NULL to write none). Each is written beside its target and then renamed
/// over it, the JSON last, so that a call that fails leaves no half of a file; a module that was
/// loaded from these very files can be written back to them.
///
/// Statuses: FXIR_IO, FXIR_INVALID_UTF8, and those of `fxir_module_serialize` and
/// `fxir_weights_write`.
fxir_status fxir_module_save_json(const struct fxir_module *module,
                                  const char *json_path,
                                  const char *weights_path,
                                  const struct fxir_serialize_options *options,
                                  struct fxir_error **error);

/// Saves a module with all below it into one file, from which `fxir_module_load` makes the same again:
/// nodes with their names, arguments, metadata and the order of their users, members with their
/// tensors and what these share, and which names are given next. The file is a safetensors file; the
/// format is docs/native-format.md. It is written beside its target and then renamed over it, so that a
/// call that fails leaves what was there, and a module can be saved to the file that it was loaded
/// from.
///
/// Tensors are written as they lie, without a copy. What was not known stays so: a graph that lint
/// would refuse is saved as it is.
///
/// Statuses: FXIR_IO, FXIR_INVALID_UTF8, FXIR_LIMIT (what a node yields nests deeper than 64 levels, a
/// quantization deeper than 4), FXIR_INVALID_ARGUMENT (borrowed memory has shrunk). torch.fx: none;
/// torch pickles a `GraphModule`.
fxir_status fxir_module_save(const struct fxir_module *module,
                             const char *path,
                             struct fxir_error **error);

/// `fxir_module_save` to memory. The caller frees `*bytes`, which `fxir_buffer_size` tells the length
/// of: they are no text.
///
/// Statuses: as `fxir_module_save`, but for those of files.
fxir_status fxir_module_save_to_buffer(const struct fxir_module *module,
                                       struct fxir_buffer **bytes,
                                       struct fxir_error **error);

/// `fxir_module_save` to a callback, piece by piece, with no lock held. Everything is checked before
/// the first piece.
///
/// Statuses: FXIR_CALLBACK, and as `fxir_module_save`, but for those of files.
fxir_status fxir_module_save_to(const struct fxir_module *module,
                                fxir_write write,
                                void *user_data,
                                struct fxir_error **error);

/// Loads a module that `fxir_module_save` wrote. The file is mapped: no byte of a tensor is read or
/// copied. It must not be shortened or written into while its tensors live; replacing it by a rename is
/// fine. The caller frees `*module`.
///
/// Every file that a version of this library wrote is read by it and by newer ones; by older ones as
/// long as it holds nothing that they don't know.
///
/// Statuses: FXIR_IO, FXIR_PARSE (not such a file, or a broken one; with the line and column in its
/// document where there is a place), FXIR_UNSUPPORTED (a newer version wrote it; the message says what
/// is not known), FXIR_LIMIT (nested too deep), FXIR_INVALID_UTF8. torch.fx: none.
fxir_status fxir_module_load(const char *path,
                             struct fxir_module **module,
                             struct fxir_error **error);

/// `fxir_module_load` from `length` bytes at `data`, which stay the caller's: the tensors share them,
/// and `release`, which may be NULL, is called with `user_data` and `data` after the last of them is
/// gone, on whatever thread that is. A call that fails calls it not. The caller frees `*module`.
///
/// Statuses: as `fxir_module_load`, but for those of files.
fxir_status fxir_module_load_borrowed(const void *data,
                                      size_t length,
                                      fxir_release release,
                                      void *user_data,
                                      struct fxir_module **module,
                                      struct fxir_error **error);

/// An empty set. The caller frees `*weights`.
fxir_status fxir_weights_new(struct fxir_weights **weights, struct fxir_error **error);

/// Opens a safetensors file by a memory map, or, where the path ends in `.json`, an index
/// (`model.safetensors.index.json`) and all the files that it names: no byte of a tensor is read or
/// copied. The files must not be shortened or written into while their tensors live; replacing them by
/// a rename is fine. Tensors that the file says are one share their bytes. The caller frees `*weights`.
///
/// Statuses: FXIR_IO, FXIR_PARSE (not a safetensors file, a tensor that leaves the file, a hole, a
/// name twice; an index that names a file elsewhere, or a tensor that its file lacks), FXIR_UNSUPPORTED
/// (a dtype that torch does not have), FXIR_INVALID_UTF8.
fxir_status fxir_weights_open(const char *path,
                              struct fxir_weights **weights,
                              struct fxir_error **error);

/// Reads a safetensors file that is in memory and stays the caller's: the tensors share it, and
/// `release`, which may be NULL, is called with `user_data` after the last of them is gone. The
/// caller frees `*weights`.
///
/// Statuses: FXIR_PARSE, FXIR_UNSUPPORTED.
fxir_status fxir_weights_borrow(const void *data,
                                size_t length,
                                fxir_release release,
                                void *user_data,
                                struct fxir_weights **weights,
                                struct fxir_error **error);

/// Adds a tensor under a name, or puts it in the place of the one that has it. The bytes are shared,
/// the caller keeps its handle.
///
/// Statuses: FXIR_INVALID_UTF8.
fxir_status fxir_weights_set(struct fxir_weights *weights,
                             const char *name,
                             const struct fxir_tensor *tensor,
                             struct fxir_error **error);

/// How many tensors; 0 when `weights` is none.
size_t fxir_weights_count(const struct fxir_weights *weights);

/// The name of the tensor at `index`. The text lives until the set is freed; NULL when there is none.
const char *fxir_weights_name(const struct fxir_weights *weights,
                              size_t index);

/// The tensor at `index`. The caller frees it with `fxir_tensor_free`.
///
/// Statuses: FXIR_OUT_OF_RANGE.
fxir_status fxir_weights_tensor(const struct fxir_weights *weights,
                                size_t index,
                                struct fxir_tensor **tensor,
                                struct fxir_error **error);

/// The tensor of that name. The caller frees it with `fxir_tensor_free`.
///
/// Statuses: FXIR_NOT_FOUND, FXIR_INVALID_UTF8.
fxir_status fxir_weights_get(const struct fxir_weights *weights,
                             const char *name,
                             struct fxir_tensor **tensor,
                             struct fxir_error **error);

/// Writes a safetensors file: beside its target and then renamed over it, so that a failure leaves
/// what was there. Quantized tensors are written as their integers, tensors that lie otherwise
/// row-major. One tensor under several names is written once, and the header's metadata notes the other
/// names; a dtype that the format lacks (complex128, the sub-byte quantized ones) is noted there too, and
/// its bytes are stored as uint8. `fxir_weights_open` gives all of them back.
///
/// Statuses: FXIR_IO, FXIR_INVALID_ARGUMENT (a tensor without bytes), FXIR_LIMIT, FXIR_INVALID_UTF8.
fxir_status fxir_weights_write(const struct fxir_weights *weights,
                               const char *path,
                               struct fxir_error **error);

/// Writes several safetensors files of at most `max_shard_size` bytes of tensors each, a larger tensor
/// into one of its own, and the index that says which tensor is where, as Hugging Face lays them. `path`
/// is the index and ends in `.safetensors.index.json`; the files stand beside it:
/// `model.safetensors.index.json` has `model-00001-of-00002.safetensors` and so on. All are written
/// beside their targets first and renamed when every one is whole, the index last.
///
/// Statuses: those of `fxir_weights_write`; FXIR_INVALID_ARGUMENT (another kind of path) too.
fxir_status fxir_weights_write_sharded(const struct fxir_weights *weights,
                                       const char *path,
                                       uint64_t max_shard_size,
                                       struct fxir_error **error);

/// Writes the same bytes as `fxir_weights_write` to a callback, piece by piece.
///
/// Statuses: FXIR_CALLBACK, and those of `fxir_weights_write` but FXIR_IO.
fxir_status fxir_weights_write_to(const struct fxir_weights *weights,
                                  fxir_write write,
                                  void *user_data,
                                  struct fxir_error **error);

/// Frees a set. The bytes of its tensors go with their last user. NULL and a dead handle do nothing.
void fxir_weights_free(struct fxir_weights *weights);

/// Begins a file at `path`: it is written beside it, and takes its place when it is finished. The
/// caller frees `*writer`.
///
/// Statuses: FXIR_IO, FXIR_INVALID_UTF8.
fxir_status fxir_weights_writer_new(const char *path,
                                    struct fxir_weights_writer **writer,
                                    struct fxir_error **error);

/// The same into a callback, which is called while `fxir_weights_writer_write` and
/// `fxir_weights_writer_finish` are, on their threads, with pieces of 256 KiB or more but for the last.
/// The caller frees `*writer`.
fxir_status fxir_weights_writer_new_to(fxir_write write,
                                       void *user_data,
                                       struct fxir_weights_writer **writer,
                                       struct fxir_error **error);

/// Announces the next tensor: its name, element type (FXIR_DTYPE_*) and `rank` sizes at `shape`. All
/// are announced before the first bytes come; their bytes lie in the order in which they are announced.
/// Where element types are mixed, the widest first keeps all aligned.
///
/// Statuses: FXIR_INVALID_ARGUMENT (no dtype, a negative size, a name twice, the bytes have begun),
/// FXIR_INVALID_UTF8, FXIR_BUSY (another call uses the writer, or it has finished or failed).
fxir_status fxir_weights_writer_announce(struct fxir_weights_writer *writer,
                                         const char *name,
                                         int32_t dtype,
                                         const int64_t *shape,
                                         size_t rank,
                                         struct fxir_error **error);

/// Writes the next `length` bytes, row-major; where one tensor ends the next begins, so that pieces
/// need not end with tensors.
///
/// Statuses: FXIR_INVALID_ARGUMENT (more bytes than were announced: none of these is written), FXIR_BUSY
/// (as for `fxir_weights_writer_announce`); FXIR_IO, FXIR_CALLBACK and FXIR_LIMIT (too long a header),
/// after which the writer can only be freed.
fxir_status fxir_weights_writer_write(struct fxir_weights_writer *writer,
                                      const void *data,
                                      size_t length,
                                      struct fxir_error **error);

/// The end: the file takes its place. Once it has, the writer can only be freed.
///
/// Statuses: FXIR_INVALID_ARGUMENT (bytes are missing; the message names the tensor, and they may still
/// come), and those of `fxir_weights_writer_write`.
fxir_status fxir_weights_writer_finish(struct fxir_weights_writer *writer,
                                       struct fxir_error **error);

/// Frees a writer. A file that was not finished is removed, and what was at its path stays. NULL and a
/// dead handle do nothing.
void fxir_weights_writer_free(struct fxir_weights_writer *writer);

/// A tensor whose bytes stay the caller's: `length` bytes at `data`, which hold elements of `dtype`
/// (FXIR_DTYPE_*) with `rank` sizes at `shape` by the `strides`, counted in elements; NULL means
/// row-major. The bytes must neither change nor go before `release` is called with `user_data`;
/// `release` may be NULL for memory that lives for ever. The caller frees `*tensor`.
///
/// Statuses: FXIR_INVALID_ARGUMENT (no dtype, a negative size or stride, a size that overflows),
/// FXIR_OUT_OF_RANGE (the elements reach beyond `length`), FXIR_LIMIT (more than 64 dimensions).
/// torch: `torch.from_blob` of its C++ API.
fxir_status fxir_tensor_borrow(int32_t dtype,
                               const int64_t *shape,
                               size_t rank,
                               const int64_t *strides,
                               const void *data,
                               size_t length,
                               fxir_release release,
                               void *user_data,
                               struct fxir_tensor **tensor,
                               struct fxir_error **error);

/// A tensor that owns a copy of `length` bytes at `data`: elements of `dtype` (FXIR_DTYPE_*), with
/// `rank` sizes at `shape`, row-major, exactly as many bytes as they take. The caller frees
/// `*tensor`.
///
/// Statuses: FXIR_INVALID_ARGUMENT (no dtype, a negative size, another number of bytes), FXIR_LIMIT
/// (more than 64 dimensions).
fxir_status fxir_tensor_copy(int32_t dtype,
                             const int64_t *shape,
                             size_t rank,
                             const void *data,
                             size_t length,
                             struct fxir_tensor **tensor,
                             struct fxir_error **error);

/// A tensor that has metadata but no bytes, as torch's "meta" device has; its sizes may be symbolic.
/// The caller frees `*tensor`.
///
/// Statuses: FXIR_INVALID_ARGUMENT, FXIR_INVALID_UTF8, FXIR_LIMIT, FXIR_INVALID_HANDLE (in
/// `quantization`).
fxir_status fxir_tensor_without_data(const struct fxir_tensor_meta *meta,
                                     struct fxir_tensor **tensor,
                                     struct fxir_error **error);

/// The same bytes, shared, under other metadata: the same sizes, and a dtype whose elements have the
/// same width (what a file calls int8 may be a qint8). The caller frees `*tensor`.
///
/// Statuses: FXIR_INVALID_ARGUMENT, FXIR_INVALID_UTF8, FXIR_LIMIT.
fxir_status fxir_tensor_with_meta(const struct fxir_tensor *source,
                                  const struct fxir_tensor_meta *meta,
                                  struct fxir_tensor **tensor,
                                  struct fxir_error **error);

/// The element type, one of FXIR_DTYPE_*; FXIR_DTYPE_NONE when `tensor` is none.
int32_t fxir_tensor_dtype(const struct fxir_tensor *tensor);

/// How many dimensions; 0 when `tensor` is none.
size_t fxir_tensor_rank(const struct fxir_tensor *tensor);

/// The sizes, `fxir_tensor_rank` of them; -1 stands for one that is symbolic. They live until the
/// tensor is freed; NULL when there are none.
const int64_t *fxir_tensor_shape(const struct fxir_tensor *tensor);

/// The strides by which the bytes lie, in elements, `fxir_tensor_rank` of them. They live until the
/// tensor is freed; NULL for a tensor without bytes. What torch recorded may differ: that is
/// `fxir_tensor_meta_of(tensor)->stride`.
const int64_t *fxir_tensor_strides(const struct fxir_tensor *tensor);

/// The first byte. The bytes live until the tensor is freed, or longer; they may be aligned for no
/// type. NULL for a tensor without bytes.
const void *fxir_tensor_data(const struct fxir_tensor *tensor);

/// How many bytes from the first element's to the last one's; 0 for a tensor without bytes.
size_t fxir_tensor_size(const struct fxir_tensor *tensor);

/// 1 when the bytes lie row-major without gaps, else 0.
int32_t fxir_tensor_is_contiguous(const struct fxir_tensor *tensor);

/// All metadata. Lives until the tensor is freed; NULL when `tensor` is none.
const struct fxir_tensor_meta *fxir_tensor_meta_of(const struct fxir_tensor *tensor);

/// 1 when the two tensors use memory in common (tied weights, overlapping views), else 0.
int32_t fxir_tensor_shares_storage(const struct fxir_tensor *a, const struct fxir_tensor *b);

/// Frees a handle of a tensor. The bytes go with their last user. NULL and a dead handle do nothing.
void fxir_tensor_free(struct fxir_tensor *tensor);

/// Hands a tensor out as DLPack has it, flagged as read only: its bytes are shared, and live until the
/// receiver calls `deleter` on `*managed`, on whatever thread. The tensor may be freed before.
///
/// Statuses: FXIR_INVALID_ARGUMENT (a tensor without bytes), FXIR_UNSUPPORTED (DLPack has no such
/// element type, quantized ones for instance). torch: `Tensor.__dlpack__(max_version=(1, 1))`.
fxir_status fxir_tensor_to_dlpack(const struct fxir_tensor *tensor,
                                  struct DLManagedTensorVersioned **managed,
                                  struct fxir_error **error);

/// The same in DLPack's form without a version, which cannot say that the bytes are read only: whoever
/// receives it must not write.
///
/// Statuses: those of `fxir_tensor_to_dlpack`. torch: `torch.utils.dlpack.to_dlpack`.
fxir_status fxir_tensor_to_dlpack_unversioned(const struct fxir_tensor *tensor,
                                              struct DLManagedTensor **managed,
                                              struct fxir_error **error);

/// Takes a tensor that another library hands out: no byte is copied, and they must not change any more.
/// `deleter` is called on `managed` once, after the last tensor that uses the bytes is gone, with no lock
/// held, on whatever thread that is. A call that fails leaves `managed` to the caller. The caller frees
/// `*tensor`.
///
/// Statuses: FXIR_INVALID_ARGUMENT (sizes, strides or data that cannot be), FXIR_UNSUPPORTED (memory of
/// a device, an element type that torch does not have, another major version), FXIR_LIMIT (more than 64
/// dimensions). torch: `torch.from_dlpack`.
fxir_status fxir_tensor_from_dlpack(struct DLManagedTensorVersioned *managed,
                                    struct fxir_tensor **tensor,
                                    struct fxir_error **error);

/// The same from DLPack's form without a version.
///
/// Statuses: those of `fxir_tensor_from_dlpack`. torch: `torch.utils.dlpack.from_dlpack`.
fxir_status fxir_tensor_from_dlpack_unversioned(struct DLManagedTensor *managed,
                                                struct fxir_tensor **tensor,
                                                struct fxir_error **error);

/// The graph as a table, one line a node: opcode, name, target, args, kwargs. Functions that Python
/// would print with an address are told by their qualified names. Each line ends with a newline. The
/// caller frees `*table`.
///
/// torch.fx: `Graph.print_tabular`.
fxir_status fxir_graph_print_tabular(const struct fxir_module *module,
                                     struct fxir_buffer **table,
                                     struct fxir_error **error);

/// Makes `*options` the defaults: neither strides nor devices. Does nothing when it is NULL.
void fxir_text_options_init(struct fxir_text_options *options);

/// The module as text of one of the forms FXIR_TEXT_*, in UTF-8. `options` may be NULL for the
/// defaults, and only readable and verbose text looks at them. The caller frees `*text`.
///
/// Statuses: FXIR_INVALID_ARGUMENT (an unknown form; the module has no graph), FXIR_UNSUPPORTED
/// (newer options). torch.fx: see the forms.
fxir_status fxir_module_print(const struct fxir_module *module,
                              int32_t form,
                              const struct fxir_text_options *options,
                              struct fxir_buffer **text,
                              struct fxir_error **error);

/// `fxir_module_print` to a callback, which gets the text in pieces, with no lock held.
///
/// Statuses: FXIR_CALLBACK, and those of `fxir_module_print`.
fxir_status fxir_module_print_to(const struct fxir_module *module,
                                 int32_t form,
                                 const struct fxir_text_options *options,
                                 fxir_write write,
                                 void *user_data,
                                 struct fxir_error **error);

/// Reads FX code: a function, or a module class with those nested in it, as torch 1.13 to 2.15 prints
/// it (`code`, `print_readable`, TORCH_LOGS with prefixes and colours). Of text with several graphs it
/// is the first. `text` is UTF-8 and has `length` bytes. The caller frees `*module`.
///
/// Annotations become the metadata of nodes, `# File:` comments their `stack_trace`. Expressions in
/// arguments become nodes of their own, named as torch.fx would name them: `relu(x + y)` is a text
/// too. Names of torch's symbolic sizes (`s17`, `u0`) that nothing binds are symbolic ints.
///
/// `members`, which may be NULL, is a module whose members the new one gets, copied with their
/// tensors shared. What the text names beyond them becomes a leaf module of the type
/// "torch.nn.Module" where it is called, else a tensor without bytes if an annotation tells its
/// metadata, else the value None.
///
/// Statuses: FXIR_PARSE (`fxir_error_line` and `_column` say where; the message shows the line with a
/// caret), FXIR_LIMIT (brackets or operators nest too deep), FXIR_INVALID_UTF8. torch.fx: none.
fxir_status fxir_module_read_code(const char *text,
                                  size_t length,
                                  const struct fxir_module *members,
                                  struct fxir_module **module,
                                  struct fxir_error **error);

/// `fxir_module_read_code` of a file.
///
/// Statuses: FXIR_IO, and those of `fxir_module_read_code`.
fxir_status fxir_module_load_code(const char *path,
                                  const struct fxir_module *members,
                                  struct fxir_module **module,
                                  struct fxir_error **error);

/// Appends one statement of FX code to the graph, before its output: "y = torch.relu(x + 1)". Names in
/// it are those of the graph's nodes. `node`, which may be NULL, gets the node that was made last.
///
/// Statuses: FXIR_PARSE (as `fxir_module_read_code`; a name that no node has is one, but for symbolic sizes),
/// FXIR_INVALID_UTF8, FXIR_LIMIT. torch.fx: none.
fxir_status fxir_graph_append_code(struct fxir_module *module,
                                   const char *statement,
                                   fxir_node *node,
                                   struct fxir_error **error);

/// `fxir_replace_pattern` with pattern and replacement as text of Python functions, which are traced
/// as `fxir_trace_code` does it: two lines such as "def pattern(x, y):" and "    return torch.relu(x + y)".
/// Where they name members (`self.act(x)`), those of `module` are meant; one that it does not have is a
/// leaf module of the type "torch.nn.Module", or the value None where it is read. A name that nothing
/// defines is a function of that name: `accel.fused(x)`.
///
/// What tracing writes otherwise, `x += y` as an operator that works in place for one, is matched with
/// `fxir_module_read_code`, which takes FX code as it stands, and `fxir_replace_pattern`.
///
/// Statuses: FXIR_PARSE (the message begins with "pattern: " or "replacement: "), FXIR_INVALID_UTF8,
/// and those of `fxir_replace_pattern`. torch.fx: `replace_pattern_with_filters`, which traces its
/// functions.
fxir_status fxir_replace_pattern_text(struct fxir_module *module,
                                      const char *pattern,
                                      const char *replacement,
                                      const struct fxir_match_options *options,
                                      struct fxir_matches **matches,
                                      struct fxir_error **error);

/// The bytes. One NUL follows them, so that text can be used as a C string. Lives until the buffer
/// is freed; NULL when `buffer` is none.
const char *fxir_buffer_data(const struct fxir_buffer *buffer);

/// How many bytes, without the NUL; 0 when `buffer` is none.
size_t fxir_buffer_size(const struct fxir_buffer *buffer);

/// Frees a buffer. NULL and a dead handle do nothing.
void fxir_buffer_free(struct fxir_buffer *buffer);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#ifdef __cplusplus
extern "C" {
#endif

/* Arguments on the stack. Texts and arrays are not copied here, but by the call that gets them. */

static inline fxir_arg fxir_arg_of_kind(uint32_t kind) {
    fxir_arg arg; /* member by member: compilers then keep it out of memory until it has its place */
    arg.kind = kind;
    arg.flags = 0;
    arg.count = 0;
    arg.value.parts[0] = 0;
    arg.value.parts[1] = 0;
    return arg;
}

static inline fxir_arg fxir_arg_text(uint32_t kind, const char *text) {
    fxir_arg arg = fxir_arg_of_kind(kind);
    arg.count = text ? strlen(text) : 0;
    arg.value.text = text;
    return arg;
}

static inline fxir_arg fxir_arg_array(uint32_t kind, const fxir_arg *items, size_t count) {
    fxir_arg arg = fxir_arg_of_kind(kind);
    arg.count = count;
    arg.value.items = items;
    return arg;
}

/* None */
static inline fxir_arg fxir_arg_none(void) { return fxir_arg_of_kind(FXIR_ARG_NONE); }

/* ... */
static inline fxir_arg fxir_arg_ellipsis(void) { return fxir_arg_of_kind(FXIR_ARG_ELLIPSIS); }

/* True or False */
static inline fxir_arg fxir_arg_bool(int value) {
    fxir_arg arg = fxir_arg_of_kind(FXIR_ARG_BOOL);
    arg.value.integer = value ? 1 : 0;
    return arg;
}

static inline fxir_arg fxir_arg_int(int64_t value) {
    fxir_arg arg = fxir_arg_of_kind(FXIR_ARG_INT);
    arg.value.integer = value;
    return arg;
}

/* An int beyond 64 bits, in decimal digits. */
static inline fxir_arg fxir_arg_big_int(const char *digits) { return fxir_arg_text(FXIR_ARG_BIG_INT, digits); }

static inline fxir_arg fxir_arg_float(double value) {
    fxir_arg arg = fxir_arg_of_kind(FXIR_ARG_FLOAT);
    arg.value.real = value;
    return arg;
}

static inline fxir_arg fxir_arg_complex(double real, double imaginary) {
    fxir_arg arg = fxir_arg_of_kind(FXIR_ARG_COMPLEX);
    arg.value.parts[0] = real;
    arg.value.parts[1] = imaginary;
    return arg;
}

static inline fxir_arg fxir_arg_str(const char *text) { return fxir_arg_text(FXIR_ARG_STR, text); }

/* A string that need not end with a NUL, and may hold some. */
static inline fxir_arg fxir_arg_strn(const char *text, size_t length) {
    fxir_arg arg = fxir_arg_of_kind(FXIR_ARG_STR);
    arg.count = length;
    arg.value.text = text;
    return arg;
}

static inline fxir_arg fxir_arg_bytes(const void *bytes, size_t length) {
    fxir_arg arg = fxir_arg_of_kind(FXIR_ARG_BYTES);
    arg.count = length;
    arg.value.bytes = (const uint8_t *)bytes;
    return arg;
}

/* FXIR_DTYPE_* */
static inline fxir_arg fxir_arg_dtype(int32_t dtype) {
    fxir_arg arg = fxir_arg_of_kind(FXIR_ARG_DTYPE);
    arg.value.integer = dtype;
    return arg;
}

/* "cpu", "cuda:0" */
static inline fxir_arg fxir_arg_device(const char *device) { return fxir_arg_text(FXIR_ARG_DEVICE, device); }

/* "torch.strided" */
static inline fxir_arg fxir_arg_layout(const char *layout) { return fxir_arg_text(FXIR_ARG_LAYOUT, layout); }

/* "torch.contiguous_format" */
static inline fxir_arg fxir_arg_memory_format(const char *format) {
    return fxir_arg_text(FXIR_ARG_MEMORY_FORMAT, format);
}

/* "torch.per_tensor_affine" */
static inline fxir_arg fxir_arg_qscheme(const char *scheme) { return fxir_arg_text(FXIR_ARG_QSCHEME, scheme); }

/* A symbolic int, as it is spelled. */
static inline fxir_arg fxir_arg_symint(const char *symbol) { return fxir_arg_text(FXIR_ARG_SYMINT, symbol); }

static inline fxir_arg fxir_arg_list(const fxir_arg *items, size_t count) {
    return fxir_arg_array(FXIR_ARG_LIST, items, count);
}

static inline fxir_arg fxir_arg_tuple(const fxir_arg *items, size_t count) {
    return fxir_arg_array(FXIR_ARG_TUPLE, items, count);
}

/* `entries` keys and as many values, in turn: 2 * entries items. */
static inline fxir_arg fxir_arg_dict(const fxir_arg *keys_and_values, size_t entries) {
    return fxir_arg_array(FXIR_ARG_DICT, keys_and_values, entries);
}

/* Three items: start, stop and step. */
static inline fxir_arg fxir_arg_slice(const fxir_arg *start_stop_step) {
    return fxir_arg_array(FXIR_ARG_SLICE, start_stop_step, 3);
}

/* Three integers: start, stop and step. */
static inline fxir_arg fxir_arg_range(const int64_t *start_stop_step) {
    fxir_arg arg = fxir_arg_of_kind(FXIR_ARG_RANGE);
    arg.count = 3;
    arg.value.integers = start_stop_step;
    return arg;
}

static inline fxir_arg fxir_arg_node(fxir_node node) {
    fxir_arg arg = fxir_arg_of_kind(FXIR_ARG_NODE);
    arg.value.node = node;
    return arg;
}

static inline fxir_kwarg fxir_kwarg_of(const char *name, fxir_arg value) {
    fxir_kwarg kwarg;
    kwarg.name = name;
    kwarg.value = value;
    return kwarg;
}

#ifdef __cplusplus
}
#endif

#endif /* FXIR_H */
