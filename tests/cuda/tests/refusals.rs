//! What is wrong is told at the call, by its name, and changes nothing; what is right is not refused.

mod support;

use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::alloc::{GlobalAlloc, Layout, System};

use kvblock::cuda::{
    CudaDevice, CudaError, CudaMover, CudaStream, CudaTimeline, DevicePool, HostPool, PairList,
};
use kvblock::{
    Access, BlockLayout, CopyRoute, Fence, FenceError, FenceTable, MemoryId, Mover, Plane,
};
use support::driver::Driver;
use support::rig::{HOST, NEAR, Rig, block, config, tag};

#[test]
fn a_plan_without_pairs_takes_no_place() {
    let driver = Driver::new(1);
    let mut rig = Rig::new(&driver, &config());
    for _ in 0..3 {
        rig.copy(NEAR, NEAR, &[]);
    }
    // Nothing has passed yet, and nothing is in the lists.
    rig.copy(NEAR, NEAR, &[(1, 5)]);
    rig.copy(NEAR, HOST, &[]);
    rig.copy(NEAR, NEAR, &[(2, 6)]);
    rig.finish();
    assert!(rig.near_is(5, tag(1)) && rig.near_is(6, tag(2)));
}

#[test]
fn a_fence_recorded_too_late_for_the_mover_is_told_before_anything_is_under_way() {
    let driver = Driver::new(1);
    let mut rig = Rig::new(&driver, &config());
    let own = rig.mover.timeline();
    let blocks = [block(9)];
    rig.fences
        .record_blocks(NEAR, &blocks, Access::Read, own, Fence(40))
        .expect("tracked");
    let plan = rig.plan(NEAR, NEAR, &[(1, 5)]);
    let refused = rig.mover.copy(&plan, &mut rig.fences);
    let later = FenceError::NotLater {
        timeline: own,
        fence: Fence(1),
        last: Fence(40),
    };
    assert_eq!(refused, Err(CudaError::Fence(later)));
    rig.finish();
    assert!(rig.near_is(5, tag(5)), "nothing was copied");
}

#[test]
fn a_timeline_of_another_table_is_not_taken_for_one_that_is_followed() {
    let driver = Driver::new(1);
    let mut rig = Rig::new(&driver, &config());
    let engine = rig.engine();
    rig.mover.follow(&engine.timeline).expect("known already");
    let mut other = FenceTable::new();
    for known in [rig.mover.timeline(), engine.timeline.id()] {
        let stranger = CudaTimeline::new(&engine.stream, &mut other).expect("room");
        assert_eq!(stranger.id(), known, "it is called the same");
        assert_eq!(
            rig.mover.follow(&stranger),
            Err(CudaError::TimelineInUse { timeline: known })
        );
    }
}

#[test]
fn bytes_between_the_planes_of_a_host_layout_are_not_written() {
    let _driver = Driver::new(1);
    let device = CudaDevice::open(0).expect("a device");
    let plane = |at: u64| Plane::new(at, 3 * 64, 64);
    let offsets = BlockLayout::new(&[plane(0), plane(64), plane(128)], 4).expect("a layout");
    let near = DevicePool::allocate(&device, &offsets).expect("memory");
    let host = HostPool::allocate(&device, HOST, near.layout(), 4).expect("memory");
    // SAFETY: the pool has as many bytes, and nothing is under way.
    unsafe { host.as_ptr().write_bytes(0x55, 4 * 3 * 64) };
    let mut fences = FenceTable::new();
    fences.track(NEAR, 4).expect("room");
    fences.track(HOST, 4).expect("room");
    let stream = CudaStream::new(&device).expect("a stream");
    let mut mover = CudaMover::new(&stream, &mut fences, &config()).expect("a mover");
    mover.add_device(&near).expect("known");
    mover.add_host(&host).expect("known");

    // The first and the last plane.
    let some = |layout: &BlockLayout| {
        let planes = [layout.planes()[0], layout.planes()[2]];
        let some = BlockLayout::new(&planes, 4).expect("a layout");
        some.in_memory(layout.memory())
    };
    let route = CopyRoute::new(&some(near.layout()), &some(host.layout())).expect("a route");
    let plan = route.plan(&[(block(1), block(2))]).expect("a plan");
    let refused = Err(CudaError::PartOfBlock { memory: HOST });
    let answer = mover.copy(&plan, &mut fences).map(drop);
    stream.synchronize().expect("alive");
    // SAFETY: as above.
    let bytes = unsafe { core::slice::from_raw_parts(host.as_ptr().as_ptr(), 4 * 3 * 64) };
    assert_eq!(answer, refused);
    assert!(bytes.iter().all(|&byte| byte == 0x55));
}

#[test]
fn one_block_of_the_host_goes_to_many_with_planes_of_every_width() {
    let driver = Driver::new(1);
    let device = CudaDevice::open(0).expect("a device");
    let planes = [Plane::new(0, 32, 32), Plane::new(4096, 16, 4)];
    let offsets = BlockLayout::new(&planes, 8).expect("a layout");
    let near = DevicePool::allocate(&device, &offsets).expect("memory");
    let host = HostPool::allocate(&device, HOST, near.layout(), 1).expect("memory");
    // SAFETY: the pool has as many bytes, and nothing is under way.
    unsafe { host.as_ptr().write_bytes(0x55, 36) };
    let mut fences = FenceTable::new();
    fences.track(NEAR, 8).expect("room");
    fences.track(HOST, 1).expect("room");
    let stream = CudaStream::new(&device).expect("a stream");
    let mut mover = CudaMover::new(&stream, &mut fences, &config()).expect("a mover");
    mover.add_device(&near).expect("known");
    mover.add_host(&host).expect("known");
    let route = CopyRoute::new(host.layout(), near.layout()).expect("a route");
    let pairs = [3, 5, 6].map(|to| (block(0), block(to)));
    let plan = route.plan(&pairs).expect("a plan");
    let fence = mover.copy(&plan, &mut fences).expect("a copy");
    mover.wait(fence).expect("no access that is not aligned");
    for (_, to) in pairs {
        for (plane, bytes) in [(0, 32), (1, 4)] {
            let address = near.layout().address(plane, to).expect("a block");
            assert_eq!(driver.stand_in.peek(address, bytes), vec![0x55; bytes]);
        }
    }
    driver.stand_in.assert_clean();
}

#[test]
fn the_stream_that_each_thread_has_for_itself_is_no_stream() {
    let driver = Driver::new(1);
    let device = CudaDevice::open(0).expect("a device");
    let mut fences = FenceTable::new();
    // SAFETY: a handle that the driver knows.
    let stream = unsafe { CudaStream::from_raw(&device, 2 as *mut _) };
    let refused = Err(CudaError::StreamOfThread);
    assert_eq!(CudaTimeline::new(&stream, &mut fences).map(drop), refused);
    let mover = CudaMover::new(&stream, &mut fences, &config());
    assert_eq!(mover.map(drop), refused);
    fences.add_timeline().expect("none was taken");
    drop(driver);
}

#[test]
fn a_mover_copies_on_the_legacy_default_stream_by_either_handle() {
    for handle in [0_usize, 1] {
        let driver = Driver::new(1);
        let mut rig = Rig::new(&driver, &config());
        // SAFETY: handles of the legacy default stream, which every context has.
        let stream = unsafe { CudaStream::from_raw(&rig.device, handle as *mut _) };
        let mut mover = CudaMover::new(&stream, &mut rig.fences, &config()).expect("a mover");
        mover.add_device(&rig.near).expect("known");
        mover.add_host(&rig.host).expect("known");
        mover.follow(rig.mover.own_timeline()).expect("one table");
        rig.copy(NEAR, NEAR, &[(1, 5)]);
        let out = rig.plan(NEAR, HOST, &[(5, 3)]);
        mover.copy(&out, &mut rig.fences).expect("a copy");
        let back = rig.plan(HOST, NEAR, &[(3, 7)]);
        let fence = mover.copy(&back, &mut rig.fences).expect("a copy");
        mover.wait(fence).expect("it passes");
        assert!(rig.near_is(7, tag(1)) && rig.host_is(3, tag(1)));
        drop((mover, rig));
        driver.stand_in.assert_clean();
    }
}

#[test]
fn fences_that_nobody_asks_for_do_not_pile_up() {
    let driver = Driver::new(1);
    let mut rig = Rig::new(&driver, &config());
    let engine = rig.engine();
    let before = driver.stand_in.live().events;
    for _ in 0..500 {
        engine.timeline.mark().expect("a fence");
        driver.stand_in.run_all();
    }
    let more = driver.stand_in.live().events - before;
    assert!(more < 10, "{more} events");
    drop(rig);
}

#[test]
fn a_list_is_of_one_mover_even_on_one_stream() {
    let driver = Driver::new(1);
    let mut rig = Rig::new(&driver, &config());
    let route = rig.route(NEAR, NEAR);
    let mut list = PairList::new(&mut rig.mover, &route, 4).expect("a list");
    let stream = rig.mover.own_timeline().stream().clone();
    let mut second = CudaMover::new(&stream, &mut rig.fences, &config()).expect("a mover");
    second.add_device(&rig.near).expect("known");
    second.prepare(&route).expect("a route");
    let plan = rig.plan(NEAR, NEAR, &[(1, 5)]);
    assert_eq!(list.set(&plan, &second), Err(CudaError::OtherMover));
    assert_eq!(list.enqueue(&second), Err(CudaError::OtherMover));
    assert_eq!(list.mark(&second).map(drop), Err(CudaError::OtherMover));
    assert_eq!(list.check(&second), Err(CudaError::OtherMover));
}

#[test]
fn a_list_is_in_use_from_the_moment_it_is_put_into_a_stream() {
    let driver = Driver::new(1);
    let mut rig = Rig::new(&driver, &config());
    let route = rig.route(NEAR, NEAR);
    let mut list = PairList::new(&mut rig.mover, &route, 4).expect("a list");
    rig.finish();
    let plan = rig.plan(NEAR, NEAR, &[(1, 5)]);
    list.set(&plan, &rig.mover).expect("not in use");
    list.enqueue(&rig.mover).expect("put");
    let next = rig.plan(NEAR, NEAR, &[(2, 6)]);
    let refused = list.set(&next, &rig.mover);
    assert!(
        matches!(refused, Err(CudaError::ListInUse { .. })),
        "{refused:?}"
    );
    rig.finish();
    assert!(rig.near_is(5, tag(1)) && rig.near_is(6, tag(6)));
    list.set(&next, &rig.mover).expect("it has passed");
}

#[test]
fn nothing_of_a_list_that_could_not_be_put_into_a_stream_is_under_way() {
    for call in ["cuLaunchKernel", "cuEventRecord"] {
        let driver = Driver::new(1);
        let mut rig = Rig::new(&driver, &config());
        let route = rig.route(NEAR, NEAR);
        let mut list = PairList::new(&mut rig.mover, &route, 4).expect("a list");
        let plan = rig.plan(NEAR, NEAR, &[(1, 5)]);
        list.set(&plan, &rig.mover).expect("not in use");
        driver.stand_in.fail(call, 1, 1);
        let failed = CudaError::Driver { call, code: 1 };
        assert_eq!(list.enqueue(&rig.mover), Err(failed));
        assert_eq!(driver.stand_in.queued(), 0, "{call}");
        list.set(&plan, &rig.mover).expect("not in use");
    }
}

#[test]
fn a_list_for_a_route_to_the_host_is_refused_with_what_is_wrong() {
    let driver = Driver::new(1);
    let mut rig = Rig::new(&driver, &config());
    let route = rig.route(NEAR, HOST);
    let refused = PairList::new(&mut rig.mover, &route, 4).expect_err("not on the device");
    assert!(
        !refused.to_string().contains("both of the host"),
        "only one is of the host: {refused}"
    );
}

#[test]
fn a_call_that_fails_in_a_drop_gives_nothing_back_that_is_under_way() {
    let calls = [
        "cuCtxGetCurrent",
        "cuCtxSetCurrent",
        "cuThreadExchangeStreamCaptureMode",
        "cuStreamIsCapturing",
        "cuStreamSynchronize",
    ];
    for (call, nth) in calls.into_iter().flat_map(|call| [(call, 1), (call, 2)]) {
        for seed in 0..20 {
            let driver = Driver::new(seed);
            let mut rig = Rig::new(&driver, &config());
            let route = rig.route(NEAR, NEAR);
            let mut list = PairList::new(&mut rig.mover, &route, 4).expect("a list");
            let plan = rig.plan(NEAR, NEAR, &[(1, 5)]);
            list.set(&plan, &rig.mover).expect("not in use");
            rig.copy(NEAR, HOST, &[(2, 6), (3, 7), (4, 8)]);
            list.enqueue(&rig.mover).expect("put");
            let drop_list_first = seed % 2 == 0;
            let Rig { mover, device, .. } = rig;
            // On a thread that has another context, or none.
            std::thread::scope(|scope| {
                let dropped = scope.spawn(|| {
                    driver.stand_in.fail(call, nth, 1);
                    if drop_list_first {
                        drop(list);
                        drop(mover);
                    } else {
                        drop(mover);
                        drop(list);
                    }
                });
                dropped.join().expect("no panic");
            });
            assert_eq!(driver.stand_in.run_all(), 0);
            assert_eq!(
                driver.stand_in.faults(),
                0,
                "{nth} of {call}, seed {seed}: {}",
                driver.stand_in.first_fault()
            );
            drop(device);
        }
    }
}

#[test]
fn a_thread_keeps_its_context_and_capture_mode_though_setting_them_back_fails_once() {
    let driver = Driver::new(1);
    let device = CudaDevice::open(0).expect("a device");
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let before = driver.current();
            driver.stand_in.fail("cuCtxSetCurrent", 2, 1);
            drop(CudaStream::new(&device).expect("a stream"));
            assert_eq!(driver.current(), before, "no context");
            driver.make_current();
            driver
                .stand_in
                .fail("cuThreadExchangeStreamCaptureMode", 2, 1);
            drop(CudaStream::new(&device).expect("a stream"));
            assert_eq!(driver.exchange_mode(0), 0, "as strict as it was");
        });
        other.join().expect("no failure");
    });
    assert_eq!(driver.stand_in.failed(), 2);
}

#[test]
fn every_result_that_nothing_recovers_from_poisons() {
    for code in [226, 700, 719, 810, 911] {
        let driver = Driver::new(1);
        let rig = Rig::new(&driver, &config());
        let engine = CudaStream::new(&rig.device).expect("a stream");
        driver.stand_in.fail("cuStreamSynchronize", 1, code);
        let poisoned = CudaError::Poisoned {
            call: "cuStreamSynchronize",
            code: code as u32,
        };
        assert_eq!(engine.synchronize(), Err(poisoned));
        assert_eq!(rig.device.check_alive(), Err(poisoned));
        assert!(!poisoned.to_string().contains("a result of"), "{poisoned}");
        drop(rig);
        drop(driver);
    }
}

#[test]
fn memory_that_is_not_at_a_page_is_pinned_in_pieces_that_share_no_page() {
    let driver = Driver::new(1);
    let device = CudaDevice::open(0).expect("a device");
    let planes = [Plane::new(0, 1000, 1000)];
    let like = BlockLayout::new(&planes, 1).expect("a layout");
    let mut memory = vec![0_u8; 20_000 + 4096];
    let off = memory.as_ptr().align_offset(4096) + 100;
    let base = NonNull::new(memory[off % 4096..].as_mut_ptr()).expect("an address");
    // SAFETY: there are 20,000 bytes, and the pool goes before them.
    let pool = unsafe { HostPool::register(&device, HOST, &like, 20, base, 4096) };
    drop(pool.expect("no page is pinned twice"));
    drop(driver);
}

#[test]
fn memory_that_is_pinned_in_part_is_refused_and_none_of_it_stays_pinned() {
    let driver = Driver::new(1);
    let device = CudaDevice::open(0).expect("a device");
    let like = BlockLayout::new(&[Plane::new(0, 4096, 4096)], 1).expect("a layout");
    let mut memory = vec![0_u8; 6 * 4096];
    let off = memory.as_ptr().align_offset(4096);
    let base = NonNull::new(memory[off..].as_mut_ptr()).expect("an address");
    // SAFETY: there are five pages, and the pools go before them.
    let register = || unsafe { HostPool::register(&device, HOST, &like, 5, base, 4096) };
    let pinned = CudaError::Driver {
        call: "cuMemHostRegister_v2",
        code: 712,
    };
    for page in 0..5 {
        let start = off + page * 4096;
        let theirs = &mut memory[start..start + 4096];
        driver.register(theirs).expect("the engine's");
        assert_eq!(register().map(drop), Err(pinned), "page {page}");
        assert_eq!(driver.stand_in.live().registrations, 1, "page {page}");
        driver
            .unregister(&mut memory[start..start + 4096])
            .expect("the engine's");
    }
    let pool = register().expect("not pinned");
    assert_eq!(register().map(drop), Err(pinned), "twice");
    assert_eq!(driver.stand_in.live().registrations, 5);
    drop(pool);
    assert_eq!(driver.stand_in.live().registrations, 0);
}

#[test]
fn a_list_that_a_kernel_writes_is_copied_and_what_is_wrong_with_it_told() {
    let driver = Driver::new(1);
    let mut rig = Rig::new(&driver, &config());
    let route = rig.route(NEAR, NEAR);
    let mut list = PairList::new(&mut rig.mover, &route, 4).expect("a list");
    let place = list.device_address();
    let write = |words: &[u32]| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        driver.stand_in.poke(place, &bytes);
    };
    write(&[3, 0, 1, 5, 99, 6, 2, 7]);
    list.enqueue_copies(&rig.mover).expect("put");
    assert_eq!(list.check(&rig.mover), Err(CudaError::BadPair { pair: 1 }));
    assert!(rig.near_is(5, tag(1)) && rig.near_is(6, tag(6)) && rig.near_is(7, tag(2)));
    list.check(&rig.mover).expect("that was told");
    write(&[5, 0]);
    list.enqueue_copies(&rig.mover).expect("put");
    let (count, capacity) = (5, 4);
    assert_eq!(
        list.check(&rig.mover),
        Err(CudaError::BadCount { count, capacity })
    );
    driver.stand_in.assert_clean();
}

#[test]
fn what_is_wrong_with_a_list_is_told_by_the_next_check_if_one_fails() {
    for (call, nth) in [
        ("cuMemcpyDtoHAsync_v2", 1),
        ("cuMemsetD32Async", 1),
        ("cuMemsetD32Async", 2),
        ("cuEventRecord", 1),
        ("cuStreamSynchronize", 1),
    ] {
        let driver = Driver::new(1);
        let mut rig = Rig::new(&driver, &config());
        let route = rig.route(NEAR, NEAR);
        let mut list = PairList::new(&mut rig.mover, &route, 4).expect("a list");
        let bytes: Vec<u8> = [2_u32, 0, 1, 5, 99, 6].map(u32::to_le_bytes).concat();
        driver.stand_in.poke(list.device_address(), &bytes);
        list.enqueue_copies(&rig.mover).expect("put");
        driver.stand_in.fail(call, nth, 1);
        let first = list.check(&rig.mover);
        let bad = Err(CudaError::BadPair { pair: 1 });
        if call == "cuStreamSynchronize" {
            assert_eq!(first, bad, "it is waited for a second time");
        } else {
            let failed = CudaError::Driver { call, code: 1 };
            assert_eq!(first, Err(failed), "{nth} of {call}");
            assert_eq!(list.check(&rig.mover), bad, "{nth} of {call}");
        }
        assert_eq!(list.check(&rig.mover), Ok(()), "told once");
    }
}

#[test]
fn what_is_wrong_with_a_list_is_told_to_one_of_several_threads() {
    let driver = Driver::new(1);
    let mut rig = Rig::new(&driver, &config());
    let route = rig.route(NEAR, NEAR);
    let mut list = PairList::new(&mut rig.mover, &route, 4).expect("a list");
    let place = list.device_address();
    let bytes: Vec<u8> = [1_u32, 0, 99, 6].map(u32::to_le_bytes).concat();
    driver.stand_in.poke(place, &bytes);
    for round in 0..300 {
        list.enqueue_copies(&rig.mover).expect("put");
        let (list, mover) = (&list, &rig.mover);
        let all = std::sync::Barrier::new(3);
        let check = || {
            all.wait();
            list.check(mover)
        };
        let answers = std::thread::scope(|scope| {
            let threads = [(); 3].map(|()| scope.spawn(check));
            threads.map(|thread| thread.join().expect("no panic"))
        });
        let told = answers.iter().filter(|answer| answer.is_err());
        assert_eq!(told.count(), 1, "round {round}: {answers:?}");
    }
}

/// Bytes that this program has at a page.
static AT_PAGES: AtomicUsize = AtomicUsize::new(0);

struct Counted;

// SAFETY: all that is asked for is passed on.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() >= 4096 {
            AT_PAGES.fetch_add(layout.size(), Ordering::Relaxed);
        }
        // SAFETY: the caller's word.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        if layout.align() >= 4096 {
            AT_PAGES.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        // SAFETY: as above.
        unsafe { System.dealloc(address, layout) };
    }
}

#[global_allocator]
static COUNTED: Counted = Counted;

#[test]
fn memory_that_the_driver_keeps_pinned_is_not_given_back_to_the_allocator() {
    let driver = Driver::new(1);
    let device = CudaDevice::open(0).expect("a device");
    let like = BlockLayout::new(&[Plane::new(0, 4096, 4096)], 1).expect("a layout");
    let pool = || HostPool::allocate_in_pieces(&device, HOST, &like, 2, 4096).expect("memory");
    let before = AT_PAGES.load(Ordering::Relaxed);
    driver.stand_in.fail("cuMemHostUnregister", 1, 1);
    drop(pool());
    assert_eq!(driver.stand_in.live().registrations, 0, "tried again");
    assert_eq!(AT_PAGES.load(Ordering::Relaxed), before);
    // The first of two, and again when it is tried once more.
    driver.stand_in.fail("cuMemHostUnregister", 1, 1);
    driver.stand_in.fail("cuMemHostUnregister", 3, 1);
    drop(pool());
    assert_eq!(driver.stand_in.live().registrations, 1);
    assert_eq!(AT_PAGES.load(Ordering::Relaxed), before + 8192);
    drop(device);
    assert_eq!(driver.stand_in.live().registrations, 0);
}

#[test]
fn memory_in_pieces_goes_back_to_the_allocator_though_a_call_fails() {
    let driver = Driver::new(1);
    let device = CudaDevice::open(0).expect("a device");
    let like = BlockLayout::new(&[Plane::new(0, 4096, 4096)], 1).expect("a layout");
    let pool = || HostPool::allocate_in_pieces(&device, HOST, &like, 2, 4096).expect("memory");
    let before = AT_PAGES.load(Ordering::Relaxed);
    for call in ["cuCtxGetCurrent", "cuThreadExchangeStreamCaptureMode"] {
        for nth in 1.. {
            let (pool, failed) = (pool(), driver.stand_in.failed());
            driver.stand_in.fail(call, nth, 1);
            drop(pool);
            driver.stand_in.forget_failures();
            let after = AT_PAGES.load(Ordering::Relaxed);
            assert_eq!(after, before, "{nth} of {call}");
            if driver.stand_in.failed() == failed {
                assert!(nth > 3, "a look at each piece, and at all");
                break;
            }
        }
    }
    device.check_alive().expect("none of that was for good");
}

#[test]
fn a_kernel_that_goes_wrong_is_told_to_all_who_wait_and_nothing_is_given_back() {
    let driver = Driver::new(1);
    let mut rig = Rig::new(&driver, &config());
    // An engine frees what it had promised to keep.
    let address = driver.allocate(4096).expect("memory");
    let plane = Plane::new(address, 64, 64);
    let id = MemoryId::new(7);
    let layout = BlockLayout::new(&[plane], 4)
        .expect("a layout")
        .in_memory(id);
    rig.fences.track(id, 4).expect("room");
    // SAFETY: it is not there when the copy runs, which the stand-in knows.
    let pool = unsafe { DevicePool::adopt(&rig.device, layout.clone()) };
    rig.mover.add_device(&pool).expect("a new memory");
    let pieces = HostPool::allocate_in_pieces(&rig.device, HOST, &layout, 2, 4096).expect("memory");
    let pages = AT_PAGES.load(Ordering::Relaxed);
    let route = CopyRoute::new(&layout, &layout).expect("a route");
    let plan = route.plan(&[(block(0), block(1))]).expect("a plan");
    let fence = rig.mover.copy(&plan, &mut rig.fences).expect("put");
    driver.free(address).expect("it was there");

    let timeline = rig.mover.own_timeline().clone();
    let other = CudaStream::new(&rig.device).expect("a stream");
    let waited = std::thread::scope(|scope| {
        let threads = [(); 3].map(|()| scope.spawn(|| timeline.wait(fence)));
        threads.map(|thread| thread.join().expect("no panic"))
    });
    let Err(poisoned @ CudaError::Poisoned { code: 700, .. }) = waited[0] else {
        panic!("{waited:?}");
    };
    assert_eq!(waited, [Err(poisoned); 3]);
    assert_eq!(
        rig.mover.completed(),
        Err(poisoned),
        "the fence does not pass"
    );
    assert_eq!(other.synchronize(), Err(poisoned));
    assert_eq!(CudaStream::new(&rig.device).map(drop), Err(poisoned));
    let near = rig.plan(NEAR, NEAR, &[(1, 5)]);
    let refused = rig.mover.copy(&near, &mut rig.fences).map(drop);
    assert_eq!(refused, Err(poisoned));
    let live = driver.stand_in.live();
    drop((pieces, pool, timeline, other));
    let Rig {
        mover,
        near,
        host,
        device,
        ..
    } = rig;
    drop((mover, near, host));
    assert_eq!(driver.stand_in.live(), live);
    assert_eq!(AT_PAGES.load(Ordering::Relaxed), pages);
    drop(device);
}

#[test]
fn a_route_made_anew_for_the_same_layouts_takes_no_more_memory() {
    let driver = Driver::new(1);
    let mut rig = Rig::new(&driver, &config());
    let (near, host) = (rig.near.layout().clone(), rig.host.layout().clone());
    let mut allocations = Vec::new();
    for _ in 0..3 {
        for (from, to) in [(&near, &near), (&near, &host), (&host, &near)] {
            let route = CopyRoute::new(from, to).expect("a route");
            let plan = route.plan(&[(block(1), block(5))]).expect("a plan");
            rig.mover.copy(&plan, &mut rig.fences).expect("room");
            rig.finish();
        }
        allocations.push(driver.stand_in.live());
    }
    assert_eq!(allocations[0], allocations[2]);
}
