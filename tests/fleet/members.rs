//! How instances come, become ready, drain and go.

use kvblock::{
    AddError, Fleet, Instance, InstanceId, InstanceState, Member, NoPlace, NoService,
    NoSuchInstance, Placement, PoolConfig, Rank, RemoveError, Returned, SequencesConfig, ShardId,
};

use crate::support::says;
use crate::words::{MODEL, add, admit, fleet, free, placed, release, replica, run_on, with};

#[test]
fn a_new_instance_is_charged_and_takes_nothing_until_it_is_ready() {
    let mut fleet = Fleet::new();
    let starting = Member::new(MODEL, 64).ready(false);
    let id = add(&mut fleet, replica(8), starting);
    assert_eq!(fleet.state(id), Ok(InstanceState::Starting));
    let refused = admit(&mut fleet, "A4", Placement::Affinity).unwrap_err();
    assert_eq!(
        refused,
        NoPlace::NotReady {
            model: MODEL,
            instances: 1
        }
    );
    says(&refused, &[1, 7]);
    assert_eq!(fleet.largest(MODEL), kvblock::Largest::default());
    // Its own sequences are counted all the same.
    run_on(&mut fleet, id, "W12");
    let share = fleet.share(id).unwrap();
    assert_eq!((share.memory.used, share.memory.whole), (3, 8));

    fleet.set_ready(id).unwrap();
    assert_eq!(placed(&mut fleet, "A4", Placement::Affinity), id);
}

#[test]
fn what_a_starting_instance_could_have_is_not_said_to_never_fit() {
    let (mut fleet, ids) = fleet(&[4]);
    let large = add(&mut fleet, replica(16), Member::new(MODEL, 64).ready(false));
    let refused = admit(&mut fleet, "A40", Placement::Affinity).unwrap_err();
    assert!(matches!(refused, NoPlace::NotReady { instances: 2, .. }));
    let refused = admit(&mut fleet, "A68", Placement::Affinity).unwrap_err();
    let NoPlace::Never {
        instance,
        largest_capacity,
        sum_capacity,
        ..
    } = refused
    else {
        panic!("{refused:?}");
    };
    assert_eq!((instance, largest_capacity, sum_capacity), (large, 16, 20));
    // One that drains will not have it.
    fleet.drain(large).unwrap();
    let refused = admit(&mut fleet, "A40", Placement::Affinity).unwrap_err();
    let NoPlace::Never {
        instance,
        sum_capacity,
        ..
    } = refused
    else {
        panic!("{refused:?}");
    };
    assert_eq!((instance, sum_capacity), (ids[0], 4));
}

#[test]
fn a_draining_instance_takes_nothing_and_can_be_removed_when_its_last_sequence_has_gone() {
    let (mut fleet, ids) = fleet(&[8, 4]);
    let running = run_on(&mut fleet, ids[0], "A8");
    fleet.drain(ids[0]).unwrap();
    assert_eq!(fleet.state(ids[0]), Ok(InstanceState::Draining));
    // Although it has the hit and the room.
    assert_eq!(placed(&mut fleet, "A8+B4", Placement::Affinity), ids[1]);
    assert_eq!(fleet.largest(MODEL).ever, 16);

    let Err(RemoveError::NotEmpty(busy)) = fleet.remove(ids[0]) else {
        panic!("it has a sequence");
    };
    assert_eq!((busy.sequences, busy.leases, busy.loading), (1, 0, 0));
    says(&busy, &[1, 0]);
    release(&mut fleet, ids[0], running);
    let removed = fleet.remove(ids[0]).expect("it is empty");
    assert_eq!((removed.len(), removed.free()), (0, 8));
    assert_eq!(fleet.ids().collect::<Vec<_>>(), [ids[1]]);

    // Its name is not given again.
    let again = add(&mut fleet, removed, Member::new(MODEL, 64));
    assert_eq!(again.get(), 2);
    let stale: NoSuchInstance = fleet.get(ids[0]).unwrap_err();
    assert_eq!(stale.instance, ids[0]);
    says(&stale, &[0]);
    assert_eq!(fleet.set_ready(ids[0]), Err(stale));
    assert_eq!(fleet.drain(ids[0]), Err(stale));
    assert_eq!(fleet.state(ids[0]), Err(stale));
    assert_eq!(fleet.share(ids[0]), Err(stale));
    assert_eq!(fleet.get_mut(ids[0]).map(drop), Err(stale));
    assert_eq!(fleet.member(ids[0]).map(drop), Err(stale));
    let refused = fleet.remove(ids[0]).map(drop);
    assert_eq!(refused, Err(RemoveError::NoSuchInstance(stale)));
    assert_eq!(fleet.len(), 2);
}

#[test]
fn a_draining_instance_can_be_made_ready_again() {
    let (mut fleet, ids) = fleet(&[8]);
    fleet.drain(ids[0]).unwrap();
    let refused = admit(&mut fleet, "A4", Placement::Affinity).unwrap_err();
    assert!(matches!(refused, NoPlace::NotReady { instances: 1, .. }));
    fleet.set_ready(ids[0]).unwrap();
    assert_eq!(placed(&mut fleet, "A4", Placement::Affinity), ids[0]);
}

#[test]
fn an_instance_that_does_not_do_comes_back() {
    let (mut fleet, ids) = fleet(&[8]);
    let Returned { error, value, .. } = fleet
        .add(replica(4), Member::new(MODEL, 0))
        .expect_err("it can compute nothing");
    assert_eq!(error, AddError::NoService(NoService));
    assert_eq!(value.free(), 4);

    // Two registries over one pool: its memory would be counted twice.
    let twin = fleet
        .get(ids[0])
        .unwrap()
        .another(&SequencesConfig::new(8))
        .unwrap();
    let shard = twin.shards()[0].pool().shard();
    let returned = fleet
        .add(twin, Member::new(MODEL, 64))
        .expect_err("the pool is there already");
    let AddError::SharedPool(shared) = returned.error else {
        panic!("{:?}", returned.error);
    };
    assert_eq!((shared.shard, shared.instance), (shard, ids[0]));
    assert_eq!((fleet.len(), free(&fleet, &ids)), (1, vec![8]));
}

#[test]
fn no_two_instances_have_a_shard_of_one_name() {
    let named = |shards: [u32; 2]| {
        let ranks = shards.map(|it| Rank::new(ShardId::new(it), 8));
        Instance::lockstep(&ranks, &PoolConfig::new(1, 4), &SequencesConfig::new(8)).unwrap()
    };
    let mut fleet = Fleet::new();
    let first = add(&mut fleet, named([u32::MAX, 900]), Member::new(MODEL, 64));
    let Returned { error, value, .. } = fleet
        .add(named([901, 900]), Member::new(MODEL, 64))
        .expect_err("handles could be taken for those of the other");
    let AddError::SharedName(shared) = error else {
        panic!("{error:?}");
    };
    assert_eq!((shared.shard, shared.instance), (ShardId::new(900), first));
    says(&error, &[0, 900]);
    // It does when the other has gone.
    fleet.remove(first).unwrap();
    assert_eq!(add(&mut fleet, value, Member::new(MODEL, 64)).get(), 1);
}

#[test]
fn a_handle_of_one_instance_is_stale_on_another() {
    let (mut fleet, ids) = fleet(&[8, 8]);
    let here = run_on(&mut fleet, ids[0], "A8");
    let other = fleet.get_mut(ids[1]).unwrap();
    assert_eq!(other.release(here), Err(kvblock::Stale));
    assert!(other.state(here).is_err() && other.preempt(here).is_err());
    assert_eq!(free(&fleet, &ids), [6, 8]);
}

#[test]
fn an_empty_fleet_has_no_place() {
    let fleet = Fleet::new();
    assert!(fleet.is_empty());
    with("A4", |request| {
        assert_eq!(
            fleet.check(MODEL, request, Placement::Affinity),
            Err(NoPlace::NoSuchModel { model: MODEL })
        );
    });
}

#[test]
fn an_instance_is_found_by_the_number_that_its_name_told() {
    let (fleet, ids) = fleet(&[8]);
    let name = InstanceId::new(ids[0].get());
    assert_eq!(fleet.state(name), Ok(InstanceState::Ready));
    let stale = fleet.state(InstanceId::new(1)).unwrap_err();
    assert_eq!(stale.instance.get(), 1);
}
