//! Stream capture and graphs of the stand-in driver.

mod support;

use support::driver::Driver;

const SEEDS: u64 = 200;

const UNSUPPORTED: i32 = 900;
const INVALIDATED: i32 = 901;
const UNMATCHED: i32 = 903;
const UNJOINED: i32 = 904;
const ISOLATION: i32 = 905;
const IMPLICIT: i32 = 906;
const CAPTURED_EVENT: i32 = 907;
const WRONG_THREAD: i32 = 908;
const ILLEGAL_STATE: i32 = 401;

const GLOBAL: u32 = 0;
const THREAD_LOCAL: u32 = 1;
const RELAXED: u32 = 2;

#[test]
fn a_graph_reads_its_pinned_sources_at_each_launch() {
    let driver = Driver::new(0);
    for seed in 0..SEEDS {
        driver.again(seed);
        let (stream, memory, end, pinned) = (
            driver.stream(),
            driver.allocate(4).unwrap(),
            driver.allocate(4).unwrap(),
            driver.pinned(4),
        );
        driver.begin_capture(stream, GLOBAL).unwrap();
        assert_eq!(driver.capture_status(stream), 1);
        driver.copy_in(memory, pinned, 4, stream).unwrap();
        driver.copy(end, memory, 4, stream).unwrap();
        let graph = driver.end_capture(stream).unwrap();
        assert_eq!(
            (driver.capture_status(stream), driver.stand_in.queued()),
            (0, 0),
            "nothing runs in a capture"
        );
        let executable = driver.instantiate(graph).unwrap();
        driver.destroy_graph(graph).unwrap();
        for value in 0..4u32 {
            // SAFETY: the launch before has been waited for.
            unsafe { pinned.cast::<u32>().write(value) };
            driver.stand_in.host_access(pinned, 4, true);
            driver.launch_graph(executable, stream).unwrap();
            driver.synchronize(stream).unwrap();
            assert_eq!(driver.stand_in.peek(end, 4), value.to_le_bytes());
        }
        // Changed while a launch may read it.
        driver.launch_graph(executable, stream).unwrap();
        driver.stand_in.assert_clean();
        driver.stand_in.host_access(pinned, 4, true);
        driver.synchronize(stream).unwrap();
        assert_eq!(driver.stand_in.races(), 1);
        driver.destroy_executable(executable).unwrap();
    }
}

/// Two streams in one capture: one reads what the other writes, with or without an event between them.
fn forked(wait_back: bool, seed: u64, driver: &Driver) -> (Vec<u8>, u64) {
    driver.again(seed);
    let (origin, other, fork, join) = (
        driver.stream(),
        driver.stream(),
        driver.event(),
        driver.event(),
    );
    let (one, two, three) = (
        driver.allocate(64).unwrap(),
        driver.allocate(64).unwrap(),
        driver.allocate(64).unwrap(),
    );
    driver.begin_capture(origin, GLOBAL).unwrap();
    driver.fill(one, 1, 64, origin).unwrap();
    driver.record(fork, origin).unwrap();
    driver.wait(other, fork).unwrap();
    assert_eq!(driver.capture_status(other), 1, "it joined");
    driver.copy(two, one, 64, other).unwrap();
    driver.record(join, other).unwrap();
    if wait_back {
        driver.wait(origin, join).unwrap();
    }
    driver.copy(three, two, 64, origin).unwrap();
    driver.wait(origin, join).unwrap();
    let graph = driver.end_capture(origin).unwrap();
    assert_eq!(driver.capture_status(other), 0);
    let executable = driver.instantiate(graph).unwrap();
    driver.launch_graph(executable, origin).unwrap();
    driver.launch_graph(executable, other).unwrap();
    driver.synchronize_all().unwrap();
    (driver.stand_in.peek(three, 64), driver.stand_in.races())
}

#[test]
fn nodes_of_a_graph_wait_for_each_other_only_as_captured() {
    let driver = Driver::new(0);
    let mut wrong = 0;
    for seed in 0..SEEDS {
        assert_eq!(forked(true, seed, &driver), (vec![1; 64], 0), "seed {seed}");
        let (_, races) = forked(false, seed, &driver);
        assert!(races > 0, "seed {seed}");
        wrong += races;
    }
    assert!(wrong > 0);
}

#[test]
fn launches_of_one_graph_do_not_overlap() {
    let driver = Driver::new(0);
    for seed in 0..SEEDS {
        driver.again(seed);
        let (origin, other, fork, join) = (
            driver.stream(),
            driver.stream(),
            driver.event(),
            driver.event(),
        );
        let (one, two) = (driver.allocate(64).unwrap(), driver.allocate(64).unwrap());
        driver.begin_capture(origin, GLOBAL).unwrap();
        driver.fill(one, 1, 64, origin).unwrap();
        driver.record(fork, origin).unwrap();
        driver.wait(other, fork).unwrap();
        driver.copy(two, one, 64, other).unwrap();
        driver.record(join, other).unwrap();
        driver.wait(origin, join).unwrap();
        let graph = driver.end_capture(origin).unwrap();
        let executable = driver.instantiate(graph).unwrap();
        // On streams that know nothing of each other.
        driver.launch_graph(executable, origin).unwrap();
        driver.launch_graph(executable, other).unwrap();
        driver.synchronize_all().unwrap();
        driver.stand_in.assert_clean();
    }
}

#[test]
fn what_a_capture_does_not_allow_ends_it() {
    let driver = Driver::new(1);
    let pinned = driver.pinned(4);
    let memory = driver.allocate(4).unwrap();
    let outside = driver.event();
    let apart = driver.stream();
    driver.record(outside, apart).unwrap();
    struct On<'a> {
        driver: &'a Driver,
        stream: usize,
        memory: u64,
        pinned: *mut u8,
        outside: usize,
    }
    type Call = fn(On<'_>) -> Result<(), i32>;
    let calls: [(&str, i32, Call); 11] = [
        ("synchronize", UNSUPPORTED, |on| {
            on.driver.synchronize(on.stream)
        }),
        ("query", UNSUPPORTED, |on| on.driver.query(on.stream)),
        ("context", UNSUPPORTED, |on| on.driver.synchronize_all()),
        ("allocate", UNSUPPORTED, |on| {
            on.driver.allocate(4).map(drop)
        }),
        ("free", UNSUPPORTED, |on| on.driver.free(on.memory)),
        ("free pinned", UNSUPPORTED, |on| {
            on.driver.free_pinned(on.pinned)
        }),
        ("query of an event", UNSUPPORTED, |on| {
            on.driver.query_event(on.outside)
        }),
        ("synchronous copy", UNSUPPORTED, |on| {
            on.driver.put(on.memory, &[1])
        }),
        ("destroy", UNSUPPORTED, |on| {
            on.driver.destroy_stream(on.stream)
        }),
        ("wait for an event of before", ISOLATION, |on| {
            on.driver.wait(on.stream, on.outside)
        }),
        ("query of a captured event", CAPTURED_EVENT, |on| {
            let event = on.driver.event();
            on.driver.record(event, on.stream)?;
            on.driver.query_event(event)
        }),
    ];
    for (name, code, call) in calls {
        let stream = driver.stream();
        driver.begin_capture(stream, GLOBAL).unwrap();
        driver.fill(memory, 1, 4, stream).unwrap();
        assert_eq!(
            call(On {
                driver: &driver,
                stream,
                memory,
                pinned,
                outside
            }),
            Err(code),
            "{name}"
        );
        assert_eq!(driver.capture_status(stream), 2, "{name}");
        assert_eq!(
            driver.fill(memory, 1, 4, stream),
            Err(INVALIDATED),
            "{name}"
        );
        assert_eq!(driver.end_capture(stream), Err(INVALIDATED), "{name}");
        assert_eq!(driver.capture_status(stream), 0, "{name}");
        driver.fill(memory, 1, 4, stream).unwrap();
        driver.synchronize(stream).unwrap();
    }
    assert_eq!(
        driver.stand_in.live().allocations,
        1,
        "refused calls do nothing"
    );
}

#[test]
fn the_threads_modes_say_what_they_may_call_beside_a_capture() {
    // The capture's mode, the caller's mode, whether it is the capturing thread: whether it may allocate.
    let cases = [
        (GLOBAL, GLOBAL, true, false),
        (GLOBAL, GLOBAL, false, false),
        (GLOBAL, THREAD_LOCAL, false, true),
        (GLOBAL, RELAXED, true, true),
        (GLOBAL, RELAXED, false, true),
        (THREAD_LOCAL, GLOBAL, true, false),
        (THREAD_LOCAL, GLOBAL, false, true),
        (RELAXED, GLOBAL, true, true),
        (RELAXED, GLOBAL, false, true),
    ];
    let driver = Driver::new(1);
    for (capture, mode, same, allowed) in cases {
        driver.again(1);
        let stream = driver.stream();
        driver.begin_capture(stream, capture).unwrap();
        let call = || {
            driver.make_current();
            let before = driver.exchange_mode(mode);
            assert_eq!(before, GLOBAL);
            let made = driver.allocate(4);
            assert_eq!(driver.exchange_mode(before), mode);
            made.is_ok()
        };
        let may = if same {
            call()
        } else {
            std::thread::scope(|scope| scope.spawn(call).join().unwrap())
        };
        assert_eq!(may, allowed, "{capture} {mode} {same}");
        assert_eq!(driver.end_capture(stream).is_ok(), allowed);
    }
}

#[test]
fn captures_end_where_they_began_with_every_stream_joined() {
    let driver = Driver::new(1);
    let (origin, other, event, memory) = (
        driver.stream(),
        driver.stream(),
        driver.event(),
        driver.allocate(4).unwrap(),
    );
    assert_eq!(driver.end_capture(origin), Err(ILLEGAL_STATE));
    assert_eq!(
        driver.begin_capture(0, GLOBAL),
        Err(UNSUPPORTED),
        "the legacy default stream"
    );

    driver.begin_capture(origin, GLOBAL).unwrap();
    assert_eq!(driver.begin_capture(origin, GLOBAL), Err(ILLEGAL_STATE));
    driver.record(event, origin).unwrap();
    driver.wait(other, event).unwrap();
    driver.fill(memory, 1, 4, other).unwrap();
    assert_eq!(driver.end_capture(origin), Err(UNJOINED));

    driver.begin_capture(origin, GLOBAL).unwrap();
    driver.record(event, origin).unwrap();
    driver.wait(other, event).unwrap();
    assert_eq!(driver.end_capture(other), Err(UNMATCHED));
    assert_eq!(driver.end_capture(origin), Err(INVALIDATED));

    driver.begin_capture(origin, GLOBAL).unwrap();
    let elsewhere = std::thread::scope(|scope| {
        scope
            .spawn(|| {
                driver.make_current();
                driver.end_capture(origin)
            })
            .join()
            .unwrap()
    });
    assert_eq!(elsewhere, Err(WRONG_THREAD));
    driver.end_capture(origin).unwrap();
}

#[test]
fn the_legacy_default_stream_is_not_used_while_a_blocking_stream_is_captured() {
    let driver = Driver::new(1);
    let (blocking, apart, memory) = (
        driver.blocking_stream(),
        driver.stream(),
        driver.allocate(4).unwrap(),
    );
    driver.begin_capture(apart, GLOBAL).unwrap();
    driver.fill(memory, 1, 4, 0).unwrap();
    driver.end_capture(apart).unwrap();
    driver.begin_capture(blocking, GLOBAL).unwrap();
    assert_eq!(driver.fill(memory, 1, 4, 0), Err(IMPLICIT));
    assert_eq!(driver.end_capture(blocking), Err(INVALIDATED));
    for touch in [Driver::synchronize, Driver::query] {
        driver.begin_capture(blocking, RELAXED).unwrap();
        assert_eq!(touch(&driver, 0), Err(IMPLICIT));
        assert_eq!(driver.end_capture(blocking), Err(INVALIDATED));
    }
}
