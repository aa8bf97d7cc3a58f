//! How fast requests were served, on the virtual clock.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use super::{Row, count, per};
use crate::serve::figures::Outcome;
use crate::serve::samples::Percentiles;

/// Rates, latencies, and what the limits say of them.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Speed {
    pub(super) steps: u64,
    pub(super) full_steps: u64,
    pub(super) short_steps: u64,
    pub(super) time_s: f64,
    busy: f64,
    /// Prompts and answers of all requests, over the time in which they arrived.
    pub(super) offered_tokens_per_s: f64,
    /// Prompts and answers of completed requests, over the whole time.
    pub(super) served_tokens_per_s: f64,
    served_output_tokens_per_s: f64,
    computed_tokens_per_s: f64,
    computed_tokens: u64,
    output_tokens_generated: u64,
    ttft_ms: Percentiles<f64>,
    gap_ms: Percentiles<f64>,
    /// Of the requests that were not cancelled.
    pub(super) goodput: f64,
    good_requests_per_s: f64,
    pub(super) missed_ttft: u64,
    pub(super) missed_gap: u64,
}

#[expect(clippy::cast_precision_loss, reason = "figures to read")]
impl Speed {
    pub(super) fn new(outcome: &Outcome) -> Self {
        let figures = &outcome.figures;
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let (time, arrivals) = (seconds(outcome.time), seconds(figures.last_arrival));
        let not_cancelled = (figures.arrived - figures.cancelled) as f64;
        Self {
            steps: figures.steps,
            full_steps: figures.full_steps,
            short_steps: figures.short_steps,
            time_s: time,
            busy: per(seconds(outcome.busy), time),
            offered_tokens_per_s: per(figures.offered_tokens as f64, arrivals),
            served_tokens_per_s: per(figures.served_tokens as f64, time),
            served_output_tokens_per_s: per(figures.generated as f64, time),
            computed_tokens_per_s: per(figures.computed as f64, time),
            computed_tokens: figures.computed,
            output_tokens_generated: figures.generated,
            ttft_ms: figures.ttft.percentiles().in_ms(),
            gap_ms: figures.gaps.percentiles().in_ms(),
            goodput: per(figures.good as f64, not_cancelled),
            good_requests_per_s: per(figures.good as f64, time),
            missed_ttft: figures.late,
            missed_gap: figures.slow,
        }
    }

    pub(super) fn rows(&self, slo: &str) -> Vec<Row> {
        let rate = |name, value: f64, unit| (name, format!("{value:.0}"), unit);
        let mut rows = self.time_rows();
        rows.extend([
            count("  with all of their tokens used", self.full_steps, "steps"),
            count(
                "  with the queue short of memory",
                self.short_steps,
                "steps",
            ),
            rate(
                "offered",
                self.offered_tokens_per_s,
                "tokens/s, prompts and answers, while requests arrived",
            ),
            rate(
                "served",
                self.served_tokens_per_s,
                "tokens/s, prompts and answers of completed requests",
            ),
            rate("  generated", self.served_output_tokens_per_s, "tokens/s"),
            rate(
                "  computed",
                self.computed_tokens_per_s,
                "tokens/s, without hits, with what was computed again",
            ),
            (
                "first token, p50 / p95 / p99",
                triple(&self.ttft_ms),
                "ms after arrival",
            ),
            (
                "gaps, p50 / p95 / p99",
                triple(&self.gap_ms),
                "ms between tokens",
            ),
            (
                "goodput",
                format!("{:.2}", self.goodput * 100.0),
                "% of requests not cancelled",
            ),
            ("", format!("{:.3}", self.good_requests_per_s), "requests/s"),
            ("  under", slo.into(), "gap: the mean of a request"),
        ]);
        rows
    }

    pub(super) fn time_rows(&self) -> Vec<Row> {
        Vec::from([
            ("time served", format!("{:.1}", self.time_s), "s"),
            (
                "  steps took",
                format!("{:.1}", self.busy * 100.0),
                "% of it",
            ),
            count("steps", self.steps, "steps"),
        ])
    }
}

fn triple(found: &Percentiles<f64>) -> String {
    [found.p50, found.p95, found.p99]
        .map(|value| format!("{value:.1}"))
        .join(" / ")
}
