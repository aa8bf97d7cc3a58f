//! What a fleet reports: each instance, what moved, and what fits only in total.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use kvblock::SequencesReport;
use serde::Serialize;

use super::figures::{EngineFigures, FitsInTotal, InstanceEnd, MoveFigures};
use super::settings::FleetSettings;
use super::timeline::{self, FleetSample};
use crate::serve::figures::Outcome;
use crate::serve::settings::Settings;
use crate::serve::step_time::Nanos;
use crate::summary::grouped;

/// The figures of a fleet.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FleetSummary {
    shards: usize,
    split: bool,
    /// Blocks of each rank, what a sequence can have of each, and what all have beyond that.
    rank_blocks: Vec<usize>,
    usable: usize,
    stranded: usize,
    placement: &'static str,
    pub(super) migrate: bool,
    pub(super) fits_in_total_now: FitsInTotal,
    pub(super) fits_in_total_ever: FitsInTotal,
    pub(super) moves: MoveFigures,
    pub(super) instances: Vec<Instance>,
    series: Vec<FleetSample>,
    #[serde(skip)]
    pub(super) asked: FleetSettings,
    #[serde(skip)]
    pub(super) growth: String,
}

/// One instance.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Instance {
    instance: usize,
    #[serde(flatten)]
    pub(super) figures: EngineFigures,
    hit_ratio: f64,
    /// By recompute and by swap.
    preemptions: u64,
    /// Of each shard.
    held_at_end: Vec<usize>,
    sequences_at_end: usize,
    host: Option<HostTier>,
}

/// The host tier of an instance.
#[derive(Clone, Debug, Serialize)]
struct HostTier {
    preemptions_by_swap: u64,
    /// On the rank that has the most.
    held_most: usize,
    /// Of each rank.
    capacity: Vec<usize>,
    held_at_end: Vec<usize>,
}

impl Instance {
    fn new(instance: usize, end: &InstanceEnd) -> Self {
        let first = end.reports.first();
        let host = end.swapped.map(|swapped| HostTier {
            preemptions_by_swap: swapped.begun_out,
            held_most: swapped.host_held_most,
            capacity: end.host.iter().map(|it| it.pool.capacity).collect(),
            held_at_end: held(&end.host),
        });
        let by_recompute = first.map_or(0, |it| it.preemptions);
        let by_swap = host.as_ref().map_or(0, |it| it.preemptions_by_swap);
        Self {
            instance,
            figures: end.figures,
            hit_ratio: first.map_or(0.0, |it| it.first.ratio()),
            preemptions: by_recompute + by_swap,
            held_at_end: held(&end.reports),
            sequences_at_end: first.map_or(0, |it| it.sequences),
            host,
        }
    }

    /// Its shards that hold blocks after all has ended.
    fn leaks(&self) -> impl Iterator<Item = String> {
        let host = self.host.iter().flat_map(|it| &it.held_at_end);
        let of = |held: &usize, shard, what| {
            let leak = || format!("{held} by {what} {shard} of instance {}", self.instance);
            (*held > 0).then(leak)
        };
        let shards = self.held_at_end.iter().enumerate();
        let shards = shards.filter_map(move |(shard, held)| of(held, shard, "shard"));
        shards.chain(
            host.enumerate()
                .filter_map(move |(shard, held)| of(held, shard, "host tier")),
        )
    }
}

/// Blocks that somebody or a fence holds, of each shard.
fn held(reports: &[SequencesReport]) -> Vec<usize> {
    let held = |it: &SequencesReport| it.pool.held + it.pool.quarantined;
    reports.iter().map(held).collect()
}

impl FleetSummary {
    /// `None` if no fleet was asked for.
    pub(crate) fn new(settings: &Settings, outcome: &Outcome) -> Option<Self> {
        let (fleet, figures) = (&settings.fleet, &outcome.figures);
        fleet.asked.then(|| Self {
            shards: fleet.ranks.len(),
            split: fleet.split,
            rank_blocks: fleet.ranks.clone(),
            usable: fleet.usable(),
            stranded: fleet.stranded(),
            placement: fleet.placement.name(),
            migrate: fleet.migrate,
            fits_in_total_now: figures.fits_now,
            fits_in_total_ever: figures.fits_ever,
            moves: figures.moves,
            instances: outcome
                .instances
                .iter()
                .enumerate()
                .map(|(number, end)| Instance::new(number, end))
                .collect(),
            series: outcome.fleet_series.clone(),
            asked: fleet.clone(),
            growth: format!("{}", settings.growth),
        })
    }

    /// The option that names blocks.
    pub(crate) fn blocks_option(&self) -> &'static str {
        if self.asked.is_uneven {
            "--uneven"
        } else {
            "--blocks"
        }
    }

    /// Whether there was ever more than one instance.
    pub(crate) fn is_several(&self) -> bool {
        self.instances.len() > 1
    }

    /// The shards that hold blocks after all has ended.
    pub(crate) fn leaks(&self) -> String {
        leaks(&self.instances)
    }

    /// The instances, a row each, and what became of those that did not fit or moved.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "\nInstances, {} (computed and generated in tokens, held most in blocks):",
            self.shape()
        )?;
        let swaps = self.instances.iter().any(|it| it.host.is_some());
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        let mut names = Vec::from([
            "instance",
            "requests",
            "computed",
            "generated",
            "hit ratio",
            "held most",
            "preemptions",
        ]);
        if swaps {
            names.extend(["by swap", "host blocks", "held there"]);
        }
        names.extend([
            "moved in",
            "out",
            "aborted",
            "busy",
            "ready s",
            "first request s",
            "removed s",
        ]);
        table.add_row(names);
        for it in &self.instances {
            let figures = &it.figures;
            let mut row = Vec::from([
                format!("{}", it.instance),
                grouped(figures.requests),
                grouped(figures.computed_tokens),
                grouped(figures.generated_tokens),
                format!("{:.4}", it.hit_ratio),
                grouped(figures.held_most as u64),
                grouped(it.preemptions),
            ]);
            if let Some(host) = &it.host {
                row.extend([
                    grouped(host.preemptions_by_swap),
                    blocks(&host.capacity),
                    grouped(host.held_most as u64),
                ]);
            }
            row.extend([
                grouped(figures.moved_in),
                grouped(figures.moved_out),
                grouped(figures.moves_aborted),
                format!("{:.1} s", seconds(figures.busy)),
                instant(figures.ready),
                instant(figures.first_request),
                instant(figures.removed),
            ]);
            table.add_row(row);
        }
        for column in table.column_iter_mut() {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for line in table.lines() {
            writeln!(out, " {}", line.trim_end())?;
        }
        for (fits, when) in [
            (self.fits_in_total_now, "waited"),
            (self.fits_in_total_ever, "were refused for ever"),
        ] {
            if self.instances.len() > 1 {
                writeln!(
                    out,
                    " {} requests {when} that fit into all instances together and into none{}",
                    grouped(fits.requests),
                    first_of(&fits)
                )?;
            }
        }
        self.write_changes(out)?;
        if self.migrate {
            let moves = &self.moves;
            writeln!(
                out,
                " {} moves: {} committed, {} aborted, {} called off; {} blocks written, {} found there, {} held twice at most, {} for late writers; paused for {:.1} ms each",
                grouped(moves.begun),
                grouped(moves.committed),
                grouped(moves.aborted),
                grouped(moves.called_off),
                grouped(moves.written_blocks),
                grouped(moves.found_blocks),
                grouped(moves.duplicated_most as u64),
                grouped(moves.late_most as u64),
                seconds(moves.paused.checked_div(moves.begun).unwrap_or(0)) * 1e3
            )?;
        }
        Ok(())
    }

    /// A line for each instance that came or went.
    fn write_changes(&self, out: &mut impl Write) -> io::Result<()> {
        for it in &self.instances {
            let (number, figures) = (it.instance, &it.figures);
            if figures.is_new {
                writeln!(
                    out,
                    " instance {number} was added at {:.3} s, was ready at {} s and had its first request at {} s; {} running sequences moved to it",
                    seconds(figures.added),
                    instant(figures.ready),
                    instant(figures.first_request),
                    grouped(figures.moved_in)
                )?;
            }
            if figures.drained_from.is_some() {
                writeln!(
                    out,
                    " instance {number} took no requests from {} s on and was removed at {} s; {} running sequences moved away",
                    instant(figures.drained_from),
                    instant(figures.removed),
                    grouped(figures.moved_out)
                )?;
            }
        }
        Ok(())
    }

    /// What each instance consists of.
    fn shape(&self) -> String {
        let ranks = &self.rank_blocks;
        match (ranks.len(), self.split) {
            (1, _) => format!("{} blocks each", blocks(ranks)),
            (stages, true) => format!("{stages} stages with {} blocks each", blocks(ranks)),
            (count, false) => format!(
                "{count} ranks with {} blocks each, of which {} are usable and {} stranded",
                blocks(ranks),
                grouped(self.usable as u64),
                grouped(self.stranded as u64)
            ),
        }
    }

    /// Each instance over the time.
    pub(crate) fn write_series(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "\nOver the time, in blocks but for `waiting` (requests) and `run` (sequences); what is only cached is free:"
        )?;
        timeline::write(&self.series, out)
    }
}

/// The blocks of each rank, or of all if they have as many.
fn blocks(all: &[usize]) -> String {
    let (least, most) = (all.iter().min(), all.iter().max());
    if let (true, Some(each)) = (least == most, least) {
        return grouped(*each as u64);
    }
    let all: Vec<_> = all.iter().map(|it| grouped(*it as u64)).collect();
    all.join(" / ")
}

fn leaks(instances: &[Instance]) -> String {
    let found: Vec<_> = instances.iter().flat_map(Instance::leaks).collect();
    found.join(", ")
}

/// The numbers of the first of these requests.
pub(super) fn first_of(fits: &FitsInTotal) -> String {
    if fits.requests == 0 {
        return String::new();
    }
    format!(
        " (the first: {} needed, {} at most in one, {} in all)",
        grouped(fits.needed as u64),
        grouped(fits.largest as u64),
        grouped(fits.sum as u64)
    )
}

#[expect(clippy::cast_precision_loss, reason = "a figure to read")]
pub(super) fn seconds(nanos: Nanos) -> f64 {
    nanos as f64 / 1e9
}

fn instant(at: Option<Nanos>) -> String {
    at.map_or_else(|| "-".into(), |at| format!("{:.3}", seconds(at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leak_names_its_instance_its_tier_and_its_shard() {
        let holding = |instance, held: &[usize], on_host: Option<&[usize]>| Instance {
            instance,
            figures: EngineFigures::default(),
            hit_ratio: 0.0,
            preemptions: 0,
            held_at_end: held.into(),
            sequences_at_end: 0,
            host: on_host.map(|held| HostTier {
                preemptions_by_swap: 0,
                held_most: 0,
                capacity: vec![9; held.len()],
                held_at_end: held.into(),
            }),
        };
        let instances = [
            holding(0, &[0, 3], None),
            holding(1, &[0, 0], Some(&[0, 0])),
            holding(2, &[5, 0], Some(&[0, 7])),
        ];
        let expected = "3 by shard 1 of instance 0, 5 by shard 0 of instance 2, 7 by host tier 1 of instance 2";
        assert_eq!(leaks(&instances), expected);
        assert_eq!(leaks(&instances[1..2]), "");
    }
}
