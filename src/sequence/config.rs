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
            watermark: 0,
            format: None,
        }
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
