//! What the bench programs do with a pool.

use kvblock::{BlockPool, Blocks, Chain, Contents, Namespace, PoolConfig, Prompt, Worker};

/// Token positions of a block.
pub(crate) const BLOCK: usize = 16;
/// Blocks of a chain, unless said otherwise.
pub(crate) const CHAIN: usize = 128;
/// Chains of the warm set.
pub(crate) const WARM: usize = 64;

pub(crate) fn pool(blocks: usize) -> BlockPool {
    BlockPool::new(&PoolConfig::new(blocks, BLOCK)).expect("a sound configuration")
}

/// A prompt's tokens. Prompts with different numbers have no block in common: the first token says which one it is.
pub(crate) fn text(number: u32, blocks: usize) -> Vec<u32> {
    let mut tokens: Vec<u32> = (0_u32..)
        .map(|i| i.wrapping_mul(0x9e37_79b1))
        .take(blocks * BLOCK)
        .collect();
    tokens[0] = number;
    tokens
}

/// One thread at work on a pool.
pub(crate) struct Desk<'p> {
    pub(crate) pool: &'p BlockPool,
    pub(crate) worker: Worker,
    pub(crate) space: Namespace,
    next: u32,
}

impl<'p> Desk<'p> {
    pub(crate) fn new(pool: &'p BlockPool) -> Self {
        Self::from_number(pool, 0)
    }

    /// Desks of one pool number their prompts from far apart.
    pub(crate) fn from_number(pool: &'p BlockPool, next: u32) -> Self {
        Self {
            pool,
            worker: pool.worker().expect("memory"),
            space: Namespace::new(),
            next,
        }
    }

    /// Makes the text a prompt that was never seen.
    pub(crate) fn renew(&mut self, tokens: &mut [u32]) {
        self.next += 1;
        tokens[0] = self.next;
    }

    pub(crate) fn fresh(&mut self, blocks: usize) -> Vec<u32> {
        let mut tokens = text(0, blocks);
        self.renew(&mut tokens);
        tokens
    }

    /// Reserve and take.
    #[inline]
    pub(crate) fn take(&mut self, n: usize) -> Blocks<'p> {
        let mut promise = self.pool.reserve(n).expect("room");
        promise.take(&mut self.worker, n).expect("a promise")
    }

    #[inline]
    pub(crate) fn take_and_release(&mut self, n: usize) {
        let blocks = self.take(n);
        blocks.release(&mut self.worker).expect("its own pool");
    }

    /// Reserve and find: of whole blocks, all may match.
    #[inline]
    pub(crate) fn find(&mut self, tokens: &[u32]) -> Chain<'p> {
        let mut promise = self.pool.reserve(tokens.len() / BLOCK).expect("room");
        let prompt = Prompt::new(&self.space, tokens).full_hit(true);
        let found = self.pool.find(&mut self.worker, &prompt, &mut promise);
        found.expect("its own pool")
    }

    pub(crate) fn publish(&mut self, chain: &mut Chain<'p>, tokens: &[u32]) {
        let done = chain.publish(&mut self.worker, &Contents::new(tokens), None);
        assert_eq!(done.expect("its own pool").stopped, None);
    }

    #[inline]
    pub(crate) fn release(&mut self, chain: Chain<'p>) {
        chain.release(&mut self.worker).expect("its own pool");
    }

    #[inline]
    pub(crate) fn find_and_release(&mut self, tokens: &[u32]) -> usize {
        let chain = self.find(tokens);
        let found = chain.len();
        self.release(chain);
        found
    }

    /// Reserve, take, publish and release: what no prompt before had. In a pool without free blocks every block is reclaimed.
    pub(crate) fn store(&mut self, tokens: &[u32]) {
        let mut chain = self.pool.chain(&self.space);
        let blocks = self.take(tokens.len() / BLOCK);
        chain.push(blocks).expect("its own pool");
        self.publish(&mut chain, tokens);
        self.release(chain);
    }

    /// As a request does it: looks for the prompt first, takes what is not found.
    pub(crate) fn serve(&mut self, tokens: &[u32]) {
        let n = tokens.len() / BLOCK;
        let mut promise = self.pool.reserve(n).expect("room");
        let prompt = Prompt::new(&self.space, tokens).full_hit(true);
        let found = self.pool.find(&mut self.worker, &prompt, &mut promise);
        let mut chain = found.expect("its own pool");
        let hit = chain.len();
        let blocks = promise.take(&mut self.worker, n - hit);
        chain
            .push(blocks.expect("a promise"))
            .expect("its own pool");
        self.publish(&mut chain, &tokens[hit * BLOCK..]);
        self.release(chain);
    }

    /// Stores chains of so many blocks until no more than that many are free.
    pub(crate) fn fill(&mut self, blocks: usize, free: usize) {
        let mut left = self.pool.report().free.saturating_sub(free);
        let mut tokens = text(0, blocks);
        while left > 0 {
            let n = left.min(blocks);
            self.renew(&mut tokens);
            self.store(&tokens[..n * BLOCK]);
            left -= n;
        }
    }

    /// Stores chains and returns their texts.
    pub(crate) fn warm(&mut self, chains: usize) -> Vec<Vec<u32>> {
        (0..chains)
            .map(|_| {
                let tokens = self.fresh(CHAIN);
                self.store(&tokens);
                tokens
            })
            .collect()
    }
}

/// A stored chain in which each block but the last has a second child, at the side.
pub(crate) struct Branching {
    tokens: Vec<u32>,
}

impl Branching {
    /// Stores `n` of them, fewer if no more fit.
    pub(crate) fn several(desk: &mut Desk<'_>, n: usize) -> Vec<Self> {
        let most = desk.pool.capacity() / (2 * CHAIN - 1);
        (0..n.min(most)).map(|_| Self::store(desk)).collect()
    }

    fn store(desk: &mut Desk<'_>) -> Self {
        let tokens = desk.fresh(CHAIN);
        desk.store(&tokens);
        let mut branching = Self { tokens };
        branching.each_side(|side| desk.serve(side));
        branching
    }

    /// The main line.
    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Makes each block's child hint name the side, so that the next find of the main line has to hash every block.
    pub(crate) fn spoil_hints(&mut self, desk: &mut Desk<'_>) {
        self.each_side(|side| {
            let found = desk.find_and_release(side);
            debug_assert_eq!(found, side.len() / BLOCK);
        });
    }

    /// The paths to the sides, longest first, since each one makes the hints above it name the main line again.
    fn each_side(&mut self, mut visit: impl FnMut(&[u32])) {
        for at in (1..CHAIN).rev() {
            let first = at * BLOCK;
            self.tokens[first] ^= 1;
            visit(&self.tokens[..first + BLOCK]);
            self.tokens[first] ^= 1;
        }
    }
}
