//! Memory that calls over several shards ask for: none in steady state, and where it can't be had nothing changes on any shard.

use core::cell::RefCell;

use kvblock::{
    Admit, AdmitError, AppendError, BlockPool, BranchError, Contents, CreateError, DetachError,
    EndAfterError, ExportError, Fence, Growth, Handle, ImportError, Instance, InstanceError,
    InstanceIncoming, InstanceResizeError, InstanceStep, Lane, LeaseError, Leases, MAX_SHARDS,
    Namespace, Owner, PinError, PoolConfig, Prompt, Rank, ReleaseAfterError, ResizeError,
    Sequences, SequencesConfig, ShardId, SwapError, Terms, TokensError, TruncateAfterError,
};

use super::{LIVE, Refuse, armed};

fn split(shards: usize) -> Result<Instance, InstanceError> {
    let mut registries = Vec::new();
    let enough = registries.try_reserve_exact(shards);
    enough.map_err(|_| InstanceError::OutOfMemory)?;
    for shard in (0..).take(shards) {
        let config = PoolConfig::new(256, 4).shard(ShardId::new(shard));
        let pool = BlockPool::new(&config)?;
        registries.push(Sequences::new(pool, &SequencesConfig::new(8))?);
    }
    Instance::split(registries)
}

fn lockstep() -> Result<Instance, InstanceError> {
    let ranks = [64, 60, 62].map(|blocks| Rank::new(ShardId::new(blocks), blocks as usize));
    Instance::lockstep(&ranks, &PoolConfig::new(1, 4), &SequencesConfig::new(8))
}

#[test]
fn creation_of_an_instance_fails_cleanly_at_every_allocation() {
    for create in [lockstep, || split(3)] {
        let before = LIVE.get();
        for n in 1.. {
            let (result, requests) = armed(Refuse::Nth(n), create);
            match result {
                Ok(created) => {
                    assert!(requests < n, "request {n} was refused and nobody said so");
                    drop(created);
                    assert_eq!(LIVE.get(), before, "bytes left behind by the drop");
                    assert!(n > 15, "only {n} requests");
                    break;
                }
                Err(
                    InstanceError::OutOfMemory
                    | InstanceError::Create(CreateError::OutOfMemory { .. }),
                ) => {
                    assert!(requests >= n, "request {n} was never made");
                    assert_eq!(LIVE.get(), before, "left behind at request {n}");
                }
                Err(other) => panic!("request {n} refused, answered by {other:?}"),
            }
        }
    }
}

/// Three shards in use: two sequences, of which one has a branch and a pending copy.
struct InUse {
    it: Instance,
    a: Handle,
    b: Handle,
    space: Namespace,
    lanes: Vec<Lane>,
    leases: Vec<Leases>,
    step: InstanceStep,
}

impl InUse {
    fn new() -> Self {
        let mut it = split(3).expect("memory");
        let space = Namespace::new().salt("tenant 17");
        let tokens: Vec<u32> = (0..102).collect();
        let mut admit = |n: usize, growth| {
            let prompt = Prompt::new(&space, &tokens[..n]);
            let admitted = it.admit(&Admit::new(prompt, growth));
            admitted.expect("it fits").handle
        };
        let (a, b) = (admit(102, Growth::Cap(60)), admit(30, Growth::OnDemand));
        it.computed(a, 102).expect("it has them");
        let mut step = InstanceStep::new();
        it.fork(b, &mut [Handle::NONE]).expect("it fits");
        it.append(b, 1, &mut step).expect("it fits");
        Self {
            lanes: it.lanes().expect("memory"),
            leases: it.leases(usize::MAX).expect("memory"),
            it,
            a,
            b,
            space,
            // Its lists have no room.
            step: InstanceStep::new(),
        }
    }

    fn sight(&self) -> String {
        let tables: Vec<_> = self
            .it
            .shards()
            .iter()
            .map(|shard| {
                let of = |handle| (shard.state(handle), shard.table(handle));
                shard.handles().map(of).collect::<Vec<_>>()
            })
            .collect();
        let waiting: Vec<_> = self.lanes.iter().map(Lane::len).collect();
        let used: Vec<_> = self.leases.iter().map(Leases::used).collect();
        format!("{:?} {tables:?} {waiting:?} {used:?}", self.it.report())
    }
}

/// Runs `call` with the n-th request refused, for n = 1, 2, ... until it needs no more, each time on shards of its own. `call` says
/// whether it succeeded, or ran out of memory.
fn fails_cleanly(at_least: u64, call: impl Fn(&mut InUse) -> bool) {
    for n in 1.. {
        let mut used = InUse::new();
        let before = used.sight();
        let (done, requests) = armed(Refuse::Nth(n), || call(&mut used));
        if done {
            assert!(requests < n, "request {n} was refused and nobody said so");
            assert!(n > at_least, "only {} requests", n - 1);
            break;
        }
        assert!(requests >= n, "an error, but request {n} was never made");
        assert_eq!(
            used.sight(),
            before,
            "request {n}: a refusal changes nothing"
        );
        assert!(call(&mut used), "with memory it succeeds");
    }
}

#[test]
fn admission_over_shards_out_of_memory_changes_nothing() {
    let tokens: Vec<u32> = (5_000..5_203).collect();
    fails_cleanly(6, |used| {
        let prompt = Prompt::new(&used.space, &tokens);
        match used.it.admit(&Admit::new(prompt, Growth::Ahead(2))) {
            Ok(admitted) => admitted.fresh == 51,
            Err(AdmitError::OutOfMemory(_)) => false,
            Err(other) => panic!("{other:?}"),
        }
    });
}

#[test]
fn growth_over_shards_out_of_memory_changes_nothing() {
    fails_cleanly(6, |used| match used.it.append(used.a, 60, &mut used.step) {
        Ok(()) => used.step.shards().iter().all(|it| it.fresh().len() == 15),
        Err(AppendError::OutOfMemory(_)) => false,
        Err(other) => panic!("{other:?}"),
    });
    // Where a step has no memory for its lists each that got nothing is named.
    let mut used = InUse::new();
    let (before, batch) = (used.sight(), [(used.a, 60), (used.b, 0)]);
    let ((), requests) = armed(Refuse::Nth(1), || used.it.step(&batch, &mut used.step));
    assert!(requests >= 1);
    let failures = used.step.failures().iter();
    let failed: Vec<_> = failures.map(|it| (it.index, it.error)).collect();
    let none = AppendError::OutOfMemory(kvblock::OutOfMemory);
    assert_eq!(failed, [(0, none), (1, none)]);
    assert_eq!(used.sight(), before);
    used.it.step(&batch, &mut used.step);
    assert!(used.step.failures().is_empty());
    fails_cleanly(3, |used| {
        if used.it.append(used.a, 60, &mut used.step).is_err() {
            return false;
        }
        match used.it.tokens(used.a, 102, &Contents::new(&[7; 60])) {
            Ok(()) => true,
            Err(TokensError::OutOfMemory(_)) => {
                used.it.truncate(used.a, 102).expect("nothing was shared");
                false
            }
            Err(other) => panic!("{other:?}"),
        }
    });
}

#[test]
fn branches_over_shards_out_of_memory_change_nothing() {
    fails_cleanly(6, |used| {
        let mut children = [Handle::NONE; 3];
        match used.it.fork(used.a, &mut children) {
            Ok(()) => true,
            Err(BranchError::OutOfMemory(_)) => {
                assert_eq!(children, [Handle::NONE; 3]);
                false
            }
            Err(other) => panic!("{other:?}"),
        }
    });
}

#[test]
fn ends_over_shards_out_of_memory_change_nothing() {
    let none = ReleaseAfterError::OutOfMemory(kvblock::OutOfMemory);
    fails_cleanly(3, |used| {
        match used
            .it
            .truncate_after(used.a, 17, &mut used.lanes, Fence(1))
        {
            Ok(()) => true,
            Err(TruncateAfterError::Lane(error)) if error == none => false,
            Err(other) => panic!("{other:?}"),
        }
    });
    fails_cleanly(3, |used| {
        match used.it.release_after(used.a, &mut used.lanes, Fence(1)) {
            Ok(()) => true,
            Err(EndAfterError::Lane(error)) if error == none => false,
            Err(other) => panic!("{other:?}"),
        }
    });
    fails_cleanly(1, |used| match used.it.detach(used.a) {
        Ok(detached) => detached.shards().len() == 3,
        Err(DetachError::OutOfMemory(_)) => false,
        Err(other) => panic!("{other:?}"),
    });
}

#[test]
fn transfers_over_shards_out_of_memory_change_nothing() {
    let tokens: Vec<u32> = (5_000..5_203).collect();
    fails_cleanly(9, |used| {
        let prompt = Prompt::new(&used.space, &tokens);
        let request = Admit::new(prompt, Growth::OnDemand);
        match used.it.import(&request, &InstanceIncoming::new(200, 2)) {
            Ok(imported) => imported.imports.len() == 3,
            Err(ImportError::OutOfMemory(_) | ImportError::Admit(AdmitError::OutOfMemory(_))) => {
                false
            }
            Err(other) => panic!("{other:?}"),
        }
    });
    let owner = Owner::new(1);
    fails_cleanly(6, |used| {
        let terms = Terms::moving(owner, 9);
        match used
            .it
            .export(used.a, &used.space, &mut used.leases, &terms)
        {
            Ok(export) => export.shards().len() == 3,
            Err(ExportError::OutOfMemory(_) | ExportError::Lease(LeaseError::OutOfMemory)) => false,
            Err(other) => panic!("{other:?}"),
        }
    });
    fails_cleanly(6, |used| {
        match used.it.pin(used.a, &mut used.leases, owner, 9) {
            Ok(leases) => leases.len() == 3,
            Err(PinError::Lease(LeaseError::OutOfMemory)) => false,
            Err(other) => panic!("{other:?}"),
        }
    });
}

#[test]
fn swaps_over_shards_out_of_memory_change_nothing_on_either_side() {
    let tokens: Vec<u32> = (0..102).collect();
    // One for each call, so that none has room from the one before.
    let hosts: Vec<_> = (0..200).map(|_| split(3).expect("memory")).collect();
    let hosts = RefCell::new(hosts);
    fails_cleanly(20, |used| {
        let mut host = hosts.borrow_mut().pop().expect("enough of them");
        let request = Admit::new(Prompt::new(&used.space, &tokens), Growth::OnDemand);
        let (owner, leases) = (Owner::new(1), &mut used.leases);
        let swap = used.it.swap_to(used.a, &mut host, &request, leases, owner);
        match swap {
            Ok(mut swap) => {
                let pairs = (0..3).all(|shard| swap.pairs(shard).len() == 26);
                swap.abort(&mut host).expect("it is open");
                pairs
            }
            Err(
                SwapError::Source(
                    ExportError::OutOfMemory(_) | ExportError::Lease(LeaseError::OutOfMemory),
                )
                | SwapError::Destination(
                    ImportError::OutOfMemory(_) | ImportError::Admit(AdmitError::OutOfMemory(_)),
                ),
            ) => {
                for it in host.shards() {
                    let report = it.pool().report();
                    assert_eq!((it.len(), report.held, report.reserved), (0, 0, 0));
                }
                false
            }
            Err(other) => panic!("{other:?}"),
        }
    });
}

#[test]
fn calls_over_as_many_shards_as_there_may_be_allocate_nothing_in_steady_state() {
    let mut it = split(MAX_SHARDS).expect("memory");
    let space = Namespace::new();
    let texts: Vec<Vec<u32>> = (0..30)
        .map(|it| (it * 100..it * 100 + 70).collect())
        .collect();
    let mut step = InstanceStep::new();
    let mut lanes = it.lanes().expect("memory");
    let mut round = |number: usize| {
        let growth = [Growth::Cap(60), Growth::Ahead(2), Growth::OnDemand][number % 3];
        let request = Admit::new(Prompt::new(&space, &texts[number / 2 % 30]), growth);
        it.check(&request).expect("room");
        let parent = it.admit(&request).expect("room").handle;
        it.computed(parent, 70).expect("it has them");
        let mut child = [Handle::NONE];
        it.fork(parent, &mut child).expect("room");
        for at in 0..6 {
            it.step(&[(parent, 3), (child[0], 3)], &mut step);
            assert!(step.failures().is_empty());
            for (shard, step) in step.shards().iter().enumerate() {
                for &ticket in step.copies() {
                    it.copied(shard, ticket).expect("pending");
                }
            }
            for handle in [parent, child[0]] {
                let known = 70 + 2 * at;
                it.tokens(handle, known, &Contents::new(&[9; 3]))
                    .expect("the next ones");
                it.computed(handle, known + 3).expect("it has them");
                it.truncate(handle, known + 2).expect("room");
            }
        }
        let fence = Fence(number as u64);
        it.release_after(parent, &mut lanes, fence).expect("memory");
        it.preempt(child[0]).expect("it lives");
        for lane in &mut lanes {
            lane.complete(fence);
        }
    };
    (0..200).for_each(&mut round);
    let ((), requests) = armed(Refuse::Nothing, || (200..500).for_each(&mut round));
    assert_eq!(requests, 0, "requests for memory in 300 rounds");
    assert!(it.is_empty());
    assert_eq!(it.audit(&[]), Ok(()));
    for shard in it.shards() {
        let report = shard.report();
        assert!(
            report.pool.reclaims > 300 && report.first.hit > 300,
            "{report}"
        );
    }
}

/// Blocks above the limit stay findable where one of several shards has no memory for its part of a shrink.
#[test]
fn shrinking_shards_out_of_memory_changes_nothing() {
    let tokens: Vec<u32> = (0..102).collect();
    let found = |used: &InUse| {
        let prompt = Prompt::new(&used.space, &tokens);
        let shards = used.it.shards();
        [0, 1, 2].map(|at| {
            let found = shards[at].pool().probe(&prompt);
            found.expect("lengths fit").positions
        })
    };
    for n in 1.. {
        let mut used = InUse::new();
        // Its promise would stand in the way; what it computed stays findable.
        used.it.release(used.a).expect("it lives");
        let before = (used.sight(), found(&used));
        assert_eq!(before.1, [100; 3]);
        let (shrunk, requests) = armed(Refuse::Nth(n), || used.it.shrink(250));
        match shrunk {
            Ok(()) => {
                assert!(requests < n, "request {n} was refused and nobody said so");
                assert!(n > 6, "only {} requests", n - 1);
                assert_eq!(found(&used), [24; 3]);
                break;
            }
            Err(InstanceResizeError::Shard {
                error: ResizeError::OutOfMemory,
                ..
            }) => assert_eq!((used.sight(), found(&used)), before),
            Err(other) => panic!("{other:?}"),
        }
    }
}
