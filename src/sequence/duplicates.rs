//! Content that a sequence has in a block of its own and that is findable as another: the findable one can take its place.

use super::Sequences;
use super::error::{EndAfterError, Stale};
use super::handle::Handle;
use crate::error::{OutOfMemory, ReleaseAfterError};
use crate::pool::{Fence, Lane};

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
        let adopted = sequence.adopt_duplicates(|own| core.release(own.rev()));
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
        self.prepare_adopt_after(handle, lane)?;
        let (_, sequence) = self.registry.get_mut(handle)?;
        let mut adopted = 0;
        lane.push_filled(fence, |copies| {
            adopted = sequence.adopt_duplicates(|own| copies.ids.extend(own));
        });
        self.statistics.adopted += adopted as u64;
        Ok(adopted)
    }

    /// Room in the lane for the copies that are given back.
    pub(crate) fn prepare_adopt_after(
        &self,
        handle: Handle,
        lane: &mut Lane,
    ) -> Result<(), EndAfterError> {
        let (_, sequence) = self.registry.get(handle)?;
        lane.make_room(self.core())?;
        let lists = lane.next_lists();
        let room = lists.map_or(Ok(()), |lists| {
            lists.ids.try_reserve(sequence.chain.duplicates())
        });
        Ok(room.map_err(|_| ReleaseAfterError::from(OutOfMemory))?)
    }
}
