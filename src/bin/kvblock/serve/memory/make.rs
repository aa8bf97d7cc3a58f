//! The shards of an instance, as they are asked for.

use alloc::format;
use alloc::vec::Vec;

use kvblock::{BlockPool, Instance, Rank, Sequences, ShardId};

use crate::failure::Failure;
use crate::serve::settings::Settings;

/// The first of the names of host tiers.
const FIRST_HOST: usize = 1 << 24;

/// The instance with this number: the ranks of one number follow those of the one before.
pub(super) fn instance(settings: &Settings, number: usize) -> Result<Instance, Failure> {
    let ranks = &settings.fleet.ranks;
    let first = number.saturating_mul(ranks.len());
    shards(settings, ranks, first, pools(settings))
}

/// Its host tier, with so many blocks for each rank.
pub(super) fn host(settings: &Settings, blocks: usize, number: usize) -> Result<Instance, Failure> {
    let ranks = alloc::vec![blocks; settings.fleet.ranks.len()];
    let first = FIRST_HOST.saturating_add(number.saturating_mul(ranks.len()));
    // Nothing is kept back from what is swapped out, and nobody resizes it.
    let settings = Settings {
        watermark: 0,
        resizes: Vec::new(),
        blocks,
        ..settings.clone()
    };
    shards(&settings, &ranks, first, "--host-blocks")
}

fn shards(
    settings: &Settings,
    ranks: &[usize],
    first: usize,
    named: &'static str,
) -> Result<Instance, Failure> {
    let shard = |at: usize| {
        let number = first.saturating_add(at);
        ShardId::new(u32::try_from(number).unwrap_or(u32::MAX))
    };
    let made = if ranks.len() > 1 && !settings.fleet.split {
        let ranks: Vec<_> = ranks
            .iter()
            .enumerate()
            .map(|(at, blocks)| Rank::new(shard(at), *blocks))
            .collect();
        Instance::lockstep(
            &ranks,
            &settings.pool(settings.blocks),
            &settings.sequences(),
        )
    } else {
        let shards = ranks.iter().enumerate().map(|(at, blocks)| {
            let config = settings.pool(*blocks).shard(shard(at));
            let pool = BlockPool::new(&config).map_err(cannot(named))?;
            Sequences::new(pool, &settings.sequences()).map_err(cannot("--max-sequences"))
        });
        Instance::split(shards.collect::<Result<_, _>>()?)
    };
    made.map_err(cannot(named))
}

/// What names blocks.
fn pools(settings: &Settings) -> &'static str {
    match (settings.fleet.is_uneven, settings.resizes.is_empty()) {
        (true, _) => "--uneven",
        (false, true) => "--blocks",
        (false, false) => "--blocks or --resize",
    }
}

fn cannot<E: core::fmt::Display>(option: &'static str) -> impl Fn(E) -> Failure {
    move |error| {
        Failure::Input(format!(
            "no such pool can be made: {error}: name fewer with {option}"
        ))
    }
}
