//! More blocks, or fewer, while it serves.

use kvblock::ResizeError;

use super::kvb_pool;
use super::upkeep::kvb_worker;
use crate::arg;
use crate::error::{self, kvb_error, refused};
use crate::status::kvb_status;

/// What a change of a pool's size did.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_resized {
    /// Blocks that this call brought online, or took offline.
    pub blocks: usize,
    /// After growing: blocks below the new limit that were draining, and stay what they are.
    pub taken_back: usize,
    /// After shrinking: blocks at or above the limit that are not offline yet, as they are held.
    pub draining: usize,
}

/// Brings the next `blocks` ids online, from the capacity on.
///
/// Threads: any. O(blocks / 64). Errors: `KVB_ERR_BEYOND_MAX`; `KVB_ERR_IN_PROGRESS` while another thread changes the size.
/// NULL: `out`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_grow(
    pool: *const kvb_pool,
    blocks: usize,
    out: *mut kvb_resized,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be.
        let pool = unsafe { arg::get(pool) }?;
        let grown = pool.inner.grow(blocks).map_err(refused::<ResizeError>)?;
        let resized = kvb_resized {
            blocks: grown.online,
            taken_back: grown.taken_back,
            draining: 0,
        };
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(out, resized) };
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Takes the `blocks` highest ids that are online out of service. The free and idle ones among them go at once, the held ones when they
/// are released; no block moves. The memory from the limit on may be given away when nothing is left draining. With 0 it collects
/// what did not go by itself.
///
/// Threads: any, each with a worker of its own. A few passes over all blocks; allocates. Errors, after which nothing has changed:
/// `KVB_ERR_SHORTFALL` (reservations stand), `KVB_ERR_NOTHING_LEFT`, `KVB_ERR_IN_PROGRESS`, `KVB_ERR_WRONG_POOL`, `KVB_ERR_NO_MEMORY`.
/// NULL: `out`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_shrink(
    pool: *const kvb_pool,
    worker: *mut kvb_worker,
    blocks: usize,
    out: *mut kvb_resized,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be.
        let (pool, worker) = unsafe { (arg::get(pool)?, arg::get_mut(worker)?) };
        let shrunk = pool.inner.shrink(&mut worker.inner, blocks);
        let shrunk = shrunk.map_err(refused::<ResizeError>)?;
        let resized = kvb_resized {
            blocks: shrunk.offline,
            taken_back: 0,
            draining: shrunk.draining,
        };
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(out, resized) };
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}
