//! Faults of code: what is printed is Python that means the same, and reads back equal.

use super::fx_line::{literal, net, net_with, nodes, rewrite, shown, Is};
use fxir::formats::python::print::{code, readable, ReadableOptions};
use fxir::formats::python::read::read_code;
use fxir::formats::python::trace::{trace_code, TraceOptions};
use fxir::ir::{Argument, ErrorKind, ModuleTree};

/// Prints a tree, and again what reads back.
fn printed_twice(tree: &ModuleTree) -> [String; 2] {
    let text = code(tree, tree.root()).unwrap();
    let again = read_code(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    [text, code(&again, again.root()).unwrap()]
}

/// https://github.com/pytorch/pytorch/issues/46748
#[test]
fn fault_050_numbers_that_are_not_finite_are_printed_and_read_back() {
    for (spelled, value) in [
        ("-inf", Argument::Float(f64::NEG_INFINITY)),
        ("nan", Argument::Float(f64::NAN)),
        ("complex(1.0, nan)", Argument::Complex(Box::new([1.0, f64::NAN]))),
        ("complex(-inf, -0.0)", Argument::Complex(Box::new([f64::NEG_INFINITY, -0.0]))),
        ("[inf, {'k': (-inf,)}]", Argument::Float(0.0)),
        ("slice(-inf, None, complex(0.0, inf))", Argument::Float(0.0)),
    ] {
        let mut tree = net("x, y: a = torch.clamp(x, min=0); b = y.add(a, alpha=0); return b");
        let root = tree.root();
        let [a, b] = nodes(&tree, ["a", "b"]);
        let symbols = tree.symbols().clone();
        let value =
            if matches!(value, Argument::Float(zero) if zero == 0.0) { literal(spelled, &symbols) } else { value };
        let graph = tree.graph_mut(root).unwrap();
        graph.set_kwarg(a, "min", value.clone()).unwrap();
        graph.set_kwarg(b, "alpha", Argument::List([value].into())).unwrap();
        let expected =
            format!("x, y: a = torch.clamp(x, min = {spelled}); b = y.add(a, alpha = [{spelled}]); return b");
        assert_eq!(shown(&tree), expected);
        let [first, second] = printed_twice(&tree);
        assert_eq!(first, second);
        assert!(first.lines().all(|line| !line.contains("nanj") && !line.contains("infj")), "{first}");
    }
}

/// https://github.com/pytorch/pytorch/issues/73992
///
/// No argument is a tensor here: a tensor is a member that is read, or a call that makes it.
#[test]
fn fault_051_tensors_in_arguments_are_calls_or_members() {
    for (text, expected) in [
        (
            "x: return torch.add(x, torch.tensor([1.0, -2.5]))",
            "x: tensor = torch.tensor([1.0, -2.5]); add = torch.add(x, tensor); return add",
        ),
        (
            "x: return torch.cat([x, torch.ones(2, dtype=torch.float16)], dim=0)",
            "x: ones = torch.ones(2, dtype = torch.float16); cat = torch.cat([x, ones], dim = 0); \
             return cat",
        ),
        (
            "x: return x.index_put(indices=[self.index], values=torch.zeros([]))",
            "x: index = self.index; zeros = torch.zeros([]); \
             index_put = x.index_put(indices = [index], values = zeros); return index_put",
        ),
    ] {
        let tree = net(text);
        assert_eq!(shown(&tree), expected);
        let [first, second] = printed_twice(&tree);
        assert_eq!(first, second);
        // Traced, the same.
        let (inputs, body) = text.split_once(": ").unwrap();
        let members = net_with(&[("index", Is::Tensor(1))], "x: return self.index");
        let options = TraceOptions { members: Some((&members, members.root())), ..TraceOptions::default() };
        let class = format!("class Net(torch.nn.Module):\n    def forward(self, {inputs}):\n        {body}\n");
        assert_eq!(shown(&trace_code(&class, &options, Vec::new()).unwrap()), expected);
    }
    // A tensor as torch prints one is no code.
    for wrong in ["tensor([1., 2.])", "[tensor(1)]", "Parameter containing"] {
        let error = read_code(&format!("def f(x):\n    return torch.add(x, {wrong}\n")).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Parse);
    }
}

/// https://github.com/pytorch/pytorch/issues/51501
#[test]
fn fault_052_ellipsis_and_slices_stay_arguments() {
    for (text, pattern, replacement, printed, replaced) in [
        (
            "y: return y[:, 1:10, ...]",
            "y, at: return y[at]",
            "y, at: return y.select(at)",
            "y: getitem = y[(slice(None, None, None), slice(1, 10, None), Ellipsis)]; return getitem",
            "y: select = y.select((slice(None, None, None), slice(1, 10, None), Ellipsis)); return select",
        ),
        (
            "y, n: return y[..., None, n:-1:2]",
            "y, n: return y[..., None, n:-1:2]",
            "y, n: return y[n:, ...]",
            "y, n: getitem = y[(Ellipsis, None, slice(n, -1, 2))]; return getitem",
            "y, n: getitem_1 = y[(slice(n, None, None), Ellipsis)]; return getitem_1",
        ),
        (
            "y: a = y[...]; _operator.setitem(a, (..., slice(None, 2)), 0); return a",
            "y: return y[...]",
            "y: return torch.clone(y)",
            "y: a = y[Ellipsis]; a[(Ellipsis, slice(None, 2, None))] = 0; return a",
            "y: clone = torch.clone(y); clone[(Ellipsis, slice(None, 2, None))] = 0; return clone",
        ),
    ] {
        let mut tree = net(text);
        assert_eq!(shown(&tree), printed);
        let [first, second] = printed_twice(&tree);
        assert_eq!(first, second);
        rewrite(&mut tree, &net(pattern), &net(replacement));
        assert_eq!(shown(&tree), replaced);
    }
}

/// https://github.com/pytorch/pytorch/pull/74135
#[test]
fn fault_053_annotations_are_printed_as_types() {
    for (annotation, printed) in [
        ("Tuple", "Tuple"),
        ("typing.List", "typing.List"),
        ("Dict[str, Tuple]", "Dict[str, Tuple]"),
        ("Optional[List[torch.Tensor]]", "Optional[List[torch.Tensor]]"),
    ] {
        let text =
            format!("def f(x : {annotation}) -> {annotation}:\n    a : {annotation} = torch.relu(x)\n    return a\n");
        let tree = read_code(&text).unwrap();
        let header = format!("def forward(self, x : {printed}) -> {printed}:");
        let expected = format!("{header}\n    a : {printed} = torch.relu(x);  x = None\n    return a");
        let [first, second] = printed_twice(&tree);
        assert_eq!(first.trim(), expected);
        assert_eq!(first, second);
        let listed = readable(&tree, tree.root(), ReadableOptions::default()).unwrap();
        assert!(read_code(&listed).is_ok(), "{listed}");
    }
}
