//! Content that a sequence has in a block of its own and that is findable as another: the findable one can take its place.

use super::Sequences;
use super::error::{EndAfterError, Stale};
use super::handle::Handle;
use crate::error::{OutOfMemory, ReleaseAfterError};
use crate::pool::{Fence, Lane, RawChain};

impl Sequences {
    /// Puts the findable block of each duplicate into the table and gives the sequence's own copy back. Returns how many. The
    /// content is the same; the engine must read the table anew before its next step.
    ///
    /// # Errors
    /// [`Stale`].
    ///
    /// A look at each published block, and one read-modify-write for each adopted one. No allocation.
    pub fn adopt_duplicates(&mut self, handle: Handle) -> Result<usize, Stale> {
        let (_, sequence) = self.registry.get_mut(handle)?;
        let core = &*self.pool.core;
        let adopted = sequence.adopt_duplicates(&mut self.worker, |own| core.release(own.rev()));
        self.statistics.adopted += adopted as u64;
        Ok(adopted)
    }

    /// The same, where a device or a peer may still touch the sequence's own copies: they are given back when a fence has passed.
    ///
    /// # Errors
    /// [`EndAfterError`]: no such sequence, a lane of another pool, or no memory for its list. Nothing is changed.
    ///
    /// As [`adopt_duplicates`](Self::adopt_duplicates), and a few read-modify-writes for each adopted one. No allocation in steady state.
    pub fn adopt_duplicates_after(
        &mut self,
        handle: Handle,
        lane: &mut Lane,
        fence: Fence,
    ) -> Result<usize, EndAfterError> {
        let core = &*self.pool.core;
        let (_, sequence) = self.registry.get_mut(handle)?;
        lane.make_room(core)?;
        let mut copies = RawChain::vacant(core);
        if let Some(lists) = lane.next_lists() {
            let room = lists.ids.try_reserve(sequence.chain.duplicates());
            room.map_err(|_| ReleaseAfterError::from(OutOfMemory))?;
            (copies.ids, _) = lists.take_lists();
        }
        let adopted = sequence.adopt_duplicates(&mut self.worker, |own| copies.ids.extend(own));
        lane.push(fence, &mut copies);
        self.statistics.adopted += adopted as u64;
        Ok(adopted)
    }
}
