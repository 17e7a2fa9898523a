//! Which functions do more than return a value: facts about torch, where neither names nor signatures
//! tell.

use super::purity::Impurity;

/// Whether a function acts on the world: not just on what it is called with.
pub(super) fn acts_on_the_world(name: &str) -> bool {
    let is_below = |space: &&str| name.strip_prefix(*space).is_some_and(|rest| rest.starts_with('.'));
    name.starts_with("torch.set_")
        || IMPURE_FUNCTIONS.binary_search(&name).is_ok()
        || IMPURE_NAMESPACES.iter().any(is_below)
}

/// Whether all that a function does besides is to look at values and stop, or to tell of them.
pub(super) fn only_checks(name: &str) -> bool {
    ONLY_CHECKS.iter().any(|known| match name.strip_prefix(*known) {
        Some(rest) => rest.is_empty() || rest.starts_with('.'),
        None => false,
    })
}

/// Namespaces of functions that act on the world.
const IMPURE_NAMESPACES: &[&str] = &[
    "_heapq",
    "_warnings",
    "heapq",
    "logging",
    "numpy.random",
    "random",
    "torch.ops.c10d",
    "torch.ops._c10d_functional",
    "torch.ops.profiler",
    "torch.ops.inductor",
    "torch.ops.debugprims",
    "torch.distributed",
    "torch.random",
    "torch._C._distributed_c10d",
    "warnings",
];

/// Functions that act on the world, sorted.
const IMPURE_FUNCTIONS: &[&str] = &[
    "_bisect.insort_left",
    "_bisect.insort_right",
    "bisect.insort",
    "bisect.insort_left",
    "bisect.insort_right",
    "builtins.breakpoint",
    "builtins.delattr",
    "builtins.eval",
    "builtins.exec",
    "builtins.input",
    "builtins.next",
    "builtins.open",
    "builtins.print",
    "builtins.setattr",
    "gc.collect",
    "time.sleep",
    "torch._C._set_grad_enabled",
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
    "torch.amp._enter_autocast",
    "torch.amp._exit_autocast",
    "torch.amp.autocast_mode._enter_autocast",
    "torch.amp.autocast_mode._exit_autocast",
    "torch.autograd.backward",
    "torch.cuda.empty_cache",
    "torch.cuda.manual_seed",
    "torch.cuda.manual_seed_all",
    "torch.cuda.seed",
    "torch.cuda.seed_all",
    "torch.cuda.set_device",
    "torch.cuda.set_rng_state",
    "torch.cuda.set_stream",
    "torch.cuda.synchronize",
    "torch.manual_seed",
    "torch.nn.functional.assert_int_or_pair",
    "torch.ops.higher_order.print",
    "torch.ops.higher_order.with_effects",
    "torch.save",
    "torch.seed",
    "torch.sym_constrain_range",
    "torch.sym_constrain_range_for_size",
    "torch.use_deterministic_algorithms",
];

/// Methods of tensors, lists, dicts, sets, files, generators and streams that change them, or the
/// world, and do not look it; sorted. No method of tensors without such an effect is called so.
#[rustfmt::skip]
pub(super) const IMPURE_METHODS: &[&str] = &[
    "__delattr__", "__delitem__", "__enter__", "__exit__", "__next__", "__setattr__", "__setitem__",
    "__setstate__", "acquire", "append", "appendleft", "backward", "clear", "close",
    "difference_update", "discard", "extend", "extendleft", "flush", "insert",
    "intersection_update", "load_state_dict", "manual_seed", "move_to_end", "pop", "popitem",
    "popleft", "put_nowait", "read", "readline", "record", "record_event", "record_stream",
    "release", "remove", "retain_grad", "reverse", "rotate", "seed", "seek", "send", "set_data",
    "set_offset", "set_state", "setdefault", "step", "symmetric_difference_update", "synchronize",
    "throw", "update", "wait", "wait_event", "wait_stream", "write", "writelines", "zero_grad",
];

/// Methods that change a list, and yield something new of a tensor.
pub(super) const METHODS_OF_LISTS: &[&str] = &["sort"];

/// Methods that change a set or a counter, and yield something new of a tensor.
pub(super) const METHODS_OF_SETS: &[&str] = &["add", "subtract"];

/// What has to hold of the arguments of a call.
#[derive(Debug, Clone, Copy)]
pub(super) enum Test {
    /// The argument is not surely False.
    NotFalse(&'static str),
    /// One of the arguments may be something other than None.
    AnyGiven(&'static [&'static str]),
}

const STATISTICS: Test = Test::AnyGiven(&["running_mean", "running_var"]);

/// Functions and operators that write into an argument if all these hold, where schemas do not tell.
pub(super) const WRITES_IF: &[(&[&str], &[Test])] = &[
    (
        &["batch_norm", "native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm", "_batch_norm_impl_index"],
        &[Test::NotFalse("training"), STATISTICS],
    ),
    (&["instance_norm"], &[Test::NotFalse("use_input_stats"), STATISTICS]),
    (&["batch_norm_gather_stats", "batch_norm_gather_stats_with_counts", "batch_norm_update_stats"], &[STATISTICS]),
    (&["embedding", "embedding_bag"], &[Test::AnyGiven(&["max_norm"])]),
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

/// What leaf modules of a type do besides yielding a value.
pub(super) struct LeafRule {
    /// In the name of the class; with a dot, in the whole name of the type.
    pub(super) part: &'static str,
    pub(super) does: Impurity,
    /// The settings with which it does.
    pub(super) if_all: &'static [Setting],
}

/// What has to hold of a setting of a leaf module.
#[derive(Debug, Clone, Copy)]
pub(super) enum Setting {
    /// It is not known to be False.
    NotFalse(&'static str),
    /// It is not known to be zero, or None.
    NotZero(&'static str),
    /// It is known, and not None.
    Given(&'static str),
}

const TRAINED: Setting = Setting::NotFalse("training");
const TRACKS: Setting = Setting::NotFalse("track_running_stats");

const fn leaf(part: &'static str, does: Impurity, if_all: &'static [Setting]) -> LeafRule {
    LeafRule { part, does, if_all }
}

/// Each that fits counts.
pub(super) const LEAVES: &[LeafRule] = &[
    leaf("BatchNorm", Impurity::Counts, &[TRAINED, TRACKS]),
    leaf("InstanceNorm", Impurity::Counts, &[TRAINED, TRACKS]),
    leaf("Embedding", Impurity::Acts, &[Setting::Given("max_norm")]),
    leaf("FakeQuantize", Impurity::Counts, &[]),
    leaf("Observer", Impurity::Counts, &[]),
    leaf(".qat.", Impurity::Counts, &[]),
    // Makes its parameters when it is called first.
    leaf(".Lazy", Impurity::Acts, &[]),
    leaf("Dropout", Impurity::Draws, &[TRAINED, Setting::NotZero("p")]),
    leaf("DropPath", Impurity::Draws, &[TRAINED]),
    leaf("StochasticDepth", Impurity::Draws, &[TRAINED]),
    leaf("RReLU", Impurity::Draws, &[TRAINED]),
    leaf("FractionalMaxPool", Impurity::Draws, &[]),
    leaf("GRU", Impurity::Draws, &[TRAINED, Setting::NotZero("dropout")]),
    leaf("LSTM", Impurity::Draws, &[TRAINED, Setting::NotZero("dropout")]),
    leaf("RNN", Impurity::Draws, &[TRAINED, Setting::NotZero("dropout")]),
    leaf("MultiheadAttention", Impurity::Draws, &[TRAINED, Setting::NotZero("dropout")]),
    leaf("Transformer", Impurity::Draws, &[TRAINED]),
];

/// Functions, operators with all their overloads, and spaces of functions.
const ONLY_CHECKS: &[&str] = &[
    "_warnings",
    "builtins.print",
    "logging",
    "time.sleep",
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
    "torch.nn.functional.assert_int_or_pair",
    "torch.ops.aten._assert_async",
    "torch.ops.aten._assert_scalar",
    "torch.ops.aten._assert_tensor_metadata",
    "torch.ops.higher_order.print",
    "torch.ops.profiler",
    "torch.save",
    "torch.sym_constrain_range",
    "torch.sym_constrain_range_for_size",
    "warnings",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_searched_is_sorted() {
        assert!(IMPURE_FUNCTIONS.is_sorted());
        assert!(IMPURE_METHODS.is_sorted());
        assert!(MAKES_NEW.is_sorted());
    }
}
