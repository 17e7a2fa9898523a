//! What calls of literals make: `torch.tensor`, `zeros`, `ones`, `full`, `arange`, `eye`,
//! `scalar_tensor`. Each bit is as torch has it, or there is no answer.

use crate::ir::{Argument, Dtype, Graph, Node, Op, Tensor, TensorMeta};

/// The tensor that a node makes of literals alone, if it takes no more than `max_bytes`. None: it
/// depends on something else, torch would refuse it, or it is not known to the bit.
pub(super) fn constant_value(graph: &Graph, node: &Node, max_bytes: u64) -> Option<Tensor> {
    if node.op() != Op::CallFunction {
        return None;
    }
    let target = graph.text(node.target());
    let name = match target.strip_prefix("torch.ops.aten.") {
        Some(path) => operator(path)?,
        None => target.strip_prefix("torch.")?,
    };
    let call = Call::of(graph, node)?;
    let made = match name {
        // An operator of this name does not exist, and is no `torch.tensor`.
        "tensor" if target == "torch.tensor" => of_data(call.only(&["data"])?[0]?)?,
        "scalar_tensor" => {
            let value = number(call.only(&["s"])?[0]?)?;
            Made { default: Dtype::Float32, sizes: Vec::new(), elements: Elements::Same(value) }
        }
        "zeros" => Made { default: Dtype::Float32, sizes: call.size()?, elements: Elements::Same(Number::Int(0)) },
        "ones" => Made { default: Dtype::Float32, sizes: call.size()?, elements: Elements::Same(Number::Int(1)) },
        "full" => {
            let [size, value] = call.only(&["size", "fill_value"])?.try_into().ok()?;
            let value = number(value?)?;
            Made { default: value.dtype(), sizes: ints(items(size?)?)?, elements: Elements::Same(value) }
        }
        "arange" => call.arange()?,
        "eye" => {
            let [n, m] = call.only(&["n", "m"])?.try_into().ok()?;
            let n = int(n?)?;
            let m = m.filter(|m| !matches!(m, Argument::None)).map_or(Some(n), int)?;
            Made { default: Dtype::Float32, sizes: vec![n, m], elements: Elements::Eye }
        }
        _ => return None,
    };
    made.tensor(call.dtype, max_bytes)
}

/// The operator of `zeros.default`, where the overload takes what the function takes.
fn operator(path: &str) -> Option<&str> {
    let (name, overload) = path.split_once('.').unwrap_or((path, "default"));
    matches!(overload, "default" | "start" | "start_step" | "m").then_some(name)
}

#[derive(Clone, Copy)]
enum Number {
    Bool(bool),
    Int(i64),
    Float(f64),
}

struct Call<'a> {
    args: &'a [Argument],
    named: Vec<(&'a str, &'a Argument)>,
    dtype: Option<Dtype>,
}

enum Elements {
    Same(Number),
    Each(Vec<Number>),
    From { start: i64, step: i64 },
    Eye,
}

struct Made {
    default: Dtype,
    sizes: Vec<i64>,
    elements: Elements,
}

impl<'a> Call<'a> {
    /// None when it asks for what a plain tensor in memory is not.
    fn of(graph: &'a Graph, node: &'a Node) -> Option<Call<'a>> {
        let mut call = Call { args: node.args(), named: Vec::new(), dtype: None };
        for (key, value) in node.kwargs() {
            let plain = match (graph.text(*key), value) {
                ("dtype", Argument::Dtype(dtype)) => {
                    call.dtype = Some(*dtype);
                    true
                }
                ("device", Argument::Device(name) | Argument::Str(name)) => graph.text(*name) == "cpu",
                ("layout", Argument::Layout(name)) => graph.text(*name) == "torch.strided",
                ("requires_grad" | "pin_memory", Argument::Bool(false)) => true,
                ("dtype" | "device" | "layout" | "pin_memory" | "out", Argument::None) => true,
                ("dtype" | "device" | "layout" | "requires_grad" | "pin_memory" | "out", _) => false,
                (name, value) => {
                    call.named.push((name, value));
                    true
                }
            };
            if !plain {
                return None;
            }
        }
        Some(call)
    }

    /// What each of the parameters is given; None when something else is given.
    fn only(&self, parameters: &[&str]) -> Option<Vec<Option<&'a Argument>>> {
        let mut given: Vec<Option<&Argument>> = vec![None; parameters.len()];
        if self.args.len() > parameters.len() {
            return None;
        }
        given.iter_mut().zip(self.args).for_each(|(place, argument)| *place = Some(argument));
        for (name, value) in &self.named {
            let place = &mut given[parameters.iter().position(|parameter| parameter == name)?];
            if place.replace(value).is_some() {
                return None;
            }
        }
        Some(given)
    }

    /// Sizes as one list, or one by one.
    fn size(&self) -> Option<Vec<i64>> {
        match (self.args, self.named.as_slice()) {
            ([], [("size", size)]) => ints(items(size)?),
            ([size], []) if size.is_nested() => ints(items(size)?),
            (sizes, []) if !sizes.is_empty() => ints(sizes),
            _ => None,
        }
    }

    fn arange(&self) -> Option<Made> {
        let is_named = |name: &str| self.named.iter().any(|(given, _)| *given == name);
        let [start, end, step] = match self.args.len() {
            1 if !is_named("end") => {
                let [end, start, step] = self.only(&["end", "start", "step"])?.try_into().ok()?;
                // With a start by name and an end by position torch has no such overload.
                if is_named("start") || is_named("step") {
                    return None;
                }
                [start, end, step]
            }
            _ => self.only(&["start", "end", "step"])?.try_into().ok()?,
        };
        let start = start.map_or(Some(0), int)?;
        let end = int(end?)?;
        let step = step.map_or(Some(1), int)?;
        let whole = self.dtype.is_none_or(|dtype| !dtype.is_floating_point() && dtype != Dtype::Bool);
        let distance = i128::from(end) - i128::from(start);
        if !whole || step == 0 || (distance != 0 && (distance < 0) != (step < 0)) {
            return None;
        }
        let step_by = i128::from(step);
        let count = (distance + step_by - step_by.signum()) / step_by;
        let sizes = vec![i64::try_from(count).ok()?];
        Some(Made { default: Dtype::Int64, sizes, elements: Elements::From { start, step } })
    }
}

/// Nested lists of one shape.
fn of_data(data: &Argument) -> Option<Made> {
    let mut sizes = Vec::new();
    let mut at = data;
    while let Argument::List(list) | Argument::Tuple(list) = at {
        sizes.push(i64::try_from(list.len()).ok()?);
        match list.first() {
            Some(first) => at = first,
            None => break,
        }
    }
    let mut numbers = Vec::new();
    collect(data, &sizes, &mut numbers)?;
    let rank = |number: &Number| match number {
        Number::Bool(_) => 0,
        Number::Int(_) => 1,
        Number::Float(_) => 2,
    };
    let default = numbers.iter().max_by_key(|number| rank(number)).map_or(Dtype::Float32, |number| number.dtype());
    Some(Made { default, sizes, elements: Elements::Each(numbers) })
}

/// Arguments do not nest deeper than a walk may recurse.
fn collect(data: &Argument, sizes: &[i64], numbers: &mut Vec<Number>) -> Option<()> {
    match (data, sizes) {
        (Argument::List(list) | Argument::Tuple(list), [size, inner @ ..]) if list.len() as i64 == *size => {
            list.iter().try_for_each(|item| collect(item, inner, numbers))
        }
        (literal, []) => {
            numbers.push(number(literal)?);
            Some(())
        }
        _ => None,
    }
}

fn items(argument: &Argument) -> Option<&[Argument]> {
    match argument {
        Argument::List(items) | Argument::Tuple(items) => Some(items),
        _ => None,
    }
}

fn ints(arguments: &[Argument]) -> Option<Vec<i64>> {
    arguments.iter().map(int).collect()
}

fn int(argument: &Argument) -> Option<i64> {
    match argument {
        Argument::Int(value) => Some(*value),
        _ => None,
    }
}

fn number(argument: &Argument) -> Option<Number> {
    match argument {
        Argument::Bool(value) => Some(Number::Bool(*value)),
        Argument::Int(value) => Some(Number::Int(*value)),
        Argument::Float(value) => Some(Number::Float(*value)),
        _ => None,
    }
}

impl Number {
    /// What torch makes of it when it is not told; its own default for floats is float32.
    fn dtype(self) -> Dtype {
        match self {
            Number::Bool(_) => Dtype::Bool,
            Number::Int(_) => Dtype::Int64,
            Number::Float(_) => Dtype::Float32,
        }
    }

    /// Appends it as an element. None where torch's ways disagree, or refuse it.
    fn write(self, dtype: Dtype, bytes: &mut Vec<u8>) -> Option<()> {
        match dtype {
            Dtype::Bool => bytes.push(match self {
                Number::Bool(value) => u8::from(value),
                Number::Int(value @ (0 | 1)) => value as u8,
                _ => return None,
            }),
            Dtype::Uint8 => bytes.push(u8::try_from(self.whole()?).ok()?),
            Dtype::Int8 => bytes.extend(i8::try_from(self.whole()?).ok()?.to_le_bytes()),
            Dtype::Int16 => bytes.extend(i16::try_from(self.whole()?).ok()?.to_le_bytes()),
            Dtype::Int32 => bytes.extend(i32::try_from(self.whole()?).ok()?.to_le_bytes()),
            Dtype::Int64 => bytes.extend(self.whole()?.to_le_bytes()),
            Dtype::Float64 => bytes.extend(self.real()?.to_le_bytes()),
            Dtype::Float32 => bytes.extend(self.single()?.to_le_bytes()),
            Dtype::Bfloat16 => {
                let single = self.single()?;
                let bits = single.to_bits();
                // To the nearest, of two the even one, as torch rounds what is a float32 by then.
                let rounded = match single.is_nan() {
                    true => 0x7fc0,
                    false => ((u64::from(bits) + 0x7fff + u64::from((bits >> 16) & 1)) >> 16) as u16,
                };
                let overflows = rounded & 0x7fff == 0x7f80 && single.is_finite();
                bytes.extend((!overflows).then_some(rounded)?.to_le_bytes());
            }
            _ => return None,
        }
        Some(())
    }

    fn whole(self) -> Option<i64> {
        match self {
            Number::Bool(value) => Some(i64::from(value)),
            Number::Int(value) => Some(value),
            Number::Float(_) => None,
        }
    }

    fn real(self) -> Option<f64> {
        match self {
            Number::Float(value) => Some(value),
            whole => Some(whole.whole()?).filter(|value| value.unsigned_abs() <= 1 << 53).map(|value| value as f64),
        }
    }

    /// Rounded to the nearest, of two to the even one.
    fn single(self) -> Option<f32> {
        let real = self.real()?;
        let single = real as f32;
        (single.is_finite() || !real.is_finite()).then_some(single)
    }
}

impl Made {
    fn tensor(self, dtype: Option<Dtype>, max_bytes: u64) -> Option<Tensor> {
        let dtype = dtype.unwrap_or(self.default);
        let count = self.sizes.iter().try_fold(1u64, |count, &size| count.checked_mul(u64::try_from(size).ok()?))?;
        let length = count.checked_mul(dtype.element_size() as u64).filter(|&length| length <= max_bytes)?;
        let mut bytes = Vec::with_capacity(usize::try_from(length).ok()?);
        match self.elements {
            Elements::Same(value) => {
                value.write(dtype, &mut bytes)?;
                bytes = bytes.repeat(usize::try_from(count).ok()?);
            }
            Elements::Each(values) => values.into_iter().try_for_each(|value| value.write(dtype, &mut bytes))?,
            Elements::From { start, step } => {
                for index in 0..i128::from(count) {
                    let value = i64::try_from(i128::from(start) + index * i128::from(step)).ok()?;
                    Number::Int(value).write(dtype, &mut bytes)?;
                }
            }
            Elements::Eye => {
                let columns = (*self.sizes.last()?).max(1) as u64;
                for index in 0..count {
                    let one = index / columns == index % columns;
                    Number::Int(i64::from(one)).write(dtype, &mut bytes)?;
                }
            }
        }
        Tensor::from_bytes(TensorMeta::new(dtype, self.sizes), bytes).ok()
    }
}
