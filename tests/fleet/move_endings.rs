//! Moves that end in every order: whoever leaves first, nothing stays held and nothing is given back twice.

use kvblock::{
    AbortError, Answer, CommitError, Fence, FinishError, Fleet, Growth, Handle, InstanceId,
    InstanceStep, Member, Move, MoveAborted, MoveOver, NotOpen, ReleaseAfterError, RemoveError,
    Stale,
};

use crate::words::{MODEL, add, arrive, audit, blocks, fleet, release, run_on, stages, start};

/// 22 positions on the first of two instances, on their way to the second.
fn under_way() -> (Fleet, Vec<InstanceId>, Move) {
    let (mut fleet, ids) = fleet(&[16, 16]);
    let source = run_on(&mut fleet, ids[0], "P22");
    let growth = Growth::Cap(10);
    let moving = start(&mut fleet, (ids[0], source), ids[1], "P22", growth).unwrap();
    (fleet, ids, moving)
}

/// It gets a position more; a block that is still read is copied for that.
#[track_caller]
fn goes_on(fleet: &mut Fleet, id: InstanceId, handle: Handle) {
    let mut step = InstanceStep::new();
    let instance = fleet.get_mut(id).unwrap();
    assert_eq!(instance.append(handle, 1, &mut step), Ok(()));
    for (shard, step) in step.shards().iter().enumerate() {
        for &ticket in step.copies() {
            instance.copied(shard, ticket).unwrap();
        }
    }
}

const fn aborted() -> FinishError {
    FinishError::Commit(CommitError::Aborted(MoveAborted))
}

#[test]
fn called_off_before_its_writers_answer() {
    let (mut fleet, ids, mut moving) = under_way();
    fleet.abort_move(&mut moving).unwrap();
    // The writers may still touch the blocks, and read those of the source.
    assert_eq!(blocks(&fleet, ids[1]), [10, 0, 6]);
    goes_on(&mut fleet, ids[0], moving.source());
    audit(&fleet);
    let Err(RemoveError::NotEmpty(busy)) = fleet.remove(ids[1]) else {
        panic!("it is being written to");
    };
    assert_eq!((busy.sequences, busy.loading, busy.leases), (0, 6, 0));
    assert_eq!(arrive(&moving), [Answer::Unwanted]);
    assert_eq!(blocks(&fleet, ids[1]), [16, 0, 0]);
    assert!(fleet.remove(ids[1]).is_ok());
    release(&mut fleet, ids[0], moving.source());
    audit(&fleet);
    assert_eq!(blocks(&fleet, ids[0]), [11, 5, 0]);
    assert!(fleet.remove(ids[0]).is_ok());
}

#[test]
fn called_off_after_everything_has_arrived() {
    let (mut fleet, ids, mut moving) = under_way();
    assert_eq!(arrive(&moving), [Answer::Taken]);
    fleet.abort_move(&mut moving).unwrap();
    assert_eq!(blocks(&fleet, ids[1])[2], 0);
    assert_eq!(fleet.get(ids[1]).unwrap().free(), 16);
    goes_on(&mut fleet, ids[0], moving.source());
    audit(&fleet);
}

#[test]
fn the_source_is_released_meanwhile() {
    for arrived in [false, true] {
        let (mut fleet, ids, mut moving) = under_way();
        if arrived {
            arrive(&moving);
        }
        release(&mut fleet, ids[0], moving.source());
        audit(&fleet);
        // There is nobody to take it over from; what was written is still there.
        assert_eq!(fleet.finish_move(&mut moving), Err(aborted()));
        fleet.abort_move(&mut moving).unwrap();
        if !arrived {
            // Its blocks are read until the writers answer.
            assert_eq!(blocks(&fleet, ids[0])[2], 6);
            let Err(RemoveError::NotEmpty(busy)) = fleet.remove(ids[0]) else {
                panic!("it is being read");
            };
            assert_eq!((busy.sequences, busy.loading, busy.leases), (0, 0, 1));
            assert_eq!(arrive(&moving), [Answer::Unwanted]);
        }
        assert_eq!(
            (blocks(&fleet, ids[0])[2], blocks(&fleet, ids[1])[2]),
            (0, 0)
        );
        audit(&fleet);
        assert!(ids.iter().all(|&id| fleet.remove(id).is_ok()));
    }
}

#[test]
fn the_destination_is_released_meanwhile() {
    let (mut fleet, ids, mut moving) = under_way();
    release(&mut fleet, ids[1], moving.handle());
    assert_eq!(
        fleet.finish_move(&mut moving),
        Err(FinishError::Commit(CommitError::Stale(Stale)))
    );
    fleet.abort_move(&mut moving).unwrap();
    goes_on(&mut fleet, ids[0], moving.source());
    arrive(&moving);
    assert_eq!(blocks(&fleet, ids[1]), [16, 0, 0]);
    audit(&fleet);
}

#[test]
fn the_lease_is_over_before_it_has_arrived() {
    let (mut fleet, ids, mut moving) = under_way();
    assert_eq!(fleet.tick(99), 0);
    assert_eq!(fleet.tick(100), 1);
    audit(&fleet);
    // What is read from now on may be anything.
    assert_eq!(arrive(&moving), [Answer::SourceGone]);
    let Err(FinishError::Commit(CommitError::NotArrived(missing))) = fleet.finish_move(&mut moving)
    else {
        panic!("it has not arrived");
    };
    assert_eq!((missing.arrived, missing.left), (0, 0));
    fleet.abort_move(&mut moving).unwrap();
    goes_on(&mut fleet, ids[0], moving.source());
    assert_eq!(blocks(&fleet, ids[1]), [16, 0, 0]);
    audit(&fleet);
}

#[test]
fn the_lease_is_over_after_it_has_arrived() {
    let (mut fleet, ids, mut moving) = under_way();
    arrive(&moving);
    fleet.tick(1000);
    let handle = fleet.finish_move(&mut moving).unwrap();
    goes_on(&mut fleet, ids[1], handle);
    assert_eq!(blocks(&fleet, ids[0]), [11, 5, 0]);
    audit(&fleet);
}

#[test]
fn a_dropped_move_is_called_off() {
    let (mut fleet, ids, moving) = under_way();
    let (source, there, imports) = (moving.source(), moving.handle(), moving.imports().to_vec());
    drop(moving);
    goes_on(&mut fleet, ids[0], source);
    release(&mut fleet, ids[1], there);
    imports[0].end(0).unwrap();
    assert_eq!(blocks(&fleet, ids[1]), [16, 0, 0]);
    audit(&fleet);
}

#[test]
fn what_has_ended_does_not_end_again() {
    let (mut fleet, ids, mut moving) = under_way();
    arrive(&moving);
    let handle = fleet.finish_move(&mut moving).unwrap();
    assert_eq!(
        fleet.finish_move(&mut moving),
        Err(FinishError::Over(MoveOver))
    );
    assert_eq!(
        fleet.abort_move(&mut moving),
        Err(AbortError::Over(MoveOver))
    );
    drop(moving);
    goes_on(&mut fleet, ids[1], handle);

    // And back; called off.
    let request = "P22+N1";
    let mut moving = start(
        &mut fleet,
        (ids[1], handle),
        ids[0],
        request,
        Growth::OnDemand,
    )
    .unwrap();
    fleet.abort_move(&mut moving).unwrap();
    assert_eq!(
        fleet.finish_move(&mut moving),
        Err(FinishError::Over(MoveOver))
    );
    goes_on(&mut fleet, ids[1], handle);
    audit(&fleet);
}

#[test]
fn what_the_destinations_registry_has_committed_is_not_called_off() {
    let (mut fleet, ids, mut moving) = under_way();
    arrive(&moving);
    let there = fleet.get_mut(ids[1]).unwrap();
    there.commit(moving.handle()).unwrap();
    assert_eq!(
        fleet.abort_move(&mut moving),
        Err(AbortError::NotOpen(NotOpen::Committed))
    );
    // The source may be released by itself then.
    release(&mut fleet, ids[0], moving.source());
    assert_eq!(fleet.finish_move(&mut moving), Ok(moving.handle()));
    audit(&fleet);
}

#[test]
fn a_step_under_way_at_the_source_keeps_its_blocks_until_its_fence() {
    let mut fleet = Fleet::new();
    let member = Member::new(MODEL, 64);
    let ids = [
        add(&mut fleet, stages(&[8, 8]), member),
        add(&mut fleet, stages(&[8, 8]), member),
    ];
    let source = run_on(&mut fleet, ids[0], "P14");
    let mut moving = start(
        &mut fleet,
        (ids[0], source),
        ids[1],
        "P14",
        Growth::OnDemand,
    )
    .unwrap();
    arrive(&moving);
    let mut lanes = fleet.get(ids[0]).unwrap().lanes().unwrap();
    let mut wrong = fleet.get(ids[1]).unwrap().lanes().unwrap();
    let fence = Fence(3);
    for lanes in [&mut wrong[..], &mut lanes[..1]] {
        assert_eq!(
            fleet.finish_move_after(&mut moving, lanes, fence),
            Err(FinishError::Lane(ReleaseAfterError::WrongPool))
        );
    }
    let handle = fleet
        .finish_move_after(&mut moving, &mut lanes, fence)
        .unwrap();
    goes_on(&mut fleet, ids[1], handle);
    let quarantined = |fleet: &Fleet| {
        let shards = fleet.get(ids[0]).unwrap().shards();
        shards
            .iter()
            .map(|it| it.pool().quarantined())
            .sum::<usize>()
    };
    assert_eq!(quarantined(&fleet), 8);
    for lane in &mut lanes {
        lane.complete(fence);
    }
    assert_eq!(quarantined(&fleet), 0);
    assert_eq!(fleet.get(ids[0]).unwrap().free(), 8);
    audit(&fleet);
}

#[test]
fn what_is_found_completely_needs_no_writer() {
    let (mut fleet, ids) = fleet(&[16, 16]);
    let source = run_on(&mut fleet, ids[0], "P16");
    let twin = run_on(&mut fleet, ids[1], "P16+Q4");
    let mut moving = start(
        &mut fleet,
        (ids[0], source),
        ids[1],
        "P16+R1",
        Growth::OnDemand,
    )
    .unwrap();
    assert_eq!((moving.hit(), moving.imports()[0].ids().len()), (16, 0));
    let handle = fleet.finish_move(&mut moving).unwrap();
    goes_on(&mut fleet, ids[1], handle);
    release(&mut fleet, ids[1], twin);
    audit(&fleet);
    assert_eq!(blocks(&fleet, ids[0])[2], 0);
}

/// Another fleet has instances of the same names: it neither ends the move nor touches a sequence of its own.
#[test]
fn a_move_of_another_fleet_is_refused() {
    let (mut here, ids, mut moving) = under_way();
    let (mut other, _, own) = under_way();
    for arrived in [false, true] {
        if arrived {
            arrive(&moving);
        }
        // An empty one never had so many instances.
        for fleet in [&mut other, &mut Fleet::new()] {
            let Err(AbortError::NoSuchInstance(error)) = fleet.abort_move(&mut moving) else {
                panic!("it is another fleet's");
            };
            assert_eq!(error.instance, ids[0]);
            let finished = fleet.finish_move(&mut moving);
            assert_eq!(finished, Err(FinishError::NoSuchInstance(error)));
        }
        assert_eq!(other.get(own.to()).unwrap().len(), 1);
    }
    let handle = here.finish_move(&mut moving).unwrap();
    goes_on(&mut here, ids[1], handle);
    audit(&here);
}
