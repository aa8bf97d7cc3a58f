//! The answers of those who fill blocks.

use alloc::vec::Vec;
use core::ops::Range;

use kvblock::{Answer, AnswerError, Import};

use crate::arg::{self, Argument};
use crate::error::{self, Problem, kvb_error, plain, refused};
use crate::object;
use crate::status::{KVB_ERR_OUT_OF_RANGE, kvb_status};

/// The answer counts.
pub const KVB_ANSWER_TAKEN: u32 = 0;
/// The writer is done with the blocks; nobody waits for their content any more.
pub const KVB_ANSWER_UNWANTED: u32 = 1;
/// The source's lease was over when the answer came, so what was read there may have been anything: the blocks have failed.
pub const KVB_ANSWER_SOURCE_GONE: u32 = 2;

/// Blocks of a sequence on every shard that peers, a store or a copy engine are filling. Any thread may use it.
///
/// Each writer answers once for each block, in any order of blocks: it has written it, or will not; and at the latest it says that it touches
/// nothing more. Until then the blocks stay held, whether the sequence goes on or not.
#[derive(Debug)]
pub struct kvb_import {
    /// One for each shard.
    pub(crate) inner: Vec<Import>,
}

impl kvb_import {
    fn shard(&self, shard: usize) -> Result<&Import, Argument> {
        self.inner.get(shard).ok_or(Argument(KVB_ERR_OUT_OF_RANGE))
    }
}

/// Shards that have blocks to be filled: one for ranks in lockstep.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_import_shards(import: *const kvb_import) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { import.as_ref() }.map_or(0, |import| import.inner.len())
}

/// Lends the blocks to be filled on one shard, in the order of the table. They are behind those that were found: the first is the block
/// of position `hit`, and a source's at the same place is `hit / block_size` further on. None, if nothing is to come.
///
/// Ownership: the list is the import's, until it is destroyed. Threads: any. O(1). Errors: `KVB_ERR_OUT_OF_RANGE`. NULL: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_import_ids(
    import: *const kvb_import,
    shard: usize,
    ids: *mut *const u32,
    count: *mut usize,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (import, ids, count) =
            unsafe { (arg::get(import)?, arg::place(ids)?, arg::place(count)?) };
        let blocks = import.shard(shard)?.ids();
        ids.write(blocks.as_ptr().cast());
        count.write(blocks.len());
        Ok(())
    })
}

/// Writers of each shard, numbered from 0.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_import_writers(import: *const kvb_import) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    let import = unsafe { import.as_ref() };
    let first = import.and_then(|import| import.inner.first());
    first.map_or(0, Import::writers)
}

/// Blocks that some writer may still touch, over all shards, at this instant. 0: none touches anything any more.
///
/// Threads: any. O(shards). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_import_left(import: *const kvb_import) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    let import = unsafe { import.as_ref() };
    import.map_or(0, |import| import.inner.iter().map(Import::left).sum())
}

/// Whether somebody still waits for the content: not after the sequence was released, for instance.
///
/// Threads: any. O(shards). NULL: false.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_import_is_wanted(import: *const kvb_import) -> bool {
    // SAFETY: the head of the header says what pointers must be.
    let import = unsafe { import.as_ref() };
    import.is_some_and(|import| import.inner.iter().all(Import::is_wanted))
}

/// A writer has written its part of `count` blocks of a shard from the place `first` of its list on, and touches them no more. `*answer` is
/// `KVB_ANSWER_*`.
///
/// Threads: any. O(count). Errors, of which none of the blocks is obeyed: `KVB_ERR_OUT_OF_RANGE` (shard or blocks),
/// `KVB_ERR_NO_SUCH_WRITER`, `KVB_ERR_ANSWERED` (`error->needed` is the first such place). Where a writer answers from two threads at
/// once, each block is answered once, by either, and who was late for one is told `KVB_ERR_ANSWERED`. NULL: `answer`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_import_arrived(
    import: *const kvb_import,
    shard: usize,
    writer: usize,
    first: usize,
    count: usize,
    answer: *mut u32,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be.
        let import = unsafe { arg::get(import) }?.shard(shard)?;
        let given = import.arrived(writer, places(first, count));
        // SAFETY: as above.
        unsafe { told(given, answer) }
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// A writer has not written its part of some blocks, and touches them no more: they do not come. As `kvb_import_arrived`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_import_failed(
    import: *const kvb_import,
    shard: usize,
    writer: usize,
    first: usize,
    count: usize,
    answer: *mut u32,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be.
        let import = unsafe { arg::get(import) }?.shard(shard)?;
        let given = import.failed(writer, places(first, count));
        // SAFETY: as above.
        unsafe { told(given, answer) }
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Places from `first` on; beyond every list if they are more than can be counted.
const fn places(first: usize, count: usize) -> Range<usize> {
    first..first.saturating_add(count)
}

/// # Safety
/// * As of [`arg::write_if_wanted`].
unsafe fn told(
    given: Result<Answer, AnswerError>,
    answer: *mut u32,
) -> Result<(), Problem<AnswerError>> {
    let number = match given.map_err(refused)? {
        Answer::Unwanted => KVB_ANSWER_UNWANTED,
        Answer::SourceGone => KVB_ANSWER_SOURCE_GONE,
        _ => KVB_ANSWER_TAKEN,
    };
    // SAFETY: this function's contract.
    unsafe { arg::write_if_wanted(answer, number) };
    Ok(())
}

/// A writer of a shard touches nothing more: blocks that it has not answered for have failed. `*missing` is how many.
///
/// Threads: any. O(blocks). Errors: `KVB_ERR_OUT_OF_RANGE` (shard), `KVB_ERR_NO_SUCH_WRITER`, `KVB_ERR_WRITER_ENDED`.
/// NULL: `missing`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_import_end(
    import: *const kvb_import,
    shard: usize,
    writer: usize,
    missing: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be.
        let import = unsafe { arg::get(import) }?.shard(shard)?;
        let without = import.end(writer).map_err(refused::<AnswerError>)?;
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(missing, without) };
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Lets go of an import. Let every writer end before: what is not answered for stays held as long as the registry, and when both are gone
/// that says that all writers are done.
///
/// Threads: no other call may use it meanwhile. O(blocks). NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_import_destroy(import: *mut kvb_import) {
    // SAFETY: the head of the header: made by `kvb_seqs_import`, and not destroyed before.
    drop(unsafe { object::take(import) });
}
