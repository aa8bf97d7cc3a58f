//! Admission: match, pin, reserve and take as one transaction, and the same decision without effect.
//!
//! What a prompt needs is counted by a read-only walk and held against the budget; then one compare-and-swap takes exactly the credits
//! for it. After that only other threads can make a difference, between the walk and the pins: a hit that has gone needs a block
//! more, one that nobody holds any more needs a credit more. If these can't be had, the pins are undone.

use super::Sequences;
use super::error::AdmitError;
use super::growth::{Budget, Growth};
use super::handle::Handle;
use super::sequence::count;
use crate::block::BlockId;
use crate::error::{OutOfMemory, Refused};
use crate::pool::{Core, Purse};
use crate::prefix::Prompt;
use crate::sync::Ordering::Acquire;
use crate::sync::mutant;

/// A request to be admitted.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Admit<'a> {
    /// What it begins with, and what may be found of it.
    pub prompt: Prompt<'a>,
    /// What it is promised beyond that.
    pub growth: Growth,
    /// What its need is held against.
    pub budget: Budget,
    /// Whether its sealed blocks are published. If not, it reads the cache and adds nothing to it.
    pub insert: bool,
    /// Whether it was preempted and returns: its hits are counted apart, as they say nothing about the workload.
    pub returning: bool,
    /// The engine's name for it. Several sequences may have the same: the branches of one do.
    pub label: u64,
    /// Whether a swap brings it: what it finds is counted by that.
    pub(crate) swaps: bool,
}

impl<'a> Admit<'a> {
    /// A new request with a physical budget, whose sealed blocks are published, labelled 0.
    #[must_use]
    pub const fn new(prompt: Prompt<'a>, growth: Growth) -> Self {
        Self {
            prompt,
            growth,
            budget: Budget::Physical,
            insert: true,
            returning: false,
            label: 0,
            swaps: false,
        }
    }

    /// With another budget.
    #[must_use]
    pub const fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Whether sealed blocks are published.
    #[must_use]
    pub const fn insert(mut self, insert: bool) -> Self {
        self.insert = insert;
        self
    }

    /// Whether it returns after a preemption.
    #[must_use]
    pub const fn returning(mut self, returning: bool) -> Self {
        self.returning = returning;
        self
    }

    /// With the engine's name for it.
    #[must_use]
    pub const fn label(mut self, label: u64) -> Self {
        self.label = label;
        self
    }
}

/// What an admission takes, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Cost {
    /// Entries of its table: `hit_held + hit_idle + fresh`.
    pub blocks: usize,
    /// Found, and held by somebody already: they cost nothing.
    pub hit_held: usize,
    /// Found idle: each costs a credit.
    pub hit_idle: usize,
    /// Taken.
    pub fresh: usize,
    /// Set aside for its growth.
    pub promised: usize,
}

impl Cost {
    /// Blocks that must be available above the watermark.
    #[must_use]
    pub const fn charge(&self) -> usize {
        self.hit_idle + self.fresh + self.promised
    }

    /// What the table and the promise come to, as if nothing were shared.
    const fn whole(&self) -> usize {
        self.blocks.saturating_add(self.promised)
    }
}

/// An admitted sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Admitted {
    /// Its name from now on.
    pub handle: Handle,
    /// Positions that were found: the engine computes from there on.
    pub hit: usize,
    /// Blocks that were taken for the rest: the last ones of its table.
    pub fresh: usize,
}

/// An admission under way, in the next vacant slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draft {
    cost: Cost,
    /// Blocks that are pinned for it.
    pub(crate) found: usize,
    /// Credits set aside for it, and those of them that pinned blocks took.
    charge: u32,
    spent: u32,
}

/// Positions at which an admission ends, without overflow.
const fn end_of(len: usize, growth: Growth) -> usize {
    match growth {
        Growth::Cap(more) => len.saturating_add(more),
        Growth::Ahead(_) | Growth::OnDemand => usize::MAX,
    }
}

impl Sequences {
    /// What [`admit`](Self::admit) would take at this instant, or the refusal that it would give. Changes nothing.
    ///
    /// # Errors
    /// As [`admit`](Self::admit).
    ///
    /// A walk over what is found of the prompt; with a conservative budget also a look at every slot.
    pub fn check(&self, request: &Admit<'_>) -> Result<Cost, AdmitError> {
        self.check_never(request)?;
        self.check_slot()?;
        let cost = self.count(request, usize::MAX)?;
        self.check_now(&cost, request.budget)?;
        Ok(cost)
    }

    /// Admits a sequence: holds what is found of its prompt, takes blocks for the rest, and sets aside what it is promised; all of it
    /// or nothing.
    ///
    /// All positions of the prompt are appended and known then; those that were found are computed. The engine computes the others,
    /// in one go or in chunks, and tells with [`computed`](Self::computed).
    ///
    /// # Errors
    /// [`AdmitError::Refused`]: `NeverFits` if prompt and promise exceed the capacity above the watermark, also while no slot is vacant;
    /// else `Shortfall`, whose `needed` and `available` count the blocks that were to be paid, or with a conservative budget tables and
    /// promises. Nothing changes but the count of refusals. [`AdmitError::LengthMismatch`], [`AdmitError::TooManySequences`],
    /// [`AdmitError::OutOfMemory`].
    ///
    /// One walk to count, one to hold: a few cache lines a block found; with a conservative budget also a look at every slot.
    /// Allocates if the buffers of its slot are too small.
    pub fn admit(&mut self, request: &Admit<'_>) -> Result<Admitted, AdmitError> {
        let cost = self
            .check(request)
            .inspect_err(|error| self.count_refused(error))?;
        self.make_room(request, &cost)?;
        let mut draft = self.promise(&cost)?;
        self.pin_found(request, usize::MAX, &mut draft);
        self.settle(&mut draft, usize::MAX)?;
        Ok(self.enter(request, &draft, None))
    }

    /// What a request takes if at most `most` blocks of it are found.
    pub(crate) fn count(&self, request: &Admit<'_>, most: usize) -> Result<Cost, AdmitError> {
        let core = self.core();
        let prompt = &request.prompt;
        let most = prompt.matchable(core.block_size)?.min(most);
        let (blocks, promised) = self.whole(request);
        let found = core.probe(prompt, most);
        Ok(Cost {
            blocks,
            hit_held: found.held,
            hit_idle: found.idle,
            fresh: blocks - found.held - found.idle,
            promised,
        })
    }

    /// Blocks of the table that a request is to have, and of its promise.
    fn whole(&self, request: &Admit<'_>) -> (usize, usize) {
        let (len, block_size) = (request.prompt.tokens.len(), self.core().block_size);
        let blocks = len.div_ceil(block_size);
        let promised = match request.growth {
            Growth::Cap(_) => end_of(len, request.growth).div_ceil(block_size) - blocks,
            Growth::Ahead(blocks) => blocks,
            Growth::OnDemand => 0,
        };
        (blocks, promised)
    }

    /// Whether it can ever be had here.
    pub(crate) fn check_never(&self, request: &Admit<'_>) -> Result<(), AdmitError> {
        request.prompt.matchable(self.core().block_size)?;
        let (blocks, promised) = self.whole(request);
        self.within_capacity(blocks.saturating_add(promised))?;
        Ok(())
    }

    /// Whether one more has a slot.
    pub(crate) fn check_slot(&self) -> Result<(), AdmitError> {
        Ok(self.registry.check_room(1)?)
    }

    /// Whether it can be had now.
    pub(crate) fn check_now(&self, cost: &Cost, budget: Budget) -> Result<(), Refused> {
        self.within_budget(cost.whole(), budget)?;
        let available = self.above_watermark();
        if cost.charge() > available {
            return Err(self.shortfall(cost.charge(), available));
        }
        Ok(())
    }

    /// Room in the next vacant slot for what a request has.
    pub(crate) fn make_room(
        &mut self,
        request: &Admit<'_>,
        cost: &Cost,
    ) -> Result<(), OutOfMemory> {
        let block_size = self.core().block_size;
        let sequence = self.registry.vacant(0);
        sequence.seal.reserve(&request.prompt, block_size)?;
        let enough = sequence.chain.ids.try_reserve(cost.blocks);
        enough.map_err(|_| OutOfMemory)
    }

    /// Sets the credits for an admission aside.
    pub(crate) fn promise(&self, cost: &Cost) -> Result<Draft, Refused> {
        let charge = count(cost.charge());
        self.core()
            .credits
            .reserve_above(charge, self.watermark)
            .map_err(|available| self.refuse(charge, available))?;
        Ok(Draft {
            cost: *cost,
            found: 0,
            charge,
            spent: 0,
        })
    }

    fn refuse(&self, needed: u32, available: u32) -> Refused {
        let above = available.saturating_sub(self.watermark);
        let refused = self.core().shortfall(needed as usize, above);
        self.core().count_refusal(refused);
        refused
    }

    /// Holds up to `most` blocks of the prompt, which has been [counted](Self::count), for the next vacant slot.
    pub(crate) fn pin_found(&mut self, request: &Admit<'_>, most: usize, draft: &mut Draft) {
        let core = &*self.pool.core;
        let prompt = &request.prompt;
        let most = prompt.matchable(core.block_size).unwrap_or(0).min(most);
        let chain = &mut self.registry.vacant(0).chain;
        let cuts = core.cuts.0.load(Acquire);
        chain.restart(core.space(prompt.namespace), cuts);
        let mut purse = Purse::reserved(draft.charge);
        core.find(prompt, most, &mut purse, &mut chain.ids);
        draft.spent = purse.close();
        draft.found = chain.ids.len();
    }

    /// Keeps at most `most` of the blocks that were pinned, and has the credits for the rest and the promise, no more and no less. If
    /// they can't be had all is given back.
    pub(crate) fn settle(&mut self, draft: &mut Draft, most: usize) -> Result<(), Refused> {
        self.unpin_from(draft, most);
        let core = &*self.pool.core;
        let fresh = draft.cost.blocks - draft.found;
        let (left, wanted) = (
            draft.charge - draft.spent,
            count(fresh) + count(draft.cost.promised),
        );
        if wanted > left && !mutant("no-top-up") {
            let more = core
                .credits
                .reserve_above(wanted - left, self.watermark)
                .map_err(|available| (draft.spent + wanted, available + draft.spent + left));
            if let Err((needed, available)) = more {
                self.give_up(draft);
                return Err(self.refuse(needed, available));
            }
        } else {
            core.credits.unreserve(left.saturating_sub(wanted));
        }
        draft.charge = draft.spent + wanted;
        Ok(())
    }

    /// Gives blocks that were pinned back, tail first. Those that nobody else holds bring their credits back.
    fn unpin_from(&mut self, draft: &mut Draft, keep: usize) {
        let core = &*self.pool.core;
        if keep >= draft.found {
            return;
        }
        let ids = &mut self.registry.vacant(0).chain.ids;
        let back = core.release_for(ids[keep..].iter().rev().copied(), core.capacity());
        ids.truncate(keep);
        draft.found = keep;
        let refund = back.min(draft.spent);
        draft.spent -= refund;
        // Others left them to this one, which had not paid.
        core.credits.deposit(back - refund);
    }

    /// An admission does not come about after all.
    pub(crate) fn give_up(&mut self, draft: &mut Draft) {
        let core = &*self.pool.core;
        core.credits.spend(draft.spent);
        self.registry.vacant(0).chain.release_and_clear(core);
        core.credits.unreserve(draft.charge - draft.spent);
        (draft.found, draft.charge, draft.spent) = (0, 0, 0);
    }

    /// Takes the blocks, which are paid, and names the sequence: as another shard's registry did, if one is given.
    pub(crate) fn enter(
        &mut self,
        request: &Admit<'_>,
        draft: &Draft,
        name: Option<Handle>,
    ) -> Admitted {
        let core = &*self.pool.core;
        let (prompt, cost) = (&request.prompt, &draft.cost);
        let (block_size, len) = (core.block_size, prompt.tokens.len());
        let sequence = self.registry.vacant(0);
        let (chain, found) = (&mut sequence.chain, draft.found);
        chain.published = found;
        let most = prompt.matchable(block_size).unwrap_or(found);
        Core::count_lookup(&mut self.worker, found, most);
        chain.ids.resize(cost.blocks, BlockId::NONE);
        core.obtain(&mut self.worker, &mut chain.ids[found..]);
        let (hit, fresh) = (found * block_size, cost.blocks - found);
        core.credits.spend(draft.spent + count(fresh));

        sequence
            .seal
            .begin(prompt, found, block_size, request.insert);
        sequence.growth = request.growth;
        sequence.budget = request.budget;
        sequence.label = request.label;
        sequence.end = end_of(len, request.growth);
        sequence.promise = count(cost.promised);
        sequence.changed_from = 0;
        match (request.swaps, request.returning) {
            (true, _) => {}
            (false, true) => self.statistics.returned.count(len, hit),
            (false, false) => self.statistics.first.count(len, hit),
        }
        let handle = self.registry.enter(core, len, name);
        if let Ok((cursor, sequence)) = self.registry.get_mut(handle) {
            if len % block_size != 0 {
                // The partial block at the end was taken just now.
                cursor.open(
                    &sequence.chain.ids,
                    len / block_size,
                    block_size,
                    sequence.end,
                );
            }
        }
        Admitted { handle, hit, fresh }
    }

    /// Whether a need can ever be had; what is there for it.
    fn within_capacity(&self, whole: usize) -> Result<usize, Refused> {
        let (core, capacity) = (self.core(), self.largest());
        if whole > capacity {
            return Err(Refused::NeverFits {
                shard: core.shard(),
                needed: whole,
                capacity,
            });
        }
        Ok(capacity)
    }

    /// Whether a need fits the capacity, and with a conservative budget beside all that is committed.
    pub(super) fn within_budget(&self, whole: usize, budget: Budget) -> Result<(), Refused> {
        let capacity = self.within_capacity(whole)?;
        if budget == Budget::Conservative {
            let left = capacity.saturating_sub(self.committed());
            if whole > left {
                return Err(self.shortfall(whole, left));
            }
        }
        Ok(())
    }

    /// Tables and promises of all sequences, each by itself.
    pub(super) fn committed(&self) -> usize {
        self.registry
            .iter()
            .map(|(_, sequence)| sequence.committed())
            .sum()
    }

    /// Blocks that an admission can have after one that charges so many: above the watermark, and no more than it can ever have. What
    /// was released above the limit of a shrunk pool may be available until it is collected.
    pub(crate) fn free_after(&self, charge: usize) -> usize {
        let left = self.above_watermark().saturating_sub(charge);
        left.min(self.largest())
    }

    /// Blocks that one sequence can ever have.
    pub(crate) fn largest(&self) -> usize {
        let capacity = self.core().capacity();
        capacity.saturating_sub(self.watermark as usize)
    }

    fn above_watermark(&self) -> usize {
        let available = self.core().credits.now().available;
        available.saturating_sub(self.watermark) as usize
    }

    pub(super) fn shortfall(&self, needed: usize, available: usize) -> Refused {
        self.core().shortfall(needed, count(available))
    }
}
