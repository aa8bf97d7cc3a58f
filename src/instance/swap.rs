//! A sequence goes to another tier and comes back, on all shards: each shard's blocks are copied by themselves, and it goes on here or
//! there as a whole.

use alloc::vec::Vec;
use core::fmt;

use super::Instance;
use super::export::InstanceExport;
use super::import::InstanceIncoming;
use crate::block::BlockId;
use crate::error::{OutOfMemory, WrongPool};
use crate::lease::{Lease, Leases, Owner};
use crate::pool::Fence;
use crate::sequence::{
    Admit, Copies, ExportError, Handle, Stale, SwapAbortError, SwapCopyError, SwapError,
    SwapFinishError, SwapStage, Terms, check_content, check_copied, check_pool, source_is_gone,
};
use crate::sequence::{ImportError, NoSuchShard};
use crate::transfer::{Export, Import, NotOpen};

/// A sequence of an instance on its way to another tier. As [`Swap`](crate::Swap), with what is copied on each shard.
///
/// The shards' copies are launched and done one by one; the sequence goes on at the destination when all of them are. In lockstep there is
/// one for all ranks: its fence has passed when it has on each of them. Dropping it calls it off.
#[must_use = "dropping a swap calls it off"]
pub struct InstanceSwap {
    source: Handle,
    handle: Handle,
    hit: usize,
    export: InstanceExport,
    shards: Vec<Copies>,
    stage: SwapStage,
}

impl Instance {
    /// Begins to swap a sequence to another tier with as many shards, on every shard or on none. `leases` has a table for each shard. As
    /// [`Sequences::swap_to`](crate::Sequences::swap_to).
    ///
    /// # Errors
    /// [`SwapError`]; nothing is changed on any shard of either side, but a refusal is counted at the destination, and what had arrived
    /// for the sequence counts.
    pub fn swap_to(
        &mut self,
        source: Handle,
        to: &mut Self,
        request: &Admit<'_>,
        leases: &mut [Leases],
        owner: Owner,
    ) -> Result<InstanceSwap, SwapError> {
        self.loading(source).map_err(ExportError::from)?;
        let state = self.state(source).map_err(ExportError::from)?;
        let request = request.swapping(state.positions, state.computed)?;
        let (namespace, terms) = (request.prompt.namespace, Terms::swapping(owner));
        // What the source says comes first: nobody is refused for what can't leave.
        self.look(|_, it| it.plan_export(source, namespace, &terms))?;
        let other = self.first_other(source, &request.prompt);
        check_content(other.map_err(ExportError::from)?)?;
        let checked = to.check(&request);
        checked.map_err(|error| {
            to.count_refused(&error);
            SwapError::Destination(error.into())
        })?;
        let (export, plans) = self.offer(source, namespace, leases, &terms)?;
        let begun = rooms(&export).and_then(|rooms| {
            let incoming = InstanceIncoming::from_export(&export, 1);
            Ok((rooms, to.import(&request, &incoming)?))
        });
        let ((rooms, mut shards), imported) =
            begun.inspect_err(|_| self.take_back(source, &plans, export.shards()))?;
        self.make_offer_known(source);
        let found = imported.hit / to.block_size();
        let ends = export.shards().iter().zip(imported.imports);
        for (pairs, (export, import)) in rooms.into_iter().zip(ends) {
            shards.push(Copies::new(pairs, export, import, found));
        }
        Ok(InstanceSwap {
            source,
            handle: imported.handle,
            hit: imported.hit,
            export,
            shards,
            stage: SwapStage::Open,
        })
    }
}

type Rooms = (Vec<Vec<(BlockId, BlockId)>>, Vec<Copies>);

/// Memory for what is copied on each shard.
fn rooms(export: &InstanceExport) -> Result<Rooms, ImportError> {
    let shards = export.shards();
    let (mut rooms, mut copies) = (Vec::new(), Vec::new());
    let enough = rooms.try_reserve_exact(shards.len());
    enough.map_err(|_| OutOfMemory)?;
    let enough = copies.try_reserve_exact(shards.len());
    enough.map_err(|_| OutOfMemory)?;
    for export in shards {
        rooms.push(Copies::room(export.ids().len())?);
    }
    Ok((rooms, copies))
}

impl InstanceSwap {
    /// Its name where it was.
    #[must_use]
    pub const fn source(&self) -> Handle {
        self.source
    }

    /// Its name where it goes.
    #[must_use]
    pub const fn handle(&self) -> Handle {
        self.handle
    }

    /// Positions that were found there on every shard, and are not copied.
    #[must_use]
    pub const fn hit(&self) -> usize {
        self.hit
    }

    /// The blocks that are to be copied on a shard, as [`Swap::pairs`](crate::Swap::pairs). None where there is no such shard.
    #[must_use]
    pub fn pairs(&self, shard: usize) -> &[(BlockId, BlockId)] {
        match (self.stage, self.shards.get(shard)) {
            (SwapStage::Open, Some(copies)) => copies.pairs(),
            _ => &[],
        }
    }

    /// What holds each shard's blocks at the source until its copy has passed.
    pub fn leases(&self) -> impl Iterator<Item = &Lease> + Clone {
        self.export.shards().iter().map(Export::lease)
    }

    /// What holds each shard's blocks at the destination until its copy has passed.
    pub fn imports(&self) -> impl Iterator<Item = &Import> + Clone {
        self.shards.iter().map(Copies::import)
    }

    /// The copy on a shard, or a part of it, is launched, as [`Swap::copying`](crate::Swap::copying): a fence of that shard's timeline.
    ///
    /// # Errors
    /// [`SwapCopyError`].
    pub fn copying(&mut self, shard: usize, fence: Fence) -> Result<(), SwapCopyError> {
        self.stage.check_open()?;
        let shards = self.shards.len();
        let copies = self.shards.get_mut(shard);
        Ok(copies
            .ok_or(NoSuchShard { shard, shards })?
            .copying(fence)?)
    }

    /// The timeline of a shard's copies has come so far. Returns whether nothing touches the blocks of any shard any more. As
    /// [`Swap::complete`](crate::Swap::complete).
    pub fn complete(&mut self, shard: usize, completed: Fence) -> bool {
        let wanted = self.stage == SwapStage::Open;
        if let Some(copies) = self.shards.get_mut(shard) {
            copies.complete(completed, wanted);
        }
        self.shards.iter().all(Copies::is_complete)
    }

    /// Ends a swap whose copies have passed on every shard. As [`Swap::finish`](crate::Swap::finish).
    ///
    /// # Errors
    /// [`SwapFinishError`]; nothing is changed on any shard, but what has been copied counts at the destination.
    pub fn finish(
        &mut self,
        from: &mut Instance,
        to: &mut Instance,
    ) -> Result<Handle, SwapFinishError> {
        self.stage.check_open()?;
        self.check_source(from)?;
        self.check_destination(to)?;
        self.shards.iter().try_for_each(check_copied)?;
        if from.state(self.source).is_err() {
            return Err(source_is_gone(self.export.phase()));
        }
        to.state(self.handle)?;
        to.commit(self.handle)?;
        for (it, copies) in to.shards.iter_mut().zip(&self.shards) {
            it.count_swap_in(copies);
        }
        for it in &mut from.shards {
            it.end_swap_out(self.source);
        }
        self.stage = SwapStage::Finished;
        Ok(self.handle)
    }

    /// Calls it off on every shard. As [`Swap::abort`](crate::Swap::abort).
    ///
    /// # Errors
    /// [`SwapAbortError`]; nothing is changed on any shard.
    pub fn abort(&mut self, to: &mut Instance) -> Result<(), SwapAbortError> {
        self.stage.check_open()?;
        self.check_destination(to)?;
        if to.state(self.handle).is_err() && self.imports().all(Import::is_wanted) {
            return Err(Stale.into());
        }
        self.call_off()?;
        // It may have been released already.
        let _ = to.release(self.handle);
        self.stage = SwapStage::Aborted;
        Ok(())
    }

    /// The source goes on, unless the destination has it, and what has not been launched will not be.
    fn call_off(&mut self) -> Result<(), NotOpen> {
        // It may have been called off already: then it is on every shard by this.
        if let Err(error @ NotOpen::Committed) = self.export.abort() {
            return Err(error);
        }
        self.shards.iter_mut().for_each(Copies::call_off);
        Ok(())
    }

    fn check_source(&self, from: &Instance) -> Result<(), WrongPool> {
        let own = self.export.shards().iter().map(|it| it.lease().core());
        check_shards(from, own)
    }

    fn check_destination(&self, to: &Instance) -> Result<(), WrongPool> {
        check_shards(to, self.shards.iter().map(Copies::core))
    }
}

/// Whether the shards of an instance are these.
fn check_shards<'a>(
    given: &Instance,
    own: impl ExactSizeIterator<Item = &'a crate::pool::Core>,
) -> Result<(), WrongPool> {
    if given.shards.len() != own.len() {
        return Err(WrongPool);
    }
    let mut both = given.shards.iter().zip(own);
    both.try_for_each(|(it, own)| check_pool(it.core(), own))
}

impl Drop for InstanceSwap {
    fn drop(&mut self) {
        if self.stage == SwapStage::Open {
            // The destination may have it.
            let _ = self.call_off();
        }
    }
}

impl fmt::Debug for InstanceSwap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstanceSwap")
            .field("source", &self.source)
            .field("handle", &self.handle)
            .field("hit", &self.hit)
            .field("shards", &self.shards)
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}
