//! The ranks behind one table: how much memory each has, and who has the least.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::error::InstanceError;
use crate::block::ShardId;
use crate::error::CreateError;
use crate::shared::Shared;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{AtomicU32, AtomicU64, mutant};

/// What one rank, or one shard, has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Rank {
    /// Its name.
    pub shard: ShardId,
    /// Blocks that its memory has room for.
    pub blocks: usize,
    /// Blocks that it can ever have.
    pub max_blocks: usize,
}

impl Rank {
    /// A rank with so many blocks, and no more ever.
    #[must_use]
    pub const fn new(shard: ShardId, blocks: usize) -> Self {
        Self {
            shard,
            blocks,
            max_blocks: blocks,
        }
    }

    /// The most blocks that it can ever have.
    #[must_use]
    pub const fn max_blocks(mut self, max_blocks: usize) -> Self {
        self.max_blocks = max_blocks;
        self
    }
}

/// All ranks of a table, as every registry over it sees them.
#[derive(Clone, Debug)]
pub(super) struct Ranks {
    cell: Shared<Cell>,
}

#[derive(Debug)]
struct Cell {
    ranks: Box<[Known]>,
    /// 1 while one has more or fewer blocks given.
    resizing: AtomicU32,
}

#[derive(Debug)]
struct Known {
    shard: ShardId,
    blocks: AtomicU64,
    max_blocks: usize,
}

impl Ranks {
    pub(super) fn new(ranks: &[Rank]) -> Result<Self, InstanceError> {
        if ranks.is_empty() {
            return Err(InstanceError::NoShards);
        }
        let mut known = Vec::new();
        known
            .try_reserve_exact(ranks.len())
            .map_err(|_| InstanceError::OutOfMemory)?;
        for (at, rank) in ranks.iter().enumerate() {
            let shard = rank.shard;
            if ranks[..at].iter().any(|other| other.shard == shard) {
                return Err(InstanceError::SameShard { shard });
            }
            let (blocks, max_blocks) = (rank.blocks, rank.max_blocks);
            if max_blocks < blocks {
                return Err(CreateError::MaxBelowBlocks { blocks, max_blocks }.into());
            }
            known.push(Known {
                shard,
                blocks: AtomicU64::new(rank.blocks as u64),
                max_blocks: rank.max_blocks,
            });
        }
        let cell = Cell {
            ranks: known.into_boxed_slice(),
            resizing: AtomicU32::new(0),
        };
        let cell = Shared::try_new(cell).map_err(|_| InstanceError::OutOfMemory)?;
        Ok(Self { cell })
    }

    pub(super) fn len(&self) -> usize {
        self.cell.ranks.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<Rank> {
        self.cell.ranks.get(at).map(Known::now)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Rank> {
        self.cell.ranks.iter().map(Known::now)
    }

    /// Blocks that all of them have, and can ever have.
    pub(super) fn common(&self) -> (usize, usize) {
        let least = |of: fn(Rank) -> usize| self.iter().map(of).min().unwrap_or(0);
        (least(|it| it.blocks), least(|it| it.max_blocks))
    }

    /// The rank that bounds the others: of several the first.
    pub(super) fn smallest(&self) -> ShardId {
        let smallest = self.iter().min_by_key(|it| it.blocks);
        smallest.map_or(ShardId::default(), |it| it.shard)
    }

    /// The right to give ranks more or fewer blocks; `None`: another registry of the table is doing that.
    pub(super) fn resize(&self) -> Option<Resize<'_>> {
        let flag = &self.cell.resizing;
        let order = if mutant("ranks-resize-relaxed") {
            Relaxed
        } else {
            Acquire
        };
        let mine = flag.compare_exchange(0, 1, order, Relaxed);
        mine.ok().map(|_| Resize(&self.cell))
    }
}

impl Known {
    /// Relaxed: how many blocks are in use is the pool's to say, and who resizes has the flag.
    fn now(&self) -> Rank {
        let blocks = self.blocks.load(Relaxed);
        Rank {
            shard: self.shard,
            blocks: usize::try_from(blocks).unwrap_or(usize::MAX),
            max_blocks: self.max_blocks,
        }
    }
}

/// The right to give ranks more or fewer blocks.
pub(super) struct Resize<'r>(&'r Cell);

impl Resize<'_> {
    pub(super) fn set(&self, at: usize, blocks: usize) {
        if let Some(rank) = self.0.ranks.get(at) {
            rank.blocks.store(blocks as u64, Relaxed);
        }
    }
}

impl Drop for Resize<'_> {
    fn drop(&mut self) {
        // Pairs with the Acquire of the next one: it sees what this one set (model `two_registries_grow`).
        self.0.resizing.store(0, Release);
    }
}
