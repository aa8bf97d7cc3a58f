//! A sequence goes to another tier of memory, and comes back, instead of being computed again.
//!
//! A tier is another registry over another pool: blocks of host memory for instance. A swap is a [move](crate::Handover::Move) between
//! the two, with one writer, the copy: the source is read under a lease, the destination has all its blocks before anything is copied, and
//! either side owns the sequence at any time.
//!
//! ```text
//!             copying, complete          finish
//!   swap_to ─────────────────────▶ copied ──────▶ the destination has it, the source is released
//!      │                             │
//!      └──────────── abort ──────────┴──────────▶ the source goes on; the destination's blocks come back behind the copy
//! ```

mod copies;
mod error;

use core::fmt;

pub(crate) use self::copies::Copies;
pub use self::error::{
    AlreadyCopied, NoSuchShard, NotCopied, SwapAbortError, SwapCopyError, SwapError,
    SwapFinishError, SwapOver,
};

use super::admission::Admit;
use super::error::{CommitError, MoveAborted, Stale};
use super::export::Terms;
use super::handle::Handle;
use super::import::Incoming;
use super::{ExportError, Sequences};
use crate::block::BlockId;
use crate::error::WrongPool;
use crate::lease::{Lease, Leases, Owner};
use crate::pool::{Core, Fence};
use crate::transfer::{Export, Import, NotOpen, Phase};

/// A sequence on its way to another tier. [Finish](Self::finish) it when its copy's fence has passed, or [abort](Self::abort) it.
///
/// Dropping it calls it off: the source goes on. What was admitted at the destination is then the caller's to release, under its
/// [handle](Self::handle); and if the copy was under way, source and destination hold its blocks until somebody who has a clone of the
/// [import](Self::import) answers, or the registries go.
///
/// ```
/// use kvblock::{
///     Admit, BlockPool, Fence, Growth, Leases, Namespace, Owner, PoolConfig, Prompt, Sequences, SequencesConfig, ShardId,
/// };
///
/// let tier = |shard, blocks| {
///     let pool = BlockPool::new(&PoolConfig::new(blocks, 4).shard(ShardId::new(shard)))?;
///     Ok::<_, kvblock::CreateError>(Sequences::new(pool, &SequencesConfig::new(8))?)
/// };
/// let (mut device, mut host) = (tier(0, 4)?, tier(1, 16)?);
/// let (mut on_device, mut on_host) = (Leases::new(device.pool(), 8)?, Leases::new(host.pool(), 8)?);
/// let (space, tokens) = (Namespace::new(), [7; 10]);
/// let request = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand).label(3);
/// let sequence = device.admit(&request)?.handle;
/// device.computed(sequence, 10)?;
///
/// // Out: three blocks are to be copied, the last one partly filled. Whoever copies says when that is done.
/// let mut out = device.swap_to(sequence, &mut host, &request, &mut on_device, Owner::new(1))?;
/// assert_eq!(out.pairs().len(), 3);
/// out.copying(Fence(5))?;
/// assert!(!out.complete(Fence(4)) && out.finish(&mut device, &mut host).is_err());
/// assert!(out.complete(Fence(5)));
/// let waiting = out.finish(&mut device, &mut host)?;
/// // What it has published is still found where it was, as long as nobody needs the memory.
/// assert_eq!((device.pool().report().idle, device.pool().report().free), (2, 2));
///
/// // Back: only the last block has to come.
/// let mut back = host.swap_to(waiting, &mut device, &request, &mut on_host, Owner::new(1))?;
/// assert_eq!((back.hit(), back.pairs().len()), (8, 1));
/// back.copying(Fence(6))?;
/// back.complete(Fence(6));
/// let sequence = back.finish(&mut host, &mut device)?;
/// assert_eq!(device.state(sequence)?.computed, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropping a swap calls it off"]
pub struct Swap {
    source: Handle,
    handle: Handle,
    hit: usize,
    export: Export,
    copies: Copies,
    stage: SwapStage,
}

/// How far a swap is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SwapStage {
    Open,
    /// The source goes on, and the copy may be under way.
    Aborted,
    Finished,
}

impl SwapStage {
    pub(crate) fn check_open(self) -> Result<(), SwapOver> {
        if self == Self::Open {
            Ok(())
        } else {
            Err(SwapOver)
        }
    }
}

impl Sequences {
    /// Begins to swap a sequence to another tier: offers what is computed of it to be copied, and admits it there with all the blocks that
    /// it needs. `request` is the sequence as the destination is to have it: all its tokens at least, in its own namespace, and what it
    /// is promised there. On a host tier nothing grows, so [`Growth::OnDemand`](crate::Growth::OnDemand) is enough; the way back is an
    /// admission like any other, refused if the promise can't be had, and tokens that wait to be appended have their room if they are
    /// among those of the request. The tokens and extra keys of what is computed are compared with those that are known here, as others
    /// will find by them what is copied; of the rest the caller's word counts, as in [`tokens`](Self::tokens).
    ///
    /// Meanwhile it gets no positions on either side, nothing more of it is computed (a step under way comes first), and it keeps its
    /// handle, its promise and its label here. `owner` names the lease that
    /// holds what is read: one swap out of this pool at a time for each. No block is taken here, not even for a promised copy of the end:
    /// so a tier that has nothing left can still swap out. What is found at the destination is not copied. Of a branch that is swapped
    /// the shared blocks are copied too, and the others keep theirs.
    ///
    /// # Errors
    /// [`SwapError`]; nothing is changed on either side, but a [refusal](SwapError::refused) is counted at the destination, and what had
    /// arrived for the sequence counts. [`SwapError::Source`]: a copy into it is pending, or a transfer of it is under way.
    ///
    /// As [`export`](Self::export) and [`import`](Self::import), and a look at each token.
    pub fn swap_to(
        &mut self,
        source: Handle,
        to: &mut Self,
        request: &Admit<'_>,
        leases: &mut Leases,
        owner: Owner,
    ) -> Result<Swap, SwapError> {
        // What has come for it by now goes along.
        self.loading(source).map_err(ExportError::from)?;
        let state = self.state(source).map_err(ExportError::from)?;
        let request = request.swapping(state.positions, state.computed)?;
        let (namespace, terms) = (request.prompt.namespace, Terms::swapping(owner));
        let plan = self.plan_export(source, namespace, &terms)?;
        let other = self.first_other(source, &request.prompt);
        check_content(other.map_err(ExportError::from)?)?;
        let pairs = Copies::room(plan.blocks()).map_err(ExportError::from)?;
        let checked = to.check(&request);
        checked.map_err(|error| {
            to.count_refused(&error);
            SwapError::Destination(error.into())
        })?;
        let export = self.offer(source, &plan, namespace, leases, &terms)?;
        let imported = to.import(&request, &Incoming::from_export(&export, 1));
        let imported = imported.inspect_err(|_| self.take_back(source, &plan, &export))?;
        self.make_offer_known(source);
        let found = imported.hit / to.pool.block_size();
        Ok(Swap {
            source,
            handle: imported.handle,
            hit: imported.hit,
            copies: Copies::new(pairs, &export, imported.import, found),
            export,
            stage: SwapStage::Open,
        })
    }

    /// A sequence has left by a swap: its blocks are given back, unless it has been released already.
    pub(crate) fn end_swap_out(&mut self, source: Handle) {
        let _ = self.release(source);
        self.statistics.swapped_out += 1;
    }

    /// A sequence has come by a swap.
    pub(crate) fn count_swap_in(&mut self, copies: &Copies) {
        self.statistics.swapped_in += 1;
        self.statistics.swap_copied += copies.pairs().len() as u64;
        self.statistics.swap_hits += copies.found() as u64;
    }
}

impl<'a> Admit<'a> {
    /// The request of a swap of a sequence with so many positions, of which so many are computed.
    pub(crate) const fn swapping(
        &self,
        positions: usize,
        computed: usize,
    ) -> Result<Self, SwapError> {
        let tokens = self.prompt.tokens.len();
        if tokens < positions {
            return Err(SwapError::Shorter { tokens, positions });
        }
        let mut request = *self;
        request.swaps = true;
        // Where nothing is left to compute, nothing is left for the engine to begin with either.
        request.prompt.full_hit |= computed == tokens;
        Ok(request)
    }
}

impl Swap {
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

    /// Positions that were found there, and are not copied.
    #[must_use]
    pub const fn hit(&self) -> usize {
        self.hit
    }

    /// The blocks that are to be copied, each from here to there, in the order of the table. None once it is over.
    #[must_use]
    pub fn pairs(&self) -> &[(BlockId, BlockId)] {
        match self.stage {
            SwapStage::Open => self.copies.pairs(),
            SwapStage::Aborted | SwapStage::Finished => &[],
        }
    }

    /// What holds the source's blocks until the copy has passed.
    #[must_use]
    pub fn lease(&self) -> &Lease {
        self.export.lease()
    }

    /// What holds the destination's blocks until the copy has passed; its one writer is this swap.
    #[must_use]
    pub const fn import(&self) -> &Import {
        self.copies.import()
    }

    /// The copy, or a part of it, is launched, and done when this fence has passed. Of several the latest counts: they are points on one
    /// timeline. All parts are launched before [`complete`](Self::complete) is asked: it speaks for all blocks.
    ///
    /// # Errors
    /// [`SwapCopyError::Over`]; [`SwapCopyError::AlreadyCopied`]: it was told that all has passed, and waits for nothing more:
    /// [abort](Self::abort) it when this fence has passed, too. Nothing is changed.
    pub fn copying(&mut self, fence: Fence) -> Result<(), SwapCopyError> {
        self.stage.check_open()?;
        Ok(self.copies.copying(fence)?)
    }

    /// The timeline of the copy has come so far. Returns whether nothing touches the blocks any more: then it can be
    /// [finished](Self::finish), or what an aborted one held has been given back.
    ///
    /// One read-modify-write a block, once. No allocation.
    pub fn complete(&mut self, completed: Fence) -> bool {
        self.copies
            .complete(completed, self.stage == SwapStage::Open);
        self.copies.is_complete()
    }

    /// Ends a swap whose copy has passed: the sequence goes on at the destination, under the handle that is returned, and is released
    /// where it was. What was published of it there stays findable as long as nobody needs the memory.
    ///
    /// # Errors
    /// [`SwapFinishError`]; nothing is changed, but what has been copied counts at the destination. [`NotCopied`]: ask again when
    /// [`complete`](Self::complete) says so. [`CommitError::Aborted`] and [`CommitError::NotArrived`]: the source was released, or its
    /// content turned out bad: [abort](Self::abort) it.
    ///
    /// As [`Sequences::commit`] and [`Sequences::release`].
    pub fn finish(
        &mut self,
        from: &mut Sequences,
        to: &mut Sequences,
    ) -> Result<Handle, SwapFinishError> {
        self.stage.check_open()?;
        check_pool(from.core(), self.export.lease().core())?;
        check_pool(to.core(), self.copies.core())?;
        check_copied(&self.copies)?;
        if from.registry.find(self.source).is_err() {
            return Err(source_is_gone(self.export.phase()));
        }
        to.registry.find(self.handle)?;
        to.commit(self.handle)?;
        to.count_swap_in(&self.copies);
        from.end_swap_out(self.source);
        self.stage = SwapStage::Finished;
        Ok(self.handle)
    }

    /// Calls it off: the source goes on as it was, and the destination gives its blocks back. A copy that is under way is not stopped: until
    /// [`complete`](Self::complete) says that it has passed, its blocks are held on both sides, and the source gets and computes no
    /// positions, so that nobody writes what is being read.
    ///
    /// # Errors
    /// [`SwapAbortError`]; nothing is changed.
    ///
    /// As [`Sequences::release`].
    pub fn abort(&mut self, to: &mut Sequences) -> Result<(), SwapAbortError> {
        self.stage.check_open()?;
        check_pool(to.core(), self.copies.core())?;
        if to.registry.find(self.handle).is_err() && self.import().is_wanted() {
            return Err(Stale.into());
        }
        call_off(&self.export)?;
        self.copies.call_off();
        // It may have been released already.
        let _ = to.release(self.handle);
        self.stage = SwapStage::Aborted;
        Ok(())
    }
}

/// The source goes on, unless the destination has it.
fn call_off(export: &Export) -> Result<(), NotOpen> {
    match export.abort() {
        Err(error @ NotOpen::Committed) => Err(error),
        // It may have been called off already.
        _ => Ok(()),
    }
}

/// The source was released: the swap is called off by that, or it is over.
pub(crate) fn source_is_gone(phase: Phase) -> SwapFinishError {
    match phase {
        Phase::Aborted => CommitError::from(MoveAborted).into(),
        _ => Stale.into(),
    }
}

/// `other`: the first block that does not have the content that the request says.
pub(crate) const fn check_content(other: Option<usize>) -> Result<(), SwapError> {
    match other {
        Some(block) => Err(SwapError::OtherTokens { block }),
        None => Ok(()),
    }
}

pub(crate) fn check_pool(given: &Core, own: &Core) -> Result<(), WrongPool> {
    if core::ptr::eq(given, own) {
        Ok(())
    } else {
        Err(WrongPool)
    }
}

pub(crate) fn check_copied(copies: &Copies) -> Result<(), NotCopied> {
    if copies.is_complete() {
        return Ok(());
    }
    Err(NotCopied {
        blocks: copies.pairs().len(),
        until: copies.until(),
    })
}

impl Drop for Swap {
    fn drop(&mut self) {
        if self.stage == SwapStage::Open {
            // The destination may have it.
            let _ = call_off(&self.export);
            self.copies.call_off();
        }
    }
}

impl fmt::Debug for Swap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Swap")
            .field("source", &self.source)
            .field("handle", &self.handle)
            .field("hit", &self.hit)
            .field("copies", &self.copies)
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}
