//! The settings, as they are reported.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Serialize;

use super::{Row, count};
use crate::serve::settings::Settings;
use crate::values::in_words;

/// What was asked for.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Asked {
    pub(super) block_size: usize,
    pub(super) blocks: usize,
    /// Once all shrinks up to some time were granted.
    pub(super) fewest_blocks: usize,
    token_budget: usize,
    pub(super) max_sequences: usize,
    pub(super) growth: String,
    budget: &'static str,
    pub(super) watermark: usize,
    cancel: String,
    pub(super) branch: usize,
    draft: usize,
    accept: String,
    step_time: String,
    pub(super) slo: String,
    overlap: bool,
    fetch: String,
    writers: usize,
    fetch_rate: usize,
    abort_transfers: String,
    pin_s: Option<f64>,
    pin_budget: Option<usize>,
}

impl Asked {
    #[expect(clippy::cast_precision_loss, reason = "a figure to read")]
    pub(super) fn new(settings: &Settings) -> Self {
        let (ttft, gap) = (in_words(settings.slo.ttft), in_words(settings.slo.gap));
        Self {
            block_size: settings.block_size,
            blocks: settings.blocks,
            fewest_blocks: settings.fewest_blocks(),
            token_budget: settings.token_budget,
            max_sequences: settings.max_sequences,
            growth: settings.growth.to_string(),
            budget: settings.budget.name(),
            watermark: settings.watermark,
            cancel: settings.cancel.to_string(),
            branch: settings.branches,
            draft: settings.drafts.per_step,
            accept: settings.drafts.accept.to_string(),
            step_time: settings.step_time.text(),
            slo: format!("ttft={ttft},gap={gap}"),
            overlap: settings.overlap,
            fetch: settings.fetch.share.to_string(),
            writers: settings.fetch.writers,
            fetch_rate: settings.fetch.rate,
            abort_transfers: settings.fetch.aborted.to_string(),
            pin_s: settings.pins.map(|pins| pins.lasts as f64 / 1e9),
            pin_budget: settings.pins.map(|pins| pins.budget),
        }
    }

    pub(super) fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::from([
            count("pool", self.blocks as u64, "blocks"),
            count("block size", self.block_size as u64, "tokens"),
            ("growth", self.growth.clone(), ""),
            ("budget", self.budget.to_string(), ""),
            count("watermark", self.watermark as u64, "blocks"),
            count("sequences at most", self.max_sequences as u64, "sequences"),
            count("a step computes up to", self.token_budget as u64, "tokens"),
            (
                "  and takes",
                self.step_time.clone(),
                "fixed, a token, a block of context",
            ),
        ]);
        if self.branch > 1 {
            rows.push(count("branches", self.branch as u64, "a request"));
        }
        if self.draft > 0 {
            rows.push(count("drafts", self.draft as u64, "a step"));
            rows.push(("  accepted", self.accept.clone(), "if those before are"));
        }
        if self.fetch != "0%" {
            rows.push(("fetched", self.fetch.clone(), "of requests"));
            rows.push((
                "  of them aborted",
                self.abort_transfers.clone(),
                "of transfers",
            ));
            rows.push(count("  writers", self.writers as u64, "a transfer"));
            rows.push(count("  rate", self.fetch_rate as u64, "blocks a step"));
        }
        if let (Some(lasts), Some(budget)) = (self.pin_s, self.pin_budget) {
            rows.push(("turns pinned for", format!("{lasts}"), "s"));
            rows.push(count("  at most", budget as u64, "blocks"));
        }
        rows
    }
}
