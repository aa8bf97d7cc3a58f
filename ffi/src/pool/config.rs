//! What a pool is to be.

use kvblock::{PoolConfig, Proof, ShardId};

use crate::arg::{Argument, Versioned};
use crate::error::KVB_NO_SHARD;
use crate::status::KVB_ERR_INVALID;

/// Hits are compared with the tokens themselves, 4 bytes a position: exact.
pub const KVB_PROOF_TOKENS: u32 = 0;
/// Hits are compared with a keyed 128-bit digest of the tokens, 16 bytes a block: as certain as the digest.
pub const KVB_PROOF_DIGEST: u32 = 1;

/// Chain keys are SipHash-1-3 under the secret.
pub const KVB_HASH_SIP: u32 = 0;
/// Chain keys are XXH3 with a seed: faster, for one trusted tenant. A hash only narrows the search, whichever it is.
pub const KVB_HASH_XXH3: u32 = 1;

/// What a pool is to be. All zero but `struct_size`, `blocks` and `block_size` is a good choice for the only pool of a program; give each of
/// several its own `shard`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_pool_config {
    /// `sizeof(kvb_pool_config)`.
    pub struct_size: u32,
    /// The name of its shard, which refusals tell, below `KVB_NO_SHARD`. Handles of pools with different ones differ; those of pools with equal
    /// ones may not, and then a call with the handle of the other pool is not refused.
    pub shard: u32,
    /// Blocks that are online from the start.
    pub blocks: usize,
    /// The most blocks that it can ever have; 0 for `blocks`. Bookkeeping is made for that many.
    pub max_blocks: usize,
    /// Token positions of a block.
    pub block_size: usize,
    /// The last so many events are kept for readers; 0 keeps none and costs nothing.
    pub events: usize,
    /// The key of all keyed hashes. Equal on pools that must act alike; random where tenants could be hostile.
    pub secret: [u8; 16],
    /// `KVB_PROOF_*`.
    pub proof: u32,
    /// `KVB_HASH_*`.
    pub hash: u32,
    /// The seed of `KVB_HASH_XXH3`.
    pub hash_seed: u64,
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_pool_config {}

impl kvb_pool_config {
    pub(crate) fn read(&self) -> Result<PoolConfig, Argument> {
        if self.shard == KVB_NO_SHARD {
            return Err(Argument(KVB_ERR_INVALID));
        }
        let mut config = PoolConfig::new(self.blocks, self.block_size)
            .shard(ShardId::new(self.shard))
            .secret(self.secret)
            .events(self.events)
            .proof(match self.proof {
                KVB_PROOF_TOKENS => Proof::Tokens,
                KVB_PROOF_DIGEST => Proof::Digest,
                _ => return Err(Argument(KVB_ERR_INVALID)),
            });
        if self.max_blocks != 0 {
            config = config.max_blocks(self.max_blocks);
        }
        match self.hash {
            KVB_HASH_SIP => Ok(config),
            KVB_HASH_XXH3 => Ok(config.xxh3(self.hash_seed)),
            _ => Err(Argument(KVB_ERR_INVALID)),
        }
    }
}
