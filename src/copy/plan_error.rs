//! Why there is no plan for some copies. Nothing was copied, and a plan that was to be changed is as it was.

use core::error::Error;
use core::fmt;

use crate::block::BlockId;

/// One side of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CopyEnd {
    /// What is read.
    Source,
    /// What is written.
    Destination,
}

impl fmt::Display for CopyEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Destination => "destination",
        })
    }
}

/// Why there is no plan for a list of pairs: what is wrong with the first pair that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CopyPlanError {
    /// No such block.
    OutOfRange {
        /// The place of the pair in the list.
        pair: usize,
        /// Which of its blocks; the source is looked at first.
        end: CopyEnd,
        /// The block.
        block: BlockId,
        /// Ids below this exist.
        blocks: usize,
    },
    /// A block would be copied onto itself.
    OntoItself {
        /// The place of the pair in the list.
        pair: usize,
        /// The block.
        block: BlockId,
    },
    /// Two pairs have one destination.
    DuplicateDestination {
        /// The place of the second pair in the list.
        pair: usize,
        /// The place of the first.
        first: usize,
        /// The destination.
        block: BlockId,
    },
    /// The host's allocator had no memory.
    OutOfMemory,
}

impl fmt::Display for CopyPlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::OutOfRange {
                pair,
                end,
                block,
                blocks,
            } => write!(
                f,
                "pair {pair}: block {block} is not one of the {blocks} of the {end}"
            ),
            Self::OntoItself { pair, block } => {
                write!(f, "pair {pair} copies block {block} onto itself")
            }
            Self::DuplicateDestination { pair, first, block } => {
                write!(f, "pairs {first} and {pair} both copy to block {block}")
            }
            Self::OutOfMemory => f.write_str("no memory for the plan"),
        }
    }
}
impl Error for CopyPlanError {}
