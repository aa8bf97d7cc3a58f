//! What the leases of one table come to.
//!
//! # Orderings
//! A lease's references go back to the budget after its blocks: Release in [`give_back`](Account::give_back) pairs with Acquire in
//! [`used`](Account::used), so a table that sees room in its budget sees the blocks behind it released (model
//! `lease::budget_after_blocks`). Only the table's owner adds, so no more than it saw can be in use when it does: Relaxed.

use crate::pool::Core;
use crate::shared::Shared;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{AtomicU64, mutant, unmodelled};

/// Shared by a table and the handles of its leases, which may outlive it.
pub(super) struct Account {
    pub(super) core: Shared<Core>,
    /// References that live leases hold. Raised by the table, lowered by whoever ends a lease.
    used: AtomicU64,
    /// Leases whose end was noticed when it had come. A statistic.
    expired: unmodelled::AtomicU64,
}

impl Account {
    pub(super) fn new(core: Shared<Core>) -> Self {
        Self {
            core,
            used: AtomicU64::new(0),
            expired: unmodelled::AtomicU64::new(0),
        }
    }

    pub(super) fn used(&self) -> u64 {
        let relaxed = mutant("lease-budget-relaxed");
        self.used.load(if relaxed { Relaxed } else { Acquire })
    }

    pub(super) fn charge(&self, references: u64) {
        self.used.fetch_add(references, Relaxed);
    }

    pub(super) fn give_back(&self, references: u64) {
        self.used.fetch_sub(references, Release);
    }

    pub(super) fn expired(&self) -> u64 {
        self.expired.load(Relaxed)
    }

    pub(super) fn count_expired(&self) {
        self.expired.fetch_add(1, Relaxed);
    }
}
