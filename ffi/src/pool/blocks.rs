//! Private blocks.

use kvblock::{Blocks, Fence, JoinError, ReleaseAfterError, SplitError, TakeError, WrongPool};

use super::reservation::kvb_reservation;
use super::upkeep::kvb_worker;
use crate::arg::{self, Argument};
use crate::error::{self, kvb_error, plain, refused};
use crate::held::Held;
use crate::lanes::kvb_lanes;
use crate::object;
use crate::status::{KVB_ERR_INVALID, kvb_status};

/// Blocks that their owner holds alone. What they contain is nobody else's business until they are published in a chain.
#[derive(Debug)]
pub struct kvb_blocks {
    pub(crate) inner: Held<Blocks<'static>>,
}

/// Takes `blocks` blocks of a promise: free ones first, then idle ones in the order of reclaim.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_blocks_release`, `kvb_blocks_destroy` or a chain. Threads: the reservation's and
/// the worker's. O(blocks). Errors: `KVB_ERR_EXCEEDS`, `KVB_ERR_WRONG_POOL` (the worker), `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_reservation_take(
    reservation: *mut kvb_reservation,
    worker: *mut kvb_worker,
    blocks: usize,
    out: *mut *mut kvb_blocks,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (reservation, worker) = unsafe { (arg::get_mut(reservation)?, arg::get_mut(worker)?) };
        // SAFETY: as above.
        let out = unsafe { arg::place(out) }?;
        let room = object::room::<kvb_blocks>()?;
        let taken = reservation
            .inner
            .split(|it, _| it.take(&mut worker.inner, blocks));
        let inner = taken.map_err(refused::<TakeError>)?;
        out.write(room.fill(kvb_blocks { inner }));
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Gives the blocks back: they are free. Without a worker, so slower than `kvb_blocks_release`.
///
/// Threads: no other call may use them meanwhile. O(blocks). NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_blocks_destroy(blocks: *mut kvb_blocks) {
    // SAFETY: the head of the header: made by a function of this library, and not destroyed before.
    drop(unsafe { object::take(blocks) });
}

/// Lends their ids, in the order in which they were taken.
///
/// Ownership: the list is theirs, until the next call that changes or ends them. Threads: theirs. O(1).
/// Errors: none but those of pointers. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_blocks_ids(
    blocks: *const kvb_blocks,
    ids: *mut *const u32,
    count: *mut usize,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (blocks, ids, count) =
            unsafe { (arg::get(blocks)?, arg::place(ids)?, arg::place(count)?) };
        let all = blocks.inner.get().ids();
        ids.write(all.as_ptr().cast());
        count.write(all.len());
        Ok(())
    })
}

/// Keeps the first `at` and splits the others off.
///
/// Ownership: `*out` is the caller's, as of `kvb_reservation_take`. Threads: theirs. O(blocks); allocates for many.
/// Errors: `KVB_ERR_EXCEEDS`, `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_blocks_split_off(
    blocks: *mut kvb_blocks,
    at: usize,
    out: *mut *mut kvb_blocks,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (blocks, out) = unsafe { (arg::get_mut(blocks)?, arg::place(out)?) };
        let room = object::room::<kvb_blocks>()?;
        let tail = blocks.inner.split(|it, _| it.split_off(at));
        let inner = tail.map_err(refused::<SplitError>)?;
        out.write(room.fill(kvb_blocks { inner }));
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Puts `others` behind these.
///
/// Ownership: on success `others` is gone; otherwise it is as it was. Threads: of both. O(blocks); allocates for many.
/// Errors: `KVB_ERR_WRONG_POOL`, `KVB_ERR_INVALID` (they are the same), `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_blocks_append(
    blocks: *mut kvb_blocks,
    others: *mut kvb_blocks,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        let others = arg::not_null(others)?;
        if others.as_ptr() == blocks {
            return Err(Argument(KVB_ERR_INVALID).into());
        }
        // SAFETY: the head of the header says what pointers must be.
        let blocks = unsafe { arg::get_mut(blocks) }?;
        let append = |others: kvb_blocks| {
            // SAFETY: `append` refuses blocks of another pool.
            let appended = unsafe {
                blocks
                    .inner
                    .join(others.inner, |own, others, _| own.append(others))
            };
            appended.map_err(|back| object::returned(back, |inner| kvb_blocks { inner }))
        };
        // SAFETY: made by a function of this library, and not given away before.
        unsafe { object::consume(others, append) }.map_err(refused::<JoinError>)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Gives the blocks back: they are free.
///
/// Ownership: on success `blocks` is gone; otherwise it is as it was. Threads: theirs and the worker's. O(blocks), no allocation.
/// Errors: `KVB_ERR_WRONG_POOL` (the worker). NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_blocks_release(
    blocks: *mut kvb_blocks,
    worker: *mut kvb_worker,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        let blocks = arg::not_null(blocks)?;
        // SAFETY: the head of the header says what pointers must be.
        let worker = unsafe { arg::get_mut(worker) }?;
        let release = |blocks: kvb_blocks| {
            let released = blocks.inner.consume(|it, _| it.release(&mut worker.inner));
            released.map_err(|back| object::returned(back, |inner| kvb_blocks { inner }))
        };
        // SAFETY: made by a function of this library, and not given away before.
        unsafe { object::consume(blocks, release) }.map_err(refused::<WrongPool>)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Gives the blocks back when a shard's lane has passed a fence. Until then they are quarantined.
///
/// Ownership: on success `blocks` is gone; otherwise it is as it was. Threads: theirs, the worker's and the lanes'. O(blocks); allocates
/// for the lane's lists, which are used again. Errors: `KVB_ERR_WRONG_POOL` (the worker, the lane), `KVB_ERR_OUT_OF_RANGE` (no such
/// lane), `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_blocks_release_after(
    blocks: *mut kvb_blocks,
    worker: *mut kvb_worker,
    lanes: *mut kvb_lanes,
    shard: usize,
    fence: u64,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        let blocks = arg::not_null(blocks)?;
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (worker, lanes) = unsafe { (arg::get_mut(worker)?, arg::get_mut(lanes)?) };
        let lane = lanes.shard(shard)?;
        let release = |blocks: kvb_blocks| {
            let released = blocks
                .inner
                .consume(|it, _| it.release_after(&mut worker.inner, lane, Fence(fence)));
            released.map_err(|back| object::returned(back, |inner| kvb_blocks { inner }))
        };
        // SAFETY: made by a function of this library, and not given away before.
        unsafe { object::consume(blocks, release) }.map_err(refused::<ReleaseAfterError>)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}
