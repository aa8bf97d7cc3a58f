//! How long blocks were bound: by resizes, the device's last step, transfers, and pins.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use super::{Row, count, per};
use crate::serve::fetch::FetchFigures;
use crate::serve::figures::Outcome;
use crate::serve::pins::PinFigures;
use crate::serve::resize::Resized;
use crate::serve::settings::Settings;
use crate::serve::step_time::Nanos;
use crate::summary::grouped;

/// Figures of the options that bind blocks; zero without them.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Lifetimes {
    quarantined_most: usize,
    waits_for_fences: u64,
    #[serde(flatten)]
    pub(super) fetched: FetchFigures,
    #[serde(flatten)]
    pub(super) pinned: PinFigures,
    /// Requests that go on from an earlier turn, and what they found.
    later_turns: u64,
    later_turns_hit_ratio: f64,
    pub(super) resizes: Vec<Resized>,
    #[serde(skip)]
    overlap: bool,
    #[serde(skip)]
    fetches: bool,
    #[serde(skip)]
    pins: bool,
}

impl Lifetimes {
    #[expect(clippy::cast_precision_loss, reason = "a figure to read")]
    pub(super) fn new(settings: &Settings, outcome: &Outcome) -> Self {
        let figures = &outcome.figures;
        let turns = figures.later_turns;
        Self {
            quarantined_most: figures.quarantined_most,
            waits_for_fences: figures.waits_for_fences,
            fetched: outcome.fetched,
            pinned: outcome.pinned,
            later_turns: turns.requests,
            later_turns_hit_ratio: per(turns.hit as f64, turns.queried as f64),
            resizes: outcome.resized.clone(),
            overlap: settings.overlap,
            fetches: settings.fetch.share != crate::values::Share::NONE,
            pins: settings.pins.is_some(),
        }
    }

    pub(super) fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        if self.later_turns > 0 {
            rows.push(count(
                "later turns of sessions",
                self.later_turns,
                "requests",
            ));
            rows.push((
                "  hit ratio",
                format!("{:.6}", self.later_turns_hit_ratio),
                "of positions",
            ));
        }
        if self.pins {
            let pins = &self.pinned;
            rows.extend([
                count("pins", pins.pins, "turns"),
                count("  refused, over budget", pins.refused, "turns"),
                count("  given up for memory", pins.given_up, "turns"),
                count(
                    "  pinned at most",
                    pins.most as u64,
                    "blocks, a shared one once a pin",
                ),
            ]);
        }
        if self.fetches {
            let fetched = &self.fetched;
            rows.extend([
                count("transfers", fetched.begun, "transfers"),
                count("  completed", fetched.completed, "transfers"),
                count("  failed, computed instead", fetched.failed, "transfers"),
                count("  aborted", fetched.aborted, "transfers"),
                count("  not needed, all found", fetched.not_needed, "requests"),
                count("  loaded", fetched.loaded_blocks, "blocks"),
                count("  not computed", fetched.loaded_tokens, "tokens"),
                count("  only waited for", fetched.load_steps, "steps"),
                count(
                    "  short of blocks to fall back",
                    fetched.renewals_refused,
                    "times",
                ),
                count(
                    "  held for late writers at most",
                    fetched.late_most as u64,
                    "blocks",
                ),
            ]);
        }
        if self.overlap {
            rows.extend([
                count(
                    "quarantined at most",
                    self.quarantined_most as u64,
                    "blocks",
                ),
                count(
                    "  appends that waited for them",
                    self.waits_for_fences,
                    "appends",
                ),
            ]);
        }
        rows
    }

    /// A row for each resize, if there are any.
    pub(super) fn write_resizes(&self, out: &mut impl Write) -> io::Result<()> {
        if self.resizes.is_empty() {
            return Ok(());
        }
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        table.add_row([
            "asked s",
            "granted s",
            "refusals",
            "online",
            "to",
            "came online",
            "taken back",
            "went offline",
            "drained",
            "until s",
        ]);
        for resize in &self.resizes {
            table.add_row([
                seconds(Some(resize.asked)),
                seconds(resize.granted),
                grouped(resize.refusals),
                grouped(resize.from as u64),
                grouped(resize.to as u64),
                grouped(resize.came_online as u64),
                grouped(resize.taken_back as u64),
                grouped(resize.went_offline as u64),
                grouped(resize.left_draining as u64),
                seconds(resize.drained),
            ]);
        }
        for column in table.column_iter_mut() {
            column.set_cell_alignment(CellAlignment::Right);
        }
        writeln!(out, "\nResizes, in blocks:")?;
        for line in table.lines() {
            writeln!(out, " {}", line.trim_end())?;
        }
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a figure to read")]
fn seconds(nanos: Option<Nanos>) -> String {
    nanos.map_or_else(|| "-".into(), |nanos| format!("{:.3}", nanos as f64 / 1e9))
}
