//! The figures of a table of leases.

use core::fmt;

use crate::array::try_bits;
use crate::error::{OutOfMemory, or_abort};
use crate::lease::Leases;

/// The figures of one table of leases at one look. They add up exactly at rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LeasesReport {
    /// Blocks of the pool.
    pub capacity: usize,
    /// Leases that live.
    pub leases: usize,
    /// Different blocks that they hold.
    pub blocks: usize,
    /// References that they hold: a block once for each lease.
    pub references: usize,
    /// References that they may hold.
    pub budget: usize,
    /// The latest time that the table was told.
    pub now: u64,
    /// Leases that ended because their end had come and was noticed.
    pub expired: u64,
}

impl Leases {
    /// The figures. Looks at every reference once. Allocates, and aborts where there is no memory: [`try_report`](Self::try_report)
    /// tells.
    #[must_use]
    pub fn report(&self) -> LeasesReport {
        or_abort(self.try_report())
    }

    /// The figures, if there is memory to count them.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    ///
    /// As [`report`](Self::report).
    pub fn try_report(&self) -> Result<LeasesReport, OutOfMemory> {
        let core = self.core();
        let mut blocks = try_bits(core.states.len())?;
        let mut references = 0;
        let leases = self
            .iter()
            .inspect(|lease| {
                for block in lease.held() {
                    references += 1;
                    blocks.set(block.index(), true);
                }
            })
            .count();
        Ok(LeasesReport {
            capacity: core.capacity(),
            leases,
            blocks: blocks.count_ones(),
            references,
            budget: self.budget(),
            now: self.now(),
            expired: self.expired(),
        })
    }
}

impl fmt::Display for LeasesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} leases at {}", self.leases, self.now)?;
        super::blocks(
            f,
            "leased",
            self.blocks,
            self.capacity,
            "   shared ones once",
        )?;
        writeln!(
            f,
            "  {:<20}{:>14} of {}",
            "references", self.references, self.budget
        )?;
        write!(f, "  {:<20}{:>14}", "expired", self.expired)
    }
}
