//! What is asked for of a fleet, complete and checked.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use clap::ValueEnum;

use crate::args::ReplayArgs;
use crate::failure::Failure;
use crate::serve::step_time::Nanos;
use crate::values::TimeArg;

/// Most shards of all instances together.
const MAX_SHARDS: usize = 4_096;

/// Which of the instances that can take a request gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Placement {
    /// The one with the longest cached prefix of it, then the one with the most free blocks
    Affinity,
    /// The one with the most free blocks
    MostFree,
    /// One after another
    RoundRobin,
}

impl Placement {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Affinity => "affinity",
            Self::MostFree => "most-free",
            Self::RoundRobin => "round-robin",
        }
    }
}

/// One more instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScaleOut {
    pub(crate) at: Nanos,
    /// When it has its weights.
    pub(crate) ready: Nanos,
}

/// The instances, and what is to happen to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FleetSettings {
    pub(crate) instances: usize,
    /// Blocks of each rank of an instance.
    pub(crate) ranks: Vec<usize>,
    /// Each rank's blocks were named.
    pub(crate) is_uneven: bool,
    /// The ranks are stages with a pool of their own each.
    pub(crate) split: bool,
    pub(crate) placement: Placement,
    pub(crate) scale_out: Option<ScaleOut>,
    pub(crate) migrate: bool,
    /// When instance 0 takes no more requests.
    pub(crate) drain_at: Option<Nanos>,
    /// Whether any of this was asked for.
    pub(crate) asked: bool,
}

impl FleetSettings {
    /// One instance of one rank.
    #[cfg(test)]
    pub(crate) fn one(blocks: usize) -> Self {
        Self {
            instances: 1,
            ranks: vec![blocks],
            is_uneven: false,
            split: false,
            placement: Placement::Affinity,
            scale_out: None,
            migrate: false,
            drain_at: None,
            asked: false,
        }
    }

    /// As the arguments say, if they go together.
    pub(crate) fn of(args: &ReplayArgs, blocks: usize) -> Result<Self, Failure> {
        let fleet = &args.fleet;
        let ranks = match (&fleet.uneven[..], fleet.shards) {
            // More are refused below.
            ([], shards) => vec![blocks; shards.map_or(1, usize::from).min(MAX_SHARDS + 1)],
            (uneven, Some(shards)) if uneven.len() != shards.get() => {
                return Err(Failure::Input(format!(
                    "--uneven names the blocks of {} ranks, and --shards says {shards}",
                    uneven.len()
                )));
            }
            (uneven, _) => uneven.iter().copied().map(usize::from).collect(),
        };
        let scale_out = fleet.scale_out_at.map(|TimeArg(at)| {
            let TimeArg(after) = fleet.ready_after.unwrap_or(TimeArg(0));
            ScaleOut {
                at,
                ready: at.saturating_add(after),
            }
        });
        let settings = Self {
            instances: fleet.instances.map_or(1, usize::from),
            ranks,
            is_uneven: !fleet.uneven.is_empty(),
            split: fleet.split,
            placement: fleet.placement.unwrap_or(Placement::Affinity),
            scale_out,
            migrate: fleet.migrate,
            drain_at: fleet.drain_at.map(|TimeArg(at)| at),
            asked: fleet.given().is_some(),
        };
        settings.check(args)?;
        Ok(settings)
    }

    /// Blocks that a sequence can have at most: those of the smallest rank.
    pub(crate) fn usable(&self) -> usize {
        self.ranks.iter().copied().min().unwrap_or_default()
    }

    /// Blocks of all ranks of an instance beyond the usable ones; stages have pools of their own, and strand none as such.
    pub(crate) fn stranded(&self) -> usize {
        if self.split {
            return 0;
        }
        let all: usize = self.ranks.iter().sum();
        all - self.usable() * self.ranks.len()
    }

    /// Whether there is ever more than one instance.
    pub(crate) const fn is_several(&self) -> bool {
        self.instances > 1 || self.scale_out.is_some()
    }

    fn check(&self, args: &ReplayArgs) -> Result<(), Failure> {
        let (fleet, serve) = (&args.fleet, &args.serve);
        let (several, ranks) = (self.is_several(), self.ranks.len());
        let instances = self
            .instances
            .saturating_add(self.scale_out.map_or(0, |_| 1));
        if instances.saturating_mul(ranks) > MAX_SHARDS {
            return Err(Failure::Input(format!(
                "{instances} instances of {ranks} shards are more than {MAX_SHARDS} shards, which is the most: name fewer with --instances or \
                 --shards"
            )));
        }
        let wrong = if !fleet.uneven.is_empty() && args.blocks.is_some() {
            "--uneven names the blocks of each rank, and --blocks of all: name one of the two"
        } else if self.split && ranks < 2 {
            "--split makes a stage of each shard: name two or more with --shards or --uneven"
        } else if fleet.ready_after.is_some() && self.scale_out.is_none() {
            "--ready-after says when a new instance is ready, and there is none: --scale-out-at adds one"
        } else if fleet.placement.is_some() && !several {
            "--placement chooses among instances, and there is one: more with --instances or --scale-out-at"
        } else if self.drain_at.is_some() && !several {
            "--drain-at ends the only instance: more with --instances or --scale-out-at"
        } else if self.migrate && self.scale_out.is_none() && self.drain_at.is_none() {
            "--migrate moves sequences to a new instance or from a drained one: name --scale-out-at or --drain-at"
        } else if (several || ranks > 1) && args.block_size.len() > 1 {
            "several block sizes are compared on one instance with one shard: name one with --block-size"
        } else if (several || ranks > 1) && !serve.resize.is_empty() {
            "--resize is of one instance with one shard"
        } else if several && serve.pin.is_some() {
            "--pin is of one instance: which one the next turn comes to is not known"
        } else {
            return Ok(());
        };
        Err(Failure::Input(String::from(wrong)))
    }
}
