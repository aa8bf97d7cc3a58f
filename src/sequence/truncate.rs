//! Shortening a sequence: rejected drafts, an earlier point to go on from, lookahead that is not needed.

use super::Sequences;
use super::error::TruncateError;
use super::growth::Growth;
use super::handle::Handle;
use super::sequence::{Sequence, count};
use super::ticket::Tickets;
use crate::pool::Core;
use crate::prefix::Proof;
use crate::sync::Ordering::Acquire;

/// What a truncation gives back, and what it needs.
struct Cutback {
    /// Positions that stay, the whole blocks of them, and the rest in the block after those.
    positions: usize,
    whole: usize,
    rest: usize,
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
    fn of(core: &Core, sequence: &Sequence, tickets: &Tickets, positions: usize) -> Self {
        let (whole, rest) = (positions / core.block_size, positions % core.block_size);
        let table = &sequence.chain.ids;
        let shared = rest > 0 && !tickets.is_alone_in(core, table[whole], rest);
        let published = sequence.chain.published > whole;
        let promised = sequence.growth != Growth::OnDemand || sequence.copy_credit;
        let dropped = &table[positions.div_ceil(core.block_size)..];
        let alone = |block: &&_| core.state(**block).load(Acquire).is_private_alone();
        let sure = dropped.iter().filter(alone).count();
        let capped = matches!(sequence.growth, Growth::Cap(_));
        Self {
            positions,
            whole,
            rest,
            shared,
            copy_credit: shared && (published || promised) && positions < sequence.end,
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

    /// Entries that the table keeps.
    const fn entries(&self) -> usize {
        self.whole + (self.rest > 0) as usize
    }

    /// Takes the blocks out of the table, and gives them back with the credits that the promise does not keep.
    fn apply(&self, core: &Core, sequence: &mut Sequence) {
        let unpublished = sequence.chain.published > self.whole;
        let readable = unpublished && self.rest > 0 && core.proof == Proof::Tokens;
        sequence.seal.truncate(
            self.positions,
            sequence.chain.published.min(self.whole),
            readable.then(|| {
                core.nodes
                    .tokens(sequence.chain.node(self.whole), self.rest)
            }),
            unpublished,
            core.block_size,
        );
        let copy = u32::from(self.freed_pay_copy(sequence));
        // What goes back into a promise stays in service, wherever it is: the promise needs no less for a shrink.
        let keeps = copy > 0 || sequence.growth != Growth::OnDemand;
        let limit = if keeps {
            core.states.len()
        } else {
            core.capacity()
        };
        let credits = sequence.chain.truncate(core, self.entries(), limit)
            + sequence.chain.unpublish(core, self.whole);
        let promised = match sequence.growth {
            Growth::Cap(_) => self.sure,
            Growth::Ahead(blocks) => (credits - copy).min(count(blocks) - sequence.promise),
            Growth::OnDemand => 0,
        };
        core.credits.deposit_reserved(promised + copy);
        core.credits.deposit(credits - promised - copy);
        sequence.promise += promised + self.unsure;
        sequence.changed_from = sequence.changed_from.min(self.entries());
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
        let cutback = Cutback::of(core, sequence, &self.tickets, positions);
        let charge = cutback.charge(sequence);
        core.credits.reserve(charge).map_err(|available| {
            let refused = core.shortfall(charge as usize, available);
            core.count_refusal(refused);
            refused
        })?;
        cutback.apply(core, sequence);
        if sequence.copy_credit && !cutback.copy_credit {
            core.credits.unreserve(1);
        }
        sequence.copy_credit = cutback.copy_credit;
        cursor.positions = positions;
        if cutback.shared {
            cursor.close();
        } else {
            cursor.open(
                &sequence.chain.ids,
                cutback.whole,
                core.block_size,
                sequence.end,
            );
        }
        Ok(())
    }
}
