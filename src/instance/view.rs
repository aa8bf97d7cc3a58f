//! Reading a sequence as all shards have it, and whom to preempt for their needs.

use alloc::vec::Vec;

use super::Instance;
use crate::sequence::{Handle, SequenceState, Sequences, Stale};

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

    /// Blocks that an admission can have at this instant: available above the watermark, on the shard that has the fewest.
    ///
    /// A load for each shard.
    #[must_use]
    pub fn free(&self) -> usize {
        self.fewest(|it| it.pool().available())
    }

    /// Blocks that one sequence can ever have: those above the watermark, on the shard that has the fewest.
    #[must_use]
    pub fn largest(&self) -> usize {
        self.fewest(|it| it.pool().capacity())
    }

    /// What remains above the watermark, on the shard where that is the least.
    fn fewest(&self, of: impl Fn(&Sequences) -> usize) -> usize {
        let above = |it: &Sequences| of(it).saturating_sub(it.watermark());
        self.shards.iter().map(above).min().unwrap_or(0)
    }

    /// Positions that its sequences are to have computed next, each at least one and at most `most`.
    pub(crate) fn demand(&self, most: u64) -> u64 {
        let demand = |it: &Sequences| it.demand(most);
        self.shards.iter().map(demand).max().unwrap_or(0)
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
    /// [`Stale`]: a handle names nothing. The list is empty then.
    pub fn select_victims(
        &self,
        order: &[Handle],
        need: &[usize],
        victims: &mut Vec<Handle>,
    ) -> Result<bool, Stale> {
        victims.clear();
        let (mut enough, mut of_shard) = (true, Vec::new());
        for (at, it) in self.shards.iter().enumerate() {
            let need = need.get(at).copied().unwrap_or(0);
            enough &= it.select_victims(order, need, &mut of_shard)? >= need;
            for victim in &of_shard {
                if !victims.contains(&victim.handle) {
                    victims.push(victim.handle);
                }
            }
        }
        let place = |handle: &Handle| order.iter().position(|it| it == handle);
        victims.sort_by_key(place);
        Ok(enough)
    }
}
