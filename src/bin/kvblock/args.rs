//! The command line: subcommands, options, and the values that they take.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use kvblock::trace;

use crate::plan::PlanArgs;
use crate::serve::{Phases, Placement, step_time::StepTime};
use crate::values::{
    BudgetArg, Fraction, GrowthArg, HostBlocks, PinTime, ResizeArg, Share, Slo, TimeArg, Watermark,
    at_least_one,
};

/// Block allocator for the KV cache of LLM inference engines: replays real workloads and reports what the allocator did, and says
/// how many blocks fit into a device's memory.
#[derive(Debug, Parser)]
#[command(name = "kvblock", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Replay(Box<ReplayArgs>),
    Plan(Box<PlanArgs>),
}

/// Replay a trace of requests through a pool and report latencies, hits, preemptions, refusals and leaks.
///
/// Serve mode is continuous batching on a virtual clock: requests arrive at their times, are admitted in order, share cached
/// prefixes (compared token by token), are computed in chunks, grow by a token a step, and lose their memory to older ones
/// if there is no other. Without TRACE, a multi-turn chat workload is made from the seed.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES, after_long_help = EXAMPLES)]
pub(crate) struct ReplayArgs {
    /// The trace: JSON lines of Mooncake, of sessions or of trees, or Azure CSV, plain or .gz [default: the built-in chat
    /// workload]
    #[arg(value_name = "TRACE", conflicts_with = "phases")]
    pub(crate) trace: Option<PathBuf>,

    /// How requests meet each other
    #[arg(long, value_enum, default_value_t = Mode::Serve)]
    pub(crate) mode: Mode,

    /// The trace's row format [default: told from its first line]
    #[arg(long, value_enum)]
    pub(crate) format: Option<FormatArg>,

    /// Tokens that one id of the trace stands for [default: 512 for `hash_ids`, 16 for `runs` and for Azure,
    /// 64 for sessions]
    #[arg(long, value_name = "T", help_heading = "Blocks", value_parser = at_least_one, conflicts_with = "phases")]
    pub(crate) id_tokens: Option<NonZeroUsize>,

    /// Tokens of a block; several sizes, as in `16,32,64`, are tried one after another on the same memory and compared.
    /// In sequential mode one, and if it is not T, every prompt is cut anew into whole blocks [default: 16, sequential: T]
    #[arg(long, value_name = "B", help_heading = "Blocks", value_parser = at_least_one, value_delimiter = ',')]
    pub(crate) block_size: Vec<NonZeroUsize>,

    /// Blocks of the pool, of the first size [default: 8192, sequential: as --capacity]
    #[arg(long, value_name = "N", help_heading = "Blocks", value_parser = at_least_one, conflicts_with = "capacity")]
    pub(crate) blocks: Option<NonZeroUsize>,

    /// Sequential mode: blocks of the pool, as a fraction of the trace's distinct blocks, `5%` or `0.05` [default: 25%, or
    /// the longest request if that is more]
    #[arg(long, value_name = "FRACTION", help_heading = "Blocks")]
    pub(crate) capacity: Option<Fraction>,

    /// Seed of all chance: contents, the pool's hash key, cancellations, drafts, and the built-in workload
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Audit after every N steps, too, and not only at the end (sequential mode: after every N requests)
    #[arg(long, value_name = "N", help_heading = "Checks and results", value_parser = at_least_one)]
    pub(crate) audit_every: Option<NonZeroUsize>,

    /// Write the figures to this file, as one JSON object
    #[arg(long, value_name = "FILE", help_heading = "Checks and results")]
    pub(crate) json: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) serve: ServeArgs,

    #[command(flatten)]
    pub(crate) fleet: FleetArgs,
}

/// How serve mode serves.
#[derive(Debug, Args)]
#[command(next_help_heading = "Serving")]
pub(crate) struct ServeArgs {
    /// Tokens that a step computes at most: decoding sequences first, then chunks of prompts [default: 2048]
    #[arg(long, value_name = "TOKENS", value_parser = at_least_one)]
    pub(crate) token_budget: Option<NonZeroUsize>,

    /// Sequences that run at a time [default: 256]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) max_sequences: Option<NonZeroUsize>,

    /// What is promised to a sequence as it is admitted: `cap`, blocks for its whole answer; `ahead:BLOCKS`, so many beyond
    /// what it has; `on-demand`, nothing [default: ahead:2]
    #[arg(long, value_name = "GROWTH")]
    pub(crate) growth: Option<GrowthArg>,

    /// How shared blocks count for an admission [default: physical]
    #[arg(long, value_enum)]
    pub(crate) budget: Option<BudgetArg>,

    /// Blocks that admissions leave alone, for sequences that grow: a number or a percentage of the pool [default: 0]
    #[arg(long, value_name = "BLOCKS|PERCENT")]
    pub(crate) watermark: Option<Watermark>,

    /// The share of the requests that are cancelled, half of them amid their prompt and half amid their answer [default: 0]
    #[arg(long, value_name = "SHARE")]
    pub(crate) cancel: Option<Share>,

    /// Answers to each request; they share the prompt's blocks, and copy the last one when they write [default: 1]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) branch: Option<NonZeroUsize>,

    /// Tokens that a draft model guesses for each sequence and step; rejected ones are taken back [default: 0]
    #[arg(long, value_name = "K")]
    pub(crate) draft: Option<usize>,

    /// The probability that a draft is right, if those before it are [default: 0.7]
    #[arg(long, value_name = "SHARE")]
    pub(crate) accept: Option<Share>,

    /// What a step takes: a fixed time, a time for each token, and one for each block of context [default: 5ms,20us,10ns]
    #[arg(long, value_name = "TIMES")]
    pub(crate) step_time: Option<StepTime>,

    /// What a good request meets: the time to its first token, and the mean gap between its tokens [default:
    /// ttft=2s,gap=100ms]
    #[arg(long, value_name = "LIMITS")]
    pub(crate) slo: Option<Slo>,

    /// Sessions that run at a time, for a trace of sessions [default: 8]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) concurrent_sessions: Option<NonZeroUsize>,

    /// Takes blocks out of service and brings more into it while serving, in order of time: `60s=-25%,120s=+25%`, percentages of
    /// --blocks or numbers of blocks. A shrink that is refused is tried again at each step
    #[arg(long, value_name = "TIME=CHANGE", value_delimiter = ',')]
    pub(crate) resize: Vec<ResizeArg>,

    /// The engine runs a step ahead of the device: what is given back is quarantined for a step, and duplicates are kept to
    /// the end
    #[arg(long)]
    pub(crate) overlap: bool,

    /// The share of the requests whose prompt comes from a store, but for its last block; it is computed from there on [default: 0]
    #[arg(long, value_name = "SHARE")]
    pub(crate) fetch: Option<Share>,

    /// Who fills the blocks of a transfer, each its part of all of them [default: 2]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) writers: Option<NonZeroUsize>,

    /// Blocks that arrive at an instance in a step, of all transfers together [default: 64]
    #[arg(long, value_name = "BLOCKS", value_parser = at_least_one)]
    pub(crate) fetch_rate: Option<NonZeroUsize>,

    /// The share of the transfers that end midway: half of them as their request is cancelled, half as a writer fails and the
    /// engine computes the rest [default: 0]
    #[arg(long, value_name = "SHARE")]
    pub(crate) abort_transfers: Option<Share>,

    /// What becomes of a sequence that loses its memory to an older one [default: recompute]
    #[arg(long, value_enum)]
    pub(crate) on_shortfall: Option<OnShortfall>,

    /// Blocks of host memory that an instance swaps out to, for each rank: a number or a percentage of the pool [default: 100%]
    #[arg(long, value_name = "BLOCKS|PERCENT")]
    pub(crate) host_blocks: Option<HostBlocks>,

    /// Blocks that cross the bus between a rank and its host memory in a step, in each direction [default: 64]
    #[arg(long, value_name = "BLOCKS", value_parser = at_least_one)]
    pub(crate) swap_rate: Option<NonZeroUsize>,

    /// How long what a turn of a session has published is held for the next one, in seconds or as `1500ms` [default: not at
    /// all]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) pin: Option<PinTime>,

    /// Blocks that may be pinned: a number or a percentage of the pool [default: 25%]
    #[arg(long, value_name = "BLOCKS|PERCENT")]
    pub(crate) pin_budget: Option<Watermark>,
}

/// What becomes of a sequence that loses its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnShortfall {
    /// Its blocks are given back, and what is no longer cached of it is computed again
    Recompute,
    /// It goes to host memory and comes back; where that is full it is computed again
    Swap,
}

impl ServeArgs {
    /// The first option that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        [
            (self.token_budget.is_some(), "--token-budget"),
            (self.max_sequences.is_some(), "--max-sequences"),
            (self.growth.is_some(), "--growth"),
            (self.budget.is_some(), "--budget"),
            (self.watermark.is_some(), "--watermark"),
            (self.cancel.is_some(), "--cancel"),
            (self.branch.is_some(), "--branch"),
            (self.draft.is_some(), "--draft"),
            (self.accept.is_some(), "--accept"),
            (self.step_time.is_some(), "--step-time"),
            (self.slo.is_some(), "--slo"),
            (self.concurrent_sessions.is_some(), "--concurrent-sessions"),
            (!self.resize.is_empty(), "--resize"),
            (self.overlap, "--overlap"),
            (self.fetch.is_some(), "--fetch"),
            (self.writers.is_some(), "--writers"),
            (self.fetch_rate.is_some(), "--fetch-rate"),
            (self.abort_transfers.is_some(), "--abort-transfers"),
            (self.on_shortfall.is_some(), "--on-shortfall"),
            (self.host_blocks.is_some(), "--host-blocks"),
            (self.swap_rate.is_some(), "--swap-rate"),
            (self.pin.is_some(), "--pin"),
            (self.pin_budget.is_some(), "--pin-budget"),
        ]
        .into_iter()
        .find_map(|(given, name)| given.then_some(name))
    }
}

/// Several instances, and instances of several ranks.
#[derive(Debug, Args)]
#[command(next_help_heading = "Fleet")]
pub(crate) struct FleetArgs {
    /// Equal replicas, each with its own memory and its own steps; a request runs on one of them [default: 1]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) instances: Option<NonZeroUsize>,

    /// Ranks of an instance, which all hold each of its sequences; --blocks is what each of them has [default: 1]
    #[arg(long, value_name = "S", value_parser = at_least_one)]
    pub(crate) shards: Option<NonZeroUsize>,

    /// Blocks of each rank instead, as in `2111,2055`: what one has beyond the least is stranded
    #[arg(long, value_name = "BLOCKS", value_parser = at_least_one, value_delimiter = ',')]
    pub(crate) uneven: Vec<NonZeroUsize>,

    /// The shards are stages of a pipeline: a pool and a table each, and a sequence needs blocks of all
    #[arg(long)]
    pub(crate) split: bool,

    /// Who gets a request, of those that can take it now [default: affinity]
    #[arg(long, value_enum)]
    pub(crate) placement: Option<Placement>,

    /// Adds an instance at this time, in seconds or as `1500ms`
    #[arg(long, value_name = "TIME")]
    pub(crate) scale_out_at: Option<TimeArg>,

    /// How long the new instance loads its weights before it takes anything [default: 0]
    #[arg(long, value_name = "TIME")]
    pub(crate) ready_after: Option<TimeArg>,

    /// Moves running sequences: to the new instance from the fullest one until they hold about as much, and away from a drained one.
    /// --writers, --fetch-rate and --abort-transfers are about moves, too
    #[arg(long)]
    pub(crate) migrate: bool,

    /// From this time on instance 0 takes no requests, and is removed when it is empty
    #[arg(long, value_name = "TIME")]
    pub(crate) drain_at: Option<TimeArg>,

    /// Serves a workload made from the seed, instead of a trace
    #[arg(long, value_enum)]
    pub(crate) phases: Option<Phases>,
}

impl FleetArgs {
    /// The first option that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        [
            (self.instances.is_some(), "--instances"),
            (self.shards.is_some(), "--shards"),
            (!self.uneven.is_empty(), "--uneven"),
            (self.split, "--split"),
            (self.placement.is_some(), "--placement"),
            (self.scale_out_at.is_some(), "--scale-out-at"),
            (self.ready_after.is_some(), "--ready-after"),
            (self.migrate, "--migrate"),
            (self.drain_at.is_some(), "--drain-at"),
            (self.phases.is_some(), "--phases"),
        ]
        .into_iter()
        .find_map(|(given, name)| given.then_some(name))
    }
}

const EXIT_CODES: &str = "Exit codes: 0 ok, 1 leak or audit failure, 2 bad arguments or input.";

const EXAMPLES: &str = "\
Exit codes:
  0  ok
  1  blocks were held at the end (a leak), or the audit found accounts that disagree
  2  bad arguments or input: a malformed line is named by file and line

Examples:
  kvblock replay
  kvblock replay conversation_trace.jsonl --growth on-demand --watermark 2% --audit-every 100 --json out.json
  kvblock replay AzureLLMInferenceTrace_conv.csv.gz --blocks 4096 --branch 2 --draft 3 --cancel 2%
  kvblock replay conversation_trace.jsonl --block-size 16,32,64,128
  kvblock replay conversation_trace.jsonl --resize 60s=-25%,120s=+25% --fetch 20% --abort-transfers 10% --overlap
  kvblock replay conversation_trace.jsonl --growth on-demand --on-shortfall swap --host-blocks 50% --swap-rate 128
  kvblock replay sessions.jsonl --pin 60 --pin-budget 10%
  kvblock replay conversation_trace.jsonl --instances 3 --uneven 2111,2055 --scale-out-at 60 --ready-after 30 --migrate
  kvblock replay --phases long-survivors --instances 2 --drain-at 60
  kvblock replay conversation_trace.jsonl --mode sequential --capacity 5%";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Continuous batching on a virtual clock
    Serve,
    /// One request at a time, in file order, without regard to time; outputs are not cached
    Sequential,
}

impl Mode {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Serve => "serve",
            Self::Sequential => "sequential",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// JSON lines with `hash_ids` or `runs`
    Mooncake,
    /// CSV: TIMESTAMP,ContextTokens,GeneratedTokens; every prompt has a content of its own
    Azure,
    /// JSON lines with the nodes of reasoning trees; they need serve mode
    Tree,
    /// JSON lines with the requests of agent sessions; ids are local to a session
    Sessions,
}

impl From<FormatArg> for trace::Format {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Mooncake => Self::Mooncake,
            FormatArg::Azure => Self::Azure,
            FormatArg::Tree => Self::Tree,
            FormatArg::Sessions => Self::Sessions,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
