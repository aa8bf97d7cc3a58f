//! The sending end.

use kvblock::{Export, ExportError, Handover, InstanceExport, NotOpen, Owner, Phase, Terms};

use crate::arg::{self, Argument, Versioned};
use crate::error::{self, kvb_error, plain, refused};
use crate::leases::{kvb_lease, kvb_leases};
use crate::namespace::kvb_namespace;
use crate::object;
use crate::prompt;
use crate::seqs::{kvb_handle, kvb_seqs};
use crate::status::{KVB_ERR_INVALID, KVB_ERR_OUT_OF_RANGE, kvb_status};

/// Somebody else gets the content too; the sequence goes on here.
pub const KVB_HANDOVER_COPY: u32 = 0;
/// The sequence itself is to go on elsewhere. Meanwhile it has one owner: it does not grow here unless the move is aborted, and not there
/// before the move is committed.
pub const KVB_HANDOVER_MOVE: u32 = 1;

/// It can be read; no import of this process does.
pub const KVB_PHASE_OFFERED: u32 = 0;
/// An import reads it.
pub const KVB_PHASE_LINKED: u32 = 1;
/// The other side has it.
pub const KVB_PHASE_COMMITTED: u32 = 2;
/// It is over, and the source keeps the sequence.
pub const KVB_PHASE_ABORTED: u32 = 3;

/// Under which terms blocks are offered.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_offer {
    /// `sizeof(kvb_offer)`.
    pub struct_size: u32,
    /// `KVB_HANDOVER_*`.
    pub handover: u32,
    /// For whom the blocks are held, a number of yours: an owner has at most one live lease of a table.
    pub owner: u64,
    /// Until when, in the time that the leases are told; or `KVB_NO_DEADLINE`. What is read later does not count.
    pub deadline: u64,
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_offer {}

impl kvb_offer {
    const fn read(&self) -> Result<Terms, Argument> {
        let owner = Owner::new(self.owner);
        match self.handover {
            KVB_HANDOVER_COPY => Ok(Terms::copy(owner, self.deadline)),
            KVB_HANDOVER_MOVE => Ok(Terms::moving(owner, self.deadline)),
            _ => Err(Argument(KVB_ERR_INVALID)),
        }
    }
}

/// The computed blocks of a sequence on every shard, offered to be read. Any thread may use it. A lease holds the blocks until the last
/// answer of the import that reads them, at the latest until its end.
#[derive(Debug)]
pub struct kvb_export {
    pub(crate) inner: InstanceExport,
}

/// Offers what is computed of a sequence to be read, on every shard or on none: leases hold these blocks, whatever becomes of the sequence.
/// With `KVB_HANDOVER_MOVE` the sequence gets no positions here, and can't be shortened, until that is aborted; releasing it aborts; when
/// the other side has committed, release it here. `space` is the namespace that it was admitted in.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_export_destroy`. Threads: the registry's and the leases'. O(blocks); allocates.
/// Errors, after which nothing has changed: `KVB_ERR_STALE`, `KVB_ERR_LOADING`, `KVB_ERR_UNCOMMITTED`, `KVB_ERR_LEAVING`, `KVB_ERR_MOVED`,
/// `KVB_ERR_COPY_PENDING`, `KVB_ERR_OTHER_NAMESPACE`, `KVB_ERR_OWNER_TAKEN`, `KVB_ERR_ALREADY_OVER`, `KVB_ERR_OVER_BUDGET`,
/// `KVB_ERR_TOO_MANY_REFERENCES`, `KVB_ERR_SHORTFALL` (a block for the copy of a shared end), `KVB_ERR_WRONG_POOL` (leases of other
/// shards), `KVB_ERR_INVALID`, `KVB_ERR_NO_MEMORY`. NULL: `space` is the bare model's; `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_export(
    seqs: *mut kvb_seqs,
    seq: kvb_handle,
    space: *const kvb_namespace,
    leases: *mut kvb_leases,
    offer: *const kvb_offer,
    out: *mut *mut kvb_export,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (seqs, leases) = unsafe { (arg::get_mut(seqs)?, arg::get_mut(leases)?) };
        // SAFETY: as above.
        let (offer, out) = unsafe { (arg::versioned(offer)?, arg::place(out)?) };
        // SAFETY: as above.
        let space = unsafe { prompt::space(space) };
        let room = object::room::<kvb_export>()?;
        let terms = offer.read()?;
        let inner = seqs
            .inner
            .export(seq.get(), space, &mut leases.inner, &terms)
            .map_err(refused::<ExportError>)?;
        out.write(room.fill(kvb_export { inner }));
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Shards that it offers blocks of: one for ranks in lockstep.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_export_shards(export: *const kvb_export) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { export.as_ref() }.map_or(0, |export| export.inner.shards().len())
}

/// Lends the blocks to be read on one shard, in the order of the table.
///
/// Ownership: the list is the export's, until it is destroyed; the blocks are held while its lease lives. Threads: any. O(1).
/// Errors: `KVB_ERR_OUT_OF_RANGE`. NULL: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_export_ids(
    export: *const kvb_export,
    shard: usize,
    ids: *mut *const u32,
    count: *mut usize,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (export, ids, count) =
            unsafe { (arg::get(export)?, arg::place(ids)?, arg::place(count)?) };
        let it = export.inner.shards().get(shard);
        let blocks = it.ok_or(Argument(KVB_ERR_OUT_OF_RANGE))?.ids();
        ids.write(blocks.as_ptr().cast());
        count.write(blocks.len());
        Ok(())
    })
}

/// Computed positions in the blocks.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_export_positions(export: *const kvb_export) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { export.as_ref() }.map_or(0, |export| export.inner.positions())
}

/// Whether the sequence goes with them: `KVB_HANDOVER_*`.
///
/// Threads: any. O(1). NULL: `KVB_HANDOVER_COPY`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_export_handover(export: *const kvb_export) -> u32 {
    // SAFETY: the head of the header says what pointers must be.
    let handover = unsafe { export.as_ref() }.map(|export| export.inner.handover());
    match handover {
        Some(Handover::Move) => KVB_HANDOVER_MOVE,
        Some(Handover::Copy) | None => KVB_HANDOVER_COPY,
    }
}

/// How far it is at this instant: `KVB_PHASE_*`.
///
/// Threads: any. O(1). NULL: `KVB_PHASE_ABORTED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_export_phase(export: *const kvb_export) -> u32 {
    // SAFETY: the head of the header says what pointers must be.
    let phase = unsafe { export.as_ref() }.map(|export| export.inner.phase());
    match phase {
        Some(Phase::Offered) => KVB_PHASE_OFFERED,
        Some(Phase::Linked) => KVB_PHASE_LINKED,
        Some(Phase::Committed) => KVB_PHASE_COMMITTED,
        _ => KVB_PHASE_ABORTED,
    }
}

/// A handle of the lease that holds the blocks meanwhile, to look at its end or to extend it.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_lease_destroy`. Threads: any. O(shards); allocates.
/// Errors: `KVB_ERR_NO_MEMORY`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_export_lease(
    export: *const kvb_export,
    out: *mut *mut kvb_lease,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (export, out) = unsafe { (arg::get(export)?, arg::place(out)?) };
        let inner = object::handles(export.inner.shards().iter().map(Export::lease))?;
        object::give(kvb_lease { inner }, out)
    })
}

/// Calls it off on every shard: the source keeps the sequence. If nobody reads the blocks they are given back at once, otherwise with the
/// reader's last answer.
///
/// Threads: any. O(blocks). Errors: `KVB_ERR_COMMITTED`, `KVB_ERR_ABORTED`: it was over before. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_export_abort(
    export: *const kvb_export,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be.
        let export = unsafe { arg::get(export) }?;
        export.inner.abort().map_err(refused::<NotOpen>)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// A reader outside of this process has all of every shard, and goes on with the sequence if that was to be moved: gives the blocks back.
/// What an import reads is committed by its registry instead.
///
/// Threads: any. O(blocks). Errors: `KVB_ERR_COMMITTED`, `KVB_ERR_ABORTED`: it was over before; `KVB_ERR_LINKED`: an import reads it;
/// `KVB_ERR_LEASE_ENDED`: what was read may have been anything, and this call aborts it. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_export_finish(
    export: *const kvb_export,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be.
        let export = unsafe { arg::get(export) }?;
        export.inner.finish().map_err(refused::<NotOpen>)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Lets go of an export. It stays what it is: to end it, call it off or finish it.
///
/// Threads: no other call may use it meanwhile. NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_export_destroy(export: *mut kvb_export) {
    // SAFETY: the head of the header: made by `kvb_seqs_export`, and not destroyed before.
    drop(unsafe { object::take(export) });
}
