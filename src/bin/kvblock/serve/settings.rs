//! What a run is asked to do, complete and checked.

use kvblock::{MAX_BLOCK_SIZE, MAX_WRITERS, PoolConfig, SequencesConfig};

use alloc::format;
use alloc::vec::Vec;

use super::drafts::Drafts;
use super::fleet::settings::FleetSettings;
use super::step_time::{Nanos, StepTime};
use super::swap::SwapSettings;
use crate::failure::Failure;
use crate::values::{BudgetArg, GrowthArg, ResizeArg, Share, Slo, Watermark};

/// From some time on, so many blocks are to be online.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resize {
    pub(crate) at: Nanos,
    pub(crate) to: usize,
}

/// Prompts that come from a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FetchSettings {
    /// Of the requests.
    pub(crate) share: Share,
    pub(crate) writers: usize,
    /// Blocks that arrive in a step.
    pub(crate) rate: usize,
    /// Of the transfers.
    pub(crate) aborted: Share,
}

/// What is pinned, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PinSettings {
    pub(crate) lasts: Nanos,
    /// In blocks.
    pub(crate) budget: usize,
}

/// The settings of one run.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) blocks: usize,
    pub(crate) block_size: usize,
    pub(crate) token_budget: usize,
    pub(crate) max_sequences: usize,
    pub(crate) growth: GrowthArg,
    pub(crate) budget: BudgetArg,
    /// In blocks.
    pub(crate) watermark: usize,
    /// As a share of the pool, if it was named so.
    pub(crate) watermark_share: Option<Share>,
    /// The block size that `--blocks` counts in: the first of several.
    pub(crate) named_size: usize,
    pub(crate) cancel: Share,
    pub(crate) branches: usize,
    pub(crate) drafts: Drafts,
    pub(crate) step_time: StepTime,
    pub(crate) slo: Slo,
    /// Sessions at a time, in a trace of sessions.
    pub(crate) concurrent_sessions: usize,
    /// In the order of their times.
    pub(crate) resizes: Vec<Resize>,
    pub(crate) overlap: bool,
    pub(crate) fetch: FetchSettings,
    pub(crate) pins: Option<PinSettings>,
    /// The host tier, if who loses its memory is swapped out to one.
    pub(crate) swap: Option<SwapSettings>,
    pub(crate) fleet: FleetSettings,
    pub(crate) audit_every: Option<u64>,
    pub(crate) seed: u64,
}

impl Settings {
    /// Whether they go together.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let per_step = self.drafts.per_step;
        let wrong = if self.block_size > MAX_BLOCK_SIZE {
            format!(
                "a block has at most {MAX_BLOCK_SIZE} tokens, and {} are asked for: name fewer with --block-size",
                self.block_size
            )
        } else if self.token_budget <= per_step {
            format!(
                "a step of {} tokens has no room for a token and {per_step} drafts: name more with --token-budget or fewer with --draft",
                self.token_budget
            )
        } else if self.branches > self.max_sequences {
            format!(
                "{} branches of a request never run together if {} sequences may: name more with --max-sequences",
                self.branches, self.max_sequences
            )
        } else if self.blocks == 0 {
            format!(
                "that memory is less than one block of {}: name more with --blocks, or smaller ones with --block-size",
                self.block_size
            )
        } else if self.swap.is_some_and(|swap| swap.host_blocks == 0) {
            format!(
                "that host memory is less than one block of {}: name more with --host-blocks, or smaller ones with --block-size",
                self.block_size
            )
        } else if self.fewest_blocks() == 0 {
            format!(
                "--resize would leave nothing of {} blocks: take fewer away",
                self.blocks
            )
        } else if self.watermark >= self.fewest_blocks() {
            format!(
                "a watermark of {} blocks leaves nothing of {} for requests: name fewer with --watermark",
                self.watermark,
                self.fewest_blocks()
            )
        } else if self.fetch.writers > MAX_WRITERS {
            format!(
                "a transfer has at most {MAX_WRITERS} writers, and {} are asked for: name fewer with --writers",
                self.fetch.writers
            )
        } else {
            return Ok(());
        };
        Err(Failure::Input(wrong))
    }

    /// The same memory in blocks of another size; blocks that stand for memory are converted, too.
    pub(crate) fn with_block_size(&self, block_size: usize) -> Self {
        let convert = |blocks: usize| {
            let positions = blocks as u128 * self.block_size as u128;
            usize::try_from(positions / block_size as u128).unwrap_or(usize::MAX)
        };
        let mut settings = self.clone();
        settings.blocks = convert(self.blocks);
        for blocks in &mut settings.fleet.ranks {
            *blocks = convert(*blocks);
        }
        settings.watermark = convert(self.watermark);
        settings.block_size = block_size;
        for resize in &mut settings.resizes {
            resize.to = convert(resize.to);
        }
        if let Some(pins) = &mut settings.pins {
            pins.budget = convert(pins.budget);
        }
        if let Some(swap) = &mut settings.swap {
            swap.host_blocks = convert(swap.host_blocks);
            swap.rate = convert(swap.rate).max(1);
        }
        settings
    }

    /// What `--blocks` would have to be so that a request of so many positions can be admitted and comes to its end.
    pub(crate) fn blocks_for(&self, positions: u64) -> u64 {
        let promised = match self.growth {
            GrowthArg::Ahead(blocks) => blocks as u64,
            GrowthArg::Cap | GrowthArg::OnDemand => 0,
        };
        let needed = positions
            .div_ceil(self.block_size as u64)
            .saturating_add(promised);
        let blocks = match self.watermark_share {
            None => needed.saturating_add(self.watermark as u64),
            Some(share) => share.whole_of_rest(needed),
        };
        let positions = u128::from(blocks) * self.block_size as u128;
        u64::try_from(positions.div_ceil(self.named_size as u128)).unwrap_or(u64::MAX)
    }

    /// The fewest and the most blocks that may be online.
    pub(crate) fn fewest_blocks(&self) -> usize {
        self.sizes().min().unwrap_or(self.blocks)
    }

    pub(crate) fn most_blocks(&self) -> usize {
        self.sizes().max().unwrap_or(self.blocks)
    }

    fn sizes(&self) -> impl Iterator<Item = usize> {
        core::iter::once(self.blocks).chain(self.resizes.iter().map(|resize| resize.to))
    }

    /// A pool of so many blocks.
    pub(crate) fn pool(&self, blocks: usize) -> PoolConfig {
        PoolConfig::new(blocks, self.block_size)
            .max_blocks(self.most_blocks().max(blocks))
            .secret(secret(self.seed))
    }

    pub(crate) fn sequences(&self) -> SequencesConfig {
        SequencesConfig::new(self.max_sequences).watermark(self.watermark)
    }
}

/// The pool's hash key; from the seed, so that two runs are alike.
pub(crate) fn secret(seed: u64) -> [u8; 16] {
    let mut secret = [0; 16];
    secret[..8].copy_from_slice(&seed.to_le_bytes());
    secret[8..].copy_from_slice(&(!seed).to_le_bytes());
    secret
}

/// Blocks that a watermark keeps back of so many.
pub(crate) fn watermark(watermark: Option<Watermark>, blocks: usize) -> usize {
    match watermark {
        None => 0,
        Some(Watermark::Blocks(kept)) => kept,
        // Not more than `blocks`.
        Some(Watermark::Of(share)) => usize::try_from(share.of(blocks as u64)).unwrap_or(blocks),
    }
}

/// The targets of resizes, each by so many blocks of `blocks`, or what is wrong with them.
pub(crate) fn resizes(asked: &[ResizeArg], blocks: usize) -> Result<Vec<Resize>, Failure> {
    if !asked.is_sorted_by(|one, next| one.at < next.at) {
        return Err(Failure::Input(
            "--resize names its changes in the order of their times, one at a time".into(),
        ));
    }
    let mut to = blocks;
    let targets = asked.iter().map(|resize| {
        let by = watermark(Some(resize.by), blocks);
        if by == 0 {
            return Err(Failure::Input(format!(
                "--resize by nothing: that is no part of {blocks} blocks"
            )));
        }
        // Nothing left is found by the check of the settings.
        to = if resize.grows {
            to.saturating_add(by)
        } else {
            to.saturating_sub(by)
        };
        Ok(Resize { at: resize.at, to })
    });
    targets.collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The defaults of the program.
    pub(crate) fn usual() -> Settings {
        Settings {
            blocks: 8_192,
            block_size: 16,
            token_budget: 2_048,
            max_sequences: 256,
            growth: GrowthArg::Ahead(2),
            budget: BudgetArg::Physical,
            watermark: 0,
            watermark_share: None,
            named_size: 16,
            cancel: Share::NONE,
            branches: 1,
            drafts: Drafts {
                per_step: 0,
                accept: Share::new(7, 10),
                seed: 0,
            },
            step_time: StepTime::USUAL,
            slo: Slo::USUAL,
            concurrent_sessions: 8,
            resizes: Vec::new(),
            overlap: false,
            fetch: FetchSettings {
                share: Share::NONE,
                writers: 2,
                rate: 64,
                aborted: Share::NONE,
            },
            pins: None,
            swap: None,
            fleet: FleetSettings::one(8_192),
            audit_every: None,
            seed: 0,
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused_with_the_option_to_change() {
        assert!(usual().check().is_ok());
        let mut cases = [(); 4].map(|()| usual());
        cases[0].block_size = MAX_BLOCK_SIZE + 1;
        cases[1].drafts.per_step = 2_048;
        cases[2].branches = 257;
        cases[3].watermark = 8_192;
        let options = ["--block-size", "--draft", "--max-sequences", "--watermark"];
        for (settings, option) in cases.iter().zip(options) {
            let said = format!("{}", settings.check().unwrap_err());
            assert!(said.contains(option), "{said}");
        }
    }

    #[test]
    fn the_blocks_that_are_advised_admit_the_request_and_its_answer() {
        let of = |change: fn(&mut Settings)| {
            let mut settings = usual();
            change(&mut settings);
            settings.blocks_for(100)
        };
        assert_eq!(of(|s| s.growth = GrowthArg::OnDemand), 7);
        assert_eq!(of(|_| ()), 9, "two blocks are promised");
        assert_eq!(of(|s| s.watermark = 3), 12);
        assert_eq!(of(|s| s.watermark_share = Some(Share::new(1, 2))), 17);
        assert_eq!(
            of(|s| *s = s.with_block_size(64)),
            16,
            "in blocks of the first size"
        );
    }

    #[test]
    fn another_block_size_has_the_same_memory() {
        let settings = Settings {
            watermark: 100,
            ..usual()
        };
        let other = settings.with_block_size(64);
        assert_eq!(
            (other.blocks, other.block_size, other.watermark),
            (2_048, 64, 25)
        );
        assert_eq!(
            watermark(Some(Watermark::Of(Share::new(2, 100))), 8_192),
            163
        );
    }
}
