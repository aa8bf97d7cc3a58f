//! A small device with a mover, for tests of order and of failures: every block is known by its bytes.

use core::ptr::NonNull;

use kvblock::cuda::{
    CudaDevice, CudaMover, CudaStream, CudaTimeline, DevicePool, HostPool, MoverConfig,
};
use kvblock::{
    Access, BlockId, BlockLayout, CopyPlan, CopyRoute, Fence, FenceTable, MemoryId, Mover, Plane,
};

use super::driver::Driver;

/// Bytes of a block in each of its two planes.
pub const PLANE: u64 = 256;
/// Blocks of each memory.
pub const BLOCKS: u32 = 24;

/// The device's memory.
pub const NEAR: MemoryId = MemoryId::new(0);
/// The host's.
pub const HOST: MemoryId = MemoryId::new(1);

/// Layout, mover and host memory over a driver that is as new.
#[derive(Debug)]
pub struct Rig<'a> {
    pub driver: &'a Driver,
    pub mover: CudaMover,
    pub fences: FenceTable,
    pub near: DevicePool,
    pub host: HostPool,
    pub device: CudaDevice,
    routes: [[CopyRoute; 2]; 2],
}

/// An engine's stream and its timeline.
#[derive(Debug)]
pub struct Engine {
    pub stream: CudaStream,
    pub timeline: CudaTimeline,
}

/// Small enough for a few copies to fill it, with a ring of two slots of two blocks.
pub fn config() -> MoverConfig {
    MoverConfig::new()
        .pairs(8)
        .thread_blocks(1)
        .staging(2, 4 * PLANE)
}

/// Two planes, far apart.
pub fn offsets() -> BlockLayout {
    let planes = [
        Plane::new(0, PLANE, PLANE),
        Plane::new(1 << 14, PLANE + 64, PLANE),
    ];
    BlockLayout::new(&planes, BLOCKS as usize)
        .expect("a layout")
        .in_memory(NEAR)
}

pub fn block(number: u32) -> BlockId {
    BlockId::new(number)
}

/// What a test puts into a block to know it again.
pub fn tag(number: u32) -> u8 {
    0x20 + number as u8
}

impl<'a> Rig<'a> {
    pub fn new(driver: &'a Driver, config: &MoverConfig) -> Self {
        let device = CudaDevice::open(0).expect("a device");
        let stream = CudaStream::new(&device).expect("a stream");
        let near = DevicePool::allocate(&device, &offsets()).expect("memory");
        let host =
            HostPool::allocate(&device, HOST, near.layout(), BLOCKS as usize).expect("memory");
        let mut fences = FenceTable::new();
        fences.track(NEAR, BLOCKS as usize).expect("room");
        fences.track(HOST, BLOCKS as usize).expect("room");
        let mut mover = CudaMover::new(&stream, &mut fences, config).expect("a mover");
        mover.add_device(&near).expect("a new memory");
        mover.add_host(&host).expect("a new memory");
        let layouts = [near.layout(), host.layout()];
        let route = |from, to| CopyRoute::new(from, to).expect("a route");
        let routes = layouts.map(|from| layouts.map(|to| route(from, to)));
        let mut rig = Self {
            routes,
            driver,
            mover,
            fences,
            near,
            host,
            device,
        };
        for number in 0..BLOCKS {
            rig.set_near(number, tag(number));
            rig.set_host(number, tag(number) + 0x40);
        }
        rig
    }

    /// A further mover over the same memories.
    pub fn second_mover(&mut self) -> CudaMover {
        let stream = CudaStream::new(&self.device).expect("a stream");
        let mut mover = CudaMover::new(&stream, &mut self.fences, &config()).expect("a mover");
        mover.add_device(&self.near).expect("a new memory");
        mover.add_host(&self.host).expect("a new memory");
        mover
    }

    /// An engine's stream, which the mover follows.
    pub fn engine(&mut self) -> Engine {
        let stream = CudaStream::new(&self.device).expect("a stream");
        let timeline = CudaTimeline::new(&stream, &mut self.fences).expect("a timeline");
        self.mover.follow(&timeline).expect("the same device");
        Engine { stream, timeline }
    }

    fn places(layout: &BlockLayout, number: u32) -> impl Iterator<Item = u64> {
        (0..2).map(move |plane| layout.address(plane, block(number)).expect("a block"))
    }

    /// Writes a block of the device at once, whatever is under way.
    pub fn set_near(&mut self, number: u32, value: u8) {
        for place in Self::places(self.near.layout(), number) {
            self.driver.stand_in.poke(place, &[value; PLANE as usize]);
        }
    }

    /// Writes a block of the host at once, and says so.
    pub fn set_host(&mut self, number: u32, value: u8) {
        for place in Self::places(self.host.layout(), number) {
            self.driver
                .stand_in
                .host_access(place as *const u8, PLANE as usize, true);
            let start = NonNull::new(place as *mut u8).expect("an address");
            // SAFETY: a plane of a block of the pool, which nothing else reads or writes in this process.
            unsafe { start.write_bytes(value, PLANE as usize) };
        }
    }

    /// The bytes of a block of the device as they are now.
    pub fn near(&self, number: u32) -> Vec<u8> {
        let bytes = |place| self.driver.stand_in.peek(place, PLANE as usize);
        Self::places(self.near.layout(), number)
            .flat_map(bytes)
            .collect()
    }

    /// The bytes of a block of the host as they are now.
    pub fn host(&self, number: u32) -> Vec<u8> {
        let bytes = |place: u64| {
            // SAFETY: a plane of a block of the pool.
            unsafe { core::slice::from_raw_parts(place as *const u8, PLANE as usize) }.to_vec()
        };
        Self::places(self.host.layout(), number)
            .flat_map(bytes)
            .collect()
    }

    pub fn near_is(&self, number: u32, value: u8) -> bool {
        self.near(number) == [value; 2 * PLANE as usize]
    }

    pub fn host_is(&self, number: u32, value: u8) -> bool {
        self.host(number) == [value; 2 * PLANE as usize]
    }

    /// The route between two memories, the same one each time.
    pub fn route(&self, from: MemoryId, to: MemoryId) -> CopyRoute {
        self.routes[from.get() as usize][to.get() as usize].clone()
    }

    pub fn plan(&self, from: MemoryId, to: MemoryId, pairs: &[(u32, u32)]) -> CopyPlan {
        let pairs: Vec<_> = pairs
            .iter()
            .map(|pair| (block(pair.0), block(pair.1)))
            .collect();
        self.route(from, to).plan(&pairs).expect("a plan")
    }

    pub fn copy(&mut self, from: MemoryId, to: MemoryId, pairs: &[(u32, u32)]) -> Fence {
        let plan = self.plan(from, to, pairs);
        self.mover.copy(&plan, &mut self.fences).expect("a copy")
    }

    /// An engine's kernel writes blocks, and the table is told.
    pub fn engine_writes(&mut self, engine: &Engine, blocks: &[u32], value: u8) {
        for number in blocks {
            for place in Self::places(self.near.layout(), *number) {
                self.driver
                    .fill(place, value, PLANE as usize, engine.stream.raw() as usize)
                    .expect("a fill");
            }
        }
        self.record(engine, blocks, Access::Write);
    }

    /// An engine's kernel copies a block to another that only it uses, and the table is told.
    pub fn engine_reads(&mut self, engine: &Engine, from: u32, to: u32) {
        let stream = engine.stream.raw() as usize;
        for (from, to) in
            Self::places(self.near.layout(), from).zip(Self::places(self.near.layout(), to))
        {
            self.driver
                .copy(to, from, PLANE as usize, stream)
                .expect("a copy");
        }
        self.record(engine, &[from], Access::Read);
    }

    fn record(&mut self, engine: &Engine, blocks: &[u32], access: Access) {
        let fence = engine.timeline.mark().expect("a fence");
        let blocks: Vec<_> = blocks.iter().map(|number| block(*number)).collect();
        self.fences
            .record_blocks(NEAR, &blocks, access, engine.timeline.id(), fence)
            .expect("tracked");
    }

    /// The engine's stream waits for what the table says of a block.
    pub fn engine_waits(&self, engine: &Engine, number: u32, access: Access) {
        let waits = self
            .fences
            .waits_for_blocks(NEAR, &[block(number)], access, engine.timeline.id())
            .expect("tracked");
        engine
            .timeline
            .wait_for(&waits, [self.mover.own_timeline()])
            .expect("known");
    }

    pub fn finish(&self) {
        self.driver.synchronize_all().expect("alive");
    }
}
