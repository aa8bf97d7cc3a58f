//! What else than K/V a rank's device memory is for.

use core::fmt;

use super::error::PlanError;

/// A whole, in the parts of [`Margin::PartsPerMillion`].
const MILLION: u32 = 1_000_000;

/// What is left alone for what nobody foresees: the runtime's own memory, fragmentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Margin {
    /// So many bytes.
    Bytes(u64),
    /// So many millionths of the device memory, rounded up to whole bytes: 50,000 are 5 %. At most 1,000,000.
    PartsPerMillion(u32),
}

impl Margin {
    fn bytes(self, device_memory: u64) -> Result<u64, PlanError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::PartsPerMillion(parts) if parts > MILLION => Err(PlanError::MarginRange {
                parts_per_million: parts,
                max: MILLION,
            }),
            Self::PartsPerMillion(parts) => {
                let product = u128::from(device_memory) * u128::from(parts);
                let bytes = product.div_ceil(u128::from(MILLION));
                // A share of at most 1 is no more than the whole.
                Ok(u64::try_from(bytes).unwrap_or(device_memory))
            }
        }
    }
}

/// What device memory is subtracted for, in the order in which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanTerm {
    /// The model's weights.
    Weights,
    /// Activations, attention workspaces, captured graphs, communication buffers.
    Workspaces,
    /// Buffers through which blocks are moved to or from elsewhere.
    Staging,
    /// What is left alone.
    Margin,
}

impl PlanTerm {
    const fn name(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::Workspaces => "workspaces",
            Self::Staging => "staging",
            Self::Margin => "margin",
        }
    }

    /// The name is a plural.
    pub(super) const fn is_plural(self) -> bool {
        matches!(self, Self::Weights | Self::Workspaces)
    }
}

impl fmt::Display for PlanTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The device memory of one rank, and what of it is not for K/V. All in bytes.
///
/// ```
/// use kvblock::{Margin, RankMemory};
/// let memory = RankMemory::new(80 << 30, 34 << 30)
///     .workspaces(3 << 30)
///     .staging(1 << 30)
///     .margin(Margin::PartsPerMillion(25_000));
/// assert_eq!(memory.left(), Ok(40 << 30));
/// # Ok::<(), kvblock::PlanError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "it says nothing until a plan is made from it"]
pub struct RankMemory {
    device_memory: u64,
    weights: u64,
    workspaces: u64,
    staging: u64,
    margin: Margin,
}

impl RankMemory {
    /// A device with so many bytes, of which the weights on this rank take some. The rest is for K/V unless more is named.
    pub const fn new(device_memory: u64, weights: u64) -> Self {
        Self {
            device_memory,
            weights,
            workspaces: 0,
            staging: 0,
            margin: Margin::Bytes(0),
        }
    }

    /// Bytes for activations, attention workspaces, captured graphs, communication. 0 otherwise.
    pub const fn workspaces(mut self, bytes: u64) -> Self {
        self.workspaces = bytes;
        self
    }

    /// Bytes for buffers through which blocks are moved. 0 otherwise.
    pub const fn staging(mut self, bytes: u64) -> Self {
        self.staging = bytes;
        self
    }

    /// What is left alone. Nothing otherwise.
    pub const fn margin(mut self, margin: Margin) -> Self {
        self.margin = margin;
        self
    }

    /// Bytes of the device.
    #[must_use]
    pub const fn device_memory(&self) -> u64 {
        self.device_memory
    }

    /// What is left for K/V, in bytes.
    ///
    /// # Errors
    /// [`PlanError::MarginRange`], or [`PlanError::DoesNotFit`] with the first term that does not.
    pub fn left(&self) -> Result<u64, PlanError> {
        let mut left = self.device_memory;
        for (term, needed) in self.terms()? {
            left = left
                .checked_sub(needed)
                .ok_or(PlanError::DoesNotFit { term, needed, left })?;
        }
        Ok(left)
    }

    /// What is subtracted, each with its bytes.
    pub(super) fn terms(&self) -> Result<[(PlanTerm, u64); 4], PlanError> {
        Ok([
            (PlanTerm::Weights, self.weights),
            (PlanTerm::Workspaces, self.workspaces),
            (PlanTerm::Staging, self.staging),
            (PlanTerm::Margin, self.margin.bytes(self.device_memory)?),
        ])
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_margin_is_rounded_up_and_never_more_than_all() {
        for (parts, device_memory, expected) in [
            (0, u64::MAX, 0),
            (1, 1, 1),
            (50_000, 100, 5),
            (50_000, 101, 6),
            (MILLION, u64::MAX, u64::MAX),
            (MILLION - 1, u64::MAX, 18_446_725_626_965_477_906),
        ] {
            let margin = Margin::PartsPerMillion(parts);
            assert_eq!(margin.bytes(device_memory), Ok(expected), "{parts}");
        }
        assert_eq!(
            Margin::PartsPerMillion(MILLION + 1).bytes(1),
            Err(PlanError::MarginRange {
                parts_per_million: 1_000_001,
                max: 1_000_000
            })
        );
    }

    #[test]
    fn the_first_term_that_does_not_fit_is_named_with_what_was_left() {
        let memory = RankMemory::new(100, 60).workspaces(30).staging(11);
        assert_eq!(
            memory.margin(Margin::Bytes(u64::MAX)).left(),
            Err(PlanError::DoesNotFit {
                term: PlanTerm::Staging,
                needed: 11,
                left: 10
            })
        );
        assert_eq!(memory.staging(10).left(), Ok(0));
    }
}
