//! K and V inside the part that a block has in a plane.

use core::fmt;

/// Which comes first inside a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Position by position, and in each all heads: `[positions, heads, head_bytes]`.
    Nhd,
    /// Head by head, and in each all positions: `[heads, positions, head_bytes]`.
    Hnd,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nhd => "NHD",
            Self::Hnd => "HND",
        })
    }
}

/// The inside of a block in a plane: `parts` tensors one behind the other, each of `positions` times `heads` vectors of `head_bytes`,
/// without gaps.
///
/// ```text
/// part 0                                  part 1
/// +-------------------------------------+-------------------------------------+
/// | NHD: p0h0 p0h1 p1h0 p1h1 p2h0 p2h1  | the same for V                      |
/// | HND: p0h0 p1h0 p2h0 p0h1 p1h1 p2h1  |                                     |
/// +-------------------------------------+-------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tile {
    /// What comes first.
    pub order: Order,
    /// Tensors: 2 for K, then V; 1 for one of them, or for latents; twice the layers if all of them are in the plane.
    pub parts: u32,
    /// Positions of a block.
    pub positions: u32,
    /// Heads of K/V on this device.
    pub heads: u32,
    /// Bytes of one head's vector of one position.
    pub head_bytes: u32,
}

impl Tile {
    /// Bytes of all parts; `None` if they overflow 64 bits.
    #[must_use]
    pub const fn bytes(&self) -> Option<u64> {
        // Two factors of 32 bits fit.
        let rows = self.parts as u64 * self.positions as u64;
        let row = self.heads as u64 * self.head_bytes as u64;
        rows.checked_mul(row)
    }
}

impl fmt::Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} x {} positions x {} heads x {} bytes {}",
            self.parts, self.positions, self.heads, self.head_bytes, self.order
        )
    }
}

/// What is known of the inside of a block in a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Inner {
    /// Nothing: bytes that are copied as they are.
    #[default]
    Opaque,
    /// Where each head's vector of each position is.
    Tile(Tile),
}

impl Inner {
    /// Whether the same bytes mean the same in both, as far as both say what is inside.
    pub(super) fn is_same_bytes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tile(ours), Self::Tile(theirs)) => ours == theirs,
            _ => true,
        }
    }
}

impl fmt::Display for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opaque => f.write_str("opaque"),
            Self::Tile(tile) => tile.fmt(f),
        }
    }
}
