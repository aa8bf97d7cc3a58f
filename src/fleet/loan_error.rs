//! Why memory is not lent, or not yet given or given back.

use core::error::Error;
use core::fmt;

use super::error::{NoSuchInstance, SameInstance};
use super::loan::Loan;
use super::member::InstanceId;
use crate::block::ShardId;
use crate::error::one_of;
use crate::instance::InstanceResizeError;

/// Why memory is not lent. Nothing is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LendError {
    /// No such instance.
    NoSuchInstance(NoSuchInstance),
    /// It can't lend to itself.
    SameInstance(SameInstance),
    /// The two have unlike numbers of ranks or shards, so that they are not on the same devices.
    Ranks {
        /// Of the lender.
        from: usize,
        /// Of the borrower.
        to: usize,
    },
    /// Nobody has said how the content of the blocks is laid out, and so how many bytes a block has: see
    /// [`SequencesConfig::format`](crate::SequencesConfig::format).
    UnknownFormat {
        /// Whose blocks.
        instance: InstanceId,
        /// On which shard.
        shard: ShardId,
    },
    /// The bytes are too few for one block of the borrower.
    TooFew {
        /// The borrower's shard where they are.
        shard: ShardId,
        /// Bytes of the lender's blocks.
        bytes: u64,
        /// Bytes of one block of the borrower.
        block_bytes: u64,
    },
    /// The lender can't have so many blocks fewer.
    Lender(InstanceResizeError),
    /// The borrower can't ever have so many blocks more.
    Borrower(InstanceResizeError),
    /// No memory for the list of loans.
    OutOfMemory,
}

impl fmt::Display for LendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoSuchInstance(error) => error.fmt(f),
            Self::SameInstance(error) => error.fmt(f),
            Self::Ranks { from, to } => {
                write!(f, "the lender has {from} ranks, the borrower {to}")
            }
            Self::UnknownFormat { instance, shard } => write!(
                f,
                "nobody says how many bytes a block of instance {instance} has on shard {shard}"
            ),
            Self::TooFew {
                shard,
                bytes,
                block_bytes,
            } => write!(
                f,
                "shard {shard}: {bytes} bytes are too few for a block of {block_bytes}"
            ),
            Self::Lender(error) => write!(f, "the lender: {error}"),
            Self::Borrower(error) => write!(f, "the borrower: {error}"),
            Self::OutOfMemory => f.write_str("no memory for the list of loans"),
        }
    }
}
impl Error for LendError {}

impl From<NoSuchInstance> for LendError {
    fn from(error: NoSuchInstance) -> Self {
        Self::NoSuchInstance(error)
    }
}
impl From<SameInstance> for LendError {
    fn from(error: SameInstance) -> Self {
        Self::SameInstance(error)
    }
}

/// The fleet has no such loan: it is over, or another fleet's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoSuchLoan {
    /// The one named.
    pub loan: Loan,
}

impl fmt::Display for NoSuchLoan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the fleet has no loan {}", self.loan)
    }
}
impl Error for NoSuchLoan {}

/// An instance did not get, or not give, its blocks. The loan is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettleError {
    /// Which.
    pub instance: InstanceId,
    /// Why.
    pub error: InstanceResizeError,
}

impl fmt::Display for SettleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instance {}: {}", self.instance, self.error)
    }
}
impl Error for SettleError {}

one_of! {
    /// Why a loan does not go on.
    LoanError {
        /// No such loan.
        NoSuchLoan(NoSuchLoan),
        /// No such instance.
        NoSuchInstance(NoSuchInstance),
        /// An instance can't have so many blocks more, or fewer.
        Resize(SettleError),
    }
}
