//! Shortening, branching, and blocks whose content was findable already.

use kvblock::{BranchError, EndAfterError, Fence, Stale};

use super::handle::kvb_handle;
use super::kvb_seqs;
use crate::arg;
use crate::error::{self, kvb_error, refused};
use crate::lanes::kvb_lanes;
use crate::status::kvb_status;

/// Keeps the first `positions` positions of a sequence on every shard and gives the blocks behind them back: drafts that were rejected,
/// a conversation that is edited. If the end then lies in a published block, its next append needs a block for a copy, which is set aside
/// by this call.
///
/// Threads: the registry's. O(blocks given back). Errors, after which nothing has changed: `KVB_ERR_STALE`, `KVB_ERR_BEYOND`;
/// `KVB_ERR_SHORTFALL`, only where the end lies in a published block; `KVB_ERR_LOADING`, `KVB_ERR_LEAVING`, `KVB_ERR_UNCOMMITTED`,
/// `KVB_ERR_MOVED`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_truncate(
    seqs: *mut kvb_seqs,
    seq: kvb_handle,
    positions: usize,
    error: *mut kvb_error,
) -> kvb_status {
    let change = |seqs: &mut kvb_seqs| seqs.inner.truncate(seq.get(), positions);
    // SAFETY: the head of the header says what pointers must be.
    unsafe { error::change(seqs, error, change) }
}

/// As `kvb_seqs_truncate`, where a device or a peer may still touch the blocks: they are given back when each shard's lane has passed the
/// fence.
///
/// Threads: the registry's and the lanes'. Errors: also `KVB_ERR_WRONG_POOL` (lanes of other shards), `KVB_ERR_TOO_MANY_REFERENCES`, `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_truncate_after(
    seqs: *mut kvb_seqs,
    seq: kvb_handle,
    positions: usize,
    lanes: *mut kvb_lanes,
    fence: u64,
    error: *mut kvb_error,
) -> kvb_status {
    let change = |seqs: &mut kvb_seqs, lanes: &mut kvb_lanes| {
        seqs.inner
            .truncate_after(seq.get(), positions, &mut lanes.inner, Fence(fence))
    };
    // SAFETY: the head of the header says what pointers must be; so for both.
    unsafe { error::change_both(seqs, lanes, error, change) }
}

/// Makes `count` branches of a sequence on every shard, all or none. They share everything, the partial block at its end too, have its
/// label and its remaining promise; whoever appends into a shared block first gets a copy.
///
/// Ownership: `children` has room for `count`; its contents are of use on success only. Threads: the registry's. O(blocks) a branch; allocates as
/// `kvb_seqs_admit`. Errors, after which nothing has changed: `KVB_ERR_STALE`, `KVB_ERR_SHORTFALL`, `KVB_ERR_NEVER_FITS`,
/// `KVB_ERR_TOO_MANY_SEQUENCES`, `KVB_ERR_TOO_MANY_REFERENCES`, `KVB_ERR_LOADING`, `KVB_ERR_UNCOMMITTED`, `KVB_ERR_LEAVING`,
/// `KVB_ERR_MOVED`, `KVB_ERR_NO_MEMORY`. NULL: no children, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_fork(
    seqs: *mut kvb_seqs,
    parent: kvb_handle,
    children: *mut kvb_handle,
    count: usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        // The room is a C program's memory, where any bits are a handle; it is written to when nothing can be refused any more, and not read.
        let (seqs, children) = unsafe { (arg::get_mut(seqs)?, arg::slice_mut(children, count)?) };
        let forked = seqs.inner.fork(parent.get(), kvb_handle::all_mut(children));
        forked.map_err(refused::<BranchError>)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Where a sequence has blocks whose content was findable already, puts the findable ones into its table on every shard and frees its own.
/// Nothing may touch these any more. `*blocks` is how many.
///
/// Threads: the registry's. O(blocks). Errors: `KVB_ERR_STALE`. NULL: `blocks`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_adopt_duplicates(
    seqs: *mut kvb_seqs,
    seq: kvb_handle,
    blocks: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be.
        let seqs = unsafe { arg::get_mut(seqs) }?;
        let adopted = seqs.inner.adopt_duplicates(seq.get());
        let adopted = adopted.map_err(refused::<Stale>)?;
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(blocks, adopted) };
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// As `kvb_seqs_adopt_duplicates`, where a device or a peer may still touch the sequence's own blocks: they are given back when each shard's
/// lane has passed the fence.
///
/// Threads: the registry's and the lanes'. Errors: also `KVB_ERR_WRONG_POOL` (lanes of other shards), `KVB_ERR_NO_MEMORY`. NULL: `blocks`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_adopt_duplicates_after(
    seqs: *mut kvb_seqs,
    seq: kvb_handle,
    lanes: *mut kvb_lanes,
    fence: u64,
    blocks: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (seqs, lanes) = unsafe { (arg::get_mut(seqs)?, arg::get_mut(lanes)?) };
        let adopted = seqs
            .inner
            .adopt_duplicates_after(seq.get(), &mut lanes.inner, Fence(fence));
        let adopted = adopted.map_err(refused::<EndAfterError>)?;
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(blocks, adopted) };
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}
