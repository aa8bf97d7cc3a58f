//! Memory and token service are two things: either may be used up while there is enough of the other.

use kvblock::Growth::OnDemand;
use kvblock::{Fleet, Member, MoveError, NoPlace, Placement, Share};

use crate::support::says;
use crate::words::{MODEL, add, admit, placed, release, replica, run_on, stages, start, with};

fn figures(share: Share) -> [u64; 4] {
    let Share {
        memory, service, ..
    } = share;
    [memory.used, memory.whole, service.used, service.whole]
}

#[test]
fn memory_may_be_free_and_service_not() {
    let mut fleet = Fleet::new();
    let id = add(
        &mut fleet,
        replica(64),
        Member::new(MODEL, 32).max_service(24),
    );
    // Nothing is demanded: it is admitted, as large as it is. It demands a whole step.
    let first = admit(&mut fleet, "A100", Placement::Affinity).unwrap();
    assert_eq!(figures(fleet.share(id).unwrap()), [25, 64, 32, 32]);
    let refused = admit(&mut fleet, "B4", Placement::Affinity).unwrap_err();
    assert_eq!(
        refused,
        NoPlace::ServiceFull {
            instance: id,
            needed: 4,
            demanded: 32,
            max_service: 24
        }
    );
    says(&refused, &[4, 32, 24]);
    assert!(!refused.fits_in_sum());

    // Of the last chunk 10 positions are left; then it decodes.
    let handle = first.admitted.handle;
    let computed = |fleet: &mut Fleet, positions| {
        let instance = fleet.get_mut(id).unwrap();
        instance.computed(handle, positions).unwrap();
        figures(fleet.share(id).unwrap())[2]
    };
    assert_eq!(computed(&mut fleet, 90), 10);
    let candidate = with("B14", |it| fleet.check(MODEL, it, Placement::Affinity)).unwrap();
    assert_eq!((candidate.service.used, candidate.service.whole), (24, 32));
    assert_eq!(placed(&mut fleet, "B14", Placement::Affinity), id);
    admit(&mut fleet, "C1", Placement::Affinity).unwrap_err();
    assert_eq!(computed(&mut fleet, 100), 15);
    assert_eq!(placed(&mut fleet, "C9", Placement::Affinity), id);
    assert_eq!(figures(fleet.share(id).unwrap())[2..], [24, 32]);
    assert_eq!(fleet.get(id).unwrap().free(), 64 - 25 - 4 - 3);
}

#[test]
fn service_may_be_free_and_memory_not() {
    let mut fleet = Fleet::new();
    let id = add(
        &mut fleet,
        replica(8),
        Member::new(MODEL, 32).max_service(24),
    );
    let full = run_on(&mut fleet, id, "A32");
    assert_eq!(figures(fleet.share(id).unwrap()), [8, 8, 1, 32]);
    let refused = admit(&mut fleet, "B4", Placement::Affinity).unwrap_err();
    assert!(matches!(refused, NoPlace::Later { .. }), "{refused:?}");
    release(&mut fleet, id, full);
    // Idle blocks are not in use.
    assert_eq!(figures(fleet.share(id).unwrap()), [0, 8, 0, 32]);
    assert_eq!(fleet.share(id).unwrap().memory.ratio(), 0.0);
    assert_eq!(placed(&mut fleet, "B4", Placement::Affinity), id);
    let share = fleet.share(id).unwrap();
    assert_eq!(
        (share.memory.ratio(), share.service.ratio()),
        (0.125, 0.125)
    );
}

#[test]
fn what_is_found_demands_no_service() {
    let mut fleet = Fleet::new();
    let member = Member::new(MODEL, 32).max_service(8);
    let warm = add(&mut fleet, replica(32), member);
    let cold = add(&mut fleet, replica(32), member);
    for (id, other) in [(warm, "P16"), (cold, "Q4")] {
        run_on(&mut fleet, id, other);
    }
    // One decodes on each. 20 positions of which 16 are found demand 4; where nothing is found, 20.
    assert_eq!(placed(&mut fleet, "P16+R4", Placement::MostFree), warm);
    assert_eq!(figures(fleet.share(warm).unwrap())[2], 1 + 4);
    // Of those without service, the one that lacks least is named.
    let refused = admit(&mut fleet, "S16", Placement::MostFree).unwrap_err();
    assert_eq!(
        refused,
        NoPlace::ServiceFull {
            instance: cold,
            needed: 16,
            demanded: 1,
            max_service: 8
        }
    );
}

#[test]
fn what_a_move_brings_demands_no_service() {
    let mut fleet = Fleet::new();
    let member = Member::new(MODEL, 32).max_service(8);
    let ids = [(); 2].map(|()| add(&mut fleet, replica(16), member));
    let source = run_on(&mut fleet, ids[0], "P20");
    run_on(&mut fleet, ids[1], "Q4");
    // 20 positions come and 7 are to be computed: with the one that decodes there, 8.
    let refused = start(&mut fleet, (ids[0], source), ids[1], "P28", OnDemand);
    let Err(MoveError::ServiceFull {
        needed, demanded, ..
    }) = refused
    else {
        panic!("{refused:?}");
    };
    assert_eq!((needed, demanded), (8, 1));
    let moving = start(&mut fleet, (ids[0], source), ids[1], "P27", OnDemand).unwrap();
    assert_eq!(figures(fleet.share(ids[1]).unwrap())[2..], [8, 32]);
    drop(moving);
}

#[test]
fn the_fullest_shard_is_the_share_of_memory() {
    let mut fleet = Fleet::new();
    let id = add(&mut fleet, stages(&[16, 4]), Member::new(MODEL, 32));
    run_on(&mut fleet, id, "A8");
    assert_eq!(figures(fleet.share(id).unwrap()), [2, 4, 1, 32]);
}
