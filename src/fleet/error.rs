//! What can be wrong with the instances of a fleet.

use core::error::Error;
use core::fmt;

use super::member::InstanceId;
use crate::block::ShardId;
use crate::error::{CreateError, OutOfMemory, one_of};

/// The fleet has no such instance: it was removed, or is another fleet's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoSuchInstance {
    /// The one named.
    pub instance: InstanceId,
}

impl fmt::Display for NoSuchInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the fleet has no instance {}", self.instance)
    }
}
impl Error for NoSuchInstance {}

/// Two instances are needed, and one was named twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SameInstance {
    /// The one named.
    pub instance: InstanceId,
}

impl fmt::Display for SameInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instance {} was named twice", self.instance)
    }
}
impl Error for SameInstance {}

/// It can compute nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct NoService;

impl fmt::Display for NoService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an instance must be able to compute at least one position in a step")
    }
}
impl Error for NoService {}

/// A pool of it is that of another instance, whose memory would be counted twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SharedPool {
    /// Which.
    pub shard: ShardId,
    /// Who has it.
    pub instance: InstanceId,
}

impl fmt::Display for SharedPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shard, instance } = self;
        write!(
            f,
            "the pool of shard {shard} is that of instance {instance}"
        )
    }
}
impl Error for SharedPool {}

/// A shard, or rank, of it has the name of one of another instance, so that handles of one could name sequences of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SharedName {
    /// The name.
    pub shard: ShardId,
    /// Who has it.
    pub instance: InstanceId,
}

impl fmt::Display for SharedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shard, instance } = self;
        write!(f, "instance {instance} has a shard {shard} already")
    }
}
impl Error for SharedName {}

/// It can't be removed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotEmpty {
    /// Sequences that live.
    pub sequences: usize,
    /// Blocks that writers of imports may still touch, over all shards.
    pub loading: usize,
    /// Live leases of moves from it, over all shards.
    pub leases: usize,
    /// Loans that it has given or taken.
    pub loans: usize,
}

impl fmt::Display for NotEmpty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the instance has {} sequences, {} blocks that are being loaded, {} leases and {} loans",
            self.sequences, self.loading, self.leases, self.loans
        )
    }
}
impl Error for NotEmpty {}

one_of! {
    /// Why an instance was not added to a fleet.
    AddError {
        /// It can compute nothing.
        NoService(NoService),
        /// A pool of it is another instance's.
        SharedPool(SharedPool),
        /// A shard, or rank, of it has the name of another instance's.
        SharedName(SharedName),
        /// Its tables of leases could not be made.
        Create(CreateError),
        /// No memory for the list of instances.
        OutOfMemory(OutOfMemory),
    }
}
one_of! {
    /// Why an instance was not removed.
    RemoveError {
        /// No such instance.
        NoSuchInstance(NoSuchInstance),
        /// It is in use.
        NotEmpty(NotEmpty),
    }
}
