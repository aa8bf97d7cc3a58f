//! Making registries.

use alloc::vec::Vec;

use kvblock::{
    CreateError, Instance, InstanceError, PoolConfig, Rank, Sequences, SequencesConfig, ShardId,
};

use super::kvb_seqs;
use crate::arg::{self, Argument, Versioned};
use crate::error::{self, KVB_NO_SHARD, Problem, kvb_error, refused};
use crate::format::kvb_format;
use crate::object;
use crate::pool::{kvb_pool, kvb_pool_config};
use crate::status::{KVB_ERR_INVALID, KVB_ERR_LENGTH_MISMATCH, KVB_ERR_NO_MEMORY, kvb_status};

/// What a registry is made with. All zero but `struct_size` and `max_sequences` is a good choice.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_seqs_config {
    /// `sizeof(kvb_seqs_config)`.
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// Sequences that can live at once, branches included.
    pub max_sequences: usize,
    /// Blocks that admissions leave to the growth of those that were admitted.
    pub watermark: usize,
    /// Positions up to which sequences get all of their bookkeeping at creation: within them no call of a step's cycle (admit, step,
    /// tokens, computed, copied, fork, truncate, release, preempt) allocates. Beyond, and with 0, buffers are made as they are
    /// first needed and kept.
    pub positions: usize,
    /// How the content of blocks is laid out, which transfers are held against: NULL, or one for each shard.
    pub formats: *const *const kvb_format,
    /// How many: 0, or one for each shard.
    pub format_count: usize,
}

// SAFETY: integers and a pointer.
unsafe impl Versioned for kvb_seqs_config {}

/// A configuration that was read.
struct ReadConfig<'a> {
    config: SequencesConfig,
    formats: &'a [*const kvb_format],
}

impl ReadConfig<'_> {
    /// # Safety
    /// * What the configuration points to is there.
    unsafe fn new(config: &kvb_seqs_config) -> Result<Self, Argument> {
        arg::unused(config.reserved)?;
        Ok(Self {
            config: SequencesConfig::new(config.max_sequences)
                .watermark(config.watermark)
                .positions(config.positions),
            // SAFETY: this function's contract.
            formats: unsafe { arg::slice(config.formats, config.format_count) }?,
        })
    }

    /// That of one of some shards.
    ///
    /// # Safety
    /// * What the configuration points to is there.
    unsafe fn of(&self, shard: usize, shards: usize) -> Result<SequencesConfig, Argument> {
        if self.formats.is_empty() {
            return Ok(self.config.clone());
        }
        if self.formats.len() != shards {
            return Err(Argument(KVB_ERR_LENGTH_MISMATCH));
        }
        // SAFETY: this function's contract.
        let format = unsafe { arg::get(self.formats[shard]) }?;
        Ok(self.config.clone().format(format.copy()?))
    }
}

/// Makes a registry over some pools, each of which is a shard that must hold every sequence: one, or the stages of a pipeline. Pools of one
/// registry have blocks of one size and different `shard` names; at most `KVB_MAX_SHARDS`. Many registries may share pools.
///
/// Ownership: the registry keeps the pools; `*out` is the caller's, to be given to `kvb_seqs_destroy`. Threads: any. O(max_sequences) a
/// shard. Errors: `KVB_ERR_NO_SEQUENCES`, `KVB_ERR_TOO_MANY_SLOTS`, `KVB_ERR_WATERMARK`, `KVB_ERR_FORMAT`, `KVB_ERR_NO_SHARDS`,
/// `KVB_ERR_TOO_MANY_SHARDS`, `KVB_ERR_SAME_SHARD`, `KVB_ERR_BLOCK_SIZE`, `KVB_ERR_LENGTH_MISMATCH` (formats), `KVB_ERR_NO_MEMORY`,
/// `KVB_ERR_STRUCT_SIZE`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_create(
    pools: *const *const kvb_pool,
    pool_count: usize,
    config: *const kvb_seqs_config,
    out: *mut *mut kvb_seqs,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (pools, out) = unsafe { (arg::slice(pools, pool_count)?, arg::place(out)?) };
        // SAFETY: as above.
        let config = unsafe { arg::versioned(config) }?;
        // SAFETY: as above.
        let config = unsafe { ReadConfig::new(&config) }?;
        let mut shards = Vec::new();
        let enough = shards.try_reserve_exact(pools.len());
        enough.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
        for (shard, &pool) in pools.iter().enumerate() {
            // SAFETY: as above, for the pool and its format.
            let (pool, config) = unsafe { (arg::get(pool)?, config.of(shard, pools.len())?) };
            let made = Sequences::new(pool.inner.clone(), &config);
            shards.push(made.map_err(of_creation)?);
        }
        let inner = Instance::split(shards).map_err(refused)?;
        Ok(object::give(kvb_seqs { inner }, out)?)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

fn of_creation(error: CreateError) -> Problem<InstanceError> {
    refused(error.into())
}

/// What one rank has.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_rank {
    /// Its name, below `KVB_NO_SHARD`.
    pub shard: u32,
    /// 0.
    pub reserved: u32,
    /// Blocks that its memory has room for.
    pub blocks: usize,
    /// Blocks that it can ever have; 0 for `blocks`.
    pub max_blocks: usize,
}

/// Makes a registry over ranks in lockstep, which hold every sequence under the same block ids: one pool with as many blocks as the
/// smallest rank, named after it. Of `pool`, `blocks`, `max_blocks` and `shard` are not looked at. What larger ranks have beyond the
/// smallest is stranded.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_seqs_destroy`. Threads: any. O(blocks + max_sequences).
/// Errors: as `kvb_pool_create` and `kvb_seqs_create`; `KVB_ERR_INVALID` also for a rank that is named `KVB_NO_SHARD`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_create_lockstep(
    ranks: *const kvb_rank,
    rank_count: usize,
    pool: *const kvb_pool_config,
    config: *const kvb_seqs_config,
    out: *mut *mut kvb_seqs,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (given, out) = unsafe { (arg::slice(ranks, rank_count)?, arg::place(out)?) };
        // SAFETY: as above.
        let (pool, config) = unsafe { (arg::versioned(pool)?, arg::versioned(config)?) };
        // SAFETY: as above.
        let config = unsafe { ReadConfig::new(&config)?.of(0, 1) }?;
        let pool: PoolConfig = kvb_pool_config {
            shard: 0,
            blocks: 1,
            max_blocks: 1,
            ..pool
        }
        .read()?;
        for rank in given {
            arg::unused(rank.reserved)?;
        }
        let mut ranks = Vec::new();
        let enough = ranks.try_reserve_exact(given.len());
        enough.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
        if given.iter().any(|rank| rank.shard == KVB_NO_SHARD) {
            return Err(Argument(KVB_ERR_INVALID).into());
        }
        ranks.extend(given.iter().map(|rank| {
            let most = if rank.max_blocks == 0 {
                rank.blocks
            } else {
                rank.max_blocks
            };
            Rank::new(ShardId::new(rank.shard), rank.blocks).max_blocks(most)
        }));
        let inner = Instance::lockstep(&ranks, &pool, &config).map_err(refused::<InstanceError>)?;
        Ok(object::give(kvb_seqs { inner }, out)?)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Makes another registry over the same shards, for another scheduler thread. Each shard keeps its format: `config->formats` is not looked
/// at.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_seqs_destroy`. Threads: the given registry's. O(max_sequences) a shard.
/// Errors: as `kvb_seqs_create`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_create_another(
    seqs: *const kvb_seqs,
    config: *const kvb_seqs_config,
    out: *mut *mut kvb_seqs,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (seqs, out) = unsafe { (arg::get(seqs)?, arg::place(out)?) };
        // SAFETY: as above.
        let config = kvb_seqs_config {
            formats: core::ptr::null(),
            format_count: 0,
            ..unsafe { arg::versioned(config) }?
        };
        // SAFETY: it points to nothing.
        let config = unsafe { ReadConfig::new(&config) }?;
        let inner = seqs
            .inner
            .another(&config.config)
            .map_err(refused::<InstanceError>)?;
        Ok(object::give(kvb_seqs { inner }, out)?)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Ends every sequence and the registry. What copies and imports under way hold goes with it, so the engine must be done with its blocks:
/// otherwise `kvb_seqs_close_after`.
///
/// Threads: no other call may use it meanwhile. O(blocks held). NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_destroy(seqs: *mut kvb_seqs) {
    // SAFETY: the head of the header: made by its create function, and not destroyed before.
    drop(unsafe { object::take(seqs) });
}

/// Most shards of one registry. Ranks in lockstep may be more.
pub const KVB_MAX_SHARDS: usize = 16;

const _: () = assert!(KVB_MAX_SHARDS == kvblock::MAX_SHARDS);
