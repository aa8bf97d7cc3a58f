//! Sequences on their way to another tier of memory, host memory for instance, and back, instead of being computed again.

use core::ptr;

use kvblock::{
    Fence, InstanceSwap, Owner, SwapAbortError, SwapCopyError, SwapError, SwapFinishError,
};

use crate::arg::{self, Answer, Argument, Versioned};
use crate::copy::list_pairs;
use crate::error::{self, kvb_error, plain, refused};
use crate::leases::{kvb_lease, kvb_leases};
use crate::object;
use crate::seqs::{ReadAdmit, kvb_admit, kvb_handle, kvb_seqs};
use crate::status::{KVB_ERR_OUT_OF_RANGE, KVB_ERR_SAME_INSTANCE, kvb_status};
use crate::transfer::kvb_import;

/// A sequence on its way from one registry to another. You copy the blocks, shard by shard, say when that is done, and then finish the
/// swap, or abort it at any time before. One thread at a time may use it, also for calls with a `const` pointer.
#[derive(Debug)]
pub struct kvb_swap {
    inner: InstanceSwap,
}

/// Two registries that a call changes.
///
/// # Safety
/// * Each is null, or lives and is used by nobody else meanwhile.
unsafe fn both<'a>(
    from: *mut kvb_seqs,
    to: *mut kvb_seqs,
) -> Result<(&'a mut kvb_seqs, &'a mut kvb_seqs), Argument> {
    if !from.is_null() && ptr::eq(from, to) {
        return Err(Argument(KVB_ERR_SAME_INSTANCE));
    }
    // SAFETY: this function's contract, and they are not one.
    Ok(unsafe { (arg::get_mut(from)?, arg::get_mut(to)?) })
}

/// Begins to swap a sequence to another registry with as many shards, on every shard or on none: offers what is computed of it to be
/// copied, and admits it there with all the blocks that it needs. `request` is the sequence as the destination is to have it: all its tokens
/// at least, in the namespace that it was admitted in, and what it is promised there. Meanwhile it gets no positions on either side; it
/// keeps its handle, its promise and its label where it was. No block is taken there: a tier that has nothing left can still swap out.
/// `leases` are those of `from`; `owner`, a number of yours, names the lease that holds what is read: one swap at a time for each.
///
/// Ownership: nothing that `request` points to is kept; `*out` is the caller's, to be given to `kvb_swap_destroy`. Threads: both
/// registries' and the leases'. O(tokens); allocates. Errors, after which nothing has changed but that a refusal is counted at the
/// destination, and what had arrived for the sequence counts: `KVB_ERR_SAME_INSTANCE` (one registry is given twice),
/// `KVB_ERR_LENGTH_MISMATCH` (fewer tokens than positions, or extra keys that do not fit them), `KVB_ERR_OTHER_TOKENS` (what is computed,
/// as far as that is known, is of other tokens or has another extra key); of the source those of `kvb_seqs_export`,
/// and a copy that is pending is `KVB_ERR_COPY_PENDING`; of the destination those of `kvb_seqs_import`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_swap_to(
    from: *mut kvb_seqs,
    source: kvb_handle,
    to: *mut kvb_seqs,
    request: *const kvb_admit,
    leases: *mut kvb_leases,
    owner: u64,
    out: *mut *mut kvb_swap,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let ((from, to), request) = unsafe { (both(from, to)?, ReadAdmit::new(request)?) };
        // SAFETY: as above.
        let (leases, out) = unsafe { (arg::get_mut(leases)?, arg::place(out)?) };
        let room = object::room::<kvb_swap>()?;
        let inner = from
            .inner
            .swap_to(
                source.get(),
                &mut to.inner,
                &request.lend(),
                &mut leases.inner,
                Owner::new(owner),
            )
            .map_err(refused::<SwapError>)?;
        out.write(room.fill(kvb_swap { inner }));
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// A swap as it was begun.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_swap_info {
    /// `sizeof(kvb_swap_info)`.
    pub struct_size: u32,
    /// Shards that have blocks to be copied, numbered from 0: one for ranks in lockstep.
    pub shards: u32,
    /// The sequence's name where it was.
    pub source: kvb_handle,
    /// Its name where it goes.
    pub seq: kvb_handle,
    /// Positions that were found there on every shard, and are not copied.
    pub hit: u64,
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_swap_info {}

/// Reads what a swap is of. It says the same when the swap is over.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the swap's. O(shards). Errors: `KVB_ERR_STRUCT_SIZE`.
/// NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_swap_get_info(
    swap: *const kvb_swap,
    out: *mut kvb_swap_info,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (swap, out) = unsafe { (arg::get(swap)?, Answer::new(out)?) };
        let it = &swap.inner;
        out.put(&kvb_swap_info {
            struct_size: 0,
            shards: u32::try_from(it.imports().count()).unwrap_or(u32::MAX),
            source: kvb_handle::of(it.source()),
            seq: kvb_handle::of(it.handle()),
            hit: it.hit() as u64,
        });
        Ok(())
    })
}

/// Lists what is to be copied on a shard, in the order of the table: from each of `sources`, a block of the registry that the sequence
/// leaves, to the block at the same place of `destinations`, of the one where it goes. They are what `kvb_layout_pair_runs` takes.
/// `*count` is how many there are: none once the swap is over.
///
/// Ownership: both lists have room for `capacity`. Threads: the swap's. O(blocks), no allocation. Errors: `KVB_ERR_TOO_SHORT`
/// (`error->needed` is how many there are), `KVB_ERR_OUT_OF_RANGE` (no such shard). NULL: the lists if `capacity` is 0; `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_swap_pairs(
    swap: *const kvb_swap,
    shard: usize,
    sources: *mut u32,
    destinations: *mut u32,
    capacity: usize,
    count: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (swap, count) = unsafe { (arg::get(swap)?, arg::place(count)?) };
        // SAFETY: as above.
        let sources = unsafe { arg::places(sources, capacity) }?;
        // SAFETY: as above.
        let destinations = unsafe { arg::places(destinations, capacity) }?;
        if shard >= swap.inner.imports().count() {
            return Err(Argument(KVB_ERR_OUT_OF_RANGE).into());
        }
        let pairs = swap.inner.pairs(shard);
        count.write(list_pairs(sources, destinations, pairs).map_err(refused)?);
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// A handle of the lease that holds the source's blocks until the copy has passed: for an audit when its table is gone.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_lease_destroy`. Threads: the swap's. O(shards); allocates.
/// Errors: `KVB_ERR_NO_MEMORY`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_swap_lease(
    swap: *const kvb_swap,
    out: *mut *mut kvb_lease,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (swap, out) = unsafe { (arg::get(swap)?, arg::place(out)?) };
        let inner = object::handles(swap.inner.leases())?;
        object::give(kvb_lease { inner }, out)
    })
}

/// A handle of what holds the destination's blocks until the copy has passed: for whoever answers for them when the swap is gone. Its one
/// writer is the swap: while that lives, leave the answers to it.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_import_destroy`. Threads: the swap's. O(shards); allocates.
/// Errors: `KVB_ERR_NO_MEMORY`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_swap_import(
    swap: *const kvb_swap,
    out: *mut *mut kvb_import,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (swap, out) = unsafe { (arg::get(swap)?, arg::place(out)?) };
        let inner = object::handles(swap.inner.imports())?;
        object::give(kvb_import { inner }, out)
    })
}

/// The copy on a shard, or a part of it, is launched, and done when this fence has passed: a point on that shard's timeline, a number that
/// only grows. Of several the latest counts. All parts are launched before `kvb_swap_complete` is asked: it speaks for all blocks.
///
/// Threads: the swap's. O(1). Errors, after which nothing has changed: `KVB_ERR_SWAP_OVER`, `KVB_ERR_ALREADY_COPIED` (it was told that all
/// has passed, and waits for nothing more: abort it when this fence has passed, too), `KVB_ERR_OUT_OF_RANGE` (no such shard).
/// NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_swap_copying(
    swap: *mut kvb_swap,
    shard: usize,
    fence: u64,
    error: *mut kvb_error,
) -> kvb_status {
    let change = |swap: &mut kvb_swap| swap.inner.copying(shard, Fence(fence));
    // SAFETY: the head of the header says what pointers must be.
    unsafe { error::change::<_, SwapCopyError>(swap, error, change) }
}

/// The timeline of a shard's copies has come so far. Returns whether nothing touches the blocks of any shard any more: then the swap can be
/// finished, or what an aborted one held has been given back. Of a shard that there is not nothing is taken down.
///
/// Threads: the swap's. O(blocks), once; no allocation. NULL: false.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_swap_complete(
    swap: *mut kvb_swap,
    shard: usize,
    completed: u64,
) -> bool {
    // SAFETY: the head of the header says what pointers must be.
    let swap = unsafe { swap.as_mut() };
    swap.is_some_and(|swap| swap.inner.complete(shard, Fence(completed)))
}

/// Ends a swap whose copies have passed on every shard: the sequence goes on at the destination, under `*seq`, and is released where it was.
/// What was published of it there stays findable as long as nobody needs the memory. The swap is still to be destroyed.
///
/// Threads: both registries'. O(blocks), no allocation. Errors, after which nothing has changed, but that what has been copied
/// counts at the destination: `KVB_ERR_NOT_COPIED` (ask again when `kvb_swap_complete` says so; `error->needed` blocks are copied on the
/// first such shard, until the fence `error->limit` if `error->which` is 1, and were not launched if it is 0), `KVB_ERR_MOVE_ABORTED` and
/// `KVB_ERR_NOT_ARRIVED` (the source was released, or its content turned out bad: abort it), `KVB_ERR_STALE`, `KVB_ERR_SWAP_OVER`,
/// `KVB_ERR_WRONG_POOL` (these are not its two ends), `KVB_ERR_SAME_INSTANCE` (one registry is given twice). NULL: `seq`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_swap_finish(
    swap: *mut kvb_swap,
    from: *mut kvb_seqs,
    to: *mut kvb_seqs,
    seq: *mut kvb_handle,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (swap, (from, to)) = unsafe { (arg::get_mut(swap)?, both(from, to)?) };
        let finished = swap.inner.finish(&mut from.inner, &mut to.inner);
        let handle = finished.map_err(refused::<SwapFinishError>)?;
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(seq, kvb_handle::of(handle)) };
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Calls a swap off on every shard: the source goes on as it was, and the destination gives its blocks back. A copy that is under way is not
/// stopped: until `kvb_swap_complete` says that it has passed, its blocks are held on both sides, and the source gets and computes no
/// positions, so that nobody writes what is being read. The swap is still to be destroyed.
///
/// Threads: the destination's. O(blocks), no allocation. Errors, after which nothing has changed: `KVB_ERR_SWAP_OVER`,
/// `KVB_ERR_WRONG_POOL` (this is not its destination), `KVB_ERR_STALE` (the sequence is in another registry over the same shards),
/// `KVB_ERR_COMMITTED` (the destination has it: finish the swap). NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_swap_abort(
    swap: *mut kvb_swap,
    to: *mut kvb_seqs,
    error: *mut kvb_error,
) -> kvb_status {
    let change = |swap: &mut kvb_swap, to: &mut kvb_seqs| swap.inner.abort(&mut to.inner);
    // SAFETY: the head of the header says what pointers must be; so for both.
    unsafe { error::change_both::<_, _, SwapAbortError>(swap, to, error, change) }
}

/// Gives a swap back. One that is neither finished nor aborted is called off: the source goes on. What was admitted at the destination is
/// then yours to release there, under its name. What copies under way hold stays held on both sides until somebody with a handle of
/// `kvb_swap_import` answers, or the registries go.
///
/// Threads: no other call may use it meanwhile. O(blocks). NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_swap_destroy(swap: *mut kvb_swap) {
    // SAFETY: the head of the header: made by `kvb_seqs_swap_to`, and not destroyed before.
    drop(unsafe { object::take(swap) });
}
