//! Shortening a sequence: rejected drafts, an earlier point to go on from, lookahead that is not needed.

use super::Sequences;
use super::error::{TruncateAfterError, TruncateError};
use super::growth::Growth;
use super::handle::Handle;
use super::sequence::{Cursor, Sequence, count};
use super::ticket::Tickets;
use crate::error::{OutOfMemory, ReleaseAfterError};
use crate::pool::{Core, Fence, Lane, RawChain};
use crate::prefix::Proof;
use crate::sync::Ordering::Acquire;

/// What a truncation gives back, and what it needs.
struct Cutback {
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

    /// Sets the charge aside, and returns it.
    fn reserve(&self, core: &Core, sequence: &Sequence) -> Result<u32, TruncateError> {
        let charge = self.charge(sequence);
        core.credits.reserve(charge).map_err(|available| {
            let refused = core.shortfall(charge as usize, available);
            core.count_refusal(refused);
            refused
        })?;
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
        let core = &*self.pool.core;
        let (cursor, sequence) = self.registry.get_mut(handle)?;
        cursor.check(positions)?;
        sequence.check_settled(core.block_size)?;
        let cutback = Cutback::of(core, sequence, &self.tickets, positions, false);
        cutback.reserve(core, sequence)?;
        cutback.forget(core, sequence);
        let limit = cutback.limit(core, sequence);
        let credits = sequence.chain.truncate(core, cutback.entries(), limit);
        cutback.settle(core, sequence, credits);
        cutback.go_on(core, cursor, sequence);
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
        let core = &*self.pool.core;
        let (cursor, sequence) = self.registry.get_mut(handle).map_err(TruncateError::from)?;
        cursor.check(positions).map_err(TruncateError::from)?;
        let settled = sequence.check_settled(core.block_size);
        settled.map_err(TruncateError::from)?;
        lane.make_room(core)?;
        let entries = positions.div_ceil(core.block_size);
        let chain = &mut sequence.chain;
        if lane.has_passed(fence) || entries >= chain.ids.len() {
            return Ok(self.truncate(handle, positions)?);
        }
        let head = chain.head_of_tail(core, entries);
        let lists = lane.next_lists().ok_or(OutOfMemory);
        lists
            .and_then(|lists| {
                lists.reserve_for_tail(chain, entries, head)?;
                Ok(lists)
            })
            .map_err(ReleaseAfterError::from)?;
        let cutback = Cutback::of(core, sequence, &self.tickets, positions, true);
        let charge = cutback.reserve(core, sequence)?;
        let mut tail = RawChain::vacant(core);
        if let Some(lists) = lane.next_lists() {
            tail = sequence
                .chain
                .split_off(core, entries, head, lists.take_lists())
                .inspect_err(|_| core.credits.unreserve(charge))?;
        }
        lane.push(fence, &mut tail);
        cutback.forget(core, sequence);
        cutback.settle(core, sequence, 0);
        cutback.go_on(core, cursor, sequence);
        Ok(())
    }
}
