//! What an operator is called with: everything that FX allows in `args` and `kwargs`.

use super::dtype::Dtype;
use super::error::{Error, ErrorKind, Result};
use super::node::NodeId;
use super::symbol::{Symbol, Symbols};
use smallvec::SmallVec;
use thin_vec::ThinVec;

/// One argument. Immutable once it is in a graph: editing sets a new one, so that `users` stays exact.
///
/// `Clone` copies symbols as they are: to carry an argument to a graph of another tree, use
/// [`Argument::transfer`].
#[derive(Debug, Clone)]
pub enum Argument {
    /// `None`.
    None,
    /// `True` or `False`; never equal to an int.
    Bool(bool),
    /// An int of 64 bits.
    Int(i64),
    /// An int beyond 64 bits, as decimal text.
    BigInt(Symbol),
    /// A float, with -0.0, inf and nan.
    Float(f64),
    /// Real and imaginary part.
    Complex(Box<[f64; 2]>),
    /// A string.
    Str(Symbol),
    /// A byte string.
    Bytes(ThinVec<u8>),
    /// `torch.float32` and its like.
    Dtype(Dtype),
    /// A device, spelled `cpu` or `cuda:0`.
    Device(Symbol),
    /// A layout, spelled `torch.strided`.
    Layout(Symbol),
    /// A memory format, spelled `torch.contiguous_format`.
    MemoryFormat(Symbol),
    /// A quantization scheme, spelled `torch.per_tensor_affine`.
    Qscheme(Symbol),
    /// `...`.
    Ellipsis,
    /// A symbolic int, as it was spelled.
    SymInt(Symbol),
    /// A list.
    List(ThinVec<Argument>),
    /// A tuple.
    Tuple(ThinVec<Argument>),
    /// A dict in its order; no node in a key.
    Dict(ThinVec<(Argument, Argument)>),
    /// Start, stop, step.
    Slice(Box<[Argument; 3]>),
    /// Start, stop, step.
    Range(Box<[i64; 3]>),
    /// What another node of the same graph yields.
    Node(NodeId),
}

// What most of a graph's memory is made of.
const _: () = assert!(size_of::<Argument>() == 16);

/// Positional arguments of a node. Two need no allocation.
pub type Args = SmallVec<[Argument; 2]>;

/// Keyword arguments of a node, in their order, names unique.
pub type Kwargs = ThinVec<(Symbol, Argument)>;

/// How deep lists, tuples, dicts and slices may nest; deeper is [`ErrorKind::Limit`]. The bound
/// lets everything that walks an argument recurse, however hostile its source.
pub const MAX_ARGUMENT_DEPTH: usize = 64;

impl Argument {
    /// Calls `visit` with every node in here, in order, as often as it occurs.
    #[inline]
    pub fn for_each_node(&self, visit: &mut impl FnMut(NodeId)) {
        match self {
            // Nearly all arguments are one node, or none.
            Argument::Node(node) => visit(*node),
            nested if nested.is_nested() => nested.for_each_node_inside(visit),
            _ => {}
        }
    }

    fn for_each_node_inside(&self, visit: &mut impl FnMut(NodeId)) {
        match self {
            Argument::List(items) | Argument::Tuple(items) => items.iter().for_each(|item| item.for_each_node(visit)),
            Argument::Dict(entries) => entries.iter().for_each(|(_, value)| value.for_each_node(visit)),
            Argument::Slice(parts) => parts.iter().for_each(|part| part.for_each_node(visit)),
            _ => {}
        }
    }

    /// Puts what `replace` gives in the place of every node in here. Says whether anything changed.
    #[inline]
    pub fn replace_nodes(&mut self, replace: &mut impl FnMut(NodeId) -> Option<Argument>) -> bool {
        match self {
            Argument::Node(node) => match replace(*node) {
                Some(argument) => {
                    *self = argument;
                    true
                }
                None => false,
            },
            nested if nested.is_nested() => nested.replace_nodes_inside(replace),
            _ => false,
        }
    }

    fn replace_nodes_inside(&mut self, replace: &mut impl FnMut(NodeId) -> Option<Argument>) -> bool {
        match self {
            Argument::List(items) | Argument::Tuple(items) => {
                items.iter_mut().fold(false, |changed, item| item.replace_nodes(replace) | changed)
            }
            Argument::Dict(entries) => {
                entries.iter_mut().fold(false, |changed, (_, value)| value.replace_nodes(replace) | changed)
            }
            Argument::Slice(parts) => {
                parts.iter_mut().fold(false, |changed, part| part.replace_nodes(replace) | changed)
            }
            _ => false,
        }
    }

    /// Whether a node occurs in here.
    pub fn holds_node(&self) -> bool {
        let mut holds = false;
        self.for_each_node(&mut |_| holds = true);
        holds
    }

    /// Refuses what no graph may hold: nesting beyond [`MAX_ARGUMENT_DEPTH`], a node in a dict's key.
    pub fn check(&self) -> Result<()> {
        self.check_within(MAX_ARGUMENT_DEPTH)
    }

    fn check_within(&self, left: usize) -> Result<()> {
        if !self.is_nested() {
            return Ok(());
        }
        if left == 0 {
            return Err(Error::new(
                ErrorKind::Limit,
                format!("an argument nests deeper than {MAX_ARGUMENT_DEPTH} levels"),
            ));
        }
        match self {
            Argument::List(items) | Argument::Tuple(items) => {
                items.iter().try_for_each(|item| item.check_within(left - 1))
            }
            Argument::Slice(parts) => parts.iter().try_for_each(|part| part.check_within(left - 1)),
            Argument::Dict(entries) => entries.iter().try_for_each(|(key, value)| {
                key.check_within(left - 1)?;
                if key.holds_node() {
                    return Err(Error::new(ErrorKind::InvalidArgument, "a node stands in the key of a dict"));
                }
                value.check_within(left - 1)
            }),
            _ => Ok(()),
        }
    }

    /// Whether other arguments can stand inside.
    pub fn is_nested(&self) -> bool {
        matches!(self, Argument::List(_) | Argument::Tuple(_) | Argument::Dict(_) | Argument::Slice(_))
    }

    /// A copy for another graph: symbols become those of `to`, and `node` says what stands for
    /// each node.
    pub fn transfer(
        &self,
        from: &Symbols,
        to: &Symbols,
        node: &mut impl FnMut(NodeId) -> Result<Argument>,
    ) -> Result<Argument> {
        let same = std::ptr::eq(from, to);
        let carry = |symbol: &Symbol| if same { *symbol } else { to.intern(from.text(*symbol)) };
        Ok(match self {
            Argument::Node(id) => node(*id)?,
            Argument::BigInt(s) => Argument::BigInt(carry(s)),
            Argument::Str(s) => Argument::Str(carry(s)),
            Argument::Device(s) => Argument::Device(carry(s)),
            Argument::Layout(s) => Argument::Layout(carry(s)),
            Argument::MemoryFormat(s) => Argument::MemoryFormat(carry(s)),
            Argument::Qscheme(s) => Argument::Qscheme(carry(s)),
            Argument::SymInt(s) => Argument::SymInt(carry(s)),
            Argument::List(items) => {
                Argument::List(items.iter().map(|i| i.transfer(from, to, node)).collect::<Result<_>>()?)
            }
            Argument::Tuple(items) => {
                Argument::Tuple(items.iter().map(|i| i.transfer(from, to, node)).collect::<Result<_>>()?)
            }
            Argument::Dict(entries) => Argument::Dict(
                entries
                    .iter()
                    .map(|(k, v)| Ok((k.transfer(from, to, node)?, v.transfer(from, to, node)?)))
                    .collect::<Result<_>>()?,
            ),
            Argument::Slice(parts) => {
                let [start, stop, step] = parts.as_ref();
                Argument::Slice(Box::new([
                    start.transfer(from, to, node)?,
                    stop.transfer(from, to, node)?,
                    step.transfer(from, to, node)?,
                ]))
            }
            plain => plain.clone(),
        })
    }

    /// A copy for another tree of an argument that holds no node; a node in it is an error.
    pub fn transfer_literal(&self, from: &Symbols, to: &Symbols) -> Result<Argument> {
        self.transfer(from, to, &mut |_| {
            Err(Error::new(ErrorKind::InvalidArgument, "a node stands where only literals may"))
        })
    }

    /// Equality of type and value, as a pattern's literals are compared: int, bool and float are
    /// never equal to each other, floats are compared bitwise but any nan equals any nan, lists and
    /// tuples match each other. `other` may belong to another tree; nodes are compared by `node`.
    pub fn same_literal(
        &self,
        symbols: &Symbols,
        other: &Argument,
        other_symbols: &Symbols,
        node: &mut impl FnMut(NodeId, NodeId) -> bool,
    ) -> bool {
        let text = |a: &Symbol, b: &Symbol| symbols.text(*a) == other_symbols.text(*b);
        match (self, other) {
            (Argument::None, Argument::None) | (Argument::Ellipsis, Argument::Ellipsis) => true,
            (Argument::Bool(a), Argument::Bool(b)) => a == b,
            (Argument::Int(a), Argument::Int(b)) => a == b,
            (Argument::Float(a), Argument::Float(b)) => same_float(*a, *b),
            (Argument::Complex(a), Argument::Complex(b)) => same_float(a[0], b[0]) && same_float(a[1], b[1]),
            (Argument::BigInt(a), Argument::BigInt(b))
            | (Argument::Str(a), Argument::Str(b))
            | (Argument::Device(a), Argument::Device(b))
            | (Argument::Layout(a), Argument::Layout(b))
            | (Argument::MemoryFormat(a), Argument::MemoryFormat(b))
            | (Argument::Qscheme(a), Argument::Qscheme(b))
            | (Argument::SymInt(a), Argument::SymInt(b)) => text(a, b),
            (Argument::Bytes(a), Argument::Bytes(b)) => a == b,
            (Argument::Dtype(a), Argument::Dtype(b)) => a == b,
            (Argument::Range(a), Argument::Range(b)) => a == b,
            (Argument::List(a) | Argument::Tuple(a), Argument::List(b) | Argument::Tuple(b)) => {
                a.len() == b.len()
                    && a.iter().zip(b.iter()).all(|(a, b)| a.same_literal(symbols, b, other_symbols, node))
            }
            (Argument::Dict(a), Argument::Dict(b)) => {
                a.len() == b.len()
                    && a.iter().zip(b.iter()).all(|((ka, va), (kb, vb))| {
                        ka.same_literal(symbols, kb, other_symbols, node)
                            && va.same_literal(symbols, vb, other_symbols, node)
                    })
            }
            (Argument::Slice(a), Argument::Slice(b)) => {
                a.iter().zip(b.iter()).all(|(a, b)| a.same_literal(symbols, b, other_symbols, node))
            }
            (Argument::Node(a), Argument::Node(b)) => node(*a, *b),
            _ => false,
        }
    }
}

fn same_float(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

impl From<NodeId> for Argument {
    fn from(node: NodeId) -> Self {
        Argument::Node(node)
    }
}

impl From<i64> for Argument {
    fn from(value: i64) -> Self {
        Argument::Int(value)
    }
}
