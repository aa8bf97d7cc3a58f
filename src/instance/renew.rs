//! Content that turned out bad on one shard: who has it computes it anew on all of them.

use alloc::vec::Vec;

use super::Instance;
use crate::block::BlockId;
use crate::error::InvalidateError;
use crate::sequence::{AppendError, Handle};

use super::append::InstanceStep;

impl Instance {
    /// The content of a block of one shard, or rank, is bad: every sequence of this registry that has it goes back to the positions before
    /// it, on all shards; `affected` (which is cleared first) gets these sequences. In lockstep the block is gone for all ranks. Split, the
    /// other shards' blocks stay findable; a hit is as long as the shortest, so they help nobody until this shard's are there again. As
    /// [`Sequences::invalidate`](crate::Sequences::invalidate).
    ///
    /// # Errors
    /// [`InvalidateError::OutOfRange`], also if there is no such shard; [`InvalidateError::OutOfMemory`]. Nothing is changed.
    pub fn invalidate(
        &mut self,
        shard: usize,
        block: BlockId,
        affected: &mut Vec<Handle>,
    ) -> Result<(), InvalidateError> {
        affected.clear();
        let place = self.place_of(shard);
        let capacity = self.shard_of(shard).map_or(0, |it| it.pool().max_blocks());
        if block.index() >= capacity {
            return Err(InvalidateError::OutOfRange { block, capacity });
        }
        let mut sharers = Vec::new();
        self.shards[place].sharers(block, &mut sharers)?;
        for it in &mut self.shards {
            for &(handle, entry) in &sharers {
                it.prepare_roll_back(handle, entry)?;
            }
        }
        self.shards[place].invalidate(block, affected)?;
        // Both lists are in the order of slots.
        let mut bad = affected.iter().peekable();
        sharers.retain(|(handle, _)| bad.next_if_eq(&handle).is_some());
        for (handle, entry) in sharers {
            let others = self.shards.iter_mut().enumerate();
            for (_, it) in others.filter(|&(at, _)| at != place) {
                it.roll_back(handle, entry);
            }
            self.know_alike(handle);
        }
        Ok(())
    }

    /// Gives a sequence blocks of its own on every shard from where it is not computed on, in place of those that others have or had. As
    /// [`Sequences::renew`](crate::Sequences::renew).
    ///
    /// # Errors
    /// As [`append`](Self::append); nothing is changed on any shard.
    pub fn renew(&mut self, handle: Handle, out: &mut InstanceStep) -> Result<(), AppendError> {
        out.begin(self.shards.len())?;
        let mut plans = self.look(|at, it| it.plan_renew(handle, out.shard(at)))?;
        for (at, it) in self.shards.iter_mut().enumerate() {
            it.check_renew(&plans[at])
                .map_err(AppendError::from)
                .inspect_err(|&error| it.count_refused_append(error))?;
        }
        self.on_all(
            |at, it| {
                it.pay_renew(&plans[at])
                    .inspect_err(|&error| it.count_refused_append(error))
            },
            |at, it, ()| it.give_back_renew(&plans[at]),
        )?;
        for (at, (it, plan)) in self.shards.iter_mut().zip(&mut plans).enumerate() {
            it.finish_renew(handle, plan, out.shard(at));
        }
        Ok(())
    }
}
