//! What a thread keeps for its calls, and the upkeep of what is findable.

use kvblock::{ClearError, CreateError, InvalidateError, Worker, WrongPool};

use super::kvb_pool;
use crate::arg;
use crate::error::{self, kvb_error, refused};
use crate::namespace::kvb_namespace;
use crate::object;
use crate::prompt;
use crate::status::kvb_status;

/// What one thread keeps for its calls to one pool: where it looks for free blocks next, and its counts.
#[derive(Debug)]
pub struct kvb_worker {
    pub(crate) inner: Worker,
}

/// Makes a worker. Registries have their own; this is for calls to the pool itself.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_worker_destroy`. Threads: any. O(blocks / 64).
/// Errors: `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_worker_create(
    pool: *const kvb_pool,
    out: *mut *mut kvb_worker,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be.
        let (pool, out) = unsafe { (arg::get(pool)?, arg::place(out)?) };
        let inner = pool.inner.worker().map_err(refused::<CreateError>)?;
        Ok(object::give(kvb_worker { inner }, out)?)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Gives a worker back.
///
/// Threads: no other call may use it meanwhile. NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_worker_destroy(worker: *mut kvb_worker) {
    // SAFETY: the head of the header: made by its create function, and not destroyed before.
    drop(unsafe { object::take(worker) });
}

/// Frees up to `blocks` idle blocks in the order of reclaim, and tells how many. Reservations stand.
///
/// Threads: any, each with a worker of its own. O(blocks). Errors: `KVB_ERR_WRONG_POOL`. NULL: `out`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_evict(
    pool: *const kvb_pool,
    worker: *mut kvb_worker,
    blocks: usize,
    out: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be.
        let (pool, worker) = unsafe { (arg::get(pool)?, arg::get_mut(worker)?) };
        let evicted = pool.inner.evict(&mut worker.inner, blocks);
        let evicted = evicted.map_err(refused::<WrongPool>)?;
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(out, evicted) };
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Makes every block of a namespace unfindable, frees those that nobody holds, and tells how many. Held ones stay valid for their owners.
/// NULL for `space` is the bare model's namespace; `kvb_pool_clear_all` clears every one.
///
/// Threads: any, each with a worker of its own. A few passes over all blocks; allocates.
/// Errors: `KVB_ERR_WRONG_POOL`, `KVB_ERR_NO_MEMORY`. NULL: `space`, `out`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_clear(
    pool: *const kvb_pool,
    worker: *mut kvb_worker,
    space: *const kvb_namespace,
    out: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    // SAFETY: the head of the header says what pointers must be.
    let space = unsafe { prompt::space(space) };
    // SAFETY: as above.
    unsafe { clear(pool, worker, Some(space), out, error) }
}

/// Makes every block unfindable, frees those that nobody holds, and tells how many. Held ones stay valid for their owners.
///
/// As `kvb_pool_clear`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_clear_all(
    pool: *const kvb_pool,
    worker: *mut kvb_worker,
    out: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { clear(pool, worker, None, out, error) }
}

/// # Safety
/// * As of the two above.
unsafe fn clear(
    pool: *const kvb_pool,
    worker: *mut kvb_worker,
    space: Option<&kvblock::Namespace>,
    out: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: this function's contract.
        let (pool, worker) = unsafe { (arg::get(pool)?, arg::get_mut(worker)?) };
        let cleared = pool.inner.clear(&mut worker.inner, space);
        let cleared = cleared.map_err(refused::<ClearError>)?;
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(out, cleared) };
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Makes one published block and all below it unfindable, because its content is bad, and tells how many blocks became free. Held ones
/// stay valid for their owners; `kvb_seqs_invalidate` also tells who has it.
///
/// Threads: any, each with a worker of its own. A few passes over all blocks; allocates. Errors: `KVB_ERR_NOT_PUBLISHED`,
/// `KVB_ERR_NO_SUCH_BLOCK`, `KVB_ERR_WRONG_POOL`, `KVB_ERR_NO_MEMORY`. NULL: `out`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_invalidate(
    pool: *const kvb_pool,
    worker: *mut kvb_worker,
    block: u32,
    out: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be.
        let (pool, worker) = unsafe { (arg::get(pool)?, arg::get_mut(worker)?) };
        let block = kvblock::BlockId::new(block);
        let freed = pool.inner.invalidate(&mut worker.inner, block);
        let freed = freed.map_err(refused::<InvalidateError>)?;
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(out, freed) };
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Does up to `steps` of the reclaimer's work beforehand and tells how many. Never needed, but keeps the longest call short.
///
/// Threads: any, each with a worker of its own. O(steps). Errors: `KVB_ERR_WRONG_POOL`. NULL: `out`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_maintain(
    pool: *const kvb_pool,
    worker: *mut kvb_worker,
    steps: usize,
    out: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be.
        let (pool, worker) = unsafe { (arg::get(pool)?, arg::get_mut(worker)?) };
        let done = pool.inner.maintain(&mut worker.inner, steps);
        let done = done.map_err(refused::<WrongPool>)?;
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(out, done) };
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}
