//! Appending: slots for the next positions, and blocks for the slots.
//!
//! Inside a block an append reads and writes one [`Cursor`]. At a block border, or where the block at the end is shared or
//! published, it takes blocks: paid from the sequence's promise and from what is available, decided before anything is changed.

use super::Sequences;
use super::error::{AppendError, CapReached, OutOfMemory};
use super::growth::Growth;
use super::handle::Handle;
use super::sequence::{Cursor, Sequence, count, is_alone, slot_of, slot_of_position};
use super::step::{Failure, Step};
use crate::block::BlockId;
use crate::error::Refused;
use crate::pool::{Core, Worker};

/// What a table is to be long enough for.
#[derive(Clone, Copy)]
enum Until {
    /// So many positions more, which will be written.
    Append(usize),
    /// So many positions in all, to be appended later.
    Cover(usize),
}

/// Blocks that an append takes, and how they are paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Need {
    /// Positions that the sequence has then.
    end: usize,
    /// Entries that the table gets.
    entries: u32,
    /// The block at the end is replaced by a copy.
    copy: bool,
    /// Paid from the promise.
    promised: u32,
    /// The copy is paid by the credit set aside for it.
    copy_credit: bool,
}

impl Need {
    fn of(
        core: &Core,
        cursor: &Cursor,
        sequence: &Sequence,
        until: Until,
    ) -> Result<Self, AppendError> {
        let block_size = core.block_size;
        let (end, reach) = match until {
            Until::Append(n) => {
                let end = cursor.positions.saturating_add(n);
                (end, end)
            }
            Until::Cover(positions) => (cursor.positions, positions.max(cursor.positions)),
        };
        if reach > sequence.end {
            return Err(CapReached {
                cap: sequence.end,
                asked: reach,
            }
            .into());
        }
        let table = &sequence.chain.ids;
        let blocks = reach.div_ceil(block_size);
        if blocks > core.capacity() {
            return Err(Refused::NeverFits {
                shard: core.shard,
                needed: blocks,
                capacity: core.capacity(),
            }
            .into());
        }
        let entries = count(blocks.saturating_sub(table.len()));
        let copy = end > cursor.positions
            && cursor.positions % block_size != 0
            && !cursor.is_open()
            && !is_alone(core, table[cursor.positions / block_size]);
        Ok(Self {
            end,
            entries,
            copy,
            promised: entries.min(sequence.promise),
            copy_credit: copy && sequence.copy_credit,
        })
    }

    const fn blocks(&self) -> u32 {
        self.entries + self.copy as u32
    }

    /// Blocks that must be available.
    const fn unpaid(&self) -> u32 {
        self.blocks() - self.promised - self.copy_credit as u32
    }

    /// Decides by a load what [`pay`](Self::pay) would answer.
    fn check(&self, core: &Core) -> Result<(), Refused> {
        let available = core.credits.now().available;
        if self.unpaid() > available {
            return Err(core.shortfall(self.unpaid() as usize, available));
        }
        Ok(())
    }

    /// Takes the credits, and makes a standing promise up again if there is room. Returns how many reserved ones are to be spent
    /// when the blocks are there.
    fn pay(&self, core: &Core, sequence: &mut Sequence) -> Result<u32, Refused> {
        if let Growth::Ahead(blocks) = sequence.growth {
            // Drawing on the promise and then making it up is taking all from what is available.
            let missing = count(blocks) - sequence.promise;
            let taken = self.unpaid() + self.promised;
            let all = taken.saturating_add(missing);
            if self.entries > 0 && core.credits.withdraw_promising(all, missing).is_ok() {
                sequence.promise += missing;
                return Ok(u32::from(self.copy_credit));
            }
        }
        core.credits
            .withdraw_available(self.unpaid())
            .map_err(|available| core.shortfall(self.unpaid() as usize, available))?;
        sequence.promise -= self.promised;
        Ok(self.promised + u32::from(self.copy_credit))
    }

    /// Takes the blocks, which are paid, and puts them into the table. Returns the block that was replaced and the one in its
    /// place.
    fn take(
        &self,
        core: &Core,
        worker: &mut Worker,
        sequence: &mut Sequence,
        entry: usize,
    ) -> Option<(BlockId, BlockId)> {
        if self.blocks() == 0 {
            return None;
        }
        let table = &mut sequence.chain.ids;
        let changed = if self.copy { entry } else { table.len() };
        sequence.changed_from = sequence.changed_from.min(changed);
        let mut copied = None;
        core.obtain(worker, self.blocks() as usize, |run| {
            core.own(run);
            for block in run.ids() {
                if self.copy && copied.is_none() {
                    copied = Some((core::mem::replace(&mut table[entry], block), block));
                } else {
                    table.push(block);
                }
            }
        });
        sequence.copy_credit &= !self.copy_credit;
        copied
    }

    /// The table is long enough: appends the positions, and makes the next block ready to be written to.
    fn go_on(&self, core: &Core, cursor: &mut Cursor, sequence: &mut Sequence, out: &mut Step) {
        let block_size = core.block_size;
        let begin = cursor.positions;
        let writes = self.end > begin;
        if !writes && begin % block_size != 0 {
            return;
        }
        let table = &sequence.chain.ids;
        let mut at = begin;
        while at < self.end {
            let (entry, offset) = (at / block_size, at % block_size);
            let n = (block_size - offset).min(self.end - at);
            let first = slot_of(table[entry], block_size);
            out.slots
                .extend((offset..offset + n).map(|offset| first + slot_of_position(offset)));
            at += n;
        }
        cursor.positions = self.end;
        cursor.open(table, block_size, sequence.end);
        if writes && core::mem::take(&mut sequence.copy_credit) {
            // The other owners left: the block is written to in place.
            core.credits.unreserve(1);
        }
    }
}

impl Sequences {
    /// Appends `n` positions to each sequence of a batch, in this order, and tells in `out` (which is cleared first) where they go, which
    /// blocks must be copied or zeroed before, which entries of the block tables changed, and who got nothing. A failure of one
    /// does not touch the others.
    ///
    /// Inside a block a few nanoseconds a sequence; at a block border as taking a block. No allocation in steady state.
    pub fn step(&mut self, batch: &[(Handle, usize)], out: &mut Step) {
        out.clear();
        for (index, &(handle, n)) in batch.iter().enumerate() {
            if let Some(cursor) = self.registry.cursor(handle) {
                if cursor.has_room(n) && out.slots.try_reserve(n).is_ok() {
                    out.slots.extend((cursor.advance(n)..).take(n));
                    continue;
                }
            }
            if let Err(error) = self.extend(index, handle, Until::Append(n), out) {
                out.failures.push(Failure { index, error });
            }
        }
    }

    /// Appends `n` positions to one sequence. As [`step`](Self::step) with a batch of one.
    ///
    /// # Errors
    /// [`AppendError`]; nothing is changed, and `out` is empty.
    pub fn append(&mut self, handle: Handle, n: usize, out: &mut Step) -> Result<(), AppendError> {
        out.clear();
        self.extend(0, handle, Until::Append(n), out)
    }

    /// Makes the table long enough for `positions` in all, without appending: so that the next appends up to there take no block
    /// (except for a copy). Nothing happens if it is. [`truncate`](Self::truncate) gives unused blocks back.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn ensure(
        &mut self,
        handle: Handle,
        positions: usize,
        out: &mut Step,
    ) -> Result<(), AppendError> {
        out.clear();
        self.extend(0, handle, Until::Cover(positions), out)
    }

    /// How many blocks [`append`](Self::append) would take at this instant. Changes nothing.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn check_append(&self, handle: Handle, n: usize) -> Result<usize, AppendError> {
        let (cursor, sequence) = self.registry.get(handle)?;
        let need = Need::of(self.core(), cursor, sequence, Until::Append(n))?;
        need.check(self.core())?;
        Ok(need.blocks() as usize)
    }

    fn extend(
        &mut self,
        index: usize,
        handle: Handle,
        until: Until,
        out: &mut Step,
    ) -> Result<(), AppendError> {
        let core = &*self.pool.core;
        let (cursor, sequence) = self.registry.get_mut(handle)?;
        let need = Need::of(core, cursor, sequence, until)?;
        let entry = cursor.positions / core.block_size;
        // All that can fail comes before the first change, memory included.
        need.check(core)
            .inspect_err(|_| self.statistics.refused_appends += 1)?;
        out.reserve(need.end - cursor.positions, need.blocks() as usize)?;
        let table = &mut sequence.chain.ids;
        table
            .try_reserve(need.entries as usize)
            .map_err(|_| OutOfMemory)?;
        if need.copy {
            let src = table[entry];
            self.tickets.prepare(core, &sequence.chain, src)?;
        }
        let spent = need.pay(core, sequence).inspect_err(|_| {
            self.statistics.refused_appends += 1;
            if need.copy {
                self.tickets.cancel(core);
            }
        })?;

        let before = sequence.chain.ids.len();
        let copied = need.take(core, &mut self.worker, sequence, entry);
        core.credits.spend(spent);
        if let Some((src, dst)) = copied {
            let positions = cursor.positions % core.block_size;
            out.copies
                .push(self.tickets.issue(core, handle, (src, dst), positions));
            out.note(index, entry, dst);
            self.statistics.copies += 1;
        }
        for (entry, &block) in sequence.chain.ids.iter().enumerate().skip(before) {
            out.note(index, entry, block);
        }
        need.go_on(core, cursor, sequence, out);
        Ok(())
    }
}
