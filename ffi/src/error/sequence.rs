//! The errors of sequences and instances in C.

use kvblock::{
    AdmitError, AppendError, AttachError, Beyond, BranchError, CapReached, ComputedError,
    CopyPending, DetachError, EndAfterError, InTransit, InstanceError, InstanceResizeError,
    MAX_SHARDS, NotNext, ReadError, Stale, TokensError, TooManySequences, TooShort,
    TruncateAfterError, TruncateError, VictimsError,
};

use super::pool::told_by_its_parts;
use super::{Figures, Told};
use crate::status::*;

told_by_its_parts! {
    AdmitError { Refused, LengthMismatch, TooManySequences, OutOfMemory };
    AppendError { Stale, Refused, CapReached, InTransit, TooManyReferences, OutOfMemory };
    TokensError { Stale, NotNext, Beyond, LengthMismatch, OutOfMemory };
    ComputedError { Stale, Beyond, InTransit };
    TruncateError { Stale, Beyond, InTransit, Refused };
    EndAfterError { Stale, Lane };
    TruncateAfterError { Truncate, Lane, TooManyReferences };
    BranchError { Stale, InTransit, Refused, TooManyReferences, TooManySequences, OutOfMemory };
    ReadError { Stale, Beyond, TooShort };
    DetachError { Stale, CopyPending, InTransit, OutOfMemory };
    AttachError { WrongPool, TooManySequences };
    VictimsError { Stale, OutOfMemory };
}

impl Told for Stale {
    fn status(&self) -> kvb_status {
        KVB_ERR_STALE
    }
}

impl Told for CopyPending {
    fn status(&self) -> kvb_status {
        KVB_ERR_COPY_PENDING
    }
}

impl Told for TooManySequences {
    fn status(&self) -> kvb_status {
        KVB_ERR_TOO_MANY_SEQUENCES
    }
    fn figures(&self) -> Figures {
        Figures::NONE.at_most(self.max)
    }
}

impl Told for CapReached {
    fn status(&self) -> kvb_status {
        KVB_ERR_CAP_REACHED
    }
    fn figures(&self) -> Figures {
        Figures::needed(self.asked).at_most(self.cap)
    }
}

impl Told for Beyond {
    fn status(&self) -> kvb_status {
        KVB_ERR_BEYOND
    }
    fn figures(&self) -> Figures {
        Figures::needed(self.asked).at_most(self.positions)
    }
}

impl Told for NotNext {
    fn status(&self) -> kvb_status {
        KVB_ERR_NOT_NEXT
    }
    fn figures(&self) -> Figures {
        Figures::needed(self.known).of(self.at)
    }
}

impl Told for TooShort {
    fn status(&self) -> kvb_status {
        KVB_ERR_TOO_SHORT
    }
    fn figures(&self) -> Figures {
        Figures::needed(self.needed).of(self.got)
    }
}

impl Told for InTransit {
    fn status(&self) -> kvb_status {
        match self {
            Self::Loading { .. } => KVB_ERR_LOADING,
            Self::Uncommitted => KVB_ERR_UNCOMMITTED,
            Self::Leaving => KVB_ERR_LEAVING,
            Self::Moved => KVB_ERR_MOVED,
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::Loading { arrived } => Figures::NONE.of(arrived),
            _ => Figures::NONE,
        }
    }
}

impl Told for InstanceError {
    fn status(&self) -> kvb_status {
        match self {
            Self::NoShards => KVB_ERR_NO_SHARDS,
            Self::TooManyShards { .. } => KVB_ERR_TOO_MANY_SHARDS,
            Self::SameShard { .. } => KVB_ERR_SAME_SHARD,
            Self::BlockSize { .. } => KVB_ERR_BLOCK_SIZE,
            Self::Slots { .. } => KVB_ERR_SLOTS,
            Self::InUse { .. } => KVB_ERR_IN_USE,
            Self::Create(error) => error.status(),
            Self::OutOfMemory => KVB_ERR_NO_MEMORY,
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::TooManyShards { asked } => Figures::needed(asked).at_most(MAX_SHARDS),
            Self::SameShard { shard } | Self::InUse { shard } => Figures::NONE.on(shard),
            Self::BlockSize {
                shard,
                got,
                expected,
            }
            | Self::Slots {
                shard,
                got,
                expected,
            } => Figures::needed(expected).of(got).on(shard),
            Self::Create(error) => error.figures(),
            _ => Figures::NONE,
        }
    }
}

impl Told for InstanceResizeError {
    fn status(&self) -> kvb_status {
        match self {
            Self::NoSuchRank { .. } => KVB_ERR_OUT_OF_RANGE,
            Self::Shard { error, .. } => error.status(),
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::NoSuchRank { at, ranks } => Figures::needed(at).at_most(ranks),
            Self::Shard { shard, error } => error.figures().on(shard),
            _ => Figures::NONE,
        }
    }
}
