//! Who has leases, until when, and what all of them may hold together.

use alloc::vec::Vec;

use kvblock::{Leases, LeasesReport, OutOfMemory, Owner, PinError};

use super::lease::kvb_lease;
use crate::arg::{self, Answer, Argument, Versioned};
use crate::error::{self, Problem, kvb_error, plain, refused};
use crate::object;
use crate::pool::kvb_pool;
use crate::seqs::{kvb_handle, kvb_seqs};
use crate::status::{KVB_ERR_LEASE_ENDED, KVB_ERR_NO_MEMORY, KVB_ERR_OUT_OF_RANGE, kvb_status};

/// A table of leases for each shard. It keeps every lease alive until that ends, so that you need no handle of it. One thread at a time may
/// use it; several tables may share pools.
#[derive(Debug)]
pub struct kvb_leases {
    pub(crate) inner: Vec<Leases>,
}

impl kvb_leases {
    pub(crate) fn shard(&self, shard: usize) -> Result<&Leases, Argument> {
        self.inner.get(shard).ok_or(Argument(KVB_ERR_OUT_OF_RANGE))
    }
}

/// Makes a table for each shard of a registry, whose live leases hold at most `budget` references a shard together, at time 0.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_leases_destroy`; it keeps the pools. Threads: the registry's. O(shards).
/// Errors: `KVB_ERR_NO_MEMORY`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_leases_create(
    seqs: *const kvb_seqs,
    budget: usize,
    out: *mut *mut kvb_leases,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (seqs, out) = unsafe { (arg::get(seqs)?, arg::place(out)?) };
        let inner = seqs.inner.leases(budget);
        let inner = inner.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
        object::give(kvb_leases { inner }, out)
    })
}

/// Makes a table for one pool, as shard 0.
///
/// As `kvb_seqs_leases_create`, but for threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_leases_create(
    pool: *const kvb_pool,
    budget: usize,
    out: *mut *mut kvb_leases,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (pool, out) = unsafe { (arg::get(pool)?, arg::place(out)?) };
        let mut inner = Vec::new();
        let enough = inner.try_reserve_exact(1);
        enough.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
        let table = Leases::new(&pool.inner, budget);
        inner.push(table.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?);
        object::give(kvb_leases { inner }, out)
    })
}

/// Lets go of a table and ends its leases, but for those that a `kvb_lease`, an export or a swap still has. To an audit these are named by
/// a `kvb_lease`.
///
/// Threads: no other call may use it meanwhile. O(references given back). NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_leases_destroy(leases: *mut kvb_leases) {
    // SAFETY: the head of the header: made by its create function, and not destroyed before.
    drop(unsafe { object::take(leases) });
}

/// Holds what is published of a sequence on every shard until a deadline, whatever becomes of the sequence: as many blocks as on the shard
/// that has the fewest. So the next turn of a conversation finds them. `KVB_NO_DEADLINE` is never over by itself.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_lease_destroy`; with NULL only the table keeps the lease. Threads: the registry's
/// and the table's. O(blocks); allocates. Errors, after which nothing has changed on any shard: `KVB_ERR_STALE`, `KVB_ERR_OWNER_TAKEN`,
/// `KVB_ERR_ALREADY_OVER`, `KVB_ERR_OVER_BUDGET`, `KVB_ERR_TOO_MANY_REFERENCES`, `KVB_ERR_WRONG_POOL` (a table of other shards),
/// `KVB_ERR_NO_MEMORY`. NULL: `out`, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_seqs_pin(
    seqs: *const kvb_seqs,
    seq: kvb_handle,
    leases: *mut kvb_leases,
    owner: u64,
    deadline: u64,
    out: *mut *mut kvb_lease,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (seqs, leases) = unsafe { (arg::get(seqs)?, arg::get_mut(leases)?) };
        let room = object::room::<kvb_lease>()?;
        let owner = Owner::new(owner);
        let pinned = seqs
            .inner
            .pin(seq.get(), &mut leases.inner, owner, deadline);
        let inner = pinned.map_err(refused::<PinError>)?;
        // SAFETY: as above.
        if let Ok(out) = unsafe { arg::place(out) } {
            out.write(room.fill(kvb_lease { inner }));
        }
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Another handle of the lease that an owner has.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_lease_destroy`. Threads: the table's. O(shards); allocates.
/// Errors: `KVB_ERR_LEASE_ENDED` (it has none), `KVB_ERR_NO_MEMORY`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_leases_get(
    leases: *const kvb_leases,
    owner: u64,
    out: *mut *mut kvb_lease,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (leases, out) = unsafe { (arg::get(leases)?, arg::place(out)?) };
        let owner = Owner::new(owner);
        let mut inner = Vec::new();
        let enough = inner.try_reserve_exact(leases.inner.len());
        enough.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
        for table in &leases.inner {
            let lease = table.get(owner).ok_or(Argument(KVB_ERR_LEASE_ENDED))?;
            inner.push(lease.clone());
        }
        object::give(kvb_lease { inner }, out)
    })
}

/// Tells the time on all shards, and ends what is over. `*ended` is how many leases ended by it: one of a registry over several shards
/// counts once a shard. Time is any count of yours; an earlier time than the last one changes nothing.
///
/// Threads: the table's. O(1) if nothing can be over, otherwise O(leases + references given back). Errors: none but those of
/// pointers. NULL: `ended`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_leases_tick(
    leases: *mut kvb_leases,
    now: u64,
    ended: *mut usize,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be.
        let leases = unsafe { arg::get_mut(leases) }?;
        let all = leases.inner.iter_mut().map(|table| table.tick(now)).sum();
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(ended, all) };
        Ok(())
    })
}

/// References that live leases hold on a shard, at this instant; 0 if there is no such shard.
///
/// Threads: the table's. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_leases_used(leases: *const kvb_leases, shard: usize) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    let leases = unsafe { leases.as_ref() };
    let table = leases.and_then(|leases| leases.inner.get(shard));
    table.map_or(0, Leases::used)
}

/// The figures of a table of leases on one shard at one look.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_leases_report {
    /// `sizeof(kvb_leases_report)`.
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// Blocks below the limit of the pool.
    pub capacity: u64,
    /// Live leases.
    pub leases: u64,
    /// Different blocks that they hold.
    pub blocks: u64,
    /// References that they hold.
    pub references: u64,
    /// References that they may hold.
    pub budget: u64,
    /// The latest time that the table was told.
    pub now: u64,
    /// Leases whose end was noticed when it had come.
    pub expired: u64,
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_leases_report {}

impl From<&LeasesReport> for kvb_leases_report {
    fn from(report: &LeasesReport) -> Self {
        Self {
            struct_size: 0,
            reserved: 0,
            capacity: report.capacity as u64,
            leases: report.leases as u64,
            blocks: report.blocks as u64,
            references: report.references as u64,
            budget: report.budget as u64,
            now: report.now,
            expired: report.expired,
        }
    }
}

/// Reads the figures of a table on one shard.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the table's. O(max_blocks + references); allocates.
/// Errors: `KVB_ERR_STRUCT_SIZE`, `KVB_ERR_OUT_OF_RANGE`, `KVB_ERR_NO_MEMORY`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_leases_get_report(
    leases: *const kvb_leases,
    shard: usize,
    out: *mut kvb_leases_report,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (leases, out) = unsafe { (arg::get(leases)?, Answer::new(out)?) };
        let report = leases.shard(shard)?.try_report().map_err(refused)?;
        out.put(&kvb_leases_report::from(&report));
        Ok::<_, Problem<OutOfMemory>>(())
    };
    // SAFETY: null.
    unsafe { error::call(core::ptr::null_mut(), body) }
}
