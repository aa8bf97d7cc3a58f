//! Looks at what there is: reports, metrics, snapshots, victims, audits. Without memory they say so, and change nothing.

use kvblock::{
    Admit, Chain, Fleet, FleetInconsistency, Growth, Handle, Inconsistency, Instance,
    InstanceInconsistency, Leases, Member, Metrics, MetricsError, Namespace, OutOfMemory, Owner,
    PoolConfig, Prompt, Rank, Sequences, SequencesConfig, SequencesInconsistency, ShardId,
    VictimsError,
};

use super::{LIVE, Refuse, armed, cache, config, create};

/// Runs `call` with the n-th request refused, for n = 1, 2, ... until it needs no more. `call` gives what it saw, if there was memory.
fn looks_or_tells<T: PartialEq + core::fmt::Debug>(at_least: u64, call: impl Fn() -> Option<T>) {
    let seen = call().expect("memory");
    let live = LIVE.get();
    for n in 1.. {
        let (result, requests) = armed(Refuse::Nth(n), &call);
        if let Some(result) = result {
            assert!(requests < n, "request {n} was refused and nobody said so");
            assert_eq!(result, seen, "whatever was refused before");
            assert!(n > at_least, "only {} requests", n - 1);
            break;
        }
        assert!(requests >= n, "an error, but request {n} was never made");
        assert_eq!(LIVE.get(), live, "bytes left behind at request {n}");
    }
}

/// A fleet of two instances, one in lockstep and one of three shards, each with two branches.
fn fleet() -> (Fleet, Vec<Handle>) {
    let room = SequencesConfig::new(4);
    let shards = (0..3).map(|shard| {
        let (pool, _) = create(&config(256, 4).shard(ShardId::new(shard))).expect("memory");
        Sequences::new(pool, &room).expect("memory")
    });
    let split = Instance::split(shards.collect()).expect("alike");
    let ranks = [7, 8].map(|shard| Rank::new(ShardId::new(shard), 256));
    let lockstep = Instance::lockstep(&ranks, &PoolConfig::new(1, 4), &room).expect("memory");
    let space = Namespace::new();
    let tokens: Vec<u32> = (0..103).collect();
    let mut fleet = Fleet::new();
    let mut handles = Vec::new();
    for (model, mut it) in [(1, split), (2, lockstep)] {
        let request = Admit::new(Prompt::new(&space, &tokens), Growth::Cap(9));
        let parent = it.admit(&request).expect("room").handle;
        it.computed(parent, 100).expect("it has them");
        let mut child = [Handle::NONE];
        it.fork(parent, &mut child).expect("room");
        handles.extend([parent, child[0]]);
        assert!(fleet.add(it, Member::new(model, 64)).is_ok());
    }
    (fleet, handles)
}

#[test]
fn reports_out_of_memory_say_so() {
    let (fleet, _) = fleet();
    let id = fleet.ids().next().expect("two");
    let instance = fleet.get(id).expect("it is there");
    let registry = &instance.shards()[0];
    looks_or_tells(2, || registry.try_report().ok());
    assert_eq!(registry.try_report(), Ok(registry.report()));
    looks_or_tells(8, || instance.try_report().ok());
    assert_eq!(instance.try_report(), Ok(instance.report()));
    looks_or_tells(14, || fleet.try_report().ok());
    assert_eq!(fleet.try_report(), Ok(fleet.report()));
    let models: Vec<_> = fleet.report().models.iter().map(|it| it.model).collect();
    assert_eq!(models, [1, 2]);
}

/// A pool with 30 findable blocks, and a chain on some of them.
fn with_chain(look: impl Fn(&kvblock::BlockPool, &Chain<'_>)) {
    let (pool, mut worker) = create(&config(64, 4).events(64)).expect("memory");
    let space = Namespace::new();
    let tokens: Vec<u32> = (0..30 * 4).collect();
    cache(&pool, &mut worker, &space, &tokens);
    let mut promise = pool.reserve(30).expect("room");
    let prompt = Prompt::new(&space, &tokens).full_hit(true);
    let chain = pool.find(&mut worker, &prompt, &mut promise);
    look(&pool, &chain.expect("its own"));
}

#[test]
fn snapshots_and_reports_of_leases_out_of_memory_say_so() {
    with_chain(|pool, chain| {
        looks_or_tells(1, || pool.try_snapshot().ok());
        assert_eq!(pool.try_snapshot(), Ok(pool.snapshot()));
        assert_eq!(pool.snapshot().copies.len(), 30);
        let mut leases = Leases::new(pool, 64).expect("memory");
        leases.grant(Owner::new(1), 9, chain).expect("memory");
        looks_or_tells(1, || leases.try_report().ok());
        assert_eq!(leases.try_report(), Ok(leases.report()));
        looks_or_tells(6, || match pool.audit(&[chain, &leases]) {
            Ok(()) => Some(()),
            Err(Inconsistency::OutOfMemory) => None,
            Err(other) => panic!("{other}"),
        });
    });
}

#[test]
fn events_are_read_without_memory() {
    with_chain(|pool, _| {
        let mut reader = pool.events().expect("it keeps some");
        let (mut blocks, mut at) = ([kvblock::BlockId::new(0); 30], 0);
        let (lost, requests) = armed(Refuse::Nth(1), || {
            let mut lost = 0;
            while at < 30 {
                lost += reader.read_some(7, |event| {
                    blocks[at] = event.copy.block;
                    at += 1;
                });
            }
            lost
        });
        assert_eq!((lost, requests, at), (0, 0, 30));
        let found = pool.snapshot().copies;
        assert!(found.iter().map(|it| it.block).eq(blocks));
    });
}

#[test]
fn victims_out_of_memory_are_not_chosen() {
    let (fleet, handles) = fleet();
    let id = fleet.ids().next().expect("two");
    let instance = fleet.get(id).expect("it is there");
    looks_or_tells(3, || {
        let mut victims = Vec::new();
        let chosen = instance.shards()[1].select_victims(&handles[..2], 27, &mut victims);
        match chosen {
            Ok(freed) => Some((freed, victims.len())),
            Err(VictimsError::OutOfMemory(OutOfMemory)) => {
                assert!(victims.is_empty());
                None
            }
            Err(other) => panic!("{other}"),
        }
    });
    looks_or_tells(9, || {
        let mut victims = Vec::new();
        match instance.select_victims(&handles[..2], &[27; 3], &mut victims) {
            Ok(enough) => Some((enough, victims.len())),
            Err(VictimsError::OutOfMemory(OutOfMemory)) => {
                assert!(victims.is_empty());
                None
            }
            Err(other) => panic!("{other}"),
        }
    });
}

#[test]
fn metrics_out_of_memory_say_so_and_add_nothing() {
    let (fleet, _) = fleet();
    let report = fleet.report();
    let page = |fleets: &[&str]| {
        let mut metrics = Metrics::new();
        for fleet in fleets {
            metrics
                .fleet(&[("fleet", fleet)], &report)
                .expect("sound labels");
        }
        metrics.to_string()
    };
    let (one, two) = (page(&["a"]), page(&["a", "b"]));
    for n in 1.. {
        let mut metrics = Metrics::new();
        metrics
            .fleet(&[("fleet", "a")], &report)
            .expect("sound labels");
        let (added, requests) = armed(Refuse::Nth(n), || metrics.fleet(&[("fleet", "b")], &report));
        if added == Ok(()) {
            assert!(requests < n, "request {n} was refused and nobody said so");
            assert_eq!(metrics.to_string(), two);
            assert!(n > 50, "only {} requests", n - 1);
            looks_or_tells(5, || metrics.try_to_string().ok());
            assert_eq!(metrics.try_to_string(), Ok(two));
            break;
        }
        assert_eq!(added, Err(MetricsError::OutOfMemory));
        assert!(requests >= n, "an error, but request {n} was never made");
        assert_eq!(metrics.to_string(), one, "request {n}");
    }
    // The words of other errors, too.
    let pool = create(&config(4, 4)).expect("memory").0.report();
    for (labels, requests) in [(&[("1", "")][..], 1), (&[("state", "")], 1)] {
        for n in 1..=requests {
            let mut metrics = Metrics::new();
            let (added, _) = armed(Refuse::Nth(n), || metrics.pool(labels, &pool));
            assert_eq!(added, Err(MetricsError::OutOfMemory));
        }
    }
}

#[test]
fn audits_out_of_memory_find_nothing_wrong() {
    let (fleet, _) = fleet();
    let none = |found| found == SequencesInconsistency::Pool(Inconsistency::OutOfMemory);
    for id in fleet.ids() {
        let instance = fleet.get(id).expect("it is there");
        looks_or_tells(6, || match instance.shards()[0].audit(&[]) {
            Ok(()) => Some(()),
            Err(found) => {
                assert!(none(found), "{found}");
                None
            }
        });
        looks_or_tells(6, || match instance.audit(&[]) {
            Ok(()) => Some(()),
            Err(InstanceInconsistency::Shard { found, .. }) if none(found) => None,
            Err(other) => panic!("{other}"),
        });
    }
    looks_or_tells(20, || match fleet.audit(&[]) {
        Ok(()) => Some(()),
        Err(FleetInconsistency {
            found: InstanceInconsistency::Shard { found, .. },
            ..
        }) if none(found) => None,
        Err(other) => panic!("{other}"),
    });
}
