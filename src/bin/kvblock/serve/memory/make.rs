//! The shards of an instance, as they are asked for.

use alloc::format;
use alloc::vec::Vec;

use kvblock::{BlockPool, Instance, Rank, Sequences, ShardId};

use crate::failure::Failure;
use crate::serve::settings::Settings;

/// The instance with this number: the ranks of one number follow those of the one before.
pub(super) fn instance(settings: &Settings, number: usize) -> Result<Instance, Failure> {
    let ranks = &settings.fleet.ranks;
    let shard = |at: usize| {
        let number = number.saturating_mul(ranks.len()).saturating_add(at);
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
            let pool = BlockPool::new(&config).map_err(cannot(pools(settings)))?;
            Sequences::new(pool, &settings.sequences()).map_err(cannot("--max-sequences"))
        });
        Instance::split(shards.collect::<Result<_, _>>()?)
    };
    made.map_err(cannot(pools(settings)))
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
