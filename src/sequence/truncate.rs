//! Shortening a sequence: rejected drafts, an earlier point to go on from, lookahead that is not needed.

use super::Sequences;
use super::error::{TruncateAfterError, TruncateError};
use super::growth::Growth;
use super::handle::Handle;
use super::sequence::{Cursor, Sequence, count};
use super::ticket::Tickets;
use crate::error::{OutOfMemory, Refused, ReleaseAfterError};
use crate::pool::{Core, Fence, Lane};
use crate::prefix::Proof;
use crate::sync::Ordering::Acquire;

/// What a truncation gives back, and what it needs.
pub(crate) struct Cutback {
    /// Positions that stay, the whole blocks of them, and the rest in the block after those.
    positions: usize,
    whole: usize,
    rest: usize,
    /// Some of it was published.
    unpublished: bool,
    /// Others see the block of that rest: the next write there makes a copy.
    shared: bool,
    /// For which a credit is set aside.
    copy_credit: bool,
    /// Given-back blocks that are nobody else's: their credits come back for sure.
    sure: u32,
    /// The other ones, if their place in the promise is kept.
    unsure: u32,
    /// What is given back waits for a fence.
    later: bool,
    /// Blocks of the published path that it hangs below then.
    head: usize,
}

impl Cutback {
    /// `later`: what is given back comes back when a fence has passed.
    fn of(
        core: &Core,
        sequence: &Sequence,
        tickets: &Tickets,
        positions: usize,
        later: bool,
    ) -> Self {
        let (whole, rest) = (positions / core.block_size, positions % core.block_size);
        let table = &sequence.chain.ids;
        let shared = rest > 0 && !tickets.is_alone_in(core, table[whole], rest);
        let unpublished = sequence.chain.published > whole;
        let promised = sequence.growth != Growth::OnDemand || sequence.copy_credit;
        let dropped = &table[positions.div_ceil(core.block_size)..];
        let alone = |block: &&_| !later && core.state(**block).load(Acquire).is_private_alone();
        let sure = dropped.iter().filter(alone).count();
        let capped = matches!(sequence.growth, Growth::Cap(_));
        Self {
            positions,
            whole,
            rest,
            unpublished,
            shared,
            copy_credit: shared && (unpublished || promised) && positions < sequence.end,
            sure: count(sure),
            unsure: count(if capped { dropped.len() - sure } else { 0 }),
            later,
            head: if later {
                sequence
                    .chain
                    .head_of_tail(core, whole + usize::from(rest > 0))
            } else {
                0
            },
        }
    }

    /// Whether the next write's copy takes a credit that is not there yet.
    const fn needs_copy_credit(&self, sequence: &Sequence) -> bool {
        self.copy_credit && !sequence.copy_credit
    }

    /// Whether a given-back block pays it: within a cap all of them go back into the promise.
    const fn freed_pay_copy(&self, sequence: &Sequence) -> bool {
        let capped = matches!(sequence.growth, Growth::Cap(_));
        self.needs_copy_credit(sequence) && self.sure > 0 && !capped
    }

    /// Credits that must be available.
    const fn charge(&self, sequence: &Sequence) -> u32 {
        let copy = self.needs_copy_credit(sequence) && !self.freed_pay_copy(sequence);
        self.unsure + copy as u32
    }

    /// Whether the charge is there, by a load.
    fn check(&self, core: &Core, sequence: &Sequence) -> Result<(), Refused> {
        let (charge, available) = (self.charge(sequence), core.credits.now().available);
        if charge > available {
            return Err(core.shortfall(charge as usize, available));
        }
        Ok(())
    }

    /// Sets the charge aside, and returns it.
    fn reserve(&self, core: &Core, sequence: &Sequence) -> Result<u32, Refused> {
        let charge = self.charge(sequence);
        core.credits
            .reserve(charge)
            .map_err(|available| core.shortfall(charge as usize, available))?;
        Ok(charge)
    }

    /// The next position goes behind those that are left.
    fn go_on(&self, core: &Core, cursor: &mut Cursor, sequence: &mut Sequence) {
        if sequence.copy_credit && !self.copy_credit {
            core.credits.unreserve(1);
        }
        sequence.copy_credit = self.copy_credit;
        cursor.positions = self.positions;
        if self.shared {
            cursor.close();
        } else {
            let table = &sequence.chain.ids;
            cursor.open(table, self.whole, core.block_size, sequence.end);
        }
    }

    /// What goes back into a promise stays in service, wherever it is: the promise needs no less for a shrink.
    fn limit(&self, core: &Core, sequence: &Sequence) -> usize {
        let keeps = self.freed_pay_copy(sequence) || sequence.growth != Growth::OnDemand;
        if keeps {
            core.states.len()
        } else {
            core.capacity()
        }
    }

    /// Entries that the table keeps.
    const fn entries(&self) -> usize {
        self.whole + (self.rest > 0) as usize
    }

    /// Positions go, with what is known of them.
    fn forget(&self, core: &Core, sequence: &mut Sequence) {
        let readable = self.unpublished && self.rest > 0 && core.proof == Proof::Tokens;
        sequence.seal.truncate(
            self.positions,
            sequence.chain.published.min(self.whole),
            readable.then(|| {
                core.nodes
                    .tokens(sequence.chain.node(self.whole), self.rest)
            }),
            self.unpublished,
            core.block_size,
        );
        sequence.truncate_load(self.positions);
        sequence.changed_from = sequence.changed_from.min(self.entries());
    }

    /// Gives back blocks that are no longer in the table, and all that stood for them beside it; `credits` came with them. The promise
    /// keeps its part.
    fn settle(&self, core: &Core, sequence: &mut Sequence, credits: u32) {
        let limit = self.limit(core, sequence);
        let credits = credits + sequence.chain.unpublish(core, self.whole, limit);
        let copy = u32::from(self.freed_pay_copy(sequence));
        let promised = match sequence.growth {
            Growth::Cap(_) => self.sure,
            Growth::Ahead(blocks) => (credits - copy).min(count(blocks) - sequence.promise),
            Growth::OnDemand => 0,
        };
        core.credits.deposit_reserved(promised + copy);
        core.credits.deposit(credits - promised - copy);
        sequence.promise += promised + self.unsure;
    }
}

impl Sequences {
    /// Keeps the first `positions` positions and gives back the blocks behind them, tail first; what was published of them
    /// stays findable. With the number it has, only lookahead blocks go.
    ///
    /// A sequence with a cap keeps its promise, so the blocks go back into it. If the block at the end is partly kept and others see
    /// it, the next append will copy it: a published one, and a shared one of a sequence with a promise, takes the credit for that at
    /// this call. The tokens of a partly kept published block stay known, except in a pool that compares by
    /// [`Proof::Digest`]: there they are to be told again.
    ///
    /// Steps that are still under way may have written positions that go here: what they answer later must be reported to
    /// [`computed`](Self::computed) only up to `positions`.
    ///
    /// # Errors
    /// [`TruncateError::Refused`] if neither a given-back block nor what is available pays that copy, or with a cap nothing pays the
    /// promise in the place of given-back blocks that are published or shared; taking back what was never published or shared cannot
    /// fail. [`TruncateError::Stale`],
    /// [`TruncateError::Beyond`].
    ///
    /// One read-modify-write for each shared or published block given back. No allocation.
    pub fn truncate(&mut self, handle: Handle, positions: usize) -> Result<(), TruncateError> {
        let cutback = self.plan_truncate(handle, positions, false)?;
        self.pay_truncate(handle, &cutback)
            .inspect_err(|error| self.count_refused(error))?;
        self.finish_truncate(handle, &cutback);
        Ok(())
    }

    /// The same, where a device or a peer may still touch the blocks behind: they are given back when a fence has passed.
    ///
    /// Until then they pay nothing: a cap's promise in their place, and the copy of a shared end, are paid from what is available.
    ///
    /// # Errors
    /// [`TruncateAfterError::Truncate`]: as [`truncate`](Self::truncate), and with a cap also for blocks that were never published
    /// or shared. [`TruncateAfterError::Lane`]: the lane is another pool's, or there is no memory for its list.
    /// [`TruncateAfterError::TooManyReferences`]: published blocks given back need one reference more on all above them. Nothing is
    /// changed.
    ///
    /// A few read-modify-writes for each block given back; if published ones are among them, also for each one above. No allocation
    /// in steady state.
    pub fn truncate_after(
        &mut self,
        handle: Handle,
        positions: usize,
        lane: &mut Lane,
        fence: Fence,
    ) -> Result<(), TruncateAfterError> {
        let later = self.waits(handle, positions, lane, fence)?;
        let cutback = self.plan_truncate(handle, positions, later)?;
        self.prepare_truncate_after(handle, &cutback, lane)?;
        self.pay_truncate(handle, &cutback)
            .inspect_err(|error| self.count_refused(error))?;
        self.hold_truncated(handle, &cutback)
            .inspect_err(|_| self.give_back_truncate(handle, &cutback))?;
        self.finish_truncate_after(handle, &cutback, lane, fence);
        Ok(())
    }
}

/// The steps of a truncation, each over all shards of an instance before the next one.
impl Sequences {
    /// What a truncation takes and gives; `later`: what it gives back comes when a fence has passed.
    pub(crate) fn plan_truncate(
        &self,
        handle: Handle,
        positions: usize,
        later: bool,
    ) -> Result<Cutback, TruncateError> {
        let core = self.core();
        let (cursor, sequence) = self.registry.get(handle)?;
        cursor.check(positions)?;
        sequence.check_settled(core.block_size)?;
        let tickets = &self.tickets;
        Ok(Cutback::of(core, sequence, tickets, positions, later))
    }

    /// Decides by a load whether its charge can be had.
    pub(crate) fn check_truncate(
        &self,
        handle: Handle,
        cutback: &Cutback,
    ) -> Result<(), TruncateError> {
        let (_, sequence) = self.registry.get(handle)?;
        Ok(cutback.check(self.core(), sequence)?)
    }

    /// Sets its charge aside.
    pub(crate) fn pay_truncate(
        &self,
        handle: Handle,
        cutback: &Cutback,
    ) -> Result<(), TruncateError> {
        let (_, sequence) = self.registry.get(handle)?;
        cutback.reserve(self.core(), sequence)?;
        Ok(())
    }

    /// Gives the charge back.
    pub(crate) fn give_back_truncate(&self, handle: Handle, cutback: &Cutback) {
        if let Ok((_, sequence)) = self.registry.get(handle) {
            self.core().credits.unreserve(cutback.charge(sequence));
        }
    }

    /// Shortens the sequence: its charge is paid.
    pub(crate) fn finish_truncate(&mut self, handle: Handle, cutback: &Cutback) {
        let core = &*self.pool.core;
        if let Ok((cursor, sequence)) = self.registry.get_mut(handle) {
            cutback.forget(core, sequence);
            let limit = cutback.limit(core, sequence);
            let credits = sequence.chain.truncate(core, cutback.entries(), limit);
            cutback.settle(core, sequence, credits);
            cutback.go_on(core, cursor, sequence);
        }
    }

    /// Whether anything that a truncation gives back waits for the fence.
    pub(crate) fn waits(
        &self,
        handle: Handle,
        positions: usize,
        lane: &Lane,
        fence: Fence,
    ) -> Result<bool, TruncateError> {
        let (_, sequence) = self.registry.get(handle)?;
        let entries = positions.div_ceil(self.core().block_size);
        Ok(!lane.has_passed(fence) && entries < sequence.chain.ids.len())
    }

    /// Room in the lane, which must be this pool's, if it is needed.
    pub(crate) fn prepare_truncate_after(
        &self,
        handle: Handle,
        cutback: &Cutback,
        lane: &mut Lane,
    ) -> Result<(), TruncateAfterError> {
        let (_, sequence) = self.registry.get(handle).map_err(TruncateError::from)?;
        let core = self.core();
        lane.check_pool(core)?;
        if cutback.later {
            lane.make_room(core)?;
            let lists = lane.next_lists().ok_or(OutOfMemory);
            let (entries, head) = (cutback.entries(), cutback.head);
            lists
                .and_then(|lists| lists.reserve_for_tail(&sequence.chain, entries, head))
                .map_err(ReleaseAfterError::from)?;
        }
        Ok(())
    }

    /// Holds the published path above the blocks that will wait once more, for them.
    pub(crate) fn hold_truncated(
        &self,
        handle: Handle,
        cutback: &Cutback,
    ) -> Result<(), TruncateAfterError> {
        let (_, sequence) = self.registry.get(handle).map_err(TruncateError::from)?;
        Ok(sequence.chain.hold_head(self.core(), cutback.head)?)
    }

    /// Gives these references back.
    pub(crate) fn unhold_truncated(&self, handle: Handle, cutback: &Cutback) {
        if let Ok((_, sequence)) = self.registry.get(handle) {
            sequence.chain.unhold_head(self.core(), cutback.head);
        }
    }

    /// Shortens the sequence: its charge is paid, and what waits holds its path.
    pub(crate) fn finish_truncate_after(
        &mut self,
        handle: Handle,
        cutback: &Cutback,
        lane: &mut Lane,
        fence: Fence,
    ) {
        if !cutback.later {
            return self.finish_truncate(handle, cutback);
        }
        let core = &*self.pool.core;
        if let Ok((cursor, sequence)) = self.registry.get_mut(handle) {
            lane.push_filled(fence, |tail| {
                let (chain, lists) = (&mut sequence.chain, tail.take_lists());
                *tail = chain.split_off(cutback.entries(), cutback.head, lists);
            });
            cutback.forget(core, sequence);
            cutback.settle(core, sequence, 0);
            cutback.go_on(core, cursor, sequence);
        }
    }
}
