//! Private blocks: taken from a reservation, not yet part of a chain.

use core::fmt;

use super::chain::RawChain;
use super::core::Core;
use super::lane::{Fence, Lane};
use super::worker::{BlockList, Worker};
use crate::block::BlockId;
use crate::error::{Exceeds, JoinError, OutOfMemory, ReleaseAfterError, Returned, SplitError};

/// Blocks that one owner holds alone. Their content is nobody else's business until they are published as part of a
/// [`Chain`](crate::Chain).
///
/// Dropping them releases them; [`release`](Self::release) does so faster.
///
/// # Given back once
/// Releasing consumes what is released, so blocks cannot be given back twice, in one call or in two (C001):
/// ```compile_fail,E0382
/// # let pool = kvblock::BlockPool::new(&kvblock::PoolConfig::new(4, 16)).unwrap();
/// # let mut worker = pool.worker().unwrap();
/// let mut a = pool.reserve(1).unwrap().take(&mut worker, 1).unwrap();
/// a.append(a).unwrap(); // "both of them, in one call"
/// a.release(&mut worker).unwrap();
/// ```
/// ```compile_fail,E0382
/// # let pool = kvblock::BlockPool::new(&kvblock::PoolConfig::new(4, 16)).unwrap();
/// # let mut worker = pool.worker().unwrap();
/// let a = pool.reserve(1).unwrap().take(&mut worker, 1).unwrap();
/// a.release(&mut worker).unwrap();
/// a.release(&mut worker).unwrap();
/// ```
/// Nor can they be counted twice, so that a later admission meets a pool of more blocks than there are (C003):
/// ```compile_fail,E0382
/// # let pool = kvblock::BlockPool::new(&kvblock::PoolConfig::new(15, 16)).unwrap();
/// # let mut worker = pool.worker().unwrap();
/// let x = pool.reserve(3).unwrap().take(&mut worker, 3).unwrap();
/// drop(x);
/// drop(x);
/// let all = pool.reserve(16).unwrap_err();
/// ```
/// An old handle does not outlive its release, so it cannot name the new owner's block (C004):
/// ```compile_fail,E0382
/// # let pool = kvblock::BlockPool::new(&kvblock::PoolConfig::new(1, 16)).unwrap();
/// # let mut worker = pool.worker().unwrap();
/// let h1 = pool.reserve(1).unwrap().take(&mut worker, 1).unwrap();
/// h1.release(&mut worker).unwrap();
/// let h2 = pool.reserve(1).unwrap().take(&mut worker, 1).unwrap();
/// h1.release(&mut worker).unwrap();
/// ```
/// The same without the wrong lines:
/// ```
/// # use kvblock::{BlockPool, PoolConfig, Refused};
/// let pool = BlockPool::new(&PoolConfig::new(15, 16)).unwrap();
/// let mut worker = pool.worker().unwrap();
/// let x = pool.reserve(3).unwrap().take(&mut worker, 3).unwrap();
/// let old = x.ids().to_vec();
/// x.release(&mut worker).unwrap();
/// assert_eq!(pool.report().free, 15);
/// assert!(matches!(pool.reserve(16), Err(Refused::NeverFits { needed: 16, capacity: 15, .. })));
/// let all = pool.reserve(15).unwrap().take(&mut worker, 15).unwrap();
/// assert!(old.iter().all(|id| all.ids().contains(id)));
/// assert!(matches!(pool.reserve(1), Err(Refused::Shortfall { needed: 1, available: 0, .. })));
/// drop(all);
/// assert_eq!(pool.report().free, 15);
/// ```
#[must_use = "dropping blocks releases them"]
pub struct Blocks<'p> {
    core: &'p Core,
    ids: BlockList,
}

impl<'p> Blocks<'p> {
    pub(crate) const fn new(core: &'p Core, ids: BlockList) -> Self {
        Self { core, ids }
    }

    /// The blocks, in the order in which they were taken: rising runs where there were any.
    #[must_use]
    pub fn ids(&self) -> &[BlockId] {
        &self.ids
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Keeps the first `at` and returns the others.
    ///
    /// # Errors
    /// [`SplitError::Exceeds`]: there are fewer. [`SplitError::OutOfMemory`].
    ///
    /// Allocates if many are returned.
    pub fn split_off(&mut self, at: usize) -> Result<Self, SplitError> {
        let left = self.ids.len();
        if at > left {
            return Err(Exceeds { asked: at, left }.into());
        }
        let mut ids = BlockList::new();
        ids.try_reserve(left - at).map_err(|_| OutOfMemory)?;
        ids.extend(self.ids.drain(at..));
        Ok(Self {
            core: self.core,
            ids,
        })
    }

    /// Puts others behind these.
    ///
    /// # Errors
    /// They come back if they are another pool's, or there is no memory for the longer list.
    ///
    /// Allocates if the list grows beyond its buffer.
    pub fn append(&mut self, other: Self) -> Result<(), Returned<Self, JoinError>> {
        let room = if core::ptr::eq(self.core, other.core) {
            let room = self.ids.try_reserve(other.len());
            room.map_err(|_| OutOfMemory.into())
        } else {
            Err(JoinError::WrongPool)
        };
        if let Err(error) = room {
            let value = other;
            return Err(Returned { error, value });
        }
        self.ids.extend_from_slice(&other.into_ids());
        Ok(())
    }

    /// Gives them back: they are free.
    ///
    /// # Errors
    /// They come back if the worker is another pool's.
    ///
    /// One read-modify-write for each 64 neighbours, and one for all.
    #[inline]
    pub fn release(mut self, worker: &mut Worker) -> Result<(), Returned<Self>> {
        if worker.belongs(self.core).is_err() {
            return Err(Returned::wrong_pool(self));
        }
        self.core.release_private(&self.ids);
        worker.recycle(&mut self.ids);
        Ok(())
    }

    /// Gives them back when a fence has passed.
    ///
    /// # Errors
    /// They come back: the worker or the lane is another pool's, or there is no memory for the lane's list.
    ///
    /// A few read-modify-writes a block. No allocation in steady state.
    pub fn release_after(
        self,
        worker: &mut Worker,
        lane: &mut Lane,
        fence: Fence,
    ) -> Result<(), Returned<Self, ReleaseAfterError>> {
        let belongs = worker.belongs(self.core).map_err(ReleaseAfterError::from);
        if let Err(error) = belongs.and_then(|()| lane.make_room(self.core)) {
            return Err(Returned { error, value: self });
        }
        let mut blocks = RawChain::vacant(self.core);
        blocks.ids = self.into_ids();
        lane.push(fence, &mut blocks);
        blocks.recycle(worker);
        Ok(())
    }

    /// The ids, and with them the duty to give them back.
    pub(crate) fn into_ids(mut self) -> BlockList {
        core::mem::take(&mut self.ids)
    }
    pub(crate) const fn core(&self) -> &'p Core {
        self.core
    }
}

impl Drop for Blocks<'_> {
    fn drop(&mut self) {
        self.core.release_private(&self.ids);
    }
}

impl fmt::Debug for Blocks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Blocks").field(&self.ids).finish()
    }
}
