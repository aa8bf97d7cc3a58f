//! Fences: what is released after one is not reused before it has passed, and the figures keep it apart.

use kvblock::{
    Admit, BlockPool, Contents, Fence, Growth, Namespace, PoolConfig, Prompt, Refused, Sequences,
    SequencesConfig, Step, TruncateAfterError, TruncateError,
};

const B: usize = 4;

fn registry(blocks: usize) -> Sequences {
    let pool = BlockPool::new(&PoolConfig::new(blocks, B)).unwrap();
    Sequences::new(pool, &SequencesConfig::new(8)).unwrap()
}

/// (free, idle, held, quarantined, reserved)
fn figures(pool: &BlockPool) -> (usize, usize, usize, usize, usize) {
    let r = pool.report();
    assert_eq!(r.capacity, r.free + r.idle + r.held + r.quarantined);
    assert_eq!(r.quarantined, pool.quarantined());
    (r.free, r.idle, r.held, r.quarantined, r.reserved)
}

#[test]
fn a_hit_on_a_quarantined_block_costs_nothing_and_takes_it_out_of_quarantine() {
    let mut seqs = registry(4);
    let space = Namespace::new();
    let prompt: Vec<u32> = (0..9).collect();
    let request = Admit::new(Prompt::new(&space, &prompt), Growth::OnDemand);
    let a = seqs.admit(&request).unwrap().handle;
    seqs.computed(a, 9).unwrap();
    let mut lane = seqs.pool().lane();
    seqs.release_after(a, &mut lane, Fence(7)).unwrap();
    assert_eq!(figures(seqs.pool()), (1, 0, 0, 3, 0));
    assert_eq!(seqs.audit(&[&lane]), Ok(()));

    let b = seqs.admit(&request).unwrap();
    assert_eq!((b.hit, b.fresh), (8, 1));
    assert_eq!(figures(seqs.pool()), (0, 0, 3, 1, 0));
    assert!(matches!(
        seqs.admit(&Admit::new(Prompt::new(&space, &[99]), Growth::OnDemand))
            .map(|_| ()),
        Err(kvblock::AdmitError::Refused(Refused::Shortfall {
            needed: 1,
            available: 0,
            quarantined: 1,
            ..
        }))
    ));
    seqs.release(b.handle).unwrap();
    assert_eq!(
        figures(seqs.pool()),
        (1, 0, 0, 3, 0),
        "the fence holds what the hit let go"
    );
    assert_eq!(lane.complete(Fence(6)), 0);
    assert_eq!(lane.complete(Fence(7)), 3);
    assert_eq!(figures(seqs.pool()), (2, 2, 0, 0, 0));
    assert_eq!(seqs.audit(&[&lane]), Ok(()));
}

#[test]
fn a_block_of_two_lanes_waits_for_both_in_any_order() {
    for first in 0..2 {
        let mut seqs = registry(4);
        let space = Namespace::new();
        let prompt: Vec<u32> = (0..8).collect();
        let a = seqs
            .admit(&Admit::new(Prompt::new(&space, &prompt), Growth::OnDemand))
            .unwrap()
            .handle;
        let mut b = [kvblock::Handle::NONE];
        seqs.fork(a, &mut b).unwrap();
        let mut lanes = [seqs.pool().lane(), seqs.pool().lane()];
        seqs.release_after(a, &mut lanes[0], Fence(1)).unwrap();
        assert_eq!(figures(seqs.pool()), (2, 0, 2, 0, 0));
        seqs.release_after(b[0], &mut lanes[1], Fence(1)).unwrap();
        assert_eq!(figures(seqs.pool()), (2, 0, 0, 2, 0));
        assert_eq!(seqs.audit(&[&lanes[0], &lanes[1]]), Ok(()));
        assert_eq!(lanes[first].complete(Fence(1)), 0);
        assert_eq!(figures(seqs.pool()), (2, 0, 0, 2, 0));
        assert_eq!(lanes[1 - first].complete(Fence(1)), 2);
        assert_eq!(figures(seqs.pool()), (4, 0, 0, 0, 0));
        assert_eq!(seqs.audit(&[&lanes[0], &lanes[1]]), Ok(()));
    }
}

#[test]
fn a_truncated_tail_waits_and_pays_nothing_meanwhile() {
    let mut seqs = registry(6);
    let space = Namespace::new();
    let prompt: Vec<u32> = (0..8).collect();
    let a = seqs
        .admit(&Admit::new(Prompt::new(&space, &prompt), Growth::Cap(8)))
        .unwrap()
        .handle;
    seqs.computed(a, 8).unwrap();
    let mut step = Step::new();
    seqs.append(a, 8, &mut step).unwrap();
    seqs.tokens(a, 8, &Contents::new(&[1, 2, 3, 4, 5, 6, 7, 8]))
        .unwrap();
    seqs.computed(a, 12).unwrap();
    let mut lane = seqs.pool().lane();
    // Three blocks of the promise wait for the fence: two are available to stand in for two of them, not three.
    assert_eq!(
        seqs.truncate_after(a, 4, &mut lane, Fence(1)),
        Err(TruncateAfterError::Truncate(TruncateError::Refused(
            Refused::Shortfall {
                shard: seqs.pool().shard(),
                needed: 3,
                available: 2,
                quarantined: 0
            }
        )))
    );
    assert_eq!(figures(seqs.pool()), (2, 0, 4, 0, 0));
    seqs.truncate_after(a, 8, &mut lane, Fence(1)).unwrap();
    assert_eq!(figures(seqs.pool()), (2, 0, 2, 2, 2));
    assert_eq!(seqs.audit(&[&lane]), Ok(()));
    seqs.release(a).unwrap();
    assert_eq!(
        figures(seqs.pool()),
        (2, 0, 0, 4, 0),
        "a fenced tail holds its path"
    );
    assert_eq!(seqs.audit(&[&lane]), Ok(()));
    assert_eq!(lane.complete(Fence(1)), 4);
    assert_eq!(figures(seqs.pool()), (3, 3, 0, 0, 0));
    assert_eq!(seqs.audit(&[&lane]), Ok(()));
}

#[test]
fn a_lane_that_is_dropped_gives_everything_back() {
    let pool = BlockPool::new(&PoolConfig::new(4, B)).unwrap();
    let mut worker = pool.worker().unwrap();
    let blocks = pool.reserve(3).unwrap().take(&mut worker, 3).unwrap();
    let mut lane = pool.lane();
    blocks
        .release_after(&mut worker, &mut lane, Fence(3))
        .unwrap();
    assert_eq!((lane.len(), figures(&pool)), (3, (1, 0, 0, 3, 0)));
    drop(lane);
    assert_eq!(figures(&pool), (4, 0, 0, 0, 0));
    assert_eq!(pool.audit(&[]), Ok(()));
}

#[test]
fn a_lane_that_gets_nothing_stays_empty() {
    let mut seqs = registry(4);
    let space = Namespace::new();
    let nothing = Admit::new(Prompt::new(&space, &[]), Growth::OnDemand);
    let a = seqs.admit(&nothing).unwrap().handle;
    let mut lane = seqs.pool().lane();
    seqs.release_after(a, &mut lane, Fence(1)).unwrap();
    assert_eq!((lane.len(), lane.is_empty()), (0, true));
}

#[test]
fn a_block_that_was_invalidated_is_quarantined_when_its_last_other_owner_leaves() {
    let mut seqs = registry(4);
    let space = Namespace::new();
    let prompt: Vec<u32> = (0..9).collect();
    let request = Admit::new(Prompt::new(&space, &prompt), Growth::OnDemand);
    let a = seqs.admit(&request).unwrap().handle;
    seqs.computed(a, 9).unwrap();
    let b = seqs.admit(&request).unwrap().handle;
    let bad = seqs.table(a).unwrap()[0];
    let mut worker = seqs.pool().worker().unwrap();
    seqs.pool().clone().invalidate(&mut worker, bad).unwrap();
    let mut lane = seqs.pool().lane();
    seqs.release_after(a, &mut lane, Fence(1)).unwrap();
    assert_eq!(figures(seqs.pool()), (0, 0, 3, 1, 0));
    seqs.release(b).unwrap();
    assert_eq!(figures(seqs.pool()), (1, 0, 0, 3, 0));
    assert_eq!(seqs.audit(&[&lane]), Ok(()));
    assert_eq!(lane.complete(Fence(1)), 3);
    assert_eq!(figures(seqs.pool()), (4, 0, 0, 0, 0));
}

#[test]
fn adopted_copies_wait_for_the_step_that_reads_them() {
    let mut seqs = registry(8);
    let space = Namespace::new();
    let prompt: Vec<u32> = (0..9).collect();
    let request = Admit::new(Prompt::new(&space, &prompt), Growth::OnDemand);
    let [a, b] = [0; 2].map(|_| seqs.admit(&request).unwrap().handle);
    seqs.computed(a, 9).unwrap();
    seqs.computed(b, 9).unwrap();
    let own = seqs.table(b).unwrap().to_vec();
    let mut lane = seqs.pool().lane();
    assert_eq!(seqs.adopt_duplicates_after(b, &mut lane, Fence(4)), Ok(2));
    assert_eq!(seqs.table(b).unwrap()[..2], seqs.table(a).unwrap()[..2]);
    assert_eq!((lane.len(), figures(seqs.pool())), (2, (2, 0, 4, 2, 0)));
    assert_eq!(seqs.audit(&[&lane]), Ok(()));
    assert_eq!(seqs.adopt_duplicates_after(b, &mut lane, Fence(5)), Ok(0));
    assert_eq!(lane.complete(Fence(4)), 2);
    assert_eq!(figures(seqs.pool()), (4, 0, 4, 0, 0));
    assert!(!seqs.table(b).unwrap().contains(&own[0]));
    assert_eq!(seqs.audit(&[&lane]), Ok(()));
}

#[test]
fn a_registry_closes_behind_its_device() {
    let mut seqs = registry(12);
    let space = Namespace::new();
    let prompt: Vec<u32> = (0..6).collect();
    let request = Admit::new(Prompt::new(&space, &prompt), Growth::Cap(4));
    let a = seqs.admit(&request).unwrap().handle;
    seqs.computed(a, 6).unwrap();
    let mut children = [kvblock::Handle::NONE; 2];
    seqs.fork(a, &mut children).unwrap();
    let mut step = Step::new();
    seqs.append(children[0], 1, &mut step).unwrap();
    assert_eq!(step.copies().len(), 1);
    let pool = seqs.pool().clone();
    let mut lane = pool.lane();
    let other = BlockPool::new(&PoolConfig::new(1, B)).unwrap();
    let seqs = seqs
        .close_after(&mut other.lane(), Fence(1))
        .unwrap_err()
        .value;
    assert_eq!((seqs.len(), figures(&pool)), (3, (9, 0, 3, 0, 5)));
    seqs.close_after(&mut lane, Fence(1)).unwrap();
    assert_eq!(figures(&pool), (9, 0, 0, 3, 0));
    assert_eq!(pool.audit(&[&lane]), Ok(()));
    assert_eq!(lane.complete(Fence(1)), 3);
    assert_eq!(figures(&pool), (11, 1, 0, 0, 0));
    assert_eq!(pool.audit(&[]), Ok(()));
}
