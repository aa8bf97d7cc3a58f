//! The plan of all ranks of an instance.

use alloc::vec::Vec;

use super::error::InstancePlanError;
use super::rank::{self, CapacityPlan};

/// The plans of all ranks of an instance that share one table of blocks (*lockstep*): each block is on all ranks, so the rank
/// with the fewest blocks decides, and what others have beyond it is *stranded*.
///
/// ```
/// # use kvblock::{CapacityPlan, InstancePlan, KvShape, RankMemory};
/// // A device has less memory than the other.
/// let rank = |device_memory| CapacityPlan::new(&RankMemory::new(device_memory, 2000), 10, &KvShape::heads(1, 4, 8), 1);
/// let plan = InstancePlan::new(vec![rank(10_000)?, rank(9_900)?])?;
/// assert_eq!((plan.blocks(), plan.binding_rank()), (98, 1));
/// assert_eq!((plan.stranded_blocks(0), plan.stranded_blocks(1)), (Some(2), Some(0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstancePlan {
    ranks: Vec<CapacityPlan>,
    binding: usize,
    blocks: usize,
    block_size: usize,
}

impl InstancePlan {
    /// The plan of an instance with these ranks, in order.
    ///
    /// # Errors
    /// [`InstancePlanError::NoRanks`], [`InstancePlanError::BlockSize`].
    pub fn new(ranks: Vec<CapacityPlan>) -> Result<Self, InstancePlanError> {
        let all = || ranks.iter().enumerate();
        let (binding, least) = all()
            .min_by_key(|(_, plan)| plan.blocks())
            .ok_or(InstancePlanError::NoRanks)?;
        let expected = ranks.first().map_or(0, CapacityPlan::block_size);
        if let Some((rank, plan)) = all().find(|(_, plan)| plan.block_size() != expected) {
            return Err(InstancePlanError::BlockSize {
                rank,
                block_size: plan.block_size(),
                expected,
            });
        }
        let blocks = least.blocks();
        Ok(Self {
            ranks,
            binding,
            blocks,
            block_size: expected,
        })
    }

    /// The plans of the ranks, at least one.
    #[must_use]
    pub fn ranks(&self) -> &[CapacityPlan] {
        &self.ranks
    }

    /// Blocks that all ranks have.
    #[must_use]
    pub const fn blocks(&self) -> usize {
        self.blocks
    }

    /// Positions of a block.
    #[must_use]
    pub const fn block_size(&self) -> usize {
        self.block_size
    }

    /// The rank that has no more blocks than these; the first of them if there are several.
    #[must_use]
    pub const fn binding_rank(&self) -> usize {
        self.binding
    }

    /// Blocks of a rank that others don't have, if there is such a rank.
    #[must_use]
    pub fn stranded_blocks(&self, rank: usize) -> Option<usize> {
        let plan = self.ranks.get(rank)?;
        Some(plan.blocks().saturating_sub(self.blocks))
    }

    /// The bytes of these blocks.
    #[must_use]
    pub fn stranded_bytes(&self, rank: usize) -> Option<u64> {
        let plan = self.ranks.get(rank)?;
        let blocks = self.stranded_blocks(rank)? as u64;
        Some(blocks.saturating_mul(plan.block_bytes()))
    }

    /// Positions of the longest request that fits if it is alone.
    #[must_use]
    pub const fn longest_request(&self) -> u64 {
        rank::longest_request(self.blocks, self.block_size)
    }

    /// Sequences of `positions` positions each that fit at the same time, if they share nothing. One that is empty needs a
    /// block as one of a single position does.
    #[must_use]
    pub const fn sequences_at(&self, positions: u64) -> u64 {
        rank::sequences_at(self.blocks, self.block_size, positions)
    }
}
