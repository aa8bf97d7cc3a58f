//! Nothing is read before it is written, nor written while it is read: copies wait for engines, engines for copies,
//! transfers for kernels, and lists for the copies that read them.
//!
//! Each property is looked at under many seeds, and then once more with its wait left out, or its query answering too
//! early, by the driver: then bytes are wrong or a race is found, or the property would show nothing. `KVB_SEED=n` runs
//! one seed. Shares are printed with `--nocapture`.

mod support;

use kvblock::cuda::{CudaError, PairList};
use kvblock::{Access, BlockPool, CopyQueue, Fence, Mover, PoolConfig};
use support::driver::Driver;
use support::rig::{BLOCKS, HOST, NEAR, Rig, config, tag};
use support::seeds::seeds;
use support::stand_in::StandIn;

const SEEDS: u64 = 200;

/// What a scenario calls before the calls that matter.
type Spoil<'a> = &'a dyn Fn(&StandIn);

/// Runs a scenario, which answers whether the bytes are right. Under every seed they are, with no race; with the wait left
/// out the bytes are wrong or a race is found in at least `least` percent of them.
fn property(
    name: &str,
    least: u64,
    scenario: impl Fn(&mut Rig<'_>, Spoil<'_>) -> bool,
    spoil: impl Fn(&StandIn),
) {
    let driver = Driver::new(0);
    let seeds = seeds(SEEDS);
    let run = |seed, spoil: Spoil<'_>| {
        driver.again(seed);
        let mut rig = Rig::new(&driver, &config());
        let right = scenario(&mut rig, spoil);
        drop(rig);
        let live = driver.stand_in.live();
        assert_eq!(
            (
                live.allocations,
                live.host_allocations,
                live.streams,
                live.events
            ),
            (0, 0, 0, 0),
            "{name}, KVB_SEED={seed}"
        );
        right
    };
    for seed in seeds.clone() {
        let right = run(seed, &|_| {});
        let (races, faults) = (driver.stand_in.first_race(), driver.stand_in.first_fault());
        assert!(
            right && races.is_empty() && faults.is_empty(),
            "{name}, KVB_SEED={seed}: {right} {races} {faults}"
        );
    }
    let (mut wrong, mut found) = (0, 0);
    for seed in seeds.clone() {
        let right = run(seed, &spoil);
        assert!(
            driver.stand_in.failed() > 0,
            "{name}, KVB_SEED={seed}: nothing was left out"
        );
        let raced = driver.stand_in.races() > 0;
        wrong += u64::from(!right);
        found += u64::from(!right || raced);
    }
    let count = seeds.end - seeds.start;
    println!(
        "{name}: left out, bytes are wrong under {wrong} of {count} seeds, and {found} show it"
    );
    if count == SEEDS {
        assert!(
            wrong * 10 >= count,
            "{name}: only {wrong} of {count} gave wrong bytes"
        );
        assert!(
            found * 100 >= least * count,
            "{name}: only {found} of {count} show it"
        );
    }
}

/// The `nth` wait from here on is left out.
fn without_wait(nth: u64) -> impl Fn(&StandIn) {
    move |stand_in| stand_in.fail("cuStreamWaitEvent", nth, 0)
}

/// The next queries of events say that they have passed.
fn lying(queries: u64) -> impl Fn(&StandIn) {
    move |stand_in| (1..=queries).for_each(|nth| stand_in.fail("cuEventQuery", nth, 0))
}

#[test]
fn a_copy_waits_for_what_an_engine_wrote() {
    let scenario = |rig: &mut Rig<'_>, spoil: Spoil<'_>| {
        let engine = rig.engine();
        rig.engine_writes(&engine, &[1, 2], 7);
        spoil(&rig.driver.stand_in);
        rig.copy(NEAR, NEAR, &[(1, 5), (2, 6)]);
        rig.finish();
        rig.near_is(5, 7) && rig.near_is(6, 7)
    };
    property(
        "copy after an engine's write",
        90,
        scenario,
        without_wait(1),
    );
}

#[test]
fn a_copy_to_the_host_waits_for_what_an_engine_wrote() {
    let scenario = |rig: &mut Rig<'_>, spoil: Spoil<'_>| {
        let engine = rig.engine();
        rig.engine_writes(&engine, &[1], 7);
        spoil(&rig.driver.stand_in);
        rig.copy(NEAR, HOST, &[(1, 5)]);
        rig.finish();
        rig.host_is(5, 7)
    };
    property(
        "swap out after an engine's write",
        90,
        scenario,
        without_wait(1),
    );
}

#[test]
fn an_engine_waits_for_a_copy_before_it_reads_or_writes() {
    let reads = |rig: &mut Rig<'_>, spoil: Spoil<'_>| {
        let engine = rig.engine();
        rig.copy(NEAR, NEAR, &[(1, 5)]);
        spoil(&rig.driver.stand_in);
        rig.engine_waits(&engine, 5, Access::Read);
        rig.engine_reads(&engine, 5, 8);
        rig.finish();
        rig.near_is(8, tag(1))
    };
    property("an engine's read after a copy", 90, reads, without_wait(1));
    let writes = |rig: &mut Rig<'_>, spoil: Spoil<'_>| {
        let engine = rig.engine();
        rig.copy(NEAR, NEAR, &[(1, 5)]);
        spoil(&rig.driver.stand_in);
        rig.engine_waits(&engine, 1, Access::Write);
        rig.engine_writes(&engine, &[1], 7);
        rig.finish();
        rig.near_is(5, tag(1)) && rig.near_is(1, 7)
    };
    property(
        "an engine's write over a copy's source",
        90,
        writes,
        without_wait(1),
    );
}

/// Two engines read the block that the copy overwrites, and a third has written its source.
fn readers(rig: &mut Rig<'_>, spoil: Spoil<'_>) -> bool {
    let (one, two, writer) = (rig.engine(), rig.engine(), rig.engine());
    rig.engine_reads(&one, 5, 8);
    rig.engine_reads(&two, 5, 9);
    rig.engine_writes(&writer, &[1], 7);
    spoil(&rig.driver.stand_in);
    rig.copy(NEAR, NEAR, &[(1, 5)]);
    rig.finish();
    rig.near_is(8, tag(5)) && rig.near_is(9, tag(5)) && rig.near_is(5, 7)
}

#[test]
fn a_copy_waits_for_every_reader_of_what_it_overwrites_and_for_the_writer_of_what_it_reads() {
    for nth in 1..=3 {
        property(
            &format!("copy after two readers and a writer, wait {nth}"),
            90,
            readers,
            without_wait(nth),
        );
    }
}

/// Five blocks are three batches of a ring of two slots.
const FIVE: [(u32, u32); 5] = [(0, 7), (1, 8), (2, 9), (3, 10), (4, 11)];

fn swap_out(rig: &mut Rig<'_>, spoil: Spoil<'_>) -> bool {
    rig.mover.prepare(&rig.route(NEAR, HOST)).expect("a route");
    rig.finish();
    spoil(&rig.driver.stand_in);
    let fence = rig.copy(NEAR, HOST, &FIVE);
    rig.mover.wait(fence).expect("it passes");
    let right = FIVE.iter().all(|(from, to)| rig.host_is(*to, tag(*from)));
    for (_, to) in FIVE {
        // The host may use them now.
        rig.set_host(to, 0);
    }
    rig.finish();
    right && FIVE.iter().all(|(_, to)| rig.host_is(*to, 0))
}

fn swap_in(rig: &mut Rig<'_>, spoil: Spoil<'_>) -> bool {
    rig.mover.prepare(&rig.route(HOST, NEAR)).expect("a route");
    rig.finish();
    spoil(&rig.driver.stand_in);
    let fence = rig.copy(HOST, NEAR, &FIVE);
    rig.mover.wait(fence).expect("it passes");
    FIVE.iter()
        .all(|(from, to)| rig.near_is(*to, tag(*from) + 0x40))
}

#[test]
fn the_staging_ring_waits_on_the_way_out() {
    // A batch: its kernel waits for its slot's last transfer (1, 3, 5), its transfer for the kernel (2, 4, 6); the fence
    // for the last transfer (7).
    property("gather, then transfer", 90, swap_out, without_wait(2));
    property(
        "a second gather, then transfer",
        90,
        swap_out,
        without_wait(4),
    );
    property(
        "transfer, then the next gather into the slot",
        90,
        swap_out,
        without_wait(5),
    );
    property(
        "the fence after the last transfer",
        90,
        swap_out,
        without_wait(7),
    );
}

#[test]
fn the_staging_ring_waits_on_the_way_in() {
    // Transfers wait for the mover's stream (1). A batch: its transfer waits for its slot's last kernel (2, 4, 6), its
    // kernel for the transfer (3, 5, 7).
    property("transfer, then scatter", 90, swap_in, without_wait(3));
    property(
        "scatter, then the next transfer into the slot",
        90,
        swap_in,
        without_wait(6),
    );
    property(
        "the last transfer, then its scatter",
        90,
        swap_in,
        without_wait(7),
    );
}

/// Another mover has written the host's block.
fn from_another_mover(rig: &mut Rig<'_>, spoil: Spoil<'_>) -> bool {
    let mut other = rig.second_mover();
    rig.mover
        .follow(other.own_timeline())
        .expect("the same device");
    rig.mover.prepare(&rig.route(HOST, NEAR)).expect("a route");
    let plan = rig.plan(NEAR, HOST, &[(1, 5)]);
    other.copy(&plan, &mut rig.fences).expect("a copy");
    spoil(&rig.driver.stand_in);
    rig.copy(HOST, NEAR, &[(5, 6)]);
    rig.finish();
    rig.near_is(6, tag(1))
}

#[test]
fn transfers_to_the_device_wait_for_what_the_movers_stream_waits_for() {
    property(
        "swap in after another mover's swap out",
        90,
        from_another_mover,
        without_wait(1),
    );
    property(
        "transfers after the beginning of the copy",
        90,
        from_another_mover,
        without_wait(2),
    );
}

/// More small copies than there is room for lists: each waits until a place is free.
fn many_lists(rig: &mut Rig<'_>, spoil: Spoil<'_>) -> bool {
    rig.mover.prepare(&rig.route(NEAR, NEAR)).expect("a route");
    rig.finish();
    spoil(&rig.driver.stand_in);
    let half = BLOCKS / 2;
    for from in 0..half {
        let plan = rig.plan(NEAR, NEAR, &[(from, from + half)]);
        loop {
            match rig.mover.copy(&plan, &mut rig.fences) {
                Ok(_) => break,
                Err(CudaError::Busy { .. }) => drop(rig.mover.completed().expect("alive")),
                Err(error) => panic!("{error}"),
            }
        }
    }
    rig.finish();
    (0..half).all(|from| rig.near_is(from + half, tag(from)))
}

#[test]
fn a_list_keeps_its_place_until_its_fence_has_passed() {
    property("many lists", 50, many_lists, lying(60));
}

/// A replay reads the list that was set before it, and not the next one.
fn pair_list(rig: &mut Rig<'_>, spoil: Spoil<'_>) -> bool {
    let route = rig.route(NEAR, NEAR);
    let mut list = PairList::new(&mut rig.mover, &route, 4).expect("a list");
    rig.finish();
    spoil(&rig.driver.stand_in);
    for (from, to) in [(0, 6), (1, 7), (2, 8), (3, 9)] {
        let plan = rig.plan(NEAR, NEAR, &[(from, to)]);
        loop {
            match list.set(&plan, &rig.mover) {
                Ok(()) => break,
                Err(CudaError::ListInUse { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        list.enqueue(&rig.mover).expect("two nodes");
        list.mark(&rig.mover).expect("a fence");
    }
    rig.finish();
    list.check(&rig.mover).expect("good lists");
    (0..4).all(|from| rig.near_is(from + 6, tag(from)))
}

#[test]
fn a_pair_list_is_not_set_before_the_replay_has_read_it() {
    property("pair list", 50, pair_list, lying(20));
}

/// A block given back behind a copy that reads it is taken and overwritten as soon as the pool has it.
fn released_behind_a_copy(rig: &mut Rig<'_>, spoil: Spoil<'_>) -> bool {
    let engine = rig.engine();
    let pool = BlockPool::new(&PoolConfig::new(1, 16)).expect("a pool");
    let mut worker = pool.worker().expect("a worker");
    let mut lane = pool.lane();
    let held = pool
        .reserve(1)
        .expect("free")
        .take(&mut worker, 1)
        .expect("promised");
    let number = held.ids()[0].get();
    spoil(&rig.driver.stand_in);
    let fence = rig.copy(NEAR, NEAR, &[(number, 5)]);
    held.release_after(&mut worker, &mut lane, fence)
        .expect("the same pool");
    while pool.reserve(1).is_err() {
        lane.complete(rig.mover.completed().expect("alive"));
    }
    // Somebody else's block, who knows nothing of the copy.
    rig.engine_writes(&engine, &[number], 7);
    rig.finish();
    rig.near_is(5, tag(number)) && rig.near_is(number, 7)
}

#[test]
fn a_block_released_behind_a_copy_is_free_only_when_its_fence_has_passed() {
    property("block behind a copy", 90, released_behind_a_copy, lying(4));
}

/// A destination is used by an engine that does not ask the table, once its ticket is settled.
fn tickets(rig: &mut Rig<'_>, spoil: Spoil<'_>) -> bool {
    let engine = rig.engine();
    let mut queue = CopyQueue::new();
    spoil(&rig.driver.stand_in);
    for (from, to) in [(0, 6), (1, 7)] {
        let fence = rig.copy(NEAR, NEAR, &[(from, to)]);
        queue.push(fence, &[(from, to)]).expect("room");
    }
    let mut settled = Vec::new();
    while !queue.is_empty() {
        let passed: Fence = rig.mover.completed().expect("alive");
        queue.complete(passed, |ticket| settled.push(ticket));
        for (_, to) in settled.drain(..) {
            rig.engine_reads(&engine, to, to + 3);
        }
    }
    rig.finish();
    rig.near_is(9, tag(0)) && rig.near_is(10, tag(1))
}

#[test]
fn a_ticket_is_settled_only_when_its_fence_has_passed() {
    property("copy tickets", 90, tickets, lying(8));
}
