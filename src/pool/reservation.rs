//! A promise: credits set aside, with no block yet.

use core::fmt;

use super::blocks::Blocks;
use super::core::Core;
use super::find::Purse;
use super::worker::{BlockList, INLINE, Worker};
use crate::block::BlockId;
use crate::error::{Exceeds, Refused, TakeError};

/// The right to so many blocks, promised by [`reserve`](crate::BlockPool::reserve). Taking within it does not fail, whatever
/// others do.
///
/// It names no ids: idle blocks stay findable until they are needed. Dropping it gives back what is left.
#[must_use = "dropping a reservation gives it back"]
pub struct Reservation<'p> {
    core: &'p Core,
    left: u32,
}

impl<'p> Reservation<'p> {
    pub(crate) const fn new(core: &'p Core, left: u32) -> Self {
        Self { core, left }
    }

    /// Blocks still promised.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.left as usize
    }

    /// Whether nothing is promised any more.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Takes `n` blocks: free ones first, then idle ones in the order of reclaim.
    ///
    /// # Errors
    /// [`TakeError::Exceeds`]: less is left. [`TakeError::WrongPool`]: the worker is another pool's. [`TakeError::OutOfMemory`]: no
    /// memory for a list of more than 8 blocks. Nothing else: the promise is kept.
    ///
    /// Free blocks cost one read-modify-write for up to 64 neighbours; for idle ones see `maintain`. No allocation in
    /// steady state.
    #[inline]
    pub fn take(&mut self, worker: &mut Worker, n: usize) -> Result<Blocks<'p>, TakeError> {
        worker.belongs(self.core)?;
        let credits = self.within(n)?;
        let mut few = [BlockId::NONE; INLINE];
        let ids = if let Some(few_of_them) = few.get_mut(..n) {
            self.take_into(worker, few_of_them, credits);
            BlockList::from_buf_and_len(few, n)
        } else {
            let mut ids = worker.list(n)?;
            ids.resize(n, BlockId::NONE);
            self.take_into(worker, &mut ids, credits);
            ids
        };
        Ok(Blocks::new(self.core, ids))
    }

    /// Takes a block for each place, held once by whoever gets them, for as many credits, which are [`within`](Self::within).
    #[inline]
    pub(crate) fn take_into(&mut self, worker: &mut Worker, places: &mut [BlockId], credits: u32) {
        self.core.obtain(worker, places);
        self.left -= credits;
        self.core.credits.spend(credits);
    }

    /// Promises `n` more.
    ///
    /// # Errors
    /// As [`reserve`](crate::BlockPool::reserve); `NeverFits` if it would then be larger than the pool.
    pub fn grow(&mut self, n: usize) -> Result<(), Refused> {
        self.left += self.core.reserve(n, self.len())?;
        Ok(())
    }

    /// Gives `n` back.
    ///
    /// # Errors
    /// [`Exceeds`]: less is left.
    pub fn shrink(&mut self, n: usize) -> Result<(), Exceeds> {
        let credits = self.within(n)?;
        self.left -= credits;
        self.core.credits.unreserve(credits);
        Ok(())
    }

    /// Splits `n` off as a promise of its own.
    ///
    /// # Errors
    /// [`Exceeds`]: less is left.
    pub fn split(&mut self, n: usize) -> Result<Self, Exceeds> {
        let credits = self.within(n)?;
        self.left -= credits;
        Ok(Self {
            core: self.core,
            left: credits,
        })
    }

    #[inline]
    pub(crate) fn within(&self, n: usize) -> Result<u32, Exceeds> {
        match u32::try_from(n) {
            Ok(credits) if credits <= self.left => Ok(credits),
            _ => Err(Exceeds {
                asked: n,
                left: self.len(),
            }),
        }
    }

    pub(crate) fn belongs(&self, core: &Core) -> bool {
        core::ptr::eq(self.core, core)
    }
    pub(crate) const fn core(&self) -> &'p Core {
        self.core
    }

    /// Lets a call pay for idle hits.
    pub(crate) fn lend<T>(&mut self, call: impl FnOnce(&mut Purse<'_>) -> T) -> T {
        let mut purse = Purse::reserved(self.left);
        let result = call(&mut purse);
        let spent = purse.close();
        self.left -= spent;
        self.core.credits.spend(spent);
        result
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.core.credits.unreserve(self.left);
    }
}

impl fmt::Debug for Reservation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation")
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}
