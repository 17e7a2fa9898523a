//! Which functions do more than return a value: facts about torch, where neither names nor signatures
//! tell.

/// Namespaces of functions that act on the world.
pub(super) const IMPURE_NAMESPACES: &[&str] = &[
    "torch.ops.c10d",
    "torch.ops._c10d_functional",
    "torch.ops.profiler",
    "torch.ops.inductor",
    "torch.ops.debugprims",
    "torch.distributed",
    "torch.random",
    "torch._C._distributed_c10d",
];

/// Functions that act on the world.
pub(super) const IMPURE_FUNCTIONS: &[&str] = &[
    "builtins.delattr",
    "builtins.exec",
    "builtins.eval",
    "builtins.input",
    "builtins.next",
    "builtins.print",
    "builtins.setattr",
    "torch._assert",
    "torch._assert_async",
    "torch._assert_scalar",
    "torch._assert_tensor_metadata",
    "torch._C._set_grad_enabled",
    "torch._check",
    "torch._check_is_size",
    "torch._check_index",
    "torch._check_not_implemented",
    "torch._check_tensor_all",
    "torch._check_type",
    "torch._check_value",
    "torch._check_with",
    "torch.amp._enter_autocast",
    "torch.amp._exit_autocast",
    "torch.amp.autocast_mode._enter_autocast",
    "torch.amp.autocast_mode._exit_autocast",
    "torch.manual_seed",
    "torch.ops.higher_order.print",
    "torch.ops.higher_order.with_effects",
    "torch.save",
    "torch.seed",
    "torch.set_default_device",
    "torch.set_default_dtype",
    "torch.set_default_tensor_type",
    "torch.set_grad_enabled",
    "torch.set_rng_state",
    "torch.sym_constrain_range",
    "torch.sym_constrain_range_for_size",
    "torch.use_deterministic_algorithms",
];

/// Methods of tensors, lists and dicts that change them, or the world, and do not look it.
pub(super) const IMPURE_METHODS: &[&str] = &[
    "__setitem__",
    "__delitem__",
    "__setattr__",
    "__delattr__",
    "append",
    "backward",
    "clear",
    "extend",
    "insert",
    "pop",
    "popitem",
    "record_stream",
    "register_hook",
    "remove",
    "retain_grad",
    "set_data",
    "setdefault",
    "update",
];

/// Functions of torch that draw random numbers, where no schema tells.
pub(super) const RANDOM_FUNCTIONS: &[&str] = &[
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "gumbel_softmax",
    "multi_head_attention_forward",
    "run_with_rng_state",
];

/// Modules of `torch.nn` that draw random numbers while they are trained.
pub(super) const RANDOM_LEAVES: &[&str] = &[
    "AlphaDropout",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "FeatureAlphaDropout",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "RReLU",
];

/// Those of [`IMPURE_FUNCTIONS`], and a space of functions, that look at values and stop, or tell of
/// them.
pub(super) const ONLY_CHECKS: &[&str] = &[
    "builtins.print",
    "torch._assert",
    "torch._assert_async",
    "torch._assert_scalar",
    "torch._assert_tensor_metadata",
    "torch._check",
    "torch._check_index",
    "torch._check_is_size",
    "torch._check_not_implemented",
    "torch._check_tensor_all",
    "torch._check_type",
    "torch._check_value",
    "torch._check_with",
    "torch.ops.aten._assert_async",
    "torch.ops.aten._assert_scalar",
    "torch.ops.aten._assert_tensor_metadata",
    "torch.ops.higher_order.print",
    "torch.ops.profiler",
    "torch.save",
    "torch.sym_constrain_range",
    "torch.sym_constrain_range_for_size",
];

/// In the names of modules that change while they are trained, or draw random numbers then.
pub(super) const TRAINED_LEAVES: &[&str] = &[
    "BatchNorm",
    "Dropout",
    "EmbeddingBag",
    "FakeQuantize",
    "FractionalMaxPool",
    "GRU",
    "InstanceNorm",
    "LSTM",
    "MultiheadAttention",
    "Observer",
    "RNN",
    "RReLU",
    "Transformer",
];

/// Operators whose results share memory with none of their arguments, by the names that they have as
/// functions and methods, sorted.
#[rustfmt::skip]
pub(super) const MAKES_NEW: &[&str] = &[
    "abs", "acos", "acosh", "add", "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addr", "all",
    "amax", "amin", "any", "arange", "argmax", "argmin", "argsort", "asin", "asinh", "atan",
    "atan2", "atanh", "baddbmm", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "bmm",
    "cat", "ceil", "clamp", "clamp_max", "clamp_min", "clone", "conv1d", "conv2d", "conv3d",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution", "cos", "cosh",
    "cumprod", "cumsum", "dim", "div", "dot", "elu", "empty", "empty_like", "eq", "erf", "erfc",
    "exp", "exp2", "expm1", "eye", "fill", "flip", "floor", "floor_divide", "fmod", "full",
    "full_like", "gather", "ge", "gelu", "group_norm", "gt", "hardsigmoid", "hardswish", "hardtanh",
    "index_add", "index_select", "isfinite", "isinf", "isnan", "layer_norm", "le", "leaky_relu",
    "lerp", "linear", "linspace", "log", "log10", "log1p", "log2", "log_softmax", "logical_and",
    "logical_not", "logical_or", "logical_xor", "logsumexp", "lt", "masked_fill", "masked_select",
    "matmul", "max", "maximum", "mean", "min", "minimum", "mm", "mul", "multiply", "mv", "ne",
    "neg", "new_empty", "new_full", "new_ones", "new_zeros", "nonzero", "numel", "one_hot", "ones",
    "ones_like", "outer", "pow", "prod", "reciprocal", "relu", "relu6", "remainder", "rms_norm",
    "round", "rsqrt", "rsub", "scalar_tensor", "scatter", "scatter_add", "selu", "sigmoid", "sign",
    "silu", "sin", "sinh", "size", "softmax", "softplus", "sort", "sqrt", "square", "stack", "std",
    "sub", "subtract", "sum", "tan", "tanh", "tensor", "topk", "tril", "triu", "true_divide",
    "trunc", "var", "where", "zeros", "zeros_like",
];
