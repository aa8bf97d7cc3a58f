//! Sequences are swapped between device and host by the mover, on the stand-in driver: what was computed of them is there when they come
//! back, and where they were when a copy fails half-way. `KVB_SEED=n` runs one seed.

mod support;

use kvblock::cuda::{
    CudaDevice, CudaError, CudaMover, CudaStream, DevicePool, HostPool, MoverConfig,
};
use kvblock::{
    Admit, BlockId, BlockLayout, BlockPool, CopyRoute, FenceTable, Growth, Handle, KvTensor,
    Leases, MemoryId, Mover, Namespace, Order, Owner, PoolConfig, Prompt, Sequences,
    SequencesConfig, ShardId, Swap,
};
use support::random::Random;
use support::seeds::{Named, seeds};
use support::stand_in::StandIn;

const BLOCK_SIZE: usize = 4;
const DEVICE_BLOCKS: usize = 24;
const HOST_BLOCKS: usize = 40;
/// Bytes of K or V of a position in a layer.
const ROW: usize = 16;

/// What an engine computes for a token at a position, in a plane.
fn row(plane: usize, position: usize, token: u32) -> [u8; ROW] {
    let mut state = u64::from(token) * 1_000_003 + (position * 64 + plane) as u64 + 1;
    core::array::from_fn(|_| {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x14057b7ef767814f);
        (state >> 56) as u8
    })
}

fn registry(shard: u32, blocks: usize) -> (Sequences, Leases) {
    let config = PoolConfig::new(blocks, BLOCK_SIZE).shard(ShardId::new(shard));
    let pool = BlockPool::new(&config).expect("a pool");
    let sequences = Sequences::new(pool, &SequencesConfig::new(16)).expect("a registry");
    let leases = Leases::new(sequences.pool(), blocks).expect("leases");
    (sequences, leases)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tier {
    Device,
    Host,
}

struct World<'a> {
    stand_in: &'a StandIn,
    fences: FenceTable,
    mover: CudaMover,
    out: CopyRoute,
    back: CopyRoute,
    memory: BlockLayout,
    device: (Sequences, Leases),
    host: (Sequences, Leases),
    space: Namespace,
}

impl<'a> World<'a> {
    fn new(stand_in: &'a StandIn) -> Self {
        let device = CudaDevice::open(0).expect("a device");
        let tensor = KvTensor::new(BLOCK_SIZE as u32, 1, ROW as u32, Order::Nhd);
        let bytes = (DEVICE_BLOCKS * BLOCK_SIZE * ROW) as u64;
        let (keys, values) = ([0, 2 * bytes], [bytes, 3 * bytes]);
        let offsets = BlockLayout::separate(tensor, &keys, &values, DEVICE_BLOCKS);
        let pool = DevicePool::allocate(&device, &offsets.expect("a layout")).expect("memory");
        let id = MemoryId::new(1);
        let host = HostPool::allocate(&device, id, pool.layout(), HOST_BLOCKS).expect("memory");
        let mut fences = FenceTable::new();
        let stream = CudaStream::new(&device).expect("a stream");
        // Three blocks a slot, so that most swaps take several.
        let config = MoverConfig::new()
            .pairs(64)
            .staging(2, 3 * 4 * 4 * ROW as u64);
        let mut mover = CudaMover::new(&stream, &mut fences, &config).expect("a mover");
        mover.add_device(&pool).expect("a new memory");
        mover.add_host(&host).expect("a new memory");
        fences
            .track(MemoryId::default(), DEVICE_BLOCKS)
            .expect("room");
        fences.track(id, HOST_BLOCKS).expect("room");
        Self {
            stand_in,
            fences,
            mover,
            out: CopyRoute::new(pool.layout(), host.layout()).expect("a route"),
            back: CopyRoute::new(host.layout(), pool.layout()).expect("a route"),
            memory: pool.layout().clone(),
            device: registry(0, DEVICE_BLOCKS),
            host: registry(1, HOST_BLOCKS),
            space: Namespace::new(),
        }
    }

    fn admit(&mut self, tokens: &[u32]) -> Option<Handle> {
        let request = Admit::new(Prompt::new(&self.space, tokens), Growth::OnDemand);
        let admitted = self.device.0.admit(&request).ok()?;
        let table = self.device.0.table(admitted.handle).expect("admitted");
        for (position, &token) in tokens.iter().enumerate().skip(admitted.hit) {
            for plane in 0..self.memory.planes().len() {
                let address = address(&self.memory, table, plane, position);
                self.stand_in.poke(address, &row(plane, position, token));
            }
        }
        let computed = self.device.0.computed(admitted.handle, tokens.len());
        computed.expect("its own positions");
        Some(admitted.handle)
    }

    /// Begins a swap and its copy. `Err`: the copy was broken off, and the sequence is where it was.
    fn swap(
        &mut self,
        from: Tier,
        handle: Handle,
        tokens: &[u32],
    ) -> Option<Result<Swap, CudaError>> {
        let request = Admit::new(Prompt::new(&self.space, tokens), Growth::OnDemand);
        let (source, to, route) = match from {
            Tier::Device => (&mut self.device, &mut self.host.0, &self.out),
            Tier::Host => (&mut self.host, &mut self.device.0, &self.back),
        };
        // An owner for each that is under way.
        let owner = Owner::new(tokens[0].into());
        let swap = source.0.swap_to(handle, to, &request, &mut source.1, owner);
        let mut swap = swap.ok()?;
        let plan = route.plan(swap.pairs()).expect("blocks of both tiers");
        Some(match self.mover.copy(&plan, &mut self.fences) {
            Ok(fence) => {
                swap.copying(fence).expect("it is open");
                Ok(swap)
            }
            Err(error) => {
                swap.abort(to).expect("it is open");
                Err(error)
            }
        })
    }

    fn finish(&mut self, from: Tier, swap: &mut Swap) -> Option<Handle> {
        if !swap.complete(self.mover.completed().expect("alive")) {
            return None;
        }
        let (device, host) = (&mut self.device.0, &mut self.host.0);
        let finished = match from {
            Tier::Device => swap.finish(device, host),
            Tier::Host => swap.finish(host, device),
        };
        Some(finished.expect("its copy has passed"))
    }

    /// Every position of a sequence on the device has what was computed for its token.
    fn check(&self, handle: Handle, tokens: &[u32]) {
        let table = self.device.0.table(handle).expect("on the device");
        for (position, &token) in tokens.iter().enumerate() {
            for plane in 0..self.memory.planes().len() {
                let found = self
                    .stand_in
                    .peek(address(&self.memory, table, plane, position), ROW);
                assert_eq!(
                    found,
                    row(plane, position, token),
                    "position {position}, plane {plane}"
                );
            }
        }
    }

    fn audit(&self) {
        assert_eq!(self.device.0.audit(&[&self.device.1]), Ok(()));
        assert_eq!(self.host.0.audit(&[&self.host.1]), Ok(()));
        self.stand_in.assert_clean();
    }
}

fn address(memory: &BlockLayout, table: &[BlockId], plane: usize, position: usize) -> u64 {
    let block = memory.address(plane, table[position / BLOCK_SIZE]);
    block.expect("a block of the pool") + (position % BLOCK_SIZE * ROW) as u64
}

#[test]
fn what_was_computed_is_there_after_any_swaps() {
    let stand_in = StandIn::lock(0);
    for seed in seeds(200) {
        let _named = Named(seed);
        stand_in.reset(seed);
        let mut random = Random::new(seed);
        let mut world = World::new(&stand_in);
        // Where each is, its tokens, and its swap if it is on its way from there.
        let mut all: Vec<(Tier, Handle, Vec<u32>, Option<Swap>)> = Vec::new();
        let mut swaps = 0;
        for step in 0..60_u32 {
            let at = random.below(all.len().max(1) as u64) as usize;
            match random.below(4) {
                0 if all.len() < 8 => {
                    // Some begin alike, so that blocks are shared and found.
                    let shared = random.below(2) as u32 * 500;
                    let length = 1 + random.below(20) as u32;
                    let tokens: Vec<u32> = (0..length)
                        .map(|at| {
                            if at < 8 && shared > 0 {
                                shared + at
                            } else {
                                1000 * (step + 1) + at
                            }
                        })
                        .collect();
                    if let Some(handle) = world.admit(&tokens) {
                        all.push((Tier::Device, handle, tokens, None));
                    }
                }
                1 if !all.is_empty() && all[at].3.is_none() => {
                    let (tier, handle, tokens, _) = &all[at];
                    let (tier, handle, mut tokens) = (*tier, *handle, tokens.clone());
                    if let Some(begun) = world.swap(tier, handle, &tokens) {
                        all[at].3 = Some(begun.expect("nothing fails"));
                        swaps += 1;
                    }
                    tokens.clear();
                }
                2 if !all.is_empty() => {
                    let (tier, handle, _, swap) = &mut all[at];
                    if let Some(under_way) = swap {
                        if let Some(there) = world.finish(*tier, under_way) {
                            *handle = there;
                            *tier = if *tier == Tier::Device {
                                Tier::Host
                            } else {
                                Tier::Device
                            };
                            *swap = None;
                        }
                    }
                }
                3 if !all.is_empty() && random.below(3) == 0 && all[at].3.is_none() => {
                    let (tier, handle, tokens, _) = all.swap_remove(at);
                    if tier == Tier::Device {
                        world.check(handle, &tokens);
                        world.device.0.release(handle).expect("it is there");
                    } else {
                        world.host.0.release(handle).expect("it is there");
                    }
                }
                _ => {
                    let last = world.fences.last(world.mover.timeline()).expect("its own");
                    if random.below(4) == 0 {
                        world.mover.wait(last).expect("it passes");
                    }
                }
            }
            world.audit();
        }
        let last = world.fences.last(world.mover.timeline()).expect("its own");
        world.mover.wait(last).expect("it passes");
        for (tier, handle, tokens, swap) in &mut all {
            if let Some(swap) = swap {
                *handle = world.finish(*tier, swap).expect("all has passed");
                *tier = if *tier == Tier::Device {
                    Tier::Host
                } else {
                    Tier::Device
                };
            }
            if *tier == Tier::Device {
                world.check(*handle, tokens);
                world.device.0.release(*handle).expect("it is there");
            }
        }
        // Those of the host come back one after another, as the device has room.
        for (_, handle, tokens, _) in all.iter().filter(|it| it.0 == Tier::Host) {
            let mut back = world
                .swap(Tier::Host, *handle, tokens)
                .expect("there is room")
                .expect("it works");
            world
                .mover
                .wait(world.fences.last(world.mover.timeline()).expect("its own"))
                .expect("it passes");
            let handle = world.finish(Tier::Host, &mut back).expect("it has passed");
            world.check(handle, tokens);
            world.device.0.release(handle).expect("it is there");
        }
        world.audit();
        let held = |tier: &(Sequences, Leases)| tier.0.pool().report().held;
        assert_eq!((held(&world.device), held(&world.host)), (0, 0));
        let report = world.host.0.report();
        assert!(swaps == 0 || report.swapped_in + report.swapped_out > 0);
        drop(world);
        stand_in.assert_nothing_live();
    }
}

#[test]
fn a_copy_that_fails_half_way_leaves_the_sequence_where_it_was() {
    let stand_in = StandIn::lock(0);
    let tokens: Vec<u32> = (1..=30).collect();
    let mut broken_off = 0;
    for nth in 1.. {
        stand_in.reset(nth);
        let mut world = World::new(&stand_in);
        let handle = world.admit(&tokens).expect("an empty pool");
        let before = world.device.0.pool().report();
        stand_in.fail("", nth, support::driver::INVALID_VALUE);
        let swapped = world
            .swap(Tier::Device, handle, &tokens)
            .expect("there is room");
        let failed = stand_in.failed() > 0;
        stand_in.forget_failures();
        match swapped {
            Err(error) => {
                broken_off += 1;
                assert!(
                    matches!(error, CudaError::Driver { code: 1, .. }),
                    "{error}"
                );
                // Nothing is under way, nothing is held on the host, and the source is as it was.
                world.check(handle, &tokens);
                world.audit();
                assert_eq!(world.device.0.pool().report().held, before.held);
                assert_eq!(world.host.0.pool().report().held, 0);
            }
            Ok(mut swap) => {
                let last = world.fences.last(world.mover.timeline()).expect("its own");
                world.mover.wait(last).expect("it passes");
                world
                    .finish(Tier::Device, &mut swap)
                    .expect("it has passed");
                if !failed {
                    break;
                }
                continue;
            }
        }
        // The same objects go on.
        let mut swap = world
            .swap(Tier::Device, handle, &tokens)
            .expect("room")
            .expect("no failure");
        world
            .mover
            .wait(world.fences.last(world.mover.timeline()).expect("its own"))
            .expect("it passes");
        let there = world
            .finish(Tier::Device, &mut swap)
            .expect("it has passed");
        // Others take the device's blocks, so that all has to come back.
        let other: Vec<u32> = (1000..1096).collect();
        let other = world.admit(&other).expect("everything is reclaimable");
        world.device.0.release(other).expect("it is there");
        let mut back = world
            .swap(Tier::Host, there, &tokens)
            .expect("room")
            .expect("no failure");
        assert_eq!(back.hit(), 0);
        world
            .mover
            .wait(world.fences.last(world.mover.timeline()).expect("its own"))
            .expect("it passes");
        let handle = world.finish(Tier::Host, &mut back).expect("it has passed");
        world.check(handle, &tokens);
        world.audit();
    }
    assert!(
        broken_off > 20,
        "every call of the copy failed once: {broken_off}"
    );
}
