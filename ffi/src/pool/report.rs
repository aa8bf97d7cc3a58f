//! The figures of one shard.

use core::ffi::c_char;
use core::fmt::Write;

use kvblock::PoolReport;

use super::kvb_pool;
use crate::arg::{self, Answer, Versioned};
use crate::error::plain;
use crate::status::kvb_status;
use crate::text::Buffer;

/// The figures of one shard at one look.
///
/// `capacity = online + draining = free + idle + held + quarantined`, `max_blocks = capacity + offline`, and `available = free + idle -
/// reserved`: exact at rest and after every operation of a single thread. While other threads work, each block is counted once, in the
/// state in which it was seen.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_pool_report {
    /// `sizeof(kvb_pool_report)`.
    pub struct_size: u32,
    /// Which shard.
    pub shard: u32,
    /// Token positions of a block.
    pub block_size: u64,
    /// Blocks that there is bookkeeping for.
    pub max_blocks: u64,
    /// Blocks in service: below the limit, or draining.
    pub capacity: u64,
    /// Blocks below the limit: what can be promised at most.
    pub online: u64,
    /// Blocks at or above the limit that are still in service: held, or to be collected by the next
    /// `shrink`.
    pub draining: u64,
    /// Blocks that are not in service.
    pub offline: u64,
    /// Blocks that hold nothing.
    pub free: u64,
    /// Published blocks without a holder.
    pub idle: u64,
    /// Blocks with a holder, shared ones once.
    pub held: u64,
    /// Blocks that only a fence holds.
    pub quarantined: u64,
    /// References to held blocks beyond the first of each.
    pub shared_references: u64,
    /// Blocks promised and not taken.
    pub reserved: u64,
    /// Free and idle blocks promised to nobody.
    pub available: u64,
    /// Blocks found.
    pub hits: u64,
    /// Blocks looked up and not found.
    pub misses: u64,
    /// Blocks that became findable.
    pub stored: u64,
    /// Blocks published whose content already was findable.
    pub duplicates: u64,
    /// Times publishing stopped because a duplicate could not be paid.
    pub unpaid: u64,
    /// Times publishing stopped because the key's buckets were full.
    pub declined: u64,
    /// Idle blocks that were taken or evicted.
    pub reclaims: u64,
    /// Tokens that were sent back to the tail of the order.
    pub second_chances: u64,
    /// Searches of all blocks for want of a token.
    pub sweeps: u64,
    /// Refusals that waiting cannot help.
    pub refused_never: u64,
    /// Refusals for now.
    pub refused_shortfall: u64,
    /// Bytes of all arrays of the pool.
    pub memory_bytes: u64,
    /// Bytes of them that hold tokens or digests.
    pub content_bytes: u64,
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_pool_report {}

impl From<&PoolReport> for kvb_pool_report {
    fn from(report: &PoolReport) -> Self {
        Self {
            struct_size: 0,
            shard: report.shard.get(),
            block_size: report.block_size as u64,
            max_blocks: report.max_blocks as u64,
            capacity: report.capacity as u64,
            online: report.online as u64,
            draining: report.draining as u64,
            offline: report.offline as u64,
            free: report.free as u64,
            idle: report.idle as u64,
            held: report.held as u64,
            quarantined: report.quarantined as u64,
            shared_references: report.shared_references,
            reserved: report.reserved as u64,
            available: report.available as u64,
            hits: report.hits,
            misses: report.misses,
            stored: report.stored,
            duplicates: report.duplicates,
            unpaid: report.unpaid,
            declined: report.declined,
            reclaims: report.reclaims,
            second_chances: report.second_chances,
            sweeps: report.sweeps,
            refused_never: report.refused_never,
            refused_shortfall: report.refused_shortfall,
            memory_bytes: report.memory_bytes as u64,
            content_bytes: report.content_bytes as u64,
        }
    }
}

/// Reads the figures of a shard.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: any. O(max_blocks), no allocation.
/// Errors: `KVB_ERR_STRUCT_SIZE`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_get_report(
    pool: *const kvb_pool,
    out: *mut kvb_pool_report,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (pool, out) = unsafe { (arg::get(pool)?, Answer::new(out)?) };
        out.put(&kvb_pool_report::from(&pool.inner.report()));
        Ok(())
    })
}

/// Writes the figures of a shard for a person to read, as UTF-8 with a zero at its end, into `capacity` bytes. `*length` is what all of
/// it takes without the zero: where that is not below `capacity` the text was cut off.
///
/// Threads: any. O(max_blocks), no allocation. Errors: none but those of pointers. NULL: `text` if `capacity` is 0; `length`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_pool_report_text(
    pool: *const kvb_pool,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be.
        let pool = unsafe { arg::get(pool) }?;
        // SAFETY: as above.
        let mut buffer = unsafe { Buffer::of(text, capacity) }?;
        // A buffer takes everything.
        let _ = write!(buffer, "{}", pool.inner.report());
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(length, buffer.finish()) };
        Ok(())
    })
}
