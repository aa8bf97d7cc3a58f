//! More blocks, or fewer, on every shard while they serve.

use super::kvb_seqs;
use crate::error::{self, kvb_error};
use crate::status::kvb_status;

/// Gives every rank, or every shard's pool, `blocks` more. As `kvb_pool_grow`, on all or on none.
///
/// Threads: the registry's. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_grow(
    seqs: *mut kvb_seqs,
    blocks: usize,
    error: *mut kvb_error,
) -> kvb_status {
    let change = |seqs: &mut kvb_seqs| seqs.inner.grow(blocks);
    // SAFETY: the head of the header says what pointers must be.
    unsafe { error::change(seqs, error, change) }
}

/// Takes the upper `blocks` of every rank, or of every shard's pool, out of service. As `kvb_pool_shrink`, on all or on none; what is held
/// drains, and 0 collects what did not go by itself.
///
/// Threads: the registry's. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_shrink(
    seqs: *mut kvb_seqs,
    blocks: usize,
    error: *mut kvb_error,
) -> kvb_status {
    let change = |seqs: &mut kvb_seqs| seqs.inner.shrink(blocks);
    // SAFETY: the head of the header says what pointers must be.
    unsafe { error::change(seqs, error, change) }
}

/// Gives one rank in lockstep, or one shard's pool, another number of blocks. What larger ranks have beyond the smallest is stranded.
///
/// Threads: the registry's. Errors: as `kvb_pool_grow` and `kvb_pool_shrink`; `KVB_ERR_OUT_OF_RANGE`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_resize_rank(
    seqs: *mut kvb_seqs,
    at: usize,
    blocks: usize,
    error: *mut kvb_error,
) -> kvb_status {
    let change = |seqs: &mut kvb_seqs| seqs.inner.resize_rank(at, blocks);
    // SAFETY: the head of the header says what pointers must be.
    unsafe { error::change(seqs, error, change) }
}

/// Blocks above the limit that are not offline yet, over all shards.
///
/// Threads: the registry's. O(max_blocks). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_draining(seqs: *const kvb_seqs) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { seqs.as_ref() }.map_or(0, |seqs| seqs.inner.draining())
}
