//! What a replay reports: the figures as JSON for programs, and as a table with advice for people.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use kvblock::MAX_BLOCKS;
use serde::Serialize;

use crate::sequential::Figures;

/// What was replayed, and through what.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The trace's file name, or what stands for it.
    pub(crate) trace: String,
    /// The trace's row format; the built-in workload has none.
    pub(crate) format: Option<String>,
    pub(crate) mode: &'static str,
    pub(crate) seed: u64,
    pub(crate) id_tokens: usize,
    pub(crate) block_size: usize,
    pub(crate) blocks: usize,
    /// Distinct blocks of the trace, where they were counted.
    pub(crate) distinct_blocks: Option<u64>,
}

/// The JSON object; the same for two runs but for `elapsed_ms`.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    trace: String,
    format: Option<String>,
    mode: &'static str,
    seed: u64,
    id_tokens: usize,
    block_size: usize,
    blocks: usize,
    distinct_blocks: Option<u64>,
    requests: u64,
    requests_without_blocks: u64,
    requests_with_hit: u64,
    lookups: u64,
    hits: u64,
    hit_ratio: f64,
    reclaims: u64,
    refused_never: u64,
    refused_shortfall: u64,
    longest_refused: u64,
    unpublished: u64,
    held_at_end: u64,
    reserved_at_end: u64,
    audits: u64,
    audit: String,
    elapsed_ms: u64,
}

impl Summary {
    pub(crate) fn new(setting: Setting, figures: &Figures) -> Self {
        let report = &figures.report;
        Self {
            trace: setting.trace,
            format: setting.format,
            mode: setting.mode,
            seed: setting.seed,
            id_tokens: setting.id_tokens,
            block_size: setting.block_size,
            blocks: setting.blocks,
            distinct_blocks: setting.distinct_blocks,
            requests: figures.requests,
            requests_without_blocks: figures.without_blocks,
            requests_with_hit: figures.with_hit,
            lookups: figures.lookups,
            hits: figures.hits,
            hit_ratio: ratio(figures.hits, figures.lookups),
            reclaims: report.reclaims,
            refused_never: figures.refused_never,
            refused_shortfall: figures.refused_shortfall,
            longest_refused: figures.longest_refused,
            unpublished: figures.unpublished,
            held_at_end: (report.held + report.quarantined) as u64,
            reserved_at_end: report.reserved as u64,
            audits: figures.audits,
            audit: figures
                .inconsistency
                .clone()
                .unwrap_or_else(|| "ok".to_string()),
            elapsed_ms: u64::try_from(figures.elapsed.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Writes the object and a line end.
    pub(crate) fn write_json(&self, mut out: impl Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut out, self)?;
        writeln!(out)?;
        out.flush()
    }

    /// Writes the table.
    pub(crate) fn write_table(&self, out: &mut impl Write) -> io::Result<()> {
        match &self.format {
            Some(format) => writeln!(out, "{}, {format}, {}", self.trace, self.mode)?,
            None => writeln!(out, "{}, {}", self.trace, self.mode)?,
        }
        write_rows(&self.rows(), out)
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::from([
            ("pool", grouped(self.blocks as u64), "blocks"),
            ("block size", grouped(self.block_size as u64), "tokens"),
        ]);
        if self.id_tokens != self.block_size {
            rows.push(("an id stands for", grouped(self.id_tokens as u64), "tokens"));
        }
        if let Some(distinct) = self.distinct_blocks {
            rows.push(("distinct in the trace", grouped(distinct), "blocks"));
        }
        rows.extend([
            ("requests", grouped(self.requests), "requests"),
            (
                "  of no block",
                grouped(self.requests_without_blocks),
                "requests",
            ),
            ("  with a hit", grouped(self.requests_with_hit), "requests"),
            (
                "  refused, never fit",
                grouped(self.refused_never),
                "requests",
            ),
            (
                "  refused for now",
                grouped(self.refused_shortfall),
                "requests",
            ),
            ("lookups", grouped(self.lookups), "blocks"),
            ("hits", grouped(self.hits), "blocks"),
            ("hit ratio", format!("{:.6}", self.hit_ratio), "of lookups"),
            ("reclaims", grouped(self.reclaims), "blocks"),
            ("not published", grouped(self.unpublished), "blocks"),
            ("held at the end", grouped(self.held_at_end), "blocks"),
            (
                "reserved at the end",
                grouped(self.reserved_at_end),
                "blocks",
            ),
            ("audits", grouped(self.audits), "audits"),
            ("audit", self.audit.clone(), ""),
            ("time", grouped(self.elapsed_ms), "ms"),
        ]);
        rows
    }

    /// What went wrong in the pool, if anything did.
    pub(crate) fn defect(&self) -> Option<String> {
        let mut found = Vec::new();
        if self.audit != "ok" {
            found.push(format!(
                "the audit failed after {} requests: {}",
                self.requests, self.audit
            ));
        }
        if self.held_at_end > 0 {
            found.push(format!(
                "leak: {} blocks are held after the last request was released",
                self.held_at_end
            ));
        }
        if self.reserved_at_end > 0 {
            found.push(format!(
                "leak: credits for {} blocks are reserved with no request left",
                self.reserved_at_end
            ));
        }
        (!found.is_empty()).then(|| found.join("; "))
    }

    /// What to do next where the figures suffer from the options or from the trace.
    pub(crate) fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        if self.refused_never > 0 {
            let remedy = if self.longest_refused <= MAX_BLOCKS as u64 {
                format!("--blocks {} admits them all", self.longest_refused)
            } else {
                format!(
                    "a pool has at most {}, so it takes a larger --block-size",
                    grouped(MAX_BLOCKS as u64)
                )
            };
            advice.push(format!(
                "{} of {} requests can never fit into {} blocks; the longest has {}: {remedy}",
                grouped(self.refused_never),
                grouped(self.requests),
                grouped(self.blocks as u64),
                grouped(self.longest_refused),
            ));
        }
        if self.refused_shortfall > 0 {
            advice.push(format!(
                "{} requests were refused for now; one at a time this does not happen unless credits leak: run again with --audit-every 1",
                grouped(self.refused_shortfall)
            ));
        }
        if self.lookups == 0 {
            advice.push(String::from(
                "no request has a whole block: a smaller --block-size cuts short prompts, too, and rows without ids have none",
            ));
        }
        if self.unpublished > 0 {
            advice.push(format!(
                "{} blocks found no place in the prefix index and cannot be hit; another --seed spreads them differently",
                grouped(self.unpublished)
            ));
        }
        advice
    }
}

/// A figure: its name, its value and its unit.
pub(crate) type Row = (&'static str, String, &'static str);

/// Writes figures with their values aligned.
pub(crate) fn write_rows(rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    for (name, value, unit) in rows {
        table.add_row([name, value.as_str(), unit]);
    }
    if let Some(values) = table.column_mut(1) {
        values.set_cell_alignment(CellAlignment::Right);
    }
    for line in table.lines() {
        writeln!(out, " {}", line.trim_end())?;
    }
    Ok(())
}

fn ratio(part: u64, whole: u64) -> f64 {
    // Counts of blocks are far below 2^53, where the conversion is exact.
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use kvblock::trace::Content;
    use kvblock::{BlockPool, PoolConfig};

    use super::*;
    use crate::sequential;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (number, expected) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), expected);
        }
    }

    #[test]
    fn a_ratio_of_nothing_is_zero() {
        assert!(ratio(0, 0).abs() < f64::EPSILON);
        assert!((ratio(1, 4) - 0.25).abs() < f64::EPSILON);
    }
    /// The summary of a replay that left the pool like this.
    fn summary(pool: &BlockPool, inconsistency: Option<&str>) -> Summary {
        let mut figures = sequential::replay(pool, &[], &Content::new(0, 1, 1), None, || {})
            .expect("nothing to replay");
        figures.inconsistency = inconsistency.map(String::from);
        let setting = Setting {
            trace: String::from("none"),
            format: None,
            mode: "sequential",
            seed: 0,
            id_tokens: 1,
            block_size: 1,
            blocks: 4,
            distinct_blocks: None,
        };
        Summary::new(setting, &figures)
    }

    #[test]
    fn what_is_held_or_reserved_at_the_end_is_a_defect() {
        let pool = BlockPool::new(&PoolConfig::new(4, 1)).expect("a small pool");
        assert_eq!(summary(&pool, None).defect(), None);

        let mut worker = pool.worker().expect("a worker");
        let mut reservation = pool.reserve(3).expect("all is free");
        let blocks = reservation.take(&mut worker, 2).expect("reserved");
        let defect = summary(&pool, None).defect().expect("held and reserved");
        assert!(defect.contains("leak: 2 blocks"), "{defect}");
        assert!(defect.contains("credits for 1 blocks"), "{defect}");

        drop((blocks, reservation));
        assert_eq!(summary(&pool, None).defect(), None);
    }

    #[test]
    fn an_inconsistency_is_a_defect() {
        let pool = BlockPool::new(&PoolConfig::new(4, 1)).expect("a small pool");
        let summary = summary(&pool, Some("block 3 is amiss"));
        assert_eq!(
            summary.defect().as_deref(),
            Some("the audit failed after 0 requests: block 3 is amiss")
        );
        let mut json = Vec::new();
        summary.write_json(&mut json).expect("written to memory");
        assert!(String::from_utf8_lossy(&json).contains("\"audit\": \"block 3 is amiss\""));
    }
}
