//! How many bytes may be read or written at once.

use core::fmt;

/// Bytes of one access. A copy may use it if every address and every length of a plane is a multiple of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessWidth {
    /// 1 byte.
    One,
    /// 2 bytes.
    Two,
    /// 4 bytes.
    Four,
    /// 8 bytes.
    Eight,
    /// 16 bytes.
    Sixteen,
}

impl AccessWidth {
    /// All of them, the narrowest first.
    pub const ALL: [Self; 5] = [Self::One, Self::Two, Self::Four, Self::Eight, Self::Sixteen];

    /// The widest that divides all numbers.
    #[must_use]
    pub fn dividing(numbers: impl IntoIterator<Item = u64>) -> Self {
        let bits = numbers.into_iter().fold(0, |bits, number| bits | number);
        match bits.trailing_zeros() {
            0 => Self::One,
            1 => Self::Two,
            2 => Self::Four,
            3 => Self::Eight,
            _ => Self::Sixteen,
        }
    }

    /// How many bytes.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
            Self::Sixteen => 16,
        }
    }
}

impl fmt::Display for AccessWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().fmt(f)
    }
}
