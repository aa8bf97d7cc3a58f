//! Layouts of every kind over small memories, a mover over them, and the model that says what the bytes must be.

use kvblock::{
    BlockId, BlockLayout, CopyPlan, Fence, FenceTable, HeadSlice, HostMemory, HostMover, Inner,
    KvTensor, MemoryId, Mover, Order, Plane, Tile,
};
use proptest::prelude::*;

pub(crate) type Pairs = Vec<(BlockId, BlockId)>;

pub(crate) fn pairs<const N: usize>(pairs: [(u32, u32); N]) -> Pairs {
    pairs
        .into_iter()
        .map(|(from, to)| (BlockId::new(from), BlockId::new(to)))
        .collect()
}

/// The layouts that engines make, and some that only the general constructor makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Separate,
    KeysFirst,
    BlocksFirst,
    CrossLayer,
    Latents,
    /// K/V in fp8 in one tensor, one scale tensor a layer with a scale a block, one with a scale a head.
    Scaled,
    /// K and V of a layer between one another, with gaps, and nothing known of the inside.
    Strides,
}

impl Kind {
    pub(crate) const ALL: [Self; 7] = [
        Self::Separate,
        Self::KeysFirst,
        Self::BlocksFirst,
        Self::CrossLayer,
        Self::Latents,
        Self::Scaled,
        Self::Strides,
    ];
}

/// What a layout is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) kind: Kind,
    pub(crate) tensor: KvTensor,
    pub(crate) layers: u32,
    pub(crate) base: u64,
    pub(crate) gap: u64,
    pub(crate) blocks: usize,
}

impl Shape {
    pub(crate) fn layout(&self) -> BlockLayout {
        let Self {
            kind,
            tensor,
            layers,
            base,
            gap,
            blocks,
        } = *self;
        let KvTensor {
            block_size,
            heads,
            head_bytes,
            ..
        } = tensor;
        let block = u64::from(block_size * heads * head_bytes);
        let all = block * blocks as u64;
        // So many addresses, each with room for so many bytes behind it.
        let row = |count: u32, bytes: u64, from: u64| -> Vec<u64> {
            (0..u64::from(count))
                .map(|at| from + at * (bytes + gap))
                .collect()
        };
        let layout = match kind {
            Kind::Separate => {
                let keys = row(layers, all, base);
                let values = row(layers, all, base + u64::from(layers) * (all + gap));
                BlockLayout::separate(tensor, &keys, &values, blocks)
            }
            Kind::KeysFirst => BlockLayout::keys_first(tensor, &row(layers, 2 * all, base), blocks),
            Kind::BlocksFirst => {
                BlockLayout::blocks_first(tensor, &row(layers, 2 * all, base), blocks)
            }
            Kind::CrossLayer => BlockLayout::cross_layer(tensor, layers, base, blocks),
            Kind::Latents => {
                let latent = heads * head_bytes;
                BlockLayout::latents(block_size, latent, &row(layers, all, base), blocks)
            }
            Kind::Scaled => {
                let data = BlockLayout::blocks_first(tensor, &row(layers, 2 * all, base), blocks);
                let behind = base + u64::from(layers) * (2 * all + gap);
                let scales = row(layers, 4 * blocks as u64, behind);
                let of_heads = behind + u64::from(layers) * (4 * blocks as u64 + gap);
                let tile = Tile {
                    parts: 2,
                    positions: 1,
                    head_bytes: 4,
                    heads,
                    order: tensor.order,
                };
                let bytes = tile.bytes().expect("few");
                let plane = |&base: &u64| Plane::new(base, bytes + gap, bytes).tile(tile);
                let of_heads = row(layers, (bytes + gap) * blocks as u64, of_heads);
                data.and_then(|it| it.with_scales(&scales, 4))
                    .and_then(|it| it.with_planes(&of_heads.iter().map(plane).collect::<Vec<_>>()))
            }
            Kind::Strides => {
                let stride = 2 * block + 2 * gap;
                let layer = |at: u32| {
                    let base = base + u64::from(at) * stride * blocks as u64;
                    [base, base + block + gap].map(|base| Plane::new(base, stride, block))
                };
                let planes: Vec<_> = (0..layers).flat_map(layer).collect();
                BlockLayout::new(&planes, blocks)
            }
        };
        layout.unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }
}

pub(crate) fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::Nhd), Just(Order::Hnd)]
}

pub(crate) fn shape() -> impl Strategy<Value = Shape> {
    let tensor = (
        1_u32..5,
        1_u32..5,
        proptest::sample::select(&[1_u32, 2, 3, 4, 8, 16, 24][..]),
        order(),
    );
    let tensor =
        tensor.prop_map(|(size, heads, bytes, order)| KvTensor::new(size, heads, bytes, order));
    (
        proptest::sample::select(&Kind::ALL[..]),
        tensor,
        1_u32..4,
        0_u64..20,
        proptest::sample::select(&[0_u64, 1, 8, 16][..]),
        1_usize..9,
    )
        .prop_map(|(kind, tensor, layers, base, gap, blocks)| Shape {
            kind,
            tensor,
            layers,
            base,
            gap,
            blocks,
        })
}

/// The address behind the last byte of a layout.
pub(crate) fn end(layout: &BlockLayout) -> u64 {
    let last = layout.blocks() as u64 - 1;
    let planes = layout.planes().iter();
    planes
        .map(|plane| plane.base + last * plane.block_stride + plane.block_bytes)
        .max()
        .expect("there are planes")
}

/// Memories with the bytes that a model has, and that a mover has.
pub(crate) struct Bench {
    pub(crate) mover: HostMover,
    pub(crate) fences: FenceTable,
    pub(crate) model: Vec<Vec<u8>>,
}

impl Bench {
    /// Memory 0, 1, ... with room for the layouts in them, all bytes different from their neighbours.
    pub(crate) fn of(layouts: &[&BlockLayout]) -> Self {
        let memories = layouts.iter().map(|it| it.memory().get() + 1).max();
        let mut fences = FenceTable::new();
        let mut mover = HostMover::new(fences.add_timeline().expect("the first"));
        let mut model = Vec::new();
        for number in 0..memories.expect("some") {
            let memory = MemoryId::new(number);
            let of = || layouts.iter().filter(|it| it.memory() == memory);
            let bytes = of().map(|it| end(it)).max().unwrap_or(0) + 7;
            let bytes = usize::try_from(bytes).expect("few");
            let mut piece = HostMemory::new(bytes).expect("few").at(0);
            for (at, byte) in piece.as_mut_slice().iter_mut().enumerate() {
                let byte_at = (at + 13 * number as usize) * 167 % 251;
                *byte = u8::try_from(byte_at).expect("below 251");
            }
            model.push(piece.as_slice().to_vec());
            mover.register(memory, piece).expect("none is there");
            let blocks = of().map(|it| it.blocks()).max().unwrap_or(1);
            fences.track(memory, blocks).expect("few");
        }
        Self {
            mover,
            fences,
            model,
        }
    }

    pub(crate) fn copy(&mut self, plan: &CopyPlan) -> Fence {
        let copied = self.mover.copy(plan, &mut self.fences);
        copied.expect("all is there and nothing is in flight")
    }

    /// What the list means: pair by pair, byte by byte.
    pub(crate) fn expect(
        &mut self,
        source: &BlockLayout,
        destination: &BlockLayout,
        slice: Option<HeadSlice>,
        pairs: &[(BlockId, BlockId)],
    ) {
        for &(from, to) in pairs {
            for (from, to) in moves(source, destination, slice, (from, to)) {
                let byte = self.model[source.memory().get() as usize][index(from)];
                self.model[destination.memory().get() as usize][index(to)] = byte;
            }
        }
    }

    pub(crate) fn memory(&self, number: u32) -> &[u8] {
        let bytes = self.model[number as usize].len() as u64;
        let found = self.mover.bytes(MemoryId::new(number), 0, bytes);
        found.expect("it is registered")
    }

    /// Every byte of every memory is as the model has it.
    #[track_caller]
    pub(crate) fn check(&self) {
        for (number, model) in (0..).zip(&self.model) {
            let differs = self
                .memory(number)
                .iter()
                .zip(model)
                .position(|(a, b)| a != b);
            assert_eq!(differs, None, "first byte that differs in memory {number}");
        }
    }
}

fn index(address: u64) -> usize {
    usize::try_from(address).expect("few")
}

/// From which address to which each byte goes if one pair is copied, in every plane.
fn moves(
    source: &BlockLayout,
    destination: &BlockLayout,
    slice: Option<HeadSlice>,
    (from, to): (BlockId, BlockId),
) -> Vec<(u64, u64)> {
    let mut moves = Vec::new();
    for (plane, (a, b)) in source.planes().iter().zip(destination.planes()).enumerate() {
        let from = source.address(plane, from).expect("it is there");
        let to = destination.address(plane, to).expect("it is there");
        let (Inner::Tile(read), Inner::Tile(written)) = (a.inner, b.inner) else {
            moves.extend((0..a.block_bytes).map(|at| (from + at, to + at)));
            continue;
        };
        let slice = slice.unwrap_or(HeadSlice {
            source_first: 0,
            destination_first: 0,
            heads: read.heads,
        });
        for part in 0..read.parts {
            for position in 0..read.positions {
                for head in 0..slice.heads {
                    let vector = (part, position, head + slice.source_first);
                    let from = from + element(&read, vector);
                    let vector = (part, position, head + slice.destination_first);
                    let to = to + element(&written, vector);
                    let bytes = 0..u64::from(read.head_bytes);
                    moves.extend(bytes.map(|at| (from + at, to + at)));
                }
            }
        }
    }
    moves
}

/// Where a vector begins in a tile: how many come before it.
fn element(tile: &Tile, (part, position, head): (u32, u32, u32)) -> u64 {
    let [part, position, head, positions, heads, bytes] = [
        part,
        position,
        head,
        tile.positions,
        tile.heads,
        tile.head_bytes,
    ]
    .map(u64::from);
    let before = match tile.order {
        Order::Nhd => (part * positions + position) * heads + head,
        Order::Hnd => (part * heads + head) * positions + position,
    };
    before * bytes
}
