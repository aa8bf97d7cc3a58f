//! Shortening, branching and duplicates over all shards.

use super::Instance;
use crate::error::ReleaseAfterError;
use crate::pool::{Fence, Lane};
use crate::sequence::{
    BranchError, Cutback, EndAfterError, Handle, Stale, TruncateAfterError, TruncateError,
};

impl Instance {
    /// Keeps the first `positions` positions on every shard. As [`Sequences::truncate`](crate::Sequences::truncate).
    ///
    /// # Errors
    /// [`TruncateError`]; a refusal names the shard. Nothing is changed on any.
    pub fn truncate(&mut self, handle: Handle, positions: usize) -> Result<(), TruncateError> {
        let plans = self.look(|_, it| it.plan_truncate(handle, positions, false))?;
        self.pay_truncation(handle, &plans)?;
        for (it, plan) in self.shards.iter_mut().zip(&plans) {
            it.finish_truncate(handle, plan);
        }
        self.know_alike(handle);
        Ok(())
    }

    /// The same, where a device or a peer may still touch the blocks behind: `lanes` has one for each shard, and each shard's blocks are
    /// given back when its lane has passed the fence. As [`Sequences::truncate_after`](crate::Sequences::truncate_after).
    ///
    /// # Errors
    /// [`TruncateAfterError`]; nothing is changed on any shard.
    pub fn truncate_after(
        &mut self,
        handle: Handle,
        positions: usize,
        lanes: &mut [Lane],
        fence: Fence,
    ) -> Result<(), TruncateAfterError> {
        let one_each = lanes.len() == self.shards.len();
        let plans = self.look(|at, it| {
            let lane = lanes.get(at);
            let later = lane.map_or(Ok(false), |lane| it.waits(handle, positions, lane, fence));
            it.plan_truncate(handle, positions, later?)
        })?;
        if !one_each {
            return Err(ReleaseAfterError::WrongPool.into());
        }
        for ((it, plan), lane) in self.shards.iter().zip(&plans).zip(lanes.iter_mut()) {
            it.prepare_truncate_after(handle, plan, lane)?;
        }
        self.pay_truncation(handle, &plans)?;
        let held = self.on_all(
            |at, it| it.hold_truncated(handle, &plans[at]),
            |at, it, ()| it.unhold_truncated(handle, &plans[at]),
        );
        if let Err(error) = held {
            for (it, plan) in self.shards.iter().zip(&plans) {
                it.give_back_truncate(handle, plan);
            }
            return Err(error);
        }
        for ((it, plan), lane) in self.shards.iter_mut().zip(&plans).zip(lanes) {
            it.finish_truncate_after(handle, plan, lane, fence);
        }
        self.know_alike(handle);
        Ok(())
    }

    /// Sets aside what a truncation charges on each shard.
    fn pay_truncation(&mut self, handle: Handle, plans: &[Cutback]) -> Result<(), TruncateError> {
        self.look(|at, it| it.check_truncate(handle, &plans[at]))
            .and_then(|_| {
                self.on_all(
                    |at, it| it.pay_truncate(handle, &plans[at]),
                    |at, it, ()| it.give_back_truncate(handle, &plans[at]),
                )
            })
            .inspect_err(|error| self.count_refused(error))?;
        Ok(())
    }

    /// Makes a branch for each place in `children` on every shard, and puts its handle there: all of them or none. As
    /// [`Sequences::fork`](crate::Sequences::fork).
    ///
    /// # Errors
    /// [`BranchError`]; a refusal names the shard. Nothing is changed on any.
    pub fn fork(&mut self, parent: Handle, children: &mut [Handle]) -> Result<(), BranchError> {
        let plans = self.look(|_, it| it.plan_fork(parent, children.len()))?;
        self.look(|at, it| it.check_fork(&plans[at]))
            .and_then(|_| {
                self.on_all(
                    |at, it| it.begin_fork(parent, &plans[at]),
                    |at, it, ()| it.give_up_fork(parent, &plans[at]),
                )
            })
            .inspect_err(|error| self.count_refused(error))?;
        for (at, (it, plan)) in self.shards.iter_mut().zip(&plans).enumerate() {
            it.finish_fork(parent, plan, children, at == 0);
        }
        Ok(())
    }

    /// Puts the findable block of each duplicate into the tables and gives the sequence's own copies back. Returns how many, over all
    /// shards. As [`Sequences::adopt_duplicates`](crate::Sequences::adopt_duplicates).
    ///
    /// # Errors
    /// [`Stale`].
    pub fn adopt_duplicates(&mut self, handle: Handle) -> Result<usize, Stale> {
        let mut adopted = 0;
        for it in &mut self.shards {
            adopted += it.adopt_duplicates(handle)?;
        }
        Ok(adopted)
    }

    /// The same, where a device or a peer may still touch the sequence's own copies; `lanes` has one for each shard.
    ///
    /// # Errors
    /// [`EndAfterError`]; nothing is changed on any shard.
    pub fn adopt_duplicates_after(
        &mut self,
        handle: Handle,
        lanes: &mut [Lane],
        fence: Fence,
    ) -> Result<usize, EndAfterError> {
        self.first().state(handle)?;
        self.check_lanes(lanes)?;
        for (it, lane) in self.shards.iter().zip(lanes.iter_mut()) {
            it.prepare_adopt_after(handle, lane)?;
        }
        let mut adopted = 0;
        for (it, lane) in self.shards.iter_mut().zip(lanes) {
            adopted += it.adopt_duplicates_after(handle, lane, fence)?;
        }
        Ok(adopted)
    }
}
