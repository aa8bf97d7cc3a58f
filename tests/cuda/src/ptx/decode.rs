//! Decodes one instruction that is not about memory.

use super::PtxError;
use super::instruction::{Binary, Op, Space, Ternary, Widths};
use super::memory_ops;
use super::operand::{Operand, Resolver};
use super::types::{Kind, Type};
use super::{alu, compare};

/// The words of an opcode and its operands.
#[derive(Debug)]
pub(crate) struct Statement<'a> {
    pub(crate) name: &'a str,
    pub(crate) modifiers: Vec<&'a str>,
    pub(crate) operands: Vec<Operand>,
}

impl Statement<'_> {
    pub(crate) fn unknown(&self, to: &Resolver<'_>) -> PtxError {
        to.error(format!(
            "{}.{} with {} operands is not known",
            self.name,
            self.modifiers.join("."),
            self.operands.len()
        ))
    }

    /// The type at the end of the opcode, and what stands before it.
    pub(crate) fn typed(&self) -> Option<(Type, &[&str])> {
        let (last, before) = self.modifiers.split_last()?;
        Some((Type::named(last)?, before))
    }
}

/// Decodes; branches are left to the caller, who knows the labels.
pub(crate) fn decode(statement: &Statement<'_>, to: &mut Resolver<'_>) -> Result<Op, PtxError> {
    let unknown = || statement.unknown(to);
    match statement.name {
        "ld" => return memory_ops::load(statement, to),
        "st" => return memory_ops::store(statement, to),
        "atom" | "red" => return memory_ops::atomic(statement, to),
        "cvta" => return address_space(statement, to),
        "membar" | "fence" | "bar" | "barrier" | "ret" | "exit" | "trap" | "nanosleep" => {
            return control(statement, to);
        }
        "mov" => return moves(statement, to),
        "cvt" => return convert(statement, to),
        "setp" => return set_predicate(statement, to),
        _ => {}
    }
    let (ty, before) = statement.typed().ok_or_else(unknown)?;
    let integer = matches!(ty.kind, Kind::Unsigned | Kind::Signed) && ty.bits >= 16;
    let bits = ty.kind == Kind::Bits && ty.bits >= 16;
    match (statement.name, before) {
        ("add" | "sub", []) if integer => {
            binary(alu::binary(statement.name, ty), statement, to, [ty; 3])
        }
        ("div" | "rem" | "min" | "max", []) if integer => {
            binary(alu::binary(statement.name, ty), statement, to, [ty; 3])
        }
        ("mul", ["lo"]) if integer => binary(alu::binary("mul", ty), statement, to, [ty; 3]),
        ("mul", ["hi"]) if integer => binary(alu::high(ty), statement, to, [ty; 3]),
        ("mul", ["wide"]) if integer && ty.bits < 64 => {
            binary(alu::wide(ty), statement, to, [ty.wide(), ty, ty])
        }
        ("mad", ["lo"]) if integer => ternary(alu::multiply_add(ty), statement, to, [ty; 4]),
        ("mad", ["hi"]) if integer => ternary(alu::high_add(ty), statement, to, [ty; 4]),
        ("mad", ["wide"]) if integer && ty.bits < 64 => ternary(
            alu::wide_add(ty),
            statement,
            to,
            [ty.wide(), ty, ty, ty.wide()],
        ),
        ("add" | "sub" | "mul", [] | ["rn"]) if ty.is_float() => {
            binary(alu::binary(statement.name, ty), statement, to, [ty; 3])
        }
        ("div", ["rn"]) | ("min" | "max", []) if ty.is_float() => {
            binary(alu::binary(statement.name, ty), statement, to, [ty; 3])
        }
        ("fma", ["rn"]) if ty.is_float() => ternary(alu::multiply_add(ty), statement, to, [ty; 4]),
        ("neg" | "abs", []) if integer || ty.is_float() => {
            unary(alu::unary(statement.name, ty), statement, to, [ty; 2])
        }
        ("popc" | "clz", []) if bits => unary(
            alu::unary(statement.name, ty),
            statement,
            to,
            [Type::B32, ty],
        ),
        ("brev", []) if bits => unary(alu::unary("brev", ty), statement, to, [ty; 2]),
        ("and" | "or" | "xor", []) if bits || ty == Type::PREDICATE => {
            binary(alu::bitwise(statement.name), statement, to, [ty; 3])
        }
        ("not", []) if bits || ty == Type::PREDICATE => unary(alu::not(ty), statement, to, [ty; 2]),
        ("shl", []) if bits => binary(alu::shift("shl", ty), statement, to, [ty, ty, Type::B32]),
        ("shr", []) if bits || integer => {
            binary(alu::shift("shr", ty), statement, to, [ty, ty, Type::B32])
        }
        ("shf", [direction @ ("l" | "r"), manner @ ("wrap" | "clamp")]) if ty == Type::B32 => {
            ternary(
                Some(alu::funnel(*direction == "l", *manner == "wrap")),
                statement,
                to,
                [ty; 4],
            )
        }
        ("prmt", []) if ty == Type::B32 => ternary(Some(alu::permute), statement, to, [ty; 4]),
        ("bfe", []) if integer => ternary(
            alu::extract(ty),
            statement,
            to,
            [ty, ty, Type::B32, Type::B32],
        ),
        ("selp", []) if ty.bits >= 16 => ternary(
            Some(alu::select),
            statement,
            to,
            [ty, ty, ty, Type::PREDICATE],
        ),
        _ => Err(unknown()),
    }
}

fn unary(
    work: Option<super::instruction::Unary>,
    statement: &Statement<'_>,
    to: &mut Resolver<'_>,
    types: [Type; 2],
) -> Result<Op, PtxError> {
    let (Some(work), [d, a]) = (work, &statement.operands[..]) else {
        return Err(statement.unknown(to));
    };
    Ok(Op::Unary(
        work,
        to.target(d, types[0])?,
        to.value(a, types[1])?,
    ))
}

fn binary(
    work: Option<Binary>,
    statement: &Statement<'_>,
    to: &mut Resolver<'_>,
    types: [Type; 3],
) -> Result<Op, PtxError> {
    let (Some(work), [d, a, b]) = (work, &statement.operands[..]) else {
        return Err(statement.unknown(to));
    };
    Ok(Op::Binary(
        work,
        to.target(d, types[0])?,
        to.value(a, types[1])?,
        to.value(b, types[2])?,
    ))
}

fn ternary(
    work: Option<Ternary>,
    statement: &Statement<'_>,
    to: &mut Resolver<'_>,
    types: [Type; 4],
) -> Result<Op, PtxError> {
    let (Some(work), [d, a, b, c]) = (work, &statement.operands[..]) else {
        return Err(statement.unknown(to));
    };
    Ok(Op::Ternary(
        work,
        to.target(d, types[0])?,
        to.value(a, types[1])?,
        to.value(b, types[2])?,
        to.value(c, types[3])?,
    ))
}

fn moves(statement: &Statement<'_>, to: &mut Resolver<'_>) -> Result<Op, PtxError> {
    let Some((ty, [])) = statement.typed() else {
        return Err(statement.unknown(to));
    };
    if ty.bits == 8 {
        return Err(statement.unknown(to));
    }
    match &statement.operands[..] {
        [d, Operand::List(parts)] if ty.kind == Kind::Bits => {
            let part = part(ty, parts.len()).ok_or_else(|| statement.unknown(to))?;
            let from = parts
                .iter()
                .map(|operand| to.value(operand, part))
                .collect::<Result<_, _>>()?;
            Ok(Op::Pack(to.target(d, ty)?, from, part.bits))
        }
        [Operand::List(parts), a] if ty.kind == Kind::Bits => {
            let part = part(ty, parts.len()).ok_or_else(|| statement.unknown(to))?;
            let targets = parts
                .iter()
                .map(|operand| to.target(operand, part))
                .collect::<Result<_, _>>()?;
            Ok(Op::Unpack(targets, to.value(a, ty)?, part.bits))
        }
        [d, Operand::Word(word)]
            if word == "%clock" || word == "%clock64" || word == "%globaltimer" =>
        {
            let bits = if word == "%clock" { 32 } else { 64 };
            if ty.bits == bits {
                Ok(Op::Clock(to.target(d, ty)?, bits))
            } else {
                Err(statement.unknown(to))
            }
        }
        [d, a] => Ok(Op::Move(to.target(d, ty)?, to.value(a, ty)?)),
        _ => Err(statement.unknown(to)),
    }
}

fn part(ty: Type, parts: usize) -> Option<Type> {
    let bits = match (ty.bits, parts) {
        (32 | 64, 2) => ty.bits / 2,
        (64, 4) => 16,
        _ => return None,
    };
    Some(Type { bits, ..ty })
}

fn convert(statement: &Statement<'_>, to: &mut Resolver<'_>) -> Result<Op, PtxError> {
    let (rounding, goal, from) = match &statement.modifiers[..] {
        [goal, from] => ("", *goal, *from),
        [rounding, goal, from] => (*rounding, *goal, *from),
        _ => return Err(statement.unknown(to)),
    };
    let (Some(goal), Some(from), [d, a]) = (
        Type::named(goal),
        Type::named(from),
        &statement.operands[..],
    ) else {
        return Err(statement.unknown(to));
    };
    if [goal, from]
        .iter()
        .any(|ty| matches!(ty.kind, Kind::Bits | Kind::Predicate))
    {
        return Err(statement.unknown(to));
    }
    if goal.is_float() || from.is_float() {
        let work =
            compare::conversion(goal, from, rounding).ok_or_else(|| statement.unknown(to))?;
        return Ok(Op::Unary(work, to.target(d, goal)?, to.value(a, from)?));
    }
    if !rounding.is_empty() {
        return Err(statement.unknown(to));
    }
    let (target, register) = to.wide_target(d, goal)?;
    let widths = Widths {
        from: from.bits,
        from_signed: from.is_signed(),
        to: goal.bits,
        to_signed: goal.is_signed(),
        register,
    };
    Ok(Op::Resize(widths, target, to.wide_value(a, from)?))
}

/// `setp.cmp.type p, a, b`, also `p|q`, and with a further predicate joined by and, or, xor.
fn set_predicate(statement: &Statement<'_>, to: &mut Resolver<'_>) -> Result<Op, PtxError> {
    let Some((ty, before)) = statement.typed() else {
        return Err(statement.unknown(to));
    };
    let (name, joined) = match before {
        [name] => (*name, None),
        [name, joined] => (*name, Some(*joined)),
        _ => return Err(statement.unknown(to)),
    };
    let work = compare::comparison(name, ty).ok_or_else(|| statement.unknown(to))?;
    match (&statement.operands[..], joined) {
        ([Operand::Pair(p, q), a, b], None) => {
            let (p, q) = (Operand::Word(p.clone()), Operand::Word(q.clone()));
            let targets = [
                to.target(&p, Type::PREDICATE)?,
                to.target(&q, Type::PREDICATE)?,
            ];
            Ok(Op::Compare {
                work,
                targets,
                operands: [to.value(a, ty)?, to.value(b, ty)?],
                joined: None,
            })
        }
        ([d, a, b], None) => Ok(Op::Binary(
            work,
            to.target(d, Type::PREDICATE)?,
            to.value(a, ty)?,
            to.value(b, ty)?,
        )),
        ([d, a, b, c], Some(name)) => {
            let join = alu::bitwise(name).ok_or_else(|| statement.unknown(to))?;
            let (c, negated) = match c {
                Operand::Not(word) => (Operand::Word(word.clone()), true),
                other => (other.clone(), false),
            };
            let target = to.target(d, Type::PREDICATE)?;
            let joined = Some((join, to.value(&c, Type::PREDICATE)?, negated));
            Ok(Op::Compare {
                work,
                targets: [target, target],
                operands: [to.value(a, ty)?, to.value(b, ty)?],
                joined,
            })
        }
        _ => Err(statement.unknown(to)),
    }
}

fn address_space(statement: &Statement<'_>, to: &mut Resolver<'_>) -> Result<Op, PtxError> {
    let (generic, space) = match &statement.modifiers[..] {
        ["to", space, "u64"] => (false, *space),
        [space, "u64"] => (true, *space),
        _ => return Err(statement.unknown(to)),
    };
    let space = match space {
        "global" => Space::Global,
        "shared" => Space::Shared,
        "local" => Space::Local,
        _ => return Err(statement.unknown(to)),
    };
    let [d, a] = &statement.operands[..] else {
        return Err(statement.unknown(to));
    };
    let word = Type {
        kind: Kind::Unsigned,
        bits: 64,
    };
    Ok(Op::Window(
        space,
        generic,
        to.target(d, word)?,
        to.value(a, word)?,
    ))
}

fn control(statement: &Statement<'_>, to: &mut Resolver<'_>) -> Result<Op, PtxError> {
    match (
        statement.name,
        &statement.modifiers[..],
        &statement.operands[..],
    ) {
        ("ret" | "exit", [] | ["uni"], []) => Ok(Op::Exit),
        ("trap", [], []) => Ok(Op::Trap),
        ("membar", ["cta" | "gl" | "sys"], []) => Ok(Op::Nothing),
        ("fence", ["sc" | "acq_rel", "cta" | "gpu" | "sys"], []) => Ok(Op::Nothing),
        ("nanosleep", ["u32"], [operand]) => to.value(operand, Type::B32).map(|_| Op::Nothing),
        ("bar" | "barrier", ["sync"] | ["sync", "aligned"], [Operand::Word(number)]) => {
            match number.parse() {
                Ok(number @ 0..16) => Ok(Op::Barrier(number)),
                _ => Err(statement.unknown(to)),
            }
        }
        _ => Err(statement.unknown(to)),
    }
}
