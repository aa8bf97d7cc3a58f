//! Reading a sequence as all shards have it, and whom to preempt for their needs.

use alloc::vec::Vec;

use super::Instance;
use crate::array::try_repeat;
use crate::error::OutOfMemory;
use crate::sequence::{Handle, ReadError, SequenceState, Sequences, Stale, VictimsError};

impl Instance {
    /// The sequence's figures. Positions and watermarks are the same on all shards; `published`, `blocks` and `promised` are those of the
    /// shard that has the fewest. What each has stands in [`shards`](Self::shards).
    ///
    /// # Errors
    /// [`Stale`].
    pub fn state(&self, handle: Handle) -> Result<SequenceState, Stale> {
        let mut least = self.first().state(handle)?;
        for it in &self.shards[1..] {
            let state = it.state(handle)?;
            least.published = least.published.min(state.published);
            least.blocks = least.blocks.min(state.blocks);
            least.promised = least.promised.min(state.promised);
        }
        Ok(least)
    }

    /// Blocks that an admission can have at this instant: available above the watermark and within the capacity, on the shard that has
    /// the fewest.
    ///
    /// Two loads for each shard.
    #[must_use]
    pub fn free(&self) -> usize {
        let free = |it: &Sequences| it.free_after(0);
        self.shards.iter().map(free).min().unwrap_or(0)
    }

    /// Blocks that one sequence can ever have: capacity above the watermark, on the shard where that is the least.
    ///
    /// A load for each shard.
    #[must_use]
    pub fn largest(&self) -> usize {
        self.shards
            .iter()
            .map(Sequences::largest)
            .min()
            .unwrap_or(0)
    }

    /// Positions that its sequences are to have computed next, each at least one and at most `most`.
    pub(crate) fn demand(&self, most: u64) -> u64 {
        let demand = |it: &Sequences| it.demand(most);
        self.shards.iter().map(demand).max().unwrap_or(0)
    }

    /// Writes the block table that a sequence has on one shard to the start of a row. As [`Sequences::copy_table`].
    ///
    /// # Errors
    /// [`ReadError`]; [`ReadError::Stale`] also if there is no such shard.
    pub fn copy_table(
        &mut self,
        shard: usize,
        handle: Handle,
        row: &mut [i32],
    ) -> Result<usize, ReadError> {
        let it = self.shards.get_mut(shard).ok_or(Stale)?;
        it.copy_table(handle, row)
    }

    /// Every sequence, by slot.
    pub fn handles(&self) -> impl Iterator<Item = Handle> + '_ {
        self.first().handles()
    }

    /// The sequences that the engine named so, the latest first.
    pub fn labelled(&self, label: u64) -> impl Iterator<Item = Handle> + '_ {
        self.first().labelled(label)
    }

    /// Chooses whom to preempt so that each shard has as many blocks more as `need` says for it (0 where it says nothing), in the caller's
    /// order, and puts them into `victims` (which is cleared first). Returns whether that is enough everywhere.
    ///
    /// As [`Sequences::select_victims`](crate::Sequences::select_victims) on each shard: skipped are those whose end frees nothing that
    /// is needed.
    ///
    /// # Errors
    /// [`VictimsError`]: a handle names nothing, or there is no memory to count. The list is empty then.
    pub fn select_victims(
        &self,
        order: &[Handle],
        need: &[usize],
        victims: &mut Vec<Handle>,
    ) -> Result<bool, VictimsError> {
        victims.clear();
        victims.try_reserve(order.len()).map_err(|_| OutOfMemory)?;
        let (mut enough, mut of_shard) = (true, Vec::new());
        let mut chosen = try_repeat(false, order.len())?;
        for (at, it) in self.shards.iter().enumerate() {
            let need = need.get(at).copied().unwrap_or(0);
            enough &= it.select_victims(order, need, &mut of_shard)? >= need;
            // A shard's victims are in the order given.
            let mut places = order.iter().zip(&mut chosen);
            for victim in &of_shard {
                if let Some((_, chosen)) = places.find(|(handle, _)| **handle == victim.handle) {
                    *chosen = true;
                }
            }
        }
        let chosen = order.iter().zip(chosen).filter(|(_, chosen)| *chosen);
        victims.extend(chosen.map(|(handle, _)| *handle));
        Ok(enough)
    }
}
