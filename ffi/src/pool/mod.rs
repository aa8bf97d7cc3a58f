//! One shard: its blocks, and what can be done to all of them.

// In the order of the header.

mod config;

mod report;

mod upkeep;

mod elastic;

mod reservation;

mod blocks;

mod chain;

mod branch;

mod audit;

pub use self::audit::*;
pub use self::blocks::*;
pub use self::branch::*;
pub use self::chain::*;
pub use self::config::*;
pub use self::elastic::*;
pub use self::report::*;
pub use self::reservation::*;
pub use self::upkeep::*;

use kvblock::{BlockPool, CreateError, LengthMismatch, Refused};

use crate::arg;
use crate::error::{self, kvb_error, refused};
use crate::object;
use crate::prompt::{ReadPrompt, kvb_prompt};
use crate::status::kvb_status;

/// The blocks of one device or rank. Every call that takes it may run at the same time as any other, but for `kvb_pool_destroy`.
// `repr(C)` by a way round, so that the header does not show the field.
#[cfg_attr(all(), repr(C))]
#[derive(Debug)]
pub struct kvb_pool {
    pub(crate) inner: BlockPool,
}

impl kvb_pool {
    /// The pool of a registry, as C knows it.
    pub(crate) const fn of(pool: &BlockPool) -> &Self {
        let pool: *const BlockPool = pool;
        // SAFETY: a `repr(C)` struct of one field is laid out as the field.
        unsafe { &*pool.cast::<Self>() }
    }
}

/// Makes a pool with all of its bookkeeping: no later call makes it larger.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_pool_destroy`. Threads: any. O(max_blocks).
/// Errors: `KVB_ERR_NO_BLOCKS`, `KVB_ERR_TOO_MANY_BLOCKS`, `KVB_ERR_MAX_BELOW_BLOCKS`, `KVB_ERR_BLOCK_SIZE`, `KVB_ERR_TOO_MANY_EVENTS`,
/// `KVB_ERR_INVALID`, `KVB_ERR_NO_MEMORY`, `KVB_ERR_STRUCT_SIZE`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_create(
    config: *const kvb_pool_config,
    out: *mut *mut kvb_pool,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (config, out) = unsafe { (arg::versioned(config)?, arg::place(out)?) };
        let inner = BlockPool::new(&config.read()?).map_err(refused::<CreateError>)?;
        Ok(object::give(kvb_pool { inner }, out)?)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Lets go of a pool. Registries, workers, chains and whatever else was made of it keep it until they are destroyed, in any order.
///
/// Threads: no other call may use this pointer meanwhile. NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_destroy(pool: *mut kvb_pool) {
    // SAFETY: the head of the header: made by its create function, and not destroyed before.
    drop(unsafe { object::take(pool) });
}

/// One figure of a pool; 0 if there is none.
///
/// # Safety
/// * Null, or a live object.
unsafe fn figure<T: Default>(pool: *const kvb_pool, read: impl FnOnce(&BlockPool) -> T) -> T {
    // SAFETY: this function's contract.
    unsafe { pool.as_ref() }.map_or_else(T::default, |pool| read(&pool.inner))
}

/// The name of the pool's shard.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_shard(pool: *const kvb_pool) -> u32 {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { figure(pool, |pool| pool.shard().get()) }
}

/// Token positions of a block.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_block_size(pool: *const kvb_pool) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { figure(pool, BlockPool::block_size) }
}

/// Blocks that are online: what one request can ever have.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_capacity(pool: *const kvb_pool) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { figure(pool, BlockPool::capacity) }
}

/// Blocks that are free or idle and promised to nobody, at this instant.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_available(pool: *const kvb_pool) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { figure(pool, BlockPool::available) }
}

/// Blocks that were promised and not taken, at this instant.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_reserved(pool: *const kvb_pool) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { figure(pool, BlockPool::reserved) }
}

/// Blocks that only fences hold and that come back to be used when these pass, at this instant: of a pool that was shrunk not those above its
/// limit, which its report counts, too.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_quarantined(pool: *const kvb_pool) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { figure(pool, BlockPool::quarantined) }
}

/// Whether so many blocks could be promised at this instant. Changes nothing.
///
/// Threads: any. O(1). Errors: `KVB_ERR_NEVER_FITS`, `KVB_ERR_SHORTFALL`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_check(
    pool: *const kvb_pool,
    blocks: usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be.
        let pool = unsafe { arg::get(pool) }?;
        pool.inner.check(blocks).map_err(refused::<Refused>)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// How much of a prompt is findable.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_probe {
    /// Positions that are found: whole blocks.
    pub positions: usize,
    /// Blocks among them that somebody holds.
    pub held: usize,
    /// Blocks among them that are idle: taking one costs as much as taking a free one.
    pub idle: usize,
}

/// How much of a prompt is findable at this instant. Changes nothing, not even the order of reclaim.
///
/// Threads: any. O(blocks found). Errors: `KVB_ERR_LENGTH_MISMATCH`, `KVB_ERR_NO_MEMORY` (with extra keys only). NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_probe(
    pool: *const kvb_pool,
    prompt: *const kvb_prompt,
    out: *mut kvb_probe,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (pool, prompt, out) = unsafe { (arg::get(pool)?, arg::get(prompt)?, arg::place(out)?) };
        // SAFETY: as above.
        let prompt = unsafe { ReadPrompt::new(prompt) }?;
        let found = pool
            .inner
            .probe(&prompt.lend())
            .map_err(refused::<LengthMismatch>)?;
        out.write(kvb_probe {
            positions: found.positions,
            held: found.held,
            idle: found.idle,
        });
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}
