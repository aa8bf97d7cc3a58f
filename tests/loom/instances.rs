//! Two registries over the same two shards: each call is done on both shards or on none, whatever the other one does between.

use kvblock::{
    Admit, AdmitError, AppendError, BlockPool, Contents, Growth, Handle, Holder, InTransit,
    Instance, InstanceExport, InstanceIncoming, InstanceStep, Namespace, Owner, PoolConfig, Prompt,
    Rank, Sequences, SequencesConfig, ShardId, Terms,
};
use loom::thread;

use crate::{explore, two};

/// Pools of so many blocks of one position, named from `first` on.
fn pools(blocks: [usize; 2], first: u32) -> [BlockPool; 2] {
    [0, 1].map(|at| {
        let shard = ShardId::new(first + at);
        BlockPool::new(&PoolConfig::new(blocks[at as usize], 1).shard(shard)).unwrap()
    })
}

fn instance(pools: &[BlockPool; 2]) -> Instance {
    let registry = |pool: &BlockPool| Sequences::new(pool.clone(), &SequencesConfig::new(1));
    Instance::split(pools.iter().map(|pool| registry(pool).unwrap()).collect()).unwrap()
}

/// Admits a prompt and gives it back; how much was found, or `None` if it was refused.
fn come_and_go(instance: &mut Instance, prompt: &[u32], growth: Growth) -> Option<usize> {
    let space = Namespace::new();
    match instance.admit(&Admit::new(Prompt::new(&space, prompt), growth)) {
        Ok(admitted) => {
            alike(instance, admitted.handle, admitted.hit);
            instance.release(admitted.handle).unwrap();
            Some(admitted.hit)
        }
        Err(AdmitError::Refused(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Both shards have as much of a sequence.
fn alike(instance: &Instance, handle: Handle, hit: usize) {
    for shard in instance.shards() {
        let state = shard.state(handle).unwrap();
        assert_eq!((state.computed, state.published), (hit, hit));
    }
}

/// Nothing is held or promised, and all adds up.
fn at_rest(one: &Instance, other: &Instance, blocks: [usize; 2]) {
    let others: Vec<&dyn Holder> = other.shards().iter().map(|it| it as &dyn Holder).collect();
    one.audit(&others).unwrap_or_else(|wrong| panic!("{wrong}"));
    let left = [0, 1].map(|at| one.shards()[at].pool().available());
    assert_eq!(left, blocks);
}

/// Both need the only block of each shard. Credits are taken in rising order, so who has the first shard's gets the second's: one of
/// them is admitted, in every order.
#[test]
fn one_block_each_for_two() {
    two(|| {
        let pools = pools([1, 1], 0);
        let (mut one, mut other) = (instance(&pools), instance(&pools));
        let there = thread::spawn(move || {
            let space = Namespace::new();
            let admitted = other.admit(&Admit::new(Prompt::new(&space, &[2]), Growth::OnDemand));
            (other, admitted.is_ok())
        });
        let space = Namespace::new();
        let mine = one.admit(&Admit::new(Prompt::new(&space, &[1]), Growth::OnDemand));
        let (mut other, theirs) = there.join().unwrap();
        assert!(mine.is_ok() != theirs, "{mine:?}");
        for instance in [&mut one, &mut other] {
            let admitted = instance.handles().next();
            if let Some(handle) = admitted {
                instance.release(handle).unwrap();
            }
        }
        at_rest(&one, &other, [1, 1]);
    });
}

/// The second shard has room for one of two: the other gives its credit on the first one back.
#[test]
fn the_second_shard_refuses_one() {
    two(|| {
        let pools = pools([2, 1], 0);
        let (mut one, mut other) = (instance(&pools), instance(&pools));
        let there = thread::spawn(move || {
            let theirs = come_and_go(&mut other, &[2], Growth::OnDemand);
            (other, theirs)
        });
        let mine = come_and_go(&mut one, &[1], Growth::OnDemand);
        let (other, theirs) = there.join().unwrap();
        assert!(mine.is_some() || theirs.is_some());
        at_rest(&one, &other, [2, 1]);
    });
}

/// Reservations on two shards, taken by two threads in opposite orders without an instance: both may be refused, and nothing stays.
#[test]
fn reservations_in_opposite_orders() {
    two(|| {
        let pools = pools([1, 1], 0);
        let both = |order: [usize; 2], pools: &[BlockPool; 2]| {
            let first = pools[order[0]].reserve(1).ok();
            let second = first.as_ref().and_then(|_| pools[order[1]].reserve(1).ok());
            first.is_some() && second.is_some()
        };
        let theirs = pools.clone();
        let there = thread::spawn(move || both([1, 0], &theirs));
        let mine = both([0, 1], &pools);
        let theirs = there.join().unwrap();
        // One after the other both succeed.
        let _ = (mine, theirs);
        assert_eq!([0, 1].map(|at| pools[at].available()), [1, 1]);
        assert_eq!([0, 1].map(|at| pools[at].reserved()), [0, 0]);
    });
}

/// Cached content goes on the second shard while an admission counts on it: what it holds is as long on the first one.
#[test]
fn a_hit_shrinks_on_one_shard() {
    explore(Some(2), || {
        let pools = pools([2, 2], 0);
        let (mut one, other) = (instance(&pools), instance(&pools));
        let space = Namespace::new();
        let prompt = Prompt::new(&space, &[1]).full_hit(true);
        let handle = one.admit(&Admit::new(prompt, Growth::OnDemand)).unwrap();
        one.computed(handle.handle, 1).unwrap();
        one.release(handle.handle).unwrap();
        let there = {
            let pool = pools[1].clone();
            thread::spawn(move || {
                let mut worker = pool.worker().unwrap();
                pool.evict(&mut worker, 1).unwrap()
            })
        };
        let hit = come_and_go(&mut one, &[1, 2], Growth::OnDemand);
        let evicted = there.join().unwrap();
        assert!(
            matches!((hit, evicted), (None | Some(0), 1) | (Some(1), 0 | 1)),
            "{hit:?}, {evicted}"
        );
        at_rest(&one, &other, [2, 2]);
    });
}

/// An append that takes a block on both shards meets somebody who wants the last one of the second.
#[test]
fn append_vs_take_on_one_shard() {
    two(|| {
        let pools = pools([3, 2], 0);
        let (mut one, other) = (instance(&pools), instance(&pools));
        let space = Namespace::new();
        let request = Admit::new(Prompt::new(&space, &[1]), Growth::Ahead(0));
        let handle = one.admit(&request).unwrap().handle;
        let there = {
            let pool = pools[1].clone();
            thread::spawn(move || pool.reserve(1).map(|_| ()).is_ok())
        };
        let mut step = InstanceStep::new();
        let appended = one.append(handle, 1, &mut step);
        assert!(there.join().unwrap() || appended.is_ok());
        let positions = 1 + usize::from(appended.is_ok());
        for shard in one.shards() {
            assert_eq!(shard.table(handle).unwrap().len(), positions);
        }
        if appended.is_ok() {
            one.tokens(handle, 1, &Contents::new(&[2])).unwrap();
            one.computed(handle, 2).unwrap();
        }
        one.release(handle).unwrap();
        at_rest(&one, &other, [3, 2]);
    });
}

/// The source calls a move off while the destination commits it: one of them goes on with the sequence, on both shards.
#[test]
fn commit_vs_abort_on_two_shards() {
    two(|| {
        let (here, there) = (pools([2, 2], 0), pools([1, 1], 2));
        let (mut source, mut destination) = (instance(&here), instance(&there));
        let space = Namespace::new();
        let prompt = Prompt::new(&space, &[1]).full_hit(true);
        let request = Admit::new(prompt, Growth::OnDemand);
        let handle = source.admit(&request).unwrap().handle;
        source.computed(handle, 1).unwrap();
        let mut leases = source.leases(1).unwrap();
        let terms = Terms::moving(Owner::new(1), 9);
        let export: InstanceExport = source.export(handle, &space, &mut leases, &terms).unwrap();
        let incoming = InstanceIncoming::from_export(&export, 1);
        let imported = destination.import(&request, &incoming).unwrap();
        for import in &imported.imports {
            import.arrived(0, 0..1).unwrap();
        }
        let caller = {
            let export = export.clone();
            thread::spawn(move || export.abort().is_ok())
        };
        let committed = destination.commit(imported.handle).is_ok();
        let aborted = caller.join().unwrap();
        assert!(
            committed != aborted,
            "committed {committed}, aborted {aborted}"
        );
        let goes_on = source.append(handle, 1, &mut InstanceStep::new());
        if committed {
            let moved = AppendError::InTransit(InTransit::Moved);
            assert_eq!(goes_on, Err(moved));
        } else {
            assert_eq!(goes_on, Ok(()));
        }
        source.release(handle).unwrap();
        destination.release(imported.handle).unwrap();
        for instance in [&source, &destination] {
            assert_eq!(instance.audit(&[]), Ok(()));
            for shard in instance.shards() {
                assert_eq!(shard.pool().available(), shard.pool().capacity());
            }
        }
    });
}

/// Two registries over the same ranks make them grow at the same time: each block that was granted is counted.
#[test]
fn two_registries_grow() {
    two(|| {
        let ranks = [0, 1].map(|at| Rank::new(ShardId::new(at), 1).max_blocks(3));
        let config = SequencesConfig::new(1);
        let mut one = Instance::lockstep(&ranks, &PoolConfig::new(1, 1), &config).unwrap();
        let mut other = one.another(&config).unwrap();
        let there = thread::spawn(move || other.grow(1).is_ok());
        let mine = one.grow(1).is_ok();
        let theirs = there.join().unwrap();
        // Who came while the other was at it is told so.
        assert!(mine || theirs);
        let blocks = 1 + usize::from(mine) + usize::from(theirs);
        assert_eq!((one.capacity(0), one.capacity(1)), (blocks, blocks));
        for at in 0..2 {
            assert_eq!(one.rank(at).unwrap().blocks, blocks);
        }
        assert_eq!(one.audit(&[]), Ok(()));
    });
}
