//! Names of sequences.

use kvblock::Handle;

use super::kvb_seqs;
use crate::arg;
use crate::error::plain;
use crate::status::{KVB_ERR_STALE, kvb_status};

/// Names one sequence of one registry, from its admission to its end: a slot and the epoch of its use. A late call for an earlier
/// sequence of the same slot is answered `KVB_ERR_STALE`; any bits may be given. Give pools different `shard` names: then handles of
/// different pools differ, too.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct kvb_handle {
    /// `epoch << 24 | slot`. All ones name no sequence.
    pub bits: u64,
}

impl kvb_handle {
    pub(crate) const fn of(handle: Handle) -> Self {
        Self {
            bits: handle.to_bits(),
        }
    }

    pub(crate) const fn get(self) -> Handle {
        Handle::from_bits(self.bits)
    }

    /// The same list, as the library knows it.
    pub(crate) const fn all(handles: &[Self]) -> &[Handle] {
        let handles: *const [Self] = handles;
        // SAFETY: both are a `u64` and nothing else, whose every value is valid.
        unsafe { &*(handles as *const [Handle]) }
    }

    /// The same list to be written to, as the library knows it.
    pub(crate) const fn all_mut(handles: &mut [Self]) -> &mut [Handle] {
        let handles: *mut [Self] = handles;
        // SAFETY: as above.
        unsafe { &mut *(handles as *mut [Handle]) }
    }
}

const _: () = assert!(size_of::<kvb_handle>() == size_of::<Handle>());

/// The slot of a handle: below the registry's `max_sequences`, so an index for what you keep beside it.
///
/// Threads: any. O(1).
#[unsafe(no_mangle)]
pub extern "C" fn kvb_handle_slot(handle: kvb_handle) -> u32 {
    u32::try_from(handle.get().slot()).unwrap_or(u32::MAX)
}

/// The epoch of a handle: which sequence of the pool it was, counted through all of its registries.
///
/// Threads: any. O(1).
#[unsafe(no_mangle)]
pub extern "C" fn kvb_handle_epoch(handle: kvb_handle) -> u64 {
    handle.get().epoch()
}

/// Finds the latest sequence of each label. A label without one gets a handle that names no sequence, and the call answers
/// `KVB_ERR_STALE` after it has looked for all of them.
///
/// Ownership: `out` has room for `count`. Threads: the registry's. O(1) a label, no allocation. Errors: `KVB_ERR_STALE`.
/// NULL: lists of 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_find(
    seqs: *const kvb_seqs,
    labels: *const u64,
    count: usize,
    out: *mut kvb_handle,
) -> kvb_status {
    let mut missing = false;
    let status = plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (seqs, labels) = unsafe { (arg::get(seqs)?, arg::slice(labels, count)?) };
        // SAFETY: as above.
        let out = unsafe { arg::places(out, count) }?;
        for (&label, place) in labels.iter().zip(out) {
            let latest = seqs.inner.labelled(label).next();
            missing |= latest.is_none();
            place.write(kvb_handle::of(latest.unwrap_or(Handle::NONE)));
        }
        Ok(())
    });
    if missing { KVB_ERR_STALE } else { status }
}

/// Lists the sequences that live, by slot, or those of one label, the latest first: the first `capacity` of them. `*count` is how many
/// there are. `label` points to the label, or is NULL for all.
///
/// Ownership: `out` has room for `capacity`. Threads: the registry's. O(max_sequences), or O(sequences of the label); no allocation.
/// Errors: none but those of pointers. NULL: `label`; `out` if `capacity` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_list(
    seqs: *const kvb_seqs,
    label: *const u64,
    out: *mut kvb_handle,
    capacity: usize,
    count: *mut usize,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (seqs, count) = unsafe { (arg::get(seqs)?, arg::place(count)?) };
        // SAFETY: as above.
        let out = unsafe { arg::places(out, capacity) }?;
        // SAFETY: as above.
        let listed = match unsafe { label.as_ref() } {
            Some(&label) => fill(out, seqs.inner.labelled(label)),
            None => fill(out, seqs.inner.handles()),
        };
        count.write(listed);
        Ok(())
    })
}

/// Writes as many as there is room for, and counts all.
fn fill(
    out: &mut [core::mem::MaybeUninit<kvb_handle>],
    handles: impl Iterator<Item = Handle>,
) -> usize {
    let mut places = out.iter_mut();
    handles
        .inspect(|&handle| {
            if let Some(place) = places.next() {
                place.write(kvb_handle::of(handle));
            }
        })
        .count()
}
