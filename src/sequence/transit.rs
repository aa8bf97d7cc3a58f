//! What a sequence waits for while its blocks come from elsewhere, or go there.

use core::error::Error;
use core::fmt;

use super::sequence::Sequence;
use crate::transfer::{Export, Handover, Import, Phase};

/// Not at the same time as a transfer of this sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InTransit {
    /// Writers are filling its blocks: it has what has arrived.
    Loading {
        /// Positions that are there.
        arrived: usize,
    },
    /// It is being moved here, and the move has not been [committed](crate::Sequences::commit).
    Uncommitted,
    /// It is offered to be moved elsewhere: abort that, or wait.
    Leaving,
    /// It has been moved elsewhere: release it here.
    Moved,
}

impl fmt::Display for InTransit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loading { arrived } => {
                write!(
                    f,
                    "the sequence is being loaded, {arrived} positions are there"
                )
            }
            Self::Uncommitted => f.write_str("the move of the sequence is not committed"),
            Self::Leaving => f.write_str("the sequence is offered to be moved elsewhere"),
            Self::Moved => f.write_str("the sequence has been moved elsewhere"),
        }
    }
}
impl Error for InTransit {}

/// The transfer that a sequence takes part in.
#[derive(Debug, Default)]
pub(super) enum Transit {
    #[default]
    None,
    /// Its blocks are being filled.
    Loading(Load),
    /// It is offered to go on elsewhere.
    Leaving {
        export: Export,
        /// What was left of a load when it was offered, until the offer is made known: it has that again if the offer is taken back.
        before: Option<Load>,
    },
}

/// A load under way.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) import: Import,
    /// The entry of the table that the import's first block is.
    pub(super) first: usize,
    /// Blocks of it that have arrived without a gap.
    pub(super) arrived: usize,
    /// Positions that the load brings at most.
    pub(super) positions: usize,
    /// What comes for positions from here on is bad.
    pub(super) good: usize,
}

impl Load {
    /// Positions from the start that are there.
    pub(super) fn arrived_positions(&self, block_size: usize) -> usize {
        let there = (self.first + self.arrived) * block_size;
        there.min(self.positions).min(self.good)
    }

    /// Whether its blocks are still the source's as well.
    pub(super) fn reads_source(&self) -> bool {
        let under_way = self.moved().is_some() || !self.import.is_settled();
        under_way && self.import.source().is_some()
    }

    /// The move that brings it, if it is one.
    pub(super) fn moved(&self) -> Option<&Export> {
        let source = self.import.source();
        source.filter(|source| source.handover() == Handover::Move)
    }
}

impl Sequence {
    /// Whether it may get positions now.
    pub(super) fn check_growth(&self) -> Result<(), InTransit> {
        match &self.transit {
            Transit::Loading(load) if load.moved().is_some() => Err(InTransit::Uncommitted),
            Transit::Leaving { export, .. } => match export.phase() {
                Phase::Offered | Phase::Linked => Err(InTransit::Leaving),
                Phase::Committed => Err(InTransit::Moved),
                // Nobody writes what is being read.
                Phase::Aborted if export.source_waits() => Err(InTransit::Leaving),
                Phase::Aborted => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Whether it takes part in no transfer that depends on its blocks as they are.
    pub(super) fn check_settled(&self, block_size: usize) -> Result<(), InTransit> {
        self.check_growth()?;
        self.check_loaded(block_size)
    }

    /// Whether nobody else writes to its blocks.
    pub(super) fn check_loaded(&self, block_size: usize) -> Result<(), InTransit> {
        match &self.transit {
            Transit::Loading(load) if !load.import.is_settled() => Err(InTransit::Loading {
                // What has come to this shard of several counts as far as it has come to all.
                arrived: load.arrived_positions(block_size).min(self.seal.computed),
            }),
            _ => Ok(()),
        }
    }

    /// Whether its blocks are being read, and not written until that is done, whoever has it then.
    pub(super) fn waits_for_reader(&self) -> bool {
        matches!(&self.transit, Transit::Leaving { export, .. } if export.source_waits())
    }

    /// Whether more of it may be computed: what a swap takes with it is all that there is, until it has ended, on either side.
    pub(super) fn check_computes(&self) -> Result<(), InTransit> {
        let export = match &self.transit {
            Transit::None => None,
            Transit::Loading(load) => load.moved(),
            Transit::Leaving { export, .. } => Some(export),
        };
        match export {
            Some(export) if export.is_swap() => self.check_growth(),
            _ => Ok(()),
        }
    }

    /// Positions from here on are taken back: what came for them counts for none that are appended later.
    pub(super) fn truncate_load(&mut self, positions: usize) {
        if let Transit::Loading(load) = &mut self.transit {
            load.positions = load.positions.min(positions);
        }
    }

    /// What a load brought or brings for positions from here on is bad. False: it brings nothing for them.
    pub(super) fn spoil_load(&mut self, positions: usize) -> bool {
        match &mut self.transit {
            Transit::Loading(load) if positions < load.positions.min(load.good) => {
                load.good = positions;
                true
            }
            _ => false,
        }
    }

    /// Nothing is left to come for its load, of which it has all or not.
    pub(super) fn end_load(&mut self, complete: bool) {
        if let (Transit::Loading(load), true) = (&self.transit, complete) {
            if let Some(source) = load.import.source() {
                // It may have been called off: it is here all the same.
                let _ = source.commit();
            }
            self.transit = Transit::None;
        } else {
            self.leave_transit();
        }
    }

    /// It is offered to go on elsewhere.
    pub(super) fn offer(&mut self, export: Export) {
        let before = match core::mem::take(&mut self.transit) {
            Transit::Loading(load) => Some(load),
            // Called off, or there is none.
            Transit::Leaving { .. } | Transit::None => None,
        };
        self.transit = Transit::Leaving { export, before };
    }

    /// The offer is made known: nobody waits for what was left of a load.
    pub(super) fn make_offer_known(&mut self) {
        if let Transit::Leaving { before, .. } = &mut self.transit {
            if let Some(load) = before.take() {
                load.import.give_up();
            }
        }
    }

    /// The offer, which has been called off, was never made known.
    pub(super) fn take_offer_back(&mut self) {
        if let Transit::Leaving { before, .. } = &mut self.transit {
            self.transit = before.take().map_or(Transit::None, Transit::Loading);
        }
    }

    /// It leaves its transfer: nobody waits for what comes, nobody else goes on with it.
    pub(super) fn leave_transit(&mut self) {
        match core::mem::take(&mut self.transit) {
            Transit::None => {}
            Transit::Loading(load) => load.import.give_up(),
            Transit::Leaving { export, .. } => {
                // Committed: the other side has it, and this one ends.
                let _ = export.abort();
            }
        }
    }
}
