//! What became of the requests that a fleet was given.

use super::Fleet;
use super::refusal::NoPlace;

/// Requests that a fleet was asked to admit, by what became of them. Each call counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct FleetStatistics {
    /// Admitted.
    pub placed: u64,
    /// Refused, as they fit on no instance whatever leaves.
    pub never: u64,
    /// Refused for now, for want of memory.
    pub later: u64,
    /// Those of them that would have fit in what is available in sum.
    pub later_fits_in_sum: u64,
    /// Refused for now, for want of token service.
    pub service_full: u64,
    /// Not admitted for another reason.
    pub otherwise: u64,
}

impl FleetStatistics {
    pub(super) const fn new() -> Self {
        Self {
            placed: 0,
            never: 0,
            later: 0,
            later_fits_in_sum: 0,
            service_full: 0,
            otherwise: 0,
        }
    }

    pub(super) fn count(&mut self, refused: &NoPlace) {
        let counter = match refused {
            NoPlace::Never { .. } => &mut self.never,
            NoPlace::Later { fits_in_sum, .. } => {
                self.later_fits_in_sum += u64::from(*fits_in_sum);
                &mut self.later
            }
            NoPlace::ServiceFull { .. } => &mut self.service_full,
            _ => &mut self.otherwise,
        };
        *counter += 1;
    }
}

impl Fleet {
    /// What became of the requests so far.
    #[must_use]
    pub const fn statistics(&self) -> FleetStatistics {
        self.statistics
    }
}
