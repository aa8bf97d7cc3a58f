//! What serving reports: the figures as JSON for programs, and as a table with advice for people.

mod advice;
mod asked;
mod lifetimes;
mod requests;
mod speed;
mod storage;
mod swaps;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use std::io::{self, Write};

use serde::Serialize;

use super::figures::Outcome;
use super::fleet::figures::InstanceEnd;
use super::fleet::summary::FleetSummary;
use super::settings::Settings;
use super::timeline::{self, Sample};
use super::tree::TreeFigures;
use crate::summary::{Row, grouped, write_rows};
use asked::Asked;
use lifetimes::Lifetimes;
use requests::Requests;
use speed::Speed;
use storage::Storage;
use swaps::Swaps;

/// What was served, beside the settings.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Source {
    /// The trace's file name, or what stands for it.
    pub(crate) trace: String,
    /// The trace's row format; the built-in workload has none.
    pub(crate) format: Option<String>,
    pub(crate) mode: &'static str,
    pub(crate) seed: u64,
    pub(crate) id_tokens: usize,
}

/// The JSON object, flat but for percentiles, trees and the series; the same for two runs but for `elapsed_ms`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    #[serde(flatten)]
    source: Source,
    #[serde(flatten)]
    asked: Asked,
    #[serde(flatten)]
    requests: Requests,
    #[serde(flatten)]
    swaps: Swaps,
    #[serde(flatten)]
    speed: Speed,
    #[serde(flatten)]
    storage: Storage,
    #[serde(flatten)]
    lifetimes: Lifetimes,
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<TreeFigures>,
    elapsed_ms: u64,
    /// Of one engine alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    series: Option<Vec<Sample>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fleet: Option<FleetSummary>,
    /// The registry's and the pool's own reports.
    #[serde(skip)]
    reports: String,
}

impl Summary {
    pub(crate) fn new(
        source: &Source,
        settings: &Settings,
        outcome: Outcome,
        elapsed_ms: u64,
    ) -> Self {
        let (figures, totals) = (&outcome.figures, &outcome.totals);
        let fleet = FleetSummary::new(settings, &outcome);
        let swaps = Swaps::new(settings, &outcome);
        Self {
            source: source.clone(),
            asked: Asked::new(settings),
            requests: Requests::new(settings, figures, totals, swaps.preemptions()),
            swaps,
            speed: Speed::new(&outcome),
            storage: Storage::new(settings.block_size, figures, totals),
            lifetimes: Lifetimes::new(settings, &outcome),
            tree: figures.tree,
            elapsed_ms,
            reports: reports(&outcome.instances),
            series: fleet.is_none().then_some(outcome.series),
            fleet,
        }
    }

    pub(crate) const fn block_size(&self) -> usize {
        self.asked.block_size
    }

    /// Writes the report: what was served, the figures, the time line, and what registry and pool say.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let Source {
            trace,
            format,
            mode,
            ..
        } = &self.source;
        let format = format.as_ref().map(|format| format!(", {format}"));
        writeln!(out, "{trace}{}, {mode}", format.unwrap_or_default())?;
        let mut rows = self.asked.rows();
        if let Some(tree) = &self.tree {
            rows.extend(tree.rows());
            rows.push(self.requests.hit_row());
        } else {
            rows.extend(self.requests.rows());
            rows.extend(self.swaps.rows());
            rows.extend(self.requests.hit_rows());
        }
        rows.extend(self.speed.rows(&self.asked.slo));
        rows.extend(self.lifetimes.rows());
        rows.extend(self.storage.rows());
        rows.push(count("time", self.elapsed_ms, "ms"));
        write_rows(&rows, out)?;
        self.lifetimes.write_resizes(out)?;
        if let Some(fleet) = &self.fleet {
            fleet.write(out)?;
        }
        if let Some(series) = &self.series {
            writeln!(out, "\nOver the time:")?;
            timeline::write(series, out)?;
        }
        if let Some(fleet) = &self.fleet {
            fleet.write_series(out)?;
        }
        writeln!(out, "\nAt the end:\n{}", self.reports.trim_end())
    }

    /// Its row in a sweep over block sizes.
    #[expect(clippy::cast_precision_loss, reason = "a figure to read")]
    pub(crate) fn sweep_row(&self) -> [String; 10] {
        let storage = &self.storage;
        [
            self.asked.block_size.to_string(),
            grouped(self.asked.blocks as u64),
            format!("{:.1}", storage.tail_waste_mean),
            format!("{:.2} %", storage.tail_waste_share * 100.0),
            format!("{:.1}", storage.table_entries_mean),
            format!("{:.4}", self.requests.hit_ratio),
            format!("{:.1}", storage.held_mean),
            format!("{:.0}", storage.held_mean * self.asked.block_size as f64),
            grouped(self.requests.preemptions),
            grouped(self.requests.refused_never + self.requests.failed),
        ]
    }

    /// What went wrong in the pool, if anything did.
    pub(crate) fn defect(&self) -> Option<String> {
        let storage = &self.storage;
        let mut found = Vec::new();
        let leaks = self.fleet.as_ref().map(FleetSummary::leaks);
        if storage.audit != "ok" {
            found.push(format!(
                "the audit failed after {} steps: {}",
                self.speed.steps, storage.audit
            ));
        }
        for (count, what) in [
            (storage.held_at_end, "blocks are held"),
            (storage.reserved_at_end, "credits are reserved"),
            (storage.sequences_at_end, "sequences are left"),
            (
                self.swaps.host_held_at_end,
                "blocks of host memory are held",
            ),
            (
                self.swaps.host_reserved_at_end,
                "credits of host memory are reserved",
            ),
            (
                self.swaps.host_sequences_at_end,
                "sequences are left in host memory",
            ),
        ] {
            if count > 0 {
                found.push(format!(
                    "leak: {count} {what} after the last request has ended"
                ));
            }
        }
        found.extend(leaks.filter(|it| !it.is_empty()));
        (!found.is_empty()).then(|| found.join("; "))
    }
}

/// What the registries say; of several, which one says it.
fn reports(instances: &[InstanceEnd]) -> String {
    let mut said = Vec::new();
    for (number, instance) in instances.iter().enumerate() {
        if instances.len() > 1 {
            said.push(format!("Instance {number}:"));
        }
        let shards = instance.reports.iter();
        said.extend(shards.map(|it| it.to_string().trim_end().to_string()));
        if !instance.host.is_empty() {
            said.push("In host memory:".to_string());
        }
        let shards = instance.host.iter();
        said.extend(shards.map(|it| it.to_string().trim_end().to_string()));
    }
    said.join("\n")
}

/// A row with a number.
pub(super) fn count(name: &'static str, value: u64, unit: &'static str) -> Row {
    (name, grouped(value), unit)
}

fn per(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
