//! The time line: how the pool and the queue looked, at most [`MOST`] times and evenly spread, however long the run is.

use alloc::vec::Vec;
use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use super::step_time::Nanos;
use crate::summary::grouped;

/// Samples of a time line.
const MOST: usize = 40;
/// Characters of the bar that shows how full the pool is.
const BAR: usize = 20;

/// The state in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Sample {
    pub(crate) time_s: f64,
    pub(crate) running: usize,
    pub(crate) waiting: usize,
    pub(crate) held: usize,
    pub(crate) idle: usize,
    pub(crate) free: usize,
    pub(crate) reserved: usize,
    pub(crate) tail_waste: u64,
    pub(crate) online: usize,
    pub(crate) draining: usize,
    /// Held by the device's last step alone.
    pub(crate) quarantined: usize,
    /// Held for writers, and those of them whose content nobody wants any more.
    pub(crate) loading: usize,
    pub(crate) late: usize,
    /// Held by pins, a shared one once a pin.
    pub(crate) pinned: usize,
    /// Still to be carried by swaps, and held in host memory.
    pub(crate) swapping: usize,
    pub(crate) host_held: usize,
}

type Count = fn(&Sample) -> usize;

const ONLINE: &str = "online";

/// Columns that are shown only if they tell anything.
const LIFETIMES: [(&str, Count); 8] = [
    (ONLINE, |sample| sample.online),
    ("draining", |sample| sample.draining),
    ("quarantined", |sample| sample.quarantined),
    ("loading", |sample| sample.loading),
    ("late", |sample| sample.late),
    ("pinned", |sample| sample.pinned),
    ("swapping", |sample| sample.swapping),
    ("on the host", |sample| sample.host_held),
];

/// Samples at a distance that doubles whenever there are too many.
#[derive(Debug)]
pub(crate) struct Spread<T> {
    samples: Vec<T>,
    every: Nanos,
    next: Nanos,
}

impl<T> Spread<T> {
    pub(crate) const fn new() -> Self {
        Self {
            samples: Vec::new(),
            every: 1_000_000,
            next: 0,
        }
    }

    /// Whether a sample is due.
    pub(crate) const fn is_due(&self, now: Nanos) -> bool {
        now >= self.next
    }

    pub(crate) fn add(&mut self, now: Nanos, sample: T) {
        self.samples.push(sample);
        if self.samples.len() == MOST {
            let mut at = 0;
            self.samples.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.every = self.every.saturating_mul(2);
        }
        self.next = (now / self.every)
            .saturating_add(1)
            .saturating_mul(self.every);
    }

    pub(crate) fn into_samples(self) -> Vec<T> {
        self.samples
    }
}

/// The time line of one engine.
#[derive(Debug)]
pub(crate) struct Timeline(Spread<Sample>);

impl Timeline {
    pub(crate) const fn new() -> Self {
        Self(Spread::new())
    }

    /// Whether a sample is due.
    pub(crate) const fn is_due(&self, now: Nanos) -> bool {
        self.0.is_due(now)
    }

    #[expect(clippy::cast_precision_loss, reason = "a figure to read")]
    pub(crate) fn add(&mut self, now: Nanos, sample: Sample) {
        let time_s = now as f64 / 1e9;
        self.0.add(now, Sample { time_s, ..sample });
    }

    pub(crate) fn into_samples(self) -> Vec<Sample> {
        self.0.into_samples()
    }
}

/// Prints the samples, a row each, with a bar of how much of the pool is held.
pub(crate) fn write(samples: &[Sample], out: &mut impl Write) -> io::Result<()> {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    let lasting: Vec<_> = LIFETIMES
        .iter()
        .filter(|(name, of)| {
            // The pool's size tells something if it changes.
            let usual = match *name {
                ONLINE => samples.first().map_or(0, of),
                _ => 0,
            };
            samples.iter().any(|sample| of(sample) != usual)
        })
        .collect();
    let names = [
        "time s",
        "running",
        "waiting",
        "held",
        "idle",
        "free",
        "reserved",
        "tail waste",
    ];
    let lasting_names = lasting.iter().map(|(name, _)| *name);
    table.add_row(
        names
            .into_iter()
            .chain(lasting_names)
            .chain(["held of the pool"]),
    );
    for sample in samples {
        let figures = [
            alloc::format!("{:.1}", sample.time_s),
            grouped(sample.running as u64),
            grouped(sample.waiting as u64),
            grouped(sample.held as u64),
            grouped(sample.idle as u64),
            grouped(sample.free as u64),
            grouped(sample.reserved as u64),
            grouped(sample.tail_waste),
        ];
        let more = lasting.iter().map(|(_, of)| grouped(of(sample) as u64));
        let whole = sample.held + sample.quarantined + sample.idle + sample.free;
        let bar = bar(sample.held + sample.quarantined, whole);
        table.add_row(figures.into_iter().chain(more).chain([bar]));
    }
    for column in table.column_iter_mut().take(names.len() + lasting.len()) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for line in table.lines() {
        writeln!(out, " {}", line.trim_end())?;
    }
    Ok(())
}

fn bar(part: usize, whole: usize) -> alloc::string::String {
    "█".repeat((part * BAR).checked_div(whole).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_spread_over_any_run() {
        for steps in [10_u64, 1_000, 123_456] {
            let mut timeline = Timeline::new();
            for step in 0..steps {
                let now = step * 7_000_000;
                if timeline.is_due(now) {
                    timeline.add(now, Sample::default());
                }
            }
            let samples = timeline.into_samples();
            let wanted = usize::try_from(steps).unwrap().min(MOST / 2);
            assert!(
                (wanted..=MOST).contains(&samples.len()),
                "{steps}: {}",
                samples.len()
            );
            assert!(samples.is_sorted_by(|a, b| a.time_s < b.time_s));
            // Up to the end, but for one distance.
            let (last, end) = (samples[samples.len() - 1].time_s, (steps * 7) as f64 / 1e3);
            assert!(last >= end * 0.9 - 0.01, "{steps}: {last} of {end}");
        }
    }

    #[test]
    fn rows_have_a_bar() {
        let samples = alloc::vec![Sample { held: 3, free: 3, ..Sample::default() }; MOST];
        let mut out = Vec::new();
        write(&samples, &mut out).unwrap();
        let text = alloc::string::String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 1 + MOST);
        assert!(
            text.lines().nth(1).unwrap().ends_with(&"█".repeat(BAR / 2)),
            "{text}"
        );
    }

    #[test]
    fn a_pool_of_nothing_has_an_empty_bar() {
        assert_eq!(bar(0, 0), "");
    }
}
