//! Credits: the right to take a block, counted apart from the blocks.
//!
//! ```text
//!  63                     32 31                      0
//! +-------------------------+-------------------------+
//! |        available        |        reserved         |
//! +-------------------------+-------------------------+
//! ```
//! `available + reserved` = free + idle blocks, whenever no call is under way. A credit is taken before its block, and given back
//! only after the block is visible to those who look for one; so whoever has a credit finds a block, or somebody else is
//! making progress.
//!
//! Nothing outside this file may assume that the credits are one word: it could become one a worker, with stealing.
//!
//! # Orderings
//! Giving back is Release and taking Acquire: the block behind a credit is visible to whoever got it (models
//! `release-vs-take`, `credit-after-block`). All changes are read-modify-writes, so a later taker also sees what stands behind
//! earlier credits. Spending is Relaxed: it hands on nothing.
//!
//! # Complexity
//! One read-modify-write each; no allocation.

use super::packed::{Atomic, Packed};
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::Padded;

const RESERVED_BITS: u32 = 32;

/// The credits at one instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Credit {
    pub(crate) available: u32,
    pub(crate) reserved: u32,
}

impl Packed for Credit {
    fn to_bits(self) -> u64 {
        u64::from(self.available) << RESERVED_BITS | u64::from(self.reserved)
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the two halves are the fields"
    )]
    fn from_bits(bits: u64) -> Self {
        Self {
            available: (bits >> RESERVED_BITS) as u32,
            reserved: bits as u32,
        }
    }
}

const fn available(n: u32) -> u64 {
    (n as u64) << RESERVED_BITS
}

/// The credits of one shard.
#[derive(Debug)]
pub(crate) struct Credits(Padded<Atomic<Credit>>);

impl Credits {
    pub(crate) fn new(available: u32) -> Self {
        Self(Padded(Atomic::new(Credit {
            available,
            reserved: 0,
        })))
    }

    #[inline]
    pub(crate) fn now(&self) -> Credit {
        self.0.0.load(Relaxed)
    }

    /// Sets `n` credits aside, or says how many are available.
    #[inline]
    pub(crate) fn reserve(&self, n: u32) -> Result<(), u32> {
        self.withdraw(n, n, 0)
    }

    /// Sets up to `n` credits aside, as many as there are; returns how many.
    pub(crate) fn reserve_up_to(&self, n: u32) -> u32 {
        let mut wanted = n;
        while let Err(available) = self.reserve(wanted) {
            wanted = wanted.min(available);
        }
        wanted
    }

    /// Sets `n` credits aside if `kept` more stay available, or says how many are.
    pub(crate) fn reserve_above(&self, n: u32, kept: u32) -> Result<(), u32> {
        self.withdraw(n, n, kept)
    }

    /// Takes `n` available credits for blocks at once, or says how many there are.
    pub(crate) fn withdraw_available(&self, n: u32) -> Result<(), u32> {
        self.withdraw(n, 0, 0)
    }

    /// Takes `n` available credits, sets the first `promised` of them aside, the others are for blocks at once. Or says how
    /// many there are.
    #[inline]
    pub(crate) fn withdraw_promising(&self, n: u32, promised: u32) -> Result<(), u32> {
        self.withdraw(n, promised, 0)
    }

    #[inline]
    fn withdraw(&self, n: u32, reserved: u32, kept: u32) -> Result<(), u32> {
        let next = |c: Credit| Credit {
            available: c.available - n,
            reserved: c.reserved + reserved,
        };
        let mut current = self.now();
        loop {
            if n > 0 && (current.available < n || current.available - n < kept) {
                return Err(current.available);
            }
            match self
                .0
                .0
                .compare_exchange(current, next(current), Acquire, Relaxed)
            {
                Ok(_) => return Ok(()),
                // Another thread reserved, spent or gave back: it progressed.
                Err(actual) => current = actual,
            }
        }
    }

    /// `n` reserved credits became blocks.
    #[inline]
    pub(crate) fn spend(&self, n: u32) {
        if n > 0 {
            let before = self
                .0
                .0
                .fetch_add_bits(0_u64.wrapping_sub(u64::from(n)), Relaxed);
            debug_assert!(before.reserved >= n, "more spent than reserved");
        }
    }

    /// `n` reserved credits are available again.
    #[inline]
    pub(crate) fn unreserve(&self, n: u32) {
        if n > 0 {
            let before = self
                .0
                .0
                .fetch_add_bits(available(n).wrapping_sub(u64::from(n)), Release);
            debug_assert!(before.reserved >= n, "more given back than reserved");
        }
    }

    /// `n` blocks became free or idle, and stay promised to whoever had them.
    pub(crate) fn deposit_reserved(&self, n: u32) {
        if n > 0 {
            self.0.0.fetch_add_bits(u64::from(n), Release);
        }
    }

    /// `n` blocks became free or idle.
    #[inline]
    pub(crate) fn deposit(&self, n: u32) {
        if n > 0 {
            self.0.0.fetch_add_bits(available(n), Release);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_sum_moves_only_with_blocks() {
        let credits = Credits::new(10);
        let now = || (credits.now().available, credits.now().reserved);
        assert_eq!(credits.reserve(11), Err(10));
        assert_eq!(credits.reserve(4), Ok(()));
        assert_eq!(now(), (6, 4));
        assert_eq!(credits.withdraw_available(7), Err(6));
        credits.spend(3);
        assert_eq!(now(), (6, 1));
        credits.unreserve(1);
        assert_eq!(now(), (7, 0));
        credits.deposit(3);
        assert_eq!(now(), (10, 0));
        assert_eq!(credits.reserve_up_to(4), 4);
        assert_eq!(credits.reserve_up_to(9), 6);
        assert_eq!(credits.reserve_up_to(9), 0);
        credits.unreserve(10);
        assert_eq!(credits.reserve_above(8, 3), Err(10));
        assert_eq!(credits.reserve_above(7, 3), Ok(()));
        assert_eq!(now(), (3, 7));
        credits.spend(2);
        credits.deposit_reserved(2);
        assert_eq!(credits.withdraw_promising(3, 1), Ok(()));
        assert_eq!(now(), (0, 8));
        credits.deposit(2);
        credits.unreserve(8);
        assert_eq!(credits.withdraw_available(10), Ok(()));
        assert_eq!(now(), (0, 0));
    }
}
