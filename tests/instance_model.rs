//! Instances beside what they stand for: any calls over equal shards give what one registry over one pool gives; over unequal shards under
//! unequal pressure they give what a plain model of each shard gives, all of them or none.
//!
//! `PROPTEST_CASES` sets the number of cases; a failure prints its seed and is kept in `proptest-regressions/`.
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

#[path = "instance_model/alike.rs"]
mod alike;
#[path = "instance_model/arrivals.rs"]
mod arrivals;
#[path = "instance_model/unequal.rs"]
mod unequal;
#[path = "instance_model/words.rs"]
mod words;

#[path = "sequence_model/faults.rs"]
#[allow(dead_code, reason = "shared with the test of the registry alone")]
mod faults;
#[path = "sequence_model/figures.rs"]
mod figures;
#[path = "sequence_model/lanes.rs"]
#[allow(dead_code, reason = "shared with the test of the registry alone")]
mod lanes;
#[path = "model/ops.rs"]
#[allow(dead_code, reason = "shared with the test of the pool alone")]
mod ops;
#[path = "model/reference.rs"]
#[allow(dead_code, reason = "shared with the test of the pool alone")]
mod reference;
#[path = "sequence_model/reference.rs"]
#[allow(dead_code, reason = "shared with the test of the registry alone")]
mod registry;
#[path = "sequence_model/traffic.rs"]
#[allow(dead_code, reason = "shared with the test of the registry alone")]
mod traffic;
#[path = "sequence_model/transit.rs"]
#[allow(dead_code, reason = "shared with the test of the registry alone")]
mod transit;

#[path = "support/aims.rs"]
mod aims;
#[path = "support/properties.rs"]
mod properties;

use kvblock::Growth;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use aims::{ahead, aim, amount, positions, who};
use alike::{Call, Setup, Source};
use unequal::Call as On;
use words::{Aim, Request, Who};

fn config(cases: u32) -> Config {
    properties::config(cases, "proptest-regressions/instance_model.txt", 100_000)
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

/// Mostly of one content.
fn symbol() -> impl Strategy<Value = u8> {
    prop_oneof![8 => Just(0_u8), 1 => Just(1), 1 => Just(2)]
}

fn request() -> impl Strategy<Value = Request> {
    let flags = (any::<bool>(), 0_u8..7, 0_u8..7, 0_u8..5, 0_u8..3);
    (vec(symbol(), 0..4), 0_usize..4, growth(), flags).prop_map(
        |(symbols, rest, growth, (full_hit, conservative, private, returning, label))| Request {
            symbols,
            rest,
            full_hit,
            growth,
            conservative: conservative == 0,
            insert: private != 0,
            returning: returning == 0,
            label,
        },
    )
}

/// Of one content, and with little promised: one finds what the other computed.
fn plain_request() -> impl Strategy<Value = Request> {
    (request(), 1_usize..5, 0_usize..3).prop_map(|(request, blocks, ahead)| Request {
        symbols: vec![0; blocks],
        conservative: false,
        insert: true,
        growth: match request.growth {
            Growth::OnDemand => Growth::OnDemand,
            Growth::Ahead(_) => Growth::Ahead(ahead),
            Growth::Cap(_) => Growth::Cap(2 * ahead),
        },
        ..request
    })
}

/// Of ever later points; seldom at once.
fn fence() -> impl Strategy<Value = Option<u8>> {
    prop_oneof![3 => Just(None), 2 => (0_u8..12).prop_map(Some)]
}

fn setup() -> impl Strategy<Value = Setup> {
    let sizes = prop_oneof![1 => Just(1_usize), 3 => Just(2), 3 => Just(3), 4 => Just(4)];
    let room = (1_usize..31, 0_usize..8, sizes);
    (
        room,
        any::<bool>(),
        1_usize..10,
        0_usize..4,
        2_u32..5,
        0_usize..60,
    )
        .prop_map(
            |((blocks, spare, block_size), digests, slots, watermark, shards, leases)| Setup {
                blocks,
                spare,
                block_size,
                digests,
                slots,
                // Some block is left to be admitted.
                watermark: watermark % blocks,
                shards,
                leases,
            },
        )
}

fn call() -> impl Strategy<Value = Call> {
    let which = any::<u8>;
    let transfers = prop_oneof![
        5 => (who(), 0_u8..5, 0_u8..20).prop_map(|(who, owner, until)| Call::Pin(who, owner, until)),
        2 => (0_u8..20).prop_map(Call::Tick),
        8 => (who(), 0_u8..5, 3_u8..30, any::<bool>())
            .prop_map(|(who, owner, until, moves)| Call::Export(who, owner, until, moves)),
        2 => which().prop_map(Call::Abort),
        1 => which().prop_map(Call::Finish),
        12 => (
            request(),
            prop_oneof![2 => Just(Source::Store), 3 => which().prop_map(Source::Export)],
            aim(),
            prop_oneof![20 => 1_usize..3, 1 => Just(0), 1 => Just(64)],
        )
            .prop_map(|(request, from, to, writers)| Call::Import(request, from, to, writers)),
        16 => (which(), 0_usize..3, prop_oneof![3 => Just(0), 1 => which()], which(), prop_oneof![5 => Just(true), 1 => Just(false)])
            .prop_map(|(at, writer, from, to, written)| Call::Answer(at, writer, from, to, written)),
        4 => (which(), 0_usize..3).prop_map(|(at, writer)| Call::EndWriter(at, writer)),
        8 => who().prop_map(Call::Loading),
        6 => who().prop_map(Call::Commit),
        2 => which().prop_map(Call::Invalidate),
        4 => who().prop_map(Call::Renew),
    ];
    let of_pools = prop_oneof![
        2 => amount(5).prop_map(Call::Evict),
        3 => (1_usize..8).prop_map(Call::Take),
        4 => which().prop_map(Call::GiveBack),
        2 => amount(4).prop_map(Call::Grow),
        2 => amount(4).prop_map(Call::Shrink),
        1 => (0_usize..20).prop_map(Call::Surplus),
    ];
    let lives = prop_oneof![
        12 => request().prop_map(Call::Admit),
        10 => plain_request().prop_map(Call::Admit),
        2 => request().prop_map(Call::Check),
        12 => vec((who(), positions()), 0..5).prop_map(Call::Step),
        12 => (who(), positions()).prop_map(|(who, n)| Call::Append(who, n)),
        2 => (who(), positions()).prop_map(|(who, n)| Call::CheckAppend(who, n)),
        5 => (who(), ahead()).prop_map(|(who, aim)| Call::Ensure(who, aim)),
        16 => (who(), prop_oneof![3 => Just(Aim::End), 1 => aim()], symbol())
            .prop_map(|(who, n, symbol)| Call::Tokens(who, n, symbol)),
        18 => (who(), prop_oneof![3 => Just(Aim::End), 1 => aim()]).prop_map(|(who, aim)| Call::Computed(who, aim)),
        8 => (who(), aim(), fence()).prop_map(|(who, aim, fence)| Call::Truncate(who, aim, fence)),
        6 => (who(), prop_oneof![4 => Just(1_u8), 2 => 0_u8..5]).prop_map(|(who, n)| Call::Fork(who, n)),
        6 => which().prop_map(Call::Copied),
        10 => (who(), any::<bool>(), fence()).prop_map(|(who, preempt, fence)| Call::Release(who, preempt, fence)),
        4 => (who(), fence()).prop_map(|(who, fence)| Call::Adopt(who, fence)),
        3 => who().prop_map(Call::Detach),
        3 => Just(Call::Attach),
        1 => Just(Call::DropDetached),
        4 => (0_u8..12).prop_map(Call::Complete),
        3 => (vec(who(), 0..6), amount(10)).prop_map(|(order, need)| Call::Victims(order, need)),
    ];
    prop_oneof![6 => lives, 3 => transfers, 1 => of_pools]
}

fn calls() -> impl Strategy<Value = Vec<(u8, Call)>> {
    vec((prop_oneof![2 => Just(0_u8), 1 => Just(1)], call()), 1..200)
}

fn unequal_setup() -> impl Strategy<Value = unequal::Setup> {
    let sizes = prop_oneof![1 => Just(1_usize), 3 => Just(2), 3 => Just(3), 4 => Just(4)];
    let blocks =
        prop_oneof![1 => 1_usize..5, 2 => 5_usize..20, 2 => 12_usize..31, 5 => 30_usize..70];
    let shard = (blocks, prop_oneof![3 => Just(0_usize), 1 => 0_usize..4])
        .prop_map(|(blocks, watermark)| (blocks, watermark % blocks));
    (
        vec(shard, 2..4),
        sizes,
        any::<bool>(),
        prop_oneof![1 => 1_usize..4, 3 => 4_usize..12],
    )
        .prop_map(|(shards, block_size, digests, slots)| unequal::Setup {
            shards,
            block_size,
            digests,
            slots,
        })
}

fn unequal_call() -> impl Strategy<Value = On> {
    let which = any::<u8>;
    let pressure = prop_oneof![
        3 => (which(), amount(6)).prop_map(|(shard, n)| On::Reserve(shard, n)),
        3 => which().prop_map(On::Unreserve),
        4 => (which(), 1_usize..12).prop_map(|(shard, n)| On::Take(shard, n)),
        4 => which().prop_map(On::GiveBack),
        3 => (which(), amount(6)).prop_map(|(shard, n)| On::Evict(shard, n)),
        1 => which().prop_map(On::Clear),
        8 => (which(), plain_request(), prop_oneof![3 => Just(false), 1 => Just(true)])
            .prop_map(|(shard, request, stays)| On::Alone(shard, request, stays)),
        2 => which().prop_map(On::AloneEnds),
        4 => (which(), 0_u8..12).prop_map(|(shard, fence)| On::Complete(shard, fence)),
        4 => (which(), who(), which()).prop_map(|(shard, who, entry)| On::Invalidate(shard, who, entry)),
    ];
    let lives = prop_oneof![
        10 => request().prop_map(On::Admit),
        12 => plain_request().prop_map(On::Admit),
        3 => request().prop_map(On::Check),
        10 => vec((who(), positions()), 0..5).prop_map(On::Step),
        12 => (who(), positions()).prop_map(|(who, n)| On::Append(who, n)),
        3 => (who(), positions()).prop_map(|(who, n)| On::CheckAppend(who, n)),
        5 => (who(), ahead()).prop_map(|(who, aim)| On::Ensure(who, aim)),
        5 => who().prop_map(On::Renew),
        16 => (who(), prop_oneof![3 => Just(Aim::End), 1 => aim()], symbol())
            .prop_map(|(who, n, symbol)| On::Tokens(who, n, symbol)),
        18 => (who(), prop_oneof![3 => Just(Aim::End), 1 => aim()]).prop_map(|(who, aim)| On::Computed(who, aim)),
        9 => (who(), aim(), fence()).prop_map(|(who, aim, fence)| On::Truncate(who, aim, fence)),
        7 => (who(), prop_oneof![4 => Just(1_u8), 2 => 0_u8..5]).prop_map(|(who, n)| On::Fork(who, n)),
        6 => which().prop_map(On::Copied),
        9 => (who(), any::<bool>(), fence()).prop_map(|(who, preempt, fence)| On::Release(who, preempt, fence)),
        8 => who().prop_map(On::Adopt),
        2 => who().prop_map(On::Detach),
        2 => Just(On::Attach),
        1 => Just(On::DropDetached),
        3 => (vec(who(), 0..6), vec(amount(10), 0..4)).prop_map(|(order, needs)| On::Victims(order, needs)),
    ];
    prop_oneof![3 => lives, 1 => pressure]
}

fn unequal_calls() -> impl Strategy<Value = Vec<(u8, On)>> {
    vec(
        (prop_oneof![2 => Just(0_u8), 1 => Just(1)], unequal_call()),
        1..200,
    )
}

fn arrivals_setup() -> impl Strategy<Value = arrivals::Setup> {
    let shards = (2_usize..4).prop_flat_map(|shards| {
        (
            vec(0_usize..6, shards),
            vec(prop_oneof![2 => Just(0_usize), 1 => 0_usize..4], shards),
        )
    });
    let growth = prop_oneof![
        Just(Growth::OnDemand),
        (0_usize..3).prop_map(Growth::Ahead),
        (1_usize..8).prop_map(Growth::Cap),
    ];
    (shards, 1_usize..18, any::<bool>(), growth).prop_map(
        |((spare, cached), positions, moves, growth)| arrivals::Setup {
            spare,
            cached,
            positions,
            moves,
            growth,
        },
    )
}

fn arrivals_calls() -> impl Strategy<Value = Vec<arrivals::Call>> {
    use arrivals::Call;
    let call = prop_oneof![
        16 => (any::<u8>(), 1_u8..4).prop_map(|(shard, n)| Call::Arrive(shard, n)),
        1 => (any::<u8>(), 0_u8..5).prop_map(|(shard, block)| Call::Fail(shard, block)),
        1 => any::<u8>().prop_map(Call::End),
        8 => Just(Call::Loading),
        6 => Just(Call::Commit),
        2 => Just(Call::ComputeRest),
        1 => Just(Call::Renew),
        1 => Just(Call::Abort),
        1 => any::<u8>().prop_map(Call::AbortOne),
        1 => Just(Call::Finish),
        1 => (any::<u8>(), 45_u64..55).prop_map(|(shard, now)| Call::Tick(shard, now)),
        3 => Just(Call::AppendHere),
        3 => Just(Call::AppendThere),
        1 => Just(Call::ReleaseHere),
        1 => Just(Call::ReleaseThere),
    ];
    vec(call, 1..40)
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn what_comes_to_all_shards_counts_and_one_side_goes_on(setup in arrivals_setup(), calls in arrivals_calls()) {
        arrivals::run(&setup, &calls);
    }
}

proptest! {
    #![proptest_config(config(120))]

    #[test]
    fn equal_shards_and_ranks_in_lockstep_give_what_one_pool_gives(setup in setup(), calls in calls()) {
        alike::run(&setup, &calls);
    }

    #[test]
    fn unequal_shards_give_what_their_models_give_or_none_of_it(setup in unequal_setup(), calls in unequal_calls()) {
        unequal::run(&setup, &calls);
    }
}

/// The property above says little if its calls reach little.
#[test]
fn the_random_calls_reach_what_only_several_shards_have() {
    let mut runner =
        TestRunner::new_with_rng(config(0), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let mut all = unequal::Tally::new();
    for _ in 0..300 {
        let setup = unequal_setup()
            .new_tree(&mut runner)
            .expect("a setup")
            .current();
        let calls = unequal_calls()
            .new_tree(&mut runner)
            .expect("a list")
            .current();
        for (what, times) in unequal::run(&setup, &calls) {
            *all.entry(what).or_default() += times;
        }
    }
    let worth = [
        "a call for nobody",
        "a copy on all shards",
        "a copy on some shards only",
        "a hit as long as the shortest",
        "a hit on all shards",
        "a sequence went back",
        "admission refused",
        "another error",
        "attached",
        "duplicates adopted",
        "failure of some in a step",
        "fork refused",
        "forked",
        "growth refused",
        "never on a later shard, not now on an earlier one",
        "no hit",
        "no hit, as one shard has none",
        "promised unlike",
        "published unlike",
        "refused by a later shard",
        "refused by several shards",
        "refused by the first shard only",
        "renewal refused",
        "renewed",
        "tables changed unlike",
        "tokens forgotten for another shard's sake",
        "truncation refused",
        "victims enough",
        "victims too few",
    ];
    for what in worth {
        assert!(
            all.get(what).is_some_and(|&times| times >= 3),
            "hardly reached: {what}; reached: {all:?}"
        );
    }
}

#[test]
fn the_random_arrivals_end_in_moves_that_are_committed() {
    let mut runner =
        TestRunner::new_with_rng(config(0), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let mut committed = 0;
    for _ in 0..300 {
        let setup = arrivals_setup()
            .new_tree(&mut runner)
            .expect("a setup")
            .current();
        let calls = arrivals_calls()
            .new_tree(&mut runner)
            .expect("a list")
            .current();
        committed += usize::from(arrivals::run(&setup, &calls));
    }
    assert!(committed >= 10, "{committed} of 300");
}
