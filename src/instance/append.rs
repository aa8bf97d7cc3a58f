//! Growth over all shards: a sequence gets its positions on each of them or on none.

use alloc::vec::Vec;

use super::{Instance, PerShard};
use crate::error::OutOfMemory;
use crate::sequence::{AppendError, Failure, Handle, Need, Step, Until};

/// What the engine has to know and do on each shard before it runs a step. Kept by the caller, so that its lists are made once.
#[derive(Clone, Debug, Default)]
pub struct InstanceStep {
    shards: Vec<Step>,
}

impl InstanceStep {
    /// Empty lists.
    #[must_use]
    pub const fn new() -> Self {
        Self { shards: Vec::new() }
    }

    /// For each shard its slots, copies, fresh blocks and changes; one in lockstep. Empty before the first use.
    #[must_use]
    pub fn shards(&self) -> &[Step] {
        &self.shards
    }

    /// Who got nothing, on any shard, and why.
    #[must_use]
    pub fn failures(&self) -> &[Failure] {
        self.shards.first().map_or(&[], Step::failures)
    }

    /// Empty, with lists for so many shards.
    pub(super) fn begin(&mut self, shards: usize) -> Result<(), OutOfMemory> {
        let missing = shards.saturating_sub(self.shards.len());
        self.shards.try_reserve(missing).map_err(|_| OutOfMemory)?;
        self.shards.resize_with(shards, Step::new);
        self.shards.iter_mut().for_each(Step::clear);
        Ok(())
    }

    pub(super) fn shard(&mut self, at: usize) -> &mut Step {
        &mut self.shards[at]
    }
}

impl Instance {
    /// Appends `n` positions to each sequence of a batch on every shard, in this order, and tells in `out` (which is cleared first) what
    /// is to be done on each. Who can't have its positions on one shard gets them on none, and does not touch the others.
    ///
    /// As [`Sequences::step`](crate::Sequences::step) on each shard. If there is no memory for the lists of `out`, they are not there, and
    /// nobody got anything.
    pub fn step(&mut self, batch: &[(Handle, usize)], out: &mut InstanceStep) {
        if out.begin(self.shards.len()).is_err() {
            out.shards.clear();
            return;
        }
        if let ([only], [step]) = (&mut *self.shards, &mut *out.shards) {
            return only.step(batch, step);
        }
        for step in &mut out.shards {
            step.make_room(batch.len());
        }
        for (index, &(handle, n)) in batch.iter().enumerate() {
            if !self.append_within(handle, n, out) {
                if let Err(error) = self.extend(index, handle, Until::Append(n), out) {
                    out.shards[0].fail(index, error);
                }
            }
        }
    }

    /// Appends `n` positions to one sequence. As [`step`](Self::step) with a batch of one.
    ///
    /// # Errors
    /// [`AppendError`]; a refusal names the shard. Nothing is changed on any, and `out` is empty.
    pub fn append(
        &mut self,
        handle: Handle,
        n: usize,
        out: &mut InstanceStep,
    ) -> Result<(), AppendError> {
        out.begin(self.shards.len())?;
        if self.append_within(handle, n, out) {
            return Ok(());
        }
        self.extend(0, handle, Until::Append(n), out)
    }

    /// Makes the tables long enough for `positions` in all, without appending. As [`Sequences::ensure`](crate::Sequences::ensure).
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn ensure(
        &mut self,
        handle: Handle,
        positions: usize,
        out: &mut InstanceStep,
    ) -> Result<(), AppendError> {
        out.begin(self.shards.len())?;
        self.extend(0, handle, Until::Cover(positions), out)
    }

    /// How many blocks [`append`](Self::append) would take at this instant on the shard that needs the most. Changes nothing.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn check_append(&self, handle: Handle, n: usize) -> Result<usize, AppendError> {
        let needs = self.plan(handle, Until::Append(n))?;
        self.check_needs(&needs).map_err(|(_, error)| error)?;
        Ok(needs.iter().map(Need::blocks).max().unwrap_or(0) as usize)
    }

    /// Appends inside the block at hand, if it has room on every shard.
    #[inline]
    fn append_within(&mut self, handle: Handle, n: usize, out: &mut InstanceStep) -> bool {
        let mut pairs = self.shards.iter_mut().zip(&out.shards);
        if !pairs.all(|(it, step)| it.has_room(handle, n, step)) {
            return false;
        }
        for (it, step) in self.shards.iter_mut().zip(&mut out.shards) {
            it.append_in_block(handle, n, step);
        }
        true
    }

    fn extend(
        &mut self,
        index: usize,
        handle: Handle,
        until: Until,
        out: &mut InstanceStep,
    ) -> Result<(), AppendError> {
        self.grow_table(index, handle, until, out)
            .map_err(|(at, error)| {
                self.shards[at].count_refused_append(error);
                error
            })
    }

    fn plan(&self, handle: Handle, until: Until) -> Result<PerShard<Need>, AppendError> {
        self.look(|_, it| it.plan_append(handle, until))
    }

    /// The place of the first shard that has no blocks for it, and its answer.
    fn check_needs(&self, needs: &[Need]) -> Result<(), (usize, AppendError)> {
        for (at, (it, need)) in self.shards.iter().zip(needs).enumerate() {
            let checked = it.check_need(need);
            checked.map_err(|refused| (at, refused.into()))?;
        }
        Ok(())
    }

    fn grow_table(
        &mut self,
        index: usize,
        handle: Handle,
        until: Until,
        out: &mut InstanceStep,
    ) -> Result<(), (usize, AppendError)> {
        let mut needs = PerShard::new();
        for (at, it) in self.shards.iter().enumerate() {
            let need = it.plan_append(handle, until);
            needs.push(need.map_err(|error| (at, error))?);
        }
        self.check_needs(&needs)?;
        let failed = |at| move |error| (at, error);
        self.on_all(
            |at, it| {
                it.prepare_append(handle, &needs[at], out.shard(at))
                    .map_err(failed(at))
            },
            |at, it, ()| it.forget_append(&needs[at]),
        )?;
        let paid = self.on_all(
            |at, it| it.pay_append(handle, &needs[at]).map_err(failed(at)),
            |_, it, paid| it.give_back_append(handle, &paid),
        );
        let paid = match paid {
            Ok(paid) => paid,
            Err(refused) => {
                for (it, need) in self.shards.iter_mut().zip(&needs) {
                    it.forget_append(need);
                }
                return Err(refused);
            }
        };
        for (at, it) in self.shards.iter_mut().enumerate() {
            it.finish_append(handle, &needs[at], (index, &paid[at]), out.shard(at));
        }
        Ok(())
    }
}
