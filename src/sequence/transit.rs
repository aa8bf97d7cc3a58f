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
    Leaving(Export),
}

/// A load under way.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) import: Import,
    /// The entry of the table that the import's first block is.
    pub(super) first: usize,
    /// Blocks of it that have arrived without a gap.
    pub(super) arrived: usize,
    /// Positions that the load was to bring.
    pub(super) positions: usize,
    /// Positions before the first block whose content turned out bad.
    pub(super) sound: usize,
}

impl Load {
    /// Positions from the start that are there.
    pub(super) fn arrived_positions(&self, block_size: usize) -> usize {
        let arrived = (self.first + self.arrived) * block_size;
        arrived.min(self.positions).min(self.sound)
    }

    /// Whether some of it will not come.
    pub(super) fn has_failed(&self) -> bool {
        let mut rest = self.arrived..self.import.ids().len();
        self.sound < self.positions || rest.any(|at| self.import.has_failed(at))
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
            Transit::Leaving(export) => match export.phase() {
                Phase::Offered | Phase::Linked => Err(InTransit::Leaving),
                Phase::Committed => Err(InTransit::Moved),
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
                arrived: load.arrived_positions(block_size),
            }),
            _ => Ok(()),
        }
    }

    /// It leaves its transfer: nobody waits for what comes, nobody else goes on with it.
    pub(super) fn leave_transit(&mut self) {
        match core::mem::take(&mut self.transit) {
            Transit::None => {}
            Transit::Loading(load) => load.import.give_up(),
            Transit::Leaving(export) => {
                // Committed: the other side has it, and this one ends.
                let _ = export.abort();
            }
        }
    }
}
