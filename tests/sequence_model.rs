//! Two registries over one pool beside plain sequential models of all three: any calls, misuse and raw calls on the pool included, give equal
//! results, errors, tables, figures and events, and after each of them every audit passes and the replayed events are what can be found.
//!
//! `PROPTEST_CASES` sets the number of cases; a failure prints its seed and is kept in `proptest-regressions/`.
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

#[path = "sequence_model/ops.rs"]
mod calls;
#[path = "sequence_model/faults.rs"]
mod faults;
#[path = "sequence_model/fences.rs"]
mod fences;
#[path = "sequence_model/figures.rs"]
mod figures;
#[path = "sequence_model/lanes.rs"]
mod lanes;
#[path = "sequence_model/memory.rs"]
mod memory;
#[path = "model/ops.rs"]
#[allow(dead_code, reason = "shared with the test of the pool alone")]
mod ops;
#[path = "model/reference.rs"]
#[allow(dead_code, reason = "shared with the test of the pool alone")]
mod reference;
#[path = "sequence_model/reference.rs"]
mod registry;
#[path = "sequence_model/traffic.rs"]
mod traffic;
#[path = "sequence_model/transfers.rs"]
mod transfers;
#[path = "sequence_model/transit.rs"]
mod transit;

#[path = "support/aims.rs"]
mod aims;
#[path = "support/properties.rs"]
mod properties;

use kvblock::Proof;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use aims::{ahead, aim, amount, positions, who};
use calls::{Aim, Call, Request, Scheduling, Who, run};
use fences::{FenceCall, Point};
use ops::{Asked, By, Keys, Op, Setup, Symbol, Tally, Wrong};
use properties::ALL_EVENTS;
use registry::Growth;
use transfers::{Deadline, Origin, TransferCall};
use transit::Layout;

fn config(cases: u32) -> Config {
    properties::config(cases, "proptest-regressions/sequence_model.txt", 100_000)
}

fn scheduling(
    blocks: core::ops::Range<usize>,
    keys: &'static [Keys],
    proof: Proof,
) -> impl Strategy<Value = Scheduling> {
    let keys = proptest::sample::select(keys);
    let events = proptest::sample::select(&[0, ALL_EVENTS][..]);
    let watermark = prop_oneof![4 => Just(0_usize), 2 => 0..4_usize];
    let sequences = prop_oneof![1 => 1_usize..3, 4 => 3_usize..12];
    let sizes = prop_oneof![1 => Just(1_usize), 3 => Just(2), 3 => Just(3), 4 => Just(4)];
    let small = blocks.start..(blocks.start + 8).min(blocks.end);
    let blocks = prop_oneof![1 => small, 4 => blocks];
    (blocks, sizes, keys, events, sequences, watermark).prop_map(
        move |(blocks, block_size, keys, events, max_sequences, watermark)| Scheduling {
            pool: Setup {
                spare: 0,
                blocks,
                block_size,
                keys,
                proof,
                events,
            },
            max_sequences,
            // Some block is left to be admitted.
            watermark: watermark % blocks,
        },
    )
}

fn symbol() -> impl Strategy<Value = Symbol> {
    let tokens = prop_oneof![12 => Just(0_u32), 1 => Just(1), 1 => Just(2)];
    (tokens, prop_oneof![8 => Just(0_u8), 1 => Just(1)])
        .prop_map(|(tokens, extra)| Symbol { tokens, extra })
}

fn wrong() -> impl Strategy<Value = Option<Wrong>> {
    prop_oneof![
        40 => Just(None),
        1 => Just(Some(Wrong::Extra)),
        1 => Just(Some(Wrong::Keys)),
    ]
}

fn name() -> impl Strategy<Value = u8> {
    prop_oneof![8 => Just(0_u8), 1 => Just(1), 1 => Just(2)]
}

fn asked() -> impl Strategy<Value = Asked> {
    (
        name(),
        vec(symbol(), 0..4),
        0_usize..4,
        any::<bool>(),
        wrong(),
    )
        .prop_map(|(name, symbols, rest, full_hit, wrong)| Asked {
            name,
            symbols,
            rest,
            full_hit,
            wrong,
        })
}

fn growth() -> impl Strategy<Value = Growth> {
    prop_oneof![
        12 => (0_usize..10).prop_map(Growth::Cap),
        12 => (0_usize..4).prop_map(Growth::Ahead),
        12 => Just(Growth::OnDemand),
        1 => amount(20).prop_map(Growth::Cap),
        1 => amount(20).prop_map(Growth::Ahead),
    ]
}

fn request() -> impl Strategy<Value = Request> {
    (
        asked(),
        growth(),
        prop_oneof![6 => Just(false), 1 => Just(true)],
        prop_oneof![6 => Just(true), 1 => Just(false)],
        prop_oneof![4 => Just(false), 1 => Just(true)],
        0_u8..4,
    )
        .prop_map(
            |(asked, growth, conservative, insert, returning, label)| Request {
                asked,
                growth,
                conservative,
                insert,
                returning,
                label,
            },
        )
}

/// A call on the pool below.
fn pool_call() -> impl Strategy<Value = Op> {
    let slot = any::<u8>;
    let n = || amount(5);
    prop_oneof![
        2 => n().prop_map(Op::Reserve),
        4 => slot().prop_map(|which| Op::DropReservation { which }),
        3 => (slot(), n(), 0_u8..2).prop_map(|(from, n, worker)| Op::Take { from, n, worker }),
        4 => (slot(), Just(By::Worker(0))).prop_map(|(which, by)| Op::ReleaseBlocks { which, by }),
        2 => (asked(), slot(), Just(0)).prop_map(|(asked, pay, worker)| Op::Find { asked, pay, worker }),
        3 => (slot(), Just(By::Drop)).prop_map(|(chain, by)| Op::ReleaseChain { chain, by }),
        2 => (n(), 0_u8..2).prop_map(|(n, worker)| Op::Evict { n, worker }),
        1 => (proptest::option::of(name()), Just(0)).prop_map(|(name, worker)| Op::Clear { name, worker }),
        2 => (0_u32..30, Just(0)).prop_map(|(block, worker)| Op::Invalidate { block, worker }),
        1 => (n(), Just(0)).prop_map(|(steps, worker)| Op::Maintain { steps, worker }),
        1 => asked().prop_map(|asked| Op::Probe { asked }),
    ]
}

/// Around what a lane has completed, seldom of another pool.
fn point() -> impl Strategy<Value = Point> {
    let lane = prop_oneof![12 => 0_u8..2, 1 => Just(2)];
    (lane, -2_i8..4).prop_map(|(lane, fence)| Point { lane, fence })
}

fn fence_call() -> impl Strategy<Value = FenceCall> {
    let release = (who(), any::<bool>(), point());
    prop_oneof![
        4 => release.prop_map(|(who, preempt, at)| FenceCall::Release { who, preempt, at }),
        4 => (who(), aim(), point()).prop_map(|(who, to, at)| FenceCall::Truncate { who, to, at }),
        1 => point().prop_map(FenceCall::Detached),
        4 => point().prop_map(FenceCall::Complete),
    ]
}

fn deadline() -> impl Strategy<Value = Deadline> {
    prop_oneof![6 => (0_u8..8).prop_map(Deadline::In), 1 => Just(Deadline::Never)]
}

fn lease_call() -> impl Strategy<Value = TransferCall> {
    let which = any::<u8>;
    prop_oneof![
        6 => (who(), 0_u8..5, deadline()).prop_map(|(who, owner, until)| TransferCall::Pin { who, owner, until }),
        3 => (0_u8..4).prop_map(TransferCall::Tick),
        1 => (which(), deadline()).prop_map(|(which, until)| TransferCall::Extend { which, until }),
        1 => (which(), 0_u8..4).prop_map(|(which, ahead)| TransferCall::CheckLease { which, ahead }),
        2 => which().prop_map(TransferCall::EndLease),
    ]
}

/// Nothing wrong, mostly of one content.
fn plain_request() -> impl Strategy<Value = Request> {
    (request(), vec(symbol(), 1..4)).prop_map(|(mut request, symbols)| {
        request.asked = Asked {
            name: request.asked.name,
            symbols,
            wrong: None,
            ..request.asked
        };
        request.insert |= request.label > 0;
        request
    })
}

fn import() -> impl Strategy<Value = TransferCall> {
    let from = prop_oneof![
        2 => Just(Origin::Store),
        3 => (any::<u8>(), prop_oneof![9 => Just(false), 1 => Just(true)])
            .prop_map(|(which, other_prompt)| Origin::Export { which, other_prompt }),
    ];
    let writers = prop_oneof![20 => 1_usize..4, 1 => Just(0), 1 => Just(64)];
    let layout = prop_oneof![
        12 => Just(None),
        8 => Just(Some(Layout::Ours)),
        1 => Just(Some(Layout::OtherElement)),
        1 => Just(Some(Layout::OtherBlockSize)),
    ];
    let positions =
        prop_oneof![2 => Just(Aim::End), 3 => any::<u8>().prop_map(Aim::At), 1 => aim()];
    (
        plain_request(),
        from,
        positions,
        writers,
        layout,
        any::<bool>(),
    )
        .prop_map(|(request, from, positions, writers, layout, counted)| {
            TransferCall::Import {
                request,
                from,
                positions,
                writers,
                layout,
                counted,
            }
        })
}

fn transfer_call() -> impl Strategy<Value = TransferCall> {
    let which = any::<u8>;
    let export = (
        who(),
        0_u8..5,
        deadline(),
        any::<bool>(),
        prop_oneof![15 => Just(false), 1 => Just(true)],
    )
        .prop_map(
            |(who, owner, until, moves, other_space)| TransferCall::Export {
                who,
                owner,
                until,
                moves,
                other_space,
            },
        );
    let blocks = prop_oneof![
        3 => Just((Aim::At(0), Aim::End)),
        4 => any::<u8>().prop_map(|at| (Aim::At(at), Aim::End)),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(from, to)| (Aim::At(from), Aim::At(to))),
        1 => (aim(), aim()),
    ];
    let written = prop_oneof![5 => Just(true), 1 => Just(false)];
    let answer =
        (which(), 0_usize..3, blocks, written).prop_map(|(which, writer, blocks, written)| {
            TransferCall::Answer {
                which,
                writer,
                blocks,
                written,
            }
        });
    let invalidate = (
        who(),
        which(),
        prop_oneof![5 => Just(false), 1 => Just(true)],
    )
        .prop_map(|(who, entry, beyond)| TransferCall::Invalidate { who, entry, beyond });
    prop_oneof![
        8 => export,
        2 => which().prop_map(TransferCall::Abort),
        1 => which().prop_map(TransferCall::Finish),
        12 => import(),
        16 => answer,
        5 => which().prop_map(TransferCall::Arrive),
        3 => (which(), 0_usize..4).prop_map(|(which, writer)| TransferCall::EndWriter { which, writer }),
        1 => which().prop_map(TransferCall::Forget),
        8 => who().prop_map(TransferCall::Loading),
        6 => who().prop_map(TransferCall::Commit),
        3 => invalidate,
        4 => who().prop_map(TransferCall::Renew),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let tokens = (
        who(),
        aim(),
        symbol(),
        prop_oneof![20 => Just(0_usize), 1 => 1_usize..3, 1 => Just(usize::MAX)],
        wrong(),
    )
        .prop_map(|(who, n, symbol, off, wrong)| Call::Tokens {
            who,
            n,
            symbol,
            off,
            wrong,
        });
    prop_oneof![
        7 => pool_call().prop_map(Call::Pool),
        2 => request().prop_map(Call::Check),
        20 => request().prop_map(Call::Admit),
        12 => vec((who(), positions()), 0..5).prop_map(Call::Step),
        14 => (who(), positions()).prop_map(|(who, n)| Call::Append(who, n)),
        2 => (who(), positions()).prop_map(|(who, n)| Call::CheckAppend(who, n)),
        5 => (who(), ahead()).prop_map(|(who, aim)| Call::Ensure(who, aim)),
        16 => tokens,
        18 => (who(), prop_oneof![3 => Just(Aim::End), 1 => aim()]).prop_map(|(who, aim)| Call::Computed(who, aim)),
        7 => (who(), aim()).prop_map(|(who, aim)| Call::Truncate(who, aim)),
        6 => (who(), prop_oneof![4 => Just(1_u8), 2 => 0_u8..5]).prop_map(|(who, n)| Call::Fork(who, n)),
        6 => any::<u8>().prop_map(Call::Copied),
        8 => who().prop_map(Call::Release),
        3 => who().prop_map(Call::Preempt),
        4 => who().prop_map(Call::Adopt),
        2 => who().prop_map(Call::Detach),
        2 => prop_oneof![5 => Just(false), 1 => Just(true)].prop_map(|dropped| Call::Attach { dropped }),
        3 => (who(), aim()).prop_map(|(who, aim)| Call::CopyTable(who, aim)),
        2 => (who(), aim(), aim()).prop_map(|(who, from, to)| Call::Slots(who, from, to)),
        3 => (vec(who(), 0..6), amount(10)).prop_map(|(order, need)| Call::Victims(order, need)),
        12 => fence_call().prop_map(Call::Fence),
        6 => lease_call().prop_map(Call::Transfer),
        14 => transfer_call().prop_map(Call::Transfer),
    ]
}

/// What fences, leases, transfers and bad content meet: sequences that are computed, and little that goes wrong beside.
fn moving_calls() -> impl Strategy<Value = Vec<(u8, Call)>> {
    let few = || prop_oneof![3 => Just(1_usize), 3 => 0_usize..6];
    let living = || any::<u8>().prop_map(Who::Living);
    let tokens = (living(), symbol()).prop_map(|(who, symbol)| Call::Tokens {
        who,
        n: Aim::End,
        symbol,
        off: 0,
        wrong: None,
    });
    let call = prop_oneof![
        8 => plain_request().prop_map(Call::Admit),
        10 => (living(), few()).prop_map(|(who, n)| Call::Append(who, n)),
        8 => tokens,
        12 => living().prop_map(|who| Call::Computed(who, Aim::End)),
        2 => (living(), aim()).prop_map(|(who, aim)| Call::Truncate(who, aim)),
        3 => (living(), 1_u8..3).prop_map(|(who, n)| Call::Fork(who, n)),
        3 => any::<u8>().prop_map(Call::Copied),
        4 => living().prop_map(Call::Release),
        2 => living().prop_map(Call::Adopt),
        1 => living().prop_map(Call::Detach),
        1 => Just(Call::Attach { dropped: false }),
        1 => vec(living(), 1..6).prop_map(|order| Call::Victims(order, 9)),
        2 => pool_call().prop_map(Call::Pool),
        12 => fence_call().prop_map(Call::Fence),
        8 => lease_call().prop_map(Call::Transfer),
        60 => transfer_call().prop_map(Call::Transfer),
    ];
    vec((0_u8..2, call), 1..200)
}

/// What branches, drafts and copies meet, with room for them: some requests, then calls on them only.
fn branching_calls() -> impl Strategy<Value = Vec<(u8, Call)>> {
    let few = || prop_oneof![3 => Just(1_usize), 3 => 0_usize..6];
    let living = || any::<u8>().prop_map(Who::Living);
    let tokens = (living(), symbol()).prop_map(|(who, symbol)| Call::Tokens {
        who,
        n: Aim::End,
        symbol,
        off: 0,
        wrong: None,
    });
    let most = || prop_oneof![2 => Just(Aim::End), 3 => any::<u8>().prop_map(Aim::At)];
    let call = prop_oneof![
        2 => request().prop_map(Call::Admit),
        3 => vec((living(), few()), 0..5).prop_map(Call::Step),
        8 => (living(), few()).prop_map(|(who, n)| Call::Append(who, n)),
        2 => (living(), (0_usize..8).prop_map(Aim::Over)).prop_map(|(who, aim)| Call::Ensure(who, aim)),
        6 => tokens,
        6 => living().prop_map(|who| Call::Computed(who, Aim::End)),
        5 => (living(), most()).prop_map(|(who, aim)| Call::Truncate(who, aim)),
        5 => (living(), 1_u8..3).prop_map(|(who, n)| Call::Fork(who, n)),
        6 => any::<u8>().prop_map(Call::Copied),
        3 => living().prop_map(Call::Release),
        1 => living().prop_map(Call::Adopt),
        1 => living().prop_map(Call::Detach),
        1 => Just(Call::Attach { dropped: false }),
        1 => vec(living(), 1..6).prop_map(|order| Call::Victims(order, 9)),
    ];
    let start = vec(
        request().prop_map(|request| (0, Call::Admit(request))),
        1..4,
    );
    (
        start,
        vec((prop_oneof![8 => Just(0_u8), 1 => Just(1)], call), 1..150),
    )
        .prop_map(|(start, more)| start.into_iter().chain(more).collect())
}

/// What fills both buckets of a key: many contents at one depth.
fn crowding_calls() -> impl Strategy<Value = Vec<(u8, Call)>> {
    let crowd = (request(), vec(0_u32..40, 1..3)).prop_map(|(mut request, tokens)| {
        request.insert = true;
        request.asked.symbols = tokens
            .into_iter()
            .map(|tokens| Symbol { tokens, extra: 0 })
            .collect();
        Call::Admit(request)
    });
    let living = || any::<u8>().prop_map(Who::Living);
    let call = prop_oneof![
        8 => crowd,
        8 => living().prop_map(|who| Call::Computed(who, Aim::End)),
        4 => living().prop_map(Call::Release),
        4 => call(),
    ];
    vec((prop_oneof![4 => Just(0_u8), 1 => Just(1)], call), 1..150)
}

/// Mostly on the first registry.
fn calls(most: usize) -> impl Strategy<Value = Vec<(u8, Call)>> {
    vec(
        (prop_oneof![2 => Just(0_u8), 1 => Just(1)], call()),
        1..most,
    )
}

proptest! {
    #![proptest_config(config(120))]

    #[test]
    fn any_calls_give_what_the_model_gives(
        setup in scheduling(1..31, &[Keys::Hashed, Keys::Engine], Proof::Tokens), calls in calls(200),
    ) {
        run(&setup, &calls);
    }

    #[test]
    fn with_equal_keys_for_all_content_nothing_changes_but_that_publishing_may_end(
        setup in scheduling(1..41, &[Keys::Constant, Keys::EngineConstant], Proof::Tokens), calls in calls(200),
    ) {
        run(&setup, &calls);
    }

    #[test]
    fn with_digests_for_proof_nothing_changes_but_what_a_truncation_forgets(
        setup in scheduling(1..31, &[Keys::Hashed, Keys::Constant], Proof::Digest), calls in calls(200),
    ) {
        run(&setup, &calls);
    }
}

proptest! {
    #![proptest_config(config(120))]

    #[test]
    fn branches_and_drafts_give_what_the_model_gives(
        setup in scheduling(30..61, &[Keys::Hashed, Keys::Engine], Proof::Tokens), calls in branching_calls(),
    ) {
        run(&Scheduling { watermark: 0, ..setup }, &calls);
    }

    #[test]
    fn so_they_do_with_digests_for_proof(
        setup in scheduling(12..40, &[Keys::Hashed], Proof::Digest), calls in branching_calls(),
    ) {
        run(&Scheduling { watermark: 0, ..setup }, &calls);
    }
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn what_is_fenced_leased_or_moved_is_where_the_model_has_it(
        setup in scheduling(6..50, &[Keys::Hashed, Keys::Engine, Keys::Constant], Proof::Tokens), calls in moving_calls(),
    ) {
        run(&setup, &calls);
    }

    #[test]
    fn and_with_digests_for_proof(
        setup in scheduling(6..50, &[Keys::Hashed], Proof::Digest), calls in moving_calls(),
    ) {
        run(&setup, &calls);
    }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn publishing_ends_only_where_the_index_has_no_place(
        setup in scheduling(30..90, &[Keys::Constant, Keys::EngineConstant], Proof::Tokens), calls in crowding_calls(),
    ) {
        run(&setup, &calls);
    }
}

// ---- what random calls hardly meet

fn setup_of(blocks: usize, block_size: usize) -> Scheduling {
    Scheduling {
        pool: Setup {
            spare: 0,
            blocks,
            block_size,
            keys: Keys::Hashed,
            proof: Proof::Tokens,
            events: ALL_EVENTS,
        },
        max_sequences: 8,
        watermark: 0,
    }
}

fn admit(blocks: usize) -> Call {
    let symbol = Symbol {
        tokens: 0,
        extra: 0,
    };
    Call::Admit(Request {
        asked: Asked {
            name: 0,
            symbols: vec![symbol; blocks],
            rest: 0,
            full_hit: false,
            wrong: None,
        },
        growth: Growth::OnDemand,
        conservative: false,
        insert: true,
        returning: false,
        label: 0,
    })
}

#[test]
fn a_duplicate_that_cannot_be_paid_ends_publishing() {
    let only = Who::Living(0);
    let computed = || Call::Computed(only, Aim::End);
    let calls = [
        (0, admit(2)),
        (1, admit(2)),
        (0, computed()),
        (0, Call::Release(only)),
        // Nothing is available then.
        (0, Call::Pool(Op::Reserve(2))),
        (1, computed()),
        (0, Call::Pool(Op::DropReservation { which: 0 })),
        (1, computed()),
        (1, Call::Append(only, 1)),
        (1, computed()),
    ];
    let tally = run(&setup_of(4, 1), &calls);
    assert_eq!(tally.get("stopped unpaid"), Some(&1), "{tally:?}");
}

/// The properties above say little if their calls reach little.
#[test]
fn the_random_calls_reach_every_state_worth_reaching() {
    let mut runner =
        TestRunner::new_with_rng(config(0), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let mut all = Tally::new();
    let keys = [Keys::Hashed, Keys::Engine, Keys::Constant];
    for round in 0..150 {
        let setup = Scheduling {
            pool: Setup {
                spare: 0,
                blocks: 4 + round % 27,
                block_size: 1 + (round / 2) % 4,
                keys: keys[round % 3],
                proof: Proof::Tokens,
                events: ALL_EVENTS,
            },
            max_sequences: 3 + round % 9,
            watermark: round / 5 % 3,
        };
        let list = calls(200).new_tree(&mut runner).expect("a list").current();
        for (what, times) in run(&setup, &list) {
            *all.entry(what).or_default() += times;
        }
        if round % 2 == 0 {
            let list = branching_calls()
                .new_tree(&mut runner)
                .expect("a list")
                .current();
            for (what, times) in run(&setup, &list) {
                *all.entry(what).or_default() += times;
            }
        }
    }
    for round in 0..500 {
        let setup = Scheduling {
            pool: Setup {
                blocks: 6 + round % 41,
                spare: 0,
                block_size: 1 + (round / 2) % 4,
                keys: keys[round % 3],
                proof: Proof::Tokens,
                events: ALL_EVENTS,
            },
            max_sequences: 3 + round % 9,
            watermark: 0,
        };
        let list = moving_calls()
            .new_tree(&mut runner)
            .expect("a list")
            .current();
        for (what, times) in run(&setup, &list) {
            *all.entry(what).or_default() += times;
        }
    }
    for _ in 0..20 {
        let crowded = Scheduling {
            pool: Setup {
                spare: 0,
                blocks: 80,
                block_size: 2,
                keys: Keys::Constant,
                proof: Proof::Tokens,
                events: ALL_EVENTS,
            },
            max_sequences: 30,
            watermark: 0,
        };
        let list = crowding_calls()
            .new_tree(&mut runner)
            .expect("a list")
            .current();
        for (what, times) in run(&crowded, &list) {
            *all.entry(what).or_default() += times;
        }
    }
    let worth = [
        "a detached one released after a fence",
        "admission refused",
        "admitted",
        "admitted with a hit",
        "answer after the lease",
        "answer of nobody, or for nothing",
        "answer repeated",
        "answer taken",
        "answer that nobody waits for",
        "append beyond the cap",
        "append in a transfer",
        "append refused",
        "append to nobody",
        "attached",
        "commit after an abort",
        "commit before all is there",
        "computed refused",
        "copy at a write",
        "copy done",
        "copy_table refused",
        "detach in a transfer",
        "detached",
        "duplicate",
        "duplicates adopted",
        "export aborted",
        "export finished",
        "export in a transfer",
        "export refused",
        "exported",
        "failure in a step",
        "fork in a transfer",
        "fork of nobody",
        "fork refused",
        "forked",
        "given back by a fence",
        "import by too many",
        "import of another layout",
        "import of another namespace",
        "import of unknown size",
        "import of what is taken",
        "import over the cap",
        "import refused",
        "imported behind a hit",
        "imported from a store",
        "imported from an export",
        "lease ended twice",
        "lease extended",
        "lease extended too late",
        "lease over at its start",
        "leases expired",
        "leases over budget",
        "load aborted",
        "load failed",
        "loaded in part",
        "move committed",
        "no renewal",
        "no slot for a fork",
        "no slot for an admission",
        "nothing to truncate",
        "offered",
        "owner taken",
        "pinned",
        "prompt of a wrong length",
        "reclaimed",
        "refused by the conservative budget or less",
        "release of nobody",
        "released after a fence",
        "renewal refused",
        "renewed",
        "second chance",
        "sequences went back",
        "stopped by a cut",
        "stopped by a full index",
        "stopped by another owner",
        "stored",
        "ticket twice, or of another registry",
        "tokens at the wrong place",
        "tokens beyond the positions",
        "tokens for nobody",
        "tokens of a wrong length",
        "truncated",
        "truncated after a fence",
        "truncation after a fence refused",
        "truncation refused",
        "victims",
        "victims among them nobody",
        "writer ended early",
        "writer ended twice, or nobody",
    ];
    for what in worth {
        assert!(
            all.get(what).is_some_and(|&times| times >= 3),
            "hardly reached: {what}; reached: {all:?}"
        );
    }
}
