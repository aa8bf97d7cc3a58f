//! What one thread brings to every hot call.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;

use smallvec::SmallVec;

use super::core::Core;
use super::node::Link;
use super::tally::{CellId, Counter};
use crate::block::BlockId;
use crate::error::{CreateError, OutOfMemory, WrongPool};
use crate::shared::Shared;

/// Blocks of one holder: a few inline, more in a buffer that workers recycle.
pub(crate) type BlockList = SmallVec<[BlockId; INLINE]>;
/// Ids that a list has without a buffer.
pub(crate) const INLINE: usize = 8;

/// Buffers that a worker keeps for the next lists.
const SPARE_BUFFERS: usize = 64;

/// Trips of tokens to the tail that a worker may cause at once: a quarter of a round, within these bounds. So a prefix of so many
/// blocks that is hit again and again keeps its place, and the longest call stays below a millisecond.
const LEAST_ALLOWANCE: u32 = if cfg!(loom) { 9 } else { 512 };
const MOST_ALLOWANCE: u32 = if cfg!(loom) { 9 } else { 16_384 };
/// Trips that a claim allows in return. A hit allows one: that of its own second chance.
const ALLOWANCE_A_CLAIM: u32 = 8;

/// One thread's hints, scratch memory and counters for one pool. Owned by the caller and lent to every hot call.
///
/// It carries where this thread last found free blocks, buffers for block lists (so that nothing is allocated in
/// steady state) and how many second chances it may still give. Make one for each thread; it can be sent to another, but not
/// shared.
pub struct Worker {
    core: Shared<Core>,
    pub(crate) cell: CellId,
    /// Word of the bitmap where the last free block was found.
    pub(crate) hint: usize,
    /// Trips to the tail left before a touched block is claimed all the same. Kept from call to call and paid back by hits and claims,
    /// so that a call is bounded and yet many small calls do as one large one.
    pub(crate) allowance: u32,
    most_allowance: u32,
    /// How far the way down to a leaf has been gone, past the allowance.
    pub(crate) descent: Option<Link>,
    /// Named parents, for the sweep.
    pub(crate) marks: Box<[u64]>,
    spare: Vec<Vec<BlockId>>,
    not_sync: PhantomData<Cell<()>>,
}

impl Worker {
    pub(crate) fn new(core: &Shared<Core>) -> Result<Self, CreateError> {
        let marks = super::array(core.states.len().div_ceil(64), |_| 0)?;
        let mut spare = Vec::new();
        spare
            .try_reserve_exact(SPARE_BUFFERS)
            .map_err(|_| CreateError::OutOfMemory {
                bytes: SPARE_BUFFERS * size_of::<Vec<BlockId>>(),
            })?;
        let quarter = u32::try_from(core.states.len() / 4).unwrap_or(MOST_ALLOWANCE);
        let most_allowance = quarter.clamp(LEAST_ALLOWANCE, MOST_ALLOWANCE);
        Ok(Self {
            core: core.clone(),
            cell: core.tallies.join(),
            hint: 0,
            allowance: most_allowance,
            most_allowance,
            descent: None,
            marks,
            spare,
            not_sync: PhantomData,
        })
    }

    /// Whether the worker was made by this pool.
    #[inline]
    pub(crate) fn belongs(&self, core: &Core) -> Result<(), WrongPool> {
        if core::ptr::eq::<Core>(&*self.core, core) {
            Ok(())
        } else {
            Err(WrongPool)
        }
    }

    /// An empty list with room for `n`, in a recycled buffer if one is at hand.
    #[inline]
    pub(crate) fn list(&mut self, n: usize) -> Result<BlockList, OutOfMemory> {
        if n <= INLINE {
            Ok(BlockList::new())
        } else {
            self.buffer(n)
        }
    }

    /// The same, never inline: for a list that will grow.
    pub(crate) fn buffer(&mut self, n: usize) -> Result<BlockList, OutOfMemory> {
        let mut list = self.spare(n);
        if list.try_reserve(n.max(2 * INLINE)).is_err() {
            self.recycle(&mut list);
            return Err(OutOfMemory);
        }
        Ok(list)
    }

    /// An empty list, with room for `n` if there is a recycled buffer that large.
    pub(crate) fn spare(&mut self, n: usize) -> BlockList {
        let large_enough = self.spare.iter().rposition(|buffer| buffer.capacity() >= n);
        let buffer = match large_enough {
            Some(place) => Some(self.spare.swap_remove(place)),
            None => self.spare.pop(),
        };
        buffer.map_or_else(BlockList::new, BlockList::from_vec)
    }

    /// Takes a list's buffer back; the list is empty then.
    #[inline]
    pub(crate) fn recycle(&mut self, list: &mut BlockList) {
        list.clear();
        if list.spilled() && self.spare.len() < SPARE_BUFFERS {
            self.spare.push(core::mem::take(list).into_vec());
        }
    }

    #[inline]
    pub(crate) fn count(&self, counter: Counter, n: usize) {
        self.core.tallies.count(self.cell, counter, n);
    }

    /// A token goes to the tail.
    #[inline]
    pub(crate) const fn trip(&mut self) {
        self.allowance = self.allowance.saturating_sub(1);
    }

    /// A block was claimed.
    #[inline]
    pub(crate) fn claimed(&mut self) {
        self.allow(ALLOWANCE_A_CLAIM);
    }

    /// Blocks were hit.
    #[inline]
    pub(crate) fn hit(&mut self, blocks: usize) {
        self.allow(u32::try_from(blocks).unwrap_or(MOST_ALLOWANCE));
    }

    #[inline]
    fn allow(&mut self, trips: u32) {
        self.allowance = self
            .allowance
            .saturating_add(trips)
            .min(self.most_allowance);
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("shard", &self.core.shard())
            .field("hint", &self.hint)
            .field("allowance", &self.allowance)
            .finish_non_exhaustive()
    }
}
