//! The end of a sequence, or of its time in this registry.

use super::Sequences;
use super::error::{AttachError, CopyPending, DetachError, EndAfterError, Stale};
use super::handle::Handle;
use super::sequence::{Cursor, Sequence};
use crate::error::{ReleaseAfterError, Returned, WrongPool};
use crate::pool::{BlockPool, Core, Fence, Lane};

impl Sequences {
    /// Ends a sequence: what is sealed is published, what has arrived for it too; its published blocks become idle, the others
    /// free, unless others hold them, and what is left of its promise is available again. The handle names nothing from now on.
    ///
    /// # Errors
    /// [`Stale`].
    ///
    /// One read-modify-write a block. No allocation.
    pub fn release(&mut self, handle: Handle) -> Result<(), Stale> {
        let arrived = self.notice(handle)?.arrived;
        self.end(handle, arrived);
        Ok(())
    }

    /// Ends a sequence of which no more than `arrived` positions have come from elsewhere.
    pub(crate) fn end(&mut self, handle: Handle, arrived: usize) {
        if let Ok(slot) = self.registry.find(handle) {
            self.finish(slot, arrived, Sequence::release);
        }
    }

    /// Ends a sequence whose blocks a device or a peer may still touch: they are given back, as by [`release`](Self::release), when a
    /// fence has passed. What is left of its promise is available at once, and the handle names nothing from now on.
    ///
    /// # Errors
    /// [`EndAfterError`]: no such sequence, a lane of another pool, or no memory for its list. Nothing is changed.
    ///
    /// A few read-modify-writes a block. No allocation in steady state.
    pub fn release_after(
        &mut self,
        handle: Handle,
        lane: &mut Lane,
        fence: Fence,
    ) -> Result<(), EndAfterError> {
        let arrived = self.notice(handle)?.arrived;
        lane.make_room(&self.pool.core)?;
        self.end_after(handle, arrived, lane, fence);
        Ok(())
    }

    /// Ends a sequence of which no more than `arrived` positions have come from elsewhere, after a fence; the lane has room.
    pub(crate) fn end_after(
        &mut self,
        handle: Handle,
        arrived: usize,
        lane: &mut Lane,
        fence: Fence,
    ) {
        if let Ok(slot) = self.registry.find(handle) {
            self.finish(slot, arrived, |sequence, core| {
                sequence.release_after(core, lane, fence);
            });
        }
    }

    /// Publishes what has arrived and what waited while others referred to it, gives back what the sequence of a slot holds, and makes
    /// the slot vacant.
    fn finish(
        &mut self,
        slot: usize,
        arrived: usize,
        give_back: impl FnOnce(&mut Sequence, &Core),
    ) {
        self.accept(slot, arrived);
        let core = &*self.pool.core;
        let sequence = self.registry.at(slot);
        let ended = sequence
            .seal
            .publish(core, &mut self.worker, &mut sequence.chain);
        self.statistics.unpublished += u64::from(ended);
        give_back(sequence, core);
        self.registry.leave(slot);
    }

    /// Ends a sequence that will come back: what was published of it stays findable as long as nobody needs the memory. Admit it anew
    /// with [`returning`](crate::Admit::returning) and all its tokens.
    ///
    /// # Errors
    /// [`Stale`].
    ///
    /// As [`release`](Self::release).
    pub fn preempt(&mut self, handle: Handle) -> Result<(), Stale> {
        self.release(handle)?;
        self.count_preemption();
        Ok(())
    }

    /// Ends a sequence that will come back, and whose blocks a device or a peer may still touch: [`preempt`](Self::preempt) when a fence
    /// has passed.
    ///
    /// # Errors
    /// As [`release_after`](Self::release_after).
    pub fn preempt_after(
        &mut self,
        handle: Handle,
        lane: &mut Lane,
        fence: Fence,
    ) -> Result<(), EndAfterError> {
        self.release_after(handle, lane, fence)?;
        self.count_preemption();
        Ok(())
    }

    pub(crate) const fn count_preemption(&mut self) {
        self.statistics.preemptions += 1;
    }

    /// Ends every sequence, and the registry, when a fence has passed: for engines that close while a device is at work. Copies that have
    /// not been reported as made wait for the fence too; blocks that writers fill wait for these as long as somebody has a handle of
    /// their [`Import`](crate::Import).
    ///
    /// # Errors
    /// The registry comes back as it was: the lane is another pool's, or there is no memory for its list.
    ///
    /// As [`release_after`](Self::release_after) for each sequence.
    #[expect(
        clippy::result_large_err,
        reason = "the error is the registry itself; boxing it would allocate"
    )]
    pub fn close_after(
        mut self,
        lane: &mut Lane,
        fence: Fence,
    ) -> Result<(), Returned<Self, ReleaseAfterError>> {
        if let Err(error) = self.prepare_close(lane) {
            return Err(Returned { error, value: self });
        }
        self.close_tickets(lane, fence);
        for slot in 0..self.max_sequences() {
            if self.registry.in_slot(slot).is_some() {
                let arrived = self.notice_in(slot).arrived;
                self.finish(slot, arrived, |sequence, core| {
                    sequence.release_after(core, lane, fence);
                });
            }
        }
        Ok(())
    }

    /// Room in a lane for all that there is.
    pub(crate) fn prepare_close(&self, lane: &mut Lane) -> Result<(), ReleaseAfterError> {
        let releases = self.len() + self.tickets.len();
        lane.make_room_for(&self.pool.core, releases)
    }

    /// What pending copies hold waits for a fence; the lane has room.
    pub(crate) fn close_tickets(&mut self, lane: &mut Lane, fence: Fence) {
        self.tickets.release_after(lane, fence);
    }

    /// Takes a sequence out of this registry with all that it holds, to be [attached](Self::attach) to another one of the same pool, on
    /// another thread if need be. The handle names nothing from now on.
    ///
    /// # Errors
    /// [`DetachError::CopyPending`]: a copy into one of its blocks has not been reported to [`copied`](Self::copied).
    /// [`DetachError::Stale`].
    ///
    /// A look at each block while copies are pending. Allocates nothing.
    pub fn detach(&mut self, handle: Handle) -> Result<Detached, DetachError> {
        self.check_detach(handle)?;
        let slot = self.registry.find(handle)?;
        let (cursor, sequence) = self.registry.get_mut(handle)?;
        let vacant = Sequence::vacant(&self.pool.core);
        let label = sequence.label;
        let detached = Detached {
            pool: self.pool.clone(),
            cursor: *cursor,
            sequence: core::mem::replace(sequence, vacant),
        };
        sequence.label = label;
        self.registry.leave(slot);
        Ok(detached)
    }

    pub(crate) fn check_detach(&self, handle: Handle) -> Result<(), DetachError> {
        let (_, sequence) = self.registry.get(handle)?;
        if self.tickets.copies_into_any(&sequence.chain.ids) {
            return Err(CopyPending.into());
        }
        Ok(sequence.check_settled(self.pool.core.block_size)?)
    }

    /// Takes a detached sequence in and names it. No budget is asked: it holds what it held. Its whole table is
    /// [`dirty`](Self::dirty) here.
    ///
    /// # Errors
    /// [`AttachError::WrongPool`], [`AttachError::TooManySequences`]; the sequence comes back.
    ///
    /// A few moves, whatever its length. Allocates nothing.
    #[expect(
        clippy::result_large_err,
        reason = "the error is the sequence itself; boxing it would allocate"
    )]
    pub fn attach(
        &mut self,
        detached: Detached,
    ) -> Result<Handle, Returned<Detached, AttachError>> {
        match self.check_attach(&detached) {
            Ok(()) => Ok(self.take_in(detached, None)),
            Err(error) => Err(Returned {
                error,
                value: detached,
            }),
        }
    }

    pub(crate) fn check_attach(&self, detached: &Detached) -> Result<(), AttachError> {
        if !core::ptr::eq(&*self.pool.core, &*detached.pool.core) {
            return Err(AttachError::WrongPool(WrongPool));
        }
        Ok(self.registry.check_room(1)?)
    }

    /// Takes a detached sequence of this pool in, for which there is a slot; under a new name or the one another shard's registry gave.
    pub(crate) fn take_in(&mut self, mut detached: Detached, name: Option<Handle>) -> Handle {
        core::mem::swap(self.registry.vacant(0), &mut detached.sequence);
        self.registry.vacant(0).changed_from = 0;
        let handle = self.registry.enter(&self.pool.core, 0, name);
        if let Some(cursor) = self.registry.cursor(handle) {
            *cursor = detached.cursor.renamed(handle);
        }
        handle
    }
}

/// A sequence between two registries. It holds what it held; dropping it ends it.
#[derive(Debug)]
#[must_use = "dropping a detached sequence ends it"]
pub struct Detached {
    pub(super) pool: BlockPool,
    cursor: Cursor,
    pub(super) sequence: Sequence,
}

impl Detached {
    /// Ends it when a fence has passed, as [`Sequences::release_after`].
    ///
    /// # Errors
    /// It comes back: the lane is another pool's, or there is no memory for its list.
    ///
    /// A few read-modify-writes a block. No allocation in steady state.
    #[expect(
        clippy::result_large_err,
        reason = "the error is the sequence itself; boxing it would allocate"
    )]
    pub fn release_after(
        mut self,
        lane: &mut Lane,
        fence: Fence,
    ) -> Result<(), Returned<Self, ReleaseAfterError>> {
        if let Err(error) = self.prepare_release_after(lane) {
            return Err(Returned { error, value: self });
        }
        self.end_after(lane, fence);
        Ok(())
    }

    /// Room in a lane of its pool.
    pub(crate) fn prepare_release_after(&self, lane: &mut Lane) -> Result<(), ReleaseAfterError> {
        lane.make_room(&self.pool.core)
    }

    /// Gives everything back after a fence; the lane has room.
    pub(crate) fn end_after(&mut self, lane: &mut Lane, fence: Fence) {
        self.sequence.release_after(&self.pool.core, lane, fence);
    }
}

impl Drop for Detached {
    fn drop(&mut self) {
        self.sequence.release(&self.pool.core);
    }
}
