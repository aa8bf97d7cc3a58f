//! Chains that become two, and the end of chains.
#![expect(
    clippy::result_large_err,
    reason = "the error has the chain itself; boxing it would allocate"
)]

use kvblock::{Fence, ForkError, ReleaseAfterError, SplitError, WrongPool};

use super::chain::kvb_chain;
use super::upkeep::kvb_worker;
use crate::arg;
use crate::error::{self, kvb_error, refused};
use crate::lanes::kvb_lanes;
use crate::object;
use crate::status::kvb_status;

/// Makes a second owner of every block of a chain, of the private ones, too: nobody may write to those any more.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_chain_release` or `kvb_chain_destroy`. Threads: the chain's and the worker's.
/// O(blocks); allocates for long chains. Errors: `KVB_ERR_TOO_MANY_REFERENCES`, `KVB_ERR_WRONG_POOL` (the worker), `KVB_ERR_NO_MEMORY`.
/// NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_chain_fork(
    chain: *const kvb_chain,
    worker: *mut kvb_worker,
    out: *mut *mut kvb_chain,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (chain, worker, out) =
            unsafe { (arg::get(chain)?, arg::get_mut(worker)?, arg::place(out)?) };
        let room = object::room::<kvb_chain>()?;
        let forked = chain.inner.derive(|it, _| it.fork(&mut worker.inner));
        let inner = forked.map_err(refused::<ForkError>)?;
        out.write(room.fill(kvb_chain { inner }));
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Keeps the first `at` blocks and splits the others off as a chain of their own. Below a published head the tail holds the head, too, so
/// that the two can be released in any order; it can publish if all of the head was published.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_chain_release` or `kvb_chain_destroy`. Threads: the chain's.
/// O(blocks); allocates for long chains. Errors: `KVB_ERR_EXCEEDS`, `KVB_ERR_TOO_MANY_REFERENCES`, `KVB_ERR_NO_MEMORY`.
/// NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_chain_split_off(
    chain: *mut kvb_chain,
    at: usize,
    out: *mut *mut kvb_chain,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (chain, out) = unsafe { (arg::get_mut(chain)?, arg::place(out)?) };
        let room = object::room::<kvb_chain>()?;
        let tail = chain.inner.split(|it, _| it.split_off(at));
        let inner = tail.map_err(refused::<SplitError>)?;
        out.write(room.fill(kvb_chain { inner }));
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Puts the findable copy of each duplicate into the table in place of the chain's own block, which is given back. `*adopted` is how many:
/// if it is not 0, read the table anew. The content of both is the same.
///
/// Threads: the chain's and the worker's. O(blocks), no allocation. Errors: `KVB_ERR_WRONG_POOL` (the worker). NULL: `adopted`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_chain_adopt_duplicates(
    chain: *mut kvb_chain,
    worker: *mut kvb_worker,
    adopted: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (chain, worker) = unsafe { (arg::get_mut(chain)?, arg::get_mut(worker)?) };
        let done = chain
            .inner
            .change(|it| it.adopt_duplicates(&mut worker.inner));
        let done = done.map_err(refused::<WrongPool>)?;
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(adopted, done) };
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Gives every reference back, the tail first: findable blocks become idle, others free, unless they have other owners.
///
/// Ownership: on success `chain` is gone; otherwise it is as it was. Threads: the chain's and the worker's. O(blocks), no allocation.
/// Errors: `KVB_ERR_WRONG_POOL` (the worker). NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_chain_release(
    chain: *mut kvb_chain,
    worker: *mut kvb_worker,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        let chain = arg::not_null(chain)?;
        // SAFETY: the head of the header says what pointers must be.
        let worker = unsafe { arg::get_mut(worker) }?;
        let release = |chain: kvb_chain| {
            let released = chain.inner.consume(|it, _| it.release(&mut worker.inner));
            released.map_err(|back| object::returned(back, |inner| kvb_chain { inner }))
        };
        // SAFETY: made by a function of this library, and not given away before.
        unsafe { object::consume(chain, release) }.map_err(refused::<WrongPool>)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Gives every reference back when a shard's lane has passed a fence. Until then what nobody else holds is quarantined; what is published
/// stays findable.
///
/// Ownership: on success `chain` is gone; otherwise it is as it was. Threads: the chain's, the worker's and the lanes'. O(blocks);
/// allocates for the lane's lists, which are used again. Errors: `KVB_ERR_WRONG_POOL` (the worker, the lane), `KVB_ERR_OUT_OF_RANGE` (no
/// such lane), `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_chain_release_after(
    chain: *mut kvb_chain,
    worker: *mut kvb_worker,
    lanes: *mut kvb_lanes,
    shard: usize,
    fence: u64,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        let chain = arg::not_null(chain)?;
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (worker, lanes) = unsafe { (arg::get_mut(worker)?, arg::get_mut(lanes)?) };
        let lane = lanes.shard(shard)?;
        let release = |chain: kvb_chain| {
            let released = chain
                .inner
                .consume(|it, _| it.release_after(&mut worker.inner, lane, Fence(fence)));
            released.map_err(|back| object::returned(back, |inner| kvb_chain { inner }))
        };
        // SAFETY: made by a function of this library, and not given away before.
        unsafe { object::consume(chain, release) }.map_err(refused::<ReleaseAfterError>)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}
