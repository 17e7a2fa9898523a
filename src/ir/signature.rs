//! How a graph's code is spelled beyond its nodes.

/// What a graph's code says besides its nodes; each as it was spelled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signature {
    /// The annotation of what it returns.
    pub return_annotation: Option<String>,
    /// The lines that take the inputs out of a pytree and put the outputs back.
    pub pytree_header: Option<String>,
    /// Functions that are called by a bare name (`torch.fx.wrap`).
    pub wrapped: Vec<String>,
}

impl Signature {
    /// Takes over what another graph's code calls by bare names.
    pub(crate) fn wrap_also(&mut self, other: &Signature) {
        for name in &other.wrapped {
            if !self.wrapped.contains(name) {
                self.wrapped.push(name.clone());
            }
        }
    }
}
