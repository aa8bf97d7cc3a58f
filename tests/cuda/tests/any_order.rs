//! Calls and drops in any order, some of them in captures and some with calls of the driver that fail: nothing is given back
//! that is under way, nothing races, and at the end nothing is left.
//!
//! What an engine has to do it does: its kernels and graphs wait for what the table of fences says, and the table is told of
//! them. `KVB_SEED=n` runs one seed.

mod support;

use kvblock::cuda::{
    CudaDevice, CudaError, CudaMover, CudaStream, CudaTimeline, DevicePool, HostPool, MoverConfig,
    PairList,
};
use kvblock::{
    Access, BlockId, BlockLayout, CopyPlan, CopyRoute, Fence, FenceTable, MemoryId, Mover, Plane,
    TimelineId,
};
use support::driver::Driver;
use support::random::Random;
use support::seeds::{Named, seeds};
use support::stand_in::Live;

const SEEDS: u64 = 120;
const STEPS: u64 = 60;
const BLOCKS: u32 = 12;
const BYTES: u64 = 64;
/// Timelines of a table.
const TIMELINES: usize = 8;

enum Pool {
    Device(DevicePool),
    Host(HostPool),
}

impl Pool {
    fn layout(&self) -> &BlockLayout {
        match self {
            Self::Device(pool) => pool.layout(),
            Self::Host(pool) => pool.layout(),
        }
    }
}

struct Copier {
    mover: CudaMover,
    /// Memories that it knows, and whether they are the device's.
    known: Vec<(BlockLayout, bool)>,
}

struct List {
    list: PairList,
    route: CopyRoute,
    of: TimelineId,
}

struct Life<'a> {
    driver: &'a Driver,
    random: Random,
    device: CudaDevice,
    fences: FenceTable,
    engine: CudaTimeline,
    /// Of the engine and of every mover that there ever was.
    timelines: Vec<CudaTimeline>,
    pools: Vec<Pool>,
    copiers: Vec<Copier>,
    lists: Vec<List>,
    /// Somebody else's stream, which waits for the legacy default stream, and whether it is being captured.
    theirs: usize,
    captured: bool,
    memories: u32,
    /// How often something was copied.
    copies: u32,
}

/// Whether this may be answered by a sound call on a sound device while calls of the driver fail.
fn expected(error: CudaError) {
    assert!(
        matches!(
            error,
            CudaError::Driver { .. }
                | CudaError::Poisoned { .. }
                | CudaError::OutOfDeviceMemory { .. }
                | CudaError::OutOfHostMemory { .. }
                | CudaError::Busy { .. }
                | CudaError::ListInUse { .. }
        ),
        "{error:?}"
    );
}

impl<'a> Life<'a> {
    fn new(driver: &'a Driver, seed: u64) -> Self {
        let device = CudaDevice::open(0).expect("a device");
        let mut fences = FenceTable::new();
        let stream = CudaStream::new(&device).expect("a stream");
        let engine = CudaTimeline::new(&stream, &mut fences).expect("room");
        Self {
            driver,
            random: Random::new(seed),
            device,
            fences,
            timelines: vec![engine.clone()],
            engine,
            pools: Vec::new(),
            copiers: Vec::new(),
            lists: Vec::new(),
            theirs: driver.blocking_stream(),
            captured: false,
            memories: 0,
            copies: 0,
        }
    }

    fn step(&mut self) -> Result<(), CudaError> {
        match self.random.below(32) {
            0 | 1 => self.new_pool(),
            2 => self.drop_pool(),
            3 | 4 => self.new_copier(),
            5 => self.drop_copier(),
            6..9 => self.new_list(),
            9 | 10 => self.drop_list(),
            11..16 => self.use_list(),
            16..19 => self.write(),
            19 | 20 => self.look(),
            21 => self.add_memories(),
            22 | 23 => self.capture_of_others(),
            _ => self.copy(),
        }
    }

    fn new_pool(&mut self) -> Result<(), CudaError> {
        if self.pools.len() >= 5 {
            return Ok(());
        }
        let id = MemoryId::new(self.memories);
        self.memories += 1;
        let planes = [
            Plane::new(0, BYTES, BYTES),
            Plane::new(1 << 12, BYTES + 16, BYTES),
        ];
        let offsets = BlockLayout::new(&planes, BLOCKS as usize).expect("a layout");
        let (device, blocks) = (&self.device, BLOCKS as usize);
        let pool = match self.random.below(5) {
            0 => Pool::Host(HostPool::allocate(device, id, &offsets, blocks)?),
            1 => Pool::Host(HostPool::allocate_in_pieces(
                device, id, &offsets, blocks, 4096,
            )?),
            _ => Pool::Device(DevicePool::allocate(device, &offsets.in_memory(id))?),
        };
        self.fences.track(id, blocks).expect("room");
        self.pools.push(pool);
        Ok(())
    }

    /// The movers that know it keep it. What the engine does there it waits for.
    fn drop_pool(&mut self) -> Result<(), CudaError> {
        let Some(at) = self.random.place(&self.pools) else {
            return Ok(());
        };
        self.engine.stream().synchronize()?;
        drop(self.pools.swap_remove(at));
        Ok(())
    }

    fn new_copier(&mut self) -> Result<(), CudaError> {
        if self.timelines.len() >= TIMELINES {
            return Ok(());
        }
        // One on the engine's stream now and then, or on the legacy default stream.
        let stream = match self.random.below(6) {
            0 => self.engine.stream().clone(),
            // SAFETY: every context has it.
            1 => unsafe { CudaStream::from_raw(&self.device, core::ptr::null_mut()) },
            _ => CudaStream::new(&self.device)?,
        };
        let config = MoverConfig::new().pairs(6).staging(2, 4 * BYTES);
        let mut mover = CudaMover::new(&stream, &mut self.fences, &config)?;
        let own = mover.own_timeline().clone();
        for timeline in &self.timelines {
            mover.follow(timeline).expect("one table");
        }
        for copier in &mut self.copiers {
            copier.mover.follow(&own).expect("one table");
        }
        self.timelines.push(own);
        self.copiers.push(Copier {
            mover,
            known: Vec::new(),
        });
        self.add_memories()
    }

    fn add_memories(&mut self) -> Result<(), CudaError> {
        for Copier { mover, known } in &mut self.copiers {
            for pool in &self.pools {
                if known.iter().any(|it| it.0 == *pool.layout()) {
                    continue;
                }
                match pool {
                    Pool::Device(pool) => mover.add_device(pool)?,
                    Pool::Host(pool) => mover.add_host(pool)?,
                }
                known.push((pool.layout().clone(), matches!(pool, Pool::Device(_))));
            }
        }
        Ok(())
    }

    fn drop_copier(&mut self) -> Result<(), CudaError> {
        if let Some(at) = self.random.place(&self.copiers) {
            drop(self.copiers.swap_remove(at));
        }
        Ok(())
    }

    fn drop_list(&mut self) -> Result<(), CudaError> {
        if let Some(at) = self.random.place(&self.lists) {
            drop(self.lists.swap_remove(at));
        }
        Ok(())
    }

    /// A route between memories that a copier knows; of the device alone if asked.
    fn route(&mut self, copier: usize, on_device: bool) -> Option<CopyRoute> {
        let known = &self.copiers[copier].known;
        let one = self.random.place(known)?;
        let other = self.random.place(known)?;
        let (from, to) = (&known[one], &known[other]);
        let wanted = if on_device {
            from.1 && to.1
        } else {
            from.1 || to.1
        };
        wanted.then(|| CopyRoute::new(&from.0, &to.0).expect("alike"))
    }

    /// In one wave, for a list.
    fn plan(&mut self, route: &CopyRoute, most: u64) -> CopyPlan {
        let count = 1 + self.random.below(most) as u32;
        let half = BLOCKS / 2;
        let (from, to) = (
            self.random.below(u64::from(half)) as u32,
            self.random.below(u64::from(half)) as u32,
        );
        let pair = |at| {
            let block = |first: u32, start| BlockId::new(start + (first + at) % half);
            (block(from, 0), block(to, half))
        };
        let pairs: Vec<_> = (0..count).map(pair).collect();
        route.plan(&pairs).expect("a plan")
    }

    fn copy(&mut self) -> Result<(), CudaError> {
        let Some(at) = self.random.place(&self.copiers) else {
            return Ok(());
        };
        let Some(route) = self.route(at, false) else {
            return Ok(());
        };
        let plan = self.plan(&route, 5);
        let mover = &mut self.copiers[at].mover;
        mover.copy(&plan, &mut self.fences)?;
        self.copies += 1;
        Ok(())
    }

    fn new_list(&mut self) -> Result<(), CudaError> {
        let Some(at) = self.random.place(&self.copiers) else {
            return Ok(());
        };
        let Some(route) = self.route(at, true) else {
            return Ok(());
        };
        let mover = &mut self.copiers[at].mover;
        let list = PairList::new(mover, &route, 4)?;
        let of = mover.timeline();
        self.lists.push(List { list, route, of });
        Ok(())
    }

    /// Another list than this one and another mover than its, now and then. Answers the place of this one afterwards.
    fn victims(&mut self, at: usize) -> (usize, Option<List>, Option<Copier>) {
        let of = self.lists[at].of;
        let other = |copier: &Copier| copier.mover.timeline() != of;
        let copier = self.copiers.iter().rposition(other);
        let copier = copier.filter(|_| self.random.below(8) == 0);
        let copier = copier.map(|it| self.copiers.swap_remove(it));
        if at == 0 || self.random.below(4) > 0 {
            return (at, None, copier);
        }
        (at - 1, Some(self.lists.remove(at - 1)), copier)
    }

    /// Puts a list into its mover's stream, or captures that and launches it there or in the engine's stream.
    fn use_list(&mut self) -> Result<(), CudaError> {
        let Some(at) = self.random.place(&self.lists) else {
            return Ok(());
        };
        let (at, list, copier) = self.victims(at);
        let victims = (list, copier);
        let of = self.lists[at].of;
        let mover = |copier: &Copier| copier.mover.timeline() == of;
        let Some(copier) = self.copiers.iter().position(mover) else {
            // It can only be dropped.
            return Ok(());
        };
        let route = self.lists[at].route.clone();
        let plan = self.plan(&route, 4);
        let (list, mover) = (&mut self.lists[at].list, &self.copiers[copier].mover);
        let (own, captured) = (mover.own_timeline(), self.random.below(3));
        list.set(&plan, mover)?;
        let by = if captured == 2 { &self.engine } else { own };
        let waits = self.fences.waits_for(&plan, by.id()).expect("tracked");
        by.wait_for(&waits, &self.timelines)?;
        if captured == 0 {
            list.enqueue(mover)?;
        } else {
            let into = by.stream().raw() as usize;
            if !launched_from_a_capture(self.driver, list, mover, victims, into) {
                return Ok(());
            }
        }
        let fence = surely(|| by.mark())?;
        self.fences.record(&plan, by.id(), fence).expect("in order");
        self.copies += 1;
        if captured == 2 {
            // The mover's stream comes behind the engine's.
            let (memory, ids) = (route.destination().memory(), [plan.as_slice()[0].1]);
            let waits = self
                .fences
                .waits_for_blocks(memory, &ids, Access::Read, own.id());
            let waits = waits.expect("tracked");
            surely(|| own.wait_for(&waits, &self.timelines))?;
        }
        surely(|| list.mark(mover))?;
        if self.random.below(3) == 0 {
            list.check(mover)?;
        }
        Ok(())
    }

    /// The engine writes a block.
    fn write(&mut self) -> Result<(), CudaError> {
        let Some(at) = self.random.place(&self.pools) else {
            return Ok(());
        };
        let Pool::Device(pool) = &self.pools[at] else {
            return Ok(());
        };
        let block = BlockId::new(self.random.below(u64::from(BLOCKS)) as u32);
        let (memory, id) = (pool.layout().memory(), self.engine.id());
        let waits = self
            .fences
            .waits_for_blocks(memory, &[block], Access::Write, id)
            .expect("tracked");
        self.engine.wait_for(&waits, &self.timelines)?;
        for plane in 0..2 {
            let address = pool.layout().address(plane, block).expect("a block");
            let stream = self.engine.stream().raw() as usize;
            // One that fails writes nothing.
            let _ = self.driver.fill(address, 7, BYTES as usize, stream);
        }
        let fence = surely(|| self.engine.mark())?;
        self.fences
            .record_blocks(memory, &[block], Access::Write, id, fence)
            .expect("in order");
        Ok(())
    }

    /// Whether the context can be used, which the device may not have been told of.
    fn is_alive(&self) -> bool {
        self.device.memory().is_ok()
    }

    /// Somebody begins a capture, or ends it: nobody may have broken it off.
    fn capture_of_others(&mut self) -> Result<(), CudaError> {
        if !self.captured {
            self.captured = self.driver.begin_capture(self.theirs, 0).is_ok();
            return Ok(());
        }
        let end = || self.driver.end_capture(self.theirs);
        match end().or_else(|code| if code == 700 { Err(code) } else { end() }) {
            Ok(graph) => {
                let destroy = || self.driver.destroy_graph(graph);
                let _ = destroy().or_else(|_| destroy());
                self.captured = false;
            }
            // The context is gone.
            Err(700) => {}
            Err(code) => panic!("it was broken off: {code}"),
        }
        Ok(())
    }

    fn look(&mut self) -> Result<(), CudaError> {
        let Some(at) = self.random.place(&self.copiers) else {
            return Ok(());
        };
        let mover = &mut self.copiers[at].mover;
        let completed = mover.completed()?;
        let last = self.fences.last(mover.timeline()).expect("its own");
        if completed < last && self.random.below(2) == 0 {
            let fence = Fence(completed.0 + 1);
            mover.wait(fence)?;
            assert!(mover.completed()? >= fence);
        }
        self.fences
            .completed(mover.timeline(), completed)
            .expect("its own");
        Ok(())
    }
}

/// What an engine cannot do without: tried again, as one call of the driver fails at most.
fn surely<T>(mut body: impl FnMut() -> Result<T, CudaError>) -> Result<T, CudaError> {
    body().or_else(|_| body())
}

/// Captures a list in its mover's stream, while others are dropped, and launches the graph into this stream: whether that
/// was done.
fn launched_from_a_capture(
    driver: &Driver,
    list: &mut PairList,
    mover: &CudaMover,
    victims: (Option<List>, Option<Copier>),
    into: usize,
) -> bool {
    let own = mover.own_timeline().stream().raw() as usize;
    if driver.begin_capture(own, 0).is_err() {
        return false;
    }
    let put = list.enqueue(mover);
    drop(victims);
    let marked = mover.own_timeline().mark();
    assert!(marked.is_err(), "a fence in a capture: {marked:?}");
    let ended = driver.end_capture(own).or_else(|_| driver.end_capture(own));
    let Ok(graph) = ended else {
        return false;
    };
    let ready = put.is_ok().then(|| driver.instantiate(graph));
    let mut launched = false;
    if let Some(Ok(ready)) = ready {
        launched = driver.launch_graph(ready, into).is_ok();
        let destroy = || driver.destroy_executable(ready);
        let _ = destroy().or_else(|_| destroy());
    }
    let destroy = || driver.destroy_graph(graph);
    let _ = destroy().or_else(|_| destroy());
    launched
}

/// A life of so many steps, in which calls fail with these codes; answers how many copies there were.
fn live(driver: &Driver, seed: u64, codes: &[i32]) -> u32 {
    driver.again(seed);
    let mut life = Life::new(driver, seed);
    for _ in 0..3 {
        life.new_pool().expect("memory");
    }
    for _ in 0..3 {
        life.new_copier().expect("a mover");
    }
    for _ in 0..STEPS {
        if !codes.is_empty() && life.random.below(3) == 0 {
            let code = codes[life.random.below(codes.len() as u64) as usize];
            driver.stand_in.fail("", 1 + life.random.below(20), code);
        }
        let done = life.step();
        driver.stand_in.forget_failures();
        if let Err(error) = done {
            expected(error);
        }
        driver.stand_in.assert_clean();
    }
    let _ = life.engine.stream().synchronize();
    if life.captured && life.random.below(2) == 0 {
        life.capture_of_others().expect("it ends");
    }
    while !(life.pools.is_empty() && life.copiers.is_empty() && life.lists.is_empty()) {
        let dropped = match life.random.below(3) {
            0 => life.drop_pool(),
            1 => life.drop_copier(),
            _ => life.drop_list(),
        };
        if dropped.is_err() {
            // Of a device that failed for good.
            life.pools.pop();
        }
    }
    let (alive, copies) = (life.is_alive(), life.copies);
    if alive {
        if life.captured {
            life.capture_of_others().expect("it ends");
        }
        driver.destroy_stream(life.theirs).expect("a stream");
    }
    drop(life);
    driver.stand_in.assert_clean();
    if alive {
        let ours = Live {
            contexts: 1,
            ..Live::default()
        };
        assert_eq!(driver.stand_in.live(), ours);
    }
    copies
}

fn lives(codes: &[i32]) -> u32 {
    let driver = Driver::new(0);
    let copies = seeds(SEEDS).map(|seed| {
        let _named = Named(seed);
        live(&driver, seed, codes)
    });
    copies.sum()
}

#[test]
fn while_every_call_succeeds() {
    let copies = lives(&[]);
    assert!(copies > 5 * SEEDS as u32 || SEEDS == 1, "{copies} copies");
}

#[test]
fn while_calls_fail_and_succeed_when_tried_again() {
    let copies = lives(&[1, 2, 304]);
    assert!(copies > 5 * SEEDS as u32, "{copies} copies");
}

#[test]
fn while_some_failures_are_for_good() {
    lives(&[1, 2, 1, 2, 304, 700]);
}
