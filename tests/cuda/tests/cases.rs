//! The known failures of other systems that are about copies, on the stand-in driver: C079 to C081. A list that a device made is not seen by
//! a plan, so that C080 is what the kernels refuse, too. C082 (offsets of 64 bits) is in `host/`, in memory of as many bytes.

mod support;

use kvblock::cuda::{
    CudaDevice, CudaError, CudaMover, CudaStream, DevicePool, MoverConfig, PairList,
};
use kvblock::{BlockId, BlockLayout, CopyPlanError, CopyRoute, FenceTable, MemoryId, Mover, Plane};
use support::stand_in::StandIn;

struct Device {
    mover: CudaMover,
    fences: FenceTable,
    pool: DevicePool,
    /// What its memory began with.
    before: Vec<u8>,
    /// Dropped last: then another test may have it.
    stand_in: StandIn,
}

fn pairs(list: &[(u32, u32)]) -> Vec<(BlockId, BlockId)> {
    let pair = |&(from, to)| (BlockId::new(from), BlockId::new(to));
    list.iter().map(pair).collect()
}

impl Device {
    /// Blocks of these planes of offsets, in memory of noise.
    fn new(layout: &BlockLayout) -> Self {
        let stand_in = StandIn::lock(7);
        let device = CudaDevice::open(0).expect("a device");
        let mut fences = FenceTable::new();
        fences
            .track(MemoryId::default(), layout.blocks())
            .expect("room");
        let stream = CudaStream::new(&device).expect("a stream");
        let mut mover =
            CudaMover::new(&stream, &mut fences, &MoverConfig::new().pairs(8)).expect("a mover");
        let pool = DevicePool::allocate(&device, layout).expect("memory");
        mover.add_device(&pool).expect("a new memory");
        let mut found = Self {
            stand_in,
            mover,
            fences,
            pool,
            before: Vec::new(),
        };
        found.before = found.memory();
        found
    }

    fn memory(&self) -> Vec<u8> {
        let extents = || self.pool.layout().extents();
        let start = extents().map(|it| it.0).min().expect("a plane");
        let end = extents().map(|it| it.1).max().expect("a plane");
        self.stand_in.peek(start, (end - start) as usize)
    }

    fn route(&self) -> CopyRoute {
        CopyRoute::new(self.pool.layout(), self.pool.layout()).expect("in place")
    }

    fn copy(&mut self, list: &[(u32, u32)]) -> Vec<u8> {
        let plan = self.route().plan(&pairs(list)).expect("a plan");
        let fence = self
            .mover
            .copy(&plan, &mut self.fences)
            .expect("it is begun");
        self.mover.wait(fence).expect("it passes");
        self.stand_in.assert_clean();
        self.memory()
    }
}

fn keys_only() -> BlockLayout {
    BlockLayout::new(&[Plane::new(0, 1024, 1024)], 8).expect("a layout")
}

#[test]
fn c079_one_plane_one_copy() {
    let mut device = Device::new(&keys_only());
    let after = device.copy(&[(0, 7)]);
    assert_eq!(after.len(), 8192);
    assert_eq!(after[7168..], device.before[..1024]);
    assert_eq!(after[..7168], device.before[..7168]);
}

#[test]
fn c080_bad_plans_are_refused_before_any_byte_moves() {
    let mut device = Device::new(&keys_only());
    let route = device.route();
    for (list, pair) in [(&[(0, 8)][..], 0), (&[(8, 0)], 0), (&[(0, 1), (2, 8)], 1)] {
        let refused = route.plan(&pairs(list)).map(drop);
        assert!(matches!(refused, Err(CopyPlanError::OutOfRange { pair: at, .. }) if at == pair));
    }
    let refused = route.plan(&pairs(&[(0, 5), (1, 5)])).map(drop);
    assert!(matches!(
        refused,
        Err(CopyPlanError::DuplicateDestination { pair: 1, .. })
    ));
    assert_eq!(device.memory(), device.before);

    // A list that the device made is not looked at by the host: its kernels look, and say which pair it was.
    let mut list = PairList::new(&mut device.mover, &route, 4).expect("room");
    let words = [2_u32, 0, 2, 8, 0, 7].map(u32::to_le_bytes);
    device.stand_in.run_all();
    device.stand_in.poke(list.device_address(), &words.concat());
    list.enqueue_copies(&device.mover).expect("put");
    assert_eq!(
        list.check(&device.mover),
        Err(CudaError::BadPair { pair: 0 })
    );
    let after = device.memory();
    assert_eq!(
        after[7168..],
        device.before[..1024],
        "the other one was copied"
    );
    assert_eq!(after[..7168], device.before[..7168]);
}

#[test]
fn c081_scales_travel_with_their_block() {
    let data = Plane::new(0, 1024, 1024);
    let layout = BlockLayout::new(&[data], 8).and_then(|data| data.with_scales(&[8192], 16));
    let mut device = Device::new(&layout.expect("a layout"));
    let after = device.copy(&[(2, 3)]);
    let mut right = device.before.clone();
    right.copy_within(2048..3072, 3072);
    right.copy_within(8192 + 32..8192 + 48, 8192 + 48);
    assert!(right != device.before && after == right);
}
