//! What a pool is to be.

use alloc::sync::Arc;

use crate::block::{MAX_BLOCK_SIZE, MAX_BLOCKS, ShardId};
use crate::error::CreateError;
use crate::prefix::{BlockHasher, Hasher, Proof};

/// What a [`BlockPool`](crate::BlockPool) is to be. Checked when the pool is made.
///
/// ```
/// use kvblock::{BlockPool, PoolConfig};
/// let pool = BlockPool::new(&PoolConfig::new(1024, 16).secret(*b"a random 16 byte"))?;
/// assert_eq!(pool.available(), 1024);
/// # Ok::<(), kvblock::CreateError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PoolConfig {
    pub(crate) shard: ShardId,
    pub(crate) blocks: usize,
    pub(crate) max_blocks: usize,
    pub(crate) block_size: usize,
    pub(crate) secret: [u8; 16],
    pub(crate) hasher: Option<Hasher>,
    pub(crate) proof: Proof,
    pub(crate) events: usize,
}

impl PoolConfig {
    /// `blocks` blocks of `block_size` token positions.
    #[must_use]
    pub const fn new(blocks: usize, block_size: usize) -> Self {
        Self {
            shard: ShardId::new(0),
            blocks,
            max_blocks: blocks,
            block_size,
            secret: [0; 16],
            hasher: None,
            proof: Proof::Tokens,
            events: 0,
        }
    }

    /// The shard that refusals name. 0 otherwise.
    #[must_use]
    pub const fn shard(mut self, shard: ShardId) -> Self {
        self.shard = shard;
        self
    }

    /// The most blocks the pool can ever have: bookkeeping is made for that many. `blocks` otherwise.
    #[must_use]
    pub const fn max_blocks(mut self, max_blocks: usize) -> Self {
        self.max_blocks = max_blocks;
        self
    }

    /// The key of all keyed hashes: namespaces, chain keys, digests. Zero otherwise.
    ///
    /// Pools that must act alike (the ranks of one instance) need the same. Where tenants could be hostile it must be
    /// random and unknown to them: who knows it can make namespaces' 128-bit digests be searched for, and chain keys collide.
    #[must_use]
    pub const fn secret(mut self, secret: [u8; 16]) -> Self {
        self.secret = secret;
        self
    }

    /// Another hasher than SipHash-1-3 under the secret.
    #[must_use]
    pub fn hasher(mut self, hasher: Arc<dyn BlockHasher>) -> Self {
        self.hasher = Some(Hasher::Given(hasher));
        self
    }

    /// [`Xxh3Hasher`](crate::Xxh3Hasher) with this seed, without an allocation and an indirect call.
    #[cfg(feature = "xxh3")]
    #[must_use]
    pub fn xxh3(mut self, seed: u64) -> Self {
        self.hasher = Some(Hasher::Xxh3(crate::prefix::Xxh3Hasher::new(seed)));
        self
    }

    /// What hits are compared with. The tokens otherwise.
    #[must_use]
    pub const fn proof(mut self, proof: Proof) -> Self {
        self.proof = proof;
        self
    }

    /// Keeps the last `capacity` events for readers; 0, the default, keeps none and costs nothing.
    #[must_use]
    pub const fn events(mut self, capacity: usize) -> Self {
        self.events = capacity;
        self
    }

    /// With other numbers of blocks.
    pub(crate) const fn resized(mut self, blocks: usize, max_blocks: usize) -> Self {
        self.blocks = blocks;
        self.max_blocks = max_blocks;
        self
    }

    pub(crate) const fn check(&self) -> Result<(), CreateError> {
        let &Self {
            blocks,
            max_blocks,
            block_size,
            ..
        } = self;
        if blocks == 0 {
            return Err(CreateError::NoBlocks);
        }
        if blocks > MAX_BLOCKS {
            return Err(CreateError::TooManyBlocks {
                asked: blocks,
                max: MAX_BLOCKS,
            });
        }
        if max_blocks > MAX_BLOCKS {
            return Err(CreateError::TooManyBlocks {
                asked: max_blocks,
                max: MAX_BLOCKS,
            });
        }
        if max_blocks < blocks {
            return Err(CreateError::MaxBelowBlocks { blocks, max_blocks });
        }
        if block_size == 0 || block_size > MAX_BLOCK_SIZE {
            return Err(CreateError::BlockSize {
                asked: block_size,
                max: MAX_BLOCK_SIZE,
            });
        }
        Ok(())
    }
}
