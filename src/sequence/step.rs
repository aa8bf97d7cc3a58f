//! What a scheduler learns from one step.

use crate::error::OutOfMemory;
use alloc::vec::Vec;

use super::error::AppendError;
use super::ticket::CopyTicket;
use crate::block::BlockId;

/// What the engine has to know and do before it runs a step: filled by [`step`](crate::Sequences::step),
/// [`append`](crate::Sequences::append) and [`ensure`](crate::Sequences::ensure). Kept by the caller, so that its lists are made once.
#[derive(Clone, Debug, Default)]
pub struct Step {
    pub(super) slots: Vec<i64>,
    pub(super) copies: Vec<CopyTicket>,
    pub(super) fresh: Vec<BlockId>,
    pub(super) changes: Vec<TableChange>,
    pub(super) failures: Vec<Failure>,
}

/// An entry of a block table that is new or another than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(C)]
pub struct TableChange {
    /// Whose, by its place in the batch.
    pub index: usize,
    /// The entry of its table.
    pub entry: usize,
    /// What it is now.
    pub block: BlockId,
}

/// A sequence of the batch that got nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// Its place in the batch.
    pub index: usize,
    /// Why.
    pub error: AppendError,
}

impl Step {
    /// Empty lists.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            slots: Vec::new(),
            copies: Vec::new(),
            fresh: Vec::new(),
            changes: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// Lists with [room](Self::make_room).
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn with_room(
        sequences: usize,
        positions: usize,
        block_size: usize,
    ) -> Result<Self, OutOfMemory> {
        let mut step = Self::new();
        step.make_room(sequences, positions, block_size)?;
        Ok(step)
    }

    /// Empties the lists, and makes room for a batch of up to so many sequences that get up to so many positions in all, in blocks of a
    /// size. The next calls of such batches ask for no memory for their lists, whoever of them fails.
    ///
    /// Without that a step that has not even the memory to list who failed aborts, as collections do.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn make_room(
        &mut self,
        sequences: usize,
        positions: usize,
        block_size: usize,
    ) -> Result<(), OutOfMemory> {
        self.clear();
        // Beside the blocks that it fills each sequence may get one in part, and the copy of one.
        let blocks = (positions / block_size.max(1)).saturating_add(sequences.saturating_mul(2));
        self.slots
            .try_reserve(positions.max(sequences))
            .and_then(|()| self.copies.try_reserve(sequences))
            .and_then(|()| self.fresh.try_reserve(blocks))
            .and_then(|()| self.changes.try_reserve(blocks))
            .and_then(|()| self.failures.try_reserve(sequences))
            .map_err(|_| OutOfMemory)
    }

    /// Where each appended position goes: `block id * block size + offset`, in the order of the batch. A sequence that failed has
    /// none.
    #[must_use]
    pub fn slots(&self) -> &[i64] {
        &self.slots
    }

    /// Copies to be made before the step writes.
    pub fn copies(&self) -> &[CopyTicket] {
        &self.copies
    }

    /// Blocks that are new in a table, for engines that zero memory: the destinations of copies are among them, so zero first.
    #[must_use]
    pub fn fresh(&self) -> &[BlockId] {
        &self.fresh
    }

    /// Entries of block tables that changed.
    #[must_use]
    pub fn changes(&self) -> &[TableChange] {
        &self.changes
    }

    /// Who got nothing, and why.
    #[must_use]
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.copies.clear();
        self.fresh.clear();
        self.changes.clear();
        self.failures.clear();
    }

    /// A sequence of the batch got nothing.
    pub(crate) fn fail(&mut self, index: usize, error: AppendError) {
        self.failures.push(Failure { index, error });
    }

    /// A block that is new in a table.
    pub(super) fn note(&mut self, index: usize, entry: usize, block: BlockId) {
        self.fresh.push(block);
        self.changes.push(TableChange {
            index,
            entry,
            block,
        });
    }

    /// Makes room for a batch of single positions at once. If there is no memory, each sequence is told by itself.
    pub(crate) fn expect_batch(&mut self, sequences: usize) {
        let _ = self.slots.try_reserve(sequences);
        let _ = self.failures.try_reserve(sequences);
    }

    /// Whether there is room for `n` slots.
    #[inline]
    pub(super) fn has_room(&self, n: usize) -> bool {
        n <= self.slots.capacity() - self.slots.len()
    }

    /// `n` slots in a row, for which there is room.
    #[inline]
    pub(super) fn push_slots(&mut self, first: i64, n: usize) {
        if n == 1 {
            self.slots.push(first);
        } else {
            self.slots.extend((first..).take(n));
        }
    }

    /// Room for what one sequence of the batch may add.
    pub(super) fn reserve(&mut self, positions: usize, blocks: usize) -> Result<(), OutOfMemory> {
        self.slots
            .try_reserve(positions)
            .and(self.copies.try_reserve(1))
            .and(self.fresh.try_reserve(blocks))
            .and(self.changes.try_reserve(blocks))
            .map_err(|_| OutOfMemory)
    }
}
