//! What instances and fleets report: each for itself, and sums only beside the largest that fits on one.

use kvblock::{Budget, Fleet, Growth, Member, Placement, SequencesConfig};

use crate::words::{
    MODEL, add, admit, fleet, ranks, release, replica, replica_of, run_on, stages, start, with,
    with_growth,
};

#[test]
fn an_instance_reports_each_rank_and_what_binds() {
    let mut lockstep = ranks([10, 12], 16);
    let admitted = with_growth("P10", Growth::Cap(6), |request| lockstep.admit(request));
    lockstep.computed(admitted.unwrap().handle, 10).unwrap();
    let twin = with("P10", |request| {
        lockstep.admit(&request.budget(Budget::Conservative))
    });
    assert_eq!(twin.unwrap().hit, 8);

    let report = lockstep.report();
    assert!(report.lockstep);
    assert_eq!(
        (report.block_size, report.sequences, report.max_sequences),
        (4, 2, 8)
    );
    let rank = |at: usize| {
        let rank = report.ranks[at];
        (rank.blocks, rank.usable, rank.stranded)
    };
    assert_eq!((rank(0), rank(1)), ((10, 10, 0), (12, 10, 2)));
    assert_eq!(
        (report.binding, report.stranded),
        (report.ranks[0].shard, 2)
    );
    // Two shared blocks, a partial one each, one promised.
    assert_eq!((report.held, report.free, report.largest), (4, 5, 10));
    assert_eq!((report.physical, report.conservative), (5, 7));
    assert_eq!(
        (report.shards.len(), report.shards[0].pool.capacity),
        (1, 10)
    );

    lockstep.shrink(5).unwrap();
    let report = lockstep.report();
    assert_eq!((report.free, report.largest, report.draining), (0, 5, 0));
    assert_eq!((report.ranks[1].blocks, report.ranks[1].usable), (7, 5));
}

#[test]
fn an_instance_of_shards_has_free_what_the_shortest_has() {
    let mut split = stages(&[16, 6]);
    with("P8", |request| split.admit(request)).unwrap();
    let report = split.report();
    let second = split.shards()[1].pool().shard();
    assert_eq!(
        (report.binding, report.free, report.largest),
        (second, 4, 6)
    );
    assert_eq!((report.held, report.physical), (2, 2));
    let usable: Vec<_> = report.ranks.iter().map(|it| it.usable).collect();
    assert_eq!((usable, report.stranded), (vec![16, 6], 0));
    let available: Vec<_> = report.shards.iter().map(|it| it.pool.available).collect();
    assert_eq!(available, [14, 4]);
    let text = report.to_string();
    for line in [
        "2 shards, blocks of 4 positions, 1 sequences of at most 8",
        "  free                             4 blocks   66.7 %   above the watermark",
        "  physical budget                  2 blocks   33.3 %",
        "  stranded                         0 blocks",
    ] {
        assert!(text.lines().any(|it| it == line), "{line:?} in\n{text}");
    }
}

#[test]
fn a_fleet_reports_the_largest_that_fits_beside_the_sum() {
    let (mut fleet, ids) = fleet(&[8, 8]);
    let starting = Member::new(3, 16).ready(false);
    let config = SequencesConfig::new(4).watermark(1);
    let other = add(&mut fleet, replica_of(4, 4, &config), starting);
    let moved = run_on(&mut fleet, ids[0], "A20");
    for tokens in ["B12", "C24", "C36", "D4"] {
        let _ = admit(&mut fleet, tokens, Placement::MostFree);
    }
    let moving = start(&mut fleet, (ids[0], moved), ids[1], "A20", Growth::OnDemand);
    let refused = moving.unwrap_err();
    assert!(
        refused.to_string().contains("5 blocks needed, 4 available"),
        "{refused}"
    );
    fleet.drain(ids[1]).unwrap();

    let report = fleet.report();
    let figures = |at: usize| {
        let it = &report.instances[at];
        let (memory, service) = (it.share.memory, it.share.service);
        (
            it.id,
            [memory.used, memory.whole, service.used, service.whole],
            [it.report.free, it.report.held, it.report.stranded],
        )
    };
    assert_eq!(figures(0), (ids[0], [5, 8, 1, 64], [3, 5, 0]));
    assert_eq!(figures(1), (ids[1], [4, 8, 16, 64], [4, 4, 0]));
    assert_eq!(figures(2), (other, [0, 4, 0, 16], [3, 0, 0]));

    let models: Vec<_> = report
        .models
        .iter()
        .map(|it| {
            let largest = it.largest;
            (
                (it.model, it.instances, it.ready),
                [largest.now, largest.sum_now, largest.ever, largest.sum_ever],
            )
        })
        .collect();
    assert_eq!(
        models,
        [((3, 1, 0), [0, 0, 0, 0]), ((MODEL, 2, 1), [12, 12, 32, 32])]
    );
    // B and D are placed; C needs 6 of 3 and 5, then never fits.
    let statistics = report.statistics;
    assert_eq!(
        (statistics.placed, statistics.later, statistics.never),
        (2, 1, 1)
    );
    assert_eq!(
        (statistics.later_fits_in_sum, statistics.service_full),
        (1, 0)
    );
    assert_eq!(statistics, fleet.statistics());

    let text = report.to_string();
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        [
            "3 instances of 2 models",
            "instance  model state     mem % step %     free     held physical conserv. strand  dupl.  drain   lent  borr.",
            "       0      7 ready      62.5    1.6        3        5        5        5      0      0      0      0      0",
            "       1      7 draining   50.0   25.0        4        4        4        4      0      0      0      0      0",
            "       2      3 starting    0.0    0.0        3        0        0        0      0      0      0      0      0",
            "from free on in blocks",
            "model 3: 0 of 1 instances ready; the largest request now 0 positions (0 in sum), ever 0 (0 in sum)",
            "model 7: 1 of 2 instances ready; the largest request now 12 positions (12 in sum), ever 32 (32 in sum)",
            "2 requests placed; refused: 1 never fit, 1 later (1 of them would fit in the sum), 0 for want of service, 0 otherwise",
        ]
    );
}

#[test]
fn moves_and_loans_are_seen_on_both_sides() {
    let (mut fleet, ids) = fleet(&[16, 16]);
    let source = run_on(&mut fleet, ids[0], "P14");
    let mut moving = start(
        &mut fleet,
        (ids[0], source),
        ids[1],
        "P14",
        Growth::OnDemand,
    )
    .unwrap();
    let report = fleet.report();
    let of = |at: usize| {
        let it = &report.instances[at];
        [it.report.held, it.report.duplicated, it.report.loading]
    };
    assert_eq!((of(0), of(1)), ([4, 4, 0], [4, 4, 4]));
    fleet.abort_move(&mut moving).unwrap();
    moving.imports()[0].end(0).unwrap();
    release(&mut fleet, ids[0], source);

    let mut fleet = Fleet::new();
    let fine = add(&mut fleet, crate::loans::fine(), Member::new(1, 64));
    let coarse = add(&mut fleet, crate::loans::coarse(), Member::new(2, 64));
    let full = run_on(&mut fleet, fine, "A64");
    let loan = fleet.lend(fine, coarse, 8).unwrap();
    let sides = |fleet: &Fleet| {
        let report = fleet.report();
        let side = |at: usize| {
            let it = &report.instances[at];
            [it.lent, it.borrowed, it.report.draining, it.report.largest]
        };
        [side(0), side(1)]
    };
    assert_eq!(sides(&fleet), [[8, 0, 8, 8], [0, 0, 0, 4]]);
    release(&mut fleet, fine, full);
    fleet.settle(loan).unwrap();
    assert_eq!(sides(&fleet), [[8, 0, 0, 8], [0, 3, 0, 7]]);
    fleet.give_back(loan).unwrap();
    assert_eq!(sides(&fleet), [[0, 0, 0, 16], [0, 0, 0, 4]]);
}

#[test]
fn an_instance_that_is_not_in_a_fleet_reports_the_same() {
    let mut fleet = Fleet::new();
    let id = add(&mut fleet, replica(8), Member::new(MODEL, 64));
    run_on(&mut fleet, id, "A8");
    let alone = fleet.get(id).unwrap().report();
    assert_eq!(fleet.report().instances[0].report, alone);
}
