//! The metrics of a table of leases.

use super::family::Family;
use super::family::Samples::One;
use crate::report::LeasesReport;

pub(super) const FAMILIES: &[Family<LeasesReport>] = &[
    Family::gauge(
        "kvblock_leases",
        "Leases that live.",
        One(|r| r.leases as u64),
    ),
    Family::gauge(
        "kvblock_leases_blocks",
        "Different blocks that leases hold.",
        One(|r| r.blocks as u64),
    ),
    Family::gauge(
        "kvblock_leases_capacity_blocks",
        "Blocks of the pool.",
        One(|r| r.capacity as u64),
    ),
    Family::gauge(
        "kvblock_leases_references",
        "References that leases hold: a block once for each lease.",
        One(|r| r.references as u64),
    ),
    Family::gauge(
        "kvblock_leases_budget_references",
        "References that leases may hold.",
        One(|r| r.budget as u64),
    ),
    Family::gauge(
        "kvblock_leases_time",
        "The latest time that the table was told, in the unit of the engine.",
        One(|r| r.now),
    ),
    Family::counter(
        "kvblock_leases_expired_total",
        "Leases that ended because their end had come and was noticed.",
        One(|r| r.expired),
    ),
];
