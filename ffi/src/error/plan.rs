//! The errors of plans in C.

use core::fmt;

use kvblock::{InstancePlanError, PlanError};

use super::{Figures, Told};
use crate::plan;
use crate::status::*;

const fn bytes(needed: u64, left: u64) -> Figures {
    Figures {
        needed,
        available: left,
        ..Figures::NONE
    }
}

impl Told for PlanError {
    fn status(&self) -> kvb_status {
        match self {
            Self::Zero { .. } => KVB_ERR_PLAN_ZERO,
            Self::BlockSize { .. } => KVB_ERR_BLOCK_SIZE,
            Self::NoSuchRank { .. } => KVB_ERR_OUT_OF_RANGE,
            Self::MarginRange { .. } => KVB_ERR_PLAN_MARGIN,
            Self::DoesNotFit { .. } => KVB_ERR_PLAN_DOES_NOT_FIT,
            Self::Overflow { .. } => KVB_ERR_PLAN_OVERFLOW,
            Self::LessThanABlock { .. } => KVB_ERR_PLAN_LESS_THAN_A_BLOCK,
            Self::TooManyBlocks { .. } => KVB_ERR_TOO_MANY_BLOCKS,
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::Zero { input } => Figures::NONE.which(plan::input(input)),
            Self::BlockSize { asked, max } => Figures::needed(asked).at_most(max),
            Self::NoSuchRank {
                rank,
                tensor_parallel,
            } => Figures {
                needed: rank,
                limit: tensor_parallel,
                ..Figures::NONE
            },
            Self::MarginRange {
                parts_per_million,
                max,
            } => Figures {
                needed: parts_per_million.into(),
                limit: max.into(),
                ..Figures::NONE
            },
            Self::DoesNotFit { term, needed, left } => bytes(needed, left).which(plan::term(term)),
            Self::Overflow { step } => Figures::NONE.which(plan::step(step)),
            Self::LessThanABlock { block_bytes, left } => bytes(block_bytes, left),
            Self::TooManyBlocks { blocks, max } => Figures {
                needed: blocks,
                ..Figures::NONE
            }
            .at_most(max),
            _ => Figures::NONE,
        }
    }
}

impl Told for InstancePlanError {
    fn status(&self) -> kvb_status {
        match self {
            Self::NoRanks => KVB_ERR_NO_SHARDS,
            Self::BlockSize { .. } => KVB_ERR_BLOCK_SIZE,
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::BlockSize {
                rank,
                block_size,
                expected,
            } => Figures::needed(expected).of(block_size).on(shard_of(rank)),
            _ => Figures::NONE,
        }
    }
}

/// The error of one rank of several.
pub(crate) struct OnRank {
    pub(crate) rank: usize,
    pub(crate) error: PlanError,
}

impl fmt::Display for OnRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}: {}", self.rank, self.error)
    }
}

impl Told for OnRank {
    fn status(&self) -> kvb_status {
        self.error.status()
    }
    fn figures(&self) -> Figures {
        self.error.figures().on(shard_of(self.rank))
    }
}

/// A rank's place in the list that a plan is made from stands where errors name a shard.
fn shard_of(rank: usize) -> kvblock::ShardId {
    kvblock::ShardId::new(u32::try_from(rank).unwrap_or(u32::MAX))
}
