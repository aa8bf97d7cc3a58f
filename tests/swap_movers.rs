//! Swaps whose blocks a mover copies: from tensors of layers to host blocks that lie one behind the other, and back.
#![cfg(not(loom))]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

mod support;

use kvblock::{
    Admit, BlockId, BlockLayout, BlockPool, CopyPlan, CopyRoute, FenceTable, Growth, Handle,
    HostMemory, HostMover, KvTensor, Leases, MemoryId, Mover, Namespace, Order, Owner, PoolConfig,
    Prompt, Sequences, SequencesConfig, ShardId, Step, Swap, SwapError,
};

use support::{counts, text};

const SIZE: usize = 4;
const DEVICE: MemoryId = MemoryId::new(0);
const HOST: MemoryId = MemoryId::new(1);
/// Addresses of K and V of two layers, and of host memory.
const TENSORS: [u64; 4] = [0x1000, 0x2000, 0x3000, 0x4000];
const POOL: u64 = 0x10_0000;

struct Tier {
    seqs: Sequences,
    leases: Leases,
    layout: BlockLayout,
}

impl Tier {
    fn new(shard: u32, layout: BlockLayout) -> Self {
        let config = PoolConfig::new(layout.blocks(), SIZE).shard(ShardId::new(shard));
        let pool = BlockPool::new(&config).unwrap();
        Self {
            leases: Leases::new(&pool, 100).unwrap(),
            seqs: Sequences::new(pool, &SequencesConfig::new(4)).unwrap(),
            layout,
        }
    }

    fn swap(
        &mut self,
        handle: Handle,
        to: &mut Self,
        request: &Admit<'_>,
    ) -> Result<Swap, SwapError> {
        let (seqs, leases) = (&mut self.seqs, &mut self.leases);
        seqs.swap_to(handle, &mut to.seqs, request, leases, Owner::new(1))
    }

    /// What each plane has in the blocks of a sequence.
    fn bytes(&self, handle: Handle, mover: &HostMover) -> Vec<Vec<u8>> {
        let table = self.seqs.table(handle).unwrap();
        let of = |(plane, block): (usize, BlockId)| {
            let address = self.layout.address(plane, block).unwrap();
            let bytes = self.layout.planes()[plane].block_bytes;
            let memory = self.layout.memory();
            mover.bytes(memory, address, bytes).unwrap().to_vec()
        };
        let planes = 0..self.layout.planes().len();
        let all = table
            .iter()
            .flat_map(|&block| planes.clone().map(move |plane| (plane, block)));
        all.map(of).collect()
    }
}

fn tiers() -> (Tier, Tier, HostMover, FenceTable) {
    let tensor = KvTensor::new(4, 2, 8, Order::Nhd);
    let (keys, values) = ([TENSORS[0], TENSORS[2]], [TENSORS[1], TENSORS[3]]);
    let device = BlockLayout::separate(tensor, &keys, &values, 4)
        .unwrap()
        .in_memory(DEVICE);
    let host = BlockLayout::like(&device, POOL, 16)
        .unwrap()
        .in_memory(HOST);
    let mut fences = FenceTable::new();
    let timeline = fences.add_timeline().unwrap();
    fences.track(DEVICE, 4).unwrap();
    fences.track(HOST, 16).unwrap();
    let mut mover = HostMover::new(timeline);
    let bytes = usize::try_from(4 * device.planes()[0].block_bytes).unwrap();
    for base in TENSORS {
        let piece = HostMemory::new(bytes).unwrap().at(base);
        mover.register(DEVICE, piece).unwrap();
    }
    let piece = HostMemory::new(16 * 4 * bytes / 4).unwrap().at(POOL);
    mover.register(HOST, piece).unwrap();
    (Tier::new(0, device), Tier::new(1, host), mover, fences)
}

/// Every byte of the tensors is another one, or none of them is.
fn fill(mover: &mut HostMover, layout: &BlockLayout, byte: impl Fn(usize) -> u8) {
    let bytes = 4 * layout.planes()[0].block_bytes;
    for (plane, base) in TENSORS.into_iter().enumerate() {
        let all = mover.bytes_mut(DEVICE, base, bytes).unwrap();
        for (at, place) in all.iter_mut().enumerate() {
            *place = byte(plane * 61 + at);
        }
    }
}

/// Copies what a swap lists, with any mover, and tells the swap.
fn copy<M: Mover>(swap: &mut Swap, plan: &mut CopyPlan, mover: &mut M, fences: &mut FenceTable) {
    plan.set(swap.pairs()).unwrap();
    let fence = mover.copy(plan, fences).unwrap();
    swap.copying(fence).unwrap();
    mover.wait(fence).unwrap();
    assert!(swap.complete(mover.completed().unwrap()));
}

#[test]
fn the_bytes_of_a_sequence_go_to_host_blocks_and_come_back() {
    let (mut device, mut host, mut mover, mut fences) = tiers();
    let mut out = CopyRoute::new(&device.layout, &host.layout)
        .unwrap()
        .plan(&[])
        .unwrap();
    let mut back = CopyRoute::new(&host.layout, &device.layout)
        .unwrap()
        .plan(&[])
        .unwrap();
    let (space, tokens) = (Namespace::new(), text("P14"));
    let request = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
    let a = device.seqs.admit(&request).unwrap().handle;
    fill(&mut mover, &device.layout, |at| {
        u8::try_from(at % 251).unwrap()
    });
    device.seqs.computed(a, 14).unwrap();
    let written = device.bytes(a, &mover);

    let mut swap = device.swap(a, &mut host, &request).unwrap();
    copy(&mut swap, &mut out, &mut mover, &mut fences);
    let stored = swap.finish(&mut device.seqs, &mut host.seqs).unwrap();
    assert_eq!(host.bytes(stored, &mover), written);

    // Somebody else has all of the device's memory meanwhile.
    let other = text("Q16");
    let other = Admit::new(Prompt::new(&space, &other), Growth::OnDemand);
    let b = device.seqs.admit(&other).unwrap().handle;
    fill(&mut mover, &device.layout, |_| 0xEE);
    device.seqs.release(b).unwrap();

    let mut swap = host.swap(stored, &mut device, &request).unwrap();
    assert_eq!((swap.hit(), swap.pairs().len()), (0, 4));
    copy(&mut swap, &mut back, &mut mover, &mut fences);
    let a = swap.finish(&mut host.seqs, &mut device.seqs).unwrap();
    assert_eq!(device.bytes(a, &mover), written);
    assert_eq!(device.seqs.state(a).unwrap().computed, 14);
}

#[test]
fn a_copy_that_fails_leaves_the_sequence_where_it_was() {
    let (mut device, mut host, mut mover, mut fences) = tiers();
    // The mover knows nothing of this memory.
    let elsewhere = host.layout.clone().in_memory(MemoryId::new(2));
    let mut out = CopyRoute::new(&device.layout, &elsewhere)
        .unwrap()
        .plan(&[])
        .unwrap();
    let (space, tokens) = (Namespace::new(), text("P14"));
    let request = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
    let a = device.seqs.admit(&request).unwrap().handle;
    fill(&mut mover, &device.layout, |at| {
        u8::try_from(at % 251).unwrap()
    });
    device.seqs.computed(a, 14).unwrap();
    let written = device.bytes(a, &mover);

    let mut swap = device.swap(a, &mut host, &request).unwrap();
    out.set(swap.pairs()).unwrap();
    assert!(mover.copy(&out, &mut fences).is_err());
    swap.abort(&mut host.seqs).unwrap();
    counts(host.seqs.pool(), 16, 0, 0);
    host.seqs.audit(&[&host.leases]).unwrap();
    assert_eq!(device.bytes(a, &mover), written);
    device.seqs.append(a, 1, &mut Step::new()).unwrap();
    device.seqs.audit(&[&device.leases]).unwrap();
}
