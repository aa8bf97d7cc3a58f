//! Heads' vectors of a block that are put in another order, or of which only some are copied.

use super::tile::{Order, Tile};

/// Where the vectors of a tile lie: bytes from one part, position and head to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TileStrides {
    /// From a part to the next.
    pub part: u64,
    /// From a position to the next.
    pub position: u64,
    /// From a head to the next.
    pub head: u64,
}

impl TileStrides {
    /// Those of a tile whose bytes do not overflow.
    pub(super) const fn of(tile: &Tile) -> Self {
        let vector = tile.head_bytes as u64;
        let (positions, heads) = (tile.positions as u64, tile.heads as u64);
        let (position, head) = match tile.order {
            Order::Nhd => (heads * vector, vector),
            Order::Hnd => (vector, positions * vector),
        };
        Self {
            part: positions * heads * vector,
            position,
            head,
        }
    }

    /// Where a vector is, from that of part 0, position 0 and head 0.
    #[must_use]
    pub fn offset(&self, part: u32, position: u32, head: u32) -> u64 {
        let at = |index: u32, stride: u64| u64::from(index).wrapping_mul(stride);
        at(part, self.part)
            .wrapping_add(at(position, self.position))
            .wrapping_add(at(head, self.head))
    }
}

/// What is done with a block in a plane whose two sides lay out heads in different ways: each vector of `head_bytes` is copied from its
/// place at the source to its place at the destination.
///
/// Vector `(part, position, head)` of block `b` is read at `source.base + b * source.block_stride + source.offset(part, position, head)`
/// and written at the same place of the destination. The bases of the [`PlaneCopy`](crate::PlaneCopy) that it belongs to are those of the
/// first head that is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Permutation {
    /// Tensors in a block.
    pub parts: u32,
    /// Positions of a block.
    pub positions: u32,
    /// Heads that are copied.
    pub heads: u32,
    /// Bytes of a vector.
    pub head_bytes: u32,
    /// Where vectors lie in a block of the source.
    pub source: TileStrides,
    /// Where vectors lie in a block of the destination.
    pub destination: TileStrides,
}

impl Permutation {
    /// Bytes that are copied of a block.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        // No more than those of a tile that was found not to overflow.
        (self.parts as u64 * self.positions as u64)
            .wrapping_mul(self.heads as u64 * self.head_bytes as u64)
    }
}
