//! Where a request goes: every instance of its model is asked, and of those that can take it one is chosen.

use alloc::vec::Vec;
use core::ptr;

use kvblock::{Candidate, InstanceId, NoPlace, NoSuchInstance, Placement};

use super::{kvb_fleet, list};
use crate::arg::{self, Argument};
use crate::error::{self, Problem, kvb_error, plain, refused};
use crate::seqs::{ReadAdmit, kvb_admit, kvb_admitted, kvb_handle};
use crate::status::{KVB_ERR_INVALID, kvb_status};

/// The instance with the longest hit; of those, the one with the most left. Where two are equal, here and below, the one that was added
/// before.
pub const KVB_PLACEMENT_AFFINITY: u32 = 0;
/// The one that has the most positions left then; of those, the one with the longest hit.
pub const KVB_PLACEMENT_MOST_FREE: u32 = 1;
/// The one whose last admission by the fleet was the longest ago.
pub const KVB_PLACEMENT_ROUND_ROBIN: u32 = 2;

const fn read(number: u32) -> Result<Placement, Argument> {
    match number {
        KVB_PLACEMENT_AFFINITY => Ok(Placement::Affinity),
        KVB_PLACEMENT_MOST_FREE => Ok(Placement::MostFree),
        KVB_PLACEMENT_ROUND_ROBIN => Ok(Placement::RoundRobin),
        _ => Err(Argument(KVB_ERR_INVALID)),
    }
}

/// An instance that can take a request at this instant.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_candidate {
    /// Which.
    pub instance: u64,
    /// Positions that are found on it.
    pub hit: usize,
    /// Blocks that it would charge, on the shard that needs the most.
    pub charge: usize,
    /// Blocks that an admission could have after that, on the shard where it is the fewest.
    pub free: usize,
    /// Positions in each of its blocks.
    pub block_size: usize,
    /// Positions a step that would be demanded of it then.
    pub demanded: u64,
    /// Positions that it can compute in a step.
    pub service: u64,
}

impl From<&Candidate> for kvb_candidate {
    fn from(candidate: &Candidate) -> Self {
        Self {
            instance: candidate.instance.get(),
            hit: candidate.hit,
            charge: candidate.charge,
            free: candidate.free,
            block_size: candidate.block_size,
            demanded: candidate.service.used,
            service: candidate.service.whole,
        }
    }
}

/// A request that was admitted on an instance.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_placed {
    /// Where: `kvb_fleet_get` lends it for the sequence's further calls.
    pub instance: u64,
    /// What it got there.
    pub admitted: kvb_admitted,
}

/// Lists the instances of a model that can take a request at this instant, the first choice by `placement` (`KVB_PLACEMENT_*`) first: the
/// first `capacity` of them. `*count` is how many there are. Changes nothing.
///
/// Ownership: `out` has room for `capacity`. Threads: the fleet's. As `kvb_seqs_check` on each instance of the model, and a look at all its
/// slots; allocates. Errors: as `kvb_fleet_admit`: there is none. NULL: `out` if `capacity` is 0; `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_candidates(
    fleet: *const kvb_fleet,
    model: u64,
    request: *const kvb_admit,
    placement: u32,
    out: *mut kvb_candidate,
    capacity: usize,
    count: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (fleet, request) = unsafe { (arg::get(fleet)?, ReadAdmit::new(request)?) };
        // SAFETY: as above.
        let (out, count) = unsafe { (arg::places(out, capacity)?, arg::place(count)?) };
        let (placement, mut found) = (read(placement)?, Vec::new());
        let asked = fleet
            .inner
            .candidates(model, &request.lend(), placement, &mut found);
        asked.map_err(refused::<NoPlace>)?;
        count.write(list(out, found.iter().map(kvb_candidate::from)));
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Where `kvb_fleet_admit` would place a request at this instant, or the refusal that it would give. Changes nothing.
///
/// Threads: the fleet's. As `kvb_fleet_candidates`, without an allocation. Errors: as `kvb_fleet_admit`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_check(
    fleet: *const kvb_fleet,
    model: u64,
    request: *const kvb_admit,
    placement: u32,
    out: *mut kvb_candidate,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (fleet, request) = unsafe { (arg::get(fleet)?, ReadAdmit::new(request)?) };
        // SAFETY: as above.
        let out = unsafe { arg::place(out) }?;
        let found = fleet.inner.check(model, &request.lend(), read(placement)?);
        out.write((&found.map_err(refused::<NoPlace>)?).into());
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Admits a request on one of the instances of a model that can take it: on the first choice by `placement`
/// (`KVB_PLACEMENT_*`).
///
/// Threads: the fleet's. As `kvb_seqs_check` on each instance of the model, and `kvb_seqs_admit` on one. Errors, after which nothing has
/// changed on any instance: `KVB_ERR_NO_SUCH_MODEL`; `KVB_ERR_NOT_READY` (those that could have it take no requests);
/// `KVB_ERR_NEVER_FITS` (on none, whatever leaves; `error->instance` is the largest, `limit` its blocks) and `KVB_ERR_SHORTFALL` (on none
/// now; `error->instance` lacks the least), both with `error->sum`, what all have together: the request fits in the sum, and in no one
/// place, if `error->needed` is not more; `KVB_ERR_SERVICE_FULL` (there is memory, and too little token service); and those of
/// `kvb_seqs_admit`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_admit(
    fleet: *mut kvb_fleet,
    model: u64,
    request: *const kvb_admit,
    placement: u32,
    out: *mut kvb_placed,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (fleet, request) = unsafe { (arg::get_mut(fleet)?, ReadAdmit::new(request)?) };
        // SAFETY: as above.
        let out = unsafe { arg::place(out) }?;
        let placed = fleet.inner.admit(model, &request.lend(), read(placement)?);
        let placed = placed.map_err(refused::<NoPlace>)?;
        out.write(kvb_placed {
            instance: placed.instance.get(),
            admitted: kvb_admitted {
                seq: kvb_handle::of(placed.admitted.handle),
                hit: placed.admitted.hit,
                fresh: placed.admitted.fresh,
            },
        });
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// How large a request of a model may be, in positions: prompt and promised growth of one of which nothing is found. What lies between
/// `now` and `sum_now` fits in what is available on all instances together, and on none of them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_largest {
    /// The largest that one instance can admit now.
    pub now: usize,
    /// The largest that one instance can have when it is empty.
    pub ever: usize,
    /// What all instances can admit now, together.
    pub sum_now: usize,
    /// What all instances can have when they are empty, together.
    pub sum_ever: usize,
}

impl From<kvblock::Largest> for kvb_largest {
    fn from(largest: kvblock::Largest) -> Self {
        Self {
            now: largest.now,
            ever: largest.ever,
            sum_now: largest.sum_now,
            sum_ever: largest.sum_ever,
        }
    }
}

/// How large a request of a model may be, on the instances that take requests; one without a slot left admits nothing now. All 0 if there
/// are none. Of token service it says nothing.
///
/// Threads: the fleet's. O(instances * shards). Errors: none but those of pointers. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_largest(
    fleet: *const kvb_fleet,
    model: u64,
    out: *mut kvb_largest,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (fleet, out) = unsafe { (arg::get(fleet)?, arg::place(out)?) };
        out.write(fleet.inner.largest(model).into());
        Ok(())
    })
}

/// How much of an instance is in use. Either may be used up while there is enough of the other.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_share {
    /// Blocks that are held, quarantined or promised, on the shard where that is the largest part. Idle blocks are not in use.
    pub memory_used: u64,
    /// The blocks of that shard.
    pub memory_whole: u64,
    /// Positions demanded a step: of each sequence what it has appended and not computed, no more than a whole step and no less than 1.
    /// What a load is to bring is not demanded. A sequence that is being moved demands where it goes.
    pub service_used: u64,
    /// Positions that the instance can compute in a step.
    pub service_whole: u64,
}

impl From<kvblock::Share> for kvb_share {
    fn from(share: kvblock::Share) -> Self {
        Self {
            memory_used: share.memory.used,
            memory_whole: share.memory.whole,
            service_used: share.service.used,
            service_whole: share.service.whole,
        }
    }
}

/// How much of an instance is in use.
///
/// Threads: the fleet's. O(max_sequences + max_blocks / 64). Errors: `KVB_ERR_NO_SUCH_INSTANCE`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_share(
    fleet: *const kvb_fleet,
    instance: u64,
    out: *mut kvb_share,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (fleet, out) = unsafe { (arg::get(fleet)?, arg::place(out)?) };
        let share = fleet.inner.share(InstanceId::new(instance));
        out.write(share.map_err(refused)?.into());
        Ok::<_, Problem<NoSuchInstance>>(())
    };
    // SAFETY: null.
    unsafe { error::call(ptr::null_mut(), body) }
}
