//! Names of blocks and shards.

use core::fmt;

/// Most blocks that one shard can have: ids are 25 bits wide and the last one means "no block".
pub const MAX_BLOCKS: usize = (1 << 25) - 1;

/// Most token positions that a block can have.
pub const MAX_BLOCK_SIZE: usize = 1 << 16;

/// A block of one shard: `block_size` token positions of KV cache.
///
/// An id is an index into the engine's device memory, not a right to use it: rights are held by [`Blocks`](crate::Blocks)
/// and [`Chain`](crate::Chain).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
#[repr(transparent)]
pub struct BlockId(u32);

impl BlockId {
    /// The block with this index in its shard.
    #[must_use]
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The index in the shard.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// No block: above every id.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// The index, for the arrays of the pool.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// The id of an index below [`MAX_BLOCKS`].
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "indices are below MAX_BLOCKS, checked at creation"
    )]
    pub(crate) const fn from_index(index: usize) -> Self {
        debug_assert!(index < MAX_BLOCKS);
        Self(index as u32)
    }
}

impl fmt::Debug for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {}", self.0)
    }
}

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One local memory (a device or a rank) with its own ids, capacity and accounts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct ShardId(u32);

impl ShardId {
    /// The shard with this number, as the engine counts them.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Debug for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard {}", self.0)
    }
}

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
