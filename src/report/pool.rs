//! The figures of one shard.

use core::fmt;

use crate::block::ShardId;
use crate::pool::{BlockPool, Core, Counter};
use crate::sync::Ordering::Acquire;

/// The figures of one shard at one look.
///
/// `capacity = online + draining = free + idle + held + quarantined`, `max_blocks = capacity + offline`, and `available = free +
/// idle − reserved`: exact at rest and after every operation of a single thread. While other threads work, each block is counted
/// once, in the state in which it was seen.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PoolReport {
    /// Which shard.
    pub shard: ShardId,
    /// Token positions of a block.
    pub block_size: usize,
    /// Blocks that there is bookkeeping for.
    pub max_blocks: usize,
    /// Blocks in service: below the limit, or draining.
    pub capacity: usize,
    /// Blocks below the limit: what can be promised at most.
    pub online: usize,
    /// Blocks at or above the limit that are still in service: held, or to be collected by the next
    /// [`shrink`](BlockPool::shrink).
    pub draining: usize,
    /// Blocks that are not in service.
    pub offline: usize,
    /// Blocks that hold nothing.
    pub free: usize,
    /// Published blocks without a holder.
    pub idle: usize,
    /// Blocks with a holder, shared ones once.
    pub held: usize,
    /// Blocks that only a fence holds.
    pub quarantined: usize,
    /// References to held blocks beyond the first of each.
    pub shared_references: u64,
    /// Blocks promised and not taken.
    pub reserved: usize,
    /// Free and idle blocks promised to nobody.
    pub available: usize,
    /// Blocks found.
    pub hits: u64,
    /// Blocks looked up and not found.
    pub misses: u64,
    /// Blocks that became findable.
    pub stored: u64,
    /// Blocks published whose content already was findable.
    pub duplicates: u64,
    /// Times publishing stopped because a duplicate could not be paid.
    pub unpaid: u64,
    /// Times publishing stopped because the key's buckets were full.
    pub declined: u64,
    /// Idle blocks that were taken or evicted.
    pub reclaims: u64,
    /// Tokens that were sent back to the tail of the order.
    pub second_chances: u64,
    /// Searches of all blocks for want of a token.
    pub sweeps: u64,
    /// Refusals that waiting cannot help.
    pub refused_never: u64,
    /// Refusals for now.
    pub refused_shortfall: u64,
    /// Bytes of all arrays of the pool.
    pub memory_bytes: usize,
    /// Bytes of them that hold tokens or digests.
    pub content_bytes: usize,
}

impl PoolReport {
    /// Bytes of bookkeeping for each block, beside its tokens.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a figure to read")]
    pub fn bookkeeping_bytes_per_block(&self) -> f64 {
        (self.memory_bytes - self.content_bytes) as f64 / self.max_blocks as f64
    }
}

impl BlockPool {
    /// The figures. Looks at every block's state once; no allocation.
    #[must_use]
    pub fn report(&self) -> PoolReport {
        let core: &Core = &self.core;
        let (mut free, mut idle, mut held, mut quarantined, mut references) = (0, 0, 0, 0, 0);
        let (online, mut draining, mut offline) = (core.capacity(), 0, 0);
        for block in core.ids() {
            if core.offline.contains(block) {
                offline += 1;
                continue;
            }
            draining += usize::from(block.index() >= online);
            let state = core.state(block).load(Acquire);
            match state.references() {
                0 if state.is_published() => idle += 1,
                0 => free += 1,
                _ if core.is_quarantined(block, state) => quarantined += 1,
                n => {
                    held += 1;
                    references += n;
                }
            }
        }
        let now = core.credits.now();
        let sum = |counter| core.tallies.sum(counter);
        PoolReport {
            shard: core.shard(),
            block_size: core.block_size,
            max_blocks: core.states.len(),
            capacity: core.states.len() - offline,
            online,
            draining,
            offline,
            free,
            idle,
            held,
            quarantined,
            shared_references: references - held as u64,
            reserved: now.reserved as usize,
            available: now.available as usize,
            hits: sum(Counter::Hits),
            misses: sum(Counter::Misses),
            stored: sum(Counter::Stored),
            duplicates: sum(Counter::Duplicates),
            unpaid: sum(Counter::Unpaid),
            declined: sum(Counter::Declined),
            reclaims: sum(Counter::Reclaims),
            second_chances: sum(Counter::SecondChances),
            sweeps: sum(Counter::Sweeps),
            refused_never: sum(Counter::RefusedNever),
            refused_shortfall: sum(Counter::RefusedShortfall),
            memory_bytes: core.bytes(),
            content_bytes: core.nodes.content_bytes(),
        }
    }
}

impl fmt::Display for PoolReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            shard,
            block_size,
            capacity,
            free,
            idle,
            held,
            quarantined,
            ..
        } = *self;
        writeln!(
            f,
            "shard {shard}: {capacity} blocks of {block_size} positions"
        )?;
        let mut blocks =
            |name: &str, n: usize, note: &str| super::blocks(f, name, n, capacity, note);
        blocks("free", free, "")?;
        blocks("idle", idle, "   findable, reclaimable")?;
        blocks("held", held, "")?;
        blocks("quarantined", quarantined, "")?;
        blocks("reserved", self.reserved, "   promised, not taken")?;
        blocks("available", self.available, "   free + idle - reserved")?;
        if self.max_blocks > self.online || self.draining > 0 {
            let mut of_all =
                |name: &str, n: usize, note: &str| super::blocks(f, name, n, self.max_blocks, note);
            of_all("online", self.online, "   of max_blocks")?;
            of_all("draining", self.draining, "   held, offline when released")?;
            of_all("offline", self.offline, "")?;
        }
        for (name, n) in [
            ("shared references", self.shared_references),
            ("hits", self.hits),
            ("misses", self.misses),
            ("stored", self.stored),
            ("duplicates", self.duplicates),
            ("unpaid duplicates", self.unpaid),
            ("declined publishes", self.declined),
            ("reclaims", self.reclaims),
            ("second chances", self.second_chances),
            ("sweeps", self.sweeps),
            ("refused, never", self.refused_never),
            ("refused, shortfall", self.refused_shortfall),
        ] {
            super::number(f, name, n)?;
        }
        writeln!(f, "  {:<20}{:>14} bytes", "memory", self.memory_bytes)?;
        write!(
            f,
            "  {:<20}{:>14.1} bytes a block beside the tokens",
            "bookkeeping",
            self.bookkeeping_bytes_per_block()
        )
    }
}
