//! The one error of the core: what kind, in words, and where.

use super::node::NodeId;

/// What went wrong, coarse enough to act upon. Each kind is one status of the C ABI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// An argument makes no sense, alone or with the others.
    InvalidArgument,
    /// An index is beyond the end.
    OutOfRange,
    /// A name, path or key leads nowhere.
    NotFound,
    /// A name is taken.
    AlreadyExists,
    /// A node id is stale, or of another graph.
    StaleNode,
    /// A node still has users.
    InUse,
    /// A file or text is not what it should be.
    Parse,
    /// The operating system said no.
    Io,
    /// An invariant of the graph does not hold.
    Lint,
    /// A valid request that cannot be met.
    Unsupported,
    /// A callback stopped the call, with this code of its own.
    Callback(i32),
    /// A size or depth is beyond what the library takes.
    Limit,
    /// The module is in use by a call that has not returned.
    Busy,
}

/// A line and a column in a text, both counted from 1; columns count bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
}

/// What every fallible function of the core returns on failure.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// A sentence for a person; names the node and the operator where there is one.
    pub message: String,
    /// The node it is about.
    pub node: Option<NodeId>,
    /// All the nodes it is about, `node` first, when there are several: of a cycle every node on it,
    /// each before the one that uses it.
    pub nodes: Box<[NodeId]>,
    /// Where in the text that was read.
    pub place: Option<Place>,
}

/// The result of every fallible function of the core.
pub type Result<T> = std::result::Result<T, Error>;

/// A number of things in words: "1 node", "2 nodes".
pub(crate) fn counted(count: impl TryInto<u64>, what: &str) -> String {
    match count.try_into() {
        Ok(1) => format!("1 {what}"),
        Ok(count) => format!("{count} {what}s"),
        Err(_) => format!("too many {what}s"),
    }
}

impl Error {
    /// An error that is about no node and no text.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error { kind, message: message.into(), node: None, nodes: Box::default(), place: None }
    }

    /// The same error, said of `node`.
    pub fn at_node(mut self, node: NodeId) -> Self {
        self.node = Some(node);
        self
    }

    /// The same error, said of several nodes.
    pub fn at_nodes(mut self, nodes: impl Into<Box<[NodeId]>>) -> Self {
        self.nodes = nodes.into();
        self.node = self.nodes.first().copied();
        self
    }

    /// The nodes it is about: all of `nodes`, or the one that is `node`, or none.
    pub fn all_nodes(&self) -> &[NodeId] {
        match self.nodes.as_ref() {
            [] => self.node.as_slice(),
            nodes => nodes,
        }
    }

    /// The same error, said of a place in a text.
    pub fn at_place(mut self, line: usize, column: usize) -> Self {
        self.place = Some(Place { line, column });
        self
    }
}
