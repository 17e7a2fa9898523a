//! How the file has what JSON has not: an object whose `__py__` is the name of the Python type.
//!
//! | value | object |
//! |---|---|
//! | a float that is no number | `{"__py__": "float", "args": ["inf"]}`, `"-inf"`, `"nan"` |
//! | a complex number | `{"__py__": "complex", "args": [1.0, -0.0]}` |
//! | a slice, a range | `{"__py__": "slice", "args": [start, stop, step]}` |
//! | an Ellipsis | `{"__py__": "ellipsis", "args": []}` |
//! | a device | `{"__py__": "device", "args": ["cuda:0"]}` |
//! | a dtype, layout, memory format, qscheme that is no string | `{"__py__": "dtype", "args": ["torch.float16"]}` |
//! | a byte string | `{"__py__": "bytes", "args": [0, 255]}` |
//! | a symbolic int | `{"__py__": "SymInt", "args": ["s0"]}` |
//! | a dict that no object stands for | `{"__py__": "dict", "keys": [...], "values": [...]}` |
//! | in a `value`: a tuple, a tensor | `{"__py__": "tuple", "args": [...]}`, `{"__py__": "tensor", "shape": ...}` |

/// The key.
pub(super) const PY: &str = "__py__";
/// What the type is called with.
pub(super) const ARGS: &str = "args";
/// Instead of that, where another program wrote it: the text that Python's `str` gives.
pub(super) const STR: &str = "str";
/// The keys of a dict.
pub(super) const KEYS: &str = "keys";
/// The values of a dict, in the order of its keys.
pub(super) const VALUES: &str = "values";

/// The Python types that arguments have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PyType {
    Float,
    Complex,
    Slice,
    Range,
    Ellipsis,
    Device,
    Dtype,
    Layout,
    MemoryFormat,
    Qscheme,
    Bytes,
    SymInt,
    Dict,
}

impl PyType {
    const ALL: [(PyType, &'static str); 13] = [
        (PyType::Float, "float"),
        (PyType::Complex, "complex"),
        (PyType::Slice, "slice"),
        (PyType::Range, "range"),
        (PyType::Ellipsis, "ellipsis"),
        (PyType::Device, "device"),
        (PyType::Dtype, "dtype"),
        (PyType::Layout, "layout"),
        (PyType::MemoryFormat, "memory_format"),
        (PyType::Qscheme, "qscheme"),
        (PyType::Bytes, "bytes"),
        (PyType::SymInt, "SymInt"),
        (PyType::Dict, "dict"),
    ];

    /// Its name in the file.
    pub(super) fn name(self) -> &'static str {
        PyType::ALL.iter().find(|(known, _)| *known == self).map_or("", |(_, name)| name)
    }

    /// The type of that name; None for others, whose objects are plain dicts.
    pub(super) fn from_name(name: &str) -> Option<PyType> {
        PyType::ALL.iter().find(|(_, known)| *known == name).map(|(found, _)| *found)
    }
}

/// The `__py__` of a tuple, in a `value`.
pub(super) const TUPLE: &str = "tuple";
/// The `__py__` of a tensor's metadata, in a `value`.
pub(super) const TENSOR: &str = "tensor";
