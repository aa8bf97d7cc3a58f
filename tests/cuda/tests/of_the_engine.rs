//! Context, stream and memory that an engine has: they are used, stay the engine's, and its threads keep the context that they had.

mod support;

use core::ffi::c_void;
use core::ptr::NonNull;

use kvblock::cuda::{CudaDevice, CudaMover, CudaStream, DevicePool, HostPool};
use kvblock::{BlockLayout, CopyRoute, FenceTable, MAX_TIMELINES, Mover, Plane};
use support::driver::Driver;
use support::rig::{HOST, NEAR, Rig, block, config, tag};

const BLOCKS: usize = 6;
const BYTES: usize = 96;

#[test]
fn context_stream_and_memory_of_an_engine_are_used_and_stay_its_own() {
    let driver = Driver::new(5);
    let context = driver.current();
    let (address, pinned) = (
        driver.allocate(BLOCKS * BYTES + 8).expect("memory"),
        driver.pinned(BLOCKS * BYTES) as usize,
    );
    let stream = driver.blocking_stream();
    let before = driver.stand_in.live();
    // As an engine has it: off by some.
    let planes = [Plane::new(address + 8, BYTES as u64, BYTES as u64)];
    let layout = BlockLayout::new(&planes, BLOCKS).expect("a layout");
    for number in 0..BLOCKS {
        let place = address + 8 + (number * BYTES) as u64;
        driver.stand_in.poke(place, &[number as u8; BYTES]);
    }

    let work = || {
        let here = driver.current();
        // SAFETY: the context is retained by the driver's holder for as long as the test runs.
        let device = unsafe { CudaDevice::from_context(context as *mut c_void) }.expect("a device");
        // SAFETY: a stream of that context.
        let stream = unsafe { CudaStream::from_raw(&device, stream as *mut c_void) };
        // SAFETY: the memory is there until the end of the test.
        let near = unsafe { DevicePool::adopt(&device, layout.clone()) };
        let base = NonNull::new(pinned as *mut u8).expect("memory");
        // SAFETY: as above, and the driver has pinned it.
        let host = unsafe { HostPool::adopt(&device, HOST, near.layout(), BLOCKS, base) };
        let host = host.expect("a layout");
        let mut fences = FenceTable::new();
        fences.track(NEAR, BLOCKS).expect("room");
        fences.track(HOST, BLOCKS).expect("room");
        let mut mover = CudaMover::new(&stream, &mut fences, &config()).expect("a mover");
        mover.add_device(&near).expect("known");
        mover.add_host(&host).expect("known");
        let routes = [
            (near.layout(), near.layout(), (1, 4)),
            (near.layout(), host.layout(), (4, 2)),
            (host.layout(), near.layout(), (2, 5)),
        ];
        for (from, to, pair) in routes {
            let route = CopyRoute::new(from, to).expect("a route");
            let plan = route
                .plan(&[(block(pair.0), block(pair.1))])
                .expect("a plan");
            mover.copy(&plan, &mut fences).expect("a copy");
            assert_eq!(driver.current(), here);
        }
        // Dropped in no good order, with all of it under way.
        drop((device, stream, near, host, mover));
        assert_eq!(driver.current(), here);
    };
    work();
    assert_eq!(driver.current(), context);
    // On a thread that has no context.
    std::thread::scope(|scope| {
        scope.spawn(work).join().expect("no failure");
    });
    let place = |number: u64| address + 8 + number * BYTES as u64;
    assert_eq!(driver.stand_in.peek(place(5), BYTES), [1; BYTES]);
    assert_eq!(driver.stand_in.live(), before, "nothing of the engine's");
    driver.destroy_stream(stream).expect("its own");
    driver.free(address).expect("its own");
    driver.free_pinned(pinned as *mut u8).expect("its own");
    driver.stand_in.assert_clean();
}

#[test]
fn an_engine_that_sleeps_gives_its_memory_back_as_often_as_it_likes() {
    let driver = Driver::new(6);
    let device = CudaDevice::open(0).expect("a device");
    let asleep = driver.stand_in.live();
    // More often than a table has timelines.
    for sleep in 0..2 * MAX_TIMELINES {
        let mut awake = Rig::new(&driver, &config());
        let mut second = awake.second_mover();
        second.follow(awake.mover.own_timeline()).expect("a device");
        awake.mover.follow(second.own_timeline()).expect("a device");
        awake.copy(NEAR, HOST, &[(1, 2), (3, 4)]);
        let back = awake.plan(HOST, NEAR, &[(2, 5)]);
        second.copy(&back, &mut awake.fences).expect("a copy");
        awake.copy(NEAR, NEAR, &[(5, 6)]);
        if sleep % 2 == 0 {
            awake.finish();
            assert!(awake.near_is(6, tag(1)) && awake.host_is(4, tag(3)));
            drop((awake, second));
        } else {
            // With all of it under way.
            drop((second, awake));
        }
        assert_eq!(driver.stand_in.live(), asleep, "after {sleep} times");
    }
    drop(device);
    driver.stand_in.assert_clean();
}
