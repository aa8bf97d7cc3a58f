//! A part of every block, at regular distances.

use super::overlap::Ranges;
use super::tile::{Inner, Tile};
use crate::block::BlockId;

/// A part of every block, at regular distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plane {
    /// Address of block 0.
    pub base: u64,
    /// Bytes from a block to the next.
    pub block_stride: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// What is known of the inside of a block.
    pub inner: Inner,
}

impl Plane {
    /// A plane of which nothing is known but where its blocks are.
    #[must_use]
    pub const fn new(base: u64, block_stride: u64, block_bytes: u64) -> Self {
        Self {
            base,
            block_stride,
            block_bytes,
            inner: Inner::Opaque,
        }
    }

    /// Says what is inside a block. A layout is made of it only if the tile has [`block_bytes`](Self::block_bytes) bytes.
    #[must_use]
    pub const fn tile(self, tile: Tile) -> Self {
        Self {
            inner: Inner::Tile(tile),
            ..self
        }
    }

    /// Each part of its tile as a plane. One of which nothing is known is its only part.
    pub(super) fn parts(&self) -> impl ExactSizeIterator<Item = Self> + use<> {
        let whole = *self;
        let (parts, inner) = match whole.inner {
            Inner::Opaque => (1, Inner::Opaque),
            Inner::Tile(tile) => (tile.parts, Inner::Tile(Tile { parts: 1, ..tile })),
        };
        // A plane has bytes, so its tile has parts.
        let block_bytes = whole.block_bytes.checked_div(parts.into()).unwrap_or(0);
        (0..parts).map(move |part| Self {
            base: whole.base + u64::from(part) * block_bytes,
            block_bytes,
            inner,
            ..whole
        })
    }

    /// Address of a block that the plane was checked for.
    pub(super) fn address(&self, block: BlockId) -> u64 {
        self.base + u64::from(block.get()) * self.block_stride
    }

    /// Whether the second block begins where the first ends.
    pub(super) fn joins(&self, block: BlockId, next: BlockId) -> bool {
        self.block_stride == self.block_bytes && block.get().checked_add(1) == Some(next.get())
    }

    /// The address behind the last of `blocks`, of which there is at least one; `None` if it overflows.
    pub(super) fn end(&self, blocks: u64) -> Option<u64> {
        let last = (blocks - 1).checked_mul(self.block_stride)?;
        self.base.checked_add(last)?.checked_add(self.block_bytes)
    }

    /// The bytes of `blocks` blocks.
    pub(super) const fn ranges(&self, blocks: u64) -> Ranges {
        Ranges {
            base: self.base,
            stride: self.block_stride,
            bytes: self.block_bytes,
            count: blocks,
        }
    }
}
