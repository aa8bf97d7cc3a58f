//! More blocks, or fewer: on all shards or on none.
//!
//! In lockstep the table has as many blocks as the smallest rank, so one rank that loses memory shrinks all of them, and one that gets
//! memory grows them only up to the next smallest. Nothing is gained by a rank alone: its surplus is stranded.

use super::error::InstanceResizeError;
use super::rank::{Rank, Ranks};
use super::{Instance, PerShard};
use crate::block::ShardId;
use crate::error::{Refused, ResizeError};
use crate::pool::Core;
use crate::sequence::Sequences;
use alloc::vec::Vec;

impl Instance {
    /// Gives every rank, or every shard's pool, `n` blocks more. As [`BlockPool::grow`](crate::BlockPool::grow).
    ///
    /// # Errors
    /// [`InstanceResizeError`] names the shard that can't have more; nothing is changed on any.
    pub fn grow(&mut self, n: usize) -> Result<(), InstanceResizeError> {
        match &self.ranks {
            Some(ranks) => resize_ranks(ranks, self.first().core(), |_, rank| {
                let (blocks, max) = (rank.blocks, rank.max_blocks);
                let beyond = ResizeError::BeyondMax {
                    asked: usize::MAX,
                    max,
                };
                blocks.checked_add(n).ok_or(beyond)
            }),
            None => self.on_each(|core| core.prepare_grow(n), |it| _ = it.finish()),
        }
    }

    /// Takes the upper `n` blocks of every rank, or of every shard's pool, out of service. As
    /// [`BlockPool::shrink`](crate::BlockPool::shrink): held blocks drain, and [`draining`](Self::draining) says how many are left;
    /// `shrink(0)` collects what did not go by itself.
    ///
    /// # Errors
    /// [`InstanceResizeError`] names the shard that can't give them; nothing is changed on any.
    pub fn shrink(&mut self, n: usize) -> Result<(), InstanceResizeError> {
        match &self.ranks {
            Some(_) if n == 0 => {
                let shrinking = self.first().core().prepare_shrink(0);
                let shrinking = shrinking.map_err(|error| on(self.first(), error))?;
                shrinking.finish();
                Ok(())
            }
            Some(ranks) => resize_ranks(ranks, self.first().core(), |_, rank| {
                let left = rank.blocks.checked_sub(n).filter(|&left| left > 0);
                left.ok_or(nothing_left(n, rank.blocks))
            }),
            None => self.on_each(|core| core.prepare_shrink(n), |it| _ = it.finish()),
        }
    }

    /// Says that the memory of one rank has room for so many blocks now. In lockstep the table follows the smallest rank; split, the
    /// shard's pool alone changes.
    ///
    /// # Errors
    /// [`InstanceResizeError`]; nothing is changed.
    pub fn resize_rank(&mut self, at: usize, blocks: usize) -> Result<(), InstanceResizeError> {
        let ranks = self.width();
        let Some(it) = self.shard_of(at) else {
            return Err(InstanceResizeError::NoSuchRank { at, ranks });
        };
        match &self.ranks {
            Some(ranks) => resize_ranks(ranks, it.core(), |place, rank| match blocks {
                _ if place != at => Ok(rank.blocks),
                0 => Err(nothing_left(rank.blocks, rank.blocks)),
                _ => Ok(blocks),
            }),
            None => it.core().resize(blocks).map_err(|error| on(it, error)),
        }
    }

    /// Blocks above the limit that have not gone offline yet, over all shards.
    #[must_use]
    pub fn draining(&self) -> usize {
        let draining = |it: &Sequences| {
            let pool = it.pool();
            pool.in_service().saturating_sub(pool.capacity())
        };
        self.shards.iter().map(draining).sum()
    }

    /// Prepares on each shard, which may be refused and is given back then, and finishes on all.
    fn on_each<'a, T>(
        &'a self,
        prepare: impl Fn(&'a Core) -> Result<T, ResizeError>,
        finish: impl Fn(T),
    ) -> Result<(), InstanceResizeError> {
        let mut prepared = PerShard::new();
        for it in &self.shards {
            prepared.push(prepare(it.core()).map_err(|error| on(it, error))?);
        }
        prepared.into_iter().for_each(finish);
        Ok(())
    }
}

fn on(it: &Sequences, error: ResizeError) -> InstanceResizeError {
    let shard = it.pool().shard();
    InstanceResizeError::Shard { shard, error }
}

/// A refusal of the table, named after the rank that asked for it.
const fn named(error: ResizeError, name: ShardId) -> ResizeError {
    match error {
        ResizeError::Refused(mut refused) => {
            let (Refused::NeverFits { shard, .. } | Refused::Shortfall { shard, .. }) =
                &mut refused;
            *shard = name;
            ResizeError::Refused(refused)
        }
        other => other,
    }
}

const fn nothing_left(asked: usize, online: usize) -> ResizeError {
    ResizeError::NothingLeft { asked, online }
}

/// The table gets as many blocks as the smallest rank has then.
fn resize_ranks(
    ranks: &Ranks,
    core: &Core,
    to: impl Fn(usize, Rank) -> Result<usize, ResizeError>,
) -> Result<(), InstanceResizeError> {
    let refused = |shard, error| InstanceResizeError::Shard { shard, error };
    let Some(resize) = ranks.resize() else {
        return Err(refused(core.shard(), ResizeError::InProgress));
    };
    let mut wanted = Vec::new();
    let enough = wanted.try_reserve_exact(ranks.len());
    enough.map_err(|_| refused(core.shard(), ResizeError::OutOfMemory))?;
    for (at, rank) in ranks.iter().enumerate() {
        let asked = to(at, rank).map_err(|error| refused(rank.shard, error))?;
        let max = rank.max_blocks;
        if asked > max {
            return Err(refused(rank.shard, ResizeError::BeyondMax { asked, max }));
        }
        wanted.push(asked);
    }
    let smallest = wanted.iter().copied().min().unwrap_or(0);
    let binding = wanted.iter().position(|&it| it == smallest);
    let binding = binding.and_then(|at| ranks.get(at)).map(|it| it.shard);
    let shard = binding.unwrap_or(core.shard());
    core.resize(smallest)
        .map_err(|error| refused(shard, named(error, shard)))?;
    for (at, &blocks) in wanted.iter().enumerate() {
        resize.set(at, blocks);
    }
    core.rename(shard);
    Ok(())
}
