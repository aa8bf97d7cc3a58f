//! Pins: what a turn of a session has published is held for a while, so that the next turn finds it after the user has thought.
//!
//! A pin ends at its deadline, when the next turn of the same agent is admitted and holds what it found, or when nothing else can go on.

use alloc::vec::Vec;

use kvblock::{Handle, Instance, Lease, LeaseError, Leases, Owner, PinError};
use serde::Serialize;

use super::settings::PinSettings;
use super::step_time::Nanos;
use crate::failure::{Failure, cannot_fail};

/// What pinning came to.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct PinFigures {
    pub(crate) pins: u64,
    #[serde(rename = "pins_refused")]
    pub(crate) refused: u64,
    /// Pins that ended because nothing else could go on.
    #[serde(rename = "pins_given_up")]
    pub(crate) given_up: u64,
    /// The most blocks pinned at a time, a shared one once a pin.
    #[serde(rename = "pinned_most")]
    pub(crate) most: usize,
}

impl PinFigures {
    /// Adds those of another engine.
    pub(crate) fn add(&mut self, other: &Self) {
        self.pins += other.pins;
        self.refused += other.refused;
        self.given_up += other.given_up;
        self.most = self.most.max(other.most);
    }
}

/// The pins of an engine.
#[derive(Debug)]
pub(crate) struct Pins {
    /// A table for each shard; the same turns are in all of them.
    leases: Vec<Leases>,
    lasts: Nanos,
    pub(crate) figures: PinFigures,
}

impl Pins {
    pub(crate) fn new(instance: &Instance, settings: PinSettings) -> Result<Self, Failure> {
        let leases = instance
            .leases(settings.budget)
            .map_err(|error| Failure::Input(alloc::format!("no pins can be made: {error}")))?;
        Ok(Self {
            leases,
            lasts: settings.lasts,
            figures: PinFigures::default(),
        })
    }

    pub(crate) fn leases(&self) -> &[Leases] {
        &self.leases
    }

    /// Blocks that are pinned, on the shard that has the most.
    pub(crate) fn used(&self) -> usize {
        self.leases.iter().map(Leases::used).max().unwrap_or(0)
    }

    /// Time passes.
    pub(crate) fn tick(&mut self, now: Nanos) {
        for leases in &mut self.leases {
            leases.tick(now);
        }
    }

    /// Holds what is published of a sequence for the turn with this number.
    pub(crate) fn pin(
        &mut self,
        instance: &Instance,
        handle: Handle,
        turn: u64,
        now: Nanos,
    ) -> Result<(), Failure> {
        for leases in &mut self.leases {
            leases.tick(now);
        }
        let deadline = now.saturating_add(self.lasts).min(Lease::NO_DEADLINE - 1);
        match instance.pin(handle, &mut self.leases, Owner::new(turn), deadline) {
            Ok(_) => {
                self.figures.pins += 1;
                self.figures.most = self.figures.most.max(self.used());
            }
            // The second: at the end of the clock no pin lasts.
            Err(PinError::Lease(
                LeaseError::OverBudget { .. } | LeaseError::AlreadyOver { .. },
            )) => {
                self.figures.refused += 1;
            }
            Err(other) => return Err(cannot_fail("pin")(other)),
        }
        Ok(())
    }

    /// The turn is there, and holds what it found.
    pub(crate) fn unpin(&self, turn: u64) {
        self.end(Owner::new(turn));
    }

    /// Ends the pin with the earliest deadline; false if there is none.
    pub(crate) fn give_up_one(&mut self) -> bool {
        let leases = self.leases.first();
        let first = leases.into_iter().flat_map(Leases::iter);
        let first = first.min_by_key(|lease| lease.deadline().unwrap_or(Lease::NO_DEADLINE));
        let ended = first.is_some_and(|lease| self.end(lease.owner()));
        self.figures.given_up += u64::from(ended);
        ended
    }

    /// Ends a pin on every shard; false if it was over.
    fn end(&self, owner: Owner) -> bool {
        let mut ended = false;
        for lease in self.leases.iter().filter_map(|it| it.get(owner)) {
            ended |= lease.end().is_ok();
        }
        ended
    }

    /// Ends all of them, as the run is over.
    pub(crate) fn end_all(&mut self) {
        for lease in self.leases.iter().flat_map(Leases::iter) {
            let _ = lease.end();
        }
    }
}
