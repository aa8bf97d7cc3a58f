//! What an append lacks.

use kvblock::{Refused, ShardId};

/// What an append lacks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lack {
    /// Where; `None` for everywhere.
    pub(super) shard: Option<ShardId>,
    pub(crate) blocks: usize,
    /// They come back when the step under way is done.
    pub(crate) is_quarantined: bool,
}

impl Lack {
    pub(super) fn of(refused: Refused) -> Self {
        // Not even with all memory.
        let never = |shard| Self {
            shard,
            blocks: usize::MAX,
            is_quarantined: false,
        };
        match refused {
            Refused::Shortfall {
                shard,
                needed,
                available,
                quarantined,
            } => Self {
                shard: Some(shard),
                blocks: needed.saturating_sub(available).max(1),
                is_quarantined: quarantined > 0 && available + quarantined >= needed,
            },
            Refused::NeverFits { shard, .. } => never(Some(shard)),
            _ => never(None),
        }
    }
}
