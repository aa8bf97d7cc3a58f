//! What can be wrong with the shards of an instance.

use core::error::Error;
use core::fmt;

use super::MAX_SHARDS;
use crate::block::ShardId;
use crate::error::{CreateError, ResizeError};

/// Why an instance could not be made of these shards or ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstanceError {
    /// It needs at least one.
    NoShards,
    /// More than [`MAX_SHARDS`].
    TooManyShards {
        /// Shards given.
        asked: usize,
    },
    /// Two have the same name, so that a refusal would not say which.
    SameShard {
        /// The name.
        shard: ShardId,
    },
    /// Its blocks have another size than the first shard's.
    BlockSize {
        /// Which.
        shard: ShardId,
        /// Positions of its blocks.
        got: usize,
        /// Positions of the first shard's.
        expected: usize,
    },
    /// Its registry has another number of slots than the first shard's.
    Slots {
        /// Which.
        shard: ShardId,
        /// Slots of its registry.
        got: usize,
        /// Slots of the first shard's.
        expected: usize,
    },
    /// Its registry has sequences already, or copies or loads under way.
    InUse {
        /// Which.
        shard: ShardId,
    },
    /// The pool or its registry could not be made.
    Create(CreateError),
    /// The allocator of the host had no memory.
    OutOfMemory,
}

impl fmt::Display for InstanceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoShards => f.write_str("an instance needs at least one shard"),
            Self::TooManyShards { asked } => {
                write!(f, "{asked} shards are more than {MAX_SHARDS}")
            }
            Self::SameShard { shard } => write!(f, "two shards are named {shard}"),
            Self::BlockSize {
                shard,
                got,
                expected,
            } => write!(
                f,
                "shard {shard} has blocks of {got} positions, the first one of {expected}"
            ),
            Self::Slots {
                shard,
                got,
                expected,
            } => write!(
                f,
                "shard {shard} has {got} slots for sequences, the first one {expected}"
            ),
            Self::InUse { shard } => {
                write!(f, "the registry of shard {shard} is in use already")
            }
            Self::Create(error) => error.fmt(f),
            Self::OutOfMemory => f.write_str("no memory for the list of shards"),
        }
    }
}
impl Error for InstanceError {}

impl From<CreateError> for InstanceError {
    fn from(error: CreateError) -> Self {
        Self::Create(error)
    }
}

/// Why an instance has as many blocks as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstanceResizeError {
    /// There is no such rank or shard.
    NoSuchRank {
        /// The place that was named.
        at: usize,
        /// Ranks that there are.
        ranks: usize,
    },
    /// One of them can't have more, or fewer. No shard has changed.
    Shard {
        /// Which.
        shard: ShardId,
        /// Why.
        error: ResizeError,
    },
}

impl fmt::Display for InstanceResizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchRank { at, ranks } => write!(f, "rank {at} of {ranks} does not exist"),
            // It names the shard itself.
            Self::Shard {
                error: ResizeError::Refused(refused),
                ..
            } => refused.fmt(f),
            Self::Shard { shard, error } => write!(f, "shard {shard}: {error}"),
        }
    }
}
impl Error for InstanceResizeError {}
