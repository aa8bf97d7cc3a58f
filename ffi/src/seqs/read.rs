//! Reading sequences: their watermarks, their block tables, their slots.

use core::ptr;

use kvblock::{BlockId, Growth, ReadError, Stale};

use super::admit::{KVB_GROWTH_AHEAD, KVB_GROWTH_CAP, KVB_GROWTH_ON_DEMAND};
use super::handle::kvb_handle;
use super::kvb_seqs;
use crate::arg::{self, Answer, Argument, Versioned};
use crate::error::{self, Figures, Problem, Told, kvb_error, refused};
use crate::pool::kvb_pool;
use crate::status::{KVB_ERR_LENGTH, KVB_ERR_OUT_OF_RANGE, KVB_ERR_TOO_SHORT, kvb_status};

/// Shards that have a table of their own: 1 for ranks in lockstep.
///
/// Threads: the registry's. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_shards(seqs: *const kvb_seqs) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { seqs.as_ref() }.map_or(0, |seqs| seqs.inner.shards().len())
}

/// Shards, or ranks in lockstep.
///
/// Threads: the registry's. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_width(seqs: *const kvb_seqs) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { seqs.as_ref() }.map_or(0, |seqs| seqs.inner.width())
}

/// Sequences that live.
///
/// Threads: the registry's. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_count(seqs: *const kvb_seqs) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { seqs.as_ref() }.map_or(0, |seqs| seqs.inner.len())
}

/// Sequences that can live at once.
///
/// Threads: the registry's. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_max(seqs: *const kvb_seqs) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { seqs.as_ref() }.map_or(0, |seqs| seqs.inner.max_sequences())
}

/// Blocks that an admission can have at this instant, on the shard that has the fewest: available above the watermark.
///
/// Threads: the registry's. O(shards). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_free(seqs: *const kvb_seqs) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { seqs.as_ref() }.map_or(0, |seqs| seqs.inner.free())
}

/// Blocks that one sequence can ever have, on the shard that has the fewest: capacity above the watermark.
///
/// Threads: the registry's. O(shards). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_largest(seqs: *const kvb_seqs) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { seqs.as_ref() }.map_or(0, |seqs| seqs.inner.largest())
}

/// The pool of a shard, or NULL if there is no such. Do not grow or shrink that of ranks in lockstep by itself, which know nothing of it:
/// `kvb_seqs_grow`, `kvb_seqs_shrink` and `kvb_seqs_resize_rank` do.
///
/// Ownership: the registry's, as long as it lives. Threads: the registry's; the pool's own calls from any. O(1). NULL: NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_pool(seqs: *const kvb_seqs, shard: usize) -> *const kvb_pool {
    // SAFETY: the head of the header says what pointers must be.
    let pool = unsafe { seqs.as_ref() }.and_then(|seqs| seqs.shard(shard).ok());
    pool.map_or(ptr::null(), |it| ptr::from_ref(kvb_pool::of(it.pool())))
}

/// A sequence at one instant. Positions and watermarks are the same on all shards; `published`, `blocks` and `promised` are those of the
/// shard that has the fewest.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_state {
    /// `sizeof(kvb_state)`.
    pub struct_size: u32,
    /// `KVB_GROWTH_*`, what it was promised at admission.
    pub growth: u32,
    /// Positions for `KVB_GROWTH_CAP`, blocks for `KVB_GROWTH_AHEAD`.
    pub growth_amount: usize,
    /// Your name for it.
    pub label: u64,
    /// Positions appended.
    pub positions: usize,
    /// Positions whose tokens are known.
    pub known: usize,
    /// Positions whose K/V is written.
    pub computed: usize,
    /// Blocks from the start whose content is findable, or was when it was published.
    pub published: usize,
    /// Entries of the table; lookahead is among them.
    pub blocks: usize,
    /// Blocks set aside: for growth, and for the copy of a shared end.
    pub promised: usize,
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_state {}

/// Reads a sequence's figures.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the registry's. O(shards).
/// Errors: `KVB_ERR_STALE`, `KVB_ERR_STRUCT_SIZE`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_get_state(
    seqs: *const kvb_seqs,
    seq: kvb_handle,
    out: *mut kvb_state,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (seqs, out) = unsafe { (arg::get(seqs)?, Answer::new(out)?) };
        let state = seqs.inner.state(seq.get()).map_err(refused)?;
        let (growth, growth_amount) = match state.growth {
            Growth::OnDemand => (KVB_GROWTH_ON_DEMAND, 0),
            Growth::Cap(positions) => (KVB_GROWTH_CAP, positions),
            Growth::Ahead(blocks) => (KVB_GROWTH_AHEAD, blocks),
        };
        out.put(&kvb_state {
            struct_size: 0,
            growth,
            growth_amount,
            label: state.label,
            positions: state.positions,
            known: state.known,
            computed: state.computed,
            published: state.published,
            blocks: state.blocks,
            promised: state.promised,
        });
        Ok::<_, Problem<Stale>>(())
    };
    // SAFETY: null.
    unsafe { error::call(ptr::null_mut(), body) }
}

/// Lends the block table of a sequence on one shard, as kernels take it.
///
/// Ownership: the registry's, until the next call that changes the sequence. Threads: the registry's. O(1).
/// Errors: `KVB_ERR_STALE`, `KVB_ERR_OUT_OF_RANGE`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_get_table(
    seqs: *const kvb_seqs,
    shard: usize,
    seq: kvb_handle,
    table: *mut *const i32,
    count: *mut usize,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (seqs, table, count) =
            unsafe { (arg::get(seqs)?, arg::place(table)?, arg::place(count)?) };
        let blocks = seqs.shard(shard)?.table(seq.get()).map_err(refused)?;
        // Ids are below 2^25, and a `BlockId` is a `u32`.
        table.write(blocks.as_ptr().cast());
        count.write(blocks.len());
        Ok::<_, Problem<Stale>>(())
    };
    // SAFETY: null.
    unsafe { error::call(ptr::null_mut(), body) }
}

const _: () = assert!(size_of::<BlockId>() == size_of::<i32>());

/// Writes the block tables of a batch of sequences on one shard to the starts of rows of `stride` entries, as kernels take them, and
/// their lengths to `lengths`. Entries behind a table stay as they are. All tables fit, or nothing is written. Nothing of them is dirty
/// then: see `kvb_seqs_get_dirty`.
///
/// Ownership: `rows` has room for `count * stride`, `lengths` for `count` or is NULL. Threads: the registry's. O(entries).
/// Errors: `KVB_ERR_STALE`, `KVB_ERR_TOO_SHORT` (a table is longer than `stride`), `KVB_ERR_OUT_OF_RANGE`.
/// NULL: an empty batch, `lengths`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_copy_tables(
    seqs: *mut kvb_seqs,
    shard: usize,
    handles: *const kvb_handle,
    count: usize,
    rows: *mut i32,
    stride: usize,
    lengths: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (seqs, handles) = unsafe { (arg::get_mut(seqs)?, arg::slice(handles, count)?) };
        let it = seqs.shard(shard)?;
        for &seq in handles {
            let needed = it.table(seq.get()).map_err(read)?.len();
            if needed > stride {
                return Err(refused(RowError::TooShort { needed, stride }));
            }
        }
        let entries = count.checked_mul(stride).ok_or(Argument(KVB_ERR_LENGTH))?;
        // SAFETY: as above. Rows are only written to, so it does not matter what C left in them.
        let rows = unsafe { arg::slice_mut(rows, entries) }?;
        // SAFETY: as above.
        let lengths = unsafe { arg::places(lengths, if lengths.is_null() { 0 } else { count }) }?;
        for (at, &seq) in handles.iter().enumerate() {
            let row = &mut rows[at * stride..][..stride];
            let copied = seqs.inner.copy_table(shard, seq.get(), row);
            let length = copied.map_err(read)?;
            if let Some(place) = lengths.get_mut(at) {
                place.write(length);
            }
        }
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Why rows were not written.
enum RowError {
    Read(ReadError),
    TooShort { needed: usize, stride: usize },
}

fn read(error: impl Into<ReadError>) -> Problem<RowError> {
    refused(RowError::Read(error.into()))
}

impl Told for RowError {
    fn status(&self) -> kvb_status {
        match self {
            Self::Read(error) => error.status(),
            Self::TooShort { .. } => KVB_ERR_TOO_SHORT,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::Read(error) => error.figures(),
            Self::TooShort { needed, stride } => Figures::needed(needed).of(stride),
        }
    }
}

impl core::fmt::Display for RowError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::TooShort { needed, stride } => {
                write!(f, "a table of {needed} entries, rows of {stride}")
            }
        }
    }
}

/// Entries of a sequence's block table on one shard that are new or others since it was copied: `*count` of them from `*first` on, up to its
/// end. A table that became shorter has none.
///
/// Threads: the registry's. O(1). Errors: `KVB_ERR_STALE`, `KVB_ERR_OUT_OF_RANGE`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_get_dirty(
    seqs: *const kvb_seqs,
    shard: usize,
    seq: kvb_handle,
    first: *mut usize,
    count: *mut usize,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (seqs, first, count) =
            unsafe { (arg::get(seqs)?, arg::place(first)?, arg::place(count)?) };
        let dirty = seqs.shard(shard)?.dirty(seq.get()).map_err(refused)?;
        first.write(dirty.start);
        count.write(dirty.len());
        Ok::<_, Problem<Stale>>(())
    };
    // SAFETY: null.
    unsafe { error::call(ptr::null_mut(), body) }
}

/// Writes the slots of `count` positions of a sequence on one shard from `first` on: `block * block_size + offset`, for a chunk of a
/// prompt for instance.
///
/// Ownership: `out` has room for `count`. Threads: the registry's. O(count). Errors: `KVB_ERR_STALE`, `KVB_ERR_BEYOND`,
/// `KVB_ERR_OUT_OF_RANGE`. NULL: no positions, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_get_slots(
    seqs: *const kvb_seqs,
    shard: usize,
    seq: kvb_handle,
    first: usize,
    count: usize,
    out: *mut i64,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (seqs, places) = unsafe { (arg::get(seqs)?, arg::places(out, count)?) };
        let end = first.checked_add(count).ok_or(Argument(KVB_ERR_LENGTH))?;
        let shards = seqs.inner.shards();
        let it = shards.get(shard).ok_or(Argument(KVB_ERR_OUT_OF_RANGE))?;
        // Nothing is written to `out` unless all of it is.
        it.slots(seq.get(), end..end, &mut [])
            .map_err(refused::<ReadError>)?;
        let read = it.slots(seq.get(), first..end, arg::zeroed(places));
        read.map_err(refused::<ReadError>)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}
