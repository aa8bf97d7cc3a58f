//! The metrics of a registry of sequences.

use super::family::Family;
use super::family::Samples::{By, One};
use crate::report::SequencesReport;

pub(super) const FAMILIES: &[Family<SequencesReport>] = &[
    Family::gauge(
        "kvblock_sequences",
        "Sequences that live.",
        One(|r| r.sequences as u64),
    ),
    Family::gauge(
        "kvblock_sequences_max",
        "Slots for sequences.",
        One(|r| r.max_sequences as u64),
    ),
    Family::gauge(
        "kvblock_sequences_held_blocks",
        "Different blocks in the tables of sequences.",
        One(|r| r.held_blocks as u64),
    ),
    Family::gauge(
        "kvblock_sequences_table_entries",
        "Entries of all tables: a shared block once for each sequence.",
        One(|r| r.table_entries as u64),
    ),
    Family::gauge(
        "kvblock_sequences_shared_entries",
        "Entries of all tables beyond the first for each block.",
        One(|r| r.shared_entries as u64),
    ),
    Family::gauge(
        "kvblock_sequences_promised_blocks",
        "Blocks set aside for growth and copies.",
        One(|r| r.promised as u64),
    ),
    Family::gauge(
        "kvblock_sequences_positions",
        "Positions of all sequences, shared ones once for each.",
        One(|r| r.positions as u64),
    ),
    Family::gauge(
        "kvblock_sequences_block_positions",
        "Positions of the blocks in tables, shared ones once, by whether they are in use.",
        By(
            "use",
            &[
                ("used", |r| r.used_positions as u64),
                ("unused", |r| r.unused_positions as u64),
            ],
        ),
    ),
    Family::gauge(
        "kvblock_sequences_pending_copies",
        "Copies that have not been reported as made.",
        One(|r| r.pending_copies as u64),
    ),
    Family::gauge(
        "kvblock_sequences_loading_blocks",
        "Blocks of imports that some writer may still touch.",
        One(|r| r.loading as u64),
    ),
    Family::gauge(
        "kvblock_sequences_duplicated_blocks",
        "Blocks that are here twice in one process while transfers last.",
        One(|r| r.duplicated as u64),
    ),
    Family::gauge(
        "kvblock_sequences_physical_blocks",
        "What the sequences come to with a physical budget: held and promised blocks.",
        One(|r| r.physical as u64),
    ),
    Family::gauge(
        "kvblock_sequences_conservative_blocks",
        "What the sequences come to with a conservative budget: table entries and promised blocks.",
        One(|r| r.conservative as u64),
    ),
    Family::gauge(
        "kvblock_sequences_watermark_blocks",
        "Blocks that admissions leave available.",
        One(|r| r.watermark as u64),
    ),
    Family::counter(
        "kvblock_sequences_admissions_total",
        "Admitted requests, by whether they came for the first time or returned after a preemption.",
        By(
            "lookup",
            &[
                ("first", |r| r.first.requests),
                ("returned", |r| r.returned.requests),
            ],
        ),
    ),
    Family::counter(
        "kvblock_sequences_queried_positions_total",
        "Positions of the prompts of admitted requests.",
        By(
            "lookup",
            &[
                ("first", |r| r.first.queried),
                ("returned", |r| r.returned.queried),
            ],
        ),
    ),
    Family::counter(
        "kvblock_sequences_hit_positions_total",
        "Positions of these prompts that were found.",
        By(
            "lookup",
            &[("first", |r| r.first.hit), ("returned", |r| r.returned.hit)],
        ),
    ),
    Family::counter(
        "kvblock_sequences_preemptions_total",
        "Sequences that were preempted.",
        One(|r| r.preemptions),
    ),
    Family::counter(
        "kvblock_sequences_refused_appends_total",
        "Appends that were refused for want of blocks, now or for ever.",
        One(|r| r.refused_appends),
    ),
    Family::counter(
        "kvblock_sequences_copies_total",
        "Copies of shared or published blocks.",
        One(|r| r.copies),
    ),
    Family::counter(
        "kvblock_sequences_imports_total",
        "Sequences whose first positions came from elsewhere, or were to.",
        One(|r| r.imports),
    ),
    Family::counter(
        "kvblock_sequences_exports_total",
        "Times that a sequence was offered to somebody else.",
        One(|r| r.exports),
    ),
    Family::counter(
        "kvblock_sequences_swapped_out_total",
        "Sequences that left by a swap.",
        One(|r| r.swapped_out),
    ),
    Family::counter(
        "kvblock_sequences_swapped_in_total",
        "Sequences that came by a swap.",
        One(|r| r.swapped_in),
    ),
    Family::counter(
        "kvblock_sequences_swap_blocks_total",
        "Blocks of sequences that came by swaps, by whether they were copied or found.",
        By(
            "result",
            &[("copied", |r| r.swap_copied), ("found", |r| r.swap_hits)],
        ),
    ),
    Family::counter(
        "kvblock_sequences_adopted_duplicates_total",
        "Duplicates that were put into tables.",
        One(|r| r.adopted),
    ),
    Family::counter(
        "kvblock_sequences_publishing_ended_total",
        "Sequences whose publishing could not go on.",
        One(|r| r.publishing_ended),
    ),
];
