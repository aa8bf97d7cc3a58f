//! Pools of unequal size under one instance, and what can be seen of all of them.
#![allow(dead_code, reason = "not every test needs every word")]

use kvblock::{
    BlockId, BlockPool, Handle, Instance, PoolConfig, SequenceState, Sequences, SequencesConfig,
    SequencesReport, ShardId,
};

/// A pool for each of these sizes, named by its place.
pub(crate) fn pools(sizes: &[usize], block_size: usize) -> Vec<BlockPool> {
    let pool = |(shard, &blocks): (u32, &usize)| {
        let config = PoolConfig::new(blocks, block_size).events(1 << 12);
        BlockPool::new(&config.shard(ShardId::new(shard))).expect("a sound configuration")
    };
    (0..).zip(sizes).map(pool).collect()
}

pub(crate) fn split(pools: &[BlockPool], config: &SequencesConfig) -> Instance {
    let registry = |pool: &BlockPool| Sequences::new(pool.clone(), config).expect("a registry");
    Instance::split(pools.iter().map(registry).collect()).expect("pools of their own")
}

/// One shard at one look.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) report: SequencesReport,
    sequences: Vec<(Handle, SequenceState, Vec<BlockId>)>,
}

/// All of them.
pub(crate) fn seen(instance: &Instance) -> Vec<Seen> {
    let look = |it: &Sequences| Seen {
        report: it.report(),
        sequences: it
            .handles()
            .map(|handle| {
                let state = it.state(handle).expect("it lives");
                (handle, state, it.table(handle).expect("it lives").to_vec())
            })
            .collect(),
    };
    instance.shards().iter().map(look).collect()
}

/// Refusals that a shard has counted: never, for now, of appends.
pub(crate) fn refusals(seen: &Seen) -> (u64, u64, u64) {
    let (pool, appends) = (&seen.report.pool, seen.report.refused_appends);
    (pool.refused_never, pool.refused_shortfall, appends)
}

/// As if it had refused nothing.
pub(crate) fn forgiving(mut seen: Vec<Seen>) -> Vec<Seen> {
    for it in &mut seen {
        it.report.pool.refused_never = 0;
        it.report.pool.refused_shortfall = 0;
        it.report.refused_appends = 0;
    }
    seen
}

/// Makes a call, and sees that it changed nothing on any shard but the count of one refusal on the shard at this place, if any.
#[track_caller]
pub(crate) fn refused_by<T>(
    instance: &mut Instance,
    by: Option<usize>,
    call: impl FnOnce(&mut Instance) -> T,
) -> T {
    let before = seen(instance);
    let answer = call(instance);
    let after = seen(instance);
    for (at, (before, after)) in before.iter().zip(&after).enumerate() {
        let (before, after) = (refusals(before), refusals(after));
        let counted = after.0 + after.1 - before.0 - before.1;
        assert_eq!(counted, u64::from(Some(at) == by), "refusals of shard {at}");
    }
    assert_eq!(
        forgiving(before),
        forgiving(after),
        "a refusal changed something"
    );
    answer
}

/// Nothing is held, set aside or waited for on any shard.
#[track_caller]
pub(crate) fn at_rest(instance: &Instance) {
    assert_eq!(instance.audit(&[]), Ok(()));
    for it in instance.shards() {
        let report = it.pool().report();
        let (held, quarantined) = (report.held, report.quarantined);
        assert_eq!((held, quarantined, report.reserved), (0, 0, 0), "{report}");
        assert_eq!(report.free + report.idle, report.capacity);
        assert_eq!(report.available, report.capacity);
    }
}
