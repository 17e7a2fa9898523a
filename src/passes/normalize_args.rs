//! Calls in one form: by keyword or by position, defaults left out, kept or filled in (torch's
//! `NormalizeArgs` and `Node.normalized_arguments`).
//!
//! Functions of torch, `operator` and `torch.ops`, methods of tensors and modules of `torch.nn` are
//! known by [`schema`](super::schema), graph modules by their placeholders. What is not known, or
//! called as it cannot be, stays as it is.

use super::schema::{self, known_in, Bound, BoundValue, Call, Choice, DefaultValue, Kind, Overloads, Schema};
use crate::ir::{
    Args, Argument, Error, ErrorKind, Graph, Kwargs, Member, ModuleId, ModuleKind, ModuleTree, Node, NodeId, Op,
    Result, Symbol,
};
use rustc_hash::FxHashMap;

/// How arguments are passed where there is a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// By keyword. By position stays what has no keyword: what a method is called on, `*args` and
    /// what comes before, a parameter called `from`.
    Keyword,
    /// By position, up to the first parameter that gets nothing; what comes behind it by keyword.
    Positional,
}

/// What becomes of arguments that are what the parameter gets anyhow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defaults {
    /// Those that are there stay.
    Keep,
    /// None stands.
    LeaveOut,
    /// All stand.
    FillIn,
}

/// What calls become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NormalizeOptions {
    /// How arguments are passed.
    pub form: Form,
    /// What becomes of defaults.
    pub defaults: Defaults,
    /// The keyword for `self` of an operator of `torch.ops` is `input`, as torch.fx has it; such a
    /// call can be read, but torch would not run it.
    pub input_for_self: bool,
    /// A call that is not known, or does not fit, is an error.
    pub strict: bool,
}

/// As torch's `NormalizeArgs`: by keyword, defaults filled in.
impl Default for NormalizeOptions {
    fn default() -> Self {
        NormalizeOptions { form: Form::Keyword, defaults: Defaults::FillIn, input_for_self: false, strict: false }
    }
}

/// How many calls of a graph there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Normalized {
    /// Brought into another form.
    pub changed: usize,
    /// Of that form before.
    pub kept: usize,
    /// Left alone: nothing is known of what they call.
    pub unknown: usize,
    /// Left alone: they do not fit what they call, or fit several overloads.
    pub misfits: usize,
}

/// Brings every call of a graph into one form. Nodes, their order, their users and what is known of
/// them stay. Refused when strict, naming the node: a call of something that is not known
/// ([`ErrorKind::NotFound`]), and one that does not fit ([`ErrorKind::InvalidArgument`]).
pub fn normalize_args(tree: &mut ModuleTree, module: ModuleId, options: NormalizeOptions) -> Result<Normalized> {
    let mut counts = Normalized::default();
    let mut plans: Vec<(NodeId, Args, Kwargs)> = Vec::new();
    let graph = tree.graph(module)?;
    let mut normalizer = Normalizer::new(tree, module, graph, options);
    for node in graph.nodes() {
        match normalizer.judge(node) {
            Judged::NoCall => {}
            Judged::Same => counts.kept += 1,
            Judged::New(args, kwargs) => {
                counts.changed += 1;
                plans.push((node, args, kwargs));
            }
            Judged::Unknown if !options.strict => counts.unknown += 1,
            Judged::Misfit if !options.strict => counts.misfits += 1,
            Judged::Unknown | Judged::Misfit => return Err(normalizer.refusal(node)),
        }
    }
    let graph = tree.graph_mut(module)?;
    for (node, args, kwargs) in plans {
        graph.rearrange(node, args, kwargs)?;
    }
    Ok(counts)
}

/// The arguments of one node in another form, the node left as it is; none where nothing is known of
/// what it calls or the call does not fit, or the node is no call; an error instead when strict.
pub fn normalized_arguments(
    tree: &ModuleTree,
    module: ModuleId,
    node: NodeId,
    options: NormalizeOptions,
) -> Result<Option<(Args, Kwargs)>> {
    let graph = tree.graph(module)?;
    let found = graph.get(node)?;
    let mut normalizer = Normalizer::new(tree, module, graph, options);
    match normalizer.judge(node) {
        Judged::New(args, kwargs) => Ok(Some((args, kwargs))),
        Judged::Same => Ok(Some((found.args().into(), found.kwargs().into()))),
        Judged::NoCall | Judged::Unknown | Judged::Misfit if !options.strict => Ok(None),
        Judged::NoCall => {
            let message = format!("node {} is a {}, no call", graph.name(node), found.op().name());
            Err(Error::new(ErrorKind::InvalidArgument, message).at_node(node))
        }
        Judged::Unknown | Judged::Misfit => Err(normalizer.refusal(node)),
    }
}

enum Judged {
    NoCall,
    Unknown,
    Misfit,
    Same,
    New(Args, Kwargs),
}

/// What a node calls.
enum Callee<'t> {
    Unknown,
    Known(Overloads),
    Graph(Schema<'t>),
}

struct Normalizer<'t> {
    tree: &'t ModuleTree,
    module: ModuleId,
    graph: &'t Graph,
    options: NormalizeOptions,
    callees: FxHashMap<(Op, Symbol), Callee<'t>>,
}

impl<'t> Normalizer<'t> {
    fn new(tree: &'t ModuleTree, module: ModuleId, graph: &'t Graph, options: NormalizeOptions) -> Self {
        Normalizer { tree, module, graph, options, callees: FxHashMap::default() }
    }

    fn judge(&mut self, node: NodeId) -> Judged {
        let (graph, options) = (self.graph, self.options);
        let found = &graph[node];
        if !matches!(found.op(), Op::CallFunction | Op::CallMethod | Op::CallModule) {
            return Judged::NoCall;
        }
        let call = call_of(graph, found);
        match self.callee(found) {
            Callee::Unknown => Judged::Unknown,
            Callee::Graph(schema) => match schema.bind(call) {
                Ok(bound) => told(call, arrange(schema, &bound, call, options)),
                Err(_) => Judged::Misfit,
            },
            Callee::Known(overloads) => {
                let known = known_in(graph);
                let mut options = options;
                let (schema, bound) = match overloads.choose(call, &known) {
                    Choice::One(schema, bound) => (schema, bound),
                    Choice::Alike(schema, bound) => {
                        // Whose defaults they would be is not known.
                        if options.defaults == Defaults::FillIn {
                            options.defaults = Defaults::Keep;
                        }
                        (schema, bound)
                    }
                    Choice::Misfit(_) | Choice::Ambiguous => return Judged::Misfit,
                };
                // Another form may fit another overload: then the call would be another one.
                let is_chosen = |form: &Option<(Args, Kwargs)>| match form {
                    Some((args, kwargs)) if overloads.is_plural() => {
                        let call = Call { symbols: graph.symbols(), args, kwargs };
                        let (Choice::One(other, _) | Choice::Alike(other, _)) = overloads.choose(call, &known) else {
                            return false;
                        };
                        std::ptr::eq(schema, other)
                    }
                    form => form.is_some(),
                };
                let form = arrange(schema, &bound, call, options);
                if is_chosen(&form) {
                    return told(call, form);
                }
                let form = arrange(schema, &bound, call, NormalizeOptions { defaults: Defaults::Keep, ..options });
                told(call, form.filter(|form| is_chosen(&Some(form.clone()))))
            }
        }
    }

    fn callee(&mut self, node: &Node) -> &Callee<'t> {
        let (tree, module) = (self.tree, self.module);
        let target = self.graph.text(node.target());
        let known = |overloads: Option<Overloads>| overloads.map_or(Callee::Unknown, Callee::Known);
        self.callees.entry((node.op(), node.target())).or_insert_with(|| match node.op() {
            Op::CallFunction => known(schema::of_function(target)),
            Op::CallMethod => known(schema::of_method(target)),
            _ => match tree.resolve(module, target) {
                Some(Member::Module(called)) => callee_of_module(tree, called),
                _ => Callee::Unknown,
            },
        })
    }

    /// Why a call is left alone.
    #[cold]
    fn refusal(&mut self, node: NodeId) -> Error {
        let graph = self.graph;
        let (found, target) = (&graph[node], graph.target(node));
        let call = call_of(graph, found);
        let misfit = match self.callee(found) {
            Callee::Unknown => {
                let message = format!("node {} calls {target}, of which nothing is known", graph.name(node));
                return Error::new(ErrorKind::NotFound, message).at_node(node);
            }
            Callee::Graph(schema) => schema.bind(call).err().map(|error| error.to_string()),
            Callee::Known(overloads) => match overloads.choose(call, known_in(graph)) {
                Choice::Misfit(Some(error)) => Some(error.to_string()),
                Choice::Misfit(None) => Some("it fits none of its overloads".to_owned()),
                Choice::Ambiguous => Some("it fits several of its overloads".to_owned()),
                Choice::One(..) | Choice::Alike(..) => None,
            },
        };
        let why = misfit.unwrap_or_else(|| "in another form it would be another call".to_owned());
        let message = format!("node {} calls {target} as it cannot be called: {why}", graph.name(node));
        Error::new(ErrorKind::InvalidArgument, message).at_node(node)
    }
}

fn call_of<'a>(graph: &'a Graph, node: &'a Node) -> Call<'a> {
    Call { symbols: graph.symbols(), args: node.args(), kwargs: node.kwargs() }
}

fn callee_of_module(tree: &ModuleTree, called: ModuleId) -> Callee<'_> {
    let Ok(found) = tree.get(called) else { return Callee::Unknown };
    match found.kind() {
        ModuleKind::Leaf => {
            schema::of_module(tree.symbols().text(found.type_name())).map_or(Callee::Unknown, Callee::Known)
        }
        // A header takes the inputs apart: the placeholders are not what it is called with.
        ModuleKind::Graph(graph) if graph.signature.pytree_header.is_none() => {
            Callee::Graph(Schema::new(tree.symbols().text(found.type_name()), placeholders(graph)))
        }
        _ => Callee::Unknown,
    }
}

fn placeholders(graph: &Graph) -> impl Iterator<Item = (&str, Kind, Option<DefaultValue<'_>>)> {
    let mut named = Kind::PositionalOrKeyword;
    graph.placeholders().map(move |node| {
        let target = graph.target(node);
        let (name, kind) = match (target.strip_prefix("**"), target.strip_prefix('*')) {
            (Some(name), _) => (name, Kind::VarKeyword),
            (None, Some(name)) => {
                named = Kind::KeywordOnly;
                (name, Kind::VarPositional)
            }
            (None, None) => (target, named),
        };
        (name, kind, graph[node].args().first().map(DefaultValue::Argument))
    })
}

fn told(call: Call<'_>, form: Option<(Args, Kwargs)>) -> Judged {
    match form {
        None => Judged::Misfit,
        Some((args, kwargs)) => {
            let is_same = args.len() == call.args.len()
                && kwargs.len() == call.kwargs.len()
                && kwargs.iter().zip(call.kwargs).all(|((a, _), (b, _))| a == b)
                // One int may have become a list of it.
                && args.iter().zip(call.args).all(|(a, b)| std::mem::discriminant(a) == std::mem::discriminant(b));
            if is_same {
                Judged::Same
            } else {
                Judged::New(args, kwargs)
            }
        }
    }
}

/// The arguments in the form that is asked for; none where a default that has to stand cannot be
/// spelled.
fn arrange(
    schema: &Schema<'_>,
    bound: &Bound<'_>,
    call: Call<'_>,
    options: NormalizeOptions,
) -> Option<(Args, Kwargs)> {
    let symbols = call.symbols;
    let forced = last_without_keyword(schema, bound);
    let (mut args, mut kwargs) = (Args::new(), Kwargs::new());
    let mut in_a_row = true;
    for (index, (parameter, value)) in schema.parameters.iter().zip(&bound.values).enumerate() {
        let is_forced = forced.is_some_and(|last| index <= last);
        let stated = match value {
            BoundValue::Items(items) if parameter.kind == Kind::VarPositional => {
                args.extend(items.iter().cloned());
                continue;
            }
            BoundValue::Items(items) => Some(Argument::List(items.iter().cloned().collect())),
            BoundValue::Given(argument) => Some((*argument).clone()),
            BoundValue::Absent => None,
        };
        let default = parameter.default.as_ref();
        let argument = match (stated, options.defaults) {
            (Some(argument), Defaults::LeaveOut) if !is_forced && parameter.is_default(&argument, symbols) => None,
            (Some(argument), _) => Some(argument),
            (None, Defaults::FillIn) => default.and_then(|default| default.to_argument(symbols)),
            (None, _) if is_forced => default.and_then(|default| default.to_argument(symbols)),
            (None, _) => None,
        };
        let may_be_positional = matches!(parameter.kind, Kind::PositionalOnly | Kind::PositionalOrKeyword);
        match argument {
            Some(argument) if is_forced || (in_a_row && may_be_positional && by_position(parameter.kind, options)) => {
                args.push(argument);
            }
            Some(argument) => kwargs.push((symbols.intern(keyword(schema, parameter.name, options)), argument)),
            None if is_forced && may_be_positional => return None,
            None => in_a_row &= !may_be_positional,
        }
    }
    kwargs.extend(bound.extra.iter().map(|&entry| entry.clone()));
    Some((args, kwargs))
}

fn by_position(kind: Kind, options: NormalizeOptions) -> bool {
    kind == Kind::PositionalOnly || options.form == Form::Positional
}

/// Everything up to here has to stand by position.
fn last_without_keyword(schema: &Schema<'_>, bound: &Bound<'_>) -> Option<usize> {
    schema.parameters.iter().zip(&bound.values).rposition(|(parameter, value)| {
        matches!(parameter.kind, Kind::PositionalOnly | Kind::VarPositional) && !matches!(value, BoundValue::Absent)
    })
}

fn keyword<'n>(schema: &Schema<'_>, name: &'n str, options: NormalizeOptions) -> &'n str {
    let is_input = options.input_for_self && name == "self" && schema.reads_input_as_self();
    if is_input {
        "input"
    } else {
        name
    }
}
