//! Code that takes its inputs out of a pytree and puts its outputs back: what a graph's signature
//! keeps of it, `Signature::pytree_header`, is what follows `def`, then the lines that bind the
//! inputs, then what is returned with `{}` in the place of the outputs.

/// The parts of a header.
pub(super) struct Pytree<'a> {
    /// `forward(self, x)`
    pub(super) function: &'a str,
    /// `x, = fx_pytree.tree_flatten_spec(([x], {}), self._in_spec)`
    pub(super) bindings: Vec<&'a str>,
    /// Before and after the outputs: `pytree.tree_unflatten(` and `, self._out_spec)`.
    pub(super) returned: (&'a str, &'a str),
}

impl<'a> Pytree<'a> {
    pub(super) fn of(header: &'a str) -> Option<Self> {
        let mut lines = header.lines();
        let function = lines.next()?;
        let returned = lines.next_back()?.split_once("{}")?;
        Some(Pytree { function, bindings: lines.collect(), returned })
    }

    pub(super) fn header(&self) -> String {
        let mut lines = vec![self.function];
        lines.extend(&self.bindings);
        let (before, after) = self.returned;
        lines.join("\n") + "\n" + before + "{}" + after
    }
}
