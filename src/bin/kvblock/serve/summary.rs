//! What serving reports: the figures as JSON for programs, and as a table with advice for people.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use std::io::{self, Write};

use kvblock::MAX_BLOCKS;
use serde::Serialize;

use super::figures::Outcome;
use super::samples::Percentiles;
use super::settings::Settings;
use super::timeline::{self, Sample};
use super::tree::TreeFigures;
use crate::summary::{Row, grouped, write_rows};
use crate::values::{GrowthArg, in_words};

/// What was served, beside the settings.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The trace's file name, or what stands for it.
    pub(crate) trace: String,
    /// The trace's row format; the built-in workload has none.
    pub(crate) format: Option<String>,
    pub(crate) id_tokens: usize,
}

/// The JSON object; the same for two runs but for `elapsed_ms`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) trace: String,
    pub(crate) format: Option<String>,
    pub(crate) mode: &'static str,
    pub(crate) seed: u64,
    pub(crate) id_tokens: usize,
    pub(crate) block_size: usize,
    pub(crate) blocks: usize,
    pub(crate) token_budget: usize,
    pub(crate) max_sequences: usize,
    pub(crate) growth: String,
    pub(crate) budget: &'static str,
    pub(crate) watermark: usize,
    pub(crate) cancel: String,
    pub(crate) branch: usize,
    pub(crate) draft: usize,
    pub(crate) accept: String,
    pub(crate) step_time: String,
    pub(crate) slo: String,
    pub(crate) requests: u64,
    pub(crate) completed: u64,
    pub(crate) cancelled: u64,
    pub(crate) refused_never: u64,
    pub(crate) refused_shortfall: u64,
    pub(crate) failed: u64,
    /// Blocks that would admit the longest request that was refused for ever or failed.
    pub(crate) blocks_needed: u64,
    pub(crate) preemptions: u64,
    pub(crate) hit_ratio: f64,
    pub(crate) returned_hit_ratio: f64,
    pub(crate) queried_positions: u64,
    pub(crate) hit_positions: u64,
    pub(crate) returns: u64,
    pub(crate) offered_tokens_per_s: f64,
    pub(crate) served_tokens_per_s: f64,
    pub(crate) served_output_tokens_per_s: f64,
    pub(crate) computed_tokens_per_s: f64,
    pub(crate) ttft_ms: Percentiles<f64>,
    pub(crate) gap_ms: Percentiles<f64>,
    pub(crate) goodput: f64,
    pub(crate) good_requests_per_s: f64,
    pub(crate) missed_ttft: u64,
    pub(crate) missed_gap: u64,
    pub(crate) input_tokens: Percentiles<u64>,
    pub(crate) output_tokens: Percentiles<u64>,
    pub(crate) steps: u64,
    pub(crate) full_steps: u64,
    pub(crate) short_steps: u64,
    pub(crate) time_s: f64,
    pub(crate) busy: f64,
    pub(crate) computed_tokens: u64,
    pub(crate) output_tokens_generated: u64,
    pub(crate) forks: u64,
    pub(crate) branches_queued: u64,
    pub(crate) copies: u64,
    pub(crate) drafts: u64,
    pub(crate) rejected_drafts: u64,
    pub(crate) adopted_duplicates: u64,
    pub(crate) reclaims: u64,
    pub(crate) tail_waste_mean: f64,
    /// Of the positions that are held.
    pub(crate) tail_waste_share: f64,
    pub(crate) table_entries_mean: f64,
    pub(crate) held_mean: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tree: Option<TreeFigures>,
    pub(crate) held_at_end: u64,
    pub(crate) reserved_at_end: u64,
    pub(crate) sequences_at_end: u64,
    pub(crate) audits: u64,
    pub(crate) audit: String,
    pub(crate) series: Vec<Sample>,
    pub(crate) elapsed_ms: u64,
    /// The registry's and the pool's own reports.
    #[serde(skip)]
    pub(crate) reports: String,
}

#[expect(clippy::cast_precision_loss, reason = "figures to read")]
impl Summary {
    pub(crate) fn new(
        source: &Source,
        settings: &Settings,
        outcome: Outcome,
        elapsed_ms: u64,
    ) -> Self {
        let Outcome {
            figures, report, ..
        } = outcome;
        let (first, returned) = (report.first, report.returned);
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let (time, span) = (seconds(outcome.time), seconds(figures.last_arrival));
        let held_positions = figures.means.held() * settings.block_size as f64;
        Self {
            trace: source.trace.clone(),
            format: source.format.clone(),
            mode: "serve",
            seed: settings.seed,
            id_tokens: source.id_tokens,
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
            slo: format!(
                "ttft={},gap={}",
                in_words(settings.slo.ttft),
                in_words(settings.slo.gap)
            ),
            requests: figures.arrived,
            completed: figures.completed,
            cancelled: figures.cancelled,
            refused_never: figures.refused_never,
            refused_shortfall: figures.refused_shortfall,
            failed: figures.failed,
            blocks_needed: match figures.longest_refused {
                0 => 0,
                positions => {
                    positions.div_ceil(settings.block_size as u64) + settings.watermark as u64
                }
            },
            preemptions: report.preemptions,
            hit_ratio: first.ratio(),
            returned_hit_ratio: returned.ratio(),
            queried_positions: first.queried,
            hit_positions: first.hit,
            returns: returned.requests,
            offered_tokens_per_s: per(figures.offered_tokens as f64, span),
            served_tokens_per_s: per(figures.served_tokens as f64, time),
            served_output_tokens_per_s: per(figures.generated as f64, time),
            computed_tokens_per_s: per(figures.computed as f64, time),
            ttft_ms: figures.ttft.percentiles().in_ms(),
            gap_ms: figures.gaps.percentiles().in_ms(),
            goodput: per(
                figures.good as f64,
                (figures.arrived - figures.cancelled) as f64,
            ),
            good_requests_per_s: per(figures.good as f64, time),
            missed_ttft: figures.late,
            missed_gap: figures.slow,
            input_tokens: figures.inputs.percentiles(),
            output_tokens: figures.outputs.percentiles(),
            steps: figures.steps,
            full_steps: figures.full_steps,
            short_steps: figures.short_steps,
            time_s: time,
            busy: per(seconds(outcome.busy), time),
            computed_tokens: figures.computed,
            output_tokens_generated: figures.generated,
            forks: figures.forks,
            branches_queued: figures.branches_queued,
            copies: report.copies,
            drafts: figures.drafts,
            rejected_drafts: figures.rejected_drafts,
            adopted_duplicates: report.adopted,
            reclaims: report.pool.reclaims,
            tail_waste_mean: figures.means.tail_waste(),
            tail_waste_share: per(figures.means.tail_waste(), held_positions),
            table_entries_mean: figures.means.entries(),
            held_mean: figures.means.held(),
            tree: figures.tree,
            held_at_end: (report.pool.held + report.pool.quarantined) as u64,
            reserved_at_end: report.pool.reserved as u64,
            sequences_at_end: report.sequences as u64,
            audits: figures.audits,
            audit: figures.inconsistency.unwrap_or_else(|| "ok".to_string()),
            series: outcome.series,
            elapsed_ms,
            reports: report.to_string(),
        }
    }

    /// Writes the report: what was served, the figures, the time line, and what registry and pool say.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let format = self.format.as_ref().map(|format| format!(", {format}"));
        writeln!(out, "{}{}, serve", self.trace, format.unwrap_or_default())?;
        let settings = self.setting_rows();
        let figures = if self.tree.is_some() {
            self.tree_rows()
        } else {
            self.request_rows()
        };
        write_rows(&[settings, figures, self.memory_rows()].concat(), out)?;
        writeln!(out, "\nOver the time:")?;
        timeline::write(&self.series, out)?;
        writeln!(out, "\nAt the end:\n{}", self.reports.trim_end())
    }

    fn setting_rows(&self) -> Vec<Row> {
        let mut rows = Vec::from([
            ("pool", grouped(self.blocks as u64), "blocks"),
            ("block size", grouped(self.block_size as u64), "tokens"),
            ("growth", self.growth.clone(), ""),
            ("budget", self.budget.to_string(), ""),
            ("watermark", grouped(self.watermark as u64), "blocks"),
            (
                "a step computes up to",
                grouped(self.token_budget as u64),
                "tokens",
            ),
            (
                "and takes",
                self.step_time.clone(),
                "fixed, a token, a block of context",
            ),
        ]);
        if self.branch > 1 {
            rows.push(("branches", grouped(self.branch as u64), "a request"));
        }
        if self.draft > 0 {
            let unit = "a step, accepted with the probability";
            rows.push(("drafts", grouped(self.draft as u64), unit));
            rows.push(("", self.accept.clone(), ""));
        }
        rows
    }

    fn request_rows(&self) -> Vec<Row> {
        let ms = |value: f64| format!("{value:.1}");
        let triple = |found: &Percentiles<f64>| {
            format!("{} / {} / {}", ms(found.p50), ms(found.p95), ms(found.p99))
        };
        let mix = |found: &Percentiles<u64>| {
            format!(
                "{} / {} / {}",
                grouped(found.p50),
                grouped(found.p95),
                grouped(found.max)
            )
        };
        let rate = |value: f64| format!("{value:.0}");
        Vec::from([
            ("requests", grouped(self.requests), "requests"),
            ("  completed", grouped(self.completed), "requests"),
            ("  cancelled", grouped(self.cancelled), "requests"),
            (
                "  refused, never fit",
                grouped(self.refused_never),
                "requests",
            ),
            ("  failed, grew too long", grouped(self.failed), "requests"),
            (
                "  waited for memory",
                grouped(self.refused_shortfall),
                "requests",
            ),
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
            ("preemptions", grouped(self.preemptions), "preemptions"),
            (
                "hit ratio, first admissions",
                format!("{:.6}", self.hit_ratio),
                "of positions",
            ),
            (
                "hit ratio, returns",
                format!("{:.6}", self.returned_hit_ratio),
                "of positions",
            ),
            ("time served", format!("{:.1}", self.time_s), "s"),
            (
                "  steps took",
                format!("{:.1}", self.busy * 100.0),
                "% of it",
            ),
            ("steps", grouped(self.steps), "steps"),
            (
                "  with all of their tokens used",
                grouped(self.full_steps),
                "steps",
            ),
            (
                "  with the queue short of memory",
                grouped(self.short_steps),
                "steps",
            ),
            (
                "offered",
                rate(self.offered_tokens_per_s),
                "tokens/s, prompts and answers, while requests arrived",
            ),
            (
                "served",
                rate(self.served_tokens_per_s),
                "tokens/s, prompts and answers of completed requests",
            ),
            (
                "  generated",
                rate(self.served_output_tokens_per_s),
                "tokens/s",
            ),
            (
                "  computed",
                rate(self.computed_tokens_per_s),
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
            ("  under", self.slo.clone(), "gap: the mean of a request"),
        ])
    }

    fn tree_rows(&self) -> Vec<Row> {
        let tree = self.tree.unwrap_or_default();
        Vec::from([
            ("problems", grouped(tree.problems), "problems"),
            ("nodes", grouped(tree.nodes), "nodes"),
            ("  kept", grouped(tree.kept), "nodes"),
            ("  pruned", grouped(tree.pruned), "nodes"),
            ("  left at the end", grouped(tree.left), "nodes"),
            (
                "most branches at a time",
                grouped(tree.most_at_once),
                "sequences",
            ),
            ("judgements", grouped(tree.judged), "prompts"),
            (
                "hit ratio",
                format!("{:.6}", self.hit_ratio),
                "of positions",
            ),
            ("time served", format!("{:.1}", self.time_s), "s"),
            ("steps", grouped(self.steps), "steps"),
        ])
    }

    fn memory_rows(&self) -> Vec<Row> {
        Vec::from([
            ("forks", grouped(self.forks), "branches"),
            (
                "  waited for memory",
                grouped(self.branches_queued),
                "branches",
            ),
            ("  copies on write", grouped(self.copies), "blocks"),
            ("drafts", grouped(self.drafts), "positions"),
            ("  rejected", grouped(self.rejected_drafts), "positions"),
            (
                "duplicates given back",
                grouped(self.adopted_duplicates),
                "blocks",
            ),
            ("reclaims", grouped(self.reclaims), "blocks"),
            ("held, mean", format!("{:.1}", self.held_mean), "blocks"),
            (
                "table entries, mean",
                format!("{:.1}", self.table_entries_mean),
                "entries",
            ),
            (
                "tail waste, mean",
                format!("{:.1}", self.tail_waste_mean),
                "positions",
            ),
            (
                "",
                format!("{:.2}", self.tail_waste_share * 100.0),
                "% of those held",
            ),
            ("held at the end", grouped(self.held_at_end), "blocks"),
            (
                "reserved at the end",
                grouped(self.reserved_at_end),
                "blocks",
            ),
            ("audits", grouped(self.audits), "audits"),
            ("audit", self.audit.clone(), ""),
            ("time", grouped(self.elapsed_ms), "ms"),
        ])
    }

    /// What went wrong in the pool, if anything did.
    pub(crate) fn defect(&self) -> Option<String> {
        let mut found = Vec::new();
        if self.audit != "ok" {
            found.push(format!(
                "the audit failed after {} steps: {}",
                self.steps, self.audit
            ));
        }
        for (count, what) in [
            (self.held_at_end, "blocks are held"),
            (self.reserved_at_end, "credits are reserved"),
            (self.sequences_at_end, "sequences are left"),
        ] {
            if count > 0 {
                found.push(format!(
                    "leak: {count} {what} after the last request has ended"
                ));
            }
        }
        (!found.is_empty()).then(|| found.join("; "))
    }

    /// What to do next where the figures suffer from the options or from the trace.
    pub(crate) fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        advice.extend(self.advice_on_refusals());
        advice.extend(self.advice_on_preemptions());
        advice.extend(self.advice_on_goodput());
        if self.branches_queued > 0 {
            advice.push(format!(
                "{} branches had no memory when their prompt was computed, and waited; --branch {} or more --blocks make room",
                grouped(self.branches_queued),
                self.branch / 2,
            ));
        }
        advice
    }

    fn advice_on_refusals(&self) -> Option<String> {
        let lost = self.refused_never + self.failed;
        let remedy = if self.blocks_needed <= MAX_BLOCKS as u64 {
            format!("--blocks {} has room for the longest", self.blocks_needed)
        } else {
            format!(
                "a pool has at most {} blocks, so it takes a larger --block-size",
                grouped(MAX_BLOCKS as u64)
            )
        };
        (lost > 0).then(|| {
            format!(
                "{} of {} requests do not fit into {} blocks: {remedy}",
                grouped(lost),
                grouped(self.requests),
                grouped(self.blocks as u64)
            )
        })
    }

    fn advice_on_preemptions(&self) -> Option<String> {
        // One in fifty requests.
        (self.preemptions * 50 > self.requests).then(|| {
            format!(
                "{} preemptions for {} requests, each computes again what is no longer cached: `--growth cap` has none, and `--watermark 2%` fewer",
                grouped(self.preemptions),
                grouped(self.requests)
            )
        })
    }

    fn advice_on_goodput(&self) -> Option<String> {
        if self.goodput > 0.9 || self.completed == 0 || self.tree.is_some() {
            return None;
        }
        let cap = self.growth == GrowthArg::Cap.to_string();
        let remedy = if self.missed_gap > self.missed_ttft {
            "tokens come too slowly, which a smaller --token-budget or a faster --step-time changes"
        } else if self.short_steps > self.full_steps && cap {
            "the queue waits for memory, of which `--growth ahead:2` promises less; or name more --blocks"
        } else if self.short_steps > self.full_steps {
            "the queue waits for memory, so name more --blocks"
        } else if self.served_tokens_per_s < 0.98 * self.offered_tokens_per_s {
            "more is offered than the steps compute, which takes a faster --step-time, a larger --token-budget or a second instance"
        } else {
            "first tokens wait for their turn, which comes sooner with a larger --token-budget or a faster --step-time"
        };
        Some(format!(
            "{} of {} completed requests had their first token too late and {} their tokens too slowly: {remedy}",
            grouped(self.missed_ttft),
            grouped(self.completed),
            grouped(self.missed_gap),
        ))
    }
}

fn per(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
