use super::table::lines;
use super::*;
use crate::ir::{Args, Dtype, Kwargs, NodeId};

#[test]
fn every_line_is_read_and_sorted() {
    let mut before = "";
    let mut count = 0;
    for (line, schema) in lines::all() {
        let schema = schema.unwrap_or_else(|| panic!("not read: {line}"));
        assert!(before < schema.name, "{before} {}", schema.name);
        assert!(line.starts_with(schema.name));
        assert_eq!(schema.is_random, line.contains(" !random"));
        let parameters = &schema.parameters;
        assert!(parameters.iter().all(|parameter| !parameter.name.is_empty() && !parameter.name.contains([' ', '='])));
        before = schema.name;
        count += 1;
    }
    assert!(count > 4000, "{count}");
}

/// The parameters as Python writes them.
fn spelled(schema: &Schema<'_>) -> String {
    let one = |parameter: &Parameter<'_>| {
        let mark = match parameter.kind {
            Kind::PositionalOnly => "/",
            Kind::PositionalOrKeyword => "",
            Kind::VarPositional => "*",
            Kind::KeywordOnly => "!",
            Kind::VarKeyword => "**",
        };
        let default = parameter.default.as_ref().map_or(String::new(), |default| format!("={default:?}"));
        let alias = parameter.alias.map_or(String::new(), |alias| format!("({alias})"));
        format!("{mark}{}{alias}{default}", parameter.name)
    };
    schema.parameters.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn target(name: &str) -> String {
    of_target(name).map_or("none".to_owned(), spelled)
}

#[test]
fn parameters_are_told() {
    assert_eq!(target("torch.ops.aten.add.Tensor"), "self other !alpha=Int(1)");
    assert_eq!(target("torch.ops.aten.add_.Tensor"), "self(a!) other !alpha=Int(1)");
    assert_eq!(target("torch.ops.aten.contiguous"), target("torch.ops.aten.contiguous.default"));
    assert_eq!(target("torch.ops.aten.relu"), "none"); // with its `out`
    assert_eq!(target("torch.ops.aten.relu.default"), "self");
    assert_eq!(target("torch.ops.aten.add"), "none");
    assert_eq!(target("torch.ops.aten.add.Nothing"), "none");
    assert_eq!(target("torch.ops.mine.add.Tensor"), "none");
    assert_eq!(target("_operator.add"), "/a /b");
    assert_eq!(target("operator.add"), "/a /b");
    assert_eq!(target("torch.nn.functional.relu"), "input inplace=Bool(false)");
    assert_eq!(target("torch.functional.split"), target("torch.split"));
    assert_eq!(target("torch.split"), "tensor split_size_or_sections dim=Int(0)");
    assert_eq!(target("torch.relu"), "none"); // with its `out`
    assert_eq!(target("torch.functional.einsum"), "*args");
    assert_eq!(target("torch.ops.aten.einsum.sublist"), "a *args");
    assert_eq!(target("torch.ops.aten.uniform.default"), "/self /from=Float(0.0) to=Float(1.0) !generator=None");
    assert_eq!(target("torch.ops.prims.copy_to.default"), "a(a!) b");
    assert_eq!(target("aten::add.Tensor"), "none");
    assert_eq!(target("torch"), "none");
    assert_eq!(target(""), "none");
    assert_eq!(target(&"torch.".repeat(100)), "none");
    let forward = of_module("torch.nn.modules.conv.Conv2d").unwrap().iter().next().unwrap();
    assert_eq!(spelled(forward), "input");
    assert_eq!(of_module("torch.nn.Conv2d"), of_module("torch.nn.modules.conv.Conv2d"));
    assert_eq!(of_module("mine.Conv2d"), None);
    let polygamma = of_method("polygamma").unwrap().iter().next().unwrap();
    assert_eq!(spelled(polygamma), "/self n");
    assert_eq!(of_method("cat"), None);
    assert_eq!(of_method("unflatten").unwrap().iter().count(), 1);
}

#[test]
fn defaults_of_all_kinds_are_read() {
    let default = |name: &str, parameter: &str| {
        let schema = of_target(name).unwrap();
        let found = schema.parameters.iter().find(|found| found.name == parameter).unwrap();
        format!("{:?}", found.default.as_ref().unwrap())
    };
    assert_eq!(default("torch.ops.aten.max_pool2d.default", "stride"), "List([])");
    assert_eq!(default("torch.ops.aten.max_pool2d.default", "padding"), "List([Int(0), Int(0)])");
    assert_eq!(default("torch.ops.aten.gelu.default", "approximate"), "Str(\"none\")");
    assert_eq!(
        default("torch.ops.aten.contiguous.default", "memory_format"),
        "MemoryFormat(\"torch.contiguous_format\")"
    );
    assert_eq!(default("torch.ops.aten.tril_indices.default", "dtype"), "Dtype(Int64)");
    assert_eq!(default("torch.ops.aten.add.Tensor", "alpha"), "Int(1)");
    assert_eq!(default("torch.ops.aten.pairwise_distance.default", "eps"), "Float(1e-6)");
    assert_eq!(default("torch.ops.aten.norm.Scalar", "p"), "Int(2)");
    assert_eq!(default("torch.ops.aten.strip.default", "chars"), r#"Str(" \n\t\u{c}\u{b}")"#);
    assert_eq!(default("torch.nn.functional.gumbel_softmax", "tau"), "Int(1)");
    assert_eq!(default("torch.nn.functional.interpolate", "mode"), "Str(\"nearest\")");
}

#[test]
fn a_default_is_known_again() {
    let symbols = Symbols::new();
    for (_, schema) in lines::all() {
        for parameter in &schema.unwrap().parameters {
            let Some(default) = &parameter.default else { continue };
            if matches!(default, DefaultValue::Unspelled) {
                continue;
            }
            let argument = default.to_argument(&symbols).unwrap();
            assert!(default.is(&argument, &symbols), "{} {}", schema.unwrap().name, parameter.name);
            assert!(parameter.is_default(&argument, &symbols));
            let known = |_: &Argument| Known::Nothing;
            assert!(
                parameter.type_.cost(&argument, &known).is_some(),
                "{}: {} is no {:?}",
                schema.unwrap().name,
                parameter.name,
                parameter.type_text
            );
        }
    }
}

#[test]
fn an_error_names_the_parameter() {
    let symbols = Symbols::new();
    let schema = of_target("torch.ops.aten.add.Tensor").unwrap();
    let bind = |args: &[i64], names: &[&str]| {
        let args: Args = args.iter().map(|&value| Argument::Int(value)).collect();
        let kwargs: Kwargs = names.iter().map(|name| (symbols.intern(name), Argument::Int(0))).collect();
        let result = schema.bind(Call { symbols: &symbols, args: &args, kwargs: &kwargs });
        result.err().map_or(String::new(), |error| error.to_string())
    };
    assert_eq!(bind(&[1, 2], &[]), "");
    assert_eq!(bind(&[1], &["other"]), "");
    assert_eq!(bind(&[], &["other", "input"]), "");
    assert_eq!(bind(&[1], &[]), "the parameter \"other\" is missing");
    assert_eq!(bind(&[1, 2], &["other"]), "the parameter \"other\" is given twice");
    assert_eq!(bind(&[1, 2], &["beta"]), "it has no parameter \"beta\"");
    assert_eq!(bind(&[1, 2, 3], &[]), "it takes 2 positional arguments, and 3 are given");
}

/// By position or by name, each parameter gets its own argument; without one that it needs, the error
/// names it.
#[test]
fn every_signature_binds_its_own_parameters() {
    let symbols = Symbols::new();
    let mut schemas: Vec<&Schema<'_>> = lines::all().filter_map(|(_, schema)| schema).collect();
    for name in lines::all().filter_map(|(line, _)| line.split(['(', '.']).next()) {
        let bare = name.strip_prefix("aten::").unwrap_or("");
        schemas.extend(of_method(bare).into_iter().flat_map(Overloads::iter));
        schemas.extend(of_function(&format!("torch.{bare}")).into_iter().flat_map(Overloads::iter));
    }
    for schema in schemas {
        for by_name in [false, true] {
            let mut args = Args::new();
            let mut kwargs = Kwargs::new();
            for (index, parameter) in schema.parameters.iter().enumerate() {
                let argument = Argument::Float(index as f64);
                match parameter.kind {
                    Kind::PositionalOnly => args.push(argument),
                    Kind::PositionalOrKeyword if !by_name => args.push(argument),
                    Kind::PositionalOrKeyword | Kind::KeywordOnly => {
                        kwargs.push((symbols.intern(parameter.name), argument));
                    }
                    Kind::VarPositional | Kind::VarKeyword => {}
                }
            }
            kwargs.reverse();
            let bound = schema.bind(Call { symbols: &symbols, args: &args, kwargs: &kwargs });
            let bound = bound.unwrap_or_else(|error| panic!("{}: {error}", schema.name));
            for (index, (parameter, value)) in schema.parameters.iter().zip(&bound.values).enumerate() {
                match value {
                    BoundValue::Given(Argument::Float(given)) => assert_eq!(*given, index as f64, "{}", schema.name),
                    value => assert!(parameter.is_variadic() && matches!(value, BoundValue::Absent), "{}", schema.name),
                }
            }
        }
        let nothing = schema.bind(Call { symbols: &symbols, args: &[], kwargs: &[] }).err();
        let needed = schema.parameters.iter().find(|parameter| parameter.default.is_none() && !parameter.is_variadic());
        assert_eq!(nothing, needed.map(|parameter| BindError::Missing(parameter.name)), "{}", schema.name);
    }
}

/// Which overload a function means.
fn chosen(target: &str, args: &[Argument], names: &[(&str, Argument)], known: Known) -> String {
    let symbols = Symbols::new();
    let kwargs: Kwargs = names.iter().map(|(name, value)| (symbols.intern(name), value.clone())).collect();
    let overloads = of_function(target).or_else(|| of_method(target)).unwrap();
    let choice = overloads.choose(Call { symbols: &symbols, args, kwargs: &kwargs }, |_| known);
    match &choice {
        Choice::One(schema, _) => schema.name.to_owned(),
        Choice::Alike(schema, _) => format!("alike {}", schema.name),
        Choice::Misfit(_) => "misfit".to_owned(),
        Choice::Ambiguous => "ambiguous".to_owned(),
    }
}

#[test]
fn the_overload_that_fits_is_chosen() {
    let x = Argument::Node(NodeId::from_bits(1 << 24).unwrap());
    let int = Argument::Int(1);
    let text = Argument::Str(Symbols::new().intern("floor"));
    let ints = Argument::List([int.clone(), int.clone()].into());
    let tensors = Argument::List([x.clone(), x.clone()].into());
    let some = Known::Nothing;
    let call = |target: &str, args: &[&Argument]| {
        let args: Vec<Argument> = args.iter().map(|&argument| argument.clone()).collect();
        chosen(target, &args, &[], some)
    };
    for add in ["torch.add", "torch.ops.aten.add", "add"] {
        assert_eq!(call(add, &[&x, &x]), "aten::add.Tensor");
        assert_eq!(call(add, &[&x, &int]), "aten::add.Scalar");
    }
    assert_eq!(call("torch.ops.aten.add", &[&int, &int]), "aten::add.int");
    assert_eq!(call("torch.sum", &[&x]), "aten::sum");
    assert_eq!(call("torch.sum", &[&x, &int]), "aten::sum.dim_IntList");
    assert_eq!(call("torch.sum", &[&x, &ints]), "aten::sum.dim_IntList");
    assert_eq!(call("torch.sum", &[&x, &text]), "aten::sum.dim_DimnameList");
    assert_eq!(call("torch.sum", &[&x, &Argument::Ellipsis]), "misfit");
    assert_eq!(call("torch.max", &[&x]), "aten::max");
    assert_eq!(call("torch.max", &[&x, &x]), "aten::max.other");
    assert_eq!(call("torch.max", &[&x, &int]), "aten::max.dim");
    assert_eq!(chosen("torch.max", &[x.clone(), x.clone()], &[], Known::Number), "aten::max.dim");
    assert_eq!(call("transpose", &[&x, &int, &int]), "aten::transpose.int");
    assert_eq!(call("transpose", &[&x, &text, &text]), "aten::transpose.Dimname");
    assert_eq!(call("torch.conv2d", &[&x, &x, &x]), "aten::conv2d");
    assert_eq!(call("torch.conv2d", &[&x, &x, &x, &int, &text]), "aten::conv2d.padding");
    assert_eq!(call("torch.cat", &[&tensors, &int]), "aten::cat");
    assert_eq!(call("torch.pow", &[&int, &x]), "aten::pow.Scalar");
    assert_eq!(call("torch.pow", &[&x, &int]), "aten::pow.Tensor_Scalar");
    assert_eq!(call("torch.std", &[&x]), "aten::std");
    assert_eq!(call("view", &[&x, &int, &int]), "aten::view");
    assert_eq!(call("view", &[&x, &Argument::Dtype(Dtype::Int8)]), "aten::view.dtype");
    assert_eq!(call("to", &[&x, &Argument::Dtype(Dtype::Int8)]), "aten::to.dtype");
    assert_eq!(call("to", &[&x, &x]), "aten::to.other");
    assert_eq!(call("torch.std", &[&x, &ints]), "alike aten::std.correction");
    assert_eq!(call("hsplit", &[&x, &int]), "aten::hsplit.int");
    assert_eq!(call("hsplit", &[&x, &int, &int]), "aten::hsplit.array");
    let half = ("rounding_mode", text.clone());
    assert_eq!(chosen("torch.div", &[x.clone(), x.clone()], &[half], some), "aten::div.Tensor_mode");
    assert_eq!(chosen("torch.sum", std::slice::from_ref(&x), &[("axis", int.clone())], some), "aten::sum.dim_IntList");
    assert_eq!(chosen("torch.add", &[x.clone(), x.clone()], &[("out", x.clone())], some), "aten::add.out");
    assert_eq!(chosen("torch.add", &[x.clone(), x.clone()], &[("mine", x.clone())], some), "misfit");
}

#[test]
fn calls_are_compared_in_any_form() {
    for target in ["torch.ops.aten.sum.dim_IntList", "torch.ops.aten.sum"] {
        compare(of_function(target));
    }
}

fn compare(overloads: Option<Overloads>) {
    let symbols = Symbols::new();
    let other_symbols = Symbols::new();
    other_symbols.intern("other things first");
    let list = |value: i64| Argument::List([Argument::Int(value)].into());
    let same = |a: (&[Argument], &[(&str, Argument)]), b: (&[Argument], &[(&str, Argument)])| {
        let kwargs = |names: &[(&str, Argument)], symbols: &Symbols| -> Kwargs {
            names.iter().map(|(name, value)| (symbols.intern(name), value.clone())).collect()
        };
        let (ka, kb) = (kwargs(a.1, &symbols), kwargs(b.1, &other_symbols));
        let first = Call { symbols: &symbols, args: a.0, kwargs: &ka };
        let second = Call { symbols: &other_symbols, args: b.0, kwargs: &kb };
        let mut visit = |pair: Pair<'_, '_>| match pair {
            Pair::Both(a, b) => a.same_literal(&symbols, b, &other_symbols, &mut |_, _| false),
            Pair::First(a, parameter) => parameter.is_default(a, &symbols),
            Pair::Second(parameter, b) => parameter.is_default(b, &other_symbols),
        };
        let known = (|_: &Argument| Known::Tensor, |_: &Argument| Known::Tensor);
        let forth = same_arguments(overloads, first, second, known, &mut visit);
        assert!(!same_arguments(None, first, second, known, &mut visit) || forth);
        forth
    };
    let (x, no, dim) = (Argument::Float(7.0), Argument::Bool(false), list(1));
    let plain: (&[Argument], &[(&str, Argument)]) = (&[x.clone(), dim.clone()], &[]);
    assert!(same(plain, plain));
    assert!(same(plain, (&[x.clone(), dim.clone(), no.clone()], &[])));
    assert!(same((&[x.clone(), dim.clone()], &[("keepdim", no.clone())]), plain));
    assert!(same(plain, (&[], &[("dim", dim.clone()), ("self", x.clone())])));
    assert!(!same(plain, (&[], &[("dim", list(2)), ("self", x.clone())])));
    assert!(!same(plain, (&[x.clone(), dim.clone(), Argument::Bool(true)], &[])));
    assert!(!same(plain, (std::slice::from_ref(&x), &[])));
}
