//! What happens before what: clocks of lanes, and races between operations that nothing orders.
//!
//! A lane is a stream, the legacy default stream, a chain of a graph, or the host (all its threads together, so that what
//! they do among themselves is taken as ordered). An operation's clock holds, for each lane, the last point that is known
//! to be over when it starts. Of two accesses to a byte, one of them a write, one must know of the other.

use crate::findings::Findings;
use crate::mark::add_range;

/// A point of a lane: its `time`-th operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) lane: usize,
    pub(crate) time: u32,
}

/// For each lane the last point known to be over.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clock(Vec<u32>);

impl Clock {
    pub(crate) fn get(&self, lane: usize) -> u32 {
        self.0.get(lane).copied().unwrap_or(0)
    }

    pub(crate) fn raise(&mut self, point: Point) {
        if self.0.len() <= point.lane {
            self.0.resize(point.lane + 1, 0);
        }
        self.0[point.lane] = self.0[point.lane].max(point.time);
    }

    pub(crate) fn join(&mut self, other: &Self) {
        for (lane, time) in other.0.iter().enumerate() {
            self.raise(Point { lane, time: *time });
        }
    }

    fn knows(&self, point: Point) -> bool {
        self.get(point.lane) >= point.time
    }

    /// The points that both know.
    pub(crate) fn meet(&mut self, other: &Self) {
        for (lane, time) in self.0.iter_mut().enumerate() {
            *time = (*time).min(other.get(lane));
        }
    }
}

/// Ranges of addresses, sorted and apart.
pub(crate) type Ranges = Vec<(u64, u64)>;

/// What one operation read and wrote.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) point: Point,
    pub(crate) label: String,
    pub(crate) reads: Ranges,
    pub(crate) writes: Ranges,
}

/// The accesses that later operations may race with.
#[derive(Debug, Default)]
pub(crate) struct Order {
    records: Vec<Record>,
    prune_at: usize,
}

impl Order {
    /// Compares an operation with the earlier ones, then keeps it.
    pub(crate) fn add(&mut self, mut record: Record, clock: &Clock, findings: &mut Findings) {
        sort(&mut record.reads);
        sort(&mut record.writes);
        if record.reads.is_empty() && record.writes.is_empty() {
            return;
        }
        for earlier in self
            .records
            .iter()
            .filter(|earlier| !clock.knows(earlier.point))
        {
            let overlap = overlap(&earlier.writes, &record.writes)
                .or_else(|| overlap(&earlier.writes, &record.reads))
                .or_else(|| overlap(&earlier.reads, &record.writes));
            if let Some((start, end)) = overlap {
                findings.race(format!(
                    "{} and {} are not ordered, and touch {} bytes at {start:#x}",
                    earlier.label,
                    record.label,
                    end - start
                ));
            }
        }
        self.records.push(record);
    }

    /// Whether somebody who knows `clock` would race with an earlier operation on a range: the operation's label.
    pub(crate) fn in_flight(&self, clock: &Clock, range: (u64, u64)) -> Option<&str> {
        let touches = |record: &&Record| {
            overlap(&record.reads, &[range])
                .or_else(|| overlap(&record.writes, &[range]))
                .is_some()
        };
        self.records
            .iter()
            .filter(|record| !clock.knows(record.point))
            .find(touches)
            .map(|record| record.label.as_str())
    }

    pub(crate) fn is_full(&self) -> bool {
        self.records.len() > self.prune_at.max(64)
    }

    /// Forgets what everybody who still comes knows of.
    pub(crate) fn prune(&mut self, floor: &Clock) {
        self.records.retain(|record| !floor.knows(record.point));
        self.prune_at = self.records.len() * 2;
    }
}

fn sort(ranges: &mut Ranges) {
    if ranges.is_sorted() {
        return;
    }
    ranges.sort_unstable();
    let mut joined = Ranges::with_capacity(ranges.len());
    for (start, end) in ranges.drain(..) {
        match joined.last_mut() {
            Some((_, last)) if *last >= start => *last = (*last).max(end),
            _ => add_range(&mut joined, start, end),
        }
    }
    *ranges = joined;
}

fn overlap(left: &[(u64, u64)], right: &[(u64, u64)]) -> Option<(u64, u64)> {
    let (mut at, mut other) = (0, 0);
    while at < left.len() && other < right.len() {
        let (start, end) = (
            left[at].0.max(right[other].0),
            left[at].1.min(right[other].1),
        );
        if start < end {
            return Some((start, end));
        }
        if left[at].1 < right[other].1 {
            at += 1
        } else {
            other += 1
        }
    }
    None
}
