//! Appending: slots for the next positions, and blocks for the slots.
//!
//! Inside a block an append reads and writes one [`Cursor`]. At a block border, or where the block at the end is shared or
//! published, it takes blocks: paid from the sequence's promise and from what is available, decided before anything is changed.

use super::Sequences;
use super::error::{AppendError, CapReached};
use super::growth::Growth;
use super::handle::Handle;
use super::sequence::{Cursor, Sequence, count, slot_of, slot_of_position};
use super::step::{Failure, Step};
use super::ticket::Tickets;
use crate::block::BlockId;
use crate::error::{OutOfMemory, Refused};
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
    /// Positions to be written.
    n: usize,
    /// Where the next one goes: an entry of the table, and the offset in its block.
    entry: usize,
    offset: usize,
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
    #[inline]
    fn of(
        core: &Core,
        cursor: &Cursor,
        sequence: &Sequence,
        tickets: &Tickets,
        until: Until,
    ) -> Result<Self, AppendError> {
        let block_size = core.block_size;
        let (n, more) = match until {
            Until::Append(n) => (n, n),
            Until::Cover(positions) => (0, positions.saturating_sub(cursor.positions)),
        };
        if more > 0 {
            sequence.check_growth()?;
        }
        let asked = cursor.positions.saturating_add(more);
        if asked > sequence.end {
            return Err(CapReached {
                cap: sequence.end,
                asked,
            }
            .into());
        }
        let table = &sequence.chain.ids;
        // Divisions would be the slowest part of an append; most need none.
        let (entry, offset) = if cursor.positions == table.len() * block_size {
            (table.len(), 0)
        } else {
            (cursor.positions / block_size, cursor.positions % block_size)
        };
        let blocks = match offset.saturating_add(more) {
            0 => entry,
            within if within <= block_size => entry + 1,
            beyond => entry.saturating_add(beyond.div_ceil(block_size)),
        };
        let mine = table.len() + sequence.promise as usize;
        if blocks > core.capacity() && blocks > mine {
            return Err(Refused::NeverFits {
                shard: core.shard,
                needed: blocks,
                capacity: core.capacity(),
            }
            .into());
        }
        let entries = count(blocks.saturating_sub(table.len()));
        let copy = n > 0
            && offset != 0
            && !cursor.is_open()
            && !tickets.is_alone_in(core, table[entry], offset);
        if copy {
            // What is being filled can't be copied yet.
            sequence.check_settled(block_size)?;
        }
        Ok(Self {
            n,
            entry,
            offset,
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
            // If there is room for all, drawing on the promise and then making it up is taking all from what is available.
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
        if let (Growth::Ahead(blocks), true) = (sequence.growth, self.entries > 0) {
            sequence.promise += core.credits.reserve_up_to(count(blocks) - sequence.promise);
        }
        Ok(self.promised + u32::from(self.copy_credit))
    }

    /// Takes the blocks, which are paid, and puts them into the table. Returns the block that was replaced and the one in its
    /// place.
    #[inline]
    fn take(
        &self,
        core: &Core,
        worker: &mut Worker,
        sequence: &mut Sequence,
    ) -> Option<(BlockId, BlockId)> {
        if self.blocks() == 0 {
            return None;
        }
        let table = &mut sequence.chain.ids;
        let before = table.len();
        table.resize(before + self.blocks() as usize, BlockId::NONE);
        core.obtain(worker, &mut table[before..]);
        let changed = if self.copy { self.entry } else { before };
        sequence.changed_from = sequence.changed_from.min(changed);
        sequence.copy_credit &= !self.copy_credit;
        self.copy.then(|| {
            let dst = table.remove(before);
            (core::mem::replace(&mut table[self.entry], dst), dst)
        })
    }

    /// The table is long enough: appends the positions, and makes the next block ready to be written to.
    #[inline]
    fn go_on(&self, core: &Core, cursor: &mut Cursor, sequence: &mut Sequence, out: &mut Step) {
        if self.n == 0 && (self.offset != 0 || self.entries == 0) {
            return;
        }
        let block_size = core.block_size;
        let table = &sequence.chain.ids;
        let (mut entry, mut offset, mut left) = (self.entry, self.offset, self.n);
        while left > 0 {
            let n = left.min(block_size - offset);
            let first = slot_of(table[entry], block_size) + slot_of_position(offset);
            out.push_slots(first, n);
            left -= n;
            offset += n;
            if offset == block_size {
                (entry, offset) = (entry + 1, 0);
            }
        }
        cursor.positions += self.n;
        cursor.open(table, entry, block_size, sequence.end);
        if self.n > 0 && core::mem::take(&mut sequence.copy_credit) {
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
    /// Inside a block a few nanoseconds a sequence; at a block border as taking a block; the copy of a published block holds its path
    /// meanwhile, one read-modify-write for each block of it. No allocation in steady state.
    pub fn step(&mut self, batch: &[(Handle, usize)], out: &mut Step) {
        out.clear();
        out.make_room(batch.len());
        for (index, &(handle, n)) in batch.iter().enumerate() {
            if !self.append_within(handle, n, out) {
                if let Err(error) = self.extend(index, handle, Until::Append(n), out) {
                    out.failures.push(Failure { index, error });
                }
            }
        }
    }

    /// Appends `n` positions to one sequence. As [`step`](Self::step) with a batch of one.
    ///
    /// # Errors
    /// [`AppendError`]; nothing is changed, and `out` is empty.
    pub fn append(&mut self, handle: Handle, n: usize, out: &mut Step) -> Result<(), AppendError> {
        out.clear();
        if self.append_within(handle, n, out) {
            return Ok(());
        }
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
        let need = Need::of(
            self.core(),
            cursor,
            sequence,
            &self.tickets,
            Until::Append(n),
        )?;
        need.check(self.core())?;
        Ok(need.blocks() as usize)
    }

    /// Appends inside the block at hand, if it has room.
    #[inline]
    fn append_within(&mut self, handle: Handle, n: usize, out: &mut Step) -> bool {
        match self.registry.cursor(handle) {
            Some(cursor) if cursor.has_room(n) && out.has_room(n) => {
                out.push_slots(cursor.advance(n), n);
                true
            }
            _ => false,
        }
    }

    #[inline(never)]
    fn extend(
        &mut self,
        index: usize,
        handle: Handle,
        until: Until,
        out: &mut Step,
    ) -> Result<(), AppendError> {
        self.grow(index, handle, until, out).inspect_err(|&error| {
            if let AppendError::Refused(refused) = error {
                self.statistics.refused_appends += 1;
                self.pool.core.count_refusal(refused);
            }
        })
    }

    #[inline]
    fn grow(
        &mut self,
        index: usize,
        handle: Handle,
        until: Until,
        out: &mut Step,
    ) -> Result<(), AppendError> {
        let core = &*self.pool.core;
        let (cursor, sequence) = self.registry.get_mut(handle)?;
        let need = Need::of(core, cursor, sequence, &self.tickets, until)?;
        // All that can fail comes before the first change, memory included. What is refused asks for none; but for one block the
        // credits are looked at only when they are taken.
        if need.blocks() > 1 || need.copy {
            need.check(core)?;
        }
        out.reserve(need.n, need.blocks() as usize)?;
        let table = &mut sequence.chain.ids;
        table
            .try_reserve(need.blocks() as usize)
            .map_err(|_| OutOfMemory)?;
        if need.copy {
            self.tickets.prepare(core, &sequence.chain, need.entry)?;
        }
        let spent = need.pay(core, sequence).inspect_err(|_| {
            if need.copy {
                self.tickets.cancel(core);
            }
        })?;

        let before = sequence.chain.ids.len();
        let copied = need.take(core, &mut self.worker, sequence);
        core.credits.spend(spent);
        if let Some((src, dst)) = copied {
            out.copies
                .push(self.tickets.issue(core, handle, (src, dst), need.offset));
            out.note(index, need.entry, dst);
            self.statistics.copies += 1;
        }
        for (entry, &block) in sequence.chain.ids.iter().enumerate().skip(before) {
            out.note(index, entry, block);
        }
        need.go_on(core, cursor, sequence, out);
        Ok(())
    }
}
