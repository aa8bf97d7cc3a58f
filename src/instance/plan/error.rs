//! Why there is no plan.

use core::error::Error;
use core::fmt;

use super::memory::PlanTerm;
use super::size::Bytes;

/// A number that a plan is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanInput {
    /// Bytes of the device.
    DeviceMemory,
    /// Layers with K/V on the rank.
    Layers,
    /// K/V heads.
    KvHeads,
    /// Elements of a head.
    HeadSize,
    /// Elements of a latent vector.
    Latent,
    /// Bits of an element.
    ElementBits,
    /// Ranks that share each layer.
    TensorParallel,
}

impl fmt::Display for PlanInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DeviceMemory => "the device memory",
            Self::Layers => "the number of layers",
            Self::KvHeads => "the number of K/V heads",
            Self::HeadSize => "the head size",
            Self::Latent => "the size of the latent vector",
            Self::ElementBits => "the size of an element",
            Self::TensorParallel => "the tensor-parallel degree",
        })
    }
}

/// A product or a sum on the way to the bytes of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanStep {
    /// K/V heads × head size × bits of an element × positions, or elements of a latent vector × bits × positions.
    PlaneBits,
    /// Scale bytes of a position × positions + scale bytes of a block.
    ScaleBytes,
    /// K + V + scales.
    LayerBytes,
    /// Bytes of a layer × layers.
    BlockBytes,
}

impl fmt::Display for PlanStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PlaneBits => {
                "the bits of a block's K, V or latent in a layer (elements * bits * positions)"
            }
            Self::ScaleBytes => "the scales of a block in a layer (scale bytes * positions)",
            Self::LayerBytes => "the bytes of a block in a layer (K + V + scales)",
            Self::BlockBytes => "the bytes of a block (bytes in a layer * layers)",
        })
    }
}

/// Why there is no plan for a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// A number that must be at least 1.
    Zero {
        /// Which.
        input: PlanInput,
    },
    /// The block size is zero, or more than a pool takes.
    BlockSize {
        /// Positions asked for.
        asked: usize,
        /// [`MAX_BLOCK_SIZE`](crate::MAX_BLOCK_SIZE).
        max: usize,
    },
    /// There is no such rank among those that share a layer.
    NoSuchRank {
        /// The rank asked for, counted from 0.
        rank: u64,
        /// The tensor-parallel degree.
        tensor_parallel: u64,
    },
    /// The margin is more than all.
    MarginRange {
        /// Millionths asked for.
        parts_per_million: u32,
        /// A whole.
        max: u32,
    },
    /// A term is larger than what those before it leave.
    DoesNotFit {
        /// The first such term.
        term: PlanTerm,
        /// Its bytes.
        needed: u64,
        /// Bytes left for it.
        left: u64,
    },
    /// More than 64 bits.
    Overflow {
        /// Which product or sum.
        step: PlanStep,
    },
    /// What is left for K/V is less than one block.
    LessThanABlock {
        /// Bytes of a block.
        block_bytes: u64,
        /// Bytes left.
        left: u64,
    },
    /// More blocks than ids: the rest of the memory would never be used. Larger blocks are fewer.
    TooManyBlocks {
        /// Blocks that fit.
        blocks: u64,
        /// [`MAX_BLOCKS`](crate::MAX_BLOCKS).
        max: usize,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Zero { input } => write!(f, "{input} is 0"),
            Self::BlockSize { asked, max } => {
                write!(f, "block size {asked} is not between 1 and {max} positions")
            }
            Self::NoSuchRank {
                rank,
                tensor_parallel,
            } => write!(f, "rank {rank} is not one of {tensor_parallel}"),
            Self::MarginRange {
                parts_per_million,
                max,
            } => write!(
                f,
                "a margin of {parts_per_million} millionths is more than all, {max}"
            ),
            Self::DoesNotFit { term, needed, left } => write!(
                f,
                "{term} {} not fit: {} needed, {} left",
                if term.is_plural() { "do" } else { "does" },
                Bytes(needed),
                Bytes(left)
            ),
            Self::Overflow { step } => write!(f, "{step} overflow 64 bits"),
            Self::LessThanABlock { block_bytes, left } => write!(
                f,
                "less than one block is left: {} of the {} of a block",
                Bytes(left),
                Bytes(block_bytes)
            ),
            Self::TooManyBlocks { blocks, max } => {
                write!(f, "{blocks} blocks are more than the {max} ids of a shard")
            }
        }
    }
}
impl Error for PlanError {}

/// Why ranks make no instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstancePlanError {
    /// No rank.
    NoRanks,
    /// Blocks of other sizes: one table is for all ranks.
    BlockSize {
        /// The first rank that differs from rank 0.
        rank: usize,
        /// Positions of a block there.
        block_size: usize,
        /// Positions of a block of rank 0.
        expected: usize,
    },
}

impl fmt::Display for InstancePlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoRanks => f.write_str("an instance needs at least one rank"),
            Self::BlockSize {
                rank,
                block_size,
                expected,
            } => write!(
                f,
                "rank {rank} has blocks of {block_size} positions, rank 0 of {expected}"
            ),
        }
    }
}
impl Error for InstancePlanError {}
