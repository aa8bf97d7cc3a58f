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
    served_output_tokens_per_s: f64,
    computed_tokens_per_s: f64,
    computed_tokens: u64,
    output_tokens_generated: u64,
    #[serde(flatten)]
    of_requests: IfRequests,
}

/// What only requests have, as they arrive and wait; trees have null there.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum IfRequests {
    Requests(OfRequests<f64, u64, Percentiles<f64>>),
    Trees(OfRequests<(), (), ()>),
}

/// Figures of requests, or what stands in their places.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct OfRequests<Rate, Count, Mix> {
    /// Prompts and answers of all requests, over the time in which they arrived.
    pub(super) offered_tokens_per_s: Rate,
    /// Prompts and answers of completed requests, over the whole time.
    pub(super) served_tokens_per_s: Rate,
    ttft_ms: Mix,
    gap_ms: Mix,
    /// Of the requests that were not cancelled.
    pub(super) goodput: Rate,
    good_requests_per_s: Rate,
    pub(super) missed_ttft: Count,
    pub(super) missed_gap: Count,
}

#[expect(clippy::cast_precision_loss, reason = "figures to read")]
impl Speed {
    pub(super) fn new(outcome: &Outcome) -> Self {
        let figures = &outcome.figures;
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let (time, arrivals) = (seconds(outcome.time), seconds(figures.last_arrival));
        let not_cancelled = (figures.arrived - figures.cancelled) as f64;
        let of_requests = if figures.tree.is_some() {
            IfRequests::Trees(OfRequests::default())
        } else {
            IfRequests::Requests(OfRequests {
                offered_tokens_per_s: per(figures.offered_tokens as f64, arrivals),
                served_tokens_per_s: per(figures.served_tokens as f64, time),
                ttft_ms: figures.ttft.percentiles().in_ms(),
                gap_ms: figures.gaps.percentiles().in_ms(),
                goodput: per(figures.good as f64, not_cancelled),
                good_requests_per_s: per(figures.good as f64, time),
                missed_ttft: figures.late,
                missed_gap: figures.slow,
            })
        };
        Self {
            steps: figures.steps,
            full_steps: figures.full_steps,
            short_steps: figures.short_steps,
            time_s: time,
            busy: per(seconds(outcome.busy), seconds(outcome.lifetimes())),
            served_output_tokens_per_s: per(figures.generated as f64, time),
            computed_tokens_per_s: per(figures.computed as f64, time),
            computed_tokens: figures.computed,
            output_tokens_generated: figures.generated,
            of_requests,
        }
    }

    /// What only requests have.
    pub(super) const fn of_requests(&self) -> Option<&OfRequests<f64, u64, Percentiles<f64>>> {
        match &self.of_requests {
            IfRequests::Requests(figures) => Some(figures),
            IfRequests::Trees(_) => None,
        }
    }

    pub(super) fn rows(&self, slo: &str) -> Vec<Row> {
        let mut rows = self.time_rows();
        if let Some(figures) = self.of_requests() {
            rows.extend(self.throughput_rows(figures));
            rows.extend(figures.rows(slo));
        }
        rows
    }

    fn throughput_rows(&self, of_requests: &OfRequests<f64, u64, Percentiles<f64>>) -> [Row; 6] {
        let rate = |name, value: f64, unit| (name, format!("{value:.0}"), unit);
        [
            count("  with all of their tokens used", self.full_steps, "steps"),
            count(
                "  with the queue short of memory",
                self.short_steps,
                "steps",
            ),
            rate(
                "offered",
                of_requests.offered_tokens_per_s,
                "tokens/s, prompts and answers, while requests arrived",
            ),
            rate(
                "served",
                of_requests.served_tokens_per_s,
                "tokens/s, prompts and answers of completed requests",
            ),
            rate("  generated", self.served_output_tokens_per_s, "tokens/s"),
            rate(
                "  computed",
                self.computed_tokens_per_s,
                "tokens/s, without hits, with what was computed again",
            ),
        ]
    }

    fn time_rows(&self) -> Vec<Row> {
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

impl OfRequests<f64, u64, Percentiles<f64>> {
    fn rows(&self, slo: &str) -> [Row; 5] {
        [
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
        ]
    }
}

fn triple(found: &Percentiles<f64>) -> String {
    [found.p50, found.p95, found.p99]
        .map(|value| format!("{value:.1}"))
        .join(" / ")
}
