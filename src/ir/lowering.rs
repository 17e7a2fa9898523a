//! Which attributes of a leaf module a backend needs: torch's table of `extract_attrs_for_lowering`.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use rustc_hash::{FxHashMap, FxHashSet};

use super::argument::Argument;
use super::error::{Error, ErrorKind, Result};
use super::module::{Attribute, TensorKind};
use super::symbol::Symbol;
use super::tensor::Tensor;
use super::tree::{ModuleId, ModuleTree};

/// Lists of attributes by type of leaf module. A clone shares them.
#[derive(Debug, Clone)]
pub struct LoweringAttrs {
    built_in: BuiltIn,
    registered: Arc<Registered>,
}

/// The caller's lists, by type.
type Registered = FxHashMap<Box<str>, Arc<[Box<str>]>>;

/// The attributes of a type, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttrNames<'a> {
    /// From the library's table.
    BuiltIn(&'static [&'static str]),
    /// Registered by the caller.
    Registered(&'a [Box<str>]),
}

/// What a leaf module has, by name or dotted path.
pub type LeafMembers<'t> = Vec<(Cow<'t, str>, LeafMember<'t>)>;

/// What a leaf module has under a name of its type's list.
#[derive(Debug, Clone, Copy)]
pub enum LeafMember<'t> {
    /// A tensor.
    Tensor(TensorKind, &'t Arc<Tensor>),
    /// A setting.
    Value(&'t Argument),
    /// A tensor that it was made without, which Python has as None.
    NoTensor,
    /// A setting that nobody told.
    Missing,
}

/// Stands in a list for every tensor that the module holds itself and the list does not name.
pub const ALL_TENSORS: &str = "*";

/// The table that comes with the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BuiltIn {
    Nothing,
    Torch1_12,
    TorchNn,
}

impl Default for LoweringAttrs {
    fn default() -> Self {
        LoweringAttrs::torch_nn()
    }
}

impl LoweringAttrs {
    /// The leaf modules of `torch.nn` and its quantized ones. The six that torch 1.12 knows have
    /// what it takes of them; of the others, their tensors and what their constructors set.
    pub fn torch_nn() -> Self {
        LoweringAttrs { built_in: BuiltIn::TorchNn, registered: Arc::default() }
    }

    /// The six types that torch 1.12 knows.
    pub fn torch_1_12() -> Self {
        LoweringAttrs { built_in: BuiltIn::Torch1_12, registered: Arc::default() }
    }

    /// No type: of every module all attributes are taken.
    pub fn nothing() -> Self {
        LoweringAttrs { built_in: BuiltIn::Nothing, registered: Arc::default() }
    }

    /// Gives a type its list, in the place of the one it had. A name may be a dotted path to what
    /// lies in a module inside it, or [`ALL_TENSORS`].
    pub fn register<S: AsRef<str>>(&mut self, type_name: &str, attributes: &[S]) -> Result<()> {
        let is_path = |name: &str| name.split('.').all(|part| !part.is_empty() && !part.contains('\0'));
        let wrong = |name: &str| {
            Error::new(ErrorKind::InvalidArgument, format!("{name:?} is no name, and no path of names parted by dots"))
        };
        if !is_path(type_name) {
            return Err(wrong(type_name));
        }
        if let Some(name) = attributes.iter().find(|name| !is_path(name.as_ref())) {
            return Err(wrong(name.as_ref()));
        }
        let mut seen = FxHashSet::default();
        for name in attributes {
            if !seen.insert(name.as_ref()) {
                let message = format!("{:?} is in the list twice", name.as_ref());
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
        }
        let attributes = attributes.iter().map(|name| name.as_ref().into()).collect();
        Arc::make_mut(&mut self.registered).insert(type_name.into(), attributes);
        Ok(())
    }

    /// What a leaf module has under the names of its type's list, in that order; None if its type has
    /// no list.
    pub fn members<'t>(&self, tree: &'t ModuleTree, leaf: ModuleId) -> Result<Option<LeafMembers<'t>>> {
        let symbols = tree.symbols();
        let found = tree.get(leaf)?;
        let Some(names) = self.of_type(symbols.text(found.type_name())) else { return Ok(None) };
        let mut members = Vec::new();
        for name in names.iter() {
            if name == ALL_TENSORS {
                let is_named = |found: Symbol| names.iter().any(|name| name == symbols.text(found));
                members.extend(found.attributes().iter().filter_map(|(&name, attribute)| match attribute {
                    Attribute::Tensor(kind, tensor) if !is_named(name) => {
                        Some((symbols.text(name).into(), LeafMember::Tensor(*kind, tensor)))
                    }
                    _ => None,
                }));
                continue;
            }
            let member = match tree.attribute(leaf, name) {
                Ok(Attribute::Tensor(kind, tensor)) => LeafMember::Tensor(*kind, tensor),
                Ok(Attribute::Value(value)) => LeafMember::Value(value),
                Err(_) if is_optional_tensor(name) => LeafMember::NoTensor,
                Err(_) => LeafMember::Missing,
            };
            members.push((name.to_owned().into(), member));
        }
        Ok(Some(members))
    }

    /// The list of a type, which may be spelled by its short path (`torch.nn.Conv2d`) or by where
    /// newer releases have it (`torch.ao.nn.quantized.modules.linear.Linear`). None if it has none.
    pub fn of_type(&self, type_name: &str) -> Option<AttrNames<'_>> {
        if let Some(list) = self.registered.get(type_name) {
            return Some(AttrNames::Registered(list));
        }
        let is_known = match self.built_in {
            BuiltIn::Nothing => return None,
            BuiltIn::Torch1_12 => |name: &str| TORCH_1_12.contains(&name),
            BuiltIn::TorchNn => |_: &str| true,
        };
        let table = &*TABLE;
        let (name, list) = match table.by_name.get_key_value(type_name) {
            Some(found) => found,
            None => match type_name.strip_prefix("torch.ao.") {
                Some(rest) => table.by_name.get_key_value(format!("torch.{rest}").as_str())?,
                None => {
                    let short = type_name.strip_prefix("torch.nn.").filter(|rest| !rest.contains('.'))?;
                    table.by_name.get_key_value(*table.by_short_name.get(short)?)?
                }
            },
        };
        is_known(name).then_some(AttrNames::BuiltIn(list))
    }
}

impl<'a> AttrNames<'a> {
    /// The names, in order.
    pub fn iter(self) -> impl Iterator<Item = &'a str> {
        let (built_in, registered) = match self {
            AttrNames::BuiltIn(names) => (names, [].as_slice()),
            AttrNames::Registered(names) => ([].as_slice(), names),
        };
        built_in.iter().copied().chain(registered.iter().map(|name| &**name))
    }
}

/// Whether a module that has no attribute of that name has None there: a tensor that it was made without.
fn is_optional_tensor(name: &str) -> bool {
    matches!(name.rsplit('.').next(), Some("weight" | "bias" | "running_mean" | "running_var" | "num_batches_tracked"))
}

/// Those that torch 1.12 knows.
const TORCH_1_12: [&str; 6] = [
    "torch.nn.modules.linear.Linear",
    "torch.nn.modules.conv.Conv2d",
    "torch.nn.modules.batchnorm.BatchNorm2d",
    "torch.nn.modules.pooling.AdaptiveAvgPool2d",
    "torch.nn.modules.pooling.MaxPool2d",
    "torch.nn.modules.activation.ReLU",
];

struct Table {
    by_name: FxHashMap<&'static str, Vec<&'static str>>,
    /// Of `torch.nn` alone: the quantized ones have the same short names.
    by_short_name: FxHashMap<&'static str, &'static str>,
}

/// A line a type: its name and its attributes, parted by spaces.
static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table { by_name: FxHashMap::default(), by_short_name: FxHashMap::default() };
    for line in include_str!("lowering_attrs.txt").lines() {
        let mut words = line.split(' ');
        let Some(name) = words.next() else { continue };
        table.by_name.insert(name, words.collect());
        if name.starts_with("torch.nn.modules.") {
            table.by_short_name.insert(name.rsplit('.').next().unwrap_or(name), name);
        }
    }
    table
});

#[cfg(test)]
mod tests {
    use super::*;

    fn names(attrs: &LoweringAttrs, type_name: &str) -> Option<Vec<String>> {
        attrs.of_type(type_name).map(|names| names.iter().map(str::to_owned).collect())
    }

    #[test]
    fn types_are_found_by_any_of_their_names() {
        let attrs = LoweringAttrs::torch_nn();
        for name in ["torch.nn.modules.linear.Linear", "torch.nn.Linear"] {
            assert_eq!(names(&attrs, name).unwrap(), ["weight", "bias"]);
        }
        for name in ["torch.nn.quantized.modules.linear.Linear", "torch.ao.nn.quantized.modules.linear.Linear"] {
            assert_eq!(
                names(&attrs, name).unwrap(),
                ["weight", "bias", "scale", "zero_point", "in_features", "out_features"]
            );
        }
        assert_eq!(names(&attrs, "torch.nn.modules.pooling.AdaptiveAvgPool2d").unwrap(), [""; 0]);
        for unknown in ["Linear", "torch.nn.Unknown", "torch.nn.quantized.Linear", "my.Linear", ""] {
            assert_eq!(names(&attrs, unknown), None, "{unknown}");
        }
    }

    #[test]
    fn torch_1_12_knows_six() {
        let attrs = LoweringAttrs::torch_1_12();
        for name in TORCH_1_12 {
            assert_eq!(names(&attrs, name), names(&LoweringAttrs::torch_nn(), name));
            assert!(names(&LoweringAttrs::nothing(), name).is_none());
        }
        assert_eq!(names(&attrs, "torch.nn.modules.activation.Tanh"), None);
    }

    #[test]
    fn the_caller_s_list_wins() {
        let mut attrs = LoweringAttrs::torch_nn();
        let before = attrs.clone();
        attrs.register("torch.nn.modules.linear.Linear", &["weight", "sub.scale"]).unwrap();
        assert_eq!(names(&attrs, "torch.nn.modules.linear.Linear").unwrap(), ["weight", "sub.scale"]);
        assert_eq!(names(&before, "torch.nn.modules.linear.Linear").unwrap(), ["weight", "bias"]);
        attrs.register("my.Own", &[""; 0]).unwrap();
        assert_eq!(names(&attrs, "my.Own").unwrap(), [""; 0]);
        for (type_name, attribute) in [("", "a"), ("A", ""), ("A", "a..b"), ("A", "\0")] {
            assert!(attrs.register(type_name, &[attribute]).is_err());
        }
    }
}
