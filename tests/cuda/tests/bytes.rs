//! Random layouts, routes, plans and movers on the stand-in driver: every byte is as the host's mover has it.
//!
//! All memories begin with noise, so that a byte that was not copied, or copied too much, is seen. `KVB_SEED=n` runs one seed.

mod support;

use core::ptr::NonNull;

use kvblock::cuda::{
    CudaDevice, CudaError, CudaMover, CudaStream, DevicePool, HostPool, MoverConfig,
};
use kvblock::{
    BlockId, BlockLayout, CopyPlan, CopyRoute, FenceTable, HeadSlice, HostMemory, HostMover,
    KvTensor, MemoryId, Mover, Order, Plane,
};
use support::random::Random;
use support::seeds::{Named, seeds};
use support::stand_in::StandIn;

const SEEDS: u64 = 250;

/// How the tensors of a layout are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Separate,
    KeysFirst,
    BlocksFirst,
    CrossLayer,
    Latents,
    Scales,
    Planes,
}

const KINDS: [Kind; 7] = [
    Kind::Separate,
    Kind::KeysFirst,
    Kind::BlocksFirst,
    Kind::CrossLayer,
    Kind::Latents,
    Kind::Scales,
    Kind::Planes,
];

#[derive(Clone, Copy, Debug)]
struct Size {
    layers: u32,
    positions: u32,
    heads: u32,
    head_bytes: u32,
}

/// A layout of offsets that begin at `start`.
fn layout(
    kind: Kind,
    size: Size,
    order: Order,
    blocks: usize,
    start: u64,
    gap: u64,
) -> BlockLayout {
    let tensor = KvTensor::new(size.positions, size.heads, size.head_bytes, order);
    let bytes = u64::from(size.positions * size.heads * size.head_bytes) * blocks as u64;
    let layers = |parts: u64| -> Vec<u64> {
        let stride = parts * bytes + gap;
        (0..u64::from(size.layers))
            .map(|layer| start + layer * stride)
            .collect()
    };
    let made = match kind {
        Kind::Separate => {
            let keys = layers(2);
            let values: Vec<u64> = keys.iter().map(|base| base + bytes).collect();
            BlockLayout::separate(tensor, &keys, &values, blocks)
        }
        Kind::KeysFirst => BlockLayout::keys_first(tensor, &layers(2), blocks),
        Kind::BlocksFirst => BlockLayout::blocks_first(tensor, &layers(2), blocks),
        Kind::CrossLayer => BlockLayout::cross_layer(tensor, size.layers, start, blocks),
        Kind::Latents => BlockLayout::latents(
            size.positions,
            size.heads * size.head_bytes,
            &layers(1),
            blocks,
        ),
        Kind::Scales => {
            let behind = start + u64::from(size.layers) * (2 * bytes + gap);
            let scales = u64::from(size.heads) * 4;
            let bases: Vec<u64> = (0..u64::from(size.layers))
                .map(|layer| behind + layer * (scales * blocks as u64 + gap))
                .collect();
            BlockLayout::blocks_first(tensor, &layers(2), blocks)
                .and_then(|it| it.with_scales(&bases, scales))
        }
        Kind::Planes => {
            // One between the blocks of another, some of no even size.
            let stride = 256 + gap;
            let planes = [(0, 48), (48, 7), (56, 8), (66, 2), (68, 4), (80, 33)];
            let planes = planes.map(|(at, bytes)| Plane::new(start + at, stride, bytes));
            BlockLayout::new(&planes, blocks)
        }
    };
    made.expect("a layout")
}

fn span(layout: &BlockLayout) -> (u64, u64) {
    let fold = |(start, end): (u64, u64), it: (u64, u64)| (start.min(it.0), end.max(it.1));
    layout.extents().fold((u64::MAX, 0), fold)
}

struct World<'a> {
    stand_in: &'a StandIn,
    random: Random,
    device: CudaDevice,
    mover: CudaMover,
    fences: FenceTable,
    twin: HostMover,
    twin_fences: FenceTable,
    /// Start and length of each memory, and whether it is the device's.
    memories: Vec<(MemoryId, u64, usize, bool)>,
    hosts: Vec<HostPool>,
    /// What host pools without memory of their own are in; dropped last.
    callers: Vec<Vec<u8>>,
}

impl<'a> World<'a> {
    fn new(stand_in: &'a StandIn, mut random: Random) -> Self {
        let device = CudaDevice::open(0).expect("a device");
        let slot = 1 << (11 + random.below(4));
        let config = MoverConfig::new()
            .pairs(40)
            .thread_blocks(random.below(4) as u32)
            .staging(2 + random.below(3) as usize, slot);
        let (mut fences, mut twin_fences) = (FenceTable::new(), FenceTable::new());
        let stream = CudaStream::new(&device).expect("a stream");
        let mover = CudaMover::new(&stream, &mut fences, &config).expect("a mover");
        let twin = HostMover::new(twin_fences.add_timeline().expect("a timeline"));
        Self {
            stand_in,
            random,
            device,
            mover,
            fences,
            twin,
            twin_fences,
            memories: Vec::new(),
            hosts: Vec::new(),
            callers: Vec::new(),
        }
    }

    fn next_id(&self) -> MemoryId {
        MemoryId::new(self.memories.len() as u32)
    }

    fn add_device(&mut self, offsets: &BlockLayout) -> BlockLayout {
        let offsets = offsets.clone().in_memory(self.next_id());
        let pool = DevicePool::allocate(&self.device, &offsets).expect("memory");
        self.mover.add_device(&pool).expect("a new memory");
        let layout = pool.layout().clone();
        let noise = self.remember(&layout, true);
        self.stand_in.poke(span(&layout).0, &noise);
        layout
    }

    fn add_host(&mut self, like: &BlockLayout, blocks: usize) -> BlockLayout {
        let (id, piece) = (self.next_id(), 4096 * (1 + self.random.below(2) as usize));
        let bytes = HostPool::bytes(like, blocks).expect("a layout") as usize;
        let pool = match self.random.below(3) {
            0 => HostPool::allocate(&self.device, id, like, blocks),
            1 => HostPool::allocate_in_pieces(&self.device, id, like, blocks, piece),
            _ => {
                self.callers.push(vec![0; bytes + 64]);
                let memory = self.callers.last_mut().expect("just made");
                let base = NonNull::new(memory.as_mut_ptr()).expect("an address");
                // Off by some, as a caller's memory may be.
                let off = 16 * self.random.below(4) as usize;
                // SAFETY: there are 64 bytes more than are needed, and the pool goes before them.
                unsafe { HostPool::register(&self.device, id, like, blocks, base.add(off), piece) }
            }
        };
        let pool = pool.expect("host memory");
        self.mover.add_host(&pool).expect("a new memory");
        let layout = pool.layout().clone();
        let noise = self.remember(&layout, false);
        assert_eq!(noise.len(), bytes);
        // SAFETY: the pool has as many bytes, and no copy is under way.
        unsafe {
            pool.as_ptr()
                .as_ptr()
                .copy_from_nonoverlapping(noise.as_ptr(), bytes);
        }
        self.hosts.push(pool);
        layout
    }

    fn remember(&mut self, layout: &BlockLayout, on_device: bool) -> Vec<u8> {
        let (id, (start, end)) = (layout.memory(), span(layout));
        self.fences.track(id, layout.blocks()).expect("room");
        self.twin_fences.track(id, layout.blocks()).expect("room");
        let noise = self.random.bytes((end - start) as usize);
        let memory = HostMemory::new(noise.len()).expect("memory").at(start);
        self.twin.register(id, memory).expect("a new memory");
        let twin = self.twin.bytes_mut(id, start, end - start);
        twin.expect("registered").copy_from_slice(&noise);
        self.memories.push((id, start, noise.len(), on_device));
        noise
    }

    /// Pairs without a destination twice; in place also without a block onto itself.
    fn pairs(&mut self, route: &CopyRoute) -> Vec<(BlockId, BlockId)> {
        let (from, to) = (route.source().blocks(), route.destination().blocks());
        let mut left: Vec<usize> = (0..to).collect();
        let count = self.random.below(to.min(12) as u64 + 1);
        let mut pairs = Vec::new();
        for _ in 0..count {
            let destination = left.swap_remove(self.random.below(left.len() as u64) as usize);
            let source = self.random.below(from as u64) as usize;
            if !route.is_in_place() || source != destination {
                pairs.push((
                    BlockId::new(source as u32),
                    BlockId::new(destination as u32),
                ));
            }
        }
        pairs
    }

    fn copy(&mut self, route: &CopyRoute) {
        let pairs = self.pairs(route);
        let plan = route.plan(&pairs).expect("a plan");
        let fence = loop {
            match self.mover.copy(&plan, &mut self.fences) {
                Ok(fence) => break fence,
                Err(CudaError::Busy { .. }) => self.wait_for_room(),
                Err(error) => panic!("{error}"),
            }
        };
        self.twin(&plan);
        if self.random.below(4) == 0 {
            self.mover.wait(fence).expect("it passes");
        }
    }

    fn wait_for_room(&mut self) {
        let completed = self.mover.completed().expect("alive");
        let last = self.fences.last(self.mover.timeline()).expect("its own");
        if completed < last {
            let next = kvblock::Fence(completed.0 + 1);
            self.mover.wait(next).expect("it passes");
        }
    }

    fn twin(&mut self, plan: &CopyPlan) {
        let copied = self.twin.copy(plan, &mut self.twin_fences);
        copied.expect("the host's mover takes what the device's does");
    }

    fn compare(&mut self) {
        let stream = self.mover.own_timeline().stream();
        stream.synchronize().expect("the copies pass");
        for &(id, start, bytes, on_device) in &self.memories {
            let found = if on_device {
                self.stand_in.peek(start, bytes)
            } else {
                // SAFETY: the pool has as many bytes, and no copy is under way.
                unsafe { core::slice::from_raw_parts(start as *const u8, bytes) }.to_vec()
            };
            let right = self
                .twin
                .bytes(id, start, bytes as u64)
                .expect("registered");
            let wrong = (0..bytes).find(|&at| found[at] != right[at]);
            assert_eq!(
                wrong, None,
                "first wrong offset of {id:?}, on the device: {on_device}"
            );
        }
        self.stand_in.assert_clean();
    }
}

/// Runs a test on a new world for each seed; nothing is left at the end.
fn with_worlds(body: impl Fn(&mut World<'_>)) {
    let stand_in = StandIn::lock(0);
    for seed in seeds(SEEDS) {
        let _named = Named(seed);
        stand_in.reset(seed);
        let mut world = World::new(&stand_in, Random::new(seed));
        body(&mut world);
        world.compare();
        drop(world);
        stand_in.assert_nothing_live();
    }
}

fn some_size(random: &mut Random) -> Size {
    Size {
        layers: 1 + random.below(3) as u32,
        positions: random.one_of(&[1, 2, 4, 8]),
        heads: random.one_of(&[1, 2, 3, 4]),
        head_bytes: random.one_of(&[1, 2, 4, 6, 8, 16, 24, 32]),
    }
}

#[test]
fn whole_blocks_on_the_device_and_over_the_host() {
    with_worlds(|world| {
        let random = &mut world.random;
        let (kind, size) = (random.one_of(&KINDS), some_size(random));
        let order = random.one_of(&[Order::Nhd, Order::Hnd]);
        let start = random.one_of(&[0, 0, 16, 8, 4, 3]);
        let (here, there) = (2 + random.below(9) as usize, 1 + random.below(8) as usize);
        let gap = random.one_of(&[0, 16, 4, 1]);
        let one = layout(kind, size, order, here, start, gap);
        let other_start = random.one_of(&[0, 16, 2]);
        let other = layout(kind, size, order, there, other_start, 32);
        let one = world.add_device(&one);
        let other = world.add_device(&other);
        let host = world.add_host(&one, there);
        let routes = [
            CopyRoute::new(&one, &one),
            CopyRoute::new(&one, &other),
            CopyRoute::new(&other, &one),
            CopyRoute::new(&one, &host),
            CopyRoute::new(&host, &one),
            CopyRoute::new(&host, &other),
        ]
        .map(|route| route.expect("a route"));
        for _ in 0..8 {
            let route = routes[world.random.below(6) as usize].clone();
            if route.block_bytes() > 2000 && host.memory() == route.destination().memory() {
                // It may not fit into a slot, which is another test.
                continue;
            }
            if route.block_bytes() > 2000 && host.memory() == route.source().memory() {
                continue;
            }
            world.copy(&route);
        }
    });
}

#[test]
fn heads_in_another_order_on_the_device_and_over_the_host() {
    with_worlds(|world| {
        let random = &mut world.random;
        let kind = random.one_of(&[
            Kind::Separate,
            Kind::KeysFirst,
            Kind::BlocksFirst,
            Kind::CrossLayer,
            Kind::Scales,
        ]);
        let size = some_size(random);
        let blocks = 2 + random.below(8) as usize;
        let start = random.one_of(&[0, 8, 1]);
        let nhd = world.add_device(&layout(kind, size, Order::Nhd, blocks, start, 0));
        let hnd = world.add_device(&layout(kind, size, Order::Hnd, blocks, 0, 64));
        let host = world.add_host(&hnd, 6);
        let mut routes = vec![
            CopyRoute::new(&nhd, &hnd).expect("a route"),
            CopyRoute::new(&hnd, &nhd).expect("a route"),
        ];
        if nhd.block_bytes() <= 2000 {
            routes.push(CopyRoute::new(&nhd, &host).expect("a route"));
            routes.push(CopyRoute::new(&host, &nhd).expect("a route"));
        }
        for _ in 0..6 {
            let route = routes[world.random.below(routes.len() as u64) as usize].clone();
            world.copy(&route);
        }
    });
}

#[test]
fn some_heads_for_another_degree() {
    with_worlds(|world| {
        let random = &mut world.random;
        let kind = random.one_of(&[Kind::Separate, Kind::KeysFirst, Kind::BlocksFirst]);
        let orders = [Order::Nhd, Order::Hnd];
        let (from, to) = (random.one_of(&orders), random.one_of(&orders));
        let size = some_size(random);
        let (theirs, ours) = (1 + random.below(5) as u32, 1 + random.below(5) as u32);
        let heads = 1 + random.below(u64::from(theirs.min(ours))) as u32;
        let slice = HeadSlice {
            source_first: random.below(u64::from(theirs - heads) + 1) as u32,
            destination_first: random.below(u64::from(ours - heads) + 1) as u32,
            heads,
        };
        let theirs = Size {
            heads: theirs,
            ..size
        };
        let ours = Size {
            heads: ours,
            ..size
        };
        let source = world.add_device(&layout(kind, theirs, from, 6, 0, 0));
        let destination = world.add_device(&layout(kind, ours, to, 9, 0, 0));
        let route = CopyRoute::heads(&source, &destination, slice).expect("a route");
        for _ in 0..3 {
            world.copy(&route);
        }
        if source.block_bytes() <= 2000 {
            let host = world.add_host(&source, 5);
            let route = CopyRoute::heads(&host, &destination, slice).expect("a route");
            world.copy(&route);
        }
    });
}

#[test]
fn part_by_part_between_engines_that_put_tensors_together_in_different_ways() {
    with_worlds(|world| {
        let kinds = [
            Kind::Separate,
            Kind::KeysFirst,
            Kind::BlocksFirst,
            Kind::CrossLayer,
        ];
        let (random, orders) = (&mut world.random, [Order::Nhd, Order::Hnd]);
        let (from, to) = (random.one_of(&kinds), random.one_of(&kinds));
        let (read, written) = (random.one_of(&orders), random.one_of(&orders));
        let size = some_size(random);
        let one = layout(from, size, read, 6, random.one_of(&[0, 8, 1]), 0);
        let other = layout(to, size, written, 9, 0, random.one_of(&[0, 64]));
        let by_part = |layout: BlockLayout| layout.by_part().expect("few");
        let one = by_part(world.add_device(&one));
        let other = by_part(world.add_device(&other));
        let mut routes = vec![CopyRoute::new(&one, &other), CopyRoute::new(&other, &one)];
        if one.block_bytes() <= 2000 {
            let host = world.add_host(&other, 5);
            routes.push(CopyRoute::new(&one, &host));
            routes.push(CopyRoute::new(&host, &one));
        }
        for _ in 0..6 {
            let route = &routes[world.random.below(routes.len() as u64) as usize];
            world.copy(&route.clone().expect("a route"));
        }
    });
}
