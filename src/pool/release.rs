//! Giving references back.
//!
//! A block whose last reference goes becomes free if it was never published, idle if it was. Batches go tail first: a leaf's token
//! is in front of its parent's, and no head is idle while a tail is held.
//!
//! One that is cut can't be found again: if it has no children its last owner claims it at once, and it becomes free. Nobody could pin
//! it or publish below it meanwhile, as only that owner holds it; so the look at the children binds. With children it
//! becomes idle, and is reclaimed after them.
//!
//! A free block at or above the limit does not go to the bitmap: it is retired, see `elastic.rs`.
//!
//! # Orderings
//! The decrement is AcqRel: what an owner did with the block happens before the last one frees it, and that before its next use
//! (model `release-vs-take`). An owner alone with a private block stores Relaxed: the bitmap's Release follows. Credits come
//! last of all (`credit-after-block`). The claim of a cut block is AcqRel as others are (`cut_release_vs_token`,
//! `cut_release_vs_invalidate`).

use super::core::Core;
use super::free::FreeMap;
use super::order::{HAND, Hand};
use super::state::{MAX_REFERENCES, State};
use crate::block::BlockId;
use crate::error::TooManyReferences;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed};
use crate::sync::mutant;

/// What one release call has collected for the shared structures.
struct Outgoing<'c> {
    core: &'c Core,
    /// Free blocks from here on are retired.
    limit: usize,
    /// Free blocks of one word of the bitmap.
    word: usize,
    bits: u64,
    /// Made when there is a first one.
    tokens: Option<Hand>,
    credits: u32,
}

impl Outgoing<'_> {
    #[inline]
    fn free(&mut self, block: BlockId) {
        let (word, bit) = FreeMap::<64>::place(block);
        if word != self.word {
            self.flush_free();
            self.word = word;
        }
        self.bits |= bit;
        self.credits += 1;
    }

    #[inline]
    fn flush_free(&mut self) {
        if self.bits != 0 {
            self.credits -= self.core.put_back(self.word, self.bits, self.limit);
            self.bits = 0;
        }
    }

    #[inline]
    fn queue(&mut self, block: BlockId) {
        let tokens = self.tokens.get_or_insert_with(Hand::new);
        if tokens.len() == HAND {
            self.core.order.push(tokens);
            tokens.clear();
        }
        tokens.push(block);
    }
}

impl Core {
    /// Gives back one reference of each block, in this order: tails first.
    #[inline]
    pub(crate) fn release(&self, blocks: impl Iterator<Item = BlockId>) {
        let credits = self.release_for(blocks, self.capacity());
        self.credits.deposit(credits);
    }

    /// The same, and the credits of the blocks that became free or idle are the caller's. So none is retired: a promise that they
    /// go back into is kept.
    #[inline]
    #[must_use]
    pub(crate) fn release_keeping_credits(&self, blocks: impl Iterator<Item = BlockId>) -> u32 {
        self.release_for(blocks, self.states.len())
    }

    /// The same, and blocks from `limit` on that would be free are retired: no credit for those.
    #[inline]
    #[must_use]
    pub(crate) fn release_for(&self, blocks: impl Iterator<Item = BlockId>, limit: usize) -> u32 {
        let mut out = Outgoing {
            core: self,
            limit,
            word: 0,
            bits: 0,
            tokens: None,
            credits: 0,
        };
        for block in blocks {
            self.release_one(block, &mut out);
        }
        if mutant("credit-early") {
            self.credits.deposit(core::mem::take(&mut out.credits));
        }
        out.flush_free();
        if let Some(tokens) = &out.tokens {
            self.order.push(tokens);
        }
        out.credits
    }

    /// Gives back blocks that were never shared or published: each has one owner, the caller.
    #[inline]
    pub(crate) fn release_private(&self, blocks: &[BlockId]) {
        if let &[block] = blocks {
            if block.index() < self.capacity() {
                let state = self.state(block);
                state.store(state.load(Relaxed).held_once_less(), Relaxed);
                let (word, bit) = FreeMap::<64>::place(block);
                self.free.insert(word, bit);
                return self.credits.deposit(1);
            }
        }
        let (mut word, mut bits) = (0, 0);
        let mut rest = blocks;
        while let Some(&first) = rest.first() {
            let run = FreeMap::<64>::run_at(first, rest);
            let end = first.index() + run.len;
            if end > self.capacity() {
                if bits != 0 {
                    self.free.insert(word, bits);
                }
                return self.release_private_above(blocks, rest.len());
            }
            for state in &self.states[first.index()..end] {
                state.store(state.load(Relaxed).held_once_less(), Relaxed);
            }
            let (at, ones) = FreeMap::<64>::place_of(run);
            if at != word && bits != 0 {
                self.free.insert(word, bits);
                bits = 0;
            }
            word = at;
            bits |= ones;
            rest = &rest[run.len..];
        }
        if bits != 0 {
            self.free.insert(word, bits);
        }
        // A pool has no more blocks than fit.
        self.credits
            .deposit(u32::try_from(blocks.len()).unwrap_or(u32::MAX));
    }

    /// The same where not all are below the limit. All but the last `left` are free already, without their credits.
    #[cold]
    fn release_private_above(&self, blocks: &[BlockId], left: usize) {
        let limit = self.capacity();
        let release = |&block: &BlockId| {
            let state = self.state(block);
            state.store(state.load(Relaxed).held_once_less(), Relaxed);
            let (word, bit) = FreeMap::<64>::place(block);
            self.put_back(word, bit, limit)
        };
        let last = &blocks[blocks.len() - left..];
        let retired: u32 = last.iter().map(release).sum();
        let all = u32::try_from(blocks.len()).unwrap_or(u32::MAX);
        self.credits.deposit(all - retired);
    }

    /// Puts blocks of one word, at least one, that hold nothing to the free ones; those from `limit` on are retired. Returns how
    /// many of them went offline: for the others the caller has the credits.
    #[inline]
    #[must_use]
    pub(crate) fn put_back(&self, word: usize, bits: u64, limit: usize) -> u32 {
        if FreeMap::<64>::are_below(word, bits, limit) {
            self.free.insert(word, bits);
            0
        } else {
            self.retire(word, bits, limit)
        }
    }

    #[cold]
    fn retire(&self, word: usize, bits: u64, limit: usize) -> u32 {
        let kept = bits & FreeMap::<64>::below(word, limit);
        let above = bits & !kept;
        self.offline.insert(word, above);
        let taken_back = if mutant("retire-no-second-look") {
            0
        } else {
            above & FreeMap::<64>::below(word, self.capacity())
        };
        // What a grow brought online meanwhile is not ours any more.
        let back = if taken_back == 0 {
            0
        } else if mutant("retire-believes-itself") {
            self.offline.remove(word, taken_back);
            taken_back
        } else {
            self.offline.remove(word, taken_back)
        };
        if kept | back != 0 {
            self.free.insert(word, kept | back);
        }
        (above & !back).count_ones()
    }

    #[inline]
    fn release_one(&self, block: BlockId, out: &mut Outgoing<'_>) {
        let word = self.state(block);
        let mut current = word.load(Acquire);
        if current.is_private_alone() {
            word.store(current.held_once_less(), Relaxed);
            out.free(block);
            return;
        }
        loop {
            if current.is_cut() {
                return self.release_cut(block, current, out);
            }
            let last = current.references() == 1;
            let queues = last && current.is_published() && !current.is_queued();
            let mut next = current.held_once_less();
            if queues {
                next = next.with_queued(true).with_touched(false);
            }
            match word.compare_exchange(current, next, AcqRel, Acquire) {
                Ok(_) => {
                    if last && !current.is_published() {
                        out.free(block);
                    }
                    return self.left(block, current, queues, out);
                }
                // Another owner came or went, the block was cut, or the token's holder cleared a flag.
                Err(actual) => current = actual,
            }
        }
    }

    /// An owner of a block that was in this state has left it: the last one of a published block leaves it idle.
    #[inline]
    fn left(&self, block: BlockId, before: State, queues: bool, out: &mut Outgoing<'_>) {
        if before.references() == 1 && before.is_published() {
            out.credits += 1;
            if queues {
                out.queue(block);
            }
        }
        if before.is_fenced() {
            self.settle_quarantine(block);
        }
    }

    /// The same for a block that is cut.
    #[cold]
    fn release_cut(&self, block: BlockId, current: State, out: &mut Outgoing<'_>) {
        let mut current = current;
        loop {
            let last = current.references() == 1;
            let inner = last && self.nodes.get(block).children().count() > 0;
            let claim = (last && (!inner || mutant("last-owner-claims-parent")))
                .then(|| self.claim_of(block, current));
            let queues = last && claim.is_none() && !current.is_queued();
            let next = if claim.is_some() {
                // Its token, if it has one, is still about.
                current.claimed(current.is_queued() && !mutant("last-owner-drops-queued"))
            } else if queues {
                let next = current.held_once_less();
                next.with_queued(true).with_touched(false)
            } else {
                current.held_once_less()
            };
            let word = self.state(block);
            match word.compare_exchange(current, next, AcqRel, Acquire) {
                Ok(_) => {
                    return match claim {
                        Some(claim) => out.free(self.settle(claim)),
                        None => self.left(block, current, queues, out),
                    };
                }
                // Another owner went, or the token's holder cleared a flag.
                Err(actual) => current = actual,
            }
        }
    }

    /// `owners` more for a block that the caller holds.
    pub(crate) fn hold(&self, block: BlockId, owners: u32) -> Result<(), TooManyReferences> {
        let word = self.state(block);
        let mut current = word.load(Acquire);
        loop {
            if current.references() + u64::from(owners) > MAX_REFERENCES {
                return Err(TooManyReferences { block });
            }
            match word.compare_exchange(current, current.held_by_more(owners), AcqRel, Acquire) {
                Ok(_) => {
                    if current.is_fenced() {
                        self.settle_quarantine(block);
                    }
                    return Ok(());
                }
                // Another owner came or went.
                Err(actual) => current = actual,
            }
        }
    }

    /// `owners` more for each, or none for any.
    pub(crate) fn hold_all(
        &self,
        blocks: impl Iterator<Item = BlockId> + Clone,
        owners: u32,
    ) -> Result<(), TooManyReferences> {
        for (done, block) in blocks.clone().enumerate() {
            if let Err(error) = self.hold(block, owners) {
                for _ in 0..owners {
                    self.release(blocks.clone().take(done));
                }
                return Err(error);
            }
        }
        Ok(())
    }
}
