//! What to do next where the figures suffer from the options or from the trace.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use kvblock::MAX_BLOCKS;

use super::Summary;
use crate::serve::fleet::summary::FleetSummary;
use crate::serve::resize::Resized;
use crate::summary::grouped;
use crate::values::GrowthArg;

impl Summary {
    /// Advice, one sentence each.
    pub(crate) fn advice(&self) -> Vec<String> {
        [
            self.on_refusals(),
            self.on_problems_short_of_blocks(),
            self.on_problems_short_of_sequences(),
            self.on_preemptions(),
            self.on_goodput(),
            self.on_branches(),
            self.on_resizes(),
            self.on_pins(),
        ]
        .into_iter()
        .flatten()
        .chain(self.fleet.iter().flat_map(FleetSummary::advice))
        .collect()
    }

    /// The option that names blocks.
    fn blocks_option(&self) -> &'static str {
        self.fleet
            .as_ref()
            .map_or("--blocks", FleetSummary::blocks_option)
    }

    fn on_refusals(&self) -> Option<String> {
        let (requests, blocks) = (&self.requests, self.asked.blocks as u64);
        let lost = requests.refused_never + requests.failed;
        let remedy = if requests.blocks_needed <= blocks {
            format!(
                "they came while it had as few as {}, and --resize must leave {} for the longest",
                grouped(self.asked.fewest_blocks as u64),
                requests.blocks_needed
            )
        } else if requests.blocks_needed <= MAX_BLOCKS as u64 {
            let left = if self.lifetimes.resizes.is_empty() {
                ""
            } else {
                ", if --resize leaves as many"
            };
            let named = if self.blocks_option() == "--uneven" {
                format!("--uneven with {} for each rank", requests.blocks_needed)
            } else {
                format!("--blocks {}", requests.blocks_needed)
            };
            format!("{named} has room for the longest{left}")
        } else {
            format!(
                "a pool has at most {} blocks, so it takes a larger --block-size",
                grouped(MAX_BLOCKS as u64)
            )
        };
        (lost > 0 && self.tree.is_none()).then(|| {
            format!(
                "{} of {} requests do not fit into {} blocks: {remedy}",
                grouped(lost),
                grouped(requests.requests),
                grouped(blocks)
            )
        })
    }

    fn on_problems_short_of_blocks(&self) -> Option<String> {
        let tree = self.tree.filter(|tree| tree.short_of_blocks > 0)?;
        let needed = self.requests.blocks_needed;
        let remedy = if needed <= MAX_BLOCKS as u64 {
            format!("--blocks {needed} has room for each")
        } else {
            format!(
                "a pool has at most {} blocks, so it takes a larger --block-size",
                grouped(MAX_BLOCKS as u64)
            )
        };
        Some(format!(
            "{} of {} problems do not fit into {} blocks: {remedy}",
            grouped(tree.short_of_blocks),
            grouped(tree.problems),
            grouped(self.asked.blocks as u64)
        ))
    }

    fn on_problems_short_of_sequences(&self) -> Option<String> {
        let tree = self.tree.filter(|tree| tree.short_of_sequences > 0)?;
        Some(format!(
            "{} of {} problems have more branches at a time than {} sequences: --max-sequences {} has room for each",
            grouped(tree.short_of_sequences),
            grouped(tree.problems),
            grouped(self.asked.max_sequences as u64),
            tree.sequences_needed
        ))
    }

    fn on_preemptions(&self) -> Option<String> {
        let requests = &self.requests;
        let preemptions = self.swaps.preemptions_by_recompute;
        // One in fifty requests.
        (preemptions * 50 > requests.requests).then(|| {
            let remedy = if self.asked.watermark == 0 {
                "`--growth cap` has none, and `--watermark 2%` fewer"
            } else {
                "`--growth cap` has none, and a higher --watermark fewer"
            };
            format!(
                "{} preemptions for {} requests, each computes again what is no longer cached: {remedy}",
                grouped(preemptions),
                grouped(requests.requests)
            )
        })
    }

    fn on_goodput(&self) -> Option<String> {
        let speed = &self.speed;
        let of_requests = speed.of_requests()?;
        let missed = of_requests.missed_ttft + of_requests.missed_gap;
        if of_requests.goodput > 0.9 || missed == 0 {
            return None;
        }
        let cap = self.asked.growth == GrowthArg::Cap.to_string();
        let fleet = self.fleet.as_ref();
        if fleet.is_some_and(|it| it.gap_in_service().is_some()) {
            // Which is said there.
            return None;
        }
        let more = match self.blocks_option() {
            "--uneven" => "more blocks with --uneven",
            _ => "more --blocks",
        };
        let remedy = if of_requests.missed_gap > of_requests.missed_ttft {
            "tokens come too slowly, which a smaller --token-budget or a faster --step-time changes"
                .into()
        } else if speed.short_steps > speed.full_steps && cap {
            format!(
                "the queue waits for memory, of which `--growth ahead:2` promises less; or name {more}"
            )
        } else if speed.short_steps > speed.full_steps {
            format!("the queue waits for memory, so name {more}")
        } else if of_requests.served_tokens_per_s < 0.98 * of_requests.offered_tokens_per_s {
            let more = if fleet.is_some_and(FleetSummary::is_several) {
                "more --instances"
            } else {
                "a second instance"
            };
            format!(
                "more is offered than the steps compute, which takes a faster --step-time, a larger --token-budget or {more}"
            )
        } else {
            "first tokens wait for their turn, which comes sooner with a larger --token-budget or a faster --step-time".into()
        };
        Some(format!(
            "{} of {} completed requests had their first token too late and {} their tokens too slowly: {remedy}",
            grouped(of_requests.missed_ttft),
            grouped(self.requests.completed),
            grouped(of_requests.missed_gap),
        ))
    }

    fn on_resizes(&self) -> Option<String> {
        let resizes = &self.lifetimes.resizes;
        let never = |it: &&Resized| it.granted.is_none();
        let refused = resizes.iter().filter(never).filter(|it| it.refusals > 0);
        let refused = refused.count() as u64;
        let late = resizes.iter().filter(never).count() as u64 - refused;
        if late > 0 && refused == 0 {
            return Some(format!(
                "{late} of {} resizes were for a time after the end of the run: earlier ones with --resize",
                resizes.len()
            ));
        }
        (refused > 0).then(|| {
            format!(
                "{refused} of {} resizes were never granted, as what is promised stands: smaller ones with --resize, or `--growth on-demand`, which promises nothing",
                resizes.len()
            )
        })
    }

    fn on_pins(&self) -> Option<String> {
        let pins = &self.lifetimes.pinned;
        // One in ten.
        if pins.given_up > 0 {
            return Some(format!(
                "{} of {} pins were given up so that anything could go on: fewer blocks with --pin-budget, or a shorter --pin",
                grouped(pins.given_up),
                grouped(pins.pins)
            ));
        }
        (pins.refused * 10 > pins.pins).then(|| {
            format!(
                "{} of {} turns found no room among the pinned blocks: a larger --pin-budget, or a shorter --pin",
                grouped(pins.refused),
                grouped(pins.refused + pins.pins)
            )
        })
    }

    fn on_branches(&self) -> Option<String> {
        let storage = &self.storage;
        let (queued, remedy, lack) = if storage.branches_queued > 0 {
            (storage.branches_queued, self.blocks_option(), "memory")
        } else {
            (storage.branches_without_slot, "--max-sequences", "place")
        };
        (queued > 0).then(|| {
            format!(
                "{} branches had no {lack} when their prompt was computed, and waited: fewer with --branch, or more with {remedy}, make room",
                grouped(queued)
            )
        })
    }
}
