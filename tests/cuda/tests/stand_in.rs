//! The stand-in driver catches what it must: otherwise tests on it would show nothing.

mod support;

use core::ffi::CStr;

use support::driver::{
    Driver, ILLEGAL_ADDRESS, INVALID_VALUE, LAUNCH_TIMEOUT, MISALIGNED_ADDRESS, NOT_READY,
    OUT_OF_MEMORY,
};
use support::stand_in::Live;

/// Seeds of each property of order.
const SEEDS: u64 = 200;

/// `put(to, value)`: each thread writes the word at its place. `loop()` never ends.
const KERNELS: &CStr = c"
.version 7.8
.target sm_70
.address_size 64
.visible .entry put(.param .u64 to, .param .u32 value)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r1, [value];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
    ret;
}
.visible .entry loop()
{
$again:
    bra $again;
}
.visible .entry neighbour(.param .u64 to, .param .u32 apart)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r1, [apart];
    setp.eq.u32 %p1, %r1, 0;
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r2;
    @%p1 bra $over;
    bar.sync 0;
$over:
    xor.b32 %r3, %r2, 1;
    mul.wide.u32 %rd4, %r3, 4;
    add.s64 %rd5, %rd1, %rd4;
    ld.global.u32 %r4, [%rd5];
    st.global.u32 [%rd3+256], %r4;
}
";

#[test]
fn fresh_memory_is_noise_that_depends_on_the_seed_alone() {
    let driver = Driver::new(1);
    let first = driver.allocate(4096).unwrap();
    let noise = driver.stand_in.peek(first, 4096);
    assert!(
        noise.iter().filter(|byte| **byte == 0).count() < 64,
        "not zeroed"
    );
    driver.again(1);
    let same = driver.allocate(4096).unwrap();
    assert_eq!(driver.stand_in.peek(same, 4096), noise);
    driver.again(2);
    let other = driver.allocate(4096).unwrap();
    assert_ne!(driver.stand_in.peek(other, 4096), noise);
}

#[test]
fn sparse_memory_is_zero_and_remembers_what_is_written() {
    const GIB: u64 = 1 << 30;
    let driver = Driver::new(1);
    driver.stand_in.set_total_memory(1 << 40);
    driver.stand_in.set_sparse_from(1 << 20);
    let (large, small) = (driver.allocate(64 << 30).unwrap(), driver.allocate(4096));
    let stream = driver.stream();
    let far = (large + 40 * GIB).next_multiple_of(4096);
    driver.stand_in.poke(far - 1, &[7, 8]);
    driver.fill(far + 8192, 9, 1, stream).unwrap();
    driver.copy(large, far - 1, 2, stream).unwrap();
    driver.synchronize(stream).unwrap();
    assert_eq!(driver.stand_in.peek(large, 4), [7, 8, 0, 0]);
    let page = large - large % 4096;
    let written = driver.stand_in.written(large..large + 64 * GIB);
    assert_eq!(written, [page, far - 4096, far, far + 8192]);
    assert_eq!(driver.stand_in.written(far + 1..far + 8192), [far]);
    let noise = driver.stand_in.peek(small.unwrap(), 64);
    assert_ne!(noise, [0; 64], "not so large");
    let pinned = driver.pinned(64 << 30);
    let to = pinned.wrapping_add(50 << 30);
    driver.copy_out(to, far, 1, stream).unwrap();
    driver.synchronize(stream).unwrap();
    // SAFETY: within the memory, which nothing else touches.
    assert_eq!(unsafe { to.read() }, 8);
    driver.free_pinned(pinned).unwrap();
    driver.free(large).unwrap();
    driver.stand_in.assert_clean();
}

#[test]
fn memory_is_bounded_and_counted() {
    let driver = Driver::new(1);
    driver.stand_in.set_total_memory(10_000);
    let one = driver.allocate(6_000).unwrap();
    assert_eq!(driver.memory(), (4_000, 10_000));
    assert_eq!(driver.allocate(4_001), Err(OUT_OF_MEMORY));
    let two = driver.allocate(4_000).unwrap();
    driver.free(one).unwrap();
    assert_eq!(driver.free(one), Err(INVALID_VALUE), "twice");
    assert_eq!(
        driver.free(two + 256),
        Err(INVALID_VALUE),
        "not where it begins"
    );
    assert_eq!(driver.memory(), (6_000, 10_000));
    let three = driver.allocate(6_000).unwrap();
    assert_ne!(three, one, "addresses are not given out twice");
}

#[test]
fn everything_live_is_counted() {
    let driver = Driver::new(1);
    let (memory, pinned) = (driver.allocate(16).unwrap(), driver.pinned(16));
    let mut own = vec![0; 4096];
    driver.register(&mut own).unwrap();
    let (stream, event) = (driver.stream(), driver.event());
    let module = driver.load(KERNELS).unwrap();
    driver.begin_capture(stream, 0).unwrap();
    let graph = driver.end_capture(stream).unwrap();
    let executable = driver.instantiate(graph).unwrap();
    let all = Live {
        allocations: 1,
        host_allocations: 1,
        registrations: 1,
        streams: 1,
        events: 1,
        modules: 1,
        graphs: 1,
        executables: 1,
        contexts: 1,
    };
    assert_eq!(driver.stand_in.live(), all);
    driver.release().unwrap();
    assert_eq!(
        driver.stand_in.live(),
        Live { contexts: 0, ..all },
        "what a context takes with it was not given back"
    );

    driver.again(2);
    assert_eq!(
        driver.stand_in.live(),
        Live {
            contexts: 1,
            ..Live::default()
        }
    );
    assert_eq!(
        driver.free(memory),
        Err(INVALID_VALUE),
        "of the world before"
    );
    assert_eq!(driver.free_pinned(pinned), Err(INVALID_VALUE));
    assert!(driver.destroy_stream(stream).is_err() && driver.destroy_event(event).is_err());
    assert!(
        driver.unload(module).is_err()
            && driver.destroy_graph(graph).is_err()
            && driver.destroy_executable(executable).is_err()
    );
}

#[test]
fn nothing_runs_before_it_must_and_a_pinned_source_is_read_when_the_copy_runs() {
    let driver = Driver::new(1);
    let stream = driver.stream();
    let (to, from) = (driver.allocate(4).unwrap(), driver.pinned(4));
    // SAFETY: four bytes of pinned memory that nothing else uses at the time.
    unsafe { from.cast::<u32>().write(1) };
    driver.copy_in(to, from, 4, stream).unwrap();
    assert_eq!(driver.stand_in.queued(), 1);
    // SAFETY: as above: here the copy is meant to see it.
    unsafe { from.cast::<u32>().write(2) };
    driver.synchronize(stream).unwrap();
    assert_eq!(driver.stand_in.peek(to, 4), 2u32.to_le_bytes());

    // Pageable memory is read at the call.
    let mut own = 3u32.to_le_bytes();
    driver.copy_in(to, own.as_ptr(), 4, stream).unwrap();
    own = 4u32.to_le_bytes();
    driver.synchronize(stream).unwrap();
    assert_eq!(
        (driver.stand_in.peek(to, 4), own),
        (3u32.to_le_bytes().to_vec(), 4u32.to_le_bytes())
    );
}

#[test]
fn queries_say_not_ready_at_first_and_ready_in_the_end() {
    let mut waited = 0;
    let driver = Driver::new(0);
    for seed in 0..SEEDS {
        driver.again(seed);
        let (stream, event, memory) = (
            driver.stream(),
            driver.event(),
            driver.allocate(64).unwrap(),
        );
        assert_eq!(driver.query_event(event), Ok(()), "never recorded");
        for _ in 0..3 {
            driver.fill(memory, 7, 64, stream).unwrap();
        }
        driver.record(event, stream).unwrap();
        driver.fill(memory, 8, 64, stream).unwrap();
        while let Err(code) = driver.query_event(event) {
            assert_eq!(code, NOT_READY);
            waited += 1;
        }
        while let Err(code) = driver.query(stream) {
            assert_eq!(code, NOT_READY);
            waited += 1;
        }
        assert_eq!(driver.stand_in.peek(memory, 64), [8; 64]);
        driver.stand_in.assert_clean();
    }
    assert!(waited > SEEDS, "{waited}");
}

/// Two streams, one of which reads what the other wrote: how many of the seeds gave wrong bytes and how many a race.
fn reader_and_writer(wait: bool) -> (u64, u64) {
    let driver = Driver::new(0);
    let (mut wrong, mut races) = (0, 0);
    for seed in 0..SEEDS {
        driver.again(seed);
        let (writer, reader, event) = (driver.stream(), driver.stream(), driver.event());
        let (middle, end) = (driver.allocate(64).unwrap(), driver.allocate(64).unwrap());
        driver.fill(middle, 1, 64, writer).unwrap();
        driver.record(event, writer).unwrap();
        if wait {
            driver.wait(reader, event).unwrap();
        }
        driver.copy(end, middle, 64, reader).unwrap();
        // A later record does not move the wait.
        driver.fill(end, 9, 0, writer).unwrap();
        driver.record(event, writer).unwrap();
        driver.synchronize_all().unwrap();
        wrong += u64::from(driver.stand_in.peek(end, 64) != [1; 64]);
        races += u64::from(driver.stand_in.races() > 0);
        assert_eq!(
            driver.stand_in.faults(),
            0,
            "seed {seed}: {}",
            driver.stand_in.first_fault()
        );
    }
    (wrong, races)
}

#[test]
fn a_missing_wait_is_a_race_under_every_seed_and_wrong_bytes_under_many() {
    assert_eq!(reader_and_writer(true), (0, 0));
    let (wrong, races) = reader_and_writer(false);
    println!("without the wait: wrong bytes under {wrong} of {SEEDS} seeds");
    assert_eq!(races, SEEDS);
    assert!((SEEDS / 4..=3 * SEEDS / 4).contains(&wrong), "{wrong}");
}

#[test]
fn what_the_host_has_waited_for_is_in_order() {
    let driver = Driver::new(0);
    for seed in 0..SEEDS {
        driver.again(seed);
        let (one, two, event) = (driver.stream(), driver.stream(), driver.event());
        let memory = driver.allocate(64).unwrap();
        driver.fill(memory, 1, 64, one).unwrap();
        driver.record(event, one).unwrap();
        match seed % 3 {
            0 => driver.synchronize(one).unwrap(),
            1 => driver.synchronize_event(event).unwrap(),
            _ => while driver.query_event(event).is_err() {},
        }
        driver.fill(memory, 2, 64, two).unwrap();
        driver.synchronize(two).unwrap();
        assert_eq!(driver.stand_in.peek(memory, 64), [2; 64]);
        driver.stand_in.assert_clean();
    }
}

#[test]
fn the_host_races_with_copies_when_it_says_what_it_touches() {
    for (waits, races) in [(true, 0), (false, 1)] {
        let driver = Driver::new(5);
        let (stream, memory, pinned) = (
            driver.stream(),
            driver.allocate(64).unwrap(),
            driver.pinned(64),
        );
        driver.stand_in.host_access(pinned, 64, true);
        driver.copy_in(memory, pinned, 64, stream).unwrap();
        if waits {
            driver.synchronize(stream).unwrap();
        }
        driver.stand_in.host_access(pinned, 64, false);
        driver.synchronize(stream).unwrap();
        assert_eq!(driver.stand_in.races(), 0, "both read");
        driver.copy_in(memory, pinned, 64, stream).unwrap();
        if waits {
            driver.synchronize(stream).unwrap();
        }
        driver.stand_in.host_access(pinned, 1, true);
        driver.synchronize(stream).unwrap();
        assert_eq!(driver.stand_in.races(), races);
    }
}

#[test]
fn blocking_streams_wait_for_the_legacy_default_stream_and_it_for_them() {
    for (apart, races) in [(false, false), (true, true)] {
        let driver = Driver::new(0);
        for seed in 0..SEEDS {
            driver.again(seed);
            let stream = if apart {
                driver.stream()
            } else {
                driver.blocking_stream()
            };
            let memory = driver.allocate(64).unwrap();
            driver.fill(memory, 1, 64, stream).unwrap();
            driver.fill(memory, 2, 64, 0).unwrap();
            driver.fill(memory, 3, 64, stream).unwrap();
            driver.synchronize_all().unwrap();
            assert_eq!(driver.stand_in.races() > 0, races, "seed {seed}");
            assert!(apart || driver.stand_in.peek(memory, 64) == [3; 64]);
        }
    }
}

#[test]
fn copies_outside_of_memory_are_refused_at_the_call() {
    let driver = Driver::new(1);
    let stream = driver.stream();
    let (memory, pinned) = (driver.allocate(64).unwrap(), driver.pinned(64));
    assert_eq!(
        driver.copy_in(memory + 1, pinned, 64, stream),
        Err(INVALID_VALUE)
    );
    assert_eq!(
        driver.copy_in(memory, pinned.wrapping_add(1), 64, stream),
        Err(INVALID_VALUE),
        "beyond the pinned memory"
    );
    assert_eq!(
        driver.copy_out(memory as *mut u8, memory, 64, stream),
        Err(INVALID_VALUE),
        "the host's side is the device's"
    );
    assert_eq!(
        driver.copy(memory, pinned as u64, 64, stream),
        Err(INVALID_VALUE),
        "the device's side is the host's"
    );
    assert_eq!(driver.fill(memory, 1, 65, stream), Err(INVALID_VALUE));
    driver.free(memory).unwrap();
    assert_eq!(
        driver.copy_in(memory, pinned, 64, stream),
        Err(INVALID_VALUE)
    );
    driver.synchronize_all().unwrap();
}

#[test]
fn memory_freed_in_flight_is_a_fault_whatever_has_run() {
    let driver = Driver::new(0);
    for seed in 0..SEEDS {
        for what in ["device", "pinned", "registered"] {
            driver.again(seed);
            let stream = driver.stream();
            let (memory, pinned) = (driver.allocate(64).unwrap(), driver.pinned(64));
            let mut own = vec![0; 64];
            driver.register(&mut own).unwrap();
            let other = driver.allocate(64).unwrap();
            driver.fill(other, 0, 64, stream).unwrap();
            let from = if what == "pinned" {
                pinned
            } else {
                own.as_mut_ptr()
            };
            driver.copy_in(memory, from, 64, stream).unwrap();
            let _ = driver.query(driver.stream()).and(driver.query(stream));
            let known = driver.stand_in.queued() == 0 && driver.query(stream).is_ok();
            match what {
                "device" => driver.free(memory).unwrap(),
                "pinned" => driver.free_pinned(pinned).unwrap(),
                _ => driver.unregister(&mut own).unwrap(),
            }
            let end = driver.synchronize(stream);
            assert_eq!(driver.stand_in.faults() > 0, !known, "seed {seed}, {what}");
            assert!(end == Ok(()) || end == Err(ILLEGAL_ADDRESS));
        }
    }
}

#[test]
fn a_kernel_that_goes_wrong_ends_the_context() {
    let wrong: [(&str, u64, u32, i32); 4] = [
        ("out of bounds", 0, 17, ILLEGAL_ADDRESS),
        ("out of bounds", 4, 16, ILLEGAL_ADDRESS),
        ("misaligned", 2, 1, MISALIGNED_ADDRESS),
        ("outside of device memory", 1 << 40, 1, ILLEGAL_ADDRESS),
    ];
    for (text, shift, threads, code) in wrong {
        let driver = Driver::new(3);
        let (put, stream, memory) = (
            driver.kernel(KERNELS, c"put"),
            driver.stream(),
            driver.allocate(64).unwrap(),
        );
        driver.launch(put, 1, 16, &[memory, 5], stream).unwrap();
        driver.synchronize(stream).unwrap();
        let to = if shift < 64 { memory + shift } else { shift };
        driver.launch(put, 1, threads, &[to, 6], stream).unwrap();
        assert_eq!(driver.synchronize(stream), Err(code));
        assert!(
            driver.stand_in.first_fault().contains(text),
            "{}",
            driver.stand_in.first_fault()
        );
        // From here on nothing works, and nothing is given back.
        assert_eq!(driver.allocate(1), Err(code));
        assert_eq!(driver.free(memory), Err(code));
        assert_eq!(driver.fill(memory, 1, 1, stream), Err(code));
        assert_eq!(driver.destroy_stream(stream), Err(code));
        assert_eq!(driver.stand_in.live().allocations, 1);
        driver.release().unwrap();
        assert_eq!(
            driver.stand_in.live(),
            Live::default(),
            "a broken context takes everything with it"
        );
    }
}

#[test]
fn a_kernel_uses_memory_after_its_free() {
    let driver = Driver::new(3);
    let (put, stream, memory) = (
        driver.kernel(KERNELS, c"put"),
        driver.stream(),
        driver.allocate(64).unwrap(),
    );
    driver.launch(put, 1, 16, &[memory, 5], stream).unwrap();
    driver.free(memory).unwrap();
    assert_eq!(driver.synchronize(stream), Err(ILLEGAL_ADDRESS));
    assert!(
        driver.stand_in.first_fault().contains("use after free"),
        "{}",
        driver.stand_in.first_fault()
    );
}

#[test]
fn a_kernel_that_does_not_end_is_ended() {
    let driver = Driver::new(3);
    driver.stand_in.set_instruction_limit(100_000);
    let (function, stream) = (driver.kernel(KERNELS, c"loop"), driver.stream());
    driver.launch(function, 1, 1, &[], stream).unwrap();
    assert_eq!(driver.synchronize(stream), Err(LAUNCH_TIMEOUT));
}

#[test]
fn threads_that_nothing_orders_race() {
    for (apart, races) in [(1, false), (0, true)] {
        let driver = Driver::new(0);
        let mut wrong = 0;
        for seed in 0..SEEDS {
            driver.again(seed);
            let (function, stream) = (driver.kernel(KERNELS, c"neighbour"), driver.stream());
            let memory = driver.allocate(512).unwrap();
            driver
                .launch(function, 1, 64, &[memory, apart], stream)
                .unwrap();
            driver.synchronize(stream).unwrap();
            assert_eq!(
                driver.stand_in.races() > 0,
                races,
                "seed {seed}: {}",
                driver.stand_in.first_race()
            );
            let expected: Vec<u8> = (0..64u32)
                .flat_map(|thread| (thread ^ 1).to_le_bytes())
                .collect();
            wrong += u64::from(driver.stand_in.peek(memory + 256, 256) != expected);
        }
        assert_eq!(
            wrong > SEEDS / 2,
            races,
            "wrong under {wrong} of {SEEDS} seeds"
        );
    }
    // Several blocks that write the same bytes.
    let driver = Driver::new(1);
    let (put, stream, memory) = (
        driver.kernel(KERNELS, c"put"),
        driver.stream(),
        driver.allocate(64).unwrap(),
    );
    driver.launch(put, 1, 16, &[memory, 1], stream).unwrap();
    driver.synchronize(stream).unwrap();
    assert_eq!(driver.stand_in.races(), 0);
    driver.launch(put, 2, 16, &[memory, 1], stream).unwrap();
    driver.synchronize(stream).unwrap();
    assert!(
        driver.stand_in.first_race().contains("block"),
        "{}",
        driver.stand_in.first_race()
    );
}

#[test]
fn kernels_race_with_copies() {
    for (wait, races) in [(true, false), (false, true)] {
        let driver = Driver::new(0);
        for seed in 0..SEEDS {
            driver.again(seed);
            let (put, one, two) = (
                driver.kernel(KERNELS, c"put"),
                driver.stream(),
                driver.stream(),
            );
            let (memory, other, event) = (
                driver.allocate(64).unwrap(),
                driver.allocate(64).unwrap(),
                driver.event(),
            );
            driver.copy(other, memory, 64, one).unwrap();
            driver.record(event, one).unwrap();
            if wait {
                driver.wait(two, event).unwrap();
            }
            driver.launch(put, 1, 16, &[memory, 1], two).unwrap();
            driver.synchronize_all().unwrap();
            assert_eq!(driver.stand_in.races() > 0, races, "seed {seed}");
        }
    }
}

#[test]
fn any_call_can_be_made_to_fail() {
    let driver = Driver::new(1);
    let stream = driver.stream();
    driver.stand_in.fail("cuMemAlloc", 2, 77);
    let memory = driver.allocate(16).unwrap();
    assert_eq!(driver.allocate(16), Err(77));
    driver.allocate(16).unwrap();
    assert_eq!(
        driver.stand_in.live().allocations,
        2,
        "the call that failed did nothing"
    );
    assert_eq!(
        (
            driver.stand_in.calls("cuMemAlloc_v2"),
            driver.stand_in.calls("cuMemAlloc")
        ),
        (3, 3)
    );

    // Of any function.
    let before = driver.stand_in.calls("");
    driver.stand_in.fail("", 3, 999);
    assert_eq!(driver.fill(memory, 1, 16, stream), Ok(()));
    assert_eq!(driver.synchronize(stream), Ok(()));
    assert_eq!(driver.free(memory), Err(999));
    assert_eq!(driver.free(memory), Ok(()), "999 ends no context");
    assert_eq!(driver.stand_in.calls(""), before + 4);
    assert_eq!(driver.stand_in.call(before + 1), "cuStreamSynchronize");
    assert_eq!(driver.stand_in.failed(), 2);

    // Success that is a lie: nothing is done.
    let (one, two, event) = (driver.stream(), driver.stream(), driver.event());
    let memory = driver.allocate(64).unwrap();
    driver.fill(memory, 1, 64, one).unwrap();
    driver.record(event, one).unwrap();
    driver.stand_in.fail("cuStreamWaitEvent", 1, 0);
    driver.wait(two, event).unwrap();
    driver.fill(memory, 2, 64, two).unwrap();
    driver.synchronize_all().unwrap();
    assert_eq!(driver.stand_in.races(), 1);

    // What was asked for can be taken back, and a code that ends the context does.
    driver.stand_in.fail("cuEventQuery", 1, 5);
    driver.stand_in.forget_failures();
    assert_eq!(driver.query_event(event), Ok(()));
    driver.stand_in.fail("cuEventQuery", 1, ILLEGAL_ADDRESS);
    assert_eq!(driver.query_event(event), Err(ILLEGAL_ADDRESS));
    assert_eq!(driver.free(memory), Err(ILLEGAL_ADDRESS));
}

#[test]
fn modules_go_only_when_nothing_of_them_is_in_flight() {
    let driver = Driver::new(1);
    let module = driver.load(KERNELS).unwrap();
    let (put, stream, memory) = (
        driver.function(module, c"put").unwrap(),
        driver.stream(),
        driver.allocate(64).unwrap(),
    );
    assert_eq!(driver.function(module, c"missing"), Err(500));
    driver.launch(put, 1, 16, &[memory, 5], stream).unwrap();
    driver.unload(module).unwrap();
    assert_eq!(driver.launch(put, 1, 16, &[memory, 5], stream), Err(400));
    assert_eq!(driver.synchronize(stream), Err(719));
}
