//! What a registry counts.

/// Lookups of admitted prompts, in token positions. Refused admissions are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct HitStatistics {
    /// Admitted requests.
    pub requests: u64,
    /// Positions of their prompts.
    pub queried: u64,
    /// Positions that were found.
    pub hit: u64,
}

impl HitStatistics {
    pub(super) const fn count(&mut self, queried: usize, hit: usize) {
        self.requests += 1;
        self.queried += queried as u64;
        self.hit += hit as u64;
    }

    /// Found of queried positions; 0 if there were none.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a figure to read")]
    pub fn ratio(&self) -> f64 {
        if self.queried == 0 {
            return 0.0;
        }
        self.hit as f64 / self.queried as f64
    }
}

/// Counts since the registry was made.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Statistics {
    pub(crate) first: HitStatistics,
    pub(crate) returned: HitStatistics,
    pub(crate) preemptions: u64,
    pub(crate) refused_appends: u64,
    pub(crate) copies: u64,
    pub(crate) adopted: u64,
    pub(crate) unpublished: u64,
    pub(crate) imports: u64,
    pub(crate) exports: u64,
    pub(crate) swapped_out: u64,
    pub(crate) swapped_in: u64,
    pub(crate) swap_copied: u64,
    pub(crate) swap_hits: u64,
}
