//! What became findable, and what ceased to be: for routers and tiers below.

use alloc::vec::Vec;

use kvblock::{Event, EventKind, Findable, OutOfMemory};

use crate::arg::{self, Argument};
use crate::error::{Problem, call, plain, refused};
use crate::object;
use crate::pool::kvb_pool;
use crate::status::{KVB_ERR_NO_EVENTS, KVB_ERR_NO_MEMORY, kvb_status};

/// The copy became findable.
pub const KVB_EVENT_STORED: u32 = 0;
/// It ceased to be: reclaimed, evicted or invalidated.
pub const KVB_EVENT_REMOVED: u32 = 1;
/// It ceased to be because its namespace was cleared.
pub const KVB_EVENT_CLEARED: u32 = 2;

/// One findable copy of some content.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_findable {
    /// Tells successive contents of one block apart.
    pub generation: u64,
    /// Its chain key.
    pub key: u64,
    /// The chain key of the block before it, if there is one.
    pub parent_key: u64,
    /// Where it is.
    pub block: u32,
    /// Blocks before it.
    pub depth: u32,
    /// 1 if it has a parent, 0 if it is a first block.
    pub has_parent: u32,
    /// 0.
    pub reserved: u32,
}

impl From<&Findable> for kvb_findable {
    fn from(copy: &Findable) -> Self {
        Self {
            generation: copy.generation,
            key: copy.key,
            parent_key: copy.parent_key.unwrap_or(0),
            block: copy.block.get(),
            depth: copy.depth,
            has_parent: u32::from(copy.parent_key.is_some()),
            reserved: 0,
        }
    }
}

/// A copy that became or ceased to be findable.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_event {
    /// Counts all events of the pool, from 0. A step of more than one is a gap.
    pub sequence: u64,
    /// `KVB_EVENT_*`.
    pub kind: u32,
    /// 0.
    pub reserved: u32,
    /// The copy.
    pub copy: kvb_findable,
}

impl From<&Event> for kvb_event {
    fn from(event: &Event) -> Self {
        Self {
            sequence: event.sequence,
            kind: match event.kind {
                EventKind::Stored => KVB_EVENT_STORED,
                EventKind::Removed => KVB_EVENT_REMOVED,
                EventKind::Cleared => KVB_EVENT_CLEARED,
            },
            reserved: 0,
            copy: (&event.copy).into(),
        }
    }
}

/// Reads up to `capacity` events in order, from the one numbered `*position` on, which becomes the number of the next one to read: a reader
/// is nothing but its position. `*lost` is how many were lost before or between them, as the ring was lapped: a snapshot makes up for them.
/// It stops before an event that another thread is still writing; so nothing may come although the stream goes on.
///
/// Threads: any. O(events read), no allocation. Errors: `KVB_ERR_NO_EVENTS`. NULL: `lost`; `out` if `capacity` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_read_events(
    pool: *const kvb_pool,
    position: *mut u64,
    out: *mut kvb_event,
    capacity: usize,
    count: *mut usize,
    lost: *mut u64,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (pool, position) = unsafe { (arg::get(pool)?, arg::get_mut(position)?) };
        // SAFETY: as above.
        let (places, count) = unsafe { (arg::places(out, capacity)?, arg::place(count)?) };
        let events = pool.inner.events();
        let mut reader = events.ok_or(Argument(KVB_ERR_NO_EVENTS))?;
        reader.seek(*position);
        let (most, mut read) = (places.len(), 0);
        let missed = reader.read_some(most, |event| {
            places[read].write((&event).into());
            read += 1;
        });
        *position = reader.position();
        count.write(read);
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(lost, missed) };
        Ok(())
    })
}

/// Every copy that was findable at some moment, to begin with or to make up for lost events. It does not change once it is made.
#[derive(Debug)]
pub struct kvb_snapshot {
    copies: Vec<kvb_findable>,
    from: u64,
    to: u64,
}

/// Makes a snapshot. Without an event ring `from` and `to` are 0.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_snapshot_destroy`. Threads: any. O(max_blocks); allocates.
/// Errors: `KVB_ERR_NO_MEMORY`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_snapshot_create(
    pool: *const kvb_pool,
    out: *mut *mut kvb_snapshot,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (pool, out) = unsafe { (arg::get(pool)?, arg::place(out)?) };
        let snapshot = pool.inner.try_snapshot().map_err(refused::<OutOfMemory>)?;
        let mut copies = Vec::new();
        let enough = copies.try_reserve_exact(snapshot.copies.len());
        enough.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
        copies.extend(snapshot.copies.iter().map(kvb_findable::from));
        let snapshot = kvb_snapshot {
            copies,
            from: snapshot.from,
            to: snapshot.to,
        };
        Ok::<_, Problem<_>>(object::give(snapshot, out)?)
    };
    // SAFETY: null.
    unsafe { call(core::ptr::null_mut(), body) }
}

/// Gives a snapshot back.
///
/// Threads: no other call may use it meanwhile. NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_snapshot_destroy(snapshot: *mut kvb_snapshot) {
    // SAFETY: the head of the header: made by its create function, and not destroyed before.
    drop(unsafe { object::take(snapshot) });
}

/// Events below this number are contained.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_snapshot_from(snapshot: *const kvb_snapshot) -> u64 {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { snapshot.as_ref() }.map_or(0, |snapshot| snapshot.from)
}

/// Events from this number on are not contained. Those between may or may not be: to apply them again, by block and generation, does no
/// harm.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_snapshot_to(snapshot: *const kvb_snapshot) -> u64 {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { snapshot.as_ref() }.map_or(0, |snapshot| snapshot.to)
}

/// Lends the copies, parents before children.
///
/// Ownership: the list is the snapshot's, until that is destroyed. Threads: any. O(1). Errors: none but those of pointers.
/// NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_snapshot_copies(
    snapshot: *const kvb_snapshot,
    copies: *mut *const kvb_findable,
    count: *mut usize,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (snapshot, copies, count) =
            unsafe { (arg::get(snapshot)?, arg::place(copies)?, arg::place(count)?) };
        copies.write(snapshot.copies.as_ptr());
        count.write(snapshot.copies.len());
        Ok(())
    })
}
