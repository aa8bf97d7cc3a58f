//! Private blocks: taken from a reservation, not yet part of a chain.

use core::fmt;

use super::core::Core;
use super::worker::{BlockList, Worker};
use crate::block::BlockId;
use crate::error::{Exceeds, Returned};

/// Blocks that one owner holds alone. Their content is nobody else's business until they are published as part of a
/// [`Chain`](crate::Chain).
///
/// They are given back only as a whole value, so giving one back twice does not compile, nor does keeping it (CASES C001, C003,
/// C004):
///
/// ```compile_fail,E0382
/// # use kvblock::{BlockPool, PoolConfig};
/// # let pool = BlockPool::new(&PoolConfig::new(4, 16)).unwrap();
/// # let mut worker = pool.worker().unwrap();
/// let blocks = pool.reserve(1).unwrap().take(&mut worker, 1).unwrap();
/// blocks.release(&mut worker).unwrap();
/// blocks.release(&mut worker).unwrap(); // use of moved value
/// ```
///
/// Dropping them releases them; [`release`](Self::release) does so faster.
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
    /// [`Exceeds`]: there are fewer.
    ///
    /// Allocates if many are returned.
    pub fn split_off(&mut self, at: usize) -> Result<Self, Exceeds> {
        if at > self.ids.len() {
            return Err(Exceeds {
                asked: at,
                left: self.ids.len(),
            });
        }
        Ok(Self {
            core: self.core,
            ids: self.ids.drain(at..).collect(),
        })
    }

    /// Puts others behind these.
    ///
    /// # Errors
    /// They come back if they are another pool's.
    ///
    /// Allocates if the list grows beyond its buffer.
    pub fn append(&mut self, other: Self) -> Result<(), Returned<Self>> {
        if !core::ptr::eq(self.core, other.core) {
            return Err(Returned::wrong_pool(other));
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
    pub fn release(mut self, worker: &mut Worker) -> Result<(), Returned<Self>> {
        if worker.belongs(self.core).is_err() {
            return Err(Returned::wrong_pool(self));
        }
        let ids = core::mem::take(&mut self.ids);
        self.core.release(ids.iter().rev().copied());
        worker.recycle(ids);
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
        self.core.release(self.ids.iter().rev().copied());
    }
}

impl fmt::Debug for Blocks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Blocks").field(&self.ids).finish()
    }
}
