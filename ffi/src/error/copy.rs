//! The errors of layouts, routes, plans and fences in C.

use kvblock::{CopyEnd, CopyPlanError, CopyRouteError, FenceError, RunsError};

use super::{Figures, Told};
use crate::status::*;

/// 0 in the place of what there is: the source. 1: the destination.
fn number_of(end: CopyEnd) -> Figures {
    Figures::NONE.of(usize::from(end == CopyEnd::Destination))
}

impl Told for RunsError {
    fn status(&self) -> kvb_status {
        match self {
            Self::NoSuchPlane { .. } => KVB_ERR_OUT_OF_RANGE,
            Self::OutOfRange { .. } => KVB_ERR_NO_SUCH_BLOCK,
            Self::LengthMismatch { .. } => KVB_ERR_LENGTH_MISMATCH,
            Self::PlaneCount { .. } | Self::PlaneBytes { .. } | Self::Inner { .. } => {
                KVB_ERR_INCOMPATIBLE
            }
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::NoSuchPlane { plane, planes } => Figures::needed(plane).at_most(planes),
            Self::OutOfRange { block, blocks } => {
                Figures::needed(block.get() as usize).at_most(blocks)
            }
            Self::LengthMismatch {
                sources,
                destinations,
            } => Figures::needed(sources).of(destinations),
            Self::PlaneCount {
                source,
                destination,
            } => Figures::needed(source)
                .of(destination)
                .which_place(source.min(destination)),
            Self::PlaneBytes {
                plane,
                source,
                destination,
            } => Figures {
                needed: source,
                available: destination,
                ..Figures::NONE
            }
            .which_place(plane),
            Self::Inner { plane } => Figures::NONE.which_place(plane),
            _ => Figures::NONE,
        }
    }
}

impl Told for CopyRouteError {
    fn status(&self) -> kvb_status {
        match self {
            Self::PlaneCount { .. } | Self::PlaneBytes { .. } | Self::Tiles { .. } => {
                KVB_ERR_INCOMPATIBLE
            }
            Self::HeadsOfOpaque { .. } => KVB_ERR_UNKNOWN_FORMAT,
            Self::HeadsOutOfRange { .. } => KVB_ERR_OUT_OF_RANGE,
            Self::NoHeads => KVB_ERR_INVALID,
            Self::Touch { .. } => KVB_ERR_LAYOUT,
            Self::OutOfMemory => KVB_ERR_NO_MEMORY,
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::PlaneCount {
                source,
                destination,
            } => Figures::needed(source)
                .of(destination)
                .which_place(source.min(destination)),
            Self::PlaneBytes {
                plane,
                source,
                destination,
            } => Figures {
                needed: source,
                available: destination,
                ..Figures::NONE
            }
            .which_place(plane),
            Self::Tiles { plane, .. } | Self::HeadsOfOpaque { plane } => {
                Figures::NONE.which_place(plane)
            }
            Self::HeadsOutOfRange {
                plane,
                end,
                first,
                asked,
                heads,
            } => Figures {
                needed: u64::from(first) + u64::from(asked),
                limit: heads.into(),
                ..number_of(end)
            }
            .which_place(plane),
            Self::Touch {
                source_plane,
                destination_plane,
            } => Figures::needed(source_plane).which_place(destination_plane),
            _ => Figures::NONE,
        }
    }
}

impl Told for CopyPlanError {
    fn status(&self) -> kvb_status {
        match self {
            Self::OutOfRange { .. } => KVB_ERR_NO_SUCH_BLOCK,
            Self::OntoItself { .. } => KVB_ERR_ONTO_ITSELF,
            Self::DuplicateDestination { .. } => KVB_ERR_DUPLICATE_DESTINATION,
            Self::OutOfMemory => KVB_ERR_NO_MEMORY,
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::OutOfRange {
                pair,
                end,
                block,
                blocks,
            } => Figures {
                needed: block.get().into(),
                ..number_of(end)
            }
            .at_most(blocks)
            .which_place(pair),
            Self::OntoItself { pair, block } => {
                Figures::needed(block.get() as usize).which_place(pair)
            }
            Self::DuplicateDestination { pair, first, block } => {
                Figures::needed(block.get() as usize)
                    .of(first)
                    .which_place(pair)
            }
            _ => Figures::NONE,
        }
    }
}

impl Told for FenceError {
    fn status(&self) -> kvb_status {
        match self {
            Self::TooManyTimelines { .. } => KVB_ERR_TOO_MANY_TIMELINES,
            Self::NoSuchTimeline { .. } => KVB_ERR_OUT_OF_RANGE,
            Self::Untracked { .. } => KVB_ERR_UNTRACKED,
            Self::OutOfRange { .. } => KVB_ERR_NO_SUCH_BLOCK,
            Self::TooManyBlocks { .. } => KVB_ERR_TOO_MANY_BLOCKS,
            Self::NotLater { .. } => KVB_ERR_NOT_LATER,
            Self::OutOfMemory => KVB_ERR_NO_MEMORY,
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::TooManyTimelines { max } => Figures::needed(max.saturating_add(1)).at_most(max),
            Self::NoSuchTimeline {
                timeline,
                timelines,
            } => Figures::needed(timeline.get().into()).at_most(timelines),
            Self::Untracked { memory } => Figures {
                needed: memory.get().into(),
                ..Figures::NONE
            },
            Self::OutOfRange {
                memory,
                block,
                blocks,
            } => Figures::needed(block.get() as usize)
                .at_most(blocks)
                .which(memory.get()),
            Self::TooManyBlocks { asked, max } => Figures::needed(asked).at_most(max),
            Self::NotLater { fence, last, .. } => Figures {
                needed: fence.0,
                limit: last.0,
                ..Figures::NONE
            },
            _ => Figures::NONE,
        }
    }
}
