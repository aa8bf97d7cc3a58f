//! What a run counts.

use alloc::string::String;
use alloc::vec::Vec;

use kvblock::{HitStatistics, SequencesReport};

use super::fetch::FetchFigures;
use super::fleet::figures::{FitsInTotal, InstanceEnd, MoveFigures};
use super::fleet::timeline::FleetSample;
use super::job::{Ending, Job};
use super::memory::Tables;
use super::pins::PinFigures;
use super::resize::Resized;
use super::samples::Samples;
use super::step_time::Nanos;
use super::swap::SwapFigures;
use super::timeline::Sample;
use super::tree::TreeFigures;
use crate::values::Slo;

/// Counts and samples of a run.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) arrived: u64,
    pub(crate) completed: u64,
    pub(crate) cancelled: u64,
    pub(crate) refused_never: u64,
    /// Requests that ever waited for memory before their first admission.
    pub(crate) refused_shortfall: u64,
    pub(crate) failed: u64,
    /// The most positions that a request needed which could never be admitted.
    pub(crate) longest_refused: u64,
    /// Sequences that lost their memory and are computed again, and the positions of them that were.
    pub(crate) preemptions: u64,
    pub(crate) recomputed: u64,
    pub(crate) forks: u64,
    /// Branches that were not made by a fork, for want of memory, and were admitted later instead.
    pub(crate) branches_queued: u64,
    /// The same for want of a place among the sequences.
    pub(crate) branches_without_slot: u64,
    /// What those found when they were admitted.
    pub(crate) joined: Lookups,
    /// What later turns of sessions found when they were first admitted.
    pub(crate) later_turns: Lookups,
    /// Appends that waited for quarantined blocks instead of taking a sequence's memory.
    pub(crate) waits_for_fences: u64,
    /// The most blocks that only the device's last step held.
    pub(crate) quarantined_most: usize,
    pub(crate) drafts: u64,
    pub(crate) rejected_drafts: u64,
    pub(crate) steps: u64,
    /// Steps that used the whole token budget, and steps in which the queue's head waited for memory.
    pub(crate) full_steps: u64,
    pub(crate) short_steps: u64,
    /// Positions that were computed, the accepted drafts among them.
    pub(crate) computed: u64,
    /// Tokens that were generated.
    pub(crate) generated: u64,
    /// Prompt and answer tokens of all requests that arrived, and of those that were completed.
    pub(crate) offered_tokens: u64,
    pub(crate) served_tokens: u64,
    /// Completed requests that met both limits, and those that missed one or the other.
    pub(crate) good: u64,
    pub(crate) late: u64,
    pub(crate) slow: u64,
    pub(crate) last_arrival: Nanos,
    pub(crate) ttft: Samples,
    pub(crate) gaps: Samples,
    pub(crate) inputs: Samples,
    pub(crate) outputs: Samples,
    pub(crate) means: Means,
    pub(crate) audits: u64,
    /// The first inconsistency that an audit found; the run ends there.
    pub(crate) inconsistency: Option<String>,
    /// Requests that waited although the free blocks of all instances were enough together, and those that were refused for ever
    /// although all their blocks would be.
    pub(crate) fits_now: FitsInTotal,
    pub(crate) fits_ever: FitsInTotal,
    pub(crate) moves: MoveFigures,
    /// What moved sequences found where they came to; the registries count that among the returns.
    pub(crate) moved: Lookups,
    /// Only of a trace of trees.
    pub(crate) tree: Option<TreeFigures>,
}

impl Figures {
    pub(crate) fn arrive(&mut self, job: &Job) {
        self.arrived += 1;
        self.last_arrival = self.last_arrival.max(job.arrival);
        self.offered_tokens = self.offered_tokens.saturating_add(job.asked());
        self.inputs.add(job.input as u64);
        self.outputs.add(job.output);
    }

    /// Counts how a request ended.
    pub(crate) fn end(&mut self, job: &Job, ending: Ending, slo: Slo) {
        match ending {
            Ending::Completed => {
                self.completed += 1;
                self.served_tokens = self.served_tokens.saturating_add(job.asked());
                let late = job.time_to_first_token() > slo.ttft;
                let slow = job.mean_gap() > slo.gap;
                self.late += u64::from(late);
                self.slow += u64::from(slow);
                self.good += u64::from(!late && !slow);
            }
            Ending::Cancelled => self.cancelled += 1,
            Ending::RefusedNever => self.refused_never += 1,
            Ending::Failed => self.failed += 1,
        }
    }

    pub(crate) const fn ended(&self) -> u64 {
        self.completed + self.cancelled + self.refused_never + self.failed
    }
}

/// What admissions of a kind looked up and found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lookups {
    pub(crate) requests: u64,
    pub(crate) queried: u64,
    pub(crate) hit: u64,
}

impl Lookups {
    pub(crate) const fn add(&mut self, queried: usize, hit: usize) {
        self.requests += 1;
        self.queried += queried as u64;
        self.hit += hit as u64;
    }

    pub(crate) const fn extend(&mut self, statistics: &HitStatistics) {
        self.requests += statistics.requests;
        self.queried += statistics.queried;
        self.hit += statistics.hit;
    }

    /// Positions that were found, of those looked up.
    #[expect(clippy::cast_precision_loss, reason = "a figure to read")]
    pub(crate) fn ratio(&self) -> f64 {
        if self.queried == 0 {
            0.0
        } else {
            self.hit as f64 / self.queried as f64
        }
    }
}

/// Sums over the time that steps took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Means {
    time: u128,
    waste: u128,
    entries: u128,
    held: u128,
}

impl Means {
    pub(crate) fn add(&mut self, took: Nanos, tables: Tables, held: usize) {
        let took = u128::from(took);
        self.time += took;
        self.waste += took * u128::from(tables.tail_waste);
        self.entries += took * u128::from(tables.entries);
        self.held += took * held as u128;
    }

    /// Unused positions of last blocks.
    pub(crate) fn tail_waste(&self) -> f64 {
        self.mean(self.waste)
    }

    /// Entries of the block tables of running sequences.
    pub(crate) fn entries(&self) -> f64 {
        self.mean(self.entries)
    }

    /// Blocks with a holder.
    pub(crate) fn held(&self) -> f64 {
        self.mean(self.held)
    }

    #[expect(clippy::cast_precision_loss, reason = "a figure to read")]
    fn mean(&self, sum: u128) -> f64 {
        if self.time == 0 {
            0.0
        } else {
            sum as f64 / self.time as f64
        }
    }
}

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) figures: Figures,
    pub(crate) series: Vec<Sample>,
    /// The virtual time at the end, and how much of it steps took.
    pub(crate) time: Nanos,
    pub(crate) busy: Nanos,
    pub(crate) fetched: FetchFigures,
    pub(crate) pinned: PinFigures,
    pub(crate) swapped: SwapFigures,
    pub(crate) resized: Vec<Resized>,
    /// Each instance, and if it is a fleet, what there was over the time.
    pub(crate) instances: Vec<InstanceEnd>,
    pub(crate) fleet_series: Vec<FleetSample>,
    /// Sums over what the registries and their pools say at the end.
    pub(crate) totals: Totals,
}

impl Outcome {
    /// The time that each instance was there, all together.
    pub(crate) fn lifetimes(&self) -> Nanos {
        let of = |it: &InstanceEnd| {
            let end = it.figures.removed.unwrap_or(self.time);
            end.saturating_sub(it.figures.ready.unwrap_or(end))
        };
        self.instances.iter().map(of).sum()
    }
}

/// Sums over the registries and pools of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) preemptions: u64,
    /// Lookups of first admissions, and of returns after a preemption.
    pub(crate) first: Lookups,
    pub(crate) returned: Lookups,
    pub(crate) copies: u64,
    pub(crate) adopted: u64,
    pub(crate) reclaims: u64,
    /// At the end: blocks that somebody or a fence holds, credits, sequences.
    pub(crate) held: u64,
    pub(crate) reserved: u64,
    pub(crate) sequences: u64,
    /// What the host tiers' registries and pools say.
    pub(crate) host: HostTotals,
    /// Blocks that were copied back to the device, and found there instead.
    pub(crate) swapped_in: u64,
    pub(crate) swap_in_hits: u64,
}

/// Sums over the host tiers of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HostTotals {
    /// Blocks that were copied there, and found there instead.
    pub(crate) swapped_out: u64,
    pub(crate) swap_out_hits: u64,
    pub(crate) reclaims: u64,
    pub(crate) capacity: u64,
    /// At the end.
    pub(crate) held: u64,
    pub(crate) idle: u64,
    pub(crate) free: u64,
    pub(crate) reserved: u64,
    pub(crate) sequences: u64,
}

impl HostTotals {
    fn add(&mut self, shards: &[SequencesReport]) {
        self.sequences += shards.first().map_or(0, |it| it.sequences as u64);
        for report in shards {
            let pool = &report.pool;
            self.swapped_out += report.swap_copied;
            self.swap_out_hits += report.swap_hits;
            self.reclaims += pool.reclaims;
            self.capacity += pool.capacity as u64;
            self.held += (pool.held + pool.quarantined) as u64;
            self.idle += pool.idle as u64;
            self.free += pool.free as u64;
            self.reserved += pool.reserved as u64;
        }
    }
}

impl Totals {
    /// Adds those of an instance: its shards have the same sequences.
    pub(crate) fn add(&mut self, shards: &[SequencesReport], host: &[SequencesReport]) {
        self.host.add(host);
        if let Some(first) = shards.first() {
            self.preemptions += first.preemptions;
            self.first.extend(&first.first);
            self.returned.extend(&first.returned);
            self.sequences += first.sequences as u64;
        }
        for report in shards {
            self.swapped_in += report.swap_copied;
            self.swap_in_hits += report.swap_hits;
            self.copies += report.copies;
            self.adopted += report.adopted;
            self.reclaims += report.pool.reclaims;
            self.held += (report.pool.held + report.pool.quarantined) as u64;
            self.reserved += report.pool.reserved as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_weighted_by_time() {
        let mut means = Means::default();
        let tables = |entries| Tables {
            entries,
            tail_waste: 2 * entries,
        };
        means.add(1, tables(10), 4);
        means.add(3, tables(2), 0);
        assert!((means.entries() - 4.0).abs() < 1e-9);
        assert!((means.tail_waste() - 8.0).abs() < 1e-9);
        assert!((means.held() - 1.0).abs() < 1e-9);
        assert!(Means::default().held().abs() < 1e-9);
    }
}
