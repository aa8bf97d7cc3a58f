//! What an append needs: blocks, the credits for them, and a copy of a shared or published block at the end. Decided before anything is
//! changed; then prepared, paid, and taken.

use super::error::{AppendError, CapReached};
use super::growth::Growth;
use super::sequence::{Cursor, Sequence, count, slot_of, slot_of_position};
use super::step::Step;
use super::ticket::Tickets;
use crate::block::BlockId;
use crate::error::{OutOfMemory, Refused};
use crate::pool::{Core, Worker};

/// What a table is to be long enough for.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    /// So many positions more, which will be written.
    Append(usize),
    /// So many positions in all, to be appended later.
    Cover(usize),
}

/// Blocks that an append takes, and how they are paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// Positions to be written.
    n: usize,
    /// Where the next one goes: an entry of the table, and the offset in its block.
    entry: usize,
    offset: usize,
    /// Entries that the table gets.
    entries: u32,
    /// The block at the end is replaced by a copy.
    pub(super) copy: bool,
    /// Paid from the promise.
    promised: u32,
    /// The copy is paid by the credit set aside for it.
    copy_credit: bool,
}

/// Credits that an append has taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paid {
    /// Available ones that blocks will be taken for.
    available: u32,
    /// Reserved ones that blocks will be taken for.
    reserved: u32,
    /// Reserved ones that the promise was made up with.
    made_up: u32,
    /// The promise before.
    promise: u32,
}

impl Need {
    #[inline]
    pub(super) fn of(
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
                shard: core.shard(),
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

    pub(crate) const fn blocks(&self) -> u32 {
        self.entries + self.copy as u32
    }

    /// Blocks that must be available.
    const fn unpaid(&self) -> u32 {
        self.blocks() - self.promised - self.copy_credit as u32
    }

    /// Decides by a load what [`pay`](Self::pay) would answer.
    pub(super) fn check(&self, core: &Core) -> Result<(), Refused> {
        let available = core.credits.now().available;
        if self.unpaid() > available {
            return Err(core.shortfall(self.unpaid() as usize, available));
        }
        Ok(())
    }

    /// All that can fail before the credits are taken, memory included. What is refused asks for none; but for one block the credits
    /// are looked at only when they are taken.
    #[inline(always)]
    pub(super) fn prepare(
        &self,
        core: &Core,
        sequence: &mut Sequence,
        tickets: &mut Tickets,
        out: &mut Step,
    ) -> Result<(), AppendError> {
        if self.blocks() > 1 || self.copy {
            self.check(core)?;
        }
        out.reserve(self.n, self.blocks() as usize)?;
        let table = &mut sequence.chain.ids;
        table
            .try_reserve(self.blocks() as usize)
            .map_err(|_| OutOfMemory)?;
        if self.copy {
            tickets.prepare(core, &sequence.chain, self.entry)?;
        }
        Ok(())
    }

    /// What was prepared is not wanted.
    pub(super) fn forget(&self, core: &Core, tickets: &mut Tickets) {
        if self.copy {
            tickets.cancel(core);
        }
    }

    /// Takes the credits, and makes a standing promise up again if there is room.
    #[inline(always)]
    pub(super) fn pay(&self, core: &Core, sequence: &mut Sequence) -> Result<Paid, Refused> {
        let mut paid = Paid {
            available: self.unpaid(),
            reserved: self.promised + u32::from(self.copy_credit),
            made_up: 0,
            promise: sequence.promise,
        };
        if let Growth::Ahead(blocks) = sequence.growth {
            // If there is room for all, drawing on the promise and then making it up is taking all from what is available.
            let missing = count(blocks) - sequence.promise;
            let taken = self.unpaid() + self.promised;
            let all = taken.saturating_add(missing);
            if self.entries > 0 && core.credits.withdraw_promising(all, missing).is_ok() {
                sequence.promise += missing;
                (paid.available, paid.made_up) = (taken, missing);
                paid.reserved = u32::from(self.copy_credit);
                return Ok(paid);
            }
        }
        core.credits
            .withdraw_available(self.unpaid())
            .map_err(|available| core.shortfall(self.unpaid() as usize, available))?;
        sequence.promise -= self.promised;
        if let (Growth::Ahead(blocks), true) = (sequence.growth, self.entries > 0) {
            paid.made_up = core.credits.reserve_up_to(count(blocks) - sequence.promise);
            sequence.promise += paid.made_up;
        }
        Ok(paid)
    }

    /// Gives the credits back.
    pub(super) fn give_back(paid: &Paid, core: &Core, sequence: &mut Sequence) {
        core.credits.deposit(paid.available);
        core.credits.unreserve(paid.made_up);
        sequence.promise = paid.promise;
    }

    /// Takes the blocks, which are paid, and appends: tells it as the sequence with this place in its batch.
    #[inline(always)]
    pub(super) fn finish(
        &self,
        core: &Core,
        worker: &mut Worker,
        (cursor, sequence): (&mut Cursor, &mut Sequence),
        tickets: &mut Tickets,
        (index, paid): (usize, &Paid),
        out: &mut Step,
    ) {
        let before = sequence.chain.ids.len();
        let copied = self.take(core, worker, sequence);
        core.credits.spend(paid.reserved);
        if let Some((src, dst)) = copied {
            let ticket = tickets.issue(core, cursor.handle, (src, dst), self.offset);
            out.copies.push(ticket);
            out.note(index, self.entry, dst);
        }
        for (entry, &block) in sequence.chain.ids.iter().enumerate().skip(before) {
            out.note(index, entry, block);
        }
        self.go_on(core, cursor, sequence, out);
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
