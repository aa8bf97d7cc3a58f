//! One lease over all shards.

use alloc::vec::Vec;

use kvblock::{BlockId, Lease};

use crate::arg::{self, Argument};
use crate::error::plain;
use crate::object;
use crate::status::{KVB_ERR_LEASE_ENDED, KVB_ERR_OUT_OF_RANGE, kvb_status};

/// A handle of a lease: references on blocks, down from the root, for an owner and until a deadline. Any thread may use it, and there may
/// be several of one lease. The lease ends by `kvb_lease_end`, when its deadline has come and somebody notices
/// (`kvb_leases_tick`, `kvb_lease_check`), or with its last handle, of which its table has one. Over on one shard is over on all.
#[derive(Debug)]
pub struct kvb_lease {
    /// One for each shard.
    pub(crate) inner: Vec<Lease>,
}

/// The deadline of a lease that is over only when somebody ends it.
pub const KVB_NO_DEADLINE: u64 = u64::MAX;

const _: () = assert!(KVB_NO_DEADLINE == Lease::NO_DEADLINE);

const ENDED: Argument = Argument(KVB_ERR_LEASE_ENDED);

impl kvb_lease {
    /// When it will be over.
    fn deadline(&self) -> Option<u64> {
        let first = self.inner.first()?.deadline();
        self.inner
            .iter()
            .fold(first, |least, lease| Some(least?.min(lease.deadline()?)))
    }

    /// Ends it on every shard. Whether it lived: of several who end it, one hears so, by the first shard.
    fn end(&self) -> bool {
        let mut ended = self.inner.iter().map(|lease| lease.end().is_ok());
        let lived = ended.next() == Some(true);
        ended.for_each(drop);
        lived
    }

    /// Does something on every shard; if it is over on one, ends it on all.
    fn on_all<E>(&self, each: impl Fn(&Lease) -> Result<(), E>) -> Result<(), Argument> {
        let lives = |all, lease: &Lease| each(lease).is_ok() && all;
        if self.inner.iter().fold(true, lives) {
            return Ok(());
        }
        self.end();
        Err(ENDED)
    }
}

/// Lets go of one handle. That ends the lease only if there is no other handle and its table is gone.
///
/// Threads: no other call may use this handle meanwhile. NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_lease_destroy(lease: *mut kvb_lease) {
    // SAFETY: the head of the header: made by a function of this library, and not destroyed before.
    drop(unsafe { object::take(lease) });
}

/// Whose it is.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_lease_owner(lease: *const kvb_lease) -> u64 {
    // SAFETY: the head of the header says what pointers must be.
    let lease = unsafe { lease.as_ref() };
    let first = lease.and_then(|lease| lease.inner.first());
    first.map_or(0, |lease| lease.owner().get())
}

/// When it will be over, at this instant; 0 if it is. Its end may have come unnoticed: see `kvb_lease_check`.
///
/// Threads: any. O(shards). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_lease_deadline(lease: *const kvb_lease) -> u64 {
    // SAFETY: the head of the header says what pointers must be.
    let lease = unsafe { lease.as_ref() };
    lease.and_then(kvb_lease::deadline).unwrap_or(0)
}

/// Shards that it holds blocks of.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_lease_shards(lease: *const kvb_lease) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { lease.as_ref() }.map_or(0, |lease| lease.inner.len())
}

/// Lends its blocks on one shard, in the order of the table. They are its own while it lives; later these are only numbers.
///
/// Ownership: the list is the handle's, until that is destroyed. Threads: any. O(1). Errors: `KVB_ERR_OUT_OF_RANGE`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_lease_ids(
    lease: *const kvb_lease,
    shard: usize,
    ids: *mut *const u32,
    count: *mut usize,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (lease, ids, count) =
            unsafe { (arg::get(lease)?, arg::place(ids)?, arg::place(count)?) };
        let it = lease.inner.get(shard);
        let blocks: &[BlockId] = it.ok_or(Argument(KVB_ERR_OUT_OF_RANGE))?.ids();
        ids.write(blocks.as_ptr().cast());
        count.write(blocks.len());
        Ok(())
    })
}

/// References that it holds on one shard while it lives, and takes of the budget: on the blocks of the table, on the findable copy of each
/// duplicate, and on the head that the chain was split from. 0 if there is no such shard.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_lease_references(lease: *const kvb_lease, shard: usize) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    let lease = unsafe { lease.as_ref() };
    let it = lease.and_then(|lease| lease.inner.get(shard));
    it.map_or(0, Lease::references)
}

/// Lets it live until a later time. If it would live longer anyway it stays as it is. Until its end is noticed it can be extended.
///
/// Threads: any. O(shards). Errors: `KVB_ERR_LEASE_ENDED`, too late. NULL: `KVB_ERR_NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_lease_extend(lease: *const kvb_lease, deadline: u64) -> kvb_status {
    // SAFETY: the head of the header says what pointers must be.
    plain(|| unsafe { arg::get(lease) }?.on_all(|lease| lease.extend(deadline)))
}

/// Asks before a use whether it lives at `now`. If its end has come it is ended here.
///
/// Threads: any. O(shards), and what it gives back. Errors: `KVB_ERR_LEASE_ENDED`. NULL: `KVB_ERR_NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_lease_check(lease: *const kvb_lease, now: u64) -> kvb_status {
    // SAFETY: the head of the header says what pointers must be.
    plain(|| unsafe { arg::get(lease) }?.on_all(|lease| lease.check(now)))
}

/// Ends it now and gives its blocks back, the tail first. The handle stays, to be destroyed.
///
/// Threads: any. O(references). Errors: `KVB_ERR_LEASE_ENDED`: it was over before, and nothing is given back twice. NULL: `KVB_ERR_NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_lease_end(lease: *const kvb_lease) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be.
        let lease = unsafe { arg::get(lease) }?;
        if lease.end() { Ok(()) } else { Err(ENDED) }
    })
}
