//! A small pool with a payload cell for each block, and the moves that the models are made of.

use kvblock::steps::{Looked, Steps, Unsettled};
use kvblock::{BlockId, BlockPool, ConstantHasher, PoolConfig, Worker};
use loom::cell::UnsafeCell;
use loom::sync::Arc;

pub(crate) type Tokens = [u32; 2];
pub(crate) const A: Tokens = [1, 1];
pub(crate) const B: Tokens = [2, 2];
pub(crate) const C: Tokens = [3, 3];
pub(crate) const X: Tokens = [8, 8];
pub(crate) const Y: Tokens = [9, 9];

/// Allowance of a worker that is not to be past the cap.
pub(crate) const AMPLE: u32 = 9;

pub(crate) fn id(block: u32) -> BlockId {
    BlockId::new(block)
}
fn payload(tokens: Tokens) -> u64 {
    u64::from(tokens[0]) * 100 + u64::from(tokens[1])
}

pub(crate) struct Shard {
    steps: Steps,
    cells: Vec<UnsafeCell<u64>>,
    allowance: u32,
}
// Loom itself checks every access to the cells.
unsafe impl Sync for Shard {}
unsafe impl Send for Shard {}

impl std::ops::Deref for Shard {
    type Target = Steps;
    fn deref(&self) -> &Steps {
        &self.steps
    }
}

impl Shard {
    /// All blocks free.
    pub(crate) fn new(blocks: usize, allowance: u32) -> Arc<Self> {
        Self::made(blocks, allowance, &PoolConfig::new(blocks, 2))
    }
    /// With room for `max` blocks.
    pub(crate) fn elastic(online: usize, max: usize) -> Arc<Self> {
        let config = PoolConfig::new(online, 2).max_blocks(max);
        Self::made(max, AMPLE, &config)
    }
    /// With a ring of events.
    pub(crate) fn with_events(blocks: usize, allowance: u32, events: usize) -> Arc<Self> {
        Self::made(
            blocks,
            allowance,
            &PoolConfig::new(blocks, 2).events(events),
        )
    }
    /// Blocks of four tokens, two words: content that can be torn. All keys are equal, so that it is compared.
    pub(crate) fn of_two_words(blocks: usize) -> Arc<Self> {
        Self::made(
            blocks,
            AMPLE,
            &PoolConfig::new(blocks, 4).hasher(std::sync::Arc::new(ConstantHasher(0))),
        )
    }
    fn made(blocks: usize, allowance: u32, config: &PoolConfig) -> Arc<Self> {
        let pool = BlockPool::new(config).unwrap();
        let cells = (0..blocks).map(|_| UnsafeCell::new(0)).collect();
        Arc::new(Self {
            steps: Steps(pool),
            cells,
            allowance,
        })
    }
    pub(crate) fn worker(&self) -> Worker {
        let mut worker = self.steps.0.worker().unwrap();
        self.allow(&mut worker, self.allowance);
        worker
    }

    // ---- the device memory behind a block

    pub(crate) fn write(&self, block: BlockId, value: u64) {
        // SAFETY: loom fails the model if any other access is concurrent.
        self.cells[block.get() as usize].with_mut(|cell| unsafe { *cell = value });
    }
    pub(crate) fn check(&self, block: BlockId, tokens: Tokens) {
        // SAFETY: loom fails the model if any write is concurrent.
        self.cells[block.get() as usize].with(|cell| {
            assert_eq!(
                unsafe { *cell },
                payload(tokens),
                "wrong content under a hit"
            )
        });
    }
    pub(crate) fn fill(&self, block: BlockId, tokens: Tokens) {
        self.write(block, payload(tokens));
    }

    // ---- moves

    /// One more published block at the end of a held path.
    pub(crate) fn seed(&self, worker: &mut Worker, path: &[BlockId], tokens: Tokens) -> BlockId {
        let block = self.private(worker);
        self.fill(block, tokens);
        self.put(worker, path, block, tokens);
        block
    }
    /// Publishes a private block that has its payload.
    pub(crate) fn put(
        &self,
        worker: &mut Worker,
        path: &[BlockId],
        block: BlockId,
        tokens: Tokens,
    ) {
        let published = self.publish(worker, path, &[block], &tokens);
        assert_eq!(published.stored, 1, "{published:?}");
    }
    /// A private block out of the free ones.
    pub(crate) fn private(&self, worker: &mut Worker) -> BlockId {
        assert!(self.withdraw(1));
        self.take_free(worker).unwrap()
    }
    /// An idle chain of these contents.
    pub(crate) fn idle_chain(&self, worker: &mut Worker, contents: &[Tokens]) -> Vec<BlockId> {
        let mut path = vec![];
        for &tokens in contents {
            path.push(self.seed(worker, &path, tokens));
        }
        self.release(&path);
        path
    }
    /// A hit, given back.
    pub(crate) fn touch(&self, worker: &Worker, contents: &[Tokens]) {
        assert_eq!(self.see(worker, contents), contents.len());
    }
    /// How many of these blocks are found; each must have its payload.
    pub(crate) fn see(&self, worker: &Worker, contents: &[Tokens]) -> usize {
        let found = self.find(worker, &contents.concat());
        for (&block, &tokens) in found.iter().zip(contents) {
            self.check(block, tokens);
        }
        self.release(&found);
        found.len()
    }
    /// So many blocks, or none; written to.
    pub(crate) fn grab(&self, worker: &mut Worker, n: u32) -> Vec<BlockId> {
        if !self.withdraw(n) {
            return vec![];
        }
        let blocks = self.take(worker, n as usize);
        for &block in &blocks {
            self.write(block, 7);
        }
        blocks
    }
    pub(crate) fn drop_all(&self, blocks: &[BlockId]) {
        for &block in blocks {
            self.release(&[block]);
        }
    }
    /// Every token, into a hand that never comes back.
    pub(crate) fn lose_tokens(&self) -> Vec<BlockId> {
        std::iter::from_fn(|| self.pop()).collect()
    }
    /// Of the lost tokens, those that still are: their blocks are flagged and have none in the ring.
    pub(crate) fn still_lost(&self, lost: &[BlockId]) -> Vec<BlockId> {
        let ring = self.tokens();
        lost.iter()
            .copied()
            .filter(|&block| self.is_queued(block) && !ring.contains(&block))
            .collect()
    }
    /// Finds `path`, publishes `block` with `tokens` below it, and gives all back; without the path only the block.
    pub(crate) fn extend(
        &self,
        worker: &mut Worker,
        path: &[Tokens],
        block: BlockId,
        tokens: Tokens,
    ) {
        self.fill(block, tokens);
        let mut held = self.find(worker, &path.concat());
        for (&found, &tokens) in held.iter().zip(path) {
            self.check(found, tokens);
        }
        if held.len() == path.len() {
            let _ = self.publish(worker, &held, &[block], &tokens);
        } else {
            self.release(&held);
            held.clear();
        }
        held.push(block);
        self.release(&held);
    }
    /// The sweep aimed at one block, for a credit. `None`: no credit. `Some(None)`: credit, no block.
    pub(crate) fn sweep_paid(
        &self,
        worker: &mut Worker,
        block: BlockId,
    ) -> Option<Option<BlockId>> {
        if !self.withdraw(1) {
            return None;
        }
        Some(
            self.claim_swept(worker, block)
                .map(|claim| self.settle(claim)),
        )
    }
    /// Looks at a token; it goes back to the ring if it is to.
    pub(crate) fn look(&self, token: BlockId, past_cap: bool) -> Option<Unsettled> {
        match self.examine(token, past_cap) {
            Looked::Claimed(claim) => Some(claim),
            Looked::Dropped => None,
            Looked::Back => {
                self.push(token);
                None
            }
        }
    }

    // ---- at rest

    pub(crate) fn at_rest(&self) {
        self.rest(&[], &[], 0);
    }
    /// `held` once each; `lost` tokens and `owed` credits are in stopped hands.
    pub(crate) fn rest(&self, held: &[BlockId], lost: &[BlockId], owed: usize) {
        let held: Vec<(BlockId, u64)> = held.iter().map(|&block| (block, 1)).collect();
        self.audit(&held, lost, owed, &[])
            .unwrap_or_else(|wrong| panic!("{wrong}"));
    }
}
