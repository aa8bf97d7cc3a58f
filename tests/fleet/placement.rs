//! Where requests go, and why some go nowhere.

use kvblock::{
    Admit, AdmitError, Budget, Fleet, Growth, Member, Namespace, NoPlace, Placement, Prompt,
    Refused, SequencesConfig,
};

use crate::support::says;
use crate::words::{
    MODEL, add, admit, audit, fleet, free, placed, release, replica, replica_of, run_on, stages,
    with, with_growth,
};

#[test]
fn what_fits_in_total_fits_nowhere() {
    let (mut fleet, ids) = fleet(&[8, 8, 8]);
    for (id, tokens) in ids.iter().zip(["A20", "B24", "C16"]) {
        run_on(&mut fleet, *id, tokens);
    }
    assert_eq!(free(&fleet, &ids), [3, 2, 4]);
    let largest = fleet.largest(MODEL);
    let figures = (largest.now, largest.ever, largest.sum_now, largest.sum_ever);
    assert_eq!(figures, (16, 32, 36, 96));

    // All that lies between the largest that one can admit and the sum.
    for (tokens, needed) in [("X17", 5), ("X32", 8), ("X36", 9), ("X37", 10)] {
        let refused = admit(&mut fleet, tokens, Placement::MostFree).unwrap_err();
        if needed > 8 {
            // More than one has when it is empty: waiting does not help.
            let NoPlace::Never {
                instance,
                needed: blocks,
                largest_capacity,
                sum_capacity,
                ..
            } = refused
            else {
                panic!("{refused:?}");
            };
            assert_eq!((instance, blocks), (ids[0], needed));
            assert_eq!((largest_capacity, sum_capacity), (8, 24));
            assert!(refused.fits_in_sum());
            says(&refused, &[needed, 8, 24]);
            continue;
        }
        let NoPlace::Later {
            instance,
            refused:
                Refused::Shortfall {
                    needed: blocks,
                    available,
                    ..
                },
            available_sum,
            ..
        } = refused
        else {
            panic!("{refused:?}");
        };
        assert_eq!((instance, blocks, available), (ids[2], needed, 4));
        assert_eq!((available_sum, refused.fits_in_sum()), (9, true));
        says(&refused, &[needed, 4, 9]);
    }
    assert_eq!(free(&fleet, &ids), [3, 2, 4], "refusals change nothing");
    // The largest that fits goes where it fits.
    assert_eq!(placed(&mut fleet, "X16", Placement::Affinity), ids[2]);
    audit(&fleet);
}

#[test]
fn what_does_not_even_fit_in_the_sum_says_so() {
    let (mut fleet, ids) = fleet(&[4, 4]);
    let never = admit(&mut fleet, "X33", Placement::MostFree).unwrap_err();
    assert!(!never.fits_in_sum(), "9 blocks of 8: {never:?}");
    for (id, tokens) in ids.iter().zip(["A12", "B12"]) {
        run_on(&mut fleet, *id, tokens);
    }
    let later = admit(&mut fleet, "X12", Placement::MostFree).unwrap_err();
    assert!(
        matches!(
            later,
            NoPlace::Later {
                available_sum: 2,
                fits_in_sum: false,
                ..
            }
        ),
        "{later:?}"
    );
}

#[test]
fn affinity_follows_the_hit_and_most_free_the_room() {
    let (mut fleet, ids) = fleet(&[16, 8, 12]);
    // Idle on the second: 4 blocks, of which the request finds 3.
    let known = run_on(&mut fleet, ids[1], "P16");
    release(&mut fleet, ids[1], known);
    let mut list = Vec::new();
    let mut asked = |placement| {
        with("P12+Q8", |request| {
            fleet.candidates(MODEL, request, placement, &mut list)
        })
        .unwrap();
        let figures = list
            .iter()
            .map(|it| (it.instance, it.hit, it.charge, it.free));
        figures.collect::<Vec<_>>()
    };
    // Idle hits are charged as fresh blocks are.
    assert_eq!(
        asked(Placement::Affinity),
        [(ids[1], 12, 5, 3), (ids[0], 0, 5, 11), (ids[2], 0, 5, 7)]
    );
    assert_eq!(
        asked(Placement::MostFree),
        [(ids[0], 0, 5, 11), (ids[2], 0, 5, 7), (ids[1], 12, 5, 3)]
    );
    let warm = admit(&mut fleet, "P12+Q8", Placement::Affinity).unwrap();
    assert_eq!((warm.instance, warm.admitted.hit), (ids[1], 12));
    // Held by now, the hit is charged no more; the rest does not fit beside it.
    assert_eq!(free(&fleet, &ids), [16, 3, 12]);
    assert_eq!(placed(&mut fleet, "P12+R12", Placement::Affinity), ids[1]);
    assert_eq!(placed(&mut fleet, "P12+S4", Placement::Affinity), ids[0]);
    assert_eq!(placed(&mut fleet, "T4", Placement::MostFree), ids[0]);
    assert_eq!(placed(&mut fleet, "U4", Placement::MostFree), ids[2]);
    audit(&fleet);
}

#[test]
fn round_robin_asks_who_waited_longest_and_moves_on_admissions_only() {
    let (mut fleet, ids) = fleet(&[8, 2, 8]);
    let mut turn = |tokens| placed(&mut fleet, tokens, Placement::RoundRobin);
    assert_eq!([turn("A4"), turn("B4"), turn("C4")], ids[..]);
    // The second has no room for 3 blocks, and keeps its turn.
    assert_eq!([turn("D12"), turn("E12")], [ids[0], ids[2]]);
    assert_eq!(turn("F4"), ids[1]);
    // Asking and refusals move nothing.
    for _ in 0..3 {
        let asked = with("G4", |it| fleet.check(MODEL, it, Placement::RoundRobin));
        assert_eq!(asked.unwrap().instance, ids[0]);
        admit(&mut fleet, "G20", Placement::RoundRobin).unwrap_err();
    }
    // A new one has waited longest.
    let new = add(&mut fleet, replica(8), Member::new(MODEL, 64));
    assert_eq!(placed(&mut fleet, "G4", Placement::RoundRobin), new);
    assert_eq!(placed(&mut fleet, "H4", Placement::RoundRobin), ids[0]);
}

#[test]
fn only_instances_of_the_model_are_asked() {
    let mut fleet = Fleet::new();
    let large = add(&mut fleet, replica(64), Member::new(1, 64));
    let small = add(&mut fleet, replica(4), Member::new(2, 64));
    with("P16", |request| {
        let place = |fleet: &Fleet, model| fleet.check(model, request, Placement::MostFree);
        assert_eq!(place(&fleet, 1).unwrap().instance, large);
        assert_eq!(place(&fleet, 2).unwrap().instance, small);
        let refused = place(&fleet, 3).unwrap_err();
        assert_eq!(refused, NoPlace::NoSuchModel { model: 3 });
        says(&refused, &[3]);
    });
    with("P20", |request| {
        let refused = fleet.admit(2, request, Placement::MostFree).unwrap_err();
        let NoPlace::Never { sum_capacity, .. } = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(sum_capacity, 4, "the other model's memory is no help");
    });
    assert_eq!(fleet.largest(3), kvblock::Largest::default());
}

#[test]
fn blocks_of_unlike_sizes_are_compared_by_their_positions() {
    let mut fleet = Fleet::new();
    let config = SequencesConfig::new(8);
    let fine = add(
        &mut fleet,
        replica_of(16, 4, &config),
        Member::new(MODEL, 64),
    );
    let coarse = add(
        &mut fleet,
        replica_of(5, 16, &config),
        Member::new(MODEL, 64),
    );
    // 60 positions left of 64, or 64 of 80.
    assert_eq!(placed(&mut fleet, "A4", Placement::MostFree), coarse);
    let largest = fleet.largest(MODEL);
    assert_eq!((largest.now, largest.sum_now), (64, 128));
    assert_eq!(placed(&mut fleet, "B4", Placement::MostFree), fine);
    // 80 positions are 5 coarse blocks, of which 4 are left; 80 never fit in 16 fine ones.
    let refused = admit(&mut fleet, "C80", Placement::MostFree).unwrap_err();
    let NoPlace::Later {
        instance,
        available_sum,
        fits_in_sum,
        ..
    } = refused
    else {
        panic!("{refused:?}");
    };
    // 60 and 64 positions are 7 coarse blocks and a bit.
    assert_eq!((instance, available_sum, fits_in_sum), (coarse, 7, true));
}

#[test]
fn the_shard_that_binds_decides_for_a_split_instance() {
    let mut fleet = Fleet::new();
    let split = add(&mut fleet, stages(&[16, 3]), Member::new(MODEL, 64));
    let even = add(&mut fleet, stages(&[6, 6]), Member::new(MODEL, 64));
    assert_eq!(free(&fleet, &[split, even]), [3, 6]);
    assert_eq!(placed(&mut fleet, "A8", Placement::MostFree), even);
    let largest = fleet.largest(MODEL);
    assert_eq!((largest.now, largest.sum_now), (16, 28));
    let refused = admit(&mut fleet, "B28", Placement::MostFree).unwrap_err();
    let shard = fleet.get(even).unwrap().shards()[0].pool().shard();
    let NoPlace::Never {
        shard: binding,
        largest_capacity,
        sum_capacity,
        ..
    } = refused
    else {
        panic!("{refused:?}");
    };
    // 16 blocks of the first stage help nobody, as the second has 3.
    assert_eq!((binding, largest_capacity, sum_capacity), (shard, 6, 9));
}

#[test]
fn what_one_stage_has_more_than_another_is_in_no_sum() {
    let mut fleet = Fleet::new();
    let ids = [stages(&[10, 8]), replica(8)].map(|it| add(&mut fleet, it, Member::new(MODEL, 64)));
    run_on(&mut fleet, ids[0], "A28");
    run_on(&mut fleet, ids[1], "B24");
    // Of the first, 3 and 1 blocks are left; of the second 2.
    let refused = admit(&mut fleet, "C16", Placement::Affinity).unwrap_err();
    let NoPlace::Later {
        instance,
        refused: Refused::Shortfall {
            needed, available, ..
        },
        available_sum,
        fits_in_sum,
    } = refused
    else {
        panic!("{refused:?}");
    };
    // The first one lacks more, although not on the stage that refuses.
    assert_eq!((instance, needed, available), (ids[1], 4, 2));
    assert_eq!((available_sum, fits_in_sum), (3, false));
    assert_eq!(fleet.largest(MODEL).sum_now, 12);
    // One block less fits in the sum.
    let refused = admit(&mut fleet, "C12", Placement::Affinity).unwrap_err();
    assert!(refused.fits_in_sum(), "{refused:?}");
    assert_eq!(fleet.statistics().later_fits_in_sum, 1);
}

#[test]
fn an_instance_is_as_large_as_its_smallest_stage() {
    let mut fleet = Fleet::new();
    let ids = [stages(&[20, 2]), replica(12)].map(|it| add(&mut fleet, it, Member::new(MODEL, 64)));
    let refused = admit(&mut fleet, "A88", Placement::Affinity).unwrap_err();
    let NoPlace::Never {
        instance,
        needed,
        largest_capacity,
        sum_capacity,
        ..
    } = refused
    else {
        panic!("{refused:?}");
    };
    assert_eq!((instance, needed), (ids[1], 22));
    assert_eq!((largest_capacity, sum_capacity), (12, 14));
}

#[test]
fn promises_watermarks_and_budgets_count_as_on_the_instance_itself() {
    let mut fleet = Fleet::new();
    let config = SequencesConfig::new(8).watermark(2);
    let id = add(
        &mut fleet,
        replica_of(10, 4, &config),
        Member::new(MODEL, 64),
    );
    let largest = fleet.largest(MODEL);
    assert_eq!((largest.now, largest.ever), (32, 32));
    let shared = with_growth("P16", Growth::Cap(8), |request| {
        fleet.admit(MODEL, request, Placement::Affinity)
    });
    fleet
        .get_mut(id)
        .unwrap()
        .computed(shared.unwrap().admitted.handle, 16)
        .unwrap();
    // 4 held, 2 promised, 2 kept back.
    assert_eq!(
        (free(&fleet, &[id]), fleet.largest(MODEL).now),
        (vec![2], 8)
    );
    let (space, tokens) = (Namespace::new(), crate::support::text("P16+Q4"));
    let twin = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
    assert_eq!(
        fleet
            .check(MODEL, &twin, Placement::Affinity)
            .unwrap()
            .charge,
        1
    );
    let careful = twin.budget(Budget::Conservative);
    let refused = fleet.check(MODEL, &careful, Placement::Affinity);
    assert!(
        matches!(
            refused,
            Err(NoPlace::Later {
                refused: Refused::Shortfall {
                    needed: 5,
                    available: 2,
                    ..
                },
                available_sum: 2,
                ..
            })
        ),
        "{refused:?}"
    );
}

#[test]
fn other_answers_are_passed_on() {
    let mut fleet = Fleet::new();
    let one_slot = replica_of(8, 4, &SequencesConfig::new(1));
    add(&mut fleet, one_slot, Member::new(MODEL, 64));
    placed(&mut fleet, "A4", Placement::Affinity);
    let refused = admit(&mut fleet, "B4", Placement::Affinity).unwrap_err();
    assert!(
        matches!(refused, NoPlace::Admit(AdmitError::TooManySequences(_))),
        "{refused:?}"
    );
    let largest = fleet.largest(MODEL);
    assert_eq!((largest.now, largest.ever), (0, 32), "no slot, no request");
    // A slot is no help where there are too few blocks.
    let refused = admit(&mut fleet, "B36", Placement::Affinity).unwrap_err();
    assert!(
        matches!(
            refused,
            NoPlace::Never {
                needed: 9,
                largest_capacity: 8,
                ..
            }
        ),
        "{refused:?}"
    );

    let (space, tokens, keys) = (Namespace::new(), [1; 8], [1; 1]);
    let prompt = Prompt::new(&space, &tokens).keys(&keys);
    let refused = fleet.check(
        MODEL,
        &Admit::new(prompt, Growth::OnDemand),
        Placement::Affinity,
    );
    assert!(
        matches!(refused, Err(NoPlace::Admit(AdmitError::LengthMismatch(_)))),
        "{refused:?}"
    );
}
