//! What can be wrong with a call to a swap. After each of these nothing has changed.

use core::error::Error;
use core::fmt;

use crate::error::{Refused, WrongPool, one_of};
use crate::pool::Fence;
use crate::sequence::{AdmitError, CommitError, ExportError, ImportError, Stale};
use crate::transfer::NotOpen;

/// Why a swap did not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SwapError {
    /// The request has fewer tokens than the sequence has positions.
    Shorter {
        /// Tokens of the request.
        tokens: usize,
        /// Positions of the sequence.
        positions: usize,
    },
    /// The request has other tokens than were computed, or another extra key: what is copied would be found as something else.
    OtherTokens {
        /// The first such block of its table.
        block: usize,
    },
    /// The tier that it would leave does not offer it.
    Source(ExportError),
    /// The tier that it would come to does not take it.
    Destination(ImportError),
}

impl SwapError {
    /// The refusal for want of blocks, if it is one: of the destination, which its shard names.
    #[must_use]
    pub const fn refused(&self) -> Option<Refused> {
        match *self {
            Self::Destination(ImportError::Admit(AdmitError::Refused(refused))) => Some(refused),
            _ => None,
        }
    }
}

impl fmt::Display for SwapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shorter { tokens, positions } => {
                write!(
                    f,
                    "{tokens} tokens do not cover the sequence's {positions} positions"
                )
            }
            Self::OtherTokens { block } => write!(
                f,
                "block {block} of the sequence has other tokens, or another extra key"
            ),
            Self::Source(error) => write!(f, "the source: {error}"),
            Self::Destination(error) => write!(f, "the destination: {error}"),
        }
    }
}
impl Error for SwapError {}

impl From<ExportError> for SwapError {
    fn from(error: ExportError) -> Self {
        Self::Source(error)
    }
}

impl From<ImportError> for SwapError {
    fn from(error: ImportError) -> Self {
        Self::Destination(error)
    }
}

/// The swap has been finished or aborted before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SwapOver;

impl fmt::Display for SwapOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the swap has been finished or aborted before")
    }
}
impl Error for SwapOver {}

/// The copy has not been launched, or the swap has not been told that its fence has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotCopied {
    /// Blocks that are to be copied.
    pub blocks: usize,
    /// The fence of the copy; `None` before it was launched.
    pub until: Option<Fence>,
}

impl fmt::Display for NotCopied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.until {
            Some(Fence(fence)) => write!(
                f,
                "the copy of {} blocks is under way until fence {fence}",
                self.blocks
            ),
            None => write!(f, "the copy of {} blocks was not launched", self.blocks),
        }
    }
}
impl Error for NotCopied {}

/// The instance has fewer shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoSuchShard {
    /// The one named.
    pub shard: usize,
    /// Shards of the instance, numbered from 0.
    pub shards: usize,
}

impl fmt::Display for NoSuchShard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shard, shards } = self;
        write!(f, "shard {shard} is none of the {shards}")
    }
}
impl Error for NoSuchShard {}

/// A part of the copy was launched when the swap had been told that all of it has passed: what it has counts as copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AlreadyCopied {
    /// Blocks that count as copied.
    pub blocks: usize,
    /// The fence behind which they do.
    pub until: Fence,
    /// The later one that was named now.
    pub fence: Fence,
}

impl fmt::Display for AlreadyCopied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            blocks,
            until: Fence(until),
            fence: Fence(fence),
        } = self;
        write!(
            f,
            "all {blocks} blocks count as copied since fence {until} has passed, and a copy is launched until fence {fence}"
        )
    }
}
impl Error for AlreadyCopied {}

one_of! {
    /// Why the copy, or a part of it, was not taken down.
    SwapCopyError {
        /// The swap is over.
        Over(SwapOver),
        /// All of it counts as copied already.
        AlreadyCopied(AlreadyCopied),
        /// It has no such shard.
        NoSuchShard(NoSuchShard),
    }
}
one_of! {
    /// Why a swap was not finished.
    SwapFinishError {
        /// It is over.
        Over(SwapOver),
        /// These are not the two ends of the swap.
        WrongPool(WrongPool),
        /// The source, or the sequence at the destination, is not in the registry that was given.
        Stale(Stale),
        /// The copy is not done.
        NotCopied(NotCopied),
        /// The source goes on, or what was copied does not count.
        Commit(CommitError),
    }
}
one_of! {
    /// Why a swap was not aborted.
    SwapAbortError {
        /// It is over.
        Over(SwapOver),
        /// This is not the destination of the swap.
        WrongPool(WrongPool),
        /// The sequence is not in the registry that was given.
        Stale(Stale),
        /// The destination has it: finish it.
        NotOpen(NotOpen),
    }
}
