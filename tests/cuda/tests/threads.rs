//! Several threads, each with a mover, and one that asks and waits on the timelines of all: blocks have the bytes that the
//! order of the table of fences gives them. `KVB_SEED=n` runs one seed.

mod support;

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

use kvblock::cuda::{
    CudaDevice, CudaError, CudaMover, CudaStream, CudaTimeline, DevicePool, HostPool, MoverConfig,
};
use kvblock::{BlockId, BlockLayout, CopyRoute, Fence, FenceTable, MemoryId, Mover, Plane};
use support::driver::Driver;
use support::random::Random;
use support::seeds::{Named, seeds};

const SEEDS: u64 = 20;
const MOVERS: u64 = 3;
const COPIES: u64 = 60;
const BLOCKS: usize = 10;
const BYTES: usize = 48;

/// What is in order by one lock: the table, and what each block of the device and of the host has.
struct Shared {
    fences: FenceTable,
    content: [[u8; BLOCKS]; 2],
}

/// Copies between device and host, each way.
fn copy_at_random(
    mover: &mut CudaMover,
    layouts: [&BlockLayout; 2],
    shared: &Mutex<Shared>,
    mut random: Random,
) {
    let route = |from: usize, to: usize| CopyRoute::new(layouts[from], layouts[to]);
    let routes = [(0, 0), (0, 1), (1, 0)];
    let routes = routes.map(|(from, to)| (from, to, route(from, to).expect("a route")));
    for _ in 0..COPIES {
        let (from, to, route) = &routes[random.below(3) as usize];
        let mut block = || random.below(BLOCKS as u64) as usize;
        let (source, destination) = (block(), block());
        if from == to && source == destination {
            continue;
        }
        let ids = [(
            BlockId::new(source as u32),
            BlockId::new(destination as u32),
        )];
        let plan = route.plan(&ids).expect("a plan");
        let fence = loop {
            let mut shared = shared.lock().expect("no panic");
            match mover.copy(&plan, &mut shared.fences) {
                Ok(fence) => {
                    shared.content[*to][destination] = shared.content[*from][source];
                    break fence;
                }
                Err(CudaError::Busy { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        };
        if random.below(4) == 0 {
            mover.wait(fence).expect("it passes");
            assert!(mover.completed().expect("alive") >= fence);
        }
    }
}

/// Marks fences on timelines of others, asks for them and waits.
fn look_at_random(timelines: &[CudaTimeline], done: &AtomicBool, mut random: Random) {
    let mut seen = vec![Fence(0); timelines.len()];
    while !done.load(Ordering::Relaxed) {
        let at = random.below(timelines.len() as u64) as usize;
        let timeline = &timelines[at];
        let marked = timeline.mark().expect("alive");
        if random.below(2) == 0 {
            timeline.wait(marked).expect("it passes");
            seen[at] = marked;
        }
        let completed = timeline.completed().expect("alive");
        assert!(completed >= seen[at], "{completed:?} after {:?}", seen[at]);
        seen[at] = completed;
    }
}

#[test]
fn copies_of_several_threads_are_as_if_one_after_another() {
    let driver = Driver::new(0);
    for seed in seeds(SEEDS) {
        let _named = Named(seed);
        driver.again(seed);
        let device = CudaDevice::open(0).expect("a device");
        let plane = Plane::new(0, BYTES as u64, BYTES as u64);
        let offsets = BlockLayout::new(&[plane], BLOCKS).expect("a layout");
        let near = DevicePool::allocate(&device, &offsets).expect("memory");
        let host = MemoryId::new(1);
        let host = HostPool::allocate(&device, host, &offsets, BLOCKS).expect("memory");
        let mut fences = FenceTable::new();
        let mut content = [[0; BLOCKS]; 2];
        for (at, layout) in [near.layout(), host.layout()].into_iter().enumerate() {
            fences.track(layout.memory(), BLOCKS).expect("room");
            for (number, value) in content[at].iter_mut().enumerate() {
                *value = (100 * at + number) as u8;
                let address = layout.address(0, BlockId::new(number as u32));
                put(&driver, at, address.expect("a block"), *value);
            }
        }
        let config = MoverConfig::new().pairs(4).staging(2, 2 * BYTES as u64);
        let mut movers: Vec<_> = (0..MOVERS)
            .map(|_| {
                let stream = CudaStream::new(&device).expect("a stream");
                let mut mover = CudaMover::new(&stream, &mut fences, &config).expect("a mover");
                mover.add_device(&near).expect("known");
                mover.add_host(&host).expect("known");
                mover
            })
            .collect();
        let timelines: Vec<_> = movers
            .iter()
            .map(|mover| mover.own_timeline().clone())
            .collect();
        for mover in &mut movers {
            for timeline in &timelines {
                mover.follow(timeline).expect("one table");
            }
        }
        let shared = Mutex::new(Shared { fences, content });
        let (done, layouts) = (AtomicBool::new(false), [near.layout(), host.layout()]);
        std::thread::scope(|scope| {
            let copying: Vec<_> = (0..)
                .zip(&mut movers)
                .map(|(number, mover)| {
                    let random = Random::new(seed * 10 + number);
                    let shared = &shared;
                    scope.spawn(move || copy_at_random(mover, layouts, shared, random))
                })
                .collect();
            let looking = scope.spawn(|| look_at_random(&timelines, &done, Random::new(seed)));
            for thread in copying {
                thread.join().expect("no panic");
            }
            done.store(true, Ordering::Relaxed);
            looking.join().expect("no panic");
        });
        driver.synchronize_all().expect("alive");
        let content = shared.into_inner().expect("no panic").content;
        for (at, layout) in layouts.into_iter().enumerate() {
            for (number, value) in content[at].iter().enumerate() {
                let address = layout.address(0, BlockId::new(number as u32));
                let found = get(&driver, at, address.expect("a block"));
                assert_eq!(found, [*value; BYTES], "block {number} of memory {at}");
            }
        }
        drop((movers, near, host, timelines, device));
        driver.stand_in.assert_clean();
    }
}

fn put(driver: &Driver, memory: usize, address: u64, value: u8) {
    if memory == 0 {
        return driver.stand_in.poke(address, &[value; BYTES]);
    }
    // SAFETY: a block of the pool, and nothing is under way.
    unsafe { (address as *mut u8).write_bytes(value, BYTES) };
}

fn get(driver: &Driver, memory: usize, address: u64) -> Vec<u8> {
    if memory == 0 {
        return driver.stand_in.peek(address, BYTES);
    }
    // SAFETY: as above.
    unsafe { core::slice::from_raw_parts(address as *const u8, BYTES) }.to_vec()
}
