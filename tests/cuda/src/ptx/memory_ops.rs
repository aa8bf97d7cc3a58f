//! Decodes loads, stores and atomics.

use super::PtxError;
use super::alu;
use super::decode::Statement;
use super::instruction::{Op, Shape, Space};
use super::operand::{Operand, Resolver};
use super::types::{Kind, Type};

/// The modifiers of a load or store that mean something here.
struct Form {
    space: Space,
    elements: usize,
    ty: Type,
}

/// Reads the modifiers in the order that PTX asks for: strength, scope, space, cache operators, vector, type.
fn form(statement: &Statement<'_>, to: &Resolver<'_>) -> Result<Form, PtxError> {
    let Some((ty, before)) = statement.typed() else {
        return Err(statement.unknown(to));
    };
    let load = statement.name == "ld";
    let mut rest = before.iter().copied().peekable();
    if let Some(strength) = rest.next_if(|word| {
        matches!(
            *word,
            "weak" | "volatile" | "relaxed" | "acquire" | "release"
        )
    }) {
        let wrong = if load { "release" } else { "acquire" };
        let scoped = !matches!(strength, "weak" | "volatile");
        if strength == wrong
            || scoped
                && rest
                    .next_if(|word| matches!(*word, "cta" | "gpu" | "sys"))
                    .is_none()
        {
            return Err(statement.unknown(to));
        }
    }
    let space = match rest.next_if(|word| matches!(*word, "global" | "shared" | "local" | "param"))
    {
        Some("global") => Space::Global,
        Some("shared") => Space::Shared,
        Some("local") => Space::Local,
        Some(_) if load => Space::Parameter,
        Some(_) => return Err(statement.unknown(to)),
        None => Space::Generic,
    };
    if load {
        rest.next_if(|word| matches!(*word, "ca" | "cg" | "cs" | "lu" | "cv"));
        rest.next_if(|word| *word == "nc" && space == Space::Global);
    } else {
        rest.next_if(|word| matches!(*word, "wb" | "cg" | "cs" | "wt"));
    }
    rest.next_if(|word| {
        matches!(
            *word,
            "L1::no_allocate"
                | "L1::evict_first"
                | "L1::evict_last"
                | "L1::evict_normal"
                | "L1::evict_unchanged"
        )
    });
    rest.next_if(|word| load && matches!(*word, "L2::64B" | "L2::128B" | "L2::256B"));
    let elements = match rest.next_if(|word| matches!(*word, "v2" | "v4")) {
        Some("v2") => 2,
        Some(_) => 4,
        None => 1,
    };
    if rest.next().is_some() || ty.kind == Kind::Predicate || elements * ty.bytes() > 16 {
        return Err(statement.unknown(to));
    }
    Ok(Form {
        space,
        elements,
        ty,
    })
}

fn shape(form: &Form) -> Shape {
    Shape {
        space: form.space,
        bytes: form.ty.bytes(),
        elements: form.elements,
        signed: form.ty.is_signed(),
    }
}

/// The registers of a vector, or the one register.
fn parts(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::List(parts) => parts,
        single => core::slice::from_ref(single),
    }
}

pub(crate) fn load(statement: &Statement<'_>, to: &mut Resolver<'_>) -> Result<Op, PtxError> {
    let form = form(statement, to)?;
    let [target, address] = &statement.operands[..] else {
        return Err(statement.unknown(to));
    };
    let parts = parts(target);
    if parts.len() != form.elements {
        return Err(statement.unknown(to));
    }
    let (mut targets, mut widths) = ([0; 4], [0; 4]);
    for (at, part) in parts.iter().enumerate() {
        (targets[at], widths[at]) = to.wide_target(part, form.ty)?;
    }
    let (base, offset) = to.address(address)?;
    Ok(Op::Load {
        shape: shape(&form),
        to: targets,
        widths,
        base,
        offset,
    })
}

pub(crate) fn store(statement: &Statement<'_>, to: &mut Resolver<'_>) -> Result<Op, PtxError> {
    let form = form(statement, to)?;
    let [address, source] = &statement.operands[..] else {
        return Err(statement.unknown(to));
    };
    let parts = parts(source);
    if parts.len() != form.elements {
        return Err(statement.unknown(to));
    }
    let mut from = [0; 4];
    for (at, part) in parts.iter().enumerate() {
        from[at] = to.wide_value(part, form.ty)?;
    }
    let (base, offset) = to.address(address)?;
    Ok(Op::Store {
        shape: shape(&form),
        from,
        base,
        offset,
    })
}

pub(crate) fn atomic(statement: &Statement<'_>, to: &mut Resolver<'_>) -> Result<Op, PtxError> {
    let Some((ty, before)) = statement.typed() else {
        return Err(statement.unknown(to));
    };
    let mut rest = before.iter().copied().peekable();
    if rest
        .next_if(|word| matches!(*word, "relaxed" | "acquire" | "release" | "acq_rel"))
        .is_some()
    {
        rest.next_if(|word| matches!(*word, "cta" | "gpu" | "sys"));
    }
    rest.next_if(|word| matches!(*word, "cta" | "gpu" | "sys"));
    let space = match rest.next_if(|word| matches!(*word, "global" | "shared")) {
        Some("global") => Space::Global,
        Some(_) => Space::Shared,
        None => Space::Generic,
    };
    let (Some(name), None) = (rest.next(), rest.next()) else {
        return Err(statement.unknown(to));
    };
    let fits = match name {
        "add" => !matches!(
            (ty.kind, ty.bits),
            (Kind::Bits, _) | (_, 16) | (Kind::Signed, 64)
        ),
        "min" | "max" => matches!(ty.kind, Kind::Unsigned | Kind::Signed) && ty.bits >= 32,
        "exch" | "cas" | "and" | "or" | "xor" => ty.kind == Kind::Bits && ty.bits >= 32,
        "inc" | "dec" => ty.kind == Kind::Unsigned && ty.bits == 32,
        _ => false,
    };
    let change = alu::atomic(name, ty)
        .filter(|_| fits)
        .ok_or_else(|| statement.unknown(to))?;
    let (target, operands) = match (statement.name, &statement.operands[..]) {
        ("atom", [target, rest @ ..]) => (Some(to.target(target, ty)?), rest),
        (_, all) => (None, all),
    };
    let wanted = if name == "cas" { 3 } else { 2 };
    let ([address, values @ ..], true) = (operands, operands.len() == wanted) else {
        return Err(statement.unknown(to));
    };
    let first = to.value(&values[0], ty)?;
    let second = values
        .get(1)
        .map_or(Ok(first), |operand| to.value(operand, ty))?;
    let (base, offset) = to.address(address)?;
    let shape = Shape {
        space,
        bytes: ty.bytes(),
        elements: 1,
        signed: false,
    };
    Ok(Op::Atomic {
        change,
        shape,
        to: target,
        base,
        offset,
        operands: [first, second],
    })
}
