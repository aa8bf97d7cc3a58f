//! The metrics of a shard.

use super::family::Family;
use super::family::Samples::{By, One};
use crate::report::PoolReport;

pub(super) const FAMILIES: &[Family<PoolReport>] = &[
    Family::gauge(
        "kvblock_pool_blocks",
        "Blocks in service, shared ones once, by state; the states come to the capacity.",
        By(
            "state",
            &[
                ("free", |r| r.free as u64),
                ("idle", |r| r.idle as u64),
                ("held", |r| r.held as u64),
                ("quarantined", |r| r.quarantined as u64),
            ],
        ),
    ),
    Family::gauge(
        "kvblock_pool_capacity_blocks",
        "Blocks in service: below the limit, or draining.",
        One(|r| r.capacity as u64),
    ),
    Family::gauge(
        "kvblock_pool_max_blocks",
        "Blocks that there is bookkeeping for.",
        One(|r| r.max_blocks as u64),
    ),
    Family::gauge(
        "kvblock_pool_online_blocks",
        "Blocks below the limit.",
        One(|r| r.online as u64),
    ),
    Family::gauge(
        "kvblock_pool_draining_blocks",
        "Blocks above the limit that are still in service.",
        One(|r| r.draining as u64),
    ),
    Family::gauge(
        "kvblock_pool_offline_blocks",
        "Blocks that are not in service.",
        One(|r| r.offline as u64),
    ),
    Family::gauge(
        "kvblock_pool_reserved_blocks",
        "Blocks promised and not taken.",
        One(|r| r.reserved as u64),
    ),
    Family::gauge(
        "kvblock_pool_available_blocks",
        "Free and idle blocks promised to nobody.",
        One(|r| r.available as u64),
    ),
    Family::gauge(
        "kvblock_pool_shared_references",
        "References to held blocks beyond the first of each.",
        One(|r| r.shared_references),
    ),
    Family::gauge(
        "kvblock_pool_block_size_positions",
        "Token positions of a block.",
        One(|r| r.block_size as u64),
    ),
    Family::counter(
        "kvblock_pool_lookups_total",
        "Blocks looked up, by whether they were found.",
        By("result", &[("hit", |r| r.hits), ("miss", |r| r.misses)]),
    ),
    Family::counter(
        "kvblock_pool_stored_blocks_total",
        "Blocks that became findable.",
        One(|r| r.stored),
    ),
    Family::counter(
        "kvblock_pool_duplicate_blocks_total",
        "Blocks published whose content already was findable.",
        One(|r| r.duplicates),
    ),
    Family::counter(
        "kvblock_pool_unpaid_duplicates_total",
        "Times publishing stopped because a duplicate could not be paid.",
        One(|r| r.unpaid),
    ),
    Family::counter(
        "kvblock_pool_declined_publishes_total",
        "Times publishing stopped because the key's buckets were full.",
        One(|r| r.declined),
    ),
    Family::counter(
        "kvblock_pool_reclaimed_blocks_total",
        "Idle blocks that were taken or evicted.",
        One(|r| r.reclaims),
    ),
    Family::counter(
        "kvblock_pool_second_chances_total",
        "Tokens that were sent back to the tail of the order.",
        One(|r| r.second_chances),
    ),
    Family::counter(
        "kvblock_pool_sweeps_total",
        "Searches of all blocks for want of a token.",
        One(|r| r.sweeps),
    ),
    Family::counter(
        "kvblock_pool_refusals_total",
        "Refused promises, by whether waiting can help (shortfall) or not (never).",
        By(
            "reason",
            &[
                ("never", |r| r.refused_never),
                ("shortfall", |r| r.refused_shortfall),
            ],
        ),
    ),
    Family::gauge(
        "kvblock_pool_memory_bytes",
        "Bytes of all arrays of the pool, in the host's memory.",
        One(|r| r.memory_bytes as u64),
    ),
    Family::gauge(
        "kvblock_pool_content_bytes",
        "Bytes of them that hold tokens or digests.",
        One(|r| r.content_bytes as u64),
    ),
];
