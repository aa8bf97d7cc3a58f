//! Sequences that go on elsewhere: both sides are charged meanwhile, and a refusal leaves the source as it was.

use kvblock::{
    Admit, AppendError, CommitError, ElementType, ExportError, FinishError, Fleet, Flights, Growth,
    ImportError, InTransit, InstanceStep, KvFormat, LeaseError, Member, MoveError, MoveTerms,
    Namespace, Owner, PoolReport, Prompt, Refused, SequencesConfig, SequencesReport,
};

use crate::support::{says, text};
use crate::words::{
    MODEL, add, arrive, audit, blocks, duplicated, fleet, free, release, replica, replica_of,
    run_on, stages, start, with, with_growth,
};

#[test]
fn a_move_is_charged_on_both_sides_until_it_is_finished() {
    let (mut fleet, ids) = fleet(&[16, 16]);
    let source = run_on(&mut fleet, ids[0], "P22");
    // Two blocks of it are known at the destination.
    let known = run_on(&mut fleet, ids[1], "P8");
    release(&mut fleet, ids[1], known);

    let growth = Growth::Cap(10);
    let mut moving = start(&mut fleet, (ids[0], source), ids[1], "P22", growth).unwrap();
    assert_eq!((moving.from(), moving.to()), (ids[0], ids[1]));
    assert_eq!((moving.source(), moving.hit()), (source, 8));
    assert_eq!(
        (moving.imports().len(), moving.imports()[0].ids().len()),
        (1, 4)
    );
    assert_eq!(moving.export().positions(), 22);
    // 6 blocks here; there 2 found, 4 to come and 2 promised.
    assert_eq!(free(&fleet, &ids), [10, 8]);
    assert_eq!(
        (blocks(&fleet, ids[0])[2], blocks(&fleet, ids[1])[2]),
        (6, 6)
    );
    // All that is read, and all that comes.
    assert_eq!(
        (duplicated(&fleet, ids[0]), duplicated(&fleet, ids[1])),
        (6, 4)
    );
    // It demands service where it goes.
    let service = |fleet: &Fleet, at: usize| fleet.share(ids[at]).unwrap().service.used;
    assert_eq!((service(&fleet, 0), service(&fleet, 1)), (0, 1));
    audit(&fleet);

    // Neither side goes on with it, and nothing is taken over before it is there.
    let mut step = InstanceStep::new();
    let here = fleet.get_mut(ids[0]).unwrap();
    assert_eq!(
        here.append(source, 1, &mut step),
        Err(AppendError::InTransit(InTransit::Leaving))
    );
    let there = fleet.get_mut(ids[1]).unwrap();
    assert_eq!(
        there.append(moving.handle(), 1, &mut step),
        Err(AppendError::InTransit(InTransit::Uncommitted))
    );
    let Err(FinishError::Commit(CommitError::NotArrived(missing))) = fleet.finish_move(&mut moving)
    else {
        panic!("nothing has arrived");
    };
    assert_eq!(
        (missing.arrived, missing.expected, missing.left),
        (8, 22, 4)
    );

    arrive(&moving);
    assert_eq!(fleet.finish_move(&mut moving), Ok(moving.handle()));
    // The full blocks stay findable at the source; the partial one is free.
    assert_eq!(blocks(&fleet, ids[0]), [11, 5, 0]);
    assert_eq!(
        (duplicated(&fleet, ids[0]), duplicated(&fleet, ids[1])),
        (0, 0)
    );
    assert!(fleet.get(ids[0]).unwrap().is_empty());
    let there = fleet.get_mut(ids[1]).unwrap();
    assert_eq!(there.state(moving.handle()).unwrap().computed, 22);
    // It goes on, up to its promise.
    there.append(moving.handle(), 10, &mut step).unwrap();
    assert_eq!(free(&fleet, &ids), [16, 8]);
    audit(&fleet);
}

#[test]
fn all_shards_of_a_split_instance_are_moved() {
    let mut fleet = Fleet::new();
    let member = Member::new(MODEL, 64);
    let ids = [
        add(&mut fleet, stages(&[8, 6]), member),
        add(&mut fleet, stages(&[9, 7]), member),
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
    assert_eq!(moving.imports().len(), 2);
    assert_eq!(free(&fleet, &ids), [2, 3]);
    audit(&fleet);
    // One shard is there, the other is not.
    let second = &moving.imports()[1];
    second.arrived(0, 0..4).unwrap();
    let Err(FinishError::Commit(CommitError::NotArrived(missing))) = fleet.finish_move(&mut moving)
    else {
        panic!("the first stage has not arrived");
    };
    assert_eq!((missing.arrived, missing.left), (0, 4));
    moving.imports()[0].arrived(0, 0..4).unwrap();
    fleet.finish_move(&mut moving).unwrap();
    assert_eq!(free(&fleet, &ids), [6, 3]);
    audit(&fleet);

    // To an instance of another shape it does not go.
    let flat = add(&mut fleet, replica(16), member);
    let refused = start(
        &mut fleet,
        (ids[1], moving.handle()),
        flat,
        "P14",
        Growth::OnDemand,
    );
    assert!(
        matches!(
            refused,
            Err(MoveError::Import(ImportError::Incompatible(_)))
        ),
        "{refused:?}"
    );
    audit(&fleet);
}

/// The figures of a registry and its pool, without what counts refusals.
fn figures(fleet: &Fleet, id: kvblock::InstanceId) -> SequencesReport {
    let mut report = fleet.get(id).unwrap().shards()[0].report();
    let PoolReport {
        refused_never,
        refused_shortfall,
        ..
    } = &mut report.pool;
    (*refused_never, *refused_shortfall) = (0, 0);
    report
}

#[test]
fn a_refused_destination_leaves_the_source_untouched() {
    let mut fleet = Fleet::new();
    let member = Member::new(MODEL, 64);
    let format = |element| KvFormat::new(4, ElementType::new(element), [100]).unwrap();
    let config = |element| SequencesConfig::new(2).format(format(element));
    let from = add(&mut fleet, replica_of(16, 4, &config(1)), member);
    // With a promise and a partial block at its end: an offer sets a block aside for a copy.
    let source = with_growth("P22", Growth::Cap(4), |request| {
        let instance = fleet.get_mut(from).unwrap();
        let handle = instance.admit(request).unwrap().handle;
        instance.computed(handle, 22).unwrap();
        handle
    });
    let other = add(&mut fleet, replica_of(16, 4, &config(1)), member);
    let before = figures(&fleet, from);
    let goes_on = |fleet: &Fleet, to: kvblock::InstanceId, there: &SequencesReport| {
        assert_eq!(figures(fleet, from), before);
        assert_eq!(&figures(fleet, to), there);
        audit(fleet);
    };
    let refused = |fleet: &mut Fleet, to, tokens, growth| {
        let there = figures(fleet, to);
        let error = start(fleet, (from, source), to, tokens, growth).expect_err("not there");
        goes_on(fleet, to, &there);
        error
    };

    // No memory, now or ever; counted there.
    let small = add(&mut fleet, replica_of(8, 4, &config(1)), member);
    let full = run_on(&mut fleet, small, "F12");
    let on_demand = Growth::OnDemand;
    assert!(matches!(
        refused(&mut fleet, small, "P22", on_demand),
        MoveError::Import(ImportError::Admit(kvblock::AdmitError::Refused(
            Refused::Shortfall {
                needed: 6,
                available: 5,
                ..
            }
        )))
    ));
    let error = refused(&mut fleet, small, "P22", Growth::Cap(20));
    assert!(matches!(
        error,
        MoveError::Import(ImportError::Admit(kvblock::AdmitError::Refused(
            Refused::NeverFits {
                needed: 11,
                capacity: 8,
                ..
            }
        )))
    ));
    says(&error, &[11, 8]);
    let counted = fleet.get(small).unwrap().shards()[0].pool().report();
    assert_eq!((counted.refused_never, counted.refused_shortfall), (1, 1));
    release(&mut fleet, small, full);

    // Another layout, which only the offer tells.
    let unlike = add(&mut fleet, replica_of(16, 4, &config(2)), member);
    assert!(matches!(
        refused(&mut fleet, unlike, "P22", on_demand),
        MoveError::Import(ImportError::Incompatible(_))
    ));
    // Too many bytes under way.
    let (space, tokens) = (Namespace::new(), text("P22"));
    let request = Admit::new(Prompt::new(&space, &tokens), on_demand);
    let flights = Flights::new(599).unwrap();
    let terms = MoveTerms::new(Owner::new(5), 100).flights(&flights);
    let there = figures(&fleet, other);
    let error = fleet.start_move(from, source, other, &request, &terms);
    assert!(matches!(
        error,
        Err(MoveError::Import(ImportError::TooManyBytes(_)))
    ));
    goes_on(&fleet, other, &there);
    let error = fleet.start_move(from, source, other, &request, &terms.writers(0));
    assert!(matches!(
        error,
        Err(MoveError::Import(ImportError::TooManyWriters(_)))
    ));
    goes_on(&fleet, other, &there);
    assert_eq!(flights.in_flight(), 0);

    // No service.
    let busy = add(
        &mut fleet,
        replica_of(16, 4, &config(1)),
        member.max_service(1),
    );
    run_on(&mut fleet, busy, "B4");
    // All that comes is computed: it decodes there. Of two tokens more it would compute both.
    for (tokens, needed) in [("P22", 1), ("P24", 2)] {
        let error = refused(&mut fleet, busy, tokens, on_demand);
        assert_eq!(
            error,
            MoveError::ServiceFull {
                instance: busy,
                needed,
                demanded: 1,
                max_service: 1
            }
        );
        says(&error, &[1]);
    }
    // Another model; not ready; shorter than it is.
    let foreign = add(
        &mut fleet,
        replica_of(16, 4, &config(1)),
        Member::new(8, 64),
    );
    let error = refused(&mut fleet, foreign, "P22", on_demand);
    assert_eq!(error, MoveError::OtherModel { from: 7, to: 8 });
    says(&error, &[7, 8]);
    fleet.drain(busy).unwrap();
    let error = refused(&mut fleet, busy, "P22", on_demand);
    assert_eq!(error, MoveError::NotReady { instance: busy });
    let error = refused(&mut fleet, other, "P21", on_demand);
    assert_eq!(
        error,
        MoveError::Shorter {
            tokens: 21,
            positions: 22
        }
    );
    says(&error, &[21, 22]);
    let error = refused(&mut fleet, other, "P21+Q1", on_demand);
    assert_eq!(error, MoveError::OtherTokens { block: 5 });
    says(&error, &[5]);
    // Of another namespace.
    let elsewhere = Namespace::new().salt(b"x");
    let request = Admit::new(Prompt::new(&elsewhere, &tokens), on_demand);
    let terms = MoveTerms::new(Owner::new(5), 100);
    let there = figures(&fleet, other);
    let error = fleet.start_move(from, source, other, &request, &terms);
    assert!(matches!(
        error,
        Err(MoveError::Export(ExportError::OtherNamespace(_)))
    ));
    goes_on(&fleet, other, &there);

    // And then it is moved.
    let mut moving = start(&mut fleet, (from, source), other, "P22", on_demand).unwrap();
    arrive(&moving);
    fleet.finish_move(&mut moving).unwrap();
    assert!(fleet.get(from).unwrap().is_empty());
    audit(&fleet);
}

#[test]
fn moves_that_name_what_is_not_there_change_nothing() {
    let (mut fleet, ids) = fleet(&[8, 8, 8]);
    let source = run_on(&mut fleet, ids[0], "P8");
    let mut error = |from, to| {
        let asked = start(&mut fleet, (from, source), to, "P8", Growth::OnDemand);
        asked.expect_err("it can't be")
    };
    // To itself; from where it is not.
    let MoveError::SameInstance(same) = error(ids[0], ids[0]) else {
        panic!("it is there already");
    };
    assert_eq!(same.instance, ids[0]);
    says(&same, &[0]);
    assert_eq!(
        error(ids[1], ids[2]),
        MoveError::Export(ExportError::Stale(kvblock::Stale))
    );
    fleet.remove(ids[2]).unwrap();
    for (from, to) in [(ids[0], ids[2]), (ids[2], ids[0])] {
        let error = start(&mut fleet, (from, source), to, "P8", Growth::OnDemand);
        let Err(MoveError::NoSuchInstance(missing)) = error else {
            panic!("{error:?}");
        };
        assert_eq!(missing.instance, ids[2]);
    }
    assert_eq!(free(&fleet, &ids[..2]), [6, 8]);
    audit(&fleet);
}

#[test]
fn leases_of_moves_have_a_budget_and_one_owner_each() {
    let mut fleet = Fleet::new();
    let member = Member::new(MODEL, 64);
    let from = add(&mut fleet, replica(16), member.lease_budget(3));
    let to = add(&mut fleet, replica(16), member);
    let large = run_on(&mut fleet, from, "P16");
    let small = run_on(&mut fleet, from, "Q8");
    let error = start(&mut fleet, (from, large), to, "P16", Growth::OnDemand).unwrap_err();
    assert_eq!(
        error,
        MoveError::Export(ExportError::Lease(LeaseError::OverBudget {
            needed: 4,
            left: 3
        }))
    );
    let moving = start(&mut fleet, (from, small), to, "Q8", Growth::OnDemand).unwrap();
    let tiny = run_on(&mut fleet, from, "R4");
    let error = start(&mut fleet, (from, tiny), to, "R4", Growth::OnDemand).unwrap_err();
    let owner = Owner::new(5);
    assert_eq!(
        error,
        MoveError::Export(ExportError::Lease(LeaseError::OwnerTaken { owner }))
    );
    // Under way, it does not move on.
    let third = add(&mut fleet, replica(16), member);
    let again = with("Q8", |request| {
        let terms = MoveTerms::new(Owner::new(6), 100);
        fleet.start_move(from, small, third, request, &terms)
    });
    assert!(matches!(
        again,
        Err(MoveError::Export(ExportError::InTransit(
            InTransit::Leaving
        )))
    ));
    assert_eq!(fleet.tick(100), 1);
    let late = start(&mut fleet, (from, tiny), to, "R4", Growth::OnDemand).unwrap_err();
    assert_eq!(
        late,
        MoveError::Export(ExportError::Lease(LeaseError::AlreadyOver {
            deadline: 100,
            now: 100
        }))
    );
    drop(moving);
    audit(&fleet);
}
