//! What the sequences of a registry would have the engine compute in its next step.

use super::Sequences;
use super::sequence::Sequence;
use super::transit::{Load, Transit};
use crate::transfer::Phase;

impl Sequences {
    /// Positions that its sequences are to have computed next, each at least one and at most `most`; none those that go on elsewhere.
    ///
    /// Looks at every slot.
    pub(crate) fn demand(&self, most: u64) -> u64 {
        let block_size = self.core().block_size;
        self.registry
            .iter()
            .filter(|(_, sequence)| !sequence.goes_on_elsewhere())
            .map(|(cursor, sequence)| {
                let there = sequence.seal.computed.max(sequence.expected(block_size));
                let left = cursor.positions.saturating_sub(there);
                (left as u64).min(most).max(1)
            })
            .fold(0, u64::saturating_add)
    }
}

impl Sequence {
    fn goes_on_elsewhere(&self) -> bool {
        match &self.transit {
            Transit::Leaving { export, .. } => export.phase() != Phase::Aborted,
            _ => false,
        }
    }

    /// Positions from the start that a load brings, as far as that is still to be hoped.
    fn expected(&self, block_size: usize) -> usize {
        match &self.transit {
            Transit::Loading(load) => load.expected(block_size),
            _ => 0,
        }
    }
}

impl Load {
    fn expected(&self, block_size: usize) -> usize {
        if self.import.is_settled() {
            let come = self.import.arrived_from(self.arrived);
            let there = (self.first + self.arrived + come).saturating_mul(block_size);
            return there.min(self.positions).min(self.good);
        }
        self.positions.min(self.good)
    }
}
