//! Growth over all shards: a sequence gets its positions on each of them or on none.

use smallvec::SmallVec;

use super::{Instance, PerShard};
use crate::error::OutOfMemory;
use crate::sequence::{AppendError, Failure, Handle, MayRefuse, Need, Step, Until};

/// What the engine has to know and do on each shard before it runs a step. Kept by the caller, so that its lists are made once.
#[derive(Clone, Debug, Default)]
pub struct InstanceStep {
    /// The first one needs no memory: it tells who got nothing if there is none for the others.
    shards: SmallVec<[Step; 1]>,
}

impl InstanceStep {
    /// Empty lists.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lists with [room](Self::make_room).
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn with_room(
        shards: usize,
        sequences: usize,
        positions: usize,
        block_size: usize,
    ) -> Result<Self, OutOfMemory> {
        let mut step = Self::new();
        step.make_room(shards, sequences, positions, block_size)?;
        Ok(step)
    }

    /// Empties the lists, and makes room for so many [`shards`](Instance::shards) as [`Step::make_room`] does for one.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn make_room(
        &mut self,
        shards: usize,
        sequences: usize,
        positions: usize,
        block_size: usize,
    ) -> Result<(), OutOfMemory> {
        self.begin(shards)?;
        let mut steps = self.shards.iter_mut();
        steps.try_for_each(|step| step.make_room(sequences, positions, block_size))
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
        self.shards.iter_mut().for_each(Step::clear);
        if self.shards.is_empty() {
            self.shards.push(Step::new());
        }
        let missing = shards.saturating_sub(self.shards.len());
        self.shards.try_reserve(missing).map_err(|_| OutOfMemory)?;
        self.shards.resize_with(shards, Step::new);
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
    /// As [`Sequences::step`](crate::Sequences::step) on each shard; [`InstanceStep::make_room`] beforehand tells that there is no
    /// memory for lists.
    pub fn step(&mut self, batch: &[(Handle, usize)], out: &mut InstanceStep) {
        if let Err(none) = out.begin(self.shards.len()) {
            for index in 0..batch.len() {
                out.shards[0].fail(index, none.into());
            }
            return;
        }
        if let ([only], [step]) = (&mut *self.shards, &mut *out.shards) {
            return only.step(batch, step);
        }
        for step in &mut out.shards {
            step.expect_batch(batch.len());
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
        let grown = self.grow_table(index, handle, until, out);
        if let Err(error) = grown {
            let mut shards = self.shards.iter_mut();
            if let Some(it) = shards.find(|it| error.is_of(it.pool().shard())) {
                it.count_refused_append(error);
            }
        }
        grown
    }

    /// What it takes on each shard, if that can be had at this instant.
    fn plan(&self, handle: Handle, until: Until) -> Result<PerShard<Need>, AppendError> {
        let needs = self.look(|_, it| it.plan_append(handle, until))?;
        self.look(|at, it| it.check_need(&needs[at]))?;
        Ok(needs)
    }

    fn grow_table(
        &mut self,
        index: usize,
        handle: Handle,
        until: Until,
        out: &mut InstanceStep,
    ) -> Result<(), AppendError> {
        let needs = self.plan(handle, until)?;
        self.on_all(
            |at, it| it.prepare_append(handle, &needs[at], out.shard(at)),
            |at, it, ()| it.forget_append(&needs[at]),
        )?;
        let paid = self.on_all(
            |at, it| it.pay_append(handle, &needs[at]),
            |_, it, paid| it.give_back_append(handle, &paid),
        );
        let paid = paid.inspect_err(|_| {
            for (it, need) in self.shards.iter_mut().zip(&needs) {
                it.forget_append(need);
            }
        })?;
        for (at, it) in self.shards.iter_mut().enumerate() {
            it.finish_append(handle, &needs[at], (index, &paid[at]), out.shard(at));
        }
        Ok(())
    }
}
