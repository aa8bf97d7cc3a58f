//! Memory that one instance has given to another on the same devices, for a time.

use core::fmt;

use super::member::InstanceId;

/// Names a loan, from when it was given to when it is over. Never given twice by one fleet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Loan(pub(super) u64);

impl Loan {
    /// The name with this number, as [`get`](Self::get) told it. A fleet answers [`NoSuchLoan`](crate::NoSuchLoan) to one that it has not
    /// given.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// How many loans the fleet had given before.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for Loan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "loan {}", self.0)
    }
}

impl fmt::Display for Loan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Who has the memory of a loan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum LoanStage {
    /// The lender still: so many of its blocks are held, and go offline when they are released.
    Draining {
        /// Blocks above its limit that are still in service, over all shards.
        left: usize,
    },
    /// The borrower.
    Lent,
    /// The borrower still, which gives it back: so many of its blocks are held.
    Returning {
        /// Blocks above its limit that are still in service, over all shards.
        left: usize,
    },
    /// The lender again.
    Over,
}

/// A loan at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LoanState {
    /// Whose memory it is.
    pub from: InstanceId,
    /// Who gets it.
    pub to: InstanceId,
    /// Blocks that the lender gives on each rank or shard.
    pub given: usize,
    /// Blocks that the borrower gets for them on each rank or shard.
    pub taken: usize,
    /// Bytes over all ranks or shards that are left over, as they are too few for a block more on each.
    pub left_over_bytes: u64,
    /// Who has the memory.
    pub stage: LoanStage,
}

/// What a fleet keeps of a loan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Debt {
    pub(super) loan: Loan,
    pub(super) state: LoanState,
}
