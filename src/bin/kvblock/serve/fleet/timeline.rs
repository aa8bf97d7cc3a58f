//! The time line of a fleet: what each instance has free, holds, cannot use, and holds twice for a move.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::serve::step_time::Nanos;
use crate::serve::timeline::Spread;
use crate::summary::grouped;

/// An instance at one instant: its ranks, which are alike, or one of its stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ShardSample {
    pub(crate) instance: usize,
    /// The stage; 0 in lockstep.
    pub(crate) shard: usize,
    pub(crate) running: usize,
    pub(crate) waiting: usize,
    pub(crate) free: usize,
    pub(crate) idle: usize,
    pub(crate) held: usize,
    pub(crate) quarantined: usize,
    /// Held for writers, and those of them whose content nobody wants any more.
    pub(crate) loading: usize,
    pub(crate) late: usize,
    /// Of all ranks, beyond what the smallest one has.
    pub(crate) stranded: usize,
    /// Held here and at the other end of a move.
    pub(crate) duplicated: usize,
}

/// All instances that there were at one instant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct FleetSample {
    pub(crate) time_s: f64,
    /// Requests that no instance has taken.
    pub(crate) waiting: usize,
    pub(crate) shards: Vec<ShardSample>,
}

/// Samples: evenly spread, after each change of the fleet, and when the most was held twice for moves.
#[derive(Debug)]
pub(crate) struct FleetTimeline {
    spread: Spread<FleetSample>,
    changes: Vec<FleetSample>,
    has_changed: bool,
    /// Blocks that all instances held twice then.
    most: usize,
    at_most: Option<FleetSample>,
}

impl FleetTimeline {
    pub(crate) const fn new() -> Self {
        Self {
            spread: Spread::new(),
            changes: Vec::new(),
            has_changed: false,
            most: 0,
            at_most: None,
        }
    }

    /// An instance came, became ready, took no more, or went: the next sample is one of that.
    pub(crate) const fn changed(&mut self) {
        self.has_changed = true;
    }

    /// Whether a sample is due while all instances hold so many blocks twice.
    pub(crate) const fn is_due(&self, now: Nanos, duplicated: usize) -> bool {
        self.has_changed || duplicated > self.most || self.spread.is_due(now)
    }

    #[expect(clippy::cast_precision_loss, reason = "a figure to read")]
    pub(crate) fn add(&mut self, now: Nanos, waiting: usize, shards: Vec<ShardSample>) {
        let duplicated = shards.iter().map(|it| it.duplicated).sum();
        let sample = FleetSample {
            time_s: now as f64 / 1e9,
            waiting,
            shards,
        };
        if duplicated > self.most {
            self.most = duplicated;
            self.at_most = Some(sample.clone());
        }
        if core::mem::take(&mut self.has_changed) {
            self.changes.push(sample.clone());
        }
        if self.spread.is_due(now) {
            self.spread.add(now, sample);
        }
    }

    /// By time.
    pub(crate) fn into_samples(self) -> Vec<FleetSample> {
        let mut samples = self.spread.into_samples();
        samples.extend(self.changes);
        samples.extend(self.at_most);
        samples.sort_by(|one, other| one.time_s.total_cmp(&other.time_s));
        samples.dedup();
        samples
    }
}

type Count = fn(&ShardSample) -> usize;

const COLUMNS: [(&str, Count); 3] = [
    ("run", |it| it.running),
    ("free", |it| it.free + it.idle),
    ("held", |it| it.held),
];
/// Columns that are shown only if they tell anything.
const RARE: [(&str, Count); 5] = [
    ("quarantined", |it| it.quarantined),
    ("stranded", |it| it.stranded),
    ("duplicated", |it| it.duplicated),
    ("loading", |it| it.loading),
    ("late", |it| it.late),
];

/// Columns that can be read side by side.
const WIDE: usize = 16;

/// A column: its title, whose it is, and what it counts.
type Column = (String, (usize, usize), Count);

/// Prints the samples, a row each; what is only cached counts as free. Columns of nothing are left out. All instances stand side by side,
/// or each has a table if they are many.
pub(crate) fn write(samples: &[FleetSample], out: &mut impl Write) -> io::Result<()> {
    let all = columns(samples);
    if all.len() <= WIDE {
        return write_table(samples, &all, out);
    }
    let mut left = &all[..];
    while let Some((_, (instance, _), _)) = left.first() {
        let own = left.iter().take_while(|(_, (it, _), _)| it == instance);
        let (own, rest) = left.split_at(own.count());
        let there = |it: &&FleetSample| it.shards.iter().any(|it| it.instance == *instance);
        let samples: Vec<_> = samples.iter().filter(there).cloned().collect();
        write_table(&samples, own, out)?;
        left = rest;
        if !left.is_empty() {
            writeln!(out)?;
        }
    }
    Ok(())
}

fn columns(samples: &[FleetSample]) -> Vec<Column> {
    let all = samples.iter().flat_map(|it| &it.shards);
    let names: BTreeSet<_> = all.map(|it| (it.instance, it.shard)).collect();
    let is_split = names.iter().any(|(_, shard)| *shard > 0);
    let mut columns = Vec::new();
    for name in names {
        let tells = |(_, count): &(&str, Count)| {
            let found = |sample| of(sample, name, *count).is_some_and(|it| it > 0);
            samples.iter().any(found)
        };
        for (title, count) in COLUMNS.into_iter().chain(RARE.into_iter().filter(tells)) {
            let title = match (name, is_split) {
                ((instance, shard), true) => format!("{instance}.{shard} {title}"),
                ((instance, _), false) => format!("{instance} {title}"),
            };
            columns.push((title, name, count));
        }
    }
    columns
}

fn of(sample: &FleetSample, name: (usize, usize), count: Count) -> Option<usize> {
    let mut shards = sample.shards.iter();
    shards.find(|it| (it.instance, it.shard) == name).map(count)
}

fn write_table(
    samples: &[FleetSample],
    columns: &[Column],
    out: &mut impl Write,
) -> io::Result<()> {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    let first = ["time s", "waiting"].map(String::from).into_iter();
    table.add_row(first.chain(columns.iter().map(|(name, _, _)| name.clone())));
    for sample in samples {
        let first = [
            format!("{:.1}", sample.time_s),
            grouped(sample.waiting as u64),
        ];
        let figures = columns.iter().map(|(_, name, count)| {
            of(sample, *name, *count).map_or_else(|| "-".into(), |it| grouped(it as u64))
        });
        table.add_row(first.into_iter().chain(figures));
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for line in table.lines() {
        writeln!(out, " {}", line.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_and_the_most_that_is_held_twice_have_samples_of_their_own() {
        let mut timeline = FleetTimeline::new();
        let mut sample = |now: Nanos, changed, duplicated| {
            if changed {
                timeline.changed();
            }
            let shard = ShardSample {
                duplicated,
                ..ShardSample::default()
            };
            let is_due = timeline.is_due(now, duplicated);
            if is_due {
                timeline.add(now, 0, Vec::from([shard]));
            }
            is_due
        };
        // Spread ones are a millisecond apart.
        let due = [
            sample(0, false, 0),
            sample(100_000, false, 0),
            sample(200_000, true, 0),
            sample(300_000, false, 5),
            sample(400_000, false, 7),
            sample(500_000, false, 6),
            sample(1_000_000, true, 0),
        ];
        assert_eq!(due, [true, false, true, true, true, false, true]);
        let samples = timeline.into_samples();
        let found: Vec<_> = samples
            .iter()
            .map(|it| (it.time_s, it.shards[0].duplicated))
            .collect();
        assert_eq!(found, [(0.0, 0), (0.0002, 0), (0.0004, 7), (0.001, 0)]);
    }

    #[test]
    fn an_instance_that_is_not_there_has_a_dash_and_columns_of_nothing_are_left_out() {
        let one = |instance, stranded| ShardSample {
            instance,
            free: 7,
            stranded,
            ..ShardSample::default()
        };
        let sample = |shards| FleetSample {
            time_s: 0.0,
            waiting: 0,
            shards,
        };
        let samples = [
            sample(Vec::from([one(0, 0)])),
            sample(Vec::from([one(0, 0), one(1, 3)])),
        ];
        let mut out = Vec::new();
        write(&samples, &mut out).expect("written to memory");
        let text = String::from_utf8(out).expect("text");
        let head = text.lines().next().expect("a head");
        assert!(head.contains("1 stranded"), "{text}");
        assert!(!head.contains("0 stranded"), "{text}");
        assert_eq!(text.lines().nth(1).expect("a row").matches('-').count(), 4);
    }

    #[test]
    fn many_instances_have_a_table_each_with_the_rows_of_their_time() {
        let one = |instance| ShardSample {
            instance,
            ..ShardSample::default()
        };
        let sample = |instances| FleetSample {
            time_s: 0.0,
            waiting: 0,
            shards: (0..instances).map(one).collect(),
        };
        let lines = |instances: [usize; 2]| {
            let mut out = Vec::new();
            write(&instances.map(sample), &mut out).expect("written to memory");
            String::from_utf8(out).expect("text").lines().count()
        };
        // Three columns each: fifteen stand side by side, a head and two rows.
        assert_eq!(lines([5, 5]), 3);
        // Six tables of three lines, but for that of the last one, which came later; and five empty lines.
        assert_eq!(lines([5, 6]), 5 * 3 + 2 + 5);
    }
}
