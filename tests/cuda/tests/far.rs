//! Memories of many gigabytes, as real pools are: an offset that is cut to 32 bits anywhere on its way, in layouts, tables,
//! PTX or transfers, is a wrong byte here.
//!
//! The memories are sparse: what nobody writes costs nothing. Blocks are copied that lie on both sides of 2, 4 and 8 GiB,
//! and all pages that were written are compared with those of the host's mover.

mod support;

use core::ptr::NonNull;

use kvblock::cuda::{
    CudaDevice, CudaMover, CudaStream, DevicePool, HostPool, MoverConfig, PairList,
};
use kvblock::{
    BlockId, BlockLayout, CopyRoute, FenceTable, HeadSlice, HostMemory, HostMover, MemoryId, Mover,
    Order, Plane, Tile,
};
use support::driver::Driver;
use support::random::Random;

const GIB: u64 = 1 << 30;
const PAGE: u64 = 4096;
/// Noise before and behind a block, where it is not another block's.
const AROUND: u64 = 100;
/// Host memory is pinned in pieces of so many bytes.
const PIECE: u64 = 3 * GIB / 4 + PAGE;
/// What an offset of 31 or 32 bits ends at and twice that, and the end of a piece behind that.
const EDGES: [u64; 4] = [2 * GIB, 4 * GIB, 6 * PIECE, 8 * GIB];
const WIDTHS: [u32; 5] = [16, 8, 4, 2, 1];

/// A memory that both movers have.
struct Known {
    id: MemoryId,
    start: u64,
    end: u64,
    on_device: bool,
}

struct World<'a> {
    driver: &'a Driver,
    device: CudaDevice,
    mover: CudaMover,
    fences: FenceTable,
    twin: HostMover,
    twin_fences: FenceTable,
    known: Vec<Known>,
    noise: Random,
}

impl<'a> World<'a> {
    fn new(driver: &'a Driver, seed: u64) -> Self {
        driver.again(seed);
        driver.stand_in.set_total_memory(1 << 40);
        driver.stand_in.set_sparse_from(1 << 30);
        let device = CudaDevice::open(0).expect("a device");
        let stream = CudaStream::new(&device).expect("a stream");
        // The second slot is across 4 GiB of the ring.
        let config = MoverConfig::new().pairs(64).staging(3, 3 * GIB);
        let (mut fences, mut twin_fences) = (FenceTable::new(), FenceTable::new());
        let mover = CudaMover::new(&stream, &mut fences, &config).expect("a mover");
        let twin = HostMover::new(twin_fences.add_timeline().expect("room"));
        Self {
            driver,
            device,
            mover,
            fences,
            twin,
            twin_fences,
            known: Vec::new(),
            noise: Random::new(seed),
        }
    }

    fn next_id(&self) -> MemoryId {
        MemoryId::new(self.known.len() as u32)
    }

    fn add_device(&mut self, offsets: BlockLayout) -> BlockLayout {
        let offsets = offsets.in_memory(self.next_id());
        let pool = DevicePool::allocate(&self.device, &offsets).expect("memory");
        self.mover.add_device(&pool).expect("a new memory");
        self.remember(pool.layout(), true);
        pool.layout().clone()
    }

    fn add_host(&mut self, pool: &HostPool) -> BlockLayout {
        self.mover.add_host(pool).expect("a new memory");
        self.remember(pool.layout(), false);
        pool.layout().clone()
    }

    fn remember(&mut self, layout: &BlockLayout, on_device: bool) {
        let (id, blocks) = (layout.memory(), layout.blocks());
        let start = layout.extents().map(|it| it.0).min().expect("planes");
        let end = layout.extents().map(|it| it.1).max().expect("planes");
        assert!(end - start > 4 * GIB, "{} bytes", end - start);
        self.fences.track(id, blocks).expect("room");
        self.twin_fences.track(id, blocks).expect("room");
        let bytes = (end - start) as usize;
        let place = NonNull::new(self.driver.pinned(bytes)).expect("an address");
        // SAFETY: there are as many bytes, all zero, until the driver is as new again, and only the twin touches them.
        let memory = unsafe { HostMemory::from_raw(place, bytes) }.at(start);
        self.twin.register(id, memory).expect("a new memory");
        self.known.push(Known {
            id,
            start,
            end,
            on_device,
        });
    }

    fn memory(&self, id: MemoryId) -> &Known {
        &self.known[id.get() as usize]
    }

    /// Noise in a block and around it, on both sides the same.
    fn fill(&mut self, layout: &BlockLayout, block: BlockId) {
        let &Known { id, start, end, .. } = self.memory(layout.memory());
        for (at, plane) in layout.planes().iter().enumerate() {
            let address = layout.address(at, block).expect("a block");
            let from = (address - AROUND.min(address - start)).max(start);
            let bytes = (address + plane.block_bytes + AROUND).min(end) - from;
            let noise = self.noise.bytes(bytes as usize);
            self.put(id, from, &noise);
            let twin = self.twin.bytes_mut(id, from, bytes);
            twin.expect("registered").copy_from_slice(&noise);
        }
    }

    fn put(&self, id: MemoryId, address: u64, bytes: &[u8]) {
        if self.memory(id).on_device {
            return self.driver.stand_in.poke(address, bytes);
        }
        let place = address as *mut u8;
        // SAFETY: within the pool, and no copy is under way.
        unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    fn get(&self, id: MemoryId, address: u64, bytes: u64) -> Vec<u8> {
        if self.memory(id).on_device {
            return self.driver.stand_in.peek(address, bytes as usize);
        }
        // SAFETY: within the pool, and no copy is under way.
        unsafe { core::slice::from_raw_parts(address as *const u8, bytes as usize) }.to_vec()
    }

    /// Copies far blocks of a route to other far ones, after noise in all of them, and compares.
    fn copy(&mut self, route: &CopyRoute) {
        let pairs = pairs(route);
        for &(from, to) in &pairs {
            self.fill(route.source(), from);
            self.fill(route.destination(), to);
        }
        let plan = route.plan(&pairs).expect("a plan");
        let fence = self.mover.copy(&plan, &mut self.fences).expect("a copy");
        self.mover.wait(fence).expect("it passes");
        let copied = self.twin.copy(&plan, &mut self.twin_fences);
        copied.expect("the host's mover takes what the device's does");
        self.compare(route.destination(), pairs.iter().map(|pair| pair.1));
    }

    /// All blocks that were to be written, and all pages that were.
    fn compare(&self, layout: &BlockLayout, blocks: impl Iterator<Item = BlockId>) {
        for block in blocks {
            for (at, plane) in layout.planes().iter().enumerate() {
                let address = layout.address(at, block).expect("a block");
                self.alike(layout.memory(), address, address + plane.block_bytes);
            }
        }
        for &Known { id, start, end, .. } in &self.known {
            for page in self.driver.stand_in.written(start..end) {
                self.alike(id, page.max(start), (page + PAGE).min(end));
            }
        }
        self.driver.stand_in.assert_clean();
    }

    fn alike(&self, id: MemoryId, start: u64, end: u64) {
        let twin = self.twin.bytes(id, start, end - start);
        let (right, found) = (twin.expect("registered"), self.get(id, start, end - start));
        let wrong = found
            .iter()
            .zip(right)
            .position(|(one, other)| one != other);
        let offset = wrong.map(|at| start + at as u64 - self.memory(id).start);
        assert_eq!(offset, None, "first wrong offset of {id:?}");
    }
}

/// The first block and the last, and of each plane those on both sides of each edge of its memory.
fn far_blocks(layout: &BlockLayout) -> Vec<BlockId> {
    let start = layout.extents().map(|it| it.0).min().expect("planes");
    let last = layout.blocks() as u64 - 1;
    let mut found = vec![0, last];
    for plane in layout.planes() {
        for edge in EDGES {
            let Some(past) = (start + edge).checked_sub(plane.base) else {
                continue;
            };
            let behind = past / plane.block_stride;
            if (1..=last).contains(&behind) {
                found.extend([behind - 1, behind, (behind + 1).min(last)]);
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
        .into_iter()
        .map(|it| BlockId::new(it as u32))
        .collect()
}

/// Near blocks go to far ones and the other way round; in place, the nearer half to the other.
fn pairs(route: &CopyRoute) -> Vec<(BlockId, BlockId)> {
    let (from, to) = (far_blocks(route.source()), far_blocks(route.destination()));
    if route.is_in_place() {
        let (near, far) = from.split_at(from.len() / 2);
        return near.iter().copied().zip(far.iter().copied()).collect();
    }
    let sources = from.into_iter().cycle();
    sources.zip(to.into_iter().rev()).collect()
}

/// A tile of a chunk of a kernel and some, whose vectors are as wide as an access.
fn tile(order: Order, width: u32) -> Tile {
    Tile {
        order,
        parts: 2,
        positions: 4,
        heads: 3,
        head_bytes: 720 / width * width + width,
    }
}

/// Planes with these bases and strides, both off by what makes an access no wider than `width`.
fn planes(width: u32, tile: Tile, blocks: usize, places: [(u64, u64); 3]) -> BlockLayout {
    let (off, bytes) = (u64::from(width), tile.bytes().expect("few"));
    let plane = |(base, stride)| Plane::new(base + off, stride + off, bytes).tile(tile);
    BlockLayout::new(&places.map(plane), blocks).expect("a layout")
}

/// A few blocks, in one plane half a gigabyte from each other, in one five; and a plane behind both.
fn wide(width: u32, order: Order) -> BlockLayout {
    let places = [(0, GIB / 2), (6 * GIB, 5 * GIB), (70 * GIB, 1 << 20)];
    planes(width, tile(order, width), 11, places)
}

/// So many blocks that the last ones are beyond 4 GiB, in each of three planes.
fn long(width: u32, order: Order) -> BlockLayout {
    let places = [(0, 20_480), (5 * GIB, 24_576), (12 * GIB, 20_480)];
    planes(width, tile(order, width), 230_000, places)
}

const SOME_HEADS: HeadSlice = HeadSlice {
    source_first: 1,
    destination_first: 0,
    heads: 2,
};

#[test]
fn blocks_beyond_4_gib_are_copied_on_the_device() {
    let driver = Driver::new(0);
    for (seed, width) in WIDTHS.into_iter().enumerate() {
        let mut world = World::new(&driver, seed as u64);
        let wide = world.add_device(wide(width, Order::Nhd));
        let nhd = world.add_device(long(width, Order::Nhd));
        let hnd = world.add_device(long(width, Order::Hnd));
        let routes = [
            (&wide, &wide),
            (&wide, &nhd),
            (&nhd, &wide),
            (&nhd, &nhd),
            (&wide, &hnd),
            (&hnd, &wide),
            (&nhd, &hnd),
        ];
        for (from, to) in routes {
            let route = CopyRoute::new(from, to).expect("a route");
            let narrow = route.planes().iter().all(|it| it.access.bytes() == width);
            assert!(narrow, "accesses of {width} bytes");
            world.copy(&route);
        }
        for (from, to) in [(&wide, &hnd), (&nhd, &wide)] {
            let route = CopyRoute::heads(from, to, SOME_HEADS).expect("a route");
            world.copy(&route);
        }
    }
}

#[test]
fn blocks_beyond_4_gib_are_copied_to_the_host_and_back() {
    const BLOCKS: usize = 100_000;
    let driver = Driver::new(0);
    for (seed, width) in WIDTHS.into_iter().enumerate() {
        let mut world = World::new(&driver, seed as u64);
        let wide = world.add_device(wide(width, Order::Nhd));
        let long = world.add_device(long(width, Order::Hnd));
        let device = world.device.clone();
        let whole = HostPool::allocate(&device, world.next_id(), &wide, BLOCKS).expect("memory");
        let whole = world.add_host(&whole);
        let id = world.next_id();
        let pieces = HostPool::allocate_in_pieces(&device, id, &long, BLOCKS, PIECE as usize);
        let pieces = world.add_host(&pieces.expect("memory"));
        let routes = [
            (&wide, &whole),
            (&whole, &long),
            (&long, &pieces),
            (&pieces, &wide),
        ];
        for (from, to) in routes {
            world.copy(&CopyRoute::new(from, to).expect("a route"));
        }
        let some = CopyRoute::heads(&whole, &long, SOME_HEADS).expect("a route");
        world.copy(&some);
    }
}

#[test]
fn a_list_for_graphs_copies_blocks_beyond_4_gib() {
    let driver = Driver::new(0);
    let mut world = World::new(&driver, 9);
    let wide = world.add_device(wide(8, Order::Nhd));
    let long = world.add_device(long(8, Order::Nhd));
    let route = CopyRoute::new(&wide, &long).expect("a route");
    let pairs = pairs(&route);
    for &(from, to) in &pairs {
        world.fill(&wide, from);
        world.fill(&long, to);
    }
    let mut list = PairList::new(&mut world.mover, &route, pairs.len()).expect("a list");
    let plan = route.plan(&pairs).expect("a plan");
    list.set(&plan, &world.mover).expect("not in use");
    list.enqueue(&world.mover).expect("put");
    list.check(&world.mover).expect("good pairs");
    let copied = world.twin.copy(&plan, &mut world.twin_fences);
    copied.expect("the host's mover takes what the device's does");
    world.compare(&long, pairs.iter().map(|pair| pair.1));
}
