//! The functions of Python's `operator` that FX code spells as operators.

/// How an operator is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// Before its operand: `-x`.
    Prefix(&'static str),
    /// Between its operands: `x + y`.
    Infix(&'static str),
    /// A statement of its own: `x += y`.
    InPlace(&'static str),
    /// `x[y]`
    GetItem,
    /// `x[y] = z`
    SetItem,
}

use ruff_python_ast::{CmpOp, Operator};
use Spelling::{GetItem, InPlace, Infix, Prefix, SetItem};

/// By their names in `_operator`, sorted.
const OPERATORS: [(&str, Spelling); 37] = [
    ("add", Infix("+")),
    ("and_", Infix("&")),
    ("eq", Infix("==")),
    ("floordiv", Infix("//")),
    ("ge", Infix(">=")),
    ("getitem", GetItem),
    ("gt", Infix(">")),
    ("iadd", InPlace("+=")),
    ("iand", InPlace("&=")),
    ("ifloordiv", InPlace("//=")),
    ("ilshift", InPlace("<<=")),
    ("imatmul", InPlace("@=")),
    ("imod", InPlace("%=")),
    ("imul", InPlace("*=")),
    ("invert", Prefix("~")),
    ("ior", InPlace("|=")),
    ("ipow", InPlace("**=")),
    ("irshift", InPlace(">>=")),
    ("isub", InPlace("-=")),
    ("itruediv", InPlace("/=")),
    ("ixor", InPlace("^=")),
    ("le", Infix("<=")),
    ("lshift", Infix("<<")),
    ("lt", Infix("<")),
    ("matmul", Infix("@")),
    ("mod", Infix("%")),
    ("mul", Infix("*")),
    ("ne", Infix("!=")),
    ("neg", Prefix("-")),
    ("or_", Infix("|")),
    ("pos", Prefix("+")),
    ("pow", Infix("**")),
    ("rshift", Infix(">>")),
    ("setitem", SetItem),
    ("sub", Infix("-")),
    ("truediv", Infix("/")),
    ("xor", Infix("^")),
];

/// How FX code spells the function `_operator.name`, if not by its name.
pub(super) fn spelling(name: &str) -> Option<Spelling> {
    let known = &OPERATORS;
    known.binary_search_by_key(&name, |(name, _)| name).ok().map(|at| known[at].1)
}

/// An operator's function in Python's `operator`.
pub(super) fn operator_name(operator: Operator) -> &'static str {
    match operator {
        Operator::Add => "add",
        Operator::Sub => "sub",
        Operator::Mult => "mul",
        Operator::MatMult => "matmul",
        Operator::Div => "truediv",
        Operator::Mod => "mod",
        Operator::Pow => "pow",
        Operator::LShift => "lshift",
        Operator::RShift => "rshift",
        Operator::BitOr => "or_",
        Operator::BitXor => "xor",
        Operator::BitAnd => "and_",
        Operator::FloorDiv => "floordiv",
    }
}

/// A comparison's function there; `in` and `not in` have none that takes its operands as they stand.
pub(super) fn comparison_name(operator: CmpOp) -> Option<&'static str> {
    Some(match operator {
        CmpOp::Eq => "eq",
        CmpOp::NotEq => "ne",
        CmpOp::Lt => "lt",
        CmpOp::LtE => "le",
        CmpOp::Gt => "gt",
        CmpOp::GtE => "ge",
        CmpOp::Is => "is_",
        CmpOp::IsNot => "is_not",
        CmpOp::In | CmpOp::NotIn => return None,
    })
}

/// The operator whose function this is, under its own name or that of the method behind it: `or_`, `or`.
pub(super) fn operator_of(name: &str) -> Option<Operator> {
    const ALL: [Operator; 13] = [
        Operator::Add,
        Operator::Sub,
        Operator::Mult,
        Operator::MatMult,
        Operator::Div,
        Operator::Mod,
        Operator::Pow,
        Operator::LShift,
        Operator::RShift,
        Operator::BitOr,
        Operator::BitXor,
        Operator::BitAnd,
        Operator::FloorDiv,
    ];
    ALL.into_iter().find(|&operator| operator_name(operator).trim_end_matches('_') == name.trim_end_matches('_'))
}

/// The comparison whose function this is.
pub(super) fn comparison_of(name: &str) -> Option<CmpOp> {
    const ALL: [CmpOp; 8] =
        [CmpOp::Eq, CmpOp::NotEq, CmpOp::Lt, CmpOp::LtE, CmpOp::Gt, CmpOp::GtE, CmpOp::Is, CmpOp::IsNot];
    ALL.into_iter().find(|&operator| comparison_name(operator) == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_found_by_their_functions() {
        for (name, spelled) in &OPERATORS {
            if let Infix(sign) = spelled {
                let found = operator_of(name).map(|operator| operator.as_str());
                assert_eq!(found.or(comparison_of(name).map(|operator| operator.as_str())), Some(*sign), "{name}");
            }
        }
        assert_eq!(operator_of("or"), Some(Operator::BitOr));
        assert_eq!(comparison_of("is_not"), Some(CmpOp::IsNot));
        assert!(operator_of("iadd").is_none() && operator_of("neg").is_none() && comparison_of("in").is_none());
    }

    #[test]
    fn every_operator_is_found() {
        for (name, spelled) in &OPERATORS {
            assert_eq!(spelling(name), Some(*spelled));
        }
        assert_eq!(spelling("not_"), None);
    }
}
