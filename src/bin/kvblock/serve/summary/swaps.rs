//! Who lost its memory, and what it took to go on: computed again, or swapped out and in. The host tier's figures are its own.

use alloc::vec::Vec;

use serde::Serialize;

use super::{Row, count};
use crate::serve::figures::Outcome;
use crate::serve::settings::Settings;
use crate::serve::swap::SwapFigures;

/// Figures of shortfalls; those of swaps are zero without a host tier.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Swaps {
    on_shortfall: &'static str,
    /// Of each rank.
    host_blocks: Option<usize>,
    swap_rate: Option<usize>,
    pub(super) preemptions_by_recompute: u64,
    #[serde(flatten)]
    figures: SwapFigures,
    recomputed_tokens: u64,
    /// Blocks over all ranks that were copied by finished swaps, and that were found where these came to.
    swapped_out_blocks: u64,
    swap_out_hits: u64,
    swapped_in_blocks: u64,
    swap_in_hits: u64,
    host_capacity: u64,
    host_reclaims: u64,
    pub(super) host_held_at_end: u64,
    host_idle_at_end: u64,
    host_free_at_end: u64,
    pub(super) host_reserved_at_end: u64,
    pub(super) host_sequences_at_end: u64,
}

impl Swaps {
    pub(super) fn new(settings: &Settings, outcome: &Outcome) -> Self {
        let (totals, host) = (&outcome.totals, &outcome.totals.host);
        Self {
            on_shortfall: match settings.swap {
                Some(_) => "swap",
                None => "recompute",
            },
            host_blocks: settings.swap.map(|swap| swap.host_blocks),
            swap_rate: settings.swap.map(|swap| swap.rate),
            preemptions_by_recompute: totals.preemptions,
            figures: outcome.swapped,
            recomputed_tokens: outcome.figures.recomputed,
            swapped_out_blocks: host.swapped_out,
            swap_out_hits: host.swap_out_hits,
            swapped_in_blocks: totals.swapped_in,
            swap_in_hits: totals.swap_in_hits,
            host_capacity: host.capacity,
            host_reclaims: host.reclaims,
            host_held_at_end: host.held,
            host_idle_at_end: host.idle,
            host_free_at_end: host.free,
            host_reserved_at_end: host.reserved,
            host_sequences_at_end: host.sequences,
        }
    }

    /// Sequences that lost their memory.
    pub(super) const fn preemptions(&self) -> u64 {
        self.preemptions_by_recompute + self.figures.begun_out
    }

    /// How the preempted went on.
    pub(super) fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::from([count("  computed again", self.recomputed_tokens, "tokens")]);
        if self.host_blocks.is_none() {
            return rows;
        }
        let swaps = &self.figures;
        rows.extend([
            count(
                "  by recompute",
                self.preemptions_by_recompute,
                "preemptions",
            ),
            count(
                "    as the host was full",
                swaps.host_was_full,
                "preemptions",
            ),
            count(
                "    as a copy was pending",
                swaps.swaps_not_ready,
                "preemptions",
            ),
            count("  by swap", swaps.begun_out, "preemptions"),
            count(
                "    called off",
                swaps.swaps_called_off,
                "swaps, their request ended",
            ),
            count("swapped out", self.swapped_out_blocks, "blocks"),
            count(
                "  found on the host",
                self.swap_out_hits,
                "blocks, not copied",
            ),
            count("swapped in", self.swapped_in_blocks, "blocks"),
            count(
                "  found on the device",
                self.swap_in_hits,
                "blocks, not copied",
            ),
            count("  appends that waited", swaps.waits_for_swaps, "appends"),
            count("  only waited for", swaps.swap_steps, "steps"),
            count("host tier", self.host_capacity, "blocks"),
            count(
                "  held at most",
                swaps.host_held_most as u64,
                "blocks, on one rank",
            ),
            count("  reclaims", self.host_reclaims, "blocks"),
            count("  held at the end", self.host_held_at_end, "blocks"),
            count("  idle at the end", self.host_idle_at_end, "blocks"),
            count("  free at the end", self.host_free_at_end, "blocks"),
        ]);
        rows
    }
}
