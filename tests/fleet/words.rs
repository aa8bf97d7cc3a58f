//! The words of the scenarios: small fleets, requests, what an instance has left.

use std::sync::atomic::{AtomicU32, Ordering};

use kvblock::{
    Admit, Answer, BlockPool, Fleet, Growth, Handle, Instance, InstanceId, Member, Move, MoveError,
    MoveTerms, Namespace, NoPlace, Owner, Placed, Placement, PoolConfig, Prompt, Rank, Sequences,
    SequencesConfig, ShardId,
};

use crate::support::text;

pub(crate) const MODEL: u64 = 7;

/// No two shards of the tests have one name.
fn next_shard() -> ShardId {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    ShardId::new(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// One rank with so many blocks of 4 positions, and 8 slots.
pub(crate) fn replica(blocks: usize) -> Instance {
    replica_of(blocks, 4, &SequencesConfig::new(8))
}

pub(crate) fn replica_of(
    blocks: usize,
    block_size: usize,
    sequences: &SequencesConfig,
) -> Instance {
    let rank = Rank::new(next_shard(), blocks);
    Instance::lockstep(&[rank], &PoolConfig::new(blocks, block_size), sequences)
        .expect("a sound configuration")
}

/// Two ranks in lockstep with so many blocks of 4 positions, of at most `max`.
pub(crate) fn ranks(blocks: [usize; 2], max: usize) -> Instance {
    let ranks = blocks.map(|it| Rank::new(next_shard(), it).max_blocks(max));
    Instance::lockstep(&ranks, &PoolConfig::new(1, 4), &SequencesConfig::new(8))
        .expect("a sound configuration")
}

/// A pool for each shard, blocks of 4 positions.
pub(crate) fn stages(blocks: &[usize]) -> Instance {
    let shards = blocks.iter().map(|&blocks| {
        let pool = BlockPool::new(&PoolConfig::new(blocks, 4).shard(next_shard()));
        Sequences::new(pool.expect("a pool"), &SequencesConfig::new(8)).expect("a registry")
    });
    Instance::split(shards.collect()).expect("they fit to each other")
}

/// Replicas of [`MODEL`] with so many blocks each, that compute 64 positions in a step.
pub(crate) fn fleet(blocks: &[usize]) -> (Fleet, Vec<InstanceId>) {
    let mut fleet = Fleet::new();
    let ids = blocks
        .iter()
        .map(|&blocks| add(&mut fleet, replica(blocks), Member::new(MODEL, 64)));
    let ids = ids.collect();
    (fleet, ids)
}

#[track_caller]
pub(crate) fn add(fleet: &mut Fleet, instance: Instance, member: Member) -> InstanceId {
    fleet.add(instance, member).expect("it is a new one")
}

/// A request for a text (`P8+Q4`), without promise.
pub(crate) fn with<T>(tokens: &str, run: impl FnOnce(&Admit<'_>) -> T) -> T {
    with_growth(tokens, Growth::OnDemand, run)
}

pub(crate) fn with_growth<T>(tokens: &str, growth: Growth, run: impl FnOnce(&Admit<'_>) -> T) -> T {
    let (space, tokens) = (Namespace::new(), text(tokens));
    run(&Admit::new(Prompt::new(&space, &tokens), growth))
}

pub(crate) fn admit(
    fleet: &mut Fleet,
    tokens: &str,
    placement: Placement,
) -> Result<Placed, NoPlace> {
    with(tokens, |request| {
        let said = fleet.check(MODEL, request, placement);
        let placed = fleet.admit(MODEL, request, placement);
        match (&said, &placed) {
            (Ok(said), Ok(placed)) => assert_eq!(
                (said.instance, said.hit),
                (placed.instance, placed.admitted.hit)
            ),
            (Err(said), Err(refused)) => assert_eq!(said, refused),
            _ => panic!("foretold {said:?}, got {placed:?}"),
        }
        placed
    })
}

/// Where it was placed.
#[track_caller]
pub(crate) fn placed(fleet: &mut Fleet, tokens: &str, placement: Placement) -> InstanceId {
    admit(fleet, tokens, placement)
        .expect("there is room")
        .instance
}

/// Admitted on this instance itself, and computed.
#[track_caller]
pub(crate) fn run_on(fleet: &mut Fleet, id: InstanceId, tokens: &str) -> Handle {
    let instance = fleet.get_mut(id).expect("it is there");
    let admitted = with(tokens, |request| instance.admit(request)).expect("there is room");
    let positions = text(tokens).len();
    instance
        .computed(admitted.handle, positions)
        .expect("it has these positions");
    admitted.handle
}

#[track_caller]
pub(crate) fn release(fleet: &mut Fleet, id: InstanceId, handle: Handle) {
    let instance = fleet.get_mut(id).expect("it is there");
    instance.release(handle).expect("it lives");
}

/// Blocks that an admission can have on each of these.
#[track_caller]
pub(crate) fn free(fleet: &Fleet, ids: &[InstanceId]) -> Vec<usize> {
    let free = |&id| fleet.get(id).expect("it is there").free();
    ids.iter().map(free).collect()
}

#[track_caller]
pub(crate) fn audit(fleet: &Fleet) {
    assert_eq!(fleet.audit(&[]), Ok(()));
}

/// Begins to move a sequence; until time 100, read by one writer.
pub(crate) fn start(
    fleet: &mut Fleet,
    (from, source): (InstanceId, Handle),
    to: InstanceId,
    tokens: &str,
    growth: Growth,
) -> Result<Move, MoveError> {
    let terms = MoveTerms::new(Owner::new(5), 100);
    with_growth(tokens, growth, |request| {
        fleet.start_move(from, source, to, request, &terms)
    })
}

/// All writers have written everything: what they were told.
pub(crate) fn arrive(moving: &Move) -> Vec<Answer> {
    let mut answers = Vec::new();
    for import in moving.imports() {
        for writer in 0..import.writers() {
            let blocks = 0..import.ids().len();
            answers.push(import.arrived(writer, blocks).expect("its first answer"));
        }
    }
    answers
}

/// Blocks that hold nothing, that are findable, that are held; on the first shard.
#[track_caller]
pub(crate) fn blocks(fleet: &Fleet, id: InstanceId) -> [usize; 3] {
    let report = fleet.get(id).expect("it is there").shards()[0]
        .pool()
        .report();
    [report.free, report.idle, report.held]
}

/// Blocks that moves keep twice, on the first shard.
#[track_caller]
pub(crate) fn duplicated(fleet: &Fleet, id: InstanceId) -> usize {
    let instance = fleet.get(id).expect("it is there");
    instance.shards()[0].report().duplicated
}
