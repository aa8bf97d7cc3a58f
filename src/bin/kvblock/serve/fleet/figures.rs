//! What is noted of each instance, and of the fleet as such.

use alloc::vec::Vec;

use kvblock::SequencesReport;
use serde::{Serialize, Serializer};

use crate::serve::figures::Lookups;
use crate::serve::step_time::Nanos;
use crate::serve::swap::SwapFigures;

/// What an instance came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct EngineFigures {
    /// Requests that were first admitted here.
    pub(crate) requests: u64,
    pub(crate) computed_tokens: u64,
    pub(crate) generated_tokens: u64,
    pub(crate) steps: u64,
    #[serde(rename = "busy_s", serialize_with = "seconds")]
    pub(crate) busy: Nanos,
    pub(crate) held_most: usize,
    pub(crate) moved_in: u64,
    pub(crate) moved_out: u64,
    /// Of the moves to this instance.
    pub(crate) moves_aborted: u64,
    /// Whether it was added while the others served.
    #[serde(skip)]
    pub(crate) is_new: bool,
    /// When it was added, when it could take requests, and when it got the first one.
    #[serde(rename = "added_s", serialize_with = "seconds")]
    pub(crate) added: Nanos,
    #[serde(rename = "ready_s", serialize_with = "some_seconds")]
    pub(crate) ready: Option<Nanos>,
    #[serde(rename = "first_request_s", serialize_with = "some_seconds")]
    pub(crate) first_request: Option<Nanos>,
    /// When it took no more of them, and when it was empty.
    #[serde(rename = "drained_from_s", serialize_with = "some_seconds")]
    pub(crate) drained_from: Option<Nanos>,
    #[serde(rename = "removed_s", serialize_with = "some_seconds")]
    pub(crate) removed: Option<Nanos>,
    /// What moved sequences found here, which the registry counts among the returns.
    #[serde(skip)]
    pub(crate) moved: Lookups,
}

/// An instance at the end of the run.
#[derive(Clone, Debug)]
pub(crate) struct InstanceEnd {
    pub(crate) figures: EngineFigures,
    /// Of each shard; one in lockstep.
    pub(crate) reports: Vec<SequencesReport>,
    /// Of its host tier, if it has one, and what swaps came to.
    pub(crate) host: Vec<SequencesReport>,
    pub(crate) swapped: Option<SwapFigures>,
}

/// A request that fits into the blocks of all instances together, and into none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct FitsInTotal {
    pub(crate) requests: u64,
    /// Of the first one: the blocks that it needs, the most that one instance had, and what all of them had.
    pub(crate) needed: usize,
    pub(crate) largest: usize,
    pub(crate) sum: usize,
}

impl FitsInTotal {
    /// Counts a request that all instances have refused, if what they have together is enough.
    pub(crate) fn note(&mut self, needed: usize, had: &[usize]) {
        let sum = had.iter().fold(0, |sum: usize, it| sum.saturating_add(*it));
        if had.len() < 2 || needed > sum {
            return;
        }
        self.requests += 1;
        if self.requests == 1 {
            (self.needed, self.sum) = (needed, sum);
            self.largest = had.iter().copied().max().unwrap_or(0);
        }
    }
}

/// What moves came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct MoveFigures {
    /// The sum of the next three.
    pub(crate) begun: u64,
    pub(crate) committed: u64,
    /// By the fate of the move; the source went on.
    pub(crate) aborted: u64,
    /// As memory was short, or the request ended amid it; in the first case the source went on.
    pub(crate) called_off: u64,
    /// Blocks that were written at the destinations, and those that were found there.
    pub(crate) written_blocks: u64,
    pub(crate) found_blocks: u64,
    /// The most blocks at a time that an instance shared with the other end of a move.
    pub(crate) duplicated_most: usize,
    /// The most blocks at a time that late writers of aborted moves might touch.
    pub(crate) late_most: usize,
    /// How long the sequences waited, all together.
    #[serde(rename = "paused_ms", serialize_with = "milliseconds")]
    pub(crate) paused: Nanos,
}

#[expect(clippy::cast_precision_loss, reason = "a figure to read")]
fn seconds<S: Serializer>(nanos: &Nanos, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_f64(*nanos as f64 / 1e9)
}

#[expect(clippy::cast_precision_loss, reason = "a figure to read")]
fn milliseconds<S: Serializer>(nanos: &Nanos, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_f64(*nanos as f64 / 1e6)
}

#[expect(clippy::cast_precision_loss, reason = "a figure to read")]
fn some_seconds<S: Serializer>(nanos: &Option<Nanos>, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_some(&nanos.map(|nanos| nanos as f64 / 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_in_total_and_nowhere_is_counted() {
        let mut found = FitsInTotal::default();
        for needed in [4, 6, 7] {
            found.note(needed, &[3, 2, 1]);
        }
        found.note(3, &[4]);
        let expected = FitsInTotal {
            requests: 2,
            needed: 4,
            largest: 3,
            sum: 6,
        };
        assert_eq!(found, expected);
    }
}
