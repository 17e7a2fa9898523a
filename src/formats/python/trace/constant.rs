//! Arithmetic on constants, as Python does it. What it cannot do is told in words.

use crate::ir::{Argument, Symbols};
use ruff_python_ast::{CmpOp, Operator};
use std::cmp::Ordering;

/// What Python counts with: bools are ints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Int(i64),
    Float(f64),
    Complex([f64; 2]),
}

impl Number {
    pub(super) fn of(argument: &Argument) -> Option<Number> {
        match argument {
            Argument::Bool(value) => Some(Number::Int(i64::from(*value))),
            Argument::Int(value) => Some(Number::Int(*value)),
            Argument::Float(value) => Some(Number::Float(*value)),
            Argument::Complex(parts) => Some(Number::Complex(**parts)),
            _ => None,
        }
    }

    /// As a float, if it is real.
    pub(super) fn real(self) -> Option<f64> {
        match self {
            Number::Int(value) => Some(value as f64),
            Number::Float(value) => Some(value),
            Number::Complex(_) => None,
        }
    }

    fn parts(self) -> [f64; 2] {
        match self {
            Number::Complex(parts) => parts,
            Number::Int(value) => [value as f64, 0.0],
            Number::Float(value) => [value, 0.0],
        }
    }

    pub(super) fn argument(self) -> Argument {
        match self {
            Number::Int(value) => Argument::Int(value),
            Number::Float(value) => Argument::Float(value),
            Number::Complex(parts) => Argument::Complex(Box::new(parts)),
        }
    }
}

const TOO_LARGE: &str = "the int is beyond 64 bits";

/// What an operator makes of two constants; None when they are none that it takes.
pub(super) fn binary(
    operator: Operator,
    left: &Argument,
    right: &Argument,
    symbols: &Symbols,
) -> Option<Result<Argument, String>> {
    if let (Argument::Str(a), Argument::Str(b), Operator::Add) = (left, right, operator) {
        return Some(Ok(Argument::Str(symbols.intern(&format!("{}{}", symbols.text(*a), symbols.text(*b))))));
    }
    if let (Argument::Bool(a), Argument::Bool(b)) = (left, right) {
        match operator {
            Operator::BitAnd => return Some(Ok(Argument::Bool(a & b))),
            Operator::BitOr => return Some(Ok(Argument::Bool(a | b))),
            Operator::BitXor => return Some(Ok(Argument::Bool(a ^ b))),
            _ => {}
        }
    }
    let made = match (Number::of(left)?, Number::of(right)?) {
        (Number::Int(a), Number::Int(b)) => ints(operator, a, b),
        (a, b) => match (a.real(), b.real()) {
            (Some(a), Some(b)) => floats(operator, a, b)?,
            _ => complexes(operator, a.parts(), b.parts())?,
        },
    };
    Some(made.map(Number::argument))
}

fn ints(operator: Operator, a: i64, b: i64) -> Result<Number, String> {
    let checked = |value: Option<i64>| value.map(Number::Int).ok_or_else(|| TOO_LARGE.to_owned());
    let by_zero = || "division by zero".to_owned();
    match operator {
        Operator::Add => checked(a.checked_add(b)),
        Operator::Sub => checked(a.checked_sub(b)),
        Operator::Mult => checked(a.checked_mul(b)),
        Operator::Div if b == 0 => Err(by_zero()),
        Operator::Div => Ok(Number::Float(a as f64 / b as f64)),
        Operator::FloorDiv | Operator::Mod if b == 0 => Err(by_zero()),
        Operator::FloorDiv => checked(a.checked_div_euclid(b).map(|_| floor_div(a, b))),
        Operator::Mod => Ok(Number::Int(a.wrapping_sub(floor_div(a, b).wrapping_mul(b)))),
        Operator::Pow if b >= 0 => match a {
            0 | 1 => Ok(Number::Int(if b == 0 { 1 } else { a })),
            -1 => Ok(Number::Int(if b % 2 == 0 { 1 } else { -1 })),
            _ => checked(u32::try_from(b).ok().and_then(|b| a.checked_pow(b))),
        },
        Operator::Pow if a == 0 => Err("0 to a negative power".to_owned()),
        Operator::Pow => Ok(Number::Float((a as f64).powf(b as f64))),
        Operator::LShift | Operator::RShift if b < 0 => Err("a negative shift".to_owned()),
        Operator::LShift if a == 0 => Ok(Number::Int(0)),
        Operator::LShift => {
            let shifted = u32::try_from(b).ok().filter(|&b| b < 63).map(|b| i128::from(a) << b);
            checked(shifted.and_then(|value| i64::try_from(value).ok()))
        }
        Operator::RShift => Ok(Number::Int(a >> b.min(63))),
        Operator::BitAnd => Ok(Number::Int(a & b)),
        Operator::BitOr => Ok(Number::Int(a | b)),
        Operator::BitXor => Ok(Number::Int(a ^ b)),
        Operator::MatMult => Err("two numbers have no matrix product".to_owned()),
    }
}

/// Rounds down, as Python does. `b` is not 0.
fn floor_div(a: i64, b: i64) -> i64 {
    let quotient = a.wrapping_div(b);
    match a.wrapping_rem(b) {
        0 => quotient,
        rest if (rest < 0) != (b < 0) => quotient - 1,
        _ => quotient,
    }
}

fn floats(operator: Operator, a: f64, b: f64) -> Option<Result<Number, String>> {
    let made = match operator {
        Operator::Add => a + b,
        Operator::Sub => a - b,
        Operator::Mult => a * b,
        Operator::Div | Operator::FloorDiv | Operator::Mod if b == 0.0 => {
            return Some(Err("division by zero".to_owned()));
        }
        Operator::Div => a / b,
        Operator::FloorDiv => (a / b).floor(),
        Operator::Mod => {
            let rest = a % b;
            if rest != 0.0 && (rest < 0.0) != (b < 0.0) {
                rest + b
            } else {
                rest.abs().copysign(if rest == 0.0 { b } else { rest })
            }
        }
        Operator::Pow if a < 0.0 && b.is_finite() && b.fract() != 0.0 => {
            return Some(Err("a root of a negative number".to_owned()));
        }
        Operator::Pow if a == 0.0 && b < 0.0 => return Some(Err("0 to a negative power".to_owned())),
        Operator::Pow => a.powf(b),
        _ => return None,
    };
    Some(Ok(Number::Float(made)))
}

fn complexes(operator: Operator, a: [f64; 2], b: [f64; 2]) -> Option<Result<Number, String>> {
    Some(Ok(Number::Complex(match operator {
        Operator::Add => [a[0] + b[0], a[1] + b[1]],
        Operator::Sub => [a[0] - b[0], a[1] - b[1]],
        Operator::Mult => [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]],
        _ => return None,
    })))
}

/// How two constants are ordered, where Python orders them.
pub(super) fn order(left: &Argument, right: &Argument, symbols: &Symbols) -> Option<Ordering> {
    match (left, right) {
        (Argument::Str(a), Argument::Str(b)) => Some(symbols.text(*a).cmp(symbols.text(*b))),
        _ => match (Number::of(left)?, Number::of(right)?) {
            (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
            (a, b) => a.real()?.partial_cmp(&b.real()?),
        },
    }
}

/// Whether Python says that two constants without items are equal.
pub(super) fn equal(left: &Argument, right: &Argument, symbols: &Symbols) -> bool {
    match (Number::of(left), Number::of(right)) {
        (Some(Number::Int(a)), Some(Number::Int(b))) => a == b,
        (Some(a), Some(b)) => a.parts() == b.parts(),
        _ => left.same_literal(symbols, right, symbols, &mut |_, _| false),
    }
}

/// Whether two constants stand to each other as the comparison says; None when they do not compare.
pub(super) fn compare(operator: CmpOp, left: &Argument, right: &Argument, symbols: &Symbols) -> Option<bool> {
    let is_nan = |argument: &Argument| matches!(argument, Argument::Float(value) if value.is_nan());
    Some(match operator {
        CmpOp::Eq => equal(left, right, symbols),
        CmpOp::NotEq => !equal(left, right, symbols),
        // Nothing is more or less than nan.
        _ if is_nan(left) || is_nan(right) => return Number::of(left).and(Number::of(right)).map(|_| false),
        CmpOp::Lt => order(left, right, symbols)?.is_lt(),
        CmpOp::LtE => order(left, right, symbols)?.is_le(),
        CmpOp::Gt => order(left, right, symbols)?.is_gt(),
        CmpOp::GtE => order(left, right, symbols)?.is_ge(),
        CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn => return None,
    })
}

/// What Python's `math` makes of constants; None when it has no such function here.
pub(super) fn math(name: &str, numbers: &[f64]) -> Option<Result<Number, String>> {
    let whole = |value: f64| match value.is_finite() && value.abs() < 9.0e18 {
        true => Ok(Number::Int(value as i64)),
        false => Err(TOO_LARGE.to_owned()),
    };
    let float = |value: f64| Ok(Number::Float(value));
    let domain = || Err(format!("math.{name} is not defined there"));
    Some(match (name, numbers) {
        ("floor", &[x]) => whole(x.floor()),
        ("ceil", &[x]) => whole(x.ceil()),
        ("trunc", &[x]) => whole(x.trunc()),
        ("sqrt", &[x]) if x < 0.0 => domain(),
        ("sqrt", &[x]) => float(x.sqrt()),
        ("log" | "log2" | "log10", &[x]) if x <= 0.0 => domain(),
        ("log", &[x]) => float(x.ln()),
        ("log", &[x, base]) if x > 0.0 && base > 0.0 && base != 1.0 => float(x.ln() / base.ln()),
        ("log2", &[x]) => float(x.log2()),
        ("log10", &[x]) => float(x.log10()),
        ("exp", &[x]) => float(x.exp()),
        ("fabs", &[x]) => float(x.abs()),
        ("sin", &[x]) => float(x.sin()),
        ("cos", &[x]) => float(x.cos()),
        ("tan", &[x]) => float(x.tan()),
        ("tanh", &[x]) => float(x.tanh()),
        ("atan", &[x]) => float(x.atan()),
        ("erf", _) => return None,
        ("pow", &[x, y]) => match floats(Operator::Pow, x, y)? {
            Ok(number) => Ok(number),
            Err(error) => Err(error),
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(operator: Operator, a: i64, b: i64) -> Option<i64> {
        match ints(operator, a, b) {
            Ok(Number::Int(value)) => Some(value),
            _ => None,
        }
    }

    #[test]
    fn ints_divide_as_in_python() {
        for (a, b, quotient, rest) in [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (6, -3, -2, 0)] {
            assert_eq!(int(Operator::FloorDiv, a, b), Some(quotient), "{a} // {b}");
            assert_eq!(int(Operator::Mod, a, b), Some(rest), "{a} % {b}");
        }
        assert_eq!(int(Operator::FloorDiv, i64::MIN, -1), None);
        assert_eq!(int(Operator::Mod, i64::MIN, -1), Some(0));
        assert_eq!(int(Operator::Pow, 2, 62), Some(1 << 62));
        assert_eq!(int(Operator::Pow, 2, 63), None);
        assert_eq!(int(Operator::LShift, -1, 62), Some(-1 << 62));
        assert_eq!(int(Operator::LShift, 1, 1 << 40), None);
        assert_eq!(int(Operator::RShift, -5, 1 << 40), Some(-1));
    }

    #[test]
    fn floats_divide_as_in_python() {
        let made = |operator, a, b| match floats(operator, a, b) {
            Some(Ok(Number::Float(value))) => value,
            other => panic!("{other:?}"),
        };
        assert_eq!(made(Operator::Mod, -7.5, 2.0), 0.5);
        assert_eq!(made(Operator::Mod, 7.5, -2.0), -0.5);
        assert_eq!(made(Operator::FloorDiv, -7.5, 2.0), -4.0);
        assert!(floats(Operator::Div, 1.0, 0.0).is_some_and(|made| made.is_err()));
    }
}
