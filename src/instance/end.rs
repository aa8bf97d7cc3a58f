//! The end of a sequence on all shards, now or after a fence, or of its time in this instance's registry.

use alloc::vec::Vec;

use super::Instance;
use crate::error::{OutOfMemory, ReleaseAfterError, Returned};
use crate::pool::{Fence, Lane};
use crate::sequence::{AttachError, DetachError, Detached, EndAfterError, Handle, Stale};

impl Instance {
    /// A lane for each shard, for the streams that run the instance's steps: one fence, the number of a step, is a point on each of them.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn lanes(&self) -> Result<Vec<Lane>, OutOfMemory> {
        let mut lanes = Vec::new();
        let enough = lanes.try_reserve_exact(self.shards.len());
        enough.map_err(|_| OutOfMemory)?;
        lanes.extend(self.shards.iter().map(|it| it.pool().lane()));
        Ok(lanes)
    }

    /// The same with room: [`Sequences::lane`](crate::Sequences::lane) of each shard.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn lanes_with_room(&self, releases: usize) -> Result<Vec<Lane>, OutOfMemory> {
        let mut lanes = Vec::new();
        let enough = lanes.try_reserve_exact(self.shards.len());
        enough.map_err(|_| OutOfMemory)?;
        for it in &self.shards {
            lanes.push(it.lane(releases)?);
        }
        Ok(lanes)
    }

    /// Ends a sequence on every shard. As [`Sequences::release`](crate::Sequences::release).
    ///
    /// # Errors
    /// [`Stale`].
    pub fn release(&mut self, handle: Handle) -> Result<(), Stale> {
        let arrived = self.notice(handle)?.arrived;
        for it in &mut self.shards {
            it.end(handle, arrived);
        }
        Ok(())
    }

    /// Ends a sequence whose blocks a device or a peer may still touch: each shard's are given back when its lane has passed the fence. As
    /// [`Sequences::release_after`](crate::Sequences::release_after).
    ///
    /// # Errors
    /// [`EndAfterError`]: no such sequence, not one lane for each shard in their order, or no memory for a list. Nothing is changed.
    pub fn release_after(
        &mut self,
        handle: Handle,
        lanes: &mut [Lane],
        fence: Fence,
    ) -> Result<(), EndAfterError> {
        let arrived = self.notice(handle)?.arrived;
        self.check_lanes(lanes)?;
        for (it, lane) in self.shards.iter().zip(lanes.iter_mut()) {
            lane.make_room(it.core())?;
        }
        for (it, lane) in self.shards.iter_mut().zip(lanes) {
            it.end_after(handle, arrived, lane, fence);
        }
        Ok(())
    }

    /// Ends a sequence that will come back. As [`Sequences::preempt`](crate::Sequences::preempt).
    ///
    /// # Errors
    /// [`Stale`].
    pub fn preempt(&mut self, handle: Handle) -> Result<(), Stale> {
        self.release(handle)?;
        self.count_preemption();
        Ok(())
    }

    /// Ends a sequence that will come back, when a fence has passed. As [`Sequences::preempt_after`](crate::Sequences::preempt_after).
    ///
    /// # Errors
    /// As [`release_after`](Self::release_after).
    pub fn preempt_after(
        &mut self,
        handle: Handle,
        lanes: &mut [Lane],
        fence: Fence,
    ) -> Result<(), EndAfterError> {
        self.release_after(handle, lanes, fence)?;
        self.count_preemption();
        Ok(())
    }

    fn count_preemption(&mut self) {
        for it in &mut self.shards {
            it.count_preemption();
        }
    }

    /// Ends every sequence, and the instance, when a fence has passed. As [`Sequences::close_after`](crate::Sequences::close_after).
    ///
    /// # Errors
    /// The instance comes back as it was: not one lane for each shard in their order, or no memory for a list.
    pub fn close_after(
        mut self,
        lanes: &mut [Lane],
        fence: Fence,
    ) -> Result<(), Returned<Self, ReleaseAfterError>> {
        let mut ready = self.check_lanes(lanes);
        for (it, lane) in self.shards.iter().zip(lanes.iter_mut()) {
            ready = ready.and_then(|()| it.prepare_close(lane));
        }
        if let Err(error) = ready {
            return Err(Returned { error, value: self });
        }
        for (it, lane) in self.shards.iter_mut().zip(lanes.iter_mut()) {
            it.close_tickets(lane, fence);
        }
        for slot in 0..self.max_sequences() {
            let Some(handle) = self.first().in_slot(slot) else {
                continue;
            };
            let arrived = self.notice(handle).map_or(0, |state| state.arrived);
            for (it, lane) in self.shards.iter_mut().zip(lanes.iter_mut()) {
                it.end_after(handle, arrived, lane, fence);
            }
        }
        Ok(())
    }

    /// One for each shard, in their order.
    pub(crate) fn check_lanes(&self, lanes: &[Lane]) -> Result<(), ReleaseAfterError> {
        if lanes.len() != self.shards.len() {
            return Err(ReleaseAfterError::WrongPool);
        }
        for (it, lane) in self.shards.iter().zip(lanes) {
            lane.check_pool(it.core())?;
        }
        Ok(())
    }

    /// Takes a sequence out of this instance's registries with all that it holds on every shard, to be [attached](Self::attach) to others
    /// over the same shards. As [`Sequences::detach`](crate::Sequences::detach).
    ///
    /// # Errors
    /// [`DetachError`]; nothing is changed.
    pub fn detach(&mut self, handle: Handle) -> Result<DetachedInstance, DetachError> {
        self.look(|_, it| it.check_detach(handle))?;
        let mut shards = Vec::new();
        let enough = shards.try_reserve_exact(self.shards.len());
        enough.map_err(|_| OutOfMemory)?;
        for it in &mut self.shards {
            shards.push(it.detach(handle)?);
        }
        Ok(DetachedInstance { shards })
    }

    /// Takes a detached sequence in on every shard and names it. As [`Sequences::attach`](crate::Sequences::attach).
    ///
    /// # Errors
    /// [`AttachError`]; the sequence comes back.
    pub fn attach(
        &mut self,
        detached: DetachedInstance,
    ) -> Result<Handle, Returned<DetachedInstance, AttachError>> {
        let mut fits = Ok(());
        if detached.shards.len() != self.shards.len() {
            fits = Err(AttachError::WrongPool(crate::error::WrongPool));
        }
        for (it, part) in self.shards.iter().zip(&detached.shards) {
            fits = fits.and_then(|()| it.check_attach(part));
        }
        if let Err(error) = fits {
            let value = detached;
            return Err(Returned { error, value });
        }
        let mut name = None;
        for (it, part) in self.shards.iter_mut().zip(detached.shards) {
            name = Some(it.take_in(part, name));
        }
        Ok(name.unwrap_or_default())
    }
}

/// A sequence between two instances' registries. It holds what it held on every shard; dropping it ends it.
#[derive(Debug)]
#[must_use = "dropping a detached sequence ends it"]
pub struct DetachedInstance {
    shards: Vec<Detached>,
}

impl DetachedInstance {
    /// Ends it on every shard when its lane has passed the fence. As [`Detached::release_after`].
    ///
    /// # Errors
    /// It comes back: not one lane for each shard in their order, or no memory for a list.
    pub fn release_after(
        mut self,
        lanes: &mut [Lane],
        fence: Fence,
    ) -> Result<(), Returned<Self, ReleaseAfterError>> {
        let mut ready = Ok(());
        if lanes.len() != self.shards.len() {
            ready = Err(ReleaseAfterError::WrongPool);
        }
        for (part, lane) in self.shards.iter().zip(lanes.iter_mut()) {
            ready = ready.and_then(|()| part.prepare_release_after(lane));
        }
        if let Err(error) = ready {
            return Err(Returned { error, value: self });
        }
        for (part, lane) in self.shards.iter_mut().zip(lanes) {
            part.end_after(lane, fence);
        }
        Ok(())
    }

    /// What it holds on each shard, for audits.
    pub fn shards(&self) -> &[Detached] {
        &self.shards
    }
}
