//! The pool beside a plain sequential model of it: any calls, misuse included, give equal results, errors, ids, figures and events,
//! and after each of them the pool's audit passes and the replayed events are what can be found.
//!
//! `PROPTEST_CASES` sets the number of cases; a failure prints its seed and is kept in `proptest-regressions/`.
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

#[path = "model/ops.rs"]
mod ops;
#[path = "model/reference.rs"]
mod reference;

#[path = "support/properties.rs"]
mod properties;

use kvblock::Proof;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use ops::{Asked, By, Foreign, Keys, Op, Setup, Symbol, Tally, Wrong, run};
use properties::ALL_EVENTS;

fn config(cases: u32) -> Config {
    properties::config(cases, "proptest-regressions/model.txt", 50_000)
}

fn setup(
    blocks: core::ops::Range<usize>,
    keys: &'static [Keys],
    events: &'static [usize],
) -> impl Strategy<Value = Setup> {
    let keys = proptest::sample::select(keys);
    let events = proptest::sample::select(events);
    (blocks, 1_usize..5, keys, events).prop_map(|(blocks, block_size, keys, events)| Setup {
        spare: 0,
        blocks,
        block_size,
        keys,
        proof: Proof::Tokens,
        events,
    })
}

/// Pools that can grow, and be grown again after they shrank.
fn elastic(blocks: core::ops::Range<usize>) -> impl Strategy<Value = Setup> {
    let more = blocks.end;
    (
        setup(blocks, &[Keys::Hashed, Keys::Constant], &[0, ALL_EVENTS]),
        0..more,
    )
        .prop_map(|(setup, spare)| Setup { spare, ..setup })
}

fn small(keys: &'static [Keys]) -> impl Strategy<Value = Setup> {
    setup(1..41, keys, &[0, ALL_EVENTS])
}

fn symbol() -> impl Strategy<Value = Symbol> {
    (0_u32..3, prop_oneof![6 => Just(0_u8), 1 => Just(1)])
        .prop_map(|(tokens, extra)| Symbol { tokens, extra })
}

fn wrong() -> impl Strategy<Value = Option<Wrong>> {
    prop_oneof![
        30 => Just(None),
        1 => Just(Some(Wrong::Tokens)),
        1 => Just(Some(Wrong::Extra)),
        1 => Just(Some(Wrong::Keys)),
    ]
}

fn name() -> impl Strategy<Value = u8> {
    prop_oneof![6 => Just(0_u8), 1 => Just(1), 1 => Just(2)]
}

fn asked(longest: usize) -> impl Strategy<Value = Asked> {
    (
        name(),
        vec(symbol(), 0..=longest),
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

/// Mostly few; sometimes more than there can be.
fn amount(most: usize) -> impl Strategy<Value = usize> {
    prop_oneof![40 => 0..=most, 2 => Just(4 * most), 1 => Just(usize::MAX)]
}

fn by() -> impl Strategy<Value = By> {
    prop_oneof![any::<u8>().prop_map(By::Worker), Just(By::Drop)]
}

fn worker() -> impl Strategy<Value = u8> {
    prop_oneof![4 => Just(0_u8), 1 => Just(1)]
}

/// Any call, for pools in which `most` blocks are many.
fn op(most: usize) -> impl Strategy<Value = Op> {
    let slot = any::<u8>;
    prop_oneof![
        1 => amount(most).prop_map(Op::Check),
        6 => amount(most).prop_map(Op::Reserve),
        2 => (slot(), amount(most)).prop_map(|(which, n)| Op::Grow { which, n }),
        2 => (slot(), amount(most)).prop_map(|(which, n)| Op::Shrink { which, n }),
        2 => (slot(), amount(most)).prop_map(|(which, n)| Op::SplitReservation { which, n }),
        4 => slot().prop_map(|which| Op::DropReservation { which }),
        8 => (slot(), amount(most), worker()).prop_map(|(from, n, worker)| Op::Take { from, n, worker }),
        1 => (slot(), slot()).prop_map(|(to, what)| Op::Append { to, what }),
        2 => (slot(), amount(most)).prop_map(|(which, at)| Op::SplitBlocks { which, at }),
        4 => (slot(), by()).prop_map(|(which, by)| Op::ReleaseBlocks { which, by }),
        2 => name().prop_map(|name| Op::Start { name }),
        6 => (asked(6), slot(), worker()).prop_map(|(asked, pay, worker)| Op::Find { asked, pay, worker }),
        6 => (slot(), slot()).prop_map(|(chain, blocks)| Op::Push { chain, blocks }),
        8 => (slot(), vec(symbol(), 0..5), wrong(), proptest::option::of(slot()), worker())
            .prop_map(|(chain, symbols, wrong, pay, worker)| Op::Publish { chain, symbols, wrong, pay, worker }),
        3 => (slot(), worker()).prop_map(|(chain, worker)| Op::Fork { chain, worker }),
        3 => (slot(), amount(6)).prop_map(|(chain, at)| Op::SplitChain { chain, at }),
        3 => (slot(), worker()).prop_map(|(chain, worker)| Op::Adopt { chain, worker }),
        12 => (slot(), by()).prop_map(|(chain, by)| Op::ReleaseChain { chain, by }),
        12 => (asked(6), prop_oneof![4 => Just(true), 1 => Just(false)], worker())
            .prop_map(|(asked, publish, worker)| Op::Admit { asked, publish, worker }),
        2 => (amount(most), worker()).prop_map(|(n, worker)| Op::Evict { n, worker }),
        1 => (proptest::option::of(name()), worker()).prop_map(|(name, worker)| Op::Clear { name, worker }),
        3 => (0_u32..45, worker()).prop_map(|(block, worker)| Op::Invalidate { block, worker }),
        2 => (amount(most), worker()).prop_map(|(steps, worker)| Op::Maintain { steps, worker }),
        2 => asked(6).prop_map(|asked| Op::Probe { asked }),
        1 => Just(Op::ReadEvents),
        2 => (proptest::sample::select(&Foreign::ALL), slot()).prop_map(|(call, which)| Op::Foreign { call, which }),
    ]
}

/// Any call, and often one that moves the limit.
fn elastic_op(most: usize) -> impl Strategy<Value = Op> {
    prop_oneof![
        2 => amount(most).prop_map(Op::Widen),
        3 => (amount(most), worker()).prop_map(|(n, worker)| Op::Narrow { n, worker }),
        1 => worker().prop_map(|worker| Op::Narrow { n: 0, worker }),
        40 => op(most),
    ]
}

/// What fills both buckets of a key: many contents at one depth.
fn crowding_op() -> impl Strategy<Value = Op> {
    let symbols = vec(
        (0_u32..40).prop_map(|tokens| Symbol { tokens, extra: 0 }),
        1..3,
    );
    let asked = (name(), symbols, any::<bool>()).prop_map(|(name, symbols, full_hit)| Asked {
        name,
        symbols,
        rest: 0,
        full_hit,
        wrong: None,
    });
    prop_oneof![
        2 => (asked, worker()).prop_map(|(asked, worker)| Op::Admit { asked, publish: true, worker }),
        2 => (any::<u8>(), by()).prop_map(|(chain, by)| Op::ReleaseChain { chain, by }),
        1 => op(8),
    ]
}

/// A hit pays for its own second chance: what wears out one worker's allowance are the hits of another.
fn hitter() -> impl Strategy<Value = u8> {
    prop_oneof![1 => Just(0_u8), 9 => Just(1)]
}

/// What wears out a worker's allowance: all blocks idle and hit since, then takes, and more hits.
fn wearing_ops(blocks: u32) -> impl Strategy<Value = Vec<Op>> {
    let shape = prop_oneof![
        (1_u32..5).prop_map(|length| (length, 1)),
        (5_u32..100).prop_map(|length| (length, 1)),
        (2_u32..12, 2_u32..5),
    ];
    shape.prop_flat_map(move |(length, fan)| {
        // As many chains as fill the pool.
        let chains = if fan == 1 {
            blocks / length
        } else {
            (blocks - length) * (fan - 1) / fan
        };
        let fill = Op::Flood {
            first: 0,
            chains,
            length,
            fan,
            worker: 0,
        };
        vec(wearing_op(chains, length, fan), 10..40).prop_map(move |more| {
            [fill.clone(), fill.clone()]
                .into_iter()
                .chain(more)
                .collect()
        })
    })
}

fn wearing_op(all: u32, length: u32, fan: u32) -> impl Strategy<Value = Op> {
    let n = || prop_oneof![3 => 0_usize..20, 1 => 0_usize..400];
    let length = prop_oneof![3 => Just(length), 1 => 1..=length];
    prop_oneof![
        6 => (0..all, prop_oneof![2 => 1..=all, 3 => 1_u32..10], length, hitter())
            .prop_map(move |(first, chains, length, worker)| Op::Flood { first, chains, length, fan, worker }),
        4 => n().prop_map(Op::Reserve),
        4 => (any::<u8>(), n(), worker()).prop_map(|(from, n, worker)| Op::Take { from, n, worker }),
        2 => (any::<u8>(), by()).prop_map(|(which, by)| Op::ReleaseBlocks { which, by }),
        2 => any::<u8>().prop_map(|which| Op::DropReservation { which }),
        1 => (n(), worker()).prop_map(|(n, worker)| Op::Evict { n, worker }),
        2 => op(30),
    ]
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn any_calls_give_what_the_model_gives(setup in small(&[Keys::Hashed, Keys::Engine]), ops in vec(op(8), 1..100)) {
        run(&setup, &ops);
    }

    #[test]
    fn with_equal_keys_for_all_content_nothing_changes_but_that_publishing_may_be_declined(
        setup in small(&[Keys::Constant, Keys::EngineConstant]), ops in vec(op(8), 1..100),
    ) {
        run(&setup, &ops);
    }

    #[test]
    fn with_digests_for_proof_nothing_changes(
        setup in small(&[Keys::Hashed, Keys::Constant]), ops in vec(op(8), 1..100),
    ) {
        run(&Setup { proof: Proof::Digest, ..setup }, &ops);
    }

    #[test]
    fn a_pool_that_grows_and_shrinks_gives_what_the_model_gives(
        setup in elastic(1..41), ops in vec(elastic_op(8), 1..100),
    ) {
        run(&setup, &ops);
    }

    #[test]
    fn a_reader_of_a_ring_that_is_too_small_learns_what_it_missed(
        setup in setup(1..41, &[Keys::Hashed], &[4, 8]), ops in vec(op(8), 1..100),
    ) {
        run(&setup, &ops);
    }
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn publishing_is_declined_only_where_the_index_has_no_place(
        setup in setup(10..90, &[Keys::Constant, Keys::EngineConstant], &[0, ALL_EVENTS]),
        ops in vec(crowding_op(), 1..150),
    ) {
        run(&setup, &ops);
    }

    #[test]
    fn free_blocks_of_many_words_come_and_go(
        setup in elastic(60..300), ops in vec(elastic_op(70), 1..80),
    ) {
        run(&setup, &ops);
    }

    #[test]
    fn free_blocks_of_many_words_are_taken_in_the_models_order(
        setup in setup(60..300, &[Keys::Hashed], &[0]), ops in vec(op(70), 1..80),
    ) {
        run(&setup, &ops);
    }
}

proptest! {
    #![proptest_config(config(16))]

    #[test]
    fn a_worker_without_allowance_reclaims_what_the_model_reclaims(
        setup in setup(700..701, &[Keys::Hashed], &[0, ALL_EVENTS]), ops in wearing_ops(700),
    ) {
        run(&setup, &ops);
    }
}

// ---- what the properties found, each by itself

fn pool_of(blocks: usize) -> Setup {
    Setup {
        spare: 0,
        blocks,
        block_size: 1,
        keys: Keys::Hashed,
        proof: Proof::Tokens,
        events: ALL_EVENTS,
    }
}

fn symbols(tokens: &[u32]) -> Vec<Symbol> {
    tokens
        .iter()
        .map(|&tokens| Symbol { tokens, extra: 0 })
        .collect()
}

/// A chain of published blocks.
fn admit(tokens: &[u32]) -> Op {
    let asked = Asked {
        name: 0,
        symbols: symbols(tokens),
        rest: 0,
        full_hit: true,
        wrong: None,
    };
    Op::Admit {
        asked,
        publish: true,
        worker: 0,
    }
}

/// A new chain of private blocks.
fn private(n: usize, chain: u8) -> Vec<Op> {
    vec![
        Op::Reserve(n),
        Op::Take {
            from: 0,
            n,
            worker: 0,
        },
        Op::DropReservation { which: 0 },
        Op::Start { name: 0 },
        Op::Push { chain, blocks: 0 },
    ]
}

fn publish(chain: u8, tokens: &[u32]) -> Op {
    Op::Publish {
        chain,
        symbols: symbols(tokens),
        wrong: None,
        pay: None,
        worker: 0,
    }
}

fn release(chain: u8) -> Op {
    Op::ReleaseChain {
        chain,
        by: By::Worker(0),
    }
}

/// All that is available is promised and taken.
fn take_all(n: usize) -> Vec<Op> {
    vec![
        Op::Reserve(n),
        Op::Take {
            from: 0,
            n,
            worker: 0,
        },
    ]
}

fn clear() -> Op {
    Op::Clear {
        name: None,
        worker: 0,
    }
}

#[test]
fn evicting_looks_at_nothing_when_nothing_is_idle() {
    let evict = Op::Evict { n: 1, worker: 0 };
    run(&pool_of(3), core::slice::from_ref(&evict));
    // Tokens of blocks that are free again stay in the queue.
    run(&pool_of(3), &[admit(&[0, 1]), release(0), clear(), evict]);
}

#[test]
fn however_many_are_evicted_they_are_no_more_than_are_available() {
    let flood = Op::Flood {
        first: 0,
        chains: 1,
        length: 100,
        fan: 1,
        worker: 0,
    };
    let evict = Op::Evict { n: 100, worker: 0 };
    run(&pool_of(200), &[flood, Op::Reserve(101), evict]);
}

#[test]
fn maintenance_ends_when_no_token_is_stale() {
    let all = Op::Maintain {
        steps: usize::MAX,
        worker: 0,
    };
    run(
        &pool_of(3),
        &[
            admit(&[0, 1]),
            release(0),
            all.clone(),
            admit(&[0, 1]),
            all.clone(),
        ],
    );
    run(&pool_of(3), &[admit(&[0, 1]), release(0), clear(), all]);
}

#[test]
fn a_promise_is_kept_after_a_forked_private_block_would_have_been_published_below_a_duplicate() {
    let mut ops = vec![admit(&[1])];
    ops.extend(private(2, 1));
    ops.push(Op::Fork {
        chain: 1,
        worker: 0,
    });
    ops.extend([publish(1, &[1, 2]), release(1), release(0)]);
    ops.extend(take_all(1));
    run(&pool_of(3), &ops);
}

#[test]
fn a_promise_is_kept_after_a_tail_outlived_the_head_that_another_owner_would_have_published() {
    let mut ops = private(2, 0);
    ops.extend([
        Op::Fork {
            chain: 0,
            worker: 0,
        },
        Op::SplitChain { chain: 1, at: 1 },
    ]);
    ops.extend([publish(0, &[1, 2]), release(0), release(0)]);
    ops.extend(take_all(1));
    run(&pool_of(2), &ops);
}

#[test]
fn an_idle_block_above_the_limit_is_collected_when_its_child_can_go() {
    let private_two = [
        Op::Reserve(2),
        Op::Take {
            from: 0,
            n: 2,
            worker: 0,
        },
    ];
    let mut ops = private_two.to_vec();
    // The first block of the chain is 2, its child 0.
    ops.extend([
        admit(&[0]),
        Op::ReleaseBlocks {
            which: 0,
            by: By::Drop,
        },
        release(0),
        admit(&[0, 1]),
        release(0),
        admit(&[0]),
        // Nothing is available: the child can't be taken, so its parent goes nowhere.
        Op::Reserve(2),
        Op::Narrow { n: 1, worker: 0 },
        release(0),
        Op::Narrow { n: 0, worker: 0 },
        Op::DropReservation { which: 0 },
        Op::DropReservation { which: 0 },
        Op::Narrow { n: 0, worker: 0 },
    ]);
    assert!(run(&pool_of(3), &ops).contains_key("collected"));
}

#[test]
fn a_chain_that_gave_its_cut_blocks_away_can_publish_again() {
    let one_more = [
        Op::Take {
            from: 0,
            n: 1,
            worker: 0,
        },
        Op::Push {
            chain: 0,
            blocks: 0,
        },
    ];
    let mut ops = vec![
        admit(&[0, 1]),
        Op::Invalidate {
            block: 1,
            worker: 0,
        },
        Op::Reserve(2),
    ];
    ops.extend(one_more.clone());
    // The cut is noticed, then split off.
    ops.extend([publish(0, &[2]), Op::SplitChain { chain: 0, at: 1 }]);
    ops.extend(one_more);
    ops.push(publish(0, &[2]));
    run(&pool_of(8), &ops);
}

/// The properties above say little if their calls reach little.
#[test]
fn the_random_calls_reach_every_state_worth_reaching() {
    let mut runner =
        TestRunner::new_with_rng(config(0), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let mut all = Tally::new();
    let mut gather = |setup: Setup, ops: Vec<Op>| {
        for (what, times) in run(&setup, &ops) {
            *all.entry(what).or_default() += times;
        }
    };
    let keys = [Keys::Hashed, Keys::Constant, Keys::Engine];
    for round in 0..240 {
        let ops = vec(op(8), 100)
            .new_tree(&mut runner)
            .expect("a list")
            .current();
        let events = [4, ALL_EVENTS][round % 2];
        gather(
            Setup {
                spare: 0,
                blocks: 1 + round % 40,
                block_size: 2,
                keys: keys[round % 3],
                proof: Proof::Tokens,
                events,
            },
            ops,
        );
    }
    for round in 0..10 {
        let ops = vec(crowding_op(), 100)
            .new_tree(&mut runner)
            .expect("a list")
            .current();
        let keys = [Keys::Constant, Keys::EngineConstant][round % 2];
        gather(
            Setup {
                spare: 0,
                blocks: 60,
                block_size: 3,
                keys,
                proof: Proof::Digest,
                events: ALL_EVENTS,
            },
            ops,
        );
        for spare in [5, 30] {
            let ops = vec(elastic_op(8), 200)
                .new_tree(&mut runner)
                .expect("a list")
                .current();
            gather(
                Setup {
                    spare,
                    ..pool_of(20)
                },
                ops,
            );
        }
        let ops = wearing_ops(700)
            .new_tree(&mut runner)
            .expect("a list")
            .current();
        gather(
            Setup {
                spare: 0,
                blocks: 700,
                block_size: 1,
                keys: Keys::Hashed,
                proof: Proof::Tokens,
                events: 0,
            },
            ops,
        );
    }
    let worth = [
        "all free again after use",
        "came online",
        "duplicate",
        "duplicate adopted",
        "freed by clear",
        "freed by invalidate",
        "gap in the events",
        "grow refused",
        "hit",
        "leaf beneath",
        "left draining",
        "past the cap",
        "publish refused for a length",
        "reclaimed",
        "refused for ever",
        "refused for now",
        "second chance",
        "shrink refused",
        "stale token dropped by maintain",
        "stopped above the limit",
        "stopped by a cut",
        "stopped by a full index",
        "stopped by a gap",
        "stopped unpaid",
        "stored",
        "tail adrift",
        "taken back",
        "went offline",
    ];
    for what in worth {
        assert!(
            all.contains_key(what),
            "never reached: {what}; reached: {all:?}"
        );
    }
}
