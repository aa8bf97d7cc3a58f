//! Types of registers and instructions.

/// How bits are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bits,
    Unsigned,
    Signed,
    Float,
    Predicate,
}

/// A scalar type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) kind: Kind,
    pub(crate) bits: u32,
}

impl Type {
    pub(crate) const PREDICATE: Self = Self {
        kind: Kind::Predicate,
        bits: 1,
    };
    pub(crate) const B32: Self = Self {
        kind: Kind::Bits,
        bits: 32,
    };

    /// A type by its name without the dot.
    pub(crate) fn named(name: &str) -> Option<Self> {
        if name == "pred" {
            return Some(Self::PREDICATE);
        }
        let (kind, bits) = name.split_at_checked(1)?;
        let kind = match kind {
            "b" => Kind::Bits,
            "u" => Kind::Unsigned,
            "s" => Kind::Signed,
            "f" => Kind::Float,
            _ => return None,
        };
        let bits = match (kind, bits) {
            (Kind::Float, "32") | (_, "32") => 32,
            (_, "64") => 64,
            (Kind::Bits | Kind::Unsigned | Kind::Signed, "8") => 8,
            (Kind::Bits | Kind::Unsigned | Kind::Signed, "16") => 16,
            _ => return None,
        };
        Some(Self { kind, bits })
    }

    pub(crate) fn bytes(self) -> usize {
        (self.bits / 8) as usize
    }

    pub(crate) fn is_signed(self) -> bool {
        self.kind == Kind::Signed
    }

    pub(crate) fn is_float(self) -> bool {
        self.kind == Kind::Float
    }

    pub(crate) fn mask(self) -> u64 {
        mask(self.bits)
    }

    /// Twice as wide.
    pub(crate) fn wide(self) -> Self {
        Self {
            bits: self.bits * 2,
            ..self
        }
    }
}

/// The lowest bits of a word.
pub(crate) fn mask(bits: u32) -> u64 {
    if bits >= 64 {
        u64::MAX
    } else {
        (1 << bits) - 1
    }
}

/// The lowest `bits` of a value, as a signed number.
pub(crate) fn sign_extend(value: u64, bits: u32) -> u64 {
    let up = 64 - bits;
    (((value << up) as i64) >> up) as u64
}
