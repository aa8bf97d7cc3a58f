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
#[path = "instance_model/words.rs"]
mod words;

#[path = "support/properties.rs"]
mod properties;

use kvblock::Growth;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::Config;

use alike::{Call, Setup, Source};
use words::{Aim, Request, Who};

fn config(cases: u32) -> Config {
    properties::config(cases, "proptest-regressions/instance_model.txt", 100_000)
}

/// Mostly few; sometimes more than there can be.
fn amount(most: usize) -> impl Strategy<Value = usize> {
    prop_oneof![60 => 0..=most, 2 => Just(8 * most), 1 => Just(usize::MAX)]
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

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![
        25 => any::<u8>().prop_map(Who::Living),
        1 => any::<u8>().prop_map(Who::Any),
    ]
}

/// Mostly within, or a little beyond.
fn aim() -> impl Strategy<Value = Aim> {
    prop_oneof![
        12 => any::<u8>().prop_map(Aim::At),
        12 => Just(Aim::End),
        2 => (1_usize..4).prop_map(Aim::Over),
        1 => Just(Aim::Over(usize::MAX)),
    ]
}

fn ahead() -> impl Strategy<Value = Aim> {
    prop_oneof![
        8 => (0_usize..12).prop_map(Aim::Over),
        2 => any::<u8>().prop_map(Aim::At),
        1 => Just(Aim::Over(usize::MAX)),
    ]
}

fn positions() -> impl Strategy<Value = usize> {
    prop_oneof![8 => Just(1_usize), 6 => 0_usize..6, 1 => 6_usize..20, 1 => amount(20)]
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
        20 => request().prop_map(Call::Admit),
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

proptest! {
    #![proptest_config(config(120))]

    #[test]
    fn equal_shards_and_ranks_in_lockstep_give_what_one_pool_gives(setup in setup(), calls in calls()) {
        alike::run(&setup, &calls);
    }
}
