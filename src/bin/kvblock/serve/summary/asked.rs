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
}

impl Asked {
    pub(super) fn new(settings: &Settings) -> Self {
        let (ttft, gap) = (in_words(settings.slo.ttft), in_words(settings.slo.gap));
        Self {
            block_size: settings.block_size,
            blocks: settings.blocks,
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
        rows
    }
}
