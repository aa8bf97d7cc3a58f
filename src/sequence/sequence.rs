//! One sequence: its table, its promise, and where its next position goes.

use super::error::Beyond;
use super::growth::{Budget, Growth};
use super::handle::Handle;
use super::seal::Seal;
use super::transit::Transit;
use crate::block::BlockId;
use crate::error::OutOfMemory;
use crate::pool::{Core, Fence, Lane, RawChain};

/// Where the next position goes: all that an append inside a block reads and writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    /// Who has the slot.
    pub(super) handle: Handle,
    /// Positions that the sequence has.
    pub(super) positions: usize,
    /// Positions below this can be appended with nothing else to do.
    writable: usize,
    /// The slot of position zero, if the whole sequence lay in a row with the block that is being filled.
    origin: i64,
}

impl Cursor {
    pub(super) const VACANT: Self = Self {
        handle: Handle::NONE,
        positions: 0,
        writable: 0,
        origin: 0,
    };

    /// A sequence whose next position needs a look at its table.
    pub(super) const fn new(handle: Handle, positions: usize) -> Self {
        Self {
            handle,
            positions,
            writable: positions,
            origin: 0,
        }
    }

    /// The same place under another name.
    pub(super) const fn renamed(self, handle: Handle) -> Self {
        Self { handle, ..self }
    }

    /// Whether the sequence has so many positions.
    pub(super) const fn check(&self, asked: usize) -> Result<(), Beyond> {
        let positions = self.positions;
        if asked > positions {
            return Err(Beyond { asked, positions });
        }
        Ok(())
    }

    /// Whether the next `n` positions lie in the block at hand.
    #[inline]
    pub(super) const fn has_room(&self, n: usize) -> bool {
        n <= self.writable - self.positions
    }

    /// Appends `n` positions, for which there is room; returns the slot of the first.
    #[inline]
    pub(super) const fn advance(&mut self, n: usize) -> i64 {
        let first = self.origin + slot_of_position(self.positions);
        self.positions += n;
        first
    }

    /// Whether the partial block at the end can be written to as it is.
    pub(super) const fn is_open(&self) -> bool {
        self.writable > self.positions
    }

    /// The next position needs a look at the table.
    pub(super) const fn close(&mut self) {
        self.writable = self.positions;
    }

    /// Goes on in the table's block for the next position, which is in `entry`, if there is one; nobody else sees it.
    #[inline]
    pub(super) fn open(&mut self, table: &[BlockId], entry: usize, block_size: usize, end: usize) {
        if let Some(block) = table.get(entry) {
            self.writable = ((entry + 1) * block_size).min(end);
            self.origin = slot_of(*block, block_size) - slot_of_position(entry * block_size);
        } else {
            self.close();
        }
    }
}

/// The slot of a block's first position.
#[expect(
    clippy::cast_possible_wrap,
    reason = "ids have 25 bits and block sizes 17"
)]
pub(super) const fn slot_of(block: BlockId, block_size: usize) -> i64 {
    block.get() as i64 * block_size as i64
}

#[expect(
    clippy::cast_possible_wrap,
    reason = "a table has less than 2^42 positions"
)]
pub(super) const fn slot_of_position(position: usize) -> i64 {
    position as i64
}

/// The rest of a sequence.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) chain: RawChain,
    pub(super) seal: Seal,
    pub(super) growth: Growth,
    pub(super) budget: Budget,
    pub(super) label: u64,
    /// Positions that it may have at most.
    pub(super) end: usize,
    /// Credits set aside for blocks to come.
    pub(super) promise: u32,
    /// A credit set aside for the copy that the next write into its shared or published tail will take.
    pub(super) copy_credit: bool,
    /// Entries of the table from here on changed since it was last read.
    pub(super) changed_from: usize,
    /// The transfer that it takes part in.
    pub(super) transit: Transit,
}

impl Sequence {
    pub(super) fn vacant(core: &Core) -> Self {
        Self {
            chain: RawChain::vacant(core),
            seal: Seal::new(),
            growth: Growth::OnDemand,
            budget: Budget::Physical,
            label: 0,
            end: 0,
            promise: 0,
            copy_credit: false,
            changed_from: 0,
            transit: Transit::None,
        }
    }

    /// Credits set aside for it in all.
    pub(super) const fn credits(&self) -> u32 {
        self.promise + self.copy_credit as u32
    }

    /// Blocks that a conservative budget counts for it.
    pub(super) fn committed(&self) -> usize {
        self.chain.ids.len() + self.credits() as usize
    }

    /// Whether the table's block for the next position is partly filled, and more of it can be written.
    pub(super) const fn has_partial_tail(&self, positions: usize, block_size: usize) -> bool {
        positions % block_size != 0 && positions < self.end
    }

    /// Room in a vacant one for all that a sequence of so many positions needs.
    pub(super) fn make_room(
        &mut self,
        positions: usize,
        block_size: usize,
    ) -> Result<(), OutOfMemory> {
        self.chain
            .make_room(entries_for(positions, block_size))
            .map_err(|()| OutOfMemory)?;
        self.seal.make_room(positions, block_size)
    }

    /// Room for a branch of `parent`, and all of it that is no reference.
    pub(super) fn reserve_for(
        &mut self,
        parent: &Self,
        blocks: usize,
        block_size: usize,
    ) -> Result<(), OutOfMemory> {
        self.chain
            .reserve_for(&parent.chain, blocks)
            .map_err(|()| OutOfMemory)?;
        self.seal.copy_from(&parent.seal, block_size)
    }

    /// A branch of `parent` with the first `blocks` of its table, whose references are its own already. It has no promise yet.
    pub(super) fn become_branch(&mut self, parent: &Self, blocks: usize) {
        let (ids, canonical) = self.chain.take_lists();
        self.chain = parent.chain.copy(blocks, ids, canonical);
        self.growth = parent.growth;
        self.budget = parent.budget;
        self.label = parent.label;
        self.end = parent.end;
        self.promise = 0;
        self.copy_credit = false;
        self.changed_from = 0;
    }

    /// Its block at an entry has bad content: nothing from there on is computed, and it will not be found by it.
    pub(super) fn roll_back(&mut self, core: &Core, entry: usize) {
        if let Transit::Leaving { export, .. } = &self.transit {
            // Committed: the other side has what was read before.
            let _ = export.abort();
        }
        self.seal.roll_back(core, &self.chain, entry);
        self.chain.spoil(entry);
    }

    /// Puts the findable block of each duplicate into the table; `give_back` gets the own copies, in the order of the table. Returns
    /// how many.
    pub(super) fn adopt_duplicates(
        &mut self,
        give_back: impl FnOnce(&mut dyn DoubleEndedIterator<Item = BlockId>),
    ) -> usize {
        let adopted = self.chain.adopt_duplicates(give_back);
        if adopted.blocks > 0 {
            self.changed_from = self.changed_from.min(adopted.first);
        }
        adopted.blocks
    }

    /// Gives everything back. The buffers stay for the next sequence.
    pub(super) fn release(&mut self, core: &Core) {
        self.chain.release_and_clear(core);
        self.reset(core);
    }

    /// Gives the promise back, and the blocks after a fence, for which the lane has room.
    pub(super) fn release_after(&mut self, core: &Core, lane: &mut Lane, fence: Fence) {
        lane.push(fence, &mut self.chain);
        self.reset(core);
    }

    fn reset(&mut self, core: &Core) {
        self.leave_transit();
        core.credits.unreserve(self.credits());
        self.promise = 0;
        self.copy_credit = false;
        self.seal.clear();
    }
}

/// Blocks that the lists of a sequence of so many positions have at most: an append holds a block and its copy for a moment.
pub(super) const fn entries_for(positions: usize, block_size: usize) -> usize {
    positions.div_ceil(block_size) + 1
}

/// A number of blocks as credits count them: what there is of either is far below 2^32.
pub(super) fn count(blocks: usize) -> u32 {
    u32::try_from(blocks).unwrap_or(u32::MAX)
}
