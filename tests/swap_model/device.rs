//! Two memories and the engine that copies between them, when it likes.

use std::collections::VecDeque;

use kvblock::{BlockId, Fence};

/// Positions of a block.
pub(crate) const SIZE: usize = 4;
/// What a block has that was given to somebody new.
const GARBAGE: u64 = u64::MAX;

/// One tier's memory: what each position holds.
pub(crate) struct Memory {
    positions: Vec<u64>,
}

impl Memory {
    pub(crate) fn new(blocks: usize) -> Self {
        Self {
            positions: vec![GARBAGE; blocks * SIZE],
        }
    }
    pub(crate) fn block(&self, block: BlockId) -> &[u64] {
        &self.positions[first(block)..][..SIZE]
    }
    fn block_mut(&mut self, block: BlockId) -> &mut [u64] {
        &mut self.positions[first(block)..][..SIZE]
    }
}

fn first(block: BlockId) -> usize {
    usize::try_from(block.get()).unwrap() * SIZE
}

/// A copy that was launched, pair by pair.
struct Job {
    from: usize,
    pairs: VecDeque<(BlockId, BlockId)>,
    fence: u64,
}

/// The memories by tier, and the copies that were launched, in their order.
pub(crate) struct Device {
    memories: [Memory; 2],
    jobs: VecDeque<Job>,
    launched: u64,
    completed: u64,
}

impl Device {
    pub(crate) fn new(blocks: [usize; 2]) -> Self {
        Self {
            memories: blocks.map(Memory::new),
            jobs: VecDeque::new(),
            launched: 0,
            completed: 0,
        }
    }

    pub(crate) fn memory(&self, tier: usize) -> &Memory {
        &self.memories[tier]
    }

    /// Whether a copy that is not done may read or write a block.
    fn touches(&self, tier: usize, block: BlockId) -> bool {
        self.jobs.iter().any(|job| {
            job.pairs
                .iter()
                .any(|&(from, to)| if tier == job.from { from } else { to } == block)
        })
    }

    /// Blocks are somebody's from now on.
    pub(crate) fn give(&mut self, tier: usize, blocks: &[BlockId]) {
        for &block in blocks {
            assert!(
                !self.touches(tier, block),
                "{block:?} of tier {tier} is given away while it is being copied"
            );
            self.memories[tier].block_mut(block).fill(GARBAGE);
        }
    }

    /// What a block has is lost.
    pub(crate) fn spoil(&mut self, tier: usize, block: BlockId) {
        self.memories[tier].block_mut(block).fill(GARBAGE);
    }

    /// The engine computes one position.
    pub(crate) fn write(&mut self, tier: usize, block: BlockId, offset: usize, content: u64) {
        assert!(
            !self.touches(tier, block),
            "{block:?} of tier {tier} is written while it is being copied"
        );
        self.memories[tier].block_mut(block)[offset] = content;
    }

    /// A copy inside of one memory, done at once.
    pub(crate) fn copy(&mut self, tier: usize, from: BlockId, to: BlockId, positions: usize) {
        let read = self.memories[tier].block(from)[..positions].to_vec();
        self.give(tier, &[to]);
        self.memories[tier].block_mut(to)[..positions].copy_from_slice(&read);
    }

    /// A copy to the other memory, to be done later.
    pub(crate) fn launch(&mut self, from: usize, pairs: &[(BlockId, BlockId)]) -> Fence {
        self.launched += 1;
        self.jobs.push_back(Job {
            from,
            pairs: pairs.iter().copied().collect(),
            fence: self.launched,
        });
        Fence(self.launched)
    }

    /// Copies so many blocks, the oldest job's first.
    pub(crate) fn run(&mut self, mut blocks: usize) {
        while let Some(job) = self.jobs.front_mut() {
            let Some((from, to)) = job.pairs.front().copied() else {
                self.completed = job.fence;
                self.jobs.pop_front();
                continue;
            };
            if blocks == 0 {
                break;
            }
            blocks -= 1;
            let (tier, other) = (job.from, 1 - job.from);
            job.pairs.pop_front();
            let read = self.memories[tier].block(from).to_vec();
            self.memories[other].block_mut(to).copy_from_slice(&read);
        }
    }

    pub(crate) fn completed(&self) -> Fence {
        Fence(self.completed)
    }
}
