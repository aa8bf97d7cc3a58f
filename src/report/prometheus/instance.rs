//! The metrics of an instance and of its ranks.

use alloc::vec::Vec;

use super::family::Samples::One;
use super::family::{Family, Figures};
use crate::report::{InstanceReport, RankReport};

/// Its ranks and shards have samples of their own.
impl Figures for InstanceReport {
    fn figures(&self) -> Self {
        Self {
            ranks: Vec::new(),
            shards: Vec::new(),
            ..*self
        }
    }
}

pub(super) const FAMILIES: &[Family<InstanceReport>] = &[
    Family::gauge(
        "kvblock_instance_sequences",
        "Sequences that live on all shards of the instance.",
        One(|r| r.sequences as u64),
    ),
    Family::gauge(
        "kvblock_instance_sequences_max",
        "Slots for sequences.",
        One(|r| r.max_sequences as u64),
    ),
    Family::gauge(
        "kvblock_instance_free_blocks",
        "Blocks that an admission can have, on the shard that has the fewest.",
        One(|r| r.free as u64),
    ),
    Family::gauge(
        "kvblock_instance_largest_blocks",
        "Blocks that one sequence can ever have.",
        One(|r| r.largest as u64),
    ),
    Family::gauge(
        "kvblock_instance_held_blocks",
        "Blocks with a holder, on the shard that has the most of them.",
        One(|r| r.held as u64),
    ),
    Family::gauge(
        "kvblock_instance_physical_blocks",
        "What the sequences come to, shared blocks once, on the shard where that is the most.",
        One(|r| r.physical as u64),
    ),
    Family::gauge(
        "kvblock_instance_conservative_blocks",
        "What they come to, shared blocks once for each sequence, on the shard where that is the most.",
        One(|r| r.conservative as u64),
    ),
    Family::gauge(
        "kvblock_instance_loading_blocks",
        "Blocks that writers may still touch, over all shards.",
        One(|r| r.loading as u64),
    ),
    Family::gauge(
        "kvblock_instance_duplicated_blocks",
        "Blocks that transfers under way keep twice, over all shards.",
        One(|r| r.duplicated as u64),
    ),
    Family::gauge(
        "kvblock_instance_draining_blocks",
        "Blocks above the limit that are still in service, over all shards.",
        One(|r| r.draining as u64),
    ),
];

pub(super) const RANKS: &[Family<RankReport>] = &[
    Family::gauge(
        "kvblock_rank_blocks",
        "Blocks that the rank has memory for.",
        One(|r| r.blocks as u64),
    ),
    Family::gauge(
        "kvblock_rank_usable_blocks",
        "Blocks of the rank that sequences can use.",
        One(|r| r.usable as u64),
    ),
    Family::gauge(
        "kvblock_rank_stranded_blocks",
        "Blocks of the rank that they can not, as another rank has none beside them.",
        One(|r| r.stranded as u64),
    ),
];
