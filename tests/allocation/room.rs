//! Room made at creation: calls within it ask for no memory from the first one on.

use kvblock::{
    Admit, BlockPool, Contents, CreateError, Fence, Growth, Handle, Instance, InstanceError,
    InstanceStep, InvalidateError, KvFormat, MAX_SHARDS, Namespace, OutOfMemory, PoolConfig,
    Prompt, Rank, Sequences, SequencesConfig, ShardId, Step,
};

use super::{BLOCK_SIZE, BLOCKS, LIVE, Refuse, Scheduler, armed, config, conversations, create};

/// Positions that no sequence of these tests goes beyond.
const LONGEST: usize = 320;

#[test]
fn scheduling_with_room_allocates_nothing_from_the_first_call_on() {
    let (pool, _) = create(&config(BLOCKS, BLOCK_SIZE).events(64)).expect("memory");
    let room = SequencesConfig::new(8).positions(LONGEST);
    let namespace = Namespace::new().salt("tenant 17");
    let conversations = conversations();
    let mut scheduler = Scheduler {
        seqs: Sequences::new(pool, &room).expect("memory"),
        step: Step::with_room(8, 64, BLOCK_SIZE).expect("memory"),
        batch: Vec::with_capacity(8),
        row: vec![0; 64],
        slots: vec![0; 1_024],
        namespace: &namespace,
        conversations: &conversations,
    };
    let ((), requests) = armed(Refuse::Nothing, || {
        (0..300).for_each(|round| scheduler.serve(round));
    });
    assert_eq!(requests, 0, "requests for memory in the first 300 rounds");
    let report = scheduler.seqs.report();
    assert!(report.copies > 300 && report.first.hit > 300, "{report}");
    assert!(report.pool.reclaims > 300, "{report}");
    assert_eq!(scheduler.seqs.audit(&[]), Ok(()));
}

fn instance(shards: usize, sequences: &SequencesConfig) -> Result<Instance, InstanceError> {
    let mut registries = Vec::new();
    let enough = registries.try_reserve_exact(shards);
    enough.map_err(|_| InstanceError::OutOfMemory)?;
    for shard in (0..).take(shards) {
        let config = PoolConfig::new(256, 4).shard(ShardId::new(shard));
        registries.push(Sequences::new(BlockPool::new(&config)?, sequences)?);
    }
    Instance::split(registries)
}

/// Serves pairs of branches, whose releases wait for fences, from the first call on.
fn serves_without_a_request(mut it: Instance) {
    let space = Namespace::new();
    let texts: Vec<Vec<u32>> = (0..30)
        .map(|it| (it * 100..it * 100 + 70).collect())
        .collect();
    let mut step =
        InstanceStep::with_room(it.shards().len(), 2, 8, it.block_size()).expect("memory");
    let mut lanes = it.lanes_with_room(12).expect("memory");
    let mut round = |number: usize| {
        let growth = [Growth::Cap(60), Growth::Ahead(2), Growth::OnDemand][number % 3];
        // The same text twice at a time: duplicates.
        let prompt = Prompt::new(&space, &texts[number / 2 % 30]);
        let request = Admit::new(prompt, growth);
        it.check(&request).expect("room");
        let first = it.admit(&request).expect("room").handle;
        let twin = it.admit(&request).expect("room").handle;
        it.computed(first, 70).expect("it has them");
        it.computed(twin, 70).expect("it has them");
        let fence = Fence(number as u64 + 1);
        it.adopt_duplicates_after(twin, &mut lanes, fence)
            .expect("it lives");
        let mut child = [Handle::NONE];
        it.fork(twin, &mut child).expect("room");
        for at in 0..6 {
            it.step(&[(twin, 3), (child[0], 3)], &mut step);
            assert!(step.failures().is_empty());
            for (shard, step) in step.shards().iter().enumerate() {
                for &ticket in step.copies() {
                    it.copied(shard, ticket).expect("pending");
                }
            }
            for handle in [twin, child[0]] {
                let known = 70 + 2 * at;
                it.tokens(handle, known, &Contents::new(&[9; 3]))
                    .expect("the next ones");
                it.computed(handle, known + 3).expect("it has them");
                it.truncate(handle, known + 2).expect("room");
            }
        }
        it.truncate_after(twin, 41, &mut lanes, fence)
            .expect("room");
        it.release_after(twin, &mut lanes, fence).expect("it lives");
        it.preempt_after(first, &mut lanes, fence)
            .expect("it lives");
        it.preempt(child[0]).expect("it lives");
        for lane in &mut lanes {
            lane.complete(Fence(fence.0 - 1));
        }
    };
    let ((), requests) = armed(Refuse::Nothing, || (0..200).for_each(&mut round));
    assert_eq!(requests, 0, "requests for memory in the first 200 rounds");
    assert!(it.is_empty());
    for shard in it.report().shards {
        assert!(shard.adopted > 100 && shard.copies > 100, "{shard}");
    }
    drop(lanes);
    assert_eq!(it.audit(&[]), Ok(()));
}

#[test]
fn calls_over_shards_with_room_allocate_nothing_from_the_first_one_on() {
    // None is ever longer.
    let room = SequencesConfig::new(3).positions(70 + 2 * 5 + 3);
    for shards in [1, 3, MAX_SHARDS] {
        serves_without_a_request(instance(shards, &room).expect("memory"));
    }
    let ranks = [250, 256].map(|blocks| Rank::new(ShardId::new(blocks), blocks as usize));
    let lockstep = Instance::lockstep(&ranks, &PoolConfig::new(1, 4), &room).expect("memory");
    serves_without_a_request(lockstep.another(&room).expect("memory"));
    serves_without_a_request(lockstep);
}

/// Runs `create` with the n-th request refused, for n = 1, 2, ... until it needs no more.
fn creation_fails_cleanly<T, E: core::fmt::Debug>(
    create: impl Fn() -> Result<T, E>,
    out_of_memory: impl Fn(&E) -> bool,
    at_least: u64,
) {
    let before = LIVE.get();
    for n in 1.. {
        let (result, requests) = armed(Refuse::Nth(n), &create);
        match result {
            Ok(created) => {
                assert!(requests < n, "request {n} was refused and nobody said so");
                drop(created);
                assert_eq!(LIVE.get(), before, "bytes left behind by the drop");
                assert!(n > at_least, "only {} requests", n - 1);
                break;
            }
            Err(error) => {
                assert!(out_of_memory(&error), "request {n}: {error:?}");
                assert!(requests >= n, "request {n} was never made");
                assert_eq!(LIVE.get(), before, "left behind at request {n}");
            }
        }
    }
}

#[test]
fn creation_with_room_fails_cleanly_at_every_allocation() {
    let (pool, _) = create(&config(64, 4)).expect("memory");
    let format = KvFormat::new(4, kvblock::ElementType::new(1), [8, 8]).expect("sound");
    // Lists of few blocks need no buffer; more positions than there are blocks count as those.
    for (positions, at_least) in [(1, 5), (100, 5 + 3 * 6), (usize::MAX, 5 + 3 * 6)] {
        let room = SequencesConfig::new(3)
            .positions(positions)
            .format(format.clone());
        creation_fails_cleanly(
            || Sequences::new(pool.clone(), &room),
            |error| matches!(error, CreateError::OutOfMemory { bytes: 1.. }),
            at_least,
        );
        let registry = Sequences::new(pool.clone(), &room).expect("memory");
        creation_fails_cleanly(|| registry.lane(3), |&error| error == OutOfMemory, 2);
        let it = Instance::split(vec![registry]).expect("one");
        let none = |error: &InstanceError| {
            let create = matches!(
                error,
                InstanceError::Create(CreateError::OutOfMemory { .. })
            );
            create || matches!(error, InstanceError::OutOfMemory)
        };
        creation_fails_cleanly(|| it.another(&room), none, at_least);
    }
    let room = SequencesConfig::new(4).positions(100);
    let it = instance(3, &room).expect("memory");
    creation_fails_cleanly(|| it.lanes_with_room(2), |&error| error == OutOfMemory, 12);
    creation_fails_cleanly(
        || Step::with_room(3, 10, 4),
        |&error| error == OutOfMemory,
        5,
    );
    creation_fails_cleanly(
        || InstanceStep::with_room(3, 3, 10, 4),
        |&error| error == OutOfMemory,
        15,
    );
}

#[test]
fn a_step_with_room_lists_all_who_fail() {
    let mut it = instance(3, &SequencesConfig::new(4)).expect("memory");
    let mut step = InstanceStep::with_room(3, 50, 50, 4).expect("memory");
    let batch = [(Handle::NONE, 1); 50];
    let ((), requests) = armed(Refuse::Above(0), || it.step(&batch, &mut step));
    assert_eq!((requests, step.failures().len()), (0, 50));
    let mut one = Step::new();
    assert_eq!(
        armed(Refuse::Nth(3), || one.make_room(3, 10, 4)).0,
        Err(OutOfMemory)
    );
    assert_eq!(one.make_room(3, 10, 4), Ok(()));
}

/// What is left of a published block is known again: a branch has room for that from its fork on.
#[test]
fn a_branch_goes_back_into_a_published_block_without_memory() {
    let (pool, _) = create(&config(64, 4)).expect("memory");
    let mut seqs = Sequences::new(pool, &SequencesConfig::new(2)).expect("memory");
    let space = Namespace::new();
    let tokens: Vec<u32> = (0..16).collect();
    let request = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
    let parent = seqs.admit(&request).expect("room").handle;
    seqs.computed(parent, 16).expect("it has them");
    let mut child = [Handle::NONE];
    seqs.fork(parent, &mut child).expect("room");
    let (result, requests) = armed(Refuse::Nth(1), || seqs.truncate(child[0], 14));
    assert_eq!((result, requests), (Ok(()), 0));
    assert_eq!(seqs.state(child[0]).expect("it lives").known, 14);
    assert_eq!(seqs.audit(&[]), Ok(()));
}

#[test]
fn bad_content_out_of_memory_changes_nothing() {
    let space = Namespace::new();
    let tokens: Vec<u32> = (0..70).collect();
    let make = || {
        let (pool, _) = create(&config(64, 4)).expect("memory");
        let mut seqs = Sequences::new(pool, &SequencesConfig::new(2)).expect("memory");
        let request = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
        let parent = seqs.admit(&request).expect("room").handle;
        seqs.computed(parent, 68).expect("it has them");
        seqs.fork(parent, &mut [Handle::NONE]).expect("room");
        seqs
    };
    let mut refused = 0;
    for n in 1.. {
        let mut seqs = make();
        let bad = seqs.table(seqs.handles().next().expect("it lives"));
        let bad = bad.expect("it lives")[5];
        let (before, mut affected) = (seqs.report(), Vec::new());
        let (result, requests) = armed(Refuse::Nth(n), || seqs.invalidate(bad, &mut affected));
        assert_eq!(seqs.audit(&[]), Ok(()));
        match result {
            Err(InvalidateError::OutOfMemory) => {
                assert!(requests >= n, "request {n} was never made");
                assert_eq!(seqs.report(), before);
                refused += 1;
            }
            Ok(()) => {
                assert!(requests < n, "request {n} was refused and nobody said so");
                assert_eq!(affected.len(), 2);
                for &handle in &affected {
                    let state = seqs.state(handle).expect("it lives");
                    assert_eq!((state.known, state.computed), (70, 20));
                }
                break;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(refused > 3, "only {refused} requests");
}

#[test]
fn a_namespace_out_of_memory_is_an_error() {
    creation_fails_cleanly(
        || Namespace::try_new(Some((b"summarise", 3)), Some(b"salt"), Some(b"domain")),
        |&error| error == OutOfMemory,
        3,
    );
}
