//! What was made of the memory, and what is left of it.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Serialize;

use super::{Row, count, per};
use crate::serve::figures::{Figures, Totals};

/// Branches, drafts, copies; what was held on average; what is left at the end.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Storage {
    forks: u64,
    pub(super) branches_queued: u64,
    pub(super) branches_without_slot: u64,
    copies: u64,
    drafts: u64,
    rejected_drafts: u64,
    adopted_duplicates: u64,
    reclaims: u64,
    pub(super) tail_waste_mean: f64,
    /// Of the positions that are held.
    pub(super) tail_waste_share: f64,
    pub(super) table_entries_mean: f64,
    pub(super) held_mean: f64,
    pub(super) held_at_end: u64,
    pub(super) reserved_at_end: u64,
    pub(super) sequences_at_end: u64,
    audits: u64,
    pub(super) audit: String,
}

impl Storage {
    #[expect(clippy::cast_precision_loss, reason = "a figure to read")]
    pub(super) fn new(block_size: usize, figures: &Figures, totals: &Totals) -> Self {
        let means = &figures.means;
        Self {
            forks: figures.forks,
            branches_queued: figures.branches_queued,
            branches_without_slot: figures.branches_without_slot,
            copies: totals.copies,
            drafts: figures.drafts,
            rejected_drafts: figures.rejected_drafts,
            adopted_duplicates: totals.adopted,
            reclaims: totals.reclaims,
            tail_waste_mean: means.tail_waste(),
            tail_waste_share: per(means.tail_waste(), means.held() * block_size as f64),
            table_entries_mean: means.entries(),
            held_mean: means.held(),
            held_at_end: totals.held,
            reserved_at_end: totals.reserved,
            sequences_at_end: totals.sequences,
            audits: figures.audits,
            audit: figures
                .inconsistency
                .clone()
                .unwrap_or_else(|| "ok".to_string()),
        }
    }

    pub(super) fn rows(&self) -> Vec<Row> {
        let mean = |name, value: f64, unit| (name, format!("{value:.1}"), unit);
        Vec::from([
            count("forks", self.forks, "branches"),
            count("  waited for memory", self.branches_queued, "branches"),
            count(
                "  waited for a place",
                self.branches_without_slot,
                "branches",
            ),
            count("  copies on write", self.copies, "blocks"),
            count("drafts", self.drafts, "positions"),
            count("  rejected", self.rejected_drafts, "positions"),
            count("duplicates given back", self.adopted_duplicates, "blocks"),
            count("reclaims", self.reclaims, "blocks"),
            mean("held, mean", self.held_mean, "blocks"),
            mean("table entries, mean", self.table_entries_mean, "entries"),
            mean("tail waste, mean", self.tail_waste_mean, "positions"),
            (
                "",
                format!("{:.2}", self.tail_waste_share * 100.0),
                "% of those held",
            ),
            count("held at the end", self.held_at_end, "blocks"),
            count("reserved at the end", self.reserved_at_end, "blocks"),
            count("audits", self.audits, "audits"),
            ("audit", self.audit.clone(), ""),
        ])
    }
}
