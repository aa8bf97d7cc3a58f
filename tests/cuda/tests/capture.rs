//! Copies in captured graphs: replayed with other pairs, with lists that a device made, and beside what may not be
//! captured. `KVB_SEED=n` runs one seed.

mod support;

use kvblock::cuda::{CudaError, CudaStream, DevicePool, HostPool, PairList};
use kvblock::{MemoryId, Mover};
use support::driver::Driver;
use support::rig::{BLOCKS, HOST, NEAR, Rig, config, offsets, tag};
use support::seeds::{Named, seeds};

const SEEDS: u64 = 50;
/// Pairs of a list.
const CAPACITY: u32 = 6;

fn with_rigs(body: impl Fn(&mut Rig<'_>)) {
    let driver = Driver::new(0);
    for seed in seeds(SEEDS) {
        let _named = Named(seed);
        driver.again(seed);
        let mut rig = Rig::new(&driver, &config());
        body(&mut rig);
        drop(rig);
        driver.stand_in.assert_clean();
        let live = driver.stand_in.live();
        assert_eq!(
            (
                live.allocations,
                live.host_allocations,
                live.streams,
                live.events
            ),
            (0, 0, 0, 0)
        );
    }
}

fn raw(rig: &Rig<'_>) -> usize {
    rig.mover.own_timeline().stream().raw() as usize
}

/// A list and its graph, captured in a mode.
fn captured(rig: &mut Rig<'_>, mode: u32) -> (PairList, usize) {
    let route = rig.route(NEAR, NEAR);
    let mut list = PairList::new(&mut rig.mover, &route, CAPACITY as usize).expect("a list");
    let stream = raw(rig);
    rig.driver
        .begin_capture(stream, mode)
        .expect("not capturing");
    list.enqueue(&rig.mover).expect("two nodes");
    let graph = rig.driver.end_capture(stream).expect("whole");
    let executable = rig.driver.instantiate(graph).expect("a graph");
    rig.driver.destroy_graph(graph).expect("a graph");
    (list, executable)
}

/// Sets a list as soon as that is allowed.
fn set(rig: &Rig<'_>, list: &mut PairList, pairs: &[(u32, u32)]) {
    let plan = rig.plan(NEAR, NEAR, pairs);
    loop {
        match list.set(&plan, &rig.mover) {
            Ok(()) => return,
            Err(CudaError::ListInUse { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn replay(rig: &Rig<'_>, list: &mut PairList, executable: usize) {
    rig.driver
        .launch_graph(executable, raw(rig))
        .expect("a launch");
    list.mark(&rig.mover).expect("a fence");
}

#[test]
fn each_replay_copies_what_was_set_before_it() {
    with_rigs(|rig| {
        let (mut list, executable) = captured(rig, 0);
        let half = BLOCKS / 2;
        let lists: [&[(u32, u32)]; 5] = [
            &[(0, half)],
            &[],
            &[
                (1, half + 1),
                (2, half + 2),
                (3, half + 3),
                (4, half + 4),
                (5, half + 5),
                (6, half + 6),
            ],
            &[(7, half + 7), (8, half)],
            &[],
        ];
        for pairs in lists {
            set(rig, &mut list, pairs);
            replay(rig, &mut list, executable);
        }
        rig.finish();
        assert_eq!(list.check(&rig.mover), Ok(()));
        let source = |to: u32| if to == half { 8 } else { to - half };
        assert!(
            (0..half).all(|from| rig.near_is(from, tag(from))),
            "sources"
        );
        assert!((half..half + 8).all(|to| rig.near_is(to, tag(source(to)))));
        assert!(
            (half + 8..BLOCKS).all(|to| rig.near_is(to, tag(to))),
            "blocks that no list named"
        );
        // Launched twice with one list, and between other copies.
        set(rig, &mut list, &[(0, half)]);
        replay(rig, &mut list, executable);
        rig.copy(NEAR, NEAR, &[(half, 1)]);
        replay(rig, &mut list, executable);
        rig.finish();
        assert!(rig.near_is(1, tag(0)));
        rig.driver.destroy_executable(executable).expect("a graph");
    });
}

#[test]
fn a_graph_goes_into_any_stream_as_soon_as_it_is_captured() {
    with_rigs(|rig| {
        let (mut list, executable) = captured(rig, 0);
        set(rig, &mut list, &[(1, 9), (2, 10)]);
        let other = rig.driver.stream();
        rig.driver
            .launch_graph(executable, other)
            .expect("a launch");
        rig.driver.synchronize(other).expect("alive");
        assert!(rig.near_is(9, tag(1)) && rig.near_is(10, tag(2)));
        rig.driver.destroy_executable(executable).expect("a graph");
        rig.driver.destroy_stream(other).expect("a stream");
    });
}

#[test]
fn what_does_not_belong_into_a_graph_is_refused_and_the_capture_goes_on() {
    with_rigs(|rig| {
        let (route, out) = (rig.route(NEAR, NEAR), rig.route(NEAR, HOST));
        let plan = rig.plan(NEAR, NEAR, &[(0, 9)]);
        let mut list = PairList::new(&mut rig.mover, &route, CAPACITY as usize).expect("a list");
        list.set(&rig.plan(NEAR, NEAR, &[(1, 8)]), &rig.mover)
            .expect("not in use");
        rig.copy(NEAR, NEAR, &[(2, 10)]);
        let stream = raw(rig);
        for mode in 0..3 {
            rig.driver
                .begin_capture(stream, mode)
                .expect("not capturing");
            list.enqueue(&rig.mover).expect("two nodes");
            let capturing = Err(CudaError::Capturing);
            assert_eq!(rig.mover.copy(&plan, &mut rig.fences).map(drop), capturing);
            assert_eq!(rig.mover.prepare(&out), capturing);
            assert_eq!(rig.mover.own_timeline().mark().map(drop), capturing);
            assert_eq!(list.mark(&rig.mover).map(drop), capturing);
            // Known before: nothing is put into the stream.
            assert_eq!(rig.mover.prepare(&route), Ok(()));
            rig.mover.completed().expect("alive");
            assert_eq!(rig.driver.capture_status(stream), 1, "mode {mode}");
            let graph = rig.driver.end_capture(stream).expect("whole");
            let executable = rig.driver.instantiate(graph).expect("a graph");
            rig.driver.destroy_graph(graph).expect("a graph");
            replay(rig, &mut list, executable);
            rig.driver.destroy_executable(executable).expect("a graph");
        }
        rig.finish();
        assert!(rig.near_is(8, tag(1)) && rig.near_is(9, tag(9)) && rig.near_is(10, tag(2)));
        assert_eq!(rig.mover.copy(&plan, &mut rig.fences).map(drop), Ok(()));
        rig.finish();
        assert!(rig.near_is(9, tag(0)));
    });
}

/// Waits for fences, memory that comes and goes, further streams and movers: all while another thread's capture is on.
fn beside_a_capture(rig: &mut Rig<'_>) {
    let fence = rig.copy(NEAR, NEAR, &[(0, 12)]);
    rig.mover.completed().expect("alive");
    rig.copy(NEAR, HOST, &[(1, 3), (2, 4), (5, 6)]);
    rig.mover.wait(fence).expect("it passes");
    let other =
        DevicePool::allocate(&rig.device, &offsets().in_memory(MemoryId::new(7))).expect("memory");
    rig.mover.add_device(&other).expect("a new memory");
    let pieces =
        HostPool::allocate_in_pieces(&rig.device, MemoryId::new(8), rig.near.layout(), 4, 4096);
    drop(pieces.expect("memory"));
    drop(HostPool::allocate(&rig.device, MemoryId::new(9), rig.near.layout(), 4).expect("memory"));
    drop(CudaStream::new(&rig.device).expect("a stream"));
    let route = rig.route(NEAR, NEAR);
    let mut list = PairList::new(&mut rig.mover, &route, 2).expect("a list");
    set(rig, &mut list, &[(3, 13)]);
    list.enqueue(&rig.mover).expect("two nodes");
    list.mark(&rig.mover).expect("a fence");
    assert_eq!(list.check(&rig.mover), Ok(()));
    drop(list);
    drop(rig.second_mover());
    let again = kvblock::cuda::CudaDevice::open(0).expect("the same device");
    drop(again);
}

#[test]
fn nothing_breaks_off_another_threads_capture() {
    let driver = Driver::new(0);
    for seed in 0..SEEDS {
        let _named = Named(seed);
        driver.again(seed);
        let rig = Rig::new(&driver, &config());
        // Somebody else's stream and memory.
        let (stream, memory) = (driver.stream(), driver.allocate(64).expect("memory"));
        driver.begin_capture(stream, 0).expect("not capturing");
        driver.fill(memory, 1, 64, stream).expect("a node");
        std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    let mut rig = rig;
                    beside_a_capture(&mut rig);
                    drop(rig);
                })
                .join()
                .expect("no failure");
        });
        assert_eq!(driver.capture_status(stream), 1);
        let graph = driver.end_capture(stream).expect("whole");
        driver.destroy_graph(graph).expect("a graph");
        driver.stand_in.assert_clean();
    }
}

/// A list that a device writes between the two nodes of a graph: here a copy from pinned memory stands for a kernel.
fn made_by_the_device(
    rig: &mut Rig<'_>,
    count: u32,
    pairs: &[(u32, u32)],
) -> Result<(), CudaError> {
    let route = rig.route(NEAR, NEAR);
    let list = PairList::new(&mut rig.mover, &route, CAPACITY as usize).expect("a list");
    let mut words = vec![count, 0];
    words.extend(pairs.iter().flat_map(|pair| [pair.0, pair.1]));
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert!(bytes.len() <= 8 + 8 * CAPACITY as usize);
    let stream = raw(rig);
    let mut list = list;
    // The node that brings the host's list is left out, so that this one is what the kernel finds.
    rig.driver.stand_in.fail("cuMemcpyHtoDAsync", 2, 0);
    rig.driver
        .copy_in(list.device_address(), bytes.as_ptr(), bytes.len(), stream)
        .expect("a copy");
    list.enqueue(&rig.mover).expect("two nodes");
    assert_eq!(rig.driver.stand_in.failed(), 1);
    let found = list.check(&rig.mover);
    assert_eq!(list.check(&rig.mover), Ok(()), "told once");
    found
}

#[test]
fn bad_lists_of_a_device_are_told_and_good_pairs_of_them_copied() {
    with_rigs(|rig| {
        let bad = [(0, 12), (BLOCKS, 13), (1, 14), (2, u32::MAX), (3, 15)];
        let found = made_by_the_device(rig, 5, &bad);
        assert_eq!(found, Err(CudaError::BadPair { pair: 1 }));
        rig.finish();
        assert!(rig.near_is(12, tag(0)) && rig.near_is(14, tag(1)) && rig.near_is(15, tag(3)));
        assert!(rig.near_is(13, tag(13)), "of a source that is none");
    });
    with_rigs(|rig| {
        let pairs: Vec<_> = (0..CAPACITY).map(|from| (from, from + 12)).collect();
        let found = made_by_the_device(rig, CAPACITY + 1, &pairs);
        assert_eq!(
            found,
            Err(CudaError::BadCount {
                count: CAPACITY + 1,
                capacity: CAPACITY
            })
        );
        rig.finish();
        assert!(
            (12..12 + CAPACITY).all(|to| rig.near_is(to, tag(to))),
            "nothing is copied"
        );
    });
    with_rigs(|rig| {
        let pairs: Vec<_> = (0..CAPACITY).map(|from| (from, from + 12)).collect();
        assert_eq!(made_by_the_device(rig, CAPACITY, &pairs), Ok(()));
        rig.finish();
        assert!((12..12 + CAPACITY).all(|to| rig.near_is(to, tag(to - 12))));
    });
}

#[test]
fn a_list_is_refused_where_it_does_not_fit() {
    with_rigs(|rig| {
        let (route, out) = (rig.route(NEAR, NEAR), rig.route(NEAR, HOST));
        let no_route = Err(CudaError::NoSuchRoute {
            source: NEAR,
            destination: HOST,
        });
        assert_eq!(PairList::new(&mut rig.mover, &out, 4).map(drop), no_route);
        let config = Err(CudaError::Config {
            field: "capacity",
            value: 0,
        });
        assert_eq!(PairList::new(&mut rig.mover, &route, 0).map(drop), config);
        let mut list = PairList::new(&mut rig.mover, &route, 2).expect("a list");
        let waves = rig.plan(NEAR, NEAR, &[(0, 1), (1, 2)]);
        assert_eq!(
            list.set(&waves, &rig.mover),
            Err(CudaError::Waves { waves: 2 })
        );
        let many = rig.plan(NEAR, NEAR, &[(0, 12), (1, 13), (2, 14)]);
        assert_eq!(
            list.set(&many, &rig.mover),
            Err(CudaError::TooManyPairs {
                pairs: 3,
                capacity: 2
            })
        );
        let other = rig.plan(NEAR, HOST, &[(0, 1)]);
        assert_eq!(list.set(&other, &rig.mover), Err(CudaError::OtherRoute));
        let second = rig.second_mover();
        assert_eq!(list.enqueue(&second), Err(CudaError::OtherMover));
    });
}
