//! More blocks, or fewer: `grow` and `shrink` move the limit, below which ids are online.
//!
//! No live block ever moves. What is held above the limit *drains*: it stays its owners', and is *retired* when they release it.
//!
//! ```text
//!                   limit                 max_blocks
//!  0                  |                        |
//!  +------------------+------------------------+
//!  |     in service   |  draining  or offline  |      shrink: <-- limit      grow: limit -->
//!  +------------------+------------------------+
//! ```
//!
//! *Retire* (`release.rs`): a block that nobody holds or could find any more, at or above the limit, is marked offline instead of free, and
//! no credit is given for it. Then the limit is looked at again; if the block is below it now, whoever turns its mark off brings it
//! online. *Grow* raises the limit, then turns the marks off, and brings online what had one. So each block comes online exactly once.
//!
//! A releaser may know an older, higher limit and free a block above the new one. That straggler is in service, with its credit, and
//! counts as draining; the next shrink takes it, that of 0 too. So may a reclaimer take an idle block above the limit that has
//! been waiting for its children to go.
//!
//! *Shrink* takes a credit for each free and idle block above the new limit, lowers the limit, cuts what is published above it with all
//! below (`cut.rs`), and takes the blocks: free ones out of the bitmap, idle ones by their tokens, leaf upwards. One credit goes
//! with each. Others may take or hold some of them meanwhile, for credits of their own: then as many are left over, and given back.
//!
//! What can be refused comes first, and what is left cannot fail: [`Growing`], [`Shrinking`]. So an instance prepares all of its shards before
//! it finishes any.
//!
//! # Orderings
//! Retire: set the mark; load the limit. Grow: store the limit; turn the marks off. Both change the word of the marks by an AcqRel
//! read-modify-write, so whichever is later there sees what the other did before: grow the mark, or the releaser the limit (model
//! `grow_vs_retire`). Only whoever resizes stores the limit, one at a time: the flag's Acquire and Release hand on what the last one
//! stored. A publisher that misses the new limit sees that `cuts` has changed (`shrink_vs_publish`, see `cut.rs`). Everybody else
//! loads the limit Relaxed, as an old one is harmless.
//!
//! # Complexity
//! `grow`: a read-modify-write for each 64 ids. `shrink`: a few passes over all blocks, and memory as `clear` needs.

use core::cmp::Ordering::{Equal, Greater, Less};

use super::core::Core;
use super::cut::{Float, Root, Scratch};
use super::free::FreeMap;
use crate::error::ResizeError;
use crate::event::EventKind;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{AtomicU32, mutant};

/// What [`grow`](crate::BlockPool::grow) did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Grown {
    /// Blocks that came online.
    pub online: usize,
    /// Blocks that were still draining: they stay what they are, below the limit again.
    pub taken_back: usize,
}

/// What [`shrink`](crate::BlockPool::shrink) did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Shrunk {
    /// Blocks that this call took offline.
    pub offline: usize,
    /// Blocks at or above the limit that are not offline yet.
    pub draining: usize,
}

/// The right to move the limit.
#[derive(Debug)]
struct Resizing<'c>(&'c AtomicU32);

impl<'c> Resizing<'c> {
    fn begin(flag: &'c AtomicU32) -> Result<Self, ResizeError> {
        flag.compare_exchange(0, 1, Acquire, Relaxed)
            .map(|_| Self(flag))
            .map_err(|_| ResizeError::InProgress)
    }
}

impl Drop for Resizing<'_> {
    fn drop(&mut self) {
        self.0.store(0, Release);
    }
}

/// The right to bring blocks online, which has been checked.
#[derive(Debug)]
pub(crate) struct Growing<'c> {
    core: &'c Core,
    _alone: Resizing<'c>,
    limit: usize,
}

/// The right to take blocks out of service, with the memory for it and a credit for each that is free or idle. Dropped instead of
/// [finished](Self::finish) it gives them back, and nothing has changed.
#[derive(Debug)]
pub(crate) struct Shrinking<'c> {
    core: &'c Core,
    _alone: Resizing<'c>,
    scratch: Scratch,
    limit: usize,
    credits: u32,
}

impl Growing<'_> {
    pub(crate) fn finish(self) -> Grown {
        let (core, limit) = (self.core, self.limit);
        let online = core.capacity();
        if !mutant("grow-marks-first") {
            core.move_limit(limit);
        }
        let mut came = 0;
        for word in online / 64..limit.div_ceil(64) {
            let range = FreeMap::<64>::below(word, limit) & !FreeMap::<64>::below(word, online);
            let bits = core.offline.remove(word, range);
            if bits != 0 {
                core.free.insert(word, bits);
                came += bits.count_ones();
            }
        }
        if mutant("grow-marks-first") {
            core.move_limit(limit);
        }
        core.credits.deposit(came);
        let came = came as usize;
        Grown {
            online: came,
            taken_back: limit - online - came,
        }
    }
}

impl Shrinking<'_> {
    pub(crate) fn finish(mut self) -> Shrunk {
        let (core, limit) = (self.core, self.limit);
        core.move_limit(limit);
        core.fell(Root::Above(limit), EventKind::Removed, &mut self.scratch);
        let mut float = Float::new(core::mem::take(&mut self.credits));
        core.retire_free(limit, &mut float);
        core.free_what_is_cut(&mut float);
        let offline = float.close(&core.credits);
        let above = core.ids().skip(limit);
        Shrunk {
            offline,
            draining: above.filter(|&block| !core.offline.contains(block)).count(),
        }
    }
}

impl Drop for Shrinking<'_> {
    fn drop(&mut self) {
        self.core.credits.deposit(self.credits);
    }
}

impl Core {
    /// See [`BlockPool::grow`](crate::BlockPool::grow): all that can be refused.
    pub(crate) fn prepare_grow(&self, n: usize) -> Result<Growing<'_>, ResizeError> {
        let alone = Resizing::begin(&self.resizing)?;
        let (limit, max) = (self.capacity().saturating_add(n), self.states.len());
        if limit > max {
            return Err(ResizeError::BeyondMax { asked: limit, max });
        }
        Ok(Growing {
            core: self,
            _alone: alone,
            limit,
        })
    }

    /// See [`BlockPool::shrink`](crate::BlockPool::shrink): all that can be refused.
    pub(crate) fn prepare_shrink(&self, n: usize) -> Result<Shrinking<'_>, ResizeError> {
        let alone = Resizing::begin(&self.resizing)?;
        let online = self.capacity();
        let Some(limit) = online.checked_sub(n).filter(|&limit| limit > 0) else {
            return Err(ResizeError::NothingLeft { asked: n, online });
        };
        let scratch = Scratch::new(self.states.len()).ok_or(ResizeError::OutOfMemory)?;
        let credits = self.in_reach_above(limit);
        self.credits
            .withdraw_available(credits)
            .map_err(|available| self.shortfall(credits as usize, available))?;
        Ok(Shrinking {
            core: self,
            _alone: alone,
            scratch,
            limit,
            credits,
        })
    }

    /// Grows or shrinks to so many blocks. Nothing happens if there are as many, whatever drains there.
    pub(crate) fn resize(&self, to: usize) -> Result<(), ResizeError> {
        let online = self.capacity();
        match to.cmp(&online) {
            Greater => self.prepare_grow(to - online).map(|it| _ = it.finish()),
            Equal => Ok(()),
            Less => self.prepare_shrink(online - to).map(|it| _ = it.finish()),
        }
    }

    /// Free and idle blocks from `limit` on. A pool has no more blocks than fit.
    fn in_reach_above(&self, limit: usize) -> u32 {
        let above = self.ids().skip(limit);
        let in_reach = above.filter(|&block| {
            self.free.contains(block) || self.state(block).load(Acquire).is_idle()
        });
        u32::try_from(in_reach.count()).unwrap_or(u32::MAX)
    }

    /// Takes the free blocks from `limit` on offline, a credit for each. Those for which there is none stay free.
    fn retire_free(&self, limit: usize, float: &mut Float) {
        for word in limit / 64..self.states.len().div_ceil(64) {
            let bits = self
                .free
                .claim_all(word, !FreeMap::<64>::below(word, limit));
            let mut unpaid = bits;
            while unpaid != 0 && float.has_one(&self.credits) {
                float.retire(1);
                unpaid &= unpaid - 1;
            }
            if unpaid != bits {
                self.offline.insert(word, bits & !unpaid);
            }
            if unpaid != 0 {
                self.free.insert(word, unpaid);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{
        Admit, BlockPool, Growth, Instance, InstanceResizeError, Namespace, PoolConfig, Prompt,
        Sequences, SequencesConfig, ShardId, Step,
    };

    #[test]
    fn who_comes_second_is_told_and_changes_nothing() {
        let pool = BlockPool::new(&PoolConfig::new(4, 2).max_blocks(8)).unwrap();
        let mut worker = pool.worker().unwrap();
        let before = pool.report();
        let first = Resizing::begin(&pool.core.resizing).unwrap();
        assert_eq!(pool.grow(1), Err(ResizeError::InProgress));
        assert_eq!(pool.shrink(&mut worker, 0), Err(ResizeError::InProgress));
        assert_eq!(pool.report(), before);
        drop(first);
        assert!(pool.grow(4).is_ok() && pool.shrink(&mut worker, 4).is_ok());
        assert_eq!(pool.report(), before);
    }

    /// The first of two shards has agreed when the second one is found to be resized by somebody else: it keeps what it has cached.
    #[test]
    fn a_shrink_over_shards_that_comes_second_on_one_changes_none() {
        let pools = [0, 1].map(|shard| {
            let config = PoolConfig::new(8, 2).shard(ShardId::new(shard));
            BlockPool::new(&config).unwrap()
        });
        let registry = |pool: &BlockPool| Sequences::new(pool.clone(), &SequencesConfig::new(2));
        let shards = pools.iter().map(registry).collect::<Result<_, _>>();
        let mut instance = Instance::split(shards.unwrap()).unwrap();
        let (space, tokens) = (Namespace::new(), [1; 13]);
        let prompt = Prompt::new(&space, &tokens);
        let request = Admit::new(prompt, Growth::OnDemand);
        let handle = instance.admit(&request).unwrap().handle;
        instance.computed(handle, 13).unwrap();
        instance.release(handle).unwrap();
        let sight = |instance: &Instance| (instance.report(), instance.probe(&prompt));
        let before = sight(&instance);
        assert_eq!(before.1, Ok(12));
        let other = Resizing::begin(&pools[1].core.resizing).unwrap();
        for resize in [Instance::shrink, Instance::grow] {
            let refused = resize(&mut instance, 4).unwrap_err();
            assert!(matches!(refused, InstanceResizeError::Shard { .. }));
            assert_eq!(sight(&instance), before);
        }
        drop(other);
        instance.shrink(4).unwrap();
        assert_eq!(instance.probe(&prompt), Ok(8));
        assert_eq!(instance.audit(&[]), Ok(()));
    }

    /// Blocks that go back into a promise keep it, wherever they are; a shrink has them when the promise is given up.
    #[test]
    fn a_truncated_sequence_keeps_its_promise_while_its_blocks_drain() {
        let pool = BlockPool::new(&PoolConfig::new(8, 2)).unwrap();
        let mut worker = pool.worker().unwrap();
        let mut sequences = Sequences::new(pool.clone(), &SequencesConfig::new(2)).unwrap();
        let (space, prompt) = (Namespace::new(), [1; 12]);
        let request = Admit::new(Prompt::new(&space, &prompt), Growth::Cap(0));
        let handle = sequences.admit(&request).unwrap().handle;
        let shrunk = pool.shrink(&mut worker, 4).unwrap();
        assert_eq!((shrunk.offline, shrunk.draining), (2, 2));
        sequences.truncate(handle, 1).unwrap();
        assert_eq!((pool.available(), pool.reserved()), (0, 5));
        let report = pool.report();
        assert_eq!((report.free, report.held, report.draining), (5, 1, 2));
        // They are promised: no shrink takes them.
        let shrunk = pool.shrink(&mut worker, 0);
        assert!(matches!(shrunk, Err(ResizeError::Refused(_))), "{shrunk:?}");
        let mut step = Step::new();
        sequences.append(handle, 11, &mut step).unwrap();
        sequences.release(handle).unwrap();
        assert_eq!(pool.shrink(&mut worker, 0).unwrap().draining, 0);
        assert_eq!((pool.available(), pool.report().offline), (4, 4));
        assert_eq!(sequences.audit(&[]), Ok(()));
    }
}
