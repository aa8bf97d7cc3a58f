//! Comparisons of `setp` and conversions between integers and floats.

use core::cmp::Ordering;

use super::instruction::{Binary, Unary};
use super::types::{Kind, Type};

/// A comparison over numbers of the type.
macro_rules! compared {
    ($ty:expr, |$a:ident, $b:ident| $result:expr) => {
        match ($ty.kind, $ty.bits) {
            (Kind::Signed, 16) => Some(|a: u64, b: u64| {
                let ($a, $b) = (a as i16, b as i16);
                u64::from($result)
            }),
            (Kind::Signed, 32) => Some(|a: u64, b: u64| {
                let ($a, $b) = (a as i32, b as i32);
                u64::from($result)
            }),
            (Kind::Signed, 64) => Some(|a: u64, b: u64| {
                let ($a, $b) = (a as i64, b as i64);
                u64::from($result)
            }),
            (Kind::Unsigned | Kind::Bits, 16) => Some(|a: u64, b: u64| {
                let ($a, $b) = (a as u16, b as u16);
                u64::from($result)
            }),
            (Kind::Unsigned | Kind::Bits, 32) => Some(|a: u64, b: u64| {
                let ($a, $b) = (a as u32, b as u32);
                u64::from($result)
            }),
            (Kind::Unsigned | Kind::Bits, 64) => Some(|a: u64, b: u64| {
                let ($a, $b) = (a, b);
                u64::from($result)
            }),
            (Kind::Float, 32) => Some(|a: u64, b: u64| {
                let ($a, $b) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
                u64::from($result)
            }),
            (Kind::Float, 64) => Some(|a: u64, b: u64| {
                let ($a, $b) = (f64::from_bits(a), f64::from_bits(b));
                u64::from($result)
            }),
            _ => None,
        }
    };
}

/// `setp.name.type`: 1 or 0.
pub(crate) fn comparison(name: &str, ty: Type) -> Option<Binary> {
    let ordered = matches!(name, "lt" | "le" | "gt" | "ge");
    let unsigned = matches!(name, "lo" | "ls" | "hi" | "hs");
    if ty.kind == Kind::Bits && (ordered || unsigned) || unsigned && ty.kind != Kind::Unsigned {
        return None;
    }
    match name {
        "eq" => compared!(ty, |a, b| a == b),
        // Of floats, an ordered "ne" is false when one is not a number.
        "ne" if ty.is_float() => {
            compared!(ty, |a, b| a.partial_cmp(&b).is_some_and(Ordering::is_ne))
        }
        "ne" => compared!(ty, |a, b| a != b),
        "lt" | "lo" => compared!(ty, |a, b| a < b),
        "le" | "ls" => compared!(ty, |a, b| a <= b),
        "gt" | "hi" => compared!(ty, |a, b| a > b),
        "ge" | "hs" => compared!(ty, |a, b| a >= b),
        "neu" if ty.is_float() => compared!(ty, |a, b| a != b),
        _ => None,
    }
}

/// `cvt` with a float on one side. Integers are taken as 64 bits wide, extended by their sign.
pub(crate) fn conversion(to: Type, from: Type, rounding: &str) -> Option<Unary> {
    match (to.is_float(), from.is_float(), to.bits, from.bits, rounding) {
        (true, true, 64, 32, "") => Some(|a| f64::from(f32::from_bits(a as u32)).to_bits()),
        (true, true, 32, 64, "rn") => Some(|a| u64::from((f64::from_bits(a) as f32).to_bits())),
        (true, false, 32, 32, "rn") if from.is_signed() => {
            Some(|a| u64::from((a as i32 as f32).to_bits()))
        }
        (true, false, 32, 64, "rn") if from.is_signed() => {
            Some(|a| u64::from((a as i64 as f32).to_bits()))
        }
        (true, false, 64, 32, "rn") if from.is_signed() => Some(|a| f64::from(a as i32).to_bits()),
        (true, false, 64, 64, "rn") if from.is_signed() => Some(|a| (a as i64 as f64).to_bits()),
        (true, false, 32, 32 | 64, "rn") => Some(|a| u64::from((a as f32).to_bits())),
        (true, false, 64, 32 | 64, "rn") => Some(|a| (a as f64).to_bits()),
        (false, true, 32, 32, "rzi") if to.is_signed() => {
            Some(|a| u64::from(f32::from_bits(a as u32) as i32 as u32))
        }
        (false, true, 32, 32, "rzi") => Some(|a| u64::from(f32::from_bits(a as u32) as u32)),
        (false, true, 32, 64, "rzi") if to.is_signed() => {
            Some(|a| u64::from(f64::from_bits(a) as i32 as u32))
        }
        (false, true, 32, 64, "rzi") => Some(|a| u64::from(f64::from_bits(a) as u32)),
        (false, true, 64, 32, "rzi") if to.is_signed() => {
            Some(|a| (f32::from_bits(a as u32) as i64) as u64)
        }
        (false, true, 64, 32, "rzi") => Some(|a| f32::from_bits(a as u32) as u64),
        (false, true, 64, 64, "rzi") if to.is_signed() => {
            Some(|a| (f64::from_bits(a) as i64) as u64)
        }
        (false, true, 64, 64, "rzi") => Some(|a| f64::from_bits(a) as u64),
        _ => None,
    }
}
