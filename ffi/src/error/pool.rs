//! The errors of pools in C.

use kvblock::{
    ClearError, CreateError, Exceeds, FindError, ForkError, InvalidateError, JoinError,
    LayoutError, LengthMismatch, OutOfMemory, PublishError, Refused, ReleaseAfterError,
    ResizeError, SplitError, TakeError, TooManyReferences, WrongPool,
};

use super::{Figures, Told};
use crate::status::*;

/// An error that is one of several others, each of which has a number of its own.
macro_rules! told_by_its_parts {
    ($($name:ident { $($part:ident),* $(,)? } $(or $unit:ident)?;)*) => {$(
        impl $crate::error::Told for $name {
            fn status(&self) -> $crate::status::kvb_status {
                match self {
                    $(Self::$part(it) => it.status(),)*
                    $(Self::$unit => $unit.status(),)?
                    _ => $crate::status::KVB_ERR_UNKNOWN,
                }
            }
            fn figures(&self) -> $crate::error::Figures {
                match self {
                    $(Self::$part(it) => it.figures(),)*
                    _ => $crate::error::Figures::NONE,
                }
            }
        }
    )*};
}
pub(super) use told_by_its_parts;

told_by_its_parts! {
    TakeError { Exceeds, OutOfMemory } or WrongPool;
    FindError { LengthMismatch, OutOfMemory } or WrongPool;
    PublishError { LengthMismatch } or WrongPool;
    ForkError { TooManyReferences, OutOfMemory } or WrongPool;
    JoinError { OutOfMemory } or WrongPool;
    ReleaseAfterError { OutOfMemory } or WrongPool;
    SplitError { Exceeds, TooManyReferences, OutOfMemory };
}

impl Told for WrongPool {
    fn status(&self) -> kvb_status {
        KVB_ERR_WRONG_POOL
    }
}

impl Told for OutOfMemory {
    fn status(&self) -> kvb_status {
        KVB_ERR_NO_MEMORY
    }
}

impl Told for TooManyReferences {
    fn status(&self) -> kvb_status {
        KVB_ERR_TOO_MANY_REFERENCES
    }
    fn figures(&self) -> Figures {
        Figures::needed(self.block.get() as usize)
    }
}

impl Told for Exceeds {
    fn status(&self) -> kvb_status {
        KVB_ERR_EXCEEDS
    }
    fn figures(&self) -> Figures {
        Figures::needed(self.asked).of(self.left)
    }
}

impl Told for LengthMismatch {
    fn status(&self) -> kvb_status {
        KVB_ERR_LENGTH_MISMATCH
    }
    fn figures(&self) -> Figures {
        Figures::needed(self.expected).of(self.got)
    }
}

impl Told for Refused {
    fn status(&self) -> kvb_status {
        match self {
            Self::NeverFits { .. } => KVB_ERR_NEVER_FITS,
            Self::Shortfall { .. } => KVB_ERR_SHORTFALL,
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::NeverFits {
                shard,
                needed,
                capacity,
            } => Figures::needed(needed).at_most(capacity).on(shard),
            Self::Shortfall {
                shard,
                needed,
                available,
                quarantined,
            } => Figures {
                quarantined: quarantined as u64,
                ..Figures::needed(needed).of(available).on(shard)
            },
            _ => Figures::NONE,
        }
    }
}

impl Told for CreateError {
    fn status(&self) -> kvb_status {
        match self {
            Self::NoBlocks => KVB_ERR_NO_BLOCKS,
            Self::TooManyBlocks { .. } => KVB_ERR_TOO_MANY_BLOCKS,
            Self::MaxBelowBlocks { .. } => KVB_ERR_MAX_BELOW_BLOCKS,
            Self::BlockSize { .. } => KVB_ERR_BLOCK_SIZE,
            Self::NoSequences => KVB_ERR_NO_SEQUENCES,
            Self::TooManySequences { .. } => KVB_ERR_TOO_MANY_SLOTS,
            Self::Watermark { .. } => KVB_ERR_WATERMARK,
            Self::Format { .. } => KVB_ERR_FORMAT,
            Self::TooManyEvents { .. } => KVB_ERR_TOO_MANY_EVENTS,
            Self::OutOfMemory { .. } => KVB_ERR_NO_MEMORY,
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::TooManyBlocks { asked, max }
            | Self::BlockSize { asked, max }
            | Self::TooManySequences { asked, max }
            | Self::TooManyEvents { asked, max } => Figures::needed(asked).at_most(max),
            Self::MaxBelowBlocks { blocks, max_blocks } => {
                Figures::needed(blocks).at_most(max_blocks)
            }
            Self::Watermark { asked, blocks } => Figures::needed(asked).at_most(blocks),
            Self::Format { pool, format } => Figures::needed(pool).of(format),
            Self::OutOfMemory { bytes } => Figures::needed(bytes),
            _ => Figures::NONE,
        }
    }
}

impl Told for ClearError {
    fn status(&self) -> kvb_status {
        match self {
            Self::WrongPool => KVB_ERR_WRONG_POOL,
            Self::OutOfMemory => KVB_ERR_NO_MEMORY,
            _ => KVB_ERR_UNKNOWN,
        }
    }
}

impl Told for InvalidateError {
    fn status(&self) -> kvb_status {
        match self {
            Self::WrongPool => KVB_ERR_WRONG_POOL,
            Self::OutOfRange { .. } => KVB_ERR_NO_SUCH_BLOCK,
            Self::NotPublished { .. } => KVB_ERR_NOT_PUBLISHED,
            Self::OutOfMemory => KVB_ERR_NO_MEMORY,
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::OutOfRange { block, capacity } => {
                Figures::needed(block.get() as usize).at_most(capacity)
            }
            Self::NotPublished { block } => Figures::needed(block.get() as usize),
            _ => Figures::NONE,
        }
    }
}

impl Told for ResizeError {
    fn status(&self) -> kvb_status {
        match self {
            Self::WrongPool => KVB_ERR_WRONG_POOL,
            Self::BeyondMax { .. } => KVB_ERR_BEYOND_MAX,
            Self::NothingLeft { .. } => KVB_ERR_NOTHING_LEFT,
            Self::Refused(refused) => refused.status(),
            Self::InProgress => KVB_ERR_IN_PROGRESS,
            Self::OutOfMemory => KVB_ERR_NO_MEMORY,
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::BeyondMax { asked, max } => Figures::needed(asked).at_most(max),
            Self::NothingLeft { asked, online } => Figures::needed(asked).of(online),
            Self::Refused(refused) => refused.figures(),
            _ => Figures::NONE,
        }
    }
}

impl Told for LayoutError {
    fn status(&self) -> kvb_status {
        match self {
            Self::TooManyBlocks { .. } => KVB_ERR_TOO_MANY_BLOCKS,
            Self::OutOfMemory => KVB_ERR_NO_MEMORY,
            Self::NoPlanes
            | Self::NoBlocks
            | Self::NoBytes { .. }
            | Self::Overlap { .. }
            | Self::PlanesOverlap { .. }
            | Self::TileBytes { .. }
            | Self::TensorCount { .. }
            | Self::Overflow { .. } => KVB_ERR_LAYOUT,
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::TooManyBlocks { asked, max } => Figures::needed(asked).at_most(max),
            Self::NoBytes { plane } | Self::Overflow { plane } => Figures::NONE.which_place(plane),
            Self::Overlap {
                plane,
                stride,
                bytes,
            } => Figures {
                needed: bytes,
                available: stride,
                ..Figures::NONE
            }
            .which_place(plane),
            Self::TensorCount { keys, values } => Figures::needed(keys).of(values),
            Self::PlanesOverlap { first, second } => Figures::needed(first).which_place(second),
            Self::TileBytes { plane, block, tile } => Figures {
                needed: tile,
                available: block,
                ..Figures::NONE
            }
            .which_place(plane),
            _ => Figures::NONE,
        }
    }
}
