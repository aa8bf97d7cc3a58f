//! Arithmetic: a function for each operation and type.

use super::instruction::{Binary, Ternary, Unary};
use super::types::{Kind, Type};

/// A function over integers of the type's width and sign; `None` for other types.
macro_rules! integers {
    ($ty:expr, |$($name:ident),+| $result:expr) => {
        match ($ty.is_signed(), $ty.bits) {
            _ if $ty.kind == Kind::Float || $ty.kind == Kind::Predicate => None,
            (true, 16) => Some(|$($name: u64),+| { let ($($name,)+) = ($($name as i16,)+); u64::from(($result) as u16) }),
            (true, 32) => Some(|$($name: u64),+| { let ($($name,)+) = ($($name as i32,)+); u64::from(($result) as u32) }),
            (true, 64) => Some(|$($name: u64),+| { let ($($name,)+) = ($($name as i64,)+); ($result) as u64 }),
            (false, 16) => Some(|$($name: u64),+| { let ($($name,)+) = ($($name as u16,)+); u64::from($result) }),
            (false, 32) => Some(|$($name: u64),+| { let ($($name,)+) = ($($name as u32,)+); u64::from($result) }),
            (false, 64) => Some(|$($name: u64),+| { let ($($name,)+) = ($($name,)+); $result }),
            _ => None,
        }
    };
}

/// A function over floats; `None` for other types.
macro_rules! floats {
    ($ty:expr, |$($name:ident),+| $result:expr) => {
        match ($ty.kind, $ty.bits) {
            (Kind::Float, 32) => Some(|$($name: u64),+| { let ($($name,)+) = ($(f32::from_bits($name as u32),)+); u64::from(($result).to_bits()) }),
            (Kind::Float, 64) => Some(|$($name: u64),+| { let ($($name,)+) = ($(f64::from_bits($name),)+); ($result).to_bits() }),
            _ => None,
        }
    };
}

/// `name.type d, a, b`. Division by zero gives all ones, its rest the dividend.
pub(crate) fn binary(name: &str, ty: Type) -> Option<Binary> {
    if ty.is_float() {
        return match name {
            "add" => floats!(ty, |a, b| a + b),
            "sub" => floats!(ty, |a, b| a - b),
            "mul" => floats!(ty, |a, b| a * b),
            "div" => floats!(ty, |a, b| a / b),
            "min" => floats!(ty, |a, b| a.min(b)),
            "max" => floats!(ty, |a, b| a.max(b)),
            _ => None,
        };
    }
    match name {
        "add" => integers!(ty, |a, b| a.wrapping_add(b)),
        "sub" => integers!(ty, |a, b| a.wrapping_sub(b)),
        "mul" => integers!(ty, |a, b| a.wrapping_mul(b)),
        "div" => integers!(ty, |a, b| if b == 0 { !0 } else { a.wrapping_div(b) }),
        "rem" => integers!(ty, |a, b| if b == 0 { a } else { a.wrapping_rem(b) }),
        "min" => integers!(ty, |a, b| a.min(b)),
        "max" => integers!(ty, |a, b| a.max(b)),
        _ => None,
    }
}

/// `mul.hi`: the upper half of the product.
pub(crate) fn high(ty: Type) -> Option<Binary> {
    Some(match (ty.is_signed(), ty.bits) {
        (true, 16) => |a, b| u64::from(((i32::from(a as i16) * i32::from(b as i16)) >> 16) as u16),
        (false, 16) => |a, b| (a * b) >> 16,
        (true, 32) => |a, b| u64::from(((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32),
        (false, 32) => |a, b| (a * b) >> 32,
        (true, 64) => |a, b| ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64,
        (false, 64) => |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64,
        _ => return None,
    })
}

/// `mul.wide`: the product, twice as wide.
pub(crate) fn wide(ty: Type) -> Option<Binary> {
    Some(match (ty.is_signed(), ty.bits) {
        (true, 16) => |a, b| u64::from((i32::from(a as i16) * i32::from(b as i16)) as u32),
        (true, 32) => |a, b| (i64::from(a as i32) * i64::from(b as i32)) as u64,
        (false, 16 | 32) => |a, b| a * b,
        _ => return None,
    })
}

/// `mad.lo`, `fma`.
pub(crate) fn multiply_add(ty: Type) -> Option<Ternary> {
    if ty.is_float() {
        return floats!(ty, |a, b, c| a.mul_add(b, c));
    }
    integers!(ty, |a, b, c| a.wrapping_mul(b).wrapping_add(c))
}

/// `mad.hi`
pub(crate) fn high_add(ty: Type) -> Option<Ternary> {
    match (ty.is_signed(), ty.bits) {
        (true, 32) => Some(|a, b, c| {
            u64::from(
                (((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32).wrapping_add(c as u32),
            )
        }),
        (false, 32) => Some(|a, b, c| u64::from((((a * b) >> 32) as u32).wrapping_add(c as u32))),
        (true, 64) => Some(|a, b, c| {
            (((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64).wrapping_add(c)
        }),
        (false, 64) => {
            Some(|a, b, c| (((u128::from(a) * u128::from(b)) >> 64) as u64).wrapping_add(c))
        }
        _ => None,
    }
}

/// `mad.wide`
pub(crate) fn wide_add(ty: Type) -> Option<Ternary> {
    match (ty.is_signed(), ty.bits) {
        (true, 16) => Some(|a, b, c| {
            u64::from(((i32::from(a as i16) * i32::from(b as i16)) as u32).wrapping_add(c as u32))
        }),
        (false, 16) => Some(|a, b, c| u64::from(((a * b) as u32).wrapping_add(c as u32))),
        (true, 32) => {
            Some(|a, b, c| ((i64::from(a as i32) * i64::from(b as i32)) as u64).wrapping_add(c))
        }
        (false, 32) => Some(|a, b, c| (a * b).wrapping_add(c)),
        _ => None,
    }
}

/// `neg`, `abs` of the signed and of floats, and what counts bits.
pub(crate) fn unary(name: &str, ty: Type) -> Option<Unary> {
    if ty.is_float() {
        return match name {
            "neg" => floats!(ty, |a| -a),
            "abs" => floats!(ty, |a| a.abs()),
            _ => None,
        };
    }
    match (name, ty.bits) {
        ("neg", _) if ty.is_signed() => integers!(ty, |a| a.wrapping_neg()),
        ("abs", 16) if ty.is_signed() => Some(|a| u64::from((a as i16).wrapping_abs() as u16)),
        ("abs", 32) if ty.is_signed() => Some(|a| u64::from((a as i32).wrapping_abs() as u32)),
        ("abs", 64) if ty.is_signed() => Some(|a| (a as i64).wrapping_abs() as u64),
        ("popc", 32 | 64) => Some(|a| u64::from(a.count_ones())),
        ("clz", 32) => Some(|a| u64::from((a as u32).leading_zeros())),
        ("clz", 64) => Some(|a| u64::from(a.leading_zeros())),
        ("brev", 32) => Some(|a| u64::from((a as u32).reverse_bits())),
        ("brev", 64) => Some(|a| a.reverse_bits()),
        _ => None,
    }
}

/// Bitwise operations, also on predicates.
pub(crate) fn bitwise(name: &str) -> Option<Binary> {
    match name {
        "and" => Some(|a, b| a & b),
        "or" => Some(|a, b| a | b),
        "xor" => Some(|a, b| a ^ b),
        _ => None,
    }
}

pub(crate) fn not(ty: Type) -> Option<Unary> {
    match ty.bits {
        1 => Some(|a| a ^ 1),
        16 => Some(|a| u64::from(!(a as u16))),
        32 => Some(|a| u64::from(!(a as u32))),
        64 => Some(|a| !a),
        _ => None,
    }
}

/// `shl` and `shr`: an amount of the width or more shifts everything out.
pub(crate) fn shift(name: &str, ty: Type) -> Option<Binary> {
    Some(match (name, ty.is_signed(), ty.bits) {
        ("shl", _, 16) => |a, b| u64::from((a as u16).checked_shl(b as u32).unwrap_or(0)),
        ("shl", _, 32) => |a, b| u64::from((a as u32).checked_shl(b as u32).unwrap_or(0)),
        ("shl", _, 64) => |a, b| a.checked_shl(b as u32).unwrap_or(0),
        ("shr", false, 16 | 32 | 64) => |a, b| a.checked_shr(b as u32).unwrap_or(0),
        ("shr", true, 16) => |a, b| u64::from((a as i16 >> (b as u32).min(15)) as u16),
        ("shr", true, 32) => |a, b| u64::from((a as i32 >> (b as u32).min(31)) as u32),
        ("shr", true, 64) => |a, b| (a as i64 >> (b as u32).min(63)) as u64,
        _ => return None,
    })
}

/// `shf`: two words shifted together, the amount taken modulo 32 or cut at 32.
pub(crate) fn funnel(left: bool, wrap: bool) -> Ternary {
    match (left, wrap) {
        (true, true) => |a, b, c| (((b << 32 | a) << (c & 31)) >> 32) & 0xffff_ffff,
        (false, true) => |a, b, c| ((b << 32 | a) >> (c & 31)) & 0xffff_ffff,
        (true, false) => |a, b, c| {
            if c >= 32 {
                a
            } else {
                (((b << 32 | a) << c) >> 32) & 0xffff_ffff
            }
        },
        (false, false) => |a, b, c| ((b << 32 | a) >> c.min(32)) & 0xffff_ffff,
    }
}

/// `prmt.b32` with its default mode: picks four of eight bytes.
pub(crate) fn permute(a: u64, b: u64, selector: u64) -> u64 {
    let bytes = (b << 32 | a).to_le_bytes();
    (0..4).fold(0, |result, at| {
        let pick = (selector >> (4 * at)) & 0xf;
        let byte = bytes[(pick & 7) as usize];
        let byte = if pick & 8 == 0 {
            byte
        } else {
            ((byte as i8) >> 7) as u8
        };
        result | u64::from(byte) << (8 * at)
    })
}

/// `bfe`: bits from a position on, of a length.
pub(crate) fn extract(ty: Type) -> Option<Ternary> {
    Some(match (ty.is_signed(), ty.bits) {
        (false, 32) => |a, b, c| field(a, b, c, 32, false),
        (true, 32) => |a, b, c| field(a, b, c, 32, true) & 0xffff_ffff,
        (false, 64) => |a, b, c| field(a, b, c, 64, false),
        (true, 64) => |a, b, c| field(a, b, c, 64, true),
        _ => return None,
    })
}

fn field(value: u64, position: u64, length: u64, bits: u32, signed: bool) -> u64 {
    let (position, length) = ((position & 0xff) as u32, (length & 0xff) as u32);
    if length == 0 {
        return 0;
    }
    let top = (position + length - 1).min(bits - 1);
    let sign = signed && (value >> top) & 1 == 1;
    let low = if position >= bits {
        0
    } else {
        value >> position
    };
    let kept = if position >= bits {
        0
    } else {
        length.min(bits - position)
    };
    let inside = super::types::mask(kept);
    (low & inside) | if sign { !inside } else { 0 }
}

/// What `selp` does: the first if the predicate holds.
pub(crate) fn select(a: u64, b: u64, predicate: u64) -> u64 {
    if predicate == 1 { a } else { b }
}

/// What an atomic makes of the old value and two operands.
pub(crate) fn atomic(name: &str, ty: Type) -> Option<Ternary> {
    match name {
        "add" if ty.is_float() => floats!(ty, |old, a, _unused| old + a),
        "add" => integers!(ty, |old, a, _unused| old.wrapping_add(a)),
        "min" => integers!(ty, |old, a, _unused| old.min(a)),
        "max" => integers!(ty, |old, a, _unused| old.max(a)),
        "exch" => Some(|_, a, _| a),
        "cas" => Some(|old, a, b| if old == a { b } else { old }),
        "and" => Some(|old, a, _| old & a),
        "or" => Some(|old, a, _| old | a),
        "xor" => Some(|old, a, _| old ^ a),
        "inc" => integers!(ty, |old, a, _unused| if old >= a { 0 } else { old + 1 }),
        "dec" => integers!(ty, |old, a, _unused| if old == 0 || old > a {
            a
        } else {
            old - 1
        }),
        _ => None,
    }
}
