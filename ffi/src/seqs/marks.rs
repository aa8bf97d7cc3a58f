//! Telling what positions are, and that they are computed.

use kvblock::{Contents, Stale, TokensError};

use super::handle::kvb_handle;
use super::kvb_seqs;
use super::step::{kvb_copy, kvb_failure};
use crate::arg::{self, Argument};
use crate::error::{self, kvb_error, plain, refused};
use crate::prompt::{ReadContents, kvb_contents};
use crate::status::{KVB_ERR_PARTIAL, KVB_ERR_STALE, KVB_OK, kvb_status};

/// Says which tokens the positions from `at` on are. Blocks that are full, known and computed are published.
///
/// Ownership: nothing that `contents` points to is kept. Threads: the registry's. O(tokens); allocates as `kvb_seqs_admit`. Errors, after
/// which nothing has changed: `KVB_ERR_STALE`, `KVB_ERR_NOT_NEXT`, `KVB_ERR_BEYOND` (not appended), `KVB_ERR_LENGTH_MISMATCH`,
/// `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_tokens(
    seqs: *mut kvb_seqs,
    seq: kvb_handle,
    at: usize,
    contents: *const kvb_contents,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (seqs, contents) = unsafe { (arg::get_mut(seqs)?, arg::get(contents)?) };
        // SAFETY: as above.
        let contents = unsafe { ReadContents::new(contents) }?;
        let told = seqs.inner.tokens(seq.get(), at, &contents.lend());
        told.map_err(refused::<TokensError>)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Says that K/V of the first `positions` positions is written on every shard. Blocks that are full, known and computed are published.
///
/// Threads: the registry's. O(blocks published). Errors, after which nothing has changed: `KVB_ERR_STALE`, `KVB_ERR_BEYOND`,
/// `KVB_ERR_LOADING`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_computed(
    seqs: *mut kvb_seqs,
    seq: kvb_handle,
    positions: usize,
    error: *mut kvb_error,
) -> kvb_status {
    let change = |seqs: &mut kvb_seqs| seqs.inner.computed(seq.get(), positions);
    // SAFETY: the head of the header says what pointers must be.
    unsafe { error::change(seqs, error, change) }
}

/// What a step did for a sequence.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_progress {
    /// Which sequence.
    pub seq: kvb_handle,
    /// The position of the first token.
    pub at: usize,
    /// What the positions from there on are.
    pub tokens: *const u32,
    /// How many; 0 if there is nothing to tell.
    pub token_count: usize,
    /// Positions from the start that are computed then; 0 if there is nothing to tell.
    pub computed: usize,
}

/// Tells tokens, and then what is computed, of each sequence of a batch: `kvb_seqs_tokens` and `kvb_seqs_computed` in one call. An item that
/// fails does not touch the others; of one whose tokens were told before its `computed` was refused the tokens stay told.
///
/// Ownership: `failures` is NULL or has room for `count`; the first `*failure_count` are written. Threads: the registry's.
/// O(tokens + blocks published). Errors: `KVB_ERR_PARTIAL`, the others are done. NULL: an empty batch, `failures`, `failure_count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_advance(
    seqs: *mut kvb_seqs,
    batch: *const kvb_progress,
    count: usize,
    failures: *mut kvb_failure,
    failure_count: *mut usize,
) -> kvb_status {
    let mut failed = 0;
    let status = plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (seqs, batch) = unsafe { (arg::get_mut(seqs)?, arg::slice(batch, count)?) };
        // SAFETY: as above.
        let places = unsafe { arg::places(failures, if failures.is_null() { 0 } else { count }) }?;
        for (index, item) in batch.iter().enumerate() {
            // SAFETY: as above.
            if let Err(failure) = unsafe { advance(seqs, index, item) } {
                if let Some(place) = places.get_mut(failed) {
                    place.write(failure);
                }
                failed += 1;
            }
        }
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(failure_count, failed) };
        Ok(())
    });
    if failed > 0 { KVB_ERR_PARTIAL } else { status }
}

/// # Safety
/// * The item's tokens are there.
#[inline]
unsafe fn advance(
    seqs: &mut kvb_seqs,
    index: usize,
    item: &kvb_progress,
) -> Result<(), kvb_failure> {
    let handle = item.seq.get();
    if item.token_count == 0 && item.computed == 0 {
        let lives = seqs.inner.state(handle).map(drop);
        return lives.map_err(|error| kvb_failure::of(index, &error));
    }
    if item.token_count > 0 {
        // SAFETY: this function's contract.
        let tokens = unsafe { arg::slice(item.tokens, item.token_count) };
        let tokens = tokens.map_err(|argument| kvb_failure::of_argument(index, argument))?;
        seqs.inner
            .tokens(handle, item.at, &Contents::new(tokens))
            .map_err(|error| kvb_failure::of(index, &error))?;
    }
    if item.computed > 0 {
        seqs.inner
            .computed(handle, item.computed)
            .map_err(|error| kvb_failure::of(index, &error))?;
    }
    Ok(())
}

impl kvb_failure {
    const fn of_argument(index: usize, argument: Argument) -> Self {
        Self {
            index,
            status: argument.0,
            shard: error::KVB_NO_SHARD,
            needed: 0,
            available: 0,
            limit: 0,
            quarantined: 0,
        }
    }
}

/// Says that copies on a shard have been made: those of a step's lists for that shard. Each of them gives its references back.
///
/// Threads: the registry's. O(1) a copy, O(depth) where its source was published. Errors: `KVB_ERR_STALE`: one or more were given back
/// already, or are another shard's or registry's; the others are done. NULL: an empty list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_copied(
    seqs: *mut kvb_seqs,
    shard: usize,
    copies: *const kvb_copy,
    count: usize,
) -> kvb_status {
    let mut all = Ok::<(), Stale>(());
    let status = plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (seqs, copies) = unsafe { (arg::get_mut(seqs)?, arg::slice(copies, count)?) };
        for copy in copies {
            all = seqs.inner.copied(shard, copy.ticket()).and(all);
        }
        Ok(())
    });
    if status == KVB_OK && all.is_err() {
        return KVB_ERR_STALE;
    }
    status
}
