//! Compares what two calls pass.

use super::attempt::{Attempt, Bound};
use super::callbacks::Ask;
use crate::ir::{Argument, NodeId, Op};
use crate::passes::schema::{self, known_in, Call, Overloads, Pair, Parameter};

impl<'a> Attempt<'a> {
    /// Compares the arguments of two calls; pairs of nodes are put aside.
    pub(super) fn match_arguments(&mut self, index: usize, node: NodeId, ask: &mut Ask<'_>) -> bool {
        let (pattern, place) = (self.pattern, self.place);
        let (wanted, found) = (&pattern.graph()[pattern.nodes()[index]], &place.graph[node]);
        if wanted.op() == Op::Output {
            return self.match_output(wanted.args().first(), found.args().first(), ask);
        }
        let first = Call { symbols: pattern.graph().symbols(), args: wanted.args(), kwargs: wanted.kwargs() };
        let second = Call { symbols: place.graph.symbols(), args: found.args(), kwargs: found.kwargs() };
        let same_form = schema::have_one_form(first, second);
        let overloads = if same_form { None } else { self.overloads(index) };
        let known = (known_in(pattern.graph()), known_in(place.graph));
        schema::same_arguments(overloads, first, second, known, |pair| match pair {
            Pair::Both(wanted, found) => self.match_argument(wanted, found, ask),
            Pair::First(wanted, parameter) => self.match_default(wanted, parameter, ask),
            Pair::Second(parameter, found) => self.default_matches(parameter, found, ask),
        })
    }

    /// By what signatures calls of different forms are compared. Operators with a schema always are,
    /// as in torch.
    fn overloads(&mut self, index: usize) -> Option<Overloads> {
        if let Some(known) = self.overloads[index] {
            return known;
        }
        let pattern = self.pattern;
        let (op, target) = (pattern.op(index), pattern.graph().target(pattern.nodes()[index]));
        let is_overload = || target.strip_prefix("torch.ops.").is_some_and(|path| path.matches('.').count() == 2);
        let found = match op {
            Op::CallFunction if self.options.normalize_args || is_overload() => schema::of_function(target),
            Op::CallMethod if self.options.normalize_args => schema::of_method(target),
            Op::CallModule if self.options.normalize_args => {
                let module = pattern.tree.submodule(pattern.module, target).and_then(|id| pattern.tree.get(id));
                module.ok().and_then(|it| schema::of_module(pattern.tree.symbols().text(it.type_name())))
            }
            _ => None,
        };
        self.overloads[index] = Some(found);
        found
    }

    /// What a pattern returns, its name-node map left aside.
    fn match_output(&mut self, wanted: Option<&'a Argument>, found: Option<&'a Argument>, ask: &mut Ask<'_>) -> bool {
        match (wanted, found) {
            (Some(Argument::List(items) | Argument::Tuple(items)), found) if !self.pattern.names().is_empty() => {
                let items = items.split_last().map_or(&[][..], |(_, items)| items);
                let Some(Argument::List(found) | Argument::Tuple(found)) = found else { return false };
                self.match_items(items, found, ask)
            }
            (Some(wanted), Some(found)) => self.match_argument(wanted, found, ask),
            (wanted, found) => wanted.is_none() && found.is_none(),
        }
    }

    fn match_items(&mut self, wanted: &'a [Argument], found: &'a [Argument], ask: &mut Ask<'_>) -> bool {
        wanted.len() == found.len() && wanted.iter().zip(found).all(|(a, b)| self.match_argument(a, b, ask))
    }

    /// Compares two arguments. Recursion is as deep as an argument.
    fn match_argument(&mut self, wanted: &'a Argument, found: &'a Argument, ask: &mut Ask<'_>) -> bool {
        match (wanted, found) {
            (Argument::Node(wanted), Argument::Node(found)) => {
                self.pairs.push((self.pattern.index(*wanted), *found));
                true
            }
            (Argument::Node(wanted), found) => self.bind_argument(self.pattern.index(*wanted), Bound::Argument(found)),
            (_, Argument::Node(_)) => false,
            (Argument::List(a) | Argument::Tuple(a), Argument::List(b) | Argument::Tuple(b)) if a.len() == b.len() => {
                self.match_items(a, b, ask)
            }
            (Argument::Dict(a), Argument::Dict(b)) if a.len() == b.len() => a
                .iter()
                .zip(b.iter())
                .all(|((key, a), (other, b))| self.same_literal(key, other) && self.match_argument(a, b, ask)),
            (Argument::Slice(a), Argument::Slice(b)) => {
                a.iter().zip(b.iter()).all(|(a, b)| self.match_argument(a, b, ask))
            }
            (wanted, found) => {
                if wanted.is_nested() && wanted.holds_node() || found.is_nested() && found.holds_node() {
                    return false;
                }
                let equal = self.options.ignore_literals || self.same_literal(wanted, found);
                ask.literals(wanted, found, equal)
            }
        }
    }

    /// The pattern gives what the graph leaves to a default.
    fn match_default(&mut self, wanted: &'a Argument, parameter: &Parameter<'_>, ask: &mut Ask<'_>) -> bool {
        let default = || parameter.default.as_ref().and_then(|it| it.to_argument(self.place.graph.symbols()));
        match wanted {
            Argument::Node(wanted) => {
                let Some(default) = default() else { return false };
                self.defaults.push(default);
                self.bind_argument(self.pattern.index(*wanted), Bound::Default(self.defaults.len() as u32 - 1))
            }
            wanted if wanted.is_nested() && wanted.holds_node() => false,
            wanted => {
                let symbols = self.pattern.graph().symbols();
                let equal = self.options.ignore_literals || parameter.is_default(wanted, symbols);
                default().map_or(equal, |default| ask.literals(wanted, &default, equal))
            }
        }
    }

    /// The graph gives what the pattern leaves to a default.
    fn default_matches(&mut self, parameter: &Parameter<'_>, found: &Argument, ask: &mut Ask<'_>) -> bool {
        if found.holds_node() {
            return false;
        }
        let equal = self.options.ignore_literals || parameter.is_default(found, self.place.graph.symbols());
        let symbols = self.pattern.graph().symbols();
        let default = parameter.default.as_ref().and_then(|it| it.to_argument(symbols));
        default.map_or(equal, |default| ask.literals(&default, found, equal))
    }

    /// A placeholder may stand for anything, the same wherever it stands.
    fn bind_argument(&mut self, index: usize, found: Bound<'a>) -> bool {
        if self.pattern.op(index) != Op::Placeholder || self.options.match_placeholder {
            return false;
        }
        let Some(before) = self.bound[index] else {
            self.bind(index, found);
            return true;
        };
        self.blame(index);
        let symbols = self.place.graph.symbols();
        match (self.argument(before), self.argument(found)) {
            (Some(before), Some(found)) => before.same_literal(symbols, found, symbols, &mut |a, b| a == b),
            _ => false,
        }
    }

    fn same_literal(&self, wanted: &Argument, found: &Argument) -> bool {
        wanted.same_literal(self.pattern.graph().symbols(), found, self.place.graph.symbols(), &mut |_, _| false)
    }
}
