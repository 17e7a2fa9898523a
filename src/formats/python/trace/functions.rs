//! How torch.fx records calls of torch's own functions: many are written in Python and name their
//! arguments in their own way before the call is seen. `tools/recorded_functions.py` makes the table.

use crate::formats::python::literal::parse_literal;
use crate::ir::{Argument, Symbols};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// Lines `spelled = recorded`, `spelled (parameters) = recorded (positional; keywords)`, and with
/// `.method` for what is recorded as a method.
const TABLE: &str = include_str!("functions.txt");

/// How calls of one function are recorded.
pub(super) struct Recorded {
    /// The function, or the method if `is_method`.
    pub(super) target: &'static str,
    pub(super) is_method: bool,
    /// None when the arguments stay as they are given.
    form: Option<Form>,
}

/// Positional arguments, and keywords in their order.
type Arguments<T> = (Vec<T>, Vec<(&'static str, T)>);

struct Form {
    /// Names, with a star before what takes the rest, and defaults.
    parameters: Vec<(&'static str, Option<&'static str>)>,
    positional: Vec<&'static str>,
    keywords: Vec<&'static str>,
}

/// Looks a function up by its qualified name.
pub(super) fn recorded(spelled: &str) -> Option<&'static Recorded> {
    static FUNCTIONS: OnceLock<FxHashMap<&'static str, Recorded>> = OnceLock::new();
    FUNCTIONS.get_or_init(|| TABLE.lines().filter_map(parse).collect()).get(spelled)
}

fn parse(line: &'static str) -> Option<(&'static str, Recorded)> {
    let (spelled, recorded) = line.split_once(" = ")?;
    let split = |text: &'static str| text.strip_suffix(')').and_then(|text| text.split_once(" ("));
    let (spelled, form, target) = match (split(spelled), split(recorded)) {
        (Some((spelled, parameters)), Some((target, arguments))) => {
            let (positional, keywords) = arguments.split_once("; ").unwrap_or((arguments, ""));
            let names = |text: &'static str| text.split(", ").filter(|name| !name.is_empty()).collect();
            let parameter = |text: &'static str| match text.split_once('=') {
                Some((name, default)) => (name, Some(default)),
                None => (text, None),
            };
            let parameters = parameters.split(", ").map(parameter).collect();
            (spelled, Some(Form { parameters, positional: names(positional), keywords: names(keywords) }), target)
        }
        _ => (spelled, None, recorded),
    };
    let (target, is_method) = match target.strip_prefix('.') {
        Some(method) => (method, true),
        None => (target, false),
    };
    Some((spelled, Recorded { target, is_method, form }))
}

impl Recorded {
    /// The arguments as they are recorded; None leaves them as they are given, also where they do not
    /// fit: other versions of torch have other parameters.
    pub(super) fn arguments<T: Clone>(
        &self,
        args: &[T],
        kwargs: &[(std::rc::Rc<str>, T)],
        symbols: &Symbols,
        constant: impl Fn(Argument) -> T,
    ) -> Option<Arguments<T>> {
        let form = self.form.as_ref()?;
        let mut bound: Vec<(&str, T)> = Vec::with_capacity(form.parameters.len());
        let mut given = args.iter();
        let mut rest = Vec::new();
        let mut is_keyword_only = false;
        for &(name, default) in &form.parameters {
            if name.starts_with('*') {
                rest = given.by_ref().cloned().collect();
                is_keyword_only = true;
                continue;
            }
            let keyword = kwargs.iter().find(|(key, _)| &**key == name).map(|(_, value)| value.clone());
            let value = match if is_keyword_only { None } else { given.next() } {
                Some(_) if keyword.is_some() => return None,
                Some(value) => value.clone(),
                None => match (keyword, default) {
                    (Some(value), _) => value,
                    (None, Some(default)) => constant(parse_literal(default, symbols)?),
                    (None, None) => return None,
                },
            };
            bound.push((name, value));
        }
        let is_known = |key: &str| form.parameters.iter().any(|(name, _)| *name == key);
        if given.next().is_some() || kwargs.iter().any(|(key, _)| !is_known(key)) {
            return None;
        }
        let find = |name: &str| bound.iter().find(|(bound, _)| *bound == name).map(|(_, value)| value.clone());
        let mut positional = Vec::new();
        for name in &form.positional {
            match name.starts_with('*') {
                true => positional.append(&mut rest),
                false => positional.push(find(name)?),
            }
        }
        let keywords = form.keywords.iter().map(|&name| Some((name, find(name)?))).collect::<Option<_>>()?;
        Some((positional, keywords))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    fn args(spelled: &str, args: &[i64], kwargs: &[(&str, i64)]) -> Option<Arguments<i64>> {
        let kwargs: Vec<(Rc<str>, i64)> = kwargs.iter().map(|&(key, value)| (key.into(), value)).collect();
        let number = |argument| match argument {
            Argument::Int(value) => value,
            Argument::Bool(value) => i64::from(value),
            _ => -1,
        };
        recorded(spelled).unwrap().arguments(args, &kwargs, &Symbols::new(), number)
    }

    #[test]
    fn arguments_are_named_as_torch_names_them() {
        assert_eq!(args("torch.nn.functional.relu", &[7], &[]), Some((vec![7], vec![("inplace", 0)])));
        assert_eq!(args("torch.nn.functional.relu", &[7, 1], &[]), Some((vec![7], vec![("inplace", 1)])));
        assert_eq!(args("torch.nn.functional.relu", &[], &[("input", 7)]), Some((vec![7], vec![("inplace", 0)])));
        let pooled = args("torch.nn.functional.max_pool2d", &[7, 2], &[("padding", 1)]).unwrap();
        assert_eq!(pooled.0, [7, 2]);
        assert_eq!(pooled.1[..2], [("stride", -1), ("padding", 1)]);
        assert_eq!(args("torch.meshgrid", &[7, 8, 9], &[]), Some((vec![7, 8, 9], vec![("indexing", -1)])));
        for (given, keywords) in
            [(&[][..], &[][..]), (&[7, 1, 2], &[]), (&[7], &[("input", 8)]), (&[7], &[("inplac", 1)])]
        {
            assert_eq!(args("torch.nn.functional.relu", given, keywords), None, "{given:?} {keywords:?}");
        }
    }

    #[test]
    fn other_names_keep_their_arguments() {
        assert_eq!(recorded("torch.nn.functional.linear").unwrap().target, "torch._C._nn.linear");
        assert_eq!(args("torch.nn.functional.linear", &[7], &[]), None);
        let sigmoid = recorded("torch.nn.functional.sigmoid").unwrap();
        assert!(sigmoid.is_method && sigmoid.target == "sigmoid");
        assert!(recorded("torch.relu").is_none());
    }

    #[test]
    fn every_line_is_read_and_every_default_is_a_literal() {
        let symbols = Symbols::new();
        for line in TABLE.lines() {
            let (_, recorded) = parse(line).unwrap();
            for (name, default) in recorded.form.iter().flat_map(|form| &form.parameters) {
                let is_literal = default.is_none_or(|default| parse_literal(default, &symbols).is_some());
                assert!(is_literal, "{line}: {name}");
            }
        }
    }
}
