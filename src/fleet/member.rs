//! One instance of a fleet: its name, what it serves, and whether it takes requests.

use alloc::vec::Vec;
use core::fmt;

use crate::block::ShardId;
use crate::instance::Instance;
use crate::lease::Leases;
use crate::pool::{Core, address};

/// Names an instance of a fleet, from when it was added to its removal. Never given twice by one fleet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct InstanceId(pub(super) u64);

impl InstanceId {
    /// The name with this number, as [`get`](Self::get) told it. A fleet answers [`NoSuchInstance`](crate::NoSuchInstance) to one that it
    /// has not given.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// How many instances the fleet had been given before.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instance {}", self.0)
    }
}

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What an instance is to a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// The model that it serves, as the engine numbers them. Requests for another are never placed on it.
    pub model: u64,
    /// Positions that it can compute in a step: its token service.
    pub service: u64,
    /// Positions a step that admissions may bring its demand to.
    pub max_service: u64,
    /// Whether it takes requests from the start. If not it is charged and reported, and takes none until
    /// [`set_ready`](crate::Fleet::set_ready).
    pub ready: bool,
    /// References that the leases of moves from it may hold together on each shard.
    pub lease_budget: usize,
}

impl Member {
    /// It serves this model, can compute so many positions in a step, and takes requests; without a cap on what is demanded of it, or on
    /// leases.
    #[must_use]
    pub const fn new(model: u64, service: u64) -> Self {
        Self {
            model,
            service,
            max_service: u64::MAX,
            ready: true,
            lease_budget: usize::MAX,
        }
    }

    /// With a cap on the positions a step that admissions may bring its demand to. Who finds nothing demanded is admitted in any case.
    #[must_use]
    pub const fn max_service(mut self, positions: u64) -> Self {
        self.max_service = positions;
        self
    }

    /// Whether it takes requests from the start.
    #[must_use]
    pub const fn ready(mut self, ready: bool) -> Self {
        self.ready = ready;
        self
    }

    /// With a budget for the leases of moves, in references on each shard.
    #[must_use]
    pub const fn lease_budget(mut self, references: usize) -> Self {
        self.lease_budget = references;
        self
    }
}

/// Whether an instance of a fleet takes requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum InstanceState {
    /// Not yet.
    Starting,
    /// It does.
    Ready,
    /// Not any more: those that it has go on.
    Draining,
}

impl fmt::Display for InstanceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Draining => "draining",
        })
    }
}

/// The names of its shards, or of its ranks.
pub(super) fn shard_names(instance: &Instance) -> impl Iterator<Item = ShardId> {
    let ranks = (0..instance.width()).filter_map(|at| instance.rank(at));
    ranks.map(|it| it.shard)
}

/// An instance in its fleet.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: InstanceId,
    pub(super) instance: Instance,
    pub(super) member: Member,
    pub(super) state: InstanceState,
    /// The admission of the fleet that it had last.
    pub(super) turn: u64,
    /// For moves from it: a table for each shard.
    pub(super) leases: Vec<Leases>,
}

impl Entry {
    /// Whether some pool of it is the other's, too.
    pub(super) fn shares_a_pool(&self, core: &Core) -> bool {
        let shards = self.instance.shards();
        shards.iter().any(|it| address(it.core()) == address(core))
    }

    /// Positions in so many of its blocks.
    pub(super) fn positions(&self, blocks: usize) -> usize {
        blocks.saturating_mul(self.instance.block_size())
    }
}
