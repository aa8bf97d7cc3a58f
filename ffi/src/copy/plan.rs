//! Which blocks are copied along a route, and in which order.

use alloc::vec::Vec;

use kvblock::{BlockId, CopyPlan, CopyPlanError, Wave};

use super::{ids, kvb_copy_route, kvb_pair_run, list, list_pairs, pair_run};
use crate::arg::{self, Argument};
use crate::error::{self, kvb_error, refused};
use crate::object;
use crate::status::{KVB_ERR_NO_MEMORY, KVB_ERR_OUT_OF_RANGE, kvb_status};

/// Pairs of blocks that are to be copied along a route, checked and in waves. It means: as if its pairs were copied one after another, in the
/// order in which they were given. One thread at a time may use it.
///
/// The pairs of a wave may be copied in any order, or all at once; the next wave may begin when the one before it has ended. Only where
/// blocks are copied in place there is more than one.
#[derive(Debug)]
pub struct kvb_copy_plan {
    pub(super) inner: CopyPlan,
    /// What was given last, as the library takes it.
    pairs: Vec<(BlockId, BlockId)>,
}

impl kvb_copy_plan {
    fn wave(&self, wave: usize) -> Result<Wave<'_>, Argument> {
        let found = self.inner.waves().nth(wave);
        found.ok_or(Argument(KVB_ERR_OUT_OF_RANGE))
    }

    /// No list without an error is longer: a destination would be there twice.
    fn most(&self, pairs: usize) -> usize {
        pairs.min(1 + self.inner.route().destination().blocks())
    }

    fn make_room(&mut self, pairs: usize) -> Result<(), Argument> {
        self.pairs.clear();
        let enough = self.pairs.try_reserve(pairs);
        enough.map_err(|_| Argument(KVB_ERR_NO_MEMORY))
    }
}

/// Makes a plan along a route, without pairs, and with room for lists of so many: `kvb_copy_plan_set` does not allocate for them.
///
/// Ownership: it keeps what it needs of the route; `*out` is the caller's, to be given to `kvb_copy_plan_destroy`. Threads: any.
/// O(pairs). Errors: `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_copy_plan_create(
    route: *const kvb_copy_route,
    pairs: usize,
    out: *mut *mut kvb_copy_plan,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (route, out) = unsafe { (arg::get(route)?, arg::place(out)?) };
        let inner = route.inner.plan(&[]).map_err(refused::<CopyPlanError>)?;
        let mut plan = kvb_copy_plan {
            inner,
            pairs: Vec::new(),
        };
        let most = plan.most(pairs);
        plan.make_room(most)?;
        let room = plan.inner.make_room(most);
        room.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
        Ok(object::give(plan, out)?)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Replaces the pairs of a plan: the block at each place of `sources` is to be copied to the one at the same place of `destinations`. All of
/// them, or none: the plan is as it was if one cannot be, and `error->which` is the place of the first such pair.
///
/// Ownership: both lists have `pair_count` blocks, and are copied. Threads: the plan's. O(pairs log(pairs)); allocates only if there was
/// never a list of so many, or room for one. Errors: `KVB_ERR_NO_SUCH_BLOCK` (the block `error->needed` is none of the `error->limit` of
/// its layout; `error->available` is 0 if it is the source, 1 if it is the destination), `KVB_ERR_ONTO_ITSELF` (in place, the block
/// `error->needed`), `KVB_ERR_DUPLICATE_DESTINATION` (the block `error->needed`, to which the pair `error->available` copies, too),
/// `KVB_ERR_NO_MEMORY`. NULL: lists of 0; `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_copy_plan_set(
    plan: *mut kvb_copy_plan,
    sources: *const u32,
    destinations: *const u32,
    pair_count: usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (plan, sources) = unsafe { (arg::get_mut(plan)?, ids(sources, pair_count)?) };
        // SAFETY: as above.
        let destinations = unsafe { ids(destinations, pair_count) }?;
        let most = plan.most(pair_count);
        plan.make_room(most)?;
        let pairs = sources.iter().zip(destinations).take(most);
        plan.pairs.extend(pairs.map(|(&from, &to)| (from, to)));
        plan.inner
            .set(&plan.pairs)
            .map_err(refused::<CopyPlanError>)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Pairs of a plan.
///
/// Threads: the plan's. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_copy_plan_pairs(plan: *const kvb_copy_plan) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { plan.as_ref() }.map_or(0, |plan| plan.inner.pairs())
}

/// Bytes that a plan copies, in all planes together.
///
/// Threads: the plan's. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_copy_plan_bytes(plan: *const kvb_copy_plan) -> u64 {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { plan.as_ref() }.map_or(0, |plan| plan.inner.bytes())
}

/// Waves of a plan, numbered from 0: none if there is nothing to copy.
///
/// Threads: the plan's. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_copy_plan_waves(plan: *const kvb_copy_plan) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { plan.as_ref() }.map_or(0, |plan| plan.inner.waves().len())
}

/// Lists the pairs of a wave, in the order of the sources. `*count` is how many there are.
///
/// Ownership: both lists have room for `capacity`. Threads: the plan's. O(waves + pairs of this one), no allocation.
/// Errors: `KVB_ERR_TOO_SHORT` (`error->needed` is how many there are), `KVB_ERR_OUT_OF_RANGE` (no such wave). NULL: the lists if `capacity`
/// is 0; `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_copy_plan_wave(
    plan: *const kvb_copy_plan,
    wave: usize,
    sources: *mut u32,
    destinations: *mut u32,
    capacity: usize,
    count: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (plan, count) = unsafe { (arg::get(plan)?, arg::place(count)?) };
        // SAFETY: as above.
        let sources = unsafe { arg::places(sources, capacity) }?;
        // SAFETY: as above.
        let destinations = unsafe { arg::places(destinations, capacity) }?;
        let pairs = plan.wave(wave)?.pairs();
        count.write(list_pairs(sources, destinations, pairs).map_err(refused)?);
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Lists the bytes of a wave in the planes that are copied as they are (`KVB_COPY_SAME`): plane by plane, in the order of the wave's pairs,
/// neighbours that are neighbours in memory on both sides in one run. `*run_count` is how many there are. What is done in the other planes
/// is said by `kvb_copy_route_planes`, for each pair.
///
/// Ownership: `out` has room for `capacity`. Threads: the plan's. O(waves + pairs of this one * planes), no allocation.
/// Errors: `KVB_ERR_TOO_SHORT` (`error->needed` is how many there are), `KVB_ERR_OUT_OF_RANGE` (no such wave). NULL: `out` if `capacity` is
/// 0; `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_copy_plan_wave_runs(
    plan: *const kvb_copy_plan,
    wave: usize,
    out: *mut kvb_pair_run,
    capacity: usize,
    run_count: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (plan, count) = unsafe { (arg::get(plan)?, arg::place(run_count)?) };
        // SAFETY: as above.
        let out = unsafe { arg::places(out, capacity) }?;
        let runs = plan.wave(wave)?.runs();
        count.write(list(out, runs, pair_run).map_err(refused)?);
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Gives a plan back.
///
/// Threads: no other call may use it meanwhile. NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_copy_plan_destroy(plan: *mut kvb_copy_plan) {
    // SAFETY: the head of the header: made by its create function, and not destroyed before.
    drop(unsafe { object::take(plan) });
}
