//! What became of the requests.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use super::{Row, count, per};
use crate::serve::figures::{Figures, Totals};
use crate::serve::samples::Percentiles;
use crate::serve::settings::Settings;
use crate::summary::grouped;

/// Counts of requests, their lengths, and what they found.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Requests {
    pub(super) requests: u64,
    pub(super) completed: u64,
    cancelled: u64,
    pub(super) refused_never: u64,
    refused_shortfall: u64,
    pub(super) failed: u64,
    /// What `--blocks` would have to be for the longest request that was refused for ever or failed.
    pub(super) blocks_needed: u64,
    pub(super) preemptions: u64,
    returns: u64,
    pub(super) hit_ratio: f64,
    returned_hit_ratio: f64,
    queried_positions: u64,
    hit_positions: u64,
    input_tokens: Percentiles<u64>,
    output_tokens: Percentiles<u64>,
}

impl Requests {
    #[expect(clippy::cast_precision_loss, reason = "figures to read")]
    pub(super) fn new(
        settings: &Settings,
        figures: &Figures,
        totals: &Totals,
        preemptions: u64,
    ) -> Self {
        let (joined, moved) = (figures.joined, figures.moved);
        Self {
            requests: figures.arrived,
            completed: figures.completed,
            cancelled: figures.cancelled,
            refused_never: figures.refused_never,
            refused_shortfall: figures.refused_shortfall,
            failed: figures.failed,
            blocks_needed: match figures.longest_refused {
                0 => 0,
                positions => settings.blocks_for(positions),
            },
            preemptions,
            returns: totals.returned.requests - joined.requests - moved.requests,
            hit_ratio: totals.first.ratio(),
            returned_hit_ratio: per(
                (totals.returned.hit - joined.hit - moved.hit) as f64,
                (totals.returned.queried - joined.queried - moved.queried) as f64,
            ),
            queried_positions: totals.first.queried,
            hit_positions: totals.first.hit,
            input_tokens: figures.inputs.percentiles(),
            output_tokens: figures.outputs.percentiles(),
        }
    }

    pub(super) fn rows(&self) -> Vec<Row> {
        Vec::from([
            count("requests", self.requests, "requests"),
            count("  completed", self.completed, "requests"),
            count("  cancelled", self.cancelled, "requests"),
            count("  refused, never fit", self.refused_never, "requests"),
            count("  failed, grew too long", self.failed, "requests"),
            count("  waited for memory", self.refused_shortfall, "requests"),
            (
                "prompts, p50 / p95 / max",
                mix(&self.input_tokens),
                "tokens",
            ),
            (
                "answers, p50 / p95 / max",
                mix(&self.output_tokens),
                "tokens",
            ),
            count("preemptions", self.preemptions, "preemptions"),
        ])
    }

    pub(super) fn hit_rows(&self) -> [Row; 2] {
        let returns = (
            "  of returns",
            format!("{:.6}", self.returned_hit_ratio),
            "of positions",
        );
        [self.hit_row(), returns]
    }

    pub(super) fn hit_row(&self) -> Row {
        (
            "hit ratio",
            format!("{:.6}", self.hit_ratio),
            "of positions",
        )
    }
}

fn mix(found: &Percentiles<u64>) -> String {
    [found.p50, found.p95, found.max].map(grouped).join(" / ")
}
