//! The receiving end: sequences whose first positions come from elsewhere.

use alloc::vec::Vec;
use core::ptr;

use kvblock::{ImportError, InstanceIncoming, KvFormat, Loading, MAX_WRITERS, Stale};

use super::export::kvb_export;
use super::flights::kvb_flights;
use super::writers::kvb_import;
use crate::arg::{self, Answer, Argument, Versioned};
use crate::error::{self, Problem, kvb_error, refused};
use crate::format::kvb_format;
use crate::object;
use crate::seqs::{ReadAdmit, kvb_admit, kvb_admitted, kvb_handle, kvb_seqs};
use crate::status::{KVB_ERR_NO_MEMORY, kvb_status};

/// Most writers of one transfer.
pub const KVB_MAX_WRITERS: usize = 63;

const _: () = assert!(KVB_MAX_WRITERS == MAX_WRITERS);

/// What is to come for a sequence, on every shard.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_incoming {
    /// `sizeof(kvb_incoming)`.
    pub struct_size: u32,
    /// Who fills the blocks of each shard: from 1 to `KVB_MAX_WRITERS`.
    pub writers: u32,
    /// Positions from the start that are stored elsewhere. What is found here of them does not come. 0 with a source: all that it offers.
    pub positions: usize,
    /// The export of this process that is read, or NULL: something outside of it is.
    pub source: *const kvb_export,
    /// How the content is laid out there: NULL, or one for each shard. A source knows it.
    pub formats: *const *const kvb_format,
    /// How many: 0, or one for each shard.
    pub format_count: usize,
    /// Where the bytes under way are counted, or NULL. How blocks are laid out must be known then, here or there.
    pub flights: *const kvb_flights,
}

// SAFETY: integers and pointers.
unsafe impl Versioned for kvb_incoming {}

/// Copies of formats, as the library takes them.
///
/// # Safety
/// * `count` pointers, each null or to a format.
unsafe fn copies(
    formats: *const *const kvb_format,
    count: usize,
) -> Result<Vec<KvFormat>, Argument> {
    // SAFETY: this function's contract.
    let formats = unsafe { arg::slice(formats, count) }?;
    let mut copies = Vec::new();
    let enough = copies.try_reserve_exact(formats.len());
    enough.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
    for &format in formats {
        // SAFETY: this function's contract.
        copies.push(unsafe { arg::get(format) }?.copy()?);
    }
    Ok(copies)
}

/// Admits a sequence whose first positions come from elsewhere, on every shard or on none: as `kvb_seqs_admit`, and what is not found of
/// them is filled by the writers of the import. What has arrived without a gap on every shard is computed, and published, when
/// `kvb_seqs_loading` is asked. The tokens of the request are your word: they must be those of the content that comes. The sequence can be
/// released or preempted at any time; its blocks stay held until their writers have answered. If it comes from the export of a move it
/// gets no further positions before that is committed.
///
/// Ownership: nothing that `request` and `incoming` point to is kept; `*import` is the caller's, to be given to `kvb_import_destroy`.
/// Threads: the registry's. O(blocks); allocates. Errors, after which nothing has changed but that a refusal is counted: those of
/// `kvb_seqs_admit`; `KVB_ERR_BEYOND` (more than the request has tokens, or the source offers), `KVB_ERR_TOO_MANY_WRITERS`,
/// `KVB_ERR_INCOMPATIBLE`, `KVB_ERR_OTHER_NAMESPACE`, `KVB_ERR_SOURCE_TAKEN`, `KVB_ERR_UNKNOWN_FORMAT` and `KVB_ERR_TOO_MANY_BYTES` (with
/// flights). NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_import(
    seqs: *mut kvb_seqs,
    request: *const kvb_admit,
    incoming: *const kvb_incoming,
    out: *mut kvb_admitted,
    import: *mut *mut kvb_import,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (seqs, request) = unsafe { (arg::get_mut(seqs)?, ReadAdmit::new(request)?) };
        // SAFETY: as above.
        let (given, out) = unsafe { (arg::versioned(incoming)?, arg::place(out)?) };
        // SAFETY: as above.
        let import = unsafe { arg::place(import) }?;
        // SAFETY: as above, for what the struct points to.
        let formats = unsafe { copies(given.formats, given.format_count) }?;
        // SAFETY: as above.
        let (source, flights) = unsafe { (given.source.as_ref(), given.flights.as_ref()) };
        let writers = given.writers as usize;
        let mut incoming = match source {
            Some(source) => InstanceIncoming::from_export(&source.inner, writers),
            None => InstanceIncoming::new(given.positions, writers),
        };
        if given.positions > 0 {
            incoming.positions = given.positions;
        }
        incoming = incoming.formats(&formats);
        if let Some(flights) = flights {
            incoming = incoming.flights(&flights.inner);
        }
        let room = object::room::<kvb_import>()?;
        let imported = seqs
            .inner
            .import(&request.lend(), &incoming)
            .map_err(refused::<ImportError>)?;
        out.write(kvb_admitted {
            seq: kvb_handle::of(imported.handle),
            hit: imported.hit,
            fresh: imported.fresh,
        });
        let inner = imported.imports;
        import.write(room.fill(kvb_import { inner }));
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// How far the load of a sequence is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_loading {
    /// `sizeof(kvb_loading)`.
    pub struct_size: u32,
    /// 1 if something did not come, or was bad: no more than `arrived` will. If more is computed already, the source found that bad later:
    /// invalidate the block behind `arrived`.
    pub failed: u32,
    /// 1 if the source of a move called it off, or found its content bad.
    pub aborted: u32,
    /// 0.
    pub reserved: u32,
    /// Positions from the start that are there. You compute the others, when nothing is left to come.
    pub arrived: u64,
    /// Blocks that some writer may still touch, over all shards.
    pub left: u64,
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_loading {}

impl From<Loading> for kvb_loading {
    fn from(loading: Loading) -> Self {
        Self {
            struct_size: 0,
            failed: loading.failed.into(),
            aborted: loading.aborted.into(),
            reserved: 0,
            arrived: loading.arrived as u64,
            left: loading.left as u64,
        }
    }
}

/// How far the load of a sequence is. What has arrived on every shard is computed, and published, by this call.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the registry's. O(blocks that are not counted yet).
/// Errors: `KVB_ERR_STALE`, `KVB_ERR_STRUCT_SIZE`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_loading(
    seqs: *mut kvb_seqs,
    seq: kvb_handle,
    out: *mut kvb_loading,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (seqs, out) = unsafe { (arg::get_mut(seqs)?, Answer::new(out)?) };
        let loading = seqs.inner.loading(seq.get()).map_err(refused)?;
        out.put(&loading.into());
        Ok::<_, Problem<Stale>>(())
    };
    // SAFETY: null.
    unsafe { error::call(ptr::null_mut(), body) }
}

/// Takes over a sequence that was being moved here: everything has arrived on every shard, the source may not go on with it any more, and
/// this registry does. Without a move it only says whether something is still to come, or failed and was not computed here.
///
/// Threads: the registry's. O(blocks that are not counted yet). Errors: `KVB_ERR_STALE`; `KVB_ERR_NOT_ARRIVED`: wait, or release it
/// (without a move you may as well compute the rest), `error->needed` positions of which `available` are there and `limit` blocks may
/// still be touched; `KVB_ERR_MOVE_ABORTED`: the source keeps it, release it here. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_commit(
    seqs: *mut kvb_seqs,
    seq: kvb_handle,
    error: *mut kvb_error,
) -> kvb_status {
    let change = |seqs: &mut kvb_seqs| seqs.inner.commit(seq.get());
    // SAFETY: the head of the header says what pointers must be.
    unsafe { error::change(seqs, error, change) }
}
