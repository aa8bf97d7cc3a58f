//! Appending: slots for the next positions, and blocks for the slots.
//!
//! Inside a block an append reads and writes one cursor. At a block border, or where the block at the end is shared or
//! published, it takes blocks: paid from the sequence's promise and from what is available, decided before anything is changed.

use super::Sequences;
use super::error::{AppendError, MayRefuse};
use super::handle::Handle;
use super::need::{Need, Paid, Until};
use super::step::Step;
use crate::error::Refused;

impl Sequences {
    /// Appends `n` positions to each sequence of a batch, in this order, and tells in `out` (which is cleared first) where they go, which
    /// blocks must be copied or zeroed before, which entries of the block tables changed, and who got nothing. A failure of one
    /// does not touch the others.
    ///
    /// Inside a block a few nanoseconds a sequence; at a block border as taking a block; the copy of a published block holds its path
    /// meanwhile, one read-modify-write for each block of it. No allocation in steady state, and none at all in the
    /// [room](crate::SequencesConfig::positions) made for it. Without memory to list who failed it aborts: [`Step::make_room`]
    /// beforehand tells.
    pub fn step(&mut self, batch: &[(Handle, usize)], out: &mut Step) {
        out.clear();
        out.expect_batch(batch.len());
        for (index, &(handle, n)) in batch.iter().enumerate() {
            if !self.append_within(handle, n, out) {
                if let Err(error) = self.extend(index, handle, Until::Append(n), out) {
                    out.fail(index, error);
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
        let need = self.plan_append(handle, Until::Append(n))?;
        self.check_need(&need)?;
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
        self.grow(index, handle, until, out)
            .inspect_err(|&error| self.count_refused_append(error))
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
        let tickets = &mut self.tickets;
        let need = Need::of(core, cursor, sequence, tickets, until)?;
        need.prepare(core, sequence, tickets, out)?;
        let paid = need
            .pay(core, sequence)
            .inspect_err(|_| need.forget(core, tickets))?;
        self.statistics.copies += u64::from(need.copy);
        let place = (index, &paid);
        need.finish(
            core,
            &mut self.worker,
            (cursor, sequence),
            tickets,
            place,
            out,
        );
        Ok(())
    }
}

/// The steps of an append, each over all shards of an instance before the next one.
impl Sequences {
    /// Whether the next `n` positions of a sequence lie in the block at hand.
    #[inline]
    pub(crate) fn has_room(&mut self, handle: Handle, n: usize, out: &Step) -> bool {
        let cursor = self.registry.cursor(handle);
        cursor.is_some_and(|cursor| cursor.has_room(n)) && out.has_room(n)
    }

    /// Appends there.
    #[inline]
    pub(crate) fn append_in_block(&mut self, handle: Handle, n: usize, out: &mut Step) {
        if let Some(cursor) = self.registry.cursor(handle) {
            out.push_slots(cursor.advance(n), n);
        }
    }

    /// What an append takes.
    pub(crate) fn plan_append(&self, handle: Handle, until: Until) -> Result<Need, AppendError> {
        let (cursor, sequence) = self.registry.get(handle)?;
        Need::of(self.core(), cursor, sequence, &self.tickets, until)
    }

    /// Decides by a load whether its blocks can be had.
    pub(crate) fn check_need(&self, need: &Need) -> Result<(), Refused> {
        need.check(self.core())
    }

    /// Memory and ticket for it.
    pub(crate) fn prepare_append(
        &mut self,
        handle: Handle,
        need: &Need,
        out: &mut Step,
    ) -> Result<(), AppendError> {
        let (_, sequence) = self.registry.get_mut(handle)?;
        need.prepare(&self.pool.core, sequence, &mut self.tickets, out)
    }

    /// What was prepared is not wanted.
    pub(crate) fn forget_append(&mut self, need: &Need) {
        need.forget(&self.pool.core, &mut self.tickets);
    }

    /// Takes its credits.
    pub(crate) fn pay_append(&mut self, handle: Handle, need: &Need) -> Result<Paid, AppendError> {
        let (_, sequence) = self.registry.get_mut(handle)?;
        Ok(need.pay(&self.pool.core, sequence)?)
    }

    /// Gives them back.
    pub(crate) fn give_back_append(&mut self, handle: Handle, paid: &Paid) {
        if let Ok((_, sequence)) = self.registry.get_mut(handle) {
            Need::give_back(paid, &self.pool.core, sequence);
        }
    }

    /// Appends: all that it takes is there.
    pub(crate) fn finish_append(
        &mut self,
        handle: Handle,
        need: &Need,
        place: (usize, &Paid),
        out: &mut Step,
    ) {
        let core = &*self.pool.core;
        if let Ok(parts) = self.registry.get_mut(handle) {
            self.statistics.copies += u64::from(need.copy);
            let tickets = &mut self.tickets;
            need.finish(core, &mut self.worker, parts, tickets, place, out);
        }
    }

    /// Counts an append that was refused.
    pub(crate) fn count_refused_append(&mut self, error: AppendError) {
        self.statistics.refused_appends += u64::from(error.refused().is_some());
        self.count_refused(&error);
    }
}
