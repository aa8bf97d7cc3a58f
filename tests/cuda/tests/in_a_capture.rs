//! A stream that is being captured: what cannot be done in it is refused, and nothing here breaks the capture off, neither one of the
//! mover's own stream nor one that another thread has begun.

mod support;

use kvblock::cuda::{
    CudaDevice, CudaError, CudaMover, CudaStream, CudaTimeline, DevicePool, HostPool, PairList,
};
use kvblock::{Access, FenceTable, MemoryId, Mover};
use support::driver::Driver;
use support::rig::{BLOCKS, HOST, NEAR, Rig, block, config, offsets};

const GLOBAL: u32 = 0;

fn raw(stream: &CudaStream) -> usize {
    stream.raw() as usize
}

#[test]
fn what_cannot_be_captured_is_refused_and_the_capture_goes_on() {
    let driver = Driver::new(1);
    let mut rig = Rig::new(&driver, &config());
    let stream = rig.mover.own_timeline().stream().clone();
    let route = rig.route(NEAR, NEAR);
    let list = PairList::new(&mut rig.mover, &route, 4).expect("a list");
    let engine = rig.engine();
    rig.engine_writes(&engine, &[1], 7);
    let waits = rig
        .fences
        .waits_for_blocks(NEAR, &[block(1)], Access::Read, rig.mover.timeline())
        .expect("tracked");
    let own = rig.mover.own_timeline().clone();

    driver.begin_capture(raw(&stream), GLOBAL).expect("begun");
    let refused = Err(CudaError::Capturing);
    assert_eq!(stream.synchronize(), refused);
    assert_eq!(own.mark().map(drop), refused);
    assert_eq!(own.wait_for(&waits, [&engine.timeline]), refused);
    assert_eq!(list.check(&rig.mover), refused);
    assert_eq!(
        PairList::new(&mut rig.mover, &route, 4).map(drop),
        refused,
        "the route is prepared"
    );
    let plan = rig.plan(NEAR, NEAR, &[(1, 5)]);
    assert_eq!(rig.mover.copy(&plan, &mut rig.fences).map(drop), refused);
    assert_eq!(driver.capture_status(raw(&stream)), 1);
    let graph = driver.end_capture(raw(&stream)).expect("it was not broken");
    let ready = driver.instantiate(graph).expect("a graph");

    // Nothing got into it.
    let before = driver.stand_in.live();
    driver.launch_graph(ready, raw(&stream)).expect("launched");
    list.check(&rig.mover).expect("good lists");
    assert_eq!(driver.stand_in.live(), before);
    driver.destroy_executable(ready).expect("destroyed");
    driver.destroy_graph(graph).expect("destroyed");
    rig.copy(NEAR, NEAR, &[(1, 5)]);
    rig.finish();
    assert!(rig.near_is(5, 7), "the device can be used");
    driver.stand_in.assert_clean();
}

#[test]
fn a_mover_dropped_in_a_capture_of_its_stream_waits_for_its_copies_and_not_for_the_capture() {
    // What is under way when the capture begins.
    for before in ["made", "prepared", "copied", "swapped"] {
        for seed in 0..50 {
            let driver = Driver::new(seed);
            let mut rig = Rig::new(&driver, &config());
            let stream = rig.mover.own_timeline().stream().clone();
            match before {
                "prepared" => {
                    let route = rig.route(NEAR, NEAR);
                    rig.mover.prepare(&route).expect("a route");
                }
                "copied" => _ = rig.copy(NEAR, NEAR, &[(1, 5)]),
                "swapped" => _ = rig.copy(NEAR, HOST, &[(1, 5)]),
                _ => {}
            }
            driver.begin_capture(raw(&stream), GLOBAL).expect("begun");
            let Rig {
                mover,
                near,
                host,
                device,
                ..
            } = rig;
            drop((mover, host));
            assert_eq!(
                driver.capture_status(raw(&stream)),
                1,
                "{before}, seed {seed}"
            );
            device.check_alive().expect("it was not waited in vain");
            let graph = driver.end_capture(raw(&stream)).expect("not broken");
            driver.destroy_graph(graph).expect("destroyed");
            assert_eq!(driver.stand_in.run_all(), 0);
            drop((near, device));
            driver.stand_in.assert_clean();
        }
    }
}

#[test]
fn a_mover_on_the_legacy_default_stream_does_not_break_off_the_capture_of_a_blocking_stream() {
    for before in ["made", "prepared", "copied", "swapped"] {
        for seed in 0..50 {
            let driver = Driver::new(seed);
            let mut rig = Rig::new(&driver, &config());
            // SAFETY: null is the legacy default stream, which every context has.
            let stream = unsafe { CudaStream::from_raw(&rig.device, core::ptr::null_mut()) };
            let mut mover = CudaMover::new(&stream, &mut rig.fences, &config()).expect("a mover");
            mover.add_device(&rig.near).expect("known");
            mover.add_host(&rig.host).expect("known");
            mover.follow(rig.mover.own_timeline()).expect("one table");
            let route = rig.route(NEAR, NEAR);
            let list = PairList::new(&mut mover, &route, 4).expect("a list");
            let plan = match before {
                "swapped" => rig.plan(NEAR, HOST, &[(1, 5)]),
                _ => rig.plan(NEAR, NEAR, &[(1, 5)]),
            };
            match before {
                "prepared" => mover.prepare(plan.route()).expect("a route"),
                "copied" | "swapped" => _ = mover.copy(&plan, &mut rig.fences).expect("a copy"),
                _ => {}
            }
            let captured = driver.blocking_stream();
            driver.begin_capture(captured, GLOBAL).expect("begun");
            // The driver says of the stream neither that it is captured nor that it is not.
            let unknown = CudaError::Driver {
                call: "cuStreamIsCapturing",
                code: 906,
            };
            let refused = Err(unknown);
            assert_eq!(mover.copy(&plan, &mut rig.fences).map(drop), refused);
            assert_eq!(list.check(&mover), refused);
            assert_eq!(stream.synchronize(), refused);
            mover.completed().expect("alive");
            // It may fail otherwise, too.
            driver.stand_in.fail("cuStreamIsCapturing", 1 + seed % 4, 1);
            drop((list, mover));
            driver.stand_in.forget_failures();
            assert_eq!(driver.capture_status(captured), 1, "{before}, seed {seed}");
            rig.device.check_alive().expect("nothing was unknown");
            let graph = driver.end_capture(captured).expect("not broken");
            driver.destroy_graph(graph).expect("destroyed");
            driver.destroy_stream(captured).expect("destroyed");
            drop(rig);
            driver.stand_in.assert_clean();
        }
    }
}

#[test]
fn nothing_breaks_off_a_capture_that_another_thread_has_begun() {
    let driver = Driver::new(3);
    let captured = driver.stream();
    // Something is left over that could not be given back.
    let device = CudaDevice::open(0).expect("a device");
    let pool = DevicePool::allocate(&device, &offsets()).expect("memory");
    driver.stand_in.fail("cuMemFree", 1, 304);
    drop(pool);

    std::thread::scope(|scope| {
        let (begun, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let driver = &driver;
        let other = scope.spawn(move || {
            driver.make_current();
            driver.begin_capture(captured, GLOBAL).expect("begun");
            begun.send(()).expect("heard");
            let _ = ended.recv();
            driver.end_capture(captured)
        });
        told.recv().expect("begun");
        let goes_on = |what: &str| assert_eq!(driver.capture_status(captured), 1, "{what}");

        let near = DevicePool::allocate(&device, &offsets()).expect("memory");
        goes_on("a pool, with something left over");
        let second = CudaDevice::open(0).expect("a device");
        goes_on("a device opened");
        drop(second);
        goes_on("a device closed");
        let id = MemoryId::new(1);
        let pieces = HostPool::allocate_in_pieces(&device, id, near.layout(), 24, 4096);
        drop(pieces.expect("memory"));
        let host = HostPool::allocate(&device, id, near.layout(), 24).expect("memory");
        goes_on("host memory");
        let mut fences = FenceTable::new();
        fences.track(NEAR, BLOCKS as usize).expect("room");
        let stream = CudaStream::new(&device).expect("a stream");
        let mut mover = CudaMover::new(&stream, &mut fences, &config()).expect("a mover");
        goes_on("a mover");
        mover.add_device(&near).expect("known");
        mover.add_host(&host).expect("known");
        let route = kvblock::CopyRoute::new(near.layout(), near.layout()).expect("a route");
        let plan = route.plan(&[(block(1), block(2))]).expect("a plan");
        let fence = mover.copy(&plan, &mut fences).expect("a copy");
        mover.completed().expect("alive");
        goes_on("a copy");
        mover.wait(fence).expect("it passes");
        goes_on("a wait");
        let list = PairList::new(&mut mover, &route, 4).expect("a list");
        list.check(&mover).expect("good");
        goes_on("a list");
        // A copy that fails is waited for.
        driver.stand_in.fail("cuEventRecord", 1, 1);
        mover.copy(&plan, &mut fences).expect_err("it was to fail");
        goes_on("a copy that failed");
        stream.synchronize().expect("it ends");
        goes_on("a stream waited for");
        let timeline = CudaTimeline::new(&stream, &mut fences).expect("room");
        timeline.mark().expect("a fence");
        drop((list, mover, timeline, stream, near, host));
        goes_on("everything dropped");
        end.send(()).expect("heard");
        let graph = other.join().expect("no panic").expect("it was not broken");
        driver.destroy_graph(graph).expect("destroyed");
    });
    drop(device);
    driver.destroy_stream(captured).expect("destroyed");
    driver.release().expect("released");
    driver.stand_in.assert_nothing_live();
}
