//! The end of a sequence, now or after a fence, or of its time in one registry.

use kvblock::{AttachError, DetachError, DetachedInstance, Fence, ReleaseAfterError, Stale};

use super::handle::kvb_handle;
use super::kvb_seqs;
use crate::arg;
use crate::error::{self, kvb_error, plain, refused};
use crate::lanes::kvb_lanes;
use crate::object;
use crate::status::{KVB_ERR_STALE, KVB_OK, kvb_status};

/// Ends sequences on every shard: what is published stays findable as long as nobody needs the room, the rest is free.
///
/// Threads: the registry's. O(blocks), no allocation. Errors: `KVB_ERR_STALE`: one or more handles name nothing, or were given twice; the
/// others are done. NULL: an empty list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_release(
    seqs: *mut kvb_seqs,
    handles: *const kvb_handle,
    count: usize,
) -> kvb_status {
    // SAFETY: the head of the header says what pointers must be.
    unsafe {
        end(seqs, handles, count, |seqs, seq| {
            seqs.inner.release(seq.get())
        })
    }
}

/// Ends sequences that will come back: as `kvb_seqs_release`, and counted. Admit them again with all their tokens and
/// `KVB_ADMIT_RETURNING`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_preempt(
    seqs: *mut kvb_seqs,
    handles: *const kvb_handle,
    count: usize,
) -> kvb_status {
    // SAFETY: the head of the header says what pointers must be.
    unsafe {
        end(seqs, handles, count, |seqs, seq| {
            seqs.inner.preempt(seq.get())
        })
    }
}

/// # Safety
/// * As of the two above.
unsafe fn end(
    seqs: *mut kvb_seqs,
    handles: *const kvb_handle,
    count: usize,
    one: impl Fn(&mut kvb_seqs, kvb_handle) -> Result<(), Stale>,
) -> kvb_status {
    let mut all = Ok(());
    let status = plain(|| {
        // SAFETY: this function's contract.
        let (seqs, handles) = unsafe { (arg::get_mut(seqs)?, arg::slice(handles, count)?) };
        for &seq in handles {
            all = one(seqs, seq).and(all);
        }
        Ok(())
    });
    if status == KVB_OK && all.is_err() {
        return KVB_ERR_STALE;
    }
    status
}

/// Ends a sequence whose blocks a device or a peer may still touch: each shard's are quarantined until its lane has passed the fence.
///
/// Threads: the registry's and the lanes'. O(blocks); allocates for the lane's lists, which are used again. Errors, after which nothing
/// has changed: `KVB_ERR_STALE`, `KVB_ERR_WRONG_POOL` (lanes of other shards), `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_release_after(
    seqs: *mut kvb_seqs,
    seq: kvb_handle,
    lanes: *mut kvb_lanes,
    fence: u64,
    error: *mut kvb_error,
) -> kvb_status {
    let change = |seqs: &mut kvb_seqs, lanes: &mut kvb_lanes| {
        seqs.inner
            .release_after(seq.get(), &mut lanes.inner, Fence(fence))
    };
    // SAFETY: the head of the header says what pointers must be; so for both.
    unsafe { error::change_both(seqs, lanes, error, change) }
}

/// Ends a sequence that will come back, when each shard's lane has passed the fence: as `kvb_seqs_release_after`, and counted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_preempt_after(
    seqs: *mut kvb_seqs,
    seq: kvb_handle,
    lanes: *mut kvb_lanes,
    fence: u64,
    error: *mut kvb_error,
) -> kvb_status {
    let change = |seqs: &mut kvb_seqs, lanes: &mut kvb_lanes| {
        seqs.inner
            .preempt_after(seq.get(), &mut lanes.inner, Fence(fence))
    };
    // SAFETY: the head of the header says what pointers must be; so for both.
    unsafe { error::change_both(seqs, lanes, error, change) }
}

/// Ends every sequence and the registry, and what copies under way hold, when each shard's lane has passed the fence.
///
/// Ownership: on success `seqs` is gone; otherwise it is as it was. Threads: no other call may use it meanwhile. O(blocks held);
/// allocates. Errors: `KVB_ERR_WRONG_POOL` (lanes of other shards), `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_close_after(
    seqs: *mut kvb_seqs,
    lanes: *mut kvb_lanes,
    fence: u64,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        let seqs = arg::not_null(seqs)?;
        // SAFETY: the head of the header says what pointers must be.
        let lanes = unsafe { arg::get_mut(lanes) }?;
        let close = |seqs: kvb_seqs| {
            let closed = seqs.inner.close_after(&mut lanes.inner, Fence(fence));
            closed.map_err(|back| object::returned(back, |inner| kvb_seqs { inner }))
        };
        // SAFETY: made by its create function, and not destroyed before.
        unsafe { object::consume(seqs, close) }.map_err(refused::<ReleaseAfterError>)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// A sequence between two registries, with all that it holds on every shard.
#[derive(Debug)]
pub struct kvb_detached {
    pub(crate) inner: DetachedInstance,
}

/// Takes a sequence out of a registry, to be attached to another one over the same shards.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_seqs_attach` or `kvb_detached_destroy`. Threads: the registry's. O(1) a
/// shard; allocates. Errors, after which nothing has changed: `KVB_ERR_STALE`, `KVB_ERR_COPY_PENDING`, `KVB_ERR_LOADING`,
/// `KVB_ERR_UNCOMMITTED`, `KVB_ERR_LEAVING`, `KVB_ERR_MOVED`, `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_detach(
    seqs: *mut kvb_seqs,
    seq: kvb_handle,
    out: *mut *mut kvb_detached,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (seqs, out) = unsafe { (arg::get_mut(seqs)?, arg::place(out)?) };
        let room = object::room::<kvb_detached>()?;
        let inner = seqs
            .inner
            .detach(seq.get())
            .map_err(refused::<DetachError>)?;
        out.write(room.fill(kvb_detached { inner }));
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Takes a detached sequence in on every shard and names it anew.
///
/// Ownership: on success `detached` is gone; otherwise it is as it was. Threads: the registry's. O(1) a shard.
/// Errors: `KVB_ERR_WRONG_POOL` (other shards), `KVB_ERR_TOO_MANY_SEQUENCES`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_attach(
    seqs: *mut kvb_seqs,
    detached: *mut kvb_detached,
    out: *mut kvb_handle,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (seqs, out) = unsafe { (arg::get_mut(seqs)?, arg::place(out)?) };
        let detached = arg::not_null(detached)?;
        let attach = |detached: kvb_detached| {
            let attached = seqs.inner.attach(detached.inner);
            attached.map_err(|back| object::returned(back, |inner| kvb_detached { inner }))
        };
        // SAFETY: made by `kvb_seqs_detach`, and not attached or destroyed before.
        let attached = unsafe { object::consume(detached, attach) };
        out.write(kvb_handle::of(attached.map_err(refused::<AttachError>)?));
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Ends a detached sequence when each shard's lane has passed the fence.
///
/// Ownership: on success `detached` is gone; otherwise it is as it was. Threads: its own and the lanes'. O(blocks); allocates for the
/// lane's lists. Errors: `KVB_ERR_WRONG_POOL` (lanes of other shards), `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_detached_release_after(
    detached: *mut kvb_detached,
    lanes: *mut kvb_lanes,
    fence: u64,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        let detached = arg::not_null(detached)?;
        // SAFETY: the head of the header says what pointers must be.
        let lanes = unsafe { arg::get_mut(lanes) }?;
        let end = |detached: kvb_detached| {
            let ended = detached.inner.release_after(&mut lanes.inner, Fence(fence));
            ended.map_err(|back| object::returned(back, |inner| kvb_detached { inner }))
        };
        // SAFETY: made by `kvb_seqs_detach`, and not attached or destroyed before.
        unsafe { object::consume(detached, end) }.map_err(refused::<ReleaseAfterError>)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Ends a detached sequence.
///
/// Threads: no other call may use it meanwhile. O(blocks). NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_detached_destroy(detached: *mut kvb_detached) {
    // SAFETY: the head of the header: made by `kvb_seqs_detach`, and not attached or destroyed before.
    drop(unsafe { object::take(detached) });
}
