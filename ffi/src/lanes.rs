//! What waits for a device or a peer.

use alloc::vec::Vec;

use kvblock::{Fence, Lane};

use crate::arg::{self, Argument};
use crate::error::plain;
use crate::object;
use crate::pool::kvb_pool;
use crate::seqs::kvb_seqs;
use crate::status::{KVB_ERR_NO_MEMORY, KVB_ERR_OUT_OF_RANGE, kvb_status};

/// What was released while a device or a peer may still touch it, on each shard: blocks that come back when the shard's stream reports
/// that it has passed their fence. A fence is a number of yours that does not go back on one lane, that of a step say. One thread at a
/// time may use it.
#[derive(Debug)]
pub struct kvb_lanes {
    pub(crate) inner: Vec<Lane>,
}

impl kvb_lanes {
    pub(crate) fn shard(&mut self, shard: usize) -> Result<&mut Lane, Argument> {
        let lane = self.inner.get_mut(shard);
        lane.ok_or(Argument(KVB_ERR_OUT_OF_RANGE))
    }
}

/// Makes a lane for each shard of a registry, with room for the end of every sequence that it can have: `kvb_seqs_config.positions` holds
/// for these, too.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_lanes_destroy`. Threads: the registry's. O(max_sequences) a
/// shard. Errors: `KVB_ERR_NO_MEMORY`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_lanes_create(
    seqs: *const kvb_seqs,
    out: *mut *mut kvb_lanes,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (seqs, out) = unsafe { (arg::get(seqs)?, arg::place(out)?) };
        let inner = seqs.inner.lanes_with_room(seqs.inner.max_sequences());
        let inner = inner.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
        object::give(kvb_lanes { inner }, out)
    })
}

/// Makes one lane for a pool, as shard 0 of the lanes.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_lanes_destroy`. Threads: any. O(1). Errors: `KVB_ERR_NO_MEMORY`.
/// NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_lanes_create(
    pool: *const kvb_pool,
    out: *mut *mut kvb_lanes,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (pool, out) = unsafe { (arg::get(pool)?, arg::place(out)?) };
        let mut inner = Vec::new();
        let enough = inner.try_reserve_exact(1);
        enough.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
        inner.push(pool.inner.lane());
        object::give(kvb_lanes { inner }, out)
    })
}

/// The stream of a shard has passed a fence: all that waits for it or an earlier one is given back. `*blocks` is how many became free or
/// idle by it. An earlier fence than the last one changes nothing.
///
/// Threads: the lanes'. O(blocks given back). Errors: `KVB_ERR_OUT_OF_RANGE`. NULL: `blocks`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_lanes_complete(
    lanes: *mut kvb_lanes,
    shard: usize,
    fence: u64,
    blocks: *mut usize,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be.
        let lanes = unsafe { arg::get_mut(lanes) }?;
        let back = lanes.shard(shard)?.complete(Fence(fence));
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(blocks, back) };
        Ok(())
    })
}

/// References that wait on all shards: a block counts once for each release.
///
/// Threads: the lanes'. O(references). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_lanes_waiting(lanes: *const kvb_lanes) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    let lanes = unsafe { lanes.as_ref() };
    lanes.map_or(0, |lanes| lanes.inner.iter().map(Lane::len).sum())
}

/// Gives the lanes back, and all that waits: the devices and peers must be done with it.
///
/// Threads: no other call may use it meanwhile. NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_lanes_destroy(lanes: *mut kvb_lanes) {
    // SAFETY: the head of the header: made by its create function, and not destroyed before.
    drop(unsafe { object::take(lanes) });
}
