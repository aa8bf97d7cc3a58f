//! A failure at every call of the driver: of a whole life of a device, each call is made to fail once, with codes that
//! pass and with codes that end everything.
//!
//! The error says what happened; nothing of a failed copy is under way any more; what failed works when it is tried
//! again, with the right bytes; at the end nothing is left behind. After a code that ends everything each call says so
//! and names the first cause, and nothing is given back to a pool.

mod support;

use core::ptr::NonNull;

use kvblock::cuda::{
    CudaDevice, CudaError, CudaMover, CudaStream, CudaTimeline, DevicePool, HostPool, PairList,
};
use kvblock::{
    BlockId, BlockLayout, BlockPool, CopyRoute, Fence, FenceTable, MemoryId, Mover, Plane,
    PoolConfig,
};
use support::driver::Driver;
use support::rig::{BLOCKS, HOST, NEAR, PLANE, block, config, offsets};
use support::stand_in::{Live, StandIn};

const FAR: MemoryId = MemoryId::new(2);
const PIECES: MemoryId = MemoryId::new(3);
const CALLERS: MemoryId = MemoryId::new(4);

/// The library poisons the device after these; the others pass.
const FOR_GOOD: [i32; 2] = [700, 999];

/// The device was poisoned.
#[derive(Debug)]
struct Poisoned;

/// What is tried, and how the failure is judged.
struct Life<'a> {
    driver: &'a Driver,
    /// Which call fails, counted from here on, and with which code.
    failing: Option<(u64, i32)>,
    /// Calls before the first that counts.
    before: u64,
}

impl<'a> Life<'a> {
    fn new(driver: &'a Driver, failing: Option<(u64, i32)>) -> Self {
        driver.again(failing.map_or(0, |(nth, _)| nth));
        driver.stand_in.set_total_memory(1 << 22);
        if let Some((nth, code)) = failing {
            driver.stand_in.fail("", nth, code);
        }
        Self {
            driver,
            failing,
            before: driver.stand_in.calls(""),
        }
    }

    fn stand_in(&self) -> &'a StandIn {
        &self.driver.stand_in
    }

    /// The call that fails.
    fn failing_call(&self) -> String {
        self.failing.map_or_else(String::new, |(nth, _)| {
            self.stand_in().call(self.before + nth - 1)
        })
    }

    /// Tries, and tries again if that fails for the reason that was planned.
    fn attempt<T>(
        &self,
        what: &str,
        mut body: impl FnMut() -> Result<T, CudaError>,
    ) -> Result<T, Poisoned> {
        let failed = self.stand_in().failed();
        let error = match body() {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        if let CudaError::Poisoned { code, .. } = error {
            // Told here, or by a call whose answer nobody could be told.
            assert_eq!(self.stand_in().failed(), 1, "{what}: {error}");
            assert!(FOR_GOOD.contains(&(code as i32)), "{what}: {error}");
            return Err(Poisoned);
        }
        assert_eq!(self.stand_in().failed(), failed + 1, "{what}: {error}");
        if let (CudaError::Driver { code, .. }, "open") = (error, what) {
            // There is no device yet that could be poisoned.
            if FOR_GOOD.contains(&(code as i32)) {
                return Err(Poisoned);
            }
        }
        self.judge(what, error);
        match body() {
            Ok(done) => Ok(done),
            Err(error) => panic!("{what}, a second time: {error}"),
        }
    }

    /// The error is the right one for the call and the code.
    fn judge(&self, what: &str, error: CudaError) {
        let (call, code) = (self.failing_call(), self.failing.expect("planned").1);
        let right = match error {
            CudaError::OutOfDeviceMemory { asked, free, total } => {
                call == "cuMemAlloc_v2"
                    && code == 2
                    && asked > 0
                    && free <= total
                    && total == 1 << 22
            }
            CudaError::OutOfHostMemory { asked } => {
                ["cuMemHostAlloc", "cuMemHostRegister_v2"].contains(&&*call)
                    && code == 2
                    && asked > 0
            }
            CudaError::Driver {
                call: told,
                code: found,
            } => told == call && found as i32 == code && !FOR_GOOD.contains(&code),
            _ => false,
        };
        assert!(right, "{what}: {error:?} for {code} at {call}");
    }

    /// A call of the test's own, which is not the library's to answer for.
    fn own<T>(&self, mut body: impl FnMut() -> Result<T, i32>) -> Result<T, i32> {
        // Of the codes, this one ends the context here.
        body().or_else(|code| if code == 700 { Err(code) } else { body() })
    }
}

/// Everything that is made, in the order of its making.
struct World {
    device: CudaDevice,
    stream: CudaStream,
    near: DevicePool,
    far: DevicePool,
    host: HostPool,
    pieces: HostPool,
    callers: HostPool,
    engine: CudaTimeline,
    mover: CudaMover,
    list: Option<PairList>,
    /// Of the list.
    route: CopyRoute,
    fences: FenceTable,
    /// What `callers` is in; goes last.
    memory: Vec<u8>,
}

fn far() -> BlockLayout {
    BlockLayout::new(
        &[
            Plane::new(64, PLANE + 32, PLANE),
            Plane::new(1 << 15, PLANE, PLANE),
        ],
        BLOCKS as usize,
    )
    .expect("a layout")
    .in_memory(FAR)
}

impl World {
    fn new(life: &Life<'_>) -> Result<Self, Poisoned> {
        let blocks = BLOCKS as usize;
        let device = life.attempt("open", || CudaDevice::open(0))?;
        let stream = life.attempt("stream", || CudaStream::new(&device))?;
        let near = life.attempt("device pool", || DevicePool::allocate(&device, &offsets()))?;
        let far = life.attempt("device pool", || DevicePool::allocate(&device, &far()))?;
        let like = near.layout();
        let host = life.attempt("host pool", || {
            HostPool::allocate(&device, HOST, like, blocks)
        })?;
        let pieces = life.attempt("host pool in pieces", || {
            HostPool::allocate_in_pieces(&device, PIECES, like, blocks, 4096)
        })?;
        let bytes = HostPool::bytes(like, blocks).expect("a layout") as usize;
        let mut memory = vec![0; bytes + 4096];
        let base = NonNull::new(memory.as_mut_ptr()).expect("an address");
        // SAFETY: there are as many bytes and more, and they go last.
        let callers = life.attempt("registered pool", || unsafe {
            HostPool::register(&device, CALLERS, like, blocks, base, 8192)
        })?;
        let route = CopyRoute::new(near.layout(), far.layout()).expect("a route");
        let mut fences = FenceTable::new();
        for memory in [NEAR, FAR, HOST, PIECES, CALLERS] {
            fences.track(memory, blocks).expect("room");
        }
        let mut mover =
            life.attempt("mover", || CudaMover::new(&stream, &mut fences, &config()))?;
        for pool in [&near, &far] {
            life.attempt("memory", || mover.add_device(pool))?;
        }
        for pool in [&host, &pieces, &callers] {
            life.attempt("memory", || mover.add_host(pool))?;
        }
        let other = life.attempt("stream", || CudaStream::new(&device))?;
        let engine = life.attempt("timeline", || CudaTimeline::new(&other, &mut fences))?;
        life.attempt("follow", || mover.follow(&engine))?;
        Ok(Self {
            device,
            stream,
            near,
            far,
            host,
            pieces,
            callers,
            engine,
            mover,
            list: None,
            route,
            fences,
            memory,
        })
    }

    fn layout(&self, memory: MemoryId) -> (&BlockLayout, bool) {
        match memory {
            NEAR => (self.near.layout(), true),
            FAR => (self.far.layout(), true),
            HOST => (self.host.layout(), false),
            PIECES => (self.pieces.layout(), false),
            _ => (self.callers.layout(), false),
        }
    }

    /// Writes a block at once, whatever is under way.
    fn set(&self, stand_in: &StandIn, memory: MemoryId, number: u32, value: u8) {
        let (layout, on_device) = self.layout(memory);
        for plane in 0..2 {
            let place = layout.address(plane, block(number)).expect("a block");
            if on_device {
                stand_in.poke(place, &[value; PLANE as usize]);
            } else {
                // SAFETY: a plane of a block of a pool.
                unsafe { (place as *mut u8).write_bytes(value, PLANE as usize) };
            }
        }
    }

    fn is(&self, stand_in: &StandIn, memory: MemoryId, number: u32, value: u8) -> bool {
        let (layout, on_device) = self.layout(memory);
        (0..2).all(|plane| {
            let place = layout.address(plane, block(number)).expect("a block");
            let found = if on_device {
                stand_in.peek(place, PLANE as usize)
            } else {
                // SAFETY: a plane of a block of a pool.
                unsafe { core::slice::from_raw_parts(place as *const u8, PLANE as usize) }.to_vec()
            };
            found == [value; PLANE as usize]
        })
    }

    /// Copies blocks that hold `value` and more, and looks at every byte.
    fn copy(
        &mut self,
        life: &Life<'_>,
        from: MemoryId,
        to: MemoryId,
        pairs: &[(u32, u32)],
    ) -> Result<Fence, Poisoned> {
        let stand_in = life.stand_in();
        let route = CopyRoute::new(self.layout(from).0, self.layout(to).0).expect("a route");
        let blocks: Vec<_> = pairs
            .iter()
            .map(|pair| (block(pair.0), block(pair.1)))
            .collect();
        let plan = route.plan(&blocks).expect("a plan");
        let tags: Vec<u8> = pairs.iter().map(|pair| 0x10 + pair.0 as u8).collect();
        // As if one after another: a source that an earlier pair overwrites has that one's bytes.
        let mut right = tags.clone();
        for (at, pair) in pairs.iter().enumerate() {
            if let Some(earlier) = pairs[..at]
                .iter()
                .position(|earlier| from == to && earlier.1 == pair.0)
            {
                right[at] = right[earlier];
            }
        }
        let prepare = |world: &Self| {
            for (pair, tag) in pairs.iter().zip(&tags) {
                world.set(stand_in, to, pair.1, 0xee);
                world.set(stand_in, from, pair.0, *tag);
            }
        };
        assert_eq!(stand_in.run_all(), 0);
        prepare(self);
        let mut tried = 0;
        let fence = loop {
            let failed = stand_in.failed();
            let engine = self.engine.mark();
            if let Ok(engine) = engine {
                let sources: Vec<BlockId> = blocks.iter().map(|pair| pair.0).collect();
                let told = self.fences.record_blocks(
                    from,
                    &sources,
                    kvblock::Access::Write,
                    self.engine.id(),
                    engine,
                );
                told.expect("tracked");
            }
            match engine.and_then(|_| self.mover.copy(&plan, &mut self.fences)) {
                Ok(fence) => break fence,
                Err(CudaError::Poisoned { .. }) => return Err(Poisoned),
                Err(error) => {
                    tried += 1;
                    assert!(
                        tried == 1 && stand_in.failed() == failed + 1,
                        "copy from {from} to {to}: {error}"
                    );
                    life.judge("copy", error);
                    // Nothing of it is under way: what is written to its blocks now stays, and sources are as they were.
                    if from != to {
                        assert!(
                            pairs
                                .iter()
                                .zip(&tags)
                                .all(|(pair, tag)| self.is(stand_in, from, pair.0, *tag)),
                            "a source was changed"
                        );
                    }
                    for (_, to_block) in pairs {
                        self.set(stand_in, to, *to_block, 0xdd);
                    }
                    assert_eq!(stand_in.run_all(), 0);
                    assert!(
                        pairs
                            .iter()
                            .all(|(_, number)| self.is(stand_in, to, *number, 0xdd)),
                        "a failed copy goes on"
                    );
                    prepare(self);
                }
            }
        };
        life.attempt("wait", || self.mover.wait(fence))?;
        for (pair, tag) in pairs.iter().zip(&right) {
            assert!(
                self.is(stand_in, to, pair.1, *tag),
                "from {from} to {to}, {pair:?}"
            );
        }
        Ok(fence)
    }

    fn copies(&mut self, life: &Life<'_>) -> Result<(), Poisoned> {
        self.copy(life, NEAR, FAR, &[(0, 3), (1, 4), (2, 9)])?;
        self.copy(life, NEAR, NEAR, &[(0, 1), (1, 2), (2, 3)])?;
        // Three batches of the staging ring, then two.
        for (host, blocks) in [(HOST, 5), (PIECES, 3), (CALLERS, 3)] {
            let out: Vec<_> = (0..blocks).map(|from| (from, from + 5)).collect();
            self.copy(life, NEAR, host, &out)?;
            self.copy(life, host, FAR, &[(5, 0), (6, 1), (7, 2)])?;
        }
        life.attempt("completed", || self.mover.completed())
            .map(drop)
    }

    /// A list, captured once and replayed with other pairs.
    fn graphs(&mut self, life: &Life<'_>) -> Result<(), Poisoned> {
        let (driver, stand_in) = (life.driver, life.stand_in());
        let route = self.route.clone();
        let mut list = life.attempt("list", || PairList::new(&mut self.mover, &route, 4))?;
        let stream = self.stream.raw() as usize;
        let executable = loop {
            let Ok(()) = life.own(|| driver.begin_capture(stream, 1)) else {
                break None;
            };
            let put = list.enqueue(&self.mover);
            let graph = life.own(|| driver.end_capture(stream));
            if let Err(error) = put {
                if let Ok(graph) = graph {
                    let _ = life.own(|| driver.destroy_graph(graph));
                }
                if matches!(error, CudaError::Poisoned { .. }) {
                    break None;
                }
                life.judge("enqueue", error);
                continue;
            }
            let Ok(graph) = graph else { break None };
            let made = life.own(|| driver.instantiate(graph));
            let _ = life.own(|| driver.destroy_graph(graph));
            break made.ok();
        };
        if let Some(executable) = executable {
            let replayed = self.replays(life, &route, &mut list, executable);
            let _ = life.own(|| driver.destroy_executable(executable));
            replayed?;
        }
        let checked = life.attempt("check", || list.check(&self.mover));
        self.list = Some(list);
        assert_eq!(stand_in.races(), 0, "{}", stand_in.first_race());
        checked
    }

    fn replays(
        &mut self,
        life: &Life<'_>,
        route: &CopyRoute,
        list: &mut PairList,
        executable: usize,
    ) -> Result<(), Poisoned> {
        let stream = self.stream.raw() as usize;
        for pairs in [&[(3, 3), (4, 2)][..], &[], &[(1, 7)]] {
            let blocks: Vec<_> = pairs
                .iter()
                .map(|pair| (block(pair.0), block(pair.1)))
                .collect();
            let plan = route.plan(&blocks).expect("a plan");
            life.attempt("set", || list.set(&plan, &self.mover))?;
            for pair in pairs {
                self.set(life.stand_in(), NEAR, pair.0, 0x60 + pair.0 as u8);
            }
            if life
                .own(|| life.driver.launch_graph(executable, stream))
                .is_err()
            {
                return Ok(());
            }
            let fence = life.attempt("mark", || list.mark(&self.mover))?;
            life.attempt("wait", || self.mover.wait(fence))?;
            for pair in pairs {
                assert!(
                    self.is(life.stand_in(), FAR, pair.1, 0x60 + pair.0 as u8),
                    "{pair:?}"
                );
            }
        }
        Ok(())
    }

    /// Every call says that the device failed for good, and why.
    fn check_poisoned(&mut self, life: &Life<'_>) {
        let Err(cause @ CudaError::Poisoned { code, .. }) = self.device.check_alive() else {
            panic!("alive after {:?}", life.failing);
        };
        assert_eq!(Some(code as i32), life.failing.map(|(_, code)| code));
        let cause = Err(cause);
        let route = self.route.clone();
        let plan = route.plan(&[(block(0), block(1))]).expect("a plan");
        assert_eq!(self.mover.copy(&plan, &mut self.fences).map(drop), cause);
        assert_eq!(self.mover.completed().map(drop), cause);
        assert_eq!(self.mover.wait(Fence(0)).map(drop), cause);
        assert_eq!(self.mover.prepare(&route), cause);
        assert_eq!(self.engine.mark().map(drop), cause);
        assert_eq!(self.engine.completed().map(drop), cause);
        assert_eq!(self.stream.synchronize(), cause);
        assert_eq!(self.device.memory().map(drop), cause);
        assert_eq!(CudaStream::new(&self.device).map(drop), cause);
        assert_eq!(DevicePool::allocate(&self.device, &far()).map(drop), cause);
        assert_eq!(
            HostPool::allocate(&self.device, HOST, self.near.layout(), 2).map(drop),
            cause
        );
        assert_eq!(PairList::new(&mut self.mover, &route, 4).map(drop), cause);
        if let Some(list) = &mut self.list {
            assert_eq!(list.enqueue(&self.mover), cause);
            assert_eq!(list.check(&self.mover), cause);
            assert_eq!(list.set(&plan, &self.mover), cause);
        }
    }

    /// Drops everything in one of some orders.
    fn end(self, order: u64) {
        let Self {
            device,
            stream,
            near,
            far,
            host,
            pieces,
            callers,
            engine,
            mover,
            list,
            memory,
            ..
        } = self;
        match order % 3 {
            0 => {
                drop((device, stream, near, far));
                drop((host, pieces, callers));
                drop(engine);
                drop(mover);
                drop(list);
            }
            1 => {
                drop(list);
                drop(mover);
                drop((engine, callers, pieces, host));
                drop((far, near, stream, device));
            }
            _ => {
                drop((mover, engine));
                drop((host, near, list, callers, far));
                drop((stream, pieces, device));
            }
        }
        drop(memory);
    }
}

/// A block of a pool that waits for a fence of the mover.
fn released_behind(world: &mut World, life: &Life<'_>) -> Result<(), Poisoned> {
    let pool = BlockPool::new(&PoolConfig::new(1, 16)).expect("a pool");
    let mut worker = pool.worker().expect("a worker");
    let mut lane = pool.lane();
    let held = pool
        .reserve(1)
        .expect("free")
        .take(&mut worker, 1)
        .expect("promised");
    let fence = world.copy(life, NEAR, FAR, &[(held.ids()[0].get(), 5)]);
    held.release_after(&mut worker, &mut lane, Fence(u64::MAX - 1))
        .expect("the same pool");
    let passed = fence.and_then(|_| life.attempt("completed", || world.mover.completed()));
    if let Ok(passed) = &passed {
        lane.complete(*passed);
    }
    assert!(pool.reserve(1).is_err(), "its fence has not passed");
    assert_eq!(lane.len(), 1);
    passed.map(drop)
}

fn whole_life(life: &Life<'_>) -> Option<World> {
    let mut world = match World::new(life) {
        Ok(world) => world,
        Err(Poisoned) => return None,
    };
    let lived = world
        .copies(life)
        .and_then(|()| released_behind(&mut world, life))
        .and_then(|()| world.graphs(life));
    if lived.is_err() {
        world.check_poisoned(life);
    }
    Some(world)
}

/// Runs a life with one failure; answers how many calls it took.
fn live(driver: &Driver, failing: Option<(u64, i32)>, order: u64) -> u64 {
    let life = Life::new(driver, failing);
    let name = format!("{failing:?}");
    let _named = Named(&name);
    if let Some(world) = whole_life(&life) {
        world.end(order);
    }
    let stand_in = life.stand_in();
    let calls = stand_in.calls("") - life.before;
    assert_eq!(
        stand_in.failed(),
        u64::from(failing.is_some_and(|(nth, _)| nth <= calls))
    );
    let for_good = failing.is_some_and(|(_, code)| FOR_GOOD.contains(&code));
    if !for_good {
        // The context is the test's own.
        assert_eq!(
            stand_in.live(),
            Live {
                contexts: 1,
                ..Live::default()
            },
            "at {}",
            life.failing_call()
        );
    }
    stand_in.assert_clean();
    calls
}

/// Says which failure it was.
struct Named<'a>(&'a str);

impl Drop for Named<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("with the failure {}", self.0);
        }
    }
}

fn every_call_fails_once(code: i32) {
    let driver = Driver::new(0);
    let calls = [0, 1, 2].map(|order| live(&driver, None, order));
    println!("{} calls, each failing with {code}", calls[0]);
    assert!(calls[0] > 200);
    for order in 0..3 {
        // Orders differ only at the end.
        let first = if order == 0 { 1 } else { calls[0] - 80 };
        for nth in first..=calls[order as usize] {
            live(&driver, Some((nth, code)), order);
        }
    }
}

#[test]
fn with_an_invalid_value() {
    every_call_fails_once(1);
}

#[test]
fn with_no_memory() {
    every_call_fails_once(2);
}

#[test]
fn with_an_illegal_address() {
    every_call_fails_once(700);
}

#[test]
fn with_an_unknown_error() {
    every_call_fails_once(999);
}
