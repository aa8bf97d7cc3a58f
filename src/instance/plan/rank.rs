//! The plan of one rank.

use alloc::vec::Vec;
use core::iter::repeat_n;

use super::error::{PlanError, PlanInput, PlanStep};
use super::memory::{PlanTerm, RankMemory};
use super::shape::{KvShape, LayerBytes, overflow};
use crate::block::{MAX_BLOCK_SIZE, MAX_BLOCKS};
use crate::copy::LayoutError;
use crate::transfer::{ElementType, KvFormat};

/// How many blocks fit into the memory of one rank, and where the rest of it goes.
///
/// `device memory = weights + workspaces + staging + margin + blocks * block bytes + remainder`, exactly.
///
/// ```
/// use kvblock::{BlockPool, CapacityPlan, KvShape, Margin, PoolConfig, RankMemory};
/// const GIB: u64 = 1 << 30;
/// let memory = RankMemory::new(80 * GIB, 34 * GIB).workspaces(3 * GIB).staging(GIB).margin(Margin::Bytes(2 * GIB));
/// // 80 layers, 8 K/V heads of 128 elements of 16 bits spread over 4 ranks, blocks of 16 positions.
/// let shape = KvShape::heads(8, 128, 16).on_rank(4, 0)?;
/// let plan = CapacityPlan::new(&memory, 80, &shape, 16)?;
/// assert_eq!((plan.block_bytes(), plan.blocks()), (1_310_720, 32_768));
/// assert_eq!((plan.longest_request(), plan.sequences_at(8192)), (524_288, 64));
///
/// let pool = BlockPool::new(&PoolConfig::new(plan.blocks(), plan.block_size()))?;
/// assert_eq!(pool.available(), 32_768);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapacityPlan {
    device_memory: u64,
    terms: [(PlanTerm, u64); 4],
    cache_bytes: u64,
    layers: u64,
    shape: KvShape,
    layer: LayerBytes,
    block_size: usize,
    block_bytes: u64,
    blocks: usize,
}

impl CapacityPlan {
    /// The plan of a rank that has K/V of so many layers, in blocks of `block_size` positions.
    ///
    /// Layers without K/V of their own don't count: those of other pipeline stages, recurrent ones, and those that read another
    /// layer's.
    ///
    /// # Errors
    /// [`PlanError`] names the number, the term or the product that is wrong. More than [`MAX_BLOCKS`] blocks are an error,
    /// too: a pool has no ids for the rest, which would be left unused. No allocation.
    pub fn new(
        memory: &RankMemory,
        layers: u64,
        shape: &KvShape,
        block_size: usize,
    ) -> Result<Self, PlanError> {
        let device_memory = memory.device_memory();
        for (value, input) in [
            (device_memory, PlanInput::DeviceMemory),
            (layers, PlanInput::Layers),
        ] {
            if value == 0 {
                return Err(PlanError::Zero { input });
            }
        }
        if block_size == 0 || block_size > MAX_BLOCK_SIZE {
            return Err(PlanError::BlockSize {
                asked: block_size,
                max: MAX_BLOCK_SIZE,
            });
        }
        let layer = shape.layer(block_size)?;
        let block_bytes = layer
            .sum()?
            .checked_mul(layers)
            .ok_or(overflow(PlanStep::BlockBytes))?;
        let (terms, left) = (memory.terms()?, memory.left()?);
        let fit = match left.checked_div(block_bytes) {
            None | Some(0) => return Err(PlanError::LessThanABlock { block_bytes, left }),
            Some(fit) => fit,
        };
        let blocks = usize::try_from(fit)
            .ok()
            .filter(|&blocks| blocks <= MAX_BLOCKS)
            .ok_or(PlanError::TooManyBlocks {
                blocks: fit,
                max: MAX_BLOCKS,
            })?;
        Ok(Self {
            device_memory,
            terms,
            cache_bytes: left,
            layers,
            shape: *shape,
            layer,
            block_size,
            block_bytes,
            blocks,
        })
    }

    /// Bytes of the device.
    #[must_use]
    pub const fn device_memory(&self) -> u64 {
        self.device_memory
    }

    /// What was subtracted from them, in order and each with its bytes.
    #[must_use]
    pub const fn terms(&self) -> &[(PlanTerm, u64)] {
        &self.terms
    }

    /// Bytes left for K/V: those of the blocks, and the remainder.
    #[must_use]
    pub const fn cache_bytes(&self) -> u64 {
        self.cache_bytes
    }

    /// Layers with K/V.
    #[must_use]
    pub const fn layers(&self) -> u64 {
        self.layers
    }

    /// What is kept of a position in each of them.
    pub const fn shape(&self) -> KvShape {
        self.shape
    }

    /// Positions of a block.
    #[must_use]
    pub const fn block_size(&self) -> usize {
        self.block_size
    }

    /// Bytes of a block, in all layers.
    #[must_use]
    pub const fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    /// Blocks that fit, from 1 to [`MAX_BLOCKS`].
    #[must_use]
    pub const fn blocks(&self) -> usize {
        self.blocks
    }

    /// Bytes left for K/V that are too few for another block.
    #[must_use]
    pub const fn remainder(&self) -> u64 {
        self.cache_bytes % self.block_bytes
    }

    /// Positions of the longest request that fits if it is alone: of all blocks.
    #[must_use]
    pub const fn longest_request(&self) -> u64 {
        longest_request(self.blocks, self.block_size)
    }

    /// Sequences of `positions` positions each that fit at the same time, if they share nothing. One that is empty needs a
    /// block as one of a single position does.
    #[must_use]
    pub const fn sequences_at(&self, positions: u64) -> u64 {
        sequences_at(self.blocks, self.block_size, positions)
    }

    /// Bytes of a block in each plane, if K and V have a plane each in every layer: K, V (or the latents alone) and scales,
    /// layer by layer. They come to [`block_bytes`](Self::block_bytes).
    pub fn plane_bytes(&self) -> impl Iterator<Item = u64> {
        let layers = usize::try_from(self.layers).unwrap_or(usize::MAX);
        repeat_n(self.layer, layers).flat_map(LayerBytes::planes)
    }

    /// The format of a block with these planes, for transfers.
    ///
    /// # Errors
    /// [`LayoutError::OutOfMemory`].
    ///
    /// Allocates.
    pub fn format(&self, element: ElementType) -> Result<KvFormat, LayoutError> {
        let planes = self.layer.planes().count() as u64;
        let planes = self.layers.saturating_mul(planes);
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(usize::try_from(planes).unwrap_or(usize::MAX))
            .map_err(|_| LayoutError::OutOfMemory)?;
        bytes.extend(self.plane_bytes());
        KvFormat::new(self.block_size, element, bytes)
    }
}

pub(super) const fn longest_request(blocks: usize, block_size: usize) -> u64 {
    blocks as u64 * block_size as u64
}

pub(super) const fn sequences_at(blocks: usize, block_size: usize, positions: u64) -> u64 {
    let each = positions.div_ceil(block_size as u64);
    blocks as u64 / if each == 0 { 1 } else { each }
}
