//! What can be wrong with a call to a fence table. After each of these nothing has changed.

use core::error::Error;
use core::fmt;

use super::memory::MemoryId;
use super::waits::TimelineId;
use crate::block::BlockId;
use crate::pool::Fence;

/// What can be wrong with a call to a [`FenceTable`](crate::FenceTable).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FenceError {
    /// More timelines than a table has.
    TooManyTimelines {
        /// [`MAX_TIMELINES`](crate::MAX_TIMELINES).
        max: usize,
    },
    /// The table has no such timeline.
    NoSuchTimeline {
        /// The one named.
        timeline: TimelineId,
        /// How many there are, numbered from 0.
        timelines: usize,
    },
    /// The table knows nothing of this memory.
    Untracked {
        /// The one named.
        memory: MemoryId,
    },
    /// More blocks than are tracked in a memory.
    OutOfRange {
        /// Which memory.
        memory: MemoryId,
        /// The block; of a plan, the last one of the layout.
        block: BlockId,
        /// Ids below this are tracked.
        blocks: usize,
    },
    /// More blocks than ids.
    TooManyBlocks {
        /// Blocks asked for.
        asked: usize,
        /// [`MAX_BLOCKS`](crate::MAX_BLOCKS).
        max: usize,
    },
    /// A later fence of the timeline was recorded before, or it is the fence 0, which is before all.
    NotLater {
        /// On which timeline.
        timeline: TimelineId,
        /// The fence named.
        fence: Fence,
        /// The last one recorded.
        last: Fence,
    },
    /// The host's allocator had no memory.
    OutOfMemory,
}

impl fmt::Display for FenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooManyTimelines { max } => write!(f, "a table has at most {max} timelines"),
            Self::NoSuchTimeline {
                timeline,
                timelines,
            } => write!(f, "timeline {timeline} is not one of {timelines}"),
            Self::Untracked { memory } => write!(f, "memory {memory} is not tracked"),
            Self::OutOfRange {
                memory,
                block,
                blocks,
            } => write!(
                f,
                "block {block} is not one of the {blocks} tracked of memory {memory}"
            ),
            Self::TooManyBlocks { asked, max } => {
                write!(f, "{asked} blocks are more than the {max} ids of a shard")
            }
            Self::NotLater {
                timeline,
                fence,
                last,
            } => write!(
                f,
                "fence {} of timeline {timeline} is not later than {}",
                fence.0, last.0
            ),
            Self::OutOfMemory => f.write_str("no memory for the table"),
        }
    }
}
impl Error for FenceError {}
