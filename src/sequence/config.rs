//! How large a registry is.

use super::handle::MAX_SLOTS;
use crate::error::CreateError;
use crate::transfer::KvFormat;

/// What a registry is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SequencesConfig {
    /// Sequences that can live at once, branches included. Bookkeeping for them is made at the start.
    pub max_sequences: usize,
    /// Positions of a sequence for which each slot has buffers from the start. See [`positions`](Self::positions).
    pub positions: usize,
    /// Blocks that admissions leave to the growth of those that were admitted.
    pub watermark: usize,
    /// How the content of blocks is laid out: what transfers are held against.
    pub format: Option<KvFormat>,
}

impl SequencesConfig {
    /// A registry of so many slots without a watermark.
    #[must_use]
    pub const fn new(max_sequences: usize) -> Self {
        Self {
            max_sequences,
            positions: 0,
            watermark: 0,
            format: None,
        }
    }

    /// Makes room at creation for sequences of up to so many positions each, and for one pending copy each. Calls on sequences within
    /// that allocate nothing, from the first one on: `check`, `admit`, `append`, `step` and `ensure` (with a
    /// [`Step`](crate::Step::with_room) that has room), `tokens`, `computed`, `copied`, `fork`, `truncate`, `adopt_duplicates`,
    /// `release` and `preempt`.
    ///
    /// A slot costs about 4 bytes a position and 32 bytes a block. More positions than the pool can hold count as so many. 0, the
    /// default: buffers are made when they are needed, and kept.
    ///
    /// What is released [after a fence](crate::Sequences::release_after) leaves its buffers in the lane, and the slot gets the lane's: made by
    /// [`Sequences::lane`](crate::Sequences::lane), they are as large. A sequence that is detached takes its buffers along.
    #[must_use]
    pub const fn positions(mut self, positions: usize) -> Self {
        self.positions = positions;
        self
    }

    /// Keeps `blocks` available blocks back from new admissions.
    #[must_use]
    pub const fn watermark(mut self, blocks: usize) -> Self {
        self.watermark = blocks;
        self
    }

    /// Says how the content of blocks is laid out, so that transfers between unlike ends are refused and bytes under way can be counted.
    #[must_use]
    pub fn format(mut self, format: KvFormat) -> Self {
        self.format = Some(format);
        self
    }

    pub(super) fn check(&self, blocks: usize) -> Result<(), CreateError> {
        if self.max_sequences == 0 {
            return Err(CreateError::NoSequences);
        }
        if self.max_sequences > MAX_SLOTS {
            return Err(CreateError::TooManySequences {
                asked: self.max_sequences,
                max: MAX_SLOTS,
            });
        }
        if self.watermark >= blocks {
            return Err(CreateError::Watermark {
                asked: self.watermark,
                blocks,
            });
        }
        Ok(())
    }
}
