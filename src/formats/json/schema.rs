//! What differs between the releases of torch that had `serialize_module`.

/// The form that is written. Every field is one thing that changed over the years; the constructors
/// are the forms that there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schema {
    /// The tensors that a graph module's `weights` begin with, needed by a node or not. Those of its
    /// nodes follow, in the order of the nodes.
    pub weights_first: WeightsFirst,
    /// How `weights` tell of quantization.
    pub weight_quantization: WeightQuantization,
    /// Whether a constant of the module above stands among the `weights` of the module that reads
    /// it, under its bare name.
    pub parent_weights: bool,
    /// Whether `requires_grad` is told, of nodes and weights.
    pub requires_grad: bool,
    /// Whether `stride` is told, of nodes and weights.
    pub stride: bool,
    /// Whether nodes tell `is_quantized`, and their scheme; weights always do.
    pub is_quantized: bool,
    /// Whether nodes tell their `users`.
    pub users: bool,
    /// Where it is told what a graph returns.
    pub output_info: OutputInfo,
    /// Whether several outputs are the `args` of the output node, not one list in them.
    pub unpack_output: bool,
    /// Which values of torch are written as the strings that Python prints for them.
    pub strings: Strings,
}

/// The tensors that `weights` begin with, in the order of torch's `named_parameters` and
/// `named_buffers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightsFirst {
    /// None.
    Nothing,
    /// Parameters.
    Parameters,
    /// Parameters, then buffers.
    ParametersAndBuffers,
    /// Buffers, then parameters.
    BuffersAndParameters,
}

/// How `weights` tell of quantization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightQuantization {
    /// In an object `quantized_type`, scales and zero points per channel as lists of numbers; the
    /// shape comes last.
    QuantizedType,
    /// Among the other keys; scales and zero points per channel are weights themselves.
    Weights,
}

/// Where it is told what a graph returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputInfo {
    /// At the output node.
    Node,
    /// At each node in the arguments of the output node.
    Args,
}

/// Which values of torch are written as strings; the others as the format's own encoding of what
/// JSON does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strings {
    /// `torch.float32` and its like.
    pub dtype: bool,
    /// `torch.contiguous_format` and its like.
    pub memory_format: bool,
    /// `torch.per_tensor_affine` and its like.
    pub qscheme: bool,
    /// `torch.strided` and its like.
    pub layout: bool,
}

impl Default for Schema {
    fn default() -> Self {
        Schema::torch_1_12()
    }
}

impl Schema {
    /// torch 1.8.
    pub fn torch_1_8() -> Self {
        Schema {
            weights_first: WeightsFirst::Parameters,
            weight_quantization: WeightQuantization::QuantizedType,
            parent_weights: true,
            requires_grad: false,
            stride: false,
            is_quantized: false,
            users: false,
            output_info: OutputInfo::Node,
            unpack_output: false,
            strings: Strings { dtype: false, memory_format: false, qscheme: false, layout: false },
        }
    }

    /// Between 1.8 and 1.9: parameters first, and the arguments of the output tell shape and dtype.
    pub fn output_args() -> Self {
        Schema { output_info: OutputInfo::Args, unpack_output: true, ..Schema::torch_1_8() }
    }

    /// Between 1.8 and 1.9: parameters and buffers first, `is_quantized` told, no strides.
    pub fn is_quantized() -> Self {
        Schema { stride: false, ..Schema::torch_1_9() }
    }

    /// torch 1.9.
    pub fn torch_1_9() -> Self {
        Schema {
            weights_first: WeightsFirst::ParametersAndBuffers,
            weight_quantization: WeightQuantization::Weights,
            stride: true,
            is_quantized: true,
            strings: Strings { dtype: true, ..Schema::torch_1_8().strings },
            ..Schema::output_args()
        }
    }

    /// torch 1.10 and 1.11.
    pub fn torch_1_10() -> Self {
        Schema {
            requires_grad: true,
            users: true,
            strings: Strings { dtype: true, memory_format: true, qscheme: true, layout: false },
            ..Schema::torch_1_9()
        }
    }

    /// torch 1.12, the last that had it.
    pub fn torch_1_12() -> Self {
        Schema { weights_first: WeightsFirst::Nothing, parent_weights: false, ..Schema::torch_1_10() }
    }
}
