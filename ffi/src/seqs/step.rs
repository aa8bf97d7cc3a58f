//! Growth: a decode step for a whole batch is one call.

use alloc::vec::Vec;

use kvblock::{AppendError, BlockId, CopyTicket, Handle, InstanceStep, TableChange};

use super::handle::kvb_handle;
use super::kvb_seqs;
use crate::arg::{self, Argument};
use crate::error::{self, Figures, Told, kvb_error, plain, refused};
use crate::object;
use crate::status::{KVB_ERR_NO_MEMORY, KVB_ERR_OUT_OF_RANGE, KVB_ERR_PARTIAL, KVB_OK, kvb_status};

/// Positions to append to a sequence.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_append {
    /// Which sequence.
    pub seq: kvb_handle,
    /// How many.
    pub positions: usize,
}

/// A copy that you have to make before its destination is written to or read: the first `positions` of `src` go to `dst`, on one shard.
/// Both blocks stay held until it is given to `kvb_seqs_copied`, whatever becomes of the sequences.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_copy {
    /// The shared or published block.
    pub src: u32,
    /// The sequence's own block in its place.
    pub dst: u32,
    /// Positions from the start of the block.
    pub positions: usize,
    /// Names the copy.
    pub ticket: u64,
}

/// An entry of a block table that is new or another than before.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_change {
    /// Whose, by its place in the batch.
    pub index: usize,
    /// The entry of its table.
    pub entry: usize,
    /// What it is now.
    pub block: u32,
}

/// An item of a batch that failed, and was not changed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_failure {
    /// Its place in the batch.
    pub index: usize,
    /// Why.
    pub status: kvb_status,
    /// As in `kvb_error`.
    pub shard: u32,
    /// As in `kvb_error`.
    pub needed: u64,
    /// As in `kvb_error`.
    pub available: u64,
    /// As in `kvb_error`.
    pub limit: u64,
    /// As in `kvb_error`.
    pub quarantined: u64,
}

impl kvb_failure {
    pub(crate) fn of(index: usize, error: &impl Told) -> Self {
        let Figures {
            shard,
            needed,
            available,
            limit,
            quarantined,
            ..
        } = error.figures();
        Self {
            index,
            status: error.status(),
            shard,
            needed,
            available,
            limit,
            quarantined,
        }
    }
}

/// What you have to know and do on one shard before a step runs. Everything is the step's, until the next call that fills it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_step_lists {
    /// Where each appended position goes: `block * block_size + offset`, in the order of the batch. An item that failed has none.
    pub slots: *const i64,
    /// How many.
    pub slot_count: usize,
    /// Blocks that are new in a table, for engines that zero memory. Destinations of copies are among them: zero first.
    pub fresh: *const u32,
    /// How many.
    pub fresh_count: usize,
    /// Copies to be made before the step writes.
    pub copies: *const kvb_copy,
    /// How many.
    pub copy_count: usize,
    /// Entries of block tables that changed.
    pub changes: *const kvb_change,
    /// How many.
    pub change_count: usize,
}

/// What a step filled, for each shard. Kept by you, so that its lists are made once. One thread at a time may use it.
#[derive(Debug, Default)]
pub struct kvb_step {
    pub(crate) inner: InstanceStep,
    /// The batch, as the library takes it.
    batch: Vec<(Handle, usize)>,
    failures: Vec<kvb_failure>,
}

const _: () = {
    // The lists are lent as they are.
    assert!(size_of::<kvb_copy>() == size_of::<CopyTicket>());
    assert!(align_of::<kvb_copy>() == align_of::<CopyTicket>());
    assert!(core::mem::offset_of!(kvb_copy, src) == core::mem::offset_of!(CopyTicket, src));
    assert!(core::mem::offset_of!(kvb_copy, dst) == core::mem::offset_of!(CopyTicket, dst));
    assert!(
        core::mem::offset_of!(kvb_copy, positions) == core::mem::offset_of!(CopyTicket, positions)
    );
    assert!(size_of::<kvb_change>() == size_of::<TableChange>());
    assert!(core::mem::offset_of!(kvb_change, index) == core::mem::offset_of!(TableChange, index));
    assert!(core::mem::offset_of!(kvb_change, entry) == core::mem::offset_of!(TableChange, entry));
    assert!(core::mem::offset_of!(kvb_change, block) == core::mem::offset_of!(TableChange, block));
    assert!(size_of::<BlockId>() == size_of::<u32>());
};

impl kvb_copy {
    /// The ticket that it is.
    pub(crate) const fn ticket(&self) -> CopyTicket {
        let copy: *const Self = self;
        // SAFETY: both are `repr(C)` with the same fields, as asserted above; the last one is the ticket's name, any `u64`.
        unsafe { copy.cast::<CopyTicket>().read() }
    }
}

/// Makes a step with room for a batch of `sequences`, `positions` of them in all (256 sequences decode 256 positions a step); larger ones
/// make more when they come, and keep it.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_step_destroy`. Threads: the registry's. O(positions) a shard.
/// Errors: `KVB_ERR_NO_MEMORY`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_step_create(
    seqs: *const kvb_seqs,
    sequences: usize,
    positions: usize,
    out: *mut *mut kvb_step,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (seqs, out) = unsafe { (arg::get(seqs)?, arg::place(out)?) };
        let (it, shards) = (&seqs.inner, seqs.inner.shards().len());
        let inner = InstanceStep::with_room(shards, sequences, positions, it.block_size());
        let mut step = kvb_step {
            inner: inner.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?,
            ..kvb_step::default()
        };
        step.make_room(sequences)?;
        object::give(step, out)
    })
}

/// Gives a step back. Copies that it told of stay to be made.
///
/// Threads: no other call may use it meanwhile. NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_step_destroy(step: *mut kvb_step) {
    // SAFETY: the head of the header: made by its create function, and not destroyed before.
    drop(unsafe { object::take(step) });
}

impl kvb_step {
    fn make_room(&mut self, items: usize) -> Result<(), Argument> {
        self.batch.clear();
        self.failures.clear();
        let enough = self.batch.try_reserve(items);
        let enough = enough.and(self.failures.try_reserve(items));
        enough.map_err(|_| Argument(KVB_ERR_NO_MEMORY))
    }

    /// What a call for one sequence fills, whose failure is its own.
    pub(super) fn filled(&mut self) -> &mut InstanceStep {
        self.failures.clear();
        &mut self.inner
    }

    /// Notes who failed.
    fn finish(&mut self) -> kvb_status {
        let failures = self.inner.failures().iter();
        // There is room for one an item.
        let told = failures.map(|failure| kvb_failure::of(failure.index, &failure.error));
        self.failures.extend(told);
        if self.failures.is_empty() {
            KVB_OK
        } else {
            KVB_ERR_PARTIAL
        }
    }
}

/// Appends positions to each sequence of a batch on every shard, in this order, and tells in `step` what is to be done. Who can't have its
/// positions on one shard gets them on none, and does not touch the others: see `kvb_step_failures`.
///
/// The step is emptied first: make its copies, or keep them, before. Ownership: the batch is copied. Threads: the registry's. O(1) an item that stays within its block, O(blocks) otherwise; allocates only
/// where the step has too little room, and for sequences longer than `kvb_seqs_config.positions`.
/// Errors: `KVB_ERR_PARTIAL`, the others are done. After `KVB_ERR_NO_MEMORY` nothing is done. In `kvb_failure`: `KVB_ERR_STALE`,
/// `KVB_ERR_SHORTFALL`, `KVB_ERR_NEVER_FITS`, `KVB_ERR_CAP_REACHED`, `KVB_ERR_TOO_MANY_REFERENCES`, `KVB_ERR_LOADING`,
/// `KVB_ERR_UNCOMMITTED`, `KVB_ERR_LEAVING`, `KVB_ERR_MOVED`, `KVB_ERR_NO_MEMORY`. NULL: an empty batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_step(
    seqs: *mut kvb_seqs,
    batch: *const kvb_append,
    count: usize,
    step: *mut kvb_step,
) -> kvb_status {
    let mut done = KVB_OK;
    let status = plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (seqs, batch) = unsafe { (arg::get_mut(seqs)?, arg::slice(batch, count)?) };
        // SAFETY: as above.
        let step = unsafe { arg::get_mut(step) }?;
        step.make_room(batch.len())?;
        // Room to tell of each item that it failed; for what it gets the library asks item by item.
        let (shards, items) = (seqs.inner.shards().len(), batch.len());
        let room = step
            .inner
            .make_room(shards, items, items, seqs.inner.block_size());
        room.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
        let item = |item: &kvb_append| (item.seq.get(), item.positions);
        step.batch.extend(batch.iter().map(item));
        seqs.inner.step(&step.batch, &mut step.inner);
        done = step.finish();
        Ok(())
    });
    if status == KVB_OK { done } else { status }
}

/// Appends positions to one sequence. As `kvb_seqs_step` with a batch of one, but the failure is the call's. The step is emptied first, also
/// by a call that is refused: make its copies, or keep them, before.
///
/// NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_append(
    seqs: *mut kvb_seqs,
    seq: kvb_handle,
    positions: usize,
    step: *mut kvb_step,
    error: *mut kvb_error,
) -> kvb_status {
    let change = |seqs: &mut kvb_seqs, step: &mut kvb_step| {
        seqs.inner.append(seq.get(), positions, step.filled())
    };
    // SAFETY: the head of the header says what pointers must be; so for both.
    unsafe { error::change_both(seqs, step, error, change) }
}

/// Makes sure that a sequence has blocks for `positions` positions in all, without appending any: lookahead. As `kvb_seqs_append`.
///
/// NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_ensure(
    seqs: *mut kvb_seqs,
    seq: kvb_handle,
    positions: usize,
    step: *mut kvb_step,
    error: *mut kvb_error,
) -> kvb_status {
    let change = |seqs: &mut kvb_seqs, step: &mut kvb_step| {
        seqs.inner.ensure(seq.get(), positions, step.filled())
    };
    // SAFETY: the head of the header says what pointers must be; so for both.
    unsafe { error::change_both(seqs, step, error, change) }
}

/// How many blocks an append would take beyond what is promised to the sequence, on the shard where that is the most, or the refusal that
/// it would give. Changes nothing.
///
/// Threads: the registry's. O(1) a shard. Errors: as `kvb_seqs_append`. NULL: `blocks`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_check_append(
    seqs: *const kvb_seqs,
    seq: kvb_handle,
    positions: usize,
    blocks: *mut usize,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be.
        let seqs = unsafe { arg::get(seqs) }?;
        let taken = seqs.inner.check_append(seq.get(), positions);
        let taken = taken.map_err(refused::<AppendError>)?;
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(blocks, taken) };
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Lends what the last call that filled a step has to be done on one shard, which is below the registry's `kvb_seqs_shards`.
///
/// Ownership: the lists are the step's, until the next call that fills it. Threads: the step's. O(1).
/// Errors: `KVB_ERR_OUT_OF_RANGE`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_step_get(
    step: *const kvb_step,
    shard: usize,
    out: *mut kvb_step_lists,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (step, out) = unsafe { (arg::get(step)?, arg::place(out)?) };
        let shards = step.inner.shards();
        let it = shards.get(shard).ok_or(Argument(KVB_ERR_OUT_OF_RANGE))?;
        out.write(kvb_step_lists {
            slots: it.slots().as_ptr(),
            slot_count: it.slots().len(),
            fresh: it.fresh().as_ptr().cast(),
            fresh_count: it.fresh().len(),
            copies: it.copies().as_ptr().cast(),
            copy_count: it.copies().len(),
            changes: it.changes().as_ptr().cast(),
            change_count: it.changes().len(),
        });
        Ok(())
    })
}

/// Lends who got nothing in the last `kvb_seqs_step`, and why, in the order of the batch.
///
/// Ownership: the list is the step's, until the next call that fills it. Threads: the step's. O(1). Errors: none but those of
/// pointers. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_step_failures(
    step: *const kvb_step,
    failures: *mut *const kvb_failure,
    count: *mut usize,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (step, failures, count) =
            unsafe { (arg::get(step)?, arg::place(failures)?, arg::place(count)?) };
        failures.write(step.failures.as_ptr());
        count.write(step.failures.len());
        Ok(())
    })
}
