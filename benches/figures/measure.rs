//! Samples, their statistics, and the table.

use core::hint::black_box;
use core::sync::atomic::{AtomicU64, Ordering::AcqRel};
use core::time::Duration;
use std::time::Instant;

/// `fetch_add`s of one sample.
const ADDS: u32 = 2000;

/// Nanoseconds of one uncontended `fetch_add`, by one sample.
fn fetch_add() -> f64 {
    let word = AtomicU64::new(0);
    let time = timed(|| {
        for _ in 0..ADDS {
            black_box(black_box(&word).fetch_add(1, AcqRel));
        }
    });
    nanoseconds(time) / f64::from(ADDS)
}

pub(crate) fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

pub(crate) fn nanoseconds(time: Duration) -> f64 {
    time.as_nanos() as f64
}

/// The value below which this share of the values lies, in thousandths.
pub(crate) fn quantile(values: &[f64], thousandths: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len().saturating_sub(1) * thousandths).div_ceil(1000);
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

pub(crate) fn median(values: &[f64]) -> f64 {
    quantile(values, 500)
}

/// How often the scheduler took the processor away from this thread; `None` where the system does not say.
pub(crate) fn preemptions() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/thread-self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}

/// Something to be sampled.
pub(crate) struct Row<'a> {
    name: String,
    /// What a figure is for: a call, a block.
    unit: &'static str,
    gate: Option<f64>,
    /// Prepares, and returns the time of a sample for each unit, in nanoseconds.
    sample: Box<dyn FnMut() -> f64 + 'a>,
    times: Vec<f64>,
    ratios: Vec<f64>,
}

impl<'a> Row<'a> {
    /// `sample` returns the time of its timed part, and how many units that was.
    pub(crate) fn new(
        name: impl Into<String>,
        unit: &'static str,
        gate: Option<f64>,
        mut sample: impl FnMut() -> (Duration, usize) + 'a,
    ) -> Self {
        Self {
            name: name.into(),
            unit,
            gate,
            sample: Box::new(move || {
                let (time, units) = sample();
                nanoseconds(time) / units as f64
            }),
            times: Vec::new(),
            ratios: Vec::new(),
        }
    }

    pub(crate) fn drop_gate(&mut self) {
        self.gate = None;
    }
}

/// Samples all rows in turn, each right after and before a `fetch_add`, so that a noisy moment hits all alike; prints the table.
pub(crate) fn table(title: &str, rows: &mut [Row<'_>], samples: usize) {
    for row in &mut *rows {
        (row.sample)();
    }
    let mut adds = Vec::new();
    for _ in 0..samples {
        for row in &mut *rows {
            let before = fetch_add();
            let time = (row.sample)();
            let after = fetch_add();
            row.times.push(time);
            row.ratios.push(time * 2.0 / (before + after));
            adds.extend([before, after]);
        }
    }
    println!(
        "{title}\n{samples} samples a row, interleaved; fetch_add: median {:.2} ns, 10 % below {:.2}, 90 % below {:.2}",
        median(&adds),
        quantile(&adds, 100),
        quantile(&adds, 900)
    );
    println!(
        "{:<44} {:>10} {:>9} {:>17} {:>6}  verdict",
        "", "median ns", "fetch_adds", "(10 % .. 90 %)", "gate"
    );
    for row in rows {
        let ratio = median(&row.ratios);
        println!(
            "{:<44} {:>10.2} {:>9.2} {:>17} {:>6}  {}",
            format!("{}, a {}", row.name, row.unit),
            median(&row.times),
            ratio,
            format!(
                "({:.2} .. {:.2})",
                quantile(&row.ratios, 100),
                quantile(&row.ratios, 900)
            ),
            row.gate.map_or(String::new(), |gate| format!("{gate}")),
            at_most(ratio, row.gate),
        );
    }
}

pub(crate) fn at_most(value: f64, gate: Option<f64>) -> String {
    verdict(gate.map(|gate| value / gate - 1.0))
}

pub(crate) fn at_least(value: f64, gate: Option<f64>) -> String {
    verdict(gate.map(|gate| 1.0 - value / gate))
}

fn verdict(excess: Option<f64>) -> String {
    match excess {
        None => String::new(),
        Some(excess) if excess <= 0.0 => "met".into(),
        Some(excess) => format!("MISSED by {:.0} %", (100.0 * excess).max(1.0)),
    }
}
