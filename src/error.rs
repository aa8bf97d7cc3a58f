//! What can be wrong with a call. Each error carries the numbers that a caller needs to decide what to do next, and after
//! each of them the pool is as it was before the call.

use core::error::Error;
use core::fmt;

use crate::block::{BlockId, ShardId};

/// Why a pool or a worker could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CreateError {
    /// A pool needs at least one block.
    NoBlocks,
    /// More blocks than ids.
    TooManyBlocks {
        /// Blocks asked for.
        asked: usize,
        /// [`MAX_BLOCKS`](crate::MAX_BLOCKS).
        max: usize,
    },
    /// `max_blocks` is below `blocks`.
    MaxBelowBlocks {
        /// Blocks asked to be online from the start.
        blocks: usize,
        /// The smaller bound.
        max_blocks: usize,
    },
    /// The block size is zero or absurd.
    BlockSize {
        /// Positions asked for.
        asked: usize,
        /// [`MAX_BLOCK_SIZE`](crate::MAX_BLOCK_SIZE).
        max: usize,
    },
    /// A registry needs room for at least one sequence.
    NoSequences,
    /// More sequences than slots have names.
    TooManySequences {
        /// Sequences asked for.
        asked: usize,
        /// Most slots of a registry.
        max: usize,
    },
    /// The watermark leaves no block to be admitted.
    Watermark {
        /// Blocks to keep back.
        asked: usize,
        /// Blocks of the pool.
        blocks: usize,
    },
    /// The format says another block size than the pool's.
    Format {
        /// Positions of a block of the pool.
        pool: usize,
        /// Positions of a block of the format.
        format: usize,
    },
    /// The event ring would have more slots than the pool accepts.
    TooManyEvents {
        /// Slots asked for.
        asked: usize,
        /// Most slots.
        max: usize,
    },
    /// The allocator of the host had no memory for this.
    OutOfMemory {
        /// Size of the request that failed.
        bytes: usize,
    },
}

impl fmt::Display for CreateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoBlocks => write!(f, "a pool needs at least one block"),
            Self::TooManyBlocks { asked, max } => {
                write!(f, "{asked} blocks are more than the {max} ids of a shard")
            }
            Self::MaxBelowBlocks { blocks, max_blocks } => {
                write!(
                    f,
                    "max_blocks {max_blocks} is below the {blocks} blocks that start online"
                )
            }
            Self::BlockSize { asked, max } => {
                write!(f, "block size {asked} is not between 1 and {max} positions")
            }
            Self::NoSequences => write!(f, "a registry needs room for at least one sequence"),
            Self::TooManySequences { asked, max } => {
                write!(
                    f,
                    "{asked} sequences are more than the {max} slots of a registry"
                )
            }
            Self::Watermark { asked, blocks } => {
                write!(
                    f,
                    "a watermark of {asked} blocks leaves none of {blocks} to be admitted"
                )
            }
            Self::Format { pool, format } => {
                write!(
                    f,
                    "the format has blocks of {format} positions, the pool of {pool}"
                )
            }
            Self::TooManyEvents { asked, max } => {
                write!(f, "an event ring of {asked} slots is over the most, {max}")
            }
            Self::OutOfMemory { bytes } => write!(f, "no memory for {bytes} bytes of bookkeeping"),
        }
    }
}
impl Error for CreateError {}

/// A promise was not given. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// More than the shard has: waiting cannot help.
    NeverFits {
        /// Where.
        shard: ShardId,
        /// Blocks needed.
        needed: usize,
        /// Blocks that the shard has.
        capacity: usize,
    },
    /// Not now: others hold or were promised what is missing.
    Shortfall {
        /// Where.
        shard: ShardId,
        /// Blocks needed.
        needed: usize,
        /// Blocks that are free or idle and promised to nobody.
        available: usize,
        /// Blocks that come back by themselves when a fence passes.
        quarantined: usize,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NeverFits {
                shard,
                needed,
                capacity,
            } => {
                write!(
                    f,
                    "shard {shard}: {needed} blocks never fit in a capacity of {capacity}"
                )
            }
            Self::Shortfall {
                shard,
                needed,
                available,
                quarantined,
            } => {
                write!(
                    f,
                    "shard {shard}: {needed} blocks needed, {available} available ({quarantined} quarantined)"
                )
            }
        }
    }
}
impl Error for Refused {}

/// A worker, reservation, block or chain of another pool was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct WrongPool;

impl fmt::Display for WrongPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it belongs to another pool")
    }
}
impl Error for WrongPool {}

/// The host's allocator had no memory for a list of blocks or tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct OutOfMemory;

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no memory for a list of blocks or tokens")
    }
}
impl Error for OutOfMemory {}

/// For a call that has a twin which tells: ends the process (or panics) as collections do. The bytes that are told are those of the
/// result without its lists.
pub(crate) fn or_abort<T>(result: Result<T, OutOfMemory>) -> T {
    result.unwrap_or_else(|OutOfMemory| {
        alloc::alloc::handle_alloc_error(core::alloc::Layout::new::<T>())
    })
}

/// A consuming call was refused: the value comes back, still holding what it held.
pub struct Returned<T, E = WrongPool> {
    /// Why.
    pub error: E,
    /// The argument, unchanged.
    pub value: T,
}

impl<T> Returned<T> {
    pub(crate) const fn wrong_pool(value: T) -> Self {
        Self {
            error: WrongPool,
            value,
        }
    }
}

impl<T, E: fmt::Debug> fmt::Debug for Returned<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Returned")
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}
impl<T, E: fmt::Display> fmt::Display for Returned<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}
impl<T, E: Error> Error for Returned<T, E> {}

/// More was asked of something than it has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exceeds {
    /// Blocks asked for.
    pub asked: usize,
    /// Blocks left.
    pub left: usize,
}

impl fmt::Display for Exceeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} blocks asked, {} left", self.asked, self.left)
    }
}
impl Error for Exceeds {}

/// Which argument has a wrong length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// The tokens.
    Tokens,
    /// The extra keys, one a block.
    Extra,
    /// The chain keys, one a block.
    Keys,
}

/// A slice has another length than the call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LengthMismatch {
    /// Which slice.
    pub what: Field,
    /// The length that would do (for tokens: the longest that would).
    pub expected: usize,
    /// Its length.
    pub got: usize,
}

impl fmt::Display for LengthMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            Field::Tokens => "tokens",
            Field::Extra => "extra keys",
            Field::Keys => "chain keys",
        };
        write!(f, "{} {what} given, {} expected", self.got, self.expected)
    }
}
impl Error for LengthMismatch {}

/// A block has as many references as it can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooManyReferences {
    /// Which.
    pub block: BlockId,
}

impl fmt::Display for TooManyReferences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "block {} has the most references that can be counted",
            self.block
        )
    }
}
impl Error for TooManyReferences {}

/// Declares an error that is one of several others, with the conversions and messages that follow from it.
macro_rules! one_of {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$vmeta:meta])* $variant:ident($inner:ty)),+ $(,)?
    } $(or $unit:ident)?) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$vmeta])* $variant($inner)),+,
            $(
                /// A worker or reservation of another pool was given.
                $unit,
            )?
        }
        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self {
                    $(Self::$variant(inner) => inner.fmt(f),)+
                    $(Self::$unit => $unit.fmt(f),)?
                }
            }
        }
        impl core::error::Error for $name {}
        $(impl From<$unit> for $name {
            fn from(_: $unit) -> Self {
                Self::$unit
            }
        })?
        $(impl From<$inner> for $name {
            fn from(inner: $inner) -> Self {
                Self::$variant(inner)
            }
        })+
    };
}
pub(crate) use one_of;

one_of! {
    /// Why blocks could not be taken from a reservation.
    TakeError {
        /// The reservation is smaller.
        Exceeds(Exceeds),
        /// No memory for the list of them.
        OutOfMemory(OutOfMemory),
    } or WrongPool
}
one_of! {
    /// Why a prefix could not be looked up.
    FindError {
        /// A slice of the prompt has a wrong length.
        LengthMismatch(LengthMismatch),
        /// No memory for the table.
        OutOfMemory(OutOfMemory),
    } or WrongPool
}
one_of! {
    /// Why blocks could not be published.
    PublishError {
        /// A slice of the contents has a wrong length.
        LengthMismatch(LengthMismatch),
    } or WrongPool
}
one_of! {
    /// Why a chain could not be forked.
    ForkError {
        /// A block of it cannot have one more owner.
        TooManyReferences(TooManyReferences),
        /// No memory for the second table.
        OutOfMemory(OutOfMemory),
    } or WrongPool
}
one_of! {
    /// Why blocks could not be put behind others.
    JoinError {
        /// No memory for the longer list.
        OutOfMemory(OutOfMemory),
    } or WrongPool
}
one_of! {
    /// Why something was not released after a fence.
    ReleaseAfterError {
        /// No memory for the lane's list.
        OutOfMemory(OutOfMemory),
    } or WrongPool
}
one_of! {
    /// Why a chain or a list of blocks could not be split.
    SplitError {
        /// The place is beyond the end.
        Exceeds(Exceeds),
        /// A block of the head cannot have one more owner.
        TooManyReferences(TooManyReferences),
        /// No memory for the list of the others.
        OutOfMemory(OutOfMemory),
    }
}

/// Why a namespace could not be cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClearError {
    /// A worker of another pool was given.
    WrongPool,
    /// The allocator of the host had no memory for the list of blocks to remove.
    OutOfMemory,
}

impl fmt::Display for ClearError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongPool => WrongPool.fmt(f),
            Self::OutOfMemory => f.write_str("no memory for the list of blocks to remove"),
        }
    }
}
impl Error for ClearError {}

/// Why a block could not be invalidated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidateError {
    /// A worker of another pool was given.
    WrongPool,
    /// No such block.
    OutOfRange {
        /// The id given.
        block: BlockId,
        /// Ids below this exist, online or not.
        capacity: usize,
    },
    /// The block is not findable, so there is nothing to take back.
    NotPublished {
        /// Which.
        block: BlockId,
    },
    /// The allocator of the host had no memory for the list of blocks to remove.
    OutOfMemory,
}

impl fmt::Display for InvalidateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::WrongPool => WrongPool.fmt(f),
            Self::OutOfRange { block, capacity } => {
                write!(f, "block {block} is not one of the {capacity} of its shard")
            }
            Self::NotPublished { block } => write!(f, "block {block} is not published"),
            Self::OutOfMemory => ClearError::OutOfMemory.fmt(f),
        }
    }
}
impl Error for InvalidateError {}

/// Why the limit of a pool could not be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResizeError {
    /// A worker of another pool was given.
    WrongPool,
    /// There is bookkeeping for fewer blocks.
    BeyondMax {
        /// Blocks that would be online.
        asked: usize,
        /// [`max_blocks`](crate::BlockPool::max_blocks).
        max: usize,
    },
    /// No block would be left online.
    NothingLeft {
        /// Blocks asked to go.
        asked: usize,
        /// Blocks that are online.
        online: usize,
    },
    /// The free and idle blocks that are to go are more than those promised to nobody.
    Refused(Refused),
    /// Another thread is growing or shrinking this pool.
    InProgress,
    /// The allocator of the host had no memory for the list of blocks to remove.
    OutOfMemory,
}

impl fmt::Display for ResizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::WrongPool => WrongPool.fmt(f),
            Self::BeyondMax { asked, max } => {
                write!(f, "{asked} blocks online are more than max_blocks, {max}")
            }
            Self::NothingLeft { asked, online } => {
                write!(f, "{asked} blocks fewer would leave none of {online}")
            }
            Self::Refused(refused) => refused.fmt(f),
            Self::InProgress => f.write_str("the pool is being grown or shrunk by another thread"),
            Self::OutOfMemory => ClearError::OutOfMemory.fmt(f),
        }
    }
}
impl Error for ResizeError {}

impl From<Refused> for ResizeError {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}
impl From<WrongPool> for ResizeError {
    fn from(_: WrongPool) -> Self {
        Self::WrongPool
    }
}
