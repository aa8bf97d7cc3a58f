//! The metrics of an instance.

use super::family::Family;
use super::family::Samples::One;
use crate::report::InstanceReport;

pub(super) const FAMILIES: &[Family<InstanceReport>] = &[
    Family::gauge(
        "kvblock_instance_sequences",
        "Sequences that live.",
        One(|r| r.sequences as u64),
    ),
    Family::gauge(
        "kvblock_instance_sequences_max",
        "Slots for sequences.",
        One(|r| r.max_sequences as u64),
    ),
    Family::gauge(
        "kvblock_instance_block_size_positions",
        "Token positions of a block.",
        One(|r| r.block_size as u64),
    ),
    Family::gauge(
        "kvblock_instance_ranks",
        "Ranks in lockstep, or shards.",
        One(|r| r.ranks.len() as u64),
    ),
    Family::gauge(
        "kvblock_instance_free_blocks",
        "Blocks that an admission can have, on the shard that has the fewest.",
        One(|r| r.free as u64),
    ),
    Family::gauge(
        "kvblock_instance_largest_blocks",
        "Blocks that one sequence can ever have, on the shard that has the fewest.",
        One(|r| r.largest as u64),
    ),
    Family::gauge(
        "kvblock_instance_held_blocks",
        "Blocks with a holder, on the shard that has the most of them.",
        One(|r| r.held as u64),
    ),
    Family::gauge(
        "kvblock_instance_physical_blocks",
        "What the sequences come to with a physical budget, on the shard where that is the most.",
        One(|r| r.physical as u64),
    ),
    Family::gauge(
        "kvblock_instance_conservative_blocks",
        "What the sequences come to with a conservative budget, on the shard where that is the most.",
        One(|r| r.conservative as u64),
    ),
    Family::gauge(
        "kvblock_instance_stranded_blocks",
        "Blocks of all ranks that no sequence can use.",
        One(|r| r.stranded as u64),
    ),
];
