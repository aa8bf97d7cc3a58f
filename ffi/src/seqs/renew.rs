//! Content that turned out bad.

use alloc::vec::Vec;

use kvblock::{BlockId, InvalidateError};

use super::handle::kvb_handle;
use super::kvb_seqs;
use super::step::kvb_step;
use crate::arg::{self, Argument};
use crate::error::{self, kvb_error, refused};
use crate::status::{KVB_ERR_NO_MEMORY, KVB_ERR_OUT_OF_RANGE, kvb_status};

/// Takes back one block of a shard, because its content is bad, and all that is built on it: it is found no more, and each sequence of this
/// registry that has it is computed only up to there, on every shard. `*count` is how many these are, of which the first `capacity` are
/// written: renew each, and compute it from there on. It is 0 for a block that was not
/// findable and that nobody here computed. Other registries have to be asked, too.
///
/// Threads: the registry's. A few passes over all blocks; allocates. Errors, after which nothing has changed: `KVB_ERR_NO_SUCH_BLOCK`,
/// `KVB_ERR_OUT_OF_RANGE`, `KVB_ERR_NO_MEMORY`.
/// NULL: `affected` if `capacity` is 0; `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_invalidate(
    seqs: *mut kvb_seqs,
    shard: usize,
    block: u32,
    affected: *mut kvb_handle,
    capacity: usize,
    count: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (seqs, places) = unsafe { (arg::get_mut(seqs)?, arg::places(affected, capacity)?) };
        // SAFETY: as above.
        let count = unsafe { arg::place(count) }?;
        if shard >= seqs.inner.shards().len() {
            return Err(Argument(KVB_ERR_OUT_OF_RANGE).into());
        }
        let mut all = Vec::new();
        let enough = all.try_reserve_exact(seqs.inner.len());
        enough.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
        let taken = seqs.inner.invalidate(shard, BlockId::new(block), &mut all);
        taken.map_err(refused::<InvalidateError>)?;
        for (place, &handle) in places.iter_mut().zip(&all) {
            place.write(kvb_handle::of(handle));
        }
        count.write(all.len());
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Gives a sequence blocks of its own on every shard from where it is not computed on, in place of those that others have or had.
///
/// Threads: the registry's. O(blocks); allocates as `kvb_seqs_append`. Errors: as `kvb_seqs_append`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_renew(
    seqs: *mut kvb_seqs,
    seq: kvb_handle,
    step: *mut kvb_step,
    error: *mut kvb_error,
) -> kvb_status {
    let change =
        |seqs: &mut kvb_seqs, step: &mut kvb_step| seqs.inner.renew(seq.get(), step.filled());
    // SAFETY: the head of the header says what pointers must be; so for both.
    unsafe { error::change_both(seqs, step, error, change) }
}
