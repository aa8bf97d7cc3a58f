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
        let core = self.core();
        let prompt = &request.prompt;
        let most = prompt.matchable(core.block_size)?;
        self.registry.check_room(1)?;
        let len = prompt.tokens.len();
        let blocks = len.div_ceil(core.block_size);
        let found = core.probe(prompt, most);
        let cost = Cost {
            blocks,
            hit_held: found.held,
            hit_idle: found.idle,
            fresh: blocks - found.held - found.idle,
            promised: match request.growth {
                Growth::Cap(_) => end_of(len, request.growth).div_ceil(core.block_size) - blocks,
                Growth::Ahead(blocks) => blocks,
                Growth::OnDemand => 0,
            },
        };
        self.within_budget(cost.whole(), request.budget)?;
        let available = self.above_watermark();
        if cost.charge() > available {
            return Err(self.shortfall(cost.charge(), available).into());
        }
        Ok(cost)
    }

    /// Admits a sequence: holds what is found of its prompt, takes blocks for the rest, and sets aside what it is promised; all of it
    /// or nothing.
    ///
    /// All positions of the prompt are appended and known then; those that were found are computed. The engine computes the others,
    /// in one go or in chunks, and tells with [`computed`](Self::computed).
    ///
    /// # Errors
    /// [`AdmitError::Refused`]: `NeverFits` if prompt and promise exceed the capacity above the watermark, else `Shortfall`, whose
    /// `needed` and `available` count the blocks that were to be paid, or with a conservative budget tables and promises. Nothing
    /// changes but the count of refusals. [`AdmitError::LengthMismatch`], [`AdmitError::TooManySequences`],
    /// [`AdmitError::OutOfMemory`].
    ///
    /// One walk to count, one to hold: a few cache lines a block found; with a conservative budget also a look at every slot.
    /// Allocates if the buffers of its slot are too small.
    pub fn admit(&mut self, request: &Admit<'_>) -> Result<Admitted, AdmitError> {
        let cost = self.check(request).inspect_err(|&error| {
            if let AdmitError::Refused(refused) = error {
                self.core().count_refusal(refused);
            }
        })?;
        let prompt = &request.prompt;
        let (block_size, len) = (self.core().block_size, prompt.tokens.len());
        let sequence = self.registry.vacant(0);
        sequence.seal.reserve(prompt, block_size)?;
        let enough = sequence.chain.ids.try_reserve(cost.blocks);
        enough.map_err(|_| OutOfMemory)?;

        self.hold(request, &cost)?;

        let sequence = self.registry.vacant(0);
        let found = sequence.chain.published;
        let (hit, fresh) = (found * block_size, cost.blocks - found);
        sequence
            .seal
            .begin(prompt, found, block_size, request.insert);
        sequence.growth = request.growth;
        sequence.budget = request.budget;
        sequence.label = request.label;
        sequence.end = end_of(len, request.growth);
        sequence.promise = count(cost.promised);
        sequence.changed_from = 0;
        let hits = if request.returning {
            &mut self.statistics.returned
        } else {
            &mut self.statistics.first
        };
        hits.count(len, hit);
        let handle = self.registry.enter(&self.pool.core, len);
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
        Ok(Admitted { handle, hit, fresh })
    }

    /// Gets the credits, the hits and the blocks of a request into the next vacant slot, where there is room for them.
    fn hold(&mut self, request: &Admit<'_>, cost: &Cost) -> Result<(), AdmitError> {
        let core = &*self.pool.core;
        let prompt = &request.prompt;
        let most = prompt.matchable(core.block_size)?;
        let watermark = self.watermark;
        let refused = |needed: u32, available: u32| {
            let above = available.saturating_sub(watermark);
            let refused = core.shortfall(needed as usize, above);
            core.count_refusal(refused);
            refused
        };
        let charge = count(cost.charge());
        core.credits
            .reserve_above(charge, watermark)
            .map_err(|available| refused(charge, available))?;

        let chain = &mut self.registry.vacant(0).chain;
        let cuts = core.cuts.0.load(Acquire);
        chain.restart(core.space(prompt.namespace), cuts);
        let mut purse = Purse::reserved(charge);
        core.find(prompt, most, &mut purse, &mut chain.ids);
        let spent = purse.close();
        let fresh = cost.blocks - chain.ids.len();
        let (left, wanted) = (charge - spent, count(fresh) + count(cost.promised));
        if wanted > left && !mutant("no-top-up") {
            let more = core.credits.reserve_above(wanted - left, watermark);
            more.map_err(|available| {
                core.credits.spend(spent);
                chain.release_and_clear(core);
                core.credits.unreserve(left);
                refused(spent + wanted, available + spent + left)
            })?;
        } else {
            core.credits.unreserve(left.saturating_sub(wanted));
        }
        chain.published = chain.ids.len();
        Core::count_lookup(&mut self.worker, chain.published, most);
        chain.ids.resize(cost.blocks, BlockId::NONE);
        core.obtain(&mut self.worker, &mut chain.ids[chain.published..]);
        core.credits.spend(spent + count(fresh));
        Ok(())
    }

    /// Whether a need fits the capacity, and with a conservative budget beside all that is committed.
    pub(super) fn within_budget(&self, whole: usize, budget: Budget) -> Result<(), Refused> {
        let core = self.core();
        let capacity = core.capacity().saturating_sub(self.watermark as usize);
        if whole > capacity {
            return Err(Refused::NeverFits {
                shard: core.shard,
                needed: whole,
                capacity,
            });
        }
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

    fn above_watermark(&self) -> usize {
        let available = self.core().credits.now().available;
        available.saturating_sub(self.watermark) as usize
    }

    pub(super) fn shortfall(&self, needed: usize, available: usize) -> Refused {
        self.core().shortfall(needed, count(available))
    }
}
