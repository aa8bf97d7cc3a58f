//! Whom to preempt: what each would really free.

use alloc::vec::Vec;

use hashbrown::HashMap;

use super::Sequences;
use super::error::VictimsError;
use super::handle::Handle;
use crate::array::try_push;
use crate::block::BlockId;
use crate::error::OutOfMemory;
use crate::sync::Ordering::Acquire;

/// A sequence to preempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Victim {
    /// Which.
    pub handle: Handle,
    /// Blocks that become available by its end, if those before it in the list have ended: blocks that nobody else holds, and
    /// its promise. None, if its end only lets a later one free what both hold.
    pub blocks: usize,
}

impl Sequences {
    /// Chooses whom to preempt so that `need` blocks become available, in the caller's order, and puts them into `victims` (which is
    /// cleared first). Returns how many blocks they free together: less than `need` if all of them do not free enough.
    ///
    /// Skipped are those whose end frees nothing, not even with the others': all they have is shared with sequences that stay.
    /// Changes nothing.
    ///
    /// An append into a block that branches share needs a block for a copy. The end of the last other branch takes that need away, though it
    /// frees nothing: so when this is not enough, preempt branches of the sequence before giving up.
    ///
    /// # Errors
    /// [`VictimsError`]: a handle names nothing, or there is no memory to count. The list is empty then.
    ///
    /// A look at each block of those considered. Allocates.
    pub fn select_victims(
        &self,
        order: &[Handle],
        need: usize,
        victims: &mut Vec<Victim>,
    ) -> Result<usize, VictimsError> {
        let chosen = self.choose_victims(order, need, victims);
        if chosen.is_err() {
            victims.clear();
        }
        chosen
    }

    fn choose_victims(
        &self,
        order: &[Handle],
        need: usize,
        victims: &mut Vec<Victim>,
    ) -> Result<usize, VictimsError> {
        victims.clear();
        for &handle in order {
            self.registry.find(handle)?;
        }
        // References that those looked at would give back.
        let mut given: HashMap<BlockId, u64> = HashMap::new();
        let mut freed = 0;
        for &handle in order {
            if freed >= need {
                break;
            }
            if victims
                .iter()
                .any(|victim: &Victim| victim.handle == handle)
            {
                continue;
            }
            let (_, sequence) = self.registry.get(handle)?;
            let mut blocks = sequence.credits() as usize;
            // Each block may be a new one.
            let held = sequence.chain.held().count();
            given.try_reserve(held).map_err(|_| OutOfMemory)?;
            for block in sequence.chain.held() {
                let given = given.entry(block).or_default();
                *given += 1;
                // What is above the limit of the pool goes offline.
                let returns = block.index() < self.core().capacity();
                blocks += usize::from(returns && *given == self.references(block));
            }
            try_push(victims, Victim { handle, blocks })?;
            freed += blocks;
        }
        let limit = self.core().capacity();
        let goes = |block: BlockId| {
            block.index() < limit && given.get(&block).copied() == Some(self.references(block))
        };
        victims.retain(|victim| {
            let sequence = self.registry.get(victim.handle);
            victim.blocks > 0 || sequence.is_ok_and(|(_, it)| it.chain.held().any(goes))
        });
        Ok(freed)
    }

    fn references(&self, block: BlockId) -> u64 {
        self.core().state(block).load(Acquire).references()
    }
}
