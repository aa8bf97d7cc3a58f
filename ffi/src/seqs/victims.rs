//! Whom to preempt.

use alloc::vec::Vec;

use kvblock::VictimsError;

use super::handle::kvb_handle;
use super::kvb_seqs;
use crate::arg::{self, Argument};
use crate::error::{self, kvb_error, refused};
use crate::status::{KVB_ERR_NO_MEMORY, KVB_ERR_OUT_OF_RANGE, kvb_status};

/// Chooses whom to preempt, in your order, so that shard `i` has `need[i]` blocks more (0 for shards beyond `need_count`). Skipped are those
/// whose end frees nothing that is needed. Changes nothing.
///
/// An append into a block that branches share needs a block for a copy. The end of the last other branch takes that need away, though it
/// frees nothing: so where this is not enough, preempt branches of the sequence before you give up.
///
/// Ownership: `victims` has room for `count`, of which the first `*victim_count` are written. `*enough` is 1 if they free what is needed,
/// 0 if even all of `order` would not. Threads: the registry's. O(blocks of those looked at); allocates.
/// Errors: `KVB_ERR_STALE`, `KVB_ERR_OUT_OF_RANGE` (a need on a shard that there is not), `KVB_ERR_NO_MEMORY`. NULL: empty lists, `enough`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_select_victims(
    seqs: *const kvb_seqs,
    order: *const kvb_handle,
    count: usize,
    need: *const usize,
    need_count: usize,
    victims: *mut kvb_handle,
    victim_count: *mut usize,
    enough: *mut u32,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (seqs, order) = unsafe { (arg::get(seqs)?, arg::slice(order, count)?) };
        // SAFETY: as above.
        let (need, places) =
            unsafe { (arg::slice(need, need_count)?, arg::places(victims, count)?) };
        // SAFETY: as above.
        let victim_count = unsafe { arg::place(victim_count) }?;
        let shards = seqs.inner.shards().len();
        if need.iter().skip(shards).any(|&need| need > 0) {
            return Err(Argument(KVB_ERR_OUT_OF_RANGE).into());
        }
        let mut chosen = Vec::new();
        let room = chosen.try_reserve_exact(order.len());
        room.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
        let order = kvb_handle::all(order);
        let is_enough = seqs.inner.select_victims(order, need, &mut chosen);
        let is_enough = is_enough.map_err(refused::<VictimsError>)?;
        for (place, &handle) in places.iter_mut().zip(&chosen) {
            place.write(kvb_handle::of(handle));
        }
        victim_count.write(chosen.len());
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(enough, u32::from(is_enough)) };
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}
