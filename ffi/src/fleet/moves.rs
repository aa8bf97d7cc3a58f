//! Moving a sequence to another instance of its model.

use alloc::vec::Vec;
use core::ptr;

use kvblock::{AbortError, Fence, FinishError, InstanceId, Move, MoveError, MoveTerms, Owner};

use super::kvb_fleet;
use crate::arg::{self, Answer, Argument, Versioned};
use crate::error::{self, kvb_error, plain, refused};
use crate::lanes::kvb_lanes;
use crate::object;
use crate::seqs::{ReadAdmit, kvb_admit, kvb_handle};
use crate::status::{KVB_ERR_NO_MEMORY, kvb_status};
use crate::transfer::{kvb_export, kvb_flights, kvb_import};

/// Under which terms a sequence is moved.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_move_terms {
    /// `sizeof(kvb_move_terms)`.
    pub struct_size: u32,
    /// Who fills the blocks of each shard: from 1 to `KVB_MAX_WRITERS`.
    pub writers: u32,
    /// For whom the blocks that are read are held: at most one move from an instance at a time for each owner.
    pub owner: u64,
    /// Until when they are held, in the time that `kvb_fleet_tick` tells; or `KVB_NO_DEADLINE`. What is read later does not count.
    pub deadline: u64,
    /// Where the bytes under way are counted, or NULL.
    pub flights: *const kvb_flights,
}

// SAFETY: integers and a pointer.
unsafe impl Versioned for kvb_move_terms {}

/// A sequence on its way from one instance to another. Finish it when everything has arrived, or abort it.
#[derive(Debug)]
pub struct kvb_move {
    inner: Move,
    /// What writers of other threads are lent meanwhile: handles of their own.
    export: kvb_export,
    import: kvb_import,
}

/// What only the thread of the fleet uses of a move.
///
/// # Safety
/// * Null, or a live move that no other call changes meanwhile.
unsafe fn moved<'a>(moving: *mut kvb_move) -> Result<&'a mut Move, Argument> {
    let moving = arg::not_null(moving)?.as_ptr();
    // SAFETY: this function's contract. The other fields, which other threads may read, are not borrowed.
    Ok(unsafe { &mut (*moving).inner })
}

/// Begins to move a sequence to another instance of its model: offers what is computed of it to be read, and admits it there with all that
/// it needs. `request` is the sequence as the destination is to have it: all its tokens at least, and what it is promised. It gets no
/// positions on either side until the move is finished, and both are charged: reports count its blocks as duplicated on both.
///
/// Ownership: nothing that `request` and `terms` point to is kept; `*out` is the caller's, to be given to `kvb_move_destroy`.
/// Threads: the fleet's. O(tokens); allocates. Errors, after which the source goes on as if nothing had been asked (but what had
/// arrived for it counts):
/// `KVB_ERR_NO_SUCH_INSTANCE`, `KVB_ERR_SAME_INSTANCE`, `KVB_ERR_OTHER_MODEL`, `KVB_ERR_NOT_READY`, `KVB_ERR_LENGTH_MISMATCH` (fewer tokens
/// than positions), `KVB_ERR_OTHER_TOKENS` (what is computed, as far as that is known, is of other tokens or has another extra key),
/// `KVB_ERR_SERVICE_FULL`; those of `kvb_seqs_export` and `kvb_seqs_import`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_start_move(
    fleet: *mut kvb_fleet,
    from: u64,
    source: kvb_handle,
    to: u64,
    request: *const kvb_admit,
    terms: *const kvb_move_terms,
    out: *mut *mut kvb_move,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (fleet, request) = unsafe { (arg::get_mut(fleet)?, ReadAdmit::new(request)?) };
        // SAFETY: as above.
        let (given, out) = unsafe { (arg::versioned(terms)?, arg::place(out)?) };
        let owner = Owner::new(given.owner);
        let mut terms = MoveTerms::new(owner, given.deadline).writers(given.writers as usize);
        // SAFETY: as above.
        if let Some(flights) = unsafe { given.flights.as_ref() } {
            terms = terms.flights(&flights.inner);
        }
        let (from, to) = (InstanceId::new(from), InstanceId::new(to));
        let room = object::room::<kvb_move>()?;
        let shards = fleet.inner.get(to).map_or(0, |it| it.shards().len());
        let mut imports = Vec::new();
        let enough = imports.try_reserve_exact(shards);
        enough.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
        let inner = fleet
            .inner
            .start_move(from, source.get(), to, &request.lend(), &terms)
            .map_err(refused::<MoveError>)?;
        imports.extend(inner.imports().iter().cloned());
        let export = kvb_export {
            inner: inner.export().clone(),
        };
        let import = kvb_import { inner: imports };
        out.write(room.fill(kvb_move {
            inner,
            export,
            import,
        }));
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Where a sequence comes from and where it goes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_route {
    /// `sizeof(kvb_route)`.
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// The instance where it was.
    pub from: u64,
    /// Its name there.
    pub source: kvb_handle,
    /// The instance where it goes.
    pub to: u64,
    /// Its name there.
    pub seq: kvb_handle,
    /// Positions that were found there and need not come.
    pub hit: u64,
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_route {}

/// Reads where a sequence comes from and where it goes.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the fleet's. O(1). Errors: `KVB_ERR_STRUCT_SIZE`.
/// NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_move_get_route(
    moving: *const kvb_move,
    out: *mut kvb_route,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (moving, out) = unsafe { (arg::get(moving)?, Answer::new(out)?) };
        let it = &moving.inner;
        out.put(&kvb_route {
            struct_size: 0,
            reserved: 0,
            from: it.from().get(),
            source: kvb_handle::of(it.source()),
            to: it.to().get(),
            seq: kvb_handle::of(it.handle()),
            hit: it.hit() as u64,
        });
        Ok(())
    })
}

/// Lends what is read, for the copies.
///
/// Ownership: the move's, until that is destroyed. Threads: any, and other threads may use what is lent while the fleet's finishes or aborts
/// the move. O(1). NULL: NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_move_export(moving: *const kvb_move) -> *const kvb_export {
    if moving.is_null() {
        return ptr::null();
    }
    // SAFETY: the head of the header says what pointers must be. The other fields are not borrowed.
    unsafe { &raw const (*moving).export }
}

/// Lends what is filled, for the writers and their answers.
///
/// Ownership: the move's, until that is destroyed. Threads: any, and other threads may use what is lent while the fleet's finishes or aborts
/// the move. O(1). NULL: NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_move_import(moving: *const kvb_move) -> *const kvb_import {
    if moving.is_null() {
        return ptr::null();
    }
    // SAFETY: the head of the header says what pointers must be. The other fields are not borrowed.
    unsafe { &raw const (*moving).import }
}

/// Ends a move whose content has all arrived: the sequence goes on at the destination as `*seq`, and is released at the source, if it was
/// not since.
///
/// Threads: the fleet's. O(blocks). Errors, after which nothing has changed but that what has arrived counts: `KVB_ERR_NOT_ARRIVED`: ask
/// again, or, if a writer failed or the lease was over, abort; `KVB_ERR_MOVE_ABORTED`: the source was released, or went on: abort;
/// `KVB_ERR_MOVE_OVER`, `KVB_ERR_NO_SUCH_INSTANCE`, `KVB_ERR_STALE`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_finish_move(
    fleet: *mut kvb_fleet,
    moving: *mut kvb_move,
    seq: *mut kvb_handle,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (fleet, moving) = unsafe { (arg::get_mut(fleet)?, moved(moving)?) };
        // SAFETY: as above.
        let seq = unsafe { arg::place(seq) }?;
        let finished = fleet.inner.finish_move(moving);
        seq.write(kvb_handle::of(finished.map_err(refused::<FinishError>)?));
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// The same, where a step under way at the source may still touch its blocks: they are given back when each of the source's lanes has
/// passed the fence.
///
/// Threads: the fleet's and the lanes'. O(blocks); allocates for the lane's lists. Errors: as `kvb_fleet_finish_move`;
/// `KVB_ERR_WRONG_POOL` (lanes of other shards); `KVB_ERR_NO_MEMORY`: the destination has the sequence already, ask again for the rest.
/// NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_finish_move_after(
    fleet: *mut kvb_fleet,
    moving: *mut kvb_move,
    lanes: *mut kvb_lanes,
    fence: u64,
    seq: *mut kvb_handle,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (fleet, moving) = unsafe { (arg::get_mut(fleet)?, moved(moving)?) };
        // SAFETY: as above.
        let (lanes, seq) = unsafe { (arg::get_mut(lanes)?, arg::place(seq)?) };
        let finished = fleet
            .inner
            .finish_move_after(moving, &mut lanes.inner, Fence(fence));
        seq.write(kvb_handle::of(finished.map_err(refused::<FinishError>)?));
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Calls a move off: the source keeps the sequence and goes on, if it has not been released meanwhile; the destination gives its blocks
/// back, each when its writers have answered.
///
/// Threads: the fleet's. O(blocks). Errors, after which nothing has changed: `KVB_ERR_MOVE_OVER`, `KVB_ERR_NO_SUCH_INSTANCE`,
/// `KVB_ERR_COMMITTED` (the destination has it). NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_abort_move(
    fleet: *mut kvb_fleet,
    moving: *mut kvb_move,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (fleet, moving) = unsafe { (arg::get_mut(fleet)?, moved(moving)?) };
        let aborted = fleet.inner.abort_move(moving);
        aborted.map_err(refused::<AbortError>)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Lets go of a move. One that was neither finished nor aborted is called off: the source goes on, and what was admitted at the destination
/// is yours to release there. What it lent goes with it: let every writer end before, as what is not answered for stays held as long as the
/// destination's registry.
///
/// Threads: no other call may use it meanwhile, nor what it lent. O(blocks). NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_move_destroy(moving: *mut kvb_move) {
    // SAFETY: the head of the header: made by `kvb_fleet_start_move`, and not destroyed before.
    drop(unsafe { object::take(moving) });
}

/// Tells the time by which moves end. `*ended` is how many leases on what they read are over now: one a shard. Time is any count of yours;
/// an earlier time than the last one changes nothing.
///
/// Threads: the fleet's. O(shards) if nothing can be over, otherwise O(leases + references given back). Errors: none but those of pointers.
/// NULL: `ended`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_tick(
    fleet: *mut kvb_fleet,
    now: u64,
    ended: *mut usize,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be.
        let fleet = unsafe { arg::get_mut(fleet) }?;
        let all = fleet.inner.tick(now);
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(ended, all) };
        Ok(())
    })
}
