//! The figures of an instance.

use alloc::vec::Vec;
use core::fmt;

use super::SequencesReport;
use crate::array::try_push;
use crate::block::ShardId;
use crate::error::{OutOfMemory, or_abort};
use crate::instance::Instance;

/// What one rank, or one shard, has for an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RankReport {
    /// Which.
    pub shard: ShardId,
    /// Blocks that its memory has room for.
    pub blocks: usize,
    /// Blocks of them that sequences can use.
    pub usable: usize,
    /// Blocks of them that they can't, as another rank has none beside them.
    pub stranded: usize,
}

/// The figures of an instance at one look: of every shard, and of the one that binds the others.
///
/// `usable + stranded = blocks` for each rank. What one shard has free is no use where another has nothing: so `free` is the least, and the
/// two budgets are the most, of any shard.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct InstanceReport {
    /// Token positions of a block.
    pub block_size: usize,
    /// Whether all ranks have one table.
    pub lockstep: bool,
    /// Sequences that live.
    pub sequences: usize,
    /// Slots for sequences.
    pub max_sequences: usize,
    /// The shard that has the fewest blocks for an admission.
    pub binding: ShardId,
    /// Blocks that an admission can have there: available above the watermark, and within the capacity.
    pub free: usize,
    /// Blocks that one sequence can ever have: capacity above the watermark, on the shard where that is the least.
    pub largest: usize,
    /// Blocks with a holder, shared ones once, on the shard that has the most of them.
    pub held: usize,
    /// What its sequences come to with a physical budget, on the shard where that is the most: shared blocks once.
    pub physical: usize,
    /// What they come to with a conservative budget, on the shard where that is the most: shared blocks once for each sequence.
    pub conservative: usize,
    /// Blocks that writers may still touch, over all shards.
    pub loading: usize,
    /// Blocks that transfers under way keep twice, over all shards.
    pub duplicated: usize,
    /// Blocks above the limit that are still in service, over all shards.
    pub draining: usize,
    /// Blocks of all ranks that no sequence can use.
    pub stranded: usize,
    /// Each rank in lockstep, else each shard.
    pub ranks: Vec<RankReport>,
    /// Each shard's registry and pool; one in lockstep, with the blocks of each rank.
    pub shards: Vec<SequencesReport>,
}

impl Instance {
    /// The figures. Looks at every block and every table of each shard once. Allocates, and aborts where there is no memory:
    /// [`try_report`](Self::try_report) tells.
    #[must_use]
    pub fn report(&self) -> InstanceReport {
        or_abort(self.try_report())
    }

    /// The figures, if there is memory for them.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    ///
    /// As [`report`](Self::report).
    pub fn try_report(&self) -> Result<InstanceReport, OutOfMemory> {
        let (mut shards, mut ranks) = (Vec::new(), Vec::new());
        for it in self.shards() {
            try_push(&mut shards, it.try_report()?)?;
        }
        let rank = |at| {
            self.rank(at).map(|rank| RankReport {
                shard: rank.shard,
                blocks: rank.blocks,
                usable: self.capacity(at),
                stranded: self.stranded(at),
            })
        };
        for it in (0..self.width()).filter_map(rank) {
            try_push(&mut ranks, it)?;
        }
        let most = |of: fn(&SequencesReport) -> usize| shards.iter().map(of).max().unwrap_or(0);
        let sum = |of: fn(&SequencesReport) -> usize| shards.iter().map(of).sum();
        let binding = shards.iter().min_by_key(|it| free(it));
        Ok(InstanceReport {
            block_size: self.block_size(),
            lockstep: self.is_lockstep(),
            sequences: self.len(),
            max_sequences: self.max_sequences(),
            binding: binding.map_or_else(Default::default, |it| it.pool.shard),
            free: binding.map_or(0, free),
            largest: self.largest(),
            held: most(|it| it.pool.held),
            physical: most(|it| it.physical),
            conservative: most(|it| it.conservative),
            loading: sum(|it| it.loading),
            duplicated: sum(|it| it.duplicated),
            draining: sum(|it| it.pool.draining),
            stranded: ranks
                .iter()
                .map(|it| it.stranded)
                .fold(0, usize::saturating_add),
            ranks,
            shards,
        })
    }
}

/// Blocks that an admission can have.
fn free(it: &SequencesReport) -> usize {
    it.pool
        .available
        .min(it.pool.online)
        .saturating_sub(it.watermark)
}

impl fmt::Display for InstanceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (self.lockstep, self.ranks.len()) {
            (true, 1) => "rank in lockstep",
            (true, _) => "ranks in lockstep",
            (false, 1) => "shard",
            (false, _) => "shards",
        };
        writeln!(
            f,
            "{} {what}, blocks of {} positions, {} sequences of at most {}",
            self.ranks.len(),
            self.block_size,
            self.sequences,
            self.max_sequences
        )?;
        for (name, n, note) in [
            ("free", self.free, "   above the watermark"),
            ("held", self.held, ""),
            ("physical budget", self.physical, ""),
            ("conservative budget", self.conservative, ""),
        ] {
            super::blocks(f, name, n, self.largest, note)?;
        }
        writeln!(f, "  {:<20}{:>14}", "binding shard", self.binding)?;
        for (name, n) in [
            ("loading", self.loading),
            ("duplicated", self.duplicated),
            ("draining", self.draining),
            ("stranded", self.stranded),
        ] {
            writeln!(f, "  {name:<20}{n:>14} blocks")?;
        }
        for rank in &self.ranks {
            writeln!(
                f,
                "  shard {:<14}{:>14} blocks usable, {} stranded of {}",
                rank.shard, rank.usable, rank.stranded, rank.blocks
            )?;
        }
        for (at, shard) in self.shards.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            shard.fmt(f)?;
        }
        Ok(())
    }
}
