//! A chain: what one owner holds of a path from the root, a published head and a private tail.

use alloc::vec::Vec;
use core::fmt;

use super::blocks::Blocks;
use super::core::Core;
use super::find::{Place, Purse};
use super::lane::{Fence, Lane};
use super::publish::Published;
use super::reservation::Reservation;
use super::worker::{BlockList, Worker};
use crate::block::BlockId;
use crate::error::{
    Exceeds, ForkError, JoinError, OutOfMemory, PublishError, ReleaseAfterError, Returned,
    SplitError, TakeError, TooManyReferences, WrongPool,
};
use crate::prefix::{Contents, Namespace, Space};
use crate::sync::Ordering::Acquire;

/// A chain without its pool, for owners that keep many.
#[derive(Debug)]
pub(crate) struct RawChain {
    /// The blocks from the root. The first `hidden` belong to the head that this tail was split from; they are held, not shown.
    pub(crate) ids: BlockList,
    hidden: usize,
    /// Of `ids`, so many from the start are published (or stand for their canonical blocks).
    pub(crate) published: usize,
    /// Behind those, so many turned out bad. They count as published no longer, but hang below each other and what is published, so
    /// the chain holds what it held beside them; and nothing is published meanwhile.
    spoiled: usize,
    /// Where a position's content is findable as another block than the chain's own, the chain holds both. Empty while there
    /// are no such duplicates; otherwise the findable block of each published or spoiled position.
    canonical: BlockList,
    pub(crate) space: Space,
    /// The pool's `cuts` when this chain was last known to have none.
    pub(crate) cuts_seen: u64,
    /// A block of it is no longer findable.
    pub(crate) cut: bool,
    /// A tail that begins behind the end of the published head.
    pub(crate) gap: bool,
}

impl RawChain {
    pub(crate) fn new(space: Space, ids: BlockList, cuts_seen: u64) -> Self {
        let published = ids.len();
        Self {
            ids,
            hidden: 0,
            published,
            spoiled: 0,
            canonical: BlockList::new(),
            space,
            cuts_seen,
            cut: false,
            gap: false,
        }
    }

    /// Of no namespace, with nothing.
    pub(crate) fn vacant(core: &Core) -> Self {
        Self::new(core.space(&Namespace::new()), BlockList::new(), 0)
    }

    /// The findable block at a published position.
    pub(crate) fn node(&self, position: usize) -> BlockId {
        self.canonical
            .get(position)
            .copied()
            .unwrap_or(self.ids[position])
    }

    /// The first entry that one of these blocks is, or stands beside.
    pub(crate) fn first_entry_of(&self, blocks: &[BlockId]) -> Option<usize> {
        let beside = |at| self.canonical.get(at).is_some_and(|it| blocks.contains(it));
        (0..self.ids.len()).find(|&at| blocks.contains(&self.ids[at]) || beside(at))
    }

    /// The block held beside the chain's own.
    fn beside(&self, position: usize) -> Option<BlockId> {
        self.canonical
            .get(position)
            .copied()
            .filter(|&node| node != self.ids[position])
    }

    /// The next position is published, its content findable as `node`. If that is not the chain's own block, or never was for one
    /// before it, there is [room](Self::reserve_canonical) to note that.
    #[inline]
    pub(crate) fn grow_published(&mut self, node: BlockId) {
        if self.has_duplicates() || node != self.ids[self.published] {
            self.note_canonical(node);
        }
        self.published += 1;
    }

    fn note_canonical(&mut self, node: BlockId) {
        if self.canonical.is_empty() {
            self.canonical
                .extend_from_slice(&self.ids[..self.published]);
        }
        self.canonical.push(node);
    }

    pub(crate) fn has_duplicates(&self) -> bool {
        !self.canonical.is_empty()
    }

    /// Makes room to note which block each position's content is findable as; false if there is no memory.
    pub(crate) fn reserve_canonical(&mut self, worker: &mut Worker) -> bool {
        let wanted = self.ids.len();
        if self.canonical.capacity() < wanted && self.canonical.is_empty() {
            worker.recycle(&mut self.canonical);
            self.canonical = worker.spare(wanted);
        }
        let missing = wanted.saturating_sub(self.canonical.len());
        self.canonical.try_reserve(missing).is_ok()
    }

    /// The blocks from the root that hang below each other in the tree of prefixes: the findable ones, then the spoiled ones.
    pub(crate) fn nodes(
        &self,
    ) -> impl DoubleEndedIterator<Item = BlockId> + ExactSizeIterator + Clone {
        (0..self.path()).map(|position| self.node(position))
    }

    const fn path(&self) -> usize {
        self.published + self.spoiled
    }

    /// Whether blocks of it turned out bad and are still there.
    pub(crate) const fn is_spoiled(&self) -> bool {
        self.spoiled > 0
    }

    /// How many blocks of the head the blocks from `cut` on hang below: all of it or none.
    pub(crate) fn head_of_tail(&self, core: &Core, cut: usize) -> usize {
        // One more may, which was published and is partly taken back.
        let hangs = |block: &BlockId| core.state(*block).load(Acquire).is_published();
        let end = self.path() + usize::from(self.ids.get(self.path()).is_some_and(hangs));
        if end > cut { cut } else { 0 }
    }

    /// Every reference held, tails first.
    pub(crate) fn held(&self) -> impl Iterator<Item = BlockId> + Clone {
        self.held_below(self.ids.len())
    }

    fn held_below(&self, blocks: usize) -> impl Iterator<Item = BlockId> + Clone {
        (0..blocks)
            .rev()
            .flat_map(|at| core::iter::once(self.ids[at]).chain(self.beside(at)))
    }

    /// Where the next block to publish will hang.
    pub(crate) fn place(&self, core: &Core) -> Place {
        let Some(last) = self.published.checked_sub(1) else {
            return Place::root(self.space);
        };
        let block = self.node(last);
        let mut place =
            Place::root(self.space).below(block, core.state(block).load(Acquire).generation());
        place.depth = u32::try_from(self.published).unwrap_or(u32::MAX);
        place
    }

    /// What the first `blocks` of the table refer to gets `owners` more, or none.
    pub(crate) fn hold_for(
        &self,
        core: &Core,
        blocks: usize,
        owners: u32,
    ) -> Result<(), TooManyReferences> {
        if self.canonical.is_empty() {
            core.hold_all(self.ids[..blocks].iter().rev().copied(), owners)
        } else {
            core.hold_all(self.held_below(blocks), owners)
        }
    }

    /// One of these others is not: gives its references back.
    pub(crate) fn unhold(&self, core: &Core, blocks: usize) {
        core.release(self.held_below(blocks));
    }

    /// What one of those others has, in empty lists.
    pub(crate) fn copy(&self, blocks: usize, mut ids: BlockList, mut canonical: BlockList) -> Self {
        ids.extend_from_slice(&self.ids[..blocks]);
        canonical.extend_from_slice(self.canonical_below(blocks));
        Self {
            ids,
            hidden: self.hidden.min(blocks),
            published: self.published.min(blocks),
            spoiled: self.path().min(blocks) - self.published.min(blocks),
            canonical,
            ..*self
        }
    }

    /// The same, in new lists; `None` if there is no memory.
    pub(crate) fn try_copy(&self, blocks: usize) -> Option<Self> {
        let (mut ids, mut canonical) = (BlockList::new(), BlockList::new());
        let lists = ids
            .try_reserve(blocks)
            .and(canonical.try_reserve(self.canonical_below(blocks).len()));
        lists.ok().map(|()| self.copy(blocks, ids, canonical))
    }

    fn canonical_below(&self, blocks: usize) -> &[BlockId] {
        &self.canonical[..blocks.min(self.canonical.len())]
    }

    /// The block table: what is shown of the chain.
    pub(crate) fn table(&self) -> &[BlockId] {
        &self.ids[self.hidden..]
    }

    /// References on what the first `blocks` of the table refer to.
    pub(crate) fn references(&self, blocks: usize) -> usize {
        let beside = (0..self.canonical_below(blocks).len()).filter_map(|at| self.beside(at));
        blocks + beside.count()
    }

    /// Room in an empty one for so many blocks.
    pub(crate) fn make_room(&mut self, blocks: usize) -> Result<(), ()> {
        self.ids
            .try_reserve_exact(blocks)
            .and_then(|()| self.canonical.try_reserve_exact(blocks))
            .map_err(drop)
    }

    /// Room for a copy of the first `blocks`.
    pub(crate) fn reserve_for(&mut self, other: &Self, blocks: usize) -> Result<(), ()> {
        self.ids
            .try_reserve(blocks)
            .and(self.canonical.try_reserve(other.canonical.len()))
            .map_err(drop)
    }

    /// Empty lists with the buffers of one that holds nothing.
    pub(crate) fn take_lists(&mut self) -> (BlockList, BlockList) {
        debug_assert!(self.ids.is_empty() && self.canonical.is_empty());
        (
            core::mem::take(&mut self.ids),
            core::mem::take(&mut self.canonical),
        )
    }

    /// Gives back all but the first `keep` blocks, tail first. The credits of what became free or idle are the caller's; free blocks
    /// from `limit` on are retired, and have none.
    #[must_use]
    pub(crate) fn truncate(&mut self, core: &Core, keep: usize, limit: usize) -> u32 {
        let dropped = (keep..self.ids.len()).rev();
        let credits = core.release_for(
            dropped.flat_map(|at| core::iter::once(self.ids[at]).chain(self.beside(at))),
            limit,
        );
        self.ids.truncate(keep);
        self.unpublish(core, keep, limit) + credits
    }

    /// Holds the first `head` published blocks once more, for a tail.
    pub(crate) fn hold_head(&self, core: &Core, head: usize) -> Result<(), TooManyReferences> {
        core.hold_all((0..head).rev().map(|position| self.node(position)), 1)
    }

    /// Gives these references back: there is no tail.
    pub(crate) fn unhold_head(&self, core: &Core, head: usize) {
        core.release((0..head).rev().map(|position| self.node(position)));
    }

    /// Keeps the first `cut` blocks; the others go, behind the first `head` published ones, which are [held](Self::hold_head) for them,
    /// to the lists given, which are empty.
    pub(crate) fn split_off(
        &mut self,
        cut: usize,
        head: usize,
        (mut ids, mut canonical): (BlockList, BlockList),
    ) -> Self {
        ids.extend((0..head).map(|position| self.node(position)));
        ids.extend_from_slice(&self.ids[cut..]);
        if !self.canonical.is_empty() {
            canonical.extend_from_slice(&ids[..head]);
            canonical.extend_from_slice(self.canonical.get(cut..).unwrap_or_default());
            self.canonical.truncate(cut);
        }
        let tail = Self {
            ids,
            hidden: head,
            published: head + self.published.saturating_sub(cut),
            spoiled: self.path().max(cut) - self.published.max(cut),
            canonical,
            gap: self.gap || cut > self.published,
            ..*self
        };
        self.ids.truncate(cut);
        self.spoiled = self.path().min(cut) - self.published.min(cut);
        self.published = self.published.min(cut);
        self.forget_cuts();
        tail
    }

    /// Room for what [`split_off`](Self::split_off) puts there.
    pub(crate) fn reserve_for_tail(
        &mut self,
        other: &Self,
        cut: usize,
        head: usize,
    ) -> Result<(), OutOfMemory> {
        let blocks = head + other.ids.len() - cut;
        let beside = if other.canonical.is_empty() {
            0
        } else {
            blocks
        };
        self.ids
            .try_reserve(blocks)
            .and(self.canonical.try_reserve(beside))
            .map_err(|_| OutOfMemory)
    }

    /// Positions from `keep` on count as published no longer. Copies held beside the chain's own blocks there are given back; their
    /// credits are the caller's.
    #[must_use]
    pub(crate) fn unpublish(&mut self, core: &Core, keep: usize, limit: usize) -> u32 {
        if keep >= self.path() {
            return 0;
        }
        let beside = (keep..self.ids.len().min(self.path())).rev();
        let credits = core.release_for(beside.filter_map(|at| self.beside(at)), limit);
        self.canonical.truncate(keep);
        self.published = self.published.min(keep);
        self.spoiled = keep - self.published;
        self.forget_cuts();
        credits
    }

    /// What is published from `from` on turned out bad.
    pub(crate) fn spoil(&mut self, from: usize) {
        let path = self.path();
        self.published = self.published.min(from);
        self.spoiled = path - self.published;
        self.forget_cuts();
    }

    /// Puts blocks into the table at these rising entries, among which are all that hang below others from `from` on. Gives back what
    /// they replace, and copies held beside; for these lists there is room in `old`, which is empty.
    pub(crate) fn replace(
        &mut self,
        core: &Core,
        from: usize,
        entries: &[usize],
        fresh: &[BlockId],
        old: &mut Vec<BlockId>,
    ) {
        let replaces = self.path() > from;
        for at in (from..self.ids.len()).rev() {
            if let Ok(place) = entries.binary_search(&at) {
                old.push(self.ids[at]);
                old.extend(self.beside(at).filter(|_| replaces));
                self.ids[at] = fresh[place];
            } else {
                old.extend(self.beside(at).filter(|_| replaces));
            }
        }
        if replaces {
            self.canonical.truncate(from);
            self.spoiled = from.saturating_sub(self.published);
        }
        core.release(old.iter().copied());
    }

    /// At most so many blocks have a findable one beside them.
    pub(crate) fn duplicates(&self) -> usize {
        self.published.min(self.canonical.len())
    }

    /// Puts the findable block of each duplicate into the table; `give_back` gets the chain's own copies, in the order of the table.
    /// Returns how many, and the first position.
    pub(crate) fn adopt_duplicates(
        &mut self,
        give_back: impl FnOnce(&mut dyn DoubleEndedIterator<Item = BlockId>),
    ) -> Adopted {
        // What is spoiled behind them stays as it is.
        let known = self.duplicates();
        let (ids, canonical) = (&mut self.ids, &mut self.canonical);
        let mut adopted = Adopted::default();
        let pairs = ids.iter_mut().zip(canonical.iter_mut()).take(known);
        for (at, (own, node)) in pairs.enumerate() {
            if own != node {
                core::mem::swap(own, node);
                // What is left in the list are the chain's own copies.
                if adopted.blocks == 0 {
                    adopted.first = at;
                }
                adopted.blocks += 1;
            } else {
                *node = BlockId::NONE;
            }
        }
        let copies = canonical[..known].iter().copied();
        give_back(&mut copies.filter(|&own| own != BlockId::NONE));
        if canonical.len() > known {
            canonical[..known].copy_from_slice(&ids[..known]);
        } else {
            // Its buffer stays for the next duplicates.
            canonical.clear();
        }
        adopted
    }

    /// A new path of a namespace, in the buffers of an old one that holds nothing.
    pub(crate) fn restart(&mut self, space: Space, cuts_seen: u64) {
        debug_assert!(self.ids.is_empty() && self.canonical.is_empty());
        self.space = space;
        self.cuts_seen = cuts_seen;
        self.cut = false;
        self.gap = false;
    }

    /// Gives everything back and holds nothing; the list of blocks keeps its buffer.
    pub(crate) fn release_and_clear(&mut self, core: &Core) {
        self.release(core);
        self.forget();
    }

    /// What it held is somebody else's, or given back: holds nothing, and keeps its buffers.
    pub(crate) fn forget(&mut self) {
        self.ids.clear();
        self.canonical.clear();
        self.published = 0;
        self.spoiled = 0;
        self.hidden = 0;
    }

    /// Gives everything back; the lists go to the worker.
    pub(crate) fn release_into(&mut self, core: &Core, worker: &mut Worker) {
        self.release(core);
        self.recycle(worker);
    }

    /// The lists of one that holds nothing any more go to the worker.
    pub(crate) fn recycle(&mut self, worker: &mut Worker) {
        worker.recycle(&mut self.ids);
        worker.recycle(&mut self.canonical);
    }

    /// Looks for cuts anew before the next publish: where they were may have been split off.
    const fn forget_cuts(&mut self) {
        self.cut = false;
        self.cuts_seen = u64::MAX;
    }

    /// Gives everything back. What it lists is not the caller's any more.
    pub(crate) fn release(&self, core: &Core) {
        if self.canonical.is_empty() {
            core.release(self.ids.iter().rev().copied());
        } else {
            core.release(self.held());
        }
    }
}

/// What became of duplicates.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Adopted {
    pub(crate) blocks: usize,
    /// The first position of the table that changed.
    pub(crate) first: usize,
}

/// What one owner holds of a path from the root: a published head, then private blocks.
///
/// Made by [`find`](crate::BlockPool::find) (the blocks it found) or [`chain`](crate::BlockPool::chain) (none). Blocks taken from a
/// reservation are [pushed](Self::push) on, and [published](Self::publish) when they are sealed: full, known and computed.
/// Every block of it stays as it is until the chain is released.
///
/// Dropping a chain releases it; [`release`](Self::release) does so faster.
#[must_use = "dropping a chain releases its blocks"]
pub struct Chain<'p> {
    core: &'p Core,
    raw: RawChain,
}

impl<'p> Chain<'p> {
    pub(crate) const fn new(core: &'p Core, raw: RawChain) -> Self {
        Self { core, raw }
    }

    /// The block table: the chain's blocks in order.
    #[must_use]
    pub fn ids(&self) -> &[BlockId] {
        self.raw.table()
    }

    /// Blocks in the table.
    #[must_use]
    pub fn len(&self) -> usize {
        self.raw.ids.len() - self.raw.hidden
    }

    /// Whether the table is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Blocks of the table, from its start, whose content is findable or was when it was published.
    #[must_use]
    pub fn published(&self) -> usize {
        self.raw.published - self.raw.hidden
    }

    /// Takes `n` blocks from a reservation and appends them: [`Reservation::take`] and [`push`](Self::push) in one, without a list
    /// in between.
    ///
    /// # Errors
    /// [`TakeError::Exceeds`]: less is left of the promise. [`TakeError::WrongPool`]: the worker or the reservation is another
    /// pool's. [`TakeError::OutOfMemory`]: no memory for the longer table.
    ///
    /// No allocation in steady state.
    #[inline]
    pub fn take(
        &mut self,
        worker: &mut Worker,
        promise: &mut Reservation<'_>,
        n: usize,
    ) -> Result<(), TakeError> {
        if !promise.belongs(self.core) {
            return Err(TakeError::WrongPool);
        }
        worker.belongs(self.core)?;
        let credits = promise.within(n)?;
        let before = self.raw.ids.len();
        self.raw.ids.try_reserve(n).map_err(|_| OutOfMemory)?;
        self.raw.ids.resize(before + n, BlockId::NONE);
        promise.take_into(worker, &mut self.raw.ids[before..], credits);
        Ok(())
    }

    /// Appends private blocks.
    ///
    /// # Errors
    /// The blocks come back if they are another pool's, or there is no memory for the longer table.
    ///
    /// Allocates if the table grows beyond its buffer, which [`find`](crate::BlockPool::find) makes large enough for the prompt. The
    /// buffer of a long list of blocks is given up: [`take`](Self::take) needs none.
    pub fn push(&mut self, blocks: Blocks<'p>) -> Result<(), Returned<Blocks<'p>, JoinError>> {
        let takes_list = self.raw.ids.is_empty() && !self.raw.ids.spilled();
        let room = if !core::ptr::eq(self.core, blocks.core()) {
            Err(JoinError::WrongPool)
        } else if takes_list {
            Ok(())
        } else {
            let room = self.raw.ids.try_reserve(blocks.len());
            room.map_err(|_| OutOfMemory.into())
        };
        if let Err(error) = room {
            let value = blocks;
            return Err(Returned { error, value });
        }
        let ids = blocks.into_ids();
        if takes_list {
            self.raw.ids = ids;
        } else {
            self.raw.ids.extend_from_slice(&ids);
        }
        Ok(())
    }

    /// Makes the chain's next unpublished blocks findable. They must be sealed: their K/V is written, and nobody writes to them
    /// again.
    ///
    /// Content that already is findable is not published again: the copy that is there is held by the chain beside its own block
    /// (a duplicate). If it is idle that costs a credit of `pay`, or an available one if that is `None`.
    ///
    /// # Errors
    /// [`PublishError::LengthMismatch`]: the tokens are no whole number of blocks or more than the chain has unpublished, or there
    /// is not one extra key or chain key for each block. [`PublishError::WrongPool`]: the worker or the reservation is another pool's.
    ///
    /// Some cache lines a block; no allocation but for duplicates.
    pub fn publish(
        &mut self,
        worker: &mut Worker,
        contents: &Contents<'_>,
        pay: Option<&mut Reservation<'_>>,
    ) -> Result<Published, PublishError> {
        worker.belongs(self.core)?;
        if pay.as_ref().is_some_and(|pay| !pay.belongs(self.core)) {
            return Err(PublishError::WrongPool);
        }
        let n = contents.blocks(
            self.core.block_size,
            self.raw.ids.len().saturating_sub(self.raw.published),
        )?;
        Ok(match pay {
            Some(pay) => {
                pay.lend(|purse| self.core.publish(worker, &mut self.raw, contents, n, purse))
            }
            None => {
                let mut purse = Purse::available(&self.core.credits);
                let published = self
                    .core
                    .publish(worker, &mut self.raw, contents, n, &mut purse);
                purse.close();
                published
            }
        })
    }

    /// A second owner of every block of the chain, the unpublished ones included: nobody may write to those any more.
    ///
    /// # Errors
    /// [`ForkError::TooManyReferences`] names the first block that cannot have one more owner. [`ForkError::WrongPool`],
    /// [`ForkError::OutOfMemory`].
    ///
    /// One read-modify-write a block.
    pub fn fork(&self, worker: &mut Worker) -> Result<Self, ForkError> {
        worker.belongs(self.core)?;
        let blocks = self.raw.ids.len();
        let mut ids = worker.list(blocks)?;
        let canonical = worker.list(self.raw.canonical.len());
        let mut canonical = canonical.inspect_err(|_| worker.recycle(&mut ids))?;
        let held = self.raw.hold_for(self.core, blocks, 1);
        held.inspect_err(|_| {
            worker.recycle(&mut ids);
            worker.recycle(&mut canonical);
        })?;
        Ok(Self {
            core: self.core,
            raw: self.raw.copy(blocks, ids, canonical),
        })
    }

    /// Keeps the first `at` blocks and returns the others as a chain of their own.
    ///
    /// If the head is published the tail takes references of its own on it, down from the root, so that the two can be released in
    /// any order. Both can go on: the tail publishes below the head, if all of the head was published when it was split.
    ///
    /// # Errors
    /// [`SplitError::Exceeds`]: the chain is shorter. [`SplitError::TooManyReferences`]: a block of the head cannot have one more
    /// owner. [`SplitError::OutOfMemory`].
    ///
    /// One read-modify-write for each published block of the head. Allocates if the tail is long.
    pub fn split_off(&mut self, at: usize) -> Result<Self, SplitError> {
        if at > self.len() {
            return Err(SplitError::Exceeds(Exceeds {
                asked: at,
                left: self.len(),
            }));
        }
        let cut = self.raw.hidden + at;
        let head = cut.min(self.raw.published);
        let mut lists = RawChain::vacant(self.core);
        lists.reserve_for_tail(&self.raw, cut, head)?;
        self.raw.hold_head(self.core, head)?;
        Ok(Self {
            core: self.core,
            raw: self.raw.split_off(cut, head, lists.take_lists()),
        })
    }

    /// Puts the canonical blocks of duplicates into the table and gives the chain's own copies back. Returns how many.
    ///
    /// The engine must read the table anew, and the content of both is the same.
    ///
    /// # Errors
    /// [`WrongPool`].
    pub fn adopt_duplicates(&mut self, worker: &mut Worker) -> Result<usize, WrongPool> {
        worker.belongs(self.core)?;
        let give_back = |own: &mut dyn DoubleEndedIterator<Item = _>| self.core.release(own.rev());
        Ok(self.raw.adopt_duplicates(give_back).blocks)
    }

    /// Gives every reference back, the tail first: findable blocks become idle, private ones and those no longer findable free, unless
    /// they have other owners.
    ///
    /// # Errors
    /// The chain comes back if the worker is another pool's.
    ///
    /// One read-modify-write a block. No allocation.
    #[expect(
        clippy::result_large_err,
        reason = "the error is the chain itself; boxing it would allocate"
    )]
    pub fn release(mut self, worker: &mut Worker) -> Result<(), Returned<Self>> {
        if worker.belongs(self.core).is_err() {
            return Err(Returned::wrong_pool(self));
        }
        self.raw.release_into(self.core, worker);
        Ok(())
    }

    /// Gives every reference back when a fence has passed, as [`release`](Self::release) would now.
    ///
    /// # Errors
    /// The chain comes back: the worker or the lane is another pool's, or there is no memory for the lane's list.
    ///
    /// A few read-modify-writes a block. No allocation in steady state.
    #[expect(
        clippy::result_large_err,
        reason = "the error is the chain itself; boxing it would allocate"
    )]
    pub fn release_after(
        mut self,
        worker: &mut Worker,
        lane: &mut Lane,
        fence: Fence,
    ) -> Result<(), Returned<Self, ReleaseAfterError>> {
        let belongs = worker.belongs(self.core).map_err(ReleaseAfterError::from);
        if let Err(error) = belongs.and_then(|()| lane.make_room(self.core)) {
            return Err(Returned { error, value: self });
        }
        lane.push(fence, &mut self.raw);
        self.raw.recycle(worker);
        Ok(())
    }

    /// What it holds, and with it the duty to give it back.
    pub(crate) fn into_raw(mut self) -> RawChain {
        let nothing = RawChain::vacant(self.core);
        core::mem::replace(&mut self.raw, nothing)
    }

    pub(crate) const fn core(&self) -> &'p Core {
        self.core
    }
    pub(crate) const fn raw(&self) -> &RawChain {
        &self.raw
    }
}

impl Drop for Chain<'_> {
    fn drop(&mut self) {
        self.raw.release(self.core);
    }
}

impl fmt::Debug for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain")
            .field("ids", &self.ids())
            .field("published", &self.published())
            .finish_non_exhaustive()
    }
}
