//! A sequence on its way from one instance to another.

use core::fmt;

use super::member::InstanceId;
use super::move_error::MoveOver;
use crate::instance::{InstanceExport, InstanceImported};
use crate::lease::Owner;
use crate::pool::Core;
use crate::sequence::Handle;
use crate::transfer::{Flights, Import, NotOpen};

/// Under which terms a sequence is moved.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MoveTerms<'a> {
    /// For whom the blocks that are read are held: at most one move from an instance at a time for each owner.
    pub owner: Owner,
    /// Until when they are held, in the [time](crate::Fleet::tick) of the fleet. What is read later does not count.
    pub deadline: u64,
    /// Who fills the blocks of each shard.
    pub writers: usize,
    /// Where the bytes under way are counted.
    pub flights: Option<&'a Flights>,
}

impl<'a> MoveTerms<'a> {
    /// For this owner, until this time; one writer for each shard.
    #[must_use]
    pub const fn new(owner: Owner, deadline: u64) -> Self {
        Self {
            owner,
            deadline,
            writers: 1,
            flights: None,
        }
    }

    /// Filled by so many writers on each shard.
    #[must_use]
    pub const fn writers(mut self, writers: usize) -> Self {
        self.writers = writers;
        self
    }

    /// Counted against a cap on bytes under way.
    #[must_use]
    pub const fn flights(mut self, flights: &'a Flights) -> Self {
        self.flights = Some(flights);
        self
    }
}

/// How far a move is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Open,
    /// The destination has it; the source is not released.
    Committed,
    Over,
}

/// A sequence on its way. [Finish](crate::Fleet::finish_move) it when everything has arrived, or [abort](crate::Fleet::abort_move) it.
///
/// Dropping it calls it off: the source goes on. What was admitted for it at the destination is then the caller's to release, under its
/// [handle](Self::handle).
#[must_use = "dropping a move calls it off"]
pub struct Move {
    pub(super) from: InstanceId,
    pub(super) source: Handle,
    pub(super) to: InstanceId,
    pub(super) export: InstanceExport,
    pub(super) imported: InstanceImported,
    pub(super) stage: Stage,
}

impl Move {
    /// Where it was.
    #[must_use]
    pub const fn from(&self) -> InstanceId {
        self.from
    }

    /// Its name there.
    #[must_use]
    pub const fn source(&self) -> Handle {
        self.source
    }

    /// Where it goes.
    #[must_use]
    pub const fn to(&self) -> InstanceId {
        self.to
    }

    /// Its name there.
    #[must_use]
    pub const fn handle(&self) -> Handle {
        self.imported.handle
    }

    /// Positions that were found there and need not come.
    #[must_use]
    pub const fn hit(&self) -> usize {
        self.imported.hit
    }

    /// What is read, on each shard.
    #[must_use]
    pub const fn export(&self) -> &InstanceExport {
        &self.export
    }

    /// For the writers of each shard: which blocks they fill, and their answers.
    #[must_use]
    pub fn imports(&self) -> &[Import] {
        &self.imported.imports
    }

    /// A pool that is read.
    pub(super) fn read_core(&self) -> Option<&Core> {
        self.export.shards().first().map(|it| it.lease().core())
    }

    /// A pool that is written to.
    pub(super) fn filled_core(&self) -> Option<&Core> {
        self.imported.imports.first().map(Import::core)
    }

    pub(super) fn check_open(&self) -> Result<(), MoveOver> {
        if self.stage == Stage::Over {
            return Err(MoveOver);
        }
        Ok(())
    }

    /// The source goes on with it, unless the destination has it.
    pub(super) fn call_off(&self) -> Result<(), NotOpen> {
        if let Err(error @ NotOpen::Committed) = self.export.abort() {
            return Err(error);
        }
        for export in self.export.shards() {
            // It may have been called off already, on one shard by itself.
            let _ = export.abort();
        }
        Ok(())
    }
}

impl Drop for Move {
    fn drop(&mut self) {
        if self.stage == Stage::Open {
            // It may have been committed by the destination's registry.
            let _ = self.call_off();
        }
    }
}

impl fmt::Debug for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Move")
            .field("from", &self.from)
            .field("to", &self.to)
            .field("hit", &self.hit())
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}
