//! Why a lease was not granted, or is none any more.

use core::error::Error;
use core::fmt;

use super::owner::Owner;
use crate::error::{TooManyReferences, WrongPool};

/// Why a lease was not granted. Nothing is held for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseError {
    /// The chain is another pool's.
    WrongPool,
    /// The owner has a live lease of this table.
    OwnerTaken {
        /// Whose.
        owner: Owner,
    },
    /// Its end has come already.
    AlreadyOver {
        /// The end asked for.
        deadline: u64,
        /// The table's time.
        now: u64,
    },
    /// The live leases would hold more than they may.
    OverBudget {
        /// References that it would hold.
        needed: usize,
        /// References that the budget has left.
        left: usize,
    },
    /// A block cannot have one more owner.
    TooManyReferences(TooManyReferences),
    /// The host's allocator had no memory for it.
    OutOfMemory,
}

impl fmt::Display for LeaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::WrongPool => WrongPool.fmt(f),
            Self::OwnerTaken { owner } => write!(f, "owner {owner} has a lease already"),
            Self::AlreadyOver { deadline, now } => {
                write!(f, "a lease until {deadline} is over at {now}")
            }
            Self::OverBudget { needed, left } => {
                write!(
                    f,
                    "{needed} references needed, {left} left of the budget for leases"
                )
            }
            Self::TooManyReferences(error) => error.fmt(f),
            Self::OutOfMemory => f.write_str("no memory for a lease"),
        }
    }
}
impl Error for LeaseError {}

impl From<TooManyReferences> for LeaseError {
    fn from(error: TooManyReferences) -> Self {
        Self::TooManyReferences(error)
    }
}

/// The lease is over: its blocks were given back and may hold something else by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaseEnded {
    /// Whose it was.
    pub owner: Owner,
}

impl fmt::Display for LeaseEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the lease of owner {} is over", self.owner)
    }
}
impl Error for LeaseEnded {}
