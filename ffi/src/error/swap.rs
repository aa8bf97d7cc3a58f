//! The errors of swaps in C.

use kvblock::{
    AlreadyCopied, NoSuchShard, NotCopied, SwapAbortError, SwapCopyError, SwapError,
    SwapFinishError, SwapOver,
};

use super::pool::told_by_its_parts;
use super::{Figures, Told};
use crate::status::*;

told_by_its_parts! {
    SwapCopyError { Over, AlreadyCopied, NoSuchShard };
    SwapFinishError { Over, WrongPool, Stale, NotCopied, Commit };
    SwapAbortError { Over, WrongPool, Stale, NotOpen };
}

impl Told for SwapError {
    fn status(&self) -> kvb_status {
        match self {
            Self::Shorter { .. } => KVB_ERR_LENGTH_MISMATCH,
            Self::OtherTokens { .. } => KVB_ERR_OTHER_TOKENS,
            Self::Source(error) => error.status(),
            Self::Destination(error) => error.status(),
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match self {
            Self::Shorter { tokens, positions } => Figures::needed(*positions).of(*tokens),
            Self::OtherTokens { block } => Figures::needed(*block),
            Self::Source(error) => error.figures(),
            Self::Destination(error) => error.figures(),
            _ => Figures::NONE,
        }
    }
}

impl Told for SwapOver {
    fn status(&self) -> kvb_status {
        KVB_ERR_SWAP_OVER
    }
}

impl Told for NotCopied {
    fn status(&self) -> kvb_status {
        KVB_ERR_NOT_COPIED
    }
    fn figures(&self) -> Figures {
        let blocks = Figures::needed(self.blocks);
        match self.until {
            Some(fence) => Figures {
                limit: fence.0,
                ..blocks.which(1)
            },
            None => blocks,
        }
    }
}

impl Told for AlreadyCopied {
    fn status(&self) -> kvb_status {
        KVB_ERR_ALREADY_COPIED
    }
    fn figures(&self) -> Figures {
        Figures {
            available: self.until.0,
            limit: self.fence.0,
            ..Figures::needed(self.blocks)
        }
    }
}

impl Told for NoSuchShard {
    fn status(&self) -> kvb_status {
        KVB_ERR_OUT_OF_RANGE
    }
    fn figures(&self) -> Figures {
        Figures::needed(self.shard).at_most(self.shards)
    }
}
